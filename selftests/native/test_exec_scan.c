// SPDX-License-Identifier: MIT
/*
 * Two operators on three operands, running results, the vector engine's functions.
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

static const uint8_t ops[] = {
	NEURON_ALU_ADD, NEURON_ALU_SUBTRACT, NEURON_ALU_MULTIPLY, NEURON_ALU_DIVIDE,
	NEURON_ALU_MAX, NEURON_ALU_MIN, NEURON_ALU_ABS_MAX, NEURON_ALU_ABS_MIN,
	NEURON_ALU_IS_GE, NEURON_ALU_IS_LT, NEURON_ALU_LOGICAL_AND,
};

static void operands(void **state)
{
	lanes_fill(state, P, A, N);
	lanes_fill(state, P, B, N);
	lanes_fill(state, P, COL, 1);
}

static struct neuron_inst three(unsigned int opcode)
{
	struct neuron_inst inst = {
		.opcode = (uint8_t)opcode,
		.op0 = ops[rnd(sizeof(ops))],
		.op1 = ops[rnd(sizeof(ops))],
		.flags = (uint8_t)(rnd(4) * NEURON_INST_REVERSE0),
		.dst = ap_sbuf(0, P, OUT, F32, N),
		.src0 = ap_sbuf(0, P, A, F32, N),
		.src1 = ap_sbuf(0, P, B, F32, N),
	};

	if (rnd(2)) {
		inst.mode = NEURON_INST_COL0 >> 8;
		inst.col0 = COL;
	} else {
		inst.imm0 = f32(lanes_random());
	}
	return inst;
}

static float scalar_of(void **state, const struct neuron_inst *inst, unsigned int p)
{
	float value;

	if (inst->mode)
		return *sbuf_f(state, p, COL);
	memcpy(&value, &inst->imm0, sizeof(value));
	return value;
}

static float either_way(unsigned int op, float x, float y, bool reverse)
{
	return reverse ? lanes_alu(op, y, x) : lanes_alu(op, x, y);
}

static void two_operators(void **state)
{
	unsigned int round, p, i;

	exec_more_operators(state, true);
	for (round = 0; round < 30; round++) {
		struct neuron_inst inst = three(NEURON_OP_SCALAR_TENSOR_TENSOR);

		operands(state);
		good(state, VECTOR, inst);
		for (p = 0; p < P; p++)
			for (i = 0; i < N; i++) {
				float x = either_way(inst.op0, sbuf_f(state, p, A)[i],
						     scalar_of(state, &inst, p),
						     inst.flags & NEURON_INST_REVERSE0);

				x = either_way(inst.op1, x, sbuf_f(state, p, B)[i],
					       inst.flags & NEURON_INST_REVERSE1);
				lanes_expect(sbuf_f(state, p, OUT)[i], x, p, i);
			}
	}
}

static void scans(void **state)
{
	unsigned int round, p, i;

	exec_more_operators(state, true);
	for (round = 0; round < 30; round++) {
		struct neuron_inst inst = three(NEURON_OP_TENSOR_SCAN);

		if (round % 4 == 0) {
			inst.op0 = NEURON_ALU_MULTIPLY;
			inst.op1 = NEURON_ALU_ADD;
		}
		operands(state);
		good(state, VECTOR, inst);
		for (p = 0; p < P; p++) {
			float r = scalar_of(state, &inst, p);

			for (i = 0; i < N; i++) {
				r = either_way(inst.op0, sbuf_f(state, p, A)[i], r,
					       inst.flags & NEURON_INST_REVERSE0);
				r = either_way(inst.op1, r, sbuf_f(state, p, B)[i],
					       inst.flags & NEURON_INST_REVERSE1);
				lanes_expect(sbuf_f(state, p, OUT)[i], r, p, i);
			}
		}
	}
}

/* In place, the line is read before it is written. */
static void scans_in_place_and_backwards(void **state)
{
	struct neuron_inst inst = OP(TENSOR_SCAN, .op0 = NEURON_ALU_ADD,
				     .op1 = NEURON_ALU_MAX, .imm0 = f32(0.5f),
				     .src0 = ap_sbuf(0, 1, A, F32, 6),
				     .src1 = ap_sbuf(0, 1, B, F32, 6),
				     .dst = ap_dim(ap_sbuf(0, 1, A + 20, F32, 6), 0, 6, -1));
	static const float want[] = { 1.5f, 3.5f, 6.5f, 10.5f, 15.5f, 21.5f };
	float *a = sbuf_f(state, 0, A);
	unsigned int i;

	for (i = 0; i < 6; i++) {
		a[i] = (float)(i + 1);
		sbuf_f(state, 0, B)[i] = -1.0f;
	}
	good(state, VECTOR, inst);
	for (i = 0; i < 6; i++)
		assert_true(a[5 - i] == want[i]);
}

