// SPDX-License-Identifier: MIT
/*
 * Threads of one file that do everything at the same time with the same few ids:
 * claim, release, submit, wait, reset, windows, grants, buffers, mappings, dma-bufs,
 * transfers.
 * Calls may fail as they like; the victim is unhurt, nothing leaks, and the
 * device works afterwards.
 *
 * NEURON_STORM_SECONDS in the environment: how long (default 6).
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "hostile.h"
#include "job_rig.h"
#include "kselftest_harness.h"

#define THREADS		4
#define IDS		4	/* handles and claims that are guessed: 1 to this */
#define BYTES		(64u << 10)
#define MAX_SECONDS	3600
#define CALLS		13	/* what monkey_act() knows */

/**
 * struct monkey - a thread
 * @fd: the file that all of them share
 * @other: another file, for dma-bufs
 * @memory: of the thread's own, to import
 * @stop: end it
 * @calls: that succeeded, by what they were
 */
struct monkey {
	pthread_t thread;
	int fd;
	int other;
	uint64_t seed;
	uint8_t *memory;
	atomic_bool *stop;
	unsigned int calls[CALLS];
};

static int monkey_claim(struct monkey *m)
{
	struct drm_neuron_claim args;

	return rig_claim(m->fd, 1u << hostile_dice(&m->seed, 3), 0, &args);
}

/* With notifications into any buffer now and then, a window, and a second core. */
static int monkey_submit(struct monkey *m, uint32_t id, uint32_t core)
{
	const struct drm_neuron_window window = {
		.index = hostile_dice(&m->seed, 3),
		.kind = DRM_NEURON_WINDOW_BO,
		.rights = DRM_NEURON_WINDOW_READ,
		.handle = 1 + hostile_dice(&m->seed, IDS),
		.length = BYTES,
	};
	const struct drm_neuron_start start = {
		.addr = neuron_window_addr(RIG_WINDOW_IMAGE, 0),
		.count = 1 + hostile_dice(&m->seed, 20),
		.engine = NEURON_ENGINE_SYNC,
	};
	struct drm_neuron_job job[2] = { {
		.core = core,
		.timeout_ms = 1 + hostile_dice(&m->seed, 30),
		.starts = { sizeof(start), 1, (uintptr_t)&start },
	} };
	struct drm_neuron_submit submit = { .claim = id };

	if (!hostile_dice(&m->seed, 3)) {
		job[0].stream = 1 + hostile_dice(&m->seed, IDS);
		job[0].notify_size = 4096;
	}
	if (hostile_dice(&m->seed, 2))
		job[0].windows = (struct drm_neuron_array){
			.stride = sizeof(window),
			.count = 1,
			.pointer = (uintptr_t)&window,
		};
	job[1] = job[0];
	job[1].core = hostile_dice(&m->seed, 3);
	rig_put_jobs(&submit, job, 1 + hostile_dice(&m->seed, 2));
	return neuron_ioctl(m->fd, DRM_IOCTL_NEURON_SUBMIT, &submit);
}

static int monkey_wait(struct monkey *m, uint32_t id, uint32_t core)
{
	struct drm_neuron_cancel cancel = {
		.claim = id,
		.core = core,
		.job = 1 + hostile_dice(&m->seed, 6),
	};
	struct drm_neuron_wait_job jobs[3];
	unsigned int i;

	for (i = 0; i < 3; i++)
		jobs[i] = (struct drm_neuron_wait_job){
			.claim = id,
			.core = core,
			.job = 1 + hostile_dice(&m->seed, 6),
		};
	if (!hostile_dice(&m->seed, 4))
		return neuron_ioctl(m->fd, DRM_IOCTL_NEURON_CANCEL, &cancel);
	return rig_wait_jobs(m->fd, jobs, 1 + hostile_dice(&m->seed, 3),
			     hostile_dice(&m->seed, 2),
			     hostile_dice(&m->seed, 2) * 20);
}

static int monkey_windows(struct monkey *m, uint32_t id, uint32_t core)
{
	struct drm_neuron_window window[4];
	struct drm_neuron_windows args = {
		.claim = id,
		.core = core,
		.windows = {
			.stride = sizeof(window[0]),
			.count = 4,
			.pointer = (uintptr_t)window,
		},
	};
	unsigned int i;

	for (i = 0; i < 4; i++)
		window[i] = (struct drm_neuron_window){
			.index = i ? hostile_dice(&m->seed, 40) : 0,
			.kind = DRM_NEURON_WINDOW_BO,
			.rights = DRM_NEURON_WINDOW_READ |
				  DRM_NEURON_WINDOW_WRITE,
			.handle = 1 + hostile_dice(&m->seed, IDS),
			.length = BYTES,
		};
	return neuron_ioctl(m->fd, DRM_IOCTL_NEURON_WINDOWS, &args);
}

