/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading registers for people who watch: nothing is woken up for them.
 */
#ifndef _NEURON_LOOK_H_
#define _NEURON_LOOK_H_

#include <drm/drm_drv.h>

#include "neuron_device.h"

/* -ENODEV: the device is gone. On success neuron_look_end() follows. */
static inline int neuron_look_begin(struct neuron_device *ndev, int *idx)
{
	return drm_dev_enter(&ndev->drm, idx) ? 0 : -ENODEV;
}

static inline void neuron_look_end(struct neuron_device *ndev, int idx)
{
	drm_dev_exit(idx);
}

#endif /* _NEURON_LOOK_H_ */
