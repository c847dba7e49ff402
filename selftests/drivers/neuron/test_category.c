// SPDX-License-Identifier: MIT
/*
 * Categories of memory: what the query, debugfs, fdinfo and the log of a full
 * stack say about them.
 */
#include <stddef.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "neuron_test.h"

#define MIB	(1024ull * 1024)

FIXTURE(category)
{
	int fd;
	struct drm_neuron_device_info info;
	struct drm_neuron_usage_info before[DRM_NEURON_NR_CATEGORIES];
};

static int query_usage(int fd, struct drm_neuron_usage_info *info)
{
	return neuron_query(fd, DRM_NEURON_QUERY_USAGE, info,
			    DRM_NEURON_NR_CATEGORIES * sizeof(*info));
}

FIXTURE_SETUP(category)
{
	self->fd = neuron_open(0);
	if (self->fd < 0)
		SKIP(return, "no neuron device");
	ASSERT_EQ(0, neuron_query(self->fd, DRM_NEURON_QUERY_DEVICE,
				  &self->info, sizeof(self->info)));
	ASSERT_EQ(0, query_usage(self->fd, self->before));
}

/* Whatever a test did, nothing stays in the accounts. */
FIXTURE_TEARDOWN(category)
{
	struct drm_neuron_usage_info after[DRM_NEURON_NR_CATEGORIES];
	int fd, c;

	if (self->fd < 0)
		return;
	close(self->fd);
	fd = neuron_open(0);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, query_usage(fd, after));
	for (c = 0; c < DRM_NEURON_NR_CATEGORIES; c++) {
		EXPECT_EQ(self->before[c].hbm, after[c].hbm)
			TH_LOG("HBM of category %d leaked", c);
		EXPECT_EQ(self->before[c].host, after[c].host);
		EXPECT_EQ(self->before[c].imported, after[c].imported);
		EXPECT_LE(self->before[c].peak, after[c].peak);
	}
	close(fd);
}

static int create(int fd, uint32_t placement, uint32_t stack, uint64_t size,
		  uint32_t category, uint32_t *handle)
{
	struct drm_neuron_bo_create bo = {
		.size = size,
		.placement = placement,
		.stack = stack,
		.category = category,
	};
	int ret = neuron_ioctl(fd, DRM_IOCTL_NEURON_BO_CREATE, &bo);

	*handle = bo.handle;
	return ret;
}

TEST_F(category, every_one)
{
	struct drm_neuron_usage_info now[DRM_NEURON_NR_CATEGORIES];
	struct drm_neuron_bo_info info;
	uint32_t c, handle, stack = self->info.nr_hbm - 1;

	for (c = 0; c < DRM_NEURON_NR_CATEGORIES; c++) {
		ASSERT_EQ(0, create(self->fd, DRM_NEURON_BO_HBM, stack,
				    (c + 1) * MIB, c, &handle));
		info = (struct drm_neuron_bo_info){ .handle = handle };
		must(self->fd, BO_INFO, &info);
		EXPECT_EQ(c, info.category);
		EXPECT_EQ(0, info.flags);
		ASSERT_EQ(0, create(self->fd, DRM_NEURON_BO_HOST, 0,
				    (c + 2) * 4096, c, &handle));
	}
	ASSERT_EQ(0, query_usage(self->fd, now));
	for (c = 0; c < DRM_NEURON_NR_CATEGORIES; c++) {
		EXPECT_EQ(self->before[c].hbm + (c + 1) * MIB, now[c].hbm);
		EXPECT_EQ(self->before[c].host + (c + 2) * 4096, now[c].host);
		EXPECT_GE(now[c].peak, (c + 1) * MIB + (c + 2) * 4096);
	}
}

TEST_F(category, bad_fields)
{
	struct drm_neuron_bo_create bo = { .size = 4096 };

	bo.category = DRM_NEURON_NR_CATEGORIES;
	must_fail(EINVAL, self->fd, BO_CREATE, &bo);
	bo.category = ~0u;
	must_fail(EINVAL, self->fd, BO_CREATE, &bo);
	bo.category = 0;
	bo.pad = 1;
	must_fail(EINVAL, self->fd, BO_CREATE, &bo);
	bo.pad = 0;
	bo.flags = 1u << 31;
	must_fail(EINVAL, self->fd, BO_CREATE, &bo);
}

/* Each category in each stack, in order; the buffer is in one of them. */
TEST_F(category, stacks)
{
	const uint32_t nr = DRM_NEURON_NR_CATEGORIES * self->info.nr_hbm;
	const uint32_t stack = self->info.nr_hbm - 1;
	const uint32_t mine = DRM_NEURON_CATEGORY_CODE * self->info.nr_hbm + stack;
	struct drm_neuron_stack_usage_info *before = calloc(nr, sizeof(*before));
	struct drm_neuron_stack_usage_info *now = calloc(nr, sizeof(*now));
	uint32_t i, handle;

	ASSERT_NE(NULL, before);
	ASSERT_NE(NULL, now);
	EXPECT_EQ(nr, neuron_query_count(self->fd, DRM_NEURON_QUERY_STACK_USAGE));
	ASSERT_EQ(0, neuron_query(self->fd, DRM_NEURON_QUERY_STACK_USAGE, before,
				  nr * sizeof(*before)));
	ASSERT_EQ(0, create(self->fd, DRM_NEURON_BO_HBM, stack, 3 * MIB,
			    DRM_NEURON_CATEGORY_CODE, &handle));
	ASSERT_EQ(0, neuron_query(self->fd, DRM_NEURON_QUERY_STACK_USAGE, now,
				  nr * sizeof(*now)));
	for (i = 0; i < nr; i++) {
		EXPECT_EQ(i / self->info.nr_hbm, now[i].category);
		EXPECT_EQ(i % self->info.nr_hbm, now[i].stack);
		EXPECT_EQ(before[i].used + (i == mine ? 3 * MIB : 0), now[i].used);
		EXPECT_GE(now[i].peak, now[i].used);
	}
	free(now);
	free(before);
}

