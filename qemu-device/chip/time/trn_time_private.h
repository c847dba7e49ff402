/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Device time, private part: what recording (trn_time.c), the causal clocks
 * (trn_time_causal.c) and the replay (trn_time_replay.c) share.
 *
 * There are two clocks. The replay of a job knows all its records and handles
 * them in virtual-time order; its times are the ones that are reported. The
 * causal clock of an actor is kept while it executes and follows what really
 * woke it; it dates the posts to cores of other jobs, whose replays must not
 * wait for this one.
 */
#ifndef TRN_TIME_PRIVATE_H
#define TRN_TIME_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/trn_fabric.h"
#include "isa/trn_pe_array.h"
#include "mem/trn_access.h"
#include "neuron/regs.h"
#include "time/trn_cost.h"
#include "time/trn_time.h"

struct trn_core;
struct trn_groups;
struct trn_member;

enum trn_time_record_kind {
	TRN_RECORD_WAIT,
	TRN_RECORD_POST,
	TRN_RECORD_TRIGGER,
	TRN_RECORD_EXEC,	/* an instruction that takes ports or overlaps */
	TRN_RECORD_LOAD,	/* bytes of the descriptor in the next DMA record */
	TRN_RECORD_DMA,
	TRN_RECORD_STAMP,
	TRN_RECORD_TRACE,
	TRN_RECORD_OUTSIDE,	/* nothing in the model ended the wait before it */
	TRN_RECORD_AWAY,	/* a post to another core, of a job in a time group */
};

/**
 * struct trn_time_record - something an actor did
 * @pre_ps: execution time of the actor since its record before this one, picoseconds
 * @cookie: STAMP; TRACE: pc 63:32, code 31:0; AWAY: trn_replay_core_id() of the target
 * @cost_ps: EXEC, DMA: in its own engine
 * @value: WAIT, POST, AWAY: operand; TRIGGER: descriptors; LOAD, DMA: bytes; EXEC: parts of
 *	the array; TRACE: bytes, unsigned
 * @index: WAIT, POST, AWAY: semaphore, but for AWAY of the own core; TRIGGER: actor of the queue;
 *	EXEC: TRN_PORT_*; LOAD, DMA: path of the bytes
 * @op: WAIT: NEURON_SYNC_* bits; POST, AWAY: NEURON_SYNC_POST_*; EXEC: enum
 *	trn_time_class; DMA: links crossed
 */
struct trn_time_record {
	uint64_t pre_ps;
	union {
		uint64_t cookie;
		uint64_t cost_ps;
	};
	int32_t value;
	uint16_t index;
	uint8_t kind;
	uint8_t op;
};

#define TRN_CHUNK_RECORDS	64

/*
 * One producer, the actor's task, and one consumer, the replay: no lock.
 * @tail counts the records that are complete.
 */
struct trn_chunk {
	struct trn_chunk *_Atomic next;
	_Atomic uint32_t tail;
	struct trn_time_record record[TRN_CHUNK_RECORDS];
};

/* Descriptors that were triggered at a time. */
struct trn_trigger {
	struct trn_trigger *next;
	uint64_t time_ps;
	uint32_t count;
};

/**
 * struct trn_clock - time of an actor, and of a queue the work it has
 * @time_ps: where it is
 * @free_ps: from when on it could have done something in the background
 * @whole_ps: all of the array was in use until here
 * @part_ps: and since then each of its parts, if it is later
 * @hops: most links of the descriptors since the queue was last idle
 * @first, @last: triggers not yet used up, in order
 */
struct trn_clock {
	uint64_t time_ps;
	uint64_t free_ps;
	uint64_t whole_ps;
	uint64_t part_ps[TRN_PE_ARRAY_PARTS];
	uint32_t hops;
	struct trn_trigger *first;
	struct trn_trigger **last;
};

/* Queue @count descriptors at @time_ps. False: no memory. */
bool trn_clock_trigger(struct trn_clock *clock, uint64_t time_ps, uint32_t count);
/* Time passes in which nothing else is done. */
void trn_clock_pass(struct trn_clock *clock, uint64_t ps);
/* A wait is over that something ended at @time_ps. */
void trn_clock_wait(struct trn_clock *clock, uint64_t time_ps);
/* When the actor comes to an instruction. */
uint64_t trn_clock_begin(const struct trn_clock *clock,
			 const struct trn_time_work *work);
