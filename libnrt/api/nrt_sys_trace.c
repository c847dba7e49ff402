// SPDX-License-Identifier: MIT
/*
 * nrt_sys_trace.h: the events of nrt_sys_trace_start().
 */
#include <stdlib.h>

#include <nrt/nrt_sys_trace.h>

#include "api/config.h"

/* --- Configurations --- */

NRT_STATUS nrt_sys_trace_config_allocate(nrt_sys_trace_config_t **options)
{
	struct nrt_capture *capture;

	if (!options)
		return nrt_fail_with(__func__, NRT_INVALID, "options is NULL");
	capture = malloc(sizeof(*capture));
	if (capture)
		nrt_capture_defaults(capture);
	return nrt_config_new(__func__, NRT_KIND_TRACE_CONFIG, capture, options);
}

static NRT_STATUS capture_defaults(void *config, void *arg, struct nrt_error *error)
{
	(void)arg;
	(void)error;
	nrt_capture_defaults(config);
	return NRT_SUCCESS;
}

void nrt_sys_trace_config_set_defaults(nrt_sys_trace_config_t *options)
{
	nrt_config_call(__func__, NRT_KIND_TRACE_CONFIG, options, capture_defaults, NULL);
}

void nrt_sys_trace_config_free(nrt_sys_trace_config_t *options)
{
	if (options)
		nrt_config_free(__func__, NRT_KIND_TRACE_CONFIG, options);
}

static NRT_STATUS capture_max(void *config, void *arg, struct nrt_error *error)
{
	(void)error;
	nrt_capture_set_max(config, *(const uint64_t *)arg);
	return NRT_SUCCESS;
}

void nrt_sys_trace_config_set_max_events_per_nc(nrt_sys_trace_config_t *options,
						uint64_t max_events_per_nc)
{
	nrt_config_call(__func__, NRT_KIND_TRACE_CONFIG, options, capture_max,
			&max_events_per_nc);
}

struct core_switch {
	uint32_t core;
	bool enabled;
};

static NRT_STATUS capture_core(void *config, void *arg, struct nrt_error *error)
{
	const struct core_switch *which = arg;

	return nrt_capture_set_core(config, which->core, which->enabled, error);
}

void nrt_sys_trace_config_set_capture_enabled_for_nc(nrt_sys_trace_config_t *options,
						     uint32_t nc_idx, bool enabled)
{
	struct core_switch which = { nc_idx, enabled };

	nrt_config_call(__func__, NRT_KIND_TRACE_CONFIG, options, capture_core, &which);
}

struct type_switch {
	const char *name;
	bool enabled;
};

static NRT_STATUS capture_type(void *config, void *arg, struct nrt_error *error)
{
	const struct type_switch *which = arg;

	return nrt_capture_set_type(config, which->name, which->enabled, error);
}

NRT_STATUS
nrt_sys_trace_config_set_capture_enabled_for_event_type(nrt_sys_trace_config_t *options,
							const char *event_type, bool enabled)
{
	struct type_switch which = { event_type, enabled };

	if (!event_type)
		return nrt_fail_with(__func__, NRT_INVALID, "event_type is NULL");
	return nrt_config_call(__func__, NRT_KIND_TRACE_CONFIG, options, capture_type, &which);
}

/* --- Lists of types --- */

NRT_STATUS nrt_sys_trace_get_event_types(const char ***event_types, size_t *count)
{
	struct nrt_error error;

	if (!event_types || !count)
		return nrt_fail_with(__func__, NRT_INVALID, "event_types or count is NULL");
	if (nrt_event_names(NRT_ALL_EVENTS, event_types, count, &error))
		return nrt_fail(__func__, &error);
	return NRT_SUCCESS;
}

void nrt_sys_trace_free_event_types(const char **event_types, size_t count)
{
	nrt_names_free(event_types, count);
}

struct name_list {
	const char ***names;
	size_t *count;
};

static NRT_STATUS list_types(void *config, void *arg, struct nrt_error *error)
{
	const struct nrt_capture *capture = config;
	const struct name_list *list = arg;

	return nrt_event_names(capture->types, list->names, list->count, error);
}

NRT_STATUS nrt_sys_trace_config_get_enabled_event_types(nrt_sys_trace_config_t *options,
							const char ***event_types, size_t *count)
{
	struct name_list list = { event_types, count };

	if (!event_types || !count)
		return nrt_fail_with(__func__, NRT_INVALID, "event_types or count is NULL");
	return nrt_config_call(__func__, NRT_KIND_TRACE_CONFIG, options, list_types, &list);
}

/* --- The trace --- */

static NRT_STATUS copy_capture(void *config, void *arg, struct nrt_error *error)
{
	(void)error;
	*(struct nrt_capture *)arg = *(const struct nrt_capture *)config;
	return NRT_SUCCESS;
}

static NRT_STATUS start(const char *call, enum nrt_trace_user user,
			const struct nrt_capture *capture)
{
	struct nrt_state *state = nrt_enter_any();
	struct nrt_error error;
	NRT_STATUS status;

	/* With the handles comes what a child of a fork needs to forget the trace. */
	status = nrt_handles_ready(state, &error);
	if (!status)
		status = nrt_recorder_start(&state->recorder, user, capture, &error);
	return nrt_end(state, call, status, &error);
}

