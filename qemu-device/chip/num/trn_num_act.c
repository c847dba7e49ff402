// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Activation functions: one loop for each, on each host path.
 */
#include "num/trn_num_fn.h"
#include "num/trn_num_fn_erf.h"
#include "num/trn_num_fn_exp.h"
#include "num/trn_num_fn_trig.h"

/* @... - arguments after x */
#define ACT_LOOP(name, ...)						\
	TRN_NO_ALIAS							\
	for (i = 0; i < TRN_BLOCK; i++) {				\
		float x = in[i] * scale + bias;				\
		float y = trn_##name##_fp32(x, ##__VA_ARGS__);		\
									\
		out[i] = trn_select((x == x) & (y == y), y,		\
				    trn_bits_float(TRN_NAN_BITS));	\
	}

/* @out may be @in, no part of it. */
TRN_INLINE void act_block(unsigned int func, float *out, const float *in, float scale,
			  float bias, float param)
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
	case NEURON_ACT_SIGMOID:
		ACT_LOOP(sigmoid)
		break;
	case NEURON_ACT_PRELU:
		ACT_LOOP(prelu, param)
		break;
	case NEURON_ACT_GELU_DX:
		ACT_LOOP(gelu_dx)
		break;
	case NEURON_ACT_GELU_APPRX_TANH:
		ACT_LOOP(gelu_apprx_tanh)
		break;
	case NEURON_ACT_GELU_APPRX_SIGMOID:
		ACT_LOOP(gelu_apprx_sigmoid)
		break;
	case NEURON_ACT_GELU_APPRX_SIGMOID_DX:
		ACT_LOOP(gelu_apprx_sigmoid_dx)
		break;
	case NEURON_ACT_SILU:
		ACT_LOOP(silu)
		break;
	case NEURON_ACT_SILU_DX:
		ACT_LOOP(silu_dx)
		break;
	case NEURON_ACT_TANH:
		ACT_LOOP(tanh)
		break;
	case NEURON_ACT_SOFTPLUS:
		ACT_LOOP(softplus)
		break;
	case NEURON_ACT_MISH:
		ACT_LOOP(mish)
		break;
	case NEURON_ACT_ERF:
		ACT_LOOP(erf)
		break;
	case NEURON_ACT_ERF_DX:
		ACT_LOOP(erf_dx)
		break;
	case NEURON_ACT_SIGN:
		ACT_LOOP(sign)
		break;
	case NEURON_ACT_ABS:
		ACT_LOOP(abs)
		break;
	case NEURON_ACT_LOG:
		ACT_LOOP(log)
		break;
	case NEURON_ACT_SIN:
		ACT_LOOP(sin)
		break;
	case NEURON_ACT_ARCTAN:
		ACT_LOOP(arctan)
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
	float rest[TRN_BLOCK] = { 0 };
	size_t i;

	for (i = 0; n - i >= TRN_BLOCK; i += TRN_BLOCK)
		act_block(func, dst + i, src + i, scale, bias, param);
	if (i == n)
		return;
	memcpy(rest, src + i, (n - i) * sizeof(float));
	act_block(func, rest, rest, scale, bias, param);
	memcpy(dst + i, rest, (n - i) * sizeof(float));
}

bool trn_act_valid(unsigned int func)
{
	return func < NEURON_NR_ACTS;
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
