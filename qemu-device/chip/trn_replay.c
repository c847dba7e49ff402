// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Device time: the discrete-event replay.
 *
 * An event is the next record of an actor or the next mail of the core; the
 * earliest one that can go on is next. All of it with the core's lock held.
 */
#include <stdlib.h>

#include "trn_internal.h"
#include "trn_replay.h"

/* Mail that is not taken is folded into the semaphores beyond this. */
#define MAIL_LIMIT	4096

uint64_t trn_replay_rank(const struct trn_timeline *tl, unsigned int actor)
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
	uint32_t value = (uint32_t)ct->value[wait->index];

	actor->replay.time_ps += wait->pre_ps;
	if (actor->replay.time_ps < time)
		actor->replay.time_ps = time;
	if (wait->op & NEURON_SYNC_TAKE) {
		ct->value[wait->index] = (int32_t)(value - (uint32_t)wait->value);
		if (ct->changed_ps[wait->index] < actor->replay.time_ps)
			ct->changed_ps[wait->index] = actor->replay.time_ps;
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
		const struct trn_record *record;
		uint64_t time;

		if (!actor->parked)
			continue;
		record = peek(actor);
		if (record->kind != TRN_RECORD_WAIT || record->index != sem ||
		    !satisfied(tl->ct, record))
			continue;
		time = actor->replay.time_ps + record->pre_ps;
		if (!best || time < best_time) {
			best = actor;
			best_time = time;
		}
	}
	return best;
}

/* A take may satisfy others that wait for equality, so all are asked again. */
static void wake_waiters(struct trn_core_time *ct, unsigned int sem,
			 uint64_t time)
{
	struct trn_actor *actor;

	while (ct->tl && (actor = next_waiter(ct->tl, sem)))
		end_wait(ct->tl, actor, peek(actor), time);
}

static void change_semaphore(struct trn_core_time *ct, unsigned int sem,
			     unsigned int op, int32_t value, uint64_t time)
{
	uint32_t old = (uint32_t)ct->value[sem];

	if (op == NEURON_SYNC_POST_ADD)
		ct->value[sem] = (int32_t)(old + (uint32_t)value);
	else if (op == NEURON_SYNC_POST_SUB)
		ct->value[sem] = (int32_t)(old - (uint32_t)value);
	else
		ct->value[sem] = value;
	if (ct->changed_ps[sem] < time)
		ct->changed_ps[sem] = time;
	wake_waiters(ct, sem, time);
}

/* --- mail from other cores --- */

static void take_mail(struct trn_core_time *ct)
{
	struct trn_mail *mail = ct->inbox;

	ct->inbox = mail->next;
	if (!ct->inbox)
		ct->last_mail = NULL;
	ct->nr_mail--;
	change_semaphore(ct, mail->sem, mail->op, mail->value, mail->time_ps);
	free(mail);
}

void trn_replay_drop_mail(struct trn_core_time *ct, int sem)
{
	struct trn_mail **at = &ct->inbox;
	struct trn_mail *mail;

	ct->last_mail = NULL;
	while ((mail = *at)) {
		if (sem >= 0 && mail->sem != sem) {
			ct->last_mail = mail;
			at = &mail->next;
			continue;
		}
		*at = mail->next;
		ct->nr_mail--;
		free(mail);
	}
}

static bool mail_before(const struct trn_mail *a, const struct trn_mail *b)
{
	return a->time_ps < b->time_ps ||
	       (a->time_ps == b->time_ps && a->sender <= b->sender);
}

void trn_replay_mail(struct trn_core_time *ct, const struct trn_mail *mail)
{
	struct trn_mail *copy = malloc(sizeof(*copy));
	struct trn_mail **at = &ct->inbox;

	if (!copy) {
		change_semaphore(ct, mail->sem, mail->op, mail->value,
				 mail->time_ps);
		return;
	}
	*copy = *mail;
	if (ct->last_mail && mail_before(ct->last_mail, copy))
		at = &ct->last_mail->next;
	while (*at && mail_before(*at, copy))
		at = &(*at)->next;
	copy->next = *at;
	*at = copy;
	if (!copy->next)
		ct->last_mail = copy;
	if (++ct->nr_mail > MAIL_LIMIT)
		take_mail(ct);
}

