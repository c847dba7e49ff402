// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * DMA operations that compute: casts and arithmetic over several sources, in
 * fp32, block by block.
 */
#include <string.h>

#include "dma/trn_udma_op_private.h"
#include "num/trn_num.h"

#define BLOCK	1024
/* Elements of all sources and destinations of a block without vector instructions. */
#define BLOCK_SLOW	2048

/* How long an element takes, beside the access, in elements of a copy. */
#define COMPUTE		1
#define COMPUTE_SLOW	8

/**
 * struct block - elements that are worked on at a time
 * @raw: as in memory, of any type
 * @sum: what has become of the operands so far
 * @next: the operand that comes in
 */
struct block {
	uint32_t raw[BLOCK];
	float sum[BLOCK];
	float next[BLOCK];
};

static float scale_of(const struct neuron_udma_op *op, unsigned int i)
{
	float scale;

	memcpy(&scale, &op->scale[i], sizeof(scale));
	return scale;
}

static void fma_next(struct block *b, float scale, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		b->sum[i] = trn_fma(scale, b->next[i], b->sum[i]);
}

static void combine(const struct neuron_udma_op *op, struct block *b,
		    unsigned int i, uint32_t n)
{
	switch (op->op) {
	case NEURON_UDMA_OP_ADD:
		return trn_alu_vv(NEURON_ALU_ADD, b->sum, b->sum, b->next, n);
	case NEURON_UDMA_OP_MAX:
		return trn_alu_vv(NEURON_ALU_MAX, b->sum, b->sum, b->next, n);
	case NEURON_UDMA_OP_MIN:
		return trn_alu_vv(NEURON_ALU_MIN, b->sum, b->sum, b->next, n);
	default:	/* FMA: nothing else has a second operand */
		return fma_next(b, scale_of(op, i), n);
	}
}

/* Operand 0 of an operation that does not accumulate. */
static enum neuron_cause start(struct trn_op *o, struct block *b,
			       uint64_t first, uint32_t n)
{
	const struct neuron_udma_op *op = o->work->op;
	enum neuron_cause cause = trn_op_read(o, 0, first, n, b->raw);

	if (cause)
		return cause;
	trn_to_fp32(b->sum, b->raw, op->src_dtype, n);
	if (op->op == NEURON_UDMA_OP_FMA)
		trn_alu_vs(NEURON_ALU_MULTIPLY, b->sum, b->sum, scale_of(op, 0),
			   false, n);
	return NEURON_CAUSE_NONE;
}

static enum neuron_cause start_old(struct trn_op *o, struct block *b,
				   uint64_t first, uint32_t n)
{
	enum neuron_cause cause = trn_op_read_old(o, first, n, b->raw);

	if (!cause)
		trn_to_fp32(b->sum, b->raw, o->work->op->dst_dtype, n);
	return cause;
}

/* To the destination's type; the block begins with element @first of the operation. */
static void round_block(const struct neuron_udma_op *op, struct block *b, uint64_t first,
			uint32_t n)
{
	struct trn_num_mode mode = { .rounding = TRN_ROUND_STOCHASTIC };

	if (!(op->flags & NEURON_UDMA_OP_STOCHASTIC)) {
		trn_from_fp32(b->raw, b->sum, op->dst_dtype, n);
		return;
	}
	mode.sr_key = trn_sr_key(op->round_seed, NEURON_UDMA_ROUND_STREAM, op->round_move);
	trn_from_fp32_mode(b->raw, b->sum, op->dst_dtype, n, &mode,
			   op->round_first + (uint32_t)first);
}

static enum neuron_cause compute_block(struct trn_op *o, uint64_t first,
				       uint32_t n)
{
	const struct neuron_udma_op *op = o->work->op;
	bool old = op->flags & NEURON_UDMA_OP_ACCUMULATE;
	enum neuron_cause cause;
	unsigned int i;
	struct block b;

	cause = old ? start_old(o, &b, first, n) : start(o, &b, first, n);
	if (cause)
		return cause;
	for (i = old ? 0 : 1; i < op->nr_src; i++) {
		cause = trn_op_read(o, i, first, n, b.raw);
		if (cause)
			return cause;
		trn_to_fp32(b.next, b.raw, op->src_dtype, n);
		combine(op, &b, i, n);
	}
	round_block(op, &b, first, n);
	return trn_op_write_all(o, first, n, b.raw);
}

/* Without vector instructions elements take longer. */
static uint32_t block_of(const struct trn_op *o)
{
	return trn_op_piece(o, trn_num_is_portable() ? BLOCK_SLOW / trn_op_ends(o) : BLOCK);
}

enum neuron_cause trn_op_compute(struct trn_op *o)
{
	const uint32_t ends = trn_op_ends(o), most = block_of(o);
	enum neuron_cause cause = NEURON_CAUSE_NONE;
	uint64_t work;
	uint32_t n;

	while (!cause && o->first < o->end && !trn_op_stopped(o)) {
		n = o->end - o->first < most ? (uint32_t)(o->end - o->first) : most;
		cause = compute_block(o, o->first, n);
		o->first += n;
		work = trn_op_accesses(o, n, n, n) * TRN_OP_ACCESS_WORK +
		       (uint64_t)n * ends * (trn_num_is_portable() ? COMPUTE_SLOW : COMPUTE);
		if (trn_op_pause(o, work))
			break;
	}
	return cause;
}
