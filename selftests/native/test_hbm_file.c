// SPDX-License-Identifier: MIT
/*
 * HBM in files of the memory, which others map: both sides see the same bytes, what nobody has
 * written takes no memory, and saving finds what only others have written.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chip_rig.h"
#include "mem/trn_bus.h"
#include "trn/state.h"

#define AT	NEURON_MIB(4)
#define PIECE	NEURON_KIB(64)

/**
 * struct shared - a chip with files, and what another process would have
 * @stack: of the file
 * @map: all of it
 * @marked: bytes that the port was told of
 */
struct shared {
	struct trn_pool *pool;
	struct fake_port port;
	struct trn_chip *chip;
	unsigned int stack;
	struct trn_hbm_file file;
	uint8_t *map;
	uint64_t marked;
};

static int setup(void **state)
{
	struct shared *s = calloc(1, sizeof(*s));
	struct trn_chip_config config;
	const char *why = NULL;

	assert_non_null(s);
	s->pool = trn_pool_new(2, NULL, NULL);
	fake_port_init(&s->port, NEURON_MIB(1));
	config = fake_chip_config(&s->port, fake_gen(), s->pool, NULL, 0);
	config.hbm_files = true;
	s->chip = trn_chip_new(&config, &why);
	if (!s->chip)
		fail_msg("no chip: %s", why);
	s->stack = 1;
	assert_true(trn_chip_hbm_file(s->chip, s->stack, &s->file));
	s->map = mmap(NULL, s->file.size, PROT_READ | PROT_WRITE, MAP_SHARED, s->file.fd,
		      (off_t)s->file.offset);
	assert_true(s->map != MAP_FAILED);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct shared *s = *state;

	munmap(s->map, s->file.size);
	fake_chip_free(s->chip);
	trn_pool_free(s->pool);
	fake_port_destroy(&s->port);
	free(s);
	return 0;
}

static uint64_t addr(const struct shared *s, uint64_t offset)
{
	return fake_gen()->hbm_addr[s->stack] + offset;
}

