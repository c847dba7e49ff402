// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Access patterns with an index: where each element lies is read from SBUF. The numbers
 * of a group of partitions run down its partitions, then on in the next column.
 */
#include <string.h>

#include "base/trn_chip.h"
#include "exec/trn_ap.h"
#include "exec/trn_resume.h"

#define ENTRY_BYTES	sizeof(uint16_t)
#define QUADRANT	32

/* Columns of the index. */
static size_t columns_of(const struct trn_tile *tile)
{
	return (tile->n + tile->group - 1) / tile->group;
}

unsigned int trn_index_partitions(const struct trn_tile *tile)
{
	return (tile->partitions + tile->group - 1) / tile->group * tile->group;
}

size_t trn_index_entry(const struct trn_tile *tile, unsigned int p, size_t i)
{
	size_t row = p / tile->group * tile->group + i % tile->group;

	return row * NEURON_TPB_SBUF_STRIDE + i / tile->group * ENTRY_BYTES;
}

static int64_t read_entry(const struct trn_tile *tile, unsigned int p, size_t i)
{
	uint16_t number;

	memcpy(&number, tile->index + trn_index_entry(tile, p, i), sizeof(number));
	return (int64_t)number * tile->size;
}

int64_t trn_index_at(const struct trn_tile *tile, unsigned int p, size_t i)
{
	int64_t at = read_entry(tile, p, i);

	return at < tile->low || at + tile->size > tile->high ? tile->low : at;
}

size_t trn_index_scan(const struct trn_tile *tile, unsigned int row,
		      struct trn_reach *extent)
{
	const uint8_t *entry = tile->index + row * NEURON_TPB_SBUF_STRIDE;
	size_t lane = row % tile->group, i, n = 0;
	unsigned int low = UINT16_MAX, high = 0;
	uint16_t number;

	if (lane < tile->n)
		n = (tile->n - lane + tile->group - 1) / tile->group;
	for (i = 0; i < n; i++) {
		memcpy(&number, entry + i * ENTRY_BYTES, sizeof(number));
		low = number < low ? number : low;
		high = number > high ? number : high;
	}
	if (n && extent->low > (int64_t)low * tile->size)
		extent->low = (int64_t)low * tile->size;
	if (n && extent->high < (int64_t)(high + 1) * tile->size)
		extent->high = (int64_t)(high + 1) * tile->size;
	return n;
}

void trn_tile_find_extent(struct trn_tile *tile, const struct trn_reach *known)
{
	struct trn_reach extent = TRN_REACH_NONE;
	unsigned int row;

	if (known)
		extent = *known;
	else
		for (row = 0; row < trn_index_partitions(tile); row++)
			trn_index_scan(tile, row, &extent);
	/* What a stream says may be narrower than an element. */
	if (extent.high < extent.low + tile->size)
		extent.high = extent.low + tile->size;
	tile->low = extent.low;
	tile->high = extent.high;
}

enum neuron_cause trn_tile_find_index(const struct trn_ap_user *user,
				      const struct neuron_ap *ap,
				      struct trn_tile *tile)
{
	uint32_t addr = neuron_ap_index(ap);
	unsigned int first = NEURON_GET(NEURON_AP_PARTITION, addr);
	uint32_t offset = NEURON_GET(NEURON_AP_OFFSET, addr);

	tile->group = user->group;
	tile->contiguous = false;
	/* No two elements lie side by side, as far as anybody knows. */
	tile->step[0] = 0;
	if (user->core->chip->gen->generation < 4 || first % QUADRANT ||
	    first + trn_index_partitions(tile) > NEURON_PARTITIONS)
		return NEURON_CAUSE_OPERAND;
	if (offset % ENTRY_BYTES ||
	    offset + columns_of(tile) * ENTRY_BYTES > user->core->chip->gen->sbuf_partition)
		return NEURON_CAUSE_ACCESS;
	tile->index = user->core->sbuf + first * NEURON_TPB_SBUF_STRIDE + offset;
	return NEURON_CAUSE_NONE;
}

bool trn_index_overlaps(const struct trn_tile *tile, const struct trn_tile *dst)
{
	const uint8_t *sbuf = tile->core->sbuf;
	size_t index = (size_t)(tile->index - sbuf), at = (size_t)(dst->base - sbuf);
	size_t p = index / NEURON_TPB_SBUF_STRIDE, q = at / NEURON_TPB_SBUF_STRIDE;
	int64_t low, high;

	if (dst->psum || p >= q + dst->partitions || q >= p + trn_index_partitions(tile))
		return false;
	low = (int64_t)(index % NEURON_TPB_SBUF_STRIDE);
	high = low + (int64_t)(columns_of(tile) * ENTRY_BYTES);
	at %= NEURON_TPB_SBUF_STRIDE;
	return (int64_t)at + dst->low < high && low < (int64_t)at + dst->high;
}
