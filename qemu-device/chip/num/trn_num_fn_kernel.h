/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * What the functions of trn_num_fn*.h are made of: exp and log in fp64.
 *
 * Additions, multiplications and divisions only, each rounded on its own: the
 * bits are the same on every host, without a fused operation and without libm.
 * All polynomials interpolate at the Chebyshev nodes, computed with 50 digits.
 * Highest power first; written out, since compilers do not vectorise around a
 * loop over the coefficients.
 */
#ifndef TRN_NUM_FN_KERNEL_H
#define TRN_NUM_FN_KERNEL_H

#include "num/trn_num_internal.h"

/* 2^f on [-0.5, 0.5]; relative error below 2^-51, of 2^f - 1 below 2^-46. */
#define TRN_EXP2_POLY(STEP)						\
	STEP(0x1.e6063fbfea44dp-28) STEP(0x1.b675bcf92bd29p-24) STEP(0x1.62bfd4774c4c2p-20)	\
	STEP(0x1.ffcb5405da2d1p-17) STEP(0x1.430913096fe6bp-13) STEP(0x1.5d87fe9d7a73ep-10)	\
	STEP(0x1.3b2ab6fba1ddap-7) STEP(0x1.c6b08d703ce48p-5) STEP(0x1.ebfbdff82c598p-3)	\
	STEP(0x1.62e42fefa3a19p-1)

/*
 * 2 * atanh(s) / s as a polynomial in s^2: for s up to (sqrt(2) - 1) /
 * (sqrt(2) + 1), and for s up to 1/3. Relative errors below 2^-52.
 */
#define TRN_LOG_POLY(STEP)						\
	STEP(0x1.2f4d88c4fad06p-3) STEP(0x1.3999bf614de60p-3) STEP(0x1.7466994f20a7cp-3)	\
	STEP(0x1.c71c50004ffddp-3) STEP(0x1.2492494513f76p-2) STEP(0x1.999999997aeaap-2)	\
	STEP(0x1.55555555555aep-1) STEP(0x1.0000000000000p+1)
#define TRN_LOG1P_POLY(STEP)						\
	STEP(0x1.5d1081172f887p-3) STEP(0x1.54f8c703ce149p-4) STEP(0x1.f00852a5c69fap-4)	\
	STEP(0x1.106443d797a85p-3) STEP(0x1.3b1e2bc8a12dep-3) STEP(0x1.745caf74cbe5ep-3)	\
	STEP(0x1.c71c7445b2127p-3) STEP(0x1.249249201beacp-2) STEP(0x1.99999999a1c4fp-2)	\
	STEP(0x1.5555555555527p-1) STEP(0x1.0000000000000p+1)

/* @result = polynomial of @x. */
#define TRN_HORNER(result, x, POLY)					\
	do {								\
		double horner_x = (x), horner = 0.0;			\
									\
		POLY(TRN_HORNER_STEP)					\
		(result) = horner;					\
	} while (0)
#define TRN_HORNER_STEP(c)	horner = horner * horner_x + (c);

/*
 * The terms of even and of odd powers by themselves: the chain of operations
 * that wait for each other is half as long.
 */
#define TRN_HORNER_HALVES(result, x, EVEN, ODD)				\
	do {								\
		double halves_x = (x), even, odd;			\
									\
		TRN_HORNER(even, halves_x * halves_x, EVEN);		\
		TRN_HORNER(odd, halves_x * halves_x, ODD);		\
		(result) = even + halves_x * odd;			\
	} while (0)

#define TRN_LOG2_E	0x1.71547652b82fep+0
#define TRN_LN_2	0x1.62e42fefa39efp-1
/* Adding this leaves no fraction bit: the sum's low bits are the integer. */
#define TRN_ROUND_INT	0x1.8p52

TRN_INLINE double trn_abs_double(double d)
{
	return trn_bits_double(trn_double_bits(d) & ~(1ull << 63));
}

TRN_INLINE double trn_min_double(double d, double highest)
{
	return trn_select_double(d > highest, highest, d);
}

/* struct trn_exp2 - 2^y in parts: whole * (1 + less_one) */
struct trn_exp2 {
	double whole;		/* a power of two */
	double less_one;	/* between -0.3 and 0.42 */
};

/* @y in [-1000, 1000]: the nearest integer and the rest. */
TRN_INLINE struct trn_exp2 trn_exp2_parts(double y)
{
	double shifted = y + TRN_ROUND_INT;
	double f = y - (shifted - TRN_ROUND_INT);
	struct trn_exp2 parts;

	TRN_HORNER(parts.less_one, f, TRN_EXP2_POLY);
	parts.less_one *= f;
	parts.whole = trn_bits_double((trn_double_bits(shifted) << 52) + (1023ull << 52));
	return parts;
}

/* 2^y for @y in [-1000, 1000]. */
TRN_INLINE double trn_exp2_fp64(double y)
{
	struct trn_exp2 parts = trn_exp2_parts(y);

	return parts.whole * (parts.less_one + 1.0);
}

/* 2^y - 1, accurate for small @y too. */
TRN_INLINE double trn_exp2_less_one(struct trn_exp2 parts)
{
	return parts.whole * parts.less_one + (parts.whole - 1.0);
}

/* struct trn_log - ln(d) = ln(2) * exponent + rest, rest within ln(2) / 2 */
struct trn_log {
	double exponent, rest;
};

/*
 * @d is positive and normal: m = d / 2^exponent is in [sqrt(1/2), sqrt(2)],
 * s = (m - 1) / (m + 1) and ln(m) = 2 atanh(s).
 */
TRN_INLINE struct trn_log trn_log_parts(double d)
{
	const uint64_t bits = trn_double_bits(d);
	/* The bits of 1 less those of sqrt(1/2): now the exponent steps there. */
	uint64_t biased = (bits + 0x00095f619980c433ull) >> 52;
	double m = trn_bits_double(bits - ((biased - 1023) << 52)) - 1.0;
	double s = m / (m + 2.0);
	struct trn_log parts;

	TRN_HORNER(parts.rest, s * s, TRN_LOG_POLY);
	parts.rest *= s;
	/* As the fraction of 2^52, to fp64 without an instruction for it. */
	parts.exponent = trn_bits_double(biased | (1075ull << 52)) - (0x1p52 + 1023.0);
	return parts;
}

/* ln(1 + d) for @d in [0, 1]. */
TRN_INLINE double trn_log1p_fp64(double d)
{
	double s = d / (d + 2.0), p;

	TRN_HORNER(p, s * s, TRN_LOG1P_POLY);
	return p * s;
}

#endif /* TRN_NUM_FN_KERNEL_H */
