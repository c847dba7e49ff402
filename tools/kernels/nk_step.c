// SPDX-License-Identifier: MIT
/*
 * What a data-parallel step of training needs behind its products: collectives, with which ranks
 * add their gradients, and Adam.
 */
#include <stdio.h>
#include <string.h>

#include "nk_private.h"

#define NK_COLS		2048u	/* of a tile of Adam: eight of them are alive */
#define NK_MAX_RANKS	256u

/* --- Collectives --- */

/* Elements of Y and of X that belong together, as shares of those of a block. */
struct nk_operation {
	const char *name;
	bool reduces;
	bool y_has_all;		/* a block of each rank, else one */
	bool x_has_all;
};

static const struct nk_operation nk_operations[] = {
	{ "all_reduce", true, false, false },
	{ "reduce_scatter", true, false, true },
	{ "all_gather", false, true, false },
	{ "alltoall", false, true, true },
};

static const struct nk_operation *nk_find_operation(const char *name)
{
	unsigned int i;

	for (i = 0; i < sizeof(nk_operations) / sizeof(nk_operations[0]); i++)
		if (!strcmp(nk_operations[i].name, name))
			return &nk_operations[i];
	return NULL;
}

/* What nb_collective() calls it; NULL: no reduction of collectives. */
static const char *nk_reduction(enum neuron_alu op)
{
	switch (op) {
	case NEURON_ALU_ADD:
		return "add";
	case NEURON_ALU_MIN:
		return "min";
	case NEURON_ALU_MAX:
		return "max";
	default:
		return NULL;
	}
}

/* A collective moves whole variables. */
static int nk_check_whole(struct nk *nk, const char *kernel, const char *name,
			  const struct nk_tensor *t)
{
	if (nk_check(nk, kernel, name, t))
		return -1;
	if (t->offset || (t->pitch && t->pitch != t->cols) ||
	    (uint64_t)t->rows * t->cols * nk_size(t) != nb_var_size(nk->nb, t->var))
		return nk_fail(nk, kernel, "%s is not the whole of its variable", name);
	return 0;
}

static int nk_check_collective(struct nk *nk, const struct nk_operation *what,
			       enum neuron_alu reduce, const struct nk_tensor *y,
			       const struct nk_tensor *x, unsigned int ranks)
{
	uint64_t y_blocks = what->y_has_all ? ranks : 1, x_blocks = what->x_has_all ? ranks : 1;
	uint64_t y_size = (uint64_t)y->rows * y->cols, x_size = (uint64_t)x->rows * x->cols;

	if (nk_check_whole(nk, what->name, "Y", y) || nk_check_whole(nk, what->name, "X", x))
		return -1;
	if (!ranks || ranks > NK_MAX_RANKS)
		return nk_fail(nk, what->name, "%u ranks; allowed are 1 to %u", ranks,
			       NK_MAX_RANKS);
	if (y->dtype != x->dtype)
		return nk_fail(nk, what->name, "Y and X have different types");
	if (y_size % y_blocks || y_size / y_blocks * x_blocks != x_size)
		return nk_fail(nk, what->name, "Y has %llu elements and X %llu, of %u ranks",
			       (unsigned long long)y_size, (unsigned long long)x_size, ranks);
	if (what->reduces && !nk_reduction(reduce))
		return nk_fail(nk, what->name, "the reduction must be add, min or max");
	return 0;
}

/* The queue that starts collectives, which does nothing else, and the word that starts them. */
static void nk_start(struct nk *nk, int start)
{
	const uint8_t one[4] = { 1 };
	int queue = nb_find_queue(nk->nb, "kernels_cc"), word = nb_find_var(nk->nb, "kernels_one");

	if (queue < 0)
		queue = nb_queue(nk->nb, "kernels_cc", "data", NEURON_ENGINE_SYNC, 1);
	if (!word)
		word = nb_file(nk->nb, "kernels_one", one, sizeof(one));
	nb_dma(nk->nb, queue, nb_linear(start, 0, sizeof(one)), nb_linear(word, 0, sizeof(one)),
	       -1);
}

