/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Windows and their extents: how they are written, and the rules that can be checked
 * without knowing a chip's memory map.
 */
#ifndef NEURON_CONTRACT_WINDOW_H
#define NEURON_CONTRACT_WINDOW_H

#include "bytes.h"
#include "neuron/regs.h"
#include "neuron/window.h"

/* The end of a range inside a window never carries into the index of the window. */
#define NEURON_WINDOW_MAX_LENGTH	NEURON_ADDR_WINDOW_OFFSET
/* Base addresses and the offsets of granted ranges are multiples of this. */
#define NEURON_WINDOW_ALIGN		4
#define NEURON_WINDOW_RIGHTS		(NEURON_WINDOW_READ | NEURON_WINDOW_WRITE)

/* Memory in one piece: HBM, HOST, PEER, SBUF, PSUM, or STREAM without rights. */
static inline struct neuron_hw_window
neuron_hw_window_memory(enum neuron_window_kind kind, __u32 rights, __u64 base, __u64 length)
{
	return (struct neuron_hw_window){
		.base = neuron_to_le64(base),
		.length = neuron_to_le64(length),
		.flags = neuron_to_le32(kind | rights),
	};
}

/* Memory in @nr_extents pieces, which are listed at plain address @list. */
static inline struct neuron_hw_window
neuron_hw_window_list(enum neuron_window_kind kind, __u32 rights, __u64 list, __u32 nr_extents,
		      __u64 length)
{
	return (struct neuron_hw_window){
		.base = neuron_to_le64(list),
		.length = neuron_to_le64(length),
		.flags = neuron_to_le32(kind | rights | NEURON_WINDOW_LIST),
		.nr_extents = neuron_to_le32(nr_extents),
	};
}

/* @count semaphores from @first of the core whose semaphore block is at @block. */
static inline struct neuron_hw_window
neuron_hw_window_sems(__u32 rights, __u64 block, __u32 first, __u32 count, __u32 generation)
{
	return (struct neuron_hw_window){
		.base = neuron_to_le64(block),
		.length = neuron_to_le64((__u64)count * 4),
		.flags = neuron_to_le32(NEURON_WINDOW_SEM | rights),
		.generation = neuron_to_le32(generation),
		.sem_first = neuron_to_le32(first),
	};
}

/* A part of the SBUF of a core, while its claim has @generation. */
static inline struct neuron_hw_window
neuron_hw_window_grant(__u32 rights, __u64 base, __u64 length, __u32 generation)
{
	return (struct neuron_hw_window){
		.base = neuron_to_le64(base),
		.length = neuron_to_le64(length),
		.flags = neuron_to_le32(NEURON_WINDOW_GRANT | rights),
		.generation = neuron_to_le32(generation),
	};
}

/* Give @window the right to be read, to be written, or both; it loses none. */
static inline void neuron_hw_window_allow(struct neuron_hw_window *window, __u8 read, __u8 write)
{
	window->flags |= neuron_to_le32((read ? NEURON_WINDOW_READ : 0) |
					(write ? NEURON_WINDOW_WRITE : 0));
}

/* NEURON_WINDOW_READ and NEURON_WINDOW_WRITE, as far as @window has them. */
static inline __u32 neuron_hw_window_rights(const struct neuron_hw_window *window)
{
	return neuron_from_le32(window->flags) & NEURON_WINDOW_RIGHTS;
}

/* The @nr_extents extents of @window, which is a list, are at plain address @list. */
static inline void neuron_hw_window_extents(struct neuron_hw_window *window, __u64 list,
					    __u32 nr_extents)
{
	window->base = neuron_to_le64(list);
	window->nr_extents = neuron_to_le32(nr_extents);
}

/* An entry of the directory of a table: a piece at plain address @piece; 0: all EMPTY. */
static inline __le64 neuron_hw_table_piece(__u64 piece)
{
	return neuron_to_le64(piece);
}

/* @length bytes at @addr, which is plain or routed as the kind of the window says. */
static inline struct neuron_hw_extent neuron_hw_extent(__u64 addr, __u64 length)
{
	return (struct neuron_hw_extent){
		.addr = neuron_to_le64(addr),
		.length = neuron_to_le64(length),
	};
}

static inline __u64 neuron_hw_extent_addr(const struct neuron_hw_extent *extent)
{
	return neuron_from_le64(extent->addr);
}

static inline __u64 neuron_hw_extent_length(const struct neuron_hw_extent *extent)
{
	return neuron_from_le64(extent->length);
}

/*
 * Make @extent longer by @length bytes at @addr, if they are the ones behind it.
 * Return: whether they are.
 */
