// SPDX-License-Identifier: MIT
/*
 * ALU operators.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "num_util.h"
#include "num/trn_num.h"
#include "num/trn_num_fn.h"

#define RANDOM_ROUNDS	2000
#define LENGTH		150	/* more than two blocks, and a tail */

static const uint8_t arith[] = {
	NEURON_ALU_BYPASS, NEURON_ALU_ADD, NEURON_ALU_SUBTRACT,
	NEURON_ALU_MULTIPLY, NEURON_ALU_MAX, NEURON_ALU_MIN, NEURON_ALU_DIVIDE,
	NEURON_ALU_ABS_MAX, NEURON_ALU_ABS_MIN, NEURON_ALU_IS_EQ,
	NEURON_ALU_IS_NE, NEURON_ALU_IS_GE, NEURON_ALU_IS_GT, NEURON_ALU_IS_LE,
	NEURON_ALU_IS_LT, NEURON_ALU_LOGICAL_AND, NEURON_ALU_LOGICAL_OR,
	NEURON_ALU_LOGICAL_XOR, NEURON_ALU_POWER,
};

/* The order of the numbers with -0 below +0; not for NaN. */
static int64_t rank(float f)
{
	int64_t magnitude = num_bits(f) & 0x7fffffff;

	return signbit(f) ? -1 - magnitude : magnitude;
}

static float pick(float a, float b, bool larger)
{
	if (isnan(a) || isnan(b))
		return NAN;
	return (rank(a) > rank(b)) == larger ? a : b;
}

/* The rules of numerics.rst, one element at a time. */
static float alu_expected(unsigned int op, float a, float b)
{
	switch (op) {
	case NEURON_ALU_BYPASS:
		return a;
	case NEURON_ALU_ADD:
		return a + b;
	case NEURON_ALU_SUBTRACT:
		return a - b;
	case NEURON_ALU_MULTIPLY:
		return a * b;
	case NEURON_ALU_DIVIDE:
		return a / b;
	case NEURON_ALU_MAX:
		return pick(a, b, true);
	case NEURON_ALU_MIN:
		return pick(a, b, false);
	case NEURON_ALU_ABS_MAX:
		return fabsf(a) > fabsf(b) ? a : b;
	case NEURON_ALU_ABS_MIN:
		return fabsf(a) < fabsf(b) ? a : b;
	case NEURON_ALU_POWER:
		/* How good it is the tests of the functions say. */
		return trn_power_fp32(a, b);
	case NEURON_ALU_IS_EQ:
		return a == b;
	case NEURON_ALU_IS_NE:
		return !(a == b);
	case NEURON_ALU_IS_GE:
		return isgreaterequal(a, b);
	case NEURON_ALU_IS_GT:
		return isgreater(a, b);
	case NEURON_ALU_IS_LE:
		return islessequal(a, b);
	case NEURON_ALU_IS_LT:
		return isless(a, b);
	case NEURON_ALU_LOGICAL_AND:
		return a && b;
	case NEURON_ALU_LOGICAL_OR:
		return a || b;
	case NEURON_ALU_LOGICAL_XOR:
		return !a != !b;
	}
	fail();
	return 0.0f;
}

static float alu_canonical(unsigned int op, float a, float b)
{
	return num_float(num_canon_bits(alu_expected(op, a, b)));
}

static void check_alu(unsigned int op, const float *a, const float *b, size_t n)
{
	float want[LENGTH], got[LENGTH + 1];
	size_t i;

	for (i = 0; i < n; i++)
		want[i] = alu_canonical(op, a[i], b[i]);
	got[n] = 42.0f;
	trn_alu_vv(op, got, a, b, n);
	assert_true(got[n] == 42.0f);
	i = num_first_difference(got, want, n);
	if (i == NUM_SAME)
		return;
	print_error("operator %u, %a and %a: %#x, not %#x\n", op, a[i], b[i],
		    num_bits(got[i]), num_bits(want[i]));
	fail();
}

