/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reset of a core; see neuron_device.h for the rest.
 */
#ifndef _NEURON_CORE_H_
#define _NEURON_CORE_H_

#include "neuron_device.h"

/*
 * Under neuron_core.reset_lock, with the registers there: reset the core. The
 * job it aborts ends with @error, and with @hang in its result. -EIO when the
 * core does not answer; the job has ended all the same.
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
