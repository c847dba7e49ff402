// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Saving and loading: device time. Chips on a fabric are all stopped, so nobody
 * posts to a core whose clocks are being saved.
 */
#include <stdlib.h>

#include "base/trn_chip.h"
#include "base/trn_state.h"
#include "isa/trn_pe_array.h"
#include "mem/trn_access.h"
#include "time/trn_group.h"
#include "time/trn_time.h"
#include "time/trn_time_private.h"

/* More than a job can have: it is replayed in pieces, and a ring is finite. */
#define MAX_RECORDS	(16 * TRN_TIME_LIMIT)
#define MAX_TRIGGERS	(2 * NEURON_UDMA_RING_MAX)
#define MAX_MAIL	(1u << 16)

_Static_assert(sizeof(struct trn_time_record) == 24, "no byte of it is unused");

static void i32_state(struct trn_state *st, int32_t *value)
{
	uint32_t bits = (uint32_t)*value;

	trn_state_u32(st, &bits);
	*value = (int32_t)bits;
}

static void sem_state(struct trn_state *st, uint16_t *sem)
{
	trn_state_u16(st, sem);
	if (*sem >= TRN_TIME_SEMS)
		trn_state_fail(st, "a semaphore does not exist");
}

/* --- clocks of a core --- */

static bool history_used(const struct trn_history *h)
{
	return h && (h->raised || h->lowered || h->changed_ps || h->nr ||
		     h->old.total || h->old.time_ps);
}

static void raise_state(struct trn_state *st, struct trn_raise *raise)
{
	trn_state_u64(st, &raise->total);
	trn_state_u64(st, &raise->time_ps);
}

static void history_state(struct trn_core_time *ct, unsigned int sem,
			  struct trn_state *st)
{
	struct trn_history *h = ct->history[sem];
	bool used = history_used(h);
	uint32_t nr, i;

	trn_state_bool(st, &used);
	if (!used || trn_state_failed(st))
		return;
	if (!h) {
		h = calloc(1, sizeof(*h));
		if (!h) {
			trn_state_fail(st, "out of memory");
			return;
		}
		ct->history[sem] = h;
	}
	trn_state_u64(st, &h->raised);
	trn_state_u64(st, &h->lowered);
	raise_state(st, &h->set);
	raise_state(st, &h->old);
	trn_state_u64(st, &h->vague);
	trn_state_u64(st, &h->changed_ps);
	nr = trn_state_count(st, h->nr, TRN_RAISES_MOST);
	if (st->loading)
		h->nr = 0;
	if (st->loading && nr && !trn_causal_room(h, nr)) {
		trn_state_fail(st, "out of memory");
		return;
	}
	h->nr = nr;
	for (i = 0; i < nr; i++)
		raise_state(st, &h->ring[(h->first + i) % h->room]);
}

void trn_mail_state(struct trn_mail *mail, struct trn_state *st)
{
	trn_state_u64(st, &mail->time_ps);
	trn_state_u64(st, &mail->sender);
	trn_state_u64(st, &mail->group);
	trn_state_bool(st, &mail->vague);
	i32_state(st, &mail->value);
	sem_state(st, &mail->sem);
	trn_state_u8(st, &mail->op);
}

static void load_mail(struct trn_mailbox *box, struct trn_state *st)
{
	struct trn_mail mail = { 0 };

	trn_mail_state(&mail, st);
	if (trn_state_failed(st))
		return;
	if (!trn_mailbox_put(box, &mail))
		trn_state_fail(st, "out of memory");
}

static void clock_state(struct trn_core_time *ct, uint16_t sem,
			struct trn_state *st)
{
	sem_state(st, &sem);
	if (trn_state_failed(st))
		return;
	i32_state(st, &ct->sems.value[sem]);
	trn_state_u64(st, &ct->sems.changed_ps[sem]);
	trn_state_bool(st, &ct->foreign[sem]);
	trn_state_bool(st, &ct->folded[sem]);
	history_state(ct, sem, st);
	ct->special[sem / TRN_TIME_TOGETHER] = true;
}