/* The peak stays; a mapping keeps its memory in the account. */
TEST_F(category, until_the_last_user)
{
	const uint32_t c = DRM_NEURON_CATEGORY_COLLECTIVES;
	struct drm_neuron_usage_info now[DRM_NEURON_NR_CATEGORIES];
	struct drm_neuron_bo_create bo = {
		.size = 4 * MIB,
		.category = c,
	};
	void *map;

	must(self->fd, BO_CREATE, &bo);
	map = mmap(NULL, bo.size, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd,
		   bo.mmap_offset);
	ASSERT_NE(MAP_FAILED, map);
	ASSERT_EQ(0, neuron_bo_close(self->fd, bo.handle));
	ASSERT_EQ(0, query_usage(self->fd, now));
	EXPECT_EQ(self->before[c].hbm + 4 * MIB, now[c].hbm);
	munmap(map, bo.size);
	ASSERT_EQ(0, query_usage(self->fd, now));
	EXPECT_EQ(self->before[c].hbm, now[c].hbm);
	EXPECT_GE(now[c].peak, 4 * MIB);
}

static long long fdinfo_value(int fd, const char *key)
{
	char path[64], line[128];
	long long value = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)) &&
		    line[strlen(key)] == ':')
			value = atoll(line + strlen(key) + 1);
	fclose(f);
	return value;
}

TEST_F(category, fdinfo)
{
	uint32_t handle;

	ASSERT_EQ(0, create(self->fd, DRM_NEURON_BO_HBM, 0, 3 * MIB,
			    DRM_NEURON_CATEGORY_DMA_RINGS, &handle));
	ASSERT_EQ(0, create(self->fd, DRM_NEURON_BO_HOST, 0, 8192,
			    DRM_NEURON_CATEGORY_DMA_RINGS, &handle));
	EXPECT_EQ(3 * (long long)MIB + 8192,
		  fdinfo_value(self->fd, "neuron-category-dma-rings"));
	EXPECT_EQ(-1, fdinfo_value(self->fd, "neuron-category-tensors"));
}

TEST_F(category, debugfs)
{
	long long hbm0, host, peak;
	uint32_t handle;
	char name[32];
	int found = 0;
	FILE *f;

	ASSERT_EQ(0, create(self->fd, DRM_NEURON_BO_HBM, 0, MIB,
			    DRM_NEURON_CATEGORY_CONSTANTS, &handle));
	f = neuron_debugfs(self->fd, "usage");
	ASSERT_NE(NULL, f);
	ASSERT_NE(EOF, fscanf(f, "%*[^\n]\n"));
	while (fscanf(f, "%31s %lld %*d %*d %*d %lld %*d %lld\n", name, &hbm0,
		      &host, &peak) == 4) {
		if (strcmp(name, "constants"))
			continue;
		found = 1;
		EXPECT_GE(hbm0, (long long)MIB);
		EXPECT_GE(peak, hbm0 + host);
	}
	fclose(f);
	EXPECT_EQ(1, found);
}

/* The kernel log from here on; the caller closes it. */
static int log_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

/* Does @log have a line with both? Reads it to its end. */
static int log_has(int log, const char *text, const char *more)
{
	char record[1024];
	int found = 0;
	ssize_t n;

	for (;;) {
		n = read(log, record, sizeof(record) - 1);
		if (n < 0 && errno == EPIPE)
			continue;
		if (n <= 0)
			return found;
		record[n] = '\0';
		found |= strstr(record, text) && strstr(record, more);
	}
}

/* A full stack: the log says what is in it, and who has it. */
TEST_F(category, full_stack_in_the_log)
{
	uint32_t handle, stack = self->info.nr_hbm - 1;
	const uint64_t size = 1024 * MIB;
	int what, whose, ret, i, found = 0;
	char who[32];

	snprintf(who, sizeof(who), "(pid %d)", getpid());
	/* There may have been a table a moment ago: they are rare. */
	for (i = 0; i < 40 && !found; i++) {
		what = log_open();
		whose = log_open();
		ASSERT_GE(what, 0);
		ASSERT_GE(whose, 0);
		/* At first this fills the stack. */
		do {
			ret = create(self->fd, DRM_NEURON_BO_HBM, stack, size,
				     DRM_NEURON_CATEGORY_APPLICATION, &handle);
		} while (!ret);
		ASSERT_EQ(-ENOSPC, ret);
		found = log_has(what, "bytes: application", "neuron") &&
			log_has(whose, "bytes: process", who);
		close(what);
		close(whose);
		usleep(500000);
	}
	EXPECT_EQ(1, found) TH_LOG("no table of the full stack in the log");
}

/* ... but not each time. */
TEST_F(category, log_is_limited)
{
	uint32_t handle;
	int log, i, tables = 0;
	char record[1024];
	ssize_t n;

	log = log_open();
	ASSERT_GE(log, 0);
	for (i = 0; i < 200; i++)
		ASSERT_EQ(-ENOSPC, create(self->fd, DRM_NEURON_BO_HBM, 0,
					  1ull << 50, 0, &handle));
	while ((n = read(log, record, sizeof(record) - 1)) > 0) {
		record[n] = '\0';
		tables += !!strstr(record, "is full: no");
	}
	close(log);
	EXPECT_LE(tables, 8);
}

TEST_HARNESS_MAIN
