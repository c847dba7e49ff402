// SPDX-License-Identifier: GPL-2.0-only
/*
 * What becomes of jobs that were submitted: WAIT for their ends, CANCEL them, RESET their core.
 * Transfers: neuron_transfer_file.c.
 */
#include <linux/dma-fence.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <drm/drm_file.h>
#include <drm/drm_utils.h>

#include "drm/neuron_accel.h"
#include "neuron_claim.h"
#include "neuron_core.h"
#include "neuron_fence.h"
#include "neuron_ioctl.h"
#include "neuron_job.h"
#include "neuron_result.h"
#include "neuron_transfer.h"

/* WAIT */

/**
 * struct neuron_wait - the jobs that a call waits for
 * @count: how many
 * @cc: the core of each, with a reference of its claim; NULL for a transfer
 * @result: of each, referenced
 * @fence: to wait for, of each, referenced; NULL: it ended a while ago
 * @room: where the three arrays are
 * @one: room for one job, so that to wait for it needs no allocation; the struct stays where
 *	it is
 */
struct neuron_wait {
	u32 count;
	struct neuron_claim_core **cc;
	struct neuron_result **result;
	struct dma_fence **fence;
	void **room;
	void *one[3];
};

static void neuron_wait_put_owner(struct neuron_claim_core *cc)
{
	if (cc)
		neuron_claim_put(cc->claim);
}

static void neuron_wait_put(struct neuron_wait *wait)
{
	u32 i;

	for (i = 0; i < wait->count; i++) {
		dma_fence_put(wait->fence[i]);
		neuron_result_put(wait->result[i]);
		neuron_wait_put_owner(wait->cc[i]);
	}
	if (wait->room != wait->one)
		kvfree(wait->room);
}

static int neuron_wait_alloc(struct neuron_wait *wait, u32 count)
{
	wait->room = count == 1 ? wait->one :
		     kvcalloc(count, sizeof(wait->one), GFP_KERNEL_ACCOUNT);
	if (!wait->room)
		return -ENOMEM;
	wait->cc = (struct neuron_claim_core **)wait->room;
	wait->result = (struct neuron_result **)(wait->room + count);
	wait->fence = (struct dma_fence **)(wait->room + 2 * count);
	return 0;
}

/* Where the result of @job is. The file, which is open, keeps those of its transfers. */
static struct neuron_results *
neuron_wait_find(struct drm_file *file, const struct drm_neuron_wait_job *job,
		 struct neuron_claim_core **cc)
{
	*cc = NULL;
	if (job->claim == DRM_NEURON_NO_CLAIM)
		return neuron_transfers_results(file, job->core, job->job);
	*cc = neuron_claim_core_find_any(file, job->claim, job->core);
	return IS_ERR(*cc) ? ERR_CAST(*cc) : &(*cc)->results;
}

static int neuron_wait_add(struct neuron_wait *wait, struct drm_file *file,
			   const struct drm_neuron_wait_job *job)
{
	struct neuron_results *results;
	struct neuron_claim_core *cc;
	struct dma_fence *fence;

	results = neuron_wait_find(file, job, &cc);
	if (IS_ERR(results))
		return PTR_ERR(results);
	wait->result[wait->count] = neuron_results_find(results, job->job,
							&fence);
	if (!wait->result[wait->count]) {
		drm_dbg(file->minor->dev,
			"wait: claim %u core %u knows no job %llu, or no longer\n",
			job->claim, job->core, job->job);
		neuron_wait_put_owner(cc);
		return -ENOENT;
	}
	wait->fence[wait->count] = fence;
	wait->cc[wait->count++] = cc;
	return 0;
}

static bool neuron_wait_has_ended(const struct neuron_wait *wait, u32 i)
{
	return !wait->fence[i] || dma_fence_is_signaled(wait->fence[i]);
}

/* The first job that has ended, or that has not; the count when there is none. */
static u32 neuron_wait_first(const struct neuron_wait *wait, bool ended)
{
	u32 i;

	for (i = 0; i < wait->count; i++)
		if (neuron_wait_has_ended(wait, i) == ended)
			break;
	return i;
}

static bool neuron_wait_is_over(const struct neuron_wait *wait, bool all)
{
	if (all)
		return neuron_wait_first(wait, false) == wait->count;
	return neuron_wait_first(wait, true) < wait->count;
}

static long neuron_wait_all(struct neuron_wait *wait, s64 deadline_ns)
{
	long left = 1;
	u32 i;

	for (i = 0; i < wait->count && left > 0; i++)
		if (wait->fence[i])
			left = dma_fence_wait_timeout(wait->fence[i], true,
						      drm_timeout_abs_to_jiffies(deadline_ns));
	return left;
}

