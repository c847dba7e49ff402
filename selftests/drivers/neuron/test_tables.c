// SPDX-License-Identifier: MIT
/*
 * Window tables in pieces, and lists of extents in pages: as many windows as a table has on
 * a stack that is full and in pieces; what a change copies; and all memory comes back.
 */
#include <unistd.h>

#include "job_rig.h"
#include "kselftest_harness.h"
#include "neuron_test.h"

#define LIMIT		60000	/* ms */
#define MIB		(1024ull * 1024)
#define PAGE		4096u
#define HOLES		2048	/* pages of a stack that are free, no two of them neighbours */
#define LAST		(NEURON_MAX_WINDOWS - 1)
#define PAGES		64	/* of a small buffer */

/* The kernel memory that claim @rig->claim is charged for, or -1. */
static long long claim_memory(const struct rig *rig)
{
	FILE *f = neuron_debugfs(rig->fd, "claims");
	long long memory = -1;
	unsigned int claim;
	char line[256], *at;
	int pid;

	while (f && memory < 0 && fgets(line, sizeof(line), f)) {
		at = strstr(line, ": pid ");
		if (!at || sscanf(at, ": pid %d claim %u", &pid, &claim) != 2 ||
		    pid != getpid() || claim != rig->claim)
			continue;
		at = strstr(line, " memory ");
		if (at)
			sscanf(at, " memory %lld", &memory);
	}
	if (f)
		fclose(f);
	return memory;
}

/* The same, once nothing has changed for a while: what jobs held is given back after their end. */
static long long memory_at_rest(const struct rig *rig)
{
	int64_t end = rig_now_ms() + 10000, changed = rig_now_ms(), now;
	long long memory = claim_memory(rig), last;

	do {
		usleep(10000);
		last = memory;
		memory = claim_memory(rig);
		now = rig_now_ms();
		if (memory != last)
			changed = now;
	} while (now < changed + 300 && now < end);
	return memory;
}

/* All windows but those of the rig. */
struct table {
	struct rig rig;
	struct drm_neuron_window *windows;
	uint32_t count;
};

static int table_open(struct table *t)
{
	int ret = rig_open(&t->rig, 0, RIG_ANY_CORE);

	if (ret)
		return ret;
	t->count = NEURON_MAX_WINDOWS - RIG_WINDOW_FREE;
	t->windows = calloc(t->count, sizeof(*t->windows));
	return t->windows ? 0 : -ENOMEM;
}

static void table_close(struct table *t)
{
	free(t->windows);
	rig_close(&t->rig);
}

static struct drm_neuron_window window(uint32_t index, uint32_t handle, uint64_t offset,
				       uint64_t length)
{
	return (struct drm_neuron_window){
		.index = index,
		.kind = DRM_NEURON_WINDOW_BO,
		.rights = DRM_NEURON_WINDOW_READ | DRM_NEURON_WINDOW_WRITE,
		.handle = handle,
		.offset = offset,
		.length = length,
	};
}

/* Every window shows @length bytes of buffer @handle of @size bytes, each from another page. */
static int bind_all(struct table *t, uint32_t handle, uint64_t size, uint64_t length)
{
	const uint64_t places = (size - length) / PAGE + 1;
	uint32_t i;

	for (i = 0; i < t->count; i++)
		t->windows[i] = window(RIG_WINDOW_FREE + i, handle, i % places * PAGE, length);
	return rig_windows(&t->rig, t->windows, t->count);
}

static int empty_all(struct table *t)
{
	uint32_t i;

	for (i = 0; i < t->count; i++)
		t->windows[i] = (struct drm_neuron_window){ .index = RIG_WINDOW_FREE + i };
	return rig_windows(&t->rig, t->windows, t->count);
}

/* The first @size bytes of window @index, read by the device, to the data of the rig. */
static int read_window(struct rig *rig, uint32_t index, uint64_t offset, uint32_t size)
{
	struct drm_neuron_wait_job result;
	int ret;

	rig_clear(rig);
	rig_copy(rig, NEURON_ENGINE_SYNC, neuron_window_addr(RIG_WINDOW_DATA, 0),
		 neuron_window_addr(index, offset), size);
	rig_halt(rig, NEURON_ENGINE_SYNC);
	ret = rig_run(rig, LIMIT, &result);
	return ret ? ret : result.status == NEURON_JOB_OK ? 0 : -EIO;
}

