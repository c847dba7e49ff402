// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Device time: timelines and their records.
 *
 * An actor appends to its own list without a lock. One lock for the process
 * guards everything that the replay works on and the links between timelines:
 * jobs of different chips meet at it, so it cannot belong to any of them. It is
 * a leaf: nothing is called with it held, and stamps are handed out without it.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "trn_internal.h"
#include "trn_replay.h"

/*
 * How long a replay, all its waits together, lets a poster that is between its
 * post and the record of it get on, before it takes the post for one from outside
 * the model.
 */
#define GRACE_ROUNDS	20
#define GRACE_NS	50000

static pthread_mutex_t time_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int live_timelines;

struct trn_core_time *trn_core_time(struct trn_core *core)
{
	struct trn_core_time *ct = core->time_private;

	if (ct)
		return ct;
	ct = calloc(1, sizeof(*ct));
	if (!ct)
		return NULL;
	ct->core = core;
	core->time_private = ct;
	return ct;
}

static void read_semaphores(struct trn_sems *sems, int32_t *values)
{
	pthread_mutex_lock(&sems->lock);
	memcpy(values, sems->value, sizeof(sems->value));
	pthread_mutex_unlock(&sems->lock);
}

struct trn_timeline *trn_timeline_new(struct trn_core *core,
				      unsigned int nr_queues)
{
	struct trn_timeline *tl;
	unsigned int i;

	if (!core->chip->config.clock)
		return NULL;
	tl = calloc(1, sizeof(*tl));
	if (!tl)
		return NULL;
	tl->core = core;
	tl->nr_actors = TRN_ACTOR_QUEUE + nr_queues;
	tl->actor = calloc(tl->nr_actors, sizeof(*tl->actor));
	if (!tl->actor)
		goto free_timeline;
	tl->start_ps = atomic_load(&core->virtual_ns) * 1000;
	atomic_init(&tl->next_drain, TRN_TIME_LIMIT);
	for (i = 0; i < tl->nr_actors; i++) {
		tl->actor[i].time_ps = tl->start_ps;
		tl->actor[i].last_trigger = &tl->actor[i].triggers;
	}
	read_semaphores(&core->sems, tl->real);

	pthread_mutex_lock(&time_lock);
	tl->ct = trn_core_time(core);
	if (tl->ct) {
		tl->ct->tl = tl;
		live_timelines++;
	}
	pthread_mutex_unlock(&time_lock);
	if (tl->ct)
		return tl;

	free(tl->actor);
free_timeline:
	free(tl);
	return NULL;
}

static void unlink_from_target(struct trn_link *link)
{
	struct trn_link **at = &link->target->posters;

	while (*at != link)
		at = &(*at)->next_of_target;
	*at = link->next_of_target;
}

static void unlink_from_timeline(struct trn_link *link)
{
	struct trn_link **at = &link->tl->links;

	while (*at != link)
		at = &(*at)->next_of_tl;
	*at = link->next_of_tl;
}

void trn_timeline_free(struct trn_timeline *tl)
{
	struct trn_link *link;

	if (!tl)
		return;
	pthread_mutex_lock(&time_lock);
	while ((link = tl->links)) {
		tl->links = link->next_of_tl;
		unlink_from_target(link);
		free(link);
	}
	tl->ct->tl = NULL;
	live_timelines--;
	pthread_mutex_unlock(&time_lock);
	trn_replay_free(tl);
	free(tl->stamps);
	free(tl->actor);
	free(tl);
}

/*
 * Of the semaphores that are not cleared the modelled value goes on, unless no
 * other job runs that could post here: then the real one is exact and knows of
 * changes from outside.
 */
void trn_time_begin(struct trn_timeline *tl, const uint64_t clear[4])
{
	struct trn_core_time *ct;
	unsigned int i;
	bool alone;

	if (!tl)
		return;
	pthread_mutex_lock(&time_lock);
	ct = tl->ct;
	alone = live_timelines == 1 && !ct->inbox;
	ct->epoch++;
	for (i = 0; i < NEURON_NR_SEMAPHORES; i++) {
		if (clear[i / 64] >> (i % 64) & 1) {
			ct->value[i] = 0;
			ct->changed_ps[i] = 0;
			ct->cleared[i] = ct->epoch;
			trn_replay_drop_mail(ct, (int)i);
		} else if (alone && ct->value[i] != tl->real[i]) {
			ct->value[i] = tl->real[i];
			ct->changed_ps[i] = 0;
		}
	}
	pthread_mutex_unlock(&time_lock);
}

