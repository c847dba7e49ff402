/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Accounting of the host memory behind device memory: one bit for each extent
 * that a device write has touched. An extent is as large as a transparent huge
 * page, so the count is an upper bound. What the host's CPUs write through
 * BAR4 is not counted.
 *
 * A read of what nobody has written must not look at it: the page tables behind an
 * extent would stay, 4 KiB each, and nobody would count them. It gives zeroes. An extent
 * that no device has touched may have been written through BAR4; then the kernel tells.
 */
#ifndef TRN_TOUCHED_H
#define TRN_TOUCHED_H

#include <stddef.h>
#include <stdint.h>

#include "mem/trn_bus.h"

struct trn_state;

#define TRN_EXTENT_SHIFT	21
#define TRN_EXTENT		(1ull << TRN_EXTENT_SHIFT)

/* Set chip->touched; 0 or -1: no memory. */
int trn_touched_init(struct trn_chip *chip);
void trn_touched_destroy(struct trn_chip *chip);

/* As trn_bus_touch(), when not all of [loc->ptr, +len) may be written. */
enum neuron_cause trn_touched_mark(const struct trn_loc *loc, size_t len);

/*
 * Where the bytes at @loc, of HBM, SBUF or PSUM, are to be read; *@len is cut to those
 * that are there in one piece.
 */
const uint8_t *trn_touched_source(const struct trn_loc *loc, uint64_t *len);
/* All @len bytes. */
void trn_touched_read(const struct trn_loc *loc, void *buf, uint64_t len);

/*
 * A range has been discarded: the extents that lie wholly in it are no longer
 * counted.
 */
void trn_touched_forget(struct trn_chip *chip, enum trn_place place,
			unsigned int index, uint64_t offset, uint64_t len);

/* Host bytes counted. */
uint64_t trn_touched_used(const struct trn_chip *chip);

/* The library's own bytes for the accounting. */
size_t trn_touched_own_bytes(const struct trn_chip *chip);

/* After all memories but HBM: what counts for the host limit. */
void trn_touched_state(struct trn_chip *chip, struct trn_state *st);

#endif /* TRN_TOUCHED_H */
