// SPDX-License-Identifier: MIT
/*
 * Device times of jobs in time groups: what processes and chips have to do with each other. Who is
 * a member, and when its times come, is in test_nrt_times.c, for all back ends.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job_rig.h"
#include "kselftest_harness.h"
#include "neuron_test.h"

#define LIMIT	60000	/* ms, of what ends by itself */
#define LONG	600000	/* ms, of what does not */
#define PENDING	256	/* members of a core whose times are not known */
#define RACES	50	/* jobs */

/* Programs that lie in the image together, by engine. */
#define HALTS	NEURON_ENGINE_SYNC
#define LOOPS	NEURON_ENGINE_VECTOR

static int make_series(int fd, uint32_t members)
{
	struct drm_neuron_series args = { .members = members };
	int ret = neuron_ioctl(fd, DRM_IOCTL_NEURON_SERIES, &args);

	return ret ? ret : args.fd;
}

static int import_series(int fd, int series, uint32_t *handle)
{
	struct drm_neuron_series_import args = { .fd = series };
	int ret = neuron_ioctl(fd, DRM_IOCTL_NEURON_SERIES_IMPORT, &args);

	*handle = args.handle;
	return ret;
}

static int close_series(int fd, uint32_t handle)
{
	struct drm_neuron_series_close args = { .handle = handle };

	return neuron_ioctl(fd, DRM_IOCTL_NEURON_SERIES_CLOSE, &args);
}

/* The program of @engine, as member @member of group @group; the job, or an error. */
static int64_t start_as(struct rig *rig, enum neuron_engine engine, uint32_t series,
			uint32_t member, uint64_t group)
{
	struct rig_submit submit;
	int ret;

	rig_prepare_engine(rig, &submit, engine);
	submit.job.series = series;
	submit.job.member = member;
	submit.job.group = group;
	submit.job.timeout_ms = LONG;
	ret = rig_submit(rig, &submit);
	return ret ? ret : (int64_t)submit.call.job;
}

static int get_times(struct rig *rig, int64_t job, int64_t ms, struct drm_neuron_times *times)
{
	*times = (struct drm_neuron_times){
		.claim = rig->claim,
		.core = rig->core,
		.job = (uint64_t)job,
		.deadline_ns = ms ? (rig_now_ms() + ms) * 1000000 : 0,
	};
	return neuron_ioctl(rig->fd, DRM_IOCTL_NEURON_TIMES, times);
}

/* Why its times are inexact, 0: they are exact, or an error. */
static int cause_of(struct rig *rig, int64_t job)
{
	struct drm_neuron_times times;
	int ret = get_times(rig, job, LIMIT, &times);

	return ret ? ret : (int)times.cause;
}

static int status_of(struct rig *rig, int64_t job)
{
	struct drm_neuron_wait_job result = { 0 };
	int ret = rig_wait(rig, (uint64_t)job, LIMIT, &result);

	return ret ? ret : (int)result.status;
}

/* Programs HALTS and LOOPS. */
static int open_member(struct rig *rig, unsigned int device, uint32_t core)
{
	int ret = rig_open(rig, device, core);

	if (ret)
		return ret;
	rig_clear(rig);
	rig_halt(rig, HALTS);
	rig_loop(rig, LOOPS, 0);
	return 0;
}

FIXTURE(times) {
	struct rig rig[2];
	uint32_t series[2];
	struct rig_usage before;
	long long charged;
	int fd;
	int descriptor;
};

/* Two members: cores of one chip, or of two. */
FIXTURE_VARIANT(times) {
	unsigned int second;
};

FIXTURE_VARIANT_ADD(times, one_chip) { .second = 0 };
FIXTURE_VARIANT_ADD(times, two_chips) { .second = 1 };

