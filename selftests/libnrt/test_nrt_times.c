// SPDX-License-Identifier: MIT
/*
 * Device times of jobs of several ranks, by the table of a back end: who is a member, when the
 * times come, and what becomes of them when a member does not. As in test_nrt_backend.c the driver
 * and chips in the process must say the same.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "backend/backend.h"
#include "contract/series.h"
#include "neuron/generation.h"
#include "neuron/isa.h"
#include "neuron/job.h"
#include "neuron/window.h"

#define IMAGE		4096u
#define LIMIT_S		120
#define LONG_MS		60000
#define NS		1000000000ll
#define CHIPS		2
#define CC		NEURON_MAX_CORES	/* the first CC-core */

enum program { HALTS, SPINS };

/* A chip, the claim of its first core, its series, and a buffer for traces or 0. */
struct side {
	struct nrt_chip *chip;
	uint32_t claim;
	uint32_t image;
	uint32_t series;
	uint32_t trace;
};

FIXTURE(times)
{
	struct nrt_chip **chips;
	unsigned int count;
	struct side side[CHIPS];
};

static const struct nrt_backend *backend(void)
{
	const char *name = getenv("NEURON_RT_BACKEND");

	return name && !strcmp(name, "embedded") ? &nrt_backend_embedded : &nrt_backend_drm;
}

static int64_t in_ms(int64_t ms)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS + now.tv_nsec + ms * 1000000;
}

#define ARRAY_OF(element) \
	((struct drm_neuron_array){ .pointer = (uintptr_t)(element), .count = 1, \
				    .stride = sizeof(*(element)) })

static int load_programs(struct side *side)
{
	struct neuron_inst image[2 * IMAGE / sizeof(struct neuron_inst)] = { 0 };
	struct drm_neuron_bo_create bo = { .size = sizeof(image) };
	struct drm_neuron_copy copy = {
		.user = (uintptr_t)image,
		.size = sizeof(image),
		.direction = DRM_NEURON_COPY_TO_DEVICE,
	};
	int ret;

	image[0].opcode = NEURON_OP_HALT;
	image[IMAGE / sizeof(image[0])].opcode = NEURON_OP_BRANCH;
	image[IMAGE / sizeof(image[0])].op0 = NEURON_ALU_BYPASS;
	ret = backend()->bo_create(side->chip, &bo);
	copy.handle = bo.handle;
	side->image = bo.handle;
	return ret ? ret : backend()->copy(side->chip, &copy);
}

/* A job of the first CC-core of @side, as its member of group @sequence; 0: of none. */
static int submit(struct side *side, enum program program, uint32_t index, uint64_t sequence,
		  uint32_t timeout_ms, uint64_t *id)
{
	const struct drm_neuron_window window = {
		.kind = DRM_NEURON_WINDOW_BO,
		.rights = DRM_NEURON_WINDOW_READ,
		.handle = side->image,
		.length = 2 * IMAGE,
	};
	const struct drm_neuron_start start = {
		.addr = neuron_window_addr(0, program * IMAGE),
		.count = 1,
		.engine = NEURON_ENGINE_SYNC,
	};
	const struct drm_neuron_job job = {
		.core = CC,
		.starts = ARRAY_OF(&start),
		.windows = ARRAY_OF(&window),
		.timeout_ms = timeout_ms,
		.trace = side->trace,
		.trace_size = side->trace ? IMAGE : 0,
	};
	struct drm_neuron_submit call = { .claim = side->claim, .jobs = ARRAY_OF(&job) };
	const struct nrt_time_place place = {
		.series = sequence ? side->series : 0,
		.index = index,
		.sequence = sequence,
	};
	int ret = backend()->submit_timed(side->chip, &call, &place);

	*id = call.job;
	return ret;
}

static int wait_for(struct side *side, uint64_t id, struct drm_neuron_wait_job *job)
{
	struct drm_neuron_wait wait = { .deadline_ns = in_ms(LONG_MS), .jobs = ARRAY_OF(job) };

	*job = (struct drm_neuron_wait_job){ .claim = side->claim, .core = CC, .job = id };
	return backend()->wait(side->chip, &wait);
}

/* Its status when it has ended, or a negative errno. */
static int status_of(struct side *side, uint64_t id)
{
	struct drm_neuron_wait_job job;
	int ret = wait_for(side, id, &job);

	return ret ? ret : (int)job.status;
}

