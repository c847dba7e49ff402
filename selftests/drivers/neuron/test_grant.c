// SPDX-License-Identifier: MIT
/*
 * Granted SBUF: one core reaches a part of another core's memory, on the same chip or
 * over the fabric, for as long as the claim that granted it lasts.
 */
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "job_rig.h"
#include "kselftest_harness.h"
#include "neuron_test.h"
#include "neuron/regs.h"

#define LIMIT	20000	/* ms, of jobs that should end at once */
#define BOTH	(DRM_NEURON_GRANT_SBUF_READ | DRM_NEURON_GRANT_SBUF_WRITE)
#define FIRST	0x2000	/* what is granted */
#define BYTES	0x1000

FIXTURE(sbuf) {
	struct rig target;
	struct rig user;
	int fd;
};

FIXTURE_VARIANT(sbuf) {
	unsigned int user;
};

FIXTURE_VARIANT_ADD(sbuf, same_chip) { .user = 0 };
FIXTURE_VARIANT_ADD(sbuf, other_chip) { .user = 1 };

static int grant(struct rig *rig, uint32_t first, uint32_t count,
		 uint32_t flags)
{
	struct drm_neuron_grant args = {
		.claim = rig->claim,
		.core = rig->core,
		.first = first,
		.count = count,
		.flags = flags,
	};
	int ret = neuron_ioctl(rig->fd, DRM_IOCTL_NEURON_GRANT, &args);

	return ret ? ret : args.fd;
}

FIXTURE_SETUP(sbuf)
{
	struct drm_neuron_device_info info;
	int ret = rig_open(&self->target, 0, 0);

	if (ret == -ENODEV)
		SKIP(return, "no neuron device");
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, neuron_query(self->target.fd, DRM_NEURON_QUERY_DEVICE,
				  &info, sizeof(info)));
	if (variant->user && info.fabric_chips < 2)
		SKIP(return, "one chip on the fabric");
	ASSERT_EQ(0, rig_open(&self->user, variant->user, 1));
	self->fd = grant(&self->target, FIRST, BYTES, BOTH);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(sbuf)
{
	if (self->fd > 0)
		close(self->fd);
	rig_close(&self->user);
	rig_close(&self->target);
}

static int bind_sbuf(struct rig *rig, int fd, uint32_t rights, uint64_t offset,
		     uint64_t length)
{
	struct drm_neuron_window window = {
		.index = RIG_WINDOW_FREE,
		.kind = DRM_NEURON_WINDOW_GRANT,
		.rights = rights,
		.offset = offset,
		.length = length,
		.from = DRM_NEURON_FROM_GRANT_FD,
		.source = fd,
	};

	return rig_windows(rig, &window, 1);
}

/* As rig_clear(), but for the data. */
static void rig_clear_program(struct rig *rig)
{
	memset(rig->map, 0, RIG_HALF);
	memset(rig->count, 0, sizeof(rig->count));
	memset(rig->tail, 0, sizeof(rig->tail));
}

#define expect_copy(rig, dst, src, size, why) do { \
	struct drm_neuron_wait_job copied_; \
	rig_clear_program(rig); \
	rig_copy(rig, NEURON_ENGINE_SYNC, dst, src, size); \
	rig_halt(rig, NEURON_ENGINE_SYNC); \
	ASSERT_EQ(0, rig_run(rig, LIMIT, &copied_)); \
	EXPECT_EQ(why, copied_.cause); \
	EXPECT_EQ((why) ? NEURON_JOB_ERROR : NEURON_JOB_OK, \
		  copied_.status); \
} while (0)

#define GRANTED(o)	neuron_window_addr(RIG_WINDOW_FREE, o)
#define DATA(o)		neuron_window_addr(RIG_WINDOW_DATA, o)
#define SBUF(o)		neuron_window_addr(RIG_WINDOW_SBUF, o)

