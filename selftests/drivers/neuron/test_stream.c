// SPDX-License-Identifier: MIT
/*
 * Notification streams: NOTIFY of a job writes them, the owner reads them, and
 * nothing else gets there.
 */
#include <unistd.h>

#include "job_rig.h"
#include "kselftest_harness.h"
#include "neuron_test.h"
#include "neuron/window.h"

#define LIMIT	20000	/* ms, of jobs that should end at once */
#define SIZE	0x300000	/* more than one piece of memory */

FIXTURE(stream) {
	struct rig rig;
	struct rig_usage before;
	struct drm_neuron_bo_create bo;
	const struct neuron_hw_notify *map;
	int fd;
};

FIXTURE_SETUP(stream)
{
	self->fd = neuron_open(0);
	if (self->fd < 0)
		SKIP(return, "no neuron device");
	rig_usage(self->fd, &self->before);
	ASSERT_GE(self->before.live, 0) TH_LOG("debugfs must be mounted");
	ASSERT_EQ(0, rig_open(&self->rig, 0, 0));
	self->bo = (struct drm_neuron_bo_create){
		.size = SIZE,
		.placement = DRM_NEURON_BO_HOST,
		.flags = DRM_NEURON_BO_STREAM,
	};
	must(self->rig.fd, BO_CREATE, &self->bo);
	self->map = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, self->rig.fd,
			 (off_t)self->bo.mmap_offset);
	ASSERT_NE(MAP_FAILED, (void *)self->map);
}

FIXTURE_TEARDOWN(stream)
{
	if (self->map)
		munmap((void *)self->map, SIZE);
	rig_close(&self->rig);
	if (self->fd < 0)
		return;
	EXPECT_FALSE(rig_leaks(self->fd, &self->before));
	close(self->fd);
}

/* @nr notifications with tags from @tag, by the scalar engine. */
static void emit_notify(struct rig *rig, uint32_t tag, unsigned int nr)
{
	unsigned int i;

	rig_clear(rig);
	for (i = 0; i < nr; i++)
		rig_emit(rig, NEURON_ENGINE_SCALAR, NEURON_OP_NOTIFY)->imm0 =
			tag + i;
	rig_halt(rig, NEURON_ENGINE_SCALAR);
}

static void prepare(struct rig *rig, struct rig_submit *submit,
		    uint32_t stream, uint32_t offset, uint32_t size)
{
	struct drm_neuron_queue none;

	rig_prepare(rig, submit, &none);
	submit->job.stream = stream;
	submit->job.stream_offset = offset;
	submit->job.notify_size = size;
}

#define expect_run(rig, submit, why) do { \
	struct drm_neuron_wait_job result_; \
	ASSERT_EQ(0, rig_submit(rig, submit)); \
	ASSERT_EQ(0, rig_wait(rig, (submit)->call.job, LIMIT, &result_)); \
	EXPECT_EQ(why, result_.cause); \
	EXPECT_EQ((why) ? NEURON_JOB_ERROR : NEURON_JOB_OK, \
		  result_.status); \
} while (0)

TEST_F(stream, is_written_by_notify)
{
	/* At an offset, and across the end of a piece of host memory. */
	static const uint32_t at[] = { 0, 0x1000, 0x1ffff0, SIZE - 128 };
	struct rig_submit submit;
	unsigned int i, n;

	for (i = 0; i < 4; i++) {
		const struct neuron_hw_notify *entry = self->map + at[i] / 16;

		emit_notify(&self->rig, 100 * (i + 1), 3);
		prepare(&self->rig, &submit, self->bo.handle, at[i], 128);
		expect_run(&self->rig, &submit, NEURON_CAUSE_NONE);
		for (n = 0; n < 3; n++) {
			EXPECT_EQ(100 * (i + 1) + n, entry[n].tag);
			EXPECT_EQ(0x80000000 | NEURON_ENGINE_SCALAR << 24 | n,
				  entry[n].source);
		}
		EXPECT_EQ(0, entry[3].source);
	}
}

/* Laps stay inside of what the job was given. */
TEST_F(stream, laps)
{
	struct rig_submit submit;

	emit_notify(&self->rig, 1, 10);
	prepare(&self->rig, &submit, self->bo.handle, 64, 64);
	expect_run(&self->rig, &submit, NEURON_CAUSE_NONE);
	EXPECT_EQ(0, self->map[3].source);
	EXPECT_EQ(9, self->map[4].tag);
	EXPECT_EQ(10, self->map[5].tag);
	EXPECT_EQ(7, self->map[6].tag);
	EXPECT_EQ(8, self->map[7].tag);
	EXPECT_EQ(0, self->map[8].source);
}

