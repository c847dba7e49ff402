/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Device time, private part: what recording (trn_time.c), the causal clocks
 * (trn_causal.c) and the replay (trn_replay.c) share.
 *
 * There are two clocks. The replay of a job knows all its records and handles
 * them in virtual-time order; its times are the ones that are reported. The
 * causal clock of an actor is kept while it executes and follows what really
 * woke it; it dates the posts to cores of other jobs, whose replays must not
 * wait for this one.
 */
#ifndef TRN_REPLAY_H
#define TRN_REPLAY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "neuron/regs.h"
#include "trn_time.h"

struct trn_core;

enum trn_record_kind {
	TRN_RECORD_WAIT,
	TRN_RECORD_POST,
	TRN_RECORD_TRIGGER,
	TRN_RECORD_DMA,
	TRN_RECORD_STAMP,
};

/**
 * struct trn_record - something an actor did
 * @pre_ps: its execution time since the record before
 * @cookie: STAMP
 * @bytes, @hops: DMA
 * @value: WAIT, POST: operand; TRIGGER: descriptors
 * @index: WAIT, POST: semaphore of the own core; TRIGGER: actor of the queue
 * @op: WAIT: NEURON_SYNC_* bits; POST: NEURON_SYNC_POST_*
 */
struct trn_record {
	uint64_t pre_ps;
	union {
		uint64_t cookie;
		struct {
			uint32_t bytes;
			uint32_t hops;
		};
	};
	int32_t value;
	uint16_t index;
	uint8_t kind;
	uint8_t op;
};

#define TRN_CHUNK_RECORDS	64

/*
 * One producer, the actor's task, and one consumer, the replay: no lock.
 * @tail counts the records that are complete, @head those consumed.
 */
struct trn_chunk {
	struct trn_chunk *_Atomic next;
	_Atomic uint32_t tail;
	uint32_t head;
	struct trn_record record[TRN_CHUNK_RECORDS];
};

/* Descriptors that were triggered at a time. */
struct trn_trigger {
	struct trn_trigger *next;
	uint64_t time_ps;
	uint32_t count;
};

/**
 * struct trn_flow - time of an actor, and of a queue the work it has
 * @time_ps: where it is
 * @hops: most links of the descriptors since the queue was last idle
 * @first, @last: triggers not yet used up, in order
 */
struct trn_flow {
	uint64_t time_ps;
	uint32_t hops;
	struct trn_trigger *first;
	struct trn_trigger **last;
};

/* Queue @count descriptors at @time_ps. False: no memory. */
bool trn_flow_trigger(struct trn_flow *flow, uint64_t time_ps, uint32_t count);
/* Move one descriptor; without a trigger it starts where the queue is. */
void trn_flow_move(struct trn_flow *flow, uint32_t bytes, uint32_t hops,
		   uint32_t bytes_per_us);
void trn_flow_free(struct trn_flow *flow);

/**
 * struct trn_actor - an engine or a queue of a timeline
 * @pending_ps: time since its last record; its task, then the last replay
 * @last: chunk that is filled; its task
 * @first: chunk that is consumed; NULL until the first record
 * @causal: causal clock; time_ps belongs to the task
 * @replay: replayed up to here
 * @parked: its next record waits
 */
struct trn_actor {
	uint64_t pending_ps;
	struct trn_chunk *last;
	struct trn_chunk *_Atomic first;
	struct trn_flow causal;
	struct trn_flow replay;
	bool parked;
};

/* When a semaphore had been raised by @total in all. */
struct trn_raise {
	uint64_t total;
	uint64_t time_ps;
};

#define TRN_RAISES	32

/**
 * struct trn_history - causal times of a semaphore
 * @raised, @lowered: sums since it was last set
 * @old: all that is older than the ring: up to old.total at old.time_ps
 * @changed_ps: the latest change of any kind
 * @ring: the newest raises, [@first, @first + @nr) modulo TRN_RAISES
 */
