/* SPDX-License-Identifier: MIT */
/*
 * A DMA queue of the public driver with its two rings, as a runtime uses it:
 * rings in memory of the driver, descriptors handed over by ioctl, a marker that
 * tells when the copies before it are done.
 *
 * Functions that return int give 0 or a negative errno.
 */
#ifndef PUBLIC_RING_H
#define PUBLIC_RING_H

#include "neuron/udma.h"
#include "public_device.h"

#define PUB_RING_MOST	256	/* descriptors of a ring */

/**
 * struct pub_ring - a queue and its rings
 * @dev: whose
 * @engine, @queue: which
 * @length: descriptors of each ring
 * @tx, @rx: the rings
 * @marker: host memory of two words: one copied to the other ends a batch
 * @word: the marker in this process
 * @tx_tail, @rx_tail: descriptors built since the queue's start
 * @tx_given, @rx_given: of which the driver was told
 * @m2s, @s2m: descriptors not yet in a ring, at their place in it
 */
struct pub_ring {
	struct pub_device *dev;
	unsigned int engine;
	unsigned int queue;
	unsigned int length;
	struct pub_memory tx;
	struct pub_memory rx;
	struct pub_memory marker;
	volatile uint32_t *word;
	unsigned int tx_tail;
	unsigned int rx_tail;
	unsigned int tx_given;
	unsigned int rx_given;
	struct neuron_udma_desc m2s[PUB_RING_MOST];
	struct neuron_udma_desc s2m[PUB_RING_MOST];
};

/* Memory for the rings, in HBM @stack or (negative) in host memory. */
int pub_ring_alloc(struct pub_ring *ring, struct pub_device *dev,
		   unsigned int core, int stack, unsigned int length);
void pub_ring_free(struct pub_ring *ring);

/* What DMA_QUEUE_INIT takes; and the call itself. Both start the ring anew. */
struct pub_dma_queue_init pub_ring_entry(struct pub_ring *ring,
					 unsigned int engine, unsigned int queue);
int pub_ring_init(struct pub_ring *ring, unsigned int engine, unsigned int queue);

/* One descriptor; @flags: FIRST, LAST. They wait for pub_ring_start(). */
void pub_ring_tx(struct pub_ring *ring, uint64_t addr, uint32_t len, uint32_t flags);
void pub_ring_rx(struct pub_ring *ring, uint64_t addr, uint32_t len);
/* A packet of one descriptor on each side. */
void pub_ring_copy(struct pub_ring *ring, uint64_t dst, uint64_t src, uint32_t len);

/* Give the descriptors to the driver, and a marker behind them. */
int pub_ring_start(struct pub_ring *ring);
/* Wait for the marker and acknowledge; -ETIMEDOUT after @ms. */
int pub_ring_wait(struct pub_ring *ring, unsigned int ms);
/* Both, with time enough for any machine. */
int pub_ring_run(struct pub_ring *ring);

#endif /* PUBLIC_RING_H */
