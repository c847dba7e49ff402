// SPDX-License-Identifier: MIT
/*
 * Stochastic rounding: the documented algorithm, worked out in fp64 from a type's
 * values, and that the mean is right.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "num_util.h"
#include "num/trn_num.h"

#define RANDOM_ROUNDS	200000
#define SAMPLES		65536

/* struct narrow - a type: bits, bias, what overflow gives, bits below the code */
struct narrow {
	const char *name;
	unsigned int dtype;
	int exponent, fraction, bias;
	uint32_t limit, overflow;
	int shift;
};

static const struct narrow narrows[] = {
	{ "fp8_e3", NEURON_DTYPE_FP8_E3, 3, 4, 3, 0x70, 0x70, 0 },
	{ "fp8_e4", NEURON_DTYPE_FP8_E4, 4, 3, 7, 0x78, 0x78, 0 },
	{ "fp8_e4fn", NEURON_DTYPE_FP8_E4FN, 4, 3, 7, 0x7f, 0x7f, 0 },
	{ "fp8_e5", NEURON_DTYPE_FP8_E5, 5, 2, 15, 0x7c, 0x7c, 0 },
	{ "fp16", NEURON_DTYPE_FP16, 5, 10, 15, 0x7c00, 0x7c00, 0 },
	{ "bf16", NEURON_DTYPE_BF16, 8, 7, 127, 0x7f80, 0x7f80, 0 },
	{ "tf32", NEURON_DTYPE_TF32, 8, 10, 127, 0x3fc00, 0x3fc00, 13 },
};

static uint32_t mix32(uint32_t x)
{
	x = (x ^ (x >> 16)) * 0x85ebca6bu;
	x = (x ^ (x >> 13)) * 0xc2b2ae35u;
	return x ^ (x >> 16);
}

static uint32_t random_of(uint64_t key, uint32_t index)
{
	return mix32(mix32(index ^ (uint32_t)key) ^ (uint32_t)(key >> 32));
}

static double value(const struct narrow *type, uint32_t code)
{
	int e = (int)(code >> type->fraction);
	double f = code & ((1u << type->fraction) - 1);

	if (!e)
		return ldexp(f, 1 - type->bias - type->fraction);
	return ldexp(f + (1 << type->fraction), e - type->bias - type->fraction);
}

/* Code of the number towards zero, and what is cut off as a part of a step. */
static uint32_t cut(const struct narrow *type, double x, double *part)
{
	int e, lowest = 1 - type->bias;
	double step;
	uint32_t steps;

	*part = 0.0;
	if (x == 0.0)
		return 0;
	frexp(x, &e);
	e = e - 1 < lowest ? lowest : e - 1;
	step = ldexp(1.0, e - type->fraction);
	steps = (uint32_t)floor(x / step);
	*part = x / step - steps;
	return steps + ((uint32_t)(e - lowest) << type->fraction);
}

static uint32_t expected(const struct narrow *type, float f, double scale, uint32_t random)
{
	uint32_t sign = signbit(f) ? 1u << (type->exponent + type->fraction) : 0;
	uint32_t nan = type->limit + (1u << (type->fraction - 1));
	bool fn = type->limit == 0x7f;
	double part = 0.0;
	uint32_t code;

	if (isnan(f))
		return fn ? 0x7f : nan;
	code = isinf(f) ? type->limit : cut(type, fabs((double)f) * scale, &part);
	code += floor(part * 0x1p32) + random >= 0x1p32;
	if (code >= type->limit)
		return fn ? 0x7f : sign | type->limit;
	return sign | code;
}

static void check_one(const struct narrow *type, float f, const struct trn_num_mode *mode,
		      double scale, uint32_t index)
{
	uint32_t random = random_of(mode->sr_key, index), got = 0;
	uint32_t want = expected(type, f, scale, random);

	trn_from_fp32_mode(&got, &f, type->dtype, 1, mode, index);
	if (got == want << type->shift)
		return;
	print_error("%s: %a with %#x gives %#x, not %#x\n", type->name, f, random,
		    got, want << type->shift);
	fail();
}

