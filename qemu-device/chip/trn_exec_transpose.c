// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Transposition by the tensor engine: the moving operand is a permutation of the rows
 * of the stationary one, usually none, and the bits go through as they are.
 */
#include <string.h>

#include "trn_exec_tensor.h"
#include "trn_num.h"

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

/* For each column the row that the moving operand's only 1 is in. */
static bool find_rows(const struct trn_product *product, uint8_t *rows)
{
	float line[TRN_ARRAY_SIZE];
	unsigned int k, n;

	memset(rows, UINT8_MAX, product->n);
	for (k = 0; k < product->part->k; k++) {
		trn_tile_load(&product->src, k, 0, product->n, line);
		for (n = 0; n < product->n; n++) {
			if (line[n] == 0.0f)
				continue;
			if (line[n] != 1.0f || rows[n] != UINT8_MAX)
				return false;
			rows[n] = (uint8_t)k;
		}
	}
	for (n = 0; n < product->n; n++)
		if (rows[n] == UINT8_MAX)
			return false;
	return true;
}

enum neuron_cause trn_transpose(const struct trn_product *product)
{
	const struct trn_part *part = product->part;
	struct trn_pe_array *array = product->exec->core->array;
	const struct trn_tile *dst = &product->dst;
	uint8_t line[TRN_ARRAY_SIZE * sizeof(uint32_t)];
	uint8_t rows[TRN_ARRAY_SIZE];
	enum neuron_cause cause;
	unsigned int m, n;

	if (product->n > TRN_ARRAY_SIZE || !result_fits(product) ||
	    !find_rows(product, rows))
		return NEURON_CAUSE_OPERAND;
	cause = trn_tile_touch(dst);
	if (cause)
		return cause;
	for (m = 0; m < part->m; m++) {
		for (n = 0; n < product->n; n++)
			memcpy(line + n * dst->size,
			       &array->weight[TRN_ARRAY_DEPTH * part->place.row + rows[n]]
					     [part->place.col + m],
			       dst->size);
		trn_tile_store_raw(dst, m, 0, product->n, line);
	}
	return NEURON_CAUSE_NONE;
}
