// SPDX-License-Identifier: GPL-2.0-only
/*
 * Results of jobs, and waiting for them.
 */
#include <linux/dma-fence.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <drm/drm_file.h>
#include <drm/drm_utils.h>

#include "drm/neuron_accel.h"
#include "neuron_array.h"
#include "neuron_claim.h"
#include "neuron_wait.h"

/* The interface promises the values of the hardware contract. */
static_assert(DRM_NEURON_JOB_NONE == (int)NEURON_JOB_NONE);
static_assert(DRM_NEURON_JOB_OK == (int)NEURON_JOB_OK);
static_assert(DRM_NEURON_JOB_ERROR == (int)NEURON_JOB_ERROR);
static_assert(DRM_NEURON_JOB_ABORTED == (int)NEURON_JOB_ABORTED);
static_assert(DRM_NEURON_CAUSE_NONE == (int)NEURON_CAUSE_NONE);
static_assert(DRM_NEURON_CAUSE_JOB == (int)NEURON_CAUSE_JOB);
static_assert(DRM_NEURON_CAUSE_OPCODE == (int)NEURON_CAUSE_OPCODE);
static_assert(DRM_NEURON_CAUSE_OPERAND == (int)NEURON_CAUSE_OPERAND);
static_assert(DRM_NEURON_CAUSE_ACCESS == (int)NEURON_CAUSE_ACCESS);
static_assert(DRM_NEURON_CAUSE_WINDOW == (int)NEURON_CAUSE_WINDOW);
static_assert(DRM_NEURON_CAUSE_RIGHTS == (int)NEURON_CAUSE_RIGHTS);
static_assert(DRM_NEURON_CAUSE_PC == (int)NEURON_CAUSE_PC);
static_assert(DRM_NEURON_CAUSE_QUEUE == (int)NEURON_CAUSE_QUEUE);
static_assert(DRM_NEURON_CAUSE_SEMAPHORE == (int)NEURON_CAUSE_SEMAPHORE);
static_assert(DRM_NEURON_CAUSE_DESC == (int)NEURON_CAUSE_DESC);
static_assert(DRM_NEURON_CAUSE_RING_ID == (int)NEURON_CAUSE_RING_ID);
static_assert(DRM_NEURON_CAUSE_HOST == (int)NEURON_CAUSE_HOST);
static_assert(DRM_NEURON_CAUSE_FABRIC == (int)NEURON_CAUSE_FABRIC);
static_assert(DRM_NEURON_CAUSE_HOST_LIMIT == (int)NEURON_CAUSE_HOST_LIMIT);
static_assert(DRM_NEURON_CAUSE_ECC == (int)NEURON_CAUSE_ECC);
static_assert(DRM_NEURON_CAUSE_ADDRESS == (int)NEURON_CAUSE_ADDRESS);
static_assert(DRM_NEURON_CAUSE_RESET == (int)NEURON_CAUSE_RESET);
static_assert(DRM_NEURON_CAUSE_ABORT == (int)NEURON_CAUSE_ABORT);
static_assert(DRM_NEURON_CAUSE_GANG == (int)NEURON_CAUSE_GANG);
/* A new cause belongs into the interface, too. */
static_assert(DRM_NEURON_CAUSE_GANG + 1 == (int)NEURON_NR_CAUSES);
static_assert(DRM_NEURON_SOURCE_DMA == NEURON_SOURCE_DMA);
static_assert(DRM_NEURON_SOURCE_JOB == NEURON_SOURCE_JOB);

struct neuron_result *neuron_result_create(struct neuron_budget *budget)
{
	struct neuron_result *result;

	if (neuron_budget_charge(budget, sizeof(*result)))
		return NULL;
	result = kzalloc(sizeof(*result), GFP_KERNEL_ACCOUNT);
	if (!result) {
		neuron_budget_uncharge(budget, sizeof(*result));
		return NULL;
	}
	kref_init(&result->ref);
	INIT_LIST_HEAD(&result->link);
	result->budget = budget;
	result->record = neuron_record_aborted(0);
	return result;
}

static void neuron_result_release(struct kref *ref)
{
	struct neuron_result *result = container_of(ref, struct neuron_result,
						    ref);

	neuron_budget_uncharge(result->budget, sizeof(*result));
	dma_fence_put(result->fence);
	kfree(result);
}

void neuron_result_put(struct neuron_result *result)
{
	kref_put(&result->ref, neuron_result_release);
}

void neuron_results_init(struct neuron_results *results)
{
	xa_init_flags(&results->jobs, XA_FLAGS_ACCOUNT);
	INIT_LIST_HEAD(&results->ended);
}

void neuron_results_fini(struct neuron_results *results)
{
	struct neuron_result *result;
	unsigned long job;

	xa_for_each(&results->jobs, job, result)
		neuron_result_put(result);
	xa_destroy(&results->jobs);
}

/*
 * Jobs that have not ended, under the lock of the jobs. Some that have ended are not freed
 * yet: who waits for a job and submits the next one must find its place free.
 */