static int settled(struct side *side, uint64_t id, int64_t ms, struct nrt_settled *times)
{
	*times = (struct nrt_settled){
		.claim = side->claim,
		.core = CC,
		.job = id,
		.deadline_ns = ms ? in_ms(ms) : 0,
	};
	return backend()->settled(side->chip, times);
}

/* The cause of times that are inexact, 0 of exact ones, or a negative errno. */
static int cause_of(struct side *side, uint64_t id)
{
	struct nrt_settled times;
	int ret = settled(side, id, LONG_MS, &times);

	if (!ret && times.exact != !times.cause)
		return -EPROTO;
	return ret ? ret : times.cause;
}

/* Both chips have a series of groups of two. */
FIXTURE_SETUP(times)
{
	struct nrt_series series = { .members = CHIPS };
	struct drm_neuron_claim claim;
	struct nrt_error error = { 0 };
	unsigned int i;

	ASSERT_EQ(NRT_SUCCESS, backend()->open_all(&self->chips, &self->count, &error));
	ASSERT_LE(CHIPS, self->count);
	for (i = 0; i < CHIPS; i++) {
		claim = (struct drm_neuron_claim){ .cores = 1 };
		self->side[i].chip = self->chips[i];
		ASSERT_EQ(0, backend()->claim(self->chips[i], &claim));
		self->side[i].claim = claim.claim;
		ASSERT_EQ(0, load_programs(&self->side[i]));
	}
	ASSERT_EQ(0, backend()->series(self->chips[0], &series));
	self->side[0].series = series.handle;
	ASSERT_EQ(0, backend()->series_import(self->chips[1], series.fd, &self->side[1].series));
	close(series.fd);
}

FIXTURE_TEARDOWN(times)
{
	unsigned int i;

	for (i = 0; i < self->count; i++)
		backend()->close(self->chips[i]);
	free(self->chips);
}

TEST_F_TIMEOUT(times, bad_arguments, LIMIT_S)
{
	struct nrt_series none = { 0 }, many = { .members = NEURON_JOB_MAX_GROUP + 1 };
	struct side *side = &self->side[0], stranger = *side;
	struct nrt_settled times;
	uint32_t handle;
	uint64_t id;
	int pipes[2];

	EXPECT_EQ(-EINVAL, backend()->series(side->chip, &none));
	EXPECT_EQ(-EINVAL, backend()->series(side->chip, &many));
	ASSERT_EQ(0, pipe(pipes));
	EXPECT_EQ(-EBADF, backend()->series_import(side->chip, pipes[0], &handle));
	EXPECT_EQ(-EBADF, backend()->series_import(side->chip, -1, &handle));
	close(pipes[0]);
	close(pipes[1]);
	stranger.series = 7;
	EXPECT_EQ(-ENOENT, submit(&stranger, HALTS, 0, 1, 0, &id));
	EXPECT_EQ(-EINVAL, submit(side, HALTS, CHIPS, 1, 0, &id));
	EXPECT_EQ(-EINVAL, submit(side, HALTS, 0, NEURON_SERIES_STEP + 1, 0, &id));
	/* Of no group, and of none that there is. */
	ASSERT_EQ(0, submit(side, HALTS, 0, 0, 0, &id));
	EXPECT_EQ(-EINVAL, settled(side, id, LONG_MS, &times));
	EXPECT_EQ(-ENOENT, settled(side, id + 1, LONG_MS, &times));
	ASSERT_EQ(0, submit(side, HALTS, 0, 2, 0, &id));
	/* A number comes once. */
	EXPECT_EQ(-EINVAL, submit(side, HALTS, 0, 2, 0, &id));
	EXPECT_EQ(-EINVAL, submit(side, HALTS, 0, 1, 0, &id));
}