int nk_collective(struct nk *nk, const char *op, enum neuron_alu reduce, struct nk_tensor y,
		  struct nk_tensor x, unsigned int ranks)
{
	const struct nk_operation *what = nk_find_operation(op);
	struct nb_collective collective = {
		.op = op, .dtype = (enum neuron_dtype)x.dtype, .input = x.var, .output = y.var,
		.group_size = ranks, .nr_groups = 1, .semaphore = -1,
	};
	uint32_t group[NK_MAX_RANKS];
	char name[32];
	unsigned int i;

	if (!what)
		return nk_fail(nk, "collective", "there is no \"%.32s\"", op);
	if (nk_check_collective(nk, what, reduce, &y, &x, ranks))
		return -1;
	for (i = 0; i < ranks; i++)
		group[i] = i;
	collective.ranks = group;
	collective.reduce = what->reduces ? nk_reduction(reduce) : NULL;
	snprintf(name, sizeof(name), "kernel_%u", nk->serial++);
	nk_start(nk, nb_collective(nk->nb, name, &collective));
	return nb_error(nk->nb) ? -1 : 0;
}

/* --- Adam --- */

/**
 * struct nk_adam_work - a step under work
 * @from, @to: before and after
 * @rate: tile [128, 1] with minus the rate, corrected for the bias of the means
 */
struct nk_adam_work {
	struct nk *nk;
	const struct nk_adam *how;
	const struct nk_adam_state *from;
	const struct nk_adam_state *to;
	struct nk_tensor g;
	int rate;
};

/* @t = @t op number. */
static void nk_with_number(struct nk *nk, struct neuron_ap t, enum neuron_alu op, float number)
{
	nb_tensor_scalar(nk->nb, NK_VECTOR, t, t, op, number, NEURON_ALU_BYPASS, 0.0f);
}

/* The powers of this step, and minus rate * sqrt(1 - beta2^t) / (1 - beta1^t). */
static void nk_adam_rate(struct nk_adam_work *a)
{
	int power = nk_load_row(a->nk, &a->from->power, 0, NK_ROWS, 0, 2);
	int rest = nk_tile(a->nk, NK_ROWS, NK_FP32, 2);
	struct neuron_ap rest1 = nk_part(a->nk, rest, NK_ROWS, 0, 1, 4);
	struct neuron_ap rest2 = nk_part(a->nk, rest, NK_ROWS, 1, 1, 4), rate;
	struct nb_program *nb = a->nk->nb;

	a->rate = nk_tile(a->nk, NK_ROWS, NK_FP32, 1);
	rate = nb_tile_ap(nb, a->rate);
	nk_with_number(a->nk, nk_part(a->nk, power, NK_ROWS, 0, 1, 4), NEURON_ALU_MULTIPLY,
		       a->how->beta1);
	nk_with_number(a->nk, nk_part(a->nk, power, NK_ROWS, 1, 1, 4), NEURON_ALU_MULTIPLY,
		       a->how->beta2);
	nk_store(a->nk, &a->to->power, power, 0, 1, 0, 2);
	nb_tensor_scalar(nb, NK_VECTOR, nb_tile_ap(nb, rest), nb_tile_ap(nb, power),
			 NEURON_ALU_MULTIPLY, -1.0f, NEURON_ALU_ADD, 1.0f);
	nb_activation(nb, NEURON_ACT_SQRT, rest2, rest2, nb_number(1.0f), nb_number(0.0f), 0.0f,
		      NULL);
	nb_reciprocal(nb, rest1, rest1);
	nb_tensor_tensor(nb, NK_VECTOR, NEURON_ALU_MULTIPLY, rate, rest2, rest1);
	nk_with_number(a->nk, rate, NEURON_ALU_MULTIPLY, -a->how->rate);
	nb_tile_end(nb, rest);
	nb_tile_end(nb, power);
}

/* @mean = @mean * beta + @t * (1 - beta); @t is overwritten. */
static void nk_adam_mean(struct nk_adam_work *a, struct neuron_ap mean, struct neuron_ap t,
			 float beta)
{
	nk_with_number(a->nk, t, NEURON_ALU_MULTIPLY, 1.0f - beta);
	nb_scalar_tensor_tensor(a->nk->nb, mean, mean, NEURON_ALU_MULTIPLY, nb_number(beta),
				NEURON_ALU_ADD, t, NULL);
}

