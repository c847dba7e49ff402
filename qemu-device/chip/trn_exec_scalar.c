// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The scalar engine's own instruction: an activation function.
 */
#include <string.h>

#include "trn_exec.h"
#include "trn_num.h"

struct activation {
	struct trn_tile dst, src, bias;
	unsigned int func;
	float scale;
	float bias_value;
	bool column;
};

static void activate(void *arg, const struct trn_lines *lines)
{
	const struct activation *act = arg;
	float bias = act->bias_value;
	size_t first, n;
	unsigned int p;

	for (p = 0; p < act->dst.partitions; p++) {
		if (act->column)
			trn_tile_load(&act->bias, p, 0, 1, &bias);
		for (first = 0; first < act->dst.n; first += n) {
			n = act->dst.n - first;
			if (n > lines->piece)
				n = lines->piece;
			trn_tile_load(&act->src, p, first, n, lines->a);
			trn_act(act->func, lines->a, lines->a, act->scale, bias,
				0.0f, n);
			trn_tile_store(&act->dst, p, first, n, lines->a);
		}
	}
}

static enum neuron_cause activation_tiles(struct trn_exec *exec,
					  struct activation *act)
{
	const struct neuron_inst *inst = exec->inst;
	enum neuron_cause cause;

	cause = trn_exec_tile(exec, &inst->dst, &act->dst);
	if (cause)
		return cause;
	cause = trn_exec_tile(exec, &inst->src0, &act->src);
	if (cause)
		return cause;
	if (act->dst.partitions != act->src.partitions || act->dst.n != act->src.n)
		return NEURON_CAUSE_OPERAND;
	trn_exec_note(exec, &act->dst);
	trn_exec_note(exec, &act->src);
	if (!act->column)
		return NEURON_CAUSE_NONE;
	cause = trn_exec_tile(exec, &inst->src1, &act->bias);
	if (cause)
		return cause;
	if (act->bias.n != 1 || act->bias.partitions != act->dst.partitions)
		return NEURON_CAUSE_OPERAND;
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_exec_scalar(struct trn_exec *exec)
{
	const struct neuron_inst *inst = exec->inst;
	struct activation act = {
		.func = inst->op0,
		.column = inst->flags & NEURON_INST_SRC1_COLUMN,
	};
	enum neuron_cause cause;

	if (inst->opcode != NEURON_OP_ACTIVATE)
		return NEURON_CAUSE_OPCODE;
	if (!trn_act_valid(act.func))
		return NEURON_CAUSE_OPERAND;
	cause = activation_tiles(exec, &act);
	if (cause)
		return cause;
	memcpy(&act.scale, &inst->imm0, sizeof(act.scale));
	memcpy(&act.bias_value, &inst->imm1, sizeof(act.bias_value));
	cause = trn_tile_touch(&act.dst);
	if (cause)
		return cause;
	trn_exec_lines(trn_tile_piecewise(&act.dst, &act.src), activate, &act);
	return NEURON_CAUSE_NONE;
}
