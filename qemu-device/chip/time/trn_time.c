// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Device time: timelines, from the start of a job to its times.
 *
 * The lock of a core's time guards its clocks and its replay; it is a leaf, one is
 * held at a time, and stamps are handed out without it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/trn_chip.h"
#include "sync/trn_sem.h"
#include "time/trn_time.h"
#include "time/trn_time_private.h"

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
	atomic_init(&made->stale, true);
	if (__atomic_compare_exchange_n(&core->time_private, &expected,
					(void *)made, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return made;
	pthread_mutex_destroy(&made->lock);
	free(made);
	return expected;
}

static void read_events(const uint8_t *event, int32_t *values)
{
	unsigned int i;

	for (i = 0; i < sizeof(uint64_t); i++)
		values[i] = event[i];
}

/* Each job does this: @values are zero, and so are most events. */
static void read_semaphores(struct trn_sems *sems, int32_t *values)
{
	uint64_t events;
	unsigned int i;

	pthread_mutex_lock(&sems->lock);
	memcpy(values, sems->value, sizeof(sems->value));
	for (i = 0; i < NEURON_NR_EVENTS; i += sizeof(events)) {
		memcpy(&events, &sems->event[i], sizeof(events));
		if (events)
			read_events(&sems->event[i], &values[TRN_SEM_OF_EVENT(i)]);
	}
	pthread_mutex_unlock(&sems->lock);
}

static void clock_start(struct trn_clock *clock, uint64_t start_ps)
{
	clock->free_ps = start_ps;
	clock->time_ps = start_ps;
}

static void actor_init(struct trn_timeline *tl, unsigned int index)
{
	struct trn_actor *actor = &tl->actor[index];

	actor->part = &tl->part;
	actor->queue = index >= TRN_ACTOR_QUEUE;
	actor->rank = index;
	clock_start(&actor->causal, tl->start_ps);
	clock_start(&actor->replay, tl->start_ps);
	actor->causal.last = &actor->causal.first;
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
	tl->groups = core->chip->groups;
	tl->nr_actors = TRN_ACTOR_QUEUE + nr_queues;
	tl->actor = calloc(tl->nr_actors, sizeof(*tl->actor));
	tl->nr_engines = TRN_DMA_ENGINES;
	tl->engine_rank = TRN_RANK_ENGINE;
	tl->engines = calloc(tl->nr_engines, sizeof(*tl->engines));
	tl->heap = calloc(tl->nr_actors + tl->nr_engines, sizeof(*tl->heap));
	tl->ct = trn_core_time(core);
	if (!tl->actor || !tl->engines || !tl->heap || !tl->ct)
		goto free_timeline;
	tl->part.sems = &tl->ct->sems;
	tl->part.first = tl->actor;
	tl->mail = &tl->ct->box;
	tl->start_ps = atomic_load(&core->virtual_ns) * 1000;
	atomic_init(&tl->next_drain, TRN_TIME_LIMIT);
	for (i = 0; i < tl->nr_actors; i++)
		actor_init(tl, i);
	for (i = TRN_ACTOR_QUEUE; i < tl->nr_actors; i++)
		trn_time_queue(tl, i, i - TRN_ACTOR_QUEUE, 0, 0);
	for (i = 0; i < tl->nr_engines; i++)
		tl->engines[i].first = TRN_NO_ACTOR;
	read_semaphores(core->sems, tl->real);

	pthread_mutex_lock(&tl->ct->lock);
	tl->ct->tl = tl;
	pthread_mutex_unlock(&tl->ct->lock);
	return tl;

free_timeline:
	free(tl->heap);
	free(tl->engines);
	free(tl->actor);
	free(tl);
	return NULL;
}

void trn_time_queue(struct trn_timeline *tl, unsigned int actor, unsigned int engine,
		    unsigned int queue, unsigned int priority)
{
	if (!tl)
		return;
	engine %= TRN_DMA_ENGINES;
	tl->actor[actor].engine = (uint16_t)engine;
	tl->actor[actor].priority = (uint8_t)priority;
	tl->actor[actor].rank = TRN_ACTOR_QUEUE + priority * NEURON_JOB_MAX_QUEUES +
				engine * NEURON_UDMA_QUEUES + queue;
}

void trn_time_start_at(struct trn_timeline *tl, uint64_t start_ns)
{
	unsigned int i;

	if (!tl)
		return;
	pthread_mutex_lock(&tl->ct->lock);
	tl->start_ps = start_ns * 1000;
	for (i = 0; i < tl->nr_actors; i++) {
		clock_start(&tl->actor[i].causal, tl->start_ps);
		clock_start(&tl->actor[i].replay, tl->start_ps);
	}
	pthread_mutex_unlock(&tl->ct->lock);
}

void trn_time_start(struct trn_timeline *tl, unsigned int actor)
{
	if (tl)
		atomic_store(&tl->actor[actor].running, true);
}

void trn_time_stop(struct trn_timeline *tl, unsigned int actor)
{
	if (tl)
		atomic_store(&tl->actor[actor].running, false);
}

void trn_timeline_detach(struct trn_timeline *tl)
{
	if (!tl->ct)
		return;
	pthread_mutex_lock(&tl->ct->lock);
	if (tl->ct->tl == tl)
		tl->ct->tl = NULL;
	pthread_mutex_unlock(&tl->ct->lock);
	tl->ct = NULL;
}

void trn_timeline_free(struct trn_timeline *tl)
{
	if (!tl)
		return;
	trn_timeline_detach(tl);
	trn_group_uncharge(tl);
	trn_replay_drop_mail(&tl->box, -1);
	free(tl->seed);
	trn_replay_free(tl);
	free(tl->stamps);
	free(tl->actor);
	free(tl);
}

static void set_semaphore(struct trn_core_time *ct, unsigned int sem,
			  int32_t value)
{
	ct->sems.value[sem] = value;
	ct->sems.changed_ps[sem] = 0;
	ct->folded[sem] = false;
	if (value || ct->history[sem])
		trn_causal_set(ct, sem, value);
}

static bool cleared(const uint64_t clear[4], unsigned int sem)
{
	return sem < NEURON_NR_SEMAPHORES && clear[sem / 64] >> (sem % 64) & 1;
}

static bool are_zero(const int32_t *values)
{
	int32_t any = 0;
	unsigned int i;

	for (i = 0; i < TRN_TIME_TOGETHER; i++)
		any |= values[i];
	return !any;
}

/*
 * Each job sets all semaphores, and most have neither a history nor a poster elsewhere. Set those
 * from @first on at once, if all become 0 and that is all there is to do.
 */
static bool begin_at_zero(struct trn_timeline *tl, const uint64_t clear[4], unsigned int first)
{
	uint64_t mask = first < NEURON_NR_SEMAPHORES ? clear[first / 64] : 0;
	struct trn_core_time *ct = tl->ct;

	if (ct->special[first / TRN_TIME_TOGETHER] ||
	    (mask != UINT64_MAX && !are_zero(&tl->real[first])))
		return false;
	memset(&ct->sems.value[first], 0, TRN_TIME_TOGETHER * sizeof(ct->sems.value[0]));
	memset(&ct->sems.changed_ps[first], 0, TRN_TIME_TOGETHER * sizeof(ct->sems.changed_ps[0]));
	return true;
}

/*
 * A semaphore that only this core's jobs post to has its real value, also when
 * something outside the model changed it. Of the others the modelled value goes
 * on: a post may be recorded and on its way.
 */
static void begin_some(struct trn_timeline *tl, const uint64_t clear[4], unsigned int first)
{
	struct trn_core_time *ct = tl->ct;
	unsigned int i;

	for (i = first; i < first + TRN_TIME_TOGETHER; i++) {
		if (cleared(clear, i)) {
			set_semaphore(ct, i, 0);
			if (ct->foreign[i])
				trn_replay_drop_mail(&ct->box, (int)i);
		} else if (!ct->foreign[i]) {
			set_semaphore(ct, i, tl->real[i]);
		} else if (ct->folded[i]) {
			ct->folded[i] = false;
			atomic_store(&tl->inexact, true);
			atomic_store(&tl->vague, true);
		}
	}
}

static void begin_alone(struct trn_timeline *tl, const uint64_t clear[4])
{
	unsigned int first;

	for (first = 0; first < TRN_TIME_SEMS; first += TRN_TIME_TOGETHER)
		if (!begin_at_zero(tl, clear, first))
			begin_some(tl, clear, first);
}

/* The modelled values have not followed the jobs in groups: the real ones count. */
static void leave_groups(struct trn_timeline *tl)
{
	struct trn_core_time *ct = tl->ct;
	const struct trn_mail *mail;

	for (mail = ct->box.first; mail; mail = mail->next)
		if (mail->group)
			atomic_store(&ct->mixed, true);
	trn_replay_drop_mail(&ct->box, -1);
	trn_replay_drop_mail(&tl->box, -1);
	memset(ct->foreign, 0, sizeof(ct->foreign));
	ct->grouped = false;
}

/* The same for a job in a group: it keeps the values for its replay. */
static void begin_grouped(struct trn_timeline *tl, const uint64_t clear[4])
{
	struct trn_core_time *ct = tl->ct;
	struct trn_sem_seed *seed = tl->seed;
	unsigned int i;

	for (i = 0; i < TRN_TIME_SEMS; i++) {
		seed->known[i] = true;
		if (cleared(clear, i)) {
			set_semaphore(ct, i, 0);
		} else if (!ct->foreign[i] || (tl->fresh && ct->grouped)) {
			set_semaphore(ct, i, tl->real[i]);
			seed->value[i] = tl->real[i];
		} else if (tl->fresh) {
			seed->value[i] = ct->sems.value[i];
		} else {
			seed->known[i] = false;
		}
	}
	trn_group_fetch_mail(tl);
	/* The real values may hold what others of the group have posted already. */
	if (tl->fresh && ct->grouped && tl->box.first)
		atomic_store(&tl->inexact, true);
	ct->grouped = true;
}

/* Posts that are there already may have dates that depend on the host. */
static void note_vague(struct trn_timeline *tl, const struct trn_mailbox *box)
{
	const struct trn_mail *mail;

	for (mail = box->first; mail; mail = mail->next)
		if (mail->vague)
			atomic_store(&tl->vague, true);
}

void trn_time_begin(struct trn_timeline *tl, const uint64_t clear[4])
{
	if (!tl)
		return;
	pthread_mutex_lock(&tl->ct->lock);
	if (tl->group) {
		begin_grouped(tl, clear);
	} else {
		if (tl->ct->grouped)
			leave_groups(tl);
		atomic_store(&tl->ct->stale, true);
		begin_alone(tl, clear);
	}
	note_vague(tl, &tl->ct->box);
	note_vague(tl, &tl->box);
	pthread_mutex_unlock(&tl->ct->lock);
}

void trn_time_end_at(struct trn_timeline *tl, uint64_t time_ps)
{
	if (tl)
		tl->end_ps = time_ps;
}

static uint64_t last_time(const struct trn_timeline *tl)
{
	uint64_t last = tl->start_ps;
	unsigned int i;

	if (tl->end_ps)
		return last < tl->end_ps ? tl->end_ps : last;
	for (i = 0; i < tl->nr_actors; i++) {
		uint64_t time = tl->actor[i].replay.time_ps +
				tl->actor[i].pending_ps;

		if (last < time)
			last = time;
	}
	return last;
}

static bool finish_some(struct trn_timeline *tl)
{
	bool more = trn_replay_some(tl, TRN_REPLAY_END);

	return trn_trace_tell(tl) || more;
}

bool trn_time_finish(struct trn_timeline *tl, struct trn_budget *budget)
{
	if (!tl || atomic_load(&tl->kept))
		return true;
	while (finish_some(tl))
		if (trn_budget_spent(budget))
			return false;
	return true;
}

void trn_time_replay(struct trn_timeline *tl, uint64_t *start_ns,
		     uint64_t *end_ns, trn_stamp_fn stamp, void *arg)
{
	if (!tl)
		return;
	while (finish_some(tl))
		;
	*start_ns = tl->start_ps / 1000;
	*end_ns = (last_time(tl) + 999) / 1000;
	atomic_store(&tl->core->virtual_ns, *end_ns);
	trn_time_stamps(tl, stamp, arg);
}

void trn_time_stamps(struct trn_timeline *tl, trn_stamp_fn stamp, void *arg)
{
	size_t i, first;

	first = tl->nr_stamps > TRN_TIME_STAMPS ?
		tl->nr_stamps - TRN_TIME_STAMPS : 0;
	for (i = first; i < tl->nr_stamps; i++) {
		const struct trn_stamp *s = &tl->stamps[i % TRN_TIME_STAMPS];

		stamp(arg, s->cookie, s->time_ns);
	}
}

bool trn_time_exact(const struct trn_timeline *tl)
{
	return !tl || (!atomic_load(&tl->inexact) && !atomic_load(&tl->lost));
}

uint64_t trn_time_now(struct trn_chip *chip)
{
	uint64_t now = 0;
	unsigned int i;

	for (i = 0; i < neuron_nr_units(chip->gen); i++) {
		uint64_t time = atomic_load(&trn_unit(chip, i)->virtual_ns);

		if (now < time)
			now = time;
	}
	return now;
}

void trn_time_core_reset(struct trn_core *core)
{
	struct trn_core_time *ct;

	ct = __atomic_load_n(&core->time_private, __ATOMIC_ACQUIRE);
	if (!ct)
		return;
	pthread_mutex_lock(&ct->lock);
	memset(&ct->sems, 0, sizeof(ct->sems));
	memset(ct->foreign, 0, sizeof(ct->foreign));
	memset(ct->folded, 0, sizeof(ct->folded));
	memset(ct->special, 0, sizeof(ct->special));
	trn_causal_free(ct);
	trn_replay_drop_mail(&ct->box, -1);
	ct->grouped = false;
	atomic_store(&ct->stale, true);
	atomic_store(&ct->mixed, false);
	pthread_mutex_unlock(&ct->lock);
}

size_t trn_time_core_bytes(struct trn_core *core)
{
	struct trn_core_time *ct;
	size_t bytes;

	ct = __atomic_load_n(&core->time_private, __ATOMIC_ACQUIRE);
	if (!ct)
		return 0;
	pthread_mutex_lock(&ct->lock);
	bytes = sizeof(*ct) + ct->box.nr * sizeof(*ct->box.first);
	if (ct->settled)
		bytes += sizeof(*ct->settled);
	bytes += trn_causal_bytes(ct);
	pthread_mutex_unlock(&ct->lock);
	return bytes;
}

void trn_time_core_destroy(struct trn_core *core)
{
	struct trn_core_time *ct = core->time_private;

	if (!ct)
		return;
	core->time_private = NULL;
	trn_replay_drop_mail(&ct->box, -1);
	trn_causal_free(ct);
	pthread_mutex_destroy(&ct->lock);
	free(ct->settled);
	free(ct);
}
