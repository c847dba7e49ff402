/* SPDX-License-Identifier: MIT */
/*
 * Replica groups: which ranks do an operation together.
 */
#ifndef NCCOM_GROUPS_H
#define NCCOM_GROUPS_H

#include <stddef.h>
#include <stdint.h>

#include "file.h"

/**
 * struct groups - groups of one size; no rank is in two of them
 * @nr: groups
 * @size: ranks of each
 * @rank: of group g, in order: from @rank[g * @size] on
 */
struct groups {
	unsigned int nr;
	unsigned int size;
	uint32_t *rank;
};

/* All of @ranks ranks. 0, or -1 with @why. */
int groups_all(struct groups *groups, unsigned int ranks, char why[FILE_WHY]);

/* Groups of @size ranks each: rank r is in group r modulo their number. 0, or -1 with @why. */
int groups_parallel(struct groups *groups, unsigned int ranks, unsigned int size,
		    char why[FILE_WHY]);

/*
 * As the file @path says: {"replica_groups": [[[0, 1], [2, 3]]]}. A rank may be in no group. 0, or
 * -1 with @why.
 */
int groups_read(struct groups *groups, unsigned int ranks, const char *path,
		char why[FILE_WHY]);

void groups_fini(struct groups *groups);

#endif /* NCCOM_GROUPS_H */
