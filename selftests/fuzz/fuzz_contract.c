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
#include "contract/record.h"
#include "contract/trace.h"
#include "contract/window.h"

#define NR_ENTRIES	8

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
		uint32_t heads[NR_ENTRIES * 8];
		uint8_t bytes[256];
	} input;

	memset(&input, 0, sizeof(input));
	if (!size)
		return 0;
	memcpy(&input, data + 1, size - 1 < sizeof(input) ? size - 1 : sizeof(input));
	switch (data[0] % 7) {
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
	case 5:
		judge_settled(&input.settle);
		break;
	case 4:
		judge_trace(input.bytes, sizeof(input.bytes));
		break;
	default:
		judge_heads(input.heads, sizeof(input.heads) / sizeof(input.heads[0]));
		break;
	}
	return 0;
}