/* It starts at @begin_ps, which is then or later. Returns its end. */
uint64_t trn_clock_exec(struct trn_clock *clock, const struct trn_time_work *work,
			uint64_t begin_ps);
/* When the next descriptor can start; without a trigger where the queue is. */
uint64_t trn_clock_ready(const struct trn_clock *clock, uint32_t hops);
/* It has been moved, until @end_ps. */
void trn_clock_moved(struct trn_clock *clock, uint32_t hops, uint64_t end_ps);
void trn_clock_free(struct trn_clock *clock);

/**
 * struct trn_path_key - names a path
 * @src, @dst: TRN_END_*
 * @turn: of the fabric
 */
struct trn_path_key {
	uint32_t src;
	uint32_t dst;
	uint32_t turn;
};

#define TRN_PATHS	4096	/* of a job */
#define TRN_PATH_USES	(2 * TRN_ROUTE_LINKS + 2)

/* Something that bytes go through, and how fast. */
struct trn_use {
	uint16_t resource;
	uint32_t bytes_per_us;
};

/* Where bytes from one end to another go through. */
struct trn_path {
	struct trn_path_key key;
	unsigned int nr;
	struct trn_use *use;
};

/**
 * struct trn_resource - a stack of HBM, or a link in one direction
 * @key: its end (TRN_END_HBM), or chip 31:16, RESOURCE_LINK and port
 * @free_ps: by priority: device time when the resource has done all that it was given of
 *	this and higher priorities, picoseconds
 */
struct trn_resource {
	uint32_t key;
	uint64_t free_ps[NEURON_NR_PRIORITIES];
};

/* Bytes of a descriptor that take a path of their own. */
struct trn_load {
	uint16_t path;
	uint32_t bytes;
};

/**
 * struct trn_replay_part - a core in a replay
 * @sems: its semaphores, as far as the replay has come
 * @first: its first actor
 * @first_path: records name the paths from here on
 * @port_ps: when each of TRN_PORT_* is free
 * @id: trn_replay_core_id()
 * @nr_actors: from @first on
 * @start_ps: of its job, in a joint replay
 * @traces, @nr_traces, @room_traces: of a joint replay, kept until it has ended
 * @lost_traces: for want of memory
 */
struct trn_replay_part {
	struct trn_sem_times *sems;
	struct trn_actor *first;
	unsigned int first_path;
	uint64_t port_ps[TRN_PORTS];
	uint64_t id;
	uint64_t start_ps;
	unsigned int nr_actors;
	struct trn_time_trace *traces;
	size_t nr_traces;
	size_t room_traces;
	size_t lost_traces;
};

/**
 * struct trn_actor - an engine or a queue of a timeline
 * @part: core whose it is
 * @shared: the chunks are another timeline's
 * @pending_ps: time since the actor's last record; used by the actor's task, then by the
 *	last replay
 * @last: chunk that is filled; used by the actor's task
 * @first: chunk that is consumed; NULL until the first record
 * @head: records of it that have been consumed
 * @causal: causal clock; time_ps belongs to the task
 * @path_key, @path: the path that the actor used last; used by the actor's task
 * @running: the actor may still record something
 * @waiting: the actor's last record is a wait that is not over
 * @replay: device time up to which the actor's records were replayed
 * @rank: order of those that act at the same time
 * @queue: it is a queue
 * @engine: queue: number of its DMA engine among those of the timeline
 * @priority: queue: 0 goes before the others
 * @parked: the actor's next record waits for a semaphore or a trigger
 * @queued: the actor is in line for its DMA engine
 * @ready: the actor is in the heap
 * @next: queue: the one behind it that wants its engine, an actor's index
 * @load, @nr_loads: queue: of its next descriptor
 * @begun: the actor has begun something since its last trace, at @begin_ps
 * @end_ps: end of what it did last
 */
