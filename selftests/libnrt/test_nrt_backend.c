// SPDX-License-Identifier: MIT
/*
 * The table of a back end: what its functions do, and what they answer to what is wrong. The
 * driver and chips in the process are asked the same, and must say the same. Jobs are in
 * test_nrt_backend_jobs.c, what is named by file descriptors in test_nrt_names.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "backend_rig.h"

#define PAGE		4096u
#define NO_HANDLE	4000000u
#define MANY		(1ull << 50)	/* bytes that no memory has */

FIXTURE(table)
{
	struct backend_rig rig;
};

FIXTURE_SETUP(table)
{
	ASSERT_EQ(0, backend_open(&self->rig));
}

FIXTURE_TEARDOWN(table)
{
	backend_close(&self->rig);
}

/* --- questions --- */

TEST_F_TIMEOUT(table, query, BACKEND_LIMIT_S)
{
	struct drm_neuron_core_info cores[64];
	struct drm_neuron_query query = { .type = DRM_NEURON_QUERY_CORES };
	struct backend_rig *rig = &self->rig;

	/* Without a pointer the numbers alone. */
	ASSERT_EQ(0, rig->backend->query(rig->chip, &query));
	EXPECT_EQ(rig->info.nr_cores, query.answer.count);
	EXPECT_EQ(sizeof(cores[0]), query.answer.stride);
	/* With room for one of several the others stay. */
	memset(cores, 0x5a, sizeof(cores));
	query.answer = ARRAY_OF(&cores[0]);
	ASSERT_EQ(0, rig->backend->query(rig->chip, &query));
	EXPECT_EQ(rig->info.nr_cores, query.answer.count);
	EXPECT_EQ((uint32_t)getpid(), cores[0].owner_pid);
	EXPECT_EQ(DRM_NEURON_CORE_CLAIMED, cores[0].flags);
	EXPECT_EQ(0x5a5a5a5a, cores[1].flags);
	query.answer = (struct drm_neuron_array){ .pointer = (uintptr_t)cores, .count = 1 };
	EXPECT_EQ(-EINVAL, rig->backend->query(rig->chip, &query));
	query.answer = ARRAY_OF(&cores[0]);
	query.pad = 1;
	EXPECT_EQ(-EINVAL, rig->backend->query(rig->chip, &query));
	query.pad = 0;
	query.type = 1000;
	EXPECT_EQ(-EINVAL, rig->backend->query(rig->chip, &query));
}

/* --- buffers --- */

static const struct create_case {
	struct drm_neuron_bo_create args;
	int expected;
	const char *what;
} create_cases[] = {
	{ { .size = 0 }, -EINVAL, "no bytes" },
	{ { .size = UINT64_MAX }, -EINVAL, "a size that does not round up" },
	{ { .size = PAGE, .placement = DRM_NEURON_BO_USER }, -EINVAL, "user memory" },
	{ { .size = PAGE, .placement = 3 }, -EINVAL, "no placement" },
	{ { .size = PAGE, .stack = 100 }, -EINVAL, "no stack" },
	{ { .size = PAGE, .placement = DRM_NEURON_BO_HOST, .stack = 1 }, -EINVAL,
	  "a stack of host memory" },
	{ { .size = PAGE, .flags = 1u << 31 }, -EINVAL, "unknown flags" },
	{ { .size = PAGE, .flags = DRM_NEURON_BO_STREAM }, -EINVAL, "a stream in HBM" },
	{ { .size = PAGE, .category = DRM_NEURON_NR_CATEGORIES }, -EINVAL, "no category" },
	{ { .size = PAGE, .pad = 1 }, -EINVAL, "a pad" },
	{ { .size = MANY }, -ENOSPC, "more than a stack" },
	{ { .size = MANY, .placement = DRM_NEURON_BO_HOST }, -ENOMEM, "more than the host" },
};

TEST_F_TIMEOUT(table, buffers_that_cannot_be, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	size_t i;

	for (i = 0; i < sizeof(create_cases) / sizeof(create_cases[0]); i++) {
		struct drm_neuron_bo_create args = create_cases[i].args;

		EXPECT_EQ(create_cases[i].expected, rig->backend->bo_create(rig->chip, &args)) {
			TH_LOG("%s", create_cases[i].what);
		}
	}
}

