// SPDX-License-Identifier: MIT
/* Who has touched which bytes. */
#include <stdlib.h>
#include <string.h>

#include "nb_touch.h"

#define NB_BIN_BYTES	2048
/* Bins of a variable. Few, so that a large transfer does not take long. */
#define NB_MAX_BINS	256
/*
 * Accesses in a bin; before there are more, those of an actor become one that holds them all,
 * as late as the last. So the time for an access is bounded, and a wait may be needless.
 */
#define NB_BIN_TOUCHES	192

int nb_touched_init(struct nb_touched *touched, struct nb_program *nb)
{
	touched->nb = nb;
	touched->floor = NULL;
	touched->nr_spaces = NB_SPACE_VAR + nb->nr_vars;
	touched->nr_used = 0;
	touched->space = calloc(touched->nr_spaces, sizeof(*touched->space));
	touched->used = calloc(touched->nr_spaces, sizeof(*touched->used));
	if (!touched->space || !touched->used)
		return nb_fail(nb, "out of memory");
	return 0;
}

void nb_touched_free(struct nb_touched *touched)
{
	struct nb_binned *space;
	unsigned int i, b;

	for (i = 0; i < touched->nr_used; i++) {
		space = &touched->space[touched->used[i]];
		for (b = 0; b < space->nr; b++)
			free(space->bin[b].touch);
		free(space->bin);
	}
	free(touched->space);
	free(touched->used);
}

void nb_touched_forget(struct nb_touched *touched)
{
	struct nb_binned *space;
	unsigned int i, b;

	for (i = 0; i < touched->nr_used; i++) {
		space = &touched->space[touched->used[i]];
		for (b = 0; b < space->nr; b++)
			space->bin[b].nr = 0;
	}
}

static void nb_bin_renumber(struct nb_bin *bin, const uint32_t *begin, const uint32_t *end)
{
	unsigned int i;

	for (i = 0; i < bin->nr; i++) {
		struct nb_touch *touch = &bin->touch[i];

		if (touch->seq > begin[touch->actor])
			touch->seq = end[touch->actor];
	}
}

void nb_touched_renumber(struct nb_touched *touched, const uint32_t *begin,
			 const uint32_t *end)
{
	struct nb_binned *space;
	unsigned int i, b;

	for (i = 0; i < touched->nr_used; i++) {
		space = &touched->space[touched->used[i]];
		for (b = 0; b < space->nr; b++)
			nb_bin_renumber(&space->bin[b], begin, end);
	}
}

static void nb_bin_last(const struct nb_bin *bin, const uint32_t *begin, const uint32_t *events,
			uint32_t *last)
{
	unsigned int i, a;
	uint32_t at;

	for (i = 0; i < bin->nr; i++) {
		a = bin->touch[i].actor;
		if (bin->touch[i].seq <= begin[a])
			continue;
		at = (bin->touch[i].seq - begin[a] - 1) % events[a] + 1;
		if (last[a] < at)
			last[a] = at;
	}
}

void nb_touched_last(const struct nb_touched *touched, const uint32_t *begin,
		     const uint32_t *events, unsigned int nr_actors, uint32_t *last)
{
	const struct nb_binned *space;
	unsigned int i, b;

	memset(last, 0, nr_actors * sizeof(*last));
	for (i = 0; i < touched->nr_used; i++) {
		space = &touched->space[touched->used[i]];
		for (b = 0; b < space->nr; b++)
			nb_bin_last(&space->bin[b], begin, events, last);
	}
}

/* The bins of a space: of a memory with partitions by the byte in the partition. */
static struct nb_binned *nb_space_get(struct nb_touched *touched, uint32_t index)
{
	struct nb_binned *space = &touched->space[index];
	uint64_t size = nb_space_stride(index);

	if (space->bin)
		return space;
	if (!size)
		size = nb_space_size(touched->nb, index);
	space->bytes = NB_BIN_BYTES;
	if (size > (uint64_t)NB_BIN_BYTES * NB_MAX_BINS)
		space->bytes = (size + NB_MAX_BINS - 1) / NB_MAX_BINS;
	space->shift = nb_log2(space->bytes);
	space->nr = (size + space->bytes - 1) / space->bytes;
	space->bin = calloc(space->nr, sizeof(*space->bin));
	if (!space->bin) {
		nb_fail(touched->nb, "out of memory");
		return NULL;
	}
	touched->used[touched->nr_used++] = index;
	return space;
}