struct trn_actor {
	struct trn_replay_part *part;
	uint64_t pending_ps;
	struct trn_chunk *last;
	struct trn_chunk *_Atomic first;
	uint32_t head;
	struct trn_clock causal;
	struct trn_path_key path_key;
	unsigned int path;
	_Atomic bool running;
	_Atomic bool waiting;
	struct trn_clock replay;
	uint32_t rank;
	uint32_t next;
	uint16_t engine;
	uint8_t priority;
	bool queue;
	bool shared;
	bool parked;
	bool queued;
	bool ready;
	bool begun;
	uint64_t begin_ps;
	uint64_t end_ps;
	unsigned int nr_loads;
	struct trn_load load[TRN_STREAMS];
};

#define TRN_NO_ACTOR	UINT32_MAX
/* After every actor. */
#define TRN_RANK_ENGINE	(TRN_ACTOR_QUEUE + NEURON_NR_PRIORITIES * NEURON_JOB_MAX_QUEUES)

/**
 * struct trn_dma_engine - a DMA engine; a core has sixteen
 * @free_ps: the descriptor that it has been given is done
 * @first: queues that want it: by priority, of one priority in the order in which they
 *	came
 */
struct trn_dma_engine {
	uint64_t free_ps;
	uint32_t first;
};

#define TRN_DMA_ENGINES	16	/* of a core */

/* Something that can go on: an actor, or (after them) a DMA engine. */
struct trn_ready {
	uint64_t time_ps;
	uint32_t rank;
	uint32_t index;
};

/* When a semaphore had been raised by @total in all. */
struct trn_raise {
	uint64_t total;
	uint64_t time_ps;
};

/* Raises of a semaphore that are remembered one by one, at first and at most. */
#define TRN_RAISES_FEW	32
#define TRN_RAISES_MOST	2048

/* Traces of a job that wait to be told of. */
#define TRN_TIME_TRACES	4096

/**
 * struct trn_history - causal times of a semaphore
 * @raised, @lowered: sums since it was last set
 * @set: how much it was raised then, and when
 * @old: what is older than the ring: up to old.total at old.time_ps
 * @vague: raises above set.total, up to this total, came before old.time_ps; exactly when is
 *	forgotten
 * @changed_ps: the latest change of any kind
 * @ring: the newest raises, [@first, @first + @nr) modulo @room
 */
struct trn_history {
	uint64_t raised;
	uint64_t lowered;
	struct trn_raise set;
	struct trn_raise old;
	uint64_t vague;
	uint64_t changed_ps;
	unsigned int first;
	unsigned int nr;
	unsigned int room;
	struct trn_raise *ring;
};

/**
 * struct trn_mail - a post of another core's job; in time order, ties by sender
 * @part: of a joint replay: where it goes
 * @group: time group of the sender's job, 0: none
 * @vague: @time_ps depends on the host
 */
struct trn_mail {
	struct trn_mail *next;
	struct trn_replay_part *part;
	uint64_t time_ps;
	uint64_t sender;
	uint64_t group;
	int32_t value;
	uint16_t sem;
	uint8_t op;
	bool vague;
};

/* Posts, the earliest first. */
struct trn_mailbox {
	struct trn_mail *first;
	struct trn_mail *last;
	unsigned int nr;
};

/**
 * struct trn_sem_times - semaphores of a core, as far as a replay has come
 * @value: of each
 * @changed_ps: when it changed last
 */
struct trn_sem_times {
	int32_t value[TRN_TIME_SEMS];
	uint64_t changed_ps[TRN_TIME_SEMS];
};

/* Semaphores that a job sets at once, if there is nothing special about them. */
#define TRN_TIME_TOGETHER	64
_Static_assert(!(NEURON_NR_SEMAPHORES % TRN_TIME_TOGETHER) && !(TRN_TIME_SEMS % TRN_TIME_TOGETHER),
	       "none is left over");

/**
 * struct trn_core_time - what a core's time keeps, also between jobs
 * @lock: everything below and what the replay has of @tl; a leaf
 * @tl: timeline of its job
 * @sems: the semaphores in the replay
 * @foreign: other cores' jobs have posted to it since the core was reset
 * @folded: posts came that no job was there for, too many to keep the date of each
 * @history: by semaphore, made when first needed
 * @special: by TRN_TIME_TOGETHER of them: one has a history, or has been foreign
 * @box: posts of other cores' jobs. When the last job was in a time group: of jobs in other
 *	groups, and without a job of those in none
 * @grouped: the last job was in a time group: @sems has not followed it
 * @stale: the next job in a group says what all its semaphores are
 * @mixed: a post of a group has been counted for a job outside, so @sems holds what the
 *	replay of the group may count again
 * @settled, @settled_ps: semaphores in joint replays, and the end of the last job that has
 *	settled; the lock of the time groups
 * @newest: last job that has not settled; the same lock
 */
