// SPDX-License-Identifier: MIT
/*
 * The rules that kernel, chip and runtime share: what is written well is accepted, every
 * rule that is broken is named, and what a hostile side says is not believed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "contract/job.h"
#include "contract/record.h"
#include "contract/ring.h"
#include "contract/trace.h"
#include "contract/window.h"

#define ALL_ENGINES	NEURON_MASK(NEURON_NR_ENGINES - 1, 0)
#define RIGHTS		NEURON_WINDOW_RIGHTS
#define RING		64u

static void assert_why(const char *why, const char *expected)
{
	assert_non_null(why);
	assert_string_equal(why, expected);
}

/* --- Windows --- */

static void window_well_written(void **state)
{
	struct neuron_hw_window window;

	(void)state;
	window = neuron_hw_window_memory(NEURON_WINDOW_HBM, RIGHTS, 0x1000, 0x2000);
	assert_null(neuron_hw_window_check(&window));
	assert_int_equal(neuron_hw_window_kind(&window), NEURON_WINDOW_HBM);
	assert_false(neuron_hw_window_is_list(&window));

	window = neuron_hw_window_list(NEURON_WINDOW_HOST, NEURON_WINDOW_READ, 0x4000, 3, 0x3000);
	assert_null(neuron_hw_window_check(&window));
	assert_true(neuron_hw_window_is_list(&window));

	window = neuron_hw_window_sems(NEURON_WINDOW_WRITE, 0x8000, 250, 6, 7);
	assert_null(neuron_hw_window_check(&window));
	assert_int_equal(neuron_from_le64(window.length), 24);

	window = neuron_hw_window_grant(NEURON_WINDOW_READ, 0x8000, 64, 7);
	assert_null(neuron_hw_window_check(&window));

	window = neuron_hw_window_memory(NEURON_WINDOW_STREAM, 0, 0x1000, 64);
	assert_null(neuron_hw_window_check(&window));

	/* An empty one shows nothing, so the rest does not matter. */
	window = (struct neuron_hw_window){ .base = neuron_to_le64(3) };
	assert_null(neuron_hw_window_check(&window));
}

static void window_rules(void **state)
{
	const struct neuron_hw_window hbm =
		neuron_hw_window_memory(NEURON_WINDOW_HBM, RIGHTS, 0x1000, 0x2000);
	const struct neuron_hw_window list =
		neuron_hw_window_list(NEURON_WINDOW_HBM, RIGHTS, 0x1000, 2, 0x2000);
	const struct neuron_hw_window sems = neuron_hw_window_sems(RIGHTS, 0, 0, 256, 1);
	struct neuron_hw_window window;

	(void)state;
	window = hbm;
	window.flags |= neuron_to_le32(NEURON_BIT(31));
	assert_why(neuron_hw_window_check(&window), "reserved flags are set");
	window.flags = neuron_to_le32(NEURON_WINDOW_GRANT + 1);
	assert_why(neuron_hw_window_check(&window), "unknown kind");

	window = hbm;
	window.base = neuron_to_le64(0x1002);
	assert_why(neuron_hw_window_check(&window), "its base is not 4-byte aligned");
	window = hbm;
	window.nr_extents = neuron_to_le32(1);
	assert_why(neuron_hw_window_check(&window), "extents without LIST");
	window = hbm;
	window.generation = neuron_to_le32(1);
	assert_why(neuron_hw_window_check(&window), "semaphore fields are set");
	window = hbm;
	window.sem_first = neuron_to_le32(1);
	assert_why(neuron_hw_window_check(&window), "semaphore fields are set");

	window = list;
	window.nr_extents = 0;
	assert_why(neuron_hw_window_check(&window), "the extent list is empty");
	window.nr_extents = neuron_to_le32(NEURON_MAX_EXTENTS + 1);
	assert_why(neuron_hw_window_check(&window), "too many extents");

	window = sems;
	window.flags |= neuron_to_le32(NEURON_WINDOW_LIST);
	assert_why(neuron_hw_window_check(&window), "a semaphore window cannot be a list");
	window = sems;
	window.sem_first = neuron_to_le32(1);
	assert_why(neuron_hw_window_check(&window), "its semaphores do not exist");
	window = sems;
	window.length = neuron_to_le64(2);
	assert_why(neuron_hw_window_check(&window), "its semaphores do not exist");
	window.length = neuron_to_le64(1ull << 40);
	assert_why(neuron_hw_window_check(&window), "its semaphores do not exist");

	window = neuron_hw_window_grant(RIGHTS, 0, 64, 1);
	window.flags |= neuron_to_le32(NEURON_WINDOW_LIST);
	assert_why(neuron_hw_window_check(&window), "a granted window cannot be a list");
	window = neuron_hw_window_memory(NEURON_WINDOW_STREAM, NEURON_WINDOW_READ, 0, 64);
	assert_why(neuron_hw_window_check(&window), "a stream window has no rights");
}

