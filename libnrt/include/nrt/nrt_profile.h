/* SPDX-License-Identifier: MIT */
/*
 * Profiles: what executions did on the device, and what the library did for them.
 *
 * A device profile has the instructions and transfers of one execution with their device
 * times. A system profile has the events of nrt_sys_trace.h. Both are files of this project's
 * own formats, described in Documentation/libnrt/profile.rst; they are no NTFF files.
 *
 * Options and configurations are objects of the program: the calls that make, change and free
 * them may be made at any time. Names, values and layouts are the public ones; the rules
 * of nrt.h hold.
 */
#ifndef NRT_PROFILE_H
#define NRT_PROFILE_H

#include <nrt/nrt.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nrt_profile_continuous_options nrt_profile_continuous_options_t;
typedef struct nrt_inspect_config nrt_inspect_config_t;

#pragma GCC visibility push(default)

/* --- One model --- */

/**
 * nrt_profile_start() - profile the executions of a model from the next one on
 * @model: model; waits for its executions
 * @filename: for the profile; the file is made now, and is empty until nrt_profile_stop()
 *
 * At most 262,144 instructions and transfers of an execution are kept; more are counted.
 * This takes the place of nrt_emu_set_trace() for the model.
 *
 * Return: NRT_SUCCESS; NRT_INVALID: a bad name, or the model or the name is in use for another
 * profile, or another kind of device profiling runs; NRT_INVALID_HANDLE; NRT_FAILURE: the file
 * cannot be made; NRT_RESOURCE.
 */
NRT_STATUS nrt_profile_start(nrt_model_t *model, const char *filename);

/**
 * nrt_profile_stop() - write the profile of the execution that ended last, and stop
 * @filename: as for nrt_profile_start()
 *
 * Return: NRT_SUCCESS; NRT_INVALID: nothing was started with that name; NRT_INVALID_HANDLE:
 * the model was unloaded meanwhile; NRT_QUEUE_EMPTY: the model was not executed;
 * NRT_FAILURE: the file cannot be written. The profile is stopped in all cases.
 */
NRT_STATUS nrt_profile_stop(const char *filename);

/* --- All models, written when asked for --- */

/**
 * nrt_profile_continuous_options_allocate() - make options with the defaults
 * @options: out: folder "./output"; for nrt_profile_continuous_options_free()
 *
 * Return: NRT_SUCCESS, NRT_INVALID, NRT_RESOURCE.
 */
NRT_STATUS nrt_profile_continuous_options_allocate(nrt_profile_continuous_options_t **options);

/**
 * nrt_profile_continuous_options_free() - free options
 * @options: options
 *
 * Return: NRT_SUCCESS, NRT_INVALID_HANDLE.
 */
NRT_STATUS nrt_profile_continuous_options_free(nrt_profile_continuous_options_t *options);

/**
 * nrt_profile_continuous_options_set_output_dir() - set the folder of the files
 * @options: options
 * @output_dir: path, copied; the folder is made when it is needed
 *
 * Return: NRT_SUCCESS, NRT_INVALID, NRT_INVALID_HANDLE, NRT_RESOURCE.
 */
NRT_STATUS
nrt_profile_continuous_options_set_output_dir(nrt_profile_continuous_options_t *options,
					      const char *output_dir);

/**
 * nrt_profile_continuous_start() - profile all executions of all models from now on
 * @options: options; NULL: the defaults
 *
 * Return: NRT_SUCCESS; NRT_INVALID: it runs already, or nrt_profile_start() or
 * nrt_inspect_begin() came first; NRT_INVALID_HANDLE; NRT_RESOURCE.
 */
NRT_STATUS nrt_profile_continuous_start(nrt_profile_continuous_options_t *options);

