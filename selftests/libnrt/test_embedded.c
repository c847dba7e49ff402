// SPDX-License-Identifier: MIT
/*
 * What only chips in the process have, by the table of the back end: they are looked after without
 * a kernel, and are not those of a child process. What the driver has as well is in
 * test_nrt_backend.c and beside it.
 */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "backend_rig.h"
#include "contract/ring.h"
#include "neuron/isa.h"
#include "neuron/regs.h"
#include "neuron/window.h"

FIXTURE(embedded)
{
	struct backend_rig rig;
};

FIXTURE_SETUP(embedded)
{
	ASSERT_EQ(0, backend_open(&self->rig));
}

FIXTURE_TEARDOWN(embedded)
{
	backend_close(&self->rig);
}

/* Have so many jobs of a core ended before long, although this thread does not look after them? */
static bool ends_by_itself(struct backend_rig *rig, uint32_t type, uint32_t core, uint64_t jobs)
{
	const struct timespec nap = { .tv_nsec = 50000000 };
	int64_t deadline = backend_in_ms(BACKEND_LIMIT_S * 500);
	struct drm_neuron_core_info info[32] = { 0 };

	while (backend_in_ms(0) < deadline) {
		if (!backend_query(rig, type, info, sizeof(info[0]), 32) && info[core].jobs >= jobs)
			return true;
		nanosleep(&nap, NULL);
	}
	return false;
}

static void start_waiter(struct backend_waiter *waiter, struct backend_rig *rig, uint64_t job)
{
	const struct timespec nap = { .tv_nsec = 50000000 };

	backend_waiter_start(waiter, rig, job);
	/* Probably it waits by now; if not, the test proves less. */
	nanosleep(&nap, NULL);
}

/* --- who looks after the chip --- */

/* Nobody waits when the job ends that keeps the gang waiting. */
TEST_F_TIMEOUT(embedded, gang_is_started_by_the_keeper, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_wait_job result;
	uint64_t first, id;

	ASSERT_EQ(0, backend_submit(rig, rig->cc, SPINS, 100, &first));
	ASSERT_EQ(0, backend_submit_pair(rig, HALTS, SPINS, 100, &id));
	EXPECT_TRUE(ends_by_itself(rig, DRM_NEURON_QUERY_CC_CORES, 0, 2));
	EXPECT_TRUE(ends_by_itself(rig, DRM_NEURON_QUERY_CORES, 0, 1));
	ASSERT_EQ(0, backend_end(rig, rig->cc, id + 1, &result));
	EXPECT_TRUE(result.flags & DRM_NEURON_JOB_HANG);
	EXPECT_EQ(-ETIMEDOUT, result.error);
}

/* A gang that runs, and one behind it that waits, end with their claim. */
TEST_F_TIMEOUT(embedded, gang_released, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	uint64_t id, behind;
	struct backend_waiter w;

	ASSERT_EQ(0, backend_submit_pair(rig, SPINS, SPINS, BACKEND_LIMIT_S * 1000, &id));
	ASSERT_EQ(0, backend_submit_pair(rig, HALTS, HALTS, 0, &behind));
	start_waiter(&w, rig, behind);
	ASSERT_EQ(0, backend_release(rig, rig->claim));
	pthread_join(w.thread, NULL);
	EXPECT_EQ(0, w.ret);
	EXPECT_NE(DRM_NEURON_JOB_OK, w.result.status);
	EXPECT_NE(DRM_NEURON_JOB_NONE, w.result.status);
}

/* The second job has a shorter limit than the one that somebody waits for. */
TEST_F_TIMEOUT(embedded, shorter_limit, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig, second = *rig;
	struct drm_neuron_wait_job result;
	uint64_t id, shorter;
	struct backend_waiter w;

	ASSERT_EQ(0, backend_claim(rig, 4, &second.claim));
	ASSERT_EQ(0, backend_submit(rig, 0, SPINS, 600000, &id));
	start_waiter(&w, rig, id);
	ASSERT_EQ(0, backend_submit(&second, 2, SPINS, 200, &shorter));
	/* This thread does not look after the chip: the other one does. */
	EXPECT_TRUE(ends_by_itself(rig, DRM_NEURON_QUERY_CORES, 2, 1));
	ASSERT_EQ(0, backend_release(rig, rig->claim));
	pthread_join(w.thread, NULL);
	ASSERT_EQ(0, backend_wait(&second, 2, shorter, 0, &result));
	EXPECT_TRUE(result.flags & DRM_NEURON_JOB_HANG);
	EXPECT_EQ(-ETIMEDOUT, result.error);
}

