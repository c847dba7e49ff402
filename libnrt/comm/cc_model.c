// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/cc_code.h"
#include "comm/cc_model.h"
#include "contract/job.h"

/* A barrier may stand before each collective. */
#define MAX_ITEMS	(2 * NEFF_MAX_COLLECTIVES)

/**
 * struct request - a collective of this rank
 * @run: as the plan wants it, without buffers
 * @ranks, @nr, @me: the group, and the place of this rank
 */
struct request {
	struct nrt_cc_run run;
	const uint32_t *ranks;
	uint32_t nr;
	uint32_t me;
};

/**
 * struct item - what the CC-core does, one after the other
 * @index: of the collective in the NEFF; -1: a barrier that the NEFF does not name
 * @request: what it is
 * @links: to the other ranks
 * @own: memory of this rank in the execution under way
 */
struct item {
	int index;
	struct request request;
	struct nrt_cc_links links;
	struct nrt_cc_bytes own[NRT_CC_NR_SPACES];
};

/**
 * struct offer - what a rank tells all others of its items
 * @nr: of @item
 * @crowded: its semaphores do not suffice for all at once
 * @moves: buffers that others touch may be other ones in each execution
 */
struct offer {
	uint32_t nr;
	uint32_t crowded;
	uint32_t moves;
	uint32_t pad;
	struct nrt_cc_agreement item[MAX_ITEMS];
};

/**
 * struct nrt_cc_model - the collectives of a model
 * @worlds: of the process
 * @rank, @count: the model's place
 * @world: for which all that follows was prepared, with a reference; or NULL
 * @items, @parts, @nr: what is done, in this order; the parts belong to @code once there is one
 * @code: the program that does all
 * @first_sem, @nr_sems: semaphores of the CC-core
 * @scratch: memory of all, one after the other; or NULL
 * @moves: the ranks meet before each execution, because buffers may be other ones
 * @sem_clear: of its job: what starts the collectives; a program that failed may have left a start
 * @running: the job of the execution under way; its CC-core
 */
struct nrt_cc_model {
	struct nrt_worlds *worlds;
	uint32_t rank;
	uint32_t count;
	struct nrt_world *world;
	struct item items[MAX_ITEMS];
	struct nrt_cc_part parts[MAX_ITEMS];
	unsigned int nr;
	struct nrt_cc_code *code;
	unsigned int first_sem;
	unsigned int nr_sems;
	struct nrt_bo *scratch;
	bool moves;
	uint64_t sem_clear[NEURON_NR_SEMAPHORES / 64];
	struct nrt_running running;
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

/* --- Memory of this rank --- */

static const struct neff_var *var_of(const struct nrt_model *model, const struct item *item,
				     enum cc_shown what)
{
	const struct neff_collective *collective;

