/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The blocked product whose rows have lines of their own, for structured sparsity:
 * included after trn_matmul_tile.h and with its panels.
 */

/* Each row has lines of its own: @pick says how many floats from the first one. */
TILE_FN void tile_run_picked(const struct tile_out *out, const float *stationary,
			     const uint32_t *pick, const float *moving,
			     unsigned int k, unsigned int vecs)
{
	vec sum[TILE_ROWS][TILE_VECS], s;
	unsigned int i, j;

	tile_prefetch(out, TILE_ROWS);
	tile_for_each(i, TILE_ROWS) {
		tile_for_each(j, vecs)
			sum[i][j] = vec_zero();
	}
	for (; k; k--, stationary += TILE_ROWS, pick += TILE_ROWS) {
		tile_for_each(i, TILE_ROWS) {
			const float *line = moving + pick[i];

			s = vec_set1(stationary[i]);
			tile_for_each(j, vecs)
				sum[i][j] = vec_fma(s, vec_load(line + j * VEC_FLOATS),
						    sum[i][j]);
		}
	}
	tile_store(out, sum, TILE_ROWS, vecs);
}

__attribute__((target(TILE_TARGET)))
static void tile_panel_picked(struct tile_out out, const float *stationary,
			      const uint32_t *pick, const float *moving,
			      unsigned int k, unsigned int m)
{
	const size_t step = (size_t)k * TILE_ROWS;
	float *first = out.dst;
	unsigned int i;

	for (i = 0; i < m; i += TILE_ROWS, stationary += step, pick += step) {
		out.dst = first + i * out.stride;
		out.rows = m - i < TILE_ROWS ? m - i : TILE_ROWS;
		if (out.columns > 2 * VEC_FLOATS)
			tile_run_picked(&out, stationary, pick, moving, k, 3);
		else if (out.columns > VEC_FLOATS)
			tile_run_picked(&out, stationary, pick, moving, k, 2);
		else
			tile_run_picked(&out, stationary, pick, moving, k, 1);
	}
}

/* As the stationary operand; rows that are none have the first line. */
static void pack_pick(uint32_t *restrict panel, const struct trn_pick *pick,
		      unsigned int m)
{
	unsigned int first, l, i;

	for (first = 0; first < m; first += TILE_ROWS)
		for (l = 0; l < pick->terms; l++)
			for (i = 0; i < TILE_ROWS; i++)
				*panel++ = first + i < m ? TILE_COLUMNS *
					   pick->line[l * pick->stride + first + i] : 0;
}

void TILE_NAME(trn_multiply_picked)(float *dst, size_t dst_stride,
				    const float *stationary, size_t stationary_stride,
				    const struct trn_pick *pick, const float *room,
				    unsigned int k, unsigned int m, unsigned int n,
				    bool accumulate)
{
	_Alignas(64) uint32_t picks[TRN_PICK_TERMS * TRN_MATMUL_M];
	_Alignas(64) float panels[TRN_PICK_TERMS * TRN_MATMUL_M];
	struct tile_out out = { .stride = dst_stride, .accumulate = accumulate };
	unsigned int first;

	pack_stationary(panels, stationary, stationary_stride, pick->terms, m);
	pack_pick(picks, pick, m);
	for (first = 0; first < n; first += TILE_COLUMNS) {
		out.columns = n - first < TILE_COLUMNS ? n - first : TILE_COLUMNS;
		out.dst = dst + first;
		tile_panel_picked(out, panels, picks, room, pick->terms, m);
		room += panel_stride(k);
	}
}
