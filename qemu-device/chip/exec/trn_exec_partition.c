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

static void reduce(const struct reduction *op, size_t first, size_t n,
		   const struct trn_lines *lines)
{
	unsigned int p;

	trn_tile_load(&op->src, 0, first, n, lines->a);
	for (p = 1; p < op->src.partitions; p++) {
		trn_tile_load(&op->src, p, first, n, lines->b);
		trn_alu_vv(op->op, lines->a, lines->a, lines->b, n);
	}
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

/* No column of the one is a column of the other; GpSimd has only SBUF. */
static bool apart(const struct trn_tile *a, const struct trn_tile *b)
{
	int64_t x = (a->base - a->core->sbuf) % NEURON_TPB_SBUF_STRIDE;
	int64_t y = (b->base - b->core->sbuf) % NEURON_TPB_SBUF_STRIDE;

	return x + a->high <= y + b->low || y + b->high <= x + a->low;
}

/* Each element is one of all partitions. */
static size_t piece_of(const struct trn_tile *src)
{
	switch (trn_tile_weight(src, false)) {
	case TRN_WEIGHT_PLAIN:
		return TRN_LINE_PIECE / 2;
	case TRN_WEIGHT_HEAVY:
		return 64;
	default:
		return 16;
	}
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
	walk.limit = piece_of(&op.src);
	/* The destination may lie across any partition of the source. */
	walk.on_desk = !apart(&op.dst, &op.src);
	return trn_exec_walk_tile(exec, &walk, &op);
}
