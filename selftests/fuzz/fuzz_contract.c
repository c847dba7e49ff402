// SPDX-License-Identifier: MIT
/*
 * Fuzz target: the decoders of the contract, which read what the other side wrote.
 *
 * The first byte of the input chooses the decoder, the rest is what it reads. Whatever it
 * accepts must be safe to use as its user does.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "contract/job.h"
#include "contract/notify.h"
#include "contract/op.h"
#include "contract/record.h"
#include "contract/trace.h"
#include "contract/window.h"

#define NR_ENTRIES	8
#define NR_EXTENTS	15
#define NR_NOTICES	15

/* A range that was accepted does not carry into the index of the window. */
static void assert_range(uint64_t addr, uint64_t bytes)
{
	assert(NEURON_GET(NEURON_ADDR_WINDOW_INDEX, addr) ==
	       NEURON_GET(NEURON_ADDR_WINDOW_INDEX, addr + bytes));
	assert(addr & NEURON_ADDR_WINDOW && (addr + bytes) & NEURON_ADDR_WINDOW);
}

static void judge_window(const struct neuron_hw_window *window)
{
	uint64_t length = neuron_from_le64(window->length);
	uint32_t kind = neuron_hw_window_kind(window);

	if (neuron_hw_window_check(window) || kind == NEURON_WINDOW_EMPTY)
		return;
	assert(kind <= NEURON_WINDOW_GRANT);
	if (neuron_hw_window_is_list(window))
		assert(window->nr_extents && kind != NEURON_WINDOW_SEM);
	if (kind == NEURON_WINDOW_SEM)
		assert(neuron_from_le32(window->sem_first) + length / 4 <= NEURON_NR_SEMAPHORES);
}

/*
 * A list of extents at @addr, as a chip reads it: what is taken stays in a window, and a page
 * has one link at most, to the beginning of another one.
 */
static void judge_extents(uint64_t addr, const struct neuron_hw_extent *list)
{
	uint32_t slots = neuron_hw_extent_slots(addr), i;
	struct neuron_hw_extent whole;
	uint64_t total = 0, length;

	assert(slots >= 1 && slots <= NEURON_LIST_PAGE / sizeof(*list));
	assert(slots == 1 || addr % NEURON_LIST_PAGE + slots * sizeof(*list) <= NEURON_LIST_PAGE);
	for (i = 0; i < slots && i < NR_EXTENTS; i++, addr += sizeof(*list)) {
		if (neuron_hw_extent_is_link(addr, &list[i])) {
			assert(i == slots - 1);
			if (!neuron_hw_extent_check_link(&list[i]))
				assert(neuron_hw_extent_addr(&list[i]) % NEURON_LIST_PAGE == 0);
			break;
		}
		length = neuron_hw_extent_length(&list[i]);
		if (neuron_hw_window_check_extent(total, length))
			break;
		assert(length && total + length <= NEURON_WINDOW_MAX_LENGTH);
		/* Two halves are the whole. */
		whole = neuron_hw_extent(neuron_hw_extent_addr(&list[i]), length / 2);
		assert(neuron_hw_extent_join(&whole, neuron_hw_extent_addr(&list[i]) + length / 2,
					     length - length / 2));
		assert(!memcmp(&whole, &list[i], sizeof(whole)));
		total += length;
	}
}

/* Where a trace may go there is room for its header and for what it says it has room for. */
static void judge_trace_window(const struct neuron_hw_window *window)
{
	uint64_t length = neuron_from_le64(window->length), room;
	uint32_t kind = neuron_hw_window_kind(window);

	if (neuron_hw_window_check(window) ||
	    neuron_trace_check_window(neuron_from_le32(window->flags), length))
		return;
	assert(kind == NEURON_WINDOW_HBM || kind == NEURON_WINDOW_HOST);
	assert(neuron_hw_window_rights(window) == NEURON_WINDOW_WRITE);
	room = neuron_trace_room(length);
	assert(room && room <= length / sizeof(struct neuron_hw_trace_record));
	assert(sizeof(struct neuron_hw_trace) + room * sizeof(struct neuron_hw_trace_record) <=
	       length);
}

static void judge_group(const struct neuron_hw_time_group *group)
{
	if (neuron_hw_job_check_group(group))
		return;
	assert(group->group && !group->reserved);
	assert(neuron_from_le32(group->size) <= NEURON_JOB_MAX_GROUP);
	assert(neuron_from_le32(group->index) < neuron_from_le32(group->size));
}

/* What lies behind the queue table lies behind it, and one thing behind the other. */
static void judge_behind_queues(const struct neuron_hw_job *job)
{
	uint64_t end = neuron_from_le64(job->queue_table) +
		       neuron_from_le32(job->nr_queues) * sizeof(struct neuron_hw_job_queue);
	uint64_t trace = neuron_from_le16(job->flags) & NEURON_JOB_TRACE ?
				 sizeof(struct neuron_hw_window) : 0;

	assert(neuron_hw_job_trace_window(job) == end);
	assert(neuron_hw_job_group_at(job) == end + trace);
}

