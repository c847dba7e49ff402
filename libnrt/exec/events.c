// SPDX-License-Identifier: MIT
#include <stdio.h>

#include "exec/events.h"

void nrt_exec_event_begin(struct nrt_event *event, enum nrt_event_type type,
			  const struct nrt_model *model, uint64_t exec)
{
	nrt_event_begin(event, type);
	if (!event->begin_ns)
		return;
	event->core = (int32_t)model->vcore->vnc;
	event->model = model->id;
	event->exec = exec;
	snprintf(event->name, sizeof(event->name), "%.63s", model->neff->name);
}

/* A job has run from one time of the device to another; @event of it has begun. */
static void tell_running(struct nrt_event *event, const struct drm_neuron_clock_info *clock,
			 const struct drm_neuron_wait_job *job)
{
	if (!event->begin_ns || !job->end_ns)
		return;
	event->begin_ns = clock->host_ns - (clock->device_ns - job->start_ns);
	event->end_ns = clock->host_ns - (clock->device_ns - job->end_ns);
	event->device_begin_ns = job->start_ns;
	event->device_end_ns = job->end_ns;
	nrt_event_tell(event);
}

void nrt_exec_tell_device(const struct nrt_model *model, uint64_t exec,
			  const struct drm_neuron_wait_job *wait,
			  const struct drm_neuron_wait_job *cc)
{
	struct nrt_event sync, running, collectives;
	struct drm_neuron_clock_info clock = { 0 };
	struct nrt_error ignored;
	unsigned int i;

	nrt_exec_event_begin(&sync, NRT_EVENT_TIMESTAMP_SYNC_POINT, model, exec);
	nrt_exec_event_begin(&running, NRT_EVENT_NC_EXEC_RUNNING, model, exec);
	nrt_exec_event_begin(&collectives, NRT_EVENT_CC_RUNNING, model, exec);
	if ((!sync.begin_ns && !running.begin_ns && !collectives.begin_ns) || !wait->end_ns ||
	    nrt_device_query(model->vcore->device, DRM_NEURON_QUERY_CLOCKS, &clock,
			     sizeof(clock), 1, &ignored))
		return;
	if (sync.begin_ns) {
		sync.begin_ns = clock.host_ns;
		sync.end_ns = clock.host_ns;
		sync.device_begin_ns = clock.device_ns;
		sync.device_end_ns = clock.device_ns;
		nrt_event_tell(&sync);
	}
	tell_running(&running, &clock, wait);
	for (i = 0; i < model->cc_cores.nr; i++) {
		struct nrt_event one = collectives;

		one.stream = model->cc_cores.stream[i];
		tell_running(&one, &clock, &cc[i]);
	}
}
