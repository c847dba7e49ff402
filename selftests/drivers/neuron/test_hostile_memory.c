// SPDX-License-Identifier: MIT
/*
 * Processes that want memory which is not theirs: by handles, offsets, mappings,
 * files, and by being the next one to own it.
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "hostile.h"
#include "job_rig.h"
#include "kselftest_harness.h"

#define MIB		(1024ull * 1024)
#define BYTES		(256u << 10)
#define WILD_COPIES	1500
#define FILES		64

FIXTURE(hostile) {
	struct victim victim;
	struct rig_usage before;
	struct drm_neuron_bo_create bo;
	int fd;
	int watch;
};

FIXTURE_SETUP(hostile)
{
	self->watch = neuron_open(0);
	if (self->watch < 0)
		SKIP(return, "no neuron device");
	rig_usage(self->watch, &self->before);
	ASSERT_GE(self->before.live, 0) TH_LOG("debugfs must be mounted");
	self->fd = neuron_open(0);
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, victim_open(&self->victim, 0));
	ASSERT_EQ(0, neuron_bo_create(self->fd, DRM_NEURON_BO_HBM, 0, BYTES,
				      &self->bo));
	ASSERT_EQ(0, victim_grow(&self->victim));
}

FIXTURE_TEARDOWN(hostile)
{
	if (self->watch < 0)
		return;
	EXPECT_TRUE(victim_is_unhurt(&self->victim));
	victim_close(&self->victim);
	close(self->fd);
	EXPECT_FALSE(rig_leaks(self->watch, &self->before));
	close(self->watch);
}

/* Handles are the file's: what the victim calls by a number, we cannot. */
TEST_F(hostile, handles_of_others)
{
	const uint64_t wild[] = { 0, self->bo.handle + 1, 77, 0x7fffffff,
				  0x80000000, 0xffffffff };
	struct drm_neuron_bo_info info = { 0 };
	uint8_t byte = 0;
	unsigned int i;

	ASSERT_NE(self->bo.handle, self->victim.bo[1].handle);
	for (i = 0; i < ARRAY_SIZE(wild); i++) {
		const uint32_t h = (uint32_t)wild[i];

		info.handle = h;
		must_fail(ENOENT, self->fd, BO_INFO, &info);
		EXPECT_EQ(-ENOENT, neuron_read(self->fd, h, 0, &byte, 1));
		EXPECT_EQ(-ENOENT, neuron_write(self->fd, h, 0, &byte, 1));
		EXPECT_EQ(-ENOENT, neuron_bo_copy(self->fd, h, 0,
						  self->bo.handle, 0, 1));
		EXPECT_EQ(-ENOENT, neuron_bo_copy(self->fd, self->bo.handle, 0,
						  h, 0, 1));
		EXPECT_EQ(-ENOENT, neuron_export(self->fd, h));
		EXPECT_EQ(-EINVAL, neuron_bo_close(self->fd, h));
	}
}

TEST_F(hostile, offsets_of_other_mappings)
{
	uint64_t seed = 1;
	unsigned int i;
	void *p;

	for (i = 0; i < self->victim.nr; i++) {
		p = mmap(NULL, VICTIM_BYTES, PROT_READ, MAP_SHARED, self->fd,
			 (off_t)self->victim.bo[i].mmap_offset);
		ASSERT_EQ(MAP_FAILED, p);
		EXPECT_EQ(EACCES, errno);
	}
	/* One's own: not past its end, not its end alone with what is behind. */
	EXPECT_EQ(MAP_FAILED, mmap(NULL, BYTES + 4096, PROT_READ, MAP_SHARED,
				   self->fd, (off_t)self->bo.mmap_offset));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, BYTES, PROT_READ, MAP_SHARED, self->fd,
				   (off_t)self->bo.mmap_offset + 4096));
	for (i = 0; i < 1000; i++) {
		uint64_t at = hostile_number(&seed) << 12;

		if (at >= self->bo.mmap_offset &&
		    at < self->bo.mmap_offset + BYTES)
			continue;
		p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
			 self->fd, (off_t)at);
		ASSERT_EQ(MAP_FAILED, p) TH_LOG("offset %#llx", (long long)at);
	}
}

