// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of neuron_report.c, which includes this file: faults in words.
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
