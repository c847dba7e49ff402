// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Looking at a page that has never been touched would give it a page table entry,
 * and there are a hundred GiB of them; of a file it would even make the page. So the
 * kernel is asked first which data a file has, or which pages are in memory or in swap:
 * for ranges of them (PAGEMAP_SCAN, since Linux 6.7), which takes as long as there are
 * such pages, or for an entry of each page. Where it does not tell, all pages are looked at.
 *
 * The stream has runs of pages in ascending order, each with its offset and its
 * length, and ends with a run of length 0.
 */
#include "base/trn_pages.h"
#include "base/trn_state.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define RUN_MAX		(256 * TRN_PAGE)

/* Entries of /proc/self/pagemap: present or swapped. */
#define PAGEMAP_BACKED	(3ull << 62)
#define PAGEMAP_BATCH	1024
#define PAGEMAP_FEW	32

/* Parts that a walk knows at a time: no fewer than a batch may have. */
#define WALK_PARTS	1024

#ifndef PAGEMAP_SCAN
#define PAGE_IS_PRESENT	(1 << 3)
#define PAGE_IS_SWAPPED	(1 << 4)

struct page_region {
	__u64 start;
	__u64 end;
	__u64 categories;
};

struct pm_scan_arg {
	__u64 size;
	__u64 flags;
	__u64 start;
	__u64 end;
	__u64 walk_end;
	__u64 vec;
	__u64 vec_len;
	__u64 max_pages;
	__u64 category_inverted;
	__u64 category_mask;
	__u64 category_anyof_mask;
	__u64 return_mask;
};

#define PAGEMAP_SCAN	_IOWR('f', 16, struct pm_scan_arg)
#endif

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

/*
 * The next data of the file at or after @offset, below @end: where they begin, and in *@stop
 * where they end. @end: there are none.
 */
static uint64_t file_data(int file, uint64_t offset, uint64_t end, uint64_t *stop)
{
	off_t data = lseek(file, (off_t)offset, SEEK_DATA), hole;

	if (data < 0 && errno != ENXIO)
		data = (off_t)offset;
	if (data < 0 || (uint64_t)data >= end)
		return end;
	hole = lseek(file, data, SEEK_HOLE);
	*stop = hole < 0 || (uint64_t)hole > end ? end : (uint64_t)hole;
	return (uint64_t)data;
}

bool trn_pages_in_file(int file, uint64_t offset, uint64_t len)
{
	uint64_t stop;

	return file_data(file, offset, offset + len, &stop) != offset + len;
}

/**
 * struct walk - the way through the memory
 * @file, @base: the file behind it, or -1, and where in the file it begins
 * @fd: of trn_pages_open(); -1: there is no such, or a file
 * @page: bytes of a page of the host
 * @known: up to this offset @part tells which pages there are
 * @part: offsets of addresses in ascending order
 * @at, @nr: the next one of @part, how many there are
 */
struct walk {
	const uint8_t *mem;
	uint64_t size;
	int file;
	uint64_t base;
	int fd;
	uint64_t page;
	uint64_t known;
	struct page_region part[WALK_PARTS];
	size_t at;
	size_t nr;
};

static void walk_begin(struct walk *walk, const uint8_t *mem, int file, uint64_t base,
		       uint64_t size)
{
	walk->mem = mem;
	walk->size = size;
	walk->file = file;
	walk->base = base;
	walk->fd = file < 0 ? trn_pages_open() : -1;
	walk->page = host_page();
	walk->known = 0;
	walk->at = 0;
	walk->nr = 0;
}

/* [@start, @end) are addresses, of whole pages of the host. */
static void walk_add(struct walk *walk, uint64_t start, uint64_t end)
{
	const uint64_t mem = (uintptr_t)walk->mem;
	struct page_region *last = walk->nr ? &walk->part[walk->nr - 1] : NULL;

	start = start > mem ? start - mem : 0;
	end = end - mem < walk->size ? end - mem : walk->size;
	if (last && last->end == start)
		last->end = end;
	else
		walk->part[walk->nr++] = (struct page_region){ start, end, 0 };
}

/*
 * Ranges from @walk->known on; false: the kernel cannot do it. It says in walk_end how far it
 * came, but not always all the way, so what counts is the last range; none: there is no more.
 */
