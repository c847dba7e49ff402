/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fences and gates.
 */
#ifndef _NEURON_FENCE_H_
#define _NEURON_FENCE_H_

#include <linux/kref.h>
#include <linux/rcupdate.h>
#include <linux/types.h>
#include <drm/gpu_scheduler.h>

struct dma_fence;
struct neuron_budget;
struct neuron_device;
struct neuron_gate;

/**
 * DOC: Fences of jobs
 *
 * A job or a transfer has two fences: the *hardware fence*, which the driver signals when the
 * hardware is done with it, and the *finished fence* of the DRM scheduler, which follows the
 * hardware fence and is the one that syncobjs get.
 *
 * Each core and each copy queue has a scheduler, and each scheduler has one fence context. A
 * hardware fence is allocated when its job is submitted, because nothing may be allocated on
 * the way to the end of a fence. It gets its number in that context when the turn of the job
 * has come (neuron_fence_begin()), because only then the order is known: other jobs may have
 * been submitted in between, or this one may never have been.
 *
 * Fences outlive jobs, files and devices: a process may keep one in a sync file for ever, and
 * then asks it for the name of its timeline. That name is part of the scheduler. So schedulers
 * are counted and freed by RCU, and each hardware fence holds its scheduler and the module. A
 * finished fence holds the hardware fence, which is its parent. The scheduler makes it so when
 * &drm_sched_backend_ops.run_job returns the hardware fence. So run_job returns that fence in any
 * case: when a job cannot start, the fence has signalled already and has the error.
 */

/**
 * struct neuron_sched - scheduler of a core or a copy queue
 * @base: DRM scheduler
 * @ref: its owner's and the fences'
 * @name: name of the timeline
 * @context: fence context of its hardware fences
 * @seqno: number of the last one that began; only run_job uses it, of which one runs at a time
 * @rcu: frees it
 */
struct neuron_sched {
	struct drm_gpu_scheduler base;
	struct kref ref;
	char name[16];
	u64 context;
	u64 seqno;
	struct rcu_head rcu;
};

/**
 * neuron_sched_create() - make a scheduler
 * @ndev: device
 * @ops: starts and frees its jobs
 * @wq: runs it
 * @credits: jobs with this many credits in all run at a time
 * @name: name of its timeline
 *
 * Return: the scheduler or an ERR_PTR.
 */
struct neuron_sched *
neuron_sched_create(struct neuron_device *ndev,
		    const struct drm_sched_backend_ops *ops,
		    struct workqueue_struct *wq, u32 credits, const char *name);

/**
 * neuron_sched_destroy() - end a scheduler
 * @sched: scheduler, without entities and jobs; its fences keep the memory
 */
void neuron_sched_destroy(struct neuron_sched *sched);

/**
 * neuron_fence_create() - allocate the hardware fence of a job
 * @sched: scheduler of the job
 *
 * It has no number yet, and is good for neuron_fence_begin() and neuron_fence_drop() alone.
 *
 * Return: the fence with a reference, or NULL without memory.
 */
struct dma_fence *neuron_fence_create(struct neuron_sched *sched);

/**
 * neuron_fence_begin() - give a hardware fence its number, when the turn of its job has come
 * @fence: fence; from here on it is a fence as others are
 *
 * Called by run_job. It allocates nothing.
 */
void neuron_fence_begin(struct dma_fence *fence);

/**
 * neuron_fence_drop() - drop the reference of neuron_fence_create()
 * @fence: fence, whether it has begun or not; or NULL
 */
void neuron_fence_drop(struct dma_fence *fence);

