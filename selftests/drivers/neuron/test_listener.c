// SPDX-License-Identifier: MIT
/*
 * Event files: the owner of a claim reads what happened to its jobs and to the device, and
 * nobody else reads of the jobs.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job_rig.h"
#include "kselftest_harness.h"
#include "neuron_test.h"

#define LIMIT		20000	/* ms, of what should happen at once */
#define ALL		((1u << DRM_NEURON_NR_EVENT_TYPES) - 1)
#define KEPT		128	/* records that an event file keeps */
#define FILES		64	/* event files that a file may have */
#define USER_FILES	256	/* event files that a user may have */
#define NOBODY		65534	/* another user */
#define VECTOR		NEURON_ENGINE_VECTOR

static int listen_to(int fd, uint32_t mask, uint32_t flags)
{
	struct drm_neuron_events args = {
		.mask = mask,
		.flags = flags,
		.stride = sizeof(struct drm_neuron_event),
	};
	int ret = neuron_ioctl(fd, DRM_IOCTL_NEURON_EVENTS, &args);

	return ret ? ret : args.fd;
}

FIXTURE(listener) {
	struct rig rig;
	int fd;
};

FIXTURE_SETUP(listener)
{
	int ret = rig_open(&self->rig, 0, RIG_ANY_CORE);

	if (ret == -ENODEV)
		SKIP(return, "no neuron device");
	ASSERT_EQ(0, ret);
	self->fd = listen_to(self->rig.fd, ALL, DRM_NEURON_EVENTS_NONBLOCK);
	ASSERT_LT(0, self->fd);
}

FIXTURE_TEARDOWN(listener)
{
	close(self->fd);
	rig_close(&self->rig);
}

/* The id of a job that failed at the second instruction. */
static int64_t fail(struct rig *rig)
{
	int64_t job;
	int ret;

	rig_clear(rig);
	rig_emit(rig, VECTOR, NEURON_OP_NOP);
	rig_emit(rig, VECTOR, NEURON_OP_ILLEGAL);
	job = rig_start(rig, LIMIT);
	if (job < 0)
		return job;
	ret = rig_wait(rig, (uint64_t)job, LIMIT, NULL);
	return ret ? ret : job;
}

/* The next record, after a wait; its type, or a negative errno. */
static int next(int fd, struct drm_neuron_event *event)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	ssize_t n;

	memset(event, 0, sizeof(*event));
	if (poll(&ready, 1, LIMIT) != 1)
		return -ETIMEDOUT;
	n = read(fd, event, sizeof(*event));
	if (n < 0)
		return -errno;
	return n == sizeof(*event) ? (int)event->type : -EIO;
}

/*
 * Records of another size than the kernel's: a newer reader gets zeros behind what the
 * kernel knows, and no record is given in part.
 */
