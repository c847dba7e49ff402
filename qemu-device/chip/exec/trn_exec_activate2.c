// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The scalar engine's three stages of NeuronCore-v4: two operators with scalars, an
 * activation function, a reduction.
 */
#include "exec/trn_exec.h"
#include "num/trn_num.h"

struct activation2 {
	struct trn_exec *exec;
	const struct neuron_inst *inst;
	struct trn_tile dst, src;
	struct trn_scalar s0, s1, param;
};

/* The operands of a partition that are one number for all of its elements. */
enum { WITH_S0, WITH_S1, WITH_PARAM };

static void activate2_piece(const struct neuron_inst *inst, float *line,
			    const float *with, size_t n)
{
	if (inst->op0 != NEURON_ALU_BYPASS)
		trn_alu_vs(inst->op0, line, line, with[WITH_S0],
			   inst->flags & NEURON_INST_REVERSE0, n);
	if (inst->op1 != NEURON_ALU_BYPASS)
		trn_alu_vs(inst->op1, line, line, with[WITH_S1],
			   inst->flags & NEURON_INST_REVERSE1, n);
	/* This scale and this bias change no number, -0 included. */
	trn_act(inst->reg[0], line, line, 1.0f, -0.0f, with[WITH_PARAM], n);
}

static void activate2_begin(void *arg, unsigned int p)
{
	const struct activation2 *act = arg;
	float *with = trn_exec_carry(act->exec);

	with[WITH_S0] = trn_scalar_at(&act->s0, p);
	with[WITH_S1] = trn_scalar_at(&act->s1, p);
	with[WITH_PARAM] = trn_scalar_at(&act->param, p);
}

static void activate2(void *arg, unsigned int p, size_t first, size_t n,
		      const struct trn_lines *lines)
{
	const struct activation2 *act = arg;

	trn_tile_load(&act->src, p, first, n, lines->a);
	activate2_piece(act->inst, lines->a, trn_exec_carry(act->exec), n);
	trn_exec_acc_line(act->exec, p, lines->a, n);
	trn_tile_store(&act->dst, p, first, n, lines->a);
}

/* The pairs of operators that there are. */
static bool ops_valid(const struct neuron_inst *inst)
{
	switch (inst->op0) {
	case NEURON_ALU_MULTIPLY:
		return inst->op1 == NEURON_ALU_ADD ||
		       inst->op1 == NEURON_ALU_SUBTRACT ||
		       inst->op1 == NEURON_ALU_BYPASS;
	case NEURON_ALU_ADD:
	case NEURON_ALU_SUBTRACT:
	case NEURON_ALU_BYPASS:
		return inst->op1 == NEURON_ALU_BYPASS;
	}
	return false;
}

/* The function's parameter: a number, or a column of fp32. */
static enum neuron_cause activation_param(struct trn_exec *exec, struct activation2 *act)
{
	const struct neuron_inst *inst = exec->inst;
	struct trn_tile *tile = &act->param.tile;
	enum neuron_cause cause;

	act->param.bits = (uint32_t)inst->addr;
	if (!(inst->flags & NEURON_INST_SRC1_COLUMN))
		return NEURON_CAUSE_NONE;
	act->param.column = true;
	cause = trn_exec_tile(exec, &inst->src1, tile);
	if (cause)
		return cause;
	if (tile->n != 1 || tile->partitions != act->dst.partitions ||
	    tile->dtype != NEURON_DTYPE_FP32)
		return NEURON_CAUSE_OPERAND;
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_exec_activate2(struct trn_exec *exec)
{
	struct activation2 act = { .exec = exec, .inst = exec->inst };
	struct trn_exec_walk walk = {
		.dst = &act.dst,
		.src = { &act.src },
		.heavy = true,
		.begin = activate2_begin,
		.piece = activate2,
	};
	enum neuron_cause cause;

	if (!trn_act_valid(exec->inst->reg[0]) || !ops_valid(exec->inst))
		return NEURON_CAUSE_OPERAND;
	cause = trn_exec_pair(exec, &act.dst, &act.src);
	if (cause)
		return cause;
	if (act.dst.n != act.src.n)
		return NEURON_CAUSE_OPERAND;
	cause = trn_exec_scalar(exec, 0, act.dst.partitions, &act.s0);
	if (!cause)
		cause = trn_exec_scalar(exec, 1, act.dst.partitions, &act.s1);
	if (!cause && act.s0.column && act.s1.column &&
	    act.s0.tile.dtype != act.s1.tile.dtype)
		cause = NEURON_CAUSE_OPERAND;
	if (!cause)
		cause = activation_param(exec, &act);
	if (!cause)
		cause = trn_tile_touch(&act.dst);
	if (!cause)
		cause = trn_exec_acc_begin(exec, act.dst.partitions);
	return cause ? cause : trn_exec_walk_tile(exec, &walk, &act);
}