/* --- events --- */

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

static bool can_go_on(const struct trn_timeline *tl,
		      const struct trn_actor *actor,
		      const struct trn_record *record)
{
	if (record->kind == TRN_RECORD_WAIT)
		return satisfied(tl->ct, record);
	return record->kind != TRN_RECORD_DMA || actor->replay.first;
}

static void event_trigger(struct trn_timeline *tl, uint64_t time,
			  const struct trn_record *record)
{
	struct trn_actor *queue = &tl->actor[record->index];

	queue->parked = false;
	if (!trn_flow_trigger(&queue->replay, time, (uint32_t)record->value))
		atomic_store(&tl->lost, true);
}

static void run_record(struct trn_timeline *tl, struct trn_actor *actor)
{
	const struct trn_record *next = peek(actor);
	const struct trn_record record = *next;
	struct trn_flow *flow = &actor->replay;

	if (!can_go_on(tl, actor, next)) {
		actor->parked = true;
		return;
	}
	if (record.kind == TRN_RECORD_WAIT) {
		end_wait(tl, actor, next, tl->ct->changed_ps[record.index]);
		if (record.op & NEURON_SYNC_TAKE)
			wake_waiters(tl->ct, record.index, flow->time_ps);
		return;
	}
	flow->time_ps += record.pre_ps;
	consume(tl, actor);
	if (record.kind == TRN_RECORD_POST)
		change_semaphore(tl->ct, record.index, record.op, record.value,
				 flow->time_ps);
	else if (record.kind == TRN_RECORD_TRIGGER)
		event_trigger(tl, flow->time_ps, &record);
	else if (record.kind == TRN_RECORD_DMA)
		trn_flow_move(flow, record.bytes, record.hops,
			      tl->core->chip->gen->dma_bytes_per_us);
	else
		event_stamp(tl, flow->time_ps, record.cookie);
}

/* Mail goes before actors that act at the same time. */
bool trn_replay_step(struct trn_timeline *tl)
{
	const struct trn_mail *mail = tl->ct->inbox;
	struct trn_actor *best = NULL;
	uint64_t best_time = 0;
	unsigned int i;

	for (i = 0; i < tl->nr_actors; i++) {
		struct trn_actor *actor = &tl->actor[i];
		const struct trn_record *record;
		uint64_t time;

		record = actor->parked ? NULL : peek(actor);
		if (!record)
			continue;
		time = actor->replay.time_ps + record->pre_ps;
		if (!best || time < best_time) {
			best = actor;
			best_time = time;
		}
	}
	if (mail && (!best || mail->time_ps <= best_time))
		take_mail(tl->ct);
	else if (best)
		run_record(tl, best);
	else
		return false;
	return true;
}

bool trn_replay_force(struct trn_timeline *tl)
{
	struct trn_record *record, *best = NULL;
	struct trn_actor *first = NULL;
	uint64_t time, best_time = 0;
	unsigned int i;

	for (i = 0; i < tl->nr_actors; i++) {
		struct trn_actor *actor = &tl->actor[i];

		if (!actor->parked)
			continue;
		record = peek(actor);
		time = actor->replay.time_ps + record->pre_ps;
		if (first && time >= best_time)
			continue;
		first = actor;
		best = record;
		best_time = time;
	}
	if (!first)
		return false;
	if (best->kind == TRN_RECORD_WAIT) {
		tl->ct->value[best->index] = best->value;
		end_wait(tl, first, best, 0);
		return true;
	}
	trn_flow_move(&first->replay, best->bytes, best->hops,
		      tl->core->chip->gen->dma_bytes_per_us);
	consume(tl, first);
	return true;
}

void trn_replay_free(struct trn_timeline *tl)
{
	unsigned int i;

	for (i = 0; i < tl->nr_actors; i++) {
		struct trn_actor *actor = &tl->actor[i];
		struct trn_chunk *chunk = atomic_load(&actor->first);

		while (chunk) {
			struct trn_chunk *next = atomic_load(&chunk->next);

			free(chunk);
			chunk = next;
		}
		trn_flow_free(&actor->causal);
		trn_flow_free(&actor->replay);
	}
}
