/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * A NeuronCore: memories, semaphores, sequencers, and the job it runs. A CC-core is
 * one without memories of its own and with one sequencer.
 */
#ifndef TRN_CORE_H
#define TRN_CORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/trn_pool.h"
#include "neuron/job.h"
#include "time/trn_time.h"

struct trn_chip;
struct trn_core;
struct trn_job;
struct trn_state;
struct trn_time_trace;

/* What STATUS reads. */
uint32_t trn_core_status(struct trn_core *core);

/* Bytes that the library holds for it between jobs, without its memories. */
size_t trn_core_own_bytes(struct trn_core *core);

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

/*
 * Write a record, with its 16-bit status at @at last: a reader that finds a status finds the
 * rest as well. @record: the status is gone afterwards. False: the address is not memory
 * (any more).
 */
bool trn_core_write_record(struct trn_core *core, uint64_t addr, void *record, size_t len,
			   size_t at);

/* Control-block writes: the job block's address, a core reset. */
void trn_core_doorbell(struct trn_core *core, uint64_t job_block);
void trn_core_reset(struct trn_core *core);
/* The DMA engines of the core alone; a job of the core ends, memories stay. */
void trn_core_reset_engines(struct trn_core *core);

/*
 * Forget the core's job, and those that have not settled, without a record; the chip is
 * stopped and quiet.
 */
void trn_job_drop(struct trn_core *core);
/*
 * The same for a reset of the chip that its software asked for: the record says
 * ABORTED. No interrupt, because interrupts are about to be reset as well.
 */
void trn_job_abort(struct trn_core *core);

/* The controller, after a fault: stop the job when nobody has anything to do before it. */
void trn_job_settle(struct trn_core *core);
/* The controller: no actor is left. Tell of the fault, if there is one. */
void trn_job_fault_tell(struct trn_job *job);

/*
 * trn_job_trace.c: post what was traced, and write it to the job's trace (trn_trace_fn);
 * @arg: the job.
 */
void trn_job_trace(void *arg, const struct trn_time_trace *traces, unsigned int nr);
/* Whether the window of a trace that was latched, or loaded, takes one. Logs why not. */
enum neuron_cause trn_job_trace_check(const struct trn_job *job);
/* A job that is traced has begun, or ended: write the header of its trace. */
void trn_job_trace_begin(struct trn_job *job);
void trn_job_trace_end(struct trn_job *job);
/* The same as a trn_trace_lost_fn; @arg: the job. */
void trn_job_trace_lost(void *arg);

/* trn_core_state.c: every core with its memories and its job. */
void trn_cores_state(struct trn_chip *chip, struct trn_state *st);
/*
 * trn_job_state.c: the job of @core and its domain, or that there is none. A loaded job has no
 * reference yet, but that of a member that waits for its gang, and its queues are not bound
 * to it.
 */
void trn_job_state(struct trn_core *core, struct trn_state *st);
/* Those that have ended and not settled; before the job. */
void trn_jobs_pending_state(struct trn_core *core, struct trn_state *st);

#endif /* TRN_CORE_H */
