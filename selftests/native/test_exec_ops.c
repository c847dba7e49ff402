// SPDX-License-Identifier: MIT
/*
 * ALU operators by engine and generation: those of one operand, and where they are refused.
 */
#include "lanes_rig.h"

#include <math.h>
#include <string.h>

#define N	1500		/* more than a piece of a line */
#define P	32
#define A	0x0
#define B	0x2000
#define OUT	0x4000
#define COL	0x6000
#define ACC	0x6100

#define LENGTH(a)	(sizeof(a) / sizeof((a)[0]))

static const uint8_t unary[] = {
	NEURON_ALU_ABS, NEURON_ALU_SQUARE, NEURON_ALU_RELU, NEURON_ALU_RSQRT,
	NEURON_ALU_RECIPROCAL,
};

static float model(unsigned int op, float x)
{
	switch (op) {
	case NEURON_ALU_ABS:
		return fabsf(x);
	case NEURON_ALU_SQUARE:
		return x * x;
	case NEURON_ALU_RELU:
		return x != x || x > 0.0f ? x : 0.0f;
	case NEURON_ALU_RSQRT:
		return (float)(1.0 / sqrt((double)x));
	case NEURON_ALU_RECIPROCAL:
		return 1.0f / x;
	}
	return lanes_alu(op, x, 1.5f);
}

static struct neuron_inst scalar_inst(unsigned int op0, unsigned int op1)
{
	struct neuron_inst inst = OP(TENSOR_SCALAR, .op0 = (uint8_t)op0, .op1 = (uint8_t)op1,
				     .dst = ap_sbuf(0, P, OUT, F32, N),
				     .src0 = ap_sbuf(0, P, A, F32, N));

	if (op0 == NEURON_ALU_ADD)
		inst.imm0 = f32(1.5f);
	if (op1 == NEURON_ALU_ADD)
		inst.imm1 = f32(1.5f);
	return inst;
}

static void check(void **state, enum neuron_engine engine, unsigned int op0,
		  unsigned int op1)
{
	unsigned int p, i;
	float want;

	good(state, engine, scalar_inst(op0, op1));
	for (p = 0; p < P; p++) {
		for (i = 0; i < N; i++) {
			want = model(op0, sbuf_f(state, p, A)[i]);
			if (op1 != NEURON_ALU_BYPASS)
				want = model(op1, want);
			lanes_expect(sbuf_f(state, p, OUT)[i], want, p, i);
		}
	}
}

/* In place of the first operator, of the second one, and alone. */
static void check_places(void **state, enum neuron_engine engine, unsigned int op)
{
	check(state, engine, op, NEURON_ALU_BYPASS);
	check(state, engine, op, NEURON_ALU_ADD);
	check(state, engine, NEURON_ALU_ADD, op);
	check(state, engine, op, NEURON_ALU_ABS);
}

static void unary_on_the_vector_engine(void **state)
{
	unsigned int i;

	lanes_fill(state, P, A, N);
	for (i = 0; i < LENGTH(unary); i++)
		check_places(state, VECTOR, unary[i]);
}

static void unary_on_the_scalar_engine(void **state)
{
	unsigned int i;

	lanes_fill(state, P, A, N);
	for (i = 0; i < LENGTH(unary); i++)
		check_places(state, SCALAR, unary[i]);
}

static void before_trn3_fewer(void **state)
{
	unsigned int i;

	lanes_fill(state, P, A, N);
	check_places(state, VECTOR, NEURON_ALU_ABS);
	check_places(state, VECTOR, NEURON_ALU_RSQRT);
	check_places(state, VECTOR, NEURON_ALU_RECIPROCAL);
	bad(state, VECTOR, scalar_inst(NEURON_ALU_SQUARE, 0), NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, scalar_inst(NEURON_ALU_ADD, NEURON_ALU_RELU), NEURON_CAUSE_OPERAND);
	for (i = 0; i < LENGTH(unary); i++)
		bad(state, SCALAR, scalar_inst(unary[i], 0), NEURON_CAUSE_OPERAND);
}

