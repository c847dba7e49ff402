// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Operators on integers: bitwise ones on raw elements, and exact arithmetic of
 * 32 bits.
 */
#include "num/trn_num_internal.h"

TRN_INLINE uint32_t apply_bits(unsigned int op, uint32_t x, uint32_t y,
			       unsigned int width)
{
	switch (op) {
	case NEURON_ALU_BITWISE_AND:
		return x & y;
	case NEURON_ALU_BITWISE_OR:
		return x | y;
	case NEURON_ALU_BITWISE_XOR:
		return x ^ y;
	case NEURON_ALU_SHIFT_LEFT:
		return y < width ? x << y : 0;
	case NEURON_ALU_SHIFT_RIGHT:
		return y < width ? x >> y : 0;
	case NEURON_ALU_INVERT:
		return ~x;
	default:
		return x;
	}
}

/* @op is a constant; a block of a constant count lets the compiler use vectors. */
#define DEFINE_BITWISE(name, elem_t)					\
TRN_INLINE void name##_loop(unsigned int op, elem_t dst[],		\
			    const elem_t a[], const elem_t b[], size_t n) \
{									\
	const unsigned int width = 8 * sizeof(elem_t);			\
	size_t i, j;							\
									\
	for (i = 0; n - i >= TRN_BLOCK; i += TRN_BLOCK) {		\
		TRN_NO_ALIAS						\
		for (j = 0; j < TRN_BLOCK; j++)				\
			dst[i + j] = (elem_t)apply_bits(op, a[i + j],	\
							b[i + j], width); \
	}								\
	for (; i < n; i++)						\
		dst[i] = (elem_t)apply_bits(op, a[i], b[i], width);	\
}									\
									\
static void name(unsigned int op, elem_t dst[], const elem_t a[],	\
		 const elem_t b[], size_t n)				\
{									\
	switch (op) {							\
	BITWISE_CASES(name##_loop)					\
	}								\
}

#define BITWISE_CASE(loop, name)					\
	case NEURON_ALU_##name:						\
		loop(NEURON_ALU_##name, dst, a, b, n);			\
		break;
#define BITWISE_CASES(loop)						\
	BITWISE_CASE(loop, BITWISE_AND)					\
	BITWISE_CASE(loop, BITWISE_OR)					\
	BITWISE_CASE(loop, BITWISE_XOR)					\
	BITWISE_CASE(loop, SHIFT_LEFT)					\
	BITWISE_CASE(loop, SHIFT_RIGHT)					\
	BITWISE_CASE(loop, INVERT)

DEFINE_BITWISE(bitwise_8, uint8_t)
DEFINE_BITWISE(bitwise_16, uint16_t)
DEFINE_BITWISE(bitwise_32, uint32_t)

void trn_alu_bitwise(unsigned int op, void *dst, const void *a, const void *b,
		     unsigned int size, size_t n)
{
	switch (size) {
	case 1:
		return bitwise_8(op, dst, a, b, n);
	case 2:
		return bitwise_16(op, dst, a, b, n);
	case 4:
		return bitwise_32(op, dst, a, b, n);
	}
}

uint32_t trn_alu_reduce_bits(unsigned int op, uint32_t start, const void *a,
			     unsigned int size, size_t n)
{
	const uint8_t *in = a;
	uint32_t sum = start;
	size_t i;

	for (i = 0; i < n; i++, in += size) {
		uint32_t x = 0;

		memcpy(&x, in, size);
		sum = apply_bits(op, sum, x, 8 * size);
	}
	return sum;
}

/* --- exact arithmetic --- */

bool trn_alu_is_exact(unsigned int op)
{
	return (op >= NEURON_ALU_ADD && op <= NEURON_ALU_MIN) ||
	       (op >= NEURON_ALU_IS_EQ && op <= NEURON_ALU_IS_LT);
}

/* @top_x, @top_y: the sign bit of a signed operand, else 0. */
TRN_INLINE uint32_t apply_exact(unsigned int op, uint32_t x, uint32_t y,
				uint32_t top_x, uint32_t top_y)
{
	bool below_x = x & top_x, below_y = y & top_y;
	/* Of one sign they are in the order of their bits. */
	bool less = below_x == below_y ? x < y : below_x;
	bool greater = below_x == below_y ? x > y : below_y;
	bool equal = x == y && below_x == below_y;

	switch (op) {
	case NEURON_ALU_ADD:
		return x + y;
	case NEURON_ALU_SUBTRACT:
		return x - y;
	case NEURON_ALU_MULTIPLY:
		return x * y;
	case NEURON_ALU_MAX:
		return trn_select_bits(greater, x, y);
	case NEURON_ALU_MIN:
		return trn_select_bits(less, x, y);
	case NEURON_ALU_IS_EQ:
		return equal;
	case NEURON_ALU_IS_NE:
		return !equal;
	case NEURON_ALU_IS_GE:
		return !less;
	case NEURON_ALU_IS_GT:
		return greater;
	case NEURON_ALU_IS_LE:
		return !greater;
	case NEURON_ALU_IS_LT:
		return less;
	default:
		return x;
	}
}

#define FOR_EACH_EXACT(F)						\
	F(ADD) F(SUBTRACT) F(MULTIPLY) F(MAX) F(MIN)			\
	F(IS_EQ) F(IS_NE) F(IS_GE) F(IS_GT) F(IS_LE) F(IS_LT)

TRN_INLINE void exact_loop(unsigned int op, uint32_t *dst, const uint32_t *a,
			   const uint32_t *b, uint32_t top_a, uint32_t top_b, size_t n)
{
	size_t i, j;

	for (i = 0; n - i >= TRN_BLOCK; i += TRN_BLOCK) {
		TRN_NO_ALIAS
		for (j = 0; j < TRN_BLOCK; j++)
			dst[i + j] = apply_exact(op, a[i + j], b[i + j], top_a, top_b);
	}
	for (; i < n; i++)
		dst[i] = apply_exact(op, a[i], b[i], top_a, top_b);
}

void trn_alu_exact(unsigned int op, struct trn_signs is_signed, void *dst, const void *a,
		   const void *b, size_t n)
{
	uint32_t top_a = is_signed.a ? 0x80000000u : 0;
	uint32_t top_b = is_signed.b ? 0x80000000u : 0;

#define EXACT_CASE(name)						\
	case NEURON_ALU_##name:						\
		exact_loop(NEURON_ALU_##name, dst, a, b, top_a, top_b, n);	\
		break;

	switch (op) {
	FOR_EACH_EXACT(EXACT_CASE)
	}
#undef EXACT_CASE
}
