// SPDX-License-Identifier: MIT
/* GpSimd: what is not zero, where runs begin and end, which numbers are largest. */
#include "exec_rig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define U32	NEURON_DTYPE_UINT32
#define DATA	0x0
#define OUT	0x10000
#define TOP_OUT	0x4000
#define TOP_IDX	0x14000

static int32_t *i32(void **state, unsigned int p, size_t offset)
{
	return (int32_t *)sbuf_f(state, p, offset);
}

/* --- nonzero_with_count --- */

static struct neuron_inst nonzero(unsigned int p, unsigned int dtype, unsigned int n)
{
	return OP(NONZERO_WITH_COUNT, .dst = ap_sbuf(0, p, OUT, I32, n + 1),
		  .src0 = ap_sbuf(0, p, DATA, dtype, n), .imm0 = 16,
		  .imm1 = (uint32_t)-1);
}

static void check_nonzero(void **state, unsigned int partitions, unsigned int dtype,
			  unsigned int n, unsigned int rare)
{
	unsigned int p, i, k;

	for (p = 0; p < partitions; p++) {
		memset(i32(state, p, OUT), 0x5a, 4 * (n + 1));
		for (i = 0; i < n; i++)
			i32(state, p, DATA)[i] = rnd(rare) ? 0 : (int32_t)rnd(0x7fffff) + 1;
	}
	good(state, GPSIMD, nonzero(partitions, dtype, n));
	for (p = 0; p < partitions; p++) {
		const int32_t *out = i32(state, p, OUT);

		if (p % 16) {
			for (i = 0; i <= n; i++)
				assert_int_equal(out[i], 0x5a5a5a5a);
			continue;
		}
		for (i = 0, k = 0; i < n; i++)
			if (i32(state, p, DATA)[i])
				assert_int_equal(out[k++], i + 16);
		assert_int_equal(out[n], k);
		for (; k < n; k++)
			assert_int_equal(out[k], -1);
	}
}

static void finds_what_is_not_zero(void **state)
{
	check_nonzero(state, 128, I32, 100, 2);
	check_nonzero(state, 128, F32, 3000, 5);
	check_nonzero(state, 17, I32, 1, 1);
	check_nonzero(state, 1, F32, 9000, 100);
	check_nonzero(state, 32, I32, 64, 1);
}

static void knows_the_zeros(void **state)
{
	static const uint32_t bits[] = {
		0, 0x80000000, 1, 0x80000001, 0x7fc00000, 0x7f800000,
	};
	static const int32_t fp32[] = { 18, 19, 20, 21, -1, -1, 4 };
	static const int32_t int32[] = { 17, 18, 19, 20, 21, -1, 5 };

	memcpy(i32(state, 0, DATA), bits, sizeof(bits));
	good(state, GPSIMD, nonzero(1, F32, 6));
	assert_memory_equal(i32(state, 0, OUT), fp32, sizeof(fp32));
	good(state, GPSIMD, nonzero(1, I32, 6));
	assert_memory_equal(i32(state, 0, OUT), int32, sizeof(int32));
}

static void nonzero_refuses(void **state)
{
	const struct neuron_inst plain = nonzero(32, I32, 10);
	struct neuron_inst inst;

	inst = plain;
	inst.src0.dtype = U32;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.src0.dtype = BF16;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.dst.dtype = F32;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.dst.num[0] = 10;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.dst.partitions = 16;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.dst = ap_psum(0, 32, 0, I32, 11);
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, plain, NEURON_CAUSE_OPCODE);
}

static void nonzero_is_not_there_on_v2(void **state)
{
	bad(state, GPSIMD, nonzero(32, I32, 10), NEURON_CAUSE_OPCODE);
}

/* --- sequence_bounds --- */

static struct neuron_inst bounds(unsigned int to, unsigned int from, unsigned int n)
{
	return OP(SEQUENCE_BOUNDS, .dst = ap_sbuf(32, 1, OUT, to, 2 * n),
		  .src0 = ap_sbuf(32, 1, DATA, from, n));
}

/* As the public documentation has it: two passes, forwards and backwards. */
static void bounds_model(const int32_t *id, int n, int *start, int *end)
{
	int i;

	for (i = 0; i < n; i++)
		start[i] = !id[i] ? n : i && id[i] == id[i - 1] ? start[i - 1] : i;
	for (i = n - 1; i >= 0; i--)
		end[i] = !id[i] ? -1 :
			 i < n - 1 && id[i] == id[i + 1] ? end[i + 1] : i + 1;
}

