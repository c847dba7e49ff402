// SPDX-License-Identifier: MIT
/*
 * A user cannot eat the kernel's memory with queued jobs and window tables, neither by
 * many claims at a time nor by one after another; nor is another user kept from work.
 */
#include <sys/wait.h>

#include "job_rig.h"
#include "kselftest_harness.h"
#include "neuron_test.h"

#define LIMIT	60000	/* ms */
#define NOBODY	65534	/* a user who has nothing yet */

/*
 * Queue jobs, each with a table of its own, behind one that does not end. Returns how
 * many, with the error that stopped it.
 */
static unsigned int fill(struct rig *rig, unsigned int most, int *error)
{
	unsigned int i;
	int64_t job;

	rig_loop(rig, NEURON_ENGINE_SYNC, 0);
	*error = 0;
	for (i = 0; i < most; i++) {
		job = rig_start(rig, 600000);
		*error = job < 0 ? (int)job : rig_change_table(rig, i);
		if (*error)
			break;
	}
	return i;
}

static int works(int fd)
{
	struct drm_neuron_claim claim;
	struct rig_submit submit;
	struct drm_neuron_queue queue;
	struct rig rig = { .fd = fd };
	int ret = rig_claim(fd, 0, 1, &claim);

	if (ret)
		return ret;
	rig.claim = claim.claim;
	rig.core = (uint32_t)__builtin_ctzll(claim.granted);
	ret = rig_change_table(&rig, 0);
	rig_prepare(&rig, &submit, &queue);
	if (!ret)
		ret = rig_submit(&rig, &submit);
	if (!ret)
		ret = rig_wait(&rig, submit.call.job, LIMIT, NULL);
	rig_release(fd, claim.claim);
	return ret;
}

/* What works() gives another user, who was handed an open file. */
static int works_for_nobody(void)
{
	int fd = neuron_open(0), status = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(setuid(NOBODY) ? 1 : -works(fd));
	waitpid(pid, &status, 0);
	close(fd);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

FIXTURE(bounds) {
	struct rig a;
	struct rig b;
};

FIXTURE_SETUP(bounds)
{
	int ret = rig_open(&self->a, 0, RIG_ANY_CORE);

	if (ret == -ENODEV)
		SKIP(return, "no neuron device");
	ASSERT_EQ(0, ret);
	ret = rig_open(&self->b, 0, RIG_ANY_CORE);
	if (ret == -EBUSY)
		SKIP(return, "the chip has only one core");
	ASSERT_EQ(0, ret);
}

FIXTURE_TEARDOWN(bounds)
{
	rig_close(&self->a);
	rig_close(&self->b);
}

TEST_F(bounds, user)
{
	unsigned int first, second;
	struct rig third;
	int error;

	/* One for another user, who is to have what these two have used up. */
	error = rig_open(&third, 0, RIG_ANY_CORE);
	if (error == -EBUSY)
		SKIP(return, "the chip has only two cores");
	ASSERT_EQ(0, error);
	rig_close(&third);

	first = fill(&self->a, 1000, &error);
	EXPECT_EQ(-ENOMEM, error);
	EXPECT_GT(first, 16);
	/* The second claim's own bound is the same: it is the user's that it meets. */
	second = fill(&self->b, 1000, &error);
	EXPECT_EQ(-ENOMEM, error);
	EXPECT_GT(second, 0);
	EXPECT_LT(second, first * 3 / 4);
	EXPECT_EQ(0, works_for_nobody());

	/* What a claim had is free again when it is given back. */
	ASSERT_EQ(0, rig_release(self->a.fd, self->a.claim));
	EXPECT_EQ(0, rig_change_table(&self->b, second + 1));
	EXPECT_EQ(0, works(self->b.fd));
}

/* Far more in all than the bound: nothing stays on the account. */
TEST_F(bounds, claims_in_turn)
{
	struct rig rig;
	int error;
	int i;

	rig_close(&self->a);
	for (i = 0; i < 16; i++) {
		ASSERT_EQ(0, rig_open(&rig, 0, RIG_ANY_CORE));
		ASSERT_EQ(20, fill(&rig, 20, &error))
			TH_LOG("claim %d: %d", i, error);
		ASSERT_EQ(0, rig_release(rig.fd, rig.claim));
		rig_close(&rig);
	}
	EXPECT_EQ(0, works(self->b.fd));
}

#define SYNCS	64	/* of a submission */

/* What the user is charged for one more job of @rig that waits for @count syncobjs. */
static long long charge_of_job(struct rig *rig, const struct drm_neuron_sync *in, uint32_t count)
{
	long long before = rig_charged(rig->fd);
	struct rig_submit submit;
	int ret;

	rig_prepare(rig, &submit, NULL);
	submit.call.in_syncs = (struct drm_neuron_array){ sizeof(*in), count, (uintptr_t)in };
	ret = rig_submit(rig, &submit);
	return ret ? ret : rig_charged(rig->fd) - before;
}

/* The list of what a job waits for is charged as the job is, for as long. */
TEST_F(bounds, syncobjs)
{
	struct drm_neuron_sync in[SYNCS] = { 0 };
	struct rig_submit submit;
	struct rig_usage rest;
	long long before, without;
	uint32_t i;

	rig_close(&self->a);
	rig_usage_at_rest(self->b.fd, &rest);
	before = rig_charged(self->b.fd);
	ASSERT_LE(0, before) TH_LOG("debugfs must be mounted");
	ASSERT_EQ(0, rig_open(&self->a, 0, RIG_ANY_CORE));
	ASSERT_EQ(0, rig_syncobj_create(self->a.fd, &in[0].handle));
	for (i = 1; i < SYNCS; i++)
		in[i] = in[0];
	rig_loop(&self->a, NEURON_ENGINE_SYNC, 0);
	rig_prepare(&self->a, &submit, NULL);
	submit.job.timeout_ms = 600000;
	submit.call.out_syncs = (struct drm_neuron_array){ sizeof(*in), 1, (uintptr_t)in };
	ASSERT_EQ(0, rig_submit(&self->a, &submit));

	/* An element takes two pointers at least: a fence, and what it calls. */
	without = charge_of_job(&self->a, in, 0);
	EXPECT_LT(0, without);
	EXPECT_LE(without + SYNCS * 2 * (long long)sizeof(void *),
		  charge_of_job(&self->a, in, SYNCS));
	ASSERT_EQ(0, rig_release(self->a.fd, self->a.claim));
	EXPECT_TRUE(rig_charge_returns(self->b.fd, before));
}

TEST_HARNESS_MAIN
