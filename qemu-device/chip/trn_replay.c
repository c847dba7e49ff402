// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Device time: the discrete-event replay.
 *
 * An event is the next record of an actor or the next mail of a core. Those of
 * a timeline are taken in time order. When it has none that can go on it waits
 * for another job's post, and the jobs that post to it are replayed, event by
 * event, until one arrives.
 */
#include <stdlib.h>

#include "trn_cost.h"
#include "trn_internal.h"
#include "trn_replay.h"

/* Mail of a core that runs no job is folded into its semaphores beyond this. */
#define MAIL_LIMIT	4096

static uint64_t visit_count;

/* Order of actors that act at the same time. */
static uint64_t actor_rank(const struct trn_timeline *tl, unsigned int actor)
{
	uint64_t chip = tl->core->chip->config.fabric_id;

	return chip << 32 | (uint64_t)tl->core->index << 16 | actor;
}

/* The actor's next record, or NULL. */
static struct trn_record *peek(struct trn_actor *actor)
{
	struct trn_chunk *chunk, *next;

	chunk = atomic_load_explicit(&actor->first, memory_order_acquire);
	if (!chunk)
		return NULL;
	if (chunk->head == TRN_CHUNK_RECORDS) {
		next = atomic_load_explicit(&chunk->next, memory_order_acquire);
		if (!next)
			return NULL;
		atomic_store_explicit(&actor->first, next, memory_order_relaxed);
		free(chunk);
		chunk = next;
	}
	if (chunk->head == atomic_load_explicit(&chunk->tail,
						memory_order_acquire))
		return NULL;
	return &chunk->record[chunk->head];
}

static void consume(struct trn_timeline *tl, struct trn_actor *actor)
{
	struct trn_chunk *chunk = atomic_load_explicit(&actor->first,
						       memory_order_relaxed);

	chunk->head++;
	actor->parked = false;
	atomic_fetch_sub_explicit(&tl->nr_records, 1, memory_order_relaxed);
}

static bool satisfied(const struct trn_core_time *ct,
		      const struct trn_record *wait)
{
	int32_t value = ct->value[wait->index];

	if (NEURON_GET(NEURON_SYNC_WAIT, wait->op) == NEURON_SYNC_WAIT_EQ)
		return value == wait->value;
	return value >= wait->value;
}

/* The wait is over at @time or when the actor gets there, if that is later. */
static void end_wait(struct trn_timeline *tl, struct trn_actor *actor,
		     const struct trn_record *wait, uint64_t time)
{
	struct trn_core_time *ct = tl->ct;

	actor->time_ps += wait->pre_ps;
	if (actor->time_ps < time)
		actor->time_ps = time;
	if (wait->op & NEURON_SYNC_TAKE) {
		ct->value[wait->index] = (int32_t)((uint32_t)ct->value[wait->index] -
						   (uint32_t)wait->value);
		if (ct->changed_ps[wait->index] < actor->time_ps)
			ct->changed_ps[wait->index] = actor->time_ps;
	}
	consume(tl, actor);
}

/* The parked waiter of @sem whose turn it is: the first that came. */
static struct trn_actor *next_waiter(struct trn_timeline *tl, unsigned int sem)
{
	struct trn_actor *best = NULL;
	uint64_t best_time = 0;
	unsigned int i;

	for (i = 0; i < TRN_ACTOR_QUEUE; i++) {
		struct trn_actor *actor = &tl->actor[i];
		const struct trn_record *record = peek(actor);
		uint64_t time;

		if (!actor->parked || !record || record->kind != TRN_RECORD_WAIT ||
		    record->index != sem || !satisfied(tl->ct, record))
			continue;
		time = actor->time_ps + record->pre_ps;
		if (!best || time < best_time) {
			best = actor;
			best_time = time;
		}
	}
	return best;
}

static void change_semaphore(struct trn_core_time *ct, unsigned int sem,
			     unsigned int op, int32_t value, uint64_t time)
{
	uint32_t old = (uint32_t)ct->value[sem];
	struct trn_actor *actor;

	if (op == NEURON_SYNC_POST_ADD)
		ct->value[sem] = (int32_t)(old + (uint32_t)value);
	else if (op == NEURON_SYNC_POST_SUB)
		ct->value[sem] = (int32_t)(old - (uint32_t)value);
	else
		ct->value[sem] = value;
	if (ct->changed_ps[sem] < time)
		ct->changed_ps[sem] = time;
	while (ct->tl && (actor = next_waiter(ct->tl, sem)))
		end_wait(ct->tl, actor, peek(actor), time);
}

/* --- mail between cores --- */

