/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Numbers: conversions, ALU operators, activation functions, matrix products.
 *
 * Pure functions. The scalar versions define the results; vector paths (AVX2,
 * AVX-512, chosen once at start) give the same bits. See Documentation/hardware
 * for the rules: IEEE denormals, canonical quiet NaN 0x7fc00000, round to
 * nearest even, saturating integer casts with NaN to 0.
 */
#ifndef TRN_NUM_H
#define TRN_NUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "neuron/isa.h"

/*
 * Element types. trn_dtype_size(): bytes of an element; 0 for a type that is
 * not implemented. Floats and integers (up to 32 bits) are numbers: they
 * convert to and from fp32. The others only move: 64-bit integers, the packed
 * types of MX tiles and e8m0.
 */
unsigned int trn_dtype_size(unsigned int dtype);
bool trn_dtype_is_float(unsigned int dtype);
bool trn_dtype_is_int(unsigned int dtype);
bool trn_dtype_is_number(unsigned int dtype);
/* Four elements of an MX tile. */
bool trn_dtype_is_packed(unsigned int dtype);
/* Do NeuronCores of @generation (2, 3 or 4) have the type? */
bool trn_dtype_on(unsigned int dtype, unsigned int generation);

#define TRN_ROUND_NEAREST	0
#define TRN_ROUND_STOCHASTIC	1

#define TRN_FP8_BIAS_MIN	(-64)
#define TRN_FP8_BIAS_MAX	63

/**
 * struct trn_num_mode - how conversions are done; all zero: as without one
 * @rounding: TRN_ROUND_*, from fp32 to a narrower float type
 * @fp8_bias: added to the exponent bias of fp8_e3, _e4, _e5: a code stands for
 *	2^-bias times its usual value. TRN_FP8_BIAS_MIN to _MAX
 * @sr_key: of stochastic rounding, from trn_sr_key()
 */
struct trn_num_mode {
	uint8_t rounding;
	int8_t fp8_bias[3];
	uint64_t sr_key;
};

bool trn_num_mode_valid(const struct trn_num_mode *mode);
/* Different for each instruction that rounds at random. */
uint64_t trn_sr_key(uint64_t seed, uint64_t stream, uint64_t instruction);

/*
 * @n elements of a number type, contiguous on both sides, to and from fp32. A
 * NaN becomes the canonical one, fp32 to fp32 included: a bit-exact copy does
 * not go this way. @dst and @src do not overlap, but elements of 4 bytes may stay
 * in place.
 *
 * @mode: NULL: round to nearest, usual biases
 * @first: index of the first element among all that @mode's key is used for
 */
void trn_to_fp32(float *dst, const void *src, unsigned int dtype, size_t n);
void trn_from_fp32(void *dst, const float *src, unsigned int dtype, size_t n);
void trn_to_fp32_mode(float *dst, const void *src, unsigned int dtype, size_t n,
		      const struct trn_num_mode *mode);
void trn_from_fp32_mode(void *dst, const float *src, unsigned int dtype,
			size_t n, const struct trn_num_mode *mode,
			uint32_t first);

/* Exactly rounded fused multiply-add, with the canonical NaN. */
float trn_fma(float a, float b, float c);

/*
 * Classes of operators. Arithmetic ones have two fp32 operands, unary ones have
 * one, bitwise ones work on the bits of integers, and exact ones have a form for
 * integers of 32 bits. NEURON_ALU_BYPASS is arithmetic: its first operand.
 * NEURON_ALU_INVERT, the only bitwise operator of one operand, is in no class.
 */
bool trn_alu_is_arith(unsigned int op);
bool trn_alu_is_unary(unsigned int op);
bool trn_alu_is_bitwise(unsigned int op);
bool trn_alu_is_exact(unsigned int op);
/* Operators of trn_alu_reduce() or, the bitwise ones, trn_alu_reduce_bits(). */
bool trn_alu_is_reduction(unsigned int op);
/* dst[i] = a[i] op b[i]; dst may be a or b. A unary op makes nothing of b. */
void trn_alu_vv(unsigned int op, float *dst, const float *a, const float *b,
		size_t n);
/* dst[i] = a[i] op s, or with @reverse s op a[i]. */
void trn_alu_vs(unsigned int op, float *dst, const float *a, float s,
		bool reverse, size_t n);
