// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The checks of an instruction that need no chip.
 */
#include <stddef.h>
#include <string.h>

#include "isa/trn_isa.h"

static unsigned int column_or(const struct neuron_inst *inst, unsigned int field)
{
	return inst->flags & NEURON_INST_SRC1_COLUMN ? TRN_FIELD_SRC1 : field;
}

static unsigned int col_or(const struct neuron_inst *inst, uint32_t flag,
			   unsigned int col, unsigned int imm)
{
	return trn_isa_flags(inst) & flag ? col : imm;
}

bool trn_isa_kind_is_alu(unsigned int kind)
{
	return kind == TRN_OP_ALU || kind == TRN_OP_ALU_OR_BYPASS ||
	       kind == TRN_OP_SCALAR || kind == TRN_OP_SCALAR_OR_BYPASS;
}

/* Operator @i of the instruction, 0 or 1, is one that has no operand of its own. */
static bool is_alone(const struct neuron_inst *inst, unsigned int i)
{
	const struct trn_isa *isa = trn_isa_lookup(inst->opcode);
	unsigned int op = i ? inst->op1 : inst->op0;

	return isa && trn_isa_kind_is_alu(isa->op[i]) &&
	       (op == NEURON_ALU_BYPASS || trn_isa_alu_is_unary(op));
}

/* A first scalar belongs to op0, where the instruction has such an operator. */
static unsigned int any0(const struct neuron_inst *inst)
{
	if (is_alone(inst, 0))
		return 0;
	return col_or(inst, NEURON_INST_COL0, TRN_FIELD_COL0, TRN_FIELD_IMM0);
}

/* The same, of op1. */
static unsigned int any1(const struct neuron_inst *inst)
{
	if (is_alone(inst, 1))
		return 0;
	return col_or(inst, NEURON_INST_COL1, TRN_FIELD_COL1, TRN_FIELD_IMM1);
}

static bool has_flag(const struct neuron_inst *inst, uint32_t flag)
{
	return trn_isa_flags(inst) & flag;
}

static unsigned int imm_or(const struct neuron_inst *inst, unsigned int field)
{
	return inst->flags & NEURON_INST_IMM ? TRN_FIELD_IMM0 : field;
}

/* The activation function of an instruction that has one. */
static unsigned int func_of(const struct neuron_inst *inst)
{
	const struct trn_isa *isa = trn_isa_lookup(inst->opcode);

	return isa && isa->func ? inst->reg[0] : inst->op0;
}

