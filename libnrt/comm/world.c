// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "comm/cc_group.h"
#include "comm/cc_team.h"
#include "comm/cc_times.h"
#include "comm/sockets.h"
#include "comm/world.h"

#define MAX_RANKS	NRT_PLAN_MAX_RANKS

/* What ranks tell each other first. */
struct hello {
	uint64_t id;
	struct nrt_plan_place place;
	uint16_t topology;
};

/* --- The worlds of the process --- */

NRT_STATUS nrt_worlds_init(struct nrt_worlds *worlds, unsigned int nr,
			   struct nrt_meetings *meetings, const struct nrt_env *env,
			   struct nrt_error *error)
{
	const size_t slots = (size_t)NRT_MAX_CC * nr;

	*worlds = (struct nrt_worlds){
		.meetings = meetings,
		.root = env->root_comm,
		.algorithm = env->cc_algorithm,
		.timeout_ms = env->timeout_ms,
		.nr = nr,
		.world = calloc(nr, sizeof(struct nrt_world *)),
		.models = calloc(nr, sizeof(*worlds->models)),
		.sems = calloc(slots, sizeof(*worlds->sems)),
		.dirty = calloc(slots, sizeof(*worlds->dirty)),
		.next_sem = calloc(slots, sizeof(*worlds->next_sem)),
		.times = nrt_cc_times_new(nr),
	};
	pthread_mutex_init(&worlds->lock, NULL);
	if (worlds->world && worlds->models && worlds->sems && worlds->dirty &&
	    worlds->next_sem && worlds->times)
		return NRT_SUCCESS;
	nrt_worlds_fini(worlds);
	return nrt_error_memory(error);
}

struct nrt_world *nrt_world_get(struct nrt_worlds *worlds, unsigned int vnc)
{
	struct nrt_world *world;

	pthread_mutex_lock(&worlds->lock);
	world = vnc < worlds->nr ? worlds->world[vnc] : NULL;
	if (world)
		atomic_fetch_add(&world->refs, 1);
	pthread_mutex_unlock(&worlds->lock);
	return world;
}

/* The table shows @world for its core from now on, or NULL; the old one. */
static struct nrt_world *exchange(struct nrt_worlds *worlds, unsigned int vnc,
				  struct nrt_world *world)
{
	struct nrt_world *old;

	pthread_mutex_lock(&worlds->lock);
	old = worlds->world[vnc];
	worlds->world[vnc] = world;
	pthread_mutex_unlock(&worlds->lock);
	return old;
}

void nrt_worlds_cancel(struct nrt_worlds *worlds)
{
	struct nrt_error why = { 0 };
	struct nrt_world *world;
	unsigned int i;

	for (i = 0; i < worlds->nr; i++) {
		world = nrt_world_get(worlds, i);
		if (!world)
			continue;
		nrt_error_set(&why, NRT_CLOSED, "rank %u of %u called nrt_close()", world->rank,
			      world->count);
		nrt_world_fail(world, &why);
		nrt_world_put(world);
	}
}

void nrt_worlds_fini(struct nrt_worlds *worlds)
{
	unsigned int i;

	for (i = 0; worlds->world && i < worlds->nr; i++)
		nrt_world_put(worlds->world[i]);
	free(worlds->world);
	free(worlds->models);
	free(worlds->sems);
	free(worlds->dirty);
	free(worlds->next_sem);
	nrt_cc_times_free(worlds->times);
	pthread_mutex_destroy(&worlds->lock);
}

/* --- Semaphores --- */

/* Those behind NRT_PLAN_MAX_SEMS start the collectives of models. */
static bool are_free(const uint64_t *sems, unsigned int first, unsigned int count)
{
	unsigned int i;

	for (i = first; i < first + count; i++)
		if (i >= NRT_PLAN_MAX_SEMS || sems[i / 64] >> (i % 64) & 1)
			return false;
	return true;
}

/* Where the tables have @cc. */
static unsigned int slot_of(const struct nrt_world *world, const struct nrt_core *cc)
{
	return NRT_MAX_CC * world->vcore->vnc + (unsigned int)(cc - world->vcore->cc);
}