/* A mapping cannot grow, and cannot be made private to be written. */
TEST_F(hostile, mappings_do_not_grow)
{
	uint8_t *p = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, self->fd,
			  (off_t)self->bo.mmap_offset);

	ASSERT_NE(MAP_FAILED, p);
	EXPECT_EQ(MAP_FAILED, mremap(p, BYTES, 2 * BYTES, MREMAP_MAYMOVE));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE, self->fd,
				   (off_t)self->bo.mmap_offset));
	/* The kernel's own ways to look at it find no pages. */
	EXPECT_EQ(-1, madvise(p, BYTES, MADV_DODUMP));
	munmap(p, BYTES);
}

/* Copies of any offset and size: inside they work, else nothing is touched. */
TEST_F(hostile, wild_copies)
{
	uint8_t *guard = mmap(NULL, BYTES + 8192, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t seed = 2, offset, size;
	unsigned int i, inside = 0;
	int ret, want;

	ASSERT_NE(MAP_FAILED, guard);
	memset(guard, 0xa5, BYTES + 8192);
	for (i = 0; i < WILD_COPIES; i++) {
		offset = hostile_number(&seed);
		size = hostile_number(&seed);
		want = size <= BYTES && offset <= BYTES - size ? 0 : -EINVAL;
		if (hostile_dice(&seed, 2))
			ret = neuron_read(self->fd, self->bo.handle, offset,
					  guard + 4096, size);
		else
			ret = neuron_write(self->fd, self->bo.handle, offset,
					   guard + 4096, size);
		ASSERT_EQ(want, ret) TH_LOG("offset %#llx size %#llx",
					    (long long)offset, (long long)size);
		inside += !want;
	}
	EXPECT_GT(inside, 10);
	EXPECT_EQ(4096, neuron_differs_from(guard, 4096, 0xa5));
	EXPECT_EQ(4096, neuron_differs_from(guard + 4096 + BYTES, 4096, 0xa5));
	munmap(guard, BYTES + 8192);
}

/*
 * A mapping keeps its memory when handle and file are gone: nobody else gets it,
 * and what others get instead is zero.
 */
TEST_F(hostile, mapping_outlives_its_file)
{
	struct drm_neuron_bo_create other;
	uint8_t *map, *fresh;
	int fd = neuron_open(0);
	unsigned int i;

	map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd,
		   (off_t)self->bo.mmap_offset);
	ASSERT_NE(MAP_FAILED, map);
	neuron_fill(map, BYTES, 7);
	ASSERT_EQ(0, neuron_bo_close(self->fd, self->bo.handle));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, BYTES, PROT_READ, MAP_SHARED,
				   self->fd, (off_t)self->bo.mmap_offset));
	close(self->fd);
	self->fd = neuron_open(0);
	for (i = 0; i < 40; i++) {
		ASSERT_EQ(0, neuron_bo_create(fd, DRM_NEURON_BO_HBM, 0, BYTES,
					      &other));
		fresh = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			     fd, (off_t)other.mmap_offset);
		ASSERT_NE(MAP_FAILED, fresh);
		EXPECT_EQ(BYTES, neuron_differs_from(fresh, BYTES, 0));
		memset(fresh, 0x11, BYTES);
		munmap(fresh, BYTES);
	}
	EXPECT_EQ(BYTES, neuron_differs(map, BYTES, 7));
	munmap(map, BYTES);
	close(fd);
}

/* Fills @nr buffers of a MiB in @placement; the file stays open. */
static int fill_buffers(uint32_t placement, uint32_t stack, unsigned int nr)
{
	struct drm_neuron_bo_create bo;
	int fd = neuron_open(0);
	uint8_t *p;

	while (nr--) {
		if (neuron_bo_create(fd, placement, stack, MIB, &bo))
			return -1;
		p = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			 (off_t)bo.mmap_offset);
		if (p == MAP_FAILED)
			return -1;
		memset(p, 0x77, MIB);
	}
	return fd;
}

