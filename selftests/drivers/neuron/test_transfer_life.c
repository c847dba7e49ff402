// SPDX-License-Identifier: MIT
/*
 * The life of transfers: syncobjs, queues, many at once, and those that cannot end well.
 */
#include "kselftest_harness.h"
#include "neuron_test.h"
#include "transfer_rig.h"

#define MIB	(1ull << 20)

FIXTURE(life)
{
	struct transfer_rig t;
};

FIXTURE_SETUP(life)
{
	int ret = transfer_open(&self->t);

	if (ret == -ENODEV)
		SKIP(return, "no neuron device");
	ASSERT_EQ(0, ret);
	ASSERT_GE(self->t.before.live, 0) TH_LOG("debugfs must be mounted");
}

FIXTURE_TEARDOWN(life)
{
	if (self->t.fd >= 0)
		EXPECT_FALSE(transfer_close(&self->t));
}

/* Each waits for the one before: a byte goes through all places, on a timeline. */
TEST_F(life, timeline)
{
	struct drm_neuron_transfer args = { .bytes = 4096 };
	struct drm_neuron_sync in, out;
	const int turns = 100;
	uint64_t last = 0;
	uint32_t sync;
	int i;

	ASSERT_EQ(0, rig_syncobj_create(self->t.fd, &sync));
	neuron_fill(self->t.data, 4096, 7);
	ASSERT_EQ(0, neuron_write(self->t.fd, self->t.bo[TRANSFER_HBM0], 0, self->t.data, 4096));
	for (i = 0; i < turns; i++) {
		args.src = self->t.bo[i % TRANSFER_USER];
		args.dst = self->t.bo[(i + 1) % TRANSFER_USER];
		args.src_offset = (uint64_t)i * 4096;
		args.dst_offset = args.src_offset + 4096;
		in = (struct drm_neuron_sync){ .handle = sync, .point = i };
		out = (struct drm_neuron_sync){ .handle = sync, .point = i + 1 };
		args.in_syncs = (struct drm_neuron_array){ sizeof(in), !!i, (uintptr_t)&in };
		args.out_syncs = (struct drm_neuron_array){ sizeof(out), 1, (uintptr_t)&out };
		must(self->t.fd, TRANSFER, &args);
		EXPECT_LT(last, args.transfer);
		last = args.transfer;
	}
	EXPECT_EQ(0, rig_syncobj_wait(self->t.fd, sync, turns, TRANSFER_LIMIT));
	ASSERT_EQ(0, neuron_read(self->t.fd, self->t.bo[turns % TRANSFER_USER], turns * 4096,
				 self->t.data, 4096));
	EXPECT_EQ(4096, neuron_differs(self->t.data, 4096, 7));
	/* A point that nobody has named has no fence. */
	in.point = turns + 1;
	must_fail(EINVAL, self->t.fd, TRANSFER, &args);
}