static bool timeline_usable(const struct trn_timeline *tl)
{
	return tl && !atomic_load_explicit(&tl->lost, memory_order_relaxed);
}

static struct trn_chunk *next_chunk(struct trn_actor *actor)
{
	struct trn_chunk *chunk = calloc(1, sizeof(*chunk));

	if (!chunk)
		return NULL;
	if (actor->last)
		atomic_store_explicit(&actor->last->next, chunk,
				      memory_order_release);
	else
		atomic_store_explicit(&actor->first, chunk,
				      memory_order_release);
	actor->last = chunk;
	return chunk;
}

/* Replay until half of the limit is left, as far as that is possible. */
static void drain(struct trn_timeline *tl)
{
	pthread_mutex_lock(&time_lock);
	while (atomic_load(&tl->nr_records) > TRN_TIME_LIMIT / 2)
		if (!trn_replay_step(tl))
			break;
	/* Something outside the model holds it up. */
	while (atomic_load(&tl->nr_records) > 8 * TRN_TIME_LIMIT)
		if (!trn_replay_step(tl) && !trn_replay_force(tl))
			break;
	atomic_store(&tl->next_drain,
		     atomic_load(&tl->nr_records) + TRN_TIME_LIMIT / 2);
	pthread_mutex_unlock(&time_lock);
}

static void append(struct trn_timeline *tl, unsigned int index,
		   struct trn_record *record)
{
	struct trn_actor *actor = &tl->actor[index];
	struct trn_chunk *chunk = actor->last;
	uint32_t tail;

	if (!chunk || atomic_load_explicit(&chunk->tail, memory_order_relaxed) ==
		      TRN_CHUNK_RECORDS)
		chunk = next_chunk(actor);
	if (!chunk) {
		atomic_store(&tl->lost, true);
		return;
	}
	record->pre_ps = actor->pending_ps;
	actor->pending_ps = 0;
	tail = atomic_load_explicit(&chunk->tail, memory_order_relaxed);
	chunk->record[tail] = *record;
	atomic_fetch_add_explicit(&tl->nr_records, 1, memory_order_relaxed);
	atomic_store_explicit(&chunk->tail, tail + 1, memory_order_release);
	if (atomic_load_explicit(&tl->nr_records, memory_order_relaxed) >=
	    atomic_load_explicit(&tl->next_drain, memory_order_relaxed))
		drain(tl);
}

void trn_time_exec(struct trn_timeline *tl, unsigned int actor, uint64_t cost_ps)
{
	if (tl)
		tl->actor[actor].pending_ps += cost_ps;
}

void trn_time_wait(struct trn_timeline *tl, unsigned int actor, unsigned int sem,
		   unsigned int sync, int32_t value)
{
	struct trn_record record = {
		.kind = TRN_RECORD_WAIT,
		.index = (uint16_t)sem,
		.op = (uint8_t)sync,
		.value = value,
	};

	if (timeline_usable(tl))
		append(tl, actor, &record);
}

/* Have a link to @target. False: no memory. */
static bool link_to(struct trn_timeline *tl, struct trn_core *target,
		    uint32_t *epoch)
{
	struct trn_core_time *ct;
	struct trn_link *link;
	bool ok = false;

	pthread_mutex_lock(&time_lock);
	ct = trn_core_time(target);
	if (!ct)
		goto unlock;
	*epoch = ct->epoch;
	for (link = tl->links; link && link->target != ct;)
		link = link->next_of_tl;
	ok = link;
	if (ok)
		goto unlock;
	link = calloc(1, sizeof(*link));
	if (!link)
		goto unlock;
	link->tl = tl;
	link->target = ct;
	link->next_of_tl = tl->links;
	tl->links = link;
	link->next_of_target = ct->posters;
	ct->posters = link;
	ok = true;
unlock:
	pthread_mutex_unlock(&time_lock);
	return ok;
}

void trn_time_post(struct trn_timeline *tl, unsigned int actor,
		   struct trn_core *target, unsigned int sem, unsigned int op,
		   int32_t value)
{
	struct trn_record record = {
		.kind = TRN_RECORD_POST,
		.target = target,
		.index = (uint16_t)sem,
		.op = (uint8_t)op,
		.value = value,
	};

	if (!timeline_usable(tl))
		return;
	if (target != tl->core && !link_to(tl, target, &record.epoch)) {
		atomic_store(&tl->lost, true);
		return;
	}
	append(tl, actor, &record);
}

