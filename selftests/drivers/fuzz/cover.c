// SPDX-License-Identifier: MIT
/*
 * Coverage by KCOV (Documentation/dev-tools/kcov.rst of the kernel).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kcov.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cover.h"

#define FILE_NAME	"/sys/kernel/debug/kcov"
/* Numbers in an area. A call that runs more blocks is cut off. */
#define AREA_WORDS	(256u << 10)
/* The driver has some 7,000 blocks. */
#define SET_SLOTS	(64u << 10)

/**
 * struct fuzz_cover_set - a hash table that only grows; threads add without a lock
 * @count: addresses
 * @slot: addresses, 0: free
 */
struct fuzz_cover_set {
	uint32_t count;
	uint64_t slot[SET_SLOTS];
};

static int open_thread(struct fuzz_cover *cover, unsigned int thread)
{
	uint64_t *area;
	int fd = open(FILE_NAME, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (ioctl(fd, KCOV_INIT_TRACE, AREA_WORDS))
		return -errno;
	area = mmap(NULL, AREA_WORDS * sizeof(*area), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (area == MAP_FAILED)
		return -errno;
	cover->fd[thread] = fd;
	cover->area[thread] = area;
	return 0;
}

int fuzz_cover_open(struct fuzz_cover *cover)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < FUZZ_MAX_THREADS; i++)
		cover->fd[i] = -1;
	cover->set = mmap(NULL, sizeof(*cover->set), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (cover->set == MAP_FAILED)
		return -errno;
	for (i = 0; i < FUZZ_MAX_THREADS && !ret; i++)
		ret = open_thread(cover, i);
	return ret == -ENOENT ? 1 : ret;
}

void fuzz_cover_begin(struct fuzz_cover *cover, unsigned int thread)
{
	if (cover->fd[thread] < 0)
		return;
	__atomic_store_n(cover->area[thread], 0, __ATOMIC_RELAXED);
	if (ioctl(cover->fd[thread], KCOV_ENABLE, KCOV_TRACE_PC))
		perror("fuzz-ioctls: KCOV_ENABLE");
}

/* True: @pc was not in the set. */
static bool add(struct fuzz_cover_set *set, uint64_t pc)
{
	uint64_t at = (pc * 0x9e3779b97f4a7c15ull) >> 48;
	uint64_t found;

	for (;; at++) {
		found = 0;
		if (__atomic_load_n(&set->slot[at % SET_SLOTS], __ATOMIC_RELAXED) == pc)
			return false;
		if (__atomic_compare_exchange_n(&set->slot[at % SET_SLOTS], &found, pc, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			break;
		if (found == pc)
			return false;
	}
	__atomic_fetch_add(&set->count, 1, __ATOMIC_RELAXED);
	return true;
}

uint32_t fuzz_cover_take(struct fuzz_cover *cover, unsigned int thread)
{
	uint64_t *area = cover->area[thread];
	uint32_t added = 0;
	uint64_t i, count;

	if (!area)
		return 0;
	count = __atomic_load_n(area, __ATOMIC_RELAXED);
	/* A full table would search for ever. */
	for (i = 1; i <= count && i < AREA_WORDS; i++)
		if (cover->set->count < SET_SLOTS / 2)
			added += add(cover->set, area[i]);
	__atomic_store_n(area, 0, __ATOMIC_RELAXED);
	return added;
}

uint32_t fuzz_cover_count(const struct fuzz_cover *cover)
{
	return __atomic_load_n(&cover->set->count, __ATOMIC_RELAXED);
}

int fuzz_cover_save(const struct fuzz_cover *cover, const char *path)
{
	FILE *f = fopen(path, "we");
	unsigned int i;

	if (!f)
		return -errno;
	for (i = 0; i < SET_SLOTS; i++)
		if (cover->set->slot[i])
			fprintf(f, "%#llx\n", (unsigned long long)cover->set->slot[i]);
	return fclose(f) ? -errno : 0;
}
