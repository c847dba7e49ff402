// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/cc_offer.h"

/*
 * What all ranks of a team say at a time of their items: room for some of the largest team, so that
 * the memory is small, and so that models with many collectives are not the only ones with pieces.
 */
#define PIECE_BYTES	(64 * 1024)

_Static_assert(NRT_GATHER_MAX_BYTES >= PIECE_BYTES, "a piece can be gathered");
_Static_assert(NRT_PLAN_MAX_RANKS * sizeof(struct nrt_cc_agreement) <= PIECE_BYTES,
	       "it has room for an item of all ranks");

NRT_STATUS nrt_cc_offers_init(struct nrt_cc_offers *offers, struct nrt_cc_team *team,
			      unsigned int room, struct nrt_error *error)
{
	*offers = (struct nrt_cc_offers){
		.team = team,
		.rank = calloc(team->nr, sizeof(*offers->rank)),
		.mine = calloc(room + 1, sizeof(*offers->mine)),
		.links = calloc(room + 1, sizeof(*offers->links)),
		.at = calloc(room + 1, sizeof(*offers->at)),
		.room = room,
	};
	if (!offers->rank || !offers->mine || !offers->links || !offers->at)
		return nrt_error_memory(error);
	return NRT_SUCCESS;
}

void nrt_cc_offers_free(struct nrt_cc_offers *offers)
{
	free(offers->rank);
	free(offers->mine);
	free(offers->links);
	free(offers->at);
	free(offers->items);
}

void nrt_cc_offer_no(struct nrt_cc_offer *offer, const struct nrt_error *why)
{
	offer->status = (int32_t)why->status;
	snprintf(offer->why, sizeof(offer->why), "%.*s", (int)sizeof(offer->why) - 1, why->text);
}

