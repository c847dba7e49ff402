// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of neuron_result.c, which includes this file: the results that are kept, and what
 * is told of them.
 */
#include <kunit/test.h>

/* Is job @job known, with what neuron_kunit_result() gave it? */
static bool neuron_kunit_knows(struct neuron_results *results, u64 job)
{
	struct neuron_result *result;
	struct dma_fence *fence;
	bool right;

	result = neuron_results_find(results, job, &fence);
	if (!result)
		return false;
	right = !fence && result->job == job && result->wall_ns == job * 10;
	neuron_result_put(result);
	return right;
}

/* With a reference that stays: the test frees the memory. */
static void neuron_kunit_result(struct neuron_result *result, u64 job)
{
	kref_init(&result->ref);
	kref_get(&result->ref);
	INIT_LIST_HEAD(&result->link);
	result->wall_ns = job * 10;
}

static void neuron_kunit_results(struct kunit *test)
{
	const u64 last = NEURON_KEPT_RESULTS + 2;
	struct neuron_results results = { };
	struct neuron_result *result;
	u64 job;

	result = kunit_kcalloc(test, last + 1, sizeof(*result), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, result);
	neuron_results_init(&results);
	KUNIT_EXPECT_FALSE(test, neuron_kunit_knows(&results, 1));
	for (job = 1; job <= last; job++) {
		neuron_kunit_result(&result[job], job);
		KUNIT_ASSERT_EQ(test, 0, neuron_results_reserve(&results, job));
		KUNIT_EXPECT_FALSE(test, neuron_kunit_knows(&results, job));
		neuron_results_add(&results, &result[job], job, NULL);
		neuron_results_end(&results, &result[job]);
		KUNIT_ASSERT_TRUE(test, neuron_kunit_knows(&results, job));
	}
	/* The two oldest are forgotten, no other. */
	KUNIT_EXPECT_FALSE(test, neuron_kunit_knows(&results, 1));
	KUNIT_EXPECT_FALSE(test, neuron_kunit_knows(&results, 2));
	for (job = 3; job <= last; job++)
		KUNIT_EXPECT_TRUE(test, neuron_kunit_knows(&results, job));
	KUNIT_EXPECT_FALSE(test, neuron_kunit_knows(&results, job));
	neuron_results_fini(&results);
	for (job = 1; job <= last; job++)
		KUNIT_EXPECT_EQ(test, 2, kref_read(&result[job].ref));
}

/* Of the flags of a record only the one that is known is told. */
static void neuron_kunit_flags(struct kunit *test)
{
	struct neuron_result result = { };
	struct drm_neuron_wait_job job = { };

	neuron_result_fetch(&result, &job);
	KUNIT_EXPECT_EQ(test, 0, job.flags);
	result.record.flags = ~NEURON_COMPLETION_INEXACT;
	neuron_result_fetch(&result, &job);
	KUNIT_EXPECT_EQ(test, 0, job.flags);
	result.record.flags = ~0u;
	neuron_result_fetch(&result, &job);
	KUNIT_EXPECT_EQ(test, DRM_NEURON_JOB_INEXACT, job.flags);
}

static struct kunit_case neuron_result_cases[] = {
	KUNIT_CASE(neuron_kunit_results),
	KUNIT_CASE(neuron_kunit_flags),
	{}
};

static struct kunit_suite neuron_result_suite = {
	.name = "neuron_result",
	.test_cases = neuron_result_cases,
};

kunit_test_suite(neuron_result_suite);
