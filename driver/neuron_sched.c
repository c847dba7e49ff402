// SPDX-License-Identifier: GPL-2.0-only
/*
 * The scheduler of a core or a copy queue, and the fence of a job on the hardware.
 */
#include <linux/dma-fence.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "neuron_device.h"
#include "neuron_sched.h"

/**
 * struct neuron_fence - signalled by the completion interrupt
 * @base: fence
 * @lock: its lock
 * @sched: scheduler, counted
 */
struct neuron_fence {
	struct dma_fence base;
	spinlock_t lock; /* @base's */
	struct neuron_sched *sched;
};

static void neuron_sched_release(struct kref *ref)
{
	kfree(container_of(ref, struct neuron_sched, ref));
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

	/*
	 * The scheduler's own timeout is off: it knows one limit for all jobs
	 * and restarts it for its own reasons. Jobs here carry a limit and a
	 * cap each, and neuron_watch.c keeps them; a copy queue has a watch of
	 * its own.
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

static const char *neuron_fence_timeline_name(struct dma_fence *fence)
{
	return container_of(fence, struct neuron_fence, base)->sched->name;
}

static void neuron_fence_release(struct dma_fence *fence)
{
	struct neuron_fence *nfence;

	nfence = container_of(fence, struct neuron_fence, base);
	kref_put(&nfence->sched->ref, neuron_sched_release);
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

	nfence = kzalloc(sizeof(*nfence), GFP_KERNEL);
	if (!nfence)
		return NULL;
	__module_get(THIS_MODULE);
	kref_get(&sched->ref);
	nfence->sched = sched;
	spin_lock_init(&nfence->lock);
	dma_fence_init(&nfence->base, &neuron_fence_ops, &nfence->lock,
		       dma_fence_context_alloc(1), 1);
	return &nfence->base;
}
