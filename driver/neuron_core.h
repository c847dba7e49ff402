/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * NeuronCores and CC-cores. struct neuron_core is in neuron_device.h.
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
 * DOC: Engines layer
 *
 * Two things of the chip do work: cores run the jobs of processes, and copy queues move bytes for
 * the kernel. This layer starts, stops and resets both. It knows nothing of claims, and of a job
 * only what &struct neuron_job_ops tells.
 *
 * Cores. A NeuronCore or a CC-core is a &struct neuron_core. It runs one job at a time, which a
 * scheduler of its own gives it (neuron_fence.h). The job begins with a doorbell. It ends when
 * the chip has written the completion record. Whoever sees that first signals the fence: the one
 * who rang, if the record is there when the doorbell returns, or else the hard interrupt handler.
 * neuron_core_reset_locked() ends a job that does not end by itself.
 * The chip then stops the engines and queues of this core, and zeroes its memories; other cores
 * do not notice. A core that does not answer its reset is *wedged*. Bus mastering is switched off
 * at once (neuron_bus_cut()), so that nothing of it writes to freed memory, and the whole device
 * is reset.
 *
 * Copy queues. Each core has one DMA queue of the kernel on one of the copy engines, a &struct
 * neuron_copy_queue. A COPY or a transfer becomes a request: a run of descriptors. COPY waits for
 * its requests. Transfers are queued requests, which nobody waits for. Half of each ring is for
 * COPY, and half for transfers. An error stops a queue. The request at its head gets the error.
 * The others are submitted again: a bad copy hurts its owner only (neuron_copy_reset.c).
 *
 * Fences. A fence of a job outlives the job, the file and the device, because a sync file may hold
 * it for ever. So the scheduler is counted, and each fence holds it. What a job waits for is a
 * *gate*: one fence of the driver that signals when all fences of others have, or when the job is
 * given up (neuron_fence.c). The scheduler cannot take back a job that waits for a fence, but a
 * gate can be opened at any time.
 *
 * Timeouts. The driver does not use the timeout of drm_sched. It knows one limit for all jobs of
 * a scheduler, and counts from the moment that the job is given to the hardware. Here each job has
 * a limit of its own, which counts only while the chip makes no progress, and a cap. See
 * neuron_watch.c, and neuron_copy_watch() for the queues.
 *
 * ============================== ==============================================================
 * neuron_core.reset_lock         doorbell and reset of a core, its generation, whether it is
 *                                wedged. It is held for a whole reset. Fences are signalled under
 *                                it, so nothing is allocated under it
 * neuron_core.lock               the job on the hardware, its record, and the statistics; taken
 *                                in the hard interrupt handler. Fences of jobs are signalled
 *                                without it
 * neuron_copy_queue.submit_lock  the ring and the registers of a copy queue
 * neuron_copy_queue.lock         the requests of a copy queue; taken in the hard interrupt
 *                                handler, under submit_lock. Fences of transfers are signalled
 *                                under it, which keeps their order
 * ============================== ==============================================================
 */

/**
 * struct neuron_job_ops - what cores and claims need of jobs, which are in a higher layer
 * @sched: starts and frees jobs
 * @done: the record of the job on the hardware was written; hard interrupt context
 * @refused: the device did not take the job; hard interrupt context
 * @doom: before a reset: the job that it will abort ends with @error, and with @hang in its
 *	result. Under neuron_core.reset_lock
 * @end_aborted: after the reset, or without hardware: that job ends. Under
 *	neuron_core.reset_lock, or when nobody else can reach the core
 * @release: no job of @cc with an id up to @last waits for a fence any more, nor for the
 *	other jobs of its gang
 * @settled: device times of jobs that have ended are there, perhaps; hard interrupt context
 * @lost: the device is being reset: no more device times of jobs of @core come; @reset: it was seen
 *	to be reset, and writes nothing more for them
 * @up: the hardware is UP: do what could not be done without it
 * @leave: the claim of @cc ends, and all its jobs have: nobody asks for their times any more
 * @quit: the device is about to be stopped: have it write what it still has to write for jobs
 *	that have ended, until @end in jiffies. Under neuron_core.reset_lock
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
	void (*settled)(struct neuron_core *core);
	void (*lost)(struct neuron_core *core, bool reset);
	void (*up)(struct neuron_core *core);
	void (*leave)(struct neuron_claim_core *cc);
	void (*quit)(struct neuron_core *core, unsigned long end);
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

/**
 * neuron_core_reset_locked() - reset a core
 * @core: core
 * @error: error of the fence of the job that the reset aborts
 * @hang: the job is aborted because it hangs; its result says so
 *
 * Context: under neuron_core.reset_lock.
 * Return: 0; -EIO when the core does not answer, and its job has ended all the same; -EIO or
 * -ENODEV when the hardware is not UP, and then whoever took it down ends the job.
 */
int neuron_core_reset_locked(struct neuron_core *core, int error, bool hang);