/* To the job's buffer, through its DMA queue, and from there. */
TEST_F(life, job_between)
{
	struct drm_neuron_transfer args = { .bytes = 4096 };
	struct drm_neuron_sync in, out;
	struct rig_submit submit;
	struct drm_neuron_queue queue;
	uint32_t sync[3], handle;
	int dma_buf, i;

	ASSERT_EQ(0, rig_open(&self->t.rig, 0, RIG_ANY_CORE));
	rig_copy(&self->t.rig, NEURON_ENGINE_SYNC,
		 neuron_window_addr(RIG_WINDOW_DATA, 8192),
		 neuron_window_addr(RIG_WINDOW_DATA, 0), 4096);
	rig_halt(&self->t.rig, NEURON_ENGINE_SYNC);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, rig_syncobj_create(self->t.rig.fd, &sync[i]));
	/* The rig has a file of its own. */
	dma_buf = neuron_export(self->t.fd, self->t.bo[TRANSFER_HBM1]);
	ASSERT_GE(dma_buf, 0);
	ASSERT_EQ(0, neuron_import(self->t.rig.fd, dma_buf, &handle));
	close(dma_buf);
	neuron_fill(self->t.data, 4096, 9);
	ASSERT_EQ(0, neuron_write(self->t.fd, self->t.bo[TRANSFER_HBM1], 0, self->t.data, 4096));

	args.dst = self->t.rig.bo;
	args.dst_offset = RIG_HALF;
	args.src = handle;
	ASSERT_EQ(0, transfer_submit(self->t.rig.fd, &args, 0, sync[0]));
	rig_prepare(&self->t.rig, &submit, &queue);
	in = (struct drm_neuron_sync){ .handle = sync[0] };
	out = (struct drm_neuron_sync){ .handle = sync[1] };
	submit.call.in_syncs = (struct drm_neuron_array){ sizeof(in), 1, (uintptr_t)&in };
	submit.call.out_syncs = (struct drm_neuron_array){ sizeof(out), 1, (uintptr_t)&out };
	ASSERT_EQ(0, rig_submit(&self->t.rig, &submit));
	args = (struct drm_neuron_transfer){
		.dst = handle,
		.dst_offset = MIB,
		.src = self->t.rig.bo,
		.src_offset = RIG_HALF + 8192,
		.bytes = 4096,
	};
	ASSERT_EQ(0, transfer_submit(self->t.rig.fd, &args, sync[1], sync[2]));
	EXPECT_EQ(0, rig_syncobj_wait(self->t.rig.fd, sync[2], 0, TRANSFER_LIMIT));
	ASSERT_EQ(0, neuron_read(self->t.fd, self->t.bo[TRANSFER_HBM1], MIB, self->t.data, 4096));
	EXPECT_EQ(4096, neuron_differs(self->t.data, 4096, 9));
}

#define FILES	3
#define TURNS	150

/* Far more than a ring has room for, from several files, none of which waits. */
TEST_F(life, many)
{
	struct drm_neuron_transfer args[FILES];
	struct drm_neuron_wait_job job = { .claim = DRM_NEURON_NO_CLAIM };
	uint64_t id[FILES][TURNS];
	uint32_t handle[FILES][2];
	int fd[FILES], i, j;

	for (i = 0; i < FILES; i++) {
		fd[i] = neuron_open(0);
		ASSERT_GE(fd[i], 0);
		ASSERT_EQ(0, transfer_bo(fd[i], TRANSFER_HBM0, &handle[i][0]));
		ASSERT_EQ(0, transfer_bo(fd[i], TRANSFER_HOST, &handle[i][1]));
		neuron_fill(self->t.data, TRANSFER_SIZE, i);
		ASSERT_EQ(0, neuron_write(fd[i], handle[i][1], 0, self->t.data, TRANSFER_SIZE));
		args[i] = (struct drm_neuron_transfer){
			.dst = handle[i][0],
			.src = handle[i][1],
			.bytes = 512,
			.count = { 1024 },
			.dst_step = { 2048 },
			.src_step = { 2048 },
		};
	}
	for (j = 0; j < TURNS; j++)
		for (i = 0; i < FILES; i++) {
			args[i].dst_offset = j % 4 * 512;
			args[i].src_offset = j % 4 * 512;
			must(fd[i], TRANSFER, &args[i]);
			id[i][j] = args[i].transfer;
		}
	for (i = 0; i < FILES; i++) {
		ASSERT_EQ(0, transfer_wait(fd[i], id[i][TURNS - 1], NULL));
		for (j = 0; j < TURNS; j++) {
			/* They end in their order: nobody waits for those before. */
			job.job = id[i][j];
			ASSERT_EQ(0, rig_wait_jobs(fd[i], &job, 1, 0, 0));
			ASSERT_EQ(DRM_NEURON_JOB_OK, job.status);
		}
		ASSERT_EQ(0, neuron_read(fd[i], handle[i][0], 0, self->t.data, TRANSFER_SIZE));
		EXPECT_EQ(TRANSFER_SIZE, neuron_differs(self->t.data, TRANSFER_SIZE, i));
		close(fd[i]);
	}
}

