// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Device time: what the bytes of a transfer go through. A path from one end to another
 * is worked out once for a job and a state of the links; records name it by number.
 */
#include <stdlib.h>
#include <string.h>

#include "base/trn_chip.h"
#include "base/trn_state.h"
#include "mem/trn_access.h"
#include "time/trn_time_private.h"

/* Keys of resources, beside TRN_END_HBM. */
#define RESOURCE_LINK	NEURON_BIT(14)
#define RESOURCE_IN	NEURON_BIT(13)

/**
 * struct plan - a path being worked out
 * @key: of each resource
 * @rate: bytes per us
 */
struct plan {
	struct trn_chip *chip;
	unsigned int nr;
	uint32_t key[TRN_PATH_USES];
	uint32_t rate[TRN_PATH_USES];
};

static void plan_add(struct plan *plan, uint32_t key, uint32_t rate)
{
	plan->key[plan->nr] = key;
	plan->rate[plan->nr++] = rate ? rate : 1;
}

static uint32_t chip_of(const struct plan *plan, uint32_t end)
{
	return end == TRN_END_NONE ? plan->chip->config.fabric_id : end >> 16;
}

static void plan_memory(struct plan *plan, uint32_t end)
{
	const struct trn_chip *chip = plan->chip;
	const struct neuron_gen *gen = chip->gen;
	const struct trn_seat *peer;
	struct trn_route route;

	if (end == TRN_END_NONE || !(end & TRN_END_HBM))
		return;
	if (end >> 16 != chip->config.fabric_id) {
		peer = trn_fabric_find(chip->fabric, &chip->seat, end >> 16, &route);
		gen = peer ? peer->gen : gen;
	}
	plan_add(plan, end, trn_cost_hbm_rate(gen));
}

static void plan_links(struct plan *plan, uint32_t from, uint32_t to)
{
	struct trn_route_link links[TRN_ROUTE_LINKS];
	unsigned int nr, i;

	if (from == to)
		return;
	nr = trn_fabric_path(plan->chip->fabric, from, to, links);
	for (i = 0; i < nr; i++)
		plan_add(plan, links[i].chip << 16 | RESOURCE_LINK |
			 (links[i].in ? RESOURCE_IN : 0) | links[i].port,
			 links[i].mbps);
}

/* Data goes by way of the chip whose engine moves it. */
static void plan_path(struct plan *plan, const struct trn_path_key *key)
{
	uint32_t self = plan->chip->config.fabric_id;

	plan_memory(plan, key->src);
	plan_links(plan, chip_of(plan, key->src), self);
	plan_links(plan, self, chip_of(plan, key->dst));
	plan_memory(plan, key->dst);
}

int trn_path_resource(struct trn_timeline *tl, uint32_t key)
{
	struct trn_resource *grown;
	unsigned int i;

	for (i = 0; i < tl->nr_resources; i++)
		if (tl->resources[i].key == key)
			return (int)i;
	if (i > UINT16_MAX)
		return -1;
	grown = realloc(tl->resources, (i + 1) * sizeof(*grown));
	if (!grown)
		return -1;
	tl->resources = grown;
	tl->resources[i] = (struct trn_resource){ .key = key };
	tl->nr_resources++;
	return (int)i;
}

