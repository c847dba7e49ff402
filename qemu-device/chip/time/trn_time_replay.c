// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Device time: the discrete-event replay.
 *
 * An event is the next record of an actor or the next mail of the core; the
 * earliest one that can go on is next. All of it with the core's lock held.
 */
#include <stdlib.h>

#include "base/trn_chip.h"
#include "mem/trn_access.h"
#include "time/trn_time.h"
#include "time/trn_time_private.h"

/* Events that are replayed without letting go of the lock. */
#define BATCH		256
/*
 * Mail that is not taken is folded into the semaphores beyond this: of a core without a
 * job, and of one whose job may come to it.
 */
#define MAIL_LIMIT	4096
#define MAIL_LIMIT_JOB	65536

uint64_t trn_replay_rank(const struct trn_timeline *tl, unsigned int actor)
{
	return trn_replay_core_id(tl->core) | actor;
}

uint64_t trn_replay_core_id(const struct trn_core *core)
{
	uint64_t chip = core->chip->config.fabric_id;

	return chip << 32 | (uint64_t)core->index << 16;
}

struct trn_time_record *trn_replay_peek(struct trn_actor *actor)
{
	struct trn_chunk *chunk, *next;

	chunk = atomic_load_explicit(&actor->first, memory_order_acquire);
	if (!chunk)
		return NULL;
	if (actor->head == TRN_CHUNK_RECORDS) {
		next = atomic_load_explicit(&chunk->next, memory_order_acquire);
		if (!next)
			return NULL;
		atomic_store_explicit(&actor->first, next, memory_order_relaxed);
		actor->head = 0;
		if (!actor->shared)
			free(chunk);
		chunk = next;
	}
	if (actor->head == atomic_load_explicit(&chunk->tail, memory_order_acquire))
		return NULL;
	return &chunk->record[actor->head];
}

void trn_replay_consume(struct trn_timeline *tl, struct trn_actor *actor)
{
	actor->head++;
	actor->parked = false;
	atomic_fetch_sub_explicit(&tl->nr_records, 1, memory_order_relaxed);
}

static bool satisfied(const struct trn_actor *actor, const struct trn_time_record *wait)
{
	int32_t value = actor->part->sems->value[wait->index];

	if (NEURON_GET(NEURON_SYNC_WAIT, wait->op) == NEURON_SYNC_WAIT_EQ)
		return value == wait->value;
	return value >= wait->value;
}

/* When the actor's next record can be handled. */
static uint64_t ready_time(const struct trn_actor *actor,
			   const struct trn_time_record *record)
{
	if (record->kind == TRN_RECORD_DMA)
		return trn_clock_ready(&actor->replay, record->op);
	return actor->replay.time_ps + record->pre_ps;
}

/* What may be recorded from now on happens at this time or later. */
static uint64_t earliest(const struct trn_actor *actor)
{
	const struct trn_clock *clock = &actor->replay;

	if (!atomic_load(&actor->running))
		return UINT64_MAX;
	return clock->time_ps;
}

/*
 * A queue without triggers has to wait for an engine of the core, whose own time counts,
 * unless a run goes on: it may still post behind what it has moved. Whether it runs is
 * asked before its records are looked for again: the last one is recorded before it stops.
 */
static uint64_t queue_earliest(const struct trn_actor *actor)
{
	const struct trn_clock *clock = &actor->replay;

	if (!clock->first)
		return earliest(actor);
	return clock->time_ps < clock->first->time_ps ? clock->first->time_ps :
							clock->time_ps;
}

/* Nothing from @time on is replayed, unless the replay passes over what is so. */
static void bound(struct trn_timeline *tl, uint64_t time, enum trn_replay_mode passed_by)
{
	if (tl->mode < passed_by && tl->bound_ps > time)
		tl->bound_ps = time;
}

/* The actor's wait, which is its next record, is not over: it is the last record. */
static bool still_waits(struct trn_actor *actor)
{
	const struct trn_chunk *chunk = atomic_load(&actor->first);

	return atomic_load(&actor->waiting) &&
	       actor->head + 1 == atomic_load(&chunk->tail) &&
	       !atomic_load(&chunk->next);
}