FIXTURE_SETUP(times)
{
	struct drm_neuron_device_info info;

	self->fd = neuron_open(0);
	if (self->fd < 0)
		SKIP(return, "no neuron device");
	ASSERT_EQ(0, neuron_query(self->fd, DRM_NEURON_QUERY_DEVICE, &info, sizeof(info)));
	if (info.fabric_chips <= variant->second) {
		close(self->fd);
		self->fd = -1;
		SKIP(return, "one chip on the fabric");
	}
	rig_usage(self->fd, &self->before);
	self->charged = rig_charged(self->fd);
	ASSERT_EQ(0, open_member(&self->rig[0], 0, 0));
	ASSERT_EQ(0, open_member(&self->rig[1], variant->second, 1));
	self->descriptor = make_series(self->rig[0].fd, 2);
	ASSERT_LE(0, self->descriptor);
	ASSERT_EQ(0, import_series(self->rig[0].fd, self->descriptor, &self->series[0]));
	ASSERT_EQ(0, import_series(self->rig[1].fd, self->descriptor, &self->series[1]));
}

FIXTURE_TEARDOWN(times)
{
	if (self->fd < 0)
		return;
	close(self->descriptor);
	rig_close(&self->rig[1]);
	rig_close(&self->rig[0]);
	EXPECT_FALSE(rig_leaks(self->fd, &self->before));
	EXPECT_TRUE(rig_charge_returns(self->fd, self->charged));
	close(self->fd);
}

/* The cores work, and so does the next series. */
#define expect_next_series_is_exact() do { \
	int descriptor_ = make_series(self->rig[0].fd, 2), i_; \
	uint32_t series_[2]; \
	int64_t job_[2]; \
	ASSERT_LE(0, descriptor_); \
	for (i_ = 0; i_ < 2; i_++) { \
		ASSERT_EQ(0, import_series(self->rig[i_].fd, descriptor_, &series_[i_])); \
		job_[i_] = start_as(&self->rig[i_], HALTS, series_[i_], i_, 1); \
		ASSERT_LT(0, job_[i_]); \
		ASSERT_EQ(DRM_NEURON_JOB_OK, status_of(&self->rig[i_], job_[i_])); \
	} \
	for (i_ = 0; i_ < 2; i_++) \
		EXPECT_EQ(0, cause_of(&self->rig[i_], job_[i_])); \
	close(descriptor_); \
} while (0)

/* No result waits for times, and no time changes a result. */
TEST_F_TIMEOUT(times, come_later, 120)
{
	struct drm_neuron_wait_job ended = { 0 }, later = { 0 };
	struct drm_neuron_times first, second, again;
	int64_t job[2];
	uint64_t group;

	for (group = 1; group < 20; group++) {
		job[0] = start_as(&self->rig[0], HALTS, self->series[0], 0, group);
		ASSERT_LT(0, job[0]);
		ASSERT_EQ(0, rig_wait(&self->rig[0], (uint64_t)job[0], LIMIT, &ended));
		EXPECT_EQ(DRM_NEURON_JOB_OK, ended.status);
		EXPECT_EQ(-ETIMEDOUT, get_times(&self->rig[0], job[0], 0, &first));
		job[1] = start_as(&self->rig[1], HALTS, self->series[1], 1, group);
		ASSERT_LT(0, job[1]);
		ASSERT_EQ(0, get_times(&self->rig[0], job[0], LIMIT, &first));
		ASSERT_EQ(0, get_times(&self->rig[1], job[1], LIMIT, &second));
		EXPECT_EQ(0, first.cause);
		EXPECT_EQ(0, second.cause);
		EXPECT_LT(first.start_ns, first.end_ns);
		EXPECT_EQ(first.end_ns - first.start_ns, second.end_ns - second.start_ns);
		ASSERT_EQ(0, get_times(&self->rig[0], job[0], 0, &again));
		EXPECT_EQ(first.end_ns, again.end_ns);
		ASSERT_EQ(0, rig_wait(&self->rig[0], (uint64_t)job[0], LIMIT, &later));
		EXPECT_EQ(0, memcmp(&ended, &later, sizeof(ended)));
	}
}

