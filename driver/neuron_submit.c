// SPDX-License-Identifier: GPL-2.0-only
/*
 * The SUBMIT ioctl: from the jobs that a user names to the queues of their cores.
 */
#include <linux/dma-fence-array.h>
#include <linux/slab.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "contract/job.h"
#include "contract/trace.h"
#include "drm/neuron_accel.h"
#include "neuron_claim.h"
#include "neuron_compat.h"
#include "neuron_fence.h"
#include "neuron_ioctl.h"
#include "neuron_job.h"
#include "neuron_syncs.h"
#include "neuron_table.h"
#include "neuron_times.h"
#include "neuron_trace.h"
#include "neuron_window.h"

/* A job alone is copied without an allocation. */
static_assert(sizeof(struct drm_neuron_job) <= NEURON_ARRAY_SMALL);

/**
 * struct neuron_job_args - what a user says of a job
 * @job: the struct itself
 * @starts: drm_neuron_start
 * @sem_clear: u64
 * @queues: drm_neuron_queue
 * @windows: drm_neuron_window
 * @trace: window of the trace, bound, until the job has it
 */
struct neuron_job_args {
	const struct drm_neuron_job *job;
	struct neuron_array starts;
	struct neuron_array sem_clear;
	struct neuron_array queues;
	struct neuron_array windows;
	struct neuron_change trace;
};

/* A submission is refused: say why. */
static int neuron_submit_invalid(struct drm_device *drm, const char *why)
{
	drm_dbg(drm, "submit: %s\n", why);
	return -EINVAL;
}

/* Job blocks: the checks of what a user says of a job, and what the device is told of it. */

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
	if (args->timeout_ms > NEURON_JOB_TIMEOUT_MAX_MS)
		return neuron_submit_invalid(drm, "a time limit above a day");
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

/*
 * With @args->job set: check it, as far as that needs no core, and fetch its arrays. To be
 * put in any case.
 */
static int neuron_job_args_get(struct neuron_job_args *args, struct drm_device *drm)
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

static void neuron_job_args_put(struct neuron_job_args *args)
{
	neuron_binding_put(&args->trace.binding);
	neuron_array_put(&args->starts);
	neuron_array_put(&args->sem_clear);
	neuron_array_put(&args->queues);
	neuron_array_put(&args->windows);
}

/* Each engine once, and of a CC-core sync alone. */
static int neuron_job_check_starts(const struct neuron_core *core,
				   const struct neuron_array *starts)
{
	const u32 engines = neuron_hw_job_engines(neuron_core_is_cc(core));
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
		why = neuron_hw_job_check_engine(engines, start->engine, start->count) ?:
		      neuron_hw_job_check_start(start->addr, start->count);
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
	const char *why;

	why = neuron_hw_job_queue_place(hw, first, queue->dma_engine, queue->queue);
	if (why)
		return why;
	neuron_hw_job_queue_rings(hw, queue->m2s_ring, queue->m2s_length,
				  queue->s2m_ring, queue->s2m_length, queue->flags);
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
		neuron_hw_job_sem_clear(hw, i, sem_clear[i]);
	for (i = 0; i < ja->starts.count; i++)
		neuron_hw_job_start(hw, start[i].engine, start[i].addr,
				    start[i].count);
	neuron_hw_job_notify(hw, args->notify_addr, args->notify_size);
	neuron_hw_job_rank(hw, args->rank);
	if (job->gang)
		neuron_hw_job_gang(hw, job->gang->id, job->gang->size,
				   job->gang_index);
	job->timeout_ms = args->timeout_ms ?: NEURON_JOB_TIMEOUT_MS;
}

/* Behind the queues, which are written. */
static int neuron_job_block_trace(struct neuron_job *job,
				  struct neuron_job_args *args)
{
	struct neuron_core *core = job->cc->core;
	struct neuron_table *trace;

	if (!args->job->trace)
		return 0;
	trace = neuron_windows_trace(job->cc, &args->trace);
	if (IS_ERR(trace))
		return PTR_ERR(trace);
	job->trace = trace;
	*neuron_job_trace_window(job) = neuron_table_binding(trace, 0)->hw;
	neuron_hw_job_trace(job->hw, neuron_host_addr(core->ndev, job->dma) +
				     sizeof(*job->hw));
	return 0;
}

