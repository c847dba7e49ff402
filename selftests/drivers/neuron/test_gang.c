// SPDX-License-Identifier: MIT
/*
 * Gangs: jobs of several cores that are submitted together, start together and, when
 * one fails, end together.
 */
#include <pthread.h>
#include <unistd.h>

#include "job_rig.h"
#include "kselftest_harness.h"
#include "neuron_test.h"

#define CORES	3
#define CC	CORES		/* a CC-core of the first core */
#define UNITS	(CORES + 1)
#define LIMIT	60000	/* ms, of what ends by itself */
#define LONG	300000	/* ms, of what does not */

/* Programs that lie in the image together, by engine; a CC-core has the first alone. */
#define STORES	NEURON_ENGINE_SYNC
#define LOOPS	NEURON_ENGINE_VECTOR
#define FAULTS	NEURON_ENGINE_SCALAR

/* An address in the data of a core. */
#define DATA(offset)	neuron_window_addr(RIG_WINDOW_DATA, offset)

FIXTURE(gang) {
	struct rig unit[UNITS];
	struct rig_usage before;
	int fd;
};

FIXTURE_SETUP(gang)
{
	unsigned int i;

	self->fd = neuron_open(0);
	if (self->fd < 0)
		SKIP(return, "no neuron device");
	rig_usage(self->fd, &self->before);
	ASSERT_GE(self->before.live, 0) TH_LOG("debugfs must be mounted");
	ASSERT_EQ(0, rig_open_cores(self->unit, 0, CORES));
	ASSERT_EQ(0, rig_open_cc(&self->unit[CC], &self->unit[0], 0));
	for (i = 0; i < UNITS; i++) {
		rig_store(&self->unit[i], STORES, 0, 1 + i);
		rig_halt(&self->unit[i], STORES);
		rig_loop(&self->unit[i], LOOPS, 0);
		rig_emit(&self->unit[i], FAULTS, NEURON_OP_ILLEGAL);
	}
}

FIXTURE_TEARDOWN(gang)
{
	unsigned int i = UNITS;

	while (i--)
		rig_close(&self->unit[i]);
	if (self->fd < 0)
		return;
	EXPECT_FALSE(rig_leaks(self->fd, &self->before));
	close(self->fd);
}

/**
 * struct gang - a submission under construction
 * @nr: jobs so far
 * @sync: one to wait for and one to signal; 0: none
 */
struct gang {
	struct drm_neuron_submit call;
	struct drm_neuron_job job[UNITS];
	unsigned int nr;
	struct drm_neuron_sync in;
	struct drm_neuron_sync out;
};

static void gang_add(struct gang *gang, struct rig *rig, enum neuron_engine program)
{
	struct rig_submit submit;

	rig_prepare_engine(rig, &submit, program);
	gang->call.claim = rig->claim;
	gang->job[gang->nr] = submit.job;
	gang->job[gang->nr++].timeout_ms = LONG;
}

/* The number of the first job, or an error. */
static int64_t gang_submit(int fd, struct gang *gang)
{
	int ret;

	rig_put_jobs(&gang->call, gang->job, gang->nr);
	if (gang->in.handle)
		gang->call.in_syncs = (struct drm_neuron_array){
			sizeof(gang->in), 1, (uintptr_t)&gang->in,
		};
	if (gang->out.handle)
		gang->call.out_syncs = (struct drm_neuron_array){
			sizeof(gang->out), 1, (uintptr_t)&gang->out,
		};
	ret = neuron_ioctl(fd, DRM_IOCTL_NEURON_SUBMIT, &gang->call);
	return ret ? ret : (int64_t)gang->call.job;
}

/* All units with the program STORES. */
static void gang_stores(struct gang *gang, struct rig *unit)
{
	unsigned int i;

	*gang = (struct gang){ 0 };
	for (i = 0; i < UNITS; i++)
		gang_add(gang, &unit[i], STORES);
}

static int64_t start_alone(struct rig *rig, enum neuron_engine program)
{
	struct gang alone = { 0 };

	gang_add(&alone, rig, program);
	return gang_submit(rig->fd, &alone);
}

static uint32_t word(const struct rig *rig)
{
	uint32_t value;

	memcpy(&value, rig->data, sizeof(value));
	return value;
}

