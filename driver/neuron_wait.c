// SPDX-License-Identifier: GPL-2.0-only
/*
 * Results of jobs, and waiting for them.
 */
#include <linux/dma-fence.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <drm/drm_file.h>

#include "drm/neuron_accel.h"
#include "neuron_claim.h"
#include "neuron_wait.h"

struct neuron_result *neuron_result_create(struct neuron_claim *claim)
{
	struct neuron_result *result;

	if (neuron_claim_charge(claim, sizeof(*result)))
		return NULL;
	result = kzalloc(sizeof(*result), GFP_KERNEL_ACCOUNT);
	if (!result) {
		neuron_claim_uncharge(claim, sizeof(*result));
		return NULL;
	}
	kref_init(&result->ref);
	INIT_LIST_HEAD(&result->link);
	result->claim = claim;
	result->record.status = cpu_to_le16(NEURON_JOB_ABORTED);
	result->record.cause = cpu_to_le16(NEURON_CAUSE_RESET);
	result->record.source = cpu_to_le16(NEURON_SOURCE_JOB);
	return result;
}

static void neuron_result_release(struct kref *ref)
{
	struct neuron_result *result = container_of(ref, struct neuron_result,
						    ref);

	neuron_claim_uncharge(result->claim, sizeof(*result));
	dma_fence_put(result->fence);
	kfree(result);
}

void neuron_result_put(struct neuron_result *result)
{
	kref_put(&result->ref, neuron_result_release);
}

void neuron_results_init(struct neuron_results *results)
{
	xa_init_flags(&results->jobs, XA_FLAGS_ACCOUNT);
	INIT_LIST_HEAD(&results->ended);
}

void neuron_results_fini(struct neuron_results *results)
{
	struct neuron_result *result;
	unsigned long job;

	xa_for_each(&results->jobs, job, result)
		neuron_result_put(result);
	xa_destroy(&results->jobs);
}

int neuron_results_reserve(struct neuron_results *results, u64 job)
{
	return xa_reserve(&results->jobs, job, GFP_KERNEL);
}

void neuron_results_release(struct neuron_results *results, u64 job)
{
	xa_release(&results->jobs, job);
}

void neuron_results_add(struct neuron_results *results,
			struct neuron_result *result, u64 job,
			struct dma_fence *fence)
{
	kref_get(&result->ref);
	result->job = job;
	result->fence = dma_fence_get(fence);
	xa_store(&results->jobs, job, result, GFP_KERNEL);
}

void neuron_results_end(struct neuron_results *results,
			struct neuron_result *result)
{
	struct neuron_result *forgotten = NULL;
	struct dma_fence *fence;

	xa_lock(&results->jobs);
	fence = result->fence;
	result->fence = NULL;
	list_add_tail(&result->link, &results->ended);
	if (++results->nr_ended > NEURON_KEPT_RESULTS) {
		forgotten = list_first_entry(&results->ended,
					     struct neuron_result, link);
		list_del_init(&forgotten->link);
		__xa_erase(&results->jobs, forgotten->job);
		results->nr_ended--;
	}
	xa_unlock(&results->jobs);
	dma_fence_put(fence);
	if (forgotten)
		neuron_result_put(forgotten);
}

struct neuron_result *neuron_results_find(struct neuron_results *results,
					  u64 job, struct dma_fence **fence)
{
	struct neuron_result *result;

	*fence = NULL;
	xa_lock(&results->jobs);
	result = xa_load(&results->jobs, job);
	if (result) {
		kref_get(&result->ref);
		*fence = dma_fence_get(result->fence);
	}
	xa_unlock(&results->jobs);
	return result;
}

static void neuron_wait_fetch(struct neuron_claim_core *cc,
			      const struct neuron_result *result,
			      struct drm_neuron_wait *args)
{
	const struct neuron_hw_completion *record = &result->record;

	/* Whoever signalled the fence has had the lock before. */
	spin_lock_irq(&cc->core->lock);
	args->status = le16_to_cpu(record->status);
	args->cause = le16_to_cpu(record->cause);
	args->source = le16_to_cpu(record->source);
	args->queue = le16_to_cpu(record->queue);
	args->pc = le32_to_cpu(record->pc);
	args->hang = result->hang;
	args->addr = le64_to_cpu(record->addr);
	args->start_ns = le64_to_cpu(record->start_ns);
	args->end_ns = le64_to_cpu(record->end_ns);
	args->instructions = le64_to_cpu(record->instructions);
	args->dma_bytes = le64_to_cpu(record->dma_bytes);
	args->wall_ns = result->wall_ns;
	args->doorbell_ns = result->doorbell_ns;
	spin_unlock_irq(&cc->core->lock);
}

static unsigned long neuron_wait_jiffies(s64 timeout_ns)
{
	if (timeout_ns < 0)
		return MAX_SCHEDULE_TIMEOUT;
	if (!timeout_ns)
		return 0;
	/* Never less than asked for. */
	return min_t(u64, nsecs_to_jiffies64(timeout_ns) + 1,
		     MAX_SCHEDULE_TIMEOUT - 1);
}

static int neuron_wait_fence(struct dma_fence *fence, s64 timeout_ns)
{
	long left;

	if (!fence)
		return 0;
	left = dma_fence_wait_timeout(fence, true,
				      neuron_wait_jiffies(timeout_ns));
	if (!left)
		return -ETIMEDOUT;
	/* The time limit is relative: the call cannot be restarted. */
	if (left < 0)
		return left == -ERESTARTSYS ? -EINTR : left;
	return 0;
}

static int neuron_wait_job(struct neuron_claim_core *cc,
			   struct drm_neuron_wait *args)
{
	struct neuron_result *result;
	struct dma_fence *fence;
	int ret;

	result = neuron_results_find(&cc->results, args->job, &fence);
	if (!result)
		return -ENOENT;
	ret = neuron_wait_fence(fence, args->timeout_ns);
	if (!ret)
		neuron_wait_fetch(cc, result, args);
	dma_fence_put(fence);
	neuron_result_put(result);
	return ret;
}

int neuron_ioctl_wait(struct drm_device *drm, void *data,
		      struct drm_file *file)
{
	struct drm_neuron_wait *args = data;
	struct neuron_claim_core *cc;
	int ret;

	cc = neuron_claim_core_find_any(file, args->claim, args->core);
	if (IS_ERR(cc))
		return PTR_ERR(cc);
	ret = neuron_wait_job(cc, args);
	if (ret == -ENOENT)
		drm_dbg(drm, "wait: core %u knows no job %llu, or no longer\n",
			args->core, args->job);
	neuron_claim_put(cc->claim);
	return ret;
}

#ifdef NEURON_KUNIT
#include "neuron_kunit_wait.c"
#endif
