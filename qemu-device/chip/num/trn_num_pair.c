// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Two ALU operators with a scalar each, one after the other in one loop. Compiled for
 * each path of the host.
 */
#include "num/trn_num_alu.h"
#include "num/trn_num_cut.h"

/**
 * struct pair - the work, but for what is constant in a loop
 * @n: elements of @dst and @src
 */
struct pair {
	void *dst;
	const void *src;
	float s0, s1;
	size_t n;
};

/* Inlined with constants @narrow, @op0 and @op1. Each operator rounds by itself. */
TRN_INLINE void pair_element(bool narrow, unsigned int op0, unsigned int op1,
			     const struct pair *pair, size_t i)
{
	const trn_any_uint16 *narrow_src = pair->src;
	const trn_any_float *wide_src = pair->src;
	trn_any_uint16 *narrow_dst = pair->dst;
	trn_any_float *wide_dst = pair->dst;
	float x = narrow ? trn_bf16_widen(narrow_src[i]) : wide_src[i];

	x = trn_alu_apply(op1, trn_alu_apply(op0, x, pair->s0), pair->s1);
	if (narrow)
		narrow_dst[i] = trn_bf16_nearest(x);
	else
		wide_dst[i] = trn_canon(x);
}

TRN_INLINE void pair_loop(bool narrow, unsigned int op0, unsigned int op1,
			  const struct pair *shared)
{
	const struct pair pair = *shared;
	size_t i, j;

	for (i = 0; pair.n - i >= TRN_BLOCK; i += TRN_BLOCK) {
		TRN_NO_ALIAS
		for (j = 0; j < TRN_BLOCK; j++)
			pair_element(narrow, op0, op1, &pair, i + j);
	}
	for (; i < pair.n; i++)
		pair_element(narrow, op0, op1, &pair, i);
}

#define FOR_EACH(F, ...)						\
	F(ADD, __VA_ARGS__) F(SUBTRACT, __VA_ARGS__) F(MULTIPLY, __VA_ARGS__) \
	F(MAX, __VA_ARGS__) F(MIN, __VA_ARGS__)

#define SECOND_CASE(name, narrow, op0)					\
	case NEURON_ALU_##name:						\
		pair_loop(narrow, op0, NEURON_ALU_##name, pair);	\
		break;

TRN_INLINE void pair_second(bool narrow, unsigned int op0, unsigned int op1,
			    const struct pair *pair)
{
	switch (op1) {
	FOR_EACH(SECOND_CASE, narrow, op0)
	}
}

#define FIRST_CASE(name, narrow)					\
	case NEURON_ALU_##name:						\
		pair_second(narrow, NEURON_ALU_##name, op1, pair);	\
		break;

TRN_INLINE void pair_first(bool narrow, unsigned int op0, unsigned int op1,
			   const struct pair *pair)
{
	switch (op0) {
	FOR_EACH(FIRST_CASE, narrow)
	}
}

#define DEFINE_PATH(name, target)					\
target void trn_pair_##name(bool narrow, unsigned int op0, unsigned int op1, \
			    void *dst, const void *src, float s0, float s1, \
			    size_t n)					\
{									\
	const struct pair pair = { dst, src, s0, s1, n };		\
									\
	if (narrow)							\
		pair_first(true, op0, op1, &pair);			\
	else								\
		pair_first(false, op0, op1, &pair);			\
}

DEFINE_PATH(scalar, TRN_TARGET_BASE)
#ifdef TRN_NUM_X86
DEFINE_PATH(avx2, TRN_TARGET_AVX2)
DEFINE_PATH(avx512, TRN_TARGET_AVX512)
#endif

static bool is_pair_op(unsigned int op)
{
	return op == NEURON_ALU_ADD || op == NEURON_ALU_SUBTRACT ||
	       op == NEURON_ALU_MULTIPLY || op == NEURON_ALU_MAX ||
	       op == NEURON_ALU_MIN;
}

bool trn_pair_has(unsigned int op0, unsigned int op1)
{
	if (!is_pair_op(op0))
		return false;
	return is_pair_op(op1);
}

void trn_pair(bool narrow, unsigned int op0, unsigned int op1, void *dst,
	      const void *src, float s0, float s1, size_t n)
{
	trn_num_path()->pair(narrow, op0, op1, dst, src, s0, s1, n);
}
