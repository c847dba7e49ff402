// SPDX-License-Identifier: MIT
/*
 * The device goes away under its users, the module while idle; both come back.
 */
#include <linux/sync_file.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "job_rig.h"
#include "kselftest_harness.h"
#include "load_rig.h"
#include "neuron_test.h"
#include "transfer_rig.h"

#define MIB	(1024ull * 1024)
#define BYTES	(8 * MIB)

/* What a user saw, as exit status bits. */
#define SAW_COPY_ENODEV		1
#define SAW_QUERY_ENODEV	2
#define SAW_CREATE_ENODEV	4
#define SAW_MMAP_ENODEV		8
#define SAW_HBM_FAULT		16
#define SAW_HOST_FAULT		32
#define SAW_ALL			63

/*
 * Mappings are taken away a moment after the first call has failed. The kernel
 * looks at the memory for us: EFAULT instead of a signal.
 */
static int faults(const uint8_t *map)
{
	int fds[2], i, ret = 0;
	char byte;

	if (pipe(fds))
		return 0;
	for (i = 0; i < 500 && !ret; i++) {
		if (write(fds[1], map, 1) < 0)
			ret = errno == EFAULT;
		else if (read(fds[0], &byte, 1) == 1)
			usleep(10000);
	}
	close(fds[0]);
	close(fds[1]);
	return ret;
}

static uint8_t *map_bo(int fd, uint32_t placement,
		       struct drm_neuron_bo_create *bo)
{
	uint8_t *map;

	if (neuron_bo_create(fd, placement, 0, BYTES, bo))
		return NULL;
	map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   bo->mmap_offset);
	if (map == MAP_FAILED)
		return NULL;
	memset(map, 1, BYTES);
	return map;
}

/* Copy until that fails; then try everything else. Tells @ready when it runs. */
static int use_device(int ready)
{
	struct drm_neuron_bo_create hbm, host, other;
	struct drm_neuron_device_info info;
	int fd = neuron_open(0), ret, saw = 0;
	uint8_t *hbm_map, *host_map, *p;

	if (fd < 0)
		return 0;
	p = malloc(BYTES);
	hbm_map = map_bo(fd, DRM_NEURON_BO_HBM, &hbm);
	host_map = map_bo(fd, DRM_NEURON_BO_HOST, &host);
	if (!p || !hbm_map || !host_map || write(ready, "r", 1) != 1)
		return 0;

	do {
		ret = neuron_write(fd, hbm.handle, 1, p, BYTES - 1);
		if (!ret)
			ret = neuron_read(fd, host.handle, 1, p, BYTES - 1);
	} while (!ret);
	saw |= ret == -ENODEV ? SAW_COPY_ENODEV : 0;

	ret = neuron_query(fd, DRM_NEURON_QUERY_DEVICE, &info, sizeof(info));
	saw |= ret == -ENODEV ? SAW_QUERY_ENODEV : 0;
	ret = neuron_bo_create(fd, DRM_NEURON_BO_HBM, 0, 4096, &other);
	saw |= ret == -ENODEV ? SAW_CREATE_ENODEV : 0;
	if (mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, hbm.mmap_offset) ==
	    MAP_FAILED)
		saw |= errno == ENODEV ? SAW_MMAP_ENODEV : 0;
	saw |= faults(hbm_map) ? SAW_HBM_FAULT : 0;
	saw |= faults(host_map) ? SAW_HOST_FAULT : 0;
	return saw;
}

#define USERS	3

FIXTURE(unplug)
{
	char address[16];
	pid_t user[USERS];
};

/* Users that are in the middle of copies. */
FIXTURE_SETUP(unplug)
{
	int fd = neuron_open(0), i, ready[2];
	char byte;

	memset(self->user, 0, sizeof(self->user));
	if (fd < 0)
		SKIP(return, "no neuron device");
	ASSERT_EQ(0, neuron_pci_address(fd, self->address));
	close(fd);

	ASSERT_EQ(0, pipe(ready));
	for (i = 0; i < USERS; i++) {
		self->user[i] = fork();
		ASSERT_GE(self->user[i], 0);
		if (!self->user[i])
			_exit(use_device(ready[1]));
	}
	close(ready[1]);
	for (i = 0; i < USERS; i++)
		ASSERT_EQ(1, read(ready[0], &byte, 1));
	close(ready[0]);
	usleep(200000);
}