/**
 * enum trn_mix - what is bf16 in trn_mix()
 * @TRN_MIX_BF16_PAIR: all of dst[i] = a[i] op b[i]
 * @TRN_MIX_BF16: dst and a of dst[i] = a[i] op s
 * @TRN_MIX_WIDEN: a of it; dst is fp32
 * @TRN_MIX_NARROW: dst of it; a is fp32
 */
enum trn_mix {
	TRN_MIX_BF16_PAIR,
	TRN_MIX_BF16,
	TRN_MIX_WIDEN,
	TRN_MIX_NARROW,
};

/*
 * The same bits as from widening, trn_alu_vv() or trn_alu_vs() and narrowing to nearest,
 * for the operators that trn_mix_has(). Any address; dst may be a or b where it has the
 * same type.
 */
bool trn_mix_has(unsigned int op);
void trn_mix(enum trn_mix mix, unsigned int op, void *dst, const void *a, const void *b,
	     float s, size_t n);

/*
 * dst[i] = (src[i] op0 s0) op1 s1, both of fp32 or, with @narrow, of bf16: the same bits
 * as from one operator after the other, for those that trn_pair_has(). Any address; dst
 * may be src.
 */
bool trn_pair_has(unsigned int op0, unsigned int op1);
void trn_pair(bool narrow, unsigned int op0, unsigned int op1, void *dst,
	      const void *src, float s0, float s1, size_t n);
/*
 * Ascending chain: ((a[0] op a[1]) op a[2]) ... ; n >= 1. For the logical operators
 * a[0] enters as its truth value.
 */
float trn_alu_reduce(unsigned int op, const float *a, size_t n);
/* The chain goes on from @start: ((start op a[0]) op a[1]) ... */
float trn_alu_reduce_from(unsigned int op, float start, const float *a, size_t n);

/* Chains that are summed side by side. */
#define TRN_SUM_ROWS	4

/*
 * sum[i] = ((sum[i] + line[i][0]) + line[i][1]) ... for each of the rows, which have @n
 * elements. What has become a NaN has any payload.
 */
void trn_alu_sum_rows(float sum[TRN_SUM_ROWS], const float *const line[TRN_SUM_ROWS], size_t n);

/**
 * struct trn_scan - arithmetic operators of a scan
 * @op0, @op1: enum neuron_alu
 * @reverse0: r[i-1] is the first operand of op0
 * @reverse1: b[i] is the first operand of op1
 */
struct trn_scan {
	uint8_t op0;
	uint8_t op1;
	bool reverse0;
	bool reverse1;
};

/*
 * dst[i] = r[i] = (a[i] op0 r[i-1]) op1 b[i], from r[-1] = @start, in ascending
 * order; dst may be a or b. Return: the last r.
 */
float trn_alu_scan(const struct trn_scan *scan, float start, float *dst,
		   const float *a, const float *b, size_t n);

/*
 * Integer types of @size bytes 1, 2 or 4, as raw bits; dst may be a or b. Shift
 * counts are unsigned; the width of the type or more gives 0. INVERT makes
 * nothing of b.
 */
void trn_alu_bitwise(unsigned int op, void *dst, const void *a, const void *b,
		     unsigned int size, size_t n);
/* ((start op a[0]) op a[1]) ..., op one of bitwise and, or, xor. */
uint32_t trn_alu_reduce_bits(unsigned int op, uint32_t start, const void *a,
			     unsigned int size, size_t n);
/*
 * int32 or uint32 on either side, without a detour by fp32: add, subtract and
 * multiply wrap, and so does a max or min that the type of dst does not have;
 * comparisons give 1 or 0. dst may be a or b.
 */
struct trn_signs {
	bool a, b;	/* int32 */
};

void trn_alu_exact(unsigned int op, struct trn_signs is_signed, void *dst, const void *a,
		   const void *b, size_t n);

bool trn_act_valid(unsigned int func);
/*
 * dst[i] = func(src[i] * scale + bias), two roundings before func. @param is
 * the slope of prelu; the other functions ignore it. dst may be src.
 */
void trn_act(unsigned int func, float *dst, const float *src, float scale,
	     float bias, float param, size_t n);

/* A group of an MX tile: partitions and neighbours that have a scale in common. */
#define TRN_MX_ROWS	8
#define TRN_MX_PACK	4

/* 2^(code - 127), a denormal for 0; 255: NaN. */
float trn_mx_scale(uint8_t code);
/*
 * @n elements of a packed type, times scale[i] for the four numbers of element i, which
 * go to dst[i] and, each @stride further, to four lines.
 */
