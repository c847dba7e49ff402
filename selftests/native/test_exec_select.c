// SPDX-License-Identifier: MIT
/*
 * Selections: by a predicate, by the index.
 */
#include "lanes_rig.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N	1500		/* more than a piece of a line */
#define P	32
#define DATA	0x0
#define PRED	0x2000
#define OUT	0x4000
#define COL	0x6000
#define COL1	0x6100
#define ACC	0x6200

/* Integers of @size bytes, half of them 0. */
static void predicate(void **state, unsigned int size)
{
	unsigned int p, i;

	for (p = 0; p < P; p++) {
		uint8_t *line = (uint8_t *)sbuf_f(state, p, PRED);

		memset(line, 0, N * size);
		for (i = 0; i < N; i++)
			if (rnd(2))
				line[i * size + rnd(size)] = (uint8_t)(1 + rnd(255));
	}
}

static bool holds(void **state, unsigned int p, unsigned int i, unsigned int size)
{
	const uint8_t *element = (uint8_t *)sbuf_f(state, p, PRED) + i * size;
	unsigned int bits = 0;

	while (size--)
		bits |= element[size];
	return bits;
}

static const struct {
	uint8_t dtype;
	uint8_t size;
} types[] = {
	{ U8, 1 }, { U16, 2 }, { NEURON_DTYPE_UINT32, 4 }, { I8, 1 },
	{ NEURON_DTYPE_INT16, 2 },
};

static struct neuron_inst copy_predicated(unsigned int dtype)
{
	return OP(COPY_PREDICATED, .dst = ap_sbuf(0, P, OUT, F32, N),
		  .src0 = ap_sbuf(0, P, DATA, F32, N),
		  .src1 = ap_sbuf(0, P, PRED, dtype, N));
}

static void copies_where_true(void **state)
{
	unsigned int k, p, i, reverse, number;

	for (k = 0; k < 12; k++) {
		struct neuron_inst inst = copy_predicated(types[k % 3].dtype);

		reverse = k / 3 % 2;
		number = k / 6;
		inst.flags = reverse ? NEURON_INST_REVERSE0 : 0;
		if (number) {
			inst.flags |= NEURON_INST_IMM;
			inst.imm0 = f32(-3.25f);
			inst.src0 = (struct neuron_ap){ 0 };
		}
		lanes_fill(state, P, DATA, N);
		predicate(state, types[k % 3].size);
		for (p = 0; p < P; p++)
			for (i = 0; i < N; i++)
				sbuf_f(state, p, OUT)[i] = (float)i;
		/* Bits, not numbers: a signalling NaN stays what it is. */
		memcpy(sbuf_f(state, 0, DATA), &(uint32_t){ 0x7f812345 }, 4);
		good(state, VECTOR, inst);
		for (p = 0; p < P; p++)
			for (i = 0; i < N; i++) {
				uint32_t want = number ? f32(-3.25f) :
						f32(sbuf_f(state, p, DATA)[i]);

				if (holds(state, p, i, types[k % 3].size) == reverse)
					want = f32((float)i);
				assert_int_equal(f32(sbuf_f(state, p, OUT)[i]), want);
			}
	}
}

/* Where the elements of the destination lie on each other, the last one taken stays. */
static void what_is_not_taken_is_not_written(void **state)
{
	struct neuron_inst inst = copy_predicated(U8);
	uint8_t *pred = (uint8_t *)sbuf_f(state, 0, PRED);

	inst.dst = ap_dim(ap_sbuf(0, 1, OUT, F32, 4), 0, 4, 0);
	inst.src0 = ap_sbuf(0, 1, DATA, F32, 4);
	inst.src1 = ap_sbuf(0, 1, PRED, U8, 4);
	memcpy(sbuf_f(state, 0, DATA), (float[]){ 1, 2, 3, 4 }, 16);
	memcpy(pred, (uint8_t[]){ 1, 1, 0, 0 }, 4);
	good(state, VECTOR, inst);
	assert_true(*sbuf_f(state, 0, OUT) == 2);
	/* A number for an integer type, whose low bits count. */
	inst.flags = NEURON_INST_IMM;
	inst.imm0 = (uint32_t)-2;
	inst.src0 = (struct neuron_ap){ 0 };
	inst.dst = ap_sbuf(0, 1, OUT, I8, 4);
	good(state, VECTOR, inst);
	assert_memory_equal(sbuf_f(state, 0, OUT), "\xfe\xfe\x00\x40", 4);
}

