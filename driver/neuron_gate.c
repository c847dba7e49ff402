// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gates: what a job waits for before its turn.
 */
#include <linux/atomic.h>
#include <linux/dma-fence.h>
#include <linux/err.h>
#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "neuron_gate.h"

/**
 * struct neuron_gate_wait - a fence that the gate waits for
 * @cb: in its list
 * @gate: gate
 * @fence: fence, referenced
 */
struct neuron_gate_wait {
	struct dma_fence_cb cb;
	struct neuron_gate *gate;
	struct dma_fence *fence;
};

/**
 * struct neuron_gate - one fence for many
 * @base: fence; its lock is taken with that of any other fence held
 * @lock: its lock
 * @ref: the jobs' and the submission's
 * @left: fences that have not signalled, and one until the gate is armed
 * @nr: entries of @wait
 * @wait: fences that had not signalled when they were added
 */
struct neuron_gate {
	struct dma_fence base;
	spinlock_t lock; /* @base's */
	struct kref ref;
	atomic_t left;
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
	kref_init(&gate->ref);
	atomic_set(&gate->left, 1);
	spin_lock_init(&gate->lock);
	dma_fence_init(&gate->base, &neuron_gate_ops, &gate->lock,
		       dma_fence_context_alloc(1), 1);
	return gate;
}

static void neuron_gate_less(struct neuron_gate *gate)
{
	if (atomic_dec_and_test(&gate->left))
		neuron_gate_open(gate);
}

static void neuron_gate_signalled(struct dma_fence *fence,
				  struct dma_fence_cb *cb)
{
	neuron_gate_less(container_of(cb, struct neuron_gate_wait, cb)->gate);
}

void neuron_gate_add(struct neuron_gate *gate, struct dma_fence *fence)
{
	struct neuron_gate_wait *wait = &gate->wait[gate->nr];

	wait->gate = gate;
	atomic_inc(&gate->left);
	if (dma_fence_add_callback(fence, &wait->cb, neuron_gate_signalled)) {
		/* It has signalled: this is never the last one. */
		atomic_dec(&gate->left);
		dma_fence_put(fence);
		return;
	}
	wait->fence = fence;
	gate->nr++;
}

struct dma_fence *neuron_gate_arm(struct neuron_gate *gate)
{
	neuron_gate_less(gate);
	return dma_fence_get(&gate->base);
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
	dma_fence_put(&gate->base);
}

void neuron_gate_put(struct neuron_gate *gate)
{
	kref_put(&gate->ref, neuron_gate_release);
}
