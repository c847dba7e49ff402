// SPDX-License-Identifier: MIT
/*
 * The table of a back end: a buffer in HBM when no free range is long enough. It is made of many
 * pieces, and nobody who uses it sees them. As in test_nrt_backend.c the driver and chips in the
 * process must say the same.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "backend_rig.h"
#include "contract/ring.h"
#include "contract/trace.h"
#include "neuron/isa.h"
#include "neuron/window.h"

#define PAGE	4096u
/* Free ranges that are left of a stack, each between two buffers. */
#define HOLES	32u
#define HOLE	(3 * PAGE)
#define SIZE	(HOLES * HOLE)

/*
 * @whole: a buffer in one piece, of the size that is free otherwise
 * @small: buffers side by side; the even ones are closed
 * @rest: all that was left of the stack
 * @used: bytes of the stack at first
 */
FIXTURE(pieces)
{
	struct backend_rig rig;
	uint32_t whole;
	uint32_t small[2 * HOLES];
	uint32_t rest;
	uint64_t used;
};

static int ask(struct backend_rig *rig, struct drm_neuron_memory_info *stack)
{
	*stack = (struct drm_neuron_memory_info){ 0 };
	return backend_query(rig, DRM_NEURON_QUERY_MEMORY, stack, sizeof(*stack), 1);
}

static int create(struct backend_rig *rig, uint64_t size, uint32_t *handle)
{
	return backend_buffer(rig, DRM_NEURON_BO_HBM, size, handle);
}

FIXTURE_SETUP(pieces)
{
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_memory_info stack;
	unsigned int i;

	ASSERT_EQ(0, backend_open(rig));
	ASSERT_EQ(0, ask(rig, &stack));
	self->used = stack.used;
	ASSERT_EQ(0, create(rig, SIZE, &self->whole));
	for (i = 0; i < 2 * HOLES; i++)
		ASSERT_EQ(0, create(rig, HOLE, &self->small[i]));
	ASSERT_EQ(0, ask(rig, &stack));
	ASSERT_EQ(0, create(rig, stack.usable - stack.used, &self->rest));
	for (i = 0; i < 2 * HOLES; i += 2)
		rig->backend->bo_close(rig->chip, self->small[i]);
}

/* A buffer that still ends would be one more piece of the stack in the next test. */
FIXTURE_TEARDOWN(pieces)
{
	const struct timespec moment = { .tv_nsec = 10000000 };
	struct drm_neuron_memory_info stack;
	int tries = 0;

	backend_close(&self->rig);
	ASSERT_EQ(0, backend_open(&self->rig));
	while (!ask(&self->rig, &stack) && stack.used > self->used && tries++ < 1000)
		nanosleep(&moment, NULL);
	EXPECT_LE(stack.used, self->used);
	backend_close(&self->rig);
}

/* The driver may count a buffer a moment after its end. */
static bool uses(struct backend_rig *rig, uint64_t bytes)
{
	const struct timespec moment = { .tv_nsec = 10000000 };
	struct drm_neuron_memory_info stack;
	int tries = 0;

	while (!ask(rig, &stack) && stack.used != bytes && tries++ < 1000)
		nanosleep(&moment, NULL);
	return stack.used == bytes;
}

static void fill(uint8_t *bytes, unsigned int seed)
{
	unsigned int i;

	for (i = 0; i < SIZE; i++)
		bytes[i] = (uint8_t)(i * 7 + i / 253 + i / PAGE * 31 + seed);
}

/* --- memory --- */

