// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Saving and loading: what the transfers of a job share, and who is in line for it.
 */
#include "base/trn_chip.h"
#include "base/trn_state.h"
#include "mem/trn_domain.h"
#include "time/trn_time.h"
#include "time/trn_time_private.h"

static void resources_state(struct trn_timeline *tl, struct trn_state *st)
{
	uint32_t nr = trn_state_count(st, tl->nr_resources, UINT16_MAX);
	uint32_t i, key;

	for (i = 0; i < nr && !trn_state_failed(st); i++) {
		key = st->loading ? 0 : tl->resources[i].key;
		trn_state_u32(st, &key);
		if (st->loading && trn_way_resource(tl, key) != (int)i)
			trn_state_fail(st, "a resource is there twice, or out of memory");
		else
			trn_state_u64(st, &tl->resources[i].free_ps);
	}
}

static void use_state(const struct trn_timeline *tl, struct trn_use *use,
		      struct trn_state *st)
{
	trn_state_u16(st, &use->resource);
	trn_state_u32(st, &use->bytes_per_us);
	if (use->resource >= tl->nr_resources || !use->bytes_per_us)
		trn_state_fail(st, "a way leads nowhere");
}

static void way_state(struct trn_timeline *tl, unsigned int index,
		      struct trn_state *st)
{
	struct trn_way_key key = { 0 };
	struct trn_way *way;
	uint32_t nr = 0, i;

	if (!st->loading) {
		key = tl->ways[index].key;
		nr = tl->ways[index].nr;
	}
	trn_state_u32(st, &key.src);
	trn_state_u32(st, &key.dst);
	trn_state_u32(st, &key.turn);
	nr = trn_state_count(st, nr, TRN_WAY_USES);
	if (trn_state_failed(st))
		return;
	way = st->loading ? trn_way_add(tl, key, nr) : &tl->ways[index];
	if (!way) {
		trn_state_fail(st, "too many ways, or out of memory");
		return;
	}
	for (i = 0; i < nr && !trn_state_failed(st); i++)
		use_state(tl, &way->use[i], st);
}

/* The links may have been changed as often in another order: ways are found anew. */
void trn_ways_state(struct trn_timeline *tl, struct trn_state *st)
{
	uint32_t nr, i;

	resources_state(tl, st);
	nr = trn_state_count(st, tl->nr_ways, TRN_WAYS);
	for (i = 0; i < nr && !trn_state_failed(st); i++)
		way_state(tl, i, st);
	for (i = 0; st->loading && i < tl->nr_ways; i++)
		tl->ways[i].key.src = TRN_END_NONE - 1;
}

/* A queue in line has a descriptor to move, and is nowhere else. */
static bool may_queue(const struct trn_timeline *tl, uint16_t index,
		      unsigned int engine)
{
	struct trn_actor *actor = &tl->actor[index];
	const struct trn_record *record = trn_replay_peek(actor);

	return record && record->kind == TRN_RECORD_DMA && !actor->parked &&
	       !actor->queued && actor->engine == engine;
}

static void load_line(struct trn_timeline *tl, unsigned int engine, uint32_t nr,
		      struct trn_state *st)
{
	struct trn_dma_engine *e = &tl->engines[engine];
	uint16_t index = 0;

	while (nr-- && !trn_state_failed(st)) {
		trn_state_u16(st, &index);
		if (index < TRN_ACTOR_QUEUE || index >= tl->nr_actors ||
		    !may_queue(tl, index, engine)) {
			trn_state_fail(st, "a queue cannot be in line");
			return;
		}
		tl->actor[index].queued = true;
		tl->actor[index].next = TRN_NO_ACTOR;
		if (e->first == TRN_NO_ACTOR)
			e->first = index;
		else
			tl->actor[e->last].next = index;
		e->last = index;
	}
	if (e->first != TRN_NO_ACTOR)
		trn_engine_ready(tl, engine);
}

static void engine_state(struct trn_timeline *tl, unsigned int engine,
			 struct trn_state *st)
{
	struct trn_dma_engine *e = &tl->engines[engine];
	uint16_t index = st->loading ? TRN_NO_ACTOR : e->first;
	uint32_t nr = 0;

	trn_state_u64(st, &e->free_ps);
	for (; index != TRN_NO_ACTOR; index = tl->actor[index].next)
		nr++;
	nr = trn_state_count(st, nr, tl->nr_actors);
	if (st->loading) {
		load_line(tl, engine, nr, st);
		return;
	}
	for (index = e->first; index != TRN_NO_ACTOR; index = tl->actor[index].next)
		trn_state_u16(st, &index);
}

void trn_engines_state(struct trn_timeline *tl, struct trn_state *st)
{
	unsigned int i;

	for (i = 0; i < TRN_DMA_ENGINES && !trn_state_failed(st); i++)
		engine_state(tl, i, st);
}
