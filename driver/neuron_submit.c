// SPDX-License-Identifier: GPL-2.0-only
/*
 * The SUBMIT ioctl: checks, the job block, fences in and out.
 */
#include <linux/bitmap.h>
#include <linux/dma-fence-chain.h>
#include <linux/log2.h>
#include <linux/slab.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_syncobj.h>

#include "drm/neuron_accel.h"
#include "neuron_array.h"
#include "neuron_claim.h"
#include "neuron_job.h"
#include "neuron_sched.h"
#include "neuron_window.h"

static_assert(DRM_NEURON_NR_ENGINES == (int)NEURON_NR_ENGINES);
static_assert(DRM_NEURON_QUEUE_ANY_RING_ID == NEURON_JOB_QUEUE_ANY_RING_ID);

#define NEURON_MAX_SYNCS	1024

/**
 * struct neuron_out_sync - a syncobj that the job signals
 * @syncobj: referenced
 * @chain: for a timeline point, else NULL
 * @point: timeline point
 */
struct neuron_out_sync {
	struct drm_syncobj *syncobj;
	struct dma_fence_chain *chain;
	u64 point;
};

static int neuron_submit_invalid(struct drm_device *drm, const char *why)
{
	drm_dbg(drm, "submit: %s\n", why);
	return -EINVAL;
}

/* An address that a domain can translate: no program sees plain ones. */
static bool neuron_is_window_addr(u64 addr)
{
	return addr & NEURON_ADDR_WINDOW;
}

static int neuron_submit_check_starts(struct drm_device *drm,
				      const struct drm_neuron_submit *args)
{
	unsigned int i;

	for (i = 0; i < DRM_NEURON_NR_ENGINES; i++) {
		if (args->start[i].pad)
			return neuron_submit_invalid(drm, "non-zero pad");
		if (args->start[i].count &&
		    !neuron_is_window_addr(args->start[i].addr))
			return neuron_submit_invalid(drm, "start is no window address");
	}
	return 0;
}

static int neuron_submit_check(struct drm_device *drm,
			       const struct drm_neuron_submit *args)
{
	if (args->flags || args->pad)
		return neuron_submit_invalid(drm, "unknown flags or non-zero pad");
	if (neuron_array_check(&args->queues, sizeof(struct drm_neuron_queue),
			       NEURON_JOB_MAX_QUEUES))
		return neuron_submit_invalid(drm, "bad array of queues");
	if (neuron_array_check(&args->in_syncs, sizeof(struct drm_neuron_sync),
			       NEURON_MAX_SYNCS) ||
	    neuron_array_check(&args->out_syncs, sizeof(struct drm_neuron_sync),
			       NEURON_MAX_SYNCS))
		return neuron_submit_invalid(drm, "bad array of syncobjs");
	if (args->notify_size ?
	    args->notify_size < 64 || !is_power_of_2(args->notify_size) ||
	    !neuron_is_window_addr(args->notify_addr) : args->notify_addr)
		return neuron_submit_invalid(drm, "notify: no window address or odd size");
	return neuron_submit_check_starts(drm, args);
}

static bool neuron_ring_valid(u64 addr, u32 length)
{
	return neuron_is_window_addr(addr) &&
	       addr % NEURON_UDMA_RING_ALIGN == 0 &&
	       length >= NEURON_UDMA_RING_MIN &&
	       length <= NEURON_UDMA_RING_MAX &&
	       length % NEURON_UDMA_RING_MULTIPLE == 0;
}

static int neuron_submit_queue(struct neuron_job *job,
			       const struct drm_neuron_queue *queue,
			       struct neuron_hw_job_queue *hw,
			       unsigned long *seen)
{
	struct neuron_core *core = job->cc->core;
	struct drm_device *drm = &core->ndev->drm;
	unsigned int slot;

	if (queue->dma_engine >= 16 || queue->queue >= NEURON_UDMA_QUEUES)
		return neuron_submit_invalid(drm, "no such queue");
	if (queue->flags & ~DRM_NEURON_QUEUE_ANY_RING_ID)
		return neuron_submit_invalid(drm, "unknown queue flags");
	if (!neuron_ring_valid(queue->m2s_ring, queue->m2s_length) ||
	    !neuron_ring_valid(queue->s2m_ring, queue->s2m_length))
		return neuron_submit_invalid(drm, "ring: no aligned window address or odd length");
	slot = queue->dma_engine * NEURON_UDMA_QUEUES + queue->queue;
	if (__test_and_set_bit(slot, seen))
		return neuron_submit_invalid(drm, "a queue is listed twice");

	hw->m2s_ring = cpu_to_le64(queue->m2s_ring);
	hw->s2m_ring = cpu_to_le64(queue->s2m_ring);
	hw->m2s_length = cpu_to_le32(queue->m2s_length);
	hw->s2m_length = cpu_to_le32(queue->s2m_length);
	hw->dma_engine = cpu_to_le16(neuron_core_dma(core->index) +
				     queue->dma_engine);
	hw->queue = cpu_to_le16(queue->queue);
	if (queue->flags & DRM_NEURON_QUEUE_ANY_RING_ID)
		hw->flags = cpu_to_le32(NEURON_JOB_QUEUE_ANY_RING_ID);
	return 0;
}

