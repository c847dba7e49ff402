// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transfers: their life, from the submission to the result.
 */
#include <linux/dma-fence.h>
#include <linux/dma-mapping.h>
#include <linux/overflow.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "drm/neuron_accel.h"
#include "neuron_device.h"
#include "neuron_fence.h"
#include "neuron_gem.h"
#include "neuron_ioctl.h"
#include "neuron_syncs.h"
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

	result->error = error;
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

/*
 * If the device was reset or leaves, that is why, whatever else has happened to the transfer: what
 * it waits for may fail because of the reset, before or after its turn. If the chip of a buffer
 * has left, that is why, though what the transfer waited for has failed, too.
 */
static int neuron_transfer_given_up_cb(const struct neuron_copy_request *req)
{
	const struct neuron_transfer *transfer =
		container_of_const(req, struct neuron_transfer, req);
	const struct neuron_device *ndev = transfer->of->ndev;

	if (req->epoch != READ_ONCE(ndev->epoch))
		return neuron_hw_error(ndev);
	return READ_ONCE(transfer->given_up) ?: neuron_transfer_lost(transfer) ?:
	       neuron_gate_error(transfer->gate);
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

static struct dma_fence *neuron_transfer_prepare_cb(struct drm_sched_job *base,
						    struct drm_sched_entity *entity)
{
	return neuron_gate_turn(to_neuron_transfer(base)->gate);
}

/* Return: the hardware fence, in any case (neuron_fence.h). */
static struct dma_fence *neuron_transfer_run_cb(struct drm_sched_job *base)
{
	struct neuron_transfer *transfer = to_neuron_transfer(base);
	bool cookie = dma_fence_begin_signalling();
	struct dma_fence *fence = transfer->fence;

	neuron_fence_begin(fence);
	/* The transfer may end, and be freed, as soon as it is in the ring. */
	dma_fence_get(fence);
	if (atomic_dec_and_test(&transfer->of->nr_queued))
		wake_up_all(&transfer->of->ndev->live_wait);
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
	drm_sched_job_cleanup(base);
	neuron_transfer_put(transfer);
}

const struct drm_sched_backend_ops neuron_transfer_sched_ops = {
	.prepare_job = neuron_transfer_prepare_cb,
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
	neuron_fence_drop(transfer->fence);
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

/*
 * A transfer of @nr moves in queue number @queue, without moves, buffers and pattern yet; or
 * ERR_PTR(-ENOMEM). Inside drm_dev_enter().
 */
static struct neuron_transfer *neuron_transfer_create(struct neuron_transfers *of,
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

/* The checks of what a user asks for, and the list of moves made of it. */

/* The most that a fill has of its pattern in memory: few pages are found easily. */
#define NEURON_PATTERN_BYTES	SZ_32K

/**
 * struct neuron_plan - a transfer that is being made
 * @ndev: device
 * @args: as asked for, with all counts at least 1
 * @epoch: of the device before the buffers were looked at: what they hold ends with it
 * @dst: buffer that is written, referenced
 * @src: buffer that is read, referenced; NULL: it fills
 * @pattern_size: bytes of the pattern
 * @pattern: device address of it, or 0: the moves are only counted
 * @desc: moves, or NULL: they are only counted
 * @nr: moves so far
 */
struct neuron_plan {
	struct neuron_device *ndev;
	struct drm_neuron_transfer args;
	u32 epoch;
	struct neuron_bo *dst;
	struct neuron_bo *src;
	size_t pattern_size;
	u64 pattern;
	struct neuron_copy_desc *desc;
	unsigned int nr;
};

static int neuron_plan_refuse(const struct neuron_plan *plan, int error,
			      const char *why)
{
	drm_dbg(&plan->ndev->drm, "transfer: %s\n", why);
	return error;
}

static int neuron_plan_check_fields(const struct neuron_plan *plan)
{
	const struct drm_neuron_transfer *args = &plan->args;
	bool fill = args->flags & DRM_NEURON_TRANSFER_FILL;
	unsigned int i;

	if (args->flags & ~DRM_NEURON_TRANSFER_FILL)
		return neuron_plan_refuse(plan, -EINVAL, "unknown flags");
	if (!args->bytes)
		return neuron_plan_refuse(plan, -EINVAL, "no bytes");
	if (!fill && args->fill)
		return neuron_plan_refuse(plan, -EINVAL,
					  "a value to fill with, without its flag");
	if (!fill)
		return 0;
	if (args->src || args->src_offset)
		return neuron_plan_refuse(plan, -EINVAL,
					  "a source beside a value to fill with");
	for (i = 0; i < DRM_NEURON_TRANSFER_DIMS; i++)
		if (args->src_step[i])
			return neuron_plan_refuse(plan, -EINVAL,
						  "a source beside a value to fill with");
	return 0;
}

/* Where the last run ends; -EINVAL: beyond @size, or no number. */
static int neuron_plan_end(const struct drm_neuron_transfer *args, bool dst,
			   u64 size, u64 *end)
{
	const u64 *step = dst ? args->dst_step : args->src_step;
	unsigned int i;
	u64 span;

	*end = dst ? args->dst_offset : args->src_offset;
	if (check_add_overflow(*end, args->bytes, end))
		return -EINVAL;
	for (i = 0; i < DRM_NEURON_TRANSFER_DIMS; i++)
		if (check_mul_overflow(args->count[i] - 1, step[i], &span) ||
		    check_add_overflow(*end, span, end))
			return -EINVAL;
	return *end <= size ? 0 : -EINVAL;
}

static int neuron_plan_check_bo(const struct neuron_plan *plan, bool dst)
{
	struct neuron_bo *bo = dst ? plan->dst : plan->src;
	u64 end;

	if (neuron_bo_is_gone(bo))
		return neuron_plan_refuse(plan, -ENODEV,
					  "the chip of a buffer is gone");
	if (neuron_bo_is_lost(bo))
		return neuron_plan_refuse(plan, neuron_hw_error(plan->ndev),
					  "a buffer was lost in a device reset");
	if (neuron_bo_is_stream(bo))
		return neuron_plan_refuse(plan, -EPERM,
					  "transfers do not reach streams");
	if (dst && neuron_bo_is_read_only(bo))
		return neuron_plan_refuse(plan, -EPERM,
					  "the destination is read-only");
	if (neuron_plan_end(&plan->args, dst, bo->base.size, &end))
		return neuron_plan_refuse(plan, -EINVAL, dst ?
					  "a run ends behind the destination" :
					  "a run ends behind the source");
	return 0;
}

/*
 * Refuse a single run whose source and destination overlap. With dimensions an overlap is not
 * looked for: that would take long.
 */
static int neuron_plan_check_overlap(const struct neuron_plan *plan, u64 runs)
{
	const struct drm_neuron_transfer *args = &plan->args;

	if (plan->src != plan->dst || runs > 1 ||
	    args->dst_offset >= args->src_offset + args->bytes ||
	    args->src_offset >= args->dst_offset + args->bytes)
		return 0;
	return neuron_plan_refuse(plan, -EINVAL,
				  "source and destination overlap");
}

/* Each run is at least one move, so there are at most as many runs as moves. */
static int neuron_plan_check_runs(const struct neuron_plan *plan, u64 *runs)
{
	unsigned int i;

	*runs = 1;
	for (i = 0; i < DRM_NEURON_TRANSFER_DIMS; i++)
		if (check_mul_overflow(*runs, plan->args.count[i], runs) ||
		    *runs > NEURON_TRANSFER_PIECES)
			return neuron_plan_refuse(plan, -E2BIG, "too many runs");
	return 0;
}

static int neuron_plan_check(struct neuron_plan *plan)
{
	u64 runs;
	int ret;

	ret = neuron_plan_check_bo(plan, true);
	if (!ret && plan->src)
		ret = neuron_plan_check_bo(plan, false);
	if (!ret)
		ret = neuron_plan_check_runs(plan, &runs);
	return ret ?: neuron_plan_check_overlap(plan, runs);
}

/* The next bytes of a run with @left bytes left, and where they come from. */
static u64 neuron_plan_source(const struct neuron_plan *plan,
			      const struct neuron_cursor *src, u64 left,
			      u64 *addr)
{
	u64 phase = (plan->args.bytes - left) % sizeof(plan->args.fill);

	if (plan->src) {
		*addr = neuron_cursor_addr(src);
		return min3(left, neuron_cursor_room(src),
			    (u64)NEURON_UDMA_DESC_MAX_BYTES);
	}
	*addr = plan->pattern + phase;
	return min(left, plan->pattern_size - phase);
}

/* The run whose first bytes are @dst_at and @src_at; -E2BIG. */
static int neuron_plan_run(struct neuron_plan *plan, u64 dst_at, u64 src_at)
{
	struct neuron_cursor dst, src = { };
	u64 left = plan->args.bytes;
	u64 addr, len;
	int ret;

	ret = neuron_bo_cursor(plan->dst, dst_at, &dst);
	if (!ret && plan->src)
		ret = neuron_bo_cursor(plan->src, src_at, &src);
	if (ret)
		return ret;
	for (; left; left -= len) {
		if (plan->nr == NEURON_TRANSFER_PIECES)
			return neuron_plan_refuse(plan, -E2BIG,
						  "too many pieces");
		len = neuron_plan_source(plan, &src, left, &addr);
		len = min(len, neuron_cursor_room(&dst));
		if (plan->desc)
			plan->desc[plan->nr] = (struct neuron_copy_desc){
				.src = addr,
				.dst = neuron_cursor_addr(&dst),
				.len = len,
			};
		plan->nr++;
		neuron_cursor_advance(&dst, len);
		if (plan->src)
			neuron_cursor_advance(&src, len);
	}
	return 0;
}

/* All runs; neuron_plan_check_runs() has bounded their number. */
static int neuron_plan_walk(struct neuron_plan *plan)
{
	const struct drm_neuron_transfer *args = &plan->args;
	u64 i, j, k;
	int ret;

	plan->nr = 0;
	for (k = 0; k < args->count[2]; k++)
		for (j = 0; j < args->count[1]; j++)
			for (i = 0; i < args->count[0]; i++) {
				ret = neuron_plan_run(plan,
						      args->dst_offset +
						      i * args->dst_step[0] +
						      j * args->dst_step[1] +
						      k * args->dst_step[2],
						      args->src_offset +
						      i * args->src_step[0] +
						      j * args->src_step[1] +
						      k * args->src_step[2]);
				if (ret)
					return ret;
			}
	return 0;
}

static void neuron_plan_fill(struct neuron_plan *plan,
			     struct neuron_transfer *transfer)
{
	__le64 *pattern = transfer->pattern;
	size_t i;

	if (!pattern)
		return;
	for (i = 0; i < plan->pattern_size / sizeof(*pattern); i++)
		pattern[i] = cpu_to_le64(plan->args.fill);
	plan->pattern = neuron_host_addr(plan->ndev, transfer->pattern_dma);
}

/* The references of the buffers go to the transfer. */
static struct neuron_transfer *neuron_plan_make(struct neuron_plan *plan,
						struct neuron_transfers *of)
{
	struct neuron_transfer *transfer;
	unsigned int i;
	int ret;

	ret = neuron_plan_walk(plan);
	if (ret)
		return ERR_PTR(ret);
	transfer = neuron_transfer_create(of, plan->args.queue, plan->nr,
					  plan->pattern_size);
	if (IS_ERR(transfer))
		return transfer;
	plan->desc = transfer->desc;
	neuron_plan_fill(plan, transfer);
	/* The buffers are as they were: it gives as many moves as before. */
	neuron_plan_walk(plan);
	for (i = 0; i < plan->nr; i++)
		transfer->req.bytes += plan->desc[i].len;
	transfer->dst = plan->dst;
	transfer->src = plan->src;
	plan->dst = NULL;
	plan->src = NULL;
	return transfer;
}

static int neuron_plan_lookup(struct neuron_plan *plan, struct drm_file *file)
{
	struct neuron_bo *bo = neuron_bo_lookup(file, plan->args.dst);

	if (IS_ERR(bo))
		return neuron_plan_refuse(plan, PTR_ERR(bo), "no such destination");
	plan->dst = bo;
	if (plan->args.flags & DRM_NEURON_TRANSFER_FILL) {
		plan->pattern_size = min_t(u64, NEURON_PATTERN_BYTES,
					   round_up(min_t(u64, plan->args.bytes,
							  NEURON_PATTERN_BYTES),
						    sizeof(plan->args.fill)));
		return 0;
	}
	bo = neuron_bo_lookup(file, plan->args.src);
	if (IS_ERR(bo))
		return neuron_plan_refuse(plan, PTR_ERR(bo), "no such source");
	plan->src = bo;
	return 0;
}

/*
 * Check what is asked for, all but the syncobjs, and look the buffers up. drm_dbg() says what
 * was refused. To be put in any case.
 */
static int neuron_plan_begin(struct neuron_plan *plan, struct drm_file *file)
{
	unsigned int i;
	int ret;

	plan->epoch = READ_ONCE(plan->ndev->epoch);
	for (i = 0; i < DRM_NEURON_TRANSFER_DIMS; i++)
		plan->args.count[i] = plan->args.count[i] ?: 1;
	ret = neuron_plan_check_fields(plan);
	if (!ret)
		ret = neuron_plan_lookup(plan, file);
	return ret ?: neuron_plan_check(plan);
}

/* Outside drm_dev_enter(): a buffer may end with it. */
static void neuron_plan_put(struct neuron_plan *plan)
{
	if (plan->dst)
		neuron_bo_put(plan->dst);
	if (plan->src)
		neuron_bo_put(plan->src);
}

/* The TRANSFER ioctl. */

static int neuron_transfer_args_check(struct drm_device *drm,
				      const struct drm_neuron_transfer *args)
{
	if (args->queue >= NEURON_TRANSFER_QUEUES) {
		drm_dbg(drm, "transfer: no such queue\n");
		return -EINVAL;
	}
	if (!neuron_syncs_check(&args->in_syncs, &args->out_syncs))
		return 0;
	drm_dbg(drm, "transfer: bad array of syncobjs\n");
	return -EINVAL;
}

/* Under neuron_transfers.lock: a number, and a place for it and its result. */
static int neuron_transfer_number(struct neuron_transfer *transfer)
{
	struct neuron_transfer_queue *queue = transfer->queue;
	struct neuron_transfers *of = transfer->of;
	int ret;

	lockdep_assert_held(&of->lock);
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
	bool cookie;
	int ret;

	mutex_lock(&of->lock);
	ret = neuron_transfer_number(transfer);
	if (ret) {
		mutex_unlock(&of->lock);
		return ERR_PTR(ret);
	}
	*id = transfer->id;
	xa_store(&of->pending, transfer->id, transfer, GFP_KERNEL);
	/* From here on others wait for its fence: nothing is allocated until it is in its queue. */
	cookie = dma_fence_begin_signalling();
	drm_sched_job_arm(&transfer->base);
	fence = dma_fence_get(&transfer->base.s_fence->finished);
	neuron_results_add(&transfer->queue->results, transfer->result,
			   transfer->id, fence);
	atomic_inc(&of->nr_queued);
	drm_sched_entity_push_job(&transfer->base);
	dma_fence_end_signalling(cookie);
	mutex_unlock(&of->lock);
	return fence;
}

/*
 * Once the transfer is built, only allocations can fail.
 * Return: its finished fence, referenced, or an ERR_PTR.
 */
static struct dma_fence *
neuron_transfer_submit(struct neuron_transfers *of, struct drm_file *file,
		       struct neuron_plan *plan, struct neuron_syncs *syncs,
		       u64 *id)
{
	struct neuron_transfer *transfer;
	struct dma_fence *fence;
	int ret;

	transfer = neuron_plan_make(plan, of);
	if (IS_ERR(transfer))
		return ERR_CAST(transfer);
	transfer->req.epoch = plan->epoch;
	ret = neuron_drm_sched_job_init(&transfer->base,
					&transfer->queue->entity,
					transfer->req.nr, file,
					file->client_id);
	if (ret)
		goto err_put;
	ret = neuron_syncs_charge(syncs, &of->budget);
	if (ret)
		goto err_job;
	transfer->gate = neuron_syncs_wait(syncs);
	fence = neuron_transfer_push(transfer, id);
	if (!IS_ERR(fence))
		return fence;
	ret = PTR_ERR(fence);

err_job:
	drm_sched_job_cleanup(&transfer->base);
err_put:
	neuron_transfer_put(transfer);
	return ERR_PTR(ret);
}

static int neuron_transfer_enter(struct neuron_transfers *of,
				 struct drm_file *file,
				 struct drm_neuron_transfer *args,
				 struct neuron_syncs *syncs)
{
	struct neuron_plan plan = { .ndev = of->ndev, .args = *args };
	struct dma_fence *fence;
	int ret, idx;

	ret = neuron_plan_begin(&plan, file);
	if (ret)
		goto out_put;
	ret = -ENODEV;
	if (!drm_dev_enter(&of->ndev->drm, &idx))
		goto out_put;
	fence = neuron_transfer_submit(of, file, &plan, syncs, &args->transfer);
	drm_dev_exit(idx);
	ret = PTR_ERR_OR_ZERO(fence);
	if (ret)
		goto out_put;
	neuron_syncs_signal(syncs, fence);
	dma_fence_put(fence);
out_put:
	neuron_plan_put(&plan);
	return ret;
}

/**
 * neuron_ioctl_transfer() - TRANSFER: queue a copy between buffers
 * @drm: device
 * @data: &struct drm_neuron_transfer
 * @file: file of the caller
 *
 * Return: 0, or an errno that drm/neuron_accel.h names.
 */
int neuron_ioctl_transfer(struct drm_device *drm, void *data,
			  struct drm_file *file)
{
	struct neuron_file *nfile = file->driver_priv;
	struct drm_neuron_transfer *args = data;
	struct neuron_syncs syncs = { };
	int ret;

	ret = neuron_transfer_args_check(drm, args);
	if (ret)
		return ret;
	ret = neuron_syncs_get(&syncs, drm, file, &args->in_syncs, &args->out_syncs);
	if (!ret)
		ret = neuron_transfer_enter(nfile->transfers, file, args, &syncs);
	neuron_syncs_put(&syncs);
	return ret;
}