FIXTURE_TEARDOWN(unplug)
{
	int i;

	for (i = 0; i < USERS; i++)
		if (self->user[i] > 0)
			kill(self->user[i], SIGKILL);
}

static void expect_users_saw_it(struct __test_metadata *_metadata, pid_t *user)
{
	int i, status;

	for (i = 0; i < USERS; i++) {
		ASSERT_EQ(user[i], waitpid(user[i], &status, 0));
		user[i] = 0;
		ASSERT_TRUE(WIFEXITED(status));
		EXPECT_EQ(SAW_ALL, WEXITSTATUS(status));
	}
}

static void expect_device_works(struct __test_metadata *_metadata)
{
	struct drm_neuron_bo_create bo;
	uint8_t *p = malloc(BYTES);
	int fd = neuron_open(0);

	ASSERT_NE(NULL, p);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, neuron_hbm_used(fd));
	ASSERT_EQ(0, neuron_bo_create(fd, DRM_NEURON_BO_HBM, 0, BYTES, &bo));
	/* Nothing is left of what the users wrote. */
	memset(p, 0xaa, BYTES);
	ASSERT_EQ(0, neuron_read(fd, bo.handle, 0, p, BYTES));
	EXPECT_EQ(BYTES, neuron_differs_from(p, BYTES, 0));
	neuron_fill(p, BYTES, 1);
	ASSERT_EQ(0, neuron_write(fd, bo.handle, 0, p, BYTES));
	ASSERT_EQ(0, neuron_read(fd, bo.handle, 0, p, BYTES));
	EXPECT_EQ(BYTES, neuron_differs(p, BYTES, 1));
	close(fd);
	free(p);
}

TEST_F(unplug, unbind_and_bind)
{
	ASSERT_EQ(0, neuron_write_file("/sys/bus/pci/drivers/neuron/unbind",
				       self->address));
	expect_users_saw_it(_metadata, self->user);
	ASSERT_EQ(0, neuron_write_file("/sys/bus/pci/drivers/neuron/bind",
				       self->address));
	expect_device_works(_metadata);
}

TEST_F(unplug, remove_and_rescan)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/remove",
		 self->address);
	ASSERT_EQ(0, neuron_write_file(path, "1"));
	expect_users_saw_it(_metadata, self->user);
	ASSERT_EQ(0, neuron_write_file("/sys/bus/pci/rescan", "1"));
	expect_device_works(_metadata);
}

/* A program that can reach memory of the chip that goes, and one that cannot. */
FIXTURE(leaving) {
	char address[16];
	struct rig reaches;
	struct rig other;
	int owner;
};

FIXTURE_SETUP(leaving)
{
	struct drm_neuron_window window = {
		.index = RIG_WINDOW_FREE,
		.kind = DRM_NEURON_WINDOW_BO,
		.rights = DRM_NEURON_WINDOW_WRITE,
		.length = MIB,
	};
	struct drm_neuron_device_info info;
	struct drm_neuron_bo_create bo;
	int dma_buf;

	memset(self, 0, sizeof(*self));
	self->owner = neuron_open(1);
	if (self->owner < 0)
		SKIP(return, "one device only");
	ASSERT_EQ(0, neuron_query(self->owner, DRM_NEURON_QUERY_DEVICE, &info,
				  sizeof(info)));
	if (info.fabric_chips < 2)
		SKIP(return, "the devices have no fabric");
	ASSERT_EQ(0, neuron_pci_address(self->owner, self->address));
	ASSERT_EQ(0, neuron_bo_create(self->owner, DRM_NEURON_BO_HBM, 0, MIB,
				      &bo));
	dma_buf = neuron_export(self->owner, bo.handle);
	ASSERT_GE(dma_buf, 0);
	ASSERT_EQ(0, rig_open(&self->reaches, 0, 0));
	ASSERT_EQ(0, rig_open(&self->other, 0, 1));
	ASSERT_EQ(0, neuron_import(self->reaches.fd, dma_buf, &window.handle));
	ASSERT_EQ(0, rig_windows(&self->reaches, &window, 1));
	close(dma_buf);
}

