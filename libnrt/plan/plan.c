// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "plan/choose.h"
#include "plan/compose.h"
#include "plan/type.h"

#define ALIGN	64

static const char * const op_names[NRT_PLAN_NR_OPS] = {
	[NRT_PLAN_ALL_REDUCE] = "all_reduce",
	[NRT_PLAN_REDUCE_SCATTER] = "reduce_scatter",
	[NRT_PLAN_ALL_GATHER] = "all_gather",
	[NRT_PLAN_ALL_TO_ALL] = "alltoall",
	[NRT_PLAN_PERMUTE] = "permute",
	[NRT_PLAN_PERMUTE_RING] = "permute_implicit",
	[NRT_PLAN_BROADCAST] = "broadcast",
	[NRT_PLAN_BARRIER] = "barrier",
	[NRT_PLAN_ALL_GATHER_V] = "all_gatherv",
	[NRT_PLAN_REDUCE_SCATTER_V] = "reduce_scatterv",
	[NRT_PLAN_ALL_TO_ALL_V] = "alltoallv",
};

static const char * const reduce_names[NRT_PLAN_NR_REDUCES] = {
	[NRT_PLAN_REDUCE_NONE] = "none",
	[NRT_PLAN_ADD] = "add",
	[NRT_PLAN_MIN] = "min",
	[NRT_PLAN_MAX] = "max",
};

static const char * const algorithm_names[NRT_PLAN_NR_ALGORITHMS] = {
	[NRT_PLAN_RING] = "ring",
	[NRT_PLAN_MESH] = "mesh",
	[NRT_PLAN_MESH_ONE] = "mesh1",
	[NRT_PLAN_KANGARING] = "kangaring",
	[NRT_PLAN_RDH] = "rdh",
	[NRT_PLAN_HIER] = "hier",
};

static const char * const phase_names[NRT_PLAN_NR_PHASES] = {
	[NRT_PLAN_BEGIN] = "begin",
	[NRT_PLAN_LOCAL] = "local",
	[NRT_PLAN_SCATTER] = "scatter",
	[NRT_PLAN_GATHER] = "gather",
	[NRT_PLAN_SEND] = "send",
	[NRT_PLAN_END] = "end",
};

static const char * const topology_names[NRT_PLAN_NR_TOPOLOGIES] = {
	[NRT_PLAN_ANY] = "any",
	[NRT_PLAN_LINE] = "ring",
	[NRT_PLAN_TORUS2D] = "torus2d",
	[NRT_PLAN_TORUS3D] = "torus3d",
	[NRT_PLAN_SWITCH] = "switch",
};

const char *nrt_plan_op_name(enum nrt_plan_op op)
{
	return op < NRT_PLAN_NR_OPS ? op_names[op] : "unknown";
}

const char *nrt_plan_reduce_name(enum nrt_plan_reduce reduce)
{
	return reduce < NRT_PLAN_NR_REDUCES ? reduce_names[reduce] : "unknown";
}

const char *nrt_plan_algorithm_name(enum nrt_plan_algorithm algorithm)
{
	return algorithm < NRT_PLAN_NR_ALGORITHMS ? algorithm_names[algorithm] : "unknown";
}

const char *nrt_plan_phase_name(enum nrt_plan_phase phase)
{
	return phase < NRT_PLAN_NR_PHASES ? phase_names[phase] : "unknown";
}

const char *nrt_plan_topology_name(enum nrt_plan_topology topology)
{
	return topology < NRT_PLAN_NR_TOPOLOGIES ? topology_names[topology] : "unknown";
}

static NRT_STATUS check_reduce(const struct nrt_plan_ask *ask, struct nrt_error *error)
{
	const char *op = nrt_plan_op_name(ask->op);

	if (ask->op != NRT_PLAN_BARRIER && !nrt_plan_type_size(ask->dtype))
		return nrt_error_set(error, NRT_INVALID, "%s: data type %u is unknown", op,
				     ask->dtype);
	if (ask->reduce >= NRT_PLAN_NR_REDUCES)
		return nrt_error_set(error, NRT_INVALID, "%s: reduction %u is unknown", op,
				     ask->reduce);
	if (!ask->reduce && nrt_plan_reduces(ask->op))
		return nrt_error_set(error, NRT_INVALID,
				     "%s needs a reduction: add, min or max", op);
	if (ask->reduce && !nrt_plan_can_reduce(ask->op))
		return nrt_error_set(error, NRT_INVALID, "%s has no reduction; leave it out", op);
	if (ask->reduce && !nrt_plan_type_reduces(ask->dtype))
		return nrt_error_set(error, NRT_INVALID, "%s: type %s can only be copied", op,
				     nrt_plan_type_name(ask->dtype));
	return NRT_SUCCESS;
}

