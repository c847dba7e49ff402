// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The controller of a core: start and completion of jobs, core reset.
 *
 * Only the controller starts, completes and frees jobs and resets the core, and
 * a task never runs twice at a time, so its steps need no lock against each
 * other. core->lock guards what doorbells and readers share with it.
 */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/trn_chip.h"
#include "contract/record.h"
#include "core/trn_core.h"
#include "core/trn_gang.h"
#include "core/trn_latch.h"
#include "core/trn_settle.h"
#include "dma/trn_udma.h"
#include "exec/trn_seq.h"
#include "hook/trn_check.h"
#include "hook/trn_inject.h"
#include "job/trn_job.h"
#include "mem/trn_bus.h"
#include "mem/trn_touched.h"
#include "notify/trn_nq.h"
#include "sync/trn_irq.h"
#include "sync/trn_sem.h"
#include "time/trn_group.h"
#include "time/trn_time.h"

void trn_core_doorbell(struct trn_core *core, uint64_t job_block)
{
	bool refused;

	if (trn_inject(core->chip, TRN_INJECT_DOORBELL,
		       TRN_INJECT_CORE + core->index, NULL))
		return;
	pthread_mutex_lock(&core->lock);
	refused = core->job || core->doorbell_rung || core->reset_request;
	if (!refused) {
		core->doorbell = job_block;
		core->doorbell_rung = true;
		core->status = NEURON_CORE_RUNNING;
	}
	pthread_mutex_unlock(&core->lock);

	if (!refused) {
		trn_task_kick(&core->controller);
		return;
	}
	trn_log(core->chip, TRN_LOG_GUEST_ERROR,
		"%s: doorbell refused: the core is busy or in reset",
		core->name);
	trn_irq_core(core->chip, core->index, NEURON_CORE_CAUSE_REFUSED);
}

static void request_reset(struct trn_core *core, bool queues_only)
{
	bool stuck = trn_inject(core->chip, TRN_INJECT_RESET_FAIL,
				1 + core->index, NULL);

	pthread_mutex_lock(&core->lock);
	core->reset_queues = queues_only &&
			     (!core->reset_request || core->reset_queues);
	core->reset_stuck = stuck;
	core->reset_request = true;
	core->status = NEURON_CORE_RESETTING;
	pthread_mutex_unlock(&core->lock);
	trn_task_kick(&core->controller);
}

void trn_core_reset(struct trn_core *core)
{
	request_reset(core, false);
}

void trn_core_reset_engines(struct trn_core *core)
{
	request_reset(core, true);
}

/*
 * Something has ended, with @cause; under core->lock, so that whoever reads that it
 * has finds its cause, and the other way round. The edge is sent after the lock.
 */
static struct trn_irq_edge core_ended(struct trn_core *core, uint32_t cause)
{
	if (!core->job && !core->doorbell_rung && !core->reset_request)
		core->status = NEURON_CORE_IDLE;
	return trn_irq_core_cause(core->chip, core->index, cause);
}

/* What a fault on demand makes of a record. */
static void falsify_record(struct trn_core *core,
			   struct neuron_hw_completion *record)
{
	uint8_t *bytes = (uint8_t *)record;
	uint64_t mask;
	uint32_t at, word;

	if (!trn_inject_armed(core->chip, TRN_INJECT_RECORD))
		return;
	for (at = 0; at < sizeof(*record); at += sizeof(word)) {
		if (!trn_inject(core->chip, TRN_INJECT_RECORD, at, &mask))
			continue;
		memcpy(&word, bytes + at, sizeof(word));
		word ^= (uint32_t)mask;
		memcpy(bytes + at, &word, sizeof(word));
	}
}

bool trn_core_write_record(struct trn_core *core, uint64_t addr, void *record, size_t len,
			   size_t at)
{
	const uint16_t none = 0;
	enum neuron_cause cause;
	uint16_t status;

	memcpy(&status, (uint8_t *)record + at, sizeof(status));
	memcpy((uint8_t *)record + at, &none, sizeof(none));
	cause = trn_bus_write(core->chip, addr, record, len);
#ifndef __SANITIZE_THREAD__	/* which cannot follow fences */
	atomic_thread_fence(memory_order_release);
#endif
	if (!cause)
		cause = trn_bus_write(core->chip, addr + at, &status,
				      sizeof(status));
	if (cause)
		trn_log(core->chip, TRN_LOG_GUEST_ERROR,
			"%s: no record at %#" PRIx64 " (%s)",
			core->name, addr, trn_cause_name(cause));
	return !cause;
}

static bool write_record(struct trn_core *core, uint64_t addr,
			 const struct neuron_record *record)
{
	struct neuron_hw_completion body = neuron_record_encode(record);

	falsify_record(core, &body);
	return trn_core_write_record(core, addr, &body, sizeof(body),
				     offsetof(struct neuron_hw_completion, status));
}

