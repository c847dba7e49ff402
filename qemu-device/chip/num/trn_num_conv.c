// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Conversions between the element types and fp32: round to nearest even or
 * stochastically, saturating integers with NaN to 0, IEEE denormals, canonical
 * NaN.
 */
#include "num/trn_num_cut.h"
#include "num/trn_num_narrow.h"

/* Adding 1.5 * 2^52 leaves no fraction bit; the low ones are the integer. */
#define ROUND_INT	0x1.8p52

typedef int8_t any_int8_t TRN_ANY;
typedef uint8_t any_uint8_t TRN_ANY;
typedef int16_t any_int16_t TRN_ANY;
typedef int32_t any_int32_t TRN_ANY;
typedef uint32_t any_uint32_t TRN_ANY;

/* Where a conversion to a narrow type gets its random bits. */
struct random {
	uint64_t key;
	uint32_t first;
};

/* The limits are integers, so clamping before rounding saturates. */
TRN_INLINE uint32_t round_clamped(float f, double lowest, double highest)
{
	double d = trn_clamp_double(trn_select(f == f, f, 0.0f), lowest, highest);

	return (uint32_t)trn_double_bits(d + ROUND_INT);
}

TRN_INLINE float tf32_widen(uint32_t u)
{
	return trn_canon(trn_bits_float(u >> TRN_TF32_ZEROS << TRN_TF32_ZEROS));
}

/*
 * Whole blocks where they lie, the rest by way of local ones: the inner loop has
 * a constant count, which lets the compiler use vectors.
 */
#define DEFINE_LOOP(name, in_t, out_t, expression)			\
TRN_INLINE void name(void *dst, const void *src, size_t n, float scale,	\
		     const struct random *random)			\
{									\
	uint8_t tail_in[TRN_BLOCK * sizeof(in_t)] = { 0 };		\
	uint8_t tail_out[TRN_BLOCK * sizeof(out_t)];			\
	uint64_t key = random ? random->key : 0;			\
	uint32_t first = random ? random->first : 0;			\
	size_t i, part;							\
	uint32_t j;							\
	out_t y;							\
	in_t x;								\
									\
	for (i = 0; i < n; i += part, first += TRN_BLOCK) {		\
		const void *from = (const uint8_t *)src + i * sizeof(in_t); \
		void *to = (uint8_t *)dst + i * sizeof(out_t);		\
		const __typeof__(x) *in = from;				\
		__typeof__(y) *out = to;				\
									\
		part = n - i;						\
		if (part >= TRN_BLOCK) {				\
			part = TRN_BLOCK;				\
		} else {						\
			memcpy(tail_in, in, part * sizeof(in_t));	\
			in = (const void *)tail_in;			\
			out = (void *)tail_out;				\
		}							\
		TRN_NO_ALIAS						\
		for (j = 0; j < TRN_BLOCK; j++) {			\
			x = in[j];					\
			y = (expression);				\
			out[j] = y;					\
		}							\
		if (part < TRN_BLOCK)					\
			memcpy(to, tail_out, part * sizeof(out_t));	\
	}								\
	(void)scale;							\
	(void)key;							\
}

#define RANDOM	trn_sr_random(key, first + j)

#define DEFINE_FP8(name, type)						\
DEFINE_LOOP(name##_to_fp32, any_uint8_t, trn_any_float,			\
	    trn_narrow_widen(type, x, scale))				\
DEFINE_LOOP(name##_nearest, trn_any_float, any_uint8_t,			\
	    trn_narrow_nearest(type, x * scale))			\
DEFINE_LOOP(name##_stochastic, trn_any_float, any_uint8_t,			\
	    trn_narrow_stochastic(type, x * scale, RANDOM))

DEFINE_FP8(fp8_e3, TRN_FP8_E3)
DEFINE_FP8(fp8_e4, TRN_FP8_E4)
DEFINE_FP8(fp8_e4fn, TRN_FP8_E4FN)
DEFINE_FP8(fp8_e5, TRN_FP8_E5)

