/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Notification queues: rings in host or device memory that the chip appends to.
 *
 * There is a block of slots for each NeuronCore, each TOP_SP and each DMA engine
 * (neuron/regs.h). Entries of one slot are in order; a full ring drops and counts.
 */
#ifndef TRN_NQ_H
#define TRN_NQ_H

#include <stdint.h>

#include "neuron/regs.h"

struct trn_chip;
struct trn_core;
struct trn_state;

enum trn_nq_unit {
	TRN_NQ_CORE,
	TRN_NQ_TOP_SP,
	TRN_NQ_DMA,
};

/**
 * struct trn_nq_event - what is reported
 * @unit, @index: whose block
 * @engine: enum neuron_engine, or the DMA queue
 * @type: enum neuron_nq_type
 * @code: by type: NOTIFY tag; EVENT number; ERROR enum neuron_cause; TRACE opcode;
 *	TRACE_DMA descriptors; THROTTLE percent of full speed
 * @pc: instruction or descriptor index
 * @time_ns: modelled device time, 0: none
 */
struct trn_nq_event {
	enum trn_nq_unit unit;
	unsigned int index;
	unsigned int engine;
	unsigned int type;
	uint32_t code;
	uint32_t pc;
	uint64_t time_ns;
};

/* Cheap when no queue of the block has been set up. Any thread, no lock held. */
void trn_nq_post(struct trn_chip *chip, const struct trn_nq_event *event);

#endif /* TRN_NQ_H */
