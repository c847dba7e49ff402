/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Lazily backed memory in a stream: only the pages that are not zero.
 */
#ifndef TRN_PAGES_H
#define TRN_PAGES_H

#include <stdint.h>

#include "trn_state.h"

#define TRN_PAGE	4096u

/*
 * Save or load @size bytes at @mem, both multiples of TRN_PAGE. When loading the
 * memory must be zero. Saving touches no page that nobody has touched before.
 */
void trn_pages_state(struct trn_state *st, uint8_t *mem, uint64_t size);

#endif /* TRN_PAGES_H */