static void test_alu_classes(void **state)
{
	unsigned int op, nr_arith = 0;

	(void)state;
	for (op = 0; op < 512; op++) {
		nr_arith += trn_alu_is_arith(op);
		assert_false(trn_alu_is_arith(op) && trn_alu_is_bitwise(op));
		assert_false(trn_alu_is_unary(op) &&
			     (trn_alu_is_arith(op) || trn_alu_is_bitwise(op)));
		if (trn_alu_is_reduction(op))
			assert_true(trn_alu_is_arith(op) || trn_alu_is_bitwise(op));
	}
	for (op = 0; op < NUM_COUNT(arith); op++)
		assert_true(trn_alu_is_arith(arith[op]));
	assert_int_equal(nr_arith, NUM_COUNT(arith));
	assert_true(trn_alu_is_bitwise(NEURON_ALU_SHIFT_RIGHT));
	assert_false(trn_alu_is_bitwise(NEURON_ALU_SHIFT_RIGHT + 1));
	assert_true(trn_alu_is_reduction(NEURON_ALU_BITWISE_XOR));
	assert_false(trn_alu_is_reduction(NEURON_ALU_SHIFT_LEFT));
	assert_false(trn_alu_is_reduction(NEURON_ALU_DIVIDE));
	assert_false(trn_alu_is_reduction(NEURON_ALU_IS_EQ));
}

static void use_path(const char *path)
{
	if (trn_num_force_path(path))
		return;
	print_message("no %s on this host\n", path);
	skip();
}

static void test_alu_edges(void **state)
{
	float a[LENGTH], b[LENGTH];
	size_t i, j, k;

	use_path(*state);
	assert_true(num_nr_edges <= LENGTH);
	for (k = 0; k < NUM_COUNT(arith); k++) {
		for (i = 0; i < num_nr_edges; i++) {
			for (j = 0; j < num_nr_edges; j++) {
				a[j] = num_float(num_edges[i]);
				b[j] = num_float(num_edges[j]);
			}
			check_alu(arith[k], a, b, num_nr_edges);
		}
	}
	assert_true(trn_num_force_path(NULL));
}

static void test_alu_random(void **state)
{
	float a[LENGTH], b[LENGTH];
	uint64_t seed = 11;
	size_t i, j, k;

	use_path(*state);
	for (i = 0; i < RANDOM_ROUNDS; i++) {
		for (j = 0; j < LENGTH; j++) {
			a[j] = num_random_bits(&seed);
			b[j] = i & 1 ? num_random_bits(&seed) : num_random_mixed(&seed);
		}
		for (k = 0; k < NUM_COUNT(arith); k++)
			check_alu(arith[k], a, b, i % (LENGTH + 1));
	}
	assert_true(trn_num_force_path(NULL));
}

/* In place, against a scalar, reversed. */
static void test_alu_forms(void **state)
{
	float a[LENGTH], b[LENGTH], same[LENGTH], want[LENGTH], got[LENGTH];
	uint64_t seed = 12;
	size_t i, k, n;

	use_path(*state);
	for (i = 0; i < LENGTH; i++) {
		a[i] = num_random_mixed(&seed);
		b[i] = num_random_mixed(&seed);
		same[i] = 1.25f;
	}
	for (k = 0; k < NUM_COUNT(arith); k++) {
		for (n = 0; n <= LENGTH; n++) {
			trn_alu_vv(arith[k], want, a, b, n);
			memcpy(got, a, sizeof(got));
			trn_alu_vv(arith[k], got, got, b, n);
			assert_true(num_first_difference(got, want, n) == NUM_SAME);
			memcpy(got, b, sizeof(got));
			trn_alu_vv(arith[k], got, a, got, n);
			assert_true(num_first_difference(got, want, n) == NUM_SAME);

			trn_alu_vv(arith[k], want, a, same, n);
			trn_alu_vs(arith[k], got, a, same[0], false, n);
			assert_true(num_first_difference(got, want, n) == NUM_SAME);
			trn_alu_vv(arith[k], want, same, a, n);
			memcpy(got, a, sizeof(got));
			trn_alu_vs(arith[k], got, got, same[0], true, n);
			assert_true(num_first_difference(got, want, n) == NUM_SAME);
		}
	}
	assert_true(trn_num_force_path(NULL));
}

