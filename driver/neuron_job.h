/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Jobs of cores, and gangs of them.
 */
#ifndef _NEURON_JOB_H_
#define _NEURON_JOB_H_

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <drm/gpu_scheduler.h>

#include "contract/job.h"
#include "contract/record.h"
#include "neuron_device.h"
#include "neuron_ioctl.h"
#include "neuron_table.h"

struct neuron_claim_core;
struct neuron_gang;
struct neuron_gate;
struct neuron_time;

/**
 * DOC: Jobs layer
 *
 * A job is one run of one core (neuron_job.c). A transfer is one copy between buffers that nobody
 * waits for (neuron_transfer.c). Both are jobs of a DRM scheduler: a job goes to the scheduler of
 * its core, a transfer to that of its copy queue.
 *
 * The life of a job:
 *
 * 1. SUBMIT checks and fetches everything that the caller names, and allocates all that the job
 *    needs: its block, its result, its fences. Nothing has changed so far (neuron_submit.c).
 * 2. Under the lock of its core in the claim, the job gets a number, the windows that came with it
 *    are written, it takes a reference of the window table, and it enters the queue of the
 *    scheduler. Nothing can fail once it is in the queue.
 * 3. The job waits for its gate (neuron_fence.h), and for the jobs before it.
 * 4. When its turn comes, the work of the scheduler rings the doorbell, under
 *    neuron_core.reset_lock. The job starts only if the hardware is UP, the claim is not lost, the
 *    job was not cancelled, what it waited for has not failed and none of its windows shows a chip
 *    that has left. Otherwise it ends here, with an error.
 * 5. The chip writes the completion record. Whoever finds it, the work that has rung the doorbell
 *    or the hard interrupt handler, copies it once, checks the copy and, when the job succeeded,
 *    signals its fence. Any other end is left to the watch of the core (neuron_watch.c).
 * 6. The scheduler signals the finished fence, which user space sees, and frees the job. The
 *    result stays for WAIT.
 *
 * A gang is several jobs of one claim that start together. Each member goes through the scheduler
 * of its own core, and keeps that core when its turn has come. The last one to come rings all
 * doorbells, with the locks of all cores held. See &struct neuron_gang.
 *
 * The life of a transfer is the same, with these differences: its queue belongs to the file and
 * not to a claim; step 4 writes its descriptors into the ring of the copy queue; and other
 * transfers may be in the ring with it. See &struct neuron_transfers.
 *
 * CANCEL and RESET do not take a job out of its queue, which the scheduler cannot do. They mark
 * the job and open its gate. Then its turn comes soon, and it does not start.
 *
 * The locks of jobs are in the table of the contexts layer, and those of transfers at &struct
 * neuron_transfers.
 */

/**
 * struct neuron_job - one run of one core
 * @base: the scheduler's part; holds the job's first reference from
 *	drm_sched_entity_push_job() until the scheduler frees it
 * @ref: counts who uses the job
 * @cc: core that the job runs on, in the claim that submitted it; the job holds a reference
 *	of the claim
 * @id: id of the job in the claim
 * @hw_id: id of the job for the device; jobs of other claims of the core have others
 * @table: window table at the time of the submission, with a reference
 * @trace: table of one window, where the trace of the job goes, with a reference; or NULL
 * @gate: the fences of others that it waits for, with a reference, or NULL
 * @gang: with a reference, or NULL: the job was submitted alone
 * @gang_index: which member of @gang it is
 * @time: it is in a time group, or was to be; NULL when the core keeps that (neuron_times.c)
 * @cancelled: the job was cancelled before it started, and will not start; protected by
 *	neuron_core.reset_lock
 * @fence: signalled when the hardware is done with the job
 * @result: how it ended, with a reference
 * @block: where @hw is, or NULL: @hw is too large for a block
 * @hw: job block, followed by the queue table and the window of the trace; coherent memory
 * @dma: bus address of @hw
 * @nr_queues: entries of the queue table
 * @timeout_ms: the job is reset when it makes no progress for this time
 * @looked_ns: ktime when @progress was last seen to change; 0: it was not read yet.
 *	neuron_core.lock protects this and what follows
 * @progress: the core's progress counter at @looked_ns
 * @rung: the doorbell has been rung, so the device knows the job
 * @faulted: the job failed as @record says; neuron_watch.c ends it
 * @broken: the device broke its contract with the driver; neuron_watch.c resets the core
 * @ganged: it did so with another member of the gang, which the result names; neuron_watch.c
 *	resets the core
 * @record: completion record of the device, after it was checked
 * @abort_error: error of @fence if a reset of the core ends the job
 * @hang: the core is being reset because the job made no progress
 */