/* A member that waits keeps its core from nobody. */
TEST_F_TIMEOUT(times, nobody_waits_for_times, 120)
{
	struct drm_neuron_times times;
	int64_t job, alone;

	job = start_as(&self->rig[0], HALTS, self->series[0], 0, 1);
	ASSERT_LT(0, job);
	alone = start_as(&self->rig[0], HALTS, 0, 0, 0);
	ASSERT_LT(0, alone);
	EXPECT_EQ(DRM_NEURON_JOB_OK, status_of(&self->rig[0], alone));
	EXPECT_EQ(-EINVAL, get_times(&self->rig[0], alone, LIMIT, &times));
	EXPECT_EQ(-ETIMEDOUT, get_times(&self->rig[0], job, 300, &times));
	ASSERT_EQ(0, close_series(self->rig[1].fd, self->series[1]));
	EXPECT_EQ(DRM_NEURON_SETTLE_ENDED, cause_of(&self->rig[0], job));
	expect_next_series_is_exact();
}

/* What a submission that is refused has said counts for nothing. */
TEST_F_TIMEOUT(times, refused_submission, 120)
{
	struct drm_neuron_submit call = { .claim = self->rig[0].claim };
	struct drm_neuron_job jobs[2];
	struct rig_submit submit;
	struct rig cc;
	int64_t job[2];
	int i;

	/* A gang whose second job would be the same member of the same group. */
	ASSERT_EQ(0, rig_open_cc(&cc, &self->rig[0], 0));
	rig_clear(&cc);
	rig_halt(&cc, HALTS);
	for (i = 0; i < 2; i++) {
		rig_prepare_engine(i ? &cc : &self->rig[0], &submit, HALTS);
		jobs[i] = submit.job;
		jobs[i].series = self->series[0];
		jobs[i].group = 9;
	}
	rig_put_jobs(&call, jobs, 2);
	EXPECT_EQ(-EINVAL, neuron_ioctl(self->rig[0].fd, DRM_IOCTL_NEURON_SUBMIT, &call));
	rig_close(&cc);
	/* So another handle can be that member. */
	ASSERT_EQ(0, import_series(self->rig[0].fd, self->descriptor, &self->series[0]));
	for (i = 0; i < 2; i++) {
		job[i] = start_as(&self->rig[i], HALTS, self->series[i], i, 1);
		ASSERT_LT(0, job[i]);
	}
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, cause_of(&self->rig[i], job[i]));
}

/* Descriptors that are no series, and handles of others. */
TEST_F_TIMEOUT(times, wrong_names, 120)
{
	struct drm_neuron_grant grant = {
		.claim = self->rig[0].claim, .core = self->rig[0].core, .count = 1,
	};
	uint32_t handle;
	int other;

	must(self->rig[0].fd, GRANT, &grant);
	EXPECT_EQ(-EBADF, import_series(self->rig[0].fd, grant.fd, &handle));
	EXPECT_EQ(-EBADF, import_series(self->rig[0].fd, self->rig[0].fd, &handle));
	close(grant.fd);
	other = neuron_open(0);
	ASSERT_LE(0, other);
	EXPECT_EQ(-ENOENT, close_series(other, self->series[0]));
	EXPECT_EQ(-ENOENT, close_series(self->rig[0].fd, 0));
	ASSERT_EQ(0, close_series(self->rig[0].fd, self->series[0]));
	EXPECT_EQ(-ENOENT, close_series(self->rig[0].fd, self->series[0]));
	/* None comes twice. */
	ASSERT_EQ(0, import_series(self->rig[0].fd, self->descriptor, &handle));
	EXPECT_LT(self->series[0], handle);
	close(other);
}

TEST_F_TIMEOUT(times, many_handles, 120)
{
	uint32_t handle, i;
	int fd = neuron_open(0);

	ASSERT_LE(0, fd);
	for (i = 0; i < DRM_NEURON_SERIES_HANDLES; i++)
		ASSERT_EQ(0, import_series(fd, self->descriptor, &handle));
	EXPECT_EQ(-ENOSPC, import_series(fd, self->descriptor, &handle));
	ASSERT_EQ(0, close_series(fd, i / 2));
	EXPECT_EQ(0, import_series(fd, self->descriptor, &handle));
	close(fd);
}