static void extents_stay_in_a_window(void **state)
{
	(void)state;
	assert_null(neuron_hw_window_check_extent(0, 4));
	assert_null(neuron_hw_window_check_extent(4, NEURON_WINDOW_MAX_LENGTH - 4));
	assert_non_null(neuron_hw_window_check_extent(4, 0));
	assert_non_null(neuron_hw_window_check_extent(4, NEURON_WINDOW_MAX_LENGTH - 3));
	assert_non_null(neuron_hw_window_check_extent(4, UINT64_MAX));
	assert_non_null(neuron_hw_window_check_extent(NEURON_WINDOW_MAX_LENGTH, 1));
	assert_non_null(neuron_hw_window_check_extent(UINT64_MAX, 1));
}

static void extents_join(void **state)
{
	struct neuron_hw_extent extent = neuron_hw_extent(0x1000, 0x200);

	(void)state;
	assert_false(neuron_hw_extent_join(&extent, 0x1000, 0x100));
	assert_false(neuron_hw_extent_join(&extent, 0xf00, 0x100));
	assert_int_equal(neuron_hw_extent_length(&extent), 0x200);
	assert_true(neuron_hw_extent_join(&extent, 0x1200, 0x100));
	assert_int_equal(neuron_hw_extent_addr(&extent), 0x1000);
	assert_int_equal(neuron_hw_extent_length(&extent), 0x300);
}

/* --- Rings --- */

static void ring_rules(void **state)
{
	const uint64_t base = neuron_window_addr(3, 0x100);
	const uint64_t end = NEURON_ADDR_WINDOW_OFFSET + 1;

	(void)state;
	assert_null(neuron_ring_check(base, 32));
	assert_null(neuron_ring_check(base, NEURON_UDMA_RING_MAX));
	assert_non_null(neuron_ring_check(base, 0));
	assert_non_null(neuron_ring_check(base, 16));
	assert_non_null(neuron_ring_check(base, 33));
	assert_non_null(neuron_ring_check(base, NEURON_UDMA_RING_MAX + 16));
	assert_non_null(neuron_ring_check(base + 16, 32));
	/* A plain address is no window's, whatever the ring. */
	assert_non_null(neuron_ring_check(0x100, 32));
	/* The last ring that fits ends one descriptor before the end. */
	assert_null(neuron_ring_check(neuron_window_addr(3, end - 1024), 32));
	assert_non_null(neuron_ring_check(neuron_window_addr(3, end - 512), 32));
}

static void ring_lengths(void **state)
{
	uint32_t descs, length;

	(void)state;
	for (descs = 0; descs < 4 * NEURON_UDMA_RING_MIN; descs++) {
		length = neuron_ring_length(descs);
		assert_null(neuron_ring_check_length(length));
		assert_true(length >= descs);
		assert_true(length == NEURON_UDMA_RING_MIN || length - descs < 16);
	}
	assert_int_equal(neuron_ring_length(NEURON_UDMA_RING_MAX), NEURON_UDMA_RING_MAX);
}

