// SPDX-License-Identifier: MIT
/*
 * The table of a back end: windows and jobs, from what is submitted to the result. As in
 * test_nrt_backend.c the driver and chips in the process must say the same.
 */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "backend_rig.h"
#include "contract/trace.h"
#include "neuron/window.h"

#define NO_HANDLE	4000000u
#define WAIT_MS		100

FIXTURE(jobs)
{
	struct backend_rig rig;
};

FIXTURE_SETUP(jobs)
{
	ASSERT_EQ(0, backend_open(&self->rig));
}

FIXTURE_TEARDOWN(jobs)
{
	backend_close(&self->rig);
}

/* --- windows --- */

/* Stands for the CC-core of the claim, and for the buffer with the programs. */
#define CC	12345
#define IMAGE	54321u

#define R	DRM_NEURON_WINDOW_READ
#define W	DRM_NEURON_WINDOW_WRITE
#define BO(...)		{ 1, DRM_NEURON_WINDOW_BO, __VA_ARGS__ }
#define SEM(...)	{ 1, DRM_NEURON_WINDOW_SEM, __VA_ARGS__ }
#define GRANT(...)	{ 1, DRM_NEURON_WINDOW_GRANT, __VA_ARGS__ }

static const struct window_case {
	/* index, kind, rights, handle, offset, length, from, source */
	struct drm_neuron_window window;
	int expected;
	const char *what;
} window_cases[] = {
	{ { 1, DRM_NEURON_WINDOW_EMPTY }, 0, "empty" },
	{ { 65534, DRM_NEURON_WINDOW_EMPTY }, 0, "the last one" },
	{ { 65535, DRM_NEURON_WINDOW_EMPTY }, -EINVAL, "one too many" },
	{ { 1, DRM_NEURON_WINDOW_EMPTY, R }, -EINVAL, "empty, with a right" },
	{ { 1, DRM_NEURON_WINDOW_EMPTY, 0, IMAGE }, -EINVAL, "empty, with a buffer" },
	{ { 1, DRM_NEURON_WINDOW_EMPTY, 0, 0, 4 }, -EINVAL, "empty, with an offset" },
	{ { 1, DRM_NEURON_WINDOW_EMPTY, 0, 0, 0, 4 }, -EINVAL, "empty, with a length" },
	{ { 1, 2, R, IMAGE, 0, 4 }, -EINVAL, "a kind of the hardware alone" },
	{ { 1, 99, R }, -EINVAL, "no kind" },
	{ BO(R | W, IMAGE, 4, 8), 0, "a part of a buffer" },
	{ BO(R | 4, IMAGE, 0, 8), -EINVAL, "an unknown right" },
	{ BO(0, IMAGE, 0, 8), -EINVAL, "no right" },
	{ BO(R, NO_HANDLE, 0, 8), -ENOENT, "no buffer" },
	{ BO(R, 0, 0, 8), -ENOENT, "no handle" },
	{ BO(R, IMAGE, 2, 8), -EINVAL, "an offset that is not aligned" },
	{ BO(R, IMAGE, 0, 0), -EINVAL, "no byte of a buffer" },
	{ BO(R, IMAGE, 0, BACKEND_PROGRAMS * BACKEND_IMAGE + 1), -EINVAL, "a byte too many" },
	{ BO(R, IMAGE, BACKEND_PROGRAMS * BACKEND_IMAGE + 4, 4), -EINVAL, "behind the end" },
	{ BO(R, IMAGE, 4, UINT64_MAX), -EINVAL, "a length that wraps" },
	{ BO(R, IMAGE, 0, 8, DRM_NEURON_FROM_CORE, 0), -EINVAL, "a buffer of a core" },
	{ BO(R, IMAGE, 0, 8, DRM_NEURON_FROM_OWN, 1), -EINVAL, "own, with a source" },
	{ { 1, DRM_NEURON_WINDOW_SBUF, R | W }, 0, "SBUF" },
	{ { 1, DRM_NEURON_WINDOW_PSUM, R }, 0, "PSUM" },
	{ { 1, DRM_NEURON_WINDOW_SBUF, R, 0, 0, 4 }, -EINVAL, "a part of SBUF" },
	{ { 1, DRM_NEURON_WINDOW_PSUM, R, IMAGE }, -EINVAL, "a buffer in PSUM" },
	{ SEM(R | W, 0, 0, 4 * 256), 0, "all semaphores" },
	{ SEM(R | W, 0, 1, 4 * 256), -EINVAL, "one too many" },
	{ SEM(R, 0, 257, 4), -EINVAL, "semaphores behind the last one" },
	{ SEM(R, 0, 0, 6), -EINVAL, "one and a half" },
	{ SEM(R, 0, 0, 0), -EINVAL, "no semaphore" },
	{ SEM(R, 0, 0, 4ull << 32 | 4), -EINVAL, "a number of more than 32 bits" },
	{ SEM(R, IMAGE, 0, 4), -EINVAL, "semaphores in a buffer" },
	{ SEM(W, 0, 0, 4, DRM_NEURON_FROM_CORE, CC), 0, "a semaphore of a sibling" },
	{ SEM(R, 0, 0, 4, DRM_NEURON_FROM_CORE, CC), -EPERM, "the same, to read" },
	{ SEM(W, 0, 0, 4, DRM_NEURON_FROM_CORE, 1), -EINVAL, "of a core of nobody" },
	{ SEM(W, 0, 0, 4, DRM_NEURON_FROM_CORE, -1), -EINVAL, "of a negative core" },
	{ SEM(W, 0, 0, 4, 9, 0), -EINVAL, "of an unknown kind of source" },
	{ SEM(W, 0, 0, 4, DRM_NEURON_FROM_GRANT_FD, -1), -EBADF, "granted by no descriptor" },
	{ SEM(W, 0, 0, 4, DRM_NEURON_FROM_GRANT, 0), -EBADF, "granted by no handle" },
	{ SEM(W, 0, 0, 4, DRM_NEURON_FROM_GRANT, 77), -EBADF, "granted by nobody" },
	{ SEM(R, 0, 0, 4, DRM_NEURON_FROM_GRANT, 77), -EPERM, "the same, to read" },
	{ GRANT(R, 0, 0, 4), -EINVAL, "granted by itself" },
	{ GRANT(R, 0, 0, 4, DRM_NEURON_FROM_CORE, CC), -EINVAL, "SBUF of a CC-core" },
	{ GRANT(R, 0, 0, 4, DRM_NEURON_FROM_GRANT_FD, -1), -EBADF, "SBUF of no descriptor" },
};

