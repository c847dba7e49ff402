// SPDX-License-Identifier: MIT
/*
 * The table of a back end: buffers and grants that file descriptors name, and that other chips
 * reach. As in test_nrt_backend.c the driver and chips in the process must say the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "backend_rig.h"

#define PAGE		4096u
#define NO_HANDLE	4000000u

/* @peer: another chip of the fabric */
FIXTURE(names)
{
	struct backend_rig rig;
	struct nrt_chip *peer;
};

FIXTURE_SETUP(names)
{
	ASSERT_EQ(0, backend_open(&self->rig));
	ASSERT_LT(1, self->rig.count);
	self->peer = self->rig.chips[1];
}

FIXTURE_TEARDOWN(names)
{
	backend_close(&self->rig);
}

/* --- buffers --- */

static bool is_there(struct backend_rig *rig, struct nrt_chip *chip, uint32_t handle)
{
	struct drm_neuron_bo_info info = { .handle = handle };

	return !rig->backend->bo_info(chip, &info);
}

/* On its own chip a buffer has one handle, however often it is imported, and one close ends it. */
TEST_F_TIMEOUT(names, own_buffers, BACKEND_LIMIT_S)
{
	static const uint32_t placements[] = { DRM_NEURON_BO_HBM, DRM_NEURON_BO_HOST };
	struct backend_rig *rig = &self->rig;
	uint32_t handle, again;
	unsigned int i, n;
	int fd;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, backend_buffer(rig, placements[i], PAGE, &handle));
		for (n = 0; n < 100; n++) {
			ASSERT_EQ(0, rig->backend->bo_export(rig->chip, handle, &fd));
			ASSERT_EQ(0, rig->backend->bo_import(rig->chip, fd, &again));
			EXPECT_EQ(handle, again);
			EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
			close(fd);
		}
		rig->backend->bo_close(rig->chip, handle);
		EXPECT_FALSE(is_there(rig, rig->chip, handle));
	}
}

TEST_F_TIMEOUT(names, what_is_no_buffer, BACKEND_LIMIT_S)
{
	struct drm_neuron_grant grant = { .claim = self->rig.claim, .count = 8 };
	struct backend_rig *rig = &self->rig;
	uint32_t handle;
	int fd;

	EXPECT_EQ(-ENOENT, rig->backend->bo_export(rig->chip, NO_HANDLE, &fd));
	EXPECT_EQ(-EBADF, rig->backend->bo_import(rig->chip, -1, &handle));
	EXPECT_EQ(-EBADF, rig->backend->bo_import(rig->chip, 1000, &handle));
	fd = memfd_create("nothing", MFD_CLOEXEC);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EINVAL, rig->backend->bo_import(rig->chip, fd, &handle));
	close(fd);
	ASSERT_EQ(0, rig->backend->grant(rig->chip, &grant));
	EXPECT_EQ(-EINVAL, rig->backend->bo_import(rig->chip, grant.fd, &handle));
	close(grant.fd);
}

/* The driver may count a buffer a moment after its end. */
static bool uses(struct backend_rig *rig, uint64_t bytes)
{
	const struct timespec moment = { .tv_nsec = 10000000 };
	struct drm_neuron_memory_info stack = { 0 };
	int tries = 0;

	while (!backend_query(rig, DRM_NEURON_QUERY_MEMORY, &stack, sizeof(stack), 1) &&
	       stack.used != bytes && tries++ < 1000)
		nanosleep(&moment, NULL);
	return stack.used == bytes;
}

