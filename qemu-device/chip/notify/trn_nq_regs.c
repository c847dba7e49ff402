// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Notification queues: registers, reset, saving.
 */
#include <stdlib.h>
#include <string.h>

#include "base/trn_chip.h"
#include "base/trn_state.h"
#include "mem/trn_bus.h"
#include "notify/trn_nq.h"
#include "notify/trn_nq_block.h"

#define SLOT_BASE	NEURON_NQ_SLOT(0)
#define MAP_WORDS	((NEURON_NQ_SLOTS + 31) / 32)

void trn_nq_update_traced(struct nq_block *block)
{
	uint32_t traced = 0;
	unsigned int i;

	for (i = 0; i < NEURON_NQ_ENGINES && i < block->nr_slots; i++)
		if (block->slot[i].enabled &&
		    (block->slot[i].control & NEURON_NQ_CONTROL_TRACE))
			traced |= NEURON_BIT(i);
	atomic_store_explicit(&block->traced, traced, memory_order_relaxed);
}

void trn_nq_slot_reset(struct nq_slot *slot)
{
	*slot = (struct nq_slot){
		.writing = slot->writing,
		.epoch = slot->epoch + 1,
		.pending = slot->pending,
	};
}

/* Offset @offset lies in slot *@index; false: in no slot that exists. */
static bool find_slot(unsigned int nr_slots, uint32_t offset,
		      unsigned int *index, uint32_t *reg)
{
	if (offset < SLOT_BASE)
		return false;
	*index = (offset - SLOT_BASE) / NEURON_NQ_SLOT_SIZE;
	*reg = (offset - SLOT_BASE) % NEURON_NQ_SLOT_SIZE;
	return *index < nr_slots && *reg <= NEURON_NQ_CONTROL;
}

static uint32_t slot_status(const struct nq_slot *slot)
{
	uint32_t status = NEURON_PUT(NEURON_NQ_STATUS_CAUSE,
				     (uint32_t)slot->cause);

	if (slot->enabled)
		status |= NEURON_NQ_STATUS_ENABLED;
	if (slot->flow)
		status |= NEURON_NQ_STATUS_FLOW;
	if (slot->writing || slot->nr)
		status |= NEURON_NQ_STATUS_BUSY;
	if (slot->enabled && trn_nq_phase(slot))
		status |= NEURON_NQ_STATUS_PHASE;
	return status;
}

static uint32_t slot_read(const struct nq_slot *slot, uint32_t reg)
{
	switch (reg) {
	case NEURON_NQ_BASE_LO:
		return (uint32_t)slot->base;
	case NEURON_NQ_BASE_HI:
		return (uint32_t)(slot->base >> 32);
	case NEURON_NQ_SIZE:
		return slot->size;
	case NEURON_NQ_HEAD:
		return slot->head;
	case NEURON_NQ_TAIL:
		return slot->size ? trn_nq_tail(slot) : 0;
	case NEURON_NQ_STATUS:
		return slot_status(slot);
	case NEURON_NQ_OVERFLOW:
		return slot->overflow;
	default:
		return slot->control;
	}
}

static uint32_t overflow_map(const struct nq_block *block, unsigned int word)
{
	uint32_t map = 0;
	unsigned int i;

	for (i = word * 32; i < block->nr_slots && i < (word + 1) * 32; i++)
		if (block->slot[i].overflow)
			map |= NEURON_BIT(i % 32);
	return map;
}

static void bad_offset(struct trn_chip *chip, const char *what, uint32_t offset)
{
	trn_log(chip, TRN_LOG_GUEST_ERROR,
		"%s no register of a notification block, at 0x%03x", what,
		offset);
}

uint32_t trn_nq_read(struct trn_chip *chip, unsigned int number,
		     uint32_t offset)
{
	bool dma = number >= trn_nq_block(TRN_NQ_DMA, 0);
	unsigned int nr_slots = dma ? 1 : NEURON_NQ_SLOTS;
	struct nq_block *block = atomic_load(&chip->nq->block[number]);
	unsigned int map = (offset - NEURON_NQ_OVERFLOWED(0)) / 4;
	uint32_t value = 0, reg = 0;
	unsigned int index = 0;

	if (offset == NEURON_NQ_NR_SLOTS)
		return nr_slots;
	if (!find_slot(nr_slots, offset, &index, &reg) && map >= MAP_WORDS) {
		bad_offset(chip, "read of", offset);
		return 0;
	}
	if (!block)
		return 0;
	pthread_mutex_lock(&block->lock);
	value = map < MAP_WORDS ? overflow_map(block, map) :
				  slot_read(&block->slot[index], reg);
	pthread_mutex_unlock(&block->lock);
	return value;
}

