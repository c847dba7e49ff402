// SPDX-License-Identifier: MIT
/*
 * GpSimd: patterns, selection by them, reductions over partitions, exact integers.
 */
#include "exec_rig.h"
#include "num_util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define U32	NEURON_DTYPE_UINT32
#define DATA	0x0
#define OTHER	0x8000
#define OUT	0x10000

static struct neuron_ap steps(int s0, int s1, int s2, int s3)
{
	const int32_t step[4] = { s0, s1, s2, s3 };
	struct neuron_ap ap = { 0 };

	memcpy(&ap, step, sizeof(step));
	return ap;
}

/* 3 * 5 * 70 * 4 elements */
static struct neuron_ap shape(unsigned int p, uint32_t offset, unsigned int dtype)
{
	struct neuron_ap ap = ap_sbuf(0, p, offset, dtype, 4);

	ap = ap_dim(ap, 1, 70, 4);
	ap = ap_dim(ap, 2, 5, 280);
	return ap_dim(ap, 3, 3, 1400);
}

#define SHAPE_N	(3 * 5 * 70 * 4)

/* The number of element @i of partition @p; wraps. */
static int32_t number(const struct neuron_inst *inst, unsigned int p, unsigned int i)
{
	uint32_t value = inst->imm0 + p * inst->imm1;
	uint32_t step[4];
	unsigned int d;

	memcpy(step, &inst->src1, sizeof(step));
	for (d = 0; d < 4; d++) {
		value += i % inst->dst.num[d] * step[d];
		i /= inst->dst.num[d];
	}
	return (int32_t)value;
}

static void iota_writes_numbers(void **state)
{
	struct neuron_inst inst = OP(IOTA, .dst = shape(128, OUT, I32),
				     .src1 = steps(3, -7, 1000, 70000),
				     .imm0 = 11, .imm1 = (uint32_t)-5);
	unsigned int p, i, round;

	for (round = 0; round < 3; round++) {
		good(state, GPSIMD, inst);
		for (p = 0; p < 128; p++)
			for (i = 0; i < SHAPE_N; i++)
				assert_int_equal(((int32_t *)sbuf_f(state, p, OUT))[i],
						 number(&inst, p, i));
		/* Beyond 32 bits it goes on from the other end. */
		inst.imm0 = 0x7fffff00 + round;
		inst.imm1 = rnd(0xffffffff);
		inst.src1 = steps((int)rnd(0xffffffff), 1 << 30, -1, 77);
	}
}

static void iota_casts(void **state)
{
	struct neuron_inst inst = OP(IOTA, .dst = ap_sbuf(32, 32, OUT, I8, 600),
				     .src1 = steps(1, 0, 0, 0), .imm0 = (uint32_t)-300,
				     .imm1 = 1);
	const int8_t *small;
	const float *single;
	const uint32_t *word;
	int i;

	good(state, GPSIMD, inst);
	small = (const void *)sbuf_f(state, 34, OUT);
	for (i = 0; i < 600; i++)
		assert_int_equal(small[i], i - 298 < -128 ? -128 :
					   i - 298 > 127 ? 127 : i - 298);
	inst.dst.dtype = F32;
	inst.imm0 = 0x01000001;
	good(state, GPSIMD, inst);
	single = sbuf_f(state, 32, OUT);
	assert_true(single[0] == 0x1p24f && single[2] == 0x1.000004p24f);
	/* The bits of the number, whatever its sign. */
	inst.dst.dtype = U32;
	inst.imm0 = (uint32_t)-1;
	good(state, GPSIMD, inst);
	word = (const void *)sbuf_f(state, 32, OUT);
	assert_int_equal(word[0], 0xffffffff);
	assert_int_equal(word[1], 0);
}