/* What waits is cancelled; what comes after it goes on. */
TEST_F(life, cancel)
{
	struct drm_neuron_transfer args = {
		.dst = self->t.bo[TRANSFER_HBM0],
		.src = self->t.bo[TRANSFER_HOST],
		.bytes = 4096,
	};
	struct drm_neuron_cancel cancel = { .claim = DRM_NEURON_NO_CLAIM };
	struct drm_neuron_wait_job job = { 0 };
	uint32_t never, out;

	ASSERT_EQ(0, transfer_endless(&self->t.rig, self->t.fd, &never));
	ASSERT_EQ(0, rig_syncobj_create(self->t.fd, &out));
	ASSERT_EQ(0, transfer_submit(self->t.fd, &args, never, out));
	job.job = args.transfer;
	EXPECT_EQ(-ETIMEDOUT, rig_wait_jobs(self->t.fd, &job, 1, 0, 0));
	EXPECT_EQ(0, job.status);
	EXPECT_EQ(1, rig_fence(self->t.fd, out));

	cancel.job = args.transfer + 1;
	must_fail(ENOENT, self->t.fd, CANCEL, &cancel);
	cancel.job = args.transfer;
	cancel.core = 1;
	must_fail(EINVAL, self->t.fd, CANCEL, &cancel);
	cancel.core = 0;
	must(self->t.fd, CANCEL, &cancel);
	ASSERT_EQ(0, transfer_wait(self->t.fd, args.transfer, &job));
	EXPECT_EQ(DRM_NEURON_JOB_ABORTED, job.status);
	EXPECT_EQ(-ECANCELED, job.error);
	EXPECT_EQ(0, job.dma_bytes);
	EXPECT_EQ(-ECANCELED, rig_fence(self->t.fd, out));
	/* It has ended: nothing happens. */
	must(self->t.fd, CANCEL, &cancel);
	EXPECT_EQ(0, transfer_run(self->t.fd, &args));
}

/* What a transfer waits for fails: it does not begin. The next one goes on. */
TEST_F(life, waits_for_what_fails)
{
	struct drm_neuron_transfer args = {
		.dst = self->t.bo[TRANSFER_HBM0],
		.src = self->t.bo[TRANSFER_HOST],
		.bytes = 4096,
	};
	struct drm_neuron_wait_job job = { 0 };
	uint32_t never, out;

	ASSERT_EQ(0, transfer_endless(&self->t.rig, self->t.fd, &never));
	ASSERT_EQ(0, rig_syncobj_create(self->t.fd, &out));
	ASSERT_EQ(0, transfer_submit(self->t.fd, &args, never, out));
	ASSERT_EQ(0, rig_release(self->t.rig.fd, self->t.rig.claim));
	ASSERT_EQ(0, transfer_wait(self->t.fd, args.transfer, &job));
	EXPECT_EQ(DRM_NEURON_JOB_ABORTED, job.status);
	EXPECT_EQ(-ECANCELED, job.error);
	EXPECT_EQ(0, job.dma_bytes);
	EXPECT_EQ(-ECANCELED, rig_fence(self->t.fd, out));
	EXPECT_EQ(0, transfer_run(self->t.fd, &args));
}

/* One that waits keeps those of its queue, and no others. */
TEST_F(life, queues)
{
	struct drm_neuron_transfer args = {
		.dst = self->t.bo[TRANSFER_HBM0],
		.src = self->t.bo[TRANSFER_HOST],
		.bytes = 4096,
	};
	struct drm_neuron_cancel cancel = { .claim = DRM_NEURON_NO_CLAIM };
	struct drm_neuron_wait_job job[2] = { 0 };
	uint32_t never, i;

	ASSERT_GE(self->t.limits.transfer_queues, 2);
	ASSERT_EQ(0, transfer_endless(&self->t.rig, self->t.fd, &never));
	ASSERT_EQ(0, transfer_submit(self->t.fd, &args, never, 0));
	job[0].job = args.transfer;
	ASSERT_EQ(0, transfer_submit(self->t.fd, &args, 0, 0));
	job[1].job = args.transfer;
	for (i = 1; i < self->t.limits.transfer_queues; i++) {
		args.queue = i;
		EXPECT_EQ(0, transfer_run(self->t.fd, &args));
	}
	EXPECT_EQ(-ETIMEDOUT, rig_wait_jobs(self->t.fd, job, 2, 0, 100));
	args.queue = i;
	must_fail(EINVAL, self->t.fd, TRANSFER, &args);

	cancel.job = job[0].job;
	must(self->t.fd, CANCEL, &cancel);
	ASSERT_EQ(0, transfer_wait(self->t.fd, job[1].job, &job[1]));
	EXPECT_EQ(DRM_NEURON_JOB_OK, job[1].status);
}

