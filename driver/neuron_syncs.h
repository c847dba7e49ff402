/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The syncobjs of a submission: what its jobs wait for, and what they signal.
 */
#ifndef _NEURON_SYNCS_H_
#define _NEURON_SYNCS_H_

#include <linux/types.h>

#include "drm/neuron_accel.h"
#include "neuron_ioctl.h"

struct dma_fence;
struct drm_device;
struct drm_file;
struct drm_sched_job;
struct neuron_budget;
struct neuron_gate;
struct neuron_out_sync;

/*
 * Of each array. DRM walks the whole timeline of a syncobj when it looks up or adds a point, and a
 * user makes timelines as long as he likes: a call takes this many walks.
 */
#define NEURON_MAX_SYNCS	64

/**
 * struct neuron_syncs - the syncobjs of a submission
 * @in: drm_neuron_sync elements that it waits for
 * @out: drm_neuron_sync elements that it signals
 * @gate: opens when all of @in have signalled; NULL: nothing is waited for
 * @outs: an element for each of @out, or NULL
 */
struct neuron_syncs {
	struct neuron_array in;
	struct neuron_array out;
	struct neuron_gate *gate;
	struct neuron_out_sync *outs;
};

/**
 * neuron_syncs_check() - are these arrays of syncobjs?
 * @in: array of those that a submission waits for
 * @out: array of those that it signals
 *
 * Return: 0 or -EINVAL.
 */
int neuron_syncs_check(const struct drm_neuron_array *in,
		       const struct drm_neuron_array *out);

/**
 * neuron_syncs_get() - fetch and look up the syncobjs of a submission
 * @syncs: zeroed; neuron_syncs_put() is to follow in any case
 * @drm: device
 * @file: file that the handles are of
 * @in: array of those that it waits for, which neuron_syncs_check() has passed
 * @out: array of those that it signals, the same
 *
 * DRM walks each timeline down to the point that is waited for, and a user can make timelines as
 * long as he likes. So this is not called inside drm_dev_enter(), and a fatal signal ends it
 * between any two syncobjs. All memory is allocated here: neuron_syncs_signal() cannot fail.
 *
 * Return: 0, -EINVAL, -ENOENT, -EFAULT, -ENOMEM or -EINTR.
 */
int neuron_syncs_get(struct neuron_syncs *syncs, struct drm_device *drm,
		     struct drm_file *file, const struct drm_neuron_array *in,
		     const struct drm_neuron_array *out);

/**
 * neuron_syncs_charge() - charge a user for what a submission waits for
 * @syncs: syncobjs
 * @budget: of the claim (a job waits) or of the file's transfers (a transfer waits). The caller
 *	keeps it until neuron_syncs_put()
 *
 * Return: 0 or -ENOMEM.
 */
int neuron_syncs_charge(struct neuron_syncs *syncs, struct neuron_budget *budget);

/**
 * neuron_syncs_wait() - let a job wait for what its submission waits for
 * @syncs: syncobjs
 *
 * Return: a gate for the job, with a reference, or NULL.
 */
struct neuron_gate *neuron_syncs_wait(struct neuron_syncs *syncs);

/**
 * neuron_syncs_signal() - have syncobjs signal with a fence
 * @syncs: syncobjs
 * @fence: fence of the submission
 *
 * DRM walks each timeline to its end, so this is not called inside drm_dev_enter() either. It
 * goes through when the process is killed: others may wait for the syncobjs.
 */
void neuron_syncs_signal(struct neuron_syncs *syncs, struct dma_fence *fence);

/**
 * neuron_syncs_put() - give back what neuron_syncs_get() has made
 * @syncs: syncobjs
 */
void neuron_syncs_put(struct neuron_syncs *syncs);

#endif /* _NEURON_SYNCS_H_ */
