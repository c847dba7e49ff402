// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Checks: accesses to the bytes of a line that may still race with later ones. An
 * access that another one covers and comes before is not kept; when there are more
 * than there is room for, one is forgotten.
 */
#include "check/trn_check_private.h"

/* struct trn_race.where */
#define WHERE_WRITE	NEURON_BIT(31)
#define WHERE_ACTOR	NEURON_MASK(30, 22)
#define WHERE_GENERATED	NEURON_BIT(21)
#define WHERE_PC	NEURON_MASK(20, 0)

static uint32_t where_of(const struct trn_check_actor *actor, bool write)
{
	return (write ? WHERE_WRITE : 0) |
	       NEURON_PUT(WHERE_ACTOR, actor->index) |
	       (actor->pc & NEURON_UDMA_PC_GENERATED ? WHERE_GENERATED : 0) |
	       (actor->pc & WHERE_PC);
}

bool trn_race_is_write(const struct trn_race *race)
{
	return race->where & WHERE_WRITE;
}

unsigned int trn_race_actor(const struct trn_race *race)
{
	return NEURON_GET(WHERE_ACTOR, race->where);
}

uint32_t trn_race_pc(const struct trn_race *race)
{
	return (race->where & WHERE_PC) |
	       (race->where & WHERE_GENERATED ? NEURON_UDMA_PC_GENERATED : 0);
}

/* Was it over, in every order of events that the job allows? */
static bool came_before(const struct trn_race *race,
			const struct trn_check_actor *actor)
{
	unsigned int who = trn_race_actor(race);

	return who == actor->index || race->time <= trn_check_clock(actor)[who];
}

/* Whoever races with @race also races with the new access. */
static bool is_covered(const struct trn_race *race, uint64_t mask, bool write)
{
	return !(race->mask & ~mask) && (write || !trn_race_is_write(race));
}

uint64_t trn_race_access(struct trn_race *slots, struct trn_check_actor *actor,
			 uint64_t mask, bool write, struct trn_race *other)
{
	struct trn_race access = {
		.mask = mask,
		.time = atomic_load(trn_check_now(actor)),
		.where = where_of(actor, write),
	};
	struct trn_race *slot, *room = NULL;
	uint64_t found = 0;

	for (slot = slots; slot < slots + TRN_RACE_SLOTS; slot++) {
		if (slot->mask && !came_before(slot, actor)) {
			if (!found && (slot->mask & mask) &&
			    (write || trn_race_is_write(slot))) {
				found = slot->mask & mask;
				*other = *slot;
			}
			continue;
		}
		/* Its own, of the same instruction: one access. */
		if (slot->where == access.where && slot->time == access.time)
			access.mask |= slot->mask;
		if (is_covered(slot, access.mask, write)) {
			slot->mask = 0;
			room = room ? room : slot;
		}
	}
	if (!room)
		room = &slots[access.time % TRN_RACE_SLOTS];
	*room = access;
	return found;
}
