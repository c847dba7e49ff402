/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * HBM: a buddy allocator for each stack. Memory that was in use is discarded by
 * the chip, which makes it zero, before it can be allocated again.
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
 * struct neuron_hbm_alloc - some memory of one stack
 * @hbm: allocator that the memory comes from
 * @blocks: buddy blocks of the memory
 * @link: entry of the list of memory to scrub
 * @size: size in bytes
 * @extents: pieces in ascending device address
 * @nr_extents: number of @extents
 */
struct neuron_hbm_alloc {
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

/* The state of the hardware has changed: who waits for the chip looks at it. */
void neuron_discard_wake(struct neuron_device *ndev);
/* After a change to a state without discards: nobody uses the engine on return. */
void neuron_discard_stop(struct neuron_device *ndev);

int neuron_hbm_init(struct neuron_device *ndev);
/* Interrupts work: the usable range of every stack is discarded. */
int neuron_hbm_start(struct neuron_device *ndev);

/*
 * @size bytes, a multiple of the page size, that read as zero. May sleep until
 * freed memory is scrubbed: outside of drm_dev_enter(). ERR_PTR: -ENOSPC when the
 * stack is full, -EINTR when the process was killed, -EIO, -ENODEV, -ENOMEM.
 */
struct neuron_hbm_alloc *neuron_hbm_alloc(struct neuron_device *ndev,
					  unsigned int stack, u64 size);
/* Any context that may take a spinlock. */
void neuron_hbm_free(struct neuron_hbm_alloc *alloc);

/*
 * Wait until all memory freed before is scrubbed, or lost: outside of
 * drm_dev_enter(). -EINTR when the process was killed.
 */
int neuron_hbm_flush(struct neuron_device *ndev);
void neuron_hbm_get_stats(struct neuron_device *ndev, unsigned int stack,
			  struct neuron_hbm_stats *stats);

/* Where the CPU sees device address @addr of stack @stack (BAR4). */
phys_addr_t neuron_hbm_phys(struct neuron_device *ndev, unsigned int stack,
			    u64 addr);

#endif /* _NEURON_HBM_H_ */
