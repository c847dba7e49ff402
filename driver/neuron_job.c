// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs on the hardware: doorbell, completion interrupt, end; and gangs of jobs.
 */
#include <linux/dma-fence.h>
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "neuron_claim.h"
#include "neuron_core.h"
#include "neuron_device.h"
#include "neuron_fence.h"
#include "neuron_job.h"
#include "neuron_table.h"
#include "neuron_times.h"
#include "neuron_trace.h"

/* Up to this many queues a job block is a &struct neuron_block: 1 KiB. */
#define NEURON_POOL_QUEUES	23

/* A block is aligned to its size, and the other ones to a page. */
static_assert(sizeof(struct neuron_hw_job) >= NEURON_JOB_ALIGN);

static size_t neuron_job_block_size(unsigned int nr_queues)
{
	return sizeof(struct neuron_hw_job) +
	       nr_queues * sizeof(struct neuron_hw_job_queue) +
	       sizeof(struct neuron_hw_window);
}

/* Of memory, for a job. */
static size_t neuron_job_bytes(unsigned int nr_queues)
{
	size_t block = neuron_job_block_size(nr_queues);

	if (nr_queues > NEURON_POOL_QUEUES)
		block = neuron_coherent_bytes(block);
	return sizeof(struct neuron_job) + block;
}

static int neuron_job_block_alloc(struct neuron_job *job)
{
	struct neuron_device *ndev = job->cc->core->ndev;

	if (job->nr_queues <= NEURON_POOL_QUEUES) {
		job->block = neuron_block_get(&ndev->job_blocks);
		if (!job->block)
			return -ENOMEM;
		job->hw = job->block->cpu;
		job->dma = job->block->dma;
	} else {
		job->hw = dma_alloc_coherent(ndev->drm.dev,
					     neuron_job_block_size(job->nr_queues),
					     &job->dma, GFP_KERNEL_ACCOUNT |
					     __GFP_NOWARN);
	}
	return job->hw ? 0 : -ENOMEM;
}

static void neuron_job_block_free(struct neuron_job *job)
{
	struct neuron_device *ndev = job->cc->core->ndev;

	if (!job->hw)
		return;
	if (job->block)
		neuron_block_put(&ndev->job_blocks, job->block);
	else
		dma_free_coherent(ndev->drm.dev,
				  neuron_job_block_size(job->nr_queues),
				  job->hw, job->dma);
}

struct neuron_job *neuron_job_create(struct neuron_claim_core *cc, unsigned int nr_queues)
{
	size_t bytes = neuron_job_bytes(nr_queues);
	struct neuron_job *job;

	if (neuron_claim_charge(cc->claim, bytes))
		return ERR_PTR(-ENOMEM);
	job = kzalloc(sizeof(*job), GFP_KERNEL_ACCOUNT);
	if (!job) {
		neuron_claim_uncharge(cc->claim, bytes);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&job->ref);
	job->cc = cc;
	job->nr_queues = nr_queues;
	neuron_claim_live_get(cc->claim);

	job->fence = neuron_fence_create(cc->core->sched);
	job->result = neuron_result_create(&cc->claim->budget);
	if (!job->fence || !job->result || neuron_job_block_alloc(job)) {
		neuron_job_put(job);
		return ERR_PTR(-ENOMEM);
	}
	return job;
}

static void neuron_job_release(struct kref *ref)
{
	struct neuron_job *job = container_of(ref, struct neuron_job, ref);
	struct neuron_claim *claim = job->cc->claim;

	neuron_claim_uncharge(claim, neuron_job_bytes(job->nr_queues));
	neuron_job_block_free(job);
	if (job->table)
		neuron_table_put_later(job->table);
	if (job->trace)
		neuron_table_put_later(job->trace);
	if (job->gate)
		neuron_gate_put(job->gate);
	if (job->gang)
		neuron_gang_put(job->gang);
	neuron_time_free(job->time);
	neuron_fence_drop(job->fence);
	if (job->result)
		neuron_result_put(job->result);
	kfree(job);
	neuron_claim_live_put(claim);
}

