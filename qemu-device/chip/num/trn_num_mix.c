// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * ALU operators whose operands or results are bf16: widened, worked out and narrowed
 * in one loop, which is what the time of such work goes to otherwise. Compiled for
 * each path of the host.
 */
#include "num/trn_num_alu.h"
#include "num/trn_num_cut.h"

/*
 * Inlined with constants @mix and @op. Between widening and narrowing a NaN's payload
 * is nobody's business: what is stored is canonical.
 */
TRN_INLINE void mix_element(enum trn_mix mix, unsigned int op, void *dst,
			    const void *a, const void *b, float s, size_t i)
{
	const trn_any_uint16 *narrow_a = a, *narrow_b = b;
	const trn_any_float *wide_a = a;
	trn_any_uint16 *narrow = dst;
	trn_any_float *wide = dst;
	float x, y, result;

	x = mix == TRN_MIX_NARROW ? wide_a[i] : trn_bf16_widen(narrow_a[i]);
	y = mix == TRN_MIX_BF16_PAIR ? trn_bf16_widen(narrow_b[i]) : s;
	result = trn_alu_apply(op, x, y);
	if (mix == TRN_MIX_WIDEN)
		wide[i] = trn_canon(result);
	else
		narrow[i] = trn_bf16_nearest(result);
}

TRN_INLINE void mix_loop(enum trn_mix mix, unsigned int op, void *dst, const void *a,
			 const void *b, float s, size_t n)
{
	size_t i, j;

	for (i = 0; n - i >= TRN_BLOCK; i += TRN_BLOCK) {
		TRN_NO_ALIAS
		for (j = 0; j < TRN_BLOCK; j++)
			mix_element(mix, op, dst, a, b, s, i + j);
	}
	for (; i < n; i++)
		mix_element(mix, op, dst, a, b, s, i);
}

TRN_INLINE void mix_op(enum trn_mix mix, unsigned int op, void *dst, const void *a,
		       const void *b, float s, size_t n)
{
#define LOOP_CASE(name)							\
	case NEURON_ALU_##name:						\
		mix_loop(mix, NEURON_ALU_##name, dst, a, b, s, n);	\
		break;

	switch (op) {
	TRN_FOR_EACH_MIX(LOOP_CASE)
	}
#undef LOOP_CASE
}

TRN_INLINE void mix_any(enum trn_mix mix, unsigned int op, void *dst, const void *a,
			const void *b, float s, size_t n)
{
	switch (mix) {
	case TRN_MIX_BF16_PAIR:
		mix_op(TRN_MIX_BF16_PAIR, op, dst, a, b, s, n);
		break;
	case TRN_MIX_BF16:
		mix_op(TRN_MIX_BF16, op, dst, a, b, s, n);
		break;
	case TRN_MIX_WIDEN:
		mix_op(TRN_MIX_WIDEN, op, dst, a, b, s, n);
		break;
	case TRN_MIX_NARROW:
		mix_op(TRN_MIX_NARROW, op, dst, a, b, s, n);
		break;
	}
}

#define DEFINE_PATH(name, target)					\
target void trn_mix_##name(enum trn_mix mix, unsigned int op, void *dst, \
			   const void *a, const void *b, float s, size_t n) \
{									\
	mix_any(mix, op, dst, a, b, s, n);				\
}

DEFINE_PATH(scalar, TRN_TARGET_BASE)
#ifdef TRN_NUM_X86
DEFINE_PATH(avx2, TRN_TARGET_AVX2)
DEFINE_PATH(avx512, TRN_TARGET_AVX512)
#endif

bool trn_mix_has(unsigned int op)
{
#define LOOP_CASE(name)							\
	case NEURON_ALU_##name:						\
		return true;

	switch (op) {
	TRN_FOR_EACH_MIX(LOOP_CASE)
	}
#undef LOOP_CASE
	return false;
}

void trn_mix(enum trn_mix mix, unsigned int op, void *dst, const void *a, const void *b,
	     float s, size_t n)
{
	trn_num_path()->mix(mix, op, dst, a, b, s, n);
}
