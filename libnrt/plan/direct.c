// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "plan/choose.h"
#include "plan/direct.h"
#include "plan/topology.h"

#define MIN(a, b)	((a) < (b) ? (a) : (b))

/* Bytes of a slice of a broadcast that goes from rank to rank. */
#define CHAIN_SLICES	8

void nrt_local_stage(struct nrt_build *build, const struct nrt_stage *stage)
{
	unsigned int me = build->program->rank;
	struct nrt_side from = { me, &stage->from[0], 0 }, to = { me, &stage->to[0], 0 };

	if (!stage->placed) {
		build->phase = NRT_PLAN_LOCAL;
		nrt_build_step(build, 0);
		nrt_build_copy(build, from, &to, 1, nrt_zone_bytes(&stage->to[0]));
	}
	build->number++;
}

/**
 * struct parcel - what this rank sends to another one, or gets from it
 * @rank: the other one
 * @from, @second: what is sent; with @second, the two are combined
 * @to: where it goes
 * @sem: the other one posts it; posts to the other one have the number @their_sem
 */
struct parcel {
	unsigned int rank;
	unsigned int sem;
	unsigned int their_sem;
	struct nrt_zone from;
	struct nrt_zone second;
	struct nrt_zone to;
};

static struct parcel parcel_of(unsigned int rank, unsigned int sem, unsigned int their_sem)
{
	return (struct parcel){ .rank = rank, .sem = sem, .their_sem = their_sem };
}

/**
 * struct direct - all parcels of a rank; too much for a stack
 * @out, @nr_out: it sends
 * @in, @nr_in: it gets
 * @own: what it sends to itself
 * @queues: that share the parcels
 * @spare: in place: parcels come to scratch, and go to @place when all own ones are gone
 */
struct direct {
	struct nrt_build *build;
	unsigned int me;
	unsigned int queues;
	struct parcel out[NRT_PLAN_MAX_RANKS];
	unsigned int nr_out;
	struct parcel in[NRT_PLAN_MAX_RANKS];
	struct nrt_zone place[NRT_PLAN_MAX_RANKS];
	unsigned int nr_in;
	struct parcel own;
	bool has_own;
	bool spare;
};

static void send_parcel(struct direct *direct, const struct parcel *parcel, unsigned int queue)
{
	struct nrt_build *build = direct->build;
	struct nrt_side from[2] = { { direct->me, &parcel->from, 0 },
				    { direct->me, &parcel->second, 0 } };
	struct nrt_side to = { parcel->rank, &parcel->to, 0 };

	nrt_build_step(build, queue);
	if (parcel->rank != direct->me)
		nrt_build_wait(build, parcel->rank, parcel->sem, 1);
	if (parcel->second.nr)
		nrt_build_combine(build, from, 2, &to, 1, parcel->to.run);
	else
		nrt_build_copy(build, from[0], &to, 1, parcel->to.run);
	if (parcel->rank != direct->me)
		nrt_build_post(build, parcel->rank, parcel->their_sem, 1);
}

/* READY to those that send. The queue is that by which this rank sends to them, if it does. */
static void begin(struct direct *direct)
{
	struct nrt_build *build = direct->build;
	unsigned int i, queue;

	build->phase = NRT_PLAN_BEGIN;
	for (i = 0; i < direct->nr_in; i++) {
		for (queue = 0; queue < direct->nr_out; queue++)
			if (direct->out[queue].rank == direct->in[i].rank)
				break;
		nrt_build_step(build, (queue < direct->nr_out ? queue : i) % direct->queues);
		nrt_build_post(build, direct->in[i].rank, direct->in[i].their_sem, 1);
		nrt_build_allow(build, direct->in[i].rank,
				NRT_PLAN_WRITES(direct->in[i].to.space));
	}
	build->number++;
}

/* Out of scratch; nothing of it is read any more that the parcels come to lie on. */
static void unpack(struct direct *direct, unsigned int landed)
{
	struct nrt_build *build = direct->build;
	unsigned int i;

	nrt_build_fence(build, landed, direct->queues);
	build->phase = NRT_PLAN_LOCAL;
	for (i = 0; i < direct->nr_in; i++) {
		struct nrt_side from = { direct->me, &direct->in[i].to, 0 };
		struct nrt_side to = { direct->me, &direct->place[i], 0 };

		nrt_build_step(build, i % direct->queues);
		nrt_build_copy(build, from, &to, 1, direct->place[i].run);
	}
}

