// SPDX-License-Identifier: MIT
/*
 * The embedded back end by its table of functions: results of jobs that are asked for late,
 * errors as the driver has them, limits, names, and a child process.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "backend/backend.h"
#include "neuron/isa.h"
#include "neuron/window.h"

#define BACKEND		nrt_backend_embedded
#define KEPT		1024
#define IMAGE		4096u		/* bytes of each program */
#define LIMIT_S		240
#define NS		1000000000ll
#define CC(n)		(8 + (n))	/* number of a CC-core */

/* Programs, by their place in the buffer. */
enum program { HALTS, SPINS };

FIXTURE(embedded)
{
	struct nrt_chip **chips;
	struct nrt_chip *chip;
	unsigned int count;
	uint32_t claim;
	uint32_t image;
};

static int64_t in_ms(int64_t ms)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS + now.tv_nsec + ms * 1000000;
}

#define ARRAY_OF(element) \
	((struct drm_neuron_array){ .pointer = (uintptr_t)(element), .count = 1, \
				    .stride = sizeof(*(element)) })

static int claim_cores(struct nrt_chip *chip, uint64_t cores, uint32_t *id)
{
	struct drm_neuron_claim claim = { .cores = cores };
	int ret = BACKEND.claim(chip, &claim);

	*id = claim.claim;
	return ret;
}

/* A buffer in HBM with the programs. */
static int load_programs(struct nrt_chip *chip, uint32_t *handle)
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
	ret = BACKEND.bo_create(chip, &bo);
	*handle = bo.handle;
	copy.handle = bo.handle;
	return ret ? ret : BACKEND.copy(chip, &copy);
}

static int submit(struct _test_data_embedded *self, uint32_t core, enum program program,
		  uint32_t timeout_ms, uint64_t *id)
{
	const struct drm_neuron_window window = {
		.kind = DRM_NEURON_WINDOW_BO,
		.rights = DRM_NEURON_WINDOW_READ,
		.handle = self->image,
		.length = 2 * IMAGE,
	};
	const struct drm_neuron_start start = {
		.addr = neuron_window_addr(0, program * IMAGE),
		.count = 1,
		.engine = NEURON_ENGINE_SYNC,
	};
	const struct drm_neuron_job job = {
		.core = core,
		.starts = ARRAY_OF(&start),
		.windows = ARRAY_OF(&window),
		.timeout_ms = timeout_ms,
	};
	struct drm_neuron_submit call = { .claim = self->claim, .jobs = ARRAY_OF(&job) };
	int ret = BACKEND.submit(self->chip, &call);

	*id = call.job;
	return ret;
}

static int wait_for(struct _test_data_embedded *self, uint32_t core, uint64_t id, int64_t deadline,
		    struct drm_neuron_wait_job *job)
{
	struct drm_neuron_wait wait = { .deadline_ns = deadline, .jobs = ARRAY_OF(job) };

	*job = (struct drm_neuron_wait_job){ .claim = self->claim, .core = core, .job = id };
	return BACKEND.wait(self->chip, &wait);
}

FIXTURE_SETUP(embedded)
{
	struct nrt_error error = { 0 };

	ASSERT_EQ(NRT_SUCCESS, BACKEND.open_all(&self->chips, &self->count, &error));
	self->chip = self->chips[0];
	ASSERT_EQ(0, claim_cores(self->chip, 1, &self->claim));
	ASSERT_EQ(0, load_programs(self->chip, &self->image));
}

FIXTURE_TEARDOWN(embedded)
{
	unsigned int i;

	for (i = 0; i < self->count; i++)
		BACKEND.close(self->chips[i]);
	free(self->chips);
}

/* --- results --- */

struct waiter {
	struct _test_data_embedded *self;
	pthread_t thread;
	uint64_t job;
	struct drm_neuron_wait_job result;
	int ret;
};

static void *wait_long(void *arg)
{
	struct waiter *w = arg;

	w->ret = wait_for(w->self, 0, w->job, in_ms(LIMIT_S * 1000), &w->result);
	return NULL;
}