/* The record behind the actor's next one says that nothing in the model ended its wait. */
static bool ended_outside(struct trn_actor *actor)
{
	const struct trn_chunk *chunk = atomic_load(&actor->first);
	uint32_t at = actor->head + 1;

	if (at == TRN_CHUNK_RECORDS) {
		chunk = atomic_load_explicit(&chunk->next, memory_order_acquire);
		at = 0;
	}
	return chunk && at < atomic_load_explicit(&chunk->tail, memory_order_acquire) &&
	       chunk->record[at].kind == TRN_RECORD_OUTSIDE;
}

/*
 * An actor that waits may go on at any time from when it came on: because of a post of
 * another job, or of something outside the model. When its wait is over in real time, a
 * post of the model that ended it has been recorded, and the replay comes to it in order.
 */
static void bound_by_wait(struct trn_timeline *tl, struct trn_actor *actor)
{
	if (still_waits(actor))
		bound(tl, ready_time(actor, trn_replay_peek(actor)), TRN_REPLAY_PAST_WAITS);
}

/*
 * Parked queues wait for a trigger, whose replay ends that; engines for a semaphore. The
 * order matters: an engine that no longer waits has recorded that nothing in the model
 * ended its wait, if that is so.
 */
static bool stays_parked(struct trn_timeline *tl, struct trn_actor *actor)
{
	if (actor->queue)
		return true;
	bound_by_wait(tl, actor);
	return !ended_outside(actor);
}

void trn_replay_ready(struct trn_timeline *tl, struct trn_actor *actor)
{
	const struct trn_time_record *record;
	uint64_t time;

	if (actor->ready || actor->queued || (actor->parked && stays_parked(tl, actor)))
		return;
	time = actor->queue ? queue_earliest(actor) : earliest(actor);
	record = trn_replay_peek(actor);
	if (!record) {
		bound(tl, time, TRN_REPLAY_PAST_ALL);
		return;
	}
	actor->parked = record->kind == TRN_RECORD_DMA && !actor->replay.first;
	if (actor->parked)
		return;
	actor->ready = true;
	trn_heap_put(tl, (struct trn_ready){
		.time_ps = ready_time(actor, record),
		.rank = actor->rank,
		.index = (uint32_t)(actor - tl->actor),
	});
}

/* The wait is over at @time or when the actor gets there, if that is later. */
static void end_wait(struct trn_timeline *tl, struct trn_actor *actor,
		     const struct trn_time_record *wait, uint64_t time)
{
	struct trn_sem_times *sems = actor->part->sems;
	uint32_t value = (uint32_t)sems->value[wait->index];

	trn_clock_pass(&actor->replay, wait->pre_ps);
	trn_clock_wait(&actor->replay, time);
	if (wait->op & NEURON_SYNC_TAKE) {
		sems->value[wait->index] = (int32_t)(value - (uint32_t)wait->value);
		if (sems->changed_ps[wait->index] < actor->replay.time_ps)
			sems->changed_ps[wait->index] = actor->replay.time_ps;
	}
	trn_replay_consume(tl, actor);
	trn_replay_ready(tl, actor);
}

/* The parked waiter of @sem whose turn it is: the first that came. */
static struct trn_actor *next_waiter(const struct trn_replay_part *part, unsigned int sem)
{
	struct trn_actor *best = NULL;
	uint64_t best_time = 0;
	unsigned int i;

