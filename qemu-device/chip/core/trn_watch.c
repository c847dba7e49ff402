// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Watches: which bytes a debugger watches, who may have written them, and what has become of
 * them.
 *
 * A write is noted when it begins, with the task that makes it, and looked at when the
 * instruction or the packet is done. The first one that is noted keeps the bytes as they are.
 */
#include "hook/trn_watch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/trn_park.h"
#include "dma/trn_udma_queue.h"
#include "exec/trn_seq.h"
#include "mem/trn_bus.h"
#include "mem/trn_touched.h"

/* Tasks that are in the middle of a write of the same bytes. */
#define WATCH_WRITERS	8

/**
 * struct watch - bytes that are watched
 * @loc: where they are
 * @len: how many
 * @nr: writers
 * @writer: tasks that may write some of them, and have not ended what they do
 * @was: the bytes before the first of them; without one nothing
 */
struct watch {
	struct trn_loc loc;
	uint32_t len;
	unsigned int nr;
	const struct trn_task *writer[WATCH_WRITERS];
	uint8_t was[TRN_WATCHPOINT_BYTES];
};

/**
 * struct trn_watches - those of a chip; replaced as a whole while the chip is quiet
 * @lock: writers and bytes of each. A leaf
 */
struct trn_watches {
	pthread_mutex_t lock;
	unsigned int nr;
	struct watch watch[];
};

/* The chip that writes cannot tell the one that is written to. */
static bool is_own(const struct trn_chip *chip, const struct trn_task *task)
{
	const char *at = (const char *)task;
	const char *queues = (const char *)chip->queues;
	unsigned int i;

	if (at >= queues && at < (const char *)(chip->queues +
						(size_t)chip->gen->nr_dma * NEURON_UDMA_QUEUES))
		return true;
	for (i = 0; i < NEURON_MAX_UNITS; i++) {
		const struct trn_seq *seq = chip->core[i].seq;

		if (at >= (const char *)seq && at < (const char *)(seq + NEURON_NR_ENGINES))
			return true;
	}
	return false;
}

static int find_writer(const struct watch *watch, const struct trn_task *task)
{
	unsigned int i;

	for (i = 0; i < watch->nr; i++)
		if (watch->writer[i] == task)
			return (int)i;
	return -1;
}

static void remove_writer(struct watch *watch, unsigned int i)
{
	memmove(&watch->writer[i], &watch->writer[i + 1],
		(--watch->nr - i) * sizeof(watch->writer[0]));
}

/* With the lock. Memory that nobody has touched must not be looked at. */
static void note(struct watch *watch, const struct trn_task *task)
{
	if (find_writer(watch, task) >= 0)
		return;
	if (!watch->nr)
		trn_touched_read(&watch->loc, watch->was, watch->len);
	if (watch->nr == WATCH_WRITERS)
		remove_writer(watch, 0);
	watch->writer[watch->nr++] = task;
}

static bool overlaps(const struct watch *watch, const struct trn_loc *loc, uint64_t len)
{
	return watch->loc.place == loc->place && watch->loc.index == loc->index &&
	       loc->offset < watch->loc.offset + watch->len &&
	       watch->loc.offset < loc->offset + len;
}

void trn_watch_touch(const struct trn_loc *loc, uint64_t len)
{
	struct trn_watches *watches = atomic_load_explicit(&loc->chip->watches,
							   memory_order_acquire);
	const struct trn_task *task = trn_task_running();
	unsigned int i;

	if (!watches || !task || !is_own(loc->chip, task))
		return;
	for (i = 0; i < watches->nr; i++) {
		if (!overlaps(&watches->watch[i], loc, len))
			continue;
		pthread_mutex_lock(&watches->lock);
		note(&watches->watch[i], task);
		pthread_mutex_unlock(&watches->lock);
	}
}

/* Whether the task that has ended what it did has changed the bytes, from @old to @now. */
static bool changed(struct trn_watches *watches, struct watch *watch, uint8_t *old, uint8_t *now)
{
	bool differs = false;
	int writer;

	pthread_mutex_lock(&watches->lock);
	writer = find_writer(watch, trn_task_running());
	if (writer >= 0) {
		remove_writer(watch, (unsigned int)writer);
		memcpy(old, watch->was, watch->len);
		trn_touched_read(&watch->loc, now, watch->len);
		memcpy(watch->was, now, watch->len);
		differs = memcmp(old, now, watch->len);
	}
	pthread_mutex_unlock(&watches->lock);
	return differs;
}

void trn_watch_tell(struct trn_chip *chip, const struct trn_observe_inst *inst,
		    const struct trn_observe_copy *copy)
{
	struct trn_watches *watches = atomic_load_explicit(&chip->watches, memory_order_acquire);
	const struct trn_observer *observer = trn_observer(chip);
	uint8_t old[TRN_WATCHPOINT_BYTES], now[TRN_WATCHPOINT_BYTES];
	struct trn_observe_write write = {
		.old = old,
		.now = now,
		.inst = inst,
		.copy = copy,
	};

	if (!watches || !observer || !observer->wrote)
		return;
	for (write.watch = 0; write.watch < watches->nr; write.watch++)
		if (changed(watches, &watches->watch[write.watch], old, now))
			observer->wrote(observer->opaque, &write);
}

void trn_watch_give_up(struct trn_chip *chip)
{
	struct trn_watches *watches = atomic_load_explicit(&chip->watches, memory_order_acquire);
	uint8_t old[TRN_WATCHPOINT_BYTES], now[TRN_WATCHPOINT_BYTES];
	unsigned int i;

	for (i = 0; watches && i < watches->nr; i++)
		changed(watches, &watches->watch[i], old, now);
}

/* Who is in the middle of something says again what it writes when it goes on. */
void trn_watch_begin(struct trn_chip *chip)
{
	struct trn_watches *watches = atomic_load_explicit(&chip->watches, memory_order_acquire);
	unsigned int i;

	for (i = 0; watches && i < watches->nr; i++)
		watches->watch[i].nr = 0;
}

static bool locate(struct trn_chip *chip, const struct trn_watchpoint *asked, struct watch *watch)
{
	watch->len = asked->len;
	return asked->len && asked->len <= TRN_WATCHPOINT_BYTES &&
	       !trn_bus_locate(chip, asked->addr, &watch->loc) && watch->loc.chip == chip &&
	       watch->loc.ptr && asked->len <= watch->loc.len;
}

static struct trn_watches *watches_new(struct trn_chip *chip, const struct trn_watchpoint *watch,
				       unsigned int count)
{
	struct trn_watches *watches = calloc(1, sizeof(*watches) + count * sizeof(struct watch));

	if (!watches)
		return NULL;
	for (; watches->nr < count; watches->nr++) {
		if (!locate(chip, &watch[watches->nr], &watches->watch[watches->nr])) {
			free(watches);
			return NULL;
		}
	}
	pthread_mutex_init(&watches->lock, NULL);
	return watches;
}

bool trn_chip_watch(struct trn_chip *chip, const struct trn_watchpoint *watch, unsigned int count)
{
	struct trn_watches *watches = NULL, *before;

	if (count > TRN_WATCHPOINTS)
		return false;
	if (count) {
		watches = watches_new(chip, watch, count);
		if (!watches)
			return false;
	}
	before = atomic_exchange(&chip->watches, watches);
	if (before) {
		pthread_mutex_destroy(&before->lock);
		free(before);
	}
	return true;
}