TEST_F_TIMEOUT(jobs, windows, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	size_t i;

	ASSERT_EQ(65535, rig->limits.windows);
	for (i = 0; i < sizeof(window_cases) / sizeof(window_cases[0]); i++) {
		struct drm_neuron_window window = window_cases[i].window;
		struct drm_neuron_windows call = {
			.claim = rig->claim, .windows = ARRAY_OF(&window),
		};

		if (window.handle == IMAGE)
			window.handle = rig->image;
		if (window.source == CC)
			window.source = (int32_t)rig->cc;
		EXPECT_EQ(window_cases[i].expected, rig->backend->windows(rig->chip, &call)) {
			TH_LOG("%s", window_cases[i].what);
		}
	}
}

TEST_F_TIMEOUT(jobs, arrays_of_windows, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_windows call = { .claim = self->rig.claim };
	struct drm_neuron_window window = { .index = 1 };

	EXPECT_EQ(0, rig->backend->windows(rig->chip, &call));
	call.windows = ARRAY_OF(&window);
	call.windows.stride = 8;
	EXPECT_EQ(-EINVAL, rig->backend->windows(rig->chip, &call));
	call.windows = ARRAY_OF(&window);
	call.windows.count = self->rig.limits.windows + 1;
	EXPECT_EQ(-EINVAL, rig->backend->windows(rig->chip, &call));
	call.windows = (struct drm_neuron_array){ .count = 1, .stride = sizeof(window) };
	EXPECT_EQ(-EFAULT, rig->backend->windows(rig->chip, &call));
	call.windows = ARRAY_OF(&window);
	call.core = 1;
	EXPECT_EQ(-EINVAL, rig->backend->windows(rig->chip, &call));
	call.core = 1000;
	EXPECT_EQ(-EINVAL, rig->backend->windows(rig->chip, &call));
	call.core = 0;
	call.claim++;
	EXPECT_EQ(-ENOENT, rig->backend->windows(rig->chip, &call));
	call.claim = 0;
	EXPECT_EQ(-ENOENT, rig->backend->windows(rig->chip, &call));
}

/* A job of core 0 that brings no window. */
static int submit_bare(struct backend_rig *rig, uint64_t *id)
{
	struct backend_parts parts;
	struct drm_neuron_job job = backend_job(rig, 0, HALTS, 0, &parts);
	struct drm_neuron_submit call = { .claim = rig->claim, .jobs = ARRAY_OF(&job) };
	int ret;

	job.windows.count = 0;
	ret = rig->backend->submit(rig->chip, &call);
	*id = call.job;
	return ret;
}

/* All windows of a call are written, or none. */
TEST_F_TIMEOUT(jobs, windows_or_nothing, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_window windows[] = {
		{ .index = 0 },
		{ .index = 1, .kind = 99, .rights = R },
	};
	struct drm_neuron_windows call = {
		.claim = self->rig.claim, .windows = ARRAY_OF_ALL(windows),
	};
	struct drm_neuron_wait_job result;
	uint64_t id;

	ASSERT_EQ(0, backend_submit(&self->rig, 0, HALTS, 0, &id));
	EXPECT_EQ(-EINVAL, rig->backend->windows(rig->chip, &call));
	ASSERT_EQ(0, submit_bare(&self->rig, &id));
	ASSERT_EQ(0, backend_end(&self->rig, 0, id, &result));
	EXPECT_EQ(DRM_NEURON_JOB_OK, result.status);
	call.windows.count = 1;
	EXPECT_EQ(0, rig->backend->windows(rig->chip, &call));
	ASSERT_EQ(0, submit_bare(&self->rig, &id));
	ASSERT_EQ(0, backend_end(&self->rig, 0, id, &result));
	EXPECT_EQ(DRM_NEURON_JOB_ERROR, result.status);
	EXPECT_EQ(-EIO, result.error);
}