static bool holds(unsigned int op, int32_t value)
{
	switch (op) {
	case NEURON_ALU_IS_EQ:
		return value == 0;
	case NEURON_ALU_IS_NE:
		return value != 0;
	case NEURON_ALU_IS_GE:
		return value >= 0;
	case NEURON_ALU_IS_GT:
		return value > 0;
	case NEURON_ALU_IS_LE:
		return value <= 0;
	case NEURON_ALU_IS_LT:
		return value < 0;
	}
	fail();
	return false;
}

static struct neuron_inst select_op(unsigned int op, unsigned int to, unsigned int from)
{
	return OP(AFFINE_SELECT, .op0 = (uint8_t)op, .dst = shape(64, OUT, to),
		  .src0 = shape(64, DATA, from), .src1 = steps(1, -2, 3, 5),
		  .imm0 = (uint32_t)-20, .imm1 = 2, .addr = f32(-7.5f));
}

static void affine_select_compares(void **state)
{
	unsigned int op, p, i;

	for (p = 0; p < 64; p++)
		for (i = 0; i < SHAPE_N; i++)
			sbuf_f(state, p, DATA)[i] = (float)rnd(1000);
	*(uint32_t *)sbuf_f(state, 63, DATA) = 0x7f800123;	/* stays as it is */
	for (op = NEURON_ALU_IS_EQ; op <= NEURON_ALU_IS_LT; op++) {
		struct neuron_inst inst = select_op(op, F32, F32);

		good(state, GPSIMD, inst);
		for (p = 0; p < 64; p++) {
			for (i = 0; i < SHAPE_N; i++) {
				bool keep = holds(op, number(&inst, p, i));
				float from = sbuf_f(state, p, DATA)[i];

				assert_int_equal(f32(sbuf_f(state, p, OUT)[i]),
						 f32(keep ? from : -7.5f));
			}
		}
	}
}

static void affine_select_casts(void **state)
{
	struct neuron_inst inst = select_op(NEURON_ALU_IS_GT, BF16, F32);
	unsigned int p, i;

	for (p = 0; p < 64; p++)
		for (i = 0; i < SHAPE_N; i++)
			sbuf_f(state, p, DATA)[i] = (float)rnd(200) - 100.0f;
	good(state, GPSIMD, inst);
	for (p = 0; p < 64; p++) {
		const uint16_t *out = (const void *)sbuf_f(state, p, OUT);

		for (i = 0; i < SHAPE_N; i++)
			assert_int_equal(out[i], f32(number(&inst, p, i) > 0 ?
						     sbuf_f(state, p, DATA)[i] :
						     -7.5f) >> 16);
	}
	/* An integer destination gets the number rounded and saturated. */
	inst = select_op(NEURON_ALU_IS_LT, U8, U8);
	inst.src0 = shape(64, DATA, U8);
	inst.imm0 = 1000;
	inst.addr = f32(2.5f);
	good(state, GPSIMD, inst);
	assert_int_equal(*(uint8_t *)sbuf_f(state, 5, OUT), 2);
	inst.addr = f32(-1.0f);
	good(state, GPSIMD, inst);
	assert_int_equal(*(uint8_t *)sbuf_f(state, 5, OUT), 0);
}

static void affine_refuses(void **state)
{
	const struct neuron_inst iota = OP(IOTA, .dst = shape(64, OUT, I32));
	const struct neuron_inst sel = select_op(NEURON_ALU_IS_EQ, F32, F32);
	struct neuron_inst inst;

	bad(state, VECTOR, iota, NEURON_CAUSE_OPCODE);
	bad(state, VECTOR, sel, NEURON_CAUSE_OPCODE);
	inst = iota;
	inst.src1.partitions = 1;		/* no tile is there */
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = iota;
	inst.dst = ap_psum(0, 64, 0, I32, 4);
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = iota;
	inst.dst.addr |= PARTITION - 4;
	bad(state, GPSIMD, inst, NEURON_CAUSE_ACCESS);
	inst = iota;
	inst.dst.dtype = NEURON_DTYPE_INT64;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = iota;
	inst.op0 = NEURON_ALU_IS_EQ;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = sel;
	inst.op0 = NEURON_ALU_ADD;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = sel;
	inst.op0 = NEURON_ALU_BYPASS;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = sel;
	inst.src0.num[3] = 2;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = sel;
	inst.src0.partitions = 63;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = sel;
	inst.src0 = ap_psum(0, 64, 0, F32, 4);
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = sel;
	inst.addr |= 1ull << 32;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
}

