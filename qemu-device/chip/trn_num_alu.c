// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * ALU operators. Documentation/hardware/numerics.rst has the rules.
 */
#include "trn_num_internal.h"

bool trn_alu_is_arith(unsigned int op)
{
	return op <= NEURON_ALU_ABS_MIN ||
	       (op >= NEURON_ALU_IS_EQ && op <= NEURON_ALU_IS_LT) ||
	       (op >= NEURON_ALU_LOGICAL_AND && op <= NEURON_ALU_LOGICAL_XOR);
}

bool trn_alu_is_bitwise(unsigned int op)
{
	return op >= NEURON_ALU_BITWISE_AND && op <= NEURON_ALU_SHIFT_RIGHT;
}

bool trn_alu_is_reduction(unsigned int op)
{
	switch (op) {
	case NEURON_ALU_ADD:
	case NEURON_ALU_SUBTRACT:
	case NEURON_ALU_MULTIPLY:
	case NEURON_ALU_MAX:
	case NEURON_ALU_MIN:
	case NEURON_ALU_ABS_MAX:
	case NEURON_ALU_ABS_MIN:
	case NEURON_ALU_LOGICAL_AND:
	case NEURON_ALU_LOGICAL_OR:
	case NEURON_ALU_LOGICAL_XOR:
		return true;
	}
	return false;
}

TRN_INLINE float absolute(float x)
{
	return trn_bits_float(trn_float_bits(x) & 0x7fffffff);
}

/*
 * Equal operands have equal bits, but for the zeros: there "and" of the sign
 * bits finds the larger and "or" the smaller. The sum carries a NaN.
 */
TRN_INLINE float maximum(float x, float y)
{
	float both = trn_bits_float(trn_float_bits(x) & trn_float_bits(y));
	float larger = trn_select(x > y, x, y);

	larger = trn_select(x == y, both, larger);
	return trn_select((x == x) & (y == y), larger, x + y);
}

TRN_INLINE float minimum(float x, float y)
{
	float both = trn_bits_float(trn_float_bits(x) | trn_float_bits(y));
	float smaller = trn_select(x < y, x, y);

	smaller = trn_select(x == y, both, smaller);
	return trn_select((x == x) & (y == y), smaller, x + y);
}

/* Inlined with a constant @op; the caller makes NaN canonical. */
TRN_INLINE float apply(unsigned int op, float x, float y)
{
	switch (op) {
	case NEURON_ALU_ADD:
		return x + y;
	case NEURON_ALU_SUBTRACT:
		return x - y;
	case NEURON_ALU_MULTIPLY:
		return x * y;
	case NEURON_ALU_DIVIDE:
		return x / y;
	case NEURON_ALU_MAX:
		return maximum(x, y);
	case NEURON_ALU_MIN:
		return minimum(x, y);
	case NEURON_ALU_ABS_MAX:
		return maximum(absolute(x), absolute(y));
	case NEURON_ALU_ABS_MIN:
		return minimum(absolute(x), absolute(y));
	case NEURON_ALU_IS_EQ:
		return x == y ? 1.0f : 0.0f;
	case NEURON_ALU_IS_NE:
		return x != y ? 1.0f : 0.0f;
	case NEURON_ALU_IS_GE:
		return x >= y ? 1.0f : 0.0f;
	case NEURON_ALU_IS_GT:
		return x > y ? 1.0f : 0.0f;
	case NEURON_ALU_IS_LE:
		return x <= y ? 1.0f : 0.0f;
	case NEURON_ALU_IS_LT:
		return x < y ? 1.0f : 0.0f;
	case NEURON_ALU_LOGICAL_AND:
		return ((x != 0.0f) & (y != 0.0f)) ? 1.0f : 0.0f;
	case NEURON_ALU_LOGICAL_OR:
		return ((x != 0.0f) | (y != 0.0f)) ? 1.0f : 0.0f;
	case NEURON_ALU_LOGICAL_XOR:
		return ((x != 0.0f) ^ (y != 0.0f)) ? 1.0f : 0.0f;
	default:
		return x;
	}
}