TEST_F_TIMEOUT(table, buffers, BACKEND_LIMIT_S)
{
	static const uint32_t placements[] = { DRM_NEURON_BO_HBM, DRM_NEURON_BO_HOST };
	struct backend_rig *rig = &self->rig;
	uint8_t bytes[PAGE], zeros[PAGE] = { 0 };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct drm_neuron_bo_create args = {
			.size = 1,
			.placement = placements[i],
			.category = DRM_NEURON_CATEGORY_TENSORS,
		};
		struct drm_neuron_bo_info info = { .pad = 1 };

		ASSERT_EQ(0, rig->backend->bo_create(rig->chip, &args));
		EXPECT_EQ(PAGE, args.size);
		memset(bytes, 1, sizeof(bytes));
		ASSERT_EQ(0, backend_read(rig, args.handle, 0, bytes, PAGE));
		EXPECT_EQ(0, memcmp(bytes, zeros, PAGE));
		info.handle = args.handle;
		EXPECT_EQ(-EINVAL, rig->backend->bo_info(rig->chip, &info));
		info.pad = 0;
		ASSERT_EQ(0, rig->backend->bo_info(rig->chip, &info));
		EXPECT_EQ(PAGE, info.size);
		EXPECT_EQ(placements[i], info.placement);
		EXPECT_EQ(DRM_NEURON_CATEGORY_TENSORS, info.category);
		EXPECT_EQ(args.mmap_offset, info.mmap_offset);
		EXPECT_EQ(0, info.peer);
		EXPECT_EQ(rig->info.fabric_id, info.fabric_id);
	}
}

static int show(struct backend_rig *rig, uint32_t handle)
{
	const struct drm_neuron_window window = {
		.index = 1,
		.kind = DRM_NEURON_WINDOW_BO,
		.rights = DRM_NEURON_WINDOW_READ,
		.handle = handle,
		.length = PAGE,
	};
	struct drm_neuron_windows args = { .claim = rig->claim, .windows = ARRAY_OF(&window) };

	return rig->backend->windows(rig->chip, &args);
}

/* Nothing takes a handle that was closed, nor 0; a window keeps what it shows. */
TEST_F_TIMEOUT(table, stale_handles, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_bo_create args = { .size = PAGE };
	uint32_t handles[2] = { 0 };
	unsigned int i;
	uint8_t byte;
	void *map;
	int fd;

	ASSERT_EQ(0, rig->backend->bo_create(rig->chip, &args));
	ASSERT_EQ(0, show(rig, args.handle));
	rig->backend->bo_close(rig->chip, args.handle);
	handles[1] = args.handle;
	for (i = 0; i < 2; i++) {
		struct drm_neuron_bo_info info = { .handle = handles[i] };

		EXPECT_EQ(-ENOENT, rig->backend->bo_info(rig->chip, &info));
		EXPECT_EQ(-ENOENT, backend_write(rig, handles[i], 0, "", 1));
		EXPECT_EQ(-ENOENT, backend_read(rig, handles[i], 0, &byte, 1));
		EXPECT_EQ(-ENOENT, rig->backend->bo_export(rig->chip, handles[i], &fd));
		EXPECT_EQ(-ENOENT, show(rig, handles[i]));
		/* Twice is once. */
		rig->backend->bo_close(rig->chip, handles[i]);
	}
	/* No window keeps this one. */
	args = (struct drm_neuron_bo_create){ .size = PAGE };
	ASSERT_EQ(0, rig->backend->bo_create(rig->chip, &args));
	rig->backend->bo_close(rig->chip, args.handle);
	EXPECT_EQ(-EINVAL, rig->backend->bo_map(rig->chip, args.mmap_offset, PAGE, &map));
	EXPECT_EQ(-EINVAL, rig->backend->bo_map(rig->chip, 0, PAGE, &map));
}

static bool uses(struct backend_rig *rig, uint64_t bytes)
{
	struct drm_neuron_memory_info stack = { 0 };

	return !backend_query(rig, DRM_NEURON_QUERY_MEMORY, &stack, sizeof(stack), 1) &&
	       stack.used == bytes;
}

TEST_F_TIMEOUT(table, memory_comes_back, BACKEND_LIMIT_S)
{
	const struct timespec moment = { .tv_nsec = 10000000 };
	struct drm_neuron_memory_info stack = { 0 };
	struct backend_rig *rig = &self->rig;
	uint32_t handle;
	int tries = 0;

	ASSERT_EQ(0, backend_query(rig, DRM_NEURON_QUERY_MEMORY, &stack, sizeof(stack), 1));
	ASSERT_EQ(0, backend_buffer(rig, DRM_NEURON_BO_HBM, 64 * PAGE, &handle));
	EXPECT_TRUE(uses(rig, stack.used + 64 * PAGE));
	rig->backend->bo_close(rig->chip, handle);
	while (!uses(rig, stack.used) && tries++ < 1000)
		nanosleep(&moment, NULL);
	EXPECT_TRUE(uses(rig, stack.used));
}