static void refuses_bad_copies(void **state)
{
	struct neuron_inst inst = copy_predicated(U8), wrong = inst;

	wrong.src1.dtype = I8;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.src0.dtype = I32;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.src1.num[0]--;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.src1.partitions--;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.src0.num[0]--;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.src0 = ap_psum(0, P, 0, F32, N);
	good(state, VECTOR, wrong);
	wrong.src1 = ap_psum(0, P, 0x2000, U8, N);
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.flags = NEURON_INST_IMM;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong.src0 = (struct neuron_ap){ 0 };
	wrong.dst = ap_psum(0, P, 0, F32, N);
	wrong.src1 = ap_psum(0, P, 0x2000, U8, N);
	good(state, VECTOR, wrong);
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPCODE);
}

static struct neuron_inst acc_read(void)
{
	return OP(ACC_READ, .dst = ap_sbuf(0, P, ACC, F32, 1));
}

static float max_of(float max, float x)
{
	return lanes_alu(NEURON_ALU_MAX, max, x);
}

static void selects_and_reduces(void **state)
{
	static const unsigned int tested[] = { 0, 1, 3, 4 };
	unsigned int k, p, i;

	for (k = 0; k < 8; k++) {
		unsigned int t = tested[k % 4];
		struct neuron_inst program[] = {
			OP(SELECT_REDUCE, .dst = ap_sbuf(0, P, OUT, F32, N),
			   .src0 = ap_sbuf(0, P, DATA, F32, N),
			   .src1 = ap_sbuf(0, P, PRED, types[t].dtype, N),
			   .flags = k & 4 ? NEURON_INST_REVERSE0 : 0,
			   .op2 = NEURON_ALU_MAX, .reduce = NEURON_REDUCE_RESET_REDUCE),
			acc_read(),
		};

		if (k & 1) {
			program[0].mode = NEURON_INST_COL0 >> 8;
			program[0].col0 = COL;
		} else {
			program[0].imm0 = f32(-1.5f);
		}
		lanes_fill(state, P, DATA, N);
		lanes_fill(state, P, COL, 1);
		predicate(state, types[t].size);
		good_all(state, VECTOR, program, 2);
		for (p = 0; p < P; p++) {
			float other = k & 1 ? *sbuf_f(state, p, COL) : -1.5f;
			float max = -INFINITY;

			for (i = 0; i < N; i++) {
				float want = holds(state, p, i, types[t].size) != (k >= 4) ?
					     sbuf_f(state, p, DATA)[i] : other;

				lanes_expect(sbuf_f(state, p, OUT)[i], want, p, i);
				max = max_of(max, want);
			}
			lanes_expect(*sbuf_f(state, p, ACC), max, p, N);
		}
	}
}

static void refuses_bad_selections(void **state)
{
	static const uint8_t sources[] = { NEURON_DTYPE_TF32, I32, NEURON_DTYPE_UINT32 };
	struct neuron_inst inst = OP(SELECT_REDUCE, .dst = ap_sbuf(0, P, OUT, F32, N),
				     .src0 = ap_sbuf(0, P, DATA, F32, N),
				     .src1 = ap_sbuf(0, P, PRED, U8, N));
	struct neuron_inst wrong;
	unsigned int i;

	good(state, VECTOR, inst);
	for (i = 0; i < 3; i++) {
		wrong = inst;
		wrong.src0.dtype = sources[i];
		bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	}
	wrong = inst;
	wrong.src1.dtype = I32;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong.src1.dtype = BF16;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.op2 = NEURON_ALU_ADD;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.src0 = ap_psum(0, P, 0, F32, N);
	wrong.src1 = ap_psum(0, P, 0x2000, U8, N);
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.src1.num[0]--;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.mode = NEURON_INST_COL0 >> 8;
	wrong.col0 = COL + 2;
	bad(state, VECTOR, wrong, NEURON_CAUSE_ACCESS);
}