void neuron_job_put(struct neuron_job *job)
{
	kref_put(&job->ref, neuron_job_release);
}

struct neuron_job *neuron_job_active(struct neuron_core *core)
{
	struct neuron_job *job;

	spin_lock_irq(&core->lock);
	job = core->active;
	if (job)
		kref_get(&job->ref);
	spin_unlock_irq(&core->lock);
	return job;
}

bool neuron_job_runs(struct neuron_job *job)
{
	struct neuron_core *core = job->cc->core;
	bool runs;

	spin_lock_irq(&core->lock);
	runs = core->active == job && !job->faulted;
	spin_unlock_irq(&core->lock);
	return runs;
}

/* Under the core's lock, once: what its fence will signal with, 0: success. */
static void neuron_job_set_error(struct neuron_job *job, int error)
{
	lockdep_assert_held(&job->cc->core->lock);
	job->result->error = error;
	if (error)
		dma_fence_set_error(job->fence, error);
}

/*
 * Does the device know the job as a member of a time group? Without a @record it has been reset
 * since, but what it wrote is there. A core that does not answer may have more to say.
 */
static bool neuron_job_is_member(const struct neuron_job *job, const struct neuron_record *record)
{
	const struct neuron_core *core = job->cc->core;
	const struct neuron_hw_completion *hw = core->completion;

	if (record)
		return record->flags & NEURON_COMPLETION_UNSETTLED;
	return core->wedged || (hw->job_id == cpu_to_le64(job->hw_id) &&
				hw->flags & cpu_to_le32(NEURON_COMPLETION_UNSETTLED));
}

/*
 * Under the core's lock: the job leaves the hardware with @error, and with @record as its
 * result, NULL: aborted.
 * Return: its fence, to be given to neuron_job_signal() without the lock.
 */
static struct dma_fence *
neuron_job_end_locked(struct neuron_job *job, const struct neuron_record *record, int error)
{
	struct neuron_claim_core *cc = job->cc;
	struct neuron_result *result = job->result;

	lockdep_assert_held(&cc->core->lock);
	if (record)
		result->record = *record;
	neuron_job_set_error(job, error);
	result->hang = job->hang;
	result->wall_ns = ktime_get_ns() - cc->core->started_ns;
	result->doorbell_ns = cc->core->started_ns;
	neuron_times_end(job, neuron_job_is_member(job, record), error);
	trace_neuron_job_done(cc->core, cc->claim->id, job->id,
			      result->record.status, result->wall_ns);
	cc->busy_ns += result->wall_ns;
	cc->jobs++;
	cc->hangs += job->hang;
	cc->faults += job->faulted;
	if (job->hang)
		atomic64_inc(&cc->core->ndev->counters.hangs);
	if (job->faulted)
		atomic64_inc(&cc->core->ndev->counters.faults);
	cc->core->stats.busy_ns += result->wall_ns;
	cc->core->stats.jobs++;
	cc->core->stats.hangs += job->hang;
	cc->core->stats.faults += job->faulted;
	WRITE_ONCE(cc->core->active, NULL);
	return dma_fence_get(job->fence);
}

static void neuron_job_signal(struct dma_fence *fence)
{
	dma_fence_signal(fence);
	dma_fence_put(fence);
}

/* The rest of the end needs a process: neuron_watch.c. */
static void neuron_job_hand_over(struct neuron_core *core)
{
	mod_delayed_work(core->ndev->watch_wq, &core->watch, 0);
}

/*
 * Under the core's lock: what the completion record means. A job that nobody has doomed is not
 * aborted: whoever resets its core does that first.
 * Return: the fence when the job has ended.
 */
static struct dma_fence *neuron_job_take_record(struct neuron_job *job)
{
	struct neuron_core *core = job->cc->core;
	struct neuron_hw_completion copy;
	struct neuron_record record;