/* --- partition_reduce --- */

#define WIDE	2500		/* more than a piece of a line */

static struct neuron_inst reduce(unsigned int op, unsigned int p, unsigned int dtype)
{
	return OP(PARTITION_REDUCE, .op0 = (uint8_t)op,
		  .dst = ap_sbuf(96, 1, OUT, dtype, WIDE),
		  .src0 = ap_sbuf(0, p, DATA, dtype, WIDE));
}

static float chain(unsigned int op, const float *column, unsigned int n)
{
	float value = column[0];
	unsigned int p;

	for (p = 1; p < n; p++)
		value = op == NEURON_ALU_MAX ? fmaxf(value, column[p]) :
					       value + column[p];
	return op == NEURON_ALU_AVERAGE ? value / (float)n : value;
}

static void partitions_are_reduced(void **state)
{
	static const uint8_t ops[] = {
		NEURON_ALU_ADD, NEURON_ALU_AVERAGE, NEURON_ALU_MAX,
	};
	static const uint8_t sizes[] = { 1, 3, 32, 47, 128 };
	unsigned int o, s, p, i;
	float column[128];

	for (p = 0; p < 128; p++)
		for (i = 0; i < WIDE; i++)
			sbuf_f(state, p, DATA)[i] = (float)rnd(0xffffff) / 129.0f - 999.0f;
	for (o = 0; o < 3; o++) {
		for (s = 0; s < sizeof(sizes); s++) {
			good(state, GPSIMD, reduce(ops[o], sizes[s], F32));
			for (i = 0; i < WIDE; i++) {
				for (p = 0; p < sizes[s]; p++)
					column[p] = sbuf_f(state, p, DATA)[i];
				assert_true(sbuf_f(state, 96, OUT)[i] ==
					    chain(ops[o], column, sizes[s]));
			}
		}
	}
}

static void bits_of_partitions_are_reduced(void **state)
{
	unsigned int p, i;

	for (p = 0; p < 64; p++)
		for (i = 0; i < WIDE; i++)
			((uint16_t *)sbuf_f(state, p, DATA))[i] =
				(uint16_t)(rnd(2) ? 0xffff : ~(1u << rnd(16)));
	good(state, GPSIMD, reduce(NEURON_ALU_BITWISE_AND, 64, U16));
	for (i = 0; i < WIDE; i++) {
		uint16_t want = 0xffff;

		for (p = 0; p < 64; p++)
			want &= ((uint16_t *)sbuf_f(state, p, DATA))[i];
		assert_int_equal(((uint16_t *)sbuf_f(state, 96, OUT))[i], want);
	}
	for (p = 0; p < 64; p++)
		for (i = 0; i < WIDE; i++)
			((uint16_t *)sbuf_f(state, p, DATA))[i] =
				(uint16_t)(rnd(40) ? 0 : 1u << rnd(16));
	good(state, GPSIMD, reduce(NEURON_ALU_BITWISE_OR, 64, U16));
	for (i = 0; i < WIDE; i++) {
		uint16_t want = 0;

		for (p = 0; p < 64; p++)
			want |= ((uint16_t *)sbuf_f(state, p, DATA))[i];
		assert_int_equal(((uint16_t *)sbuf_f(state, 96, OUT))[i], want);
	}
}