static bool clock_used(const struct trn_core_time *ct, unsigned int sem)
{
	return ct && (ct->sems.value[sem] || ct->sems.changed_ps[sem] || ct->foreign[sem] ||
		      ct->folded[sem] || history_used(ct->history[sem]));
}

static void save_clocks(struct trn_core_time *ct, struct trn_state *st)
{
	const struct trn_mail *mail = ct ? ct->box.first : NULL;
	unsigned int i;

	for (i = 0; i < TRN_TIME_SEMS; i++)
		if (clock_used(ct, i))
			clock_state(ct, (uint16_t)i, st);
	for (; mail; mail = mail->next) {
		struct trn_mail copy = *mail;

		trn_mail_state(&copy, st);
	}
}

static void load_clocks(struct trn_core_time *ct, uint32_t clocks, uint32_t mail,
			struct trn_state *st)
{
	while (clocks-- && !trn_state_failed(st))
		clock_state(ct, 0, st);
	while (mail-- && !trn_state_failed(st))
		load_mail(&ct->box, st);
}

static void semaphores_state(struct trn_core *core, struct trn_state *st)
{
	struct trn_core_time *ct = core->time_private;
	uint32_t clocks = 0, mail = ct ? ct->box.nr : 0;
	unsigned int i;

	for (i = 0; i < TRN_TIME_SEMS; i++)
		clocks += clock_used(ct, i);
	clocks = trn_state_count(st, clocks, TRN_TIME_SEMS);
	mail = trn_state_count(st, mail, MAX_MAIL);
	if (!st->loading) {
		save_clocks(ct, st);
		return;
	}
	if (trn_state_failed(st) || (!clocks && !mail))
		return;
	ct = trn_core_time(core);
	if (ct)
		load_clocks(ct, clocks, mail, st);
	else
		trn_state_fail(st, "out of memory");
}

void trn_time_core_state(struct trn_core *core, struct trn_state *st)
{
	semaphores_state(core, st);
	trn_group_core_state(core, st);
}

/* --- timelines --- */

static void load_trigger(struct trn_clock *clock, struct trn_state *st)
{
	uint64_t time_ps = 0;
	uint32_t count = 0;

	trn_state_u64(st, &time_ps);
	trn_state_u32(st, &count);
	if (!trn_state_failed(st) &&
	    (!count || !trn_clock_trigger(clock, time_ps, count)))
		trn_state_fail(st, "a trigger of a queue is empty, or out of memory");
}

static void actor_clock_state(struct trn_clock *clock, struct trn_state *st)
{
	struct trn_trigger *trigger;
	unsigned int i;
	uint32_t nr = 0;

	trn_state_u64(st, &clock->time_ps);
	trn_state_u64(st, &clock->free_ps);
	trn_state_u64(st, &clock->whole_ps);
	for (i = 0; i < TRN_PE_ARRAY_PARTS; i++)
		trn_state_u64(st, &clock->part_ps[i]);
	trn_state_u32(st, &clock->hops);
	if (clock->hops > UINT8_MAX)
		trn_state_fail(st, "a queue has crossed too many links");
	for (trigger = clock->first; trigger; trigger = trigger->next)
		nr++;
	nr = trn_state_count(st, nr, MAX_TRIGGERS);
	for (trigger = clock->first; trigger && !st->loading;
	     trigger = trigger->next) {
		trn_state_u64(st, &trigger->time_ps);
		trn_state_u32(st, &trigger->count);
	}
	while (st->loading && nr-- && !trn_state_failed(st))
		load_trigger(clock, st);
}

static uint32_t count_records(struct trn_actor *actor)
{
	struct trn_chunk *chunk;
	uint32_t nr = 0;

	for (chunk = atomic_load(&actor->first); chunk;
	     chunk = atomic_load(&chunk->next))
		nr += atomic_load(&chunk->tail);
	return nr - actor->head;
}