/* --- submissions --- */

/* A submission with one of everything, all of which is right. */
struct parts {
	struct drm_neuron_submit submit;
	struct drm_neuron_job job;
	struct drm_neuron_start start;
	struct drm_neuron_window window;
	struct drm_neuron_queue queue;
	uint64_t sems[4];
};

static void make_parts(struct backend_rig *rig, struct parts *parts)
{
	const uint64_t ring = neuron_window_addr(0, 0);
	struct backend_parts some;

	memset(parts, 0, sizeof(*parts));
	parts->job = backend_job(rig, 0, HALTS, 0, &some);
	parts->start = some.start;
	parts->window = some.window;
	parts->queue = (struct drm_neuron_queue){ ring, ring, 32, 32, 0, 0, 0 };
	parts->job.starts = ARRAY_OF(&parts->start);
	parts->job.windows = ARRAY_OF(&parts->window);
	parts->job.queues = ARRAY_OF(&parts->queue);
	parts->job.sem_clear = ARRAY_OF_ALL(parts->sems);
	parts->submit = (struct drm_neuron_submit){
		.claim = rig->claim, .jobs = ARRAY_OF(&parts->job),
	};
}

#define FIELD(field)	offsetof(struct parts, field), sizeof(((struct parts *)0)->field)

static const struct spoilt {
	size_t at;
	size_t size;
	uint64_t value;
	int expected;
	const char *what;
} spoilt[] = {
	{ FIELD(submit.flags), 2, -EINVAL, "unknown flags" },
	{ FIELD(submit.claim), 0, -ENOENT, "no claim" },
	{ FIELD(submit.claim), 1000, -ENOENT, "an unknown claim" },
	{ FIELD(submit.jobs.count), 0, -EINVAL, "no job" },
	{ FIELD(submit.jobs.count), 2, -EINVAL, "two jobs that are no gang" },
	{ FIELD(submit.jobs.stride), 8, -EINVAL, "short jobs" },
	{ FIELD(submit.jobs.pointer), 0, -EFAULT, "jobs nowhere" },
	{ FIELD(job.core), 1, -EINVAL, "a core of nobody" },
	{ FIELD(job.core), 1000, -EINVAL, "no core" },
	{ FIELD(job.flags), 1, -EINVAL, "unknown flags of the job" },
	{ FIELD(job.timeout_ms), 86400001, -EINVAL, "more than a day" },
	{ FIELD(job.starts.count), 6, -EINVAL, "more starts than engines" },
	{ FIELD(job.starts.stride), 8, -EINVAL, "short starts" },
	{ FIELD(job.starts.pointer), 0, -EFAULT, "starts nowhere" },
	{ FIELD(start.engine), 5, -EINVAL, "no engine" },
	{ FIELD(start.addr), 4096, -EINVAL, "a start without window" },
	{ FIELD(job.queues.count), 257, -EINVAL, "too many queues" },
	{ FIELD(job.queues.stride), 8, -EINVAL, "short queues" },
	{ FIELD(job.queues.pointer), 0, -EFAULT, "queues nowhere" },
	{ FIELD(queue.dma_engine), 16, -EINVAL, "no DMA engine" },
	{ FIELD(queue.queue), 1000, -EINVAL, "no queue" },
	{ FIELD(queue.m2s_length), 16, -EINVAL, "a ring that is too short" },
	{ FIELD(queue.s2m_length), 33, -EINVAL, "a ring of 33" },
	{ FIELD(queue.m2s_ring), 4096, -EINVAL, "a ring without window" },
	{ FIELD(queue.flags), 1u << 31, -EINVAL, "unknown flags of a queue" },
	{ FIELD(job.sem_clear.count), 5, -EINVAL, "too many semaphores" },
	{ FIELD(job.sem_clear.stride), 4, -EINVAL, "short words" },
	{ FIELD(job.sem_clear.pointer), 0, -EFAULT, "semaphores nowhere" },
	{ FIELD(job.notify_size), 63, -EINVAL, "notifications of 63 bytes" },
	{ FIELD(job.notify_size), 64, -EINVAL, "notifications nowhere" },
	{ FIELD(job.notify_addr), 4096, -EINVAL, "notifications without size" },
	{ FIELD(job.stream_offset), 16, -EINVAL, "an offset without stream" },
	{ FIELD(job.trace_offset), 64, -EINVAL, "an offset without trace" },
	{ FIELD(job.trace_size), 4096, -EINVAL, "a size without trace" },
	{ FIELD(job.trace), NO_HANDLE, -EINVAL, "a trace without size" },
	{ FIELD(job.windows.count), 65536, -EINVAL, "too many windows" },
	{ FIELD(job.windows.stride), 8, -EINVAL, "short windows" },
	{ FIELD(job.windows.pointer), 0, -EFAULT, "windows nowhere" },
	{ FIELD(window.handle), NO_HANDLE, -ENOENT, "a window of no buffer" },
	{ FIELD(window.index), 65535, -EINVAL, "a window too many" },
};