/* What is in the target's SBUF from FIRST - 16, with 16 bytes behind. */
static int look(struct rig *target, uint8_t *seen)
{
	struct drm_neuron_wait_job result;
	int ret;

	rig_clear_program(target);
	rig_copy(target, NEURON_ENGINE_SYNC, DATA(0), SBUF(FIRST - 16),
		 BYTES + 32);
	rig_halt(target, NEURON_ENGINE_SYNC);
	ret = rig_run(target, LIMIT, &result);
	memcpy(seen, target->data, BYTES + 32);
	return ret ? ret : -(int)result.cause;
}

TEST_F(sbuf, write_and_read)
{
	uint8_t seen[BYTES + 32];

	ASSERT_EQ(0, bind_sbuf(&self->user, self->fd, BOTH, 0, BYTES));
	neuron_fill(self->user.data, BYTES, 1);
	expect_copy(&self->user, GRANTED(0), DATA(0), BYTES,
		    NEURON_CAUSE_NONE);
	ASSERT_EQ(0, look(&self->target, seen));
	EXPECT_EQ(BYTES, neuron_differs(seen + 16, BYTES, 1));
	EXPECT_EQ(16, neuron_differs_from(seen, 16, 0));
	EXPECT_EQ(16, neuron_differs_from(seen + 16 + BYTES, 16, 0));

	memset(self->user.data, 0, BYTES);
	expect_copy(&self->user, DATA(0), GRANTED(0), BYTES,
		    NEURON_CAUSE_NONE);
	EXPECT_EQ(BYTES, neuron_differs(self->user.data, BYTES, 1));
	expect_copy(&self->user, GRANTED(1), DATA(0), BYTES,
		    NEURON_CAUSE_WINDOW);
	expect_copy(&self->user, DATA(0), GRANTED(BYTES), 4,
		    NEURON_CAUSE_WINDOW);
}

TEST_F(sbuf, part_of_it)
{
	uint8_t seen[BYTES + 32];

	ASSERT_EQ(0, bind_sbuf(&self->user, self->fd,
			       DRM_NEURON_WINDOW_WRITE, 256, 64));
	neuron_fill(self->user.data, 64, 2);
	expect_copy(&self->user, GRANTED(0), DATA(0), 64, NEURON_CAUSE_NONE);
	ASSERT_EQ(0, look(&self->target, seen));
	EXPECT_EQ(64, neuron_differs(seen + 16 + 256, 64, 2));
	EXPECT_EQ(16 + 256, neuron_differs_from(seen, 16 + 256, 0));
	EXPECT_EQ(BYTES - 320, neuron_differs_from(seen + 16 + 320,
						   BYTES - 320, 0));
	expect_copy(&self->user, DATA(0), GRANTED(0), 64,
		    NEURON_CAUSE_RIGHTS);
	expect_copy(&self->user, GRANTED(0), DATA(0), 65,
		    NEURON_CAUSE_WINDOW);
}

TEST_F(sbuf, rights_and_ranges)
{
	struct rig *user = &self->user;
	int read_only = grant(&self->target, 0, 64,
			      DRM_NEURON_GRANT_SBUF_READ);
	int sem = grant(&self->target, 8, 4, 0);
	struct drm_neuron_window window = {
		.index = RIG_WINDOW_FREE,
		.kind = DRM_NEURON_WINDOW_SEM,
		.rights = DRM_NEURON_WINDOW_WRITE,
		.length = 4,
		.from = DRM_NEURON_FROM_GRANT_FD,
		.source = self->fd,
	};

	ASSERT_LT(0, read_only);
	ASSERT_LT(0, sem);
	EXPECT_EQ(-EPERM, bind_sbuf(user, read_only, BOTH, 0, 64));
	EXPECT_EQ(-EPERM, bind_sbuf(user, read_only, DRM_NEURON_WINDOW_WRITE,
				    0, 64));
	EXPECT_EQ(0, bind_sbuf(user, read_only, DRM_NEURON_WINDOW_READ, 0,
			       64));
	expect_copy(user, GRANTED(0), DATA(0), 4, NEURON_CAUSE_RIGHTS);

	EXPECT_EQ(-EINVAL, bind_sbuf(user, self->fd, BOTH, 0, 0));
	EXPECT_EQ(-EINVAL, bind_sbuf(user, self->fd, BOTH, 2, 4));
	EXPECT_EQ(-EINVAL, bind_sbuf(user, self->fd, BOTH, 0, BYTES + 1));
	EXPECT_EQ(-EINVAL, bind_sbuf(user, self->fd, BOTH, 4, BYTES));
	EXPECT_EQ(-EINVAL, bind_sbuf(user, self->fd, BOTH, BYTES, 4));
	EXPECT_EQ(-EINVAL, bind_sbuf(user, self->fd, BOTH, -4ull, 8));
	EXPECT_EQ(-EINVAL, bind_sbuf(user, self->fd, BOTH, 4, ~0ull));
	EXPECT_EQ(-EINVAL, bind_sbuf(user, self->fd, 0, 0, 4));
	EXPECT_EQ(-EBADF, bind_sbuf(user, -1, BOTH, 0, 4));
	EXPECT_EQ(-EBADF, bind_sbuf(user, user->fd, BOTH, 0, 4));
	/* Neither is good for the other. */
	EXPECT_EQ(-EBADF, bind_sbuf(user, sem, BOTH, 0, 4));
	EXPECT_EQ(-EBADF, rig_windows(user, &window, 1));
	close(sem);
	close(read_only);
}

