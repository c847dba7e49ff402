/* SPDX-License-Identifier: MIT */
/*
 * The state of the process: the only object of the library that is not reached from
 * a handle.
 */
#ifndef LIBNRT_STATE_H
#define LIBNRT_STATE_H

#include <pthread.h>

#include "hw/device.h"
#include "base/env.h"
#include "base/log.h"

struct nrt_comm;
struct nrt_model;

enum nrt_phase {
	NRT_PHASE_NEW,
	NRT_PHASE_READY,
	NRT_PHASE_CLOSED,
};

/**
 * struct nrt_state - the state of the process
 * @lock: every call holds it for reading; nrt_init() and nrt_close() for writing
 * @phase: what calls are allowed; under @lock, like the rest down to @nr_cores
 * @env: the environment at nrt_init()
 * @devices, @nr_devices: all chips
 * @cores, @nr_cores: cores of the process, by vnc
 * @models_lock: protects @models, @comms and the model counts of cores
 * @models: loaded ones
 * @comms: groups of ranks, the oldest first
 * @log_once: for @log
 * @log: where lines go
 */
struct nrt_state {
	pthread_rwlock_t lock;
	enum nrt_phase phase;
	struct nrt_env env;
	struct nrt_device **devices;
	unsigned int nr_devices;
	struct nrt_core *cores;
	unsigned int nr_cores;
	pthread_mutex_t models_lock;
	struct nrt_model *models;
	struct nrt_comm *comms;
	pthread_once_t log_once;
	struct nrt_log_config log;
};

/* The object; fields as their locks allow. */
struct nrt_state *nrt_state(void);

/* The log configuration, read from the environment at the first use. */
const struct nrt_log_config *nrt_state_log(void);

/*
 * Begin a call that needs an initialised library: NULL with *@status set, and a log line,
 * when it is not. Every successful call ends with nrt_leave().
 */
struct nrt_state *nrt_enter(const char *call, NRT_STATUS *status);
void nrt_leave(struct nrt_state *state);

/* The core with that number, or NULL and @error. */
struct nrt_core *nrt_core_get(struct nrt_state *state, int64_t vnc, struct nrt_error *error);

#endif /* LIBNRT_STATE_H */
