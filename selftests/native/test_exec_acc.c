// SPDX-License-Identifier: MIT
/*
 * The accumulators of the vector and the scalar engine.
 */
#include "exec_rig.h"

#include <math.h>

#define N	2000		/* more than a piece of a line */
#define DATA	0x0
#define OUT	0x4000
#define ACC	0x8000

static struct neuron_inst acc_read(void)
{
	return OP(ACC_READ, .dst = ap_sbuf(0, 32, ACC, F32, 1));
}

/* dst = data * 2, combined by @op2. */
static struct neuron_inst doubled(unsigned int op2, unsigned int reduce)
{
	return OP(TENSOR_SCALAR, .op0 = NEURON_ALU_MULTIPLY, .imm0 = f32(2.0f),
		  .dst = ap_sbuf(0, 32, OUT, BF16, N),
		  .src0 = ap_sbuf(0, 32, DATA, F32, N), .op2 = (uint8_t)op2,
		  .reduce = (uint8_t)reduce);
}

static void fill(void **state)
{
	unsigned int p, i;

	for (p = 0; p < 32; p++)
		for (i = 0; i < N; i++)
			sbuf_f(state, p, DATA)[i] = (float)rnd(2001) / 7.0f - 140.0f;
}

static float combine(unsigned int op, float value, float x)
{
	switch (op) {
	case NEURON_ALU_ADD:
		return value + x;
	case NEURON_ALU_SUBTRACT:
		return value - x;
	case NEURON_ALU_MULTIPLY:
		return value * x;
	case NEURON_ALU_MAX:
		return fmaxf(value, x);
	case NEURON_ALU_MIN:
		return fminf(value, x);
	case NEURON_ALU_LOGICAL_AND:
		return value != 0.0f && x != 0.0f;
	case NEURON_ALU_LOGICAL_OR:
		return value != 0.0f || x != 0.0f;
	case NEURON_ALU_LOGICAL_XOR:
		return (value != 0.0f) != (x != 0.0f);
	}
	fail();
	return 0.0f;
}

/* One ascending chain of what the instruction computed, before the cast. */
static float chain(void **state, unsigned int p, unsigned int op, float value)
{
	unsigned int i;

	for (i = 0; i < N; i++) {
		float x = sbuf_f(state, p, DATA)[i] * 2.0f;

		value = combine(op, value, x);
	}
	return value;
}

static void expect(void **state, unsigned int op, float start)
{
	unsigned int p;

	for (p = 0; p < 32; p++)
		assert_true(*sbuf_f(state, p, ACC) == chain(state, p, op, start));
}

static void starts_from_the_neutral_element(void **state)
{
	static const struct {
		unsigned int op;
		float start;
	} ops[] = {
		{ NEURON_ALU_ADD, 0.0f },
		{ NEURON_ALU_SUBTRACT, 0.0f },
		{ NEURON_ALU_MULTIPLY, 1.0f },
		{ NEURON_ALU_MAX, -INFINITY },
		{ NEURON_ALU_MIN, INFINITY },
		{ NEURON_ALU_LOGICAL_AND, 1.0f },
		{ NEURON_ALU_LOGICAL_OR, 0.0f },
		{ NEURON_ALU_LOGICAL_XOR, 0.0f },
	};
	unsigned int i, p;

	exec_more_operators(state, true);
	fill(state);
	/* Some zeros for the logical ones, and products that stay finite. */
	for (p = 0; p < 32; p++)
		for (i = 0; i < N; i++)
			sbuf_f(state, p, DATA)[i] = p % 2 && !(i % 400) ? 0.0f :
				((float)rnd(2) - 0.5f) * (1.0f + (float)rnd(8) / 1024.0f);
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		const struct neuron_inst program[] = {
			doubled(ops[i].op, NEURON_REDUCE_RESET_REDUCE), acc_read(),
		};

		good_all(state, VECTOR, program, 2);
		expect(state, ops[i].op, ops[i].start);
	}
	exec_more_operators(state, false);
}