/* --- Another process --- */

static int send_fd(int to, int fd)
{
	char room[CMSG_SPACE(sizeof(fd))] = { 0 }, byte = 0;
	struct iovec part = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &part, .msg_iovlen = 1,
		.msg_control = room, .msg_controllen = sizeof(room),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	return sendmsg(to, &msg, 0) == 1 ? 0 : -errno;
}

static int receive_fd(int from)
{
	char room[CMSG_SPACE(sizeof(int))] = { 0 }, byte;
	struct iovec part = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &part, .msg_iovlen = 1,
		.msg_control = room, .msg_controllen = sizeof(room),
	};
	int fd;

	if (recvmsg(from, &msg, 0) != 1 || !CMSG_FIRSTHDR(&msg))
		return -EPROTO;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

/*
 * The second member, in a process of its own: it gets the series over a socket, does group 1, and
 * runs @engine in group 2 until it is killed.
 */
static int be_second(unsigned int device, int socket, enum neuron_engine engine)
{
	char byte = 0;
	struct rig rig;
	uint32_t series;
	int64_t job;
	int fd = receive_fd(socket);

	if (fd < 0 || open_member(&rig, device, 1) || import_series(rig.fd, fd, &series))
		return 1;
	close(fd);
	job = start_as(&rig, HALTS, series, 1, 1);
	if (job < 0 || cause_of(&rig, job))
		return 2;
	job = start_as(&rig, engine, series, 1, 2);
	if (job < 0 || (engine == HALTS && status_of(&rig, job) != DRM_NEURON_JOB_OK))
		return 3;
	if (write(socket, &byte, 1) != 1)
		return 4;
	pause();
	return 5;
}

static void kill_second(struct __test_metadata *_metadata, struct _test_data_times *self,
			unsigned int device, enum neuron_engine engine)
{
	int64_t job[3], more;
	int sockets[2];
	char byte;
	pid_t pid;
	int i;

	/* Its handle goes with its file, which ends this series. */
	rig_close(&self->rig[1]);
	close(self->descriptor);
	self->descriptor = make_series(self->rig[0].fd, 2);
	ASSERT_LE(0, self->descriptor);
	ASSERT_EQ(0, import_series(self->rig[0].fd, self->descriptor, &self->series[0]));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(self->rig[0].fd);
		close(sockets[0]);
		_exit(be_second(device, sockets[1], engine));
	}
	close(sockets[1]);
	ASSERT_EQ(0, send_fd(sockets[0], self->descriptor));
	for (i = 0; i < 3; i++) {
		job[i] = start_as(&self->rig[0], HALTS, self->series[0], 0, 1 + i);
		ASSERT_LT(0, job[i]);
	}
	ASSERT_EQ(1, read(sockets[0], &byte, 1));
	EXPECT_EQ(0, cause_of(&self->rig[0], job[0]));
	if (engine == HALTS)
		ASSERT_EQ(0, cause_of(&self->rig[0], job[1]));
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	EXPECT_EQ(engine != HALTS, cause_of(&self->rig[0], job[1]) > 0);
	EXPECT_LT(0, cause_of(&self->rig[0], job[2]));
	more = start_as(&self->rig[0], HALTS, self->series[0], 0, 4);
	EXPECT_EQ(DRM_NEURON_SETTLE_ENDED, cause_of(&self->rig[0], more));
	close(sockets[0]);
	ASSERT_EQ(0, open_member(&self->rig[1], device, 1));
	expect_next_series_is_exact();
}

TEST_F_TIMEOUT(times, process_is_killed, 120)
{
	kill_second(_metadata, self, variant->second, HALTS);
}

