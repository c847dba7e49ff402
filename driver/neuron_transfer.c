// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transfers: their life, from the submission to the result.
 */
#include <linux/dma-fence.h>
#include <linux/dma-mapping.h>
#include <linux/slab.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_managed.h>

#include "drm/neuron_accel.h"
#include "neuron_array.h"
#include "neuron_gate.h"
#include "neuron_gem.h"
#include "neuron_hw.h"
#include "neuron_sched.h"
#include "neuron_syncs.h"
#include "neuron_transfer.h"

static struct neuron_transfer *to_neuron_transfer(struct drm_sched_job *job)
{
	return container_of(job, struct neuron_transfer, base);
}

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

/* Bytes of the moves that are known to be done. */
static u64 neuron_transfer_done(const struct neuron_transfer *transfer)
{
	u64 bytes = 0;
	unsigned int i;

	if (transfer->req.done_nr == transfer->req.nr)
		return transfer->req.bytes;
	for (i = 0; i < transfer->req.done_nr; i++)
		bytes += transfer->desc[i].len;
	return bytes;
}

/* Until this is called the result is as neuron_result_create() made it: ABORTED. */
static void neuron_transfer_record(struct neuron_transfer *transfer, int error)
{
	struct neuron_result *result = transfer->result;
	struct neuron_record *record = &result->record;

	result->hang = error == -ETIMEDOUT;
	result->wall_ns = ktime_get_ns() - transfer->started_ns;
	result->doorbell_ns = transfer->started_ns;
	record->dma_bytes = neuron_transfer_done(transfer);
	if (!error) {
		record->status = NEURON_JOB_OK;
		record->cause = NEURON_CAUSE_NONE;
	} else if (transfer->req.cause) {
		record->status = NEURON_JOB_ERROR;
		record->cause = transfer->req.cause;
		record->source = NEURON_SOURCE_DMA;
		record->pc = transfer->req.done_nr;
	}
}

static bool neuron_transfer_bo_ended(const struct neuron_bo *bo)
{
	return bo && (neuron_bo_is_gone(bo) || neuron_bo_is_lost(bo));
}

/*
 * Return: an errno when the memory of a buffer was lost, else 0. A peer's may be lost at any
 * time.
 */
static int neuron_transfer_lost(const struct neuron_transfer *transfer)
{
	if (neuron_transfer_bo_ended(transfer->dst) ||
	    neuron_transfer_bo_ended(transfer->src))
		return neuron_hw_error(transfer->of->ndev);
	return 0;
}

static void neuron_transfer_end(struct neuron_copy_request *req, int error)
{
	struct neuron_transfer *transfer =
		container_of(req, struct neuron_transfer, req);
	/* The transfer may be freed as soon as it has signalled. */
	struct dma_fence *fence = dma_fence_get(transfer->fence);
	/* The queue is this chip's and does not stop for the reset of a peer. */
	int lost = neuron_transfer_lost(transfer);

	if (lost)
		req->done_nr = 0;
	error = error ?: lost;
	neuron_transfer_record(transfer, error);
	if (error)
		dma_fence_set_error(fence, error);
	dma_fence_signal(fence);
	dma_fence_put(fence);
}

static bool neuron_transfer_given_up_cb(const struct neuron_copy_request *req)
{
	return READ_ONCE(container_of_const(req, struct neuron_transfer,
					    req)->cancelled);
}

static int neuron_transfer_lost_cb(const struct neuron_copy_request *req)
{
	return neuron_transfer_lost(container_of_const(req,
						       struct neuron_transfer,
						       req));
}

static const struct neuron_copy_ops neuron_transfer_copy_ops = {
	.given_up = neuron_transfer_given_up_cb,
	.lost = neuron_transfer_lost_cb,
	.end = neuron_transfer_end,
};

static struct dma_fence *neuron_transfer_run_cb(struct drm_sched_job *base)
{
	struct neuron_transfer *transfer = to_neuron_transfer(base);
	struct dma_fence *fence = dma_fence_get(transfer->fence);
	bool cookie = dma_fence_begin_signalling();

	transfer->started_ns = ktime_get_ns();
	neuron_copy_push(transfer->queue->ring, &transfer->req);
	dma_fence_end_signalling(cookie);
	return fence;
}