static void ring_positions(void **state)
{
	uint32_t position;

	(void)state;
	assert_int_equal(neuron_ring_slot(0, RING), 0);
	assert_int_equal(neuron_ring_slot(RING + 5, RING), 5);
	for (position = 0; position < 8 * RING; position++) {
		struct neuron_udma_desc source, target;
		uint32_t id = neuron_ring_id(position, RING);

		source = neuron_copy_source(1, 65536, id, NEURON_UDMA_META_DEFAULT);
		target = neuron_copy_target(2, 1, id, NEURON_UDMA_DESC_INT_EN);
		assert_int_equal(NEURON_GET(NEURON_UDMA_DESC_RING_ID,
					    neuron_from_le32(source.len_ctrl)),
				 (1 + position / RING) % 4);
		/* Who counts laps and who divides come to the same. */
		assert_int_equal(neuron_ring_id(position + RING, RING), neuron_ring_id_next(id));
		/* 64 KiB is written as 0. */
		assert_int_equal(neuron_from_le32(source.len_ctrl) & NEURON_UDMA_DESC_LEN, 0);
		assert_int_equal(neuron_from_le32(target.len_ctrl) & NEURON_UDMA_DESC_LEN, 1);
		assert_true(neuron_from_le32(target.len_ctrl) & NEURON_UDMA_DESC_INT_EN);
	}
}

/* What the ring holds is all that a queue can have done. */
static void ring_progress_is_bounded(void **state)
{
	static const uint32_t starts[] = { 0, 7, RING - 1, 12345, UINT32_MAX - 3 };
	uint32_t i, given, head, done;

	(void)state;
	for (i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		uint32_t completed = starts[i];

		for (given = 0; given < RING; given++) {
			for (head = 0; head < 2 * RING; head++) {
				const char *why;

				done = UINT32_MAX;
				why = neuron_ring_progress(head, RING, completed + given,
							   completed, &done);
				assert_int_equal(!why, done != UINT32_MAX);
				if (why)
					continue;
				assert_true(done <= given && head < RING);
				assert_int_equal(neuron_ring_slot(completed + done, RING), head);
			}
			/* The truth is believed. */
			head = neuron_ring_slot(completed + given, RING);
			assert_null(neuron_ring_progress(head, RING, completed + given, completed,
							 &done));
			assert_int_equal(done, given);
		}
	}
	assert_non_null(neuron_ring_progress(UINT32_MAX, RING, 5, 0, &done));
}

/* --- Job blocks --- */

static struct neuron_hw_job good_job(void)
{
	struct neuron_hw_job job;

	neuron_hw_job_begin(&job, 42, 0x1000);
	neuron_hw_job_windows(&job, 0x2000, 3);
	neuron_hw_job_queues(&job, 0x3000, 2);
	neuron_hw_job_start(&job, NEURON_ENGINE_SYNC, neuron_window_addr(0, 0), 10);
	neuron_hw_job_notify(&job, neuron_window_addr(1, 0), 128);
	return job;
}

static void job_well_written(void **state)
{
	struct neuron_hw_job job = good_job();

	(void)state;
	assert_null(neuron_hw_job_check(&job, ALL_ENGINES));
	assert_int_equal(neuron_from_le64(job.job_id), 42);
	assert_int_equal(neuron_from_le64(job.sem_own[3]), ~0ull);
	assert_int_equal(neuron_from_le64(job.event_own[0]), ~0ull);
	assert_int_equal(job.sem_clear[0], 0);
	/* Nothing but zeroes where nothing is. */
	neuron_hw_job_queues(&job, 0x3000, 0);
	assert_int_equal(job.queue_table, 0);
	neuron_hw_job_start(&job, NEURON_ENGINE_SYNC, 5, 0);
	assert_int_equal(job.start[NEURON_ENGINE_SYNC].addr, 0);
	assert_null(neuron_hw_job_check(&job, 0));
}

static void engines_of_a_core(void **state)
{
	(void)state;
	assert_int_equal(neuron_hw_job_engines(0), 0x1f);
	assert_int_equal(neuron_hw_job_engines(1), 0x10);
	assert_null(neuron_hw_job_check_engine(0x1f, NEURON_ENGINE_TENSOR, 1));
	assert_null(neuron_hw_job_check_engine(0x10, NEURON_ENGINE_SYNC, 1));
	assert_null(neuron_hw_job_check_engine(0x10, NEURON_ENGINE_GPSIMD, 0));
	assert_why(neuron_hw_job_check_engine(0x10, NEURON_ENGINE_GPSIMD, 1),
		   "a CC-core has no engine but sync");
}

