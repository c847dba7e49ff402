// SPDX-License-Identifier: MIT
/*
 * Large moves of a DMA engine, beside memmove: each length around the least large
 * one, each alignment of both sides, ranges that overlap; what lies around the
 * destination stays.
 */
#include "fake_port.h"

#include <stdlib.h>
#include <string.h>

#include "base/trn_bulk.h"

#define ROOM	(8 * TRN_BULK_BYTES)
#define LINE	64

struct arena {
	uint8_t bytes[ROOM];
	uint8_t wanted[ROOM];
};

static void fill(struct arena *a)
{
	size_t i;

	for (i = 0; i < ROOM; i++)
		a->bytes[i] = (uint8_t)(i * 2654435761u >> 13);
	memcpy(a->wanted, a->bytes, ROOM);
}

static void check_move(struct arena *a, size_t dst, size_t src, size_t len)
{
	fill(a);
	memmove(a->wanted + dst, a->wanted + src, len);
	trn_bulk_move(a->bytes + dst, a->bytes + src, len);
	assert_memory_equal(a->bytes, a->wanted, ROOM);
}

static int arena_new(void **state)
{
	*state = aligned_alloc(LINE, sizeof(struct arena));
	return *state ? 0 : -1;
}

static int arena_free(void **state)
{
	free(*state);
	return 0;
}

static void test_lengths(void **state)
{
	size_t len;

	for (len = TRN_BULK_BYTES - 2; len < TRN_BULK_BYTES + 2 * LINE + 2; len++)
		check_move(*state, LINE, 4 * TRN_BULK_BYTES, len);
	check_move(*state, 0, ROOM / 2, ROOM / 2);
	check_move(*state, 1, 0, 0);
}

static void test_alignments(void **state)
{
	size_t dst, src;

	for (dst = 0; dst < LINE; dst += 3)
		for (src = 0; src < LINE; src += 5)
			check_move(*state, dst, 3 * TRN_BULK_BYTES + src,
				   2 * TRN_BULK_BYTES + dst + src);
}

/* By one byte, by a line, by all but one byte; and side by side. */
static void test_overlap(void **state)
{
	const size_t len = 2 * TRN_BULK_BYTES;
	const size_t apart[] = { 1, LINE, len - 1, len, 0 };
	unsigned int i;

	for (i = 0; i < sizeof(apart) / sizeof(apart[0]); i++) {
		check_move(*state, LINE + apart[i], LINE, len);
		check_move(*state, LINE, LINE + apart[i], len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_alignments),
		cmocka_unit_test(test_overlap),
	};

	return cmocka_run_group_tests(tests, arena_new, arena_free);
}