/**
 * nrt_profile_continuous_save() - write the profile of a core's last execution; go on
 * @vnc: core
 * @options: which folder; NULL: the defaults. The name of the file is new each time
 *
 * Return: NRT_SUCCESS; NRT_INVALID: not started, or no such core; NRT_INVALID_HANDLE;
 * NRT_QUEUE_EMPTY: no model was executed there; NRT_FAILURE: the file cannot be written.
 */
NRT_STATUS nrt_profile_continuous_save(uint32_t vnc, nrt_profile_continuous_options_t *options);

/**
 * nrt_profile_continuous_stop() - stop, and write nothing
 *
 * Return: NRT_SUCCESS; NRT_INVALID: it does not run.
 */
NRT_STATUS nrt_profile_continuous_stop(void);

/* --- System and device profile together --- */

/**
 * nrt_inspect_begin() - begin as the variables NEURON_RT_INSPECT_* say
 *
 * Unless NEURON_RT_INSPECT_ENABLE or NEURON_RT_INSPECT_ON_FAIL is 1 nothing is captured.
 *
 * Return: NRT_SUCCESS; NRT_INVALID: a bad variable, or an inspection, a trace or device
 * profiling runs already; NRT_RESOURCE.
 */
NRT_STATUS nrt_inspect_begin(void);

/**
 * nrt_inspect_stop() - write the profiles, and stop
 *
 * Without an inspection it does nothing.
 * Return: NRT_SUCCESS; NRT_FAILURE: a file cannot be written.
 */
NRT_STATUS nrt_inspect_stop(void);

/**
 * nrt_inspect_begin_with_options() - begin as a configuration says
 * @options: configuration; NULL: the defaults, which capture nothing. No variable counts
 *
 * Return: as for nrt_inspect_begin(); NRT_INVALID_HANDLE.
 */
NRT_STATUS nrt_inspect_begin_with_options(nrt_inspect_config_t *options);

/**
 * nrt_inspect_config_allocate() - make a configuration with the defaults
 * @options: out: for nrt_inspect_config_free()
 *
 * Return: NRT_SUCCESS, NRT_INVALID, NRT_RESOURCE.
 */
NRT_STATUS nrt_inspect_config_allocate(nrt_inspect_config_t **options);

/**
 * nrt_inspect_config_set_defaults() - the defaults
 * @options: session 1, folder "./output", all activities, all cores and types of events,
 *	1,000,000 events of each core; neither inspection nor inspection of failures
 *
 * Return: NRT_SUCCESS, NRT_INVALID_HANDLE, NRT_RESOURCE.
 */
NRT_STATUS nrt_inspect_config_set_defaults(nrt_inspect_config_t *options);

/**
 * nrt_inspect_config_free() - free a configuration; an inspection that it began goes on
 * @options: configuration
 *
 * Return: NRT_SUCCESS, NRT_INVALID_HANDLE.
 */
NRT_STATUS nrt_inspect_config_free(nrt_inspect_config_t *options);

/**
 * nrt_inspect_config_set_session_id() - set the number that is part of the files' names
 * @options: configuration
 * @session_id: number
 *
 * Return: NRT_SUCCESS, NRT_INVALID_HANDLE.
 */
NRT_STATUS nrt_inspect_config_set_session_id(nrt_inspect_config_t *options, int session_id);

/**
 * nrt_inspect_config_set_output_dir() - set the folder of the files
 * @options: configuration
 * @output_dir: path, not empty, copied; the folder is made when it is needed
 *
 * Return: NRT_SUCCESS, NRT_INVALID, NRT_INVALID_HANDLE, NRT_RESOURCE.
 */
NRT_STATUS nrt_inspect_config_set_output_dir(nrt_inspect_config_t *options,
					     const char *output_dir);

/**
 * nrt_inspect_config_set_sys_trace_max_events_per_nc() - set the size of the rings of events
 * @options: configuration
 * @sys_trace_max_events_per_nc: events of each core; 0: the default
 *
 * Return: NRT_SUCCESS, NRT_INVALID_HANDLE.
 */