/* A WAIT does not make a claim use a CC-core. */
TEST_F_TIMEOUT(embedded, unused_cc_core, BACKEND_LIMIT_S)
{
	struct drm_neuron_core_info info = { 0 };
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_wait_job result;
	uint64_t id;

	ASSERT_EQ(-ENOENT, backend_wait(rig, rig->cc, 1, 0, &result));
	ASSERT_EQ(0, backend_query(rig, DRM_NEURON_QUERY_CC_CORES, &info, sizeof(info), 1));
	EXPECT_EQ(0, info.owner_pid);
	EXPECT_EQ(0, info.flags);
	ASSERT_EQ(0, backend_submit(rig, rig->cc, HALTS, 0, &id));
	EXPECT_EQ(0, backend_end(rig, rig->cc, id, &result));
	ASSERT_EQ(0, backend_query(rig, DRM_NEURON_QUERY_CC_CORES, &info, sizeof(info), 1));
	EXPECT_EQ((uint32_t)getpid(), info.owner_pid);
	EXPECT_EQ(DRM_NEURON_CORE_CLAIMED, info.flags);
}

/* --- what the driver does not have --- */

#define CHUNK		65536u
#define CHUNKS		16u
#define RING_LENGTH	32u
/* Of the memories in a dump: 1 MiB with their places. */
#define DUMP_LINES	29127u

/**
 * struct flood - a buffer with a program that fills SBUF and does not end
 * @chunk: what comes into SBUF
 */
struct flood {
	struct neuron_inst program[2];
	struct neuron_udma_desc m2s[RING_LENGTH] __attribute__((aligned(256)));
	struct neuron_udma_desc s2m[RING_LENGTH] __attribute__((aligned(256)));
	uint8_t chunk[CHUNK];
};

static void make_flood(struct flood *flood)
{
	unsigned int i;

	flood->program[0] = (struct neuron_inst){
		.opcode = NEURON_OP_DMA_TRIGGER, .imm0 = CHUNKS, .imm1 = CHUNKS,
	};
	flood->program[1] = (struct neuron_inst){
		.opcode = NEURON_OP_BRANCH, .op0 = NEURON_ALU_BYPASS, .addr = 1,
	};
	for (i = 0; i < CHUNKS; i++) {
		flood->m2s[i] = neuron_copy_source(neuron_window_addr(0, offsetof(struct flood,
										  chunk)),
						   CHUNK, NEURON_UDMA_RING_ID_FIRST,
						   NEURON_UDMA_META_DEFAULT);
		flood->s2m[i] = neuron_copy_target(neuron_window_addr(1, (uint64_t)i *
								      NEURON_TPB_SBUF_STRIDE),
						   CHUNK, NEURON_UDMA_RING_ID_FIRST, 0);
	}
	memset(flood->chunk, 0x5a, CHUNK);
}

static int submit_flood(struct backend_rig *rig, uint32_t claim, __u64 *id)
{
	const uint32_t both = DRM_NEURON_WINDOW_READ | DRM_NEURON_WINDOW_WRITE;
	struct drm_neuron_window windows[] = {
		{ 0, DRM_NEURON_WINDOW_BO, DRM_NEURON_WINDOW_READ, 0, 0, sizeof(struct flood) },
		{ 1, DRM_NEURON_WINDOW_SBUF, both },
	};
	const struct drm_neuron_start start = {
		.addr = neuron_window_addr(0, 0), .count = 2, .engine = NEURON_ENGINE_SYNC,
	};
	const struct drm_neuron_queue queue = {
		.m2s_ring = neuron_window_addr(0, offsetof(struct flood, m2s)),
		.s2m_ring = neuron_window_addr(0, offsetof(struct flood, s2m)),
		.m2s_length = RING_LENGTH,
		.s2m_length = RING_LENGTH,
	};
	const struct drm_neuron_job job = {
		.core = 1,
		.timeout_ms = 2000,
		.starts = ARRAY_OF(&start),
		.windows = ARRAY_OF_ALL(windows),
		.queues = ARRAY_OF(&queue),
	};
	struct drm_neuron_submit call = { .claim = claim, .jobs = ARRAY_OF(&job) };
	struct flood *flood = aligned_alloc(256, sizeof(*flood));
	int ret = -ENOMEM;

	if (!flood)
		return ret;
	memset(flood, 0, sizeof(*flood));
	make_flood(flood);
	ret = backend_buffer(rig, DRM_NEURON_BO_HBM, sizeof(*flood), &windows[0].handle);
	if (!ret)
		ret = backend_write(rig, windows[0].handle, 0, flood, sizeof(*flood));
	if (!ret)
		ret = rig->backend->submit(rig->chip, &call);
	*id = call.job;
	free(flood);
	return ret;
}