#define RINGS	32	/* more than any chip has */

/* What each of the device's copy queues was given so far, and how many there are. */
static unsigned int ring_requests(int fd, unsigned long long requests[RINGS])
{
	FILE *f = neuron_debugfs(fd, "copy");
	unsigned int nr = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%*[^\n]\n") != EOF)
		while (nr < RINGS && fscanf(f, "%*u %*u %*u %*u %llu %*[^\n]\n",
					    &requests[nr]) == 1)
			nr++;
	fclose(f);
	return nr;
}

/* The queues of a file are spread over those of the device; each of them stays with one. */
TEST_F(life, rings)
{
	struct drm_neuron_transfer args = {
		.dst = self->t.bo[TRANSFER_HBM0],
		.src = self->t.bo[TRANSFER_HOST],
		.bytes = 4096,
	};
	unsigned long long before[RINGS], after[RINGS];
	const uint32_t queues = self->t.limits.transfer_queues;
	unsigned int rings, used = 0, i;

	rings = ring_requests(self->t.fd, before);
	ASSERT_GE(rings, 2);
	for (i = 0; i < 3 * queues; i++) {
		args.queue = i % queues;
		ASSERT_EQ(0, transfer_run(self->t.fd, &args));
	}
	ASSERT_EQ(rings, ring_requests(self->t.fd, after));
	for (i = 0; i < rings; i++) {
		EXPECT_EQ(0, (after[i] - before[i]) % 3) TH_LOG("ring %u", i);
		used += after[i] != before[i];
	}
	EXPECT_EQ(queues < rings ? queues : rings, used);
}

/* A transfer holds its buffers: their handles are closed before it begins. */
TEST_F(life, closed_handles)
{
	struct drm_neuron_transfer args = {
		.dst = self->t.bo[TRANSFER_HBM1],
		.src = self->t.bo[TRANSFER_HBM0],
		.bytes = 2048,
		.count = { TRANSFER_SIZE / 2048 },
		.dst_step = { 2048 },
		.src_step = { 2048 },
	};
	struct drm_neuron_wait_job job;
	uint32_t never, handle;
	int dma_buf;

	neuron_fill(self->t.data, TRANSFER_SIZE, 11);
	ASSERT_EQ(0, neuron_write(self->t.fd, args.src, 0, self->t.data, TRANSFER_SIZE));
	ASSERT_EQ(0, transfer_endless(&self->t.rig, self->t.fd, &never));
	dma_buf = neuron_export(self->t.fd, args.dst);
	ASSERT_GE(dma_buf, 0);
	ASSERT_EQ(0, transfer_submit(self->t.fd, &args, never, 0));
	ASSERT_EQ(0, neuron_bo_close(self->t.fd, args.src));
	ASSERT_EQ(0, neuron_bo_close(self->t.fd, args.dst));
	/* What would have their memory by now. */
	ASSERT_EQ(0, transfer_bo(self->t.fd, TRANSFER_HBM0, &handle));
	ASSERT_EQ(0, transfer_bo(self->t.fd, TRANSFER_HBM1, &handle));

	transfer_endless_end(&self->t.rig);
	ASSERT_EQ(0, transfer_wait(self->t.fd, args.transfer, &job));
	EXPECT_EQ(DRM_NEURON_JOB_OK, job.status);
	EXPECT_EQ(TRANSFER_SIZE, job.dma_bytes);
	ASSERT_EQ(0, neuron_read(self->t.fd, handle, 0, self->t.data, TRANSFER_SIZE));
	EXPECT_EQ(TRANSFER_SIZE, neuron_differs_from(self->t.data, TRANSFER_SIZE, 0));
	ASSERT_EQ(0, neuron_import(self->t.fd, dma_buf, &handle));
	close(dma_buf);
	ASSERT_EQ(0, neuron_read(self->t.fd, handle, 0, self->t.data, TRANSFER_SIZE));
	EXPECT_EQ(TRANSFER_SIZE, neuron_differs(self->t.data, TRANSFER_SIZE, 11));
}