	dma_rmb();
	copy = *core->completion;
	/* What is checked is what is used: the device may write there again. */
	barrier();
	if (neuron_record_decode(&copy, job->hw_id, &record) ||
	    (record.cause == NEURON_CAUSE_GANG && !job->gang) ||
	    (record.status == NEURON_JOB_ABORTED && !job->abort_error)) {
		job->broken = true;
		neuron_job_hand_over(core);
		return NULL;
	}

	job->record = record;
	switch (record.status) {
	case NEURON_JOB_OK:
		job->hang = false;
		return neuron_job_end_locked(job, &record, 0);
	case NEURON_JOB_ABORTED:
		/* Whose fault it was is in the result already. */
		return neuron_job_end_locked(job, job->ganged ? NULL : &record,
					     job->abort_error);
	default:
		job->hang = false;
		/* No fault of its own: nothing to tell or to dump. */
		if (record.cause == NEURON_CAUSE_GANG)
			return neuron_job_end_locked(job, &record, -ECANCELED);
		job->faulted = true;
		neuron_job_hand_over(core);
		return NULL;
	}
}

/**
 * DOC: Jobs that are over soon
 *
 * A short job is often over when the write to the doorbell returns: an emulated device may do all
 * of it meanwhile. So the driver looks for the completion record right after the doorbell. If it
 * is there, the driver ends the job and masks the interrupt of the core: it will find the records
 * of the jobs that follow in the same way. If it is not there, the driver unmasks the interrupt.
 * So a core with short jobs stays masked, one with long jobs stays unmasked, and neither costs
 * more accesses to registers than the doorbell.
 *
 * The cause DONE of a job that was found stays set. While the interrupt is masked, nobody heeds
 * it (neuron_irq.c). When the interrupt is unmasked for a later job, it comes at once, and it is
 * not the later job that has ended. An interrupt that was on its way when its job was found may
 * come at any time, even before the doorbell of the next job. So the handler ends a job only if
 * its record is there. If it is not, but the device knows the job and does not run it any more,
 * the device lies.
 */

/* Under the core's lock: shall the device interrupt when a job is done? */
static void neuron_job_arm(struct neuron_core *core, bool armed)
{
	lockdep_assert_held(&core->lock);
	if (core->armed == armed)
		return;
	WRITE_ONCE(core->armed, armed);
	neuron_core_write(core, NEURON_CORE_MASK, armed ? 0 : NEURON_CORE_CAUSE_DONE);
}

/* The device writes the status last: who finds one finds the whole record. */
static bool neuron_job_has_record(const struct neuron_core *core)
{
	return READ_ONCE(core->completion->status) != cpu_to_le16(NEURON_JOB_NONE);
}

/*
 * Under the core's lock: the device has said that a job is done, and the cause was cleared. Is
 * it this one? The read flushes the write that cleared the cause. So if the job ends after the
 * second look at the record, the device interrupts again.
 *
 * An idle core without a record has broken the contract, unless the cause was @stale, of a job
 * before: then the doorbell of this one may have been lost. A job whose doorbell has not been
 * rung is still used by who rings it; neuron_job_look() finds its record.
 */
static bool neuron_job_has_ended(struct neuron_job *job, bool stale)
{
	struct neuron_core *core = job->cc->core;
	bool idle, ended = neuron_job_has_record(core);

	if (!ended) {
		idle = neuron_core_read(core, NEURON_CORE_STATUS) == NEURON_CORE_IDLE;
		ended = neuron_job_has_record(core) || (idle && !stale);
	}
	return ended && job->rung;
}

/* Under the core's lock: the job whose end is still to come, or NULL. */
static struct neuron_job *neuron_job_waited_for(struct neuron_core *core)
{
	struct neuron_job *job = core->active;

	lockdep_assert_held(&core->lock);
	return job && !job->faulted && !job->broken ? job : NULL;
}

