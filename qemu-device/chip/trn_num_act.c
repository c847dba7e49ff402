// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Activation functions.
 *
 * exp and gelu compute in fp64 with additions, multiplications and one
 * division, each rounded on its own, and round to fp32 once at the end. So the
 * bits are the same on every host, without a fused operation and without libm,
 * and the error is that last rounding plus less than 2^-20 ulp.
 */
#include "trn_num_fn.h"

/*
 * 2^f on [-0.5, 0.5]: interpolation at the Chebyshev nodes, computed with 50
 * digits. Relative error below 2^-51. Highest power first; written out, since
 * compilers do not vectorise around a loop over the coefficients.
 */
#define EXP2_POLY(STEP)							\
	STEP(0x1.e6063fbfea44dp-28) STEP(0x1.b675bcf92bd29p-24) STEP(0x1.62bfd4774c4c2p-20)	\
	STEP(0x1.ffcb5405da2d1p-17) STEP(0x1.430913096fe6bp-13) STEP(0x1.5d87fe9d7a73ep-10)	\
	STEP(0x1.3b2ab6fba1ddap-7) STEP(0x1.c6b08d703ce48p-5) STEP(0x1.ebfbdff82c598p-3)	\
	STEP(0x1.62e42fefa3a19p-1) STEP(0x1.0000000000000p+0)

/*
 * exp(t^2 / 2) * erfc(t / sqrt(2)) / 2 for t in [0, 15], as a polynomial in
 * (t - 5) / (t + 5), made the same way. Relative error below 2^-45.
 */
#define TAIL_POLY(STEP)							\
	STEP(0x1.5dbb5d987884dp-26) STEP(0x1.50c5cc11a949ep-23) STEP(0x1.178b8ef6f704bp-22)	\
	STEP(-0x1.87667cd1cf1e3p-21) STEP(-0x1.604d82dbe3ab0p-20) STEP(0x1.be5a41da1f598p-18)	\
	STEP(0x1.06d45e8d56a3ep-20) STEP(-0x1.fae10a6cd2ac7p-15) STEP(0x1.199789f025dcep-13)	\
	STEP(0x1.cc6ddfe27ef3fp-13) STEP(-0x1.37ccc2bd71aaep-9) STEP(0x1.26a1157da40bbp-7)	\
	STEP(-0x1.7f9d043b6115fp-6) STEP(0x1.8807f29f1611ap-5) STEP(-0x1.4b4ce479f3496p-4)	\
	STEP(0x1.db6af8722f135p-4) STEP(-0x1.25cd1321c8cf5p-3) STEP(0x1.3b0fbcb4c77a3p-4)

#define LOG2_E		0x1.71547652b82fep+0
/* Adding this leaves no fraction bit: the sum's low bits are the integer. */
#define ROUND_INT	0x1.8p52
/* Beyond these exp is infinite or zero in fp32. */
#define EXP_HIGHEST	90.0
#define EXP_LOWEST	-110.0
/* Beyond this gelu is x or -0 in fp32. */
#define GELU_TAIL	15.0
#define TAIL_POLE	5.0

/* 2^y for y in [-1000, 1000]: y = n + f, the integer is added to the exponent. */
TRN_INLINE double exp2_fp64(double y)
{
	double shifted = y + ROUND_INT;
	double f = y - (shifted - ROUND_INT);
	double p = 0.0;

#define EXP2_STEP(c)	p = p * f + (c);
	EXP2_POLY(EXP2_STEP)
#undef EXP2_STEP
	return trn_bits_double(trn_double_bits(p) + (trn_double_bits(shifted) << 52));
}

TRN_INLINE float trn_exp_fp32(float x)
{
	double d = trn_clamp_double(x, EXP_LOWEST, EXP_HIGHEST);

	return (float)exp2_fp64(d * LOG2_E);
}

