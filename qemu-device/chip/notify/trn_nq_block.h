/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Notification queues, private part: what posting (trn_nq.c) and the registers
 * (trn_nq_regs.c) share.
 */
#ifndef TRN_NQ_BLOCK_H
#define TRN_NQ_BLOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/trn_chip.h"
#include "notify/trn_nq.h"

/* Entries that wait until the one that is being written is done. */
#define NQ_PENDING	32

/**
 * struct nq_slot - one queue; under nq_block.lock
 * @base, @size, @head, @control: registers
 * @ring: where the queue lies; @base when @size was written
 * @enabled: entries are written
 * @flow: HEAD has been written since SIZE was
 * @writing: a thread is writing an entry without the lock
 * @cause: enum neuron_cause, why it is not enabled
 * @epoch: changes with each set-up: what was under way is of no account then
 * @produced: entries written since it was set up
 * @overflow: entries dropped, until software clears it; saturates
 * @lost: entries dropped since the last one written
 * @pending: NQ_PENDING entries, in the order of their posts; made when the slot
 *	is first set up
 * @first, @nr: of the ring @pending
 */
struct nq_slot {
	uint64_t base;
	uint64_t ring;
	uint32_t size;
	uint32_t head;
	uint32_t control;
	bool enabled;
	bool flow;
	bool writing;
	uint8_t cause;
	uint32_t epoch;
	uint64_t produced;
	uint32_t overflow;
	uint32_t lost;
	struct neuron_hw_nq_entry *pending;
	unsigned int first;
	unsigned int nr;
};

/**
 * struct nq_block - the queues of a core, TOP_SP or DMA engine
 * @task: writes what was posted by those that must not write
 * @unit, @index: whose it is
 * @nr_slots: NEURON_NQ_SLOTS, or 1
 * @next: slot that the task looks at next, the task's own
 * @lock: @slot; a leaf
 * @traced: bit for each slot that is enabled with CONTROL_TRACE
 */
struct nq_block {
	struct trn_task task;
	struct trn_chip *chip;
	enum trn_nq_unit unit;
	unsigned int index;
	unsigned int nr_slots;
	unsigned int next;
	pthread_mutex_t lock;
	_Atomic uint32_t traced;
	struct nq_slot slot[];
};

#define NQ_BLOCKS	(NEURON_MAX_CORES + NEURON_MAX_TOP_SP_IDS + \
			 NEURON_MAX_DMA_ENGINES)

/* A block exists once software has written to it. */
struct trn_nq {
	struct nq_block *_Atomic block[NQ_BLOCKS];
};

/* The block, made when it is missing; NULL: no memory. */
struct nq_block *trn_nq_make(struct trn_chip *chip, unsigned int block);

/* Log line and interrupt: @what happened to slot @slot. No lock held. */
void trn_nq_report(struct nq_block *block, unsigned int slot,
		   const char *what);

/* With the lock held. */
static inline uint32_t trn_nq_entries(const struct nq_slot *slot)
{
	return slot->size / sizeof(struct neuron_hw_nq_entry);
}

static inline uint32_t trn_nq_tail(const struct nq_slot *slot)
{
	return (uint32_t)(slot->produced *
			  sizeof(struct neuron_hw_nq_entry)) &
	       (slot->size - 1);
}

static inline bool trn_nq_phase(const struct nq_slot *slot)
{
	return !(slot->produced / trn_nq_entries(slot) & 1);
}

/* Off, with registers zero; keeps what belongs to a thread that writes. */
void trn_nq_slot_reset(struct nq_slot *slot);
/* After a change of @enabled or @control. */
void trn_nq_update_traced(struct nq_block *block);

#endif /* TRN_NQ_BLOCK_H */