static void take_mail(struct trn_core_time *ct)
{
	struct trn_mail *mail = ct->inbox;

	ct->inbox = mail->next;
	ct->nr_mail--;
	change_semaphore(ct, mail->sem, mail->op, mail->value, mail->time_ps);
	free(mail);
}

void trn_replay_drop_mail(struct trn_core_time *ct, int sem)
{
	struct trn_mail **at = &ct->inbox;
	struct trn_mail *mail;

	while ((mail = *at)) {
		if (sem >= 0 && mail->sem != sem) {
			at = &mail->next;
			continue;
		}
		*at = mail->next;
		ct->nr_mail--;
		free(mail);
	}
}

static void send_mail(struct trn_core_time *ct, const struct trn_record *post,
		      uint64_t time, uint64_t sender)
{
	struct trn_mail *mail;
	struct trn_mail **at;

	if (post->epoch < ct->cleared[post->index])
		return;
	mail = malloc(sizeof(*mail));
	if (!mail) {
		change_semaphore(ct, post->index, post->op, post->value, time);
		return;
	}
	*mail = (struct trn_mail){
		.time_ps = time,
		.sender = sender,
		.value = post->value,
		.sem = post->index,
		.op = post->op,
	};
	for (at = &ct->inbox; *at; at = &(*at)->next)
		if ((*at)->time_ps > time ||
		    ((*at)->time_ps == time && (*at)->sender > sender))
			break;
	mail->next = *at;
	*at = mail;
	if (++ct->nr_mail > MAIL_LIMIT && !ct->tl)
		take_mail(ct);
}

/* --- events --- */

static void event_post(struct trn_timeline *tl, unsigned int index,
		       const struct trn_record *record)
{
	uint64_t time = tl->actor[index].time_ps;
	struct trn_link *link;

	if (record->target == tl->core) {
		change_semaphore(tl->ct, record->index, record->op, record->value,
				 time);
		return;
	}
	/* No link: the core is gone. */
	for (link = tl->links; link; link = link->next_of_tl)
		if (link->target->core == record->target)
			break;
	if (link)
		send_mail(link->target, record, time, actor_rank(tl, index));
}

static void event_trigger(struct trn_timeline *tl, uint64_t time,
			  const struct trn_record *record)
{
	struct trn_actor *queue = &tl->actor[record->index];
	struct trn_trigger *trigger = malloc(sizeof(*trigger));

	queue->parked = false;
	if (!trigger) {
		atomic_store(&tl->lost, true);
		return;
	}
	trigger->next = NULL;
	trigger->time_ps = time;
	trigger->count = (uint32_t)record->value;
	*queue->last_trigger = trigger;
	queue->last_trigger = &trigger->next;
}

/* One descriptor that may start at @ready. */
static void move_bytes(struct trn_timeline *tl, struct trn_actor *queue,
		       const struct trn_record *record, uint64_t ready)
{
	uint32_t rate = tl->core->chip->gen->dma_bytes_per_us;
	uint32_t new_hops = record->hops;

	if (queue->time_ps <= ready) {
		queue->time_ps = ready + TRN_COST_DMA_START_PS;
		queue->hops = 0;
	}
	/* A longer way than the descriptors before delays the data once. */
	if (new_hops > queue->hops) {
		queue->time_ps += (new_hops - queue->hops) * TRN_COST_HOP_PS;
		queue->hops = new_hops;
	}
	queue->time_ps += record->bytes * 1000000ull / rate;
}

static void event_dma(struct trn_timeline *tl, struct trn_actor *queue,
		      const struct trn_record *record)
{
	struct trn_trigger *trigger = queue->triggers;

	move_bytes(tl, queue, record, trigger->time_ps);
	if (--trigger->count)
		return;
	queue->triggers = trigger->next;
	if (!queue->triggers)
		queue->last_trigger = &queue->triggers;
	free(trigger);
}

static void event_stamp(struct trn_timeline *tl, uint64_t time, uint64_t cookie)
{
	size_t at = tl->nr_stamps % TRN_TIME_STAMPS;

	if (at == tl->room_stamps) {
		size_t room = tl->room_stamps ? 2 * tl->room_stamps : 64;
		struct trn_stamp *stamps = realloc(tl->stamps,
						   room * sizeof(*stamps));

		if (!stamps)
			return;
		tl->stamps = stamps;
		tl->room_stamps = room;
	}
	tl->stamps[at].cookie = cookie;
	tl->stamps[at].time_ns = time / 1000;
	tl->nr_stamps++;
}