static void gpsimd_has_rsqrt(void **state)
{
	unsigned int i;

	lanes_fill(state, P, A, N);
	check(state, GPSIMD, NEURON_ALU_RSQRT, NEURON_ALU_BYPASS);
	for (i = 0; i < LENGTH(unary); i++)
		if (unary[i] != NEURON_ALU_RSQRT)
			bad(state, GPSIMD, scalar_inst(unary[i], 0), NEURON_CAUSE_OPERAND);
}

static void magnitudes_add_up(void **state)
{
	struct neuron_inst program[] = {
		scalar_inst(NEURON_ALU_ABS, NEURON_ALU_BYPASS),
		OP(ACC_READ, .dst = ap_sbuf(0, P, ACC, F32, 1)),
	};
	unsigned int p, i;

	lanes_fill(state, P, A, N);
	program[0].op2 = NEURON_ALU_ADD;
	program[0].reduce = NEURON_REDUCE_RESET_REDUCE;
	good_all(state, VECTOR, program, 2);
	for (p = 0; p < P; p++) {
		float sum = 0.0f;

		for (i = 0; i < N; i++)
			sum += fabsf(sbuf_f(state, p, A)[i]);
		lanes_expect(*sbuf_f(state, p, ACC), sum, p, 0);
	}
}

static void scalar_tensor_tensor_begins_with_one(void **state)
{
	struct neuron_inst inst = OP(SCALAR_TENSOR_TENSOR, .op0 = NEURON_ALU_ABS,
				     .op1 = NEURON_ALU_SUBTRACT,
				     .flags = NEURON_INST_REVERSE1,
				     .dst = ap_sbuf(0, P, OUT, F32, N),
				     .src0 = ap_sbuf(0, P, A, F32, N),
				     .src1 = ap_sbuf(0, P, B, F32, N));
	unsigned int p, i;

	lanes_fill(state, P, A, N);
	lanes_fill(state, P, B, N);
	good(state, VECTOR, inst);
	for (p = 0; p < P; p++)
		for (i = 0; i < N; i++)
			lanes_expect(sbuf_f(state, p, OUT)[i],
				     sbuf_f(state, p, B)[i] - fabsf(sbuf_f(state, p, A)[i]), p, i);
	inst.op1 = NEURON_ALU_ABS;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
}

static void inverts(void **state)
{
	static const unsigned int types[] = { U8, U16, I32 };
	struct neuron_inst inst = OP(TENSOR_SCALAR, .op0 = NEURON_ALU_INVERT);
	const uint8_t *in = (const uint8_t *)sbuf_f(state, 3, A);
	const uint8_t *out = (const uint8_t *)sbuf_f(state, 3, OUT);
	const uint32_t *words = (const uint32_t *)out;
	unsigned int i;
	size_t byte;

	lanes_fill(state, P, A, 64);
	for (i = 0; i < LENGTH(types); i++) {
		inst.dst = ap_sbuf(0, P, OUT, types[i], 64);
		inst.src0 = ap_sbuf(0, P, A, types[i], 64);
		good(state, VECTOR, inst);
		for (byte = 0; byte < 64; byte++)
			assert_int_equal(out[byte], (uint8_t)~in[byte]);
		bad(state, SCALAR, inst, NEURON_CAUSE_OPERAND);
		bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	}

	inst.op0 = NEURON_ALU_SHIFT_RIGHT;
	inst.imm0 = 31;
	inst.op1 = NEURON_ALU_INVERT;
	good(state, VECTOR, inst);
	for (i = 0; i < 64; i++)
		assert_int_equal(words[i], ~(((const uint32_t *)in)[i] >> 31));

	inst.op1 = NEURON_ALU_ABS;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	inst = scalar_inst(NEURON_ALU_INVERT, NEURON_ALU_BYPASS);
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
}