/* All that is free, and not a page more; and that again and again, each time zero. */
TEST_F_TIMEOUT(pieces, memory, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	uint8_t *bytes = malloc(SIZE), *zeros = calloc(1, SIZE);
	struct drm_neuron_memory_info stack;
	uint32_t handle, more;
	unsigned int i;

	ASSERT_TRUE(bytes && zeros);
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, ask(rig, &stack));
		EXPECT_EQ(stack.usable - SIZE, stack.used);
		EXPECT_EQ(-ENOSPC, create(rig, SIZE + PAGE, &handle));
		ASSERT_EQ(0, create(rig, SIZE, &handle));
		EXPECT_TRUE(uses(rig, stack.usable));
		EXPECT_EQ(-ENOSPC, create(rig, PAGE, &more));
		ASSERT_EQ(0, backend_read(rig, handle, 0, bytes, SIZE));
		EXPECT_EQ(0, memcmp(zeros, bytes, SIZE));
		fill(bytes, i);
		ASSERT_EQ(0, backend_write(rig, handle, 0, bytes, SIZE));
		rig->backend->bo_close(rig->chip, handle);
		EXPECT_TRUE(uses(rig, stack.usable - SIZE));
	}
	free(zeros);
	free(bytes);
}

/* Buffers end in any order, and all of the stack is one range again. */
TEST_F_TIMEOUT(pieces, comes_back, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	uint32_t first, second, all;
	struct drm_neuron_memory_info stack;
	unsigned int i;

	ASSERT_EQ(0, create(rig, SIZE / 2, &first));
	ASSERT_EQ(0, create(rig, SIZE / 2, &second));
	for (i = 1; i < 2 * HOLES; i += 4)
		rig->backend->bo_close(rig->chip, self->small[i]);
	rig->backend->bo_close(rig->chip, first);
	rig->backend->bo_close(rig->chip, self->rest);
	for (i = 3; i < 2 * HOLES; i += 4)
		rig->backend->bo_close(rig->chip, self->small[i]);
	rig->backend->bo_close(rig->chip, self->whole);
	rig->backend->bo_close(rig->chip, second);
	EXPECT_TRUE(uses(rig, self->used));
	ASSERT_EQ(0, ask(rig, &stack));
	ASSERT_EQ(0, create(rig, stack.usable - stack.used, &all));
	rig->backend->bo_close(rig->chip, all);
	EXPECT_TRUE(uses(rig, self->used));
}

/* --- what the host sees --- */

static int copy(struct backend_rig *rig, uint32_t to, uint64_t offset, uint32_t from,
		uint64_t src_offset, uint64_t size)
{
	struct drm_neuron_copy args = {
		.direction = DRM_NEURON_COPY_BUFFER,
		.handle = to,
		.offset = offset,
		.src_handle = from,
		.src_offset = src_offset,
		.size = size,
	};

	return rig->backend->copy(rig->chip, &args);
}

TEST_F_TIMEOUT(pieces, copies, BACKEND_LIMIT_S)
{
	static const struct {
		uint32_t at;
		uint32_t size;
	} parts[] = {
		{ 0, SIZE }, { HOLE - 1, 2 }, { HOLE, 1 }, { 5 * HOLE - 3, HOLE + 7 },
		{ SIZE - 1, 1 }, { 1, SIZE - 2 }, { SIZE, 0 },
	};
	struct backend_rig *rig = &self->rig;
	uint8_t *out = malloc(SIZE), *back = malloc(SIZE);
	struct drm_neuron_bo_info info = { 0 };
	uint32_t handle;
	unsigned int i;

	ASSERT_TRUE(out && back);
	ASSERT_EQ(0, create(rig, SIZE, &handle));
	info.handle = handle;
	ASSERT_EQ(0, rig->backend->bo_info(rig->chip, &info));
	EXPECT_EQ(SIZE, info.size);
	EXPECT_NE(0, info.device_addr);
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		fill(out, i);
		memset(back, 0, SIZE);
		ASSERT_EQ(0, backend_write(rig, handle, parts[i].at, out, parts[i].size));
		ASSERT_EQ(0, backend_read(rig, handle, parts[i].at, back, parts[i].size));
		EXPECT_EQ(0, memcmp(out, back, parts[i].size));
		/* By another buffer, there and back. */
		ASSERT_EQ(0, copy(rig, self->whole, parts[i].at, handle, parts[i].at,
				  parts[i].size));
		ASSERT_EQ(0, backend_read(rig, self->whole, parts[i].at, back, parts[i].size));
		EXPECT_EQ(0, memcmp(out, back, parts[i].size));
	}
	EXPECT_EQ(-EINVAL, backend_write(rig, handle, SIZE, out, 1));
	fill(out, 99);
	ASSERT_EQ(0, backend_write(rig, self->whole, 0, out, SIZE));
	ASSERT_EQ(0, copy(rig, handle, 0, self->whole, 0, SIZE));
	/* Within it, from odd places to others. */
	ASSERT_EQ(0, copy(rig, handle, 1001, handle, SIZE / 2 + 3, SIZE / 4));
	memcpy(out + 1001, out + SIZE / 2 + 3, SIZE / 4);
	ASSERT_EQ(0, backend_read(rig, handle, 0, back, SIZE));
	EXPECT_EQ(0, memcmp(out, back, SIZE));
	free(back);
	free(out);
}