/* A descriptor keeps a buffer, also without a handle: the bytes are there for who imports it. */
TEST_F_TIMEOUT(names, descriptor_keeps, BACKEND_LIMIT_S)
{
	static const uint32_t placements[] = { DRM_NEURON_BO_HBM, DRM_NEURON_BO_HOST };
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_memory_info stack = { 0 };
	char text[8] = { 0 };
	uint32_t handle;
	uint64_t bytes;
	unsigned int i;
	int fd, again;

	ASSERT_EQ(0, backend_query(rig, DRM_NEURON_QUERY_MEMORY, &stack, sizeof(stack), 1));
	for (i = 0; i < 2; i++) {
		bytes = placements[i] == DRM_NEURON_BO_HBM ? 16 * PAGE : 0;
		ASSERT_EQ(0, backend_buffer(rig, placements[i], 16 * PAGE, &handle));
		ASSERT_EQ(0, backend_write(rig, handle, 7 * PAGE, "kept", 5));
		ASSERT_EQ(0, rig->backend->bo_export(rig->chip, handle, &fd));
		again = dup(fd);
		ASSERT_LE(0, again);
		close(fd);
		rig->backend->bo_close(rig->chip, handle);
		EXPECT_TRUE(uses(rig, stack.used + bytes));
		ASSERT_EQ(0, rig->backend->bo_import(rig->chip, again, &handle));
		ASSERT_EQ(0, backend_read(rig, handle, 7 * PAGE, text, 5));
		EXPECT_STREQ("kept", text);
		/* Nor is there more than one name of it. */
		ASSERT_EQ(0, rig->backend->bo_export(rig->chip, handle, &fd));
		close(again);
		rig->backend->bo_close(rig->chip, handle);
		EXPECT_TRUE(uses(rig, stack.used + bytes));
		close(fd);
		EXPECT_TRUE(uses(rig, stack.used));
	}
}

/* All of a stack, which only a descriptor keeps: who closes that makes room for the next one. */
TEST_F_TIMEOUT(names, room_for_the_next, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_memory_info stack = { 0 };
	uint32_t handle;
	uint64_t left;
	int fd;

	ASSERT_EQ(0, backend_query(rig, DRM_NEURON_QUERY_MEMORY, &stack, sizeof(stack), 1));
	left = stack.usable - stack.used;
	ASSERT_EQ(0, backend_buffer(rig, DRM_NEURON_BO_HBM, left, &handle));
	ASSERT_EQ(0, rig->backend->bo_export(rig->chip, handle, &fd));
	rig->backend->bo_close(rig->chip, handle);
	EXPECT_EQ(-ENOSPC, backend_buffer(rig, DRM_NEURON_BO_HBM, left, &handle));
	close(fd);
	ASSERT_EQ(0, backend_buffer(rig, DRM_NEURON_BO_HBM, left, &handle));
	rig->backend->bo_close(rig->chip, handle);
	EXPECT_TRUE(uses(rig, stack.used));
}

/* Other chips reach what is in HBM, and no memory of the host. */
TEST_F_TIMEOUT(names, buffers_of_peers, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_bo_info own = { 0 }, info = { 0 };
	struct drm_neuron_copy copy = { .size = 4 };
	uint32_t host, again, mine;
	uint8_t bytes[4] = { 0 };
	void *map;
	int fd;

	ASSERT_EQ(0, backend_buffer(rig, DRM_NEURON_BO_HOST, PAGE, &host));
	ASSERT_EQ(0, rig->backend->bo_export(rig->chip, host, &fd));
	EXPECT_EQ(-EOPNOTSUPP, rig->backend->bo_import(self->peer, fd, &again));
	close(fd);
	ASSERT_EQ(0, backend_buffer(rig, DRM_NEURON_BO_HBM, PAGE, &own.handle));
	ASSERT_EQ(0, rig->backend->bo_info(rig->chip, &own));
	ASSERT_EQ(0, rig->backend->bo_export(rig->chip, own.handle, &fd));
	ASSERT_EQ(0, rig->backend->bo_import(self->peer, fd, &info.handle));
	ASSERT_EQ(0, rig->backend->bo_import(self->peer, fd, &again));
	EXPECT_EQ(info.handle, again);
	close(fd);
	ASSERT_EQ(0, rig->backend->bo_info(self->peer, &info));
	EXPECT_EQ(1, info.peer);
	EXPECT_EQ(rig->info.fabric_id, info.fabric_id);
	EXPECT_EQ(own.device_addr, info.device_addr);
	EXPECT_EQ(own.size, info.size);
	EXPECT_EQ(own.stack, info.stack);
	EXPECT_EQ(DRM_NEURON_BO_HBM, info.placement);
	EXPECT_EQ(0, info.mmap_offset);
	/* It is neither mapped nor copied there, and its name leads to where it is. */
	EXPECT_EQ(-EINVAL, rig->backend->bo_map(self->peer, info.mmap_offset, PAGE, &map));
	copy.handle = info.handle;
	copy.user = (uintptr_t)bytes;
	EXPECT_EQ(-EINVAL, rig->backend->copy(self->peer, &copy));
	ASSERT_EQ(0, rig->backend->bo_export(self->peer, info.handle, &fd));
	ASSERT_EQ(0, rig->backend->bo_import(rig->chip, fd, &mine));
	EXPECT_EQ(own.handle, mine);
	close(fd);
	/* The peer keeps it. */
	rig->backend->bo_close(rig->chip, own.handle);
	EXPECT_TRUE(is_there(rig, self->peer, info.handle));
	rig->backend->bo_close(self->peer, info.handle);
	EXPECT_FALSE(is_there(rig, self->peer, info.handle));
}

