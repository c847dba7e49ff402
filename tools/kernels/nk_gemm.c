// SPDX-License-Identifier: MIT
/*
 * Products. C is worked out in blocks, whose operands are loaded as tiles of 128 terms. Each 128
 * rows of C get their sums in banks of PSUM, one after the other, so that the banks of the rows
 * before are emptied meanwhile. With many terms, of which a block is at hand at a time, the sums
 * of the blocks before are in SBUF.
 */
#include "nk_private.h"

#define KERNEL		"gemm"
#define NK_N_BLOCK	1024u	/* columns of C: two banks, a quarter of PSUM */
#define NK_K_BLOCK	16u	/* tiles of terms */
#define NK_M_PARTIAL	4u	/* tiles of rows, when there are several blocks of terms */
#define NK_PIECE	2048u	/* bytes of a row that move at the full rate on all chips */
#define NK_MAX_BANKS	(NK_N_BLOCK / NK_BANK)
/* Rows of C for which A is loaded at a time: the first ones are not to wait for all of it. */
#define NK_A_PART	512u
#define NK_A_PARTS	64u

/**
 * struct nk_product - a product under work
 * @at: A as K x M
 * @row, @rows, @col, @cols, @term, @terms: the block
 * @a_tile, @b_tile: of each 128 terms; of A in parts
 * @sum: of each 128 rows: what earlier blocks of terms gave; -1: there are none
 */
struct nk_product {
	struct nk *nk;
	struct nk_tensor c;
	struct nk_tensor a;
	struct nk_tensor b;
	bool a_turn;
	bool b_turn;
	uint32_t k;
	uint32_t row, rows;
	uint32_t col, cols;
	uint32_t term, terms;
	int a_tile[NK_K_BLOCK][NK_A_PARTS];
	int b_tile[NK_K_BLOCK];
	int sum[NK_M_PARTIAL];
};

/* Terms first: @cols columns of a tensor that has terms as rows, or as columns (@turn). */
static int nk_load_terms(struct nk_product *p, const struct nk_tensor *t, bool turn,
			 uint32_t term, uint32_t terms, uint32_t col, uint32_t cols)
{
	struct nk *nk = p->nk;
	int tile;

	if (!turn)
		return nk_load(nk, t, term, terms, col, cols);
	tile = nk_tile(nk, terms, t->dtype, cols);
	nb_dma_transpose(nk->nb, nk->in, nb_tile_side(nk->nb, tile),
			 nk_block(t, col, cols, term, terms), t->dtype, -1);
	return tile;
}

static uint32_t nk_terms(const struct nk_product *p, uint32_t i)
{
	return nk_least(NK_ROWS, p->terms - i * NK_ROWS);
}

static void nk_load_a(struct nk_product *p)
{
	uint32_t i, j;

	for (i = 0; i < nk_parts(p->terms, NK_ROWS); i++)
		for (j = 0; j * NK_A_PART < p->rows; j++)
			p->a_tile[i][j] = nk_load_terms(p, &p->a, p->a_turn, p->term + i * NK_ROWS,
							nk_terms(p, i), p->row + j * NK_A_PART,
							nk_least(NK_A_PART,
								 p->rows - j * NK_A_PART));
}

static void nk_end_a(struct nk_product *p)
{
	uint32_t i, j;

	for (i = 0; i < nk_parts(p->terms, NK_ROWS); i++)
		for (j = 0; j * NK_A_PART < p->rows; j++)
			nb_tile_end(p->nk->nb, p->a_tile[i][j]);
}

static void nk_load_b(struct nk_product *p)
{
	uint32_t i;

	for (i = 0; i < nk_parts(p->terms, NK_ROWS); i++)
		p->b_tile[i] = nk_load_terms(p, &p->b, p->b_turn, p->term + i * NK_ROWS,
					     nk_terms(p, i), p->col, p->cols);
}

static void nk_end_b(struct nk_product *p)
{
	uint32_t i;

	for (i = 0; i < nk_parts(p->terms, NK_ROWS); i++)
		nb_tile_end(p->nk->nb, p->b_tile[i]);
}

/* The products of @rows rows from @row on, into @bank. */
static void nk_sums(struct nk_product *p, uint32_t row, uint32_t rows, const int *bank)
{
	uint32_t size = nk_size(&p->a), i, terms, n, cols;
	struct nb_program *nb = p->nk->nb;

	for (i = 0; i < nk_parts(p->terms, NK_ROWS); i++) {
		terms = nk_terms(p, i);
		nb_load_stationary(nb, nk_part(p->nk, p->a_tile[i][(row - p->row) / NK_A_PART],
					       terms, (row - p->row) % NK_A_PART, rows, size));
		for (n = 0; n * NK_BANK < p->cols; n++) {
			cols = nk_least(NK_BANK, p->cols - n * NK_BANK);
			nb_matmul(nb, nb_tile_ap(nb, bank[n]),
				  nk_part(p->nk, p->b_tile[i], terms, n * NK_BANK, cols, size),
				  i > 0);
		}
	}
}