static NRT_STATUS check_pairs(const struct nrt_plan_ask *ask, struct nrt_error *error)
{
	bool source[NRT_PLAN_MAX_RANKS] = { false }, target[NRT_PLAN_MAX_RANKS] = { false };
	unsigned int i;

	if (!ask->nr_pairs || !ask->pairs)
		return nrt_error_set(error, NRT_INVALID, "permute: there are no pairs");
	for (i = 0; i < ask->nr_pairs; i++) {
		const struct nrt_plan_pair *pair = &ask->pairs[i];

		if (pair->source >= ask->nr_ranks || pair->target >= ask->nr_ranks)
			return nrt_error_set(error, NRT_INVALID,
					     "permute: pair %u is %u to %u, and there are %u ranks",
					     i, pair->source, pair->target, ask->nr_ranks);
		if (source[pair->source] || target[pair->target])
			return nrt_error_set(error, NRT_INVALID,
					     "permute: pair %u, %u to %u, has a rank that another pair has on the same side",
					     i, pair->source, pair->target);
		source[pair->source] = true;
		target[pair->target] = true;
	}
	return NRT_SUCCESS;
}

static NRT_STATUS check(const struct nrt_plan_ask *ask, struct nrt_error *error)
{
	const char *op = nrt_plan_op_name(ask->op);
	uint64_t most;

	if (ask->op >= NRT_PLAN_NR_OPS)
		return nrt_error_set(error, NRT_INVALID, "collective %u is unknown", ask->op);
	if (!ask->nr_ranks || ask->nr_ranks > NRT_PLAN_MAX_RANKS)
		return nrt_error_set(error, NRT_INVALID,
				     "%s: a group has 1 to %d ranks, and this one %u", op,
				     NRT_PLAN_MAX_RANKS, ask->nr_ranks);
	if (check_reduce(ask, error))
		return error->status;
	if (ask->priority >= NRT_PLAN_PRIORITIES)
		return nrt_error_set(error, NRT_INVALID, "%s: priority %u is not one of 0 to %d",
				     op, ask->priority, NRT_PLAN_PRIORITIES - 1);
	if (ask->stream >= NRT_PLAN_STREAMS)
		return nrt_error_set(error, NRT_INVALID, "%s: stream %u is not one of 0 to %d",
				     op, ask->stream, NRT_PLAN_STREAMS - 1);
	if (ask->topology >= NRT_PLAN_NR_TOPOLOGIES)
		return nrt_error_set(error, NRT_INVALID, "%s: topology %u is unknown", op,
				     ask->topology);
	if (ask->op == NRT_PLAN_BROADCAST && ask->root >= ask->nr_ranks)
		return nrt_error_set(error, NRT_INVALID, "%s: root %u, and there are %u ranks", op,
				     ask->root, ask->nr_ranks);
	if (ask->nr_channels > NRT_PLAN_MAX_CHANNELS)
		return nrt_error_set(error, NRT_INVALID, "%s: %u channels, and %d are the most", op,
				     ask->nr_channels, NRT_PLAN_MAX_CHANNELS);
	if (ask->in_place && nrt_plan_varies(ask->op))
		return nrt_error_set(error, NRT_INVALID,
				     "%s: the input and the output must not be the same memory",
				     op);
	most = NRT_PLAN_MAX_BYTES / NRT_PLAN_MAX_RANKS / 8;
	if (ask->count > most)
		return nrt_error_set(error, NRT_INVALID,
				     "%s: %llu elements, and a block has at most %llu", op,
				     (unsigned long long)ask->count, (unsigned long long)most);
	return ask->op == NRT_PLAN_PERMUTE ? check_pairs(ask, error) : NRT_SUCCESS;
}

static NRT_STATUS copy_lists(struct nrt_plan *plan, const struct nrt_plan_ask *ask,
			     struct nrt_error *error)
{
	unsigned int i;

	plan->places = calloc(ask->nr_ranks, sizeof(*plan->places));
	plan->pairs = calloc(ask->nr_pairs + 1, sizeof(*plan->pairs));
	if (!plan->places || !plan->pairs)
		return nrt_error_memory(error);
	for (i = 0; i < ask->nr_ranks; i++)
		plan->places[i] = ask->places ? ask->places[i] :
				  (struct nrt_plan_place){ .chip = (uint16_t)i };
	if (ask->op == NRT_PLAN_PERMUTE) {
		memcpy(plan->pairs, ask->pairs, ask->nr_pairs * sizeof(*plan->pairs));
		plan->nr_pairs = ask->nr_pairs;
	}
	return NRT_SUCCESS;
}