static void neuron_transfer_free_cb(struct drm_sched_job *base)
{
	struct neuron_transfer *transfer = to_neuron_transfer(base);

	neuron_results_end(&transfer->queue->results, transfer->result);
	xa_erase(&transfer->of->pending, transfer->id);
	/* See neuron_sched.h. */
	if (!base->s_fence->parent)
		base->s_fence->parent = dma_fence_get(transfer->fence);
	drm_sched_job_cleanup(base);
	neuron_transfer_put(transfer);
}

static const struct drm_sched_backend_ops neuron_transfer_sched_ops = {
	.run_job = neuron_transfer_run_cb,
	.free_job = neuron_transfer_free_cb,
};

static void neuron_transfer_free(struct neuron_transfer *transfer)
{
	struct neuron_transfers *of = transfer->of;
	struct neuron_device *ndev = of->ndev;

	if (transfer->dst)
		neuron_bo_put(transfer->dst);
	if (transfer->src)
		neuron_bo_put(transfer->src);
	if (transfer->pattern)
		dma_free_coherent(ndev->drm.dev, transfer->pattern_size,
				  transfer->pattern, transfer->pattern_dma);
	if (transfer->gate)
		neuron_gate_put(transfer->gate);
	dma_fence_put(transfer->fence);
	if (transfer->result)
		neuron_result_put(transfer->result);
	kvfree(transfer->desc);
	neuron_budget_uncharge(&of->budget, transfer->charged);
	kfree(transfer);

	neuron_pm_put(ndev);
	/* The transfer may have had the device's last reference. */
	drm_dev_get(&ndev->drm);
	kref_put(&of->ref, neuron_transfers_release);
	atomic_dec(&ndev->nr_transfers);
	wake_up_all(&ndev->live_wait);
	drm_dev_put(&ndev->drm);
}

static void neuron_transfer_free_work(struct work_struct *work)
{
	neuron_transfer_free(container_of(work, struct neuron_transfer,
					  free_work));
}

static void neuron_transfer_release(struct kref *ref)
{
	struct neuron_transfer *transfer = container_of(ref,
							struct neuron_transfer,
							ref);

	queue_work(transfer->of->ndev->free_wq, &transfer->free_work);
}

void neuron_transfer_put(struct neuron_transfer *transfer)
{
	kref_put(&transfer->ref, neuron_transfer_release);
}

static int neuron_transfer_alloc(struct neuron_transfer *transfer,
				 unsigned int nr)
{
	struct neuron_transfers *of = transfer->of;

	transfer->fence = neuron_fence_create(transfer->queue->sched);
	transfer->result = neuron_result_create(&of->budget);
	transfer->desc = kvmalloc_array(nr, sizeof(*transfer->desc),
					GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!transfer->fence || !transfer->result || !transfer->desc)
		return -ENOMEM;
	if (!transfer->pattern_size)
		return 0;
	transfer->pattern = dma_alloc_coherent(of->ndev->drm.dev,
					       transfer->pattern_size,
					       &transfer->pattern_dma,
					       GFP_KERNEL_ACCOUNT |
					       __GFP_NOWARN);
	return transfer->pattern ? 0 : -ENOMEM;
}

struct neuron_transfer *neuron_transfer_create(struct neuron_transfers *of,
					       u32 queue, unsigned int nr,
					       size_t pattern_size)
{
	size_t bytes = sizeof(struct neuron_transfer) +
		       nr * sizeof(struct neuron_copy_desc) +
		       (pattern_size ? neuron_coherent_bytes(pattern_size) : 0);
	struct neuron_transfer *transfer;

	if (neuron_budget_charge(&of->budget, bytes))
		return ERR_PTR(-ENOMEM);
	transfer = kzalloc(sizeof(*transfer), GFP_KERNEL_ACCOUNT);
	if (!transfer) {
		neuron_budget_uncharge(&of->budget, bytes);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&transfer->ref);
	kref_get(&of->ref);
	transfer->of = of;
	transfer->queue = &of->queue[queue];
	transfer->charged = bytes;
	transfer->pattern_size = pattern_size;
	transfer->req.ops = &neuron_transfer_copy_ops;
	transfer->req.nr = nr;
	INIT_WORK(&transfer->free_work, neuron_transfer_free_work);
	atomic_inc(&of->ndev->nr_transfers);
	/* Its file, which does now, may be closed before its end. */
	neuron_pm_hold(of->ndev);

	if (neuron_transfer_alloc(transfer, nr)) {
		neuron_transfer_put(transfer);
		return ERR_PTR(-ENOMEM);
	}
	transfer->req.desc = transfer->desc;
	return transfer;
}