NRT_STATUS
nrt_inspect_config_set_sys_trace_max_events_per_nc(nrt_inspect_config_t *options,
						   uint64_t sys_trace_max_events_per_nc);

/**
 * nrt_inspect_config_set_capture_enabled_for_nc() - capture the events of a core, or not
 * @options: configuration
 * @nc_idx: virtual core of the process, below 4096
 * @enabled: capture them
 *
 * Return: NRT_SUCCESS, NRT_INVALID, NRT_INVALID_HANDLE.
 */
NRT_STATUS nrt_inspect_config_set_capture_enabled_for_nc(nrt_inspect_config_t *options,
							 uint32_t nc_idx, bool enabled);

/**
 * nrt_inspect_config_set_capture_enabled_for_event_type_string() - events of a type, or not
 * @options: configuration
 * @event_type: one of nrt_sys_trace_get_event_types()
 * @enabled: capture them
 *
 * Return: NRT_SUCCESS, NRT_INVALID, NRT_INVALID_HANDLE.
 */
NRT_STATUS
nrt_inspect_config_set_capture_enabled_for_event_type_string(nrt_inspect_config_t *options,
							     const char *event_type, bool enabled);

/**
 * nrt_inspect_config_set_enable_inspect() - capture all executions, or not
 * @options: configuration
 * @enable_inspect: capture them
 *
 * Return: NRT_SUCCESS, NRT_INVALID_HANDLE.
 */
NRT_STATUS nrt_inspect_config_set_enable_inspect(nrt_inspect_config_t *options,
						 bool enable_inspect);

/**
 * nrt_inspect_config_set_enable_inspect_on_fail() - write device profiles of failures, or not
 * @options: configuration
 * @enable_inspect_on_fail: when nrt_execute() fails, write the profile of that execution
 *
 * Return: NRT_SUCCESS, NRT_INVALID_HANDLE.
 */
NRT_STATUS nrt_inspect_config_set_enable_inspect_on_fail(nrt_inspect_config_t *options,
							 bool enable_inspect_on_fail);

/**
 * nrt_inspect_config_get_all_activity_types() - the names of all activities
 * @activity_types: out: array of strings; free() each and then the array, or call
 *	nrt_inspect_config_free_activity_types()
 * @count: out: how many
 *
 * May be called at any time.
 * Return: NRT_SUCCESS, NRT_INVALID, NRT_RESOURCE.
 */
NRT_STATUS nrt_inspect_config_get_all_activity_types(const char ***activity_types,
						     size_t *count);

/**
 * nrt_inspect_config_get_enabled_activity_types() - the activities that are switched on
 * @options: configuration
 * @activity_types: out: as for nrt_inspect_config_get_all_activity_types()
 * @count: out: how many
 *
 * Return: NRT_SUCCESS, NRT_INVALID, NRT_INVALID_HANDLE, NRT_RESOURCE.
 */
NRT_STATUS nrt_inspect_config_get_enabled_activity_types(nrt_inspect_config_t *options,
							 const char ***activity_types,
							 size_t *count);

/**
 * nrt_inspect_config_free_activity_types() - free a list of names; at any time
 * @activity_types: list or NULL
 * @count: as it was given
 *
 * It does no more than free() for each name and for the list, which the caller may do himself. So
 * freeing a list twice is as bad as with free().
 */
void nrt_inspect_config_free_activity_types(const char **activity_types, size_t count);

/**
 * nrt_inspect_config_set_activity() - switch an activity on or off
 * @options: configuration
 * @activity_type: "system_profile", "device_profile", "host_memory", "cpu_util", or "all"
 * @enabled: on
 *
 * Return: NRT_SUCCESS, NRT_INVALID, NRT_INVALID_HANDLE.
 */
NRT_STATUS nrt_inspect_config_set_activity(nrt_inspect_config_t *options,
					   const char *activity_type, bool enabled);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* NRT_PROFILE_H */
