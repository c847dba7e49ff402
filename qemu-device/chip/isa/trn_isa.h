/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The instruction table: what each opcode is called, who runs it, which fields
 * it uses, how it is written and what it costs. One table serves the chip's
 * decoder and validator, the assembler, the disassembler and the manual
 * (Documentation/hardware/isa.rst).
 *
 * To add an instruction: its opcode in uapi/neuron/isa.h, a row in
 * trn_isa_table.c, its function in the trn_exec_*.c file of its subject and in
 * trn_isa_list.h, its section in the manual.
 *
 * Pure functions over constant tables; any thread.
 */
#ifndef TRN_ISA_H
#define TRN_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "neuron/isa.h"
#include "neuron/job.h"

/* Fields of struct neuron_inst that an instruction may use. */
#define TRN_FIELD_OP0		NEURON_BIT(0)
#define TRN_FIELD_OP1		NEURON_BIT(1)
#define TRN_FIELD_DST		NEURON_BIT(2)
#define TRN_FIELD_SRC0		NEURON_BIT(3)
#define TRN_FIELD_SRC1		NEURON_BIT(4)
#define TRN_FIELD_IMM0		NEURON_BIT(5)
#define TRN_FIELD_IMM1		NEURON_BIT(6)
#define TRN_FIELD_REG(i)	NEURON_BIT(8 + (i))
#define TRN_FIELD_ADDR		NEURON_BIT(12)	/* as an address */
#define TRN_FIELD_IMM2		NEURON_BIT(13)	/* addr, low half */
#define TRN_FIELD_IMM3		NEURON_BIT(14)	/* addr, high half */
#define TRN_FIELD_COL0		NEURON_BIT(15)
#define TRN_FIELD_COL1		NEURON_BIT(16)
/* src0, src1: four steps in place of a tile. */
#define TRN_FIELD_STEPS0	NEURON_BIT(17)
#define TRN_FIELD_STEPS1	NEURON_BIT(18)
/* src1, imm0 and imm1: 32 bytes. */
#define TRN_FIELD_MASK		NEURON_BIT(19)

/* The execution unit that carries the instruction out. */
enum trn_unit {
	TRN_ISA_SEQUENCER,	/* every engine */
	TRN_ISA_TENSOR,	/* the array */
	TRN_ISA_LANES,		/* vector, scalar, GpSimd: element by element */
};

/* Cost formulas, trn_cost.c; N: elements of a partition. */
enum trn_cost {
	TRN_COST_ISSUE,		/* sequencer only */
	TRN_COST_LOAD,		/* stationary operand */
	TRN_COST_MATMUL,
	TRN_COST_ONE_TILE,	/* ~ N */
	TRN_COST_TWO_TILES,	/* ~ 2N */
	TRN_COST_REDUCE,	/* ~ N of the source */
	TRN_COST_ACCUMULATOR,	/* to and from the accumulators */
	TRN_COST_RECIPROCAL,	/* 8N, at least 64 */
	TRN_COST_EXPONENTIAL,	/* ~ N / 4 */
	TRN_COST_GPSIMD,	/* GpSimd's own: 150 + N */
	TRN_COST_LOCAL_GATHER,
	TRN_COST_TOPK,
};

/* What op0 or op1 holds. */
enum trn_op_kind {
	TRN_OP_NONE,
	TRN_OP_ALU,		/* any operator of two operands */
	TRN_OP_ALU_OR_BYPASS,
	TRN_OP_SCALAR,		/* the same, or one of the element alone */
	TRN_OP_SCALAR_OR_BYPASS,
	TRN_OP_INTEGER,		/* an operator of REG_ALU */
	TRN_OP_TEST,		/* a comparison */
	TRN_OP_COMPARE,		/* a comparison, or bypass */
	TRN_OP_ACT,		/* an activation function */
};

/*
 * Operands in the order in which they are written, and the fields that hold
 * them. An operand that is absent uses no field.
 */
