// SPDX-License-Identifier: MIT
/*
 * KangaRing: a ring of half the length. Two members on one chip are a pair; only one of them, the
 * primary, is in the ring. It reads the input of its secondary where it lies, and writes results
 * to both outputs with one read. On every second channel the two change their roles.
 *
 * A slice has the blocks of both, one after the other.
 */
#include "plan/stage.h"

#define SLOTS	2	/* as in ring.c */

/**
 * struct kanga - the ring of pairs as this rank sees it
 * @pairs: how many
 * @p: place of its pair
 * @role: whether this rank is the secondary
 * @prev, @next: primaries beside it
 * @other: the other one of the pair
 * @sem: of a primary: DATA from @prev, READY from @next, READY from the secondary; of a secondary:
 *	DATA from the primary
 * @slots, @slot, @total, @scratch: as in ring.c
 */
struct kanga {
	struct nrt_build *build;
	const struct nrt_stage *stage;
	unsigned int pairs;
	unsigned int p;
	unsigned int role;
	unsigned int me;
	unsigned int prev;
	unsigned int next;
	unsigned int other;
	unsigned int sem;
	unsigned int slots;
	uint64_t slot;
	uint64_t total;
	struct nrt_zone scratch;
};

enum { FROM_PREV, FROM_NEXT, FROM_SECONDARY, FROM_PRIMARY, NR_SEMS };

/* The member of the pair at place @place; @role 0: the primary. */
static unsigned int member(const struct kanga *kanga, unsigned int place, unsigned int role)
{
	unsigned int swap = kanga->build->channel % 2;

	return kanga->stage->ring[2 * (place % kanga->pairs) + (role ^ swap)];
}

static unsigned int rank_at(const struct kanga *kanga, unsigned int place, unsigned int role)
{
	return kanga->stage->rank[member(kanga, place, role)];
}

static void find_place(struct kanga *kanga)
{
	const struct nrt_stage *stage = kanga->stage;
	unsigned int at = 0;

	while (stage->ring[at] != stage->me)
		at++;
	kanga->pairs = stage->n / 2;
	kanga->p = at / 2;
	kanga->me = stage->rank[stage->me];
	kanga->role = member(kanga, kanga->p, 0) != stage->me;
	kanga->prev = rank_at(kanga, kanga->p + kanga->pairs - 1, 0);
	kanga->next = rank_at(kanga, kanga->p + 1, 0);
	kanga->other = rank_at(kanga, kanga->p, !kanga->role);
}

static void take_scratch(struct kanga *kanga)
{
	const struct nrt_stage *stage = kanga->stage;
	uint64_t room = (uint64_t)SLOTS * 2 * stage->slices;

	kanga->total = (uint64_t)(kanga->pairs - 1) * 2 * stage->slices;
	kanga->slots = (unsigned int)(kanga->total < room ? kanga->total : room);
	kanga->slot = nrt_stage_slice(kanga->build->plan, stage->most, stage->slices, 1);
	kanga->scratch = nrt_zone(NRT_PLAN_SCRATCH, 0, kanga->slots * kanga->slot);
	kanga->scratch.offset = nrt_build_scratch(kanga->build, kanga->scratch.run);
}

static void begin_primary(struct kanga *kanga, bool reduces)
{
	struct nrt_build *build = kanga->build;
	unsigned int rights = NRT_PLAN_WRITES(kanga->stage->to[0].space);

	if (reduces)
		rights |= NRT_PLAN_WRITES(NRT_PLAN_SCRATCH);
	nrt_build_sem(build, kanga->sem + FROM_SECONDARY, kanga->other, NRT_PLAN_READY);
	if (kanga->pairs > 1) {
		nrt_build_sem(build, kanga->sem + FROM_PREV, kanga->prev, NRT_PLAN_DATA);
		nrt_build_sem(build, kanga->sem + FROM_NEXT, kanga->next, NRT_PLAN_READY);
		nrt_build_allow(build, kanga->prev, rights);
		nrt_build_step(build, 0);
		nrt_build_post(build, kanga->prev, kanga->sem + FROM_NEXT, kanga->slots);
	}
	nrt_build_step(build, 0);
	nrt_build_wait(build, kanga->other, kanga->sem + FROM_SECONDARY, 1);
}

