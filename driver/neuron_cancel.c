// SPDX-License-Identifier: GPL-2.0-only
/*
 * Giving up jobs before their end: CANCEL, and RESET of a core. Transfers:
 * neuron_transfer_file.c.
 */
#include <linux/dma-fence.h>
#include <linux/sched.h>
#include <drm/drm_file.h>

#include "drm/neuron_accel.h"
#include "neuron_claim.h"
#include "neuron_core.h"
#include "neuron_fence.h"
#include "neuron_job.h"
#include "neuron_result.h"
#include "neuron_transfer.h"

/* The first job with an id of at least *@id, referenced, or NULL. */
static struct neuron_job *neuron_jobs_next(struct neuron_claim_core *cc,
					   unsigned long *id)
{
	struct neuron_job *job;

	xa_lock(&cc->pending);
	job = xa_find(&cc->pending, id, ULONG_MAX, XA_PRESENT);
	if (job)
		kref_get(&job->ref);
	xa_unlock(&cc->pending);
	return job;
}

void neuron_jobs_release(struct neuron_claim_core *cc, u64 last)
{
	struct neuron_job *job;
	unsigned long id = 0;

	while (id <= last && (job = neuron_jobs_next(cc, &id))) {
		if (job->id <= last) {
			neuron_gang_cancel(job);
			neuron_gate_open(job->gate);
		}
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
	struct neuron_job *job = neuron_jobs_next(cc, &found);
	int ret = -ENOENT;

	if (job && job->id == id)
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
