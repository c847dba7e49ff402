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
		     const struct trn_record *record)
{
	const struct trn_time_work work = {
		.class = (enum trn_time_class)record->op,
		.ports = record->index,
		.parts = (uint16_t)record->value,
		.cost_ps = record->cost_ps,
	};
	uint64_t begin = trn_flow_begin(&actor->replay, &work), end;
	unsigned int i;

	for (i = 0; i < TRN_PORTS; i++)
		if (work.ports & NEURON_BIT(i) && begin < tl->port_ps[i])
			begin = tl->port_ps[i];
	end = trn_flow_exec(&actor->replay, &work, begin);
	for (i = 0; i < TRN_PORTS; i++)
		if (work.ports & NEURON_BIT(i))
			tl->port_ps[i] = end;
	trn_trace_span(tl, actor, begin, end);
}

/* --- DMA --- */

/* Each resource passes bytes in the order in which they come to it. */
static uint64_t pass(struct trn_timeline *tl, unsigned int way,
		     uint64_t bytes, uint64_t time_ps)
{
	uint64_t end = time_ps, begin;
	unsigned int i;

	for (i = 0; way && i < tl->ways[way - 1].nr; i++) {
		const struct trn_use *use = &tl->ways[way - 1].use[i];
		struct trn_resource *resource = &tl->resources[use->resource];

		begin = resource->free_ps < time_ps ? time_ps : resource->free_ps;
		resource->free_ps = begin + bytes * 1000000 / use->bytes_per_us;
		if (end < resource->free_ps)
			end = resource->free_ps;
	}
	return end;
}

/* The actor's descriptor, at @begin, when its engine is free. */
static void move(struct trn_timeline *tl, struct trn_actor *actor, uint64_t begin)
{
	const struct trn_record record = *trn_replay_peek(actor);
	uint64_t end = begin + record.cost_ps, through;
	unsigned int i;

	for (i = 0; i < actor->nr_loads; i++) {
		through = pass(tl, actor->load[i].way, actor->load[i].bytes,
			       begin);
		end = end < through ? through : end;
	}
	actor->nr_loads = 0;
	through = pass(tl, record.index, (uint32_t)record.value, begin);
	end = end < through ? through : end;

	trn_trace_span(tl, actor, begin, end);
	tl->engines[actor->engine].free_ps = end;
	trn_flow_moved(&actor->replay, record.op, end);
	trn_replay_consume(tl, actor);
	trn_replay_ready(tl, actor);
}

void trn_engine_ready(struct trn_timeline *tl, unsigned int engine)
{
	trn_heap_put(tl, (struct trn_ready){
		.time_ps = tl->engines[engine].free_ps,
		.rank = (uint16_t)(TRN_RANK_ENGINE + engine),
		.index = (uint16_t)(tl->nr_actors + engine),
	});
}

/*
 * A queue has one descriptor in line, so those that always have work take turns, as
 * the public DMA overview says of v2 and v3.
 */
void trn_replay_dma(struct trn_timeline *tl, struct trn_actor *actor,
		    uint64_t time_ps)
{
	struct trn_dma_engine *engine = &tl->engines[actor->engine];
	uint16_t index = (uint16_t)(actor - tl->actor);

	if (engine->first == TRN_NO_ACTOR && engine->free_ps <= time_ps) {
		move(tl, actor, time_ps);
		return;
	}
	actor->queued = true;
	actor->next = TRN_NO_ACTOR;
	if (engine->first == TRN_NO_ACTOR) {
		engine->first = index;
		trn_engine_ready(tl, actor->engine);
	} else {
		tl->actor[engine->last].next = index;
	}
	engine->last = index;
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