/* Little-endian, as both hosts are. */
static void spoil(struct parts *parts, const struct spoilt *how)
{
	memcpy((uint8_t *)parts + how->at, &how->value, how->size);
}

TEST_F_TIMEOUT(jobs, submissions, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_wait_job result;
	struct parts parts;
	size_t i;

	for (i = 0; i < sizeof(spoilt) / sizeof(spoilt[0]); i++) {
		make_parts(&self->rig, &parts);
		spoil(&parts, &spoilt[i]);
		EXPECT_EQ(spoilt[i].expected, rig->backend->submit(rig->chip, &parts.submit)) {
			TH_LOG("%s", spoilt[i].what);
		}
	}
	make_parts(&self->rig, &parts);
	ASSERT_EQ(0, rig->backend->submit(rig->chip, &parts.submit));
	ASSERT_EQ(0, backend_end(&self->rig, 0, parts.submit.job, &result));
	EXPECT_EQ(DRM_NEURON_JOB_OK, result.status);
}

TEST_F_TIMEOUT(jobs, engines, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_start starts[2];
	struct parts parts;

	make_parts(&self->rig, &parts);
	starts[0] = parts.start;
	starts[1] = parts.start;
	parts.job.starts = ARRAY_OF_ALL(starts);
	EXPECT_EQ(-EINVAL, rig->backend->submit(rig->chip, &parts.submit));
	starts[1].engine = DRM_NEURON_ENGINE_VECTOR;
	EXPECT_EQ(0, rig->backend->submit(rig->chip, &parts.submit));
	/* A CC-core has only one of them. */
	parts.job.core = self->rig.cc;
	EXPECT_EQ(-EINVAL, rig->backend->submit(rig->chip, &parts.submit));
}

/* The trace of a job, and buffers that cannot have one. */
TEST_F_TIMEOUT(jobs, trace, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	struct neuron_hw_trace header = { 0 };
	struct drm_neuron_wait_job result;
	struct parts parts;
	uint32_t handle;

	ASSERT_EQ(0, backend_buffer(&self->rig, DRM_NEURON_BO_HBM, 8192, &handle));
	make_parts(&self->rig, &parts);
	parts.job.trace_size = 4096;
	parts.job.trace = NO_HANDLE;
	EXPECT_EQ(-ENOENT, rig->backend->submit(rig->chip, &parts.submit));
	parts.job.trace = handle;
	parts.job.trace_size = 103;
	EXPECT_EQ(-EINVAL, rig->backend->submit(rig->chip, &parts.submit));
	parts.job.trace_size = 8192;
	parts.job.trace_offset = 64;
	EXPECT_EQ(-EINVAL, rig->backend->submit(rig->chip, &parts.submit));
	parts.job.trace_size = 4096;
	parts.job.trace_offset = 32;
	EXPECT_EQ(-EINVAL, rig->backend->submit(rig->chip, &parts.submit));
	parts.job.trace_offset = 64;
	ASSERT_EQ(0, rig->backend->submit(rig->chip, &parts.submit));
	ASSERT_EQ(0, backend_end(&self->rig, 0, parts.submit.job, &result));
	ASSERT_EQ(0, backend_read(&self->rig, handle, 64, &header, sizeof(header)));
	EXPECT_EQ(NEURON_TRACE_MAGIC, header.magic);
	EXPECT_EQ((uint32_t)parts.submit.job, (uint32_t)header.job_id);
}

/* As many jobs as a core takes; what is wrong is told before that. */
TEST_F_TIMEOUT(jobs, full_queue, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_wait_job result;
	struct parts parts;
	uint64_t first, id;
	unsigned int i;

	ASSERT_LE(63, rig->limits.queued_jobs);
	ASSERT_EQ(0, backend_submit(rig, 0, SPINS, BACKEND_LIMIT_S * 1000, &first));
	for (i = 1; i < rig->limits.queued_jobs; i++)
		ASSERT_EQ(0, backend_submit(rig, 0, HALTS, 0, &id));
	EXPECT_EQ(first + i - 1, id);
	make_parts(rig, &parts);
	EXPECT_EQ(-EBUSY, rig->backend->submit(rig->chip, &parts.submit));
	parts.start.engine = 5;
	EXPECT_EQ(-EINVAL, rig->backend->submit(rig->chip, &parts.submit));
	ASSERT_EQ(0, backend_submit(rig, rig->cc, HALTS, 0, &id));
	ASSERT_EQ(0, backend_cancel(rig, 0, first));
	ASSERT_EQ(0, backend_end(rig, 0, first + i - 1, &result));
	EXPECT_EQ(DRM_NEURON_JOB_OK, result.status);
	parts.start.engine = DRM_NEURON_ENGINE_SYNC;
	EXPECT_EQ(0, rig->backend->submit(rig->chip, &parts.submit));
}