static void judge_job(const struct neuron_hw_job *job)
{
	unsigned int i;

	if (neuron_hw_job_check(job, NEURON_MASK(NEURON_NR_ENGINES - 1, 0)))
		return;
	assert(neuron_from_le32(job->nr_queues) <= NEURON_JOB_MAX_QUEUES);
	for (i = 0; i < NEURON_NR_ENGINES; i++)
		if (job->start[i].count)
			assert_range(neuron_from_le64(job->start[i].addr),
				     (uint64_t)neuron_from_le32(job->start[i].count) *
					     NEURON_INST_SIZE);
	if (job->notify_size)
		assert_range(neuron_from_le64(job->notify_addr),
			     neuron_from_le32(job->notify_size));
	judge_behind_queues(job);
}

static void judge_queues(const struct neuron_hw_job_queue *entries, size_t nr)
{
	__u64 used[4] = { 0 };
	unsigned int taken = 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		if (neuron_hw_job_check_queue(&entries[i], 16, NEURON_NR_PRIORITIES, used))
			continue;
		taken++;
		assert(neuron_from_le16(entries[i].dma_engine) / 16 == 1);
		assert_range(neuron_from_le64(entries[i].m2s_ring),
			     (uint64_t)neuron_from_le32(entries[i].m2s_length) * 16);
		assert_range(neuron_from_le64(entries[i].s2m_ring),
			     (uint64_t)neuron_from_le32(entries[i].s2m_length) * 16);
	}
	for (i = 0; i < 4; i++)
		taken -= (unsigned int)__builtin_popcountll(used[i]);
	assert(!taken);
}

static void judge_settled(const struct neuron_hw_settle *hw)
{
	struct neuron_hw_settle again;
	struct neuron_settled settled;

	if (neuron_settled_decode(hw, neuron_from_le64(hw->job_id), neuron_from_le64(hw->group),
				  &settled))
		return;
	assert(settled.status != NEURON_SETTLE_NONE && settled.cause < NEURON_NR_SETTLE_CAUSES);
	again = neuron_settled_encode(&settled);
	assert(!memcmp(hw, &again, offsetof(struct neuron_hw_settle, reserved)));
}

static void judge_record(const struct neuron_hw_completion *hw)
{
	struct neuron_record record;
	struct neuron_hw_completion again;

	if (neuron_record_decode(hw, neuron_from_le64(hw->job_id), &record))
		return;
	assert(record.status != NEURON_JOB_NONE && record.cause < NEURON_NR_CAUSES);
	assert(neuron_record_queue(neuron_record_queue_engine(record.queue),
				   neuron_record_queue_index(record.queue),
				   neuron_record_queue_writes(record.queue)) == record.queue);
	again = neuron_record_encode(&record);
	assert(!memcmp(&again, hw, sizeof(again)));
}

/* Heads that a queue tells, one after the other, of a ring that is always full. */
static void judge_heads(const uint32_t *heads, size_t nr)
{
	uint32_t completed = 0, submitted = 0, done;
	size_t i;

	for (i = 0; i < nr; i++) {
		submitted = completed + 63;
		if (neuron_ring_progress(heads[i], 64, submitted, completed, &done))
			continue;
		assert(done <= submitted - completed);
		completed += done;
		assert(neuron_ring_slot(completed, 64) == heads[i]);
	}
}

/* The newest notification of a stream of any entries is one of them, and so is what it tells. */
static void judge_notices(uint32_t entries, const struct neuron_hw_notify *stream)
{
	struct neuron_notify_search search = neuron_notify_search(entries);
	struct neuron_hw_notify again;
	struct neuron_notice notice;
	uint32_t at, steps = 0;

	while (neuron_notify_search_goes_on(&search)) {
		at = neuron_notify_search_at(&search);
		assert(at && at < entries && steps++ < 4);
		neuron_notify_search_saw(&search,
					 neuron_notify_same_lap(&stream[0], &stream[at]));
	}
	assert(search.low < entries);
	/* The lap ends there, whatever the others are. */
	assert(neuron_notify_same_lap(&stream[0], &stream[search.low]));
	if (search.low + 1 < entries)
		assert(!neuron_notify_same_lap(&stream[0], &stream[search.low + 1]));
	for (at = 0; at < entries; at++) {
		notice = neuron_notice_decode(&stream[at]);
		assert(notice.engine < 8 && notice.pc < 1u << 24 && notice.phase < 2);
		again = neuron_notice_encode(&notice);
		assert(again.tag == stream[at].tag && again.time_ns == stream[at].time_ns);
		assert(!neuron_notify_is_blank(&again));
	}
}