#define expect_ended(unit, job, want_status, want_cause, want_pc) do { \
	struct drm_neuron_wait_job result_ = { 0 }; \
	ASSERT_EQ(0, rig_wait(unit, (uint64_t)(job), LIMIT, &result_)); \
	EXPECT_EQ(want_status, result_.status); \
	EXPECT_EQ(want_cause, result_.cause); \
	EXPECT_EQ(want_pc, result_.pc); \
	if ((want_status) == NEURON_JOB_OK) \
		EXPECT_EQ(0, result_.error); \
	if ((want_cause) == NEURON_CAUSE_GANG) \
		EXPECT_EQ(-ECANCELED, result_.error); \
} while (0)

#define expect_ok(unit, job) \
	expect_ended(unit, job, NEURON_JOB_OK, NEURON_CAUSE_NONE, 0)
/* Member @culprit of its gang was the first to fail. */
#define expect_gang(unit, job, culprit) \
	expect_ended(unit, job, NEURON_JOB_ERROR, NEURON_CAUSE_GANG, culprit)

/* The cores are good for the next gang. */
#define expect_next_gang_runs() do { \
	struct gang next_; \
	unsigned int i_; \
	int64_t job_; \
	gang_stores(&next_, self->unit); \
	job_ = gang_submit(self->unit[0].fd, &next_); \
	ASSERT_GT(job_, 0); \
	for (i_ = 0; i_ < UNITS; i_++) { \
		expect_ok(&self->unit[i_], job_ + i_); \
		EXPECT_EQ(1 + i_, word(&self->unit[i_])); \
	} \
} while (0)

/* --- Start --- */

TEST_F(gang, starts_at_one_device_time)
{
	struct drm_neuron_wait_job result[UNITS];
	struct gang gang;
	unsigned int i;
	int64_t job;

	/* The cores have been busy for different times. */
	for (i = 0; i < 5; i++) {
		job = start_alone(&self->unit[1], STORES);
		expect_ok(&self->unit[1], job);
	}
	gang_stores(&gang, self->unit);
	job = gang_submit(self->unit[0].fd, &gang);
	ASSERT_GT(job, 0);
	for (i = 0; i < UNITS; i++) {
		ASSERT_EQ(0, rig_wait(&self->unit[i], (uint64_t)job + i, LIMIT, &result[i]));
		EXPECT_EQ(NEURON_JOB_OK, result[i].status);
		EXPECT_EQ(result[0].start_ns, result[i].start_ns);
		EXPECT_EQ(1 + i, word(&self->unit[i]));
	}
	/* Numbers are not used twice. */
	EXPECT_EQ(job + UNITS, start_alone(&self->unit[2], STORES));
}

TEST_F(gang, waits_until_all_cores_are_free)
{
	struct gang gang;
	int64_t endless, job;
	unsigned int i;

	endless = start_alone(&self->unit[2], LOOPS);
	ASSERT_GT(endless, 0);
	gang_stores(&gang, self->unit);
	job = gang_submit(self->unit[0].fd, &gang);
	ASSERT_GT(job, 0);
	usleep(300000);
	for (i = 0; i < UNITS; i++) {
		EXPECT_EQ(-ETIMEDOUT, rig_wait(&self->unit[i], (uint64_t)job + i, 0, NULL));
		EXPECT_EQ(0, word(&self->unit[i]));
	}
	ASSERT_EQ(0, rig_cancel(&self->unit[2], (uint64_t)endless));
	for (i = 0; i < UNITS; i++)
		expect_ok(&self->unit[i], job + i);
}

/*
 * A job of the third unit that does not end signals @before. A gang of the other two waits for
 * that with @flags, and signals @after. The number of the job, to which those of the gang are
 * the next ones, or an error.
 */
static int64_t start_behind_loop(struct rig *unit, uint32_t before, uint32_t flags, uint32_t after)
{
	struct gang first = { .out.handle = before };
	struct gang gang = {
		.in = { .handle = before, .flags = flags }, .out.handle = after,
	};
	int64_t job, next;

	gang_add(&first, &unit[2], LOOPS);
	job = gang_submit(unit[0].fd, &first);
	if (job < 0)
		return job;
	gang_add(&gang, &unit[0], STORES);
	gang_add(&gang, &unit[1], STORES);
	next = gang_submit(unit[0].fd, &gang);
	if (next < 0)
		return next;
	return next == job + 1 ? job : -EBADMSG;
}