struct trn_core_time {
	pthread_mutex_t lock;
	struct trn_timeline *tl;
	struct trn_sem_times sems;
	bool foreign[TRN_TIME_SEMS];
	bool folded[TRN_TIME_SEMS];
	struct trn_history *history[TRN_TIME_SEMS];
	bool special[TRN_TIME_SEMS / TRN_TIME_TOGETHER];
	struct trn_mailbox box;
	bool grouped;
	_Atomic bool stale;
	_Atomic bool mixed;
	struct trn_sem_times *settled;
	uint64_t settled_ps;
	struct trn_member *newest;
};

/**
 * struct trn_sem_seed - semaphores at the start of a job in a time group
 * @known: the job says so; of the others the last job's go on
 * @value: their values
 */
struct trn_sem_seed {
	bool known[TRN_TIME_SEMS];
	int32_t value[TRN_TIME_SEMS];
};

struct trn_stamp {
	uint64_t cookie;
	uint64_t time_ns;
};

/**
 * enum trn_replay_mode - what a replay passes over
 * @TRN_REPLAY_KNOWN: nothing: it stops where a record still to come may matter
 * @TRN_REPLAY_PAST_WAITS: actors that wait: what ends their wait is hoped to be recorded
 *	in time
 * @TRN_REPLAY_PAST_ALL: actors that are late as well; waits that nothing ends are ended
 * @TRN_REPLAY_END: no actor records any more, all is known
 */
enum trn_replay_mode {
	TRN_REPLAY_KNOWN,
	TRN_REPLAY_PAST_WAITS,
	TRN_REPLAY_PAST_ALL,
	TRN_REPLAY_END,
};

/**
 * struct trn_timeline - the records of a job
 * @end_ps: the job's end, not 0: it was asked for
 * @lost: no memory for a record; nothing is recorded any more
 * @nr_records: appended and not yet replayed
 * @next_drain: nr_records at which to replay a piece
 * @real: the semaphores when the job was about to start
 * @paths, @nr_paths: from 1 on; 0 is no path
 * @resources, @nr_resources: that they lead through
 * @engines, @nr_engines, @engine_rank: DMA engines, and the rank of the first one
 * @part: the core
 * @heap, @nr_ready: actors and engines that can go on, the earliest first
 * @mode: what the replay that goes on passes over
 * @bound_ps: nothing that is not known yet happens before; UINT64_MAX: all is known
 * @front_ps: the latest event that has been replayed
 * @inexact: an event came that is earlier than others which had been replayed, or one
 *	was made up; times from there on depend on the host
 * @vague: a causal clock may depend on the host: the dates of posts to other cores do
 * @stamps, @nr_stamps, @room_stamps: a ring once it has its full size
 * @trace, @trace_lost, @trace_arg: told of traces
 * @tracing: somebody traces: times are worked out soon
 * @traces, @first_trace, @nr_traces: not told yet, a ring; NULL before the first one
 * @telling: somebody does
 * @mail: posts of other cores' jobs that the replay takes
 * @group: number of the job's time group, 0: none. All that follows is for it
 * @groups: of the fabric
 * @fresh: no semaphore goes on where the last job in a group ended
 * @seed: its semaphores
 * @box: posts to it; in no order while @kept
 * @kept: records are kept for the joint replay
 * @overflow: there is no room to keep them
 * @charged: records of its chunks that count for all groups of the fabric
 * @joint: this is a joint replay, with its parts in the order of their ids, @nr_parts
 */
