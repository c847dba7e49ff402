// SPDX-License-Identifier: MIT
/*
 * The chip tells its host which pages of HBM it has changed, so that the host can copy
 * them while the chip runs; and which pages there are at all.
 */
#include <stdlib.h>
#include <string.h>

#include "ring_rig.h"
#include "mem/trn_access.h"
#include "mem/trn_bus.h"

#define COPY		65536u
#define RING		64u
#define ROUNDS		40u
#define AREA		NEURON_MIB(4)

static int setup(void **state)
{
	struct rig *rig;
	unsigned int c;

	if (rig_setup(state))
		return -1;
	rig = *state;
	for (c = 0; c < RIG_CHIPS; c++)
		fake_dirty_enable(&rig->port[c]);
	return 0;
}

/* Exactly pages @first to @last of stack @stack of chip @c are marked; then none is. */
static void expect_marks(struct rig *rig, unsigned int c, unsigned int stack, uint64_t first,
			 uint64_t last)
{
	unsigned int i, sum = 0;
	uint64_t page;

	for (i = 0; i < rig->chip[c]->gen->nr_hbm; i++)
		sum += fake_dirty_pages(&rig->port[c], i);
	assert_int_equal(sum, last - first + 1);
	for (page = first; page <= last; page++)
		assert_true(fake_dirty_take(&rig->port[c], stack, page));
}

static void expect_no_marks(struct rig *rig, unsigned int c)
{
	unsigned int i;

	for (i = 0; i < rig->chip[c]->gen->nr_hbm; i++)
		assert_int_equal(fake_dirty_pages(&rig->port[c], i), 0);
}

static void each_write_is_marked(void **state)
{
	struct rig *rig = *state;
	const unsigned int last = rig->chip[0]->gen->nr_hbm - 1;
	uint64_t host = rig_host(rig, 0, COPY);
	uint64_t from = rig_host_addr(rig, 0, host);
	const uint32_t word = 0x12345678;
	struct ring_pair ring;

	ring_make(&ring, rig, RING);
	expect_no_marks(rig, 0);
	/* From the host, up to the first byte of a third page. */
	ring_copy(&ring, rig_hbm_addr(rig, last, 5 * FAKE_PAGE + 100), from,
		  2 * FAKE_PAGE - 99);
	ring_run(&ring, 1, 1);
	expect_marks(rig, 0, last, 5, 7);
	/* From HBM to HBM. */
	ring_copy(&ring, rig_hbm_addr(rig, 0, FAKE_PAGE), rig_hbm_addr(rig, last, 0), FAKE_PAGE);
	ring_run(&ring, 1, 1);
	expect_marks(rig, 0, 0, 1, 1);
	/* What controllers write. */
	assert_int_equal(trn_bus_write(rig->chip[0], rig_hbm_addr(rig, 0, 9 * FAKE_PAGE - 4),
				       &word, sizeof(word)), NEURON_CAUSE_NONE);
	expect_marks(rig, 0, 0, 8, 8);
	expect_no_marks(rig, 1);
}

static void a_peer_marks_where_it_writes(void **state)
{
	struct rig *rig = *state;
	struct trn_access access = { .chip = rig->chip[1] };
	uint64_t at = neuron_fabric_addr(0, rig_hbm_addr(rig, 0, 3 * FAKE_PAGE - 100));
	uint8_t bytes[300] = { 1 };

	assert_int_equal(trn_access_write(&access, at, bytes, sizeof(bytes)),
			 NEURON_CAUSE_NONE);
	expect_marks(rig, 0, 0, 2, 3);
	expect_no_marks(rig, 1);
}

static void reads_mark_nothing(void **state)
{
	struct rig *rig = *state;
	uint64_t host = rig_host(rig, 0, COPY);
	struct ring_pair ring;
	uint8_t buf[64];

	ring_make(&ring, rig, RING);
	ring_copy(&ring, rig_host_addr(rig, 0, host), rig_hbm_addr(rig, 0, 0), COPY);
	ring_run(&ring, 1, 1);
	ring_copy(&ring, rig_sbuf_addr(rig, 0), rig_hbm_addr(rig, 0, 0), COPY);
	ring_run(&ring, 1, 1);
	assert_int_equal(trn_bus_read(rig->chip[0], rig_hbm_addr(rig, 0, 0), buf, sizeof(buf)),
			 NEURON_CAUSE_NONE);
	expect_no_marks(rig, 0);
}

/* The source ends in the middle: what came before the error is there, and marked. */
static bool half_a_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
	(void)opaque;
	(void)addr;
	memset(buf, 0x77, len / 2);
	return false;
}

static void half_a_write_is_marked(void **state)
{
	struct rig *rig = *state;
	struct trn_access access = { .chip = rig->chip[0] };
	uint8_t *hbm = trn_chip_hbm(rig->chip[0], 0);

	rig->port[0].ops.host_read = half_a_read;
	assert_int_equal(trn_access_copy(&access, rig_hbm_addr(rig, 0, 0),
					 rig_host_addr(rig, 0, 0), 2 * FAKE_PAGE),
			 NEURON_CAUSE_HOST);
	assert_int_equal(hbm[0], 0x77);
	expect_marks(rig, 0, 0, 0, 1);
}

/*
 * The chip may just be writing the page. Then it is marked again behind that, and what is read
 * here does not count, which ThreadSanitizer cannot know.
 */