/* A dump has room for a part of SBUF, and says that there is more. */
TEST_F_TIMEOUT(embedded, dump_that_is_cut, BACKEND_LIMIT_S)
{
	static const char end[] = "memory: cut here\n";
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_claim claim = { .cores = 2, .flags = DRM_NEURON_CLAIM_DUMP_MEMORY };
	struct drm_neuron_dump dump = { .core = 1 };
	struct drm_neuron_wait_job result = { .core = 1 };
	struct drm_neuron_wait wait = {
		.deadline_ns = backend_in_ms(BACKEND_LIMIT_S * 1000), .jobs = ARRAY_OF(&result),
	};
	unsigned int lines = 0;
	char *text, *at;

	ASSERT_EQ(0, rig->backend->claim(rig->chip, &claim));
	ASSERT_EQ(0, submit_flood(rig, claim.claim, &result.job));
	result.claim = claim.claim;
	ASSERT_EQ(0, rig->backend->wait(rig->chip, &wait));
	EXPECT_TRUE(result.flags & DRM_NEURON_JOB_HANG);
	dump.claim = claim.claim;
	dump.flags = DRM_NEURON_DUMP_MEMORY;
	ASSERT_EQ(0, rig->backend->dump(rig->chip, &dump));
	text = calloc(1, dump.size + 1);
	ASSERT_NE(NULL, text);
	dump.pointer = (uintptr_t)text;
	ASSERT_EQ(0, rig->backend->dump(rig->chip, &dump));
	for (at = text; (at = strstr(at, "\nsbuf ")); at++)
		lines++;
	EXPECT_EQ(DUMP_LINES, lines);
	EXPECT_STREQ(end, text + dump.size - strlen(end));
	free(text);
}

/* One thing has one name, however often it is asked for. */
TEST_F_TIMEOUT(embedded, names, BACKEND_LIMIT_S)
{
	struct drm_neuron_grant grant = { .claim = self->rig.claim, .count = 8 };
	struct backend_rig *rig = &self->rig;
	struct stat first = { 0 }, st;
	unsigned int i;
	int fd;

	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, rig->backend->bo_export(rig->chip, rig->image, &fd));
		ASSERT_EQ(0, fstat(fd, &st));
		close(fd);
		if (!i)
			first = st;
		EXPECT_EQ(first.st_ino, st.st_ino);
	}
	ASSERT_EQ(0, rig->backend->grant(rig->chip, &grant));
	ASSERT_EQ(0, fstat(grant.fd, &first));
	close(grant.fd);
	ASSERT_EQ(0, rig->backend->grant(rig->chip, &grant));
	ASSERT_EQ(0, fstat(grant.fd, &st));
	EXPECT_EQ(first.st_ino, st.st_ino);
	close(grant.fd);
	/* Another part of it is another thing. */
	grant.count = 4;
	ASSERT_EQ(0, rig->backend->grant(rig->chip, &grant));
	ASSERT_EQ(0, fstat(grant.fd, &st));
	EXPECT_NE(first.st_ino, st.st_ino);
	close(grant.fd);
}

/* The limit is told by a line, and no signal ends the process. */
TEST(limit_of_files)
{
	struct nrt_error error = { 0 };
	struct nrt_chip **chips;
	unsigned int count;
	struct rlimit limit;

	ASSERT_EQ(0, getrlimit(RLIMIT_FSIZE, &limit));
	limit.rlim_cur = 1 << 30;
	ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &limit));
	EXPECT_EQ(NRT_RESOURCE, nrt_backend_embedded.open_all(&chips, &count, &error));
	EXPECT_NE(NULL, strstr(error.text, "ulimit -f"));
}

/*
 * Memory that is freed is cleared, and an interrupt tells when. The back end also looks by itself
 * now and then, so a lost interrupt does not hold it up for long.
 */
TEST(lost_interrupts)
{
	struct backend_rig rig;
	uint32_t handle;
	uint64_t begin;
	unsigned int i;

	setenv("NEURON_EMU_FAULT", "0:irq-lost", 1);
	ASSERT_EQ(0, backend_open(&rig));
	unsetenv("NEURON_EMU_FAULT");
	begin = backend_in_ms(0);
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, backend_buffer(&rig, DRM_NEURON_BO_HBM, 4096, &handle));
		rig.backend->bo_close(rig.chip, handle);
	}
	/* One that waited for an interrupt took 10 s. */
	EXPECT_GT(begin + 20 * 5000000000ull, (uint64_t)backend_in_ms(0));
	backend_close(&rig);
}

