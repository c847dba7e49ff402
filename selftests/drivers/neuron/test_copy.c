// SPDX-License-Identifier: MIT
/*
 * Copies between user memory and buffers: every size and alignment, bad input,
 * many at once.
 */
#include <pthread.h>

#include "kselftest_harness.h"
#include "neuron_test.h"

#define KIB	1024ull
#define MIB	(1024 * KIB)
#define GUARD	64		/* bytes on each side that must not change */
#define GUARD_BYTE	0x77

FIXTURE(copy)
{
	int fd;
	struct drm_neuron_bo_create bo;
};

FIXTURE_VARIANT(copy)
{
	uint32_t placement;
};

FIXTURE_VARIANT_ADD(copy, hbm)
{
	.placement = DRM_NEURON_BO_HBM,
};

FIXTURE_VARIANT_ADD(copy, host)
{
	.placement = DRM_NEURON_BO_HOST,
};

#define BO_BYTES	(65 * MIB)

FIXTURE_SETUP(copy)
{
	self->fd = neuron_open(0);
	if (self->fd < 0)
		SKIP(return, "no neuron device");
	ASSERT_EQ(0, neuron_bo_create(self->fd, variant->placement, 0, BO_BYTES,
				      &self->bo));
}

FIXTURE_TEARDOWN(copy)
{
	close(self->fd);
}

/* What went wrong with a round trip, or NULL. */
static const char *round_trip(int fd, uint32_t handle, uint8_t *memory,
			      size_t user, uint64_t offset, size_t size)
{
	uint8_t *p = memory + GUARD + user;
	uint32_t seed = size + user + offset;

	neuron_fill(p, size, seed);
	if (neuron_write(fd, handle, offset, p, size))
		return "write";
	memset(p - GUARD, GUARD_BYTE, size + 2 * GUARD);
	if (neuron_read(fd, handle, offset, p, size))
		return "read";
	if (neuron_differs(p, size, seed) != size)
		return "other data came back";
	if (neuron_differs_from(p - GUARD, GUARD, GUARD_BYTE) != GUARD ||
	    neuron_differs_from(p + size, GUARD, GUARD_BYTE) != GUARD)
		return "bytes beside the destination changed";
	return NULL;
}

TEST_F(copy, every_alignment)
{
	static const size_t sizes[] = {
		1, 2, 3, 63, 64, 4095, 4096, 4097, 65535, 65536, 65537,
		MIB + 1, 2 * MIB - 1, 2 * MIB, 2 * MIB + 3,
	};
	static const size_t users[] = { 0, 1, 13, 4031 };
	static const uint64_t offsets[] = { 0, 1, 4095, 65537 };
	uint8_t *memory = aligned_alloc(4096, 4 * MIB);
	const char *why;
	size_t s, u, o;

	ASSERT_NE(NULL, memory);
	for (s = 0; s < ARRAY_SIZE(sizes); s++)
		for (u = 0; u < ARRAY_SIZE(users); u++)
			for (o = 0; o < ARRAY_SIZE(offsets); o++) {
				why = round_trip(self->fd, self->bo.handle,
						 memory, users[u], offsets[o],
						 sizes[s]);
				ASSERT_EQ(NULL, why)
					TH_LOG("%s: size %zu user %zu offset %llu",
					       why, sizes[s], users[u],
					       (unsigned long long)offsets[o]);
			}
	free(memory);
}

TEST_F(copy, large)
{
	static const size_t sizes[] = { 8 * MIB + 5, 33 * MIB + 1, 64 * MIB };
	uint8_t *memory = aligned_alloc(4096, 66 * MIB);
	const char *why;
	size_t s;

	ASSERT_NE(NULL, memory);
	for (s = 0; s < ARRAY_SIZE(sizes); s++) {
		why = round_trip(self->fd, self->bo.handle, memory, 3, 4097,
				 sizes[s]);
		ASSERT_EQ(NULL, why) TH_LOG("%s: size %zu", why, sizes[s]);
	}
	free(memory);
}

