/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * One element of a floating-point type narrower than fp32, to and from fp32,
 * without a branch, so that loops over it vectorise.
 */
#ifndef TRN_NUM_NARROW_H
#define TRN_NUM_NARROW_H

#include "num/trn_num_random.h"

/**
 * struct trn_narrow - a floating-point type
 * @fraction: bits of the fraction
 * @bias: of the exponent
 * @sign: the bit of the sign
 * @limit: lowest magnitude that is not a finite number: infinity, or where
 *	there is none the NaN; what overflows becomes it
 * @nan: the canonical NaN
 */
struct trn_narrow {
	uint32_t fraction;
	uint32_t bias;
	uint32_t sign;
	uint32_t limit;
	uint32_t nan;
};

/* As constants, for functions that are inlined. */
#define TRN_BF16	((struct trn_narrow){ 7, 127, 0x8000, 0x7f80, 0x7fc0 })
#define TRN_FP16	((struct trn_narrow){ 10, 15, 0x8000, 0x7c00, 0x7e00 })
#define TRN_FP8_E3	((struct trn_narrow){ 4, 3, 0x80, 0x70, 0x78 })
#define TRN_FP8_E4	((struct trn_narrow){ 3, 7, 0x80, 0x78, 0x7c })
#define TRN_FP8_E4FN	((struct trn_narrow){ 3, 7, 0x80, 0x7f, 0x7f })
#define TRN_FP8_E5	((struct trn_narrow){ 2, 15, 0x80, 0x7c, 0x7e })
/* tf32 without its 13 zeros */
#define TRN_TF32	((struct trn_narrow){ 10, 127, 0x40000, 0x3fc00, 0x3fe00 })

#define TRN_TF32_ZEROS	13

/* Sign and NaN of @x around a magnitude that may be beyond the type's range. */
TRN_INLINE uint32_t trn_narrow_finish(struct trn_narrow t, float x, uint32_t h)
{
	uint32_t sign = trn_select_bits(trn_float_bits(x) >> 31, t.sign, 0);

	h = trn_select_bits(h > t.limit, t.limit, h);
	/* A NaN that stands for overflow has no sign either. */
	sign = trn_select_bits((t.limit == t.nan) & (h == t.nan), 0, sign);
	return trn_select_bits(x == x, sign | h, t.nan);
}

/* To nearest, ties to even. */
TRN_INLINE uint32_t trn_narrow_nearest(struct trn_narrow t, float x)
{
	uint32_t a = trn_float_bits(x) & 0x7fffffff;
	uint32_t drop = 23 - t.fraction;
	/* A step of the denormals is this number's last bit: the sum rounds. */
	uint32_t magic = (128 + drop - t.bias) << 23;
	uint32_t denormal = trn_float_bits(trn_bits_float(a) + trn_bits_float(magic)) - magic;
	uint32_t half = (1u << (drop - 1)) - 1 + ((a >> drop) & 1);
	uint32_t normal = (a - ((127 - t.bias) << 23) + half) >> drop;
	uint32_t h = trn_select_bits(a < (128 - t.bias) << 23, denormal, normal);

	return trn_narrow_finish(t, x, h);
}

/*
 * Up with the probability of the part that is cut off: when its first 32 bits
 * and @random carry.
 */
TRN_INLINE uint32_t trn_narrow_stochastic(struct trn_narrow t, float x,
					  uint32_t random)
{
	uint32_t a = trn_float_bits(x) & 0x7fffffff;
	uint32_t e = trn_select_bits(a < 0x800000, 1, a >> 23);
	uint32_t s = (a & 0x7fffff) | trn_select_bits(a < 0x800000, 0, 0x800000);
	uint32_t lowest = 128 - t.bias;
	uint32_t below = trn_select_bits(e < lowest, lowest - e, 0);
	/* Bits of the significand that are cut off, at least 7. */
	uint32_t drop = 23 - t.fraction + below;
	uint32_t left = trn_select_bits(drop < 32, 32 - drop, 0);
	uint32_t right = trn_select_bits(drop > 32, drop - 32, 0);
	uint32_t rest, h;

	right = trn_select_bits(right > 31, 31, right);
	rest = (s << (left & 31)) >> right;
	h = trn_select_bits(drop > 31, 0, s >> (drop & 31));
	h += rest > ~random;
	h += (e + below - lowest) << t.fraction;
	return trn_narrow_finish(t, x, h);
}

/* Exact; @scale is a power of two that keeps it so. */
TRN_INLINE float trn_narrow_widen(struct trn_narrow t, uint32_t h, float scale)
{
	uint32_t sign = trn_select_bits((h & t.sign) != 0, 0x80000000u, 0);
	uint32_t a = h & (t.sign - 1);
	uint32_t drop = 23 - t.fraction;
	/* 2^(1 - bias - fraction) */
	float step = trn_bits_float((105 + drop - t.bias) << 23);
	uint32_t denormal = trn_float_bits((float)(int32_t)a * step);
	uint32_t normal = (a << drop) + ((127 - t.bias) << 23);
	uint32_t u = trn_select_bits(a < 1u << t.fraction, denormal, normal);
	bool inf = (a == t.limit) & (t.limit != t.nan);
	float f;

	u = trn_select_bits(a >= t.limit, TRN_NAN_BITS, u);
	u = trn_select_bits(inf, 0x7f800000u, u);
	f = trn_bits_float(sign | u) * scale;
	return trn_canon(f);
}

#endif /* TRN_NUM_NARROW_H */