unsigned int trn_isa_operand_fields(enum trn_operand operand,
				    const struct neuron_inst *inst)
{
	switch (operand) {
	case TRN_OPD_NONE:
		return 0;
	case TRN_OPD_DST:
		return TRN_FIELD_DST;
	case TRN_OPD_SRC0:
		return TRN_FIELD_SRC0;
	case TRN_OPD_SRC1:
		return TRN_FIELD_SRC1;
	case TRN_OPD_SCALAR0:
		return is_alone(inst, 0) ? 0 : column_or(inst, TRN_FIELD_IMM0);
	case TRN_OPD_BIAS:
		return column_or(inst, TRN_FIELD_IMM1);
	case TRN_OPD_SCALE:
		return col_or(inst, NEURON_INST_COL0, TRN_FIELD_COL0, TRN_FIELD_IMM0);
	case TRN_OPD_ANY0:
		return any0(inst);
	case TRN_OPD_ANY1:
		return any1(inst);
	case TRN_OPD_PARAM:
		return trn_isa_act_has_param(func_of(inst)) ? TRN_FIELD_IMM2 : 0;
	case TRN_OPD_ANY_PARAM:
		return trn_isa_act_has_param(func_of(inst)) ?
		       column_or(inst, TRN_FIELD_IMM2) : 0;
	case TRN_OPD_FLOAT2:
	case TRN_OPD_INT2:
		return TRN_FIELD_IMM2;
	case TRN_OPD_STEPS0:
		return TRN_FIELD_STEPS0;
	case TRN_OPD_STEPS1:
		return TRN_FIELD_STEPS1;
	case TRN_OPD_MASK:
		return TRN_FIELD_MASK;
	case TRN_OPD_SRC0_OR_FILL:
		return imm_or(inst, TRN_FIELD_SRC0);
	case TRN_OPD_INDICES:
		return col_or(inst, NEURON_INST_COL1, TRN_FIELD_COL1, 0);
	case TRN_OPD_FLOAT0:
	case TRN_OPD_FILL:
	case TRN_OPD_TAG:
	case TRN_OPD_EVENT:
	case TRN_OPD_COUNT0:
	case TRN_OPD_INT0:
	case TRN_OPD_SEM0:
		return TRN_FIELD_IMM0;
	case TRN_OPD_COUNT1:
	case TRN_OPD_INT1:
	case TRN_OPD_SEM1:
		return TRN_FIELD_IMM1;
	case TRN_OPD_REG0:
		return TRN_FIELD_REG(0);
	case TRN_OPD_REG1:
		return TRN_FIELD_REG(1);
	case TRN_OPD_REG2:
		return TRN_FIELD_REG(2);
	case TRN_OPD_REG3:
		return TRN_FIELD_REG(3);
	case TRN_OPD_VALUE2:
		return imm_or(inst, TRN_FIELD_REG(2));
	case TRN_OPD_COMPARE0:
		return inst->op0 == NEURON_ALU_BYPASS ? 0 : TRN_FIELD_REG(0);
	case TRN_OPD_COMPARE1:
		return inst->op0 == NEURON_ALU_BYPASS ? 0 :
		       imm_or(inst, TRN_FIELD_REG(1));
	case TRN_OPD_TARGET:
	case TRN_OPD_ADDRESS:
		return TRN_FIELD_ADDR;
	case TRN_OPD_MEMORY:
		return TRN_FIELD_ADDR | TRN_FIELD_REG(1);
	case TRN_OPD_QUEUE:
		return TRN_FIELD_REG(0) | TRN_FIELD_REG(1);
	case TRN_OPD_LENGTH:
		return has_flag(inst, NEURON_INST_LENGTH) ? TRN_FIELD_IMM0 : 0;
	case TRN_OPD_DIMENSION:
		return has_flag(inst, NEURON_INST_LENGTH) ? TRN_FIELD_IMM1 : 0;
	case TRN_OPD_QUEUES:
		return has_flag(inst, NEURON_INST_QUEUES) ? TRN_FIELD_REG(2) : 0;
	}
	return 0;
}

static bool op_known(enum trn_op_kind kind, unsigned int op)
{
	switch (kind) {
	case TRN_OP_NONE:
		return op == 0;
	case TRN_OP_ALU:
		return op != NEURON_ALU_BYPASS && op_known(TRN_OP_ALU_OR_BYPASS, op);
	case TRN_OP_ALU_OR_BYPASS:
		return trn_isa_alu_name(op) && !trn_isa_alu_is_unary(op);
	case TRN_OP_SCALAR:
		return op != NEURON_ALU_BYPASS && trn_isa_alu_name(op);
	case TRN_OP_SCALAR_OR_BYPASS:
		return trn_isa_alu_name(op);
	case TRN_OP_INTEGER:
		return trn_isa_alu_is_integer(op);
	case TRN_OP_TEST:
		return trn_isa_alu_is_compare(op);
	case TRN_OP_COMPARE:
		return op == NEURON_ALU_BYPASS || trn_isa_alu_is_compare(op);
	case TRN_OP_ACT:
		return trn_isa_act_name(op);
	}
	return false;
}

/* Known operators; a second one only after a first one, as it is written. */
static bool ops_known(const struct trn_isa *isa, const struct neuron_inst *inst)
{
	if (isa->op[0] == TRN_OP_ALU_OR_BYPASS && inst->op0 == NEURON_ALU_BYPASS &&
	    inst->op1 != NEURON_ALU_BYPASS)
		return false;
	if (isa->func && !trn_isa_act_name(inst->reg[0]))
		return false;
	return op_known(isa->op[0], inst->op0) && op_known(isa->op[1], inst->op1);
}

