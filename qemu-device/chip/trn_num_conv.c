// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Conversions between the element types and fp32: round to nearest even,
 * saturating integers with NaN to 0, IEEE denormals, canonical NaN.
 */
#include "trn_num_internal.h"

#define BF16_NAN	0x7fc0u
#define FP16_NAN	0x7e00u
#define FP16_INF	0x7c00u
/* As fp32: the smallest that rounds to infinity, and the smallest normal. */
#define FP16_OVERFLOW	0x477ff000u
#define FP16_NORMAL	0x38800000u
/* Exponent biases 127 and 15, in place. */
#define FP16_REBIAS	((127u - 15u) << 23)
/* Adding 1.5 * 2^52 leaves no fraction bit: rounds to an integer. */
#define ROUND_INT	0x1.8p52

/* Bytes of an element; the others are not implemented. */
static const uint8_t sizes[NEURON_NR_DTYPES] = {
	[NEURON_DTYPE_INT8] = 1,
	[NEURON_DTYPE_UINT8] = 1,
	[NEURON_DTYPE_INT16] = 2,
	[NEURON_DTYPE_UINT16] = 2,
	[NEURON_DTYPE_BF16] = 2,
	[NEURON_DTYPE_FP16] = 2,
	[NEURON_DTYPE_INT32] = 4,
	[NEURON_DTYPE_UINT32] = 4,
	[NEURON_DTYPE_FP32] = 4,
};

unsigned int trn_dtype_size(unsigned int dtype)
{
	return dtype < NEURON_NR_DTYPES ? sizes[dtype] : 0;
}

bool trn_dtype_is_float(unsigned int dtype)
{
	return dtype == NEURON_DTYPE_FP32 || dtype == NEURON_DTYPE_BF16 ||
	       dtype == NEURON_DTYPE_FP16;
}

bool trn_dtype_is_int(unsigned int dtype)
{
	return trn_dtype_size(dtype) && !trn_dtype_is_float(dtype);
}

TRN_INLINE uint16_t bf16_from_fp32(float f)
{
	uint32_t u = trn_float_bits(f);
	uint32_t rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16;

	return trn_select_bits(f == f, rounded, BF16_NAN);
}

TRN_INLINE float bf16_to_fp32(uint16_t h)
{
	return trn_canon(trn_bits_float((uint32_t)h << 16));
}

TRN_INLINE uint16_t fp16_from_fp32(float f)
{
	uint32_t u = trn_float_bits(f);
	uint32_t sign = (u >> 16) & 0x8000;
	uint32_t a = u & 0x7fffffff;
	/* A denormal step is 2^-24, the last bit of 0.5: the sum rounds there. */
	uint32_t denormal = trn_float_bits(trn_bits_float(a) + 0.5f) - 0x3f000000;
	uint32_t normal = (a - FP16_REBIAS + 0xfff + ((a >> 13) & 1)) >> 13;
	uint32_t h = trn_select_bits(a < FP16_NORMAL, denormal, normal);

	h = trn_select_bits(a >= FP16_OVERFLOW, FP16_INF, h);
	return trn_select_bits(f == f, sign | h, FP16_NAN);
}

TRN_INLINE float fp16_to_fp32(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16;
	uint32_t a = h & 0x7fff;
	uint32_t denormal = trn_float_bits((float)(int32_t)a * 0x1p-24f);
	uint32_t normal = (a << 13) + FP16_REBIAS;
	uint32_t u = trn_select_bits(a < 0x400, denormal, normal);

	u = trn_select_bits(a >= FP16_INF, 0x7f800000 | (a << 13), u);
	return trn_canon(trn_bits_float(sign | u));
}

/* The limits are integers, so clamping before rounding saturates. */
TRN_INLINE double round_clamped(float f, double lowest, double highest)
{
	double d = trn_clamp_double(trn_select(f == f, f, 0.0f), lowest, highest);

	return (d + ROUND_INT) - ROUND_INT;
}

/*
 * One block is converted into a local array first: no aliasing to think of, a
 * constant count, and a tail that takes the same way.
 */
#define DEFINE_TO_FP32(name, elem_t, expression)			\
static void name##_to_fp32_all(float *dst, const elem_t src[], size_t n) \
{									\
	float out[TRN_BLOCK];						\
	elem_t in[TRN_BLOCK];						\
	size_t i, j, part;						\
									\
	memset(in, 0, sizeof(in));					\
	for (i = 0; i < n; i += part) {					\
		part = n - i < TRN_BLOCK ? n - i : TRN_BLOCK;		\
		memcpy(in, src + i, part * sizeof(elem_t));		\
		for (j = 0; j < TRN_BLOCK; j++) {			\
			const elem_t x = in[j];				\
									\
			out[j] = (expression);				\
		}							\
		memcpy(dst + i, out, part * sizeof(float));		\
	}								\
}