static void goes_on_from_a_number_and_from_the_last_one(void **state)
{
	struct neuron_inst load = doubled(NEURON_ALU_ADD, NEURON_REDUCE_LOAD_REDUCE);
	const struct neuron_inst again[] = {
		OP(ACC_LOAD, .src0 = ap_sbuf(0, 32, ACC, F32, 1)),
		doubled(NEURON_ALU_ADD, NEURON_REDUCE_REDUCE),
		acc_read(),
	};
	struct neuron_inst program[2];
	unsigned int p;
	float before[32];

	fill(state);
	load.addr = (uint64_t)f32(-0.75f) << 32;
	program[0] = load;
	program[1] = acc_read();
	good_all(state, VECTOR, program, 2);
	expect(state, NEURON_ALU_ADD, -0.75f);
	for (p = 0; p < 32; p++)
		before[p] = *sbuf_f(state, p, ACC);
	good_all(state, VECTOR, again, 3);
	for (p = 0; p < 32; p++)
		assert_true(*sbuf_f(state, p, ACC) ==
			    chain(state, p, NEURON_ALU_ADD, before[p]));
}

static void idle_and_reset_combine_nothing(void **state)
{
	const struct neuron_inst idle[] = {
		doubled(NEURON_ALU_ADD, NEURON_REDUCE_RESET_REDUCE),
		doubled(NEURON_ALU_MAX, NEURON_REDUCE_IDLE),
		acc_read(),
	};
	const struct neuron_inst reset[] = {
		doubled(NEURON_ALU_ADD, NEURON_REDUCE_RESET_REDUCE),
		doubled(NEURON_ALU_MIN, NEURON_REDUCE_RESET),
		acc_read(),
	};
	unsigned int p;

	fill(state);
	good_all(state, VECTOR, idle, 3);
	expect(state, NEURON_ALU_ADD, 0.0f);
	good_all(state, VECTOR, reset, 3);
	for (p = 0; p < 32; p++)
		assert_true(*sbuf_f(state, p, ACC) == INFINITY);
}

static void engines_have_their_own(void **state)
{
	struct seq_rig *rig = *state;
	struct seq_job job;

	fill(state);
	seq_job_init(&job, rig, 0, 0);
	seq_add(&job, VECTOR, doubled(NEURON_ALU_ADD, NEURON_REDUCE_RESET_REDUCE));
	seq_add(&job, VECTOR, post_add(OP(NOP, 0), 1, 1));
	seq_add(&job, VECTOR, OP(HALT, 0));
	seq_add(&job, SCALAR, wait_ge(acc_read(), 1, 1));
	seq_add(&job, SCALAR, OP(HALT, 0));
	seq_expect_ok(&job);
	/* A job does not see what an earlier one left, either. */
	assert_true(*sbuf_f(state, 0, ACC) == 0.0f);
	good(state, VECTOR, acc_read());
	assert_true(*sbuf_f(state, 0, ACC) == 0.0f);
}

static void activation_reduces(void **state)
{
	const struct neuron_inst program[] = {
		OP(ACTIVATE, .op0 = NEURON_ACT_RELU, .imm0 = f32(2.0f),
		   .dst = ap_sbuf(0, 32, OUT, F32, 16),
		   .src0 = ap_sbuf(0, 32, DATA, F32, 16),
		   .op2 = NEURON_ALU_ADD, .reduce = NEURON_REDUCE_RESET_REDUCE),
		OP(ACC_READ, .flags = NEURON_INST_NEGATE,
		   .dst = ap_sbuf(0, 32, ACC, F32, 1)),
	};
	unsigned int p, i;

	fill(state);
	good_all(state, SCALAR, program, 2);
	for (p = 0; p < 32; p++) {
		float sum = 0.0f;

		for (i = 0; i < 16; i++)
			sum += fmaxf(sbuf_f(state, p, DATA)[i] * 2.0f, 0.0f);
		assert_true(*sbuf_f(state, p, ACC) == -sum);
	}
}