/* --- grants --- */

/* A window of the core @core of @claim of @chip. */
static int show(struct backend_rig *rig, struct nrt_chip *chip, uint32_t claim,
		const struct drm_neuron_window *window)
{
	struct drm_neuron_windows call = { .claim = claim, .windows = ARRAY_OF(window) };

	return rig->backend->windows(chip, &call);
}

/* Can core 0 show @count semaphores by @handle? */
static int show_granted(struct backend_rig *rig, uint32_t handle, uint32_t count)
{
	const struct drm_neuron_window window = {
		.index = 1,
		.kind = DRM_NEURON_WINDOW_SEM,
		.rights = DRM_NEURON_WINDOW_WRITE,
		.length = 4ull * count,
		.from = DRM_NEURON_FROM_GRANT,
		.source = (int32_t)handle,
	};

	return show(rig, rig->chip, rig->claim, &window);
}

static int drop_granted(struct backend_rig *rig, uint32_t handle)
{
	struct drm_neuron_grant_close args = { .handle = handle };

	return rig->backend->grant_close(rig->chip, &args);
}

#define SBUF_R	DRM_NEURON_GRANT_SBUF_READ
#define SBUF_W	DRM_NEURON_GRANT_SBUF_WRITE

TEST_F_TIMEOUT(names, grants_that_cannot_be, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	const uint32_t claim = self->rig.claim, cc = self->rig.cc;
	const uint32_t sbuf = 24u << 20, sems = self->rig.info.nr_semaphores;
	const struct {
		struct drm_neuron_grant args;
		int expected;
		const char *what;
	} cases[] = {
		{ { claim, 0, 0, 0, 0 }, -EINVAL, "no semaphore" },
		{ { claim, 0, 0, sems + 1, 0 }, -EINVAL, "one too many" },
		{ { claim, 0, sems, 1, 0 }, -EINVAL, "the one behind the last" },
		{ { claim, 0, UINT32_MAX, 2, 0 }, -EINVAL, "a range that wraps" },
		{ { claim, 0, 0, 8, 4 }, -EINVAL, "unknown flags" },
		{ { claim, 0, 2, 8, SBUF_R }, -EINVAL, "a byte that is not aligned" },
		{ { claim, 0, 0, 6, SBUF_R }, -EINVAL, "bytes that are not aligned" },
		{ { claim, 0, 2 * sbuf, 4, SBUF_R }, -EINVAL, "behind SBUF" },
		{ { claim, cc, 0, 4, SBUF_R }, -EINVAL, "SBUF of a CC-core" },
		{ { claim, 1, 0, 1, 0 }, -EINVAL, "a core of nobody" },
		{ { claim, 1000, 0, 1, 0 }, -EINVAL, "no core" },
		{ { claim + 1, 0, 0, 1, 0 }, -ENOENT, "an unknown claim" },
		{ { 0, 0, 0, 1, 0 }, -ENOENT, "no claim" },
		{ { claim, 0, 0, sems, 0 }, 0, "all semaphores" },
		{ { claim, cc, sems - 1, 1, 0 }, 0, "the last one of a CC-core" },
		{ { claim, 0, 4, 8, SBUF_R | SBUF_W }, 0, "some bytes of SBUF" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct drm_neuron_grant args = cases[i].args;
		int ret = rig->backend->grant(rig->chip, &args);

		EXPECT_EQ(cases[i].expected, ret) { TH_LOG("%s", cases[i].what); }
		if (ret)
			continue;
		EXPECT_EQ(FD_CLOEXEC, fcntl(args.fd, F_GETFD));
		close(args.fd);
	}
}

/*
 * A descriptor keeps its buffer, and nothing else is open for it: buffers that were closed first,
 * and then named by nobody, leave room for the names of others.
 */
TEST_F_TIMEOUT(names, closed_in_any_order, BACKEND_LIMIT_S)
{
	struct rlimit usual, few = { .rlim_cur = 64, .rlim_max = 64 };
	struct backend_rig *rig = &self->rig;
	uint32_t handle;
	unsigned int i;
	int fd;

	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &usual));
	few.rlim_max = usual.rlim_max;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &few));
	for (i = 0; i < 200; i++) {
		ASSERT_EQ(0, backend_buffer(rig, DRM_NEURON_BO_HBM, 4096, &handle));
		ASSERT_EQ(0, rig->backend->bo_export(rig->chip, handle, &fd)) {
			TH_LOG("buffer %u", i);
		}
		rig->backend->bo_close(rig->chip, handle);
		close(fd);
	}
	EXPECT_EQ(0, setrlimit(RLIMIT_NOFILE, &usual));
}

