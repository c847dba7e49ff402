// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/cc_offer.h"

struct nrt_cc_offer *nrt_cc_offers_new(const struct nrt_cc_team *team, struct nrt_error *error)
{
	struct nrt_cc_offer *all = calloc(team->nr, sizeof(*all));

	if (!all)
		nrt_error_memory(error);
	return all;
}

void nrt_cc_offer_no(struct nrt_cc_offer *offer, const struct nrt_error *why)
{
	offer->status = (int32_t)why->status;
	snprintf(offer->why, sizeof(offer->why), "%.*s", (int)sizeof(offer->why) - 1, why->text);
}

/* Has a rank said no? This one has its own reason already. */
static NRT_STATUS hear_no(const struct nrt_cc_team *team, const struct nrt_cc_offer *all,
			  struct nrt_error *error)
{
	uint32_t i;

	if (all[team->me].status)
		return error->status;
	for (i = 0; i < team->nr; i++)
		if (all[i].status)
			return nrt_error_set(error, (NRT_STATUS)all[i].status,
					     "rank %u of %u cannot take part: %.*s",
					     team->ranks[i], team->world->count,
					     (int)sizeof(all[i].why) - 1, all[i].why);
	return NRT_SUCCESS;
}

/*
 * All ranks of the team have the same streams, also those that no collective ties to each other
 * directly: they meet for each of them.
 */
static NRT_STATUS compare_streams(const struct nrt_cc_team *team, const struct nrt_cc_offer *all,
				  uint32_t rank, struct nrt_error *error)
{
	const uint8_t *mine = all[team->me].stream, *theirs = all[rank].stream;
	unsigned int i = 0;

	while (i < NEFF_MAX_COLLECTIVES && theirs[i] == mine[i])
		i++;
	if (i == NEFF_MAX_COLLECTIVES)
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_INVALID,
			     "the ranks do not agree: collective %u of the model is on stream %u on rank %u, and on stream %u on rank %u",
			     i, mine[i], team->ranks[team->me], theirs[i], team->ranks[rank]);
}

/* Whoever differs from one of the others finds somebody, so all of them do. */
static NRT_STATUS compare(const struct nrt_cc_team *team, enum nrt_cc_when when,
			  const struct nrt_cc_offer *all, struct nrt_error *error)
{
	const struct nrt_cc_offer *mine = &all[team->me];
	uint32_t i;

	for (i = 0; i < team->nr; i++) {
		if (when == NRT_CC_AT_EXECUTION && all[i].model != mine->model)
			return nrt_error_set(error, NRT_INVALID,
					     "the ranks do not agree: rank %u executes model %llu with collectives, and rank %u executes model %llu; count them as they were loaded",
					     team->ranks[team->me], (unsigned long long)mine->model,
					     team->ranks[i], (unsigned long long)all[i].model);
		if (all[i].nr != mine->nr)
			return nrt_error_set(error, NRT_INVALID,
					     "the ranks do not agree: the model of rank %u has %u collectives, that of rank %u has %u",
					     team->ranks[team->me], mine->nr, team->ranks[i],
					     all[i].nr);
		if (compare_streams(team, all, i, error))
			return error->status;
	}
	return NRT_SUCCESS;
}

NRT_STATUS nrt_cc_offers_meet(struct nrt_cc_team *team, enum nrt_cc_when when,
			      struct nrt_cc_offer *all, bool *agreed, struct nrt_error *error)
{
	struct nrt_cc_offer *mine = &all[team->me];
	const struct nrt_cc_offer own = *mine;
	struct nrt_error why = { 0 };
	struct nrt_gather gather = {
		.rank = team->me,
		.count = team->nr,
		.ranks = team->ranks,
		.size = sizeof(*mine),
		.input = mine,
		.output = all,
	};
	char name[NRT_CC_NAME];

	nrt_cc_name(name, when == NRT_CC_AT_LOAD ? "load of a model" : "execution of a model",
		    team->ranks, team->nr);
	gather.what = name;
	*agreed = false;
	if (nrt_world_gather(team->world, &gather, &why)) {
		*error = why;
		return error->status;
	}
	*agreed = true;
	/* It has gone by way of the root of the world, which is not asked what this rank says. */
	*mine = own;
	if (hear_no(team, all, error))
		return error->status;
	return compare(team, when, all, error);
}

void nrt_cc_offers_of(const struct nrt_cc_offer *all, unsigned int index,
		      const struct nrt_cc_links *links, struct nrt_cc_agreement *said)
{
	uint32_t i;

	for (i = 0; i < links->nr; i++)
		said[i] = all[links->peers[i].place].item[index];
}
