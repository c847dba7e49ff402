/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Faults of links: down, or slower than they are. They are named by the chips, so
 * they outlive a chip that leaves and comes back.
 */
#ifndef TRN_LINK_H
#define TRN_LINK_H

#include <stddef.h>

#include "fabric/trn_topology.h"

#define TRN_LINK_FAULTS		256

/**
 * struct trn_link_fault - what a link has
 * @a: fabric id
 * @b: fabric id of the other end, or with @by_number the number of @a's link
 * @by_number: which
 * @down: nothing passes
 * @percent: of its MB/s that are left, 1 to 100
 * @mbps: most MB/s, 0: no limit
 */
struct trn_link_fault {
	uint32_t a;
	uint32_t b;
	bool by_number;
	bool down;
	uint8_t percent;
	uint32_t mbps;
};

struct trn_link_faults {
	unsigned int nr;
	struct trn_link_fault fault[TRN_LINK_FAULTS];
};

/*
 * Read a fault: "A-B=STATE" or "A:LINK=STATE" with STATE up, down, slow:PERCENT or
 * mbps:MB/s. Returns what follows it, or NULL with *@why.
 */
const char *trn_link_parse(const char *text, struct trn_link_fault *fault,
			   const char **why);

/* Add, replace or (up) remove; false: there are too many. */
bool trn_link_set(struct trn_link_faults *faults,
		  const struct trn_link_fault *fault);

/* NULL, or why @fault names no link of @map. Chips that are not there may come. */
const char *trn_link_check(const struct trn_map *map,
			   const struct trn_link_fault *fault);

/* Change the ports of a map that has just been built. */
void trn_link_apply(struct trn_map *map, const struct trn_link_faults *faults);

/* The faults as text that trn_link_parse() reads, separated by ";". */
void trn_link_print(const struct trn_link_faults *faults, char *text,
		    size_t size);

#endif /* TRN_LINK_H */
