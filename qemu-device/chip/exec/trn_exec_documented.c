// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Operators and engines that this chip could combine and hardware does not, as far as the
 * public documents say. Documentation/hardware/isa.rst lists them. The property
 * more-operators allows them.
 */
#include "base/trn_chip.h"
#include "exec/trn_exec.h"
#include "exec/trn_seq.h"

static bool uses(const struct trn_exec *exec, unsigned int op)
{
	const struct neuron_inst *inst = exec->inst;

	return (inst->op0 == op && trn_isa_kind_is_alu(exec->isa->op[0])) ||
	       (inst->op1 == op && trn_isa_kind_is_alu(exec->isa->op[1]));
}

static bool is_magnitude(unsigned int op)
{
	return op == NEURON_ALU_ABS_MAX || op == NEURON_ALU_ABS_MIN;
}

/* The engine has the instruction at all. */
static bool has_instruction(const struct trn_exec *exec)
{
	return exec->seq->engine != NEURON_ENGINE_GPSIMD ||
	       (exec->inst->opcode != NEURON_OP_ACTIVATE &&
		exec->inst->opcode != NEURON_OP_TENSOR_REDUCE);
}

static bool tensor_tensor_has(const struct trn_exec *exec)
{
	unsigned int op = exec->inst->op0;

	if (exec->inst->src1.index)
		return false;
	return exec->seq->engine != NEURON_ENGINE_GPSIMD ||
	       (!trn_isa_alu_is_bitwise(op) && !is_magnitude(op));
}

/* tensor_scalar_reduce: the vector engine, one operator, four reductions. */
static bool scalar_reduce_has(const struct trn_exec *exec)
{
	const struct neuron_inst *inst = exec->inst;

	if (exec->seq->engine != NEURON_ENGINE_VECTOR || inst->op1 != NEURON_ALU_BYPASS ||
	    (inst->flags & NEURON_INST_REVERSE0))
		return false;
	return inst->op2 == NEURON_ALU_ADD || inst->op2 == NEURON_ALU_MULTIPLY ||
	       inst->op2 == NEURON_ALU_MAX || inst->op2 == NEURON_ALU_MIN;
}

static bool tensor_scalar_has(const struct trn_exec *exec)
{
	const struct neuron_inst *inst = exec->inst;

	if (exec->seq->engine == NEURON_ENGINE_GPSIMD &&
	    (inst->op0 != NEURON_ALU_RSQRT || inst->op1 != NEURON_ALU_BYPASS))
		return false;
	if ((inst->flags & NEURON_INST_SRC1_COLUMN) && !trn_isa_alu_is_bitwise(inst->op0) &&
	    inst->src1.dtype != NEURON_DTYPE_FP32)
		return false;
	return inst->op2 == NEURON_ALU_BYPASS || scalar_reduce_has(exec);
}

static bool copy_has(const struct trn_exec *exec)
{
	return exec->seq->engine != NEURON_ENGINE_GPSIMD ||
	       (!exec->inst->dst.index && !exec->inst->src0.index);
}

static bool has_operators(const struct trn_exec *exec)
{
	if (uses(exec, NEURON_ALU_DIVIDE))
		return false;
	switch (exec->inst->opcode) {
	case NEURON_OP_TENSOR_TENSOR:
		return tensor_tensor_has(exec);
	case NEURON_OP_TENSOR_SCALAR:
		return tensor_scalar_has(exec);
	case NEURON_OP_COPY:
		return copy_has(exec);
	case NEURON_OP_TENSOR_REDUCE:
		return !is_magnitude(exec->inst->op0);
	default:
		return true;
	}
}

enum neuron_cause trn_exec_check_documented(const struct trn_exec *exec)
{
	if (exec->core->chip->config.more_operators)
		return NEURON_CAUSE_NONE;
	if (!has_instruction(exec))
		return NEURON_CAUSE_OPCODE;
	return has_operators(exec) ? NEURON_CAUSE_NONE : NEURON_CAUSE_OPERAND;
}

/* Hardware makes the descriptors for Sync and Scalar, software on GpSimd for that engine. */
static bool makes_descriptors(const struct trn_exec *exec)
{
	switch (exec->seq->engine) {
	case NEURON_ENGINE_GPSIMD:
		return true;
	case NEURON_ENGINE_SYNC:
	case NEURON_ENGINE_SCALAR:
		return exec->core->chip->gen->generation >= 3;
	default:
		return false;
	}
}

/* What hardware makes them for: it neither gathers nor casts nor calculates. */
static bool hardware_makes(const struct neuron_udma_op *op)
{
	return (op->op == NEURON_UDMA_OP_COPY || op->op == NEURON_UDMA_OP_TRANSPOSE) &&
	       op->src_dtype == op->dst_dtype && !op->nr_index;
}

enum neuron_cause trn_exec_check_generate(const struct trn_exec *exec,
					  const struct neuron_udma_op *op)
{
	if (exec->core->chip->config.more_operators || trn_core_is_cc(exec->core))
		return NEURON_CAUSE_NONE;
	if (!makes_descriptors(exec))
		return NEURON_CAUSE_OPCODE;
	if (exec->seq->engine == NEURON_ENGINE_GPSIMD || !op || hardware_makes(op))
		return NEURON_CAUSE_NONE;
	return NEURON_CAUSE_OPERAND;
}