FIXTURE_TEARDOWN(leaving)
{
	rig_close(&self->reaches);
	rig_close(&self->other);
	if (self->owner >= 0)
		close(self->owner);
}

static int64_t start_endless(struct rig *rig)
{
	rig_clear(rig);
	rig_loop(rig, NEURON_ENGINE_VECTOR, 0);
	return rig_start(rig, 600000);
}

TEST_F(leaving, jobs_that_reach_it_end)
{
	const struct drm_neuron_window empty = {
		.index = RIG_WINDOW_FREE,
	};
	struct drm_neuron_wait_job result;
	int64_t job, queued, other;

	job = start_endless(&self->reaches);
	queued = rig_start(&self->reaches, 600000);
	other = start_endless(&self->other);
	ASSERT_GT(job, 0);
	ASSERT_GT(queued, 0);
	ASSERT_GT(other, 0);
	ASSERT_EQ(-ETIMEDOUT, rig_wait(&self->reaches, job, 200, NULL));
	ASSERT_EQ(0, neuron_write_file("/sys/bus/pci/drivers/neuron/unbind",
				       self->address));

	ASSERT_EQ(0, rig_wait(&self->reaches, job, 60000, &result));
	EXPECT_EQ(NEURON_JOB_ABORTED, result.status);
	EXPECT_EQ(NEURON_CAUSE_RESET, result.cause);
	ASSERT_EQ(0, rig_wait(&self->reaches, queued, 60000, &result));
	EXPECT_EQ(NEURON_JOB_ABORTED, result.status);
	EXPECT_EQ(-ETIMEDOUT, rig_wait(&self->other, other, 200, NULL));

	/* The window is still there: nothing starts with it. */
	rig_clear(&self->reaches);
	rig_halt(&self->reaches, NEURON_ENGINE_SYNC);
	ASSERT_EQ(0, rig_run(&self->reaches, 60000, &result));
	EXPECT_EQ(NEURON_JOB_ABORTED, result.status);
	ASSERT_EQ(0, rig_windows(&self->reaches, &empty, 1));
	ASSERT_EQ(0, rig_run(&self->reaches, 60000, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);

	ASSERT_EQ(0, neuron_write_file("/sys/bus/pci/drivers/neuron/bind",
				       self->address));
}

/* A syncobj of @rig's file with a fence that does not signal before the job ends. */
static int endless_fence(struct rig *rig, struct drm_neuron_sync *sync)
{
	struct rig_submit submit;
	int ret;

	*sync = (struct drm_neuron_sync){ 0 };
	ret = rig_syncobj_create(rig->fd, &sync->handle);
	if (ret)
		return ret;
	rig_clear(rig);
	rig_loop(rig, NEURON_ENGINE_VECTOR, 0);
	rig_prepare(rig, &submit, NULL);
	submit.job.timeout_ms = 600000;
	submit.call.out_syncs = (struct drm_neuron_array){
		sizeof(*sync), 1, (uintptr_t)sync,
	};
	return rig_submit(rig, &submit);
}

/* The sync file of the fence that syncobj @handle has now, or a negative errno. */
static int sync_file(int fd, uint32_t handle)
{
	struct drm_syncobj_handle file = {
		.handle = handle,
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
	};
	int ret = neuron_ioctl(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &file);

	return ret ? ret : file.fd;
}

/* A transfer behind @in (or NULL); the sync file of its end, or a negative errno. */
static int start_transfer(int fd, struct drm_neuron_transfer *args,
			  const struct drm_neuron_sync *in)
{
	struct drm_neuron_sync out = { 0 };
	int ret = rig_syncobj_create(fd, &out.handle);

	if (ret)
		return ret;
	args->in_syncs = (struct drm_neuron_array){ sizeof(*in), !!in, (uintptr_t)in };
	args->out_syncs = (struct drm_neuron_array){ sizeof(out), 1, (uintptr_t)&out };
	ret = neuron_ioctl(fd, DRM_IOCTL_NEURON_TRANSFER, args);
	return ret ? ret : sync_file(fd, out.handle);
}

/* How the fence of a sync file has ended: 1 well, negative: the error; 0: it has not. */
static int fence_end(int file, int timeout_ms)
{
	struct pollfd ready = { .fd = file, .events = POLLIN };
	struct sync_file_info info = { 0 };
	int ret;

	if (poll(&ready, 1, timeout_ms) != 1)
		return 0;
	ret = neuron_ioctl(file, SYNC_IOC_FILE_INFO, &info);
	return ret ? ret : info.status;
}

/*
 * Under way, and before their beginning, to the peer; and one that does not touch it. A queue
 * is full of those to the peer when it leaves, where the kernel is fast enough to fill it.
 */
TEST_F(leaving, transfers_that_reach_it_end)
{
	struct drm_neuron_transfer args = { .bytes = MIB };
	struct drm_neuron_bo_create theirs, mine, other;
	int dma_buf, waits, stays, fd;
	struct transfer_feeder feeder;
	struct drm_neuron_sync never;

	ASSERT_EQ(0, endless_fence(&self->reaches, &never));
	fd = self->reaches.fd;
	ASSERT_EQ(0, neuron_bo_create(self->owner, DRM_NEURON_BO_HBM, 0, MIB, &theirs));
	ASSERT_EQ(0, neuron_bo_create(fd, DRM_NEURON_BO_HBM, 0, MIB, &mine));
	ASSERT_EQ(0, neuron_bo_create(fd, DRM_NEURON_BO_HOST, 0, MIB, &other));
	dma_buf = neuron_export(self->owner, theirs.handle);
	ASSERT_GE(dma_buf, 0);
	ASSERT_EQ(0, neuron_import(fd, dma_buf, &args.dst));
	close(dma_buf);

	args.src = mine.handle;
	waits = start_transfer(fd, &args, &never);
	ASSERT_GE(waits, 0);
	feeder = (struct transfer_feeder){ .fd = fd, .args = args };
	feeder.args.queue = 1;
	feeder.args.count[0] = 60;
	ASSERT_EQ(0, transfer_run(fd, &feeder.args));
	ASSERT_EQ(0, transfer_feed(&feeder));
	args.queue = 2;
	args.dst = other.handle;
	stays = start_transfer(fd, &args, NULL);
	ASSERT_GE(stays, 0);
	ASSERT_EQ(0, fence_end(waits, 0));
	ASSERT_EQ(0, neuron_write_file("/sys/bus/pci/drivers/neuron/unbind",
				       self->address));
	/* The job that the first one waits for has a window onto the peer: it ends, too. */
	EXPECT_EQ(-EIO, fence_end(waits, 60000));
	ASSERT_EQ(0, transfer_feed_end(&feeder));
	EXPECT_EQ(-ENODEV, feeder.error);
	EXPECT_LE(feeder.was_full, transfer_feed_failed(&feeder));
	EXPECT_EQ(1, fence_end(stays, 60000));
	args.dst = mine.handle;
	args.src = other.handle;
	close(stays);
	stays = start_transfer(fd, &args, NULL);
	EXPECT_EQ(1, fence_end(stays, 60000));

	close(waits);
	close(stays);
	ASSERT_EQ(0, neuron_write_file("/sys/bus/pci/drivers/neuron/bind",
				       self->address));
}

/* Transfers of the device that leaves: all have an end, and none keeps it. */
TEST(transfers_end)
{
	struct drm_neuron_transfer args = {
		.bytes = 512,
		.count = { 2048 },
		.dst_step = { 512 },
		.src_step = { 512 },
	};
	struct drm_neuron_bo_create hbm, host;
	struct drm_neuron_sync never;
	int file[20], end, i;
	char address[16];
	struct rig rig;

	i = rig_open(&rig, 0, RIG_ANY_CORE);
	if (i == -ENODEV)
		SKIP(return, "no neuron device");
	ASSERT_EQ(0, i);
	ASSERT_EQ(0, neuron_pci_address(rig.fd, address));
	ASSERT_EQ(0, endless_fence(&rig, &never));
	ASSERT_EQ(0, neuron_bo_create(rig.fd, DRM_NEURON_BO_HBM, 0, MIB, &hbm));
	ASSERT_EQ(0, neuron_bo_create(rig.fd, DRM_NEURON_BO_HOST, 0, MIB, &host));
	args.dst = hbm.handle;
	args.src = host.handle;
	/* The last two wait for what does not end. */
	for (i = 0; i < 20; i++) {
		file[i] = start_transfer(rig.fd, &args, i < 18 ? NULL : &never);
		ASSERT_GE(file[i], 0);
	}
	ASSERT_EQ(0, neuron_write_file("/sys/bus/pci/drivers/neuron/unbind", address));
	for (i = 0; i < 20; i++) {
		end = fence_end(file[i], 0);
		EXPECT_NE(0, end) TH_LOG("transfer %d has not ended", i);
		if (i < 18) {
			EXPECT_TRUE(end == 1 || end == -ENODEV)
				TH_LOG("transfer %d: %d", i, end);
		} else {
			EXPECT_EQ(-ENODEV, end) TH_LOG("transfer %d", i);
		}
		close(file[i]);
	}
	rig_close(&rig);
	ASSERT_EQ(0, neuron_write_file("/sys/bus/pci/drivers/neuron/bind", address));
	expect_device_works(_metadata);
}

#define GANG	2

/* Two cores of the chip that goes, and a job of another chip that does not end. */
FIXTURE(waiting) {
	char address[16];
	struct rig gang[GANG];
	struct rig other;
	struct drm_neuron_sync never;
};

FIXTURE_SETUP(waiting)
{
	int ret;

	memset(self, 0, sizeof(*self));
	ret = rig_open_cores(self->gang, 1, GANG);
	if (ret == -ENODEV)
		SKIP(return, "one device only");
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, neuron_pci_address(self->gang[0].fd, self->address));
	ASSERT_EQ(0, transfer_endless(&self->other, self->gang[0].fd, &self->never.handle));
}

