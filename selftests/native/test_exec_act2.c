// SPDX-License-Identifier: MIT
/*
 * Activations: the three stages of NeuronCore-v4, and what each generation takes as a
 * bias.
 */
#include "exec_rig.h"

#include <math.h>
#include <string.h>

#define N	1500		/* more than a piece of a line */
#define DATA	0x0
#define OUT	0x4000
#define COL0	0x8000
#define COL1	0x8004
#define ACC	0x8008
#define PARAM	0x800c
#define LANES	32

#define REV0	NEURON_INST_REVERSE0
#define REV1	NEURON_INST_REVERSE1

struct pair {
	uint8_t op0;
	uint8_t op1;
};

static const struct pair pairs[] = {
	{ NEURON_ALU_MULTIPLY, NEURON_ALU_ADD },
	{ NEURON_ALU_MULTIPLY, NEURON_ALU_SUBTRACT },
	{ NEURON_ALU_MULTIPLY, NEURON_ALU_BYPASS },
	{ NEURON_ALU_ADD, NEURON_ALU_BYPASS },
	{ NEURON_ALU_SUBTRACT, NEURON_ALU_BYPASS },
	{ NEURON_ALU_BYPASS, NEURON_ALU_BYPASS },
};

static bool is_pair(unsigned int op0, unsigned int op1)
{
	size_t i;

	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (pairs[i].op0 == op0 && pairs[i].op1 == op1)
			return true;
	return false;
}

static struct neuron_inst activate2(unsigned int func, struct pair pair)
{
	return OP(ACTIVATE2, .op0 = pair.op0, .op1 = pair.op1,
		  .reg = { (uint8_t)func },
		  .dst = ap_sbuf(0, LANES, OUT, F32, N),
		  .src0 = ap_sbuf(0, LANES, DATA, F32, N));
}

static void fill(void **state)
{
	static const float edges[] = {
		0.0f, -0.0f, INFINITY, -INFINITY, 1e-42f, -3.4e38f, 3.4e38f,
	};
	unsigned int p, i;

	for (p = 0; p < LANES; p++) {
		for (i = 0; i < N; i++)
			sbuf_f(state, p, DATA)[i] = (float)rnd(2001) / 7.0f - 140.0f;
		memcpy(sbuf_f(state, p, DATA), edges, sizeof(edges));
		*sbuf_f(state, p, COL0) = (float)p - 9.5f;
		*sbuf_f(state, p, COL1) = (float)p * 0.75f + 1.0f;
		*sbuf_f(state, p, PARAM) = 0.3f - (float)p / 16.0f;
	}
}

static float apply(unsigned int op, float x, float s, bool reverse)
{
	switch (op) {
	case NEURON_ALU_MULTIPLY:
		return x * s;
	case NEURON_ALU_ADD:
		return x + s;
	case NEURON_ALU_SUBTRACT:
		return reverse ? s - x : x - s;
	}
	return x;
}

static float function(unsigned int func, float x, float param)
{
	switch (func) {
	case NEURON_ACT_RELU:
		return isnan(x) || x > 0.0f ? x : 0.0f;
	case NEURON_ACT_SQUARE:
		return x * x;
	case NEURON_ACT_PRELU:
		return x < 0.0f ? x * param : x;
	case NEURON_ACT_IDENTITY:
		return x;
	}
	fail();
	return 0.0f;
}

static float scalar_of(void **state, const struct neuron_inst *inst, unsigned int i,
		       unsigned int p)
{
	uint32_t bits = i ? inst->imm1 : inst->imm0;
	bool column = inst->mode & (i ? NEURON_INST_COL1 : NEURON_INST_COL0) >> 8;
	float value;

	memcpy(&value, &bits, sizeof(value));
	return column ? *sbuf_f(state, p, i ? COL1 : COL0) : value;
}

static float model(void **state, const struct neuron_inst *inst, unsigned int p,
		   unsigned int i)
{
	uint32_t bits = (uint32_t)inst->addr;
	float x = sbuf_f(state, p, DATA)[i];
	float param;

	memcpy(&param, &bits, sizeof(param));
	if (inst->flags & NEURON_INST_SRC1_COLUMN)
		param = *sbuf_f(state, p, PARAM);
	x = apply(inst->op0, x, scalar_of(state, inst, 0, p), inst->flags & REV0);
	x = apply(inst->op1, x, scalar_of(state, inst, 1, p), inst->flags & REV1);
	return function(inst->reg[0], x, param);
}

