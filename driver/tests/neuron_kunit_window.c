// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of neuron_window.c, which includes this file: the extents of a buffer
 * that a window touches.
 */
#include <kunit/test.h>

/* Three extents of 4, 12 and 8 KiB. */
static struct neuron_hw_extent neuron_kunit_extents[] = {
	{ .addr = cpu_to_le64(0x100000), .length = cpu_to_le64(0x1000) },
	{ .addr = cpu_to_le64(0x300000), .length = cpu_to_le64(0x3000) },
	{ .addr = cpu_to_le64(0x200000), .length = cpu_to_le64(0x2000) },
};

static const struct neuron_span_case {
	const char *name;
	u64 offset;
	u64 length;
	struct neuron_span span;
} neuron_span_cases[] = {
	{ "first byte", 0, 1, { .first = 0, .count = 1, .skip = 0 } },
	{ "first extent", 0, 0x1000, { .first = 0, .count = 1, .skip = 0 } },
	{ "one byte more", 0, 0x1001, { .first = 0, .count = 2, .skip = 0 } },
	{ "last byte of the first", 0xfff, 1, { .first = 0, .count = 1, .skip = 0xfff } },
	{ "first byte of the second", 0x1000, 1, { .first = 1, .count = 1, .skip = 0 } },
	{ "across an edge", 0xfff, 2, { .first = 0, .count = 2, .skip = 0xfff } },
	{ "across two edges", 0xffc, 0x3008, { .first = 0, .count = 3, .skip = 0xffc } },
	{ "second to its end", 0x1004, 0x2ffc, { .first = 1, .count = 1, .skip = 4 } },
	{ "second and a byte", 0x1004, 0x2ffd, { .first = 1, .count = 2, .skip = 4 } },
	{ "last byte", 0x5fff, 1, { .first = 2, .count = 1, .skip = 0x1fff } },
	{ "everything", 0, 0x6000, { .first = 0, .count = 3, .skip = 0 } },
};

KUNIT_ARRAY_PARAM_DESC(neuron_span, neuron_span_cases, name);

static void neuron_kunit_span(struct kunit *test)
{
	const struct neuron_span_case *want = test->param_value;
	struct neuron_span span;
	struct neuron_bo *bo = kunit_kzalloc(test, sizeof(*bo), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, bo);
	bo->extents = neuron_kunit_extents;
	bo->nr_extents = ARRAY_SIZE(neuron_kunit_extents);
	KUNIT_ASSERT_EQ(test, 0, neuron_bo_span(bo, want->offset, want->length,
						&span));
	KUNIT_EXPECT_EQ(test, span.first, want->span.first);
	KUNIT_EXPECT_EQ(test, span.count, want->span.count);
	KUNIT_EXPECT_EQ(test, span.skip, want->span.skip);
	kvfree(bo->starts);
}

static struct kunit_case neuron_window_cases[] = {
	KUNIT_CASE_PARAM(neuron_kunit_span, neuron_span_gen_params),
	{}
};

static struct kunit_suite neuron_window_suite = {
	.name = "neuron_window",
	.test_cases = neuron_window_cases,
};

kunit_test_suite(neuron_window_suite);
