// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocks of memory that the device reads and writes.
 */
#include <linux/dma-mapping.h>
#include <linux/log2.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "neuron_block.h"

/**
 * struct neuron_block_page - a page of blocks
 * @node: in neuron_blocks.pages
 * @cpu: its bytes
 * @dma: the same for the device
 * @block: its blocks
 */
struct neuron_block_page {
	struct list_head node;
	void *cpu;
	dma_addr_t dma;
	struct neuron_block block[];
};

void neuron_blocks_init(struct neuron_blocks *blocks, struct device *dev, size_t size)
{
	blocks->dev = dev;
	blocks->size = roundup_pow_of_two(size);
	spin_lock_init(&blocks->lock);
	INIT_LIST_HEAD(&blocks->free);
	INIT_LIST_HEAD(&blocks->pages);
	blocks->nr_used = 0;
}

void neuron_blocks_fini(struct neuron_blocks *blocks)
{
	struct neuron_block_page *page, *next;

	WARN_ON(blocks->nr_used);
	list_for_each_entry_safe(page, next, &blocks->pages, node) {
		dma_free_coherent(blocks->dev, PAGE_SIZE, page->cpu, page->dma);
		kfree(page);
	}
}

/* A block that is free already, or NULL. */
static struct neuron_block *neuron_block_take(struct neuron_blocks *blocks)
{
	struct neuron_block *block;

	spin_lock_irq(&blocks->lock);
	block = list_first_entry_or_null(&blocks->free, struct neuron_block, node);
	if (block) {
		list_del(&block->node);
		blocks->nr_used++;
	}
	spin_unlock_irq(&blocks->lock);
	return block;
}

static int neuron_blocks_grow(struct neuron_blocks *blocks)
{
	unsigned int i, nr = PAGE_SIZE / blocks->size;
	struct neuron_block_page *page = kzalloc(struct_size(page, block, nr), GFP_KERNEL);

	if (!page)
		return -ENOMEM;
	page->cpu = dma_alloc_coherent(blocks->dev, PAGE_SIZE, &page->dma, GFP_KERNEL);
	if (!page->cpu) {
		kfree(page);
		return -ENOMEM;
	}
	for (i = 0; i < nr; i++) {
		page->block[i].cpu = page->cpu + i * blocks->size;
		page->block[i].dma = page->dma + i * blocks->size;
	}
	spin_lock_irq(&blocks->lock);
	list_add(&page->node, &blocks->pages);
	for (i = 0; i < nr; i++)
		list_add_tail(&page->block[i].node, &blocks->free);
	spin_unlock_irq(&blocks->lock);
	return 0;
}

struct neuron_block *neuron_block_get(struct neuron_blocks *blocks)
{
	struct neuron_block *block = neuron_block_take(blocks);

	/* Others may take all blocks of a new page. */
	while (!block) {
		if (neuron_blocks_grow(blocks))
			return NULL;
		block = neuron_block_take(blocks);
	}
	memset(block->cpu, 0, blocks->size);
	return block;
}

void neuron_block_put(struct neuron_blocks *blocks, struct neuron_block *block)
{
	unsigned long flags;

	spin_lock_irqsave(&blocks->lock, flags);
	list_add(&block->node, &blocks->free);
	blocks->nr_used--;
	spin_unlock_irqrestore(&blocks->lock, flags);
}

#if IS_ENABLED(CONFIG_DRM_ACCEL_NEURON_KUNIT_TEST)
#include "tests/neuron_kunit_block.c"
#endif
