/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Operations of the DMA engines beyond the plain copy: strided and indexed
 * access, duplication, casts, arithmetic over several sources, transposition.
 *
 * An operation is a packet whose first M2S descriptor has NEURON_UDMA_META_OP in
 * meta_ctrl, the length of a struct neuron_udma_op and its address. The M2S
 * descriptors after it, up to LAST, give the base address of each source, and as
 * many S2M descriptors as the block says those of the destinations; their length
 * fields are not looked at. All addresses are of the queue's domain.
 *
 * What the operations are is public (nki.isa, NEFF); the encoding is defined by
 * this project, in operation values that public software leaves free.
 */
#ifndef NEURON_DMA_OP_H
#define NEURON_DMA_OP_H

#include "isa.h"
#include "udma.h"

#define NEURON_UDMA_META_OP		0x01180003u	/* operation type 1 */

#define NEURON_UDMA_OP_MAX_SRC		16
#define NEURON_UDMA_OP_MAX_DST		16
/* Elements of a pattern. */
#define NEURON_UDMA_OP_MAX_ELEMENTS	(1u << 26)

enum neuron_udma_opcode {
	NEURON_UDMA_OP_COPY		= 0,	/* same type: bits; else cast by way of fp32 */
	NEURON_UDMA_OP_ADD		= 1,	/* sum of src[i] */
	NEURON_UDMA_OP_FMA		= 2,	/* fused chain of scale[i] * src[i] */
	NEURON_UDMA_OP_MAX		= 3,
	NEURON_UDMA_OP_MIN		= 4,
	NEURON_UDMA_OP_TRANSPOSE	= 5,	/* of the two inner dimensions, 2 or 4 bytes */
	NEURON_UDMA_NR_OPS
};

/**
 * struct neuron_udma_pattern - the elements of a source or destination (48 bytes)
 * @num: elements of each dimension, [0] innermost; unused ones 1
 * @step: bytes between neighbours of that dimension, signed
 */
struct neuron_udma_pattern {
	__le32 num[4];
	__le64 step[4];
};

NEURON_ASSERT_SIZE(struct neuron_udma_pattern, 48);

/* Dimension 3 is walked by the index list instead of 0, 1, 2, ... */
#define NEURON_UDMA_OP_SRC_INDEXED	NEURON_BIT(0)
#define NEURON_UDMA_OP_DST_INDEXED	NEURON_BIT(1)
/* An index of @index_limit or more leaves out its part instead of an error. */
#define NEURON_UDMA_OP_OOB_SKIP		NEURON_BIT(2)
/* The destination's old value is the first operand (ADD, FMA with scale 1, MAX, MIN). */
#define NEURON_UDMA_OP_ACCUMULATE	NEURON_BIT(3)

/**
 * struct neuron_udma_op - operation block (256 bytes, 64-byte aligned)
 * @op: enum neuron_udma_opcode
 * @nr_src: 1 to 16; COPY and TRANSPOSE: 1
 * @nr_dst: 1 to 16: each gets the same (duplication)
 * @src_dtype, @dst_dtype: enum neuron_dtype; TRANSPOSE: equal
 * @flags: NEURON_UDMA_OP_*
 * @reserved0: zero
 * @src: elements of each source, from its base
 * @dst: elements of each destination; as many as the source's, in the same order;
 *	TRANSPOSE: num[0] and num[1] change places
 * @index: address of @nr_index 32-bit indices, 4-byte aligned; with an INDEXED flag
 * @nr_index: equal to num[3] of the indexed pattern, at most 65536
 * @index_limit: indices must be below it
 * @scale: fp32 bits, FMA; else zero
 * @reserved: zero
 *
 * Arithmetic is fp32 in the order of the sources with one rounding each, casts
 * at both ends (round to nearest even, saturating for integers).
 */
struct neuron_udma_op {
	__u8 op;
	__u8 nr_src;
	__u8 nr_dst;
	__u8 src_dtype;
	__u8 dst_dtype;
	__u8 flags;
	__le16 reserved0;
	struct neuron_udma_pattern src;
	struct neuron_udma_pattern dst;
	__le64 index;
	__le32 nr_index;
	__le32 index_limit;
	__le32 scale[NEURON_UDMA_OP_MAX_SRC];
	__le64 reserved[9];
};

NEURON_ASSERT_SIZE(struct neuron_udma_op, 256);

/**
 * struct neuron_udma_dge - what a DMA_GENERATE instruction makes a packet of
 * @op: the operation (512 bytes with the addresses, 64-byte aligned)
 * @src, @dst: base addresses, to which the instruction's registers are added
 */
struct neuron_udma_dge {
	struct neuron_udma_op op;
	__le64 src[NEURON_UDMA_OP_MAX_SRC];
	__le64 dst[NEURON_UDMA_OP_MAX_DST];
};

NEURON_ASSERT_SIZE(struct neuron_udma_dge, 512);

#endif /* NEURON_DMA_OP_H */