/* Bytes of the host that the file has. */
static uint64_t taken(const struct shared *s)
{
	struct stat st;

	assert_int_equal(fstat(s->file.fd, &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

static void the_file_cannot_be_cut(void **state)
{
	struct shared *s = *state;
	struct trn_hbm_file other;

	assert_int_equal(s->file.size, FAKE_HBM_SIZE);
	assert_true(lseek(s->file.fd, 0, SEEK_END) >=
		    (off_t)(s->file.offset + s->file.size));
	assert_int_equal(ftruncate(s->file.fd, 4096), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(s->file.fd, (off_t)s->file.size * 2), -1);
	assert_int_equal(fcntl(s->file.fd, F_GET_SEALS) & F_SEAL_WRITE, 0);
	assert_false(trn_chip_hbm_file(s->chip, fake_gen()->nr_hbm, &other));
	assert_true(trn_chip_hbm_file(s->chip, 0, &other));
	assert_true(other.fd != s->file.fd || other.offset != s->file.offset);
	/* The port is not asked for memory. */
	assert_null(s->port.hbm[0]);
}

static void both_sides_see_the_same(void **state)
{
	struct shared *s = *state;
	uint8_t there[256], here[256];
	unsigned int i;

	for (i = 0; i < sizeof(there); i++)
		there[i] = (uint8_t)(i + 1);
	assert_int_equal(trn_bus_write(s->chip, addr(s, AT), there, sizeof(there)),
			 NEURON_CAUSE_NONE);
	assert_memory_equal(s->map + AT, there, sizeof(there));
	assert_memory_equal((uint8_t *)trn_chip_hbm(s->chip, s->stack) + AT, there,
			    sizeof(there));
	/* Where no device has been: written through the other mapping only. */
	memcpy(s->map + 8 * AT, there, sizeof(there));
	assert_int_equal(trn_bus_read(s->chip, addr(s, 8 * AT), here, sizeof(here)),
			 NEURON_CAUSE_NONE);
	assert_memory_equal(here, there, sizeof(here));
}

static void reads_take_no_memory(void **state)
{
	struct shared *s = *state;
	uint8_t *buf = malloc(PIECE);
	uint64_t at;
	unsigned int i;

	assert_non_null(buf);
	s->map[AT] = 1;
	assert_int_equal(taken(s), sysconf(_SC_PAGESIZE));
	for (at = 0; at < FAKE_HBM_SIZE; at += PIECE) {
		assert_int_equal(trn_bus_read(s->chip, addr(s, at), buf, PIECE),
				 NEURON_CAUSE_NONE);
		for (i = 0; i < PIECE; i++)
			assert_int_equal(buf[i], at == AT && !i);
	}
	/* The extent that somebody has written may be looked at: 2 MiB at most. */
	assert_true(taken(s) <= NEURON_MIB(2));
	free(buf);
}

static void mark(void *opaque, unsigned int stack, uint64_t offset, uint64_t len)
{
	struct shared *s = (struct shared *)(void *)((char *)opaque -
						     offsetof(struct shared, port));

	assert_int_equal(stack, s->stack);
	assert_true(offset + len <= s->file.size);
	s->marked += len;
}

/* And the host learns of what was there, and of nothing else. */
static void a_reset_gives_all_back(void **state)
{
	struct shared *s = *state;

	s->map[0] = 1;
	memset(s->map + AT, 0x55, PIECE);
	s->port.ops.hbm_dirty = mark;
	fake_chip_stop(s->chip);
	trn_chip_reset(s->chip);
	assert_int_equal(s->marked, (uint64_t)sysconf(_SC_PAGESIZE) + PIECE);
	assert_int_equal(taken(s), 0);
	assert_int_equal(s->map[AT], 0);
}

/* A part of HBM, for trn_chip_hbm_used(). */
struct parts {
	unsigned int nr;
	uint64_t offset[4];
	uint64_t len[4];
};

static int note(void *opaque, uint64_t offset, uint64_t len)
{
	struct parts *parts = opaque;

	assert_true(parts->nr < 4);
	parts->offset[parts->nr] = offset;
	parts->len[parts->nr++] = len;
	return 0;
}

static void used_parts_are_those_of_the_file(void **state)
{
	struct shared *s = *state;
	struct parts parts = { 0 };

	assert_int_equal(trn_chip_hbm_used(s->chip, s->stack, 0, s->file.size, note, &parts), 0);
	assert_int_equal(parts.nr, 0);
	memset(s->map + AT, 1, PIECE);
	s->map[s->file.size - 1] = 1;
	/* From the middle on: offsets count from there. */
	trn_chip_hbm_used(s->chip, s->stack, AT / 2, s->file.size - AT / 2, note, &parts);
	assert_int_equal(parts.nr, 2);
	assert_int_equal(parts.offset[0], AT / 2);
	assert_int_equal(parts.len[0], PIECE);
	assert_int_equal(parts.offset[1] + parts.len[1], s->file.size - AT / 2);
	/* The end of the part in the middle of data. */
	parts.nr = 0;
	trn_chip_hbm_used(s->chip, s->stack, 0, AT + 4096, note, &parts);
	assert_int_equal(parts.nr, 1);
	assert_int_equal(parts.len[0], 4096);
}

struct stream {
	uint8_t *bytes;
	size_t len;
	size_t at;
};

static bool put(void *opaque, void *buf, size_t len)
{
	struct stream *stream = opaque;

	stream->bytes = realloc(stream->bytes, stream->len + len + 1);
	assert_non_null(stream->bytes);
	memcpy(stream->bytes + stream->len, buf, len);
	stream->len += len;
	return true;
}

static bool get(void *opaque, void *buf, size_t len)
{
	struct stream *stream = opaque;

	if (len > stream->len - stream->at)
		return false;
	memcpy(buf, stream->bytes + stream->at, len);
	stream->at += len;
	return true;
}

static void saving_finds_what_others_wrote(void **state)
{
	struct shared *s = *state;
	struct stream stream = { 0 };
	struct trn_state st = { .transfer = put, .opaque = &stream };

	memset(s->map + AT, 0x55, PIECE);
	s->map[s->file.size - 1] = 7;
	fake_chip_stop(s->chip);
	assert_true(trn_chip_save_hbm(s->chip, &st));
	assert_true(stream.len < PIECE + NEURON_KIB(8));
	memset(s->map, 0x11, PIECE);
	st = (struct trn_state) { .loading = true, .transfer = get, .opaque = &stream };
	assert_true(trn_chip_load_hbm(s->chip, &st));
	assert_int_equal(s->map[0], 0);
	assert_int_equal(s->map[AT], 0x55);
	assert_int_equal(s->map[AT + PIECE - 1], 0x55);
	assert_int_equal(s->map[AT + PIECE], 0);
	assert_int_equal(s->map[s->file.size - 1], 7);
	free(stream.bytes);
}

/* Neither files nor a port that has memory: the library's own, without a file. */
static void memory_of_the_librarys_own(void **state)
{
	struct shared *s = *state;
	struct trn_chip_config config;
	struct trn_hbm_file file;
	struct fake_port port;
	struct trn_chip *chip;
	const char *why;

	fake_port_init(&port, 4096);
	port.ops.hbm_alloc = NULL;
	port.ops.hbm_discard = NULL;
	config = fake_chip_config(&port, fake_gen(), s->pool, NULL, 0);
	chip = trn_chip_new(&config, &why);
	assert_non_null(chip);
	assert_false(trn_chip_hbm_file(chip, 0, &file));
	((uint8_t *)trn_chip_hbm(chip, 0))[AT] = 1;
	fake_chip_stop(chip);
	trn_chip_reset(chip);
	assert_int_equal(((uint8_t *)trn_chip_hbm(chip, 0))[AT], 0);
	fake_chip_free(chip);
	fake_port_destroy(&port);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_file_cannot_be_cut),
		TEST(both_sides_see_the_same),
		TEST(reads_take_no_memory),
		TEST(a_reset_gives_all_back),
		TEST(used_parts_are_those_of_the_file),
		TEST(saving_finds_what_others_wrote),
		TEST(memory_of_the_librarys_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
