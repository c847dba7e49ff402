// SPDX-License-Identifier: MIT
/*
 * Tiles with lifetimes: places in SBUF and PSUM are given out by next fit, so that a place is
 * used again as late as possible: tiles that follow each other are buffered twice by themselves.
 * A place may also be told.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "nb_alloc.h"
#include "nb_sync.h"
#include "neuron/generation.h"
#include "num/trn_num.h"

void nb_tiles_free(struct nb_tiles *tiles)
{
	if (tiles)
		free(tiles->tile);
	free(tiles);
}

uint32_t nb_sbuf_bytes(unsigned int generation)
{
	static const struct neuron_gen *const gens[] = {
		&neuron_gen_trn1, &neuron_gen_trn2, &neuron_gen_trn3,
	};

	return gens[generation ? generation - 2 : 0]->sbuf_partition;
}

static struct nb_tiles *nb_tiles_of(struct nb_program *nb)
{
	if (!nb->tiles)
		nb->tiles = calloc(1, sizeof(*nb->tiles));
	if (!nb->tiles)
		nb_fail(nb, "out of memory");
	else
		nb->tiles->sbuf_bytes = nb_sbuf_bytes(nb->generation);
	return nb->tiles;
}

uint32_t nb_partition_bytes(const struct nb_tiles *tiles, enum nb_memory memory)
{
	return memory == NB_PSUM ? NEURON_TPB_PSUM_STRIDE : tiles->sbuf_bytes;
}

static const char *nb_memory_name(enum nb_memory memory)
{
	return memory == NB_PSUM ? "PSUM" : "SBUF";
}

/* Quadrants of @partitions from @first on; 0: a tile cannot lie there. */
static uint8_t nb_quadrants(unsigned int first, unsigned int partitions)
{
	unsigned int nr = (partitions + NB_QUADRANT - 1) / NB_QUADRANT;

	if (nr == 3)
		nr = 4;
	if (!nr || first % NB_QUADRANT || first / NB_QUADRANT % nr ||
	    first / NB_QUADRANT + nr > NB_QUADRANTS)
		return 0;
	return ((1u << nr) - 1) << first / NB_QUADRANT;
}

static bool nb_is_free(const uint8_t *used, unsigned int units, uint8_t quadrants)
{
	unsigned int i;

	for (i = 0; i < units; i++)
		if (used[i] & quadrants)
			return false;
	return true;
}

bool nb_leaves_bank(enum nb_memory memory, unsigned int unit, unsigned int units)
{
	const unsigned int bank = NB_BANK / NB_UNIT;

	return memory == NB_PSUM && units <= bank && unit / bank != (unit + units - 1) / bank;
}

static bool nb_try(struct nb_tiles *tiles, enum nb_memory memory, unsigned int unit,
		   unsigned int units, unsigned int partitions, unsigned int *first)
{
	unsigned int p;
	uint8_t quadrants;

	if (nb_leaves_bank(memory, unit, units))
		return false;
	for (p = 0; p < NB_QUADRANTS * NB_QUADRANT; p += NB_QUADRANT) {
		quadrants = nb_quadrants(p, partitions);
		if (!quadrants || !nb_is_free(&tiles->used[memory][unit], units, quadrants))
			continue;
		*first = p;
		return true;
	}
	return false;
}

/* The unit where @units fit in the same quadrants, from the last one on; -1: none. */
static int nb_find_unit(struct nb_tiles *tiles, enum nb_memory memory, unsigned int units,
			unsigned int partitions, unsigned int *first)
{
	unsigned int all = nb_partition_bytes(tiles, memory) / NB_UNIT;
	unsigned int i, unit;

	for (i = 0; i < all; i++) {
		unit = (tiles->next[memory] + i) % all;
		if (unit + units <= all && nb_try(tiles, memory, unit, units, partitions, first))
			return unit;
	}
	return -1;
}

static size_t nb_here_in_order(const struct nb_program *nb)
{
	return nb->record ? nb->record->count : 0;
}