NRT_STATUS nrt_world_take_sems(struct nrt_world *world, const struct nrt_core *cc,
			       unsigned int count, unsigned int *first, struct nrt_error *error)
{
	struct nrt_worlds *worlds = world->worlds;
	unsigned int slot = slot_of(world, cc), i, at = 0;
	uint64_t *sems = worlds->sems[slot];

	pthread_mutex_lock(&worlds->lock);
	for (i = 0; i < NEURON_NR_SEMAPHORES; i++) {
		at = (worlds->next_sem[slot] + i) % NEURON_NR_SEMAPHORES;
		if (are_free(sems, at, count))
			break;
	}
	if (i < NEURON_NR_SEMAPHORES) {
		for (*first = at, i = at; i < at + count; i++)
			sems[i / 64] |= 1ull << (i % 64);
		worlds->next_sem[slot] = i;
		i = 0;
	}
	pthread_mutex_unlock(&worlds->lock);
	if (i < NEURON_NR_SEMAPHORES)
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_RESOURCE,
			     "core %u: its CC-core %u has no %u semaphores in a row left for another group or model",
			     world->vcore->number, (unsigned int)(cc - world->vcore->cc), count);
}

void nrt_world_give_sems(struct nrt_world *world, const struct nrt_core *cc, unsigned int first,
			 unsigned int count)
{
	struct nrt_worlds *worlds = world->worlds;
	unsigned int slot = slot_of(world, cc), i;
	struct nrt_error ignored;
	/* A program leaves them as it found them, unless it was cut short. */
	bool dirty = nrt_world_check(world, &ignored);

	pthread_mutex_lock(&worlds->lock);
	for (i = first; i < first + count; i++) {
		worlds->sems[slot][i / 64] &= ~(1ull << (i % 64));
		if (dirty)
			worlds->dirty[slot][i / 64] |= 1ull << (i % 64);
	}
	pthread_mutex_unlock(&worlds->lock);
}

bool nrt_world_take_dirt(struct nrt_world *world, const struct nrt_core *cc, unsigned int first,
			 unsigned int count)
{
	struct nrt_worlds *worlds = world->worlds;
	uint64_t *dirty = worlds->dirty[slot_of(world, cc)];
	bool any = false;
	unsigned int i;

	pthread_mutex_lock(&worlds->lock);
	for (i = first; i < first + count; i++) {
		any |= dirty[i / 64] >> (i % 64) & 1;
		dirty[i / 64] &= ~(1ull << (i % 64));
	}
	pthread_mutex_unlock(&worlds->lock);
	return any;
}

/* --- Failure --- */

NRT_STATUS nrt_world_check(struct nrt_world *world, struct nrt_error *error)
{
	NRT_STATUS status;

	pthread_mutex_lock(&world->lock);
	status = world->failed.status;
	if (status)
		*error = world->failed;
	pthread_mutex_unlock(&world->lock);
	return status;
}

/* A job of the list, which has it no more. False: there is none. */
static bool take_running(struct nrt_world *world, struct nrt_running *running)
{
	const struct nrt_running *first;

	pthread_mutex_lock(&world->lock);
	first = world->running;
	if (first) {
		*running = *first;
		world->running = first->next;
	}
	pthread_mutex_unlock(&world->lock);
	return first;
}

/* Without the lock: a core may need long to end its job. */
static void cancel_running(struct nrt_world *world)
{
	struct nrt_running running;

	while (take_running(world, &running))
		nrt_cc_cancel(running.cc, running.job);
}

void nrt_world_fail_here(struct nrt_world *world, const struct nrt_error *why)
{
	bool first;

	pthread_mutex_lock(&world->lock);
	first = !world->failed.status;
	if (first)
		world->failed = *why;
	pthread_mutex_unlock(&world->lock);
	if (!first)
		return;
	cancel_running(world);
	/* Who waits for times of ranks that end here has them at once. */
	nrt_cc_times_leave(world);
}

void nrt_world_fail(struct nrt_world *world, const struct nrt_error *why)
{
	struct nrt_error ignored;

	if (nrt_world_check(world, &ignored))
		return;
	nrt_world_fail_here(world, why);
	world->transport->ops->abort(world->transport, why);
}

