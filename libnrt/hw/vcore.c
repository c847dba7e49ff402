// SPDX-License-Identifier: MIT
#include <string.h>

#include "hw/vcore.h"

void nrt_vcore_lock(struct nrt_vcore *vcore)
{
	unsigned int i;

	for (i = 0; i < vcore->nr; i++)
		pthread_mutex_lock(&vcore->core[i]->lock);
}

void nrt_vcore_unlock(struct nrt_vcore *vcore)
{
	unsigned int i = vcore->nr;

	while (i--)
		pthread_mutex_unlock(&vcore->core[i]->lock);
}

static int show_and_submit(struct nrt_vcore *vcore, struct nrt_view *const *views,
			   struct drm_neuron_submit *submit, struct nrt_error *error)
{
	struct drm_neuron_job *args = (void *)(uintptr_t)submit->jobs.pointer;
	struct nrt_device *device = vcore->device;
	unsigned int i;
	int ret;

	for (i = 0; views && i < vcore->nr; i++)
		if (nrt_core_show(vcore->core[i], views[i], &args[i], error))
			return error->status;
	ret = device->backend->submit(device->chip, submit);
	if (ret)
		return nrt_error_set(error, nrt_status_of_errno(ret), "core %u: cannot submit: %s",
				     vcore->number, strerror(-ret));
	return NRT_SUCCESS;
}

NRT_STATUS nrt_vcore_submit(struct nrt_vcore *vcore, struct nrt_view *const *views,
			    struct drm_neuron_job *args, uint64_t *job, struct nrt_error *error)
{
	struct drm_neuron_submit submit = {
		.claim = vcore->device->claim,
		.jobs = { sizeof(*args), vcore->nr, (uintptr_t)args },
	};
	unsigned int i;

	for (i = 0; i < vcore->nr; i++)
		args[i].core = vcore->core[i]->index;
	if (!show_and_submit(vcore, views, &submit, error)) {
		*job = submit.job;
		return NRT_SUCCESS;
	}
	/* Next time all of the tables is written. */
	for (i = 0; i < vcore->nr; i++)
		vcore->core[i]->resident = NULL;
	return error->status;
}

NRT_STATUS nrt_vcore_wait(struct nrt_vcore *vcore, uint64_t job, struct drm_neuron_wait_job *wait,
			  struct nrt_error *error)
{
	struct drm_neuron_wait args = {
		.flags = DRM_NEURON_WAIT_ALL,
		.deadline_ns = INT64_MAX,
		.jobs = { sizeof(*wait), vcore->nr, (uintptr_t)wait },
	};
	struct nrt_device *device = vcore->device;
	unsigned int i;
	int ret;

	for (i = 0; i < vcore->nr; i++)
		wait[i] = (struct drm_neuron_wait_job){
			.claim = device->claim,
			.core = vcore->core[i]->index,
			.job = job + i,
		};
	ret = device->backend->wait(device->chip, &args);
	if (ret)
		return nrt_error_set(error, nrt_status_of_errno(ret),
				     "core %u: cannot wait for job %llu: %s", vcore->number,
				     (unsigned long long)job, strerror(-ret));
	return NRT_SUCCESS;
}

NRT_STATUS nrt_vcore_scratch(struct nrt_vcore *vcore, uint64_t bytes, struct nrt_error *error)
{
	NRT_STATUS status = NRT_SUCCESS;
	struct nrt_bo *bo;

	if (!bytes)
		return NRT_SUCCESS;
	nrt_vcore_lock(vcore);
	if (!vcore->scratch || vcore->scratch->size < bytes) {
		status = nrt_bo_create(vcore->device, bytes, DRM_NEURON_BO_HBM, vcore->stack,
				       DRM_NEURON_CATEGORY_SHARED_SCRATCHPAD, &bo, error);
		if (!status) {
			nrt_bo_put(vcore->scratch);
			vcore->scratch = bo;
		}
	}
	nrt_vcore_unlock(vcore);
	return status;
}
