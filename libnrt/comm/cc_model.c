// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>

#include "comm/cc_items.h"
#include "comm/cc_model.h"
#include "comm/cc_times.h"
#include "contract/job.h"

/**
 * struct nrt_cc_model - the collectives of a model
 * @worlds: of the process
 * @rank, @count: the model's place
 * @world: for which all that follows was prepared, with a reference; or NULL
 * @team: the ranks that have the model
 * @number: of the model in the team
 * @rights: of the ranks of the team, for this model
 * @items: what is done
 * @area: semaphores of the CC-core, or NULL
 * @moves: the ranks meet before each execution, because buffers may be other ones
 * @sem_clear: of its job: what starts the collectives; a program that failed may have left a start
 * @timed, @places: the jobs of the execution under way are members of a time group, and which
 * @running: the job of that execution; its CC-core
 */
struct nrt_cc_model {
	struct nrt_worlds *worlds;
	uint32_t rank;
	uint32_t count;
	struct nrt_world *world;
	struct nrt_cc_team *team;
	uint64_t number;
	struct nrt_cc_rights rights;
	struct nrt_cc_items items;
	struct nrt_cc_area *area;
	bool moves;
	uint64_t sem_clear[NEURON_NR_SEMAPHORES / 64];
	bool timed;
	struct nrt_time_place places[NRT_MAX_JOBS];
	struct nrt_running running;
};

static void drop_items(struct nrt_cc_model *cc)
{
	nrt_cc_items_drop(&cc->items);
	if (cc->area)
		nrt_cc_area_give(cc->team, cc->area);
	cc->area = NULL;
}

/* Forget all that was prepared for a world. */
static void drop(struct nrt_cc_model *cc)
{
	drop_items(cc);
	nrt_cc_rights_fini(&cc->rights);
	nrt_world_put(cc->world);
	cc->world = NULL;
	cc->team = NULL;
}

/* --- What this rank says --- */

static void say_all(const struct nrt_cc_model *cc, struct nrt_cc_offer *mine)
{
	unsigned int i;

	mine->nr = cc->items.nr;
	for (i = 0; i < mine->nr; i++)
		mine->item[i] = nrt_cc_items_say(&cc->items, i);
}

/* What the ranks of item @index said, for free(). NULL and @error. */
static struct nrt_cc_agreement *said_of(const struct nrt_cc_model *cc,
					const struct nrt_cc_offer *all, unsigned int index,
					struct nrt_error *error)
{
	const struct nrt_cc_links *links = &cc->items.item[index].links;
	struct nrt_cc_agreement *said = calloc(links->nr, sizeof(*said));

	if (said)
		nrt_cc_offers_of(all, index, links, said);
	else
		nrt_error_memory(error);
	return said;
}

static NRT_STATUS compare_all(const struct nrt_cc_model *cc, const struct nrt_cc_offer *all,
			      struct nrt_error *error)
{
	struct nrt_cc_agreement *said;
	NRT_STATUS status = NRT_SUCCESS;
	uint32_t fresh;
	unsigned int i;

	for (i = 0; i < cc->items.nr && !status; i++) {
		said = said_of(cc, all, i, error);
		if (!said)
			return error->status;
		status = nrt_cc_compare(&cc->items.item[i].links, said, &fresh, error);
		free(said);
	}
	return status;
}

/* --- Preparation; by a rank that holds the loading of the team --- */

/* Semaphores for what is planned. */
static NRT_STATUS take_area(struct nrt_cc_model *cc, bool crowded, struct nrt_error *error)
{
	unsigned int nr = nrt_cc_items_number(&cc->items, crowded, 0);

	cc->area = nrt_cc_area_take(cc->team, nr, error);
	if (!cc->area)
		return error->status;
	cc->rights.first_sem = cc->area->first;
	cc->rights.nr_sems = nr;
	nrt_cc_items_number(&cc->items, crowded, cc->area->first);
	return NRT_SUCCESS;
}

/* What the ranks want to do, and whether semaphores suffice for it. */
static NRT_STATUS meet_with_plans(struct nrt_cc_model *cc, struct nrt_cc_offer *all, bool *agreed,
				  struct nrt_error *error)
{
	struct nrt_cc_offer *mine = &all[cc->team->me];
	struct nrt_error too_few = { 0 };