void trn_mx_widen(float *dst, size_t stride, const void *src, unsigned int dtype,
		  const uint8_t *scale, size_t n);
/*
 * 4 * @groups numbers in each of 8 lines to as many packed elements of @dtype,
 * FP8_E4FN_X4 or FP8_E5_X4, and one scale for each group.
 */
void trn_mx_quantize(uint32_t *const dst[TRN_MX_ROWS], uint8_t *scale,
		     unsigned int dtype, const float *const src[TRN_MX_ROWS],
		     size_t groups);

/* The most lines and rows of a product whose operands are brought piece by piece. */
#define TRN_MATMUL_K	512
#define TRN_MATMUL_M	128

/* How the paths lay columns out: panels of at least PANEL, WIDTH or a part of it each. */
#define TRN_MOVING_WIDTH	48
#define TRN_MOVING_PANEL	24
#define TRN_MOVING_GAP		16
/* Floats for @k lines of @n columns. */
#define TRN_MOVING_FLOATS(k, n)						\
	(((n) + TRN_MOVING_WIDTH - 1) / TRN_MOVING_WIDTH *		\
	 (TRN_MOVING_WIDTH * (k) + TRN_MOVING_WIDTH / TRN_MOVING_PANEL * TRN_MOVING_GAP))

struct trn_num_path;

/**
 * struct trn_moving - a moving operand, in the order in which a path reads it
 * @room: TRN_MOVING_FLOATS(@k, @n) floats of the caller, on a cache line
 * @k, @n: lines, at most TRN_MATMUL_K, and columns
 */
struct trn_moving {
	const struct trn_num_path *path;
	float *room;
	unsigned int k;
	unsigned int n;
};

void trn_moving_init(struct trn_moving *moving, float *room, unsigned int k,
		     unsigned int n);
/* Line @l, each of them once; @line is not needed any more afterwards. */
void trn_moving_line(const struct trn_moving *moving, unsigned int l, const float *line);
/* trn_matmul() with all lines of @moving and @m rows, at most TRN_MATMUL_M. */
void trn_multiply(float *dst, size_t dst_stride, const float *stationary,
		  size_t stationary_stride, const struct trn_moving *moving,
		  unsigned int m, bool accumulate);

#define TRN_PICK_TERMS	128

/**
 * struct trn_pick - which lines of a moving operand make a row of the product
 * @line: of term l of row i at l * @stride + i
 * @terms: of each row, at most TRN_PICK_TERMS
 */
struct trn_pick {
	const uint16_t *line;
	size_t stride;
	unsigned int terms;
};

/* The same, the terms of a row by those lines of @moving, in the order of @pick. */
void trn_multiply_picked(float *dst, size_t dst_stride, const float *stationary,
			 size_t stationary_stride, const struct trn_pick *pick,
			 const struct trn_moving *moving, unsigned int m,
			 bool accumulate);

/*
 * Any sizes, fast for k up to 512. dst overlaps no source.
 *
 * dst[m][n] = (accumulate ? dst[m][n] + : ) sum over ascending k of
 * stationary[k][m] * moving[k][n], fused, from +0. Row strides in floats.
 */
void trn_matmul(float *dst, size_t dst_stride, const float *stationary,
		size_t stationary_stride, const float *moving,
		size_t moving_stride, unsigned int k, unsigned int m,
		unsigned int n, bool accumulate);

/* Is the type one whose bits alone tell a NaN? */
bool trn_bits_tell_nan(unsigned int dtype);
/* Is one of @n elements of such a type a NaN? @src at any address. */
bool trn_has_nan(unsigned int dtype, const void *src, size_t n);
/* The same for @rows rows of @n elements, @stride bytes from one to the next. */
bool trn_rows_have_nan(unsigned int dtype, const void *src, size_t stride, unsigned int rows,
		       size_t n);

/*
 * Rounding to nearest and IEEE denormals for the calling thread. Each thread
 * that computes calls it once: a host program (one linked with -ffast-math, for
 * example) may have started the thread in another mode.
 */
void trn_num_thread_init(void);

/* For tests and bench: force a path ("scalar", "avx2", "avx512"); false: not
 * on this host. NULL goes back to the best one.
 */
bool trn_num_force_path(const char *name);
/* The path in use, by the same names. */
const char *trn_num_path_name(void);
/* It has no vector instructions of the host. */
bool trn_num_is_portable(void);

#endif /* TRN_NUM_H */
