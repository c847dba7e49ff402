// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The instruction table and the checks that need no chip.
 */
#include <string.h>

#include "trn_isa.h"

#define ENGINE(e)	NEURON_BIT(NEURON_ENGINE_##e)
#define ALL_ENGINES	(NEURON_BIT(NEURON_NR_ENGINES) - 1)
#define VECTOR_GPSIMD	(ENGINE(VECTOR) | ENGINE(GPSIMD))

static const struct trn_isa isa_table[] = {
	{
		.opcode = NEURON_OP_HALT,
		.name = "halt",
		.unit = TRN_UNIT_SEQUENCER,
		.engines = ALL_ENGINES,
		.cost = TRN_COST_ISSUE,
	}, {
		.opcode = NEURON_OP_NOP,
		.name = "nop",
		.unit = TRN_UNIT_SEQUENCER,
		.engines = ALL_ENGINES,
		.cost = TRN_COST_ISSUE,
	}, {
		.opcode = NEURON_OP_NOTIFY,
		.name = "notify",
		.unit = TRN_UNIT_SEQUENCER,
		.engines = ALL_ENGINES,
		.cost = TRN_COST_ISSUE,
		.operand = { TRN_OPD_TAG },
	}, {
		.opcode = NEURON_OP_DMA_TRIGGER,
		.name = "dma_trigger",
		.unit = TRN_UNIT_SEQUENCER,
		.engines = ALL_ENGINES,
		.cost = TRN_COST_ISSUE,
		.operand = { TRN_OPD_QUEUE, TRN_OPD_COUNT0, TRN_OPD_COUNT1 },
	}, {
		.opcode = NEURON_OP_DMA_GENERATE,
		.name = "dma_generate",
		.unit = TRN_UNIT_SEQUENCER,
		.engines = ALL_ENGINES,
		.cost = TRN_COST_ISSUE,
		.operand = { TRN_OPD_QUEUE, TRN_OPD_ADDRESS, TRN_OPD_REG2,
			     TRN_OPD_REG3 },
	}, {
		.opcode = NEURON_OP_EVENT_SET,
		.name = "event_set",
		.unit = TRN_UNIT_SEQUENCER,
		.engines = ALL_ENGINES,
		.cost = TRN_COST_ISSUE,
		.operand = { TRN_OPD_EVENT },
	}, {
		.opcode = NEURON_OP_EVENT_CLEAR,
		.name = "event_clear",
		.unit = TRN_UNIT_SEQUENCER,
		.engines = ALL_ENGINES,
		.cost = TRN_COST_ISSUE,
		.operand = { TRN_OPD_EVENT },
	}, {
		.opcode = NEURON_OP_EVENT_WAIT,
		.name = "event_wait",
		.unit = TRN_UNIT_SEQUENCER,
		.engines = ALL_ENGINES,
		.flags = NEURON_INST_CLEAR,
		.cost = TRN_COST_ISSUE,
		.operand = { TRN_OPD_EVENT },
	}, {
		.opcode = NEURON_OP_REG_SET,
		.name = "reg_set",
		.unit = TRN_UNIT_SEQUENCER,
		.engines = ALL_ENGINES,
		.cost = TRN_COST_ISSUE,
		.operand = { TRN_OPD_REG0, TRN_OPD_INT0 },
	}, {
		.opcode = NEURON_OP_REG_ALU,
		.name = "reg_alu",
		.unit = TRN_UNIT_SEQUENCER,
		.engines = ALL_ENGINES,
		.flags = NEURON_INST_IMM,
		.cost = TRN_COST_ISSUE,
		.op = { TRN_OP_INTEGER },
		.operand = { TRN_OPD_REG0, TRN_OPD_REG1, TRN_OPD_VALUE2 },
	}, {
		.opcode = NEURON_OP_BRANCH,
		.name = "branch",
		.unit = TRN_UNIT_SEQUENCER,
		.engines = ALL_ENGINES,
		.flags = NEURON_INST_IMM,
		.cost = TRN_COST_ISSUE,
		.op = { TRN_OP_COMPARE },
		.operand = { TRN_OPD_COMPARE0, TRN_OPD_COMPARE1, TRN_OPD_TARGET },
	}, {
		.opcode = NEURON_OP_LOOP,
		.name = "loop",
		.unit = TRN_UNIT_SEQUENCER,
		.engines = ALL_ENGINES,
		.cost = TRN_COST_ISSUE,
		.operand = { TRN_OPD_REG0, TRN_OPD_TARGET },
	}, {
		.opcode = NEURON_OP_REG_LOAD,
		.name = "reg_load",
		.unit = TRN_UNIT_SEQUENCER,
		.engines = ALL_ENGINES,
		.cost = TRN_COST_ISSUE,
		.operand = { TRN_OPD_REG0, TRN_OPD_MEMORY },
	}, {
		.opcode = NEURON_OP_REG_STORE,
		.name = "reg_store",
		.unit = TRN_UNIT_SEQUENCER,
		.engines = ALL_ENGINES,
		.cost = TRN_COST_ISSUE,
		.operand = { TRN_OPD_MEMORY, TRN_OPD_REG0 },
	}, {
		.opcode = NEURON_OP_LOAD_STATIONARY,
		.name = "load_stationary",
		.unit = TRN_UNIT_TENSOR,
		.engines = ENGINE(TENSOR),
		.cost = TRN_COST_LOAD,
		.operand = { TRN_OPD_SRC0 },
	}, {
		.opcode = NEURON_OP_MATMUL,
		.name = "matmul",
		.unit = TRN_UNIT_TENSOR,
		.engines = ENGINE(TENSOR),
		.flags = NEURON_INST_ACCUMULATE,
		.cost = TRN_COST_MATMUL,
		.operand = { TRN_OPD_DST, TRN_OPD_SRC0 },
	}, {
		.opcode = NEURON_OP_TENSOR_TENSOR,
		.name = "tensor_tensor",
		.unit = TRN_UNIT_VECTOR,
		.engines = VECTOR_GPSIMD,
		.cost = TRN_COST_TWO_TILES,
		.op = { TRN_OP_ALU },
		.operand = { TRN_OPD_DST, TRN_OPD_SRC0, TRN_OPD_SRC1 },
	}, {
		.opcode = NEURON_OP_TENSOR_SCALAR,
		.name = "tensor_scalar",
		.unit = TRN_UNIT_VECTOR,
		.engines = VECTOR_GPSIMD | ENGINE(SCALAR),
		.flags = NEURON_INST_SRC1_COLUMN | NEURON_INST_REVERSE0 |
			 NEURON_INST_REVERSE1,
		.cost = TRN_COST_ONE_TILE,
		.op = { TRN_OP_ALU, TRN_OP_ALU_OR_BYPASS },
		.operand = { TRN_OPD_DST, TRN_OPD_SRC0, TRN_OPD_SCALAR0,
			     TRN_OPD_FLOAT1 },
	}, {
		.opcode = NEURON_OP_TENSOR_REDUCE,
		.name = "tensor_reduce",
		.unit = TRN_UNIT_VECTOR,
		.engines = VECTOR_GPSIMD,
		.flags = NEURON_INST_NEGATE,
		.cost = TRN_COST_REDUCE,
		.op = { TRN_OP_ALU },
		.operand = { TRN_OPD_DST, TRN_OPD_SRC0, TRN_OPD_COUNT0 },
	}, {
		.opcode = NEURON_OP_COPY,
		.name = "copy",
		.unit = TRN_UNIT_VECTOR,
		.engines = VECTOR_GPSIMD | ENGINE(SCALAR),
		.cost = TRN_COST_ONE_TILE,
		.operand = { TRN_OPD_DST, TRN_OPD_SRC0 },
	}, {
		.opcode = NEURON_OP_MEMSET,
		.name = "memset",
		.unit = TRN_UNIT_VECTOR,
		.engines = VECTOR_GPSIMD,
		.cost = TRN_COST_ONE_TILE,
		.operand = { TRN_OPD_DST, TRN_OPD_FILL },
	}, {
		.opcode = NEURON_OP_ACTIVATE,
		.name = "activate",
		.unit = TRN_UNIT_SCALAR,
		.engines = ENGINE(SCALAR),
		.flags = NEURON_INST_SRC1_COLUMN,
		.cost = TRN_COST_ONE_TILE,
		.op = { TRN_OP_ACT },
		.operand = { TRN_OPD_DST, TRN_OPD_SRC0, TRN_OPD_SCALE, TRN_OPD_BIAS },
	},
};

