// SPDX-License-Identifier: MIT
/*
 * Operands by their types: columns that are not fp32, integers that stay integers.
 */
#include "lanes_rig.h"

#include <string.h>

#include "num/trn_num.h"

#define N	1500		/* more than a piece of a line */
#define P	32
#define A	0x0
#define B	0x2000
#define OUT	0x4000
#define COL	0x6000
#define COLB	0x6100
#define WANT	0x8000
#define WIDE	0x6200

#define COL0_MODE	(NEURON_INST_COL0 >> 8)
#define COL1_MODE	(NEURON_INST_COL1 >> 8)

#define LENGTH(a)	(sizeof(a) / sizeof((a)[0]))

static const uint8_t numbers[] = {
	NEURON_DTYPE_BF16, NEURON_DTYPE_FP16, NEURON_DTYPE_TF32, NEURON_DTYPE_FP8_E4,
	NEURON_DTYPE_FP8_E5, NEURON_DTYPE_INT8, NEURON_DTYPE_UINT16, NEURON_DTYPE_INT32,
};

/* Elements of @dtype at @offset, and the same numbers as fp32 at @wide. */
static void fill_column(void **state, size_t offset, size_t wide, unsigned int dtype)
{
	unsigned int p;
	float value;

	for (p = 0; p < P; p++) {
		value = (float)rnd(9) / 2.0f - 2.0f;
		trn_from_fp32(sbuf_f(state, p, offset), &value, dtype, 1);
		trn_to_fp32(sbuf_f(state, p, wide), sbuf_f(state, p, offset), dtype, 1);
	}
}

static void same_lines(void **state, unsigned int dtype)
{
	unsigned int p, i;

	for (p = 0; p < P; p++)
		for (i = 0; i < N; i++)
			if (f32(sbuf_f(state, p, OUT)[i]) != f32(sbuf_f(state, p, WANT)[i]))
				fail_msg("type %u, partition %u, element %u: %a, not %a", dtype, p,
					 i, (double)sbuf_f(state, p, OUT)[i],
					 (double)sbuf_f(state, p, WANT)[i]);
}

/* The same result as from the same numbers in fp32. */
static void first_column_of_any_type(void **state, struct neuron_inst inst)
{
	enum neuron_engine engine = inst.opcode == NEURON_OP_ACTIVATE2 ? SCALAR : VECTOR;
	unsigned int i;

	inst.mode |= COL0_MODE;
	for (i = 0; i < LENGTH(numbers); i++) {
		fill_column(state, COL, WIDE, numbers[i]);
		inst.dst = ap_sbuf(0, P, WANT, F32, N);
		inst.col0 = WIDE;
		inst.col_dtype[0] = 0;
		good(state, engine, inst);
		inst.dst = ap_sbuf(0, P, OUT, F32, N);
		inst.col0 = COL;
		inst.col_dtype[0] = numbers[i];
		good(state, engine, inst);
		same_lines(state, numbers[i]);
	}
	/* fp32 is written as zero, and these are not numbers. */
	inst.col_dtype[0] = NEURON_DTYPE_FP32;
	bad(state, engine, inst, NEURON_CAUSE_OPERAND);
	inst.col_dtype[0] = NEURON_DTYPE_INT64;
	bad(state, engine, inst, NEURON_CAUSE_OPERAND);
	inst.col_dtype[0] = NEURON_DTYPE_FP8_E5_X4;
	bad(state, engine, inst, NEURON_CAUSE_OPERAND);
	inst.col_dtype[0] = NEURON_NR_DTYPES;
	bad(state, engine, inst, NEURON_CAUSE_OPERAND);
	/* An element is aligned to its size. */
	inst.col_dtype[0] = NEURON_DTYPE_BF16;
	inst.col0 = COL + 2;
	good(state, engine, inst);
	inst.col0 = COL + 1;
	bad(state, engine, inst, NEURON_CAUSE_ACCESS);
}

static struct neuron_inst three(unsigned int opcode)
{
	return (struct neuron_inst){
		.opcode = (uint8_t)opcode,
		.op0 = NEURON_ALU_MULTIPLY,
		.op1 = NEURON_ALU_MAX,
		.src0 = ap_sbuf(0, P, A, F32, N),
		.src1 = ap_sbuf(0, P, B, F32, N),
	};
}

static void columns_of_two_operators(void **state)
{
	lanes_fill(state, P, A, N);
	lanes_fill(state, P, B, N);
	first_column_of_any_type(state, three(NEURON_OP_SCALAR_TENSOR_TENSOR));
}

static void starts_of_a_scan(void **state)
{
	lanes_fill(state, P, A, N);
	lanes_fill(state, P, B, N);
	first_column_of_any_type(state, three(NEURON_OP_TENSOR_SCAN));
}

/* Both columns of an activation have one type. */
static void columns_of_an_activation(void **state)
{
	struct neuron_inst inst = OP(ACTIVATE2, .op0 = NEURON_ALU_MULTIPLY,
				     .src0 = ap_sbuf(0, P, A, F32, N));

	lanes_fill(state, P, A, N);
	first_column_of_any_type(state, inst);

	inst.op1 = NEURON_ALU_SUBTRACT;
	inst.dst = ap_sbuf(0, P, OUT, F32, N);
	inst.mode = COL0_MODE | COL1_MODE;
	inst.col0 = COL;
	inst.col1 = COLB;
	inst.col_dtype[0] = BF16;
	inst.col_dtype[1] = BF16;
	good(state, SCALAR, inst);
	inst.col_dtype[1] = NEURON_DTYPE_FP16;
	bad(state, SCALAR, inst, NEURON_CAUSE_OPERAND);
	inst.col_dtype[1] = 0;
	bad(state, SCALAR, inst, NEURON_CAUSE_OPERAND);
}

