// SPDX-License-Identifier: MIT
#include <nrt/ndebug_stream.h>

#include "api/state.h"

_Static_assert(sizeof(ndebug_stream_event_header_t) == 64, "public layout");
_Static_assert(sizeof(ndebug_stream_payload_debug_tensor_read_t) == 1024, "public layout");

NRT_STATUS nrt_debug_client_connect(int logical_nc_idx, int *stream_fd)
{
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;

	if (!stream_fd)
		return nrt_fail_with(__func__, NRT_INVALID, "stream_fd is NULL");
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	status = nrt_stream_connect(&state->streams, logical_nc_idx, stream_fd, &error);
	return nrt_end(state, __func__, status, &error);
}

void nrt_debug_client_connect_close(int stream_fd)
{
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;

	state = nrt_enter(__func__, &status);
	if (!state)
		return;
	status = nrt_stream_close(&state->streams, stream_fd, &error);
	nrt_leave(state);
	if (status)
		nrt_fail(__func__, &error);
}

NRT_STATUS nrt_debug_client_read_one_event(int stream_fd, ndebug_stream_event_header_t *header,
					   void **payload)
{
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;

	if (!header || !payload)
		return nrt_fail_with(__func__, NRT_INVALID, "header or payload is NULL");
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	status = nrt_stream_read(&state->streams, stream_fd, header, payload, &error);
	nrt_leave(state);
	/* Whoever polls is not told in the log each time that there is nothing. */
	return status && status != NRT_QUEUE_EMPTY ? nrt_fail(__func__, &error) : status;
}