static unsigned int nb_bin_at(const struct nb_binned *space, uint64_t byte)
{
	return space->shift ? byte >> space->shift : byte / space->bytes;
}

static void nb_bin_range(const struct nb_binned *space, const struct nb_area *area,
			 unsigned int *first, unsigned int *last)
{
	uint64_t stride = nb_space_stride(area->space);
	uint64_t low = stride ? nb_remainder(area->low, stride) : area->low;
	uint64_t end = stride ? low + area->width : nb_area_end(area);

	*first = nb_bin_at(space, low);
	*last = end > low ? nb_bin_at(space, end - 1) : *first;
	if (*last >= space->nr)
		*last = space->nr - 1;
}

/* @old is not executed if what is under work is not. */
static bool nb_touch_is_inside(const struct nb_touched *touched, const struct nb_touch *old)
{
	return !touched->floor || (old->seq > touched->floor[old->actor] && !old->all);
}

/* Who must come after @old must come after @now too, which comes after @old itself. */
static bool nb_touch_replaces(const struct nb_touched *touched, const struct nb_touch *now,
			      const struct nb_touch *old)
{
	return nb_touch_is_inside(touched, old) &&
	       (now->write || (!old->write && old->actor == now->actor)) &&
	       nb_area_covers(&now->area, &old->area);
}

static void nb_bin_ask(struct nb_bin *bin, const struct nb_touch *now, const uint32_t *over,
		       nb_touch_fn *fn, void *context)
{
	unsigned int i, kept = 0;

	for (i = 0; i < bin->nr; i++) {
		const struct nb_touch *old = &bin->touch[i];

		if (old->seq <= over[old->actor])
			continue;
		if ((now->write || old->write) && nb_area_overlaps(&old->area, &now->area))
			fn(context, old, now);
		if (kept != i)
			bin->touch[kept] = *old;
		kept++;
	}
	bin->nr = kept;
}

int nb_touched_ask(struct nb_touched *touched, const struct nb_touch *now,
		   const uint32_t *over, nb_touch_fn *fn, void *context)
{
	struct nb_binned *space = nb_space_get(touched, now->area.space);
	unsigned int b, last;

	if (!space)
		return -1;
	nb_bin_range(space, &now->area, &b, &last);
	for (; b <= last; b++)
		nb_bin_ask(&space->bin[b], now, over, fn, context);
	return 0;
}

/* Accesses of one actor and kind become one. */
static void nb_bin_merge(struct nb_bin *bin)
{
	unsigned int i, j, kept = 0;

	for (i = 0; i < bin->nr; i++) {
		const struct nb_touch touch = bin->touch[i];

		for (j = 0; j < kept; j++)
			if (bin->touch[j].actor == touch.actor &&
			    bin->touch[j].write == touch.write)
				break;
		if (j == kept) {
			bin->touch[kept++] = touch;
			continue;
		}
		nb_area_join(&bin->touch[j].area, &touch.area);
		bin->touch[j].all = true;
		if (bin->touch[j].seq < touch.seq)
			bin->touch[j].seq = touch.seq;
	}
	bin->nr = kept;
}

static int nb_bin_grow(struct nb_program *nb, struct nb_bin *bin)
{
	unsigned int room = bin->room ? bin->room * 2 : 4;
	struct nb_touch *touch = realloc(bin->touch, room * sizeof(*touch));

	if (!touch)
		return nb_fail(nb, "out of memory");
	bin->touch = touch;
	bin->room = room;
	return 0;
}

static int nb_bin_add(const struct nb_touched *touched, struct nb_bin *bin,
		      const struct nb_touch *now)
{
	unsigned int i, kept = 0;

	for (i = 0; i < bin->nr; i++) {
		if (nb_touch_replaces(touched, now, &bin->touch[i]))
			continue;
		if (kept != i)
			bin->touch[kept] = bin->touch[i];
		kept++;
	}
	bin->nr = kept;
	if (bin->nr >= NB_BIN_TOUCHES)
		nb_bin_merge(bin);
	if (bin->nr == bin->room && nb_bin_grow(touched->nb, bin))
		return -1;
	bin->touch[bin->nr++] = *now;
	return 0;
}

int nb_touched_add(struct nb_touched *touched, const struct nb_touch *now)
{
	struct nb_binned *space = nb_space_get(touched, now->area.space);
	unsigned int b, last;

	if (!space)
		return -1;
	nb_bin_range(space, &now->area, &b, &last);
	for (; b <= last; b++)
		if (nb_bin_add(touched, &space->bin[b], now))
			return -1;
	return 0;
}