static void begin(struct kanga *kanga, bool reduces)
{
	const struct nrt_stage *stage = kanga->stage;
	struct nrt_build *build = kanga->build;

	find_place(kanga);
	kanga->slots = 1;
	if (reduces)
		take_scratch(kanga);
	kanga->sem = nrt_build_sems(build, NR_SEMS);
	build->phase = NRT_PLAN_BEGIN;
	if (kanga->role) {
		nrt_build_sem(build, kanga->sem + FROM_PRIMARY, kanga->other, NRT_PLAN_DATA);
		nrt_build_allow(build, kanga->other, NRT_PLAN_READS(stage->from[0].space) |
				NRT_PLAN_WRITES(stage->to[0].space));
		nrt_build_step(build, 0);
		nrt_build_post(build, kanga->other, kanga->sem + FROM_SECONDARY, 1);
	} else {
		begin_primary(kanga, reduces);
	}
	build->number++;
}

/* Slice @k of the 2 * slices of the pair at place @place. */
struct piece {
	unsigned int block;
	uint64_t at;
	uint64_t bytes;
};

static struct piece piece_of(const struct kanga *kanga, unsigned int place, unsigned int k)
{
	const struct nrt_stage *stage = kanga->stage;
	unsigned int slice = k % stage->slices;
	struct piece piece = { .block = member(kanga, place, k / stage->slices) };
	uint64_t bytes = nrt_zone_bytes(&stage->from[piece.block]);

	piece.at = nrt_stage_slice(kanga->build->plan, bytes, stage->slices, slice);
	piece.bytes = nrt_stage_slice(kanga->build->plan, bytes, stage->slices, slice + 1) -
		      piece.at;
	return piece;
}

static struct nrt_side slot_side(const struct kanga *kanga, unsigned int rank, uint64_t index)
{
	return (struct nrt_side){ rank, &kanga->scratch, index % kanga->slots * kanga->slot };
}

/* What came in at step @s - 1 as slice @k, the own part, that of the secondary: to @to. */
static void reduce_piece(struct kanga *kanga, unsigned int s, unsigned int k, struct piece piece,
			 const struct nrt_side *to, unsigned int nr_to)
{
	const struct nrt_zone *from = &kanga->stage->from[piece.block];
	uint64_t came = (uint64_t)(s - 1) * 2 * kanga->stage->slices + k;
	struct nrt_side src[3];
	unsigned int nr = 0;

	if (s) {
		nrt_build_wait(kanga->build, kanga->prev, kanga->sem + FROM_PREV, 1);
		src[nr++] = slot_side(kanga, kanga->me, came);
	}
	src[nr++] = (struct nrt_side){ kanga->me, from, piece.at };
	src[nr++] = (struct nrt_side){ kanga->other, from, piece.at };
	nrt_build_combine(kanga->build, src, nr, to, nr_to, piece.bytes);
	if (s && came + kanga->slots < kanga->total)
		nrt_build_post(kanga->build, kanga->prev, kanga->sem + FROM_NEXT, 1);
}

static void scatter_piece(struct kanga *kanga, unsigned int s, unsigned int k)
{
	struct piece piece = piece_of(kanga, kanga->p + 2 * kanga->pairs - 1 - s, k);
	struct nrt_side to = slot_side(kanga, kanga->next,
				       (uint64_t)s * 2 * kanga->stage->slices + k);

	nrt_build_step(kanga->build, 0);
	nrt_build_wait(kanga->build, kanga->next, kanga->sem + FROM_NEXT, 1);
	reduce_piece(kanga, s, k, piece, &to, 1);
	nrt_build_post(kanga->build, kanga->next, kanga->sem + FROM_PREV, 1);
}

/* A result: to the outputs of both or, with only @scatter, to that of its owner. */
static void finish_piece(struct kanga *kanga, unsigned int k, bool gathers)
{
	const struct nrt_stage *stage = kanga->stage;
	struct piece piece = piece_of(kanga, kanga->p, k);
	struct nrt_side to[2] = {
		{ kanga->me, &stage->to[piece.block], piece.at },
		{ kanga->other, &stage->to[piece.block], piece.at },
	};
	unsigned int owner = stage->rank[piece.block] != kanga->me;

	nrt_build_step(kanga->build, 0);
	if (gathers)
		reduce_piece(kanga, kanga->pairs - 1, k, piece, to, 2);
	else
		reduce_piece(kanga, kanga->pairs - 1, k, piece, &to[owner], 1);
}