TEST_F(gang, waits_for_and_signals_syncobjs)
{
	struct rig *unit = self->unit;
	uint32_t before, after;
	int64_t job;
	unsigned int i;

	ASSERT_EQ(0, rig_syncobj_create(unit[0].fd, &before));
	ASSERT_EQ(0, rig_syncobj_create(unit[0].fd, &after));
	job = start_behind_loop(unit, before, DRM_NEURON_SYNC_IGNORE_ERROR, after);
	ASSERT_GT(job, 0);
	usleep(100000);
	EXPECT_EQ(1, rig_fence(unit[0].fd, after));
	EXPECT_EQ(0, word(&unit[0]));
	ASSERT_EQ(0, rig_cancel(&unit[2], (uint64_t)job));
	EXPECT_EQ(0, rig_syncobj_wait(unit[0].fd, after, 0, LIMIT));
	EXPECT_EQ(0, rig_fence(unit[0].fd, after));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(1 + i, word(&unit[i]));
		expect_ok(&unit[i], job + 1 + i);
	}
	rig_syncobj_destroy(unit[0].fd, before);
	rig_syncobj_destroy(unit[0].fd, after);
}

/* What a gang waits for fails: none of its jobs starts. */
TEST_F(gang, waits_for_what_fails)
{
	struct rig *unit = self->unit;
	uint32_t before, after;
	int64_t job;
	unsigned int i;

	ASSERT_EQ(0, rig_syncobj_create(unit[0].fd, &before));
	ASSERT_EQ(0, rig_syncobj_create(unit[0].fd, &after));
	job = start_behind_loop(unit, before, 0, after);
	ASSERT_GT(job, 0);
	ASSERT_EQ(0, rig_cancel(&unit[2], (uint64_t)job));
	EXPECT_EQ(0, rig_syncobj_wait(unit[0].fd, after, 0, LIMIT));
	EXPECT_EQ(-ECANCELED, rig_fence(unit[0].fd, after));
	for (i = 0; i < 2; i++) {
		struct drm_neuron_wait_job result = { 0 };

		ASSERT_EQ(0, rig_wait(&unit[i], (uint64_t)job + 1 + i, LIMIT, &result));
		EXPECT_NE(NEURON_JOB_OK, result.status);
		EXPECT_EQ(-ECANCELED, result.error);
		EXPECT_EQ(0, word(&unit[i]));
	}
	expect_next_gang_runs();
	rig_syncobj_destroy(unit[0].fd, before);
	rig_syncobj_destroy(unit[0].fd, after);
}

/* --- Refused --- */

TEST_F(gang, nothing_is_queued_if_one_job_is_wrong)
{
	struct rig *unit = self->unit;
	int64_t job = start_alone(&unit[0], STORES);
	struct gang good, bad;
	uint32_t sync;

	ASSERT_GT(job, 0);
	ASSERT_EQ(0, rig_syncobj_create(unit[0].fd, &sync));
	gang_stores(&good, unit);
	good.out.handle = sync;
#define expect_refused(error, ...) do { \
	bad = good; \
	__VA_ARGS__; \
	EXPECT_EQ(-(error), gang_submit(unit[0].fd, &bad)); \
} while (0)
	expect_refused(EINVAL, bad.job[3].flags = 1);
	expect_refused(EINVAL, bad.job[3].core = 30);
	expect_refused(EINVAL, bad.job[3].core = bad.job[0].core);
	/* Of the rig's own core, and so for more than sync. */
	expect_refused(EINVAL, bad.job[3].starts.pointer = (uintptr_t)&unit[3].start[LOOPS]);
	expect_refused(EINVAL, bad.job[2].notify_size = 96);
	expect_refused(EINVAL, bad.job[1].queues = (struct drm_neuron_array){ 8, 1, 8 });
	expect_refused(EFAULT, bad.job[1].queues = (struct drm_neuron_array){ 64, 1, 8 });
	expect_refused(EINVAL, bad.job[1].stream = 4711);
	expect_refused(ENOENT, bad.call.claim = 4711);
	expect_refused(EINVAL, bad.nr = 0);
	/* No fence came of that, and no job: the next one has the next number. */
	EXPECT_GT(0, rig_fence(unit[0].fd, sync));
	EXPECT_EQ(job + 1, gang_submit(unit[0].fd, &good));
	rig_syncobj_destroy(unit[0].fd, sync);
}

/* Several jobs must say that they are a gang; one may say so. */
TEST_F(gang, says_so)
{
	struct rig *unit = self->unit;
	struct gang gang;

	gang_stores(&gang, unit);
	rig_put_jobs(&gang.call, gang.job, gang.nr);
	gang.call.flags = 0;
	EXPECT_EQ(-EINVAL, neuron_ioctl(unit[0].fd, DRM_IOCTL_NEURON_SUBMIT, &gang.call));
	gang.call.flags = DRM_NEURON_SUBMIT_GANG;
	gang.call.jobs.count = 1;
	ASSERT_EQ(0, neuron_ioctl(unit[0].fd, DRM_IOCTL_NEURON_SUBMIT, &gang.call));
	expect_ok(&unit[0], gang.call.job);
}