static bool same(float a, float b)
{
	uint32_t x = f32(a), y = f32(b);

	return isnan(b) ? x == 0x7fc00000 : x == y;
}

static void check(void **state, struct neuron_inst inst)
{
	unsigned int p, i;

	good(state, SCALAR, inst);
	for (p = 0; p < LANES; p++)
		for (i = 0; i < N; i++)
			if (!same(sbuf_f(state, p, OUT)[i], model(state, &inst, p, i)))
				fail_msg("%u.%u of %#x %u %u: %a not %a", p, i,
					 inst.reg[0], inst.op0, inst.op1,
					 (double)sbuf_f(state, p, OUT)[i],
					 (double)model(state, &inst, p, i));
}

/* The scalars that the operators of @inst take: numbers, or columns. */
static struct neuron_inst with_scalars(struct neuron_inst inst, bool columns)
{
	if (inst.op0 != NEURON_ALU_BYPASS) {
		if (columns)
			inst.mode |= NEURON_INST_COL0 >> 8, inst.col0 = COL0;
		else
			inst.imm0 = f32(-1.7f);
	}
	if (inst.op1 != NEURON_ALU_BYPASS) {
		if (columns)
			inst.mode |= NEURON_INST_COL1 >> 8, inst.col1 = COL1;
		else
			inst.imm1 = f32(12.3f);
	}
	return inst;
}

static void pairs_of_operators(void **state)
{
	static const uint8_t funcs[] = {
		NEURON_ACT_IDENTITY, NEURON_ACT_RELU, NEURON_ACT_SQUARE,
		NEURON_ACT_PRELU,
	};
	unsigned int i, f, how;

	fill(state);
	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		for (f = 0; f < 4; f++) {
			for (how = 0; how < 8; how++) {
				struct neuron_inst inst = activate2(funcs[f], pairs[i]);

				if (how & 1 && inst.op0)
					inst.flags |= REV0;
				if (how & 2 && inst.op1)
					inst.flags |= REV1;
				if (funcs[f] == NEURON_ACT_PRELU)
					inst.addr = f32(0.25f);
				check(state, with_scalars(inst, how & 4));
			}
		}
	}
}

static struct neuron_inst with_param_column(struct neuron_inst inst)
{
	inst.flags |= NEURON_INST_SRC1_COLUMN;
	inst.src1 = ap_sbuf(0, LANES, PARAM, F32, 1);
	return inst;
}

static void parameter_may_be_a_column(void **state)
{
	struct neuron_inst inst = with_param_column(activate2(NEURON_ACT_PRELU, pairs[5]));
	unsigned int i;

	fill(state);
	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		check(state, with_scalars(with_param_column(activate2(NEURON_ACT_PRELU, pairs[i])),
					  i & 1));

	inst.addr = f32(0.5f);
	bad(state, SCALAR, inst, NEURON_CAUSE_OPERAND);
	inst.addr = 0;
	inst.src1.dtype = BF16;
	bad(state, SCALAR, inst, NEURON_CAUSE_OPERAND);
	inst.src1.dtype = F32;
	inst.src1.num[0] = 2;
	bad(state, SCALAR, inst, NEURON_CAUSE_OPERAND);
	inst.src1.num[0] = 1;
	inst.src1.partitions = LANES - 1;
	bad(state, SCALAR, inst, NEURON_CAUSE_OPERAND);
	inst.src1.partitions = LANES;
	inst.src1.addr = NEURON_KIB(256);
	bad(state, SCALAR, inst, NEURON_CAUSE_ACCESS);
	inst = with_param_column(activate2(NEURON_ACT_RELU, pairs[5]));
	bad(state, SCALAR, inst, NEURON_CAUSE_OPERAND);
}

static void nothing_else_is_a_pair(void **state)
{
	unsigned int op0, op1;

	for (op0 = 0; op0 < 0x30; op0++) {
		for (op1 = 0; op1 < 0x30; op1++) {
			struct pair pair = { (uint8_t)op0, (uint8_t)op1 };
			bool known = op0 < 8 && op1 < 8;

			/* One of each kind is enough of what has no place here. */
			if (is_pair(op0, op1) || (!known && rnd(16)))
				continue;
			bad(state, SCALAR, activate2(NEURON_ACT_RELU, pair),
			    NEURON_CAUSE_OPERAND);
		}
	}
}

