// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transfers: their life, from the submission to the result.
 */
#include <linux/dma-fence.h>
#include <linux/dma-mapping.h>
#include <linux/slab.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "drm/neuron_accel.h"
#include "neuron_fence.h"
#include "neuron_gem.h"
#include "neuron_hw.h"
#include "neuron_ioctl.h"
#include "neuron_transfer.h"

static struct neuron_transfer *to_neuron_transfer(struct drm_sched_job *job)
{
	return container_of(job, struct neuron_transfer, base);
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

const struct drm_sched_backend_ops neuron_transfer_sched_ops = {
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
	neuron_transfers_put(of);
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
