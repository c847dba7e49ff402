/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * HBM: a buddy allocator for each stack, and the discard engine of the chip, which zeroes memory
 * before somebody else gets it.
 */
#ifndef _NEURON_HBM_H_
#define _NEURON_HBM_H_

#include <linux/list.h>
#include <linux/types.h>

#include "neuron/window.h"

struct neuron_device;
struct neuron_hbm;

/* Start of each stack, owned by the firmware. */
#define NEURON_HBM_CARVE_OUT	NEURON_MIB(16)

/**
 * struct neuron_hbm_memory - some memory of one stack
 * @hbm: allocator that the memory comes from
 * @blocks: buddy blocks of the memory
 * @link: entry of the list of memory to scrub
 * @size: size in bytes
 * @extents: pieces in ascending device address
 * @nr_extents: number of @extents
 */
struct neuron_hbm_memory {
	struct neuron_hbm *hbm;
	struct list_head blocks;
	struct list_head link;
	u64 size;
	struct neuron_hw_extent *extents;
	unsigned int nr_extents;
};

/**
 * struct neuron_hbm_stats - state of a stack, bytes
 * @size: populated
 * @usable: what buffers may use
 * @used: in buffers
 * @scrubbing: freed, on its way to be usable again
 * @lost: the chip did not scrub it, not used until an attempt succeeds
 */
struct neuron_hbm_stats {
	u64 size;
	u64 usable;
	u64 used;
	u64 scrubbing;
	u64 lost;
};

/**
 * neuron_discard_wake() - the state of the hardware has changed
 * @ndev: device
 *
 * Whoever waits for the discard engine wakes up and looks at the state.
 */
void neuron_discard_wake(struct neuron_device *ndev);

/**
 * neuron_discard_stop() - wait until nobody uses the discard engine
 * @ndev: device, in a state in which nobody may begin to use the engine
 *
 * Takes neuron_device.discard_lock once.
 */
void neuron_discard_stop(struct neuron_device *ndev);

/**
 * neuron_hbm_init() - set up the allocators of all stacks
 * @ndev: device
 *
 * The layout that the device reports is checked first.
 *
 * Return: 0 or a negative errno.
 */
int neuron_hbm_init(struct neuron_device *ndev);

/**
 * neuron_hbm_start() - have the chip zero all memory that buffers may use
 * @ndev: device; its interrupts work
 *
 * Memory that could not be scrubbed before is free again afterwards.
 *
 * Return: 0 or a negative errno.
 */
int neuron_hbm_start(struct neuron_device *ndev);

/**
 * neuron_hbm_alloc() - allocate memory that reads as zero
 * @ndev: device
 * @stack: HBM stack
 * @size: bytes, a multiple of the page size
 *
 * Waits for freed memory to be scrubbed when the stack is full. The memory keeps the device awake
 * until it is free again.
 *
 * Context: outside of drm_dev_enter().
 * Return: the memory, or an ERR_PTR: -ENOSPC when the stack is full, -EINTR when the process was
 * killed, -EIO, -ENODEV, -ENOMEM.
 */
struct neuron_hbm_memory *neuron_hbm_alloc(struct neuron_device *ndev,
					   unsigned int stack, u64 size);

/**
 * neuron_hbm_free() - give memory back, to be scrubbed
 * @alloc: memory
 *
 * Context: any that may take a spinlock.
 */
void neuron_hbm_free(struct neuron_hbm_memory *alloc);

/**
 * neuron_hbm_flush() - wait until all memory that was freed before is scrubbed, or lost
 * @ndev: device
 *
 * Context: outside of drm_dev_enter().
 * Return: 0, or -EINTR when the process was killed.
 */
int neuron_hbm_flush(struct neuron_device *ndev);

/**
 * neuron_hbm_flush_until() - the same for a while, and whatever signals come
 * @ndev: device
 * @end: in jiffies, how long
 *
 * Context: outside of drm_dev_enter().
 * Return: false if some memory is not scrubbed by then.
 */
bool neuron_hbm_flush_until(struct neuron_device *ndev, unsigned long end);

/**
 * neuron_hbm_get_stats() - state of a stack
 * @ndev: device
 * @stack: HBM stack
 * @stats: its state
 */
void neuron_hbm_get_stats(struct neuron_device *ndev, unsigned int stack,
			  struct neuron_hbm_stats *stats);

/**
 * neuron_hbm_phys() - where the CPU sees some HBM
 * @ndev: device
 * @stack: HBM stack
 * @addr: device address in the usable part of the stack
 *
 * Return: physical address in BAR4.
 */
phys_addr_t neuron_hbm_phys(struct neuron_device *ndev, unsigned int stack,
			    u64 addr);

#endif /* _NEURON_HBM_H_ */
