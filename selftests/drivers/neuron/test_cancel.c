// SPDX-License-Identifier: MIT
/*
 * Jobs that are given up: one of many, queued, waiting for others or running.
 */
#include <unistd.h>

#include "job_rig.h"
#include "kselftest_harness.h"
#include "neuron_test.h"

#define LIMIT	20000	/* ms, of what should end at once */
#define LONG	300000	/* ms, of what does not end by itself */

/* Programs that lie in the image together, by engine. */
#define LOOPS	NEURON_ENGINE_VECTOR
#define STORES1	NEURON_ENGINE_SCALAR
#define STORES2	NEURON_ENGINE_SYNC

FIXTURE(cancel) {
	struct rig rig;
	struct rig other;	/* a core whose job does not end */
	struct rig_usage before;
	uint32_t sync;		/* which it signals */
	int64_t endless;
	int fd;
};

static void emit_programs(struct rig *rig)
{
	rig_loop(rig, LOOPS, 0);
	rig_store(rig, STORES1, 0, 1);
	rig_halt(rig, STORES1);
	rig_store(rig, STORES2, 4, 2);
	rig_halt(rig, STORES2);
}

FIXTURE_SETUP(cancel)
{
	self->fd = neuron_open(0);
	if (self->fd < 0)
		SKIP(return, "no neuron device");
	rig_usage(self->fd, &self->before);
	ASSERT_GE(self->before.live, 0) TH_LOG("debugfs must be mounted");
	ASSERT_EQ(0, rig_open(&self->rig, 0, 0));
	ASSERT_EQ(0, rig_open(&self->other, 0, 1));
	emit_programs(&self->rig);
	emit_programs(&self->other);
}

FIXTURE_TEARDOWN(cancel)
{
	rig_close(&self->rig);
	rig_close(&self->other);
	if (self->fd < 0)
		return;
	EXPECT_FALSE(rig_leaks(self->fd, &self->before));
	close(self->fd);
}

/* The program of @engine, after and before syncobjs, if any; the job id or an error. */
static int64_t start_syncs(struct rig *rig, enum neuron_engine engine,
			   const struct drm_neuron_sync *in,
			   const struct drm_neuron_sync *out)
{
	struct rig_submit submit;
	int ret;

	rig_prepare_engine(rig, &submit, engine);
	submit.job.timeout_ms = LONG;
	if (in)
		submit.call.in_syncs = (struct drm_neuron_array){
			sizeof(*in), 1, (uintptr_t)in,
		};
	if (out)
		submit.call.out_syncs = (struct drm_neuron_array){
			sizeof(*out), 1, (uintptr_t)out,
		};
	ret = rig_submit(rig, &submit);
	return ret ? ret : (int64_t)submit.call.job;
}

/* The same with binary syncobjs; 0: none. */
static int64_t start(struct rig *rig, enum neuron_engine engine, uint32_t in,
		     uint32_t out)
{
	const struct drm_neuron_sync wait = { .handle = in };
	const struct drm_neuron_sync signal = { .handle = out };

	return start_syncs(rig, engine, in ? &wait : NULL, out ? &signal : NULL);
}

/* A syncobj in @rig's file with the fence of a job of @other that never ends. */
static int foreign_fence(struct rig *rig, struct rig *other, uint32_t *handle,
			 int64_t *endless)
{
	struct drm_syncobj_handle args = { 0 };
	uint32_t sync;
	int ret;

	ret = rig_syncobj_create(other->fd, &sync);
	if (ret)
		return ret;
	*endless = start(other, LOOPS, 0, sync);
	if (*endless < 0)
		return (int)*endless;
	args.handle = sync;
	ret = neuron_ioctl(other->fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &args);
	if (ret)
		return ret;
	rig_syncobj_destroy(other->fd, sync);
	ret = neuron_ioctl(rig->fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &args);
	close(args.fd);
	*handle = args.handle;
	return ret;
}

static uint32_t word(const struct rig *rig, unsigned int offset)
{
	uint32_t value;

	memcpy(&value, rig->data + offset, sizeof(value));
	return value;
}