void nrt_world_begin(struct nrt_world *world, struct nrt_running *running)
{
	bool failed;

	pthread_mutex_lock(&world->lock);
	failed = world->failed.status;
	if (!failed) {
		running->next = world->running;
		world->running = running;
	}
	pthread_mutex_unlock(&world->lock);
	if (failed)
		nrt_cc_cancel(running->cc, running->job);
}

void nrt_world_end(struct nrt_world *world, struct nrt_running *running)
{
	struct nrt_running **link;

	pthread_mutex_lock(&world->lock);
	for (link = &world->running; *link; link = &(*link)->next) {
		if (*link != running)
			continue;
		*link = running->next;
		break;
	}
	pthread_mutex_unlock(&world->lock);
}

/* --- What ranks say to each other --- */

/* A failure of the world explains all others. */
static NRT_STATUS explain(struct nrt_world *world, NRT_STATUS status, struct nrt_error *error)
{
	struct nrt_error why;

	if (status && nrt_world_check(world, &why))
		*error = why;
	return status ? error->status : NRT_SUCCESS;
}

NRT_STATUS nrt_world_gather(struct nrt_world *world, struct nrt_gather *gather,
			    struct nrt_error *error)
{
	if (nrt_world_check(world, error))
		return error->status;
	gather->world = world->id;
	gather->timeout_ms = world->timeout_ms;
	return explain(world, world->transport->ops->gather(world->transport, gather, error),
		       error);
}

NRT_STATUS nrt_world_share(struct nrt_world *world, struct nrt_share *share,
			   struct nrt_error *error)
{
	if (nrt_world_check(world, error))
		return error->status;
	share->gather.world = world->id;
	share->gather.timeout_ms = world->timeout_ms;
	return explain(world, world->transport->ops->share(world->transport, share, error),
		       error);
}

/* --- Joining --- */

void nrt_world_put(struct nrt_world *world)
{
	if (!world || atomic_fetch_sub(&world->refs, 1) > 1)
		return;
	nrt_cc_times_end(world);
	nrt_cc_groups_free(world);
	nrt_cc_teams_free(world);
	if (world->transport)
		world->transport->ops->close(world->transport);
	pthread_mutex_destroy(&world->lock);
	free(world->places);
	free(world);
}

static struct nrt_world *world_new(struct nrt_worlds *worlds, struct nrt_vcore *vcore,
				   uint32_t rank, uint32_t count)
{
	struct nrt_world *world = calloc(1, sizeof(*world));

	if (!world)
		return NULL;
	world->worlds = worlds;
	atomic_init(&world->refs, 1);
	atomic_init(&world->left, false);
	world->vcore = vcore;
	world->rank = rank;
	world->count = count;
	world->timeout_ms = worlds->timeout_ms;
	pthread_mutex_init(&world->lock, NULL);
	world->places = calloc(count, sizeof(*world->places));
	if (world->places)
		return world;
	nrt_world_put(world);
	return NULL;
}

/* Each rank makes its plans alone, of what all have said here. */
static NRT_STATUS take_hellos(struct nrt_world *world, const struct hello *all,
			      enum nrt_plan_topology topology, struct nrt_error *error)
{
	uint32_t i;

	world->id = all[0].id;
	world->topology = topology;
	for (i = 0; i < world->count; i++) {
		world->places[i] = all[i].place;
		if (all[i].topology != topology)
			return nrt_error_set(error, NRT_INVALID,
					     "the ranks do not agree: the chips of rank %u are joined as %s, those of rank %u as %s",
					     world->rank, nrt_plan_topology_name(topology),
					     i, nrt_plan_topology_name(all[i].topology));
	}
	return NRT_SUCCESS;
}

