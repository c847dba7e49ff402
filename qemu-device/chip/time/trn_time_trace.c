// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Device time: traces. The replay finds the begin and the end of what is traced; they
 * are told afterwards, without its lock, by one thread at a time. The replay waits while
 * TRN_TIME_TRACES are not told yet.
 */
#include <stdlib.h>

#include "base/trn_chip.h"
#include "time/trn_time.h"
#include "time/trn_time_private.h"

void trn_time_trace_to(struct trn_timeline *tl, trn_trace_fn fn, trn_trace_lost_fn lost,
		       void *arg)
{
	if (!tl)
		return;
	tl->trace = fn;
	tl->trace_lost = lost;
	tl->trace_arg = arg;
}

void trn_trace_span(struct trn_timeline *tl, struct trn_actor *actor,
		    uint64_t begin_ps, uint64_t end_ps)
{
	if (!actor->begun)
		actor->begin_ps = begin_ps;
	actor->begun = atomic_load_explicit(&tl->tracing, memory_order_relaxed);
	actor->end_ps = end_ps;
}

/* With the core's lock held. False: no memory. */
static bool traces_new(struct trn_timeline *tl)
{
	if (!tl->traces)
		tl->traces = calloc(TRN_TIME_TRACES, sizeof(*tl->traces));
	return tl->traces;
}

bool trn_trace_put(struct trn_timeline *tl, const struct trn_time_trace *trace)
{
	if (tl->nr_traces == TRN_TIME_TRACES || !traces_new(tl)) {
		tl->trace_lost(tl->trace_arg);
		return false;
	}
	tl->traces[(tl->first_trace + tl->nr_traces++) % TRN_TIME_TRACES] = *trace;
	return true;
}

/* Of a joint replay: until the core of the part asks. */
static void keep_trace(struct trn_replay_part *part, const struct trn_time_trace *trace)
{
	size_t room = part->room_traces ? 2 * part->room_traces : TRN_TIME_TELL;
	struct trn_time_trace *grown;

	if (part->nr_traces == part->room_traces) {
		grown = realloc(part->traces, room * sizeof(*grown));
		if (!grown) {
			part->lost_traces++;
			return;
		}
		part->traces = grown;
		part->room_traces = room;
	}
	part->traces[part->nr_traces++] = *trace;
}

void trn_trace_record(struct trn_timeline *tl, struct trn_actor *actor,
		      const struct trn_time_record *record)
{
	const uint64_t now = actor->replay.time_ps;
	const struct trn_time_trace trace = {
		.actor = (unsigned int)(actor - actor->part->first),
		.code = (uint32_t)record->cookie,
		.pc = (uint32_t)(record->cookie >> 32),
		.bytes = (uint32_t)record->value,
		.begin_ns = (actor->begun ? actor->begin_ps : now) / 1000,
		.end_ns = (actor->begun ? actor->end_ps : now) / 1000,
		.exact = !atomic_load(&tl->inexact),
	};

	if (tl->joint)
		keep_trace(actor->part, &trace);
	else if (tl->trace)
		trn_trace_put(tl, &trace);
	actor->begun = false;
}

/* As many as lie side by side. */
static size_t next_traces(const struct trn_timeline *tl)
{
	size_t nr = TRN_TIME_TRACES - tl->first_trace;

	nr = nr < tl->nr_traces ? nr : tl->nr_traces;
	return nr < TRN_TIME_TELL ? nr : TRN_TIME_TELL;
}

/* Who tells has the places of what he tells to himself until he is done. */
unsigned int trn_trace_tell(struct trn_timeline *tl)
{
	size_t first, nr = 0;

	pthread_mutex_lock(&tl->ct->lock);
	first = tl->first_trace;
	if (!tl->telling)
		nr = next_traces(tl);
	tl->telling |= nr;
	pthread_mutex_unlock(&tl->ct->lock);
	if (!nr)
		return 0;
	tl->trace(tl->trace_arg, &tl->traces[first], (unsigned int)nr);
	pthread_mutex_lock(&tl->ct->lock);
	tl->first_trace = (first + nr) % TRN_TIME_TRACES;
	tl->nr_traces -= nr;
	tl->telling = false;
	pthread_mutex_unlock(&tl->ct->lock);
	return (unsigned int)nr;
}