static void neuron_job_done_interrupt(struct neuron_core *core)
{
	struct dma_fence *fence = NULL;
	struct neuron_job *job;
	unsigned long flags;
	bool stale;

	spin_lock_irqsave(&core->lock, flags);
	stale = core->stale;
	core->stale = false;
	job = neuron_job_waited_for(core);
	if (job && neuron_job_has_ended(job, stale))
		fence = neuron_job_take_record(job);
	spin_unlock_irqrestore(&core->lock, flags);
	if (fence)
		neuron_job_signal(fence);
}

/*
 * The doorbell has been rung. Under neuron_core.reset_lock, so no other job has started; but
 * this one may have ended, and may have been freed.
 */
static void neuron_job_look(struct neuron_core *core)
{
	struct dma_fence *fence = NULL;
	struct neuron_job *job;

	lockdep_assert_held(&core->reset_lock);
	spin_lock_irq(&core->lock);
	job = neuron_job_waited_for(core);
	if (job)
		job->rung = true;
	if (job && neuron_job_has_record(core))
		fence = neuron_job_take_record(job);
	if (fence)
		core->stale = true;
	neuron_job_arm(core, job && !fence);
	spin_unlock_irq(&core->lock);
	if (fence)
		neuron_job_signal(fence);
}

/*
 * The driver rings no doorbell of a core that runs and writes no job block that is malformed.
 * So the device could not read the block. A job that the reset of its core aborts keeps this
 * cause.
 */
static void neuron_job_refused_interrupt(struct neuron_core *core)
{
	unsigned long flags;

	spin_lock_irqsave(&core->lock, flags);
	if (core->active && !core->active->faulted) {
		core->active->broken = true;
		if (!core->active->ganged)
			core->active->result->record.cause = NEURON_CAUSE_HOST;
		neuron_job_hand_over(core);
	}
	spin_unlock_irqrestore(&core->lock, flags);
}

static void neuron_job_doom(struct neuron_core *core, int error, bool hang)
{
	spin_lock_irq(&core->lock);
	if (core->active) {
		core->active->abort_error = error;
		core->active->hang = hang;
	}
	spin_unlock_irq(&core->lock);
}

static void neuron_job_end_aborted(struct neuron_core *core)
{
	struct dma_fence *fence = NULL;
	struct neuron_job *job;

	spin_lock_irq(&core->lock);
	job = core->active;
	if (job && job->faulted)
		fence = neuron_job_end_locked(job, &job->record, -EIO);
	else if (job)
		fence = neuron_job_end_locked(job, NULL,
					      job->abort_error ?: -ECANCELED);
	spin_unlock_irq(&core->lock);
	if (fence)
		neuron_job_signal(fence);
}

void neuron_job_end_faulted(struct neuron_job *job)
{
	struct neuron_core *core = job->cc->core;
	struct dma_fence *fence = NULL;

	spin_lock_irq(&core->lock);
	if (core->active == job)
		fence = neuron_job_end_locked(job, &job->record, -EIO);
	spin_unlock_irq(&core->lock);
	if (fence)
		neuron_job_signal(fence);
}

void neuron_job_stop_stray(struct neuron_core *core)
{
	struct neuron_job *job;
	bool cookie;

	cookie = neuron_core_lock(core);
	job = neuron_job_active(core);
	if (job && neuron_job_is_stray(job) && neuron_hw_up(core->ndev)) {
		dev_warn_ratelimited(core->ndev->drm.dev,
				     "%s: job %llu uses a chip that has left: aborted\n",
				     core->name, job->id);
		neuron_core_reset_locked(core, -EIO, false);
	}
	neuron_core_unlock(core, cookie);
	if (job)
		neuron_job_put(job);
}

/* Under the core's lock: the result of a job that ends because member @culprit of its gang did. */
static void neuron_job_blame_locked(struct neuron_job *job, u32 culprit)
{
	lockdep_assert_held(&job->cc->core->lock);
	job->result->record = (struct neuron_record){
		.job_id = job->hw_id,
		.status = NEURON_JOB_ERROR,
		.cause = NEURON_CAUSE_GANG,
		.source = NEURON_SOURCE_JOB,
		.pc = culprit,
	};
}

