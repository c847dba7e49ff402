// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * How the later instructions of an engine convert numbers.
 */
#include "exec/trn_exec.h"
#include "exec/trn_seq.h"
#include "num/trn_num.h"

static enum neuron_cause set_mode(struct trn_seq *seq, const struct trn_num_mode *mode)
{
	if (!trn_num_mode_valid(mode))
		return NEURON_CAUSE_OPERAND;
	seq->mode = *mode;
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_exec_set_rounding(struct trn_exec *exec)
{
	const struct neuron_inst *inst = exec->inst;
	struct trn_num_mode mode = exec->seq->mode;

	if (inst->imm0 > TRN_ROUND_STOCHASTIC)
		return NEURON_CAUSE_OPERAND;
	mode.rounding = (uint8_t)inst->imm0;
	exec->seq->sr_seed = inst->imm1;
	return set_mode(exec->seq, &mode);
}

static bool is_byte(uint32_t bits)
{
	return (int32_t)bits >= INT8_MIN && (int32_t)bits <= INT8_MAX;
}

enum neuron_cause trn_exec_set_fp8_bias(struct trn_exec *exec)
{
	const struct neuron_inst *inst = exec->inst;
	const uint32_t bias[3] = { inst->imm0, inst->imm1, (uint32_t)inst->addr };
	struct trn_num_mode mode = exec->seq->mode;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		if (!is_byte(bias[i]))
			return NEURON_CAUSE_OPERAND;
		mode.fp8_bias[i] = (int8_t)bias[i];
	}
	return set_mode(exec->seq, &mode);
}
