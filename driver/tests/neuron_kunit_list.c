// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of neuron_list.c, which includes this file: how many pages a list has, and
 * where its extents are written.
 */
#include <kunit/test.h>

static void neuron_kunit_list_pages(struct kunit *test)
{
	const u32 slots = NEURON_LIST_SLOTS;

	KUNIT_EXPECT_EQ(test, neuron_list_pages(1), 1);
	/* A page that nothing follows has no link. */
	KUNIT_EXPECT_EQ(test, neuron_list_pages(slots), 1);
	KUNIT_EXPECT_EQ(test, neuron_list_pages(slots + 1), 2);
	KUNIT_EXPECT_EQ(test, neuron_list_pages(2 * slots - 1), 2);
	KUNIT_EXPECT_EQ(test, neuron_list_pages(2 * slots), 3);
	KUNIT_EXPECT_EQ(test, neuron_list_pages(NEURON_MAX_EXTENTS), 4113);
}

static struct neuron_list_page *neuron_kunit_list_page(struct kunit *test)
{
	struct neuron_list_page *page;

	page = kunit_kzalloc(test, sizeof(*page), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, page);
	page->extent = kunit_kcalloc(test, NEURON_LIST_SLOTS,
				     sizeof(*page->extent), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, page->extent);
	return page;
}

/* Extents go around the link, and in the last page into its last slot. */
static void neuron_kunit_list_add(struct kunit *test)
{
	struct neuron_list_page *first = neuron_kunit_list_page(test);
	struct neuron_list_page *last = neuron_kunit_list_page(test);
	struct neuron_list_slot at = { .page = first };
	const u32 slots = NEURON_LIST_SLOTS;
	u32 i;

	first->next = last;
	first->extent[slots - 1] = neuron_hw_extent_link(0x7000);
	for (i = 0; i < 2 * slots - 1; i++)
		neuron_list_add(&at, 0x1000 + i, 1 + i);
	for (i = 0; i < slots - 1; i++)
		KUNIT_ASSERT_EQ(test, le64_to_cpu(first->extent[i].addr), 0x1000 + i);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(first->extent[slots - 1].addr), 0x7000);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(first->extent[slots - 1].length), 0);
	for (i = 0; i < slots; i++) {
		KUNIT_ASSERT_EQ(test, le64_to_cpu(last->extent[i].addr),
				0x1000 + slots - 1 + i);
		KUNIT_ASSERT_EQ(test, le64_to_cpu(last->extent[i].length), slots + i);
	}
}

/* Short lists share the page of the room; each has a reference of it. */
static void neuron_kunit_list_room(struct kunit *test)
{
	struct neuron_list_room room = { .page = neuron_kunit_list_page(test) };
	struct neuron_list_slot a, b;

	refcount_set(&room.page->ref, 1);
	KUNIT_ASSERT_EQ(test, 0, neuron_list_create(NULL, &room, 2, &a));
	KUNIT_ASSERT_EQ(test, 0, neuron_list_create(NULL, &room, NEURON_LIST_SLOTS - 2, &b));
	KUNIT_EXPECT_PTR_EQ(test, a.page, b.page);
	KUNIT_EXPECT_EQ(test, a.slot, 0);
	KUNIT_EXPECT_EQ(test, b.slot, 2);
	KUNIT_EXPECT_EQ(test, room.used, NEURON_LIST_SLOTS);
	KUNIT_EXPECT_EQ(test, refcount_read(&room.page->ref), 3);
	neuron_list_put(b.page);
	neuron_list_put(a.page);
	KUNIT_EXPECT_EQ(test, refcount_read(&room.page->ref), 1);
}

static struct kunit_case neuron_list_cases[] = {
	KUNIT_CASE(neuron_kunit_list_pages),
	KUNIT_CASE(neuron_kunit_list_add),
	KUNIT_CASE(neuron_kunit_list_room),
	{}
};

static struct kunit_suite neuron_list_suite = {
	.name = "neuron_list",
	.test_cases = neuron_list_cases,
};

kunit_test_suite(neuron_list_suite);
