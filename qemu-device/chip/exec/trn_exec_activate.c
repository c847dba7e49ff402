// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * An activation function: the scalar engine's own instruction, which GpSimd has from
 * NeuronCore-v4 on.
 */
#include <string.h>

#include "base/trn_chip.h"
#include "exec/trn_exec.h"
#include "num/trn_num.h"

struct activation {
	struct trn_exec *exec;
	struct trn_tile dst, src;
	struct trn_scalar scale, bias;
	unsigned int func;
	float param;
};

static void activate_begin(void *arg, unsigned int p)
{
	const struct activation *act = arg;
	float *carry = trn_exec_carry(act->exec);

	carry[0] = trn_scalar_at(&act->scale, p);
	carry[1] = trn_scalar_at(&act->bias, p);
}

/* In the memory of the tile: on the desk all partitions share a line. */
static bool line_stays(const struct activation *act, const float *line,
		       const struct trn_lines *lines)
{
	return line != lines->a && act->dst.stride;
}

static void activate(void *arg, unsigned int p, size_t first, size_t n,
		     const struct trn_lines *lines)
{
	const struct activation *act = arg;
	const float *carry = trn_exec_carry(act->exec);
	const float *in = trn_tile_view(&act->src, p, first, n, lines->a);
	float *out = trn_tile_room(&act->dst, p, first, lines->a);

	trn_act(act->func, out, in, carry[0], carry[1], act->param, n);
	if (line_stays(act, out, lines))
		trn_exec_acc_later(act->exec, p, out, n);
	else
		trn_exec_acc_line(act->exec, p, out, n);
	trn_tile_put(&act->dst, p, first, n, out);
}

/*
 * NeuronCore-v2 adds a column or nothing, and its reciprocal nothing at all. A
 * zero of either sign is nothing.
 */
static bool bias_valid(const struct trn_exec *exec)
{
	const struct neuron_inst *inst = exec->inst;
	bool column = inst->flags & NEURON_INST_SRC1_COLUMN;

	if (column && inst->src1.dtype == NEURON_DTYPE_TF32)
		return false;
	if (exec->core->chip->gen->generation > 2)
		return true;
	return column ? inst->op0 != NEURON_ACT_RECIPROCAL : !(inst->imm1 << 1);
}

/* The bias: imm1, or a column of any type but tf32 in src1. */
static enum neuron_cause activation_bias(struct trn_exec *exec,
					 struct activation *act)
{
	const struct neuron_inst *inst = exec->inst;
	enum neuron_cause cause;

	act->bias.bits = inst->imm1;
	if (!(inst->flags & NEURON_INST_SRC1_COLUMN))
		return NEURON_CAUSE_NONE;
	act->bias.column = true;
	cause = trn_exec_tile(exec, &inst->src1, &act->bias.tile);
	if (cause)
		return cause;
	if (act->bias.tile.n != 1 || act->bias.tile.partitions != act->dst.partitions)
		return NEURON_CAUSE_OPERAND;
	return NEURON_CAUSE_NONE;
}

static enum neuron_cause activation_operands(struct trn_exec *exec,
					     struct activation *act)
{
	enum neuron_cause cause;

	cause = trn_exec_pair(exec, &act->dst, &act->src);
	if (cause)
		return cause;
	if (act->dst.n != act->src.n)
		return NEURON_CAUSE_OPERAND;
	cause = trn_exec_scalar(exec, 0, act->dst.partitions, &act->scale);
	if (!cause)
		cause = activation_bias(exec, act);
	return cause;
}

enum neuron_cause trn_exec_activate(struct trn_exec *exec)
{
	struct activation act = { .exec = exec, .func = exec->inst->op0 };
	struct trn_exec_walk walk = {
		.dst = &act.dst,
		.src = { &act.src },
		.heavy = true,
		.begin = activate_begin,
		.piece = activate,
	};
	uint32_t param = (uint32_t)exec->inst->addr;
	enum neuron_cause cause;

	if (trn_exec_before(exec, NEURON_ENGINE_GPSIMD, 4))
		return NEURON_CAUSE_OPCODE;
	if (!trn_act_valid(act.func) || !bias_valid(exec))
		return NEURON_CAUSE_OPERAND;
	memcpy(&act.param, &param, sizeof(act.param));
	cause = activation_operands(exec, &act);
	if (!cause)
		cause = trn_tile_touch(&act.dst);
	if (!cause)
		cause = trn_exec_acc_begin(exec, act.dst.partitions);
	return cause ? cause : trn_exec_walk_tile(exec, &walk, &act);
}
