/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Functions of one number that need no polynomial. The host's division and
 * square root are IEEE's, correctly rounded, so they are the same everywhere.
 *
 * All functions of the trn_num_fn*.h headers are fp32 to fp32, have no branch
 * so that a loop over them vectorises, and return any NaN for a NaN result:
 * who stores the result makes it canonical. A NaN operand gives a NaN or
 * rubbish, and the caller replaces it.
 */
#ifndef TRN_NUM_FN_H
#define TRN_NUM_FN_H

#include "trn_num_internal.h"

#define TRN_SIGN_BIT	0x80000000u

/* @magnitude is not negative. */
TRN_INLINE float trn_with_sign_of(float magnitude, float x)
{
	return trn_bits_float(trn_float_bits(magnitude) |
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

#endif /* TRN_NUM_FN_H */
