// SPDX-License-Identifier: GPL-2.0-only
/*
 * The SUBMIT ioctl: checks, the job block, the way into the queue.
 */
#include <linux/bitmap.h>
#include <linux/log2.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "drm/neuron_accel.h"
#include "neuron_array.h"
#include "neuron_claim.h"
#include "neuron_gate.h"
#include "neuron_job.h"
#include "neuron_sched.h"
#include "neuron_syncs.h"
#include "neuron_trace.h"
#include "neuron_window.h"
#include "neuron_windows.h"

static_assert(DRM_NEURON_NR_ENGINES == (int)NEURON_NR_ENGINES);
static_assert(DRM_NEURON_QUEUE_ANY_RING_ID == NEURON_JOB_QUEUE_ANY_RING_ID);

/**
 * struct neuron_submit_arrays - the arrays of a submission
 * @queues: drm_neuron_queue
 * @in_syncs: drm_neuron_sync
 * @out_syncs: drm_neuron_sync
 * @windows: drm_neuron_window
 */
struct neuron_submit_arrays {
	struct neuron_array queues;
	struct neuron_array in_syncs;
	struct neuron_array out_syncs;
	struct neuron_array windows;
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

static int neuron_submit_check_notify(const struct drm_neuron_submit *args)
{
	bool named = args->stream || args->notify_addr;

	if (!args->notify_size)
		return named || args->stream_offset ? -EINVAL : 0;
	if (args->notify_size < 64 || !is_power_of_2(args->notify_size))
		return -EINVAL;
	if (args->stream)
		return args->notify_addr || args->stream_offset % 16 ? -EINVAL :
								       0;
	return args->stream_offset ||
	       !neuron_is_window_addr(args->notify_addr) ? -EINVAL : 0;
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
	if (neuron_array_check(&args->windows, sizeof(struct drm_neuron_window),
			       NEURON_MAX_WINDOWS))
		return neuron_submit_invalid(drm, "bad array of windows");
	if (neuron_submit_check_notify(args))
		return neuron_submit_invalid(drm, "notify: no address or stream, or odd size");
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
	hw->dma_engine = cpu_to_le16(neuron_core_dma(core->tpb->index) +
				     queue->dma_engine);
	hw->queue = cpu_to_le16(queue->queue);
	if (queue->flags & DRM_NEURON_QUEUE_ANY_RING_ID)
		hw->flags = cpu_to_le32(NEURON_JOB_QUEUE_ANY_RING_ID);
	return 0;
}

static int neuron_submit_queues(struct neuron_job *job,
				const struct neuron_array *queues)
{
	struct neuron_hw_job_queue *hw = neuron_job_queues(job);
	DECLARE_BITMAP(seen, 16 * NEURON_UDMA_QUEUES) = {};
	const struct drm_neuron_queue *queue = queues->element;
	u32 i;
	int ret;

	for (i = 0; i < queues->count; i++) {
		ret = neuron_submit_queue(job, &queue[i], &hw[i], seen);
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
		hw->event_own[i] = cpu_to_le64(~0ull);
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

static int neuron_submit_check_engines(const struct neuron_core *core,
				       const struct drm_neuron_submit *args)
{
	unsigned int i;

	for (i = 0; i < DRM_NEURON_NR_ENGINES && neuron_core_is_cc(core); i++)
		if (args->start[i].count && i != NEURON_ENGINE_SYNC)
			return neuron_submit_invalid(&core->ndev->drm,
						     "a CC-core has no engine but sync");
	return 0;
}

static int neuron_submit_in_syncs(struct neuron_job *job, struct drm_file *file,
				  const struct neuron_array *syncs)
{
	struct neuron_gate *gate;

	if (!syncs->count)
		return 0;
	gate = neuron_in_syncs_find(&job->cc->core->ndev->drm, file, syncs);
	if (IS_ERR(gate))
		return PTR_ERR(gate);
	job->gate = gate;
	return drm_sched_job_add_dependency(&job->base, neuron_gate_arm(gate));
}

/* Under the lock of @job's core in the claim: a number and a place for it. */
static int neuron_submit_number(struct neuron_job *job)
{
	struct neuron_claim_core *cc = job->cc;

	job->id = atomic64_inc_return(&cc->claim->last_job);
	job->hw_id = (u64)cc->generation << 32 | lower_32_bits(job->id);
	job->hw->job_id = cpu_to_le64(job->hw_id);
	return xa_reserve(&cc->pending, job->id, GFP_KERNEL);
}

static void neuron_submit_table(struct neuron_job *job,
				const struct drm_neuron_submit *args)
{
	struct neuron_claim_core *cc = job->cc;
	struct neuron_hw_job *hw = job->hw;

	if (!cc->table)
		return;
	job->table = neuron_table_get(cc->table);
	hw->nr_windows = cpu_to_le32(neuron_table_hw_entries(cc->table));
	hw->window_table = cpu_to_le64(neuron_host_addr(cc->core->ndev,
							cc->table->dma));
	if (args->stream)
		hw->notify_addr = cpu_to_le64(neuron_window_addr(cc->table->nr,
								 args->stream_offset));
}

/*
 * Nothing fails but for want of memory or of the claim, and nothing at all once
 * the windows are written.
 * Return: the job's finished fence, referenced.
 */
static struct dma_fence *neuron_submit_push(struct neuron_job *job,
					    struct neuron_windows *windows,
					    struct drm_neuron_submit *args)
{
	struct neuron_claim_core *cc = job->cc;
	struct dma_fence *fence;
	int ret;

	mutex_lock(&cc->lock);
	ret = cc->dead ? -ENOENT : neuron_submit_number(job);
	if (ret)
		goto out;
	ret = neuron_windows_apply(windows, cc);
	if (ret) {
		xa_release(&cc->pending, job->id);
		goto out;
	}
	neuron_submit_table(job, args);

	drm_sched_job_arm(&job->base);
	fence = dma_fence_get(&job->base.s_fence->finished);
	args->job = job->id;
	xa_store(&cc->pending, job->id, job, GFP_KERNEL);
	trace_neuron_job_submit(cc->core, cc->claim->id, job->id,
				job->nr_queues, job->timeout_ms);
	drm_sched_entity_push_job(&job->base);
out:
	mutex_unlock(&cc->lock);
	return ret ? ERR_PTR(ret) : fence;
}

/* A job that is ready but for its fences; its scheduler part is initialised. */
static struct neuron_job *
neuron_submit_prepare(struct neuron_claim_core *cc, struct drm_file *file,
		      const struct drm_neuron_submit *args,
		      const struct neuron_submit_arrays *arrays)
{
	struct neuron_job *job;
	int ret;

	ret = neuron_submit_check_engines(cc->core, args);
	if (ret)
		return ERR_PTR(ret);
	job = neuron_job_create(cc, arrays->queues.count);
	if (IS_ERR(job))
		return job;
	neuron_submit_block(job, args);
	ret = neuron_submit_queues(job, &arrays->queues);
	if (ret)
		goto err_job;
	ret = neuron_drm_sched_job_init(&job->base, &cc->entity, 1, file,
					cc->claim->client);
	if (ret)
		goto err_job;
	ret = neuron_submit_in_syncs(job, file, &arrays->in_syncs);
	if (ret)
		goto err_sched;
	return job;

err_sched:
	drm_sched_job_cleanup(&job->base);
err_job:
	neuron_job_put(job);
	return ERR_PTR(ret);
}

static int neuron_submit_job(struct neuron_claim_core *cc,
			     struct drm_file *file,
			     struct drm_neuron_submit *args,
			     const struct neuron_submit_arrays *arrays,
			     struct neuron_out_sync *outs,
			     struct neuron_windows *windows)
{
	struct dma_fence *fence;
	struct neuron_job *job;

	job = neuron_submit_prepare(cc, file, args, arrays);
	if (IS_ERR(job))
		return PTR_ERR(job);
	fence = neuron_submit_push(job, windows, args);
	if (IS_ERR(fence)) {
		drm_sched_job_cleanup(&job->base);
		neuron_job_put(job);
		return PTR_ERR(fence);
	}
	neuron_out_syncs_signal(outs, arrays->out_syncs.count, fence);
	dma_fence_put(fence);
	return 0;
}

static int neuron_submit(struct neuron_claim_core *cc, struct drm_file *file,
			 struct drm_neuron_submit *args,
			 const struct neuron_submit_arrays *arrays)
{
	struct neuron_windows windows = { };
	struct neuron_out_sync *outs;
	int ret;

	outs = neuron_out_syncs_find(&cc->core->ndev->drm, file,
				     &arrays->out_syncs);
	if (IS_ERR(outs))
		return PTR_ERR(outs);
	ret = neuron_windows_get(&windows, cc, file, &arrays->windows,
				 args->stream,
				 (u64)args->stream_offset + args->notify_size);
	if (!ret)
		ret = neuron_submit_job(cc, file, args, arrays, outs,
					&windows);
	neuron_windows_put(&windows);
	neuron_out_syncs_free(outs, arrays->out_syncs.count);
	return ret;
}

static void neuron_submit_arrays_put(struct neuron_submit_arrays *arrays)
{
	neuron_array_put(&arrays->queues);
	neuron_array_put(&arrays->in_syncs);
	neuron_array_put(&arrays->out_syncs);
	neuron_array_put(&arrays->windows);
}

/* To be put in any case. */
static int neuron_submit_arrays_get(struct neuron_submit_arrays *arrays,
				    const struct drm_neuron_submit *args)
{
	int ret;

	ret = neuron_array_get(&arrays->queues, sizeof(struct drm_neuron_queue),
			       &args->queues);
	if (!ret)
		ret = neuron_array_get(&arrays->in_syncs,
				       sizeof(struct drm_neuron_sync),
				       &args->in_syncs);
	if (!ret)
		ret = neuron_array_get(&arrays->out_syncs,
				       sizeof(struct drm_neuron_sync),
				       &args->out_syncs);
	if (!ret)
		ret = neuron_array_get(&arrays->windows,
				       sizeof(struct drm_neuron_window),
				       &args->windows);
	return ret;
}

int neuron_ioctl_submit(struct drm_device *drm, void *data,
			struct drm_file *file)
{
	struct neuron_submit_arrays arrays = { };
	struct drm_neuron_submit *args = data;
	struct neuron_claim_core *cc;
	int idx, ret;

	ret = neuron_submit_check(drm, args);
	if (ret)
		return ret;
	ret = neuron_submit_arrays_get(&arrays, args);
	if (ret)
		goto out_arrays;
	cc = neuron_claim_core_find(file, args->claim, args->core);
	if (IS_ERR(cc)) {
		ret = PTR_ERR(cc);
		goto out_arrays;
	}
	ret = -ENODEV;
	if (drm_dev_enter(drm, &idx)) {
		ret = neuron_submit(cc, file, args, &arrays);
		drm_dev_exit(idx);
	}
	neuron_claim_put(cc->claim);
out_arrays:
	neuron_submit_arrays_put(&arrays);
	return ret;
}