static void run(struct direct *direct, unsigned int landed)
{
	struct nrt_build *build = direct->build;
	unsigned int i;

	begin(direct);
	build->phase = NRT_PLAN_SEND;
	for (i = 0; i < direct->nr_out; i++)
		send_parcel(direct, &direct->out[i], i % direct->queues);
	if (direct->has_own)
		send_parcel(direct, &direct->own, direct->nr_out % direct->queues);
	build->number++;
	build->phase = NRT_PLAN_END;
	nrt_build_step(build, 0);
	for (i = 0; i < direct->nr_in; i++)
		nrt_build_wait(build, direct->in[i].rank, direct->in[i].sem, 1);
	build->number++;
	if (direct->spare)
		unpack(direct, landed);
	build->number++;
}

static struct nrt_zone part(const struct nrt_build *build, enum nrt_plan_space space,
			    unsigned int block, uint64_t lo, uint64_t hi)
{
	return nrt_zone(space, block * build->plan->block + lo, hi - lo);
}

/* Every rank has one semaphore for each other one. */
static void all_to_all(struct direct *direct, uint64_t lo, uint64_t hi)
{
	struct nrt_build *build = direct->build;
	unsigned int n = build->plan->nr_ranks, me = direct->me, sem, landed, d;
	uint64_t slot = (hi - lo + 63) / 64 * 64, scratch = 0;

	direct->queues = n > 1 ? MIN(nrt_plan_queues(build->plan), n - 1) : 1;
	direct->spare = build->plan->in_place && n > 1;
	sem = nrt_build_sems(build, n);
	landed = nrt_build_sems(build, direct->spare ? direct->queues : 0);
	if (direct->spare)
		scratch = nrt_build_scratch(build, slot * n);
	for (d = 1; d < n; d++) {
		unsigned int to = (me + d) % n, from = to;
		struct parcel *out = &direct->out[direct->nr_out++];
		struct parcel *in = &direct->in[direct->nr_in++];

		nrt_build_sem(build, sem + from, from, NRT_PLAN_BOTH);
		*out = parcel_of(to, sem + to, sem + me);
		*in = parcel_of(from, sem + from, sem + me);
		out->from = part(build, NRT_PLAN_INPUT, to, lo, hi);
		out->to = part(build, NRT_PLAN_OUTPUT, me, lo, hi);
		in->to = part(build, NRT_PLAN_OUTPUT, from, lo, hi);
		direct->place[d - 1] = in->to;
		if (direct->spare) {
			out->to = nrt_zone(NRT_PLAN_SCRATCH, scratch + me * slot, hi - lo);
			in->to = nrt_zone(NRT_PLAN_SCRATCH, scratch + from * slot, hi - lo);
		}
	}
	direct->has_own = !build->plan->in_place;
	direct->own.rank = me;
	direct->own.from = part(build, NRT_PLAN_INPUT, me, lo, hi);
	direct->own.to = part(build, NRT_PLAN_OUTPUT, me, lo, hi);
	run(direct, landed);
}

/*
 * At most one parcel out and one in. Two semaphores: that of the source, which says DATA, and that
 * of the target, which says READY.
 */
static void pass_on(struct direct *direct, unsigned int source, unsigned int target,
		    struct parcel out, struct nrt_zone place)
{
	struct nrt_build *build = direct->build;
	const unsigned int none = NRT_PLAN_MAX_RANKS, me = direct->me;
	unsigned int sem = nrt_build_sems(build, 2), landed;
	uint64_t scratch = 0;

	direct->queues = 1;
	direct->spare = build->plan->in_place;
	landed = nrt_build_sems(build, 1);
	if (direct->spare)
		scratch = nrt_build_scratch(build, out.to.run);
	out.rank = target;
	out.sem = sem + 1;
	out.their_sem = sem;
	if (target == me) {
		direct->own = out;
		direct->has_own = !direct->spare || out.second.nr;
		direct->spare = false;
	} else if (target != none) {
		direct->out[direct->nr_out] = out;
		if (direct->spare)
			direct->out[0].to = nrt_zone(NRT_PLAN_SCRATCH, scratch, out.to.run);
		direct->nr_out++;
		nrt_build_sem(build, sem + 1, target, NRT_PLAN_READY);
	}
	if (source != none && source != me) {
		direct->in[0] = parcel_of(source, sem, sem + 1);
		direct->in[0].to = place;
		if (direct->spare)
			direct->in[0].to = nrt_zone(NRT_PLAN_SCRATCH, scratch, place.run);
		direct->nr_in = 1;
		nrt_build_sem(build, sem, source, NRT_PLAN_DATA);
	}
	direct->place[0] = place;
	run(direct, landed);
}

