// SPDX-License-Identifier: MIT
/* Outputs that two ranks have in common. */
#include <stdio.h>
#include <stdlib.h>

#include "rank.h"

static bool have_one_hbm(const nrt_emu_place_t *a, const nrt_emu_place_t *b)
{
	return a->server == b->server && a->chip == b->chip && a->stack == b->stack;
}

/*
 * The rank of @group at place @me has its output, unless another one before it, with the same HBM,
 * has one and nobody else to share it with; *@alone: whether somebody may still come.
 */
static void share(struct ranks *ranks, unsigned int op, const uint32_t *group, unsigned int me,
		  const nrt_emu_place_t *places, bool *alone)
{
	unsigned int i = 0;

	while (i < me && !(alone[i] && have_one_hbm(&places[i], &places[me])))
		i++;
	alone[i] = i == me;
	alone[me] = i == me;
	ranks->rank[group[me]].part[op].owner = &ranks->rank[group[i]].part[op];
}

static int share_group(struct ranks *ranks, unsigned int op, const uint32_t *group,
		       unsigned int size, char why[RANKS_WHY])
{
	nrt_emu_place_t *places = calloc(size, sizeof(*places));
	bool *alone = calloc(size, sizeof(*alone));
	unsigned int i;
	int ret = -1;

	snprintf(why, RANKS_WHY, "out of memory");
	for (i = 0; places && alone && i < size; i++) {
		if (nrt_emu_get_core_place(group[i], &places[i], sizeof(*places)))
			break;
		share(ranks, op, group, i, places, alone);
	}
	if (i == size) {
		for (i = 0; i < size && !alone[i]; i++)
			;
		ret = i < size ? -1 : 0;
		if (ret)
			snprintf(why, RANKS_WHY,
				 "--shared-output-buff: no other rank of its group has the HBM of rank %u; try NEURON_LOGICAL_NC_CONFIG=1",
				 group[i]);
	}
	free(places);
	free(alone);
	return ret;
}

/* After nrt_init(). */
int ranks_share(struct ranks *ranks, char why[RANKS_WHY])
{
	const struct groups *groups;
	unsigned int i, g;

	for (i = 0; i < ranks->of.nr_ops; i++) {
		groups = ranks->of.op[i].groups;
		for (g = 0; g < groups->nr; g++)
			if (share_group(ranks, i, &groups->rank[g * groups->size], groups->size,
					why))
				return -1;
	}
	return 0;
}