	if (item->index < 0 || item->request.run.op == NRT_PLAN_BARRIER)
		return NULL;
	collective = &graph_of(model)->collectives[item->index];
	return &graph_of(model)->vars[what == CC_SHOWN_INPUT ? collective->input :
							       collective->output];
}

/* Can the variable be somewhere else in the next execution? */
static bool var_moves(const struct neff_var *var)
{
	return var && (neff_var_is_io(var) || var->type == NEFF_VAR_VIRTUAL);
}

/* Without a binding: of what does not move. */
static struct nrt_cc_bytes bytes_of(const struct nrt_model *model,
				    const struct nrt_binding *binding, const struct neff_var *var)
{
	const struct neff_graph *graph = graph_of(model);
	const struct nrt_place *place;
	uint64_t offset;

	if (!var || (var_moves(var) && !binding))
		return (struct nrt_cc_bytes){ 0 };
	offset = var->offset;
	if (var->type == NEFF_VAR_VIRTUAL)
		return (struct nrt_cc_bytes){
			.bo = nrt_vcore_scratch_at(model->vcore, &offset),
			.offset = offset,
			.length = var->size,
		};
	place = neff_var_is_io(var) ? &binding->places[var->io] :
				      &model->parts[0].places[var - graph->vars];
	return (struct nrt_cc_bytes){ place->bo, place->offset, var->size };
}

static void find_memory(const struct nrt_model *model, const struct nrt_binding *binding)
{
	struct nrt_cc_model *cc = model->cc;
	unsigned int i, what;

	for (i = 0; i < cc->nr; i++) {
		struct item *item = &cc->items[i];

		for (what = CC_SHOWN_INPUT; what <= CC_SHOWN_OUTPUT; what++)
			item->own[what] = bytes_of(model, binding, var_of(model, item, what));
		item->own[CC_SHOWN_SCRATCH] = (struct nrt_cc_bytes){
			cc->scratch, 0, cc->code->parts[i].program.scratch,
		};
	}
}

static bool shows_what_moves(const struct nrt_model *model)
{
	const struct nrt_cc_model *cc = model->cc;
	unsigned int i, what;

	for (i = 0; i < cc->nr; i++)
		for (what = CC_SHOWN_INPUT; what <= CC_SHOWN_OUTPUT; what++)
			if (var_moves(var_of(model, &cc->items[i], what)) &&
			    nrt_cc_is_exposed(cc->code->parts[i].plan,
					      &cc->code->parts[i].program, what))
				return true;
	return false;
}

/* --- Items --- */

static struct request request_of(const struct nrt_model *model, unsigned int index)
{
	const struct neff_collective *collective = &graph_of(model)->collectives[index];
	struct request request = {
		.run = {
			.op = collective->op,
			.reduce = collective->reduce,
			.dtype = (uint8_t)collective->dtype,
			.count = collective->count,
			.in_place = collective->in_place,
			.pairs = collective->nr_pairs ? collective->pairs : NULL,
			.nr_pairs = collective->nr_pairs,
			.root = collective->root,
			.priority = collective->priority,
		},
		.nr = collective->group_size,
	};

	request.ranks = find_group(collective, model->cc->rank, &request.me);
	return request;
}

/* Do both have the same plan, among the same ranks? Then they may follow each other as they are. */
static bool is_same(const struct request *a, const struct request *b)
{
	const struct nrt_cc_run *x = &a->run, *y = &b->run;

	return a->nr == b->nr && !memcmp(a->ranks, b->ranks, a->nr * sizeof(*a->ranks)) &&
	       x->op == y->op && x->reduce == y->reduce && x->dtype == y->dtype &&
	       x->count == y->count && x->in_place == y->in_place && x->root == y->root &&
	       x->priority == y->priority && x->nr_pairs == y->nr_pairs &&
	       (!x->nr_pairs || !memcmp(x->pairs, y->pairs, x->nr_pairs * sizeof(*x->pairs)));
}

static void drop_items(struct nrt_cc_model *cc)
{
	unsigned int i;

	for (i = 0; !cc->code && i < cc->nr; i++)
		nrt_cc_part_fini(&cc->parts[i]);
	nrt_cc_code_put(cc->code);
	cc->code = NULL;
	for (i = 0; i < cc->nr; i++)
		nrt_cc_links_fini(&cc->items[i].links);
	cc->nr = 0;
	if (cc->nr_sems)
		nrt_world_give_sems(cc->world, cc->running.cc, cc->first_sem, cc->nr_sems);
	cc->nr_sems = 0;
}

/* Forget all that was prepared for a world. */
static void drop(struct nrt_cc_model *cc)
{
	drop_items(cc);
	nrt_bo_put(cc->scratch);
	cc->scratch = NULL;
	nrt_world_put(cc->world);
	cc->world = NULL;
}

/* Its plan is made. */
static NRT_STATUS add_item(struct nrt_cc_model *cc, int index, const struct request *request,
			   struct nrt_error *error)
{
	struct item *item = &cc->items[cc->nr];
	char what[32];

