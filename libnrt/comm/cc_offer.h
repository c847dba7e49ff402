/* SPDX-License-Identifier: MIT */
/*
 * What the ranks of a team say to each other of a model: all of them hear all, so that all find
 * the same. Whoever cannot go on says why, and it is the failure of all.
 */
#ifndef LIBNRT_COMM_CC_OFFER_H
#define LIBNRT_COMM_CC_OFFER_H

#include "comm/cc_links.h"
#include "comm/cc_team.h"

/* A barrier may stand before each collective. */
#define NRT_CC_MAX_ITEMS	(2 * NEFF_MAX_COLLECTIVES)

/* When they meet. */
enum nrt_cc_when {
	NRT_CC_AT_LOAD,
	NRT_CC_AT_EXECUTION,
};

/**
 * struct nrt_cc_offer - what a rank says
 * @status: it cannot go on; then @why says why
 * @nr: of @item, which are those of all streams, one stream after the other
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
	struct nrt_cc_agreement item[NRT_CC_MAX_ITEMS];
};

/* One for each rank of the team, for free(). NULL and @error. */
struct nrt_cc_offer *nrt_cc_offers_new(const struct nrt_cc_team *team, struct nrt_error *error);

/* This rank cannot go on. */
void nrt_cc_offer_no(struct nrt_cc_offer *offer, const struct nrt_error *why);

/*
 * Tell all ranks of the team what this one offers, in its place of @all, and learn what they do.
 * *@agreed: a failure is known to all of them; else it is one of the world.
 */
NRT_STATUS nrt_cc_offers_meet(struct nrt_cc_team *team, enum nrt_cc_when when,
			      struct nrt_cc_offer *all, bool *agreed, struct nrt_error *error);

/* What the ranks of @links said of item @index, by place in the group; @said has room for them. */
void nrt_cc_offers_of(const struct nrt_cc_offer *all, unsigned int index,
		      const struct nrt_cc_links *links, struct nrt_cc_agreement *said);

#endif /* LIBNRT_COMM_CC_OFFER_H */