TEST_F_TIMEOUT(table, maps, BACKEND_LIMIT_S)
{
	static const struct {
		uint64_t offset;
		uint64_t size;
	} wrong[] = {
		{ 0, 0 }, { 0, 4 * PAGE }, { PAGE, PAGE }, { 1, PAGE }, { 3 * PAGE, PAGE },
	};
	struct backend_rig *rig = &self->rig;
	unsigned int placement, i;
	void *map, *part;
	uint8_t byte;

	for (placement = DRM_NEURON_BO_HBM; placement <= DRM_NEURON_BO_HOST; placement++) {
		struct drm_neuron_bo_create args = { .size = 3 * PAGE, .placement = placement };

		ASSERT_EQ(0, rig->backend->bo_create(rig->chip, &args));
		ASSERT_EQ(0, rig->backend->bo_map(rig->chip, args.mmap_offset, args.size, &map));
		ASSERT_EQ(0, rig->backend->bo_map(rig->chip, args.mmap_offset, PAGE, &part));
		((uint8_t *)map)[2 * PAGE + 5] = 77;
		((uint8_t *)part)[6] = 78;
		__sync_synchronize();
		ASSERT_EQ(0, backend_read(rig, args.handle, 2 * PAGE + 5, &byte, 1));
		EXPECT_EQ(77, byte);
		ASSERT_EQ(0, backend_read(rig, args.handle, 6, &byte, 1));
		EXPECT_EQ(78, byte);
		rig->backend->bo_unmap(rig->chip, part, PAGE);
		rig->backend->bo_unmap(rig->chip, map, args.size);
		for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
			uint64_t offset = args.mmap_offset + wrong[i].offset;

			EXPECT_EQ(-EINVAL, rig->backend->bo_map(rig->chip, offset, wrong[i].size,
								&map)) {
				TH_LOG("case %u", i);
			}
			EXPECT_EQ(NULL, map);
		}
	}
}

/* --- copies --- */

#define COPY_BYTES	(2 * PAGE)
/* Stand for a handle, and for memory of the caller. */
enum { DST = 1, SRC, USER };

static const struct copy_case {
	struct drm_neuron_copy args;
	int expected;
	const char *what;
} copy_cases[] = {
	{ { 0, DST, 0, USER, 0, 0, 0, COPY_BYTES }, 0, "all of it" },
	{ { 0, DST, COPY_BYTES, USER, 0, 0, 0, 0 }, 0, "nothing at the end" },
	{ { 0, DST, COPY_BYTES, 0, 0, 0, 0, 0 }, 0, "nothing from nowhere" },
	{ { 0, DST, COPY_BYTES + 1, USER, 0, 0, 0, 0 }, -EINVAL, "nothing behind the end" },
	{ { 0, DST, 1, USER, 0, 0, 0, COPY_BYTES }, -EINVAL, "a byte too many" },
	{ { 0, DST, UINT64_MAX, USER, 0, 0, 0, 1 }, -EINVAL, "an offset that wraps" },
	{ { 0, DST, 0, USER, 0, 0, 0, UINT64_MAX }, -EINVAL, "a size that wraps" },
	{ { 1, DST, COPY_BYTES - 1, USER, 0, 0, 0, 2 }, -EINVAL, "a byte too many, read" },
	{ { 3, DST, 0, USER, 0, 0, 0, 1 }, -EINVAL, "no direction" },
	{ { 3, NO_HANDLE, 0, USER, 0, 0, 0, 1 }, -EINVAL, "no direction, of no buffer" },
	{ { 0, DST, 0, USER, 0, 1, 0, 1 }, -EINVAL, "unknown flags" },
	{ { 0, DST, 0, USER, SRC, 0, 0, 1 }, -EINVAL, "two sources" },
	{ { 1, DST, 0, USER, 0, 0, 4, 1 }, -EINVAL, "an offset in no source" },
	{ { 0, DST, 0, 0, 0, 0, 0, 1 }, -EFAULT, "from NULL" },
	{ { 1, DST, 0, 0, 0, 0, 0, 1 }, -EFAULT, "to NULL" },
	{ { 0, NO_HANDLE, 0, USER, 0, 0, 0, 1 }, -ENOENT, "no buffer" },
	{ { 2, DST, 0, 0, SRC, 0, 0, COPY_BYTES }, 0, "a buffer" },
	{ { 2, DST, 0, 0, SRC, 0, COPY_BYTES, 0 }, 0, "nothing of a buffer" },
	{ { 2, DST, 0, USER, SRC, 0, 0, 1 }, -EINVAL, "a buffer, and memory of the caller" },
	{ { 2, DST, 0, 0, NO_HANDLE, 0, 0, 1 }, -ENOENT, "no source" },
	{ { 2, DST, 0, 0, 0, 0, 0, 1 }, -ENOENT, "a source without handle" },
	{ { 2, NO_HANDLE, 0, 0, SRC, 0, 0, 1 }, -ENOENT, "no destination" },
	{ { 2, DST, 0, 0, SRC, 0, 1, COPY_BYTES }, -EINVAL, "a byte too many of the source" },
	{ { 2, DST, 1, 0, SRC, 0, 0, COPY_BYTES }, -EINVAL, "a byte too many for the other" },
	{ { 2, DST, 0, 0, DST, 0, PAGE, PAGE }, 0, "the other half of the same" },
	{ { 2, DST, PAGE, 0, DST, 0, 0, PAGE }, 0, "the first half of the same" },
	{ { 2, DST, 0, 0, DST, 0, PAGE - 1, PAGE }, -EINVAL, "an overlap of a byte" },
	{ { 2, DST, PAGE - 1, 0, DST, 0, 0, PAGE }, -EINVAL, "the other overlap" },
	{ { 2, DST, 8, 0, DST, 0, 8, 8 }, -EINVAL, "onto itself" },
	{ { 2, DST, 8, 0, DST, 0, 8, 0 }, 0, "nothing onto itself" },
};

