// SPDX-License-Identifier: MIT
/*
 * CC-cores: they come with the claim of their core and run jobs beside it.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "job_rig.h"
#include "kselftest_harness.h"
#include "neuron_test.h"

#define LIMIT	20000	/* ms, of jobs that should end at once */
#define SYNC	NEURON_ENGINE_SYNC
#define GO	3	/* semaphore of the CC-core */
#define DONE	4	/* semaphore of the core */
#define POST	RIG_WINDOW_FREE		/* window on somebody else's semaphores */

FIXTURE(cc) {
	struct rig core;
	struct rig cc;
};

FIXTURE_SETUP(cc)
{
	int ret = rig_open(&self->core, 0, RIG_ANY_CORE);

	if (ret == -ENODEV)
		SKIP(return, "no neuron device");
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, rig_open_cc(&self->cc, &self->core, 1));
}

FIXTURE_TEARDOWN(cc)
{
	rig_close(&self->cc);
	rig_close(&self->core);
}

static void take(struct rig *rig, uint16_t sem)
{
	struct neuron_inst *inst = rig_emit(rig, SYNC, NEURON_OP_NOP);

	inst->sync = NEURON_PUT(NEURON_SYNC_WAIT, NEURON_SYNC_WAIT_GE) | NEURON_SYNC_TAKE;
	inst->wait_sem = sem;
	inst->wait_value = 1;
}

/* Add 1 to the semaphore that window @window shows at its begin. */
static void post(struct rig *rig, uint32_t window)
{
	struct neuron_inst *inst = rig_emit(rig, SYNC, NEURON_OP_REG_SET);

	inst->reg[0] = 1;
	inst->imm0 = 1;
	inst = rig_emit(rig, SYNC, NEURON_OP_REG_STORE);
	inst->reg[0] = 1;
	inst->addr = neuron_window_addr(window, 0);
}

static int grant(struct rig *rig, uint32_t sem, uint32_t flags)
{
	struct drm_neuron_grant args = {
		.claim = rig->claim,
		.core = rig->core,
		.first = flags ? 0 : sem,
		.count = flags ? 4096 : 1,
		.flags = flags,
	};
	int ret = neuron_ioctl(rig->fd, DRM_IOCTL_NEURON_GRANT, &args);

	return ret ? ret : args.fd;
}

/* Window POST of @rig shows semaphore @sem of @target. */
static int may_post(struct rig *rig, struct rig *target, uint32_t sem)
{
	struct drm_neuron_window window = {
		.index = POST,
		.kind = DRM_NEURON_WINDOW_SEM,
		.rights = DRM_NEURON_WINDOW_WRITE,
		.length = 4,
	};
	int fd = grant(target, sem, 0);
	int ret;

	if (fd < 0)
		return fd;
	window.from = DRM_NEURON_FROM_GRANT_FD;
	window.source = fd;
	ret = rig_windows(rig, &window, 1);
	close(fd);
	return ret;
}

TEST_F(cc, every_one_runs_a_job)
{
	struct drm_neuron_core_info info[32];
	struct drm_neuron_wait_job result;
	struct rig cc;
	uint32_t n;

	ASSERT_GE(32, neuron_query_count(self->core.fd, DRM_NEURON_QUERY_CC_CORES));
	for (n = 0; !rig_open_cc(&cc, &self->core, n); n++) {
		rig_clear(&cc);
		rig_store(&cc, SYNC, 8, 0x1000 + n);
		rig_halt(&cc, SYNC);
		EXPECT_EQ(0, rig_run(&cc, LIMIT, &result));
		EXPECT_EQ(NEURON_JOB_OK, result.status);
		EXPECT_EQ(3, result.instructions);
		EXPECT_EQ(0, memcmp(cc.data + 8, &(uint32_t){ 0x1000 + n }, 4));
		ASSERT_EQ(0, neuron_query(cc.fd, DRM_NEURON_QUERY_CC_CORES, info,
					  sizeof(info)));
		EXPECT_LE(1, info[cc.core - cc.first_cc].jobs);
		EXPECT_EQ(getpid(), (pid_t)info[cc.core - cc.first_cc].owner_pid);
		rig_close(&cc);
	}
	/* Two of Trainium2 and 3, three of Trainium1; the next one is another core's. */
	EXPECT_LE(2, n);
	EXPECT_GE(3, n);
}

