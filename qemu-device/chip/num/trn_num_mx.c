// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Microscaling (MX): groups of 32 elements, 8 partitions by 4 neighbours, that
 * share a power of two.
 */
#include "num/trn_num_cut.h"
#include "num/trn_num_narrow.h"

#define E8M0_NAN	0xffu

/* Codes 0 to 7 are all numbers. */
#define FP4_E2		((struct trn_narrow){ 1, 1, 8, 8, 15 })

TRN_INLINE float scale_of(uint32_t code)
{
	uint32_t u = trn_select_bits(code == 0, 0x00400000u, code << 23);

	return trn_bits_float(trn_select_bits(code == E8M0_NAN, TRN_NAN_BITS, u));
}

float trn_mx_scale(uint8_t code)
{
	return scale_of(code);
}

/*
 * TRN_BLOCK packed elements; little-endian, the first number in the lowest bits. The
 * scales are numbers once for all four, and every loop has a constant count.
 */
#define DEFINE_BLOCK(name, packed, bits, type)				\
TRN_INLINE void name(float *dst, size_t stride, const void *src,	\
		     const uint8_t *scale)				\
{									\
	packed in[TRN_BLOCK];						\
	float f[TRN_BLOCK];						\
	unsigned int t, j;						\
									\
	memcpy(in, src, sizeof(in));					\
	for (j = 0; j < TRN_BLOCK; j++)					\
		f[j] = scale_of(scale[j]);				\
	for (t = 0; t < TRN_MX_PACK; t++, dst += stride) {		\
		TRN_NO_ALIAS						\
		for (j = 0; j < TRN_BLOCK; j++)				\
			dst[j] = trn_narrow_widen(type, (uint32_t)in[j] >> (bits) * t & \
						  ((1u << (bits)) - 1), f[j]); \
	}								\
}

DEFINE_BLOCK(block_fp4, uint16_t, 4, FP4_E2)
DEFINE_BLOCK(block_e4fn, uint32_t, 8, TRN_FP8_E4FN)
DEFINE_BLOCK(block_e5, uint32_t, 8, TRN_FP8_E5)

TRN_INLINE void widen_block(float *dst, size_t stride, const void *src,
			    unsigned int dtype, const uint8_t *scale)
{
	switch (dtype) {
	case NEURON_DTYPE_FP4_E2_X4:
		block_fp4(dst, stride, src, scale);
		break;
	case NEURON_DTYPE_FP8_E5_X4:
		block_e5(dst, stride, src, scale);
		break;
	default:
		block_e4fn(dst, stride, src, scale);
	}
}

/* The last ones by way of whole blocks. */
TRN_INLINE void widen_rest(float *dst, size_t stride, const void *src,
			   unsigned int dtype, const uint8_t *scale, size_t n)
{
	float out[TRN_MX_PACK][TRN_BLOCK];
	uint8_t codes[TRN_BLOCK] = { 0 };
	uint32_t in[TRN_BLOCK] = { 0 };
	unsigned int t;

	memcpy(in, src, n * trn_dtype_size(dtype));
	memcpy(codes, scale, n);
	widen_block(out[0], TRN_BLOCK, in, dtype, codes);
	for (t = 0; t < TRN_MX_PACK; t++)
		memcpy(dst + t * stride, out[t], n * sizeof(float));
}

TRN_INLINE void widen_lines(float *dst, size_t stride, const void *src,
			    unsigned int dtype, const uint8_t *scale, size_t n)
{
	const unsigned int size = trn_dtype_size(dtype);
	const uint8_t *in = src;
	size_t i;

	for (i = 0; i + TRN_BLOCK <= n; i += TRN_BLOCK)
		widen_block(dst + i, stride, in + i * size, dtype, scale + i);
	if (i < n)
		widen_rest(dst + i, stride, in + i * size, dtype, scale + i, n - i);
}

#define DEFINE_PATH(name, target)					\
target void trn_mx_widen_##name(float *dst, size_t stride, const void *src, \
				unsigned int dtype, const uint8_t *scale, size_t n) \
{									\
	widen_lines(dst, stride, src, dtype, scale, n);			\
}

DEFINE_PATH(scalar, TRN_TARGET_BASE)
#ifdef TRN_NUM_X86
DEFINE_PATH(avx2, TRN_TARGET_AVX2)
DEFINE_PATH(avx512, TRN_TARGET_AVX512)
#endif

void trn_mx_widen(float *dst, size_t stride, const void *src, unsigned int dtype,
		  const uint8_t *scale, size_t n)
{
	trn_num_path()->mx_widen(dst, stride, src, dtype, scale, n);
}

/* Of finite numbers the magnitudes are ordered as their bits are. */
static uint32_t largest_of(const float *const src[TRN_MX_ROWS], size_t first)
{
	uint32_t bits, largest = 0;
	unsigned int row, i;

	for (row = 0; row < TRN_MX_ROWS; row++) {
		for (i = 0; i < TRN_MX_PACK; i++) {
			bits = trn_float_bits(src[row][first + i]) & 0x7fffffff;
			largest = bits > largest ? bits : largest;
		}
	}
	return largest;
}

static uint8_t scale_code(uint32_t largest, uint32_t highest)
{
	uint32_t exponent = largest >> 23;

	if (exponent == 255)
		return E8M0_NAN;
	return exponent < highest ? 0 : (uint8_t)(exponent - (highest - 1));
}

static uint32_t pack_e4fn(const float *src, float scale)
{
	return trn_narrow_nearest(TRN_FP8_E4FN, src[0] * scale) |
	       trn_narrow_nearest(TRN_FP8_E4FN, src[1] * scale) << 8 |
	       trn_narrow_nearest(TRN_FP8_E4FN, src[2] * scale) << 16 |
	       trn_narrow_nearest(TRN_FP8_E4FN, src[3] * scale) << 24;
}

static uint32_t pack_e5(const float *src, float scale)
{
	return trn_narrow_nearest(TRN_FP8_E5, src[0] * scale) |
	       trn_narrow_nearest(TRN_FP8_E5, src[1] * scale) << 8 |
	       trn_narrow_nearest(TRN_FP8_E5, src[2] * scale) << 16 |
	       trn_narrow_nearest(TRN_FP8_E5, src[3] * scale) << 24;
}

/* 1 / 2^(code - 127); a NaN for the NaN. */
static float reciprocal_scale(uint8_t code)
{
	return code == E8M0_NAN ? trn_mx_scale(code) :
				  trn_mx_scale((uint8_t)(254 - code));
}

void trn_mx_quantize(uint32_t *const dst[TRN_MX_ROWS], uint8_t *scale,
		     unsigned int dtype, const float *const src[TRN_MX_ROWS],
		     size_t groups)
{
	bool e5 = dtype == NEURON_DTYPE_FP8_E5_X4;
	unsigned int row;
	size_t i;

	for (i = 0; i < groups; i++) {
		uint32_t largest = largest_of(src, TRN_MX_PACK * i);
		float factor;

		scale[i] = scale_code(largest, e5 ? 15 : 8);
		factor = reciprocal_scale(scale[i]);
		for (row = 0; row < TRN_MX_ROWS; row++) {
			const float *from = src[row] + TRN_MX_PACK * i;

			dst[row][i] = e5 ? pack_e5(from, factor) : pack_e4fn(from, factor);
		}
	}
}
