// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of neuron_block.c, which includes this file: what the device writes to blocks that
 * nobody has does not matter.
 */
#include <linux/device.h>
#include <linux/err.h>
#include <kunit/test.h>

#define NEURON_KUNIT_BLOCKS	100
#define NEURON_KUNIT_BLOCK	48	/* bytes; a block has 64 */

static void neuron_kunit_blocks_get(struct kunit *test, struct neuron_blocks *blocks,
				    struct neuron_block *block[NEURON_KUNIT_BLOCKS])
{
	unsigned int i, k;

	for (i = 0; i < NEURON_KUNIT_BLOCKS; i++) {
		block[i] = neuron_block_get(blocks);
		KUNIT_ASSERT_NOT_NULL(test, block[i]);
		KUNIT_EXPECT_NULL(test, memchr_inv(block[i]->cpu, 0, blocks->size));
		KUNIT_EXPECT_TRUE(test, IS_ALIGNED(block[i]->dma, blocks->size));
		for (k = 0; k < i; k++)
			KUNIT_EXPECT_PTR_NE(test, block[k]->cpu, block[i]->cpu);
	}
}

static void neuron_kunit_blocks_put(struct neuron_blocks *blocks,
				    struct neuron_block *block[NEURON_KUNIT_BLOCKS])
{
	unsigned int i;

	for (i = 0; i < NEURON_KUNIT_BLOCKS; i++)
		neuron_block_put(blocks, block[i]);
}

/* More than a page of blocks, used again after the device has written to all of them. */
static void neuron_kunit_block_device_writes(struct kunit *test)
{
	struct device *dev = root_device_register("neuron_kunit_block");
	struct neuron_block *block[NEURON_KUNIT_BLOCKS];
	struct neuron_blocks blocks;
	unsigned int i;

	KUNIT_ASSERT_FALSE(test, IS_ERR(dev));
	dev->coherent_dma_mask = DMA_BIT_MASK(64);
	neuron_blocks_init(&blocks, dev, NEURON_KUNIT_BLOCK);
	KUNIT_EXPECT_EQ(test, 64, blocks.size);
	neuron_kunit_blocks_get(test, &blocks, block);
	neuron_kunit_blocks_put(&blocks, block);
	for (i = 0; i < NEURON_KUNIT_BLOCKS; i++)
		memset(block[i]->cpu, 0xff, blocks.size);
	neuron_kunit_blocks_get(test, &blocks, block);
	KUNIT_EXPECT_EQ(test, 2, list_count_nodes(&blocks.pages));
	neuron_kunit_blocks_put(&blocks, block);
	neuron_blocks_fini(&blocks);
	root_device_unregister(dev);
}

static struct kunit_case neuron_block_cases[] = {
	KUNIT_CASE(neuron_kunit_block_device_writes),
	{}
};

static struct kunit_suite neuron_block_suite = {
	.name = "neuron_block",
	.test_cases = neuron_block_cases,
};

kunit_test_suite(neuron_block_suite);