DEFINE_LOOP(fp16_nearest, trn_any_float, trn_any_uint16,
	    trn_narrow_nearest(TRN_FP16, x))
DEFINE_LOOP(fp16_stochastic, trn_any_float, trn_any_uint16,
	    trn_narrow_stochastic(TRN_FP16, x, RANDOM))
DEFINE_LOOP(bf16_nearest, trn_any_float, trn_any_uint16, trn_bf16_nearest(x))
DEFINE_LOOP(bf16_stochastic, trn_any_float, trn_any_uint16,
	    trn_narrow_stochastic(TRN_BF16, x, RANDOM))
DEFINE_LOOP(tf32_nearest, trn_any_float, any_uint32_t,
	    trn_cut_nearest(x, TRN_TF32_ZEROS) << TRN_TF32_ZEROS)
DEFINE_LOOP(tf32_stochastic, trn_any_float, any_uint32_t,
	    trn_narrow_stochastic(TRN_TF32, x, RANDOM) << TRN_TF32_ZEROS)

DEFINE_LOOP(fp32_canonical, trn_any_float, trn_any_float, trn_canon(x))
DEFINE_LOOP(tf32_to_fp32, any_uint32_t, trn_any_float, tf32_widen(x))
DEFINE_LOOP(bf16_to_fp32, trn_any_uint16, trn_any_float,
	    trn_canon(trn_bf16_widen(x)))
DEFINE_LOOP(fp16_to_fp32, trn_any_uint16, trn_any_float,
	    trn_narrow_widen(TRN_FP16, x, 1.0f))
DEFINE_LOOP(int8_to_fp32, any_int8_t, trn_any_float, (float)x)
DEFINE_LOOP(uint8_to_fp32, any_uint8_t, trn_any_float, (float)x)
DEFINE_LOOP(int16_to_fp32, any_int16_t, trn_any_float, (float)x)
DEFINE_LOOP(uint16_to_fp32, trn_any_uint16, trn_any_float, (float)x)
DEFINE_LOOP(int32_to_fp32, any_int32_t, trn_any_float, (float)x)
DEFINE_LOOP(uint32_to_fp32, any_uint32_t, trn_any_float, (float)x)

DEFINE_LOOP(int8_from_fp32, trn_any_float, any_uint8_t,
	    (uint8_t)round_clamped(x, INT8_MIN, INT8_MAX))
DEFINE_LOOP(uint8_from_fp32, trn_any_float, any_uint8_t,
	    (uint8_t)round_clamped(x, 0, UINT8_MAX))
DEFINE_LOOP(int16_from_fp32, trn_any_float, trn_any_uint16,
	    (uint16_t)round_clamped(x, INT16_MIN, INT16_MAX))
DEFINE_LOOP(uint16_from_fp32, trn_any_float, trn_any_uint16,
	    (uint16_t)round_clamped(x, 0, UINT16_MAX))
DEFINE_LOOP(int32_from_fp32, trn_any_float, any_uint32_t,
	    round_clamped(x, INT32_MIN, INT32_MAX))
DEFINE_LOOP(uint32_from_fp32, trn_any_float, any_uint32_t,
	    round_clamped(x, 0, UINT32_MAX))

#define LOOP_CASE(type, function)					\
	case NEURON_DTYPE_##type:					\
		function(dst, src, n, scale, random);			\
		break;

TRN_INLINE void to_fp32(void *dst, const void *src, unsigned int dtype,
			size_t n, float scale)
{
	const struct random *random = NULL;

	switch (dtype) {
	LOOP_CASE(FP32, fp32_canonical)
	LOOP_CASE(TF32, tf32_to_fp32)
	LOOP_CASE(BF16, bf16_to_fp32)
	LOOP_CASE(FP16, fp16_to_fp32)
	LOOP_CASE(FP8_E3, fp8_e3_to_fp32)
	LOOP_CASE(FP8_E4, fp8_e4_to_fp32)
	LOOP_CASE(FP8_E4FN, fp8_e4fn_to_fp32)
	LOOP_CASE(FP8_E5, fp8_e5_to_fp32)
	LOOP_CASE(INT8, int8_to_fp32)
	LOOP_CASE(UINT8, uint8_to_fp32)
	LOOP_CASE(INT16, int16_to_fp32)
	LOOP_CASE(UINT16, uint16_to_fp32)
	LOOP_CASE(INT32, int32_to_fp32)
	LOOP_CASE(UINT32, uint32_to_fp32)
	}
}

