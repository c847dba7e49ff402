/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The notification stream of a job: where an entry goes, how it is written, and which one
 * is the newest.
 *
 * The stream is a ring, which each job writes from its first entry on, lap after lap. The
 * phase of an entry says in which lap it was written: 1 in the first one, 0 in the second
 * one, and so on. How many there are is told nowhere. Who reads a stream looks for where
 * the phase turns: in front of that are entries of the newest lap, behind it older ones.
 *
 * Others may be able to write to a stream. A reader copies an entry and looks at the copy.
 */
#ifndef NEURON_CONTRACT_NOTIFY_H
#define NEURON_CONTRACT_NOTIFY_H

#include "bytes.h"
#include "neuron/job.h"

/**
 * struct neuron_notice - a notification, in the byte order of the processor
 * @tag: immediate of the NOTIFY instruction
 * @engine: enum neuron_engine; a hostile stream may have 5 to 7
 * @pc: index of the instruction
 * @phase: 1 in the first lap, then 0, and so on
 * @time_ns: modelled device time, 0 with the clock off, or when none is known yet
 */
struct neuron_notice {
	__u32 tag;
	__u32 engine;
	__u32 pc;
	__u32 phase;
	__u64 time_ns;
};

/* --- The ring --- */

/* Entries of a stream of @size bytes, a power of two from 64 or 0. */
static inline __u32 neuron_notify_entries(__u32 size)
{
	return size / sizeof(struct neuron_hw_notify);
}

/* Where in a stream of @size bytes, which are not 0, notification @n of the job goes. */
static inline __u32 neuron_notify_offset(__u64 n, __u32 size)
{
	return (__u32)(n * sizeof(struct neuron_hw_notify) & (size - 1));
}

/* The phase of the lap that notification @n of the job is in. */
static inline __u32 neuron_notify_phase(__u64 n, __u32 size)
{
	return n * sizeof(struct neuron_hw_notify) & size ? 0 : 1;
}

/* Of @count notifications: has a later lap overwritten number @n? */
static inline __u8 neuron_notify_is_lost(__u64 n, __u64 count, __u32 size)
{
	return n + neuron_notify_entries(size) < count;
}

/* --- Entries --- */

static inline struct neuron_hw_notify neuron_notice_encode(const struct neuron_notice *notice)
{
	return (struct neuron_hw_notify){
		.tag = neuron_to_le32(notice->tag),
		.source = neuron_to_le32(NEURON_PUT(NEURON_NOTIFY_ENGINE, notice->engine) |
					 NEURON_PUT(NEURON_NOTIFY_PC, notice->pc) |
					 (notice->phase ? NEURON_NOTIFY_PHASE : 0)),
		.time_ns = neuron_to_le64(notice->time_ns),
	};
}

/* @entry: copy that nobody can change; every value of it can be read. */
static inline struct neuron_notice neuron_notice_decode(const struct neuron_hw_notify *entry)
{
	__u32 source = neuron_from_le32(entry->source);

	return (struct neuron_notice){
		.tag = neuron_from_le32(entry->tag),
		.engine = NEURON_GET(NEURON_NOTIFY_ENGINE, source),
		.pc = NEURON_GET(NEURON_NOTIFY_PC, source),
		.phase = source & NEURON_NOTIFY_PHASE ? 1 : 0,
		.time_ns = neuron_from_le64(entry->time_ns),
	};
}

/*
 * All bits are ones, and the chip writes no such @source. Software that wants to tell which
 * entries were never written fills a stream with it before the job.
 */
static inline struct neuron_hw_notify neuron_notify_blank(void)
{
	return (struct neuron_hw_notify){
		.tag = neuron_to_le32(~0u),
		.source = neuron_to_le32(~0u),
		.time_ns = neuron_to_le64(~0ull),
	};
}

static inline __u8 neuron_notify_is_blank(const struct neuron_hw_notify *entry)
{
	return neuron_from_le32(entry->source) == ~0u;
}

/* Were @first, the first entry of a stream, and @entry written in one lap, or an even one? */
static inline __u8 neuron_notify_same_lap(const struct neuron_hw_notify *first,
					  const struct neuron_hw_notify *entry)
{
	return !((neuron_from_le32(first->source) ^ neuron_from_le32(entry->source)) &
		 NEURON_NOTIFY_PHASE);
}

/* --- The newest entry --- */

/*
 * A search for where the newest lap ends looks at one entry after the other:
 *
 *	search = neuron_notify_search(entries);
 *	while (neuron_notify_search_goes_on(&search))
 *		neuron_notify_search_saw(&search, is the entry at neuron_notify_search_at(&search)
 *					 in the lap of the first one?);
 *
 * The first entry is of the newest lap, if anything was written. All of one phase: a lap
 * has just ended, or none of it was written. Whatever a hostile stream has, a search takes
 * log2(entries) steps and stays inside.
 */

/**
 * struct neuron_notify_search - where the newest lap ends
 * @low: an entry of the newest lap; when the search is over, the newest one
 * @high: the first entry that is known not to be of it, or the end of the stream
 */
struct neuron_notify_search {
	__u32 low;
	__u32 high;
};

/* In a stream of @entries entries. */
static inline struct neuron_notify_search neuron_notify_search(__u32 entries)
{
	return (struct neuron_notify_search){ .high = entries };
}

static inline __u8 neuron_notify_search_goes_on(const struct neuron_notify_search *search)
{
	return search->high > search->low + 1;
}

/* The entry to look at. */
static inline __u32 neuron_notify_search_at(const struct neuron_notify_search *search)
{
	return search->low + (search->high - search->low) / 2;
}

/* @newest: the entry at neuron_notify_search_at() is of the lap of the first one. */
static inline void neuron_notify_search_saw(struct neuron_notify_search *search, __u8 newest)
{
	__u32 at = neuron_notify_search_at(search);

	if (newest)
		search->low = at;
	else
		search->high = at;
}

#endif /* NEURON_CONTRACT_NOTIFY_H */