/*
 * Write the block of @job, which is zero, its queue table, and the window of its trace: all
 * but the id and the window table. -EINVAL; of the trace those of neuron_windows_trace().
 */
static int neuron_job_block_write(struct neuron_job *job,
				  struct neuron_job_args *args)
{
	int ret = neuron_job_check_starts(job->cc->core, &args->starts);

	if (ret)
		return ret;
	neuron_job_block_fill(job, args);
	ret = neuron_job_block_queues(job, &args->queues);
	return ret ?: neuron_job_block_trace(job, args);
}

/* Under neuron_claim_core.lock: give the job the window table that the core has now. */
static void neuron_job_block_table(struct neuron_job *job, const struct neuron_job_args *ja)
{
	const struct drm_neuron_job *args = ja->job;
	struct neuron_claim_core *cc = job->cc;
	struct neuron_hw_job *hw = job->hw;

	lockdep_assert_held(&cc->lock);
	if (!cc->table)
		return;
	job->table = neuron_table_get(cc->table);
	neuron_table_describe(cc->table, hw);
	if (args->stream)
		neuron_hw_job_notify(hw, neuron_window_addr(cc->table->nr, args->stream_offset),
				     args->notify_size);
}

/* The call. */

/**
 * struct neuron_submit_job - a job of a submission
 * @args: what user space says
 * @cc: core in the claim, with a reference of the claim; NULL: not looked up yet
 * @windows: those that @args name
 * @job: until it is queued; ready but for its number
 */
struct neuron_submit_job {
	struct neuron_job_args args;
	struct neuron_claim_core *cc;
	struct neuron_windows windows;
	struct neuron_job *job;
};

/**
 * struct neuron_submission - a call of SUBMIT
 * @drm: device
 * @file: file
 * @jobs: drm_neuron_job
 * @syncs: what the jobs wait for, and what they signal
 * @job: of @jobs
 * @nr: how many
 * @gang: what the jobs are, if there are several
 * @array: the fence of a gang, NULL once it has its fences
 * @fences: room for those
 * @fence: signals when all jobs have finished; NULL: they are not in their queues
 */
struct neuron_submission {
	struct drm_device *drm;
	struct drm_file *file;
	struct neuron_array jobs;
	struct neuron_syncs syncs;
	struct neuron_submit_job *job;
	u32 nr;
	struct neuron_gang *gang;
	struct dma_fence_array *array;
	struct dma_fence **fences;
	struct dma_fence *fence;
};

static int neuron_submit_check(struct drm_device *drm,
			       const struct drm_neuron_submit *args)
{
	if (args->flags & ~DRM_NEURON_SUBMIT_GANG)
		return neuron_submit_invalid(drm, "unknown flags");
	if (!args->jobs.count ||
	    neuron_array_check(&args->jobs, DRM_NEURON_JOB_SIZE_V2,
			       NEURON_JOB_MAX_GANG))
		return neuron_submit_invalid(drm, "bad array of jobs");
	if (args->jobs.count > 1 && !(args->flags & DRM_NEURON_SUBMIT_GANG))
		return neuron_submit_invalid(drm, "several jobs that are no gang");
	if (neuron_syncs_check(&args->in_syncs, &args->out_syncs))
		return neuron_submit_invalid(drm, "bad array of syncobjs");
	return 0;
}

/*
 * Make the job ready but for its gate. Once its scheduler part is initialised the submission
 * has it, also with an error, and puts it outside drm_dev_enter().
 */
static int neuron_submit_prepare(struct neuron_submission *sub, u32 index)
{
	struct neuron_submit_job *sj = &sub->job[index];
	struct neuron_claim_core *cc = sj->cc;
	struct neuron_job *job;
	int ret;

	job = neuron_job_create(cc, sj->args.queues.count);
	if (IS_ERR(job))
		return PTR_ERR(job);
	if (sub->gang) {
		job->gang = neuron_gang_get(sub->gang);
		job->gang_index = index;
	}
	ret = neuron_drm_sched_job_init(&job->base, &cc->entity, 1, sub->file,
					cc->claim->client);
	if (ret) {
		neuron_job_put(job);
		return ret;
	}
	sj->job = job;
	ret = neuron_job_block_write(job, &sj->args);
	return ret ?: neuron_times_prepare(job, sub->file, sj->args.job);
}

