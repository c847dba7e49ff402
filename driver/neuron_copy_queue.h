/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A copy queue, for the two files that know its fields: neuron_copy.c and neuron_copy_reset.c.
 */
#ifndef _NEURON_COPY_QUEUE_H_
#define _NEURON_COPY_QUEUE_H_

#include "neuron_copy.h"
#include "neuron_device.h"

#define NEURON_COPY_RING	8192	/* descriptors, a power of two */
/* For requests that are waited for. A full ring looks like an empty one. */
#define NEURON_COPY_ROOM	(NEURON_COPY_RING - NEURON_COPY_QUEUED_ROOM - \
				 NEURON_UDMA_RING_MULTIPLE)

/*
 * How often a queue that moves nothing is reset. The last time the whole device is reset, because
 * the reset of the queue alone has not helped.
 */
#define NEURON_COPY_TIMEOUTS	2

/*
 * How long a request may be in flight although the queue moves, with what is before it in the ring.
 * That is 512 MiB at most: only a device moves it so slowly that lies. So the limits of two
 * requests, whenever, cost the device a reset.
 */
#define NEURON_COPY_CAP_MS	(NEURON_COPY_TIMEOUT_MS * NEURON_JOB_TIMEOUT_CAP)

/* How often a queued request begins again: neuron_copy_request.retries. */
#define NEURON_COPY_RETRIES	8

/**
 * struct neuron_copy_queue - a queue of a copy engine
 * @ndev: device
 * @engine: DMA engine
 * @index: queue of the engine
 * @m2s: ring of the sources, coherent memory
 * @s2m: ring of the destinations
 * @m2s_dma: bus address of @m2s
 * @s2m_dma: bus address of @s2m
 * @submit_lock: descriptors, registers; held by one submitter or recovery
 * @lock: everything below, taken in the hard interrupt handler
 * @pending: requests in flight, in order
 * @nr_pending: their number
 * @waiting: queued requests that are to be submitted, in order. They leave it under
 *	@submit_lock, too, unless the queue is dead
 * @waited_desc: descriptors in @pending of requests that are waited for
 * @submitted: where the next descriptor goes, counted from the reset
 * @completed: how far the device is
 * @progress_at: jiffies when it last moved, or had nothing to do before
 * @timeouts: how often it has come to its time limit since it last moved
 * @caps: how often a request has come to NEURON_COPY_CAP_MS since the start of the device
 * @stopped: needs a reset before the next request
 * @stop_error: what the first request in flight ends with when a queue that has stopped is reset:
 *	@error of neuron_copy_fail()
 * @dead: does not obey or is gone
 * @room: woken when descriptors have completed
 * @halt: stops the queue when the device says what cannot be, or has aborted its engine
 * @push: submits what is in @waiting
 * @watch: looks for queued requests without progress
 * @requests: statistics
 * @bytes: statistics
 * @errors: statistics
 */
struct neuron_copy_queue {
	struct neuron_device *ndev;
	unsigned int engine;
	unsigned int index;
	struct neuron_udma_desc *m2s;
	struct neuron_udma_desc *s2m;
	dma_addr_t m2s_dma;
	dma_addr_t s2m_dma;
	struct mutex submit_lock;	/* descriptors, registers */
	spinlock_t lock;		/* all that follows */
	struct list_head pending;
	unsigned int nr_pending;
	struct list_head waiting;
	unsigned int waited_desc;
	u32 submitted;
	u32 completed;
	unsigned long progress_at;
	unsigned int timeouts;
	unsigned int caps;
	bool stopped;
	int stop_error;
	bool dead;
	wait_queue_head_t room;
	struct work_struct halt;
	struct work_struct push;
	struct delayed_work watch;
	u64 requests;
	u64 bytes;
	u64 errors;
};

static inline void __iomem *
neuron_copy_engine_regs(struct neuron_copy_queue *queue)
{
	return queue->ndev->bar0 +
	       neuron_dma_bar0(queue->ndev->gen, queue->engine);
}

static inline void __iomem *
neuron_copy_m2s_regs(struct neuron_copy_queue *queue)
{
	return neuron_copy_engine_regs(queue) +
	       NEURON_UDMA_M2S_Q(queue->index);
}

static inline void __iomem *
neuron_copy_s2m_regs(struct neuron_copy_queue *queue)
{
	return neuron_copy_engine_regs(queue) +
	       NEURON_UDMA_S2M_Q(queue->index);
}

/**
 * neuron_copy_fail() - all requests in flight end
 * @queue: queue, which needs a reset from here on
 * @error: error of the first request; -EAGAIN: the stop is blamed on no request
 * @others: error of the others; with -EAGAIN queued requests are started again
 *
 * Context: under neuron_copy_queue.lock.
 */
void neuron_copy_fail(struct neuron_copy_queue *queue, int error, int others);

/**
 * neuron_copy_advance() - read how far the device is, and complete what is behind that
 * @queue: queue
 *
 * Context: under neuron_copy_queue.lock.
 */
void neuron_copy_advance(struct neuron_copy_queue *queue);

/**
 * neuron_copy_queue_start() - reset a queue and give it its rings
 * @queue: queue
 *
 * Context: under neuron_copy_queue.submit_lock.
 * Return: 0, or -EIO when the queue does not stop or is dead.
 */
int neuron_copy_queue_start(struct neuron_copy_queue *queue);

/**
 * neuron_copy_is_late() - has the first request in flight come to NEURON_COPY_CAP_MS?
 * @queue: queue
 *
 * No other request in flight can before it does: they were put there later.
 *
 * Context: under neuron_copy_queue.lock.
 * Return: yes.
 */
bool neuron_copy_is_late(struct neuron_copy_queue *queue);

/**
 * neuron_copy_time_left() - time until what is in flight comes to a limit
 * @queue: queue
 *
 * Context: under neuron_copy_queue.lock.
 * Return: jiffies, 0 or less: it has.
 */
long neuron_copy_time_left(struct neuron_copy_queue *queue);

/**
 * neuron_copy_timeout() - requests have made no progress for too long, or take too long in all
 * @queue: queue
 * @req: request that somebody waits for; NULL: whatever is in flight
 *
 * They end, unless the queue has moved after all and only the interrupt was lost. If the queue has
 * not moved since the last time either, the device is reset. Takes
 * neuron_copy_queue.submit_lock.
 */
void neuron_copy_timeout(struct neuron_copy_queue *queue,
			 struct neuron_copy_request *req);

/**
 * neuron_copy_halt_work() - stop a queue whose requests cannot go on, and end them
 * @work: neuron_copy_queue.halt
 */
void neuron_copy_halt_work(struct work_struct *work);

/**
 * neuron_copy_watch() - look after the requests that nobody waits for
 * @work: neuron_copy_queue.watch
 */
void neuron_copy_watch(struct work_struct *work);

#endif /* _NEURON_COPY_QUEUE_H_ */
