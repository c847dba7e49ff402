// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * State of the DMA queues: reset, binding to a job, triggers.
 *
 * The lock of a queue is held for a few instructions only and never across a
 * copy. A run works on a snapshot and commits it under the lock; "epoch" tells
 * it that the queue has been reset or given away in the meantime.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/trn_backing.h"
#include "base/trn_chip.h"
#include "contract/record.h"
#include "contract/ring.h"
#include "dma/trn_udma.h"
#include "dma/trn_udma_queue.h"
#include "job/trn_job.h"

void trn_ring_rewind(struct trn_ring *ring)
{
	ring->head = 0;
	ring->tail = 0;
	ring->avail = 0;
	ring->comp_head = 0;
	ring->ring_id = NEURON_UDMA_RING_ID_FIRST;
	ring->tail_ring_id = NEURON_UDMA_RING_ID_FIRST;
	ring->comp_ring_id = NEURON_UDMA_RING_ID_FIRST;
}

void trn_ring_advance(const struct trn_ring *ring, uint32_t *index,
		      uint8_t *ring_id, uint32_t n)
{
	*index += n;
	if (*index < ring->length)
		return;
	*index -= ring->length;
	*ring_id = (uint8_t)neuron_ring_id_next(*ring_id);
}

bool trn_ring_has_room(const struct trn_ring *ring, uint32_t n)
{
	/* Software may have made the ring shorter than what it holds. */
	return !neuron_ring_check_length(ring->length) &&
	       ring->avail <= ring->length && ring->head < ring->length &&
	       n <= ring->length - ring->avail;
}

bool trn_ring_add(struct trn_ring *ring, uint32_t n)
{
	if (!trn_ring_has_room(ring, n))
		return false;
	ring->avail += n;
	trn_ring_advance(ring, &ring->tail, &ring->tail_ring_id, n);
	return true;
}

static void ring_clear(struct trn_ring *ring)
{
	*ring = (struct trn_ring){
		.cfg = NEURON_UDMA_Q_CFG_RESET,
		.rate = NEURON_UDMA_Q_RATE_RESET,
	};
	trn_ring_rewind(ring);
}

bool trn_udma_queue_enabled(const struct trn_udma_queue *queue)
{
	const uint32_t on = NEURON_UDMA_Q_CFG_PREFETCH |
			    NEURON_UDMA_Q_CFG_SCHEDULE;

	return (queue->m2s.cfg & queue->s2m.cfg & on) == on;
}

void trn_udma_queue_update_halt(struct trn_udma_queue *queue)
{
	atomic_store(&queue->halt, !queue->job && (queue->paused ||
						   !trn_udma_queue_enabled(queue)));
}

static void queue_clear(struct trn_udma_queue *queue)
{
	ring_clear(&queue->m2s);
	ring_clear(&queue->s2m);
	queue->job = NULL;
	queue->actor = 0;
	queue->busy = false;
	queue->lost = false;
	queue->failed = false;
	queue->any_ring_id = false;
	trn_udma_queue_give_way(queue);
	queue->priority = 0;
	queue->done = 0;
	queue->ints[0] = 0;
	queue->ints[1] = 0;
	trn_gen_clear(queue);
	atomic_store(&queue->error, NEURON_CAUSE_NONE);
	atomic_fetch_add(&queue->epoch, 1);
	trn_udma_queue_update_halt(queue);
}

/*
 * A new queue is all zeros but for this. A machine has thousands of them, so this does no more than
 * it must.
 */
static void queue_init(struct trn_udma_queue *queue, struct trn_chip *chip,
		       unsigned int i)
{
	queue->chip = chip;
	queue->engine = (uint16_t)(i / NEURON_UDMA_QUEUES);
	queue->index = i % NEURON_UDMA_QUEUES;
	pthread_mutex_init(&queue->lock, NULL);
	trn_task_init(&queue->task, chip->pool, trn_udma_queue_run);
	ring_clear(&queue->m2s);
	ring_clear(&queue->s2m);
	atomic_init(&queue->epoch, 1);
	trn_udma_queue_update_halt(queue);
}