/* The core says go, the CC-core moves what is in SBUF and says so. */
TEST_F(cc, core_and_cc_core_tell_each_other)
{
	struct rig *core = &self->core, *cc = &self->cc;
	struct rig_submit submit;
	struct drm_neuron_queue queue;
	struct drm_neuron_wait_job result;
	struct neuron_inst *inst;

	ASSERT_EQ(0, may_post(core, cc, GO));
	ASSERT_EQ(0, may_post(cc, core, DONE));
	rig_clear(core);
	inst = rig_emit(core, SYNC, NEURON_OP_REG_SET);
	inst->reg[0] = 2;
	inst->imm0 = 0xabcd;
	inst = rig_emit(core, SYNC, NEURON_OP_REG_STORE);
	inst->reg[0] = 2;
	inst->addr = neuron_window_addr(RIG_WINDOW_SBUF, 64);
	post(core, POST);
	take(core, DONE);
	rig_halt(core, SYNC);

	rig_clear(cc);
	take(cc, GO);
	/* The post follows the data on the same queue. */
	memcpy(cc->data + 128, &(uint32_t){ 1 }, 4);
	rig_copy(cc, SYNC, neuron_window_addr(RIG_WINDOW_DATA, 0),
		 neuron_window_addr(RIG_WINDOW_SBUF, 64), 4);
	rig_copy(cc, SYNC, neuron_window_addr(POST, 0),
		 neuron_window_addr(RIG_WINDOW_DATA, 128), 4);
	rig_halt(cc, SYNC);
	rig_prepare(cc, &submit, &queue);
	ASSERT_EQ(0, rig_submit(cc, &submit));
	ASSERT_EQ(0, rig_run(core, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	ASSERT_EQ(0, rig_wait(cc, submit.call.job, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	EXPECT_EQ(8, result.dma_bytes);
	EXPECT_EQ(0, memcmp(cc->data, &(uint32_t){ 0xabcd }, 4));
}

/* And with one of another chip. */
TEST_F(cc, over_the_fabric)
{
	struct drm_neuron_wait_job result;
	struct rig core, cc;
	int64_t job;

	if (rig_open(&core, 1, RIG_ANY_CORE))
		SKIP(return, "one chip");
	ASSERT_EQ(0, rig_open_cc(&cc, &core, 0));
	ASSERT_EQ(0, may_post(&self->cc, &cc, GO));
	rig_clear(&cc);
	take(&cc, GO);
	rig_halt(&cc, SYNC);
	job = rig_start(&cc, LIMIT);
	ASSERT_LT(0, job);
	rig_clear(&self->cc);
	post(&self->cc, POST);
	rig_halt(&self->cc, SYNC);
	ASSERT_EQ(0, rig_run(&self->cc, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	ASSERT_EQ(0, rig_wait(&cc, (uint64_t)job, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	rig_close(&cc);
	rig_close(&core);
}

TEST_F(cc, what_it_does_not_have_is_refused)
{
	struct drm_neuron_post_entry entry = { .counter = 0, .add = 1 };
	struct drm_neuron_post counters = {
		.claim = self->cc.claim,
		.core = self->cc.core,
		.entries = { sizeof(entry), 1, (uintptr_t)&entry },
	};
	struct rig other = self->core;
	struct rig beyond = self->core;
	struct rig unused;

	rig_clear(&self->cc);
	rig_halt(&self->cc, NEURON_ENGINE_VECTOR);
	EXPECT_EQ(-EINVAL, rig_start(&self->cc, LIMIT));
	EXPECT_EQ(-EINVAL, grant(&self->cc, 0, DRM_NEURON_GRANT_SBUF_READ));
	EXPECT_EQ(-EINVAL, neuron_ioctl(self->cc.fd, DRM_IOCTL_NEURON_POST, &counters));
	/* One of a core that is not claimed, and none at all. */
	other.core = self->cc.first_cc + (self->core.core ? 0 : 5);
	EXPECT_EQ(-EINVAL, rig_bind(&other));
	beyond.core = self->cc.first_cc + 16;
	EXPECT_EQ(-EINVAL, rig_bind(&beyond));
	beyond.core = 0xffffffff;
	EXPECT_EQ(-EINVAL, rig_bind(&beyond));
	/* One without jobs has none to wait for. */
	unused = self->cc;
	unused.core--;
	EXPECT_EQ(-ENOENT, rig_wait(&unused, 1, 0, NULL));
}

/* Its core is not disturbed, and it goes on. */
TEST_F(cc, a_hang_is_its_own)
{
	struct rig *core = &self->core, *cc = &self->cc;
	struct drm_neuron_wait_job result;
	int64_t hang, waits;

	ASSERT_EQ(0, may_post(cc, core, DONE));
	rig_clear(core);
	take(core, DONE);
	rig_halt(core, SYNC);
	waits = rig_start(core, 10 * LIMIT);
	ASSERT_LT(0, waits);
	rig_clear(cc);
	take(cc, GO);
	rig_halt(cc, SYNC);
	hang = rig_start(cc, 300);
	ASSERT_LT(0, hang);
	ASSERT_EQ(0, rig_wait(cc, (uint64_t)hang, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_ABORTED, result.status);
	EXPECT_TRUE(result.flags & DRM_NEURON_JOB_HANG);
	rig_clear(cc);
	post(cc, POST);
	rig_halt(cc, SYNC);
	ASSERT_EQ(0, rig_run(cc, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	ASSERT_EQ(0, rig_wait(core, (uint64_t)waits, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
}

/* A queue has one job at a time; the first one is not disturbed. */
TEST_F(cc, a_queue_is_not_shared)
{
	struct rig *core = &self->core, *cc = &self->cc;
	const uint64_t data = neuron_window_addr(RIG_WINDOW_DATA, 0);
	struct rig_submit first;
	struct drm_neuron_queue queue;
	struct drm_neuron_wait_job result;

	ASSERT_EQ(0, may_post(core, cc, GO));
	rig_clear(cc);
	rig_store(cc, SYNC, 256, 1);
	take(cc, GO);
	rig_copy(cc, SYNC, data + 64, data, 4);
	rig_halt(cc, SYNC);
	rig_prepare(cc, &first, &queue);
	queue.queue = 0;
	first.job.timeout_ms = LIMIT;
	ASSERT_EQ(0, rig_submit(cc, &first));
	/* It has the queue from its start on. */
	while (!((volatile uint8_t *)cc->data)[256])
		usleep(1000);
	rig_clear(core);
	rig_copy(core, SYNC, data + 64, data, 4);
	rig_halt(core, SYNC);
	ASSERT_EQ(0, rig_run(core, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_ERROR, result.status);
	EXPECT_EQ(NEURON_CAUSE_QUEUE, result.cause);
	EXPECT_EQ(NEURON_SOURCE_JOB, result.source);
	rig_clear(core);
	post(core, POST);
	rig_halt(core, SYNC);
	ASSERT_EQ(0, rig_run(core, LIMIT, &result));
	ASSERT_EQ(0, rig_wait(cc, first.call.job, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
}

/* What one owner left in its semaphores the next one does not see. */
TEST_F(cc, it_is_scrubbed_for_the_next_owner)
{
	const uint32_t core = self->core.core;
	struct rig_submit submit;
	struct drm_neuron_queue none;
	struct drm_neuron_wait_job result;
	struct neuron_inst *inst;

	rig_clear(&self->cc);
	post(&self->cc, RIG_WINDOW_SEM);
	rig_halt(&self->cc, SYNC);
	ASSERT_EQ(0, rig_run(&self->cc, LIMIT, &result));
	rig_close(&self->cc);
	rig_close(&self->core);
	ASSERT_EQ(0, rig_open(&self->core, 0, core));
	ASSERT_EQ(0, rig_open_cc(&self->cc, &self->core, 1));
	rig_clear(&self->cc);
	inst = rig_emit(&self->cc, SYNC, NEURON_OP_REG_LOAD);
	inst->reg[0] = 5;
	inst->addr = neuron_window_addr(RIG_WINDOW_SEM, 0);
	inst = rig_emit(&self->cc, SYNC, NEURON_OP_REG_STORE);
	inst->reg[0] = 5;
	inst->addr = neuron_window_addr(RIG_WINDOW_DATA, 0);
	rig_halt(&self->cc, SYNC);
	memset(self->cc.data, 0xff, 4);
	rig_prepare(&self->cc, &submit, &none);
	submit.job.sem_clear.count = 0;
	ASSERT_EQ(0, rig_submit(&self->cc, &submit));
	ASSERT_EQ(0, rig_wait(&self->cc, submit.call.job, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	EXPECT_EQ(0, memcmp(self->cc.data, &(uint32_t){ 0 }, 4));
}

/* The end of the claim ends its job and loses nothing. */
TEST_F(cc, a_release_ends_its_job)
{
	struct rig_usage usage;
	struct rig cc;
	int fd = neuron_open(0);

	ASSERT_LE(0, fd);
	rig_close(&self->cc);
	ASSERT_EQ(0, rig_open_cc(&cc, &self->core, 0));
	rig_clear(&cc);
	rig_loop(&cc, SYNC, 0);
	ASSERT_LT(0, rig_start(&cc, 10 * LIMIT));
	rig_close(&cc);
	ASSERT_EQ(0, rig_release(self->core.fd, self->core.claim));
	rig_close(&self->core);
	rig_usage(fd, &usage);
	EXPECT_EQ(0, usage.live);
	close(fd);
}

TEST_HARNESS_MAIN
