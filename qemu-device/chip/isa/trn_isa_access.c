// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * What an instruction reads and writes. What the instruction table does not say about its
 * opcode is here, and nowhere else.
 */
#include "isa/trn_isa_access.h"

/* NONZERO_WITH_COUNT works in the first partition of each core of GpSimd. */
#define COUNT_LANES	16
/* MX scales lie in a few partitions of each quadrant, a shuffle stays inside of one. */
#define QUADRANT	32
#define SCALE_LANES	4

static const unsigned int field_of[TRN_ISA_ROLES] = {
	[TRN_ISA_DST] = TRN_FIELD_DST,
	[TRN_ISA_SRC0] = TRN_FIELD_SRC0,
	[TRN_ISA_SRC1] = TRN_FIELD_SRC1,
	[TRN_ISA_COL0] = TRN_FIELD_COL0,
	[TRN_ISA_COL1] = TRN_FIELD_COL1,
};

static unsigned int fields_of(const struct neuron_inst *inst)
{
	const struct trn_isa *isa = trn_isa_lookup(inst->opcode);
	unsigned int fields = 0, i;

	for (i = 0; isa && i < TRN_ISA_OPERANDS; i++)
		fields |= trn_isa_operand_fields(isa->operand[i], inst);
	return fields;
}

static struct neuron_ap column_ap(const struct neuron_inst *inst, enum trn_isa_role role)
{
	bool indices = inst->opcode == NEURON_OP_MATCH_REPLACE8;
	unsigned int i = role == TRN_ISA_COL1;

	return (struct neuron_ap){
		.addr = i ? inst->col1 : inst->col0,
		.num = { indices ? 8 : 1, 1, 1, 1 },
		.step = { 1 },
		.partitions = inst->dst.partitions,
		.dtype = (uint8_t)trn_isa_column_dtype(inst, i),
	};
}

static struct neuron_ap ap_of(const struct neuron_inst *inst, enum trn_isa_role role)
{
	switch (role) {
	case TRN_ISA_DST:
		return inst->dst;
	case TRN_ISA_SRC0:
		return inst->src0;
	case TRN_ISA_SRC1:
		return inst->src1;
	default:
		return column_ap(inst, role);
	}
}

bool trn_isa_is_product(const struct neuron_inst *inst)
{
	return inst->opcode == NEURON_OP_MATMUL || inst->opcode == NEURON_OP_MATMUL_SPARSE ||
	       inst->opcode == NEURON_OP_MATMUL_MX;
}

static bool is_written(const struct neuron_inst *inst, enum trn_isa_role role)
{
	switch (inst->opcode) {
	case NEURON_OP_TOPK:
	case NEURON_OP_QUANTIZE_MX:
		return role == TRN_ISA_DST || role == TRN_ISA_SRC1;
	case NEURON_OP_MATCH_REPLACE8:
		return role == TRN_ISA_DST || role == TRN_ISA_COL1;
	default:
		return role == TRN_ISA_DST;
	}
}

static bool is_read(const struct neuron_inst *inst, enum trn_isa_role role)
{
	if (!is_written(inst, role))
		return true;
	return role == TRN_ISA_DST && trn_isa_is_product(inst) &&
	       (trn_isa_flags(inst) & (NEURON_INST_ACCUMULATE | NEURON_INST_WRITTEN));
}

/* A product that adds in a part of its destination. */
static bool adds_partly(const struct neuron_inst *inst, enum trn_isa_role role)
{
	return role == TRN_ISA_DST && trn_isa_is_product(inst) &&
	       (trn_isa_flags(inst) & NEURON_INST_WRITTEN);
}

/* What is read depends on other operands. */
static bool reads_partly(const struct neuron_inst *inst, enum trn_isa_role role)
{
	if (adds_partly(inst, role))
		return true;
	switch (inst->opcode) {
	case NEURON_OP_COPY_PREDICATED:
	case NEURON_OP_SELECT_REDUCE:
	case NEURON_OP_RANGE_SELECT:
	case NEURON_OP_AFFINE_SELECT:
	case NEURON_OP_MATMUL_SPARSE:
	case NEURON_OP_STREAM_SHUFFLE:
	case NEURON_OP_TOPK:
		return role == TRN_ISA_SRC0;
	case NEURON_OP_LOCAL_GATHER:
		return role == TRN_ISA_SRC1 && inst->imm1;
	default:
		return false;
	}
}

static bool is_table(const struct neuron_inst *inst, enum trn_isa_role role)
{
	return role == TRN_ISA_SRC0 && (inst->opcode == NEURON_OP_GATHER ||
					inst->opcode == NEURON_OP_LOCAL_GATHER);
}

unsigned int trn_isa_roles(const struct neuron_inst *inst)
{
	unsigned int fields = fields_of(inst), roles = 0, i;

	for (i = 0; i < TRN_ISA_ROLES; i++)
		if (fields & field_of[i])
			roles |= NEURON_BIT(i);
	return roles;
}

struct trn_isa_access trn_isa_access_of(const struct neuron_inst *inst, enum trn_isa_role role)
{
	return (struct trn_isa_access){
		.ap = ap_of(inst, role),
		.read = is_read(inst, role),
		.write = is_written(inst, role),
		.partly = reads_partly(inst, role),
		.table = is_table(inst, role),
	};
}

bool trn_isa_access(const struct neuron_inst *inst, enum trn_isa_role role,
		    struct trn_isa_access *access)
{
	if (!(fields_of(inst) & field_of[role]))
		return false;
	*access = trn_isa_access_of(inst, role);
	return true;
}

static bool has_scale(uint32_t first, unsigned int p)
{
	return p % QUADRANT >= first && p % QUADRANT < first + SCALE_LANES;
}

static bool shuffles(const struct neuron_inst *inst, enum trn_isa_role role, unsigned int p)
{
	uint8_t mask[NEURON_INST_MASK];
	unsigned int i;

	trn_isa_mask(inst, mask);
	if (role == TRN_ISA_DST)
		return mask[p % QUADRANT] < QUADRANT;
	for (i = 0; i < sizeof(mask); i++)
		if (mask[i] == p % QUADRANT)
			return true;
	return false;
}

bool trn_isa_access_partition(const struct neuron_inst *inst, enum trn_isa_role role,
			      unsigned int p)
{
	switch (inst->opcode) {
	case NEURON_OP_NONZERO_WITH_COUNT:
		return p % COUNT_LANES == 0;
	case NEURON_OP_LOAD_MX:
	case NEURON_OP_MATMUL_MX:
		return role != TRN_ISA_SRC1 || has_scale(inst->imm1, p);
	case NEURON_OP_QUANTIZE_MX:
		return role != TRN_ISA_SRC1 || has_scale(inst->imm0, p);
	case NEURON_OP_STREAM_SHUFFLE:
		return shuffles(inst, role, p);
	default:
		return true;
	}
}
