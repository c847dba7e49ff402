/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Functions that need no polynomial of their own. The host's division and
 * square root are IEEE's, correctly rounded, so they are the same everywhere.
 *
 * All functions of the trn_num_fn*.h headers are fp32 to fp32, have no branch
 * so that a loop over them vectorises, and return any NaN for a NaN result:
 * who stores the result makes it canonical. A NaN operand gives a NaN or
 * rubbish, and the caller replaces it.
 */
#ifndef TRN_NUM_FN_H
#define TRN_NUM_FN_H

#include "num/trn_num_fn_kernel.h"

#define TRN_SIGN_BIT	0x80000000u

TRN_INLINE float trn_with_sign_of(float magnitude, float x)
{
	return trn_bits_float((trn_float_bits(magnitude) & ~TRN_SIGN_BIT) |
			      (trn_float_bits(x) & TRN_SIGN_BIT));
}

TRN_INLINE float trn_identity_fp32(float x)
{
	return x;
}

TRN_INLINE float trn_square_fp32(float x)
{
	return x * x;
}

TRN_INLINE float trn_abs_fp32(float x)
{
	return trn_bits_float(trn_float_bits(x) & ~TRN_SIGN_BIT);
}

/* -1, 1, or the zero that x is. */
TRN_INLINE float trn_sign_fp32(float x)
{
	return trn_select(x == 0.0f, x, trn_with_sign_of(1.0f, x));
}

/* As maximum of x and +0. */
TRN_INLINE float trn_relu_fp32(float x)
{
	return trn_select(x <= 0.0f, 0.0f, x);
}

TRN_INLINE float trn_prelu_fp32(float x, float slope)
{
	return trn_select(x < 0.0f, x * slope, x);
}

TRN_INLINE float trn_reciprocal_fp32(float x)
{
	return 1.0f / x;
}

TRN_INLINE float trn_sqrt_fp32(float x)
{
	return __builtin_sqrtf(x);
}

/* Two fp64 roundings before the one to fp32; a zero gives its infinity. */
TRN_INLINE float trn_rsqrt_fp32(float x)
{
	return (float)(1.0 / __builtin_sqrt((double)x));
}

/*
 * x to the power of y as pow of IEEE 754: 1 for y = 0 and for x = 1, NaN or
 * not; NaN for a finite x < 0 and a y that is no integer.
 */
TRN_INLINE float trn_power_fp32(float x, float y)
{
	const float inf = __builtin_inff(), nan = __builtin_nanf("");
	const float size = trn_abs_fp32(x);
	struct trn_log parts = trn_log_parts(size);
	double log2_size = parts.exponent + parts.rest * TRN_LOG2_E;
	/* From 2^24 on all numbers are even integers. */
	double within = trn_clamp_double(y, -0x1p25, 0x1p25);
	double shifted = within + TRN_ROUND_INT;
	bool integer = shifted - TRN_ROUND_INT == within;
	uint32_t odd = integer & (uint32_t)trn_double_bits(shifted);
	double product;
	float result;

	log2_size = trn_select_double(size == 0.0f, -inf, log2_size);
	log2_size = trn_select_double(size == inf, inf, log2_size);
	product = trn_clamp_double(y * log2_size, -1000.0, 1000.0);
	/* 0 * infinity: y is 0, or size is 1. */
	product = trn_select_double(product == product, product, 0.0);
	result = (float)trn_exp2_fp64(product);
	result = trn_bits_float(trn_float_bits(result) |
				(odd << 31 & trn_float_bits(x)));
	result = trn_select((x < 0.0f) & (size < inf) & !integer, nan, result);
	result = trn_select((x == x) & (y == y), result, nan);
	return trn_select((x == 1.0f) | (y == 0.0f), 1.0f, result);
}

#endif /* TRN_NUM_FN_H */
