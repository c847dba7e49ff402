// SPDX-License-Identifier: MIT
/*
 * Conversions and the fused multiply-add, against oracles that share no
 * code with them: libm, and rounding worked out in fp64.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "num_util.h"
#include "num/trn_num.h"

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#define RANDOM_ROUNDS	4000000

static void test_comparer_notices_one_ulp(void **state)
{
	float a[67], b[67];
	uint64_t seed = 1;
	size_t i;

	(void)state;
	for (i = 0; i < NUM_COUNT(a); i++)
		a[i] = num_random_bits(&seed);
	for (i = 0; i < NUM_COUNT(a); i++) {
		memcpy(b, a, sizeof(a));
		assert_true(num_first_difference(a, b, NUM_COUNT(a)) == NUM_SAME);
		b[i] = num_float(num_bits(b[i]) ^ 1);
		assert_int_equal(num_first_difference(a, b, NUM_COUNT(a)), i);
		assert_true(num_hash(0, a, NUM_COUNT(a)) != num_hash(0, b, NUM_COUNT(b)));
	}
	a[3] = 0.0f;
	memcpy(b, a, sizeof(a));
	b[3] = -0.0f;
	assert_int_equal(num_first_difference(a, b, NUM_COUNT(a)), 3);
}

/* struct narrow - a 16-bit floating-point type, as the oracle sees it */
struct narrow {
	unsigned int dtype;
	int precision;		/* bits of the significand, the hidden one included */
	int lowest_exponent;	/* of the smallest normal */
	double largest;
	uint16_t inf, nan;
};

static const struct narrow bf16 = {
	NEURON_DTYPE_BF16, 8, -126, 0x1.fep127, 0x7f80, 0x7fc0
};

static const struct narrow fp16 = {
	NEURON_DTYPE_FP16, 11, -14, 65504.0, 0x7c00, 0x7e00
};

static double narrow_value(const struct narrow *type, uint16_t h)
{
	int bits = type->precision - 1;
	int exponent = (h & 0x7fff) >> bits;
	int fraction = h & ((1 << bits) - 1);
	double value;

	if (!exponent)
		value = ldexp(fraction, type->lowest_exponent - bits);
	else
		value = ldexp(fraction + (1 << bits), type->lowest_exponent - bits + exponent - 1);
	return h & 0x8000 ? -value : value;
}

/* Rounds in fp64, where the quotient and the product are exact. */
static uint16_t narrow_expected(const struct narrow *type, float f)
{
	uint16_t sign = signbit(f) ? 0x8000 : 0;
	int exponent, bits = type->precision - 1;
	double step, rounded;

	if (isnan(f))
		return type->nan;
	if (isinf(f))
		return sign | type->inf;
	if (f == 0.0f)
		return sign;
	frexp(fabs((double)f), &exponent);
	exponent--;
	if (exponent < type->lowest_exponent)
		exponent = type->lowest_exponent;
	step = ldexp(1.0, exponent - bits);
	rounded = nearbyint(fabs((double)f) / step) * step;
	if (rounded > type->largest)
		return sign | type->inf;
	/* Steps from the start of this binade; a carry moves into the next. */
	return sign | (uint16_t)((exponent - type->lowest_exponent) * (1 << bits) +
				 (int)(rounded / step));
}

static void check_from_fp32(const struct narrow *type, float f)
{
	uint16_t h;

	trn_from_fp32(&h, &f, type->dtype, 1);
	if (h != narrow_expected(type, f))
		print_error("%a gives %#x\n", f, h);
	assert_int_equal(h, narrow_expected(type, f));
}

/* Every value, the midpoints between neighbours and what is beside them. */
static void check_narrow(const struct narrow *type)
{
	uint32_t h, bits, i;
	uint64_t seed = 2;
	float f, up;
	uint16_t in, back;

	for (h = 0; h <= 0xffff; h++) {
		in = h;
		trn_to_fp32(&f, &in, type->dtype, 1);
		trn_from_fp32(&back, &f, type->dtype, 1);
		if ((h & 0x7fff) > type->inf) {
			assert_int_equal(num_bits(f), NUM_NAN_BITS);
			assert_int_equal(back, type->nan);
			continue;
		}
		assert_int_equal(back, h);
		if ((h & 0x7fff) == type->inf) {
			assert_true(isinf(f) && !signbit(f) == !(h & 0x8000));
			continue;
		}
		assert_true((double)f == narrow_value(type, h));
		assert_int_equal(!signbit(f), !(h & 0x8000));

		up = (float)((narrow_value(type, h) + narrow_value(type, h + 1)) / 2);
		if ((h & 0x7fff) + 1 == type->inf)
			up = (float)(f + (f - narrow_value(type, h - 1)) / 2);
		bits = num_bits(up);
		check_from_fp32(type, up);
		check_from_fp32(type, num_float(bits + 1));
		check_from_fp32(type, num_float(bits - 1));
	}
	for (i = 0; i < num_nr_edges; i++)
		check_from_fp32(type, num_float(num_edges[i]));
	for (i = 0; i < RANDOM_ROUNDS; i++)
		check_from_fp32(type, num_random_bits(&seed));
}

