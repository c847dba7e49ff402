// SPDX-License-Identifier: MIT
/*
 * One whole job, from claim to release, again and again: each time the next
 * allocation of the kernel fails, until none is left to fail. Each failure must
 * be reported as such, and nothing may leak. Needs a kernel with CONFIG_FAILSLAB:
 * the debug kernel.
 *
 * Buffers are made before: the kernel's buddy allocator does not survive a
 * failure to split a block (use after free in 6.12.117).
 */
#include <fcntl.h>
#include <unistd.h>

#include "job_rig.h"
#include "kselftest_harness.h"
#include "neuron_test.h"

#define MAX_ALLOCATIONS	5000

FIXTURE(fail_nth) {
	struct rig rig;
	struct rig_usage before;
	int nth;
};

FIXTURE_SETUP(fail_nth)
{
	int ret;

	self->nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (self->nth < 0)
		SKIP(return, "the kernel has no fault injection");
	ret = rig_open(&self->rig, 0, 0);
	if (ret == -ENODEV)
		SKIP(return, "no neuron device");
	ASSERT_EQ(0, ret);
	rig_copy(&self->rig, NEURON_ENGINE_SYNC,
		 neuron_window_addr(RIG_WINDOW_DATA, 4096),
		 neuron_window_addr(RIG_WINDOW_DATA, 0), 64);
	rig_halt(&self->rig, NEURON_ENGINE_SYNC);
	ASSERT_EQ(0, rig_release(self->rig.fd, self->rig.claim));
	rig_usage(self->rig.fd, &self->before);
	ASSERT_GE(self->before.live, 0) TH_LOG("debugfs must be mounted");
}

FIXTURE_TEARDOWN(fail_nth)
{
	close(self->nth);
	rig_close(&self->rig);
}

/* From here the @n-th allocation of this thread fails. */
static bool arm(int nth, unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	return pwrite(nth, text, (size_t)len, 0) == len;
}

/* Did it come to that? */
static bool disarm(int nth)
{
	char text[16] = "";
	ssize_t len = pread(nth, text, sizeof(text) - 1, 0);

	return arm(nth, 0) && len > 0 && atoi(text) == 0;
}

static int use_grant(struct rig *rig)
{
	struct drm_neuron_grant grant = {
		.claim = rig->claim,
		.core = rig->core,
		.count = 1,
	};
	struct drm_neuron_window window = {
		.index = 300,	/* a larger table */
		.kind = DRM_NEURON_WINDOW_SEM,
		.rights = DRM_NEURON_WINDOW_WRITE,
		.length = 4,
	};
	int ret = neuron_ioctl(rig->fd, DRM_IOCTL_NEURON_GRANT, &grant);

	if (ret)
		return ret;
	window.grant_fd = grant.fd;
	ret = rig_windows(rig, &window, 1);
	close(grant.fd);
	return ret;
}

static int submit_with_syncs(struct rig *rig)
{
	struct drm_neuron_sync sync[2] = { 0 };
	struct drm_neuron_submit submit;
	struct drm_neuron_queue queue;
	int ret;

	ret = rig_syncobj_create(rig->fd, &sync[0].handle);
	if (ret)
		return ret;
	sync[1].handle = sync[0].handle;
	sync[1].point = 1;
	rig_prepare(rig, &submit, &queue);
	submit.out_syncs.stride = sizeof(sync[0]);
	submit.out_syncs.count = 2;
	submit.out_syncs.pointer = (uintptr_t)sync;
	ret = rig_submit(rig, &submit);
	if (ret)
		return ret;
	submit.in_syncs = submit.out_syncs;
	submit.in_syncs.count = 1;
	submit.out_syncs.count = 0;
	ret = rig_submit(rig, &submit);
	if (ret)
		return ret;
	return rig_wait(rig, submit.job, 10000, NULL);
}

/* @rig has a program; its claim is used up. */
static int whole_job(struct rig *rig)
{
	struct drm_neuron_claim claim;
	int ret;

	ret = rig_claim(rig->fd, 1u << rig->core, 0, &claim);
	if (ret)
		return ret;
	rig->claim = claim.claim;
	ret = rig_bind(rig);
	if (!ret)
		ret = use_grant(rig);
	if (!ret)
		ret = submit_with_syncs(rig);
	rig_release(rig->fd, rig->claim);
	return ret;
}

TEST_F_TIMEOUT(fail_nth, every_allocation, 600)
{
	unsigned int n, failures = 0;
	bool injected = true;
	int ret;

	ASSERT_EQ(0, whole_job(&self->rig));
	for (n = 1; injected && n < MAX_ALLOCATIONS; n++) {
		ASSERT_TRUE(arm(self->nth, n));
		ret = whole_job(&self->rig);
		injected = disarm(self->nth);
		if (!injected)
			EXPECT_EQ(0, ret);
		/* Allocations that merely save time may fail unnoticed. */
		failures += ret != 0;
		ASSERT_TRUE(!ret || ret == -ENOMEM)
			TH_LOG("allocation %u: error %d", n, ret);
		ASSERT_FALSE(rig_leaks(self->rig.fd, &self->before))
			TH_LOG("allocation %u", n);
	}
	EXPECT_LT(n, MAX_ALLOCATIONS);
	EXPECT_GT(failures, 10);
	TH_LOG("%u allocations, %u noticed", n - 1, failures);
	EXPECT_EQ(0, whole_job(&self->rig));
}

TEST_HARNESS_MAIN
