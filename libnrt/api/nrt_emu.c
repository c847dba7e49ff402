// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>

#include <nrt/nrt_emu.h>

#include "api/state.h"
#include "base/clock.h"
#include "comm/cc_times.h"
#include "contract/job.h"
#include "observe/trace.h"

_Static_assert(sizeof(nrt_emu_execution_t) == 48, "public layout");
_Static_assert(sizeof(nrt_emu_place_t) == 28, "public layout");
_Static_assert(sizeof(nrt_emu_group_time_t) == 24, "public layout");
_Static_assert(NRT_EMU_TOPOLOGY_NONE == (int)NRT_PLAN_ANY, "topology");
_Static_assert(NRT_EMU_TOPOLOGY_LINE == (int)NRT_PLAN_LINE, "topology");
_Static_assert(NRT_EMU_TOPOLOGY_TORUS2D == (int)NRT_PLAN_TORUS2D, "topology");
_Static_assert(NRT_EMU_TOPOLOGY_TORUS3D == (int)NRT_PLAN_TORUS3D, "topology");
_Static_assert(NRT_EMU_TOPOLOGY_SWITCH == (int)NRT_PLAN_SWITCH, "topology");
_Static_assert(NRT_EMU_TOPOLOGY_SWITCH + 1 == (int)NRT_PLAN_NR_TOPOLOGIES, "topology");
_Static_assert(NRT_EMU_TIME_EXACT == (int)NEURON_SETTLE_FINE, "cause");
_Static_assert(NRT_EMU_TIME_RANK == (int)NEURON_SETTLE_MEMBER, "cause");
_Static_assert(NRT_EMU_TIME_ENDED == (int)NEURON_SETTLE_ENDED, "cause");
_Static_assert(NRT_EMU_TIME_OVERFLOW == (int)NEURON_SETTLE_OVERFLOW, "cause");
_Static_assert(NRT_EMU_TIME_ORDER == (int)NEURON_SETTLE_ORDER, "cause");
_Static_assert(NRT_EMU_TIME_ORDER + 1 == (int)NEURON_NR_SETTLE_CAUSES, "a cause is missing");

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

/* Where the text goes. */
struct text_out {
	char *text;
	size_t size;
};

static NRT_STATUS last_error(struct nrt_state *state, struct nrt_model *model, void *arg,
			     struct nrt_error *error)
{
	const struct text_out *out = arg;
	NRT_STATUS status = NRT_SUCCESS;

	(void)state;
	pthread_mutex_lock(&model->lock);
	snprintf(out->text, out->size, "%s", model->last_error);
	if (!*model->last_error)
		status = nrt_error_set(error, NRT_QUEUE_EMPTY,
				       "nothing was wrong with model \"%.64s\"",
				       model->neff->name);
	pthread_mutex_unlock(&model->lock);
	return status;
}

NRT_STATUS nrt_emu_get_last_error(const nrt_model_t *model, char *text, size_t size)
{
	struct text_out out = { text, size };

	if (!text || !size)
		return nrt_fail_with(__func__, NRT_INVALID, "text is NULL or has no bytes");
	return nrt_model_call(__func__, model, last_error, &out);
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
		.here = nrt_machine_embedded(&state->machine),
		.topology = nrt_vcore_topology(vcore),
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

/* The world of a core with a reference. NULL and @error. */
static struct nrt_world *world_of(struct nrt_state *state, uint32_t vnc, struct nrt_error *error)
{
	struct nrt_world *world = nrt_world_get(&state->worlds, vnc);

	if (!world)
		nrt_error_set(error, NRT_INVALID,
			      "core %u is no rank yet; call nrt_cc_global_comm_init() first", vnc);
	return world;
}

NRT_STATUS nrt_emu_join_group_times(uint32_t vnc, const uint32_t *ranks, uint32_t count)
{
	struct nrt_state *state;
	struct nrt_world *world;
	struct nrt_error error;
	NRT_STATUS status;

	if (!ranks || !count)
		return nrt_fail_with(__func__, NRT_INVALID, "there are no ranks");
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	world = world_of(state, vnc, &error);
	status = world ? nrt_cc_times_join(world, ranks, count, &error) : error.status;
	nrt_world_put(world);
	return nrt_end(state, __func__, status, &error);
}

NRT_STATUS nrt_emu_leave_group_times(uint32_t vnc)
{
	struct nrt_state *state;
	struct nrt_world *world;
	struct nrt_error error;
	NRT_STATUS status;

	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	world = world_of(state, vnc, &error);
	status = world ? NRT_SUCCESS : error.status;
	if (world)
		nrt_cc_times_leave(world);
	nrt_world_put(world);
	return nrt_end(state, __func__, status, &error);
}

static int64_t deadline_of(uint32_t timeout_ms)
{
	return timeout_ms ? (int64_t)nrt_clock_now() + timeout_ms * 1000000ll : 0;
}

static NRT_STATUS group_time(struct nrt_state *state, uint32_t vnc, nrta_seq_t seq,
			     uint32_t timeout_ms, nrt_emu_group_time_t *full,
			     struct nrt_error *error)
{
	struct nrt_cc_time time;

	if (!nrt_machine_vcore(&state->machine, vnc, error) ||
	    nrt_cc_times_get(state->worlds.times, vnc, seq, deadline_of(timeout_ms), &time, error))
		return error->status;
	*full = (nrt_emu_group_time_t){
		.start_ns = time.start_ns,
		.end_ns = time.end_ns,
		.flags = time.cause ? NRT_EMU_INEXACT : 0,
		.cause = time.cause,
	};
	return NRT_SUCCESS;
}

NRT_STATUS nrt_emu_get_group_time(uint32_t vnc, nrta_seq_t seq, uint32_t timeout_ms,
				  nrt_emu_group_time_t *time, size_t size)
{
	nrt_emu_group_time_t full;
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;

	if (!time || !size)
		return nrt_fail_with(__func__, NRT_INVALID, "time is NULL or has no bytes");
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	status = group_time(state, vnc, seq, timeout_ms, &full, &error);
	/* Whoever asks too early is not wrong. */
	if (status == NRT_TIMEOUT && !timeout_ms) {
		nrt_leave(state);
		return status;
	}
	if (!status)
		memcpy(time, &full, size < sizeof(full) ? size : sizeof(full));
	return nrt_end(state, __func__, status, &error);
}
