// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "comm/cc_links.h"

#define NR_SPACES	NRT_CC_NR_SPACES

_Static_assert(NR_SPACES <= NRT_SHARE_MAX, "all are exchanged at once");
_Static_assert(NR_SPACES - 1 == CC_SHOWN_META, "the others can be exchanged without it");

/* --- Objects --- */

NRT_STATUS nrt_cc_links_init(struct nrt_cc_links *links, const struct nrt_cc_rights *rights,
			     const char *what, const uint32_t *ranks, uint32_t nr, uint32_t me,
			     struct nrt_error *error)
{
	uint32_t i;

	*links = (struct nrt_cc_links){
		.rights = rights,
		.ranks = calloc(nr, sizeof(*links->ranks)),
		.nr = nr,
		.me = me,
		.peers = calloc(nr, sizeof(*links->peers)),
	};
	if (!links->ranks || !links->peers) {
		nrt_cc_links_fini(links);
		return nrt_error_memory(error);
	}
	for (i = 0; i < nr; i++) {
		links->ranks[i] = ranks[i];
		links->peers[i].place = nrt_cc_rights_place(rights, ranks[i]);
	}
	nrt_cc_name(links->name, what, ranks, nr);
	return NRT_SUCCESS;
}

void nrt_cc_links_fini(struct nrt_cc_links *links)
{
	unsigned int i, what;

	for (i = 0; links->peers && i < links->nr; i++)
		for (what = 0; what < NR_SPACES; what++)
			nrt_bo_put(links->peers[i].bo[what]);
	free(links->peers);
	free(links->ranks);
	memset(links, 0, sizeof(*links));
}

NRT_STATUS nrt_cc_links_plan(const struct nrt_cc_links *links, const struct nrt_cc_run *run,
			     struct nrt_plan **plan, struct nrt_error *error)
{
	struct nrt_plan_place *places = calloc(links->nr, sizeof(*places));
	struct nrt_plan_ask ask = {
		.op = run->op,
		.reduce = run->reduce,
		.dtype = run->dtype,
		.count = run->count,
		.in_place = run->in_place,
		.recv_counts_known = run->recv_counts_known,
		.has_rdispls = run->has_rdispls,
		.pairs = run->pairs,
		.nr_pairs = run->nr_pairs,
		.root = run->root,
		.nr_channels = run->nr_channels,
		.priority = run->priority,
		.stream = run->stream,
		.nr_ranks = links->nr,
		.places = places,
		.topology = links->rights->world->topology,
		.algorithm = links->rights->world->worlds->algorithm,
	};
	NRT_STATUS status;
	uint32_t i;

	if (!places)
		return nrt_error_memory(error);
	for (i = 0; i < links->nr; i++)
		places[i] = links->rights->world->places[links->ranks[i]];
	status = nrt_plan_make(&ask, plan, error);
	free(places);
	return status;
}

/* --- Rights --- */

uint32_t nrt_cc_rights(const struct nrt_plan *plan, uint8_t access, enum cc_shown what)
{
	uint32_t rights = 0;
	unsigned int space;

	for (space = 0; space < NR_SPACES; space++) {
		if (cc_shown_of(plan, space) != what)
			continue;
		if (access & NRT_PLAN_READS(space))
			rights |= DRM_NEURON_WINDOW_READ;
		if (access & NRT_PLAN_WRITES(space))
			rights |= DRM_NEURON_WINDOW_WRITE;
	}
	return rights;
}

bool nrt_cc_is_exposed(const struct nrt_plan *plan, const struct nrt_plan_program *part,
		       enum cc_shown what)
{
	unsigned int i;

	for (i = 0; i < part->nr_peers; i++)
		if (nrt_cc_rights(plan, part->peers[i].ours, what))
			return true;
	return false;
}

/* --- Agreement --- */

