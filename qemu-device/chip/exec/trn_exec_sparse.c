// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Products with structured sparsity: of each group of 8, 12 or 16 terms the
 * stationary operand holds four, and for each a tag that says which.
 */
#include "base/trn_chip.h"
#include "exec/trn_exec_tensor.h"
#include "isa/trn_pe_array.h"
#include "num/trn_num.h"

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
 * Each column of the stationary operand has terms of its own. A term that the tags
 * leave out is not looked at: not even a NaN of it counts. The lines of the moving
 * operand are numbered partition by partition.
 */
void trn_sparse_pick(const struct trn_product *product,
		     uint16_t line[TRN_ARRAY_SIZE][TRN_ARRAY_SIZE])
{
	unsigned int k, m, tag;

	for (k = 0; k < product->part->k; k++) {
		const uint8_t *tags = tags_of(product, k);

		for (m = 0; m < product->part->m; m++) {
			tag = tags[m];
			line[k][m] = (uint16_t)((k / HELD * HELD + tag % HELD) *
						product->ratio + tag / HELD);
		}
	}
}
