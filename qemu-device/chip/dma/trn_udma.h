/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * DMA queues: registers, doorbells, and the state machine that moves data.
 */
#ifndef TRN_UDMA_H
#define TRN_UDMA_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/trn_pool.h"
#include "neuron/dma_op.h"
#include "neuron/job.h"
#include "neuron/udma.h"

struct trn_chip;
struct trn_fault;
struct trn_gen_fifo;
struct trn_job;
struct trn_state;
struct trn_udma_engine;

/**
 * struct trn_ring - one side (M2S or S2M) of a queue; under trn_udma_queue.lock
 * @base: address of the descriptors, plain or window
 * @comp_base: address of the completions
 * @length: descriptors, and completions
 * @tail: where software's next descriptor goes
 * @head: next descriptor to process
 * @comp_head: next completion to write
 * @avail: descriptors between head and tail
 * @ring_id: expected in the descriptor at head
 * @tail_ring_id: ring id at tail
 * @comp_ring_id: ring id at comp_head
 * @cfg, @comp_cfg: registers as written
 * @rate: plain storage that reads back
 */
struct trn_ring {
	uint64_t base;
	uint64_t comp_base;
	uint32_t length;
	uint32_t tail;
	uint32_t head;
	uint32_t comp_head;
	uint32_t avail;
	uint32_t cfg;
	uint32_t rate;
	uint32_t comp_cfg;
	uint8_t ring_id;
	uint8_t tail_ring_id;
	uint8_t comp_ring_id;
};

/* The two sides of a queue, as bits. */
#define TRN_SIDE_M2S	1
#define TRN_SIDE_S2M	2
#define TRN_SIDE_BOTH	3
/* In trn_udma_queue.paused: the same for sides whose stream interface is off. */
#define TRN_PAUSE_STREAM(sides)	((sides) << 2)

/**
 * struct trn_udma_queue - a pair of rings and the machine that moves their data
 * @lock: all fields below it
 * @job: NULL: domain 0
 * @epoch: changes when the queue is reset, bound, aborted or taken back: what a
 *	run started before that has done is not committed. Read without the lock
 * @halt: a run ends after the packet that it is moving. Read without the lock
 * @done: M2S descriptors of packets that are done
 * @gen: packets that instructions generated, NULL until the first
 * @ints: packets with INT_EN of each side that no interrupt has told of
 * @busy: holds a reference on @job
 * @running: a run is under way, with the state it copied at its start
 * @held: no run may start: the core is being reset
 * @delay: a run that a fault on demand keeps from its end, the task's own
 * @kept: a run in the middle of a packet, which goes on in the task's next turn; its own
 * @lost: a fault on demand ate a completion: the job does not see the end
 * @failed: the job's queue has met an error, and moves nothing more
 * @priority: of the job's queue, 0 goes before the others of its engine
 * @stopped: sides (TRN_SIDE_*) that need a reset after an error
 * @paused: sides whose engine is disabled or aborted, or whose stream is off
 * @error: enum neuron_cause, 0 unless stopped by an error
 * @actor: actor of the queue in the timeline of @job
 * @moved_bytes, @moved_descriptors: since the last reset of the device; without the lock
 */
struct trn_udma_queue {
	struct trn_task task;
	struct trn_chip *chip;
	uint16_t engine;
	uint8_t index;
	pthread_mutex_t lock;
	struct trn_ring m2s;
	struct trn_ring s2m;
	struct trn_job *job;
	unsigned int actor;
	_Atomic uint32_t epoch;
	_Atomic bool halt;
	uint64_t done;
	struct trn_gen_fifo *gen;
	struct trn_delay *delay;
	struct trn_run_state *kept;
	uint8_t ints[2];
	bool busy;
	bool running;
	bool held;
	bool lost;
	bool failed;
	bool any_ring_id;
	uint8_t priority;
	uint8_t stopped;
	uint8_t paused;
	_Atomic uint8_t error;
	_Atomic uint64_t moved_bytes;
	_Atomic uint64_t moved_descriptors;
};

/**
 * struct trn_landed - a post of the job's core that a queue makes
 * @op: NEURON_SYNC_POST_*; NONE: there is none
 */
struct trn_landed {
	uint8_t op;
	uint16_t sem;
	int32_t value;
};

/* NEURON_QUEUE_BYTES, _DESCRIPTORS. */
uint64_t trn_udma_queue_moved(const struct trn_udma_queue *queue, uint32_t reg);

