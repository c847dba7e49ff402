// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Device time: timelines and their records.
 *
 * An actor appends to its own list without a lock. The lock of a core's time
 * guards its clocks and its replay; it is a leaf, one is held at a time, and
 * stamps are handed out without it.
 */
#include <stdlib.h>
#include <string.h>

#include "trn_internal.h"
#include "trn_replay.h"

struct trn_core_time *trn_core_time(struct trn_core *core)
{
	struct trn_core_time *ct, *made;
	void *expected = NULL;

	ct = __atomic_load_n(&core->time_private, __ATOMIC_ACQUIRE);
	if (ct)
		return ct;
	made = calloc(1, sizeof(*made));
	if (!made)
		return NULL;
	pthread_mutex_init(&made->lock, NULL);
	if (__atomic_compare_exchange_n(&core->time_private, &expected,
					(void *)made, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return made;
	pthread_mutex_destroy(&made->lock);
	free(made);
	return expected;
}

static void read_semaphores(struct trn_sems *sems, int32_t *values)
{
	unsigned int i;

	pthread_mutex_lock(&sems->lock);
	memcpy(values, sems->value, sizeof(sems->value));
	for (i = 0; i < NEURON_NR_EVENTS; i++)
		values[TRN_TIME_EVENT(i)] = sems->event[i];
	pthread_mutex_unlock(&sems->lock);
}

static void actor_init(struct trn_actor *actor, uint64_t start_ps)
{
	actor->causal.time_ps = start_ps;
	actor->causal.last = &actor->causal.first;
	actor->replay.time_ps = start_ps;
	actor->replay.last = &actor->replay.first;
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
	tl->ct = trn_core_time(core);
	if (!tl->actor || !tl->ct)
		goto free_timeline;
	tl->start_ps = atomic_load(&core->virtual_ns) * 1000;
	atomic_init(&tl->next_drain, TRN_TIME_LIMIT);
	for (i = 0; i < tl->nr_actors; i++)
		actor_init(&tl->actor[i], tl->start_ps);
	read_semaphores(&core->sems, tl->real);

	pthread_mutex_lock(&tl->ct->lock);
	tl->ct->tl = tl;
	pthread_mutex_unlock(&tl->ct->lock);
	return tl;

free_timeline:
	free(tl->actor);
	free(tl);
	return NULL;
}

void trn_timeline_free(struct trn_timeline *tl)
{
	if (!tl)
		return;
	pthread_mutex_lock(&tl->ct->lock);
	tl->ct->tl = NULL;
	pthread_mutex_unlock(&tl->ct->lock);
	trn_replay_free(tl);
	free(tl->stamps);
	free(tl->actor);
	free(tl);
}

static void set_semaphore(struct trn_core_time *ct, unsigned int sem,
			  int32_t value)
{
	ct->value[sem] = value;
	ct->changed_ps[sem] = 0;
	trn_causal_set(ct, sem, value);
}

/*
 * A semaphore that only this core's jobs post to has its real value, also when
 * something outside the model changed it. Of the others the modelled value goes
 * on: a post may be recorded and on its way.
 */
void trn_time_begin(struct trn_timeline *tl, const uint64_t clear[4])
{
	struct trn_core_time *ct;
	unsigned int i;

	if (!tl)
		return;
	ct = tl->ct;
	pthread_mutex_lock(&ct->lock);
	for (i = 0; i < TRN_TIME_SEMS; i++) {
		if (i < NEURON_NR_SEMAPHORES && clear[i / 64] >> (i % 64) & 1) {
			set_semaphore(ct, i, 0);
			if (ct->foreign[i])
				trn_replay_drop_mail(ct, (int)i);
		} else if (!ct->foreign[i]) {
			set_semaphore(ct, i, tl->real[i]);
		}
	}
	pthread_mutex_unlock(&ct->lock);
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

static bool replay_one(struct trn_timeline *tl, bool force)
{
	bool done;

	pthread_mutex_lock(&tl->ct->lock);
	done = trn_replay_step(tl);
	if (!done && force)
		done = trn_replay_force(tl);
	pthread_mutex_unlock(&tl->ct->lock);
	return done;
}

/*
 * Replay until half of the limit is left. What stands in the way may still be
 * recorded, so a wait is only ended by force when much more has piled up.
 */
static void drain(struct trn_timeline *tl)
{
	size_t nr;

	while ((nr = atomic_load(&tl->nr_records)) > TRN_TIME_LIMIT / 2)
		if (!replay_one(tl, nr > 8 * TRN_TIME_LIMIT))
			break;
	atomic_store(&tl->next_drain,
		     atomic_load(&tl->nr_records) + TRN_TIME_LIMIT / 2);
}

bool trn_timeline_record(struct trn_timeline *tl, unsigned int index,
			 const struct trn_record *record)
{
	struct trn_actor *actor = &tl->actor[index];
	struct trn_chunk *chunk = actor->last;
	uint32_t tail;

	if (!chunk || atomic_load_explicit(&chunk->tail, memory_order_relaxed) ==
		      TRN_CHUNK_RECORDS)
		chunk = next_chunk(actor);
	if (!chunk) {
		atomic_store(&tl->lost, true);
		return false;
	}
	tail = atomic_load_explicit(&chunk->tail, memory_order_relaxed);
	chunk->record[tail] = *record;
	atomic_fetch_add_explicit(&tl->nr_records, 1, memory_order_relaxed);
	atomic_store_explicit(&chunk->tail, tail + 1, memory_order_release);
	return true;
}

static void append(struct trn_timeline *tl, unsigned int index,
		   struct trn_record *record)
{
	struct trn_actor *actor = &tl->actor[index];

	record->pre_ps = actor->pending_ps;
	if (!trn_timeline_record(tl, index, record))
		return;
	actor->pending_ps = 0;
	if (atomic_load_explicit(&tl->nr_records, memory_order_relaxed) >=
	    atomic_load_explicit(&tl->next_drain, memory_order_relaxed))
		drain(tl);
}

void trn_time_exec(struct trn_timeline *tl, unsigned int actor, uint64_t cost_ps)
{
	if (!tl)
		return;
	tl->actor[actor].pending_ps += cost_ps;
	tl->actor[actor].causal.time_ps += cost_ps;
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
	struct trn_flow *causal;

	if (!timeline_usable(tl))
		return;
	causal = &tl->actor[actor].causal;
	pthread_mutex_lock(&tl->ct->lock);
	causal->time_ps = trn_causal_wait(tl->ct, sem, sync, value,
					  causal->time_ps);
	pthread_mutex_unlock(&tl->ct->lock);
	append(tl, actor, &record);
}

/* To a core of another job: dated by the causal clock, no record of this job. */
static void post_away(struct trn_timeline *tl, struct trn_core_time *ct,
		      unsigned int actor, unsigned int sem, unsigned int op,
		      int32_t value)
{
	const struct trn_mail mail = {
		.time_ps = tl->actor[actor].causal.time_ps,
		.sender = trn_replay_rank(tl, actor),
		.sem = (uint16_t)sem,
		.op = (uint8_t)op,
		.value = value,
	};

	pthread_mutex_lock(&ct->lock);
	ct->foreign[sem] = true;
	trn_causal_post(ct, sem, op, value, mail.time_ps);
	trn_replay_mail(ct, &mail);
	pthread_mutex_unlock(&ct->lock);
}

void trn_time_post(struct trn_timeline *tl, unsigned int actor,
		   struct trn_core *target, unsigned int sem, unsigned int op,
		   int32_t value)
{
	struct trn_record record = {
		.kind = TRN_RECORD_POST,
		.index = (uint16_t)sem,
		.op = (uint8_t)op,
		.value = value,
	};
	struct trn_core_time *ct;

	if (!timeline_usable(tl))
		return;
	if (target != tl->core) {
		ct = trn_core_time(target);
		if (ct)
			post_away(tl, ct, actor, sem, op, value);
		return;
	}
	pthread_mutex_lock(&tl->ct->lock);
	trn_causal_post(tl->ct, sem, op, value, tl->actor[actor].causal.time_ps);
	pthread_mutex_unlock(&tl->ct->lock);
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

	if (!descriptors || !timeline_usable(tl))
		return;
	pthread_mutex_lock(&tl->ct->lock);
	trn_flow_trigger(&tl->actor[queue_actor].causal,
			 tl->actor[actor].causal.time_ps, descriptors);
	pthread_mutex_unlock(&tl->ct->lock);
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

	if (!timeline_usable(tl))
		return;
	pthread_mutex_lock(&tl->ct->lock);
	trn_flow_move(&tl->actor[queue_actor].causal, bytes, hops,
		      tl->core->chip->gen->dma_bytes_per_us);
	pthread_mutex_unlock(&tl->ct->lock);
	append(tl, queue_actor, &record);
}

uint64_t trn_time_actor(const struct trn_timeline *tl, unsigned int actor)
{
	return tl ? tl->actor[actor].causal.time_ps / 1000 : 0;
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

static uint64_t last_time(const struct trn_timeline *tl)
{
	uint64_t last = tl->start_ps;
	unsigned int i;

	for (i = 0; i < tl->nr_actors; i++) {
		uint64_t time = tl->actor[i].replay.time_ps +
				tl->actor[i].pending_ps;

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
	while (atomic_load(&tl->nr_records))
		if (!replay_one(tl, true))
			break;
	*start_ns = tl->start_ps / 1000;
	*end_ns = (last_time(tl) + 999) / 1000;
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

	ct = __atomic_load_n(&core->time_private, __ATOMIC_ACQUIRE);
	if (!ct)
		return;
	pthread_mutex_lock(&ct->lock);
	for (i = 0; i < TRN_TIME_SEMS; i++)
		set_semaphore(ct, i, 0);
	memset(ct->foreign, 0, sizeof(ct->foreign));
	trn_replay_drop_mail(ct, -1);
	pthread_mutex_unlock(&ct->lock);
}

void trn_time_core_destroy(struct trn_core *core)
{
	struct trn_core_time *ct = core->time_private;
	unsigned int i;

	if (!ct)
		return;
	core->time_private = NULL;
	trn_replay_drop_mail(ct, -1);
	for (i = 0; i < TRN_TIME_SEMS; i++)
		free(ct->history[i]);
	pthread_mutex_destroy(&ct->lock);
	free(ct);
}
