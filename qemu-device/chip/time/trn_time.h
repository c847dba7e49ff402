/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Device time: execution records of a job and their discrete-event replay.
 *
 * Every actor (sequencer or queue) appends records to its own list while it
 * executes; the replay walks them in virtual-time order (ties by chip, core,
 * actor, index), joins actors at semaphores and triggers, and gives the job
 * its start and end and each stamp its time. Times come from costs only, never
 * from the host's clock. Modelled.
 *
 * What is modelled: an engine, a queue and a DMA engine do one thing at a time; the
 * stationary operand is loaded in the background of a product, and products in parts
 * of the array that have no cell in common run beside each other; engines take turns
 * at the memory ports that they share; a wait ends at the post that satisfies it; a
 * descriptor starts when its trigger has reached the queue, the one before it is done
 * and its engine is free; stacks of HBM and links pass the bytes of all transfers of
 * the job in the order in which these start. Higher priorities go first at all of them.
 * Jobs share nothing but semaphores.
 *
 * The same program gets the same times with any number of workers, as long as it
 * is free of data races: within a job posts and takes may compete, the replay
 * decides in virtual time because it knows all of the job. A post to a core of
 * another job is dated when it is made, by the causal clock of its actor, which
 * follows what really woke it; that is the same time when every wait on the way
 * to the post has one possible cause. Posts have to be recorded before they are
 * made. A job that appends more than TRN_TIME_LIMIT records is replayed in pieces, as
 * far as nothing that is still to come can matter: not past an actor that may record
 * something, nor past one that waits. Memory stays bounded: when TRN_TIME_PILE records
 * have piled up, the rest goes on without those in the way. If one of them then comes
 * with something that is earlier, times depend on the host, and trn_time_exact() says so.
 *
 * A semaphore that something outside the model changed (a register write, a
 * queue of domain 0) ends a modelled wait without delay, when the actor comes to it. A
 * wait for equality ends so when nothing else in the job can go on.
 */
#ifndef TRN_TIME_H
#define TRN_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "neuron/regs.h"

struct trn_chip;
struct trn_core;
struct trn_budget;
struct trn_timeline;
struct trn_traffic;

/* Records of a job in memory before they are replayed in pieces. */
#define TRN_TIME_LIMIT	32768
/* And before the replay passes over actors that wait, or are late, to bound memory. */
#define TRN_TIME_PILE	(8 * TRN_TIME_LIMIT)
/* Stamps that are kept: the newest ones. */
#define TRN_TIME_STAMPS	65536

/*
 * Events are modelled as semaphores of their own that are 0 or 1: set by a post
 * that sets 1 or 0, waited for by a wait for at least 1, cleared by taking it.
 */
#define TRN_TIME_SEMS		(NEURON_NR_SEMAPHORES + NEURON_NR_EVENTS)

/* Actors 0..4 are the sequencers; queue i of the job is TRN_ACTOR_QUEUE + i. */
#define TRN_ACTOR_QUEUE	5

/* How an instruction goes with those beside it on its engine. */
enum trn_time_class {
	TRN_TIME_PLAIN,		/* one after the other */
	TRN_TIME_COVER,		/* the next one may work in its background */
	TRN_TIME_BACKGROUND,	/* and this is one that does */
	TRN_TIME_PART,		/* as COVER, beside what goes on in other parts */
};

/**
 * struct trn_time_work - an instruction that overlaps or has something to itself
 * @class: how it goes with those beside it
 * @ports: TRN_PORT_* that it has to itself; PART: none
 * @parts: PART: what it uses, of trn_pe_array_bits()
 * @cost_ps: how long it takes
 */
struct trn_time_work {
	enum trn_time_class class;
	uint16_t ports;
	uint16_t parts;
	uint64_t cost_ps;
};

/* All functions accept a NULL timeline (the clock is off) and do nothing, or give 0. */

/*
 * A timeline for a job on @core that starts now: at the core's virtual time.
 * NULL when the clock is off or memory is short.
 */
struct trn_timeline *trn_timeline_new(struct trn_core *core,
				      unsigned int nr_queues);
/*
 * The job starts: the semaphores of the 256-bit mask @clear have just been
 * cleared, no actor runs yet. Posts of other jobs that were made before are void
 * for them.
 */
void trn_time_begin(struct trn_timeline *tl, const uint64_t clear[4]);
/* It starts at @start_ns, later than it was going to; no actor has recorded anything. */
void trn_time_start_at(struct trn_timeline *tl, uint64_t start_ns);
/*
 * @actor is queue @queue (0 to 15) of engine @engine of the core, and has @priority.
 * Before it begins.
 */
void trn_time_queue(struct trn_timeline *tl, unsigned int actor, unsigned int engine,
		    unsigned int queue, unsigned int priority);
/*
 * The sequencer @actor starts, or a run of the queue @actor, and it has stopped: it
 * records nothing more.
 */
void trn_time_start(struct trn_timeline *tl, unsigned int actor);
void trn_time_stop(struct trn_timeline *tl, unsigned int actor);
/* The caller makes sure that no actor of it runs any more. */
void trn_timeline_free(struct trn_timeline *tl);