static unsigned int neuron_results_count_queued(struct neuron_results *results)
{
	unsigned int queued = results->nr_unended;
	struct neuron_result *result;
	unsigned long job;

	xa_for_each(&results->jobs, job, result)
		if (result->fence && test_bit(DMA_FENCE_FLAG_SIGNALED_BIT,
					      &result->fence->flags))
			queued--;
	return queued;
}

/* Jobs are looked at one by one only when there seems to be no room. */
static bool neuron_results_enter(struct neuron_results *results)
{
	bool room;

	xa_lock(&results->jobs);
	room = results->nr_unended < NEURON_MAX_QUEUED_JOBS ||
	       neuron_results_count_queued(results) < NEURON_MAX_QUEUED_JOBS;
	results->nr_unended += room;
	xa_unlock(&results->jobs);
	return room;
}

static void neuron_results_leave(struct neuron_results *results)
{
	xa_lock(&results->jobs);
	results->nr_unended--;
	xa_unlock(&results->jobs);
}

int neuron_results_reserve(struct neuron_results *results, u64 job)
{
	int ret;

	if (!neuron_results_enter(results))
		return -EBUSY;
	ret = xa_reserve(&results->jobs, job, GFP_KERNEL);
	if (ret)
		neuron_results_leave(results);
	return ret;
}

void neuron_results_release(struct neuron_results *results, u64 job)
{
	xa_release(&results->jobs, job);
	neuron_results_leave(results);
}

void neuron_results_add(struct neuron_results *results,
			struct neuron_result *result, u64 job,
			struct dma_fence *fence)
{
	kref_get(&result->ref);
	result->job = job;
	result->fence = dma_fence_get(fence);
	xa_store(&results->jobs, job, result, GFP_KERNEL);
}

void neuron_results_end(struct neuron_results *results,
			struct neuron_result *result)
{
	struct neuron_result *forgotten = NULL;
	struct dma_fence *fence;

	xa_lock(&results->jobs);
	fence = result->fence;
	result->fence = NULL;
	results->nr_unended--;
	list_add_tail(&result->link, &results->ended);
	if (++results->nr_ended > NEURON_KEPT_RESULTS) {
		forgotten = list_first_entry(&results->ended,
					     struct neuron_result, link);
		list_del_init(&forgotten->link);
		__xa_erase(&results->jobs, forgotten->job);
		results->nr_ended--;
	}
	xa_unlock(&results->jobs);
	dma_fence_put(fence);
	if (forgotten)
		neuron_result_put(forgotten);
}

struct neuron_result *neuron_results_find(struct neuron_results *results,
					  u64 job, struct dma_fence **fence)
{
	struct neuron_result *result;

	*fence = NULL;
	xa_lock(&results->jobs);
	result = xa_load(&results->jobs, job);
	if (result) {
		kref_get(&result->ref);
		*fence = dma_fence_get(result->fence);
	}
	xa_unlock(&results->jobs);
	return result;
}

/**
 * struct neuron_wait - the jobs that a call waits for
 * @count: how many
 * @cc: the core of each, with a reference of its claim; NULL for a transfer
 * @result: of each, referenced
 * @fence: to wait for, of each, referenced; NULL: it ended a while ago
 */
struct neuron_wait {
	u32 count;
	struct neuron_claim_core **cc;
	struct neuron_result **result;
	struct dma_fence **fence;
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
	kvfree(wait->cc);
	kvfree(wait->result);
	kvfree(wait->fence);
}

static int neuron_wait_alloc(struct neuron_wait *wait, u32 count)
{
	wait->cc = kvcalloc(count, sizeof(*wait->cc), GFP_KERNEL_ACCOUNT);
	wait->result = kvcalloc(count, sizeof(*wait->result),
				GFP_KERNEL_ACCOUNT);
	wait->fence = kvcalloc(count, sizeof(*wait->fence), GFP_KERNEL_ACCOUNT);
	return wait->cc && wait->result && wait->fence ? 0 : -ENOMEM;
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

/* @job is zero from @status on. */
static void neuron_wait_fetch(const struct neuron_result *result,
			      struct drm_neuron_wait_job *job)
{
	const struct neuron_record *record = &result->record;

	job->status = record->status;
	job->cause = record->cause;
	job->source = record->source;
	job->queue = record->queue % NEURON_UDMA_QUEUES |
		     (record->queue & DRM_NEURON_QUEUE_WRITES);
	job->dma_engine = (record->queue & ~DRM_NEURON_QUEUE_WRITES) /
			  NEURON_UDMA_QUEUES;
	job->pc = record->pc;
	job->hang = result->hang;
	job->addr = record->addr;
	job->start_ns = record->start_ns;
	job->end_ns = record->end_ns;
	job->instructions = record->instructions;
	job->dma_bytes = record->dma_bytes;
	job->wall_ns = result->wall_ns;
	job->doorbell_ns = result->doorbell_ns;
	if (record->flags & NEURON_COMPLETION_INEXACT)
		job->flags |= DRM_NEURON_JOB_INEXACT;
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
		neuron_wait_fetch(wait->result[i], job);
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

#ifdef NEURON_KUNIT
#include "neuron_kunit_wait.c"
#endif