/* The chain of numerics.rst, one step at a time. */
static float chain_expected(unsigned int op, float sum, const float *a, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		sum = num_float(num_canon_bits(alu_expected(op, sum, a[i])));
	return num_float(num_canon_bits(sum));
}

static float reduce_expected(unsigned int op, const float *a, size_t n)
{
	bool logical = op >= NEURON_ALU_LOGICAL_AND && op <= NEURON_ALU_LOGICAL_XOR;

	return chain_expected(op, logical ? a[0] != 0.0f : a[0], a + 1, n - 1);
}

static void test_reduce(void **state)
{
	float a[LENGTH], got, want;
	uint64_t seed = 13;
	size_t i, k, n;

	use_path(*state);
	for (i = 0; i < RANDOM_ROUNDS; i++) {
		n = 1 + i % LENGTH;
		for (k = 0; k < n; k++)
			a[k] = i & 1 ? num_random_near_one(&seed) : num_random_mixed(&seed);
		for (k = 0; k < NUM_COUNT(arith); k++) {
			if (!trn_alu_is_reduction(arith[k]))
				continue;
			got = trn_alu_reduce(arith[k], a, n);
			want = reduce_expected(arith[k], a, n);
			assert_int_equal(num_bits(got), num_bits(want));
		}
	}
	assert_true(trn_num_force_path(NULL));
}

/* No NaN, which would hide all others: numbers, edges, and the two zeros alone. */
static float most_operand(uint64_t *seed, unsigned int kind)
{
	float x;

	do {
		switch (kind) {
		case 0:
			x = num_random_bits(seed);
			break;
		case 1:
			x = num_float(num_edges[num_random(seed) % num_nr_edges]);
			break;
		case 2:
			return num_random(seed) & 1 ? -0.0f : 0.0f;
		case 3:
			/* Few of one sign, so that the other lanes do not see it. */
			return num_random(seed) % 50 ? -0.0f : 0.0f;
		default:
			return num_random(seed) % 50 ? 0.0f : -0.0f;
		}
	} while (isnan(x));
	return x;
}

#define KINDS	5

static void check_most(float start, const float *a, size_t n)
{
	const uint8_t ops[] = { NEURON_ALU_MAX, NEURON_ALU_MIN };
	float got, want;
	size_t k;

	for (k = 0; k < NUM_COUNT(ops); k++) {
		got = trn_alu_reduce_from(ops[k], start, a, n);
		want = chain_expected(ops[k], start, a, n);
		assert_int_equal(num_bits(got), num_bits(want));
	}
}

/* The greatest and the least, of every length, at any address; then with a NaN at each place. */
static void test_most(void **state)
{
	const uint32_t nans[] = { 0x7f800001, 0xff800001, 0x7fc00000, 0xffffffff };
	float room[LENGTH + 1], start, kept;
	uint64_t seed = 17;
	unsigned int round;
	size_t i, n;

	use_path(*state);
	for (round = 0; round < 4 * KINDS * LENGTH; round++) {
		float *a = room + round % 2;

		n = round / KINDS % (LENGTH + 1);
		start = most_operand(&seed, round % KINDS);
		for (i = 0; i < n; i++)
			a[i] = most_operand(&seed, round % KINDS);
		check_most(start, a, n);
		check_most(num_float(nans[round % NUM_COUNT(nans)]), a, n);
		for (i = 0; i < n; i += 1 + round % 7) {
			kept = a[i];
			a[i] = num_float(nans[i % NUM_COUNT(nans)]);
			check_most(start, a, n);
			a[i] = kept;
		}
	}
	assert_true(trn_num_force_path(NULL));
}

