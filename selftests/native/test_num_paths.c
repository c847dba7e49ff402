// SPDX-License-Identifier: MIT
/*
 * Conversions on every path of the host, against the scalar one: the same bits for
 * each type, rounding, length and bias.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "num_util.h"
#include "num/trn_num.h"

#define LENGTH		150	/* more than two blocks, and a tail */
#define ROUNDS		3000
#define CODES		65536

static const struct trn_num_mode modes[] = {
	{ .rounding = TRN_ROUND_NEAREST },
	{ .rounding = TRN_ROUND_NEAREST, .fp8_bias = { 5, -7, 40 } },
	{ .rounding = TRN_ROUND_STOCHASTIC, .sr_key = 0xfeedfacecafebeefull },
	{ .rounding = TRN_ROUND_STOCHASTIC, .fp8_bias = { -2, 30, -50 }, .sr_key = 1 },
};

static float operand(uint64_t *seed, unsigned int round)
{
	float x;

	switch (round % 4) {
	case 0:
		return num_random_bits(seed);
	case 1:
		return num_random_mixed(seed);
	case 2:
		return num_random_mixed(seed) * 300.0f;
	}
	/* Around the denormals of fp16 and fp8. */
	x = num_random_near_one(seed);
	return x * num_float((uint32_t)(97 + num_random(seed) % 30) << 23);
}

static void check_from(const char *path, unsigned int dtype, const float *in, size_t n)
{
	uint8_t want[LENGTH * 4 + 1], got[LENGTH * 4 + 1];
	size_t m;

	for (m = 0; m < NUM_COUNT(modes); m++) {
		memset(want, 0x5a, sizeof(want));
		memset(got, 0x5a, sizeof(got));
		trn_num_force_path("scalar");
		trn_from_fp32_mode(want, in, dtype, n, &modes[m], 12345);
		trn_num_force_path(path);
		trn_from_fp32_mode(got, in, dtype, n, &modes[m], 12345);
		assert_memory_equal(got, want, sizeof(got));
	}
}

static void assert_same(const char *path, unsigned int dtype, const float *got,
			const float *want, size_t n)
{
	size_t i = num_first_difference(got, want, n);

	if (i != NUM_SAME)
		fail_msg("%s: type %u: element %zu of %zu is %#x, in the scalar path %#x",
			 path, dtype, i, n, num_bits(got[i]), num_bits(want[i]));
}

static void check_to(const char *path, unsigned int dtype, const void *in, size_t n)
{
	static float want[CODES + 1], got[CODES + 1];
	size_t m;

	for (m = 0; m < NUM_COUNT(modes); m++) {
		got[n] = 42.0f;
		trn_num_force_path("scalar");
		trn_to_fp32_mode(want, in, dtype, n, &modes[m]);
		trn_num_force_path(path);
		trn_to_fp32_mode(got, in, dtype, n, &modes[m]);
		assert_same(path, dtype, got, want, n);
		assert_true(got[n] == 42.0f);
	}
}

static void check_codes(const char *path, unsigned int dtype, uint64_t *seed)
{
	static uint32_t codes[CODES];
	uint32_t i;

	for (i = 0; i < CODES; i++) {
		switch (trn_dtype_size(dtype)) {
		case 1:
			((uint8_t *)codes)[i] = (uint8_t)i;
			break;
		case 2:
			((uint16_t *)codes)[i] = (uint16_t)i;
			break;
		default:
			codes[i] = i % 8 ? num_random(seed) : num_edges[i / 8 % num_nr_edges];
		}
	}
	check_to(path, dtype, codes, CODES);
	/* Elements may lie at any address. */
	for (i = 0; i <= LENGTH; i++)
		check_to(path, dtype, (uint8_t *)codes + i % 5, i);
}

static void test_paths(void **state)
{
	uint64_t seed = 41;
	unsigned int dtype, round;
	float in[LENGTH];
	size_t i;

	if (!trn_num_force_path(*state)) {
		print_message("no %s on this host\n", (char *)*state);
		skip();
	}
	for (dtype = 0; dtype < NEURON_NR_DTYPES; dtype++) {
		if (!trn_dtype_is_number(dtype))
			continue;
		check_codes(*state, dtype, &seed);
		for (round = 0; round < ROUNDS; round++) {
			for (i = 0; i < LENGTH; i++)
				in[i] = operand(&seed, round);
			check_from(*state, dtype, in, round % (LENGTH + 1));
		}
		for (i = 0; i < num_nr_edges; i++)
			in[i] = num_float(num_edges[i]);
		check_from(*state, dtype, in, num_nr_edges);
	}
	assert_true(trn_num_force_path(NULL));
}

