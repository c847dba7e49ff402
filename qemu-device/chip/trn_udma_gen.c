// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Packets that instructions generated: a short FIFO beside the rings of a job's
 * queue. Each remembers how many M2S descriptors were triggered before it, which
 * puts it in order with them.
 */
#include <stdlib.h>

#include "trn_internal.h"
#include "trn_queue.h"
#include "trn_udma_op.h"

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

unsigned int trn_gen_count(const struct trn_queue *queue)
{
	return queue->gen ? queue->gen->count : 0;
}

const struct trn_generated *trn_gen_peek(const struct trn_queue *queue,
					 unsigned int i)
{
	const struct trn_gen_fifo *fifo = queue->gen;

	return &fifo->entry[(fifo->first + i) % TRN_GEN_ROOM];
}

const struct trn_generated *trn_gen_first(const struct trn_queue *queue)
{
	return trn_gen_count(queue) ? trn_gen_peek(queue, 0) : NULL;
}

static bool have_fifo(struct trn_queue *queue)
{
	if (!queue->gen)
		queue->gen = calloc(1, sizeof(*queue->gen));
	return queue->gen;
}

bool trn_gen_append(struct trn_queue *queue, const struct neuron_udma_dge *dge,
		    uint64_t after)
{
	struct trn_gen_fifo *fifo;

	if (!have_fifo(queue) || queue->gen->count == TRN_GEN_ROOM)
		return false;
	fifo = queue->gen;
	fifo->entry[(fifo->first + fifo->count++) % TRN_GEN_ROOM] =
		(struct trn_generated){
			.dge = *dge,
			.after = after,
			.number = fifo->total++,
		};
	return true;
}

void trn_gen_pop(struct trn_queue *queue)
{
	struct trn_gen_fifo *fifo = queue->gen;

	fifo->first = (fifo->first + 1) % TRN_GEN_ROOM;
	fifo->count--;
	kick_waiters(fifo);
}

void trn_gen_clear(struct trn_queue *queue)
{
	if (!queue->gen)
		return;
	kick_waiters(queue->gen);
	free(queue->gen);
	queue->gen = NULL;
}

uint32_t trn_gen_total(const struct trn_queue *queue)
{
	return queue->gen ? queue->gen->total : 0;
}

bool trn_gen_set_total(struct trn_queue *queue, uint32_t total)
{
	if (!total && !queue->gen)
		return true;
	if (!have_fifo(queue))
		return false;
	queue->gen->total = total;
	return true;
}

size_t trn_gen_bytes(const struct trn_queue *queue)
{
	return queue->gen ? sizeof(*queue->gen) : 0;
}

enum neuron_cause trn_queue_generate(struct trn_queue *queue,
				     const struct neuron_udma_dge *dge,
				     struct trn_task *waiter, bool *full)
{
	enum neuron_cause cause;
	const char *why;

	*full = false;
	cause = trn_udma_op_check(&dge->op, &why);
	if (cause)
		return cause;
	pthread_mutex_lock(&queue->lock);
	if (!queue->job)
		cause = NEURON_CAUSE_QUEUE;
	if (cause || queue->stopped)
		goto unlock;
	if (trn_gen_count(queue) == TRN_GEN_ROOM) {
		add_waiter(queue->gen, waiter);
		*full = true;
	} else if (trn_gen_append(queue, dge, queue->done + queue->m2s.avail)) {
		trn_queue_set_busy(queue);
	} else {
		cause = NEURON_CAUSE_HOST_LIMIT;	/* no memory */
	}
unlock:
	pthread_mutex_unlock(&queue->lock);
	return cause;
}
