// SPDX-License-Identifier: MIT
/*
 * ALU operators of one operand, exact integer arithmetic, bitwise reductions and
 * scans.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "num_util.h"
#include "num/trn_num.h"

#define LENGTH		150	/* more than two blocks, and a tail */
#define ROUNDS		2000

static const uint8_t unary[] = {
	NEURON_ALU_ABS, NEURON_ALU_SQUARE, NEURON_ALU_RELU, NEURON_ALU_RSQRT,
	NEURON_ALU_RECIPROCAL,
};

static const uint8_t exact[] = {
	NEURON_ALU_ADD, NEURON_ALU_SUBTRACT, NEURON_ALU_MULTIPLY, NEURON_ALU_MAX,
	NEURON_ALU_MIN, NEURON_ALU_IS_EQ, NEURON_ALU_IS_NE, NEURON_ALU_IS_GE,
	NEURON_ALU_IS_GT, NEURON_ALU_IS_LE, NEURON_ALU_IS_LT,
};

static void use_path(const char *path)
{
	if (trn_num_force_path(path))
		return;
	print_message("no %s on this host\n", path);
	skip();
}

static float unary_expected(unsigned int op, float x)
{
	switch (op) {
	case NEURON_ALU_ABS:
		return fabsf(x);
	case NEURON_ALU_SQUARE:
		return x * x;
	case NEURON_ALU_RELU:
		return isnan(x) || x > 0.0f ? x : 0.0f;
	case NEURON_ALU_RSQRT:
		return (float)(1.0L / sqrtl(x));
	case NEURON_ALU_RECIPROCAL:
		return (float)(1.0L / x);
	}
	fail();
	return 0.0f;
}

static void check_unary(const float *x, size_t n)
{
	float want[LENGTH], got[LENGTH + 1];
	size_t i, k;

	for (k = 0; k < NUM_COUNT(unary); k++) {
		for (i = 0; i < n; i++)
			want[i] = num_float(num_canon_bits(unary_expected(unary[k], x[i])));
		got[n] = 42.0f;
		trn_alu_vv(unary[k], got, x, x, n);
		assert_true(num_first_difference(got, want, n) == NUM_SAME);
		trn_alu_vs(unary[k], got, x, 3.0f, false, n);
		assert_true(num_first_difference(got, want, n) == NUM_SAME);
		assert_true(got[n] == 42.0f);
		if (!n)
			continue;
		/* The comparison sees one unit in the last place. */
		want[n - 1] = num_float(num_bits(want[n - 1]) ^ 1);
		assert_int_equal(num_first_difference(got, want, n), n - 1);
	}
}

static void test_unary(void **state)
{
	uint64_t seed = 51;
	float x[LENGTH];
	size_t i, j;

	use_path(*state);
	for (i = 0; i < num_nr_edges; i++)
		x[i] = num_float(num_edges[i]);
	check_unary(x, num_nr_edges);
	for (i = 0; i < ROUNDS; i++) {
		for (j = 0; j < LENGTH; j++)
			x[j] = i & 1 ? num_random_bits(&seed) : num_random_mixed(&seed);
		check_unary(x, i % (LENGTH + 1));
	}
	assert_true(trn_num_force_path(NULL));
}

static bool rsqrt_is_nearest(uint32_t x, uint32_t r)
{
	/* x * 2^-23 and r * 2^-24; the halves around r are at (2r +- 1) * 2^-25. */
	unsigned __int128 one = (unsigned __int128)1 << 73;
	uint64_t low = 2ull * r - 1, high = 2ull * r + 1;

	return (unsigned __int128)low * low * x <= one && (unsigned __int128)high * high * x >= one;
}

/*
 * All significands and both parities of the exponent, so all of rsqrt: the
 * result is the correctly rounded one, as integers of 128 bits show.
 */
