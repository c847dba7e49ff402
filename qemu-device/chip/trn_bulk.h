/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Moves of many bytes at once.
 */
#ifndef TRN_BULK_H
#define TRN_BULK_H

#include <stddef.h>

/* From this length on a move is large; shorter ones are the C library's. */
#define TRN_BULK_BYTES	32768

/**
 * trn_bulk_move - memmove() for what a DMA engine moves
 *
 * Descriptors cut a large copy into moves of 64 KiB at most, each too short for the
 * C library to see that the whole exceeds the caches. A large move here writes past
 * them: the host's memory is spared the read of each line that is overwritten. All
 * bytes are visible to whoever synchronises with the caller afterwards.
 */
void trn_bulk_move(void *dst, const void *src, size_t len);

#endif