__attribute__((no_sanitize("thread")))
static void copy_page(uint8_t *to, const uint8_t *from)
{
	const volatile uint64_t *words = (const volatile uint64_t *)from;
	uint64_t word;
	size_t i;

	for (i = 0; i < FAKE_PAGE / sizeof(word); i++) {
		word = words[i];
		memcpy(to + i * sizeof(word), &word, sizeof(word));
	}
}

/* Copy all pages that are marked. */
static void copy_marked(struct rig *rig, uint8_t *replica)
{
	const uint8_t *hbm = trn_chip_hbm(rig->chip[0], 0);
	uint64_t page;

	for (page = 0; page < AREA / FAKE_PAGE; page++)
		if (fake_dirty_take(&rig->port[0], 0, page))
			copy_page(replica + page * FAKE_PAGE, hbm + page * FAKE_PAGE);
}

/* Random pieces from the host and from HBM itself. */
static void ring_random(struct rig *rig, struct ring_pair *ring, uint64_t host)
{
	unsigned int i;

	for (i = 0; i < RING / 2; i++) {
		uint32_t len = 1 + rig_random(rig, i % 2 ? 200 : COPY);
		uint64_t src = i % 3 ? rig_host_addr(rig, 0, host) :
				       rig_hbm_addr(rig, 0, rig_random(rig, AREA - COPY));

		ring_copy(ring, rig_hbm_addr(rig, 0, rig_random(rig, AREA - COPY)), src, len);
	}
	ring_doorbell(ring, RING / 2, RING / 2);
}

/* As a migration does: pass by pass beside the chip, the rest when it has stopped. */
static void a_copy_beside_the_chip_is_complete(void **state)
{
	struct rig *rig = *state;
	uint64_t host = rig_host(rig, 0, COPY);
	uint8_t *replica = calloc(1, AREA);
	struct ring_pair ring;
	unsigned int i;

	assert_non_null(replica);
	ring_make(&ring, rig, RING);
	for (i = 0; i < ROUNDS; i++) {
		rig_fill(rig, rig_host_ptr(rig, 0, host), COPY);
		ring_random(rig, &ring, host);
		copy_marked(rig, replica);
		copy_marked(rig, replica);
		ring_wait(&ring);
	}
	ring_random(rig, &ring, host);
	copy_marked(rig, replica);
	fake_chip_stop(rig->chip[0]);
	copy_marked(rig, replica);
	assert_memory_equal(replica, trn_chip_hbm(rig->chip[0], 0), AREA);
	free(replica);
}

/**
 * struct parts - what trn_chip_hbm_used() tells
 * @most: parts after which it is to end
 */
struct parts {
	unsigned int nr;
	unsigned int most;
	uint64_t offset[4];
	uint64_t len[4];
};

static int note_part(void *opaque, uint64_t offset, uint64_t len)
{
	struct parts *parts = opaque;

	assert_true(parts->nr < 4);
	parts->offset[parts->nr] = offset;
	parts->len[parts->nr++] = len;
	return parts->nr == parts->most ? 7 : 0;
}

/* Is the byte at @offset in a part? A page of the host may be large. */
static bool in_parts(const struct parts *parts, uint64_t offset)
{
	unsigned int i;

	for (i = 0; i < parts->nr; i++)
		if (offset >= parts->offset[i] && offset - parts->offset[i] < parts->len[i])
			return true;
	return false;
}

static void parts_that_are_used(void **state)
{
	struct rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	uint8_t *hbm = trn_chip_hbm(chip, 1);
	struct parts parts = { 0 };
	const uint32_t word = 1;

	assert_int_equal(trn_chip_hbm_used(chip, 1, 0, FAKE_HBM_SIZE, note_part, &parts), 0);
	assert_int_equal(parts.nr, 0);
	hbm[NEURON_MIB(40)] = 1;
	assert_int_equal(trn_bus_write(chip, rig_hbm_addr(rig, 1, NEURON_MIB(20)), &word,
				       sizeof(word)), NEURON_CAUSE_NONE);
	assert_int_equal(trn_chip_hbm_used(chip, 1, 0, FAKE_HBM_SIZE, note_part, &parts), 0);
	assert_int_equal(parts.nr, 2);
	assert_true(in_parts(&parts, NEURON_MIB(20)) && in_parts(&parts, NEURON_MIB(40)));
	assert_false(in_parts(&parts, NEURON_MIB(30)) || in_parts(&parts, 0));

	parts = (struct parts){ .most = 1 };
	assert_int_equal(trn_chip_hbm_used(chip, 1, 0, FAKE_HBM_SIZE, note_part, &parts), 7);
	assert_int_equal(parts.nr, 1);
	parts = (struct parts){ 0 };
	assert_int_equal(trn_chip_hbm_used(chip, 1, NEURON_MIB(30), NEURON_MIB(30), note_part,
					   &parts), 0);
	assert_int_equal(parts.nr, 1);
	assert_true(in_parts(&parts, NEURON_MIB(10)));
	/* No such memory. */
	assert_int_equal(trn_chip_hbm_used(chip, NEURON_MAX_HBM, 0, 4096, note_part, &parts), 0);
	assert_int_equal(trn_chip_hbm_used(chip, 1, FAKE_HBM_SIZE, 4096, note_part, &parts), 0);
	assert_int_equal(parts.nr, 1);
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_write_is_marked),
		TEST(a_peer_marks_where_it_writes),
		TEST(reads_mark_nothing),
		TEST(half_a_write_is_marked),
		TEST(a_copy_beside_the_chip_is_complete),
		TEST(parts_that_are_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