static uint32_t pick(uint32_t name, const uint32_t *handles)
{
	return name == DST || name == SRC ? handles[name] : name;
}

TEST_F_TIMEOUT(table, copies, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	static uint8_t user[COPY_BYTES];
	uint32_t handles[3] = { 0 };
	size_t i;

	ASSERT_EQ(0, backend_buffer(rig, DRM_NEURON_BO_HBM, COPY_BYTES, &handles[DST]));
	ASSERT_EQ(0, backend_buffer(rig, DRM_NEURON_BO_HOST, COPY_BYTES, &handles[SRC]));
	for (i = 0; i < sizeof(copy_cases) / sizeof(copy_cases[0]); i++) {
		struct drm_neuron_copy args = copy_cases[i].args;

		args.handle = pick(args.handle, handles);
		args.src_handle = pick(args.src_handle, handles);
		if (args.user)
			args.user = (uintptr_t)user;
		EXPECT_EQ(copy_cases[i].expected, rig->backend->copy(rig->chip, &args)) {
			TH_LOG("%s", copy_cases[i].what);
		}
	}
}

/* Bytes at odd places, there, to another memory, and back. */
TEST_F_TIMEOUT(table, copied_bytes, BACKEND_LIMIT_S)
{
	struct drm_neuron_copy across = {
		.direction = DRM_NEURON_COPY_BUFFER, .offset = 7, .src_offset = 3, .size = 5001,
	};
	struct backend_rig *rig = &self->rig;
	uint8_t out[5001], back[5001] = { 0 };
	unsigned int i;

	for (i = 0; i < sizeof(out); i++)
		out[i] = (uint8_t)(i * 7 + i / 256);
	ASSERT_EQ(0, backend_buffer(rig, DRM_NEURON_BO_HBM, COPY_BYTES, &across.src_handle));
	ASSERT_EQ(0, backend_buffer(rig, DRM_NEURON_BO_HOST, COPY_BYTES, &across.handle));
	ASSERT_EQ(0, backend_write(rig, across.src_handle, 3, out, sizeof(out)));
	ASSERT_EQ(0, rig->backend->copy(rig->chip, &across));
	ASSERT_EQ(0, backend_read(rig, across.handle, 7, back, sizeof(back)));
	EXPECT_EQ(0, memcmp(out, back, sizeof(out)));
}

/* --- claims --- */

