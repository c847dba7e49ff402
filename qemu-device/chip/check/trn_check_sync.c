// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Checks: what happened before what. Each actor of a group has a vector clock; what
 * it releases at posts and triggers is kept with the semaphore or queue, and
 * whoever waits gets what its wait needed: of posts that add up, those up to the
 * one that made the value large enough, whatever else had been posted by then.
 *
 * Actors of other groups and software are taken to have seen everything. So there is
 * no false alarm, but maybe a race that is not told.
 */
#include <stdlib.h>
#include <string.h>

#include "check/trn_check_private.h"
#include "dma/trn_udma.h"
#include "time/trn_time.h"

/* Releases of a line that are told apart; older ones are taken together. */
#define RELEASES	32

/**
 * struct trn_check_line - a semaphore, event, or one side of a queue
 * @base, @taken: the value is @base - @taken plus the last of @sum
 * @sum: what has been added with each release, all before it included
 * @all: joined clocks of everybody who changed it
 * @clock: those of each release and the ones before it
 */
struct trn_check_line {
	int64_t base;
	int64_t taken;
	unsigned int nr;
	int64_t sum[RELEASES];
	uint32_t *all;
	uint32_t clock[];
};

static void join(uint32_t *to, const uint32_t *from, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (to[i] < from[i])
			to[i] = from[i];
}

static void join_now(uint32_t *to, const struct trn_check_group *group, unsigned int actor)
{
	uint32_t now = atomic_load(&group->now[actor]);

	if (to[actor] < now)
		to[actor] = now;
}

/* What a release carries. NULL: of somebody else, who may have seen everything. */
static void join_actor(uint32_t *to, const struct trn_check_group *group,
		       const struct trn_check_actor *actor)
{
	unsigned int i;

	if (actor) {
		join(to, trn_check_clock(actor), group->nr_actors);
		join_now(to, group, actor->index);
		return;
	}
	for (i = 0; i < group->nr_actors; i++)
		join_now(to, group, i);
}

/* What the actor does from here on is not part of what it has released. */
static void tick(struct trn_check_actor *actor)
{
	if (actor)
		atomic_fetch_add(trn_check_now(actor), 1);
}

/* --- Lines --- */

static uint32_t *clock_at(const struct trn_check_job *cj,
			  struct trn_check_line *line, unsigned int i)
{
	return &line->clock[(size_t)i * cj->group->nr_actors];
}

/* Without memory for one nothing can be told of races any more. */
static struct trn_check_line *line_new(struct trn_check_job *cj, int64_t base)
{
	size_t words = (RELEASES + 1) * (size_t)cj->group->nr_actors;
	struct trn_check_line *line;

	line = calloc(1, sizeof(*line) + words * sizeof(line->clock[0]));
	if (!line) {
		atomic_store(&cj->group->blind, true);
		return NULL;
	}
	line->base = base;
	line->nr = 1;
	line->all = clock_at(cj, line, RELEASES);
	return line;
}

/* From now on the value is @base, and all that was released belongs to it. */
static void line_collapse(const struct trn_check_job *cj,
			  struct trn_check_line *line, int64_t base)
{
	line->base = base;
	line->taken = 0;
	line->nr = 1;
	line->sum[0] = 0;
	memcpy(line->clock, line->all, cj->group->nr_actors * sizeof(line->clock[0]));
}

/* The two oldest become one, with the lower value and the later clock. */
static void line_merge(const struct trn_check_job *cj,
		       struct trn_check_line *line)
{
	size_t row = cj->group->nr_actors * sizeof(line->clock[0]);

	memmove(line->clock, clock_at(cj, line, 1), (line->nr - 1) * row);
	memmove(&line->sum[1], &line->sum[2],
		(line->nr - 2) * sizeof(line->sum[0]));
	line->nr--;
}

static void line_add(struct trn_check_job *cj, struct trn_check_line *line,
		     const struct trn_check_actor *actor, int64_t value)
{
	size_t row = cj->group->nr_actors * sizeof(line->clock[0]);

	if (line->nr == RELEASES)
		line_merge(cj, line);
	line->sum[line->nr] = line->sum[line->nr - 1] + value;
	memcpy(clock_at(cj, line, line->nr), clock_at(cj, line, line->nr - 1), row);
	join_actor(clock_at(cj, line, line->nr), cj->group, actor);
	line->nr++;
}

/* The first release after which the value was at least @value. */
static const uint32_t *line_reached(const struct trn_check_job *cj,
				    struct trn_check_line *line, int64_t value)
{
	unsigned int i;

