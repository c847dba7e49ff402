// SPDX-License-Identifier: MIT
/*
 * nrt_experimental.h: work of the host for ranks.
 */
#include <nrt/nrt_experimental.h>

#include "api/state.h"

/* Ranks that are processes meet as they did before. */
static NRT_STATUS gather_world(struct nrt_state *state, unsigned int vnc,
			       struct nrt_gather *gather, struct nrt_error *error)
{
	struct nrt_world *world = nrt_world_get(&state->worlds, vnc);

	if (!world || world->rank != gather->rank || world->count != gather->count)
		nrt_error_set(error, NRT_INVALID,
			      "core %u is not rank %u of %u; with NEURON_RT_ROOT_COMM_ID call nrt_build_global_comm() first",
			      vnc, gather->rank, gather->count);
	else if (!nrt_world_gather(world, gather, error))
		error->status = NRT_SUCCESS;
	nrt_world_put(world);
	return error->status;
}

/* @call names the gathering, too. */
static NRT_STATUS gather(const char *call, int64_t vnc, struct nrt_gather *gather)
{
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;

	state = nrt_enter(call, &status);
	if (!state)
		return status;
	gather->what = call;
	gather->timeout_ms = state->env.timeout_ms;
	if (!nrt_machine_vcore(&state->machine, vnc, &error))
		status = error.status;
	else if (state->worlds.root)
		status = gather_world(state, (unsigned int)vnc, gather, &error);
	else
		status = nrt_gather(&state->meetings, gather, &error);
	return nrt_end(state, call, status, &error);
}

NRT_STATUS nrt_barrier(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count)
{
	struct nrt_gather nothing = { .rank = g_device_id, .count = g_device_count };

	return gather(__func__, vnc, &nothing);
}

NRT_STATUS nrt_all_gather(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count,
			  uint32_t rank_input_size, void *input, void *output)
{
	struct nrt_gather what = {
		.rank = g_device_id,
		.count = g_device_count,
		.size = rank_input_size,
		.input = input,
		.output = output,
	};

	if (rank_input_size && (!input || !output))
		return nrt_fail_with(__func__, NRT_INVALID, "input or output is NULL");
	return gather(__func__, vnc, &what);
}