/* Somebody who has the descriptor cannot be a member that another one is. */
TEST_F_TIMEOUT(times, place_is_taken, LIMIT_S)
{
	struct nrt_series series = { .members = CHIPS };
	uint64_t id[CHIPS + 1], sequence;
	struct side intruder;
	unsigned int i;

	ASSERT_EQ(0, backend()->series(self->side[0].chip, &series));
	self->side[0].series = series.handle;
	ASSERT_EQ(0, backend()->series_import(self->side[1].chip, series.fd,
					      &self->side[1].series));
	intruder = self->side[1];
	ASSERT_EQ(0, backend()->series_import(intruder.chip, series.fd, &intruder.series));
	close(series.fd);
	EXPECT_NE(self->side[1].series, intruder.series);
	for (sequence = 1; sequence < 4; sequence++) {
		for (i = 0; i < CHIPS; i++)
			ASSERT_EQ(0, submit(&self->side[i], HALTS, i, sequence, 0, &id[i]));
		ASSERT_EQ(0, submit(&intruder, HALTS, 0, sequence + 1, 0, &id[CHIPS]));
		EXPECT_EQ(DRM_NEURON_JOB_OK, status_of(&intruder, id[CHIPS]));
		EXPECT_EQ(NEURON_SETTLE_ENDED, cause_of(&intruder, id[CHIPS]));
		for (i = 0; i < CHIPS; i++)
			EXPECT_EQ(NEURON_SETTLE_FINE, cause_of(&self->side[i], id[i]));
	}
	/* It is no member, so nobody lacks it. */
	backend()->series_close(intruder.chip, intruder.series);
	for (i = 0; i < CHIPS; i++) {
		ASSERT_EQ(0, submit(&self->side[i], HALTS, i, 4, 0, &id[i]));
		EXPECT_EQ(DRM_NEURON_JOB_OK, status_of(&self->side[i], id[i]));
	}
	for (i = 0; i < CHIPS; i++)
		EXPECT_EQ(NEURON_SETTLE_FINE, cause_of(&self->side[i], id[i]));
}

/* The jobs end at once; their times come when all have. */
TEST_F_TIMEOUT(times, settle_together, LIMIT_S)
{
	struct nrt_settled first, second;
	uint64_t id[CHIPS], sequence;

	for (sequence = 1; sequence < 400; sequence++) {
		ASSERT_EQ(0, submit(&self->side[0], HALTS, 0, sequence, 0, &id[0]));
		ASSERT_EQ(DRM_NEURON_JOB_OK, status_of(&self->side[0], id[0]));
		ASSERT_EQ(-ETIMEDOUT, settled(&self->side[0], id[0], 0, &first));
		ASSERT_EQ(0, submit(&self->side[1], HALTS, 1, sequence, 0, &id[1]));
		ASSERT_EQ(0, settled(&self->side[0], id[0], LONG_MS, &first));
		ASSERT_EQ(0, settled(&self->side[1], id[1], LONG_MS, &second));
		EXPECT_TRUE(first.exact);
		EXPECT_TRUE(second.exact);
		EXPECT_LT(first.start_ns, first.end_ns);
		EXPECT_EQ(first.end_ns - first.start_ns, second.end_ns - second.start_ns);
		/* They stay known. */
		EXPECT_EQ(0, settled(&self->side[0], id[0], 0, &second));
		EXPECT_EQ(first.end_ns, second.end_ns);
	}
}

/* A record that comes while somebody asks is not missed. */
TEST_F_TIMEOUT(times, asked_again_and_again, LIMIT_S)
{
	const int64_t deadline = in_ms(LONG_MS);
	struct nrt_settled times;
	uint64_t id, sequence;
	int ret;

	for (sequence = 1; sequence < 1000; sequence++) {
		ASSERT_EQ(0, submit(&self->side[0], HALTS, 0, sequence, 0, &id));
		ASSERT_EQ(DRM_NEURON_JOB_OK, status_of(&self->side[0], id));
		ASSERT_EQ(0, submit(&self->side[1], HALTS, 1, sequence, 0, &id));
		do {
			ret = settled(&self->side[1], id, 0, &times);
		} while (ret == -ETIMEDOUT && in_ms(0) < deadline);
		ASSERT_EQ(0, ret) TH_LOG("group %llu", (unsigned long long)sequence);
	}
}