/* x times the normal distribution function, from its tail below -|x|. */
TRN_INLINE float trn_gelu_fp32(float x)
{
	double d = trn_select_double(x < -GELU_TAIL, -GELU_TAIL, x);
	double t = trn_select_double(d < 0.0, -d, d);
	double u, tail = 0.0;

	t = trn_select_double(t > GELU_TAIL, GELU_TAIL, t);
	u = (t - TAIL_POLE) / (t + TAIL_POLE);
#define TAIL_STEP(c)	tail = tail * u + (c);
	TAIL_POLY(TAIL_STEP)
#undef TAIL_STEP
	tail *= exp2_fp64(t * t * (-0.5 * LOG2_E));
	return (float)(d * trn_select_double(d < 0.0, tail, 1.0 - tail));
}

/* @... - arguments after x */
#define ACT_LOOP(name, ...)						\
	for (i = 0; i < TRN_BLOCK; i++) {				\
		float x = in[i] * scale + bias;				\
		float y = trn_##name##_fp32(x, ##__VA_ARGS__);		\
									\
		out[i] = trn_select((x == x) & (y == y), y,		\
				    trn_bits_float(TRN_NAN_BITS));	\
	}

TRN_INLINE void act_block(unsigned int func, float *restrict out,
			  const float *restrict in, float scale, float bias,
			  float param)
{
	size_t i;

	switch (func) {
	case NEURON_ACT_IDENTITY:
		ACT_LOOP(identity)
		break;
	case NEURON_ACT_RELU:
		ACT_LOOP(relu)
		break;
	case NEURON_ACT_GELU:
		ACT_LOOP(gelu)
		break;
	case NEURON_ACT_EXP:
		ACT_LOOP(exp)
		break;
	case NEURON_ACT_SQUARE:
		ACT_LOOP(square)
		break;
	case NEURON_ACT_PRELU:
		ACT_LOOP(prelu, param)
		break;
	case NEURON_ACT_SIGN:
		ACT_LOOP(sign)
		break;
	case NEURON_ACT_ABS:
		ACT_LOOP(abs)
		break;
	case NEURON_ACT_SQRT:
		ACT_LOOP(sqrt)
		break;
	case NEURON_ACT_RSQRT:
		ACT_LOOP(rsqrt)
		break;
	case NEURON_ACT_RECIPROCAL:
		ACT_LOOP(reciprocal)
		break;
	}
}

TRN_INLINE void act_all(unsigned int func, float *dst, const float *src,
			float scale, float bias, float param, size_t n)
{
	float in[TRN_BLOCK] = { 0 }, out[TRN_BLOCK];
	size_t i, part;

	for (i = 0; i < n; i += part) {
		part = n - i < TRN_BLOCK ? n - i : TRN_BLOCK;
		memcpy(in, src + i, part * sizeof(float));
		act_block(func, out, in, scale, bias, param);
		memcpy(dst + i, out, part * sizeof(float));
	}
}

bool trn_act_valid(unsigned int func)
{
	switch (func) {
	case NEURON_ACT_IDENTITY:
	case NEURON_ACT_RELU:
	case NEURON_ACT_GELU:
	case NEURON_ACT_EXP:
	case NEURON_ACT_SQUARE:
	case NEURON_ACT_PRELU:
	case NEURON_ACT_SIGN:
	case NEURON_ACT_ABS:
	case NEURON_ACT_SQRT:
	case NEURON_ACT_RSQRT:
	case NEURON_ACT_RECIPROCAL:
		return true;
	}
	return false;
}

void trn_act_scalar(unsigned int func, float *dst, const float *src,
		    float scale, float bias, float param, size_t n)
{
	act_all(func, dst, src, scale, bias, param, n);
}

#ifdef TRN_NUM_X86
__attribute__((target("avx2")))
void trn_act_avx2(unsigned int func, float *dst, const float *src,
		  float scale, float bias, float param, size_t n)
{
	act_all(func, dst, src, scale, bias, param, n);
}

__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))
void trn_act_avx512(unsigned int func, float *dst, const float *src,
		    float scale, float bias, float param, size_t n)
{
	act_all(func, dst, src, scale, bias, param, n);
}
#endif