static void start_waiter(struct waiter *w, struct _test_data_embedded *self, uint64_t job)
{
	const struct timespec nap = { .tv_nsec = 50000000 };

	*w = (struct waiter){ .self = self, .job = job };
	pthread_create(&w->thread, NULL, wait_long, w);
	/* Probably it waits by now; if not, the test proves less. */
	nanosleep(&nap, NULL);
}

TEST_F_TIMEOUT(embedded, result, LIMIT_S)
{
	struct drm_neuron_wait_job job;
	uint64_t id;

	ASSERT_EQ(0, submit(self, 0, HALTS, 0, &id));
	ASSERT_EQ(0, wait_for(self, 0, id, in_ms(60000), &job));
	EXPECT_EQ(DRM_NEURON_JOB_OK, job.status);
	EXPECT_EQ(self->claim, job.claim);
	EXPECT_EQ(id, job.job);
	EXPECT_EQ(-ENOENT, wait_for(self, 0, id + 1, 0, &job));
}

/* The last ones are kept; who asks for an older one is told that it is forgotten. */
TEST_F_TIMEOUT(embedded, forgotten, LIMIT_S)
{
	struct drm_neuron_wait_job job;
	uint64_t first, id;
	unsigned int i;

	ASSERT_EQ(0, submit(self, 0, HALTS, 0, &first));
	for (i = 0; i < KEPT; i++) {
		if (i == KEPT - 1)
			ASSERT_EQ(0, wait_for(self, 0, first, 0, &job));
		ASSERT_EQ(0, submit(self, 0, HALTS, 0, &id));
		ASSERT_EQ(0, wait_for(self, 0, id, in_ms(60000), &job));
	}
	EXPECT_EQ(-ENOENT, wait_for(self, 0, first, 0, &job));
	EXPECT_EQ(0, wait_for(self, 0, first + 1, 0, &job));
}

/* The claim ends under a WAIT: the job is aborted, and the WAIT tells that. */
TEST_F_TIMEOUT(embedded, released, LIMIT_S)
{
	struct drm_neuron_release release = { .claim = self->claim };
	struct drm_neuron_wait_job job;
	struct waiter w;
	uint64_t id;

	ASSERT_EQ(0, submit(self, 0, SPINS, 0, &id));
	start_waiter(&w, self, id);
	ASSERT_EQ(0, BACKEND.release(self->chip, &release));
	pthread_join(w.thread, NULL);
	EXPECT_EQ(0, w.ret);
	EXPECT_EQ(DRM_NEURON_JOB_ABORTED, w.result.status);
	EXPECT_EQ(-ENOENT, wait_for(self, 0, id, 0, &job));
}

/* --- limits --- */

/* The second job has a shorter limit than the one that somebody waits for. */
TEST_F_TIMEOUT(embedded, shorter_limit, LIMIT_S)
{
	struct drm_neuron_release release = { 0 };
	struct _test_data_embedded second = *self;
	struct drm_neuron_wait_job job;
	struct drm_neuron_wait wait = { 0 };
	uint64_t id, shorter;
	struct waiter w;

	ASSERT_EQ(0, claim_cores(self->chip, 2, &second.claim));
	ASSERT_EQ(0, submit(self, 0, SPINS, 600000, &id));
	start_waiter(&w, self, id);
	ASSERT_EQ(0, submit(&second, 1, SPINS, 200, &shorter));
	/* This does not look after the chip: the other thread does. */
	wait.deadline_ns = in_ms(40000);
	do {
		const struct timespec nap = { .tv_nsec = 100000000 };
		struct drm_neuron_core_info info[8] = { 0 };
		struct drm_neuron_query query = {
			.type = DRM_NEURON_QUERY_CORES,
			.answer = {
				.pointer = (uintptr_t)info, .count = 8, .stride = sizeof(info[0]),
			},
		};

		nanosleep(&nap, NULL);
		ASSERT_EQ(0, BACKEND.query(self->chip, &query));
		if (info[1].jobs)
			break;
	} while (in_ms(0) < wait.deadline_ns);
	EXPECT_GT(wait.deadline_ns, in_ms(0));
	release.claim = self->claim;
	ASSERT_EQ(0, BACKEND.release(self->chip, &release));
	pthread_join(w.thread, NULL);
	ASSERT_EQ(0, wait_for(&second, 1, shorter, 0, &job));
	EXPECT_EQ(1, job.hang);
}

