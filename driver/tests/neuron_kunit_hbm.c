// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of neuron_hbm.c, which includes this file: blocks become extents, and
 * are scrubbed.
 */
#include <kunit/test.h>

static struct neuron_hw_extent neuron_kunit_extent(u64 addr, u64 length)
{
	return (struct neuron_hw_extent){
		.addr = cpu_to_le64(addr),
		.length = cpu_to_le64(length),
	};
}

static void neuron_kunit_extents_sort(struct kunit *test)
{
	struct neuron_hw_extent e[] = {
		neuron_kunit_extent(0x8000000000, 1),
		neuron_kunit_extent(0x10, 1),
		neuron_kunit_extent(0x100000000, 1),
	};

	sort(e, ARRAY_SIZE(e), sizeof(e[0]), neuron_extent_cmp, NULL);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(e[0].addr), 0x10);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(e[1].addr), 0x100000000);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(e[2].addr), 0x8000000000);
}

static void neuron_kunit_extents_merge(struct kunit *test)
{
	struct neuron_hw_extent e[] = {
		neuron_kunit_extent(0x1000, 0x1000),
		neuron_kunit_extent(0x2000, 0x2000),
		neuron_kunit_extent(0x4000, 0x1000),
		neuron_kunit_extent(0x6000, 0x1000),
		neuron_kunit_extent(0x8000, 0x1000),
		neuron_kunit_extent(0x9000, 0x7000),
	};

	KUNIT_ASSERT_EQ(test, neuron_extents_merge(e, ARRAY_SIZE(e)), 3);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(e[0].addr), 0x1000);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(e[0].length), 0x4000);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(e[1].addr), 0x6000);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(e[1].length), 0x1000);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(e[2].addr), 0x8000);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(e[2].length), 0x8000);
}

static void neuron_kunit_extents_single(struct kunit *test)
{
	struct neuron_hw_extent e[] = { neuron_kunit_extent(0x1000, 0x1000) };

	KUNIT_EXPECT_EQ(test, neuron_extents_merge(e, 1), 1);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(e[0].length), 0x1000);
}

/* Every page, and every second one of them freed again. The rest is in @kept. */
static void neuron_kunit_fragment(struct kunit *test, struct neuron_hbm *hbm,
				  struct list_head *kept)
{
	LIST_HEAD(freed);
	unsigned int i;

	for (i = 0; i < hbm->usable / PAGE_SIZE; i++)
		KUNIT_ASSERT_EQ(test,
				neuron_buddy_alloc_blocks(&hbm->mm, 0, hbm->usable,
							  PAGE_SIZE, PAGE_SIZE,
							  i % 2 ? kept : &freed, 0),
				0);
	neuron_buddy_free_list(&hbm->mm, &freed, 0);
}

/* A buffer has no more blocks than can be sorted soon. */
static void neuron_kunit_too_many_blocks(struct kunit *test)
{
	const u64 size = 64 * PAGE_SIZE;
	struct neuron_hbm *hbm;
	LIST_HEAD(blocks);
	LIST_HEAD(kept);

	hbm = kunit_kzalloc(test, sizeof(*hbm), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, hbm);
	hbm->usable = 4 * size;
	KUNIT_ASSERT_EQ(test, neuron_buddy_init(&hbm->mm, hbm->usable, PAGE_SIZE), 0);
	neuron_kunit_fragment(test, hbm, &kept);

	mutex_init(&hbm->lock);
	mutex_lock(&hbm->lock);
	KUNIT_EXPECT_EQ(test, neuron_hbm_alloc_pieces(hbm, size, 63, &blocks), -ENOSPC);
	neuron_buddy_free_list(&hbm->mm, &blocks, 0);
	KUNIT_EXPECT_EQ(test, neuron_hbm_alloc_pieces(hbm, size, 64, &blocks), 0);
	mutex_unlock(&hbm->lock);
	KUNIT_EXPECT_EQ(test, list_count_nodes(&blocks), 64);
	neuron_buddy_free_list(&hbm->mm, &blocks, 0);
	neuron_buddy_free_list(&hbm->mm, &kept, 0);
	neuron_buddy_fini(&hbm->mm);
	mutex_destroy(&hbm->lock);
}

/* While a unit of the chip may still write, memory is not zero for long. */
static void neuron_kunit_scrub_while_cut(struct kunit *test)
{
	const struct neuron_hw_extent extent = neuron_kunit_extent(0x1000, 0x1000);
	struct neuron_device *ndev;

	ndev = kunit_kzalloc(test, sizeof(*ndev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ndev);
	init_waitqueue_head(&ndev->hw_wait);
	init_rwsem(&ndev->epoch_lock);
	ndev->hw_state = NEURON_HW_UP;
	ndev->bus_cuts = 1;
	/* It has no registers: the chip is not asked. */
	KUNIT_EXPECT_EQ(test, neuron_hbm_scrub_extent(ndev, &extent), -EIO);
}

/* Who puts the machine to sleep waits for the scrub, which may wait for a reset, with a limit. */
static void neuron_kunit_flush_until(struct kunit *test)
{
	static const struct neuron_gen gen = { .nr_hbm = 1 };
	struct neuron_device *ndev;
	struct neuron_hbm *hbm;

	ndev = kunit_kzalloc(test, sizeof(*ndev), GFP_KERNEL);
	hbm = kunit_kzalloc(test, sizeof(*hbm), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ndev);
	KUNIT_ASSERT_NOT_NULL(test, hbm);
	ndev->gen = &gen;
	ndev->hbm[0] = hbm;
	spin_lock_init(&hbm->dirty_lock);
	init_waitqueue_head(&hbm->scrub_wait);
	hbm->freed = 2 * PAGE_SIZE;
	hbm->done = PAGE_SIZE;

	KUNIT_EXPECT_FALSE(test, neuron_hbm_flush_until(ndev, jiffies + 2));
	KUNIT_EXPECT_FALSE(test, neuron_hbm_flush_until(ndev, jiffies - 1));
	hbm->done = hbm->freed;
	KUNIT_EXPECT_TRUE(test, neuron_hbm_flush_until(ndev, jiffies - 1));
}

static struct kunit_case neuron_hbm_cases[] = {
	KUNIT_CASE(neuron_kunit_extents_sort),
	KUNIT_CASE(neuron_kunit_extents_merge),
	KUNIT_CASE(neuron_kunit_extents_single),
	KUNIT_CASE(neuron_kunit_too_many_blocks),
	KUNIT_CASE(neuron_kunit_scrub_while_cut),
	KUNIT_CASE(neuron_kunit_flush_until),
	{}
};

static struct kunit_suite neuron_hbm_suite = {
	.name = "neuron_hbm",
	.test_cases = neuron_hbm_cases,
};

kunit_test_suite(neuron_hbm_suite);
