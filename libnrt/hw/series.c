// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>

#include "hw/series.h"

NRT_STATUS nrt_series_possible(const struct nrt_device *device, struct nrt_error *error)
{
	if (device->backend->series)
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_FAILURE,
			     "%s: its driver does not tell device times of several ranks; use chips in the process (NEURON_RT_BACKEND=embedded)",
			     nrt_device_path(device));
}

static NRT_STATUS explain(const struct nrt_core *core, const char *what, int ret,
			  struct nrt_error *error)
{
	return nrt_error_set(error, nrt_status_of_errno(ret), "device times on %s: cannot %s: %s",
			     nrt_device_path(core->device), what, strerror(-ret));
}

NRT_STATUS nrt_series_new(struct nrt_core *core, uint32_t members, uint32_t *handle, int *fd,
			  struct nrt_error *error)
{
	struct nrt_series series = { .members = members };
	int ret;

	if (nrt_series_possible(core->device, error))
		return error->status;
	ret = core->device->backend->series(core->device->chip, &series);
	if (ret)
		return explain(core, "make a series of groups", ret, error);
	*handle = series.handle;
	*fd = series.fd;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_series_import(struct nrt_core *core, int fd, uint32_t *handle,
			     struct nrt_error *error)
{
	int ret;

	if (nrt_series_possible(core->device, error))
		return error->status;
	ret = core->device->backend->series_import(core->device->chip, fd, handle);
	return ret ? explain(core, "join another rank's series of groups", ret, error) :
		     NRT_SUCCESS;
}

void nrt_series_close(struct nrt_core *core, uint32_t handle)
{
	if (handle)
		core->device->backend->series_close(core->device->chip, handle);
}

int nrt_series_submit(struct nrt_device *device, struct drm_neuron_submit *submit,
		      const struct nrt_time_place *places)
{
	if (places)
		return device->backend->submit_timed(device->chip, submit, places);
	return device->backend->submit(device->chip, submit);
}

NRT_STATUS nrt_series_settled(struct nrt_core *core, uint64_t job, int64_t deadline_ns,
			      struct nrt_settled *settled, struct nrt_error *error)
{
	int ret;

	*settled = (struct nrt_settled){
		.claim = core->device->claim,
		.core = core->index,
		.job = job,
		.deadline_ns = deadline_ns,
	};
	ret = core->device->backend->settled(core->device->chip, settled);
	if (ret == -ETIMEDOUT)
		return nrt_error_set(error, NRT_TIMEOUT,
				     "the times are not known yet: not all ranks have ended");
	if (ret == -ENOENT)
		return nrt_error_set(error, NRT_QUEUE_EMPTY, "the times are known no longer");
	return ret ? explain(core, "tell times", ret, error) : NRT_SUCCESS;
}
