// SPDX-License-Identifier: MIT
/*
 * An unprivileged user of the device, and what processes inherit from each other:
 * no host addresses, no doors that are the administrator's.
 */
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "hostile.h"
#include "job_rig.h"
#include "kselftest_harness.h"

#define NOBODY	65534

FIXTURE(user) {
	struct victim victim;
	int fd;
	int report[2];
};

FIXTURE_SETUP(user)
{
	self->fd = neuron_open(0);
	if (self->fd < 0)
		SKIP(return, "no neuron device");
	ASSERT_EQ(0, victim_open(&self->victim, 0));
	ASSERT_EQ(0, pipe(self->report));
}

FIXTURE_TEARDOWN(user)
{
	if (self->fd < 0)
		return;
	EXPECT_TRUE(victim_is_unhurt(&self->victim));
	victim_close(&self->victim);
	close(self->fd);
	close(self->report[0]);
	close(self->report[1]);
}

static bool become_nobody(void)
{
	return !setgroups(0, NULL) && !setresgid(NOBODY, NOBODY, NOBODY) &&
	       !setresuid(NOBODY, NOBODY, NOBODY);
}

/* A line for each door that is open but should not be. */
static void nobody_lives(const char *node, int report, const char *address)
{
	static const char *const files[] = { "hbm", "claims", "copy" };
	struct drm_neuron_bo_create hbm, host;
	struct drm_neuron_bo_info info = { 0 };
	struct drm_gem_flink flink = { 0 };
	struct drm_gem_open open_name = { .name = 1 };
	char path[128];
	unsigned int i;
	int fd;

#define DOOR(closed, text) do { \
	if (!(closed)) \
		dprintf(report, "%s\n", text); \
} while (0)
	DOOR(become_nobody(), "cannot become nobody");
	fd = open(node, O_RDWR | O_CLOEXEC);
	DOOR(!neuron_bo_create(fd, DRM_NEURON_BO_HOST, 0, 4096, &host) &&
	     !neuron_bo_create(fd, DRM_NEURON_BO_HBM, 0, 4096, &hbm),
	     "the device should work for its users");
	info.handle = host.handle;
	info.device_addr = ~0ull;
	DOOR(!neuron_ioctl(fd, DRM_IOCTL_NEURON_BO_INFO, &info) &&
	     !info.device_addr, "the address of a host buffer");
	flink.handle = hbm.handle;
	DOOR(neuron_ioctl(fd, DRM_IOCTL_GEM_FLINK, &flink) == -EACCES,
	     "global names of buffers");
	DOOR(neuron_ioctl(fd, DRM_IOCTL_GEM_OPEN, &open_name) == -EACCES,
	     "buffers by global names");
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/accel/%s/%s",
			 address, files[i]);
		DOOR(open(path, O_RDONLY) < 0, path);
	}
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource0",
		 address);
	DOOR(open(path, O_RDWR) < 0, "BAR0");
	DOOR(open("/sys/bus/pci/drivers/neuron/unbind", O_WRONLY) < 0,
	     "unbind");
	/* An unprivileged look at oneself tells nothing of addresses. */
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/device_name",
		 address);
	DOOR(open(path, O_RDONLY) >= 0, "device_name should be readable");
	DOOR(open(path, O_WRONLY) < 0, "device_name can be written");
}

TEST_F(user, without_privileges)
{
	struct drm_neuron_device_info info;
	char text[1024], address[16], node[64] = "";
	struct stat st;
	ssize_t length;
	pid_t pid;

	ASSERT_EQ(0, neuron_query(self->fd, DRM_NEURON_QUERY_DEVICE, &info,
				  sizeof(info)));
	snprintf(address, sizeof(address), "%04x:%02x:%02x.%x",
		 info.pci_domain & 0xffff, info.pci_bus & 0xff,
		 info.pci_devfn >> 3 & 0x1f, info.pci_devfn & 7);
	snprintf(text, sizeof(text), "/proc/self/fd/%d", self->fd);
	ASSERT_GT(readlink(text, node, sizeof(node) - 1), 0);
	ASSERT_EQ(0, stat(node, &st));
	EXPECT_EQ(0, st.st_mode & 0007) TH_LOG("%s is everybody's", node);

	/* As a machine's administrator lets somebody use it. */
	ASSERT_EQ(0, chmod(node, 0666));
	pid = fork();
	if (!pid) {
		nobody_lives(node, self->report[1], address);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	EXPECT_EQ(0, chmod(node, st.st_mode & 07777));
	ASSERT_EQ(5, write(self->report[1], "#end\n", 5));
	length = read(self->report[0], text, sizeof(text) - 1);
	ASSERT_GT(length, 0);
	text[length] = '\0';
	EXPECT_STREQ("#end\n", text) TH_LOG("open doors: %s", text);
}

/* A child is the same client: it uses what the parent claimed, and ends nothing. */
TEST_F(user, forked_child)
{
	struct drm_neuron_wait_job result;
	struct rig rig;
	int status;
	pid_t pid;

	ASSERT_EQ(0, rig_open(&rig, 0, 0));
	rig_store(&rig, NEURON_ENGINE_SYNC, 0, 0x600d);
	rig_halt(&rig, NEURON_ENGINE_SYNC);
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		if (rig_run(&rig, 5000, &result) ||
		    result.status != NEURON_JOB_OK || rig.data[0] != 0x0d)
			_exit(1);
		rig_close(&rig);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0x0d, rig.data[0]);
	rig.data[0] = 0;
	ASSERT_EQ(0, rig_run(&rig, 5000, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	EXPECT_EQ(0x0d, rig.data[0]);
	rig_close(&rig);
}

/* The kernel's ways into another process do not go through to the device. */
TEST_F(user, memory_of_a_tracee)
{
	struct iovec to, from;
	uint8_t byte = 0;
	uint8_t *map;
	int ready[2], status;
	pid_t pid;

	map = self->victim.map[0];
	if (process_vm_readv(getpid(), NULL, 0, NULL, 0, 0) < 0 && errno == ENOSYS)
		SKIP(return, "this kernel has no process_vm_readv");
	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		close(ready[1]);
		if (read(ready[0], &byte, 1) < 0)
			_exit(1);
		_exit(map[0] != neuron_pattern(0, 1000));
	}
	close(ready[0]);
	to = (struct iovec){ .iov_base = &byte, .iov_len = 1 };
	from = (struct iovec){ .iov_base = map, .iov_len = 1 };
	EXPECT_EQ(-1, process_vm_readv(pid, &to, 1, &from, 1, 0));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, process_vm_writev(pid, &to, 1, &from, 1, 0));
	EXPECT_EQ(EFAULT, errno);
	close(ready[1]);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* A child of vfork() that is killed takes nothing of its parent along. */
TEST_F(user, vfork)
{
	struct drm_neuron_bo_create bo;
	int status;
	pid_t pid;

	pid = vfork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		syscall(SYS_kill, syscall(SYS_getpid), 9);
		_exit(1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_EQ(0, neuron_bo_create(self->fd, DRM_NEURON_BO_HBM, 0, 4096,
				      &bo));
}

TEST_HARNESS_MAIN
