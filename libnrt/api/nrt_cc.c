// SPDX-License-Identifier: MIT
/*
 * Collectives that a program schedules itself, and the ranks that take part in them.
 */
#include <stdlib.h>

#include <nrt/nrt_async.h>

#include "api/state.h"
#include "comm/collective.h"

_Static_assert(sizeof(nrt_cc_comm_t) == 32, "public layout");
_Static_assert(sizeof(nrt_tensor_list_t) == 16, "public layout");

/* Of one collective. */
#define MAX_TENSORS	64

/* --- Ranks --- */

static NRT_STATUS join(const char *call, int64_t vnc, uint32_t rank, uint32_t count)
{
	struct nrt_state *state;
	struct nrt_vcore *vcore;
	struct nrt_error error;
	NRT_STATUS status;

	state = nrt_enter(call, &status);
	if (!state)
		return status;
	vcore = nrt_machine_vcore(&state->machine, vnc, &error);
	status = vcore ? nrt_world_join(&state->worlds, call, vcore, rank, count, &error) :
			 error.status;
	return nrt_end(state, call, status, &error);
}

NRT_STATUS nrt_build_global_comm(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count)
{
	return join(__func__, vnc, g_device_id, g_device_count);
}

NRT_STATUS nrt_cc_global_comm_init(uint32_t vnc, uint32_t g_device_id, uint32_t g_device_count)
{
	return join(__func__, vnc, g_device_id, g_device_count);
}

/* --- Preparation --- */

/* Spans of the tensors of @list; each has a reference. *@nr: how many have one. */
static NRT_STATUS get_spans(struct nrt_state *state, const nrt_tensor_list_t *list,
			    struct nrt_span *spans, size_t *nr, struct nrt_error *error)
{
	struct nrt_tensor *tensor;

	for (*nr = 0; *nr < list->num_tensors; (*nr)++) {
		tensor = nrt_get(state, NRT_KIND_TENSOR, list->tensors[*nr], error);
		if (!tensor)
			return error->status;
		spans[*nr] = nrt_tensor_span(tensor);
		nrt_handle_put(state->handles, list->tensors[*nr]);
	}
	return NRT_SUCCESS;
}

static void put_spans(struct nrt_span *spans, size_t nr)
{
	while (nr)
		nrt_span_put(&spans[--nr]);
}

static NRT_STATUS make_handle(struct nrt_state *state, struct nrt_collective *collective,
			      void **handle, struct nrt_error *error)
{
	*handle = nrt_handle_new(state->handles, NRT_KIND_COLLECTIVE, collective);
	if (*handle)
		return NRT_SUCCESS;
	nrt_collective_free(collective);
	return nrt_error_memory(error);
}

static NRT_STATUS prepare(struct nrt_state *state, struct nrt_collective_of *what,
			  const nrt_tensor_list_t *input, const nrt_tensor_list_t *output,
			  void **handle, struct nrt_error *error)
{
	struct nrt_span inputs[MAX_TENSORS], outputs[MAX_TENSORS];
	struct nrt_collective *collective;
	size_t ins = 0, outs = 0;

	what->inputs = inputs;
	what->outputs = outputs;
	what->nr = input->num_tensors;
	if (!get_spans(state, input, inputs, &ins, error) &&
	    !get_spans(state, output, outputs, &outs, error) &&
	    !nrt_collective_new(what, &collective, error))
		return make_handle(state, collective, handle, error);
	put_spans(inputs, ins);
	put_spans(outputs, outs);
	return error->status;
}

static bool lists_fit(const nrt_tensor_list_t *input, const nrt_tensor_list_t *output)
{
	return input && output && input->tensors && output->tensors && input->num_tensors &&
	       input->num_tensors <= MAX_TENSORS && input->num_tensors == output->num_tensors;
}

