/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Jobs: from the submission to the completion record.
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
 * @cancelled: the job was cancelled before it started, and will not start; protected by
 *	neuron_core.reset_lock
 * @fence: signalled when the hardware is done with the job
 * @result: how it ended, with a reference
 * @hw: job block, followed by the queue table and the window of the trace; coherent memory
 * @dma: bus address of @hw
 * @nr_queues: entries of the queue table
 * @timeout_ms: the job is reset when it makes no progress for this time
 * @looked_ns: ktime when @progress was last seen to change; 0: it was not read yet.
 *	neuron_core.lock protects this and what follows
 * @progress: the core's progress counter at @looked_ns
 * @faulted: the job failed as @record says; neuron_watch.c ends it
 * @broken: the device broke its contract with the driver; neuron_watch.c resets the core
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
	bool cancelled;
	struct dma_fence *fence;
	struct neuron_result *result;
	struct neuron_hw_job *hw;
	dma_addr_t dma;
	unsigned int nr_queues;
	u32 timeout_ms;
	u64 looked_ns;
	u64 progress;
	bool faulted;
	bool broken;
	struct neuron_record record;
	int abort_error;
	bool hang;
};

/*
 * Gangs: jobs of several cores of a claim that start together.
 *
 * A member whose turn has come keeps its core and waits, not yet on the hardware, until
 * the others have their turn, too. The last one to come rings all doorbells, one after
 * the other. So a gang that cannot start has nothing to take back from the device. From
 * the doorbells on the device keeps the members together.
 *
 * All cores get the gangs of a claim in the same order (neuron_submit.c), and jobs can
 * only wait for fences of earlier submissions. So among the jobs that have not ended the
 * oldest one can always go on: gangs do not wait for each other in a circle.
 */

/**
 * struct neuron_gang - several jobs
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
 * @core: cores that are locked while the jobs are started, by index
 * @member: jobs whose turn has come, by index. The scheduler keeps them as long as their
 *	fences have not signalled; those that have ended are NULL again
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

/* Before the cores are set up, and after they have gone. */
int neuron_jobs_init(struct neuron_device *ndev);
void neuron_jobs_fini(struct neuron_device *ndev);

/* A job with a zeroed job block, or ERR_PTR(-ENOMEM). Not yet scheduled. */
struct neuron_job *neuron_job_create(struct neuron_claim_core *cc,
				     unsigned int nr_queues);
void neuron_job_put(struct neuron_job *job);

/* The job on the hardware, referenced, or NULL. */
struct neuron_job *neuron_job_active(struct neuron_core *core);
/* Is @job on the hardware and has not failed? */
bool neuron_job_runs(struct neuron_job *job);

/* It has a window onto a chip that has left. */
static inline bool neuron_job_is_stray(const struct neuron_job *job)
{
	return job->table && neuron_table_is_stray(job->table);
}

/* End a job that has a window onto a chip which has left. */
void neuron_job_stop_stray(struct neuron_core *core);
/* End a job that faulted; under neuron_core.reset_lock. */
void neuron_job_end_faulted(struct neuron_job *job);

/* For @size jobs; ERR_PTR(-ENOMEM). */
struct neuron_gang *neuron_gang_create(struct neuron_device *ndev, u32 size);
struct neuron_gang *neuron_gang_get(struct neuron_gang *gang);
void neuron_gang_put(struct neuron_gang *gang);

/* @job was cancelled. Without a gang, or when that has started, nothing happens. */
void neuron_gang_cancel(struct neuron_job *job);

/* neuron_wait.c: none of the jobs submitted so far waits for a fence. */
void neuron_jobs_release(struct neuron_claim_core *cc, u64 last);

/* neuron_submit.c, neuron_wait.c */
NEURON_IOCTL_HANDLER(submit);
NEURON_IOCTL_HANDLER(wait);
NEURON_IOCTL_HANDLER(cancel);
NEURON_IOCTL_HANDLER(reset);

#endif /* _NEURON_JOB_H_ */