static unsigned int nr_queues(const struct trn_chip *chip)
{
	return chip->gen->nr_dma * NEURON_UDMA_QUEUES;
}

int trn_udma_init(struct trn_chip *chip)
{
	unsigned int i;

	chip->queues = calloc(nr_queues(chip), sizeof(*chip->queues));
	chip->udma = calloc(chip->gen->nr_dma, sizeof(*chip->udma));
	if (!chip->queues || !chip->udma) {
		free(chip->queues);
		free(chip->udma);
		chip->queues = NULL;
		chip->udma = NULL;
		return -1;
	}
	trn_backing_populate(chip->queues, nr_queues(chip) * sizeof(*chip->queues));
	for (i = 0; i < chip->gen->nr_dma; i++)
		trn_engine_init(&chip->udma[i]);
	for (i = 0; i < nr_queues(chip); i++)
		queue_init(&chip->queues[i], chip, i);
	return 0;
}

void trn_udma_destroy(struct trn_chip *chip)
{
	unsigned int i;

	if (!chip->queues)
		return;
	for (i = 0; i < nr_queues(chip); i++) {
		pthread_mutex_destroy(&chip->queues[i].lock);
		free(chip->queues[i].gen);
	}
	for (i = 0; i < chip->gen->nr_dma; i++)
		trn_engine_destroy(&chip->udma[i]);
	free(chip->queues);
	free(chip->udma);
	chip->queues = NULL;
	chip->udma = NULL;
}

static void forget_moved(struct trn_chip *chip)
{
	unsigned int i;

	for (i = 0; i < nr_queues(chip); i++) {
		atomic_store(&chip->queues[i].moved_bytes, 0);
		atomic_store(&chip->queues[i].moved_descriptors, 0);
	}
}

void trn_udma_reset(struct trn_chip *chip)
{
	unsigned int i;

	for (i = 0; i < chip->gen->nr_dma; i++) {
		trn_engine_clear(&chip->udma[i]);
		trn_udma_reset_engine(chip, i);
	}
	for (i = 0; i < nr_queues(chip); i++)
		trn_udma_queue_reset(&chip->queues[i]);
	forget_moved(chip);
}

uint64_t trn_udma_queue_moved(const struct trn_udma_queue *queue, uint32_t reg)
{
	return atomic_load(reg == NEURON_QUEUE_BYTES ? &queue->moved_bytes :
						       &queue->moved_descriptors);
}

static void drop_pending(struct trn_ring *ring)
{
	ring->head = ring->tail;
	ring->ring_id = ring->tail_ring_id;
	ring->comp_head = ring->tail;
	ring->comp_ring_id = ring->tail_ring_id;
	ring->avail = 0;
}

/* A queue of a copy engine keeps its rings but forgets what was pending. */
static void queue_drop_pending(struct trn_udma_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	drop_pending(&queue->m2s);
	drop_pending(&queue->s2m);
	queue->stopped = 0;
	queue->lost = false;
	queue->ints[0] = 0;
	queue->ints[1] = 0;
	atomic_store(&queue->error, NEURON_CAUSE_NONE);
	atomic_fetch_add(&queue->epoch, 1);
	pthread_mutex_unlock(&queue->lock);
}

void trn_udma_soft_reset(struct trn_chip *chip)
{
	unsigned int rings = chip->gen->nr_ring * NEURON_UDMA_QUEUES;
	unsigned int i;

	for (i = 0; i < chip->gen->nr_dma; i++)
		trn_udma_reset_engine(chip, i);
	for (i = 0; i < rings; i++)
		trn_udma_queue_reset(&chip->queues[i]);
	for (; i < nr_queues(chip); i++)
		queue_drop_pending(&chip->queues[i]);
	forget_moved(chip);
}

