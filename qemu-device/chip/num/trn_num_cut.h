/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * bf16 and tf32 have fp32's exponent: narrowing cuts bits off, and a carry is all that
 * can happen.
 */
#ifndef TRN_NUM_CUT_H
#define TRN_NUM_CUT_H

#include "num/trn_num_fn.h"

/* Elements in memory: at any address, of any effective type. */
#define TRN_ANY	__attribute__((aligned(1), may_alias))
typedef float trn_any_float TRN_ANY;
typedef uint16_t trn_any_uint16 TRN_ANY;

/* To nearest even without the lowest @drop bits; a NaN becomes the canonical one. */
TRN_INLINE uint32_t trn_cut_nearest(float f, unsigned int drop)
{
	uint32_t u = trn_float_bits(f);
	uint32_t half = (1u << (drop - 1)) - 1 + ((u >> drop) & 1);

	return trn_select_bits(f == f, u + half, TRN_NAN_BITS) >> drop;
}

TRN_INLINE uint16_t trn_bf16_nearest(float f)
{
	return (uint16_t)trn_cut_nearest(f, 16);
}

/* A NaN keeps its payload. */
TRN_INLINE float trn_bf16_widen(uint16_t h)
{
	return trn_bits_float((uint32_t)h << 16);
}

#endif /* TRN_NUM_CUT_H */
