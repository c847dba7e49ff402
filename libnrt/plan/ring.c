// SPDX-License-Identifier: MIT
/*
 * Ring. The block of the member at place p of the ring begins its way at place p + 1, is added to
 * at each place, and is complete when it comes to p. Then it goes round once more.
 *
 * What comes in lies in slots of scratch, which the sender may fill as long as the receiver has
 * room: a slice takes one READY, and gets it back when its slot was read.
 */
#include "plan/stage.h"

/* Slices that a receiver has room for, in times of those of a block. */
#define SLOTS	2

/**
 * struct ring - the ring as this rank sees it
 * @p: its own place
 * @prev, @next: ranks beside it
 * @sem: DATA from @prev; the one behind it: READY from @next
 * @slots, @slot: how many slots, and bytes of one
 * @scratch: where they are
 * @total: slices that go through slots
 */
struct ring {
	struct nrt_build *build;
	const struct nrt_stage *stage;
	unsigned int p;
	unsigned int prev;
	unsigned int next;
	unsigned int sem;
	unsigned int slots;
	uint64_t slot;
	uint64_t total;
	struct nrt_zone scratch;
};

/* The block of the member at place @place, which may be up to two rounds below 0. */
static unsigned int block_at(const struct ring *ring, unsigned int place)
{
	return ring->stage->ring[place % ring->stage->n];
}

static void find_place(struct ring *ring)
{
	const struct nrt_stage *stage = ring->stage;

	for (ring->p = 0; stage->ring[ring->p] != stage->me;)
		ring->p++;
	ring->prev = stage->rank[stage->ring[(ring->p + stage->n - 1) % stage->n]];
	ring->next = stage->rank[stage->ring[(ring->p + 1) % stage->n]];
}

static void begin(struct ring *ring, bool reduces)
{
	const struct nrt_stage *stage = ring->stage;
	struct nrt_build *build = ring->build;
	uint64_t room;

	find_place(ring);
	ring->sem = nrt_build_sems(build, 2);
	nrt_build_sem(build, ring->sem, ring->prev, NRT_PLAN_DATA);
	nrt_build_sem(build, ring->sem + 1, ring->next, NRT_PLAN_READY);
	nrt_build_allow(build, ring->prev, NRT_PLAN_WRITES(stage->to[0].space));
	ring->slots = 1;
	if (reduces) {
		ring->total = (uint64_t)(stage->n - 1) * stage->slices;
		room = (uint64_t)SLOTS * stage->slices;
		ring->slots = (unsigned int)(ring->total < room ? ring->total : room);
		ring->slot = nrt_stage_slice(build->plan, stage->most, stage->slices, 1);
		ring->scratch = nrt_zone(NRT_PLAN_SCRATCH, 0, ring->slots * ring->slot);
		ring->scratch.offset = nrt_build_scratch(build, ring->scratch.run);
		nrt_build_allow(build, ring->prev, NRT_PLAN_WRITES(NRT_PLAN_SCRATCH));
	}
	build->phase = NRT_PLAN_BEGIN;
	nrt_build_step(build, 0);
	nrt_build_post(build, ring->prev, ring->sem + 1, ring->slots);
	build->number++;
}

static struct nrt_side slot_side(const struct ring *ring, unsigned int rank, uint64_t index)
{
	return (struct nrt_side){ rank, &ring->scratch, index % ring->slots * ring->slot };
}

/* Take slice @k of what came in at step @s - 1, add to it, and move it to @to. */
static void reduce_slice(struct ring *ring, unsigned int s, unsigned int k, unsigned int block,
			 const struct nrt_side *to, unsigned int nr_to, uint64_t bytes)
{
	const struct nrt_stage *stage = ring->stage;
	const unsigned int me = stage->rank[stage->me];
	uint64_t came = (uint64_t)(s - 1) * stage->slices + k;
	struct nrt_side from[2];

	from[0] = slot_side(ring, me, came);
	from[1] = (struct nrt_side){ me, &stage->from[block], 0 };
	from[1].at = nrt_stage_slice(ring->build->plan, nrt_zone_bytes(&stage->from[block]),
				     stage->slices, k);
	nrt_build_wait(ring->build, ring->prev, ring->sem, 1);
	nrt_build_combine(ring->build, from, 2, to, nr_to, bytes);
	if (came + ring->slots < ring->total)
		nrt_build_post(ring->build, ring->prev, ring->sem + 1, 1);
}

static uint64_t slice_bytes(const struct ring *ring, unsigned int block, unsigned int k,
			    uint64_t *at)
{
	uint64_t bytes = nrt_zone_bytes(&ring->stage->from[block]);
	unsigned int slices = ring->stage->slices;

	*at = nrt_stage_slice(ring->build->plan, bytes, slices, k);
	return nrt_stage_slice(ring->build->plan, bytes, slices, k + 1) - *at;
}

