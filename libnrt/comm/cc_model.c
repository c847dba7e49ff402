// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>

#include "comm/cc_model.h"
#include "comm/cc_stream.h"
#include "comm/cc_times.h"
#include "contract/job.h"

/**
 * struct nrt_cc_model - the collectives of a model
 * @worlds: of the process
 * @rank, @count: the model's place
 * @world: for which all that follows was prepared, with a reference; or NULL
 * @team: the ranks that have the model
 * @number: of the model in the team
 * @moves: the ranks meet before each execution, because buffers may be other ones
 * @timed, @places: the jobs of the execution under way are members of a time group, and which
 * @streams, @nr_streams: its streams, each with the CC-core of the same place in model.cc_cores
 */
struct nrt_cc_model {
	struct nrt_worlds *worlds;
	uint32_t rank;
	uint32_t count;
	struct nrt_world *world;
	struct nrt_cc_team *team;
	uint64_t number;
	bool moves;
	bool timed;
	struct nrt_time_place places[NRT_MAX_JOBS];
	unsigned int nr_streams;
	struct nrt_cc_stream streams[];
};

/* Forget all that was prepared for a world. */
static void drop(struct nrt_cc_model *cc)
{
	unsigned int i;

	for (i = 0; i < cc->nr_streams; i++)
		nrt_cc_stream_drop(&cc->streams[i], cc->team);
	nrt_world_put(cc->world);
	cc->world = NULL;
	cc->team = NULL;
}

/* --- What this rank says --- */

/* The items of all streams, one stream after the other. */
static void say_all(const struct nrt_cc_model *cc, struct nrt_cc_offers *offers)
{
	struct nrt_cc_offer *mine = nrt_cc_offers_mine(offers);
	unsigned int i;

	for (mine->nr = 0, i = 0; i < cc->nr_streams; i++) {
		nrt_cc_stream_say(&cc->streams[i], offers, mine->nr);
		mine->nr += cc->streams[i].items.nr;
	}
}

static void say_streams(const struct nrt_cc_model *cc, struct nrt_cc_offer *mine)
{
	const struct neff_graph *graph = nrt_cc_graph(cc->streams[0].items.model);
	unsigned int i;

	for (i = 0; i < graph->nr_collectives; i++)
		mine->stream[i] = graph->collectives[i].stream;
}

static NRT_STATUS compare_all(const struct nrt_cc_model *cc, const struct nrt_cc_offers *offers,
			      struct nrt_error *error)
{
	unsigned int i, first = 0;

	for (i = 0; i < cc->nr_streams; i++) {
		if (nrt_cc_stream_compare(&cc->streams[i], offers, first, error))
			return error->status;
		first += cc->streams[i].items.nr;
	}
	return NRT_SUCCESS;
}

/* --- Preparation; by a rank that holds the loading of the team --- */

static NRT_STATUS plan_all(struct nrt_cc_model *cc, struct nrt_error *error)
{
	unsigned int i;

	for (i = 0; i < cc->nr_streams; i++)
		if (nrt_cc_stream_plan(&cc->streams[i], cc->team, error))
			return error->status;
	return NRT_SUCCESS;
}

/* For which streams semaphores do not suffice. Where even less does not it is said later. */
static uint32_t take_areas(struct nrt_cc_model *cc)
{
	uint32_t crowded = 0;
	unsigned int i;

	for (i = 0; i < cc->nr_streams; i++) {
		struct nrt_error too_few = { 0 };

		if (nrt_cc_stream_take_area(&cc->streams[i], cc->team, &too_few))
			crowded |= 1u << i;
	}
	return crowded;
}

