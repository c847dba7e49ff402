// SPDX-License-Identifier: GPL-2.0-only
/*
 * Job blocks: the checks of what a user says of a job, and what the device is told of it.
 */
#include "contract/job.h"
#include "contract/trace.h"
#include "drm/neuron_accel.h"
#include "neuron_claim.h"
#include "neuron_job.h"
#include "neuron_job_block.h"
#include "neuron_window.h"

static_assert(DRM_NEURON_ENGINE_SYNC == (int)NEURON_ENGINE_SYNC);
static_assert(DRM_NEURON_ENGINE_SYNC + 1 == (int)NEURON_NR_ENGINES);
static_assert(DRM_NEURON_QUEUE_ANY_RING_ID == NEURON_JOB_QUEUE_ANY_RING_ID);
static_assert(DRM_NEURON_QUEUE_PRIORITY == NEURON_JOB_QUEUE_PRIORITY);
static_assert(DRM_NEURON_QUEUE_PRIORITY ==
	      (NEURON_NR_PRIORITIES - 1) << DRM_NEURON_QUEUE_PRIORITY_SHIFT);

/* A stream is a window of its own, at whose offset the notifications begin. */
static const char *
neuron_job_check_notify(const struct drm_neuron_job *args)
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

/* Of the buffer nothing is known yet. */
static const char *
neuron_job_check_trace(const struct drm_neuron_job *args)
{
	if (!args->trace)
		return args->trace_offset || args->trace_size ?
			       "a range without a buffer for the trace" : NULL;
	if (args->trace_offset % NEURON_TRACE_ALIGN)
		return "the offset of the trace is no multiple of 64";
	return neuron_trace_check_window(NEURON_WINDOW_HOST | NEURON_WINDOW_WRITE,
					 args->trace_size);
}

static int neuron_job_check(struct drm_device *drm,
			    const struct drm_neuron_job *args)
{
	const char *why;

	if (args->flags)
		return neuron_submit_invalid(drm, "unknown flags of a job");
	if (neuron_array_check(&args->starts, DRM_NEURON_START_SIZE_V2,
			       NEURON_NR_ENGINES))
		return neuron_submit_invalid(drm, "bad array of starts");
	if (neuron_array_check(&args->sem_clear, sizeof(u64),
			       NEURON_NR_SEMAPHORES / 64))
		return neuron_submit_invalid(drm, "bad array of semaphores");
	if (neuron_array_check(&args->queues, DRM_NEURON_QUEUE_SIZE_V2,
			       NEURON_JOB_MAX_QUEUES))
		return neuron_submit_invalid(drm, "bad array of queues");
	if (neuron_array_check(&args->windows, DRM_NEURON_WINDOW_SIZE_V2,
			       NEURON_MAX_WINDOWS))
		return neuron_submit_invalid(drm, "bad array of windows");
	why = neuron_job_check_notify(args) ?: neuron_job_check_trace(args);
	return why ? neuron_submit_invalid(drm, why) : 0;
}

int neuron_job_args_get(struct neuron_job_args *args, struct drm_device *drm)
{
	int ret = neuron_job_check(drm, args->job);

	if (!ret)
		ret = neuron_array_get(&args->starts,
				       sizeof(struct drm_neuron_start),
				       &args->job->starts);
	if (!ret)
		ret = neuron_array_get(&args->sem_clear, sizeof(u64),
				       &args->job->sem_clear);
	if (!ret)
		ret = neuron_array_get(&args->queues,
				       sizeof(struct drm_neuron_queue),
				       &args->job->queues);
	if (!ret)
		ret = neuron_array_get(&args->windows,
				       sizeof(struct drm_neuron_window),
				       &args->job->windows);
	return ret;
}

void neuron_job_args_put(struct neuron_job_args *args)
{
	neuron_array_put(&args->starts);
	neuron_array_put(&args->sem_clear);
	neuron_array_put(&args->queues);
	neuron_array_put(&args->windows);
}