#define NR_ROWS	(sizeof(isa_table) / sizeof(isa_table[0]))

static bool name_is(const char *name, const char *text, size_t len)
{
	return strlen(name) == len && !memcmp(name, text, len);
}

const struct trn_isa *trn_isa_lookup(unsigned int opcode)
{
	size_t i;

	for (i = 0; i < NR_ROWS; i++)
		if (isa_table[i].opcode == opcode)
			return &isa_table[i];
	return NULL;
}

const struct trn_isa *trn_isa_find(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < NR_ROWS; i++)
		if (name_is(isa_table[i].name, name, len))
			return &isa_table[i];
	return NULL;
}

const struct trn_isa *trn_isa_row(size_t i)
{
	return i < NR_ROWS ? &isa_table[i] : NULL;
}

static unsigned int column_or(const struct neuron_inst *inst, unsigned int field)
{
	return inst->flags & NEURON_INST_SRC1_COLUMN ? TRN_FIELD_SRC1 : field;
}

static unsigned int imm_or(const struct neuron_inst *inst, unsigned int field)
{
	return inst->flags & NEURON_INST_IMM ? TRN_FIELD_IMM0 : field;
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
		return column_or(inst, TRN_FIELD_IMM0);
	case TRN_OPD_FLOAT1:
		return inst->op1 == NEURON_ALU_BYPASS ? 0 : TRN_FIELD_IMM1;
	case TRN_OPD_BIAS:
		return column_or(inst, TRN_FIELD_IMM1);
	case TRN_OPD_SCALE:
	case TRN_OPD_FILL:
	case TRN_OPD_TAG:
	case TRN_OPD_EVENT:
	case TRN_OPD_COUNT0:
	case TRN_OPD_INT0:
		return TRN_FIELD_IMM0;
	case TRN_OPD_COUNT1:
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
	}
	return 0;
}

