// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * How a conversion is done: rounding, the exponent bias of the configurable
 * fp8 types, the key of random bits.
 */
#include "num/trn_num_internal.h"

/* A bijection of 64 bits: the output function of SplitMix64. */
static uint64_t mix64(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

uint64_t trn_sr_key(uint64_t seed, uint64_t stream, uint64_t instruction)
{
	uint64_t key = mix64(seed + 0x9e3779b97f4a7c15ull);

	key = mix64(key ^ stream);
	return mix64(key ^ instruction);
}

static bool bias_valid(int bias)
{
	return bias >= TRN_FP8_BIAS_MIN && bias <= TRN_FP8_BIAS_MAX;
}

bool trn_num_mode_valid(const struct trn_num_mode *mode)
{
	return mode->rounding <= TRN_ROUND_STOCHASTIC &&
	       bias_valid(mode->fp8_bias[0]) && bias_valid(mode->fp8_bias[1]) &&
	       bias_valid(mode->fp8_bias[2]);
}

static int bias_of(const struct trn_num_mode *mode, unsigned int dtype)
{
	if (!mode)
		return 0;
	switch (dtype) {
	case NEURON_DTYPE_FP8_E3:
		return mode->fp8_bias[0];
	case NEURON_DTYPE_FP8_E4:
		return mode->fp8_bias[1];
	case NEURON_DTYPE_FP8_E5:
		return mode->fp8_bias[2];
	}
	return 0;
}

static float power_of_2(int n)
{
	return trn_bits_float((uint32_t)(127 + n) << 23);
}

static bool stochastic(const struct trn_num_mode *mode, unsigned int dtype)
{
	return mode && mode->rounding == TRN_ROUND_STOCHASTIC &&
	       trn_dtype_is_float(dtype) && dtype != NEURON_DTYPE_FP32;
}

void trn_to_fp32_mode(float *dst, const void *src, unsigned int dtype, size_t n,
		      const struct trn_num_mode *mode)
{
	float scale = power_of_2(-bias_of(mode, dtype));

	trn_num_path()->to_fp32(dst, src, dtype, n, scale);
}

/*
 * Scaling is exact but where fp32 overflows or underflows, and there the fp8
 * types have overflowed or come to zero long before.
 */
void trn_from_fp32_mode(void *dst, const float *src, unsigned int dtype,
			size_t n, const struct trn_num_mode *mode,
			uint32_t first)
{
	const struct trn_num_path *path = trn_num_path();
	float scale = power_of_2(bias_of(mode, dtype));

	if (stochastic(mode, dtype))
		path->from_fp32_sr(dst, src, dtype, n, scale, mode->sr_key, first);
	else
		path->from_fp32(dst, src, dtype, n, scale);
}

void trn_to_fp32(float *dst, const void *src, unsigned int dtype, size_t n)
{
	trn_num_path()->to_fp32(dst, src, dtype, n, 1.0f);
}

void trn_from_fp32(void *dst, const float *src, unsigned int dtype, size_t n)
{
	trn_num_path()->from_fp32(dst, src, dtype, n, 1.0f);
}
