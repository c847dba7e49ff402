// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Matrix product with AVX2 and FMA: 12 accumulators of 16 registers.
 */
#include "num/trn_num_internal.h"

#ifdef TRN_NUM_X86
#include <immintrin.h>

#define TILE_NAME(stem)	stem##_avx2
#define TILE_TARGET	"avx2,fma"
#define TILE_ROWS	4

typedef __m256 vec;

#define VEC_FLOATS		8
#define vec_zero()		_mm256_setzero_ps()
#define vec_load(p)		_mm256_loadu_ps(p)
#define vec_store(p, v)		_mm256_storeu_ps(p, v)
#define vec_set1(f)		_mm256_set1_ps(f)
#define vec_fma(a, b, c)	_mm256_fmadd_ps(a, b, c)
#define vec_add(a, b)		_mm256_add_ps(a, b)
#define vec_canon(v)							\
	_mm256_blendv_ps(v, _mm256_castsi256_ps(_mm256_set1_epi32(TRN_NAN_BITS)), \
			 _mm256_cmp_ps(v, v, _CMP_UNORD_Q))

#include "num/trn_matmul_tile.h"
#include "num/trn_matmul_pick.h"
#endif