TEST_F_TIMEOUT(pieces, maps, BACKEND_LIMIT_S)
{
	struct drm_neuron_bo_create args = { .size = SIZE };
	struct backend_rig *rig = &self->rig;
	uint8_t *out = malloc(SIZE), *back = malloc(SIZE);
	void *map, *part;

	ASSERT_TRUE(out && back);
	ASSERT_EQ(0, rig->backend->bo_create(rig->chip, &args));
	fill(out, 1);
	ASSERT_EQ(0, backend_write(rig, args.handle, 0, out, SIZE));
	ASSERT_EQ(0, rig->backend->bo_map(rig->chip, args.mmap_offset, SIZE, &map));
	ASSERT_EQ(0, rig->backend->bo_map(rig->chip, args.mmap_offset, HOLE + PAGE, &part));
	EXPECT_EQ(0, memcmp(out, map, SIZE));
	EXPECT_EQ(0, memcmp(out, part, HOLE + PAGE));
	fill(out, 2);
	memcpy(map, out, SIZE);
	((uint8_t *)part)[HOLE] = 55;
	out[HOLE] = 55;
	__sync_synchronize();
	ASSERT_EQ(0, backend_read(rig, args.handle, 0, back, SIZE));
	EXPECT_EQ(0, memcmp(out, back, SIZE));
	rig->backend->bo_unmap(rig->chip, part, HOLE + PAGE);
	rig->backend->bo_unmap(rig->chip, map, SIZE);
	rig->backend->bo_close(rig->chip, args.handle);
	/* Who gets the memory finds zeros there. */
	args = (struct drm_neuron_bo_create){ .size = SIZE };
	ASSERT_EQ(0, rig->backend->bo_create(rig->chip, &args));
	ASSERT_EQ(0, rig->backend->bo_map(rig->chip, args.mmap_offset, SIZE, &map));
	memset(out, 0, SIZE);
	EXPECT_EQ(0, memcmp(out, map, SIZE));
	rig->backend->bo_unmap(rig->chip, map, SIZE);
	free(back);
	free(out);
}

/* --- what a job sees --- */

/* Windows of the job, and what lies where in them: over the ends of pieces. */
enum { IMAGE, DATA };

#define PROGRAM		(HOLE - 2 * NEURON_INST_SIZE)
#define STORES		8u
#define RINGS		(2 * HOLE - 256)
#define RING_LENGTH	32u
#define SOURCE		40001u
#define TARGET		200003u
#define BYTES		60000u
#define STORED(i)	(270000u + (i) * 4092)
#define TRACE		300032u
#define TRACE_BYTES	65536u

/* Write some words, and copy @BYTES by a queue. */
static uint32_t make_program(struct neuron_inst *inst)
{
	uint32_t i, nr = 0;

	for (i = 0; i < STORES; i++) {
		inst[nr++] = (struct neuron_inst){
			.opcode = NEURON_OP_REG_SET, .reg = { 1 }, .imm0 = 0x1000 + i,
		};
		inst[nr++] = (struct neuron_inst){
			.opcode = NEURON_OP_REG_STORE,
			.reg = { 1 },
			.addr = neuron_window_addr(DATA, STORED(i)),
		};
	}
	inst[nr++] = (struct neuron_inst){
		.opcode = NEURON_OP_DMA_TRIGGER, .imm0 = 1, .imm1 = 1,
	};
	inst[nr++] = (struct neuron_inst){ .opcode = NEURON_OP_HALT };
	return nr;
}