/* Only host memory and HBM of this chip, by plain address. */
static const char *ring_error(struct trn_chip *chip, uint64_t base,
			      uint32_t size)
{
	struct trn_loc loc;

	if (size < NEURON_NQ_MIN_SIZE || (size & (size - 1)))
		return "its size is no power of two from 64";
	if (base % NEURON_NQ_MIN_SIZE)
		return "its base is not 64-byte aligned";
	if (base > NEURON_ADDR_FABRIC_DEVICE ||
	    trn_bus_locate(chip, base, &loc) ||
	    (loc.place != TRN_PLACE_HBM && loc.place != TRN_PLACE_HOST))
		return "its base is not in HBM or host memory";
	if (size > loc.len)
		return "it leaves its memory";
	return NULL;
}

/* Take base and size as they are now. NULL, or why it stays off. */
static const char *slot_setup(struct trn_chip *chip, struct nq_slot *slot,
			      uint32_t size)
{
	uint64_t base = slot->base;
	const char *why;

	trn_nq_slot_reset(slot);
	slot->base = base;
	slot->size = size;
	if (!size)
		return NULL;
	why = ring_error(chip, base, size);
	if (!why && !slot->pending) {
		slot->pending = calloc(NQ_PENDING, sizeof(*slot->pending));
		if (!slot->pending)
			why = "the host is out of memory";
	}
	if (why) {
		slot->cause = NEURON_CAUSE_ADDRESS;
		return why;
	}
	slot->ring = base;
	slot->enabled = true;
	return NULL;
}

static const char *slot_set_head(struct nq_slot *slot, uint32_t head)
{
	if (slot->enabled &&
	    (head % sizeof(struct neuron_hw_nq_entry) || head >= slot->size))
		return "the head written is no entry of it";
	slot->head = head;
	slot->flow = slot->enabled;
	return NULL;
}

/* NULL, or what is wrong with the value. */
static const char *slot_write(struct nq_block *block, struct nq_slot *slot,
			      uint32_t reg, uint32_t value)
{
	const char *why = NULL;

	switch (reg) {
	case NEURON_NQ_BASE_LO:
		slot->base = (slot->base & ~0xffffffffull) | value;
		break;
	case NEURON_NQ_BASE_HI:
		slot->base = (uint32_t)slot->base | (uint64_t)value << 32;
		break;
	case NEURON_NQ_SIZE:
		why = slot_setup(block->chip, slot, value);
		trn_nq_update_traced(block);
		break;
	case NEURON_NQ_HEAD:
		why = slot_set_head(slot, value);
		break;
	case NEURON_NQ_OVERFLOW:
		slot->overflow = 0;
		break;
	case NEURON_NQ_CONTROL:
		slot->control = value & NEURON_NQ_CONTROL_TRACE;
		trn_nq_update_traced(block);
		break;
	default:
		why = "the register is read only";
		break;
	}
	return why;
}

void trn_nq_write(struct trn_chip *chip, unsigned int number, uint32_t offset,
		  uint32_t value)
{
	bool dma = number >= trn_nq_block(TRN_NQ_DMA, 0);
	struct nq_block *block;
	unsigned int index;
	const char *why;
	uint32_t reg;

	if (!find_slot(dma ? 1 : NEURON_NQ_SLOTS, offset, &index, &reg)) {
		bad_offset(chip, "write to", offset);
		return;
	}
	block = atomic_load(&chip->nq->block[number]);
	if (!block && !value)
		return;
	block = trn_nq_make(chip, number);
	if (!block)
		return;
	pthread_mutex_lock(&block->lock);
	why = slot_write(block, &block->slot[index], reg, value);
	pthread_mutex_unlock(&block->lock);
	if (why && reg == NEURON_NQ_SIZE)
		trn_nq_report(block, index, why);
	else if (why)
		trn_log(chip, TRN_LOG_GUEST_ERROR,
			"notification queue %u: %s", index, why);
}

static void block_reset(struct nq_block *block)
{
	unsigned int i;

	if (!block)
		return;
	pthread_mutex_lock(&block->lock);
	for (i = 0; i < block->nr_slots; i++) {
		trn_nq_slot_reset(&block->slot[i]);
		/* A thread that is writing has taken its entry out, and finds no other. */
		free(block->slot[i].pending);
		block->slot[i].pending = NULL;
	}
	trn_nq_update_traced(block);
	pthread_mutex_unlock(&block->lock);
}