/* What a grant gives of SBUF, and no more, on its own chip and on another one. */
TEST_F_TIMEOUT(names, granted_bytes, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_grant grant = {
		.claim = rig->claim, .first = 64, .count = 128, .flags = SBUF_R,
	};
	struct drm_neuron_claim there = { .cores = 1 };
	struct drm_neuron_window window = {
		.index = 1,
		.kind = DRM_NEURON_WINDOW_GRANT,
		.rights = DRM_NEURON_WINDOW_READ,
		.offset = 64,
		.length = 64,
		.from = DRM_NEURON_FROM_GRANT_FD,
	};
	unsigned int i;

	ASSERT_EQ(0, rig->backend->grant(rig->chip, &grant));
	ASSERT_EQ(0, rig->backend->claim(self->peer, &there));
	for (i = 0; i < 2; i++) {
		struct nrt_chip *chip = i ? self->peer : rig->chip;
		uint32_t claim = i ? there.claim : rig->claim;
		struct drm_neuron_window other = window;

		other.source = grant.fd;
		EXPECT_EQ(0, show(rig, chip, claim, &other));
		other.rights = DRM_NEURON_WINDOW_WRITE;
		EXPECT_EQ(-EPERM, show(rig, chip, claim, &other));
		other.rights = DRM_NEURON_WINDOW_READ;
		other.length = 68;
		EXPECT_EQ(-EINVAL, show(rig, chip, claim, &other));
		other.length = 0;
		EXPECT_EQ(-EINVAL, show(rig, chip, claim, &other));
		other.length = 62;
		other.offset = 66;
		EXPECT_EQ(-EINVAL, show(rig, chip, claim, &other));
		other.offset = 132;
		other.length = 4;
		EXPECT_EQ(-EINVAL, show(rig, chip, claim, &other));
		/* They are no semaphores. */
		other.kind = DRM_NEURON_WINDOW_SEM;
		other.rights = DRM_NEURON_WINDOW_WRITE;
		other.offset = 0;
		EXPECT_EQ(-EBADF, show(rig, chip, claim, &other));
	}
	ASSERT_EQ(0, backend_release(rig, rig->claim));
	window.source = grant.fd;
	EXPECT_EQ(-EBADF, show(rig, self->peer, there.claim, &window));
	close(grant.fd);
}