/* Windows of all jobs change with the submission, or not at all. */
TEST_F(gang, windows_belong_to_the_job)
{
	struct rig *unit = self->unit;
	struct drm_neuron_window window[2];
	struct gang gang = { 0 };
	unsigned int i;
	int64_t job;

	for (i = 0; i < 2; i++) {
		window[i] = (struct drm_neuron_window){
			.index = RIG_WINDOW_DATA,
			.kind = DRM_NEURON_WINDOW_BO,
			.rights = DRM_NEURON_WINDOW_READ | DRM_NEURON_WINDOW_WRITE,
			.handle = unit[i].bo,
			.offset = RIG_HALF + 4096,
			.length = 4096,
		};
		gang_add(&gang, &unit[i], STORES);
		gang.job[i].windows = (struct drm_neuron_array){
			sizeof(window[i]), 1, (uintptr_t)&window[i],
		};
	}
	window[1].handle = 4711;
	EXPECT_EQ(-ENOENT, gang_submit(unit[0].fd, &gang));
	job = start_alone(&unit[0], STORES);
	expect_ok(&unit[0], job);
	EXPECT_EQ(1, word(&unit[0]));
	window[1].handle = unit[1].bo;
	job = gang_submit(unit[0].fd, &gang);
	ASSERT_GT(job, 0);
	for (i = 0; i < 2; i++) {
		expect_ok(&unit[i], job + i);
		EXPECT_EQ(1 + i, *(volatile uint32_t *)(void *)(unit[i].data + 4096));
	}
}

/* A submission takes as many windows as a table has, of all jobs together. */
TEST_F(gang, windows_of_all_jobs_are_limited)
{
	const uint32_t half = NEURON_MAX_WINDOWS / 2 + 1;
	struct rig *unit = self->unit;
	struct drm_neuron_window *windows = calloc(half, sizeof(*windows));
	struct gang gang = { 0 };
	int64_t job;
	uint32_t i;

	ASSERT_NE(NULL, windows);
	/* Empty ones, which change nothing. */
	for (i = 0; i < half; i++)
		windows[i].index = RIG_WINDOW_FREE;
	for (i = 0; i < 2; i++) {
		gang_add(&gang, &unit[i], STORES);
		gang.job[i].windows = (struct drm_neuron_array){
			sizeof(*windows), half, (uintptr_t)windows,
		};
	}
	EXPECT_EQ(-EINVAL, gang_submit(unit[0].fd, &gang));
	gang.job[1].windows.count = half - 1;
	job = gang_submit(unit[0].fd, &gang);
	ASSERT_GT(job, 0);
	for (i = 0; i < 2; i++)
		expect_ok(&unit[i], job + i);
	free(windows);
}

/* --- Failures --- */

TEST_F(gang, a_fault_ends_all)
{
	struct rig *unit = self->unit;
	struct gang gang = { 0 };
	uint32_t sync;
	int64_t job;

	ASSERT_EQ(0, rig_syncobj_create(unit[0].fd, &sync));
	gang_add(&gang, &unit[0], LOOPS);
	gang_add(&gang, &unit[1], FAULTS);
	gang_add(&gang, &unit[2], LOOPS);
	gang.out.handle = sync;
	job = gang_submit(unit[0].fd, &gang);
	ASSERT_GT(job, 0);
	expect_ended(&unit[1], job + 1, NEURON_JOB_ERROR, NEURON_CAUSE_OPCODE, 0);
	expect_gang(&unit[0], job, 1);
	expect_gang(&unit[2], job + 2, 1);
	EXPECT_EQ(0, rig_syncobj_wait(unit[0].fd, sync, 0, LIMIT));
	EXPECT_GT(0, rig_fence(unit[0].fd, sync));
	rig_syncobj_destroy(unit[0].fd, sync);
	expect_next_gang_runs();
}

/*
 * A CC-core holds the queue of the first core until it is cancelled, so the chip refuses that
 * core's job, whatever its place in the gang.
 */
