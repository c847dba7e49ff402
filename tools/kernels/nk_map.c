// SPDX-License-Identifier: MIT
/* Element by element, reductions of rows, and transpositions. */
#include "nk_private.h"

#define NK_COLS		4096u	/* of a tile */

/* A block of @rows x @cols at (@row, @col) of what a kernel goes through. */
struct nk_place {
	uint32_t row;
	uint32_t rows;
	uint32_t col;
	uint32_t cols;
};

/* The next block; false: that was the last. Begins with all zero. */
static bool nk_next(const struct nk_tensor *t, struct nk_place *at)
{
	if (at->rows)
		at->col += at->cols;
	if (at->col >= t->cols) {
		at->col = 0;
		at->row += at->rows;
	}
	if (at->row >= t->rows)
		return false;
	at->rows = nk_least(NK_ROWS, t->rows - at->row);
	at->cols = nk_least(NK_COLS, t->cols - at->col);
	return true;
}

static int nk_check_same(struct nk *nk, const char *kernel, const char *name,
			 const struct nk_tensor *y, const struct nk_tensor *x)
{
	if (nk_check(nk, kernel, name, x))
		return -1;
	if (x->rows != y->rows || x->cols != y->cols)
		return nk_fail(nk, kernel, "%s is %u x %u, but Y is %u x %u", name, x->rows,
			       x->cols, y->rows, y->cols);
	return 0;
}

static int nk_load_at(struct nk *nk, const struct nk_tensor *t, const struct nk_place *at)
{
	return nk_load(nk, t, at->row, at->rows, at->col, at->cols);
}

static void nk_store_at(struct nk *nk, const struct nk_tensor *t, int tile,
			const struct nk_place *at)
{
	nk_store(nk, t, tile, at->row, at->rows, at->col, at->cols);
	nb_tile_end(nk->nb, tile);
}

int nk_activation(struct nk *nk, enum neuron_act func, struct nk_tensor y, struct nk_tensor x,
		  float scale, float bias)
{
	struct nk_place at = { 0 };
	int from, to, column;

	if (nk_check(nk, "activation", "Y", &y) ||
	    nk_check_same(nk, "activation", "X", &y, &x))
		return -1;
	column = nk_tile(nk, NK_ROWS, NK_FP32, 1);
	nb_memset(nk->nb, NK_VECTOR, nb_tile_ap(nk->nb, column), bias);
	while (nk_next(&y, &at)) {
		from = nk_load_at(nk, &x, &at);
		to = nk_tile(nk, at.rows, y.dtype, at.cols);
		nb_activate(nk->nb, func, nb_tile_ap(nk->nb, to), nb_tile_ap(nk->nb, from), scale,
			    nk_part(nk, column, at.rows, 0, 1, 4));
		nb_tile_end(nk->nb, from);
		nk_store_at(nk, &y, to, &at);
	}
	nb_tile_end(nk->nb, column);
	return nb_error(nk->nb) ? -1 : 0;
}

/* One row stands for all rows, one column for all columns. */
static bool nk_is_row(const struct nk_tensor *y, const struct nk_tensor *b)
{
	return b->rows == 1 && y->rows > 1;
}

static bool nk_is_column(const struct nk_tensor *y, const struct nk_tensor *b)
{
	return b->cols == 1 && y->cols > 1 && !nk_is_row(y, b);
}

static int nk_check_second(struct nk *nk, const struct nk_tensor *y, const struct nk_tensor *b)
{
	bool row = nk_is_row(y, b), column = nk_is_column(y, b);

	if (!row && !column)
		return nk_check_same(nk, "binary", "B", y, b);
	if (nk_check(nk, "binary", "B", b))
		return -1;
	if (row && b->cols != y->cols)
		return nk_fail(nk, "binary", "B has %u columns and Y has %u", b->cols, y->cols);
	if (column && b->rows != y->rows)
		return nk_fail(nk, "binary", "B has %u rows and Y has %u", b->rows, y->rows);
	return 0;
}

