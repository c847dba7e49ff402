/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * A job: from the doorbell to the completion record.
 *
 * Each started sequencer and each busy queue holds a reference, and so does a member
 * of a gang that waits for the others (trn_gang.h). When the last one is dropped the
 * core's controller writes the completion record, raises the interrupt and frees the
 * job. An error stops the other actors when they have passed its device time, and the
 * same path completes the job with the least of them (trn_job_fault.c).
 */
#ifndef TRN_JOB_H
#define TRN_JOB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/trn_pool.h"
#include "mem/trn_domain.h"
#include "neuron/job.h"
#include "time/trn_time.h"

struct trn_check_job;
struct trn_core;
struct trn_queue;

/**
 * struct trn_fault - why a job fails; the fields of the completion record, and
 * @timed, @time_ps: it has a device time, picoseconds, by the causal clock of @actor
 */
struct trn_fault {
	enum neuron_cause cause;
	uint16_t source;
	uint16_t queue;
	uint32_t pc;
	uint64_t addr;
	bool timed;
	uint16_t actor;
	uint64_t time_ps;
};

struct trn_job {
	struct trn_core *core;
	struct neuron_hw_job block;	/* as latched, host byte order is LE */
	struct trn_domain *domain;
	struct trn_queue **queues;
	struct neuron_hw_job_queue *queue_table;	/* as latched */
	unsigned int nr_queues;
	struct trn_timeline *timeline;
	struct trn_check_job *check;	/* NULL: it is not checked */
	bool waits;			/* for its gang, with a reference; the controller's */
	_Atomic uint32_t refs;
	_Atomic bool stop;		/* actors halt at their next boundary */
	_Atomic bool faulted;
	struct trn_fault fault;		/* valid once faulted, final when no actor is left */
	_Atomic uint64_t fault_ps;	/* its time_ps and actor, of one that is timed */
	_Atomic uint32_t fault_actor;
	_Atomic uint32_t turns;		/* runs of actors that ended and left them quiet */
	_Atomic uint64_t instructions;
	_Atomic uint64_t dma_bytes;
	_Atomic uint32_t notify_count;
	struct trn_domain *trace;	/* one window, or NULL: it is not traced */
	uint64_t trace_records;		/* told by one thread at a time: trn_trace_tell() */
	bool trace_broken;		/* the same: the memory takes no more */
	_Atomic uint64_t trace_lost;
};

/*
 * Prepare @core, which is in trn_chip.core of @chip: its place there says whether it is a
 * NeuronCore or a CC-core. Returns 0, or -1 without memory.
 */
int trn_core_init(struct trn_core *core, struct trn_chip *chip);
void trn_core_destroy(struct trn_core *core);
/* Chip reset: everything to its reset state; the core is quiet. */
void trn_core_reset_state(struct trn_core *core);

/*
 * Back to zero: sequencers, semaphores, events, memories, array. Nothing of the
 * core runs; counters, generation and queues stay.
 */
void trn_core_scrub(struct trn_core *core);
/*
 * The queues of the core's ring engines, but for those that a job has: the core runs
 * none, so it is one of a CC-core's. A CC-core has no others. Hold: start no run until
 * they are reset; true while one is still under way, whose end kicks the controller.
 */
bool trn_core_hold_queues(struct trn_core *core);
void trn_core_reset_queues(struct trn_core *core);
/* The controller's task function. */
enum trn_run trn_core_run(struct trn_task *task, struct trn_budget *budget);

/* Control-block writes: the job block's address, a core reset. */
void trn_core_doorbell(struct trn_core *core, uint64_t job_block);
void trn_core_reset(struct trn_core *core);
/* The DMA engines of the core alone; a job of the core ends, memories stay. */
void trn_core_reset_engines(struct trn_core *core);

/* Forget the core's job without a record; the chip is stopped and quiet. */
void trn_job_drop(struct trn_core *core);
/*
 * The same for a reset of the chip that its software asked for: the record says
 * ABORTED. No interrupt, because interrupts are about to be reset as well.
 */
void trn_job_abort(struct trn_core *core);

void trn_job_get(struct trn_job *job);
void trn_job_put(struct trn_job *job);

/* --- trn_job_fault.c --- */

/* The job fails, if it has not yet, and every actor stops at its next boundary. */
void trn_job_fail(struct trn_job *job, const struct trn_fault *fault);
/* @actor has met a fault; its own task. */
void trn_job_fault(struct trn_job *job, unsigned int actor, const struct trn_fault *fault);
/*
 * Is @actor past the fault of the job, or the one that has met it? Then it does not go on.
 * Its own task.
 */
bool trn_job_past_fault(struct trn_job *job, unsigned int actor);
/* Stop and kick every actor of the job. */
void trn_job_stop(struct trn_job *job);
/*
 * A run of an actor has kicked all that it kicks, and ends idle. Before the actor drops
 * its reference.
 */
void trn_job_turn_ends(struct trn_job *job);
/* The controller, after a fault: stop the job when nobody has anything to do before it. */
void trn_job_settle(struct trn_core *core);
/* The controller: no actor is left. Tell of the fault, if there is one. */
void trn_job_fault_tell(struct trn_job *job);

/* May instructions of this job use semaphore @sem? */
bool trn_job_owns_sem(const struct trn_job *job, unsigned int sem);

/* May they use event @event? */
bool trn_job_owns_event(const struct trn_job *job, unsigned int event);

/* Append to the notification stream; the stamp is filled in at completion. */
enum neuron_cause trn_job_notify(struct trn_job *job, unsigned int actor,
				 uint32_t tag, uint32_t pc);

/*
 * trn_job_trace.c: post what was traced, and write it to the job's trace (trn_trace_fn);
 * @arg: the job.
 */
void trn_job_trace(void *arg, const struct trn_time_trace *trace);
/* Whether the window of a trace that was latched, or loaded, takes one. Logs why not. */
enum neuron_cause trn_job_trace_check(const struct trn_job *job);
/* A job that is traced has begun, or ended: write the header of its trace. */
void trn_job_trace_begin(struct trn_job *job);
void trn_job_trace_end(struct trn_job *job);
/* Something of it, which was not recorded, is missing in its trace. */
void trn_job_trace_lose(struct trn_job *job);
/* The same as a trn_trace_lost_fn; @arg: the job. */
void trn_job_trace_lost(void *arg);

#endif /* TRN_JOB_H */