/* The same of a job that does not start. */
static void neuron_job_blame(struct neuron_job *job, u32 culprit)
{
	struct neuron_core *core = job->cc->core;

	spin_lock_irq(&core->lock);
	neuron_job_blame_locked(job, culprit);
	spin_unlock_irq(&core->lock);
}

/* A job whose turn has come does not start. It may be freed as soon as its fence has signalled. */
static void neuron_job_end_unstarted(struct neuron_job *job, int error)
{
	struct neuron_core *core = job->cc->core;
	struct dma_fence *fence = dma_fence_get(job->fence);

	spin_lock_irq(&core->lock);
	neuron_job_set_error(job, error);
	neuron_times_end(job, false, true);
	spin_unlock_irq(&core->lock);
	neuron_job_signal(fence);
}

/* Under neuron_core.reset_lock: 0 or why it cannot start, which does not change. */
static int neuron_job_may_start(struct neuron_job *job)
{
	struct neuron_core *core = job->cc->core;
	int ret;

	lockdep_assert_held(&core->reset_lock);
	ret = neuron_hw_check(core->ndev);
	/* The claim ends (neuron_claim.h); if the driver leaves, that is why. */
	if (READ_ONCE(job->cc->dead) && ret != -ENODEV)
		return -ESRCH;
	if (ret)
		return ret;
	if (core->wedged || neuron_claim_is_lost(job->cc->claim) ||
	    neuron_job_is_stray(job))
		return -EIO;
	if (job->cancelled || job->id <= READ_ONCE(job->cc->cancelled))
		return -ECANCELED;
	return neuron_gate_error(job->gate);
}

/*
 * Under neuron_core.reset_lock, and if it may: ring the doorbell. The job may end, and be
 * freed, at once.
 */
static void neuron_job_start(struct neuron_job *job)
{
	struct neuron_core *core = job->cc->core;
	u64 block = neuron_host_addr(core->ndev, job->dma);

	spin_lock_irq(&core->lock);
	memset(core->completion, 0, sizeof(*core->completion));
	core->started_ns = ktime_get_ns();
	core->active_cc = job->cc;
	WRITE_ONCE(core->active, job);
	spin_unlock_irq(&core->lock);

	neuron_core_watch_job(core, job->timeout_ms);
	trace_neuron_job_doorbell(core, job->cc->claim->id, job->id);
	neuron_ctl_write64(core->ndev, core->regs + NEURON_CORE_DOORBELL_LO,
			   block);
	neuron_job_look(core);
}

/* Gangs: jobs of several cores of a claim that start together. */

struct neuron_gang *neuron_gang_create(struct neuron_device *ndev, u32 size)
{
	struct neuron_gang *gang;

	gang = kzalloc(struct_size(gang, member, size), GFP_KERNEL_ACCOUNT);
	if (!gang)
		return ERR_PTR(-ENOMEM);
	gang->size = size;
	gang->id = atomic64_inc_return(&ndev->last_gang);
	kref_init(&gang->ref);
	mutex_init(&gang->lock);
	return gang;
}

struct neuron_gang *neuron_gang_get(struct neuron_gang *gang)
{
	kref_get(&gang->ref);
	return gang;
}

static void neuron_gang_release(struct kref *ref)
{
	struct neuron_gang *gang = container_of(ref, struct neuron_gang, ref);

	mutex_destroy(&gang->lock);
	kfree(gang);
}

void neuron_gang_put(struct neuron_gang *gang)
{
	kref_put(&gang->ref, neuron_gang_release);
}

/*
 * Under the gang's lock: member @culprit has failed with @error, and those that wait end;
 * not @running, whose caller ends it. If the driver leaves, no member is to blame.
 */
