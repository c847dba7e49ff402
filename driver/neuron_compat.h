/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between the kernels the driver builds for, found by letting the
 * compiler try (probes.mk): point releases carry backports, so versions say
 * little.
 */
#ifndef _NEURON_COMPAT_H_
#define _NEURON_COMPAT_H_

#include <linux/dma-fence-array.h>
#include <linux/mm.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <drm/gpu_scheduler.h>

/* The buddy allocator moved out of DRM and was renamed (probes.mk). */
#ifdef NEURON_HAVE_GPU_BUDDY
#include <linux/gpu_buddy.h>

#define neuron_buddy			gpu_buddy
#define neuron_buddy_block		gpu_buddy_block
#define neuron_buddy_init		gpu_buddy_init
#define neuron_buddy_fini		gpu_buddy_fini
#define neuron_buddy_alloc_blocks	gpu_buddy_alloc_blocks
#define neuron_buddy_free_list		gpu_buddy_free_list
#define neuron_buddy_block_offset	gpu_buddy_block_offset
#define neuron_buddy_block_size		gpu_buddy_block_size
#else
#include <drm/drm_buddy.h>

#define neuron_buddy			drm_buddy
#define neuron_buddy_block		drm_buddy_block
#define neuron_buddy_init		drm_buddy_init
#define neuron_buddy_fini		drm_buddy_fini
#define neuron_buddy_alloc_blocks	drm_buddy_alloc_blocks
#define neuron_buddy_free_list		drm_buddy_free_list
#define neuron_buddy_block_offset	drm_buddy_block_offset
#define neuron_buddy_block_size		drm_buddy_block_size
#endif

/*
 * MODULE_IMPORT_NS() took an identifier and now takes a string; what it expands
 * to has not changed.
 */
#define NEURON_IMPORT_NS(ns)		MODULE_INFO(import_ns, ns)

/* Work queues were bound to a processor unless they said otherwise, now they say so. */
#ifdef NEURON_HAVE_WQ_PERCPU
#define NEURON_WQ_PERCPU		WQ_PERCPU
#else
#define NEURON_WQ_PERCPU		0
#endif

/* Private and writable: neither name is there in all kernels. */
static inline bool neuron_vma_is_cow(const struct vm_area_struct *vma)
{
#ifdef NEURON_HAVE_VMA_IS_COW_MAPPING
	return vma_is_cow_mapping(vma);
#else
	return is_cow_mapping(vma->vm_flags);
#endif
}

/* The DRM scheduler: arguments became a struct, jobs name their client. */

static inline int neuron_drm_sched_init(struct drm_gpu_scheduler *sched,
					const struct drm_sched_backend_ops *ops,
					struct workqueue_struct *wq,
					u32 credits, long timeout,
					const char *name, struct device *dev)
{
#ifdef NEURON_HAVE_SCHED_INIT_ARGS
	const struct drm_sched_init_args args = {
		.ops = ops,
		.submit_wq = wq,
#ifdef NEURON_HAVE_SCHED_NUM_RQS
		.num_rqs = DRM_SCHED_PRIORITY_COUNT,
#endif
		.credit_limit = credits,
		.timeout = timeout,
		.name = name,
		.dev = dev,
	};

	return drm_sched_init(sched, &args);
#else
	return drm_sched_init(sched, ops, wq, DRM_SCHED_PRIORITY_COUNT,
			      credits, 0, timeout, NULL, NULL, name, dev);
#endif
}

static inline int neuron_drm_sched_job_init(struct drm_sched_job *job,
					    struct drm_sched_entity *entity,
					    u32 credits, void *owner,
					    u64 client)
{
#ifdef NEURON_HAVE_SCHED_CLIENT_ID
	return drm_sched_job_init(job, entity, credits, owner, client);
#else
	return drm_sched_job_init(job, entity, credits, owner);
#endif
}

/* A fence that signals when all of @fences have; @array takes them over. */
static inline void neuron_fence_array_init(struct dma_fence_array *array,
					   u32 nr, struct dma_fence **fences)
{
	u64 context = dma_fence_context_alloc(1);

#ifdef NEURON_HAVE_FENCE_ARRAY_ANY
	dma_fence_array_init(array, nr, fences, context, 1, false);
#else
	dma_fence_array_init(array, nr, fences, context, 1);
#endif
}

static inline void neuron_fence_enable_signaling(struct dma_fence *fence)
{
#ifdef NEURON_HAVE_FENCE_ENABLE_SIGNALING
	dma_fence_enable_signaling(fence);
#else
	dma_fence_enable_sw_signaling(fence);
#endif
}

#endif /* _NEURON_COMPAT_H_ */
