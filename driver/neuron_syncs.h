/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Syncobjs of a submission: what the job waits for, what it signals.
 */
#ifndef _NEURON_SYNCS_H_
#define _NEURON_SYNCS_H_

#include "drm/neuron_accel.h"

struct dma_fence;
struct drm_device;
struct drm_file;
struct neuron_array;
struct neuron_gate;
struct neuron_out_sync;

#define NEURON_MAX_SYNCS	1024

/* An unarmed gate before the fences of the array @syncs, or an ERR_PTR. */
struct neuron_gate *neuron_in_syncs_find(struct drm_device *drm,
					 struct drm_file *file,
					 const struct neuron_array *syncs);

/* What neuron_out_syncs_signal() needs, so that it cannot fail; or an ERR_PTR. */
struct neuron_out_sync *
neuron_out_syncs_find(struct drm_device *drm, struct drm_file *file,
		      const struct neuron_array *syncs);
void neuron_out_syncs_signal(struct neuron_out_sync *outs, u32 nr,
			     struct dma_fence *fence);
void neuron_out_syncs_free(struct neuron_out_sync *outs, u32 nr);

#endif /* _NEURON_SYNCS_H_ */
