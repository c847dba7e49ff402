// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * ALU operators on fp32 vectors, compiled for each path of the host.
 */
#include "num/trn_num_alu.h"

/**
 * struct operand - a vector, or a block that stands for all blocks
 * @ptr: the next elements
 * @step: TRN_BLOCK or 0
 */
struct operand {
	const float *ptr;
	size_t step;
};

/* Inlined with a constant @op. dst may be an operand's memory, no part of it. */
TRN_INLINE void alu_loop(unsigned int op, float *dst, struct operand a,
			 struct operand b, size_t n)
{
	float x[TRN_BLOCK] = { 0 }, y[TRN_BLOCK] = { 0 }, r[TRN_BLOCK];
	size_t i, j;

	for (i = 0; n - i >= TRN_BLOCK; i += TRN_BLOCK) {
		TRN_NO_ALIAS
		for (j = 0; j < TRN_BLOCK; j++)
			dst[i + j] = trn_canon(trn_alu_apply(op, a.ptr[j], b.ptr[j]));
		a.ptr += a.step;
		b.ptr += b.step;
	}
	if (i == n)
		return;

	memcpy(x, a.ptr, (n - i) * sizeof(float));
	memcpy(y, b.ptr, (n - i) * sizeof(float));
	for (j = 0; j < TRN_BLOCK; j++)
		r[j] = trn_canon(trn_alu_apply(op, x[j], y[j]));
	memcpy(dst + i, r, (n - i) * sizeof(float));
}

TRN_INLINE void alu_any(unsigned int op, float *dst, struct operand a,
			struct operand b, size_t n)
{
#define LOOP_CASE(name)							\
	case NEURON_ALU_##name:						\
		alu_loop(NEURON_ALU_##name, dst, a, b, n);		\
		break;

	switch (op) {
	TRN_FOR_EACH_ARITH(LOOP_CASE)
	TRN_FOR_EACH_UNARY(LOOP_CASE)
	}
#undef LOOP_CASE
}

#define DEFINE_PATH(name, target)					\
target void trn_alu_##name(unsigned int op, float *dst, const float *a,	\
			   size_t a_step, const float *b, size_t b_step, \
			   size_t n)					\
{									\
	const struct operand x = { a, a_step }, y = { b, b_step };	\
									\
	alu_any(op, dst, x, y, n);					\
}

DEFINE_PATH(scalar, TRN_TARGET_BASE)
#ifdef TRN_NUM_X86
DEFINE_PATH(avx2, TRN_TARGET_AVX2)
DEFINE_PATH(avx512, TRN_TARGET_AVX512)
#endif

void trn_alu_vv(unsigned int op, float *dst, const float *a, const float *b,
		size_t n)
{
	trn_num_path()->alu(op, dst, a, TRN_BLOCK, b, TRN_BLOCK, n);
}

void trn_alu_vs(unsigned int op, float *dst, const float *a, float s,
		bool reverse, size_t n)
{
	float same[TRN_BLOCK];
	size_t i;

	for (i = 0; i < TRN_BLOCK; i++)
		same[i] = s;
	if (reverse)
		trn_num_path()->alu(op, dst, same, 0, a, TRN_BLOCK, n);
	else
		trn_num_path()->alu(op, dst, a, TRN_BLOCK, same, 0, n);
}