static void refuses_bad_three(void **state, unsigned int opcode)
{
	struct neuron_inst inst = three(opcode), wrong;

	/* Operators that trn2 has. */
	inst.op0 = NEURON_ALU_ADD;
	inst.op1 = NEURON_ALU_MAX;

	wrong = inst;
	wrong.op0 = NEURON_ALU_BITWISE_AND;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.op1 = NEURON_ALU_POWER;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.op1 = NEURON_ALU_BYPASS;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.src1 = ap_sbuf(0, P, B, F32, N - 1);
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong.src1 = ap_sbuf(0, P - 1, B, F32, N);
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.src0 = ap_sbuf(0, P, A, F32, N - 1);
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.src0 = ap_psum(0, P, 0, F32, N);
	good(state, VECTOR, wrong);
	wrong.src1 = ap_psum(0, P, 0x2000, F32, N);
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.imm0 = 0;
	wrong.mode = NEURON_INST_COL0 >> 8;
	wrong.col0 = PARTITION;
	bad(state, VECTOR, wrong, NEURON_CAUSE_ACCESS);
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPCODE);
}

static void refuses_bad_operands(void **state)
{
	refuses_bad_three(state, NEURON_OP_SCALAR_TENSOR_TENSOR);
	refuses_bad_three(state, NEURON_OP_TENSOR_SCAN);
}

static struct neuron_inst cumulative(unsigned int op2, unsigned int reduce)
{
	struct neuron_inst inst = three(NEURON_OP_TENSOR_CUMULATIVE);

	inst.op1 = 0;
	inst.src1 = (struct neuron_ap){ 0 };
	inst.flags &= (uint8_t)~NEURON_INST_REVERSE1;
	inst.op2 = (uint8_t)op2;
	inst.reduce = (uint8_t)reduce;
	return inst;
}

static struct neuron_inst acc_read(void)
{
	return OP(ACC_READ, .dst = ap_sbuf(0, P, ACC, F32, 1));
}

static void expect_cumulative(void **state, const struct neuron_inst *inst,
			      const float *start)
{
	unsigned int p, i;

	for (p = 0; p < P; p++) {
		float r = start[p];

		for (i = 0; i < N; i++) {
			float x = either_way(inst->op0, sbuf_f(state, p, A)[i],
					     scalar_of(state, inst, p),
					     inst->flags & NEURON_INST_REVERSE0);

			r = lanes_alu(inst->op2, x, r);
			lanes_expect(sbuf_f(state, p, OUT)[i], r, p, i);
		}
		lanes_expect(*sbuf_f(state, p, ACC), r, p, N);
	}
}

static void cumulates(void **state)
{
	static const struct {
		uint8_t op;
		float start;
	} kinds[] = {
		{ NEURON_ALU_ADD, 0.0f }, { NEURON_ALU_SUBTRACT, 0.0f },
		{ NEURON_ALU_MULTIPLY, 1.0f }, { NEURON_ALU_MAX, -INFINITY },
		{ NEURON_ALU_MIN, INFINITY },
	};
	unsigned int k, p, round;
	float start[P];

	exec_more_operators(state, true);
	for (round = 0; round < 4; round++) {
		for (k = 0; k < 5; k++) {
			struct neuron_inst program[3] = {
				cumulative(kinds[k].op, NEURON_REDUCE_RESET_REDUCE),
				acc_read(),
			};

			operands(state);
			for (p = 0; p < P; p++)
				start[p] = kinds[k].start;
			good_all(state, VECTOR, program, 2);
			expect_cumulative(state, &program[0], start);

			program[0].reduce = NEURON_REDUCE_LOAD_REDUCE;
			program[0].addr = (uint64_t)f32(-0.25f) << 32;
			for (p = 0; p < P; p++)
				start[p] = -0.25f;
			good_all(state, VECTOR, program, 2);
			expect_cumulative(state, &program[0], start);

			program[2] = program[1];
			program[1] = program[0];
			program[1].reduce = NEURON_REDUCE_REDUCE;
			program[1].addr = 0;
			program[0] = OP(ACC_LOAD, .src0 = ap_sbuf(0, P, COL, F32, 1));
			for (p = 0; p < P; p++)
				start[p] = *sbuf_f(state, p, COL);
			good_all(state, VECTOR, program, 3);
			expect_cumulative(state, &program[1], start);
		}
	}
}