static bool walk_scan(struct walk *walk)
{
	const uint64_t mem = (uintptr_t)walk->mem, mask = walk->page - 1;
	struct page_region found[WALK_PARTS];
	struct pm_scan_arg arg = {
		.size = sizeof(arg),
		.start = (mem + walk->known) & ~mask,
		.end = (mem + walk->size + mask) & ~mask,
		.vec = (uintptr_t)found,
		.vec_len = WALK_PARTS,
		.category_anyof_mask = PAGE_IS_PRESENT | PAGE_IS_SWAPPED,
		.return_mask = PAGE_IS_PRESENT | PAGE_IS_SWAPPED,
	};
	int nr = ioctl(walk->fd, PAGEMAP_SCAN, &arg), i;

	if (nr < 0)
		return false;
	for (i = 0; i < nr; i++)
		walk_add(walk, found[i].start, found[i].end);
	walk->known = nr ? walk->part[walk->nr - 1].end : walk->size;
	return true;
}

/* The same by an entry of each page. */
static bool walk_read(struct walk *walk)
{
	uint64_t first = ((uintptr_t)walk->mem + walk->known) / walk->page, i, nr;
	uint64_t entry[PAGEMAP_BATCH];

	nr = pagemap_read(walk->fd, first, entry, PAGEMAP_BATCH);
	if (!nr)
		return false;
	for (i = 0; i < nr; i++)
		if (entry[i] & PAGEMAP_BACKED)
			walk_add(walk, (first + i) * walk->page, (first + i + 1) * walk->page);
	walk->known = (first + nr) * walk->page - (uintptr_t)walk->mem;
	if (walk->known > walk->size)
		walk->known = walk->size;
	return true;
}

/* The next data of the file from @walk->known on. */
static void walk_file(struct walk *walk)
{
	const uint64_t end = walk->base + walk->size;
	uint64_t stop = end, data;

	data = file_data(walk->file, walk->base + walk->known, end, &stop);
	if (data < end)
		walk->part[walk->nr++] = (struct page_region){ data - walk->base,
							       stop - walk->base, 0 };
	walk->known = stop - walk->base;
}

static void walk_on(struct walk *walk)
{
	walk->at = 0;
	walk->nr = 0;
	if (walk->file >= 0) {
		walk_file(walk);
		return;
	}
	if (walk->fd >= 0 && (walk_scan(walk) || walk_read(walk)))
		return;
	trn_pages_close(walk->fd);
	walk->fd = -1;
	walk->part[walk->nr++] = (struct page_region){ walk->known, walk->size, 0 };
	walk->known = walk->size;
}

/* The next pages that may be other than zero, from *@offset on; 0: there are no more. */
static uint64_t walk_next(struct walk *walk, uint64_t *offset)
{
	const struct page_region *part;

	while (walk->at == walk->nr) {
		if (walk->known == walk->size)
			return 0;
		walk_on(walk);
	}
	part = &walk->part[walk->at++];
	*offset = part->start;
	return part->end - part->start;
}

int trn_pages_each(const uint8_t *mem, int file, uint64_t at, uint64_t size,
		   int (*run)(void *opaque, uint64_t offset, uint64_t len), void *opaque)
{
	uint64_t offset, len;
	struct walk walk;
	int result = 0;

	walk_begin(&walk, mem, file, at, size);
	while (!result) {
		len = walk_next(&walk, &offset);
		if (!len)
			break;
		result = run(opaque, offset, len);
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

/* Pages that are not zero at the beginning of @len bytes, at most a run of them. */
static uint64_t filled(const uint8_t *page, uint64_t len)
{
	uint64_t n = 0;

	while (n < len && n < RUN_MAX && !page_is_zero(page + n))
		n += TRN_PAGE;
	return n;
}

static void save_run(struct trn_state *st, uint8_t *mem, uint64_t offset, uint64_t len)
{
	trn_state_u64(st, &offset);
	trn_state_u64(st, &len);
	trn_state_bytes(st, mem + offset, len);
}

static void save_part(struct trn_state *st, uint8_t *mem, uint64_t offset, uint64_t len)
{
	uint64_t end = offset + len, n;

	for (; offset < end && !trn_state_failed(st); offset += n ? n : TRN_PAGE) {
		n = filled(mem + offset, end - offset);
		if (n)
			save_run(st, mem, offset, n);
	}
}

static void pages_save(struct trn_state *st, uint8_t *mem, int file, uint64_t size)
{
	uint64_t offset, len;
	struct walk walk;

	walk_begin(&walk, mem, file, 0, size);
	do {
		len = walk_next(&walk, &offset);
		if (len)
			save_part(st, mem, offset, len);
	} while (len && !trn_state_failed(st));
	trn_pages_close(walk.fd);
	save_run(st, mem, size, 0);
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

void trn_pages_state(struct trn_state *st, uint8_t *mem, int file, uint64_t size)
{
	if (trn_state_failed(st))
		return;
	if (st->loading)
		pages_load(st, mem, size);
	else
		pages_save(st, mem, file, size);
}