static void test_bf16(void **state)
{
	(void)state;
	check_narrow(&bf16);
}

static void test_fp16(void **state)
{
	uint64_t seed = 3;
	uint32_t i;

	(void)state;
	check_narrow(&fp16);
	/* The range where most fp32 numbers are out of fp16's. */
	for (i = 0; i < RANDOM_ROUNDS; i++)
		check_from_fp32(&fp16, num_float(0x32000000 + num_random(&seed) % 0x16000000));
}

static void test_fp32_identity(void **state)
{
	float in, out[2];
	size_t i;

	(void)state;
	for (i = 0; i < num_nr_edges; i++) {
		in = num_float(num_edges[i]);
		trn_to_fp32(&out[0], &in, NEURON_DTYPE_FP32, 1);
		trn_from_fp32(&out[1], &in, NEURON_DTYPE_FP32, 1);
		assert_int_equal(num_bits(out[0]), num_canon_bits(in));
		assert_int_equal(num_bits(out[1]), num_canon_bits(in));
	}
}

/* struct integer - an integer type, as the oracle sees it */
struct integer {
	unsigned int dtype;
	unsigned int size;
	int64_t lowest, highest;
};

static const struct integer integers[] = {
	{ NEURON_DTYPE_INT8, 1, INT8_MIN, INT8_MAX },
	{ NEURON_DTYPE_UINT8, 1, 0, UINT8_MAX },
	{ NEURON_DTYPE_INT16, 2, INT16_MIN, INT16_MAX },
	{ NEURON_DTYPE_UINT16, 2, 0, UINT16_MAX },
	{ NEURON_DTYPE_INT32, 4, INT32_MIN, INT32_MAX },
	{ NEURON_DTYPE_UINT32, 4, 0, UINT32_MAX },
};

static int64_t integer_expected(const struct integer *type, float f)
{
	if (isnan(f))
		return 0;
	if (f >= 0x1p40f)
		return type->highest;
	if (f <= -0x1p40f)
		return type->lowest;
	f = nearbyintf(f);
	if ((int64_t)f > type->highest)
		return type->highest;
	return (int64_t)f < type->lowest ? type->lowest : (int64_t)f;
}

/* @raw: the element's bytes at the low end, zeros above. */
static int64_t integer_load(const struct integer *type, uint32_t raw)
{
	unsigned int unused = 64 - 8 * type->size;

	if (type->lowest)
		return (int64_t)((uint64_t)raw << unused) >> unused;
	return (uint64_t)raw << unused >> unused;
}

static void check_integer(const struct integer *type, float f)
{
	uint32_t raw = 0;

	trn_from_fp32(&raw, &f, type->dtype, 1);
	if (integer_load(type, raw) != integer_expected(type, f))
		print_error("type %u: %a\n", type->dtype, f);
	assert_true(integer_load(type, raw) == integer_expected(type, f));
}

static void check_integer_back(const struct integer *type, uint32_t raw)
{
	float f;

	trn_to_fp32(&f, &raw, type->dtype, 1);
	assert_true(f == (float)(double)integer_load(type, raw));
	assert_false(f == 0.0f && signbit(f));
}

static void test_integers(void **state)
{
	const struct integer *type;
	uint64_t seed = 4;
	uint32_t i, near;
	size_t j;

	(void)state;
	for (j = 0; j < NUM_COUNT(integers); j++) {
		type = &integers[j];
		for (i = 0; i < num_nr_edges; i++)
			check_integer(type, num_float(num_edges[i]));
		/* Halves and quarters: ties and what is beside them. */
		for (near = 0; near < 600000; near++) {
			check_integer(type, (float)near * 0.25f);
			check_integer(type, (float)near * -0.25f);
		}
		for (i = 0; i < RANDOM_ROUNDS / 8; i++) {
			check_integer(type, num_random_bits(&seed));
			check_integer(type, num_float(0x4a800000 + num_random(&seed) % 0x6000000));
		}
		if (type->size < 4) {
			for (i = 0; i < 1u << (8 * type->size); i++)
				check_integer_back(type, i);
			continue;
		}
		for (i = 0; i < RANDOM_ROUNDS; i++)
			check_integer_back(type, num_random(&seed) >> (i % 16));
		for (i = 0; i < 64; i++) {
			check_integer_back(type, i - 32);
			check_integer_back(type, 0x80000000u + i - 32);
			check_integer_back(type, 0x01000000u + i - 32);
		}
	}
}