size_t trn_udma_bytes(const struct trn_chip *chip)
{
	size_t bytes = nr_queues(chip) * sizeof(*chip->queues) +
		       chip->gen->nr_dma * sizeof(*chip->udma);
	struct trn_udma_queue *queue;
	unsigned int i;

	for (i = 0; i < nr_queues(chip); i++) {
		queue = &chip->queues[i];
		pthread_mutex_lock(&queue->lock);
		bytes += trn_gen_bytes(queue);
		pthread_mutex_unlock(&queue->lock);
	}
	for (i = 0; i < chip->gen->nr_dma; i++) {
		pthread_mutex_lock(&chip->udma[i].lock);
		if (chip->udma[i].axi_table)
			bytes += sizeof(*chip->udma[i].axi_table);
		pthread_mutex_unlock(&chip->udma[i].lock);
	}
	return bytes;
}

struct trn_udma_queue *trn_udma_queue_at(struct trn_chip *chip, unsigned int engine,
					 unsigned int queue)
{
	if (engine >= chip->gen->nr_dma || queue >= NEURON_UDMA_QUEUES)
		return NULL;
	return &chip->queues[engine * NEURON_UDMA_QUEUES + queue];
}

void trn_udma_queue_reset(struct trn_udma_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->held = false;
	if (!queue->job) {
		queue_clear(queue);
		queue->stopped = 0;
	} else if (queue->busy) {
		trn_task_kick(&queue->task);
	}
	pthread_mutex_unlock(&queue->lock);
}

bool trn_udma_queue_hold(struct trn_udma_queue *queue)
{
	bool running = false;

	pthread_mutex_lock(&queue->lock);
	if (!queue->job) {
		queue->held = true;
		atomic_fetch_add(&queue->epoch, 1);
		running = queue->running;
	}
	pthread_mutex_unlock(&queue->lock);
	/* A run that comes to its end late does not wait any longer. */
	if (running)
		trn_task_kick(&queue->task);
	return running;
}

static void ring_bind(struct trn_ring *ring, uint64_t base, uint32_t length)
{
	ring_clear(ring);
	ring->base = base;
	ring->length = length;
}

bool trn_udma_queue_bind(struct trn_udma_queue *queue, struct trn_job *job,
			 const struct neuron_hw_job_queue *entry,
			 unsigned int actor)
{
	pthread_mutex_lock(&queue->lock);
	if (queue->job) {
		pthread_mutex_unlock(&queue->lock);
		return false;
	}
	queue_clear(queue);
	queue->stopped = 0;
	ring_bind(&queue->m2s, entry->m2s_ring, entry->m2s_length);
	ring_bind(&queue->s2m, entry->s2m_ring, entry->s2m_length);
	queue->any_ring_id = entry->flags & NEURON_JOB_QUEUE_ANY_RING_ID;
	queue->priority = (uint8_t)trn_udma_queue_priority(entry);
	queue->actor = actor;
	queue->job = job;
	trn_udma_queue_update_halt(queue);
	pthread_mutex_unlock(&queue->lock);
	return true;
}

void trn_udma_queue_restore(struct trn_udma_queue *queue, struct trn_job *job,
			    const struct neuron_hw_job_queue *entry,
			    unsigned int actor, bool busy)
{
	pthread_mutex_lock(&queue->lock);
	queue->stopped = 0;
	queue->actor = actor;
	queue->job = job;
	queue->busy = busy;
	queue->priority = (uint8_t)trn_udma_queue_priority(entry);
	if (busy) {
		trn_job_get(job);
		trn_udma_queue_claim(queue);
	}
	trn_udma_queue_update_halt(queue);
	pthread_mutex_unlock(&queue->lock);
}

void trn_udma_queue_unbind(struct trn_udma_queue *queue, const struct trn_job *job)
{
	pthread_mutex_lock(&queue->lock);
	if (queue->job == job) {
		queue_clear(queue);
		queue->stopped = TRN_SIDE_BOTH;
	}
	pthread_mutex_unlock(&queue->lock);
}

void trn_udma_queue_set_busy(struct trn_udma_queue *queue)
{
	if (!queue->busy) {
		queue->busy = true;
		trn_job_get(queue->job);
	}
	trn_udma_queue_claim(queue);
	trn_task_kick(&queue->task);
}

/* --- Priorities of the queues of an engine --- */

