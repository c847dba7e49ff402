// SPDX-License-Identifier: MIT
/*
 * The element types, and the narrow floating-point ones exhaustively: every code,
 * every boundary between two codes. The oracle knows a type's values and finds
 * the nearest by searching.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "num_util.h"
#include "num/trn_num.h"

#define RANDOM_ROUNDS	60000

/* struct traits - what numerics.rst says of a type */
struct traits {
	uint8_t size;
	bool number, is_float, packed;
	uint8_t first;
};

static const struct traits traits[NEURON_NR_DTYPES] = {
	[NEURON_DTYPE_UINT64] = { 8, false, false, false, 3 },
	[NEURON_DTYPE_INT64] = { 8, false, false, false, 3 },
	[NEURON_DTYPE_INT8] = { 1, true, false, false, 2 },
	[NEURON_DTYPE_UINT8] = { 1, true, false, false, 2 },
	[NEURON_DTYPE_INT16] = { 2, true, false, false, 2 },
	[NEURON_DTYPE_UINT16] = { 2, true, false, false, 2 },
	[NEURON_DTYPE_INT32] = { 4, true, false, false, 2 },
	[NEURON_DTYPE_UINT32] = { 4, true, false, false, 2 },
	[NEURON_DTYPE_BF16] = { 2, true, true, false, 2 },
	[NEURON_DTYPE_FP16] = { 2, true, true, false, 2 },
	[NEURON_DTYPE_FP32] = { 4, true, true, false, 2 },
	[NEURON_DTYPE_TF32] = { 4, true, true, false, 2 },
	[NEURON_DTYPE_FP8_E3] = { 1, true, true, false, 2 },
	[NEURON_DTYPE_FP8_E4] = { 1, true, true, false, 2 },
	[NEURON_DTYPE_FP8_E5] = { 1, true, true, false, 2 },
	[NEURON_DTYPE_FP8_E4FN] = { 1, true, true, false, 4 },
	[NEURON_DTYPE_FP8_E5_X4] = { 4, false, false, true, 4 },
	[NEURON_DTYPE_FP8_E4FN_X4] = { 4, false, false, true, 4 },
	[NEURON_DTYPE_FP4_E2_X4] = { 2, false, false, true, 4 },
	[NEURON_DTYPE_E8M0] = { 1, false, false, false, 4 },
};

static void test_traits(void **state)
{
	static const struct traits none;
	unsigned int type, generation;

	(void)state;
	for (type = 0; type < 300; type++) {
		const struct traits *t = type < NEURON_NR_DTYPES ? &traits[type] : &none;

		assert_int_equal(trn_dtype_size(type), t->size);
		assert_int_equal(trn_dtype_is_number(type), t->number);
		assert_int_equal(trn_dtype_is_float(type), t->is_float);
		assert_int_equal(trn_dtype_is_int(type), t->number && !t->is_float);
		assert_int_equal(trn_dtype_is_packed(type), t->packed);
		for (generation = 2; generation <= 4; generation++)
			assert_int_equal(trn_dtype_on(type, generation),
					 t->first && generation >= t->first);
	}
	assert_false(trn_dtype_on(~0u, 4));
}

/**
 * struct narrow - a narrow type, as the oracle sees it
 * @exponent, @fraction: bits
 * @bias: of the exponent
 * @largest: code of the largest finite number
 * @inf: code of infinity; where there is none the code of the NaN
 * @nan: code of the canonical NaN
 * @shift: bits of an element below the code
 */
struct narrow {
	const char *name;
	unsigned int dtype;
	int exponent, fraction, bias;
	uint32_t largest, inf, nan;
	int shift;
	double largest_value;
};

static const struct narrow narrows[] = {
	{ "fp8_e3", NEURON_DTYPE_FP8_E3, 3, 4, 3, 0x6f, 0x70, 0x78, 0, 15.5 },
	{ "fp8_e4", NEURON_DTYPE_FP8_E4, 4, 3, 7, 0x77, 0x78, 0x7c, 0, 240.0 },
	{ "fp8_e4fn", NEURON_DTYPE_FP8_E4FN, 4, 3, 7, 0x7e, 0x7f, 0x7f, 0, 448.0 },
	{ "fp8_e5", NEURON_DTYPE_FP8_E5, 5, 2, 15, 0x7b, 0x7c, 0x7e, 0, 57344.0 },
	{ "fp16", NEURON_DTYPE_FP16, 5, 10, 15, 0x7bff, 0x7c00, 0x7e00, 0, 65504.0 },
	{ "bf16", NEURON_DTYPE_BF16, 8, 7, 127, 0x7f7f, 0x7f80, 0x7fc0, 0, 0x1.fep127 },
	{ "tf32", NEURON_DTYPE_TF32, 8, 10, 127, 0x3fbff, 0x3fc00, 0x3fe00, 13,
	  0x1.ffcp127 },
};