/* From a bank to @out, with the sums of the blocks before, if there are any. */
static void nk_empty(struct nk_product *p, int bank, int sum, int out, uint32_t rows,
		     uint32_t at, uint32_t cols, uint32_t size)
{
	struct nb_program *nb = p->nk->nb;
	struct neuron_ap to = nk_part(p->nk, out, rows, at, cols, size);

	if (sum < 0)
		nb_copy(nb, NB_ANY_ENGINE, to, nb_tile_ap(nb, bank));
	else
		nb_tensor_tensor(nb, NK_VECTOR, NEURON_ALU_ADD, to, nb_tile_ap(nb, bank),
				 nk_part(p->nk, sum, rows, at, cols, 4));
}

/*
 * Nothing comes behind these rows of the block that could hide their store, so each bank is stored
 * by itself. Not if that makes pieces so short that a DMA engine takes longer for them.
 */
static bool nk_is_end(const struct nk_product *p, uint32_t row, uint32_t rows)
{
	return row + rows == p->c.rows && p->col + p->cols == p->c.cols &&
	       NK_BANK * nk_size(&p->c) >= NK_PIECE;
}

/* @cols columns of C that are ready, from column @at of the block and of the tile @out on. */
static void nk_store_columns(struct nk_product *p, int out, uint32_t row, uint32_t rows,
			     uint32_t at, uint32_t cols)
{
	nb_dma(p->nk->nb, p->nk->out, nk_block(&p->c, row, rows, p->col + at, cols),
	       nk_side(p->nk, out, rows, at, cols, nk_size(&p->c)), -1);
}

/* Rows of the block, 128 at a time: their sums, and where they go. */
static void nk_rows_of_block(struct nk_product *p, uint32_t i)
{
	uint32_t row = p->row + i * NK_ROWS, rows = nk_least(NK_ROWS, p->row + p->rows - row);
	bool first = !p->term, last = p->term + p->terms == p->k;
	bool end = last && nk_is_end(p, row, rows);
	int bank[NK_MAX_BANKS], out, before = first ? -1 : p->sum[i];
	struct nk_tensor sums = { .dtype = NK_FP32 };
	const struct nk_tensor *to = last ? &p->c : &sums;
	struct nb_program *nb = p->nk->nb;
	uint32_t n, cols;

	for (n = 0; n * NK_BANK < p->cols; n++)
		bank[n] = nb_tile_new(nb, NB_PSUM, rows, NK_FP32,
				      nk_least(NK_BANK, p->cols - n * NK_BANK));
	nk_sums(p, row, rows, bank);
	out = first || last ? nk_tile(p->nk, rows, to->dtype, p->cols) : before;
	for (n = 0; n * NK_BANK < p->cols; n++) {
		cols = nk_least(NK_BANK, p->cols - n * NK_BANK);
		nk_empty(p, bank[n], before, out, rows, n * NK_BANK, cols, nk_size(to));
		nb_tile_end(nb, bank[n]);
		if (end)
			nk_store_columns(p, out, row, rows, n * NK_BANK, cols);
	}
	if (!last) {
		p->sum[i] = out;
		return;
	}
	if (!end)
		nk_store_columns(p, out, row, rows, 0, p->cols);
	nb_tile_end(nb, out);
	if (before >= 0)
		nb_tile_end(nb, before);
}

/* The columns of the block, with the terms at hand. */
static void nk_columns(struct nk_product *p)
{
	uint32_t i;

	for (i = 0; i * NK_ROWS < p->rows; i++)
		nk_rows_of_block(p, i);
	nk_end_b(p);
}

/*
 * All terms fit in SBUF: A is loaded once for all columns. B is loaded first: the load of the array
 * waits for A, and A then says that B is there too, because one set of queues moves both in order.
 */
static void nk_rows_at_once(struct nk_product *p)
{
	p->terms = p->k;
	for (p->col = 0; p->col < p->c.cols; p->col += NK_N_BLOCK) {
		p->cols = nk_least(NK_N_BLOCK, p->c.cols - p->col);
		nk_load_b(p);
		if (!p->col)
			nk_load_a(p);
		nk_columns(p);
	}
	nk_end_a(p);
}

