// SPDX-License-Identifier: MIT
/*
 * Softmax and normalisations: 128 rows at a time, one in each partition. A row that is wider than
 * a tile is gone through in parts, several times; parts are loaded again where they do not fit.
 */
#include "nk_private.h"

#define NK_COLS		4096u	/* of a part */

/**
 * struct nk_row - rows under work
 * @row, @rows: which
 * @parts: of each row
 * @stats: [rows, parts] of fp32
 */
struct nk_row {
	struct nk *nk;
	const struct nk_tensor *x;
	const struct nk_tensor *y;
	const struct nk_tensor *gamma;
	const struct nk_tensor *beta;
	uint32_t row;
	uint32_t rows;
	uint32_t parts;
	int kept;
};

static uint32_t nk_cols(const struct nk_row *r, uint32_t part)
{
	return nk_least(NK_COLS, r->x->cols - part * NK_COLS);
}

/* A row of one part stays in SBUF; others are loaded for each pass. */
static int nk_part_of_x(struct nk_row *r, uint32_t part)
{
	if (r->kept >= 0)
		return r->kept;
	return nk_load(r->nk, r->x, r->row, r->rows, part * NK_COLS, nk_cols(r, part));
}

static void nk_part_done(struct nk_row *r, int tile)
{
	if (r->kept < 0)
		nb_tile_end(r->nk->nb, tile);
}

static struct neuron_ap nk_column(struct nk_row *r, int tile, uint32_t i)
{
	return nk_part(r->nk, tile, r->rows, i, 1, 4);
}

/* Column 0 of @stats = all of its columns together. */
static void nk_combine(struct nk_row *r, enum neuron_alu op, int stats)
{
	struct nb_program *nb = r->nk->nb;
	int all;

	if (r->parts == 1)
		return;
	all = nk_tile(r->nk, r->rows, NK_FP32, 1);
	nb_reduce(nb, NK_VECTOR, op, nb_tile_ap(nb, all), nb_tile_ap(nb, stats));
	nb_copy(nb, NB_ANY_ENGINE, nk_column(r, stats, 0), nb_tile_ap(nb, all));
	nb_tile_end(nb, all);
}

static int nk_new_stats(struct nk_row *r)
{
	return nk_tile(r->nk, r->rows, NK_FP32, r->parts);
}

static int nk_work_tile(struct nk_row *r, uint32_t part)
{
	return nk_tile(r->nk, r->rows, NK_FP32, nk_cols(r, part));
}

/* --- Softmax --- */

/* Minus the greatest of each row. */
static int nk_minus_max(struct nk_row *r)
{
	struct nb_program *nb = r->nk->nb;
	int stats = nk_new_stats(r), tile;
	uint32_t i;

	for (i = 0; i < r->parts; i++) {
		tile = nk_part_of_x(r, i);
		nb_reduce(nb, NK_VECTOR, NEURON_ALU_MAX, nk_column(r, stats, i),
			  nb_tile_ap(nb, tile));
		nk_part_done(r, tile);
	}
	nk_combine(r, NEURON_ALU_MAX, stats);
	nb_tensor_scalar(nb, NK_VECTOR, nk_column(r, stats, 0), nk_column(r, stats, 0),
			 NEURON_ALU_MULTIPLY, -1.0f, NEURON_ALU_BYPASS, 0.0f);
	return stats;
}

static int nk_exp(struct nk_row *r, uint32_t i, int minus_max)
{
	struct nb_program *nb = r->nk->nb;
	int tile = nk_part_of_x(r, i), out = nk_work_tile(r, i);

	nb_activate(nb, NEURON_ACT_EXP, nb_tile_ap(nb, out), nb_tile_ap(nb, tile), 1.0f,
		    nk_column(r, minus_max, 0));
	nk_part_done(r, tile);
	return out;
}

static void nk_softmax_write(struct nk_row *r, uint32_t i, int exp, int scale)
{
	struct nb_program *nb = r->nk->nb;
	int out = nk_tile(r->nk, r->rows, r->y->dtype, nk_cols(r, i));

	nb_tensor_scalar_any(nb, NK_VECTOR, nb_tile_ap(nb, out), nb_tile_ap(nb, exp),
			     NEURON_ALU_MULTIPLY, nb_column(nk_column(r, scale, 0)),
			     NEURON_ALU_BYPASS, nb_none(), NULL);
	nk_store(r->nk, r->y, out, r->row, r->rows, i * NK_COLS, nk_cols(r, i));
	nb_tile_end(nb, out);
}

