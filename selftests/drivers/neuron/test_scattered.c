// SPDX-License-Identifier: MIT
/*
 * As many windows as a table has, onto a buffer of a hundred thousand pieces: no
 * call takes the longer the further behind in the buffer its windows lie, and a process
 * that is killed in the middle of one ends and leaves the table as it was, or as asked for.
 */
#include <glob.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "job_rig.h"
#include "kselftest_harness.h"
#include "neuron_test.h"

#define LIMIT		60000	/* ms */
#define WINDOWS		65000	/* and a few for the rig */
#define FIRST		8	/* window */
#define PIECES		100000
#define TILE		16	/* pages of the file that the buffer consists of */

/* A buffer of many pieces, and room for the windows that are bound to it. */
struct pieces {
	struct rig rig;
	uint8_t *memory;
	uint64_t size;
	uint32_t handle;
	struct drm_neuron_window *windows;
};

FIXTURE(scattered) {
	struct pieces p;
};

/* The pages of a small file, no two of them neighbours in memory, again and again. */
static uint8_t *make_memory(uint64_t size)
{
	const uint64_t tile = TILE * 4096;
	int fd = memfd_create("scattered", 0);
	uint8_t *memory, *at;
	unsigned int i;

	if (fd < 0 || ftruncate(fd, (off_t)tile))
		return NULL;
	memory = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	for (at = memory; at < memory + size; at += tile)
		if (mmap(at, tile, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			 fd, 0) == MAP_FAILED)
			return NULL;
	for (i = 0; i < TILE; i++)
		memory[(i * 7 % TILE) * 4096] = 1;
	close(fd);
	return memory;
}

static int import(int fd, uint8_t *memory, uint64_t size, uint32_t *handle)
{
	struct drm_neuron_bo_import args = {
		.user = (uintptr_t)memory,
		.size = size,
	};
	int ret = neuron_ioctl(fd, DRM_IOCTL_NEURON_BO_IMPORT, &args);

	*handle = args.handle;
	return ret;
}

FIXTURE_SETUP(scattered)
{
	struct sysinfo info;
	int ret;

	ret = rig_open(&self->p.rig, 0, RIG_ANY_CORE);
	if (ret == -ENODEV)
		SKIP(return, "no neuron device");
	ASSERT_EQ(0, ret);
	/* An import may not be larger than the machine's memory, however little it takes. */
	ASSERT_EQ(0, sysinfo(&info));
	self->p.size = info.totalram * info.mem_unit / 10 * 8;
	if (self->p.size > PIECES * 4096ull)
		self->p.size = PIECES * 4096ull;
	self->p.size -= self->p.size % (TILE * 4096);
	self->p.memory = make_memory(self->p.size);
	ASSERT_NE(NULL, self->p.memory);
	ret = import(self->p.rig.fd, self->p.memory, self->p.size, &self->p.handle);
	if (ret == -EOPNOTSUPP)
		SKIP(return, "the device needs bounce buffers here");
	ASSERT_EQ(0, ret);
	self->p.windows = calloc(WINDOWS, sizeof(*self->p.windows));
	ASSERT_NE(NULL, self->p.windows);
}

FIXTURE_TEARDOWN(scattered)
{
	free(self->p.windows);
	rig_close(&self->p.rig);
}

/* So many windows onto the buffer, all at the same offset. */
static int bind_some(struct pieces *p, uint64_t offset, uint64_t length,
		     uint32_t count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		p->windows[i] = (struct drm_neuron_window){
			.index = FIRST + i,
			.kind = DRM_NEURON_WINDOW_BO,
			.rights = DRM_NEURON_WINDOW_READ,
			.handle = p->handle,
			.offset = offset,
			.length = length,
		};
	return rig_windows(&p->rig, p->windows, count);
}

static int bind(struct pieces *p, uint64_t offset)
{
	return bind_some(p, offset, 4096, WINDOWS);
}

/* The same in a process that is killed after @limit_ms. Returns how long it took. */
static int64_t bind_within(struct pieces *p, uint64_t offset,
			   int64_t limit_ms, int *status)
{
	int64_t begin = rig_now_ms(), end = begin + limit_ms;
	pid_t pid = fork();

	if (!pid)
		_exit(bind(p, offset) ? 1 : 0);
	while (waitpid(pid, status, WNOHANG) == 0) {
		if (rig_now_ms() > end)
			kill(pid, SIGKILL);
		usleep(1000);
	}
	return rig_now_ms() - begin;
}

