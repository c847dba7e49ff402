/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Transfers: copies between buffers that nobody waits for.
 */
#ifndef _NEURON_TRANSFER_H_
#define _NEURON_TRANSFER_H_

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <drm/gpu_scheduler.h>

#include "neuron_account.h"
#include "neuron_copy.h"
#include "neuron_ioctl.h"
#include "neuron_result.h"

struct drm_file;
struct drm_neuron_transfer;
struct neuron_bo;
struct neuron_device;
struct neuron_file;
struct neuron_gate;

#define NEURON_TRANSFER_PIECES	NEURON_COPY_QUEUED_DESC
#define NEURON_TRANSFER_QUEUES	8	/* of a file */

/**
 * struct neuron_transfer_queue - a queue of a file
 * @ring: copy queue of the device, for good
 * @sched: its scheduler
 * @entity: of the scheduler
 * @last: how many transfers it was given, under neuron_transfers.lock
 * @results: how they ended, with a lock of their own
 */
struct neuron_transfer_queue {
	struct neuron_copy_queue *ring;
	struct neuron_sched *sched;
	struct drm_sched_entity entity;
	u64 last;
	struct neuron_results results;
};

/**
 * struct neuron_transfers - the transfers of an open file
 * @ref: the file's, and one for each transfer
 * @ndev: device, referenced
 * @link: in neuron_device.transfers
 * @queue: the queues of the file
 * @budget: what they may take
 * @lock: see above
 * @dead: no more transfers
 * @pending: ids to transfers, until they are freed
 * @nr_queued: transfers whose turn has not come yet
 *
 * A file has several queues for its transfers, and each of them belongs to one copy queue of the
 * device. So the transfers of a queue keep their order, and those of different queues do not
 * delay each other. Everything is made when a transfer is submitted: the list of moves, the
 * references of its buffers, the place of its result. When its turn comes, the moves are written
 * into the ring, and nothing is allocated.
 *
 * Locks, outer ones first:
 *
 * ================================= ===============================================
 * neuron_device.transfers_lock      the list of files; held while those of all files end
 * neuron_transfers.lock             @dead, order of ids and of submission; held while the
 *                                   transfers of the file end. No user memory is touched
 *                                   under it
 * neuron_copy_queue.submit_lock     the ring; taken on the way to signal a fence:
 *                                   allocate nothing under it
 * neuron_copy_queue.lock            what is in flight, results; taken in the hard
 *                                   interrupt handler. Fences are signalled under it,
 *                                   so that those of a ring end in their order
 * ================================= ===============================================
 */
struct neuron_transfers {
	struct kref ref;
	struct neuron_device *ndev;
	struct list_head link;
	struct neuron_transfer_queue queue[NEURON_TRANSFER_QUEUES];
	struct neuron_budget budget;
	struct mutex lock; /* @dead, order of submission */
	bool dead;
	struct xarray pending;
	atomic_t nr_queued;
};

/**
 * struct neuron_transfer - a copy of buffers
 * @base: the scheduler's part; has the first reference until the scheduler frees it
 * @req: what the copy queue sees
 * @ref: who uses it
 * @of: the transfers of its file, referenced
 * @queue: where it was submitted
 * @id: number in the file: the number in its queue and, modulo NEURON_TRANSFER_QUEUES, the
 *	queue
 * @dst: buffer that is written, referenced
 * @src: buffer that is read, referenced; NULL: it fills
 * @gate: the fences of others that it waits for, or NULL
 * @given_up: why it does not begin any more, or 0; if it has begun it goes on
 * @fence: signalled when the queue is done with it
 * @result: how it ended, referenced
 * @desc: moves
 * @pattern: what it fills with, coherent memory, or NULL
 * @pattern_dma: bus address of @pattern
 * @pattern_size: bytes of it, a multiple of 8
 * @charged: bytes charged
 * @started_ns: ktime when its turn came
 * @free_work: gives everything back
 */
struct neuron_transfer {
	struct drm_sched_job base;
	struct neuron_copy_request req;
	struct kref ref;
	struct neuron_transfers *of;
	struct neuron_transfer_queue *queue;
	u64 id;
	struct neuron_bo *dst;
	struct neuron_bo *src;
	struct neuron_gate *gate;
	int given_up;
	struct dma_fence *fence;
	struct neuron_result *result;
	struct neuron_copy_desc *desc;
	void *pattern;
	dma_addr_t pattern_dma;
	size_t pattern_size;
	size_t charged;
	u64 started_ns;
	struct work_struct free_work;
};

/**
 * neuron_transfers_init() - make the schedulers of the copy queues
 * @ndev: device; its cores and copy queues are set up
 *
 * Return: 0 or a negative errno.
 */
int neuron_transfers_init(struct neuron_device *ndev);

/**
 * neuron_transfers_fini() - end all transfers, and free what neuron_transfers_init() has made
 * @ndev: device, unplugged and stopped
 */
void neuron_transfers_fini(struct neuron_device *ndev);

/**
 * neuron_transfers_open() - a file was opened: give it its queues
 * @nfile: file
 *
 * Return: 0 or a negative errno.
 */
int neuron_transfers_open(struct neuron_file *nfile);

/**
 * neuron_transfers_close() - a file is going away
 * @nfile: file
 *
 * Its transfers that have not begun end. Those that have begun go on.
 */
void neuron_transfers_close(struct neuron_file *nfile);

/**
 * neuron_transfers_put() - drop a reference of the transfers of a file
 * @of: transfers; they are freed with the last reference, and may hold the last one of the device
 */
void neuron_transfers_put(struct neuron_transfers *of);

/**
 * neuron_transfers_results() - where the result of a transfer is
 * @file: file
 * @core: what the caller says of a core; a transfer has none, so it must be 0
 * @id: id of the transfer
 *
 * Return: the results of the queue of the transfer, or ERR_PTR(-EINVAL).
 */
struct neuron_results *neuron_transfers_results(struct drm_file *file, u32 core,
						u64 id);

/**
 * neuron_transfer_cancel() - CANCEL a transfer
 * @file: file
 * @core: what the caller says of a core; a transfer has none, so it must be 0
 * @id: id of the transfer; nothing happens if it has begun
 *
 * Return: 0, -EINVAL or -ENOENT.
 */
int neuron_transfer_cancel(struct drm_file *file, u32 core, u64 id);

/*
 * neuron_transfer_sched_ops: what the schedulers of transfers call when the turn of a transfer has
 * come, and when it is over (neuron_transfer.c). neuron_transfers_init() hands it to them.
 */
extern const struct drm_sched_backend_ops neuron_transfer_sched_ops;

/**
 * neuron_transfer_put() - drop a reference of a transfer
 * @transfer: transfer; with the last reference a work gives back what it holds
 */
void neuron_transfer_put(struct neuron_transfer *transfer);

NEURON_IOCTL_HANDLER(transfer);

#endif /* _NEURON_TRANSFER_H_ */