#define FOR_EACH_ARITH(F)						\
	F(BYPASS) F(ADD) F(SUBTRACT) F(MULTIPLY) F(DIVIDE)		\
	F(MAX) F(MIN) F(ABS_MAX) F(ABS_MIN)				\
	F(IS_EQ) F(IS_NE) F(IS_GE) F(IS_GT) F(IS_LE) F(IS_LT)		\
	F(LOGICAL_AND) F(LOGICAL_OR) F(LOGICAL_XOR)

/* One block: @r is distinct from both operands. */
static void apply_block(unsigned int op, float *restrict r, const float *x,
			const float *y)
{
	size_t i;

#define BLOCK_CASE(name)						\
	case NEURON_ALU_##name:						\
		for (i = 0; i < TRN_BLOCK; i++)				\
			r[i] = trn_canon(apply(NEURON_ALU_##name, x[i], y[i])); \
		break;

	switch (op) {
	FOR_EACH_ARITH(BLOCK_CASE)
	}
#undef BLOCK_CASE
}

void trn_alu_vv(unsigned int op, float *dst, const float *a, const float *b,
		size_t n)
{
	float r[TRN_BLOCK], x[TRN_BLOCK] = { 0 }, y[TRN_BLOCK] = { 0 };
	size_t i;

	for (i = 0; n - i >= TRN_BLOCK; i += TRN_BLOCK) {
		apply_block(op, r, a + i, b + i);
		memcpy(dst + i, r, sizeof(r));
	}
	if (i == n)
		return;

	memcpy(x, a + i, (n - i) * sizeof(float));
	memcpy(y, b + i, (n - i) * sizeof(float));
	apply_block(op, r, x, y);
	memcpy(dst + i, r, (n - i) * sizeof(float));
}

void trn_alu_vs(unsigned int op, float *dst, const float *a, float s,
		bool reverse, size_t n)
{
	float r[TRN_BLOCK], x[TRN_BLOCK] = { 0 }, y[TRN_BLOCK];
	size_t i;

	for (i = 0; i < TRN_BLOCK; i++)
		y[i] = s;

	for (i = 0; n - i >= TRN_BLOCK; i += TRN_BLOCK) {
		apply_block(op, r, reverse ? y : a + i, reverse ? a + i : y);
		memcpy(dst + i, r, sizeof(r));
	}
	if (i == n)
		return;

	memcpy(x, a + i, (n - i) * sizeof(float));
	apply_block(op, r, reverse ? y : x, reverse ? x : y);
	memcpy(dst + i, r, (n - i) * sizeof(float));
}

static float reduction_start(unsigned int op, float first)
{
	switch (op) {
	case NEURON_ALU_ABS_MAX:
	case NEURON_ALU_ABS_MIN:
		return absolute(first);
	case NEURON_ALU_LOGICAL_AND:
	case NEURON_ALU_LOGICAL_OR:
	case NEURON_ALU_LOGICAL_XOR:
		return first != 0.0f ? 1.0f : 0.0f;
	}
	return first;
}

/*
 * A NaN stays one to the end of a chain whatever its payload, and the logical
 * operators only ask whether it is zero: making the last value canonical gives
 * the same bits as doing so at each step.
 */
float trn_alu_reduce(unsigned int op, const float *a, size_t n)
{
	float sum = reduction_start(op, a[0]);
	size_t i;

#define REDUCE_CASE(name)						\
	case NEURON_ALU_##name:						\
		for (i = 1; i < n; i++)					\
			sum = apply(NEURON_ALU_##name, sum, a[i]);	\
		break;

	switch (op) {
	FOR_EACH_ARITH(REDUCE_CASE)
	}
#undef REDUCE_CASE
	return trn_canon(sum);
}

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
	default:
		return x;
	}
}

#define DEFINE_BITWISE(name, elem_t)					\
static void name(unsigned int op, elem_t dst[], const elem_t a[],	\
		 const elem_t b[], size_t n)				\
{									\
	size_t i;							\
									\
	for (i = 0; i < n; i++)						\
		dst[i] = apply_bits(op, a[i], b[i], 8 * sizeof(elem_t)); \
}

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