static uint32_t sign_of(const struct narrow *type)
{
	return 1u << (type->exponent + type->fraction);
}

/* Of a magnitude, as if there were no infinity and no NaN. */
static double value(const struct narrow *type, uint32_t code)
{
	int e = (int)(code >> type->fraction);
	double f = code & ((1u << type->fraction) - 1);

	if (!e)
		return ldexp(f, 1 - type->bias - type->fraction);
	return ldexp(f + (1 << type->fraction), e - type->bias - type->fraction);
}

/* The nearest code by bisection; a tie goes to the even one. */
static uint32_t nearest(const struct narrow *type, float f, double scale)
{
	double x = fabs((double)f) * scale;
	uint32_t low = 0, high = type->largest + 1, middle;
	uint32_t sign = signbit(f) ? sign_of(type) : 0;

	if (isnan(f))
		return type->nan;
	while (high - low > 1) {
		middle = (low + high) / 2;
		if (value(type, middle) <= x)
			low = middle;
		else
			high = middle;
	}
	if (x - value(type, low) > value(type, high) - x ||
	    (x - value(type, low) == value(type, high) - x && (low & 1)))
		low = high;
	if (low > type->largest)
		return type->inf == type->nan ? type->nan : sign | type->inf;
	return sign | low;
}

static uint32_t encode(const struct narrow *type, float f, const struct trn_num_mode *mode)
{
	uint32_t raw = 0;

	trn_from_fp32_mode(&raw, &f, type->dtype, 1, mode, 0);
	assert_int_equal(raw & ((1u << type->shift) - 1), 0);
	return raw >> type->shift;
}

static float decode(const struct narrow *type, uint32_t code, const struct trn_num_mode *mode)
{
	float f;

	code <<= type->shift;
	trn_to_fp32_mode(&f, &code, type->dtype, 1, mode);
	return f;
}

static bool encoding_right(const struct narrow *type, float f, double scale, uint32_t got)
{
	return got == nearest(type, f, scale);
}

static void check_encode(const struct narrow *type, float f,
			 const struct trn_num_mode *mode, double scale)
{
	uint32_t got = encode(type, f, mode);

	if (encoding_right(type, f, scale, got))
		return;
	print_error("%s: %a gives %#x, not %#x\n", type->name, f, got,
		    nearest(type, f, scale));
	fail();
}

/* The number, and those beside it, with both signs. */
static void check_around(const struct narrow *type, double x,
			 const struct trn_num_mode *mode, double scale)
{
	uint32_t bits = num_bits((float)(x / scale));
	uint32_t sign;

	for (sign = 0; sign <= 0x80000000u; sign += 0x80000000u) {
		check_encode(type, num_float(sign | bits), mode, scale);
		check_encode(type, num_float(sign | (bits + 1)), mode, scale);
		if (bits)
			check_encode(type, num_float(sign | (bits - 1)), mode, scale);
		if (sign)
			break;
	}
}

/* @scale: what @mode's bias makes of a value; its reciprocal of a number. */
static void check_type(const struct narrow *type, const struct trn_num_mode *mode,
		       double scale)
{
	uint32_t code, sign = sign_of(type);
	uint64_t seed = 21;
	size_t i;
	float f;

	for (code = 0; code < 2 * sign; code++) {
		uint32_t magnitude = code & (sign - 1);

		f = decode(type, code, mode);
		if (magnitude > type->inf || magnitude == type->nan) {
			assert_int_equal(num_bits(f), NUM_NAN_BITS);
			assert_int_equal(encode(type, f, mode), type->nan);
			continue;
		}
		assert_int_equal(!signbit(f), !(code & sign));
		assert_int_equal(encode(type, f, mode), code);
		if (magnitude == type->inf)
			assert_true(isinf(f));
		else
			assert_true(fabs((double)f) == value(type, magnitude) / scale);
		if (magnitude <= type->largest)
			check_around(type, (value(type, magnitude) +
					    value(type, magnitude + 1)) / 2,
				     mode, scale);
	}
	for (i = 0; i < num_nr_edges; i++)
		check_encode(type, num_float(num_edges[i]), mode, scale);
	for (i = 0; i < RANDOM_ROUNDS; i++) {
		check_encode(type, num_random_bits(&seed), mode, scale);
		check_encode(type, (float)(num_random_near_one(&seed) / scale), mode, scale);
	}
}

