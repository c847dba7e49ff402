// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Microscaling (MX): groups of 32 elements, 8 partitions by 4 neighbours, that
 * share a power of two.
 */
#include "trn_num_narrow.h"

#define E8M0_NAN	0xffu

/* Codes 0 to 7 are all numbers. */
#define FP4_E2		((struct trn_narrow){ 1, 1, 8, 8, 15 })

/* Packed elements that are scaled at a time. */
#define PIECE		64

float trn_mx_scale(uint8_t code)
{
	uint32_t u = trn_select_bits(code == 0, 0x00400000u, (uint32_t)code << 23);

	return trn_bits_float(trn_select_bits(code == E8M0_NAN, TRN_NAN_BITS, u));
}

static unsigned int element_dtype(unsigned int dtype)
{
	return dtype == NEURON_DTYPE_FP8_E5_X4 ? NEURON_DTYPE_FP8_E5 :
						 NEURON_DTYPE_FP8_E4FN;
}

/* Little-endian, the first element in the lowest bits. */
static void widen_fp4(float *dst, const uint8_t *src, size_t n)
{
	size_t i;

	for (i = 0; i < 2 * n; i++) {
		dst[2 * i] = trn_narrow_widen(FP4_E2, src[i] & 15, 1.0f);
		dst[2 * i + 1] = trn_narrow_widen(FP4_E2, src[i] >> 4, 1.0f);
	}
}

static void apply_scales(float *dst, const uint8_t *scale, size_t n)
{
	float f[TRN_MX_PACK * PIECE] = { 0 };
	size_t i;

	for (i = 0; i < TRN_MX_PACK * n; i++)
		f[i] = trn_mx_scale(scale[i / TRN_MX_PACK]);
	trn_alu_vv(NEURON_ALU_MULTIPLY, dst, dst, f, TRN_MX_PACK * n);
}

void trn_mx_widen(float *dst, const void *src, unsigned int dtype,
		  const uint8_t *scale, size_t n)
{
	size_t i, part;

	if (dtype == NEURON_DTYPE_FP4_E2_X4)
		widen_fp4(dst, src, n);
	else
		trn_to_fp32(dst, src, element_dtype(dtype), TRN_MX_PACK * n);
	if (!scale)
		return;
	for (i = 0; i < n; i += part) {
		part = n - i < PIECE ? n - i : PIECE;
		apply_scales(dst + TRN_MX_PACK * i, scale + i, part);
	}
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