/* What is in the buffers before the job. Returns its instructions. */
static uint32_t make_image(uint8_t *image)
{
	struct neuron_udma_desc *ring = (void *)(image + RINGS);

	fill(image, 3);
	memset(ring, 0, 2 * RING_LENGTH * sizeof(*ring));
	ring[0] = neuron_copy_source(neuron_window_addr(DATA, SOURCE), BYTES,
				     NEURON_UDMA_RING_ID_FIRST, NEURON_UDMA_META_DEFAULT);
	ring[RING_LENGTH] = neuron_copy_target(neuron_window_addr(DATA, TARGET), BYTES,
					       NEURON_UDMA_RING_ID_FIRST, 0);
	memset(image + TRACE, 0, TRACE_BYTES);
	return make_program((void *)(image + PROGRAM));
}

/**
 * struct run - a job that works in buffers
 * @chip, @claim: whose core 0 runs it
 * @image, @data: handles there, of what the windows show
 * @count: of its instructions
 * @traced: its trace goes into @image
 * @ns: out: what it takes
 */
struct run {
	struct nrt_chip *chip;
	uint32_t claim;
	uint32_t image;
	uint32_t data;
	uint32_t count;
	bool traced;
	uint64_t ns;
};

static int run_job(struct backend_rig *rig, struct run *run)
{
	const uint32_t both = DRM_NEURON_WINDOW_READ | DRM_NEURON_WINDOW_WRITE;
	const struct drm_neuron_window windows[] = {
		{ IMAGE, DRM_NEURON_WINDOW_BO, both, run->image, 0, SIZE },
		{ DATA, DRM_NEURON_WINDOW_BO, both, run->data, 0, SIZE },
	};
	const struct drm_neuron_start start = {
		.addr = neuron_window_addr(IMAGE, PROGRAM),
		.count = run->count,
		.engine = DRM_NEURON_ENGINE_SYNC,
	};
	const uint64_t ring = neuron_window_addr(IMAGE, RINGS);
	const struct drm_neuron_queue queue = {
		.m2s_ring = ring,
		.s2m_ring = ring + RING_LENGTH * sizeof(struct neuron_udma_desc),
		.m2s_length = RING_LENGTH,
		.s2m_length = RING_LENGTH,
	};
	struct drm_neuron_job job = {
		.starts = ARRAY_OF(&start),
		.windows = ARRAY_OF_ALL(windows),
		.queues = ARRAY_OF(&queue),
	};
	struct drm_neuron_submit call = { .claim = run->claim, .jobs = ARRAY_OF(&job) };
	struct drm_neuron_wait_job result = { .claim = run->claim };
	struct drm_neuron_wait wait = {
		.deadline_ns = backend_in_ms(BACKEND_LIMIT_S * 1000), .jobs = ARRAY_OF(&result),
	};
	int ret;

	if (run->traced) {
		job.trace = run->image;
		job.trace_offset = TRACE;
		job.trace_size = TRACE_BYTES;
	}
	ret = rig->backend->submit(run->chip, &call);
	result.job = call.job;
	if (!ret)
		ret = rig->backend->wait(run->chip, &wait);
	run->ns = result.end_ns - result.start_ns;
	return ret ? ret : result.error;
}

/* What the job must have done to what make_image() has made. */
static void expect(uint8_t *image)
{
	uint32_t i, word;

	memmove(image + TARGET, image + SOURCE, BYTES);
	for (i = 0; i < STORES; i++) {
		word = 0x1000 + i;
		memcpy(image + STORED(i), &word, sizeof(word));
	}
}

/* Is in the buffer what a job makes of @image? That is in @image then, too. */
static bool holds_result(struct backend_rig *rig, uint32_t handle, uint8_t *image)
{
	uint8_t *back = malloc(SIZE);
	bool same;

	expect(image);
	same = back && !backend_read(rig, handle, 0, back, SIZE) && !memcmp(image, back, SIZE);
	free(back);
	return same;
}

