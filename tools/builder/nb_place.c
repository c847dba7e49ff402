// SPDX-License-Identifier: MIT
/*
 * Places of the tiles that may move, while the new order is found out: a tile has one from the
 * first of its nodes in that order to the last. Next fit, as in nb_alloc.c.
 */
#include <string.h>

#include "nb_plan.h"

static const struct nb_alloc_tile *nb_tile_at_number(const struct nb_plan *plan, int32_t tile)
{
	return &plan->nb->tiles->tile[tile];
}

static enum nb_memory nb_tile_memory(const struct nb_alloc_tile *tile)
{
	return tile->area.space == NB_SPACE_PSUM ? NB_PSUM : NB_SBUF;
}

static unsigned int nb_tile_units(const struct nb_alloc_tile *tile)
{
	return (tile->area.width + NB_UNIT - 1) / NB_UNIT;
}

static unsigned int nb_tile_unit(const struct nb_alloc_tile *tile)
{
	return tile->area.low % tile->area.pitch / NB_UNIT;
}

/* The use names its tile, which may move, for the first time in its node. */
static bool nb_is_new(const struct nb_plan *plan, const struct nb_node *node, uint32_t i)
{
	const struct nb_use *use = &plan->use[node->first_use + i];
	uint32_t j;

	if (use->tile == NB_NO_TILE || !plan->tile[use->tile].movable)
		return false;
	for (j = 0; j < i; j++)
		if (plan->use[node->first_use + j].tile == use->tile)
			return false;
	return true;
}

static void nb_mark_units(struct nb_places *places, const struct nb_alloc_tile *tile,
			  unsigned int unit, bool used)
{
	enum nb_memory memory = nb_tile_memory(tile);
	unsigned int i, units = nb_tile_units(tile);
	uint64_t size = (uint64_t)units * __builtin_popcount(tile->quadrants);

	for (i = unit; i < unit + units; i++) {
		if (used)
			places->used[memory][i] |= tile->quadrants;
		else
			places->used[memory][i] &= ~tile->quadrants;
	}
	if (used)
		places->taken[memory] += size;
	else
		places->taken[memory] -= size;
}

static void nb_count_free(struct nb_places *places, enum nb_memory memory, unsigned int percent)
{
	unsigned int units = nb_partition_bytes(places->plan->nb->tiles, memory) / NB_UNIT, i;
	uint64_t all = 0;

	for (i = 0; i < units; i++)
		all += NB_QUADRANTS - __builtin_popcount(places->used[memory][i]);
	places->most[memory] = all * percent / 100;
	places->taken[memory] = 0;
}

/* Those that were born in earlier regions; @first: the first one of this region. */
static void nb_find_living(struct nb_plan *plan, const struct nb_region *region, uint32_t first)
{
	uint32_t kept = 0, i;

	while (plan->nr_seen < first)
		plan->living[plan->nr_living++] = plan->nr_seen++;
	for (i = 0; i < plan->nr_living; i++)
		if (nb_tile_at_number(plan, plan->living[i])->died > region->begin)
			plan->living[kept++] = plan->living[i];
	plan->nr_living = kept;
}

static void nb_keep(struct nb_places *places, uint32_t number)
{
	const struct nb_alloc_tile *tile = nb_tile_at_number(places->plan, number);

	if (!places->plan->tile[number].movable)
		nb_mark_units(places, tile, nb_tile_unit(tile), true);
}

/*
 * Tiles of the region and those that live through it, which stay where they are. Of all others
 * none is looked at: there may be as many regions as tiles.
 */
static void nb_places_keep(struct nb_places *places, const struct nb_region *region)
{
	struct nb_plan *plan = places->plan;
	uint32_t number = region - plan->region, t, end = nb_first_tile(plan, number + 1);

	t = nb_first_tile(plan, number);
	nb_find_living(plan, region, t);
	for (; t < end; t++)
		nb_keep(places, t);
	for (t = 0; t < plan->nr_living; t++)
		nb_keep(places, plan->living[t]);
}

/* False: no tile of the region may move. */
static bool nb_count_uses(struct nb_plan *plan, const struct nb_region *region)
{
	bool again, some = false;
	uint32_t n, i;

	for (again = false;; again = true) {
		for (n = region->first; n < region->last; n++) {
			const struct nb_node *node = &plan->node[n];

			for (i = 0; i < node->nr_uses; i++) {
				struct nb_plan_tile *tile;

				if (!nb_is_new(plan, node, i))
					continue;
				tile = &plan->tile[plan->use[node->first_use + i].tile];
				some = true;
				tile->left = again ? tile->left + 1 : 0;
				tile->uses = tile->left;
				tile->end_ps = 0;
				tile->placed = false;
				tile->shift = 0;
			}
		}
		if (again)
			return some;
	}
}

void nb_places_begin(struct nb_places *places, struct nb_plan *plan,
		     const struct nb_region *region, unsigned int percent)
{
	places->plan = plan;
	if (!nb_count_uses(plan, region))
		return;
	memset(places->ready, 0, sizeof(places->ready));
	memset(places->next, 0, sizeof(places->next));
	memcpy(places->used, plan->raw, sizeof(places->used));
	nb_places_keep(places, region);
	nb_count_free(places, NB_SBUF, percent);
	nb_count_free(places, NB_PSUM, 100);
}