/* --- results --- */

TEST_F_TIMEOUT(jobs, results, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_wait_job result;
	uint64_t id;

	ASSERT_EQ(0, backend_submit(rig, 0, HALTS, 0, &id));
	ASSERT_EQ(0, backend_end(rig, 0, id, &result));
	EXPECT_EQ(DRM_NEURON_JOB_OK, result.status);
	EXPECT_EQ(DRM_NEURON_CAUSE_NONE, result.cause);
	EXPECT_EQ(0, result.error);
	EXPECT_EQ(rig->claim, result.claim);
	EXPECT_EQ(id, result.job);
	EXPECT_EQ(1, result.instructions);
	EXPECT_NE(0, result.doorbell_ns);
	ASSERT_EQ(0, backend_submit(rig, 0, BREAKS, 0, &id));
	ASSERT_EQ(0, backend_end(rig, 0, id, &result));
	EXPECT_EQ(DRM_NEURON_JOB_ERROR, result.status);
	EXPECT_EQ(DRM_NEURON_CAUSE_OPCODE, result.cause);
	EXPECT_EQ(DRM_NEURON_ENGINE_SYNC, result.source);
	EXPECT_EQ(0, result.pc);
	EXPECT_EQ(-EIO, result.error);
	EXPECT_EQ(0, result.flags & DRM_NEURON_JOB_HANG);
}

TEST_F_TIMEOUT(jobs, jobs_that_are_not_there, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_wait_job result;
	uint32_t claim = rig->claim;
	uint64_t id;

	ASSERT_EQ(0, backend_submit(rig, 0, HALTS, 0, &id));
	ASSERT_EQ(0, backend_end(rig, 0, id, &result));
	EXPECT_EQ(-ENOENT, backend_wait(rig, 0, id + 1, 0, &result));
	EXPECT_EQ(-ENOENT, backend_wait(rig, 0, 0, 0, &result));
	EXPECT_EQ(-ENOENT, backend_cancel(rig, 0, id + 1));
	EXPECT_EQ(-EINVAL, backend_wait(rig, 1, id, 0, &result));
	EXPECT_EQ(-EINVAL, backend_cancel(rig, 1, id));
	EXPECT_EQ(-EINVAL, backend_wait(rig, 1000, id, 0, &result));
	EXPECT_EQ(-EINVAL, backend_cancel(rig, 1000, id));
	/* A core that has run nothing. */
	EXPECT_EQ(-ENOENT, backend_wait(rig, rig->cc, id, 0, &result));
	rig->claim = claim + 1;
	EXPECT_EQ(-ENOENT, backend_wait(rig, 0, id, 0, &result));
	EXPECT_EQ(-ENOENT, backend_cancel(rig, 0, id));
	rig->claim = DRM_NEURON_NO_CLAIM;
	EXPECT_EQ(-ENOENT, backend_wait(rig, 0, id, 0, &result));
	EXPECT_EQ(-ENOENT, backend_cancel(rig, 0, id));
	ASSERT_EQ(0, backend_release(rig, claim));
	rig->claim = claim;
	EXPECT_EQ(-ENOENT, backend_wait(rig, 0, id, 0, &result));
	EXPECT_EQ(-ENOENT, backend_cancel(rig, 0, id));
}

/* The driver forgets a result a moment after the job that takes its place has ended. */
static int wait_for_forgotten(struct backend_rig *rig, uint64_t job)
{
	struct drm_neuron_wait_job result;
	unsigned int ms;
	int ret = 0;

	for (ms = 0; ms < 1000 * BACKEND_LIMIT_S / 2 && !ret; ms++) {
		ret = backend_wait(rig, 0, job, 0, &result);
		if (!ret)
			usleep(1000);
	}
	return ret;
}

/* The last ones are kept; who asks for an older one is told that it is forgotten. */
TEST_F_TIMEOUT(jobs, forgotten_results, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_wait_job result;
	uint64_t first, id;
	unsigned int i;

	ASSERT_EQ(0, backend_submit(rig, 0, HALTS, 0, &first));
	for (i = 0; i < rig->limits.results; i++) {
		if (i == rig->limits.results - 1)
			ASSERT_EQ(0, backend_end(rig, 0, first, &result));
		ASSERT_EQ(0, backend_submit(rig, 0, HALTS, 0, &id));
		ASSERT_EQ(0, backend_end(rig, 0, id, &result));
	}
	EXPECT_EQ(-ENOENT, wait_for_forgotten(rig, first));
	EXPECT_EQ(-ENOENT, backend_cancel(rig, 0, first));
	EXPECT_EQ(0, backend_wait(rig, 0, first + 1, 0, &result));
	EXPECT_EQ(0, backend_cancel(rig, 0, first + 1));
}

/* --- waits --- */