static void nk_rows_in_parts(struct nk_product *p)
{
	const uint32_t block = NK_K_BLOCK * NK_ROWS;

	for (p->col = 0; p->col < p->c.cols; p->col += NK_N_BLOCK) {
		p->cols = nk_least(NK_N_BLOCK, p->c.cols - p->col);
		for (p->term = 0; p->term < p->k; p->term += block) {
			p->terms = nk_least(block, p->k - p->term);
			nk_load_b(p);
			nk_load_a(p);
			nk_columns(p);
			nk_end_a(p);
		}
		p->term = 0;
	}
}

/* As many rows of C as there is room for beside two blocks of B and a few tiles of results. */
static uint32_t nk_block_rows(const struct nk_product *p)
{
	uint32_t size = nk_size(&p->a), tiles = nk_parts(p->k, NK_ROWS);
	uint32_t cols = nk_least(p->c.cols, NK_N_BLOCK), used, rows;

	if (tiles > NK_K_BLOCK)
		return NK_M_PARTIAL * NK_ROWS;
	used = 4 * cols * nk_size(&p->c) + 2 * tiles * cols * size;
	rows = p->nk->sbuf < used ? 0 : (p->nk->sbuf - used) / (tiles * size);
	rows = nk_least(rows / NK_ROWS * NK_ROWS, NK_A_PART * NK_A_PARTS);
	return rows ? rows : NK_ROWS;
}

/* Single bytes cannot be transposed by DMA. */
static struct nk_tensor nk_widen(struct nk *nk, const struct nk_tensor *t)
{
	struct nk_tensor wide = nk_scratch(nk, NEURON_DTYPE_BF16, t->rows, t->cols);
	uint32_t row, col, rows, cols;
	int from, to;

	for (row = 0; row < t->rows; row += NK_ROWS)
		for (col = 0; col < t->cols; col += NK_N_BLOCK) {
			rows = nk_least(NK_ROWS, t->rows - row);
			cols = nk_least(NK_N_BLOCK, t->cols - col);
			from = nk_load(nk, t, row, rows, col, cols);
			to = nk_tile(nk, rows, NEURON_DTYPE_BF16, cols);
			nb_copy(nk->nb, NB_ANY_ENGINE, nb_tile_ap(nk->nb, to),
				nb_tile_ap(nk->nb, from));
			nk_store(nk, &wide, to, row, rows, col, cols);
			nb_tile_end(nk->nb, from);
			nb_tile_end(nk->nb, to);
		}
	return wide;
}

static int nk_check_product(struct nk_product *p)
{
	uint32_t m = p->a_turn ? p->a.rows : p->a.cols, n = p->b_turn ? p->b.rows : p->b.cols;
	uint32_t k = p->b_turn ? p->b.cols : p->b.rows;

	if (nk_check(p->nk, KERNEL, "C", &p->c) || nk_check(p->nk, KERNEL, "A", &p->a) ||
	    nk_check(p->nk, KERNEL, "B", &p->b))
		return -1;
	if (p->a.dtype != p->b.dtype)
		return nk_fail(p->nk, KERNEL, "A and B have different types");
	if (k != p->k)
		return nk_fail(p->nk, KERNEL, "A has %u terms and B has %u", p->k, k);
	if (p->c.rows != m || p->c.cols != n)
		return nk_fail(p->nk, KERNEL, "C is %u x %u, but A and B make it %u x %u",
			       p->c.rows, p->c.cols, m, n);
	return 0;
}

int nk_gemm(struct nk *nk, struct nk_tensor c, struct nk_tensor a, struct nk_tensor b,
	    unsigned int flags)
{
	struct nk_product p = {
		.nk = nk, .c = c, .a = a, .b = b,
		.a_turn = !(flags & NK_A_TRANSPOSED),
		.b_turn = flags & NK_B_TRANSPOSED,
		.k = flags & NK_A_TRANSPOSED ? a.rows : a.cols,
	};
	uint32_t rows;

	if (nk_check_product(&p))
		return -1;
	if (nk_size(&a) == 1 && (p.a_turn || p.b_turn)) {
		p.a = nk_widen(nk, &a);
		p.b = nk_widen(nk, &b);
	}
	rows = nk_block_rows(&p);
	for (p.row = 0; p.row < c.rows; p.row += rows) {
		p.rows = nk_least(rows, c.rows - p.row);
		if (nk_parts(p.k, NK_ROWS) <= NK_K_BLOCK)
			nk_rows_at_once(&p);
		else
			nk_rows_in_parts(&p);
	}
	return nb_error(nk->nb) ? -1 : 0;
}