	*mine = (struct nrt_cc_offer){ .model = cc->team->last };
	if (nrt_cc_rights_init(&cc->rights, cc->world, cc->running.cc, cc->team->ranks,
			       cc->team->nr, cc->team->me, error) ||
	    nrt_cc_items_plan(&cc->items, &cc->rights, false, error)) {
		nrt_cc_offer_no(mine, error);
	} else {
		say_all(cc, mine);
		/* Where even less does not suffice it is said later. */
		mine->crowded = !!take_area(cc, false, &too_few);
	}
	return nrt_cc_offers_meet(cc->team, NRT_CC_AT_LOAD, all, agreed, error);
}

/* The number of the model, which all ranks work out alike. */
static uint64_t next_number(const struct nrt_cc_team *team, const struct nrt_cc_offer *all)
{
	uint64_t last = 0;
	uint32_t i;

	for (i = 0; i < team->nr; i++)
		if (all[i].model > last)
			last = all[i].model;
	return last + 1;
}

static bool is_crowded(const struct nrt_cc_team *team, const struct nrt_cc_offer *all)
{
	uint32_t i;

	for (i = 0; i < team->nr; i++)
		if (all[i].crowded)
			return true;
	return false;
}

/* The program of what the ranks have said. */
static NRT_STATUS build(struct nrt_cc_model *cc, const struct nrt_cc_offer *all,
			struct nrt_error *error)
{
	if (compare_all(cc, all, error))
		return error->status;
	if (is_crowded(cc->team, all)) {
		drop_items(cc);
		if (nrt_cc_items_plan(&cc->items, &cc->rights, true, error) ||
		    take_area(cc, true, error))
			return error->status;
	}
	if (nrt_cc_items_build(&cc->items, cc->running.cc, error))
		return error->status;
	return nrt_cc_items_need(&cc->items, &cc->rights, error);
}

/* All of them have their program, and say where others find their memory. */
static NRT_STATUS meet_with_programs(struct nrt_cc_model *cc, struct nrt_cc_offer *all,
				     bool *agreed, struct nrt_error *error)
{
	struct nrt_cc_offer *mine = &all[cc->team->me];
	NRT_STATUS status = build(cc, all, error);

	*mine = (struct nrt_cc_offer){ .model = cc->number };
	if (status) {
		nrt_cc_offer_no(mine, error);
	} else {
		nrt_cc_items_find(&cc->items, NULL);
		mine->moves = nrt_cc_items_move(&cc->items);
		say_all(cc, mine);
	}
	return nrt_cc_offers_meet(cc->team, NRT_CC_AT_LOAD, all, agreed, error);
}

/* The ranks of item @index exchange buffers, if somebody has new ones. */
static NRT_STATUS exchange_item(struct nrt_cc_model *cc, const struct nrt_cc_offer *all,
				unsigned int index, struct nrt_error *error)
{
	struct nrt_cc_item *item = &cc->items.item[index];
	struct nrt_cc_agreement *said = said_of(cc, all, index, error);
	char what[32];
	NRT_STATUS status;
	uint32_t fresh;

	if (!said)
		return error->status;
	status = nrt_cc_compare(&item->links, said, &fresh, error);
	if (!status)
		nrt_cc_accept(&item->links, said);
	if (!status && fresh) {
		snprintf(what, sizeof(what), "model %llu.%u", (unsigned long long)cc->number,
			 index);
		nrt_cc_name(item->links.name, what, item->links.ranks, item->links.nr);
		status = nrt_cc_exchange(&item->links, said, item->own, error);
	}
	free(said);
	return status;
}

static NRT_STATUS exchange_all(struct nrt_cc_model *cc, const struct nrt_cc_offer *all,
			       struct nrt_error *error)
{
	unsigned int i;

	for (i = 0; i < cc->items.nr; i++)
		if (exchange_item(cc, all, i, error))
			return error->status;
	return NRT_SUCCESS;
}

/* For the world that the model has. *@agreed: a failure is known to all ranks of the team. */
static NRT_STATUS prepare(struct nrt_cc_model *cc, struct nrt_cc_offer *all, bool *agreed,
			  struct nrt_error *error)
{
	char what[32];
	uint32_t i;

	if (meet_with_plans(cc, all, agreed, error))
		return error->status;
	cc->number = next_number(cc->team, all);
	cc->team->last = cc->number;
	if (meet_with_programs(cc, all, agreed, error))
		return error->status;
	cc->moves = false;
	for (i = 0; i < cc->team->nr; i++)
		cc->moves |= all[i].moves;
	*agreed = false;
	snprintf(what, sizeof(what), "model %llu", (unsigned long long)cc->number);
	if (nrt_cc_rights_exchange(&cc->rights, what, error))
		return error->status;
	return exchange_all(cc, all, error);
}

