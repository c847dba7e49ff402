// SPDX-License-Identifier: MIT
/*
 * Windows that come with the submission: with the job, or not at all.
 */
#include <unistd.h>

#include "job_rig.h"
#include "kselftest_harness.h"
#include "neuron_test.h"

#define LIMIT	20000	/* ms, of jobs that should end at once */

/* The window that the programs store to. */
#define TARGET	(RIG_WINDOW_FREE + 1)

FIXTURE(with) {
	struct rig rig;
	struct rig_usage before;
	int fd;
};

/* Store @value at the start of TARGET, and end. */
static void emit_store(struct rig *rig, uint32_t value)
{
	struct neuron_inst *inst;

	inst = rig_emit(rig, NEURON_ENGINE_SYNC, NEURON_OP_REG_SET);
	inst->reg[0] = 1;
	inst->imm0 = value;
	inst = rig_emit(rig, NEURON_ENGINE_SYNC, NEURON_OP_REG_STORE);
	inst->reg[0] = 1;
	inst->addr = neuron_window_addr(TARGET, 0);
	rig_halt(rig, NEURON_ENGINE_SYNC);
}

FIXTURE_SETUP(with)
{
	self->fd = neuron_open(0);
	if (self->fd < 0)
		SKIP(return, "no neuron device");
	rig_usage(self->fd, &self->before);
	ASSERT_GE(self->before.live, 0) TH_LOG("debugfs must be mounted");
	ASSERT_EQ(0, rig_open(&self->rig, 0, 0));
	emit_store(&self->rig, 7);
	rig_loop(&self->rig, NEURON_ENGINE_VECTOR, 0);
}

FIXTURE_TEARDOWN(with)
{
	rig_close(&self->rig);
	if (self->fd < 0)
		return;
	EXPECT_FALSE(rig_leaks(self->fd, &self->before));
	close(self->fd);
}

/* TARGET shows the data half from @offset. */
static struct drm_neuron_window target(const struct rig *rig, uint64_t offset)
{
	return (struct drm_neuron_window){
		.index = TARGET,
		.kind = DRM_NEURON_WINDOW_BO,
		.rights = DRM_NEURON_WINDOW_WRITE,
		.handle = rig->bo,
		.offset = RIG_HALF + offset,
		.length = 4,
	};
}

static void prepare(struct rig *rig, struct rig_submit *submit,
		    const struct drm_neuron_window *windows, uint32_t count)
{
	rig_prepare_engine(rig, submit, NEURON_ENGINE_SYNC);
	submit->job.windows = (struct drm_neuron_array){
		sizeof(*windows), count, (uintptr_t)windows,
	};
}

static uint32_t word(const struct rig *rig, unsigned int offset)
{
	uint32_t value;

	memcpy(&value, rig->data + offset, sizeof(value));
	return value;
}

#define expect_cause(rig, submit, why) do { \
	struct drm_neuron_wait_job result_; \
	ASSERT_EQ(0, rig_submit(rig, submit)); \
	ASSERT_EQ(0, rig_wait(rig, (submit)->call.job, LIMIT, &result_)); \
	EXPECT_EQ(why, result_.cause); \
	EXPECT_EQ((why) ? NEURON_JOB_ERROR : NEURON_JOB_OK, \
		  result_.status); \
} while (0)

TEST_F(with, the_job_sees_them)
{
	struct drm_neuron_window window = target(&self->rig, 64);
	struct rig_submit submit;

	prepare(&self->rig, &submit, &window, 1);
	expect_cause(&self->rig, &submit, NEURON_CAUSE_NONE);
	EXPECT_EQ(7, word(&self->rig, 64));

	/* They stay, like those of the WINDOWS ioctl. */
	memset(self->rig.data + 64, 0, 4);
	prepare(&self->rig, &submit, NULL, 0);
	expect_cause(&self->rig, &submit, NEURON_CAUSE_NONE);
	EXPECT_EQ(7, word(&self->rig, 64));

	window = (struct drm_neuron_window){
		.index = TARGET,
	};
	prepare(&self->rig, &submit, &window, 1);
	expect_cause(&self->rig, &submit, NEURON_CAUSE_WINDOW);
}

/* Each job of a queue has the windows that it came with. */
TEST_F(with, a_version_for_each_job)
{
	struct rig_submit endless, submit[8];
	struct drm_neuron_window window;
	struct drm_neuron_wait_job result;
	unsigned int i;

	rig_prepare_engine(&self->rig, &endless, NEURON_ENGINE_VECTOR);
	endless.job.timeout_ms = 60000;
	ASSERT_EQ(0, rig_submit(&self->rig, &endless));
	for (i = 0; i < 8; i++) {
		window = target(&self->rig, 4 * i);
		prepare(&self->rig, &submit[i], &window, 1);
		ASSERT_EQ(0, rig_submit(&self->rig, &submit[i]));
	}
	ASSERT_EQ(0, rig_cancel(&self->rig, endless.call.job));
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(0, rig_wait(&self->rig, submit[i].call.job, LIMIT,
				      &result));
		EXPECT_EQ(NEURON_JOB_OK, result.status);
		EXPECT_EQ(7, word(&self->rig, 4 * i));
	}
	EXPECT_EQ(0, word(&self->rig, 4 * i));
}

