// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Device time: traces. The replay finds the begin and the end of what is traced; they
 * are told afterwards, without its lock, by one thread at a time.
 */
#include <stdlib.h>

#include "trn_internal.h"
#include "trn_replay.h"

void trn_time_trace_to(struct trn_timeline *tl, trn_trace_fn fn, void *arg)
{
	if (!tl)
		return;
	tl->trace = fn;
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

static bool make_room(struct trn_timeline *tl)
{
	size_t room = tl->room_traces ? 2 * tl->room_traces : 64;
	struct trn_time_trace *grown;

	if (tl->nr_traces < tl->room_traces)
		return true;
	grown = realloc(tl->traces, room * sizeof(*grown));
	if (!grown)
		return false;
	tl->traces = grown;
	tl->room_traces = room;
	return true;
}

void trn_trace_record(struct trn_timeline *tl, struct trn_actor *actor,
		      const struct trn_record *record)
{
	const uint64_t now = actor->replay.time_ps;

	if (make_room(tl))
		tl->traces[tl->nr_traces++] = (struct trn_time_trace){
			.actor = (unsigned int)(actor - tl->actor),
			.code = (uint32_t)record->cookie,
			.pc = (uint32_t)(record->cookie >> 32),
			.bytes = (uint32_t)record->value,
			.begin_ns = (actor->begun ? actor->begin_ps : now) / 1000,
			.end_ns = (actor->begun ? actor->end_ps : now) / 1000,
			.exact = !atomic_load(&tl->inexact),
		};
	actor->begun = false;
}

void trn_trace_tell(struct trn_timeline *tl)
{
	struct trn_time_trace *traces;
	size_t nr, i;

	pthread_mutex_lock(&tl->ct->lock);
	while (tl->nr_traces && !tl->telling && tl->trace) {
		traces = tl->traces;
		nr = tl->nr_traces;
		tl->traces = NULL;
		tl->nr_traces = 0;
		tl->room_traces = 0;
		tl->telling = true;
		pthread_mutex_unlock(&tl->ct->lock);
		for (i = 0; i < nr; i++)
			tl->trace(tl->trace_arg, &traces[i]);
		free(traces);
		pthread_mutex_lock(&tl->ct->lock);
		tl->telling = false;
	}
	pthread_mutex_unlock(&tl->ct->lock);
}