/* The same bits and the same device time, in pieces or not. */
TEST_F_TIMEOUT(pieces, job, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	uint8_t *image = malloc(SIZE);
	uint32_t handle, handles[2];
	struct run runs[2];
	unsigned int i;

	ASSERT_NE(NULL, image);
	ASSERT_EQ(0, create(rig, SIZE, &handle));
	handles[0] = self->whole;
	handles[1] = handle;
	for (i = 0; i < 2; i++) {
		runs[i] = (struct run){
			.chip = rig->chip,
			.claim = rig->claim,
			.image = handles[i],
			.data = handles[i],
			.count = make_image(image),
		};
		ASSERT_EQ(0, backend_write(rig, handles[i], 0, image, SIZE));
		ASSERT_EQ(0, run_job(rig, &runs[i]));
		EXPECT_TRUE(holds_result(rig, handles[i], image));
	}
	EXPECT_NE(0, runs[0].ns);
	EXPECT_EQ(runs[0].ns, runs[1].ns);
	free(image);
}

/* The trace of such a job has the same records. */
TEST_F_TIMEOUT(pieces, trace, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	struct neuron_hw_trace headers[2];
	uint8_t *image = malloc(SIZE);
	uint32_t handles[2];
	struct run run;
	unsigned int i;

	ASSERT_NE(NULL, image);
	handles[0] = self->whole;
	ASSERT_EQ(0, create(rig, SIZE, &handles[1]));
	for (i = 0; i < 2; i++) {
		run = (struct run){
			.chip = rig->chip,
			.claim = rig->claim,
			.image = handles[i],
			.data = handles[i],
			.count = make_image(image),
			.traced = true,
		};
		ASSERT_EQ(0, backend_write(rig, handles[i], 0, image, SIZE));
		ASSERT_EQ(0, run_job(rig, &run));
		ASSERT_EQ(0, backend_read(rig, handles[i], TRACE, &headers[i],
					  sizeof(headers[i])));
		EXPECT_EQ(NEURON_TRACE_MAGIC, headers[i].magic);
	}
	EXPECT_LT(2 * STORES, headers[0].records);
	EXPECT_EQ(headers[0].records, headers[1].records);
	free(image);
}

/* Part of a window's buffer is in one piece, and a window outlives the handle. */
TEST_F_TIMEOUT(pieces, windows, BACKEND_LIMIT_S)
{
	struct drm_neuron_window windows[200];
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_windows call = { .claim = rig->claim };
	struct drm_neuron_memory_info stack;
	uint32_t handle;
	unsigned int i;

	ASSERT_EQ(0, ask(rig, &stack));
	ASSERT_EQ(0, create(rig, SIZE, &handle));
	for (i = 0; i < 200; i++)
		windows[i] = (struct drm_neuron_window){
			.index = 2 + i,
			.kind = DRM_NEURON_WINDOW_BO,
			.rights = DRM_NEURON_WINDOW_READ,
			.handle = handle,
			.offset = i * 4,
			.length = SIZE - i * 1900,
		};
	windows[199].offset = HOLE;
	windows[199].length = PAGE;
	call.windows = ARRAY_OF_ALL(windows);
	ASSERT_EQ(0, rig->backend->windows(rig->chip, &call));
	rig->backend->bo_close(rig->chip, handle);
	EXPECT_TRUE(uses(rig, stack.usable));
	for (i = 0; i < 200; i++)
		windows[i] = (struct drm_neuron_window){ .index = 2 + i };
	call.windows.count = 199;
	ASSERT_EQ(0, rig->backend->windows(rig->chip, &call));
	EXPECT_TRUE(uses(rig, stack.usable));
	call.windows.pointer = (uintptr_t)&windows[199];
	call.windows.count = 1;
	ASSERT_EQ(0, rig->backend->windows(rig->chip, &call));
	EXPECT_TRUE(uses(rig, stack.used));
}

static struct drm_neuron_window shown(uint32_t index, uint32_t handle, uint64_t length)
{
	return (struct drm_neuron_window){
		.index = index,
		.kind = DRM_NEURON_WINDOW_BO,
		.rights = DRM_NEURON_WINDOW_READ,
		.handle = handle,
		.length = length,
	};
}