static void job_rules(void **state)
{
	struct neuron_hw_job job;

	(void)state;
	job = good_job();
	job.magic = 0;
	assert_why(neuron_hw_job_check(&job, ALL_ENGINES), "no magic number");
	job = good_job();
	job.version = neuron_to_le16(NEURON_JOB_VERSION + 1);
	assert_why(neuron_hw_job_check(&job, ALL_ENGINES), "unknown version");
	job = good_job();
	job.flags = neuron_to_le16(8);
	assert_why(neuron_hw_job_check(&job, ALL_ENGINES), "unknown flags");
	job = good_job();
	job.reserved1 = neuron_to_le32(1);
	assert_why(neuron_hw_job_check(&job, ALL_ENGINES), "a reserved field is set");
	job = good_job();
	job.start[0].reserved = neuron_to_le32(1);
	assert_why(neuron_hw_job_check(&job, ALL_ENGINES), "a reserved field is set");
	job = good_job();
	job.nr_windows = neuron_to_le32(NEURON_MAX_WINDOWS + 1);
	assert_why(neuron_hw_job_check(&job, ALL_ENGINES), "too many windows");
	job = good_job();
	job.nr_queues = neuron_to_le32(NEURON_JOB_MAX_QUEUES + 1);
	assert_why(neuron_hw_job_check(&job, ALL_ENGINES), "too many queues");
	job = good_job();
	job.start[0].addr = neuron_to_le64(neuron_window_addr(0, 0));
	assert_why(neuron_hw_job_check(&job, ALL_ENGINES),
		   "an engine has an address but no instructions");
	job = good_job();
	neuron_hw_job_start(&job, NEURON_ENGINE_TENSOR, 0x1000, 1);
	assert_why(neuron_hw_job_check(&job, ALL_ENGINES),
		   "an engine's image has no window address");
	neuron_hw_job_start(&job, NEURON_ENGINE_TENSOR,
			    neuron_window_addr(0, NEURON_ADDR_WINDOW_OFFSET - 127), 1);
	assert_non_null(neuron_hw_job_check(&job, ALL_ENGINES));
	neuron_hw_job_start(&job, NEURON_ENGINE_TENSOR, neuron_window_addr(0, 0), 1);
	assert_why(neuron_hw_job_check(&job, NEURON_BIT(NEURON_ENGINE_SYNC)),
		   "a CC-core has no engine but sync");
}

static void gang_rules(void **state)
{
	struct neuron_hw_job job = good_job();

	(void)state;
	assert_int_equal(job.gang, 0);
	neuron_hw_job_gang(&job, 1ull << 40, 3, 2);
	assert_null(neuron_hw_job_check(&job, ALL_ENGINES));
	assert_int_equal(neuron_from_le64(job.gang), 1ull << 40);
	job.gang = 0;
	assert_why(neuron_hw_job_check(&job, ALL_ENGINES), "a gang's member without a gang");
	assert_null(neuron_hw_job_check_gang(0, 0, 0));
	assert_null(neuron_hw_job_check_gang(1, 2, 0));
	assert_null(neuron_hw_job_check_gang(1, NEURON_JOB_MAX_GANG,
					     NEURON_JOB_MAX_GANG - 1));
	assert_non_null(neuron_hw_job_check_gang(0, 0, 1));
	assert_why(neuron_hw_job_check_gang(1, 1, 0), "a gang has 2 to 32 members");
	assert_non_null(neuron_hw_job_check_gang(1, NEURON_JOB_MAX_GANG + 1, 0));
	assert_why(neuron_hw_job_check_gang(1, 2, 2), "a gang has no such member");
}

