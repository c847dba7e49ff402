// SPDX-License-Identifier: MIT
/*
 * Jobs that run: programs, DMA, semaphores, fences, results, window versions.
 */
#include <time.h>
#include <unistd.h>

#include "job_rig.h"
#include "kselftest_harness.h"
#include "neuron_test.h"

#define LIMIT	5000	/* ms, of jobs that should end at once */
#define DAY_MS	86400000

FIXTURE(job) {
	struct rig rig;
	struct rig_usage before;
	int fd;
};

FIXTURE_SETUP(job)
{
	self->fd = neuron_open(0);
	if (self->fd < 0)
		SKIP(return, "no neuron device");
	rig_usage(self->fd, &self->before);
	ASSERT_GE(self->before.live, 0) TH_LOG("debugfs must be mounted");
	ASSERT_GE(self->before.hbm, 0);
	ASSERT_EQ(0, rig_open(&self->rig, 0, 0));
}

FIXTURE_TEARDOWN(job)
{
	rig_close(&self->rig);
	if (self->fd < 0)
		return;
	EXPECT_FALSE(rig_leaks(self->fd, &self->before));
	close(self->fd);
}

static uint32_t data_word(const struct rig *rig, unsigned int offset)
{
	uint32_t word;

	memcpy(&word, rig->data + offset, sizeof(word));
	return word;
}

TEST_F(job, empty)
{
	struct drm_neuron_wait_job result;
	struct timespec before, after;

	rig_halt(&self->rig, NEURON_ENGINE_SYNC);
	clock_gettime(CLOCK_MONOTONIC, &before);
	ASSERT_EQ(0, rig_run(&self->rig, LIMIT, &result));
	clock_gettime(CLOCK_MONOTONIC, &after);
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	EXPECT_EQ(NEURON_CAUSE_NONE, result.cause);
	EXPECT_FALSE(result.flags & DRM_NEURON_JOB_HANG);
	EXPECT_EQ(0, result.error);
	EXPECT_EQ(1, result.instructions);
	EXPECT_EQ(0, result.dma_bytes);
	EXPECT_GT(result.wall_ns, 0);
	EXPECT_LE(before.tv_sec * 1000000000ull + before.tv_nsec,
		  result.doorbell_ns);
	EXPECT_LE(result.doorbell_ns + result.wall_ns,
		  after.tv_sec * 1000000000ull + after.tv_nsec);
}