static int show_all(struct backend_rig *rig, const struct drm_neuron_window *windows,
		    uint32_t count)
{
	struct drm_neuron_windows call = {
		.claim = rig->claim,
		.windows = { sizeof(*windows), count, (uintptr_t)windows },
	};

	return rig->backend->windows(rig->chip, &call);
}

/* A table takes so many extents, also when windows show the same ones. */
TEST_F_TIMEOUT(pieces, extents_of_a_table, BACKEND_LIMIT_S)
{
	const uint32_t most = NEURON_MAX_EXTENTS / HOLES;
	struct drm_neuron_window *windows = calloc(most, sizeof(*windows)), some[2];
	struct backend_rig *rig = &self->rig;
	uint32_t i, handle;

	ASSERT_NE(NULL, windows);
	ASSERT_EQ(0, create(rig, SIZE, &handle));
	for (i = 0; i < most; i++)
		windows[i] = shown(i, handle, SIZE);
	ASSERT_EQ(0, show_all(rig, windows, most));
	some[0] = shown(most, handle, PAGE);
	EXPECT_EQ(-EINVAL, show_all(rig, some, 1));
	/* What was refused has taken no room. */
	some[0] = shown(0, handle, SIZE - HOLE);
	EXPECT_EQ(0, show_all(rig, some, 1));
	some[0] = shown(most, handle, HOLE + PAGE);
	EXPECT_EQ(-EINVAL, show_all(rig, some, 1));
	/* Of two windows of one index the second one counts. */
	some[1] = shown(most, handle, HOLE);
	EXPECT_EQ(0, show_all(rig, some, 2));
	some[1] = some[0];
	EXPECT_EQ(-EINVAL, show_all(rig, some, 2));
	some[1] = (struct drm_neuron_window){ .index = 0 };
	EXPECT_EQ(0, show_all(rig, some, 2));
	free(windows);
}

/* --- what another chip sees --- */

static int share(struct backend_rig *rig, uint32_t handle, struct nrt_chip *peer, uint32_t *there)
{
	int fd, ret = rig->backend->bo_export(rig->chip, handle, &fd);

	if (ret)
		return ret;
	ret = rig->backend->bo_import(peer, fd, there);
	close(fd);
	return ret;
}

static int put(struct backend_rig *rig, struct nrt_chip *chip, uint32_t handle,
	       const uint8_t *bytes)
{
	struct drm_neuron_copy args = {
		.direction = DRM_NEURON_COPY_TO_DEVICE,
		.handle = handle,
		.user = (uintptr_t)bytes,
		.size = SIZE,
	};

	return rig->backend->copy(chip, &args);
}

/* A job of a peer that works in the buffer, at the same device time as in one piece. */
TEST_F_TIMEOUT(pieces, peers, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_bo_create own = { .size = SIZE };
	struct drm_neuron_claim claim = { .cores = 1 };
	uint8_t *image = malloc(SIZE);
	uint32_t handles[2];
	struct run runs[2];
	unsigned int i;

	ASSERT_NE(NULL, image);
	ASSERT_LT(1, rig->count);
	handles[0] = self->whole;
	ASSERT_EQ(0, create(rig, SIZE, &handles[1]));
	ASSERT_EQ(0, rig->backend->claim(rig->chips[1], &claim));
	ASSERT_EQ(0, rig->backend->bo_create(rig->chips[1], &own));
	for (i = 0; i < 2; i++) {
		runs[i] = (struct run){
			.chip = rig->chips[1],
			.claim = claim.claim,
			.image = own.handle,
			.count = make_image(image),
		};
		ASSERT_EQ(0, share(rig, handles[i], rig->chips[1], &runs[i].data));
		ASSERT_EQ(0, put(rig, rig->chip, handles[i], image));
		ASSERT_EQ(0, put(rig, rig->chips[1], own.handle, image));
		ASSERT_EQ(0, run_job(rig, &runs[i]));
		EXPECT_TRUE(holds_result(rig, handles[i], image));
	}
	EXPECT_NE(0, runs[0].ns);
	EXPECT_EQ(runs[0].ns, runs[1].ns);
	free(image);
}

TEST_HARNESS_MAIN
