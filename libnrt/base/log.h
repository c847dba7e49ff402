/* SPDX-License-Identifier: MIT */
/*
 * The log: NEURON_RT_LOG_LEVEL and NEURON_RT_LOG_LOCATION.
 */
#ifndef LIBNRT_BASE_LOG_H
#define LIBNRT_BASE_LOG_H

#include <stdbool.h>

#include "base/error.h"

enum nrt_log_level {
	NRT_LOG_QUIET,
	NRT_LOG_ERROR,
	NRT_LOG_WARNING,
	NRT_LOG_INFO,
	NRT_LOG_DEBUG,
	NRT_LOG_TRACE,
};

/* Is it the name of a level? */
bool nrt_log_knows(const char *level);

/* Is it the name of a place where lines go? */
bool nrt_log_knows_place(const char *place);

/* Would a line of that level be written? The environment is read at the first use. */
bool nrt_log_wants(enum nrt_log_level level);

/* Write nothing from now on: the user has ended what runs, and its end is no error. */
void nrt_log_mute(void);

/* One line about the public function @call. Any thread, any time. */
void nrt_log(enum nrt_log_level level, const char *call, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* A warning that everybody must see who sees errors. */
void nrt_warn(const char *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Log why @call failed; returns the status. */
NRT_STATUS nrt_fail(const char *call, const struct nrt_error *error);

/* The same for a failure that needs no struct nrt_error. */
#define nrt_fail_with(call, status, ...) \
	(nrt_log(NRT_LOG_ERROR, call, __VA_ARGS__), (status))

#endif /* LIBNRT_BASE_LOG_H */