static bool has_operand(const struct trn_isa *isa, enum trn_operand operand)
{
	unsigned int i;

	for (i = 0; i < TRN_ISA_OPERANDS; i++)
		if (isa->operand[i] == operand)
			return true;
	return false;
}

/* Flags that say something about an operand which is not there. */
static bool flags_make_sense(const struct trn_isa *isa,
			     const struct neuron_inst *inst)
{
	uint32_t flags = trn_isa_flags(inst);

	if (flags & ~isa->flags)
		return false;
	if (isa->op[0] == TRN_OP_COMPARE && inst->op0 == NEURON_ALU_BYPASS &&
	    (flags & NEURON_INST_IMM))
		return false;
	if ((flags & NEURON_INST_COL0) && has_operand(isa, TRN_OPD_ANY0) && !any0(inst))
		return false;
	if ((flags & NEURON_INST_COL1) && has_operand(isa, TRN_OPD_ANY1) && !any1(inst))
		return false;
	if ((flags & NEURON_INST_SRC1_COLUMN) && has_operand(isa, TRN_OPD_ANY_PARAM) &&
	    !trn_isa_act_has_param(func_of(inst)))
		return false;
	if ((flags & NEURON_INST_SRC1_COLUMN) && has_operand(isa, TRN_OPD_SCALAR0) &&
	    is_alone(inst, 0))
		return false;
	if ((flags & NEURON_INST_REVERSE0) && is_alone(inst, 0))
		return false;
	return !(flags & NEURON_INST_REVERSE1) || !is_alone(inst, 1);
}

static bool reduce_makes_sense(const struct trn_isa *isa,
			       const struct neuron_inst *inst)
{
	if (inst->op2 == NEURON_ALU_BYPASS)
		return !inst->reduce;
	return isa->reduces && trn_isa_alu_name(inst->op2) &&
	       inst->reduce < NEURON_NR_REDUCES;
}

static bool array_side_well_formed(unsigned int first, unsigned int size)
{
	return (size == 32 || size == 64 || size == 128) && first % size == 0 &&
	       first + size <= 128;
}

bool trn_isa_array_valid(const struct neuron_array *array)
{
	return array_side_well_formed(array->row, array->rows) &&
	       array_side_well_formed(array->col, array->cols);
}

static bool array_well_formed(const struct neuron_inst *inst)
{
	struct neuron_array array = neuron_array_get(inst->imm0);

	return !(trn_isa_flags(inst) & NEURON_INST_ARRAY) || trn_isa_array_valid(&array);
}

/* Something, and not beside a flag that leaves nothing to say. */
static bool written_well_formed(const struct neuron_inst *inst)
{
	struct neuron_written written = neuron_written_get(inst->addr);

	if (!(trn_isa_flags(inst) & NEURON_INST_WRITTEN))
		return true;
	return !(inst->flags & (NEURON_INST_ACCUMULATE | NEURON_INST_TRANSPOSE)) &&
	       written.lines && written.count;
}

static bool ap_is_zero(const struct neuron_ap *ap)
{
	static const struct neuron_ap zero;

	return !memcmp(ap, &zero, sizeof(zero));
}

static bool has_index(const struct neuron_ap *ap, unsigned int fields)
{
	return fields && ap->index;
}

unsigned int trn_isa_indirect(const struct trn_isa *isa, const struct neuron_inst *inst)
{
	unsigned int fields = 0;

	if (has_index(&inst->dst, isa->indirect & TRN_FIELD_DST))
		fields |= TRN_FIELD_DST;
	if (has_index(&inst->src0, isa->indirect & TRN_FIELD_SRC0))
		fields |= TRN_FIELD_SRC0;
	if (has_index(&inst->src1, isa->indirect & TRN_FIELD_SRC1))
		fields |= TRN_FIELD_SRC1;
	return fields;
}

/* One dimension, and the index in SBUF. */
static bool index_well_formed(const struct neuron_ap *ap)
{
	return ap->index == NEURON_AP_INDEX && ap->num[1] == 1 && ap->num[2] == 1 &&
	       ap->num[3] == 1 && !ap->step[2] && !ap->step[3] &&
	       !(neuron_ap_index(ap) & NEURON_AP_PSUM);
}

