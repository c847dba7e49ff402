// SPDX-License-Identifier: GPL-2.0-only
/*
 * The last notifications of a job, when it has a stream in memory of the kernel.
 */
#include <linux/mm.h>

#include "neuron/address.h"
#include "neuron_dump.h"
#include "neuron_gem.h"
#include "neuron_job.h"
#include "neuron_table.h"

/**
 * struct neuron_dump_source - the part of the stream that the job writes
 * @bo: stream
 * @first: its first entry in the buffer
 * @nr: entries
 */
struct neuron_dump_source {
	struct neuron_bo *bo;
	u64 first;
	u32 nr;
};

/*
 * A dump is on the way to the end of a fence, and each look at an entry goes through the
 * chunks of the buffer. With chunks of the usual 2 MiB that is any stream.
 */
#define NEURON_DUMP_CHUNKS	4096

#define NEURON_PAGE_NOTIFIES	(PAGE_SIZE / sizeof(struct neuron_hw_notify))

static bool neuron_dump_source_find(struct neuron_dump_source *source,
				    struct neuron_job *job)
{
	const struct neuron_binding *binding;
	u64 offset, size;

	if (!job->table || neuron_table_hw_entries(job->table) == job->table->nr)
		return false;
	binding = job->table->binding[job->table->nr];
	/* The job block lies in memory that the device can write. */
	offset = NEURON_GET(NEURON_ADDR_WINDOW_OFFSET,
			    le64_to_cpu(job->hw->notify_addr));
	size = le32_to_cpu(job->hw->notify_size);
	source->bo = binding->bo;
	source->first = offset / sizeof(struct neuron_hw_notify);
	source->nr = size / sizeof(struct neuron_hw_notify);
	return source->nr &&
	       neuron_host_bo_chunks(source->bo) <= NEURON_DUMP_CHUNKS &&
	       offset <= source->bo->base.size &&
	       size <= source->bo->base.size - offset;
}

static struct neuron_hw_notify
neuron_dump_notify(const struct neuron_dump_source *source, u32 index)
{
	u64 entry = source->first + index;
	const struct neuron_hw_notify *page;
	unsigned long pfn;

	if (!neuron_host_bo_pages(source->bo, entry / NEURON_PAGE_NOTIFIES,
				  &pfn))
		return (struct neuron_hw_notify){ };
	page = pfn_to_kaddr(pfn);
	return page[entry % NEURON_PAGE_NOTIFIES];
}

static bool neuron_dump_phase(const struct neuron_dump_source *source, u32 index)
{
	return le32_to_cpu(neuron_dump_notify(source, index).source) >> 31;
}

/*
 * The entries of this lap have another phase than those after them. All of one
 * phase: a lap has just ended, or none of it was written.
 */
static u32 neuron_dump_last(const struct neuron_dump_source *source)
{
	bool phase = neuron_dump_phase(source, 0);
	u32 low = 0, high = source->nr;

	while (high - low > 1) {
		u32 middle = low + (high - low) / 2;

		if (neuron_dump_phase(source, middle) == phase)
			low = middle;
		else
			high = middle;
	}
	return low;
}

void neuron_dump_stream(struct neuron_dump *dump, struct neuron_job *job)
{
	struct neuron_dump_source source;
	struct neuron_hw_notify entry;
	u32 i, last;

	if (!neuron_dump_source_find(&source, job))
		return;
	last = neuron_dump_last(&source);
	for (i = min_t(u32, NEURON_DUMP_NOTIFIES, source.nr); i--;) {
		entry = neuron_dump_notify(&source, (last + source.nr - i) %
					   source.nr);
		/* What was never written. */
		if (!entry.source && !entry.tag && !entry.time_ns)
			continue;
		dump->notify[dump->nr_notifies++] = entry;
	}
}
