/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Functions made of the error function: erf, the exact gelu, derivatives.
 */
#ifndef TRN_NUM_FN_ERF_H
#define TRN_NUM_FN_ERF_H

#include "num/trn_num_fn.h"

/* erf(t) / t for t in [0, 4] as a polynomial in t^2 / 8 - 1. Relative error below 2^-51. */
#define TRN_ERF_EVEN(STEP)						\
	STEP(0x1.af4c0b060735bp-27) STEP(0x1.26ea8a0fd734fp-24) STEP(0x1.cd204a8e02514p-21)	\
	STEP(0x1.cad408e75faaap-18) STEP(0x1.917dba92dfc16p-15) STEP(0x1.20eb1d497b902p-12)	\
	STEP(0x1.52d9f537fb997p-10) STEP(0x1.3e150dd441188p-8) STEP(0x1.d63529bec8d80p-7)	\
	STEP(0x1.0ed52bfffd118p-5) STEP(0x1.ea97f14b7dc46p-5) STEP(0x1.717efc7844a6cp-4)	\
	STEP(0x1.0dabaf0613e39p-3) STEP(0x1.6a040781a499cp-2)
#define TRN_ERF_ODD(STEP)						\
	STEP(-0x1.7f1f9da9b2298p-25) STEP(-0x1.c13100c22049cp-23) STEP(-0x1.5648b45cedfc6p-19)	\
	STEP(-0x1.34f439f8220f0p-16) STEP(-0x1.edfa4cf86b66ap-14) STEP(-0x1.4158cdbca87c1p-11)	\
	STEP(-0x1.51ef24c69b64ep-9) STEP(-0x1.1a0231cf18493p-7) STEP(-0x1.7034fab7f107ep-6)	\
	STEP(-0x1.76e8648e205dbp-5) STEP(-0x1.3215d8b7af3c1p-4) STEP(-0x1.b92e95c190710p-4)	\
	STEP(-0x1.69a0ccda3df7bp-3)

/*
 * exp(t^2 / 2) * erfc(t / sqrt(2)) / 2 for t in [0, 15], as a polynomial in
 * (t - 5) / (t + 5). Relative error below 2^-45.
 */
#define TRN_TAIL_POLY(STEP)						\
	STEP(0x1.5dbb5d987884dp-26) STEP(0x1.50c5cc11a949ep-23) STEP(0x1.178b8ef6f704bp-22)	\
	STEP(-0x1.87667cd1cf1e3p-21) STEP(-0x1.604d82dbe3ab0p-20) STEP(0x1.be5a41da1f598p-18)	\
	STEP(0x1.06d45e8d56a3ep-20) STEP(-0x1.fae10a6cd2ac7p-15) STEP(0x1.199789f025dcep-13)	\
	STEP(0x1.cc6ddfe27ef3fp-13) STEP(-0x1.37ccc2bd71aaep-9) STEP(0x1.26a1157da40bbp-7)	\
	STEP(-0x1.7f9d043b6115fp-6) STEP(0x1.8807f29f1611ap-5) STEP(-0x1.4b4ce479f3496p-4)	\
	STEP(0x1.db6af8722f135p-4) STEP(-0x1.25cd1321c8cf5p-3) STEP(0x1.3b0fbcb4c77a3p-4)

/* That less t / sqrt(2 pi), divided by t less its root. Relative error below 2^-52. */
#define TRN_GELU_DX_EVEN(STEP)						\
	STEP(-0x1.e8b8981cf25ffp-26) STEP(0x1.775ff944bf013p-23) STEP(-0x1.6d8963613280dp-20)	\
	STEP(0x1.34be06f113058p-17) STEP(0x1.fde2fa5bcd1e9p-17) STEP(-0x1.2dc077a67ffc3p-9)	\
	STEP(-0x1.23c375897b4b9p-6) STEP(-0x1.ef8423a0a7824p-5) STEP(-0x1.ce451b41a3b9fp-2)
#define TRN_GELU_DX_ODD(STEP)						\
	STEP(-0x1.793ca237afe68p-28) STEP(-0x1.6fab7373647cep-27) STEP(-0x1.495571ce16619p-26)	\
	STEP(0x1.0b4b7a4e9f245p-19) STEP(-0x1.54f8283168603p-15) STEP(0x1.cdee080d5088cp-12)	\
	STEP(0x1.e0a95195cd625p-8) STEP(0x1.231a8d12376b3p-5) STEP(0x1.6fce89f8d2b9fp-4)

/* Beyond this erf is 1 in fp32. */
#define TRN_ERF_TAIL	4.0
/* Beyond this exp(-t^2) is zero in fp32. */
#define TRN_ERF_DX_TAIL	12.0
/* Beyond this gelu is x or -0 in fp32. */
#define TRN_GELU_TAIL	15.0
#define TRN_TAIL_POLE	5.0

TRN_INLINE float trn_erf_fp32(float x)
{
	double d = trn_clamp_double(x, -TRN_ERF_TAIL, TRN_ERF_TAIL), p;

	TRN_HORNER_HALVES(p, d * d * 0.125 - 1.0, TRN_ERF_EVEN, TRN_ERF_ODD);
	return (float)(d * p);
}

/* 2 / sqrt(pi) * exp(-x^2) */
TRN_INLINE float trn_erf_dx_fp32(float x)
{
	double t = trn_min_double(trn_abs_fp32(x), TRN_ERF_DX_TAIL);

	return (float)(0x1.20dd750429b6dp+0 * trn_exp2_fp64(t * t * -TRN_LOG2_E));
}

/* x times the normal distribution function, from its tail below -|x|. */
TRN_INLINE float trn_gelu_fp32(float x)
{
	double d = trn_select_double(x < -TRN_GELU_TAIL, -TRN_GELU_TAIL, x);
	double t = trn_min_double(trn_abs_double(d), TRN_GELU_TAIL), tail;

	TRN_HORNER(tail, (t - TRN_TAIL_POLE) / (t + TRN_TAIL_POLE), TRN_TAIL_POLY);
	tail *= trn_exp2_fp64(t * t * (-0.5 * TRN_LOG2_E));
	return (float)(d * trn_select_double(d < 0.0, tail, 1.0 - tail));
}

/*
 * The derivative at -t is exp(-t^2 / 2) times what TRN_GELU_DX_EVEN describes;
 * the derivatives at x and -x add up to 1.
 */
TRN_INLINE float trn_gelu_dx_fp32(float x)
{
	double t = trn_min_double(trn_abs_fp32(x), TRN_GELU_TAIL), y;

	TRN_HORNER_HALVES(y, (t - TRN_TAIL_POLE) / (t + TRN_TAIL_POLE),
			  TRN_GELU_DX_EVEN, TRN_GELU_DX_ODD);
	y *= (t - 0x1.80ead197f00b4p-1) + 0x1.13e74c58cada8p-56;
	y *= trn_exp2_fp64(t * t * (-0.5 * TRN_LOG2_E));
	return (float)trn_select_double(x < 0.0f, y, 1.0 - y);
}

#endif /* TRN_NUM_FN_ERF_H */
