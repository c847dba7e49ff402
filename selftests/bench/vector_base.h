/* SPDX-License-Identifier: MIT */
/* Plain loops over one line of a tile, to measure element-wise instructions by. */
#ifndef VECTOR_BASE_H
#define VECTOR_BASE_H

#include <stddef.h>

#define VECTOR_SCALE	1.25f
#define VECTOR_BIAS	0.375f

enum vector_work {
	VECTOR_ADD_FP32,
	VECTOR_MAX_FP32,
	VECTOR_SCALE_FP32,
	VECTOR_ADD_BF16,
	VECTOR_SCALE_BF16,
	VECTOR_CAST_TO_BF16,
	VECTOR_CAST_TO_FP32,
	VECTOR_SUM_FP32,	/* of @dst and @a */
	VECTOR_SUM_BF16,
	VECTOR_NR_WORKS
};

typedef void vector_base_fn(enum vector_work work, void *dst, const void *a, const void *b,
			    size_t n);

vector_base_fn vector_base, vector_base_avx2, vector_base_avx512;

#endif /* VECTOR_BASE_H */