/* Has a rank said no? This one has its own reason already. */
static NRT_STATUS hear_no(const struct nrt_cc_offers *offers, struct nrt_error *error)
{
	const struct nrt_cc_team *team = offers->team;
	const struct nrt_cc_offer *all = offers->rank;
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
static NRT_STATUS compare(const struct nrt_cc_offers *offers, enum nrt_cc_when when,
			  struct nrt_error *error)
{
	const struct nrt_cc_team *team = offers->team;
	const struct nrt_cc_offer *all = offers->rank, *mine = &all[team->me];
	uint32_t i;

	for (i = 0; i < team->nr; i++) {
		if (when == NRT_CC_AT_EXECUTION && all[i].model != mine->model)
			return nrt_error_set(error, NRT_INVALID,
					     "the ranks do not agree: rank %u executes model %llu with collectives, and rank %u executes model %llu; count them as they were loaded",
					     team->ranks[team->me], (unsigned long long)mine->model,
					     team->ranks[i], (unsigned long long)all[i].model);
		if (all[i].nr != mine->nr)
			return nrt_error_set(error, NRT_INVALID,
					     "the ranks do not agree: the model of rank %u has %u collectives and barriers, that of rank %u has %u",
					     team->ranks[team->me], mine->nr, team->ranks[i],
					     all[i].nr);
		if (when == NRT_CC_AT_LOAD && compare_streams(team, all, i, error))
			return error->status;
	}
	return NRT_SUCCESS;
}

/*
 * All of them say @size bytes by the same @name. What this rank says goes by way of the root of the
 * world, which is not asked what that is.
 */
static NRT_STATUS gather(const struct nrt_cc_team *team, const char *name, const void *mine,
			 size_t size, void *all, struct nrt_error *error)
{
	struct nrt_gather gather = {
		.what = name,
		.rank = team->me,
		.count = team->nr,
		.ranks = team->ranks,
		.size = size,
		.input = mine,
		.output = all,
	};
	struct nrt_error why = { 0 };

	if (nrt_world_gather(team->world, &gather, &why)) {
		*error = why;
		return error->status;
	}
	memcpy((char *)all + team->me * size, mine, size);
	return NRT_SUCCESS;
}

static NRT_STATUS gather_models(struct nrt_cc_offers *offers, const char *name,
				struct nrt_error *error)
{
	const struct nrt_cc_offer mine = *nrt_cc_offers_mine(offers);

	return gather(offers->team, name, &mine, sizeof(mine), offers->rank, error);
}

/* Keep of @all, @nr items of each rank from @first on, what the ranks of their groups say. */
static void keep(struct nrt_cc_offers *offers, unsigned int first, unsigned int nr,
		 const struct nrt_cc_agreement *all, size_t stride)
{
	unsigned int i;
	uint32_t k;

	for (i = 0; i < nr; i++) {
		const struct nrt_cc_links *links = offers->links[first + i];
		struct nrt_cc_agreement *item = &offers->items[offers->at[first + i]];

		for (k = 0; k < links->nr; k++)
			memcpy(&item[k], (const char *)&all[i] + links->peers[k].place * stride,
			       sizeof(*item));
	}
}

/* Room for what is said of all items. */
static NRT_STATUS make_room(struct nrt_cc_offers *offers, struct nrt_error *error)
{
	const unsigned int nr = nrt_cc_offers_mine(offers)->nr;
	unsigned int i;
	size_t all = 0;

	for (i = 0; i < nr; i++) {
		offers->at[i] = all;
		all += offers->links[i]->nr;
	}
	free(offers->items);
	offers->items = calloc(all + 1, sizeof(*offers->items));
	return offers->items ? NRT_SUCCESS : nrt_error_memory(error);
}

/* The items from @first on, in pieces. */
static NRT_STATUS gather_items(struct nrt_cc_offers *offers, const char *name, unsigned int first,
			       struct nrt_error *error)
{
	const unsigned int count = offers->team->nr, all = nrt_cc_offers_mine(offers)->nr;
	unsigned int nr, most = PIECE_BYTES / (count * sizeof(*offers->items));
	struct nrt_cc_agreement *piece;
	NRT_STATUS status = NRT_SUCCESS;

	if (first >= all)
		return NRT_SUCCESS;
	if (most > all - first)
		most = all - first;
	piece = calloc((size_t)most * count, sizeof(*piece));
	if (!piece)
		return nrt_error_memory(error);
	for (; first < all && !status; first += nr) {
		nr = all - first < most ? all - first : most;
		status = gather(offers->team, name, &offers->mine[first], nr * sizeof(*piece),
				piece, error);
		if (!status)
			keep(offers, first, nr, piece, nr * sizeof(*piece));
	}
	free(piece);
	return status;
}

/* At an execution the offers have brought the first items. */
static unsigned int first_items(const struct nrt_cc_offer *mine, enum nrt_cc_when when)
{
	if (when == NRT_CC_AT_LOAD)
		return 0;
	return mine->nr < NRT_CC_FIRST_ITEMS ? mine->nr : NRT_CC_FIRST_ITEMS;
}

NRT_STATUS nrt_cc_offers_meet(struct nrt_cc_offers *offers, enum nrt_cc_when when, bool *agreed,
			      struct nrt_error *error)
{
	const struct nrt_cc_team *team = offers->team;
	struct nrt_cc_offer *mine = nrt_cc_offers_mine(offers);
	const unsigned int first = first_items(mine, when);
	char name[NRT_CC_NAME];

	nrt_cc_name(name, when == NRT_CC_AT_LOAD ? "load of a model" : "execution of a model",
		    team->ranks, team->nr);
	*agreed = false;
	if (make_room(offers, error))
		return error->status;
	memcpy(mine->first, offers->mine, first * sizeof(*offers->mine));
	if (gather_models(offers, name, error))
		return error->status;
	*agreed = true;
	if (hear_no(offers, error) || compare(offers, when, error))
		return error->status;
	keep(offers, 0, first, offers->rank->first, sizeof(*offers->rank));
	*agreed = false;
	if (gather_items(offers, name, first, error))
		return error->status;
	*agreed = true;
	return NRT_SUCCESS;
}
