// SPDX-License-Identifier: MIT
/*
 * A product by hand, for operands that fit in SBUF. Loads are all started at once, in the order
 * in which they are needed. The first eight banks of sums grow together, by 128 terms at a time,
 * so that the array works while the operands come. Each later bank is filled at once, while the
 * one before it is emptied.
 */
#include "hand.h"

#define BANK		512u	/* columns of a bank of PSUM */
#define BANKS		8u
#define MAX_TERMS	16u	/* tiles of 128 */
#define MAX_BLOCKS	4u	/* of 1,024 columns */
#define MAX_OUT		8u	/* rows of results that wait for their stores */
#define PSUM_BANK	2048u	/* bytes */

/**
 * struct product - under work
 * @move: the queues of all transfers
 * @terms: tiles of 128 terms
 * @a_cols, @b_cols: columns of a tile of A, which is a part, and of B, which is a block
 * @parts, @blocks: how many of these there are
 * @a, @b, @result: tiles
 * @a_loaded, @b_loaded: of each tile that somebody waits for; -1: nobody does any more
 * @summed: counts banks that are full
 * @emptied: of the vector and the scalar engine: counts those that they have copied
 * @stored: of each result
 * @unit, @units: bank that is next, and all of them
 * @row, @rows: the same of rows of banks; @results of them wait for their stores at most
 */
struct product {
	struct hand *hand;
	const struct hand_gemm *what;
	int move;
	uint32_t terms;
	uint32_t a_cols;
	uint32_t b_cols;
	uint32_t parts;
	uint32_t blocks;
	struct hand_tile a[MAX_TERMS][MAX_BLOCKS];
	struct hand_tile b[MAX_TERMS][MAX_BLOCKS];
	struct hand_tile result[MAX_OUT];
	int a_loaded[MAX_TERMS][MAX_BLOCKS];
	int b_loaded[MAX_TERMS][MAX_BLOCKS];
	int summed;
	int emptied[2];
	int stored[MAX_OUT];
	uint32_t unit;
	uint32_t units;
	uint32_t row;
	uint32_t rows;
	uint32_t results;
};

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* --- Loads --- */

static void load(struct product *p, int from, uint32_t columns, uint32_t term, uint32_t col,
		 const struct hand_tile *tile, int sem)
{
	uint32_t size = hand_size(p->what->dtype);
	uint64_t pitch = (uint64_t)columns * size;

	nb_dma(p->hand->nb, p->move, hand_side(p->hand, tile),
	       nb_rows(from, term * HAND_ROWS * pitch + col * size, tile->cols * size, HAND_ROWS,
		       pitch), sem);
}

static void load_a(struct product *p, uint32_t term, uint32_t part)
{
	struct hand_tile *tile = &p->a[term][part];

	*tile = hand_tile(p->hand, p->what->dtype,
			  least(p->a_cols, p->what->m - part * p->a_cols));
	load(p, p->what->a, p->what->m, term, part * p->a_cols, tile, p->a_loaded[term][part]);
}

static void load_b(struct product *p, uint32_t term, uint32_t block)
{
	struct hand_tile *tile = &p->b[term][block];

	*tile = hand_tile(p->hand, p->what->dtype,
			  least(p->b_cols, p->what->n - block * p->b_cols));
	load(p, p->what->b, p->what->n, term, block * p->b_cols, tile, p->b_loaded[term][block]);
}

/* A queue does one load after the other: that of B also says that the one of A before is over. */
static void load_all(struct product *p)
{
	uint32_t term, i;

	for (term = 0; term < p->terms; term++) {
		p->a_loaded[term][0] = -1;
		for (i = 1; i < p->parts; i++)
			p->a_loaded[term][i] = hand_sem(p->hand);
		for (i = 0; i < p->blocks; i++)
			p->b_loaded[term][i] = hand_sem(p->hand);
		load_a(p, term, 0);
		load_b(p, term, 0);
	}
	for (i = 1; i < p->parts; i++)
		for (term = 0; term < p->terms; term++)
			load_a(p, term, i);
	for (i = 1; i < p->blocks; i++)
		for (term = 0; term < p->terms; term++)
			load_b(p, term, i);
}

/* --- Sums --- */

/* The last one is the scalar engine's, which is the faster one. */
static unsigned int emptier(const struct product *p, uint32_t unit)
{
	return (p->units - 1 - unit) % 2 ? 0 : 1;
}

/* How many banks that engine has emptied with this one. */
static uint32_t emptied_with(const struct product *p, uint32_t unit)
{
	return unit / 2 + (emptier(p, unit) == emptier(p, 0) ? 1 : (unit % 2));
}

static struct neuron_ap bank_of(uint32_t unit)
{
	return nb_psum_tile(0, HAND_ROWS, unit % BANKS * PSUM_BANK, NEURON_DTYPE_FP32, BANK);
}

/* Once for each tile. */
static void wait_loaded(struct product *p, struct neuron_inst *inst, int *loaded)
{
	if (*loaded >= 0)
		hand_wait(p->hand, inst, *loaded, HAND_QUEUES);
	*loaded = -1;
}

/* Both operands are there: of the two that the first use waits for one is always known to be. */
static void load_stationary(struct product *p, uint32_t term, uint32_t row, uint32_t block)
{
	uint32_t part = row * HAND_ROWS / p->a_cols;
	struct neuron_inst *inst;

	inst = nb_load_stationary(p->hand->nb,
				  hand_part(&p->a[term][part], row * HAND_ROWS % p->a_cols,
					    HAND_ROWS));
	wait_loaded(p, inst, &p->a_loaded[term][part]);
	wait_loaded(p, inst, &p->b_loaded[term][block]);
}