/* A grant, and a window of it. */
static int monkey_grant(struct monkey *m, uint32_t id, uint32_t core)
{
	struct drm_neuron_grant grant = {
		.claim = id,
		.core = core,
		.count = 1 + hostile_dice(&m->seed, 256),
	};
	struct drm_neuron_window window = {
		.index = RIG_WINDOW_FREE,
		.kind = DRM_NEURON_WINDOW_SEM,
		.rights = DRM_NEURON_WINDOW_WRITE,
		.length = 4,
	};
	struct rig rig = {
		.fd = m->fd,
		.claim = 1 + hostile_dice(&m->seed, IDS),
		.core = hostile_dice(&m->seed, 3),
	};
	int ret = neuron_ioctl(m->fd, DRM_IOCTL_NEURON_GRANT, &grant);

	if (ret)
		return ret;
	window.from = DRM_NEURON_FROM_GRANT_FD;
	window.source = grant.fd;
	ret = rig_windows(&rig, &window, 1);
	close(grant.fd);
	return ret;
}

static int monkey_map(struct monkey *m, uint32_t handle)
{
	struct drm_neuron_bo_info info = { .handle = handle };
	int ret = neuron_ioctl(m->fd, DRM_IOCTL_NEURON_BO_INFO, &info);
	uint8_t *p;

	if (ret)
		return ret;
	p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd,
		 (off_t)info.mmap_offset);
	if (p == MAP_FAILED)
		return -errno;
	/* A program: it stops, faults, or loops for ever. */
	p[0] = hostile_dice(&m->seed, 3) ? NEURON_OP_BRANCH : NEURON_OP_HALT;
	p[BYTES - 1] = 1;
	return munmap(p, BYTES);
}

/* Out and in again, by this file and by another one. */
static int monkey_share(struct monkey *m, uint32_t handle)
{
	int dma_buf = neuron_export(m->fd, handle), ret;
	uint32_t here, there;

	if (dma_buf < 0)
		return dma_buf;
	ret = neuron_import(m->other, dma_buf, &there);
	if (!ret)
		neuron_bo_close(m->other, there);
	if (!hostile_dice(&m->seed, 2))
		ret = neuron_import(m->fd, dma_buf, &here);
	close(dma_buf);
	return ret;
}

static int monkey_create(struct monkey *m)
{
	struct drm_neuron_bo_import import = {
		.user = (uintptr_t)m->memory,
		.size = BYTES,
	};
	struct drm_neuron_bo_create bo;
	uint32_t kind = hostile_dice(&m->seed, 5);
	uint32_t handle;
	int ret;

	if (kind == 4) {
		ret = neuron_ioctl(m->fd, DRM_IOCTL_NEURON_BO_IMPORT, &import);
		handle = import.handle;
	} else {
		bo = (struct drm_neuron_bo_create){
			.size = BYTES,
			.placement = kind >= 2,
			.stack = kind == 1,
			.flags = kind == 3 ? DRM_NEURON_BO_STREAM : 0,
		};
		ret = neuron_ioctl(m->fd, DRM_IOCTL_NEURON_BO_CREATE, &bo);
		handle = bo.handle;
	}
	/* Few handles, so that all threads mean the same. */
	if (!ret && handle > IDS)
		neuron_bo_close(m->fd, handle);
	return ret;
}

static int monkey_copy(struct monkey *m, uint32_t handle)
{
	static _Thread_local uint8_t bytes[BYTES];

	switch (hostile_dice(&m->seed, 3)) {
	case 0:
		return neuron_write(m->fd, handle, 0, bytes, BYTES);
	case 1:
		return neuron_read(m->fd, handle, 0, bytes, BYTES);
	default:
		return neuron_bo_copy(m->fd, handle, 0,
				      1 + hostile_dice(&m->seed, IDS), 0,
				      BYTES);
	}
}

/* Between any two buffers, also from one syncobj of few to another. */
static int monkey_transfer(struct monkey *m)
{
	struct drm_neuron_transfer args = {
		.dst = 1 + hostile_dice(&m->seed, IDS),
		.src = 1 + hostile_dice(&m->seed, IDS),
		.bytes = 64,
		.count = { 1 + hostile_dice(&m->seed, BYTES / 128) },
		.dst_step = { 128 },
		.src_step = { 64 },
		.queue = hostile_dice(&m->seed, 3),
	};
	struct drm_neuron_sync in = { .handle = 1 + hostile_dice(&m->seed, IDS) };
	struct drm_neuron_sync out = { .handle = 1 + hostile_dice(&m->seed, IDS) };
	struct drm_neuron_cancel cancel = { .claim = DRM_NEURON_NO_CLAIM };
	struct drm_neuron_wait_job job = { .claim = DRM_NEURON_NO_CLAIM };
	uint32_t handle;
	int ret;

	if (!hostile_dice(&m->seed, 8))
		rig_syncobj_create(m->fd, &handle);
	args.in_syncs = (struct drm_neuron_array){
		sizeof(in), hostile_dice(&m->seed, 2), (uintptr_t)&in,
	};
	args.out_syncs = (struct drm_neuron_array){
		sizeof(out), hostile_dice(&m->seed, 2), (uintptr_t)&out,
	};
	ret = neuron_ioctl(m->fd, DRM_IOCTL_NEURON_TRANSFER, &args);
	if (ret)
		return ret;
	cancel.job = args.transfer;
	job.job = args.transfer;
	if (!hostile_dice(&m->seed, 4))
		neuron_ioctl(m->fd, DRM_IOCTL_NEURON_CANCEL, &cancel);
	if (!hostile_dice(&m->seed, 4))
		rig_wait_jobs(m->fd, &job, 1, 0, 10);
	return 0;
}