TEST_F(gang, a_refused_member_ends_all)
{
	struct rig *unit = self->unit, *holder = &self->unit[CC];
	struct drm_neuron_queue held, wanted;
	struct drm_neuron_wait_job result;
	struct rig_submit first, refused;
	unsigned int i, at;

	rig_clear(holder);
	rig_copy(holder, NEURON_ENGINE_SYNC, DATA(64), DATA(0), 4);
	rig_store(holder, NEURON_ENGINE_SYNC, 256, 1);
	rig_loop(holder, NEURON_ENGINE_SYNC, 0);
	rig_prepare(holder, &first, &held);
	held.queue = 0;
	first.job.timeout_ms = LONG;
	ASSERT_EQ(0, rig_submit(holder, &first));
	/* It has the queue from its start on. */
	while (!((volatile uint8_t *)holder->data)[256])
		usleep(1000);
	rig_copy(&unit[0], NEURON_ENGINE_TENSOR, DATA(64), DATA(0), 4);
	rig_prepare(&unit[0], &refused, &wanted);
	for (at = 0; at < CORES; at++) {
		struct gang gang = { 0 };
		int64_t job;

		for (i = 0; i < CORES; i++)
			gang_add(&gang, &unit[(i + CORES - at) % CORES], LOOPS);
		gang.job[at].queues = refused.job.queues;
		job = gang_submit(unit[0].fd, &gang);
		ASSERT_GT(job, 0);
		for (i = 0; i < CORES; i++) {
			struct rig *rig = &unit[(i + CORES - at) % CORES];

			if (i != at) {
				expect_gang(rig, job + i, at);
				continue;
			}
			ASSERT_EQ(0, rig_wait(rig, (uint64_t)job + i, LIMIT, &result));
			EXPECT_EQ(NEURON_JOB_ERROR, result.status);
			EXPECT_EQ(NEURON_CAUSE_QUEUE, result.cause);
			EXPECT_EQ(NEURON_SOURCE_JOB, result.source);
		}
	}
	ASSERT_EQ(0, rig_cancel(holder, first.call.job));
	rig_clear(holder);
	rig_store(holder, STORES, 0, 1 + CC);
	rig_halt(holder, STORES);
	expect_next_gang_runs();
}

