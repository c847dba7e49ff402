/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * How a job ended: completion records and the registers that announce them.
 */
#ifndef NEURON_CONTRACT_RECORD_H
#define NEURON_CONTRACT_RECORD_H

#include "bytes.h"
#include "neuron/job.h"

/**
 * struct neuron_record - a completion record, in the byte order of the processor
 * @job_id: id of the job block
 * @status: enum neuron_job_status, not NONE
 * @cause: enum neuron_cause
 * @source: enum neuron_engine, NEURON_SOURCE_DMA or NEURON_SOURCE_JOB
 * @queue: with SOURCE_DMA: as neuron_record_queue() writes it
 * @pc: instruction or descriptor index; with CAUSE_GANG: index of the member that failed
 * @addr: address that failed, as the program wrote it, or zero
 * @start_ns: device time of the start
 * @end_ns: device time of the end
 * @instructions: retired by all engines
 * @dma_bytes: moved by the job's queues
 * @flags: NEURON_COMPLETION_*; one that is not known says nothing
 */
struct neuron_record {
	__u64 job_id;
	__u16 status;
	__u16 cause;
	__u16 source;
	__u16 queue;
	__u32 pc;
	__u64 addr;
	__u64 start_ns;
	__u64 end_ns;
	__u64 instructions;
	__u64 dma_bytes;
	__u32 flags;
};

/*
 * Queue @queue of DMA engine @engine as records name it; @writes: its S2M side. Traces and
 * the posters of semaphores name queues alike, but no side.
 */
static inline __u16 neuron_record_queue(__u32 engine, __u32 queue, __u8 writes)
{
	return (__u16)(NEURON_PUT(NEURON_COMPLETION_DMA_ENGINE, engine) |
		       NEURON_PUT(NEURON_COMPLETION_QUEUE, queue) |
		       (writes ? NEURON_COMPLETION_WRITES : 0));
}

static inline __u32 neuron_record_queue_engine(__u32 queue)
{
	return NEURON_GET(NEURON_COMPLETION_DMA_ENGINE, queue);
}

static inline __u32 neuron_record_queue_index(__u32 queue)
{
	return NEURON_GET(NEURON_COMPLETION_QUEUE, queue);
}

/* Is it the S2M side, which writes? */
static inline __u8 neuron_record_queue_writes(__u32 queue)
{
	return !!(queue & NEURON_COMPLETION_WRITES);
}

static inline const char *neuron_record_check(const struct neuron_record *record, __u64 job_id)
{
	if (record->job_id != job_id)
		return "a record of another job";
	if (record->status < NEURON_JOB_OK || record->status > NEURON_JOB_ABORTED)
		return "unknown status";
	if (record->cause >= NEURON_NR_CAUSES)
		return "unknown cause";
	if (record->source >= NEURON_NR_ENGINES && record->source != NEURON_SOURCE_DMA &&
	    record->source != NEURON_SOURCE_JOB)
		return "unknown source";
	return NEURON_FINE;
}

/**
 * neuron_record_decode - read and judge a completion record
 * @hw: copy that the device cannot change
 * @job_id: id of the job that is on the core
 * @record: out: written in any case
 *
 * Return: NULL or what is wrong: the device breaks its contract.
 */
static inline const char *neuron_record_decode(const struct neuron_hw_completion *hw,
					       __u64 job_id, struct neuron_record *record)
{
	*record = (struct neuron_record){
		.job_id = neuron_from_le64(hw->job_id),
		.status = neuron_from_le16(hw->status),
		.cause = neuron_from_le16(hw->cause),
		.source = neuron_from_le16(hw->source),
		.queue = neuron_from_le16(hw->queue),
		.pc = neuron_from_le32(hw->pc),
		.addr = neuron_from_le64(hw->addr),
		.start_ns = neuron_from_le64(hw->start_ns),
		.end_ns = neuron_from_le64(hw->end_ns),
		.instructions = neuron_from_le64(hw->instructions),
		.dma_bytes = neuron_from_le64(hw->dma_bytes),
		.flags = neuron_from_le32(hw->flags),
	};
	return neuron_record_check(record, job_id);
}

