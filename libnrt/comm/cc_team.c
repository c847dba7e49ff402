// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "comm/cc_team.h"

/* --- Who is in it --- */

static bool has_any(const uint32_t *group, unsigned int size, const bool *in)
{
	unsigned int i;

	for (i = 0; i < size; i++)
		if (in[group[i]])
			return true;
	return false;
}

/* Groups with somebody who is @in are in as a whole. Did that change anything? */
static bool add_groups(const struct neff_collective *collective, bool *in)
{
	const uint32_t *group = collective->ranks;
	bool changed = false;
	unsigned int i, k;

	for (i = 0; i < collective->nr_groups; i++, group += collective->group_size) {
		if (!has_any(group, collective->group_size, in))
			continue;
		for (k = 0; k < collective->group_size; k++) {
			changed |= !in[group[k]];
			in[group[k]] = true;
		}
	}
	return changed;
}

/* The ranks that the groups tie to @rank. Their number. */
static uint32_t find_ranks(const struct neff_graph *graph, uint32_t rank,
			   uint32_t ranks[NRT_PLAN_MAX_RANKS])
{
	bool in[NRT_PLAN_MAX_RANKS] = { false }, changed;
	uint32_t i, nr = 0;

	in[rank] = true;
	do {
		for (changed = false, i = 0; i < graph->nr_collectives; i++)
			changed |= add_groups(&graph->collectives[i], in);
	} while (changed);
	for (i = 0; i < NRT_PLAN_MAX_RANKS; i++)
		if (in[i])
			ranks[nr++] = i;
	return nr;
}

/* --- Teams --- */

static void team_free(struct nrt_cc_team *team)
{
	pthread_mutex_destroy(&team->loading);
	pthread_mutex_destroy(&team->lock);
	free(team->ranks);
	free(team);
}

void nrt_cc_teams_free(struct nrt_world *world)
{
	struct nrt_cc_team *team;

	while ((team = world->teams)) {
		world->teams = team->next;
		team_free(team);
	}
}

static struct nrt_cc_team *team_new(struct nrt_world *world, const uint32_t *ranks, uint32_t nr)
{
	struct nrt_cc_team *team = calloc(1, sizeof(*team));

	if (!team)
		return NULL;
	team->world = world;
	team->nr = nr;
	pthread_mutex_init(&team->loading, NULL);
	pthread_mutex_init(&team->lock, NULL);
	team->ranks = calloc(nr, sizeof(*ranks));
	if (!team->ranks) {
		team_free(team);
		return NULL;
	}
	memcpy(team->ranks, ranks, nr * sizeof(*ranks));
	while (team->ranks[team->me] != world->rank)
		team->me++;
	return team;
}

/* With the lock of the world. */
static struct nrt_cc_team *find_or_add(struct nrt_world *world, const uint32_t *ranks, uint32_t nr)
{
	struct nrt_cc_team *team = world->teams;

	while (team && (team->nr != nr || memcmp(team->ranks, ranks, nr * sizeof(*ranks))))
		team = team->next;
	if (team)
		return team;
	team = team_new(world, ranks, nr);
	if (!team)
		return NULL;
	team->next = world->teams;
	world->teams = team;
	return team;
}

struct nrt_cc_team *nrt_cc_team_find(struct nrt_world *world, const struct neff_graph *graph,
				     struct nrt_error *error)
{
	uint32_t ranks[NRT_PLAN_MAX_RANKS];
	uint32_t nr = find_ranks(graph, world->rank, ranks);
	struct nrt_cc_team *team;

	pthread_mutex_lock(&world->lock);
	team = find_or_add(world, ranks, nr);
	pthread_mutex_unlock(&world->lock);
	if (!team)
		nrt_error_memory(error);
	return team;
}

/* --- Semaphores --- */

/* The smallest one that suffices, or NULL. With the lock. */
static struct nrt_cc_area *find_area(const struct nrt_cc_team *team, const struct nrt_core *cc,
				     unsigned int nr)
{
	struct nrt_cc_area *area, *best = NULL;

	for (area = team->areas; area; area = area->next)
		if (area->cc == cc && area->nr >= nr && (!best || area->nr < best->nr))
			best = area;
	return best;
}

/*
 * With the lock. What was posted to them before is forgotten: a job of the CC-core clears them. It
 * waits for the jobs before it, and they may wait for ranks that first load what this one loads. So
 * there is a job only if the semaphores need not be clear.
 */
static struct nrt_cc_area *add_area(struct nrt_cc_team *team, struct nrt_core *cc,
				    unsigned int nr, struct nrt_error *error)
{
	struct nrt_cc_area *area = calloc(1, sizeof(*area));

	if (!area) {
		nrt_error_memory(error);
		return NULL;
	}
	area->cc = cc;
	area->nr = nr;
	if (nrt_world_take_sems(team->world, cc, nr, &area->first, error)) {
		free(area);
		return NULL;
	}
	if (nrt_world_take_dirt(team->world, cc, area->first, nr) &&
	    nrt_cc_clear(cc, area->first, nr, error)) {
		/* They are as dirty as before. */
		nrt_world_fail(team->world, error);
		nrt_world_give_sems(team->world, cc, area->first, nr);
		free(area);
		return NULL;
	}
	area->next = team->areas;
	team->areas = area;
	return area;
}

struct nrt_cc_area *nrt_cc_area_take(struct nrt_cc_team *team, struct nrt_core *cc,
				     unsigned int nr, struct nrt_error *error)
{
	struct nrt_cc_area *area;

	pthread_mutex_lock(&team->lock);
	area = find_area(team, cc, nr);
	if (!area)
		area = add_area(team, cc, nr, error);
	if (area)
		area->models++;
	pthread_mutex_unlock(&team->lock);
	return area;
}

void nrt_cc_area_give(struct nrt_cc_team *team, struct nrt_cc_area *area)
{
	struct nrt_cc_area **link = &team->areas;

	pthread_mutex_lock(&team->lock);
	if (!--area->models) {
		while (*link != area)
			link = &(*link)->next;
		*link = area->next;
		nrt_world_give_sems(team->world, area->cc, area->first, area->nr);
		free(area);
	}
	pthread_mutex_unlock(&team->lock);
}