/* fp32 in place. */
/* A NaN of each sign at each place, at any address; infinities and what follows are none. */
static void check_nans(unsigned int dtype, unsigned int shift)
{
	const uint32_t infinity = dtype == NEURON_DTYPE_FP16 ? 0xfc00 :
				  dtype == NEURON_DTYPE_BF16 ? 0xff80 : 0xff800000;
	const size_t size = dtype == NEURON_DTYPE_FP32 ? 4 : 2;
	uint8_t data[LENGTH * 4 + 8];
	uint32_t value;
	size_t i, n;

	for (n = 0; n < LENGTH; n++) {
		memset(data, 0xff, sizeof(data));
		for (i = 0; i < n; i++)
			memcpy(data + shift + i * size, &infinity, size);
		assert_false(trn_has_nan(dtype, data + shift, n));
		for (i = 0; i < n; i++) {
			value = infinity + 1;
			if (i % 2)
				value ^= 1u << (8 * size - 1);
			memcpy(data + shift + i * size, &value, size);
			assert_true(trn_has_nan(dtype, data + shift, n));
			memcpy(data + shift + i * size, &infinity, size);
		}
	}
}

/* What lies between the rows is NaNs. */
static void rows_tell_nan(unsigned int dtype, size_t n)
{
	const uint32_t infinity = dtype == NEURON_DTYPE_FP16 ? 0x7c00 :
				  dtype == NEURON_DTYPE_BF16 ? 0x7f80 : 0x7f800000;
	const uint32_t nan = infinity + 1;
	const size_t size = dtype == NEURON_DTYPE_FP32 ? 4 : 2;
	enum { ROWS = 3, STRIDE = 4 * LENGTH + 8 };
	uint8_t data[ROWS * STRIDE];
	size_t row, i;

	memset(data, 0xff, sizeof(data));
	for (row = 0; row < ROWS; row++)
		for (i = 0; i < n; i++)
			memcpy(data + row * STRIDE + i * size, &infinity, size);
	assert_false(trn_rows_have_nan(dtype, data, STRIDE, ROWS, n));
	for (row = 0; row < ROWS; row++)
		for (i = 0; i < n; i++) {
			memcpy(data + row * STRIDE + i * size, &nan, size);
			assert_true(trn_rows_have_nan(dtype, data, STRIDE, ROWS, n));
			memcpy(data + row * STRIDE + i * size, &infinity, size);
		}
}

static void find_nans(const char *path)
{
	unsigned int dtype;

	if (!trn_num_force_path(path))
		return;
	for (dtype = 0; dtype < NEURON_NR_DTYPES; dtype++) {
		if (!trn_bits_tell_nan(dtype))
			continue;
		check_nans(dtype, 0);
		check_nans(dtype, 1);
		rows_tell_nan(dtype, 1);
		rows_tell_nan(dtype, 5);
		rows_tell_nan(dtype, LENGTH);
	}
}

static void test_nans(void **state)
{
	size_t i;

	(void)state;
	find_nans("scalar");
	for (i = 0; i < num_nr_paths; i++)
		find_nans(num_paths[i]);
	assert_true(trn_num_force_path(NULL));
}

static void test_in_place(void **state)
{
	float want[LENGTH], got[LENGTH];
	uint64_t seed = 42;
	size_t i, j;

	(void)state;
	for (i = 0; i < num_nr_paths; i++) {
		if (!trn_num_force_path(num_paths[i]))
			continue;
		for (j = 0; j < LENGTH; j++)
			got[j] = num_float(num_edges[num_random(&seed) % num_nr_edges]);
		trn_to_fp32(want, got, NEURON_DTYPE_FP32, LENGTH);
		trn_to_fp32(got, got, NEURON_DTYPE_FP32, LENGTH);
		assert_true(num_first_difference(got, want, LENGTH) == NUM_SAME);
	}
	assert_true(trn_num_force_path(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		{ .name = "test_paths avx2", .test_func = test_paths,
		  .initial_state = (void *)"avx2" },
		{ .name = "test_paths avx512", .test_func = test_paths,
		  .initial_state = (void *)"avx512" },
		cmocka_unit_test(test_nans),
		cmocka_unit_test(test_in_place),
	};

	return cmocka_run_group_tests_name("num-paths", tests, NULL, NULL);
}