/* Each page of the buffer begins with its number. */
static int number_pages(int fd, uint32_t handle, uint32_t pages)
{
	uint32_t *p = calloc(pages, PAGE), i;
	int ret;

	if (!p)
		return -ENOMEM;
	for (i = 0; i < pages; i++)
		p[i * (PAGE / sizeof(*p))] = i + 1;
	ret = neuron_write(fd, handle, 0, p, (uint64_t)pages * PAGE);
	free(p);
	return ret;
}

/* What the rig's data has at page @page. */
static uint32_t number(const struct rig *rig, uint32_t page)
{
	uint32_t value;

	memcpy(&value, rig->data + page * PAGE, sizeof(value));
	return value;
}

/* --- A table of which every window is used --- */

FIXTURE(tables) {
	struct table t;
	struct rig_usage before;
	int fd;
};

FIXTURE_SETUP(tables)
{
	int ret;

	self->fd = neuron_open(0);
	if (self->fd < 0)
		SKIP(return, "no neuron device");
	rig_usage_at_rest(self->fd, &self->before);
	ASSERT_GE(self->before.live, 0) TH_LOG("debugfs must be mounted");
	ret = table_open(&self->t);
	ASSERT_EQ(0, ret);
}

FIXTURE_TEARDOWN(tables)
{
	if (self->fd < 0)
		return;
	table_close(&self->t);
	EXPECT_FALSE(rig_leaks(self->fd, &self->before));
	close(self->fd);
}

TEST_F(tables, memory_comes_back_to_the_byte)
{
	struct rig *rig = &self->t.rig;
	struct drm_neuron_window last = window(LAST, rig->bo, 0, PAGE);
	struct drm_neuron_window none = { .index = LAST };
	long long base, full = 0, now;
	int round;

	/* A table never becomes smaller: make it a large one first. */
	ASSERT_EQ(0, rig_windows(rig, &last, 1));
	ASSERT_EQ(0, rig_windows(rig, &none, 1));
	base = claim_memory(rig);
	ASSERT_LT(0, base);
	for (round = 0; round < 3; round++) {
		ASSERT_EQ(0, bind_all(&self->t, rig->bo, 2 * RIG_HALF, PAGE));
		now = claim_memory(rig);
		EXPECT_LT(base + NEURON_MAX_WINDOWS * 32, now);
		EXPECT_TRUE(!full || full == now);
		full = now;
		ASSERT_EQ(0, empty_all(&self->t));
		EXPECT_EQ(base, claim_memory(rig));
	}
}

/* A table with few windows far behind has few pieces. */
TEST_F(tables, what_is_empty_takes_nothing)
{
	struct rig *rig = &self->t.rig;
	struct drm_neuron_window last = window(LAST, rig->bo, 0, PAGE);
	long long before = claim_memory(rig);

	ASSERT_LT(0, before);
	ASSERT_EQ(0, rig_windows(rig, &last, 1));
	EXPECT_GT(before + 64 * 1024, claim_memory(rig));
	EXPECT_EQ(0, read_window(rig, LAST, 0, 64));
	EXPECT_EQ(-EIO, read_window(rig, LAST - NEURON_TABLE_PIECE, 0, 64));
	EXPECT_EQ(-EIO, read_window(rig, LAST - 1, 0, 64));
}

