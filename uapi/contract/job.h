/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Job blocks: how they are written, and what is checked before a chip runs one.
 *
 * The chip refuses a block that breaks a rule. The kernel applies the same rules to what
 * user space asks for, so that no submission that it takes is refused by the chip.
 */
#ifndef NEURON_CONTRACT_JOB_H
#define NEURON_CONTRACT_JOB_H

#include "ring.h"
#include "neuron/job.h"
#include "neuron/regs.h"
#include "neuron/window.h"

/* Bytes of the smallest notification stream: four notifications. */
#define NEURON_JOB_NOTIFY_MIN	64
/* DMA engines of a core; a job's queues are theirs. */
#define NEURON_JOB_DMA_ENGINES	16

/* --- The rules --- */

/* Where an engine starts: @count instructions at window address @addr. */
static inline const char *neuron_hw_job_check_start(__u64 addr, __u32 count)
{
	if (!count)
		return addr ? "an engine has an address but no instructions" : NEURON_FINE;
	if (!neuron_hw_window_range_ok(addr, (__u64)count * NEURON_INST_SIZE))
		return "an engine's image has no window address";
	return NEURON_FINE;
}

/* The engines that a core has, as a mask; @cc: it is a CC-core. */
static inline __u32 neuron_hw_job_engines(__u8 cc)
{
	return cc ? NEURON_BIT(NEURON_ENGINE_SYNC) : NEURON_MASK(NEURON_NR_ENGINES - 1, 0);
}

/* Engine @engine of a core that has @engines: does a job with @count instructions for it run? */
static inline const char *neuron_hw_job_check_engine(__u32 engines, __u32 engine, __u32 count)
{
	return count && !(engines & NEURON_BIT(engine)) ?
		       "a CC-core has no engine but sync" : NEURON_FINE;
}

/* A notification stream of @size bytes at window address @addr; none with size 0. */
static inline const char *neuron_hw_job_check_notify(__u64 addr, __u32 size)
{
	if (!size)
		return addr ? "a notification address without size" : NEURON_FINE;
	if (size < NEURON_JOB_NOTIFY_MIN || size & (size - 1))
		return "the notification size is no power of two from 64";
	if (!neuron_hw_window_range_ok(addr, size))
		return "notifications have no window address";
	return NEURON_FINE;
}

/* Member @index of the @size members of gang @gang; all 0: a job alone. */
static inline const char *neuron_hw_job_check_gang(__u64 gang, __u32 size, __u32 index)
{
	if (!gang)
		return size || index ? "a gang's member without a gang" : NEURON_FINE;
	if (size < 2 || size > NEURON_JOB_MAX_GANG)
		return "a gang has 2 to 32 members";
	return index < size ? NEURON_FINE : "a gang has no such member";
}

/* The time group of a job, but not where its settle record lies. */
static inline const char *neuron_hw_job_check_group(const struct neuron_hw_time_group *group)
{
	__u32 size = neuron_from_le32(group->size);

	if (!group->group)
		return "a time group has no number";
	if (group->reserved)
		return "a reserved field of a time group is set";
	if (!size || size > NEURON_JOB_MAX_GROUP)
		return "a time group has 1 to 4096 members";
	if (neuron_from_le32(group->index) >= size)
		return "a time group has no such member";
	return NEURON_FINE;
}

/**
 * neuron_hw_job_check_queue - judge an entry of a queue table
 * @entry: copy that nobody can change
 * @first: first DMA engine of the core
 * @priorities: neuron_gen.nr_priorities
 * @used: 256 bits, zero at first: the queues that entries before this one have
 *
 * Return: NULL, and the queue's bit in @used is set, or what is wrong.
 */
static inline const char *neuron_hw_job_check_queue(const struct neuron_hw_job_queue *entry,
						    __u32 first, __u32 priorities, __u64 used[4])
{
	__u32 engine = neuron_from_le16(entry->dma_engine);
	__u32 queue = neuron_from_le16(entry->queue);
	__u32 flags = neuron_from_le32(entry->flags);
	const char *why;
	__u32 bit;

	if (flags & ~(NEURON_JOB_QUEUE_ANY_RING_ID | NEURON_JOB_QUEUE_PRIORITY))
		return "a queue has unknown flags";
	if (NEURON_GET(NEURON_JOB_QUEUE_PRIORITY, flags) >= priorities)
		return "a queue has a priority, which only NeuronCore-v4 knows";
	if (engine < first || engine - first >= NEURON_JOB_DMA_ENGINES ||
	    queue >= NEURON_UDMA_QUEUES)
		return "a queue is not one of this core's";
	bit = (engine - first) * NEURON_UDMA_QUEUES + queue;
	if (used[bit / 64] >> (bit % 64) & 1)
		return "a queue is listed twice";
	why = neuron_ring_check(neuron_from_le64(entry->m2s_ring),
				neuron_from_le32(entry->m2s_length));
	if (!why)
		why = neuron_ring_check(neuron_from_le64(entry->s2m_ring),
					neuron_from_le32(entry->s2m_length));
	if (!why)
		used[bit / 64] |= 1ull << (bit % 64);
	return why;
}