static int neuron_transfer_args_check(struct drm_device *drm,
				      const struct drm_neuron_transfer *args)
{
	if (args->queue >= NEURON_TRANSFER_QUEUES) {
		drm_dbg(drm, "transfer: no such queue\n");
		return -EINVAL;
	}
	if (!neuron_array_check(&args->in_syncs, DRM_NEURON_SYNC_SIZE_V2,
				NEURON_MAX_SYNCS) &&
	    !neuron_array_check(&args->out_syncs, DRM_NEURON_SYNC_SIZE_V2,
				NEURON_MAX_SYNCS))
		return 0;
	drm_dbg(drm, "transfer: bad array of syncobjs\n");
	return -EINVAL;
}

static int neuron_transfer_in_syncs(struct neuron_transfer *transfer,
				    struct drm_file *file,
				    const struct neuron_array *syncs)
{
	struct neuron_gate *gate;

	if (!syncs->count)
		return 0;
	gate = neuron_in_syncs_find(&transfer->of->ndev->drm, file, syncs);
	if (IS_ERR(gate))
		return PTR_ERR(gate);
	transfer->gate = gate;
	return drm_sched_job_add_dependency(&transfer->base,
					    neuron_gate_arm(gate));
}

/* Under neuron_transfers.lock: a number, and a place for it and its result. */
static int neuron_transfer_number(struct neuron_transfer *transfer)
{
	struct neuron_transfer_queue *queue = transfer->queue;
	struct neuron_transfers *of = transfer->of;
	int ret;

	if (of->dead)
		return -ENODEV;
	transfer->id = (queue->last + 1) * NEURON_TRANSFER_QUEUES +
		       (queue - of->queue);
	ret = xa_reserve(&of->pending, transfer->id, GFP_KERNEL);
	if (ret)
		return ret;
	ret = neuron_results_reserve(&queue->results, transfer->id);
	if (ret)
		xa_release(&of->pending, transfer->id);
	else
		queue->last++;
	return ret;
}

/* Return: its finished fence, referenced; the transfer itself may be gone by then. */
static struct dma_fence *neuron_transfer_push(struct neuron_transfer *transfer,
					      u64 *id)
{
	struct neuron_transfers *of = transfer->of;
	struct dma_fence *fence;
	int ret;

	mutex_lock(&of->lock);
	ret = neuron_transfer_number(transfer);
	if (ret) {
		mutex_unlock(&of->lock);
		return ERR_PTR(ret);
	}
	*id = transfer->id;
	drm_sched_job_arm(&transfer->base);
	fence = dma_fence_get(&transfer->base.s_fence->finished);
	xa_store(&of->pending, transfer->id, transfer, GFP_KERNEL);
	neuron_results_add(&transfer->queue->results, transfer->result,
			   transfer->id, fence);
	drm_sched_entity_push_job(&transfer->base);
	mutex_unlock(&of->lock);
	return fence;
}

/* Once the transfer is built, only allocations can fail. */
static int neuron_transfer_submit(struct neuron_transfers *of,
				  struct drm_file *file,
				  struct drm_neuron_transfer *args,
				  const struct neuron_array *ins,
				  const struct neuron_array *outs,
				  struct neuron_out_sync *out)
{
	struct neuron_transfer *transfer;
	struct dma_fence *fence;
	int ret;

	transfer = neuron_transfer_build(of, file, args);
	if (IS_ERR(transfer))
		return PTR_ERR(transfer);
	ret = neuron_drm_sched_job_init(&transfer->base,
					&transfer->queue->entity,
					transfer->req.nr, file,
					file->client_id);
	if (ret)
		goto err_put;
	ret = neuron_transfer_in_syncs(transfer, file, ins);
	if (ret)
		goto err_job;
	fence = neuron_transfer_push(transfer, &args->transfer);
	if (IS_ERR(fence)) {
		ret = PTR_ERR(fence);
		goto err_job;
	}
	neuron_out_syncs_signal(out, outs->count, fence);
	dma_fence_put(fence);
	return 0;

err_job:
	drm_sched_job_cleanup(&transfer->base);
err_put:
	neuron_transfer_put(transfer);
	return ret;
}

