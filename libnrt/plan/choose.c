// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "plan/choose.h"
#include "plan/topology.h"

#define KIB	1024ull
#define MIB	(1024 * KIB)
#define ANY	UINT64_MAX

#define MIN(a, b)	((a) < (b) ? (a) : (b))

/* Bytes of a block for which a channel more is worth its semaphores. */
#define CHANNEL_BYTES	(64 * KIB)
#define SLICE_BYTES	(512 * KIB)
#define QUEUES		8
#define HIER_CHANNELS	4

#define OP(name)	(1u << NRT_PLAN_##name)
#define REDUCES		(OP(ALL_REDUCE) | OP(REDUCE_SCATTER))
#define STAGED		(REDUCES | OP(ALL_GATHER))

/* What a group must be like. */
enum need {
	NOTHING,
	SERVERS,	/* on several servers that no fabric joins, equally many ranks on each */
	SWITCHED,	/* on several servers behind switches, likewise */
	CHIPS,		/* several ranks on each chip, equally many */
};

#define FLAT(a)		{ .algorithm = NRT_PLAN_##a }
#define HIER(a, b, c)	{ .algorithm = NRT_PLAN_HIER, .intra = NRT_PLAN_##a, \
			  .inter = NRT_PLAN_##b, .by_chip = c }

/**
 * struct rule - a line of the table: the first one that fits is taken
 * @ops: operations
 * @need: what the group must be like
 * @most_ranks: largest group
 * @most_bytes: largest buffer: of ALL_REDUCE and BROADCAST its block, else all blocks
 * @choice: must be able to do it, else the line does not fit
 */
struct rule {
	unsigned int ops;
	enum need need;
	unsigned int most_ranks;
	uint64_t most_bytes;
	struct nrt_plan_choice choice;
};

static const struct rule table[] = {
	{ STAGED, SERVERS, 256, 1 * MIB, HIER(MESH, MESH, false) },
	{ STAGED, SERVERS, 256, 64 * MIB, HIER(KANGARING, RDH, false) },
	{ STAGED, SERVERS, 256, ANY, HIER(KANGARING, RING, false) },
	{ STAGED, SERVERS, 256, ANY, HIER(RING, RING, false) },
	{ OP(ALL_REDUCE), NOTHING, 16, 8 * KIB, FLAT(MESH_ONE) },
	{ STAGED, CHIPS, 256, 1 * MIB, HIER(MESH, MESH, true) },
	{ STAGED, NOTHING, 16, 512 * KIB, FLAT(MESH) },
	{ STAGED, NOTHING, 144, 128 * KIB, FLAT(MESH) },
	{ STAGED, CHIPS, 256, 16 * MIB, HIER(MESH, RDH, true) },
	{ STAGED, NOTHING, 256, 16 * MIB, FLAT(RDH) },
	/* What is no power of two: a ring of many ranks takes a hop for each of them, twice. */
	{ STAGED, NOTHING, 64, 1 * MIB, FLAT(MESH) },
	{ STAGED, SWITCHED, 256, 16 * MIB, HIER(MESH, MESH, false) },
	{ STAGED, NOTHING, 144, 1 * MIB, FLAT(MESH) },
	{ STAGED, NOTHING, 256, ANY, FLAT(KANGARING) },
	{ STAGED, NOTHING, 256, ANY, FLAT(RING) },
	{ OP(BROADCAST), NOTHING, 144, 256 * KIB, FLAT(MESH) },
	{ OP(BROADCAST), NOTHING, 256, ANY, FLAT(RING) },
	{ ~0u, NOTHING, 256, ANY, FLAT(MESH) },
};

unsigned int nrt_plan_queues(const struct nrt_plan *plan)
{
	return MIN(QUEUES, NRT_PLAN_MAX_QUEUES / plan->nr_channels);
}

static unsigned int key_of(const struct nrt_plan *plan, unsigned int rank, bool by_chip)
{
	const struct nrt_plan_place *place = &plan->places[rank];

	return by_chip ? (uint32_t)place->server << 16 | place->chip : place->server;
}

/* Ranks with one index are equally far apart, the same distance for each index. */
static bool is_regular(const struct nrt_plan_groups *groups)
{
	unsigned int step, l, g;

	if (groups->nr < 2)
		return true;
	step = groups->rank[groups->size] - groups->rank[0];
	for (l = 0; l < groups->size; l++)
		for (g = 1; g < groups->nr; g++)
			if (groups->rank[g * groups->size + l] !=
			    groups->rank[(g - 1) * groups->size + l] + step)
				return false;
	return true;
}

bool nrt_plan_find_groups(const struct nrt_plan *plan, bool by_chip,
			  struct nrt_plan_groups *groups)
{
	unsigned int key[NRT_PLAN_MAX_RANKS], count[NRT_PLAN_MAX_RANKS] = { 0 }, i, g;

