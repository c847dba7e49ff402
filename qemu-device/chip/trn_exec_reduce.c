// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Reductions along the free dimensions.
 */
#include <string.h>

#include "trn_exec.h"
#include "trn_num.h"

/* @group: elements of the source that become one of the destination */
struct reduction {
	const struct neuron_inst *inst;
	struct trn_tile dst, src;
	uint32_t group;
};

/* The chain over one group; the running value is the first of the next piece. */
static float reduce_group(const struct reduction *op, unsigned int p,
			  size_t first, const struct trn_lines *lines)
{
	size_t done, n;
	float value;

	trn_tile_load(&op->src, p, first, 1, &value);
	for (done = 1; done < op->group; done += n) {
		n = trn_piece(op->group, done, lines->piece - 1);
		lines->a[0] = value;
		trn_tile_load(&op->src, p, first + done, n, lines->a + 1);
		value = trn_alu_reduce(op->inst->op0, lines->a, n + 1);
	}
	return value;
}

/* The same of integers as raw bits. */
static uint32_t reduce_bits(const struct reduction *op, unsigned int p, size_t first,
			    const struct trn_lines *lines)
{
	uint32_t value = op->inst->op0 == NEURON_ALU_BITWISE_AND ? UINT32_MAX : 0;
	size_t done, n;

	for (done = 0; done < op->group; done += n) {
		n = trn_piece(op->group, done, lines->piece);
		trn_tile_load_raw(&op->src, p, first + done, n, lines->a);
		value = trn_alu_reduce_bits(op->inst->op0, value, lines->a,
					    op->src.size, n);
	}
	return value;
}

static void tensor_reduce_bits(void *arg, const struct trn_lines *lines)
{
	const struct reduction *op = arg;
	uint8_t *out = (uint8_t *)lines->b;
	size_t first, i, n;
	uint32_t value;
	unsigned int p;

	for (p = 0; p < op->dst.partitions; p++) {
		for (first = 0; first < op->dst.n; first += n) {
			n = trn_piece(op->dst.n, first, lines->piece);
			for (i = 0; i < n; i++) {
				value = reduce_bits(op, p, (first + i) * op->group,
						    lines);
				memcpy(out + i * op->dst.size, &value, op->dst.size);
			}
			trn_tile_store_raw(&op->dst, p, first, n, out);
		}
	}
}

/*
 * Results gather in b and are stored when it is full: with whole lines, after
 * the last element of the source has been read.
 */
static void tensor_reduce(void *arg, const struct trn_lines *lines)
{
	const struct reduction *op = arg;
	size_t first, i, n;
	unsigned int p;

	for (p = 0; p < op->dst.partitions; p++) {
		for (first = 0; first < op->dst.n; first += n) {
			n = trn_piece(op->dst.n, first, lines->piece);
			for (i = 0; i < n; i++)
				lines->b[i] = reduce_group(op, p,
							   (first + i) * op->group,
							   lines);
			if (op->inst->flags & NEURON_INST_NEGATE)
				trn_alu_vs(NEURON_ALU_MULTIPLY, lines->b, lines->b,
					   -1.0f, false, n);
			trn_tile_store(&op->dst, p, first, n, lines->b);
		}
	}
}

enum neuron_cause trn_exec_tensor_reduce(struct trn_exec *exec)
{
	const struct neuron_inst *inst = exec->inst;
	struct reduction op = { .inst = exec->inst, .group = 1 };
	enum neuron_cause cause;
	bool bitwise = trn_alu_is_bitwise(inst->op0);
	unsigned int i;

	if (!trn_alu_is_reduction(inst->op0) || !trn_exec_magnitude(exec, inst->op0) ||
	    (bitwise && (inst->flags & NEURON_INST_NEGATE)) || inst->imm0 < 1 || inst->imm0 > 4)
		return NEURON_CAUSE_OPERAND;
	cause = trn_exec_pair(exec, &op.dst, &op.src);
	if (cause)
		return cause;
	for (i = 0; i < inst->imm0; i++)
		op.group *= op.src.num[i];
	if ((uint64_t)op.dst.n * op.group != op.src.n ||
	    (bitwise && !trn_exec_bitwise_types(&op.dst, &op.src)))
		return NEURON_CAUSE_OPERAND;
	cause = trn_tile_touch(&op.dst);
	if (cause)
		return cause;
	exec->work.n = op.src.n;
	trn_exec_lines(trn_tile_disjoint(&op.dst, &op.src),
		       bitwise ? tensor_reduce_bits : tensor_reduce, &op);
	return NEURON_CAUSE_NONE;
}