/* An operand, an order of operands, a place among two operands: there is none. */
static void alone_means_alone(void **state)
{
	struct neuron_inst inst = scalar_inst(NEURON_ALU_ABS, NEURON_ALU_BYPASS);

	inst.imm0 = f32(1.0f);
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	inst.imm0 = 0;
	inst.flags = NEURON_INST_REVERSE0;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	inst.flags = NEURON_INST_SRC1_COLUMN;
	inst.src1 = ap_sbuf(0, P, COL, F32, 1);
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);

	inst = scalar_inst(NEURON_ALU_ADD, NEURON_ALU_ABS);
	inst.imm1 = f32(1.0f);
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	inst.imm1 = 0;
	inst.flags = NEURON_INST_REVERSE1;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	inst.flags = 0;
	inst.mode = NEURON_INST_COL1 >> 8;
	inst.col1 = COL;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);

	inst = OP(TENSOR_TENSOR, .op0 = NEURON_ALU_ABS, .dst = ap_sbuf(0, P, OUT, F32, 8),
		  .src0 = ap_sbuf(0, P, A, F32, 8), .src1 = ap_sbuf(0, P, B, F32, 8));
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	inst.opcode = NEURON_OP_TENSOR_SCAN;
	inst.op1 = NEURON_ALU_ADD;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
}

/* What stands before the function in activate2 are six pairs; these are functions there. */
static void activate2_has_them_as_functions(void **state)
{
	static const uint8_t funcs[] = {
		NEURON_ACT_ABS, NEURON_ACT_SQUARE, NEURON_ACT_RELU, NEURON_ACT_RSQRT,
		NEURON_ACT_RECIPROCAL,
	};
	struct neuron_inst inst = OP(ACTIVATE2, .dst = ap_sbuf(0, P, OUT, F32, N),
				     .src0 = ap_sbuf(0, P, A, F32, N));
	unsigned int f, p, i;

	lanes_fill(state, P, A, N);
	for (f = 0; f < LENGTH(funcs); f++) {
		inst.reg[0] = funcs[f];
		good(state, SCALAR, inst);
		for (p = 0; p < P; p++)
			for (i = 0; i < N; i++)
				lanes_expect(sbuf_f(state, p, OUT)[i],
					     model(unary[f], sbuf_f(state, p, A)[i]), p, i);
	}
	inst.op0 = NEURON_ALU_ABS;
	bad(state, SCALAR, inst, NEURON_CAUSE_OPERAND);
}

/* --- the larger and the smaller magnitude, signed --- */

static struct neuron_inst two(unsigned int op)
{
	return OP(TENSOR_TENSOR, .op0 = (uint8_t)op, .dst = ap_sbuf(0, P, OUT, F32, N),
		  .src0 = ap_sbuf(0, P, A, F32, N), .src1 = ap_sbuf(0, P, B, F32, N));
}

static float signed_of(unsigned int op, float x, float y)
{
	bool first = op == NEURON_ALU_ABS_MAX ? fabsf(x) > fabsf(y) : fabsf(x) < fabsf(y);

	return first ? x : y;
}

/* The examples of the public documents, and what they leave open. */
static void magnitudes_keep_their_sign(void **state)
{
	static const struct {
		unsigned int op;
		float x, y, want;
	} cases[] = {
		{ NEURON_ALU_ABS_MAX, -5.0f, 3.0f, -5.0f },
		{ NEURON_ALU_ABS_MAX, 1.0f, -1.0f, -1.0f },
		{ NEURON_ALU_ABS_MIN, 5.0f, -3.0f, -3.0f },
		{ NEURON_ALU_ABS_MIN, 1.0f, -1.0f, -1.0f },
		{ NEURON_ALU_ABS_MAX, 0.0f, -0.0f, -0.0f },
		{ NEURON_ALU_ABS_MIN, -0.0f, 0.0f, 0.0f },
		{ NEURON_ALU_ABS_MAX, -INFINITY, 2.0f, -INFINITY },
		{ NEURON_ALU_ABS_MAX, NAN, -2.0f, -2.0f },
		{ NEURON_ALU_ABS_MAX, -2.0f, NAN, NAN },
	};
	static const unsigned int ops[] = { NEURON_ALU_ABS_MAX, NEURON_ALU_ABS_MIN };
	unsigned int k, p, i;

	for (k = 0; k < LENGTH(cases); k++) {
		*sbuf_f(state, 0, A) = cases[k].x;
		*sbuf_f(state, 0, B) = cases[k].y;
		good(state, VECTOR, two(cases[k].op));
		lanes_expect(*sbuf_f(state, 0, OUT), cases[k].want, 0, k);
	}
	for (k = 0; k < LENGTH(ops); k++) {
		lanes_fill(state, P, A, N);
		lanes_fill(state, P, B, N);
		good(state, VECTOR, two(ops[k]));
		for (p = 0; p < P; p++)
			for (i = 0; i < N; i++)
				lanes_expect(sbuf_f(state, p, OUT)[i],
					     signed_of(ops[k], sbuf_f(state, p, A)[i],
						       sbuf_f(state, p, B)[i]), p, i);
	}
}

