// SPDX-License-Identifier: MIT
/*
 * Everything that a process does with a device, again and again: each time the
 * next allocation of the kernel fails, until none is left to fail; then the same
 * with its accesses to user memory. Each failure must be reported as what it is,
 * and nothing may leak.
 */
#include "fail_nth.h"
#include "kselftest_harness.h"
#include "neuron_test.h"

#define KIB	1024ull
#define MIB	(1024 * KIB)

static int open_node(const char *node)
{
	int fd = open(node, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Map the buffer and touch its ends. */
static int touch(int fd, const struct drm_neuron_bo_create *bo)
{
	volatile uint8_t *p = mmap(NULL, bo->size, PROT_READ | PROT_WRITE,
				   MAP_SHARED, fd, (off_t)bo->mmap_offset);

	if (p == MAP_FAILED)
		return -errno;
	p[0] = 1;
	p[bo->size - 1] = p[0];
	munmap((void *)p, bo->size);
	return 0;
}

static int copy_both_ways(int fd, uint32_t handle)
{
	static uint8_t data[300 * KIB];
	int ret = neuron_write(fd, handle, 5, data + 3, sizeof(data) - 3);

	return ret ? ret : neuron_read(fd, handle, 7, data, sizeof(data));
}

static int use_buffers(int fd, uint32_t placement)
{
	struct drm_neuron_bo_info info = { 0 };
	struct drm_neuron_bo_create bo[2];
	int ret;

	ret = neuron_bo_create(fd, placement, 0, 3 * MIB, &bo[0]);
	if (!ret)
		ret = neuron_bo_create(fd, placement, 0, MIB, &bo[1]);
	info.handle = bo[0].handle;
	if (!ret)
		ret = neuron_ioctl(fd, DRM_IOCTL_NEURON_BO_INFO, &info);
	if (!ret)
		ret = touch(fd, &bo[0]);
	if (!ret)
		ret = copy_both_ways(fd, bo[0].handle);
	if (!ret)
		ret = neuron_bo_copy(fd, bo[0].handle, 5, bo[1].handle, 9,
				     300 * KIB);
	return ret ? ret : neuron_bo_close(fd, bo[0].handle);
}

static int with_buffers(const char *node, uint32_t placement)
{
	int ret, fd = open_node(node);

	if (fd < 0)
		return fd;
	ret = use_buffers(fd, placement);
	close(fd);
	return ret;
}

static int hbm_buffers(const char *node)
{
	return with_buffers(node, DRM_NEURON_BO_HBM);
}

static int host_buffers(const char *node)
{
	return with_buffers(node, DRM_NEURON_BO_HOST);
}

/* A copy that signals a syncobj, and a fill that waits for it. */
static int transfer(int fd)
{
	struct drm_neuron_wait_job job = { .claim = DRM_NEURON_NO_CLAIM };
	struct drm_neuron_transfer args = { .bytes = 4 * KIB };
	struct drm_neuron_sync sync = { 0 };
	struct drm_neuron_bo_create bo[2];
	int ret;

	ret = neuron_bo_create(fd, DRM_NEURON_BO_HBM, 0, MIB, &bo[0]);
	if (!ret)
		ret = neuron_bo_create(fd, DRM_NEURON_BO_HOST, 0, MIB, &bo[1]);
	if (!ret)
		ret = rig_syncobj_create(fd, &sync.handle);
	if (ret)
		return ret;
	args.dst = bo[0].handle;
	args.src = bo[1].handle;
	args.count[1] = 100;
	args.dst_step[1] = 8 * KIB;
	args.src_step[1] = 4 * KIB;
	args.out_syncs = (struct drm_neuron_array){ sizeof(sync), 1, (uintptr_t)&sync };
	ret = neuron_ioctl(fd, DRM_IOCTL_NEURON_TRANSFER, &args);
	if (ret)
		return ret;
	args = (struct drm_neuron_transfer){
		.dst = bo[1].handle,
		.bytes = MIB,
		.flags = DRM_NEURON_TRANSFER_FILL,
		.in_syncs = args.out_syncs,
	};
	ret = neuron_ioctl(fd, DRM_IOCTL_NEURON_TRANSFER, &args);
	job.job = args.transfer;
	return ret ? ret : rig_wait_jobs(fd, &job, 1, 0, 60000);
}

static int transfers(const char *node)
{
	int ret, fd = open_node(node);

	if (fd < 0)
		return fd;
	ret = transfer(fd);
	close(fd);
	return ret;
}

#define QUERY_STRIDE	256	/* more than any element */

static int query_all(int fd)
{
	static uint8_t answer[64 * KIB];
	uint32_t type;
	int ret;

	for (type = DRM_NEURON_QUERY_DEVICE; type <= DRM_NEURON_QUERY_LINKS;
	     type++) {
		ret = neuron_query_array(fd, type, answer, QUERY_STRIDE,
					 sizeof(answer) / QUERY_STRIDE);
		if (ret)
			return ret;
	}
	return 0;
}

static int queries(const char *node)
{
	int ret, fd = open_node(node);

	if (fd < 0)
		return fd;
	ret = query_all(fd);
	close(fd);
	return ret;
}

/* Any device of the driver but @node, or -ENODEV. */
static int other_node(const char *node, char *other, size_t size)
{
	unsigned int i;

	for (i = 0; i < NEURON_MAX_NODES; i++) {
		snprintf(other, size, "/dev/accel/accel%u", i);
		if (strcmp(node, other) && !access(other, R_OK | W_OK))
			return 0;
	}
	return -ENODEV;
}

/* Export from @node, import in @to, the other chip or the same. */
static int share(const char *node, const char *to)
{
	struct drm_neuron_bo_create bo;
	int fd, other = -1, dma_buf = -1, ret;
	uint32_t handle;

	fd = open_node(node);
	if (fd < 0)
		return fd;
	ret = neuron_bo_create(fd, DRM_NEURON_BO_HBM, 0, MIB, &bo);
	if (!ret) {
		dma_buf = neuron_export(fd, bo.handle);
		ret = dma_buf < 0 ? dma_buf : 0;
	}
	if (!ret) {
		other = open_node(to);
		ret = other < 0 ? other : 0;
	}
	if (!ret)
		ret = neuron_import(other, dma_buf, &handle);
	if (dma_buf >= 0)
		close(dma_buf);
	if (other >= 0)
		close(other);
	close(fd);
	return ret;
}

static int share_same_chip(const char *node)
{
	return share(node, node);
}

/* One chip has no other: then it is the same again. */
static int share_other_chip(const char *node)
{
	char other[64];

	if (other_node(node, other, sizeof(other)))
		return share(node, node);
	return share(node, other);
}

/* A window on many pieces, and a table that has to grow. */
static int bind_large(struct rig *rig)
{
	struct drm_neuron_window window = {
		.index = 5000,
		.kind = DRM_NEURON_WINDOW_BO,
		.rights = DRM_NEURON_WINDOW_READ,
		.length = 3 * MIB - 8,
		.offset = 4,
	};
	struct drm_neuron_bo_create bo;
	int ret;

	ret = neuron_bo_create(rig->fd, DRM_NEURON_BO_HOST, 0, 3 * MIB, &bo);
	if (ret)
		return ret;
	window.handle = bo.handle;
	return rig_windows(rig, &window, 1);
}

static int bind_grant(struct rig *rig)
{
	struct drm_neuron_grant grant = {
		.claim = rig->claim,
		.core = rig->core,
		.count = 1,
	};
	struct drm_neuron_window window = {
		.index = 300,
		.kind = DRM_NEURON_WINDOW_SEM,
		.rights = DRM_NEURON_WINDOW_WRITE,
		.length = 4,
	};
	int ret = neuron_ioctl(rig->fd, DRM_IOCTL_NEURON_GRANT, &grant);

	if (ret)
		return ret;
	window.from = DRM_NEURON_FROM_GRANT_FD;
	window.source = grant.fd;
	ret = rig_windows(rig, &window, 1);
	close(grant.fd);
	return ret;
}

/* With a trace in many pieces. */
static int submit_with_syncs(struct rig *rig)
{
	struct drm_neuron_sync sync[2] = { 0 };
	struct rig_submit submit;
	struct drm_neuron_queue queue;
	struct drm_neuron_bo_create trace;
	int ret;

	ret = neuron_bo_create(rig->fd, DRM_NEURON_BO_HOST, 0, 3 * MIB, &trace);
	if (!ret)
		ret = rig_syncobj_create(rig->fd, &sync[0].handle);
	if (ret)
		return ret;
	sync[1].handle = sync[0].handle;
	sync[1].point = 1;
	rig_prepare(rig, &submit, &queue);
	submit.job.trace = trace.handle;
	submit.job.trace_size = 3 * MIB;
	submit.call.out_syncs.stride = sizeof(sync[0]);
	submit.call.out_syncs.count = 2;
	submit.call.out_syncs.pointer = (uintptr_t)sync;
	ret = rig_submit(rig, &submit);
	if (ret)
		return ret;
	submit.call.in_syncs = submit.call.out_syncs;
	submit.call.in_syncs.count = 1;
	submit.call.out_syncs.count = 0;
	ret = rig_submit(rig, &submit);
	return ret ? ret : rig_wait(rig, submit.call.job, 60000, NULL);
}

/* Claim a core of @node, @use it, give it back. */
static int with_rig(const char *node, int (*use)(struct rig *rig))
{
	struct rig rig;
	int ret = rig_open_node(&rig, node, RIG_ANY_CORE);

	if (ret)
		return ret;
	ret = use(&rig);
	if (!ret)
		ret = rig_release(rig.fd, rig.claim);
	rig_close(&rig);
	return ret;
}

static int windows(const char *node)
{
	return with_rig(node, bind_large);
}

#define PIECES		300	/* more than a page of extents has */
#define PIECES_SIZE	(PIECES * 4 * KIB)
/* Where they are mapped before anything fails; each run finds them there. */
#define PIECES_AT	((uint8_t *)0x200000000000)

/* The page of a small file again and again: no page is its own neighbour. */
static bool map_pieces(void)
{
	int fd = memfd_create("pieces", MFD_CLOEXEC);
	bool mapped = fd >= 0 && !ftruncate(fd, 4 * KIB);
	unsigned int i;

	for (i = 0; mapped && i < PIECES; i++)
		mapped = mmap(PIECES_AT + i * 4 * KIB, 4 * KIB, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0) != MAP_FAILED;
	if (fd >= 0)
		close(fd);
	return mapped;
}

/* A window on user memory in so many pieces, and one on the first two of them. */
static int bind_pieces(struct rig *rig)
{
	struct drm_neuron_bo_import import = {
		.user = (uintptr_t)PIECES_AT,
		.size = PIECES_SIZE,
	};
	struct drm_neuron_window window[2] = {
		{ .index = 200, .length = PIECES_SIZE },
		{ .index = 5, .length = 8 * KIB },
	};
	int i, ret = neuron_ioctl(rig->fd, DRM_IOCTL_NEURON_BO_IMPORT, &import);

	for (i = 0; i < 2; i++) {
		window[i].kind = DRM_NEURON_WINDOW_BO;
		window[i].rights = DRM_NEURON_WINDOW_READ;
		window[i].handle = import.handle;
	}
	return ret ? ret : rig_windows(rig, window, 2);
}

/* While a job has the table, and so nothing of it is changed in place. */
static int bind_while_held(struct rig *rig)
{
	int64_t job;
	int ret;

	rig_loop(rig, NEURON_ENGINE_SYNC, 0);
	job = rig_start(rig, 600000);
	ret = job < 0 ? (int)job : bind_pieces(rig);
	if (!ret)
		ret = rig_cancel(rig, (uint64_t)job);
	if (!ret)
		ret = rig_wait(rig, (uint64_t)job, 60000, NULL);
	return ret;
}

static int lists(const char *node)
{
	return with_rig(node, bind_while_held);
}

static int grants(const char *node)
{
	return with_rig(node, bind_grant);
}

static int use_jobs(struct rig *rig)
{
	rig_copy(rig, NEURON_ENGINE_SYNC,
		 neuron_window_addr(RIG_WINDOW_DATA, 4096),
		 neuron_window_addr(RIG_WINDOW_DATA, 0), 64);
	rig_halt(rig, NEURON_ENGINE_SYNC);
	return submit_with_syncs(rig);
}

static int jobs(const char *node)
{
	return with_rig(node, use_jobs);
}

/*
 * A gang of a core and its CC-core, both of which get a window: when the second one's
 * table cannot be changed, the first one's becomes what it was.
 */
static int submit_gang(struct rig *rig, struct rig *cc)
{
	struct drm_neuron_window window = {
		.index = 300,
		.kind = DRM_NEURON_WINDOW_SBUF,
		.rights = DRM_NEURON_WINDOW_READ,
	};
	struct drm_neuron_sync sync = { 0 };
	struct rig_submit submit[2];
	struct drm_neuron_job job[2];
	unsigned int i;
	int ret;

	ret = rig_syncobj_create(rig->fd, &sync.handle);
	if (ret)
		return ret;
	for (i = 0; i < 2; i++) {
		rig_prepare(i ? cc : rig, &submit[i], NULL);
		job[i] = submit[i].job;
		job[i].windows = (struct drm_neuron_array){
			sizeof(window), 1, (uintptr_t)&window,
		};
	}
	rig_put_jobs(&submit[0].call, job, 2);
	submit[0].call.out_syncs = (struct drm_neuron_array){
		sizeof(sync), 1, (uintptr_t)&sync,
	};
	ret = neuron_ioctl(rig->fd, DRM_IOCTL_NEURON_SUBMIT, &submit[0].call);
	if (ret)
		return ret;
	ret = rig_wait(cc, submit[0].call.job + 1, 60000, NULL);
	return ret ? ret : rig_wait(rig, submit[0].call.job, 60000, NULL);
}

static int use_gang(struct rig *rig)
{
	struct rig cc;
	int ret = rig_open_cc(&cc, rig, 0);

	if (ret)
		return ret;
	rig_halt(rig, NEURON_ENGINE_SYNC);
	rig_halt(&cc, NEURON_ENGINE_SYNC);
	ret = submit_gang(rig, &cc);
	rig_close(&cc);
	return ret;
}

static int gangs(const char *node)
{
	return with_rig(node, use_gang);
}

/* A job that never ends, and what ends it. */
static int use_reset(struct rig *rig)
{
	struct drm_neuron_reset reset = {
		.claim = rig->claim,
		.core = rig->core,
	};
	int64_t job;

	rig_loop(rig, NEURON_ENGINE_SYNC, 0);
	job = rig_start(rig, 600000);
	if (job < 0)
		return (int)job;
	return neuron_ioctl(rig->fd, DRM_IOCTL_NEURON_RESET, &reset);
}

static int resets(const char *node)
{
	return with_rig(node, use_reset);
}

/* Left to the end of the process: a job on the device, one behind it, a mapping. */
static int use_and_leave(struct rig *rig)
{
	int64_t job;

	rig_loop(rig, NEURON_ENGINE_SYNC, 0);
	job = rig_start(rig, 600000);
	if (job >= 0)
		job = rig_start(rig, 600000);
	return job < 0 ? (int)job : 0;
}

static int leave(const char *node)
{
	struct rig rig;
	int ret = rig_open_node(&rig, node, RIG_ANY_CORE);

	if (ret)
		return ret;
	ret = use_and_leave(&rig);
	if (ret)
		rig_close(&rig);
	return ret;
}

FIXTURE(fail_nth) {
	int fd;
};

FIXTURE_VARIANT(fail_nth) {
	fail_scenario scenario;
};

#define FAIL_NTH(name) \
	FIXTURE_VARIANT_ADD(fail_nth, name) { .scenario = name }

FAIL_NTH(hbm_buffers);
FAIL_NTH(host_buffers);
FAIL_NTH(transfers);
FAIL_NTH(queries);
FAIL_NTH(share_same_chip);
FAIL_NTH(share_other_chip);
FAIL_NTH(windows);
FAIL_NTH(lists);
FAIL_NTH(grants);
FAIL_NTH(jobs);
FAIL_NTH(gangs);
FAIL_NTH(resets);
FAIL_NTH(leave);

FIXTURE_SETUP(fail_nth)
{
	struct rig_usage usage;

	self->fd = -1;
	self->fd = neuron_open(0);
	if (self->fd < 0)
		SKIP(return, "no neuron device");
	rig_usage(self->fd, &usage);
	ASSERT_GE(usage.live, 0) TH_LOG("debugfs must be mounted");
	if (variant->scenario != lists)
		return;
	if (!neuron_can_import(self->fd))
		SKIP(return, "the device needs bounce buffers here");
	ASSERT_TRUE(map_pieces());
}

FIXTURE_TEARDOWN(fail_nth)
{
	munmap(PIECES_AT, PIECES_SIZE);
	if (self->fd >= 0)
		close(self->fd);
}

TEST_F_TIMEOUT(fail_nth, every_allocation, 1800)
{
	struct fail_sweep result;

	ASSERT_TRUE(fail_every(variant->scenario, FAIL_ALLOCATIONS, self->fd,
			       &result))
		TH_LOG("%s", result.why);
	EXPECT_GT(result.noticed, 0);
	TH_LOG("%u allocations, %u noticed", result.points, result.noticed);
}

TEST_F_TIMEOUT(fail_nth, every_user_access, 1800)
{
	struct fail_sweep result;

	ASSERT_TRUE(fail_every(variant->scenario, FAIL_USER_ACCESS, self->fd,
			       &result))
		TH_LOG("%s", result.why);
	EXPECT_GT(result.noticed, 0);
	TH_LOG("%u accesses, %u noticed", result.points, result.noticed);
}

int main(int argc, char **argv)
{
	if (!fail_inject_setup())
		ksft_exit_skip("no fault injection in the kernel, and no module failnth\n");
	/* The harness does not return. */
	atexit(fail_inject_teardown);
	return test_harness_run(argc, argv);
}
