// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fences: of a job on the hardware, with the scheduler of a core or a copy queue; and gates,
 * which are what a job waits for.
 */
#include <linux/atomic.h>
#include <linux/dma-fence-chain.h>
#include <linux/dma-fence.h>
#include <linux/err.h>
#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <drm/drm_device.h>

#include "neuron_account.h"
#include "neuron_device.h"
#include "neuron_fence.h"

/* Schedulers and the fences of jobs on the hardware. */

/**
 * struct neuron_fence - signalled by the completion interrupt
 * @base: fence; zero until it begins
 * @lock: its lock
 * @sched: scheduler, counted when it has begun
 */
struct neuron_fence {
	struct dma_fence base;
	spinlock_t lock; /* @base's */
	struct neuron_sched *sched;
};

/* Who asks a fence for the name of its timeline may hold nothing but rcu_read_lock(). */
static void neuron_sched_release(struct kref *ref)
{
	struct neuron_sched *sched = container_of(ref, struct neuron_sched, ref);

	kfree_rcu(sched, rcu);
}

struct neuron_sched *
neuron_sched_create(struct neuron_device *ndev,
		    const struct drm_sched_backend_ops *ops,
		    struct workqueue_struct *wq, u32 credits, const char *name)
{
	struct neuron_sched *sched;
	int ret;

	sched = kzalloc(sizeof(*sched), GFP_KERNEL);
	if (!sched)
		return ERR_PTR(-ENOMEM);
	kref_init(&sched->ref);
	strscpy(sched->name, name, sizeof(sched->name));
	sched->context = dma_fence_context_alloc(1);

	/*
	 * The scheduler's own timeout is off: neuron_watch.c has a watch for each job, and says
	 * why. A copy queue has a watch of its own.
	 */
	ret = neuron_drm_sched_init(&sched->base, ops, wq, credits,
				    MAX_SCHEDULE_TIMEOUT, sched->name,
				    ndev->drm.dev);
	if (ret) {
		kref_put(&sched->ref, neuron_sched_release);
		return ERR_PTR(ret);
	}
	return sched;
}

void neuron_sched_destroy(struct neuron_sched *sched)
{
	drm_sched_fini(&sched->base);
	kref_put(&sched->ref, neuron_sched_release);
}

static const char *neuron_fence_driver_name(struct dma_fence *fence)
{
	return "neuron";
}

static struct neuron_fence *to_neuron_fence(struct dma_fence *fence)
{
	return container_of(fence, struct neuron_fence, base);
}

static const char *neuron_fence_timeline_name(struct dma_fence *fence)
{
	return to_neuron_fence(fence)->sched->name;
}

/*
 * A fence has no owner field, and may be put after the device is gone: from a sync file, or by
 * another driver's reservation object. So it holds the module itself. The last instructions of
 * this function run without that reference. If the task is preempted there and stays so until the
 * module is gone, it returns to nothing. Every fence that is put by others has this gap.
 */
static void neuron_fence_release(struct dma_fence *fence)
{
	kref_put(&to_neuron_fence(fence)->sched->ref, neuron_sched_release);
	dma_fence_free(fence);
	module_put(THIS_MODULE);
}

static const struct dma_fence_ops neuron_fence_ops = {
	.get_driver_name = neuron_fence_driver_name,
	.get_timeline_name = neuron_fence_timeline_name,
	.release = neuron_fence_release,
};

struct dma_fence *neuron_fence_create(struct neuron_sched *sched)
{
	struct neuron_fence *nfence;

	nfence = kzalloc(sizeof(*nfence), GFP_KERNEL_ACCOUNT);
	if (!nfence)
		return NULL;
	nfence->sched = sched;
	spin_lock_init(&nfence->lock);
	return &nfence->base;
}

void neuron_fence_begin(struct dma_fence *fence)
{
	struct neuron_fence *nfence = to_neuron_fence(fence);
	struct neuron_sched *sched = nfence->sched;

	__module_get(THIS_MODULE);
	kref_get(&sched->ref);
	dma_fence_init(fence, &neuron_fence_ops, &nfence->lock, sched->context,
		       ++sched->seqno);
}

void neuron_fence_drop(struct dma_fence *fence)
{
	if (!fence)
		return;
	/* It has no reference before it begins. */
	if (kref_read(&fence->refcount))
		dma_fence_put(fence);
	else
		kfree(to_neuron_fence(fence));
}

/* Gates: what a job waits for before its turn. */

/**
 * struct neuron_gate_wait - a fence that the gate waits for
 * @cb: in its list
 * @gate: gate
 * @fence: fence, referenced
 * @heed: its error is one of the gate
 */
struct neuron_gate_wait {
	struct dma_fence_cb cb;
	struct neuron_gate *gate;
	struct dma_fence *fence;
	bool heed;
};

/**
 * struct neuron_gate - a fence that signals when several others have signalled
 * @base: fence; its lock is taken with that of any other fence held
 * @lock: its lock
 * @ref: the jobs' and the submission's
 * @budget: what its memory is charged to, or NULL
 * @armed: the gate waits for its fences
 * @left: fences that have not signalled, and one until the gate is armed
 * @failed: one that is heeded has ended with an error; set before @left becomes less
 * @max: size of @wait
 * @nr: entries of @wait
 * @wait: fences, each of them once
 */
struct neuron_gate {
	struct dma_fence base;
	spinlock_t lock; /* @base's */
	struct kref ref;
	struct neuron_budget *budget;
	atomic_t armed;
	atomic_t left;
	bool failed;
	u32 max;
	u32 nr;
	struct neuron_gate_wait *wait;
};

static const char *neuron_gate_driver_name(struct dma_fence *fence)
{
	return "neuron";
}