/* Queued jobs have the table of their submission; what did not change is there once. */
TEST_F(tables, a_change_copies_a_piece)
{
	enum { JOBS = 8, FROM = 40000, TO = 50000 };
	struct rig *rig = &self->t.rig;
	struct drm_neuron_window change[2];
	struct drm_neuron_wait_job result;
	struct rig_submit submit[JOBS];
	struct drm_neuron_queue queue[JOBS];
	long long before, one, all, result_bytes;
	unsigned int i;

	/* A job leaves its result. */
	ASSERT_EQ(0, bind_all(&self->t, rig->bo, 2 * RIG_HALF, PAGE));
	before = claim_memory(rig);
	ASSERT_LT(0, before);
	ASSERT_EQ(0, read_window(rig, FROM, 0, 64));
	result_bytes = memory_at_rest(rig) - before;
	EXPECT_GT(4096, result_bytes);
	before += result_bytes;
	rig_clear(rig);
	rig_copy(rig, NEURON_ENGINE_SYNC, neuron_window_addr(TO, 0),
		 neuron_window_addr(FROM, 0), 64);
	rig_halt(rig, NEURON_ENGINE_SYNC);
	/* Long enough that the later ones are queued behind the first one. */
	rig_loop(rig, NEURON_ENGINE_VECTOR, 100000);
	rig_halt(rig, NEURON_ENGINE_VECTOR);
	for (i = 0; i < JOBS; i++)
		memset(rig->data + i * PAGE, 0x30 + (int)i, 64);

	one = before;
	for (i = 0; i < JOBS; i++) {
		change[0] = window(FROM, rig->bo, RIG_HALF + i * PAGE, PAGE);
		change[1] = window(TO, rig->bo, RIG_HALF + (JOBS + i) * PAGE, PAGE);
		ASSERT_EQ(0, rig_windows(rig, change, 2));
		rig_prepare(rig, &submit[i], &queue[i]);
		ASSERT_EQ(0, rig_submit(rig, &submit[i]));
		if (!i)
			one = claim_memory(rig);
	}
	all = claim_memory(rig);
	/* Two pieces, a directory and a job each; a table alone is larger than all of that. */
	EXPECT_GT(one + JOBS * 128 * 1024, all);
	for (i = 0; i < JOBS; i++) {
		ASSERT_EQ(0, rig_wait(rig, submit[i].call.job, LIMIT, &result));
		EXPECT_EQ(NEURON_JOB_OK, result.status);
		EXPECT_EQ(0x30 + i, rig->data[(JOBS + i) * PAGE]) TH_LOG("job %u", i);
		EXPECT_EQ(0x30 + i, rig->data[(JOBS + i) * PAGE + 63]);
	}
	EXPECT_EQ(before + JOBS * result_bytes, memory_at_rest(rig));
}

/* From a table of one piece to the largest, with a stream, which is behind the last window. */
TEST_F(tables, a_table_grows)
{
	static const uint32_t index[] = { 15, 16, 63, 64, 127, 128, 129, 255, 256, 4000, 32767 };
	struct rig *rig = &self->t.rig;
	struct drm_neuron_bo_create bo;
	struct drm_neuron_window one;
	unsigned int i, k;

	ASSERT_EQ(0, neuron_bo_create(rig->fd, DRM_NEURON_BO_HBM, 0, PAGES * PAGE, &bo));
	ASSERT_EQ(0, number_pages(rig->fd, bo.handle, PAGES));
	for (i = 0; i < sizeof(index) / sizeof(index[0]); i++) {
		one = window(index[i], bo.handle, i * PAGE, PAGE);
		ASSERT_EQ(0, rig_windows(rig, &one, 1));
		for (k = 0; k <= i; k++) {
			ASSERT_EQ(0, read_window(rig, index[k], 0, 64))
				TH_LOG("window %u of %u", index[k], index[i]);
			EXPECT_EQ(k + 1, number(rig, 0));
		}
		EXPECT_EQ(-EIO, read_window(rig, index[i] + 1, 0, 64)) TH_LOG("%u", index[i]);
	}
}