static void scatter(struct kanga *kanga, bool gathers)
{
	unsigned int s, k, slices = 2 * kanga->stage->slices;

	kanga->build->phase = NRT_PLAN_SCATTER;
	for (s = 0; s < kanga->pairs - 1; s++, kanga->build->number++)
		for (k = 0; !kanga->role && k < slices; k++)
			scatter_piece(kanga, s, k);
	for (k = 0; !kanga->role && k < slices; k++)
		finish_piece(kanga, k, gathers);
	kanga->build->number++;
}

/* All-gather: the blocks of the pair, to where both have all blocks. */
static void place_pair(struct kanga *kanga)
{
	const struct nrt_stage *stage = kanga->stage;
	const bool placed = stage->placed;
	unsigned int role;

	kanga->build->phase = NRT_PLAN_LOCAL;
	for (role = 0; role < 2; role++) {
		unsigned int block = member(kanga, kanga->p, role);
		unsigned int owner = stage->rank[block];
		struct nrt_side from = { owner, &stage->from[block], 0 };
		struct nrt_side to[2] = {
			{ owner == kanga->me ? kanga->other : kanga->me, &stage->to[block], 0 },
			{ owner, &stage->to[block], 0 },
		};

		nrt_build_step(kanga->build, 0);
		nrt_build_copy(kanga->build, from, to, placed ? 1 : 2,
			       nrt_zone_bytes(&stage->to[block]));
	}
}

/* Step @t: the blocks of the pair @t places back go on, and to the secondary. */
static void gather_piece(struct kanga *kanga, unsigned int t, unsigned int k)
{
	const struct nrt_stage *stage = kanga->stage;
	struct piece piece = piece_of(kanga, kanga->p + kanga->pairs - t, k);
	const struct nrt_zone *zone = &stage->to[piece.block];
	const bool first = !t, last = t == kanga->pairs - 1;
	struct nrt_side to[2] = { { kanga->next, zone, piece.at },
				  { kanga->other, zone, piece.at } };

	nrt_build_step(kanga->build, 0);
	if (t)
		nrt_build_wait(kanga->build, kanga->prev, kanga->sem + FROM_PREV, 1);
	nrt_build_copy(kanga->build, (struct nrt_side){ kanga->me, zone, piece.at },
		       last ? &to[1] : to, first || last ? 1 : 2, piece.bytes);
	if (!last)
		nrt_build_post(kanga->build, kanga->next, kanga->sem + FROM_PREV, 1);
}

static void gather(struct kanga *kanga, bool first_contact)
{
	unsigned int t, k, slices = 2 * kanga->stage->slices;

	kanga->build->phase = NRT_PLAN_GATHER;
	if (first_contact && !kanga->role && kanga->pairs > 1) {
		nrt_build_step(kanga->build, 0);
		nrt_build_wait(kanga->build, kanga->next, kanga->sem + FROM_NEXT, 1);
	}
	for (t = 0; t < kanga->pairs; t++, kanga->build->number++)
		for (k = 0; !kanga->role && kanga->pairs > 1 && k < slices; k++)
			gather_piece(kanga, t, k);
}

/* The secondary learns that all is there, and that its input was read. */
static void finish(struct kanga *kanga)
{
	kanga->build->phase = NRT_PLAN_END;
	nrt_build_step(kanga->build, 0);
	if (kanga->role)
		nrt_build_wait(kanga->build, kanga->other, kanga->sem + FROM_PRIMARY, 1);
	else
		nrt_build_post(kanga->build, kanga->other, kanga->sem + FROM_PRIMARY, 1);
	kanga->build->number++;
}

void nrt_kangaring_stage(struct nrt_build *build, const struct nrt_stage *stage,
			 enum nrt_plan_op op)
{
	struct kanga kanga = { .build = build, .stage = stage };

	begin(&kanga, op != NRT_PLAN_ALL_GATHER);
	if (op != NRT_PLAN_ALL_GATHER)
		scatter(&kanga, op == NRT_PLAN_ALL_REDUCE);
	else if (!kanga.role)
		place_pair(&kanga);
	if (op != NRT_PLAN_REDUCE_SCATTER)
		gather(&kanga, op == NRT_PLAN_ALL_GATHER);
	finish(&kanga);
}
