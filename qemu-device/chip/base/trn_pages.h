/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Lazily backed memory: which of its pages there are, and the stream of those that are
 * not zero.
 */
#ifndef TRN_PAGES_H
#define TRN_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/trn_state.h"

#define TRN_PAGE	4096u

/* No file is behind the memory: it is private and anonymous. */
#define TRN_NO_FILE	(-1)

/* Descriptor to ask the kernel with about this process; negative: it does not tell. */
int trn_pages_open(void);
void trn_pages_close(int fd);

/*
 * May a byte of [@mem, +@len) be other than zero? Touches none of them. True as well when
 * the kernel does not tell. The memory is private and anonymous. Any thread.
 */
bool trn_pages_backed(int fd, const void *mem, size_t len);

/*
 * The same of memory that a file of the memory (memfd) is behind, from @offset of the file on:
 * others may have written to the file.
 */
bool trn_pages_in_file(int file, uint64_t offset, uint64_t len);

/**
 * trn_pages_each() - call for each run of pages that may be other than zero
 * @mem: the memory
 * @file: the file behind it, or TRN_NO_FILE
 * @at: where in the file it begins
 * @size: bytes of it, a multiple of TRN_PAGE
 * @run: gets the offset of the first byte and the length; other than 0 ends the walk
 * @opaque: first argument of @run
 *
 * Touches none of them. A long run may be told in parts. Any thread.
 *
 * Return: what the last @run returned, 0 without.
 */
int trn_pages_each(const uint8_t *mem, int file, uint64_t at, uint64_t size,
		   int (*run)(void *opaque, uint64_t offset, uint64_t len), void *opaque);

/*
 * Save or load @size bytes at @mem, both multiples of TRN_PAGE. When loading the
 * memory must be zero. Saving touches no page that nobody has touched before. @file is behind
 * all of it, from its first byte on, or TRN_NO_FILE.
 */
void trn_pages_state(struct trn_state *st, uint8_t *mem, int file, uint64_t size);

#endif /* TRN_PAGES_H */
