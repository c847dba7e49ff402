// SPDX-License-Identifier: MIT
/*
 * Buffers of user memory: what can be imported, what programs and copies may do
 * with it, what it counts against, that it is given back.
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "job_rig.h"
#include "kselftest_harness.h"
#include "neuron_test.h"

#define KIB	1024ull
#define MIB	(1024 * KIB)

static int import(int fd, const void *user, uint64_t size, uint32_t flags,
		  uint32_t *handle)
{
	struct drm_neuron_bo_import args = {
		.user = (uintptr_t)user,
		.size = size,
		.flags = flags,
		.category = DRM_NEURON_CATEGORY_APPLICATION,
	};
	int ret = neuron_ioctl(fd, DRM_IOCTL_NEURON_BO_IMPORT, &args);

	*handle = args.handle;
	return ret;
}

/* Bytes of user memory that are imported, all processes; -1: cannot say. */
static long long imported(int fd)
{
	struct drm_neuron_usage_info info[DRM_NEURON_NR_CATEGORIES];
	long long sum = 0;
	int c;

	if (neuron_query(fd, DRM_NEURON_QUERY_USAGE, info, sizeof(info)))
		return -1;
	for (c = 0; c < DRM_NEURON_NR_CATEGORIES; c++)
		sum += info[c].imported;
	return sum;
}

/* VmPin of a process, KiB. */
static long pinned_kib(pid_t pid)
{
	char path[64], line[128];
	long kib = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		sscanf(line, "VmPin: %ld kB", &kib);
	fclose(f);
	return kib;
}

static uint8_t *anonymous(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

FIXTURE(import)
{
	int fd;
	long long imported;
	long pinned;
};

FIXTURE_SETUP(import)
{
	uint32_t handle;
	uint8_t *p;
	int ret;

	self->fd = neuron_open(0);
	if (self->fd < 0)
		SKIP(return, "no neuron device");
	self->imported = imported(self->fd);
	ASSERT_GE(self->imported, 0);
	self->pinned = pinned_kib(getpid());
	p = anonymous(4096);
	ASSERT_NE(NULL, p);
	ret = import(self->fd, p, 4096, 0, &handle);
	if (ret == -EOPNOTSUPP)
		SKIP(return, "the device needs bounce buffers here");
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, neuron_bo_close(self->fd, handle));
	munmap(p, 4096);
}

FIXTURE_TEARDOWN(import)
{
	int fd;

	if (self->fd < 0)
		return;
	close(self->fd);
	fd = neuron_open(0);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(self->imported, imported(fd)) TH_LOG("user memory leaked");
	EXPECT_EQ(self->pinned, pinned_kib(getpid())) TH_LOG("pins leaked");
	close(fd);
}

TEST_F(import, info_and_account)
{
	struct drm_neuron_bo_info info = { 0 };
	uint8_t *p = anonymous(8 * MIB);

	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, import(self->fd, p, 8 * MIB, DRM_NEURON_IMPORT_READ_ONLY,
			    &info.handle));
	must(self->fd, BO_INFO, &info);
	EXPECT_EQ(DRM_NEURON_BO_USER, info.placement);
	EXPECT_EQ(8 * MIB, info.size);
	EXPECT_EQ(0, info.mmap_offset);
	EXPECT_EQ(0, info.peer);
	EXPECT_EQ(DRM_NEURON_CATEGORY_APPLICATION, info.category);
	EXPECT_EQ(DRM_NEURON_IMPORT_READ_ONLY, info.flags);
	EXPECT_EQ(self->imported + 8 * (long long)MIB, imported(self->fd));
	EXPECT_EQ(self->pinned + 8 * 1024, pinned_kib(getpid()));
	ASSERT_EQ(0, neuron_bo_close(self->fd, info.handle));
	EXPECT_EQ(self->imported, imported(self->fd));
	EXPECT_EQ(self->pinned, pinned_kib(getpid()));
	munmap(p, 8 * MIB);
}

