// SPDX-License-Identifier: MIT
/*
 * WAIT: every job that ended well is told to have ended well, however late anybody asks;
 * one that is forgotten is said to be forgotten.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "job_rig.h"
#include "kselftest_harness.h"
#include "neuron_test.h"

#define LIMIT	60000	/* ms, of what should end at once */
#define LONG	300000	/* ms, of what does not end by itself */
#define KEPT	1024	/* results of a core, as the interface promises */

#define LOOPS	NEURON_ENGINE_VECTOR
#define HALTS	NEURON_ENGINE_SYNC

FIXTURE(wait) {
	struct rig rig;
	struct rig other;	/* another core of the same file */
	struct rig_usage before;
	int fd;
};

/* Claim core 1 in the file of @rig, with the programs of @rig. */
static int open_other(struct rig *other, const struct rig *rig)
{
	struct drm_neuron_claim claim;
	int ret;

	ret = rig_claim(rig->fd, 1u << 1, 0, &claim);
	if (ret)
		return ret;
	*other = *rig;
	other->claim = claim.claim;
	other->core = 1;
	return rig_bind(other);
}

FIXTURE_SETUP(wait)
{
	self->fd = neuron_open(0);
	if (self->fd < 0)
		SKIP(return, "no neuron device");
	rig_usage(self->fd, &self->before);
	ASSERT_EQ(0, rig_open(&self->rig, 0, 0));
	rig_loop(&self->rig, LOOPS, 0);
	rig_halt(&self->rig, HALTS);
	ASSERT_EQ(0, open_other(&self->other, &self->rig));
}

FIXTURE_TEARDOWN(wait)
{
	rig_close(&self->rig);
	if (self->fd < 0)
		return;
	EXPECT_FALSE(rig_leaks(self->fd, &self->before));
	close(self->fd);
}

/* The program of @engine, after and before binary syncobjs; the job id or an error. */
static int64_t start(struct rig *rig, enum neuron_engine engine, uint32_t in,
		     uint32_t out)
{
	struct drm_neuron_sync wait = { .handle = in };
	struct drm_neuron_sync signal = { .handle = out };
	struct drm_neuron_submit submit;
	int ret;

	rig_prepare_engine(rig, &submit, engine);
	submit.timeout_ms = LONG;
	if (in)
		submit.in_syncs = (struct drm_neuron_array){
			sizeof(wait), 1, (uintptr_t)&wait,
		};
	if (out)
		submit.out_syncs = (struct drm_neuron_array){
			sizeof(signal), 1, (uintptr_t)&signal,
		};
	ret = rig_submit(rig, &submit);
	return ret ? ret : (int64_t)submit.job;
}

/* Who waits for a job, and gets no time to look at the result for a while. */
struct late {
	struct rig *rig;
	uint64_t job;
	pthread_t thread;
	int ret;
	unsigned int status;
};

static void *late_main(void *arg)
{
	const struct sched_param none = { 0 };
	struct drm_neuron_wait result = { 0 };
	struct late *late = arg;

	pthread_setschedparam(pthread_self(), SCHED_IDLE, &none);
	late->ret = rig_wait(late->rig, late->job, LIMIT, &result);
	late->status = result.status;
	return NULL;
}

/* Keeps a processor from those who have time. */
static void *hog_main(void *arg)
{
	atomic_bool *stop = arg;

	while (!atomic_load(stop))
		;
	return NULL;
}

#define MAX_HOGS	8
#define LATE		4

/*
 * Many jobs end between the end of a job and the moment at which those who wait for
 * it run. Returns how many of them did not hear of the success, or an error.
 */
static int late_round(struct rig *rig, struct rig *other, unsigned int behind)
{
	long nr_hogs = sysconf(_SC_NPROCESSORS_ONLN);
	int64_t endless, job, last = 0;
	pthread_t hog[MAX_HOGS];
	struct late late[LATE];
	atomic_bool stop = false;
	int wrong = 0, ret;
	uint32_t sync;
	long i;

	if (nr_hogs > MAX_HOGS)
		nr_hogs = MAX_HOGS;
	ret = rig_syncobj_create(rig->fd, &sync);
	if (ret)
		return ret;
	endless = start(other, LOOPS, 0, sync);
	job = start(rig, HALTS, sync, 0);
	for (i = 0; i < behind && last >= 0; i++)
		last = start(rig, HALTS, 0, 0);
	rig_syncobj_destroy(rig->fd, sync);
	if (endless < 0 || job < 0 || last < 0)
		return -EIO;
	for (i = 0; i < LATE; i++) {
		late[i] = (struct late){ .rig = rig, .job = (uint64_t)job };
		pthread_create(&late[i].thread, NULL, late_main, &late[i]);
	}
	usleep(50000);
	for (i = 0; i < nr_hogs; i++)
		pthread_create(&hog[i], NULL, hog_main, &stop);
	ret = rig_cancel(other, (uint64_t)endless);
	if (!ret)
		ret = rig_wait(rig, (uint64_t)last, LIMIT, NULL);
	atomic_store(&stop, true);
	for (i = 0; i < nr_hogs; i++)
		pthread_join(hog[i], NULL);
	for (i = 0; i < LATE; i++) {
		pthread_join(late[i].thread, NULL);
		if (late[i].ret || late[i].status != NEURON_JOB_OK)
			wrong++;
	}
	return ret ? ret : wrong;
}