/* 128 terms into the bank of @unit, which is column block @col of 512. */
static void sum(struct product *p, uint32_t term, uint32_t col, uint32_t unit)
{
	uint32_t block = col * BANK / p->b_cols;
	struct neuron_inst *inst;

	inst = nb_matmul(p->hand->nb, bank_of(unit),
			 hand_part(&p->b[term][block], col * BANK % p->b_cols, BANK), term > 0);
	if (!term && unit >= BANKS)
		hand_wait(p->hand, inst, p->emptied[emptier(p, unit - BANKS)],
			  emptied_with(p, unit - BANKS));
	if (term == p->terms - 1)
		hand_post(p->hand, inst, p->summed);
}

/* --- Results --- */

static enum neuron_engine engine_of(const struct product *p, uint32_t unit)
{
	return emptier(p, unit) ? HAND_SCALAR : HAND_VECTOR;
}

/* Column blocks @col on, @cols of them, of row @row, when bank @unit was the last of them. */
static void store(struct product *p, uint32_t row, uint32_t first, uint32_t col, uint32_t cols,
		  uint32_t unit)
{
	uint32_t size = hand_size(p->what->to), i;
	uint64_t pitch = (uint64_t)p->what->n * size;
	struct hand_tile tile = p->result[p->row % p->results];
	struct neuron_inst *inst;

	tile.at += (col - first) * BANK * size;
	tile.cols = cols * BANK;
	for (i = cols; i-- > 1;)
		hand_wait_before(p->hand, HAND_SYNC, p->emptied[emptier(p, unit - i)],
				 emptied_with(p, unit - i));
	inst = nb_dma(p->hand->nb, p->move,
		      nb_rows(p->what->c, row * HAND_ROWS * pitch + col * BANK * size,
			      cols * BANK * size, HAND_ROWS, pitch),
		      hand_side(p->hand, &tile),
		      p->row + p->results < p->rows ? p->stored[p->row % p->results] : -1);
	hand_wait(p->hand, inst, p->emptied[emptier(p, unit)], emptied_with(p, unit));
}

/* From the banks of @cols column blocks to HBM; what comes last does not wait for its row. */
static void empty(struct product *p, uint32_t row, uint32_t first, uint32_t cols)
{
	const struct hand_tile *to = &p->result[p->row % p->results];
	uint32_t turn = p->row / p->results, col;
	bool last = p->row == p->rows - 1;
	struct neuron_inst *inst;

	for (col = 0; col < cols; col++, p->unit++) {
		if (turn)
			hand_wait_before(p->hand, engine_of(p, p->unit),
					 p->stored[p->row % p->results], HAND_QUEUES * turn);
		inst = nb_copy(p->hand->nb, engine_of(p, p->unit),
			       hand_part(to, col * BANK, BANK), bank_of(p->unit));
		hand_wait(p->hand, inst, p->summed, p->unit + 1);
		hand_post(p->hand, inst, p->emptied[emptier(p, p->unit)]);
		if (last)
			store(p, row, first, first + col, 1, p->unit);
	}
	if (!last)
		store(p, row, first, first, cols, p->unit - 1);
	p->row++;
}

/* --- The whole --- */

/* The first banks: @rows tiles of rows of the first block. */
static void first_units(struct product *p, uint32_t rows)
{
	uint32_t cols = p->b_cols / BANK, term, row, col;

	for (term = 0; term < p->terms; term++)
		for (row = 0; row < rows; row++) {
			load_stationary(p, term, row, 0);
			for (col = 0; col < cols; col++)
				sum(p, term, col, row * cols + col);
		}
	for (row = 0; row < rows; row++)
		empty(p, row, 0, cols);
}

/* The banks of a tile of rows in a block of columns. */
static void later_units(struct product *p, uint32_t row, uint32_t block)
{
	uint32_t first = block * p->b_cols / BANK, cols, term, col;

	cols = least(p->b_cols, p->what->n - block * p->b_cols) / BANK;
	for (term = 0; term < p->terms; term++) {
		load_stationary(p, term, row, block);
		for (col = 0; col < cols; col++)
			sum(p, term, first + col, p->unit + col);
	}
	empty(p, row, first, cols);
}

static void begin(struct product *p)
{
	struct nb_program *nb = p->hand->nb;
	uint32_t i;

	p->move = nb_queue(nb, "move", "data", HAND_SYNC, HAND_QUEUES);
	p->terms = p->what->k / HAND_ROWS;
	p->b_cols = least(p->what->n, 2 * BANK);
	p->a_cols = least(p->what->m, BANKS * BANK / p->b_cols * HAND_ROWS);
	p->parts = (p->what->m + p->a_cols - 1) / p->a_cols;
	p->blocks = (p->what->n + p->b_cols - 1) / p->b_cols;
	p->units = p->what->m / HAND_ROWS * (p->what->n / BANK);
	p->rows = p->what->m / HAND_ROWS * p->blocks;
	p->results = least(p->rows, MAX_OUT);
	p->summed = hand_sem(p->hand);
	for (i = 0; i < 2; i++)
		p->emptied[i] = hand_sem(p->hand);
	for (i = 0; i < p->results; i++) {
		p->result[i] = hand_tile(p->hand, p->what->to, p->b_cols);
		p->stored[i] = hand_sem(p->hand);
	}
}

void hand_gemm(struct hand *hand, const struct hand_gemm *what)
{
	struct product p = { .hand = hand, .what = what };
	uint32_t rows, row, block;

	begin(&p);
	load_all(&p);
	rows = least(p.a_cols / HAND_ROWS, what->early);
	first_units(&p, rows);
	for (block = 0; block < p.blocks; block++)
		for (row = block ? 0 : rows; row < what->m / HAND_ROWS; row++)
			later_units(&p, row, block);
	hand_end(hand);
}
