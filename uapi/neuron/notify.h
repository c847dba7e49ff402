/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Notification queues: types and entries. Their registers are in regs.h.
 *
 * Source of the types, of the slots and of the phase bit: public driver. The
 * layout of an entry is defined by this project.
 */
#ifndef NEURON_NOTIFY_H
#define NEURON_NOTIFY_H

#include "types.h"

enum neuron_nq_type {
	NEURON_NQ_TYPE_TRACE		= 0,	/* implicit: an instruction retired */
	NEURON_NQ_TYPE_NOTIFY		= 1,	/* explicit: a NOTIFY instruction */
	NEURON_NQ_TYPE_EVENT		= 2,	/* an event went from 0 to 1 */
	NEURON_NQ_TYPE_ERROR		= 3,	/* a job failed */
	NEURON_NQ_TYPE_TRACE_DMA	= 4,	/* a queue moved a packet */
	NEURON_NQ_TYPE_THROTTLE		= 5,	/* the speed limit changed */
	NEURON_NR_NQ_TYPES
};

/* neuron_hw_nq_entry: what no engine did, but software, firmware or DMA. */
#define NEURON_NQ_NO_ENGINE	15
#define NEURON_NQ_ENGINES	16

/* The slot of a type of an engine; without a SIZE its entries go to slot @engine. */
#define NEURON_NQ_TYPE_SLOT(type, engine)	((type) * NEURON_NQ_ENGINES + (engine))

/* A ring is at least this large, and aligned to it; at least 2 entries. */
#define NEURON_NQ_MIN_SIZE	64

/* neuron_hw_nq_entry.info */
#define NEURON_NQ_INFO_PHASE	NEURON_BIT(31)
#define NEURON_NQ_INFO_BEGIN	NEURON_BIT(30)
#define NEURON_NQ_INFO_TYPE	NEURON_MASK(27, 24)
#define NEURON_NQ_INFO_ENGINE	NEURON_MASK(19, 16)

/**
 * struct neuron_hw_nq_entry - one entry (32 bytes)
 * @info: phase (1 on the first lap, toggles at each wrap), BEGIN (TRACE and
 *	TRACE_DMA: of the begin, the next one is of the end), enum neuron_nq_type,
 *	and enum neuron_engine, the DMA queue or NEURON_NQ_NO_ENGINE. Written
 *	last: when its phase has turned, the rest of the entry is there
 * @code: by type: TRACE opcode; NOTIFY tag; EVENT number; ERROR enum
 *	neuron_cause; TRACE_DMA descriptors; THROTTLE percent of full
 *	speed, and in @pc enum neuron_throttle
 * @pc: instruction or descriptor index, or 0
 * @lost: entries that were dropped since the one before
 * @time_ns: modelled device time, 0 when there is none
 * @job_id: of the job block, 0 outside jobs
 */
struct neuron_hw_nq_entry {
	__le32 info;
	__le32 code;
	__le32 pc;
	__le32 lost;
	__le64 time_ns;
	__le64 job_id;
};

NEURON_ASSERT_SIZE(struct neuron_hw_nq_entry, 32);

#endif /* NEURON_NOTIFY_H */
