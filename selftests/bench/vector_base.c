// SPDX-License-Identifier: MIT
/*
 * The same work as plain loops, compiled with -O3 for each of the chip library's
 * paths.
 */
#include <stdint.h>
#include <string.h>

#include "vector_base.h"

#define INLINE static inline __attribute__((always_inline))

INLINE float widen(uint16_t h)
{
	uint32_t u = (uint32_t)h << 16;
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

/* To nearest even; what becomes of a NaN does not matter here. */
INLINE uint16_t narrow(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	return (uint16_t)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}

INLINE void loop(enum vector_work work, void *restrict dst, const void *restrict a,
		 const void *restrict b, size_t n)
{
	const float *x = a, *y = b;
	const uint16_t *s = a, *t = b;
	uint16_t *half = dst;
	float *full = dst;
	size_t i;

	switch (work) {
	case VECTOR_ADD_FP32:
		for (i = 0; i < n; i++)
			full[i] = x[i] + y[i];
		break;
	case VECTOR_MAX_FP32:
		for (i = 0; i < n; i++)
			full[i] = x[i] > y[i] ? x[i] : y[i];
		break;
	case VECTOR_SCALE_FP32:
		for (i = 0; i < n; i++)
			full[i] = x[i] * VECTOR_SCALE + VECTOR_BIAS;
		break;
	case VECTOR_ADD_BF16:
		for (i = 0; i < n; i++)
			half[i] = narrow(widen(s[i]) + widen(t[i]));
		break;
	case VECTOR_SCALE_BF16:
		for (i = 0; i < n; i++)
			half[i] = narrow(widen(s[i]) * VECTOR_SCALE + VECTOR_BIAS);
		break;
	case VECTOR_CAST_TO_BF16:
		for (i = 0; i < n; i++)
			half[i] = narrow(x[i]);
		break;
	case VECTOR_CAST_TO_FP32:
		for (i = 0; i < n; i++)
			full[i] = widen(s[i]);
		break;
	case VECTOR_SUM_FP32:
		for (i = 0; i < n; i++)
			full[i] += x[i];
		break;
	case VECTOR_SUM_BF16:
		for (i = 0; i < n; i++)
			full[i] += widen(s[i]);
		break;
	case VECTOR_NR_WORKS:
		break;
	}
}

void vector_base(enum vector_work work, void *dst, const void *a, const void *b, size_t n)
{
	loop(work, dst, a, b, n);
}

#ifdef __x86_64__
__attribute__((target("avx2")))
void vector_base_avx2(enum vector_work work, void *dst, const void *a, const void *b,
		      size_t n)
{
	loop(work, dst, a, b, n);
}

__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))
void vector_base_avx512(enum vector_work work, void *dst, const void *a, const void *b,
			size_t n)
{
	loop(work, dst, a, b, n);
}
#endif
