// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include <nrt/nrt_async.h>

#include "api/state.h"
#include "exec/transfer.h"

_Static_assert(sizeof(nrta_error_t) == 16, "public layout");

static void log_failure(const char *call, nrta_seq_t seq, const struct nrt_error *error)
{
	nrt_log(NRT_LOG_ERROR, call, "request 0x%llx: %s", (unsigned long long)seq, error->text);
}

/* @arg is the call that scheduled the transfer. */
static void transfer_failed(void *arg, nrta_seq_t seq, const struct nrt_error *error)
{
	log_failure(arg, seq, error);
}

static void end_transfer(void *arg, struct nrt_ended *ended)
{
	(void)arg;
	free(ended);
}

static void execution_failed(void *arg, nrta_seq_t seq, const struct nrt_error *error)
{
	(void)arg;
	log_failure("nrta_execute_schedule", seq, error);
}

/* The program may want to know. */
static void end_execution(void *arg, struct nrt_ended *ended)
{
	struct nrt_state *state = arg;

	nrt_callbacks_add(&state->callbacks, ended);
}

/* The tracker, if there is one, with a reference for the request. */
static NRT_STATUS get_tracker(struct nrt_state *state, nrta_error_tracker_t *handle,
			      struct nrt_async *async, struct nrt_error *error)
{
	if (!handle)
		return NRT_SUCCESS;
	async->tracker = nrt_get(state, NRT_KIND_TRACKER, handle, error);
	if (!async->tracker)
		return error->status;
	async->tracker_handle = handle;
	return NRT_SUCCESS;
}

static void put_tracker(struct nrt_state *state, const struct nrt_async *async)
{
	if (async->tracker_handle)
		nrt_handle_put(state->handles, async->tracker_handle);
}

/* --- Executions --- */

struct schedule {
	nrt_model_t *model;
	const nrt_tensor_set_t *inputs;
	const nrt_tensor_set_t *outputs;
	nrta_error_tracker_t *tracker;
	int queue;
	nrta_seq_t *seq;
};

static NRT_STATUS schedule_sets(struct nrt_state *state, struct nrt_execute *what,
				const struct schedule *schedule, struct nrt_async *async,
				struct nrt_error *error)
{
	/* The request has a reference of its own. */
	if (!nrt_get(state, NRT_KIND_MODEL, schedule->model, error))
		return error->status;
	async->model_handle = schedule->model;
	if (!nrt_execute_schedule(what, async, schedule->seq, error))
		return NRT_SUCCESS;
	nrt_handle_put(state->handles, schedule->model);
	return error->status;
}

static NRT_STATUS schedule_model(struct nrt_state *state, struct nrt_model *model, void *arg,
				 struct nrt_error *error)
{
	const struct schedule *schedule = arg;
	struct nrt_async async = {
		.queue = schedule->queue,
		.failed = execution_failed,
		.ended = end_execution,
		.arg = state,
	};
	struct nrt_execute what = {
		.handles = state->handles,
		.units = state->units,
		.model = model,
		.timeout_ms = state->env.timeout_ms,
		.numbers = state->env.numbers,
		.dump_on = state->env.dump_on,
		.print = nrt_streams_wanted(&state->streams) ? nrt_stream_print : NULL,
		.print_arg = &state->streams,
		.repeat = 1,
	};
	NRT_STATUS status;

	what.inputs = nrt_get(state, NRT_KIND_TENSOR_SET, schedule->inputs, error);
	if (!what.inputs)
		return error->status;
	what.outputs = nrt_get(state, NRT_KIND_TENSOR_SET, schedule->outputs, error);
	status = what.outputs ? get_tracker(state, schedule->tracker, &async, error) :
				error->status;
	if (!status) {
		status = schedule_sets(state, &what, schedule, &async, error);
		if (status)
			put_tracker(state, &async);
	}
	nrt_handle_put(state->handles, schedule->inputs);
	if (what.outputs)
		nrt_handle_put(state->handles, schedule->outputs);
	return status;
}

NRT_STATUS nrta_execute_schedule(nrt_model_t *model, const nrt_tensor_set_t *input,
				 nrt_tensor_set_t *output, int queue, nrta_error_tracker_t *err,
				 nrta_seq_t *req_sequence)
{
	struct schedule schedule = { model, input, output, err, queue, req_sequence };

	if (!input || !output || !req_sequence)
		return nrt_fail_with(__func__, NRT_INVALID,
				     "a tensor set or req_sequence is NULL");
	return nrt_model_call(__func__, model, schedule_model, &schedule);
}

/* --- Transfers --- */

/**
 * struct move - a transfer that is asked for
 * @call: public function
 * @xu, @queue: who does it
 * @other, @other_offset: copy: destination
 * @host: read, write: the program's memory
 * @offset, @size: bytes of the tensor
 * @tracker: error tracker, or NULL
 * @seq: out: request
 */
