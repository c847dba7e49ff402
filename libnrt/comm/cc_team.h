/* SPDX-License-Identifier: MIT */
/*
 * The ranks that load and execute a model together: those that its replica groups tie to each
 * other. Other ranks of the world have no part in it. Models of the same ranks have one team.
 *
 * Executions of a core run one after the other, and a program leaves its semaphores as it found
 * them. So the models of a team share semaphores: an *area* of them is given to every model for
 * which it suffices. A post of one model must not be taken for one of another. So whenever another
 * model than the last time is executed, the ranks of the team meet first. A job that failed may
 * leave anything behind, but then the world has failed, and its teams are over.
 */
#ifndef LIBNRT_COMM_CC_TEAM_H
#define LIBNRT_COMM_CC_TEAM_H

#include "comm/cc_rights.h"
#include "neff/neff.h"

struct nrt_cc_area;

/**
 * struct nrt_cc_team - a team, as one of its ranks sees it
 * @next: list of the world, which it belongs to
 * @world: it lives as long as that
 * @ranks, @nr: by number in the world, ascending
 * @me: place of this rank
 * @loading: whoever loads a model holds it, because loads meet by one name
 * @last: number of the youngest model; under @loading
 * @active: number of the model that was executed last, or 0; only executions look at it
 * @lock: protects @areas
 * @areas: semaphores that models have
 */
struct nrt_cc_team {
	struct nrt_cc_team *next;
	struct nrt_world *world;
	uint32_t *ranks;
	uint32_t nr;
	uint32_t me;
	pthread_mutex_t loading;
	uint64_t last;
	uint64_t active;
	pthread_mutex_t lock;
	struct nrt_cc_area *areas;
};

/**
 * struct nrt_cc_area - semaphores that models share
 * @next: list of the team
 * @cc: CC-core of this rank that has them
 * @first, @nr: which ones
 * @models: how many have them
 */
struct nrt_cc_area {
	struct nrt_cc_area *next;
	struct nrt_core *cc;
	unsigned int first;
	unsigned int nr;
	unsigned int models;
};

/* The team of the world's rank for the collectives of @graph. NULL and @error. */
struct nrt_cc_team *nrt_cc_team_find(struct nrt_world *world, const struct neff_graph *graph,
				     struct nrt_error *error);

/* Nobody uses @world any more: end its teams. */
void nrt_cc_teams_free(struct nrt_world *world);

/*
 * At least @nr semaphores of @cc, all of them clear when no model runs; and give them back. NULL
 * and NRT_RESOURCE: the CC-core has too few.
 */
struct nrt_cc_area *nrt_cc_area_take(struct nrt_cc_team *team, struct nrt_core *cc,
				     unsigned int nr, struct nrt_error *error);
void nrt_cc_area_give(struct nrt_cc_team *team, struct nrt_cc_area *area);

#endif /* LIBNRT_COMM_CC_TEAM_H */
