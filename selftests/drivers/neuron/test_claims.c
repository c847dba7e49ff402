// SPDX-License-Identifier: MIT
/*
 * Claims, window tables and grants: who owns which core, what its programs may
 * reach, and what is refused.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job_rig.h"
#include "kselftest_harness.h"
#include "neuron/generation.h"
#include "neuron_test.h"

FIXTURE(claim) {
	int fd;
	int other;	/* another open file of the same device */
	uint32_t cores;
};

FIXTURE_SETUP(claim)
{
	struct drm_neuron_device_info info;

	self->fd = neuron_open(0);
	if (self->fd < 0)
		SKIP(return, "no neuron device");
	self->other = neuron_open(0);
	ASSERT_GE(self->other, 0);
	ASSERT_EQ(0, neuron_query(self->fd, DRM_NEURON_QUERY_DEVICE, &info,
				  sizeof(info)));
	self->cores = info.nr_cores;
	ASSERT_GE(self->cores, 2);
}

FIXTURE_TEARDOWN(claim)
{
	close(self->other);
	close(self->fd);
}

TEST_F(claim, all_or_none)
{
	struct drm_neuron_claim args;

	ASSERT_EQ(0, rig_claim(self->fd, 1u << 0, 0, &args));
	EXPECT_EQ(1, args.granted);
	EXPECT_EQ(-EBUSY, rig_claim(self->other, 3, 0, &args));
	/* Nothing of the refused claim sticks. */
	EXPECT_EQ(0, rig_claim(self->other, 1u << 1, 0, &args));
	EXPECT_EQ(2, args.granted);
}

TEST_F(claim, any_are_consecutive)
{
	struct drm_neuron_claim args;

	if (self->cores < 4)
		SKIP(return, "needs four cores");
	ASSERT_EQ(0, rig_claim(self->other, 1u << 1, 0, &args));
	ASSERT_EQ(0, rig_claim(self->fd, 0, 2, &args));
	EXPECT_EQ(0xc, args.granted);
	ASSERT_EQ(0, rig_claim(self->fd, 0, 1, &args));
	EXPECT_EQ(1, args.granted);
	EXPECT_EQ(-EBUSY, rig_claim(self->fd, 0, self->cores - 3, &args));
}

TEST_F(claim, bad_arguments)
{
	struct drm_neuron_claim args = { 0 };

	must_fail(EINVAL, self->fd, CLAIM, &args);
	args = (struct drm_neuron_claim){ .cores = 1, .count = 1 };
	must_fail(EINVAL, self->fd, CLAIM, &args);
	args = (struct drm_neuron_claim){ .cores = 1u << self->cores };
	must_fail(EINVAL, self->fd, CLAIM, &args);
	args = (struct drm_neuron_claim){ .count = self->cores + 1 };
	must_fail(EINVAL, self->fd, CLAIM, &args);
	args = (struct drm_neuron_claim){ .cores = 1, .flags = 1u << 1 };
	must_fail(EINVAL, self->fd, CLAIM, &args);
	args = (struct drm_neuron_claim){ .cores = 1, .align = 2 };
	must_fail(EINVAL, self->fd, CLAIM, &args);
}

TEST_F(claim, release)
{
	struct drm_neuron_claim args;
	uint32_t id;

	ASSERT_EQ(0, rig_claim(self->fd, 1, 0, &args));
	id = args.claim;
	EXPECT_EQ(-ENOENT, rig_release(self->fd, id + 1000));
	/* Ids belong to the file. */
	EXPECT_EQ(-ENOENT, rig_release(self->other, id));
	EXPECT_EQ(0, rig_release(self->fd, id));
	EXPECT_EQ(-ENOENT, rig_release(self->fd, id));
	EXPECT_EQ(0, rig_claim(self->other, 1, 0, &args));
}

/* Who releases claims whose ids he guesses: a file with one claim gives it id 1. */
struct guesser {
	int fd;
	atomic_bool stop;
	atomic_uint released;
};

static void *guess(void *arg)
{
	struct guesser *guesser = arg;

	while (!atomic_load(&guesser->stop))
		if (!rig_release(guesser->fd, 1))
			atomic_fetch_add(&guesser->released, 1);
	return NULL;
}