/* Lengths around the block size; nothing beyond the end is written. */
static void test_conversion_lengths(void **state)
{
	static const unsigned int types[] = {
		NEURON_DTYPE_INT8, NEURON_DTYPE_BF16, NEURON_DTYPE_FP16,
		NEURON_DTYPE_INT32, NEURON_DTYPE_FP32
	};
	float in[200], out[201], one;
	uint8_t packed[201 * 4], single[4];
	unsigned int type, size;
	uint64_t seed = 5;
	size_t i, j, n;

	(void)state;
	for (i = 0; i < 200; i++)
		in[i] = num_random_mixed(&seed) * 50.0f;
	for (j = 0; j < NUM_COUNT(types); j++) {
		type = types[j];
		size = trn_dtype_size(type);
		for (n = 0; n <= 200; n++) {
			memset(packed, 0xa5, sizeof(packed));
			trn_from_fp32(packed, in, type, n);
			for (i = 0; i < n; i++) {
				trn_from_fp32(single, &in[i], type, 1);
				assert_memory_equal(single, packed + i * size, size);
			}
			assert_int_equal(packed[n * size], 0xa5);
			out[n] = 42.0f;
			trn_to_fp32(out, packed, type, n);
			for (i = 0; i < n; i++) {
				trn_to_fp32(&one, packed + i * size, type, 1);
				assert_int_equal(num_bits(one), num_bits(out[i]));
			}
			assert_true(out[n] == 42.0f);
		}
	}
}

static void check_fma(float a, float b, float c)
{
	uint32_t got = num_bits(trn_fma(a, b, c));
	uint32_t want = num_canon_bits(fmaf(a, b, c));

	if (got == want)
		return;
	print_error("fma(%a, %a, %a): %#x, not %#x\n", a, b, c, got, want);
	fail();
}

static void test_fma_edges(void **state)
{
	size_t i, j, k;

	(void)state;
	for (i = 0; i < num_nr_edges; i++) {
		for (j = 0; j < num_nr_edges; j++) {
			for (k = 0; k < num_nr_edges; k++)
				check_fma(num_float(num_edges[i]), num_float(num_edges[j]),
					  num_float(num_edges[k]));
		}
	}
	/* Rounding twice would give the wrong neighbour. */
	check_fma(0x1.000002p0f, 0x1.000002p0f, 0x1p-60f);
	check_fma(0x1.fffffep-1f, 0x1.000002p-126f, -0x1p-149f);
	check_fma(0x1.8p0f, 0x1.000002p-149f, 0x1p-149f);
}

static void test_fma_random(void **state)
{
	uint64_t seed = 6;
	float a, b, c;
	uint32_t i;

	(void)state;
	for (i = 0; i < 4 * RANDOM_ROUNDS; i++) {
		check_fma(num_random_bits(&seed), num_random_bits(&seed),
			  num_random_bits(&seed));
		/* A third operand near the product: cancellation and ties. */
		a = num_random_near_one(&seed);
		b = num_random_near_one(&seed);
		c = -(a * b);
		check_fma(a, b, num_float(num_bits(c) + num_random(&seed) % 5 - 2));
		check_fma(a, b, ldexpf(c, (int)(num_random(&seed) % 60) - 30));
		/* Short significands: many exact halves. */
		a = ldexpf((float)(num_random(&seed) % 8192), -64);
		b = ldexpf((float)(num_random(&seed) % 8192), -70);
		c = ldexpf((float)(num_random(&seed) % 8192), -149);
		check_fma(a, b, i & 1 ? c : -c);
	}
}

static void test_thread_init(void **state)
{
	(void)state;
#ifdef __SSE2__
	volatile float tiny = 0x1p-126f;
	unsigned int saved = _mm_getcsr();

	/* Flush to zero, denormals as zero, rounding up. */
	_mm_setcsr(saved | 0x8040 | 0x4000);
	assert_true(tiny * 0.5f == 0.0f);
	trn_num_thread_init();
	assert_true(tiny * 0.5f != 0.0f);
	assert_int_equal(_mm_getcsr() & 0xffc0, 0x1f80);
	_mm_setcsr(saved);
#elif defined(__aarch64__)
	volatile float tiny = 0x1p-126f;
	uint64_t fpcr = 1u << 24 | 1u << 22;

	/* Flush to zero, rounding up. */
	__asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
	assert_true(tiny * 0.5f == 0.0f);
	trn_num_thread_init();
	assert_true(tiny * 0.5f != 0.0f);
	__asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
	assert_int_equal(fpcr, 0);
#else
	skip();
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_comparer_notices_one_ulp),
		cmocka_unit_test(test_bf16),
		cmocka_unit_test(test_fp16),
		cmocka_unit_test(test_fp32_identity),
		cmocka_unit_test(test_integers),
		cmocka_unit_test(test_conversion_lengths),
		cmocka_unit_test(test_fma_edges),
		cmocka_unit_test(test_fma_random),
		cmocka_unit_test(test_thread_init),
	};

	return cmocka_run_group_tests_name("num", tests, NULL, NULL);
}
