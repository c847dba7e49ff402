/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Domains and windows: all that a program on a NeuronCore can reach.
 *
 * A domain is the table of windows of one job. The kernel writes the table in
 * its own memory; the chip copies it when the job starts and translates every
 * address of the job's engines and queues through the copy. An address outside
 * a window, or against its rights, ends the job with a window violation.
 *
 * No table and no list needs more contiguous memory than a page of 4 KiB. A table may
 * be in pieces, which a directory names: an array of plain addresses, one for each
 * NEURON_TABLE_PIECE entries. Address 0 stands for entries that are all EMPTY. A list of
 * extents may go on in another page, see struct neuron_hw_extent.
 *
 * Defined by this project.
 */
#ifndef NEURON_WINDOW_H
#define NEURON_WINDOW_H

#include "address.h"

/* What a window shows; bits 3:0 of neuron_hw_window.flags. */
enum neuron_window_kind {
	NEURON_WINDOW_EMPTY	= 0,	/* every access is a violation */
	NEURON_WINDOW_HBM	= 1,	/* HBM of this chip */
	NEURON_WINDOW_HOST	= 2,	/* host memory (bus address | host bit) */
	NEURON_WINDOW_SBUF	= 3,	/* the core's own state buffer */
	NEURON_WINDOW_PSUM	= 4,	/* the core's own partial-sum buffer */
	NEURON_WINDOW_PEER	= 5,	/* HBM or SBUF of another chip, routed */
	NEURON_WINDOW_SEM	= 6,	/* semaphores of this core or of a peer */
	NEURON_WINDOW_STREAM	= 7,	/* host memory that only NOTIFY writes */
	NEURON_WINDOW_GRANT	= 8,	/* SBUF of another core, with a generation */
};

#define NEURON_WINDOW_KIND	NEURON_MASK(3, 0)
#define NEURON_WINDOW_READ	NEURON_BIT(4)
#define NEURON_WINDOW_WRITE	NEURON_BIT(5)
/* @base is the plain address of an array of @nr_extents neuron_hw_extent. */
#define NEURON_WINDOW_LIST	NEURON_BIT(8)
#define NEURON_WINDOW_FLAGS	(NEURON_WINDOW_KIND | NEURON_WINDOW_READ | \
				 NEURON_WINDOW_WRITE | NEURON_WINDOW_LIST)

/* Entries of a piece of a table, which has 4 KiB; the last piece may be cut. */
#define NEURON_TABLE_PIECE	128u
#define NEURON_TABLE_PIECES(nr)	(((nr) + NEURON_TABLE_PIECE - 1) / NEURON_TABLE_PIECE)

/* The pages of a list of extents. */
#define NEURON_LIST_PAGE	4096u

/* All extents of all windows of one table together. */
#define NEURON_MAX_EXTENTS	(1u << 20)

/**
 * struct neuron_hw_window - one entry of a window table (32 bytes)
 * @base: first byte: plain or (PEER, remote SEM) routed address, 4-byte
 *	aligned; with LIST the address of the extents in host memory.
 *	SEM: the address of the semaphore block of the target core
 *	(NEURON_TPB_SEM of its TPB window)
 * @length: bytes; SEM: 4 times the number of semaphores
 * @flags: kind, rights, LIST; other bits zero
 * @nr_extents: with LIST, else zero
 * @generation: SEM, GRANT: the claim generation the target core must still have,
 *	otherwise a post or write is dropped and counted there, and a read ends in
 *	NEURON_CAUSE_FABRIC; other kinds zero
 * @sem_first: SEM: semaphore shown at offset 0; other kinds zero
 *
 * A SEM window is an array of 32-bit words, one for each semaphore: a 4-byte
 * write adds the signed value to the semaphore, a 4-byte read returns it (own
 * core only). Any other size or alignment is a violation.
 *
 * A STREAM window has no rights: it is for the job's NOTIFY instructions alone,
 * when notify_addr of the job block lies in it. Any other access is a violation.
 *
 * A GRANT window shows SBUF of one core, of this chip or (routed) of another one.
 */
struct neuron_hw_window {
	__le64 base;
	__le64 length;
	__le32 flags;
	__le32 nr_extents;
	__le32 generation;
	__le32 sem_first;
};

NEURON_ASSERT_SIZE(struct neuron_hw_window, 32);

/**
 * struct neuron_hw_extent - one contiguous piece of a window
 * @addr: plain or routed address of the kind the window names
 * @length: bytes, non-zero; the lengths add up to the window's length
 *
 * The last 16 bytes of a page of NEURON_LIST_PAGE bytes may be a link instead: its @length
 * is zero, and @addr is the plain address of the page in which the list goes on. Links do
 * not count as extents of the window.
 */
struct neuron_hw_extent {
	__le64 addr;
	__le64 length;
};

NEURON_ASSERT_SIZE(struct neuron_hw_extent, 16);

#endif /* NEURON_WINDOW_H */