static void test_rsqrt_nearest(void **state)
{
	static float in[4096], out[4096];
	uint32_t first, i, bits, x;

	(void)state;
	for (first = 0; first < 1u << 24; first += 4096) {
		for (i = 0; i < 4096; i++)
			in[i] = num_float(0x3f800000u + first + i);
		trn_alu_vs(NEURON_ALU_RSQRT, out, in, 0.0f, false, 4096);
		for (i = 0; i < 4096; i++) {
			bits = num_bits(in[i]);
			/* 1 <= in < 4, so 1/2 < out <= 1. */
			x = ((bits & 0x7fffff) | 0x800000) << (bits >= 0x40000000u);
			if (!rsqrt_is_nearest(x, (uint32_t)(out[i] * 0x1p24f)))
				fail_msg("rsqrt(%a) is not %a", in[i], out[i]);
		}
	}
	in[0] = 1.125f;
	trn_alu_vs(NEURON_ALU_RSQRT, out, in, 0.0f, false, 1);
	x = (uint32_t)(out[0] * 0x1p24f);
	assert_true(rsqrt_is_nearest(0x900000, x));
	assert_false(rsqrt_is_nearest(0x900000, x + 1));
	assert_false(rsqrt_is_nearest(0x900000, x - 1));
}

static void test_invert(void **state)
{
	uint8_t a[LENGTH * 4], got[LENGTH * 4];
	unsigned int size;
	uint64_t seed = 52;
	size_t i, n;

	(void)state;
	for (i = 0; i < sizeof(a); i++)
		a[i] = (uint8_t)num_random(&seed);
	for (size = 1; size <= 4; size *= 2) {
		for (n = 0; n <= LENGTH; n++) {
			memset(got, 0, sizeof(got));
			trn_alu_bitwise(NEURON_ALU_INVERT, got, a, a, size, n);
			for (i = 0; i < n * size; i++)
				assert_int_equal(got[i], a[i] ^ 0xff);
			for (; i < sizeof(got); i++)
				assert_int_equal(got[i], 0);
		}
	}
}

static void test_reduce_bits(void **state)
{
	uint32_t a[LENGTH], want_and, want_or, want_xor, start, mask;
	uint64_t seed = 53;
	unsigned int size;
	size_t i, n;

	(void)state;
	for (size = 1; size <= 4; size *= 2) {
		mask = size == 4 ? ~0u : (1u << (8 * size)) - 1;
		for (n = 0; n <= LENGTH; n++) {
			for (i = 0; i < LENGTH; i++)
				a[i] = num_random(&seed) | num_random(&seed);
			start = num_random(&seed) & mask;
			want_and = start;
			want_or = start;
			want_xor = start;
			for (i = 0; i < n; i++) {
				uint32_t x = 0;

				memcpy(&x, (uint8_t *)a + i * size, size);
				want_and &= x;
				want_or |= x;
				want_xor ^= x;
			}
			assert_int_equal(trn_alu_reduce_bits(NEURON_ALU_BITWISE_AND, start, a,
							     size, n), want_and);
			assert_int_equal(trn_alu_reduce_bits(NEURON_ALU_BITWISE_OR, start, a,
							     size, n), want_or);
			assert_int_equal(trn_alu_reduce_bits(NEURON_ALU_BITWISE_XOR, start, a,
							     size, n), want_xor);
		}
	}
}

static void check_exact(const uint32_t *a, const uint32_t *b, size_t n)
{
	uint32_t got[LENGTH + 1], want;
	size_t i, k;
	int sign;

	for (k = 0; k < NUM_COUNT(exact); k++) {
		for (sign = 0; sign < 4; sign++) {
			const struct trn_signs signs = { sign & 1, sign & 2 };

			got[n] = 42;
			trn_alu_exact(exact[k], signs, got, a, b, n);
			for (i = 0; i < n; i++) {
				want = num_exact(exact[k], signs, a[i], b[i]);
				assert_int_equal(got[i], want);
			}
			assert_int_equal(got[n], 42);
		}
	}
}

static void test_exact(void **state)
{
	static const uint32_t edges[] = {
		0, 1, 2, 0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe,
		0xffffffff, 0x01000001, 0xff000000, 46341,
	};
	uint32_t a[LENGTH], b[LENGTH];
	unsigned int op, nr = 0;
	uint64_t seed = 54;
	size_t i, j;

	(void)state;
	for (op = 0; op < 300; op++)
		nr += trn_alu_is_exact(op);
	assert_int_equal(nr, NUM_COUNT(exact));
	for (i = 0; i < NUM_COUNT(exact); i++)
		assert_true(trn_alu_is_exact(exact[i]));
	for (i = 0; i < NUM_COUNT(edges) * NUM_COUNT(edges); i++) {
		a[i] = edges[i / NUM_COUNT(edges)];
		b[i] = edges[i % NUM_COUNT(edges)];
	}
	check_exact(a, b, i);
	for (j = 0; j < ROUNDS; j++) {
		for (i = 0; i < LENGTH; i++) {
			a[i] = num_random(&seed) >> (j % 32);
			b[i] = i % 5 ? num_random(&seed) : a[i];
		}
		check_exact(a, b, j % (LENGTH + 1));
	}
}

