// SPDX-License-Identifier: MIT
/*
 * Status counters: the owner of a core posts them, anybody reads the sums.
 */
#include "job_rig.h"
#include "kselftest_harness.h"
#include "neuron_test.h"

#define MOST	64	/* entries of one call */

FIXTURE(post) {
	struct rig rig;
	struct drm_neuron_post args;
	struct drm_neuron_post_entry entry[MOST + 1];
};

FIXTURE_SETUP(post)
{
	int fd = neuron_open(0);

	if (fd < 0)
		SKIP(return, "no neuron device");
	close(fd);
	ASSERT_EQ(0, rig_open(&self->rig, 0, 1));
	memset(self->entry, 0, sizeof(self->entry));
	self->args = (struct drm_neuron_post){
		.claim = self->rig.claim,
		.core = self->rig.core,
		.entries = {
			.stride = sizeof(self->entry[0]),
			.count = 1,
			.pointer = (uintptr_t)self->entry,
		},
	};
}

FIXTURE_TEARDOWN(post)
{
	rig_close(&self->rig);
}

static long long status(const struct rig *rig, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "core%u/status/%s", rig->core, name);
	return neuron_sysfs_number(rig->fd, path);
}

static int clear(const struct rig *rig, const char *name)
{
	char dir[256], path[400];
	int ret = neuron_sysfs_dir(rig->fd, dir, sizeof(dir));

	if (ret)
		return ret;
	snprintf(path, sizeof(path), "%s/core%u/status/%s", dir, rig->core,
		 name);
	return neuron_write_file(path, "0\n");
}

TEST_F(post, adds)
{
	ASSERT_EQ(0, clear(&self->rig, "success"));
	ASSERT_EQ(0, clear(&self->rig, "flop_count"));
	self->args.entries.count = 3;
	self->entry[0].add = 5;
	self->entry[1].counter = DRM_NEURON_STATUS_FLOP_COUNT;
	self->entry[1].add = 1ull << 40;
	self->entry[2].add = 2;		/* the first one again */
	must(self->rig.fd, POST, &self->args);
	EXPECT_EQ(7, status(&self->rig, "success"));
	EXPECT_EQ(1ll << 40, status(&self->rig, "flop_count"));
	must(self->rig.fd, POST, &self->args);
	EXPECT_EQ(14, status(&self->rig, "success"));

	/* A write, of anything, resets that one. */
	ASSERT_EQ(0, clear(&self->rig, "success"));
	EXPECT_EQ(0, status(&self->rig, "success"));
	EXPECT_EQ(2ll << 40, status(&self->rig, "flop_count"));
}

TEST_F(post, other_core_keeps_its_own)
{
	struct rig other = self->rig;
	long long before;

	other.core = 0;
	before = status(&other, "failure");
	ASSERT_GE(before, 0);
	self->entry[0].counter = DRM_NEURON_STATUS_FAILURE;
	self->entry[0].add = 3;
	must(self->rig.fd, POST, &self->args);
	EXPECT_EQ(before, status(&other, "failure"));
}

TEST_F(post, outlives_the_claim)
{
	long long before;

	self->entry[0].counter = DRM_NEURON_STATUS_TIMEOUT;
	self->entry[0].add = 1;
	before = status(&self->rig, "timeout");
	ASSERT_GE(before, 0);
	must(self->rig.fd, POST, &self->args);
	ASSERT_EQ(0, rig_release(self->rig.fd, self->rig.claim));
	EXPECT_EQ(before + 1, status(&self->rig, "timeout"));
	must_fail(ENOENT, self->rig.fd, POST, &self->args);
	EXPECT_EQ(before + 1, status(&self->rig, "timeout"));
}