/* Both ways, of every size; the process sees its own pages change. */
TEST_F(import, copies)
{
	static const size_t sizes[] = {
		4 * KIB, 8 * KIB, 60 * KIB, 64 * KIB, 2 * MIB - 4 * KIB,
		2 * MIB, 2 * MIB + 4 * KIB, 33 * MIB,
	};
	struct drm_neuron_bo_create hbm;
	uint32_t handle;
	size_t i, size;
	uint8_t *p;

	ASSERT_EQ(0, neuron_bo_create(self->fd, DRM_NEURON_BO_HBM, 0, 64 * MIB,
				      &hbm));
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		size = sizes[i];
		p = anonymous(size);
		ASSERT_NE(NULL, p);
		ASSERT_EQ(0, import(self->fd, p, size, 0, &handle))
			TH_LOG("%zu bytes", size);
		neuron_fill(p, size, i);
		ASSERT_EQ(0, neuron_bo_copy(self->fd, hbm.handle, 5, handle, 1,
					    size - 1));
		neuron_fill(p, size, i + 100);
		ASSERT_EQ(0, neuron_bo_copy(self->fd, handle, 1, hbm.handle, 5,
					    size - 1));
		EXPECT_EQ(neuron_pattern(0, i + 100), p[0]);
		p[0] = neuron_pattern(0, i);
		EXPECT_EQ(size, neuron_differs(p, size, i));
		/* The buffer is one for the other copies too. */
		ASSERT_EQ(0, neuron_write(self->fd, handle, 3, "abc", 3));
		EXPECT_EQ(0, memcmp(p + 3, "abc", 3));
		ASSERT_EQ(0, neuron_bo_close(self->fd, handle));
		munmap(p, size);
	}
}

/* The same pages in two buffers, and some of them in a third. */
TEST_F(import, twice)
{
	uint8_t *p = anonymous(MIB);
	uint32_t handle[3];
	uint8_t text[3];

	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, import(self->fd, p, MIB, 0, &handle[0]));
	ASSERT_EQ(0, import(self->fd, p, MIB, 0, &handle[1]));
	ASSERT_EQ(0, import(self->fd, p + 64 * KIB, 4 * KIB, 0, &handle[2]));
	EXPECT_EQ(self->imported + 2 * (long long)MIB + 4 * (long long)KIB,
		  imported(self->fd));
	ASSERT_EQ(0, neuron_write(self->fd, handle[2], 0, "abc", 3));
	EXPECT_EQ(0, memcmp(p + 64 * KIB, "abc", 3));
	/* Each goes on without the others. */
	ASSERT_EQ(0, neuron_bo_close(self->fd, handle[0]));
	ASSERT_EQ(0, neuron_bo_close(self->fd, handle[2]));
	ASSERT_EQ(0, neuron_read(self->fd, handle[1], 64 * KIB, text, 3));
	EXPECT_EQ(0, memcmp(text, "abc", 3));
	ASSERT_EQ(0, neuron_bo_close(self->fd, handle[1]));
	munmap(p, MIB);
}

TEST_F(import, bad_arguments)
{
	const struct drm_neuron_bo_import good = {
		.user = (uintptr_t)anonymous(20 * KIB),
		.size = 16 * KIB,
	};
	struct drm_neuron_bo_import args = good;

	ASSERT_NE(0, good.user);
	ASSERT_EQ(0, munmap((void *)(good.user + good.size), 4096));
	must(self->fd, BO_IMPORT, &args);
	ASSERT_EQ(0, neuron_bo_close(self->fd, args.handle));
#define expect_import(error, ...) do { \
	args = good; \
	__VA_ARGS__; \
	must_fail(error, self->fd, BO_IMPORT, &args); \
} while (0)
	expect_import(EINVAL, args.size = 0);
	expect_import(EINVAL, args.size = 1);
	expect_import(EINVAL, args.size = 4095);
	expect_import(EINVAL, args.user += 1);
	expect_import(EINVAL, args.user += 2048);
	expect_import(EINVAL, args.flags = 2);
	expect_import(EINVAL, args.flags = ~0u);
	expect_import(EINVAL, args.pad = 1);
	expect_import(EINVAL, args.category = DRM_NEURON_NR_CATEGORIES);
	expect_import(EINVAL, args.user = ~4095ull, args.size = 8192);
	expect_import(EINVAL, args.size = ~4095ull);
	expect_import(ENOMEM, args.size = 1ull << 50);
	expect_import(EFAULT, args.user = 0);
	expect_import(EFAULT, args.user = 0xffffffff81000000);
	/* The last page is not there. */
	expect_import(EFAULT, args.size = 20 * KIB);
	munmap((void *)good.user, good.size);
}