static void nk_adam_block(struct nk_adam_work *a, uint32_t row, uint32_t rows, uint32_t col,
			  uint32_t cols)
{
	int w = nk_load(a->nk, &a->from->w, row, rows, col, cols);
	int m = nk_load(a->nk, &a->from->m, row, rows, col, cols);
	int v = nk_load(a->nk, &a->from->v, row, rows, col, cols);
	int g = nk_load(a->nk, &a->g, row, rows, col, cols);
	int t = nk_tile(a->nk, rows, NK_FP32, cols);
	struct nb_program *nb = a->nk->nb;
	struct neuron_ap w_ap = nb_tile_ap(nb, w), m_ap = nb_tile_ap(nb, m);
	struct neuron_ap v_ap = nb_tile_ap(nb, v), g_ap = nb_tile_ap(nb, g);
	struct neuron_ap t_ap = nb_tile_ap(nb, t);

	nb_tensor_tensor(nb, NK_VECTOR, NEURON_ALU_MULTIPLY, t_ap, g_ap, g_ap);
	nk_adam_mean(a, m_ap, g_ap, a->how->beta1);
	nk_store(a->nk, &a->to->m, m, row, rows, col, cols);
	nk_adam_mean(a, v_ap, t_ap, a->how->beta2);
	nk_store(a->nk, &a->to->v, v, row, rows, col, cols);
	nb_activation(nb, NEURON_ACT_SQRT, t_ap, v_ap, nb_number(1.0f), nb_number(0.0f), 0.0f,
		      NULL);
	nk_with_number(a->nk, t_ap, NEURON_ALU_ADD, a->how->epsilon);
	nb_tensor_column(nb, NK_VECTOR, NEURON_ALU_MULTIPLY, g_ap, m_ap,
			 nk_part(a->nk, a->rate, rows, 0, 1, 4));
	nb_reciprocal(nb, t_ap, t_ap);
	nb_tensor_tensor(nb, NK_VECTOR, NEURON_ALU_MULTIPLY, g_ap, g_ap, t_ap);
	nb_tensor_tensor(nb, NK_VECTOR, NEURON_ALU_ADD, w_ap, w_ap, g_ap);
	nk_store(a->nk, &a->to->w, w, row, rows, col, cols);
	nb_tile_end(nb, w);
	nb_tile_end(nb, m);
	nb_tile_end(nb, v);
	nb_tile_end(nb, g);
	nb_tile_end(nb, t);
}

static int nk_check_adam_tensor(struct nk *nk, const char *name, const struct nk_tensor *t,
				uint32_t rows, uint32_t cols)
{
	if (nk_check(nk, "adam", name, t))
		return -1;
	if (t->dtype != NK_FP32)
		return nk_fail(nk, "adam", "%s is not fp32", name);
	if (t->rows != rows || t->cols != cols)
		return nk_fail(nk, "adam", "%s is %u x %u instead of %u x %u", name, t->rows,
			       t->cols, rows, cols);
	return 0;
}

static int nk_check_adam_state(struct nk *nk, const struct nk_adam_state *state,
			       const struct nk_tensor *g)
{
	return nk_check_adam_tensor(nk, "w", &state->w, g->rows, g->cols) ||
	       nk_check_adam_tensor(nk, "m", &state->m, g->rows, g->cols) ||
	       nk_check_adam_tensor(nk, "v", &state->v, g->rows, g->cols) ||
	       nk_check_adam_tensor(nk, "power", &state->power, 1, 2) ? -1 : 0;
}

int nk_adam(struct nk *nk, const struct nk_adam_state *to, const struct nk_adam_state *from,
	    struct nk_tensor g, const struct nk_adam *how)
{
	struct nk_adam_work a = { .nk = nk, .how = how, .from = from, .to = to, .g = g };
	uint32_t row, col;

	if (nk_check_adam_tensor(nk, "g", &g, g.rows, g.cols) ||
	    nk_check_adam_state(nk, from, &g) || nk_check_adam_state(nk, to, &g))
		return -1;
	nk_adam_rate(&a);
	for (row = 0; row < g.rows; row += NK_ROWS)
		for (col = 0; col < g.cols; col += NK_COLS)
			nk_adam_block(&a, row, nk_least(NK_ROWS, g.rows - row), col,
				      nk_least(NK_COLS, g.cols - col));
	nb_tile_end(nk->nb, a.rate);
	return nb_error(nk->nb) ? -1 : 0;
}