TEST_F_TIMEOUT(jobs, waits_that_cannot_be, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_wait_job *jobs, result;
	struct drm_neuron_wait wait = { .flags = DRM_NEURON_WAIT_ALL };
	uint64_t id;
	uint32_t i;

	ASSERT_EQ(0, backend_submit(rig, 0, HALTS, 0, &id));
	ASSERT_EQ(0, backend_end(rig, 0, id, &result));
	jobs = calloc(rig->limits.wait_jobs + 1, sizeof(*jobs));
	ASSERT_NE(NULL, jobs);
	for (i = 0; i <= rig->limits.wait_jobs; i++)
		jobs[i] = (struct drm_neuron_wait_job){ .claim = rig->claim, .job = id };
	EXPECT_EQ(-EINVAL, rig->backend->wait(rig->chip, &wait));
	wait.jobs = ARRAY_OF(jobs);
	wait.jobs.count = rig->limits.wait_jobs;
	EXPECT_EQ(0, rig->backend->wait(rig->chip, &wait));
	EXPECT_EQ(0, wait.index);
	wait.jobs.count++;
	EXPECT_EQ(-EINVAL, rig->backend->wait(rig->chip, &wait));
	wait.jobs.count = 2;
	wait.jobs.stride = 8;
	EXPECT_EQ(-EINVAL, rig->backend->wait(rig->chip, &wait));
	wait.jobs.stride = sizeof(*jobs);
	wait.flags = 2;
	EXPECT_EQ(-EINVAL, rig->backend->wait(rig->chip, &wait));
	wait.flags = 0;
	wait.jobs.pointer = 0;
	EXPECT_EQ(-EFAULT, rig->backend->wait(rig->chip, &wait));
	/* The one that is wrong. */
	wait.jobs = ARRAY_OF(jobs);
	wait.jobs.count = 3;
	jobs[1].job = id + 1;
	EXPECT_EQ(-ENOENT, rig->backend->wait(rig->chip, &wait));
	EXPECT_EQ(1, wait.index);
	jobs[1].job = id;
	jobs[2].core = 1;
	EXPECT_EQ(-EINVAL, rig->backend->wait(rig->chip, &wait));
	EXPECT_EQ(2, wait.index);
	free(jobs);
}

/* One job ends and the other does not. */
TEST_F_TIMEOUT(jobs, deadlines, BACKEND_LIMIT_S)
{
	static const int64_t past[] = { 0, 1, -1, INT64_MIN };
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_wait_job jobs[2];
	struct drm_neuron_wait wait = { .jobs = ARRAY_OF_ALL(jobs) };
	uint64_t spins, halts;
	int64_t deadline;
	unsigned int i;

	ASSERT_EQ(0, backend_submit(rig, 0, SPINS, BACKEND_LIMIT_S * 1000, &spins));
	ASSERT_EQ(0, backend_submit(rig, rig->cc, HALTS, 0, &halts));
	memset(jobs, 0x5a, sizeof(jobs));
	jobs[0].claim = rig->claim;
	jobs[0].core = 0;
	jobs[0].job = spins;
	jobs[1].claim = rig->claim;
	jobs[1].core = rig->cc;
	jobs[1].job = halts;
	wait.deadline_ns = INT64_MAX;
	ASSERT_EQ(0, rig->backend->wait(rig->chip, &wait));
	EXPECT_EQ(1, wait.index);
	EXPECT_EQ(DRM_NEURON_JOB_OK, jobs[1].status);
	/* What follows the status of the other is zero. */
	EXPECT_EQ(DRM_NEURON_JOB_NONE, jobs[0].status);
	EXPECT_EQ(0, jobs[0].instructions);
	EXPECT_EQ(0, jobs[0].flags);
	wait.flags = DRM_NEURON_WAIT_ALL;
	for (i = 0; i < sizeof(past) / sizeof(past[0]); i++) {
		jobs[1].status = 0;
		wait.index = 77;
		wait.deadline_ns = past[i];
		EXPECT_EQ(-ETIMEDOUT, rig->backend->wait(rig->chip, &wait));
		EXPECT_EQ(1, wait.index);
		EXPECT_EQ(DRM_NEURON_JOB_OK, jobs[1].status);
	}
	deadline = backend_in_ms(WAIT_MS);
	wait.deadline_ns = deadline;
	EXPECT_EQ(-ETIMEDOUT, rig->backend->wait(rig->chip, &wait));
	EXPECT_LE(deadline, backend_in_ms(0));
	wait.jobs.count = 1;
	wait.flags = 0;
	deadline = backend_in_ms(WAIT_MS);
	wait.deadline_ns = deadline;
	EXPECT_EQ(-ETIMEDOUT, rig->backend->wait(rig->chip, &wait));
	EXPECT_EQ(1, wait.index);
	EXPECT_LE(deadline, backend_in_ms(0));
	EXPECT_EQ(0, backend_cancel(rig, 0, spins));
}