typedef NRT_STATUS with_all_fn(struct nrt_cc_model *cc, struct nrt_cc_offer *all, bool *agreed,
			       struct nrt_error *error);

/* Do what all ranks of the team do together. */
static NRT_STATUS together(struct nrt_cc_model *cc, with_all_fn *what, struct nrt_error *error)
{
	struct nrt_cc_offer *all = nrt_cc_offers_new(cc->team, error);
	bool agreed = false;
	NRT_STATUS status = all ? what(cc, all, &agreed, error) : error->status;

	free(all);
	if (status && !agreed && !atomic_load(&cc->world->left))
		nrt_world_fail(cc->world, error);
	return status;
}

/* The model's world; it has not failed, and no rank has left it. */
static bool fits(struct nrt_world *world, uint32_t rank, uint32_t count)
{
	struct nrt_error ignored;

	return world && world->rank == rank && world->count == count &&
	       !atomic_load(&world->left) && !nrt_world_check(world, &ignored);
}

/*
 * A world that the program has made for these ranks has failed. The program must hear of that, also
 * on a rank whose executions have all ended well, and make another one.
 */
static bool has_lost(const struct nrt_cc_model *cc, struct nrt_world *world,
		     struct nrt_error *error)
{
	return world && !world->implied && world->rank == cc->rank && world->count == cc->count &&
	       nrt_world_check(world, error);
}

/* *@world is that of the core, if it fits, or a new one; NULL: there is none, and nobody @joins. */
static NRT_STATUS find_world(const struct nrt_cc_model *cc, struct nrt_vcore *vcore, bool joins,
			     struct nrt_world **world, struct nrt_error *error)
{
	*world = nrt_world_get(cc->worlds, vcore->vnc);
	if (joins && has_lost(cc, *world, error)) {
		nrt_world_put(*world);
		*world = NULL;
		return error->status;
	}
	if (!fits(*world, cc->rank, cc->count) && joins) {
		nrt_world_put(*world);
		*world = NULL;
		if (nrt_world_join(cc->worlds, NRT_WORLD_OF_MODELS, vcore, cc->rank, cc->count,
				   error))
			return error->status;
		*world = nrt_world_get(cc->worlds, vcore->vnc);
		/* Another thread may have joined the core to a third one. */
		if (!fits(*world, cc->rank, cc->count)) {
			nrt_world_put(*world);
			*world = NULL;
			return nrt_error_set(error, NRT_FAILURE,
					     "core %u joins another world at the same time",
					     vcore->number);
		}
	}
	if (!joins && *world && ((*world)->implied || !fits(*world, cc->rank, cc->count))) {
		nrt_world_put(*world);
		*world = NULL;
	}
	return NRT_SUCCESS;
}

/* *@again: a rank has left the world meanwhile. */
static NRT_STATUS try_to_get_ready(struct nrt_model *model, bool joins, bool *again,
				   struct nrt_error *error)
{
	struct nrt_cc_model *cc = model->cc;
	NRT_STATUS status;

	*again = false;
	drop(cc);
	if (find_world(cc, model->vcore, joins, &cc->world, error))
		return error->status;
	if (!cc->world)
		return NRT_SUCCESS;
	cc->team = nrt_cc_team_find(cc->world, cc->running.cc, nrt_cc_graph(model), error);
	if (!cc->team) {
		/* Without it this rank cannot even say no. */
		nrt_world_fail(cc->world, error);
		drop(cc);
		return error->status;
	}
	pthread_mutex_lock(&cc->team->loading);
	status = together(cc, prepare, error);
	pthread_mutex_unlock(&cc->team->loading);
	*again = status && atomic_load(&cc->world->left);
	if (status)
		drop(cc);
	else if (cc->world->implied)
		/* All ranks are about to execute it. */
		cc->team->active = cc->number;
	return status;
}

/*
 * Prepare for the world that the ranks have; if they have none, with @joins for a new one. Without
 * @joins only for one that the program has asked for.
 */
static NRT_STATUS get_ready(struct nrt_model *model, bool joins, struct nrt_error *error)
{
	struct nrt_cc_model *cc = model->cc;
	NRT_STATUS status = NRT_SUCCESS;
	bool again = !fits(cc->world, cc->rank, cc->count);

	while (again) {
		error->status = NRT_SUCCESS;
		status = try_to_get_ready(model, joins, &again, error);
	}
	return status;
}