TEST_F(gang, a_hang_ends_all)
{
	struct rig *unit = self->unit;
	struct drm_neuron_wait_job result;
	struct gang gang = { 0 };
	int64_t job;

	gang_add(&gang, &unit[0], LOOPS);
	gang_add(&gang, &unit[1], LOOPS);
	gang.job[1].timeout_ms = 50;	/* and at most 16 times as long */
	job = gang_submit(unit[0].fd, &gang);
	ASSERT_GT(job, 0);
	ASSERT_EQ(0, rig_wait(&unit[1], (uint64_t)job + 1, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_ABORTED, result.status);
	EXPECT_TRUE(result.flags & DRM_NEURON_JOB_HANG);
	EXPECT_EQ(-ETIMEDOUT, result.error);
	expect_gang(&unit[0], job, 1);
	expect_next_gang_runs();
}

TEST_F(gang, cancel_of_a_running_job_ends_all)
{
	struct rig *unit = self->unit;
	struct gang gang = { 0 };
	int64_t job;

	gang_add(&gang, &unit[0], LOOPS);
	gang_add(&gang, &unit[1], LOOPS);
	job = gang_submit(unit[0].fd, &gang);
	ASSERT_GT(job, 0);
	usleep(200000);
	ASSERT_EQ(0, rig_cancel(&unit[0], (uint64_t)job));
	expect_ended(&unit[0], job, NEURON_JOB_ABORTED, NEURON_CAUSE_RESET, 0);
	expect_gang(&unit[1], job + 1, 0);
	expect_next_gang_runs();
}

/*
 * Unit 1 is busy, so unit 0 and 2 wait for it. They end at once; the job of unit 1 when
 * its turn comes.
 */
TEST_F(gang, cancel_of_a_waiting_job_ends_all)
{
	struct rig *unit = self->unit;
	unsigned int i, victim;

	for (victim = 0; victim < CORES; victim++) {
		int64_t endless = start_alone(&unit[1], LOOPS), job;
		struct gang gang = { 0 };

		for (i = 0; i < CORES; i++)
			gang_add(&gang, &unit[i], STORES);
		job = gang_submit(unit[0].fd, &gang);
		ASSERT_GT(job, 0);
		usleep(100000);
		ASSERT_EQ(0, rig_cancel(&unit[victim], (uint64_t)job + victim));
		for (i = 0; i < CORES; i += 2)
			if (i != victim)
				expect_gang(&unit[i], job + i, victim);
		EXPECT_EQ(-ETIMEDOUT, rig_wait(&unit[1], (uint64_t)job + 1, 0, NULL));
		ASSERT_EQ(0, rig_cancel(&unit[1], (uint64_t)endless));
		if (victim != 1)
			expect_gang(&unit[1], job + 1, victim);
		expect_ended(&unit[victim], job + victim, NEURON_JOB_ABORTED,
			     NEURON_CAUSE_RESET, 0);
		for (i = 0; i < CORES; i++)
			EXPECT_EQ(0, word(&unit[i]));
	}
	expect_next_gang_runs();
}

TEST_F(gang, reset_of_a_core_ends_all)
{
	struct rig *unit = self->unit;
	struct drm_neuron_reset reset = { .claim = unit[0].claim, .core = unit[0].core };
	int64_t endless = start_alone(&unit[1], LOOPS), job;
	struct gang gang = { 0 };

	ASSERT_GT(endless, 0);
	gang_add(&gang, &unit[0], STORES);
	gang_add(&gang, &unit[1], STORES);
	job = gang_submit(unit[0].fd, &gang);
	ASSERT_GT(job, 0);
	usleep(100000);
	ASSERT_EQ(0, neuron_ioctl(unit[0].fd, DRM_IOCTL_NEURON_RESET, &reset));
	expect_ended(&unit[0], job, NEURON_JOB_ABORTED, NEURON_CAUSE_RESET, 0);
	ASSERT_EQ(0, rig_cancel(&unit[1], (uint64_t)endless));
	expect_gang(&unit[1], job + 1, 0);
	expect_next_gang_runs();
}

/* The teardown looks for leaks. */
TEST_F(gang, release_takes_jobs_that_wait)
{
	struct rig *unit = self->unit;
	int64_t endless = start_alone(&unit[1], LOOPS);
	unsigned int i, n;

	ASSERT_GT(endless, 0);
	for (n = 0; n < 8; n++) {
		struct gang gang = { 0 };

		for (i = 0; i < CORES; i++)
			gang_add(&gang, &unit[i], STORES);
		ASSERT_GT(gang_submit(unit[0].fd, &gang), 0);
	}
	EXPECT_EQ(0, rig_release(unit[0].fd, unit[0].claim));
}

/* --- Two threads, opposite order --- */

#define ROUNDS	2000
#define BATCH	20

/**
 * struct opposite - a thread that submits gangs
 * @backwards: the jobs in the opposite order of their cores
 * @failed: what went wrong, or 0
 */
struct opposite {
	struct rig *unit;
	bool backwards;
	int failed;
};

static int opposite_batch(struct opposite *o)
{
	struct drm_neuron_wait_job wait[BATCH * UNITS] = { 0 };
	unsigned int n, i, k;

	for (n = 0; n < BATCH; n++) {
		struct gang gang = { 0 };
		int64_t job;

		for (i = 0; i < UNITS; i++)
			gang_add(&gang, &o->unit[o->backwards ? UNITS - 1 - i : i], STORES);
		/* A job alone between the gangs, now and then. */
		if (n % 5 == 0 && start_alone(&o->unit[n / 5 % UNITS], STORES) < 0)
			return -EIO;
		job = gang_submit(o->unit[0].fd, &gang);
		if (job < 0)
			return (int)job;
		for (i = 0; i < UNITS; i++) {
			k = n * UNITS + i;
			wait[k].claim = gang.call.claim;
			wait[k].core = gang.job[i].core;
			wait[k].job = (uint64_t)job + i;
		}
	}
	n = rig_wait_jobs(o->unit[0].fd, wait, BATCH * UNITS, DRM_NEURON_WAIT_ALL, LIMIT);
	for (i = 0; !n && i < BATCH * UNITS; i++)
		if (wait[i].status != NEURON_JOB_OK)
			return -EBADE;
	return (int)n;
}

static void *opposite_run(void *arg)
{
	struct opposite *o = arg;
	unsigned int n;

	for (n = 0; n < ROUNDS / BATCH && !o->failed; n++)
		o->failed = opposite_batch(o);
	return NULL;
}

TEST_F(gang, opposite_order_does_not_deadlock)
{
	struct opposite o[2] = {
		{ self->unit, false, 0 },
		{ self->unit, true, 0 },
	};
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, opposite_run, &o[1]));
	opposite_run(&o[0]);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, o[0].failed);
	EXPECT_EQ(0, o[1].failed);
}

TEST_HARNESS_MAIN
