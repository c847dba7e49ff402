// SPDX-License-Identifier: GPL-2.0-only
/*
 * The SUBMIT ioctl: from the jobs that a user names to the queues of their cores.
 */
#include <linux/dma-fence-array.h>
#include <linux/slab.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "drm/neuron_accel.h"
#include "neuron_claim.h"
#include "neuron_compat.h"
#include "neuron_fence.h"
#include "neuron_ioctl.h"
#include "neuron_job.h"
#include "neuron_job_block.h"
#include "neuron_table.h"
#include "neuron_trace.h"
#include "neuron_window.h"

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
 * @in_syncs: drm_neuron_sync
 * @out_syncs: drm_neuron_sync
 * @job: of @jobs
 * @nr: how many
 * @gang: what the jobs are, if there are several
 * @gate: what they wait for, or NULL
 * @array: the fence of a gang, NULL once it has its fences
 * @fences: room for those
 * @outs: what is signalled
 */
struct neuron_submission {
	struct drm_device *drm;
	struct drm_file *file;
	struct neuron_array jobs;
	struct neuron_array in_syncs;
	struct neuron_array out_syncs;
	struct neuron_submit_job *job;
	u32 nr;
	struct neuron_gang *gang;
	struct neuron_gate *gate;
	struct dma_fence_array *array;
	struct dma_fence **fences;
	struct neuron_out_sync *outs;
};

static int neuron_submit_check(struct drm_device *drm,
			       const struct drm_neuron_submit *args)
{
	if (args->flags)
		return neuron_submit_invalid(drm, "unknown flags");
	if (!args->jobs.count ||
	    neuron_array_check(&args->jobs, DRM_NEURON_JOB_SIZE_V2,
			       NEURON_JOB_MAX_GANG))
		return neuron_submit_invalid(drm, "bad array of jobs");
	if (neuron_array_check(&args->in_syncs, DRM_NEURON_SYNC_SIZE_V2,
			       NEURON_MAX_SYNCS) ||
	    neuron_array_check(&args->out_syncs, DRM_NEURON_SYNC_SIZE_V2,
			       NEURON_MAX_SYNCS))
		return neuron_submit_invalid(drm, "bad array of syncobjs");
	return 0;
}

/* A job that is ready but for its gate; its scheduler part is initialised. */
static struct neuron_job *neuron_submit_prepare(struct neuron_submission *sub,
						u32 index)
{
	struct neuron_submit_job *sj = &sub->job[index];
	struct neuron_claim_core *cc = sj->cc;
	struct neuron_job *job;
	int ret;

	job = neuron_job_create(cc, sj->args.queues.count);
	if (IS_ERR(job))
		return job;
	if (sub->gang) {
		job->gang = neuron_gang_get(sub->gang);
		job->gang_index = index;
	}
	ret = neuron_job_block_write(job, sub->file, &sj->args);
	if (!ret)
		ret = neuron_drm_sched_job_init(&job->base, &cc->entity, 1,
						sub->file, cc->claim->client);
	if (!ret)
		return job;
	neuron_job_put(job);
	return ERR_PTR(ret);
}

static int neuron_submit_jobs(struct neuron_submission *sub)
{
	u32 i;

	for (i = 0; i < sub->nr; i++) {
		struct neuron_job *job = neuron_submit_prepare(sub, i);

		if (IS_ERR(job))
			return PTR_ERR(job);
		sub->job[i].job = job;
	}
	return 0;
}

static int neuron_submit_in_syncs(struct neuron_submission *sub)
{
	struct dma_fence *fence;
	struct neuron_gate *gate;
	int ret = 0;
	u32 i;

	if (!sub->in_syncs.count)
		return 0;
	gate = neuron_in_syncs_find(sub->drm, sub->file, &sub->in_syncs);
	if (IS_ERR(gate))
		return PTR_ERR(gate);
	sub->gate = gate;
	fence = neuron_gate_arm(gate);
	for (i = 0; i < sub->nr && !ret; i++) {
		struct neuron_job *job = sub->job[i].job;

		job->gate = neuron_gate_get(gate);
		ret = drm_sched_job_add_dependency(&job->base,
						   dma_fence_get(fence));
	}
	dma_fence_put(fence);
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
	int ret;

	job->id = id;
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

/* All that can fail of one job. */
static int neuron_submit_reserve(struct neuron_submission *sub,
				 struct neuron_submit_job *sj, u64 id)
{
	int ret;

	if (sj->cc->dead)
		return -ENOENT;
	ret = neuron_submit_number(sj->job, id);
	if (ret)
		return ret;
	ret = neuron_windows_apply(&sj->windows, sj->cc, sub->gang);
	if (ret)
		neuron_submit_unnumber(sj->job);
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
	drm_sched_job_arm(&job->base);
	fence = dma_fence_get(&job->base.s_fence->finished);
	xa_store(&cc->pending, job->id, job, GFP_KERNEL);
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
	struct dma_fence *fence = NULL;
	bool cookie;
	u64 first;
	int ret;

	neuron_submit_lock(sub);
	ret = neuron_submit_reserve_all(sub, &first);
	if (!ret) {
		cookie = dma_fence_begin_signalling();
		fence = neuron_submit_push_all(sub);
		dma_fence_end_signalling(cookie);
	}
	neuron_submit_unlock(sub);
	if (ret)
		return ret;
	*id = first;
	neuron_out_syncs_signal(sub->outs, sub->out_syncs.count, fence);
	dma_fence_put(fence);
	return 0;
}

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
	sub->fences = kcalloc(sub->nr, sizeof(*sub->fences), GFP_KERNEL);
	return sub->array && sub->fences ? 0 : -ENOMEM;
}

static int neuron_submit_make(struct neuron_submission *sub, u64 *id)
{
	int ret;

	sub->outs = neuron_out_syncs_find(sub->drm, sub->file,
					  &sub->out_syncs);
	if (IS_ERR(sub->outs)) {
		ret = PTR_ERR(sub->outs);
		sub->outs = NULL;
		return ret;
	}
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
	if (sub->gate)
		neuron_gate_put(sub->gate);
	if (sub->gang)
		neuron_gang_put(sub->gang);
	kfree(sub->fences);
	kfree(sub->array);
	neuron_out_syncs_free(sub->outs, sub->out_syncs.count);
}

/*
 * The memory that the device reads is the device's: it is made and given back inside
 * drm_dev_enter(). What the windows show is known by then, and no such memory.
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
	neuron_submit_undo(sub);
	drm_dev_exit(idx);
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
		ret = neuron_array_get(&sub->in_syncs,
				       sizeof(struct drm_neuron_sync),
				       &args->in_syncs);
	if (!ret)
		ret = neuron_array_get(&sub->out_syncs,
				       sizeof(struct drm_neuron_sync),
				       &args->out_syncs);
	if (ret)
		return ret;
	sub->job = kcalloc(args->jobs.count, sizeof(*sub->job), GFP_KERNEL);
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

static void neuron_submit_arrays_put(struct neuron_submission *sub)
{
	u32 i;

	for (i = 0; i < sub->nr; i++) {
		neuron_job_args_put(&sub->job[i].args);
		neuron_windows_put(&sub->job[i].windows);
		if (sub->job[i].cc)
			neuron_claim_put(sub->job[i].cc->claim);
	}
	kfree(sub->job);
	neuron_array_put(&sub->jobs);
	neuron_array_put(&sub->in_syncs);
	neuron_array_put(&sub->out_syncs);
}

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
