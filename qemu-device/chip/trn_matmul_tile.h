/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The blocked matrix product, included once per instruction set by a file that
 * has defined:
 *
 *  TILE_NAME	the function to define
 *  TILE_TARGET	the target attribute's features
 *  TILE_ROWS	outputs rows held in registers, TILE_ROWS * 3 accumulators
 *  vec, VEC_FLOATS, vec_zero(), vec_load(), vec_store(), vec_set1(),
 *  vec_fma(), vec_add(), vec_canon()
 *
 * Both operands are copied into panels first, so that the inner loop reads
 * consecutive memory whatever the strides: a whole block of the stationary
 * operand, TILE_ROWS columns at a time, and TILE_COLUMNS columns of the moving
 * one. Panels are padded with zeros; what is computed there is not stored. The
 * inner loop is the chain of trn_matmul_scalar() for TILE_ROWS * TILE_COLUMNS
 * outputs at once: ascending k, fused, from +0.
 */

#define TILE_VECS	3
#define TILE_COLUMNS	(TILE_VECS * VEC_FLOATS)
#define TILE_MAX_K	512
#define TILE_MAX_M	128

#ifdef __clang__
#define TILE_UNROLL	_Pragma("clang loop unroll(full)")
#else
#define TILE_UNROLL	_Pragma("GCC unroll 8")
#endif
/* A loop with a constant count, written out by the compiler. */
#define tile_for_each(i, n)	TILE_UNROLL for (i = 0; i < (n); i++)
#define TILE_FN static inline __attribute__((always_inline, target(TILE_TARGET)))

/* Where one register tile goes. */
struct tile_out {
	float *dst;
	size_t stride;
	unsigned int rows;
	unsigned int columns;
	bool accumulate;
};

/* At an edge. A loop: memcpy() of so few bytes would cost more than they do. */
static inline void pack_part(float *restrict panel, const float *src, unsigned int n,
			     unsigned int width)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		panel[i] = src[i];
	for (; i < width; i++)
		panel[i] = 0.0f;
}

static void pack_stationary(float *restrict panel, const float *src,
			    size_t stride, unsigned int k, unsigned int m)
{
	unsigned int first, rows, l;

	for (first = 0; first < m; first += TILE_ROWS) {
		rows = m - first < TILE_ROWS ? m - first : TILE_ROWS;
		for (l = 0; l < k; l++, panel += TILE_ROWS) {
			const float *from = src + l * stride + first;

			if (rows == TILE_ROWS)
				memcpy(panel, from, TILE_ROWS * sizeof(float));
			else
				pack_part(panel, from, rows, TILE_ROWS);
		}
	}
}

__attribute__((target(TILE_TARGET)))
static void pack_moving(float *restrict panel, const float *src, size_t stride,
			unsigned int k, unsigned int columns)
{
	unsigned int l, j;

	for (l = 0; l < k; l++, panel += TILE_COLUMNS, src += stride) {
		if (columns < TILE_COLUMNS) {
			pack_part(panel, src, columns, TILE_COLUMNS);
			continue;
		}
		tile_for_each(j, TILE_VECS)
			vec_store(panel + j * VEC_FLOATS, vec_load(src + j * VEC_FLOATS));
	}
}

/* A tile at the edge: by way of memory, element by element. */
TILE_FN void tile_store_part(const struct tile_out *out, vec sum[][TILE_VECS],
			     unsigned int vecs)
{
	float row[TILE_COLUMNS];
	unsigned int i, j;

	for (i = 0; i < TILE_ROWS; i++) {
		float *dst = out->dst + i * out->stride;

		if (i >= out->rows)
			break;
		for (j = 0; j < vecs; j++)
			vec_store(row + j * VEC_FLOATS, sum[i][j]);
		for (j = 0; j < out->columns; j++)
			dst[j] = trn_canon(out->accumulate ? dst[j] + row[j] : row[j]);
	}
}

