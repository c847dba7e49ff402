/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Checks on request (trn_chip_config.check_memory): programming errors that the
 * hardware would not report.
 *
 *	trn_check.c		chips, jobs, reports
 *	trn_check_group.c	jobs of a gang together
 *	trn_check_memory.c	shadow of the memories: which bytes were written
 *	trn_check_inst.c	what an instruction reads and writes
 *	trn_check_access.c	what DMA queues and memory words move
 *	trn_check_sync.c	what posts, waits and triggers put in order
 *	trn_check_race.c	accesses that nothing has put in order
 *
 * The checks only look: results and device times of a job are the same with and
 * without them. Without them a chip has no struct trn_check and a job no struct
 * trn_check_job, and each hook is one test of a pointer.
 *
 * An actor is a sequencer or a queue of a job, numbered as in trn_time.h. Only its
 * own task uses it. The shadow of each memory has a lock, a leaf, which is held for
 * a tile at most; reports are made without it. What semaphores put in order is kept
 * under the lock of the semaphores.
 */
#ifndef TRN_CHECK_H
#define TRN_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "neuron/job.h"

struct trn_check;
struct trn_check_actor;
struct trn_check_job;
struct trn_chip;
struct trn_exec;
struct trn_job;
struct trn_loc;
struct trn_unwritten;

enum trn_check_kind {
	TRN_CHECK_UNWRITTEN,	/* a read of bytes that nobody has written */
	TRN_CHECK_BANK,		/* a product leaves the bank of PSUM it began in */
	TRN_CHECK_RANGE,	/* a tile leaves its partition */
	TRN_CHECK_RACE,		/* two accesses that nothing has put in order */
	TRN_CHECK_KINDS
};

/* If the chip's configuration asks for checks. 0, or -1: no memory. */
int trn_check_init(struct trn_chip *chip);
void trn_check_destroy(struct trn_chip *chip);
/* Lines of this kind so far; 0 without checks. */
uint64_t trn_check_count(const struct trn_chip *chip, enum trn_check_kind kind);
size_t trn_check_own_bytes(const struct trn_chip *chip);

/*
 * The following do nothing on a chip without checks.
 */

/*
 * The memory has been cleared, page aligned: nobody has written it. @place: enum trn_place.
 */
void trn_check_forget(struct trn_chip *chip, unsigned int place, unsigned int index,
		      uint64_t offset, uint64_t len);
/* All memories count as written: they were loaded. */
void trn_check_trust(struct trn_chip *chip);
/* Bytes of loc->chip's memory are about to be written by anybody. */
void trn_check_written(const struct trn_loc *loc, size_t len);
/* Those that nobody has written, from loc->offset on; they count as written then. */
void trn_check_unwritten(const struct trn_loc *loc, uint64_t len, struct trn_unwritten *found);

/* Before the actors of a job start, a gang's before it is complete. */
void trn_check_job_begin(struct trn_job *job);
/* They start now. */
void trn_check_job_run(struct trn_job *job);
/* None of them runs any more. */
void trn_check_job_end(struct trn_job *job);

/*
 * The rest is for jobs that are checked. An actor may be NULL: it is of one that
 * is not.
 */

struct trn_check_actor *trn_check_actor(const struct trn_job *job,
					unsigned int index);
/* What it does from here on: an instruction and its field debug, or a packet. */
void trn_check_at(struct trn_check_actor *actor, uint32_t pc, uint32_t debug);
/* As trn_exec_dispatch(), for an instruction of a job that is checked. */
enum neuron_cause trn_check_exec(struct trn_exec *exec);
/* @len bytes are moved; NULL: from or to the actor itself. */
void trn_check_moved(struct trn_check_actor *actor, const struct trn_loc *from,
		     const struct trn_loc *to, uint64_t len);

/* They are about to be triggered in the queue by an engine. */
void trn_check_trigger(struct trn_check_actor *actor, unsigned int queue_actor,
		       uint32_t m2s, uint32_t s2m);
/* The queue takes as many for a packet. */
void trn_check_packet(struct trn_check_actor *queue, uint32_t m2s, uint32_t s2m);

/*
 * Under the lock of the semaphores of @cj's core: semaphore or event @sem
 * (TRN_SEM_OF_EVENT) is about to change from @old; a wait of @actor is over with the
 * value @have. NULL, or an actor of a job that is in no gang with it: somebody else.
 */
void trn_check_post(struct trn_check_job *cj, struct trn_check_actor *actor,
		    unsigned int sem, unsigned int op, int32_t value, int32_t old);
void trn_check_wait(struct trn_check_job *cj, struct trn_check_actor *actor,
		    unsigned int sem, unsigned int sync, int32_t value, int32_t have);

#endif /* TRN_CHECK_H */
