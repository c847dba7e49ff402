/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scheduler of a core or a copy queue, and the fence of a job on the hardware.
 *
 * Fences outlive jobs, files and devices: a process may keep one in a sync
 * file for ever, and then asks it for the name of its timeline. So schedulers
 * are counted, and each fence holds its scheduler and the module. The finished
 * fence of the DRM scheduler gets the same by holding the hardware fence as
 * its parent (neuron_job_free_cb()).
 */
#ifndef _NEURON_SCHED_H_
#define _NEURON_SCHED_H_

#include <linux/kref.h>
#include <drm/gpu_scheduler.h>

struct neuron_device;

/**
 * struct neuron_sched - scheduler of a core or a copy queue
 * @base: DRM scheduler
 * @ref: its owner's and the fences'
 * @name: name of the timeline
 */
struct neuron_sched {
	struct drm_gpu_scheduler base;
	struct kref ref;
	char name[16];
};

/* Jobs of @credits run at a time. @wq: runs it. */
struct neuron_sched *
neuron_sched_create(struct neuron_device *ndev,
		    const struct drm_sched_backend_ops *ops,
		    struct workqueue_struct *wq, u32 credits, const char *name);
/* No entity and no job may be left. */
void neuron_sched_destroy(struct neuron_sched *sched);

/* A fence of a context of its own; NULL without memory. */
struct dma_fence *neuron_fence_create(struct neuron_sched *sched);

#endif /* _NEURON_SCHED_H_ */