static bool op_known(enum trn_op_kind kind, unsigned int op)
{
	switch (kind) {
	case TRN_OP_NONE:
		return op == 0;
	case TRN_OP_ALU:
		return op != NEURON_ALU_BYPASS && trn_isa_alu_name(op);
	case TRN_OP_ALU_OR_BYPASS:
		return trn_isa_alu_name(op);
	case TRN_OP_INTEGER:
		return trn_isa_alu_is_integer(op);
	case TRN_OP_COMPARE:
		return op == NEURON_ALU_BYPASS || trn_isa_alu_is_compare(op);
	case TRN_OP_ACT:
		return trn_isa_act_name(op);
	}
	return false;
}

/* Flags that say something about an operand which is not there. */
static bool flags_make_sense(const struct trn_isa *isa,
			     const struct neuron_inst *inst)
{
	if (inst->flags & ~isa->flags)
		return false;
	if (isa->op[0] == TRN_OP_COMPARE && inst->op0 == NEURON_ALU_BYPASS &&
	    (inst->flags & NEURON_INST_IMM))
		return false;
	return !(inst->flags & NEURON_INST_REVERSE1) ||
	       inst->op1 != NEURON_ALU_BYPASS;
}

static bool ap_well_formed(const struct neuron_ap *ap, bool used)
{
	static const struct neuron_ap zero;

	if (!used)
		return !memcmp(ap, &zero, sizeof(zero));
	return trn_isa_dtype_name(ap->dtype) &&
	       ap->offset_reg < NEURON_NR_REGS && !ap->reserved;
}

static unsigned int fields_of(const struct trn_isa *isa,
			      const struct neuron_inst *inst)
{
	unsigned int fields = 0;
	unsigned int i;

	for (i = 0; i < TRN_ISA_OPERANDS; i++)
		fields |= trn_isa_operand_fields(isa->operand[i], inst);
	return fields;
}

static bool regs_well_formed(const struct trn_isa *isa,
			     const struct neuron_inst *inst, unsigned int fields)
{
	/* The first two bytes may hold a queue's number instead. */
	unsigned int first = isa->operand[0] == TRN_OPD_QUEUE ? 2 : 0;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		if (!(fields & TRN_FIELD_REG(i))) {
			if (inst->reg[i])
				return false;
		} else if (i >= first && inst->reg[i] >= NEURON_NR_REGS) {
			return false;
		}
	}
	return true;
}

static bool fields_well_formed(const struct trn_isa *isa,
			       const struct neuron_inst *inst)
{
	unsigned int fields = fields_of(isa, inst);

	if (!ap_well_formed(&inst->dst, fields & TRN_FIELD_DST) ||
	    !ap_well_formed(&inst->src0, fields & TRN_FIELD_SRC0) ||
	    !ap_well_formed(&inst->src1, fields & TRN_FIELD_SRC1) ||
	    !regs_well_formed(isa, inst, fields))
		return false;
	if ((!(fields & TRN_FIELD_IMM0) && inst->imm0) ||
	    (!(fields & TRN_FIELD_IMM1) && inst->imm1) ||
	    (!(fields & TRN_FIELD_ADDR) && inst->addr))
		return false;
	return !inst->reserved0 && !inst->reserved1 && !inst->reserved2[0] &&
	       !inst->reserved2[1] && !inst->reserved2[2];
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
	if (!op_known(isa->op[0], inst->op0) || !op_known(isa->op[1], inst->op1) ||
	    !flags_make_sense(isa, inst) || !fields_well_formed(isa, inst))
		return NEURON_CAUSE_OPERAND;
	if (isa->operand[0] == TRN_OPD_EVENT && inst->imm0 > 255)
		return NEURON_CAUSE_SEMAPHORE;
	return sync_check(inst);
}