struct nrt_cc_agreement nrt_cc_say(const struct nrt_cc_links *links, const struct nrt_cc_run *run,
				   const struct nrt_plan *plan,
				   const struct nrt_plan_program *part,
				   const struct nrt_cc_bytes own[NRT_CC_NR_SPACES])
{
	struct nrt_cc_agreement mine = {
		.op = (uint8_t)run->op,
		.reduce = (uint8_t)run->reduce,
		.dtype = run->dtype,
		.in_place = run->in_place,
		.algorithm = plan->choice.algorithm,
		.metadata = (run->recv_counts_known ? NRT_CC_RECV_COUNTS_KNOWN : 0) |
			    (run->has_rdispls ? NRT_CC_HAS_RDISPLS : 0),
		.count = run->count,
		.ranks = nrt_cc_hash(links->ranks, links->nr * sizeof(*links->ranks)),
		.pairs = nrt_cc_hash(run->pairs, run->nr_pairs * sizeof(*run->pairs)),
		.tensors = run->tensors,
		.root = run->root,
		.nr_channels = (uint16_t)run->nr_channels,
		.priority = run->priority,
	};
	unsigned int what;

	for (what = 0; what < NR_SPACES; what++) {
		if (!own[what].bo || !nrt_cc_is_exposed(plan, part, what))
			continue;
		mine.offset[what] = own[what].offset;
		mine.length[what] = own[what].length;
		if (own[what].bo->id != links->shared[what])
			mine.fresh |= NRT_CC_FRESH_BUFFERS;
	}
	return mine;
}

static void describe(const struct nrt_cc_agreement *what, char *text, size_t size)
{
	snprintf(text, size, "%s%s%s of %llu elements of type 0x%x by %s%s",
		 nrt_plan_op_name((enum nrt_plan_op)what->op), what->reduce ? " " : "",
		 what->reduce ? nrt_plan_reduce_name((enum nrt_plan_reduce)what->reduce) : "",
		 (unsigned long long)what->count, what->dtype,
		 nrt_plan_algorithm_name((enum nrt_plan_algorithm)what->algorithm),
		 what->in_place ? " in place" : "");
}

static bool is_same(const struct nrt_cc_agreement *a, const struct nrt_cc_agreement *b)
{
	return a->op == b->op && a->reduce == b->reduce && a->dtype == b->dtype &&
	       a->in_place == b->in_place && a->algorithm == b->algorithm &&
	       a->metadata == b->metadata && a->count == b->count && a->ranks == b->ranks &&
	       a->pairs == b->pairs && a->tensors == b->tensors && a->root == b->root &&
	       a->nr_channels == b->nr_channels && a->priority == b->priority;
}

/* A rank that is not of this library could say anything. */
static bool is_sane(const struct nrt_cc_agreement *said)
{
	return said->op < NRT_PLAN_NR_OPS && said->reduce < NRT_PLAN_NR_REDUCES &&
	       said->algorithm < NRT_PLAN_NR_ALGORITHMS && said->first_sem < NEURON_NR_SEMAPHORES &&
	       said->nr_sems <= NEURON_NR_SEMAPHORES - said->first_sem;
}

NRT_STATUS nrt_cc_compare(const struct nrt_cc_links *links, const struct nrt_cc_agreement *all,
			  uint32_t *fresh, struct nrt_error *error)
{
	const struct nrt_cc_agreement *mine = &all[links->me];
	char ours[128], theirs[192];
	uint32_t i;

	*fresh = 0;
	for (i = 0; i < links->nr; i++) {
		if (all[i].status)
			return nrt_error_set(error, NRT_FAILURE,
					     "rank %u of the group cannot take part (status %d)",
					     links->ranks[i], all[i].status);
		if (!is_sane(&all[i]))
			return nrt_error_set(error, NRT_FAILURE, "rank %u talks nonsense",
					     links->ranks[i]);
		if (!is_same(mine, &all[i])) {
			describe(mine, ours, sizeof(ours));
			describe(&all[i], theirs, sizeof(theirs));
			if (!strcmp(ours, theirs))
				snprintf(theirs, sizeof(theirs),
					 "the same among other ranks or in another order, or with another root, priority, pairs, channels, sizes of tensors in a list or kind of metadata");
			return nrt_error_set(error, NRT_INVALID,
					     "the ranks do not agree: rank %u asks for %s, rank %u for %s",
					     links->ranks[links->me], ours, links->ranks[i],
					     theirs);
		}
		*fresh |= all[i].fresh;
	}
	return NRT_SUCCESS;
}