/* How many a queue takes before it refuses one, with -errno. */
static unsigned int fill_queue(int fd, struct drm_neuron_transfer *args, uint32_t never,
			       int *error)
{
	unsigned int nr = 0;

	while (nr < 20000) {
		*error = transfer_submit(fd, args, never, 0);
		if (*error)
			break;
		nr++;
	}
	return nr;
}

/* Queued transfers are bounded, in each queue. What fills one does not concern the others. */
TEST_F(life, bound)
{
	struct drm_neuron_transfer args = {
		.dst = self->t.bo[TRANSFER_HBM0],
		.src = self->t.bo[TRANSFER_HOST],
		.bytes = 4,
	};
	struct drm_neuron_cancel cancel = { .claim = DRM_NEURON_NO_CLAIM };
	uint32_t never;
	int error;

	ASSERT_EQ(0, transfer_endless(&self->t.rig, self->t.fd, &never));
	for (args.queue = 0; args.queue < self->t.limits.transfer_queues; args.queue++) {
		ASSERT_EQ(0, transfer_run(self->t.fd, &args));
		ASSERT_EQ(0, transfer_submit(self->t.fd, &args, never, 0));
		cancel.job = args.transfer;
		EXPECT_EQ(self->t.limits.queued_transfers - 1,
			  fill_queue(self->t.fd, &args, never, &error));
		EXPECT_EQ(-EBUSY, error);
		EXPECT_EQ(-EBUSY, transfer_submit(self->t.fd, &args, 0, 0));
	}
	/* The end of one is room for one. */
	args.queue--;
	must(self->t.fd, CANCEL, &cancel);
	ASSERT_EQ(0, transfer_wait(self->t.fd, cancel.job, NULL));
	EXPECT_EQ(0, transfer_submit(self->t.fd, &args, never, 0));
	EXPECT_EQ(-EBUSY, transfer_submit(self->t.fd, &args, never, 0));
}

/* So is their memory, in all queues together; those of a file that was closed are forgotten. */
TEST_F(life, memory_bound)
{
	struct drm_neuron_transfer args = {
		.bytes = 4,
		.dst_step = { 16 },
		.src_step = { 16 },
	};
	struct rig_usage before;
	unsigned int i, nr = 0;
	int fd, error = 0;
	bool leaks = true;
	uint32_t never;

	args.count[0] = self->t.limits.transfer_pieces;
	rig_usage(self->t.fd, &before);
	fd = neuron_open(0);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, transfer_bo(fd, TRANSFER_HBM0, &args.dst));
	ASSERT_EQ(0, transfer_bo(fd, TRANSFER_HOST, &args.src));
	ASSERT_EQ(0, transfer_endless(&self->t.rig, fd, &never));
	for (i = 0; i < self->t.limits.transfer_queues && error != -ENOMEM; i++) {
		args.queue = i;
		nr += fill_queue(fd, &args, never, &error);
	}
	EXPECT_EQ(-ENOMEM, error);
	/* 256 MiB, and a piece takes 24 bytes. */
	EXPECT_GE((256 * MIB) / (24 * self->t.limits.transfer_pieces), nr);
	close(fd);
	rig_close(&self->t.rig);
	self->t.rig.fd = -1;
	/* Thousands take a debug kernel a while. */
	for (i = 0; i < 20 && leaks; i++)
		leaks = rig_leaks(self->t.fd, &before);
	EXPECT_FALSE(leaks);
	args = (struct drm_neuron_transfer){
		.dst = self->t.bo[TRANSFER_HBM0],
		.src = self->t.bo[TRANSFER_HOST],
		.bytes = TRANSFER_SIZE,
	};
	EXPECT_EQ(0, transfer_run(self->t.fd, &args));
}