static void time_group_rules(void **state)
{
	struct neuron_hw_job job = good_job();
	struct neuron_hw_time_group group = {
		.group = neuron_to_le64(1ull << 40),
		.size = neuron_to_le32(NEURON_JOB_MAX_GROUP),
		.index = neuron_to_le32(NEURON_JOB_MAX_GROUP - 1),
	};

	(void)state;
	neuron_hw_job_queues(&job, 0x1000, 2);
	neuron_hw_job_group(&job, 0x1000);
	assert_null(neuron_hw_job_check(&job, ALL_ENGINES));
	assert_int_equal(neuron_hw_job_group_at(&job), 0x1040);
	neuron_hw_job_trace(&job, 0x1000);
	assert_int_equal(neuron_hw_job_group_at(&job), 0x1060);
	assert_null(neuron_hw_job_check_group(&group));
	group.size = neuron_to_le32(2);
	assert_why(neuron_hw_job_check_group(&group), "a time group has no such member");
	group.size = neuron_to_le32(NEURON_JOB_MAX_GROUP + 1);
	assert_why(neuron_hw_job_check_group(&group), "a time group has 1 to 4096 members");
	group.size = 0;
	assert_non_null(neuron_hw_job_check_group(&group));
	group.reserved = neuron_to_le64(1);
	assert_why(neuron_hw_job_check_group(&group), "a reserved field of a time group is set");
	group.group = 0;
	assert_why(neuron_hw_job_check_group(&group), "a time group has no number");
}

static void settle_records(void **state)
{
	const struct neuron_settled settled = {
		.job_id = 5, .group = 6, .start_ns = 7, .end_ns = 8,
		.status = NEURON_SETTLE_INEXACT, .cause = NEURON_SETTLE_MEMBER,
	};
	struct neuron_hw_settle hw = neuron_settled_encode(&settled);
	struct neuron_settled back;

	(void)state;
	assert_null(neuron_settled_decode(&hw, 5, 6, &back));
	assert_memory_equal(&back, &settled, offsetof(struct neuron_settled, cause) + 2);
	assert_why(neuron_settled_decode(&hw, 4, 6, &back), "a settle record of another job");
	assert_why(neuron_settled_decode(&hw, 5, 7, &back), "a settle record of another job");
	hw.cause = neuron_to_le16(NEURON_NR_SETTLE_CAUSES);
	assert_why(neuron_settled_decode(&hw, 5, 6, &back), "unknown cause of a settle record");
	hw.status = 0;
	assert_why(neuron_settled_decode(&hw, 5, 6, &back), "unknown status of a settle record");
}

static void tables_in_pieces(void **state)
{
	struct neuron_hw_job job = good_job();

	(void)state;
	neuron_hw_job_trace(&job, 0x3000);
	neuron_hw_job_pieces(&job, 0x5000, NEURON_MAX_WINDOWS);
	assert_null(neuron_hw_job_check(&job, ALL_ENGINES));
	assert_int_equal(neuron_from_le16(job.flags), NEURON_JOB_TRACE | NEURON_JOB_PIECES);
	assert_int_equal(neuron_from_le64(job.window_table), 0x5000);
	assert_int_equal(NEURON_TABLE_PIECES(0), 0);
	assert_int_equal(NEURON_TABLE_PIECES(NEURON_TABLE_PIECE), 1);
	assert_int_equal(NEURON_TABLE_PIECES(NEURON_TABLE_PIECE + 1), 2);
	assert_int_equal(NEURON_TABLE_PIECES(NEURON_MAX_WINDOWS), 512);
}

static void lists_in_pages(void **state)
{
	const uint64_t last = NEURON_LIST_PAGE - sizeof(struct neuron_hw_extent);
	struct neuron_hw_extent link = neuron_hw_extent_link(0x7000);

	(void)state;
	assert_int_equal(neuron_hw_extent_slots(0x5000), 256);
	assert_int_equal(neuron_hw_extent_slots(0x5010), 255);
	assert_int_equal(neuron_hw_extent_slots(0x5000 + last), 1);
	assert_int_equal(neuron_hw_extent_slots(0x5ff8), 1);
	assert_true(neuron_hw_extent_is_link(0x5000 + last, &link));
	assert_false(neuron_hw_extent_is_link(0x5000, &link));
	assert_null(neuron_hw_extent_check_link(&link));
	link.addr = neuron_to_le64(0x7010);
	assert_why(neuron_hw_extent_check_link(&link),
		   "a list goes on in the middle of a page");
	link.length = neuron_to_le64(4);
	assert_false(neuron_hw_extent_is_link(0x5000 + last, &link));
}

