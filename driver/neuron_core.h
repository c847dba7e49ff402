/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * NeuronCores and CC-cores; the struct is in neuron_device.h.
 */
#ifndef _NEURON_CORE_H_
#define _NEURON_CORE_H_

#include <linux/dma-fence.h>
#include <linux/mutex.h>

#include "neuron_device.h"

struct drm_sched_backend_ops;
struct neuron_claim_core;
struct neuron_core_memory;

/**
 * struct neuron_job_ops - what cores and claims want of the jobs, which they know nothing of
 * @sched: starts and frees jobs
 * @done: the record of the job on the hardware was written; hard interrupt context
 * @refused: the device did not take the job; hard interrupt context
 * @doom: before a reset: the job that it will abort ends with @error, and with @hang in its
 *	result. Under neuron_core.reset_lock
 * @end_aborted: after the reset, or without hardware: that job ends. Under
 *	neuron_core.reset_lock, or when nobody else can reach the core
 * @release: no job of @cc with an id up to @last waits for a fence any more, nor for the
 *	other jobs of its gang
 *
 * neuron_job.c sets them before the cores are set up.
 */
struct neuron_job_ops {
	const struct drm_sched_backend_ops *sched;
	void (*done)(struct neuron_core *core);
	void (*refused)(struct neuron_core *core);
	void (*doom)(struct neuron_core *core, int error, bool hang);
	void (*end_aborted)(struct neuron_core *core);
	void (*release)(struct neuron_claim_core *cc, u64 last);
};

/*
 * neuron_core.reset_lock is on the way to the end of fences. Lockdep is told so
 * before it is taken: nobody may wait for a fence, or for memory, under it. The
 * cookie is for the unlock.
 */
static inline bool neuron_core_lock(struct neuron_core *core)
{
	bool cookie = dma_fence_begin_signalling();

	mutex_lock(&core->reset_lock);
	return cookie;
}

static inline void neuron_core_unlock(struct neuron_core *core, bool cookie)
{
	mutex_unlock(&core->reset_lock);
	dma_fence_end_signalling(cookie);
}

/*
 * Under neuron_core.reset_lock: reset the core. The job it aborts ends with @error,
 * and with @hang in its result. -EIO when the core does not answer; the job has
 * ended all the same. -EIO or -ENODEV when the hardware is not up: who took it down
 * ends the job.
 */
int neuron_core_reset_locked(struct neuron_core *core, int error, bool hang);

/*
 * The core changes hands: abort with -ECANCELED, scrub, next generation, so that
 * posts meant for the last owner are dropped. -EIO, -ENODEV.
 */
int neuron_core_renew(struct neuron_core *core);

/*
 * neuron_core.watch, which neuron_watch.c installs, runs in @delay jiffies. Under
 * neuron_core.reset_lock.
 */
void neuron_core_watch(struct neuron_core *core, unsigned long delay);
/* The same for a job that starts and has @timeout_ms for its progress. */
void neuron_core_watch_job(struct neuron_core *core, u32 timeout_ms);

/* Room for what is in SBUF and PSUM, to be given back with vfree(); or NULL. */
struct neuron_core_memory *neuron_core_memory_create(gfp_t gfp);
/* With the registers there; some seconds at most. */
void neuron_core_memory_capture(struct neuron_core_memory *memory,
				struct neuron_core *core);
/* Bytes of its text, and the text. */
size_t neuron_core_memory_size(const struct neuron_core_memory *memory);
void neuron_core_memory_print(const struct neuron_core_memory *memory,
			      char *text);

/*
 * The place is all that needs no hardware, for the interrupt handler, which comes before the
 * rest. The stop resets what still runs, with the interrupts there; the fini comes after
 * drm_dev_unplug() and the stop.
 */
int neuron_cores_place(struct neuron_device *ndev);
int neuron_cores_init(struct neuron_device *ndev);
void neuron_cores_fini(struct neuron_device *ndev);
int neuron_cores_start(struct neuron_device *ndev);
void neuron_cores_stop(struct neuron_device *ndev);
/* The same for jobs: they end with -EIO. */
void neuron_cores_freeze(struct neuron_device *ndev);
void neuron_cores_end(struct neuron_device *ndev);
/* Any context. */
void neuron_core_get_stats(struct neuron_core *core,
			   struct neuron_core_stats *stats);

#endif /* _NEURON_CORE_H_ */
