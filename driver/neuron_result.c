// SPDX-License-Identifier: GPL-2.0-only
/*
 * How jobs, transfers and copies ended: faults in words, and results that are kept.
 */
#include <linux/dma-fence.h>
#include <linux/kernel.h>
#include <linux/slab.h>

#include "drm/neuron_accel.h"
#include "neuron_account.h"
#include "neuron_result.h"

/* Faults in words, for the log and the core dump. */

static const char * const neuron_engine_names[NEURON_NR_ENGINES] = {
	[NEURON_ENGINE_TENSOR] = "tensor",
	[NEURON_ENGINE_VECTOR] = "vector",
	[NEURON_ENGINE_SCALAR] = "scalar",
	[NEURON_ENGINE_GPSIMD] = "gpsimd",
	[NEURON_ENGINE_SYNC] = "sync",
};

static const char * const neuron_cause_names[NEURON_NR_CAUSES] = {
	[NEURON_CAUSE_NONE] = "no cause given",
	[NEURON_CAUSE_JOB] = "malformed job block or tables",
	[NEURON_CAUSE_OPCODE] = "unknown opcode",
	[NEURON_CAUSE_OPERAND] = "illegal operand",
	[NEURON_CAUSE_ACCESS] = "access outside SBUF or PSUM",
	[NEURON_CAUSE_WINDOW] = "access outside a window",
	[NEURON_CAUSE_RIGHTS] = "access without the window's right",
	[NEURON_CAUSE_PC] = "left its image",
	[NEURON_CAUSE_QUEUE] = "queue not in the job's table",
	[NEURON_CAUSE_SEMAPHORE] = "semaphore not the job's",
	[NEURON_CAUSE_DESC] = "malformed descriptor",
	[NEURON_CAUSE_RING_ID] = "wrong ring id",
	[NEURON_CAUSE_HOST] = "host address is not memory",
	[NEURON_CAUSE_FABRIC] = "fabric refused the access",
	[NEURON_CAUSE_HOST_LIMIT] = "host limit of the device reached",
	[NEURON_CAUSE_ECC] = "uncorrectable memory error",
	[NEURON_CAUSE_ADDRESS] = "address maps to nothing",
	[NEURON_CAUSE_RESET] = "aborted by a reset",
	[NEURON_CAUSE_ABORT] = "DMA engine aborted",
	[NEURON_CAUSE_GANG] = "another member of the gang failed",
};

const char *neuron_engine_name(unsigned int engine)
{
	return engine < NEURON_NR_ENGINES ? neuron_engine_names[engine] : "?";
}

const char *neuron_cause_name(unsigned int cause)
{
	return cause < NEURON_NR_CAUSES ? neuron_cause_names[cause] : "?";
}

void neuron_fault_format(char text[NEURON_FAULT_TEXT],
			 const struct neuron_record *record)
{
	const char *what = neuron_cause_name(record->cause);
	unsigned int source = record->source;
	unsigned int queue = record->queue;
	u32 pc = record->pc;
	u64 addr = record->addr;
	int n;

	if (source == NEURON_SOURCE_DMA)
		n = scnprintf(text, NEURON_FAULT_TEXT,
			      "%s: dma engine %u queue %u %s descriptor %u",
			      what, neuron_record_queue_engine(queue),
			      neuron_record_queue_index(queue),
			      neuron_record_queue_writes(queue) ? "S2M" : "M2S", pc);
	else if (record->cause == NEURON_CAUSE_GANG)
		n = scnprintf(text, NEURON_FAULT_TEXT, "%s: member %u", what, pc);
	else if (source == NEURON_SOURCE_JOB)
		n = scnprintf(text, NEURON_FAULT_TEXT, "%s: job block", what);
	else
		n = scnprintf(text, NEURON_FAULT_TEXT, "%s: %s engine pc %u",
			      what, neuron_engine_name(source), pc);
	if (addr)
		scnprintf(text + n, NEURON_FAULT_TEXT - n, " address 0x%llx",
			  addr);
}

/* Results of jobs and transfers. */

/* The interface promises the values of the hardware contract. */
static_assert(DRM_NEURON_QUEUE_WRITES == (int)NEURON_COMPLETION_WRITES);
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

void neuron_results_forget(struct neuron_results *results)
{
	struct neuron_result *result, *next;
	LIST_HEAD(forgotten);

	xa_lock(&results->jobs);
	list_for_each_entry(result, &results->ended, link)
		__xa_erase(&results->jobs, result->job);
	list_splice_init(&results->ended, &forgotten);
	results->nr_ended = 0;
	xa_unlock(&results->jobs);
	list_for_each_entry_safe(result, next, &forgotten, link) {
		list_del_init(&result->link);
		neuron_result_put(result);
	}
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
	result->owner = NULL;
	WRITE_ONCE(results->nr_unended, results->nr_unended - 1);
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

void neuron_result_fetch(const struct neuron_result *result,
			 struct drm_neuron_wait_job *job)
{
	const struct neuron_record *record = &result->record;

	job->status = record->status;
	job->cause = record->cause;
	job->source = record->source;
	job->queue = neuron_record_queue_index(record->queue);
	if (neuron_record_queue_writes(record->queue))
		job->queue |= DRM_NEURON_QUEUE_WRITES;
	job->dma_engine = neuron_record_queue_engine(record->queue);
	job->pc = record->pc;
	job->error = result->error;
	job->addr = record->addr;
	job->start_ns = record->start_ns;
	job->end_ns = record->end_ns;
	job->instructions = record->instructions;
	job->dma_bytes = record->dma_bytes;
	job->wall_ns = result->wall_ns;
	job->doorbell_ns = result->doorbell_ns;
	if (record->flags & NEURON_COMPLETION_INEXACT)
		job->flags |= DRM_NEURON_JOB_INEXACT;
	if (result->hang)
		job->flags |= DRM_NEURON_JOB_HANG;
}

#if IS_ENABLED(CONFIG_DRM_ACCEL_NEURON_KUNIT_TEST)
#include "tests/neuron_kunit_result.c"
#endif