	groups->nr = 0;
	for (i = 0; i < plan->nr_ranks; i++) {
		for (g = 0; g < groups->nr; g++)
			if (key[g] == key_of(plan, i, by_chip))
				break;
		if (g == groups->nr) {
			key[groups->nr] = key_of(plan, i, by_chip);
			count[groups->nr++] = 0;
		}
		groups->group[i] = (uint16_t)g;
		groups->local[i] = (uint16_t)count[g]++;
	}
	groups->size = count[0];
	for (g = 1; g < groups->nr; g++)
		if (count[g] != groups->size)
			return false;
	for (i = 0; i < plan->nr_ranks; i++)
		groups->rank[groups->group[i] * groups->size + groups->local[i]] = (uint16_t)i;
	return is_regular(groups);
}

static bool is_power(unsigned int n)
{
	return !(n & (n - 1));
}

/* KANGARING: neighbours in the ring are on one chip, two by two. */
static bool has_pairs(const struct nrt_plan *plan, const uint16_t *rank, unsigned int n)
{
	uint16_t ring[NRT_PLAN_MAX_RANKS];
	unsigned int channel, i;

	if (n % 2)
		return false;
	for (channel = 0; channel < nrt_ring_cycles(plan, rank, n); channel++) {
		nrt_ring_order(plan, rank, n, channel, ring);
		for (i = 0; i < n; i += 2)
			if (key_of(plan, rank[ring[i]], true) !=
			    key_of(plan, rank[ring[i + 1]], true))
				return false;
	}
	return true;
}

/* Can a stage of @op of these ranks have @algorithm? Else *@why. */
static bool stage_can(const struct nrt_plan *plan, enum nrt_plan_algorithm algorithm,
		      enum nrt_plan_op op, const uint16_t *rank, unsigned int n, const char **why)
{
	if (n == 1)
		return true;
	switch (algorithm) {
	case NRT_PLAN_RING:
		return true;
	case NRT_PLAN_MESH:
		*why = "more ranks than semaphores";
		return n + QUEUES <= NRT_PLAN_MAX_SEMS;
	case NRT_PLAN_MESH_ONE:
		*why = "it is for all_reduce";
		if (op != NRT_PLAN_ALL_REDUCE)
			return false;
		*why = "more ranks than semaphores";
		return n + QUEUES <= NRT_PLAN_MAX_SEMS;
	case NRT_PLAN_KANGARING:
		*why = "the ranks are not pairs on one chip";
		return has_pairs(plan, rank, n);
	case NRT_PLAN_RDH:
		*why = "the ranks are no power of two";
		return is_power(n);
	default:
		*why = "a level of hier has no levels";
		return false;
	}
}

static bool hier_can(const struct nrt_plan *plan, const struct nrt_plan_choice *choice,
		     const char **why)
{
	struct nrt_plan_groups groups;
	uint16_t rank[NRT_PLAN_MAX_RANKS];
	unsigned int i;

	*why = "the groups of ranks differ in size, or their order is not regular";
	if (!nrt_plan_find_groups(plan, choice->by_chip, &groups))
		return false;
	*why = "there are no two levels";
	if (groups.nr < 2 || groups.size < 2)
		return false;
	*why = "mesh1 is for a whole all_reduce";
	if (choice->intra == NRT_PLAN_MESH_ONE || choice->inter == NRT_PLAN_MESH_ONE)
		return false;
	for (i = 0; i < groups.nr; i++)
		if (!stage_can(plan, choice->intra, plan->op, &groups.rank[i * groups.size],
			       groups.size, why))
			return false;
	for (i = 0; i < groups.nr; i++)
		rank[i] = groups.rank[i * groups.size];
	return stage_can(plan, choice->inter, plan->op, rank, groups.nr, why);
}

static bool can(const struct nrt_plan *plan, const struct nrt_plan_choice *choice,
		const char **why)
{
	uint16_t rank[NRT_PLAN_MAX_RANKS];
	unsigned int i;

	*why = "all of its blocks have one sender and one receiver: mesh";
	if (!(STAGED >> plan->op & 1)) {
		if (plan->op == NRT_PLAN_BROADCAST && choice->algorithm == NRT_PLAN_RING)
			return true;
		return choice->algorithm == NRT_PLAN_MESH;
	}
	if (choice->algorithm == NRT_PLAN_HIER)
		return hier_can(plan, choice, why);
	for (i = 0; i < plan->nr_ranks; i++)
		rank[i] = (uint16_t)i;
	return stage_can(plan, choice->algorithm, plan->op, rank, plan->nr_ranks, why);
}