static struct neuron_inst range_select(unsigned int op0, unsigned int op1, int start)
{
	return OP(RANGE_SELECT, .op0 = (uint8_t)op0, .op1 = (uint8_t)op1,
		  .dst = ap_sbuf(0, P, OUT, F32, N),
		  .src0 = ap_sbuf(0, P, DATA, F32, N),
		  .mode = (NEURON_INST_COL0 | NEURON_INST_COL1) >> 8,
		  .col0 = COL, .col1 = COL1, .addr = (uint32_t)start,
		  .op2 = NEURON_ALU_MAX, .reduce = NEURON_REDUCE_RESET_REDUCE);
}

static void selects_a_range(void **state)
{
	static const uint8_t tests[] = {
		NEURON_ALU_IS_EQ, NEURON_ALU_IS_LT, NEURON_ALU_IS_LE, NEURON_ALU_IS_GT,
		NEURON_ALU_IS_GE,
	};
	unsigned int k, p, i;

	for (k = 0; k < 25; k++) {
		int start = k % 2 ? -700 : 100000;
		struct neuron_inst program[] = {
			range_select(tests[k / 5], tests[k % 5], start), acc_read(),
		};

		lanes_fill(state, P, DATA, N);
		for (p = 0; p < P; p++) {
			*sbuf_f(state, p, COL) = (float)(start + (int)rnd(N));
			*sbuf_f(state, p, COL1) = p == 3 ? NAN :
						  (float)(start + (int)rnd(N)) - (float)rnd(2) / 2;
		}
		good_all(state, VECTOR, program, 2);
		for (p = 0; p < P; p++) {
			float max = -INFINITY;

			for (i = 0; i < N; i++) {
				float index = (float)(start + (int)i), want = -FLT_MAX;

				if (lanes_alu(program[0].op0, index, *sbuf_f(state, p, COL)) != 0 &&
				    lanes_alu(program[0].op1, index, *sbuf_f(state, p, COL1)) != 0)
					want = sbuf_f(state, p, DATA)[i];
				lanes_expect(sbuf_f(state, p, OUT)[i], want, p, i);
				max = max_of(max, want);
			}
			lanes_expect(*sbuf_f(state, p, ACC), max, p, N);
		}
	}
}

static void refuses_bad_ranges(void **state)
{
	struct neuron_inst inst = range_select(NEURON_ALU_IS_GE, NEURON_ALU_IS_LT, 0);
	struct neuron_inst wrong = inst;
	struct seq_rig *rig = malloc(sizeof(*rig));

	bad(state, VECTOR, range_select(NEURON_ALU_IS_NE, NEURON_ALU_IS_LT, 0),
	    NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, range_select(NEURON_ALU_IS_GE, NEURON_ALU_ADD, 0),
	    NEURON_CAUSE_OPERAND);
	good(state, VECTOR, range_select(NEURON_ALU_IS_GE, NEURON_ALU_IS_LT,
					 (1 << 24) - N + 1));
	bad(state, VECTOR, range_select(NEURON_ALU_IS_GE, NEURON_ALU_IS_LT,
					(1 << 24) - N + 2), NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, range_select(NEURON_ALU_IS_GE, NEURON_ALU_IS_LT,
					-(1 << 24) - 1), NEURON_CAUSE_OPERAND);
	wrong.op2 = NEURON_ALU_MIN;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.src0.dtype = I32;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.col1 = PARTITION;
	bad(state, VECTOR, wrong, NEURON_CAUSE_ACCESS);
	wrong = inst;
	wrong.src0.num[0]--;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	seq_rig_init(rig, &neuron_gen_trn1, 1, 1, false);
	assert_int_equal(run(rig, VECTOR, &inst, 1).cause, NEURON_CAUSE_OPCODE);
	seq_rig_destroy(rig);
	free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_where_true),
		cmocka_unit_test(what_is_not_taken_is_not_written),
		cmocka_unit_test(refuses_bad_copies),
		cmocka_unit_test(selects_and_reduces),
		cmocka_unit_test(refuses_bad_selections),
		cmocka_unit_test(selects_a_range),
		cmocka_unit_test(refuses_bad_ranges),
	};

	return cmocka_run_group_tests(tests, exec_setup, exec_teardown);
}