/* The accumulator is the first operand. */
static void accumulators_keep_the_sign(void **state)
{
	static const struct {
		unsigned int op;
		float start;
	} ops[] = {
		{ NEURON_ALU_ABS_MAX, 0.0f }, { NEURON_ALU_ABS_MIN, INFINITY },
	};
	struct neuron_inst program[] = {
		OP(ACTIVATE2, .reduce = NEURON_REDUCE_RESET_REDUCE,
		   .dst = ap_sbuf(0, P, OUT, F32, N), .src0 = ap_sbuf(0, P, A, F32, N)),
		OP(ACC_READ, .dst = ap_sbuf(0, P, ACC, F32, 1)),
	};
	unsigned int k, p, i;

	lanes_fill(state, P, A, N);
	for (k = 0; k < LENGTH(ops); k++) {
		program[0].op2 = (uint8_t)ops[k].op;
		good_all(state, SCALAR, program, 2);
		for (p = 0; p < P; p++) {
			float value = ops[k].start;

			for (i = 0; i < N; i++)
				value = signed_of(ops[k].op, value, sbuf_f(state, p, A)[i]);
			lanes_expect(*sbuf_f(state, p, ACC), value, p, 0);
		}
	}
}

/* --- what hardware does not have --- */

/* Refused with @cause; carried out with the property. */
static void only_with_more(void **state, enum neuron_engine engine, struct neuron_inst inst,
			   enum neuron_cause cause)
{
	bad(state, engine, inst, cause);
	exec_more_operators(state, true);
	good(state, engine, inst);
	exec_more_operators(state, false);
}

static struct neuron_inst reduce_inst(unsigned int op)
{
	return OP(TENSOR_REDUCE, .op0 = (uint8_t)op, .imm0 = 1,
		  .dst = ap_sbuf(0, P, OUT, F32, 1), .src0 = ap_sbuf(0, P, A, F32, N));
}

