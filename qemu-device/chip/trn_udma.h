/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * DMA queues: registers, doorbells, and the state machine that moves data.
 */
#ifndef TRN_UDMA_H
#define TRN_UDMA_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "neuron/job.h"
#include "neuron/udma.h"
#include "trn_domain.h"
#include "trn_pool.h"

struct trn_chip;
struct trn_fault;
struct trn_job;

/**
 * struct trn_ring - one side (M2S or S2M) of a queue; under trn_queue.lock
 * @base: address of the descriptors, plain or window
 * @length: descriptors
 * @tail: where software's next descriptor goes
 * @head: next descriptor to process
 * @avail: descriptors between head and tail
 * @ring_id: expected in the descriptor at head
 * @tail_ring_id: ring id at tail
 * @cfg: cfg register as written
 * @rate, @comp_cfg, @comp_base: plain storage that reads back
 */
struct trn_ring {
	uint64_t base;
	uint64_t comp_base;
	uint32_t length;
	uint32_t tail;
	uint32_t head;
	uint32_t avail;
	uint32_t cfg;
	uint32_t rate;
	uint32_t comp_cfg;
	uint8_t ring_id;
	uint8_t tail_ring_id;
};

/* The two sides of a queue, as bits. */
#define TRN_SIDE_M2S	1
#define TRN_SIDE_S2M	2
#define TRN_SIDE_BOTH	3

/**
 * struct trn_queue - a pair of rings and the machine that moves their data
 * @lock: all fields below it
 * @job: NULL: domain 0
 * @epoch: changes when the queue is reset, bound or taken back: what a run
 *	started before that has done is not committed. Read without the lock
 * @busy: holds a reference on @job
 * @running: a run is under way, with the state it copied at its start
 * @held: no run may start: the core is being reset
 * @stopped: sides (TRN_SIDE_*) that need a reset after an error
 * @paused: sides whose engine is disabled by change_state
 * @error: enum neuron_cause, 0 unless stopped by an error
 * @actor: its timeline actor in @job
 */
struct trn_queue {
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
	bool busy;
	bool running;
	bool held;
	bool any_ring_id;
	uint8_t stopped;
	uint8_t paused;
	_Atomic uint8_t error;
};

int trn_udma_init(struct trn_chip *chip);
void trn_udma_destroy(struct trn_chip *chip);
void trn_udma_reset(struct trn_chip *chip);
struct trn_queue *trn_udma_queue(struct trn_chip *chip, unsigned int engine,
				 unsigned int queue);

/* Registers of an engine block, offset inside the block. */
uint32_t trn_udma_read(struct trn_chip *chip, unsigned int engine,
		       uint32_t offset);
void trn_udma_write(struct trn_chip *chip, unsigned int engine,
		    uint32_t offset, uint32_t value);

/* Rewind the queue and give it to @job with the rings of @entry. */
void trn_queue_bind(struct trn_queue *queue, struct trn_job *job,
		    const struct neuron_hw_job_queue *entry,
		    unsigned int actor);
/* Take it back: no ring, no domain, stopped until it is programmed again. */
void trn_queue_unbind(struct trn_queue *queue);

/*
 * For a core reset: let no run start, until trn_queue_reset(). True when one is
 * still under way; its end kicks the controller of the queue's core.
 */
bool trn_queue_hold(struct trn_queue *queue);
/* Back to the reset state; no run is under way. */
void trn_queue_reset(struct trn_queue *queue);

/* True when descriptors are left that no packet has used. */
bool trn_queue_has_left(struct trn_queue *queue, struct trn_fault *fault);

/* Add descriptors on both sides and run. The job's error when out of range. */
enum neuron_cause trn_queue_trigger(struct trn_queue *queue, uint32_t m2s,
				    uint32_t s2m);

#endif /* TRN_UDMA_H */
