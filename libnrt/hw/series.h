/* SPDX-License-Identifier: MIT */
/*
 * Device times of jobs of several ranks, for a core (backend/backend.h).
 */
#ifndef LIBNRT_HW_SERIES_H
#define LIBNRT_HW_SERIES_H

#include "hw/core.h"

/* Does the back end tell such times? NRT_FAILURE: it does not. */
NRT_STATUS nrt_series_possible(const struct nrt_device *device, struct nrt_error *error);

/* A series of groups of @members. *@fd, for close(): by which other cores import it. */
NRT_STATUS nrt_series_new(struct nrt_core *core, uint32_t members, uint32_t *handle, int *fd,
			  struct nrt_error *error);
NRT_STATUS nrt_series_import(struct nrt_core *core, int fd, uint32_t *handle,
			     struct nrt_error *error);
/* @handle 0: there is nothing to do. */
void nrt_series_close(struct nrt_core *core, uint32_t handle);

/* Submit; with the locks of the cores. @places: of each job, or NULL. As the back end says. */
int nrt_series_submit(struct nrt_device *device, struct drm_neuron_submit *submit,
		      const struct nrt_time_place *places);

/*
 * The times of a job. NRT_TIMEOUT: they are not known at @deadline_ns; NRT_QUEUE_EMPTY: they are
 * known no longer.
 */
NRT_STATUS nrt_series_settled(struct nrt_core *core, uint64_t job, int64_t deadline_ns,
			      struct nrt_settled *settled, struct nrt_error *error);

#endif /* LIBNRT_HW_SERIES_H */
