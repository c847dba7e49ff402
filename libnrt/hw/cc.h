/* SPDX-License-Identifier: MIT */
/*
 * Jobs of CC-cores, which run collectives beside the jobs of their core.
 */
#ifndef LIBNRT_HW_CC_H
#define LIBNRT_HW_CC_H

#include "hw/vcore.h"

/*
 * Submit @args to @cc, whose window table then shows @view. With the lock of @cc, because a table
 * and the job that latches it belong together. @place: of a time group, or NULL.
 */
NRT_STATUS nrt_cc_submit(struct nrt_core *cc, struct nrt_view *view, struct drm_neuron_job *args,
			 const struct nrt_time_place *place, uint64_t *job,
			 struct nrt_error *error);

/* Wait for a job. The driver ends every job, so there is no limit here. */
NRT_STATUS nrt_cc_wait(struct nrt_core *cc, uint64_t job, struct drm_neuron_wait_job *result,
		       struct nrt_error *error);
/*
 * Wait for @ms at most: NRT_TIMEOUT, and @result stands for a job that has hung and not ended yet.
 */
NRT_STATUS nrt_cc_wait_for(struct nrt_core *cc, uint64_t job, uint32_t ms,
			   struct drm_neuron_wait_job *result, struct nrt_error *error);
/* Has it hung? It ends when its core has been reset, which may take 10 s. */
bool nrt_cc_hangs(struct nrt_core *cc, uint64_t job);

/* The job ends now, if it has not ended. It may be forgotten. */
void nrt_cc_cancel(struct nrt_core *cc, uint64_t job);

/* Set @count semaphores from @first on to 0, by a job of its own. */
NRT_STATUS nrt_cc_clear(struct nrt_core *cc, unsigned int first, unsigned int count,
			struct nrt_error *error);

/* A file descriptor by which others may post @count semaphores from @first on; for close(). */
NRT_STATUS nrt_cc_grant(struct nrt_core *cc, unsigned int first, unsigned int count, int *fd,
			struct nrt_error *error);

/*
 * A handle for what another rank grants by @fd, which may be closed afterwards, and its end.
 * Windows of it stay as they are.
 */
NRT_STATUS nrt_cc_import(struct nrt_core *cc, int fd, uint32_t *handle, struct nrt_error *error);
void nrt_cc_drop_import(struct nrt_core *cc, uint32_t handle);

#endif /* LIBNRT_HW_CC_H */