/* All of the source is read before the destination is written. */
static void a_reduction_may_overlap(void **state)
{
	struct neuron_inst inst = reduce(NEURON_ALU_ADD, 128, F32);
	float want[WIDE];
	unsigned int p, i;

	memset(want, 0, sizeof(want));
	for (p = 0; p < 128; p++)
		for (i = 0; i < WIDE; i++)
			want[i] += sbuf_f(state, p, DATA)[i] = (float)rnd(100);
	inst.dst = ap_sbuf(32, 1, DATA + 8, F32, WIDE);
	good(state, GPSIMD, inst);
	assert_memory_equal(sbuf_f(state, 32, DATA + 8), want, sizeof(want));
}

static void special_numbers_are_reduced(void **state)
{
	struct neuron_inst inst = reduce(NEURON_ALU_MAX, 2, F32);

	sbuf_f(state, 0, DATA)[0] = -0.0f, sbuf_f(state, 1, DATA)[0] = 0.0f;
	sbuf_f(state, 0, DATA)[1] = NAN, sbuf_f(state, 1, DATA)[1] = INFINITY;
	sbuf_f(state, 0, DATA)[2] = INFINITY, sbuf_f(state, 1, DATA)[2] = -INFINITY;
	good(state, GPSIMD, inst);
	assert_int_equal(f32(sbuf_f(state, 96, OUT)[0]), 0);
	assert_int_equal(f32(sbuf_f(state, 96, OUT)[1]), 0x7fc00000);
	inst.op0 = NEURON_ALU_ADD;
	good(state, GPSIMD, inst);
	assert_int_equal(f32(sbuf_f(state, 96, OUT)[2]), 0x7fc00000);
}

static void partition_reduce_refuses(void **state)
{
	static const uint8_t ops[] = {
		NEURON_ALU_MULTIPLY, NEURON_ALU_MIN, NEURON_ALU_BITWISE_XOR,
		NEURON_ALU_BYPASS, NEURON_ALU_BITWISE_AND, NEURON_ALU_SHIFT_LEFT,
		NEURON_ALU_POWER, NEURON_ALU_INVERT,
	};
	struct neuron_inst inst;
	unsigned int i;

	for (i = 0; i < sizeof(ops); i++)
		bad(state, GPSIMD, reduce(ops[i], 32, F32), NEURON_CAUSE_OPERAND);
	inst = reduce(NEURON_ALU_BITWISE_OR, 32, U16);
	inst.dst.dtype = U8;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = reduce(NEURON_ALU_ADD, 32, F32);
	inst.dst.partitions = 2;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = reduce(NEURON_ALU_ADD, 32, F32);
	inst.dst.num[0] = WIDE - 1;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = reduce(NEURON_ALU_ADD, 32, F32);
	inst.flags = NEURON_INST_NEGATE;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, reduce(NEURON_ALU_ADD, 32, F32), NEURON_CAUSE_OPCODE);
	/* Only this instruction has an average. */
	bad(state, GPSIMD, OP(TENSOR_SCALAR, .op0 = NEURON_ALU_AVERAGE,
			      .dst = ap_sbuf(0, 1, OUT, F32, 1),
			      .src0 = ap_sbuf(0, 1, DATA, F32, 1)),
	    NEURON_CAUSE_OPERAND);
}

/* --- exact integers --- */

static const uint32_t edges[] = { 0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff };

/* @signs: bits 0 to 2 for the operands and the result. */
static struct neuron_inst integers(unsigned int op, unsigned int signs)
{
	return OP(TENSOR_TENSOR, .op0 = (uint8_t)op,
		  .dst = ap_sbuf(0, 2, OUT, signs & 4 ? I32 : U32, WIDE),
		  .src0 = ap_sbuf(0, 2, DATA, signs & 1 ? I32 : U32, WIDE),
		  .src1 = ap_sbuf(0, 2, OTHER, signs & 2 ? I32 : U32, WIDE));
}

