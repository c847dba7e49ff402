/* SPDX-License-Identifier: MIT */
/*
 * OpenBLAS as a baseline, loaded when it is there.
 */
#ifndef BENCH_BLAS_H
#define BENCH_BLAS_H

#include <stdbool.h>

/* dst [m, n] = stationary [k, m] transposed * moving [k, n], rows dense. */
struct blas {
	void *library;
	void (*sgemm)(int order, int trans_a, int trans_b, int m, int n, int k,
		      float alpha, const float *a, int lda, const float *b,
		      int ldb, float beta, float *c, int ldc);
	void (*set_threads)(int n);
};

/*
 * One thread, the kernels of this host's class (Debian's OpenBLAS does not know
 * newer processors and takes very old kernels): before any thread is started.
 *
 * Return: false after a line that says what is missing.
 */
bool blas_load(struct blas *blas);
void blas_unload(struct blas *blas);

/* From now on @n threads. */
void blas_threads(const struct blas *blas, int n);

void blas_matmul(const struct blas *blas, float *dst, const float *stationary,
		 const float *moving, int k, int m, int n);

#endif /* BENCH_BLAS_H */
