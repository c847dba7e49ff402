/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * What the number files share: bit casts, canonical NaN, the exact fused
 * multiply-add and the table of one host path.
 */
#ifndef TRN_NUM_INTERNAL_H
#define TRN_NUM_INTERNAL_H

#include <float.h>
#include <string.h>

#include "num/trn_num.h"

/*
 * Results must not depend on the compiler or the host: no excess precision,
 * and no fused operation that the source does not ask for. The build passes
 * -ffp-contract=off; the pragma holds where a build forgets it.
 */
_Static_assert(FLT_EVAL_METHOD == 0, "needs fp32 and fp64 without excess precision");
#ifdef __FAST_MATH__
#error "the chip's numbers cannot be compiled with -ffast-math"
#endif
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("fp-contract=off")
#endif

/* Nothing beyond what the build asks for. */
#define TRN_TARGET_BASE

#if defined(__x86_64__)
#define TRN_NUM_X86 1
#define TRN_TARGET_AVX2		__attribute__((target("avx2")))
#define TRN_TARGET_AVX512						\
	__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))
#endif

/*
 * Before a loop whose operands are the same memory as its result or do not
 * touch it: no iteration needs what another one has written.
 */
#ifdef __clang__
#define TRN_NO_ALIAS	_Pragma("clang loop vectorize(assume_safety)")
#else
#define TRN_NO_ALIAS	_Pragma("GCC ivdep")
#endif

#define TRN_INLINE static inline __attribute__((always_inline))

#define TRN_NAN_BITS	0x7fc00000u
/* Elements of the inner loops: a constant lets the compiler use vectors. */
#define TRN_BLOCK	64

TRN_INLINE uint32_t trn_float_bits(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	return u;
}

TRN_INLINE float trn_bits_float(uint32_t u)
{
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

TRN_INLINE uint64_t trn_double_bits(double d)
{
	uint64_t u;

	memcpy(&u, &d, sizeof(u));
	return u;
}

TRN_INLINE double trn_bits_double(uint64_t u)
{
	double d;

	memcpy(&d, &u, sizeof(d));
	return d;
}

/* Without a branch: "?:" would keep some compilers from using vectors. */
TRN_INLINE uint32_t trn_select_bits(bool which, uint32_t yes, uint32_t no)
{
	uint32_t mask = 0u - (uint32_t)which;

	return (yes & mask) | (no & ~mask);
}

TRN_INLINE float trn_select(bool which, float yes, float no)
{
	return trn_bits_float(trn_select_bits(which, trn_float_bits(yes),
					      trn_float_bits(no)));
}

TRN_INLINE double trn_select_double(bool which, double yes, double no)
{
	uint64_t mask = 0ull - (uint64_t)which;

	return trn_bits_double((trn_double_bits(yes) & mask) |
			       (trn_double_bits(no) & ~mask));
}

TRN_INLINE double trn_clamp_double(double d, double lowest, double highest)
{
	d = trn_select_double(d < lowest, lowest, d);
	return trn_select_double(d > highest, highest, d);
}

TRN_INLINE float trn_canon(float f)
{
	return trn_select(f == f, f, trn_bits_float(TRN_NAN_BITS));
}

/*
 * a * b + c with one rounding, without a fused instruction; a NaN result has
 * any payload.
 *
 * The product of two fp32 numbers is exact in fp64. The sum is rounded to odd:
 * where the fp64 sum is inexact (TwoSum gives the error exactly) and even, the
 * neighbour on the error's side is taken. fp64 has more than two bits beyond
 * fp32, so the second rounding, to fp32, gives the correctly rounded result,
 * also for denormals and overflow. Sums of fp32 products cannot leave the
 * normal range of fp64. With an infinity or a NaN the error is a NaN, both
 * comparisons are false and the sum stands.
 */
TRN_INLINE float trn_fma_emulated(float a, float b, float c)
{
	double p = (double)a * (double)b;
	double d = c;
	double sum = p + d;
	double t = sum - p;
	double error = (p - (sum - t)) + (d - t);
	uint64_t bits = trn_double_bits(sum);
	uint64_t inexact = (uint64_t)(error < 0.0) | (uint64_t)(error > 0.0);
	uint64_t even = ~bits & 1;
	uint64_t inward = (uint64_t)(error < 0.0) ^ (bits >> 63);

	/* One step away from zero, or one towards it. */
	bits += (inexact & even) * (1 - 2 * inward);
	return (float)trn_bits_double(bits);
}

typedef void (*trn_act_fn)(unsigned int func, float *dst, const float *src,
			   float scale, float bias, float param, size_t n);
typedef void (*trn_moving_line_fn)(float *room, unsigned int k, unsigned int n,
				   unsigned int l, const float *line);
typedef void (*trn_multiply_fn)(float *dst, size_t dst_stride,
				const float *stationary, size_t stationary_stride,
				const float *room, unsigned int k, unsigned int m,
				unsigned int n, bool accumulate);

typedef void (*trn_multiply_picked_fn)(float *dst, size_t dst_stride,
				       const float *stationary,
				       size_t stationary_stride,
				       const struct trn_pick *pick, const float *room,
				       unsigned int k, unsigned int m, unsigned int n,
				       bool accumulate);

typedef void (*trn_to_fp32_fn)(float *dst, const void *src, unsigned int dtype,
			       size_t n, float scale);
typedef void (*trn_from_fp32_fn)(void *dst, const float *src,
				 unsigned int dtype, size_t n, float scale);
typedef void (*trn_from_fp32_sr_fn)(void *dst, const float *src,
				    unsigned int dtype, size_t n, float scale,
				    uint64_t key, uint32_t first);

typedef void (*trn_alu_fn)(unsigned int op, float *dst, const float *a,
			   size_t a_step, const float *b, size_t b_step,
			   size_t n);

typedef void (*trn_mix_fn)(enum trn_mix mix, unsigned int op, void *dst,
			   const void *a, const void *b, float s, size_t n);

typedef void (*trn_pair_fn)(bool narrow, unsigned int op0, unsigned int op1,
			    void *dst, const void *src, float s0, float s1,
			    size_t n);

typedef void (*trn_mx_widen_fn)(float *dst, size_t stride, const void *src,
				unsigned int dtype, const uint8_t *scale, size_t n);

typedef bool (*trn_has_nan_fn)(unsigned int dtype, const void *src, size_t n);

/* @op: NEURON_ALU_MAX or NEURON_ALU_MIN */
typedef float (*trn_most_fn)(unsigned int op, float start, const float *a, size_t n);

/* struct trn_num_path - one way of computing on this host */
struct trn_num_path {
	const char *name;
	bool (*usable)(void);
	trn_act_fn act;
	trn_moving_line_fn moving_line;
	trn_multiply_fn multiply;
	trn_multiply_picked_fn multiply_picked;
	trn_to_fp32_fn to_fp32;
	trn_from_fp32_fn from_fp32;
	trn_from_fp32_sr_fn from_fp32_sr;
	trn_alu_fn alu;
	trn_mix_fn mix;
	trn_pair_fn pair;
	trn_mx_widen_fn mx_widen;
	trn_has_nan_fn has_nan;
	trn_most_fn most;
};

/* The path in use. */
const struct trn_num_path *trn_num_path(void);

/* @scale: a power of two that the fp8 types are multiplied with. */
#define TRN_DECLARE_CONV(path)						\
void trn_to_fp32_##path(float *dst, const void *src, unsigned int dtype, \
			size_t n, float scale);				\