static void nb_mark(struct nb_tiles *tiles, const struct nb_alloc_tile *tile, bool used)
{
	uint64_t at = tile->area.low % tile->area.pitch;
	enum nb_memory memory = tile->area.space == NB_SPACE_PSUM ? NB_PSUM : NB_SBUF;
	unsigned int i;

	for (i = at / NB_UNIT; i < (at + tile->area.width + NB_UNIT - 1) / NB_UNIT; i++) {
		if (used)
			tiles->used[memory][i] |= tile->quadrants;
		else
			tiles->used[memory][i] &= ~tile->quadrants;
	}
}

static int nb_tile_add(struct nb_program *nb, struct neuron_ap ap)
{
	struct nb_tiles *tiles = nb->tiles;
	struct nb_alloc_tile *tile;

	tile = nb_grow(nb, (void **)&tiles->tile, tiles->count, &tiles->room, sizeof(*tile));
	if (!tile)
		return -1;
	tile->ap = ap;
	tile->area = nb_area_of_tile(&ap, 0);
	tile->born = nb_here_in_order(nb);
	tile->died = SIZE_MAX;
	tile->turn = nb->record ? nb->record->nr_turns : 0;
	tile->quadrants = nb_quadrants(NEURON_GET(NEURON_AP_PARTITION, le32toh(ap.addr)),
				       ap.partitions);
	nb_mark(tiles, tile, true);
	return tiles->count++;
}

uint64_t nb_tile_bytes(struct nb_program *nb, enum nb_memory memory, unsigned int partitions,
		       enum neuron_dtype dtype, unsigned int n)
{
	uint64_t bytes = (uint64_t)trn_dtype_size(dtype) * n;
	struct nb_tiles *tiles = nb_tiles_of(nb);

	if (!tiles)
		return 0;
	if (!bytes || !partitions || partitions > NB_QUADRANTS * NB_QUADRANT || n > UINT16_MAX) {
		nb_fail_here(nb,
			     "a tile of %u partitions with %u elements: 1 to 128 and 1 to 65535 of a known type",
			     partitions, n);
		return 0;
	}
	if (bytes > nb_partition_bytes(tiles, memory)) {
		nb_fail_here(nb,
			     "a tile of %llu bytes in each partition does not fit in %s, which has %u",
			     (unsigned long long)bytes, nb_memory_name(memory),
			     nb_partition_bytes(tiles, memory));
		return 0;
	}
	return bytes;
}

static struct neuron_ap nb_place(enum nb_memory memory, unsigned int first,
				 unsigned int partitions, uint32_t offset,
				 enum neuron_dtype dtype, unsigned int n)
{
	return memory == NB_PSUM ? nb_psum_tile(first, partitions, offset, dtype, n) :
				   nb_tile(first, partitions, offset, dtype, n);
}

int nb_tile_new(struct nb_program *nb, enum nb_memory memory, unsigned int partitions,
		enum neuron_dtype dtype, unsigned int n)
{
	uint64_t bytes = nb_tile_bytes(nb, memory, partitions, dtype, n);
	unsigned int units = (bytes + NB_UNIT - 1) / NB_UNIT, first = 0;
	int unit;

	if (!bytes)
		return -1;
	unit = nb_find_unit(nb->tiles, memory, units, partitions, &first);
	if (unit < 0)
		return nb_fail_here(nb,
				    "%s has no room for a tile of %u partitions with %llu bytes each: the tiles that are alive leave none",
				    nb_memory_name(memory), partitions, (unsigned long long)bytes);
	nb->tiles->next[memory] = unit + units;
	return nb_tile_add(nb, nb_place(memory, first, partitions, unit * NB_UNIT, dtype, n));
}