#define expect_ended(rig, job, as) do { \
	struct drm_neuron_wait_job ended_; \
	ASSERT_EQ(0, rig_wait(rig, (uint64_t)(job), LIMIT, &ended_)); \
	EXPECT_EQ(as, ended_.status); \
	EXPECT_EQ((as) == NEURON_JOB_ABORTED ? NEURON_CAUSE_RESET : \
		  NEURON_CAUSE_NONE, ended_.cause); \
	EXPECT_EQ((as) == NEURON_JOB_ABORTED ? -ECANCELED : 0, ended_.error); \
	EXPECT_FALSE(ended_.flags & DRM_NEURON_JOB_HANG); \
} while (0)

#define expect_runs(rig, job) \
	EXPECT_EQ(-ETIMEDOUT, rig_wait(rig, (uint64_t)(job), 20, NULL))

TEST_F(cancel, queued)
{
	uint32_t sync;
	int64_t first, second, third;

	ASSERT_EQ(0, rig_syncobj_create(self->rig.fd, &sync));
	first = start(&self->rig, LOOPS, 0, 0);
	second = start(&self->rig, STORES1, 0, sync);
	third = start(&self->rig, STORES2, 0, 0);
	ASSERT_LT(0, first);
	ASSERT_LT(first, second);
	ASSERT_LT(second, third);

	ASSERT_EQ(0, rig_cancel(&self->rig, second));
	expect_runs(&self->rig, first);
	expect_runs(&self->rig, third);
	ASSERT_EQ(0, rig_cancel(&self->rig, first));
	expect_ended(&self->rig, first, NEURON_JOB_ABORTED);
	expect_ended(&self->rig, second, NEURON_JOB_ABORTED);
	expect_ended(&self->rig, third, NEURON_JOB_OK);
	EXPECT_EQ(0, word(&self->rig, 0));
	EXPECT_EQ(2, word(&self->rig, 4));
	EXPECT_EQ(-ECANCELED, rig_fence(self->rig.fd, sync));
}

/* The reset of one core is nothing to the other, nor to the jobs behind. */
TEST_F(cancel, running)
{
	int64_t neighbour = start(&self->other, LOOPS, 0, 0);
	int64_t first, second;
	uint32_t sync;

	ASSERT_LT(0, neighbour);
	ASSERT_EQ(0, rig_syncobj_create(self->rig.fd, &sync));
	first = start(&self->rig, LOOPS, 0, sync);
	second = start(&self->rig, STORES1, 0, 0);
	ASSERT_LT(0, first);
	ASSERT_LT(0, second);
	expect_runs(&self->rig, first);
	EXPECT_EQ(1, rig_fence(self->rig.fd, sync));
	ASSERT_EQ(0, rig_cancel(&self->rig, first));
	expect_ended(&self->rig, first, NEURON_JOB_ABORTED);
	expect_ended(&self->rig, second, NEURON_JOB_OK);
	EXPECT_EQ(1, word(&self->rig, 0));
	EXPECT_EQ(-ECANCELED, rig_fence(self->rig.fd, sync));
	expect_runs(&self->other, neighbour);
}

TEST_F(cancel, ended)
{
	int64_t job = start(&self->rig, STORES1, 0, 0);

	ASSERT_LT(0, job);
	expect_ended(&self->rig, job, NEURON_JOB_OK);
	EXPECT_EQ(0, rig_cancel(&self->rig, job));
	expect_ended(&self->rig, job, NEURON_JOB_OK);
}

TEST_F(cancel, bad_arguments)
{
	struct drm_neuron_cancel args = {
		.claim = self->rig.claim,
		.core = self->rig.core,
		.job = 1,
	};

	must_fail(ENOENT, self->rig.fd, CANCEL, &args);
	args.job = 0;
	must_fail(ENOENT, self->rig.fd, CANCEL, &args);
	args.job = ~0ull;
	must_fail(ENOENT, self->rig.fd, CANCEL, &args);
	args.core = self->other.core;
	must_fail(EINVAL, self->rig.fd, CANCEL, &args);
	args.core = ~0u;
	must_fail(EINVAL, self->rig.fd, CANCEL, &args);
	args.core = self->rig.core;
	args.claim++;
	must_fail(ENOENT, self->rig.fd, CANCEL, &args);
}

/* Another file cannot name the job, whatever the numbers are. */
TEST_F(cancel, of_another_file)
{
	int64_t job = start(&self->rig, LOOPS, 0, 0);
	struct drm_neuron_cancel args = {
		.claim = self->rig.claim,
		.core = self->rig.core,
		.job = (uint64_t)job,
	};

	ASSERT_LT(0, job);
	must_fail(ENOENT, self->fd, CANCEL, &args);
	must_fail(EINVAL, self->other.fd, CANCEL, &args);
	expect_runs(&self->rig, job);
}

