// SPDX-License-Identifier: GPL-2.0-only
/*
 * Looks after the job on the hardware, in a process.
 */
#include <linux/dma-fence.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>

#include "neuron_claim.h"
#include "neuron_core.h"
#include "neuron_coredump.h"
#include "neuron_device.h"
#include "neuron_event.h"
#include "neuron_irq.h"
#include "neuron_job.h"
#include "neuron_result.h"
#include "neuron_trace.h"
#include "neuron_watch.h"

/**
 * DOC: Time limits of jobs
 *
 * A job hangs when the core's progress counter has not moved for the job's limit, or when it has
 * run for NEURON_JOB_TIMEOUT_CAP times the limit. A job that is over soon costs nothing: the
 * counter is first read at an eighth of the limit, by a timer that stays when the job ends and
 * serves the next one (neuron_core_watch_job()).
 *
 * The timeout of the scheduler (&drm_sched_backend_ops.timedout_job) is off, for three reasons:
 *
 * - It is one limit for all jobs of a scheduler, fixed when the scheduler is made. Here each job
 *   brings its own.
 * - The scheduler takes the job off its list before it calls timedout_job. A driver that finds the
 *   job alive has to put it back. Newer kernels have DRM_GPU_SCHED_STAT_NO_HANG for that, but in
 *   6.12 the driver has to write into the scheduler's list by itself. drm_sched_stop() and
 *   drm_sched_start() put it back as well, but end it: the first one drops the hardware fence, and
 *   the second one ends jobs that have none.
 * - The scheduler sets its timer when a job starts and cancels it when the job ends. An empty job
 *   is short enough for that to count.
 *
 * A fault or a broken contract is handed to the same work, for the same reasons not by
 * drm_sched_fault().
 *
 * The driver has had a watch since its first version. No version has used timedout_job, so what it
 * would cost has not been measured: the reasons come from the source of the scheduler in 6.12.
 */

/**
 * DOC: Policy layer
 *
 * The interrupt handler ends a job that succeeds. The *watch* of the core, a delayed work, decides
 * what becomes of any other job:
 *
 * - The job faulted: the chip has stopped it and has written why. The watch ends the job with
 *   -EIO. The core is not reset, so the next job finds its memories as they were.
 * - The job hangs: the progress counter of the core has not moved for as long as the job's limit,
 *   or the job has run for NEURON_JOB_TIMEOUT_CAP times its limit. The watch resets the core, and
 *   the job ends with -ETIMEDOUT.
 * - The device broke its contract: it refused the doorbell or wrote an impossible record. The
 *   watch resets the core, and the job ends with -EIO. The other members of its gang would wait
 *   for it until their limits. So the watches of their cores reset these, too, and the members
 *   end with -ECANCELED and cause GANG.
 *
 * In each case there is a line in the log, an event and, but for such members, a core dump
 * (neuron_coredump.c) before the fence is signalled. So whoever waits for the job finds the dump.
 * A dump is captured in the watch, with memory that is there at once or not at all, because nothing
 * may be allocated on the way to signal a fence. A work prints and publishes it later.
 *
 * A job that ends soon costs nothing: the counter is first read at an eighth of the limit. The
 * timer for that stays when the job ends, and serves the next job (neuron_core_watch_job()).
 * Before a job is said to hang, the causes of all interrupts are read, because an interrupt may be
 * lost.
 *
 * The watch holds neuron_core.reset_lock all the time, so neither a doorbell nor another reset of
 * the core comes in between. It takes neuron_core.lock to look at the job. While the hardware is
 * not UP it does nothing: a reset of the device, or its stop, ends the job.
 */

/**
 * enum neuron_verdict - what the watch thinks of a job
 * @NEURON_VERDICT_FINE: it goes on, or has ended
 * @NEURON_VERDICT_FAULT: it faulted
 * @NEURON_VERDICT_BROKEN: the device broke its contract
 * @NEURON_VERDICT_GANG: the device did so with another member of its gang
 * @NEURON_VERDICT_HANG: it hangs
 */
enum neuron_verdict {
	NEURON_VERDICT_FINE,
	NEURON_VERDICT_FAULT,
	NEURON_VERDICT_BROKEN,
	NEURON_VERDICT_GANG,
	NEURON_VERDICT_HANG,
};

/*
 * Under the core's lock, so that an interrupt which hands a job over comes
 * before the verdict or after the new timer. @progress: the counter, just read.
 */
static enum neuron_verdict neuron_watch_judge(struct neuron_job *job,
					      u64 progress)
{
	struct neuron_core *core = job->cc->core;
	u64 limit = (u64)job->timeout_ms * NSEC_PER_MSEC;
	u64 cap = limit * NEURON_JOB_TIMEOUT_CAP;
	u64 now = ktime_get_ns();
	u64 again;

	lockdep_assert_held(&core->lock);
	if (core->active != job)
		return NEURON_VERDICT_FINE;
	if (job->faulted)
		return NEURON_VERDICT_FAULT;
	if (job->broken)
		return NEURON_VERDICT_BROKEN;
	if (job->ganged)
		return NEURON_VERDICT_GANG;
	if (!job->looked_ns || progress != job->progress) {
		job->progress = progress;
		job->looked_ns = now;
	}
	if (now - job->looked_ns >= limit || now - core->started_ns >= cap)
		return NEURON_VERDICT_HANG;

	again = min(job->looked_ns + limit, core->started_ns + cap) - now;
	neuron_core_watch(core, nsecs_to_jiffies(again) + 1);
	return NEURON_VERDICT_FINE;
}

static void neuron_watch_log(struct neuron_job *job,
			     enum neuron_verdict verdict)
{
	struct neuron_core *core = job->cc->core;
	struct device *dev = core->ndev->drm.dev;
	char text[NEURON_FAULT_TEXT];

