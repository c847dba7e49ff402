// SPDX-License-Identifier: MIT
/*
 * Memory cgroups: what a process has in host memory counts against its group, whose
 * limit is told as ENOMEM and kills nobody.
 */
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "job_rig.h"
#include "kselftest_harness.h"
#include "neuron_test.h"

#define MIB	(1024ll * 1024)
#define LIMIT	(64 * MIB)
#define ROOM	(8 * MIB)	/* of the processes themselves */
#define STUCK	64		/* threads */
#define STUCK_SIZE	(8 * MIB)	/* that a copy has pieces for, all at once */
#define STUCK_BYTES	(100 * 1024)	/* of kernel memory, at least, that it has for them */
#define STUCK_WAIT	600		/* looks, each tenth of a second */
#define NO_FAULTFD	77
#define ROOT	"/tmp/neuron-memcg"
#define GROUP	ROOT "/limited"

static long long group_number(const char *name)
{
	char path[128], text[64];

	snprintf(path, sizeof(path), GROUP "/%s", name);
	if (neuron_read_line(path, text, sizeof(text)))
		return -1;
	return strtoll(text, NULL, 10);
}

/* Of memory.events: how many were killed for want of memory. */
static long long killed(void)
{
	char text[512];
	const char *at;

	if (neuron_read_file(GROUP "/memory.events", text, sizeof(text)) <= 0)
		return -1;
	at = strstr(text, "oom_kill ");
	return at ? strtoll(at + strlen("oom_kill "), NULL, 10) : -1;
}

static int group_put(const char *name, long long value)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), GROUP "/%s", name);
	snprintf(text, sizeof(text), "%lld", value);
	return neuron_write_file(path, text);
}

FIXTURE(memcg) {
	struct rig_usage before;
	int fd;
	bool mounted;
};

FIXTURE_SETUP(memcg)
{
	self->mounted = false;
	self->fd = neuron_open(0);
	if (self->fd < 0)
		SKIP(return, "no neuron device");
	rig_usage(self->fd, &self->before);
	mkdir(ROOT, 0755);
	if (mount("none", ROOT, "cgroup2", 0, NULL))
		SKIP(return, "no cgroup2 in this kernel");
	self->mounted = true;
	if (neuron_write_file(ROOT "/cgroup.subtree_control", "+memory"))
		SKIP(return, "no memory controller in this kernel");
	mkdir(GROUP, 0755);
	ASSERT_EQ(0, group_put("memory.max", LIMIT));
}

FIXTURE_TEARDOWN(memcg)
{
	if (self->mounted) {
		rmdir(GROUP);
		umount(ROOT);
	}
	rmdir(ROOT);
	if (self->fd < 0)
		return;
	EXPECT_FALSE(rig_leaks(self->fd, &self->before));
	close(self->fd);
}

/* Inside of the group; the step that went wrong, or 0. */
static int in_group(void)
{
	struct drm_neuron_bo_create bo, more;
	long long base, full;
	int fd, ret;

	if (group_put("cgroup.procs", getpid()))
		return 1;
	fd = neuron_open(0);
	if (fd < 0)
		return 2;
	base = group_number("memory.current");
	if (neuron_bo_create(fd, DRM_NEURON_BO_HOST, 0, LIMIT / 2, &bo))
		return 3;
	full = group_number("memory.current");
	if (full - base < LIMIT / 2)
		return 4;
	/* Twice: the first time must have given back what it had got. */
	ret = neuron_bo_create(fd, DRM_NEURON_BO_HOST, 0, LIMIT, &more);
	if (ret != -ENOMEM)
		return 5;
	ret = neuron_bo_create(fd, DRM_NEURON_BO_HOST, 0, LIMIT, &more);
	if (ret != -ENOMEM)
		return 6;
	if (neuron_bo_create(fd, DRM_NEURON_BO_HOST, 0, LIMIT / 8, &more))
		return 7;
	if (neuron_bo_close(fd, bo.handle) || neuron_bo_close(fd, more.handle))
		return 8;
	/* Charges go in batches. */
	if (group_number("memory.current") - base > ROOM)
		return 9;
	close(fd);
	return 0;
}

TEST_F(memcg, host_buffers_count)
{
	int status = 0;
	pid_t pid = fork();

	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(in_group());
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFEXITED(status)) TH_LOG("killed by signal %d",
					      WTERMSIG(status));
	EXPECT_EQ(0, WEXITSTATUS(status)) TH_LOG("a step inside of the group");
	EXPECT_EQ(0, killed());
}

struct stuck {
	int fd;
	uint32_t handle;
	void *map;
};

static void *copy_stuck(void *arg)
{
	const struct stuck *stuck = arg;

	neuron_write(stuck->fd, stuck->handle, 0, stuck->map, STUCK_SIZE);
	return NULL;
}

/* Memory that is never there: who touches it waits. */
static void *map_stuck(int uffd)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	void *map = mmap(NULL, STUCK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);

	reg.range.start = (uintptr_t)map;
	reg.range.len = STUCK_SIZE;
	if (map == MAP_FAILED || ioctl(uffd, UFFDIO_API, &api) ||
	    ioctl(uffd, UFFDIO_REGISTER, &reg))
		return NULL;
	return map;
}

/* The same of copies that wait for user memory. The end of the process ends them. */
static int stuck_in_group(void)
{
	int uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK), i;
	struct drm_neuron_bo_create bo;
	pthread_t thread[STUCK];
	struct stuck stuck;
	long long base;

	if (uffd < 0)
		return NO_FAULTFD;
	if (group_put("cgroup.procs", getpid()))
		return 1;
	stuck.fd = neuron_open(0);
	stuck.map = map_stuck(uffd);
	if (stuck.fd < 0 || !stuck.map ||
	    neuron_bo_create(stuck.fd, DRM_NEURON_BO_HBM, 0, STUCK_SIZE, &bo))
		return 2;
	stuck.handle = bo.handle;
	base = group_number("memory.current");
	for (i = 0; i < STUCK; i++)
		if (pthread_create(&thread[i], NULL, copy_stuck, &stuck))
			return 3;
	for (i = 0; i < STUCK_WAIT; i++) {
		if (group_number("memory.current") - base > STUCK * STUCK_BYTES)
			return 0;
		usleep(100000);
	}
	return 4;
}

TEST_F_TIMEOUT(memcg, copies_count, 120)
{
	int status = 0;
	pid_t pid = fork();

	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(stuck_in_group());
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFEXITED(status));
	if (WEXITSTATUS(status) == NO_FAULTFD)
		SKIP(return, "no userfaultfd in this kernel");
	EXPECT_EQ(0, WEXITSTATUS(status)) TH_LOG("a step inside of the group");
}

TEST_HARNESS_MAIN