void nrt_cc_accept(struct nrt_cc_links *links, const struct nrt_cc_agreement *all)
{
	uint32_t i;

	for (i = 0; i < links->nr; i++) {
		memcpy(links->peers[i].offset, all[i].offset, sizeof(all[i].offset));
		memcpy(links->peers[i].length, all[i].length, sizeof(all[i].length));
		links->peers[i].first_sem = all[i].first_sem;
		links->peers[i].nr_sems = all[i].nr_sems;
	}
}

/* --- Exchange --- */

/* @nr: spaces that are exchanged: metadata, the last one, only where there can be some. */
struct exchange {
	struct nrt_cc_links *links;
	const struct nrt_cc_agreement *all;
	unsigned int nr;
};

/* The descriptors of a peer. Those of what it does not show stand for nothing. */
static NRT_STATUS take_peer(const struct exchange *exchange, uint32_t rank, const int *fds,
			    struct nrt_error *error)
{
	struct nrt_cc_links *links = exchange->links;
	struct nrt_cc_peer *peer = &links->peers[rank];
	struct nrt_bo *bo;
	unsigned int what;

	for (what = 0; what < exchange->nr; what++) {
		if (!exchange->all[rank].length[what])
			continue;
		if (nrt_bo_import_fd(links->rights->cc->device, fds[what], &bo, error))
			return error->status;
		nrt_bo_put(peer->bo[what]);
		peer->bo[what] = bo;
	}
	return NRT_SUCCESS;
}

static NRT_STATUS take_all(void *arg, const int *fds, struct nrt_error *error)
{
	const struct exchange *exchange = arg;
	const struct nrt_cc_links *links = exchange->links;
	uint32_t i;

	for (i = 0; i < links->nr; i++)
		if (i != links->me && take_peer(exchange, i, &fds[i * exchange->nr], error))
			return error->status;
	return NRT_SUCCESS;
}

/*
 * Descriptors of what this rank shows; @none stands for what it does not. @mine has gone by way of
 * the root of the world, which is not believed that there is a buffer.
 */
static NRT_STATUS open_mine(const struct nrt_cc_agreement *mine,
			    const struct nrt_cc_bytes own[NRT_CC_NR_SPACES], int none,
			    int fds[NR_SPACES], struct nrt_error *error)
{
	unsigned int what;

	for (what = 0; what < NR_SPACES; what++)
		fds[what] = none;
	if (none < 0)
		return nrt_error_set(error, NRT_RESOURCE,
				     "no descriptors to exchange buffers with other ranks: %s",
				     strerror(errno));
	for (what = 0; what < NR_SPACES; what++)
		if (mine->length[what] && own[what].bo &&
		    nrt_bo_export_fd(own[what].bo, &fds[what], error))
			return error->status;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_cc_exchange(struct nrt_cc_links *links, const struct nrt_cc_agreement *all,
			   const struct nrt_cc_bytes own[NRT_CC_NR_SPACES],
			   struct nrt_error *error)
{
	const struct nrt_cc_agreement *mine = &all[links->me];
	struct exchange arg = {
		links, all, nrt_plan_varies(mine->op) ? NR_SPACES : CC_SHOWN_META,
	};
	int fds[NR_SPACES], none = eventfd(0, EFD_CLOEXEC);
	struct nrt_share share = {
		.gather = {
			.what = links->name, .rank = links->me, .count = links->nr,
			.ranks = links->ranks,
		},
		.mine = fds,
		.nr = arg.nr,
		.use = take_all,
		.arg = &arg,
	};
	NRT_STATUS status;
	unsigned int what;

	status = open_mine(mine, own, none, fds, error);
	if (!status)
		status = nrt_world_share(links->rights->world, &share, error);
	for (what = 0; what < NR_SPACES; what++) {
		if (fds[what] != none)
			close(fds[what]);
		if (!status && mine->length[what] && own[what].bo)
			links->shared[what] = own[what].bo->id;
	}
	if (none >= 0)
		close(none);
	if (!status)
		links->epoch++;
	return status;
}
