// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The controller of a core, when its job has met a fault: it waits for the other actors, and
 * tells of the fault that is left (trn_job_fault.c).
 */
#include "base/trn_chip.h"
#include "core/trn_core.h"
#include "core/trn_gang.h"
#include "core/trn_park.h"
#include "dma/trn_udma_queue.h"
#include "exec/trn_seq.h"
#include "hook/trn_observe.h"
#include "job/trn_job.h"
#include "notify/trn_nq.h"
#include "time/trn_time.h"

/* An observer holds the engine, which may have come to an earlier fault without it. */
static bool is_parked_before(const struct trn_job *job, unsigned int engine)
{
	const struct trn_seq *seq = &job->core->seq[engine];

	return atomic_load(&seq->job) == job && atomic_load(&seq->hold) == TRN_HOLD_PARKED &&
	       trn_time_next_ps(job->timeline, engine) <= atomic_load(&job->fault_ps);
}

static bool actors_quiet(const struct trn_job *job)
{
	unsigned int i;

	for (i = 0; i < NEURON_NR_ENGINES; i++)
		if (is_parked_before(job, i))
			return false;
	for (i = 0; i < job->nr_tasks; i++)
		if (!trn_task_quiet(job->tasks[i]))
			return false;
	/* One that waits for queues of higher priority, maybe of another job, goes on later. */
	for (i = 0; i < job->nr_queues; i++)
		if (trn_udma_queue_yields(job->queues[i]))
			return false;
	return true;
}

/*
 * Has nobody anything to do? An actor that was quiet may have been kicked by one that was
 * looked at later, but then that one's turn has ended meanwhile. Actors of a chip that
 * stops are quiet as well, and go on later.
 */
static bool settled(struct trn_job *job)
{
	uint32_t turns = atomic_load(&job->turns);

	return actors_quiet(job) && atomic_load(&job->turns) == turns &&
	       !atomic_load(&job->core->chip->stopping);
}

void trn_job_settle(struct trn_core *core)
{
	struct trn_job *job = core->job;

	if (!job || !atomic_load(&job->faulted) || atomic_load(&job->stop))
		return;
	trn_pool_watch(&core->controller, TRN_WATCH_ACTORS);
	if (!settled(job))
		return;
	trn_pool_unwatch(&core->controller);
	trn_job_stop(job);
}

/* A notification of the fault, at the engine's own time. */
static void report_fault(struct trn_job *job)
{
	const struct trn_fault *fault = &job->fault;
	struct trn_nq_event event = {
		.engine = NEURON_NQ_NO_ENGINE,
		.type = NEURON_NQ_TYPE_ERROR,
		.code = fault->cause,
		.pc = fault->pc,
		.job_id = job->block.job_id,
	};

	trn_nq_of_core(job->core, &event);
	if (fault->source < NEURON_NR_ENGINES) {
		event.engine = fault->source;
		event.time_ns = fault->time_ps / 1000;
	}
	trn_nq_post(job->core->chip, &event);
}

void trn_job_fault_tell(struct trn_job *job)
{
	trn_pool_unwatch(&job->core->controller);
	if (!atomic_load(&job->faulted))
		return;
	report_fault(job);
	trn_observe_failed(job, &job->fault);
	if (job->block.gang && job->fault.cause != NEURON_CAUSE_GANG)
		trn_gang_fail(job->core->chip, &job->block);
}