/* What the user is charged for one more transfer that waits for @count syncobjs. */
static long long charge_of_transfer(int fd, struct drm_neuron_transfer *args,
				    const struct drm_neuron_sync *in, uint32_t count)
{
	long long before = rig_charged(fd);
	int ret;

	args->in_syncs = (struct drm_neuron_array){ sizeof(*in), count, (uintptr_t)in };
	ret = neuron_ioctl(fd, DRM_IOCTL_NEURON_TRANSFER, args);
	return ret ? ret : rig_charged(fd) - before;
}

/* The list of what a transfer waits for is charged as the transfer is, for as long. */
TEST_F(life, syncobjs_are_charged)
{
	const uint32_t count = self->t.limits.syncs;
	struct drm_neuron_transfer args = { .bytes = 4 };
	struct drm_neuron_sync in[256] = { 0 };
	struct rig_usage rest;
	long long before, one;
	uint32_t i;
	int fd;

	ASSERT_LE(count, 256);
	fd = neuron_open(0);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, transfer_bo(fd, TRANSFER_HBM0, &args.dst));
	ASSERT_EQ(0, transfer_bo(fd, TRANSFER_HOST, &args.src));
	ASSERT_EQ(0, transfer_endless(&self->t.rig, fd, &in[0].handle));
	for (i = 1; i < count; i++)
		in[i] = in[0];
	rig_usage_at_rest(fd, &rest);
	before = rig_charged(self->t.fd);
	/* An element takes two pointers at least: a fence, and what it calls. */
	one = charge_of_transfer(fd, &args, in, 1);
	EXPECT_LT(0, one);
	EXPECT_LE(one + (count - 1) * 2 * (long long)sizeof(void *),
		  charge_of_transfer(fd, &args, in, count));
	close(fd);
	EXPECT_TRUE(rig_charge_returns(self->t.fd, before));
}

/* Transfers that wait, and others under way, when their file is closed. */
TEST_F(life, close)
{
	struct drm_neuron_transfer args = { .bytes = TRANSFER_SIZE };
	uint32_t never, handle;
	int fd, i, dma_buf, ret;

	for (i = 0; i < 20; i++) {
		fd = neuron_open(0);
		ASSERT_GE(fd, 0);
		dma_buf = neuron_export(self->t.fd, self->t.bo[TRANSFER_HBM1]);
		ASSERT_EQ(0, neuron_import(fd, dma_buf, &args.dst));
		close(dma_buf);
		ASSERT_EQ(0, transfer_bo(fd, TRANSFER_HOST, &handle));
		args.src = handle;
		ASSERT_EQ(0, transfer_submit(fd, &args, 0, 0));
		ASSERT_EQ(0, transfer_submit(fd, &args, 0, 0));
		never = 0;
		ret = self->t.rig.fd < 0 ? transfer_endless(&self->t.rig, fd, &never) : 0;
		ASSERT_EQ(0, ret);
		ASSERT_EQ(0, transfer_submit(fd, &args, never, 0));
		ASSERT_EQ(0, transfer_submit(fd, &args, 0, 0));
		close(fd);
	}
	args = (struct drm_neuron_transfer){
		.dst = self->t.bo[TRANSFER_HBM0],
		.src = self->t.bo[TRANSFER_HOST],
		.bytes = TRANSFER_SIZE,
	};
	EXPECT_EQ(0, transfer_run(self->t.fd, &args));
}

/*
 * A device reset ends those that wait, those under way, and the buffers of before. Nobody
 * cares for what is moved, which is all of a buffer again and again. The queue is full when the
 * reset comes, and the first one of it has ended.
 */
