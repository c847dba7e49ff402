/* SPDX-License-Identifier: MIT */
/*
 * Who sends to whom in a permutation.
 */
#ifndef NCCOM_PAIRS_H
#define NCCOM_PAIRS_H

#include <stdint.h>

#include "file.h"

/**
 * struct pairs - the pairs of a group; no place is twice a source or twice a target
 * @nr: how many; 0: the operation has none
 * @pair: of each the source and the target, as places of the group
 */
struct pairs {
	unsigned int nr;
	uint32_t (*pair)[2];
};

/* Each of @ranks ranks sends to the next one, and the last one to the first. 0, or -1 with @why. */
int pairs_ring(struct pairs *pairs, unsigned int ranks, char why[FILE_WHY]);

/*
 * Of one group of @ranks ranks, as the file @path says: {"src_target_pairs": [[[0, 1], [1, 0]]]}.
 * 0, or -1 with @why.
 */
int pairs_read(struct pairs *pairs, unsigned int ranks, const char *path, char why[FILE_WHY]);

void pairs_fini(struct pairs *pairs);

/* Whose block the rank at place @target gets; -1: it gets none. */
int pairs_source(const struct pairs *pairs, unsigned int target);

#endif /* NCCOM_PAIRS_H */