	*item = (struct item){ .index = index, .request = *request };
	snprintf(what, sizeof(what), "model collective %u", cc->nr);
	if (nrt_cc_links_init(&item->links, cc->world, cc->running.cc, what, request->ranks,
			      request->nr, request->me, error))
		return error->status;
	if (nrt_cc_part_init(&cc->parts[cc->nr], &item->links, &request->run, error)) {
		nrt_cc_links_fini(&item->links);
		return error->status;
	}
	cc->nr++;
	return NRT_SUCCESS;
}

static NRT_STATUS add_collective(struct nrt_model *model, unsigned int index,
				 struct nrt_error *error)
{
	const struct neff_collective *collective = &graph_of(model)->collectives[index];
	const struct request request = request_of(model, index);
	struct nrt_cc_model *cc = model->cc;

	if (add_item(cc, (int)index, &request, error))
		return error->status;
	cc->parts[cc->nr - 1].signal = (struct nrt_cc_signal){
		.used = true,
		.start = NRT_PLAN_MAX_SEMS + index,
		.core = model->vcore->core[0]->index,
		.done = collective->semaphore,
	};
	return NRT_SUCCESS;
}

/*
 * When all collectives have their semaphores in common, whoever posts one must know that the
 * collective before it is over at the rank that has it. So the ranks of a collective meet before
 * it, unless the one before it, which of the first is the last, has the same plan.
 */
static NRT_STATUS add_barrier(struct nrt_model *model, unsigned int index,
			      struct nrt_error *error)
{
	unsigned int nr = graph_of(model)->nr_collectives;
	const struct request before = request_of(model, (index + nr - 1) % nr);
	struct request request = request_of(model, index);

	if (is_same(&before, &request))
		return NRT_SUCCESS;
	request.run = (struct nrt_cc_run){
		.op = NRT_PLAN_BARRIER,
		.priority = request.run.priority,
	};
	return add_item(model->cc, -1, &request, error);
}

static NRT_STATUS add_items(struct nrt_model *model, bool crowded, struct nrt_error *error)
{
	unsigned int i;

	for (i = 0; i < graph_of(model)->nr_collectives; i++)
		if ((crowded && add_barrier(model, i, error)) || add_collective(model, i, error))
			return error->status;
	return NRT_SUCCESS;
}

/* --- Semaphores --- */

/* The first item that has the plan of item @i. */
static unsigned int first_like(const struct nrt_cc_model *cc, unsigned int i)
{
	unsigned int j = 0;

	while ((cc->items[j].index < 0) != (cc->items[i].index < 0) ||
	       !is_same(&cc->items[j].request, &cc->items[i].request))
		j++;
	return j;
}

/*
 * Number the semaphores of all parts, from 0 on; how many there are. Those with the same plan
 * share theirs. When semaphores are scarce all collectives of the NEFF share theirs, and only the
 * barriers have others.
 */
static unsigned int number_sems(struct nrt_cc_model *cc, bool crowded)
{
	unsigned int i, like, next = 0;

	for (i = 0; crowded && i < cc->nr; i++)
		if (cc->items[i].index >= 0 && nrt_cc_part_sems(&cc->parts[i]) > next)
			next = nrt_cc_part_sems(&cc->parts[i]);
	for (i = 0; i < cc->nr; i++) {
		like = first_like(cc, i);
		if (crowded && cc->items[i].index >= 0) {
			cc->parts[i].first_sem = 0;
		} else if (like < i) {
			cc->parts[i].first_sem = cc->parts[like].first_sem;
		} else {
			cc->parts[i].first_sem = next;
			next += nrt_cc_part_sems(&cc->parts[i]);
		}
	}
	return next;
}

static NRT_STATUS take_sems(struct nrt_cc_model *cc, bool crowded, struct nrt_error *error)
{
	unsigned int nr = number_sems(cc, crowded), i;

	if (nrt_world_take_sems(cc->world, cc->running.cc, nr, &cc->first_sem, error))
		return error->status;
	cc->nr_sems = nr;
	for (i = 0; i < cc->nr; i++)
		cc->parts[i].first_sem += cc->first_sem;
	return NRT_SUCCESS;
}

/* The others may post them, once they have the rights. */
static NRT_STATUS grant_sems(struct nrt_cc_model *cc, struct nrt_error *error)
{
	unsigned int i;

	if (nrt_cc_clear(cc->running.cc, cc->first_sem, cc->nr_sems, error))
		return error->status;
	for (i = 0; i < cc->nr; i++)
		if (nrt_cc_links_grant(&cc->items[i].links, cc->parts[i].first_sem,
				       nrt_cc_part_sems(&cc->parts[i]), error))
			return error->status;
	return NRT_SUCCESS;
}

/* --- Agreement of all ranks --- */

/* Tell all what this rank offers, and learn what they do. */
static NRT_STATUS talk(struct nrt_cc_model *cc, struct offer *all, struct nrt_error *error)
{
	struct offer *mine = &all[cc->rank];
	struct nrt_gather gather = {
		.what = "collectives of a model",
		.rank = cc->rank,
		.count = cc->count,
		.size = sizeof(*mine),
		.input = mine,
		.output = all,
	};
	unsigned int i;

	if (nrt_world_gather(cc->world, &gather, error))
		return error->status;
	for (i = 0; i < cc->count; i++)
		if (all[i].nr != mine->nr)
			return nrt_error_set(error, NRT_INVALID,
					     "the ranks do not agree: the model of rank %u has %u collectives, that of rank %u has %u",
					     cc->rank, mine->nr, i, all[i].nr);
	return NRT_SUCCESS;
}

/* What the ranks of item @index said, by place in its group; @said has room for them. */
static void said_of(const struct nrt_cc_model *cc, const struct offer *all, unsigned int index,
		    struct nrt_cc_agreement *said)
{
	const struct nrt_cc_links *links = &cc->items[index].links;
	uint32_t i;