static void save_records(struct trn_actor *actor, struct trn_state *st)
{
	struct trn_chunk *chunk;
	uint32_t i = actor->head;

	for (chunk = atomic_load(&actor->first); chunk;
	     chunk = atomic_load(&chunk->next), i = 0)
		for (; i < atomic_load(&chunk->tail); i++)
			trn_state_bytes(st, &chunk->record[i],
					sizeof(chunk->record[i]));
}

static bool exec_valid(const struct trn_time_record *record)
{
	if (record->op == TRN_TIME_PART)
		return !record->index && record->value > 0 &&
		       record->value <= TRN_PE_ARRAY_ALL;
	return record->op < TRN_TIME_PART && !record->value;
}

static bool record_valid(const struct trn_timeline *tl, unsigned int actor,
			 const struct trn_time_record *record, bool stamps)
{
	bool queue = actor >= TRN_ACTOR_QUEUE;

	switch (record->kind) {
	case TRN_RECORD_WAIT:
		return !queue && record->index < TRN_TIME_SEMS;
	case TRN_RECORD_POST:
		return record->index < TRN_TIME_SEMS;
	case TRN_RECORD_AWAY:
		return record->index < TRN_TIME_SEMS && tl->group;
	case TRN_RECORD_TRIGGER:
		return record->index >= TRN_ACTOR_QUEUE && record->value &&
		       record->index < tl->nr_actors;
	case TRN_RECORD_EXEC:
		return !queue && exec_valid(record);
	case TRN_RECORD_LOAD:
	case TRN_RECORD_DMA:
		return queue && record->value >= 0 &&
		       record->index <= tl->nr_paths;
	case TRN_RECORD_TRACE:
		return true;
	case TRN_RECORD_OUTSIDE:
		return !queue;
	case TRN_RECORD_STAMP:
		return stamps;
	default:
		return false;
	}
}

static void load_record(struct trn_timeline *tl, unsigned int actor, bool stamps,
			struct trn_state *st)
{
	struct trn_time_record record;

	trn_state_bytes(st, &record, sizeof(record));
	if (trn_state_failed(st))
		return;
	if (!record_valid(tl, actor, &record, stamps))
		trn_state_fail(st, "a record of device time is not valid");
	else if (!trn_timeline_record(tl, actor, &record))
		trn_state_fail(st, "out of memory");
}

static void loads_state(const struct trn_timeline *tl, struct trn_actor *actor,
			struct trn_state *st)
{
	unsigned int i;

	actor->nr_loads = trn_state_count(st, actor->nr_loads, TRN_STREAMS);
	for (i = 0; i < actor->nr_loads; i++) {
		trn_state_u16(st, &actor->load[i].path);
		trn_state_u32(st, &actor->load[i].bytes);
		if (actor->load[i].path > tl->nr_paths) {
			actor->load[i].path = 0;
			trn_state_fail(st, "a path of bytes does not exist");
		}
	}
}

/* For a semaphore, or for a trigger. */
static bool may_park(struct trn_actor *actor)
{
	const struct trn_time_record *record = trn_replay_peek(actor);

	return record && (record->kind == TRN_RECORD_WAIT ||
			  (record->kind == TRN_RECORD_DMA &&
			   !actor->replay.first));
}

static void actor_state(struct trn_timeline *tl, unsigned int index, bool stamps,
			struct trn_state *st)
{
	struct trn_actor *actor = &tl->actor[index];
	uint32_t nr, i;

	trn_state_u64(st, &actor->pending_ps);
	actor_clock_state(&actor->causal, st);
	actor_clock_state(&actor->replay, st);
	trn_state_atomic_bool(st, &actor->running);
	/* No run of a queue goes on. */
	if (st->loading && index >= TRN_ACTOR_QUEUE)
		atomic_store(&actor->running, false);
	trn_state_atomic_bool(st, &actor->waiting);
	loads_state(tl, actor, st);
	trn_state_bool(st, &actor->begun);
	trn_state_u64(st, &actor->begin_ps);
	trn_state_u64(st, &actor->end_ps);
	nr = trn_state_count(st, count_records(actor),
			     tl->group ? TRN_GROUP_RECORDS : MAX_RECORDS);
	if (!st->loading)
		save_records(actor, st);
	for (i = 0; st->loading && i < nr && !trn_state_failed(st); i++)
		load_record(tl, index, stamps, st);
	trn_state_bool(st, &actor->parked);
	if (actor->parked && (!nr || !may_park(actor)))
		trn_state_fail(st, "an actor waits for nothing");
}

