/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Memory that the host backs when it is first written, for what a chip has much of and
 * seldom uses.
 */
#ifndef TRN_BACKING_H
#define TRN_BACKING_H

#include <stddef.h>
#include <stdint.h>

/* @size bytes of zeroes, in whole pages; NULL: no memory. */
uint8_t *trn_backing_alloc(uint64_t size);
/* @mem may be NULL. */
void trn_backing_free(uint8_t *mem, uint64_t size);
/* Zeroes again; the host's pages are given back where that is possible. */
void trn_backing_discard(uint8_t *mem, uint64_t size);

/*
 * Memory of calloc() that is about to be written: the host backs all of it at once, which takes
 * much less time than page by page. @mem may be NULL.
 */
void trn_backing_populate(void *mem, size_t size);

#endif /* TRN_BACKING_H */