/* @to = @x op what belongs to it of B. */
static void nk_binary_block(struct nk *nk, enum neuron_alu op, struct neuron_ap to,
			    struct neuron_ap x, const struct nk_tensor *y,
			    const struct nk_tensor *b, const struct nk_place *at)
{
	int z;

	if (nk_is_column(y, b)) {
		z = nk_load_column(nk, b, at->row, at->rows);
		nb_tensor_column(nk->nb, NK_VECTOR, op, to, x, nb_tile_ap(nk->nb, z));
	} else {
		z = nk_is_row(y, b) ? nk_load_row(nk, b, 0, at->rows, at->col, at->cols) :
				      nk_load_at(nk, b, at);
		nb_tensor_tensor(nk->nb, NK_VECTOR, op, to, x, nb_tile_ap(nk->nb, z));
	}
	nb_tile_end(nk->nb, z);
}

int nk_binary(struct nk *nk, enum neuron_alu op, struct nk_tensor y, struct nk_tensor a,
	      struct nk_tensor b)
{
	struct nk_place at = { 0 };
	int x, to;

	if (nk_check(nk, "binary", "Y", &y) || nk_check_same(nk, "binary", "A", &y, &a) ||
	    nk_check_second(nk, &y, &b))
		return -1;
	while (nk_next(&y, &at)) {
		x = nk_load_at(nk, &a, &at);
		to = nk_tile(nk, at.rows, y.dtype, at.cols);
		nk_binary_block(nk, op, nb_tile_ap(nk->nb, to), nb_tile_ap(nk->nb, x), &y, &b,
				&at);
		nb_tile_end(nk->nb, x);
		nk_store_at(nk, &y, to, &at);
	}
	return nb_error(nk->nb) ? -1 : 0;
}

/* Parts of the rows, one behind the other, in the columns of @stats. */
static void nk_reduce_parts(struct nk *nk, enum neuron_alu op, const struct nk_tensor *x,
			    const struct nk_place *rows, int stats)
{
	struct nk_place at = *rows;
	uint32_t i;
	int tile;

	for (i = 0; i * NK_COLS < x->cols; i++) {
		at.col = i * NK_COLS;
		at.cols = nk_least(NK_COLS, x->cols - at.col);
		tile = nk_load_at(nk, x, &at);
		nb_reduce(nk->nb, NK_VECTOR, op, nk_part(nk, stats, at.rows, i, 1, 4),
			  nb_tile_ap(nk->nb, tile));
		nb_tile_end(nk->nb, tile);
	}
}

int nk_reduce(struct nk *nk, enum neuron_alu op, struct nk_tensor y, struct nk_tensor x)
{
	uint32_t parts = nk_parts(x.cols, NK_COLS);
	struct nk_place at = { 0 };
	int stats, to;

	if (nk_check(nk, "reduce", "Y", &y) || nk_check(nk, "reduce", "X", &x))
		return -1;
	if (y.cols != 1 || y.rows != x.rows)
		return nk_fail(nk, "reduce", "Y is %u x %u, but X makes it %u x 1", y.rows, y.cols,
			       x.rows);
	while (nk_next(&y, &at)) {
		stats = nk_tile(nk, at.rows, NK_FP32, parts);
		nk_reduce_parts(nk, op, &x, &at, stats);
		to = nk_tile(nk, at.rows, y.dtype, 1);
		nb_reduce(nk->nb, NK_VECTOR, op, nb_tile_ap(nk->nb, to),
			  nb_tile_ap(nk->nb, stats));
		nb_tile_end(nk->nb, stats);
		at.col = 0;
		at.cols = 1;
		nk_store_at(nk, &y, to, &at);
	}
	return nb_error(nk->nb) ? -1 : 0;
}

int nk_transpose(struct nk *nk, struct nk_tensor y, struct nk_tensor x)
{
	struct nk_place at = { 0 };
	int tile;

	if (nk_check(nk, "transpose", "Y", &y) || nk_check(nk, "transpose", "X", &x))
		return -1;
	if (y.rows != x.cols || y.cols != x.rows || y.dtype != x.dtype)
		return nk_fail(nk, "transpose", "Y is not %u x %u of the type of X", x.cols,
			       x.rows);
	if (nk_size(&x) == 1)
		return nk_fail(nk, "transpose", "elements of 1 byte cannot be transposed by DMA");
	while (nk_next(&y, &at)) {
		tile = nk_tile(nk, at.rows, y.dtype, at.cols);
		nb_dma_transpose(nk->nb, nk->in, nb_tile_side(nk->nb, tile),
				 nk_block(&x, at.col, at.cols, at.row, at.rows), x.dtype, -1);
		nk_store_at(nk, &y, tile, &at);
	}
	return nb_error(nk->nb) ? -1 : 0;
}