/* Bytes of the buffer beside a copy stay what they were. */
TEST_F(copy, buffer_guards)
{
	static const size_t sizes[] = { 1, 5, 4096, 65537 };
	uint8_t *memory = malloc(256 * KIB);
	size_t s, size;

	ASSERT_NE(NULL, memory);
	for (s = 0; s < ARRAY_SIZE(sizes); s++) {
		size = sizes[s];
		memset(memory, GUARD_BYTE, 256 * KIB);
		ASSERT_EQ(0, neuron_write(self->fd, self->bo.handle, 0, memory,
					  256 * KIB));
		neuron_fill(memory, size, s);
		ASSERT_EQ(0, neuron_write(self->fd, self->bo.handle, 4099,
					  memory, size));
		ASSERT_EQ(0, neuron_read(self->fd, self->bo.handle, 0, memory,
					 256 * KIB));
		EXPECT_EQ(4099, neuron_differs_from(memory, 4099, GUARD_BYTE));
		EXPECT_EQ(size, neuron_differs(memory + 4099, size, s));
		EXPECT_EQ(64, neuron_differs_from(memory + 4099 + size, 64,
						  GUARD_BYTE));
	}
	free(memory);
}

TEST_F(copy, buffer_to_buffer)
{
	static const uint32_t places[] = {
		DRM_NEURON_BO_HBM, DRM_NEURON_BO_HOST,
	};
	const size_t size = 5 * MIB + 77;
	struct drm_neuron_bo_create dst;
	uint8_t *p = malloc(size);
	uint32_t i;

	ASSERT_NE(NULL, p);
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		ASSERT_EQ(0, neuron_bo_create(self->fd, places[i],
					      places[i] == DRM_NEURON_BO_HBM,
					      6 * MIB, &dst));
		neuron_fill(p, size, i);
		ASSERT_EQ(0, neuron_write(self->fd, self->bo.handle, 3, p,
					  size));
		ASSERT_EQ(0, neuron_bo_copy(self->fd, dst.handle, 1001,
					    self->bo.handle, 3, size));
		memset(p, 0, size);
		ASSERT_EQ(0, neuron_read(self->fd, dst.handle, 1001, p, size));
		EXPECT_EQ(size, neuron_differs(p, size, i));
		ASSERT_EQ(0, neuron_bo_close(self->fd, dst.handle));
	}
	/* In one buffer, apart and touching. */
	ASSERT_EQ(0, neuron_bo_copy(self->fd, self->bo.handle, 10 * MIB,
				    self->bo.handle, 3, size));
	ASSERT_EQ(0, neuron_bo_copy(self->fd, self->bo.handle, 3 + size,
				    self->bo.handle, 3, size));
	ASSERT_EQ(0, neuron_read(self->fd, self->bo.handle, 3 + size, p, size));
	EXPECT_EQ(size, neuron_differs(p, size, i - 1));
	EXPECT_EQ(-EINVAL, neuron_bo_copy(self->fd, self->bo.handle, 4,
					  self->bo.handle, 3, size));
	EXPECT_EQ(-EINVAL, neuron_bo_copy(self->fd, self->bo.handle, 3,
					  self->bo.handle, 2 + size, size));
	free(p);
}

TEST_F(copy, bad_ranges)
{
	const uint32_t handle = self->bo.handle;
	uint8_t p[64];
	int i;

	static const struct {
		uint64_t offset, size;
	} bad[] = {
		{ BO_BYTES, 1 }, { BO_BYTES - 1, 2 }, { 0, BO_BYTES + 1 },
		{ ~0ull, 1 }, { ~0ull, 2 }, { 1, ~0ull }, { ~0ull, ~0ull },
		{ 1ull << 63, 1ull << 63 },
	};

	for (i = 0; i < (int)ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-EINVAL, neuron_write(self->fd, handle, bad[i].offset,
						p, bad[i].size))
			TH_LOG("entry %d", i);
		EXPECT_EQ(-EINVAL, neuron_read(self->fd, handle, bad[i].offset,
					       p, bad[i].size));
		EXPECT_EQ(-EINVAL, neuron_bo_copy(self->fd, handle,
						  bad[i].offset, handle, 0,
						  bad[i].size));
		EXPECT_EQ(-EINVAL, neuron_bo_copy(self->fd, handle, 0, handle,
						  bad[i].offset, bad[i].size));
	}
	/* Nothing at the end, and the last byte, are fine. */
	EXPECT_EQ(0, neuron_write(self->fd, handle, BO_BYTES, p, 0));
	EXPECT_EQ(0, neuron_write(self->fd, handle, BO_BYTES - 1, p, 1));
}