/* @indirect: it may have an index. */
static bool ap_well_formed(const struct neuron_ap *ap, bool indirect)
{
	return trn_isa_dtype_name(ap->dtype) && ap->offset_reg < NEURON_NR_REGS &&
	       (!ap->index || (indirect && index_well_formed(ap)));
}

/* A source as what @fields says: a tile, four steps, bytes, nothing. */
static bool source_well_formed(const struct trn_isa *isa, const struct neuron_ap *ap,
			       unsigned int fields, unsigned int tile,
			       unsigned int steps)
{
	static const uint8_t zero[sizeof(*ap) - 4 * sizeof(__le32)];

	if (fields & tile)
		return ap_well_formed(ap, isa->indirect & tile);
	if (fields & steps)
		return !memcmp((const uint8_t *)ap + 4 * sizeof(__le32), zero,
			       sizeof(zero));
	return ap_is_zero(ap);
}

static bool tiles_well_formed(const struct trn_isa *isa, const struct neuron_inst *inst,
			      unsigned int fields)
{
	if (fields & TRN_FIELD_DST ?
	    !ap_well_formed(&inst->dst, isa->indirect & TRN_FIELD_DST) :
	    !ap_is_zero(&inst->dst))
		return false;
	if (!source_well_formed(isa, &inst->src0, fields, TRN_FIELD_SRC0,
				TRN_FIELD_STEPS0))
		return false;
	return (fields & TRN_FIELD_MASK) ||
	       source_well_formed(isa, &inst->src1, fields, TRN_FIELD_SRC1,
				  TRN_FIELD_STEPS1);
}

static unsigned int fields_of(const struct trn_isa *isa,
			      const struct neuron_inst *inst)
{
	unsigned int fields = 0;
	unsigned int i;

	for (i = 0; i < TRN_ISA_OPERANDS && isa->operand[i] != TRN_OPD_NONE; i++)
		fields |= trn_isa_operand_fields(isa->operand[i], inst);
	if (trn_isa_flags(inst) & NEURON_INST_ARRAY)
		fields |= TRN_FIELD_IMM0;
	if (inst->reduce == NEURON_REDUCE_LOAD_REDUCE)
		fields |= TRN_FIELD_IMM3;
	if (trn_isa_flags(inst) & NEURON_INST_WRITTEN)
		fields |= TRN_FIELD_IMM2 | TRN_FIELD_IMM3;
	return fields;
}

static bool regs_well_formed(const struct trn_isa *isa,
			     const struct neuron_inst *inst, unsigned int fields)
{
	/* The first bytes may hold a queue's number and how many queues instead. */
	unsigned int first = isa->operand[0] != TRN_OPD_QUEUE ? 0 :
			     has_flag(inst, NEURON_INST_QUEUES) ? 3 : 2;
	unsigned int i;

	for (i = isa->func ? 1 : 0; i < 4; i++) {
		if (!(fields & TRN_FIELD_REG(i))) {
			if (inst->reg[i])
				return false;
		} else if (i >= first && inst->reg[i] >= NEURON_NR_REGS) {
			return false;
		}
	}
	return true;
}

/* The 64 bits of addr are an address, two immediates, one of them, or nothing. */
static bool addr_well_formed(const struct neuron_inst *inst, unsigned int fields)
{
	if (fields & TRN_FIELD_ADDR)
		return true;
	if (!(fields & TRN_FIELD_IMM2) && (uint32_t)inst->addr)
		return false;
	return (fields & TRN_FIELD_IMM3) || !(inst->addr >> 32);
}

/* fp32 has one spelling, zero. */
static bool column_type_known(const struct trn_isa *isa, const struct neuron_inst *inst,
			      unsigned int i)
{
	uint32_t flag = i ? NEURON_INST_COL1 : NEURON_INST_COL0;
	unsigned int dtype = inst->col_dtype[i];

	if (!dtype)
		return true;
	return (trn_isa_flags(inst) & isa->typed & flag) && dtype != NEURON_DTYPE_FP32 &&
	       trn_isa_dtype_name(dtype);
}

