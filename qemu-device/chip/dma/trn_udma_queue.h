/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * What the parts of the DMA queues share:
 *
 *	trn_udma.c		state of the queues: reset, jobs
 *	trn_udma_fifo.c		triggers, and packets that instructions generated
 *	trn_udma_regs.c		registers of the queues
 *	trn_udma_engine.c	registers of the engines, abort
 *	trn_udma_iofic.c	their interrupt groups
 *	trn_udma_run.c		the machine (trn_udma_run.h has what its parts share)
 *	trn_udma_save.c		saving and loading
 *
 * Locks: an engine's may be taken with a queue's held, not the other way.
 */
#ifndef TRN_UDMA_QUEUE_H
#define TRN_UDMA_QUEUE_H

#include "contract/ring.h"
#include "dma/trn_udma.h"
#include "job/trn_job.h"

/* --- Rings --- */

/* Pointers to 0, ring ids to their first value. */
void trn_ring_rewind(struct trn_ring *ring);

/* Move an index and its ring id over @n descriptors; n <= length. */
void trn_ring_advance(const struct trn_ring *ring, uint32_t *index,
		      uint8_t *ring_id, uint32_t n);

/* Is the ring usable, and has it room for @n descriptors more? */
bool trn_ring_has_room(const struct trn_ring *ring, uint32_t n);

/*
 * Put @n descriptors on one side, under the queue's lock. False: no usable ring,
 * or more than it has room for; nothing has changed.
 */
bool trn_ring_add(struct trn_ring *ring, uint32_t n);

/* --- Queues --- */

/* The task's function; trn_udma_run.c. */
enum trn_run trn_udma_queue_run(struct trn_task *task, struct trn_budget *budget);

/* Both sides switched on? */
bool trn_udma_queue_enabled(const struct trn_udma_queue *queue);
/* @paused or a CFG has changed; under the lock. */
void trn_udma_queue_update_halt(struct trn_udma_queue *queue);
/* The job's queue has something to do; under the lock. */
void trn_udma_queue_set_busy(struct trn_udma_queue *queue);
/* A queue of domain 0 met an error; under its lock. */
void trn_udma_queue_stop(struct trn_udma_queue *queue, enum neuron_cause cause);
/* Log it; no lock held. */
void trn_udma_queue_report(struct trn_udma_queue *queue, const struct trn_fault *fault,
			   const char *why);

/* --- Priorities of the queues of an engine --- */

/* The job's queue has something to do, before those of lower priority; under its lock. */
void trn_udma_queue_claim(struct trn_udma_queue *queue);
/* It has not, or cannot now: they go on. Under its lock. */
void trn_udma_queue_give_way(struct trn_udma_queue *queue);
/*
 * The queue's task is about to begin a packet. True: a queue of higher priority goes first,
 * and the task is kicked when that has changed.
 */
bool trn_udma_queue_yield(struct trn_udma_queue *queue, unsigned int priority);
/* It waits for that. Any thread. */
bool trn_udma_queue_yields(const struct trn_udma_queue *queue);

/* --- Generated packets; under the queue's lock --- */

#define TRN_GEN_ROOM	64

/**
 * struct trn_generated - a packet that an instruction made
 * @empty: it moves nothing, and @dge is not looked at
 * @landed: the post that is made at its end
 * @after: the packet runs when that many M2S descriptors of the queue are done
 * @number: generated packets before this one since the queue was bound
 */
struct trn_generated {
	struct neuron_udma_dge dge;
	bool empty;
	struct trn_landed landed;
	uint64_t after;
	uint32_t number;
};

/* The next one, or NULL. */
const struct trn_generated *trn_gen_first(const struct trn_udma_queue *queue);
unsigned int trn_gen_count(const struct trn_udma_queue *queue);
const struct trn_generated *trn_gen_peek(const struct trn_udma_queue *queue,
					 unsigned int i);
/* False: no room or no memory. */
bool trn_gen_append(struct trn_udma_queue *queue, const struct trn_generated *packet,
		    uint64_t after);
/* The first one is done: whoever waits for room is kicked. */
void trn_gen_pop(struct trn_udma_queue *queue);
/* All are gone, their memory too; who waits is kicked. The next has number 0. */
void trn_gen_clear(struct trn_udma_queue *queue);
/* How many there have been since the queue was bound; to save and load. */
uint32_t trn_gen_total(const struct trn_udma_queue *queue);
bool trn_gen_set_total(struct trn_udma_queue *queue, uint32_t total);
size_t trn_gen_bytes(const struct trn_udma_queue *queue);

/* --- Engines --- */

/**
 * struct trn_iofic - an interrupt group of an engine
 * @source: what status shows
 */
struct trn_iofic {
	uint32_t cause;
	uint32_t mask;
	uint32_t source;
	uint32_t control;
	uint32_t abort_mask;
	uint32_t log_mask;
};

#define TRN_IOFIC_GROUPS \
	(NEURON_UDMA_IOFIC_PRIMARIES + NEURON_UDMA_IOFIC_SECONDARIES + \
	 NEURON_UDMA_PORTS)
