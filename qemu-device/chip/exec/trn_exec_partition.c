// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Reductions over the partitions of a tile.
 */
#include "base/trn_chip.h"
#include "exec/trn_exec.h"
#include "num/trn_num.h"

struct reduction {
	struct trn_tile dst, src;
	unsigned int op;
	bool bitwise;
	bool average;
};

static void reduce_raw(const struct reduction *op, size_t first, size_t n,
		       const struct trn_lines *lines)
{
	unsigned int p;

	trn_tile_load_raw(&op->src, 0, first, n, lines->a);
	for (p = 1; p < op->src.partitions; p++) {
		trn_tile_load_raw(&op->src, p, first, n, lines->b);
		trn_alu_bitwise(op->op, lines->a, lines->a, lines->b, op->src.size, n);
	}
	trn_tile_store_raw(&op->dst, 0, first, n, lines->a);
}

/* Elements of partition @p as fp32: where they lie, or in @buf. */
static const float *numbers(const struct trn_tile *src, unsigned int p, size_t first,
			    size_t n, float *buf)
{
	const void *here = trn_tile_here(src, src->dtype, p, first);

	if (!here) {
		trn_tile_load(src, p, first, n, buf);
		return buf;
	}
	if (src->dtype == NEURON_DTYPE_FP32)
		return here;
	trn_to_fp32(buf, here, src->dtype, n);
	return buf;
}

static void reduce(const struct reduction *op, size_t first, size_t n,
		   const struct trn_lines *lines)
{
	unsigned int p;

	trn_tile_load(&op->src, 0, first, n, lines->a);
	for (p = 1; p < op->src.partitions; p++)
		trn_alu_vv(op->op, lines->a, lines->a,
			   numbers(&op->src, p, first, n, lines->b), n);
	if (op->average)
		trn_alu_vs(NEURON_ALU_DIVIDE, lines->a, lines->a,
			   (float)op->src.partitions, false, n);
	trn_tile_store(&op->dst, 0, first, n, lines->a);
}

static void partition_reduce(void *arg, unsigned int p, size_t first, size_t n,
			     const struct trn_lines *lines)
{
	const struct reduction *op = arg;

	(void)p;
	if (op->bitwise)
		reduce_raw(op, first, n, lines);
	else
		reduce(op, first, n, lines);
}

/* Elements of all partitions together that are one piece, by their weight. */
#define PIECE_PLAIN	32768
#define PIECE_HEAVY	2048
#define PIECE_SLOW	2048

/* What is calculated together, whether all of it is needed or not. */
#define BLOCK		64
#define VECTOR		16

static size_t together(const struct trn_tile *src)
{
	switch (trn_tile_weight(src, false)) {
	case TRN_WEIGHT_PLAIN:
		/* Numbers of one byte take longer to convert. */
		return src->size == 1 ? PIECE_PLAIN / 2 : PIECE_PLAIN;
	case TRN_WEIGHT_HEAVY:
		return PIECE_HEAVY;
	default:
		return PIECE_SLOW;
	}
}

/* Each element of the result stands for one of all partitions; whole blocks of them. */
static size_t piece_of(const struct trn_tile *src)
{
	size_t piece = together(src) / src->partitions;

	/* Not worth two pieces. */
	if (src->n <= piece + piece / 4)
		return src->n;
	if (piece >= BLOCK)
		return piece / BLOCK * BLOCK;
	return piece >= VECTOR ? piece / VECTOR * VECTOR : VECTOR;
}

static bool op_valid(const struct reduction *op)
{
	if (op->bitwise)
		return op->op != NEURON_ALU_BITWISE_XOR &&
		       trn_alu_is_reduction(op->op) &&
		       trn_exec_bitwise_types(&op->dst, &op->src);
	return op->op == NEURON_ALU_ADD || op->op == NEURON_ALU_MAX;
}

enum neuron_cause trn_exec_partition_reduce(struct trn_exec *exec)
{
	struct reduction op = { .op = exec->inst->op0 };
	struct trn_walk walk = {
		.dst = &op.dst,
		.src = { &op.src },
		.piece = partition_reduce,
	};
	enum neuron_cause cause;

	op.average = op.op == NEURON_ALU_AVERAGE;
	if (op.average)
		op.op = NEURON_ALU_ADD;
	op.bitwise = trn_alu_is_bitwise(op.op);
	cause = trn_exec_tile(exec, &exec->inst->dst, &op.dst);
	if (!cause)
		cause = trn_exec_tile(exec, &exec->inst->src0, &op.src);
	if (cause)
		return cause;
	if (op.dst.partitions != 1 || op.dst.n != op.src.n || !op_valid(&op))
		return NEURON_CAUSE_OPERAND;
	trn_exec_note(exec, &op.dst);
	trn_exec_note(exec, &op.src);
	cause = trn_tile_touch(&op.dst);
	if (cause)
		return cause;
	walk.depth = op.src.partitions;
	walk.limit = op.src.n <= VECTOR ? VECTOR : piece_of(&op.src);
	/* The destination may lie across any partition of the source. */
	walk.on_desk = !trn_tile_columns_apart(&op.dst, &op.src);
	return trn_exec_walk_tile(exec, &walk, &op);
}
