// SPDX-License-Identifier: GPL-2.0-only
/*
 * The transfers of an open file: its queues, and which transfers they have.
 */
#include <linux/dma-fence.h>
#include <linux/slab.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_managed.h>

#include "neuron_device.h"
#include "neuron_fence.h"
#include "neuron_transfer.h"

static void neuron_transfers_release(struct kref *ref)
{
	struct neuron_transfers *of = container_of(ref, struct neuron_transfers,
						   ref);
	struct drm_device *drm = &of->ndev->drm;
	unsigned int i;

	for (i = 0; i < NEURON_TRANSFER_QUEUES; i++)
		neuron_results_fini(&of->queue[i].results);
	xa_destroy(&of->pending);
	neuron_budget_fini(&of->budget);
	mutex_destroy(&of->lock);
	kfree(of);
	drm_dev_put(drm);
}

void neuron_transfers_put(struct neuron_transfers *of)
{
	kref_put(&of->ref, neuron_transfers_release);
}

/*
 * If it has not begun it never does but ends with @error, and it no longer waits for fences
 * of others.
 */
static void neuron_transfer_give_up(struct neuron_transfer *transfer, int error)
{
	WRITE_ONCE(transfer->given_up, error);
	neuron_gate_open(transfer->gate);
}

/* The first one with an id of at least *@id, referenced, or NULL. */
static struct neuron_transfer *
neuron_transfers_next(struct neuron_transfers *of, unsigned long *id)
{
	struct neuron_transfer *transfer;

	xa_lock(&of->pending);
	transfer = xa_find(&of->pending, id, ULONG_MAX, XA_PRESENT);
	if (transfer)
		kref_get(&transfer->ref);
	xa_unlock(&of->pending);
	return transfer;
}

static struct neuron_results *neuron_transfers_of_id(struct neuron_transfers *of,
						     u64 id)
{
	return &of->queue[id % NEURON_TRANSFER_QUEUES].results;
}

static bool neuron_transfers_know(struct neuron_transfers *of, u64 id)
{
	struct neuron_result *result;
	struct dma_fence *fence;

	result = neuron_results_find(neuron_transfers_of_id(of, id), id, &fence);
	if (!result)
		return false;
	dma_fence_put(fence);
	neuron_result_put(result);
	return true;
}

int neuron_transfer_cancel(struct drm_file *file, u32 core, u64 id)
{
	struct neuron_file *nfile = file->driver_priv;
	struct neuron_transfers *of = nfile->transfers;
	struct neuron_transfer *transfer;
	unsigned long found = id;

	if (core) {
		drm_dbg(&of->ndev->drm, "cancel: a transfer has no core\n");
		return -EINVAL;
	}
	if (!neuron_transfers_know(of, id)) {
		drm_dbg(&of->ndev->drm, "cancel: no transfer %llu, or no longer\n",
			id);
		return -ENOENT;
	}
	transfer = neuron_transfers_next(of, &found);
	if (!transfer)
		return 0;
	if (transfer->id == id)
		neuron_transfer_give_up(transfer, -ECANCELED);
	neuron_transfer_put(transfer);
	return 0;
}

struct neuron_results *neuron_transfers_results(struct drm_file *file, u32 core,
						u64 id)
{
	struct neuron_file *nfile = file->driver_priv;

	if (!core)
		return neuron_transfers_of_id(nfile->transfers, id);
	drm_dbg(&nfile->ndev->drm, "wait: a transfer has no core\n");
	return ERR_PTR(-EINVAL);
}

static void neuron_transfers_entities_destroy(struct neuron_transfers *of,
					      unsigned int nr)
{
	while (nr--)
		drm_sched_entity_destroy(&of->queue[nr].entity);
}

/*
 * Under neuron_transfers.lock: none is submitted any more. What has begun goes on: it ends by
 * itself, and holds all that it needs. The queues drain (neuron_claim.h says why): the turn of
 * each transfer comes, and those that have not begun end with -ESRCH. That waits for transfers
 * of other files only as long as these need all the room of a copy queue.
 */
static void neuron_transfers_drain(struct neuron_transfers *of)
{
	struct neuron_transfer *transfer;
	unsigned long id = 0;

	lockdep_assert_held(&of->lock);
	while ((transfer = neuron_transfers_next(of, &id))) {
		neuron_transfer_give_up(transfer, -ESRCH);
		neuron_transfer_put(transfer);
		id++;
		cond_resched();
	}
	wait_event(of->ndev->live_wait, !atomic_read(&of->nr_queued));
	neuron_transfers_entities_destroy(of, NEURON_TRANSFER_QUEUES);
}

/* Idempotent; done on return. */
static void neuron_transfers_kill(struct neuron_transfers *of)
{
	mutex_lock(&of->lock);
	if (!of->dead) {
		of->dead = true;
		neuron_transfers_drain(of);
	}
	mutex_unlock(&of->lock);
}

