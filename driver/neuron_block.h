/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Blocks of memory that the device reads and writes, of one size. dma_pool keeps its list of free
 * blocks in the blocks, so a device that writes to a block which is free again would choose what
 * the kernel hands out next. Here the device finds nothing but blocks in these pages.
 */
#ifndef _NEURON_BLOCK_H_
#define _NEURON_BLOCK_H_

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct device;

/**
 * struct neuron_block - one block
 * @cpu: its bytes
 * @dma: the same for the device
 * @node: in neuron_blocks.free, while nobody has it
 */
struct neuron_block {
	void *cpu;
	dma_addr_t dma;
	struct list_head node;
};

/**
 * struct neuron_blocks - all blocks of one kind
 * @dev: device
 * @size: bytes of a block, a power of two of at most a page, and its alignment
 * @lock: @free, @pages and @nr_used; also taken with interrupts off
 * @free: blocks that nobody has
 * @pages: all pages; they stay until the end
 * @nr_used: blocks that somebody has
 */
struct neuron_blocks {
	struct device *dev;
	size_t size;
	spinlock_t lock;		/* free, pages, nr_used */
	struct list_head free;
	struct list_head pages;
	unsigned int nr_used;
};

/**
 * neuron_blocks_init() - begin without any block
 * @blocks: to begin
 * @dev: device
 * @size: bytes that a block needs, at most a page
 */
void neuron_blocks_init(struct neuron_blocks *blocks, struct device *dev, size_t size);

/**
 * neuron_blocks_fini() - free all pages
 * @blocks: all of them have been put
 */
void neuron_blocks_fini(struct neuron_blocks *blocks);

/**
 * neuron_block_get() - take a block
 * @blocks: of this kind
 *
 * Sleeps.
 *
 * Return: a block full of zeroes, or NULL when there is no memory.
 */
struct neuron_block *neuron_block_get(struct neuron_blocks *blocks);

/**
 * neuron_block_put() - give a block back
 * @blocks: of this kind
 * @block: the device does not need it any more
 */
void neuron_block_put(struct neuron_blocks *blocks, struct neuron_block *block);

#endif /* _NEURON_BLOCK_H_ */