FIXTURE_TEARDOWN(waiting)
{
	int i;

	for (i = 0; i < GANG; i++)
		rig_close(&self->gang[i]);
	rig_close(&self->other);
}

/* Jobs of @nr cores for sync alone, a gang if they are several; as start_transfer(). */
static int start_jobs(struct rig *rigs, uint32_t nr, const struct drm_neuron_sync *in)
{
	struct drm_neuron_sync out = { 0 };
	struct drm_neuron_job jobs[GANG];
	struct rig_submit submit;
	uint32_t i;
	int ret;

	ret = rig_syncobj_create(rigs[0].fd, &out.handle);
	if (ret)
		return ret;
	for (i = 0; i < nr; i++) {
		rig_halt(&rigs[i], NEURON_ENGINE_SYNC);
		rig_prepare_engine(&rigs[i], &submit, NEURON_ENGINE_SYNC);
		jobs[i] = submit.job;
	}
	rig_put_jobs(&submit.call, jobs, nr);
	submit.call.in_syncs = (struct drm_neuron_array){ sizeof(*in), !!in, (uintptr_t)in };
	submit.call.out_syncs = (struct drm_neuron_array){ sizeof(out), 1, (uintptr_t)&out };
	ret = neuron_ioctl(rigs[0].fd, DRM_IOCTL_NEURON_SUBMIT, &submit.call);
	return ret ? ret : sync_file(rigs[0].fd, out.handle);
}

