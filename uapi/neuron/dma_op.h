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

/* Of the address of a struct neuron_udma_op or neuron_udma_dge. */
#define NEURON_UDMA_OP_ALIGN		64
#define NEURON_UDMA_OP_MAX_SRC		16
#define NEURON_UDMA_OP_MAX_DST		16
#define NEURON_UDMA_OP_MAX_INDEX	65536
/*
 * Elements that an operation reads and writes, all sources and destinations
 * together: it is done in one go, so this bounds how long others wait for it.
 */
#define NEURON_UDMA_OP_MAX_ELEMENTS	(1u << 18)

/* Operand 0 is @src[0] or, with ACCUMULATE, the destination's old value. */
enum neuron_udma_opcode {
	NEURON_UDMA_OP_COPY		= 0,	/* same type: bits; else cast by way of fp32 */
	NEURON_UDMA_OP_ADD		= 1,	/* ((operand 0 + next) + next) ... */
	/* scale[0] * src[0], or the old value; then fma(scale[i], src[i], so far) */
	NEURON_UDMA_OP_FMA		= 2,
	NEURON_UDMA_OP_MAX		= 3,	/* a NaN wins; +0 is above -0 */
	NEURON_UDMA_OP_MIN		= 4,
	NEURON_UDMA_OP_TRANSPOSE	= 5,	/* of the two inner dimensions, 2 or 4 bytes */
	NEURON_UDMA_NR_OPS
};

/**
 * struct neuron_udma_pattern - the elements of a source or destination (48 bytes)
 * @num: elements of each dimension, [0] innermost; unused ones 1
 * @step: bytes between neighbours of that dimension, signed; not looked at where
 *	@num is 1 and no index list walks the dimension
 *
 * Elements have any alignment. They are numbered with dimension 0 running
 * fastest; sources and destinations are paired by that number. All of them lie
 * in the memory that the base lies in: an address that would leave its window
 * (or, in domain 0, its form of address) is an error before anything is touched.
 */
struct neuron_udma_pattern {
	__le32 num[4];
	__le64 step[4];
};

NEURON_ASSERT_SIZE(struct neuron_udma_pattern, 48);

/*
 * Dimension 3 is walked by the index list instead of 0, 1, 2, ...; with both
 * flags by the same list.
 */
#define NEURON_UDMA_OP_SRC_INDEXED	NEURON_BIT(0)
#define NEURON_UDMA_OP_DST_INDEXED	NEURON_BIT(1)
/* An index of @index_limit or more leaves out its part instead of a WINDOW error. */
#define NEURON_UDMA_OP_OOB_SKIP		NEURON_BIT(2)
/* The destination's old value is the first operand (ADD, FMA, MAX, MIN); one @nr_dst. */
#define NEURON_UDMA_OP_ACCUMULATE	NEURON_BIT(3)
/*
 * Results are rounded to the destination's type at random: tf32, bf16, fp16 or an fp8 type;
 * for what converts, so not a COPY to the same type nor TRANSPOSE.
 */
#define NEURON_UDMA_OP_STOCHASTIC	NEURON_BIT(4)

/*
 * The stream of the random words of all DMA engines; those of instructions are their
 * enum neuron_engine.
 */
#define NEURON_UDMA_ROUND_STREAM	0x100

/**
 * struct neuron_udma_op - operation block (256 bytes, 64-byte aligned)
 * @op: enum neuron_udma_opcode
 * @nr_src: 1 to 16; COPY and TRANSPOSE: 1
 * @nr_dst: 1 to 16: each gets the same (duplication)
 * @src_dtype: enum neuron_dtype that the chip's arithmetic has; for COPY to the same
 *	type and TRANSPOSE any that has a size
 * @dst_dtype: likewise; TRANSPOSE: equal to @src_dtype
 * @flags: NEURON_UDMA_OP_*
 * @reserved0: zero
 * @src: elements of each source, from its base
 * @dst: elements of each destination; as many as the source's, in the same order;
 *	TRANSPOSE: the source's @num with [0] and [1] changed about
 * @index: address of the first of @nr_index 32-bit indices, 4-byte aligned; with an
 *	INDEXED flag
 * @nr_index: equal to num[3] of the indexed pattern, 1 to 65536
 * @index_limit: indices (unsigned) must be below it
 * @index_step: bytes from an index to the next, a multiple of 4; 0: they lie side by
 *	side. The indices of a tile [P, 1] in SBUF lie one partition apart
 * @scale: fp32 bits, FMA, [i] for source i; else zero
 * @round_first: with STOCHASTIC: number of the first element in the move, which may
 *	consist of several operations; else zero
 * @round_seed: with STOCHASTIC: seed; else zero
 * @round_move: with STOCHASTIC: number of the move; else zero
 * @reserved: zero
 *
 * Arithmetic is fp32 in the order of the sources with one rounding each, casts
 * at both ends (round to nearest even where STOCHASTIC does not say otherwise, saturating
 * for integers).
 *
 * With STOCHASTIC the random word of element n is that of index @round_first + n (modulo
 * 2^32) for the key of @round_seed, NEURON_UDMA_ROUND_STREAM and @round_move. So it depends
 * neither on the queue, nor on when the operation is done, nor on how a move is cut.
 *
 * A destination may be exactly a source (same addresses of same-sized elements,
 * not TRANSPOSE). Where it overlaps otherwise, or its own elements lie on each
 * other, the values there are undefined (and nothing else is). Semaphores and
 * registers can be neither source nor destination.
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
	__le32 index_step;
	__le32 round_first;
	__le64 round_seed;
	__le64 round_move;
	__le64 reserved[6];
};

NEURON_ASSERT_SIZE(struct neuron_udma_op, 256);

/**
 * struct neuron_udma_dge - what a DMA_GENERATE instruction makes a packet of
 * @op: the operation (512 bytes with the addresses, 64-byte aligned)
 * @src: base addresses, to which the instruction's registers are added; unused
 *	ones zero
 * @dst: the same of the destinations
 */
struct neuron_udma_dge {
	struct neuron_udma_op op;
	__le64 src[NEURON_UDMA_OP_MAX_SRC];
	__le64 dst[NEURON_UDMA_OP_MAX_DST];
};

NEURON_ASSERT_SIZE(struct neuron_udma_dge, 512);

#endif /* NEURON_DMA_OP_H */
