// SPDX-License-Identifier: MIT
/*
 * A job writes its notices from the beginning of the ring, lap after lap. How many there are is
 * told nowhere: it follows from the phases of the entries, and from those that are still blank.
 */
#include "contract/notify.h"
#include "exec/notice.h"

#define ENTRY	sizeof(struct neuron_hw_notify)
/* Entries that are read or written at a time. */
#define PIECE	128

/**
 * struct ring - the notices of a part
 * @part: whose
 * @nr: entries that the ring has room for
 * @first: the first one in @piece, which has @count
 */
struct ring {
	const struct nrt_part *part;
	uint32_t nr;
	uint32_t first;
	uint32_t count;
	struct neuron_hw_notify piece[PIECE];
};

static struct ring ring_of(const struct nrt_part *part)
{
	return (struct ring){
		.part = part,
		.nr = neuron_notify_entries(part->graph->notify_bytes),
	};
}

static uint32_t piece_at(const struct ring *ring, uint32_t index)
{
	return ring->nr - index < PIECE ? ring->nr - index : PIECE;
}

/* Entry @index, or NULL: it is blank, or cannot be read. */
static const struct neuron_hw_notify *entry_at(struct ring *ring, uint32_t index)
{
	const struct neuron_hw_notify *entry;
	struct nrt_error ignored;

	if (index < ring->first || index - ring->first >= ring->count) {
		ring->first = index;
		ring->count = piece_at(ring, index);
		if (nrt_bo_read(ring->part->arena, ring->part->notices + index * ENTRY,
				ring->piece, ring->count * ENTRY, &ignored)) {
			ring->count = 0;
			return NULL;
		}
	}
	entry = &ring->piece[index - ring->first];
	return neuron_notify_is_blank(entry) ? NULL : entry;
}

bool nrt_notices_wanted(const struct nrt_model *model)
{
	unsigned int i;

	for (i = 0; i < model->nr_parts; i++)
		if (model->parts[i].graph->notify_bytes)
			return nrt_event_wanted(NRT_EVENT_HW_NOTIFY);
	return false;
}

/*
 * Jobs that nobody listened to leave notices as well. All of them begin at the first entry, so
 * behind a blank one there are only blank ones, once the whole ring has been blank.
 */
static NRT_STATUS clear(struct nrt_part *part, struct nrt_error *error)
{
	struct ring ring = ring_of(part);
	struct neuron_hw_notify blank[PIECE];
	uint32_t i, nr;

	for (i = 0; i < PIECE; i++)
		blank[i] = neuron_notify_blank();
	for (i = 0; i < ring.nr && !(part->blank && !entry_at(&ring, i)); i += nr) {
		nr = piece_at(&ring, i);
		if (nrt_bo_write(part->arena, part->notices + i * ENTRY, blank, nr * ENTRY, error))
			return error->status;
	}
	part->blank = true;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_notices_clear(struct nrt_model *model, struct nrt_error *error)
{
	NRT_STATUS status = NRT_SUCCESS;
	unsigned int i;

	for (i = 0; i < model->nr_parts && !status; i++)
		status = clear(&model->parts[i], error);
	return status;
}

/* How many entries are there of the newest lap, which begins with the first entry? */
static uint32_t newest_lap(struct ring *ring)
{
	struct neuron_notify_search search = neuron_notify_search(ring->nr);
	const struct neuron_hw_notify *entry = entry_at(ring, 0);
	struct neuron_hw_notify first;

	if (!entry)
		return 0;
	first = *entry;
	while (neuron_notify_search_goes_on(&search)) {
		entry = entry_at(ring, neuron_notify_search_at(&search));
		neuron_notify_search_saw(&search,
					 entry && neuron_notify_same_lap(&first, entry));
	}
	return search.low + 1;
}

/* A time of the device, as one of the host. */
static uint64_t host_time(const struct drm_neuron_clock_info *clock, uint64_t time_ns)
{
	return clock->host_ns - (clock->device_ns - time_ns);
}

/* Entries @from to @to - 1, which are not blank. */
static void tell(struct ring *ring, uint32_t from, uint32_t to,
		 const struct drm_neuron_clock_info *clock, struct nrt_event event)
{
	const uint64_t now = event.begin_ns;
	const struct neuron_hw_notify *entry;
	struct neuron_notice notice;

	for (; from < to; from++) {
		entry = entry_at(ring, from);
		if (!entry)
			return;
		notice = neuron_notice_decode(entry);
		event.engine = notice.engine;
		event.pc = notice.pc;
		event.tag = notice.tag;
		/* Without a time of the device it is known when the job had ended. */
		event.begin_ns = notice.time_ns && clock->host_ns ?
					 host_time(clock, notice.time_ns) : now;
		event.end_ns = event.begin_ns;
		event.device_begin_ns = notice.time_ns;
		event.device_end_ns = notice.time_ns;
		nrt_event_tell(&event);
	}
}

void nrt_notices_tell(const struct nrt_model *model, const struct nrt_event *event)
{
	struct drm_neuron_clock_info clock = { 0 };
	struct nrt_event each = *event;
	struct nrt_error ignored;
	struct ring ring;
	uint32_t newest;
	unsigned int i;

	if (nrt_device_query(model->vcore->device, DRM_NEURON_QUERY_CLOCKS, &clock,
			     sizeof(clock), 1, &ignored))
		clock.host_ns = 0;
	for (i = 0; i < model->nr_parts; i++) {
		ring = ring_of(&model->parts[i]);
		newest = ring.nr ? newest_lap(&ring) : 0;
		each.part = i;
		/* What is behind the newest lap is of the one before. */
		if (newest && newest < ring.nr && entry_at(&ring, newest))
			tell(&ring, newest, ring.nr, &clock, each);
		tell(&ring, 0, newest, &clock, each);
	}
}
