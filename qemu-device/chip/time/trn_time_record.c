// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Device time: what actors record. Each appends to its own list without a lock.
 */
#include <stdlib.h>

#include "base/trn_chip.h"
#include "time/trn_time.h"
#include "time/trn_time_private.h"

/* An engine shows itself when it has passed as much without a record. */
#define PENDING_PS	20000000ull
/* Whoever traces does not want to wait for long: records until the next replay. */
#define TRACED		256
/* The others, once there are as many as TRN_TIME_LIMIT. */
#define UNTRACED	4096

static bool timeline_usable(const struct trn_timeline *tl)
{
	return tl && !atomic_load_explicit(&tl->lost, memory_order_relaxed);
}

static struct trn_chunk *next_chunk(struct trn_timeline *tl, struct trn_actor *actor)
{
	struct trn_chunk *chunk = calloc(1, sizeof(*chunk));

	if (!chunk)
		return NULL;
	if (tl->group && !trn_group_charge(tl, TRN_CHUNK_RECORDS))
		atomic_store(&tl->overflow, true);
	if (actor->last)
		atomic_store_explicit(&actor->last->next, chunk,
				      memory_order_release);
	else
		atomic_store_explicit(&actor->first, chunk,
				      memory_order_release);
	actor->last = chunk;
	return chunk;
}

/*
 * What stands in the way may still be recorded, so it is only passed over when much more
 * has piled up: first those that wait, because what ends a wait is in the model as a
 * rule, and then comes in order.
 */
static bool drain_some(struct trn_timeline *tl, size_t nr)
{
	if (trn_replay_some(tl, TRN_REPLAY_KNOWN))
		return true;
	if (nr <= TRN_TIME_PILE)
		return false;
	return trn_replay_some(tl, TRN_REPLAY_PAST_WAITS) ||
	       trn_replay_some(tl, TRN_REPLAY_PAST_ALL);
}

/*
 * Replay until half of the limit is left, or nothing of what is traced, but no more than
 * about twice of what has been recorded since: who records is not held up for long.
 */
static void drain(struct trn_timeline *tl)
{
	bool tracing = atomic_load(&tl->tracing);
	size_t keep = tracing ? 0 : TRN_TIME_LIMIT / 2;
	size_t step = tracing ? TRACED : UNTRACED;
	size_t nr = atomic_load(&tl->nr_records);
	size_t least = nr > keep + 2 * step ? nr - 2 * step : keep;

	for (; nr > least; nr = atomic_load(&tl->nr_records)) {
		bool went_on = drain_some(tl, nr);

		if (tracing)
			went_on |= trn_trace_tell(tl);
		if (!went_on)
			break;
	}
	atomic_store(&tl->next_drain, atomic_load(&tl->nr_records) + step);
}