static void test_narrow(void **state)
{
	const struct narrow *type = *state;

	assert_true(value(type, type->largest) == type->largest_value);
	check_type(type, NULL, 1.0);
}

/* The bias moves a type's values by a power of two and no other type's. */
static void test_bias(void **state)
{
	static const int8_t biases[] = { TRN_FP8_BIAS_MIN, -17, -1, 1, 5, TRN_FP8_BIAS_MAX };
	const struct narrow *e3 = &narrows[0], *e4 = &narrows[1], *e5 = &narrows[3];
	struct trn_num_mode mode = { .rounding = TRN_ROUND_NEAREST };
	size_t i;

	(void)state;
	for (i = 0; i < NUM_COUNT(biases); i++) {
		mode.fp8_bias[0] = biases[i];
		mode.fp8_bias[1] = biases[(i + 1) % NUM_COUNT(biases)];
		mode.fp8_bias[2] = biases[(i + 2) % NUM_COUNT(biases)];
		assert_true(trn_num_mode_valid(&mode));
		check_type(e3, &mode, ldexp(1.0, mode.fp8_bias[0]));
		check_type(e4, &mode, ldexp(1.0, mode.fp8_bias[1]));
		check_type(e5, &mode, ldexp(1.0, mode.fp8_bias[2]));
	}
	check_type(&narrows[2], &mode, 1.0);
	assert_true(decode(&narrows[4], 0x3c00, &mode) == 1.0f);

	mode.fp8_bias[1] = TRN_FP8_BIAS_MAX + 1;
	assert_false(trn_num_mode_valid(&mode));
	mode.fp8_bias[1] = TRN_FP8_BIAS_MIN - 1;
	assert_false(trn_num_mode_valid(&mode));
	mode.fp8_bias[1] = 0;
	mode.rounding = TRN_ROUND_STOCHASTIC + 1;
	assert_false(trn_num_mode_valid(&mode));
}

/* The 13 bits that a tf32 element does not have are not looked at. */
static void test_tf32_low_bits(void **state)
{
	uint32_t in, i;
	float f;

	(void)state;
	for (i = 0; i < 0x2000; i++) {
		in = 0x3f802000 | i;
		trn_to_fp32(&f, &in, NEURON_DTYPE_TF32, 1);
		assert_int_equal(num_bits(f), 0x3f802000);
		in = 0xff800000 | i;
		trn_to_fp32(&f, &in, NEURON_DTYPE_TF32, 1);
		assert_int_equal(num_bits(f), 0xff800000);
	}
}

/* Any code but the right one is noticed: one unit in the last place, the sign. */
static void test_oracle_notices(void **state)
{
	uint64_t seed = 22;
	uint32_t want;
	size_t i, j;
	float f;

	(void)state;
	for (i = 0; i < NUM_COUNT(narrows); i++) {
		const struct narrow *type = &narrows[i];

		for (j = 0; j < 1000; j++) {
			f = num_random_near_one(&seed);
			want = encode(type, f, NULL);
			assert_true(encoding_right(type, f, 1.0, want));
			assert_false(encoding_right(type, f, 1.0, want + 1));
			assert_false(encoding_right(type, f, 1.0, want - 1));
			assert_false(encoding_right(type, f, 1.0, want ^ sign_of(type)));
		}
	}
}

#define NARROW(i)							\
	{ .name = "test_narrow " #i, .test_func = test_narrow,		\
	  .initial_state = (void *)&narrows[i] }

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_traits),
		NARROW(0), NARROW(1), NARROW(2), NARROW(3), NARROW(4), NARROW(5), NARROW(6),
		cmocka_unit_test(test_bias),
		cmocka_unit_test(test_tf32_low_bits),
		cmocka_unit_test(test_oracle_notices),
	};

	return cmocka_run_group_tests_name("num-types", tests, NULL, NULL);
}