/* Units from @unit on that are free before one is not. */
static unsigned int nb_free_units(const struct nb_places *places, enum nb_memory memory,
				  unsigned int unit, unsigned int units, uint8_t quadrants)
{
	unsigned int i;

	for (i = 0; i < units; i++)
		if (places->used[memory][unit + i] & quadrants)
			return i;
	return units;
}

static int nb_find_place(const struct nb_places *places, const struct nb_alloc_tile *tile)
{
	enum nb_memory memory = nb_tile_memory(tile);
	unsigned int all = nb_partition_bytes(places->plan->nb->tiles, memory) / NB_UNIT;
	unsigned int units = nb_tile_units(tile), i, unit, fit;

	for (i = 0; i < all; i++) {
		unit = (places->next[memory] + i) % all;
		if (unit + units > all || nb_leaves_bank(memory, unit, units))
			continue;
		fit = nb_free_units(places, memory, unit, units, tile->quadrants);
		if (fit == units)
			return unit;
		i += fit;
	}
	return -1;
}

static bool nb_take(struct nb_places *places, int32_t number, uint64_t *ready)
{
	const struct nb_alloc_tile *tile = nb_tile_at_number(places->plan, number);
	enum nb_memory memory = nb_tile_memory(tile);
	int unit = nb_find_place(places, tile);
	unsigned int i;

	if (unit < 0)
		return false;
	for (i = unit; i < unit + nb_tile_units(tile); i++)
		if (*ready < places->ready[memory][i])
			*ready = places->ready[memory][i];
	nb_mark_units(places, tile, unit, true);
	places->next[memory] = unit + nb_tile_units(tile);
	places->plan->tile[number].placed = true;
	places->plan->tile[number].shift = (unit - (int)nb_tile_unit(tile)) * (int)NB_UNIT;
	return true;
}

static unsigned int nb_place_of(const struct nb_plan *plan, int32_t number)
{
	return nb_tile_unit(nb_tile_at_number(plan, number)) +
	       plan->tile[number].shift / (int)NB_UNIT;
}

static void nb_give_back(struct nb_places *places, int32_t number)
{
	nb_mark_units(places, nb_tile_at_number(places->plan, number),
		      nb_place_of(places->plan, number), false);
	places->plan->tile[number].placed = false;
}

static bool nb_too_early(const struct nb_places *places, const struct nb_node *node,
			 const struct nb_alloc_tile *tile)
{
	enum nb_memory memory = nb_tile_memory(tile);

	return node->transfer && places->taken[memory] &&
	       places->taken[memory] + (uint64_t)nb_tile_units(tile) *
		       __builtin_popcount(tile->quadrants) > places->most[memory];
}

bool nb_places_take(struct nb_places *places, const struct nb_node *node, bool wait,
		    uint64_t *ready, enum nb_memory *memory)
{
	struct nb_plan *plan = places->plan;
	unsigned int next[NB_MEMORIES];
	uint32_t i, j;

	memcpy(next, places->next, sizeof(next));
	for (i = 0; i < node->nr_uses; i++) {
		int32_t number = plan->use[node->first_use + i].tile;

		if (!nb_is_new(plan, node, i) || plan->tile[number].placed)
			continue;
		*memory = nb_tile_memory(nb_tile_at_number(plan, number));
		if (wait || nb_too_early(places, node, nb_tile_at_number(plan, number)) ||
		    !nb_take(places, number, ready))
			break;
	}
	if (i == node->nr_uses)
		return true;
	/* Only those of this node have all of their nodes before them. */
	for (j = 0; j < i; j++) {
		int32_t number = plan->use[node->first_use + j].tile;

		if (nb_is_new(plan, node, j) && plan->tile[number].placed &&
		    plan->tile[number].left == plan->tile[number].uses)
			nb_give_back(places, number);
	}
	memcpy(places->next, next, sizeof(next));
	return false;
}

unsigned int nb_places_done(struct nb_places *places, const struct nb_node *node, uint64_t end)
{
	struct nb_plan *plan = places->plan;
	unsigned int memories = 0, unit, u;
	uint32_t i;

	for (i = 0; i < node->nr_uses; i++) {
		int32_t number = plan->use[node->first_use + i].tile;
		const struct nb_alloc_tile *tile;
		enum nb_memory memory;

		if (!nb_is_new(plan, node, i))
			continue;
		if (plan->tile[number].end_ps < end)
			plan->tile[number].end_ps = end;
		if (--plan->tile[number].left)
			continue;
		tile = nb_tile_at_number(plan, number);
		memory = nb_tile_memory(tile);
		unit = nb_place_of(plan, number);
		for (u = unit; u < unit + nb_tile_units(tile); u++)
			if (places->ready[memory][u] < plan->tile[number].end_ps)
				places->ready[memory][u] = plan->tile[number].end_ps;
		nb_mark_units(places, tile, unit, false);
		memories |= NEURON_BIT(memory);
	}
	return memories;
}