static int neuron_submit_queues(struct neuron_job *job,
				const struct drm_neuron_array *queues)
{
	struct neuron_hw_job_queue *hw = neuron_job_queues(job);
	DECLARE_BITMAP(seen, 16 * NEURON_UDMA_QUEUES) = {};
	struct drm_neuron_queue queue;
	u32 i;
	int ret;

	for (i = 0; i < queues->count; i++) {
		ret = neuron_array_get(&queue, sizeof(queue), queues, i);
		if (!ret)
			ret = neuron_submit_queue(job, &queue, &hw[i], seen);
		if (ret)
			return ret;
	}
	return 0;
}

/* All of the job block but the id and the window table. */
static void neuron_submit_block(struct neuron_job *job,
				const struct drm_neuron_submit *args)
{
	struct neuron_core *core = job->cc->core;
	struct neuron_hw_job *hw = job->hw;
	unsigned int i;

	hw->magic = cpu_to_le32(NEURON_JOB_MAGIC);
	hw->version = cpu_to_le16(NEURON_JOB_VERSION);
	hw->completion = cpu_to_le64(neuron_host_addr(core->ndev,
						      core->completion_dma));
	hw->nr_queues = cpu_to_le32(job->nr_queues);
	if (job->nr_queues)
		hw->queue_table = cpu_to_le64(neuron_host_addr(core->ndev,
							       job->dma) +
					      sizeof(*hw));
	for (i = 0; i < ARRAY_SIZE(hw->sem_clear); i++) {
		hw->sem_clear[i] = cpu_to_le64(args->sem_clear[i]);
		/* The claim has the whole core. */
		hw->sem_own[i] = cpu_to_le64(~0ull);
	}
	for (i = 0; i < DRM_NEURON_NR_ENGINES; i++) {
		if (!args->start[i].count)
			continue;
		hw->start[i].addr = cpu_to_le64(args->start[i].addr);
		hw->start[i].count = cpu_to_le32(args->start[i].count);
	}
	hw->notify_addr = cpu_to_le64(args->notify_addr);
	hw->notify_size = cpu_to_le32(args->notify_size);
	job->timeout_ms = min(args->timeout_ms ?: NEURON_JOB_TIMEOUT_MS,
			      NEURON_JOB_TIMEOUT_MAX_MS);
}

static int neuron_submit_in_syncs(struct neuron_job *job, struct drm_file *file,
				  const struct drm_neuron_array *syncs)
{
	struct drm_device *drm = &job->cc->core->ndev->drm;
	struct drm_neuron_sync sync;
	struct dma_fence *fence;
	u32 i;
	int ret;

	for (i = 0; i < syncs->count; i++) {
		ret = neuron_array_get(&sync, sizeof(sync), syncs, i);
		if (ret)
			return ret;
		if (sync.pad)
			return neuron_submit_invalid(drm, "non-zero pad");
		ret = drm_syncobj_find_fence(file, sync.handle, sync.point, 0,
					     &fence);
		if (ret) {
			drm_dbg(drm, "submit: in-syncobj %u point %llu has no fence\n",
				sync.handle, sync.point);
			return ret;
		}
		ret = drm_sched_job_add_dependency(&job->base, fence);
		if (ret)
			return ret;
	}
	return 0;
}

static void neuron_out_syncs_free(struct neuron_out_sync *outs, u32 nr)
{
	u32 i;

	for (i = 0; outs && i < nr; i++) {
		dma_fence_chain_free(outs[i].chain);
		if (outs[i].syncobj)
			drm_syncobj_put(outs[i].syncobj);
	}
	kvfree(outs);
}

static int neuron_out_sync_find(struct neuron_out_sync *out,
				struct drm_device *drm, struct drm_file *file,
				const struct drm_neuron_sync *sync)
{
	if (sync->pad)
		return neuron_submit_invalid(drm, "non-zero pad");
	out->syncobj = drm_syncobj_find(file, sync->handle);
	if (!out->syncobj) {
		drm_dbg(drm, "submit: no out-syncobj %u\n", sync->handle);
		return -ENOENT;
	}
	if (!sync->point)
		return 0;
	out->point = sync->point;
	out->chain = dma_fence_chain_alloc();
	return out->chain ? 0 : -ENOMEM;
}

/* Return: what neuron_submit_signal() needs, so that it cannot fail. */
static struct neuron_out_sync *
neuron_out_syncs_find(struct drm_device *drm, struct drm_file *file,
		      const struct drm_neuron_array *syncs)
{
	struct neuron_out_sync *outs;
	struct drm_neuron_sync sync;
	u32 i;
	int ret;

	outs = kvcalloc(syncs->count, sizeof(*outs), GFP_KERNEL);
	if (!outs)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < syncs->count; i++) {
		ret = neuron_array_get(&sync, sizeof(sync), syncs, i);
		if (!ret)
			ret = neuron_out_sync_find(&outs[i], drm, file, &sync);
		if (ret) {
			neuron_out_syncs_free(outs, syncs->count);
			return ERR_PTR(ret);
		}
	}
	return outs;
}

