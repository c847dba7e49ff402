/* SPDX-License-Identifier: MIT */
/*
 * What the ranks of a team say to each other of a model: all of them hear all, so that all find
 * the same. Whoever cannot go on says why, and it is the failure of all.
 */
#ifndef LIBNRT_COMM_CC_OFFER_H
#define LIBNRT_COMM_CC_OFFER_H

#include "comm/cc_links.h"
#include "comm/cc_team.h"

/* When they meet. */
enum nrt_cc_when {
	NRT_CC_AT_LOAD,
	NRT_CC_AT_EXECUTION,
};

/* As many as have room where the streams are at a load. */
#define NRT_CC_FIRST_ITEMS	(NEFF_MAX_COLLECTIVES / sizeof(struct nrt_cc_agreement))

/**
 * struct nrt_cc_offer - what a rank says of its model
 * @status: it cannot go on; then @why says why
 * @nr: of its items, which are those of all streams, one stream after the other
 * @stream: at a load: of each collective of the model
 * @first: at an execution: of the first of its items, so that models with few collectives meet once
 * @model: at a load the number of the rank's youngest model; later that of the model
 * @crowded: a bit for each stream of the model, the lowest one for the first: the semaphores of its
 *	CC-core do not suffice for all its collectives at once
 * @moves: buffers that others touch may be other ones in each execution
 */
struct nrt_cc_offer {
	int32_t status;
	uint32_t nr;
	union {
		uint8_t stream[NEFF_MAX_COLLECTIVES];
		struct nrt_cc_agreement first[NRT_CC_FIRST_ITEMS];
	};
	uint64_t model;
	uint32_t crowded;
	uint32_t moves;
	char why[192];
};

/**
 * struct nrt_cc_offers - what all ranks of a team say
 * @team: they
 * @rank: what each says of its model, by place
 * @mine: what this rank says of its items; room for @room of them
 * @links: to the group of each
 * @at: place in @items of what is said of each
 * @items: what the ranks of its group say of each item, by place in the group; or NULL. What those
 *	of other groups say of theirs does not matter, and may be much
 */
struct nrt_cc_offers {
	struct nrt_cc_team *team;
	struct nrt_cc_offer *rank;
	struct nrt_cc_agreement *mine;
	const struct nrt_cc_links **links;
	size_t *at;
	unsigned int room;
	struct nrt_cc_agreement *items;
};

/* For @room items; nrt_cc_offers_free() frees what is there, also after a failure. */
NRT_STATUS nrt_cc_offers_init(struct nrt_cc_offers *offers, struct nrt_cc_team *team,
			      unsigned int room, struct nrt_error *error);
void nrt_cc_offers_free(struct nrt_cc_offers *offers);

/* What this rank says of its model. */
static inline struct nrt_cc_offer *nrt_cc_offers_mine(const struct nrt_cc_offers *offers)
{
	return &offers->rank[offers->team->me];
}

/* This rank cannot go on. */
void nrt_cc_offer_no(struct nrt_cc_offer *offer, const struct nrt_error *why);

/*
 * Tell all ranks of the team what this one offers, and learn what they do: first of their models,
 * and if those agree of as many items as all of them have, in pieces. At an execution the first
 * items come along with the models. *@agreed: a failure is known to all of them; else it is one of
 * the world.
 */
NRT_STATUS nrt_cc_offers_meet(struct nrt_cc_offers *offers, enum nrt_cc_when when, bool *agreed,
			      struct nrt_error *error);

/* What the ranks of the group of item @index said of it, by place in the group. */
static inline const struct nrt_cc_agreement *nrt_cc_offers_of(const struct nrt_cc_offers *offers,
							      unsigned int index)
{
	return &offers->items[offers->at[index]];
}

#endif /* LIBNRT_COMM_CC_OFFER_H */