/* The end of a job, or of a block that never became one. */
static void post_record(struct trn_core *core, uint64_t addr,
			const struct neuron_record *record)
{
	uint32_t cause = NEURON_CORE_CAUSE_DONE;
	struct trn_irq_edge edge;

	if (!write_record(core, addr, record))
		cause = NEURON_CORE_CAUSE_REFUSED;
	atomic_fetch_add(&core->jobs, 1);
	pthread_mutex_lock(&core->lock);
	edge = core_ended(core, cause);
	pthread_mutex_unlock(&core->lock);
	trn_irq_send(core->chip, edge);
}

/* All actors have halted; descriptors that no packet used are an error. */
static void check_drained(struct trn_job *job)
{
	struct trn_fault fault;
	unsigned int i;

	for (i = 0; i < job->nr_queues && !atomic_load(&job->faulted); i++) {
		if (!trn_udma_queue_has_left(job->queues[i], &fault))
			continue;
		trn_log(job->core->chip, TRN_LOG_GUEST_ERROR,
			"%s: DMA engine %u queue %u has descriptors left that make no packet",
			job->core->name, job->queues[i]->engine,
			job->queues[i]->index);
		trn_job_fail(job, &fault);
	}
}

static void fill_record(struct trn_job *job,
			struct neuron_record *record)
{
	const struct trn_fault *fault = &job->fault;
	uint64_t start = 0, end = 0;

	if (atomic_load(&job->faulted) && fault->timed)
		trn_time_end_at(job->timeline, fault->time_ps);
	if (trn_group_kept(job->timeline)) {
		trn_group_provisional(job->timeline, &start, &end);
		trn_time_stamps(job->timeline, trn_job_notify_stamp, job);
	} else {
		trn_time_replay(job->timeline, &start, &end, trn_job_notify_stamp, job);
		trn_job_trace_end(job);
	}
	*record = (struct neuron_record){
		.job_id = job->block.job_id,
		.status = NEURON_JOB_OK,
		.start_ns = start,
		.end_ns = end,
		.instructions = atomic_load(&job->instructions),
		.dma_bytes = atomic_load(&job->dma_bytes),
	};
	if (!trn_time_exact(job->timeline)) {
		record->flags = NEURON_COMPLETION_INEXACT;
		trn_log(job->core->chip, TRN_LOG_INFO,
			"%s: the device times of job %#" PRIx64 " are not exact",
			job->core->name, (uint64_t)job->block.job_id);
	}
	if (job->settles)
		record->flags |= NEURON_COMPLETION_UNSETTLED;
	if (!atomic_load(&job->faulted))
		return;
	record->status = fault->cause == NEURON_CAUSE_RESET ?
				 NEURON_JOB_ABORTED :
				 NEURON_JOB_ERROR;
	record->cause = (uint16_t)fault->cause;
	record->source = fault->source;
	record->queue = fault->queue;
	record->addr = fault->addr;
	record->pc = fault->pc;
}

static void unbind_queues(struct trn_job *job)
{
	unsigned int i;

	for (i = 0; i < job->nr_queues; i++)
		trn_udma_queue_unbind(job->queues[i], job);
}

static void account_busy(struct trn_core *core)
{
	uint64_t since = atomic_exchange(&core->busy_since, 0);

	if (since)
		atomic_fetch_add(&core->busy_ns, trn_host_ns(core->chip) - since);
}

/* The last reference is gone: everything is quiet and all writes have landed. */
static void job_complete(struct trn_core *core, struct trn_job *job)
{
	uint64_t addr = job->block.completion;
	struct neuron_record record;

	check_drained(job);
	trn_job_fault_tell(job);
	unbind_queues(job);
	fill_record(job, &record);
	account_busy(core);

	trn_gang_leave(core);
	/* From here on a doorbell is welcome: the record's reader may ring it. */
	pthread_mutex_lock(&core->lock);
	core->job = NULL;
	pthread_mutex_unlock(&core->lock);
	if (!job->settles) {
		trn_job_free(job);
		post_record(core, addr, &record);
		return;
	}
	trn_settle_add(core, job);
	post_record(core, addr, &record);
	trn_settle_begin(job, &record);
}

static const struct trn_fault reset_fault = {
	.cause = NEURON_CAUSE_RESET,
	.source = NEURON_SOURCE_JOB,
};

static const struct trn_fault misfit_fault = {
	.cause = NEURON_CAUSE_JOB,
	.source = NEURON_SOURCE_JOB,
};