static void integers_are_exact(void **state)
{
	uint32_t *a = (uint32_t *)sbuf_f(state, 1, DATA);
	uint32_t *b = (uint32_t *)sbuf_f(state, 1, OTHER);
	const uint32_t *out = (const uint32_t *)sbuf_f(state, 1, OUT);
	unsigned int op, i, signs;

	for (i = 0; i < WIDE; i++) {
		a[i] = i < 36 ? edges[i / 6] : rnd(0xffffffff);
		b[i] = i < 36 ? edges[i % 6] : rnd(4) ? rnd(0xffffffff) : a[i];
	}
	for (op = 1; op < 0x18; op++) {
		if (op == NEURON_ALU_DIVIDE)
			op = NEURON_ALU_IS_EQ;
		if (op > NEURON_ALU_IS_LT)
			break;
		for (signs = 0; signs < 8; signs++) {
			const struct trn_signs is_signed = { signs & 1, signs & 2 };

			good(state, GPSIMD, integers(op, signs));
			for (i = 0; i < WIDE; i++)
				assert_int_equal(out[i], num_exact(op, is_signed, a[i], b[i]));
		}
	}
}

#define SIGNED_FIRST	1	/* a is int32, b is uint32 */
#define SIGNED_SECOND	2	/* a is uint32, b is int32 */

/* Worked out by hand: each operand has the value of its own type, the result is modulo 2^32. */
static const struct {
	uint8_t op;
	uint8_t signs;
	uint32_t a, b, result;
} mixed[] = {
	{ NEURON_ALU_ADD, SIGNED_FIRST, 0xffffffff, 1, 0 },			/* -1 + 1 */
	{ NEURON_ALU_ADD, SIGNED_FIRST, 0x7fffffff, 0x80000001, 0 },
	{ NEURON_ALU_ADD, SIGNED_SECOND, 0x80000000, 0x80000000, 0 },	/* 2^31 - 2^31 */
	{ NEURON_ALU_ADD, SIGNED_SECOND, 16777217, 2, 16777219 },
	{ NEURON_ALU_SUBTRACT, SIGNED_FIRST, 0, 0xffffffff, 1 },
	{ NEURON_ALU_SUBTRACT, SIGNED_SECOND, 0, 0xffffffff, 1 },		/* 0 - (-1) */
	{ NEURON_ALU_SUBTRACT, SIGNED_FIRST, 0x80000000, 1, 0x7fffffff },
	{ NEURON_ALU_MULTIPLY, SIGNED_FIRST, 0xfffffffd, 5, 0xfffffff1 },	/* -3 * 5 */
	{ NEURON_ALU_MULTIPLY, SIGNED_SECOND, 0xfffffffd, 5, 0xfffffff1 },
	{ NEURON_ALU_MULTIPLY, SIGNED_FIRST, 0x10001, 0x10001, 0x20001 },
	{ NEURON_ALU_MULTIPLY, SIGNED_SECOND, 16777217, 3, 50331651 },
	{ NEURON_ALU_MAX, SIGNED_FIRST, 0xffffffff, 1, 1 },			/* -1, 1 */
	{ NEURON_ALU_MAX, SIGNED_SECOND, 0xffffffff, 1, 0xffffffff },	/* 2^32 - 1, 1 */
	{ NEURON_ALU_MAX, SIGNED_FIRST, 0x7fffffff, 0x80000000, 0x80000000 },
	{ NEURON_ALU_MIN, SIGNED_FIRST, 0xffffffff, 0, 0xffffffff },		/* -1, 0 */
	{ NEURON_ALU_MIN, SIGNED_SECOND, 0xffffffff, 0, 0 },
	{ NEURON_ALU_MIN, SIGNED_FIRST, 16777217, 16777216, 16777216 },
	{ NEURON_ALU_IS_EQ, SIGNED_FIRST, 0xffffffff, 0xffffffff, 0 },	/* -1, 2^32 - 1 */
	{ NEURON_ALU_IS_EQ, SIGNED_SECOND, 16777217, 16777216, 0 },
	{ NEURON_ALU_IS_EQ, SIGNED_SECOND, 5, 5, 1 },
	{ NEURON_ALU_IS_NE, SIGNED_SECOND, 0x80000000, 0x80000000, 1 },	/* 2^31, -2^31 */
	{ NEURON_ALU_IS_LT, SIGNED_FIRST, 0x80000000, 0, 1 },		/* -2^31 < 0 */
	{ NEURON_ALU_IS_LT, SIGNED_SECOND, 0x80000000, 0, 0 },
	{ NEURON_ALU_IS_LE, SIGNED_FIRST, 0x7fffffff, 0x80000000, 1 },
	{ NEURON_ALU_IS_GT, SIGNED_FIRST, 0xffffffff, 0xffffffff, 0 },
	{ NEURON_ALU_IS_GT, SIGNED_SECOND, 0xffffffff, 0xffffffff, 1 },
	{ NEURON_ALU_IS_GE, SIGNED_SECOND, 0, 0xffffffff, 1 },		/* 0 >= -1 */
	{ NEURON_ALU_IS_GE, SIGNED_FIRST, 16777216, 16777217, 0 },
};

