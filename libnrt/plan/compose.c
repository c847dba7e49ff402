// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "plan/choose.h"
#include "plan/compose.h"
#include "plan/direct.h"
#include "plan/stage.h"
#include "plan/topology.h"
#include "plan/vary.h"

#define MAX	NRT_PLAN_MAX_RANKS

uint64_t nrt_stage_slice(const struct nrt_plan *plan, uint64_t bytes, unsigned int slices,
			 unsigned int k)
{
	uint64_t unit = plan->element, cut;

	if (k == slices)
		return bytes;
	if (bytes / slices >= plan->align)
		unit = plan->align;
	cut = (bytes + slices * unit - 1) / (slices * unit) * unit;
	return k * cut < bytes ? k * cut : bytes;
}

/**
 * struct work - what the stages of a channel refer to; too much for a stack
 * @lo, @hi: bytes of each block of the collective that are the channel's
 */
struct work {
	struct nrt_build *build;
	const struct nrt_plan *plan;
	unsigned int channel;
	uint64_t lo;
	uint64_t hi;
	uint16_t rank[MAX];
	uint16_t ring[MAX];
	struct nrt_zone from[MAX];
	struct nrt_zone to[MAX];
	struct nrt_stage stage;
};

static unsigned int slices_of(const struct work *work)
{
	uint64_t block = work->stage.most, slice = work->plan->slice;

	if (block < 2 * work->plan->align)
		return 1;
	return block <= 2 * slice ? 2 : (unsigned int)((block + slice - 1) / slice);
}

/* Members in @work->rank, zones in @work->from and @work->to, which have at most @most bytes. */
static void run_stage(struct work *work, enum nrt_plan_algorithm algorithm, enum nrt_plan_op op,
		      unsigned int n, uint64_t most)
{
	struct nrt_stage *stage = &work->stage;
	struct nrt_build *build = work->build;

	*stage = (struct nrt_stage){
		.n = n, .rank = work->rank, .ring = work->ring, .from = work->from,
		.to = work->to, .most = most, .queues = nrt_plan_queues(work->plan),
		.alias = work->plan->in_place || work->from[0].space == work->to[0].space,
	};
	for (stage->me = 0; stage->rank[stage->me] != build->program->rank;)
		stage->me++;
	stage->placed = work->plan->in_place ||
			work->from[stage->me].space == work->to[stage->me].space;
	stage->slices = slices_of(work);
	nrt_ring_order(work->plan, work->rank, n, work->channel, work->ring);
	if (n == 1) {
		nrt_local_stage(build, stage);
		return;
	}
	switch (algorithm) {
	case NRT_PLAN_MESH:
		return nrt_mesh_stage(build, stage, op);
	case NRT_PLAN_MESH_ONE:
		return nrt_mesh_one_stage(build, stage);
	case NRT_PLAN_KANGARING:
		return nrt_kangaring_stage(build, stage, op);
	case NRT_PLAN_RDH:
		return nrt_rdh_stage(build, stage, op);
	default:
		return nrt_ring_stage(build, stage, op);
	}
}

/* Cut the bytes of @zone, one run, in @n blocks. */
static void cut(const struct work *work, struct nrt_zone zone, unsigned int n,
		struct nrt_zone *blocks)
{
	unsigned int i;
	uint64_t at;

	for (i = 0; i < n; i++) {
		at = nrt_stage_slice(work->plan, zone.run, n, i);
		blocks[i] = nrt_zone(zone.space, zone.offset + at,
				     nrt_stage_slice(work->plan, zone.run, n, i + 1) - at);
	}
}

/* The channel's part of block @i of INPUT or OUTPUT. */
static struct nrt_zone block_zone(const struct work *work, enum nrt_plan_space space,
				  unsigned int i)
{
	return nrt_zone(space, i * work->plan->block + work->lo, work->hi - work->lo);
}

/* The same of blocks @first, @first + @step, ...: @nr of them. */
static struct nrt_zone blocks_zone(const struct work *work, enum nrt_plan_space space,
				   unsigned int first, unsigned int step, unsigned int nr)
{
	struct nrt_zone zone = block_zone(work, space, first);

	zone.nr = nr;
	zone.stride = step * work->plan->block;
	return zone;
}