static void three_stages_reduce(void **state)
{
	struct neuron_inst program[] = {
		with_scalars(activate2(NEURON_ACT_RELU, pairs[0]), true),
		OP(ACC_READ, .dst = ap_sbuf(0, LANES, ACC, F32, 1)),
	};
	unsigned int p, i;

	program[0].op2 = NEURON_ALU_MAX;
	program[0].reduce = NEURON_REDUCE_LOAD_REDUCE;
	program[0].addr = (uint64_t)f32(100.0f) << 32;
	fill(state);
	for (p = 0; p < LANES; p++)
		for (i = 0; i < 8; i++)
			sbuf_f(state, p, DATA)[i] = 1.0f;
	good_all(state, SCALAR, program, 2);
	for (p = 0; p < LANES; p++) {
		float most = 100.0f;

		for (i = 0; i < N; i++)
			most = fmaxf(most, model(state, &program[0], p, i));
		assert_true(*sbuf_f(state, p, ACC) == most);
	}
}

static void casts_and_works_in_place(void **state)
{
	struct neuron_inst inst = activate2(NEURON_ACT_SQUARE, pairs[5]);
	unsigned int p, i;

	fill(state);
	inst.dst = ap_sbuf(0, LANES, DATA, BF16, N);
	inst.src0 = ap_sbuf(0, LANES, DATA, F32, N);
	for (p = 0; p < LANES; p++)
		for (i = 0; i < N; i++)
			sbuf_f(state, p, DATA)[i] = (float)(i % 16);
	good(state, SCALAR, inst);
	for (p = 0; p < LANES; p++) {
		const uint16_t *out = (const void *)sbuf_f(state, p, DATA);

		for (i = 0; i < N; i++)
			assert_int_equal(out[i], f32((float)(i % 16 * (i % 16))) >> 16);
	}
}

