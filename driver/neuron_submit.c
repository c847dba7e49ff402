// SPDX-License-Identifier: GPL-2.0-only
/*
 * The SUBMIT ioctl: checks, the job block, the way into the queue.
 */
#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "contract/job.h"
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

static int neuron_submit_check_starts(struct drm_device *drm,
				      const struct drm_neuron_submit *args)
{
	const char *why;
	unsigned int i;

	for (i = 0; i < DRM_NEURON_NR_ENGINES; i++) {
		if (args->start[i].pad)
			return neuron_submit_invalid(drm, "non-zero pad");
		why = neuron_hw_job_check_start(args->start[i].addr,
						args->start[i].count);
		if (why)
			return neuron_submit_invalid(drm, why);
	}
	return 0;
}

/* A stream is a window of its own, at whose offset the notifications begin. */
static const char *
neuron_submit_check_notify(const struct drm_neuron_submit *args)
{
	if (!args->stream)
		return args->stream_offset ? "an offset without a stream" :
			neuron_hw_job_check_notify(args->notify_addr,
						   args->notify_size);
	if (args->notify_addr)
		return "a stream and a notification address";
	if (!args->notify_size)
		return "a stream without size";
	if (args->stream_offset % sizeof(struct neuron_hw_notify))
		return "the stream's offset is no multiple of 16";
	return neuron_hw_job_check_notify(neuron_window_addr(0, args->stream_offset),
					  args->notify_size);
}

static int neuron_submit_check(struct drm_device *drm,
			       const struct drm_neuron_submit *args)
{
	const char *why;

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
	why = neuron_submit_check_notify(args);
	if (why)
		return neuron_submit_invalid(drm, why);
	return neuron_submit_check_starts(drm, args);
}

/* The engines of a core are numbered from 0 for user space. */
static const char *neuron_submit_queue(struct neuron_core *core,
				       const struct drm_neuron_queue *queue,
				       struct neuron_hw_job_queue *hw,
				       u64 *used)
{
	unsigned int first = neuron_core_dma(core->tpb->index);

	if (queue->dma_engine >= NEURON_JOB_DMA_ENGINES)
		return "no such DMA engine";
	*hw = (struct neuron_hw_job_queue){
		.m2s_ring = cpu_to_le64(queue->m2s_ring),
		.s2m_ring = cpu_to_le64(queue->s2m_ring),
		.m2s_length = cpu_to_le32(queue->m2s_length),
		.s2m_length = cpu_to_le32(queue->s2m_length),
		.dma_engine = cpu_to_le16(first + queue->dma_engine),
		.queue = cpu_to_le16(queue->queue),
		.flags = cpu_to_le32(queue->flags),
	};
	return neuron_hw_job_check_queue(hw, first, used);
}

static int neuron_submit_queues(struct neuron_job *job,
				const struct neuron_array *queues)
{
	struct neuron_hw_job_queue *hw = neuron_job_queues(job);
	const struct drm_neuron_queue *queue = queues->element;
	struct neuron_core *core = job->cc->core;
	u64 used[4] = { };
	const char *why;
	u32 i;

	for (i = 0; i < queues->count; i++) {
		why = neuron_submit_queue(core, &queue[i], &hw[i], used);
		if (why)
			return neuron_submit_invalid(&core->ndev->drm, why);
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

	/* The claim has the whole core; the job has its id when it is queued. */
	neuron_hw_job_begin(hw, 0,
			    neuron_host_addr(core->ndev, core->completion_dma));
	neuron_hw_job_queues(hw, neuron_host_addr(core->ndev, job->dma) +
				 sizeof(*hw), job->nr_queues);
	for (i = 0; i < ARRAY_SIZE(hw->sem_clear); i++)
		hw->sem_clear[i] = cpu_to_le64(args->sem_clear[i]);
	for (i = 0; i < DRM_NEURON_NR_ENGINES; i++)
		neuron_hw_job_start(hw, i, args->start[i].addr,
				    args->start[i].count);
	neuron_hw_job_notify(hw, args->notify_addr, args->notify_size);
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

/* Under the lock of @job's core in the claim: a number, and a place for it and its result. */
static int neuron_submit_number(struct neuron_job *job)
{
	struct neuron_claim_core *cc = job->cc;
	int ret;

	job->id = atomic64_inc_return(&cc->claim->last_job);
	job->hw_id = (u64)cc->generation << 32 | lower_32_bits(job->id);
	job->hw->job_id = cpu_to_le64(job->hw_id);
	ret = xa_reserve(&cc->pending, job->id, GFP_KERNEL);
	if (ret)
		return ret;
	ret = neuron_results_reserve(&cc->results, job->id);
	if (ret)
		xa_release(&cc->pending, job->id);
	return ret;
}

static void neuron_submit_unnumber(struct neuron_job *job)
{
	neuron_results_release(&job->cc->results, job->id);
	xa_release(&job->cc->pending, job->id);
}

static void neuron_submit_table(struct neuron_job *job,
				const struct drm_neuron_submit *args)
{
	struct neuron_claim_core *cc = job->cc;
	struct neuron_hw_job *hw = job->hw;

	if (!cc->table)
		return;
	job->table = neuron_table_get(cc->table);
	neuron_hw_job_windows(hw, neuron_host_addr(cc->core->ndev,
						   cc->table->dma),
			      neuron_table_hw_entries(cc->table));
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
		neuron_submit_unnumber(job);
		goto out;
	}
	neuron_submit_table(job, args);

	drm_sched_job_arm(&job->base);
	fence = dma_fence_get(&job->base.s_fence->finished);
	args->job = job->id;
	xa_store(&cc->pending, job->id, job, GFP_KERNEL);
	neuron_results_add(&cc->results, job->result, job->id, fence);
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
