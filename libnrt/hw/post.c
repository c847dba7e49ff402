// SPDX-License-Identifier: MIT
#include <string.h>
#include <time.h>

#include "hw/core.h"

/* What is told late is told after so many executions, or this time. */
#define MAX_EXECUTIONS	1024
#define MAX_NS		1000000000ull

static const struct {
	NRT_STATUS status;
	enum drm_neuron_status_counter counter;
} counters[] = {
	{ NRT_SUCCESS, DRM_NEURON_STATUS_SUCCESS },
	{ NRT_FAILURE, DRM_NEURON_STATUS_FAILURE },
	{ NRT_INVALID, DRM_NEURON_STATUS_INVALID_ERROR },
	{ NRT_INVALID_HANDLE, DRM_NEURON_STATUS_INVALID_ERROR },
	{ NRT_RESOURCE, DRM_NEURON_STATUS_RESOURCE_ERROR },
	{ NRT_FAIL_HOST_MEM_ALLOC, DRM_NEURON_STATUS_RESOURCE_ERROR },
	{ NRT_TIMEOUT, DRM_NEURON_STATUS_TIMEOUT },
	{ NRT_HW_ERROR, DRM_NEURON_STATUS_HW_ERROR },
	{ NRT_QUEUE_FULL, DRM_NEURON_STATUS_FAILED_TO_QUEUE },
	{ NRT_LOAD_NOT_ENOUGH_NC, DRM_NEURON_STATUS_RESOURCE_NC_ERROR },
	{ NRT_EXEC_NC_BUSY, DRM_NEURON_STATUS_RESOURCE_NC_ERROR },
	{ NRT_UNSUPPORTED_NEFF_VERSION, DRM_NEURON_STATUS_UNSUPPORTED_NEFF_VERSION },
	{ NRT_EXEC_BAD_INPUT, DRM_NEURON_STATUS_EXEC_BAD_INPUT },
	{ NRT_EXEC_COMPLETED_WITH_ERR, DRM_NEURON_STATUS_COMPLETED_WITH_ERROR },
	{ NRT_EXEC_COMPLETED_WITH_NUM_ERR, DRM_NEURON_STATUS_COMPLETED_WITH_NUM_ERROR },
	{ NRT_EXEC_OOB, DRM_NEURON_STATUS_OOB_ERROR },
	{ NRT_EXEC_HW_ERR_COLLECTIVES, DRM_NEURON_STATUS_HW_COLLECTIVES_ERROR },
	{ NRT_EXEC_HW_ERR_HBM_UE, DRM_NEURON_STATUS_HW_HBM_UE_ERROR },
	{ NRT_EXEC_HW_ERR_NC_UE, DRM_NEURON_STATUS_HW_NC_UE_ERROR },
	{ NRT_EXEC_HW_ERR_DMA_ABORT, DRM_NEURON_STATUS_HW_DMA_ABORT_ERROR },
	{ NRT_EXEC_SW_NQ_OVERFLOW, DRM_NEURON_STATUS_SW_NQ_OVERFLOW },
	{ NRT_EXEC_HW_ERR_REPAIRABLE_HBM_UE, DRM_NEURON_STATUS_HW_REPAIRABLE_HBM_UE_ERROR },
};

static enum drm_neuron_status_counter counter_of(NRT_STATUS status)
{
	size_t i;

	for (i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		if (counters[i].status == status)
			return counters[i].counter;
	return DRM_NEURON_STATUS_GENERIC_ERROR;
}

/* Good to a few milliseconds, and cheap. */
static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* With the core's lock: @posts becomes the caller's. */
static void take(struct nrt_core *core, struct nrt_posts *posts, uint64_t now)
{
	*posts = core->posts;
	memset(&core->posts, 0, sizeof(core->posts));
	core->posts.since_ns = now;
}

/* An old driver does not know the call, and then nobody monitors. */
static void tell(struct nrt_core *core, const struct nrt_posts *posts)
{
	struct drm_neuron_post_entry entries[DRM_NEURON_NR_STATUS_COUNTERS];
	struct drm_neuron_post post = {
		.claim = core->device->claim,
		.core = core->index,
		.entries = {
			.stride = sizeof(entries[0]),
			.pointer = (uintptr_t)entries,
		},
	};
	uint32_t i;

	for (i = 0; i < DRM_NEURON_NR_STATUS_COUNTERS; i++) {
		if (!posts->add[i])
			continue;
		entries[post.entries.count++] = (struct drm_neuron_post_entry){
			.counter = i,
			.add = posts->add[i],
		};
	}
	if (post.entries.count)
		core->device->backend->post(core->device->chip, &post);
}

void nrt_post_execution(struct nrt_core *core, NRT_STATUS status)
{
	uint64_t now = now_ns();
	struct nrt_posts posts;
	bool due;

	pthread_mutex_lock(&core->lock);
	core->posts.add[counter_of(status)]++;
	core->posts.add[DRM_NEURON_STATUS_INFERENCE_COUNT]++;
	due = status || ++core->posts.executions >= MAX_EXECUTIONS ||
	      now - core->posts.since_ns >= MAX_NS;
	if (due)
		take(core, &posts, now);
	pthread_mutex_unlock(&core->lock);
	if (due)
		tell(core, &posts);
}

void nrt_post_load(struct nrt_core *core)
{
	pthread_mutex_lock(&core->lock);
	core->posts.add[DRM_NEURON_STATUS_MODEL_LOAD_COUNT]++;
	pthread_mutex_unlock(&core->lock);
	nrt_post_flush(core);
}

void nrt_post_flush(struct nrt_core *core)
{
	struct nrt_posts posts;

	pthread_mutex_lock(&core->lock);
	take(core, &posts, now_ns());
	pthread_mutex_unlock(&core->lock);
	tell(core, &posts);
}