/* Each engine once, and of a CC-core sync alone. */
static int neuron_job_check_starts(const struct neuron_core *core,
				   const struct neuron_array *starts)
{
	const struct drm_neuron_start *start = starts->element;
	struct drm_device *drm = &core->ndev->drm;
	unsigned long seen = 0;
	const char *why;
	u32 i;

	for (i = 0; i < starts->count; i++, start++) {
		if (start->engine >= NEURON_NR_ENGINES)
			return neuron_submit_invalid(drm, "no such engine");
		if (__test_and_set_bit(start->engine, &seen))
			return neuron_submit_invalid(drm, "an engine started twice");
		if (neuron_core_is_cc(core) && start->count &&
		    start->engine != NEURON_ENGINE_SYNC)
			return neuron_submit_invalid(drm,
						     "a CC-core has no engine but sync");
		why = neuron_hw_job_check_start(start->addr, start->count);
		if (why)
			return neuron_submit_invalid(drm, why);
	}
	return 0;
}

/* The engines of a core are numbered from 0 for user space. */
static const char *neuron_job_block_queue(struct neuron_core *core,
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
	return neuron_hw_job_check_queue(hw, first, core->ndev->gen->nr_priorities, used);
}

static int neuron_job_block_queues(struct neuron_job *job,
				   const struct neuron_array *queues)
{
	struct neuron_hw_job_queue *hw = neuron_job_queues(job);
	const struct drm_neuron_queue *queue = queues->element;
	struct neuron_core *core = job->cc->core;
	u64 used[4] = { };
	const char *why;
	u32 i;

	for (i = 0; i < queues->count; i++) {
		why = neuron_job_block_queue(core, &queue[i], &hw[i], used);
		if (why)
			return neuron_submit_invalid(&core->ndev->drm, why);
	}
	return 0;
}

/* The block itself. */
static void neuron_job_block_fill(struct neuron_job *job,
				  const struct neuron_job_args *ja)
{
	const struct drm_neuron_start *start = ja->starts.element;
	const struct drm_neuron_job *args = ja->job;
	const u64 *sem_clear = ja->sem_clear.element;
	struct neuron_core *core = job->cc->core;
	struct neuron_hw_job *hw = job->hw;
	u32 i;

	/* The claim has the whole core; the job has its id when it is queued. */
	neuron_hw_job_begin(hw, 0,
			    neuron_host_addr(core->ndev, core->completion_dma));
	neuron_hw_job_queues(hw, neuron_host_addr(core->ndev, job->dma) +
				 sizeof(*hw), job->nr_queues);
	for (i = 0; i < ja->sem_clear.count; i++)
		hw->sem_clear[i] = cpu_to_le64(sem_clear[i]);
	for (i = 0; i < ja->starts.count; i++)
		neuron_hw_job_start(hw, start[i].engine, start[i].addr,
				    start[i].count);
	neuron_hw_job_notify(hw, args->notify_addr, args->notify_size);
	hw->rank = cpu_to_le32(args->rank);
	if (job->gang)
		neuron_hw_job_gang(hw, job->gang->id, job->gang->size,
				   job->gang_index);
	job->timeout_ms = min(args->timeout_ms ?: NEURON_JOB_TIMEOUT_MS,
			      NEURON_JOB_TIMEOUT_MAX_MS);
}

/* Behind the queues, which are written. */
static int neuron_job_block_trace(struct neuron_job *job, struct drm_file *file,
				  const struct drm_neuron_job *args)
{
	struct neuron_core *core = job->cc->core;
	struct neuron_table *trace;

	if (!args->trace)
		return 0;
	trace = neuron_windows_trace(job->cc, file, args);
	if (IS_ERR(trace))
		return PTR_ERR(trace);
	job->trace = trace;
	*neuron_job_trace_window(job) = trace->hw[0];
	neuron_hw_job_trace(job->hw, neuron_host_addr(core->ndev, job->dma) +
				     sizeof(*job->hw));
	return 0;
}

int neuron_job_block_write(struct neuron_job *job, struct drm_file *file,
			   const struct neuron_job_args *args)
{
	int ret = neuron_job_check_starts(job->cc->core, &args->starts);

	if (ret)
		return ret;
	neuron_job_block_fill(job, args);
	ret = neuron_job_block_queues(job, &args->queues);
	return ret ?: neuron_job_block_trace(job, file, args->job);
}

void neuron_job_block_table(struct neuron_job *job, const struct neuron_job_args *ja)
{
	const struct drm_neuron_job *args = ja->job;
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
