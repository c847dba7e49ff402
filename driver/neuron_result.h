/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How jobs, transfers and copies ended: the results, and the text of faults.
 */
#ifndef _NEURON_RESULT_H_
#define _NEURON_RESULT_H_

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/xarray.h>

#include "contract/record.h"

struct dma_fence;
struct drm_neuron_wait_job;
struct neuron_budget;
struct neuron_job;

#define NEURON_MAX_WAIT_JOBS	1024	/* of a call */
/*
 * Of each core, so that the kernel's memory is bounded and whoever fills the queue can
 * still fetch all results.
 */
#define NEURON_MAX_QUEUED_JOBS	NEURON_KEPT_RESULTS
#define NEURON_KEPT_RESULTS	1024	/* of each core, or queue of transfers */

/**
 * enum neuron_times_state - what is known of the device times of a job in a time group
 * @NEURON_TIMES_NONE: it is in no group
 * @NEURON_TIMES_UNKNOWN: it has not ended, or not all members of its group have
 * @NEURON_TIMES_KNOWN: they are known
 */
enum neuron_times_state {
	NEURON_TIMES_NONE,
	NEURON_TIMES_UNKNOWN,
	NEURON_TIMES_KNOWN,
};

/**
 * struct neuron_result - how a job ended
 * @ref: the job's, that of the set it is in, and one for each waiter; whoever has one holds
 *	the claim, too
 * @budget: what this memory is charged to
 * @job: job id
 * @fence: the job's finished fence, referenced; NULL once the job has been freed. The lock of
 *	the set protects this, @owner and @link
 * @owner: the job, until it is being freed; NULL for a transfer
 * @link: in neuron_results.ended once the job has been freed
 * @record: completion record, from the device and checked. Until the device has written
 *	one, and for a job that it never ended: aborted. This and what follows
 *	are written once, under neuron_core.lock, before @fence signals
 * @error: of @fence
 * @hang: the driver aborted it for making no progress
 * @wall_ns: doorbell to end
 * @doorbell_ns: ktime of the doorbell
 * @times: of the time group; this and @settled may change after @fence has signalled, under
 *	neuron_core.lock
 * @settled: those times; before they are known, its cause says why the job cannot be a member
 */
struct neuron_result {
	struct kref ref;
	struct neuron_budget *budget;
	u64 job;
	struct dma_fence *fence;
	struct neuron_job *owner;
	struct list_head link;
	struct neuron_record record;
	int error;
	bool hang;
	u64 wall_ns;
	u64 doorbell_ns;
	enum neuron_times_state times;
	struct neuron_settled settled;
};

/**
 * struct neuron_results - the results of a core in a claim
 * @jobs: job ids to results, from the submission on. Its lock protects the rest
 * @ended: those whose jobs have been freed, the oldest first
 * @nr_unended: jobs that have a place and have not been freed
 * @nr_ended: how many are in @ended; the oldest of more than NEURON_KEPT_RESULTS is forgotten
 */
struct neuron_results {
	struct xarray jobs;
	struct list_head ended;
	unsigned int nr_unended;
	unsigned int nr_ended;
};

/**
 * neuron_result_create() - make the result of a job that has not run
 * @budget: what its memory is charged to
 *
 * Return: the result with a reference, or NULL.
 */
struct neuron_result *neuron_result_create(struct neuron_budget *budget);

/**
 * neuron_result_put() - drop a reference of a result
 * @result: result
 */
void neuron_result_put(struct neuron_result *result);

/**
 * neuron_results_init() - begin a set of results
 * @results: set
 */
void neuron_results_init(struct neuron_results *results);

/**
 * neuron_results_fini() - end a set of results
 * @results: set; its jobs have been freed, and nobody waits for one
 */
void neuron_results_fini(struct neuron_results *results);

/**
 * neuron_results_forget() - drop what nobody can ask for any more
 * @results: set, whose jobs that have ended are forgotten
 *
 * Takes the lock of neuron_results.jobs. Whoever waits has references of its own.
 */
void neuron_results_forget(struct neuron_results *results);

/**
 * neuron_results_reserve() - make a place for a job, so that neuron_results_add() cannot fail
 * @results: set
 * @job: id of the job
 *
 * Return: 0; -EBUSY when NEURON_MAX_QUEUED_JOBS have not ended; -ENOMEM.
 */
int neuron_results_reserve(struct neuron_results *results, u64 job);

/**
 * neuron_results_release() - give back a place that was reserved and is not needed
 * @results: set
 * @job: id of the job
 */
void neuron_results_release(struct neuron_results *results, u64 job);

/**
 * neuron_results_add() - let others wait for a job
 * @results: set, with a place for the job
 * @result: its result; the set takes a reference
 * @job: id of the job
 * @fence: its finished fence; the result takes a reference
 */
void neuron_results_add(struct neuron_results *results,
			struct neuron_result *result, u64 job,
			struct dma_fence *fence);

/**
 * neuron_results_end() - a job has ended and is being freed
 * @results: set
 * @result: its result, which is kept until NEURON_KEPT_RESULTS later ones have ended
 */
void neuron_results_end(struct neuron_results *results,
			struct neuron_result *result);

/**
 * neuron_results_all_ended() - have all jobs been freed, or are being freed?
 * @results: set
 *
 * Return: true if so. It stays so as long as no place is reserved.
 */
static inline bool neuron_results_all_ended(const struct neuron_results *results)
{
	return !READ_ONCE(results->nr_unended);
}

/**
 * neuron_results_find() - find the result of a job
 * @results: set
 * @job: id of the job
 * @fence: fence to wait for before the result is read, with a reference; NULL when the job has
 *	been freed
 *
 * Return: the result with a reference; NULL when there was no such job, or it is forgotten.
 */
struct neuron_result *neuron_results_find(struct neuron_results *results,
					  u64 job, struct dma_fence **fence);

/**
 * neuron_result_fetch() - write a result for WAIT
 * @result: result of a job that has ended
 * @job: struct of user space, zero from @status on
 */
void neuron_result_fetch(const struct neuron_result *result,
			 struct drm_neuron_wait_job *job);

#define NEURON_FAULT_TEXT	160	/* bytes, NUL included */

/**
 * neuron_engine_name() - name of an engine of a core
 * @engine: enum neuron_engine, or any number
 *
 * Return: the name, or "?".
 */
const char *neuron_engine_name(unsigned int engine);

/**
 * neuron_cause_name() - name of a cause
 * @cause: enum neuron_cause as the device gave it, or any number
 *
 * Return: the name, or "?".
 */
const char *neuron_cause_name(unsigned int cause);

/**
 * neuron_fault_format() - describe why a job failed, for the log and core dumps
 * @text: room for the text: cause, engine and pc or queue and descriptor, address
 * @record: completion record
 */
void neuron_fault_format(char text[NEURON_FAULT_TEXT],
			 const struct neuron_record *record);

#endif /* _NEURON_RESULT_H_ */
