// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "plan/race.h"

void race_begin(struct race_cell *cell, struct race_epoch begin)
{
	cell->write = begin;
	cell->nr_read = 0;
	cell->known = false;
}

void race_free(struct race_cell *cell)
{
	free(cell->more);
}

static struct race_epoch *reader(struct race_cell *cell, unsigned int i)
{
	return i < RACE_FEW ? &cell->few[i] : &cell->more[i - RACE_FEW];
}

/* Room for one more reader. */
static bool has_room(struct race_cell *cell)
{
	if (cell->nr_read < RACE_FEW || (cell->more && cell->nr_read < RACE_READERS))
		return true;
	if (!cell->more)
		cell->more = calloc(RACE_READERS - RACE_FEW, sizeof(*cell->more));
	return cell->more && cell->nr_read < RACE_READERS;
}

enum race_found race_read(struct race_cell *cell, unsigned int actor, const uint32_t *clock,
			  struct race_epoch *other)
{
	struct race_epoch now = { actor, clock[actor] };
	unsigned int i;

	*other = cell->write;
	if (!cell->known)
		return RACE_UNKNOWN;
	if (!race_before(cell->write, clock))
		return RACE_READ_WRITE;
	/* Whoever comes after this read comes after a read that was before it. */
	for (i = 0; i < cell->nr_read; i++) {
		if (race_before(*reader(cell, i), clock)) {
			*reader(cell, i) = now;
			return RACE_NONE;
		}
	}
	if (!has_room(cell))
		return RACE_FULL;
	*reader(cell, cell->nr_read++) = now;
	return RACE_NONE;
}

enum race_found race_write(struct race_cell *cell, unsigned int actor, const uint32_t *clock,
			   struct race_epoch *other)
{
	unsigned int i;

	*other = cell->write;
	if (!race_before(cell->write, clock))
		return RACE_WRITE_WRITE;
	for (i = 0; i < cell->nr_read; i++) {
		*other = *reader(cell, i);
		if (!race_before(*other, clock))
			return RACE_READ_WRITE;
	}
	cell->write = (struct race_epoch){ actor, clock[actor] };
	cell->nr_read = 0;
	cell->known = true;
	return RACE_NONE;
}

bool race_settled(struct race_cell *cell, const uint32_t *clock, struct race_epoch *other)
{
	unsigned int i;

	*other = cell->write;
	if (!race_before(cell->write, clock))
		return false;
	for (i = 0; i < cell->nr_read; i++) {
		*other = *reader(cell, i);
		if (!race_before(*other, clock))
			return false;
	}
	return true;
}
