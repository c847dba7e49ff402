// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * What instructions give a queue: descriptors of its rings to move, and packets that
 * they generated, in a short FIFO beside the rings. Each packet remembers how many M2S
 * descriptors were triggered before it, which puts it in order with them.
 */
#include <stdlib.h>

#include "base/trn_chip.h"
#include "dma/trn_udma.h"
#include "dma/trn_udma_op.h"
#include "dma/trn_udma_queue.h"

/* More tasks than a core has sequencers never wait for a queue. */
#define WAITERS	NEURON_NR_ENGINES

/**
 * struct trn_gen_fifo - of one queue, under its lock
 * @first, @count: entries in use
 * @total: appended since the queue was bound
 * @waiter: tasks that wait for room
 */
struct trn_gen_fifo {
	unsigned int first;
	unsigned int count;
	uint32_t total;
	unsigned int waiters;
	struct trn_task *waiter[WAITERS];
	struct trn_generated entry[TRN_GEN_ROOM];
};

static void kick_waiters(struct trn_gen_fifo *fifo)
{
	while (fifo->waiters)
		trn_task_kick(fifo->waiter[--fifo->waiters]);
}

static void add_waiter(struct trn_gen_fifo *fifo, struct trn_task *task)
{
	unsigned int i;

	for (i = 0; i < fifo->waiters; i++)
		if (fifo->waiter[i] == task)
			return;
	if (fifo->waiters == WAITERS)
		kick_waiters(fifo);
	fifo->waiter[fifo->waiters++] = task;
}

unsigned int trn_gen_count(const struct trn_udma_queue *queue)
{
	return queue->gen ? queue->gen->count : 0;
}

const struct trn_generated *trn_gen_peek(const struct trn_udma_queue *queue,
					 unsigned int i)
{
	const struct trn_gen_fifo *fifo = queue->gen;

	return &fifo->entry[(fifo->first + i) % TRN_GEN_ROOM];
}

const struct trn_generated *trn_gen_first(const struct trn_udma_queue *queue)
{
	return trn_gen_count(queue) ? trn_gen_peek(queue, 0) : NULL;
}

static bool have_fifo(struct trn_udma_queue *queue)
{
	if (!queue->gen)
		queue->gen = calloc(1, sizeof(*queue->gen));
	return queue->gen;
}

bool trn_gen_append(struct trn_udma_queue *queue, const struct trn_generated *packet,
		    uint64_t after)
{
	struct trn_generated *entry;
	struct trn_gen_fifo *fifo;

	if (!have_fifo(queue) || queue->gen->count == TRN_GEN_ROOM)
		return false;
	fifo = queue->gen;
	entry = &fifo->entry[(fifo->first + fifo->count++) % TRN_GEN_ROOM];
	*entry = *packet;
	entry->after = after;
	entry->number = fifo->total++;
	return true;
}

void trn_gen_pop(struct trn_udma_queue *queue)
{
	struct trn_gen_fifo *fifo = queue->gen;

	fifo->first = (fifo->first + 1) % TRN_GEN_ROOM;
	fifo->count--;
	kick_waiters(fifo);
}

void trn_gen_clear(struct trn_udma_queue *queue)
{
	if (!queue->gen)
		return;
	kick_waiters(queue->gen);
	free(queue->gen);
	queue->gen = NULL;
}

uint32_t trn_gen_total(const struct trn_udma_queue *queue)
{
	return queue->gen ? queue->gen->total : 0;
}

bool trn_gen_set_total(struct trn_udma_queue *queue, uint32_t total)
{
	if (!total && !queue->gen)
		return true;
	if (!have_fifo(queue))
		return false;
	queue->gen->total = total;
	return true;
}

size_t trn_gen_bytes(const struct trn_udma_queue *queue)
{
	return queue->gen ? sizeof(*queue->gen) : 0;
}

/* A queue that has met an error takes no more. Under its lock. */
static bool takes_work(const struct trn_udma_queue *queue)
{
	return !queue->stopped && !queue->failed;
}

/* Under the queue's lock. *@full: no room, and @waiter is kicked when there is. */
static enum neuron_cause append(struct trn_udma_queue *queue, const struct trn_generated *packet,
				struct trn_task *waiter, bool *full)
{
	if (trn_gen_count(queue) == TRN_GEN_ROOM) {
		add_waiter(queue->gen, waiter);
		*full = true;
		return NEURON_CAUSE_NONE;
	}
	if (!trn_gen_append(queue, packet, queue->done + queue->m2s.avail))
		return NEURON_CAUSE_HOST_LIMIT;	/* no memory */
	trn_udma_queue_set_busy(queue);
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_udma_queue_generate(struct trn_udma_queue *queue,
					  const struct neuron_udma_dge *dge,
					  const struct trn_landed *landed,
					  struct trn_task *waiter, bool *full)
{
	struct trn_generated packet = { .empty = !dge };
	enum neuron_cause cause = NEURON_CAUSE_NONE;
	const char *why;

	*full = false;
	if (landed)
		packet.landed = *landed;
	if (dge) {
		cause = trn_udma_op_check(&dge->op, &why);
		packet.dge = *dge;
	}
	if (cause)
		return cause;
	pthread_mutex_lock(&queue->lock);
	if (!queue->job)
		cause = NEURON_CAUSE_QUEUE;
	else if (takes_work(queue))
		cause = append(queue, &packet, waiter, full);
	pthread_mutex_unlock(&queue->lock);
	return cause;
}

/* Under the queue's lock. */
static enum neuron_cause trigger(struct trn_udma_queue *queue, uint32_t m2s, uint32_t s2m)
{
	if (!queue->job)
		return NEURON_CAUSE_QUEUE;
	if (!trn_ring_has_room(&queue->m2s, m2s) || !trn_ring_has_room(&queue->s2m, s2m))
		return NEURON_CAUSE_DESC;
	if (!takes_work(queue) || (!m2s && !s2m))
		return NEURON_CAUSE_NONE;
	trn_ring_add(&queue->m2s, m2s);
	trn_ring_add(&queue->s2m, s2m);
	trn_udma_queue_set_busy(queue);
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_udma_queue_trigger(struct trn_udma_queue *queue, uint32_t m2s, uint32_t s2m)
{
	enum neuron_cause cause;

	pthread_mutex_lock(&queue->lock);
	cause = trigger(queue, m2s, s2m);
	pthread_mutex_unlock(&queue->lock);
	return cause;
}

enum neuron_cause trn_udma_queue_trigger_landed(struct trn_udma_queue *queue, uint32_t m2s,
						uint32_t s2m, const struct trn_landed *landed,
						struct trn_task *waiter, bool *full)
{
	const struct trn_generated mark = { .empty = true, .landed = *landed };
	enum neuron_cause cause = NEURON_CAUSE_NONE;

	*full = false;
	pthread_mutex_lock(&queue->lock);
	if (queue->job && trn_gen_count(queue) == TRN_GEN_ROOM) {
		add_waiter(queue->gen, waiter);
		*full = true;
		goto unlock;
	}
	cause = trigger(queue, m2s, s2m);
	if (!cause && takes_work(queue))
		cause = append(queue, &mark, waiter, full);
unlock:
	pthread_mutex_unlock(&queue->lock);
	return cause;
}
