/* SPDX-License-Identifier: MIT */
/*
 * Which algorithm a collective gets. The table is in choose.c, and in collectives.rst in words.
 */
#ifndef LIBNRT_PLAN_CHOOSE_H
#define LIBNRT_PLAN_CHOOSE_H

#include "plan/plan.h"

/*
 * Set @choice, @nr_channels and @slice of @plan, whose other fields are those of @ask already.
 * NRT_INVALID: the algorithm that @ask wants is unknown, or cannot do it.
 */
NRT_STATUS nrt_plan_choose(struct nrt_plan *plan, const struct nrt_plan_ask *ask,
			   struct nrt_error *error);

/* Queues of a channel at most. */
unsigned int nrt_plan_queues(const struct nrt_plan *plan);

/**
 * struct nrt_plan_groups - the groups of HIER
 * @nr: how many
 * @size: ranks of each
 * @group, @local: of each rank: its group, and its index there
 * @rank: of each group (@size apart) and index
 */
struct nrt_plan_groups {
	unsigned int nr;
	unsigned int size;
	uint16_t group[NRT_PLAN_MAX_RANKS];
	uint16_t local[NRT_PLAN_MAX_RANKS];
	uint16_t rank[NRT_PLAN_MAX_RANKS];
};

/*
 * Ranks of the same chip or, without @by_chip, server; in the order of the ranks. false: the
 * groups differ in size, or ranks with the same index in their groups are not equally far apart.
 */
bool nrt_plan_find_groups(const struct nrt_plan *plan, bool by_chip,
			  struct nrt_plan_groups *groups);

#endif /* LIBNRT_PLAN_CHOOSE_H */
