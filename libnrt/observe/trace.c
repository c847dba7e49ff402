// SPDX-License-Identifier: MIT
#include <string.h>

#include "contract/trace.h"
#include "observe/trace.h"

static uint64_t trace_bytes(size_t events)
{
	return sizeof(struct neuron_hw_trace) + events * sizeof(struct neuron_hw_trace_record);
}

/* With the model's lock: no execution writes to the buffer, and none begins to. */
static void wait_untraced(struct nrt_model *model)
{
	while (model->traced)
		pthread_cond_wait(&model->untraced, &model->lock);
}

NRT_STATUS nrt_trace_set(struct nrt_model *model, size_t events, struct nrt_error *error)
{
	struct nrt_bo *trace = NULL, *old;

	if (events && nrt_bo_create(model->part.core->device, trace_bytes(events),
				    DRM_NEURON_BO_HOST, 0, DRM_NEURON_CATEGORY_NOTIFICATIONS,
				    &trace, error))
		return error->status;
	pthread_mutex_lock(&model->lock);
	wait_untraced(model);
	old = model->trace;
	model->trace = trace;
	model->trace_bytes = trace_bytes(events);
	pthread_mutex_unlock(&model->lock);
	nrt_bo_put(old);
	return NRT_SUCCESS;
}

static NRT_STATUS bad_trace(const struct nrt_model *model, const char *why,
			    struct nrt_error *error)
{
	return nrt_error_set(error, NRT_FAILURE, "the trace of model \"%.64s\" is damaged: %s",
			     model->neff->name, why);
}

static NRT_STATUS read_event(const struct nrt_model *model, const uint8_t *at,
			     nrt_emu_event_t *out, struct nrt_error *error)
{
	struct neuron_hw_trace_record record;
	struct neuron_trace_event event;
	const char *why;

	memcpy(&record, at, sizeof(record));
	why = neuron_trace_decode(&record, &event);
	if (why)
		return bad_trace(model, why, error);
	*out = (nrt_emu_event_t){
		.begin_ns = event.begin_ns,
		.end_ns = event.end_ns,
		.bytes = event.bytes,
		.code = event.code,
		.pc = event.pc,
		.kind = event.kind,
		.source = event.source,
		.flags = event.flags & NEURON_TRACE_INEXACT ? NRT_EMU_INEXACT : 0,
	};
	return NRT_SUCCESS;
}

/*
 * With the model's lock. The device writes this memory: what is checked is a copy. It is
 * zero until an execution begins.
 */
static NRT_STATUS get_locked(struct nrt_model *model, nrt_emu_event_t *events, size_t *count,
			     uint64_t *lost, struct nrt_error *error)
{
	struct neuron_hw_trace trace = { 0 };
	const size_t room = *count;
	const uint8_t *map = NULL;
	const char *why;
	uint64_t records;
	size_t i;

	if (model->trace) {
		map = model->trace->map;
		memcpy(&trace, map, sizeof(trace));
	}
	if (!trace.magic)
		return nrt_error_set(error, NRT_QUEUE_EMPTY,
				     "model \"%.64s\" has no trace of an execution",
				     model->neff->name);
	why = neuron_trace_check(&trace, model->trace_bytes);
	if (why)
		return bad_trace(model, why, error);
	records = neuron_from_le64(trace.records);
	*count = records;
	*lost = neuron_from_le64(trace.lost);
	for (i = 0; i < records && i < room; i++)
		if (read_event(model, map + sizeof(trace) +
			       i * neuron_from_le16(trace.record_size), &events[i], error))
			return error->status;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_trace_get(struct nrt_model *model, nrt_emu_event_t *events, size_t *count,
			 uint64_t *lost, struct nrt_error *error)
{
	NRT_STATUS status;

	pthread_mutex_lock(&model->lock);
	wait_untraced(model);
	status = get_locked(model, events, count, lost, error);
	pthread_mutex_unlock(&model->lock);
	return status;
}