static bool fields_well_formed(const struct trn_isa *isa,
			       const struct neuron_inst *inst)
{
	unsigned int fields = fields_of(isa, inst);

	if (!tiles_well_formed(isa, inst, fields) || !regs_well_formed(isa, inst, fields) ||
	    !addr_well_formed(inst, fields))
		return false;
	if (!(fields & TRN_FIELD_MASK) &&
	    ((!(fields & TRN_FIELD_IMM0) && inst->imm0) ||
	     (!(fields & TRN_FIELD_IMM1) && inst->imm1)))
		return false;
	if ((!(fields & TRN_FIELD_COL0) && inst->col0) ||
	    (!(fields & TRN_FIELD_COL1) && inst->col1))
		return false;
	return column_type_known(isa, inst, 0) && column_type_known(isa, inst, 1) &&
	       !inst->reserved;
}

/* What the flags of DMA instructions ask for besides. */
static bool transfer_well_formed(const struct neuron_inst *inst)
{
	if (has_flag(inst, NEURON_INST_LANDED) && !NEURON_GET(NEURON_SYNC_POST, inst->sync))
		return false;
	if (has_flag(inst, NEURON_INST_LENGTH) &&
	    (!inst->imm0 || inst->imm0 >= NEURON_NR_REGS || inst->imm1 > 3))
		return false;
	return !has_flag(inst, NEURON_INST_QUEUES) || inst->reg[2];
}

static enum neuron_cause sync_check(const struct neuron_inst *inst)
{
	unsigned int wait = NEURON_GET(NEURON_SYNC_WAIT, inst->sync);
	unsigned int post = NEURON_GET(NEURON_SYNC_POST, inst->sync);