	for (i = 0; i < TRN_ACTOR_QUEUE; i++) {
		struct trn_actor *actor = &part->first[i];
		const struct trn_time_record *record;
		uint64_t time;

		if (!actor->parked)
			continue;
		record = trn_replay_peek(actor);
		if (record->kind != TRN_RECORD_WAIT || record->index != sem ||
		    !satisfied(actor, record))
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
static void wake_waiters(struct trn_timeline *tl, const struct trn_replay_part *part,
			 unsigned int sem, uint64_t time)
{
	struct trn_actor *actor;

	while ((actor = next_waiter(part, sem)))
		end_wait(tl, actor, trn_replay_peek(actor), time);
}

static void change_value(struct trn_sem_times *sems, unsigned int sem, unsigned int op,
			 int32_t value, uint64_t time)
{
	uint32_t old = (uint32_t)sems->value[sem];

	if (op == NEURON_SYNC_POST_ADD)
		sems->value[sem] = (int32_t)(old + (uint32_t)value);
	else if (op == NEURON_SYNC_POST_SUB)
		sems->value[sem] = (int32_t)(old - (uint32_t)value);
	else
		sems->value[sem] = value;
	if (sems->changed_ps[sem] < time)
		sems->changed_ps[sem] = time;
}

static void change_semaphore(struct trn_timeline *tl, struct trn_replay_part *part,
			     unsigned int sem, unsigned int op, int32_t value, uint64_t time)
{
	change_value(part->sems, sem, op, value, time);
	wake_waiters(tl, part, sem, time);
}

/* --- mail from other cores --- */

static struct trn_mail *mailbox_take(struct trn_mailbox *box)
{
	struct trn_mail *mail = box->first;

	box->first = mail->next;
	if (!box->first)
		box->last = NULL;
	box->nr--;
	return mail;
}

/* When @mail came depends on the host, so what @tl does after it does. */
static void note_vague(struct trn_timeline *tl, const struct trn_mail *mail)
{
	if (!mail->vague)
		return;
	atomic_store(&tl->inexact, true);
	atomic_store(&tl->vague, true);
}

/* To a job in no group, or to none. */
static void deliver(struct trn_core_time *ct, const struct trn_mail *mail)
{
	if (mail->group)
		atomic_store(&ct->mixed, true);
	if (ct->tl) {
		note_vague(ct->tl, mail);
		change_semaphore(ct->tl, &ct->tl->part, mail->sem, mail->op, mail->value,
				 mail->time_ps);
		return;
	}
	ct->folded[mail->sem] = true;
	change_value(&ct->sems, mail->sem, mail->op, mail->value, mail->time_ps);
}

static void fold_mail(struct trn_core_time *ct)
{
	struct trn_mail *mail = mailbox_take(&ct->box);

	deliver(ct, mail);
	free(mail);
}

static void take_mail(struct trn_timeline *tl)
{
	struct trn_mail *mail = mailbox_take(tl->mail);
	struct trn_replay_part *part = mail->part ? mail->part : &tl->part;

	if (mail->group && !tl->group && tl->ct)
		atomic_store(&tl->ct->mixed, true);
	note_vague(tl, mail);
	change_semaphore(tl, part, mail->sem, mail->op, mail->value, mail->time_ps);
	free(mail);
}

void trn_replay_drop_mail(struct trn_mailbox *box, int sem)
{
	struct trn_mail **at = &box->first;
	struct trn_mail *mail;

	box->last = NULL;
	while ((mail = *at)) {
		if (sem >= 0 && mail->sem != sem) {
			box->last = mail;
			at = &mail->next;
			continue;
		}
		*at = mail->next;
		box->nr--;
		free(mail);
	}
}

static bool mail_before(const struct trn_mail *a, const struct trn_mail *b)
{
	return a->time_ps < b->time_ps ||
	       (a->time_ps == b->time_ps && a->sender <= b->sender);
}

bool trn_mailbox_append(struct trn_mailbox *box, const struct trn_mail *mail)
{
	struct trn_mail *copy = malloc(sizeof(*copy));

	if (!copy)
		return false;
	*copy = *mail;
	copy->next = NULL;
	if (box->last)
		box->last->next = copy;
	else
		box->first = copy;
	box->last = copy;
	box->nr++;
	return true;
}

/* Two lists in order become one. */
static struct trn_mail *merge(struct trn_mail *a, struct trn_mail *b)
{
	struct trn_mail *first = NULL, **at = &first;

	while (a && b) {
		struct trn_mail **from = mail_before(a, b) ? &a : &b;

		*at = *from;
		at = &(*at)->next;
		*from = (*from)->next;
	}
	*at = a ? a : b;
	return first;
}

static struct trn_mail *sort(struct trn_mail *mail, unsigned int nr)
{
	struct trn_mail *rest = mail, *end = NULL;
	unsigned int i;

	if (nr < 2)
		return mail;
	for (i = 0; i < nr / 2; i++) {
		end = rest;
		rest = rest->next;
	}
	end->next = NULL;
	return merge(sort(mail, nr / 2), sort(rest, nr - nr / 2));
}

void trn_mailbox_sort(struct trn_mailbox *box)
{
	box->first = sort(box->first, box->nr);
	for (box->last = box->first; box->last && box->last->next; box->last = box->last->next)
		;
}

bool trn_mailbox_put(struct trn_mailbox *box, const struct trn_mail *mail)
{
	struct trn_mail *copy = malloc(sizeof(*copy));
	struct trn_mail **at = &box->first;

	if (!copy)
		return false;
	*copy = *mail;
	if (box->last && mail_before(box->last, copy))
		at = &box->last->next;
	while (*at && mail_before(*at, copy))
		at = &(*at)->next;
	copy->next = *at;
	*at = copy;
	if (!copy->next)
		box->last = copy;
	box->nr++;
	return true;
}

/*
 * To a core whose last job is in a time group. The job gets what comes from outside, and,
 * to be settled alone, from its own group; what comes from others waits for the job that
 * will be in theirs.
 */
static void mail_grouped(struct trn_core_time *ct, const struct trn_mail *mail)
{
	struct trn_timeline *tl = ct->tl;
	bool own = tl && (!mail->group || mail->group == tl->group);
	struct trn_mailbox *box = own ? &tl->box : &ct->box;
	bool put;

	put = own && !atomic_load(&tl->kept) ? trn_mailbox_put(box, mail) :
					       trn_mailbox_append(box, mail);
	if (put && box->nr <= (own ? MAIL_LIMIT_JOB : MAIL_LIMIT))
		return;
	if (own) {
		atomic_store(&tl->overflow, true);
		atomic_store(&tl->inexact, true);
	} else {
		atomic_store(&ct->mixed, true);
	}
	if (put)
		free(mailbox_take(box));
}

void trn_replay_mail(struct trn_core_time *ct, const struct trn_mail *mail)
{
	if (mail->vague && ct->tl)
		atomic_store(&ct->tl->vague, true);
	if (ct->grouped) {
		mail_grouped(ct, mail);
		return;
	}
	if (!trn_mailbox_put(&ct->box, mail)) {
		deliver(ct, mail);
		return;
	}
	if (ct->box.nr <= (ct->tl ? MAIL_LIMIT_JOB : MAIL_LIMIT))
		return;
	if (ct->tl)
		atomic_store(&ct->tl->inexact, true);
	fold_mail(ct);
}

/* --- events --- */

void trn_replay_stamp(struct trn_timeline *tl, uint64_t time_ps, uint64_t cookie)
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
	tl->stamps[at].time_ns = time_ps / 1000;
	tl->nr_stamps++;
}

static void event_trigger(struct trn_timeline *tl, const struct trn_replay_part *part,
			  uint64_t time, const struct trn_time_record *record)
{
	struct trn_actor *queue = &part->first[record->index];
	bool idle = !queue->replay.first;

	if (!trn_clock_trigger(&queue->replay, time, (uint32_t)record->value))
		atomic_store(&tl->lost, true);
	if (idle) {
		queue->parked = false;
		trn_replay_ready(tl, queue);
	}
}

static void event_load(struct trn_actor *actor, const struct trn_time_record *record)
{
	if (actor->nr_loads == TRN_STREAMS)
		return;
	actor->load[actor->nr_loads].path = record->index;
	actor->load[actor->nr_loads++].bytes = (uint32_t)record->value;
}

static void event_wait(struct trn_timeline *tl, struct trn_actor *actor,
		       const struct trn_time_record *next)
{
	struct trn_sem_times *sems = actor->part->sems;
	const struct trn_time_record record = *next;
	bool over = satisfied(actor, next);

	if (!over && stays_parked(tl, actor)) {
		actor->parked = true;
		return;
	}
	if (!over)
		sems->value[record.index] = record.value;
	end_wait(tl, actor, next, over ? sems->changed_ps[record.index] : 0);
	if (record.op & NEURON_SYNC_TAKE)
		wake_waiters(tl, actor->part, record.index, actor->replay.time_ps);
}

/* The part with @id of a joint replay, or NULL. */
static struct trn_replay_part *find_part(const struct trn_timeline *tl, uint64_t id)
{
	unsigned int lo = 0, hi = tl->nr_parts;