/* Append to @actor's list; only the actor's own task calls these. */
void trn_time_exec(struct trn_timeline *tl, unsigned int actor, uint64_t cost_ps);
void trn_time_work(struct trn_timeline *tl, unsigned int actor,
		   const struct trn_time_work *work);
/* @actor is about to wait; may be said again. */
void trn_time_wait_begin(struct trn_timeline *tl, unsigned int actor,
			 unsigned int sem, unsigned int sync, int32_t value);
/* Its wait is over. */
void trn_time_wait(struct trn_timeline *tl, unsigned int actor, unsigned int sem,
		   unsigned int sync, int32_t value);
/* @target: the core whose semaphore is about to change, this chip's or a peer's. */
void trn_time_post(struct trn_timeline *tl, unsigned int actor,
		   struct trn_core *target, unsigned int sem, unsigned int op,
		   int32_t value);
void trn_time_trigger(struct trn_timeline *tl, unsigned int actor,
		      unsigned int queue_actor, uint32_t descriptors);
/*
 * One descriptor moved, which takes its engine @cost_ps, over @hops links; @traffic: the
 * bytes, NULL: none. Consumes one triggered unit.
 */
void trn_time_dma(struct trn_timeline *tl, unsigned int queue_actor,
		  uint64_t cost_ps, unsigned int hops,
		  const struct trn_traffic *traffic);
/* Do the causal clocks go? False: the clock is off, or memory was short. */
bool trn_time_ordered(const struct trn_timeline *tl);
/*
 * When @actor does what is next, by its causal clock, in picoseconds; only its own task
 * calls this. Of a queue: the start of its next descriptor.
 */
uint64_t trn_time_next_ps(struct trn_timeline *tl, unsigned int actor);
/* The job ends at @time_ps, whatever its actors did after it; before trn_time_replay(). */
void trn_time_end_at(struct trn_timeline *tl, uint64_t time_ps);
/* Where @actor is by its causal clock, ns; only its own task calls this. */
uint64_t trn_time_actor(const struct trn_timeline *tl, unsigned int actor);
/* Ask for the time of this point; @cookie comes back in the callback. */
void trn_time_stamp(struct trn_timeline *tl, unsigned int actor, uint64_t cookie);

/* In the code of an instruction, beside its opcode: it wrote a NaN. */
#define TRN_TIME_NAN	NEURON_BIT(31)

/**
 * struct trn_time_trace - an instruction or a packet, from its begin to its end
 * @code, @pc, @bytes: as recorded
 * @exact: its times, and those before it, are those of the model
 */
struct trn_time_trace {
	unsigned int actor;
	uint32_t code;
	uint32_t pc;
	uint32_t bytes;
	uint64_t begin_ns;
	uint64_t end_ns;
	bool exact;
};

/* Traces that are told in one go: a worker is not held up for longer. */
#define TRN_TIME_TELL	64

/* @nr traces, 1 to TRN_TIME_TELL of them. */
typedef void (*trn_trace_fn)(void *arg, const struct trn_time_trace *traces, unsigned int nr);
/* One was lost, for want of memory. Any thread, with a lock held. */
typedef void (*trn_trace_lost_fn)(void *arg);

/* Who is told of traces, in tasks and without a lock; one at a time. */
void trn_time_trace_to(struct trn_timeline *tl, trn_trace_fn fn, trn_trace_lost_fn lost,
		       void *arg);
/*
 * What @actor recorded since its last trace was one instruction or packet. Its times
 * are told when they are known: in virtual-time order, before the job's end is. False:
 * there is no device time, or no memory, and nobody will be told.
 */
bool trn_time_trace(struct trn_timeline *tl, unsigned int actor, uint32_t code,
		    uint32_t pc, uint64_t bytes);

typedef void (*trn_stamp_fn)(void *arg, uint64_t cookie, uint64_t time_ns);

/*
 * No actor is left: replay as much, and tell of it, as @budget allows. False: there is
 * more.
 */
bool trn_time_finish(struct trn_timeline *tl, struct trn_budget *budget);
/* Tell of the stamps that are known. */
void trn_time_stamps(struct trn_timeline *tl, trn_stamp_fn stamp, void *arg);
/* Replay to the end; returns the job's start and end. Updates the core's time. */
void trn_time_replay(struct trn_timeline *tl, uint64_t *start_ns,
		     uint64_t *end_ns, trn_stamp_fn stamp, void *arg);

/* Are all times of the job, relative to its start, those of the model? Any thread. */
bool trn_time_exact(const struct trn_timeline *tl);

/* The chip's virtual time: the end of the last completed job. */
uint64_t trn_time_now(struct trn_chip *chip);

/* The core's semaphores became zero by a reset: forget the modelled ones too. */
void trn_time_core_reset(struct trn_core *core);
/* What the core's time holds: little after a reset, else a history for each semaphore too. */
size_t trn_time_core_bytes(struct trn_core *core);
/* Free core->time_private; the core has no timeline. NULL is fine. */
void trn_time_core_destroy(struct trn_core *core);

/* A core's clocks, before its job's timeline. */
void trn_time_core_state(struct trn_core *core, struct trn_state *st);
/*
 * A job's timeline. Its queues are known already (trn_time_queue()). @stamps: the job
 * writes notifications.
 */
void trn_timeline_state(struct trn_timeline *tl, bool stamps, struct trn_state *st);

#endif /* TRN_TIME_H */