/* Somebody who leaves lets nobody wait, neither for the past nor for what is to come. */
TEST_F_TIMEOUT(times, member_leaves, LIMIT_S)
{
	struct nrt_settled times;
	uint64_t id[3];

	ASSERT_EQ(0, submit(&self->side[0], HALTS, 0, 1, 0, &id[0]));
	ASSERT_EQ(0, submit(&self->side[0], HALTS, 0, 2, 0, &id[1]));
	ASSERT_EQ(0, submit(&self->side[1], HALTS, 1, 1, 0, &id[2]));
	ASSERT_EQ(DRM_NEURON_JOB_OK, status_of(&self->side[0], id[1]));
	EXPECT_EQ(-ETIMEDOUT, settled(&self->side[0], id[1], 0, &times));
	backend()->series_close(self->side[1].chip, self->side[1].series);
	EXPECT_EQ(NEURON_SETTLE_FINE, cause_of(&self->side[0], id[0]));
	EXPECT_EQ(NEURON_SETTLE_ENDED, cause_of(&self->side[0], id[1]));
	/* Its job is none the worse for it. */
	ASSERT_EQ(0, submit(&self->side[0], HALTS, 0, 3, 0, &id[2]));
	ASSERT_EQ(DRM_NEURON_JOB_OK, status_of(&self->side[0], id[2]));
	EXPECT_EQ(NEURON_SETTLE_ENDED, cause_of(&self->side[0], id[2]));
	backend()->series_close(self->side[1].chip, self->side[1].series);
	backend()->series_close(self->side[0].chip, self->side[0].series);
	/* Another thread may have been about to submit. */
	ASSERT_EQ(0, submit(&self->side[0], HALTS, 0, 4, 0, &id[2]));
	EXPECT_EQ(NEURON_SETTLE_ENDED, cause_of(&self->side[0], id[2]));
}

/* The chip remembers so many groups whose times are inexact, and forgets the others. */
TEST_F_TIMEOUT(times, comes_to_a_forgotten_group, LIMIT_S)
{
	struct nrt_series series = { .members = CHIPS };
	struct side flood = self->side[0];
	uint64_t id[CHIPS], other, sequence;

	ASSERT_EQ(0, backend()->series(flood.chip, &series));
	close(series.fd);
	flood.series = series.handle;
	ASSERT_EQ(0, submit(&self->side[0], HALTS, 0, 1, 0, &id[0]));
	for (sequence = 1; sequence < 700; sequence++) {
		ASSERT_EQ(0, submit(&flood, HALTS, 0, sequence, 0, &other));
		ASSERT_EQ(DRM_NEURON_JOB_OK, status_of(&flood, other));
	}
	EXPECT_EQ(NEURON_SETTLE_OVERFLOW, cause_of(&self->side[0], id[0]));
	ASSERT_EQ(0, submit(&self->side[1], HALTS, 1, 1, 0, &id[1]));
	EXPECT_EQ(NEURON_SETTLE_ENDED, cause_of(&self->side[1], id[1]));
}

/* What it has come to is whole, also when the others are slower. */
TEST_F_TIMEOUT(times, member_is_done_first, LIMIT_S)
{
	uint64_t id[3];

	ASSERT_EQ(0, submit(&self->side[0], HALTS, 0, 1, 0, &id[0]));
	ASSERT_EQ(DRM_NEURON_JOB_OK, status_of(&self->side[0], id[0]));
	ASSERT_EQ(0, submit(&self->side[1], HALTS, 1, 1, 0, &id[1]));
	EXPECT_EQ(NEURON_SETTLE_FINE, cause_of(&self->side[1], id[1]));
	ASSERT_EQ(0, submit(&self->side[0], HALTS, 0, 2, 0, &id[0]));
	ASSERT_EQ(DRM_NEURON_JOB_OK, status_of(&self->side[0], id[0]));
	backend()->series_close(self->side[0].chip, self->side[0].series);
	ASSERT_EQ(0, submit(&self->side[1], HALTS, 1, 2, 0, &id[1]));
	EXPECT_EQ(NEURON_SETTLE_FINE, cause_of(&self->side[1], id[1]));
	EXPECT_EQ(NEURON_SETTLE_FINE, cause_of(&self->side[0], id[0]));
	ASSERT_EQ(0, submit(&self->side[1], HALTS, 1, 3, 0, &id[2]));
	EXPECT_EQ(NEURON_SETTLE_ENDED, cause_of(&self->side[1], id[2]));
}

/* What it has come to it still does, when its queue lets it: such a group lacks nobody. */
TEST_F_TIMEOUT(times, member_leaves_with_a_job_under_way, LIMIT_S)
{
	uint64_t id[3];

	ASSERT_EQ(0, submit(&self->side[1], SPINS, 0, 0, 300, &id[2]));
	ASSERT_EQ(0, submit(&self->side[1], HALTS, 1, 1, 0, &id[1]));
	ASSERT_EQ(0, submit(&self->side[0], HALTS, 0, 1, 0, &id[0]));
	backend()->series_close(self->side[1].chip, self->side[1].series);
	backend()->series_close(self->side[0].chip, self->side[0].series);
	EXPECT_EQ(NEURON_SETTLE_FINE, cause_of(&self->side[0], id[0]));
	EXPECT_EQ(NEURON_SETTLE_FINE, cause_of(&self->side[1], id[1]));
}

