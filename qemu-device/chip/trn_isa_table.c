// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The instruction table: one row for each opcode.
 */
#include <string.h>

#include "trn_isa.h"

#define T	NEURON_BIT(NEURON_ENGINE_TENSOR)
#define V	NEURON_BIT(NEURON_ENGINE_VECTOR)
#define S	NEURON_BIT(NEURON_ENGINE_SCALAR)
#define G	NEURON_BIT(NEURON_ENGINE_GPSIMD)
#define ALL	(NEURON_BIT(NEURON_NR_ENGINES) - 1)

/* Opcode, name, unit, engines, first generation, cost; then what else there is. */
#define ROW(code, text, where, who, first, formula, ...)		\
	[NEURON_OP_##code] = {						\
		.opcode = NEURON_OP_##code, .name = text,		\
		.unit = TRN_UNIT_##where, .engines = who,		\
		.generation = first, .cost = TRN_COST_##formula,	\
		__VA_ARGS__						\
	}

#define OPS(...)	.op = { __VA_ARGS__ }
#define OPERANDS(...)	.operand = { __VA_ARGS__ }
#define FLAGS(...)	.flags = __VA_ARGS__
#define REDUCES		.reduces = true

static const struct trn_isa isa_table[256] = {
	ROW(HALT, "halt", SEQUENCER, ALL, 2, ISSUE),
	ROW(NOP, "nop", SEQUENCER, ALL, 2, ISSUE),
	ROW(NOTIFY, "notify", SEQUENCER, ALL, 2, ISSUE,
	    OPERANDS(TRN_OPD_TAG)),
	ROW(DMA_TRIGGER, "dma_trigger", SEQUENCER, ALL, 2, ISSUE,
	    OPERANDS(TRN_OPD_QUEUE, TRN_OPD_COUNT0, TRN_OPD_COUNT1)),
	ROW(DMA_GENERATE, "dma_generate", SEQUENCER, ALL, 2, ISSUE,
	    OPERANDS(TRN_OPD_QUEUE, TRN_OPD_ADDRESS, TRN_OPD_REG2, TRN_OPD_REG3)),
	ROW(EVENT_SET, "event_set", SEQUENCER, ALL, 2, ISSUE,
	    OPERANDS(TRN_OPD_EVENT)),
	ROW(EVENT_CLEAR, "event_clear", SEQUENCER, ALL, 2, ISSUE,
	    OPERANDS(TRN_OPD_EVENT)),
	ROW(EVENT_WAIT, "event_wait", SEQUENCER, ALL, 2, ISSUE,
	    FLAGS(NEURON_INST_CLEAR),
	    OPERANDS(TRN_OPD_EVENT)),
	ROW(REG_SET, "reg_set", SEQUENCER, ALL, 2, ISSUE,
	    OPERANDS(TRN_OPD_REG0, TRN_OPD_INT0)),
	ROW(REG_ALU, "reg_alu", SEQUENCER, ALL, 2, ISSUE,
	    FLAGS(NEURON_INST_IMM),
	    OPS(TRN_OP_INTEGER),
	    OPERANDS(TRN_OPD_REG0, TRN_OPD_REG1, TRN_OPD_VALUE2)),
	ROW(BRANCH, "branch", SEQUENCER, ALL, 2, ISSUE,
	    FLAGS(NEURON_INST_IMM),
	    OPS(TRN_OP_COMPARE),
	    OPERANDS(TRN_OPD_COMPARE0, TRN_OPD_COMPARE1, TRN_OPD_TARGET)),
	ROW(LOOP, "loop", SEQUENCER, ALL, 2, ISSUE,
	    OPERANDS(TRN_OPD_REG0, TRN_OPD_TARGET)),
	ROW(REG_LOAD, "reg_load", SEQUENCER, ALL, 2, ISSUE,
	    OPERANDS(TRN_OPD_REG0, TRN_OPD_MEMORY)),
	ROW(REG_STORE, "reg_store", SEQUENCER, ALL, 2, ISSUE,
	    OPERANDS(TRN_OPD_MEMORY, TRN_OPD_REG0)),
	ROW(LOAD_STATIONARY, "load_stationary", TENSOR, T, 2, LOAD,
	    OPERANDS(TRN_OPD_SRC0)),
	ROW(MATMUL, "matmul", TENSOR, T, 2, MATMUL,
	    FLAGS(NEURON_INST_ACCUMULATE),
	    OPERANDS(TRN_OPD_DST, TRN_OPD_SRC0)),
	ROW(TENSOR_TENSOR, "tensor_tensor", LANES, V | G, 2, TWO_TILES,
	    OPS(TRN_OP_ALU),
	    OPERANDS(TRN_OPD_DST, TRN_OPD_SRC0, TRN_OPD_SRC1)),
	ROW(TENSOR_SCALAR, "tensor_scalar", LANES, V | S | G, 2, ONE_TILE,
	    FLAGS(NEURON_INST_SRC1_COLUMN | NEURON_INST_COL1 |
		  NEURON_INST_REVERSE0 | NEURON_INST_REVERSE1),
	    OPS(TRN_OP_ALU, TRN_OP_ALU_OR_BYPASS), REDUCES,
	    OPERANDS(TRN_OPD_DST, TRN_OPD_SRC0, TRN_OPD_SCALAR0, TRN_OPD_ANY1)),
	ROW(TENSOR_REDUCE, "tensor_reduce", LANES, V | G, 2, REDUCE,
	    FLAGS(NEURON_INST_NEGATE),
	    OPS(TRN_OP_ALU),
	    OPERANDS(TRN_OPD_DST, TRN_OPD_SRC0, TRN_OPD_COUNT0)),
	ROW(COPY, "copy", LANES, V | S | G, 2, ONE_TILE,
	    OPERANDS(TRN_OPD_DST, TRN_OPD_SRC0)),
	ROW(MEMSET, "memset", LANES, V | G, 2, ONE_TILE,
	    OPERANDS(TRN_OPD_DST, TRN_OPD_FILL)),
	ROW(ACC_READ, "acc_read", LANES, V | S, 2, ACCUMULATOR,
	    FLAGS(NEURON_INST_NEGATE),
	    OPERANDS(TRN_OPD_DST)),
	ROW(ACC_LOAD, "acc_load", LANES, V | S, 2, ACCUMULATOR,
	    OPERANDS(TRN_OPD_SRC0)),
	ROW(ACTIVATE, "activate", LANES, S, 2, ONE_TILE,
	    FLAGS(NEURON_INST_SRC1_COLUMN | NEURON_INST_COL0),
	    OPS(TRN_OP_ACT), REDUCES,
	    OPERANDS(TRN_OPD_DST, TRN_OPD_SRC0, TRN_OPD_SCALE, TRN_OPD_BIAS,
		     TRN_OPD_PARAM)),
};

const struct trn_isa *trn_isa_lookup(unsigned int opcode)
{
	if (opcode > UINT8_MAX || !isa_table[opcode].name)
		return NULL;
	return &isa_table[opcode];
}

const struct trn_isa *trn_isa_find(const char *name, size_t len)
{
	unsigned int i;

	for (i = 0; i <= UINT8_MAX; i++)
		if (isa_table[i].name && strlen(isa_table[i].name) == len &&
		    !memcmp(isa_table[i].name, name, len))
			return &isa_table[i];
	return NULL;
}

const struct trn_isa *trn_isa_row(size_t n)
{
	unsigned int i;

	for (i = 0; i <= UINT8_MAX; i++)
		if (isa_table[i].name && n-- == 0)
			return &isa_table[i];
	return NULL;
}