static int neuron_submit_jobs(struct neuron_submission *sub)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < sub->nr && !ret; i++)
		ret = neuron_submit_prepare(sub, i);
	return ret;
}

static int neuron_submit_in_syncs(struct neuron_submission *sub)
{
	int ret;
	u32 i;

	ret = neuron_syncs_charge(&sub->syncs, &sub->job[0].cc->claim->budget);
	for (i = 0; i < sub->nr && !ret; i++)
		sub->job[i].job->gate = neuron_syncs_wait(&sub->syncs);
	return ret;
}

static int neuron_submit_windows(struct neuron_submission *sub)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < sub->nr && !ret; i++) {
		struct neuron_submit_job *sj = &sub->job[i];
		const struct drm_neuron_job *args = sj->args.job;

		ret = neuron_windows_get(&sj->windows, sj->cc, sub->file,
					 &sj->args.windows, args->stream,
					 (u64)args->stream_offset +
					 args->notify_size);
		if (!ret && args->trace)
			ret = neuron_window_bind_trace(sj->cc, sub->file, args,
						       &sj->args.trace);
	}
	return ret;
}

/*
 * Several jobs are put into their queues under the locks of all their cores, so that every
 * core has the gangs of a claim in the same order. The lock of the gangs makes it safe to
 * take those in any order: nobody else takes more than one.
 */
static void neuron_submit_lock(struct neuron_submission *sub)
{
	struct neuron_claim *claim = sub->job[0].cc->claim;
	u32 i;

	if (!sub->gang) {
		mutex_lock(&sub->job[0].cc->lock);
		return;
	}
	mutex_lock(&claim->gang_lock);
	for (i = 0; i < sub->nr; i++)
		mutex_lock_nest_lock(&sub->job[i].cc->lock, &claim->gang_lock);
}

static void neuron_submit_unlock(struct neuron_submission *sub)
{
	u32 i;

	for (i = 0; i < sub->nr; i++)
		mutex_unlock(&sub->job[i].cc->lock);
	if (sub->gang)
		mutex_unlock(&sub->job[0].cc->claim->gang_lock);
}

/* A number, and a place for the job and its result. */
static int neuron_submit_number(struct neuron_job *job, u64 id)
{
	struct neuron_claim_core *cc = job->cc;

	job->id = id;
	job->hw_id = (u64)cc->generation << 32 | lower_32_bits(job->id);
	neuron_hw_job_id(job->hw, job->hw_id);
	return neuron_results_reserve(&cc->results, job->id);
}

static void neuron_submit_unnumber(struct neuron_job *job)
{
	neuron_results_release(&job->cc->results, job->id);
}

/* All that can fail of one job. */
static int neuron_submit_reserve(struct neuron_submission *sub,
				 struct neuron_submit_job *sj, u64 id)
{
	int ret;

	if (sj->cc->dead)
		return -ENOENT;
	ret = neuron_times_enter(sj->job);
	if (ret)
		return ret;
	ret = neuron_submit_number(sj->job, id);
	if (ret)
		goto err_times;
	ret = neuron_windows_apply(&sj->windows, sj->cc, sub->gang);
	if (!ret)
		return 0;
	neuron_submit_unnumber(sj->job);
err_times:
	neuron_times_undo(sj->job);
	return ret;
}

/* Of all jobs, or of none. The numbers are in order. */
static int neuron_submit_reserve_all(struct neuron_submission *sub, u64 *first)
{
	struct neuron_claim *claim = sub->job[0].cc->claim;
	int ret = 0;
	u32 i;

	*first = atomic64_add_return(sub->nr, &claim->last_job) - sub->nr + 1;
	for (i = 0; i < sub->nr; i++) {
		ret = neuron_submit_reserve(sub, &sub->job[i], *first + i);
		if (ret)
			break;
	}
	while (ret && i--) {
		neuron_windows_undo(&sub->job[i].windows, sub->job[i].cc);
		neuron_submit_unnumber(sub->job[i].job);
		neuron_times_undo(sub->job[i].job);
	}
	return ret;
}

/* Return: the job's finished fence, referenced. */
static struct dma_fence *neuron_submit_push(struct neuron_submit_job *sj)
{
	struct neuron_claim_core *cc = sj->cc;
	struct neuron_job *job = sj->job;
	struct dma_fence *fence;