enum trn_operand {
	TRN_OPD_NONE,
	TRN_OPD_DST,		/* tile: dst */
	TRN_OPD_SRC0,		/* tile: src0 */
	TRN_OPD_SRC1,		/* tile: src1 */
	TRN_OPD_SCALAR0,	/* imm0; with SRC1_COLUMN a tile: src1; absent when op0 */
				/* is unary (integers for a bitwise operator) */
	TRN_OPD_SCALE,		/* float: imm0; with COL0 a column: col0 */
	TRN_OPD_BIAS,		/* float: imm1; with SRC1_COLUMN a tile: src1 */
	TRN_OPD_FILL,		/* imm0: float or integer as the type of dst */
	TRN_OPD_TAG,		/* unsigned, hexadecimal: imm0 */
	TRN_OPD_EVENT,		/* event: imm0 */
	TRN_OPD_COUNT0,		/* unsigned: imm0 */
	TRN_OPD_COUNT1,		/* unsigned: imm1 */
	TRN_OPD_INT0,		/* signed: imm0 */
	TRN_OPD_REG0,		/* register: reg[0] */
	TRN_OPD_REG1,		/* register: reg[1] */
	TRN_OPD_REG2,		/* register: reg[2] */
	TRN_OPD_REG3,		/* register: reg[3] */
	TRN_OPD_VALUE2,		/* register: reg[2]; with IMM an integer: imm0 */
	TRN_OPD_COMPARE0,	/* register: reg[0]; absent when op0 is bypass */
	TRN_OPD_COMPARE1,	/* reg[1] or, with IMM, imm0; absent as above */
	TRN_OPD_TARGET,		/* instruction index: addr */
	TRN_OPD_MEMORY,		/* address: addr, and register reg[1] when not 0 */
	TRN_OPD_ADDRESS,	/* address: addr */
	TRN_OPD_QUEUE,		/* queue index: reg[0] | reg[1] << 8 */
	TRN_OPD_ANY0,		/* as SCALE; absent when op0 is bypass or unary */
	TRN_OPD_ANY1,		/* float: imm1; with COL1 a column: col1; absent when */
				/* op1 is an ALU operator, and bypass or unary */
				/* (these two: integers for a bitwise operator) */
	TRN_OPD_FLOAT0,		/* float: imm0 */
	TRN_OPD_FLOAT2,		/* float: low half of addr */
	TRN_OPD_PARAM,		/* the same; absent when the function has no parameter */
	TRN_OPD_ANY_PARAM,	/* the same; with SRC1_COLUMN a tile: src1 */
	TRN_OPD_INT1,		/* signed: imm1 */
	TRN_OPD_INT2,		/* signed: low half of addr */
	TRN_OPD_STEPS0,		/* four signed numbers: src0 */
	TRN_OPD_STEPS1,		/* four signed numbers: src1 */
	TRN_OPD_MASK,		/* 32 bytes: src1, imm0, imm1 */
	TRN_OPD_SRC0_OR_FILL,	/* tile: src0; with IMM as FILL */
	TRN_OPD_INDICES,	/* with COL1, 8 uint32: col1; else absent */
	TRN_OPD_SEM0,		/* semaphore: imm0 */
	TRN_OPD_SEM1,		/* semaphore: imm1, not below imm0 */
	TRN_OPD_LENGTH,		/* register: imm0; with LENGTH, else absent */
	TRN_OPD_DIMENSION,	/* unsigned: imm1; with LENGTH, else absent */
	TRN_OPD_QUEUES,		/* unsigned, not 0: reg[2]; with QUEUES, else absent */
};

#define TRN_ISA_OPERANDS	6

/**
 * struct trn_isa - one instruction
 * @opcode: enum neuron_opcode
 * @unit: enum trn_unit
 * @engines: bit mask by enum neuron_engine
 * @generation: of the NeuronCore that has it first
 * @cost: enum trn_cost
 * @op: enum trn_op_kind of op0 and op1
 * @reduces: may combine the accumulators (op2, reduce)
 * @func: reg[0] is an enum neuron_act, written before the operators
 * @flags: NEURON_INST_* that may be set
 * @typed: NEURON_INST_COL0, _COL1 of the columns that may have a type
 * @indirect: TRN_FIELD_* of the tiles that may have an index
 * @operand: enum trn_operand as written, then TRN_OPD_NONE
 * @name: mnemonic
 */
struct trn_isa {
	uint8_t opcode;
	uint8_t unit;
	uint8_t engines;
	uint8_t generation;
	uint8_t cost;
	uint8_t op[2];
	bool reduces;
	bool func;
	uint32_t flags;
	uint32_t typed;
	uint32_t indirect;
	uint8_t operand[TRN_ISA_OPERANDS];
	const char *name;
};

/* NEURON_INST_* of @inst. */
static inline uint32_t trn_isa_flags(const struct neuron_inst *inst)
{
	return inst->flags | (uint32_t)inst->mode << 8;
}