/* Numbers in the type's range, at its ends and beyond them; denormals. */
static void check_type(const struct narrow *type, const struct trn_num_mode *mode,
		       double scale)
{
	double smallest = value(type, 1) / scale, largest = value(type, type->limit) / scale;
	uint64_t seed = 31;
	uint32_t i;

	for (i = 0; i < num_nr_edges; i++)
		check_one(type, num_float(num_edges[i]), mode, scale, i);
	for (i = 0; i < RANDOM_ROUNDS; i++) {
		float x = num_random_near_one(&seed);

		check_one(type, x, mode, scale, num_random(&seed));
		check_one(type, num_random_bits(&seed), mode, scale, num_random(&seed));
		check_one(type, (float)(x * smallest), mode, scale, i);
		check_one(type, (float)(x * smallest * 16), mode, scale, i);
		check_one(type, (float)(x * largest), mode, scale, i);
		/* So little that only the largest random words carry. */
		check_one(type, (float)(x * smallest * 0x1p-30), mode, scale, i);
	}
}

static void test_exact(void **state)
{
	const struct trn_num_mode mode = {
		.rounding = TRN_ROUND_STOCHASTIC, .sr_key = 0x123456789abcdef0ull,
	};

	check_type(*state, &mode, 1.0);
}

static void test_bias(void **state)
{
	const struct trn_num_mode mode = {
		.rounding = TRN_ROUND_STOCHASTIC,
		.fp8_bias = { 3, -60, 60 },
		.sr_key = 77,
	};

	(void)state;
	check_type(&narrows[0], &mode, 0x1p3);
	check_type(&narrows[1], &mode, 0x1p-60);
	check_type(&narrows[2], &mode, 1.0);
	check_type(&narrows[3], &mode, 0x1p60);
}

/* What carries and what does not, by one in the random word. */
static void test_boundary(void **state)
{
	const struct narrow *fp16 = &narrows[4];
	const float x = 0x1.001p0f;	/* a quarter of a step above 1 */

	(void)state;
	assert_int_equal(expected(fp16, x, 1.0, 0xbfffffff), 0x3c00);
	assert_int_equal(expected(fp16, x, 1.0, 0xc0000000), 0x3c01);
	assert_int_equal(expected(fp16, -x, 1.0, 0xc0000000), 0xbc01);
	assert_int_equal(expected(fp16, 1.0f, 1.0, 0xffffffff), 0x3c00);
	assert_int_equal(expected(fp16, 65519.0f, 1.0, 0), 0x7bff);
	assert_int_equal(expected(fp16, 65519.0f, 1.0, 0xffffffff), 0x7c00);
}

/* Results computed from the documentation by other means. */
static void test_known_words(void **state)
{
	uint64_t key = trn_sr_key(1, 2, 3);

	(void)state;
	assert_true(trn_sr_key(0, 0, 0) == 0x33fe8bd4f9c57863ull);
	assert_true(key == 0x9e71840acaa5f697ull);
	assert_true(trn_sr_key(3, 2, 1) == 0x6d9e05a17777084bull);
	assert_int_equal(random_of(key, 0), 0xbecf91e2);
	assert_int_equal(random_of(key, 1), 0x019b319f);
	assert_int_equal(random_of(key, 0xffffffff), 0x7b640d58);
}

/*
 * The sum of many roundings of one number: its expectation is exact, and with
 * the parts chosen the deviation of the mean is at most half a step by 256.
 */
