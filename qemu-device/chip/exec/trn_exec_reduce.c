// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Reductions along the free dimensions.
 */
#include <string.h>

#include "exec/trn_exec.h"
#include "num/trn_num.h"

/* @group: elements of the source that become one of the destination */
struct reduction {
	const struct trn_exec *exec;
	const struct neuron_inst *inst;
	struct trn_tile dst, src;
	uint32_t group;
};

/* The chain goes on with @n elements, or begins with them. */
static float chain(const struct reduction *op, float value, bool begins, const float *a,
		   size_t n)
{
	unsigned int alu = op->inst->op0;

	if (op->group == 1)
		return a[0];
	if (begins)
		return trn_alu_reduce(alu, a, n);
	/* A chain of one element may have an operand that has not been made absolute. */
	return trn_alu_reduce_from(alu, trn_alu_reduce(alu, &value, 1), a, n);
}

/* The same of integers as raw bits. */
static uint32_t chain_bits(const struct reduction *op, uint32_t value, bool begins,
			   const void *a, size_t n)
{
	if (begins)
		value = op->inst->op0 == NEURON_ALU_BITWISE_AND ? UINT32_MAX : 0;
	return trn_alu_reduce_bits(op->inst->op0, value, a, op->src.size, n);
}

/* Elements of the source; the results whose last element is among them are stored. */
static void tensor_reduce_bits(void *arg, unsigned int p, size_t first, size_t n,
			       const struct trn_lines *lines)
{
	const struct reduction *op = arg;
	const uint8_t *from = (const uint8_t *)lines->a;
	uint8_t *out = (uint8_t *)lines->b;
	uint32_t *value = trn_exec_resume(op->exec)->carry.word;
	size_t in = first % op->group, done, part, ready = 0;

	trn_tile_load_raw(&op->src, p, first, n, lines->a);
	for (done = 0; done < n; done += part) {
		part = trn_piece(op->group, in, n - done);
		*value = chain_bits(op, *value, !in, from + done * op->src.size, part);
		in = in + part == op->group ? 0 : in + part;
		if (!in)
			memcpy(out + ready++ * op->dst.size, value, op->dst.size);
	}
	trn_tile_store_raw(&op->dst, p, first / op->group, ready, out);
}

static void tensor_reduce(void *arg, unsigned int p, size_t first, size_t n,
			  const struct trn_lines *lines)
{
	const struct reduction *op = arg;
	const float *from = trn_tile_view(&op->src, p, first, n, lines->a);
	size_t in = first % op->group, done, part, ready = 0;
	float *value = trn_exec_carry(op->exec);

	for (done = 0; done < n; done += part) {
		part = trn_piece(op->group, in, n - done);
		*value = chain(op, *value, !in, from + done, part);
		in = in + part == op->group ? 0 : in + part;
		if (!in)
			lines->b[ready++] = *value;
	}
	if (op->inst->flags & NEURON_INST_NEGATE)
		trn_alu_vs(NEURON_ALU_MULTIPLY, lines->b, lines->b, -1.0f, false, ready);
	trn_tile_store(&op->dst, p, first / op->group, ready, lines->b);
}

enum neuron_cause trn_exec_tensor_reduce(struct trn_exec *exec)
{
	const struct neuron_inst *inst = exec->inst;
	struct reduction op = { .exec = exec, .inst = exec->inst, .group = 1 };
	bool bitwise = trn_alu_is_bitwise(inst->op0);
	struct trn_exec_walk walk = {
		.dst = &op.dst,
		.src = { &op.src },
		.heavy = true,
		.piece = bitwise ? tensor_reduce_bits : tensor_reduce,
	};
	enum neuron_cause cause;
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
	walk.partitions = op.dst.partitions;
	walk.n = op.src.n;
	return trn_exec_walk(exec, &walk, &op);
}