NRT_STATUS nrt_sys_trace_start(nrt_sys_trace_config_t *options)
{
	struct nrt_capture capture;
	NRT_STATUS status;

	nrt_capture_defaults(&capture);
	if (options) {
		status = nrt_config_call(__func__, NRT_KIND_TRACE_CONFIG, options, copy_capture,
					 &capture);
		if (status)
			return status;
	}
	return start(__func__, NRT_TRACE_SYS_TRACE, &capture);
}

NRT_STATUS nrt_sys_trace_stop(void)
{
	struct nrt_state *state = nrt_enter_any();
	struct nrt_error error;
	NRT_STATUS status;

	status = nrt_recorder_stop(&state->recorder, NRT_TRACE_SYS_TRACE, &error);
	return nrt_end(state, __func__, status, &error);
}

/* --- Fetching --- */

NRT_STATUS nrt_sys_trace_fetch_options_allocate(nrt_sys_trace_fetch_options_t **options)
{
	struct nrt_fetch *fetch;

	if (!options)
		return nrt_fail_with(__func__, NRT_INVALID, "options is NULL");
	fetch = malloc(sizeof(*fetch));
	if (fetch)
		nrt_fetch_defaults(fetch);
	return nrt_config_new(__func__, NRT_KIND_FETCH_OPTIONS, fetch, options);
}

static NRT_STATUS fetch_defaults(void *config, void *arg, struct nrt_error *error)
{
	(void)arg;
	(void)error;
	nrt_fetch_defaults(config);
	return NRT_SUCCESS;
}

void nrt_sys_trace_fetch_options_set_defaults(nrt_sys_trace_fetch_options_t *options)
{
	nrt_config_call(__func__, NRT_KIND_FETCH_OPTIONS, options, fetch_defaults, NULL);
}

void nrt_sys_trace_fetch_options_free(nrt_sys_trace_fetch_options_t *options)
{
	if (options)
		nrt_config_free(__func__, NRT_KIND_FETCH_OPTIONS, options);
}

static NRT_STATUS fetch_max(void *config, void *arg, struct nrt_error *error)
{
	(void)error;
	((struct nrt_fetch *)config)->max_events = *(const uint64_t *)arg;
	return NRT_SUCCESS;
}

void nrt_sys_trace_fetch_options_set_max_events_per_nc(nrt_sys_trace_fetch_options_t *options,
						       uint64_t max_events_per_nc)
{
	nrt_config_call(__func__, NRT_KIND_FETCH_OPTIONS, options, fetch_max,
			&max_events_per_nc);
}

static NRT_STATUS fetch_core(void *config, void *arg, struct nrt_error *error)
{
	uint64_t core = *(const uint64_t *)arg;

	if (core >= NRT_CAPTURE_CORES)
		return nrt_error_set(error, NRT_INVALID, "core %llu: use 0 to %u",
				     (unsigned long long)core, NRT_CAPTURE_CORES - 1);
	((struct nrt_fetch *)config)->core = core;
	return NRT_SUCCESS;
}

void nrt_sys_trace_fetch_options_set_nc_idx(nrt_sys_trace_fetch_options_t *options,
					    uint64_t nc_idx)
{
	nrt_config_call(__func__, NRT_KIND_FETCH_OPTIONS, options, fetch_core, &nc_idx);
}

static NRT_STATUS copy_fetch(void *config, void *arg, struct nrt_error *error)
{
	(void)error;
	*(struct nrt_fetch *)arg = *(const struct nrt_fetch *)config;
	return NRT_SUCCESS;
}

static NRT_STATUS fetch_events(struct nrt_state *state, const struct nrt_fetch *fetch,
			       char **buffer, size_t *written_size, struct nrt_error *error)
{
	size_t size;
	char *text;

	if (nrt_recorder_take(&state->recorder, NRT_TRACE_SYS_TRACE, fetch, &text, &size, error))
		return error->status;
	if (!nrt_given_add(&state->given[NRT_GIVEN_EVENTS], text)) {
		free(text);
		return nrt_error_memory(error);
	}
	*buffer = text;
	*written_size = size;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_sys_trace_fetch_events(char **buffer, size_t *written_size,
				      const nrt_sys_trace_fetch_options_t *options)
{
	struct nrt_state *state;
	struct nrt_fetch fetch;
	struct nrt_error error;
	NRT_STATUS status;

	if (!buffer || !written_size)
		return nrt_fail_with(__func__, NRT_INVALID, "buffer or written_size is NULL");
	nrt_fetch_defaults(&fetch);
	if (options) {
		status = nrt_config_call(__func__, NRT_KIND_FETCH_OPTIONS, options, copy_fetch,
					 &fetch);
		if (status)
			return status;
	}
	state = nrt_enter_any();
	status = fetch_events(state, &fetch, buffer, written_size, &error);
	return nrt_end(state, __func__, status, &error);
}

void nrt_sys_trace_buffer_free(char *buffer)
{
	nrt_give_back(__func__, NRT_GIVEN_EVENTS, buffer);
}
