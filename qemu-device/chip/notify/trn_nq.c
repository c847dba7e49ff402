// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Notification queues: posting.
 *
 * Who posts to a slot that nobody is writing to writes the entry itself; meanwhile
 * others put theirs behind it, and the one that writes goes on with them. So the
 * lock is not held while memory is written, and entries stay in order. What waits
 * behind a write is bounded; a slot with one producer never has any.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/trn_chip.h"
#include "mem/trn_bus.h"
#include "notify/trn_nq.h"
#include "notify/trn_nq_block.h"
#include "sync/trn_irq.h"

/* Entries of others that a poster writes before it leaves the rest to the task. */
#define NQ_TURNS	64

static struct nq_block *find_block(struct trn_chip *chip, unsigned int block)
{
	return atomic_load_explicit(&chip->nq->block[block],
				    memory_order_acquire);
}

unsigned int trn_nq_block(enum trn_nq_unit unit, unsigned int index)
{
	switch (unit) {
	case TRN_NQ_CORE:
		return index;
	case TRN_NQ_TOP_SP:
		return NEURON_MAX_CORES + index;
	default:
		return NEURON_MAX_CORES + NEURON_MAX_TOP_SP_IDS + index;
	}
}

static const char *unit_name(enum trn_nq_unit unit)
{
	switch (unit) {
	case TRN_NQ_CORE:
		return "core";
	case TRN_NQ_TOP_SP:
		return "TOP_SP";
	default:
		return "DMA engine";
	}
}

void trn_nq_report(struct nq_block *block, unsigned int slot, const char *what)
{
	trn_log(block->chip, TRN_LOG_GUEST_ERROR,
		"%s %u notification queue %u: %s", unit_name(block->unit),
		block->index, slot, what);
	trn_irq_mgmt(block->chip, NEURON_CTL_CAUSE_NQ);
}

/* Count a dropped entry. True: the first one that software has to hear of. */
static bool drop(struct nq_slot *slot)
{
	bool first = !slot->overflow;

	if (slot->overflow != UINT32_MAX)
		slot->overflow++;
	if (slot->lost != UINT32_MAX)
		slot->lost++;
	return first;
}

/* One entry stays free, so that a full ring differs from an empty one. */
static bool is_full(const struct nq_slot *slot)
{
	uint32_t next = trn_nq_tail(slot) + sizeof(struct neuron_hw_nq_entry);

	return slot->flow && (next & (slot->size - 1)) == slot->head;
}

static bool pending_append(struct nq_slot *slot,
			   const struct neuron_hw_nq_entry *entry)
{
	if (slot->nr == NQ_PENDING)
		return false;
	slot->pending[(slot->first + slot->nr++) % NQ_PENDING] = *entry;
	return true;
}

/* The body, then the word that says that it is there. */
static enum neuron_cause write_entry(struct trn_chip *chip, uint64_t addr,
				     const struct neuron_hw_nq_entry *entry)
{
	const size_t body = sizeof(entry->info);
	enum neuron_cause cause;

	cause = trn_bus_write(chip, addr + body, (const uint8_t *)entry + body,
			      sizeof(*entry) - body);
#ifndef __SANITIZE_THREAD__	/* which cannot follow fences */
	atomic_thread_fence(memory_order_release);
#endif
	if (!cause)
		cause = trn_bus_write(chip, addr, &entry->info,
				      sizeof(entry->info));
	return cause;
}

/* What write_next() has to tell after the lock is dropped. */
struct nq_news {
	bool dropped;
	enum neuron_cause cause;
};

/* Take the next pending entry to its place, which is @addr. False: dropped. */
static bool take_next(struct nq_slot *slot, struct neuron_hw_nq_entry *entry,
		      uint64_t *addr, struct nq_news *news)
{
	*entry = slot->pending[slot->first];
	slot->first = (slot->first + 1) % NQ_PENDING;
	slot->nr--;
	if (is_full(slot)) {
		news->dropped |= drop(slot);
		return false;
	}
	*addr = slot->ring + trn_nq_tail(slot);
	if (trn_nq_phase(slot))
		entry->info |= NEURON_NQ_INFO_PHASE;
	entry->lost = slot->lost;
	return true;
}