	neuron_job_block_table(job, &sj->args);
	neuron_times_commit(job);
	drm_sched_job_arm(&job->base);
	fence = dma_fence_get(&job->base.s_fence->finished);
	job->result->owner = job;
	neuron_results_add(&cc->results, job->result, job->id, fence);
	trace_neuron_job_submit(cc->core, cc->claim->id, job->id,
				job->nr_queues, job->timeout_ms);
	drm_sched_entity_push_job(&job->base);
	sj->job = NULL;
	return fence;
}

/* Return: signals when all jobs have finished, referenced. */
static struct dma_fence *neuron_submit_push_all(struct neuron_submission *sub)
{
	struct dma_fence_array *array = sub->array;
	u32 i;

	if (!sub->gang)
		return neuron_submit_push(&sub->job[0]);
	for (i = 0; i < sub->nr; i++)
		sub->fences[i] = neuron_submit_push(&sub->job[i]);
	neuron_fence_array_init(array, sub->nr, sub->fences);
	sub->array = NULL;
	sub->fences = NULL;
	/* It has the error of a job only if it looks at each of them. */
	neuron_fence_enable_signaling(&array->base);
	return &array->base;
}

/*
 * Nothing fails but for want of memory or of the claim, and nothing at all once the first
 * job is in its queue. From there on the fence of that job waits for the others of its gang
 * to get into theirs, so lockdep is told that nothing may be allocated.
 */
static int neuron_submit_enqueue(struct neuron_submission *sub, u64 *id)
{
	bool cookie;
	u64 first;
	int ret;

	neuron_submit_lock(sub);
	ret = neuron_submit_reserve_all(sub, &first);
	if (!ret) {
		cookie = dma_fence_begin_signalling();
		sub->fence = neuron_submit_push_all(sub);
		dma_fence_end_signalling(cookie);
	}
	neuron_submit_unlock(sub);
	if (ret)
		return ret;
	/* The work that starts the jobs goes first: the rest of the call can wait. */
	cond_resched();
	*id = first;
	return 0;
}

/* A gang of one job is a job. */
static int neuron_submit_gang(struct neuron_submission *sub)
{
	struct neuron_gang *gang;

	if (sub->nr == 1)
		return 0;
	gang = neuron_gang_create(to_neuron_device(sub->drm), sub->nr);
	if (IS_ERR(gang))
		return PTR_ERR(gang);
	sub->gang = gang;
	sub->array = dma_fence_array_alloc(sub->nr);
	sub->fences = kcalloc(sub->nr, sizeof(*sub->fences), GFP_KERNEL_ACCOUNT);
	return sub->array && sub->fences ? 0 : -ENOMEM;
}

static int neuron_submit_make(struct neuron_submission *sub, u64 *id)
{
	int ret;

	ret = neuron_submit_gang(sub);
	if (!ret)
		ret = neuron_submit_jobs(sub);
	if (!ret)
		ret = neuron_submit_in_syncs(sub);
	return ret ?: neuron_submit_enqueue(sub, id);
}

/* What neuron_submit_make() has made and not given away; the gang before the fences. */
static void neuron_submit_undo(struct neuron_submission *sub)
{
	u32 i;

	for (i = 0; i < sub->nr; i++) {
		struct neuron_submit_job *sj = &sub->job[i];

		if (sj->job) {
			drm_sched_job_cleanup(&sj->job->base);
			neuron_job_put(sj->job);
		}
		neuron_windows_put(&sj->windows);
	}
	if (sub->gang)
		neuron_gang_put(sub->gang);
	kfree(sub->fences);
	kfree(sub->array);
}

/*
 * The memory that the device reads is the device's: it is made inside drm_dev_enter(). What the
 * windows show is known by then, and no such memory. What was not used is given back outside,
 * because buffers may end with it; the removal waits for jobs, tables and lists
 * (neuron_device.nr_live).
 */
static int neuron_submit(struct neuron_submission *sub, u64 *id)
{
	int idx, ret;

	ret = neuron_submit_windows(sub);
	if (ret)
		return ret;
	if (!drm_dev_enter(sub->drm, &idx))
		return -ENODEV;
	ret = neuron_submit_make(sub, id);
	drm_dev_exit(idx);
	neuron_submit_undo(sub);
	if (sub->fence)
		neuron_syncs_signal(&sub->syncs, sub->fence);
	dma_fence_put(sub->fence);
	return ret;
}