#define DEFINE_FROM_FP32(name, elem_t, expression)			\
static void name##_from_fp32_all(elem_t dst[], const float *src, size_t n) \
{									\
	elem_t out[TRN_BLOCK];						\
	float in[TRN_BLOCK];						\
	size_t i, j, part;						\
									\
	memset(in, 0, sizeof(in));					\
	for (i = 0; i < n; i += part) {					\
		part = n - i < TRN_BLOCK ? n - i : TRN_BLOCK;		\
		memcpy(in, src + i, part * sizeof(float));		\
		for (j = 0; j < TRN_BLOCK; j++) {			\
			const float x = in[j];				\
									\
			out[j] = (expression);				\
		}							\
		memcpy(dst + i, out, part * sizeof(elem_t));		\
	}								\
}

DEFINE_TO_FP32(fp32, float, trn_canon(x))
DEFINE_TO_FP32(bf16, uint16_t, bf16_to_fp32(x))
DEFINE_TO_FP32(fp16, uint16_t, fp16_to_fp32(x))
DEFINE_TO_FP32(int8, int8_t, (float)x)
DEFINE_TO_FP32(uint8, uint8_t, (float)x)
DEFINE_TO_FP32(int16, int16_t, (float)x)
DEFINE_TO_FP32(uint16, uint16_t, (float)x)
DEFINE_TO_FP32(int32, int32_t, (float)x)
DEFINE_TO_FP32(uint32, uint32_t, (float)x)

DEFINE_FROM_FP32(fp32, float, trn_canon(x))
DEFINE_FROM_FP32(bf16, uint16_t, bf16_from_fp32(x))
DEFINE_FROM_FP32(fp16, uint16_t, fp16_from_fp32(x))
DEFINE_FROM_FP32(int8, int8_t, (int8_t)round_clamped(x, INT8_MIN, INT8_MAX))
DEFINE_FROM_FP32(uint8, uint8_t, (uint8_t)round_clamped(x, 0, UINT8_MAX))
DEFINE_FROM_FP32(int16, int16_t, (int16_t)round_clamped(x, INT16_MIN, INT16_MAX))
DEFINE_FROM_FP32(uint16, uint16_t, (uint16_t)round_clamped(x, 0, UINT16_MAX))
DEFINE_FROM_FP32(int32, int32_t, (int32_t)round_clamped(x, INT32_MIN, INT32_MAX))
DEFINE_FROM_FP32(uint32, uint32_t, (uint32_t)round_clamped(x, 0, UINT32_MAX))

void trn_to_fp32(float *dst, const void *src, unsigned int dtype, size_t n)
{
	switch (dtype) {
	case NEURON_DTYPE_FP32:
		return fp32_to_fp32_all(dst, src, n);
	case NEURON_DTYPE_BF16:
		return bf16_to_fp32_all(dst, src, n);
	case NEURON_DTYPE_FP16:
		return fp16_to_fp32_all(dst, src, n);
	case NEURON_DTYPE_INT8:
		return int8_to_fp32_all(dst, src, n);
	case NEURON_DTYPE_UINT8:
		return uint8_to_fp32_all(dst, src, n);
	case NEURON_DTYPE_INT16:
		return int16_to_fp32_all(dst, src, n);
	case NEURON_DTYPE_UINT16:
		return uint16_to_fp32_all(dst, src, n);
	case NEURON_DTYPE_INT32:
		return int32_to_fp32_all(dst, src, n);
	case NEURON_DTYPE_UINT32:
		return uint32_to_fp32_all(dst, src, n);
	}
}

void trn_from_fp32(void *dst, const float *src, unsigned int dtype, size_t n)
{
	switch (dtype) {
	case NEURON_DTYPE_FP32:
		return fp32_from_fp32_all(dst, src, n);
	case NEURON_DTYPE_BF16:
		return bf16_from_fp32_all(dst, src, n);
	case NEURON_DTYPE_FP16:
		return fp16_from_fp32_all(dst, src, n);
	case NEURON_DTYPE_INT8:
		return int8_from_fp32_all(dst, src, n);
	case NEURON_DTYPE_UINT8:
		return uint8_from_fp32_all(dst, src, n);
	case NEURON_DTYPE_INT16:
		return int16_from_fp32_all(dst, src, n);
	case NEURON_DTYPE_UINT16:
		return uint16_from_fp32_all(dst, src, n);
	case NEURON_DTYPE_INT32:
		return int32_from_fp32_all(dst, src, n);
	case NEURON_DTYPE_UINT32:
		return uint32_from_fp32_all(dst, src, n);
	}
}
