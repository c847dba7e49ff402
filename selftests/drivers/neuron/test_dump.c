// SPDX-License-Identifier: MIT
/*
 * Core dumps: what they say, who gets them, how long they are kept.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job_rig.h"
#include "kselftest_harness.h"
#include "neuron_test.h"

#define LIMIT	60000	/* ms; with memory a dump alone may take five seconds */
#define ENGINE	NEURON_ENGINE_VECTOR

FIXTURE(dump) {
	struct rig rig;
	struct rig_usage before;
	int fd;
	char *text;
};

FIXTURE_VARIANT(dump) {
	uint32_t flags;		/* of the claim */
};

FIXTURE_VARIANT_ADD(dump, plain) { .flags = 0 };
FIXTURE_VARIANT_ADD(dump, with_memory) {
	.flags = DRM_NEURON_CLAIM_DUMP_MEMORY,
};

FIXTURE_SETUP(dump)
{
	struct drm_neuron_claim claim = {
		.cores = 1,
		.flags = variant->flags,
	};

	self->text = NULL;
	self->fd = neuron_open(0);
	if (self->fd < 0)
		SKIP(return, "no neuron device");
	rig_usage(self->fd, &self->before);
	ASSERT_GE(self->before.live, 0) TH_LOG("debugfs must be mounted");
	ASSERT_EQ(0, rig_open(&self->rig, 0, 0));
	ASSERT_EQ(0, rig_release(self->rig.fd, self->rig.claim));
	must(self->rig.fd, CLAIM, &claim);
	self->rig.claim = claim.claim;
	ASSERT_EQ(0, rig_bind(&self->rig));
}

FIXTURE_TEARDOWN(dump)
{
	free(self->text);
	rig_close(&self->rig);
	if (self->fd < 0)
		return;
	EXPECT_FALSE(rig_leaks(self->fd, &self->before));
	close(self->fd);
}

static struct drm_neuron_dump dump_args(const struct rig *rig)
{
	return (struct drm_neuron_dump){
		.claim = rig->claim,
		.core = rig->core,
		.flags = DRM_NEURON_DUMP_MEMORY,
	};
}

/* The whole dump, NUL terminated; the caller frees it. NULL: see @error. */
static char *fetch(const struct rig *rig, uint64_t *job, int *error)
{
	struct drm_neuron_dump args = dump_args(rig);
	uint32_t size;
	char *text;

	*error = neuron_ioctl(rig->fd, DRM_IOCTL_NEURON_DUMP, &args);
	if (*error)
		return NULL;
	size = args.size;
	text = calloc(1, size + 1);
	args.pointer = (uintptr_t)text;
	*error = neuron_ioctl(rig->fd, DRM_IOCTL_NEURON_DUMP, &args);
	if (!*error && args.size != size)
		*error = -EBADMSG;
	if (*error) {
		free(text);
		return NULL;
	}
	*job = args.job;
	return text;
}

/* Is there a line that begins like this? */
static int has_line(const char *text, const char *start)
{
	const char *at = text;

	while ((at = strstr(at, start))) {
		if (at == text || at[-1] == '\n')
			return 1;
		at++;
	}
	return 0;
}

#define expect_line(start) \
	EXPECT_TRUE(has_line(self->text, start)) \
		TH_LOG("no line '%s' in:\n%.3000s", start, self->text)

static void emit_fault(struct rig *rig)
{
	rig_clear(rig);
	rig_emit(rig, ENGINE, NEURON_OP_NOP);
	rig_emit(rig, ENGINE, NEURON_OP_ILLEGAL);
}

