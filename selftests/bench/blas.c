// SPDX-License-Identifier: MIT
#include "blas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY		"libopenblas.so.0"

/* Values of the C interface to BLAS. */
#define ROW_MAJOR	101
#define NO_TRANS	111
#define TRANS		112

/* NULL where OpenBLAS may decide. */
static const char *host_class(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
		return "SkylakeX";
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return "Haswell";
#endif
	return NULL;
}

bool blas_load(struct blas *blas)
{
	const char *class = host_class();
	char *(*core_name)(void);
	void *symbol;

	/* Read while the library is loaded. */
	if (class)
		setenv("OPENBLAS_CORETYPE", class, 1);
	setenv("OPENBLAS_NUM_THREADS", "1", 1);
	blas->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!blas->library) {
		fprintf(stderr, "the baseline is missing: %s (install libopenblas0-pthread)\n",
			dlerror());
		return false;
	}
	symbol = dlsym(blas->library, "cblas_sgemm");
	if (!symbol) {
		fprintf(stderr, "the baseline is missing: %s has no cblas_sgemm\n", LIBRARY);
		blas_unload(blas);
		return false;
	}
	memcpy(&blas->sgemm, &symbol, sizeof(symbol));
	symbol = dlsym(blas->library, "openblas_set_num_threads");
	memcpy(&blas->set_threads, &symbol, sizeof(symbol));
	symbol = dlsym(blas->library, "openblas_get_corename");
	memcpy(&core_name, &symbol, sizeof(symbol));
	fprintf(stderr, "baseline: OpenBLAS, kernels for %s, one thread\n",
		core_name ? core_name() : "an unknown class");
	return true;
}

void blas_unload(struct blas *blas)
{
	if (blas->library)
		dlclose(blas->library);
	blas->library = NULL;
}

void blas_threads(const struct blas *blas, int n)
{
	if (blas->set_threads)
		blas->set_threads(n);
}

void blas_matmul(const struct blas *blas, float *dst, const float *stationary,
		 const float *moving, int k, int m, int n)
{
	blas->sgemm(ROW_MAJOR, TRANS, NO_TRANS, m, n, k, 1.0f, stationary, m,
		    moving, n, 0.0f, dst, n);
}