/**
 * DOC: Gates
 *
 * A job may name fences that it waits for. Other processes signal them, and may never do so. The
 * job can be cancelled, and its claim or file can end meanwhile, and neither may wait for those
 * fences.
 *
 * So the fences are not given to the scheduler one by one. A *gate* is a fence that signals when
 * all fences that were added to it have signalled, or when it is opened, and its gate is all that a
 * job waits for. Who gives up a job opens its gate, and its turn comes. The jobs of a gang have one
 * gate: when one of them is given up, none will start.
 *
 * Whoever signals a fence calls back all who wait for it, perhaps in a hard interrupt, and a user
 * can queue many jobs that wait for one fence. So a gate looks at its fences only when its job is
 * the next one of its queue: the scheduler asks then what the job waits for
 * (&drm_sched_backend_ops.prepare_job). A fence never has more callbacks of this driver than there
 * are queues: one for each core of a claim, and eight for the transfers of a file.
 *
 * A fence may end with an error. Then what it stands for was not done, and a job that builds on it
 * would compute with what happens to be in memory. So the gate remembers the error, and when the
 * turn of the job comes it does not start (neuron_gate_error()), unless the submission said that
 * errors of this fence do not matter.
 *
 * What else there is does not do:
 *
 * - The scheduler has no way to take back a dependency. With the fences as dependencies of the job
 *   (drm_sched_job_add_syncobj_dependency()) a cancelled job, and all jobs of its claim behind it,
 *   stay in their queue until the last of the fences has signalled. When a queue is removed,
 *   drm_sched_entity_fini() leaves its jobs to a work that waits for their dependencies.
 * - A dma_fence_array of the fences in another one that signals with the first of its two, the
 *   other being a fence to open, was possible until the choice of "any" was removed from
 *   dma_fence_array_init() (neuron_compat.h).
 */

/**
 * neuron_gate_create() - make a gate
 * @max: most fences that will be added
 *
 * Return: the gate with a reference, or ERR_PTR(-ENOMEM).
 */
struct neuron_gate *neuron_gate_create(u32 max);

/**
 * neuron_gate_charge() - charge a user for the memory of a gate
 * @gate: gate that nobody is charged for yet
 * @budget: of the claim (a job waits) or of the file's transfers (a transfer waits). It must live
 *	until the last reference of the gate is put
 *
 * A job may wait for as long as it likes, so its gate is charged as the job itself is. The memory
 * is uncharged when the gate is freed.
 *
 * Return: 0, or -ENOMEM when a limit is reached.
 */
int neuron_gate_charge(struct neuron_gate *gate, struct neuron_budget *budget);

/**
 * neuron_gate_add() - let a gate wait for one more fence
 * @gate: gate of no job yet
 * @fence: fence; its reference goes to the gate. The gate waits for a fence once, however often
 *	it is added
 * @heed: what waits for the gate does not start if the fence ends with an error; if the fence is
 *	added several times, true once is enough
 */
void neuron_gate_add(struct neuron_gate *gate, struct dma_fence *fence, bool heed);

/**
 * neuron_gate_get() - take a reference of a gate
 * @gate: gate
 *
 * Return: the gate.
 */
struct neuron_gate *neuron_gate_get(struct neuron_gate *gate);

/**
 * neuron_gate_put() - drop a reference of a gate
 * @gate: gate
 *
 * Context: process.
 */
void neuron_gate_put(struct neuron_gate *gate);

/**
 * neuron_gate_turn() - a job is the next one of its queue: what does it wait for?
 * @gate: its gate, or NULL; nothing is added from here on
 *
 * The first time, the gate begins to wait for its fences. Nothing is allocated.
 *
 * Return: the fence of the gate, with a reference, or NULL: for nothing any more.
 */
struct dma_fence *neuron_gate_turn(struct neuron_gate *gate);

/**
 * neuron_gate_error() - has what the gate waited for failed?
 * @gate: gate that has signalled, or NULL
 *
 * Context: any.
 *
 * Return: -ECANCELED if a fence whose errors are heeded has ended with one, else 0.
 */
int neuron_gate_error(const struct neuron_gate *gate);

/**
 * neuron_gate_open() - wait no longer
 * @gate: gate, or NULL
 *
 * Context: any.
 */
void neuron_gate_open(struct neuron_gate *gate);

#endif /* _NEURON_FENCE_H_ */
