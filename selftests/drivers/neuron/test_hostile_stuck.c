// SPDX-License-Identifier: MIT
/*
 * User memory that is never there: a process that answers the faults of its own
 * memory, or does not, keeps no one but itself from anything, not even the removal
 * of the device.
 */
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "job_rig.h"
#include "kselftest_harness.h"
#include "neuron_test.h"

#define UNBIND	"/sys/bus/pci/drivers/neuron/unbind"
#define BIND	"/sys/bus/pci/drivers/neuron/bind"
#define WAIT_S	60	/* for what must not wait */
#define THERE	(8u << 20)	/* bytes before the page: some pieces of a copy */

FIXTURE(stuck) {
	struct rig rig;
	int uffd;
	uint8_t *map;
	uint8_t *page;
	char address[16];
};

FIXTURE_SETUP(stuck)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct drm_neuron_device_info info;
	int ret = rig_open(&self->rig, 0, 0);

	if (ret == -ENODEV)
		SKIP(return, "no neuron device");
	ASSERT_EQ(0, ret);
	/* poll() of one that blocks says only that it blocks. */
	self->uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (self->uffd < 0)
		SKIP(return, "no userfaultfd in this kernel");
	ASSERT_EQ(0, ioctl(self->uffd, UFFDIO_API, &api));
	self->map = mmap(NULL, THERE + 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->map);
	self->page = self->map + THERE;
	reg.range.start = (uintptr_t)self->page;
	reg.range.len = 4096;
	/*
	 * Before the bytes are written: where the mapping has merged with the one behind it, a huge
	 * page of the last of them would bring this page too.
	 */
	ASSERT_EQ(0, ioctl(self->uffd, UFFDIO_REGISTER, &reg));
	memset(self->map, 1, THERE);
	ASSERT_EQ(0, neuron_query(self->rig.fd, DRM_NEURON_QUERY_DEVICE, &info,
				  sizeof(info)));
	snprintf(self->address, sizeof(self->address), "%04x:%02x:%02x.%x",
		 info.pci_domain & 0xffff, info.pci_bus & 0xff,
		 info.pci_devfn >> 3 & 0x1f, info.pci_devfn & 7);
}

FIXTURE_TEARDOWN(stuck)
{
	if (self->uffd > 0)
		close(self->uffd);
	if (self->map && self->map != MAP_FAILED)
		munmap(self->map, THERE + 4096);
	rig_close(&self->rig);
}

/* Which array of which call is never there, or what a COPY comes to at its end. */
enum stuck_array {
	STUCK_WINDOWS,
	STUCK_QUEUES,
	STUCK_IN_SYNCS,
	STUCK_OUT_SYNCS,
	STUCK_SUBMIT_WINDOWS,
	STUCK_COPY,
};

FIXTURE_VARIANT(stuck) {
	enum stuck_array array;
};

FIXTURE_VARIANT_ADD(stuck, windows) { .array = STUCK_WINDOWS };
FIXTURE_VARIANT_ADD(stuck, queues) { .array = STUCK_QUEUES };
FIXTURE_VARIANT_ADD(stuck, in_syncs) { .array = STUCK_IN_SYNCS };
FIXTURE_VARIANT_ADD(stuck, out_syncs) { .array = STUCK_OUT_SYNCS };
FIXTURE_VARIANT_ADD(stuck, submit_windows) { .array = STUCK_SUBMIT_WINDOWS };
FIXTURE_VARIANT_ADD(stuck, copy) { .array = STUCK_COPY };

struct stuck_call {
	struct rig *rig;
	uint8_t *page;
	enum stuck_array array;
	int ret;
};

/* The pieces before the page are mapped, and perhaps complete, when it waits. */
static int copy(const struct stuck_call *c)
{
	struct drm_neuron_bo_create bo;
	int ret = neuron_bo_create(c->rig->fd, DRM_NEURON_BO_HBM, 0,
				   THERE + 4096, &bo);

	return ret ? ret : neuron_write(c->rig->fd, bo.handle, 0,
					c->page - THERE, THERE + 4096);
}

static void *call(void *arg)
{
	struct stuck_call *c = arg;
	const struct drm_neuron_array array = {
		.stride = sizeof(struct drm_neuron_window),
		.count = 1,
		.pointer = (uintptr_t)c->page,
	};
	struct drm_neuron_windows windows = {
		.claim = c->rig->claim,
		.core = c->rig->core,
		.windows = array,
	};
	struct rig_submit submit;
	struct drm_neuron_queue queue;

	rig_prepare(c->rig, &submit, &queue);
	switch (c->array) {
	case STUCK_WINDOWS:
		c->ret = neuron_ioctl(c->rig->fd, DRM_IOCTL_NEURON_WINDOWS,
				      &windows);
		return NULL;
	case STUCK_QUEUES:
		submit.job.queues = array;
		break;
	case STUCK_IN_SYNCS:
		submit.call.in_syncs = array;
		break;
	case STUCK_OUT_SYNCS:
		submit.call.out_syncs = array;
		break;
	case STUCK_SUBMIT_WINDOWS:
		submit.job.windows = array;
		break;
	case STUCK_COPY:
		c->ret = copy(c);
		return NULL;
	}
	c->ret = rig_submit(c->rig, &submit);
	return NULL;
}

static int tell(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC);
	int ret = fd < 0 || write(fd, text, strlen(text)) < 0;

	if (fd >= 0)
		close(fd);
	return ret;
}

/* Another process does it, so that this one sees it hang. */
static bool unbinds(const char *address)
{
	int status = 1, i;
	pid_t pid = fork();

	if (!pid)
		_exit(tell(UNBIND, address));
	for (i = 0; i < WAIT_S * 10; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return !status;
		usleep(100000);
	}
	return false;
}

TEST_F(stuck, delays_no_removal)
{
	struct stuck_call c = {
		.rig = &self->rig,
		.page = self->page,
		.array = variant->array,
	};
	struct uffdio_zeropage zero = {
		.range = { .start = (uintptr_t)self->page, .len = 4096 },
	};
	struct pollfd poller = { .fd = self->uffd, .events = POLLIN };
	pthread_t thread;
	bool removed;

	ASSERT_EQ(0, pthread_create(&thread, NULL, call, &c));
	ASSERT_EQ(1, poll(&poller, 1, WAIT_S * 1000))
		TH_LOG("the call does not look at its array");
	ASSERT_EQ(POLLIN, poller.revents);
	removed = unbinds(self->address);
	EXPECT_TRUE(removed) TH_LOG("the removal waits for user memory");
	ASSERT_EQ(0, ioctl(self->uffd, UFFDIO_ZEROPAGE, &zero));
	pthread_join(thread, NULL);
	EXPECT_TRUE(c.ret == -ENODEV || c.ret == -ENOENT || c.ret == -EINVAL)
		TH_LOG("the call gave %d", c.ret);
	rig_close(&self->rig);
	if (!removed)
		sleep(5);
	ASSERT_EQ(0, tell(BIND, self->address));
	ASSERT_EQ(0, rig_open(&self->rig, 0, 0));
	rig_halt(&self->rig, NEURON_ENGINE_SYNC);
	EXPECT_EQ(0, rig_run(&self->rig, 20000, NULL));
}

TEST_HARNESS_MAIN
