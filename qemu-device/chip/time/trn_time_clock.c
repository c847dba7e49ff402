// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Device time: where an actor is, and what a queue has to do. Both clocks, the causal
 * one and the replay's, go by these rules.
 */
#include <stdlib.h>

#include "base/trn_chip.h"
#include "isa/trn_pe_array.h"
#include "time/trn_time.h"
#include "time/trn_time_private.h"

void trn_flow_pass(struct trn_flow *flow, uint64_t ps)
{
	flow->time_ps += ps;
	flow->free_ps += ps;
}

/*
 * What is done in the background of the instruction before the wait could not begin
 * earlier than the wait was over.
 */
void trn_flow_wait(struct trn_flow *flow, uint64_t time_ps)
{
	if (flow->time_ps < time_ps)
		flow->time_ps = time_ps;
	if (flow->free_ps < time_ps)
		flow->free_ps = time_ps;
}

/* Instructions begin in order, and what is loaded before one is there. */
static uint64_t part_begin(const struct trn_flow *flow, unsigned int parts)
{
	uint64_t begin = flow->free_ps;
	unsigned int i;

	if (begin < flow->whole_ps)
		begin = flow->whole_ps;
	for (i = 0; i < TRN_ARRAY_PARTS; i++)
		if (parts >> i & 1 && begin < flow->part_ps[i])
			begin = flow->part_ps[i];
	return begin;
}

uint64_t trn_flow_begin(const struct trn_flow *flow,
			const struct trn_time_work *work)
{
	switch (work->class) {
	case TRN_TIME_BACKGROUND:
		return flow->free_ps;
	case TRN_TIME_PART:
		return part_begin(flow, work->parts);
	default:
		return flow->time_ps;
	}
}

uint64_t trn_flow_exec(struct trn_flow *flow, const struct trn_time_work *work,
		       uint64_t begin_ps)
{
	uint64_t end = begin_ps + work->cost_ps;
	unsigned int i;

	switch (work->class) {
	case TRN_TIME_BACKGROUND:
		flow->free_ps = end;
		break;
	case TRN_TIME_COVER:
		flow->free_ps = begin_ps;
		flow->whole_ps = end;
		break;
	case TRN_TIME_PART:
		flow->free_ps = begin_ps;
		for (i = 0; i < TRN_ARRAY_PARTS; i++)
			if (work->parts >> i & 1)
				flow->part_ps[i] = end;
		break;
	case TRN_TIME_PLAIN:
		flow->free_ps += work->cost_ps;
		break;
	}
	/* They end in order, too, for whoever waits for them. */
	if (flow->time_ps < end)
		flow->time_ps = end;
	return end;
}

/* --- queues --- */

bool trn_flow_trigger(struct trn_flow *flow, uint64_t time_ps, uint32_t count)
{
	struct trn_trigger *trigger = malloc(sizeof(*trigger));

	if (!trigger)
		return false;
	*trigger = (struct trn_trigger){ .time_ps = time_ps, .count = count };
	*flow->last = trigger;
	flow->last = &trigger->next;
	return true;
}

static void trigger_use(struct trn_flow *flow)
{
	struct trn_trigger *trigger = flow->first;

	if (--trigger->count)
		return;
	flow->first = trigger->next;
	if (!flow->first)
		flow->last = &flow->first;
	free(trigger);
}

/* Has the queue nothing to do when its next descriptor is triggered? */
static bool flow_idle(const struct trn_flow *flow)
{
	return !flow->first || flow->time_ps <= flow->first->time_ps;
}

uint64_t trn_flow_ready(const struct trn_flow *flow, uint32_t hops)
{
	uint64_t ready = flow->time_ps;

	if (flow_idle(flow)) {
		if (flow->first)
			ready = flow->first->time_ps;
		return ready + TRN_COST_DMA_START_PS + hops * TRN_COST_HOP_PS;
	}
	/* A longer way than that of the descriptors before delays once. */
	if (hops > flow->hops)
		ready += (hops - flow->hops) * TRN_COST_HOP_PS;
	return ready;
}

void trn_flow_moved(struct trn_flow *flow, uint32_t hops, uint64_t end_ps)
{
	if (flow_idle(flow) || hops > flow->hops)
		flow->hops = hops;
	flow->time_ps = end_ps;
	if (flow->first)
		trigger_use(flow);
}

void trn_flow_free(struct trn_flow *flow)
{
	while (flow->first) {
		flow->first->count = 1;
		trigger_use(flow);
	}
}
