/* SPDX-License-Identifier: MIT */
/*
 * The state of the process, and how a public call begins and ends.
 *
 * A call enters, which keeps nrt_close() from taking away what it uses, and leaves. No lock
 * is held meanwhile: nrt_close() first ends what is running, and then waits until nobody is
 * inside.
 */
#ifndef LIBNRT_API_STATE_H
#define LIBNRT_API_STATE_H

#include "api/callback.h"
#include "base/given.h"
#include "base/log.h"
#include "comm/group.h"
#include "comm/host.h"
#include "comm/sendrecv.h"
#include "comm/stream.h"
#include "comm/world.h"
#include "exec/compute.h"
#include "hw/machine.h"
#include "observe/profile.h"

enum nrt_phase {
	NRT_PHASE_NEW,
	NRT_PHASE_READY,
	NRT_PHASE_CLOSING,
	NRT_PHASE_CLOSED,
};

/* Memory that programs read themselves and give back. */
enum nrt_given_kind {
	NRT_GIVEN_INFOS,
	NRT_GIVEN_EVENTS,
	NRT_NR_GIVEN,
};

/**
 * struct nrt_state - the state of the process
 * @lock: protects changes of @phase and @handles; held by nrt_init()
 * @left: @users became 0 while @phase was CLOSING, or that is over
 * @phase: what calls are allowed
 * @users: calls that have entered
 * @handles: all that programs have names for; NULL until somebody needs it
 * @forks: generations of processes before this one
 * @env: the environment at nrt_init(); with what follows while @phase is READY
 * @machine: chips and cores
 * @units: execution units of the cores
 * @count_waits: who waits for executions that write to a tensor
 * @groups: groups of ranks
 * @meetings: of ranks, for work of the host
 * @worlds: of ranks, for collectives
 * @sendrecv: tensors that cores send
 * @streams: debug streams of cores
 * @next_model: id of the next model
 * @callbacks: who is told of the end of executions
 * @config_lock: protects the contents of all configurations
 * @given: what programs have, by kind
 * @recorder: events
 * @profiler: profiles and inspections
 * @trace_memory: nrt_trace_stop() tells the memory of the cores
 */
struct nrt_state {
	pthread_mutex_t lock;
	pthread_cond_t left;
	_Atomic enum nrt_phase phase;
	atomic_uint users;
	struct nrt_handles *_Atomic handles;
	unsigned int forks;
	struct nrt_env env;
	struct nrt_machine machine;
	struct nrt_units *units;
	struct nrt_count_waits count_waits;
	struct nrt_groups groups;
	struct nrt_meetings meetings;
	struct nrt_worlds worlds;
	struct nrt_sendrecv sendrecv;
	struct nrt_streams streams;
	atomic_uint next_model;
	struct nrt_callbacks callbacks;
	pthread_mutex_t config_lock;
	struct nrt_given given[NRT_NR_GIVEN];
	struct nrt_recorder recorder;
	struct nrt_profiler profiler;
	atomic_bool trace_memory;
};

/*
 * Begin a call that needs an initialised library: NULL with *@status set, and a log line,
 * when it is not. Every successful call ends with nrt_leave() or nrt_end().
 */
struct nrt_state *nrt_enter(const char *call, NRT_STATUS *status);
void nrt_leave(struct nrt_state *state);

/* Leave, and log why @call failed, if @status says so; returns it. */
NRT_STATUS nrt_end(struct nrt_state *state, const char *call, NRT_STATUS status,
		   const struct nrt_error *error);

/*
 * Begin a call that is allowed at any time: it never fails. What exists only while the
 * library is initialised must be asked for with nrt_is_ready().
 */
struct nrt_state *nrt_enter_any(void);
bool nrt_is_ready(const struct nrt_state *state);

/* The object of a handle, with a reference; else NULL and @error. */
void *nrt_get(struct nrt_state *state, enum nrt_kind kind, const void *handle,
	      struct nrt_error *error);

/* Like nrt_handle_close(), with a line in the log when there is no such handle. */
NRT_STATUS nrt_drop(struct nrt_state *state, const char *call, enum nrt_kind kind,
		    const void *handle, bool wait);

/* Now there is a table of handles. */
NRT_STATUS nrt_handles_ready(struct nrt_state *state, struct nrt_error *error);

/* End an object that has no handle. */
void nrt_release_object(enum nrt_kind kind, void *object);

/*
 * The API call @call, which frees what another one gave: NRT_INVALID_HANDLE and a line in the log
 * when @memory is nothing of that kind. NULL is nothing to free.
 */
NRT_STATUS nrt_give_back(const char *call, enum nrt_given_kind kind, void *memory);

/* nrt_init() and nrt_close(). */
NRT_STATUS nrt_state_init(struct nrt_error *error);
void nrt_state_close(void);

/* What a call of the API does with a loaded model; @error says why it returns a failure. */
typedef NRT_STATUS nrt_model_fn(struct nrt_state *state, struct nrt_model *model, void *arg,
				struct nrt_error *error);

/* The API call @call about @model: enter, look the model up, run @fn, leave, log the error. */
NRT_STATUS nrt_model_call(const char *call, const nrt_model_t *model, nrt_model_fn *fn, void *arg);

/* The same for a tensor. */
typedef NRT_STATUS nrt_tensor_fn(struct nrt_state *state, struct nrt_tensor *tensor, void *arg,
				 struct nrt_error *error);
NRT_STATUS nrt_tensor_call(const char *call, const nrt_tensor_t *tensor, nrt_tensor_fn *fn,
			   void *arg);

#endif /* LIBNRT_API_STATE_H */