/* What one window of a call is refused for, the call is refused for. */
TEST_F(tables, a_refused_call_changes_nothing)
{
	struct rig *rig = &self->t.rig;
	struct drm_neuron_window *last = &self->t.windows[self->t.count - 1];
	struct drm_neuron_bo_create bo;
	long long before;

	ASSERT_EQ(0, neuron_bo_create(rig->fd, DRM_NEURON_BO_HBM, 0, PAGES * PAGE, &bo));
	ASSERT_EQ(0, number_pages(rig->fd, bo.handle, PAGES));
	ASSERT_EQ(0, bind_all(&self->t, bo.handle, PAGES * PAGE, PAGE));
	before = claim_memory(rig);

	last->index = NEURON_MAX_WINDOWS;
	self->t.windows[0].offset = 7 * PAGE;
	EXPECT_EQ(-EINVAL, rig_windows(rig, self->t.windows, self->t.count));
	*last = window(LAST, bo.handle, (PAGES - 1) * PAGE + 4, PAGE);
	EXPECT_EQ(-EINVAL, rig_windows(rig, self->t.windows, self->t.count));
	*last = window(LAST, 0xdead, 0, PAGE);
	EXPECT_EQ(-ENOENT, rig_windows(rig, self->t.windows, self->t.count));
	EXPECT_EQ(before, claim_memory(rig));
	ASSERT_EQ(0, read_window(rig, RIG_WINDOW_FREE, 0, 64));
	EXPECT_EQ(1, number(rig, 0));
	before = memory_at_rest(rig);

	/* The first one of an index is overtaken by a later one, whatever lies between. */
	*last = window(RIG_WINDOW_FREE, bo.handle, 5 * PAGE, PAGE);
	EXPECT_EQ(0, rig_windows(rig, self->t.windows, self->t.count));
	EXPECT_EQ(before, memory_at_rest(rig));
	ASSERT_EQ(0, read_window(rig, RIG_WINDOW_FREE, 0, 64));
	EXPECT_EQ(6, number(rig, 0));
}

/* --- On a stack that is full and in pieces --- */

FIXTURE(fragmented) {
	struct table t;
	struct drm_neuron_bo_create bo;
	struct rig_usage before;
	int fd;
};

/* All of stack 0 but HOLES pages, no two of which are neighbours. */
static int fragment(int fd)
{
	struct drm_neuron_bo_create *small = calloc(2 * HOLES, sizeof(*small)), rest;
	uint64_t chunk;
	int i, ret = small ? 0 : -ENOMEM;

	for (i = 0; !ret && i < 2 * HOLES; i++)
		ret = neuron_bo_create(fd, DRM_NEURON_BO_HBM, 0, PAGE, &small[i]);
	for (chunk = 256 * MIB; !ret && chunk >= PAGE; chunk /= 2)
		while (!neuron_bo_create(fd, DRM_NEURON_BO_HBM, 0, chunk, &rest))
			;
	for (i = 0; !ret && i < 2 * HOLES; i += 2)
		ret = neuron_bo_close(fd, small[i].handle);
	free(small);
	return ret;
}

FIXTURE_SETUP(fragmented)
{
	struct drm_neuron_bo_create rest;

	self->fd = neuron_open(0);
	if (self->fd < 0)
		SKIP(return, "no neuron device");
	rig_usage_at_rest(self->fd, &self->before);
	ASSERT_GE(self->before.live, 0) TH_LOG("debugfs must be mounted");
	ASSERT_EQ(0, table_open(&self->t));
	ASSERT_EQ(0, fragment(self->t.rig.fd));
	ASSERT_EQ(0, neuron_bo_create(self->t.rig.fd, DRM_NEURON_BO_HBM, 0, HOLES * PAGE,
				      &self->bo));
	ASSERT_EQ(-ENOSPC, neuron_bo_create(self->t.rig.fd, DRM_NEURON_BO_HBM, 0, PAGE, &rest));
	ASSERT_EQ(0, number_pages(self->t.rig.fd, self->bo.handle, HOLES));
}

FIXTURE_TEARDOWN(fragmented)
{
	if (self->fd < 0)
		return;
	table_close(&self->t);
	EXPECT_FALSE(rig_leaks(self->fd, &self->before));
	close(self->fd);
}