int trn_udma_init(struct trn_chip *chip);
void trn_udma_destroy(struct trn_chip *chip);
/* Chip reset: all engines and queues to their reset state. */
void trn_udma_reset(struct trn_chip *chip);
/*
 * Device reset that software asked for: no error, no abort and nothing pending is
 * left, ring engines are as after a chip reset but for their configuration, copy
 * engines keep their rings. All is quiet.
 */
void trn_udma_soft_reset(struct trn_chip *chip);
/* An engine forgets errors and the state it was asked to be in; a core reset. */
void trn_udma_reset_engine(struct trn_chip *chip, unsigned int engine);
/* Bytes that the library holds for engines and queues. */
size_t trn_udma_bytes(const struct trn_chip *chip);
/* Save or load engines and queues; trn_udma_queue_restore() does the rest for jobs. */
void trn_udma_state(struct trn_chip *chip, struct trn_state *st);
struct trn_udma_queue *trn_udma_queue_at(struct trn_chip *chip, unsigned int engine,
					 unsigned int queue);

/* Registers of an engine block, offset inside the block. */
uint32_t trn_udma_read(struct trn_chip *chip, unsigned int engine,
		       uint32_t offset);
void trn_udma_write(struct trn_chip *chip, unsigned int engine,
		    uint32_t offset, uint32_t value);

/*
 * Rewind the queue and give it to @job with the rings of @entry. False: another job
 * has it, of the CC-cores or of the NeuronCore that share it.
 */
bool trn_udma_queue_bind(struct trn_udma_queue *queue, struct trn_job *job,
			 const struct neuron_hw_job_queue *entry,
			 unsigned int actor);
/* What the entry says of the queue's priority. */
static inline unsigned int trn_udma_queue_priority(const struct neuron_hw_job_queue *entry)
{
	return NEURON_GET(NEURON_JOB_QUEUE_PRIORITY, entry->flags);
}

/*
 * After trn_udma_state() has loaded: the queue was one of @job, by @entry, which it had as
 * trn_udma_queue.actor and .busy. A busy queue takes its reference here.
 */
void trn_udma_queue_restore(struct trn_udma_queue *queue, struct trn_job *job,
			    const struct neuron_hw_job_queue *entry,
			    unsigned int actor, bool busy);
/*
 * Take it back from @job, if that has it: no ring, no domain, stopped until it is
 * programmed again.
 */
void trn_udma_queue_unbind(struct trn_udma_queue *queue, const struct trn_job *job);

/*
 * For a core reset: let no run start, until trn_udma_queue_reset(). True when one is
 * still under way; its end kicks the controller of the queue's core. Neither this nor
 * the reset does anything to a queue that a job has.
 */
bool trn_udma_queue_hold(struct trn_udma_queue *queue);
/* Back to the reset state; no run is under way. */
void trn_udma_queue_reset(struct trn_udma_queue *queue);

/* True when descriptors are left that no packet has used. */
bool trn_udma_queue_has_left(struct trn_udma_queue *queue, struct trn_fault *fault);

/* Add descriptors on both sides and run. The job's error when out of range. */
enum neuron_cause trn_udma_queue_trigger(struct trn_udma_queue *queue, uint32_t m2s,
					 uint32_t s2m);
/*
 * The same with a post behind them, which is one unit of trn_time_trigger() more; *@full
 * and @waiter as in trn_udma_queue_generate().
 */
enum neuron_cause trn_udma_queue_trigger_landed(struct trn_udma_queue *queue, uint32_t m2s,
						uint32_t s2m, const struct trn_landed *landed,
						struct trn_task *waiter, bool *full);

/*
 * Append a packet that an instruction made, @dge NULL: one that moves nothing. It runs
 * after the descriptors that were triggered before it and before those triggered after
 * it, and is one unit of trn_time_trigger(). @landed: the post at its end, or NULL.
 * *@full: there was no room, nothing has changed, and @waiter is kicked when there is (or
 * when the queue is reset). _QUEUE: no job has the queue; _DESC: the operation is
 * malformed.
 */
enum neuron_cause trn_udma_queue_generate(struct trn_udma_queue *queue,
					  const struct neuron_udma_dge *dge,
					  const struct trn_landed *landed,
					  struct trn_task *waiter, bool *full);

#endif /* TRN_UDMA_H */