/* --- errors --- */

TEST_F_TIMEOUT(embedded, errors, LIMIT_S)
{
	struct drm_neuron_grant grant = { .claim = self->claim, .core = 1, .count = 1 };
	struct _test_data_embedded nobody = *self;
	struct drm_neuron_wait_job job;
	uint64_t id;

	nobody.claim = self->claim + 1;
	EXPECT_EQ(-ENOENT, submit(&nobody, 0, HALTS, 0, &id));
	EXPECT_EQ(-ENOENT, wait_for(&nobody, 0, 1, 0, &job));
	EXPECT_EQ(-EINVAL, submit(self, 1, HALTS, 0, &id));
	EXPECT_EQ(-EINVAL, wait_for(self, 1, 1, 0, &job));
	EXPECT_EQ(-EINVAL, submit(self, 1000, HALTS, 0, &id));
	EXPECT_EQ(-EINVAL, wait_for(self, 1000, 1, 0, &job));
	EXPECT_EQ(-EINVAL, BACKEND.grant(self->chip, &grant));
	grant.claim++;
	EXPECT_EQ(-ENOENT, BACKEND.grant(self->chip, &grant));
}

/* A WAIT does not make a claim use a CC-core. */
TEST_F_TIMEOUT(embedded, unused_cc_core, LIMIT_S)
{
	struct drm_neuron_core_info info[32] = { 0 };
	struct drm_neuron_query query = {
		.type = DRM_NEURON_QUERY_CC_CORES,
		.answer = {
			.pointer = (uintptr_t)info, .count = 32, .stride = sizeof(info[0]),
		},
	};
	struct drm_neuron_wait_job job;
	uint64_t id;

	ASSERT_EQ(-ENOENT, wait_for(self, CC(0), 1, 0, &job));
	ASSERT_EQ(0, BACKEND.query(self->chip, &query));
	EXPECT_EQ(0, info[0].owner_pid);
	ASSERT_EQ(0, submit(self, CC(0), HALTS, 0, &id));
	EXPECT_EQ(0, wait_for(self, CC(0), id, in_ms(60000), &job));
	ASSERT_EQ(0, BACKEND.query(self->chip, &query));
	EXPECT_EQ((uint32_t)getpid(), info[0].owner_pid);
}

static int post(struct _test_data_embedded *self, uint32_t core, uint32_t counter, uint32_t pad)
{
	const struct drm_neuron_post_entry entry = { .counter = counter, .pad = pad, .add = 1 };
	struct drm_neuron_post call = {
		.claim = self->claim, .core = core, .entries = ARRAY_OF(&entry),
	};

	return BACKEND.post(self->chip, &call);
}

TEST_F_TIMEOUT(embedded, post, LIMIT_S)
{
	struct drm_neuron_post many = {
		.claim = self->claim,
		.entries = { .pointer = 8, .count = 65, .stride = 16 },
	};
	struct _test_data_embedded nobody = *self;

	EXPECT_EQ(0, post(self, 0, DRM_NEURON_STATUS_SUCCESS, 0));
	EXPECT_EQ(-EINVAL, post(self, 0, DRM_NEURON_NR_STATUS_COUNTERS, 0));
	EXPECT_EQ(-EINVAL, post(self, 0, DRM_NEURON_STATUS_SUCCESS, 1));
	EXPECT_EQ(-EINVAL, post(self, 1, DRM_NEURON_STATUS_SUCCESS, 0));
	EXPECT_EQ(-EINVAL, post(self, CC(0), DRM_NEURON_STATUS_SUCCESS, 0));
	EXPECT_EQ(-EINVAL, BACKEND.post(self->chip, &many));
	nobody.claim++;
	EXPECT_EQ(-ENOENT, post(&nobody, 0, DRM_NEURON_STATUS_SUCCESS, 0));
}