	for (i = 0; i < links->nr; i++)
		said[i] = all[links->ranks[i]].item[index];
}

static struct nrt_cc_agreement say(const struct nrt_cc_model *cc, unsigned int index)
{
	const struct item *item = &cc->items[index];
	const struct nrt_cc_part *part = cc->code ? &cc->code->parts[index] : &cc->parts[index];

	return nrt_cc_say(&item->links, &item->request.run, part->plan, &part->program, item->own);
}

/* Compare item @index; exchange buffers and rights of it if @gives, and somebody has new ones. */
static NRT_STATUS settle(struct nrt_cc_model *cc, const struct offer *all, unsigned int index,
			 bool gives, struct nrt_error *error)
{
	struct item *item = &cc->items[index];
	struct nrt_cc_agreement *said = calloc(item->links.nr, sizeof(*said));
	NRT_STATUS status;
	bool fresh;

	if (!said)
		return nrt_error_memory(error);
	said_of(cc, all, index, said);
	status = nrt_cc_compare(&item->links, said, &fresh, error);
	if (!status && gives)
		nrt_cc_accept(&item->links, said);
	if (!status && gives && fresh)
		status = nrt_cc_exchange(&item->links, said, &cc->code->parts[index].program,
					 item->own, error);
	free(said);
	return status;
}

/* All items; a failure is one of all ranks. */
static NRT_STATUS settle_all(struct nrt_cc_model *cc, struct offer *all, bool gives,
			     struct nrt_error *error)
{
	struct offer *mine = &all[cc->rank];
	unsigned int i;

	mine->nr = cc->nr;
	for (i = 0; i < cc->nr; i++)
		mine->item[i] = say(cc, i);
	if (talk(cc, all, error))
		return error->status;
	for (i = 0; i < cc->nr; i++)
		if (settle(cc, all, i, gives, error))
			return error->status;
	return NRT_SUCCESS;
}

/* --- Preparation --- */

/* Plans, and semaphores if they suffice; the ranks agree in both. */
static NRT_STATUS make_plans(struct nrt_model *model, struct offer *all, struct nrt_error *error)
{
	struct nrt_cc_model *cc = model->cc;
	struct nrt_error too_few = { 0 };
	bool crowded = false;
	unsigned int i;

	if (add_items(model, false, error))
		return error->status;
	/* Where even less does not suffice it is said below. */
	all[cc->rank] = (struct offer){ .crowded = !!take_sems(cc, false, &too_few) };
	if (settle_all(cc, all, false, error))
		return error->status;
	for (i = 0; i < cc->count; i++)
		crowded |= all[i].crowded;
	if (!crowded)
		return NRT_SUCCESS;
	drop_items(cc);
	if (add_items(model, true, error) || take_sems(cc, true, error))
		return error->status;
	return NRT_SUCCESS;
}

static NRT_STATUS make_code(struct nrt_cc_model *cc, const struct nrt_vcore *vcore,
			    struct nrt_error *error)
{
	uint64_t scratch = 0;
	unsigned int i;

