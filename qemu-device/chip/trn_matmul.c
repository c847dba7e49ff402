// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The matrix product that defines the results.
 */
#include "trn_num_internal.h"

/* Outputs computed side by side; each is a chain of its own. */
#define SCALAR_COLUMNS	16

/*
 * NaN: fma gives a NaN whenever an operand is one, and so does the sum with
 * the old value. A chain that has met a NaN therefore ends as a NaN whatever
 * payloads it carried on the way, and one that has not is not changed by
 * making NaN canonical. So canonical NaN at the very end gives the same bits as
 * at each step; every path does it there.
 */
static void finish(float *dst, const float *sum, unsigned int n, bool accumulate)
{
	unsigned int j;

	for (j = 0; j < n; j++)
		dst[j] = trn_canon(accumulate ? dst[j] + sum[j] : sum[j]);
}

void trn_matmul_scalar(float *dst, size_t dst_stride, const float *stationary,
		       size_t stationary_stride, const float *moving,
		       size_t moving_stride, unsigned int k, unsigned int m,
		       unsigned int n, bool accumulate)
{
	float sum[SCALAR_COLUMNS], column[SCALAR_COLUMNS] = { 0 };
	unsigned int i, j, l, first, part;

	for (first = 0; first < n; first += part) {
		part = n - first < SCALAR_COLUMNS ? n - first : SCALAR_COLUMNS;
		for (i = 0; i < m; i++) {
			memset(sum, 0, sizeof(sum));
			for (l = 0; l < k; l++) {
				const float s = stationary[l * stationary_stride + i];

				memcpy(column, moving + l * moving_stride + first,
				       part * sizeof(float));
				for (j = 0; j < SCALAR_COLUMNS; j++)
					sum[j] = trn_fma_emulated(s, column[j], sum[j]);
			}
			finish(dst + i * dst_stride + first, sum, part, accumulate);
		}
	}
}