/* The window of the trace is behind the queues, also if there are none. */
static void trace_of_a_job(void **state)
{
	struct neuron_hw_job job = good_job();

	(void)state;
	neuron_hw_job_trace(&job, 0x3000);
	assert_null(neuron_hw_job_check(&job, ALL_ENGINES));
	assert_int_equal(neuron_hw_job_trace_window(&job), 0x3040);
	neuron_hw_job_queues(&job, 0x3000, 0);
	neuron_hw_job_trace(&job, 0x3000);
	assert_null(neuron_hw_job_check(&job, ALL_ENGINES));
	assert_int_equal(neuron_hw_job_trace_window(&job), 0x3000);
}

static void notify_rules(void **state)
{
	const uint64_t addr = neuron_window_addr(5, 0);

	(void)state;
	assert_null(neuron_hw_job_check_notify(0, 0));
	assert_null(neuron_hw_job_check_notify(addr, 64));
	assert_non_null(neuron_hw_job_check_notify(addr, 0));
	assert_non_null(neuron_hw_job_check_notify(addr, 32));
	assert_non_null(neuron_hw_job_check_notify(addr, 96));
	assert_non_null(neuron_hw_job_check_notify(0x1000, 64));
	assert_non_null(neuron_hw_job_check_notify(addr | NEURON_ADDR_WINDOW_OFFSET, 64));
}

static struct neuron_hw_job_queue good_queue(uint16_t engine, uint16_t queue)
{
	return (struct neuron_hw_job_queue){
		.m2s_ring = neuron_to_le64(neuron_window_addr(1, 0)),
		.s2m_ring = neuron_to_le64(neuron_window_addr(1, 0x1000)),
		.m2s_length = neuron_to_le32(64),
		.s2m_length = neuron_to_le32(64),
		.dma_engine = neuron_to_le16(engine),
		.queue = neuron_to_le16(queue),
	};
}

static void queue_rules(void **state)
{
	struct neuron_hw_job_queue entry = good_queue(32, 5);
	__u64 used[4] = { 0 };

	(void)state;
	assert_null(neuron_hw_job_check_queue(&entry, 32, 4, used));
	assert_why(neuron_hw_job_check_queue(&entry, 32, 4, used), "a queue is listed twice");
	entry = good_queue(47, 15);
	assert_null(neuron_hw_job_check_queue(&entry, 32, 4, used));
	entry = good_queue(48, 0);
	assert_why(neuron_hw_job_check_queue(&entry, 32, 4, used),
		   "a queue is not one of this core's");
	entry = good_queue(31, 0);
	assert_non_null(neuron_hw_job_check_queue(&entry, 32, 4, used));
	entry = good_queue(32, 16);
	assert_non_null(neuron_hw_job_check_queue(&entry, 32, 4, used));
	entry = good_queue(32, 6);
	entry.flags = neuron_to_le32(2);
	assert_why(neuron_hw_job_check_queue(&entry, 32, 4, used), "a queue has unknown flags");
	/* Priorities, where there are any. */
	entry = good_queue(32, 8);
	entry.flags = neuron_to_le32(NEURON_PUT(NEURON_JOB_QUEUE_PRIORITY, 1));
	assert_why(neuron_hw_job_check_queue(&entry, 32, 1, used),
		   "a queue has a priority, which only NeuronCore-v4 knows");
	assert_null(neuron_hw_job_check_queue(&entry, 32, 4, used));
	entry = good_queue(32, 9);
	entry.flags = neuron_to_le32(NEURON_JOB_QUEUE_PRIORITY);
	assert_null(neuron_hw_job_check_queue(&entry, 32, 4, used));
	/* One that is refused is not taken. */
	entry = good_queue(32, 7);
	entry.s2m_length = neuron_to_le32(31);
	assert_non_null(neuron_hw_job_check_queue(&entry, 32, 4, used));
	entry = good_queue(32, 7);
	assert_null(neuron_hw_job_check_queue(&entry, 32, 4, used));
}