static void flat(struct work *work)
{
	const struct nrt_plan *plan = work->plan;
	const bool gathers = plan->op == NRT_PLAN_ALL_GATHER;
	unsigned int n = plan->nr_ranks, i;

	for (i = 0; i < n; i++) {
		work->rank[i] = (uint16_t)i;
		work->from[i] = block_zone(work, NRT_PLAN_INPUT, gathers ? 0 : i);
		work->to[i] = block_zone(work, NRT_PLAN_OUTPUT, gathers ? i : 0);
	}
	if (plan->op == NRT_PLAN_ALL_REDUCE && plan->choice.algorithm != NRT_PLAN_MESH_ONE) {
		cut(work, block_zone(work, NRT_PLAN_INPUT, 0), n, work->from);
		cut(work, block_zone(work, NRT_PLAN_OUTPUT, 0), n, work->to);
	}
	run_stage(work, plan->choice.algorithm, plan->op, n, nrt_zone_bytes(&work->from[0]));
}

/* All that the channel has moved so far has landed. */
static void settle(struct work *work)
{
	unsigned int nr = work->build->nr_queues;

	work->build->phase = NRT_PLAN_LOCAL;
	nrt_build_fence(work->build, nrt_build_sems(work->build, nr), nr);
	work->build->number++;
}

static void take_members(struct work *work, const struct nrt_plan_groups *groups, bool intra)
{
	unsigned int me = work->build->program->rank, i;
	unsigned int group = groups->group[me], local = groups->local[me];

	for (i = 0; i < (intra ? groups->size : groups->nr); i++)
		work->rank[i] = intra ? groups->rank[group * groups->size + i] :
				groups->rank[i * groups->size + local];
}

/* Blocks of the ranks with index @local of all groups. */
static struct nrt_zone local_zone(const struct work *work, const struct nrt_plan_groups *groups,
				  enum nrt_plan_space space, unsigned int local)
{
	unsigned int first = groups->rank[local];
	unsigned int step = groups->nr > 1 ? groups->rank[groups->size + local] - first : 0;

	return blocks_zone(work, space, first, step, groups->nr);
}

/* Reduce-scatter inside, all-reduce of the own part between, all-gather inside. */
static void hier_all_reduce(struct work *work, const struct nrt_plan_groups *groups)
{
	const struct nrt_plan_choice *choice = &work->plan->choice;
	struct nrt_zone in = block_zone(work, NRT_PLAN_INPUT, 0);
	struct nrt_zone out = block_zone(work, NRT_PLAN_OUTPUT, 0);
	struct nrt_zone own;
	uint64_t most;

	take_members(work, groups, true);
	cut(work, in, groups->size, work->from);
	cut(work, out, groups->size, work->to);
	run_stage(work, choice->intra, NRT_PLAN_REDUCE_SCATTER, groups->size,
		  nrt_zone_bytes(&work->from[0]));
	settle(work);
	own = work->to[work->stage.me];
	/* The first blocks are the largest ones. */
	most = nrt_stage_slice(work->plan, work->to[0].run, groups->nr, 1);
	take_members(work, groups, false);
	cut(work, own, groups->nr, work->from);
	cut(work, own, groups->nr, work->to);
	run_stage(work, choice->inter, NRT_PLAN_ALL_REDUCE, groups->nr, most);
	settle(work);
	take_members(work, groups, true);
	cut(work, out, groups->size, work->from);
	cut(work, out, groups->size, work->to);
	run_stage(work, choice->intra, NRT_PLAN_ALL_GATHER, groups->size,
		  nrt_zone_bytes(&work->from[0]));
}

