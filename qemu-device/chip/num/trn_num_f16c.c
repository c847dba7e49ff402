// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * fp16 to fp32 with the instruction for it, which is exact and heeds no mode of the
 * thread.
 */
#include "num/trn_num_internal.h"

#ifdef TRN_NUM_X86
#include <cpuid.h>
#include <immintrin.h>

#define LANES	8
#define TARGET	__attribute__((target("avx2,f16c")))

/* Compilers do not all know the name of this one. */
bool trn_f16c_usable(void)
{
	unsigned int a, b, c = 0, d;

	return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}

TARGET static inline void widen(float *dst, const void *src)
{
	const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(TRN_NAN_BITS));
	__m256 v = _mm256_cvtph_ps(_mm_loadu_si128(src));

	_mm256_storeu_ps(dst, _mm256_blendv_ps(v, nan, _mm256_cmp_ps(v, v, _CMP_UNORD_Q)));
}

TARGET void trn_fp16_widen_f16c(float *dst, const void *src, size_t n)
{
	const uint8_t *from = src;
	uint16_t in[LANES] = { 0 };
	float out[LANES];
	size_t i;

	for (i = 0; i + LANES <= n; i += LANES)
		widen(dst + i, from + i * sizeof(*in));
	if (i == n)
		return;
	memcpy(in, from + i * sizeof(*in), (n - i) * sizeof(*in));
	widen(out, in);
	memcpy(dst + i, out, (n - i) * sizeof(*out));
}
#endif