/* Pages of devices, and pages that the process may not write to. */
TEST_F(import, wrong_memory)
{
	struct drm_neuron_bo_create hbm, host;
	uint32_t handle;
	uint8_t *p, *map;

	ASSERT_EQ(0, neuron_bo_create(self->fd, DRM_NEURON_BO_HBM, 0, MIB,
				      &hbm));
	map = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd,
		   hbm.mmap_offset);
	ASSERT_NE(MAP_FAILED, map);
	map[0] = 1;
	EXPECT_EQ(-EFAULT, import(self->fd, map, MIB, 0, &handle));
	EXPECT_EQ(-EFAULT, import(self->fd, map, MIB,
				  DRM_NEURON_IMPORT_READ_ONLY, &handle));
	munmap(map, MIB);

	ASSERT_EQ(0, neuron_bo_create(self->fd, DRM_NEURON_BO_HOST, 0, MIB,
				      &host));
	map = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd,
		   host.mmap_offset);
	ASSERT_NE(MAP_FAILED, map);
	map[0] = 1;
	EXPECT_EQ(-EFAULT, import(self->fd, map, MIB, 0, &handle));
	munmap(map, MIB);

	p = anonymous(MIB);
	ASSERT_NE(NULL, p);
	memset(p, 7, MIB);
	ASSERT_EQ(0, mprotect(p, MIB, PROT_READ));
	EXPECT_EQ(-EFAULT, import(self->fd, p, MIB, 0, &handle));
	EXPECT_EQ(0, import(self->fd, p, MIB, DRM_NEURON_IMPORT_READ_ONLY,
			    &handle));
	munmap(p, MIB);
}

/* Neither its address for everybody, nor a mapping, nor a dma-buf. */
TEST_F(import, private_to_the_process)
{
	uint8_t *p = anonymous(MIB);
	uint32_t handle;

	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, import(self->fd, p, MIB, 0, &handle));
	EXPECT_EQ(-EOPNOTSUPP, neuron_export(self->fd, handle));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, MIB, PROT_READ, MAP_SHARED, self->fd,
				   0));
	munmap(p, MIB);
}

/* Memory that the process no longer has keeps its pages. */
TEST_F(import, outlives_its_mapping)
{
	struct drm_neuron_bo_create hbm;
	uint8_t *p = anonymous(MIB);
	uint32_t handle;

	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, neuron_bo_create(self->fd, DRM_NEURON_BO_HBM, 0, MIB,
				      &hbm));
	neuron_fill(p, MIB, 3);
	ASSERT_EQ(0, import(self->fd, p, MIB, 0, &handle));
	ASSERT_EQ(0, munmap(p, MIB));
	p = anonymous(MIB);
	ASSERT_NE(NULL, p);
	memset(p, 0, MIB);
	ASSERT_EQ(0, neuron_read(self->fd, handle, 0, p, MIB));
	EXPECT_EQ(MIB, neuron_differs(p, MIB, 3));
	munmap(p, MIB);
}