NRT_STATUS nrta_cc_prepare(nrt_cc_comm_t *comm, nrt_tensor_list_t *input,
			   nrt_tensor_list_t *output, nrt_dtype_t dtype, nrt_op_type_t op,
			   nrt_cc_op_type_t cc_op, nrt_cc_context_t **cc_ctx)
{
	struct nrt_collective_of what = {
		.comm = comm,
		.dtype = dtype,
		.op = op,
		.cc_op = cc_op,
	};
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;
	void *handle;

	if (!comm || !cc_ctx)
		return nrt_fail_with(__func__, NRT_INVALID, "comm or cc_ctx is NULL");
	if (!lists_fit(input, output))
		return nrt_fail_with(__func__, NRT_INVALID,
				     "there must be 1 to %u inputs, and as many outputs",
				     MAX_TENSORS);
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	what.worlds = &state->worlds;
	status = prepare(state, &what, input, output, &handle, &error);
	if (!status)
		*cc_ctx = handle;
	return nrt_end(state, __func__, status, &error);
}

/* --- Requests --- */

static void collective_failed(void *arg, nrta_seq_t seq, const struct nrt_error *error)
{
	(void)arg;
	nrt_log(NRT_LOG_ERROR, "nrta_cc_schedule", "request 0x%llx: %s",
		(unsigned long long)seq, error->text);
}

static void end_collective(void *arg, struct nrt_ended *ended)
{
	(void)arg;
	free(ended);
}

/* From now on the handle is the request's, whose last user drops it. */
static NRT_STATUS schedule(struct nrt_state *state, struct nrt_collective *collective, int queue,
			   nrta_error_tracker_t *tracker, nrta_seq_t *seq,
			   struct nrt_error *error)
{
	struct nrt_async async = {
		.queue = queue,
		.failed = collective_failed,
		.ended = end_collective,
	};
	struct nrt_unit *unit = nrt_units_find(state->units, nrt_collective_core(collective),
					       NRTA_XU_COLLECTIVES, queue, error);

	if (!unit)
		return error->status;
	if (tracker) {
		async.tracker = nrt_get(state, NRT_KIND_TRACKER, tracker, error);
		if (!async.tracker)
			return error->status;
		async.tracker_handle = tracker;
	}
	if (!nrt_collective_schedule(collective, unit, state->handles, &async, seq, error))
		return NRT_SUCCESS;
	if (tracker)
		nrt_handle_put(state->handles, tracker);
	return error->status;
}

/*
 * Who closes the handle schedules the collective, so it happens once. When it cannot be scheduled
 * it gets another handle.
 */
static NRT_STATUS take_and_schedule(struct nrt_state *state, nrt_cc_context_t **cc_ctx, int queue,
				    nrta_error_tracker_t *tracker, nrta_seq_t *seq,
				    struct nrt_error *error)
{
	struct nrt_collective *collective = nrt_get(state, NRT_KIND_COLLECTIVE, *cc_ctx, error);
	NRT_STATUS status;
	void *handle;

	if (!collective)
		return error->status;
	nrt_collective_hold(collective);
	nrt_handle_put(state->handles, *cc_ctx);
	if (!nrt_handle_close(state->handles, NRT_KIND_COLLECTIVE, *cc_ctx, true)) {
		nrt_collective_free(collective);
		return nrt_error_set(error, NRT_INVALID_HANDLE, "it is scheduled already");
	}
	status = schedule(state, collective, queue, tracker, seq, error);
	if (!status)
		return NRT_SUCCESS;
	handle = nrt_handle_new(state->handles, NRT_KIND_COLLECTIVE, collective);
	if (!handle)
		nrt_collective_free(collective);
	*cc_ctx = handle;
	return status;
}

NRT_STATUS nrta_cc_schedule(nrt_cc_context_t **cc_ctx, int queue, nrta_error_tracker_t *err,
			    nrta_seq_t *req_sequence)
{
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;

	if (!cc_ctx || !req_sequence)
		return nrt_fail_with(__func__, NRT_INVALID, "cc_ctx or req_sequence is NULL");
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	status = take_and_schedule(state, cc_ctx, queue, err, req_sequence, &error);
	return nrt_end(state, __func__, status, &error);
}