TEST_F(copy, bad_fields)
{
	uint8_t p[64] = { 0 };
	const struct drm_neuron_copy good = {
		.direction = DRM_NEURON_COPY_TO_DEVICE,
		.handle = self->bo.handle,
		.user = (uintptr_t)p,
		.size = sizeof(p),
	};
	struct drm_neuron_copy copy = good;

	must(self->fd, COPY, &copy);
	copy.direction = 3;
	must_fail(EINVAL, self->fd, COPY, &copy);
	copy = good;
	copy.flags = 1;
	must_fail(EINVAL, self->fd, COPY, &copy);
	copy = good;
	copy.src_handle = self->bo.handle;
	must_fail(EINVAL, self->fd, COPY, &copy);
	copy = good;
	copy.src_offset = 4096;
	must_fail(EINVAL, self->fd, COPY, &copy);
	copy = good;
	copy.handle = 0x7fffffff;
	must_fail(ENOENT, self->fd, COPY, &copy);
	copy = good;
	copy.direction = DRM_NEURON_COPY_BUFFER;
	copy.src_handle = self->bo.handle;
	copy.src_offset = 4096;
	must_fail(EINVAL, self->fd, COPY, &copy);
	copy.user = 0;
	must(self->fd, COPY, &copy);
	copy.src_handle = 0x7fffffff;
	must_fail(ENOENT, self->fd, COPY, &copy);
}

/* User memory that is not there, or not ours to write. */
TEST_F(copy, bad_user_memory)
{
	const uint32_t handle = self->bo.handle;
	const size_t size = 8 * MIB;
	uint8_t *p, *bo;

	p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, p);
	EXPECT_EQ(-EFAULT, neuron_write(self->fd, handle, 0, NULL, 4096));
	EXPECT_EQ(-EFAULT, neuron_write(self->fd, handle, 0,
					(void *)0xffffffff81000000, 4096));
	EXPECT_EQ(-EINVAL, neuron_write(self->fd, handle, 0, (void *)~4095ul,
					8192));

	/* A hole behind the pieces that are in flight first. */
	ASSERT_EQ(0, munmap(p + 5 * MIB, 4096));
	EXPECT_EQ(-EFAULT, neuron_write(self->fd, handle, 0, p, size));
	EXPECT_EQ(-EFAULT, neuron_read(self->fd, handle, 0, p, size));

	ASSERT_EQ(0, mprotect(p, 4096, PROT_READ));
	EXPECT_EQ(-EFAULT, neuron_read(self->fd, handle, 0, p, 4096));
	EXPECT_EQ(0, neuron_write(self->fd, handle, 0, p, 4096));

	/* Device memory is no user memory. */
	bo = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd,
		  self->bo.mmap_offset);
	ASSERT_NE(MAP_FAILED, bo);
	EXPECT_EQ(-EFAULT, neuron_write(self->fd, handle, 8192, bo, 4096));

	/* All that did no harm. */
	neuron_fill(p + MIB, MIB, 9);
	EXPECT_EQ(0, neuron_write(self->fd, handle, 1, p + MIB, MIB));
	EXPECT_EQ(0, neuron_read(self->fd, handle, 1, p + 2 * MIB, MIB));
	EXPECT_EQ(MIB, neuron_differs(p + 2 * MIB, MIB, 9));
	munmap(bo, 4096);
	munmap(p, size);
}

/* Pages of a file and pages shared with a child after a fork. */
TEST_F(copy, other_kinds_of_pages)
{
	const size_t size = MIB;
	FILE *file = tmpfile();
	uint8_t *p;

	ASSERT_NE(NULL, file);
	ASSERT_EQ(0, ftruncate(fileno(file), size));
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file),
		 0);
	ASSERT_NE(MAP_FAILED, p);
	neuron_fill(p, size, 6);
	ASSERT_EQ(0, neuron_write(self->fd, self->bo.handle, 0, p, size));
	memset(p, 0, size);
	ASSERT_EQ(0, neuron_read(self->fd, self->bo.handle, 0, p, size));
	EXPECT_EQ(size, neuron_differs(p, size, 6));
	munmap(p, size);
	fclose(file);

	/* Reading into the zero page's mapping must not write to it. */
	p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, p);
	EXPECT_EQ(size, neuron_differs_from(p, size, 0));
	ASSERT_EQ(0, neuron_read(self->fd, self->bo.handle, 0, p, size));
	EXPECT_EQ(size, neuron_differs(p, size, 6));
	munmap(p, size);
	p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, p);
	EXPECT_EQ(4096, neuron_differs_from(p, 4096, 0));
	munmap(p, 4096);
}