/* The claim ends under two WAITs: of a job that runs, and of one behind it. */
TEST_F_TIMEOUT(jobs, released, BACKEND_LIMIT_S)
{
	const struct timespec nap = { .tv_nsec = 200000000 };
	struct backend_rig *rig = &self->rig;
	uint64_t spins, queued;
	struct backend_waiter w[2];

	ASSERT_EQ(0, backend_submit(rig, 0, SPINS, BACKEND_LIMIT_S * 1000, &spins));
	ASSERT_EQ(0, backend_submit(rig, 0, HALTS, 0, &queued));
	backend_waiter_start(&w[0], rig, spins);
	backend_waiter_start(&w[1], rig, queued);
	/* Probably they wait by now; if not, they find no claim. */
	nanosleep(&nap, NULL);
	ASSERT_EQ(0, backend_release(rig, rig->claim));
	pthread_join(w[0].thread, NULL);
	pthread_join(w[1].thread, NULL);
	if (w[0].ret != -ENOENT) {
		EXPECT_EQ(0, w[0].ret);
		EXPECT_EQ(DRM_NEURON_JOB_ABORTED, w[0].result.status);
		EXPECT_EQ(DRM_NEURON_CAUSE_RESET, w[0].result.cause);
		EXPECT_EQ(-ECANCELED, w[0].result.error);
		EXPECT_NE(0, w[0].result.doorbell_ns);
	}
	if (w[1].ret != -ENOENT) {
		EXPECT_EQ(0, w[1].ret);
		EXPECT_EQ(DRM_NEURON_JOB_ABORTED, w[1].result.status);
		EXPECT_EQ(-ESRCH, w[1].result.error);
		EXPECT_EQ(0, w[1].result.doorbell_ns);
	}
}

/* --- ends that somebody wanted --- */

static struct drm_neuron_core_info look_at_core(struct backend_rig *rig)
{
	struct drm_neuron_core_info info = { 0 };

	backend_query(rig, DRM_NEURON_QUERY_CORES, &info, sizeof(info), 1);
	return info;
}

/* Jobs of core 0 that have ended, of all claims. */
static uint64_t jobs_of(struct backend_rig *rig)
{
	return look_at_core(rig).jobs;
}

/* A job that was submitted begins a little later, by a thread of the back end. */
static bool until_it_runs(struct backend_rig *rig)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	int64_t end = backend_in_ms(BACKEND_LIMIT_S * 1000);

	while (!(look_at_core(rig).flags & DRM_NEURON_CORE_BUSY) && backend_in_ms(0) < end)
		nanosleep(&nap, NULL);
	return look_at_core(rig).flags & DRM_NEURON_CORE_BUSY;
}

/* One that is queued, then the one that runs; the others run as if nothing had happened. */
TEST_F_TIMEOUT(jobs, cancelled, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_wait_job result;
	uint64_t spins, queued, last, before = jobs_of(rig);

	ASSERT_EQ(0, backend_submit(rig, 0, SPINS, BACKEND_LIMIT_S * 1000, &spins));
	ASSERT_EQ(0, backend_submit(rig, 0, HALTS, 0, &queued));
	ASSERT_EQ(0, backend_submit(rig, 0, HALTS, 0, &last));
	ASSERT_TRUE(until_it_runs(rig));
	ASSERT_EQ(0, backend_cancel(rig, 0, queued));
	EXPECT_EQ(-ETIMEDOUT, backend_wait(rig, 0, spins, 0, &result));
	ASSERT_EQ(0, backend_cancel(rig, 0, spins));
	ASSERT_EQ(0, backend_end(rig, 0, spins, &result));
	EXPECT_EQ(DRM_NEURON_JOB_ABORTED, result.status);
	EXPECT_EQ(DRM_NEURON_CAUSE_RESET, result.cause);
	EXPECT_EQ(0, result.flags & DRM_NEURON_JOB_HANG);
	EXPECT_EQ(-ECANCELED, result.error);
	ASSERT_EQ(0, backend_end(rig, 0, queued, &result));
	EXPECT_EQ(DRM_NEURON_JOB_ABORTED, result.status);
	EXPECT_EQ(-ECANCELED, result.error);
	EXPECT_EQ(0, result.doorbell_ns);
	ASSERT_EQ(0, backend_end(rig, 0, last, &result));
	EXPECT_EQ(DRM_NEURON_JOB_OK, result.status);
	/* One of them never ran. */
	EXPECT_EQ(before + 2, jobs_of(rig));
	/* It is over, which nothing changes. */
	EXPECT_EQ(0, backend_cancel(rig, 0, last));
	ASSERT_EQ(0, backend_end(rig, 0, last, &result));
	EXPECT_EQ(DRM_NEURON_JOB_OK, result.status);
}

/* --- gangs --- */

static void end_pair(struct backend_rig *rig, uint64_t id, struct drm_neuron_wait_job result[2],
		     struct __test_metadata *_metadata)
{
	ASSERT_EQ(0, backend_end(rig, 0, id, &result[0]));
	ASSERT_EQ(0, backend_end(rig, rig->cc, id + 1, &result[1]));
}