void trn_nq_reset_block(struct trn_chip *chip, enum trn_nq_unit unit,
			unsigned int index)
{
	block_reset(atomic_load(&chip->nq->block[trn_nq_block(unit, index)]));
}

void trn_nq_reset(struct trn_chip *chip)
{
	unsigned int i;

	for (i = 0; i < NQ_BLOCKS; i++)
		block_reset(atomic_load(&chip->nq->block[i]));
}

size_t trn_nq_own_bytes(const struct trn_chip *chip)
{
	size_t bytes = sizeof(*chip->nq);
	unsigned int i, s;

	for (i = 0; i < NQ_BLOCKS; i++) {
		const struct nq_block *block = atomic_load(&chip->nq->block[i]);

		if (!block)
			continue;
		bytes += sizeof(*block) + block->nr_slots * sizeof(*block->slot);
		for (s = 0; s < block->nr_slots; s++)
			if (block->slot[s].pending)
				bytes += NQ_PENDING *
					 sizeof(*block->slot[s].pending);
	}
	return bytes;
}

/* --- saving and loading --- */

/* What a slot must be, whoever wrote the stream; one that stopped does nothing. */
static bool slot_sane(struct trn_chip *chip, const struct nq_slot *slot)
{
	if (!slot->enabled)
		return !slot->nr;
	return !ring_error(chip, slot->ring, slot->size) &&
	       (!slot->flow ||
		(slot->head < slot->size &&
		 !(slot->head % sizeof(struct neuron_hw_nq_entry))));
}

static void pending_state(struct trn_state *st, struct nq_slot *slot)
{
	unsigned int i;

	slot->nr = trn_state_count(st, slot->nr, NQ_PENDING);
	if (st->loading && slot->enabled && !slot->pending) {
		slot->pending = calloc(NQ_PENDING, sizeof(*slot->pending));
		if (!slot->pending) {
			slot->enabled = false;
			slot->nr = 0;
			trn_state_fail(st, "no memory for a notification queue");
		}
	}
	for (i = 0; i < slot->nr && slot->pending; i++)
		trn_state_bytes(st, &slot->pending[(slot->first + i) % NQ_PENDING],
				sizeof(*slot->pending));
}

static void slot_state(struct trn_chip *chip, struct trn_state *st,
		       struct nq_slot *slot)
{
	trn_state_u64(st, &slot->base);
	trn_state_u64(st, &slot->ring);
	trn_state_u32(st, &slot->size);
	trn_state_u32(st, &slot->head);
	trn_state_u32(st, &slot->control);
	trn_state_bool(st, &slot->enabled);
	trn_state_bool(st, &slot->flow);
	trn_state_u8(st, &slot->cause);
	trn_state_u64(st, &slot->produced);
	trn_state_u32(st, &slot->overflow);
	trn_state_u32(st, &slot->lost);
	pending_state(st, slot);
	if (!st->loading || trn_state_failed(st) || slot_sane(chip, slot))
		return;
	trn_nq_slot_reset(slot);
	trn_state_fail(st, "a notification queue is malformed");
}

static bool slot_used(const struct nq_slot *slot)
{
	return slot->base || slot->size || slot->head || slot->control ||
	       slot->overflow;
}

static bool block_used(const struct nq_block *block)
{
	unsigned int i;

	for (i = 0; block && i < block->nr_slots; i++)
		if (slot_used(&block->slot[i]))
			return true;
	return false;
}

static void block_state(struct trn_chip *chip, struct trn_state *st,
			unsigned int number)
{
	struct nq_block *block = atomic_load(&chip->nq->block[number]);
	bool present = block_used(block);
	unsigned int i;

	trn_state_bool(st, &present);
	if (!present)
		return;
	block = trn_nq_make(chip, number);
	if (!block) {
		trn_state_fail(st, "no memory for notification queues");
		return;
	}
	for (i = 0; i < block->nr_slots; i++) {
		bool used = slot_used(&block->slot[i]);

		trn_state_bool(st, &used);
		if (used)
			slot_state(chip, st, &block->slot[i]);
	}
	trn_nq_update_traced(block);
}

void trn_nq_state(struct trn_chip *chip, struct trn_state *st)
{
	unsigned int i;

	trn_state_block(st, TRN_STATE_NAME('N', 'O', 'T', 'Q'), 1);
	for (i = 0; i < NQ_BLOCKS; i++)
		block_state(chip, st, i);
}