struct move {
	const char *call;
	nrta_xu_t xu;
	int queue;
	nrt_tensor_t *other;
	size_t other_offset;
	void *host;
	size_t offset;
	size_t size;
	nrta_error_tracker_t *tracker;
	nrta_seq_t *seq;
};

/* The core of a tensor, or core 0 for one that belongs to none. */
static uint32_t core_of(const struct nrt_span *span)
{
	return span->storage->vnc < 0 ? 0 : (uint32_t)span->storage->vnc;
}

/* The checked spans of @transfer go to a request. */
static NRT_STATUS schedule_spans(struct nrt_state *state, const struct move *move,
				 struct nrt_transfer *transfer, struct nrt_error *error)
{
	const struct nrt_span *at = transfer->to.storage ? &transfer->to : &transfer->from;
	struct nrt_async async = {
		.failed = transfer_failed,
		.ended = end_transfer,
		.arg = (void *)move->call,
	};

	transfer->handles = state->handles;
	transfer->host = move->host;
	transfer->size = move->size;
	transfer->unit = nrt_units_find(state->units, core_of(at), move->xu, move->queue, error);
	if (!transfer->unit || get_tracker(state, move->tracker, &async, error))
		return error->status;
	if (!nrt_transfer_schedule(transfer, &async, move->seq, error))
		return NRT_SUCCESS;
	put_tracker(state, &async);
	return error->status;
}

static NRT_STATUS move_host(struct nrt_state *state, struct nrt_tensor *tensor, void *arg,
			    struct nrt_error *error)
{
	const struct move *move = arg;
	struct nrt_transfer transfer = { 0 };
	struct nrt_span *span;

	span = move->xu == NRTA_XU_TENSOR_READ ? &transfer.from : &transfer.to;
	transfer.from_offset = move->offset;
	transfer.to_offset = move->offset;
	*span = nrt_tensor_span(tensor);
	if (!nrt_span_check(span, tensor->name, move->offset, move->size, error) &&
	    !schedule_spans(state, move, &transfer, error))
		return NRT_SUCCESS;
	nrt_span_put(span);
	return error->status;
}

NRT_STATUS nrta_tensor_write(nrt_tensor_t *tensor, const void *buf, uint64_t offset,
			     uint64_t size, int queue, nrta_error_tracker_t *err,
			     nrta_seq_t *req_sequence)
{
	struct move move = {
		.call = __func__,
		.xu = NRTA_XU_TENSOR_WRITE,
		.queue = queue,
		.host = (void *)buf,
		.offset = offset,
		.size = size,
		.tracker = err,
		.seq = req_sequence,
	};

	if ((!buf && size) || !req_sequence)
		return nrt_fail_with(__func__, NRT_INVALID, "buf or req_sequence is NULL");
	return nrt_tensor_call(__func__, tensor, move_host, &move);
}

NRT_STATUS nrta_tensor_read(void *buf, nrt_tensor_t *tensor, uint64_t offset, uint64_t size,
			    int queue, nrta_error_tracker_t *err, nrta_seq_t *req_sequence)
{
	struct move move = {
		.call = __func__,
		.xu = NRTA_XU_TENSOR_READ,
		.queue = queue,
		.host = buf,
		.offset = offset,
		.size = size,
		.tracker = err,
		.seq = req_sequence,
	};

	if ((!buf && size) || !req_sequence)
		return nrt_fail_with(__func__, NRT_INVALID, "buf or req_sequence is NULL");
	return nrt_tensor_call(__func__, tensor, move_host, &move);
}

static NRT_STATUS check_pair(const struct nrt_transfer *transfer, const struct nrt_tensor *src,
			     const struct nrt_tensor *dst, size_t size, struct nrt_error *error)
{
	if (nrt_span_check(&transfer->from, src->name, transfer->from_offset, size, error) ||
	    nrt_span_check(&transfer->to, dst->name, transfer->to_offset, size, error))
		return error->status;
	return nrt_span_check_copy(&transfer->from, &transfer->to, error);
}

static NRT_STATUS move_tensor(struct nrt_state *state, struct nrt_tensor *src, void *arg,
			      struct nrt_error *error)
{
	const struct move *move = arg;
	struct nrt_transfer transfer = {
		.from_offset = move->offset,
		.to_offset = move->other_offset,
	};
	struct nrt_tensor *dst = nrt_get(state, NRT_KIND_TENSOR, move->other, error);
	NRT_STATUS status;