/* What a member leaves out it will not do later. */
TEST_F_TIMEOUT(times, member_leaves_out, LIMIT_S)
{
	uint64_t id[4];

	ASSERT_EQ(0, submit(&self->side[0], HALTS, 0, 1, 0, &id[0]));
	ASSERT_EQ(DRM_NEURON_JOB_OK, status_of(&self->side[0], id[0]));
	ASSERT_EQ(0, submit(&self->side[1], HALTS, 1, 2, 0, &id[1]));
	EXPECT_EQ(NEURON_SETTLE_ENDED, cause_of(&self->side[0], id[0]));
	ASSERT_EQ(0, submit(&self->side[0], HALTS, 0, 2, 0, &id[2]));
	EXPECT_LE(0, cause_of(&self->side[0], id[2]));
	EXPECT_LE(0, cause_of(&self->side[1], id[1]));
	/* Also when nobody had come to it yet. */
	ASSERT_EQ(0, submit(&self->side[1], HALTS, 1, 5, 0, &id[1]));
	ASSERT_EQ(0, submit(&self->side[0], HALTS, 0, 4, 0, &id[0]));
	EXPECT_EQ(NEURON_SETTLE_ENDED, cause_of(&self->side[0], id[0]));
}

/* The time limit of a member. */
TEST_F_TIMEOUT(times, member_hangs, LIMIT_S)
{
	uint64_t id[CHIPS];

	ASSERT_EQ(0, submit(&self->side[0], HALTS, 0, 1, 0, &id[0]));
	ASSERT_EQ(0, submit(&self->side[1], SPINS, 1, 1, 200, &id[1]));
	ASSERT_EQ(DRM_NEURON_JOB_ABORTED, status_of(&self->side[1], id[1]));
	EXPECT_EQ(NEURON_SETTLE_MEMBER, cause_of(&self->side[0], id[0]));
	EXPECT_EQ(NEURON_SETTLE_MEMBER, cause_of(&self->side[1], id[1]));
}

/* Members are cancelled: one that runs, and one that waits for its turn. */
TEST_F_TIMEOUT(times, member_is_cancelled, LIMIT_S)
{
	struct drm_neuron_cancel cancel = { .claim = self->side[1].claim, .core = CC };
	uint64_t id[4];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, submit(&self->side[0], HALTS, 0, 1 + i, 0, &id[i]));
		ASSERT_EQ(0, submit(&self->side[1], SPINS, 1, 1 + i, 0, &id[2 + i]));
	}
	cancel.job = id[3];
	ASSERT_EQ(0, backend()->cancel(self->side[1].chip, &cancel));
	cancel.job = id[2];
	ASSERT_EQ(0, backend()->cancel(self->side[1].chip, &cancel));
	/* When its turn comes, at the latest. */
	EXPECT_LT(0, cause_of(&self->side[1], id[3]));
	EXPECT_EQ(NEURON_SETTLE_MEMBER, cause_of(&self->side[1], id[2]));
	EXPECT_EQ(NEURON_SETTLE_MEMBER, cause_of(&self->side[0], id[0]));
	EXPECT_LT(0, cause_of(&self->side[0], id[1]));
}

/* A member that never begins, before the chip has heard of any other. */
TEST_F_TIMEOUT(times, member_is_cancelled_first, LIMIT_S)
{
	struct drm_neuron_cancel cancel = { .claim = self->side[1].claim, .core = CC };
	uint64_t id[CHIPS], blocker[CHIPS];
	unsigned int i;

	for (i = 0; i < CHIPS; i++) {
		ASSERT_EQ(0, submit(&self->side[i], SPINS, i, 0, 1000, &blocker[i]));
		ASSERT_EQ(0, submit(&self->side[i], HALTS, i, 1, 0, &id[i]));
	}
	cancel.job = id[1];
	ASSERT_EQ(0, backend()->cancel(self->side[1].chip, &cancel));
	EXPECT_EQ(NEURON_SETTLE_MEMBER, cause_of(&self->side[1], id[1]));
	EXPECT_EQ(NEURON_SETTLE_ENDED, cause_of(&self->side[0], id[0]));
}