/* Unchanged windows cost no new table. */
TEST_F(with, the_same_again)
{
	struct drm_neuron_window window = target(&self->rig, 0);
	struct rig_submit endless, submit;
	struct rig_usage before, after;
	unsigned int i;

	prepare(&self->rig, &submit, &window, 1);
	expect_cause(&self->rig, &submit, NEURON_CAUSE_NONE);
	rig_prepare_engine(&self->rig, &endless, NEURON_ENGINE_VECTOR);
	endless.job.timeout_ms = 60000;
	ASSERT_EQ(0, rig_submit(&self->rig, &endless));
	/* The job before it is freed some time after its end. */
	rig_usage(self->fd, &after);
	do {
		before = after;
		usleep(50000);
		rig_usage(self->fd, &after);
	} while (before.live != after.live);
	for (i = 0; i < 8; i++) {
		prepare(&self->rig, &submit, &window, 1);
		ASSERT_EQ(0, rig_submit(&self->rig, &submit));
	}
	rig_usage(self->fd, &after);
	EXPECT_EQ(before.live + 8, after.live);
	ASSERT_EQ(0, rig_cancel(&self->rig, endless.call.job));
	ASSERT_EQ(0, rig_wait(&self->rig, submit.call.job, LIMIT, NULL));
}

/* @error: what a submission with @change to it ends in; nothing has changed. */
#define expect_refused(error, change) do { \
	struct drm_neuron_window good_[2] = { \
		target(&self->rig, 0), target(&self->rig, 4), \
	}; \
	struct drm_neuron_window *w = good_; \
	struct rig_submit submit_, *s = &submit_; \
	prepare(&self->rig, s, good_, 2); \
	change; \
	(void)w; \
	EXPECT_EQ(-(error), rig_submit(&self->rig, s)) TH_LOG(#change); \
	prepare(&self->rig, s, NULL, 0); \
	expect_cause(&self->rig, s, NEURON_CAUSE_WINDOW); \
} while (0)

TEST_F(with, all_or_nothing)
{
	struct drm_neuron_sync sync = { .handle = 12345 };
	struct drm_neuron_queue queue = { .dma_engine = 16 };
	const struct drm_neuron_array none = {
		sizeof(sync), 1, (uintptr_t)&sync,
	};
	const struct drm_neuron_array bad_queue = {
		sizeof(queue), 1, (uintptr_t)&queue,
	};

	expect_refused(EINVAL, w[1].index = NEURON_MAX_WINDOWS);
	expect_refused(EINVAL, w[1].kind = 99);
	expect_refused(EINVAL, w[1].length = 0);
	expect_refused(EINVAL, w[1].source = 1);
	expect_refused(ENOENT, w[1].handle = 12345);
	expect_refused(EINVAL, s->job.windows.stride--);
	expect_refused(EINVAL, s->job.windows.count = NEURON_MAX_WINDOWS + 1);
	expect_refused(EFAULT, s->job.windows.pointer = 8);
	expect_refused(EINVAL, s->call.flags = 2);
	expect_refused(EINVAL, s->job.notify_size = 63);
	expect_refused(EINVAL, s->job.starts.count = 9);
	expect_refused(EINVAL, s->job.sem_clear.count = RIG_SEM_WORDS + 1);
	expect_refused(ENOENT, s->call.in_syncs = none);
	expect_refused(ENOENT, s->call.out_syncs = none);
	expect_refused(EINVAL, s->job.queues = bad_queue);
	expect_refused(ENOENT, s->call.claim++);
	expect_refused(EINVAL, s->job.core++);
}

/* The claim has the whole core, its events too. */
TEST_F(with, events)
{
	struct drm_neuron_wait_job result;
	struct neuron_inst *inst;

	rig_clear(&self->rig);
	inst = rig_emit(&self->rig, NEURON_ENGINE_SYNC, NEURON_OP_EVENT_WAIT);
	inst->imm0 = 255;
	rig_store(&self->rig, NEURON_ENGINE_SYNC, 0, 3);
	rig_halt(&self->rig, NEURON_ENGINE_SYNC);
	inst = rig_emit(&self->rig, NEURON_ENGINE_VECTOR, NEURON_OP_EVENT_SET);
	inst->imm0 = 255;
	rig_halt(&self->rig, NEURON_ENGINE_VECTOR);
	ASSERT_EQ(0, rig_run(&self->rig, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	EXPECT_EQ(NEURON_CAUSE_NONE, result.cause);
	EXPECT_EQ(3, word(&self->rig, 0));
}

TEST_HARNESS_MAIN