	for (i = 0; i < cc->nr; i++)
		if (cc->parts[i].program.scratch > scratch)
			scratch = cc->parts[i].program.scratch;
	if (grant_sems(cc, error) ||
	    nrt_cc_scratch(cc->running.cc, scratch, &cc->scratch, error))
		return error->status;
	return nrt_cc_code_new(vcore, cc->running.cc, cc->parts, cc->nr, &cc->code, error);
}

/* For the world that the model has. */
static NRT_STATUS prepare(struct nrt_model *model, struct offer *all, struct nrt_error *error)
{
	struct nrt_cc_model *cc = model->cc;
	unsigned int i;

	if (make_plans(model, all, error) || make_code(cc, model->vcore, error))
		return error->status;
	find_memory(model, NULL);
	all[cc->rank] = (struct offer){ .moves = shows_what_moves(model) };
	if (settle_all(cc, all, true, error))
		return error->status;
	cc->moves = false;
	for (i = 0; i < cc->count; i++)
		cc->moves |= all[i].moves;
	return NRT_SUCCESS;
}

/* Buffers that others touch may be other ones than the last time. */
static NRT_STATUS meet(struct nrt_model *model, struct offer *all, struct nrt_error *error)
{
	all[model->cc->rank] = (struct offer){ 0 };
	return settle_all(model->cc, all, true, error);
}

typedef NRT_STATUS with_all_fn(struct nrt_model *model, struct offer *all,
			       struct nrt_error *error);

/* Do what all ranks do together. A failure is one of all of them. */
static NRT_STATUS together(struct nrt_model *model, with_all_fn *what, struct nrt_error *error)
{
	struct nrt_cc_model *cc = model->cc;
	struct offer *all = calloc(cc->count, sizeof(*all));
	NRT_STATUS status = all ? what(model, all, error) : nrt_error_memory(error);

	free(all);
	if (!status)
		return NRT_SUCCESS;
	nrt_world_fail(cc->world, error);
	drop(cc);
	return status;
}

/* The model's world; it has not failed. */
static bool fits(const struct nrt_cc_model *cc, struct nrt_world *world)
{
	struct nrt_error ignored;

	return world && world->rank == cc->rank && world->count == cc->count &&
	       !nrt_world_check(world, &ignored);
}

/*
 * Prepare for the world that the ranks have; if they have none, with @joins for a new one. Without
 * @joins only for one that the program has asked for.
 */
static NRT_STATUS get_ready(struct nrt_model *model, bool joins, struct nrt_error *error)
{
	struct nrt_cc_model *cc = model->cc;

	if (fits(cc, cc->world))
		return NRT_SUCCESS;
	drop(cc);
	cc->world = nrt_world_get(cc->worlds, model->vcore->vnc);
	if (!fits(cc, cc->world)) {
		nrt_world_put(cc->world);
		cc->world = NULL;
		if (!joins)
			return NRT_SUCCESS;
		if (nrt_world_join(cc->worlds, NRT_WORLD_OF_MODELS, model->vcore, cc->rank,
				   cc->count, error))
			return error->status;
		cc->world = nrt_world_get(cc->worlds, model->vcore->vnc);
	}
	if (cc->world && cc->world->implied && !joins) {
		nrt_world_put(cc->world);
		cc->world = NULL;
		return NRT_SUCCESS;
	}
	/* Another thread may have joined the core to a third one. */
	if (!fits(cc, cc->world))
		return nrt_error_set(error, NRT_FAILURE,
				     "core %u joins another world at the same time",
				     model->vcore->number);
	return together(model, prepare, error);
}

/* --- Executions --- */

static NRT_STATUS begin(struct nrt_model *model, const struct nrt_binding *binding,
			struct nrt_error *error)
{
	if (get_ready(model, true, error))
		return error->status;
	find_memory(model, binding);
	return model->cc->moves ? together(model, meet, error) : NRT_SUCCESS;
}

static struct nrt_view *show(struct nrt_model *model, struct drm_neuron_job *args)
{
	struct nrt_cc_model *cc = model->cc;
	struct nrt_cc_code *code = cc->code;
	unsigned int i;

