// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Looking at a page that has never been touched would give it a page table entry,
 * and there are a hundred GiB of them. So the kernel is asked first which pages
 * are in memory or in swap; where it does not tell, all pages are looked at.
 *
 * The stream has runs of pages in ascending order, each with its offset and its
 * length, and ends with a run of length 0.
 */
#include "base/trn_pages.h"
#include "base/trn_state.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define RUN_MAX		(256 * TRN_PAGE)

/* Entries of /proc/self/pagemap: present or swapped. */
#define PAGEMAP_BACKED	(3ull << 62)
#define PAGEMAP_BATCH	2048
#define PAGEMAP_FEW	32

static uint64_t host_page(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Entries of at most @nr pages of the host from @page on; returns how many came. */
static uint64_t pagemap_read(int fd, uint64_t page, uint64_t *entry, uint64_t nr)
{
	ssize_t got = pread(fd, entry, nr * sizeof(*entry), (off_t)(page * sizeof(*entry)));

	return got < 0 ? 0 : (uint64_t)got / sizeof(*entry);
}

/* An emulator of processors may show the pages of other addresses. */
static bool pagemap_is_ours(int fd)
{
	volatile uint8_t here = 1;
	uint64_t page = (uintptr_t)&here / host_page(), entry;

	return pagemap_read(fd, page, &entry, 1) && entry & PAGEMAP_BACKED;
}

int trn_pages_open(void)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || pagemap_is_ours(fd))
		return fd;
	close(fd);
	return -1;
}

void trn_pages_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

bool trn_pages_backed(int fd, const void *mem, size_t len)
{
	uint64_t first = (uintptr_t)mem / host_page();
	uint64_t end = ((uintptr_t)mem + len - 1) / host_page() + 1;
	uint64_t entry[PAGEMAP_FEW], nr, i;

	if (fd < 0)
		return true;
	for (; first < end; first += nr) {
		nr = end - first < PAGEMAP_FEW ? end - first : PAGEMAP_FEW;
		nr = pagemap_read(fd, first, entry, nr);
		if (!nr)
			return true;
		for (i = 0; i < nr; i++)
			if (entry[i] & PAGEMAP_BACKED)
				return true;
	}
	return false;
}

/**
 * struct walk - the way through the memory
 * @fd: of trn_pages_open()
 * @host_page: bytes of a page of the host
 * @first, @nr: pages of the host that @entry tells about
 */
struct walk {
	const uint8_t *mem;
	uint64_t size;
	int fd;
	uint64_t host_page;
	uint64_t first;
	uint64_t nr;
	uint64_t entry[PAGEMAP_BATCH];
};

static void walk_begin(struct walk *walk, const uint8_t *mem, uint64_t size)
{
	walk->mem = mem;
	walk->size = size;
	walk->fd = trn_pages_open();
	walk->host_page = host_page();
	walk->nr = 0;
}

static bool walk_read(struct walk *walk, uint64_t page)
{
	walk->first = page;
	walk->nr = pagemap_read(walk->fd, page, walk->entry, PAGEMAP_BATCH);
	return walk->nr;
}

/* May the page at @offset be other than zero? */
static bool page_backed(struct walk *walk, uint64_t offset)
{
	uint64_t page = ((uintptr_t)walk->mem + offset) / walk->host_page;

	if (walk->fd < 0)
		return true;
	if ((page < walk->first || page - walk->first >= walk->nr) &&
	    !walk_read(walk, page)) {
		trn_pages_close(walk->fd);
		walk->fd = -1;
		return true;
	}
	return walk->entry[page - walk->first] & PAGEMAP_BACKED;
}

static uint64_t skip_pages(struct walk *walk, uint64_t offset, bool backed)
{
	while (offset < walk->size && page_backed(walk, offset) == backed)
		offset += TRN_PAGE;
	return offset;
}

int trn_pages_each(const uint8_t *mem, uint64_t size,
		   int (*run)(void *opaque, uint64_t offset, uint64_t len), void *opaque)
{
	uint64_t offset = 0, end;
	struct walk walk;
	int result = 0;

	walk_begin(&walk, mem, size);
	for (; !result; offset = end) {
		offset = skip_pages(&walk, offset, false);
		if (offset == size)
			break;
		end = skip_pages(&walk, offset, true);
		result = run(opaque, offset, end - offset);
	}
	trn_pages_close(walk.fd);
	return result;
}

static bool page_is_zero(const uint8_t *page)
{
	static const uint8_t zero[16];

	return !memcmp(page, zero, sizeof(zero)) &&
	       !memcmp(page, page + sizeof(zero), TRN_PAGE - sizeof(zero));
}

static bool page_wanted(struct walk *walk, uint64_t offset)
{
	return page_backed(walk, offset) && !page_is_zero(walk->mem + offset);
}

/* The next run at or after *@offset; its length is 0 at the end. */
static uint64_t next_run(struct walk *walk, uint64_t *offset)
{
	uint64_t len = 0;

	while (*offset < walk->size && !page_wanted(walk, *offset))
		*offset += TRN_PAGE;
	while (len < RUN_MAX && *offset + len < walk->size &&
	       page_wanted(walk, *offset + len))
		len += TRN_PAGE;
	return len;
}

static void pages_save(struct trn_state *st, uint8_t *mem, uint64_t size)
{
	uint64_t offset = 0, len;
	struct walk walk;

	walk_begin(&walk, mem, size);
	do {
		len = next_run(&walk, &offset);
		trn_state_u64(st, &offset);
		trn_state_u64(st, &len);
		trn_state_bytes(st, mem + offset, len);
		offset += len;
	} while (len && !trn_state_failed(st));
	trn_pages_close(walk.fd);
}

static void pages_load(struct trn_state *st, uint8_t *mem, uint64_t size)
{
	uint64_t next = 0, offset = 0, len = 0;

	do {
		trn_state_u64(st, &offset);
		trn_state_u64(st, &len);
		if (offset < next || offset > size || len > size - offset ||
		    len > RUN_MAX || (offset | len) % TRN_PAGE)
			trn_state_fail(st, "saved memory is out of place");
		if (trn_state_failed(st))
			return;
		trn_state_bytes(st, mem + offset, len);
		next = offset + len;
	} while (len);
}

void trn_pages_state(struct trn_state *st, uint8_t *mem, uint64_t size)
{
	if (trn_state_failed(st))
		return;
	if (st->loading)
		pages_load(st, mem, size);
	else
		pages_save(st, mem, size);
}
