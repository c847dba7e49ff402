/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reset of a core; see neuron_device.h for the rest.
 */
#ifndef _NEURON_CORE_H_
#define _NEURON_CORE_H_

#include <linux/dma-fence.h>
#include <linux/mutex.h>

#include "neuron_device.h"

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

/* End a job that has a window onto a chip which has left. */
void neuron_core_stop_stray(struct neuron_core *core);

#endif /* _NEURON_CORE_H_ */