bool trn_timeline_record(struct trn_timeline *tl, unsigned int index,
			 const struct trn_time_record *record)
{
	struct trn_actor *actor = &tl->actor[index];
	struct trn_chunk *chunk = actor->last;
	uint32_t tail;

	if (!chunk || atomic_load_explicit(&chunk->tail, memory_order_relaxed) ==
		      TRN_CHUNK_RECORDS)
		chunk = next_chunk(tl, actor);
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

/* False: no memory. */
static bool append(struct trn_timeline *tl, unsigned int index,
		   struct trn_time_record *record)
{
	struct trn_actor *actor = &tl->actor[index];

	record->pre_ps = actor->pending_ps;
	if (!trn_timeline_record(tl, index, record))
		return false;
	actor->pending_ps = 0;
	if (tl->group && atomic_load(&tl->overflow) && atomic_load(&tl->kept))
		trn_group_give_up(tl);
	if (atomic_load_explicit(&tl->nr_records, memory_order_relaxed) >=
	    atomic_load_explicit(&tl->next_drain, memory_order_relaxed))
		drain(tl);
	return true;
}

static void record_exec(struct trn_timeline *tl, unsigned int actor,
			const struct trn_time_work *work)
{
	struct trn_time_record record = {
		.kind = TRN_RECORD_EXEC,
		.op = (uint8_t)work->class,
		.index = work->ports,
		.value = work->parts,
		.cost_ps = work->cost_ps,
	};

	if (timeline_usable(tl))
		append(tl, actor, &record);
}

/* An engine that records nothing must be known to go on. */
void trn_time_exec(struct trn_timeline *tl, unsigned int actor, uint64_t cost_ps)
{
	const struct trn_time_work nothing = { .class = TRN_TIME_PLAIN };

	if (!tl)
		return;
	trn_clock_pass(&tl->actor[actor].causal, cost_ps);
	tl->actor[actor].pending_ps += cost_ps;
	if (tl->actor[actor].pending_ps > PENDING_PS)
		record_exec(tl, actor, &nothing);
}

void trn_time_work(struct trn_timeline *tl, unsigned int actor,
		   const struct trn_time_work *work)
{
	struct trn_clock *causal;

	if (!tl)
		return;
	causal = &tl->actor[actor].causal;
	trn_clock_exec(causal, work, trn_clock_begin(causal, work));
	record_exec(tl, actor, work);
}

/* Said before it is over: the replay knows then that the actor is not just late. */
void trn_time_wait_begin(struct trn_timeline *tl, unsigned int actor,
			 unsigned int sem, unsigned int sync, int32_t value)
{
	struct trn_time_record record = {
		.kind = TRN_RECORD_WAIT,
		.index = (uint16_t)sem,
		.op = (uint8_t)sync,
		.value = value,
	};

	if (!timeline_usable(tl) || atomic_load(&tl->actor[actor].waiting))
		return;
	atomic_store(&tl->actor[actor].waiting, true);
	append(tl, actor, &record);
}

void trn_time_wait(struct trn_timeline *tl, unsigned int actor, unsigned int sem,
		   unsigned int sync, int32_t value)
{
	struct trn_time_record ended = { .kind = TRN_RECORD_OUTSIDE };
	struct trn_causal_end end;
	struct trn_clock *causal;

	if (!timeline_usable(tl))
		return;
	trn_time_wait_begin(tl, actor, sem, sync, value);
	causal = &tl->actor[actor].causal;
	pthread_mutex_lock(&tl->ct->lock);
	end = trn_causal_wait(tl->ct, sem, sync, value, causal->time_ps);
	pthread_mutex_unlock(&tl->ct->lock);
	trn_clock_wait(causal, end.time_ps);
	if (end.vague)
		atomic_store(&tl->vague, true);
	if (end.outside)
		append(tl, actor, &ended);
	atomic_store(&tl->actor[actor].waiting, false);
}

/* To a core of another job: dated by the causal clock, no record of this job. */
static void post_away(struct trn_timeline *tl, struct trn_core_time *ct,
		      unsigned int actor, unsigned int sem, unsigned int op,
		      int32_t value)
{
	const struct trn_mail mail = {
		.time_ps = tl->actor[actor].causal.time_ps,
		.sender = trn_replay_rank(tl, actor),
		.group = tl->group,
		.vague = atomic_load(&tl->vague),
		.sem = (uint16_t)sem,
		.op = (uint8_t)op,
		.value = value,
	};

	pthread_mutex_lock(&ct->lock);
	ct->foreign[sem] = true;
	ct->special[sem / TRN_TIME_TOGETHER] = true;
	trn_causal_post(ct, sem, op, value, mail.time_ps);
	trn_replay_mail(ct, &mail);
	pthread_mutex_unlock(&ct->lock);
}

void trn_time_post(struct trn_timeline *tl, unsigned int actor,
		   struct trn_core *target, unsigned int sem, unsigned int op,
		   int32_t value)
{
	struct trn_time_record record = {
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
		if (tl->group) {
			record.kind = TRN_RECORD_AWAY;
			record.cookie = trn_replay_core_id(target);
			append(tl, actor, &record);
		}
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
	struct trn_time_record record = {
		.kind = TRN_RECORD_TRIGGER,
		.index = (uint16_t)queue_actor,
		.value = (int32_t)descriptors,
	};

	if (!descriptors || !timeline_usable(tl))
		return;
	pthread_mutex_lock(&tl->ct->lock);
	trn_clock_trigger(&tl->actor[queue_actor].causal,
			  tl->actor[actor].causal.time_ps, descriptors);
	pthread_mutex_unlock(&tl->ct->lock);
	append(tl, actor, &record);
}

static void record_load(struct trn_timeline *tl, unsigned int actor,
			unsigned int path, uint32_t bytes)
{
	const struct trn_time_record record = {
		.kind = TRN_RECORD_LOAD,
		.index = (uint16_t)path,
		.value = (int32_t)bytes,
	};

	trn_timeline_record(tl, actor, &record);
}

/* The path of a stream, and in *@most the longest time that one took so far. */
static unsigned int stream_way(struct trn_timeline *tl, unsigned int actor,
			       const struct trn_stream *stream, uint64_t *most)
{
	unsigned int path;
	uint64_t ps;

	path = trn_path_find(tl, &tl->actor[actor], stream->src, stream->dst);
	pthread_mutex_lock(&tl->ct->lock);
	ps = trn_path_ps(tl, path, stream->bytes);
	pthread_mutex_unlock(&tl->ct->lock);
	*most = *most < ps ? ps : *most;
	return path;
}

static uint32_t limit_bytes(uint64_t bytes)
{
	return bytes > INT32_MAX ? INT32_MAX : (uint32_t)bytes;
}

/* The last stream goes into the descriptor's own record. */
void trn_time_dma(struct trn_timeline *tl, unsigned int queue_actor,
		  uint64_t cost_ps, unsigned int hops,
		  const struct trn_traffic *traffic)
{
	struct trn_time_record record = {
		.kind = TRN_RECORD_DMA,
		.op = (uint8_t)(hops < UINT8_MAX ? hops : UINT8_MAX),
		.cost_ps = cost_ps,
	};
	const struct trn_stream *stream;
	struct trn_clock *causal;
	uint64_t alone = cost_ps;
	unsigned int i;

	if (!timeline_usable(tl))
		return;
	for (i = 0; traffic && i < traffic->nr; i++) {
		stream = &traffic->stream[i];
		if (i)
			record_load(tl, queue_actor, record.index,
				    (uint32_t)record.value);
		record.index = (uint16_t)stream_way(tl, queue_actor, stream,
						    &alone);
		record.value = (int32_t)limit_bytes(stream->bytes);
	}
	causal = &tl->actor[queue_actor].causal;
	pthread_mutex_lock(&tl->ct->lock);
	trn_clock_moved(causal, record.op,
			trn_clock_ready(causal, record.op) + alone);
	pthread_mutex_unlock(&tl->ct->lock);
	append(tl, queue_actor, &record);
}

bool trn_time_ordered(const struct trn_timeline *tl)
{
	return timeline_usable(tl);
}

uint64_t trn_time_next_ps(struct trn_timeline *tl, unsigned int actor)
{
	const struct trn_clock *causal;
	uint64_t next;

	if (!tl)
		return 0;
	causal = &tl->actor[actor].causal;
	if (actor < TRN_ACTOR_QUEUE)
		return causal->time_ps;
	pthread_mutex_lock(&tl->ct->lock);
	next = trn_clock_ready(causal, 0);
	pthread_mutex_unlock(&tl->ct->lock);
	return next;
}

uint64_t trn_time_actor(const struct trn_timeline *tl, unsigned int actor)
{
	return tl ? tl->actor[actor].causal.time_ps / 1000 : 0;
}

void trn_time_stamp(struct trn_timeline *tl, unsigned int actor, uint64_t cookie)
{
	struct trn_time_record record = {
		.kind = TRN_RECORD_STAMP,
		.cookie = cookie,
	};

	if (!timeline_usable(tl))
		return;
	if (!atomic_load(&tl->kept)) {
		append(tl, actor, &record);
		return;
	}
	pthread_mutex_lock(&tl->ct->lock);
	trn_replay_stamp(tl, tl->actor[actor].causal.time_ps, cookie);
	pthread_mutex_unlock(&tl->ct->lock);
}

bool trn_time_trace(struct trn_timeline *tl, unsigned int actor, uint32_t code,
		    uint32_t pc, uint64_t bytes)
{
	struct trn_time_record record = {
		.kind = TRN_RECORD_TRACE,
		.value = (int32_t)(bytes < UINT32_MAX ? bytes : UINT32_MAX),
		.cookie = (uint64_t)pc << 32 | code,
	};

	if (!timeline_usable(tl) || !tl->trace)
		return false;
	if (!atomic_exchange(&tl->tracing, true) && !atomic_load(&tl->kept))
		atomic_store(&tl->next_drain, 0);
	return append(tl, actor, &record);
}