/**
 * neuron_core_renew() - a core changes its owner
 * @core: core
 *
 * Aborts its job with -ECANCELED, scrubs the core and begins its next generation, so that the
 * chip drops posts which are meant for the last owner. Takes neuron_core.reset_lock.
 *
 * Return: as neuron_core_reset_locked().
 */
int neuron_core_renew(struct neuron_core *core);

/**
 * neuron_core_watch() - look after the job of a core in some time
 * @core: core
 * @delay: jiffies until its watch runs, whenever it was to run before
 *
 * Context: under neuron_core.reset_lock.
 */
void neuron_core_watch(struct neuron_core *core, unsigned long delay);

/**
 * neuron_core_watch_job() - look after a job that starts
 * @core: core
 * @timeout_ms: how long the job may make no progress
 *
 * Context: under neuron_core.reset_lock.
 */
void neuron_core_watch_job(struct neuron_core *core, u32 timeout_ms);

/**
 * neuron_core_memory_create() - allocate room for the contents of SBUF and PSUM
 * @gfp: flags
 *
 * Return: the room, to be freed with vfree(), or NULL.
 */
struct neuron_core_memory *neuron_core_memory_create(gfp_t gfp);

/**
 * neuron_core_memory_capture() - copy what is not zero in SBUF and PSUM
 * @memory: room for it
 * @core: core; its registers can be read
 *
 * It ends when the room is full, or after five seconds.
 */
void neuron_core_memory_capture(struct neuron_core_memory *memory,
				struct neuron_core *core);

/**
 * neuron_core_memory_size() - length of neuron_core_memory_print()
 * @memory: captured memory
 *
 * Return: bytes of the text, without a NUL.
 */
size_t neuron_core_memory_size(const struct neuron_core_memory *memory);

/**
 * neuron_core_memory_print() - print captured memory
 * @memory: captured memory
 * @text: room for neuron_core_memory_size() bytes and one more
 */
void neuron_core_memory_print(const struct neuron_core_memory *memory,
			      char *text);

/**
 * neuron_cores_place() - set up what of the cores needs no hardware
 * @ndev: device
 *
 * Called before the interrupts are set up, whose handler looks at the cores.
 *
 * Return: 0 or -ENOMEM.
 */
int neuron_cores_place(struct neuron_device *ndev);

/**
 * neuron_cores_init() - make the schedulers and completion records of the cores
 * @ndev: device; neuron_device.job_ops is set
 *
 * Return: 0 or a negative errno.
 */
int neuron_cores_init(struct neuron_device *ndev);

/**
 * neuron_cores_fini() - free what neuron_cores_init() has made
 * @ndev: device, unplugged and stopped, without claims
 */
void neuron_cores_fini(struct neuron_device *ndev);

/**
 * neuron_cores_start() - begin a new generation of each core, and reset those that run
 * @ndev: device; its interrupts work
 *
 * An earlier kernel may have left a core running.
 *
 * Return: 0 or a negative errno.
 */
int neuron_cores_start(struct neuron_device *ndev);

/**
 * neuron_cores_stop() - reset the cores that still run, and end their jobs with -ENODEV
 * @ndev: device in the state DOWN or LEAVING; its interrupts still work
 *
 * All grants of the cores are void afterwards.
 */
void neuron_cores_stop(struct neuron_device *ndev);

/**
 * neuron_cores_freeze() - a reset of the device begins
 * @ndev: device in the state DOWN
 *
 * No core is touched when it returns. The jobs on the cores will end with -EIO.
 */
void neuron_cores_freeze(struct neuron_device *ndev);

/**
 * neuron_cores_were_reset() - has the device been reset since its cores were started?
 * @ndev: device
 *
 * Every reset of the device clears the generations of the cores, and no reset of a core does.
 *
 * Return: true if it has, or if they never were; false if its registers cannot be read.
 */
bool neuron_cores_were_reset(struct neuron_device *ndev);

/**
 * neuron_cores_lose_times() - the end of a reset: no more device times of jobs come
 * @ndev: device
 * @reset: it was seen to be reset. Otherwise it may still write settle records, and their memory
 *	stays
 */
void neuron_cores_lose_times(struct neuron_device *ndev, bool reset);

/**
 * neuron_cores_end() - the end of a reset: the jobs that were on the cores end
 * @ndev: device
 * @reset: as for neuron_cores_lose_times()
 */
void neuron_cores_end(struct neuron_device *ndev, bool reset);

/**
 * neuron_cores_up() - the hardware is UP
 * @ndev: device
 */
void neuron_cores_up(struct neuron_device *ndev);

/**
 * neuron_core_get_stats() - what a core did since the driver was loaded
 * @core: core
 * @stats: copy of its statistics, with the time of the running job
 *
 * Context: any.
 */
void neuron_core_get_stats(struct neuron_core *core,
			   struct neuron_core_stats *stats);

#endif /* _NEURON_CORE_H_ */