/* Queue @index in a word that has 16 bits for each priority. */
static uint64_t claim_bit(unsigned int priority, unsigned int index)
{
	return 1ull << (priority * NEURON_UDMA_QUEUES + index);
}

static bool outranked(struct trn_udma_engine *engine, unsigned int priority)
{
	return atomic_load(&engine->claims) & (claim_bit(priority, 0) - 1);
}

/* Of one priority all queues are equal, and nobody has to ask. */
static bool has_priorities(const struct trn_udma_queue *queue)
{
	return queue->chip->gen->nr_priorities > 1;
}

void trn_udma_queue_claim(struct trn_udma_queue *queue)
{
	struct trn_udma_engine *engine = &queue->chip->udma[queue->engine];

	if (has_priorities(queue))
		atomic_fetch_or(&engine->claims, claim_bit(queue->priority, queue->index));
}

void trn_udma_queue_give_way(struct trn_udma_queue *queue)
{
	struct trn_udma_engine *engine = &queue->chip->udma[queue->engine];
	unsigned int i, waiting;

	if (!has_priorities(queue))
		return;
	atomic_fetch_and(&engine->claims, ~claim_bit(queue->priority, queue->index));
	if (!atomic_load(&engine->yielding))
		return;
	atomic_fetch_and(&engine->yielding, ~NEURON_BIT(queue->index));
	waiting = atomic_exchange(&engine->yielding, 0);
	for (i = 0; i < NEURON_UDMA_QUEUES; i++)
		if (waiting & NEURON_BIT(i))
			trn_task_kick(&trn_udma_queue_at(queue->chip, queue->engine, i)->task);
}

/*
 * A queue that gives way drops its claim before it looks for those that wait, and who is
 * about to wait says so before it looks at the claims once more: one sees the other.
 */
bool trn_udma_queue_yield(struct trn_udma_queue *queue, unsigned int priority)
{
	struct trn_udma_engine *engine = &queue->chip->udma[queue->engine];
	const unsigned int bit = NEURON_BIT(queue->index);

	if (!outranked(engine, priority))
		return false;
	atomic_fetch_or(&engine->yielding, bit);
	if (outranked(engine, priority))
		return true;
	atomic_fetch_and(&engine->yielding, ~bit);
	return false;
}

bool trn_udma_queue_yields(const struct trn_udma_queue *queue)
{
	return atomic_load(&queue->chip->udma[queue->engine].yielding) &
	       NEURON_BIT(queue->index);
}

bool trn_udma_queue_has_left(struct trn_udma_queue *queue, struct trn_fault *fault)
{
	bool s2m, left;

	pthread_mutex_lock(&queue->lock);
	s2m = !queue->m2s.avail && queue->s2m.avail;
	*fault = (struct trn_fault){
		.cause = NEURON_CAUSE_DESC,
		.source = NEURON_SOURCE_DMA,
		.queue = neuron_record_queue(queue->engine, queue->index, s2m),
		.pc = s2m ? queue->s2m.head : queue->m2s.head,
	};
	left = queue->m2s.avail || queue->s2m.avail || trn_gen_count(queue);
	pthread_mutex_unlock(&queue->lock);
	return left;
}

void trn_udma_queue_stop(struct trn_udma_queue *queue, enum neuron_cause cause)
{
	queue->stopped = TRN_SIDE_BOTH;
	atomic_store(&queue->error, (uint8_t)cause);
}

void trn_udma_queue_report(struct trn_udma_queue *queue, const struct trn_fault *fault,
			   const char *why)
{
	trn_log(queue->chip, TRN_LOG_GUEST_ERROR,
		"DMA engine %u queue %u stopped: %s (%s), %s %s %u, address %#" PRIx64,
		queue->engine, queue->index, why, trn_cause_name(fault->cause),
		neuron_record_queue_writes(fault->queue) ? "S2M" : "M2S",
		fault->pc & NEURON_UDMA_PC_GENERATED ? "generated packet" :
						       "descriptor",
		fault->pc & ~NEURON_UDMA_PC_GENERATED, fault->addr);
}