/* "dd" keeps a mapping out of core dumps. */
static bool is_left_out(const char *flags)
{
	return strstr(flags, " dd ") || strstr(flags, " dd\n");
}

/*
 * A core dump of the process has no HBM. It would read all of it, and each page that nobody has
 * written would take memory.
 */
TEST_F_TIMEOUT(embedded, core_dumps, BACKEND_LIMIT_S)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	unsigned int stacks = 0;
	bool hbm = false;
	char line[512];

	ASSERT_NE(NULL, file);
	while (fgets(line, sizeof(line), file)) {
		if (strstr(line, "memfd:hbm"))
			hbm = true;
		if (strncmp(line, "VmFlags:", 8) || !hbm)
			continue;
		EXPECT_TRUE(is_left_out(line)) {
			TH_LOG("%s", line);
		}
		hbm = false;
		stacks++;
	}
	EXPECT_LE(self->rig.info.nr_hbm, stacks);
	fclose(file);
}

/*
 * Of scattered memory the longest ranges are used first, so a buffer has few pieces. Where they
 * are shows the mapping of the stack.
 */
TEST_F_TIMEOUT(embedded, longest_first, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_memory_info stack = { 0 };
	struct drm_neuron_bo_info hole = { 0 }, info = { 0 };
	uint32_t handles[16], rest, large;
	uint64_t size, first;
	unsigned int i;
	uint8_t *hbm;
	void *map;

	for (i = 0; i < 16; i++)
		ASSERT_EQ(0, backend_buffer(rig, DRM_NEURON_BO_HBM, i == 12 ? 8 * 4096 : 4096,
					    &handles[i]));
	hole.handle = handles[12];
	info.handle = handles[0];
	ASSERT_EQ(0, rig->backend->bo_info(rig->chip, &hole));
	ASSERT_EQ(0, rig->backend->bo_info(rig->chip, &info));
	first = info.device_addr;
	ASSERT_EQ(0, backend_query(rig, DRM_NEURON_QUERY_MEMORY, &stack, sizeof(stack), 1));
	ASSERT_EQ(0, backend_buffer(rig, DRM_NEURON_BO_HBM, stack.usable - stack.used, &rest));
	for (i = 0; i < 16; i += 2)
		rig->backend->bo_close(rig->chip, handles[i]);
	ASSERT_EQ(0, backend_buffer(rig, DRM_NEURON_BO_HBM, 9 * 4096, &large));
	info.handle = large;
	ASSERT_EQ(0, rig->backend->bo_info(rig->chip, &info));
	EXPECT_EQ(first, info.device_addr);
	ASSERT_EQ(0, backend_write(rig, large, 4096, "behind", 6));
	ASSERT_EQ(0, rig->backend->hbm_map(rig->chip, 0, &map, &size));
	hbm = map;
	/* The image of the rig is where the stack begins. */
	info.handle = rig->image;
	ASSERT_EQ(0, rig->backend->bo_info(rig->chip, &info));
	EXPECT_EQ(0, memcmp(hbm + (hole.device_addr - info.device_addr), "behind", 6));
}

/* Buffers of @pages pages, in as many pieces, between @handles, which are 2 * @pages. */
static void scatter(struct backend_rig *rig, uint32_t *handles, uint32_t pages)
{
	struct drm_neuron_memory_info stack = { 0 };
	uint32_t i, rest;

	for (i = 0; i < 2 * pages; i++)
		if (backend_buffer(rig, DRM_NEURON_BO_HBM, 4096, &handles[i]))
			return;
	backend_query(rig, DRM_NEURON_QUERY_MEMORY, &stack, sizeof(stack), 1);
	backend_buffer(rig, DRM_NEURON_BO_HBM, stack.usable - stack.used, &rest);
	for (i = 0; i < 2 * pages; i += 2)
		rig->backend->bo_close(rig->chip, handles[i]);
}

static int map_all(struct backend_rig *rig, uint32_t handle, uint64_t size, void **map)
{
	struct drm_neuron_bo_info info = { .handle = handle };
	int ret = rig->backend->bo_info(rig->chip, &info);

	return ret ? ret : rig->backend->bo_map(rig->chip, info.mmap_offset, size, map);
}