/* Every window of the table, each onto two pieces. */
TEST_F(fragmented, a_table_of_all_windows)
{
	static const uint32_t some[] = { 0, 1, 123, 124, 2046, 2047, 32768, 65529, 65530 };
	struct drm_neuron_window last = window(LAST, self->bo.handle, 0, PAGE);
	struct drm_neuron_window none = { .index = LAST };
	struct rig *rig = &self->t.rig;
	long long base, full;
	uint32_t i, page;

	ASSERT_EQ(0, rig_windows(rig, &last, 1));
	ASSERT_EQ(0, rig_windows(rig, &none, 1));
	base = claim_memory(rig);
	ASSERT_LT(0, base);
	ASSERT_EQ(0, bind_all(&self->t, self->bo.handle, HOLES * PAGE, 2 * PAGE));
	full = claim_memory(rig);
	/* The lists share pages: 32 bytes each, and not 4096. */
	EXPECT_LT(base, full);
	EXPECT_GT(base + 16 * (long long)MIB, full);
	ASSERT_EQ(0, empty_all(&self->t));
	EXPECT_EQ(base, claim_memory(rig));

	ASSERT_EQ(0, bind_all(&self->t, self->bo.handle, HOLES * PAGE, 2 * PAGE));
	EXPECT_EQ(full, claim_memory(rig));
	for (i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		ASSERT_EQ(0, read_window(rig, RIG_WINDOW_FREE + some[i], 0, 2 * PAGE));
		page = some[i] % (HOLES - 1);
		EXPECT_EQ(page + 1, number(rig, 0)) TH_LOG("window %u", some[i]);
		EXPECT_EQ(page + 2, number(rig, 1)) TH_LOG("window %u", some[i]);
	}
}

/* A list of several pages, read on both sides of each link. */
TEST_F(fragmented, a_window_of_all_pieces)
{
	struct drm_neuron_window all = window(RIG_WINDOW_FREE, self->bo.handle, 0, HOLES * PAGE);
	struct drm_neuron_window none = { .index = RIG_WINDOW_FREE };
	struct rig *rig = &self->t.rig;
	long long base = claim_memory(rig);
	uint32_t page, i;

	ASSERT_EQ(0, rig_windows(rig, &all, 1));
	EXPECT_LT(base + HOLES * 16, claim_memory(rig));
	ASSERT_EQ(0, rig_windows(rig, &none, 1));
	EXPECT_EQ(base, claim_memory(rig));

	ASSERT_EQ(0, rig_windows(rig, &all, 1));
	for (page = 253; page + 4 < HOLES; page += 255) {
		ASSERT_EQ(0, read_window(rig, RIG_WINDOW_FREE, page * PAGE, 4 * PAGE));
		for (i = 0; i < 4; i++)
			EXPECT_EQ(page + i + 1, number(rig, i)) TH_LOG("page %u", page + i);
	}
	ASSERT_EQ(0, read_window(rig, RIG_WINDOW_FREE, (HOLES - 1) * PAGE, PAGE));
	EXPECT_EQ(HOLES, number(rig, 0));
	EXPECT_EQ(-EIO, read_window(rig, RIG_WINDOW_FREE, HOLES * PAGE - 4, 8));
}

/*
 * More extents than a table may have in all, those of the rig's own windows included: what
 * the driver takes, the chip takes.
 */
TEST_F(fragmented, too_many_extents)
{
	const uint32_t most = (1u << 20) / HOLES - 1;
	struct rig *rig = &self->t.rig;
	long long before;
	uint32_t i;

	for (i = 0; i <= most; i++)
		self->t.windows[i] = window(RIG_WINDOW_FREE + i, self->bo.handle, 0,
					    HOLES * PAGE);
	before = claim_memory(rig);
	EXPECT_EQ(-EINVAL, rig_windows(rig, self->t.windows, most + 1));
	EXPECT_EQ(-EIO, read_window(rig, RIG_WINDOW_FREE, 0, 64));
	EXPECT_EQ(0, rig_windows(rig, self->t.windows, most));
	EXPECT_LT(before + 16 * (long long)MIB, claim_memory(rig));
	ASSERT_EQ(0, read_window(rig, RIG_WINDOW_FREE + most - 1, 1000 * PAGE, PAGE));
	EXPECT_EQ(1001, number(rig, 0));
}

TEST_HARNESS_MAIN
