// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Functions that the vector engine has itself: reciprocal, exponential.
 */
#include "exec/trn_exec.h"
#include "num/trn_num.h"

struct function {
	struct trn_exec *exec;
	struct trn_tile dst, src;
	struct trn_scalar max;
};

static void reciprocal(void *arg, unsigned int p, size_t first, size_t n,
		       const struct trn_lines *lines)
{
	const struct function *op = arg;

	trn_tile_load(&op->src, p, first, n, lines->a);
	trn_alu_vv(NEURON_ALU_RECIPROCAL, lines->a, lines->a, lines->a, n);
	trn_tile_store(&op->dst, p, first, n, lines->a);
}

enum neuron_cause trn_exec_reciprocal(struct trn_exec *exec)
{
	struct function op = { .exec = exec };
	struct trn_exec_walk walk = {
		.dst = &op.dst,
		.src = { &op.src },
		.heavy = true,
		.piece = reciprocal,
	};
	enum neuron_cause cause;

	cause = trn_exec_equal_pair(exec, &op.dst, &op.src);
	if (!cause)
		cause = trn_tile_touch(&op.dst);
	return cause ? cause : trn_exec_walk_tile(exec, &walk, &op);
}

static void exponential_begin(void *arg, unsigned int p)
{
	const struct function *op = arg;

	trn_exec_carry(op->exec)[0] = trn_scalar_at(&op->max, p);
}

static void exponential(void *arg, unsigned int p, size_t first, size_t n,
			const struct trn_lines *lines)
{
	const struct function *op = arg;
	float max = trn_exec_carry(op->exec)[0];

	trn_tile_load(&op->src, p, first, n, lines->a);
	trn_alu_vs(NEURON_ALU_SUBTRACT, lines->a, lines->a, max, false, n);
	trn_act(NEURON_ACT_EXP, lines->a, lines->a, 1.0f, 0.0f, 0.0f, n);
	trn_exec_acc_line(op->exec, p, lines->a, n);
	trn_tile_store(&op->dst, p, first, n, lines->a);
}

enum neuron_cause trn_exec_exponential(struct trn_exec *exec)
{
	struct function op = { .exec = exec };
	struct trn_exec_walk walk = {
		.dst = &op.dst,
		.src = { &op.src },
		.heavy = true,
		.begin = exponential_begin,
		.piece = exponential,
	};
	unsigned int op2 = exec->inst->op2;
	enum neuron_cause cause;

	if (op2 != NEURON_ALU_BYPASS && op2 != NEURON_ALU_ADD)
		return NEURON_CAUSE_OPERAND;
	cause = trn_exec_equal_pair(exec, &op.dst, &op.src);
	if (!cause)
		cause = trn_exec_scalar(exec, 0, op.dst.partitions, &op.max);
	if (!cause)
		cause = trn_tile_touch(&op.dst);
	if (!cause)
		cause = trn_exec_acc_begin(exec, op.dst.partitions);
	return cause ? cause : trn_exec_walk_tile(exec, &walk, &op);
}
