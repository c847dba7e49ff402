/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copies by the kernel's own DMA queues, one for each core, on the copy engines.
 */
#ifndef _NEURON_COPY_H_
#define _NEURON_COPY_H_

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/types.h>

struct neuron_copy_queue;
struct neuron_device;

/* Most descriptors of one request: a few requests fit in a ring. */
#define NEURON_COPY_MAX_DESC	1088

/**
 * struct neuron_copy_desc - one contiguous move
 * @src: plain device address to read
 * @dst: plain device address to write
 * @len: bytes, 1 to 64 KiB
 */
struct neuron_copy_desc {
	u64 src;
	u64 dst;
	u32 len;
};

/**
 * struct neuron_copy_request - moves that complete together
 * @desc: moves, unchanged until the request is complete
 * @nr: how many, 1 to NEURON_COPY_MAX_DESC
 * @bytes: their sum, for statistics
 * @epoch: neuron_device.epoch that the addresses belong to
 * @link: queue's list while in flight
 * @done: completed by the interrupt
 * @end: queue position behind its last descriptor
 * @error: result, valid when complete
 */
struct neuron_copy_request {
	const struct neuron_copy_desc *desc;
	unsigned int nr;
	u64 bytes;
	u32 epoch;
	struct list_head link;
	struct completion done;
	u32 end;
	int error;
};

/* A queue near HBM stack @stack; successive calls take turns. */
struct neuron_copy_queue *neuron_copy_pick(struct neuron_device *ndev,
					   unsigned int stack);

/*
 * Start @req. -ENOSPC: no room in the ring, wait with neuron_copy_wait_room();
 * -EAGAIN: the queue was stopped meanwhile, submit again; -EIO: the queue is dead,
 * or the device was reset since the request's epoch; -ENODEV. Sleeps while the queue
 * is reset, so neither this nor a wait happens inside drm_dev_enter().
 */
int neuron_copy_submit(struct neuron_copy_queue *queue,
		       struct neuron_copy_request *req);
int neuron_copy_wait_room(struct neuron_copy_queue *queue, unsigned int nr);

/*
 * Wait until @req is complete and its memory is no longer accessed. -EAGAIN: another
 * request failed and took this one with it, submit it again; -EIO, -ETIMEDOUT, -ENODEV.
 */
int neuron_copy_wait(struct neuron_copy_queue *queue,
		     struct neuron_copy_request *req);

/*
 * neuron_copy_piece.c: user memory is unmapped from a device that still exists.
 * After drm_dev_unplug(), with the queues stopped.
 */
void neuron_copy_unmap_all(struct neuron_device *ndev);

#endif /* _NEURON_COPY_H_ */