/* Each piece takes a mapping of the process, which has 65,530 of them. A part of them is enough. */
TEST_F_TIMEOUT(embedded, mappings_are_left, BACKEND_LIMIT_S)
{
	const uint32_t pages = 20000, half = 10000;
	uint32_t *handles = calloc(2 * pages, sizeof(*handles)), large, first, second;
	struct backend_rig *rig = &self->rig;
	char byte = 'x', back = 0;
	void *map;

	ASSERT_NE(NULL, handles);
	scatter(rig, handles, pages);
	ASSERT_EQ(0, backend_buffer(rig, DRM_NEURON_BO_HBM, 4096ull * pages, &large));
	EXPECT_EQ(-ENOMEM, map_all(rig, large, 4096ull * pages, &map));
	/* It can be used without. */
	EXPECT_EQ(0, backend_write(rig, large, 4096ull * pages - 1, &byte, 1));
	EXPECT_EQ(0, backend_read(rig, large, 4096ull * pages - 1, &back, 1));
	EXPECT_EQ('x', back);
	rig->backend->bo_close(rig->chip, large);
	ASSERT_EQ(0, backend_buffer(rig, DRM_NEURON_BO_HBM, 4096ull * half, &first));
	ASSERT_EQ(0, backend_buffer(rig, DRM_NEURON_BO_HBM, 4096ull * half, &second));
	EXPECT_EQ(0, map_all(rig, first, 4096ull * half, &map));
	EXPECT_EQ(-ENOMEM, map_all(rig, second, 4096ull * half, &map));
	rig->backend->bo_close(rig->chip, first);
	EXPECT_EQ(0, map_all(rig, second, 4096ull * half, &map));
	free(handles);
}

TEST_F_TIMEOUT(embedded, mapped_stack, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	uint64_t size;
	void *map;

	EXPECT_EQ(0, rig->backend->hbm_map(rig->chip, rig->info.nr_hbm - 1, &map, &size));
	EXPECT_EQ(-EINVAL, rig->backend->hbm_map(rig->chip, rig->info.nr_hbm, &map, &size));
	EXPECT_EQ(-EINVAL, rig->backend->hbm_map(rig->chip, 1000, &map, &size));
}

/* --- a child --- */

/* What each call of a child says: at once, and without a change for its parent. */
static int in_child(struct backend_rig *rig, int fd)
{
	struct drm_neuron_wait_job result;
	uint32_t claim, handle;
	uint64_t id;

	alarm(60);
	if (backend_submit(rig, 0, HALTS, 0, &id) != -ENODEV)
		return 1;
	if (backend_wait(rig, 0, 1, backend_in_ms(100000), &result) != -ENODEV)
		return 2;
	if (backend_claim(rig, 2, &claim) != -ENODEV)
		return 3;
	if (backend_buffer(rig, DRM_NEURON_BO_HBM, 4096, &handle) != -ENODEV)
		return 4;
	if (backend_release(rig, rig->claim) != -ENODEV)
		return 5;
	if (backend_query(rig, DRM_NEURON_QUERY_MEMORY, NULL, 0, 0) != -ENODEV)
		return 6;
	if (rig->backend->bo_import(rig->chip, fd, &handle) != -ENODEV)
		return 7;
	rig->backend->bo_close(rig->chip, rig->image);
	rig->backend->close(rig->chip);
	return 0;
}

TEST_F_TIMEOUT(embedded, fork, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_wait_job result;
	uint64_t id, spinning;
	int status = -1, fd;
	pid_t pid;

	ASSERT_EQ(0, rig->backend->bo_export(rig->chip, rig->image, &fd));
	ASSERT_EQ(0, backend_submit(rig, 0, HALTS, 0, &id));
	ASSERT_EQ(0, backend_end(rig, 0, id, &result));
	/* Another job runs meanwhile, and threads hold locks. */
	ASSERT_EQ(0, backend_submit(rig, 0, SPINS, 2000, &spinning));
	pid = fork();
	if (!pid)
		_exit(in_child(rig, fd));
	close(fd);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status));
	ASSERT_EQ(0, backend_end(rig, 0, spinning, &result));
	EXPECT_TRUE(result.flags & DRM_NEURON_JOB_HANG);
	EXPECT_EQ(-ETIMEDOUT, result.error);
	ASSERT_EQ(0, backend_submit(rig, 0, HALTS, 0, &id));
	ASSERT_EQ(0, backend_end(rig, 0, id, &result));
	EXPECT_EQ(DRM_NEURON_JOB_OK, result.status);
}

TEST_HARNESS_MAIN