static void permute(struct direct *direct, uint64_t lo, uint64_t hi)
{
	const struct nrt_plan *plan = direct->build->plan;
	unsigned int source = NRT_PLAN_MAX_RANKS, target = NRT_PLAN_MAX_RANKS, i;
	struct parcel out = parcel_of(0, 0, 0);

	for (i = 0; i < plan->nr_pairs; i++) {
		if (plan->pairs[i].source == direct->me)
			target = plan->pairs[i].target;
		if (plan->pairs[i].target == direct->me)
			source = plan->pairs[i].source;
	}
	out.from = part(direct->build, NRT_PLAN_INPUT, 0, lo, hi);
	out.to = part(direct->build, NRT_PLAN_OUTPUT, 0, lo, hi);
	pass_on(direct, source, target, out, out.to);
}

/* Block c goes one place on in the ring of channel c; with a reduction, combined with its pair. */
static void permute_ring(struct direct *direct)
{
	struct nrt_build *build = direct->build;
	const struct nrt_plan *plan = build->plan;
	uint16_t rank[NRT_PLAN_MAX_RANKS], ring[NRT_PLAN_MAX_RANKS];
	unsigned int n = plan->nr_ranks, c = build->channel, p = 0, i;
	struct parcel out = parcel_of(0, 0, 0);

	for (i = 0; i < n; i++)
		rank[i] = (uint16_t)i;
	nrt_ring_order(plan, rank, n, c, ring);
	while (ring[p] != direct->me)
		p++;
	out.from = part(build, NRT_PLAN_INPUT, c, 0, plan->block);
	if (plan->reduce)
		out.second = part(build, NRT_PLAN_INPUT, plan->nr_channels + c, 0, plan->block);
	out.to = part(build, NRT_PLAN_OUTPUT, c, 0, plan->block);
	pass_on(direct, ring[(p + n - 1) % n], ring[(p + 1) % n], out, out.to);
}

/**
 * struct chain - a broadcast that goes from rank to rank
 * @at: place of this rank, from the root on
 * @sem: DATA from the one before; READY from the one behind
 */
struct chain {
	struct nrt_build *build;
	unsigned int me;
	unsigned int at;
	unsigned int prev;
	unsigned int next;
	unsigned int sem;
	bool last;
};

static void chain_slice(const struct chain *chain, const struct nrt_zone *from,
			const struct nrt_zone *to, unsigned int k, unsigned int slices)
{
	uint64_t at = nrt_stage_slice(chain->build->plan, to->run, slices, k);
	uint64_t next = nrt_stage_slice(chain->build->plan, to->run, slices, k + 1);
	struct nrt_side source = { chain->me, from, at };
	struct nrt_side sides[2] = { { chain->next, to, at }, { chain->me, to, at } };
	bool own = !chain->at && !chain->build->plan->in_place;

	nrt_build_step(chain->build, 0);
	if (chain->at)
		nrt_build_wait(chain->build, chain->prev, chain->sem, 1);
	if (!k && !chain->last)
		nrt_build_wait(chain->build, chain->next, chain->sem + 1, 1);
	if (chain->last)
		return;
	nrt_build_copy(chain->build, source, sides, own ? 2 : 1, next - at);
	nrt_build_post(chain->build, chain->next, chain->sem, 1);
}

/* Channels have rings of their own; the chain ends before it comes back to the root. */
static void broadcast_chain(struct nrt_build *build, uint64_t lo, uint64_t hi)
{
	const struct nrt_plan *plan = build->plan;
	uint16_t rank[NRT_PLAN_MAX_RANKS], ring[NRT_PLAN_MAX_RANKS];
	struct chain chain = { .build = build, .me = build->program->rank };
	struct nrt_zone in = part(build, NRT_PLAN_INPUT, 0, lo, hi);
	struct nrt_zone out = part(build, NRT_PLAN_OUTPUT, 0, lo, hi);
	unsigned int n = plan->nr_ranks, p = 0, root = 0, k;

	for (k = 0; k < n; k++)
		rank[k] = (uint16_t)k;
	nrt_ring_order(plan, rank, n, build->channel, ring);
	while (ring[p] != chain.me)
		p++;
	while (ring[root] != plan->root)
		root++;
	chain.at = (p + n - root) % n;
	chain.last = chain.at == n - 1;
	chain.prev = ring[(p + n - 1) % n];
	chain.next = ring[(p + 1) % n];
	chain.sem = nrt_build_sems(build, 2);
	build->phase = NRT_PLAN_BEGIN;
	if (chain.at) {
		nrt_build_sem(build, chain.sem, chain.prev, NRT_PLAN_DATA);
		nrt_build_allow(build, chain.prev, NRT_PLAN_WRITES(NRT_PLAN_OUTPUT));
		nrt_build_step(build, 0);
		nrt_build_post(build, chain.prev, chain.sem + 1, 1);
	}
	if (!chain.last)
		nrt_build_sem(build, chain.sem + 1, chain.next, NRT_PLAN_READY);
	build->number++;
	build->phase = NRT_PLAN_GATHER;
	for (k = 0; k < CHAIN_SLICES; k++, build->number++)
		chain_slice(&chain, chain.at ? &out : &in, &out, k, CHAIN_SLICES);
}