/* Blocks of INPUT and OUTPUT, see plan.h. */
static void set_sizes(struct nrt_plan *plan)
{
	uint64_t in = 1, out = 1, ranks = plan->nr_ranks;

	switch (plan->op) {
	case NRT_PLAN_BARRIER:
		in = 0;
		out = 0;
		break;
	case NRT_PLAN_REDUCE_SCATTER:
	case NRT_PLAN_REDUCE_SCATTER_V:
		in = ranks;
		break;
	case NRT_PLAN_ALL_GATHER:
	case NRT_PLAN_ALL_GATHER_V:
		out = ranks;
		break;
	case NRT_PLAN_ALL_TO_ALL:
	case NRT_PLAN_ALL_TO_ALL_V:
		in = ranks;
		out = ranks;
		break;
	case NRT_PLAN_PERMUTE_RING:
		in = plan->nr_channels * (plan->reduce ? 2 : 1);
		out = plan->nr_channels;
		break;
	default:
		break;
	}
	plan->bytes[NRT_PLAN_INPUT] = in * plan->block;
	plan->bytes[NRT_PLAN_OUTPUT] = out * plan->block;
	if (nrt_plan_varies(plan->op))
		plan->bytes[NRT_PLAN_META] = NRT_PLAN_NR_ROWS * ranks * sizeof(uint32_t);
}

static void fill(struct nrt_plan *plan, const struct nrt_plan_ask *ask)
{
	plan->op = ask->op;
	plan->reduce = ask->reduce;
	plan->dtype = ask->dtype;
	plan->count = ask->op == NRT_PLAN_BARRIER ? 0 : ask->count;
	plan->nr_ranks = ask->nr_ranks;
	plan->topology = ask->topology;
	plan->root = ask->root;
	plan->in_place = ask->in_place;
	plan->recv_counts_known = ask->recv_counts_known;
	plan->has_rdispls = ask->has_rdispls;
	plan->priority = ask->priority;
	plan->stream = ask->stream;
	plan->element = ask->op == NRT_PLAN_BARRIER ? 1 : nrt_plan_type_size(ask->dtype);
	plan->align = ask->align && ask->align % plan->element == 0 ? ask->align : ALIGN;
	plan->block = plan->count * plan->element;
}

/* What the parts of all ranks have in common is seen in that of one. */
static NRT_STATUS measure(struct nrt_plan *plan, struct nrt_error *error)
{
	struct nrt_plan_program program;
	NRT_STATUS status = nrt_compose(plan, 0, &program, &plan->nr_steps, error);

	if (status)
		return status;
	plan->bytes[NRT_PLAN_SCRATCH] = program.scratch;
	nrt_plan_program_fini(&program);
	return NRT_SUCCESS;
}

NRT_STATUS nrt_plan_make(const struct nrt_plan_ask *ask, struct nrt_plan **plan,
			 struct nrt_error *error)
{
	NRT_STATUS status = check(ask, error);
	struct nrt_plan *new;

	if (status)
		return status;
	new = calloc(1, sizeof(*new));
	if (!new)
		return nrt_error_memory(error);
	fill(new, ask);
	status = copy_lists(new, ask, error);
	if (!status)
		status = nrt_plan_choose(new, ask, error);
	set_sizes(new);
	if (!status)
		status = measure(new, error);
	if (status) {
		nrt_plan_free(new);
		return status;
	}
	*plan = new;
	return NRT_SUCCESS;
}

void nrt_plan_free(struct nrt_plan *plan)
{
	if (!plan)
		return;
	free(plan->places);
	free(plan->pairs);
	free(plan);
}

NRT_STATUS nrt_plan_program(const struct nrt_plan *plan, unsigned int rank,
			    struct nrt_plan_program *program, struct nrt_error *error)
{
	unsigned int nr_steps;

	if (rank >= plan->nr_ranks) {
		memset(program, 0, sizeof(*program));
		return nrt_error_set(error, NRT_INVALID, "rank %u, and there are %u", rank,
				     plan->nr_ranks);
	}
	return nrt_compose(plan, rank, program, &nr_steps, error);
}

void nrt_plan_program_fini(struct nrt_plan_program *program)
{
	free(program->steps);
	free(program->ends);
	free(program->syncs);
	free(program->values);
	free(program->sems);
	free(program->peers);
	memset(program, 0, sizeof(*program));
}
