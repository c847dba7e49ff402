// SPDX-License-Identifier: MIT
/*
 * Traces of executions: what the device did, and when.
 */
#include <string.h>

#include "contract/trace.h"
#include "object/model.h"

#define MAX_EVENTS	(1u << 24)

static uint64_t trace_bytes(size_t events)
{
	return sizeof(struct neuron_hw_trace) + events * sizeof(struct neuron_hw_trace_record);
}

void nrt_trace_ask(const struct nrt_model *model, struct drm_neuron_job *args)
{
	if (!model->trace)
		return;
	args->trace = model->trace->handle;
	args->trace_size = model->trace_bytes;
}

/* With the model's lock, so no execution writes to the old one. */
static NRT_STATUS set_trace(struct nrt_state *state, struct nrt_model *model, void *arg,
			    struct nrt_error *error)
{
	const size_t events = *(const size_t *)arg;
	struct nrt_bo *trace = NULL;

	(void)state;
	if (events && nrt_bo_create(model->core->device, trace_bytes(events),
				    DRM_NEURON_BO_HOST, 0, DRM_NEURON_CATEGORY_NOTIFICATIONS,
				    &trace, error))
		return error->status;
	nrt_bo_put(model->trace);
	model->trace = trace;
	model->trace_bytes = trace_bytes(events);
	return NRT_SUCCESS;
}

NRT_STATUS nrt_emu_set_trace(nrt_model_t *model, size_t events)
{
	if (events > MAX_EVENTS)
		return nrt_fail_with(__func__, NRT_INVALID, "more than 16,777,216 events");
	return nrt_model_call_locked(__func__, model, set_trace, &events);
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

/* What nrt_emu_get_trace() fills; @count says for how many events there is room. */
struct trace_out {
	nrt_emu_event_t *events;
	size_t *count;
	uint64_t *lost;
};

/*
 * With the model's lock. The device writes this memory: what is checked is a copy. It is
 * zero until an execution begins.
 */
static NRT_STATUS get_trace(struct nrt_state *state, struct nrt_model *model, void *arg,
			    struct nrt_error *error)
{
	const struct trace_out *out = arg;
	const size_t room = *out->count;
	struct neuron_hw_trace trace = { 0 };
	const uint8_t *map = NULL;
	const char *why;
	uint64_t records;
	size_t i;

	(void)state;
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
	*out->count = records;
	*out->lost = neuron_from_le64(trace.lost);
	for (i = 0; i < records && i < room; i++)
		if (read_event(model, map + sizeof(trace) +
			       i * neuron_from_le16(trace.record_size), &out->events[i], error))
			return error->status;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_emu_get_trace(const nrt_model_t *model, nrt_emu_event_t *events, size_t *count,
			     uint64_t *lost)
{
	struct trace_out out = { events, count, lost };

	if (!count || !lost || (*count && !events))
		return nrt_fail_with(__func__, NRT_INVALID, "events, count or lost is NULL");
	return nrt_model_call_locked(__func__, model, get_trace, &out);
}
