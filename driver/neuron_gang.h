/* SPDX-License-Identifier: GPL-2.0-only */
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
#ifndef _NEURON_GANG_H_
#define _NEURON_GANG_H_

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include "contract/job.h"

struct neuron_core;
struct neuron_device;
struct neuron_job;

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

/* For @size jobs; ERR_PTR(-ENOMEM). */
struct neuron_gang *neuron_gang_create(struct neuron_device *ndev, u32 size);
struct neuron_gang *neuron_gang_get(struct neuron_gang *gang);
void neuron_gang_put(struct neuron_gang *gang);

/*
 * The turn of @job has come, which is a member. @error: why it cannot start, or 0.
 * Return: 0 when it starts, or waits for others; its fence will be signalled. An error
 * when it has ended, with its result.
 */
int neuron_gang_run(struct neuron_job *job, int error);
/* @job was cancelled. Without a gang, or when that has started, nothing happens. */
void neuron_gang_cancel(struct neuron_job *job);

#endif /* _NEURON_GANG_H_ */
