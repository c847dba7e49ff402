// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Device time: causal clocks.
 *
 * A semaphore counts how much it was raised and lowered in all. A wait for at
 * least v needs lowered + v raised in all, and so is over when the raise came
 * that got there. The newest raises are remembered one by one.
 */
#include <stdlib.h>

#include "base/trn_chip.h"
#include "time/trn_time_private.h"

static struct trn_history *history_of(struct trn_core_time *ct, unsigned int sem)
{
	if (!ct->history[sem]) {
		ct->history[sem] = calloc(1, sizeof(struct trn_history));
		ct->special[sem / TRN_TIME_TOGETHER] = true;
	}
	return ct->history[sem];
}

/* Anew from @value, which lowered cannot reach: both stay non-negative. */
static void history_restart(struct trn_history *h, int32_t value, uint64_t time_ps)
{
	*h = (struct trn_history){
		.raised = value > 0 ? (uint64_t)value : 0,
		.lowered = value < 0 ? (uint64_t)-(int64_t)value : 0,
		.changed_ps = time_ps,
	};
	h->old.total = h->raised;
	h->old.time_ps = time_ps;
}

static void history_raise(struct trn_history *h, uint64_t amount, uint64_t time_ps)
{
	uint64_t latest = h->old.time_ps;
	struct trn_raise *slot;

	if (h->nr)
		latest = h->ring[(h->first + h->nr - 1) % TRN_RAISES].time_ps;
	if (h->nr == TRN_RAISES) {
		h->old = h->ring[h->first];
		h->first = (h->first + 1) % TRN_RAISES;
		h->nr--;
	}
	h->raised += amount;
	slot = &h->ring[(h->first + h->nr++) % TRN_RAISES];
	slot->total = h->raised;
	slot->time_ps = latest < time_ps ? time_ps : latest;
}

/* When the semaphore had been raised by @total; it may never have been. */
static uint64_t history_time(const struct trn_history *h, uint64_t total)
{
	unsigned int i;

	if (total <= h->old.total)
		return h->old.time_ps;
	for (i = 0; i < h->nr; i++) {
		const struct trn_raise *raise = &h->ring[(h->first + i) % TRN_RAISES];

		if (raise->total >= total)
			return raise->time_ps;
	}
	return 0;
}

void trn_causal_set(struct trn_core_time *ct, unsigned int sem, int32_t value)
{
	struct trn_history *h = history_of(ct, sem);

	if (h)
		history_restart(h, value, 0);
}

void trn_causal_post(struct trn_core_time *ct, unsigned int sem, unsigned int op,
		     int32_t value, uint64_t time_ps)
{
	struct trn_history *h = history_of(ct, sem);
	int64_t amount = op == NEURON_SYNC_POST_SUB ? -(int64_t)value : value;

	if (!h)
		return;
	if (op == NEURON_SYNC_POST_SET) {
		history_restart(h, value, time_ps);
		return;
	}
	if (amount >= 0)
		history_raise(h, (uint64_t)amount, time_ps);
	else
		h->lowered += (uint64_t)-amount;
	if (h->changed_ps < time_ps)
		h->changed_ps = time_ps;
}

/* A wait for at least as much as makes @total; what came from outside counts from now on. */
static uint64_t end_at_least(struct trn_history *h, int64_t total, uint64_t time_ps,
			     bool *outside)
{
	if (total <= 0)
		return 0;
	*outside = (uint64_t)total > h->raised;
	if (!*outside)
		return history_time(h, (uint64_t)total);
	history_raise(h, (uint64_t)total - h->raised, time_ps);
	return 0;
}

uint64_t trn_causal_wait(struct trn_core_time *ct, unsigned int sem,
			 unsigned int sync, int32_t value, uint64_t time_ps,
			 bool *outside)
{
	struct trn_history *h = history_of(ct, sem);
	uint64_t over;

	*outside = false;
	if (!h)
		return time_ps;
	if (NEURON_GET(NEURON_SYNC_WAIT, sync) == NEURON_SYNC_WAIT_EQ)
		over = h->changed_ps;
	else
		over = end_at_least(h, (int64_t)h->lowered + value, time_ps, outside);
	if (over < time_ps)
		over = time_ps;
	if (!(sync & NEURON_SYNC_TAKE))
		return over;
	if (value >= 0)
		h->lowered += (uint64_t)value;
	else
		history_raise(h, (uint64_t)-(int64_t)value, over);
	return over;
}