/* Each counter of the interface has a file. */
TEST_F(post, every_counter)
{
	static const char * const names[] = {
		"success", "failure", "timeout", "exec_bad_input", "hw_error",
		"execute_completed_with_error",
		"execute_completed_with_num_error", "generic_error",
		"resource_error", "resource_nc_error",
		"execute_failed_to_queue", "invalid_error",
		"unsupported_neff_version", "oob_error",
		"hw_collectives_error", "hw_hbm_ue_error", "hw_nc_ue_error",
		"hw_dma_abort_error", "execute_sw_nq_overflow",
		"execute_sw_semaphore_error", "execute_sw_event_error",
		"execute_sw_psum_collision", "execute_sw_sequencer_fatal",
		"hw_repairable_hbm_ue_error", "model_load_count",
		"inference_count", "flop_count",
	};
	unsigned int i;

	ASSERT_EQ(DRM_NEURON_NR_STATUS_COUNTERS,
		  sizeof(names) / sizeof(names[0]));
	for (i = 0; i < DRM_NEURON_NR_STATUS_COUNTERS; i++) {
		ASSERT_EQ(0, clear(&self->rig, names[i]));
		self->entry[i].counter = i;
		self->entry[i].add = i + 1;
	}
	self->args.entries.count = DRM_NEURON_NR_STATUS_COUNTERS;
	must(self->rig.fd, POST, &self->args);
	for (i = 0; i < DRM_NEURON_NR_STATUS_COUNTERS; i++)
		EXPECT_EQ(i + 1, status(&self->rig, names[i]))
			TH_LOG("%s", names[i]);
}

TEST_F(post, all_or_nothing)
{
	long long before = status(&self->rig, "success");

	self->args.entries.count = 2;
	self->entry[0].add = 1;
	self->entry[1].counter = DRM_NEURON_NR_STATUS_COUNTERS;
	must_fail(EINVAL, self->rig.fd, POST, &self->args);
	self->entry[1].counter = 0;
	self->entry[1].pad = 1;
	must_fail(EINVAL, self->rig.fd, POST, &self->args);
	EXPECT_EQ(before, status(&self->rig, "success"));
}

TEST_F(post, arguments)
{
	struct drm_neuron_post args = self->args;

	self->args.entries.count = MOST;
	must(self->rig.fd, POST, &self->args);
	self->args.entries.count = MOST + 1;
	must_fail(EINVAL, self->rig.fd, POST, &self->args);
	self->args.entries.count = 0;
	self->args.entries.pointer = 0;
	must(self->rig.fd, POST, &self->args);

	self->args = args;
	self->args.entries.stride--;
	must_fail(EINVAL, self->rig.fd, POST, &self->args);
	self->args = args;
	self->args.entries.pointer = 8;
	must_fail(EFAULT, self->rig.fd, POST, &self->args);
	self->args = args;
	self->args.core = 0;
	must_fail(EINVAL, self->rig.fd, POST, &self->args);
	self->args.core = ~0u;
	must_fail(EINVAL, self->rig.fd, POST, &self->args);
	self->args = args;
	self->args.claim++;
	must_fail(ENOENT, self->rig.fd, POST, &self->args);
}

/* Elements may grow: more of them is fine when it is zero. */
TEST_F(post, longer_elements)
{
	struct {
		struct drm_neuron_post_entry entry;
		uint64_t more;
	} longer = { 0 };

	self->args.entries.stride = sizeof(longer);
	self->args.entries.pointer = (uintptr_t)&longer;
	must(self->rig.fd, POST, &self->args);
	longer.more = 1;
	must_fail(EINVAL, self->rig.fd, POST, &self->args);
}

/* The driver's own counts of a core. */
TEST_F(post, core_files)
{
	static const char * const names[] = {
		"jobs", "busy_ns", "faults", "hangs", "resets",
		"reset_failures",
	};
	long long before[6] = { 0 }, after[6] = { 0 };
	struct drm_neuron_wait_job result;
	char path[64];
	unsigned int i, turn;

	for (turn = 0; turn < 2; turn++) {
		for (i = 0; i < 6; i++) {
			snprintf(path, sizeof(path), "core%u/%s",
				 self->rig.core, names[i]);
			before[i] = after[i];
			after[i] = neuron_sysfs_number(self->rig.fd, path);
			ASSERT_GE(after[i], 0) TH_LOG("%s", path);
		}
		if (turn)
			break;
		rig_halt(&self->rig, NEURON_ENGINE_SYNC);
		ASSERT_EQ(0, rig_run(&self->rig, 5000, &result));
		rig_clear(&self->rig);
		rig_emit(&self->rig, NEURON_ENGINE_SYNC, NEURON_OP_ILLEGAL);
		ASSERT_EQ(0, rig_run(&self->rig, 5000, &result));
		EXPECT_EQ(NEURON_JOB_ERROR, result.status);
	}
	EXPECT_EQ(before[0] + 2, after[0]);
	EXPECT_LT(before[1], after[1]);
	EXPECT_EQ(before[2] + 1, after[2]);
	EXPECT_EQ(before[3], after[3]);
	EXPECT_EQ(before[4], after[4]);
	EXPECT_EQ(before[5], after[5]);
}

TEST_HARNESS_MAIN