/* --- names --- */

/* One thing has one name, however often it is asked for, and a descriptor leads to it. */
TEST_F_TIMEOUT(embedded, names, LIMIT_S)
{
	struct drm_neuron_grant grant = { .claim = self->claim, .count = 8 };
	struct drm_neuron_bo_info info, again;
	struct stat first = { 0 }, st;
	uint32_t handle;
	unsigned int i;
	int fd;

	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, BACKEND.bo_export(self->chip, self->image, &fd));
		ASSERT_EQ(0, fstat(fd, &st));
		if (!i)
			first = st;
		EXPECT_EQ(first.st_ino, st.st_ino);
		ASSERT_EQ(0, BACKEND.bo_import(self->chip, fd, &handle));
		info = (struct drm_neuron_bo_info){ .handle = handle };
		again = (struct drm_neuron_bo_info){ .handle = self->image };
		ASSERT_EQ(0, BACKEND.bo_info(self->chip, &info));
		ASSERT_EQ(0, BACKEND.bo_info(self->chip, &again));
		EXPECT_EQ(again.device_addr, info.device_addr);
		BACKEND.bo_close(self->chip, handle);
		close(fd);
	}
	ASSERT_EQ(0, BACKEND.grant(self->chip, &grant));
	ASSERT_EQ(0, fstat(grant.fd, &first));
	close(grant.fd);
	ASSERT_EQ(0, BACKEND.grant(self->chip, &grant));
	ASSERT_EQ(0, fstat(grant.fd, &st));
	EXPECT_EQ(first.st_ino, st.st_ino);
	close(grant.fd);
	/* Another part of it is another thing. */
	grant.count = 4;
	ASSERT_EQ(0, BACKEND.grant(self->chip, &grant));
	ASSERT_EQ(0, fstat(grant.fd, &st));
	EXPECT_NE(first.st_ino, st.st_ino);
	close(grant.fd);
}

/* --- a child --- */

/* What each call of a child says: at once, and without a change for its parent. */
static int in_child(struct _test_data_embedded *self)
{
	struct drm_neuron_release release = { .claim = self->claim };
	struct drm_neuron_wait_job job;
	uint32_t claim, handle;
	uint64_t id;

	alarm(60);
	if (submit(self, 0, HALTS, 0, &id) != -ENODEV)
		return 1;
	if (wait_for(self, 0, 1, in_ms(100000), &job) != -ENODEV)
		return 2;
	if (claim_cores(self->chip, 2, &claim) != -ENODEV)
		return 3;
	if (load_programs(self->chip, &handle) != -ENODEV)
		return 4;
	if (BACKEND.release(self->chip, &release) != -ENODEV)
		return 5;
	BACKEND.bo_close(self->chip, self->image);
	BACKEND.close(self->chip);
	return 0;
}

TEST_F_TIMEOUT(embedded, fork, LIMIT_S)
{
	struct drm_neuron_wait_job job;
	uint64_t id, spinning;
	int status = -1;
	pid_t pid;

	ASSERT_EQ(0, submit(self, 0, HALTS, 0, &id));
	ASSERT_EQ(0, wait_for(self, 0, id, in_ms(60000), &job));
	/* Another job runs meanwhile, and threads hold locks. */
	ASSERT_EQ(0, submit(self, 0, SPINS, 2000, &spinning));
	pid = fork();
	if (!pid)
		_exit(in_child(self));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status));
	ASSERT_EQ(0, wait_for(self, 0, spinning, in_ms(120000), &job));
	EXPECT_EQ(1, job.hang);
	ASSERT_EQ(0, submit(self, 0, HALTS, 0, &id));
	ASSERT_EQ(0, wait_for(self, 0, id, in_ms(60000), &job));
	EXPECT_EQ(DRM_NEURON_JOB_OK, job.status);
}

TEST_HARNESS_MAIN