struct worker {
	int fd;
	uint32_t handle;
	uint64_t offset;
	uint32_t seed;
	const char *why;
};

#define WORKERS		6
#define WORKER_BYTES	(3 * MIB + 11)

static void *work(void *arg)
{
	struct worker *w = arg;
	uint8_t *memory = malloc(WORKER_BYTES + 2 * GUARD + 8);
	int i;

	for (i = 0; i < 8 && !w->why; i++)
		w->why = memory ? round_trip(w->fd, w->handle, memory, i,
					     w->offset, WORKER_BYTES - i) :
				  "malloc";
	free(memory);
	return NULL;
}

TEST_F(copy, many_at_once)
{
	struct worker w[WORKERS] = { 0 };
	pthread_t thread[WORKERS];
	int i;

	for (i = 0; i < WORKERS; i++) {
		w[i].fd = self->fd;
		w[i].handle = self->bo.handle;
		w[i].offset = i * (WORKER_BYTES + 1);
		w[i].seed = i;
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, work, &w[i]));
	}
	for (i = 0; i < WORKERS; i++) {
		ASSERT_EQ(0, pthread_join(thread[i], NULL));
		EXPECT_EQ(NULL, w[i].why) TH_LOG("worker %d: %s", i, w[i].why);
	}
}

#define SHARED_BYTES	(256 * KIB)

struct reader {
	int fd;
	uint32_t handle;
	uint8_t *memory;
	const char *why;
};

static void *read_shared(void *arg)
{
	struct reader *r = arg;
	int i;

	for (i = 0; i < 20 && !r->why; i++)
		if (neuron_read(r->fd, r->handle, 0, r->memory, SHARED_BYTES))
			r->why = "COPY from device";
	return NULL;
}

/*
 * Several copies into the same memory. A debug kernel (DMA-API) warns when the driver claims to
 * be the only one that has mapped its pages.
 */
TEST_F(copy, same_memory)
{
	struct reader r[WORKERS] = { 0 };
	uint8_t *memory = malloc(SHARED_BYTES);
	pthread_t thread[WORKERS];
	int i;

	ASSERT_NE(NULL, memory);
	neuron_fill(memory, SHARED_BYTES, 5);
	ASSERT_EQ(0, neuron_write(self->fd, self->bo.handle, 0, memory, SHARED_BYTES));
	memset(memory, 0, SHARED_BYTES);
	for (i = 0; i < WORKERS; i++) {
		r[i].fd = self->fd;
		r[i].handle = self->bo.handle;
		r[i].memory = memory;
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, read_shared, &r[i]));
	}
	for (i = 0; i < WORKERS; i++) {
		ASSERT_EQ(0, pthread_join(thread[i], NULL));
		EXPECT_EQ(NULL, r[i].why) TH_LOG("worker %d: %s", i, r[i].why);
	}
	EXPECT_EQ(SHARED_BYTES, neuron_differs(memory, SHARED_BYTES, 5));
	free(memory);
}

/* No error was met on the way, and nothing is left in flight. */
TEST_F(copy, queues_are_quiet)
{
	unsigned long long in_flight, errors;
	char state[16];
	int queues = 0;
	FILE *f;

	f = neuron_debugfs(self->fd, "copy");
	ASSERT_NE(NULL, f);
	ASSERT_NE(EOF, fscanf(f, "%*[^\n]\n"));
	while (fscanf(f, "%*u %*u %*u %llu %*u %*u %llu %15s\n", &in_flight,
		      &errors, state) == 3) {
		EXPECT_EQ(0, in_flight);
		EXPECT_EQ(0, errors);
		EXPECT_STREQ("ready", state);
		queues++;
	}
	fclose(f);
	EXPECT_GE(queues, 1);
}

TEST_HARNESS_MAIN