TEST_F(sbuf, grant_arguments)
{
	struct rig *target = &self->target;
	const uint32_t size = NEURON_TPB_SBUF_SIZE;
	int fd;

	EXPECT_EQ(-EINVAL, grant(target, 0, 0, BOTH));
	EXPECT_EQ(-EINVAL, grant(target, 2, 4, BOTH));
	EXPECT_EQ(-EINVAL, grant(target, 0, 6, BOTH));
	EXPECT_EQ(-EINVAL, grant(target, 4, size, BOTH));
	EXPECT_EQ(-EINVAL, grant(target, size, 4, BOTH));
	EXPECT_EQ(-EINVAL, grant(target, -4u, 8, BOTH));
	EXPECT_EQ(-EINVAL, grant(target, 0, 4, 4));
	EXPECT_EQ(-EINVAL, grant(target, 0, 4, BOTH | 4));
	fd = grant(target, 0, size, BOTH);
	EXPECT_LT(0, fd);
	EXPECT_EQ(0, bind_sbuf(&self->user, fd, BOTH, 0, size));
	close(fd);
}

/*
 * The claim of the target has ended and another one has the core: the user's
 * window leads nowhere, and its grant makes no new one.
 */
static void expect_stale(struct __test_metadata *_metadata, struct rig *user,
			 int grant_fd)
{
	uint8_t seen[BYTES + 32];
	struct rig heir;

	ASSERT_EQ(0, rig_open(&heir, 0, 0));
	neuron_fill(user->data, BYTES, 3);
	expect_copy(user, GRANTED(0), DATA(0), BYTES, NEURON_CAUSE_NONE);
	ASSERT_EQ(0, look(&heir, seen));
	EXPECT_EQ(sizeof(seen), neuron_differs_from(seen, sizeof(seen), 0));
	expect_copy(user, DATA(0), GRANTED(0), 64, NEURON_CAUSE_FABRIC);
	EXPECT_EQ(64, neuron_differs(user->data, 64, 3));
	EXPECT_EQ(-EBADF, bind_sbuf(user, grant_fd, BOTH, 0, BYTES));
	rig_close(&heir);
}

TEST_F(sbuf, stale_after_release)
{
	ASSERT_EQ(0, bind_sbuf(&self->user, self->fd, BOTH, 0, BYTES));
	expect_copy(&self->user, GRANTED(0), DATA(0), 64, NEURON_CAUSE_NONE);
	rig_close(&self->target);
	expect_stale(_metadata, &self->user, self->fd);
}

/* Is there a hangup within @timeout_ms? */
static bool hung_up(int fd, int timeout_ms)
{
	struct pollfd poll_fd = { .fd = fd };

	return poll(&poll_fd, 1, timeout_ms) == 1 && poll_fd.revents == POLLHUP;
}

TEST_F(sbuf, hangup_after_release)
{
	EXPECT_FALSE(hung_up(self->fd, 0));
	ASSERT_EQ(0, rig_release(self->target.fd, self->target.claim));
	EXPECT_TRUE(hung_up(self->fd, 0));
}