TEST_F(job, no_engine)
{
	struct drm_neuron_wait_job result;

	ASSERT_EQ(0, rig_run(&self->rig, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	EXPECT_EQ(0, result.instructions);
}

TEST_F(job, every_engine_stores)
{
	struct drm_neuron_wait_job result;
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		rig_store(&self->rig, e, 4 * e, 0x1000 + e);
		rig_halt(&self->rig, e);
	}
	ASSERT_EQ(0, rig_run(&self->rig, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	EXPECT_EQ(3 * NEURON_NR_ENGINES, result.instructions);
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		EXPECT_EQ(0x1000 + e, data_word(&self->rig, 4 * e));
}

TEST_F(job, dma_copy)
{
	const uint32_t size = 20001;	/* no power of anything */
	struct drm_neuron_wait_job result;
	const uint8_t *to = self->rig.data + 0x20003;

	neuron_fill(self->rig.data, size, 1);
	rig_copy(&self->rig, NEURON_ENGINE_GPSIMD,
		 neuron_window_addr(RIG_WINDOW_DATA, 0x20003),
		 neuron_window_addr(RIG_WINDOW_DATA, 0), size);
	rig_halt(&self->rig, NEURON_ENGINE_GPSIMD);
	ASSERT_EQ(0, rig_run(&self->rig, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	EXPECT_EQ(size, result.dma_bytes);
	EXPECT_EQ(size, neuron_differs(to, size, 1));
	EXPECT_EQ(0, to[-1]);
	EXPECT_EQ(0, to[size]);
}

/* Through the core's own memory and back; each job finds its queue rewound. */
TEST_F(job, dma_by_sbuf)
{
	struct drm_neuron_wait_job result;
	unsigned int i;

	neuron_fill(self->rig.data, 4096, 2);
	rig_copy(&self->rig, NEURON_ENGINE_SYNC,
		 neuron_window_addr(RIG_WINDOW_SBUF, 0),
		 neuron_window_addr(RIG_WINDOW_DATA, 0), 4096);
	rig_copy(&self->rig, NEURON_ENGINE_SYNC,
		 neuron_window_addr(RIG_WINDOW_DATA, 8192),
		 neuron_window_addr(RIG_WINDOW_SBUF, 0), 4096);
	rig_halt(&self->rig, NEURON_ENGINE_SYNC);
	for (i = 0; i < 3; i++) {
		memset(self->rig.data + 8192, 0, 4096);
		ASSERT_EQ(0, rig_run(&self->rig, LIMIT, &result));
		EXPECT_EQ(NEURON_JOB_OK, result.status);
		EXPECT_EQ(8192, result.dma_bytes);
		EXPECT_EQ(4096, neuron_differs(self->rig.data + 8192, 4096, 2));
	}
}

/* A buffer of host memory, possibly in many pieces, as a window. */
TEST_F(job, dma_from_host_buffer)
{
	const uint32_t size = 3 * 65536;
	struct drm_neuron_window window = {
		.index = RIG_WINDOW_FREE,
		.kind = DRM_NEURON_WINDOW_BO,
		.rights = DRM_NEURON_WINDOW_READ,
		.length = size,
	};
	struct drm_neuron_bo_create bo;
	struct drm_neuron_wait_job result;
	uint8_t *host;

	ASSERT_EQ(0, neuron_bo_create(self->rig.fd, DRM_NEURON_BO_HOST, 0, size,
				      &bo));
	host = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
		    self->rig.fd, (off_t)bo.mmap_offset);
	ASSERT_NE(MAP_FAILED, (void *)host);
	neuron_fill(host, size, 3);
	munmap(host, size);
	window.handle = bo.handle;
	ASSERT_EQ(0, rig_windows(&self->rig, &window, 1));
	rig_copy(&self->rig, NEURON_ENGINE_SYNC,
		 neuron_window_addr(RIG_WINDOW_DATA, 0),
		 neuron_window_addr(RIG_WINDOW_FREE, 0), 60000);
	rig_copy(&self->rig, NEURON_ENGINE_SYNC,
		 neuron_window_addr(RIG_WINDOW_DATA, 60000),
		 neuron_window_addr(RIG_WINDOW_FREE, 60000), 60000);
	rig_copy(&self->rig, NEURON_ENGINE_SYNC,
		 neuron_window_addr(RIG_WINDOW_DATA, 120000),
		 neuron_window_addr(RIG_WINDOW_FREE, 120000), 60000);
	rig_halt(&self->rig, NEURON_ENGINE_SYNC);
	ASSERT_EQ(0, rig_run(&self->rig, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	EXPECT_EQ(180000, neuron_differs(self->rig.data, 180000, 3));
}

TEST_F(job, semaphores_between_engines)
{
	struct drm_neuron_wait_job result;
	struct neuron_inst *inst;

	/* Scalar waits for two posts of vector, then stores and posts back. */
	inst = rig_emit(&self->rig, NEURON_ENGINE_SCALAR, NEURON_OP_NOP);
	inst->sync = NEURON_PUT(NEURON_SYNC_WAIT, NEURON_SYNC_WAIT_EQ) |
		     NEURON_SYNC_TAKE;
	inst->wait_sem = 200;
	inst->wait_value = 7;
	rig_store(&self->rig, NEURON_ENGINE_SCALAR, 0, 1);
	inst = rig_emit(&self->rig, NEURON_ENGINE_SCALAR, NEURON_OP_NOP);
	inst->sync = NEURON_PUT(NEURON_SYNC_POST, NEURON_SYNC_POST_SET);
	inst->post_sem = 201;
	inst->post_value = 1;
	rig_halt(&self->rig, NEURON_ENGINE_SCALAR);

	inst = rig_emit(&self->rig, NEURON_ENGINE_VECTOR, NEURON_OP_NOP);
	inst->sync = NEURON_PUT(NEURON_SYNC_POST, NEURON_SYNC_POST_ADD);
	inst->post_sem = 200;
	inst->post_value = 3;
	inst = rig_emit(&self->rig, NEURON_ENGINE_VECTOR, NEURON_OP_NOP);
	inst->sync = NEURON_PUT(NEURON_SYNC_POST, NEURON_SYNC_POST_ADD);
	inst->post_sem = 200;
	inst->post_value = 4;
	inst = rig_emit(&self->rig, NEURON_ENGINE_VECTOR, NEURON_OP_NOP);
	inst->sync = NEURON_PUT(NEURON_SYNC_WAIT, NEURON_SYNC_WAIT_GE);
	inst->wait_sem = 201;
	inst->wait_value = 1;
	/* The semaphore was taken: it reads as zero. */
	inst = rig_emit(&self->rig, NEURON_ENGINE_VECTOR, NEURON_OP_REG_LOAD);
	inst->reg[0] = 1;
	inst->addr = neuron_window_addr(RIG_WINDOW_SEM, 4 * 200);
	inst = rig_emit(&self->rig, NEURON_ENGINE_VECTOR, NEURON_OP_REG_STORE);
	inst->reg[0] = 1;
	inst->addr = neuron_window_addr(RIG_WINDOW_DATA, 4);
	rig_halt(&self->rig, NEURON_ENGINE_VECTOR);

	memset(self->rig.data, 0xee, 8);
	ASSERT_EQ(0, rig_run(&self->rig, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	EXPECT_EQ(1, data_word(&self->rig, 0));
	EXPECT_EQ(0, data_word(&self->rig, 4));
}

/* Five notifications in a stream of four: the first one is overwritten. */
TEST_F(job, notifications)
{
	const struct neuron_hw_notify *entry = (const void *)self->rig.data;
	struct rig_submit submit;
	struct drm_neuron_wait_job result;
	struct drm_neuron_queue queue;
	unsigned int i;

	for (i = 0; i < 5; i++)
		rig_emit(&self->rig, NEURON_ENGINE_SCALAR,
			 NEURON_OP_NOTIFY)->imm0 = 100 + i;
	rig_halt(&self->rig, NEURON_ENGINE_SCALAR);
	rig_prepare(&self->rig, &submit, &queue);
	submit.job.notify_addr = neuron_window_addr(RIG_WINDOW_DATA, 0);
	submit.job.notify_size = 64;
	ASSERT_EQ(0, rig_submit(&self->rig, &submit));
	ASSERT_EQ(0, rig_wait(&self->rig, submit.call.job, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	EXPECT_EQ(104, entry[0].tag);
	EXPECT_EQ(NEURON_ENGINE_SCALAR << 24 | 4, entry[0].source);
	for (i = 1; i < 4; i++) {
		EXPECT_EQ(100 + i, entry[i].tag);
		EXPECT_EQ(1u << 31 | NEURON_ENGINE_SCALAR << 24 | i,
			  entry[i].source);
	}
	EXPECT_EQ(0, data_word(&self->rig, 64));
}

/* What the program reads is what the submission says. */
TEST_F(job, rank)
{
	static const uint32_t ranks[] = { 0, 7, 0xffffffff };
	struct drm_neuron_wait_job result;
	struct drm_neuron_queue queue;
	struct rig_submit submit;
	struct neuron_inst *inst;
	unsigned int i;

	rig_emit(&self->rig, NEURON_ENGINE_SYNC, NEURON_OP_REG_RANK)->reg[0] = 1;
	inst = rig_emit(&self->rig, NEURON_ENGINE_SYNC, NEURON_OP_REG_STORE);
	inst->reg[0] = 1;
	inst->addr = neuron_window_addr(RIG_WINDOW_DATA, 0);
	rig_halt(&self->rig, NEURON_ENGINE_SYNC);
	for (i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
		rig_prepare(&self->rig, &submit, &queue);
		submit.job.rank = ranks[i];
		ASSERT_EQ(0, rig_submit(&self->rig, &submit));
		ASSERT_EQ(0, rig_wait(&self->rig, submit.call.job, LIMIT, &result));
		EXPECT_EQ(NEURON_JOB_OK, result.status);
		EXPECT_EQ(ranks[i], data_word(&self->rig, 0));
	}
}

TEST_F(job, in_order_and_counted)
{
	struct drm_neuron_wait_job result;
	struct neuron_inst *inst;
	int64_t job = 0, last = 0;
	unsigned int i;

	/* data[0] += 1 */
	inst = rig_emit(&self->rig, NEURON_ENGINE_SYNC, NEURON_OP_REG_LOAD);
	inst->reg[0] = 1;
	inst->addr = neuron_window_addr(RIG_WINDOW_DATA, 0);
	inst = rig_emit(&self->rig, NEURON_ENGINE_SYNC, NEURON_OP_REG_ALU);
	inst->op0 = NEURON_ALU_ADD;
	inst->flags = NEURON_INST_IMM;
	inst->reg[0] = 1;
	inst->reg[1] = 1;
	inst->imm0 = 1;
	inst = rig_emit(&self->rig, NEURON_ENGINE_SYNC, NEURON_OP_REG_STORE);
	inst->reg[0] = 1;
	inst->addr = neuron_window_addr(RIG_WINDOW_DATA, 0);
	rig_halt(&self->rig, NEURON_ENGINE_SYNC);

	for (i = 0; i < 200; i++) {
		job = rig_start(&self->rig, LIMIT);
		ASSERT_GT(job, last);
		last = job;
	}
	ASSERT_EQ(0, rig_wait(&self->rig, job, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	EXPECT_EQ(200, data_word(&self->rig, 0));
}

TEST_F(job, binary_syncobjs)
{
	struct drm_neuron_sync in = { 0 }, out = { 0 };
	struct rig_submit submit;
	struct drm_neuron_wait_job result;
	struct drm_neuron_queue queue;

	ASSERT_EQ(0, rig_syncobj_create(self->rig.fd, &out.handle));
	rig_store(&self->rig, NEURON_ENGINE_SYNC, 0, 5);
	rig_halt(&self->rig, NEURON_ENGINE_SYNC);
	rig_prepare(&self->rig, &submit, &queue);
	submit.call.in_syncs.stride = sizeof(in);
	submit.call.in_syncs.count = 1;
	submit.call.in_syncs.pointer = (uintptr_t)&in;
	submit.call.out_syncs = submit.call.in_syncs;
	submit.call.out_syncs.pointer = (uintptr_t)&out;

	/* No such syncobj; no fence in it yet. */
	EXPECT_EQ(-ENOENT, rig_submit(&self->rig, &submit));
	ASSERT_EQ(0, rig_syncobj_create(self->rig.fd, &in.handle));
	EXPECT_EQ(-EINVAL, rig_submit(&self->rig, &submit));
	in.flags = 2;
	EXPECT_EQ(-EINVAL, rig_submit(&self->rig, &submit));
	in.flags = 0;

	/* One job makes the fence, the next one waits for it. */
	submit.call.in_syncs.count = 0;
	submit.call.out_syncs.pointer = (uintptr_t)&in;
	ASSERT_EQ(0, rig_submit(&self->rig, &submit));
	submit.call.in_syncs.count = 1;
	submit.call.out_syncs.pointer = (uintptr_t)&out;
	ASSERT_EQ(0, rig_submit(&self->rig, &submit));
	EXPECT_EQ(0, rig_syncobj_wait(self->rig.fd, out.handle, 0, LIMIT));
	ASSERT_EQ(0, rig_wait(&self->rig, submit.call.job, 0, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
}

/*
 * A job of core 1 that takes a while holds back a job of core 0; meanwhile the
 * windows of core 0 change. The job keeps what it was submitted with.
 */
TEST_F(job, timeline_and_window_versions)
{
	struct drm_neuron_sync sync[2] = { 0 };
	struct drm_neuron_window window = {
		.index = RIG_WINDOW_DATA,
		.kind = DRM_NEURON_WINDOW_BO,
		.rights = DRM_NEURON_WINDOW_READ | DRM_NEURON_WINDOW_WRITE,
		.offset = RIG_HALF + 0x1000,
		.length = 0x1000,
	};
	struct rig_submit submit;
	struct drm_neuron_wait_job result;
	struct drm_neuron_queue queue;
	struct drm_neuron_claim claim;
	struct rig slow = self->rig;
	uint64_t slow_job, job;

	ASSERT_EQ(0, rig_syncobj_create(self->rig.fd, &sync[0].handle));
	sync[1].handle = sync[0].handle;
	sync[0].point = 10;
	sync[1].point = 20;

	/* Same file and buffer, other core; image of another engine. */
	ASSERT_EQ(0, rig_claim(self->rig.fd, 1u << 1, 0, &claim));
	slow.claim = claim.claim;
	slow.core = 1;
	window.index = RIG_WINDOW_IMAGE;
	window.rights = DRM_NEURON_WINDOW_READ;
	window.handle = self->rig.bo;
	window.offset = 0;
	window.length = RIG_HALF;
	ASSERT_EQ(0, rig_windows(&slow, &window, 1));
	rig_loop(&slow, NEURON_ENGINE_TENSOR, 0);
	rig_prepare(&slow, &submit, &queue);
	submit.call.out_syncs.stride = sizeof(sync[0]);
	submit.call.out_syncs.count = 1;
	submit.call.out_syncs.pointer = (uintptr_t)&sync[0];
	ASSERT_EQ(0, rig_submit(&slow, &submit));
	slow_job = submit.call.job;

	rig_store(&self->rig, NEURON_ENGINE_SYNC, 0, 77);
	rig_halt(&self->rig, NEURON_ENGINE_SYNC);
	rig_prepare(&self->rig, &submit, &queue);
	submit.call.in_syncs.stride = sizeof(sync[0]);
	submit.call.in_syncs.count = 1;
	submit.call.in_syncs.pointer = (uintptr_t)&sync[0];
	submit.call.out_syncs = submit.call.in_syncs;
	submit.call.out_syncs.pointer = (uintptr_t)&sync[1];
	ASSERT_EQ(0, rig_submit(&self->rig, &submit));
	job = submit.call.job;

	window.index = RIG_WINDOW_DATA;
	window.rights |= DRM_NEURON_WINDOW_WRITE;
	window.offset = RIG_HALF + 0x1000;
	window.length = 0x1000;
	ASSERT_EQ(0, rig_windows(&self->rig, &window, 1));
	EXPECT_EQ(-ETIMEDOUT, rig_wait(&self->rig, job, 100, NULL));
	EXPECT_EQ(-ETIME, rig_syncobj_wait(self->rig.fd, sync[0].handle, 20,
					   0));

	/* The loop's branch becomes a halt. */
	slow.map[RIG_IMAGE(NEURON_ENGINE_TENSOR)] = NEURON_OP_HALT;
	slow.map[RIG_IMAGE(NEURON_ENGINE_TENSOR) +
		 offsetof(struct neuron_inst, op0)] = 0;
	EXPECT_EQ(0, rig_syncobj_wait(self->rig.fd, sync[0].handle, 20, LIMIT));
	ASSERT_EQ(0, rig_wait(&slow, slow_job, 0, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	ASSERT_EQ(0, rig_wait(&self->rig, job, 0, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	EXPECT_EQ(77, data_word(&self->rig, 0));
	EXPECT_EQ(0, data_word(&self->rig, 0x1000));

	/* The next one has the new windows. */
	ASSERT_EQ(0, rig_run(&self->rig, LIMIT, &result));
	EXPECT_EQ(77, data_word(&self->rig, 0x1000));
}

/* Binding what is bound makes no new version while a job has the current one. */
TEST_F(job, unchanged_binding_costs_nothing)
{
	struct drm_neuron_window window = {
		.index = RIG_WINDOW_SBUF,
		.kind = DRM_NEURON_WINDOW_SBUF,
		.rights = DRM_NEURON_WINDOW_READ | DRM_NEURON_WINDOW_WRITE,
	};
	struct rig_usage running, now;
	int64_t job;

	rig_loop(&self->rig, NEURON_ENGINE_SYNC, 0);
	job = rig_start(&self->rig, 60000);
	ASSERT_GT(job, 0);
	rig_usage(self->fd, &running);
	ASSERT_GE(running.live, 2);
	ASSERT_EQ(0, rig_windows(&self->rig, &window, 1));
	rig_usage(self->fd, &now);
	EXPECT_EQ(running.live, now.live);
	window.rights = DRM_NEURON_WINDOW_READ;
	ASSERT_EQ(0, rig_windows(&self->rig, &window, 1));
	rig_usage(self->fd, &now);
	EXPECT_EQ(running.live + 1, now.live);
}

/*
 * A core takes as many jobs as QUERY says and not one more; the place of a job that has
 * ended is free for whoever has waited for it.
 */
TEST_F(job, queue_has_its_depth)
{
	struct drm_neuron_reset reset = {
		.claim = self->rig.claim,
		.core = self->rig.core,
	};
	struct drm_neuron_limits_info limits = { 0 };
	int64_t first, job;
	uint32_t i;

	ASSERT_EQ(0, neuron_query(self->fd, DRM_NEURON_QUERY_LIMITS, &limits,
				  sizeof(limits)));
	ASSERT_LE(63, limits.queued_jobs);
	rig_loop(&self->rig, NEURON_ENGINE_SYNC, 0);
	first = rig_start(&self->rig, 120000);
	ASSERT_GT(first, 0);
	for (i = 1; i < limits.queued_jobs; i++)
		ASSERT_EQ(first + i, rig_start(&self->rig, 120000));
	EXPECT_EQ(-EBUSY, rig_start(&self->rig, 120000));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, rig_cancel(&self->rig, (uint64_t)first + i));
		ASSERT_EQ(0, rig_wait(&self->rig, (uint64_t)first + i, LIMIT, NULL));
		job = rig_start(&self->rig, 120000);
		ASSERT_GT(job, first + limits.queued_jobs - 1);
		EXPECT_EQ(-EBUSY, rig_start(&self->rig, 120000));
	}
	must(self->rig.fd, RESET, &reset);
	ASSERT_EQ(0, rig_wait(&self->rig, (uint64_t)job, LIMIT, NULL));
	rig_clear(&self->rig);
	rig_halt(&self->rig, NEURON_ENGINE_SYNC);
	EXPECT_EQ(0, rig_run(&self->rig, LIMIT, NULL));
}

/*
 * Queued jobs hold old tables; a program cannot eat the kernel's memory so. Some forty large
 * tables take a slow host a while.
 */
TEST_F(job, versions_are_bounded)
{
	struct drm_neuron_reset reset = {
		.claim = self->rig.claim,
		.core = self->rig.core,
	};
	struct drm_neuron_wait_job result;
	int64_t end;
	unsigned int i;
	int ret = 0;

	rig_loop(&self->rig, NEURON_ENGINE_SYNC, 0);
	for (i = 0; !ret && i < 1000; i++) {
		ASSERT_GT(rig_start(&self->rig, 60000), 0);
		ret = rig_change_table(&self->rig, i);
	}
	EXPECT_EQ(-ENOMEM, ret);
	EXPECT_GT(i, 16);
	must(self->rig.fd, RESET, &reset);
	rig_clear(&self->rig);
	rig_halt(&self->rig, NEURON_ENGINE_SYNC);
	/* The jobs and their tables are freed one after the other. */
	end = rig_now_ms() + 4 * LIMIT;
	do
		ret = rig_run(&self->rig, LIMIT, &result);
	while (ret == -ENOMEM && rig_now_ms() < end);
	ASSERT_EQ(0, ret);
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	EXPECT_EQ(0, rig_change_table(&self->rig, i));
}

#define expect_submit(error, ...) do { \
	struct rig_submit submit_ = good; \
	struct drm_neuron_queue q_ = good_queue; \
	submit_.job.queues.pointer = (uintptr_t)&q_; \
	{ \
		struct rig_submit *s = &submit_; \
		struct drm_neuron_queue *q = &q_; \
		(void)s; \
		(void)q; \
		__VA_ARGS__; \
	} \
	EXPECT_EQ(-(error), rig_submit(&self->rig, &submit_)) \
		TH_LOG("submit with " #__VA_ARGS__); \
} while (0)

TEST_F(job, submit_arguments)
{
	struct drm_neuron_device_info info;
	struct rig_submit good;
	struct drm_neuron_queue good_queue;
	struct drm_neuron_queue twice[2];
	const struct drm_neuron_start bad[][2] = {
		/* No such engine, one of them twice, a plain address: no program sees those. */
		{ { .engine = NEURON_NR_ENGINES } },
		{ { .engine = ~0u } },
		{ { .engine = NEURON_ENGINE_SYNC }, { .engine = NEURON_ENGINE_SYNC } },
		{ { .addr = 4096, .count = 1, .engine = 1 }, { .engine = 2 } },
		{ { .engine = 2 }, { .addr = 4096, .count = 1 } },
	};
	unsigned int i;

	rig_copy(&self->rig, NEURON_ENGINE_SYNC,
		 neuron_window_addr(RIG_WINDOW_DATA, 64),
		 neuron_window_addr(RIG_WINDOW_DATA, 0), 64);
	rig_halt(&self->rig, NEURON_ENGINE_SYNC);
	rig_prepare(&self->rig, &good, &good_queue);
	twice[0] = good_queue;
	twice[1] = good_queue;

	expect_submit(0, s->job.timeout_ms = 1000);
	expect_submit(0, s->job.timeout_ms = DAY_MS);
	expect_submit(EINVAL, s->job.timeout_ms = DAY_MS + 1);
	expect_submit(EINVAL, s->call.flags = 2);
	expect_submit(EINVAL, s->job.flags = 1);
	expect_submit(EINVAL, s->job.core = 1);
	expect_submit(EINVAL, s->job.core = 100);
	expect_submit(ENOENT, s->call.claim = 4711);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect_submit(EINVAL, s->job.starts = (struct drm_neuron_array){
			sizeof(bad[i][0]), 2, (uintptr_t)bad[i] });
	expect_submit(EINVAL, s->job.starts.stride = 8);
	expect_submit(EINVAL, s->job.starts.count = NEURON_NR_ENGINES + 1);
	expect_submit(EFAULT, s->job.starts.pointer = 8);
	expect_submit(EINVAL, s->job.sem_clear.count = RIG_SEM_WORDS + 1);
	expect_submit(EINVAL, s->job.sem_clear.stride = 4);
	expect_submit(EFAULT, s->job.sem_clear.pointer = 8);
	expect_submit(0, s->job.sem_clear.count = 1);
	expect_submit(EINVAL, s->job.notify_size = 4096);
	expect_submit(EINVAL, s->job.notify_addr = neuron_window_addr(1, 0));
	expect_submit(EINVAL, s->job.notify_addr = neuron_window_addr(1, 0),
		      s->job.notify_size = 96);
	expect_submit(EINVAL, s->job.queues.count = 257);
	expect_submit(EINVAL, s->job.queues.stride = 8);
	expect_submit(EFAULT, s->job.queues.pointer = 8);
	expect_submit(EINVAL, s->job.queues.count = 2,
		      s->job.queues.pointer = (uintptr_t)twice);
	expect_submit(EINVAL, q->dma_engine = 16);
	expect_submit(EINVAL, q->queue = 16);
	expect_submit(EINVAL, q->flags = 2);
	expect_submit(EINVAL, q->flags = 1u << 10);
	ASSERT_EQ(0, neuron_query(self->rig.fd, DRM_NEURON_QUERY_DEVICE, &info, sizeof(info)));
	expect_submit(info.generation < 4 ? EINVAL : 0, q->flags = DRM_NEURON_QUEUE_PRIORITY);
	expect_submit(info.generation < 4 ? EINVAL : 0,
		      q->flags = 1u << DRM_NEURON_QUEUE_PRIORITY_SHIFT);
	expect_submit(EINVAL, q->m2s_length = 16);
	expect_submit(EINVAL, q->s2m_length = 33);
	expect_submit(EINVAL, q->m2s_ring = 4096);
	expect_submit(EINVAL, q->s2m_ring += 16);
	expect_submit(EINVAL, s->call.in_syncs.count = 1);
	expect_submit(EINVAL, s->call.out_syncs.count = 100000,
		      s->call.out_syncs.stride = 16);
}

TEST_HARNESS_MAIN