static void neuron_gang_fail(struct neuron_gang *gang, u32 culprit, int error,
			     struct neuron_job *running)
{
	u32 i;

	lockdep_assert_held(&gang->lock);
	gang->failed = true;
	gang->culprit = culprit;
	gang->error = error;
	for (i = 0; i < gang->size; i++) {
		struct neuron_job *job = gang->member[i];

		gang->member[i] = NULL;
		if (!job || job == running)
			continue;
		if (i == culprit || error == -ENODEV) {
			neuron_job_end_unstarted(job, error);
			continue;
		}
		neuron_job_blame(job, culprit);
		neuron_job_end_unstarted(job, -ECANCELED);
	}
}

/*
 * All members are there. The cores are locked together: what lets a job start must hold
 * for all of them until the last doorbell has been rung. The cores are remembered for the
 * unlocking, because a job may end and be freed as soon as it has started.
 * Return: 0 or why member *@culprit cannot start.
 */
static int neuron_gang_start(struct neuron_gang *gang, u32 *culprit)
{
	int ret = 0;
	u32 i;

	lockdep_assert_held(&gang->lock);
	for (i = 0; i < gang->size; i++) {
		gang->core[i] = gang->member[i]->cc->core;
		mutex_lock_nest_lock(&gang->core[i]->reset_lock, &gang->lock);
	}
	for (i = 0; i < gang->size && !ret; i++) {
		ret = neuron_job_may_start(gang->member[i]);
		*culprit = i;
	}
	for (i = 0; i < gang->size && !ret; i++)
		neuron_job_start(gang->member[i]);
	for (i = 0; i < gang->size; i++)
		mutex_unlock(&gang->core[i]->reset_lock);
	gang->started = !ret;
	return ret;
}

/* Under the gang's lock. @job is not among those that wait if it has an error. */
static int neuron_gang_join(struct neuron_gang *gang, struct neuron_job *job,
			    int error)
{
	u32 culprit = job->gang_index;

	if (!error) {
		gang->member[culprit] = job;
		if (++gang->there < gang->size)
			return 0;
		error = neuron_gang_start(gang, &culprit);
		if (!error)
			return 0;
	}
	neuron_gang_fail(gang, culprit, error, job);
	return error;
}

/*
 * The turn of @job has come, which is a member. @error: why it cannot start, or 0.
 * Return: 0 when it starts, or waits for others; its fence will be signalled. An error
 * when it has ended, with its result.
 */
static int neuron_gang_run(struct neuron_job *job, int error)
{
	/* All jobs may end, and be freed, as soon as they have started. */
	struct neuron_gang *gang = neuron_gang_get(job->gang);
	u32 index = job->gang_index;

	mutex_lock(&gang->lock);
	if (!gang->failed)
		error = neuron_gang_join(gang, job, error);
	else if (!error)
		error = gang->error == -ENODEV ? -ENODEV : -ECANCELED;
	if (gang->failed && gang->culprit != index && error != -ESRCH && error != -ENODEV) {
		neuron_job_blame(job, gang->culprit);
		error = -ECANCELED;
	}
	mutex_unlock(&gang->lock);
	neuron_gang_put(gang);
	return error;
}

void neuron_gang_cancel(struct neuron_job *job)
{
	int error = neuron_hw_leaves(job->cc->core->ndev) ? -ENODEV : -ECANCELED;
	struct neuron_gang *gang = job->gang;
	bool cookie;

	if (!gang)
		return;
	cookie = dma_fence_begin_signalling();
	mutex_lock(&gang->lock);
	if (!gang->started && !gang->failed)
		neuron_gang_fail(gang, job->gang_index, error, NULL);
	mutex_unlock(&gang->lock);
	dma_fence_end_signalling(cookie);
}