/* Each core once, and all of one claim. */
static int neuron_submit_find_core(struct neuron_submission *sub, u32 claim,
				   struct neuron_submit_job *sj)
{
	struct neuron_claim_core *cc;
	struct neuron_submit_job *other;

	cc = neuron_claim_core_find(sub->file, claim, sj->args.job->core);
	if (IS_ERR(cc))
		return PTR_ERR(cc);
	sj->cc = cc;
	for (other = sub->job; other < sj; other++) {
		if (other->cc == cc)
			return neuron_submit_invalid(sub->drm,
						     "two jobs of one core");
		/* Its number may have been given to a new claim meanwhile. */
		if (other->cc->claim != cc->claim)
			return -ENOENT;
	}
	return 0;
}

/* Those of the jobs, and those that their windows name. */
static int neuron_submit_find_cores(struct neuron_submission *sub, u32 claim)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < sub->nr && !ret; i++)
		ret = neuron_submit_find_core(sub, claim, &sub->job[i]);
	for (i = 0; i < sub->nr && !ret; i++)
		ret = neuron_windows_use_cores(sub->job[i].cc,
					       &sub->job[i].args.windows);
	return ret;
}

/* Their number is what a submission costs, so it is limited for all jobs together. */
static int neuron_submit_check_windows(struct neuron_submission *sub)
{
	u64 windows = 0;
	u32 i;

	for (i = 0; i < sub->nr; i++)
		windows += sub->job[i].args.job->windows.count;
	if (windows <= NEURON_MAX_WINDOWS)
		return 0;
	drm_dbg(sub->drm, "submit: %llu windows of all jobs, at most %u are taken\n",
		windows, NEURON_MAX_WINDOWS);
	return -EINVAL;
}

/* Of the call and of its jobs. To be put in any case. */
static int neuron_submit_arrays_get(struct neuron_submission *sub,
				    const struct drm_neuron_submit *args)
{
	int ret;
	u32 i;

	ret = neuron_array_get(&sub->jobs, sizeof(struct drm_neuron_job),
			       &args->jobs);
	if (!ret)
		ret = neuron_syncs_get(&sub->syncs, sub->drm, sub->file,
				       &args->in_syncs, &args->out_syncs);
	if (ret)
		return ret;
	sub->job = kcalloc(args->jobs.count, sizeof(*sub->job), GFP_KERNEL_ACCOUNT);
	if (!sub->job)
		return -ENOMEM;
	sub->nr = args->jobs.count;
	for (i = 0; i < sub->nr; i++)
		sub->job[i].args.job = (struct drm_neuron_job *)sub->jobs.element + i;
	ret = neuron_submit_check_windows(sub);
	for (i = 0; i < sub->nr && !ret; i++)
		ret = neuron_job_args_get(&sub->job[i].args, sub->drm);
	return ret;
}

/* The gate goes before the claim whose budget it is charged to. */
static void neuron_submit_arrays_put(struct neuron_submission *sub)
{
	u32 i;

	neuron_syncs_put(&sub->syncs);
	for (i = 0; i < sub->nr; i++) {
		neuron_job_args_put(&sub->job[i].args);
		neuron_windows_put(&sub->job[i].windows);
		if (sub->job[i].cc)
			neuron_claim_put(sub->job[i].cc->claim);
	}
	kfree(sub->job);
	neuron_array_put(&sub->jobs);
}

/**
 * neuron_ioctl_submit() - SUBMIT: queue a job, or a gang of jobs
 * @drm: device
 * @data: &struct drm_neuron_submit
 * @file: file of the caller
 *
 * Return: 0, or an errno that drm/neuron_accel.h names.
 */
int neuron_ioctl_submit(struct drm_device *drm, void *data,
			struct drm_file *file)
{
	struct neuron_submission sub = { .drm = drm, .file = file };
	struct drm_neuron_submit *args = data;
	int ret;

	ret = neuron_submit_check(drm, args);
	if (ret)
		return ret;
	ret = neuron_submit_arrays_get(&sub, args);
	if (!ret)
		ret = neuron_submit_find_cores(&sub, args->claim);
	if (!ret)
		ret = neuron_submit(&sub, &args->job);
	neuron_submit_arrays_put(&sub);
	return ret;
}