static void test_mean(void **state)
{
	static const double parts[] = { 0.5, 0.25, 0x1p-4, 1 - 0x1p-6, 0x1.8p-5 };
	static float in[SAMPLES], back[SAMPLES];
	static uint32_t codes[SAMPLES];
	const struct narrow *type = *state;
	struct trn_num_mode mode = { .rounding = TRN_ROUND_STOCHASTIC };
	size_t i, j;

	for (j = 0; j < NUM_COUNT(parts); j++) {
		uint32_t base = j & 1 ? 1u << (type->fraction - 1) :
				(uint32_t)type->bias << type->fraction;
		double low = value(type, base), step = value(type, base + 1) - low;
		double sum = 0.0;

		mode.sr_key = trn_sr_key(5, j, type->dtype);
		for (i = 0; i < SAMPLES; i++)
			in[i] = (float)(low + parts[j] * step);
		trn_from_fp32_mode(codes, in, type->dtype, SAMPLES, &mode, 0);
		trn_to_fp32(back, codes, type->dtype, SAMPLES);
		for (i = 0; i < SAMPLES; i++) {
			double up = (back[i] - low) / step;

			assert_true(up == 0.0 || up == 1.0);
			sum += up;
		}
		/* Six standard deviations. */
		assert_true(fabs(sum / SAMPLES - parts[j]) <
			    6 * sqrt(parts[j] * (1 - parts[j]) / SAMPLES));
	}
}

/* fp32 and integers have no stochastic rounding; pieces make the whole. */
static void test_other_types(void **state)
{
	static const unsigned int types[] = {
		NEURON_DTYPE_FP32, NEURON_DTYPE_INT8, NEURON_DTYPE_UINT8,
		NEURON_DTYPE_INT16, NEURON_DTYPE_UINT16, NEURON_DTYPE_INT32,
		NEURON_DTYPE_UINT32,
	};
	const struct trn_num_mode mode = { .rounding = TRN_ROUND_STOCHASTIC, .sr_key = 9 };
	uint32_t want[150], got[150];
	uint64_t seed = 33;
	float in[150];
	size_t i, n;

	(void)state;
	for (i = 0; i < 150; i++)
		in[i] = num_random_mixed(&seed) * 40.0f;
	for (i = 0; i < NUM_COUNT(types); i++) {
		memset(want, 0, sizeof(want));
		memset(got, 0, sizeof(got));
		trn_from_fp32(want, in, types[i], 150);
		trn_from_fp32_mode(got, in, types[i], 150, &mode, 3);
		assert_memory_equal(got, want, sizeof(got));
	}
	trn_from_fp32_mode(want, in, NEURON_DTYPE_TF32, 150, &mode, 1000);
	for (n = 0; n < 150; n++) {
		trn_from_fp32_mode(got, in, NEURON_DTYPE_TF32, n, &mode, 1000);
		trn_from_fp32_mode(got + n, in + n, NEURON_DTYPE_TF32, 150 - n, &mode,
				   (uint32_t)(1000 + n));
		assert_memory_equal(got, want, sizeof(got));
	}
}

#define WITH_TYPE(function, i)						\
	{ .name = #function " " #i, .test_func = function,		\
	  .initial_state = (void *)&narrows[i] }

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_words),
		cmocka_unit_test(test_boundary),
		WITH_TYPE(test_exact, 0), WITH_TYPE(test_exact, 1),
		WITH_TYPE(test_exact, 2), WITH_TYPE(test_exact, 3),
		WITH_TYPE(test_exact, 4), WITH_TYPE(test_exact, 5),
		WITH_TYPE(test_exact, 6),
		cmocka_unit_test(test_bias),
		WITH_TYPE(test_mean, 0), WITH_TYPE(test_mean, 1),
		WITH_TYPE(test_mean, 2), WITH_TYPE(test_mean, 3),
		WITH_TYPE(test_mean, 4), WITH_TYPE(test_mean, 5),
		WITH_TYPE(test_mean, 6),
		cmocka_unit_test(test_other_types),
	};

	return cmocka_run_group_tests_name("num-sr", tests, NULL, NULL);
}