TEST_F(stream, copies_read_only)
{
	struct rig_submit submit;
	struct neuron_hw_notify entry = { 0 };
	int fd = self->rig.fd;

	emit_notify(&self->rig, 5, 1);
	prepare(&self->rig, &submit, self->bo.handle, 0, 64);
	expect_run(&self->rig, &submit, NEURON_CAUSE_NONE);
	EXPECT_EQ(0, neuron_read(fd, self->bo.handle, 0, &entry, 16));
	EXPECT_EQ(5, entry.tag);
	EXPECT_EQ(0, neuron_bo_copy(fd, self->rig.bo, RIG_HALF,
				    self->bo.handle, 0, 16));
	EXPECT_EQ(0, memcmp(self->rig.data, &entry, 16));

	EXPECT_EQ(-EPERM, neuron_write(fd, self->bo.handle, 0, &entry, 16));
	EXPECT_EQ(-EPERM, neuron_bo_copy(fd, self->bo.handle, 0, self->rig.bo,
					 0, 16));
	EXPECT_EQ(-EPERM, neuron_bo_copy(fd, self->bo.handle, 0x1000,
					 self->bo.handle, 0, 16));
}

TEST_F(stream, maps_read_only)
{
	static const int prot[] = { PROT_WRITE, PROT_READ | PROT_WRITE };
	unsigned int i;
	void *map;

	for (i = 0; i < 2; i++) {
		map = mmap(NULL, SIZE, prot[i], MAP_SHARED, self->rig.fd,
			   (off_t)self->bo.mmap_offset);
		EXPECT_EQ(MAP_FAILED, map);
		EXPECT_EQ(EPERM, errno);
	}
	EXPECT_EQ(-1, mprotect((void *)self->map, SIZE,
			       PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-EPERM, neuron_export(self->rig.fd, self->bo.handle));
}

/* No window of the program shows it, not even the kernel's own. */
TEST_F(stream, is_no_window)
{
	struct drm_neuron_window window = {
		.index = RIG_WINDOW_FREE,
		.kind = DRM_NEURON_WINDOW_BO,
		.rights = DRM_NEURON_WINDOW_READ,
		.handle = self->bo.handle,
		.length = 64,
	};
	struct rig_submit submit;
	struct neuron_inst *inst;
	unsigned int i, store;

	EXPECT_EQ(-EPERM, rig_windows(&self->rig, &window, 1));
	window.kind = NEURON_WINDOW_STREAM;
	EXPECT_EQ(-EINVAL, rig_windows(&self->rig, &window, 1));

	/* Wherever it is: each window of the table but the rig's own. */
	for (i = RIG_WINDOW_FREE; i < 40; i++) {
		for (store = 0; store < 2; store++) {
			rig_clear(&self->rig);
			inst = rig_emit(&self->rig, NEURON_ENGINE_SCALAR,
					store ? NEURON_OP_REG_STORE :
						NEURON_OP_REG_LOAD);
			inst->reg[0] = 1;
			inst->addr = neuron_window_addr(i, 0);
			rig_halt(&self->rig, NEURON_ENGINE_SCALAR);
			prepare(&self->rig, &submit, self->bo.handle, 0, 64);
			expect_run(&self->rig, &submit, NEURON_CAUSE_WINDOW);
		}
	}
	EXPECT_EQ(SIZE, neuron_differs_from((const uint8_t *)self->map, SIZE,
					    0));
}

/* The job keeps it, whatever the owner lets go of. */
TEST_F(stream, lives_with_the_job)
{
	struct rig_submit endless, submit;
	struct drm_neuron_wait_job result;
	struct drm_neuron_queue none;

	rig_clear(&self->rig);
	rig_loop(&self->rig, NEURON_ENGINE_VECTOR, 0);
	rig_prepare(&self->rig, &endless, &none);
	endless.job.timeout_ms = 60000;
	ASSERT_EQ(0, rig_submit(&self->rig, &endless));
	rig_emit(&self->rig, NEURON_ENGINE_SCALAR, NEURON_OP_NOTIFY)->imm0 = 77;
	rig_halt(&self->rig, NEURON_ENGINE_SCALAR);
	rig_prepare_engine(&self->rig, &submit, NEURON_ENGINE_SCALAR);
	submit.job.stream = self->bo.handle;
	submit.job.notify_size = 64;
	ASSERT_EQ(0, rig_submit(&self->rig, &submit));
	ASSERT_EQ(0, neuron_bo_close(self->rig.fd, self->bo.handle));
	ASSERT_EQ(0, rig_cancel(&self->rig, endless.call.job));
	ASSERT_EQ(0, rig_wait(&self->rig, submit.call.job, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	EXPECT_EQ(77, self->map[0].tag);
}

/* Windows of the program come and go around it. */
TEST_F(stream, with_a_growing_table)
{
	struct drm_neuron_window window = {
		.kind = DRM_NEURON_WINDOW_SBUF,
		.rights = DRM_NEURON_WINDOW_READ,
	};
	struct rig_submit submit;
	uint32_t tag = 1;

	for (window.index = 8; window.index < 1u << 15; window.index *= 2) {
		emit_notify(&self->rig, tag, 1);
		prepare(&self->rig, &submit, self->bo.handle, 0, 64);
		submit.job.windows = (struct drm_neuron_array){
			sizeof(window), 1, (uintptr_t)&window,
		};
		expect_run(&self->rig, &submit, NEURON_CAUSE_NONE);
		EXPECT_EQ(tag, self->map[0].tag);
		tag++;
	}
	/* The largest table has no room for it. */
	prepare(&self->rig, &submit, self->bo.handle, 0, 64);
	submit.job.windows = (struct drm_neuron_array){
		sizeof(window), 1, (uintptr_t)&window,
	};
	EXPECT_EQ(-EINVAL, rig_submit(&self->rig, &submit));
	/* It stays in the table, so a job without a stream cannot make that so large either. */
	submit.job.stream = 0;
	submit.job.notify_size = 0;
	EXPECT_EQ(-EINVAL, rig_submit(&self->rig, &submit));
	prepare(&self->rig, &submit, self->bo.handle, 0, 64);
	expect_run(&self->rig, &submit, NEURON_CAUSE_NONE);
}

#define expect_submit(error, change) do { \
	struct rig_submit submit_, *s = &submit_; \
	prepare(&self->rig, s, self->bo.handle, 0, 64); \
	change; \
	EXPECT_EQ(-(error), rig_submit(&self->rig, s)) TH_LOG(#change); \
} while (0)

TEST_F(stream, bad_arguments)
{
	struct drm_neuron_bo_create bo = {
		.size = 4096,
		.placement = DRM_NEURON_BO_HBM,
		.flags = DRM_NEURON_BO_STREAM,
	};
	struct drm_neuron_bo_info info = { .handle = self->bo.handle };

	must(self->rig.fd, BO_INFO, &info);
	EXPECT_EQ(DRM_NEURON_BO_STREAM, info.flags);
	must_fail(EINVAL, self->rig.fd, BO_CREATE, &bo);
	bo.placement = DRM_NEURON_BO_HOST;
	bo.flags = 2;
	must_fail(EINVAL, self->rig.fd, BO_CREATE, &bo);

	emit_notify(&self->rig, 1, 1);
	expect_submit(0, (void)s);
	expect_submit(ENOENT, s->job.stream = 12345);
	expect_submit(EINVAL, s->job.stream = self->rig.bo);
	expect_submit(EINVAL, s->job.notify_size = 0);
	expect_submit(EINVAL, s->job.notify_size = 32);
	expect_submit(EINVAL, s->job.notify_size = 96);
	expect_submit(EINVAL, s->job.notify_addr = neuron_window_addr(1, 0));
	expect_submit(EINVAL, s->job.stream_offset = 8);
	expect_submit(EINVAL, s->job.stream_offset = SIZE - 48);
	expect_submit(EINVAL, s->job.stream_offset = -16u);
	expect_submit(EINVAL, s->job.notify_size = 1u << 31);
	expect_submit(EINVAL, s->job.stream = 0);
	expect_submit(EINVAL, { s->job.stream = 0; s->job.notify_size = 0;
			      s->job.stream_offset = 16; });
	expect_submit(EINVAL, { s->job.stream = 0; s->job.stream_offset = 16;
			      s->job.notify_addr = neuron_window_addr(1, 0); });
}

TEST_HARNESS_MAIN