static int unbind_driver(const char *address)
{
	return neuron_write_file("/sys/bus/pci/drivers/neuron/unbind", address);
}

static int bind_driver(const char *address)
{
	return neuron_write_file("/sys/bus/pci/drivers/neuron/bind", address);
}

#define expect_ends_with(file, error, action) do { \
	ASSERT_GE(file, 0); \
	EXPECT_EQ(0, fence_end(file, 200)); \
	ASSERT_EQ(0, action); \
	EXPECT_EQ(error, fence_end(file, 20000)); \
	close(file); \
} while (0)

/* What it waits for has not ended when the device leaves: that is why it does not start. */
TEST_F(waiting, job)
{
	int file = start_jobs(self->gang, 1, &self->never);

	expect_ends_with(file, -ENODEV, unbind_driver(self->address));
	ASSERT_EQ(0, bind_driver(self->address));
}

TEST_F(waiting, gang)
{
	int file = start_jobs(self->gang, GANG, &self->never);

	expect_ends_with(file, -ENODEV, unbind_driver(self->address));
	ASSERT_EQ(0, bind_driver(self->address));
}

/* Its first job has its turn, and waits for the second one, whose core is busy. */
TEST_F(waiting, member)
{
	struct drm_neuron_sync none;
	int file;

	ASSERT_EQ(0, endless_fence(&self->gang[1], &none));
	file = start_jobs(self->gang, GANG, NULL);
	expect_ends_with(file, -ENODEV, unbind_driver(self->address));
	ASSERT_EQ(0, bind_driver(self->address));
}

