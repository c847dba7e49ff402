// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Device time: who gets what first. The heap gives the events in virtual-time order,
 * ties by rank; each thing that can be used by one at a time serves in that order.
 */
#include "base/trn_chip.h"
#include "time/trn_time.h"
#include "time/trn_time_private.h"

/* --- the heap --- */

static bool before(const struct trn_ready *a, const struct trn_ready *b)
{
	return a->time_ps < b->time_ps ||
	       (a->time_ps == b->time_ps && a->rank < b->rank);
}

const struct trn_ready *trn_heap_first(const struct trn_timeline *tl)
{
	return tl->nr_ready ? tl->heap : NULL;
}

void trn_heap_put(struct trn_timeline *tl, struct trn_ready ready)
{
	unsigned int at = tl->nr_ready++;

	while (at && before(&ready, &tl->heap[(at - 1) / 2])) {
		tl->heap[at] = tl->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	tl->heap[at] = ready;
}

struct trn_ready trn_heap_take(struct trn_timeline *tl)
{
	const struct trn_ready first = tl->heap[0];
	const struct trn_ready last = tl->heap[--tl->nr_ready];
	unsigned int at = 0, child;

	for (;;) {
		child = 2 * at + 1;
		if (child >= tl->nr_ready)
			break;
		if (child + 1 < tl->nr_ready &&
		    before(&tl->heap[child + 1], &tl->heap[child]))
			child++;
		if (!before(&tl->heap[child], &last))
			break;
		tl->heap[at] = tl->heap[child];
		at = child;
	}
	tl->heap[at] = last;
	return first;
}

/* --- engines of the core --- */

void trn_replay_exec(struct trn_timeline *tl, struct trn_actor *actor,
		     const struct trn_time_record *record)
{
	const struct trn_time_work work = {
		.class = (enum trn_time_class)record->op,
		.ports = record->index,
		.parts = (uint16_t)record->value,
		.cost_ps = record->cost_ps,
	};
	uint64_t begin = trn_clock_begin(&actor->replay, &work), end;
	uint64_t *port_ps = actor->part->port_ps;
	unsigned int i;

	for (i = 0; i < TRN_PORTS; i++)
		if (work.ports & NEURON_BIT(i) && begin < port_ps[i])
			begin = port_ps[i];
	end = trn_clock_exec(&actor->replay, &work, begin);
	for (i = 0; i < TRN_PORTS; i++)
		if (work.ports & NEURON_BIT(i))
			port_ps[i] = end;
	trn_trace_span(tl, actor, begin, end);
}

/* --- DMA --- */

/*
 * The resource has @took_ps to do with bytes that come to it at @time_ps. It passes those
 * of higher priority first, then in the order in which they come. What comes later with a
 * lower priority waits for these too; what is on its way already keeps its time.
 */
static uint64_t serve(struct trn_resource *resource, unsigned int priority,
		      uint64_t took_ps, uint64_t time_ps)
{
	uint64_t *free_ps = resource->free_ps;
	unsigned int p;

	if (time_ps < free_ps[priority])
		time_ps = free_ps[priority];
	for (p = priority; p < NEURON_NR_PRIORITIES; p++)
		free_ps[p] = (free_ps[p] < time_ps ? time_ps : free_ps[p]) + took_ps;
	return free_ps[priority];
}

/* @bytes of @actor have passed all that is on their way. */
static uint64_t pass(struct trn_timeline *tl, const struct trn_actor *actor, unsigned int path,
		     uint64_t bytes, uint64_t time_ps)
{
	uint64_t end = time_ps, through;
	const struct trn_path *way;
	unsigned int i;

	if (!path)
		return end;
	way = &tl->paths[actor->part->first_path + path - 1];
	for (i = 0; i < way->nr; i++) {
		const struct trn_use *use = &way->use[i];

		through = serve(&tl->resources[use->resource], actor->priority,
				bytes * 1000000 / use->bytes_per_us, time_ps);
		end = end < through ? through : end;
	}
	return end;
}

/* The actor's descriptor, at @begin, when its engine is free. */
static void move(struct trn_timeline *tl, struct trn_actor *actor, uint64_t begin)
{
	const struct trn_time_record record = *trn_replay_peek(actor);
	uint64_t end = begin + record.cost_ps, through;
	unsigned int i;

	for (i = 0; i < actor->nr_loads; i++) {
		through = pass(tl, actor, actor->load[i].path, actor->load[i].bytes,
			       begin);
		end = end < through ? through : end;
	}
	actor->nr_loads = 0;
	through = pass(tl, actor, record.index, (uint32_t)record.value, begin);
	end = end < through ? through : end;

	trn_trace_span(tl, actor, begin, end);
	tl->engines[actor->engine].free_ps = end;
	trn_clock_moved(&actor->replay, record.op, end);
	trn_replay_consume(tl, actor);
	trn_replay_ready(tl, actor);
}

void trn_engine_ready(struct trn_timeline *tl, unsigned int engine)
{
	trn_heap_put(tl, (struct trn_ready){
		.time_ps = tl->engines[engine].free_ps,
		.rank = tl->engine_rank + engine,
		.index = tl->nr_actors + engine,
	});
}

void trn_engine_line(struct trn_timeline *tl, struct trn_actor *actor)
{
	uint32_t *at = &tl->engines[actor->engine].first;

	while (*at != TRN_NO_ACTOR && tl->actor[*at].priority <= actor->priority)
		at = &tl->actor[*at].next;
	actor->queued = true;
	actor->next = *at;
	*at = (uint32_t)(actor - tl->actor);
}

/*
 * A queue has one descriptor in line, so those of one priority that always have work take
 * turns, as the public DMA overview says of v2 and v3.
 */
void trn_replay_dma(struct trn_timeline *tl, struct trn_actor *actor,
		    uint64_t time_ps)
{
	struct trn_dma_engine *engine = &tl->engines[actor->engine];

	if (engine->first == TRN_NO_ACTOR && engine->free_ps <= time_ps) {
		move(tl, actor, time_ps);
		return;
	}
	if (engine->first == TRN_NO_ACTOR)
		trn_engine_ready(tl, actor->engine);
	trn_engine_line(tl, actor);
}

void trn_replay_engine(struct trn_timeline *tl, unsigned int engine)
{
	struct trn_dma_engine *e = &tl->engines[engine];
	struct trn_actor *actor = &tl->actor[e->first];
	uint64_t free_ps = e->free_ps;

	e->first = actor->next;
	actor->queued = false;
	move(tl, actor, free_ps);
	if (e->first != TRN_NO_ACTOR)
		trn_engine_ready(tl, engine);
}
