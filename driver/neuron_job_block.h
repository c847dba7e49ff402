/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Job blocks: what a user says of a job, and what the device is told of it.
 */
#ifndef _NEURON_JOB_BLOCK_H_
#define _NEURON_JOB_BLOCK_H_

#include <drm/drm_print.h>

#include "neuron_ioctl.h"

struct drm_device;
struct drm_file;
struct drm_neuron_job;
struct neuron_job;

/**
 * struct neuron_job_args - what a user says of a job
 * @job: the struct itself
 * @starts: drm_neuron_start
 * @sem_clear: u64
 * @queues: drm_neuron_queue
 * @windows: drm_neuron_window
 */
struct neuron_job_args {
	const struct drm_neuron_job *job;
	struct neuron_array starts;
	struct neuron_array sem_clear;
	struct neuron_array queues;
	struct neuron_array windows;
};

/* A submission is refused: say why. */
static inline int neuron_submit_invalid(struct drm_device *drm, const char *why)
{
	drm_dbg(drm, "submit: %s\n", why);
	return -EINVAL;
}

/*
 * With @args->job set: check it, as far as that needs no core, and fetch its arrays. To be
 * put in any case.
 */
int neuron_job_args_get(struct neuron_job_args *args, struct drm_device *drm);
void neuron_job_args_put(struct neuron_job_args *args);

/*
 * Write the block of @job, which is zero, its queue table, and the window of its trace: all
 * but the id and the window table. -EINVAL; of the trace those of neuron_windows_trace().
 */
int neuron_job_block_write(struct neuron_job *job, struct drm_file *file,
			   const struct neuron_job_args *args);
/* Under neuron_claim_core.lock: give the job the window table that the core has now. */
void neuron_job_block_table(struct neuron_job *job, const struct neuron_job_args *args);

#endif /* _NEURON_JOB_BLOCK_H_ */
