// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Transposition by the tensor engine: the moving operand is a permutation of the rows
 * of the stationary one, usually none, and the bits go through as they are.
 */
#include <string.h>

#include "base/trn_chip.h"
#include "exec/trn_exec_tensor.h"
#include "isa/trn_pe_array.h"
#include "num/trn_num.h"

/* 16-bit elements keep their width, those of 8 bits get an upper half of zeros. */
static bool result_fits(const struct trn_product *product)
{
	unsigned int dtype = product->part->dtype;

	if (product->exec->inst->flags & NEURON_INST_ACCUMULATE)
		return false;
	if (trn_dtype_size(dtype) == 1)
		return product->dst.dtype == NEURON_DTYPE_UINT16;
	return product->dst.dtype == dtype;
}

/* Lines that are looked at, or written, at a time. */
#define LINES	8
/* Elements that are looked at together: nearly all are zeros. */
#define GROUP	16
#define SIGN	0x80000000u
#define NOWHERE	UINT8_MAX

enum { STEP_FIND, STEP_WRITE };

/* None of them is another number than a zero. */
static bool only_zeros(const float *line, unsigned int n)
{
	uint32_t bits[GROUP], any = 0;
	unsigned int i;

	if (n < GROUP)
		return false;
	memcpy(bits, line, sizeof(bits));
	for (i = 0; i < GROUP; i++)
		any |= bits[i];
	return !(any & ~SIGN);
}

/*
 * For each column the row that the moving operand's only 1 is in: lines @k on. False:
 * that is not so.
 */
static bool find_rows(const struct trn_product *product, uint8_t *rows, unsigned int k)
{
	unsigned int end = k + LINES < product->part->k ? k + LINES : product->part->k, n;
	float buf[TRN_ARRAY_SIZE];
	const float *line;

	for (; k < end; k++) {
		line = trn_tile_view(&product->src, k, 0, product->n, buf);
		for (n = 0; n < product->n; n++) {
			while (only_zeros(line + n, product->n - n))
				n += GROUP;
			if (n == product->n)
				break;
			if (line[n] == 0.0f)
				continue;
			if (line[n] != 1.0f || rows[n] != NOWHERE)
				return false;
			rows[n] = (uint8_t)k;
		}
	}
	return true;
}

/* A row for each column; a stream may have brought any. */
static bool rows_valid(const struct trn_product *product, const uint8_t *rows)
{
	unsigned int n;

	for (n = 0; n < product->n; n++)
		if (rows[n] >= product->part->k)
			return false;
	return true;
}

/* A row of the array has what goes to one column of all the lines. */
static void gather(const struct trn_product *product, const uint8_t *rows, unsigned int m,
		   uint32_t line[LINES][TRN_ARRAY_SIZE])
{
	const struct trn_part *part = product->part;
	struct trn_pe_array *array = product->exec->core->array;
	unsigned int count = part->m - m < LINES ? part->m - m : LINES, n, i;

	for (n = 0; n < product->n; n++) {
		const float *weight = &array->weight[TRN_ARRAY_DEPTH * part->place.row + rows[n]]
						    [part->place.col + m];

		for (i = 0; i < count; i++)
			memcpy(&line[i][n], &weight[i], sizeof(line[i][n]));
	}
}

static void write_lines(const struct trn_product *product, const uint8_t *rows,
			unsigned int m)
{
	uint32_t line[LINES][TRN_ARRAY_SIZE];
	const struct trn_tile *dst = &product->dst;
	uint16_t narrow[TRN_ARRAY_SIZE];
	unsigned int i, n;

	gather(product, rows, m, line);
	for (i = 0; i < LINES && m + i < product->part->m; i++) {
		if (dst->size == sizeof(uint32_t)) {
			trn_tile_store_raw(dst, m + i, 0, product->n, line[i]);
			continue;
		}
		for (n = 0; n < product->n; n++)
			narrow[n] = (uint16_t)line[i][n];
		trn_tile_store_raw(dst, m + i, 0, product->n, narrow);
	}
}

/* Lines @next on come next. True: the instruction is cut here. */
static bool lines_done(struct trn_product *product, const struct trn_tile *tile,
		       unsigned int step, unsigned int next)
{
	if (!trn_exec_pause(product->exec, LINES * product->n, trn_tile_weight(tile, true)))
		return false;
	trn_exec_keep(product->exec, next, step, 0);
	return true;
}

enum neuron_cause trn_transpose(struct trn_product *product)
{
	struct trn_resume *at = trn_exec_resume(product->exec);
	uint8_t *rows = at->carry.byte;
	unsigned int step = at->step, next = at->p;
	enum neuron_cause cause;

	if (product->n > TRN_ARRAY_SIZE || !result_fits(product))
		return NEURON_CAUSE_OPERAND;
	if (trn_exec_first(product->exec))
		memset(rows, NOWHERE, product->n);
	for (; step == STEP_FIND && next < product->part->k; next += LINES) {
		if (!find_rows(product, rows, next))
			return NEURON_CAUSE_OPERAND;
		if (lines_done(product, &product->src, STEP_FIND, next + LINES))
			return NEURON_CAUSE_NONE;
	}
	if (step == STEP_FIND)
		next = 0;
	if (!rows_valid(product, rows))
		return NEURON_CAUSE_OPERAND;
	cause = trn_tile_touch(&product->dst);
	for (; !cause && next < product->part->m; next += LINES) {
		write_lines(product, rows, next);
		if (lines_done(product, &product->dst, STEP_WRITE, next + LINES))
			return NEURON_CAUSE_NONE;
	}
	return cause;
}