	if (inst->sync & ~(NEURON_SYNC_WAIT | NEURON_SYNC_TAKE | NEURON_SYNC_POST))
		return NEURON_CAUSE_OPERAND;
	if (wait > NEURON_SYNC_WAIT_EQ)
		return NEURON_CAUSE_OPERAND;
	if (wait == NEURON_SYNC_WAIT_NONE &&
	    ((inst->sync & NEURON_SYNC_TAKE) || inst->wait_sem || inst->wait_value))
		return NEURON_CAUSE_OPERAND;
	if (post == NEURON_SYNC_POST_NONE && (inst->post_sem || inst->post_value))
		return NEURON_CAUSE_OPERAND;
	if (inst->wait_sem > 255 || inst->post_sem > 255)
		return NEURON_CAUSE_SEMAPHORE;
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_isa_check(const struct neuron_inst *inst,
				unsigned int engine)
{
	const struct trn_isa *isa = trn_isa_lookup(inst->opcode);

	if (!isa)
		return NEURON_CAUSE_OPCODE;
	if (engine < NEURON_NR_ENGINES && !(isa->engines & NEURON_BIT(engine)))
		return NEURON_CAUSE_OPCODE;
	if (!ops_known(isa, inst) || !flags_make_sense(isa, inst) ||
	    !reduce_makes_sense(isa, inst) || !array_well_formed(inst) ||
	    !written_well_formed(inst) || !fields_well_formed(isa, inst) ||
	    !transfer_well_formed(inst))
		return NEURON_CAUSE_OPERAND;
	if (isa->operand[0] == TRN_OPD_EVENT && inst->imm0 > 255)
		return NEURON_CAUSE_SEMAPHORE;
	if (isa->operand[0] == TRN_OPD_SEM0 && inst->imm0 > inst->imm1)
		return NEURON_CAUSE_OPERAND;
	if (isa->operand[0] == TRN_OPD_SEM0 && inst->imm1 > 255)
		return NEURON_CAUSE_SEMAPHORE;
	return sync_check(inst);
}

/* What ops_known() asks for. */
static const char *operator_rule(const struct trn_isa *isa, const struct neuron_inst *inst)
{
	if (isa->func && !trn_isa_act_name(inst->reg[0]))
		return "there is no such activation function";
	return op_known(isa->op[0], inst->op0) ?
	       "the second operator is none of this instruction, or has no first one" :
	       "the first operator is none of this instruction";
}

/* What ap_well_formed() asks for; NULL: all is well. */
static const char *ap_rule(const struct neuron_ap *ap, bool indirect)
{
	if (ap->offset_reg >= NEURON_NR_REGS)
		return "a tile names a register above r63";
	if (!trn_isa_dtype_name(ap->dtype))
		return "a tile has no type that there is";
	return ap_well_formed(ap, indirect) ? NULL :
	       "a tile has an index, which the instruction does not allow or which is malformed";
}

/* What tiles_well_formed() asks for. */
static const char *tile_rule(const struct trn_isa *isa, const struct neuron_inst *inst,
			     unsigned int fields)
{
	const char *rule = NULL;

	if (fields & TRN_FIELD_DST)
		rule = ap_rule(&inst->dst, isa->indirect & TRN_FIELD_DST);
	if (!rule && (fields & TRN_FIELD_SRC0))
		rule = ap_rule(&inst->src0, isa->indirect & TRN_FIELD_SRC0);
	if (!rule && (fields & TRN_FIELD_SRC1))
		rule = ap_rule(&inst->src1, isa->indirect & TRN_FIELD_SRC1);
	return rule ? rule : "a tile stands where the instruction has none";
}

/* What fields_well_formed() asks for. */
static const char *field_rule(const struct trn_isa *isa, const struct neuron_inst *inst)
{
	unsigned int fields = fields_of(isa, inst);

	if (!tiles_well_formed(isa, inst, fields))
		return tile_rule(isa, inst, fields);
	if (!regs_well_formed(isa, inst, fields))
		return "a register is above r63, or named where the instruction has none";
	if (!column_type_known(isa, inst, 0) || !column_type_known(isa, inst, 1))
		return "a column has a type, and is fp32 in this instruction";
	return "a field that the instruction does not use is not 0";
}

/* What transfer_well_formed() asks for. */
static const char *transfer_rule(const struct neuron_inst *inst)
{
	if (has_flag(inst, NEURON_INST_LANDED) && !NEURON_GET(NEURON_SYNC_POST, inst->sync))
		return "landed says when a post happens, and there is no post";
	if (has_flag(inst, NEURON_INST_QUEUES) && !inst->reg[2])
		return "the number of queues is 0; 1 to 255 are possible";
	return "the length needs a register, r1 to r63, and a dimension, 0 to 3";
}

const char *trn_isa_rule(const struct neuron_inst *inst, unsigned int engine)
{
	const struct trn_isa *isa = trn_isa_lookup(inst->opcode);

	switch (trn_isa_check(inst, engine)) {
	case NEURON_CAUSE_NONE:
		return NULL;
	case NEURON_CAUSE_OPCODE:
		return "there is no such instruction, or the engine does not have it";
	case NEURON_CAUSE_SEMAPHORE:
		return "semaphores are s0 to s255, events e0 to e255";
	default:
		break;
	}
	if (!ops_known(isa, inst))
		return operator_rule(isa, inst);
	if (!flags_make_sense(isa, inst))
		return "a modifier is not one of this instruction, or its operand is not there";
	if (!reduce_makes_sense(isa, inst))
		return "a reduction needs an operator, and an instruction that can reduce";
	if (!array_well_formed(inst))
		return "a part of the array has 32, 64 or 128 rows and columns at a multiple";
	if (!written_well_formed(inst))
		return "written needs a range, and goes with neither acc nor transpose";
	if (!fields_well_formed(isa, inst))
		return field_rule(isa, inst);
	if (!transfer_well_formed(inst))
		return transfer_rule(inst);
	if (isa->operand[0] == TRN_OPD_SEM0 && inst->imm0 > inst->imm1)
		return "the last semaphore comes before the first one";
	return "wait and post are incomplete";
}

void trn_isa_mask(const struct neuron_inst *inst, uint8_t mask[NEURON_INST_MASK])
{
	memcpy(mask, (const uint8_t *)inst + offsetof(struct neuron_inst, src1),
	       NEURON_INST_MASK);
}