static void refuses_bad_cumulations(void **state)
{
	struct neuron_inst inst = cumulative(NEURON_ALU_ADD, NEURON_REDUCE_RESET_REDUCE);
	struct neuron_inst wrong;

	bad(state, VECTOR, cumulative(NEURON_ALU_ABS_MAX, NEURON_REDUCE_RESET_REDUCE),
	    NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, cumulative(NEURON_ALU_ADD, NEURON_REDUCE_IDLE),
	    NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, cumulative(NEURON_ALU_ADD, NEURON_REDUCE_RESET),
	    NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, cumulative(NEURON_ALU_BYPASS, NEURON_REDUCE_IDLE),
	    NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.op0 = NEURON_ALU_POWER;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.dst.dtype = I32;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong.dst.dtype = NEURON_DTYPE_TF32;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.src0.dtype = NEURON_DTYPE_UINT32;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.src0.num[0]--;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPCODE);
}

static void reciprocals(void **state)
{
	struct neuron_inst inst = OP(RECIPROCAL, .dst = ap_sbuf(0, P, OUT, F32, N),
				     .src0 = ap_sbuf(0, P, A, F32, N));
	unsigned int p, i;

	operands(state);
	good(state, VECTOR, inst);
	for (p = 0; p < P; p++)
		for (i = 0; i < N; i++)
			lanes_expect(sbuf_f(state, p, OUT)[i],
				     1.0f / sbuf_f(state, p, A)[i], p, i);
	inst.src0.num[0]--;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	inst.src0.num[0]++;
	bad(state, SCALAR, inst, NEURON_CAUSE_OPCODE);
	bad(state, VECTOR, OP(EXPONENTIAL, .dst = inst.dst, .src0 = inst.src0),
	    NEURON_CAUSE_OPCODE);
}

/* --- trn3 --- */

/* The same function as the scalar engine's, of the rounded difference. */
static void exponentials(void **state)
{
	const struct neuron_inst program[] = {
		OP(EXPONENTIAL, .dst = ap_sbuf(0, P, OUT, F32, N),
		   .src0 = ap_sbuf(0, P, A, F32, N), .mode = NEURON_INST_COL0 >> 8,
		   .col0 = COL, .op2 = NEURON_ALU_ADD,
		   .reduce = NEURON_REDUCE_RESET_REDUCE),
		acc_read(),
	};
	struct neuron_inst wrong = program[0];
	unsigned int p, i;

	operands(state);
	good_all(state, VECTOR, program, 2);
	for (p = 0; p < P; p++) {
		float sum = 0.0f, max = *sbuf_f(state, p, COL);

		for (i = 0; i < N; i++) {
			float got = sbuf_f(state, p, OUT)[i];
			float x = sbuf_f(state, p, A)[i] - max;
			double want = exp((double)x);

			sum += got;
			if (x != x)
				lanes_expect(got, NAN, p, i);
			else if (!(fabs((double)got - want) <= want * 6e-8 + 1e-45) &&
				 (double)got != (double)(float)want)
				fail_msg("exp(%a) is not %a", (double)x, (double)got);
		}
		lanes_expect(*sbuf_f(state, p, ACC), sum, p, N);
	}
	wrong.op2 = NEURON_ALU_MAX;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = program[0];
	wrong.dst.num[0]--;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = program[0];
	wrong.col0 = PARTITION + 64 * 1024;
	bad(state, VECTOR, wrong, NEURON_CAUSE_ACCESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EXEC_TEST(exec_setup_trn3, two_operators),
		EXEC_TEST(exec_setup_trn3, scans),
		EXEC_TEST(exec_setup, scans_in_place_and_backwards),
		EXEC_TEST(exec_setup, refuses_bad_operands),
		EXEC_TEST(exec_setup_trn3, cumulates),
		EXEC_TEST(exec_setup, refuses_bad_cumulations),
		EXEC_TEST(exec_setup, reciprocals),
		EXEC_TEST(exec_setup_trn3, exponentials),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
