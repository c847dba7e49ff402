// SPDX-License-Identifier: MIT
#include <string.h>

#include <nrt/nrt_emu.h>

#include "api/state.h"
#include "observe/trace.h"

_Static_assert(sizeof(nrt_emu_execution_t) == 48, "public layout");
_Static_assert(sizeof(nrt_emu_place_t) == 24, "public layout");

static NRT_STATUS last_execution(struct nrt_state *state, struct nrt_model *model, void *out,
				 struct nrt_error *error)
{
	NRT_STATUS status = NRT_SUCCESS;

	(void)state;
	pthread_mutex_lock(&model->lock);
	if (model->has_last)
		*(nrt_emu_execution_t *)out = model->last;
	else
		status = nrt_error_set(error, NRT_QUEUE_EMPTY,
				       "model \"%.64s\" has not been executed", model->neff->name);
	pthread_mutex_unlock(&model->lock);
	return status;
}

NRT_STATUS nrt_emu_get_last_execution(const nrt_model_t *model, nrt_emu_execution_t *execution,
				      size_t size)
{
	nrt_emu_execution_t full;
	NRT_STATUS status;

	if (!execution || !size)
		return nrt_fail_with(__func__, NRT_INVALID, "execution is NULL or has no bytes");
	status = nrt_model_call(__func__, model, last_execution, &full);
	if (!status)
		memcpy(execution, &full, size < sizeof(full) ? size : sizeof(full));
	return status;
}

static NRT_STATUS set_trace(struct nrt_state *state, struct nrt_model *model, void *arg,
			    struct nrt_error *error)
{
	(void)state;
	return nrt_trace_set(model, *(const size_t *)arg, error);
}

NRT_STATUS nrt_emu_set_trace(nrt_model_t *model, size_t events)
{
	if (events > NRT_TRACE_MAX_EVENTS)
		return nrt_fail_with(__func__, NRT_INVALID, "more than 16,777,216 events");
	return nrt_model_call(__func__, model, set_trace, &events);
}

/* Where the trace goes. */
struct trace_out {
	nrt_emu_event_t *events;
	size_t *count;
	uint64_t *lost;
};

static NRT_STATUS get_trace(struct nrt_state *state, struct nrt_model *model, void *arg,
			    struct nrt_error *error)
{
	const struct trace_out *out = arg;

	(void)state;
	return nrt_trace_get(model, out->events, out->count, out->lost, error);
}

NRT_STATUS nrt_emu_get_trace(const nrt_model_t *model, nrt_emu_event_t *events, size_t *count,
			     uint64_t *lost)
{
	struct trace_out out = { events, count, lost };

	if (!count || !lost || (*count && !events))
		return nrt_fail_with(__func__, NRT_INVALID, "events, count or lost is NULL");
	return nrt_model_call(__func__, model, get_trace, &out);
}

static NRT_STATUS core_place(struct nrt_state *state, uint32_t vnc, nrt_emu_place_t *full,
			     struct nrt_error *error)
{
	struct nrt_vcore *vcore = nrt_machine_vcore(&state->machine, vnc, error);
	struct nrt_plan_place place;

	if (!vcore)
		return error->status;
	place = nrt_vcore_place(vcore);
	*full = (nrt_emu_place_t){
		.server = place.server,
		.chip = place.chip,
		.core = place.core,
		.stack = vcore->stack,
		.lnc = vcore->nr,
	};
	return NRT_SUCCESS;
}

NRT_STATUS nrt_emu_get_core_place(uint32_t vnc, nrt_emu_place_t *place, size_t size)
{
	struct nrt_state *state;
	struct nrt_error error;
	nrt_emu_place_t full;
	NRT_STATUS status;

	if (!place || !size)
		return nrt_fail_with(__func__, NRT_INVALID, "place is NULL or has no bytes");
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	status = core_place(state, vnc, &full, &error);
	if (!status)
		memcpy(place, &full, size < sizeof(full) ? size : sizeof(full));
	return nrt_end(state, __func__, status, &error);
}