static void nk_softmax_rows(struct nk_row *r)
{
	int minus_max = nk_minus_max(r), sums = nk_new_stats(r), exp = -1;
	struct nb_program *nb = r->nk->nb;
	uint32_t i;

	for (i = 0; i < r->parts; i++) {
		exp = nk_exp(r, i, minus_max);
		nb_reduce(nb, NK_VECTOR, NEURON_ALU_ADD, nk_column(r, sums, i),
			  nb_tile_ap(nb, exp));
		if (r->parts > 1)
			nb_tile_end(nb, exp);
	}
	nk_combine(r, NEURON_ALU_ADD, sums);
	nb_reciprocal(nb, nk_column(r, sums, 0), nk_column(r, sums, 0));
	for (i = 0; i < r->parts; i++) {
		if (r->parts > 1)
			exp = nk_exp(r, i, minus_max);
		nk_softmax_write(r, i, exp, sums);
		nb_tile_end(nb, exp);
	}
	nb_tile_end(nb, sums);
	nb_tile_end(nb, minus_max);
}

/* --- Normalisations --- */

/* Minus the mean of each row. */
static int nk_minus_mean(struct nk_row *r)
{
	struct nb_program *nb = r->nk->nb;
	int stats = nk_new_stats(r), tile;
	uint32_t i;

	for (i = 0; i < r->parts; i++) {
		tile = nk_part_of_x(r, i);
		nb_reduce(nb, NK_VECTOR, NEURON_ALU_ADD, nk_column(r, stats, i),
			  nb_tile_ap(nb, tile));
		nk_part_done(r, tile);
	}
	nk_combine(r, NEURON_ALU_ADD, stats);
	nb_tensor_scalar(nb, NK_VECTOR, nk_column(r, stats, 0), nk_column(r, stats, 0),
			 NEURON_ALU_MULTIPLY, -1.0f / r->x->cols, NEURON_ALU_BYPASS, 0.0f);
	return stats;
}

/* A part of the rows, plus a column where there is one. */
static int nk_shifted(struct nk_row *r, uint32_t i, int column)
{
	struct nb_program *nb = r->nk->nb;
	int tile = nk_part_of_x(r, i), out = nk_work_tile(r, i);

	if (column < 0)
		nb_copy(nb, NB_ANY_ENGINE, nb_tile_ap(nb, out), nb_tile_ap(nb, tile));
	else
		nb_tensor_scalar_any(nb, NK_VECTOR, nb_tile_ap(nb, out), nb_tile_ap(nb, tile),
				     NEURON_ALU_ADD, nb_column(nk_column(r, column, 0)),
				     NEURON_ALU_BYPASS, nb_none(), NULL);
	nk_part_done(r, tile);
	return out;
}

/* 1 / sqrt(mean of the squares + epsilon) */
static int nk_inverse_root(struct nk_row *r, int minus_mean, float epsilon)
{
	struct nb_program *nb = r->nk->nb;
	int stats = nk_new_stats(r), x, square;
	uint32_t i;

	for (i = 0; i < r->parts; i++) {
		x = nk_shifted(r, i, minus_mean);
		square = nk_work_tile(r, i);
		nb_tensor_tensor(nb, NK_VECTOR, NEURON_ALU_MULTIPLY, nb_tile_ap(nb, square),
				 nb_tile_ap(nb, x), nb_tile_ap(nb, x));
		nb_reduce(nb, NK_VECTOR, NEURON_ALU_ADD, nk_column(r, stats, i),
			  nb_tile_ap(nb, square));
		nb_tile_end(nb, square);
		nb_tile_end(nb, x);
	}
	nk_combine(r, NEURON_ALU_ADD, stats);
	nb_tensor_scalar(nb, NK_VECTOR, nk_column(r, stats, 0), nk_column(r, stats, 0),
			 NEURON_ALU_MULTIPLY, 1.0f / r->x->cols, NEURON_ALU_ADD, epsilon);
	nb_activation(nb, NEURON_ACT_SQRT, nk_column(r, stats, 0), nk_column(r, stats, 0),
		      nb_number(1.0f), nb_number(0.0f), 0.0f, NULL);
	nb_reciprocal(nb, nk_column(r, stats, 0), nk_column(r, stats, 0));
	return stats;
}

/* x = x op the row of @t; without one it stays. */
static void nk_with_row(struct nk_row *r, enum neuron_alu op, int x, const struct nk_tensor *t,
			uint32_t i)
{
	struct nb_program *nb = r->nk->nb;
	int row;

	if (!t)
		return;
	row = nk_load_row(r->nk, t, 0, r->rows, i * NK_COLS, nk_cols(r, i));
	nb_tensor_tensor(nb, NK_VECTOR, op, nb_tile_ap(nb, x), nb_tile_ap(nb, x),
			 nb_tile_ap(nb, row));
	nb_tile_end(nb, row);
}