/* Something in the core's memory, then the vector engine waits for ever. */
static void emit_hang(struct rig *rig)
{
	struct neuron_inst *inst;

	rig_clear(rig);
	neuron_fill(rig->data, 64, 9);
	rig_copy(rig, NEURON_ENGINE_SYNC,
		 neuron_window_addr(RIG_WINDOW_SBUF, 0x40000 + 64),
		 neuron_window_addr(RIG_WINDOW_DATA, 0), 64);
	rig_halt(rig, NEURON_ENGINE_SYNC);
	inst = rig_emit(rig, NEURON_ENGINE_SCALAR, NEURON_OP_NOP);
	inst->sync = NEURON_PUT(NEURON_SYNC_POST, NEURON_SYNC_POST_ADD);
	inst->post_sem = 77;
	inst->post_value = 2;
	rig_halt(rig, NEURON_ENGINE_SCALAR);
	inst = rig_emit(rig, ENGINE, NEURON_OP_NOP);
	inst->sync = NEURON_PUT(NEURON_SYNC_WAIT, NEURON_SYNC_WAIT_GE);
	inst->wait_sem = 77;
	inst->wait_value = 3;
	rig_halt(rig, ENGINE);
}

TEST_F(dump, of_a_fault)
{
	struct drm_neuron_wait_job result;
	uint64_t job;
	int error;

	emit_fault(&self->rig);
	ASSERT_EQ(0, rig_run(&self->rig, LIMIT, &result));
	ASSERT_EQ(NEURON_JOB_ERROR, result.status);
	self->text = fetch(&self->rig, &job, &error);
	ASSERT_NE(NULL, self->text) TH_LOG("%s", strerror(-error));
	EXPECT_EQ(1, job);
	expect_line("neuron core dump 2\n");
	expect_line("core: 0\n");
	expect_line("job: 1\n");
	expect_line("reason: unknown opcode: vector engine pc 1\n");
	expect_line("engine tensor: pc ");
	expect_line("register generation: ");
	expect_line("window 0: hbm r- length 0x40000 offset 0x0 buffer 0x80000");
	expect_line("window 1: hbm rw length 0x40000 offset 0x40000 ");
	expect_line("window 2: sbuf rw length ");
	expect_line("window 3: sem rw length 0x400 first 0 generation ");
	EXPECT_FALSE(has_line(self->text, "unfinished:"));
}

TEST_F(dump, of_a_hang)
{
	struct drm_neuron_wait_job result;
	uint64_t job;
	char hex[129];
	unsigned int i;
	int error;

	emit_hang(&self->rig);
	ASSERT_EQ(0, rig_run(&self->rig, 300, &result));
	ASSERT_TRUE(result.flags & DRM_NEURON_JOB_HANG);
	self->text = fetch(&self->rig, &job, &error);
	ASSERT_NE(NULL, self->text) TH_LOG("%s", strerror(-error));
	expect_line("reason: hang\n");
	expect_line("engine vector: pc 0 state waiting semaphore 77\n");
	expect_line("wait vector: semaphore 77 value 2 last changed by ");
	expect_line("unfinished: engine vector\n");
	expect_line("semaphore 77: 2\n");
	expect_line("queue 0: dma ");

	EXPECT_EQ(!!variant->flags, has_line(self->text, "sbuf ")) return;
	if (!variant->flags)
		return;
	for (i = 0; i < 64; i++)
		snprintf(hex + 2 * i, 3, "%02x", neuron_pattern(i, 9));
	EXPECT_NE(NULL, strstr(self->text, "sbuf 001 0x000040 "));
	EXPECT_NE(NULL, strstr(self->text, "sbuf 001 0x000060 "));
	EXPECT_EQ(NULL, strstr(self->text, "sbuf 001 0x000020 "));
	EXPECT_NE(NULL, strstr(self->text, hex + 64));
	hex[64] = 0;
	EXPECT_NE(NULL, strstr(self->text, hex));
}

static int bind_grant(struct rig *rig, int grant)
{
	struct drm_neuron_window window = {
		.index = RIG_WINDOW_FREE,
		.kind = DRM_NEURON_WINDOW_SEM,
		.rights = DRM_NEURON_WINDOW_WRITE,
		.length = 4,
		.from = DRM_NEURON_FROM_GRANT_FD,
		.source = grant,
	};

	return rig_windows(rig, &window, 1);
}

