// SPDX-License-Identifier: MIT
/*
 * WAIT: every job that ended well is told to have ended well, however late anybody asks;
 * one that is forgotten is said to be forgotten. Any or all of several jobs, deadlines,
 * and points of timelines that have no fence yet.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
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

/*
 * The program of @engine, after and before binary syncobjs, whose errors do not matter; the job
 * id or an error.
 */
static int64_t start(struct rig *rig, enum neuron_engine engine, uint32_t in,
		     uint32_t out)
{
	struct drm_neuron_sync wait = { .handle = in, .flags = DRM_NEURON_SYNC_IGNORE_ERROR };
	struct drm_neuron_sync signal = { .handle = out };
	struct rig_submit submit;
	int ret;

	rig_prepare_engine(rig, &submit, engine);
	submit.job.timeout_ms = LONG;
	if (in)
		submit.call.in_syncs = (struct drm_neuron_array){
			sizeof(wait), 1, (uintptr_t)&wait,
		};
	if (out)
		submit.call.out_syncs = (struct drm_neuron_array){
			sizeof(signal), 1, (uintptr_t)&signal,
		};
	ret = rig_submit(rig, &submit);
	return ret ? ret : (int64_t)submit.call.job;
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
	struct drm_neuron_wait_job result = { 0 };
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

TEST_F(wait, late_waiters)
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
TEST_F(wait, many_then_each)
{
	struct drm_neuron_wait_job result;
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
TEST_F(wait, forgotten)
{
	struct drm_neuron_wait_job result;
	int64_t job, first = 0;
	unsigned int i;
	int ret;

	for (i = 0; i <= KEPT; i++) {
		/* The queue is not longer than that. */
		if (i == KEPT)
			ASSERT_EQ(0, rig_wait(&self->rig, (uint64_t)job, LIMIT, NULL));
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

#define of(rig_, job_) { \
	.claim = (rig_)->claim, .core = (rig_)->core, .job = (uint64_t)(job_), \
}

/* Who waits for the jobs of two cores, and what came of it. */
struct both {
	struct drm_neuron_wait_job jobs[2];
	int fd;
	int ret;
};

static void *both_main(void *arg)
{
	struct both *both = arg;

	both->ret = rig_wait_jobs(both->fd, both->jobs, 2, DRM_NEURON_WAIT_ALL, LONG);
	return NULL;
}

/*
 * A call that began in time has the result of a job, even if that is forgotten before the other
 * job ends for which the call waits.
 */
TEST_F(wait, forgotten_meanwhile)
{
	int64_t endless, job, last = 0;
	pthread_t thread;
	unsigned int i;

	endless = start(&self->other, LOOPS, 0, 0);
	job = start(&self->rig, HALTS, 0, 0);
	ASSERT_GT(endless, 0);
	ASSERT_GT(job, 0);

	struct both both = {
		.jobs = { of(&self->rig, job), of(&self->other, endless) },
		.fd = self->rig.fd,
	};

	ASSERT_EQ(0, pthread_create(&thread, NULL, both_main, &both));
	usleep(500000);
	for (i = 0; i < KEPT + 64; i++) {
		/* The queue is not longer than that. */
		if (i && i % (KEPT / 2) == 0)
			ASSERT_EQ(0, rig_wait(&self->rig, (uint64_t)last, LIMIT, NULL));
		last = start(&self->rig, HALTS, 0, 0);
		ASSERT_GT(last, 0);
	}
	ASSERT_EQ(0, rig_wait(&self->rig, (uint64_t)last, LIMIT, NULL));
	EXPECT_EQ(-ENOENT, rig_wait(&self->rig, (uint64_t)job, 0, NULL));
	ASSERT_EQ(0, rig_cancel(&self->other, (uint64_t)endless));
	pthread_join(thread, NULL);
	EXPECT_EQ(0, both.ret);
	EXPECT_EQ(NEURON_JOB_OK, both.jobs[0].status);
	EXPECT_EQ(NEURON_JOB_ABORTED, both.jobs[1].status);
}

TEST_F(wait, any_and_all)
{
	int64_t endless, job;

	endless = start(&self->other, LOOPS, 0, 0);
	job = start(&self->rig, HALTS, 0, 0);
	ASSERT_GT(endless, 0);
	ASSERT_GT(job, 0);

	struct drm_neuron_wait_job jobs[] = {
		of(&self->other, endless), of(&self->rig, job),
	};

	/* The first has not ended: nothing is told of it. */
	memset(&jobs[0].status, 0xff, sizeof(jobs[0]) -
	       offsetof(struct drm_neuron_wait_job, status));
	ASSERT_EQ(1, rig_wait_jobs(self->rig.fd, jobs, 2, 0, LIMIT));
	EXPECT_EQ(NEURON_JOB_OK, jobs[1].status);
	EXPECT_EQ(1, jobs[1].instructions);
	EXPECT_EQ(NEURON_JOB_NONE, jobs[0].status);
	EXPECT_EQ(0, jobs[0].pc);
	EXPECT_EQ(0, jobs[0].doorbell_ns);

	/* Out of time, what is known is told. */
	memset(&jobs[1].status, 0, sizeof(jobs[1]) -
	       offsetof(struct drm_neuron_wait_job, status));
	EXPECT_EQ(-ETIMEDOUT, rig_wait_jobs(self->rig.fd, jobs, 2,
					    DRM_NEURON_WAIT_ALL, 50));
	EXPECT_EQ(NEURON_JOB_OK, jobs[1].status);
	EXPECT_EQ(NEURON_JOB_NONE, jobs[0].status);
	EXPECT_EQ(-ETIMEDOUT, rig_wait_jobs(self->rig.fd, jobs, 1, 0, 50));

	ASSERT_EQ(0, rig_cancel(&self->other, (uint64_t)endless));
	ASSERT_EQ(0, rig_wait_jobs(self->rig.fd, jobs, 2, DRM_NEURON_WAIT_ALL,
				   LIMIT));
	EXPECT_EQ(NEURON_JOB_ABORTED, jobs[0].status);
	EXPECT_EQ(NEURON_JOB_OK, jobs[1].status);
}

/* A wait for any of several that sleeps until the last of them ends. */
TEST_F(wait, any_wakes_up)
{
	struct late late = { .rig = &self->rig };
	int64_t first, second;
	uint32_t sync;

	ASSERT_EQ(0, rig_syncobj_create(self->rig.fd, &sync));
	first = start(&self->other, LOOPS, 0, sync);
	second = start(&self->rig, HALTS, sync, 0);
	ASSERT_GT(first, 0);
	ASSERT_GT(second, 0);

	struct drm_neuron_wait_job jobs[] = {
		of(&self->rig, second), of(&self->other, first),
	};

	EXPECT_EQ(-ETIMEDOUT, rig_wait_jobs(self->rig.fd, jobs, 2, 0, 0));
	EXPECT_EQ(-ETIMEDOUT, rig_wait_jobs(self->rig.fd, jobs, 2, 0, 50));
	late.job = (uint64_t)second;
	pthread_create(&late.thread, NULL, late_main, &late);
	ASSERT_EQ(0, rig_cancel(&self->other, (uint64_t)first));
	EXPECT_LE(0, rig_wait_jobs(self->rig.fd, jobs, 2, 0, LIMIT));
	EXPECT_EQ(0, rig_wait_jobs(self->rig.fd, jobs, 2, DRM_NEURON_WAIT_ALL,
				   LIMIT));
	EXPECT_EQ(NEURON_JOB_OK, jobs[0].status);
	EXPECT_EQ(NEURON_JOB_ABORTED, jobs[1].status);
	pthread_join(late.thread, NULL);
	EXPECT_EQ(0, late.ret);
}

TEST_F(wait, which_element_is_wrong)
{
	int64_t job = start(&self->rig, HALTS, 0, 0);
	struct drm_neuron_wait_job jobs[] = {
		of(&self->rig, job), of(&self->rig, job), of(&self->rig, job + 1),
	};
	struct drm_neuron_wait args = {
		.deadline_ns = INT64_MAX,
		.jobs = { sizeof(jobs[0]), 3, (uintptr_t)jobs },
	};

	ASSERT_GT(job, 0);
	must_fail(ENOENT, self->rig.fd, WAIT, &args);
	EXPECT_EQ(2, args.index);
	jobs[1].core = 2;
	must_fail(EINVAL, self->rig.fd, WAIT, &args);
	EXPECT_EQ(1, args.index);
	jobs[0].claim = 4711;
	must_fail(ENOENT, self->rig.fd, WAIT, &args);
	EXPECT_EQ(0, args.index);
	args.jobs.count = 1;
	jobs[0].claim = self->rig.claim;
	must(self->rig.fd, WAIT, &args);
	args.jobs.pointer = 8;
	must_fail(EFAULT, self->rig.fd, WAIT, &args);
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

TEST_F(wait, deadlines)
{
	int64_t job = start(&self->rig, LOOPS, 0, 0), deadline;
	struct drm_neuron_wait_job of_job = of(&self->rig, job);
	struct drm_neuron_wait args = {
		.jobs = { sizeof(of_job), 1, (uintptr_t)&of_job },
	};
	int i;

	ASSERT_GT(job, 0);
	must_fail(ETIMEDOUT, self->rig.fd, WAIT, &args);
	EXPECT_EQ(1, args.index);
	args.deadline_ns = 1;
	must_fail(ETIMEDOUT, self->rig.fd, WAIT, &args);
	args.deadline_ns = INT64_MIN;
	must_fail(ETIMEDOUT, self->rig.fd, WAIT, &args);
	/* More than one: it depends on when the kernel's ticks come. */
	for (i = 0; i < 20; i++) {
		deadline = now_ns() + 5000000 * (1 + i % 4);
		args.deadline_ns = deadline;
		must_fail(ETIMEDOUT, self->rig.fd, WAIT, &args);
		EXPECT_LE(deadline, now_ns());
		EXPECT_EQ(deadline, args.deadline_ns);
	}
	ASSERT_EQ(0, rig_cancel(&self->rig, (uint64_t)job));
	args.deadline_ns = INT64_MAX;
	must(self->rig.fd, WAIT, &args);
	EXPECT_EQ(0, args.index);
}

static void ignore(int signal)
{
	(void)signal;
}

/* As drmIoctl() does, but not for ever. */
static int restart(int fd, unsigned long request, void *args, unsigned int *turns)
{
	int64_t end = rig_now_ms() + 20000;
	int ret;

	*turns = 0;
	do {
		ret = neuron_ioctl(fd, request, args);
		(*turns)++;
	} while ((ret == -EINTR || ret == -EAGAIN) && rig_now_ms() < end);
	return ret;
}

/* A signal every ten milliseconds does not make a wait of 300 endless. */
TEST_F(wait, ends_among_signals)
{
	const struct itimerval often = { { 0, 10000 }, { 0, 10000 } };
	const struct itimerval never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = ignore }, old;
	int64_t job = start(&self->rig, LOOPS, 0, 0);
	struct drm_neuron_wait_job jobs[] = {
		of(&self->rig, job), of(&self->rig, job),
	};
	struct drm_neuron_wait args = {
		.jobs = { sizeof(jobs[0]), 1, (uintptr_t)jobs },
	};
	unsigned int turns;

	ASSERT_GT(job, 0);
	for (args.jobs.count = 1; args.jobs.count <= 2; args.jobs.count++) {
		ASSERT_EQ(0, sigaction(SIGALRM, &action, &old));
		setitimer(ITIMER_REAL, &often, NULL);
		args.deadline_ns = now_ns() + 300000000;
		EXPECT_EQ(-ETIMEDOUT, restart(self->rig.fd, DRM_IOCTL_NEURON_WAIT,
					      &args, &turns));
		setitimer(ITIMER_REAL, &never, NULL);
		sigaction(SIGALRM, &old, NULL);
		EXPECT_GT(turns, 1);
	}
}

/* In a time namespace whose clock is ahead: is the deadline as syncobjs understand it? */
static int in_other_time(struct rig *rig, struct drm_neuron_wait *args, uint32_t sync)
{
	uint64_t point = 0;
	struct drm_syncobj_timeline_wait wait = {
		.handles = (uintptr_t)&sync,
		.points = (uintptr_t)&point,
		.count_handles = 1,
		.timeout_nsec = now_ns() + 50000000,
	};
	const struct itimerval soon = { { 0, 0 }, { 0, 500000 } };
	struct sigaction action = { .sa_handler = ignore };

	args->deadline_ns = wait.timeout_nsec;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	if (neuron_ioctl(rig->fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &wait) != -EINTR)
		return 2;
	setitimer(ITIMER_REAL, &soon, NULL);
	return neuron_ioctl(rig->fd, DRM_IOCTL_NEURON_WAIT, args) == -EINTR ? 0 : 3;
}

static int enter_time(void)
{
	int fd, ret;

	if (unshare(CLONE_NEWTIME))
		return -errno;
	fd = open("/proc/self/timens_offsets", O_WRONLY);
	if (fd < 0)
		return -errno;
	ret = write(fd, "monotonic 100000 0", 18) == 18 ? 0 : -errno;
	close(fd);
	return ret;
}

TEST_F(wait, time_namespace)
{
	struct drm_neuron_wait_job job = of(&self->rig, 0);
	struct drm_neuron_wait args = {
		.jobs = { sizeof(job), 1, (uintptr_t)&job },
	};
	int status = 0;
	int64_t id;
	uint32_t sync;
	pid_t pid;

	ASSERT_EQ(0, rig_syncobj_create(self->rig.fd, &sync));
	id = start(&self->rig, LOOPS, 0, sync);
	ASSERT_GT(id, 0);
	job.job = (uint64_t)id;
	pid = fork();
	if (!pid) {
		if (enter_time())
			_exit(1);
		pid = fork();
		if (!pid)
			_exit(in_other_time(&self->rig, &args, sync));
		waitpid(pid, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 4);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFEXITED(status));
	ASSERT_NE(1, WEXITSTATUS(status)) TH_LOG("there is no time namespace");
	EXPECT_EQ(0, WEXITSTATUS(status));
}

/* Who waits for a point that has no fence yet, as SUBMIT wants it. */
struct point {
	int fd;
	uint32_t sync;
	uint64_t point;
	int ret;
};

static void *point_main(void *arg)
{
	struct point *point = arg;
	struct drm_syncobj_timeline_wait wait = {
		.handles = (uintptr_t)&point->sync,
		.points = (uintptr_t)&point->point,
		.count_handles = 1,
		.timeout_nsec = INT64_MAX,
		.flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE,
	};

	point->ret = neuron_ioctl(point->fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &wait);
	return NULL;
}

/* SUBMIT refuses a point without a fence; when it has one can be waited for. */
TEST_F(wait, point_without_fence)
{
	struct point point = { .fd = self->rig.fd, .point = 7, .ret = 1 };
	struct drm_neuron_sync sync = { .point = 7 };
	struct rig_submit submit, first;
	int64_t endless;
	pthread_t thread;

	ASSERT_EQ(0, rig_syncobj_create(self->rig.fd, &point.sync));
	sync.handle = point.sync;
	rig_prepare_engine(&self->rig, &submit, HALTS);
	submit.call.in_syncs = (struct drm_neuron_array){
		sizeof(sync), 1, (uintptr_t)&sync,
	};
	EXPECT_EQ(-EINVAL, rig_submit(&self->rig, &submit));
	ASSERT_EQ(0, pthread_create(&thread, NULL, point_main, &point));
	usleep(100000);
	EXPECT_EQ(1, point.ret);

	/* The fence does not signal; that it exists is enough. */
	endless = start(&self->other, LOOPS, 0, 0);
	ASSERT_GT(endless, 0);
	rig_prepare_engine(&self->other, &first, HALTS);
	first.call.out_syncs = submit.call.in_syncs;
	ASSERT_EQ(0, rig_submit(&self->other, &first));
	pthread_join(thread, NULL);
	EXPECT_EQ(0, point.ret);
	ASSERT_EQ(0, rig_submit(&self->rig, &submit));
	EXPECT_EQ(-ETIMEDOUT, rig_wait(&self->rig, submit.call.job, 50, NULL));
	ASSERT_EQ(0, rig_cancel(&self->other, (uint64_t)endless));
	EXPECT_EQ(0, rig_wait(&self->rig, submit.call.job, LIMIT, NULL));
}

#define POINTS	64	/* syncobjs of a call, each way */

/* As many points as a call takes, from @first on, or all of them @first. */
static struct drm_neuron_array points(struct drm_neuron_sync sync[POINTS], uint32_t handle,
				      uint64_t first, uint64_t step)
{
	uint32_t i;

	for (i = 0; i < POINTS; i++)
		sync[i] = (struct drm_neuron_sync){ .handle = handle, .point = first + i * step };
	return (struct drm_neuron_array){ sizeof(*sync), POINTS, (uintptr_t)sync };
}

/* The first point of a long timeline is found behind all others, as often as a call may ask. */
TEST_F(wait, long_timeline)
{
	struct drm_neuron_sync sync[POINTS];
	struct rig_submit submit;
	int64_t endless;
	uint32_t handle, i;

	ASSERT_EQ(0, rig_syncobj_create(self->rig.fd, &handle));
	endless = start(&self->other, LOOPS, 0, 0);
	ASSERT_GT(endless, 0);
	for (i = 0; i < 32; i++) {
		rig_prepare_engine(&self->other, &submit, HALTS);
		submit.call.out_syncs = points(sync, handle, 1 + i * POINTS, 1);
		ASSERT_EQ(0, rig_submit(&self->other, &submit));
	}
	rig_prepare_engine(&self->rig, &submit, HALTS);
	submit.call.in_syncs = points(sync, handle, 1, 0);
	ASSERT_EQ(0, rig_submit(&self->rig, &submit));
	EXPECT_EQ(-ETIMEDOUT, rig_wait(&self->rig, submit.call.job, 50, NULL));
	ASSERT_EQ(0, rig_cancel(&self->other, (uint64_t)endless));
	EXPECT_EQ(0, rig_wait(&self->rig, submit.call.job, LIMIT, NULL));
	rig_syncobj_destroy(self->rig.fd, handle);
}

TEST_HARNESS_MAIN