static void neuron_submit_signal(struct neuron_out_sync *outs, u32 nr,
				 struct dma_fence *fence)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		if (outs[i].chain)
			drm_syncobj_add_point(outs[i].syncobj, outs[i].chain,
					      fence, outs[i].point);
		else
			drm_syncobj_replace_fence(outs[i].syncobj, fence);
		outs[i].chain = NULL;
	}
}

/* Under the lock of @job's core in the claim: what every job gets last. */
static void neuron_submit_number(struct neuron_job *job)
{
	struct neuron_claim_core *cc = job->cc;
	struct neuron_hw_job *hw = job->hw;

	job->id = atomic64_inc_return(&cc->claim->last_job);
	job->hw_id = (u64)cc->generation << 32 | lower_32_bits(job->id);
	hw->job_id = cpu_to_le64(job->hw_id);
	if (!cc->table)
		return;
	job->table = neuron_table_get(cc->table);
	hw->nr_windows = cpu_to_le32(cc->table->nr);
	hw->window_table = cpu_to_le64(neuron_host_addr(cc->core->ndev,
							cc->table->dma));
}

/*
 * From here on nothing fails but for want of memory or of the claim.
 * Return: the job's finished fence, referenced.
 */
static struct dma_fence *neuron_submit_push(struct neuron_job *job, u64 *id)
{
	struct neuron_claim_core *cc = job->cc;
	struct dma_fence *fence;
	int ret;

	mutex_lock(&cc->lock);
	ret = cc->dead ? -ENOENT : 0;
	if (ret)
		goto out;
	neuron_submit_number(job);
	ret = xa_reserve(&cc->pending, job->id, GFP_KERNEL);
	if (ret)
		goto out;

	drm_sched_job_arm(&job->base);
	fence = dma_fence_get(&job->base.s_fence->finished);
	xa_store(&cc->pending, job->id, fence, GFP_KERNEL);
	*id = job->id;
	drm_sched_entity_push_job(&job->base);
out:
	mutex_unlock(&cc->lock);
	return ret ? ERR_PTR(ret) : fence;
}

/* A job that is ready but for its fences; its scheduler part is initialised. */
static struct neuron_job *
neuron_submit_prepare(struct neuron_claim_core *cc, struct drm_file *file,
		      const struct drm_neuron_submit *args)
{
	struct neuron_job *job;
	int ret;

	job = neuron_job_create(cc, args->queues.count);
	if (IS_ERR(job))
		return job;
	neuron_submit_block(job, args);
	ret = neuron_submit_queues(job, &args->queues);
	if (ret)
		goto err_job;
	ret = neuron_drm_sched_job_init(&job->base, &cc->entity, 1, file,
					cc->claim->client);
	if (ret)
		goto err_job;
	ret = neuron_submit_in_syncs(job, file, &args->in_syncs);
	if (ret)
		goto err_sched;
	return job;

err_sched:
	drm_sched_job_cleanup(&job->base);
err_job:
	neuron_job_put(job);
	return ERR_PTR(ret);
}

static int neuron_submit(struct neuron_claim_core *cc, struct drm_file *file,
			 struct drm_neuron_submit *args)
{
	struct drm_device *drm = &cc->core->ndev->drm;
	struct neuron_out_sync *outs;
	struct dma_fence *fence;
	struct neuron_job *job;
	int ret = 0;

	outs = neuron_out_syncs_find(drm, file, &args->out_syncs);
	if (IS_ERR(outs))
		return PTR_ERR(outs);
	job = neuron_submit_prepare(cc, file, args);
	if (IS_ERR(job)) {
		ret = PTR_ERR(job);
		goto out_syncs;
	}

	fence = neuron_submit_push(job, &args->job);
	if (IS_ERR(fence)) {
		ret = PTR_ERR(fence);
		drm_sched_job_cleanup(&job->base);
		neuron_job_put(job);
		goto out_syncs;
	}
	neuron_submit_signal(outs, args->out_syncs.count, fence);
	dma_fence_put(fence);
out_syncs:
	neuron_out_syncs_free(outs, args->out_syncs.count);
	return ret;
}

int neuron_ioctl_submit(struct drm_device *drm, void *data,
			struct drm_file *file)
{
	struct drm_neuron_submit *args = data;
	struct neuron_claim_core *cc;
	int idx, ret;

	ret = neuron_submit_check(drm, args);
	if (ret)
		return ret;
	cc = neuron_claim_core_find(file, args->claim, args->core);
	if (IS_ERR(cc))
		return PTR_ERR(cc);
	ret = -ENODEV;
	if (drm_dev_enter(drm, &idx)) {
		ret = neuron_submit(cc, file, args);
		drm_dev_exit(idx);
	}
	neuron_claim_put(cc->claim);
	return ret;
}