TRN_INLINE void from_fp32(void *dst, const void *src, unsigned int dtype,
			  size_t n, float scale)
{
	const struct random *random = NULL;

	switch (dtype) {
	LOOP_CASE(FP32, fp32_canonical)
	LOOP_CASE(TF32, tf32_nearest)
	LOOP_CASE(BF16, bf16_nearest)
	LOOP_CASE(FP16, fp16_nearest)
	LOOP_CASE(FP8_E3, fp8_e3_nearest)
	LOOP_CASE(FP8_E4, fp8_e4_nearest)
	LOOP_CASE(FP8_E4FN, fp8_e4fn_nearest)
	LOOP_CASE(FP8_E5, fp8_e5_nearest)
	LOOP_CASE(INT8, int8_from_fp32)
	LOOP_CASE(UINT8, uint8_from_fp32)
	LOOP_CASE(INT16, int16_from_fp32)
	LOOP_CASE(UINT16, uint16_from_fp32)
	LOOP_CASE(INT32, int32_from_fp32)
	LOOP_CASE(UINT32, uint32_from_fp32)
	}
}

/* The types that have a stochastic rounding. */
TRN_INLINE void from_fp32_sr(void *dst, const void *src, unsigned int dtype,
			     size_t n, float scale, const struct random *random)
{
	switch (dtype) {
	LOOP_CASE(TF32, tf32_stochastic)
	LOOP_CASE(BF16, bf16_stochastic)
	LOOP_CASE(FP16, fp16_stochastic)
	LOOP_CASE(FP8_E3, fp8_e3_stochastic)
	LOOP_CASE(FP8_E4, fp8_e4_stochastic)
	LOOP_CASE(FP8_E4FN, fp8_e4fn_stochastic)
	LOOP_CASE(FP8_E5, fp8_e5_stochastic)
	}
}

#define DEFINE_TO_FP32(name, target, widen)				\
target void trn_to_fp32_##name(float *dst, const void *src,		\
			       unsigned int dtype, size_t n, float scale) \
{									\
	widen(dst, src, dtype, n, scale);				\
}

#define DEFINE_FROM_FP32(name, target)					\
target void trn_from_fp32_##name(void *dst, const float *src,		\
				 unsigned int dtype, size_t n, float scale) \
{									\
	from_fp32(dst, src, dtype, n, scale);				\
}									\
									\
target void trn_from_fp32_sr_##name(void *dst, const float *src,	\
				    unsigned int dtype, size_t n,	\
				    float scale, uint64_t key,		\
				    uint32_t first)			\
{									\
	const struct random random = { key, first };			\
									\
	from_fp32_sr(dst, src, dtype, n, scale, &random);		\
}

DEFINE_TO_FP32(scalar, TRN_TARGET_BASE, to_fp32)
DEFINE_FROM_FP32(scalar, TRN_TARGET_BASE)
#ifdef TRN_NUM_X86
TRN_INLINE void to_fp32_f16c(void *dst, const void *src, unsigned int dtype,
			     size_t n, float scale)
{
	if (dtype == NEURON_DTYPE_FP16)
		trn_fp16_widen_f16c(dst, src, n);
	else
		to_fp32(dst, src, dtype, n, scale);
}

DEFINE_TO_FP32(avx2, TRN_TARGET_AVX2, to_fp32_f16c)
DEFINE_FROM_FP32(avx2, TRN_TARGET_AVX2)
DEFINE_TO_FP32(avx512, TRN_TARGET_AVX512, to_fp32_f16c)
DEFINE_FROM_FP32(avx512, TRN_TARGET_AVX512)
#endif
