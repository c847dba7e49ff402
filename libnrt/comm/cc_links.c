// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/cc_links.h"

#define NR_SPACES	NRT_CC_NR_SPACES

_Static_assert(NR_SPACES + 1 <= NRT_SHARE_MAX, "all are exchanged at once");

static uint64_t hash(const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	uint64_t value = 0xcbf29ce484222325u;
	size_t i;

	for (i = 0; i < size; i++)
		value = (value ^ at[i]) * 0x100000001b3u;
	return value;
}

/* --- Objects --- */

NRT_STATUS nrt_cc_links_init(struct nrt_cc_links *links, struct nrt_world *world,
			     struct nrt_core *cc, const char *what, const uint32_t *ranks,
			     uint32_t nr, uint32_t me, struct nrt_error *error)
{
	uint32_t i;

	*links = (struct nrt_cc_links){
		.world = world,
		.cc = cc,
		.ranks = calloc(nr, sizeof(*links->ranks)),
		.nr = nr,
		.me = me,
		.grant = -1,
		.peers = calloc(nr, sizeof(*links->peers)),
	};
	if (!links->ranks || !links->peers) {
		free(links->ranks);
		free(links->peers);
		memset(links, 0, sizeof(*links));
		return nrt_error_memory(error);
	}
	for (i = 0; i < nr; i++)
		links->ranks[i] = ranks[i];
	snprintf(links->name, sizeof(links->name), "%s %016llx", what,
		 (unsigned long long)hash(ranks, nr * sizeof(*ranks)));
	return NRT_SUCCESS;
}

void nrt_cc_links_fini(struct nrt_cc_links *links)
{
	unsigned int i, what;

	for (i = 0; links->peers && i < links->nr; i++) {
		for (what = 0; what < NR_SPACES; what++)
			nrt_bo_put(links->peers[i].bo[what]);
		if (links->peers[i].grant)
			nrt_cc_drop_import(links->cc, links->peers[i].grant);
	}
	if (links->peers)
		nrt_cc_links_revoke(links);
	free(links->peers);
	free(links->ranks);
	memset(links, 0, sizeof(*links));
}

NRT_STATUS nrt_cc_links_grant(struct nrt_cc_links *links, unsigned int first, unsigned int nr,
			      struct nrt_error *error)
{
	if (nrt_cc_grant(links->cc, first, nr, &links->grant, error))
		return error->status;
	links->first_sem = first;
	links->nr_sems = nr;
	return NRT_SUCCESS;
}

void nrt_cc_links_revoke(struct nrt_cc_links *links)
{
	if (links->grant >= 0)
		close(links->grant);
	links->grant = -1;
	links->granted = false;
	links->nr_sems = 0;
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
		.pairs = run->pairs,
		.nr_pairs = run->nr_pairs,
		.root = run->root,
		.nr_channels = run->nr_channels,
		.priority = run->priority,
		.nr_ranks = links->nr,
		.places = places,
		.algorithm = links->world->worlds->algorithm,
	};
	NRT_STATUS status;
	uint32_t i;

	if (!places)
		return nrt_error_memory(error);
	for (i = 0; i < links->nr; i++)
		places[i] = links->world->places[links->ranks[i]];
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
		.count = run->count,
		.pairs = hash(run->pairs, run->nr_pairs * sizeof(*run->pairs)),
		.root = run->root,
		.nr_channels = (uint16_t)run->nr_channels,
		.priority = run->priority,
		.fresh = !links->granted,
		.nr_sems = links->nr_sems,
	};
	unsigned int what;

	for (what = 0; what < NR_SPACES; what++) {
		if (!own[what].bo || !nrt_cc_is_exposed(plan, part, what))
			continue;
		mine.offset[what] = own[what].offset;
		mine.length[what] = own[what].length;
		mine.fresh |= own[what].bo->id != links->shared[what];
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
	       a->in_place == b->in_place && a->algorithm == b->algorithm && a->count == b->count &&
	       a->pairs == b->pairs && a->root == b->root && a->nr_channels == b->nr_channels &&
	       a->priority == b->priority;
}

/* A rank that is not of this library could say anything. */
static bool is_sane(const struct nrt_cc_agreement *said)
{
	return said->op < NRT_PLAN_NR_OPS && said->reduce < NRT_PLAN_NR_REDUCES &&
	       said->algorithm < NRT_PLAN_NR_ALGORITHMS && said->nr_sems <= NEURON_NR_SEMAPHORES;
}

