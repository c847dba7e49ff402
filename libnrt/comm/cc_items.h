/* SPDX-License-Identifier: MIT */
/*
 * The collectives of a stream of a model, for one rank of a team: what its NEFF asks for, where the
 * bytes of this rank are, and which semaphores each of them has.
 */
#ifndef LIBNRT_COMM_CC_ITEMS_H
#define LIBNRT_COMM_CC_ITEMS_H

#include "comm/cc_code.h"
#include "comm/cc_offer.h"
#include "object/model.h"

/**
 * struct nrt_cc_request - a collective of this rank
 * @run: as the plan wants it, without buffers
 * @ranks, @nr, @me: the group, and the place of this rank
 */
struct nrt_cc_request {
	struct nrt_cc_run run;
	const uint32_t *ranks;
	uint32_t nr;
	uint32_t me;
};

/**
 * struct nrt_cc_item - what the CC-core does, one after the other
 * @index: of the collective in the NEFF; -1: a barrier that the NEFF does not name
 * @request: what it is
 * @links: to the other ranks
 * @own: memory of this rank in the execution under way
 */
struct nrt_cc_item {
	int index;
	struct nrt_cc_request request;
	struct nrt_cc_links links;
	struct nrt_cc_bytes own[NRT_CC_NR_SPACES];
};

/**
 * struct nrt_cc_items - all of them
 * @model, @stream: whose they are
 * @item, @part, @nr: in their order; the parts belong to @code once there is one. There is room
 *	for a barrier before each collective
 * @code: the program that does all
 * @scratch: memory of all, one after the other; or NULL
 */
struct nrt_cc_items {
	const struct nrt_model *model;
	unsigned int stream;
	struct nrt_cc_item *item;
	struct nrt_cc_part *part;
	unsigned int nr;
	struct nrt_cc_code *code;
	struct nrt_bo *scratch;
};

/* Does whoever reads of one of them want to know the stream? */
static inline bool nrt_cc_items_name_stream(const struct nrt_cc_items *items)
{
	return items->stream || items->model->cc_cores.nr > 1;
}

/* The first graph has the collectives. */
static inline const struct neff_graph *nrt_cc_graph(const struct nrt_model *model)
{
	return &model->neff->graphs[0];
}

/* Is rank @rank of @count in a group of each collective, and are there no other ranks? */
NRT_STATUS nrt_cc_items_check(const struct nrt_model *model, uint32_t rank, uint32_t count,
			      struct nrt_error *error);

/*
 * Make the plans of all collectives of the stream, for the ranks of @rights. @crowded: all of them
 * shall have their semaphores in common, so there are barriers between them. A failure may leave
 * some.
 */
NRT_STATUS nrt_cc_items_plan(struct nrt_cc_items *items, const struct nrt_cc_rights *rights,
			     bool crowded, struct nrt_error *error);

/* Number the semaphores from @first on; how many there are. */
unsigned int nrt_cc_items_number(struct nrt_cc_items *items, bool crowded, unsigned int first);

/* The program of all, whose semaphores are numbered. */
NRT_STATUS nrt_cc_items_build(struct nrt_cc_items *items, struct nrt_core *cc,
			      struct nrt_error *error);

/* Say to whom the program posts. */
NRT_STATUS nrt_cc_items_need(const struct nrt_cc_items *items, struct nrt_cc_rights *rights,
			     struct nrt_error *error);

/* Forget all; also of items that are zero but for the model. */
void nrt_cc_items_drop(struct nrt_cc_items *items);

/* Where the bytes of this rank are; without a binding: those that do not move. */
void nrt_cc_items_find(struct nrt_cc_items *items, const struct nrt_binding *binding);

/* Do others touch what may be somewhere else in each execution? */
bool nrt_cc_items_move(const struct nrt_cc_items *items);

/* What this rank says of item @index. */
struct nrt_cc_agreement nrt_cc_items_say(const struct nrt_cc_items *items, unsigned int index);

#endif /* LIBNRT_COMM_CC_ITEMS_H */