/* --- Records --- */

static void record_round_trip(void **state)
{
	const struct neuron_record record = {
		.job_id = 1ull << 40 | 3,
		.status = NEURON_JOB_ERROR,
		.cause = NEURON_CAUSE_WINDOW,
		.source = NEURON_SOURCE_DMA,
		.queue = 0x8012,
		.pc = 77,
		.addr = ~0ull,
		.start_ns = 5,
		.end_ns = 6,
		.instructions = 7,
		.dma_bytes = 8,
		.flags = NEURON_COMPLETION_INEXACT,
	};
	struct neuron_hw_completion hw = neuron_record_encode(&record), again;
	struct neuron_record back;

	(void)state;
	assert_null(neuron_record_decode(&hw, record.job_id, &back));
	assert_int_equal(back.pc, 77);
	assert_int_equal(back.flags, NEURON_COMPLETION_INEXACT);
	again = neuron_record_encode(&back);
	assert_memory_equal(&again, &hw, sizeof(hw));
	assert_why(neuron_record_decode(&hw, 3, &back), "a record of another job");
	back = neuron_record_aborted(9);
	assert_null(neuron_record_check(&back, 9));
}

static void record_rules(void **state)
{
	struct neuron_record record = neuron_record_aborted(1);

	(void)state;
	record.status = NEURON_JOB_NONE;
	assert_why(neuron_record_check(&record, 1), "unknown status");
	record.status = NEURON_JOB_ABORTED + 1;
	assert_why(neuron_record_check(&record, 1), "unknown status");
	record = neuron_record_aborted(1);
	record.cause = NEURON_NR_CAUSES;
	assert_why(neuron_record_check(&record, 1), "unknown cause");
	record = neuron_record_aborted(1);
	record.source = NEURON_NR_ENGINES;
	assert_why(neuron_record_check(&record, 1), "unknown source");
}

/* --- Traces --- */

#define TRACE_LEAST	(sizeof(struct neuron_hw_trace) + sizeof(struct neuron_hw_trace_record))

static void trace_windows(void **state)
{
	(void)state;
	assert_null(neuron_trace_check_window(NEURON_WINDOW_HBM | NEURON_WINDOW_WRITE,
					      TRACE_LEAST));
	assert_null(neuron_trace_check_window(NEURON_WINDOW_HOST | NEURON_WINDOW_WRITE |
					      NEURON_WINDOW_LIST, 1 << 20));
	assert_int_equal(neuron_trace_room(TRACE_LEAST), 1);
	assert_int_equal(neuron_trace_room(TRACE_LEAST + 39), 1);
	assert_int_equal(neuron_trace_room(TRACE_LEAST + 40), 2);
	assert_why(neuron_trace_check_window(NEURON_WINDOW_PEER | NEURON_WINDOW_WRITE, 1 << 20),
		   "a trace goes to HBM of the chip or to host memory");
	assert_why(neuron_trace_check_window(NEURON_WINDOW_HBM | NEURON_WINDOW_RIGHTS, 1 << 20),
		   "the window of a trace is for writing");
	assert_non_null(neuron_trace_check_window(NEURON_WINDOW_HBM, 1 << 20));
	assert_why(neuron_trace_check_window(NEURON_WINDOW_HBM | NEURON_WINDOW_WRITE,
					     TRACE_LEAST - 1),
		   "a trace has room for no record");
}

