// SPDX-License-Identifier: MIT
/*
 * Traces of jobs: the device writes what a job did into a buffer of its owner, and
 * nowhere else.
 */
#include <unistd.h>

#include "contract/trace.h"
#include "job_rig.h"
#include "kselftest_harness.h"
#include "neuron_test.h"

#define LIMIT	20000	/* ms, of jobs that should end at once */
#define SIZE	0x300000	/* more than one piece of host memory */
#define ROOM(n)	(sizeof(struct neuron_hw_trace) + \
		 (n) * sizeof(struct neuron_hw_trace_record))
#define BYTES	4096	/* that the program copies */
#define RECORDS	3	/* of the program: trigger, halt, transfer */

FIXTURE(trace) {
	struct rig rig;
	struct rig_usage before;
	struct drm_neuron_bo_create bo;
	uint8_t *map;
	int fd;
};

FIXTURE_VARIANT(trace) {
	uint32_t placement;
};

FIXTURE_VARIANT_ADD(trace, host) { .placement = DRM_NEURON_BO_HOST };
FIXTURE_VARIANT_ADD(trace, hbm) { .placement = DRM_NEURON_BO_HBM };

static void *map_bo(int fd, const struct drm_neuron_bo_create *bo)
{
	return mmap(NULL, bo->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    (off_t)bo->mmap_offset);
}

FIXTURE_SETUP(trace)
{
	self->fd = neuron_open(0);
	if (self->fd < 0)
		SKIP(return, "no neuron device");
	rig_usage(self->fd, &self->before);
	ASSERT_GE(self->before.live, 0) TH_LOG("debugfs must be mounted");
	ASSERT_EQ(0, rig_open(&self->rig, 0, 0));
	ASSERT_EQ(0, neuron_bo_create(self->rig.fd, variant->placement, 0, SIZE, &self->bo));
	self->map = map_bo(self->rig.fd, &self->bo);
	ASSERT_NE(MAP_FAILED, (void *)self->map);
}

FIXTURE_TEARDOWN(trace)
{
	if (self->map)
		munmap(self->map, SIZE);
	rig_close(&self->rig);
	if (self->fd < 0)
		return;
	EXPECT_FALSE(rig_leaks(self->fd, &self->before));
	close(self->fd);
}

static bool device_time(int fd)
{
	struct drm_neuron_device_info info = { 0 };

	return !neuron_query(fd, DRM_NEURON_QUERY_DEVICE, &info, sizeof(info)) &&
	       info.features & 1;
}

/* The sync engine copies BYTES bytes. */
static void emit(struct rig *rig)
{
	rig_clear(rig);
	rig_copy(rig, NEURON_ENGINE_SYNC, neuron_window_addr(RIG_WINDOW_DATA, BYTES),
		 neuron_window_addr(RIG_WINDOW_DATA, 0), BYTES);
	rig_halt(rig, NEURON_ENGINE_SYNC);
}

/* Run what was emitted; the trace goes to @size bytes from @offset on of @bo. */
static int run(struct rig *rig, uint32_t bo, uint64_t offset, uint64_t size,
	       struct drm_neuron_wait_job *result)
{
	struct drm_neuron_queue queue;
	struct rig_submit submit;
	int ret;

	rig_prepare(rig, &submit, &queue);
	submit.job.trace = bo;
	submit.job.trace_offset = offset;
	submit.job.trace_size = size;
	ret = rig_submit(rig, &submit);
	return ret ? ret : rig_wait(rig, submit.call.job, LIMIT, result);
}

/* A reader of a trace that is in use copies what it checks. */
static const char *read_header(const uint8_t *at, uint64_t size, struct neuron_hw_trace *trace)
{
	memcpy(trace, at, sizeof(*trace));
	return neuron_trace_check(trace, size);
}

static const char *read_record(const uint8_t *at, unsigned int n,
			       struct neuron_trace_event *event)
{
	struct neuron_hw_trace_record record;

	memcpy(&record, at + ROOM(n), sizeof(record));
	return neuron_trace_decode(&record, event);
}