static void divisions(void **state)
{
	struct neuron_inst inst = scalar_inst(NEURON_ALU_ADD, NEURON_ALU_DIVIDE);

	lanes_fill(state, P, A, N);
	lanes_fill(state, P, B, N);
	inst.imm1 = f32(2.0f);
	only_with_more(state, VECTOR, two(NEURON_ALU_DIVIDE), NEURON_CAUSE_OPERAND);
	only_with_more(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	inst = two(NEURON_ALU_ADD);
	inst.opcode = NEURON_OP_TENSOR_SCAN;
	inst.op1 = NEURON_ALU_DIVIDE;
	only_with_more(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	inst.opcode = NEURON_OP_SCALAR_TENSOR_TENSOR;
	only_with_more(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
}

static void gpsimd_has_less(void **state)
{
	struct neuron_inst inst = two(NEURON_ALU_BITWISE_AND);

	lanes_fill(state, P, A, N);
	lanes_fill(state, P, B, N);
	inst.dst.dtype = I32;
	inst.src0.dtype = I32;
	inst.src1.dtype = I32;
	good(state, VECTOR, inst);
	only_with_more(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	good(state, GPSIMD, two(NEURON_ALU_ADD));
	only_with_more(state, GPSIMD, two(NEURON_ALU_ABS_MAX), NEURON_CAUSE_OPERAND);
	only_with_more(state, GPSIMD, reduce_inst(NEURON_ALU_ADD), NEURON_CAUSE_OPCODE);
	only_with_more(state, GPSIMD, scalar_inst(NEURON_ALU_ADD, 0), NEURON_CAUSE_OPERAND);
	only_with_more(state, GPSIMD, scalar_inst(NEURON_ALU_RSQRT, NEURON_ALU_ADD),
		       NEURON_CAUSE_OPERAND);
	only_with_more(state, GPSIMD,
		       OP(ACTIVATE, .op0 = NEURON_ACT_RELU, .imm0 = f32(1.0f),
			  .dst = ap_sbuf(0, P, OUT, F32, N), .src0 = ap_sbuf(0, P, A, F32, N)),
		       NEURON_CAUSE_OPCODE);
}

/* tensor_scalar_reduce has one operator in its order and four reductions. */
static void reductions_are_few(void **state)
{
	struct neuron_inst inst = scalar_inst(NEURON_ALU_ADD, NEURON_ALU_BYPASS);

	lanes_fill(state, P, A, N);
	inst.reduce = NEURON_REDUCE_RESET_REDUCE;
	for (inst.op2 = NEURON_ALU_ADD; inst.op2 <= NEURON_ALU_MIN; inst.op2++) {
		if (inst.op2 == NEURON_ALU_SUBTRACT)
			only_with_more(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
		else
			good(state, VECTOR, inst);
	}
	inst.op2 = NEURON_ALU_LOGICAL_OR;
	only_with_more(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	inst.op2 = NEURON_ALU_ABS_MAX;
	only_with_more(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	inst.op2 = NEURON_ALU_MAX;
	only_with_more(state, SCALAR, inst, NEURON_CAUSE_OPERAND);
	inst.flags = NEURON_INST_REVERSE0;
	only_with_more(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	inst.flags = 0;
	inst.op1 = NEURON_ALU_ABS;
	only_with_more(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	only_with_more(state, VECTOR, reduce_inst(NEURON_ALU_ABS_MIN), NEURON_CAUSE_OPERAND);
}

static void arithmetic_operands_are_fp32(void **state)
{
	struct neuron_inst inst = scalar_inst(NEURON_ALU_MULTIPLY, NEURON_ALU_BYPASS);

	lanes_fill(state, P, A, N);
	lanes_fill(state, P, COL, 1);
	inst.flags = NEURON_INST_SRC1_COLUMN;
	inst.src1 = ap_sbuf(0, P, COL, F32, 1);
	good(state, VECTOR, inst);
	inst.src1.dtype = BF16;
	only_with_more(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
}

static void signed_magnitudes_begin_with_trn3(void **state)
{
	struct neuron_inst inst = scalar_inst(NEURON_ALU_ADD, NEURON_ALU_BYPASS);

	bad(state, VECTOR, two(NEURON_ALU_ABS_MAX), NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, two(NEURON_ALU_ABS_MIN), NEURON_CAUSE_OPERAND);
	inst.op2 = NEURON_ALU_ABS_MAX;
	inst.reduce = NEURON_REDUCE_RESET_REDUCE;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, reduce_inst(NEURON_ALU_ABS_MIN), NEURON_CAUSE_OPERAND);
	exec_more_operators(state, true);
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, reduce_inst(NEURON_ALU_ABS_MIN), NEURON_CAUSE_OPERAND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EXEC_TEST(exec_setup_trn3, unary_on_the_vector_engine),
		EXEC_TEST(exec_setup_trn3, unary_on_the_scalar_engine),
		EXEC_TEST(exec_setup, before_trn3_fewer),
		EXEC_TEST(exec_setup, gpsimd_has_rsqrt),
		EXEC_TEST(exec_setup, magnitudes_add_up),
		EXEC_TEST(exec_setup, scalar_tensor_tensor_begins_with_one),
		EXEC_TEST(exec_setup, inverts),
		EXEC_TEST(exec_setup, alone_means_alone),
		EXEC_TEST(exec_setup_trn3, activate2_has_them_as_functions),
		EXEC_TEST(exec_setup_trn3, magnitudes_keep_their_sign),
		EXEC_TEST(exec_setup_trn3, accumulators_keep_the_sign),
		EXEC_TEST(exec_setup, signed_magnitudes_begin_with_trn3),
		EXEC_TEST(exec_setup_trn3, divisions),
		EXEC_TEST(exec_setup_trn3, gpsimd_has_less),
		EXEC_TEST(exec_setup_trn3, reductions_are_few),
		EXEC_TEST(exec_setup_trn3, arithmetic_operands_are_fp32),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