struct trn_timeline {
	struct trn_core *core;
	struct trn_core_time *ct;
	unsigned int nr_actors;
	struct trn_actor *actor;
	uint64_t start_ps;
	uint64_t end_ps;
	_Atomic bool lost;
	_Atomic size_t nr_records;
	_Atomic size_t next_drain;
	int32_t real[TRN_TIME_SEMS];
	struct trn_path *paths;
	unsigned int nr_paths;
	struct trn_resource *resources;
	unsigned int nr_resources;
	struct trn_dma_engine *engines;
	unsigned int nr_engines;
	uint32_t engine_rank;
	struct trn_replay_part part;
	struct trn_ready *heap;
	unsigned int nr_ready;
	enum trn_replay_mode mode;
	uint64_t bound_ps;
	uint64_t front_ps;
	_Atomic bool inexact;
	_Atomic bool vague;
	struct trn_stamp *stamps;
	size_t nr_stamps;
	size_t room_stamps;
	trn_trace_fn trace;
	trn_trace_lost_fn trace_lost;
	void *trace_arg;
	_Atomic bool tracing;
	struct trn_time_trace *traces;
	size_t first_trace;
	size_t nr_traces;
	bool telling;
	struct trn_mailbox *mail;
	uint64_t group;
	struct trn_groups *groups;
	bool fresh;
	struct trn_sem_seed *seed;
	struct trn_mailbox box;
	_Atomic bool kept;
	_Atomic bool overflow;
	_Atomic size_t charged;
	struct trn_replay_part *joint;
	unsigned int nr_parts;
};

/* The core's time, made when it is missing; NULL: no memory. */
struct trn_core_time *trn_core_time(struct trn_core *core);
/* The core has this timeline no longer; what is left of it is memory alone. */
void trn_timeline_detach(struct trn_timeline *tl);
/* Append to an actor's list; its own task. False: no memory, @lost is set. */
bool trn_timeline_record(struct trn_timeline *tl, unsigned int actor,
			 const struct trn_time_record *record);

/* Replay some events, and return how many; 0: nothing can go on. Without the lock. */
unsigned int trn_replay_some(struct trn_timeline *tl, enum trn_replay_mode mode);
/* The same for a joint replay, which nobody else knows: no lock. Until the end of all. */
unsigned int trn_replay_joint(struct trn_timeline *tl, unsigned int most);
/* Tell of some traces that the replay has come to; returns how many. Without the lock. */
unsigned int trn_trace_tell(struct trn_timeline *tl);
/*
 * Number of the path from @src to @dst (TRN_END_*), made when it is missing; 0: none.
 * Called by the actor's task, without the lock.
 */
unsigned int trn_path_find(struct trn_timeline *tl, struct trn_actor *actor,
			   uint32_t src, uint32_t dst);

/* All that follow: with the core's lock held. */

/**
 * struct trn_causal_end - when a wait was over
 * @time_ps: then, at the latest
 * @outside: no post of the model has ended it
 * @vague: it may have been over earlier, which is not remembered
 */
struct trn_causal_end {
	uint64_t time_ps;
	bool outside;
	bool vague;
};

/* Causal clocks: a semaphore changes at @time_ps, is forgotten, is waited for. */
void trn_causal_post(struct trn_core_time *ct, unsigned int sem, unsigned int op,
		     int32_t value, uint64_t time_ps);
void trn_causal_set(struct trn_core_time *ct, unsigned int sem, int32_t value);
/*
 * The time at which the wait, which is over, was over: at least @time_ps; takes. Of a wait for
 * equality nobody can say that it was ended from outside: a later post may have been recorded
 * meanwhile.
 */
struct trn_causal_end trn_causal_wait(struct trn_core_time *ct, unsigned int sem,
				      unsigned int sync, int32_t value, uint64_t time_ps);
void trn_causal_free(struct trn_core_time *ct);
/* Bytes that are held for it. */
size_t trn_causal_bytes(const struct trn_core_time *ct);
/* Give the ring room for @nr raises and keep those that it has; false: no memory. */
bool trn_causal_room(struct trn_history *h, unsigned int nr);

/* An actor has a record, and nothing that it waits for: put it into the heap. */
void trn_replay_ready(struct trn_timeline *tl, struct trn_actor *actor);

/* The actor's next record, or NULL; done with it. */
struct trn_time_record *trn_replay_peek(struct trn_actor *actor);
void trn_replay_consume(struct trn_timeline *tl, struct trn_actor *actor);

