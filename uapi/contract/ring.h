/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Rings of DMA queues: their rules, the descriptors of copies, and how far a queue says
 * that it is.
 *
 * A position counts the descriptors that a ring was given since its reset; it may wrap at
 * 2^32. The slot of a position is where its descriptor is, and its ring id says in which
 * lap: the chip takes a descriptor only when that fits.
 */
#ifndef NEURON_CONTRACT_RING_H
#define NEURON_CONTRACT_RING_H

#include "bytes.h"
#include "neuron/address.h"
#include "neuron/udma.h"

static inline const char *neuron_ring_check_length(__u32 length)
{
	if (length < NEURON_UDMA_RING_MIN || length > NEURON_UDMA_RING_MAX ||
	    length % NEURON_UDMA_RING_MULTIPLE)
		return "the length of a ring is no multiple of 16 from 32";
	return NEURON_FINE;
}

/* The shortest ring that @descs descriptors fit into; they are no more than the longest has. */
static inline __u32 neuron_ring_length(__u32 descs)
{
	if (descs < NEURON_UDMA_RING_MIN)
		descs = NEURON_UDMA_RING_MIN;
	return (descs + NEURON_UDMA_RING_MULTIPLE - 1) / NEURON_UDMA_RING_MULTIPLE *
	       NEURON_UDMA_RING_MULTIPLE;
}

/* @addr is a window address, and the @bytes behind it stay in one window's offsets. */
static inline __u8 neuron_hw_window_range_ok(__u64 addr, __u64 bytes)
{
	return addr & NEURON_ADDR_WINDOW &&
	       bytes <= NEURON_ADDR_WINDOW_OFFSET - (addr & NEURON_ADDR_WINDOW_OFFSET);
}

/* A ring of @length descriptors at window address @addr, for a queue of a job. */
static inline const char *neuron_ring_check(__u64 addr, __u32 length)
{
	const char *why = neuron_ring_check_length(length);

	if (why)
		return why;
	if (addr % NEURON_UDMA_RING_ALIGN ||
	    !neuron_hw_window_range_ok(addr, (__u64)length * sizeof(struct neuron_udma_desc)))
		return "a ring is not at a 256-byte aligned window address";
	return NEURON_FINE;
}

/* Where position @position of a ring of @length descriptors is; @length: a power of two. */
static inline __u32 neuron_ring_slot(__u32 position, __u32 length)
{
	return position & (length - 1);
}

/* The ring id of the lap that @position is in. */
static inline __u32 neuron_ring_id(__u32 position, __u32 length)
{
	return (NEURON_UDMA_RING_ID_FIRST + position / length) % NEURON_UDMA_RING_IDS;
}

/* The ring id of the lap after that of @ring_id. */
static inline __u32 neuron_ring_id_next(__u32 ring_id)
{
	return (ring_id + 1) % NEURON_UDMA_RING_IDS;
}

/* The control word of a descriptor of @bytes, which are 1 to 64 KiB. */
static inline __u32 neuron_desc_control(__u32 ring_id, __u32 bytes, __u32 flags)
{
	return NEURON_PUT(NEURON_UDMA_DESC_RING_ID, ring_id) |
	       NEURON_PUT(NEURON_UDMA_DESC_LEN, bytes) | flags;
}

/* Any descriptor; @flags and @meta: the other bits of its control words. */
static inline struct neuron_udma_desc
neuron_desc(__u64 addr, __u32 bytes, __u32 ring_id, __u32 flags, __u32 meta)
{
	return (struct neuron_udma_desc){
		.len_ctrl = neuron_to_le32(neuron_desc_control(ring_id, bytes, flags)),
		.meta_ctrl = neuron_to_le32(meta),
		.addr = neuron_to_le64(addr),
	};
}

/* Bytes that a descriptor of a copy names, 1 to 64 KiB: 0 stands for the latter. */
static inline __u32 neuron_desc_bytes(const struct neuron_udma_desc *desc)
{
	__u32 bytes = NEURON_GET(NEURON_UDMA_DESC_LEN, neuron_from_le32(desc->len_ctrl));

	return bytes ? bytes : NEURON_UDMA_DESC_MAX_BYTES;
}

static inline __u32 neuron_desc_ring_id(const struct neuron_udma_desc *desc)
{
	return NEURON_GET(NEURON_UDMA_DESC_RING_ID, neuron_from_le32(desc->len_ctrl));
}

/* What a copy reads: a packet of its own. @meta: NEURON_UDMA_META_DEFAULT, or with more. */
static inline struct neuron_udma_desc
neuron_copy_source(__u64 addr, __u32 bytes, __u32 ring_id, __u32 meta)
{
	return neuron_desc(addr, bytes, ring_id,
			   NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST, meta);
}

/* What a copy writes. @flags: 0, or NEURON_UDMA_DESC_INT_EN to be told of its end. */
static inline struct neuron_udma_desc
neuron_copy_target(__u64 addr, __u32 bytes, __u32 ring_id, __u32 flags)
{
	return neuron_desc(addr, bytes, ring_id, flags, 0);
}

/**
 * neuron_ring_progress - how far a queue is
 * @head: completion head, as the device tells it
 * @length: descriptors of the ring, a power of two
 * @submitted: position behind what the queue was given; at most @length - 1 ahead
 * @completed: position behind what it is known to have done
 * @done: out: how many more it has done now
 *
 * Return: NULL, or what is wrong with @head: then @done is not written.
 */
static inline const char *neuron_ring_progress(__u32 head, __u32 length, __u32 submitted,
					       __u32 completed, __u32 *done)
{
	__u32 more = (head - completed) & (length - 1);

	if (head >= length || more > submitted - completed)
		return "impossible completion head";
	*done = more;
	return NEURON_FINE;
}

#endif /* NEURON_CONTRACT_RING_H */