static inline struct neuron_hw_completion
neuron_record_encode(const struct neuron_record *record)
{
	return (struct neuron_hw_completion){
		.job_id = neuron_to_le64(record->job_id),
		.status = neuron_to_le16(record->status),
		.cause = neuron_to_le16(record->cause),
		.source = neuron_to_le16(record->source),
		.queue = neuron_to_le16(record->queue),
		.pc = neuron_to_le32(record->pc),
		.addr = neuron_to_le64(record->addr),
		.start_ns = neuron_to_le64(record->start_ns),
		.end_ns = neuron_to_le64(record->end_ns),
		.instructions = neuron_to_le64(record->instructions),
		.dma_bytes = neuron_to_le64(record->dma_bytes),
		.flags = neuron_to_le32(record->flags),
	};
}

/* The record of a job that a reset ended, or that never reached a core. */
static inline struct neuron_record neuron_record_aborted(__u64 job_id)
{
	return (struct neuron_record){
		.job_id = job_id,
		.status = NEURON_JOB_ABORTED,
		.cause = NEURON_CAUSE_RESET,
		.source = NEURON_SOURCE_JOB,
	};
}

/**
 * struct neuron_settled - a settle record, in the byte order of the processor
 * @job_id: id of the job block
 * @group: number of its time group
 * @start_ns: device time of the start
 * @end_ns: device time of the end
 * @status: enum neuron_settle_status, not NONE
 * @cause: enum neuron_settle_cause
 */
struct neuron_settled {
	__u64 job_id;
	__u64 group;
	__u64 start_ns;
	__u64 end_ns;
	__u16 status;
	__u16 cause;
};

/**
 * neuron_settled_decode - read and judge a settle record
 * @hw: copy that the device cannot change
 * @job_id: id of the job
 * @group: its time group
 * @settled: out: written in any case
 *
 * Return: NULL or what is wrong: the device breaks its contract.
 */
static inline const char *neuron_settled_decode(const struct neuron_hw_settle *hw, __u64 job_id,
						__u64 group, struct neuron_settled *settled)
{
	*settled = (struct neuron_settled){
		.job_id = neuron_from_le64(hw->job_id),
		.group = neuron_from_le64(hw->group),
		.start_ns = neuron_from_le64(hw->start_ns),
		.end_ns = neuron_from_le64(hw->end_ns),
		.status = neuron_from_le16(hw->status),
		.cause = neuron_from_le16(hw->cause),
	};
	if (settled->job_id != job_id || settled->group != group)
		return "a settle record of another job";
	if (settled->status < NEURON_SETTLE_OK || settled->status > NEURON_SETTLE_INEXACT)
		return "unknown status of a settle record";
	if (settled->cause >= NEURON_NR_SETTLE_CAUSES)
		return "unknown cause of a settle record";
	return NEURON_FINE;
}

static inline struct neuron_hw_settle neuron_settled_encode(const struct neuron_settled *settled)
{
	return (struct neuron_hw_settle){
		.job_id = neuron_to_le64(settled->job_id),
		.group = neuron_to_le64(settled->group),
		.start_ns = neuron_to_le64(settled->start_ns),
		.end_ns = neuron_to_le64(settled->end_ns),
		.status = neuron_to_le16(settled->status),
		.cause = neuron_to_le16(settled->cause),
	};
}

/**
 * neuron_cause_pending - what a cause register announces
 * @value: as it was read
 *
 * The protocol of every cause register (core, DMA engine, management):
 *
 * 1. Read it. Without a bit there is nothing to do; all ones are a device that is gone.
 * 2. Write the bits back. That clears them, and an interrupt comes for the next one.
 * 3. Only then look at what they announce: a later event sets its bit again, an earlier
 *    one is seen.
 *
 * Return: the bits to write back and to handle, or 0.
 */
static inline __u32 neuron_cause_pending(__u32 value)
{
	return value == 0xffffffffu ? 0 : value;
}

#endif /* NEURON_CONTRACT_RECORD_H */