TEST_F_TIMEOUT(wait, late_waiters, 280)
{
	unsigned int round, rounds = 0;
	int wrong;

	for (round = 0; round < 8; round++) {
		wrong = late_round(&self->rig, &self->other, 128);
		ASSERT_GE(wrong, 0);
		rounds += wrong > 0;
	}
	EXPECT_EQ(0, rounds) TH_LOG("a success was not told in %u rounds of 8", rounds);
}

/* The oldest that the kernel promises to know are still known with all behind them ended. */
TEST_F_TIMEOUT(wait, many_then_each, 120)
{
	struct drm_neuron_wait result;
	int64_t job, first = 0;
	unsigned int i;

	for (i = 0; i < KEPT; i++) {
		job = start(&self->rig, HALTS, 0, 0);
		ASSERT_GT(job, 0);
		if (!i)
			first = job;
	}
	ASSERT_EQ(0, rig_wait(&self->rig, (uint64_t)job, LIMIT, NULL));
	for (i = 0; i < KEPT; i++) {
		ASSERT_EQ(0, rig_wait(&self->rig, (uint64_t)first + i, 0, &result));
		ASSERT_EQ(NEURON_JOB_OK, result.status);
		ASSERT_EQ(0, rig_cancel(&self->rig, (uint64_t)first + i));
	}
}

/* Known, then forgotten; never anything else. */
TEST_F_TIMEOUT(wait, forgotten, 120)
{
	struct drm_neuron_wait result;
	int64_t job, first = 0;
	unsigned int i;
	int ret;

	for (i = 0; i <= KEPT; i++) {
		job = start(&self->rig, HALTS, 0, 0);
		ASSERT_GT(job, 0);
		if (!i)
			first = job;
	}
	ASSERT_EQ(0, rig_wait(&self->rig, (uint64_t)job, LIMIT, NULL));
	/* It is forgotten once the scheduler has freed the last job as well. */
	for (i = 0; i < 500; i++) {
		ret = rig_wait(&self->rig, (uint64_t)first, 0, &result);
		if (ret)
			break;
		ASSERT_EQ(NEURON_JOB_OK, result.status);
		usleep(10000);
	}
	EXPECT_EQ(-ENOENT, ret);
	EXPECT_EQ(-ENOENT, rig_cancel(&self->rig, (uint64_t)first));
	EXPECT_EQ(0, rig_wait(&self->rig, (uint64_t)first + 1, 0, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	EXPECT_EQ(0, rig_wait(&self->rig, (uint64_t)job, 0, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
}

/* Of a job that its claim's end kept from starting the waiters hear, too. */
TEST_F(wait, release)
{
	struct late late[LATE];
	int64_t endless, job;
	uint32_t sync;
	int i;

	ASSERT_EQ(0, rig_syncobj_create(self->rig.fd, &sync));
	endless = start(&self->other, LOOPS, 0, sync);
	job = start(&self->rig, HALTS, sync, 0);
	ASSERT_GT(endless, 0);
	ASSERT_GT(job, 0);
	for (i = 0; i < LATE; i++) {
		late[i] = (struct late){ .rig = &self->rig, .job = (uint64_t)job };
		pthread_create(&late[i].thread, NULL, late_main, &late[i]);
	}
	usleep(200000);
	ASSERT_EQ(0, rig_release(self->rig.fd, self->rig.claim));
	for (i = 0; i < LATE; i++) {
		pthread_join(late[i].thread, NULL);
		EXPECT_EQ(0, late[i].ret);
		EXPECT_EQ(NEURON_JOB_ABORTED, late[i].status);
	}
}

TEST_HARNESS_MAIN