/**
 * neuron_hw_job_check - judge a job block
 * @job: copy that nobody can change
 * @engines: mask of enum neuron_engine that the core has: neuron_hw_job_engines()
 *
 * The tables are not looked at.
 * Return: NULL or what is wrong.
 */
static inline const char *neuron_hw_job_check(const struct neuron_hw_job *job, __u32 engines)
{
	const char *why;
	unsigned int i;

	if (neuron_from_le32(job->magic) != NEURON_JOB_MAGIC)
		return "no magic number";
	if (neuron_from_le16(job->version) != NEURON_JOB_VERSION)
		return "unknown version";
	if (neuron_from_le16(job->flags) &
	    ~(NEURON_JOB_TRACE | NEURON_JOB_PIECES | NEURON_JOB_GROUP))
		return "unknown flags";
	if (job->reserved1)
		return "a reserved field is set";
	if (neuron_from_le32(job->nr_windows) > NEURON_MAX_WINDOWS)
		return "too many windows";
	if (neuron_from_le32(job->nr_queues) > NEURON_JOB_MAX_QUEUES)
		return "too many queues";
	for (i = 0; i < NEURON_NR_ENGINES; i++) {
		if (job->start[i].reserved)
			return "a reserved field is set";
		why = neuron_hw_job_check_start(neuron_from_le64(job->start[i].addr),
						neuron_from_le32(job->start[i].count));
		if (!why)
			why = neuron_hw_job_check_engine(engines, i,
							 neuron_from_le32(job->start[i].count));
		if (why)
			return why;
	}
	why = neuron_hw_job_check_gang(neuron_from_le64(job->gang),
				       neuron_from_le16(job->gang_size),
				       neuron_from_le16(job->gang_index));
	if (why)
		return why;
	return neuron_hw_job_check_notify(neuron_from_le64(job->notify_addr),
					  neuron_from_le32(job->notify_size));
}

/* --- How a block is written --- */

/* What the completion record will have as @job_id. */
static inline void neuron_hw_job_id(struct neuron_hw_job *job, __u64 job_id)
{
	job->job_id = neuron_to_le64(job_id);
}

/* The completion record goes to plain address @completion, which is 64-byte aligned. */
static inline void neuron_hw_job_completion(struct neuron_hw_job *job, __u64 completion)
{
	job->completion = neuron_to_le64(completion);
}

/**
 * neuron_hw_job_begin - begin a job block
 * @job: written as a whole; without tables, engines and notifications
 * @job_id: what the completion record will have
 * @completion: plain address of the record in host memory, 64-byte aligned
 *
 * The job has all semaphores and events of its core, and clears none.
 */
static inline void neuron_hw_job_begin(struct neuron_hw_job *job, __u64 job_id, __u64 completion)
{
	unsigned int i;

	*job = (struct neuron_hw_job){
		.magic = neuron_to_le32(NEURON_JOB_MAGIC),
		.version = neuron_to_le16(NEURON_JOB_VERSION),
	};
	neuron_hw_job_id(job, job_id);
	neuron_hw_job_completion(job, completion);
	for (i = 0; i < 4; i++) {
		job->sem_own[i] = neuron_to_le64(~0ull);
		job->event_own[i] = neuron_to_le64(~0ull);
	}
}

/* @nr windows at plain address @table. */
static inline void neuron_hw_job_windows(struct neuron_hw_job *job, __u64 table, __u32 nr)
{
	job->window_table = neuron_to_le64(table);
	job->nr_windows = neuron_to_le32(nr);
}

/* @nr windows in pieces, which the directory at plain address @directory names. */
static inline void neuron_hw_job_pieces(struct neuron_hw_job *job, __u64 directory, __u32 nr)
{
	neuron_hw_job_windows(job, directory, nr);
	job->flags |= neuron_to_le16(NEURON_JOB_PIECES);
}