/* A handle needs no descriptor, and is void with the claim that granted. */
TEST_F_TIMEOUT(names, imported_grants, BACKEND_LIMIT_S)
{
	struct drm_neuron_grant grant = { .core = 1, .first = 5, .count = 8 };
	struct drm_neuron_grant_close close_args = { .pad = 1 };
	struct drm_neuron_grant_import first, second;
	struct backend_rig *rig = &self->rig;

	ASSERT_EQ(0, backend_claim(rig, 2, &grant.claim));
	ASSERT_EQ(0, rig->backend->grant(rig->chip, &grant));
	first = (struct drm_neuron_grant_import){ .fd = grant.fd };
	second = first;
	ASSERT_EQ(0, rig->backend->grant_import(rig->chip, &first));
	ASSERT_EQ(0, rig->backend->grant_import(rig->chip, &second));
	EXPECT_NE(0, first.handle);
	EXPECT_NE(first.handle, second.handle);
	close(grant.fd);
	EXPECT_EQ(-EBADF, rig->backend->grant_import(rig->chip, &first));
	EXPECT_EQ(0, show_granted(rig, first.handle, 8));
	EXPECT_EQ(-EINVAL, show_granted(rig, first.handle, 9));
	EXPECT_EQ(-EBADF, show_granted(rig, 0, 1));
	EXPECT_EQ(-EBADF, show_granted(rig, 1u << 20, 1));
	close_args.handle = first.handle;
	EXPECT_EQ(-EINVAL, rig->backend->grant_close(rig->chip, &close_args));
	EXPECT_EQ(0, drop_granted(rig, first.handle));
	EXPECT_EQ(-ENOENT, drop_granted(rig, first.handle));
	EXPECT_EQ(-ENOENT, drop_granted(rig, 0));
	EXPECT_EQ(-EBADF, show_granted(rig, first.handle, 8));
	EXPECT_EQ(0, show_granted(rig, second.handle, 8));
	ASSERT_EQ(0, backend_release(rig, grant.claim));
	EXPECT_EQ(-EBADF, show_granted(rig, second.handle, 8));
	/* Nor has the next claim of the core granted it. */
	ASSERT_EQ(0, backend_claim(rig, 2, &grant.claim));
	EXPECT_EQ(-EBADF, show_granted(rig, second.handle, 8));
	EXPECT_EQ(0, drop_granted(rig, second.handle));
}

static short polled(int fd, short events)
{
	struct pollfd one = { .fd = fd, .events = events };

	return poll(&one, 1, 0) < 0 ? -1 : one.revents;
}

/* Who has a grant hears of the end of the claim, and of that one alone. */
TEST_F_TIMEOUT(names, grants_that_end, BACKEND_LIMIT_S)
{
	struct drm_neuron_grant first = { .core = 1, .count = 8 };
	struct drm_neuron_grant bytes = { .core = 1, .count = 64, .flags = SBUF_R };
	struct drm_neuron_grant other = { .claim = self->rig.claim, .count = 8 };
	struct backend_rig *rig = &self->rig;
	uint32_t claim;
	int copy;

	ASSERT_EQ(0, backend_claim(rig, 2, &claim));
	first.claim = claim;
	bytes.claim = claim;
	ASSERT_EQ(0, rig->backend->grant(rig->chip, &first));
	ASSERT_EQ(0, rig->backend->grant(rig->chip, &bytes));
	ASSERT_EQ(0, rig->backend->grant(rig->chip, &other));
	copy = dup(first.fd);
	ASSERT_LE(0, copy);
	EXPECT_EQ(0, polled(first.fd, POLLIN | POLLOUT));
	EXPECT_EQ(0, polled(bytes.fd, 0));
	ASSERT_EQ(0, backend_release(rig, claim));
	EXPECT_EQ(POLLHUP, polled(first.fd, POLLIN | POLLOUT));
	EXPECT_EQ(POLLHUP, polled(copy, 0));
	EXPECT_EQ(POLLHUP, polled(bytes.fd, 0));
	EXPECT_EQ(0, polled(other.fd, POLLIN | POLLOUT));
	close(first.fd);
	close(copy);
	close(bytes.fd);
	close(other.fd);
}

