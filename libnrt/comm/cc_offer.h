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

/**
 * struct nrt_cc_offer - what a rank says of its model
 * @status: it cannot go on; then @why says why
 * @nr: of its items, which are those of all streams, one stream after the other
 * @stream: of each collective of the model
 * @model: at a load the number of the rank's youngest model; later that of the model
 * @crowded: a bit for each stream of the model, the lowest one for the first: the semaphores of its
 *	CC-core do not suffice for all its collectives at once
 * @moves: buffers that others touch may be other ones in each execution
 */
struct nrt_cc_offer {
	int32_t status;
	uint32_t nr;
	uint8_t stream[NEFF_MAX_COLLECTIVES];
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
 * @items: what all say of theirs, as they have met: item after item, and of each by place; or NULL
 */
struct nrt_cc_offers {
	struct nrt_cc_team *team;
	struct nrt_cc_offer *rank;
	struct nrt_cc_agreement *mine;
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
 * and if those agree of as many items as all of them have, in pieces. *@agreed: a failure is known
 * to all of them; else it is one of the world.
 */
NRT_STATUS nrt_cc_offers_meet(struct nrt_cc_offers *offers, enum nrt_cc_when when, bool *agreed,
			      struct nrt_error *error);

/* What the ranks of @links said of item @index, by place in the group; @said has room for them. */
void nrt_cc_offers_of(const struct nrt_cc_offers *offers, unsigned int index,
		      const struct nrt_cc_links *links, struct nrt_cc_agreement *said);

#endif /* LIBNRT_COMM_CC_OFFER_H */
