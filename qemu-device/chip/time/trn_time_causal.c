// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Device time: causal clocks.
 *
 * A semaphore counts how much it was raised and lowered in all. A wait for at
 * least v needs lowered + v raised in all, and so is over when the raise came
 * that got there. The newest raises are remembered one by one. Those that were lowered
 * again are forgotten first: nobody waits for them any more.
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

void trn_causal_free(struct trn_core_time *ct)
{
	unsigned int i;

	for (i = 0; i < TRN_TIME_SEMS; i++) {
		if (ct->history[i])
			free(ct->history[i]->ring);
		free(ct->history[i]);
		ct->history[i] = NULL;
	}
}

size_t trn_causal_bytes(const struct trn_core_time *ct)
{
	size_t bytes = 0;
	unsigned int i;

	for (i = 0; i < TRN_TIME_SEMS; i++)
		if (ct->history[i])
			bytes += sizeof(*ct->history[i]) +
				 ct->history[i]->room * sizeof(*ct->history[i]->ring);
	return bytes;
}

/* Anew from @value, which lowered cannot reach: both stay non-negative. */
static void history_restart(struct trn_history *h, int32_t value, uint64_t time_ps)
{
	h->raised = value > 0 ? (uint64_t)value : 0;
	h->lowered = value < 0 ? (uint64_t)-(int64_t)value : 0;
	h->set = (struct trn_raise){ h->raised, time_ps };
	h->old = h->set;
	h->vague = h->raised;
	h->changed_ps = time_ps;
	h->first = 0;
	h->nr = 0;
}

static struct trn_raise *raise_at(const struct trn_history *h, unsigned int i)
{
	return &h->ring[(h->first + i) % h->room];
}

/* The oldest ones are no longer remembered one by one. */
static void forget(struct trn_history *h, unsigned int nr)
{
	h->vague = nr > 1 ? raise_at(h, nr - 2)->total : h->old.total;
	h->old = *raise_at(h, nr - 1);
	h->first = (h->first + nr) % h->room;
	h->nr -= nr;
}

bool trn_causal_room(struct trn_history *h, unsigned int nr)
{
	struct trn_raise *ring = malloc(nr * sizeof(*ring));
	unsigned int i;

	if (!ring)
		return false;
	for (i = 0; i < h->nr; i++)
		ring[i] = *raise_at(h, i);
	free(h->ring);
	h->ring = ring;
	h->room = nr;
	h->first = 0;
	return true;
}

static bool grow(struct trn_history *h)
{
	unsigned int room = h->room ? 2 * h->room : TRN_RAISES_FEW;

	if (h->room >= TRN_RAISES_MOST)
		return false;
	return trn_causal_room(h, room < TRN_RAISES_MOST ? room : TRN_RAISES_MOST);
}

/* False: no memory at all. */
static bool make_room(struct trn_history *h)
{
	unsigned int done = 0;

	if (h->nr < h->room)
		return true;
	while (done < h->nr && raise_at(h, done)->total <= h->lowered)
		done++;
	if (!done && grow(h))
		return true;
	if (h->nr)
		forget(h, done ? done : 1);
	return h->nr < h->room;
}

static void history_raise(struct trn_history *h, uint64_t amount, uint64_t time_ps)
{
	struct trn_raise *last = h->nr ? raise_at(h, h->nr - 1) : &h->old;

	h->raised += amount;
	/* Not later than the last one: a wait for it ends when that one came, so both are one. */
	if (time_ps <= last->time_ps) {
		last->total = h->raised;
		return;
	}
	if (make_room(h)) {
		*raise_at(h, h->nr++) = (struct trn_raise){ h->raised, time_ps };
		return;
	}
	h->vague = h->old.total;
	h->old = (struct trn_raise){ h->raised, time_ps };
}

/* When the semaphore had been raised by @total; it may never have been. */
static uint64_t history_time(const struct trn_history *h, uint64_t total)
{
	unsigned int lo = 0, hi = h->nr;

	if (total <= h->set.total)
		return h->set.time_ps;
	if (total <= h->old.total)
		return h->old.time_ps;
	while (lo < hi) {
		unsigned int mid = lo + (hi - lo) / 2;

		if (raise_at(h, mid)->total >= total)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo < h->nr ? raise_at(h, lo)->time_ps : 0;
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
static uint64_t end_at_least(struct trn_history *h, int64_t total, struct trn_causal_end *end)
{
	const uint64_t needed = (uint64_t)total;

	if (total <= 0)
		return 0;
	end->outside = needed > h->raised;
	end->vague = needed > h->set.total && needed <= h->vague;
	if (!end->outside)
		return history_time(h, needed);
	history_raise(h, needed - h->raised, end->time_ps);
	return 0;
}

struct trn_causal_end trn_causal_wait(struct trn_core_time *ct, unsigned int sem,
				      unsigned int sync, int32_t value, uint64_t time_ps)
{
	struct trn_causal_end end = { .time_ps = time_ps };
	struct trn_history *h = history_of(ct, sem);
	uint64_t over;

	if (!h)
		return end;
	if (NEURON_GET(NEURON_SYNC_WAIT, sync) == NEURON_SYNC_WAIT_EQ)
		over = h->changed_ps;
	else
		over = end_at_least(h, (int64_t)h->lowered + value, &end);
	if (over > time_ps)
		end.time_ps = over;
	else
		end.vague = false;
	if (!(sync & NEURON_SYNC_TAKE))
		return end;
	if (value >= 0)
		h->lowered += (uint64_t)value;
	else
		history_raise(h, (uint64_t)-(int64_t)value, end.time_ps);
	return end;
}
