// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Saving and loading: a latched job. What a latch checks is checked
 * again, so that a stream can say nothing that a job block cannot.
 */
#include <stdlib.h>

#include "base/trn_chip.h"
#include "base/trn_state.h"
#include "core/trn_core.h"
#include "core/trn_gang.h"
#include "core/trn_latch.h"
#include "core/trn_settle.h"
#include "dma/trn_udma.h"
#include "job/trn_job.h"
#include "mem/trn_domain.h"
#include "mem/trn_window.h"
#include "time/trn_group.h"
#include "time/trn_time.h"

static void load_queue(struct trn_job *job, __u64 used[4],
		       struct trn_state *st)
{
	struct neuron_hw_job_queue *entry = &job->queue_table[job->nr_queues];

	if (trn_latch_check_queue(job->core, entry, used)) {
		trn_state_fail(st, "a queue of a job is not valid");
		return;
	}
	job->queues[job->nr_queues++] = trn_udma_queue_at(job->core->chip,
							  entry->dma_engine,
							  entry->queue);
}

static void job_queues_state(struct trn_job *job, struct trn_state *st)
{
	uint32_t nr = job->block.nr_queues;
	__u64 used[4] = { 0 };
	uint32_t i;

	if (st->loading && nr) {
		job->queue_table = calloc(nr, sizeof(*job->queue_table));
		job->queues = calloc(nr, sizeof(struct trn_udma_queue *));
		if (!job->queue_table || !job->queues) {
			trn_state_fail(st, "out of memory");
			return;
		}
	}
	for (i = 0; i < nr && !trn_state_failed(st); i++) {
		trn_state_bytes(st, &job->queue_table[i],
				sizeof(job->queue_table[i]));
		if (st->loading && !trn_state_failed(st))
			load_queue(job, used, st);
	}
}

static void fault_state(struct trn_fault *fault, struct trn_state *st)
{
	uint32_t cause = fault->cause;

	trn_state_u32(st, &cause);
	trn_state_u16(st, &fault->source);
	trn_state_u16(st, &fault->queue);
	trn_state_u32(st, &fault->pc);
	trn_state_u64(st, &fault->addr);
	trn_state_bool(st, &fault->timed);
	trn_state_u16(st, &fault->actor);
	trn_state_u64(st, &fault->time_ps);
	if (cause >= NEURON_NR_CAUSES)
		trn_state_fail(st, "a job has failed for an unknown cause");
	else
		fault->cause = (enum neuron_cause)cause;
}

static void progress_state(struct trn_job *job, struct trn_state *st)
{
	trn_state_atomic_bool(st, &job->stop);
	trn_state_atomic_bool(st, &job->faulted);
	fault_state(&job->fault, st);
	atomic_store(&job->fault_ps, job->fault.time_ps);
	atomic_store(&job->fault_actor, job->fault.actor);
	trn_state_atomic_u64(st, &job->instructions);
	trn_state_atomic_u64(st, &job->dma_bytes);
	trn_state_atomic_u32(st, &job->notify_count);
	trn_state_bool(st, &job->waits);
	if (st->loading && job->waits)
		trn_job_get(job);
}

static void trace_state(struct trn_job *job, struct trn_state *st)
{
	if (!(job->block.flags & NEURON_JOB_TRACE))
		return;
	trn_domain_state(job->core, &job->trace, st);
	trn_state_u64(st, &job->trace_records);
	trn_state_bool(st, &job->trace_broken);
	trn_state_atomic_u64(st, &job->trace_lost);
	if (st->loading && !trn_state_failed(st) && trn_job_trace_check(job))
		trn_state_fail(st, "the trace of a job is not valid");
}

static void block_state(struct trn_job *job, struct trn_state *st)
{
	trn_state_bytes(st, &job->block, sizeof(job->block));
	if (!st->loading || trn_state_failed(st))
		return;
	if (job->block.magic != NEURON_JOB_MAGIC ||
	    !trn_latch_completion_ok(job->core->chip, job->block.completion) ||
	    trn_latch_check_block(job->core, &job->block))
		trn_state_fail(st, "a job block is not valid");
}

