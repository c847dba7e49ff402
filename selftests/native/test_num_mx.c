// SPDX-License-Identifier: MIT
/*
 * Microscaling: scales, packed elements and quantising, against values worked out in
 * fp64.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "num_util.h"
#include "num/trn_num.h"

#define GROUPS	70
#define ROUNDS	120

static const double fp4_values[] = { 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0 };

/* struct format - an 8-bit element type of MX tiles */
struct format {
	unsigned int dtype;
	int fraction, bias, emax;
	uint8_t inf, nan;	/* codes; without infinity the same */
};

static const struct format formats[] = {
	{ NEURON_DTYPE_FP8_E4FN_X4, 3, 7, 8, 0x7f, 0x7f },
	{ NEURON_DTYPE_FP8_E5_X4, 2, 15, 15, 0x7c, 0x7e },
};

static double magnitude(const struct format *format, unsigned int code)
{
	int e = (int)(code >> format->fraction);
	double f = code & ((1u << format->fraction) - 1);

	if (!e)
		return ldexp(f, 1 - format->bias - format->fraction);
	return ldexp(f + (1 << format->fraction), e - format->bias - format->fraction);
}

static void test_scale(void **state)
{
	unsigned int code;

	(void)state;
	for (code = 0; code < 255; code++)
		assert_true((double)trn_mx_scale((uint8_t)code) == ldexp(1.0, (int)code - 127));
	assert_int_equal(num_bits(trn_mx_scale(255)), NUM_NAN_BITS);
}

static uint32_t product_bits(double value, bool negative, unsigned int scale)
{
	if (isnan(value) || scale == 255)
		return NUM_NAN_BITS;
	value = isinf(value) ? value : ldexp(value, (int)scale - 127);
	return num_bits((float)(negative ? -value : value));
}

/* Every code with every scale; the four places of an element do not mix. */
static void widen_fp8(void)
{
	uint8_t scale[64], src[4 * 64];
	unsigned int code, s, i;
	float out[4 * 64 + 1];
	double value;
	size_t f;

	for (f = 0; f < NUM_COUNT(formats); f++) {
		for (s = 0; s < 256; s++) {
			for (i = 0; i < 256; i++)
				src[i] = (uint8_t)(i * 77);
			memset(scale, (int)s, sizeof(scale));
			out[256] = 42.0f;
			trn_mx_widen(out, 64, src, formats[f].dtype, scale, 64);
			assert_true(out[256] == 42.0f);
			for (i = 0; i < 256; i++) {
				code = src[i] & 0x7f;
				value = magnitude(&formats[f], code);
				if (code >= formats[f].inf)
					value = code == formats[f].inf &&
						formats[f].inf != formats[f].nan ? INFINITY : NAN;
				assert_int_equal(num_bits(out[i % 4 * 64 + i / 4]),
						 product_bits(value, src[i] & 0x80, s));
			}
		}
	}
}

static void widen_fp4(void)
{
	uint16_t src[100];
	uint8_t scale[100];
	float out[401];
	unsigned int code, i, s;
	uint64_t seed = 61;

	for (s = 0; s < 256; s++) {
		for (i = 0; i < 100; i++) {
			src[i] = (uint16_t)num_random(&seed);
			scale[i] = (uint8_t)(s + i);
		}
		src[0] = 0x7654;
		src[1] = 0x3210;
		out[400] = 42.0f;
		trn_mx_widen(out, 100, src, NEURON_DTYPE_FP4_E2_X4, scale, 100);
		assert_true(out[400] == 42.0f);
		for (i = 0; i < 400; i++) {
			code = src[i / 4] >> (4 * (i % 4)) & 15;
			assert_int_equal(num_bits(out[i % 4 * 100 + i / 4]),
					 product_bits(fp4_values[code & 7], code & 8,
						      scale[i / 4]));
		}
	}
}

static void test_widen(void **state)
{
	static const char *const paths[] = { "scalar", "avx2", "avx512" };
	size_t i;

	(void)state;
	for (i = 0; i < NUM_COUNT(paths); i++) {
		if (!trn_num_force_path(paths[i])) {
			print_message("no %s on this host\n", paths[i]);
			continue;
		}
		widen_fp8();
		widen_fp4();
	}
	assert_true(trn_num_force_path(NULL));
}

static unsigned int scale_expected(const struct format *format, double amax)
{
	int e;

	if (!isfinite(amax))
		return 255;
	if (amax == 0.0)
		return 0;
	frexp(amax, &e);
	e = e - 1 - (format->emax - 1);
	return e < -127 ? 0 : (unsigned int)(e + 127);
}

static uint8_t code_expected(const struct format *format, float x, unsigned int scale)
{
	double want = fabs((double)x) * ldexp(1.0, 127 - (int)scale), below, above;
	unsigned int code = 0, high = format->inf, middle;
	uint8_t sign = signbit(x) ? 0x80 : 0;

	if (scale == 255)
		return format->nan;
	while (high - code > 1) {
		middle = (code + high) / 2;
		if (magnitude(format, middle) <= want)
			code = middle;
		else
			high = middle;
	}
	below = want - magnitude(format, code);
	above = magnitude(format, code + 1) - want;
	if (below > above || (below == above && (code & 1)))
		code++;
	assert_true(code < format->inf);
	return sign | (uint8_t)code;
}