static int monkey_act(struct monkey *m, unsigned int what)
{
	uint32_t id = 1 + hostile_dice(&m->seed, IDS);
	uint32_t core = hostile_dice(&m->seed, 3);
	struct drm_neuron_reset reset = { .claim = id, .core = core };

	switch (what) {
	case 0:
		return monkey_claim(m);
	case 1:
		return hostile_dice(&m->seed, 4) ? -EAGAIN :
						   rig_release(m->fd, id);
	case 2:
	case 3:
		return monkey_submit(m, id, core);
	case 4:
		return monkey_wait(m, id, core);
	case 5:
		return monkey_windows(m, id, core);
	case 6:
		return monkey_grant(m, id, core);
	case 7:
		return monkey_map(m, id);
	case 8:
		return monkey_share(m, id);
	case 9:
		return monkey_create(m);
	case 10:
		return hostile_dice(&m->seed, 2) ? neuron_bo_close(m->fd, id) :
						   monkey_copy(m, id);
	case 11:
		return monkey_transfer(m);
	default:
		return hostile_dice(&m->seed, 8) ? -EAGAIN :
		       neuron_ioctl(m->fd, DRM_IOCTL_NEURON_RESET, &reset);
	}
}

static void *monkey_live(void *arg)
{
	struct monkey *m = arg;
	unsigned int what;

	m->memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	while (!atomic_load(m->stop)) {
		what = hostile_dice(&m->seed, CALLS);
		m->calls[what] += !monkey_act(m, what);
	}
	/* What was imported may still be in use. */
	munmap(m->memory, BYTES);
	return NULL;
}

static int64_t seconds(void)
{
	const char *text = getenv("NEURON_STORM_SECONDS");
	int value = text ? atoi(text) : 0;

	return value > 0 && value < MAX_SECONDS ? value : 6;
}

FIXTURE(races) {
	struct victim victim;
	struct rig_usage before;
	int watch;
};

FIXTURE_SETUP(races)
{
	self->watch = neuron_open(0);
	if (self->watch < 0)
		SKIP(return, "no neuron device");
	rig_usage(self->watch, &self->before);
	ASSERT_GE(self->before.live, 0) TH_LOG("debugfs must be mounted");
	ASSERT_EQ(0, victim_open(&self->victim, 0));
}

FIXTURE_TEARDOWN(races)
{
	struct drm_neuron_wait_job result;
	struct rig rig;

	if (self->watch < 0)
		return;
	EXPECT_TRUE(victim_is_unhurt(&self->victim));
	victim_close(&self->victim);
	EXPECT_FALSE(rig_leaks(self->watch, &self->before));
	ASSERT_EQ(0, rig_open(&rig, 0, 0));
	rig_store(&rig, NEURON_ENGINE_SYNC, 0, 1);
	rig_halt(&rig, NEURON_ENGINE_SYNC);
	EXPECT_EQ(0, rig_run(&rig, 5000, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	rig_close(&rig);
	close(self->watch);
}

/* In the middle of it the file is closed for good: nobody ends the calls first. */
TEST_F_TIMEOUT(races, all_at_once, MAX_SECONDS + 60)
{
	int64_t end = rig_now_ms() + seconds() * 1000;
	unsigned int calls[CALLS] = { 0 }, rounds = 0, i, j;

	while (rig_now_ms() < end) {
		struct monkey m[THREADS] = { 0 };
		atomic_bool stop = false;
		int fd = neuron_open(0), other = neuron_open(0);

		ASSERT_GE(other, 0);
		for (i = 0; i < THREADS; i++) {
			m[i].fd = fd;
			m[i].other = other;
			m[i].seed = rounds * 100 + i;
			m[i].stop = &stop;
			ASSERT_EQ(0, pthread_create(&m[i].thread, NULL,
						    monkey_live, &m[i]));
		}
		usleep(700000);
		close(fd);
		usleep(20000);
		atomic_store(&stop, true);
		for (i = 0; i < THREADS; i++) {
			pthread_join(m[i].thread, NULL);
			for (j = 0; j < CALLS; j++)
				calls[j] += m[i].calls[j];
		}
		close(other);
		rounds++;
	}
	TH_LOG("%u rounds: %u claims, %u releases, %u jobs, %u waits",
	       rounds, calls[0], calls[1], calls[2] + calls[3], calls[4]);
	TH_LOG("%u windows, %u grants, %u mappings, %u shared, %u buffers, %u transfers",
	       calls[5], calls[6], calls[7], calls[8], calls[9], calls[11]);
	EXPECT_GT(calls[0], 0);
	EXPECT_GT(calls[2] + calls[3], 0);
	EXPECT_GT(calls[11], 0);
}

TEST_HARNESS_MAIN