/* False: the job has no device time, or it cannot be loaded. */
static bool timeline_there(struct trn_job *job, struct trn_state *st)
{
	bool present = job->timeline;

	trn_state_bool(st, &present);
	if (!present || trn_state_failed(st))
		return false;
	if (!st->loading)
		return true;
	job->timeline = trn_timeline_new(job->core, job->nr_queues);
	if (!job->timeline)
		trn_state_fail(st, "a job has device time and the clock is off");
	return job->timeline;
}

static void group_state(struct trn_job *job, struct trn_state *st)
{
	if (!(job->block.flags & NEURON_JOB_GROUP))
		return;
	trn_state_bytes(st, &job->group, sizeof(job->group));
	trn_state_bool(st, &job->settles);
	if (st->loading && !trn_state_failed(st) && trn_latch_check_group(job))
		trn_state_fail(st, "the time group of a job is not valid");
}

/* One without device time, or that its group has refused, is no member. */
static void member_join(struct trn_job *job, struct trn_state *st)
{
	const struct trn_group_key key = trn_settle_key(job);

	if (st->loading && job->settles)
		job->member = trn_group_load(job->core, job->timeline, &key, st);
}

static void timeline_state(struct trn_job *job, bool done, struct trn_state *st)
{
	unsigned int i;

	if (!timeline_there(job, st))
		return;
	member_join(job, st);
	if (trn_state_failed(st))
		return;
	for (i = 0; st->loading && i < job->nr_queues; i++)
		trn_time_queue(job->timeline, TRN_ACTOR_QUEUE + i, job->queues[i]->engine,
			       job->queues[i]->index,
			       trn_udma_queue_priority(&job->queue_table[i]));
	if (st->loading)
		trn_time_trace_to(job->timeline, trn_job_trace, trn_job_trace_lost, job);
	trn_timeline_state(job->timeline, job->block.notify_size, st);
	if (job->member && !trn_state_failed(st))
		trn_group_member_state(job->member, done, st);
}

void trn_job_state(struct trn_core *core, struct trn_state *st)
{
	bool present = core->job;
	struct trn_job *job;

	trn_state_bool(st, &present);
	if (!present || trn_state_failed(st))
		return;
	job = core->job;
	if (st->loading) {
		job = calloc(1, sizeof(*job));
		if (!job) {
			trn_state_fail(st, "out of memory");
			return;
		}
		job->core = core;
		/* From here on a reset of the chip frees it. */
		core->job = job;
	}
	block_state(job, st);
	if (trn_state_failed(st))
		return;
	job_queues_state(job, st);
	if (st->loading && !trn_state_failed(st) && !trn_latch_tasks(job))
		trn_state_fail(st, "out of memory");
	trn_domain_state(core, &job->domain, st);
	trace_state(job, st);
	group_state(job, st);
	progress_state(job, st);
	trn_gang_member_state(core, st);
	timeline_state(job, false, st);
}

static void pending_state(struct trn_job *job, struct trn_state *st)
{
	uint64_t told = job->told;

	block_state(job, st);
	if (trn_state_failed(st))
		return;
	job_queues_state(job, st);
	if (st->loading && !trn_state_failed(st) && !trn_latch_tasks(job))
		trn_state_fail(st, "out of memory");
	trace_state(job, st);
	group_state(job, st);
	if (!job->settles)
		trn_state_fail(st, "a job waits for its times and will have none");
	trn_state_u64(st, &job->start_ns);
	trn_state_u64(st, &job->end_ns);
	trn_state_u64(st, &told);
	job->told = (size_t)told;
	if (!trn_state_failed(st))
		timeline_state(job, true, st);
}

/* More may wait than count as exact. */
#define MAX_PENDING	(1u << 16)

void trn_jobs_pending_state(struct trn_core *core, struct trn_state *st)
{
	struct trn_job **at = &core->pending, *job;
	uint32_t nr = 0;

	for (job = core->pending; job; job = job->next)
		nr++;
	nr = trn_state_count(st, nr, MAX_PENDING);
	for (; nr && !trn_state_failed(st); nr--, at = &job->next) {
		if (st->loading)
			*at = calloc(1, sizeof(*job));
		job = *at;
		if (!job) {
			trn_state_fail(st, "out of memory");
			return;
		}
		job->core = core;
		pending_state(job, st);
	}
}
