/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Operations of DMA queues: their descriptors.
 *
 * An operation (neuron/dma_op.h) is a packet of the M2S ring: first the descriptor of its
 * block, then one for each source. Its targets are descriptors of the S2M ring. How many
 * bytes a source or a target has follows from the block; the length of its descriptor is not
 * looked at.
 */
#ifndef NEURON_CONTRACT_OP_H
#define NEURON_CONTRACT_OP_H

#include "ring.h"
#include "neuron/dma_op.h"

/* The descriptor of the block at @addr. */
static inline struct neuron_udma_desc neuron_op_block(__u64 addr, __u32 ring_id)
{
	return neuron_desc(addr, sizeof(struct neuron_udma_op), ring_id,
			   NEURON_UDMA_DESC_FIRST, NEURON_UDMA_META_OP);
}

/* A source; @last: of this operation. */
static inline struct neuron_udma_desc neuron_op_source(__u64 addr, __u32 ring_id, __u8 last)
{
	return neuron_desc(addr, 1, ring_id, last ? NEURON_UDMA_DESC_LAST : 0,
			   NEURON_UDMA_META_DEFAULT);
}

static inline struct neuron_udma_desc neuron_op_target(__u64 addr, __u32 ring_id)
{
	return neuron_desc(addr, 1, ring_id, 0, 0);
}

/* Does the packet that begins with @desc do an operation? It is no copy then. */
static inline __u8 neuron_op_is_block(const struct neuron_udma_desc *desc)
{
	return (neuron_from_le32(desc->meta_ctrl) & ~NEURON_UDMA_META_WRITE_BARRIER) ==
	       NEURON_UDMA_META_OP;
}

/*
 * Does @block, the descriptor at the beginning of an operation, name a whole block?
 * Return: NULL or what is wrong.
 */
static inline const char *neuron_op_check_block(const struct neuron_udma_desc *block)
{
	if (NEURON_GET(NEURON_UDMA_DESC_LEN, neuron_from_le32(block->len_ctrl)) !=
		    sizeof(struct neuron_udma_op) ||
	    neuron_from_le64(block->addr) % NEURON_UDMA_OP_ALIGN)
		return "an operation is not 256 bytes, aligned to 64";
	return NEURON_FINE;
}

#endif /* NEURON_CONTRACT_OP_H */