/* The entry has been written, or not. */
static void commit(struct nq_block *block, struct nq_slot *slot, uint32_t lost,
		   enum neuron_cause cause, struct nq_news *news)
{
	if (!cause) {
		slot->produced++;
		slot->lost -= lost;
		return;
	}
	/* It is lost, and so are those that wait behind it. */
	drop(slot);
	for (; slot->nr; slot->nr--)
		drop(slot);
	slot->enabled = false;
	slot->flow = false;
	slot->cause = (uint8_t)cause;
	news->cause = cause;
	trn_nq_update_traced(block);
}

/* The caller has set @writing, with the lock held; it is not held on return. */
static void write_pending(struct nq_block *block, unsigned int index)
{
	struct nq_slot *slot = &block->slot[index];
	struct neuron_hw_nq_entry entry;
	struct nq_news news = { 0 };
	enum neuron_cause cause;
	unsigned int turns;
	uint32_t epoch;
	uint64_t addr;
	bool more;

	for (turns = 0; slot->nr && turns < NQ_TURNS; turns++) {
		if (!take_next(slot, &entry, &addr, &news))
			continue;
		epoch = slot->epoch;
		pthread_mutex_unlock(&block->lock);
		cause = write_entry(block->chip, addr, &entry);
		pthread_mutex_lock(&block->lock);
		/* Else software has set the slot up anew meanwhile. */
		if (epoch == slot->epoch)
			commit(block, slot, entry.lost, cause, &news);
	}
	slot->writing = false;
	more = slot->nr;
	pthread_mutex_unlock(&block->lock);

	if (more)
		trn_task_kick(&block->task);
	if (news.dropped)
		trn_nq_report(block, index, "full, entries are dropped");
	if (news.cause)
		trn_nq_report(block, index, news.cause == NEURON_CAUSE_HOST ?
			      "stopped, its address is not memory" :
			      "stopped, its memory cannot be written");
}

/* True: there was something to write. */
static bool slot_run(struct nq_block *block, unsigned int index)
{
	struct nq_slot *slot = &block->slot[index];

	pthread_mutex_lock(&block->lock);
	if (!slot->nr || slot->writing) {
		pthread_mutex_unlock(&block->lock);
		return false;
	}
	slot->writing = true;
	write_pending(block, index);
	return true;
}

/* Write what others left; what is posted to a stopped chip waits. */
static enum trn_run block_run(struct trn_task *task, struct trn_budget *budget)
{
	struct nq_block *block = (struct nq_block *)((char *)task -
				 offsetof(struct nq_block, task));
	unsigned int i, index;

	for (i = 0; i < block->nr_slots; i++) {
		if (atomic_load(&block->chip->stopping))
			return TRN_RUN_IDLE;
		index = block->next;
		block->next = (index + 1) % block->nr_slots;
		if (slot_run(block, index) && trn_budget_spent(budget))
			return TRN_RUN_AGAIN;
	}
	return TRN_RUN_IDLE;
}

/* The slot that an event goes to. */
static unsigned int slot_of(const struct nq_block *block,
			    const struct trn_nq_event *event)
{
	unsigned int slot;

	if (block->nr_slots == 1)
		return 0;
	slot = NEURON_NQ_TYPE_SLOT(event->type, event->engine);
	return block->slot[slot].size ? slot : event->engine;
}

static void post(struct trn_chip *chip, const struct trn_nq_event *event,
		 bool later)
{
	struct nq_block *block = find_block(chip,
				trn_nq_block(event->unit, event->index));
	const struct neuron_hw_nq_entry entry = {
		.info = NEURON_PUT(NEURON_NQ_INFO_TYPE, event->type) |
			NEURON_PUT(NEURON_NQ_INFO_ENGINE, event->engine) |
			(event->begin ? NEURON_NQ_INFO_BEGIN : 0),
		.code = event->code,
		.pc = event->pc,
		.time_ns = event->time_ns,
		.job_id = event->job_id,
	};
	struct nq_slot *slot;
	unsigned int index;
	bool write, dropped = false;

	if (!block)
		return;
	pthread_mutex_lock(&block->lock);
	index = slot_of(block, event);
	slot = &block->slot[index];
	if (!slot->enabled) {
		/* One that stopped owes its software the count. */
		if (slot->cause)
			drop(slot);
		pthread_mutex_unlock(&block->lock);
		return;
	}
	if (!pending_append(slot, &entry))
		dropped = drop(slot);
	write = !slot->writing && !later;
	if (write) {
		slot->writing = true;
		write_pending(block, index);
	} else {
		pthread_mutex_unlock(&block->lock);
	}
	if (later)
		trn_task_kick(&block->task);
	if (dropped)
		trn_nq_report(block, index, "posts come too fast, entries are dropped");
}

