// SPDX-License-Identifier: MIT
/*
 * Recursive doubling and halving, for a power of two of members. At each level a member has one
 * partner, whose index differs in one bit, the highest one first. Halving: each gives the other
 * the half of its blocks that is the other's, and adds what it gets to the half that it keeps.
 * Doubling goes the levels back, and each gives the other all that it has.
 *
 * All goes by one queue, so what a level reads is what the levels before have written.
 */
#include "plan/stage.h"

/**
 * struct rdh - the levels as this rank sees them
 * @sem: @sem + l: the partner of level l
 * @levels: how many
 * @slot: bytes of a block's place
 * @came: what partners give, blocks one after the other, level after level
 * @sums: REDUCE_SCATTER: blocks that are not complete; else they lie in @to
 */
struct rdh {
	struct nrt_build *build;
	const struct nrt_stage *stage;
	unsigned int me;
	unsigned int sem;
	unsigned int levels;
	uint64_t slot;
	struct nrt_zone came;
	struct nrt_zone sums;
};

/* Members are in groups of twice this at level @level. */
static unsigned int half(const struct rdh *rdh, unsigned int level)
{
	return rdh->stage->n >> (level + 1);
}

static unsigned int partner(const struct rdh *rdh, unsigned int level)
{
	return rdh->stage->me ^ half(rdh, level);
}

static void wait_for(const struct rdh *rdh, unsigned int level)
{
	nrt_build_wait(rdh->build, rdh->stage->rank[partner(rdh, level)], rdh->sem + level, 1);
}

static void tell(const struct rdh *rdh, unsigned int level)
{
	nrt_build_post(rdh->build, rdh->stage->rank[partner(rdh, level)], rdh->sem + level, 1);
}

/* The first of the blocks that @member has after level @level of halving. */
static unsigned int first_of(const struct rdh *rdh, unsigned int member, unsigned int level)
{
	return member & ~(half(rdh, level) - 1);
}

static void begin(struct rdh *rdh, bool reduces, bool gathers)
{
	const struct nrt_stage *stage = rdh->stage;
	struct nrt_build *build = rdh->build;
	unsigned int rights = NRT_PLAN_WRITES(NRT_PLAN_SCRATCH), l;

	while (1u << rdh->levels < stage->n)
		rdh->levels++;
	rdh->me = stage->rank[stage->me];
	rdh->sem = nrt_build_sems(build, rdh->levels);
	rdh->slot = (stage->most + 63) / 64 * 64;
	if (reduces) {
		rdh->came = nrt_zone(NRT_PLAN_SCRATCH, 0, rdh->slot * (stage->n - 1));
		rdh->came.offset = nrt_build_scratch(build, rdh->came.run);
	} else {
		rights = 0;
	}
	if (reduces && !gathers) {
		rdh->sums = nrt_zone(NRT_PLAN_SCRATCH, 0, rdh->slot * stage->n);
		rdh->sums.offset = nrt_build_scratch(build, rdh->sums.run);
	}
	if (gathers)
		rights |= NRT_PLAN_WRITES(stage->to[0].space);
	build->phase = NRT_PLAN_BEGIN;
	for (l = 0; l < rdh->levels; l++) {
		unsigned int peer = stage->rank[partner(rdh, l)];

		nrt_build_sem(build, rdh->sem + l, peer, NRT_PLAN_BOTH);
		nrt_build_allow(build, peer, rights);
		nrt_build_step(build, 0);
		tell(rdh, l);
	}
	build->number++;
}

/* Where the sum of @block lies before level @level. */
static struct nrt_side sum_side(const struct rdh *rdh, unsigned int block, unsigned int level)
{
	struct nrt_side side = { rdh->me, &rdh->stage->from[block], 0 };

	if (level && rdh->sums.nr) {
		side.zone = &rdh->sums;
		side.at = block * rdh->slot;
	} else if (level) {
		side.zone = &rdh->stage->to[block];
	}
	return side;
}