static void nk_norm_write(struct nk_row *r, uint32_t i, int minus_mean, int scale)
{
	struct nb_program *nb = r->nk->nb;
	int x = nk_shifted(r, i, minus_mean), out;

	nb_tensor_scalar_any(nb, NK_VECTOR, nb_tile_ap(nb, x), nb_tile_ap(nb, x),
			     NEURON_ALU_MULTIPLY, nb_column(nk_column(r, scale, 0)),
			     NEURON_ALU_BYPASS, nb_none(), NULL);
	nk_with_row(r, NEURON_ALU_MULTIPLY, x, r->gamma, i);
	nk_with_row(r, NEURON_ALU_ADD, x, r->beta, i);
	out = nk_tile(r->nk, r->rows, r->y->dtype, nk_cols(r, i));
	/* The vector engine has most to do, and what it has computed any engine can round. */
	nb_copy(nb, NK_SCALAR, nb_tile_ap(nb, out), nb_tile_ap(nb, x));
	nk_store(r->nk, r->y, out, r->row, r->rows, i * NK_COLS, nk_cols(r, i));
	nb_tile_end(nb, out);
	nb_tile_end(nb, x);
}

static void nk_norm_rows(struct nk_row *r, bool mean, float epsilon)
{
	int minus_mean = mean ? nk_minus_mean(r) : -1;
	int scale = nk_inverse_root(r, minus_mean, epsilon);
	uint32_t i;

	for (i = 0; i < r->parts; i++)
		nk_norm_write(r, i, minus_mean, scale);
	nb_tile_end(r->nk->nb, scale);
	if (mean)
		nb_tile_end(r->nk->nb, minus_mean);
}

/* --- Rows --- */

static int nk_check_rows(struct nk_row *r, const char *kernel)
{
	const struct nk_tensor *row[] = { r->gamma, r->beta };
	unsigned int i;

	if (nk_check(r->nk, kernel, "Y", r->y) || nk_check(r->nk, kernel, "X", r->x))
		return -1;
	if (r->x->rows != r->y->rows || r->x->cols != r->y->cols)
		return nk_fail(r->nk, kernel, "Y is %u x %u, but X is %u x %u", r->y->rows,
			       r->y->cols, r->x->rows, r->x->cols);
	for (i = 0; i < 2; i++) {
		if (!row[i])
			continue;
		if (nk_check(r->nk, kernel, i ? "beta" : "gamma", row[i]))
			return -1;
		if (row[i]->rows != 1 || row[i]->cols != r->x->cols)
			return nk_fail(r->nk, kernel, "%s is %u x %u, but X needs 1 x %u",
				       i ? "beta" : "gamma", row[i]->rows, row[i]->cols,
				       r->x->cols);
	}
	return 0;
}

static void nk_begin_rows(struct nk_row *r)
{
	r->rows = nk_least(NK_ROWS, r->x->rows - r->row);
	r->parts = nk_parts(r->x->cols, NK_COLS);
	r->kept = -1;
	if (r->parts == 1)
		r->kept = nk_load(r->nk, r->x, r->row, r->rows, 0, r->x->cols);
}

static void nk_end_rows(struct nk_row *r)
{
	if (r->kept >= 0)
		nb_tile_end(r->nk->nb, r->kept);
}

int nk_softmax(struct nk *nk, struct nk_tensor y, struct nk_tensor x)
{
	struct nk_row r = { .nk = nk, .x = &x, .y = &y };

	if (nk_check_rows(&r, "softmax"))
		return -1;
	for (r.row = 0; r.row < x.rows; r.row += NK_ROWS) {
		nk_begin_rows(&r);
		nk_softmax_rows(&r);
		nk_end_rows(&r);
	}
	return nb_error(nk->nb) ? -1 : 0;
}

static int nk_normalise(struct nk_row *r, const char *kernel, bool mean, float epsilon)
{
	if (nk_check_rows(r, kernel))
		return -1;
	for (r->row = 0; r->row < r->x->rows; r->row += NK_ROWS) {
		nk_begin_rows(r);
		nk_norm_rows(r, mean, epsilon);
		nk_end_rows(r);
	}
	return nb_error(r->nk->nb) ? -1 : 0;
}

int nk_layernorm(struct nk *nk, struct nk_tensor y, struct nk_tensor x,
		 const struct nk_tensor *gamma, const struct nk_tensor *beta, float epsilon)
{
	struct nk_row r = { .nk = nk, .x = &x, .y = &y, .gamma = gamma, .beta = beta };

	return nk_normalise(&r, "layernorm", true, epsilon);
}

int nk_rmsnorm(struct nk *nk, struct nk_tensor y, struct nk_tensor x,
	       const struct nk_tensor *gamma, float epsilon)
{
	struct nk_row r = { .nk = nk, .x = &x, .y = &y, .gamma = gamma };

	return nk_normalise(&r, "rmsnorm", false, epsilon);
}