static long neuron_wait_any(struct neuron_wait *wait, s64 deadline_ns)
{
	return dma_fence_wait_any_timeout(wait->fence, wait->count, true,
					  drm_timeout_abs_to_jiffies(deadline_ns),
					  NULL);
}

/*
 * Nothing but the deadline limits how long: a call that is restarted ends, too. Jiffies that
 * were behind the clock, because a tick came late, end a wait too early; then it goes on.
 */
static int neuron_wait_until(struct neuron_wait *wait, bool all,
			     s64 deadline_ns)
{
	long left;

	do {
		if (neuron_wait_is_over(wait, all))
			return 0;
		if (!drm_timeout_abs_to_jiffies(deadline_ns))
			return -ETIMEDOUT;
		if (all || wait->count == 1)
			left = neuron_wait_all(wait, deadline_ns);
		else
			left = neuron_wait_any(wait, deadline_ns);
	} while (!left);
	return left < 0 ? left : 0;
}

static void neuron_wait_results(const struct neuron_wait *wait,
				struct drm_neuron_wait_job *job)
{
	u32 i;

	for (i = 0; i < wait->count; i++, job++) {
		memset_startat(job, 0, status);
		if (!neuron_wait_has_ended(wait, i))
			continue;
		/* The result was written before the fence was signalled. */
		smp_rmb();
		neuron_result_fetch(wait->result[i], job);
	}
}

/* @wait is to be put in any case. */
static int neuron_wait_jobs(struct neuron_wait *wait, struct drm_file *file,
			    struct neuron_array *jobs,
			    struct drm_neuron_wait *args)
{
	bool all = args->flags & DRM_NEURON_WAIT_ALL;
	struct drm_neuron_wait_job *job = jobs->element;
	int ret = neuron_wait_alloc(wait, jobs->count);

	if (ret)
		return ret;
	for (args->index = 0; args->index < jobs->count; args->index++) {
		ret = neuron_wait_add(wait, file, &job[args->index]);
		if (ret)
			return ret;
	}
	ret = neuron_wait_until(wait, all, args->deadline_ns);
	if (ret && ret != -ETIMEDOUT)
		return ret;
	args->index = neuron_wait_first(wait, true);
	neuron_wait_results(wait, job);
	return neuron_array_return(&args->jobs, jobs, sizeof(*job),
				   offsetof(struct drm_neuron_wait_job, status)) ?:
	       ret;
}

static int neuron_wait_check(struct drm_device *drm,
			     const struct drm_neuron_wait *args)
{
	if (args->flags & ~DRM_NEURON_WAIT_ALL) {
		drm_dbg(drm, "wait: unknown flags %#x\n", args->flags);
		return -EINVAL;
	}
	if (!args->jobs.count ||
	    neuron_array_check(&args->jobs, DRM_NEURON_WAIT_JOB_SIZE_V2,
			       NEURON_MAX_WAIT_JOBS)) {
		drm_dbg(drm, "wait: bad array: %u elements of %u bytes\n",
			args->jobs.count, args->jobs.stride);
		return -EINVAL;
	}
	return 0;
}

/**
 * neuron_ioctl_wait() - WAIT: wait for jobs and transfers, and fetch their results
 * @drm: device
 * @data: &struct drm_neuron_wait
 * @file: file of the caller
 *
 * Return: 0, or an errno that drm/neuron_accel.h names.
 */
int neuron_ioctl_wait(struct drm_device *drm, void *data,
		      struct drm_file *file)
{
	struct drm_neuron_wait *args = data;
	struct neuron_wait wait = { };
	struct neuron_array jobs;
	int ret;

	ret = neuron_wait_check(drm, args);
	if (ret)
		return ret;
	ret = neuron_array_get(&jobs, sizeof(struct drm_neuron_wait_job),
			       &args->jobs);
	if (ret)
		return ret;
	ret = neuron_wait_jobs(&wait, file, &jobs, args);
	neuron_wait_put(&wait);
	neuron_array_put(&jobs);
	return ret;
}

/* CANCEL and RESET */

/* The first job with an id from *@id to @last that is not being freed, referenced, or NULL. */
static struct neuron_job *neuron_jobs_next(struct neuron_claim_core *cc, unsigned long *id,
					   unsigned long last)
{
	struct xarray *jobs = &cc->results.jobs;
	struct neuron_result *result;
	struct neuron_job *job;

	xa_lock(jobs);
	result = xa_find(jobs, id, last, XA_PRESENT);
	while (result && !result->owner)
		result = xa_find_after(jobs, id, last, XA_PRESENT);
	job = result ? result->owner : NULL;
	if (job)
		kref_get(&job->ref);
	xa_unlock(jobs);
	return job;
}