static void signed_with_unsigned(void **state)
{
	uint32_t *a = (uint32_t *)sbuf_f(state, 1, DATA);
	uint32_t *b = (uint32_t *)sbuf_f(state, 1, OTHER);
	const uint32_t *out = (const uint32_t *)sbuf_f(state, 1, OUT);
	unsigned int i, to;

	for (i = 0; i < sizeof(mixed) / sizeof(mixed[0]); i++) {
		for (to = 0; to <= 4; to += 4) {	/* to uint32, to int32 */
			a[0] = mixed[i].a;
			b[0] = mixed[i].b;
			good(state, GPSIMD, integers(mixed[i].op, mixed[i].signs | to));
			if (out[0] != mixed[i].result)
				fail_msg("row %u: %u, not %u", i, out[0], mixed[i].result);
		}
	}
}

/* Everything else goes by fp32, which does not hold 2^24 + 1. */
static void other_integers_are_not(void **state)
{
	int32_t *a = (int32_t *)sbuf_f(state, 0, DATA);
	int32_t *b = (int32_t *)sbuf_f(state, 0, OTHER);
	const int32_t *out = (const int32_t *)sbuf_f(state, 0, OUT);
	struct neuron_inst inst = integers(NEURON_ALU_ADD, 7);

	a[0] = 0x1000000;
	b[0] = 1;
	good(state, GPSIMD, inst);
	assert_int_equal(out[0], 0x1000001);
	good(state, VECTOR, inst);
	assert_int_equal(out[0], 0x1000000);
	inst.src1.dtype = F32;
	*(float *)b = 1.0f;
	good(state, GPSIMD, inst);
	assert_int_equal(out[0], 0x1000000);
	inst = integers(NEURON_ALU_POWER, 7);
	a[0] = 0x1000001;
	b[0] = 1;
	good(state, GPSIMD, inst);
	assert_int_equal(out[0], 0x1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(iota_writes_numbers),
		cmocka_unit_test(iota_casts),
		cmocka_unit_test(affine_select_compares),
		cmocka_unit_test(affine_select_casts),
		cmocka_unit_test(affine_refuses),
		cmocka_unit_test(partitions_are_reduced),
		cmocka_unit_test(bits_of_partitions_are_reduced),
		cmocka_unit_test(a_reduction_may_overlap),
		cmocka_unit_test(special_numbers_are_reduced),
		cmocka_unit_test(partition_reduce_refuses),
		cmocka_unit_test(integers_are_exact),
		cmocka_unit_test(signed_with_unsigned),
		cmocka_unit_test(other_integers_are_not),
	};

	return cmocka_run_group_tests(tests, exec_setup, exec_teardown);
}
