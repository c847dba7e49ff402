// SPDX-License-Identifier: MIT
/*
 * What the functions of the contract write, byte by byte: kernels, chips and runtimes of
 * different versions read each other's memory, so an encoding never changes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "contract/job.h"
#include "contract/notify.h"
#include "contract/op.h"
#include "contract/record.h"
#include "contract/window.h"

static void bytes_of_windows(void **state)
{
	static const uint8_t list[32] = {
		0x00, 0x50, 0x60, 0, 0, 0, 0, 0x80, 0x00, 0x30, 0, 0, 0, 0, 0, 0,
		0x32, 0x01, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	};
	static const uint8_t extent[16] = {
		8, 7, 6, 5, 4, 3, 2, 1, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,
	};
	static const uint8_t link[16] = { 0, 0x70, 0, 0, 0, 0, 0, 1 };
	static const uint8_t piece[8] = { 0, 0x10, 0, 0, 0, 0, 0, 0x80 };
	struct neuron_hw_window window;
	struct neuron_hw_extent made;
	__le64 entry;

	(void)state;
	window = neuron_hw_window_list(NEURON_WINDOW_HOST, 0, 0, 0, 0x3000);
	assert_int_equal(neuron_hw_window_rights(&window), 0);
	neuron_hw_window_extents(&window, 0x8000000000605000, 3);
	neuron_hw_window_allow(&window, 0, 0);
	assert_int_equal(neuron_hw_window_rights(&window), 0);
	neuron_hw_window_allow(&window, 1, 0);
	assert_int_equal(neuron_hw_window_rights(&window), NEURON_WINDOW_READ);
	neuron_hw_window_allow(&window, 0, 1);
	assert_int_equal(neuron_hw_window_rights(&window), NEURON_WINDOW_RIGHTS);
	assert_memory_equal(&window, list, sizeof(list));
	made = neuron_hw_extent(0x0102030405060708, 0x1112131415161718);
	assert_memory_equal(&made, extent, sizeof(extent));
	made = neuron_hw_extent_link(0x0100000000007000);
	assert_memory_equal(&made, link, sizeof(link));
	entry = neuron_hw_table_piece(0x8000000000001000);
	assert_memory_equal(&entry, piece, sizeof(piece));
}

static void bytes_of_descriptors(void **state)
{
	static const uint8_t source[16] = {
		0x34, 0x12, 0, 0x0e, 3, 0, 8, 5, 0, 0x10, 0, 0, 0, 0, 5, 0x40,
	};
	static const uint8_t target[16] = { 0, 0, 0, 0x13, 0, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1 };
	static const uint8_t block[16] = { 0, 1, 0, 5, 3, 0, 0x18, 1, 0x40 };
	static const uint8_t first[16] = { 1, 0, 0, 1, 3, 0, 8, 1, 0, 2 };
	static const uint8_t last[16] = { 1, 0, 0, 9, 3, 0, 8, 1, 0, 3 };
	static const uint8_t to[16] = { 1, 0, 0, 1, 0, 0, 0, 0, 0, 4 };
	struct neuron_udma_desc desc;

	(void)state;
	desc = neuron_copy_source(0x4005000000001000, 0x1234, 2,
				  NEURON_UDMA_META_DEFAULT | NEURON_UDMA_META_WRITE_BARRIER);
	assert_memory_equal(&desc, source, sizeof(source));
	assert_int_equal(neuron_desc_bytes(&desc), 0x1234);
	assert_int_equal(neuron_desc_ring_id(&desc), 2);
	assert_false(neuron_op_is_block(&desc));
	desc = neuron_copy_target(0x0102030405060708, 65536, 3, NEURON_UDMA_DESC_INT_EN);
	assert_memory_equal(&desc, target, sizeof(target));
	assert_int_equal(neuron_desc_bytes(&desc), 65536);
	assert_int_equal(neuron_desc_ring_id(&desc), 3);
	desc = neuron_op_block(0x40, 1);
	assert_memory_equal(&desc, block, sizeof(block));
	assert_null(neuron_op_check_block(&desc));
	assert_true(neuron_op_is_block(&desc));
	desc.meta_ctrl |= neuron_to_le32(NEURON_UDMA_META_WRITE_BARRIER);
	assert_true(neuron_op_is_block(&desc));
	desc = neuron_op_source(0x200, 1, 0);
	assert_memory_equal(&desc, first, sizeof(first));
	desc = neuron_op_source(0x300, 1, 1);
	assert_memory_equal(&desc, last, sizeof(last));
	desc = neuron_op_target(0x400, 1);
	assert_memory_equal(&desc, to, sizeof(to));
	desc = neuron_op_block(0x60, 1);
	assert_string_equal(neuron_op_check_block(&desc),
			    "an operation is not 256 bytes, aligned to 64");
	desc = neuron_desc(0x40, 255, 1, NEURON_UDMA_DESC_FIRST, NEURON_UDMA_META_OP);
	assert_non_null(neuron_op_check_block(&desc));
}

static void bytes_of_a_job(void **state)
{
	uint8_t expected[256] = { 0 };
	struct neuron_hw_job job;

	(void)state;
	neuron_hw_job_begin(&job, 0, 0);
	neuron_hw_job_id(&job, 0x0102030405060708);
	neuron_hw_job_completion(&job, 0x8000000000001040);
	neuron_hw_job_pieces(&job, 0x2000, 0x201);
	neuron_hw_job_queues(&job, 0x3000, 3);
	neuron_hw_job_sem_clear(&job, 0, 0x11);
	neuron_hw_job_sem_clear(&job, 3, 1ull << 63);
	neuron_hw_job_start(&job, NEURON_ENGINE_SYNC, neuron_window_addr(1, 0x80), 7);
	neuron_hw_job_notify(&job, neuron_window_addr(2, 0), 0x400);
	neuron_hw_job_rank(&job, 0xabcd);
	neuron_hw_job_gang(&job, 5, 4, 3);
	memcpy(expected, "NJOB\1\0\2\0\x08\x07\x06\x05\x04\x03\x02\x01", 16);
	memcpy(expected + 17, "\x20\0\0\0\0\0\0\0\x30\0\0\0\0\0\0", 15);
	memcpy(expected + 32, "\x40\x10\0\0\0\0\0\x80\1\2\0\0\3", 13);
	expected[48] = 0x11;
	expected[79] = 0x80;
	memset(expected + 80, 0xff, 32);	/* sem_own */
	memcpy(expected + 176, "\x80\0\0\0\0\x80\0\x80\7", 9);
	memcpy(expected + 192, "\0\0\0\0\0\0\1\x80\0\4\0\0\xcd\xab", 14);
	memset(expected + 208, 0xff, 32);	/* event_own */
	memcpy(expected + 240, "\5\0\0\0\0\0\0\0\4\0\3", 11);
	assert_memory_equal(&job, expected, sizeof(expected));
}