#define expect_trace(at, size, job_number, nr, nr_lost) do { \
	struct neuron_hw_trace trace_; \
	const char *why_ = read_header(at, size, &trace_); \
	ASSERT_EQ(NULL, why_) TH_LOG("%s", why_); \
	EXPECT_EQ((uint32_t)(job_number), (uint32_t)trace_.job_id); \
	EXPECT_EQ(nr, trace_.records); \
	EXPECT_EQ(nr_lost, trace_.lost); \
} while (0)

#define expect_program(at, result) do { \
	struct neuron_trace_event event_[RECORDS]; \
	unsigned int n_; \
	for (n_ = 0; n_ < RECORDS; n_++) { \
		ASSERT_EQ(NULL, read_record(at, n_, &event_[n_])); \
		EXPECT_LE((result)->start_ns, event_[n_].begin_ns); \
		EXPECT_GE((result)->end_ns, event_[n_].end_ns); \
		EXPECT_TRUE(!n_ || event_[n_ - 1].end_ns <= event_[n_].end_ns); \
		EXPECT_EQ(0, event_[n_].flags); \
	} \
	for (n_ = 0; n_ < 2; n_++) { \
		EXPECT_EQ(NEURON_TRACE_INSTRUCTION, event_[n_].kind); \
		EXPECT_EQ(NEURON_ENGINE_SYNC, event_[n_].source); \
		EXPECT_EQ(n_, event_[n_].pc); \
		EXPECT_EQ(n_ ? NEURON_OP_HALT : NEURON_OP_DMA_TRIGGER, event_[n_].code); \
	} \
	EXPECT_EQ(NEURON_TRACE_TRANSFER, event_[2].kind); \
	EXPECT_EQ(0, event_[2].source % 16); \
	EXPECT_EQ(1, event_[2].code); \
	EXPECT_EQ(0, event_[2].pc); \
	EXPECT_EQ(BYTES, event_[2].bytes); \
} while (0)

TEST_F(trace, tells_what_the_job_did)
{
	/* At the start, across the end of a piece of host memory, at the end. */
	const uint64_t at[] = { 0, 64, 0x200000 - 64, SIZE - 192 };
	struct drm_neuron_wait_job result;
	unsigned int i;

	emit(&self->rig);
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, run(&self->rig, self->bo.handle, at[i], 192, &result));
		ASSERT_EQ(NEURON_JOB_OK, result.status);
		EXPECT_EQ(2, result.instructions);
		EXPECT_EQ(0, result.flags);
		expect_trace(self->map + at[i], 192, result.job, RECORDS, 0);
		expect_program(self->map + at[i], &result);
	}
}

/* Relative to the start of the job every run has the same times. */
TEST_F(trace, is_the_same_at_each_run)
{
	uint64_t begin[RECORDS], end[RECORDS];
	struct drm_neuron_wait_job result;
	struct neuron_trace_event event;
	unsigned int i, n;

	emit(&self->rig);
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, run(&self->rig, self->bo.handle, 0, SIZE, &result));
		for (n = 0; n < RECORDS; n++) {
			ASSERT_EQ(NULL, read_record(self->map, n, &event));
			if (!i) {
				begin[n] = event.begin_ns - result.start_ns;
				end[n] = event.end_ns - result.start_ns;
			}
			EXPECT_EQ(begin[n], event.begin_ns - result.start_ns);
			EXPECT_EQ(end[n], event.end_ns - result.start_ns);
		}
	}
}