/* Who could have posted: the holders of grants. */
TEST_F(dump, names_holders_of_grants)
{
	struct drm_neuron_grant grant = {
		.claim = self->rig.claim,
		.core = self->rig.core,
		.first = 70,
		.count = 10,
	};
	struct drm_neuron_wait_job result;
	char want[80];
	uint64_t job;
	int error;

	must(self->rig.fd, GRANT, &grant);
	emit_hang(&self->rig);
	ASSERT_EQ(0, rig_run(&self->rig, 100, &result));
	self->text = fetch(&self->rig, &job, &error);
	ASSERT_NE(NULL, self->text) TH_LOG("%s", strerror(-error));
	expect_line("granted: semaphore 77 to nobody ");

	ASSERT_EQ(0, bind_grant(&self->rig, grant.fd));
	ASSERT_EQ(0, rig_run(&self->rig, 100, &result));
	free(self->text);
	self->text = fetch(&self->rig, &job, &error);
	ASSERT_NE(NULL, self->text) TH_LOG("%s", strerror(-error));
	snprintf(want, sizeof(want), "granted: semaphore 77 to pid %d test_dump\n",
		 getpid());
	expect_line(want);
	close(grant.fd);
}

#define SAYS_PID	1
#define SAYS_ELSEWHERE	2

/*
 * As the first process of a pid namespace: give a grant, and when somebody has used it, use it as
 * well. What the dump says of the two; 0: something else went wrong.
 */
static int own_elsewhere(int to_parent, int from_parent)
{
	struct drm_neuron_grant grant = { .core = 1, .first = 70, .count = 10 };
	struct rig rig;
	uint64_t job;
	char *text;
	int error;

	if (rig_open(&rig, 0, 1))
		return 0;
	grant.claim = rig.claim;
	if (neuron_ioctl(rig.fd, DRM_IOCTL_NEURON_GRANT, &grant) ||
	    write(to_parent, &grant.fd, sizeof(grant.fd)) != sizeof(grant.fd) ||
	    read(from_parent, &error, sizeof(error)) != sizeof(error) ||
	    bind_grant(&rig, grant.fd))
		return 0;
	emit_hang(&rig);
	if (rig_run(&rig, 100, NULL))
		return 0;
	text = fetch(&rig, &job, &error);
	if (!text)
		return 0;
	return (has_line(text, "granted: semaphore 77 to pid 1 test_dump\n") ? SAYS_PID : 0) |
	       (has_line(text, "granted: semaphore 77 to a process of another pid namespace\n") ?
		SAYS_ELSEWHERE : 0);
}

