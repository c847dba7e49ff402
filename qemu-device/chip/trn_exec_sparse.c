// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Products with structured sparsity: of each group of 8, 12 or 16 terms the
 * stationary operand holds four, and for each a tag that says which.
 */
#include "trn_exec_tensor.h"
#include "trn_num.h"

/* Terms of a group that are held, in as many partitions. */
#define HELD	4

static const uint8_t *tags_of(const struct trn_product *product, unsigned int k)
{
	const struct neuron_array *place = &product->part->place;

	return &product->exec->core->array->tag[place->row + k][place->col];
}

bool trn_sparse_tags_valid(const struct trn_product *product)
{
	unsigned int k, m;

	for (k = 0; k < product->part->k; k++)
		for (m = 0; m < product->part->m; m++)
			if (tags_of(product, k)[m] / HELD >= product->ratio)
				return false;
	return true;
}

/*
 * Each column of the stationary operand has terms of its own, so its line of the
 * result is a product by itself. A term that the tags leave out is not looked at: not
 * even a NaN of it counts.
 */
void trn_sparse_columns(const struct trn_product *product, size_t first,
			size_t count)
{
	const struct trn_part *part = product->part;
	struct trn_pe_array *array = product->exec->core->array;
	float moving[4][TRN_ARRAY_SIZE][TRN_COLUMNS];
	_Alignas(64) float room[TRN_MOVING_FLOATS(TRN_ARRAY_SIZE, TRN_COLUMNS)];
	struct trn_moving terms;
	struct trn_block block = {
		.rows = 1,
		.first = first,
		.weight_stride = TRN_ARRAY_SIZE,
		.moving = &terms,
	};
	unsigned int k, m, line;

	for (line = 0; line < product->ratio; line++)
		for (k = 0; k < part->k; k++)
			trn_tile_load(&product->src, k, line * product->n + first, count,
				      moving[line][k]);
	trn_moving_init(&terms, room, part->k, (unsigned int)count);
	for (m = 0; m < part->m; m++) {
		for (k = 0; k < part->k; k++) {
			unsigned int tag = tags_of(product, k)[m];

			trn_moving_line(&terms, k, moving[tag / HELD]
							 [k / HELD * HELD + tag % HELD]);
		}
		block.m = m;
		block.weight = &array->weight[TRN_ARRAY_DEPTH * part->place.row]
					     [part->place.col + m];
		trn_product_block(product, &block);
	}
}