static bool needs(const struct nrt_plan *plan, enum need need)
{
	struct nrt_plan_groups groups;

	if (need == NOTHING)
		return true;
	/* Of several servers that are grids no links lead from one to another. */
	if (need == SERVERS && plan->topology != NRT_PLAN_ANY &&
	    plan->topology != NRT_PLAN_TORUS2D)
		return false;
	if (need == SWITCHED && plan->topology != NRT_PLAN_SWITCH)
		return false;
	return nrt_plan_find_groups(plan, need == CHIPS, &groups) && groups.nr > 1 &&
	       groups.size > 1;
}

static void choose_from_table(struct nrt_plan *plan)
{
	const char *why;
	uint64_t bytes;
	size_t i;

	bytes = plan->block;
	if (plan->op != NRT_PLAN_ALL_REDUCE && plan->op != NRT_PLAN_BROADCAST)
		bytes *= plan->nr_ranks;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct rule *rule = &table[i];

		if (!(rule->ops >> plan->op & 1) || plan->nr_ranks > rule->most_ranks ||
		    bytes > rule->most_bytes || !needs(plan, rule->need) ||
		    !can(plan, &rule->choice, &why))
			continue;
		plan->choice = rule->choice;
		return;
	}
}

static bool level_named(const char *name, size_t length, enum nrt_plan_algorithm *algorithm)
{
	unsigned int i;

	for (i = 0; i < NRT_PLAN_NR_ALGORITHMS; i++) {
		const char *known = nrt_plan_algorithm_name(i);

		if (strlen(known) == length && !memcmp(known, name, length)) {
			*algorithm = i;
			return true;
		}
	}
	return false;
}

static bool parse(const char *text, struct nrt_plan_choice *choice)
{
	const char *colon = strchr(text, ':'), *plus;

	*choice = (struct nrt_plan_choice){
		.intra = NRT_PLAN_RING, .inter = NRT_PLAN_RING,
	};
	if (!colon)
		return level_named(text, strlen(text), &choice->algorithm);
	choice->algorithm = NRT_PLAN_HIER;
	choice->by_chip = !strncmp(text, "chip:", 5);
	if (!choice->by_chip && strncmp(text, "hier:", 5))
		return false;
	plus = strchr(colon, '+');
	return plus && level_named(colon + 1, (size_t)(plus - colon - 1), &choice->intra) &&
	       level_named(plus + 1, strlen(plus + 1), &choice->inter);
}

static NRT_STATUS choose_named(struct nrt_plan *plan, const char *name, struct nrt_error *error)
{
	const char *why;

	if (!parse(name, &plan->choice))
		return nrt_error_set(error, NRT_INVALID,
				     "the algorithm \"%.64s\" is unknown: ring, mesh, mesh1, kangaring, rdh, hier, hier:INTRA+INTER or chip:INTRA+INTER",
				     name);
	if (!can(plan, &plan->choice, &why))
		return nrt_error_set(error, NRT_INVALID, "%s of %u ranks cannot be done by %s: %s",
				     nrt_plan_op_name(plan->op), plan->nr_ranks, name, why);
	return NRT_SUCCESS;
}

/* As many as have links of their own, if the blocks are large enough. */
static void choose_channels(struct nrt_plan *plan)
{
	uint16_t rank[NRT_PLAN_MAX_RANKS];
	uint64_t block = plan->block;
	unsigned int i, nr = 1;

	for (i = 0; i < plan->nr_ranks; i++)
		rank[i] = (uint16_t)i;
	switch (plan->choice.algorithm) {
	case NRT_PLAN_RING:
	case NRT_PLAN_KANGARING:
		nr = 2 * nrt_ring_cycles(plan, rank, plan->nr_ranks);
		break;
	case NRT_PLAN_RDH:
	case NRT_PLAN_HIER:
		nr = HIER_CHANNELS;
		break;
	default:
		break;
	}
	if (plan->op == NRT_PLAN_ALL_REDUCE)
		block /= plan->nr_ranks;
	if (nr > block / CHANNEL_BYTES)
		nr = (unsigned int)(block / CHANNEL_BYTES);
	plan->nr_channels = nr ? nr : 1;
}

NRT_STATUS nrt_plan_choose(struct nrt_plan *plan, const struct nrt_plan_ask *ask,
			   struct nrt_error *error)
{
	NRT_STATUS status = NRT_SUCCESS;

	plan->slice = ask->slice ? ask->slice : SLICE_BYTES;
	if (ask->algorithm)
		status = choose_named(plan, ask->algorithm, error);
	else
		choose_from_table(plan);
	choose_channels(plan);
	if (ask->nr_channels)
		plan->nr_channels = ask->nr_channels;
	if (plan->op == NRT_PLAN_BARRIER || nrt_plan_varies(plan->op))
		plan->nr_channels = 1;
	return status;
}
