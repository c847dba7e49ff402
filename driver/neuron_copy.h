/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copies by the kernel's own DMA queues, one for each core, on the copy engines.
 */
#ifndef _NEURON_COPY_H_
#define _NEURON_COPY_H_

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/types.h>

#include "neuron_ioctl.h"

struct drm_printer;
struct neuron_copy_queue;
struct neuron_device;

/* Most descriptors of a request that is waited for: a few of them fit in a ring. */
#define NEURON_COPY_MAX_DESC	1088
/*
 * Queued requests have half of a ring to themselves, so that there is room for them when
 * their turn comes: one has at most half of that, and all together no more than this.
 */
#define NEURON_COPY_QUEUED_ROOM	4096
#define NEURON_COPY_QUEUED_DESC	2048

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

struct neuron_copy_request;

/**
 * struct neuron_copy_ops - of a queued request, which nobody waits for
 * @given_up: why nobody wants it any more, or 0. It does not start then, but goes on if it
 *	has begun. Any context
 * @lost: why its memory must not be accessed any more, or 0. Any context
 * @end: it is complete, its memory no longer accessed: @error. Under the queue's lock,
 *	in hard interrupt context too; the request is not touched afterwards
 */
struct neuron_copy_ops {
	int (*given_up)(const struct neuron_copy_request *req);
	int (*lost)(const struct neuron_copy_request *req);
	void (*end)(struct neuron_copy_request *req, int error);
};

/**
 * struct neuron_copy_request - moves that complete together
 * @ops: of a queued request; NULL: somebody waits for it (neuron_copy_wait())
 * @desc: moves, unchanged until the request is complete
 * @nr: how many, 1 to NEURON_COPY_MAX_DESC, NEURON_COPY_QUEUED_DESC if queued
 * @done_nr: how many of them the device has done, for sure and from the first on; of
 *	queued requests. After a failure of another request it goes on behind them
 * @begun: it has been in the ring, so the device may have moved some of it
 * @retries: of queued requests: how often it had to begin again after a stop of its queue
 *	that was blamed on no request of the queue. Such stops are aborts of the DMA engine,
 *	which come without end if another queue goes on failing, so their number is limited
 * @innocent: what stopped it last was the failure of a request before it in its queue. That
 *	one ends, so there are only as many such stops as bad requests: they are not in
 *	@retries
 * @cause: enum neuron_cause, as the device said, or why it was given up; 0: nobody said
 * @bytes: their sum, for statistics
 * @epoch: neuron_device.epoch that the addresses belong to
 * @link: queue's list while in flight
 * @done: completed by the interrupt
 * @end: queue position behind its last descriptor
 * @error: result, valid when complete
 */
struct neuron_copy_request {
	const struct neuron_copy_ops *ops;
	const struct neuron_copy_desc *desc;
	unsigned int nr;
	unsigned int done_nr;
	bool begun;
	unsigned int retries;
	bool innocent;
	u32 cause;
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
 * Start the queued request @req, behind those that were given before, which end in the
 * same order. What fails because of others is started again, from the first move that
 * was not done. Allocates nothing, waits for nothing but the reset of a queue.
 */
void neuron_copy_push(struct neuron_copy_queue *queue,
		      struct neuron_copy_request *req);
/* The works of queues that were stopped for good; no queued request is left. */
void neuron_copy_cancel_work(struct neuron_device *ndev);
/* A chip has left: no queued request that it concerns is in flight on return. */
void neuron_copy_stop_stray(struct neuron_device *ndev);

/*
 * Wait until @req is complete and its memory is no longer accessed. -EAGAIN: another
 * request failed and took this one with it, submit it again; -EIO, -ETIMEDOUT, -ENODEV.
 */
int neuron_copy_wait(struct neuron_copy_queue *queue,
		     struct neuron_copy_request *req);

/*
 * neuron_copy_ioctl.c: user memory is unmapped from a device that still exists.
 * After drm_dev_unplug(), with the queues stopped.
 */
void neuron_copy_unmap_all(struct neuron_device *ndev);

/*
 * The stop ends copies in flight with -ENODEV.
 */
int neuron_copy_init(struct neuron_device *ndev);
int neuron_copy_start(struct neuron_device *ndev);
void neuron_copy_stop(struct neuron_device *ndev);
/*
 * For a device reset (neuron_device.h): nothing is submitted any more; what is in
 * flight ends with @error, when the hardware cannot touch its memory.
 */
void neuron_copy_freeze(struct neuron_device *ndev);
void neuron_copy_end(struct neuron_device *ndev, int error);
void neuron_copy_debugfs(struct neuron_device *ndev, struct drm_printer *p);

/* neuron_copy_ioctl.c */
NEURON_IOCTL_HANDLER(copy);

#endif /* _NEURON_COPY_H_ */