static void refuses_other_operands(void **state)
{
	const struct neuron_inst plain = activate2(NEURON_ACT_RELU, pairs[5]);
	struct neuron_inst inst;

	bad(state, VECTOR, plain, NEURON_CAUSE_OPCODE);
	inst = plain;
	inst.reg[0] = NEURON_NR_ACTS;
	bad(state, SCALAR, inst, NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.reg[1] = 1;
	bad(state, SCALAR, inst, NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.imm0 = 1;
	bad(state, SCALAR, inst, NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.flags = REV0;
	bad(state, SCALAR, inst, NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.flags = REV1;
	bad(state, SCALAR, inst, NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.mode = NEURON_INST_COL0 >> 8;
	bad(state, SCALAR, inst, NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.addr = f32(1.0f);
	bad(state, SCALAR, inst, NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.src0.num[0] = N - 1;
	bad(state, SCALAR, inst, NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.src0.partitions = 31;
	bad(state, SCALAR, inst, NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.op2 = NEURON_ALU_MULTIPLY;
	inst.reduce = NEURON_REDUCE_REDUCE;
	bad(state, SCALAR, inst, NEURON_CAUSE_OPERAND);
	inst = with_scalars(activate2(NEURON_ACT_RELU, pairs[0]), true);
	inst.col1 = NEURON_KIB(256);
	bad(state, SCALAR, inst, NEURON_CAUSE_ACCESS);
}

/* GpSimd computes the same; it has no accumulators and no way to PSUM. */
static void gpsimd_activates_too(void **state)
{
	struct neuron_inst inst = OP(ACTIVATE, .op0 = NEURON_ACT_GELU, .imm0 = f32(0.7f),
				     .flags = NEURON_INST_SRC1_COLUMN,
				     .dst = ap_sbuf(0, LANES, OUT, F32, N),
				     .src0 = ap_sbuf(0, LANES, DATA, F32, N),
				     .src1 = ap_sbuf(0, LANES, COL1, F32, 1));
	float expected[LANES][N];
	unsigned int p;

	exec_more_operators(state, true);
	fill(state);
	good(state, SCALAR, inst);
	for (p = 0; p < LANES; p++) {
		memcpy(expected[p], sbuf_f(state, p, OUT), sizeof(expected[p]));
		memset(sbuf_f(state, p, OUT), 0, sizeof(expected[p]));
	}
	good(state, GPSIMD, inst);
	for (p = 0; p < LANES; p++)
		assert_memory_equal(sbuf_f(state, p, OUT), expected[p],
				    sizeof(expected[p]));
	inst.op2 = NEURON_ALU_ADD;
	inst.reduce = NEURON_REDUCE_RESET_REDUCE;
	good(state, SCALAR, inst);
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst.op2 = 0;
	inst.reduce = NEURON_REDUCE_IDLE;
	good(state, GPSIMD, inst);
	inst.dst = ap_psum(0, LANES, 0, F32, N);
	good(state, SCALAR, inst);
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	bad(state, GPSIMD, activate2(NEURON_ACT_RELU, pairs[5]), NEURON_CAUSE_OPCODE);
}

/* --- before v4 --- */

static struct neuron_inst activate(unsigned int func, unsigned int bias)
{
	struct neuron_inst inst = OP(ACTIVATE, .op0 = (uint8_t)func, .imm0 = f32(2.0f),
				     .dst = ap_sbuf(0, LANES, OUT, F32, 8),
				     .src0 = ap_sbuf(0, LANES, DATA, F32, 8));

	if (bias) {
		inst.flags = NEURON_INST_SRC1_COLUMN;
		inst.src1 = ap_sbuf(0, LANES, COL1, bias, 1);
	}
	return inst;
}

static void is_not_there_before_v4(void **state)
{
	bad(state, SCALAR, activate2(NEURON_ACT_RELU, pairs[5]), NEURON_CAUSE_OPCODE);
	bad(state, GPSIMD, activate(NEURON_ACT_RELU, 0), NEURON_CAUSE_OPCODE);
}

static void bias_is_a_number_or_a_column(void **state)
{
	struct neuron_inst inst = activate(NEURON_ACT_RECIPROCAL, 0);

	fill(state);
	good(state, SCALAR, activate(NEURON_ACT_RECIPROCAL, F32));
	assert_true(sbuf_f(state, 3, OUT)[0] == 1.0f / *sbuf_f(state, 3, COL1));
	inst.imm1 = f32(4.0f);
	good(state, SCALAR, inst);
	assert_true(sbuf_f(state, 3, OUT)[1] == 0.25f);
	bad(state, SCALAR, activate(NEURON_ACT_RELU, NEURON_DTYPE_TF32),
	    NEURON_CAUSE_OPERAND);
	/* The rule is the bias's: data may be tf32. */
	inst = activate(NEURON_ACT_RELU, 0);
	inst.src0.dtype = NEURON_DTYPE_TF32;
	good(state, SCALAR, inst);
}

static void bias_is_a_column_on_v2(void **state)
{
	struct neuron_inst inst = activate(NEURON_ACT_RELU, 0);

	fill(state);
	good(state, SCALAR, inst);
	inst.imm1 = f32(-0.0f);
	good(state, SCALAR, inst);
	inst.imm1 = f32(1.0f);
	bad(state, SCALAR, inst, NEURON_CAUSE_OPERAND);
	good(state, SCALAR, activate(NEURON_ACT_RELU, F32));
	assert_true(sbuf_f(state, 3, OUT)[0] == *sbuf_f(state, 3, COL1));
	bad(state, SCALAR, activate(NEURON_ACT_RELU, NEURON_DTYPE_TF32),
	    NEURON_CAUSE_OPERAND);
	good(state, SCALAR, activate(NEURON_ACT_RECIPROCAL, 0));
	bad(state, SCALAR, activate(NEURON_ACT_RECIPROCAL, F32), NEURON_CAUSE_OPERAND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EXEC_TEST(exec_setup_trn3, pairs_of_operators),
		EXEC_TEST(exec_setup_trn3, parameter_may_be_a_column),
		EXEC_TEST(exec_setup_trn3, nothing_else_is_a_pair),
		EXEC_TEST(exec_setup_trn3, three_stages_reduce),
		EXEC_TEST(exec_setup_trn3, casts_and_works_in_place),
		EXEC_TEST(exec_setup_trn3, refuses_other_operands),
		EXEC_TEST(exec_setup_trn3, bias_is_a_number_or_a_column),
		EXEC_TEST(exec_setup_trn3, gpsimd_activates_too),
		EXEC_TEST(exec_setup, is_not_there_before_v4),
		EXEC_TEST_AS("bias_is_a_number_or_a_column_on_trn2", exec_setup,
			     bias_is_a_number_or_a_column),
		EXEC_TEST_AS("is_not_there_before_v4_on_trn1", exec_setup_trn1,
			     is_not_there_before_v4),
		EXEC_TEST(exec_setup_trn1, bias_is_a_column_on_v2),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
