/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Notification queues: rings in host or device memory that the chip appends to.
 *
 * There is a block of slots for each NeuronCore, each TOP_SP and each DMA engine
 * (neuron/regs.h). Entries of one slot are in the order of their posts; a full
 * ring drops and counts.
 */
#ifndef TRN_NQ_H
#define TRN_NQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "neuron/notify.h"
#include "neuron/regs.h"

struct trn_chip;
struct trn_core;
struct trn_state;

enum trn_nq_unit {
	TRN_NQ_CORE,
	TRN_NQ_TOP_SP,		/* by the id that software knows it by */
	TRN_NQ_DMA,
};

/**
 * struct trn_nq_event - what is reported
 * @unit, @index: whose block
 * @engine: enum neuron_engine, the DMA queue, or NEURON_NQ_NO_ENGINE
 * @type: enum neuron_nq_type
 * @code: by type, see struct neuron_hw_nq_entry
 * @pc: instruction or descriptor index
 * @begin: TRACE and TRACE_DMA: of the begin, not the end
 * @time_ns: modelled device time, 0: none
 * @job_id: 0: no job
 */
struct trn_nq_event {
	enum trn_nq_unit unit;
	unsigned int index;
	unsigned int engine;
	unsigned int type;
	uint32_t code;
	uint32_t pc;
	bool begin;
	uint64_t time_ns;
	uint64_t job_id;
};

/* Set chip->nq; 0 or -1: no memory. */
int trn_nq_init(struct trn_chip *chip);
/* The chip is quiet. */
void trn_nq_destroy(struct trn_chip *chip);

/* @event is for the core's own block. */
void trn_nq_of_core(const struct trn_core *core, struct trn_nq_event *event);

/*
 * Append an entry: writes to memory, so for worker tasks, with no lock held.
 * Cheap when no queue of the block has been set up.
 */
void trn_nq_post(struct trn_chip *chip, const struct trn_nq_event *event);
/* The same from anywhere (MMIO, a peer): the block's own task does the writing. */
void trn_nq_post_later(struct trn_chip *chip, const struct trn_nq_event *event);

/* Has the notification queue of a DMA engine been set up? Cheap. */
bool trn_nq_dma_wanted(struct trn_chip *chip, unsigned int engine);

/* Does software want TRACE entries of this engine of a core? Cheap. */
bool trn_nq_traces(const struct trn_core *core, unsigned int engine);

/* The number of a block, for the two that follow; @offset: in the block. */
unsigned int trn_nq_block(enum trn_nq_unit unit, unsigned int index);
uint32_t trn_nq_read(struct trn_chip *chip, unsigned int block,
		     uint32_t offset);
void trn_nq_write(struct trn_chip *chip, unsigned int block, uint32_t offset,
		  uint32_t value);

/* Every slot of a block, or of all of them, off and in its reset state. */
void trn_nq_reset_block(struct trn_chip *chip, enum trn_nq_unit unit,
			unsigned int index);
void trn_nq_reset(struct trn_chip *chip);

/* For stop and resume of the chip. */
bool trn_nq_quiet(const struct trn_chip *chip);
void trn_nq_kick(struct trn_chip *chip);

size_t trn_nq_own_bytes(const struct trn_chip *chip);
void trn_nq_state(struct trn_chip *chip, struct trn_state *st);

#endif /* TRN_NQ_H */