	switch (verdict) {
	case NEURON_VERDICT_FAULT:
		trace_neuron_fault(core, job->id, &job->record);
		neuron_fault_format(text, &job->record);
		dev_warn_ratelimited(dev, "%s: job %llu failed: %s\n",
				     core->name, job->id, text);
		break;
	case NEURON_VERDICT_HANG:
		trace_neuron_hang(core, job->id, job->progress);
		dev_warn_ratelimited(dev, "%s: job %llu hangs (limit %u ms): the core is reset\n",
				     core->name, job->id, job->timeout_ms);
		break;
	case NEURON_VERDICT_GANG:
		dev_warn_ratelimited(dev, "%s: job %llu ends with its gang: the core is reset\n",
				     core->name, job->id);
		break;
	default:
		dev_err_ratelimited(dev, "%s: job %llu: bad completion or refused doorbell: the core is reset\n",
				    core->name, job->id);
		break;
	}
}

static void neuron_watch_tell(struct neuron_job *job,
			      enum neuron_verdict verdict)
{
	struct neuron_event event = {
		.type = NEURON_EVENT_FAULT,
		.core = job->cc->core->index,
		.client = job->cc->claim->client,
		.claim = job->cc->claim->id,
		.job = job->id,
	};

	if (verdict == NEURON_VERDICT_HANG)
		event.type = NEURON_EVENT_HANG;
	/* Of a job that has failed nobody writes the record any more. */
	if (verdict == NEURON_VERDICT_FAULT) {
		event.cause = job->record.cause;
		event.source = job->record.source;
		event.pc = job->record.pc;
		event.addr = job->record.addr;
	}
	/* What was wrong is told of another job of the gang. */
	if (verdict != NEURON_VERDICT_GANG)
		neuron_event_raise(job->cc->core->ndev, &event);
	if (verdict == NEURON_VERDICT_FAULT)
		return;
	event.type = NEURON_EVENT_RESET;
	neuron_event_raise(job->cc->core->ndev, &event);
}

static enum neuron_verdict neuron_watch_look(struct neuron_job *job)
{
	struct neuron_core *core = job->cc->core;
	enum neuron_verdict verdict;
	u64 progress;

	progress = neuron_ctl_read64(core->ndev, core->regs +
				     NEURON_CORE_PROGRESS);
	spin_lock_irq(&core->lock);
	verdict = neuron_watch_judge(job, progress);
	spin_unlock_irq(&core->lock);
	return verdict;
}

static void neuron_watch_end(struct neuron_job *job, enum neuron_verdict verdict)
{
	struct neuron_core *core = job->cc->core;

	switch (verdict) {
	case NEURON_VERDICT_FAULT:
		neuron_job_end_faulted(job);
		break;
	case NEURON_VERDICT_HANG:
		neuron_core_reset_locked(core, -ETIMEDOUT, true);
		break;
	case NEURON_VERDICT_GANG:
		neuron_core_reset_locked(core, -ECANCELED, false);
		break;
	default:
		neuron_core_reset_locked(core, -EIO, false);
		break;
	}
}

/* Under the core's reset_lock. */
static void neuron_watch_job(struct neuron_job *job)
{
	struct neuron_core *core = job->cc->core;
	enum neuron_verdict verdict = neuron_watch_look(job);

	lockdep_assert_held(&core->reset_lock);
	/* It may have ended long ago. */
	if (verdict == NEURON_VERDICT_HANG && neuron_irq_poll(core->ndev)) {
		verdict = neuron_watch_look(job);
		if (verdict == NEURON_VERDICT_FINE)
			dev_warn_ratelimited(core->ndev->drm.dev,
					     "%s: job %llu: interrupt lost\n",
					     core->name, job->id);
	}
	if (verdict == NEURON_VERDICT_FINE)
		return;

	if (verdict == NEURON_VERDICT_BROKEN)
		neuron_gang_break(job);
	neuron_watch_log(job, verdict);
	neuron_watch_tell(job, verdict);
	/* Before the fence: whoever waits for it may ask for the dump at once. */
	if (verdict != NEURON_VERDICT_GANG)
		neuron_dump_publish(neuron_dump_capture(job));
	neuron_watch_end(job, verdict);
}

static void neuron_watch_work(struct work_struct *work)
{
	struct neuron_core *core = container_of(to_delayed_work(work),
						struct neuron_core, watch);
	struct neuron_job *job;
	bool cookie;

	cookie = dma_fence_begin_signalling();
	mutex_lock(&core->reset_lock);
	core->watch_set = false;
	/* Otherwise a reset of the device, or its stop, ends the job. */
	job = neuron_hw_up(core->ndev) ? neuron_job_active(core) : NULL;
	if (job)
		neuron_watch_job(job);
	mutex_unlock(&core->reset_lock);
	dma_fence_end_signalling(cookie);

	if (job)
		neuron_job_put(job);
}

int neuron_watch_init(struct neuron_device *ndev)
{
	unsigned int i;

	ndev->watch_wq = alloc_workqueue("neuron-watch", WQ_UNBOUND |
					 WQ_MEM_RECLAIM | WQ_HIGHPRI, 0);
	if (!ndev->watch_wq)
		return -ENOMEM;
	for (i = 0; i < neuron_nr_units(ndev->gen); i++)
		INIT_DELAYED_WORK(&neuron_unit(ndev, i)->watch,
				  neuron_watch_work);
	return 0;
}

void neuron_watch_fini(struct neuron_device *ndev)
{
	unsigned int i;

	for (i = 0; i < neuron_nr_units(ndev->gen); i++)
		cancel_delayed_work_sync(&neuron_unit(ndev, i)->watch);
	destroy_workqueue(ndev->watch_wq);
}