/* The places of level @level come after those of the levels before: n/2, n/4, ... of them. */
static struct nrt_side came_side(const struct rdh *rdh, unsigned int rank, unsigned int level,
				 unsigned int index)
{
	unsigned int before = rdh->stage->n - 2 * half(rdh, level);

	return (struct nrt_side){ rank, &rdh->came, (before + index) * rdh->slot };
}

static void give_half(const struct rdh *rdh, unsigned int level)
{
	const struct nrt_stage *stage = rdh->stage;
	unsigned int first = first_of(rdh, partner(rdh, level), level), i;

	nrt_build_step(rdh->build, 0);
	wait_for(rdh, level);
	for (i = 0; i < half(rdh, level); i++) {
		struct nrt_side to = came_side(rdh, stage->rank[partner(rdh, level)], level, i);

		nrt_build_copy(rdh->build, sum_side(rdh, first + i, level), &to, 1,
			       nrt_zone_bytes(&stage->from[first + i]));
	}
	tell(rdh, level);
}

/* The part of the member with the lower index comes first. */
static void add_half(const struct rdh *rdh, unsigned int level)
{
	const struct nrt_stage *stage = rdh->stage;
	unsigned int first = first_of(rdh, stage->me, level), i;
	unsigned int own = partner(rdh, level) < stage->me;

	nrt_build_step(rdh->build, 0);
	wait_for(rdh, level);
	for (i = 0; i < half(rdh, level); i++) {
		struct nrt_side from[2], to = sum_side(rdh, first + i, level + 1);

		from[own] = sum_side(rdh, first + i, level);
		from[!own] = came_side(rdh, rdh->me, level, i);
		if (level == rdh->levels - 1)
			to = (struct nrt_side){ rdh->me, &stage->to[stage->me], 0 };
		nrt_build_combine(rdh->build, from, 2, &to, 1,
				  nrt_zone_bytes(&stage->from[first + i]));
	}
}

static void halve(const struct rdh *rdh)
{
	unsigned int l;

	rdh->build->phase = NRT_PLAN_SCATTER;
	for (l = 0; l < rdh->levels; l++) {
		give_half(rdh, l);
		rdh->build->number++;
		add_half(rdh, l);
	}
	rdh->build->number++;
}

static void double_up(const struct rdh *rdh, bool first_contact)
{
	const struct nrt_stage *stage = rdh->stage;
	unsigned int l, i, first;

	rdh->build->phase = NRT_PLAN_GATHER;
	for (l = rdh->levels; l-- > 0; rdh->build->number++) {
		nrt_build_step(rdh->build, 0);
		if (first_contact)
			wait_for(rdh, l);
		first = first_of(rdh, stage->me, l);
		for (i = first; i < first + half(rdh, l); i++) {
			struct nrt_side from = { rdh->me, &stage->to[i], 0 };
			struct nrt_side to = { stage->rank[partner(rdh, l)], &stage->to[i], 0 };

			nrt_build_copy(rdh->build, from, &to, 1, nrt_zone_bytes(&stage->to[i]));
		}
		tell(rdh, l);
		nrt_build_step(rdh->build, 0);
		wait_for(rdh, l);
	}
}

/* The own block of an all-gather, to where partners' blocks come. */
static void place_own(const struct rdh *rdh)
{
	const struct nrt_stage *stage = rdh->stage;
	struct nrt_side from = { rdh->me, &stage->from[stage->me], 0 };
	struct nrt_side to = { rdh->me, &stage->to[stage->me], 0 };

	if (stage->placed)
		return;
	rdh->build->phase = NRT_PLAN_LOCAL;
	nrt_build_step(rdh->build, 0);
	nrt_build_copy(rdh->build, from, &to, 1, nrt_zone_bytes(&stage->to[stage->me]));
}

void nrt_rdh_stage(struct nrt_build *build, const struct nrt_stage *stage, enum nrt_plan_op op)
{
	struct rdh rdh = { .build = build, .stage = stage };
	const bool reduces = op != NRT_PLAN_ALL_GATHER, gathers = op != NRT_PLAN_REDUCE_SCATTER;

	begin(&rdh, reduces, gathers);
	if (reduces)
		halve(&rdh);
	else
		place_own(&rdh);
	if (gathers)
		double_up(&rdh, !reduces);
}