/* What CLAIM tells is true even if the claim has been released by then. */
TEST_F(claim, released_by_a_guess)
{
	struct guesser guesser = { .fd = self->fd };
	int64_t end = rig_now_ms() + 3000;
	struct drm_neuron_claim args;
	unsigned int claims = 0;
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, guess, &guesser));
	while (rig_now_ms() < end) {
		ASSERT_EQ(0, rig_claim(self->fd, 0, 1, &args));
		claims++;
		EXPECT_EQ(1, args.claim);
		EXPECT_EQ(1, __builtin_popcountll(args.granted));
		while (atomic_load(&guesser.released) < claims)
			sched_yield();
	}
	atomic_store(&guesser.stop, true);
	pthread_join(thread, NULL);
}

TEST_F(claim, ends_with_the_file)
{
	struct drm_neuron_claim args;

	ASSERT_EQ(0, rig_claim(self->other, 0, self->cores, &args));
	EXPECT_EQ(-EBUSY, rig_claim(self->fd, 0, 1, &args));
	close(self->other);
	EXPECT_EQ(0, rig_claim(self->fd, 0, self->cores, &args));
	self->other = neuron_open(0);
}

TEST_F(claim, ends_with_the_process)
{
	struct drm_neuron_claim args;
	int ready[2], status;
	char byte = 0;
	pid_t pid;

	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		int fd = neuron_open(0);

		if (rig_claim(fd, 1, 0, &args))
			_exit(1);
		if (write(ready[1], &byte, 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	EXPECT_EQ(-EBUSY, rig_claim(self->fd, 1, 0, &args));
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_EQ(0, rig_claim(self->fd, 1, 0, &args));
}

TEST_F(claim, owner_is_shown)
{
	struct drm_neuron_core_info info[16] = { 0 };
	struct drm_neuron_claim args;

	ASSERT_EQ(0, rig_claim(self->fd, 2, 0, &args));
	ASSERT_EQ(0, neuron_query(self->other, DRM_NEURON_QUERY_CORES, info,
				  sizeof(info)));
	EXPECT_EQ(getpid(), info[1].owner_pid);
	EXPECT_EQ(DRM_NEURON_CORE_CLAIMED, info[1].flags);
	EXPECT_EQ(0, info[0].owner_pid);
	EXPECT_EQ(0, info[0].flags);
	ASSERT_EQ(0, rig_release(self->fd, args.claim));
	ASSERT_EQ(0, neuron_query(self->other, DRM_NEURON_QUERY_CORES, info,
				  sizeof(info)));
	EXPECT_EQ(0, info[1].owner_pid);
	EXPECT_EQ(0, info[1].flags);
}

/* What the first process of a new pid namespace sees of core 0, as its exit status. */
static int ask_elsewhere(int fd)
{
	struct drm_neuron_core_info info[16] = { 0 };
	int status;
	pid_t pid;

	if (unshare(CLONE_NEWPID))
		return -1;
	pid = fork();
	if (!pid) {
		if (neuron_query(fd, DRM_NEURON_QUERY_CORES, info, sizeof(info)))
			_exit(99);
		_exit(info[0].owner_pid ? 98 : info[0].flags);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/* The namespace of who asks does not have the owner: the core is taken nonetheless. */
TEST_F(claim, owner_of_another_pid_namespace)
{
	struct drm_neuron_claim args;
	int status;
	pid_t pid;

	ASSERT_EQ(0, rig_claim(self->fd, 1, 0, &args));
	pid = fork();
	if (!pid)
		_exit(ask_elsewhere(self->other));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFEXITED(status));
	EXPECT_EQ(DRM_NEURON_CORE_CLAIMED, WEXITSTATUS(status));
}

/* A core is busy as long as a job runs on it. */
TEST_F(claim, busy_is_shown)
{
	struct drm_neuron_core_info info[16] = { 0 };
	struct drm_neuron_wait_job result;
	struct rig rig;
	int64_t job;

	ASSERT_EQ(0, rig_open(&rig, 0, 0));
	rig_loop(&rig, NEURON_ENGINE_SYNC, 0);
	job = rig_start(&rig, 60000);
	ASSERT_LT(0, job);
	while (!info[0].flags || info[0].flags == DRM_NEURON_CORE_CLAIMED)
		ASSERT_EQ(0, neuron_query(self->other, DRM_NEURON_QUERY_CORES, info,
					  sizeof(info)));
	EXPECT_EQ(DRM_NEURON_CORE_CLAIMED | DRM_NEURON_CORE_BUSY, info[0].flags);
	ASSERT_EQ(0, rig_cancel(&rig, job));
	EXPECT_EQ(0, rig_wait(&rig, job, 60000, &result));
	ASSERT_EQ(0, neuron_query(self->other, DRM_NEURON_QUERY_CORES, info,
				  sizeof(info)));
	EXPECT_EQ(DRM_NEURON_CORE_CLAIMED, info[0].flags);
	rig_close(&rig);
}

FIXTURE(window) {
	struct rig rig;
	struct drm_neuron_window good;
};

FIXTURE_SETUP(window)
{
	int ret = rig_open(&self->rig, 0, 0);

	if (ret == -ENODEV)
		SKIP(return, "no neuron device");
	ASSERT_EQ(0, ret);
	self->good = (struct drm_neuron_window){
		.index = RIG_WINDOW_FREE,
		.kind = DRM_NEURON_WINDOW_BO,
		.rights = DRM_NEURON_WINDOW_READ,
		.handle = self->rig.bo,
		.length = 4096,
	};
}

FIXTURE_TEARDOWN(window)
{
	rig_close(&self->rig);
}

#define expect_window(error, ...) do { \
	struct drm_neuron_window window_ = self->good; \
	{ struct drm_neuron_window *w = &window_; __VA_ARGS__; } \
	EXPECT_EQ(-(error), rig_windows(&self->rig, &window_, 1)) \
		TH_LOG("window with " #__VA_ARGS__); \
} while (0)

TEST_F(window, bad_arguments)
{
	const uint32_t size = 2 * RIG_HALF;

	expect_window(0, w->index = 4);
	expect_window(0, w->index = 65534);
	expect_window(EINVAL, w->index = 65535);
	expect_window(EINVAL, w->kind = 2);
	expect_window(EINVAL, w->kind = 7);
	expect_window(EINVAL, w->rights = 0);
	expect_window(EINVAL, w->rights = 4);
	expect_window(ENOENT, w->handle = 0);
	expect_window(ENOENT, w->handle = 4711);
	expect_window(EINVAL, w->length = 0);
	expect_window(EINVAL, w->offset = 2);
	expect_window(0, w->offset = size - 4096);
	expect_window(EINVAL, w->offset = size - 4092);
	expect_window(EINVAL, w->offset = size);
	expect_window(EINVAL, w->offset = ~3ull);
	expect_window(EINVAL, w->length = ~0ull);
	expect_window(EINVAL, w->source = 1);
	expect_window(EINVAL, w->from = DRM_NEURON_FROM_CORE);
	expect_window(EINVAL, w->from = DRM_NEURON_FROM_GRANT_FD);
	expect_window(EINVAL, w->kind = DRM_NEURON_WINDOW_EMPTY);
	expect_window(EINVAL, w->kind = DRM_NEURON_WINDOW_SBUF);
}

TEST_F(window, bad_semaphores)
{
	self->good.kind = DRM_NEURON_WINDOW_SEM;
	self->good.handle = 0;
	expect_window(0, w->length = 4 * 256);
	expect_window(EINVAL, w->length = 4 * 257);
	expect_window(EINVAL, w->length = 0);
	expect_window(EINVAL, w->length = 6);
	expect_window(EINVAL, w->length = 4, w->offset = 256);
	expect_window(0, w->length = 4, w->offset = 255);
	expect_window(EINVAL, w->length = 4, w->source = 1);
	expect_window(EINVAL, w->length = 4, w->from = DRM_NEURON_FROM_GRANT + 1);
	self->good.length = 4;
	self->good.from = DRM_NEURON_FROM_GRANT_FD;
	expect_window(EPERM, w->source = self->rig.fd);
	self->good.rights = DRM_NEURON_WINDOW_WRITE;
	expect_window(EBADF, w->source = 1000);
	expect_window(EBADF, w->source = -1);
	/* A file, but no grant. */
	expect_window(EBADF, w->source = self->rig.fd);
	self->good.from = DRM_NEURON_FROM_GRANT;
	expect_window(EBADF, w->source = 0);
	expect_window(EBADF, w->source = 1);
	expect_window(EBADF, w->source = -1);
}

TEST_F(window, bad_array)
{
	struct drm_neuron_windows args = {
		.claim = self->rig.claim,
		.core = self->rig.core,
		.windows = {
			.stride = sizeof(self->good),
			.count = 1,
			.pointer = (uintptr_t)&self->good,
		},
	};

	must(self->rig.fd, WINDOWS, &args);
	args.windows.stride = sizeof(self->good) - 8;
	must_fail(EINVAL, self->rig.fd, WINDOWS, &args);
	args.windows.stride = sizeof(self->good);
	args.windows.pointer = 8;
	must_fail(EFAULT, self->rig.fd, WINDOWS, &args);
	args.windows.count = 65536;
	must_fail(EINVAL, self->rig.fd, WINDOWS, &args);
	args.windows.count = 0;
	must(self->rig.fd, WINDOWS, &args);
	args.core = 1;
	must_fail(EINVAL, self->rig.fd, WINDOWS, &args);
	args.core = self->rig.core;
	args.claim++;
	must_fail(ENOENT, self->rig.fd, WINDOWS, &args);
}

/* A newer program's longer elements are fine when the rest is zero. */
TEST_F(window, longer_elements)
{
	struct {
		struct drm_neuron_window window;
		uint64_t future;
	} elements[2] = { { .window = self->good }, { .window = self->good } };
	struct drm_neuron_windows args = {
		.claim = self->rig.claim,
		.core = self->rig.core,
		.windows = {
			.stride = sizeof(elements[0]),
			.count = 2,
			.pointer = (uintptr_t)elements,
		},
	};

	must(self->rig.fd, WINDOWS, &args);
	elements[1].future = 1;
	must_fail(EINVAL, self->rig.fd, WINDOWS, &args);
}

/* All elements are checked before any is written. */
TEST_F(window, all_or_none)
{
	struct drm_neuron_window windows[2] = { self->good, self->good };
	struct drm_neuron_wait_job result;
	struct neuron_inst *inst;

	windows[1].handle = 4711;
	EXPECT_EQ(-ENOENT, rig_windows(&self->rig, windows, 2));
	inst = rig_emit(&self->rig, NEURON_ENGINE_SYNC, NEURON_OP_REG_LOAD);
	inst->reg[0] = 1;
	inst->addr = neuron_window_addr(RIG_WINDOW_FREE, 0);
	rig_halt(&self->rig, NEURON_ENGINE_SYNC);
	ASSERT_EQ(0, rig_run(&self->rig, 1000, &result));
	EXPECT_EQ(NEURON_JOB_ERROR, result.status);
	EXPECT_EQ(NEURON_CAUSE_WINDOW, result.cause);

	EXPECT_EQ(0, rig_windows(&self->rig, windows, 1));
	ASSERT_EQ(0, rig_run(&self->rig, 1000, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
}

/* A window keeps its buffer when the handle is closed. */
TEST_F(window, keeps_its_buffer)
{
	struct drm_neuron_bo_create bo;
	struct drm_neuron_wait_job result;
	struct rig_usage before;
	uint32_t word = 0x12345678;

	rig_usage(self->rig.fd, &before);
	ASSERT_EQ(0, neuron_bo_create(self->rig.fd, DRM_NEURON_BO_HBM, 0, 4096,
				      &bo));
	ASSERT_EQ(0, neuron_write(self->rig.fd, bo.handle, 0, &word, 4));
	expect_window(0, w->handle = bo.handle);
	ASSERT_EQ(0, neuron_bo_close(self->rig.fd, bo.handle));
	rig_copy(&self->rig, NEURON_ENGINE_SYNC,
		 neuron_window_addr(RIG_WINDOW_DATA, 0),
		 neuron_window_addr(RIG_WINDOW_FREE, 0), 4);
	rig_halt(&self->rig, NEURON_ENGINE_SYNC);
	ASSERT_EQ(0, rig_run(&self->rig, 1000, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	EXPECT_EQ(0, memcmp(self->rig.data, &word, 4));

	expect_window(0, w->kind = DRM_NEURON_WINDOW_EMPTY, w->rights = 0,
		      w->handle = 0, w->length = 0);
	EXPECT_FALSE(rig_leaks(self->rig.fd, &before));
}

FIXTURE(grant) {
	struct rig target;
	struct rig poster;
	int fd;
	char unbound[16];	/* the chip that the driver has to take again */
};

FIXTURE_VARIANT(grant) {
	unsigned int poster;	/* device */
};

FIXTURE_VARIANT_ADD(grant, same_chip) { .poster = 0 };
FIXTURE_VARIANT_ADD(grant, other_chip) { .poster = 1 };

FIXTURE_SETUP(grant)
{
	struct drm_neuron_device_info info;
	struct drm_neuron_grant args;
	int ret = rig_open(&self->target, 0, 0);

	if (ret == -ENODEV)
		SKIP(return, "no neuron device");
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, neuron_query(self->target.fd, DRM_NEURON_QUERY_DEVICE,
				  &info, sizeof(info)));
	if (variant->poster && info.fabric_chips < 2)
		SKIP(return, "one chip on the fabric");
	ASSERT_EQ(0, rig_open(&self->poster, variant->poster, 1));
	args = (struct drm_neuron_grant){
		.claim = self->target.claim,
		.core = self->target.core,
		.first = 8,
		.count = 4,
	};
	must(self->target.fd, GRANT, &args);
	self->fd = args.fd;
}

FIXTURE_TEARDOWN(grant)
{
	if (self->fd > 0)
		close(self->fd);
	rig_close(&self->poster);
	rig_close(&self->target);
	if (self->unbound[0])
		EXPECT_EQ(0, neuron_write_file("/sys/bus/pci/drivers/neuron/bind", self->unbound));
}

static int bind_grant(struct rig *rig, int fd, uint32_t first, uint32_t count)
{
	struct drm_neuron_window window = {
		.index = RIG_WINDOW_FREE,
		.kind = DRM_NEURON_WINDOW_SEM,
		.rights = DRM_NEURON_WINDOW_WRITE,
		.offset = first,
		.length = 4 * count,
		.from = DRM_NEURON_FROM_GRANT_FD,
		.source = fd,
	};

	return rig_windows(rig, &window, 1);
}

/* A program that adds @value to word @word of the granted window. */
static void emit_post(struct rig *rig, uint32_t word, uint32_t value)
{
	struct neuron_inst *inst;

	rig_clear(rig);
	inst = rig_emit(rig, NEURON_ENGINE_SYNC, NEURON_OP_REG_SET);
	inst->reg[0] = 1;
	inst->imm0 = value;
	inst = rig_emit(rig, NEURON_ENGINE_SYNC, NEURON_OP_REG_STORE);
	inst->reg[0] = 1;
	inst->addr = neuron_window_addr(RIG_WINDOW_FREE, 4 * word);
	rig_halt(rig, NEURON_ENGINE_SYNC);
}

/* A program that waits for semaphore @sem to be at least @value. */
static void emit_wait(struct rig *rig, uint16_t sem, uint32_t value)
{
	struct neuron_inst *inst;

	rig_clear(rig);
	inst = rig_emit(rig, NEURON_ENGINE_SYNC, NEURON_OP_NOP);
	inst->sync = NEURON_PUT(NEURON_SYNC_WAIT, NEURON_SYNC_WAIT_GE);
	inst->wait_sem = sem;
	inst->wait_value = value;
	rig_halt(rig, NEURON_ENGINE_SYNC);
}

TEST_F(grant, post_wakes_the_peer)
{
	struct drm_neuron_wait_job result;
	int64_t job;

	ASSERT_EQ(0, bind_grant(&self->poster, self->fd, 1, 3));
	emit_wait(&self->target, 10, 5);
	job = rig_start(&self->target, 10000);
	ASSERT_GT(job, 0);
	EXPECT_EQ(-ETIMEDOUT, rig_wait(&self->target, job, 50, NULL));

	/* Grant from 8, window from 1 of it, word 1: semaphore 10. */
	emit_post(&self->poster, 1, 5);
	ASSERT_EQ(0, rig_run(&self->poster, 1000, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	ASSERT_EQ(0, rig_wait(&self->target, job, 5000, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
}

TEST_F(grant, range_and_rights)
{
	struct drm_neuron_window window = {
		.index = RIG_WINDOW_FREE,
		.kind = DRM_NEURON_WINDOW_SEM,
		.rights = DRM_NEURON_WINDOW_READ | DRM_NEURON_WINDOW_WRITE,
		.length = 4,
		.from = DRM_NEURON_FROM_GRANT_FD,
		.source = self->fd,
	};
	struct drm_neuron_wait_job result;

	EXPECT_EQ(-EPERM, rig_windows(&self->poster, &window, 1));
	EXPECT_EQ(-EINVAL, bind_grant(&self->poster, self->fd, 0, 5));
	EXPECT_EQ(-EINVAL, bind_grant(&self->poster, self->fd, 4, 1));
	EXPECT_EQ(0, bind_grant(&self->poster, self->fd, 0, 2));
	emit_post(&self->poster, 2, 1);
	ASSERT_EQ(0, rig_run(&self->poster, 1000, &result));
	EXPECT_EQ(NEURON_JOB_ERROR, result.status);
	EXPECT_EQ(NEURON_CAUSE_WINDOW, result.cause);
}

TEST_F(grant, bad_arguments)
{
	struct drm_neuron_grant args = {
		.claim = self->target.claim,
		.core = self->target.core,
		.first = 255,
		.count = 2,
	};

	must_fail(EINVAL, self->target.fd, GRANT, &args);
	args.count = 0;
	must_fail(EINVAL, self->target.fd, GRANT, &args);
	args.count = ~0u;
	must_fail(EINVAL, self->target.fd, GRANT, &args);
	args.count = 1;
	args.flags = 1;
	must_fail(EINVAL, self->target.fd, GRANT, &args);
	args.flags = 0;
	args.claim++;
	must_fail(ENOENT, self->target.fd, GRANT, &args);
}

/* What was bound stays bound; the posts are lost, and the next owner is safe. */
TEST_F(grant, dies_with_the_claim)
{
	struct drm_neuron_wait_job result;
	int64_t job;

	ASSERT_EQ(0, bind_grant(&self->poster, self->fd, 0, 4));
	rig_close(&self->target);
	EXPECT_EQ(-EBADF, bind_grant(&self->poster, self->fd, 0, 4));
	ASSERT_EQ(0, rig_open(&self->target, 0, 0));

	emit_post(&self->poster, 0, 1);
	ASSERT_EQ(0, rig_run(&self->poster, 1000, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	emit_wait(&self->target, 8, 1);
	/* The post must not be cleared away by the job's start. */
	job = rig_start(&self->target, 200);
	ASSERT_GT(job, 0);
	ASSERT_EQ(0, rig_run(&self->poster, 1000, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	ASSERT_EQ(0, rig_wait(&self->target, job, 10000, &result));
	EXPECT_EQ(NEURON_JOB_ABORTED, result.status);
	EXPECT_TRUE(result.flags & DRM_NEURON_JOB_HANG);
}

/* A register of core 0 of a device that no driver has; all ones: it cannot be read. */
static uint32_t core_register(const char *address, uint32_t generation, uint32_t reg)
{
	const struct neuron_gen *gen = generation == 2 ? &neuron_gen_trn1 : &neuron_gen_trn2;
	uint32_t value = ~0u, *map = MAP_FAILED;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource0", address);
	fd = open(path, O_RDWR);
	if (fd >= 0)
		map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd,
			   neuron_ctl_bar0(gen) + NEURON_CTL_CORE(0));
	if (map != MAP_FAILED) {
		value = *(volatile uint32_t *)&map[reg / 4];
		munmap(map, 4096);
	}
	if (fd >= 0)
		close(fd);
	return value;
}

/* And when the driver has left the chip, nobody has a grant of it either. */
TEST_F(grant, dies_with_the_driver)
{
	struct drm_neuron_device_info info;
	struct drm_neuron_wait_job result;
	char address[16];
	uint32_t before;

	if (!variant->poster)
		SKIP(return, "the poster leaves with the chip");
	ASSERT_EQ(0, neuron_query(self->target.fd, DRM_NEURON_QUERY_DEVICE, &info, sizeof(info)));
	ASSERT_EQ(0, neuron_pci_address(self->target.fd, address));
	ASSERT_EQ(0, bind_grant(&self->poster, self->fd, 0, 4));
	emit_post(&self->poster, 0, 1);
	ASSERT_EQ(0, neuron_write_file("/sys/bus/pci/drivers/neuron/unbind", address));
	memcpy(self->unbound, address, sizeof(self->unbound));
	before = core_register(address, info.generation, NEURON_CORE_STALE_POSTS);
	EXPECT_NE(~0u, before);
	EXPECT_EQ(0, rig_run(&self->poster, 1000, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	EXPECT_EQ(before + 1, core_register(address, info.generation, NEURON_CORE_STALE_POSTS));
}

TEST_HARNESS_MAIN
