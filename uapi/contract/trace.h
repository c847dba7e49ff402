/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The trace of a job: what its engines and queues did, and when.
 *
 * The chip writes a header and behind it records of a fixed size, in the order of device
 * time, into a buffer that the job block names. When the buffer is full it counts what it
 * leaves out, and nothing waits. The owner of the buffer can read it at any time: a record
 * is complete when the header counts it. Others may be able to write to the buffer, so who
 * reads it copies header and records first, and believes what was checked.
 *
 * Defined by this project.
 */
#ifndef NEURON_CONTRACT_TRACE_H
#define NEURON_CONTRACT_TRACE_H

#include "window.h"
#include "neuron/job.h"

#define NEURON_TRACE_MAGIC	0x4352544e	/* "NTRC" */
#define NEURON_TRACE_VERSION	1
/* Offset of a trace in its buffer: the header lies in one cache line. */
#define NEURON_TRACE_ALIGN	64

/* What a record is of. */
enum neuron_trace_kind {
	NEURON_TRACE_INSTRUCTION = 1,
	NEURON_TRACE_TRANSFER	= 2,	/* a packet of a DMA queue */
	NEURON_NR_TRACE_KINDS
};

/**
 * struct neuron_hw_trace - header of a trace (64 bytes)
 * @magic: NEURON_TRACE_MAGIC
 * @version: NEURON_TRACE_VERSION
 * @record_size: bytes of a record
 * @job_id: from the job block
 * @records: how many are behind the header; written after each of them
 * @lost: how many there was no room, no memory or no device time for; right when the job
 *	has ended
 * @reserved: zero
 */
struct neuron_hw_trace {
	__le32 magic;
	__le16 version;
	__le16 record_size;
	__le64 job_id;
	__le64 records;
	__le64 lost;
	__le64 reserved[4];
};

NEURON_ASSERT_SIZE(struct neuron_hw_trace, 64);

/* Flag: the times of the record, or of one before it, depend on the host (job.h). */
#define NEURON_TRACE_INEXACT	NEURON_BIT(0)
/* Flag: INSTRUCTION: there was a NaN in its destination tile when it had ended. */
#define NEURON_TRACE_NAN	NEURON_BIT(1)

/**
 * struct neuron_hw_trace_record - an instruction or a transfer (40 bytes)
 * @begin_ns: device time at which its wait was over
 * @end_ns: device time of its end
 * @bytes: TRANSFER: moved, at most 2^32 - 1; else zero
 * @code: INSTRUCTION: opcode; TRANSFER: descriptors that were read
 * @pc: index of the instruction, or of the first descriptor that was read
 * @kind: enum neuron_trace_kind
 * @source: INSTRUCTION: enum neuron_engine; TRANSFER: dma_engine << 4 | queue
 * @flags: NEURON_TRACE_*; one that is not known says nothing
 */
struct neuron_hw_trace_record {
	__le64 begin_ns;
	__le64 end_ns;
	__le64 bytes;
	__le32 code;
	__le32 pc;
	__le16 kind;
	__le16 source;
	__le32 flags;
};

NEURON_ASSERT_SIZE(struct neuron_hw_trace_record, 40);

/* A record, as it is used; the fields are those of struct neuron_hw_trace_record. */
struct neuron_trace_event {
	__u64 begin_ns;
	__u64 end_ns;
	__u64 bytes;
	__u32 code;
	__u32 pc;
	__u16 kind;
	__u16 source;
	__u32 flags;
};

/* --- The rules --- */

/* A window of @length bytes with @flags takes a trace: header, and a record or more. */
static inline const char *neuron_trace_check_window(__u32 flags, __u64 length)
{
	__u32 kind = flags & NEURON_WINDOW_KIND;

	if (kind != NEURON_WINDOW_HBM && kind != NEURON_WINDOW_HOST)
		return "a trace goes to HBM of the chip or to host memory";
	if ((flags & NEURON_WINDOW_RIGHTS) != NEURON_WINDOW_WRITE)
		return "the window of a trace is for writing";
	if (length < sizeof(struct neuron_hw_trace) + sizeof(struct neuron_hw_trace_record))
		return "a trace has room for no record";
	return NEURON_FINE;
}