TILE_FN void tile_store_full(const struct tile_out *out, vec sum[][TILE_VECS],
			     unsigned int vecs)
{
	unsigned int i, j;

	tile_for_each(i, TILE_ROWS) {
		tile_for_each(j, vecs) {
			float *dst = out->dst + i * out->stride + j * VEC_FLOATS;
			vec v = sum[i][j];

			if (out->accumulate)
				v = vec_add(vec_load(dst), v);
			vec_store(dst, vec_canon(v));
		}
	}
}

/* @vecs is a constant; everything unrolls but the loop over k. */
TILE_FN void tile_run(const struct tile_out *out, const float *stationary,
		      const float *moving, unsigned int k, unsigned int vecs)
{
	vec sum[TILE_ROWS][TILE_VECS], column[TILE_VECS];
	unsigned int i, j, l;

	tile_for_each(i, TILE_ROWS) {
		tile_for_each(j, vecs)
			sum[i][j] = vec_zero();
	}

	for (l = 0; l < k; l++) {
		tile_for_each(j, vecs)
			column[j] = vec_load(moving + j * VEC_FLOATS);
		tile_for_each(i, TILE_ROWS) {
			const vec s = vec_set1(stationary[i]);

			tile_for_each(j, vecs)
				sum[i][j] = vec_fma(s, column[j], sum[i][j]);
		}
		stationary += TILE_ROWS;
		moving += TILE_COLUMNS;
	}

	if (out->rows == TILE_ROWS && out->columns == vecs * VEC_FLOATS)
		tile_store_full(out, sum, vecs);
	else
		tile_store_part(out, sum, vecs);
}

/* All rows of a panel of up to TILE_COLUMNS columns. */
__attribute__((target(TILE_TARGET)))
static void tile_panel(struct tile_out out, const float *stationary,
		       const float *moving, unsigned int k, unsigned int m)
{
	float *first = out.dst;
	unsigned int i;

	for (i = 0; i < m; i += TILE_ROWS, stationary += (size_t)k * TILE_ROWS) {
		out.dst = first + i * out.stride;
		out.rows = m - i < TILE_ROWS ? m - i : TILE_ROWS;
		if (out.columns > 2 * VEC_FLOATS)
			tile_run(&out, stationary, moving, k, 3);
		else if (out.columns > VEC_FLOATS)
			tile_run(&out, stationary, moving, k, 2);
		else
			tile_run(&out, stationary, moving, k, 1);
	}
}

/* Up to TILE_MAX_K, TILE_MAX_M and any number of columns. */
static void tile_block(struct tile_out out, const float *stationary,
		       size_t stationary_stride, const float *moving,
		       size_t moving_stride, unsigned int k, unsigned int m,
		       unsigned int n)
{
	_Alignas(64) float stationary_panel[TILE_MAX_K * TILE_MAX_M];
	_Alignas(64) float moving_panel[TILE_MAX_K * TILE_COLUMNS];
	float *dst = out.dst;
	unsigned int first;

	pack_stationary(stationary_panel, stationary, stationary_stride, k, m);
	for (first = 0; first < n; first += TILE_COLUMNS) {
		out.columns = n - first < TILE_COLUMNS ? n - first : TILE_COLUMNS;
		out.dst = dst + first;
		pack_moving(moving_panel, moving + first, moving_stride, k, out.columns);
		tile_panel(out, stationary_panel, moving_panel, k, m);
	}
}

void TILE_NAME(float *dst, size_t dst_stride, const float *stationary,
	       size_t stationary_stride, const float *moving,
	       size_t moving_stride, unsigned int k, unsigned int m,
	       unsigned int n, bool accumulate)
{
	struct tile_out out = { .stride = dst_stride, .accumulate = accumulate };
	unsigned int first, part;

	/* Longer chains than the array's: not worth panels of their own. */
	if (k > TILE_MAX_K) {
		trn_matmul_scalar(dst, dst_stride, stationary, stationary_stride,
				  moving, moving_stride, k, m, n, accumulate);
		return;
	}

	for (first = 0; first < m; first += part) {
		part = m - first < TILE_MAX_M ? m - first : TILE_MAX_M;
		out.dst = dst + first * dst_stride;
		tile_block(out, stationary + first, stationary_stride, moving,
			   moving_stride, k, part, n);
	}
}