void neuron_jobs_release(struct neuron_claim_core *cc, u64 last)
{
	struct neuron_job *job;
	unsigned long id = 0;

	while (id <= last && (job = neuron_jobs_next(cc, &id, last))) {
		neuron_gang_cancel(job);
		neuron_gate_open(job->gate);
		neuron_job_put(job);
		id++;
		cond_resched();
	}
}

/*
 * The job's turn comes nonetheless, so that fences signal in order; it starts no
 * more, and no longer keeps those behind it waiting. A job whose turn has come, but not
 * that of all of its gang, ends here.
 */
static int neuron_cancel(struct neuron_job *job)
{
	struct neuron_core *core = job->cc->core;
	bool cookie;
	int ret = 0;

	cookie = neuron_core_lock(core);
	job->cancelled = true;
	if (neuron_job_runs(job))
		ret = neuron_core_reset_locked(core, -ECANCELED, false);
	neuron_core_unlock(core, cookie);
	neuron_gang_cancel(job);
	neuron_gate_open(job->gate);
	return ret;
}

/* A job that is freed, or about to be, has ended: its result may still be known. */
static bool neuron_cancel_too_late(struct neuron_claim_core *cc, u64 id)
{
	struct neuron_result *result;
	struct dma_fence *fence;

	result = neuron_results_find(&cc->results, id, &fence);
	if (!result)
		return false;
	dma_fence_put(fence);
	neuron_result_put(result);
	return true;
}

static int neuron_cancel_id(struct neuron_claim_core *cc, u64 id)
{
	unsigned long found = id;
	struct neuron_job *job = neuron_jobs_next(cc, &found, id);
	int ret = -ENOENT;

	if (job)
		ret = neuron_cancel(job);
	else if (neuron_cancel_too_late(cc, id))
		ret = 0;
	else
		drm_dbg(&cc->core->ndev->drm,
			"cancel: %s knows no job %llu, or no longer\n",
			cc->core->name, id);
	if (job)
		neuron_job_put(job);
	return ret;
}

/**
 * neuron_ioctl_cancel() - CANCEL: end one job, or a transfer that has not begun
 * @drm: device
 * @data: &struct drm_neuron_cancel
 * @file: file of the caller
 *
 * Return: 0, or an errno that drm/neuron_accel.h names.
 */
int neuron_ioctl_cancel(struct drm_device *drm, void *data,
			struct drm_file *file)
{
	struct drm_neuron_cancel *args = data;
	struct neuron_claim_core *cc;
	int ret;

	if (args->claim == DRM_NEURON_NO_CLAIM)
		return neuron_transfer_cancel(file, args->core, args->job);
	cc = neuron_claim_core_find(file, args->claim, args->core);
	if (IS_ERR(cc))
		return PTR_ERR(cc);
	ret = neuron_cancel_id(cc, args->job);
	neuron_claim_put(cc->claim);
	return ret;
}

/*
 * What was submitted until now does not start any more. Submission does not wait for the
 * reset that follows, so that may abort a later job as well.
 * Return: the id of the last job submitted.
 */
static u64 neuron_core_cancel_all(struct neuron_claim_core *cc)
{
	u64 last;

	mutex_lock(&cc->lock);
	last = atomic64_read(&cc->claim->last_job);
	WRITE_ONCE(cc->cancelled, last);
	mutex_unlock(&cc->lock);
	return last;
}

/**
 * neuron_ioctl_reset() - RESET: abort what runs on a claimed core, and scrub it
 * @drm: device
 * @data: &struct drm_neuron_reset
 * @file: file of the caller
 *
 * Return: 0, or an errno that drm/neuron_accel.h names.
 */
int neuron_ioctl_reset(struct drm_device *drm, void *data,
		       struct drm_file *file)
{
	struct drm_neuron_reset *args = data;
	struct neuron_claim_core *cc;
	bool cookie;
	u64 last;
	int ret;

	cc = neuron_claim_core_find(file, args->claim, args->core);
	if (IS_ERR(cc))
		return PTR_ERR(cc);
	last = neuron_core_cancel_all(cc);
	cookie = neuron_core_lock(cc->core);
	/* A claim is dead before its core, under this lock, is renewed for the next. */
	if (READ_ONCE(cc->dead))
		ret = -ENOENT;
	else
		ret = neuron_core_reset_locked(cc->core, -ECANCELED, false);
	neuron_core_unlock(cc->core, cookie);
	neuron_jobs_release(cc, last);
	neuron_claim_put(cc->claim);
	return ret;
}
