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

void trn_clock_pass(struct trn_clock *clock, uint64_t ps)
{
	clock->time_ps += ps;
	clock->free_ps += ps;
}

/*
 * What is done in the background of the instruction before the wait could not begin
 * earlier than the wait was over.
 */
void trn_clock_wait(struct trn_clock *clock, uint64_t time_ps)
{
	if (clock->time_ps < time_ps)
		clock->time_ps = time_ps;
	if (clock->free_ps < time_ps)
		clock->free_ps = time_ps;
}

/* Instructions begin in order, and what is loaded before one is there. */
static uint64_t part_begin(const struct trn_clock *clock, unsigned int parts)
{
	uint64_t begin = clock->free_ps;
	unsigned int i;

	if (begin < clock->whole_ps)
		begin = clock->whole_ps;
	for (i = 0; i < TRN_PE_ARRAY_PARTS; i++)
		if (parts >> i & 1 && begin < clock->part_ps[i])
			begin = clock->part_ps[i];
	return begin;
}

uint64_t trn_clock_begin(const struct trn_clock *clock,
			 const struct trn_time_work *work)
{
	switch (work->class) {
	case TRN_TIME_BACKGROUND:
		return clock->free_ps;
	case TRN_TIME_PART:
		return part_begin(clock, work->parts);
	default:
		return clock->time_ps;
	}
}

uint64_t trn_clock_exec(struct trn_clock *clock, const struct trn_time_work *work,
			uint64_t begin_ps)
{
	uint64_t end = begin_ps + work->cost_ps;
	unsigned int i;

	switch (work->class) {
	case TRN_TIME_BACKGROUND:
		clock->free_ps = end;
		break;
	case TRN_TIME_COVER:
		clock->free_ps = begin_ps;
		clock->whole_ps = end;
		break;
	case TRN_TIME_PART:
		clock->free_ps = begin_ps;
		for (i = 0; i < TRN_PE_ARRAY_PARTS; i++)
			if (work->parts >> i & 1)
				clock->part_ps[i] = end;
		break;
	case TRN_TIME_PLAIN:
		clock->free_ps += work->cost_ps;
		break;
	}
	/* They end in order, too, for whoever waits for them. */
	if (clock->time_ps < end)
		clock->time_ps = end;
	return end;
}

/* --- queues --- */

bool trn_clock_trigger(struct trn_clock *clock, uint64_t time_ps, uint32_t count)
{
	struct trn_trigger *trigger = malloc(sizeof(*trigger));

	if (!trigger)
		return false;
	*trigger = (struct trn_trigger){ .time_ps = time_ps, .count = count };
	*clock->last = trigger;
	clock->last = &trigger->next;
	return true;
}

static void trigger_use(struct trn_clock *clock)
{
	struct trn_trigger *trigger = clock->first;

	if (--trigger->count)
		return;
	clock->first = trigger->next;
	if (!clock->first)
		clock->last = &clock->first;
	free(trigger);
}

/* Has the queue nothing to do when its next descriptor is triggered? */
static bool clock_idle(const struct trn_clock *clock)
{
	return !clock->first || clock->time_ps <= clock->first->time_ps;
}

uint64_t trn_clock_ready(const struct trn_clock *clock, uint32_t hops)
{
	uint64_t ready = clock->time_ps;

	if (clock_idle(clock)) {
		if (clock->first)
			ready = clock->first->time_ps;
		return ready + TRN_COST_DMA_START_PS + hops * TRN_COST_HOP_PS;
	}
	/* A longer way than that of the descriptors before delays once. */
	if (hops > clock->hops)
		ready += (hops - clock->hops) * TRN_COST_HOP_PS;
	return ready;
}

void trn_clock_moved(struct trn_clock *clock, uint32_t hops, uint64_t end_ps)
{
	if (clock_idle(clock) || hops > clock->hops)
		clock->hops = hops;
	clock->time_ps = end_ps;
	if (clock->first)
		trigger_use(clock);
}

void trn_clock_free(struct trn_clock *clock)
{
	while (clock->first) {
		clock->first->count = 1;
		trigger_use(clock);
	}
}