static const char *neuron_gate_timeline_name(struct dma_fence *fence)
{
	return "neuron-gate";
}

static const struct dma_fence_ops neuron_gate_ops = {
	.get_driver_name = neuron_gate_driver_name,
	.get_timeline_name = neuron_gate_timeline_name,
};

struct neuron_gate *neuron_gate_create(u32 max)
{
	struct neuron_gate *gate;

	gate = kzalloc(sizeof(*gate), GFP_KERNEL_ACCOUNT);
	if (!gate)
		return ERR_PTR(-ENOMEM);
	gate->wait = kvcalloc(max, sizeof(*gate->wait), GFP_KERNEL_ACCOUNT);
	if (!gate->wait) {
		kfree(gate);
		return ERR_PTR(-ENOMEM);
	}
	gate->max = max;
	kref_init(&gate->ref);
	atomic_set(&gate->left, 1);
	spin_lock_init(&gate->lock);
	dma_fence_init(&gate->base, &neuron_gate_ops, &gate->lock,
		       dma_fence_context_alloc(1), 1);
	return gate;
}

static size_t neuron_gate_bytes(const struct neuron_gate *gate)
{
	return sizeof(*gate) + gate->max * sizeof(*gate->wait);
}

int neuron_gate_charge(struct neuron_gate *gate, struct neuron_budget *budget)
{
	int ret = neuron_budget_charge(budget, neuron_gate_bytes(gate));

	if (!ret)
		gate->budget = budget;
	return ret;
}

static void neuron_gate_less(struct neuron_gate *gate)
{
	if (atomic_dec_and_test(&gate->left))
		neuron_gate_open(gate);
}

/*
 * The fence has signalled. The point of a timeline is a link around the fence that was given for
 * it, and has no error of its own.
 */
static void neuron_gate_look(struct neuron_gate *gate, struct dma_fence *fence, bool heed)
{
	if (heed && READ_ONCE(dma_fence_chain_contained(fence)->error))
		WRITE_ONCE(gate->failed, true);
}

static void neuron_gate_signalled(struct dma_fence *fence,
				  struct dma_fence_cb *cb)
{
	struct neuron_gate_wait *wait = container_of(cb, struct neuron_gate_wait, cb);

	neuron_gate_look(wait->gate, fence, wait->heed);
	neuron_gate_less(wait->gate);
}

/* A user names few fences (NEURON_MAX_SYNCS), so each of them is compared with those before it. */
static struct neuron_gate_wait *neuron_gate_find(struct neuron_gate *gate,
						 const struct dma_fence *fence)
{
	u32 i;

	for (i = 0; i < gate->nr; i++)
		if (gate->wait[i].fence == fence)
			return &gate->wait[i];
	return NULL;
}

/*
 * Whoever signals a fence runs all its callbacks, perhaps with interrupts off. So a user who names
 * a fence many times must not have many callbacks. Points of a timeline are fences of their own,
 * each of which is there once.
 */
void neuron_gate_add(struct neuron_gate *gate, struct dma_fence *fence, bool heed)
{
	struct neuron_gate_wait *wait = neuron_gate_find(gate, fence);

	if (wait) {
		wait->heed |= heed;
		dma_fence_put(fence);
		return;
	}
	wait = &gate->wait[gate->nr++];
	wait->gate = gate;
	wait->fence = fence;
	wait->heed = heed;
	INIT_LIST_HEAD(&wait->cb.node);
}

static void neuron_gate_arm(struct neuron_gate *gate)
{
	u32 i;

	for (i = 0; i < gate->nr; i++) {
		struct neuron_gate_wait *wait = &gate->wait[i];

		atomic_inc(&gate->left);
		if (!dma_fence_add_callback(wait->fence, &wait->cb, neuron_gate_signalled))
			continue;
		/* It has signalled: this is never the last one. */
		neuron_gate_look(gate, wait->fence, wait->heed);
		atomic_dec(&gate->left);
	}
	neuron_gate_less(gate);
}

/*
 * The jobs of a gang come at the same time. A gate that was opened has nothing to wait for, and
 * must leave no callback at its fences: the turns of all jobs that are given up come at once.
 */
struct dma_fence *neuron_gate_turn(struct neuron_gate *gate)
{
	if (!gate || dma_fence_is_signaled(&gate->base))
		return NULL;
	if (!atomic_xchg(&gate->armed, true))
		neuron_gate_arm(gate);
	return dma_fence_is_signaled(&gate->base) ? NULL : dma_fence_get(&gate->base);
}

int neuron_gate_error(const struct neuron_gate *gate)
{
	return gate && READ_ONCE(gate->failed) ? -ECANCELED : 0;
}

void neuron_gate_open(struct neuron_gate *gate)
{
	if (gate)
		dma_fence_signal(&gate->base);
}

struct neuron_gate *neuron_gate_get(struct neuron_gate *gate)
{
	kref_get(&gate->ref);
	return gate;
}

static void neuron_gate_release(struct kref *ref)
{
	struct neuron_gate *gate = container_of(ref, struct neuron_gate, ref);
	u32 i;

	/* Waits for a callback that is under way. */
	for (i = 0; i < gate->nr; i++) {
		dma_fence_remove_callback(gate->wait[i].fence,
					  &gate->wait[i].cb);
		dma_fence_put(gate->wait[i].fence);
	}
	kvfree(gate->wait);
	if (gate->budget)
		neuron_budget_uncharge(gate->budget, neuron_gate_bytes(gate));
	dma_fence_put(&gate->base);
}

void neuron_gate_put(struct neuron_gate *gate)
{
	kref_put(&gate->ref, neuron_gate_release);
}

#if IS_ENABLED(CONFIG_DRM_ACCEL_NEURON_KUNIT_TEST)
#include "tests/neuron_kunit_fence.c"
#endif