static void queue_of_a_record(void **state)
{
	uint32_t engine, queue, name;

	(void)state;
	assert_int_equal(neuron_record_queue(0, 0, 0), 0);
	assert_int_equal(neuron_record_queue(1, 2, 1), 0x8012);
	assert_int_equal(neuron_record_queue(0x7ff, 15, 0), 0x7fff);
	for (engine = 0; engine < 2048; engine++) {
		for (queue = 0; queue < NEURON_UDMA_QUEUES; queue++) {
			name = neuron_record_queue(engine, queue, 0);
			assert_int_equal(name, engine << 4 | queue);
			assert_int_equal(neuron_record_queue(engine, queue, 1), name | 0x8000);
			assert_int_equal(neuron_record_queue_engine(name | 0x8000), engine);
			assert_int_equal(neuron_record_queue_index(name | 0x8000), queue);
			assert_false(neuron_record_queue_writes(name));
			assert_true(neuron_record_queue_writes(name | 0x8000));
		}
	}
}

/* --- Notifications --- */

#define STREAM	256u	/* bytes: 16 entries */

static void bytes_of_a_notice(void **state)
{
	static const uint8_t expected[16] = {
		4, 3, 2, 1, 0x56, 0x34, 0x12, 0x84, 8, 7, 6, 5, 4, 3, 2, 1,
	};
	struct neuron_notice notice = {
		.tag = 0x01020304, .engine = NEURON_ENGINE_SYNC, .pc = 0x123456, .phase = 1,
		.time_ns = 0x0102030405060708,
	}, back;
	struct neuron_hw_notify entry = neuron_notice_encode(&notice), other;
	struct neuron_hw_notify blank = neuron_notify_blank();
	uint8_t ones[16];

	(void)state;
	assert_memory_equal(&entry, expected, sizeof(expected));
	back = neuron_notice_decode(&entry);
	assert_int_equal(back.tag, notice.tag);
	assert_int_equal(back.engine, notice.engine);
	assert_int_equal(back.pc, notice.pc);
	assert_int_equal(back.phase, 1);
	assert_int_equal(back.time_ns, notice.time_ns);
	notice.phase = 0;
	other = neuron_notice_encode(&notice);
	assert_int_equal(neuron_from_le32(other.source), 0x04123456);
	assert_false(neuron_notify_same_lap(&entry, &other));
	assert_true(neuron_notify_same_lap(&entry, &entry));
	assert_false(neuron_notify_is_blank(&entry));
	assert_true(neuron_notify_is_blank(&blank));
	memset(ones, 0xff, sizeof(ones));
	assert_memory_equal(&blank, ones, sizeof(ones));
}