/* The heap: its first element, if there is one; put in; take the first out. */
const struct trn_ready *trn_heap_first(const struct trn_timeline *tl);
void trn_heap_put(struct trn_timeline *tl, struct trn_ready ready);
struct trn_ready trn_heap_take(struct trn_timeline *tl);

/* An EXEC record at its time. */
void trn_replay_exec(struct trn_timeline *tl, struct trn_actor *actor,
		     const struct trn_time_record *record);
/*
 * Replay the DMA record of @actor that can start at @time_ps: it starts if its engine is
 * free, else the actor gets into line.
 */
void trn_replay_dma(struct trn_timeline *tl, struct trn_actor *actor,
		    uint64_t time_ps);
/* Put a queue that wants its engine into line. */
void trn_engine_line(struct trn_timeline *tl, struct trn_actor *actor);
/* Somebody wants a DMA engine: put it into the heap; and when it is free. */
void trn_engine_ready(struct trn_timeline *tl, unsigned int engine);
void trn_replay_engine(struct trn_timeline *tl, unsigned int engine);

/* How long @bytes take on a path that nobody else uses. */
uint64_t trn_path_ps(const struct trn_timeline *tl, unsigned int path,
		     uint64_t bytes);
/* Index of a resource, made when it is missing; negative: no memory. */
int trn_path_resource(struct trn_timeline *tl, uint32_t key);
/* Add a path with room for @nr uses; NULL: no memory, or too many. */
struct trn_path *trn_path_add(struct trn_timeline *tl, struct trn_path_key key,
			      unsigned int nr);
void trn_path_free(struct trn_timeline *tl);

/* One more; false: it is lost, because there is no room or no memory. */
bool trn_trace_put(struct trn_timeline *tl, const struct trn_time_trace *trace);
/* An actor begins and ends something; a TRACE record. */
void trn_trace_span(struct trn_timeline *tl, struct trn_actor *actor,
		    uint64_t begin_ps, uint64_t end_ps);
void trn_trace_record(struct trn_timeline *tl, struct trn_actor *actor,
		      const struct trn_time_record *record);

/* Parts of trn_timeline_state(): before and after the actors. */
struct trn_state;
void trn_paths_state(struct trn_timeline *tl, struct trn_state *st);
void trn_engines_state(struct trn_timeline *tl, struct trn_state *st);
void trn_mail_state(struct trn_mail *mail, struct trn_state *st);
/* And what a core and a timeline have for time groups. */
void trn_group_core_state(struct trn_core *core, struct trn_state *st);
void trn_group_timeline_state(struct trn_timeline *tl, struct trn_state *st);

void trn_replay_mail(struct trn_core_time *ct, const struct trn_mail *mail);
/* In order of time. */
void trn_mailbox_sort(struct trn_mailbox *box);
/* A copy at the end; false: no memory. */
bool trn_mailbox_append(struct trn_mailbox *box, const struct trn_mail *mail);
/* A copy at its place; false: no memory. */
bool trn_mailbox_put(struct trn_mailbox *box, const struct trn_mail *mail);
/* Drop mail, for one semaphore or (negative) all. */
void trn_replay_drop_mail(struct trn_mailbox *box, int sem);
/* Free what is held for the actors of @tl. */
void trn_replay_free(struct trn_timeline *tl);

/* The time of stamp @cookie is known. */
void trn_replay_stamp(struct trn_timeline *tl, uint64_t time_ps, uint64_t cookie);
/* Names a core of a fabric. */
uint64_t trn_replay_core_id(const struct trn_core *core);

/*
 * trn_group.c: @more records are kept of the job in a group; false: there is no room. The
 * actor's task, no lock.
 */
bool trn_group_charge(struct trn_timeline *tl, size_t more);
void trn_group_uncharge(struct trn_timeline *tl);
/* There was not: the job goes on as one without a group. */
void trn_group_give_up(struct trn_timeline *tl);
/* Posts to the job that have come before it; those of other groups stay. The core's lock. */
void trn_group_fetch_mail(struct trn_timeline *tl);

/* Order of actors that act at the same time. */
uint64_t trn_replay_rank(const struct trn_timeline *tl, unsigned int actor);

#endif /* TRN_TIME_PRIVATE_H */