void trn_time_trigger(struct trn_timeline *tl, unsigned int actor,
		      unsigned int queue_actor, uint32_t descriptors)
{
	struct trn_record record = {
		.kind = TRN_RECORD_TRIGGER,
		.index = (uint16_t)queue_actor,
		.value = (int32_t)descriptors,
	};

	if (descriptors && timeline_usable(tl))
		append(tl, actor, &record);
}

void trn_time_dma(struct trn_timeline *tl, unsigned int queue_actor,
		  uint32_t bytes, unsigned int hops)
{
	struct trn_record record = {
		.kind = TRN_RECORD_DMA,
		.bytes = bytes,
		.hops = hops,
	};

	if (timeline_usable(tl))
		append(tl, queue_actor, &record);
}

void trn_time_stamp(struct trn_timeline *tl, unsigned int actor, uint64_t cookie)
{
	struct trn_record record = {
		.kind = TRN_RECORD_STAMP,
		.cookie = cookie,
	};

	if (timeline_usable(tl))
		append(tl, actor, &record);
}

/* Let a poster get on that has posted and not yet recorded it. */
static void give_way(void)
{
	const struct timespec pause = { .tv_nsec = GRACE_NS };

	pthread_mutex_unlock(&time_lock);
	nanosleep(&pause, NULL);
	pthread_mutex_lock(&time_lock);
}

static void replay_all(struct trn_timeline *tl)
{
	unsigned int grace = 0;

	for (;;) {
		if (trn_replay_step(tl))
			continue;
		if (!atomic_load(&tl->nr_records))
			return;
		if (live_timelines > 1 && grace++ < GRACE_ROUNDS) {
			give_way();
			continue;
		}
		if (!trn_replay_force(tl))
			return;
	}
}

static uint64_t last_time(const struct trn_timeline *tl)
{
	uint64_t last = tl->start_ps;
	unsigned int i;

	for (i = 0; i < tl->nr_actors; i++) {
		uint64_t time = tl->actor[i].time_ps + tl->actor[i].pending_ps;

		if (last < time)
			last = time;
	}
	return last;
}

void trn_time_replay(struct trn_timeline *tl, uint64_t *start_ns,
		     uint64_t *end_ns, trn_stamp_fn stamp, void *arg)
{
	size_t i, first;

	if (!tl)
		return;
	pthread_mutex_lock(&time_lock);
	replay_all(tl);
	*start_ns = tl->start_ps / 1000;
	*end_ns = (last_time(tl) + 999) / 1000;
	pthread_mutex_unlock(&time_lock);

	atomic_store(&tl->core->virtual_ns, *end_ns);
	first = tl->nr_stamps > TRN_TIME_STAMPS ?
		tl->nr_stamps - TRN_TIME_STAMPS : 0;
	for (i = first; i < tl->nr_stamps; i++) {
		const struct trn_stamp *s = &tl->stamps[i % TRN_TIME_STAMPS];

		stamp(arg, s->cookie, s->time_ns);
	}
}

uint64_t trn_time_now(const struct trn_core *core)
{
	const struct trn_chip *chip = core->chip;
	uint64_t now = 0;
	unsigned int i;

	for (i = 0; i < chip->gen->nr_cores; i++) {
		uint64_t time = atomic_load(&chip->core[i].virtual_ns);

		if (now < time)
			now = time;
	}
	return now;
}

void trn_time_core_reset(struct trn_core *core)
{
	struct trn_core_time *ct;
	unsigned int i;

	pthread_mutex_lock(&time_lock);
	ct = core->time_private;
	if (ct) {
		ct->epoch++;
		for (i = 0; i < NEURON_NR_SEMAPHORES; i++)
			ct->cleared[i] = ct->epoch;
		memset(ct->value, 0, sizeof(ct->value));
		memset(ct->changed_ps, 0, sizeof(ct->changed_ps));
		trn_replay_drop_mail(ct, -1);
	}
	pthread_mutex_unlock(&time_lock);
}

void trn_time_core_destroy(struct trn_core *core)
{
	struct trn_core_time *ct;
	struct trn_link *link;

	pthread_mutex_lock(&time_lock);
	ct = core->time_private;
	core->time_private = NULL;
	if (ct) {
		while ((link = ct->posters)) {
			ct->posters = link->next_of_target;
			unlink_from_timeline(link);
			free(link);
		}
		trn_replay_drop_mail(ct, -1);
		free(ct);
	}
	pthread_mutex_unlock(&time_lock);
}