/*
 * No speed is asserted, only that both ends of the buffer are alike: the far one gets
 * ten times as long as the near one took. The time to find the pieces one by one is
 * hundreds of times as long.
 */
TEST_F(scattered, far_end)
{
	int64_t near, far;
	int status;

	near = bind_within(&self->p, 0, LIMIT, &status);
	ASSERT_EQ(0, status);
	far = bind_within(&self->p, self->p.size - 4096, 10 * near + 1000, &status);
	EXPECT_EQ(0, status) TH_LOG("killed after %lld ms; the near end took %lld ms",
				    (long long)far, (long long)near);
	EXPECT_GT(20 * near + 2000, far);
}

/* Does an IOMMU translate what devices access? It makes one piece of scattered pages. */
static bool is_translated(void)
{
	glob_t types;
	bool translated = false;
	char type[16];
	size_t i;

	if (glob("/sys/kernel/iommu_groups/*/type", 0, NULL, &types))
		return false;
	for (i = 0; i < types.gl_pathc && !translated; i++)
		translated = neuron_read_file(types.gl_pathv[i], type, sizeof(type)) > 0 &&
			     !strncmp(type, "DMA", 3);
	globfree(&types);
	return translated;
}

/*
 * The lists of extents that a call makes share pages. A list whose call made no other has a
 * page of kernel memory for itself and counts as one, so that a claim cannot have far more
 * than its 256 MiB.
 */
TEST_F(scattered, lists_count_as_pages)
{
	struct drm_neuron_window one;
	int i, ret = 0;

	EXPECT_EQ(0, bind_some(&self->p, 0, 8192, WINDOWS));
	EXPECT_EQ(0, bind_some(&self->p, 4096, 8192, WINDOWS));
	for (i = 0; i < WINDOWS && !ret; i++) {
		one = self->p.windows[i];
		one.offset = 8192;
		ret = rig_windows(&self->p.rig, &one, 1);
	}
	EXPECT_EQ(is_translated() ? 0 : -ENOMEM, ret) TH_LOG("window %d", i);
}

/* What window @index shows first, read by the device. */
static int first_word(struct rig *rig, uint32_t index, uint32_t *word)
{
	struct drm_neuron_wait_job result;
	int ret;

	rig_clear(rig);
	rig_copy(rig, NEURON_ENGINE_SYNC, neuron_window_addr(RIG_WINDOW_DATA, 0),
		 neuron_window_addr(index, 0), 64);
	rig_halt(rig, NEURON_ENGINE_SYNC);
	ret = rig_run(rig, LIMIT, &result);
	memcpy(word, rig->data, sizeof(*word));
	return ret ? ret : result.status == NEURON_JOB_OK ? 0 : -EIO;
}

TEST_F(scattered, killed_half_way)
{
	uint32_t first, last, old, new, whole = 0;
	int64_t near = 0, took;
	unsigned int turn;
	int status;

	for (turn = 0; turn < TILE; turn++)
		memset(self->p.memory + turn * 4096, 0x10 + (int)turn, 4096);
	for (turn = 0; turn < 3; turn++) {
		took = bind_within(&self->p, 0, LIMIT, &status);
		ASSERT_EQ(0, status);
		near = turn && near < took ? near : took;
	}
	memset(&old, 0x10, sizeof(old));
	for (turn = 1; turn < 6; turn++) {
		bind_within(&self->p, turn * 4096ull, near * turn / 6, &status);
		memset(&new, 0x10 + (int)turn, sizeof(new));
		ASSERT_EQ(0, first_word(&self->p.rig, FIRST, &first));
		ASSERT_EQ(0, first_word(&self->p.rig, FIRST + WINDOWS - 1, &last));
		EXPECT_EQ(first, last) TH_LOG("turn %u", turn);
		EXPECT_TRUE(first == old || first == new);
		if (!status)
			EXPECT_EQ(new, first);
		whole += !status;
		old = first;
	}
	EXPECT_LT(whole, 5) TH_LOG("no call was ended by the signal");
}

TEST_HARNESS_MAIN
