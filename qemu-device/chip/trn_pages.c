// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The stream has runs of pages in ascending order, each with its offset and its
 * length, and ends with a run of length 0.
 *
 * Looking at a page that has never been touched would give it a page table entry,
 * and there are a hundred GiB of them. So the kernel is asked first which pages
 * are in memory or in swap; where it does not tell, all pages are looked at.
 */
#include "trn_pages.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define RUN_MAX		(256 * TRN_PAGE)

/* Entries of /proc/self/pagemap: present or swapped. */
#define PAGEMAP_BACKED	(3ull << 62)
#define PAGEMAP_BATCH	2048

/**
 * struct walk - the way through the memory
 * @fd: /proc/self/pagemap, negative: not to be had
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
	walk->fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	walk->host_page = (uint64_t)sysconf(_SC_PAGESIZE);
	walk->nr = 0;
}

static void walk_end(struct walk *walk)
{
	if (walk->fd >= 0)
		close(walk->fd);
}

static bool pagemap_read(struct walk *walk, uint64_t page)
{
	ssize_t got = pread(walk->fd, walk->entry, sizeof(walk->entry),
			    (off_t)(page * sizeof(walk->entry[0])));

	if (got < (ssize_t)sizeof(walk->entry[0]))
		return false;
	walk->first = page;
	walk->nr = (uint64_t)got / sizeof(walk->entry[0]);
	return true;
}

/* May the page at @offset be other than zero? */
static bool page_backed(struct walk *walk, uint64_t offset)
{
	uint64_t page = ((uintptr_t)walk->mem + offset) / walk->host_page;

	if (walk->fd < 0)
		return true;
	if ((page < walk->first || page - walk->first >= walk->nr) &&
	    !pagemap_read(walk, page)) {
		close(walk->fd);
		walk->fd = -1;
		return true;
	}
	return walk->entry[page - walk->first] & PAGEMAP_BACKED;
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
	walk_end(&walk);
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
