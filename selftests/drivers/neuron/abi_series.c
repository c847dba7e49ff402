// SPDX-License-Identifier: MIT
/*
 * Good calls of the ioctls of series of time groups.
 */
#include "abi_calls.h"
#include "neuron_test.h"

int abi_good_series(struct abi *abi, void *arg)
{
	struct drm_neuron_series *series = arg;

	(void)abi;
	series->members = 2;
	return 0;
}

int abi_good_series_import(struct abi *abi, void *arg)
{
	struct drm_neuron_series series = { .members = 1 };
	struct drm_neuron_series_import *import = arg;
	int ret = neuron_ioctl(abi->rig.fd, DRM_IOCTL_NEURON_SERIES, &series);

	if (ret)
		return ret;
	if (abi->fd > 0)
		close(abi->fd);
	abi->fd = series.fd;
	import->fd = series.fd;
	return 0;
}

static int series_handle(struct abi *abi, uint32_t *handle)
{
	struct drm_neuron_series_import import = { 0 };
	int ret = abi_good_series_import(abi, &import);

	if (!ret)
		ret = neuron_ioctl(abi->rig.fd, DRM_IOCTL_NEURON_SERIES_IMPORT, &import);
	*handle = import.handle;
	return ret;
}

int abi_good_series_close(struct abi *abi, void *arg)
{
	struct drm_neuron_series_close *args = arg;

	return series_handle(abi, &args->handle);
}

/* A job that is the one member of its group. */
int abi_good_submit_series(struct abi *abi, void *arg)
{
	struct drm_neuron_job *job = (void *)abi->element;

	abi_put_submit(abi, arg, job);
	job->group = 1;
	return series_handle(abi, &job->series);
}

int abi_good_times(struct abi *abi, void *arg)
{
	struct drm_neuron_times *times = arg;
	struct drm_neuron_submit submit = { 0 };
	int ret = abi_good_submit_series(abi, &submit);

	if (!ret)
		ret = neuron_ioctl(abi->rig.fd, DRM_IOCTL_NEURON_SUBMIT, &submit);
	times->claim = abi->rig.claim;
	times->core = abi->rig.core;
	times->job = submit.job;
	times->deadline_ns = INT64_MAX;
	return ret;
}