/* Whoever waits already is woken. */
TEST_F(sbuf, hangup_wakes)
{
	int status;
	pid_t pid;

	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(hung_up(self->fd, LIMIT) ? 0 : 1);
	usleep(100000);
	/* The child has the target's file, too, so that closing it here would end nothing. */
	ASSERT_EQ(0, rig_release(self->target.fd, self->target.claim));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_F(sbuf, hangup_after_reset)
{
	ASSERT_EQ(0, neuron_reset_device(self->target.fd));
	EXPECT_TRUE(hung_up(self->fd, LIMIT));
	/* On the same chip the user's claim is lost, too. */
	EXPECT_EQ(variant->user ? -EBADF : -EIO,
		  bind_sbuf(&self->user, self->fd, BOTH, 0, 64));
}

static int import(int fd, int grant, uint32_t *handle)
{
	struct drm_neuron_grant_import args = { .fd = grant };
	int ret = neuron_ioctl(fd, DRM_IOCTL_NEURON_GRANT_IMPORT, &args);

	*handle = args.handle;
	return ret;
}

static int forget(int fd, uint32_t handle)
{
	struct drm_neuron_grant_close args = { .handle = handle };

	return neuron_ioctl(fd, DRM_IOCTL_NEURON_GRANT_CLOSE, &args);
}

static int bind_imported(struct rig *rig, uint32_t handle)
{
	struct drm_neuron_window window = {
		.index = RIG_WINDOW_FREE,
		.kind = DRM_NEURON_WINDOW_GRANT,
		.rights = BOTH,
		.length = BYTES,
		.from = DRM_NEURON_FROM_GRANT,
		.source = (int32_t)handle,
	};

	return rig_windows(rig, &window, 1);
}

/* A handle lives without the descriptor, in its file only, and the window without both. */
TEST_F(sbuf, imported)
{
	uint32_t handle, again;

	ASSERT_EQ(0, import(self->user.fd, self->fd, &handle));
	ASSERT_EQ(0, import(self->user.fd, self->fd, &again));
	EXPECT_NE(handle, again);
	close(self->fd);
	self->fd = -1;
	EXPECT_EQ(-EBADF, bind_imported(&self->target, handle));
	ASSERT_EQ(0, bind_imported(&self->user, handle));
	EXPECT_EQ(0, forget(self->user.fd, handle));
	EXPECT_EQ(-ENOENT, forget(self->user.fd, handle));
	EXPECT_EQ(-EBADF, bind_imported(&self->user, handle));
	neuron_fill(self->user.data, BYTES, 1);
	expect_copy(&self->user, GRANTED(0), DATA(0), BYTES, NEURON_CAUSE_NONE);
	EXPECT_EQ(0, bind_imported(&self->user, again));
	ASSERT_EQ(0, rig_release(self->target.fd, self->target.claim));
	EXPECT_EQ(-EBADF, bind_imported(&self->user, again));
}

/* Thousands take no descriptors; those that are left go with the file. */
TEST_F(sbuf, many_imports)
{
	uint32_t handle;
	int fd, n;

	fd = dup(self->fd);
	ASSERT_LT(0, fd);
	for (n = 0; n < 4000; n++)
		ASSERT_EQ(0, import(self->user.fd, fd, &handle)) TH_LOG("import %d", n);
	close(fd);
	EXPECT_EQ(0, bind_imported(&self->user, handle));
	EXPECT_EQ(0, forget(self->user.fd, handle));
}

static int send_fd(int socket, int fd)
{
	char control[CMSG_SPACE(sizeof(fd))] = { 0 };
	struct iovec iov = { .iov_base = "g", .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	return sendmsg(socket, &msg, 0) == 1 ? 0 : -errno;
}

static int receive_fd(int socket)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	char byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	int fd;

	if (recvmsg(socket, &msg, 0) != 1 || !CMSG_FIRSTHDR(&msg))
		return -EIO;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

/* Another process has the target, grants, and is killed. */
TEST_F(sbuf, stale_after_kill)
{
	int pair[2], fd, status;
	struct rig rig;
	pid_t child;

	rig_close(&self->target);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	child = fork();
	ASSERT_LE(0, child);
	if (!child) {
		if (rig_open(&rig, 0, 0))
			_exit(1);
		rig_loop(&rig, NEURON_ENGINE_SYNC, 0);
		fd = grant(&rig, FIRST, BYTES, BOTH);
		if (fd < 0 || rig_start(&rig, 60000) < 0 ||
		    send_fd(pair[1], fd))
			_exit(2);
		pause();
		_exit(3);
	}
	close(pair[1]);
	fd = receive_fd(pair[0]);
	ASSERT_LT(0, fd);
	ASSERT_EQ(0, bind_sbuf(&self->user, fd, BOTH, 0, BYTES));
	neuron_fill(self->user.data, 64, 9);
	expect_copy(&self->user, GRANTED(0), DATA(0), 64, NEURON_CAUSE_NONE);
	memset(self->user.data, 0, 64);
	expect_copy(&self->user, DATA(0), GRANTED(0), 64, NEURON_CAUSE_NONE);
	EXPECT_EQ(64, neuron_differs(self->user.data, 64, 9));

	ASSERT_EQ(0, kill(child, SIGKILL));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	ASSERT_TRUE(WIFSIGNALED(status));
	expect_stale(_metadata, &self->user, fd);
	close(fd);
	close(pair[0]);
}

/* A writer that never stops does not get into the next claim's memory. */
TEST_F(sbuf, writer_that_goes_on)
{
	uint8_t seen[BYTES + 32];
	struct neuron_inst *inst;
	struct rig heir;
	int64_t job;

	ASSERT_EQ(0, bind_sbuf(&self->user, self->fd, BOTH, 0, BYTES));
	rig_clear(&self->user);
	inst = rig_emit(&self->user, NEURON_ENGINE_SYNC, NEURON_OP_REG_SET);
	inst->reg[0] = 1;
	inst->imm0 = ~0u;
	inst = rig_emit(&self->user, NEURON_ENGINE_SYNC, NEURON_OP_REG_STORE);
	inst->reg[0] = 1;
	inst->addr = GRANTED(64);
	inst = rig_emit(&self->user, NEURON_ENGINE_SYNC, NEURON_OP_BRANCH);
	inst->op0 = NEURON_ALU_BYPASS;
	inst->addr = 1;		/* the store */
	job = rig_start(&self->user, 60000);
	ASSERT_LT(0, job);
	rig_close(&self->target);
	ASSERT_EQ(0, rig_open(&heir, 0, 0));
	ASSERT_EQ(0, look(&heir, seen));
	EXPECT_EQ(sizeof(seen), neuron_differs_from(seen, sizeof(seen), 0));
	EXPECT_EQ(-ETIMEDOUT, rig_wait(&self->user, job, 10, NULL));
	ASSERT_EQ(0, rig_cancel(&self->user, job));
	rig_close(&heir);
}

/* Nobody can ask for the results of a released claim, though a grant still names it. */
TEST(results_leave_with_the_claim)
{
	struct drm_neuron_wait_job result;
	struct rig other, rig;
	int fd, i, ret = rig_open(&other, 0, 1);
	long long before;

	if (ret == -ENODEV)
		SKIP(return, "no neuron device");
	ASSERT_EQ(0, ret);
	before = rig_charged(other.fd);
	ASSERT_LE(0, before) TH_LOG("debugfs must be mounted");
	ASSERT_EQ(0, rig_open(&rig, 0, 0));
	fd = grant(&rig, FIRST, BYTES, BOTH);
	ASSERT_LE(0, fd);
	for (i = 0; i < 20; i++) {
		rig_clear(&rig);
		rig_halt(&rig, NEURON_ENGINE_SYNC);
		ASSERT_EQ(0, rig_run(&rig, LIMIT, &result));
	}
	EXPECT_LT(before, rig_charged(other.fd));
	rig_close(&rig);
	EXPECT_TRUE(rig_charge_returns(other.fd, before));
	close(fd);
	rig_close(&other);
}

TEST_HARNESS_MAIN