/* The order shows: in another order these lose the small one. */
static void test_reduce_order(void **state)
{
	const float up[] = { 1.0f, 0x1p24f, -0x1p24f };
	const float down[] = { -0x1p24f, 0x1p24f, 1.0f };

	(void)state;
	assert_true(trn_alu_reduce(NEURON_ALU_ADD, up, 3) == 0.0f);
	assert_true(trn_alu_reduce(NEURON_ALU_ADD, down, 3) == 1.0f);
	assert_true(trn_alu_reduce(NEURON_ALU_SUBTRACT, down, 2) == -0x1p25f);
}

static uint32_t bitwise_expected(unsigned int op, uint32_t a, uint32_t b, unsigned int width)
{
	uint64_t wide = a;

	switch (op) {
	case NEURON_ALU_BITWISE_AND:
		return a & b;
	case NEURON_ALU_BITWISE_OR:
		return a | b;
	case NEURON_ALU_BITWISE_XOR:
		return a ^ b;
	case NEURON_ALU_SHIFT_LEFT:
		return (b >= width ? 0 : wide << b) & ((1ull << width) - 1);
	}
	return b >= width ? 0 : wide >> b;
}

static void check_bitwise(unsigned int op, unsigned int size, uint64_t *seed)
{
	uint8_t a[40 * 4], b[40 * 4], got[40 * 4];
	uint32_t x, y, z;
	size_t i;

	for (i = 0; i < 40; i++) {
		x = num_random(seed);
		/* Half of them small enough to be counts. */
		y = num_random(seed) >> (i & 1 ? 26 : 0);
		memcpy(a + i * size, &x, size);
		memcpy(b + i * size, &y, size);
	}
	trn_alu_bitwise(op, got, a, b, size, 40);
	for (i = 0; i < 40; i++) {
		x = 0;
		y = 0;
		z = 0;
		memcpy(&x, a + i * size, size);
		memcpy(&y, b + i * size, size);
		memcpy(&z, got + i * size, size);
		assert_int_equal(z, bitwise_expected(op, x, y, 8 * size));
	}
	trn_alu_bitwise(op, a, a, b, size, 40);
	assert_memory_equal(a, got, 40 * size);
}

static void test_bitwise(void **state)
{
	unsigned int op, size, round;
	uint64_t seed = 14;

	(void)state;
	for (op = NEURON_ALU_BITWISE_AND; op <= NEURON_ALU_SHIFT_RIGHT; op++) {
		for (size = 1; size <= 4; size *= 2) {
			for (round = 0; round < 200; round++)
				check_bitwise(op, size, &seed);
		}
	}
}

static void test_unknown_path(void **state)
{
	(void)state;
	assert_false(trn_num_force_path("abacus"));
	assert_true(trn_num_force_path("scalar"));
	assert_string_equal(trn_num_path_name(), "scalar");
	assert_true(trn_num_force_path(NULL));
}

#define ON_PATH(function, path)						\
	{ .name = #function " " path, .test_func = function,		\
	  .initial_state = (void *)path }
#define ON_PATHS(function)						\
	ON_PATH(function, "scalar"), ON_PATH(function, "avx2"),		\
	ON_PATH(function, "avx512")

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alu_classes),
		ON_PATHS(test_alu_edges),
		ON_PATHS(test_alu_random),
		ON_PATHS(test_alu_forms),
		ON_PATHS(test_reduce),
		ON_PATHS(test_most),
		cmocka_unit_test(test_reduce_order),
		cmocka_unit_test(test_bitwise),
		cmocka_unit_test(test_unknown_path),
	};

	return cmocka_run_group_tests_name("num-ops", tests, NULL, NULL);
}