static double stored(void **state, unsigned int dtype, unsigned int i)
{
	return dtype == F32 ? (double)sbuf_f(state, 32, OUT)[i] :
			      i32(state, 32, OUT)[i];
}

static void check_bounds(void **state, unsigned int to, unsigned int from, int n)
{
	int *start = calloc((size_t)n, sizeof(int)), *end = calloc((size_t)n, sizeof(int));
	int32_t *id = calloc((size_t)n, sizeof(int32_t));
	int i;

	for (i = 0; i < n; i++) {
		id[i] = i && rnd(4) ? id[i - 1] : (int32_t)rnd(5);
		if (from == F32)
			sbuf_f(state, 32, DATA)[i] = (float)id[i];
		else
			i32(state, 32, DATA)[i] = id[i];
	}
	bounds_model(id, n, start, end);
	good(state, GPSIMD, bounds(to, from, (unsigned int)n));
	for (i = 0; i < n; i++) {
		assert_true(stored(state, to, (unsigned int)i) == start[i]);
		assert_true(stored(state, to, (unsigned int)(n + i)) == end[i]);
	}
	free(start);
	free(end);
	free(id);
}

static void finds_the_bounds(void **state)
{
	static const int32_t id[] = { 0, 1, 1, 2, 2, 2, 0, 3, 3 };
	static const int32_t want[] = {
		9, 1, 1, 3, 3, 3, 9, 7, 7, -1, 3, 3, 6, 6, 6, -1, 9, 9,
	};
	unsigned int i;

	memcpy(i32(state, 32, DATA), id, sizeof(id));
	good(state, GPSIMD, bounds(I32, I32, 9));
	assert_memory_equal(i32(state, 32, OUT), want, sizeof(want));
	for (i = 0; i < 4; i++) {
		unsigned int to = i & 1 ? F32 : I32, from = i & 2 ? F32 : I32;

		check_bounds(state, to, from, 1);
		check_bounds(state, to, from, 2);
		check_bounds(state, to, from, 300);
		check_bounds(state, to, from, 5000);
	}
}

/* Equal are 0 and -0, and nothing is equal to a NaN. */
static void compares_numbers(void **state)
{
	static const float id[] = { 0.0f, -0.0f, NAN, NAN, 2.5f, 2.5f };
	static const int32_t want[] = { 6, 6, 2, 3, 4, 4, -1, -1, 3, 4, 6, 6 };

	memcpy(sbuf_f(state, 32, DATA), id, sizeof(id));
	good(state, GPSIMD, bounds(I32, F32, 6));
	assert_memory_equal(i32(state, 32, OUT), want, sizeof(want));
}

static void bounds_refuse(void **state)
{
	struct neuron_inst inst;

	bad(state, GPSIMD, bounds(I32, U32, 8), NEURON_CAUSE_OPERAND);
	bad(state, GPSIMD, bounds(BF16, F32, 8), NEURON_CAUSE_OPERAND);
	inst = bounds(I32, I32, 8);
	inst.dst.num[0] = 15;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = bounds(I32, I32, 8);
	inst.dst.partitions = 2;
	inst.src0.partitions = 2;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = bounds(I32, I32, 8);
	inst.src0.partitions = 2;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = bounds(I32, I32, 8);
	inst.src0.addr |= PARTITION - 28;
	bad(state, GPSIMD, inst, NEURON_CAUSE_ACCESS);
	bad(state, VECTOR, bounds(I32, I32, 8), NEURON_CAUSE_OPCODE);
}

/* --- topk --- */

static struct neuron_inst topk(unsigned int p, unsigned int n, unsigned int k)
{
	return OP(TOPK, .dst = ap_sbuf(0, p, TOP_OUT, BF16, k),
		  .src0 = ap_sbuf(0, p, DATA, BF16, (n + 15) / 16),
		  .src1 = ap_sbuf(0, p, TOP_IDX, U32, k), .imm0 = n);
}

static uint16_t *snake(void **state, unsigned int p, unsigned int i)
{
	return (uint16_t *)sbuf_f(state, p + i % 16, DATA) + i / 16;
}

static float bf16(uint16_t bits)
{
	uint32_t word = (uint32_t)bits << 16;
	float value;

	memcpy(&value, &word, sizeof(value));
	return value;
}

/* Is @x larger than @y, or equal and first? NaN is largest, -0 below +0. */
static bool beats(uint16_t x, unsigned int i, uint16_t y, unsigned int j)
{
	float a = bf16(x), b = bf16(y);

	if (isnan(a) != isnan(b))
		return isnan(a);
	if (!isnan(a) && a != b)
		return a > b;
	if (!isnan(a) && signbit(a) != signbit(b))
		return signbit(b);
	return i < j;
}