/* --- Executions --- */

/*
 * The ranks are about to execute the same model, and the one before it is over everywhere. Buffers
 * that others touch may be other ones than the last time.
 */
static NRT_STATUS meet(struct nrt_cc_model *cc, struct nrt_cc_offer *all, bool *agreed,
		       struct nrt_error *error)
{
	struct nrt_cc_offer *mine = &all[cc->team->me];

	*mine = (struct nrt_cc_offer){ .model = cc->number };
	if (cc->moves)
		say_all(cc, mine);
	cc->team->active = 0;
	if (nrt_cc_offers_meet(cc->team, NRT_CC_AT_EXECUTION, all, agreed, error))
		return error->status;
	*agreed = false;
	if (cc->moves && exchange_all(cc, all, error))
		return error->status;
	cc->team->active = cc->number;
	return NRT_SUCCESS;
}

static NRT_STATUS begin(struct nrt_model *model, const struct nrt_binding *binding,
			struct nrt_error *error)
{
	struct nrt_cc_model *cc = model->cc;

	cc->timed = false;
	if (get_ready(model, true, error))
		return error->status;
	/* Also an execution that nothing comes of has a number. */
	cc->timed = nrt_cc_times_next(cc->world, NRT_TIMES_OF_MODELS, cc->places);
	nrt_cc_items_find(&cc->items, binding);
	if (!cc->moves && cc->team->active == cc->number)
		return NRT_SUCCESS;
	return together(cc, meet, error);
}

/* In a world that they have not made yet the others wait for all, so this rank comes, too. */
static void refuse(struct nrt_model *model, const struct nrt_error *error)
{
	struct nrt_cc_model *cc = model->cc;
	struct nrt_error ignored, why = { 0 };
	struct nrt_world *world = cc->world;

	if (fits(world, cc->rank, cc->count))
		atomic_fetch_add(&world->refs, 1);
	else if (find_world(cc, model->vcore, true, &world, &ignored))
		return;
	nrt_error_set(&why, error->status, "rank %u of %u cannot execute: %.*s", cc->rank,
		      cc->count, 600, error->text);
	nrt_world_fail(world, &why);
	nrt_world_put(world);
}

/*
 * The CC-core's time limit comes before that of the engines that wait for it, because where it
 * waits says which rank has not come.
 */
static uint32_t limit_of(const struct nrt_world *world)
{
	return world->timeout_ms - world->timeout_ms / 8;
}

static struct nrt_view *show(struct nrt_model *model, struct drm_neuron_job *args)
{
	struct nrt_cc_model *cc = model->cc;
	struct nrt_cc_code *code = cc->items.code;
	unsigned int i;

	for (i = 0; i < cc->items.nr; i++)
		nrt_cc_code_show(code, i, cc->items.item[i].own);
	*args = (struct drm_neuron_job){
		.queues = { sizeof(*code->queues), code->nr_queues, (uintptr_t)code->queues },
		.starts = { sizeof(code->start), 1, (uintptr_t)&code->start },
		.sem_clear = { sizeof(cc->sem_clear[0]), NEURON_NR_SEMAPHORES / 64,
			       (uintptr_t)cc->sem_clear },
		.timeout_ms = limit_of(cc->world),
		.rank = model->rank,
	};
	return &code->view;
}

static const struct nrt_time_place *places(struct nrt_model *model)
{
	return model->cc->timed ? model->cc->places : NULL;
}

/* Somebody may ask for the times of the execution. */
static void keep_times(const struct nrt_model *model, uint64_t job, uint64_t seq)
{
	struct nrt_cc_times *times = model->cc->worlds->times;
	struct nrt_vcore *vcore = model->vcore;
	unsigned int i;

	for (i = 0; i < vcore->nr; i++)
		nrt_cc_times_add(times, vcore->vnc, seq, vcore->core[i], job + i);
	nrt_cc_times_add(times, vcore->vnc, seq, model->cc_core, job + i);
}

static void started(struct nrt_model *model, uint64_t job, uint64_t seq)
{
	struct nrt_cc_model *cc = model->cc;

	if (cc->timed)
		keep_times(model, job, seq);
	/* That of the CC-core is the last one. */
	cc->running.job = job + model->vcore->nr;
	nrt_world_begin(cc->world, &cc->running);
}

