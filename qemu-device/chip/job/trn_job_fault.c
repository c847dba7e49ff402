// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Which fault of a job is reported.
 *
 * Actors run in threads of the host, so the first fault in real time may be one that
 * comes later in device time. After a fault of an actor at device time t all others go on
 * until they are past t, halted, faulted or blocked. An actor's time advances with each
 * instruction and each descriptor, so one that loops gets past t. The fault with the
 * least (time, engine) is the job's. Whoever has met one does nothing more.
 *
 * Without device time a fault stops all actors at once. Some may meet faults before they
 * notice; the least (engine, pc) of these is the job's.
 *
 * A fault that has no device time (a reset, a gang that failed) stops all actors at once.
 * It is the job's fault if there is no other one yet.
 *
 * core->lock guards the fault. The controller waits for the actors.
 */
#include "base/trn_chip.h"
#include "job/trn_job.h"
#include "time/trn_time.h"

void trn_job_stop(struct trn_job *job)
{
	unsigned int i;

	atomic_store(&job->stop, true);
	for (i = 0; i < job->nr_tasks; i++)
		trn_task_kick(job->tasks[i]);
}

/* Engines before DMA queues. */
static unsigned int rank(const struct trn_fault *fault)
{
	if (fault->source != NEURON_SOURCE_DMA)
		return fault->source;
	return NEURON_NR_ENGINES + (fault->queue & ~(unsigned int)NEURON_COMPLETION_WRITES);
}

static bool before(const struct trn_fault *a, const struct trn_fault *b)
{
	if (a->time_ps != b->time_ps)
		return a->time_ps < b->time_ps;
	if (rank(a) != rank(b))
		return rank(a) < rank(b);
	return a->pc < b->pc;
}

static void keep_least(struct trn_job *job, const struct trn_fault *fault)
{
	struct trn_core *core = job->core;

	pthread_mutex_lock(&core->lock);
	if (!atomic_load(&job->faulted) ||
	    (job->fault.source != NEURON_SOURCE_JOB && before(fault, &job->fault))) {
		job->fault = *fault;
		atomic_store(&job->fault_ps, fault->time_ps);
		atomic_store(&job->fault_actor, fault->actor);
	}
	atomic_store(&job->faulted, true);
	pthread_mutex_unlock(&core->lock);
}

void trn_job_fail(struct trn_job *job, const struct trn_fault *fault)
{
	pthread_mutex_lock(&job->core->lock);
	if (!atomic_load(&job->faulted))
		job->fault = *fault;
	atomic_store(&job->faulted, true);
	pthread_mutex_unlock(&job->core->lock);
	trn_job_stop(job);
}

void trn_job_fault(struct trn_job *job, unsigned int actor, const struct trn_fault *fault)
{
	struct trn_fault timed = *fault;

	timed.actor = (uint16_t)actor;
	timed.timed = trn_time_ordered(job->timeline);
	timed.time_ps = timed.timed ? trn_time_next_ps(job->timeline, actor) : 0;
	keep_least(job, &timed);
	if (timed.timed)
		trn_task_kick(&job->core->controller);
	else
		trn_job_stop(job);
}

bool trn_job_past_fault(struct trn_job *job, unsigned int actor)
{
	if (!atomic_load_explicit(&job->faulted, memory_order_acquire))
		return false;
	return atomic_load(&job->fault_actor) == actor ||
	       trn_time_next_ps(job->timeline, actor) > atomic_load(&job->fault_ps);
}

void trn_job_turn_ends(struct trn_job *job)
{
	atomic_fetch_add(&job->turns, 1);
}