static void start_engines(struct trn_core *core, struct trn_job *job)
{
	const struct neuron_hw_start *start = job->block.start;
	unsigned int i;

	trn_check_job_run(job);
	/* All of them before the first one runs: the replay goes past none of them. */
	for (i = 0; i < NEURON_NR_ENGINES; i++)
		if (start[i].count)
			trn_time_start(job->timeline, i);
	for (i = 0; i < NEURON_NR_ENGINES; i++) {
		if (!start[i].count)
			continue;
		trn_job_get(job);
		trn_seq_start(&core->seq[i], &start[i]);
	}
}

/*
 * False: another job has one of them; @job has failed, and lists those that it has,
 * which is what a stream of the chip says of it.
 */
static bool bind_queues(struct trn_job *job)
{
	struct trn_fault taken = {
		.cause = NEURON_CAUSE_QUEUE,
		.source = NEURON_SOURCE_JOB,
	};
	const struct trn_udma_queue *queue;
	unsigned int i;

	for (i = 0; i < job->nr_queues; i++) {
		queue = job->queues[i];
		if (trn_udma_queue_bind(job->queues[i], job, &job->queue_table[i],
					TRN_ACTOR_QUEUE + i))
			continue;
		trn_log(job->core->chip, TRN_LOG_GUEST_ERROR,
			"%s: job refused: another job has DMA engine %u queue %u",
			job->core->name, queue->engine, queue->index);
		taken.queue = neuron_record_queue(queue->engine, queue->index, 0);
		job->nr_queues = i;
		job->block.nr_queues = i;
		trn_job_fail(job, &taken);
		return false;
	}
	return true;
}

/*
 * The semaphores of a member are cleared before it joins its gang, so that none of the
 * others has posted to them.
 */
static void job_start(struct trn_core *core, struct trn_job *job)
{
	enum neuron_cause misfit;
	uint64_t clear[4];
	bool bound, reset;
	unsigned int i;

	bound = bind_queues(job);
	memcpy(clear, job->block.sem_clear, sizeof(clear));
	job->timeline = trn_timeline_new(core, job->nr_queues);
	trn_sems_clear(core->sems, clear);
	trn_time_trace_to(job->timeline, trn_job_trace, trn_job_trace_lost, job);
	for (i = 0; i < job->nr_queues; i++)
		trn_time_queue(job->timeline, TRN_ACTOR_QUEUE + i, job->queues[i]->engine,
			       job->queues[i]->index,
			       trn_udma_queue_priority(&job->queue_table[i]));
	misfit = trn_settle_join(core, job);
	trn_time_begin(job->timeline, clear);
	trn_check_job_begin(job);
	trn_job_trace_begin(job);
	atomic_store(&core->busy_since, trn_host_ns(core->chip));

	pthread_mutex_lock(&core->lock);
	core->job = job;
	core->doorbell_rung = false;
	reset = core->reset_request;
	pthread_mutex_unlock(&core->lock);
	if (reset)
		trn_job_fail(job, &reset_fault);
	else if (misfit)
		trn_job_fail(job, &misfit_fault);
	else if (bound && job->block.gang)
		trn_gang_join(core);
	else if (bound)
		start_engines(core, job);
	trn_job_put(job);
}

/* A member of a gang starts, goes on to wait, or has failed and waits no longer. */
static void step_gang(struct trn_core *core)
{
	struct trn_job *job = core->job;
	enum trn_gang_turn turn;

	if (!job || !job->block.gang)
		return;
	turn = trn_gang_turn(core);
	if (!job->waits || turn == TRN_GANG_WAIT)
		return;
	if (turn == TRN_GANG_RUN)
		start_engines(core, job);
	job->waits = false;
	trn_job_put(job);
}

/* No job comes of the doorbell, nor a record. */
static void doorbell_refused(struct trn_core *core,
			     const struct neuron_hw_job *block)
{
	struct trn_irq_edge edge;

	if (block->gang)
		trn_gang_fail(core->chip, block);
	pthread_mutex_lock(&core->lock);
	core->doorbell_rung = false;
	edge = core_ended(core, NEURON_CORE_CAUSE_REFUSED);
	pthread_mutex_unlock(&core->lock);
	trn_irq_send(core->chip, edge);
}

/* False: there is more to do than @budget allows; nothing has been done. */
static bool step_doorbell(struct trn_core *core, struct trn_budget *budget)
{
	struct neuron_record record = {
		.status = NEURON_JOB_ERROR,
		.source = NEURON_SOURCE_JOB,
	};
	struct neuron_hw_job block;
	enum neuron_cause cause;
	uint64_t addr, wrong = 0;
	struct trn_job *job;
	bool rung;

	pthread_mutex_lock(&core->lock);
	rung = core->doorbell_rung;
	addr = core->doorbell;
	pthread_mutex_unlock(&core->lock);
	if (!rung || core->job)
		return true;

	if (!trn_latch_block(core, addr, &block)) {
		doorbell_refused(core, &block);
		return true;
	}
	if (budget->on_host &&
	    !trn_budget_allows(budget, trn_latch_work(core, &block)))
		return false;
	cause = trn_latch_job(core, &block, &job, &wrong);
	if (!cause) {
		job_start(core, job);
		return true;
	}
	record.job_id = block.job_id;
	record.cause = (uint16_t)cause;
	record.addr = wrong;
	if (block.gang)
		trn_gang_fail(core->chip, &block);
	pthread_mutex_lock(&core->lock);
	core->doorbell_rung = false;
	pthread_mutex_unlock(&core->lock);
	post_record(core, block.completion, &record);
	return true;
}