/* Inside first: the parts of all groups for the ranks with the own index. Then between. */
static void hier_reduce_scatter(struct work *work, const struct nrt_plan_groups *groups)
{
	const struct nrt_plan_choice *choice = &work->plan->choice;
	uint64_t bytes = work->hi - work->lo;
	struct nrt_zone own = nrt_zone(NRT_PLAN_SCRATCH, 0, groups->nr * bytes);
	unsigned int i;

	own.offset = nrt_build_scratch(work->build, own.run);
	take_members(work, groups, true);
	for (i = 0; i < groups->size; i++) {
		work->from[i] = local_zone(work, groups, NRT_PLAN_INPUT, i);
		work->to[i] = own;
	}
	run_stage(work, choice->intra, NRT_PLAN_REDUCE_SCATTER, groups->size,
		  nrt_zone_bytes(&work->from[0]));
	settle(work);
	take_members(work, groups, false);
	for (i = 0; i < groups->nr; i++) {
		work->from[i] = nrt_zone(NRT_PLAN_SCRATCH, own.offset + i * bytes, bytes);
		work->to[i] = block_zone(work, NRT_PLAN_OUTPUT, 0);
	}
	run_stage(work, choice->inter, NRT_PLAN_REDUCE_SCATTER, groups->nr, bytes);
}

/* Between first, then all that is there inside. */
static void hier_all_gather(struct work *work, const struct nrt_plan_groups *groups)
{
	const struct nrt_plan_choice *choice = &work->plan->choice;
	unsigned int i;

	take_members(work, groups, false);
	for (i = 0; i < groups->nr; i++) {
		work->from[i] = block_zone(work, NRT_PLAN_INPUT, 0);
		work->to[i] = block_zone(work, NRT_PLAN_OUTPUT, work->rank[i]);
	}
	run_stage(work, choice->inter, NRT_PLAN_ALL_GATHER, groups->nr,
		  nrt_zone_bytes(&work->from[0]));
	settle(work);
	take_members(work, groups, true);
	for (i = 0; i < groups->size; i++) {
		work->to[i] = local_zone(work, groups, NRT_PLAN_OUTPUT, i);
		work->from[i] = work->to[i];
	}
	run_stage(work, choice->intra, NRT_PLAN_ALL_GATHER, groups->size,
		  nrt_zone_bytes(&work->from[0]));
}

static void hier(struct work *work)
{
	struct nrt_plan_groups groups;

	nrt_plan_find_groups(work->plan, work->plan->choice.by_chip, &groups);
	if (work->plan->op == NRT_PLAN_ALL_REDUCE)
		hier_all_reduce(work, &groups);
	else if (work->plan->op == NRT_PLAN_REDUCE_SCATTER)
		hier_reduce_scatter(work, &groups);
	else
		hier_all_gather(work, &groups);
}

static void run_channel(struct work *work, unsigned int channel)
{
	const struct nrt_plan *plan = work->plan;
	struct nrt_build *build = work->build;

	work->channel = channel;
	work->lo = nrt_stage_slice(build->plan, plan->block, plan->nr_channels, channel);
	work->hi = nrt_stage_slice(build->plan, plan->block, plan->nr_channels, channel + 1);
	nrt_build_channel(build, channel);
	if (plan->op == NRT_PLAN_BARRIER)
		nrt_barrier_stage(build);
	else if (nrt_plan_varies(plan->op))
		nrt_vary_stage(build);
	else if (plan->op > NRT_PLAN_ALL_GATHER)
		nrt_direct_stage(build, work->lo, work->hi);
	else if (plan->choice.algorithm == NRT_PLAN_HIER)
		hier(work);
	else
		flat(work);
}

NRT_STATUS nrt_compose(const struct nrt_plan *plan, unsigned int rank,
		       struct nrt_plan_program *program, unsigned int *nr_steps,
		       struct nrt_error *error)
{
	struct nrt_build build;
	struct work *work = calloc(1, sizeof(*work));
	unsigned int channel;
	NRT_STATUS status;

	nrt_build_begin(&build, plan, rank, program, error);
	if (!work) {
		nrt_build_no_memory(&build);
		return nrt_build_end(&build);
	}
	work->build = &build;
	work->plan = plan;
	for (channel = 0; channel < plan->nr_channels; channel++)
		run_channel(work, channel);
	free(work);
	status = nrt_build_end(&build);
	*nr_steps = build.nr_steps;
	return status;
}