/* @wrong: a result with one unit in the last place changed has to be noticed. */
static void check_quantize(const struct format *format, float line[8][4 * GROUPS],
			   size_t groups, bool wrong)
{
	static uint32_t packed[8][GROUPS + 1];
	uint8_t scale[GROUPS + 1];
	uint32_t *dst[8];
	const float *src[8];
	size_t i, row, differences = 0;

	for (row = 0; row < 8; row++) {
		dst[row] = packed[row];
		src[row] = line[row];
		packed[row][groups] = 42;
	}
	scale[groups] = 42;
	trn_mx_quantize(dst, scale, format->dtype, src, groups);
	if (wrong)
		packed[3][groups / 2] ^= 0x100;
	for (i = 0; i < groups; i++) {
		double amax = 0.0;

		for (row = 0; row < 32; row++)
			if (!(fabs((double)line[row / 4][4 * i + row % 4]) <= amax))
				amax = fabs((double)line[row / 4][4 * i + row % 4]);
		for (row = 0; row < 32; row++)
			if (isnan(line[row / 4][4 * i + row % 4]))
				amax = NAN;
		assert_int_equal(scale[i], scale_expected(format, amax));
		for (row = 0; row < 32; row++)
			differences += (packed[row / 4][i] >> (8 * (row % 4)) & 0xff) !=
				       code_expected(format, line[row / 4][4 * i + row % 4],
						     scale[i]);
	}
	assert_int_equal(differences, wrong ? 1 : 0);
	for (row = 0; row < 8; row++)
		assert_int_equal(packed[row][groups], 42);
	assert_int_equal(scale[groups], 42);
}

static void fill(float line[8][4 * GROUPS], unsigned int round, uint64_t *seed)
{
	float size, x;
	size_t i, row;

	for (i = 0; i < GROUPS; i++) {
		size = num_float((1 + num_random(seed) % 253) << 23);
		for (row = 0; row < 32; row++) {
			x = num_random_near_one(seed) * 0.5f;
			if (round % 4 == 1)
				x = num_float(num_bits(x) & 0xffff0000u);
			if (round % 4 == 2)
				x *= num_float((97 + num_random(seed) % 30) << 23);
			x *= size;
			if (round % 4 == 3 && num_random(seed) % 16 == 0)
				x = num_float(num_edges[num_random(seed) % num_nr_edges]);
			line[row / 4][4 * i + row % 4] = x;
		}
	}
}

static void test_quantize(void **state)
{
	static float line[8][4 * GROUPS];
	uint64_t seed = 62;
	unsigned int round;
	size_t f;

	(void)state;
	for (round = 0; round < ROUNDS; round++) {
		fill(line, round, &seed);
		for (f = 0; f < NUM_COUNT(formats); f++)
			check_quantize(&formats[f], line, round % (GROUPS + 1), false);
	}
	fill(line, 0, &seed);
	for (f = 0; f < NUM_COUNT(formats); f++)
		check_quantize(&formats[f], line, GROUPS, true);
}

/* Groups of zeros, of one number, at both ends of the scales. */
static void test_quantize_ends(void **state)
{
	static const uint32_t alone[] = {
		0x00000000, 0x80000000, 0x00000001, 0x007fffff, 0x00800000, 0x01000000,
		0x03800000, 0x04000000, 0x07000000, 0x3f800000, 0x3fffffff, 0x7f7fffff,
		0x7f800000, 0xff800000, 0x7fc00001, 0xffffffff,
	};
	static float line[8][4 * GROUPS];
	size_t f, i;

	(void)state;
	for (i = 0; i < NUM_COUNT(alone); i++) {
		memset(line, 0, sizeof(line));
		line[i % 8][4 * i + i % 4] = num_float(alone[i]);
		line[(i + 3) % 8][4 * i + 2] = -0.0f;
	}
	for (f = 0; f < NUM_COUNT(formats); f++)
		check_quantize(&formats[f], line, NUM_COUNT(alone), false);
}

/* What fits comes back as it was. */
static void test_round_trip(void **state)
{
	static float line[8][4 * GROUPS], back[4][GROUPS];
	static uint32_t packed[8][GROUPS];
	uint8_t scale[GROUPS];
	uint32_t *dst[8];
	const float *src[8];
	uint64_t seed = 63;
	size_t f, i, row;

	(void)state;
	for (f = 0; f < NUM_COUNT(formats); f++) {
		for (row = 0; row < 8; row++) {
			for (i = 0; i < 4 * GROUPS; i++)
				line[row][i] = (float)((int)(num_random(&seed) % 15) - 7);
			dst[row] = packed[row];
			src[row] = line[row];
		}
		trn_mx_quantize(dst, scale, formats[f].dtype, src, GROUPS);
		for (row = 0; row < 8; row++) {
			trn_mx_widen(back[0], GROUPS, packed[row], formats[f].dtype, scale,
				     GROUPS);
			for (i = 0; i < 4 * GROUPS; i++)
				assert_true(back[i % 4][i / 4] == line[row][i]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scale),
		cmocka_unit_test(test_widen),
		cmocka_unit_test(test_quantize),
		cmocka_unit_test(test_quantize_ends),
		cmocka_unit_test(test_round_trip),
	};

	return cmocka_run_group_tests_name("num-mx", tests, NULL, NULL);
}