static struct neuron_inst dropout(unsigned int data, unsigned int prob)
{
	return OP(DROPOUT, .dst = ap_sbuf(0, P, OUT, data, N),
		  .src0 = ap_sbuf(0, P, A, data, N), .mode = COL0_MODE, .col0 = COL,
		  .col_dtype = { prob == F32 ? 0 : (uint8_t)prob });
}

/* For floats the probability has any float type, for integers fp32. */
static void probabilities(void **state)
{
	static const struct {
		unsigned int data, prob;
		bool good;
	} cases[] = {
		{ F32, BF16, true }, { F32, NEURON_DTYPE_FP16, true },
		{ BF16, NEURON_DTYPE_FP8_E4, true }, { BF16, F32, true }, { I32, F32, true },
		{ I32, BF16, false }, { U8, NEURON_DTYPE_FP16, false },
		{ F32, I32, false }, { BF16, U8, false },
	};
	unsigned int i, p;

	lanes_fill(state, P, A, N);
	for (p = 0; p < P; p++)
		*(uint16_t *)sbuf_f(state, p, COL) = p % 2 ? 0x3f80 : 0;	/* 1, 0 */
	for (i = 0; i < LENGTH(cases); i++) {
		struct neuron_inst inst = dropout(cases[i].data, cases[i].prob);

		if (cases[i].good)
			good(state, VECTOR, inst);
		else
			bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	}
	good(state, VECTOR, dropout(F32, BF16));
	for (p = 0; p < P; p++)
		for (i = 0; i < N; i++)
			assert_int_equal(f32(sbuf_f(state, p, OUT)[i]),
					 p % 2 ? 0 : f32(sbuf_f(state, p, A)[i]));
}

/* Instructions whose column is fp32 take no type for it. */
static void other_columns_are_fp32(void **state)
{
	struct neuron_inst inst = OP(SELECT_REDUCE, .dst = ap_sbuf(0, P, OUT, F32, 8),
				     .src0 = ap_sbuf(0, P, A, F32, 8),
				     .src1 = ap_sbuf(0, P, B, U8, 8),
				     .mode = COL0_MODE, .col0 = COL);

	good(state, VECTOR, inst);
	inst.col_dtype[0] = BF16;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);

	inst = OP(TENSOR_SCALAR, .op0 = NEURON_ALU_ADD, .op1 = NEURON_ALU_ADD,
		  .dst = ap_sbuf(0, P, OUT, F32, 8), .src0 = ap_sbuf(0, P, A, F32, 8),
		  .mode = COL1_MODE, .col1 = COL);
	good(state, VECTOR, inst);
	inst.col_dtype[1] = BF16;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	/* A type of a column that is not there. */
	inst.mode = 0;
	inst.col1 = 0;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
}

static void second_bitwise_operand_is_a_column(void **state)
{
	struct neuron_inst inst = OP(TENSOR_SCALAR, .op0 = NEURON_ALU_BITWISE_XOR,
				     .op1 = NEURON_ALU_SHIFT_LEFT, .imm0 = 0x5a5a,
				     .dst = ap_sbuf(0, P, OUT, U16, N),
				     .src0 = ap_sbuf(0, P, A, U16, N), .mode = COL1_MODE,
				     .col1 = COL, .col_dtype = { 0, U16 });
	unsigned int p, i;

	lanes_fill(state, P, A, N);
	for (p = 0; p < P; p++)
		*(uint16_t *)sbuf_f(state, p, COL) = (uint16_t)p;
	good(state, VECTOR, inst);
	for (p = 0; p < P; p++) {
		const uint16_t *in = (const uint16_t *)sbuf_f(state, p, A);
		const uint16_t *out = (const uint16_t *)sbuf_f(state, p, OUT);

		for (i = 0; i < N; i++)
			assert_int_equal(out[i], p < 16 ? (uint16_t)((in[i] ^ 0x5a5a) << p) : 0);
	}
	inst.flags = NEURON_INST_REVERSE1;
	good(state, VECTOR, inst);
	for (i = 0; i < N; i++) {
		uint16_t count = ((const uint16_t *)sbuf_f(state, 5, A))[i] ^ 0x5a5a;

		assert_int_equal(((const uint16_t *)sbuf_f(state, 5, OUT))[i],
				 count < 16 ? (uint16_t)(5 << count) : 0);
	}
	/* Integers of the size of the data. */
	inst.col_dtype[1] = I32;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	inst.col_dtype[1] = BF16;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	inst.col_dtype[1] = 0;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EXEC_TEST(exec_setup, columns_of_two_operators),
		EXEC_TEST(exec_setup, starts_of_a_scan),
		EXEC_TEST(exec_setup_trn3, columns_of_an_activation),
		EXEC_TEST(exec_setup, probabilities),
		EXEC_TEST(exec_setup, other_columns_are_fp32),
		EXEC_TEST(exec_setup, second_bitwise_operand_is_a_column),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
