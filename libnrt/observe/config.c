// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "observe/config.h"

#define DEFAULT_MAX_EVENTS	1000000
#define DEFAULT_FOLDER		"./output"

/* The events that the device itself has a time for. */
#define HARDWARE_EVENTS	(1u << NRT_EVENT_NC_EXEC_RUNNING | 1u << NRT_EVENT_CC_RUNNING | \
			 1u << NRT_EVENT_CC_EXEC_BARRIER | 1u << NRT_EVENT_NUMERICAL_ERR | \
			 1u << NRT_EVENT_NRT_MODEL_SWITCH | \
			 1u << NRT_EVENT_TIMESTAMP_SYNC_POINT | 1u << NRT_EVENT_HW_NOTIFY)

static const char *const activities[NRT_NR_ACTIVITIES] = {
	[NRT_ACTIVITY_SYSTEM_PROFILE] = "system_profile",
	[NRT_ACTIVITY_DEVICE_PROFILE] = "device_profile",
	[NRT_ACTIVITY_HOST_MEMORY] = "host_memory",
	[NRT_ACTIVITY_CPU_UTIL] = "cpu_util",
};

/* --- Events --- */

void nrt_capture_defaults(struct nrt_capture *capture)
{
	memset(capture->cores, 0xff, sizeof(capture->cores));
	capture->types = NRT_ALL_EVENTS;
	capture->max_events = DEFAULT_MAX_EVENTS;
}

bool nrt_capture_has_core(const struct nrt_capture *capture, int32_t core)
{
	if (core < 0 || core >= NRT_CAPTURE_CORES)
		return core < 0;
	return capture->cores[core / 64] & 1ull << (core % 64);
}

NRT_STATUS nrt_capture_set_core(struct nrt_capture *capture, uint64_t core, bool enabled,
				struct nrt_error *error)
{
	if (core >= NRT_CAPTURE_CORES)
		return nrt_error_set(error, NRT_INVALID, "core %llu: use 0 to %u",
				     (unsigned long long)core, NRT_CAPTURE_CORES - 1);
	if (enabled)
		capture->cores[core / 64] |= 1ull << (core % 64);
	else
		capture->cores[core / 64] &= ~(1ull << (core % 64));
	return NRT_SUCCESS;
}

static void set_types(struct nrt_capture *capture, uint32_t mask, bool enabled)
{
	if (enabled)
		capture->types |= mask;
	else
		capture->types &= ~mask;
}

NRT_STATUS nrt_capture_set_type(struct nrt_capture *capture, const char *name, bool enabled,
				struct nrt_error *error)
{
	enum nrt_event_type type = nrt_event_type_of(name);

	if (type == NRT_NR_EVENTS)
		return nrt_error_set(error, NRT_INVALID,
				     "there are no events \"%.64s\"; nrt_sys_trace_get_event_types() has the names",
				     name);
	set_types(capture, 1u << type, enabled);
	return NRT_SUCCESS;
}

void nrt_capture_set_max(struct nrt_capture *capture, uint64_t max_events)
{
	capture->max_events = max_events ? max_events : DEFAULT_MAX_EVENTS;
}

void nrt_fetch_defaults(struct nrt_fetch *fetch)
{
	*fetch = (struct nrt_fetch){ NRT_FETCH_ALL, NRT_FETCH_ALL };
}

/* --- Inspection --- */