/* Indices of the groups. */
#define TRN_IOFIC_PRIMARY(g)	(g)
#define TRN_IOFIC_SECONDARY(g)	(NEURON_UDMA_IOFIC_PRIMARIES + (g))
#define TRN_IOFIC_PORT(port) \
	(NEURON_UDMA_IOFIC_PRIMARIES + NEURON_UDMA_IOFIC_SECONDARIES + (port))

/* What a side of an engine was asked for last. */
enum trn_engine_state {
	TRN_ENGINE_RESET,
	TRN_ENGINE_NORMAL,
	TRN_ENGINE_DISABLED,
	TRN_ENGINE_ABORTED,
	TRN_ENGINE_STATES
};

typedef uint32_t trn_axi_table[NEURON_UDMA_PORTS][NEURON_UDMA_AXI_TABLE_WORDS];

/**
 * struct trn_udma_engine - what is not a queue's
 * @lock: all fields but the last two
 * @state: of M2S and S2M
 * @log_mask, @log, @logged: error log of M2S and S2M
 * @moderation: of the completions of M2S and S2M, by queue
 * @axi_error: by queue
 * @axi_table: NULL until it is written
 * @claims: queues of jobs that have something to do, 16 bits for each priority; without
 *	@lock
 * @yielding: queues that wait until those of higher priority have nothing to do; the same
 */
struct trn_udma_engine {
	pthread_mutex_t lock;
	uint8_t state[2];
	bool logged[2];
	uint32_t log_mask[2];
	uint32_t log[2][4];
	uint32_t stream_cfg[2];
	uint32_t cfg_len;
	uint32_t pref_cfg_2;
	uint32_t comp_cfg_1c;
	uint32_t zeroes0;
	struct trn_iofic iofic[TRN_IOFIC_GROUPS];
	uint8_t moderation[2][NEURON_UDMA_QUEUES];
	uint8_t axi_error[NEURON_UDMA_QUEUES];
	trn_axi_table *axi_table;
	_Atomic uint64_t claims;
	_Atomic uint32_t yielding;
};

struct trn_udma_engine *trn_udma_engine(struct trn_chip *chip,
					unsigned int engine);
void trn_engine_init(struct trn_udma_engine *engine);
void trn_engine_destroy(struct trn_udma_engine *engine);
/* To the reset state. */
void trn_engine_clear(struct trn_udma_engine *engine);

/* Pause or release the engine's queues as its state says, and kick them. */
void trn_engine_follow(struct trn_chip *chip, unsigned int engine);

/* False: not a register of ours. */
bool trn_engine_read(struct trn_chip *chip, unsigned int engine,
		     uint32_t offset, uint32_t *value);
bool trn_engine_write(struct trn_chip *chip, unsigned int engine,
		      uint32_t offset, uint32_t value);

/**
 * struct trn_engine_limits - what the runs of a queue obey
 * @max_bytes: of a packet
 * @max_desc: M2S descriptors of a packet
 * @comp_bytes: size of a completion of each side, 0: not a valid one
 * @moderation: packets with INT_EN for one announcement
 * @zero_is_64k: meaning of length 0 (M2S)
 * @check_ring_id: of each side
 * @count_heads: COMP_HEAD counts without a completion ring
 */
struct trn_engine_limits {
	uint64_t max_bytes;
	uint32_t max_desc;
	uint32_t comp_bytes[2];
	uint8_t moderation[2];
	bool zero_is_64k;
	bool check_ring_id[2];
	bool count_heads;
};

void trn_engine_limits(const struct trn_udma_queue *queue,
		       struct trn_engine_limits *limits);

/**
 * struct trn_engine_error - an error of a queue of domain 0, for the engine
 * @side: 0 M2S, 1 S2M
 * @cause: bit of the side's secondary group, 0: it has none
 * @port: enum neuron_udma_port of the access, -1: it was none
 * @desc: for the log
 */
struct trn_engine_error {
	unsigned int side;
	uint32_t cause;
	int port;
	struct neuron_udma_desc desc;
};

/* Causes, log, and abort where the causes ask for it. No lock held. */
void trn_engine_error(struct trn_udma_queue *queue,
		      const struct trn_engine_error *error);
/* Into the abort state (@sides). No lock held. */
void trn_engine_abort(struct trn_chip *chip, unsigned int engine,
		      unsigned int sides);
/* Completions of @queue have become visible on @sides. No lock held. */
void trn_engine_announce(struct trn_udma_queue *queue, unsigned int sides);

/* --- Interrupt groups; under the engine's lock --- */

void trn_iofic_clear(struct trn_iofic *groups);
/* The group that has @offset of the block, with the register; -1: none. */
int trn_iofic_find(uint32_t offset, uint32_t *reg);
/* False: not a register. */
bool trn_iofic_read(struct trn_iofic *groups, unsigned int group, uint32_t reg,
		    uint32_t *value);
bool trn_iofic_write(struct trn_iofic *groups, unsigned int group,
		     uint32_t reg, uint32_t value);
/* An event of each bit in @causes. */
void trn_iofic_set(struct trn_iofic *groups, unsigned int group,
		   uint32_t causes);
/* Sides that a cause aborts. */
unsigned int trn_iofic_aborts(const struct trn_iofic *groups);

#endif /* TRN_UDMA_QUEUE_H */