	if (!dst)
		return error->status;
	transfer.from = nrt_tensor_span(src);
	transfer.to = nrt_tensor_span(dst);
	status = check_pair(&transfer, src, dst, move->size, error);
	if (!status)
		status = schedule_spans(state, move, &transfer, error);
	if (status) {
		nrt_span_put(&transfer.from);
		nrt_span_put(&transfer.to);
	}
	nrt_handle_put(state->handles, move->other);
	return status;
}

NRT_STATUS nrta_tensor_copy(nrt_tensor_t *src, uint64_t src_offset, nrt_tensor_t *dst,
			    uint64_t dst_offset, uint64_t size, int queue,
			    nrta_error_tracker_t *err, nrta_seq_t *req_sequence)
{
	struct move move = {
		.call = __func__,
		.xu = NRTA_XU_TENSOR_OP,
		.queue = queue,
		.other = dst,
		.other_offset = dst_offset,
		.offset = src_offset,
		.size = size,
		.tracker = err,
		.seq = req_sequence,
	};

	if (!req_sequence)
		return nrt_fail_with(__func__, NRT_INVALID, "req_sequence is NULL");
	return nrt_tensor_call(__func__, src, move_tensor, &move);
}

/* --- What became of requests --- */

NRT_STATUS nrta_is_completed(nrta_seq_t seq, bool *is_completed)
{
	struct nrt_state *state;
	struct nrt_error error;
	struct nrt_unit *unit;
	NRT_STATUS status;

	if (!is_completed)
		return nrt_fail_with(__func__, NRT_INVALID, "is_completed is NULL");
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	unit = nrt_units_find_seq(state->units, seq, &error);
	if (unit)
		*is_completed = nrt_unit_completed(unit) >= seq;
	return nrt_end(state, __func__, unit ? NRT_SUCCESS : error.status, &error);
}

NRT_STATUS nrta_get_sequence(uint32_t lnc, nrta_xu_t xu, int queue, nrta_seq_t *seq)
{
	struct nrt_state *state;
	struct nrt_error error;
	struct nrt_unit *unit;
	NRT_STATUS status;

	if (!seq)
		return nrt_fail_with(__func__, NRT_INVALID, "seq is NULL");
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	unit = nrt_units_find(state->units, lnc, xu, queue, &error);
	if (unit)
		*seq = nrt_unit_completed(unit);
	return nrt_end(state, __func__, unit ? NRT_SUCCESS : error.status, &error);
}

NRT_STATUS nrta_get_completion_handle(nrta_seq_t seq, int *fd)
{
	struct nrt_state *state;
	struct nrt_error error;
	struct nrt_unit *unit;
	NRT_STATUS status;

	if (!fd)
		return nrt_fail_with(__func__, NRT_INVALID, "fd is NULL");
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	unit = nrt_units_find_seq(state->units, seq, &error);
	status = unit ? nrt_unit_watch(unit, seq, fd, &error) : error.status;
	return nrt_end(state, __func__, status, &error);
}

/* --- Error trackers --- */

NRT_STATUS nrta_error_tracker_create(uint32_t lnc_idx, nrta_error_tracker_t **error_tracker)
{
	struct nrt_tracker *tracker = NULL;
	struct nrt_state *state;
	struct nrt_error error;
	void *handle = NULL;
	NRT_STATUS status;

	if (!error_tracker)
		return nrt_fail_with(__func__, NRT_INVALID, "error_tracker is NULL");
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	if (nrt_machine_vcore(&state->machine, lnc_idx, &error)) {
		nrt_error_memory(&error);
		tracker = nrt_tracker_new();
	}
	if (tracker)
		handle = nrt_handle_new(state->handles, NRT_KIND_TRACKER, tracker);
	if (tracker && !handle)
		nrt_tracker_release(tracker);
	nrt_leave(state);
	if (!handle)
		return nrt_fail(__func__, &error);
	*error_tracker = handle;
	return NRT_SUCCESS;
}

void nrta_error_tracker_destroy(nrta_error_tracker_t *error_tracker)
{
	struct nrt_state *state;

	if (!error_tracker)
		return;
	state = nrt_enter_any();
	nrt_drop(state, __func__, NRT_KIND_TRACKER, error_tracker, false);
	nrt_leave(state);
}

NRT_STATUS nrta_error_tracker_get_list(nrta_error_tracker_t *error_tracker,
				       const nrta_error_t **list, size_t *error_count)
{
	struct nrt_tracker *tracker;
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;

	if (!list || !error_count)
		return nrt_fail_with(__func__, NRT_INVALID, "list or error_count is NULL");
	state = nrt_enter_any();
	tracker = nrt_get(state, NRT_KIND_TRACKER, error_tracker, &error);
	status = tracker ? nrt_tracker_list(tracker, list, error_count, &error) : error.status;
	if (tracker)
		nrt_handle_put(state->handles, error_tracker);
	return nrt_end(state, __func__, status, &error);
}