static void laps_of_a_stream(void **state)
{
	uint64_t n;

	(void)state;
	assert_int_equal(neuron_notify_entries(0), 0);
	assert_int_equal(neuron_notify_entries(STREAM), 16);
	for (n = 0; n < 100; n++) {
		assert_int_equal(neuron_notify_offset(n, STREAM), n % 16 * 16);
		assert_int_equal(neuron_notify_phase(n, STREAM), n / 16 % 2 ? 0 : 1);
		assert_int_equal(neuron_notify_is_lost(n, 100, STREAM), n < 84);
	}
	assert_int_equal(neuron_notify_offset(UINT32_MAX, 1u << 31), (1u << 31) - 16);
	assert_int_equal(neuron_notify_phase(UINT32_MAX, 1u << 31), 0);
}

/* A stream that was @fill before, after @count notifications. */
static void write_stream(struct neuron_hw_notify *stream, uint32_t count,
			 struct neuron_hw_notify fill)
{
	struct neuron_notice notice = { 0 };
	uint32_t n;

	for (n = 0; n < 16; n++)
		stream[n] = fill;
	for (n = 0; n < count; n++) {
		notice.tag = n;
		notice.phase = neuron_notify_phase(n, STREAM);
		stream[neuron_notify_offset(n, STREAM) / 16] = neuron_notice_encode(&notice);
	}
}

static uint32_t newest(const struct neuron_hw_notify *stream)
{
	struct neuron_notify_search search = neuron_notify_search(16);
	uint32_t at;

	while (neuron_notify_search_goes_on(&search)) {
		at = neuron_notify_search_at(&search);
		assert_in_range(at, 1, 15);
		neuron_notify_search_saw(&search,
					 neuron_notify_same_lap(stream, &stream[at]) &&
					 !neuron_notify_is_blank(&stream[at]));
	}
	return search.low;
}

static void newest_of_a_stream(void **state)
{
	struct neuron_hw_notify stream[16];
	uint32_t count;

	(void)state;
	for (count = 1; count < 100; count++) {
		write_stream(stream, count, (struct neuron_hw_notify){ 0 });
		assert_int_equal(neuron_from_le32(stream[newest(stream)].tag), count - 1);
		write_stream(stream, count, neuron_notify_blank());
		assert_int_equal(neuron_from_le32(stream[newest(stream)].tag), count - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_of_windows),
		cmocka_unit_test(bytes_of_descriptors),
		cmocka_unit_test(bytes_of_a_job),
		cmocka_unit_test(queue_of_a_record),
		cmocka_unit_test(bytes_of_a_notice),
		cmocka_unit_test(laps_of_a_stream),
		cmocka_unit_test(newest_of_a_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
