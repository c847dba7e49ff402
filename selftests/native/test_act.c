// SPDX-License-Identifier: MIT
/*
 * Activation functions: what holds for all of them, and those that need no
 * polynomial.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "act_rig.h"
#include "num/trn_num.h"

#define RANDOM_ROUNDS	1000
#define LENGTH		150	/* more than two blocks, and a tail */

static long double square_oracle(float x)
{
	return (long double)x * x;
}

static long double sqrt_oracle(float x)
{
	return sqrtl(x);
}

static long double rsqrt_oracle(float x)
{
	return 1.0L / sqrtl(x);
}

static long double reciprocal_oracle(float x)
{
	return 1.0L / x;
}

static const struct act_measured measured[] = {
	{ "square", NEURON_ACT_SQUARE, square_oracle, 0.5, 0xd26efbdf7f4c3c },
	{ "sqrt", NEURON_ACT_SQRT, sqrt_oracle, 0.5, 0x5e65903b87aeb09e },
	{ "rsqrt", NEURON_ACT_RSQRT, rsqrt_oracle, 0.5, 0x41151e43e2a50ed3 },
	{ "reciprocal", NEURON_ACT_RECIPROCAL, reciprocal_oracle, 0.5, 0xac813b53a5d833d },
};

static void test_act_validity(void **state)
{
	unsigned int func, valid = 0;

	(void)state;
	for (func = 0; func < 1024; func++)
		valid += trn_act_valid(func);
	assert_int_equal(valid, 26);
	assert_true(trn_act_valid(NEURON_ACT_IDENTITY));
	assert_false(trn_act_valid(NEURON_NR_ACTS));
	assert_false(trn_act_valid(~0u));
}

static void test_act_exact_special(void **state)
{
	const float inf = INFINITY, least = 0x1p-149f;

	(void)state;
	assert_act(RELU, -1.0f, 0.0f);
	assert_act(RELU, -0.0f, 0.0f);
	assert_act(RELU, inf, inf);
	assert_act(RELU, -inf, 0.0f);
	assert_act(RELU, least, least);
	assert_act(RELU, -least, 0.0f);
	assert_act(IDENTITY, -0.0f, -0.0f);
	assert_act(IDENTITY, -least, -least);
	assert_act(IDENTITY, -inf, -inf);
	assert_act(SQUARE, -0.0f, 0.0f);
	assert_act(SQUARE, -inf, inf);
	assert_act(SQUARE, 0x1p64f, inf);
	assert_act(SQUARE, 0x1.8p-75f, least);
	assert_act(SQUARE, least, 0.0f);
	assert_act(SIGN, 0.0f, 0.0f);
	assert_act(SIGN, -0.0f, -0.0f);
	assert_act(SIGN, least, 1.0f);
	assert_act(SIGN, -least, -1.0f);
	assert_act(SIGN, -inf, -1.0f);
	assert_act(ABS, -0.0f, 0.0f);
	assert_act(ABS, -inf, inf);
	assert_act(ABS, -least, least);
	assert_act(SQRT, 0.0f, 0.0f);
	assert_act(SQRT, -0.0f, -0.0f);
	assert_act(SQRT, inf, inf);
	assert_act(SQRT, -inf, NAN);
	assert_act(SQRT, -least, NAN);
	assert_act(SQRT, 0x1p-148f, 0x1p-74f);
	assert_act(RSQRT, 0.0f, inf);
	assert_act(RSQRT, -0.0f, -inf);
	assert_act(RSQRT, inf, 0.0f);
	assert_act(RSQRT, -inf, NAN);
	assert_act(RSQRT, -least, NAN);
	assert_act(RSQRT, 0x1p-148f, 0x1p74f);
	assert_act(RSQRT, 0.25f, 2.0f);
	assert_act(RECIPROCAL, 0.0f, inf);
	assert_act(RECIPROCAL, -0.0f, -inf);
	assert_act(RECIPROCAL, inf, 0.0f);
	assert_act(RECIPROCAL, -inf, -0.0f);
	assert_act(RECIPROCAL, least, inf);
	assert_act(RECIPROCAL, 0x1p127f, 0x1p-127f);
}

/* Without a stated -0: a tile's bias of +0 makes +0 of -0. */
static void test_act_bias_of_zero(void **state)
{
	const float x = -0.0f;
	float y = 1.0f;

	(void)state;
	trn_act(NEURON_ACT_IDENTITY, &y, &x, 1.0f, 0.0f, 0.0f, 1);
	assert_int_equal(num_bits(y), 0);
	trn_act(NEURON_ACT_RECIPROCAL, &y, &x, 1.0f, 0.0f, 0.0f, 1);
	assert_true(y == INFINITY);
}

static void test_act_nan(void **state)
{
	unsigned int func, i;

	(void)state;
	for (func = 0; func < NEURON_NR_ACTS; func++) {
		for (i = 0; i < num_nr_edges && trn_act_valid(func); i++) {
			if (isnan(num_float(num_edges[i])))
				assert_int_equal(num_bits(act_one(func, num_float(num_edges[i]))),
						 NUM_NAN_BITS);
		}
	}
}

