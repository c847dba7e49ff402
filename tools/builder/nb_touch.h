/* SPDX-License-Identifier: MIT */
/*
 * Who has touched which bytes: the accesses to SBUF, PSUM and variables that a later one may
 * have to wait for, in bins, so that an access is compared with its neighbours only.
 */
#ifndef NB_TOUCH_H
#define NB_TOUCH_H

#include "nb_area.h"

/**
 * struct nb_touch - an access
 * @seq: number of its event among those of @actor, from 1
 * @actor: who made it: a later event of an actor comes after its earlier ones
 * @all: it stands for accesses of several events up to @seq
 */
struct nb_touch {
	struct nb_area area;
	uint32_t seq;
	uint8_t actor;
	bool write;
	bool all;
};

struct nb_bin {
	struct nb_touch *touch;
	unsigned int nr;
	unsigned int room;
};

/* A space in bins of equal size: of @bytes, which is 2^@shift unless @shift is 0. */
struct nb_binned {
	struct nb_bin *bin;
	unsigned int nr;
	unsigned int shift;
	uint64_t bytes;
};

/*
 * @floor: in a part of the program that may not be executed: events of each actor before it, for
 * whose accesses those in the part do not stand; otherwise NULL
 */
struct nb_touched {
	struct nb_program *nb;
	const uint32_t *floor;
	struct nb_binned *space;
	uint32_t nr_spaces;
	uint32_t *used;		/* spaces that have bins */
	uint32_t nr_used;
};

int nb_touched_init(struct nb_touched *touched, struct nb_program *nb);
void nb_touched_free(struct nb_touched *touched);
/* All accesses are over, and everybody knows. */
void nb_touched_forget(struct nb_touched *touched);

/* Events of actor a after @begin[a] become event @end[a]. */
void nb_touched_renumber(struct nb_touched *touched, const uint32_t *begin,
			 const uint32_t *end);

/*
 * Of the accesses by events after @begin[a]: at which of the @events[a] events of a round the last
 * one of actor a is, counted from 1; 0: there is none.
 */
void nb_touched_last(const struct nb_touched *touched, const uint32_t *begin,
		     const uint32_t *events, unsigned int nr_actors, uint32_t *last);

typedef void nb_touch_fn(void *context, const struct nb_touch *before,
			 const struct nb_touch *now);

/*
 * Call @fn for what @now must come after: the same one may be named several times. @over[a]:
 * events of actor a that everybody knows to be over; they are not named and forgotten.
 */
int nb_touched_ask(struct nb_touched *touched, const struct nb_touch *now,
		   const uint32_t *over, nb_touch_fn *fn, void *context);
/* Remember @now, which comes after all that nb_touched_ask() has named for it. 0 or -1. */
int nb_touched_add(struct nb_touched *touched, const struct nb_touch *now);

#endif /* NB_TOUCH_H */