struct neuron_job {
	struct drm_sched_job base;
	struct kref ref;
	struct neuron_claim_core *cc;
	u64 id;
	u64 hw_id;
	struct neuron_table *table;
	struct neuron_table *trace;
	struct neuron_gate *gate;
	struct neuron_gang *gang;
	u32 gang_index;
	struct neuron_time *time;
	bool cancelled;
	struct dma_fence *fence;
	struct neuron_result *result;
	struct neuron_block *block;
	struct neuron_hw_job *hw;
	dma_addr_t dma;
	unsigned int nr_queues;
	u32 timeout_ms;
	u64 looked_ns;
	u64 progress;
	bool rung;
	bool faulted;
	bool broken;
	bool ganged;
	struct neuron_record record;
	int abort_error;
	bool hang;
};

/**
 * struct neuron_gang - jobs of several cores of a claim that start together
 * @ref: the jobs' and the submission's
 * @id: number for the device
 * @size: jobs
 * @lock: what follows. The neuron_core.reset_lock of each job's core is taken under it,
 *	all of them together, to start the jobs. It is also held while fences are
 *	signalled, so nobody may wait for a fence or for memory under it
 * @there: how many have had their turn
 * @started: the doorbells have been rung
 * @failed: none starts any more
 * @culprit: index of the one that failed first, if one has
 * @error: of that one
 * @core: cores that are locked while the jobs are started, by index; nothing changes them
 *	after that
 * @member: jobs whose turn has come, by index. The scheduler keeps them as long as their
 *	fences have not signalled; those that have ended are NULL again
 *
 * A member whose turn has come keeps its core and waits, not yet on the hardware, until the
 * others have their turn, too. The last one to come rings all doorbells, one after the other. So a
 * gang that cannot start has nothing to take back from the device. From the doorbells on the
 * device keeps the members together. If it broke its contract with one of them, it may not know
 * that the others belong to it: it waits for a member whose block it could not read. Then the
 * driver ends them (neuron_gang_break()).
 *
 * All cores get the gangs of a claim in the same order (neuron_submit.c), and jobs can only wait
 * for fences of earlier submissions. So among the jobs that have not ended the oldest one can
 * always go on: gangs do not wait for each other in a circle.
 */
struct neuron_gang {
	struct kref ref;
	u64 id;
	u32 size;
	struct mutex lock; /* what follows */
	u32 there;
	bool started;
	bool failed;
	u32 culprit;
	int error;
	struct neuron_core *core[NEURON_JOB_MAX_GANG];
	struct neuron_job *member[] __counted_by(size);
};

static inline struct neuron_job *to_neuron_job(struct drm_sched_job *job)
{
	return container_of(job, struct neuron_job, base);
}

static inline struct neuron_hw_job_queue *
neuron_job_queues(struct neuron_job *job)
{
	return (struct neuron_hw_job_queue *)(job->hw + 1);
}

/* Behind the queues. */
static inline struct neuron_hw_window *
neuron_job_trace_window(struct neuron_job *job)
{
	return (struct neuron_hw_window *)(neuron_job_queues(job) +
					   job->nr_queues);
}