/* False: the actor is parked, its record stays. */
static bool run_record(struct trn_timeline *tl, unsigned int index,
		       const struct trn_record *record)
{
	struct trn_actor *actor = &tl->actor[index];
	const struct trn_record copy = *record;

	if (copy.kind == TRN_RECORD_WAIT) {
		if (satisfied(tl->ct, record)) {
			end_wait(tl, actor, record, tl->ct->changed_ps[copy.index]);
			return true;
		}
		actor->parked = true;
		return false;
	}
	if (copy.kind == TRN_RECORD_DMA && !actor->triggers) {
		actor->parked = true;
		return false;
	}
	actor->time_ps += copy.pre_ps;
	consume(tl, actor);
	if (copy.kind == TRN_RECORD_POST)
		event_post(tl, index, &copy);
	else if (copy.kind == TRN_RECORD_TRIGGER)
		event_trigger(tl, actor->time_ps, &copy);
	else if (copy.kind == TRN_RECORD_DMA)
		event_dma(tl, actor, &copy);
	else
		event_stamp(tl, actor->time_ps, copy.cookie);
	return true;
}

/**
 * struct event - the next thing that happens
 * @tl: where; NULL: nothing can
 * @actor: index, or -1: the core's mail
 */
struct event {
	struct trn_timeline *tl;
	int actor;
	uint64_t time_ps;
	uint64_t rank;
};

static void offer(struct event *best, const struct event *event)
{
	if (!best->tl || event->time_ps < best->time_ps ||
	    (event->time_ps == best->time_ps && event->rank < best->rank))
		*best = *event;
}

static void find_event(struct trn_timeline *tl, struct event *best)
{
	unsigned int i;

	if (tl->ct->inbox) {
		struct event mail = {
			tl, -1, tl->ct->inbox->time_ps, tl->ct->inbox->sender
		};

		offer(best, &mail);
	}
	for (i = 0; i < tl->nr_actors; i++) {
		struct trn_actor *actor = &tl->actor[i];
		const struct trn_record *record;
		struct event event = { tl, (int)i, 0, 0 };

		if (actor->parked)
			continue;
		record = peek(actor);
		if (!record)
			continue;
		event.time_ps = actor->time_ps + record->pre_ps;
		event.rank = actor_rank(tl, i);
		offer(best, &event);
	}
}

static void run_event(const struct event *event)
{
	struct trn_timeline *tl = event->tl;

	if (event->actor < 0)
		take_mail(tl->ct);
	else
		run_record(tl, (unsigned int)event->actor,
			   peek(&tl->actor[event->actor]));
}

/* The earliest event of the timelines that post to @tl, directly or not. */
static void find_poster_event(struct trn_timeline *tl, struct event *best)
{
	struct trn_link *link;

	tl->visited = visit_count;
	for (link = tl->ct->posters; link; link = link->next_of_target) {
		if (link->tl->visited == visit_count)
			continue;
		find_event(link->tl, best);
		find_poster_event(link->tl, best);
	}
}

bool trn_replay_step(struct trn_timeline *tl)
{
	struct event event = { .tl = NULL };

	find_event(tl, &event);
	if (!event.tl) {
		visit_count++;
		find_poster_event(tl, &event);
	}
	if (!event.tl)
		return false;
	run_event(&event);
	return true;
}

bool trn_replay_force(struct trn_timeline *tl)
{
	struct trn_actor *first = NULL;
	struct trn_record *record, *best = NULL;
	uint64_t best_time = 0;
	unsigned int i;

	for (i = 0; i < tl->nr_actors; i++) {
		struct trn_actor *actor = &tl->actor[i];

		record = actor->parked ? peek(actor) : NULL;
		if (!record)
			continue;
		if (first && actor->time_ps + record->pre_ps >= best_time)
			continue;
		first = actor;
		best = record;
		best_time = actor->time_ps + record->pre_ps;
	}
	if (!first)
		return false;
	if (best->kind == TRN_RECORD_WAIT) {
		tl->ct->value[best->index] = best->value;
		end_wait(tl, first, best, 0);
		return true;
	}
	move_bytes(tl, first, best, first->time_ps);
	consume(tl, first);
	return true;
}

void trn_replay_free(struct trn_timeline *tl)
{
	unsigned int i;

	for (i = 0; i < tl->nr_actors; i++) {
		struct trn_actor *actor = &tl->actor[i];
		struct trn_chunk *chunk = atomic_load(&actor->first);
		struct trn_trigger *trigger;

		while (chunk) {
			struct trn_chunk *next = atomic_load(&chunk->next);

			free(chunk);
			chunk = next;
		}
		while ((trigger = actor->triggers)) {
			actor->triggers = trigger->next;
			free(trigger);
		}
	}
}