/* @ins and @outs are copies: from here on no user memory is read. */
static int neuron_transfer_enter(struct neuron_transfers *of,
				 struct drm_file *file,
				 struct drm_neuron_transfer *args,
				 const struct neuron_array *ins,
				 const struct neuron_array *outs)
{
	struct drm_device *drm = &of->ndev->drm;
	struct neuron_out_sync *out;
	int idx, ret = -ENODEV;

	out = neuron_out_syncs_find(drm, file, outs);
	if (IS_ERR(out))
		return PTR_ERR(out);
	if (drm_dev_enter(drm, &idx)) {
		ret = neuron_transfer_submit(of, file, args, ins, outs, out);
		drm_dev_exit(idx);
	}
	neuron_out_syncs_free(out, outs->count);
	return ret;
}

int neuron_ioctl_transfer(struct drm_device *drm, void *data,
			  struct drm_file *file)
{
	struct neuron_file *nfile = file->driver_priv;
	struct drm_neuron_transfer *args = data;
	struct neuron_array ins, outs;
	int ret;

	ret = neuron_transfer_args_check(drm, args);
	if (ret)
		return ret;
	ret = neuron_array_get(&ins, sizeof(struct drm_neuron_sync),
			       &args->in_syncs);
	if (ret)
		return ret;
	ret = neuron_array_get(&outs, sizeof(struct drm_neuron_sync),
			       &args->out_syncs);
	if (!ret)
		ret = neuron_transfer_enter(nfile->transfers, file, args, &ins,
					    &outs);
	neuron_array_put(&outs);
	neuron_array_put(&ins);
	return ret;
}

/* If it has not begun it never does, and it no longer waits for fences of others. */
static void neuron_transfer_give_up(struct neuron_transfer *transfer)
{
	WRITE_ONCE(transfer->cancelled, true);
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
		neuron_transfer_give_up(transfer);
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

static void neuron_transfers_entities_fini(struct neuron_transfers *of,
					   unsigned int nr)
{
	while (nr--)
		drm_sched_entity_fini(&of->queue[nr].entity);
}

/*
 * Under transfers_lock, when the file takes no transfer any more. Several queues may have
 * one scheduler, which does no harm when it is stopped or started twice. A queue that was never given a transfer is unknown
 * to its scheduler, which goes on for other files.
 */
static void neuron_transfers_hold(struct neuron_transfers *of)
{
	unsigned int i;

	for (i = 0; i < NEURON_TRANSFER_QUEUES; i++)
		if (of->queue[i].last)
			drm_sched_wqueue_stop(&of->queue[i].sched->base);
}

static void neuron_transfers_let_go(struct neuron_transfers *of)
{
	unsigned int i;

	for (i = 0; i < NEURON_TRANSFER_QUEUES; i++)
		if (of->queue[i].last)
			drm_sched_wqueue_start(&of->queue[i].sched->base);
}

/*
 * Under transfers_lock. What has begun goes on: it ends by itself, and holds all that it
 * needs. The schedulers are stopped meanwhile; neuron_claim.c says why. Fences of other files
 * wait for these schedulers, so lockdep is told that this is on the way to signal a fence.
 */
static void neuron_transfers_kill(struct neuron_transfers *of)
{
	struct neuron_transfer *transfer;
	unsigned long id = 0;
	bool dead, cookie;

	mutex_lock(&of->lock);
	dead = of->dead;
	of->dead = true;
	mutex_unlock(&of->lock);
	if (dead)
		return;

	neuron_transfers_hold(of);
	cookie = dma_fence_begin_signalling();
	while ((transfer = neuron_transfers_next(of, &id))) {
		neuron_transfer_give_up(transfer);
		neuron_transfer_put(transfer);
		id++;
		cond_resched();
	}
	neuron_transfers_entities_fini(of, NEURON_TRANSFER_QUEUES);
	dma_fence_end_signalling(cookie);
	neuron_transfers_let_go(of);
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
			neuron_transfers_entities_fini(of, i);
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

	mutex_lock(&ndev->transfers_lock);
	neuron_transfers_kill(of);
	list_del(&of->link);
	mutex_unlock(&ndev->transfers_lock);
	kref_put(&of->ref, neuron_transfers_release);
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
