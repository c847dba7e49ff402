// SPDX-License-Identifier: MIT
/*
 * The embedded back end by its table of functions: results of jobs that are asked for late,
 * gangs, errors as the driver has them, limits, names, and a child process.
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

/* A job of @core that runs @program, where its window and start are. */
struct parts {
	struct drm_neuron_window window;
	struct drm_neuron_start start;
};

static struct drm_neuron_job make_job(struct _test_data_embedded *self, uint32_t core,
				      enum program program, uint32_t timeout_ms,
				      struct parts *parts)
{
	parts->window = (struct drm_neuron_window){
		.kind = DRM_NEURON_WINDOW_BO,
		.rights = DRM_NEURON_WINDOW_READ,
		.handle = self->image,
		.length = 2 * IMAGE,
	};
	parts->start = (struct drm_neuron_start){
		.addr = neuron_window_addr(0, program * IMAGE),
		.count = 1,
		.engine = NEURON_ENGINE_SYNC,
	};
	return (struct drm_neuron_job){
		.core = core,
		.starts = ARRAY_OF(&parts->start),
		.windows = ARRAY_OF(&parts->window),
		.timeout_ms = timeout_ms,
	};
}

static int submit(struct _test_data_embedded *self, uint32_t core, enum program program,
		  uint32_t timeout_ms, uint64_t *id)
{
	struct parts parts;
	const struct drm_neuron_job job = make_job(self, core, program, timeout_ms, &parts);
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

/* Have @jobs jobs of @core ended before long, although this thread does not look after the chip? */
static bool ends_by_itself(struct _test_data_embedded *self, uint32_t core, uint64_t jobs)
{
	const struct timespec nap = { .tv_nsec = 50000000 };
	struct drm_neuron_core_info info[8] = { 0 };
	struct drm_neuron_query query = {
		.type = DRM_NEURON_QUERY_CORES,
		.answer = { .pointer = (uintptr_t)info, .count = 8, .stride = sizeof(info[0]) },
	};
	int64_t deadline = in_ms(LIMIT_S * 500);

	while (in_ms(0) < deadline) {
		if (!BACKEND.query(self->chip, &query) && info[core].jobs >= jobs)
			return true;
		nanosleep(&nap, NULL);
	}
	return false;
}

FIXTURE_SETUP(embedded)
{
	struct nrt_error error = { 0 };

	ASSERT_EQ(NRT_SUCCESS, BACKEND.open_all(&self->chips, &self->count, &error));
	self->chip = self->chips[0];
	ASSERT_EQ(0, claim_cores(self->chip, 3, &self->claim));
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

static int cancel(struct _test_data_embedded *self, uint32_t core, uint64_t id)
{
	struct drm_neuron_cancel cancel = { .claim = self->claim, .core = core, .job = id };

	return BACKEND.cancel(self->chip, &cancel);
}

/* One that is queued, then the one that runs; the others run as if nothing had happened. */
TEST_F_TIMEOUT(embedded, cancelled, LIMIT_S)
{
	struct drm_neuron_wait_job job;
	uint64_t spins, queued, last;

	ASSERT_EQ(0, submit(self, 0, SPINS, LIMIT_S * 1000, &spins));
	ASSERT_EQ(0, submit(self, 0, HALTS, 0, &queued));
	ASSERT_EQ(0, submit(self, 0, HALTS, 0, &last));
	ASSERT_EQ(0, cancel(self, 0, queued));
	ASSERT_EQ(0, wait_for(self, 0, queued, 0, &job));
	EXPECT_EQ(DRM_NEURON_JOB_ABORTED, job.status);
	EXPECT_EQ(-ETIMEDOUT, wait_for(self, 0, spins, 0, &job));
	ASSERT_EQ(0, cancel(self, 0, spins));
	ASSERT_EQ(0, wait_for(self, 0, spins, 0, &job));
	EXPECT_EQ(DRM_NEURON_JOB_ABORTED, job.status);
	EXPECT_FALSE(job.flags & DRM_NEURON_JOB_HANG);
	EXPECT_EQ(-ECANCELED, job.error);
	ASSERT_EQ(0, wait_for(self, 0, last, in_ms(60000), &job));
	EXPECT_EQ(DRM_NEURON_JOB_OK, job.status);
	EXPECT_EQ(0, cancel(self, 0, last));
	EXPECT_EQ(-ENOENT, cancel(self, 0, last + 1));
}

/* --- gangs --- */

/* One job on each of the cores 0 and 1, the second with @timeout_ms. */
static int submit_pair(struct _test_data_embedded *self, enum program first, enum program second,
		       uint32_t timeout_ms, uint64_t *id)
{
	struct parts parts[2];
	const struct drm_neuron_job jobs[2] = {
		make_job(self, 0, first, LIMIT_S * 1000, &parts[0]),
		make_job(self, 1, second, timeout_ms, &parts[1]),
	};
	struct drm_neuron_submit call = {
		.claim = self->claim,
		.flags = DRM_NEURON_SUBMIT_GANG,
		.jobs = { sizeof(jobs[0]), 2, (uintptr_t)jobs },
	};
	int ret = BACKEND.submit(self->chip, &call);

	*id = call.job;
	return ret;
}

static void wait_pair(struct _test_data_embedded *self, uint64_t id,
		      struct drm_neuron_wait_job result[2], struct __test_metadata *_metadata)
{
	ASSERT_EQ(0, wait_for(self, 0, id, in_ms(LIMIT_S * 1000), &result[0]));
	ASSERT_EQ(0, wait_for(self, 1, id + 1, in_ms(LIMIT_S * 1000), &result[1]));
}

/* Core 1 is busy with its first job, so that the gang waits for it on core 0. */
TEST_F_TIMEOUT(embedded, gang_starts_together, LIMIT_S)
{
	struct drm_neuron_wait_job result[2], spins;
	uint64_t first, id, alone;

	ASSERT_EQ(0, submit(self, 1, SPINS, 200, &first));
	ASSERT_EQ(0, submit_pair(self, HALTS, HALTS, 0, &id));
	EXPECT_EQ(first + 1, id);
	EXPECT_EQ(-ETIMEDOUT, wait_for(self, 0, id, 0, &result[0]));
	wait_pair(self, id, result, _metadata);
	EXPECT_EQ(DRM_NEURON_JOB_OK, result[0].status);
	EXPECT_EQ(DRM_NEURON_JOB_OK, result[1].status);
	EXPECT_EQ(result[0].start_ns, result[1].start_ns);
	ASSERT_EQ(0, wait_for(self, 1, first, 0, &spins));
	EXPECT_TRUE(spins.flags & DRM_NEURON_JOB_HANG);
	EXPECT_EQ(-ETIMEDOUT, spins.error);
	ASSERT_EQ(0, submit(self, 0, HALTS, 0, &alone));
	EXPECT_EQ(id + 2, alone);
}

/* Nobody waits when the job ends that keeps the gang waiting. */
TEST_F_TIMEOUT(embedded, gang_is_started_by_the_keeper, LIMIT_S)
{
	struct drm_neuron_wait_job result[2];
	uint64_t first, id;

	ASSERT_EQ(0, submit(self, 1, SPINS, 100, &first));
	ASSERT_EQ(0, submit_pair(self, HALTS, SPINS, 100, &id));
	EXPECT_TRUE(ends_by_itself(self, 1, 2));
	EXPECT_TRUE(ends_by_itself(self, 0, 1));
	wait_pair(self, id, result, _metadata);
	EXPECT_TRUE(result[1].flags & DRM_NEURON_JOB_HANG);
	EXPECT_EQ(-ETIMEDOUT, result[1].error);
}

TEST_F_TIMEOUT(embedded, gang_ends_with_a_hang, LIMIT_S)
{
	struct drm_neuron_wait_job result[2];
	uint64_t id;

	ASSERT_EQ(0, submit_pair(self, SPINS, SPINS, 200, &id));
	wait_pair(self, id, result, _metadata);
	EXPECT_EQ(DRM_NEURON_JOB_ERROR, result[0].status);
	EXPECT_EQ(DRM_NEURON_CAUSE_GANG, result[0].cause);
	EXPECT_EQ(1, result[0].pc);
	EXPECT_EQ(DRM_NEURON_JOB_ABORTED, result[1].status);
	EXPECT_TRUE(result[1].flags & DRM_NEURON_JOB_HANG);
	EXPECT_EQ(-ETIMEDOUT, result[1].error);
	ASSERT_EQ(0, submit_pair(self, HALTS, HALTS, 0, &id));
	wait_pair(self, id, result, _metadata);
	EXPECT_EQ(DRM_NEURON_JOB_OK, result[0].status);
	EXPECT_EQ(DRM_NEURON_JOB_OK, result[1].status);
}

/* One job of two is wrong: nothing is queued, and the table of the other core stays. */
TEST_F_TIMEOUT(embedded, gang_or_nothing, LIMIT_S)
{
	struct drm_neuron_wait_job result[2];
	struct drm_neuron_submit call;
	struct drm_neuron_job jobs[2];
	struct parts parts[2];
	uint64_t id, after;

	ASSERT_EQ(0, submit_pair(self, HALTS, HALTS, 0, &id));
	wait_pair(self, id, result, _metadata);
	jobs[0] = make_job(self, 0, HALTS, 0, &parts[0]);
	jobs[1] = make_job(self, 1, HALTS, 0, &parts[1]);
	call = (struct drm_neuron_submit){
		.claim = self->claim,
		.flags = DRM_NEURON_SUBMIT_GANG,
		.jobs = { sizeof(jobs[0]), 2, (uintptr_t)jobs },
	};
	parts[0].window = (struct drm_neuron_window){ .kind = DRM_NEURON_WINDOW_EMPTY };
	parts[1].window.handle = self->image + 1;
	EXPECT_EQ(-ENOENT, BACKEND.submit(self->chip, &call));
	parts[1].window.handle = self->image;
	jobs[1].core = 0;
	EXPECT_EQ(-EINVAL, BACKEND.submit(self->chip, &call));
	jobs[1].core = 2;
	EXPECT_EQ(-EINVAL, BACKEND.submit(self->chip, &call));
	jobs[1].core = 1;
	call.flags = 0;
	EXPECT_EQ(-EINVAL, BACKEND.submit(self->chip, &call));
	call.flags = DRM_NEURON_SUBMIT_GANG;
	call.jobs.count = 33;
	EXPECT_EQ(-EINVAL, BACKEND.submit(self->chip, &call));
	/* A job of core 0 that brings no window finds its program where it was. */
	jobs[0].windows.count = 0;
	call.jobs.count = 1;
	ASSERT_EQ(0, BACKEND.submit(self->chip, &call));
	after = call.job;
	EXPECT_EQ(id + 2, after);
	ASSERT_EQ(0, wait_for(self, 0, after, in_ms(60000), &result[0]));
	EXPECT_EQ(DRM_NEURON_JOB_OK, result[0].status);
}

/* A gang that runs, and one behind it that waits, end with their claim. */
TEST_F_TIMEOUT(embedded, gang_released, LIMIT_S)
{
	struct drm_neuron_release release = { .claim = self->claim };
	struct waiter w;
	uint64_t id, behind;

	ASSERT_EQ(0, submit_pair(self, SPINS, SPINS, LIMIT_S * 1000, &id));
	ASSERT_EQ(0, submit_pair(self, HALTS, HALTS, 0, &behind));
	start_waiter(&w, self, behind);
	ASSERT_EQ(0, BACKEND.release(self->chip, &release));
	pthread_join(w.thread, NULL);
	EXPECT_EQ(0, w.ret);
	EXPECT_NE(DRM_NEURON_JOB_OK, w.result.status);
	EXPECT_NE(DRM_NEURON_JOB_NONE, w.result.status);
}

/* --- limits --- */

/* The second job has a shorter limit than the one that somebody waits for. */
TEST_F_TIMEOUT(embedded, shorter_limit, LIMIT_S)
{
	struct drm_neuron_release release = { 0 };
	struct _test_data_embedded second = *self;
	struct drm_neuron_wait_job job;
	uint64_t id, shorter;
	struct waiter w;

	ASSERT_EQ(0, claim_cores(self->chip, 4, &second.claim));
	ASSERT_EQ(0, submit(self, 0, SPINS, 600000, &id));
	start_waiter(&w, self, id);
	ASSERT_EQ(0, submit(&second, 2, SPINS, 200, &shorter));
	/* This thread does not look after the chip: the other one does. */
	EXPECT_TRUE(ends_by_itself(self, 2, 1));
	release.claim = self->claim;
	ASSERT_EQ(0, BACKEND.release(self->chip, &release));
	pthread_join(w.thread, NULL);
	ASSERT_EQ(0, wait_for(&second, 2, shorter, 0, &job));
	EXPECT_TRUE(job.flags & DRM_NEURON_JOB_HANG);
	EXPECT_EQ(-ETIMEDOUT, job.error);
}

/* --- errors --- */

/* What is kept of a job that hung, until the next one or the end of the claim. */
TEST_F_TIMEOUT(embedded, dump, LIMIT_S)
{
	char text[1024] = "";
	struct drm_neuron_dump dump = { .claim = self->claim };
	struct drm_neuron_wait_job job;
	uint64_t id;

	EXPECT_EQ(-ENOENT, BACKEND.dump(self->chip, &dump));
	ASSERT_EQ(0, submit(self, 0, SPINS, 100, &id));
	ASSERT_EQ(0, wait_for(self, 0, id, INT64_MAX, &job));
	EXPECT_TRUE(job.flags & DRM_NEURON_JOB_HANG);
	EXPECT_EQ(-ETIMEDOUT, job.error);
	ASSERT_EQ(0, BACKEND.dump(self->chip, &dump));
	EXPECT_EQ(id, dump.job);
	ASSERT_LT(dump.size, sizeof(text));
	dump.pointer = (uintptr_t)text;
	ASSERT_EQ(0, BACKEND.dump(self->chip, &dump));
	EXPECT_NE(NULL, strstr(text, "\nengine sync: pc 0 state running\n")) TH_LOG("%s", text);
	dump.flags = DRM_NEURON_DUMP_MEMORY;
	EXPECT_EQ(-EINVAL, BACKEND.dump(self->chip, &dump));
	dump.flags = 0;
	dump.core = 99;
	EXPECT_EQ(-EINVAL, BACKEND.dump(self->chip, &dump));
}

TEST_F_TIMEOUT(embedded, errors, LIMIT_S)
{
	struct drm_neuron_grant grant = { .claim = self->claim, .core = 2, .count = 1 };
	struct _test_data_embedded nobody = *self;
	struct drm_neuron_wait_job job;
	uint64_t id;

	nobody.claim = self->claim + 1;
	EXPECT_EQ(-ENOENT, submit(&nobody, 0, HALTS, 0, &id));
	EXPECT_EQ(-ENOENT, wait_for(&nobody, 0, 1, 0, &job));
	EXPECT_EQ(-EINVAL, submit(self, 2, HALTS, 0, &id));
	EXPECT_EQ(-EINVAL, wait_for(self, 2, 1, 0, &job));
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
	EXPECT_EQ(0, info[0].flags);
	ASSERT_EQ(0, submit(self, CC(0), HALTS, 0, &id));
	EXPECT_EQ(0, wait_for(self, CC(0), id, in_ms(60000), &job));
	ASSERT_EQ(0, BACKEND.query(self->chip, &query));
	EXPECT_EQ((uint32_t)getpid(), info[0].owner_pid);
	EXPECT_EQ(DRM_NEURON_CORE_CLAIMED, info[0].flags);
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
	EXPECT_EQ(-EINVAL, post(self, 2, DRM_NEURON_STATUS_SUCCESS, 0));
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

/* Other chips reach what is in HBM, and no memory of the host. */
TEST_F_TIMEOUT(embedded, buffers_of_peers, LIMIT_S)
{
	static const uint32_t placements[] = { DRM_NEURON_BO_HBM, DRM_NEURON_BO_HOST };
	static const int expected[] = { 0, -EOPNOTSUPP };
	struct drm_neuron_bo_create create;
	uint32_t handle;
	unsigned int i;
	int fd;

	ASSERT_LT(1, self->count);
	for (i = 0; i < 2; i++) {
		create = (struct drm_neuron_bo_create){ .size = 4096, .placement = placements[i] };
		ASSERT_EQ(0, BACKEND.bo_create(self->chip, &create));
		ASSERT_EQ(0, BACKEND.bo_export(self->chip, create.handle, &fd));
		EXPECT_EQ(expected[i], BACKEND.bo_import(self->chips[1], fd, &handle));
		EXPECT_EQ(0, BACKEND.bo_import(self->chip, fd, &handle));
		close(fd);
	}
}

/* --- imported grants --- */

/* Can core 0 show @count semaphores by @handle? */
static int show_granted(struct _test_data_embedded *self, uint32_t handle, uint32_t count)
{
	const struct drm_neuron_window window = {
		.index = 1,
		.kind = DRM_NEURON_WINDOW_SEM,
		.rights = DRM_NEURON_WINDOW_WRITE,
		.length = 4ull * count,
		.from = DRM_NEURON_FROM_GRANT,
		.source = (int32_t)handle,
	};
	struct drm_neuron_windows call = { .claim = self->claim, .windows = ARRAY_OF(&window) };

	return BACKEND.windows(self->chip, &call);
}

static int drop_granted(struct _test_data_embedded *self, uint32_t handle)
{
	struct drm_neuron_grant_close args = { .handle = handle };

	return BACKEND.grant_close(self->chip, &args);
}

/* A handle needs no descriptor, and is void with the claim that granted. */
TEST_F_TIMEOUT(embedded, imported_grants, LIMIT_S)
{
	struct drm_neuron_grant grant = { .core = 2, .first = 5, .count = 8 };
	struct drm_neuron_release release = { 0 };
	struct drm_neuron_grant_import first, second;

	ASSERT_EQ(0, claim_cores(self->chip, 4, &grant.claim));
	ASSERT_EQ(0, BACKEND.grant(self->chip, &grant));
	first = (struct drm_neuron_grant_import){ .fd = grant.fd };
	second = first;
	ASSERT_EQ(0, BACKEND.grant_import(self->chip, &first));
	ASSERT_EQ(0, BACKEND.grant_import(self->chip, &second));
	EXPECT_NE(0, first.handle);
	EXPECT_NE(first.handle, second.handle);
	close(grant.fd);
	EXPECT_EQ(-EBADF, BACKEND.grant_import(self->chip, &first));
	EXPECT_EQ(0, show_granted(self, first.handle, 8));
	EXPECT_EQ(-EINVAL, show_granted(self, first.handle, 9));
	EXPECT_EQ(-EBADF, show_granted(self, 0, 1));
	EXPECT_EQ(-EBADF, show_granted(self, 1u << 20, 1));
	EXPECT_EQ(0, drop_granted(self, first.handle));
	EXPECT_EQ(-ENOENT, drop_granted(self, first.handle));
	EXPECT_EQ(-EBADF, show_granted(self, first.handle, 8));
	release.claim = grant.claim;
	EXPECT_EQ(0, show_granted(self, second.handle, 8));
	ASSERT_EQ(0, BACKEND.release(self->chip, &release));
	EXPECT_EQ(-EBADF, show_granted(self, second.handle, 8));
	/* Nor has the next claim of the core granted it. */
	ASSERT_EQ(0, claim_cores(self->chip, 4, &grant.claim));
	EXPECT_EQ(-EBADF, show_granted(self, second.handle, 8));
	EXPECT_EQ(0, drop_granted(self, second.handle));
}

#define MOST_IMPORTS	65535

/* Import @fd once more; the handle must be one that nobody has. */
static int import_anew(struct _test_data_embedded *self, int fd, bool *taken)
{
	struct drm_neuron_grant_import args = { .fd = fd };
	int ret = BACKEND.grant_import(self->chip, &args);

	if (ret)
		return ret;
	if (!args.handle || args.handle > MOST_IMPORTS || taken[args.handle])
		return -EEXIST;
	taken[args.handle] = true;
	return 0;
}

/* As many as there can be; a handle that is free can be had again. */
TEST_F_TIMEOUT(embedded, many_imported_grants, LIMIT_S)
{
	struct drm_neuron_grant grant = { .core = 2, .first = 5, .count = 8 };
	bool *taken = calloc(MOST_IMPORTS + 1, sizeof(*taken));
	uint32_t i;

	ASSERT_NE(NULL, taken);
	ASSERT_EQ(0, claim_cores(self->chip, 4, &grant.claim));
	ASSERT_EQ(0, BACKEND.grant(self->chip, &grant));
	for (i = 0; i < MOST_IMPORTS; i++)
		ASSERT_EQ(0, import_anew(self, grant.fd, taken));
	EXPECT_EQ(-ENOSPC, import_anew(self, grant.fd, taken));
	for (i = 1; i <= MOST_IMPORTS; i += 3) {
		ASSERT_EQ(0, drop_granted(self, i));
		taken[i] = false;
	}
	for (i = 1; i <= MOST_IMPORTS; i += 3)
		ASSERT_EQ(0, import_anew(self, grant.fd, taken));
	EXPECT_EQ(-ENOSPC, import_anew(self, grant.fd, taken));
	for (i = 1; i <= MOST_IMPORTS; i++)
		ASSERT_EQ(0, drop_granted(self, i));
	EXPECT_EQ(-ENOENT, drop_granted(self, MOST_IMPORTS));
	close(grant.fd);
	free(taken);
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
	EXPECT_TRUE(job.flags & DRM_NEURON_JOB_HANG);
	EXPECT_EQ(-ETIMEDOUT, job.error);
	ASSERT_EQ(0, submit(self, 0, HALTS, 0, &id));
	ASSERT_EQ(0, wait_for(self, 0, id, in_ms(60000), &job));
	EXPECT_EQ(DRM_NEURON_JOB_OK, job.status);
}

TEST_HARNESS_MAIN