/* What the ranks want to do, and whether semaphores suffice for it. */
static NRT_STATUS meet_with_plans(struct nrt_cc_model *cc, struct nrt_cc_offers *offers,
				  bool *agreed, struct nrt_error *error)
{
	struct nrt_cc_offer *mine = nrt_cc_offers_mine(offers);

	*mine = (struct nrt_cc_offer){ .model = cc->team->last };
	if (plan_all(cc, error)) {
		nrt_cc_offer_no(mine, error);
	} else {
		say_all(cc, offers);
		say_streams(cc, mine);
		mine->crowded = take_areas(cc);
	}
	return nrt_cc_offers_meet(offers, NRT_CC_AT_LOAD, agreed, error);
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

/* A stream that is crowded on one rank is so for all. */
static uint32_t crowded_streams(const struct nrt_cc_team *team, const struct nrt_cc_offer *all)
{
	uint32_t crowded = 0, i;

	for (i = 0; i < team->nr; i++)
		crowded |= all[i].crowded;
	return crowded;
}

/* The programs of what the ranks have said. */
static NRT_STATUS build(struct nrt_cc_model *cc, const struct nrt_cc_offers *offers,
			struct nrt_error *error)
{
	uint32_t crowded = crowded_streams(cc->team, offers->rank);
	unsigned int i;

	if (compare_all(cc, offers, error))
		return error->status;
	for (i = 0; i < cc->nr_streams; i++)
		if ((crowded >> i & 1 && nrt_cc_stream_crowd(&cc->streams[i], cc->team, error)) ||
		    nrt_cc_stream_build(&cc->streams[i], error))
			return error->status;
	return NRT_SUCCESS;
}

static void find_all(struct nrt_cc_model *cc, const struct nrt_binding *binding)
{
	unsigned int i;

	for (i = 0; i < cc->nr_streams; i++)
		nrt_cc_items_find(&cc->streams[i].items, binding);
}

static bool any_moves(const struct nrt_cc_model *cc)
{
	unsigned int i = 0;

	while (i < cc->nr_streams && !nrt_cc_items_move(&cc->streams[i].items))
		i++;
	return i < cc->nr_streams;
}

/* All of them have their program, and say where others find their memory. */
static NRT_STATUS meet_with_programs(struct nrt_cc_model *cc, struct nrt_cc_offers *offers,
				     bool *agreed, struct nrt_error *error)
{
	struct nrt_cc_offer *mine = nrt_cc_offers_mine(offers);
	NRT_STATUS status = build(cc, offers, error);

	*mine = (struct nrt_cc_offer){ .model = cc->number };
	if (status) {
		nrt_cc_offer_no(mine, error);
	} else {
		find_all(cc, NULL);
		mine->moves = any_moves(cc);
		say_all(cc, offers);
		say_streams(cc, mine);
	}
	return nrt_cc_offers_meet(offers, NRT_CC_AT_LOAD, agreed, error);
}

static NRT_STATUS exchange_rights(struct nrt_cc_model *cc, struct nrt_error *error)
{
	unsigned int i;
	char what[32];

	for (i = 0; i < cc->nr_streams; i++) {
		snprintf(what, sizeof(what), "model %llu stream %u",
			 (unsigned long long)cc->number, cc->streams[i].items.stream);
		if (nrt_cc_rights_exchange(&cc->streams[i].rights, what, error))
			return error->status;
	}
	return NRT_SUCCESS;
}

static NRT_STATUS exchange_all(struct nrt_cc_model *cc, const struct nrt_cc_offers *offers,
			       struct nrt_error *error)
{
	unsigned int i, first = 0;

	for (i = 0; i < cc->nr_streams; i++) {
		if (nrt_cc_stream_exchange(&cc->streams[i], offers, first, cc->number, error))
			return error->status;
		first += cc->streams[i].items.nr;
	}
	return NRT_SUCCESS;
}

/* For the world that the model has. *@agreed: a failure is known to all ranks of the team. */
static NRT_STATUS prepare(struct nrt_cc_model *cc, struct nrt_cc_offers *offers, bool *agreed,
			  struct nrt_error *error)
{
	uint32_t i;

	if (meet_with_plans(cc, offers, agreed, error))
		return error->status;
	cc->number = next_number(cc->team, offers->rank);
	cc->team->last = cc->number;
	if (meet_with_programs(cc, offers, agreed, error))
		return error->status;
	cc->moves = false;
	for (i = 0; i < cc->team->nr; i++)
		cc->moves |= offers->rank[i].moves;
	*agreed = false;
	if (exchange_rights(cc, error))
		return error->status;
	return exchange_all(cc, offers, error);
}

typedef NRT_STATUS with_all_fn(struct nrt_cc_model *cc, struct nrt_cc_offers *offers, bool *agreed,
			       struct nrt_error *error);

/* Do what all ranks of the team do together. */
static NRT_STATUS together(struct nrt_cc_model *cc, with_all_fn *what, struct nrt_error *error)
{
	/* A barrier may stand before each collective. */
	const unsigned int room = 2 * nrt_cc_graph(cc->streams[0].items.model)->nr_collectives;
	struct nrt_cc_offers offers;
	bool agreed = false;
	NRT_STATUS status = nrt_cc_offers_init(&offers, cc->team, room, error);

	if (!status)
		status = what(cc, &offers, &agreed, error);
	nrt_cc_offers_free(&offers);
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
	cc->team = nrt_cc_team_find(cc->world, nrt_cc_graph(model), error);
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
static NRT_STATUS meet(struct nrt_cc_model *cc, struct nrt_cc_offers *offers, bool *agreed,
		       struct nrt_error *error)
{
	struct nrt_cc_offer *mine = nrt_cc_offers_mine(offers);

	*mine = (struct nrt_cc_offer){ .model = cc->number };
	if (cc->moves)
		say_all(cc, offers);
	cc->team->active = 0;
	if (nrt_cc_offers_meet(offers, NRT_CC_AT_EXECUTION, agreed, error))
		return error->status;
	*agreed = false;
	if (cc->moves && exchange_all(cc, offers, error))
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
	cc->timed = nrt_cc_times_next(cc->world, nrt_times_of_models(cc->nr_streams), cc->places);
	find_all(cc, binding);
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

static void show(struct nrt_model *model, struct drm_neuron_job *args, struct nrt_view **views)
{
	struct nrt_cc_model *cc = model->cc;
	unsigned int i;

	for (i = 0; i < cc->nr_streams; i++)
		views[i] = nrt_cc_stream_show(&cc->streams[i], &args[i]);
}

static const struct nrt_time_place *places(struct nrt_model *model)
{
	return model->cc->timed ? model->cc->places : NULL;
}

/* Somebody may ask for the times of the execution, request @seq, whose first job is @job. */
static void keep_times(const struct nrt_model *model, uint64_t job, uint64_t seq)
{
	const struct nrt_cc_cores *cc = &model->cc_cores;
	struct nrt_vcore *vcore = model->vcore;
	unsigned int i;

	for (i = 0; i < vcore->nr + cc->nr; i++)
		nrt_cc_times_add(model->cc->worlds->times, vcore->vnc, (struct nrt_cc_timed){
			.seq = seq,
			.first = !i,
			.core = i < vcore->nr ? vcore->core[i] : cc->core[i - vcore->nr],
			.job = job + i,
		});
}

static void started(struct nrt_model *model, uint64_t job, uint64_t seq)
{
	struct nrt_cc_model *cc = model->cc;
	struct nrt_running *running;
	unsigned int i;

	if (cc->timed)
		keep_times(model, job, seq);
	/* Those of the CC-cores come last. */
	for (i = 0; i < cc->nr_streams; i++) {
		running = &cc->streams[i].running;
		running->job = job + model->vcore->nr + i;
		nrt_world_begin(cc->world, running);
	}
}

/* Did the job fail by itself, not with the others? Of one that nobody could wait for: unknown. */
static bool is_culprit(const struct drm_neuron_wait_job *result)
{
	return result->status != NEURON_JOB_NONE && result->status != NEURON_JOB_OK &&
	       (result->flags & DRM_NEURON_JOB_HANG || result->cause != NEURON_CAUSE_GANG);
}

/* The stream whose job failed by itself; none: their number. */
static unsigned int find_culprit(const struct nrt_cc_model *cc,
				 const struct drm_neuron_wait_job *results)
{
	unsigned int i = 0;

	while (i < cc->nr_streams && !is_culprit(&results[i]))
		i++;
	return i;
}

static void explain(const struct nrt_cc_model *cc, const struct drm_neuron_wait_job *results,
		    struct nrt_error *error)
{
	unsigned int first = find_culprit(cc, results), i;
	enum nrt_cc_wait wait = NRT_CC_FOR_MODEL;

	if (first < cc->nr_streams)
		nrt_cc_explain(cc->streams[first].items.code, &results[first], &wait, error);
	if (wait != NRT_CC_FOR_MODEL || error->status != NRT_TIMEOUT)
		return;
	/* One stream may wait for the model because the model waits for another one. */
	for (i = 0; i < cc->nr_streams; i++)
		if (i != first &&
		    nrt_cc_explain_gang(cc->streams[i].items.code, &results[i], error))
			return;
}

static NRT_STATUS end(struct nrt_model *model, const struct drm_neuron_wait_job *results,
		      struct nrt_error *error)
{
	struct nrt_cc_model *cc = model->cc;
	struct nrt_error first;
	unsigned int i;

	for (i = 0; results && i < cc->nr_streams; i++)
		nrt_world_end(cc->world, &cc->streams[i].running);
	if (results)
		explain(cc, results, error);
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

/* Those that the collectives are on, as bits. */
static unsigned int streams_of(const struct neff_graph *graph)
{
	unsigned int i, used = 0;

	for (i = 0; i < graph->nr_collectives; i++)
		used |= 1u << graph->collectives[i].stream;
	return used;
}

static NRT_STATUS make(struct nrt_worlds *worlds, struct nrt_model *model, uint32_t rank,
		       uint32_t count, struct nrt_error *error)
{
	const unsigned int used = streams_of(nrt_cc_graph(model));
	struct nrt_cc_model *cc;
	struct nrt_core *core;
	unsigned int i;

	if (!model->vcore->nr_cc)
		return nrt_error_set(error, NRT_FAILURE, "%s has no CC-cores",
				     nrt_device_path(model->vcore->device));
	cc = calloc(1, sizeof(*cc) + (unsigned int)__builtin_popcount(used) *
			       sizeof(cc->streams[0]));
	if (!cc)
		return nrt_error_memory(error);
	cc->worlds = worlds;
	cc->rank = rank;
	cc->count = count;
	for (i = 0; i < NRT_MAX_STREAMS; i++) {
		if (!(used >> i & 1))
			continue;
		core = nrt_vcore_stream_cc(model->vcore, i);
		nrt_cc_stream_init(&cc->streams[cc->nr_streams++], model, i, core);
		model->cc_cores.core[model->cc_cores.nr] = core;
		model->cc_cores.stream[model->cc_cores.nr++] = i;
	}
	model->rank = rank;
	model->ranks = worlds;
	model->cc = cc;
	model->cc_ops = &cc_ops;
	nrt_world_model_comes(worlds, model->vcore->vnc);
	return NRT_SUCCESS;
}

/* The others wait for this rank in a load. */
static void say_no(struct nrt_world *world, const struct nrt_model *model,
		   const struct nrt_error *why)
{
	struct nrt_error error = *why;
	struct nrt_cc_team *team = nrt_cc_team_find(world, nrt_cc_graph(model), &error);
	struct nrt_cc_offers offers = { 0 };
	bool agreed = false;

	if (team && !nrt_cc_offers_init(&offers, team, 0, &error)) {
		nrt_cc_offer_no(nrt_cc_offers_mine(&offers), why);
		pthread_mutex_lock(&team->loading);
		nrt_cc_offers_mine(&offers)->model = team->last;
		nrt_cc_offers_meet(&offers, NRT_CC_AT_LOAD, &agreed, &error);
		pthread_mutex_unlock(&team->loading);
	}
	if (!agreed)
		nrt_world_fail(world, &error);
	nrt_cc_offers_free(&offers);
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