/*
 * Rows of more than a piece: results where they lie, results on the desk, because they would
 * overwrite operands, and results in another type.
 */
static void long_activations_reduce(void **state)
{
	static const struct {
		uint32_t at;
		unsigned int dtype;
	} to[] = { { OUT, F32 }, { DATA + 4, F32 }, { OUT, BF16 } };
	float sum[32];
	unsigned int k, p, i;

	for (k = 0; k < sizeof(to) / sizeof(to[0]); k++) {
		const struct neuron_inst program[] = {
			OP(ACTIVATE, .op0 = NEURON_ACT_RELU, .imm0 = f32(2.0f),
			   .dst = ap_sbuf(0, 32, to[k].at, to[k].dtype, N),
			   .src0 = ap_sbuf(0, 32, DATA, F32, N),
			   .op2 = NEURON_ALU_ADD, .reduce = NEURON_REDUCE_RESET_REDUCE),
			acc_read(),
		};

		fill(state);
		for (p = 0; p < 32; p++)
			for (i = 0, sum[p] = 0.0f; i < N; i++)
				sum[p] += fmaxf(sbuf_f(state, p, DATA)[i] * 2.0f, 0.0f);
		good_all(state, SCALAR, program, 2);
		for (p = 0; p < 32; p++)
			assert_true(*sbuf_f(state, p, ACC) == sum[p]);
	}
}

static void scale_from_a_column(void **state)
{
	unsigned int p;

	fill(state);
	for (p = 0; p < 32; p++)
		*sbuf_f(state, p, ACC) = (float)p;
	good(state, SCALAR, OP(ACTIVATE, .mode = NEURON_INST_COL0 >> 8, .col0 = ACC,
			       .dst = ap_sbuf(0, 32, OUT, F32, 4),
			       .src0 = ap_sbuf(0, 32, DATA, F32, 4)));
	for (p = 0; p < 32; p++)
		assert_true(sbuf_f(state, p, OUT)[3] ==
			    sbuf_f(state, p, DATA)[3] * (float)p + 0.0f);
	bad(state, SCALAR, OP(ACTIVATE, .mode = NEURON_INST_COL0 >> 8,
			      .col0 = PARTITION, .dst = ap_sbuf(0, 32, OUT, F32, 4),
			      .src0 = ap_sbuf(0, 32, DATA, F32, 4)),
	    NEURON_CAUSE_ACCESS);
}

static void refuses_what_there_is_not(void **state)
{
	struct neuron_inst gpsimd = doubled(NEURON_ALU_ADD, NEURON_REDUCE_RESET_REDUCE);

	bad(state, GPSIMD, gpsimd, NEURON_CAUSE_OPERAND);
	/* Before v4 the scalar engine only adds. */
	bad(state, SCALAR, doubled(NEURON_ALU_MAX, NEURON_REDUCE_RESET_REDUCE),
	    NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, doubled(NEURON_ALU_DIVIDE, NEURON_REDUCE_RESET_REDUCE),
	    NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, doubled(NEURON_ALU_ADD, NEURON_NR_REDUCES),
	    NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, doubled(NEURON_ALU_BYPASS, NEURON_REDUCE_REDUCE),
	    NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, OP(ACC_READ, .dst = ap_sbuf(0, 32, ACC, F32, 2)),
	    NEURON_CAUSE_OPERAND);
	bad(state, GPSIMD, acc_read(), NEURON_CAUSE_OPCODE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_from_the_neutral_element),
		cmocka_unit_test(goes_on_from_a_number_and_from_the_last_one),
		cmocka_unit_test(idle_and_reset_combine_nothing),
		cmocka_unit_test(engines_have_their_own),
		cmocka_unit_test(activation_reduces),
		cmocka_unit_test(long_activations_reduce),
		cmocka_unit_test(scale_from_a_column),
		cmocka_unit_test(refuses_what_there_is_not),
	};

	return cmocka_run_group_tests(tests, exec_setup, exec_teardown);
}