/**
 * neuron_jobs_init() - set up jobs, and tell the cores of them
 * @ndev: device; its cores are not set up yet
 */
void neuron_jobs_init(struct neuron_device *ndev);

/**
 * neuron_jobs_fini() - free what neuron_jobs_init() has made
 * @ndev: device; its cores are gone
 */
void neuron_jobs_fini(struct neuron_device *ndev);

/**
 * neuron_job_create() - allocate a job
 * @cc: core in the claim
 * @nr_queues: DMA queues that the job will list
 *
 * The job block is zero, and the job is not known to the scheduler yet.
 *
 * Return: the job with a reference, or ERR_PTR(-ENOMEM).
 */
struct neuron_job *neuron_job_create(struct neuron_claim_core *cc,
				     unsigned int nr_queues);

/**
 * neuron_job_put() - drop a reference of a job
 * @job: job
 *
 * Context: process.
 */
void neuron_job_put(struct neuron_job *job);

/**
 * neuron_job_active() - the job on the hardware
 * @core: core
 *
 * Return: the job with a reference, or NULL.
 */
struct neuron_job *neuron_job_active(struct neuron_core *core);

/**
 * neuron_job_runs() - is a job on the hardware, and has it not failed?
 * @job: job
 *
 * Return: true if so. The answer holds as long as neuron_core.reset_lock is held, unless the job
 * ends by itself.
 */
bool neuron_job_runs(struct neuron_job *job);

/* It has a window onto a chip that has left. */
static inline bool neuron_job_is_stray(const struct neuron_job *job)
{
	return job->table && neuron_table_is_stray(job->table);
}

/**
 * neuron_job_stop_stray() - end the job of a core if it has a window onto a chip that has left
 * @core: core; it is reset for that
 *
 * Takes neuron_core.reset_lock.
 */
void neuron_job_stop_stray(struct neuron_core *core);

/**
 * neuron_job_end_faulted() - end a job that has faulted
 * @job: job, whose record has been looked at
 *
 * Context: under neuron_core.reset_lock.
 */
void neuron_job_end_faulted(struct neuron_job *job);

/**
 * neuron_gang_create() - make a gang
 * @ndev: device
 * @size: how many jobs it will have
 *
 * Return: the gang with a reference, or ERR_PTR(-ENOMEM).
 */
struct neuron_gang *neuron_gang_create(struct neuron_device *ndev, u32 size);

/**
 * neuron_gang_get() - take a reference of a gang
 * @gang: gang
 *
 * Return: the gang.
 */
struct neuron_gang *neuron_gang_get(struct neuron_gang *gang);

/**
 * neuron_gang_put() - drop a reference of a gang
 * @gang: gang
 */
void neuron_gang_put(struct neuron_gang *gang);

/**
 * neuron_gang_cancel() - a job was cancelled: those of its gang that wait for it end
 * @job: job; nothing happens if it has no gang, or the gang has started
 *
 * Takes neuron_gang.lock.
 */
void neuron_gang_cancel(struct neuron_job *job);

/**
 * neuron_gang_break() - the device broke its contract with a job: those of its gang end
 * @job: job that was started; nothing happens if it has no gang
 *
 * The watches of their cores end them, at once.
 *
 * Context: under the neuron_core.reset_lock of the job's core, so that all are started.
 */
void neuron_gang_break(struct neuron_job *job);

/**
 * neuron_jobs_release() - let queued jobs wait for fences no longer
 * @cc: core in its claim
 * @last: id of the last job that is meant
 */
void neuron_jobs_release(struct neuron_claim_core *cc, u64 last);

/* neuron_submit.c, neuron_wait.c */
NEURON_IOCTL_HANDLER(submit);
NEURON_IOCTL_HANDLER(wait);
NEURON_IOCTL_HANDLER(cancel);
NEURON_IOCTL_HANDLER(reset);

#endif /* _NEURON_JOB_H_ */