/* The claim of a member ends: while it runs, and when it has ended but not settled. */
TEST_F_TIMEOUT(times, member_dies, LIMIT_S)
{
	struct drm_neuron_release release = { .claim = self->side[1].claim };
	struct drm_neuron_claim claim = { .cores = 1 };
	uint64_t id[4];

	ASSERT_EQ(0, submit(&self->side[0], HALTS, 0, 1, 0, &id[0]));
	ASSERT_EQ(0, submit(&self->side[1], SPINS, 1, 1, 0, &id[1]));
	ASSERT_EQ(0, backend()->release(self->side[1].chip, &release));
	/* It was aborted, or has not begun. */
	EXPECT_LT(0, cause_of(&self->side[0], id[0]));
	ASSERT_EQ(0, backend()->claim(self->side[1].chip, &claim));
	self->side[1].claim = claim.claim;
	ASSERT_EQ(0, submit(&self->side[1], HALTS, 1, 2, 0, &id[2]));
	ASSERT_EQ(DRM_NEURON_JOB_OK, status_of(&self->side[1], id[2]));
	release.claim = claim.claim;
	ASSERT_EQ(0, backend()->release(self->side[1].chip, &release));
	ASSERT_EQ(0, submit(&self->side[0], HALTS, 0, 2, 0, &id[3]));
	EXPECT_LT(0, cause_of(&self->side[0], id[3]));
}

/* Groups whose other member never comes do not fill the chip. */
TEST_F_TIMEOUT(times, many_wait, LIMIT_S)
{
	uint64_t id[1000], sequence;
	unsigned int i;

	for (i = 0; i < 1000; i++) {
		ASSERT_EQ(0, submit(&self->side[0], HALTS, 0, i + 1, 0, &id[i]));
		ASSERT_EQ(DRM_NEURON_JOB_OK, status_of(&self->side[0], id[i]));
	}
	EXPECT_EQ(NEURON_SETTLE_OVERFLOW, cause_of(&self->side[0], id[0]));
	sequence = 1001;
	ASSERT_EQ(0, submit(&self->side[1], HALTS, 1, 1, 0, &id[1]));
	EXPECT_EQ(NEURON_SETTLE_OVERFLOW, cause_of(&self->side[1], id[1]));
	backend()->series_close(self->side[1].chip, self->side[1].series);
	EXPECT_LT(0, cause_of(&self->side[0], id[999]));
	ASSERT_EQ(0, submit(&self->side[0], HALTS, 0, sequence, 0, &id[0]));
	EXPECT_EQ(NEURON_SETTLE_ENDED, cause_of(&self->side[0], id[0]));
}

/* Who reads a trace when its job has ended must find it then, so such a job is no member. */
TEST_F_TIMEOUT(times, traced, LIMIT_S)
{
	struct drm_neuron_bo_create trace = { .size = IMAGE };
	uint64_t id[CHIPS];

	ASSERT_EQ(0, backend()->bo_create(self->side[0].chip, &trace));
	self->side[0].trace = trace.handle;
	ASSERT_EQ(0, submit(&self->side[0], HALTS, 0, 1, 0, &id[0]));
	ASSERT_EQ(0, submit(&self->side[1], HALTS, 1, 1, 0, &id[1]));
	EXPECT_EQ(NEURON_SETTLE_ENDED, cause_of(&self->side[0], id[0]));
	EXPECT_EQ(NEURON_SETTLE_ENDED, cause_of(&self->side[1], id[1]));
}

/* Somebody asks for times, while the claim ends. */
static void *release_later(void *arg)
{
	struct side *side = arg;
	struct drm_neuron_release release = { .claim = side->claim };

	usleep(100000);
	backend()->release(side->chip, &release);
	return NULL;
}

TEST_F_TIMEOUT(times, claim_ends_while_somebody_asks, LIMIT_S)
{
	pthread_t thread;
	uint64_t id;

	ASSERT_EQ(0, submit(&self->side[0], HALTS, 0, 1, 0, &id));
	ASSERT_EQ(0, pthread_create(&thread, NULL, release_later, &self->side[0]));
	EXPECT_EQ(NEURON_SETTLE_ENDED, cause_of(&self->side[0], id));
	pthread_join(thread, NULL);
}

TEST_HARNESS_MAIN
