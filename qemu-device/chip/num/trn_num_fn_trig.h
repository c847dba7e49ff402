/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Logarithm, sine and arc tangent.
 */
#ifndef TRN_NUM_FN_TRIG_H
#define TRN_NUM_FN_TRIG_H

#include "num/trn_num_fn.h"

/* sin(r) / r on [0, pi / 2] as a polynomial in r^2. Relative error below 2^-51. */
#define TRN_SIN_POLY(STEP)						\
	STEP(-0x1.9f241fcbfca1fp-41) STEP(0x1.60e727f4571e8p-33) STEP(-0x1.ae63578ccf2acp-26)	\
	STEP(0x1.71de380899061p-19) STEP(-0x1.a01a019a541c3p-13) STEP(0x1.1111111109f2dp-7)	\
	STEP(-0x1.555555555547fp-3) STEP(0x1.fffffffffffffp-1)

/* atan(u) / u on [0, tan(pi / 8)] as a polynomial in u^2. Relative error below 2^-52. */
#define TRN_ATAN_POLY(STEP)						\
	STEP(0x1.5a482e20112ecp-6) STEP(-0x1.64314395b2626p-5) STEP(0x1.d1fd545f28ae3p-5)	\
	STEP(-0x1.0ffbe63b09941p-4) STEP(0x1.3afb01bbe7601p-4) STEP(-0x1.745baa2843f92p-4)	\
	STEP(0x1.c71c648aca6a2p-4) STEP(-0x1.2492490095732p-3) STEP(0x1.9999999934e50p-3)	\
	STEP(-0x1.55555555551e4p-2) STEP(0x1.0000000000000p+0)

#define TRN_HALF_PI	0x1.921fb54442d18p+0
#define TRN_PI_LOW	0x1.1a62633145c07p-53

TRN_INLINE float trn_log_fp32(float x)
{
	struct trn_log parts = trn_log_parts(x);
	float y = (float)(parts.exponent * TRN_LN_2 + parts.rest);

	y = trn_select(x == __builtin_inff(), x, y);
	y = trn_select(x < 0.0f, __builtin_nanf(""), y);
	return trn_select(x == 0.0f, -__builtin_inff(), y);
}

/*
 * For |x| up to pi, with r the distance from 0 or from pi, whichever is less.
 * Beyond pi r is negative and its sine the start of its series: what public
 * text says of the hardware, which does not reduce the range.
 */
TRN_INLINE float trn_sin_fp32(float x)
{
	double t = trn_abs_fp32(x);
	double r = trn_select_double(t > TRN_HALF_PI, (2.0 * TRN_HALF_PI - t) + TRN_PI_LOW, t);
	double p;

	TRN_HORNER(p, r * r, TRN_SIN_POLY);
	p = trn_select_double(r < 0.0, 1.0 - r * r * (1.0 / 6.0), p);
	return trn_bits_float(trn_float_bits((float)(r * p)) ^
			      (trn_float_bits(x) & TRN_SIGN_BIT));
}

/* atan(t) = base + atan(u), u from the tangent of a difference. */
TRN_INLINE float trn_arctan_fp32(float x)
{
	double t = trn_abs_fp32(x), u, p, base, over, under;
	bool middle = t > 0x1.a827999fcef32p-2;	/* tan(pi / 8) */
	bool high = t > 0x1.3504f333f9de6p+1;	/* tan(3 pi / 8) */

	base = trn_select_double(middle, 0.5 * TRN_HALF_PI, 0.0);
	base = trn_select_double(high, TRN_HALF_PI, base);
	over = trn_select_double(middle, t - 1.0, t);
	over = trn_select_double(high, -1.0, over);
	under = trn_select_double(middle, t + 1.0, 1.0);
	under = trn_select_double(high, t, under);
	u = over / under;
	TRN_HORNER(p, u * u, TRN_ATAN_POLY);
	return trn_with_sign_of((float)(base + u * p), x);
}

#endif /* TRN_NUM_FN_TRIG_H */