/* The CC-core is busy with its first job, so that the gang waits for it on core 0. */
TEST_F_TIMEOUT(jobs, gang_starts_together, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_wait_job result[2];
	uint64_t first, id, alone;

	ASSERT_EQ(0, backend_submit(rig, rig->cc, SPINS, 200, &first));
	ASSERT_EQ(0, backend_submit_pair(rig, HALTS, HALTS, 0, &id));
	EXPECT_EQ(first + 1, id);
	EXPECT_EQ(-ETIMEDOUT, backend_wait(rig, 0, id, 0, &result[0]));
	end_pair(rig, id, result, _metadata);
	EXPECT_EQ(DRM_NEURON_JOB_OK, result[0].status);
	EXPECT_EQ(DRM_NEURON_JOB_OK, result[1].status);
	EXPECT_EQ(result[0].start_ns, result[1].start_ns);
	ASSERT_EQ(0, backend_submit(rig, 0, HALTS, 0, &alone));
	EXPECT_EQ(id + 2, alone);
}

/* One member fails, hangs or is cancelled: the other one is told which it was. */
TEST_F_TIMEOUT(jobs, gang_ends_together, BACKEND_LIMIT_S)
{
	static const struct {
		enum backend_program second;
		uint32_t timeout_ms;
		bool is_cancelled;
		int error;
	} cases[] = {
		{ SPINS, 200, false, -ETIMEDOUT },
		{ BREAKS, 0, false, -EIO },
		{ SPINS, BACKEND_LIMIT_S * 1000, true, -ECANCELED },
	};
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_wait_job result[2];
	unsigned int i;
	uint64_t id;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ASSERT_EQ(0, backend_submit_pair(rig, SPINS, cases[i].second, cases[i].timeout_ms,
						 &id));
		if (cases[i].is_cancelled) {
			ASSERT_TRUE(until_it_runs(rig));
			ASSERT_EQ(0, backend_cancel(rig, rig->cc, id + 1));
		}
		end_pair(rig, id, result, _metadata);
		EXPECT_EQ(cases[i].error, result[1].error) { TH_LOG("case %u", i); }
		EXPECT_EQ(DRM_NEURON_JOB_ERROR, result[0].status) { TH_LOG("case %u", i); }
		EXPECT_EQ(DRM_NEURON_CAUSE_GANG, result[0].cause);
		EXPECT_EQ(1, result[0].pc);
		EXPECT_EQ(-ECANCELED, result[0].error);
	}
	ASSERT_EQ(0, backend_submit_pair(rig, HALTS, HALTS, 0, &id));
	end_pair(rig, id, result, _metadata);
	EXPECT_EQ(DRM_NEURON_JOB_OK, result[0].status);
	EXPECT_EQ(DRM_NEURON_JOB_OK, result[1].status);
}

/* One job of two is wrong: nothing is queued, and the table of the other core stays. */
TEST_F_TIMEOUT(jobs, gang_or_nothing, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_wait_job result[2];
	struct backend_parts parts[2];
	struct drm_neuron_job jobs[2];
	struct drm_neuron_submit call = {
		.claim = rig->claim, .flags = DRM_NEURON_SUBMIT_GANG, .jobs = ARRAY_OF_ALL(jobs),
	};
	struct drm_neuron_window *many;
	uint64_t id;

	ASSERT_EQ(0, backend_submit_pair(rig, HALTS, HALTS, 0, &id));
	end_pair(rig, id, result, _metadata);
	jobs[0] = backend_job(rig, 0, HALTS, 0, &parts[0]);
	jobs[1] = backend_job(rig, rig->cc, HALTS, 0, &parts[1]);
	parts[0].window = (struct drm_neuron_window){ .kind = DRM_NEURON_WINDOW_EMPTY };
	parts[1].window.handle = NO_HANDLE;
	EXPECT_EQ(-ENOENT, rig->backend->submit(rig->chip, &call));
	parts[1].window.handle = rig->image;
	jobs[1].core = 0;
	EXPECT_EQ(-EINVAL, rig->backend->submit(rig->chip, &call));
	jobs[1].core = 1;
	EXPECT_EQ(-EINVAL, rig->backend->submit(rig->chip, &call));
	jobs[1].core = rig->cc;
	call.flags = 0;
	EXPECT_EQ(-EINVAL, rig->backend->submit(rig->chip, &call));
	call.flags = DRM_NEURON_SUBMIT_GANG;
	call.jobs.count = rig->limits.gang_jobs + 1;
	EXPECT_EQ(-EINVAL, rig->backend->submit(rig->chip, &call));
	call.jobs.count = 2;
	/* All jobs together have no more windows than a table has. */
	many = calloc(rig->limits.windows, sizeof(*many));
	ASSERT_NE(NULL, many);
	jobs[0].windows = ARRAY_OF(many);
	jobs[0].windows.count = rig->limits.windows;
	EXPECT_EQ(-EINVAL, rig->backend->submit(rig->chip, &call));
	free(many);
	/* A job of core 0 that brings no window finds its program where it was. */
	ASSERT_EQ(0, submit_bare(rig, &id));
	ASSERT_EQ(0, backend_end(rig, 0, id, &result[0]));
	EXPECT_EQ(DRM_NEURON_JOB_OK, result[0].status);
}

TEST_HARNESS_MAIN
