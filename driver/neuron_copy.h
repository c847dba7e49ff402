/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copies by the kernel's own DMA queues on the copy engines: one queue for each core.
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
 * @since: jiffies when it was put in flight, for the last time
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
	unsigned long since;
	struct list_head link;
	struct completion done;
	u32 end;
	int error;
};

/**
 * neuron_copy_pick() - choose a queue for a copy
 * @ndev: device
 * @stack: HBM stack that the copy reads or writes
 *
 * Return: a queue near the stack; successive calls take turns.
 */
struct neuron_copy_queue *neuron_copy_pick(struct neuron_device *ndev,
					   unsigned int stack);

/**
 * neuron_copy_submit() - start a request that somebody waits for
 * @queue: queue
 * @req: request; its descriptors, bytes and epoch are set
 *
 * Context: outside of drm_dev_enter(), because it sleeps while the queue is reset.
 * Return: 0; -ENOSPC when the ring has no room, see neuron_copy_wait_room(); -EAGAIN when the
 * queue was stopped meanwhile: submit it again; -EIO when the queue is dead, or the device was
 * reset since the epoch of the request; -ENODEV; -EINTR when the caller is killed.
 */
int neuron_copy_submit(struct neuron_copy_queue *queue,
		       struct neuron_copy_request *req);

/**
 * neuron_copy_wait_room() - wait until a request fits in the ring
 * @queue: queue
 * @nr: descriptors of the request
 *
 * The queue's time limits are those of the requests in it: as long as these go on, the wait does.
 *
 * Context: outside of drm_dev_enter().
 * Return: 0, also when the queue has stopped, or -EINTR.
 */
int neuron_copy_wait_room(struct neuron_copy_queue *queue, unsigned int nr);

/**
 * neuron_copy_push() - start a queued request
 * @queue: queue
 * @req: request, with its functions (neuron_copy_request.ops)
 *
 * It begins behind the queued requests that were given before, and ends after them. If it fails
 * because of others it is started again, from the first descriptor that was not done. The function
 * allocates nothing and waits for nothing but the reset of a queue: it is on the way to signal
 * a fence.
 */
void neuron_copy_push(struct neuron_copy_queue *queue,
		      struct neuron_copy_request *req);

/**
 * neuron_copy_cancel_work() - end the works of the queues
 * @ndev: device, stopped for good; no queued request is left
 */
void neuron_copy_cancel_work(struct neuron_device *ndev);

/**
 * neuron_copy_stop_stray() - another chip has left
 * @ndev: device
 *
 * When it returns, no queued request that reaches memory of that chip is in flight.
 */
void neuron_copy_stop_stray(struct neuron_device *ndev);

/**
 * neuron_copy_wait() - wait until a request is complete
 * @queue: queue that it was submitted to
 * @req: request; its memory is no longer accessed when this returns
 *
 * Context: outside of drm_dev_enter().
 * Return: 0; -EAGAIN when another request failed and took this one with it: submit it again;
 * -EIO, -ETIMEDOUT, -ENODEV.
 */
int neuron_copy_wait(struct neuron_copy_queue *queue,
		     struct neuron_copy_request *req);

/**
 * neuron_copy_unmap_all() - unmap the user memory of all copies from the device
 * @ndev: device, unplugged; its queues are stopped
 *
 * A copy may wait for a page fault that nobody answers, and hold a mapping meanwhile. The mapping
 * cannot stay when the device is gone. Takes neuron_device.copy_lock.
 */
void neuron_copy_unmap_all(struct neuron_device *ndev);

/**
 * neuron_copy_init() - allocate the queues
 * @ndev: device
 *
 * Return: 0 or -ENOMEM.
 */
int neuron_copy_init(struct neuron_device *ndev);

/**
 * neuron_copy_start() - reset the queues and give them their rings
 * @ndev: device; its interrupts work
 *
 * Return: 0 or -EIO.
 */
int neuron_copy_start(struct neuron_device *ndev);

/**
 * neuron_copy_stop() - stop the queues, and end all requests with -ENODEV
 * @ndev: device in the state DOWN or LEAVING
 */
void neuron_copy_stop(struct neuron_device *ndev);

/**
 * neuron_copy_freeze() - a reset of the device begins
 * @ndev: device in the state DOWN
 *
 * Nothing is submitted when it returns. What is in flight stays: the hardware may still use its
 * memory.
 */
void neuron_copy_freeze(struct neuron_device *ndev);

/**
 * neuron_copy_end() - the hardware cannot touch memory any more: all requests end
 * @ndev: device, whose queues are frozen
 * @error: their error
 */
void neuron_copy_end(struct neuron_device *ndev, int error);

/**
 * neuron_copy_debugfs() - print the state of each queue
 * @ndev: device
 * @p: where to
 */
void neuron_copy_debugfs(struct neuron_device *ndev, struct drm_printer *p);

/* neuron_copy_ioctl.c */
NEURON_IOCTL_HANDLER(copy);

#endif /* _NEURON_COPY_H_ */
