/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Status counters: what the owner of a core tells those who monitor it. The
 * driver makes no use of them.
 */
#ifndef _NEURON_STATUS_H_
#define _NEURON_STATUS_H_

#include <linux/atomic.h>

#include "drm/neuron_accel.h"

#define NEURON_MAX_POSTS	64	/* of a call */

/**
 * struct neuron_status - the counters of a core
 * @total: all that was posted since the driver was loaded, or the last reset
 * @present: of that, by the claim that has the core now
 */
struct neuron_status {
	atomic64_t total[DRM_NEURON_NR_STATUS_COUNTERS];
	atomic64_t present[DRM_NEURON_NR_STATUS_COUNTERS];
};

/* The core has, or has lost, its owner. */
void neuron_status_renew(struct neuron_status *status);
/* Both sums of @counter are zero. */
void neuron_status_clear(struct neuron_status *status, unsigned int counter);
/* As in sysfs; NULL: no such counter. */
const char *neuron_status_name(unsigned int counter);

#endif /* _NEURON_STATUS_H_ */