TEST_F_TIMEOUT(table, claims_that_cannot_be, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	const uint32_t nr = self->rig.info.nr_cores;
	const struct {
		struct drm_neuron_claim args;
		int expected;
		const char *what;
	} cases[] = {
		{ { .cores = 0 }, -EINVAL, "nothing" },
		{ { .cores = 2, .count = 1 }, -EINVAL, "both" },
		{ { .cores = 1ull << nr }, -EINVAL, "a core that is not there" },
		{ { .cores = 1ull << 63 | 2 }, -EINVAL, "the last core of a mask" },
		{ { .count = nr + 1 }, -EINVAL, "more than there are" },
		{ { .count = 1, .flags = 1u << 31 }, -EINVAL, "unknown flags" },
		{ { .cores = 2, .align = 2 }, -EINVAL, "a mask, aligned" },
		{ { .count = 1, .align = 3 }, -EINVAL, "aligned to 3" },
		{ { .count = 1, .align = 16 }, -EINVAL, "aligned to more than there are" },
		{ { .cores = 1 }, -EBUSY, "a core that is taken" },
		{ { .cores = 3 }, -EBUSY, "a core that is taken, and one that is not" },
		{ { .count = nr }, -EBUSY, "all, of which one is taken" },
	};
	struct drm_neuron_claim args;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		args = cases[i].args;
		EXPECT_EQ(cases[i].expected, rig->backend->claim(rig->chip, &args)) {
			TH_LOG("%s", cases[i].what);
		}
	}
	/* None of them has taken the other core. */
	args = (struct drm_neuron_claim){ .cores = 2 };
	ASSERT_EQ(0, rig->backend->claim(rig->chip, &args));
	EXPECT_EQ(2, args.granted);
	EXPECT_NE(self->rig.claim, args.claim);
}

TEST_F_TIMEOUT(table, releases, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_release release = { .pad = 1 };
	struct drm_neuron_claim args = { .count = 1 };

	EXPECT_EQ(-ENOENT, backend_release(&self->rig, 0));
	EXPECT_EQ(-ENOENT, backend_release(&self->rig, self->rig.claim + 1));
	ASSERT_EQ(0, rig->backend->claim(rig->chip, &args));
	EXPECT_EQ(2, args.granted);
	release.claim = args.claim;
	EXPECT_EQ(-EINVAL, rig->backend->release(rig->chip, &release));
	release.pad = 0;
	EXPECT_EQ(0, rig->backend->release(rig->chip, &release));
	EXPECT_EQ(-ENOENT, rig->backend->release(rig->chip, &release));
	args = (struct drm_neuron_claim){ .cores = 2 };
	EXPECT_EQ(0, rig->backend->claim(rig->chip, &args));
}

/* --- counters --- */

static int post(struct backend_rig *rig, uint32_t core, uint32_t counter, uint32_t pad)
{
	const struct drm_neuron_post_entry entry = { .counter = counter, .pad = pad, .add = 1 };
	struct drm_neuron_post call = {
		.claim = rig->claim, .core = core, .entries = ARRAY_OF(&entry),
	};

	return rig->backend->post(rig->chip, &call);
}

TEST_F_TIMEOUT(table, posts, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_post_entry *entries;
	struct drm_neuron_post call = { .claim = rig->claim };

	EXPECT_EQ(0, rig->backend->post(rig->chip, &call));
	EXPECT_EQ(0, post(rig, 0, DRM_NEURON_STATUS_SUCCESS, 0));
	EXPECT_EQ(-EINVAL, post(rig, 0, DRM_NEURON_NR_STATUS_COUNTERS, 0));
	EXPECT_EQ(-EINVAL, post(rig, 0, DRM_NEURON_STATUS_SUCCESS, 1));
	EXPECT_EQ(-EINVAL, post(rig, 1, DRM_NEURON_STATUS_SUCCESS, 0));
	EXPECT_EQ(-EINVAL, post(rig, rig->cc, DRM_NEURON_STATUS_SUCCESS, 0));
	entries = calloc(rig->limits.post_entries + 1, sizeof(*entries));
	ASSERT_NE(NULL, entries);
	call.entries = ARRAY_OF(entries);
	call.entries.count = rig->limits.post_entries;
	EXPECT_EQ(0, rig->backend->post(rig->chip, &call));
	call.entries.count++;
	EXPECT_EQ(-EINVAL, rig->backend->post(rig->chip, &call));
	call.entries = (struct drm_neuron_array){ .count = 1, .stride = sizeof(*entries) };
	EXPECT_EQ(-EFAULT, rig->backend->post(rig->chip, &call));
	call.entries = ARRAY_OF(entries);
	call.entries.stride = 8;
	EXPECT_EQ(-EINVAL, rig->backend->post(rig->chip, &call));
	rig->claim++;
	EXPECT_EQ(-ENOENT, post(rig, 0, DRM_NEURON_STATUS_SUCCESS, 0));
	free(entries);
}

TEST_HARNESS_MAIN