/* Records that find room in @length bytes, which neuron_trace_check_window() took. */
static inline __u64 neuron_trace_room(__u64 length)
{
	return (length - sizeof(struct neuron_hw_trace)) /
	       sizeof(struct neuron_hw_trace_record);
}

/* --- How a trace is written --- */

static inline struct neuron_hw_trace neuron_trace_header(__u64 job_id, __u64 records, __u64 lost)
{
	return (struct neuron_hw_trace){
		.magic = neuron_to_le32(NEURON_TRACE_MAGIC),
		.version = neuron_to_le16(NEURON_TRACE_VERSION),
		.record_size = neuron_to_le16(sizeof(struct neuron_hw_trace_record)),
		.job_id = neuron_to_le64(job_id),
		.records = neuron_to_le64(records),
		.lost = neuron_to_le64(lost),
	};
}

static inline struct neuron_hw_trace_record
neuron_trace_encode(const struct neuron_trace_event *event)
{
	return (struct neuron_hw_trace_record){
		.begin_ns = neuron_to_le64(event->begin_ns),
		.end_ns = neuron_to_le64(event->end_ns),
		.bytes = neuron_to_le64(event->bytes),
		.code = neuron_to_le32(event->code),
		.pc = neuron_to_le32(event->pc),
		.kind = neuron_to_le16(event->kind),
		.source = neuron_to_le16(event->source),
		.flags = neuron_to_le32(event->flags),
	};
}

/* --- How it is read --- */

/**
 * neuron_trace_check - judge the header of a trace
 * @trace: copy that nobody can change
 * @length: bytes of the whole trace
 *
 * All records that it counts lie inside of @length, @record_size bytes apart, which is at
 * least the size of struct neuron_hw_trace_record.
 * Return: NULL or what is wrong.
 */
static inline const char *neuron_trace_check(const struct neuron_hw_trace *trace, __u64 length)
{
	__u32 size = neuron_from_le16(trace->record_size);

	if (neuron_from_le32(trace->magic) != NEURON_TRACE_MAGIC)
		return "no trace";
	if (neuron_from_le16(trace->version) != NEURON_TRACE_VERSION)
		return "unknown version";
	if (size < sizeof(struct neuron_hw_trace_record) || size % 8)
		return "records of an unknown size";
	if (length < sizeof(*trace) ||
	    neuron_from_le64(trace->records) > (length - sizeof(*trace)) / size)
		return "more records than fit";
	return NEURON_FINE;
}

/**
 * neuron_trace_decode - check and read a record
 * @record: copy that nobody can change
 * @event: written when all is well
 *
 * Return: NULL or what is wrong.
 */
static inline const char *neuron_trace_decode(const struct neuron_hw_trace_record *record,
					      struct neuron_trace_event *event)
{
	__u16 source = neuron_from_le16(record->source);
	__u16 kind = neuron_from_le16(record->kind);

	if (!kind || kind >= NEURON_NR_TRACE_KINDS)
		return "a record of an unknown kind";
	if (kind == NEURON_TRACE_INSTRUCTION && source >= NEURON_NR_ENGINES)
		return "a record of an unknown engine";
	if (neuron_from_le64(record->begin_ns) > neuron_from_le64(record->end_ns))
		return "a record that ends before it begins";
	*event = (struct neuron_trace_event){
		.begin_ns = neuron_from_le64(record->begin_ns),
		.end_ns = neuron_from_le64(record->end_ns),
		.bytes = neuron_from_le64(record->bytes),
		.code = neuron_from_le32(record->code),
		.pc = neuron_from_le32(record->pc),
		.kind = kind,
		.source = source,
		.flags = neuron_from_le32(record->flags),
	};
	return NEURON_FINE;
}

#endif /* NEURON_CONTRACT_TRACE_H */