static bool stamps_room(struct trn_timeline *tl, size_t kept)
{
	size_t room = 64;

	while (room < kept)
		room *= 2;
	tl->stamps = calloc(room, sizeof(*tl->stamps));
	tl->room_stamps = tl->stamps ? room : 0;
	return tl->stamps;
}

static void stamps_state(struct trn_timeline *tl, bool stamps, struct trn_state *st)
{
	uint64_t nr = tl->nr_stamps, kept, i;

	trn_state_u64(st, &nr);
	if (nr > SIZE_MAX / 2 || (nr && !stamps))
		trn_state_fail(st, "a job has stamps without notifications");
	if (!nr || trn_state_failed(st))
		return;
	kept = nr < TRN_TIME_STAMPS ? nr : TRN_TIME_STAMPS;
	if (st->loading && !stamps_room(tl, kept)) {
		trn_state_fail(st, "out of memory");
		return;
	}
	tl->nr_stamps = nr;
	for (i = nr - kept; i < nr; i++) {
		struct trn_stamp *stamp = &tl->stamps[i % TRN_TIME_STAMPS];

		trn_state_u64(st, &stamp->cookie);
		trn_state_u64(st, &stamp->time_ns);
	}
}

static void trace_state(const struct trn_timeline *tl, struct trn_time_trace *trace,
			struct trn_state *st)
{
	uint32_t actor = trace->actor;

	trn_state_u32(st, &actor);
	trn_state_u32(st, &trace->code);
	trn_state_u32(st, &trace->pc);
	trn_state_u32(st, &trace->bytes);
	trn_state_u64(st, &trace->begin_ns);
	trn_state_u64(st, &trace->end_ns);
	trn_state_bool(st, &trace->exact);
	if (actor >= tl->nr_actors)
		trn_state_fail(st, "a trace is of nobody");
	trace->actor = actor;
}

static void traces_state(struct trn_timeline *tl, struct trn_state *st)
{
	uint32_t nr = trn_state_count(st, (uint32_t)tl->nr_traces, TRN_TIME_TRACES), i;
	struct trn_time_trace trace = { 0 };

	for (i = 0; i < nr && !trn_state_failed(st); i++) {
		if (!st->loading)
			trace = tl->traces[(tl->first_trace + i) % TRN_TIME_TRACES];
		trace_state(tl, &trace, st);
		if (st->loading && !trn_state_failed(st) && !trn_trace_put(tl, &trace))
			trn_state_fail(st, "out of memory");
	}
}

void trn_timeline_state(struct trn_timeline *tl, bool stamps, struct trn_state *st)
{
	uint64_t drain;
	unsigned int i;

	trn_state_u64(st, &tl->start_ps);
	trn_state_atomic_bool(st, &tl->lost);
	trn_state_atomic_bool(st, &tl->tracing);
	trn_state_u64(st, &tl->front_ps);
	trn_state_atomic_bool(st, &tl->inexact);
	trn_state_atomic_bool(st, &tl->vague);
	for (i = 0; i < TRN_TIME_SEMS; i++)
		i32_state(st, &tl->real[i]);
	trn_paths_state(tl, st);
	for (i = 0; i < TRN_PORTS; i++)
		trn_state_u64(st, &tl->part.port_ps[i]);
	for (i = 0; i < tl->nr_actors && !trn_state_failed(st); i++)
		actor_state(tl, i, stamps, st);
	trn_engines_state(tl, st);
	drain = atomic_load(&tl->next_drain);
	trn_state_u64(st, &drain);
	atomic_store(&tl->next_drain, (size_t)drain);
	stamps_state(tl, stamps, st);
	traces_state(tl, st);
	trn_group_timeline_state(tl, st);
}
