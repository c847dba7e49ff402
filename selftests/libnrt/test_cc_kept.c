// SPDX-License-Identifier: MIT
/*
 * The times of requests whose jobs are kept among those of others. No chip is needed: a job runs
 * from 10 times its number on, for 5 ns.
 */
#include "kselftest_harness.h"

#include "comm/cc_times.h"
#include "contract/job.h"

static int settled(struct nrt_chip *chip, struct nrt_settled *job)
{
	job->start_ns = job->job * 10;
	job->end_ns = job->start_ns + 5;
	job->exact = true;
	return 0;
}

FIXTURE(kept)
{
	struct nrt_backend backend;
	struct nrt_device device;
	struct nrt_core core;
	struct nrt_cc_times *times;
};

FIXTURE_SETUP(kept)
{
	self->backend = (struct nrt_backend){ .settled = settled };
	self->device = (struct nrt_device){ .backend = &self->backend };
	self->core = (struct nrt_core){ .device = &self->device };
	self->times = nrt_cc_times_new(1);
	ASSERT_NE(NULL, self->times);
}

FIXTURE_TEARDOWN(kept)
{
	nrt_cc_times_free(self->times);
}

static void add(struct nrt_cc_times *times, struct nrt_core *core, uint64_t seq, bool first,
		uint64_t job)
{
	nrt_cc_times_add(times, 0, (struct nrt_cc_timed){
		.seq = seq, .first = first, .core = core, .job = job,
	});
}

/* A collective of the host has begun between two jobs of an execution, and the other way round. */
TEST_F(kept, between_each_other)
{
	struct nrt_error error = { 0 };
	struct nrt_cc_time time;

	add(self->times, &self->core, 7, true, 1);
	add(self->times, &self->core, 8, true, 2);
	add(self->times, &self->core, 7, false, 3);
	add(self->times, &self->core, 8, false, 4);
	ASSERT_EQ(NRT_SUCCESS, nrt_cc_times_get(self->times, 0, 7, 0, &time, &error));
	EXPECT_EQ(10, time.start_ns);
	EXPECT_EQ(35, time.end_ns);
	ASSERT_EQ(NRT_SUCCESS, nrt_cc_times_get(self->times, 0, 8, 0, &time, &error));
	EXPECT_EQ(20, time.start_ns);
	EXPECT_EQ(45, time.end_ns);
	EXPECT_EQ(NRT_QUEUE_EMPTY, nrt_cc_times_get(self->times, 0, 9, 0, &time, &error));
}

/* Of one that is known in part nothing is told. */
TEST_F(kept, too_long_ago)
{
	struct nrt_error error = { 0 };
	struct nrt_cc_time time;
	unsigned int i;

	add(self->times, &self->core, 7, true, 1);
	add(self->times, &self->core, 7, false, 2);
	for (i = 0; i < NRT_CC_TIMES - 1; i++)
		add(self->times, &self->core, 8, !i, 3 + i);
	EXPECT_EQ(NRT_QUEUE_EMPTY, nrt_cc_times_get(self->times, 0, 7, 0, &time, &error));
	EXPECT_EQ(NRT_SUCCESS, nrt_cc_times_get(self->times, 0, 8, 0, &time, &error));
}

TEST_HARNESS_MAIN