NRT_STATUS nrt_config_folder(char **folder, const char *path, struct nrt_error *error)
{
	char *copy = strdup(path ?: DEFAULT_FOLDER);

	if (!copy)
		return nrt_error_memory(error);
	free(*folder);
	*folder = copy;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_inspect_defaults(struct nrt_inspect *inspect, struct nrt_error *error)
{
	if (nrt_config_folder(&inspect->folder, NULL, error))
		return error->status;
	inspect->session = 1;
	inspect->activities = NRT_ALL_ACTIVITIES;
	inspect->enabled = false;
	inspect->on_fail = false;
	nrt_capture_defaults(&inspect->capture);
	return NRT_SUCCESS;
}

NRT_STATUS nrt_inspect_set_activity(struct nrt_inspect *inspect, const char *name, bool enabled,
				    struct nrt_error *error)
{
	uint32_t mask = strcmp(name, "all") ? 0 : NRT_ALL_ACTIVITIES;
	unsigned int i;

	for (i = 0; i < NRT_NR_ACTIVITIES; i++)
		if (!strcmp(name, activities[i]))
			mask = 1u << i;
	if (!mask)
		return nrt_error_set(error, NRT_INVALID,
				     "there is no activity \"%.64s\"; use system_profile, device_profile, host_memory, cpu_util or all",
				     name);
	if (enabled)
		inspect->activities |= mask;
	else
		inspect->activities &= ~mask;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_inspect_copy(struct nrt_inspect *to, const struct nrt_inspect *from,
			    struct nrt_error *error)
{
	char *folder = strdup(from->folder);

	if (!folder)
		return nrt_error_memory(error);
	*to = *from;
	to->folder = folder;
	return NRT_SUCCESS;
}

void nrt_inspect_fini(struct nrt_inspect *inspect)
{
	free(inspect->folder);
	inspect->folder = NULL;
}

/* --- Inspection by the environment --- */

static NRT_STATUS bad_value(const char *variable, const char *value, const char *use,
			    struct nrt_error *error)
{
	return nrt_error_set(error, NRT_INVALID, "%s=\"%.64s\": use %s", variable, value, use);
}

/* A variable that is 0 or 1; *@value stays when it is not set. */
static NRT_STATUS read_flag(const char *variable, bool *value, struct nrt_error *error)
{
	const char *text = getenv(variable);

	if (!text || !*text)
		return NRT_SUCCESS;
	if (strcmp(text, "0") && strcmp(text, "1"))
		return bad_value(variable, text, "0 or 1", error);
	*value = *text == '1';
	return NRT_SUCCESS;
}

static NRT_STATUS read_activity(struct nrt_inspect *inspect, const char *variable,
				enum nrt_activity activity, struct nrt_error *error)
{
	bool on = true;

	if (read_flag(variable, &on, error))
		return error->status;
	return nrt_inspect_set_activity(inspect, activities[activity], on, error);
}

/* Here "model" and "session" choose between public forms of the files; both are one here. */
static NRT_STATUS read_device_profile(struct nrt_inspect *inspect, struct nrt_error *error)
{
	const char *text = getenv("NEURON_RT_INSPECT_DEVICE_PROFILE");

	if (text && (!strcmp(text, "model") || !strcmp(text, "session")))
		return NRT_SUCCESS;
	return read_activity(inspect, "NEURON_RT_INSPECT_DEVICE_PROFILE",
			     NRT_ACTIVITY_DEVICE_PROFILE, error);
}

/* "0", "0-3", "0,2,4-7": only these cores. */
static NRT_STATUS read_cores(struct nrt_capture *capture, struct nrt_error *error)
{
	static const char variable[] = "NEURON_RT_INSPECT_EVENT_FILTER_NC";
	const char *text = getenv(variable), *at = text;
	unsigned long first, last;
	char *end;

	if (!text || !*text)
		return NRT_SUCCESS;
	memset(capture->cores, 0, sizeof(capture->cores));
	do {
		first = strtoul(at, &end, 10);
		last = first;
		if (end != at && *end == '-') {
			at = end + 1;
			last = strtoul(at, &end, 10);
		}
		if (end == at || *at == '-' || (*end && *end != ',') || first > last ||
		    last >= NRT_CAPTURE_CORES)
			return bad_value(variable, text, "cores such as 0-3,6", error);
		for (; first <= last; first++)
			nrt_capture_set_core(capture, first, true, error);
		at = end + 1;
	} while (*end);
	return NRT_SUCCESS;
}

static NRT_STATUS filter_type(struct nrt_capture *capture, const char *word,
			      struct nrt_error *error)
{
	bool enabled = *word != '^';
	const char *name = enabled ? word : word + 1;

	if (!strcmp(name, "hardware"))
		set_types(capture, HARDWARE_EVENTS, enabled);
	else if (!strcmp(name, "software"))
		set_types(capture, NRT_ALL_EVENTS & ~HARDWARE_EVENTS, enabled);
	else
		return nrt_capture_set_type(capture, name, enabled, error);
	return NRT_SUCCESS;
}

/* "hardware,^cc_running,nrt_load": in this order, from nothing, or from all before a "^". */
static NRT_STATUS read_types(struct nrt_capture *capture, struct nrt_error *error)
{
	const char *text = getenv("NEURON_RT_INSPECT_EVENT_FILTER_TYPE");
	char *copy, *word, *rest;

	if (!text || !*text)
		return NRT_SUCCESS;
	copy = strdup(text);
	if (!copy)
		return nrt_error_memory(error);
	capture->types = *text == '^' ? NRT_ALL_EVENTS : 0;
	error->status = NRT_SUCCESS;
	for (word = strtok_r(copy, ",", &rest); word && !error->status;
	     word = strtok_r(NULL, ",", &rest))
		filter_type(capture, word, error);
	free(copy);
	if (error->status)
		return bad_value("NEURON_RT_INSPECT_EVENT_FILTER_TYPE", text,
				 "names of nrt_sys_trace_get_event_types(), hardware, software, or ^ before one of them",
				 error);
	return NRT_SUCCESS;
}

static NRT_STATUS read_max(struct nrt_capture *capture, struct nrt_error *error)
{
	static const char variable[] = "NEURON_RT_INSPECT_SYS_TRACE_MAX_EVENTS_PER_NC";
	const char *text = getenv(variable);
	unsigned long long value;
	char *end;

	if (!text || !*text)
		return NRT_SUCCESS;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || *text == '-' || !value)
		return bad_value(variable, text, "a number of events", error);
	nrt_capture_set_max(capture, value);
	return NRT_SUCCESS;
}

NRT_STATUS nrt_inspect_read_env(struct nrt_inspect *inspect, struct nrt_error *error)
{
	const char *folder = getenv("NEURON_RT_INSPECT_OUTPUT_DIR");

	if (nrt_inspect_defaults(inspect, error) ||
	    (folder && *folder && nrt_config_folder(&inspect->folder, folder, error)) ||
	    read_flag("NEURON_RT_INSPECT_ENABLE", &inspect->enabled, error) ||
	    read_flag("NEURON_RT_INSPECT_ON_FAIL", &inspect->on_fail, error) ||
	    read_activity(inspect, "NEURON_RT_INSPECT_SYSTEM_PROFILE",
			  NRT_ACTIVITY_SYSTEM_PROFILE, error) ||
	    read_device_profile(inspect, error) ||
	    read_activity(inspect, "NEURON_RT_INSPECT_HOST_MEMORY", NRT_ACTIVITY_HOST_MEMORY,
			  error) ||
	    read_activity(inspect, "NEURON_RT_INSPECT_CPU_UTIL", NRT_ACTIVITY_CPU_UTIL, error) ||
	    read_cores(&inspect->capture, error) || read_types(&inspect->capture, error))
		return error->status;
	return read_max(&inspect->capture, error);
}

/* --- Lists of names --- */

void nrt_names_free(const char **names, size_t count)
{
	size_t i;

	for (i = 0; names && i < count; i++)
		free((char *)names[i]);
	free(names);
}

/* The names of @nr whose bits are in @mask. */
static NRT_STATUS copy_names(const char *(*name)(unsigned int), unsigned int nr, uint32_t mask,
			     const char ***out, size_t *count, struct nrt_error *error)
{
	const char **list = calloc(nr, sizeof(*list));
	size_t made = 0;
	unsigned int i;

	if (!list)
		return nrt_error_memory(error);
	for (i = 0; i < nr; i++) {
		if (!(mask & 1u << i))
			continue;
		list[made] = strdup(name(i));
		if (!list[made]) {
			nrt_names_free(list, made);
			return nrt_error_memory(error);
		}
		made++;
	}
	*out = list;
	*count = made;
	return NRT_SUCCESS;
}

static const char *event_name(unsigned int i)
{
	return nrt_event_name(i);
}

static const char *activity_name(unsigned int i)
{
	return activities[i];
}

NRT_STATUS nrt_event_names(uint32_t mask, const char ***names, size_t *count,
			   struct nrt_error *error)
{
	return copy_names(event_name, NRT_NR_EVENTS, mask, names, count, error);
}

NRT_STATUS nrt_activity_names(uint32_t mask, const char ***names, size_t *count,
			      struct nrt_error *error)
{
	return copy_names(activity_name, NRT_NR_ACTIVITIES, mask, names, count, error);
}