/* Where a chip puts notification @n: in the stream, and in the lap that the phase says. */
static void judge_stream(uint64_t n, uint32_t order)
{
	uint32_t size = NEURON_JOB_NOTIFY_MIN << order % 20;

	assert(!neuron_hw_job_check_notify(neuron_window_addr(1, 0), size));
	assert(neuron_notify_offset(n, size) <= size - sizeof(struct neuron_hw_notify));
	assert(neuron_notify_offset(n + neuron_notify_entries(size), size) ==
	       neuron_notify_offset(n, size));
	assert(neuron_notify_phase(n + neuron_notify_entries(size), size) !=
	       neuron_notify_phase(n, size));
}

static void judge_descriptor(const struct neuron_udma_desc *desc)
{
	uint32_t bytes = neuron_desc_bytes(desc), id = neuron_desc_ring_id(desc);

	assert(bytes && bytes <= NEURON_UDMA_DESC_MAX_BYTES && id < NEURON_UDMA_RING_IDS);
	assert(neuron_desc_control(id, bytes, 0) ==
	       (neuron_from_le32(desc->len_ctrl) &
		(NEURON_UDMA_DESC_LEN | NEURON_UDMA_DESC_RING_ID)));
	if (neuron_op_is_block(desc) && !neuron_op_check_block(desc))
		assert(bytes == sizeof(struct neuron_udma_op));
}

/* What a reader of a trace takes lies inside of it. */
static void judge_trace(const uint8_t *input, size_t size)
{
	struct neuron_hw_trace_record record;
	struct neuron_trace_event event;
	struct neuron_hw_trace trace;
	uint64_t i, records;
	size_t at;

	memcpy(&trace, input, sizeof(trace));
	trace.magic = neuron_to_le32(NEURON_TRACE_MAGIC);
	trace.version = neuron_to_le16(NEURON_TRACE_VERSION);
	if (neuron_trace_check(&trace, size))
		return;
	records = neuron_from_le64(trace.records);
	for (i = 0; i < records; i++) {
		at = sizeof(trace) + i * neuron_from_le16(trace.record_size);
		assert(at <= size - sizeof(record));
		memcpy(&record, input + at, sizeof(record));
		if (neuron_trace_decode(&record, &event))
			continue;
		assert(event.begin_ns <= event.end_ns && event.kind < NEURON_NR_TRACE_KINDS);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	union {
		struct neuron_hw_window window;
		struct neuron_hw_job job;
		struct neuron_hw_job_queue queues[NR_ENTRIES];
		struct neuron_hw_completion record;
		struct neuron_hw_settle settle;
		struct neuron_hw_time_group group;
		struct {
			uint64_t addr;
			uint64_t unused;
			struct neuron_hw_extent extents[NR_EXTENTS];
		} list;
		struct {
			uint64_t n;
			uint32_t order;
			uint32_t entries;
			struct neuron_hw_notify stream[NR_NOTICES];
		} notices;
		struct neuron_udma_desc desc;
		uint32_t heads[NR_ENTRIES * 8];
		uint8_t bytes[256];
	} input;

	memset(&input, 0, sizeof(input));
	if (!size)
		return 0;
	memcpy(&input, data + 1, size - 1 < sizeof(input) ? size - 1 : sizeof(input));
	switch (data[0] % 12) {
	case 0:
		judge_window(&input.window);
		break;
	case 1:
		/* What a fuzzer would take long to find. */
		input.job.magic = neuron_to_le32(NEURON_JOB_MAGIC);
		input.job.version = neuron_to_le16(NEURON_JOB_VERSION);
		judge_job(&input.job);
		break;
	case 2:
		judge_queues(input.queues, NR_ENTRIES);
		break;
	case 3:
		judge_record(&input.record);
		break;
	case 4:
		judge_trace(input.bytes, sizeof(input.bytes));
		break;
	case 5:
		judge_settled(&input.settle);
		break;
	case 6:
		judge_extents(input.list.addr, input.list.extents);
		break;
	case 7:
		judge_group(&input.group);
		break;
	case 8:
		/* The rules of all windows have a case of their own. */
		input.window.flags &= neuron_to_le32(NEURON_WINDOW_RIGHTS | NEURON_WINDOW_LIST |
						     NEURON_BIT(1) | NEURON_BIT(0));
		input.window.generation = 0;
		input.window.sem_first = 0;
		judge_trace_window(&input.window);
		break;
	case 9:
		judge_notices(input.notices.entries % NR_NOTICES + 1, input.notices.stream);
		judge_stream(input.notices.n, input.notices.order);
		break;
	case 10:
		judge_descriptor(&input.desc);
		break;
	default:
		judge_heads(input.heads, sizeof(input.heads) / sizeof(input.heads[0]));
		break;
	}
	return 0;
}