static NRT_STATUS meet(struct nrt_world *world, const char *what, struct nrt_error *error)
{
	const enum nrt_plan_topology topology = nrt_vcore_topology(world->vcore);
	struct hello *all = calloc(world->count, sizeof(*all));
	struct hello mine = {
		.place = nrt_vcore_place(world->vcore),
		.topology = (uint16_t)topology,
	};
	struct nrt_gather gather = {
		.what = what,
		.rank = world->rank,
		.count = world->count,
		.size = sizeof(mine),
		.input = &mine,
		.output = all,
		.timeout_ms = world->timeout_ms,
	};
	struct nrt_worlds *worlds = world->worlds;
	NRT_STATUS status;

	if (!all)
		return nrt_error_memory(error);
	pthread_mutex_lock(&worlds->lock);
	mine.id = ++worlds->last;
	pthread_mutex_unlock(&worlds->lock);
	status = world->transport->ops->gather(world->transport, &gather, error);
	if (!status)
		status = take_hellos(world, all, topology, error);
	free(all);
	return status;
}

/* The old world of the core ends; nothing of it runs any more. */
static void leave_old(struct nrt_worlds *worlds, struct nrt_vcore *vcore)
{
	struct nrt_world *old = exchange(worlds, vcore->vnc, NULL);
	struct nrt_error why = { 0 };

	if (!old)
		return;
	nrt_error_set(&why, NRT_FAILURE, "rank %u of %u has joined another world", old->rank,
		      old->count);
	nrt_world_fail(old, &why);
	/* Others may keep the old world for a while. */
	old->transport->ops->retire(old->transport);
	nrt_world_put(old);
}

/* Another process says so. */
static void failed_elsewhere(void *arg, const struct nrt_error *why)
{
	nrt_world_fail_here(arg, why);
}

static NRT_STATUS open_transport(struct nrt_world *world, struct nrt_error *error)
{
	const struct nrt_sockets_of what = {
		.address = world->worlds->root,
		.rank = world->rank,
		.count = world->count,
		.timeout_ms = world->timeout_ms,
		.failed = failed_elsewhere,
		.arg = world,
	};

	if (what.address) {
		world->transport = nrt_sockets_open(&what, error);
		return world->transport ? NRT_SUCCESS : error->status;
	}
	world->transport = nrt_threads_open(world);
	return world->transport ? NRT_SUCCESS : nrt_error_memory(error);
}

NRT_STATUS nrt_world_join(struct nrt_worlds *worlds, const char *what, struct nrt_vcore *vcore,
			  uint32_t rank, uint32_t count, struct nrt_error *error)
{
	struct nrt_world *world;

	if (rank >= count || count > MAX_RANKS)
		return nrt_error_set(error, NRT_INVALID, "rank %u of %u; there are at most %u",
				     rank, count, MAX_RANKS);
	leave_old(worlds, vcore);
	world = world_new(worlds, vcore, rank, count);
	if (!world)
		return nrt_error_memory(error);
	world->implied = !strcmp(what, NRT_WORLD_OF_MODELS);
	if (open_transport(world, error) || meet(world, what, error)) {
		nrt_world_put(world);
		return error->status;
	}
	nrt_world_put(exchange(worlds, vcore->vnc, world));
	return NRT_SUCCESS;
}

/* --- Models --- */

void nrt_world_model_comes(struct nrt_worlds *worlds, unsigned int vnc)
{
	pthread_mutex_lock(&worlds->lock);
	worlds->models[vnc]++;
	pthread_mutex_unlock(&worlds->lock);
}

/* With the lock: the world that the core has left, with the reference of the table; or NULL. */
static struct nrt_world *leave_implied(struct nrt_worlds *worlds, unsigned int vnc)
{
	struct nrt_world *left = worlds->world[vnc];
	unsigned int i;

	/* Ranks of other processes cannot be told without an end of what they run. */
	if (!left || !left->implied || worlds->root)
		return NULL;
	for (i = 0; i < worlds->nr; i++)
		if (worlds->world[i] && worlds->world[i]->id == left->id)
			atomic_store(&worlds->world[i]->left, true);
	worlds->world[vnc] = NULL;
	return left;
}

void nrt_world_model_goes(struct nrt_worlds *worlds, unsigned int vnc)
{
	struct nrt_world *left = NULL;

	pthread_mutex_lock(&worlds->lock);
	if (!--worlds->models[vnc])
		left = leave_implied(worlds, vnc);
	pthread_mutex_unlock(&worlds->lock);
	if (!left)
		return;
	/* Whoever waits in it for this rank looks for the next one. */
	nrt_meetings_fail(worlds->meetings, left->id);
	nrt_world_put(left);
}