NRT_STATUS nrt_cc_compare(const struct nrt_cc_links *links, const struct nrt_cc_agreement *all,
			  bool *fresh, struct nrt_error *error)
{
	const struct nrt_cc_agreement *mine = &all[links->me];
	char ours[128], theirs[128];
	uint32_t i;

	*fresh = false;
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
					 "the same with another root, priority, or other pairs or channels");
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
		links->peers[i].nr_sems = all[i].nr_sems;
	}
}

/* --- Exchange --- */

struct exchange {
	struct nrt_cc_links *links;
	const struct nrt_cc_agreement *all;
	const struct nrt_plan_program *part;
};

static bool posts_to(const struct nrt_plan_program *part, uint32_t rank)
{
	unsigned int i;

	for (i = 0; i < part->nr_peers; i++)
		if (part->peers[i].rank == rank)
			return part->peers[i].posts;
	return false;
}

static NRT_STATUS take_grant(const struct nrt_cc_links *links, struct nrt_cc_peer *peer, int fd,
			     struct nrt_error *error)
{
	uint32_t own;

	if (nrt_cc_import(links->cc, fd, &own, error))
		return error->status;
	if (peer->grant)
		nrt_cc_drop_import(links->cc, peer->grant);
	peer->grant = own;
	return NRT_SUCCESS;
}

/* The descriptors of a peer: buffers, those that it does not show left out, and its grant. */
static NRT_STATUS take_peer(const struct exchange *exchange, uint32_t rank, const int *fds,
			    struct nrt_error *error)
{
	struct nrt_cc_links *links = exchange->links;
	struct nrt_cc_peer *peer = &links->peers[rank];
	struct nrt_bo *bo;
	unsigned int what;

	for (what = 0; what < NR_SPACES; what++) {
		if (!exchange->all[rank].length[what])
			continue;
		if (nrt_bo_import_fd(links->cc->device, fds[what], &bo, error))
			return error->status;
		nrt_bo_put(peer->bo[what]);
		peer->bo[what] = bo;
	}
	if (exchange->part && !posts_to(exchange->part, rank))
		return NRT_SUCCESS;
	return take_grant(links, peer, fds[NR_SPACES], error);
}

static NRT_STATUS take_all(void *arg, const int *fds, struct nrt_error *error)
{
	const struct exchange *exchange = arg;
	const struct nrt_cc_links *links = exchange->links;
	uint32_t i;

	for (i = 0; i < links->nr; i++)
		if (i != links->me &&
		    take_peer(exchange, i, &fds[i * (NR_SPACES + 1)], error))
			return error->status;
	return NRT_SUCCESS;
}

/*
 * Descriptors of what this rank shows; the grant stands for what it does not. @mine has gone by way
 * of the root of the world, which is not believed that there is a buffer.
 */
static NRT_STATUS open_mine(const struct nrt_cc_links *links, const struct nrt_cc_agreement *mine,
			    const struct nrt_cc_bytes own[NRT_CC_NR_SPACES],
			    int fds[NR_SPACES + 1], struct nrt_error *error)
{
	unsigned int what;

	for (what = 0; what <= NR_SPACES; what++)
		fds[what] = links->grant;
	for (what = 0; what < NR_SPACES; what++)
		if (mine->length[what] && own[what].bo &&
		    nrt_bo_export_fd(own[what].bo, &fds[what], error))
			return error->status;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_cc_exchange(struct nrt_cc_links *links, const struct nrt_cc_agreement *all,
			   const struct nrt_plan_program *part,
			   const struct nrt_cc_bytes own[NRT_CC_NR_SPACES],
			   struct nrt_error *error)
{
	struct exchange arg = { links, all, part };
	int fds[NR_SPACES + 1];
	struct nrt_share share = {
		.gather = { .what = links->name, .rank = links->me, .count = links->nr },
		.mine = fds,
		.nr = NR_SPACES + 1,
		.use = take_all,
		.arg = &arg,
	};
	const struct nrt_cc_agreement *mine = &all[links->me];
	NRT_STATUS status;
	unsigned int what;

	status = open_mine(links, mine, own, fds, error);
	if (!status)
		status = nrt_world_share(links->world, &share, error);
	for (what = 0; what < NR_SPACES; what++) {
		if (fds[what] != links->grant)
			close(fds[what]);
		if (!status && mine->length[what] && own[what].bo)
			links->shared[what] = own[what].bo->id;
	}
	if (status)
		return status;
	links->granted = true;
	links->epoch++;
	return NRT_SUCCESS;
}