TEST_F_TIMEOUT(times, process_is_killed_with_a_job, 120)
{
	kill_second(_metadata, self, variant->second, LOOPS);
}

/* --- Resets --- */

TEST_F_TIMEOUT(times, core_is_reset, 120)
{
	struct drm_neuron_reset reset = {
		.claim = self->rig[1].claim, .core = self->rig[1].core,
	};
	int64_t job[2], before;

	before = start_as(&self->rig[1], HALTS, self->series[1], 1, 1);
	ASSERT_LT(0, before);
	ASSERT_EQ(DRM_NEURON_JOB_OK, status_of(&self->rig[1], before));
	job[1] = start_as(&self->rig[1], LOOPS, self->series[1], 1, 2);
	ASSERT_LT(0, job[1]);
	must(self->rig[1].fd, RESET, &reset);
	/* What has ended before settles as if nothing had happened. */
	job[0] = start_as(&self->rig[0], HALTS, self->series[0], 0, 1);
	ASSERT_LT(0, job[0]);
	EXPECT_EQ(0, cause_of(&self->rig[0], job[0]));
	EXPECT_EQ(0, cause_of(&self->rig[1], before));
	EXPECT_EQ(DRM_NEURON_SETTLE_MEMBER, cause_of(&self->rig[1], job[1]));
	job[0] = start_as(&self->rig[0], HALTS, self->series[0], 0, 2);
	EXPECT_LT(0, cause_of(&self->rig[0], job[0]));
	expect_next_series_is_exact();
}

/* Of the chip of the second member: what has ended and not settled is lost with it. */
TEST_F_TIMEOUT(times, device_is_reset, 120)
{
	uint32_t handle;
	int64_t job[2];
	int i, series;

	/* The third member does not come. */
	series = make_series(self->rig[0].fd, 3);
	ASSERT_LE(0, series);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, import_series(self->rig[i].fd, series, &handle));
		job[i] = start_as(&self->rig[i], HALTS, handle, i, 1);
		ASSERT_LT(0, job[i]);
		ASSERT_EQ(DRM_NEURON_JOB_OK, status_of(&self->rig[i], job[i]));
	}
	close(series);
	ASSERT_EQ(0, neuron_reset_device(self->rig[1].fd));
	EXPECT_EQ(DRM_NEURON_SETTLE_MEMBER, cause_of(&self->rig[1], job[1]));
	EXPECT_EQ(DRM_NEURON_SETTLE_MEMBER, cause_of(&self->rig[0], job[0]));
	if (!variant->second)
		return;
	rig_close(&self->rig[1]);
	ASSERT_EQ(0, open_member(&self->rig[1], 1, 1));
	expect_next_series_is_exact();
}

/* The driver leaves the chip of the second member, which has ended and not settled. */
TEST_F_TIMEOUT(times, chip_leaves, 120)
{
	const char *driver = "/sys/bus/pci/drivers/neuron";
	char address[16], path[64];
	uint32_t handle[2];
	int64_t job[2];
	int i, series;

	if (!variant->second)
		SKIP(return, "the other chip is to stay");
	ASSERT_EQ(0, neuron_pci_address(self->rig[1].fd, address));
	series = make_series(self->rig[1].fd, 3);
	ASSERT_LE(0, series);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, import_series(self->rig[i].fd, series, &handle[i]));
		job[i] = start_as(&self->rig[i], HALTS, handle[i], i, 1);
		ASSERT_LT(0, job[i]);
		ASSERT_EQ(DRM_NEURON_JOB_OK, status_of(&self->rig[i], job[i]));
	}
	snprintf(path, sizeof(path), "%s/unbind", driver);
	ASSERT_EQ(0, neuron_write_file(path, address));
	EXPECT_EQ(DRM_NEURON_SETTLE_ENDED, cause_of(&self->rig[0], job[0]));
	EXPECT_EQ(-ENODEV, cause_of(&self->rig[1], job[1]));
	/* To the next one its member does not come, though its file is open. */
	job[0] = start_as(&self->rig[0], HALTS, handle[0], 0, 2);
	ASSERT_LT(0, job[0]);
	EXPECT_EQ(DRM_NEURON_SETTLE_ENDED, cause_of(&self->rig[0], job[0]));
	rig_close(&self->rig[1]);
	snprintf(path, sizeof(path), "%s/bind", driver);
	ASSERT_EQ(0, neuron_write_file(path, address));
	ASSERT_EQ(0, open_member(&self->rig[1], 1, 1));
	/* The series is older than this life of the chip that it was made on. */
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, import_series(self->rig[i].fd, series, &handle[i]));
	close(series);
	expect_next_series_is_exact();
}

