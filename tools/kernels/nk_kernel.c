// SPDX-License-Identifier: MIT
/* What the kernels share: tensors, tiles and transfers between them. */
#include <stdarg.h>
#include <stdio.h>

#include "nk_private.h"

/* Of the smallest SBUF, that of trn1. */
#define NK_SBUF		(176u << 10)

uint32_t nk_least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

uint32_t nk_parts(uint32_t n, uint32_t part)
{
	return n / part + (n % part != 0);
}

int nk_fail(struct nk *nk, const char *kernel, const char *format, ...)
{
	char text[200];
	int length = snprintf(text, sizeof(text), "%s: ", kernel);
	va_list args;

	va_start(args, format);
	vsnprintf(text + length, sizeof(text) - length, format, args);
	va_end(args);
	return nb_set_error(nk->nb, text);
}

int nk_begin(struct nk *nk, struct nb_program *nb)
{
	*nk = (struct nk){ .nb = nb, .sbuf = NK_SBUF };
	nb_auto(nb);
	nk->in = nb_queue(nb, "kernels_in", "data", NEURON_ENGINE_SYNC, 16);
	nk->out = nb_queue(nb, "kernels_out", "data", NEURON_ENGINE_GPSIMD, 16);
	return nb_error(nb) ? -1 : 0;
}

struct nk_tensor nk_tensor(int var, enum neuron_dtype dtype, uint32_t rows, uint32_t cols)
{
	return (struct nk_tensor){ .var = var, .dtype = dtype, .rows = rows, .cols = cols };
}

uint32_t nk_size(const struct nk_tensor *t)
{
	switch (t->dtype) {
	case NEURON_DTYPE_FP32:
		return 4;
	case NEURON_DTYPE_BF16:
	case NEURON_DTYPE_FP16:
		return 2;
	case NEURON_DTYPE_FP8_E3:
	case NEURON_DTYPE_FP8_E4:
	case NEURON_DTYPE_FP8_E5:
	case NEURON_DTYPE_FP8_E4FN:
		return 1;
	default:
		return 0;
	}
}

static uint64_t nk_pitch(const struct nk_tensor *t)
{
	return t->pitch ? t->pitch : t->cols;
}

int nk_check(struct nk *nk, const char *kernel, const char *name, const struct nk_tensor *t)
{
	uint64_t size = nb_var_size(nk->nb, t->var), end;

	if (nb_error(nk->nb))
		return -1;
	if (!size)
		return nk_fail(nk, kernel, "%s names no variable", name);
	if (!nk_size(t))
		return nk_fail(nk, kernel, "%s has type %u, but kernels take float types", name,
			       t->dtype);
	if (!t->rows || !t->cols || (t->pitch && t->pitch < t->cols))
		return nk_fail(nk, kernel, "%s has %u rows of %u elements, %llu apart", name,
			       t->rows, t->cols, (unsigned long long)nk_pitch(t));
	end = t->offset + ((uint64_t)(t->rows - 1) * nk_pitch(t) + t->cols) * nk_size(t);
	if (end > size)
		return nk_fail(nk, kernel, "%s ends at byte %llu of a variable of %llu", name,
			       (unsigned long long)end, (unsigned long long)size);
	return 0;
}

struct nb_side nk_block(const struct nk_tensor *t, uint32_t row, uint32_t rows, uint32_t col,
			uint32_t cols)
{
	uint64_t size = nk_size(t);

	return nb_rows(t->var, t->offset + (row * nk_pitch(t) + col) * size, cols * size, rows,
		       nk_pitch(t) * size);
}

struct neuron_ap nk_part(struct nk *nk, int tile, uint32_t rows, uint32_t col, uint32_t cols,
			 uint32_t size)
{
	struct neuron_ap ap = nb_tile_ap(nk->nb, tile);

	ap.addr += col * size;
	ap.partitions = rows;
	return nb_dim(ap, 0, cols, 1);
}

struct nb_side nk_side(struct nk *nk, int tile, uint32_t rows, uint32_t col, uint32_t cols,
		       uint32_t size)
{
	struct nb_side side = nb_tile_side(nk->nb, tile);

	side.offset += col * size;
	side.size[0] = cols * size;
	side.size[1] = rows;
	return side;
}

int nk_tile(struct nk *nk, uint32_t rows, uint32_t dtype, uint32_t cols)
{
	return nb_tile_new(nk->nb, NB_SBUF, rows, dtype, cols);
}

int nk_load(struct nk *nk, const struct nk_tensor *t, uint32_t row, uint32_t rows, uint32_t col,
	    uint32_t cols)
{
	int tile = nk_tile(nk, rows, t->dtype, cols);

	nb_dma(nk->nb, nk->in, nb_tile_side(nk->nb, tile), nk_block(t, row, rows, col, cols), -1);
	return tile;
}

/* The tile @narrow in fp32. It ends here if it is of another type. */
static int nk_load_fp32(struct nk *nk, const struct nk_tensor *t, int narrow, uint32_t rows,
			uint32_t cols)
{
	int tile;

	if (t->dtype == NK_FP32)
		return narrow;
	tile = nk_tile(nk, rows, NK_FP32, cols);
	nb_copy(nk->nb, NB_ANY_ENGINE, nb_tile_ap(nk->nb, tile), nb_tile_ap(nk->nb, narrow));
	nb_tile_end(nk->nb, narrow);
	return tile;
}

int nk_load_row(struct nk *nk, const struct nk_tensor *t, uint32_t row, uint32_t rows,
		uint32_t col, uint32_t cols)
{
	int narrow = nk_tile(nk, rows, t->dtype, cols);
	struct nb_side from = nk_block(t, row, rows, col, cols);

	from.step[1] = 0;
	nb_dma(nk->nb, nk->in, nb_tile_side(nk->nb, narrow), from, -1);
	return nk_load_fp32(nk, t, narrow, rows, cols);
}

int nk_load_column(struct nk *nk, const struct nk_tensor *t, uint32_t row, uint32_t rows)
{
	return nk_load_fp32(nk, t, nk_load(nk, t, row, rows, 0, 1), rows, 1);
}

void nk_store(struct nk *nk, const struct nk_tensor *t, int tile, uint32_t row, uint32_t rows,
	      uint32_t col, uint32_t cols)
{
	nb_dma(nk->nb, nk->out, nk_block(t, row, rows, col, cols),
	       nk_side(nk, tile, rows, 0, cols, nk_size(t)), -1);
}

struct nk_tensor nk_scratch(struct nk *nk, enum neuron_dtype dtype, uint32_t rows, uint32_t cols)
{
	struct nk_tensor t = { .dtype = dtype, .rows = rows, .cols = cols };
	char name[32];

	snprintf(name, sizeof(name), "kernel_%u", nk->serial++);
	t.var = nb_tmp(nk->nb, name, (uint64_t)rows * cols * nk_size(&t));
	return t;
}