static int neuron_transfer_queue_init(struct neuron_transfer_queue *queue,
				      struct neuron_device *ndev,
				      unsigned int ring)
{
	struct drm_gpu_scheduler *sched = &ndev->transfer_sched[ring]->base;

	neuron_results_init(&queue->results);
	queue->ring = ndev->copy[ring];
	queue->sched = ndev->transfer_sched[ring];
	return drm_sched_entity_init(&queue->entity, DRM_SCHED_PRIORITY_NORMAL,
				     &sched, 1, NULL);
}

/*
 * Each queue of the file gets the copy queue behind that of the queue before it. The first
 * one gets the copy queue behind that of the first queue of the file that was opened last.
 */
static int neuron_transfers_place(struct neuron_transfers *of)
{
	struct neuron_device *ndev = of->ndev;
	unsigned int turn = atomic_inc_return(&ndev->transfers_turn);
	unsigned int i;
	int ret;

	for (i = 0; i < NEURON_TRANSFER_QUEUES; i++) {
		ret = neuron_transfer_queue_init(&of->queue[i], ndev,
						 (turn + i) % ndev->gen->nr_cores);
		if (ret) {
			neuron_transfers_entities_destroy(of, i);
			return ret;
		}
	}
	return 0;
}

static struct neuron_transfers *
neuron_transfers_create(struct neuron_device *ndev)
{
	struct neuron_transfers *of;
	int ret;

	of = kzalloc(sizeof(*of), GFP_KERNEL_ACCOUNT);
	if (!of)
		return ERR_PTR(-ENOMEM);
	ret = neuron_budget_init(&of->budget, ndev);
	if (ret)
		goto err_free;
	kref_init(&of->ref);
	mutex_init(&of->lock);
	xa_init(&of->pending);
	of->ndev = ndev;
	ret = neuron_transfers_place(of);
	if (ret)
		goto err_budget;
	drm_dev_get(&ndev->drm);
	return of;

err_budget:
	neuron_budget_fini(&of->budget);
err_free:
	kfree(of);
	return ERR_PTR(ret);
}

int neuron_transfers_open(struct neuron_file *nfile)
{
	struct neuron_device *ndev = nfile->ndev;
	struct neuron_transfers *of;
	int ret = 0;

	mutex_lock(&ndev->transfers_lock);
	/* If the device leaves after this, neuron_transfers_fini() finds the file. */
	of = neuron_hw_leaves(ndev) ? ERR_PTR(-ENODEV) :
				      neuron_transfers_create(ndev);
	if (IS_ERR(of)) {
		ret = PTR_ERR(of);
	} else {
		list_add(&of->link, &ndev->transfers);
		nfile->transfers = of;
	}
	mutex_unlock(&ndev->transfers_lock);
	return ret;
}

void neuron_transfers_close(struct neuron_file *nfile)
{
	struct neuron_transfers *of = nfile->transfers;
	struct neuron_device *ndev = nfile->ndev;

	neuron_transfers_kill(of);
	mutex_lock(&ndev->transfers_lock);
	list_del(&of->link);
	mutex_unlock(&ndev->transfers_lock);
	neuron_transfers_put(of);
}

static void neuron_transfers_fini_first(struct neuron_device *ndev,
					unsigned int nr)
{
	while (nr--)
		neuron_sched_destroy(ndev->transfer_sched[nr]);
}

int neuron_transfers_init(struct neuron_device *ndev)
{
	struct neuron_sched *sched;
	char name[16];
	unsigned int i;
	int ret;

	INIT_LIST_HEAD(&ndev->transfers);
	ret = drmm_mutex_init(&ndev->drm, &ndev->transfers_lock);
	if (ret)
		return ret;
	for (i = 0; i < ndev->gen->nr_cores; i++) {
		snprintf(name, sizeof(name), "neuron-copy%u", i);
		sched = neuron_sched_create(ndev, &neuron_transfer_sched_ops,
					    ndev->core[i].wq,
					    NEURON_COPY_QUEUED_ROOM, name);
		if (IS_ERR(sched)) {
			neuron_transfers_fini_first(ndev, i);
			return PTR_ERR(sched);
		}
		ndev->transfer_sched[i] = sched;
	}
	return 0;
}

void neuron_transfers_fini(struct neuron_device *ndev)
{
	struct neuron_transfers *of;

	mutex_lock(&ndev->transfers_lock);
	list_for_each_entry(of, &ndev->transfers, link)
		neuron_transfers_kill(of);
	mutex_unlock(&ndev->transfers_lock);
	wait_event(ndev->live_wait, !atomic_read(&ndev->nr_transfers));
	neuron_transfers_fini_first(ndev, ndev->gen->nr_cores);
	neuron_copy_cancel_work(ndev);
}