int nb_tile_at(struct nb_program *nb, enum nb_memory memory, unsigned int partition,
	       unsigned int partitions, uint32_t offset, enum neuron_dtype dtype, unsigned int n)
{
	uint64_t bytes = nb_tile_bytes(nb, memory, partitions, dtype, n);
	uint8_t quadrants = nb_quadrants(partition, partitions);
	unsigned int unit = offset / NB_UNIT;
	int tile;

	if (!bytes)
		return -1;
	if (!quadrants || offset % trn_dtype_size(dtype) ||
	    offset + bytes > nb_partition_bytes(nb->tiles, memory))
		return nb_fail_here(nb,
				    "a tile of %u partitions cannot lie at partition %u, byte %u of %s",
				    partitions, partition, offset, nb_memory_name(memory));
	if (nb_leaves_bank(memory, unit, (offset + bytes + NB_UNIT - 1) / NB_UNIT - unit))
		return nb_fail_here(nb,
				    "a tile of %llu bytes at byte %u of PSUM leaves its bank, which has %u: a product stays in one bank",
				    (unsigned long long)bytes, offset, NB_BANK);
	if (!nb_is_free(&nb->tiles->used[memory][unit],
			(offset + bytes + NB_UNIT - 1) / NB_UNIT - unit, quadrants))
		return nb_fail_here(nb, "partition %u, byte %u of %s is in a tile that is alive",
			       partition, offset, nb_memory_name(memory));
	tile = nb_tile_add(nb, nb_place(memory, partition, partitions, offset, dtype, n));
	if (tile >= 0)
		nb->tiles->tile[tile].told = true;
	return tile;
}

static struct nb_alloc_tile *nb_tile_get(struct nb_program *nb, int tile)
{
	struct nb_tiles *tiles = nb->tiles;

	if (tiles && tile >= 0 && (size_t)tile < tiles->count &&
	    tiles->tile[tile].died == SIZE_MAX)
		return &tiles->tile[tile];
	nb_fail_here(nb, "there is no tile %d that is alive", tile);
	return NULL;
}

void nb_tile_end(struct nb_program *nb, int tile)
{
	struct nb_alloc_tile *dead = nb_tile_get(nb, tile);

	if (!dead)
		return;
	if (nb_loop_since(nb, dead->turn)) {
		nb_fail_here(nb,
			     "tile %d ends in a loop or branch that began after it, which may be executed again or not at all",
			     tile);
		return;
	}
	nb_mark(nb->tiles, dead, false);
	dead->died = nb_here_in_order(nb);
}

struct neuron_ap nb_tile_ap(struct nb_program *nb, int tile)
{
	const struct nb_alloc_tile *found = nb_tile_get(nb, tile);

	return found ? found->ap : nb_tile(0, 1, 0, NEURON_DTYPE_FP32, 1);
}

struct nb_side nb_tile_side(struct nb_program *nb, int tile)
{
	const struct nb_alloc_tile *found = nb_tile_get(nb, tile);

	if (!found)
		return nb_linear(nb_sbuf(nb), 0, 1);
	if (found->area.space == NB_SPACE_PSUM)
		nb_fail_here(nb, "transfers do not reach PSUM: copy tile %d to SBUF", tile);
	return nb_rows(nb_sbuf(nb), found->area.low, found->area.width, found->area.rows,
		       NEURON_TPB_SBUF_STRIDE);
}

const struct nb_area *nb_live_tile(struct nb_order *order, const struct nb_area *area)
{
	const struct nb_tiles *tiles = order->nb->tiles;
	struct nb_area byte = *area;
	size_t i;

	if (!tiles)
		return NULL;
	byte.width = 1;
	byte.rows = area->rows;
	while (order->first_tile < tiles->count &&
	       tiles->tile[order->first_tile].died <= order->at)
		order->first_tile++;
	for (i = order->first_tile; i < tiles->count; i++) {
		const struct nb_alloc_tile *tile = &tiles->tile[i];

		if (tile->born > order->at)
			break;
		if (tile->died > order->at && nb_area_covers(&tile->area, &byte))
			return &tile->area;
	}
	return NULL;
}
