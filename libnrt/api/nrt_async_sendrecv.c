// SPDX-License-Identifier: MIT
#include <nrt/nrt_async_sendrecv.h>

#include "api/state.h"

NRT_STATUS nrt_async_sendrecv_get_max_num_communicators_per_lnc(int *num)
{
	if (!num)
		return nrt_fail_with(__func__, NRT_INVALID, "num is NULL");
	*num = NRT_SENDRECV_ENDPOINTS;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_async_sendrecv_get_max_num_pending_request(int *num)
{
	if (!num)
		return nrt_fail_with(__func__, NRT_INVALID, "num is NULL");
	*num = NRT_SENDRECV_REQUESTS;
	return NRT_SUCCESS;
}

/* --- Cores --- */

static NRT_STATUS check_core(const struct nrt_machine *machine, int lnc, struct nrt_error *error)
{
	unsigned int first = machine->vcores[0].number;
	unsigned int last = first + machine->nr_vcores - 1;

	if (lnc >= 0 && (unsigned int)lnc >= first && (unsigned int)lnc <= last)
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_INVALID,
			     "core %d: the process owns cores %u to %u of the machine", lnc, first,
			     last);
}

/* *@remote: it is not of this process. */
static NRT_STATUS check_peer(const struct nrt_state *state, int peer_lnc, bool *remote,
			     struct nrt_error *error)
{
	unsigned int total = nrt_machine_total(&state->machine);

	*remote = check_core(&state->machine, peer_lnc, error);
	if (!*remote)
		return NRT_SUCCESS;
	if (peer_lnc < 0 || (unsigned int)peer_lnc >= total)
		return nrt_error_set(error, NRT_INVALID, "core %d: the machine has cores 0 to %u",
				     peer_lnc, total - 1);
	if (state->sendrecv.group.open)
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_INVALID,
			     "core %d is not of this process; set NEURON_RT_ASYNC_SENDRECV_BOOTSTRAP_PORT to the same number in all processes that send tensors to each other",
			     peer_lnc);
}

typedef NRT_STATUS core_fn(struct nrt_sendrecv *sendrecv, uint32_t core,
			   struct nrt_error *error);

static NRT_STATUS core_call(const char *call, int lnc, core_fn *fn)
{
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;

	state = nrt_enter(call, &status);
	if (!state)
		return status;
	status = check_core(&state->machine, lnc, &error);
	if (!status)
		status = fn(&state->sendrecv, (uint32_t)lnc, &error);
	return nrt_end(state, call, status, &error);
}

NRT_STATUS nrt_async_sendrecv_init(int lnc)
{
	return core_call(__func__, lnc, nrt_sendrecv_open);
}

NRT_STATUS nrt_async_sendrecv_close(int lnc)
{
	return core_call(__func__, lnc, nrt_sendrecv_close);
}

NRT_STATUS nrt_async_sendrecv_flush(int lnc)
{
	return core_call(__func__, lnc, nrt_sendrecv_check);
}

/* --- Communicators --- */

static NRT_STATUS make_endpoint(const char *call, const char *peer_ip, int peer_lnc, int lnc,
				bool sends, void *out)
{
	struct nrt_endpoint_of what = {
		.peer_ip = peer_ip,
		.peer = (uint32_t)peer_lnc,
		.core = (uint32_t)lnc,
		.sends = sends,
	};
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;

	if (!peer_ip || !out)
		return nrt_fail_with(call, NRT_INVALID, "peer_ip or the communicator is NULL");
	state = nrt_enter(call, &status);
	if (!state)
		return status;
	status = check_core(&state->machine, lnc, &error);
	if (!status)
		status = check_peer(state, peer_lnc, &what.remote, &error);
	if (!status)
		status = nrt_endpoint_new(&state->sendrecv, &what, out, &error);
	return nrt_end(state, call, status, &error);
}

NRT_STATUS nrt_async_sendrecv_connect(const char *peer_ip, int peer_lnc, int lnc,
				      nrt_async_sendrecv_comm_t **send_comm)
{
	return make_endpoint(__func__, peer_ip, peer_lnc, lnc, true, send_comm);
}

NRT_STATUS nrt_async_sendrecv_accept(const char *peer_ip, int peer_lnc, int lnc,
				     nrt_async_sendrecv_comm_t **recv_comm)
{
	return make_endpoint(__func__, peer_ip, peer_lnc, lnc, false, recv_comm);
}

NRT_STATUS nrt_async_sendrecv_test_comm(nrt_async_sendrecv_comm_t *comm, bool *done)
{
	struct nrt_endpoint *endpoint;
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;

	if (!done)
		return nrt_fail_with(__func__, NRT_INVALID, "done is NULL");
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	endpoint = nrt_get(state, NRT_KIND_ENDPOINT, comm, &error);
	status = endpoint ? nrt_endpoint_test(&state->sendrecv, endpoint, done, &error) :
			    error.status;
	if (endpoint)
		nrt_handle_put(state->handles, comm);
	return nrt_end(state, __func__, status, &error);
}

/* --- Requests --- */

/* What is asked for, of a tensor. */
struct order {
	bool sends;
	size_t offset;
	size_t length;
	nrt_async_sendrecv_comm_t *comm;
	void *out;
};

static NRT_STATUS place_order(struct nrt_state *state, struct nrt_tensor *tensor, void *arg,
			      struct nrt_error *error)
{
	const struct order *order = arg;
	struct nrt_endpoint *endpoint = nrt_get(state, NRT_KIND_ENDPOINT, order->comm, error);
	struct nrt_span span;
	NRT_STATUS status;

	if (!endpoint)
		return error->status;
	span = nrt_tensor_span(tensor);
	status = nrt_span_check(&span, tensor->name, order->offset, order->length, error);
	if (status)
		nrt_span_put(&span);
	else
		status = nrt_message_new(&state->sendrecv, endpoint, order->sends, &span,
					 order->offset, order->length, order->out, error);
	nrt_handle_put(state->handles, order->comm);
	return status;
}

NRT_STATUS nrt_async_sendrecv_send_tensor(nrt_tensor_t *tensor, size_t offset, size_t length,
					  nrt_async_sendrecv_comm_t *send_comm,
					  nrt_async_sendrecv_request_t **request)
{
	struct order order = { true, offset, length, send_comm, request };

	if (!request)
		return nrt_fail_with(__func__, NRT_INVALID, "request is NULL");
	return nrt_tensor_call(__func__, tensor, place_order, &order);
}

NRT_STATUS nrt_async_sendrecv_recv_tensor(nrt_tensor_t *tensor, size_t offset, size_t length,
					  nrt_async_sendrecv_comm_t *recv_comm,
					  nrt_async_sendrecv_request_t **request)
{
	struct order order = { false, offset, length, recv_comm, request };

	if (!request)
		return nrt_fail_with(__func__, NRT_INVALID, "request is NULL");
	return nrt_tensor_call(__func__, tensor, place_order, &order);
}

NRT_STATUS nrt_async_sendrecv_test_request(nrt_async_sendrecv_request_t *request, bool *done,
					   size_t *size)
{
	struct nrt_message *message;
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;

	if (!done || !size)
		return nrt_fail_with(__func__, NRT_INVALID, "done or size is NULL");
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	message = nrt_get(state, NRT_KIND_MESSAGE, request, &error);
	status = message ? nrt_message_test(&state->sendrecv, message, done, size, &error) :
			   error.status;
	if (message)
		nrt_handle_put(state->handles, request);
	return nrt_end(state, __func__, status, &error);
}
