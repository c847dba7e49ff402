/* SPDX-License-Identifier: MIT */
/*
 * The system trace: what the library does, and when, as events in memory.
 *
 * A configuration says what is captured. It is an object of the program: the calls that
 * make, change and free one may be made at any time, and a trace copies what it needs when
 * it starts. Each core has a ring of events. When it is full the newest event takes the
 * place of the oldest one, and that is counted.
 *
 * Names, values and layouts are the public ones; the rules of nrt.h hold.
 * Documentation/libnrt/profile.rst has the events and the format of what is fetched.
 */
#ifndef NRT_SYS_TRACE_H
#define NRT_SYS_TRACE_H

#include <nrt/nrt.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nrt_sys_trace_config nrt_sys_trace_config_t;
typedef struct nrt_sys_trace_fetch_options nrt_sys_trace_fetch_options_t;

#pragma GCC visibility push(default)

/* --- What is captured --- */

/**
 * nrt_sys_trace_config_allocate() - make a configuration with the defaults
 * @options: out: for nrt_sys_trace_config_free()
 *
 * Return: NRT_SUCCESS, NRT_INVALID, NRT_RESOURCE.
 */
NRT_STATUS nrt_sys_trace_config_allocate(nrt_sys_trace_config_t **options);

/**
 * nrt_sys_trace_config_set_defaults() - all cores, all types, 1,000,000 events of each core
 * @options: configuration
 */
void nrt_sys_trace_config_set_defaults(nrt_sys_trace_config_t *options);

/**
 * nrt_sys_trace_config_free() - free a configuration; a trace that it started goes on
 * @options: configuration or NULL
 */
void nrt_sys_trace_config_free(nrt_sys_trace_config_t *options);

/**
 * nrt_sys_trace_config_set_max_events_per_nc() - set the size of the rings
 * @options: configuration
 * @max_events_per_nc: events of each core; 0: the default. Memory is taken as they come
 */
void nrt_sys_trace_config_set_max_events_per_nc(nrt_sys_trace_config_t *options,
						uint64_t max_events_per_nc);

/**
 * nrt_sys_trace_config_set_capture_enabled_for_nc() - capture the events of a core, or not
 * @options: configuration
 * @nc_idx: virtual core of the process, below 4096
 * @enabled: capture them
 */
void nrt_sys_trace_config_set_capture_enabled_for_nc(nrt_sys_trace_config_t *options,
						     uint32_t nc_idx, bool enabled);

/**
 * nrt_sys_trace_config_set_capture_enabled_for_event_type() - capture events of a type, or not
 * @options: configuration
 * @event_type: one of nrt_sys_trace_get_event_types()
 * @enabled: capture them
 *
 * Return: NRT_SUCCESS, NRT_INVALID, NRT_INVALID_HANDLE.
 */
NRT_STATUS
nrt_sys_trace_config_set_capture_enabled_for_event_type(nrt_sys_trace_config_t *options,
							const char *event_type, bool enabled);

/**
 * nrt_sys_trace_get_event_types() - the names of all types of events
 * @event_types: out: array of strings; free() each and then the array, or call
 *	nrt_sys_trace_free_event_types()
 * @count: out: how many
 *
 * May be called at any time.
 * Return: NRT_SUCCESS, NRT_INVALID, NRT_RESOURCE.
 */
NRT_STATUS nrt_sys_trace_get_event_types(const char ***event_types, size_t *count);

/**
 * nrt_sys_trace_free_event_types() - free a list of names; may be called at any time
 * @event_types: list or NULL
 * @count: as it was given
 *
 * It does no more than free() for each name and for the list, which the caller may do himself. So
 * the library does not know who has such a list, and freeing one twice is as bad as with free().
 */
void nrt_sys_trace_free_event_types(const char **event_types, size_t count);

/**
 * nrt_sys_trace_config_get_enabled_event_types() - the types that a configuration captures
 * @options: configuration
 * @event_types: out: as for nrt_sys_trace_get_event_types()
 * @count: out: how many
 *
 * Return: NRT_SUCCESS, NRT_INVALID, NRT_INVALID_HANDLE, NRT_RESOURCE.
 */
NRT_STATUS nrt_sys_trace_config_get_enabled_event_types(nrt_sys_trace_config_t *options,
							const char ***event_types, size_t *count);

/* --- The trace --- */

/**
 * nrt_sys_trace_start() - start to capture; may be called at any time
 * @options: configuration; NULL: the defaults
 *
 * Return: NRT_SUCCESS; NRT_INVALID: a trace is running, perhaps one of nrt_trace_start() or
 * nrt_inspect_begin(); NRT_INVALID_HANDLE.
 */
NRT_STATUS nrt_sys_trace_start(nrt_sys_trace_config_t *options);

/**
 * nrt_sys_trace_stop() - stop, and drop what was not fetched; may be called at any time
 *
 * Return: NRT_SUCCESS; NRT_INVALID: nrt_sys_trace_start() has not been called.
 */
NRT_STATUS nrt_sys_trace_stop(void);

/* --- Reading it --- */

/**
 * nrt_sys_trace_fetch_options_allocate() - make options with the defaults
 * @options: out: for nrt_sys_trace_fetch_options_free()
 *
 * Return: NRT_SUCCESS, NRT_INVALID, NRT_RESOURCE.
 */
NRT_STATUS nrt_sys_trace_fetch_options_allocate(nrt_sys_trace_fetch_options_t **options);

/**
 * nrt_sys_trace_fetch_options_set_defaults() - all events of all cores
 * @options: options
 */
void nrt_sys_trace_fetch_options_set_defaults(nrt_sys_trace_fetch_options_t *options);

/**
 * nrt_sys_trace_fetch_options_free() - free options
 * @options: options or NULL
 */
void nrt_sys_trace_fetch_options_free(nrt_sys_trace_fetch_options_t *options);

/**
 * nrt_sys_trace_fetch_options_set_max_events_per_nc() - fetch at most so many of each core
 * @options: options
 * @max_events_per_nc: events, the oldest first
 */
void nrt_sys_trace_fetch_options_set_max_events_per_nc(nrt_sys_trace_fetch_options_t *options,
						       uint64_t max_events_per_nc);

/**
 * nrt_sys_trace_fetch_options_set_nc_idx() - fetch the events of one core only
 * @options: options
 * @nc_idx: virtual core of the process
 */
void nrt_sys_trace_fetch_options_set_nc_idx(nrt_sys_trace_fetch_options_t *options,
					    uint64_t nc_idx);

/**
 * nrt_sys_trace_fetch_events() - take events out of the rings; may be called at any time
 * @buffer: out: JSON text with a NUL behind it, for nrt_sys_trace_buffer_free()
 * @written_size: out: bytes without the NUL
 * @options: which events; NULL: all
 *
 * An event is fetched once.
 *
 * Return: NRT_SUCCESS, also without an event; NRT_INVALID: nrt_sys_trace_start() has not been
 * called; NRT_INVALID_HANDLE; NRT_RESOURCE.
 */
NRT_STATUS nrt_sys_trace_fetch_events(char **buffer, size_t *written_size,
				      const nrt_sys_trace_fetch_options_t *options);

/**
 * nrt_sys_trace_buffer_free() - free the text; may be called at any time
 * @buffer: text or NULL
 *
 * A text that nrt_sys_trace_fetch_events() did not give, or that was freed before, gets a line in
 * the log, and nothing is done. As it is an address, that is known until the memory is given out
 * again.
 */
void nrt_sys_trace_buffer_free(char *buffer);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* NRT_SYS_TRACE_H */