static float prelu_one(float x, float slope)
{
	float y;

	trn_act(NEURON_ACT_PRELU, &y, &x, 1.0f, -0.0f, slope, 1);
	return y;
}

static void test_prelu(void **state)
{
	uint64_t seed = 18;
	unsigned int i;
	float x, slope;

	(void)state;
	for (i = 0; i < 100000; i++) {
		x = i & 1 ? num_random_mixed(&seed) : num_random_bits(&seed);
		slope = i & 2 ? num_random_mixed(&seed) : num_random_bits(&seed);
		assert_int_equal(num_bits(prelu_one(x, slope)),
				 num_canon_bits(x < 0.0f ? x * slope : x));
	}
	assert_int_equal(num_bits(prelu_one(-0.0f, 3.0f)), num_bits(-0.0f));
	assert_true(prelu_one(2.0f, NAN) == 2.0f);
	assert_int_equal(num_bits(prelu_one(-INFINITY, 0.0f)), NUM_NAN_BITS);
	assert_int_equal(num_bits(prelu_one(-2.0f, 0.0f)), num_bits(-0.0f));
}

static void test_act_symmetry(void **state)
{
	(void)state;
	act_check_odd(NEURON_ACT_IDENTITY, 10000);
	act_check_odd(NEURON_ACT_SIGN, 10000);
	act_check_odd(NEURON_ACT_RECIPROCAL, 10000);
	act_check_even(NEURON_ACT_SQUARE, 10000);
	act_check_even(NEURON_ACT_ABS, 10000);
}

/* Scale and bias round one after the other, before the function. */
static void test_act_scale_bias(void **state)
{
	float x[LENGTH], want[LENGTH], expected[LENGTH], got[LENGTH], scale, bias;
	volatile float product;
	uint64_t seed = 15;
	unsigned int func;
	size_t i, round;
	bool fused = true;

	(void)state;
	for (round = 0; round < 200; round++) {
		scale = num_random_near_one(&seed);
		bias = num_random_near_one(&seed);
		for (i = 0; i < LENGTH; i++) {
			x[i] = num_random_mixed(&seed);
			product = x[i] * scale;
			want[i] = product + bias;
			fused &= isnan(want[i]) || want[i] == fmaf(x[i], scale, bias);
		}
		for (func = 0; func < NEURON_NR_ACTS; func++) {
			if (!trn_act_valid(func))
				continue;
			trn_act(func, expected, want, 1.0f, -0.0f, 0.75f, LENGTH);
			trn_act(func, got, x, scale, bias, 0.75f, LENGTH);
			assert_true(num_first_difference(got, expected, LENGTH) == NUM_SAME);
		}
	}
	assert_false(fused);
}

/* Any length, in place or not, the same bits on @path as on the reference. */
static void check_path(const char *path, unsigned int func, const float *x,
		       float scale, float bias, size_t n)
{
	float want[LENGTH], got[LENGTH + 1];

	trn_num_force_path("scalar");
	trn_act(func, want, x, scale, bias, 0.3f, n);
	trn_num_force_path(path);
	assert_string_equal(trn_num_path_name(), path);
	got[n] = 42.0f;
	trn_act(func, got, x, scale, bias, 0.3f, n);
	assert_true(num_first_difference(got, want, n) == NUM_SAME);
	assert_true(got[n] == 42.0f);
	memcpy(got, x, n * sizeof(*x));
	trn_act(func, got, got, scale, bias, 0.3f, n);
	assert_true(num_first_difference(got, want, n) == NUM_SAME);
}

static void test_act_paths(void **state)
{
	float x[LENGTH], scale, bias;
	unsigned int func;
	uint64_t seed = 16;
	size_t i, round;

	if (!trn_num_force_path(*state)) {
		print_message("no %s on this host\n", (char *)*state);
		skip();
	}
	for (round = 0; round < RANDOM_ROUNDS; round++) {
		scale = round & 1 ? 1.0f : num_random_near_one(&seed);
		bias = round & 2 ? -0.0f : num_random_near_one(&seed);
		for (i = 0; i < LENGTH; i++)
			x[i] = round & 4 ? num_random_bits(&seed) : num_random_mixed(&seed);
		for (func = 0; func < NEURON_NR_ACTS; func++) {
			if (trn_act_valid(func))
				check_path(*state, func, x, scale, bias, round % (LENGTH + 1));
		}
	}
	assert_true(trn_num_force_path(NULL));
}

#define PATH_TEST(path)							\
	{ .name = "test_act_paths " path, .test_func = test_act_paths,	\
	  .initial_state = (void *)(path) }

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_act_validity),
		cmocka_unit_test(test_act_exact_special),
		cmocka_unit_test(test_act_bias_of_zero),
		cmocka_unit_test(test_act_nan),
		cmocka_unit_test(test_prelu),
		cmocka_unit_test(test_act_symmetry),
		cmocka_unit_test(test_act_scale_bias),
		ACT_ERROR_TEST(measured[0]),
		ACT_ERROR_TEST(measured[1]),
		ACT_ERROR_TEST(measured[2]),
		ACT_ERROR_TEST(measured[3]),
		PATH_TEST("avx2"),
		PATH_TEST("avx512"),
	};

	return cmocka_run_group_tests_name("act", tests, NULL, NULL);
}
