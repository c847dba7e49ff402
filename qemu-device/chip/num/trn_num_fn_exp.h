/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Functions made of exp: the sigmoid and its relatives. They take exp of -|x|
 * and choose the form without cancellation by the sign of x.
 */
#ifndef TRN_NUM_FN_EXP_H
#define TRN_NUM_FN_EXP_H

#include "num/trn_num_fn.h"

/* Beyond these exp is infinite or zero in fp32. */
#define TRN_EXP_HIGHEST	90.0f
#define TRN_EXP_LOWEST	-110.0f
/* Beyond this exp(-t), and t * exp(-t), are zero in fp32. */
#define TRN_EXP_TAIL	200.0
/* Beyond this tanh is 1 in fp32. */
#define TRN_TANH_TAIL	20.0

TRN_INLINE float trn_exp_fp32(float x)
{
	x = trn_select(x < TRN_EXP_LOWEST, TRN_EXP_LOWEST, x);
	x = trn_select(x > TRN_EXP_HIGHEST, TRN_EXP_HIGHEST, x);
	return (float)trn_exp2_fp64(x * TRN_LOG2_E);
}

/* exp(-|d|) */
TRN_INLINE double trn_exp_tail_fp64(double d)
{
	return trn_exp2_fp64(trn_min_double(trn_abs_double(d), TRN_EXP_TAIL) * -TRN_LOG2_E);
}

TRN_INLINE double trn_sigmoid_fp64(double d)
{
	double e = trn_exp_tail_fp64(d);

	return trn_select_double(d < 0.0, e, 1.0) / (1.0 + e);
}

/* x as a factor: -infinity times a zero would not be the limit. */
TRN_INLINE double trn_factor_fp64(float x)
{
	return trn_select_double(x < -TRN_EXP_TAIL, -TRN_EXP_TAIL, x);
}

TRN_INLINE float trn_sigmoid_fp32(float x)
{
	return (float)trn_sigmoid_fp64(x);
}

TRN_INLINE float trn_silu_fp32(float x)
{
	double d = trn_factor_fp64(x);

	return (float)(d * trn_sigmoid_fp64(d));
}

TRN_INLINE float trn_gelu_apprx_sigmoid_fp32(float x)
{
	double d = trn_factor_fp64(x);

	return (float)(d * trn_sigmoid_fp64(d * 1.702));
}

/* 1 + tanh(z / 2) is 2 sigmoid(z); the constants are 2 sqrt(2 / pi) and 0.044715 of it. */
TRN_INLINE float trn_gelu_apprx_tanh_fp32(float x)
{
	double d = trn_factor_fp64(x);
	double z = d * (0x1.9884533d43651p+0 + d * d * 0x1.2444f2a4d8b4bp-4);

	return (float)(d * trn_sigmoid_fp64(z));
}

/*
 * The derivative of d * sigmoid(d) at -t, for @past = t - t0 and t0 its root,
 * where t0 = 1 + c with c = exp(-t0):
 *
 *   e * (1 + e - t) / (1 + e)^2   with e = exp(-t) = c * exp(-past)
 *
 * and 1 + e - t = c * (exp(-past) - 1) - past: two terms of one sign.
 */
TRN_INLINE double trn_silu_dx_fp64(double past)
{
	const double c = 0x1.1d25cf210482ep-2;
	struct trn_exp2 parts = trn_exp2_parts(past * -TRN_LOG2_E);
	double e = c * (parts.whole * (parts.less_one + 1.0));
	double root = c * trn_exp2_less_one(parts) - past;

	return e * root / ((1.0 + e) * (1.0 + e));
}

/* The derivatives at x and -x add up to 1. */
TRN_INLINE float trn_silu_dx_fp32(float x)
{
	double t = trn_min_double(trn_abs_fp32(x), TRN_EXP_TAIL);
	double y = trn_silu_dx_fp64((t - 0x1.474973c84120bp+0) - 0x1.f8d74bc9ac154p-54);

	return (float)trn_select_double(x < 0.0f, y, 1.0 - y);
}

/* The same function of 1.702 x; the root is t0 / 1.702. */
TRN_INLINE float trn_gelu_apprx_sigmoid_dx_fp32(float x)
{
	double t = trn_min_double(trn_abs_fp32(x), TRN_EXP_TAIL);
	double past = (t - 0x1.80974a62be3dfp-1) + 0x1.b12c858d26bf0p-55;
	double y = trn_silu_dx_fp64(past * 1.702);

	return (float)trn_select_double(x < 0.0f, y, 1.0 - y);
}

/* With m = exp(-2 |x|) - 1 it is -m / (2 + m). */
TRN_INLINE float trn_tanh_fp32(float x)
{
	double t = trn_min_double(trn_abs_fp32(x), TRN_TANH_TAIL);
	double m = trn_exp2_less_one(trn_exp2_parts(t * (-2.0 * TRN_LOG2_E)));

	return trn_with_sign_of((float)(m / (m + 2.0)), x);
}

/* ln(1 + exp(x)) = max(x, 0) + ln(1 + exp(-|x|)) */
TRN_INLINE float trn_softplus_fp32(float x)
{
	double positive = trn_select_double(x > 0.0f, x, 0.0);

	return (float)(positive + trn_log1p_fp64(trn_exp_tail_fp64(x)));
}

/*
 * x * tanh(softplus(x)): with E = exp(x) the tanh is n / (n + 2) for
 * n = E (E + 2); with e = exp(-x) it is (1 + 2 e) / (1 + 2 e + 2 e^2).
 */
TRN_INLINE float trn_mish_fp32(float x)
{
	double d = trn_factor_fp64(x);
	double e = trn_exp_tail_fp64(d);
	double n = trn_select_double(d < 0.0, e * (e + 2.0), 1.0 + 2.0 * e);
	double more = trn_select_double(d < 0.0, 2.0, 2.0 * e * e);

	return (float)(d * (n / (n + more)));
}

#endif /* TRN_NUM_FN_EXP_H */