static void check_topk(void **state, unsigned int partitions, unsigned int n,
		       unsigned int k)
{
	unsigned int p, i, j, lane;

	good(state, GPSIMD, topk(partitions, n, k));
	for (p = 0; p < partitions; p += 16) {
		const uint16_t *value = (const void *)sbuf_f(state, p, TOP_OUT);
		const uint32_t *index = (const void *)sbuf_f(state, p, TOP_IDX);
		unsigned int larger = 0;

		for (i = 0; i < k; i++) {
			assert_true(index[i] < n);
			assert_int_equal(value[i], *snake(state, p, index[i]));
			if (i)
				assert_true(beats(value[i], index[i], value[i - 1],
						  index[i - 1]));
		}
		/* No more than k - 1 beat the smallest one that was chosen. */
		for (j = 0; j < n; j++)
			larger += beats(*snake(state, p, j), j, value[0], index[0]);
		assert_int_equal(larger, k - 1);
		for (lane = 1; lane < 16; lane++) {
			assert_memory_equal(sbuf_f(state, p + lane, TOP_OUT), value, 2 * k);
			assert_memory_equal(sbuf_f(state, p + lane, TOP_IDX), index, 4 * k);
		}
	}
}

static void fill(void **state, unsigned int partitions, unsigned int n, unsigned int below)
{
	unsigned int p, i;

	for (p = 0; p < partitions; p += 16)
		for (i = 0; i < n; i++)
			*snake(state, p, i) = (uint16_t)(rnd(below) * (0x10000 / below));
}

static void finds_the_largest(void **state)
{
	fill(state, 128, 42, 0x10000);
	check_topk(state, 128, 42, 8);
	fill(state, 64, 5000, 0x10000);
	check_topk(state, 64, 5000, 300);
	check_topk(state, 16, 8, 8);
	check_topk(state, 16, 9, 1);
	check_topk(state, 32, 1024, 1024);
	/* Many equal ones. */
	fill(state, 32, 3000, 16);
	check_topk(state, 32, 3000, 1000);
	fill(state, 16, 65535, 0x10000);
	check_topk(state, 16, 65535, 32767);
}

static void orders_special_numbers(void **state)
{
	static const uint16_t bits[8] = {
		0x0000, 0x8000, 0x7f80, 0xff80, 0xffc1, 0x7fc0, 0x8000, 0x0001,
	};
	static const uint32_t want[8] = { 3, 6, 1, 0, 7, 2, 5, 4 };
	unsigned int i;

	for (i = 0; i < 8; i++)
		*snake(state, 0, i) = bits[i];
	check_topk(state, 16, 8, 8);
	assert_memory_equal(sbuf_f(state, 0, TOP_IDX), want, sizeof(want));
}

static void topk_refuses(void **state)
{
	const struct neuron_inst plain = topk(32, 64, 8);
	struct neuron_inst inst;

	bad(state, GPSIMD, topk(16, 7, 7), NEURON_CAUSE_OPERAND);
	bad(state, GPSIMD, topk(16, 65536, 8), NEURON_CAUSE_OPERAND);
	bad(state, GPSIMD, topk(16, 10, 11), NEURON_CAUSE_OPERAND);
	inst = topk(16, 65535, 32768);
	inst.src1.addr = 0;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	bad(state, GPSIMD, topk(24, 64, 8), NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.imm0 = 65;		/* does not fit in 4 elements */
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.dst.dtype = NEURON_DTYPE_FP16;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.src0.dtype = F32;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.src1.dtype = I32;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.src1.num[0] = 7;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.src1.partitions = 16;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.src1 = ap_psum(0, 32, 0, U32, 8);
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, plain, NEURON_CAUSE_OPCODE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EXEC_TEST(exec_setup, finds_what_is_not_zero),
		EXEC_TEST(exec_setup, knows_the_zeros),
		EXEC_TEST(exec_setup, nonzero_refuses),
		EXEC_TEST(exec_setup, finds_the_bounds),
		EXEC_TEST(exec_setup, compares_numbers),
		EXEC_TEST(exec_setup, bounds_refuse),
		EXEC_TEST(exec_setup, finds_the_largest),
		EXEC_TEST(exec_setup, orders_special_numbers),
		EXEC_TEST(exec_setup, topk_refuses),
		EXEC_TEST(exec_setup_trn1, nonzero_is_not_there_on_v2),
		EXEC_TEST_AS("finds_the_bounds_on_trn1", exec_setup_trn1,
			     finds_the_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