void trn_nq_post(struct trn_chip *chip, const struct trn_nq_event *event)
{
	post(chip, event, false);
}

void trn_nq_post_later(struct trn_chip *chip, const struct trn_nq_event *event)
{
	post(chip, event, true);
}

void trn_nq_of_core(const struct trn_core *core, struct trn_nq_event *event)
{
	if (trn_core_is_cc(core)) {
		event->unit = TRN_NQ_TOP_SP;
		event->index = core->index - NEURON_MAX_CORES;
	} else {
		event->unit = TRN_NQ_CORE;
		event->index = core->index;
	}
}

bool trn_nq_dma_wanted(struct trn_chip *chip, unsigned int engine)
{
	return find_block(chip, trn_nq_block(TRN_NQ_DMA, engine));
}

bool trn_nq_traces(const struct trn_core *core, unsigned int engine)
{
	struct trn_nq_event own;
	struct nq_block *block;

	trn_nq_of_core(core, &own);
	block = find_block(core->chip, trn_nq_block(own.unit, own.index));
	return block && atomic_load_explicit(&block->traced,
					     memory_order_relaxed) >>
				engine & 1;
}

static struct nq_block *block_new(struct trn_chip *chip, unsigned int number)
{
	const unsigned int first_dma = trn_nq_block(TRN_NQ_DMA, 0);
	const unsigned int first_top_sp = trn_nq_block(TRN_NQ_TOP_SP, 0);
	unsigned int slots = number >= first_dma ? 1 : NEURON_NQ_SLOTS;
	struct nq_block *block;

	block = calloc(1, sizeof(*block) + slots * sizeof(*block->slot));
	if (!block)
		return NULL;
	block->chip = chip;
	block->nr_slots = slots;
	if (number >= first_dma) {
		block->unit = TRN_NQ_DMA;
		block->index = number - first_dma;
	} else if (number >= first_top_sp) {
		block->unit = TRN_NQ_TOP_SP;
		block->index = number - first_top_sp;
	} else {
		block->unit = TRN_NQ_CORE;
		block->index = number;
	}
	pthread_mutex_init(&block->lock, NULL);
	trn_task_init(&block->task, chip->pool, block_run);
	return block;
}

static void block_free(struct nq_block *block)
{
	unsigned int i;

	if (!block)
		return;
	for (i = 0; i < block->nr_slots; i++)
		free(block->slot[i].pending);
	pthread_mutex_destroy(&block->lock);
	free(block);
}

struct nq_block *trn_nq_make(struct trn_chip *chip, unsigned int number)
{
	struct nq_block *block = find_block(chip, number);
	struct nq_block *expected = NULL;

	if (block)
		return block;
	block = block_new(chip, number);
	if (!block)
		return NULL;
	if (atomic_compare_exchange_strong(&chip->nq->block[number], &expected,
					   block))
		return block;
	block_free(block);
	return expected;
}

int trn_nq_init(struct trn_chip *chip)
{
	chip->nq = calloc(1, sizeof(*chip->nq));
	return chip->nq ? 0 : -1;
}

void trn_nq_destroy(struct trn_chip *chip)
{
	unsigned int i;

	for (i = 0; i < NQ_BLOCKS; i++)
		block_free(find_block(chip, i));
	free(chip->nq);
	chip->nq = NULL;
}

bool trn_nq_quiet(const struct trn_chip *chip)
{
	unsigned int i;

	for (i = 0; i < NQ_BLOCKS; i++) {
		struct nq_block *block = atomic_load(&chip->nq->block[i]);

		if (block && !trn_task_quiet(&block->task))
			return false;
	}
	return true;
}

void trn_nq_kick(struct trn_chip *chip)
{
	unsigned int i;

	for (i = 0; i < NQ_BLOCKS; i++) {
		struct nq_block *block = find_block(chip, i);

		if (block)
			trn_task_kick(&block->task);
	}
}