TEST_F(cancel, waits_for_a_foreign_fence)
{
	int64_t first, second;

	ASSERT_EQ(0, foreign_fence(&self->rig, &self->other, &self->sync,
				   &self->endless));
	first = start(&self->rig, STORES1, self->sync, 0);
	second = start(&self->rig, STORES2, 0, 0);
	ASSERT_LT(0, first);
	ASSERT_LT(0, second);
	expect_runs(&self->rig, first);
	expect_runs(&self->rig, second);
	ASSERT_EQ(0, rig_cancel(&self->rig, first));
	expect_ended(&self->rig, first, NEURON_JOB_ABORTED);
	expect_ended(&self->rig, second, NEURON_JOB_OK);
	EXPECT_EQ(0, word(&self->rig, 0));
	EXPECT_EQ(2, word(&self->rig, 4));
	expect_runs(&self->other, self->endless);
}

/* The job that loops ends well: its branch becomes a halt. */
static void end_loop(struct rig *rig)
{
	rig->map[RIG_IMAGE(LOOPS) + offsetof(struct neuron_inst, op0)] = 0;
	rig->map[RIG_IMAGE(LOOPS)] = NEURON_OP_HALT;
}

/* What the foreign fence held up goes on by itself as well. */
TEST_F(cancel, foreign_fence_that_signals)
{
	int64_t job;

	ASSERT_EQ(0, foreign_fence(&self->rig, &self->other, &self->sync,
				   &self->endless));
	job = start(&self->rig, STORES1, self->sync, 0);
	ASSERT_LT(0, job);
	expect_runs(&self->rig, job);
	end_loop(&self->other);
	expect_ended(&self->other, self->endless, NEURON_JOB_OK);
	expect_ended(&self->rig, job, NEURON_JOB_OK);
	EXPECT_EQ(1, word(&self->rig, 0));
}

/* --- Fences that end with an error --- */

/* What waits for the fence does not run; what waits for that does not run either. */
TEST_F(cancel, fence_that_fails)
{
	int64_t first, second, third;
	uint32_t sync;

	ASSERT_EQ(0, foreign_fence(&self->rig, &self->other, &self->sync,
				   &self->endless));
	ASSERT_EQ(0, rig_syncobj_create(self->rig.fd, &sync));
	first = start(&self->rig, STORES1, self->sync, sync);
	second = start(&self->rig, STORES1, sync, 0);
	third = start(&self->rig, STORES2, 0, 0);
	ASSERT_LT(0, first);
	ASSERT_LT(0, second);
	ASSERT_LT(0, third);
	expect_runs(&self->rig, first);
	ASSERT_EQ(0, rig_cancel(&self->other, self->endless));
	expect_ended(&self->rig, first, NEURON_JOB_ABORTED);
	expect_ended(&self->rig, second, NEURON_JOB_ABORTED);
	expect_ended(&self->rig, third, NEURON_JOB_OK);
	EXPECT_EQ(0, word(&self->rig, 0));
	EXPECT_EQ(2, word(&self->rig, 4));
	EXPECT_EQ(-ECANCELED, rig_fence(self->rig.fd, sync));
}

TEST_F(cancel, fence_that_fails_is_ignored)
{
	struct drm_neuron_sync in = { .flags = DRM_NEURON_SYNC_IGNORE_ERROR };
	int64_t job;

	ASSERT_EQ(0, foreign_fence(&self->rig, &self->other, &in.handle,
				   &self->endless));
	job = start_syncs(&self->rig, STORES1, &in, NULL);
	ASSERT_LT(0, job);
	expect_runs(&self->rig, job);
	ASSERT_EQ(0, rig_cancel(&self->other, self->endless));
	expect_ended(&self->rig, job, NEURON_JOB_OK);
	EXPECT_EQ(1, word(&self->rig, 0));
}

