/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * One element of the ALU's fp32 operators, to be inlined with a constant
 * operator. A NaN result has any payload: who stores it makes it canonical.
 */
#ifndef TRN_NUM_ALU_H
#define TRN_NUM_ALU_H

#include "num/trn_num_fn.h"

/*
 * Equal operands have equal bits, but for the zeros: there "and" of the sign
 * bits finds the larger and "or" the smaller. The sum carries a NaN.
 */
TRN_INLINE float trn_maximum(float x, float y)
{
	float both = trn_bits_float(trn_float_bits(x) & trn_float_bits(y));
	float larger = trn_select(x > y, x, y);

	larger = trn_select(x == y, both, larger);
	return trn_select((x == x) & (y == y), larger, x + y);
}

TRN_INLINE float trn_minimum(float x, float y)
{
	float both = trn_bits_float(trn_float_bits(x) | trn_float_bits(y));
	float smaller = trn_select(x < y, x, y);

	smaller = trn_select(x == y, both, smaller);
	return trn_select((x == x) & (y == y), smaller, x + y);
}

/* Unary operators make nothing of @y. */
TRN_INLINE float trn_alu_apply(unsigned int op, float x, float y)
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
		return trn_maximum(x, y);
	case NEURON_ALU_MIN:
		return trn_minimum(x, y);
	case NEURON_ALU_ABS_MAX:
		return trn_select(trn_abs_fp32(x) > trn_abs_fp32(y), x, y);
	case NEURON_ALU_ABS_MIN:
		return trn_select(trn_abs_fp32(x) < trn_abs_fp32(y), x, y);
	case NEURON_ALU_POWER:
		return trn_power_fp32(x, y);
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
	case NEURON_ALU_ABS:
		return trn_abs_fp32(x);
	case NEURON_ALU_SQUARE:
		return trn_square_fp32(x);
	case NEURON_ALU_RELU:
		return trn_relu_fp32(x);
	case NEURON_ALU_RSQRT:
		return trn_rsqrt_fp32(x);
	case NEURON_ALU_RECIPROCAL:
		return trn_reciprocal_fp32(x);
	default:
		return x;
	}
}

#define TRN_FOR_EACH_ARITH(F)						\
	F(BYPASS) F(ADD) F(SUBTRACT) F(MULTIPLY) F(DIVIDE)		\
	F(MAX) F(MIN) F(ABS_MAX) F(ABS_MIN) F(POWER)			\
	F(IS_EQ) F(IS_NE) F(IS_GE) F(IS_GT) F(IS_LE) F(IS_LT)		\
	F(LOGICAL_AND) F(LOGICAL_OR) F(LOGICAL_XOR)

/* Those that cost no more than the conversion of their operands. */
#define TRN_FOR_EACH_MIX(F)						\
	F(BYPASS) F(ADD) F(SUBTRACT) F(MULTIPLY) F(MAX) F(MIN)		\
	F(IS_EQ) F(IS_NE) F(IS_GE) F(IS_GT) F(IS_LE) F(IS_LT)

#define TRN_FOR_EACH_UNARY(F)						\
	F(ABS) F(SQUARE) F(RELU) F(RSQRT) F(RECIPROCAL)

#endif /* TRN_NUM_ALU_H */
