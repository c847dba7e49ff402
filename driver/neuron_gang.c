// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gangs: jobs of several cores of a claim that start together.
 */
#include <linux/dma-fence.h>
#include <linux/err.h>
#include <linux/slab.h>

#include "neuron_claim.h"
#include "neuron_gang.h"
#include "neuron_job.h"

struct neuron_gang *neuron_gang_create(struct neuron_device *ndev, u32 size)
{
	struct neuron_gang *gang;

	gang = kzalloc(struct_size(gang, member, size), GFP_KERNEL_ACCOUNT);
	if (!gang)
		return ERR_PTR(-ENOMEM);
	gang->size = size;
	gang->id = atomic64_inc_return(&ndev->last_gang);
	kref_init(&gang->ref);
	mutex_init(&gang->lock);
	return gang;
}

struct neuron_gang *neuron_gang_get(struct neuron_gang *gang)
{
	kref_get(&gang->ref);
	return gang;
}

static void neuron_gang_release(struct kref *ref)
{
	struct neuron_gang *gang = container_of(ref, struct neuron_gang, ref);

	mutex_destroy(&gang->lock);
	kfree(gang);
}

void neuron_gang_put(struct neuron_gang *gang)
{
	kref_put(&gang->ref, neuron_gang_release);
}

/*
 * Under the gang's lock: member @culprit has failed with @error, and those that wait end;
 * not @running, whose caller ends it.
 */
static void neuron_gang_fail(struct neuron_gang *gang, u32 culprit, int error,
			     struct neuron_job *running)
{
	u32 i;

	lockdep_assert_held(&gang->lock);
	gang->failed = true;
	gang->culprit = culprit;
	for (i = 0; i < gang->size; i++) {
		struct neuron_job *job = gang->member[i];

		gang->member[i] = NULL;
		if (!job || job == running)
			continue;
		if (i != culprit)
			neuron_job_blame(job, culprit);
		/* It may be freed as soon as its fence has signalled. */
		neuron_job_end_waiting(job, i == culprit ? error : -ECANCELED);
	}
}

/*
 * All members are there. The cores are locked together: what lets a job start must hold
 * for all of them until the last doorbell has been rung. The cores are remembered for the
 * unlocking, because a job may end and be freed as soon as it has started.
 * Return: 0 or why member *@culprit cannot start.
 */
static int neuron_gang_start(struct neuron_gang *gang, u32 *culprit)
{
	int ret = 0;
	u32 i;

	lockdep_assert_held(&gang->lock);
	for (i = 0; i < gang->size; i++) {
		gang->core[i] = gang->member[i]->cc->core;
		mutex_lock_nest_lock(&gang->core[i]->reset_lock, &gang->lock);
	}
	for (i = 0; i < gang->size && !ret; i++) {
		ret = neuron_job_may_start(gang->member[i]);
		*culprit = i;
	}
	for (i = 0; i < gang->size && !ret; i++)
		neuron_job_start(gang->member[i]);
	for (i = 0; i < gang->size; i++)
		mutex_unlock(&gang->core[i]->reset_lock);
	gang->started = !ret;
	return ret;
}

/* Under the gang's lock. @job is not among those that wait if it has an error. */
static int neuron_gang_join(struct neuron_gang *gang, struct neuron_job *job,
			    int error)
{
	u32 culprit = job->gang_index;

	if (!error) {
		gang->member[culprit] = job;
		if (++gang->there < gang->size)
			return 0;
		error = neuron_gang_start(gang, &culprit);
		if (!error)
			return 0;
	}
	neuron_gang_fail(gang, culprit, error, job);
	return error;
}

int neuron_gang_run(struct neuron_job *job, int error)
{
	/* All jobs may end, and be freed, as soon as they have started. */
	struct neuron_gang *gang = neuron_gang_get(job->gang);
	u32 index = job->gang_index;

	mutex_lock(&gang->lock);
	if (!gang->failed)
		error = neuron_gang_join(gang, job, error);
	else if (!error)
		error = -ECANCELED;
	if (gang->failed && gang->culprit != index) {
		neuron_job_blame(job, gang->culprit);
		error = -ECANCELED;
	}
	mutex_unlock(&gang->lock);
	neuron_gang_put(gang);
	return error;
}

void neuron_gang_cancel(struct neuron_job *job)
{
	struct neuron_gang *gang = job->gang;
	bool cookie;

	if (!gang)
		return;
	cookie = dma_fence_begin_signalling();
	mutex_lock(&gang->lock);
	if (!gang->started && !gang->failed)
		neuron_gang_fail(gang, job->gang_index, -ECANCELED, NULL);
	mutex_unlock(&gang->lock);
	dma_fence_end_signalling(cookie);
}