static inline __u8 neuron_hw_extent_join(struct neuron_hw_extent *extent, __u64 addr,
					 __u64 length)
{
	if (addr != neuron_hw_extent_addr(extent) + neuron_hw_extent_length(extent))
		return 0;
	extent->length = neuron_to_le64(neuron_hw_extent_length(extent) + length);
	return 1;
}

/* In the last slot of a page: the list goes on at plain address @page. */
static inline struct neuron_hw_extent neuron_hw_extent_link(__u64 page)
{
	return neuron_hw_extent(page, 0);
}

/* Slots from plain address @addr to the end of its page; of a list, at least one. */
static inline __u32 neuron_hw_extent_slots(__u64 addr)
{
	__u32 slots = (NEURON_LIST_PAGE - addr % NEURON_LIST_PAGE) /
		      sizeof(struct neuron_hw_extent);

	return slots ? slots : 1;
}

/* Is @extent, at plain address @addr, a link? */
static inline __u8 neuron_hw_extent_is_link(__u64 addr, const struct neuron_hw_extent *extent)
{
	return !extent->length &&
	       addr % NEURON_LIST_PAGE == NEURON_LIST_PAGE - sizeof(*extent);
}

static inline const char *neuron_hw_extent_check_link(const struct neuron_hw_extent *link)
{
	return neuron_from_le64(link->addr) % NEURON_LIST_PAGE ?
		       "a list goes on in the middle of a page" : NEURON_FINE;
}

static inline __u32 neuron_hw_window_kind(const struct neuron_hw_window *window)
{
	return neuron_from_le32(window->flags) & NEURON_WINDOW_KIND;
}

static inline __u8 neuron_hw_window_is_list(const struct neuron_hw_window *window)
{
	return !!(neuron_from_le32(window->flags) & NEURON_WINDOW_LIST);
}

static inline const char *neuron_hw_window_check_sems(const struct neuron_hw_window *window)
{
	__u64 length = neuron_from_le64(window->length);

	if (neuron_hw_window_is_list(window))
		return "a semaphore window cannot be a list";
	if (length % 4 || length / 4 > NEURON_NR_SEMAPHORES ||
	    neuron_from_le32(window->sem_first) > NEURON_NR_SEMAPHORES - length / 4)
		return "its semaphores do not exist";
	return NEURON_FINE;
}

/* What a window of each kind may not have. */
static inline const char *neuron_hw_window_check_kind(const struct neuron_hw_window *window)
{
	__u32 kind = neuron_hw_window_kind(window);

	if (kind == NEURON_WINDOW_SEM)
		return neuron_hw_window_check_sems(window);
	if (window->sem_first || (window->generation && kind != NEURON_WINDOW_GRANT))
		return "semaphore fields are set";
	if (kind == NEURON_WINDOW_GRANT && neuron_hw_window_is_list(window))
		return "a granted window cannot be a list";
	if (kind == NEURON_WINDOW_STREAM &&
	    neuron_from_le32(window->flags) & NEURON_WINDOW_RIGHTS)
		return "a stream window has no rights";
	return NEURON_FINE;
}

/**
 * neuron_hw_window_check - judge an entry of a window table
 * @window: copy that nobody can change
 *
 * Where its memory is, and whether the extents of a list add up, is for the caller to
 * check.
 * Return: NULL or what is wrong. An EMPTY window is good whatever its other fields are.
 */
static inline const char *neuron_hw_window_check(const struct neuron_hw_window *window)
{
	const char *why;

	if (neuron_from_le32(window->flags) & ~NEURON_WINDOW_FLAGS)
		return "reserved flags are set";
	if (neuron_hw_window_kind(window) > NEURON_WINDOW_GRANT)
		return "unknown kind";
	if (neuron_hw_window_kind(window) == NEURON_WINDOW_EMPTY)
		return NEURON_FINE;
	why = neuron_hw_window_check_kind(window);
	if (why)
		return why;
	if (neuron_hw_window_is_list(window)) {
		if (!window->nr_extents)
			return "the extent list is empty";
		return neuron_from_le32(window->nr_extents) > NEURON_MAX_EXTENTS ?
			       "too many extents" : NEURON_FINE;
	}
	if (window->nr_extents)
		return "extents without LIST";
	if (neuron_from_le64(window->base) % NEURON_WINDOW_ALIGN)
		return "its base is not 4-byte aligned";
	return NEURON_FINE;
}

/* An extent of @length bytes in a window, behind others of @total bytes. */
static inline const char *neuron_hw_window_check_extent(__u64 total, __u64 length)
{
	if (!length || total > NEURON_WINDOW_MAX_LENGTH ||
	    length > NEURON_WINDOW_MAX_LENGTH - total)
		return "an extent is empty or too long";
	return NEURON_FINE;
}

#endif /* NEURON_CONTRACT_WINDOW_H */