/* Start it, and tell its number; the exit status is that of own_elsewhere(). */
static void start_elsewhere(int number, int to_parent, int from_parent)
{
	int status = 0;
	pid_t pid;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWPID))
		_exit(0);
	pid = fork();
	if (!pid) {
		/* Otherwise it would keep its core when the test fails. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(own_elsewhere(to_parent, from_parent));
	}
	if (write(number, &pid, sizeof(pid)) != sizeof(pid) ||
	    waitpid(pid, &status, 0) != pid)
		_exit(0);
	_exit(WEXITSTATUS(status));
}

/* The owner learns no number of a process outside of its pid namespace. */
TEST_F(dump, pids_are_those_of_the_owner)
{
	int number[2], up[2], down[2], owner, fd, pidfd, grant, status = 0, i;
	pid_t pid;

	ASSERT_EQ(0, pipe(number));
	ASSERT_EQ(0, pipe(up));
	ASSERT_EQ(0, pipe(down));
	pid = fork();
	if (!pid) {
		/* When the test fails before it writes, its end of the pipe is the last one. */
		close(down[1]);
		start_elsewhere(number[1], up[1], down[0]);
	}
	close(number[1]);
	close(up[1]);
	ASSERT_EQ(sizeof(owner), read(number[0], &owner, sizeof(owner)));
	ASSERT_EQ(sizeof(fd), read(up[0], &fd, sizeof(fd)));
	pidfd = syscall(SYS_pidfd_open, owner, 0);
	ASSERT_LE(0, pidfd);
	grant = syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	ASSERT_LE(0, grant);
	ASSERT_EQ(0, bind_grant(&self->rig, grant));
	ASSERT_EQ(sizeof(int), write(down[1], &grant, sizeof(int)));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(SAYS_PID | SAYS_ELSEWHERE, WEXITSTATUS(status));
	close(grant);
	close(pidfd);
	close(number[0]);
	close(up[0]);
	for (i = 0; i < 2; i++)
		close(down[i]);
}

/* A stream of four entries, written six times. */
TEST_F(dump, has_the_last_notifications)
{
	struct drm_neuron_bo_create bo = {
		.size = 4096,
		.placement = DRM_NEURON_BO_HOST,
		.flags = DRM_NEURON_BO_STREAM,
	};
	struct rig_submit submit;
	struct drm_neuron_queue queue;
	uint64_t job;
	char *first;
	int error, i;

	must(self->rig.fd, BO_CREATE, &bo);
	rig_clear(&self->rig);
	for (i = 0; i < 6; i++)
		rig_emit(&self->rig, ENGINE, NEURON_OP_NOTIFY)->imm0 = 0x100 + i;
	rig_emit(&self->rig, ENGINE, NEURON_OP_ILLEGAL);
	rig_prepare(&self->rig, &submit, &queue);
	submit.job.stream = bo.handle;
	submit.job.stream_offset = 128;
	submit.job.notify_size = 64;
	ASSERT_EQ(0, rig_submit(&self->rig, &submit));
	ASSERT_EQ(0, rig_wait(&self->rig, submit.call.job, LIMIT, NULL));
	self->text = fetch(&self->rig, &job, &error);
	ASSERT_NE(NULL, self->text) TH_LOG("%s", strerror(-error));
	first = strstr(self->text, "\nnotify: engine vector pc 2 tag 0x102 ");
	ASSERT_NE(NULL, first) TH_LOG("%s", self->text);
	first = strstr(first, "\nnotify: engine vector pc 3 tag 0x103 ");
	ASSERT_NE(NULL, first) TH_LOG("%s", self->text);
	first = strstr(first, "\nnotify: engine vector pc 5 tag 0x105 ");
	ASSERT_NE(NULL, first) TH_LOG("%s", self->text);
	EXPECT_EQ(NULL, strstr(self->text, "tag 0x101 "));

	/* Those of the next job go to a window of its own, which is in no dump. */
	rig_clear(&self->rig);
	rig_emit(&self->rig, ENGINE, NEURON_OP_ILLEGAL);
	rig_prepare(&self->rig, &submit, &queue);
	submit.job.notify_addr = neuron_window_addr(RIG_WINDOW_DATA, 128);
	submit.job.notify_size = 64;
	ASSERT_EQ(0, rig_submit(&self->rig, &submit));
	ASSERT_EQ(0, rig_wait(&self->rig, submit.call.job, LIMIT, NULL));
	free(self->text);
	self->text = fetch(&self->rig, &job, &error);
	ASSERT_NE(NULL, self->text) TH_LOG("%s", strerror(-error));
	EXPECT_EQ(submit.call.job, job);
	EXPECT_EQ(NULL, strstr(self->text, "\nnotify:")) TH_LOG("%s", self->text);
	ASSERT_EQ(0, neuron_bo_close(self->rig.fd, bo.handle));
}

/* The last one is kept, successes do not matter. */
TEST_F(dump, is_the_last_one)
{
	struct drm_neuron_wait_job result;
	uint64_t job;
	int error;

	self->text = fetch(&self->rig, &job, &error);
	ASSERT_EQ(NULL, self->text);
	EXPECT_EQ(-ENOENT, error);

	emit_fault(&self->rig);
	ASSERT_EQ(0, rig_run(&self->rig, LIMIT, &result));
	ASSERT_EQ(0, rig_run(&self->rig, LIMIT, &result));
	rig_clear(&self->rig);
	rig_halt(&self->rig, ENGINE);
	ASSERT_EQ(0, rig_run(&self->rig, LIMIT, &result));
	ASSERT_EQ(NEURON_JOB_OK, result.status);
	self->text = fetch(&self->rig, &job, &error);
	ASSERT_NE(NULL, self->text) TH_LOG("%s", strerror(-error));
	EXPECT_EQ(2, job);
	expect_line("job: 2\n");
}

TEST_F(dump, ends_with_the_claim)
{
	struct drm_neuron_dump args = dump_args(&self->rig);
	struct drm_neuron_claim claim;
	struct drm_neuron_wait_job result;

	emit_fault(&self->rig);
	ASSERT_EQ(0, rig_run(&self->rig, LIMIT, &result));
	must(self->rig.fd, DUMP, &args);
	ASSERT_EQ(0, rig_release(self->rig.fd, self->rig.claim));
	must_fail(ENOENT, self->rig.fd, DUMP, &args);
	ASSERT_EQ(0, rig_claim(self->rig.fd, 1, 0, &claim));
	args.claim = claim.claim;
	must_fail(ENOENT, self->rig.fd, DUMP, &args);
}

TEST_F(dump, arguments)
{
	struct drm_neuron_dump args = dump_args(&self->rig);
	struct drm_neuron_wait_job result;
	char part[17] = "................";

	emit_fault(&self->rig);
	ASSERT_EQ(0, rig_run(&self->rig, LIMIT, &result));
	must(self->rig.fd, DUMP, &args);
	EXPECT_GT(args.size, 500);

	/* A part of it, and not a byte more. */
	args.size = 15;
	args.pointer = (uintptr_t)part;
	must(self->rig.fd, DUMP, &args);
	EXPECT_STREQ("neuron core dum.", part);
	EXPECT_GT(args.size, 500);

	args.pointer = 8;
	must_fail(EFAULT, self->rig.fd, DUMP, &args);
	args.pointer = 0;
	args.flags = ~DRM_NEURON_DUMP_MEMORY;
	must_fail(EINVAL, self->rig.fd, DUMP, &args);
	args.flags = 0;
	args.core = 1;
	must_fail(EINVAL, self->rig.fd, DUMP, &args);
	args.core = 0;
	args.claim++;
	must_fail(ENOENT, self->rig.fd, DUMP, &args);
}

/* Also the machine's collector of core dumps gets it, without memories. */
TEST_F(dump, is_published)
{
	struct drm_neuron_wait_job result;
	char text[40];

	/* One that an earlier test left would keep ours out. */
	neuron_take_dump(self->rig.fd, text, sizeof(text));
	emit_fault(&self->rig);
	ASSERT_EQ(0, rig_run(&self->rig, LIMIT, &result));
	free(fetch(&self->rig, &(uint64_t){ 0 }, &(int){ 0 }));
	ASSERT_LT(0, neuron_take_dump(self->rig.fd, text, sizeof(text)));
	EXPECT_TRUE(has_line(text, "neuron core dump 2"));
}

/* Readers while dumps are replaced and claims end. */
static void *read_dumps(void *data)
{
	struct drm_neuron_dump args = *(struct drm_neuron_dump *)data;
	char *text = malloc(1 << 20);
	int fd = (int)args.job, ret, i;

	for (i = 0; i < 300; i++) {
		args.size = 1 << 20;
		args.pointer = (uintptr_t)text;
		ret = neuron_ioctl(fd, DRM_IOCTL_NEURON_DUMP, &args);
		if (ret && ret != -ENOENT)
			break;
	}
	free(text);
	return (void *)(intptr_t)(i < 300);
}

TEST_F(dump, readers_and_faults)
{
	struct drm_neuron_dump args = dump_args(&self->rig);
	pthread_t thread[3];
	unsigned int i;
	void *failed;

	args.job = self->rig.fd;
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, read_dumps,
					    &args));
	emit_fault(&self->rig);
	for (i = 0; i < (variant->flags ? 4 : 20); i++)
		EXPECT_EQ(0, rig_run(&self->rig, LIMIT, NULL));
	EXPECT_EQ(0, rig_release(self->rig.fd, self->rig.claim));
	for (i = 0; i < 3; i++) {
		pthread_join(thread[i], &failed);
		EXPECT_EQ(NULL, failed);
	}
}

TEST_HARNESS_MAIN