/* enum neuron_dtype of column @i, 0 or 1. */
static inline unsigned int trn_isa_column_dtype(const struct neuron_inst *inst,
						unsigned int i)
{
	return inst->col_dtype[i] ? inst->col_dtype[i] : NEURON_DTYPE_FP32;
}

/* The row of @opcode, or NULL. */
const struct trn_isa *trn_isa_lookup(unsigned int opcode);
/* The row of a mnemonic of @len bytes, or NULL. */
const struct trn_isa *trn_isa_find(const char *name, size_t len);
/* Row @i, or NULL past the last one: to walk the table. */
const struct trn_isa *trn_isa_row(size_t i);

/* TRN_FIELD_* that @operand occupies in @inst, given its flags and operators. */
unsigned int trn_isa_operand_fields(enum trn_operand operand,
				    const struct neuron_inst *inst);

/* The tiles of @inst that have an index, TRN_FIELD_*. */
unsigned int trn_isa_indirect(const struct trn_isa *isa, const struct neuron_inst *inst);

/**
 * trn_isa_check() - all that can be said without a chip
 *
 * Known opcode and right engine (@engine NEURON_NR_ENGINES: any), known flags,
 * operators and types, registers that exist, unused fields zero. Shapes, types
 * in combination, addresses and ownership are checked when it executes.
 *
 * Return: NEURON_CAUSE_NONE, _OPCODE, _OPERAND or _SEMAPHORE.
 */
enum neuron_cause trn_isa_check(const struct neuron_inst *inst,
				unsigned int engine);

/* The rule that trn_isa_check() finds broken, as a sentence without a full stop; NULL: none. */
const char *trn_isa_rule(const struct neuron_inst *inst, unsigned int engine);

/* A part of the tensor engine's array that there is. */
bool trn_isa_array_valid(const struct neuron_array *array);

/* The 32 bytes of TRN_OPD_MASK. */
void trn_isa_mask(const struct neuron_inst *inst, uint8_t mask[NEURON_INST_MASK]);

/* enum trn_op_kind: does it hold an ALU operator, which may have an operand of its own? */
bool trn_isa_kind_is_alu(unsigned int kind);

/* Enough for every instruction, with the terminating zero. */
#define TRN_ISA_TEXT_MAX	512

/**
 * trn_isa_format() - write @inst in assembler syntax, without a newline
 * @buf: gets at most @size bytes, always terminated when @size is not 0
 *
 * What trn_isa_check() refuses is written as an .inst directive.
 *
 * Return: characters of the whole text, as snprintf() does.
 */
size_t trn_isa_format(char *buf, size_t size, const struct neuron_inst *inst);

/*
 * Names and values. A name is NULL and a value negative when there is none.
 * @len: bytes of the name, which needs no terminator.
 */
const char *trn_isa_alu_name(unsigned int op);
int trn_isa_alu_value(const char *name, size_t len);
const char *trn_isa_act_name(unsigned int func);
int trn_isa_act_value(const char *name, size_t len);
const char *trn_isa_dtype_name(unsigned int dtype);
int trn_isa_dtype_value(const char *name, size_t len);
const char *trn_isa_engine_name(unsigned int engine);
int trn_isa_engine_value(const char *name, size_t len);
/* NEURON_INST_* that are written as a word behind the operands: one bit each. */
const char *trn_isa_modifier_name(unsigned int flag);
int trn_isa_modifier_value(const char *name, size_t len);

/* Commands of the accumulators, enum neuron_reduce. */
const char *trn_isa_reduce_name(unsigned int reduce);
int trn_isa_reduce_value(const char *name, size_t len);

/* Operators of REG_ALU, comparisons of BRANCH. */
bool trn_isa_alu_is_integer(unsigned int op);
bool trn_isa_alu_is_compare(unsigned int op);
/* Operators whose immediates (imm0 of op0, imm1 of op1) are integers. */
bool trn_isa_alu_is_bitwise(unsigned int op);
/* Operators of one operand: they have no immediate and no column. */
bool trn_isa_alu_is_unary(unsigned int op);

/* Functions with a parameter (addr, low half). */
bool trn_isa_act_has_param(unsigned int func);

/* True when values of @dtype in imm0 (MEMSET) are written as a float. */
bool trn_isa_dtype_is_float(unsigned int dtype);

#endif /* TRN_ISA_H */