TEST_F(trace, counts_what_it_has_no_room_for)
{
	struct drm_neuron_wait_job result;
	unsigned int i;

	rig_clear(&self->rig);
	for (i = 0; i < 99; i++)
		rig_emit(&self->rig, NEURON_ENGINE_VECTOR, NEURON_OP_NOP);
	rig_halt(&self->rig, NEURON_ENGINE_VECTOR);
	memset(self->map, 0xa5, 0x1000);
	ASSERT_EQ(0, run(&self->rig, self->bo.handle, 0x400, ROOM(10) + 39, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	expect_trace(self->map + 0x400, ROOM(10) + 39, result.job, 10, 90);
	/* Not a byte beside it. */
	EXPECT_EQ(0x400, neuron_differs_from(self->map, 0x400, 0xa5));
	EXPECT_EQ(0x1000 - 0x400 - ROOM(10),
		  neuron_differs_from(self->map + 0x400 + ROOM(10),
				      0x1000 - 0x400 - ROOM(10), 0xa5));
}

/* No number of a window leads a program there; each of these jobs is traced, too. */
TEST_F(trace, no_program_reaches_it)
{
	struct drm_neuron_wait_job result;
	struct neuron_inst *inst;
	unsigned int i, store;

	for (i = RIG_WINDOW_FREE; i < 20; i++) {
		for (store = 0; store < 2; store++) {
			rig_clear(&self->rig);
			inst = rig_emit(&self->rig, NEURON_ENGINE_SCALAR,
					store ? NEURON_OP_REG_STORE : NEURON_OP_REG_LOAD);
			inst->reg[0] = 1;
			inst->addr = neuron_window_addr(i, 0);
			rig_halt(&self->rig, NEURON_ENGINE_SCALAR);
			ASSERT_EQ(0, run(&self->rig, self->bo.handle, 0, SIZE, &result));
			EXPECT_EQ(NEURON_CAUSE_WINDOW, result.cause);
			expect_trace(self->map, SIZE, result.job, 0, 0);
		}
	}
}

/* The job keeps the buffer, whatever the owner lets go of. */
TEST_F(trace, lives_with_the_job)
{
	struct rig_submit endless, submit;
	struct drm_neuron_wait_job result;

	rig_clear(&self->rig);
	rig_loop(&self->rig, NEURON_ENGINE_VECTOR, 0);
	rig_halt(&self->rig, NEURON_ENGINE_SCALAR);
	rig_prepare_engine(&self->rig, &endless, NEURON_ENGINE_VECTOR);
	endless.job.timeout_ms = 60000;
	ASSERT_EQ(0, rig_submit(&self->rig, &endless));
	rig_prepare_engine(&self->rig, &submit, NEURON_ENGINE_SCALAR);
	submit.job.trace = self->bo.handle;
	submit.job.trace_size = SIZE;
	ASSERT_EQ(0, rig_submit(&self->rig, &submit));
	ASSERT_EQ(0, neuron_bo_close(self->rig.fd, self->bo.handle));
	ASSERT_EQ(0, rig_cancel(&self->rig, endless.call.job));
	ASSERT_EQ(0, rig_wait(&self->rig, submit.call.job, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	expect_trace(self->map, SIZE, result.job, 1, 0);
}

/* It can be read while the job runs, and has what the job did when it is cancelled. */
TEST_F(trace, of_a_job_that_runs)
{
	const int64_t end = rig_now_ms() + LIMIT;
	struct drm_neuron_wait_job result;
	struct neuron_trace_event event;
	struct neuron_hw_trace trace;
	struct rig_submit submit;
	uint64_t seen;

	rig_clear(&self->rig);
	rig_loop(&self->rig, NEURON_ENGINE_VECTOR, 0);
	rig_prepare_engine(&self->rig, &submit, NEURON_ENGINE_VECTOR);
	submit.job.timeout_ms = 60000;
	submit.job.trace = self->bo.handle;
	submit.job.trace_size = SIZE;
	ASSERT_EQ(0, rig_submit(&self->rig, &submit));
	do {
		usleep(1000);
		seen = read_header(self->map, SIZE, &trace) ? 0 : trace.records;
	} while (!seen && rig_now_ms() < end);
	EXPECT_LT(0, seen);
	ASSERT_EQ(NULL, read_record(self->map, seen - 1, &event));
	EXPECT_EQ(NEURON_OP_BRANCH, event.code);
	ASSERT_EQ(0, rig_cancel(&self->rig, submit.call.job));
	ASSERT_EQ(0, rig_wait(&self->rig, submit.call.job, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_ABORTED, result.status);
	ASSERT_EQ(NULL, read_header(self->map, SIZE, &trace));
	EXPECT_LE(seen, trace.records);
	ASSERT_EQ(NULL, read_record(self->map, trace.records - 1, &event));
}

/* What the owner writes there changes nothing for the device. */
TEST_F(trace, the_owner_spoils_it)
{
	struct drm_neuron_queue queue;
	struct drm_neuron_wait_job result;
	struct rig_submit submit;
	unsigned int i;
	int ret;

	emit(&self->rig);
	for (i = 0; i < 50; i++) {
		rig_prepare(&self->rig, &submit, &queue);
		submit.job.trace = self->bo.handle;
		submit.job.trace_size = 0x1000;
		ASSERT_EQ(0, rig_submit(&self->rig, &submit));
		do {
			memset(self->map, 0xff, 0x1000);
			ret = rig_wait(&self->rig, submit.call.job, 0, &result);
		} while (ret == -ETIMEDOUT);
		ASSERT_EQ(0, ret);
		EXPECT_EQ(NEURON_JOB_OK, result.status);
		memset(self->map, 0xff, 0x1000);
		EXPECT_EQ(SIZE - 0x1000, neuron_differs_from(self->map + 0x1000,
							     SIZE - 0x1000, 0));
	}
	ASSERT_EQ(0, run(&self->rig, self->bo.handle, 0, 0x1000, &result));
	expect_trace(self->map, 0x1000, result.job, RECORDS, 0);
	expect_program(self->map, &result);
}

/* Each member of a gang has its own. */
TEST_F(trace, of_a_gang)
{
	struct rig *rig[2] = { &self->rig, NULL }, cc;
	struct drm_neuron_job job[2];
	struct drm_neuron_queue queue[2];
	struct drm_neuron_wait_job result[2];
	struct rig_submit submit;
	unsigned int i;

	ASSERT_EQ(0, rig_open_cc(&cc, &self->rig, 0));
	rig[1] = &cc;
	for (i = 0; i < 2; i++) {
		emit(rig[i]);
		rig_prepare(rig[i], &submit, &queue[i]);
		job[i] = submit.job;
		job[i].trace = self->bo.handle;
		job[i].trace_offset = i * 0x1000;
		job[i].trace_size = 0x1000;
	}
	rig_put_jobs(&submit.call, job, 2);
	ASSERT_EQ(0, neuron_ioctl(self->rig.fd, DRM_IOCTL_NEURON_SUBMIT, &submit.call));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, rig_wait(rig[i], submit.call.job + i, LIMIT, &result[i]));
		EXPECT_EQ(NEURON_JOB_OK, result[i].status);
		expect_trace(self->map + i * 0x1000, 0x1000, result[i].job, RECORDS, 0);
	}
	EXPECT_EQ(result[0].start_ns, result[1].start_ns);
	rig_close(&cc);
}

#define expect_refused(error, bo, offset, size) \
	EXPECT_EQ(-(error), run(&self->rig, bo, offset, size, NULL)) \
		TH_LOG("buffer %u offset %#llx size %#llx", bo, \
		       (unsigned long long)(offset), (unsigned long long)(size))

TEST_F(trace, ranges_that_are_refused)
{
	const uint32_t bo = self->bo.handle;

	emit(&self->rig);
	expect_refused(0, bo, 0, ROOM(1));
	expect_refused(EINVAL, bo, 0, ROOM(1) - 1);
	expect_refused(EINVAL, bo, 0, 0);
	expect_refused(EINVAL, bo, 32, 4096);
	expect_refused(EINVAL, bo, 0, SIZE + 1ull);
	expect_refused(EINVAL, bo, SIZE - 64, ROOM(1));
	expect_refused(EINVAL, bo, SIZE, ROOM(1));
	expect_refused(EINVAL, bo, -64ull, 4096);
	expect_refused(EINVAL, bo, 64, -64ull);
	expect_refused(EINVAL, 0, 64, 0);
	expect_refused(EINVAL, 0, 0, 4096);
	expect_refused(ENOENT, 12345, 0, 4096);
}

/* Buffers of others, and those of the caller that nobody may write to. */
TEST_F(trace, buffers_that_are_refused)
{
	struct drm_neuron_bo_create other, stream = {
		.size = 4096,
		.placement = DRM_NEURON_BO_HOST,
		.flags = DRM_NEURON_BO_STREAM,
	};
	struct drm_neuron_bo_import import = {
		.size = 4096,
		.flags = DRM_NEURON_IMPORT_READ_ONLY,
	};
	int fd = neuron_open(0);
	unsigned int i;
	void *page;
	int ret;

	emit(&self->rig);
	/* Handles of another file: those that this one does not have. */
	ASSERT_LE(0, fd);
	for (i = 0; i < 8; i++)
		ASSERT_EQ(0, neuron_bo_create(fd, variant->placement, 0, 4096, &other));
	expect_refused(ENOENT, other.handle, 0, 4096);
	close(fd);

	must(self->rig.fd, BO_CREATE, &stream);
	expect_refused(EPERM, stream.handle, 0, 4096);

	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, page);
	import.user = (uintptr_t)page;
	ret = neuron_ioctl(self->rig.fd, DRM_IOCTL_NEURON_BO_IMPORT, &import);
	if (ret == -EOPNOTSUPP)
		SKIP(return, "the device needs bounce buffers here");
	ASSERT_EQ(0, ret);
	expect_refused(EPERM, import.handle, 0, 4096);
	import.flags = 0;
	must(self->rig.fd, BO_IMPORT, &import);
	expect_refused(0, import.handle, 0, 4096);
	EXPECT_EQ(NEURON_TRACE_MAGIC, *(uint32_t *)page);
	munmap(page, 4096);
}

/* A job's trace stays on its chip. */
TEST_F(trace, a_buffer_of_another_chip)
{
	struct drm_neuron_bo_create other;
	int peer = neuron_open(1), dma_buf;
	uint32_t handle;

	if (peer < 0)
		SKIP(return, "one chip only");
	emit(&self->rig);
	ASSERT_EQ(0, neuron_bo_create(peer, DRM_NEURON_BO_HBM, 0, 4096, &other));
	dma_buf = neuron_export(peer, other.handle);
	ASSERT_LE(0, dma_buf);
	ASSERT_EQ(0, neuron_import(self->rig.fd, dma_buf, &handle));
	expect_refused(EINVAL, handle, 0, 4096);
	close(dma_buf);
	close(peer);
}

#define GATE	9	/* semaphore that is posted late */
#define MANY	600000	/* instructions: more than the device keeps, which is 262,144 */
#define LARGE	(ROOM(MANY) + 0x100000)

/* SCALAR waits for GATE; GPSIMD does much, and then says so in the data. */
static void emit_late(struct rig *rig)
{
	struct neuron_inst *inst;

	rig_clear(rig);
	inst = rig_emit(rig, NEURON_ENGINE_SCALAR, NEURON_OP_NOP);
	inst->sync = NEURON_PUT(NEURON_SYNC_WAIT, NEURON_SYNC_WAIT_GE);
	inst->wait_sem = GATE;
	inst->wait_value = 1;
	rig_halt(rig, NEURON_ENGINE_SCALAR);
	rig_loop(rig, NEURON_ENGINE_GPSIMD, MANY);
	rig_store(rig, NEURON_ENGINE_GPSIMD, 0, 1);
	rig_halt(rig, NEURON_ENGINE_GPSIMD);
}

/* A program of @cc that posts GATE of @rig. */
static int emit_post(struct rig *cc, const struct rig *rig)
{
	const struct drm_neuron_window window = {
		.index = RIG_WINDOW_FREE,
		.kind = DRM_NEURON_WINDOW_SEM,
		.rights = DRM_NEURON_WINDOW_WRITE,
		.offset = GATE,
		.length = 4,
		.from = DRM_NEURON_FROM_CORE,
		.source = (int32_t)rig->core,
	};
	struct neuron_inst *inst;

	rig_clear(cc);
	inst = rig_emit(cc, NEURON_ENGINE_SYNC, NEURON_OP_REG_SET);
	inst->reg[0] = 1;
	inst->imm0 = 1;
	inst = rig_emit(cc, NEURON_ENGINE_SYNC, NEURON_OP_REG_STORE);
	inst->reg[0] = 1;
	inst->addr = neuron_window_addr(RIG_WINDOW_FREE, 0);
	rig_halt(cc, NEURON_ENGINE_SYNC);
	return rig_windows(cc, &window, 1);
}

static bool becomes_one(const uint8_t *data)
{
	const int64_t end = rig_now_ms() + 6 * LIMIT;

	while (rig_now_ms() < end) {
		if (*(const volatile uint8_t *)data == 1)
			return true;
		usleep(1000);
	}
	return false;
}

/* The id of the job of emit_late(); an empty job of @cc starts at the same device time. */
static int64_t start_late(struct rig *rig, struct rig *cc, uint32_t bo)
{
	struct drm_neuron_queue queue[2];
	struct rig_submit submit, empty;
	struct drm_neuron_job job[2];
	int ret;

	emit_late(rig);
	rig_clear(cc);
	rig_halt(cc, NEURON_ENGINE_SYNC);
	rig_prepare(cc, &empty, &queue[1]);
	rig_prepare(rig, &submit, &queue[0]);
	job[0] = submit.job;
	job[0].sem_clear = (struct drm_neuron_array){
		sizeof(uint64_t), RIG_SEM_WORDS, (uintptr_t)rig_all_semaphores,
	};
	job[0].timeout_ms = 6 * LIMIT;
	job[0].trace = bo;
	job[0].trace_size = LARGE;
	job[1] = empty.job;
	rig_put_jobs(&submit.call, job, 2);
	ret = neuron_ioctl(rig->fd, DRM_IOCTL_NEURON_SUBMIT, &submit.call);
	return ret ? ret : (int64_t)submit.call.job;
}

/*
 * The device does not keep the records of all that GPSIMD does, so it dates that without
 * SCALAR. Then SCALAR goes on at an earlier time. Result and trace say that this is so.
 */
TEST_F(trace, marks_times_that_are_not_exact)
{
	struct drm_neuron_wait_job result;
	struct neuron_trace_event event;
	struct drm_neuron_bo_create bo;
	struct neuron_hw_trace trace;
	struct rig cc;
	uint8_t *map;
	int64_t job;

	if (!device_time(self->fd))
		SKIP(return, "device time is switched off");
	ASSERT_EQ(0, rig_open_cc(&cc, &self->rig, 0));
	ASSERT_EQ(0, neuron_bo_create(self->rig.fd, variant->placement, 0, LARGE, &bo));
	map = map_bo(self->rig.fd, &bo);
	ASSERT_NE(MAP_FAILED, (void *)map);

	job = start_late(&self->rig, &cc, bo.handle);
	ASSERT_LT(0, job);
	ASSERT_TRUE(becomes_one(self->rig.data));
	ASSERT_EQ(0, rig_wait(&cc, (uint64_t)job + 1, LIMIT, &result));
	EXPECT_EQ(0, result.flags);
	ASSERT_EQ(0, emit_post(&cc, &self->rig));
	ASSERT_EQ(0, rig_run(&cc, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	EXPECT_EQ(0, result.flags);

	ASSERT_EQ(0, rig_wait(&self->rig, (uint64_t)job, 6 * LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	EXPECT_EQ(DRM_NEURON_JOB_INEXACT, result.flags);
	ASSERT_EQ(NULL, read_header(map, LARGE, &trace));
	ASSERT_LT(1, trace.records);
	ASSERT_EQ(NULL, read_record(map, 0, &event));
	EXPECT_EQ(0, event.flags);
	ASSERT_EQ(NULL, read_record(map, (unsigned int)trace.records - 1, &event));
	EXPECT_EQ(NEURON_TRACE_INEXACT, event.flags);
	munmap(map, LARGE);
	rig_close(&cc);
}

TEST_HARNESS_MAIN
