// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "hw/cc.h"
#include "hw/series.h"
#include "neuron/regs.h"

#define MS		1000000ull

static NRT_STATUS explain(const struct nrt_core *cc, const char *what, int ret,
			  struct nrt_error *error)
{
	return nrt_error_set(error, nrt_status_of_errno(ret), "CC-core %u of %s: cannot %s: %s",
			     cc->index - cc->device->info.first_cc_core,
			     nrt_device_path(cc->device), what, strerror(-ret));
}

static int submit(struct nrt_core *cc, struct drm_neuron_job *args,
		  const struct nrt_time_place *place, uint64_t *job)
{
	struct drm_neuron_submit call = {
		.claim = cc->device->claim,
		.jobs = { sizeof(*args), 1, (uintptr_t)args },
	};
	int ret;

	args->core = cc->index;
	ret = nrt_series_submit(cc->device, &call, place);
	*job = call.job;
	return ret;
}

NRT_STATUS nrt_cc_submit(struct nrt_core *cc, struct nrt_view *view, struct drm_neuron_job *args,
			 const struct nrt_time_place *place, uint64_t *job,
			 struct nrt_error *error)
{
	uint32_t room = NRT_MAX_CHANGES;
	int ret;

	if (nrt_core_show(cc, view, args, &room, error))
		return error->status;
	ret = submit(cc, args, place, job);
	if (!ret)
		return NRT_SUCCESS;
	/* Next time all of the table is written. */
	cc->resident = NULL;
	return explain(cc, "submit", ret, error);
}

static int wait_until(struct nrt_core *cc, uint64_t job, int64_t deadline_ns,
		      struct drm_neuron_wait_job *result)
{
	struct drm_neuron_wait args = {
		.deadline_ns = deadline_ns,
		.jobs = { sizeof(*result), 1, (uintptr_t)result },
	};

	*result = (struct drm_neuron_wait_job){
		.claim = cc->device->claim,
		.core = cc->index,
		.job = job,
	};
	return cc->device->backend->wait(cc->device->chip, &args);
}

NRT_STATUS nrt_cc_wait(struct nrt_core *cc, uint64_t job, struct drm_neuron_wait_job *result,
		       struct nrt_error *error)
{
	int ret = wait_until(cc, job, INT64_MAX, result);

	return ret ? explain(cc, "wait", ret, error) : NRT_SUCCESS;
}

NRT_STATUS nrt_cc_wait_for(struct nrt_core *cc, uint64_t job, uint32_t ms,
			   struct drm_neuron_wait_job *result, struct nrt_error *error)
{
	int ret = wait_until(cc, job, (int64_t)(nrt_clock_now() + ms * MS), result);

	if (!ret)
		return NRT_SUCCESS;
	result->job = job;
	result->status = DRM_NEURON_JOB_NONE;
	result->flags = DRM_NEURON_JOB_HANG;
	return explain(cc, "wait", ret, error);
}

/* It is dumped before its core is reset. */
bool nrt_cc_hangs(struct nrt_core *cc, uint64_t job)
{
	char *dump = nrt_core_dump(cc, job);
	bool there = dump;

	free(dump);
	return there;
}

void nrt_cc_cancel(struct nrt_core *cc, uint64_t job)
{
	struct drm_neuron_cancel cancel = {
		.claim = cc->device->claim,
		.core = cc->index,
		.job = job,
	};

	/* The reset that ends it is under way then. */
	if (!nrt_cc_hangs(cc, job))
		cc->device->backend->cancel(cc->device->chip, &cancel);
}

NRT_STATUS nrt_cc_clear(struct nrt_core *cc, unsigned int first, unsigned int count,
			struct nrt_error *error)
{
	uint64_t sems[NEURON_NR_SEMAPHORES / 64] = { 0 };
	struct drm_neuron_job args = {
		.sem_clear = { sizeof(sems[0]), NEURON_NR_SEMAPHORES / 64, (uintptr_t)sems },
	};
	struct drm_neuron_wait_job result;
	unsigned int i;
	uint64_t job;
	int ret;

	for (i = first; i < first + count; i++)
		sems[i / 64] |= 1ull << (i % 64);
	pthread_mutex_lock(&cc->lock);
	ret = submit(cc, &args, NULL, &job);
	pthread_mutex_unlock(&cc->lock);
	if (ret)
		return explain(cc, "clear semaphores", ret, error);
	if (nrt_cc_wait(cc, job, &result, error))
		return error->status;
	if (result.status != DRM_NEURON_JOB_OK)
		return nrt_error_set(error, NRT_HW_ERROR,
				     "core %u: the semaphores of a CC-core cannot be cleared",
				     cc->number);
	return NRT_SUCCESS;
}

NRT_STATUS nrt_cc_grant(struct nrt_core *cc, unsigned int first, unsigned int count, int *fd,
			struct nrt_error *error)
{
	struct drm_neuron_grant grant = {
		.claim = cc->device->claim,
		.core = cc->index,
		.first = first,
		.count = count,
	};
	int ret = cc->device->backend->grant(cc->device->chip, &grant);

	if (ret)
		return explain(cc, "grant semaphores", ret, error);
	*fd = grant.fd;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_cc_import(struct nrt_core *cc, int fd, uint32_t *handle, struct nrt_error *error)
{
	struct drm_neuron_grant_import args = { .fd = fd };
	int ret = cc->device->backend->grant_import(cc->device->chip, &args);

	if (ret)
		return explain(cc, "import what another rank grants", ret, error);
	*handle = args.handle;
	return NRT_SUCCESS;
}

void nrt_cc_drop_import(struct nrt_core *cc, uint32_t handle)
{
	struct drm_neuron_grant_close args = { .handle = handle };

	cc->device->backend->grant_close(cc->device->chip, &args);
}