TEST_F(listener, longer_records)
{
	const size_t known = sizeof(struct drm_neuron_event), stride = known + 24;
	struct drm_neuron_events args = {
		.mask = ALL,
		.flags = DRM_NEURON_EVENTS_NONBLOCK,
		.stride = (uint32_t)stride,
	};
	struct drm_neuron_event event;
	uint8_t record[2][256];
	int64_t job;

	must(self->rig.fd, EVENTS, &args);
	job = fail(&self->rig);
	ASSERT_LT(0, job);
	ASSERT_EQ(DRM_NEURON_EVENT_JOB_FAULT, next(self->fd, &event));
	memset(record, 0xa5, sizeof(record));
	EXPECT_EQ(-1, read(args.fd, record, stride - 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(stride, read(args.fd, record, 2 * stride - 1));
	EXPECT_EQ(0, memcmp(&event, record, known));
	EXPECT_EQ(24, neuron_differs_from(record[0] + known, 24, 0));
	EXPECT_EQ(64, neuron_differs_from(record[0] + stride, 64, 0xa5));
	close(args.fd);
}

static bool is_empty(int fd)
{
	struct drm_neuron_event event;

	return read(fd, &event, sizeof(event)) == -1 && errno == EAGAIN;
}

TEST_F(listener, fault)
{
	struct drm_neuron_event event;
	int64_t job;

	EXPECT_TRUE(is_empty(self->fd));
	job = fail(&self->rig);
	ASSERT_LT(0, job);
	ASSERT_EQ(DRM_NEURON_EVENT_JOB_FAULT, next(self->fd, &event));
	EXPECT_EQ(self->rig.claim, event.claim);
	EXPECT_EQ(self->rig.core, event.core);
	EXPECT_EQ((uint64_t)job, event.job);
	EXPECT_EQ(NEURON_CAUSE_OPCODE, event.cause);
	EXPECT_EQ(VECTOR, event.source);
	EXPECT_EQ(1, event.pc);
	EXPECT_EQ(0, event.lost);
	EXPECT_LT(0, event.time_ns);
	EXPECT_GE((uint64_t)rig_now_ms() + 1, event.time_ns / 1000000);
	EXPECT_TRUE(is_empty(self->fd));
}

/* A file has so many, and another one its own. */
TEST_F(listener, a_file_has_so_many)
{
	int fd[FILES], other = neuron_open(0), first;
	unsigned int i;

	ASSERT_LT(0, other);
	for (i = 1; i < FILES; i++) {	/* the fixture has one */
		fd[i] = listen_to(self->rig.fd, ALL, 0);
		ASSERT_LT(0, fd[i]);
	}
	EXPECT_EQ(-ENOSPC, listen_to(self->rig.fd, ALL, 0));
	first = listen_to(other, ALL, 0);
	EXPECT_LT(0, first);
	close(first);
	close(other);
	close(fd[1]);
	fd[1] = listen_to(self->rig.fd, ALL, 0);
	EXPECT_LT(0, fd[1]);
	for (i = 1; i < FILES; i++)
		close(fd[i]);
}

/* What user @uid is told who asks for an event file by @fd: 0 or a negative errno. */
static int listen_as(uid_t uid, int fd)
{
	pid_t pid = fork();
	int status, ret;

	if (!pid) {
		if (setuid(uid))
			_exit(EPERM);
		ret = listen_to(fd, ALL, 0);
		_exit(ret < 0 ? -ret : 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -ECHILD;
	return -WEXITSTATUS(status);
}

/* A user has so many, with all files; what is left of the device's is for others. */
TEST_F(listener, a_user_has_so_many)
{
	int file[USER_FILES / FILES], fd[USER_FILES], last = neuron_open(0);
	unsigned int i;

	ASSERT_LT(0, last);
	for (i = 0; i < USER_FILES / FILES; i++) {
		file[i] = neuron_open(0);
		ASSERT_LT(0, file[i]);
	}
	for (i = 1; i < USER_FILES; i++) {	/* the fixture has one */
		fd[i] = listen_to(file[i / FILES], ALL, 0);
		ASSERT_LT(0, fd[i]) TH_LOG("event file %u", i);
	}
	EXPECT_EQ(-ENOSPC, listen_to(last, ALL, 0));
	EXPECT_EQ(0, listen_as(NOBODY, last));
	close(fd[1]);
	fd[1] = listen_to(last, ALL, 0);
	EXPECT_LT(0, fd[1]);
	for (i = 1; i < USER_FILES; i++)
		close(fd[i]);
	for (i = 0; i < USER_FILES / FILES; i++)
		close(file[i]);
	close(last);
}

TEST_F(listener, hang_and_reset)
{
	struct drm_neuron_event event;
	int64_t job;

	rig_clear(&self->rig);
	rig_loop(&self->rig, VECTOR, 0);
	job = rig_start(&self->rig, 50);
	ASSERT_LT(0, job);
	/* An endless loop makes progress; the cap ends it. */
	ASSERT_EQ(0, rig_wait(&self->rig, (uint64_t)job, LIMIT, NULL));
	ASSERT_EQ(DRM_NEURON_EVENT_JOB_HANG, next(self->fd, &event));
	EXPECT_EQ((uint64_t)job, event.job);
	EXPECT_EQ(0, event.cause);
	ASSERT_EQ(DRM_NEURON_EVENT_CORE_RESET, next(self->fd, &event));
	EXPECT_EQ(self->rig.core, event.core);
}

TEST_F(listener, others_do_not_hear_of_jobs)
{
	struct drm_neuron_event event;
	struct rig other;
	int fd;

	ASSERT_EQ(0, rig_open(&other, 0, RIG_ANY_CORE));
	fd = listen_to(other.fd, ALL, DRM_NEURON_EVENTS_NONBLOCK);
	ASSERT_LT(0, fd);
	ASSERT_LT(0, fail(&self->rig));
	EXPECT_EQ(DRM_NEURON_EVENT_JOB_FAULT, next(self->fd, &event));
	EXPECT_TRUE(is_empty(fd));
	close(fd);
	rig_close(&other);
}

TEST_F(listener, mask)
{
	const uint32_t others = ALL & ~(1u << DRM_NEURON_EVENT_JOB_FAULT);
	struct drm_neuron_event event;
	int fd = listen_to(self->rig.fd, others, DRM_NEURON_EVENTS_NONBLOCK);

	ASSERT_LT(0, fd);
	ASSERT_LT(0, fail(&self->rig));
	EXPECT_EQ(DRM_NEURON_EVENT_JOB_FAULT, next(self->fd, &event));
	EXPECT_TRUE(is_empty(fd));
	close(fd);
}

/* Nobody reads: the oldest are kept, and the next one says how many are missing. */
TEST_F(listener, lost)
{
	struct drm_neuron_event event;
	int64_t first = 0, job = 0;
	int i;

	for (i = 0; i < KEPT + 7; i++) {
		job = fail(&self->rig);
		ASSERT_LT(0, job);
		first = first ? first : job;
	}
	for (i = 0; i < KEPT; i++) {
		ASSERT_EQ(DRM_NEURON_EVENT_JOB_FAULT, next(self->fd, &event));
		ASSERT_EQ((uint64_t)first + (uint64_t)i, event.job);
		ASSERT_EQ(0, event.lost);
	}
	EXPECT_TRUE(is_empty(self->fd));
	ASSERT_LT(0, fail(&self->rig));
	ASSERT_EQ(DRM_NEURON_EVENT_JOB_FAULT, next(self->fd, &event));
	EXPECT_EQ(7, event.lost);
	EXPECT_EQ((uint64_t)job + 1, event.job);
}

TEST_F(listener, whole_records_only)
{
	struct drm_neuron_event events[3];
	uint8_t small[sizeof(events[0]) - 1];
	void *volatile nowhere = (void *)8;

	EXPECT_EQ(-1, read(self->fd, small, sizeof(small)));
	EXPECT_EQ(EINVAL, errno);
	ASSERT_LT(0, fail(&self->rig));
	ASSERT_LT(0, fail(&self->rig));
	EXPECT_EQ(-1, read(self->fd, small, sizeof(small)));
	/* What cannot be written is not lost. */
	EXPECT_EQ(-1, read(self->fd, nowhere, sizeof(events)));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(2 * (ssize_t)sizeof(events[0]),
		  read(self->fd, events, sizeof(events) - 1));
	EXPECT_EQ(events[0].job + 1, events[1].job);
}

static void nothing(int signal)
{
	(void)signal;
}

/* read() waits, unless a signal comes. */
TEST_F(listener, read_waits)
{
	const struct sigaction action = { .sa_handler = nothing };
	struct drm_neuron_event event;
	int fd = listen_to(self->rig.fd, ALL, 0), status;
	pid_t pid;

	ASSERT_LT(0, fd);
	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	alarm(1);
	EXPECT_EQ(-1, read(fd, &event, sizeof(event)));
	EXPECT_EQ(EINTR, errno);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(read(fd, &event, sizeof(event)) == sizeof(event) ? 0 : 1);
	usleep(100000);
	ASSERT_LT(0, fail(&self->rig));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	close(fd);
}

/* A reset of the device is told to all its files, and the event file works on. */
TEST_F(listener, device_reset)
{
	struct drm_neuron_event event;
	struct rig other;
	int type;

	ASSERT_EQ(0, neuron_reset_device(self->rig.fd));
	/* Links may go down and up with it. */
	do
		type = next(self->fd, &event);
	while (type == DRM_NEURON_EVENT_LINK);
	ASSERT_EQ(DRM_NEURON_EVENT_DEVICE_RESET, type);
	EXPECT_EQ(0, event.job);
	ASSERT_EQ(0, rig_open(&other, 0, RIG_ANY_CORE));
	rig_close(&other);
}

TEST_HARNESS_MAIN
