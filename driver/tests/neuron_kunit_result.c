// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of neuron_result.c, which includes this file: faults in words, the results that
 * are kept, and what is told of them.
 */
#include <linux/string.h>
#include <kunit/test.h>

static const struct neuron_fault_case {
	const char *text;
	u16 cause;
	u16 source;
	u16 queue;
	u32 pc;
	u64 addr;
} neuron_fault_cases[] = {
	{ "unknown opcode: tensor engine pc 7",
	  NEURON_CAUSE_OPCODE, NEURON_ENGINE_TENSOR, 0, 7, 0 },
	{ "access outside a window: sync engine pc 4294967295 address 0xffffffffffffffff",
	  NEURON_CAUSE_WINDOW, NEURON_ENGINE_SYNC, 0, U32_MAX, U64_MAX },
	{ "malformed job block or tables: job block",
	  NEURON_CAUSE_JOB, NEURON_SOURCE_JOB, 0, 9, 0 },
	{ "wrong ring id: dma engine 3 queue 5 M2S descriptor 17",
	  NEURON_CAUSE_RING_ID, NEURON_SOURCE_DMA, 3 << 4 | 5, 17, 0 },
	{ "wrong ring id: dma engine 2047 queue 15 S2M descriptor 0 address 0x4",
	  NEURON_CAUSE_RING_ID, NEURON_SOURCE_DMA, 0xffff, 0, 4 },
	/* What no contract knows must not be an index. */
	{ "?: ? engine pc 0", 0xffff, 0x1234, 0, 0, 0 },
};

KUNIT_ARRAY_PARAM_DESC(neuron_fault, neuron_fault_cases, text);

static void neuron_kunit_fault(struct kunit *test)
{
	const struct neuron_fault_case *fault = test->param_value;
	const struct neuron_record record = {
		.cause = fault->cause,
		.source = fault->source,
		.queue = fault->queue,
		.pc = fault->pc,
		.addr = fault->addr,
	};
	char text[NEURON_FAULT_TEXT];

	neuron_fault_format(text, &record);
	KUNIT_EXPECT_STREQ(test, text, fault->text);
}

/* Every cause has words, and none is longer than the text. */
static void neuron_kunit_causes(struct kunit *test)
{
	struct neuron_record record = {
		.source = NEURON_SOURCE_DMA,
		.queue = 0xffff,
		.pc = U32_MAX,
		.addr = U64_MAX,
	};
	char text[NEURON_FAULT_TEXT];
	unsigned int cause;

	for (cause = 0; cause < NEURON_NR_CAUSES; cause++) {
		KUNIT_EXPECT_NOT_NULL(test, neuron_cause_name(cause));
		record.cause = cause;
		neuron_fault_format(text, &record);
		KUNIT_EXPECT_NOT_NULL_MSG(test,
					  strstr(text, " 0xffffffffffffffff"),
					  "cause %u: %s", cause, text);
	}
}

static struct kunit_case neuron_report_cases[] = {
	KUNIT_CASE_PARAM(neuron_kunit_fault, neuron_fault_gen_params),
	KUNIT_CASE(neuron_kunit_causes),
	{}
};

static struct kunit_suite neuron_report_suite = {
	.name = "neuron_report",
	.test_cases = neuron_report_cases,
};

kunit_test_suite(neuron_report_suite);

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
	neuron_results_forget(&results);
	for (job = 1; job <= last; job++)
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