/* Step @s: a slice of the block that is complete @s + 1 places from here the other way round. */
static void scatter_slice(struct ring *ring, unsigned int s, unsigned int k)
{
	const struct nrt_stage *stage = ring->stage;
	const unsigned int me = stage->rank[stage->me];
	unsigned int block = block_at(ring, ring->p + 2 * stage->n - 1 - s);
	uint64_t at, bytes = slice_bytes(ring, block, k, &at);
	struct nrt_side from = { me, &stage->from[block], at };
	struct nrt_side to = slot_side(ring, ring->next, (uint64_t)s * stage->slices + k);

	nrt_build_step(ring->build, 0);
	nrt_build_wait(ring->build, ring->next, ring->sem + 1, 1);
	if (s)
		reduce_slice(ring, s, k, block, &to, 1, bytes);
	else
		nrt_build_copy(ring->build, from, &to, 1, bytes);
	nrt_build_post(ring->build, ring->next, ring->sem, 1);
}

/* The own block is complete; with @gathers it goes on at once. */
static void finish_slice(struct ring *ring, unsigned int k, bool gathers)
{
	const struct nrt_stage *stage = ring->stage;
	uint64_t at, bytes = slice_bytes(ring, stage->me, k, &at);
	struct nrt_side to[2] = {
		{ stage->rank[stage->me], &stage->to[stage->me], at },
		{ ring->next, &stage->to[stage->me], at },
	};

	nrt_build_step(ring->build, 0);
	reduce_slice(ring, stage->n - 1, k, stage->me, to, gathers ? 2 : 1, bytes);
	if (gathers)
		nrt_build_post(ring->build, ring->next, ring->sem, 1);
}

static void scatter(struct ring *ring, bool gathers)
{
	unsigned int s, k;

	ring->build->phase = NRT_PLAN_SCATTER;
	for (s = 0; s < ring->stage->n - 1; s++, ring->build->number++)
		for (k = 0; k < ring->stage->slices; k++)
			scatter_slice(ring, s, k);
	for (k = 0; k < ring->stage->slices; k++)
		finish_slice(ring, k, gathers);
	ring->build->number++;
}

/* The own block goes to the next place, and to its own one if it is not there. */
static void gather_own(struct ring *ring, unsigned int k)
{
	const struct nrt_stage *stage = ring->stage;
	const unsigned int me = stage->rank[stage->me];
	uint64_t at, bytes = slice_bytes(ring, stage->me, k, &at);
	struct nrt_side from = { me, &stage->from[stage->me], at };
	struct nrt_side to[2] = {
		{ ring->next, &stage->to[stage->me], at },
		{ me, &stage->to[stage->me], at },
	};

	nrt_build_step(ring->build, 0);
	if (!k)
		nrt_build_wait(ring->build, ring->next, ring->sem + 1, 1);
	nrt_build_copy(ring->build, from, to, stage->placed ? 1 : 2, bytes);
	nrt_build_post(ring->build, ring->next, ring->sem, 1);
}

/* What came in at step @t - 1 goes on. */
static void gather_slice(struct ring *ring, unsigned int t, unsigned int k)
{
	const struct nrt_stage *stage = ring->stage;
	unsigned int block = block_at(ring, ring->p + stage->n - t);
	uint64_t at, bytes = slice_bytes(ring, block, k, &at);
	struct nrt_side from = { stage->rank[stage->me], &stage->to[block], at };
	struct nrt_side to = { ring->next, &stage->to[block], at };

	nrt_build_step(ring->build, 0);
	nrt_build_wait(ring->build, ring->prev, ring->sem, 1);
	nrt_build_copy(ring->build, from, &to, 1, bytes);
	nrt_build_post(ring->build, ring->next, ring->sem, 1);
}

static void gather(struct ring *ring, bool own)
{
	unsigned int t, k;

	ring->build->phase = NRT_PLAN_GATHER;
	for (t = own ? 0 : 1; t < ring->stage->n - 1; t++, ring->build->number++)
		for (k = 0; k < ring->stage->slices; k++) {
			if (t)
				gather_slice(ring, t, k);
			else
				gather_own(ring, k);
		}
	ring->build->phase = NRT_PLAN_END;
	nrt_build_step(ring->build, 0);
	nrt_build_wait(ring->build, ring->prev, ring->sem, ring->stage->slices);
	ring->build->number++;
}

void nrt_ring_stage(struct nrt_build *build, const struct nrt_stage *stage, enum nrt_plan_op op)
{
	struct ring ring = { .build = build, .stage = stage };

	begin(&ring, op != NRT_PLAN_ALL_GATHER);
	if (op != NRT_PLAN_ALL_GATHER)
		scatter(&ring, op == NRT_PLAN_ALL_REDUCE);
	if (op != NRT_PLAN_REDUCE_SCATTER)
		gather(&ring, op == NRT_PLAN_ALL_GATHER);
}
