// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Matrix product with AVX-512: 24 accumulators of 32 registers.
 */
#include "num/trn_num_internal.h"

#ifdef TRN_NUM_X86
#include <immintrin.h>

#define TILE_NAME(stem)	stem##_avx512
#define TILE_TARGET	"avx512f"
#define TILE_ROWS	8

typedef __m512 vec;

#define VEC_FLOATS		16
#define vec_zero()		_mm512_setzero_ps()
#define vec_load(p)		_mm512_loadu_ps(p)
#define vec_store(p, v)		_mm512_storeu_ps(p, v)
#define vec_set1(f)		_mm512_set1_ps(f)
#define vec_fma(a, b, c)	_mm512_fmadd_ps(a, b, c)
#define vec_add(a, b)		_mm512_add_ps(a, b)
#define vec_canon(v)							\
	_mm512_mask_mov_ps(v, _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q),	\
			   _mm512_castsi512_ps(_mm512_set1_epi32(TRN_NAN_BITS)))

#include "num/trn_matmul_tile.h"
#include "num/trn_matmul_pick.h"
#endif
