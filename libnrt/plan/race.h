/* SPDX-License-Identifier: MIT */
/*
 * Accesses to memory that nothing orders. Each actor has a vector clock; each granule of memory
 * remembers who wrote it last, and who has read it since.
 */
#ifndef LIBNRT_PLAN_RACE_H
#define LIBNRT_PLAN_RACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Readers of a granule that are not ordered with each other: with a place in it, and at most. */
#define RACE_FEW	2
#define RACE_READERS	18

/* A moment: the tick of an actor. */
struct race_epoch {
	uint32_t actor;
	uint32_t tick;
};

/**
 * struct race_cell - a granule
 * @write: who wrote it last
 * @few, @more, @nr_read: who has read it since; @more has room for RACE_READERS - RACE_FEW, or is
 *	NULL
 * @known: something has been written
 */
struct race_cell {
	struct race_epoch write;
	struct race_epoch few[RACE_FEW];
	struct race_epoch *more;
	uint8_t nr_read;
	bool known;
};

/* A vector clock of @actors: what has happened before. */
static inline void race_join(uint32_t *clock, const uint32_t *other, unsigned int actors)
{
	unsigned int i;

	for (i = 0; i < actors; i++)
		clock[i] = clock[i] > other[i] ? clock[i] : other[i];
}

static inline bool race_before(struct race_epoch epoch, const uint32_t *clock)
{
	return clock[epoch.actor] >= epoch.tick;
}

enum race_found {
	RACE_NONE,
	RACE_UNKNOWN,		/* a read of what nobody has written */
	RACE_READ_WRITE,	/* a read beside a write, or the other way round */
	RACE_WRITE_WRITE,
	RACE_FULL,		/* more readers than RACE_READERS, or no memory for them */
};

/* Nothing has happened yet but a write at @begin. */
void race_begin(struct race_cell *cell, struct race_epoch begin);
void race_free(struct race_cell *cell);

/*
 * @actor, whose clock is @clock, reads or writes @cell; *@other: with whom it is not ordered.
 */
enum race_found race_read(struct race_cell *cell, unsigned int actor, const uint32_t *clock,
			  struct race_epoch *other);
enum race_found race_write(struct race_cell *cell, unsigned int actor, const uint32_t *clock,
			   struct race_epoch *other);

/* All that happened to @cell was before @clock. */
bool race_settled(struct race_cell *cell, const uint32_t *clock, struct race_epoch *other);

#endif /* LIBNRT_PLAN_RACE_H */
