// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "comm/cc_group.h"
#include "comm/cc_model.h"

/**
 * struct nrt_cc_model - what a model needs for its collectives
 * @worlds: of the process
 * @rank, @count: the model's place
 * @world: of the execution under way, with a reference
 */
struct nrt_cc_model {
	struct nrt_worlds *worlds;
	uint32_t rank;
	uint32_t count;
	struct nrt_world *world;
};

static const struct neff_graph *graph_of(const struct nrt_model *model)
{
	return &model->neff->graphs[0];
}

/* The group of @rank, and its place in *@me; NULL: it is in none. */
static const uint32_t *find_group(const struct neff_collective *collective, uint32_t rank,
				  uint32_t *me)
{
	unsigned int i;

	for (i = 0; i < collective->nr_groups * collective->group_size; i++) {
		if (collective->ranks[i] != rank)
			continue;
		*me = i % collective->group_size;
		return &collective->ranks[i - *me];
	}
	return NULL;
}

static NRT_STATUS check_ranks(const struct neff_collective *collective, unsigned int index,
			      uint32_t rank, uint32_t count, struct nrt_error *error)
{
	unsigned int i;
	uint32_t me;

	if (!find_group(collective, rank, &me))
		return nrt_error_set(error, NRT_INVALID,
				     "collective %u of the model: no replica group has rank %u",
				     index, rank);
	for (i = 0; i < collective->nr_groups * collective->group_size; i++)
		if (collective->ranks[i] >= count)
			return nrt_error_set(error, NRT_INVALID,
					     "collective %u of the model: a replica group has rank %u, and there are %u ranks",
					     index, collective->ranks[i], count);
	return NRT_SUCCESS;
}

/* --- Executions --- */

static void drop_world(struct nrt_cc_model *cc)
{
	nrt_world_put(cc->world);
	cc->world = NULL;
}

/* The world that the ranks have, if it is the model's and has not failed; else a new one. */
static NRT_STATUS find_world(struct nrt_model *model, struct nrt_error *error)
{
	struct nrt_cc_model *cc = model->cc;
	struct nrt_error ignored;

	/* Of an execution that could not be submitted. */
	drop_world(cc);
	cc->world = nrt_world_get(cc->worlds, model->vcore->vnc);
	if (cc->world && cc->world->rank == cc->rank && cc->world->count == cc->count &&
	    !nrt_world_check(cc->world, &ignored))
		return NRT_SUCCESS;
	drop_world(cc);
	if (nrt_world_join(cc->worlds, "nrt_load_collectives", model->vcore, cc->rank, cc->count,
			   error))
		return error->status;
	cc->world = nrt_world_get(cc->worlds, model->vcore->vnc);
	if (cc->world)
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_FAILURE, "core %u joins another world at the same time",
			     model->vcore->number);
}

/* A program that failed may have left a start behind. */
static NRT_STATUS begin(struct nrt_model *model, struct nrt_error *error)
{
	struct nrt_core *cc = nrt_vcore_model_cc(model->vcore);

	if (!cc)
		return nrt_error_set(error, NRT_FAILURE, "%s has no CC-cores",
				     nrt_device_path(model->vcore->device));
	if (find_world(model, error))
		return error->status;
	if (!nrt_cc_clear(cc, NRT_PLAN_MAX_SEMS, NEFF_MAX_COLLECTIVES, error))
		return NRT_SUCCESS;
	nrt_world_fail(model->cc->world, error);
	drop_world(model->cc);
	return error->status;
}

static struct nrt_cc_bytes bytes_of(const struct nrt_model *model,
				    const struct nrt_binding *binding, unsigned int index)
{
	const struct neff_var *var = &graph_of(model)->vars[index];
	const struct nrt_place *place = &model->parts[0].places[index];
	uint64_t offset = var->offset;

	if (var->type == NEFF_VAR_VIRTUAL)
		return (struct nrt_cc_bytes){
			.bo = nrt_vcore_scratch_at(model->vcore, &offset),
			.offset = offset,
			.length = var->size,
		};
	if (neff_var_is_io(var))
		place = &binding->places[var->io];
	return (struct nrt_cc_bytes){ place->bo, place->offset, var->size };
}

static NRT_STATUS run_one(struct nrt_model *model, const struct nrt_binding *binding,
			  unsigned int index, struct nrt_error *error)
{
	const struct neff_collective *collective = &graph_of(model)->collectives[index];
	struct nrt_cc_run run = {
		.op = collective->op,
		.reduce = collective->reduce,
		.dtype = (uint8_t)collective->dtype,
		.count = collective->count,
		.in_place = collective->in_place,
		.pairs = collective->nr_pairs ? collective->pairs : NULL,
		.nr_pairs = collective->nr_pairs,
		.root = collective->root,
		.priority = collective->priority,
		.signal = {
			.used = true,
			.start = NRT_PLAN_MAX_SEMS + index,
			.core = model->vcore->core[0]->index,
			.done = collective->semaphore,
		},
	};
	struct nrt_cc_group *group;
	struct nrt_cc_job job;
	const uint32_t *ranks;
	uint32_t me = 0;

	if (collective->op != NRT_PLAN_BARRIER) {
		run.input = bytes_of(model, binding, collective->input);
		run.output = bytes_of(model, binding, collective->output);
	}
	ranks = find_group(collective, model->cc->rank, &me);
	group = nrt_cc_group_find(model->cc->world, NRT_CC_MODEL, ranks, collective->group_size,
				  me, error);
	if (!group || nrt_cc_begin(group, &run, &job, error) || nrt_cc_end(group, &job, error))
		return error->status;
	return NRT_SUCCESS;
}

/* In their order. The others do not wait for a rank that cannot go on. */
static NRT_STATUS run(struct nrt_model *model, const struct nrt_binding *binding,
		      struct nrt_error *error)
{
	struct nrt_cc_model *cc = model->cc;
	NRT_STATUS status = NRT_SUCCESS;
	unsigned int i;

	for (i = 0; !status && i < graph_of(model)->nr_collectives; i++)
		status = run_one(model, binding, i, error);
	if (status)
		nrt_world_fail(cc->world, error);
	drop_world(cc);
	return status;
}

static void leave(struct nrt_model *model)
{
	drop_world(model->cc);
	free(model->cc);
	model->cc = NULL;
}

static const struct nrt_cc_ops cc_ops = {
	.begin = begin,
	.run = run,
	.leave = leave,
};

NRT_STATUS nrt_cc_model_join(struct nrt_worlds *worlds, struct nrt_model *model, uint32_t rank,
			     uint32_t count, struct nrt_error *error)
{
	const struct neff_graph *graph = graph_of(model);
	unsigned int i;

	if (rank >= count || count > NRT_PLAN_MAX_RANKS)
		return nrt_error_set(error, NRT_INVALID, "rank %u of %u; there are at most %u",
				     rank, count, NRT_PLAN_MAX_RANKS);
	for (i = 0; i < graph->nr_collectives; i++)
		if (check_ranks(&graph->collectives[i], i, rank, count, error))
			return error->status;
	model->cc = calloc(1, sizeof(*model->cc));
	if (!model->cc)
		return nrt_error_memory(error);
	*model->cc = (struct nrt_cc_model){ .worlds = worlds, .rank = rank, .count = count };
	model->rank = rank;
	model->cc_ops = &cc_ops;
	return NRT_SUCCESS;
}
