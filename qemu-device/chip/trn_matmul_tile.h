/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The blocked matrix product, included once per instruction set by a file that
 * has defined:
 *
 *  TILE_NAME(stem)	names of the functions to define
 *  TILE_TARGET	the target attribute's features
 *  TILE_ROWS	outputs rows held in registers, TILE_ROWS * 3 accumulators
 *  vec, VEC_FLOATS, vec_zero(), vec_load(), vec_store(), vec_set1(),
 *  vec_fma(), vec_add(), vec_canon()
 *
 * Both operands are copied into panels first, so that the inner loop reads
 * consecutive memory whatever the strides: the moving operand line by line, as the
 * caller brings them, TILE_COLUMNS columns to a panel, and all of the stationary
 * one, TILE_ROWS columns to a panel. Panels are padded with zeros; what is computed
 * there is not stored. The inner loop is the chain of the scalar path for
 * TILE_ROWS * TILE_COLUMNS outputs at once: ascending k, fused, from +0.
 */

#define TILE_VECS	3
#define TILE_COLUMNS	(TILE_VECS * VEC_FLOATS)
#define PACK_COLUMNS	16

/* trn_moving_floats() has room for this. */
_Static_assert(TRN_MOVING_WIDTH % TILE_COLUMNS == 0 &&
	       TILE_COLUMNS >= TRN_MOVING_PANEL, "other panels than callers expect");

#ifdef __clang__
#define TILE_UNROLL	_Pragma("clang loop unroll(full)")
#else
#define TILE_UNROLL	_Pragma("GCC unroll 16")
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

/*
 * From a panel of the moving operand to the next: not a multiple of a page, or a line
 * of the operand would have few places in a cache.
 */
static inline size_t panel_stride(unsigned int k)
{
	return (size_t)k * TILE_COLUMNS + TRN_MOVING_GAP;
}

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

/* Up to PACK_COLUMNS columns: what a cache line holds is read at once. */
static void pack_columns(float *restrict panel, const float *src, size_t stride,
			 unsigned int k, unsigned int columns)
{
	unsigned int first, rows, l;

	for (l = 0; l < k; l++, src += stride, panel += TILE_ROWS) {
		for (first = 0; first < columns; first += TILE_ROWS) {
			float *to = panel + (size_t)first * k;

			rows = columns - first;
			if (rows >= TILE_ROWS)
				memcpy(to, src + first, TILE_ROWS * sizeof(float));
			else
				pack_part(to, src + first, rows, TILE_ROWS);
		}
	}
}

static void pack_stationary(float *restrict panel, const float *src,
			    size_t stride, unsigned int k, unsigned int m)
{
	unsigned int first;

	for (first = 0; first < m; first += PACK_COLUMNS)
		pack_columns(panel + (size_t)first * k, src + first, stride, k,
			     m - first < PACK_COLUMNS ? m - first : PACK_COLUMNS);
}

__attribute__((target(TILE_TARGET)))
void TILE_NAME(trn_moving_line)(float *restrict room, unsigned int k, unsigned int n,
				unsigned int l, const float *line)
{
	const size_t stride = panel_stride(k);
	float *panel = room + (size_t)l * TILE_COLUMNS;
	unsigned int j;

	for (; n >= TILE_COLUMNS; n -= TILE_COLUMNS) {
		tile_for_each(j, TILE_VECS)
			vec_store(panel + j * VEC_FLOATS, vec_load(line + j * VEC_FLOATS));
		line += TILE_COLUMNS;
		panel += stride;
	}
	if (n)
		pack_part(panel, line, n, TILE_COLUMNS);
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

/* What the tile will be written to, which takes longer to come than the sums do. */
TILE_FN void tile_prefetch(const struct tile_out *out)
{
	unsigned int i;

	tile_for_each(i, TILE_ROWS) {
		const float *dst = out->dst + (i < out->rows ? i : 0) * out->stride;

		__builtin_prefetch(dst, 1);
		__builtin_prefetch(dst + out->columns - 1, 1);
	}
}

/* @vecs is a constant; everything unrolls but the loop over k. */
TILE_FN void tile_run(const struct tile_out *out, const float *stationary,
		      const float *moving, unsigned int k, unsigned int vecs)
{
	vec sum[TILE_ROWS][TILE_VECS], column[TILE_VECS];
	unsigned int i, j, l;

	tile_prefetch(out);
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

void TILE_NAME(trn_multiply)(float *dst, size_t dst_stride, const float *stationary,
			     size_t stationary_stride, const float *room,
			     unsigned int k, unsigned int m, unsigned int n,
			     bool accumulate)
{
	_Alignas(64) float panels[TRN_MATMUL_K * TRN_MATMUL_M];
	struct tile_out out = { .stride = dst_stride, .accumulate = accumulate };
	unsigned int first;

	pack_stationary(panels, stationary, stationary_stride, k, m);
	for (first = 0; first < n; first += TILE_COLUMNS) {
		out.columns = n - first < TILE_COLUMNS ? n - first : TILE_COLUMNS;
		out.dst = dst + first;
		tile_panel(out, panels, room, k, m);
		room += panel_stride(k);
	}
}