struct trn_path *trn_path_add(struct trn_timeline *tl, struct trn_path_key key,
			      unsigned int nr)
{
	struct trn_path *grown;

	if (tl->nr_paths == TRN_PATHS && !tl->joint)
		return NULL;
	grown = realloc(tl->paths, (tl->nr_paths + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	tl->paths = grown;
	grown += tl->nr_paths;
	*grown = (struct trn_path){ .key = key, .nr = nr };
	grown->use = calloc(nr ? nr : 1, sizeof(*grown->use));
	if (!grown->use)
		return NULL;
	tl->nr_paths++;
	return grown;
}

static bool same_key(const struct trn_path_key *a, const struct trn_path_key *b)
{
	return a->src == b->src && a->dst == b->dst && a->turn == b->turn;
}

/* With the lock held; 0: there is none yet. */
static unsigned int known_path(const struct trn_timeline *tl,
			       const struct trn_path_key *key)
{
	unsigned int i;

	for (i = 0; i < tl->nr_paths; i++)
		if (same_key(&tl->paths[i].key, key))
			return i + 1;
	return 0;
}

static unsigned int add_plan(struct trn_timeline *tl, struct trn_path_key key,
			     const struct plan *plan)
{
	struct trn_path *path = trn_path_add(tl, key, plan->nr);
	unsigned int i;
	int resource;

	if (!path)
		return 0;
	for (i = 0; i < plan->nr; i++) {
		resource = trn_path_resource(tl, plan->key[i]);
		if (resource < 0) {
			path->nr = i;
			break;
		}
		path->use[i].resource = (uint16_t)resource;
		path->use[i].bytes_per_us = plan->rate[i];
	}
	return tl->nr_paths;
}

static unsigned int make_path(struct trn_timeline *tl, struct trn_path_key key)
{
	struct plan plan = { .chip = tl->core->chip };
	unsigned int path;

	plan_path(&plan, &key);
	pthread_mutex_lock(&tl->ct->lock);
	path = known_path(tl, &key);
	if (!path)
		path = add_plan(tl, key, &plan);
	pthread_mutex_unlock(&tl->ct->lock);
	return path;
}

unsigned int trn_path_find(struct trn_timeline *tl, struct trn_actor *actor,
			   uint32_t src, uint32_t dst)
{
	const struct trn_fabric *fabric = tl->core->chip->fabric;
	const struct trn_path_key key = {
		.src = src,
		.dst = dst,
		.turn = fabric ? trn_fabric_turn(fabric) : 0,
	};

	if (actor->path && same_key(&actor->path_key, &key))
		return actor->path;
	pthread_mutex_lock(&tl->ct->lock);
	actor->path = known_path(tl, &key);
	pthread_mutex_unlock(&tl->ct->lock);
	if (!actor->path)
		actor->path = make_path(tl, key);
	actor->path_key = key;
	return actor->path;
}

uint64_t trn_path_ps(const struct trn_timeline *tl, unsigned int path,
		     uint64_t bytes)
{
	uint64_t most = 0, ps;
	unsigned int i;

	for (i = 0; path && i < tl->paths[path - 1].nr; i++) {
		ps = bytes * 1000000 / tl->paths[path - 1].use[i].bytes_per_us;
		most = most < ps ? ps : most;
	}
	return most;
}

void trn_path_free(struct trn_timeline *tl)
{
	unsigned int i;

	for (i = 0; i < tl->nr_paths; i++)
		free(tl->paths[i].use);
	free(tl->paths);
	free(tl->resources);
}

/* --- saving and loading --- */

static void resources_state(struct trn_timeline *tl, struct trn_state *st)
{
	uint32_t nr = trn_state_count(st, tl->nr_resources, UINT16_MAX);
	uint32_t i, p, key;

	for (i = 0; i < nr && !trn_state_failed(st); i++) {
		key = st->loading ? 0 : tl->resources[i].key;
		trn_state_u32(st, &key);
		if (st->loading && trn_path_resource(tl, key) != (int)i) {
			trn_state_fail(st, "a resource is there twice, or out of memory");
			return;
		}
		for (p = 0; p < NEURON_NR_PRIORITIES; p++)
			trn_state_u64(st, &tl->resources[i].free_ps[p]);
	}
}

static void use_state(const struct trn_timeline *tl, struct trn_use *use,
		      struct trn_state *st)
{
	trn_state_u16(st, &use->resource);
	trn_state_u32(st, &use->bytes_per_us);
	if (use->resource >= tl->nr_resources || !use->bytes_per_us)
		trn_state_fail(st, "a path leads nowhere");
}

static void path_state(struct trn_timeline *tl, unsigned int index,
		       struct trn_state *st)
{
	struct trn_path_key key = { 0 };
	struct trn_path *path;
	uint32_t nr = 0, i;

	if (!st->loading) {
		key = tl->paths[index].key;
		nr = tl->paths[index].nr;
	}
	trn_state_u32(st, &key.src);
	trn_state_u32(st, &key.dst);
	trn_state_u32(st, &key.turn);
	nr = trn_state_count(st, nr, TRN_PATH_USES);
	if (trn_state_failed(st))
		return;
	path = st->loading ? trn_path_add(tl, key, nr) : &tl->paths[index];
	if (!path) {
		trn_state_fail(st, "too many paths, or out of memory");
		return;
	}
	for (i = 0; i < nr && !trn_state_failed(st); i++)
		use_state(tl, &path->use[i], st);
}

/* The links may have been changed as often in another order: paths are found anew. */
void trn_paths_state(struct trn_timeline *tl, struct trn_state *st)
{
	uint32_t nr, i;

	resources_state(tl, st);
	nr = trn_state_count(st, tl->nr_paths, TRN_PATHS);
	for (i = 0; i < nr && !trn_state_failed(st); i++)
		path_state(tl, i, st);
	for (i = 0; st->loading && i < tl->nr_paths; i++)
		tl->paths[i].key.src = TRN_END_NONE - 1;
}

/* A queue in line has a descriptor to move, and is nowhere else. */
static bool may_queue(const struct trn_timeline *tl, uint16_t index,
		      unsigned int engine)
{
	struct trn_actor *actor = &tl->actor[index];
	const struct trn_time_record *record = trn_replay_peek(actor);

	return record && record->kind == TRN_RECORD_DMA && !actor->parked &&
	       !actor->queued && actor->engine == engine;
}

static void load_line(struct trn_timeline *tl, unsigned int engine, uint32_t nr,
		      struct trn_state *st)
{
	uint16_t index = 0;

	while (nr-- && !trn_state_failed(st)) {
		trn_state_u16(st, &index);
		if (index < TRN_ACTOR_QUEUE || index >= tl->nr_actors ||
		    !may_queue(tl, index, engine)) {
			trn_state_fail(st, "a queue cannot be in line");
			return;
		}
		trn_engine_line(tl, &tl->actor[index]);
	}
	if (tl->engines[engine].first != TRN_NO_ACTOR)
		trn_engine_ready(tl, engine);
}

static void engine_state(struct trn_timeline *tl, unsigned int engine,
			 struct trn_state *st)
{
	struct trn_dma_engine *e = &tl->engines[engine];
	uint32_t index = st->loading ? TRN_NO_ACTOR : e->first;
	uint16_t number;
	uint32_t nr = 0;

	trn_state_u64(st, &e->free_ps);
	for (; index != TRN_NO_ACTOR; index = tl->actor[index].next)
		nr++;
	nr = trn_state_count(st, nr, tl->nr_actors);
	if (st->loading) {
		load_line(tl, engine, nr, st);
		return;
	}
	for (index = e->first; index != TRN_NO_ACTOR; index = tl->actor[index].next) {
		number = (uint16_t)index;
		trn_state_u16(st, &number);
	}
}

void trn_engines_state(struct trn_timeline *tl, struct trn_state *st)
{
	unsigned int i;

	for (i = 0; i < tl->nr_engines && !trn_state_failed(st); i++)
		engine_state(tl, i, st);
}
