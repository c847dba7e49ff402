// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Checks: the jobs of a gang, whose actors wait for each other and share memory.
 */
#include <stdlib.h>

#include "check/trn_check_private.h"
#include "dma/trn_udma.h"
#include "job/trn_job.h"

/* An access names its actor by 9 bits (trn_check_race.c). */
#define MOST_ACTORS	512

/* Under the lock of the checks. */
static struct trn_check_group *find(struct trn_check *check, uint64_t gang)
{
	struct trn_check_group *group;

	for (group = check->groups; group; group = group->next)
		if (group->gang == gang)
			return group;
	return NULL;
}

/* A gang of too many actors is looked at in parts. */
static bool takes(const struct trn_check_group *group, const struct trn_check_job *cj)
{
	return !atomic_load(&group->running) && group->nr_actors + cj->nr_actors <= MOST_ACTORS;
}

/* Under the lock of the checks. */
static struct trn_check_group *group_new(struct trn_check *check, uint64_t gang)
{
	struct trn_check_group *group = calloc(1, sizeof(*group));

	if (!group)
		return NULL;
	group->gang = gang;
	group->serial = ++check->serial;
	group->next = check->groups;
	check->groups = group;
	return group;
}

static void group_clear(struct trn_check_group *group)
{
	free((void *)group->now);
	free(group->clock);
	free(group->who);
}

static void group_free(struct trn_check *check, struct trn_check_group *group)
{
	struct trn_check_group **at = &check->groups;

	while (*at != group)
		at = &(*at)->next;
	*at = group->next;
	group_clear(group);
	free(group);
}

static struct trn_report_actor name_of(const struct trn_job *job, unsigned int actor)
{
	const struct trn_udma_queue *queue;

	if (actor < TRN_ACTOR_QUEUE)
		return (struct trn_report_actor){ .unit = (uint16_t)job->core->index,
						  .source = (uint16_t)actor };
	queue = job->queues[actor - TRN_ACTOR_QUEUE];
	return (struct trn_report_actor){
		.unit = (uint16_t)job->core->index,
		.source = NEURON_SOURCE_DMA,
		.dma_engine = (uint16_t)queue->engine,
		.queue = (uint16_t)queue->index,
	};
}

/* Room for @nr actors; none of them runs yet. False: no memory, and nothing has changed. */
static bool make_room(struct trn_check_group *group, size_t nr)
{
	struct trn_report_actor *who = calloc(nr, sizeof(*who));
	_Atomic uint32_t *now = calloc(nr, sizeof(*now));
	uint32_t *clock = calloc(nr * nr, sizeof(*clock));
	size_t i;

	if (!who || !now || !clock) {
		free(who);
		free((void *)now);
		free(clock);
		return false;
	}
	for (i = 0; i < nr; i++)
		atomic_init(&now[i], 1);
	for (i = 0; i < group->nr_actors; i++)
		who[i] = group->who[i];
	group_clear(group);
	group->who = who;
	group->now = now;
	group->clock = clock;
	return true;
}

/* False: no memory. */
static bool add_actors(struct trn_check_group *group, struct trn_check_job *cj)
{
	unsigned int i, first = group->nr_actors;

	if (!make_room(group, first + cj->nr_actors))
		return false;
	for (i = 0; i < cj->nr_actors; i++) {
		cj->actor[i].job = cj;
		cj->actor[i].index = first + i;
		group->who[first + i] = name_of(cj->job, i);
	}
	group->nr_actors += cj->nr_actors;
	group->cores |= NEURON_BIT(cj->job->core->tpb->index);
	return true;
}

bool trn_check_group_join(struct trn_check_job *cj)
{
	const uint64_t gang = cj->job->block.gang;
	struct trn_check *check = cj->check;
	struct trn_check_group *group = NULL;
	bool joined = false;

	pthread_mutex_lock(&check->lock);
	if (gang)
		group = find(check, gang);
	if (!group || !takes(group, cj))
		group = group_new(check, group ? 0 : gang);
	if (!group)
		goto unlock;
	joined = add_actors(group, cj);
	if (joined) {
		group->members++;
		cj->group = group;
	} else if (!group->members) {
		group_free(check, group);
	}
unlock:
	pthread_mutex_unlock(&check->lock);
	return joined;
}

/* A job that claims to be in the gang, and is not, may come at the same time. */
void trn_check_group_run(struct trn_check_job *cj)
{
	pthread_mutex_lock(&cj->check->lock);
	atomic_store(&cj->group->running, true);
	pthread_mutex_unlock(&cj->check->lock);
}

void trn_check_group_leave(struct trn_check_job *cj)
{
	struct trn_check *check = cj->check;

	pthread_mutex_lock(&check->lock);
	if (!--cj->group->members)
		group_free(check, cj->group);
	pthread_mutex_unlock(&check->lock);
}
