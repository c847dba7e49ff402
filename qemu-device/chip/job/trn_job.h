/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * A job: what its actors share, from the doorbell to the completion record.
 *
 * Each started sequencer and each busy queue holds a reference, and so does a member
 * of a gang that waits for the others (core/trn_gang.h). When the last one is dropped the
 * core's controller writes the completion record, raises the interrupt and frees the
 * job. An error stops the other actors when they have passed its device time, and the
 * same path completes the job with the least of them (trn_job_fault.c).
 */
#ifndef TRN_JOB_H
#define TRN_JOB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "neuron/job.h"

struct trn_check_job;
struct trn_core;
struct trn_domain;
struct trn_member;
struct trn_udma_queue;
struct trn_task;
struct trn_timeline;

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
	struct trn_udma_queue **queues;
	struct trn_task **tasks;	/* of its actors: the core's engines, then @queues */
	unsigned int nr_tasks;
	struct neuron_hw_job_queue *queue_table;	/* as latched */
	unsigned int nr_queues;
	struct trn_timeline *timeline;
	struct trn_check_job *check;	/* NULL: it is not checked */
	struct neuron_hw_time_group group;	/* as latched, with NEURON_JOB_GROUP */
	bool settles;			/* a settle record follows its completion record */
	struct trn_member *member;	/* of the group; NULL: without device time */
	struct trn_job *next;		/* trn_core.pending */
	uint64_t start_ns;		/* of its completion record, and end_ns; pending */
	uint64_t end_ns;
	size_t told;			/* traces, when it settles */
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

void trn_job_get(struct trn_job *job);
void trn_job_put(struct trn_job *job);

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
/* May instructions of this job use semaphore @sem? */
bool trn_job_owns_sem(const struct trn_job *job, unsigned int sem);

/* May they use event @event? */
bool trn_job_owns_event(const struct trn_job *job, unsigned int event);

/* Append to the notification stream; the stamp is filled in at completion. */
enum neuron_cause trn_job_notify(struct trn_job *job, unsigned int actor,
				 uint32_t tag, uint32_t pc);

/* The replay found the time of notification @cookie (trn_stamp_fn); @arg: the job. */
void trn_job_notify_stamp(void *arg, uint64_t cookie, uint64_t time_ns);

/* Something of its trace is missing, which was not recorded. */
static inline void trn_job_trace_lose(struct trn_job *job)
{
	atomic_fetch_add_explicit(&job->trace_lost, 1, memory_order_relaxed);
}

#endif /* TRN_JOB_H */