static void find_nothing(struct __test_metadata *_metadata, int fd,
			 uint32_t placement, uint32_t stack, unsigned int nr)
{
	uint8_t *p = malloc(MIB), *map;
	struct drm_neuron_bo_create bo;

	ASSERT_NE(NULL, p);
	while (nr--) {
		ASSERT_EQ(0, neuron_bo_create(fd, placement, stack, MIB, &bo));
		memset(p, 0xff, MIB);
		ASSERT_EQ(0, neuron_read(fd, bo.handle, 0, p, MIB));
		ASSERT_EQ(MIB, neuron_differs_from(p, MIB, 0));
		map = mmap(NULL, MIB, PROT_READ, MAP_SHARED, fd,
			   (off_t)bo.mmap_offset);
		ASSERT_NE(MAP_FAILED, map);
		ASSERT_EQ(MIB, neuron_differs_from(map, MIB, 0));
		munmap(map, MIB);
	}
	free(p);
}

/* Killed with its memory full: whoever comes next finds nothing of it. */
TEST_F(hostile, memory_of_the_dead)
{
	int ready[2], status;
	uint32_t stack;
	char byte;
	pid_t pid;

	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		if (fill_buffers(DRM_NEURON_BO_HBM, 0, 12) < 0 ||
		    fill_buffers(DRM_NEURON_BO_HBM, 1, 12) < 0 ||
		    fill_buffers(DRM_NEURON_BO_HOST, 0, 12) < 0)
			_exit(1);
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(2);
	}
	close(ready[1]);
	ASSERT_EQ(1, read(ready[0], &byte, 1)) TH_LOG("the child failed");
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	for (stack = 0; stack < 2; stack++)
		find_nothing(_metadata, self->fd, DRM_NEURON_BO_HBM, stack, 16);
	find_nothing(_metadata, self->fd, DRM_NEURON_BO_HOST, 0, 16);
	close(ready[0]);
}

/* A file opened for reading gives no mapping that can be written. */
TEST_F(hostile, read_only_file)
{
	struct drm_neuron_bo_create bo;
	char path[64];
	uint8_t *p;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", self->fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, neuron_bo_create(fd, DRM_NEURON_BO_HBM, 0, BYTES, &bo));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
				   MAP_SHARED, fd, (off_t)bo.mmap_offset));
	EXPECT_EQ(EACCES, errno);
	p = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, (off_t)bo.mmap_offset);
	ASSERT_NE(MAP_FAILED, p);
	EXPECT_EQ(-1, mprotect(p, BYTES, PROT_READ | PROT_WRITE));
	EXPECT_EQ(BYTES, neuron_differs_from(p, BYTES, 0));
	munmap(p, BYTES);
	close(fd);
}

/* The same of a dma-buf exported without the right to write. */
TEST_F(hostile, read_only_dma_buf)
{
	struct drm_prime_handle prime = {
		.handle = self->bo.handle,
		.flags = DRM_CLOEXEC,
	};
	uint8_t *p;

	ASSERT_EQ(0, neuron_ioctl(self->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD,
				  &prime));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
				   MAP_SHARED, prime.fd, 0));
	p = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, prime.fd, 0);
	ASSERT_NE(MAP_FAILED, p);
	EXPECT_EQ(-1, mprotect(p, BYTES, PROT_READ | PROT_WRITE));
	munmap(p, BYTES);
	close(prime.fd);
}

/* Thousands of handles, and no file descriptors left. */
TEST_F(hostile, limits_of_the_process)
{
	const struct rlimit few = { .rlim_cur = FILES, .rlim_max = FILES };
	struct drm_neuron_bo_create bo;
	uint32_t syncobj;
	unsigned int i, nr = 0;
	int fds[FILES];

	for (i = 0; i < 3000; i++)
		ASSERT_EQ(0, neuron_bo_create(self->fd, DRM_NEURON_BO_HBM,
					      i & 1, 4096, &bo));
	for (i = 0; i < 3000; i++)
		ASSERT_EQ(0, rig_syncobj_create(self->fd, &syncobj));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &few));
	while (nr < FILES && (fds[nr] = dup(self->watch)) >= 0)
		nr++;
	ASSERT_EQ(EMFILE, errno);
	EXPECT_EQ(-EMFILE, neuron_export(self->fd, self->bo.handle));
	while (nr--)
		close(fds[nr]);
	fds[0] = neuron_export(self->fd, self->bo.handle);
	EXPECT_GE(fds[0], 0);
	close(fds[0]);
}

TEST_HARNESS_MAIN
