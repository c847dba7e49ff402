/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Job block, queue table and completion record.
 *
 * The kernel writes a job block into its own memory and its bus address (with
 * the host bit) to the core's doorbell. The chip copies the block, the queue
 * table and the window table, rewinds the listed queues, clears the listed
 * semaphores and starts the engines. When every engine has halted, every
 * listed queue is drained and every write has landed, the chip writes the
 * completion record and raises the core's interrupt. Nothing a program writes
 * completes a job.
 *
 * Defined by this project.
 */
#ifndef NEURON_JOB_H
#define NEURON_JOB_H

#include "types.h"

/* The five instruction sequencers of a NeuronCore; also bits of engine masks. */
enum neuron_engine {
	NEURON_ENGINE_TENSOR	= 0,
	NEURON_ENGINE_VECTOR	= 1,
	NEURON_ENGINE_SCALAR	= 2,
	NEURON_ENGINE_GPSIMD	= 3,
	NEURON_ENGINE_SYNC	= 4,
	NEURON_NR_ENGINES	= 5,
};

#define NEURON_INST_SIZE	128	/* bytes of an instruction: isa.h */

#define NEURON_JOB_MAGIC	0x424f4a4e	/* "NJOB" */
#define NEURON_JOB_VERSION	1
#define NEURON_JOB_ALIGN	256
#define NEURON_JOB_MAX_QUEUES	256
#define NEURON_JOB_MAX_GANG	32

/*
 * Flag: the job is traced. Behind the entries of the queue table, also if it has none, is
 * a struct neuron_hw_window: where the trace goes (contract/trace.h). No program reaches
 * this window.
 */
#define NEURON_JOB_TRACE	NEURON_BIT(0)
/*
 * Flag: the window table is in pieces of NEURON_TABLE_PIECE entries, and @window_table is
 * the plain address of their directory. Chips whose NEURON_CTL_FEATURES has
 * NEURON_CTL_FEATURE_PIECES know it.
 */
#define NEURON_JOB_PIECES	NEURON_BIT(1)
/*
 * Flag: the job is a member of a time group. Behind the entries of the queue table, and
 * behind the window of a trace, is a struct neuron_hw_time_group. Chips whose
 * NEURON_CTL_FEATURES has NEURON_CTL_FEATURE_GROUPS know it.
 */
#define NEURON_JOB_GROUP	NEURON_BIT(2)
#define NEURON_JOB_MAX_GROUP	4096

/**
 * struct neuron_hw_start - where an engine starts
 * @addr: window address of its first instruction; 0 with @count 0
 * @count: instructions; 0: the engine stays halted. Running past the last
 *	instruction is an error (NEURON_CAUSE_PC)
 * @reserved: zero
 */
struct neuron_hw_start {
	__le64 addr;
	__le32 count;
	__le32 reserved;
};

/**
 * struct neuron_hw_job - job block (256 bytes, 256-byte aligned)
 * @magic: NEURON_JOB_MAGIC
 * @version: NEURON_JOB_VERSION
 * @flags: NEURON_JOB_TRACE, NEURON_JOB_PIECES, NEURON_JOB_GROUP
 * @job_id: copied to the completion record
 * @window_table: plain address of @nr_windows struct neuron_hw_window; with
 *	NEURON_JOB_PIECES of the directory
 * @queue_table: plain address of @nr_queues struct neuron_hw_job_queue
 * @completion: plain address of a struct neuron_hw_completion
 * @nr_windows: at most NEURON_MAX_WINDOWS
 * @nr_queues: at most NEURON_JOB_MAX_QUEUES
 * @sem_clear: bit i of the 256: semaphore i is zero when the job starts
 * @sem_own: bit i: instructions of this job may wait on and post semaphore i
 * @start: by enum neuron_engine
 * @notify_addr: window address of the notification stream; 0 with size 0
 * @notify_size: bytes, a power of two from 64; 0: NOTIFY writes nothing
 * @rank: what REG_RANK gives the job's programs
 * @event_own: bit i of the 256: instructions of this job may set, clear and wait for
 *	event i
 * @gang: not 0: the job is a member of this gang. It starts when all members have been
 *	latched; when one fails, all end. No other gang of the chip had this number
 *	since the last device reset
 * @gang_size: members of the gang, 2 to NEURON_JOB_MAX_GANG; 0 without a gang
 * @gang_index: which of them it is, from 0
 * @reserved1: zero
 */
struct neuron_hw_job {
	__le32 magic;
	__le16 version;
	__le16 flags;
	__le64 job_id;
	__le64 window_table;
	__le64 queue_table;
	__le64 completion;
	__le32 nr_windows;
	__le32 nr_queues;
	__le64 sem_clear[4];
	__le64 sem_own[4];
	struct neuron_hw_start start[NEURON_NR_ENGINES];
	__le64 notify_addr;
	__le32 notify_size;
	__le32 rank;
	__le64 event_own[4];
	__le64 gang;
	__le16 gang_size;
	__le16 gang_index;
	__le32 reserved1;
};