TEST_F(life, reset)
{
	struct drm_neuron_transfer args = { .bytes = TRANSFER_SIZE, .queue = 1 };
	struct transfer_feeder feeder = { .fd = self->t.fd };
	struct drm_neuron_wait_job job;
	uint32_t never, out, bo;

	args.dst = self->t.bo[TRANSFER_HBM0];
	args.src = self->t.bo[TRANSFER_HBM1];
	ASSERT_EQ(0, transfer_endless(&self->t.rig, self->t.fd, &never));
	ASSERT_EQ(0, rig_syncobj_create(self->t.fd, &out));
	ASSERT_EQ(0, transfer_submit(self->t.fd, &args, never, out));
	feeder.args = args;
	feeder.args.queue = 0;
	feeder.args.count[0] = 30;
	ASSERT_EQ(0, transfer_run(self->t.fd, &feeder.args));
	ASSERT_EQ(0, transfer_feed(&feeder));
	ASSERT_EQ(0, neuron_reset_device(self->t.fd));
	ASSERT_EQ(0, transfer_feed_end(&feeder));
	EXPECT_EQ(-EIO, feeder.error);
	EXPECT_LE(feeder.was_full, transfer_feed_failed(&feeder));
	ASSERT_EQ(0, transfer_wait(self->t.fd, args.transfer, &job));
	EXPECT_EQ(DRM_NEURON_JOB_ABORTED, job.status);
	EXPECT_EQ(0, job.dma_bytes);
	EXPECT_EQ(-EIO, rig_fence(self->t.fd, out));
	EXPECT_EQ(-EIO, transfer_run(self->t.fd, &args));
	/* Host memory is not lost. */
	ASSERT_EQ(0, transfer_bo(self->t.fd, TRANSFER_HBM0, &bo));
	args = (struct drm_neuron_transfer){
		.dst = bo,
		.src = self->t.bo[TRANSFER_HOST],
		.bytes = TRANSFER_SIZE,
	};
	EXPECT_EQ(0, transfer_run(self->t.fd, &args));
}

static void expect_ended_by_the_reset(struct __test_metadata *_metadata, int fd, uint64_t transfer,
				      uint32_t out)
{
	struct drm_neuron_wait_job job;

	ASSERT_EQ(0, transfer_wait(fd, transfer, &job));
	EXPECT_EQ(DRM_NEURON_JOB_ABORTED, job.status);
	EXPECT_EQ(-EIO, job.error);
	EXPECT_EQ(0, job.dma_bytes);
	EXPECT_EQ(-EIO, rig_fence(fd, out));
}

/*
 * Those of before a reset whose turn comes after it. They are between buffers in host memory, which
 * are not lost. That one is cancelled, and that another one waits for what fails, makes no
 * difference.
 */
TEST_F(life, turn_after_a_reset)
{
	struct drm_neuron_cancel cancel = { .claim = DRM_NEURON_NO_CLAIM };
	struct drm_neuron_transfer args[2] = { 0 };
	uint32_t never, out[2], host;
	int ret, i;

	ret = transfer_endless_on(&self->t.rig, 1, self->t.fd, &never);
	if (ret == -ENODEV)
		SKIP(return, "one device only");
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, transfer_bo(self->t.fd, TRANSFER_HOST, &host));
	for (i = 0; i < 2; i++) {
		args[i] = (struct drm_neuron_transfer){
			.dst = host,
			.src = self->t.bo[TRANSFER_HOST],
			.bytes = TRANSFER_SIZE,
			.queue = i,
		};
		ASSERT_EQ(0, rig_syncobj_create(self->t.fd, &out[i]));
		ASSERT_EQ(0, transfer_submit(self->t.fd, &args[i], never, out[i]));
	}
	ASSERT_EQ(0, neuron_reset_device(self->t.fd));
	for (i = 0; i < 2; i++)
		EXPECT_EQ(1, rig_fence(self->t.fd, out[i]));

	cancel.job = args[0].transfer;
	must(self->t.fd, CANCEL, &cancel);
	expect_ended_by_the_reset(_metadata, self->t.fd, args[0].transfer, out[0]);
	ASSERT_EQ(0, rig_release(self->t.rig.fd, self->t.rig.claim));
	expect_ended_by_the_reset(_metadata, self->t.fd, args[1].transfer, out[1]);
	EXPECT_EQ(0, transfer_run(self->t.fd, &args[0]));
}

TEST_HARNESS_MAIN