/* --- Harm --- */

/* Groups without end that nobody else comes to: the kernel's memory has its limit. */
TEST_F_TIMEOUT(times, flood, 240)
{
	int64_t job = 0, first = 0, loop;
	uint64_t group;

	/* What is behind it in the queue waits. */
	loop = start_as(&self->rig[0], LOOPS, 0, 0, 0);
	ASSERT_LT(0, loop);
	for (group = 1; group <= PENDING + 1; group++) {
		job = start_as(&self->rig[0], HALTS, self->series[0], 0, group);
		ASSERT_LT(0, job);
		if (group == 1)
			first = job;
	}
	ASSERT_EQ(0, rig_cancel(&self->rig[0], (uint64_t)loop));
	EXPECT_EQ(DRM_NEURON_JOB_OK, status_of(&self->rig[0], job));
	EXPECT_EQ(DRM_NEURON_SETTLE_OVERFLOW, cause_of(&self->rig[0], job));
	/* The other member comes much too late, and its job is none the worse for it. */
	job = start_as(&self->rig[1], HALTS, self->series[1], 1, 1);
	EXPECT_EQ(DRM_NEURON_JOB_OK, status_of(&self->rig[1], job));
	EXPECT_LT(0, cause_of(&self->rig[1], job));
	EXPECT_LT(0, cause_of(&self->rig[0], first));
}

static void *close_soon(void *data)
{
	struct _test_data_times *self = data;

	usleep(20000);
	return (void *)(intptr_t)close_series(self->rig[1].fd, self->series[1]);
}

/* A handle is closed while jobs are submitted by it: each of them gets times of some kind. */
TEST_F_TIMEOUT(times, close_while_submitting, 120)
{
	int64_t job[2][RACES];
	pthread_t thread;
	void *ret;
	int i;

	ASSERT_EQ(0, pthread_create(&thread, NULL, close_soon, self));
	for (i = 0; i < RACES; i++) {
		job[1][i] = start_as(&self->rig[1], HALTS, self->series[1], 1, 1 + i);
		ASSERT_LT(0, job[1][i]);
	}
	ASSERT_EQ(0, pthread_join(thread, &ret));
	EXPECT_EQ(0, (intptr_t)ret);
	for (i = 0; i < RACES; i++) {
		job[0][i] = start_as(&self->rig[0], HALTS, self->series[0], 0, 1 + i);
		ASSERT_LT(0, job[0][i]);
	}
	for (i = 0; i < RACES; i++) {
		EXPECT_LE(0, cause_of(&self->rig[0], job[0][i]));
		EXPECT_LE(0, cause_of(&self->rig[1], job[1][i]));
	}
	expect_next_series_is_exact();
}

/* A signal ends the wait, and a process that is killed is not kept by it. */
TEST_F_TIMEOUT(times, wait_can_be_killed, 120)
{
	struct drm_neuron_times times;
	int64_t job, begin;
	int status;
	pid_t pid;

	job = start_as(&self->rig[0], HALTS, self->series[0], 0, 1);
	ASSERT_LT(0, job);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		get_times(&self->rig[0], job, LONG, &times);
		_exit(1);
	}
	usleep(500000);
	begin = rig_now_ms();
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_GT(LIMIT, rig_now_ms() - begin);
}

TEST_HARNESS_MAIN