NEURON_ASSERT_SIZE(struct neuron_hw_job, 256);

/* The queue's descriptors may carry any ring id. */
#define NEURON_JOB_QUEUE_ANY_RING_ID	NEURON_BIT(0)
/*
 * Priority of the queue among those of its DMA engine, and at what its bytes pass: 0 is
 * the highest. Before NeuronCore-v4 all queues are equal, and these bits are zero.
 */
#define NEURON_JOB_QUEUE_PRIORITY	NEURON_MASK(9, 8)
#define NEURON_NR_PRIORITIES		4

/**
 * struct neuron_hw_job_queue - a queue that the job may trigger (32 bytes)
 * @m2s_ring: window address of the M2S ring
 * @s2m_ring: window address of the S2M ring
 * @m2s_length: descriptors, a multiple of 16 from 32
 * @s2m_length: descriptors, a multiple of 16 from 32
 * @dma_engine: DMA engine of the chip
 * @queue: queue of that engine, 0 to 15
 * @flags: NEURON_JOB_QUEUE_*
 *
 * The index in the queue table is what a DMA_TRIGGER instruction names.
 */
struct neuron_hw_job_queue {
	__le64 m2s_ring;
	__le64 s2m_ring;
	__le32 m2s_length;
	__le32 s2m_length;
	__le16 dma_engine;
	__le16 queue;
	__le32 flags;
};

NEURON_ASSERT_SIZE(struct neuron_hw_job_queue, 32);

/**
 * struct neuron_hw_time_group - the time group of a job (32 bytes)
 * @group: number of the group, not 0. Each set of @size jobs has another one, which nobody
 *	else on the fabric has or can guess: it is all that a job needs to be a member
 * @settle: plain address of a struct neuron_hw_settle in host memory, 64-byte aligned
 * @size: members of the group, 1 to NEURON_JOB_MAX_GROUP
 * @index: which of them the job is, from 0
 * @reserved: zero
 *
 * The device times of the members are worked out together: their transfers share DMA
 * engines, stacks and links, and a post of one to another comes when the sender makes it.
 * No member waits for another one to complete. Its times follow, in the settle record.
 */
struct neuron_hw_time_group {
	__le64 group;
	__le64 settle;
	__le32 size;
	__le32 index;
	__le64 reserved;
};

NEURON_ASSERT_SIZE(struct neuron_hw_time_group, 32);

/* neuron_hw_completion.status */
enum neuron_job_status {
	NEURON_JOB_NONE		= 0,	/* nothing written yet */
	NEURON_JOB_OK		= 1,
	NEURON_JOB_ERROR	= 2,	/* cause, engine, pc, addr say why */
	NEURON_JOB_ABORTED	= 3,	/* core or device reset */
};

/* Why a job ended in error. */
enum neuron_cause {
	NEURON_CAUSE_NONE	= 0,
	NEURON_CAUSE_JOB	= 1,	/* malformed job block or tables */
	NEURON_CAUSE_OPCODE	= 2,	/* unknown, or not for this engine */
	NEURON_CAUSE_OPERAND	= 3,	/* illegal field, type or shape */
	NEURON_CAUSE_ACCESS	= 4,	/* outside SBUF or PSUM */
	NEURON_CAUSE_WINDOW	= 5,	/* address outside its window */
	NEURON_CAUSE_RIGHTS	= 6,	/* window without that right */
	NEURON_CAUSE_PC		= 7,	/* ran or branched out of its image */
	NEURON_CAUSE_QUEUE	= 8,	/* queue not in the table, or another job has it */
	NEURON_CAUSE_SEMAPHORE	= 9,	/* semaphore or event not the job's */
	NEURON_CAUSE_DESC	= 10,	/* malformed descriptor */
	NEURON_CAUSE_RING_ID	= 11,
	NEURON_CAUSE_HOST	= 12,	/* host address is not memory */
	NEURON_CAUSE_FABRIC	= 13,	/* no such peer, link down, refused */
	NEURON_CAUSE_HOST_LIMIT	= 14,	/* host-limit of the device reached */
	NEURON_CAUSE_ECC	= 15,	/* uncorrectable memory error */
	NEURON_CAUSE_ADDRESS	= 16,	/* plain address maps to nothing */
	NEURON_CAUSE_RESET	= 17,	/* aborted by a reset */
	NEURON_CAUSE_ABORT	= 18,	/* DMA engine in the abort state */
	NEURON_CAUSE_GANG	= 19,	/* member pc of the job's gang failed */
	NEURON_NR_CAUSES
};

/* neuron_hw_completion.source when the fault is not an instruction's. */
#define NEURON_SOURCE_DMA	0x100	/* pc is the descriptor index */
#define NEURON_SOURCE_JOB	0x200	/* the job block itself */