/* After a fork the pages are the parent's: what the child writes is its own. */
TEST_F(import, fork)
{
	uint8_t *p = anonymous(MIB), byte;
	uint32_t handle;
	int status;
	pid_t child;

	ASSERT_NE(NULL, p);
	memset(p, 1, MIB);
	ASSERT_EQ(0, import(self->fd, p, MIB, 0, &handle));
	child = fork();
	ASSERT_GE(child, 0);
	if (!child) {
		memset(p, 2, MIB);
		_exit(0);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	p[5] = 3;
	ASSERT_EQ(0, neuron_read(self->fd, handle, 5, &byte, 1));
	EXPECT_EQ(3, byte);
	ASSERT_EQ(0, neuron_read(self->fd, handle, 6, &byte, 1));
	EXPECT_EQ(1, byte);
	munmap(p, MIB);
}

/* Pages of a file in memory, imported by two buffers at once. */
TEST_F(import, shared_pages)
{
	uint32_t first, second;
	uint8_t *p, byte = 9;
	int memfd;

	memfd = memfd_create("import", MFD_CLOEXEC);
	ASSERT_GE(memfd, 0);
	ASSERT_EQ(0, ftruncate(memfd, MIB));
	p = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	ASSERT_NE(MAP_FAILED, p);
	ASSERT_EQ(0, import(self->fd, p, MIB, 0, &first));
	ASSERT_EQ(0, import(self->fd, p, MIB, 0, &second));
	ASSERT_EQ(0, neuron_write(self->fd, first, 77, &byte, 1));
	byte = 0;
	ASSERT_EQ(0, neuron_read(self->fd, second, 77, &byte, 1));
	EXPECT_EQ(9, byte);
	EXPECT_EQ(9, p[77]);
	/* What the device wrote is in the file. */
	ASSERT_EQ(0, neuron_bo_close(self->fd, first));
	ASSERT_EQ(0, neuron_bo_close(self->fd, second));
	munmap(p, MIB);
	byte = 0;
	ASSERT_EQ(1, pread(memfd, &byte, 1, 77));
	EXPECT_EQ(9, byte);
	close(memfd);
}

/* As the user nobody, with a limit of 1 MiB. Return: exit status. */
static int import_as_nobody(int fd)
{
	const struct rlimit limit = { MIB, MIB };
	uint8_t *p = anonymous(4 * MIB);
	uint32_t half, whole, other;

	if (!p || setrlimit(RLIMIT_MEMLOCK, &limit) ||
	    setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
		return 1;
	if (import(fd, p, MIB + 4096, 0, &other) != -ENOMEM)
		return 2;
	if (import(fd, p, MIB, 0, &whole))
		return 3;
	if (import(fd, p + MIB, 4096, 0, &other) != -ENOMEM)
		return 4;
	if (neuron_bo_close(fd, whole) ||
	    import(fd, p, MIB / 2, 0, &half) ||
	    import(fd, p, MIB / 2, 0, &other))
		return 5;
	if (import(fd, p + MIB, 4096, 0, &whole) != -ENOMEM)
		return 6;
	return pinned_kib(getpid()) == 1024 ? 0 : 7;
}

TEST_F(import, locked_memory_limit)
{
	int status;
	pid_t child;

	child = fork();
	ASSERT_GE(child, 0);
	if (!child)
		_exit(import_as_nobody(self->fd));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status)) TH_LOG("see import_as_nobody()");
}

