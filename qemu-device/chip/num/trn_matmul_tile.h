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
/* Panels of the stationary operand at a time, at most. */
#define TILE_GROUPS	2
/* Terms in a round of the loop. */
#define TILE_TERMS	4

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
	for (j = 0; j < n / VEC_FLOATS; j++)
		vec_store(panel + j * VEC_FLOATS, vec_load(line + j * VEC_FLOATS));
	/* A tile reads no vector that has none of its columns. */
	if (n % VEC_FLOATS)
		pack_part(panel + j * VEC_FLOATS, line + j * VEC_FLOATS, n % VEC_FLOATS,
			  VEC_FLOATS);
}

/* A tile at the edge: by way of memory, element by element. */
TILE_FN void tile_store_part(const struct tile_out *out, vec sum[][TILE_VECS],
			     unsigned int rows, unsigned int vecs)
{
	float row[TILE_COLUMNS];
	unsigned int i, j;

	tile_for_each(i, rows) {
		float *dst = out->dst + i * out->stride;

		tile_for_each(j, vecs)
			vec_store(row + j * VEC_FLOATS, sum[i][j]);
		for (j = 0; i < out->rows && j < out->columns; j++)
			dst[j] = trn_canon(out->accumulate ? dst[j] + row[j] : row[j]);
	}
}

TILE_FN void tile_store_full(const struct tile_out *out, vec sum[][TILE_VECS],
			     unsigned int rows, unsigned int vecs)
{
	unsigned int i, j;

	tile_for_each(i, rows) {
		tile_for_each(j, vecs) {
			float *dst = out->dst + i * out->stride + j * VEC_FLOATS;
			vec v = sum[i][j];

			if (out->accumulate)
				v = vec_add(vec_load(dst), v);
			vec_store(dst, vec_canon(v));
		}
	}
}

TILE_FN void tile_store(const struct tile_out *out, vec sum[][TILE_VECS],
			unsigned int rows, unsigned int vecs)
{
	if (out->rows == rows && out->columns == vecs * VEC_FLOATS)
		tile_store_full(out, sum, rows, vecs);
	else
		tile_store_part(out, sum, rows, vecs);
}

/* What the tile will be written to, which takes longer to come than the sums do. */
TILE_FN void tile_prefetch(const struct tile_out *out, unsigned int rows)
{
	unsigned int i;

	tile_for_each(i, rows) {
		const float *dst = out->dst + (i < out->rows ? i : 0) * out->stride;

		__builtin_prefetch(dst, 1);
		__builtin_prefetch(dst + out->columns - 1, 1);
	}
}

/* The next term of each sum; a panel of the stationary operand has @k. */
TILE_FN void tile_term(vec sum[][TILE_VECS], const float *stationary, const float *moving,
		       unsigned int k, unsigned int groups, unsigned int vecs)
{
	vec column[TILE_VECS], s;
	unsigned int i, j, g;

	tile_for_each(j, vecs)
		column[j] = vec_load(moving + j * VEC_FLOATS);
	tile_for_each(g, groups) {
		tile_for_each(i, TILE_ROWS) {
			s = vec_set1(stationary[(size_t)g * k * TILE_ROWS + i]);
			tile_for_each(j, vecs)
				sum[g * TILE_ROWS + i][j] =
					vec_fma(s, column[j], sum[g * TILE_ROWS + i][j]);
		}
	}
}

/*
 * @groups panels of the stationary operand, @vecs vectors: constants; everything
 * unrolls but the loop over k, whose end a processor can foresee when it is short.
 */
TILE_FN void tile_run(const struct tile_out *out, const float *stationary,
		      const float *moving, unsigned int k, unsigned int groups,
		      unsigned int vecs)
{
	const unsigned int rows = groups * TILE_ROWS;
	vec sum[TILE_GROUPS * TILE_ROWS][TILE_VECS];
	unsigned int i, j, l;

	tile_prefetch(out, rows);
	tile_for_each(i, rows) {
		tile_for_each(j, vecs)
			sum[i][j] = vec_zero();
	}

	for (l = k; l >= TILE_TERMS; l -= TILE_TERMS) {
		tile_for_each(i, TILE_TERMS)
			tile_term(sum, stationary + i * TILE_ROWS, moving + i * TILE_COLUMNS,
				  k, groups, vecs);
		stationary += TILE_TERMS * TILE_ROWS;
		moving += TILE_TERMS * TILE_COLUMNS;
	}
	for (; l; l--, stationary += TILE_ROWS, moving += TILE_COLUMNS)
		tile_term(sum, stationary, moving, k, groups, vecs);

	tile_store(out, sum, rows, vecs);
}

/* One vector has chains enough for the processor only with more rows. */
TILE_FN unsigned int tile_narrow(struct tile_out *out, const float *stationary,
				 const float *moving, unsigned int k, unsigned int left)
{
	if (left <= TILE_ROWS) {
		tile_run(out, stationary, moving, k, 1, 1);
		return TILE_ROWS;
	}
	out->rows = left < TILE_GROUPS * TILE_ROWS ? left : TILE_GROUPS * TILE_ROWS;
	tile_run(out, stationary, moving, k, TILE_GROUPS, 1);
	return TILE_GROUPS * TILE_ROWS;
}

/* All rows of a panel of up to TILE_COLUMNS columns. */
__attribute__((target(TILE_TARGET)))
static void tile_panel(struct tile_out out, const float *stationary,
		       const float *moving, unsigned int k, unsigned int m)
{
	float *first = out.dst;
	unsigned int i, step;

	for (i = 0; i < m; i += step, stationary += (size_t)k * step) {
		step = TILE_ROWS;
		out.dst = first + i * out.stride;
		out.rows = m - i < TILE_ROWS ? m - i : TILE_ROWS;
		if (out.columns > 2 * VEC_FLOATS)
			tile_run(&out, stationary, moving, k, 1, 3);
		else if (out.columns > VEC_FLOATS)
			tile_run(&out, stationary, moving, k, 1, 2);
		else
			step = tile_narrow(&out, stationary, moving, k, m - i);
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