	while (lo < hi) {
		unsigned int mid = lo + (hi - lo) / 2;

		if (tl->joint[mid].id == id)
			return &tl->joint[mid];
		if (tl->joint[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* Who is in no group, or in another one, has got the post by mail. */
static void event_away(struct trn_timeline *tl, const struct trn_time_record *record, uint64_t time)
{
	struct trn_replay_part *part = find_part(tl, record->cookie);

	if (part)
		change_semaphore(tl, part, record->index, record->op, record->value, time);
}

static void run_record(struct trn_timeline *tl, struct trn_actor *actor)
{
	const struct trn_time_record *next = trn_replay_peek(actor);
	const struct trn_time_record record = *next;
	struct trn_clock *clock = &actor->replay;

	if (record.kind == TRN_RECORD_WAIT) {
		event_wait(tl, actor, next);
		return;
	}
	trn_clock_pass(clock, record.pre_ps);
	trn_replay_consume(tl, actor);
	switch ((enum trn_time_record_kind)record.kind) {
	case TRN_RECORD_POST:
		change_semaphore(tl, actor->part, record.index, record.op, record.value,
				 clock->time_ps);
		break;
	case TRN_RECORD_TRIGGER:
		event_trigger(tl, actor->part, clock->time_ps, &record);
		break;
	case TRN_RECORD_EXEC:
		trn_replay_exec(tl, actor, &record);
		break;
	case TRN_RECORD_LOAD:
		event_load(actor, &record);
		break;
	case TRN_RECORD_STAMP:
		trn_replay_stamp(tl, clock->time_ps, record.cookie);
		break;
	case TRN_RECORD_TRACE:
		trn_trace_record(tl, actor, &record);
		break;
	case TRN_RECORD_AWAY:
		event_away(tl, &record, clock->time_ps);
		break;
	case TRN_RECORD_WAIT:
	case TRN_RECORD_DMA:
	case TRN_RECORD_OUTSIDE:
		break;
	}
	trn_replay_ready(tl, actor);
}

static void begin(struct trn_timeline *tl, enum trn_replay_mode mode)
{
	unsigned int i;

	tl->mode = mode;
	tl->bound_ps = UINT64_MAX;
	for (i = 0; i < tl->nr_actors; i++)
		trn_replay_ready(tl, &tl->actor[i]);
}

/*
 * An actor or an engine is next. That it is earlier than what has been replayed happens
 * only to those that were passed over. The bytes of a descriptor are no event: they are
 * recorded at the time at which the queue was last.
 */
static void move_front(struct trn_timeline *tl, const struct trn_ready *next)
{
	if (tl->front_ps <= next->time_ps)
		tl->front_ps = next->time_ps;
	else if (next->index >= tl->nr_actors ||
		 trn_replay_peek(&tl->actor[next->index])->kind != TRN_RECORD_LOAD)
		atomic_store(&tl->inexact, true);
}

static void run_ready(struct trn_timeline *tl)
{
	const struct trn_ready ready = trn_heap_take(tl);
	struct trn_actor *actor;

	move_front(tl, &ready);
	if (ready.index >= tl->nr_actors) {
		trn_replay_engine(tl, ready.index - tl->nr_actors);
		return;
	}
	actor = &tl->actor[ready.index];
	actor->ready = false;
	if (trn_replay_peek(actor)->kind == TRN_RECORD_DMA)
		trn_replay_dma(tl, actor, ready.time_ps);
	else
		run_record(tl, actor);
}

/*
 * One event; false: nothing can go on. Mail goes before actors that act at the same
 * time.
 */
static bool step(struct trn_timeline *tl)
{
	const struct trn_ready *best = trn_heap_first(tl);
	const struct trn_mail *mail = tl->mail->first;
	uint64_t time;

	if (mail && best && mail->time_ps > best->time_ps)
		mail = NULL;
	if (!mail && !best)
		return false;
	time = mail ? mail->time_ps : best->time_ps;
	if (time >= tl->bound_ps && tl->bound_ps != UINT64_MAX)
		return false;
	if (mail)
		take_mail(tl);
	else
		run_ready(tl);
	return true;
}

/* The front goes back where all is known: what comes next comes in order. */
static void force_at(struct trn_timeline *tl, uint64_t time)
{
	if (tl->mode != TRN_REPLAY_END)
		atomic_store(&tl->inexact, true);
	else if (tl->front_ps > time)
		tl->front_ps = time;
}

/*
 * End the earliest wait of a timeline that is stuck, but none that really is not over.
 * False: there is none.
 */
static bool force(struct trn_timeline *tl)
{
	struct trn_time_record *record;
	struct trn_actor *first = NULL;
	uint64_t time, best = 0;
	unsigned int i;

	for (i = 0; i < tl->nr_actors; i++) {
		struct trn_actor *actor = &tl->actor[i];

		if (!actor->parked || still_waits(actor))
			continue;
		record = trn_replay_peek(actor);
		time = ready_time(actor, record);
		if (first && time >= best)
			continue;
		first = actor;
		best = time;
	}
	if (!first)
		return false;
	force_at(tl, best);
	record = trn_replay_peek(first);
	if (record->kind == TRN_RECORD_WAIT) {
		if (tl->joint && NEURON_GET(NEURON_SYNC_WAIT, record->op) != NEURON_SYNC_WAIT_EQ)
			atomic_store(&tl->inexact, true);
		first->part->sems->value[record->index] = record->value;
		end_wait(tl, first, record, 0);
		return true;
	}
	first->parked = false;
	trn_replay_dma(tl, first, best);
	return true;
}

/*
 * Events for which there is room: each may be a trace. Traces are only lost to bound
 * memory while actors still record.
 */
static unsigned int batch(const struct trn_timeline *tl)
{
	size_t room = TRN_TIME_TRACES - tl->nr_traces;

	if (tl->mode == TRN_REPLAY_PAST_WAITS || tl->mode == TRN_REPLAY_PAST_ALL)
		return BATCH;
	return room < BATCH ? (unsigned int)room : BATCH;
}

/* Others want the lock, too. */
unsigned int trn_replay_some(struct trn_timeline *tl, enum trn_replay_mode mode)
{
	unsigned int done = 0, most;

	pthread_mutex_lock(&tl->ct->lock);
	begin(tl, mode);
	most = batch(tl);
	while (done < most && step(tl))
		done++;
	if (!done && most && mode >= TRN_REPLAY_PAST_ALL)
		done = force(tl);
	pthread_mutex_unlock(&tl->ct->lock);
	return done;
}

unsigned int trn_replay_joint(struct trn_timeline *tl, unsigned int most)
{
	unsigned int done = 0;

	begin(tl, TRN_REPLAY_END);
	while (done < most && step(tl))
		done++;
	return done || !force(tl) ? done : 1;
}

void trn_replay_free(struct trn_timeline *tl)
{
	unsigned int i;

	for (i = 0; i < tl->nr_actors; i++) {
		struct trn_actor *actor = &tl->actor[i];
		struct trn_chunk *chunk = atomic_load(&actor->first);

		while (chunk && !actor->shared) {
			struct trn_chunk *next = atomic_load(&chunk->next);

			free(chunk);
			chunk = next;
		}
		trn_clock_free(&actor->causal);
		trn_clock_free(&actor->replay);
	}
	trn_path_free(tl);
	free(tl->engines);
	free(tl->traces);
	free(tl->heap);
}