/* Whoever may lock all memory may import it: the rest of the tests do. */
TEST_F(import, killed_process)
{
	int i, status;
	pid_t child;

	for (i = 0; i < 5; i++) {
		child = fork();
		ASSERT_GE(child, 0);
		if (!child) {
			uint8_t *p = anonymous(64 * MIB);
			int fd = neuron_open(0);
			uint32_t handle;

			while (p && fd >= 0 &&
			       !import(fd, p, 64 * MIB, 0, &handle) &&
			       !neuron_bo_close(fd, handle))
				;
			_exit(1);
		}
		usleep(150000);
		ASSERT_EQ(0, kill(child, SIGKILL));
		ASSERT_EQ(child, waitpid(child, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
		EXPECT_EQ(self->imported, imported(self->fd));
	}
}

FIXTURE(import_window)
{
	struct rig rig;
	uint8_t *p;
	struct drm_neuron_window window;
};

#define WINDOW_BYTES	(256 * KIB)

FIXTURE_SETUP(import_window)
{
	int ret = rig_open(&self->rig, 0, RIG_ANY_CORE);

	if (ret == -ENODEV)
		SKIP(return, "no neuron device");
	ASSERT_EQ(0, ret);
	self->p = anonymous(WINDOW_BYTES);
	ASSERT_NE(NULL, self->p);
	self->window = (struct drm_neuron_window){
		.index = RIG_WINDOW_FREE,
		.kind = DRM_NEURON_WINDOW_BO,
		.rights = DRM_NEURON_WINDOW_READ,
		.length = WINDOW_BYTES,
	};
}

FIXTURE_TEARDOWN(import_window)
{
	rig_close(&self->rig);
}

/* A program copies out of user memory, and into it. */
TEST_F(import_window, jobs)
{
	struct drm_neuron_wait_job result;
	int ret;

	ret = import(self->rig.fd, self->p, WINDOW_BYTES, 0,
		     &self->window.handle);
	if (ret == -EOPNOTSUPP)
		SKIP(return, "the device needs bounce buffers here");
	ASSERT_EQ(0, ret);
	self->window.rights |= DRM_NEURON_WINDOW_WRITE;
	ASSERT_EQ(0, rig_windows(&self->rig, &self->window, 1));
	neuron_fill(self->p, WINDOW_BYTES, 1);
	rig_copy(&self->rig, NEURON_ENGINE_SYNC,
		 neuron_window_addr(RIG_WINDOW_DATA, 0),
		 neuron_window_addr(RIG_WINDOW_FREE, 0), 32768);
	rig_halt(&self->rig, NEURON_ENGINE_SYNC);
	ASSERT_EQ(0, rig_run(&self->rig, 20000, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	EXPECT_EQ(32768, neuron_differs(self->rig.data, 32768, 1));

	rig_clear(&self->rig);
	neuron_fill(self->rig.data, 32768, 2);
	rig_copy(&self->rig, NEURON_ENGINE_SYNC,
		 neuron_window_addr(RIG_WINDOW_FREE, WINDOW_BYTES - 32768),
		 neuron_window_addr(RIG_WINDOW_DATA, 0), 32768);
	rig_halt(&self->rig, NEURON_ENGINE_SYNC);
	ASSERT_EQ(0, rig_run(&self->rig, 20000, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	EXPECT_EQ(32768, neuron_differs(self->p + WINDOW_BYTES - 32768, 32768,
					2));
}

/* Imported read-only: no window and no copy writes to it. */
TEST_F(import_window, read_only)
{
	struct drm_neuron_bo_create other;
	struct drm_neuron_wait_job result;
	uint32_t handle;
	int ret;

	neuron_fill(self->p, WINDOW_BYTES, 1);
	ret = import(self->rig.fd, self->p, WINDOW_BYTES,
		     DRM_NEURON_IMPORT_READ_ONLY, &handle);
	if (ret == -EOPNOTSUPP)
		SKIP(return, "the device needs bounce buffers here");
	ASSERT_EQ(0, ret);
	self->window.handle = handle;
	ASSERT_EQ(0, rig_windows(&self->rig, &self->window, 1));
	self->window.rights |= DRM_NEURON_WINDOW_WRITE;
	EXPECT_EQ(-EPERM, rig_windows(&self->rig, &self->window, 1));
	self->window.rights = DRM_NEURON_WINDOW_WRITE;
	EXPECT_EQ(-EPERM, rig_windows(&self->rig, &self->window, 1));

	ASSERT_EQ(0, neuron_bo_create(self->rig.fd, DRM_NEURON_BO_HBM, 0,
				      WINDOW_BYTES, &other));
	EXPECT_EQ(0, neuron_bo_copy(self->rig.fd, other.handle, 0, handle, 0,
				    WINDOW_BYTES));
	EXPECT_EQ(-EPERM, neuron_bo_copy(self->rig.fd, handle, 0, other.handle,
					 0, 4096));
	EXPECT_EQ(-EPERM, neuron_write(self->rig.fd, handle, 0, "x", 1));

	/* A program that tries ends, and the memory is as it was. */
	rig_copy(&self->rig, NEURON_ENGINE_SYNC,
		 neuron_window_addr(RIG_WINDOW_FREE, 0),
		 neuron_window_addr(RIG_WINDOW_DATA, 0), 4096);
	rig_halt(&self->rig, NEURON_ENGINE_SYNC);
	ASSERT_EQ(0, rig_run(&self->rig, 20000, &result));
	EXPECT_EQ(NEURON_JOB_ERROR, result.status);
	EXPECT_EQ(WINDOW_BYTES, neuron_differs(self->p, WINDOW_BYTES, 1));
}

TEST_HARNESS_MAIN
