// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The matrix product that defines the results.
 */
#include "num/trn_num_internal.h"

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

void trn_moving_line_scalar(float *room, unsigned int k, unsigned int n,
			    unsigned int l, const float *line)
{
	(void)k;
	memcpy(room + (size_t)l * n, line, n * sizeof(*line));
}

/* One term more of each sum. */
static void add_term(float *sum, float s, const float *line, unsigned int n)
{
	float column[SCALAR_COLUMNS] = { 0 };
	unsigned int j;

	memcpy(column, line, n * sizeof(*line));
	for (j = 0; j < SCALAR_COLUMNS; j++)
		sum[j] = trn_fma_emulated(s, column[j], sum[j]);
}

static void multiply(float *dst, size_t dst_stride, const float *stationary,
		     size_t stationary_stride, const float *moving,
		     size_t moving_stride, unsigned int k, unsigned int m,
		     unsigned int n, bool accumulate)
{
	float sum[SCALAR_COLUMNS];
	unsigned int i, l, first, part;

	for (first = 0; first < n; first += part) {
		part = n - first < SCALAR_COLUMNS ? n - first : SCALAR_COLUMNS;
		for (i = 0; i < m; i++) {
			memset(sum, 0, sizeof(sum));
			for (l = 0; l < k; l++)
				add_term(sum, stationary[l * stationary_stride + i],
					 moving + l * moving_stride + first, part);
			finish(dst + i * dst_stride + first, sum, part, accumulate);
		}
	}
}

void trn_multiply_scalar(float *dst, size_t dst_stride, const float *stationary,
			 size_t stationary_stride, const float *room, unsigned int k,
			 unsigned int m, unsigned int n, bool accumulate)
{
	multiply(dst, dst_stride, stationary, stationary_stride, room, n, k, m, n,
		 accumulate);
}

void trn_multiply_picked_scalar(float *dst, size_t dst_stride, const float *stationary,
				size_t stationary_stride, const struct trn_pick *pick,
				const float *room, unsigned int k, unsigned int m,
				unsigned int n, bool accumulate)
{
	float sum[SCALAR_COLUMNS];
	unsigned int i, l, first, part;

	(void)k;
	for (first = 0; first < n; first += part) {
		part = n - first < SCALAR_COLUMNS ? n - first : SCALAR_COLUMNS;
		for (i = 0; i < m; i++) {
			memset(sum, 0, sizeof(sum));
			for (l = 0; l < pick->terms; l++) {
				size_t line = pick->line[l * pick->stride + i];

				add_term(sum, stationary[l * stationary_stride + i],
					 room + line * n + first, part);
			}
			finish(dst + i * dst_stride + first, sum, part, accumulate);
		}
	}
}

void trn_moving_init(struct trn_moving *moving, float *room, unsigned int k,
		     unsigned int n)
{
	*moving = (struct trn_moving){ trn_num_path(), room, k, n };
}

void trn_moving_line(const struct trn_moving *moving, unsigned int l, const float *line)
{
	moving->path->moving_line(moving->room, moving->k, moving->n, l, line);
}

void trn_multiply(float *dst, size_t dst_stride, const float *stationary,
		  size_t stationary_stride, const struct trn_moving *moving,
		  unsigned int m, bool accumulate)
{
	moving->path->multiply(dst, dst_stride, stationary, stationary_stride,
			       moving->room, moving->k, m, moving->n, accumulate);
}

void trn_multiply_picked(float *dst, size_t dst_stride, const float *stationary,
			 size_t stationary_stride, const struct trn_pick *pick,
			 const struct trn_moving *moving, unsigned int m,
			 bool accumulate)
{
	moving->path->multiply_picked(dst, dst_stride, stationary, stationary_stride,
				      pick, moving->room, moving->k, m, moving->n,
				      accumulate);
}

/* Columns of longer chains are fewer at a time, so that they fit a cache. */
#define COLUMNS_AT_ONCE(k)	((k) > 256 ? 96u : (k) > 128 ? 240u : 528u)
#define ROOM			TRN_MOVING_FLOATS(128, 528)

_Static_assert(TRN_MOVING_FLOATS(256, 240) <= ROOM &&
	       TRN_MOVING_FLOATS(TRN_MATMUL_K, 96) <= ROOM, "too little room");

static void matmul_columns(float *dst, size_t dst_stride, const float *stationary,
			   size_t stationary_stride, const struct trn_moving *moving,
			   unsigned int m, bool accumulate)
{
	unsigned int first, part;

	for (first = 0; first < m; first += part) {
		part = m - first < TRN_MATMUL_M ? m - first : TRN_MATMUL_M;
		trn_multiply(dst + first * dst_stride, dst_stride, stationary + first,
			     stationary_stride, moving, part, accumulate);
	}
}

void trn_matmul(float *dst, size_t dst_stride, const float *stationary,
		size_t stationary_stride, const float *moving,
		size_t moving_stride, unsigned int k, unsigned int m,
		unsigned int n, bool accumulate)
{
	_Alignas(64) float room[ROOM];
	struct trn_moving panels;
	unsigned int first, l;

	/* Longer chains than the array's: not worth panels of their own. */
	if (k > TRN_MATMUL_K) {
		multiply(dst, dst_stride, stationary, stationary_stride, moving,
			 moving_stride, k, m, n, accumulate);
		return;
	}

	for (first = 0; first < n; first += panels.n) {
		trn_moving_init(&panels, room, k, n - first < COLUMNS_AT_ONCE(k) ?
						  n - first : COLUMNS_AT_ONCE(k));
		for (l = 0; l < k; l++)
			trn_moving_line(&panels, l, moving + l * moving_stride + first);
		matmul_columns(dst + first, dst_stride, stationary, stationary_stride,
			       &panels, m, accumulate);
	}
}