void trn_from_fp32_##path(void *dst, const float *src,			\
			  unsigned int dtype, size_t n, float scale);	\
void trn_from_fp32_sr_##path(void *dst, const float *src,		\
			     unsigned int dtype, size_t n, float scale,	\
			     uint64_t key, uint32_t first)

/* @a_step, @b_step: TRN_BLOCK, or 0 for a block that all elements share. */
#define TRN_DECLARE_ALU(path)						\
void trn_alu_##path(unsigned int op, float *dst, const float *a,	\
		    size_t a_step, const float *b, size_t b_step, size_t n)

TRN_DECLARE_ALU(scalar);
TRN_DECLARE_ALU(avx2);
TRN_DECLARE_ALU(avx512);

#define TRN_DECLARE_MIX(path)						\
void trn_mix_##path(enum trn_mix mix, unsigned int op, void *dst,	\
		    const void *a, const void *b, float s, size_t n)

TRN_DECLARE_MIX(scalar);
TRN_DECLARE_MIX(avx2);
TRN_DECLARE_MIX(avx512);

#define TRN_DECLARE_PAIR(path)						\
void trn_pair_##path(bool narrow, unsigned int op0, unsigned int op1,	\
		     void *dst, const void *src, float s0, float s1,	\
		     size_t n)

TRN_DECLARE_PAIR(scalar);
TRN_DECLARE_PAIR(avx2);
TRN_DECLARE_PAIR(avx512);

#define TRN_DECLARE_NAN(path)						\
bool trn_has_nan_##path(unsigned int dtype, const void *src, size_t n)

TRN_DECLARE_NAN(scalar);
TRN_DECLARE_NAN(avx2);
TRN_DECLARE_NAN(avx512);

#define TRN_DECLARE_MOST(path)						\
float trn_most_##path(unsigned int op, float start, const float *a, size_t n)

TRN_DECLARE_MOST(scalar);
TRN_DECLARE_MOST(avx2);
TRN_DECLARE_MOST(avx512);

TRN_DECLARE_CONV(scalar);
TRN_DECLARE_CONV(avx2);
TRN_DECLARE_CONV(avx512);

/* trn_num_f16c.c; @src at any address. */
bool trn_f16c_usable(void);
void trn_fp16_widen_f16c(float *dst, const void *src, size_t n);

void trn_act_scalar(unsigned int func, float *dst, const float *src,
		    float scale, float bias, float param, size_t n);
void trn_act_avx2(unsigned int func, float *dst, const float *src,
		  float scale, float bias, float param, size_t n);
void trn_act_avx512(unsigned int func, float *dst, const float *src,
		    float scale, float bias, float param, size_t n);

#define TRN_DECLARE_MX(path)						\
void trn_mx_widen_##path(float *dst, size_t stride, const void *src,	\
			 unsigned int dtype, const uint8_t *scale, size_t n)

TRN_DECLARE_MX(scalar);
TRN_DECLARE_MX(avx2);
TRN_DECLARE_MX(avx512);

#define TRN_DECLARE_MATMUL(path)					\
void trn_moving_line_##path(float *room, unsigned int k, unsigned int n, \
			    unsigned int l, const float *line);		\
void trn_multiply_##path(float *dst, size_t dst_stride,			\
			 const float *stationary, size_t stationary_stride, \
			 const float *room, unsigned int k, unsigned int m, \
			 unsigned int n, bool accumulate);		\
void trn_multiply_picked_##path(float *dst, size_t dst_stride,		\
				const float *stationary, size_t stationary_stride, \
				const struct trn_pick *pick, const float *room, \
				unsigned int k, unsigned int m, unsigned int n, \
				bool accumulate)

TRN_DECLARE_MATMUL(scalar);
TRN_DECLARE_MATMUL(avx2);
TRN_DECLARE_MATMUL(avx512);

#endif /* TRN_NUM_INTERNAL_H */
