/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Bytes that a processor is asked for before it needs them.
 */
#ifndef TRN_PREFETCH_H
#define TRN_PREFETCH_H

#include <stddef.h>
#include <stdint.h>

/* Of today's processors; where it is another the hint is only less good. */
#define TRN_CACHE_LINE	64

/* A hint. @at may be an address at which nothing is. */
static inline void trn_prefetch(uintptr_t at, size_t len)
{
	size_t i;

	for (i = 0; i < len; i += TRN_CACHE_LINE)
		__builtin_prefetch((const void *)(at + i));
}

#endif