/* The same when the fence has failed before the job is submitted. */
TEST_F(cancel, fence_that_has_failed)
{
	struct drm_neuron_sync in = { 0 };
	int64_t job;

	ASSERT_EQ(0, foreign_fence(&self->rig, &self->other, &in.handle,
				   &self->endless));
	ASSERT_EQ(0, rig_cancel(&self->other, self->endless));
	expect_ended(&self->other, self->endless, NEURON_JOB_ABORTED);
	job = start_syncs(&self->rig, STORES1, &in, NULL);
	ASSERT_LT(0, job);
	expect_ended(&self->rig, job, NEURON_JOB_ABORTED);
	EXPECT_EQ(0, word(&self->rig, 0));
	in.flags = DRM_NEURON_SYNC_IGNORE_ERROR;
	job = start_syncs(&self->rig, STORES1, &in, NULL);
	ASSERT_LT(0, job);
	expect_ended(&self->rig, job, NEURON_JOB_OK);
	EXPECT_EQ(1, word(&self->rig, 0));
}

/* The last point of a timeline, before and after it has failed. */
TEST_F(cancel, point_that_fails)
{
	struct drm_neuron_sync point = { .point = 7 };
	int64_t fails, before, after;

	ASSERT_EQ(0, rig_syncobj_create(self->rig.fd, &point.handle));
	fails = start_syncs(&self->rig, LOOPS, NULL, &point);
	before = start_syncs(&self->rig, STORES1, &point, NULL);
	ASSERT_LT(0, fails);
	ASSERT_LT(0, before);
	expect_runs(&self->rig, before);
	ASSERT_EQ(0, rig_cancel(&self->rig, fails));
	expect_ended(&self->rig, before, NEURON_JOB_ABORTED);
	after = start_syncs(&self->rig, STORES1, &point, NULL);
	ASSERT_LT(0, after);
	expect_ended(&self->rig, after, NEURON_JOB_ABORTED);
	EXPECT_EQ(0, word(&self->rig, 0));
	/* Where a point follows that succeeds, the timeline goes on. */
	point.point = 8;
	ASSERT_LT(0, start_syncs(&self->rig, STORES2, NULL, &point));
	after = start_syncs(&self->rig, STORES1, &point, NULL);
	ASSERT_LT(0, after);
	expect_ended(&self->rig, after, NEURON_JOB_OK);
	EXPECT_EQ(1, word(&self->rig, 0));
}

/* A point has its own error, and not that of the point before it. */
TEST_F(cancel, point_behind_one_that_fails)
{
	int64_t fails, good, on_seven, on_eight;
	struct drm_neuron_sync seven = { .point = 7 };
	struct drm_neuron_sync eight = { .point = 8 };

	ASSERT_EQ(0, rig_syncobj_create(self->rig.fd, &seven.handle));
	eight.handle = seven.handle;
	fails = start_syncs(&self->rig, LOOPS, NULL, &seven);
	good = start_syncs(&self->rig, STORES2, NULL, &eight);
	on_seven = start_syncs(&self->rig, STORES1, &seven, NULL);
	ASSERT_LT(0, fails);
	ASSERT_LT(0, good);
	ASSERT_LT(0, on_seven);
	expect_runs(&self->rig, on_seven);
	ASSERT_EQ(0, rig_cancel(&self->rig, fails));
	expect_ended(&self->rig, on_seven, NEURON_JOB_ABORTED);
	expect_ended(&self->rig, good, NEURON_JOB_OK);
	EXPECT_EQ(0, word(&self->rig, 0));
	on_eight = start_syncs(&self->rig, STORES1, &eight, NULL);
	ASSERT_LT(0, on_eight);
	expect_ended(&self->rig, on_eight, NEURON_JOB_OK);
	EXPECT_EQ(1, word(&self->rig, 0));

	/* DRM has forgotten that the earlier one failed. */
	memset(self->rig.data, 0, 4);
	on_seven = start_syncs(&self->rig, STORES1, &seven, NULL);
	ASSERT_LT(0, on_seven);
	expect_ended(&self->rig, on_seven, NEURON_JOB_OK);
	EXPECT_EQ(1, word(&self->rig, 0));
}

