/* SPDX-License-Identifier: MIT */
/*
 * Columns of numbers, packed for a page: programs repeat themselves, so what was there before is
 * named by its distance, and other numbers are mostly small. A packed column is a sequence of
 * counts and numbers, 7 bits in each byte, the least ones first, bit 7 if more follow:
 *
 *	numbers that follow, these numbers, how many are as before, and how far back those begin
 *
 * again and again until all are there; behind the last numbers nothing need follow. page.js
 * unpacks them.
 */
#ifndef PACK_H
#define PACK_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct pack - a packed column
 * @byte: for the caller to free; @room bytes, of which @nr are used
 */
struct pack {
	uint8_t *byte;
	size_t nr;
	size_t room;
};

/* Pack @nr numbers into @pack, whose old contents are lost. 0, or -1: no memory. */
int pack_numbers(struct pack *pack, const uint32_t *number, uint32_t nr);

#endif /* PACK_H */