/* @nr queues at plain address @table. */
static inline void neuron_hw_job_queues(struct neuron_hw_job *job, __u64 table, __u32 nr)
{
	job->queue_table = neuron_to_le64(nr ? table : 0);
	job->nr_queues = neuron_to_le32(nr);
}

/*
 * The job is traced, to the window behind the @nr_queues entries of the queue table at
 * plain address @table.
 */
static inline void neuron_hw_job_trace(struct neuron_hw_job *job, __u64 table)
{
	job->queue_table = neuron_to_le64(table);
	job->flags |= neuron_to_le16(NEURON_JOB_TRACE);
}

/* Plain address of the window of the trace. */
static inline __u64 neuron_hw_job_trace_window(const struct neuron_hw_job *job)
{
	return neuron_from_le64(job->queue_table) + (__u64)neuron_from_le32(job->nr_queues) *
						    sizeof(struct neuron_hw_job_queue);
}

/*
 * The job is a member of the time group behind the entries of the queue table at plain
 * address @table, and behind the window of its trace. To be called after
 * neuron_hw_job_queues() and neuron_hw_job_trace().
 */
static inline void neuron_hw_job_group(struct neuron_hw_job *job, __u64 table)
{
	job->queue_table = neuron_to_le64(table);
	job->flags |= neuron_to_le16(NEURON_JOB_GROUP);
}

/* Plain address of what says which time group. */
static inline __u64 neuron_hw_job_group_at(const struct neuron_hw_job *job)
{
	return neuron_hw_job_trace_window(job) +
	       (neuron_from_le16(job->flags) & NEURON_JOB_TRACE ?
			sizeof(struct neuron_hw_window) : 0);
}

/* The rings of a queue, and how it takes them: NEURON_JOB_QUEUE_*. */
static inline void neuron_hw_job_queue_rings(struct neuron_hw_job_queue *entry,
					     __u64 m2s_ring, __u32 m2s_length,
					     __u64 s2m_ring, __u32 s2m_length, __u32 flags)
{
	entry->m2s_ring = neuron_to_le64(m2s_ring);
	entry->s2m_ring = neuron_to_le64(s2m_ring);
	entry->m2s_length = neuron_to_le32(m2s_length);
	entry->s2m_length = neuron_to_le32(s2m_length);
	entry->flags = neuron_to_le32(flags);
}

/*
 * Queue @queue of DMA engine @engine of a core whose first engine is @first. Afterwards
 * neuron_hw_job_check_queue() judges the entry.
 * Return: NULL, or what is wrong: then @entry is not written.
 */
static inline const char *neuron_hw_job_queue_place(struct neuron_hw_job_queue *entry,
						    __u32 first, __u16 engine, __u16 queue)
{
	if (engine >= NEURON_JOB_DMA_ENGINES)
		return "no such DMA engine";
	entry->dma_engine = neuron_to_le16((__u16)(first + engine));
	entry->queue = neuron_to_le16(queue);
	return NEURON_FINE;
}

static inline void neuron_hw_job_start(struct neuron_hw_job *job, enum neuron_engine engine,
				       __u64 addr, __u32 count)
{
	job->start[engine] = (struct neuron_hw_start){
		.addr = neuron_to_le64(count ? addr : 0),
		.count = neuron_to_le32(count),
	};
}

static inline void neuron_hw_job_notify(struct neuron_hw_job *job, __u64 addr, __u32 size)
{
	job->notify_addr = neuron_to_le64(addr);
	job->notify_size = neuron_to_le32(size);
}

/* Clear the semaphores 64 * @word + i, for each bit i of @mask, before the job starts. */
static inline void neuron_hw_job_sem_clear(struct neuron_hw_job *job, __u32 word, __u64 mask)
{
	job->sem_clear[word] = neuron_to_le64(mask);
}

/* What REG_RANK gives the programs of the job. */
static inline void neuron_hw_job_rank(struct neuron_hw_job *job, __u32 rank)
{
	job->rank = neuron_to_le32(rank);
}

/* Member @index of the @size members of gang @gang, which is not 0. */
static inline void neuron_hw_job_gang(struct neuron_hw_job *job, __u64 gang, __u16 size,
				      __u16 index)
{
	job->gang = neuron_to_le64(gang);
	job->gang_size = neuron_to_le16(size);
	job->gang_index = neuron_to_le16(index);
}

#endif /* NEURON_CONTRACT_JOB_H */