/* The device stays, and the claim ends. */
TEST_F(waiting, job_of_a_claim_that_ends)
{
	int file = start_jobs(self->gang, 1, &self->never);

	expect_ends_with(file, -ESRCH, rig_release(self->gang[0].fd, self->gang[0].claim));
}

/* Whoever waits for events is told that there are no more, after those that there were. */
TEST(event_file_hangs_up)
{
	struct drm_neuron_events args = {
		.mask = (1u << DRM_NEURON_NR_EVENT_TYPES) - 1,
		.stride = sizeof(struct drm_neuron_event),
	};
	struct pollfd ready = { .events = POLLIN };
	struct drm_neuron_event event;
	char address[16];
	int fd = neuron_open(0);

	if (fd < 0)
		SKIP(return, "no neuron device");
	ASSERT_EQ(0, neuron_pci_address(fd, address));
	ASSERT_EQ(0, neuron_ioctl(fd, DRM_IOCTL_NEURON_EVENTS, &args));
	ready.fd = args.fd;
	EXPECT_EQ(0, poll(&ready, 1, 0));
	ASSERT_EQ(0, neuron_write_file("/sys/bus/pci/drivers/neuron/unbind", address));
	EXPECT_EQ(1, poll(&ready, 1, 20000));
	EXPECT_EQ(POLLHUP, ready.revents & POLLHUP);
	while (read(args.fd, &event, sizeof(event)) > 0)
		EXPECT_EQ(DRM_NEURON_EVENT_LINK, event.type);
	EXPECT_EQ(0, read(args.fd, &event, sizeof(event)));
	ASSERT_EQ(0, neuron_write_file("/sys/bus/pci/drivers/neuron/bind", address));
	close(args.fd);
	close(fd);
}

/* The device goes and comes while others use it in every way. */
TEST(unbind_under_load)
{
	struct rig_usage before;
	struct loads loads;
	char address[16];
	int fd = neuron_open(1), i;

	if (fd < 0)
		SKIP(return, "one device only");
	rig_usage(fd, &before);
	ASSERT_EQ(0, neuron_pci_address(fd, address));
	close(fd);
	ASSERT_EQ(0, loads_start(&loads, 1));
	for (i = 0; i < 4; i++) {
		usleep(500000);
		EXPECT_EQ(0, neuron_write_file("/sys/bus/pci/drivers/neuron/unbind",
					       address));
		EXPECT_EQ(0, neuron_write_file("/sys/bus/pci/drivers/neuron/bind",
					       address));
	}
	EXPECT_EQ(0, loads_stop(&loads));
	fd = neuron_open(1);
	ASSERT_GE(fd, 0);
	EXPECT_FALSE(rig_leaks(fd, &before));
	close(fd);
}

TEST(unload_and_load)
{
	int fd = neuron_open(0);

	if (fd < 0)
		SKIP(return, "no neuron device");
	EXPECT_EQ(-1, syscall(SYS_delete_module, "neuron", O_NONBLOCK));
	EXPECT_EQ(EWOULDBLOCK, errno);
	close(fd);
	ASSERT_EQ(0, neuron_unload());
	EXPECT_EQ(-ENODEV, neuron_open(0));
	ASSERT_EQ(0, system("modprobe neuron"));
	expect_device_works(_metadata);
}

TEST_HARNESS_MAIN
