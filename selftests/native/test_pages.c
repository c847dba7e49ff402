// SPDX-License-Identifier: MIT
/*
 * Which pages of lazily backed memory there are: all ways of asking the kernel give the same,
 * and none of them makes a page. This file has ioctl() and pread() in place of those of libc,
 * so that a way can be missing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/trn_pages.h"

#define SIZE	(64u << 20)
#define PAGES	(SIZE / TRN_PAGE)
#define DENSE	6000u	/* every second page of so many: more parts than fit at once */

static bool no_ioctl, no_pread;
static unsigned int ioctls;

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	ioctls++;
	return no_ioctl ? -1 : (int)syscall(SYS_ioctl, fd, request, arg);
}

ssize_t pread(int fd, void *buf, size_t len, off_t offset)
{
	return no_pread ? -1 : syscall(SYS_pread64, fd, buf, len, offset);
}

/**
 * struct seen - what a walk has told
 * @next: no part may begin before
 * @left: so many parts, then the walk is to end; 0: no limit
 */
struct seen {
	bool page[PAGES];
	uint64_t next;
	unsigned int left;
};

static int note(void *opaque, uint64_t offset, uint64_t len)
{
	struct seen *seen = opaque;
	uint64_t page;

	assert_true(offset >= seen->next && len && len <= SIZE - offset);
	assert_int_equal((offset | len) % TRN_PAGE, 0);
	for (page = offset / TRN_PAGE; page < (offset + len) / TRN_PAGE; page++)
		seen->page[page] = true;
	seen->next = offset + len;
	return seen->left && !--seen->left ? 5 : 0;
}

static struct seen *look(const uint8_t *mem)
{
	struct seen *seen = calloc(1, sizeof(*seen));

	assert_non_null(seen);
	assert_int_equal(trn_pages_each(mem, TRN_NO_FILE, 0, SIZE, note, seen), 0);
	return seen;
}

static uint8_t *map(void)
{
	uint8_t *mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_true(mem != MAP_FAILED);
	/* A page that is touched must not bring others with it. */
	madvise(mem, SIZE, MADV_NOHUGEPAGE);
	return mem;
}

/* Some at random, many parts of one page, all of a MiB, the first and the last. */
static void touch(uint8_t *mem, bool *touched)
{
	unsigned int i;

	srand(7);
	for (i = 0; i < PAGES; i++)
		touched[i] = i < DENSE ? i % 2 == 0 : rand() % 16 == 0;
	for (i = DENSE; i < DENSE + 256; i++)
		touched[i] = true;
	touched[PAGES - 1] = true;
	for (i = 0; i < PAGES; i++)
		if (touched[i])
			mem[(size_t)i * TRN_PAGE + 9] = 1;
}

static void expect(const uint8_t *mem, const bool *touched)
{
	struct seen *seen = look(mem);

	assert_memory_equal(seen->page, touched, PAGES);
	free(seen);
}

static void all_ways_agree(void **state)
{
	uint8_t *mem = map();
	bool *touched = calloc(1, PAGES);

	(void)state;
	assert_non_null(touched);
	/* A host with larger pages than the chip's makes neighbours as well. */
	if (sysconf(_SC_PAGESIZE) != TRN_PAGE)
		skip();
	touch(mem, touched);
	ioctls = 0;
	expect(mem, touched);
	assert_true(ioctls);
	no_ioctl = true;
	expect(mem, touched);
	no_ioctl = false;
	/* Looking has made none. */
	expect(mem, touched);
	munmap(mem, SIZE);
	free(touched);
}

/* Without an answer every page counts. */
static void an_unknown_page_counts(void **state)
{
	uint8_t *mem = map();
	struct seen *seen;
	unsigned int i;

	(void)state;
	no_ioctl = true;
	no_pread = true;
	seen = look(mem);
	no_ioctl = false;
	no_pread = false;
	for (i = 0; i < PAGES; i++)
		assert_true(seen->page[i]);
	free(seen);
	munmap(mem, SIZE);
}

static void a_walk_ends_early(void **state)
{
	struct seen *seen = calloc(1, sizeof(*seen));
	uint8_t *mem = map();

	(void)state;
	assert_non_null(seen);
	mem[0] = 1;
	mem[SIZE / 2] = 1;
	mem[SIZE - 1] = 1;
	seen->left = 2;
	assert_int_equal(trn_pages_each(mem, TRN_NO_FILE, 0, SIZE, note, seen), 5);
	assert_true(seen->page[PAGES / 2]);
	assert_false(seen->page[PAGES - 1]);
	assert_int_equal(trn_pages_each(mem, TRN_NO_FILE, 0, 0, note, seen), 0);
	munmap(mem, SIZE);
	free(seen);
}

/* --- the stream --- */

struct stream {
	uint8_t *data;
	size_t len;
	size_t at;
	size_t room;
};

static bool put(void *opaque, void *buf, size_t len)
{
	struct stream *stream = opaque;

	if (len > stream->room - stream->len)
		return false;
	memcpy(stream->data + stream->len, buf, len);
	stream->len += len;
	return true;
}

static bool get(void *opaque, void *buf, size_t len)
{
	struct stream *stream = opaque;

	if (len > stream->len - stream->at)
		return false;
	memcpy(buf, stream->data + stream->at, len);
	stream->at += len;
	return true;
}

/* What is saved is what is loaded, and of no page that is zero. */
static void a_stream_has_what_is_there(void **state)
{
	struct stream stream = { .room = SIZE / 2 };
	struct trn_state out = { .transfer = put, .opaque = &stream };
	struct trn_state in = { .loading = true, .transfer = get, .opaque = &stream };
	uint8_t *mem = map(), *copy = map();
	unsigned int i;

	(void)state;
	stream.data = malloc(stream.room);
	assert_non_null(stream.data);
	for (i = 0; i < PAGES; i += 3)
		mem[(size_t)i * TRN_PAGE + i % TRN_PAGE] = (uint8_t)(i % 5);
	memset(mem + SIZE / 2, 0x11, SIZE / 16);
	trn_pages_state(&out, mem, TRN_NO_FILE, SIZE);
	assert_null(out.why);
	trn_pages_state(&in, copy, TRN_NO_FILE, SIZE);
	assert_null(in.why);
	assert_int_equal(stream.at, stream.len);
	assert_memory_equal(mem, copy, SIZE);
	free(stream.data);
	munmap(mem, SIZE);
	munmap(copy, SIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_ways_agree),
		cmocka_unit_test(an_unknown_page_counts),
		cmocka_unit_test(a_walk_ends_early),
		cmocka_unit_test(a_stream_has_what_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