struct trn_history {
	uint64_t raised;
	uint64_t lowered;
	struct trn_raise old;
	uint64_t changed_ps;
	unsigned int first;
	unsigned int nr;
	struct trn_raise ring[TRN_RAISES];
};

/* A post of another core's job, in time order; ties by sender. */
struct trn_mail {
	struct trn_mail *next;
	uint64_t time_ps;
	uint64_t sender;
	int32_t value;
	uint16_t sem;
	uint8_t op;
};

/**
 * struct trn_core_time - what a core's time keeps, also between jobs
 * @lock: everything below and what the replay has of @tl; a leaf
 * @tl: timeline of its job
 * @value: the semaphores, as far as the replay has come
 * @changed_ps: when each changed last, in the replay
 * @foreign: other cores' jobs have posted to it since the core was reset
 * @history: by semaphore, made when first needed
 * @inbox, @last_mail, @nr_mail: posts of other cores' jobs
 */
struct trn_core_time {
	pthread_mutex_t lock;
	struct trn_timeline *tl;
	int32_t value[TRN_TIME_SEMS];
	uint64_t changed_ps[TRN_TIME_SEMS];
	bool foreign[TRN_TIME_SEMS];
	struct trn_history *history[TRN_TIME_SEMS];
	struct trn_mail *inbox;
	struct trn_mail *last_mail;
	unsigned int nr_mail;
};

struct trn_stamp {
	uint64_t cookie;
	uint64_t time_ns;
};

/**
 * struct trn_timeline - the records of a job
 * @lost: no memory for a record; nothing is recorded any more
 * @nr_records: appended and not yet replayed
 * @next_drain: nr_records at which to replay a piece
 * @real: the semaphores when the job was about to start
 * @stamps, @nr_stamps, @room_stamps: a ring once it has its full size
 */
struct trn_timeline {
	struct trn_core *core;
	struct trn_core_time *ct;
	unsigned int nr_actors;
	struct trn_actor *actor;
	uint64_t start_ps;
	_Atomic bool lost;
	_Atomic size_t nr_records;
	_Atomic size_t next_drain;
	int32_t real[TRN_TIME_SEMS];
	struct trn_stamp *stamps;
	size_t nr_stamps;
	size_t room_stamps;
};

/* The core's time, made when it is missing; NULL: no memory. */
struct trn_core_time *trn_core_time(struct trn_core *core);
/* Append to an actor's list; its own task. False: no memory, @lost is set. */
bool trn_timeline_record(struct trn_timeline *tl, unsigned int actor,
			 const struct trn_record *record);

/* All that follow: with the core's lock held. */

/* Causal clocks: a semaphore changes at @time_ps, is forgotten, is waited for. */
void trn_causal_post(struct trn_core_time *ct, unsigned int sem, unsigned int op,
		     int32_t value, uint64_t time_ps);
void trn_causal_set(struct trn_core_time *ct, unsigned int sem, int32_t value);
/* The time at which the wait was over, at least @time_ps; takes. */
uint64_t trn_causal_wait(struct trn_core_time *ct, unsigned int sem,
			 unsigned int sync, int32_t value, uint64_t time_ps);

/* Replay one event. False: nothing can go on. */
bool trn_replay_step(struct trn_timeline *tl);
/* End the earliest wait of a timeline that is stuck. False: there is none. */
bool trn_replay_force(struct trn_timeline *tl);
void trn_replay_mail(struct trn_core_time *ct, const struct trn_mail *mail);
/* Drop a core's mail, for one semaphore or (negative) all. */
void trn_replay_drop_mail(struct trn_core_time *ct, int sem);
/* Free what is held for the actors of @tl. */
void trn_replay_free(struct trn_timeline *tl);

/* Order of actors that act at the same time. */
uint64_t trn_replay_rank(const struct trn_timeline *tl, unsigned int actor);

#endif /* TRN_REPLAY_H */