static void trace_headers(void **state)
{
	struct neuron_hw_trace trace = neuron_trace_header(42, 2, 3);
	const uint64_t length = TRACE_LEAST + 40;

	(void)state;
	assert_null(neuron_trace_check(&trace, length));
	assert_int_equal(neuron_from_le64(trace.job_id), 42);
	assert_int_equal(neuron_from_le64(trace.lost), 3);
	assert_why(neuron_trace_check(&trace, length - 1), "more records than fit");
	trace.records = neuron_to_le64(UINT64_MAX);
	assert_why(neuron_trace_check(&trace, length), "more records than fit");
	trace = neuron_trace_header(42, 0, 0);
	assert_null(neuron_trace_check(&trace, sizeof(trace)));
	assert_non_null(neuron_trace_check(&trace, sizeof(trace) - 1));
	trace.record_size = neuron_to_le16(48);	/* records that have grown */
	assert_null(neuron_trace_check(&trace, length));
	trace.record_size = 0;
	assert_why(neuron_trace_check(&trace, length), "records of an unknown size");
	trace.record_size = neuron_to_le16(44);
	assert_non_null(neuron_trace_check(&trace, length));
	trace = neuron_trace_header(42, 0, 0);
	trace.version = neuron_to_le16(2);
	assert_why(neuron_trace_check(&trace, length), "unknown version");
	trace.magic = 0;
	assert_why(neuron_trace_check(&trace, length), "no trace");
}

static void trace_records(void **state)
{
	const struct neuron_trace_event event = {
		.begin_ns = 1ull << 40, .end_ns = 1ull << 41, .bytes = 5, .code = 6, .pc = 7,
		.kind = NEURON_TRACE_TRANSFER, .source = 0x812, .flags = NEURON_TRACE_INEXACT,
	};
	struct neuron_hw_trace_record record = neuron_trace_encode(&event);
	struct neuron_trace_event read;

	(void)state;
	assert_null(neuron_trace_decode(&record, &read));
	assert_int_equal(read.begin_ns, event.begin_ns);
	assert_int_equal(read.end_ns, event.end_ns);
	assert_int_equal(read.bytes, event.bytes);
	assert_int_equal(read.code, event.code);
	assert_int_equal(read.pc, event.pc);
	assert_int_equal(read.kind, event.kind);
	assert_int_equal(read.source, event.source);
	record.end_ns = 0;
	assert_why(neuron_trace_decode(&record, &read), "a record that ends before it begins");
	record = neuron_trace_encode(&event);
	record.kind = neuron_to_le16(NEURON_TRACE_INSTRUCTION);
	assert_why(neuron_trace_decode(&record, &read), "a record of an unknown engine");
	record.source = neuron_to_le16(NEURON_NR_ENGINES - 1);
	assert_null(neuron_trace_decode(&record, &read));
	record.kind = 0;
	assert_why(neuron_trace_decode(&record, &read), "a record of an unknown kind");
	record.kind = neuron_to_le16(NEURON_NR_TRACE_KINDS);
	assert_non_null(neuron_trace_decode(&record, &read));
}

static void cause_of_a_device_that_is_gone(void **state)
{
	(void)state;
	assert_int_equal(neuron_cause_pending(0), 0);
	assert_int_equal(neuron_cause_pending(5), 5);
	assert_int_equal(neuron_cause_pending(UINT32_MAX), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(window_well_written),
		cmocka_unit_test(window_rules),
		cmocka_unit_test(extents_stay_in_a_window),
		cmocka_unit_test(extents_join),
		cmocka_unit_test(ring_rules),
		cmocka_unit_test(ring_lengths),
		cmocka_unit_test(ring_positions),
		cmocka_unit_test(ring_progress_is_bounded),
		cmocka_unit_test(job_well_written),
		cmocka_unit_test(engines_of_a_core),
		cmocka_unit_test(job_rules),
		cmocka_unit_test(gang_rules),
		cmocka_unit_test(time_group_rules),
		cmocka_unit_test(settle_records),
		cmocka_unit_test(tables_in_pieces),
		cmocka_unit_test(lists_in_pages),
		cmocka_unit_test(trace_of_a_job),
		cmocka_unit_test(notify_rules),
		cmocka_unit_test(queue_rules),
		cmocka_unit_test(record_round_trip),
		cmocka_unit_test(record_rules),
		cmocka_unit_test(trace_windows),
		cmocka_unit_test(trace_headers),
		cmocka_unit_test(trace_records),
		cmocka_unit_test(cause_of_a_device_that_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
