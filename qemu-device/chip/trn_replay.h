/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Device time, private part: what recording (trn_time.c) and replaying
 * (trn_replay.c) share.
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
 * @target: POST: core whose semaphore changes
 * @cookie: STAMP
 * @bytes, @hops: DMA
 * @epoch: POST to another core: that core's epoch when it was recorded
 * @value: WAIT, POST: operand; TRIGGER: descriptors
 * @index: WAIT, POST: semaphore; TRIGGER: actor of the queue
 * @op: WAIT: NEURON_SYNC_* bits; POST: NEURON_SYNC_POST_*
 */
struct trn_record {
	uint64_t pre_ps;
	union {
		struct trn_core *target;
		uint64_t cookie;
		struct {
			uint32_t bytes;
			uint32_t hops;
		};
	};
	uint32_t epoch;
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
 * struct trn_actor - an engine or a queue of a timeline
 * @pending_ps: time since its last record; its task, then the last replay
 * @last: chunk that is filled; its task
 * @first: chunk that is consumed; NULL until the first record
 * @time_ps: replayed up to here (this and the rest: the replay)
 * @parked: its next record waits
 * @hops: most links of the descriptors since the queue was last idle
 * @triggers, @last_trigger: not yet consumed, in order
 */
struct trn_actor {
	uint64_t pending_ps;
	struct trn_chunk *last;
	struct trn_chunk *_Atomic first;
	uint64_t time_ps;
	bool parked;
	uint32_t hops;
	struct trn_trigger *triggers;
	struct trn_trigger **last_trigger;
};

/* A timeline posts to a core: listed at both. */
struct trn_link {
	struct trn_timeline *tl;
	struct trn_core_time *target;
	struct trn_link *next_of_tl;
	struct trn_link *next_of_target;
};

/* A post on its way to a core, in time order; ties by sender. */
struct trn_mail {
	struct trn_mail *next;
	uint64_t time_ps;
	uint64_t sender;
	int32_t value;
	uint16_t sem;
	uint8_t op;
};

/**
 * struct trn_core_time - what a core's time keeps between jobs
 * @tl: timeline of its job
 * @value: the semaphores, as far as the replay has come
 * @changed_ps: when each changed last
 * @epoch: raised when semaphores are cleared
 * @cleared: epoch in which a semaphore was last cleared; older posts are void
 * @inbox, @nr_mail: posts of other cores' jobs
 * @posters: timelines that post here
 */
struct trn_core_time {
	struct trn_core *core;
	struct trn_timeline *tl;
	int32_t value[NEURON_NR_SEMAPHORES];
	uint64_t changed_ps[NEURON_NR_SEMAPHORES];
	uint32_t epoch;
	uint32_t cleared[NEURON_NR_SEMAPHORES];
	struct trn_mail *inbox;
	unsigned int nr_mail;
	struct trn_link *posters;
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
 * @visited: mark of the search for posters
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
	int32_t real[NEURON_NR_SEMAPHORES];
	struct trn_stamp *stamps;
	size_t nr_stamps;
	size_t room_stamps;
	struct trn_link *links;
	uint64_t visited;
};

/* All of these with the lock of trn_time.c held. */

/* The core's record, made when it is missing; NULL: no memory. */
struct trn_core_time *trn_core_time(struct trn_core *core);

/* Replay one event of @tl, or of a poster that it waits for. False: stuck. */
bool trn_replay_step(struct trn_timeline *tl);
/* @tl is stuck: end its earliest wait. False: it has no records left. */
bool trn_replay_force(struct trn_timeline *tl);
/* Drop a core's mail, for one semaphore or (negative) all. */
void trn_replay_drop_mail(struct trn_core_time *ct, int sem);
/* Free what the replay holds for @tl. */
void trn_replay_free(struct trn_timeline *tl);

#endif /* TRN_REPLAY_H */