/* False: another reset has been asked for, which the one just done is not. */
static bool reset_finish(struct trn_core *core, bool queues_only)
{
	struct trn_irq_edge edge = { .rises = false };
	bool done;

	pthread_mutex_lock(&core->lock);
	done = !core->reset_stuck && (core->reset_queues || !queues_only);
	if (done) {
		core->reset_request = false;
		core->reset_queues = false;
		edge = core_ended(core, queues_only ? 0 : NEURON_CORE_CAUSE_RESET);
	}
	pthread_mutex_unlock(&core->lock);
	trn_irq_send(core->chip, edge);
	return done;
}

/* False: not within @budget; nothing has been done. */
static bool step_reset(struct trn_core *core, struct trn_budget *budget)
{
	bool wanted, stuck, queues_only;

	pthread_mutex_lock(&core->lock);
	wanted = core->reset_request;
	stuck = core->reset_stuck;
	queues_only = core->reset_queues;
	pthread_mutex_unlock(&core->lock);
	if (!wanted)
		return true;
	if (!trn_budget_allows(budget, TRN_WORK_LONG))
		return false;
	if (core->job) {
		/* Its completion brings us back. */
		trn_job_fail(core->job, &reset_fault);
		return true;
	}
	if (stuck)
		return true;
	if (trn_core_hold_queues(core))
		return true;		/* the last one to end brings us back */
	if (!queues_only)
		trn_core_scrub(core);
	trn_core_reset_queues(core);
	if (!reset_finish(core, queues_only))
		trn_task_kick(&core->controller);
	return true;
}

/* How long the end of @job takes, as bytes to copy: mostly its device time. */
static uint64_t completion_work(const struct trn_job *job)
{
	return atomic_load(&job->instructions) * 64 +
	       atomic_load(&job->dma_bytes) / 64;
}

enum trn_run trn_core_run(struct trn_task *task, struct trn_budget *budget)
{
	struct trn_core *core = (struct trn_core *)((char *)task -
				offsetof(struct trn_core, controller));

	if (atomic_load(&core->chip->stopping))
		return TRN_RUN_IDLE;
	if (core->job && !atomic_load(&core->job->refs)) {
		if (!trn_budget_allows(budget, completion_work(core->job)))
			return TRN_RUN_AGAIN;
		if (!trn_time_finish(core->job->timeline, budget))
			return TRN_RUN_AGAIN;
		job_complete(core, core->job);
	}
	if (core->pending && !trn_settle_step(core, budget))
		return TRN_RUN_AGAIN;
	if (!step_doorbell(core, budget) || !step_reset(core, budget))
		return TRN_RUN_AGAIN;
	step_gang(core);
	trn_job_settle(core);
	return TRN_RUN_IDLE;
}

void trn_job_drop(struct trn_core *core)
{
	struct trn_job *job = core->job;

	trn_settle_drop(core);
	if (!job)
		return;
	if (core->chip->queues)
		unbind_queues(job);
	trn_gang_leave(core);
	trn_pool_unwatch(&core->controller);
	pthread_mutex_lock(&core->lock);
	core->job = NULL;
	pthread_mutex_unlock(&core->lock);
	trn_job_free(job);
}

/* A doorbell that no controller has seen yet. */
static bool unseen_doorbell(struct trn_core *core, struct neuron_hw_job *block)
{
	uint64_t addr;
	bool rung;

	pthread_mutex_lock(&core->lock);
	rung = core->doorbell_rung;
	addr = core->doorbell;
	pthread_mutex_unlock(&core->lock);
	return rung && trn_latch_block(core, addr, block);
}

void trn_job_abort(struct trn_core *core)
{
	struct trn_job *job = core->job;
	struct neuron_record record;
	struct neuron_hw_job block;

	trn_settle_abort(core);
	if (job) {
		/* Nothing runs, so nobody has to be told to stop. */
		if (!atomic_exchange(&job->faulted, true))
			job->fault = reset_fault;
		fill_record(job, &record);
		block = job->block;
	} else if (unseen_doorbell(core, &block)) {
		record = neuron_record_aborted(block.job_id);
	} else {
		return;
	}
	write_record(core, block.completion, &record);
	if (job && job->settles)
		trn_settle_abort_one(core, job, &record);
	trn_job_drop(core);
}
