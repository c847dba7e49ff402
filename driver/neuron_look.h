/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading registers for people who watch: a device that sleeps wakes up for them.
 */
#ifndef _NEURON_LOOK_H_
#define _NEURON_LOOK_H_

#include "neuron_hw.h"

/* -ENODEV: the device is gone; -EIO: it is being reset. On success neuron_look_end() follows. */
static inline int neuron_look_begin(struct neuron_device *ndev, int *idx)
{
	return neuron_regs_get(ndev, idx);
}

static inline void neuron_look_end(struct neuron_device *ndev, int idx)
{
	neuron_regs_put(ndev, idx);
}

#endif /* _NEURON_LOOK_H_ */