	for (i = 0; i + 1 < line->nr; i++)
		if (line->base + line->sum[i] - line->taken >= value)
			break;
	return clock_at(cj, line, i);
}

/* --- Semaphores and events --- */

/* Its line, given its value. */
static struct trn_check_line *line_of(struct trn_check_job *cj, unsigned int sem,
				      int32_t value)
{
	struct trn_check_line *line = cj->line[sem];

	if (!line) {
		line = line_new(cj, value);
		cj->line[sem] = line;
	} else if (line->base + line->sum[line->nr - 1] - line->taken != value) {
		line_collapse(cj, line, value);		/* it wrapped */
	}
	return line;
}

void trn_check_post(struct trn_check_job *cj, struct trn_check_actor *actor,
		    unsigned int sem, unsigned int op, int32_t value, int32_t old)
{
	int64_t delta = op == NEURON_SYNC_POST_SUB ? -(int64_t)value : value;
	struct trn_check_line *line;

	if (!atomic_load(&cj->group->running))
		return;
	line = line_of(cj, sem, old);
	if (!line)
		return;
	if (actor && actor->job->group != cj->group)
		actor = NULL;
	join_actor(line->all, cj->group, actor);
	if (op == NEURON_SYNC_POST_SET)
		line_collapse(cj, line, value);
	else if (delta > 0)
		line_add(cj, line, actor, delta);
	else
		line->taken -= delta;
	tick(actor);
}

void trn_check_wait(struct trn_check_job *cj, struct trn_check_actor *actor,
		    unsigned int sem, unsigned int sync, int32_t value, int32_t have)
{
	struct trn_check_line *line;
	const uint32_t *clock;

	if (!atomic_load(&cj->group->running))
		return;
	line = line_of(cj, sem, have);
	if (!line || !actor || actor->job != cj)
		return;
	clock = line->all;
	if (NEURON_GET(NEURON_SYNC_WAIT, sync) == NEURON_SYNC_WAIT_GE)
		clock = line_reached(cj, line, value);
	join(trn_check_clock(actor), clock, cj->group->nr_actors);
	if (!(sync & NEURON_SYNC_TAKE))
		return;
	join_actor(line->all, cj->group, actor);
	line->taken += value;
	tick(actor);
}

/* --- Queues --- */

/*
 * Triggers of one engine come to the queue in their order. Between those of several
 * the order is not known here: then all of them belong to each packet.
 */
void trn_check_trigger(struct trn_check_actor *actor, unsigned int queue_actor,
		       uint32_t m2s, uint32_t s2m)
{
	const uint32_t count[2] = { m2s, s2m };
	struct trn_check_actor *queue;
	struct trn_check_job *cj;
	unsigned int i;

	if (!actor)
		return;
	cj = actor->job;
	queue = &cj->actor[queue_actor];
	pthread_mutex_lock(&cj->lock);
	queue->triggered_by |= NEURON_BIT(actor - cj->actor);
	for (i = 0; i < 2; i++) {
		if (!queue->trigger[i])
			queue->trigger[i] = line_new(cj, 0);
		if (queue->trigger[i] && count[i])
			line_add(cj, queue->trigger[i], actor, count[i]);
	}
	pthread_mutex_unlock(&cj->lock);
	tick(actor);
}

static void take_triggers(struct trn_check_actor *queue,
			  struct trn_check_line *line, uint32_t count)
{
	struct trn_check_job *cj = queue->job;
	bool mixed = queue->triggered_by & (queue->triggered_by - 1);

	if (!line || !count)
		return;
	join(trn_check_clock(queue), mixed ? clock_at(cj, line, line->nr - 1) :
				   line_reached(cj, line, count), cj->group->nr_actors);
	line->taken += count;
}

void trn_check_packet(struct trn_check_actor *queue, uint32_t m2s, uint32_t s2m)
{
	struct trn_check_job *cj = queue->job;

	pthread_mutex_lock(&cj->lock);
	take_triggers(queue, queue->trigger[0], m2s);
	take_triggers(queue, queue->trigger[1], s2m);
	pthread_mutex_unlock(&cj->lock);
}

/* --- Jobs --- */

void trn_check_sync_destroy(struct trn_check_job *cj)
{
	unsigned int i;

	for (i = 0; i < TRN_TIME_SEMS; i++)
		free(cj->line[i]);
	for (i = 0; i < cj->nr_actors; i++) {
		free(cj->actor[i].trigger[0]);
		free(cj->actor[i].trigger[1]);
	}
}