/* If a member of @gang runs on @core, and has not failed: it ends, too. */
static void neuron_gang_break_core(struct neuron_gang *gang, struct neuron_core *core,
				   u32 culprit)
{
	struct neuron_job *job;

	spin_lock_irq(&core->lock);
	job = neuron_job_waited_for(core);
	if (job && job->gang == gang && !job->ganged) {
		job->ganged = true;
		neuron_job_blame_locked(job, culprit);
		neuron_job_hand_over(core);
	}
	spin_unlock_irq(&core->lock);
}

void neuron_gang_break(struct neuron_job *job)
{
	struct neuron_gang *gang = job->gang;
	u32 i;

	if (!gang)
		return;
	lockdep_assert_held(&job->cc->core->reset_lock);
	for (i = 0; i < gang->size; i++)
		if (i != job->gang_index)
			neuron_gang_break_core(gang, gang->core[i], job->gang_index);
}

/* The turn of a job. */

/* A job that is no member of a gang starts at once. */
static int neuron_job_run(struct neuron_job *job)
{
	struct neuron_core *core = job->cc->core;
	bool alone = !job->gang;
	int ret;

	mutex_lock(&core->reset_lock);
	ret = neuron_job_may_start(job);
	if (!ret && alone)
		neuron_job_start(job);
	mutex_unlock(&core->reset_lock);
	return alone ? ret : neuron_gang_run(job, ret);
}

static struct dma_fence *neuron_job_prepare_cb(struct drm_sched_job *base,
					       struct drm_sched_entity *entity)
{
	return neuron_gate_turn(to_neuron_job(base)->gate);
}

/* Return: the hardware fence, in any case (neuron_fence.h). */
static struct dma_fence *neuron_job_run_cb(struct drm_sched_job *base)
{
	bool cookie = dma_fence_begin_signalling();
	struct neuron_job *job = to_neuron_job(base);
	struct dma_fence *fence = job->fence;
	int ret;

	neuron_fence_begin(fence);
	/* The job may end, and be freed, as soon as the doorbell rings. */
	dma_fence_get(fence);
	ret = neuron_job_run(job);
	if (ret)
		neuron_job_end_unstarted(job, ret);
	dma_fence_end_signalling(cookie);
	return fence;
}

static void neuron_job_free_cb(struct drm_sched_job *base)
{
	struct neuron_job *job = to_neuron_job(base);
	struct neuron_device *ndev = job->cc->core->ndev;

	neuron_results_end(&job->cc->results, job->result);
	/* Somebody may hold the job for longer than the end of its claim waits for. */
	if (wq_has_sleeper(&ndev->live_wait))
		wake_up_all(&ndev->live_wait);
	drm_sched_job_cleanup(base);
	neuron_job_put(job);
}

static const struct drm_sched_backend_ops neuron_sched_ops = {
	.prepare_job = neuron_job_prepare_cb,
	.run_job = neuron_job_run_cb,
	.free_job = neuron_job_free_cb,
};

static const struct neuron_job_ops neuron_job_ops = {
	.sched = &neuron_sched_ops,
	.done = neuron_job_done_interrupt,
	.refused = neuron_job_refused_interrupt,
	.doom = neuron_job_doom,
	.end_aborted = neuron_job_end_aborted,
	.release = neuron_jobs_release,
	.settled = neuron_times_settled,
	.lost = neuron_times_lost,
	.up = neuron_times_up,
	.leave = neuron_times_leave,
	.quit = neuron_times_quit,
};

void neuron_jobs_init(struct neuron_device *ndev)
{
	ndev->job_ops = &neuron_job_ops;
	/* The device may remember gangs of an earlier driver. */
	atomic64_set(&ndev->last_gang, (u64)get_random_u32() << 32);
	neuron_blocks_init(&ndev->job_blocks, ndev->drm.dev,
			   neuron_job_block_size(NEURON_POOL_QUEUES));
	neuron_times_init(ndev);
}

void neuron_jobs_fini(struct neuron_device *ndev)
{
	neuron_times_fini(ndev);
	neuron_blocks_fini(&ndev->job_blocks);
}