	for (i = 0; i < cc->nr; i++)
		nrt_cc_code_show(code, i, cc->items[i].own);
	*args = (struct drm_neuron_job){
		.queues = { sizeof(*code->queues), code->nr_queues, (uintptr_t)code->queues },
		.starts = { sizeof(code->start), 1, (uintptr_t)&code->start },
		.sem_clear = { sizeof(cc->sem_clear[0]), NEURON_NR_SEMAPHORES / 64,
			       (uintptr_t)cc->sem_clear },
		.timeout_ms = cc->world->timeout_ms,
		.rank = model->rank,
	};
	return &code->view;
}

static void started(struct nrt_model *model, uint64_t job)
{
	model->cc->running.job = job;
	nrt_world_begin(model->cc->world, &model->cc->running);
}

/* Did the job fail by itself, not with the others? Of one that nobody could wait for: unknown. */
static bool is_culprit(const struct drm_neuron_wait_job *result)
{
	return result->status != NEURON_JOB_NONE && result->status != NEURON_JOB_OK &&
	       (result->hang || result->cause != NEURON_CAUSE_GANG);
}

static NRT_STATUS end(struct nrt_model *model, const struct drm_neuron_wait_job *result,
		      struct nrt_error *error)
{
	struct nrt_cc_model *cc = model->cc;
	struct nrt_error first;

	if (result)
		nrt_world_end(cc->world, &cc->running);
	if (result && is_culprit(result))
		nrt_cc_explain(cc->code, result, error);
	else if (result && error->status == NRT_TIMEOUT)
		nrt_cc_explain_gang(cc->code, result, error);
	if (!error->status)
		return NRT_SUCCESS;
	/* What was cancelled has the reason of whoever failed first. */
	if (nrt_world_check(cc->world, &first))
		*error = first;
	else
		nrt_world_fail(cc->world, error);
	return error->status;
}

static void leave(struct nrt_model *model)
{
	drop(model->cc);
	free(model->cc);
	model->cc = NULL;
}

static const struct nrt_cc_ops cc_ops = {
	.begin = begin,
	.show = show,
	.started = started,
	.end = end,
	.leave = leave,
};

NRT_STATUS nrt_cc_model_join(struct nrt_worlds *worlds, struct nrt_model *model, uint32_t rank,
			     uint32_t count, struct nrt_error *error)
{
	const struct neff_graph *graph = graph_of(model);
	struct nrt_core *core = nrt_vcore_model_cc(model->vcore);
	unsigned int i;

	if (rank >= count || count > NRT_PLAN_MAX_RANKS)
		return nrt_error_set(error, NRT_INVALID, "rank %u of %u; there are at most %u",
				     rank, count, NRT_PLAN_MAX_RANKS);
	for (i = 0; i < graph->nr_collectives; i++)
		if (check_ranks(&graph->collectives[i], i, rank, count, error))
			return error->status;
	if (!core)
		return nrt_error_set(error, NRT_FAILURE, "%s has no CC-cores",
				     nrt_device_path(model->vcore->device));
	model->cc = calloc(1, sizeof(*model->cc));
	if (!model->cc)
		return nrt_error_memory(error);
	*model->cc = (struct nrt_cc_model){
		.worlds = worlds, .rank = rank, .count = count, .running.cc = core,
	};
	for (i = 0; i < graph->nr_collectives; i++)
		model->cc->sem_clear[(NRT_PLAN_MAX_SEMS + i) / 64] |=
			1ull << ((NRT_PLAN_MAX_SEMS + i) % 64);
	model->rank = rank;
	model->cc_ops = &cc_ops;
	model->cc_core = core;
	return get_ready(model, false, error);
}
