// SPDX-License-Identifier: MIT
#include "api/config.h"

NRT_STATUS nrt_config_new(const char *call, enum nrt_kind kind, void *object, void *out)
{
	struct nrt_state *state = nrt_enter_any();
	struct nrt_error error;
	void *handle = NULL;

	nrt_error_memory(&error);
	if (object && !nrt_handles_ready(state, &error))
		handle = nrt_handle_new(state->handles, kind, object);
	if (object && !handle)
		nrt_release_object(kind, object);
	nrt_leave(state);
	if (!handle)
		return nrt_fail(call, &error);
	*(void **)out = handle;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_config_call(const char *call, enum nrt_kind kind, const void *handle,
			   nrt_config_fn *fn, void *arg)
{
	struct nrt_state *state = nrt_enter_any();
	struct nrt_error error;
	NRT_STATUS status;
	void *config;

	config = nrt_get(state, kind, handle, &error);
	status = error.status;
	if (config) {
		pthread_mutex_lock(&state->config_lock);
		status = fn(config, arg, &error);
		pthread_mutex_unlock(&state->config_lock);
		nrt_handle_put(state->handles, handle);
	}
	return nrt_end(state, call, status, &error);
}

NRT_STATUS nrt_config_free(const char *call, enum nrt_kind kind, const void *handle)
{
	struct nrt_state *state = nrt_enter_any();
	NRT_STATUS status = nrt_drop(state, call, kind, handle, false);

	nrt_leave(state);
	return status;
}
