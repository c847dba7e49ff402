/* SPDX-License-Identifier: MIT */
/*
 * The recorder: keeps events in rings, a ring for each core, until somebody takes them.
 *
 * There is one trace at a time. All functions may be called from any thread.
 */
#ifndef LIBNRT_OBSERVE_RECORDER_H
#define LIBNRT_OBSERVE_RECORDER_H

#include <pthread.h>

#include "observe/config.h"

/* Whose trace it is. */
enum nrt_trace_user {
	NRT_TRACE_NOBODY,
	NRT_TRACE_SYS_TRACE,	/* nrt_sys_trace_start() */
	NRT_TRACE_TRACE,	/* nrt_trace_start() */
	NRT_TRACE_INSPECT,	/* nrt_inspect_begin() */
};

struct nrt_ring;

/**
 * struct nrt_recorder - the recorder
 * @lock: protects the rest
 * @user: whose trace is running
 * @capture: what it captures
 * @rings, @nr_rings: ring 0 is for events of no core, ring 1 + c for those of core c
 * @next_id: of an event
 * @real_ns: what to add to CLOCK_MONOTONIC for the time of day
 */
struct nrt_recorder {
	pthread_mutex_t lock;
	enum nrt_trace_user user;
	struct nrt_capture capture;
	struct nrt_ring *rings;
	size_t nr_rings;
	uint64_t next_id;
	uint64_t real_ns;
};

#define NRT_RECORDER_INITIALIZER { .lock = PTHREAD_MUTEX_INITIALIZER }

/* Start a trace. NRT_INVALID: there is one. */
NRT_STATUS nrt_recorder_start(struct nrt_recorder *recorder, enum nrt_trace_user user,
			      const struct nrt_capture *capture, struct nrt_error *error);

/* Stop the trace of @user and drop its events. NRT_INVALID: he has none. */
NRT_STATUS nrt_recorder_stop(struct nrt_recorder *recorder, enum nrt_trace_user user,
			     struct nrt_error *error);

/*
 * Take events out of the trace of @user, as JSON text of *@size bytes and a NUL, which the
 * caller frees. NRT_INVALID: he has no trace.
 */
NRT_STATUS nrt_recorder_take(struct nrt_recorder *recorder, enum nrt_trace_user user,
			     const struct nrt_fetch *fetch, char **text, size_t *size,
			     struct nrt_error *error);

#endif /* LIBNRT_OBSERVE_RECORDER_H */