/* Did the job fail by itself, not with the others? Of one that nobody could wait for: unknown. */
static bool is_culprit(const struct drm_neuron_wait_job *result)
{
	return result->status != NEURON_JOB_NONE && result->status != NEURON_JOB_OK &&
	       (result->flags & DRM_NEURON_JOB_HANG || result->cause != NEURON_CAUSE_GANG);
}

static NRT_STATUS end(struct nrt_model *model, const struct drm_neuron_wait_job *result,
		      struct nrt_error *error)
{
	struct nrt_cc_model *cc = model->cc;
	struct nrt_error first;

	if (result)
		nrt_world_end(cc->world, &cc->running);
	if (result && is_culprit(result))
		nrt_cc_explain(cc->items.code, result, error);
	else if (result && error->status == NRT_TIMEOUT)
		nrt_cc_explain_gang(cc->items.code, result, error);
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
	nrt_world_model_goes(model->cc->worlds, model->vcore->vnc);
	free(model->cc);
	model->cc = NULL;
}

static const struct nrt_cc_ops cc_ops = {
	.begin = begin,
	.refuse = refuse,
	.show = show,
	.places = places,
	.started = started,
	.end = end,
	.leave = leave,
};

/* --- Loads --- */

static NRT_STATUS make(struct nrt_worlds *worlds, struct nrt_model *model, uint32_t rank,
		       uint32_t count, struct nrt_error *error)
{
	const struct neff_graph *graph = nrt_cc_graph(model);
	struct nrt_core *core = nrt_vcore_model_cc(model->vcore);
	unsigned int i;

	if (!core)
		return nrt_error_set(error, NRT_FAILURE, "%s has no CC-cores",
				     nrt_device_path(model->vcore->device));
	model->cc = calloc(1, sizeof(*model->cc));
	if (!model->cc)
		return nrt_error_memory(error);
	/* One by one: a compound literal of the whole would lie on the stack. */
	model->cc->worlds = worlds;
	model->cc->rank = rank;
	model->cc->count = count;
	model->cc->running.cc = core;
	model->cc->items.model = model;
	for (i = 0; i < graph->nr_collectives; i++)
		model->cc->sem_clear[(NRT_PLAN_MAX_SEMS + i) / 64] |=
			1ull << ((NRT_PLAN_MAX_SEMS + i) % 64);
	model->rank = rank;
	model->cc_ops = &cc_ops;
	model->cc_core = core;
	nrt_world_model_comes(worlds, model->vcore->vnc);
	return NRT_SUCCESS;
}

/* The others wait for this rank in a load. */
static void say_no(struct nrt_world *world, const struct nrt_model *model,
		   const struct nrt_error *why)
{
	struct nrt_error error = *why;
	struct nrt_cc_team *team = nrt_cc_team_find(world, nrt_vcore_model_cc(model->vcore),
						    nrt_cc_graph(model), &error);
	struct nrt_cc_offer *all = team ? nrt_cc_offers_new(team, &error) : NULL;
	bool agreed = false;

	if (all) {
		nrt_cc_offer_no(&all[team->me], why);
		pthread_mutex_lock(&team->loading);
		all[team->me].model = team->last;
		nrt_cc_offers_meet(team, NRT_CC_AT_LOAD, all, &agreed, &error);
		pthread_mutex_unlock(&team->loading);
	}
	if (!agreed)
		nrt_world_fail(world, &error);
	free(all);
}

void nrt_cc_model_fails(struct nrt_worlds *worlds, const struct nrt_model *model, uint32_t rank,
			uint32_t count, const struct nrt_error *why)
{
	struct nrt_world *world = nrt_world_get(worlds, model->vcore->vnc);
	struct nrt_error ignored;

	if (fits(world, rank, count) && !world->implied &&
	    !nrt_cc_items_check(model, rank, count, &ignored))
		say_no(world, model, why);
	nrt_world_put(world);
}

NRT_STATUS nrt_cc_model_join(struct nrt_worlds *worlds, struct nrt_model *model, uint32_t rank,
			     uint32_t count, struct nrt_error *error)
{
	if (rank >= count || count > NRT_PLAN_MAX_RANKS)
		return nrt_error_set(error, NRT_INVALID, "rank %u of %u; there are at most %u",
				     rank, count, NRT_PLAN_MAX_RANKS);
	if (nrt_cc_items_check(model, rank, count, error))
		return error->status;
	if (!make(worlds, model, rank, count, error))
		return get_ready(model, false, error);
	nrt_cc_model_fails(worlds, model, rank, count, error);
	return error->status;
}
