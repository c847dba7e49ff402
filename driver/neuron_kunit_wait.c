// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of neuron_wait.c, which includes this file: the results that are kept,
 * and time limits.
 */
#include <kunit/test.h>

static void neuron_kunit_results(struct kunit *test)
{
	struct neuron_results *results;
	struct neuron_result result = { 0 };
	u64 job;

	results = kunit_kzalloc(test, sizeof(*results), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, results);
	KUNIT_EXPECT_NULL(test, neuron_results_find(results, 1));
	for (job = 1; job <= NEURON_NR_RESULTS + 2; job++) {
		result.job = job;
		result.wall_ns = job * 10;
		neuron_results_add(results, &result);
		KUNIT_ASSERT_NOT_NULL(test, neuron_results_find(results, job));
	}
	/* The two oldest are forgotten, no other. */
	KUNIT_EXPECT_NULL(test, neuron_results_find(results, 1));
	KUNIT_EXPECT_NULL(test, neuron_results_find(results, 2));
	for (job = 3; job <= NEURON_NR_RESULTS + 2; job++) {
		const struct neuron_result *found;

		found = neuron_results_find(results, job);
		KUNIT_ASSERT_NOT_NULL(test, found);
		KUNIT_EXPECT_EQ(test, found->wall_ns, job * 10);
	}
	KUNIT_EXPECT_NULL(test, neuron_results_find(results, job));
}

static void neuron_kunit_jiffies(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, neuron_wait_jiffies(0), 0);
	KUNIT_EXPECT_EQ(test, neuron_wait_jiffies(-1), MAX_SCHEDULE_TIMEOUT);
	KUNIT_EXPECT_EQ(test, neuron_wait_jiffies(S64_MIN), MAX_SCHEDULE_TIMEOUT);
	/* Not less than asked for, and finite. */
	KUNIT_EXPECT_GE(test, neuron_wait_jiffies(1), 1);
	KUNIT_EXPECT_GT(test, neuron_wait_jiffies(NSEC_PER_SEC), HZ);
	KUNIT_EXPECT_LT(test, neuron_wait_jiffies(S64_MAX), MAX_SCHEDULE_TIMEOUT);
}

static struct kunit_case neuron_wait_cases[] = {
	KUNIT_CASE(neuron_kunit_results),
	KUNIT_CASE(neuron_kunit_jiffies),
	{}
};

static struct kunit_suite neuron_wait_suite = {
	.name = "neuron_wait",
	.test_cases = neuron_wait_cases,
};

kunit_test_suite(neuron_wait_suite);
