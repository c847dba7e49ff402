/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Places in lists of extents, and in buffers.
 */
#ifndef _NEURON_CURSOR_H_
#define _NEURON_CURSOR_H_

#include <linux/types.h>
#include <asm/byteorder.h>

#include "neuron/window.h"

struct neuron_bo;

/**
 * struct neuron_cursor - a position in a list of extents
 * @extent: current one
 * @nr: extents from the current one on
 * @offset: bytes of the current one that are behind
 */
struct neuron_cursor {
	const struct neuron_hw_extent *extent;
	unsigned int nr;
	u64 offset;
};

/* At byte @offset of the list; positions in it stay valid as long as it does. */
void neuron_cursor_init(struct neuron_cursor *cursor,
			const struct neuron_hw_extent *extents,
			unsigned int nr, u64 offset);
/*
 * At byte @offset of @bo, which has it. Found by bisection of an index of the extents,
 * which a buffer gets when it is first asked for: -ENOMEM.
 */
int neuron_bo_cursor(struct neuron_bo *bo, u64 offset,
		     struct neuron_cursor *cursor);

/* Bytes up to the end of the extent; 0 at the end of the list. */
static inline u64 neuron_cursor_room(const struct neuron_cursor *cursor)
{
	if (!cursor->nr)
		return 0;
	return le64_to_cpu(cursor->extent->length) - cursor->offset;
}

static inline u64 neuron_cursor_addr(const struct neuron_cursor *cursor)
{
	return le64_to_cpu(cursor->extent->addr) + cursor->offset;
}

/* By no more than the room. */
static inline void neuron_cursor_advance(struct neuron_cursor *cursor,
					 u64 bytes)
{
	cursor->offset += bytes;
	if (neuron_cursor_room(cursor))
		return;
	cursor->extent++;
	cursor->nr--;
	cursor->offset = 0;
}

#endif /* _NEURON_CURSOR_H_ */
