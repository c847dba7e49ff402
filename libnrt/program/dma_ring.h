/* SPDX-License-Identifier: MIT */
/*
 * Rings of DMA queues, packet by packet, and the constants that their packets read.
 *
 * A copy of at most 64 KiB is a packet of one descriptor pair. An operation (dma_op.h) is a
 * packet of its block, its sources and its destinations. A semaphore is posted by one more packet:
 * 4 bytes, the value, from a constant into a window of semaphores.
 *
 * A job rewinds its queues when it starts, so rings are built once and never change.
 */
#ifndef LIBNRT_PROGRAM_DMA_RING_H
#define LIBNRT_PROGRAM_DMA_RING_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "neuron/address.h"
#include "neuron/dma_op.h"

/**
 * struct dma_ring - both rings of a queue
 * @m2s, @s2m: descriptors, @length of them
 * @used, @s2m_used: real ones; the rest is padding that no queue accepts (ring id 0)
 * @length: a multiple of NEURON_UDMA_RING_MULTIPLE from NEURON_UDMA_RING_MIN
 * @room: allocated, while building
 */
struct dma_ring {
	struct neuron_udma_desc *m2s;
	struct neuron_udma_desc *s2m;
	uint32_t used;
	uint32_t s2m_used;
	uint32_t length;
	uint32_t room;
};

/**
 * struct dma_constants - what rings read besides variables: the value that posts add, and the
 *	blocks of operations
 * @window: that shows them; it begins at a multiple of 64
 * @data, @bytes: the contents
 * @room: allocated
 */
struct dma_constants {
	uint32_t window;
	uint8_t *data;
	size_t bytes;
	size_t room;
};

/**
 * struct dma_writer - where packets go
 * @constants: of all rings
 * @left: M2S descriptors that may still be made
 * @what: whose transfers they are, for messages
 * @error: says why something failed
 */
struct dma_writer {
	struct dma_constants constants;
	uint64_t left;
	const char *what;
	struct nrt_error *error;
};

/* Begin with the value that posts add. dma_constants_free() frees what the writer has. */
NRT_STATUS dma_writer_init(struct dma_writer *writer, uint32_t window, uint64_t max_descs,
			   const char *what, struct nrt_error *error);
void dma_constants_free(struct dma_constants *constants);

/* Put @bytes into the constants, or find them where the last ones are; *@addr: window address. */
NRT_STATUS dma_constant(struct dma_writer *writer, const void *data, size_t bytes,
			uint64_t *addr);

/* Copy at most 64 KiB. @meta: NEURON_UDMA_META_DEFAULT, or with more. */
NRT_STATUS dma_ring_copy(struct dma_writer *writer, struct dma_ring *ring, uint64_t from,
			 uint64_t to, uint64_t bytes, uint32_t meta);

/* Do the operation of @block; as many @sources and @targets as it says. */
NRT_STATUS dma_ring_op(struct dma_writer *writer, struct dma_ring *ring,
		       const struct neuron_udma_op *block, const uint64_t *sources,
		       const uint64_t *targets);

/* Add @value to a semaphore. The barrier keeps the post behind the bytes that it announces. */
NRT_STATUS dma_ring_post(struct dma_writer *writer, struct dma_ring *ring, uint32_t window,
			 unsigned int semaphore, uint32_t value);

/* No packet follows: give the ring its length. */
NRT_STATUS dma_ring_pad(struct dma_writer *writer, struct dma_ring *ring);
void dma_ring_free(struct dma_ring *ring);

#endif /* LIBNRT_PROGRAM_DMA_RING_H */