TEST_F_TIMEOUT(names, what_is_no_grant, BACKEND_LIMIT_S)
{
	struct drm_neuron_grant grant = { .core = 1, .count = 8 };
	struct drm_neuron_grant_import args = { .fd = -1 };
	struct backend_rig *rig = &self->rig;

	EXPECT_EQ(-EBADF, rig->backend->grant_import(rig->chip, &args));
	args.fd = memfd_create("nothing", MFD_CLOEXEC);
	ASSERT_LE(0, args.fd);
	EXPECT_EQ(-EBADF, rig->backend->grant_import(rig->chip, &args));
	close(args.fd);
	ASSERT_EQ(0, rig->backend->bo_export(rig->chip, rig->image, &args.fd));
	EXPECT_EQ(-EBADF, rig->backend->grant_import(rig->chip, &args));
	close(args.fd);
	/* Its claim has ended. */
	ASSERT_EQ(0, backend_claim(rig, 2, &grant.claim));
	ASSERT_EQ(0, rig->backend->grant(rig->chip, &grant));
	ASSERT_EQ(0, backend_release(rig, grant.claim));
	args.fd = grant.fd;
	EXPECT_EQ(-EBADF, rig->backend->grant_import(rig->chip, &args));
	close(grant.fd);
}

/* Import @fd once more; the handle must be one that nobody has. */
static int import_anew(struct backend_rig *rig, int fd, bool *taken)
{
	struct drm_neuron_grant_import args = { .fd = fd };
	int ret = rig->backend->grant_import(rig->chip, &args);

	if (ret)
		return ret;
	if (!args.handle || args.handle > rig->limits.grants || taken[args.handle])
		return -EEXIST;
	taken[args.handle] = true;
	return 0;
}

/* As many as there can be; a handle that is free can be had again. */
TEST_F_TIMEOUT(names, many_imported_grants, BACKEND_LIMIT_S)
{
	struct drm_neuron_grant grant = { .core = 1, .first = 5, .count = 8 };
	struct backend_rig *rig = &self->rig;
	uint32_t i, most = rig->limits.grants;
	bool *taken = calloc(most + 1, sizeof(*taken));

	ASSERT_NE(NULL, taken);
	ASSERT_EQ(0, backend_claim(rig, 2, &grant.claim));
	ASSERT_EQ(0, rig->backend->grant(rig->chip, &grant));
	for (i = 0; i < most; i++)
		ASSERT_EQ(0, import_anew(rig, grant.fd, taken));
	EXPECT_EQ(-ENOSPC, import_anew(rig, grant.fd, taken));
	for (i = 1; i <= most; i += 3) {
		ASSERT_EQ(0, drop_granted(rig, i));
		taken[i] = false;
	}
	for (i = 1; i <= most; i += 3)
		ASSERT_EQ(0, import_anew(rig, grant.fd, taken));
	EXPECT_EQ(-ENOSPC, import_anew(rig, grant.fd, taken));
	for (i = 1; i <= most; i++)
		ASSERT_EQ(0, drop_granted(rig, i));
	EXPECT_EQ(-ENOENT, drop_granted(rig, most));
	close(grant.fd);
	free(taken);
}

TEST_HARNESS_MAIN
