// SPDX-License-Identifier: GPL-2.0-only
/*
 * Places in lists of extents, and in buffers.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "neuron_cursor.h"
#include "neuron_gem.h"

void neuron_cursor_init(struct neuron_cursor *cursor,
			const struct neuron_hw_extent *extents,
			unsigned int nr, u64 offset)
{
	while (nr && offset >= le64_to_cpu(extents->length)) {
		offset -= le64_to_cpu(extents->length);
		extents++;
		nr--;
	}
	cursor->extent = extents;
	cursor->nr = nr;
	cursor->offset = offset;
}

static u64 *neuron_bo_starts_create(const struct neuron_bo *bo)
{
	u64 start = 0;
	unsigned int i;
	u64 *starts;

	starts = kvmalloc_array(bo->nr_extents, sizeof(*starts),
				GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	for (i = 0; starts && i < bo->nr_extents; i++) {
		starts[i] = start;
		start += le64_to_cpu(bo->extents[i].length);
	}
	return starts;
}

/* neuron_bo.starts of @bo, made by the first who asks. NULL: no memory. */
static const u64 *neuron_bo_starts(struct neuron_bo *bo)
{
	u64 *starts = READ_ONCE(bo->starts);
	u64 *other;

	if (starts)
		return starts;
	starts = neuron_bo_starts_create(bo);
	if (!starts)
		return NULL;
	other = cmpxchg(&bo->starts, NULL, starts);
	if (!other)
		return starts;
	kvfree(starts);
	return other;
}

/* The last extent that begins at @offset or before. */
static unsigned int neuron_starts_find(const u64 *starts, unsigned int nr,
				       u64 offset)
{
	unsigned int low = 0, mid;

	while (nr > 1) {
		mid = nr / 2;
		if (starts[low + mid] <= offset) {
			low += mid;
			nr -= mid;
		} else {
			nr = mid;
		}
	}
	return low;
}

int neuron_bo_cursor(struct neuron_bo *bo, u64 offset,
		     struct neuron_cursor *cursor)
{
	const u64 *starts;
	unsigned int i;

	*cursor = (struct neuron_cursor){
		.extent = bo->extents,
		.nr = bo->nr_extents,
		.offset = offset,
	};
	if (bo->nr_extents == 1)
		return 0;
	starts = neuron_bo_starts(bo);
	if (!starts)
		return -ENOMEM;
	i = neuron_starts_find(starts, bo->nr_extents, offset);
	cursor->extent += i;
	cursor->nr -= i;
	cursor->offset -= starts[i];
	return 0;
}