/* Parts of neuron_hw_completion.queue, and of the source of a transfer in a trace. */
#define NEURON_COMPLETION_QUEUE		NEURON_MASK(3, 0)
#define NEURON_COMPLETION_DMA_ENGINE	NEURON_MASK(14, 4)
#define NEURON_COMPLETION_WRITES	NEURON_BIT(15)	/* the S2M side */

/*
 * Flag: so much of the job waited for one engine that memory for its records ran out.
 * Its times depend on how fast the host ran it. This is not an error.
 */
#define NEURON_COMPLETION_INEXACT	NEURON_BIT(0)
/*
 * Flag: the job is a member of a time group. Its times are those that it would have if it
 * never had to share anything; the settle record has others.
 */
#define NEURON_COMPLETION_UNSETTLED	NEURON_BIT(1)

/**
 * struct neuron_hw_completion - how a job ended (64 bytes, 64-byte aligned)
 * @job_id: from the job block
 * @status: enum neuron_job_status
 * @cause: enum neuron_cause
 * @source: enum neuron_engine, NEURON_SOURCE_DMA or NEURON_SOURCE_JOB
 * @queue: with SOURCE_DMA: dma_engine << 4 | queue; bit 15: the S2M side. With
 *	SOURCE_JOB and CAUSE_QUEUE: the queue that another job has
 * @addr: the address that failed, as the program wrote it, or zero
 * @start_ns: modelled device time at which the job started
 * @end_ns: modelled device time of its end; both 0 with the clock off
 * @instructions: retired by all engines
 * @dma_bytes: moved by the job's queues
 * @pc: instruction or descriptor index; with CAUSE_GANG: index of the member that
 *	failed first
 * @flags: NEURON_COMPLETION_*
 */
struct neuron_hw_completion {
	__le64 job_id;
	__le16 status;
	__le16 cause;
	__le16 source;
	__le16 queue;
	__le64 addr;
	__le64 start_ns;
	__le64 end_ns;
	__le64 instructions;
	__le64 dma_bytes;
	__le32 pc;
	__le32 flags;
};

NEURON_ASSERT_SIZE(struct neuron_hw_completion, 64);

/* neuron_hw_settle.status */
enum neuron_settle_status {
	NEURON_SETTLE_NONE	= 0,	/* nothing written yet */
	NEURON_SETTLE_OK	= 1,	/* all members ended, and share their times */
	NEURON_SETTLE_INEXACT	= 2,	/* times as of a job without a group; cause says why */
};

/* Why times are inexact. */
enum neuron_settle_cause {
	NEURON_SETTLE_FINE	= 0,
	NEURON_SETTLE_MEMBER	= 1,	/* a member failed, was aborted, or its chip left */
	NEURON_SETTLE_ENDED	= 2,	/* software ended the group */
	NEURON_SETTLE_OVERFLOW	= 3,	/* no room for records, posts or groups */
	NEURON_SETTLE_ORDER	= 4,	/* behind another group that is inexact or comes too late */
	NEURON_NR_SETTLE_CAUSES
};

/**
 * struct neuron_hw_settle - the times of a member of a time group (64 bytes, 64-byte aligned)
 * @job_id: from the job block
 * @group: from the struct neuron_hw_time_group
 * @start_ns: modelled device time at which the job started
 * @end_ns: modelled device time of its end; both 0 with the clock off
 * @status: enum neuron_settle_status, written last
 * @cause: enum neuron_settle_cause
 * @reserved: zero
 *
 * It comes once for each member that has a completion record, behind that, and with cause
 * NEURON_CORE_CAUSE_SETTLED. The chip is done with the memory of the job's trace then. A
 * reset of the device that its software asks for writes those that are missing as INEXACT;
 * any other one means that none follows.
 */
struct neuron_hw_settle {
	__le64 job_id;
	__le64 group;
	__le64 start_ns;
	__le64 end_ns;
	__le16 status;
	__le16 cause;
	__le32 reserved[7];
};

NEURON_ASSERT_SIZE(struct neuron_hw_settle, 64);

/**
 * struct neuron_hw_notify - entry of a notification stream (16 bytes)
 * @tag: immediate of the NOTIFY instruction
 * @source: NEURON_NOTIFY_PHASE (1 on the first lap, toggles at each wrap), NEURON_NOTIFY_ENGINE,
 *	NEURON_NOTIFY_PC; the other bits are 0
 * @time_ns: modelled device time, 0 with the clock off
 */
struct neuron_hw_notify {
	__le32 tag;
	__le32 source;
	__le64 time_ns;
};

#define NEURON_NOTIFY_PHASE	NEURON_BIT(31)
#define NEURON_NOTIFY_ENGINE	NEURON_MASK(26, 24)
#define NEURON_NOTIFY_PC	NEURON_MASK(23, 0)

NEURON_ASSERT_SIZE(struct neuron_hw_notify, 16);

#endif /* NEURON_JOB_H */
