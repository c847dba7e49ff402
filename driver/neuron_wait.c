// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting for jobs and fetching their results.
 */
#include <linux/dma-fence.h>
#include <linux/jiffies.h>
#include <drm/drm_file.h>

#include "drm/neuron_accel.h"
#include "neuron_claim.h"
#include "neuron_job.h"
#include "neuron_wait.h"

void neuron_results_add(struct neuron_results *results,
			const struct neuron_result *result)
{
	results->slot[results->next] = *result;
	results->next = (results->next + 1) % NEURON_NR_RESULTS;
}

const struct neuron_result *
neuron_results_find(const struct neuron_results *results, u64 job)
{
	unsigned int i;

	for (i = 0; i < NEURON_NR_RESULTS; i++)
		if (results->slot[i].job == job)
			return &results->slot[i];
	return NULL;
}

static int neuron_wait_fetch(struct neuron_claim_core *cc,
			     struct drm_neuron_wait *args)
{
	const struct neuron_result *result;

	spin_lock_irq(&cc->core->lock);
	result = neuron_results_find(&cc->results, args->job);
	if (result) {
		args->status = le16_to_cpu(result->record.status);
		args->cause = le16_to_cpu(result->record.cause);
		args->source = le16_to_cpu(result->record.source);
		args->queue = le16_to_cpu(result->record.queue);
		args->pc = le32_to_cpu(result->record.pc);
		args->hang = result->hang;
		args->addr = le64_to_cpu(result->record.addr);
		args->start_ns = le64_to_cpu(result->record.start_ns);
		args->end_ns = le64_to_cpu(result->record.end_ns);
		args->instructions = le64_to_cpu(result->record.instructions);
		args->dma_bytes = le64_to_cpu(result->record.dma_bytes);
		args->wall_ns = result->wall_ns;
		args->doorbell_ns = result->doorbell_ns;
	}
	spin_unlock_irq(&cc->core->lock);
	return result ? 0 : -ENOENT;
}

/* The finished fence of a job that still exists, referenced, or NULL. */
static struct dma_fence *neuron_wait_fence(struct neuron_claim_core *cc,
					   u64 id)
{
	struct dma_fence *fence = NULL;
	struct neuron_job *job;

	/* Whoever frees the job takes it out first. */
	xa_lock(&cc->pending);
	job = xa_load(&cc->pending, id);
	if (job)
		fence = dma_fence_get(&job->base.s_fence->finished);
	xa_unlock(&cc->pending);
	return fence;
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

static int neuron_wait_job(struct neuron_claim_core *cc,
			   struct drm_neuron_wait *args)
{
	struct dma_fence *fence;
	long left;

	fence = neuron_wait_fence(cc, args->job);
	if (!fence)
		return neuron_wait_fetch(cc, args);

	left = dma_fence_wait_timeout(fence, true,
				      neuron_wait_jiffies(args->timeout_ns));
	dma_fence_put(fence);
	if (!left)
		return -ETIMEDOUT;
	/* The time limit is relative: the call cannot be restarted. */
	if (left < 0)
		return left == -ERESTARTSYS ? -EINTR : left;
	if (!neuron_wait_fetch(cc, args))
		return 0;
	/* The claim was given back before the job could start. */
	args->status = NEURON_JOB_ABORTED;
	args->cause = NEURON_CAUSE_RESET;
	args->source = NEURON_SOURCE_JOB;
	return 0;
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
	ret = args->job ? neuron_wait_job(cc, args) : -ENOENT;
	if (ret == -ENOENT)
		drm_dbg(drm, "wait: core %u knows no job %llu, or no longer\n",
			args->core, args->job);
	neuron_claim_put(cc->claim);
	return ret;
}

#ifdef NEURON_KUNIT
#include "neuron_kunit_wait.c"
#endif
