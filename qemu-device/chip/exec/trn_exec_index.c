// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The rules for tiles with an index: where the parts of an instruction begin, what the
 * tensor engine takes, and that no index changes while it is used.
 */
#include "base/trn_chip.h"
#include "exec/trn_exec.h"
#include "exec/trn_seq.h"
#include "num/trn_num.h"

static unsigned int first_partition(uint32_t addr)
{
	return NEURON_GET(NEURON_AP_PARTITION, addr);
}

/* A source begins in the partition in which its index begins. */
static bool source_valid(const struct neuron_ap *ap)
{
	return first_partition(ap->addr) == first_partition(neuron_ap_index(ap));
}

/* Where the index of the destination has to begin; -1: anywhere. */
static int index_wanted(const struct trn_exec *exec, unsigned int indirect)
{
	const struct neuron_inst *inst = exec->inst;
	bool number = inst->opcode == NEURON_OP_COPY_PREDICATED &&
		      (inst->flags & NEURON_INST_IMM);
	const struct neuron_ap *source = number ? &inst->src1 : &inst->src0;
	unsigned int field = number ? TRN_FIELD_SRC1 : TRN_FIELD_SRC0;

	if ((source->addr & NEURON_AP_PSUM) && !(indirect & field))
		return -1;
	return (int)first_partition(source->addr);
}

static bool destination_valid(const struct trn_exec *exec, unsigned int indirect)
{
	const struct neuron_ap *dst = &exec->inst->dst;
	int wanted = index_wanted(exec, indirect);

	if (exec->seq->engine == NEURON_ENGINE_SCALAR && (dst->addr & NEURON_AP_PSUM))
		return false;
	return wanted < 0 || (int)first_partition(neuron_ap_index(dst)) == wanted;
}

/* The scales of an MX operand go where its elements go: by the same index or by none. */
static bool scales_valid(const struct neuron_inst *inst)
{
	if (inst->opcode != NEURON_OP_LOAD_MX && inst->opcode != NEURON_OP_MATMUL_MX)
		return true;
	return inst->src0.index == inst->src1.index &&
	       (!inst->src0.index || neuron_ap_index(&inst->src0) == neuron_ap_index(&inst->src1));
}

/* What the array widens from four bytes it does not gather. */
static bool array_valid(const struct trn_exec *exec, unsigned int indirect)
{
	const struct neuron_inst *inst = exec->inst;
	uint32_t flags = trn_isa_flags(inst);

	if (exec->isa->unit != TRN_ISA_TENSOR)
		return true;
	if ((flags & NEURON_INST_ARRAY) || !scales_valid(inst))
		return false;
	if (!(indirect & TRN_FIELD_SRC0))
		return true;
	if (inst->opcode == NEURON_OP_MATMUL && (flags & NEURON_INST_TRANSPOSE))
		return false;
	return inst->src0.dtype != NEURON_DTYPE_FP32 && inst->src0.dtype != NEURON_DTYPE_TF32 &&
	       inst->src0.dtype != NEURON_DTYPE_FP8_E3;
}

static bool places_valid(const struct trn_exec *exec, unsigned int indirect)
{
	const struct neuron_inst *inst = exec->inst;

	if ((indirect & TRN_FIELD_SRC0) && !source_valid(&inst->src0))
		return false;
	if ((indirect & TRN_FIELD_SRC1) && !source_valid(&inst->src1))
		return false;
	if ((indirect & TRN_FIELD_DST) && !destination_valid(exec, indirect))
		return false;
	return array_valid(exec, indirect);
}

/* The index of @ap, if it has one, must not lie under @dst. */
static enum neuron_cause stays(struct trn_exec *exec, bool indirect,
			       const struct neuron_ap *ap, const struct trn_tile *dst)
{
	struct trn_tile tile;
	enum neuron_cause cause;

	if (!indirect || exec->more)
		return NEURON_CAUSE_NONE;
	cause = trn_exec_measure(exec, ap);
	if (cause || exec->more)
		return cause;
	cause = trn_exec_tile_raw(exec, ap, &tile);
	if (cause)
		return cause;
	return trn_index_overlaps(&tile, dst) ? NEURON_CAUSE_OPERAND : NEURON_CAUSE_NONE;
}

static enum neuron_cause indices_stay(struct trn_exec *exec, unsigned int indirect)
{
	const struct neuron_inst *inst = exec->inst;
	enum neuron_cause cause;
	struct trn_tile dst;

	/* Loading the array writes no tile. */
	if (!inst->dst.dtype)
		return NEURON_CAUSE_NONE;
	cause = indirect & TRN_FIELD_DST ? trn_exec_measure(exec, &inst->dst) :
					   NEURON_CAUSE_NONE;
	if (cause || exec->more)
		return cause;
	cause = trn_exec_tile_raw(exec, &inst->dst, &dst);
	if (!cause)
		cause = stays(exec, indirect & TRN_FIELD_DST, &inst->dst, &dst);
	if (!cause)
		cause = stays(exec, indirect & TRN_FIELD_SRC0, &inst->src0, &dst);
	if (!cause)
		cause = stays(exec, indirect & TRN_FIELD_SRC1, &inst->src1, &dst);
	return cause;
}

enum neuron_cause trn_exec_check_index(struct trn_exec *exec)
{
	const struct neuron_inst *inst = exec->inst;
	unsigned int indirect;

	/* Of nearly all instructions no tile has one. */
	if (!(inst->dst.index | inst->src0.index | inst->src1.index))
		return NEURON_CAUSE_NONE;
	indirect = trn_isa_indirect(exec->isa, inst);
	if (!indirect)
		return NEURON_CAUSE_NONE;
	if (exec->core->chip->gen->generation < 4 || !places_valid(exec, indirect))
		return NEURON_CAUSE_OPERAND;
	return indices_stay(exec, indirect);
}