/* The recurrence, an element at a time with the vector operators. */
static void check_scan(const struct trn_scan *scan, const float *a, const float *b, size_t n)
{
	float r = 0.75f, t, want[LENGTH], got[LENGTH + 1], last;
	size_t i;

	for (i = 0; i < n; i++) {
		if (scan->reverse0)
			trn_alu_vv(scan->op0, &t, &r, &a[i], 1);
		else
			trn_alu_vv(scan->op0, &t, &a[i], &r, 1);
		if (scan->reverse1)
			trn_alu_vv(scan->op1, &r, &b[i], &t, 1);
		else
			trn_alu_vv(scan->op1, &r, &t, &b[i], 1);
		want[i] = r;
	}
	got[n] = 42.0f;
	last = trn_alu_scan(scan, 0.75f, got, a, b, n);
	assert_true(num_first_difference(got, want, n) == NUM_SAME);
	assert_int_equal(num_bits(last), num_bits(r));
	assert_true(got[n] == 42.0f);
	memcpy(got, b, n * sizeof(float));
	trn_alu_scan(scan, 0.75f, got, a, got, n);
	assert_true(num_first_difference(got, want, n) == NUM_SAME);
}

static void test_scan(void **state)
{
	float a[LENGTH], b[LENGTH];
	struct trn_scan scan;
	unsigned int op0, op1;
	uint64_t seed = 55;
	size_t i, n = 0;

	(void)state;
	for (op0 = 0; op0 < 0x20; op0++) {
		for (op1 = 0; op1 < 0x20; op1++) {
			if (!trn_alu_is_arith(op0) || !trn_alu_is_arith(op1))
				continue;
			scan.op0 = (uint8_t)op0;
			scan.op1 = (uint8_t)op1;
			for (i = 0; i < LENGTH; i++) {
				a[i] = n & 4 ? num_random_near_one(&seed) : num_random_mixed(&seed);
				b[i] = n & 4 ? num_random_near_one(&seed) : num_random_mixed(&seed);
			}
			for (i = 0; i < 4; i++, n += 7) {
				scan.reverse0 = i & 1;
				scan.reverse1 = i & 2;
				check_scan(&scan, a, b, n % (LENGTH + 1));
			}
		}
	}
}

/* Pieces of a reduction and of a scan make the whole. */
static void test_pieces(void **state)
{
	const struct trn_scan scan = { .op0 = NEURON_ALU_MULTIPLY, .op1 = NEURON_ALU_ADD };
	float a[LENGTH], b[LENGTH], want[LENGTH], got[LENGTH], sum;
	uint64_t seed = 56;
	size_t i, n;

	(void)state;
	for (i = 0; i < LENGTH; i++) {
		a[i] = num_random_near_one(&seed);
		b[i] = num_random_near_one(&seed);
	}
	sum = trn_alu_reduce(NEURON_ALU_ADD, a, LENGTH);
	trn_alu_scan(&scan, 0.5f, want, a, b, LENGTH);
	for (n = 1; n < LENGTH; n++) {
		float half = trn_alu_reduce(NEURON_ALU_ADD, a, n);

		half = trn_alu_reduce_from(NEURON_ALU_ADD, half, a + n, LENGTH - n);
		assert_int_equal(num_bits(half), num_bits(sum));
		half = trn_alu_scan(&scan, 0.5f, got, a, b, n);
		trn_alu_scan(&scan, half, got + n, a + n, b + n, LENGTH - n);
		assert_true(num_first_difference(got, want, LENGTH) == NUM_SAME);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		{ .name = "test_unary scalar", .test_func = test_unary,
		  .initial_state = (void *)"scalar" },
		{ .name = "test_unary avx2", .test_func = test_unary,
		  .initial_state = (void *)"avx2" },
		{ .name = "test_unary avx512", .test_func = test_unary,
		  .initial_state = (void *)"avx512" },
		cmocka_unit_test(test_rsqrt_nearest),
		cmocka_unit_test(test_invert),
		cmocka_unit_test(test_reduce_bits),
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_scan),
		cmocka_unit_test(test_pieces),
	};

	return cmocka_run_group_tests_name("num-alu", tests, NULL, NULL);
}