/* Both points have not signalled when somebody begins to wait for the later one. */
TEST_F(cancel, waits_for_a_point_behind_one_that_fails)
{
	struct drm_neuron_sync seven = { .point = 7 };
	struct drm_neuron_sync eight = { .point = 8 };
	int64_t fails, good, on_eight;

	ASSERT_EQ(0, rig_syncobj_create(self->rig.fd, &seven.handle));
	eight.handle = seven.handle;
	fails = start_syncs(&self->rig, LOOPS, NULL, &seven);
	good = start_syncs(&self->rig, STORES2, NULL, &eight);
	on_eight = start_syncs(&self->rig, STORES1, &eight, NULL);
	ASSERT_LT(0, fails);
	ASSERT_LT(0, good);
	ASSERT_LT(0, on_eight);
	expect_runs(&self->rig, on_eight);
	ASSERT_EQ(0, rig_cancel(&self->rig, fails));
	expect_ended(&self->rig, good, NEURON_JOB_OK);
	expect_ended(&self->rig, on_eight, NEURON_JOB_OK);
	EXPECT_EQ(1, word(&self->rig, 0));
	EXPECT_EQ(2, word(&self->rig, 4));
}

/* A job that waits for the point that fails makes the next point fail, too. */
TEST_F(cancel, point_that_builds_on_one_that_fails)
{
	struct drm_neuron_sync seven = { .point = 7 };
	struct drm_neuron_sync eight = { .point = 8 };
	int64_t fails, follows, on_eight;

	ASSERT_EQ(0, rig_syncobj_create(self->rig.fd, &seven.handle));
	eight.handle = seven.handle;
	fails = start_syncs(&self->rig, LOOPS, NULL, &seven);
	follows = start_syncs(&self->rig, STORES2, &seven, &eight);
	on_eight = start_syncs(&self->rig, STORES1, &eight, NULL);
	ASSERT_LT(0, fails);
	ASSERT_LT(0, follows);
	ASSERT_LT(0, on_eight);
	ASSERT_EQ(0, rig_cancel(&self->rig, fails));
	expect_ended(&self->rig, follows, NEURON_JOB_ABORTED);
	expect_ended(&self->rig, on_eight, NEURON_JOB_ABORTED);
	EXPECT_EQ(0, word(&self->rig, 0));
	EXPECT_EQ(0, word(&self->rig, 4));
}

/* --- Other ends --- */

TEST_F(cancel, reset_with_a_foreign_fence)
{
	struct drm_neuron_reset args = {
		.claim = self->rig.claim,
		.core = self->rig.core,
	};
	int64_t job;

	ASSERT_EQ(0, foreign_fence(&self->rig, &self->other, &self->sync,
				   &self->endless));
	job = start(&self->rig, STORES1, self->sync, 0);
	ASSERT_LT(0, job);
	must(self->rig.fd, RESET, &args);
	expect_ended(&self->rig, job, NEURON_JOB_ABORTED);
	expect_runs(&self->other, self->endless);
	job = start(&self->rig, STORES1, 0, 0);
	expect_ended(&self->rig, job, NEURON_JOB_OK);
}

/* Nothing of a claim waits for others once it is given back. */
TEST_F(cancel, release_with_a_foreign_fence)
{
	struct rig_usage before, now;
	unsigned int i;

	ASSERT_EQ(0, foreign_fence(&self->rig, &self->other, &self->sync,
				   &self->endless));
	rig_usage(self->fd, &before);
	for (i = 0; i < 20; i++)
		ASSERT_LT(0, start(&self->rig, STORES1, self->sync, 0));
	rig_usage(self->fd, &now);
	EXPECT_EQ(before.live + 20, now.live);
	ASSERT_EQ(0, rig_release(self->rig.fd, self->rig.claim));
	/* The window table of the claim is gone, too. */
	before.live--;
	EXPECT_FALSE(rig_leaks(self->fd, &before));
	expect_runs(&self->other, self->endless);
}

/* Whoever comes first: the job ends once, and the next one runs. */
TEST_F(cancel, races_with_the_end)
{
	struct drm_neuron_wait_job result;
	unsigned int i;
	int64_t job;

	for (i = 0; i < 100; i++) {
		job = start(&self->rig, STORES1, 0, 0);
		ASSERT_LT(0, job);
		if (i % 3)
			usleep(i * 7);
		ASSERT_EQ(0, rig_cancel(&self->rig, job));
		ASSERT_EQ(0, rig_wait(&self->rig, job, LIMIT, &result));
		EXPECT_TRUE(result.status == NEURON_JOB_OK ||
			    result.status == NEURON_JOB_ABORTED);
	}
	job = start(&self->rig, STORES2, 0, 0);
	expect_ended(&self->rig, job, NEURON_JOB_OK);
}

TEST_HARNESS_MAIN