/* The root writes to all. */
static void broadcast_mesh(struct direct *direct, uint64_t lo, uint64_t hi)
{
	struct nrt_build *build = direct->build;
	const struct nrt_plan *plan = build->plan;
	unsigned int n = plan->nr_ranks, sem = nrt_build_sems(build, n), d;
	struct nrt_zone out = part(build, NRT_PLAN_OUTPUT, 0, lo, hi);

	direct->queues = MIN(nrt_plan_queues(plan), n - 1);
	if (direct->me != plan->root) {
		direct->in[0] = parcel_of(plan->root, sem + plan->root, sem + direct->me);
		direct->in[0].to = out;
		direct->nr_in = 1;
		nrt_build_sem(build, sem + plan->root, plan->root, NRT_PLAN_DATA);
		return run(direct, 0);
	}
	for (d = 1; d < n; d++) {
		unsigned int to = (direct->me + d) % n;
		struct parcel *parcel = &direct->out[direct->nr_out++];

		*parcel = parcel_of(to, sem + to, sem + direct->me);
		parcel->from = part(build, NRT_PLAN_INPUT, 0, lo, hi);
		parcel->to = out;
		nrt_build_sem(build, sem + to, to, NRT_PLAN_READY);
	}
	direct->has_own = !plan->in_place;
	direct->own.rank = direct->me;
	direct->own.from = part(build, NRT_PLAN_INPUT, 0, lo, hi);
	direct->own.to = out;
	run(direct, 0);
}

static void broadcast(struct direct *direct, uint64_t lo, uint64_t hi)
{
	struct nrt_build *build = direct->build;
	struct nrt_zone from = part(build, NRT_PLAN_INPUT, 0, lo, hi);
	struct nrt_zone to = part(build, NRT_PLAN_OUTPUT, 0, lo, hi);
	struct nrt_stage alone = { .n = 1, .from = &from, .to = &to };

	alone.placed = build->plan->in_place;
	if (build->plan->nr_ranks == 1)
		nrt_local_stage(build, &alone);
	else if (build->plan->choice.algorithm == NRT_PLAN_RING)
		broadcast_chain(build, lo, hi);
	else
		broadcast_mesh(direct, lo, hi);
}

void nrt_direct_stage(struct nrt_build *build, uint64_t lo, uint64_t hi)
{
	struct direct *direct = calloc(1, sizeof(*direct));

	if (!direct)
		return nrt_build_no_memory(build);
	direct->build = build;
	direct->me = build->program->rank;
	switch (build->plan->op) {
	case NRT_PLAN_ALL_TO_ALL:
		all_to_all(direct, lo, hi);
		break;
	case NRT_PLAN_PERMUTE:
		permute(direct, lo, hi);
		break;
	case NRT_PLAN_PERMUTE_RING:
		permute_ring(direct);
		break;
	default:
		broadcast(direct, lo, hi);
	}
	free(direct);
}

void nrt_barrier_stage(struct nrt_build *build)
{
	unsigned int n = build->plan->nr_ranks, me = build->program->rank, d, sem;

	for (d = 1; d < n; d *= 2, build->number++) {
		unsigned int from = (me + n - d) % n;

		sem = nrt_build_sems(build, 1);
		nrt_build_sem(build, sem, from, NRT_PLAN_DATA);
		build->phase = NRT_PLAN_SEND;
		nrt_build_step(build, 0);
		nrt_build_post(build, (me + d) % n, sem, 1);
		build->phase = NRT_PLAN_END;
		nrt_build_step(build, 0);
		nrt_build_wait(build, from, sem, 1);
	}
}
