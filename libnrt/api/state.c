// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "api/state.h"
#include "comm/collective.h"

#define STATE_INITIALIZER { \
	.lock = PTHREAD_MUTEX_INITIALIZER, \
	.left = PTHREAD_COND_INITIALIZER, \
	.config_lock = PTHREAD_MUTEX_INITIALIZER, \
	.given[NRT_GIVEN_INFOS] = NRT_GIVEN_INITIALIZER, \
	.given[NRT_GIVEN_EVENTS] = NRT_GIVEN_INITIALIZER, \
	.recorder = NRT_RECORDER_INITIALIZER, \
	.profiler = NRT_PROFILER_INITIALIZER, \
}

static struct nrt_state *state_object(void)
{
	static struct nrt_state state = STATE_INITIALIZER;

	return &state;
}

/*
 * The threads of the library are not in the child, and locks may be held for ever, so it
 * forgets everything. Its copies of most file descriptors stay open until it calls exec() or ends.
 * Those by which other processes see that the parent has ended are closed.
 */
static void forget_in_child(void)
{
	struct nrt_state *state = state_object();
	unsigned int forks = state->forks + 1;

	if (atomic_load(&state->phase) == NRT_PHASE_READY)
		nrt_sendrecv_forget(&state->sendrecv);
	nrt_event_listen(0, NULL, NULL);
	/* Handles of the parent must not name what the child makes. */
	*state = (struct nrt_state)STATE_INITIALIZER;
	state->forks = forks;
}

/*
 * A thread that is cancelled in the middle of a call would leave a request behind that lies on its
 * stack, or a lock. So it is cancelled after the call.
 */
struct cancelling {
	unsigned int calls;
	int before;
};

static struct cancelling *cancelling(void)
{
	static _Thread_local struct cancelling cancelling;

	return &cancelling;
}

/* A call begins, perhaps within another one. */
static void hold_cancel(void)
{
	struct cancelling *thread = cancelling();

	if (!thread->calls++)
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &thread->before);
}

static void release_cancel(void)
{
	struct cancelling *thread = cancelling();

	if (!--thread->calls)
		pthread_setcancelstate(thread->before, NULL);
}

/* With the lock when it returns. An nrt_close() under way is over then. */
static void lock_settled(struct nrt_state *state)
{
	pthread_mutex_lock(&state->lock);
	while (atomic_load(&state->phase) == NRT_PHASE_CLOSING)
		pthread_cond_wait(&state->left, &state->lock);
}

static void drop_user(struct nrt_state *state)
{
	if (atomic_fetch_sub(&state->users, 1) != 1 ||
	    atomic_load(&state->phase) != NRT_PHASE_CLOSING)
		return;
	/* nrt_close() waits; it gave up the lock for that. */
	pthread_mutex_lock(&state->lock);
	pthread_cond_broadcast(&state->left);
	pthread_mutex_unlock(&state->lock);
}

void nrt_leave(struct nrt_state *state)
{
	drop_user(state);
	release_cancel();
}

NRT_STATUS nrt_end(struct nrt_state *state, const char *call, NRT_STATUS status,
		   const struct nrt_error *error)
{
	nrt_leave(state);
	return status ? nrt_fail(call, error) : NRT_SUCCESS;
}

struct nrt_state *nrt_enter_any(void)
{
	struct nrt_state *state = state_object();

	hold_cancel();
	atomic_fetch_add(&state->users, 1);
	/* nrt_close() waits for callbacks before it takes anything away. */
	while (atomic_load(&state->phase) == NRT_PHASE_CLOSING && !nrt_in_callback()) {
		drop_user(state);
		lock_settled(state);
		pthread_mutex_unlock(&state->lock);
		atomic_fetch_add(&state->users, 1);
	}
	return state;
}

bool nrt_is_ready(const struct nrt_state *state)
{
	return atomic_load(&state->phase) == NRT_PHASE_READY;
}

struct nrt_state *nrt_enter(const char *call, NRT_STATUS *status)
{
	struct nrt_state *state = state_object();
	enum nrt_phase phase;

	hold_cancel();
	atomic_fetch_add(&state->users, 1);
	phase = atomic_load(&state->phase);
	if (phase == NRT_PHASE_READY) {
		*status = NRT_SUCCESS;
		return state;
	}
	drop_user(state);
	*status = phase == NRT_PHASE_NEW ? NRT_UNINITIALIZED : NRT_CLOSED;
	nrt_log(NRT_LOG_ERROR, call, "called %s",
		*status == NRT_CLOSED ? "after nrt_close()" : "before nrt_init()");
	release_cancel();
	return NULL;
}

void *nrt_get(struct nrt_state *state, enum nrt_kind kind, const void *handle,
	      struct nrt_error *error)
{
	static const char *const names[NRT_NR_KINDS] = {
		[NRT_KIND_MODEL] = "loaded model",
		[NRT_KIND_TENSOR] = "tensor",
		[NRT_KIND_TENSOR_SET] = "tensor set",
		[NRT_KIND_TRACKER] = "error tracker",
		[NRT_KIND_TRACE_CONFIG] = "configuration of a system trace",
		[NRT_KIND_FETCH_OPTIONS] = "set of options for fetching events",
		[NRT_KIND_PROFILE_OPTIONS] = "set of options for continuous profiling",
		[NRT_KIND_INSPECT_CONFIG] = "configuration of an inspection",
		[NRT_KIND_ENDPOINT] = "communicator",
		[NRT_KIND_MESSAGE] = "request",
		[NRT_KIND_COLLECTIVE] = "prepared collective",
	};
	void *object = state->handles ? nrt_handle_get(state->handles, kind, handle) : NULL;

	if (!object)
		nrt_error_set(error, NRT_INVALID_HANDLE, "%p is no %s", handle, names[kind]);
	return object;
}

NRT_STATUS nrt_drop(struct nrt_state *state, const char *call, enum nrt_kind kind,
		    const void *handle, bool wait)
{
	struct nrt_error error;
	void *object;

	if (state->handles && nrt_handle_close(state->handles, kind, handle, wait))
		return NRT_SUCCESS;
	object = nrt_get(state, kind, handle, &error);
	if (!object)
		return nrt_fail(call, &error);
	nrt_handle_put(state->handles, handle);
	return NRT_FAILURE;
}

static void release_model(void *object)
{
	nrt_model_release(object);
}

static void release_tensor(void *object)
{
	nrt_tensor_release(object);
}

static void release_set(void *object)
{
	nrt_set_release(object);
}

static void release_tracker(void *object)
{
	nrt_tracker_release(object);
}

static void release_folder(void *object)
{
	struct nrt_profile_options *options = object;

	free(options->folder);
	free(options);
}

static void release_inspect(void *object)
{
	nrt_inspect_fini(object);
	free(object);
}

static void release_endpoint(void *object)
{
	nrt_endpoint_release(object);
}

static void release_message(void *object)
{
	nrt_message_release(object);
}

static void release_collective(void *object)
{
	nrt_collective_free(object);
}

static const struct nrt_handle_ops *handle_ops(void)
{
	static const struct nrt_handle_ops ops = {
		.release[NRT_KIND_MODEL] = release_model,
		.release[NRT_KIND_TENSOR] = release_tensor,
		.release[NRT_KIND_TENSOR_SET] = release_set,
		.release[NRT_KIND_TRACKER] = release_tracker,
		.release[NRT_KIND_TRACE_CONFIG] = free,
		.release[NRT_KIND_FETCH_OPTIONS] = free,
		.release[NRT_KIND_PROFILE_OPTIONS] = release_folder,
		.release[NRT_KIND_INSPECT_CONFIG] = release_inspect,
		.release[NRT_KIND_ENDPOINT] = release_endpoint,
		.release[NRT_KIND_MESSAGE] = release_message,
		.release[NRT_KIND_COLLECTIVE] = release_collective,
	};

	return &ops;
}

void nrt_release_object(enum nrt_kind kind, void *object)
{
	handle_ops()->release[kind](object);
}

/* With the lock. The table lives as long as the process: tensors may outlive nrt_close(). */
static NRT_STATUS make_handles(struct nrt_state *state, struct nrt_error *error)
{
	struct nrt_handles *handles;

	if (state->handles)
		return NRT_SUCCESS;
	if (pthread_atfork(NULL, NULL, forget_in_child))
		return nrt_error_memory(error);
	handles = nrt_handles_new(handle_ops(), state->forks);
	if (!handles)
		return nrt_error_memory(error);
	state->handles = handles;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_handles_ready(struct nrt_state *state, struct nrt_error *error)
{
	NRT_STATUS status;

	if (state->handles)
		return NRT_SUCCESS;
	pthread_mutex_lock(&state->lock);
	status = make_handles(state, error);
	pthread_mutex_unlock(&state->lock);
	return status;
}

/* Processes find each other only if the user asks for it: a socket is a risk, and can be in use. */
static struct nrt_peer_group peer_group(const struct nrt_state *state)
{
	return (struct nrt_peer_group){
		.open = state->env.sendrecv_port,
		.port = state->env.sendrecv_port,
		.lnc = state->machine.lnc,
	};
}

/* With the lock. */
static NRT_STATUS init_locked(struct nrt_state *state, struct nrt_error *error)
{
	struct nrt_machine *machine = &state->machine;
	struct nrt_peer_group group;

	if (atomic_load(&state->phase) == NRT_PHASE_READY)
		return nrt_error_set(error, NRT_INVALID, "already initialised");
	if (make_handles(state, error) || nrt_env_read(&state->env, error) ||
	    nrt_machine_open(machine, state->env.lnc, error))
		return error->status;
	if (nrt_machine_claim(machine, &state->env, error))
		goto fail;
	if (nrt_streams_init(&state->streams, machine->nr_vcores, state->env.stream_events, error))
		goto fail;
	state->units = nrt_units_new(machine->nr_vcores);
	if (!state->units) {
		nrt_error_memory(error);
		goto fail_streams;
	}
	group = peer_group(state);
	if (nrt_sendrecv_init(&state->sendrecv, state->handles, nrt_units_order(state->units),
			      nrt_machine_total(machine), &group, error))
		goto fail_units;
	if (nrt_worlds_init(&state->worlds, machine->nr_vcores, &state->meetings,
			    &state->env, error))
		goto fail_sendrecv;
	nrt_count_waits_init(&state->count_waits);
	nrt_groups_init(&state->groups);
	nrt_callbacks_init(&state->callbacks);
	nrt_meetings_init(&state->meetings);
	state->profiler.events = state->env.profile_events;
	atomic_store(&state->phase, NRT_PHASE_READY);
	return NRT_SUCCESS;
fail_sendrecv:
	nrt_sendrecv_fini(&state->sendrecv);
fail_units:
	nrt_units_free(state->units);
fail_streams:
	nrt_streams_fini(&state->streams);
fail:
	nrt_machine_close(machine);
	return error->status;
}

NRT_STATUS nrt_state_init(struct nrt_error *error)
{
	struct nrt_state *state = state_object();
	NRT_STATUS status;

	hold_cancel();
	lock_settled(state);
	status = init_locked(state, error);
	pthread_mutex_unlock(&state->lock);
	release_cancel();
	return status;
}

/* Nobody enters any more, and nobody is inside. */
static void take_down(struct nrt_state *state)
{
	void *model, *collective;

	/* Its threads use tensors and their order. */
	nrt_sendrecv_fini(&state->sendrecv);
	nrt_units_free(state->units);
	nrt_callbacks_stop(&state->callbacks);
	nrt_profiler_reset(&state->profiler);
	while ((model = nrt_handle_any(state->handles, NRT_KIND_MODEL)))
		nrt_handle_close(state->handles, NRT_KIND_MODEL, model, true);
	while ((collective = nrt_handle_any(state->handles, NRT_KIND_COLLECTIVE)))
		nrt_handle_close(state->handles, NRT_KIND_COLLECTIVE, collective, true);
	nrt_worlds_fini(&state->worlds);
	nrt_groups_fini(&state->groups);
	nrt_count_waits_fini(&state->count_waits);
	nrt_meetings_fini(&state->meetings);
	nrt_streams_fini(&state->streams);
	nrt_machine_close(&state->machine);
}

/*
 * With the lock, which is given up meanwhile: the phase keeps others out. The claims end
 * first, so whatever the cores run ends, and with it all that waits for them.
 */
static void close_locked(struct nrt_state *state)
{
	atomic_store(&state->phase, NRT_PHASE_CLOSING);
	nrt_units_cancel(state->units);
	nrt_count_waits_end(&state->count_waits);
	nrt_groups_cancel(&state->groups);
	nrt_worlds_cancel(&state->worlds);
	nrt_meetings_cancel(&state->meetings);
	nrt_machine_release(&state->machine);
	while (atomic_load(&state->users))
		pthread_cond_wait(&state->left, &state->lock);
	pthread_mutex_unlock(&state->lock);
	take_down(state);
	pthread_mutex_lock(&state->lock);
	atomic_store(&state->phase, NRT_PHASE_CLOSED);
	pthread_cond_broadcast(&state->left);
}

void nrt_state_close(void)
{
	struct nrt_state *state = state_object();

	hold_cancel();
	lock_settled(state);
	if (atomic_load(&state->phase) == NRT_PHASE_READY)
		close_locked(state);
	pthread_mutex_unlock(&state->lock);
	release_cancel();
}

NRT_STATUS nrt_give_back(const char *call, enum nrt_given_kind kind, void *memory)
{
	static const char *const names[] = {
		[NRT_GIVEN_INFOS] = "answer of nrt_get_model_tensor_info()",
		[NRT_GIVEN_EVENTS] = "answer of nrt_sys_trace_fetch_events()",
	};
	struct nrt_state *state = nrt_enter_any();
	struct nrt_error error;
	bool good;

	good = !memory || nrt_given_free(&state->given[kind], memory);
	if (!good)
		nrt_error_set(&error, NRT_INVALID_HANDLE, "%p is no %s, or was freed before",
			      memory, names[kind]);
	return nrt_end(state, call, good ? NRT_SUCCESS : error.status, &error);
}

NRT_STATUS nrt_model_call(const char *call, const nrt_model_t *handle, nrt_model_fn *fn, void *arg)
{
	struct nrt_state *state;
	struct nrt_model *model;
	struct nrt_error error;
	NRT_STATUS status;

	state = nrt_enter(call, &status);
	if (!state)
		return status;
	model = nrt_get(state, NRT_KIND_MODEL, handle, &error);
	status = model ? fn(state, model, arg, &error) : error.status;
	if (model)
		nrt_handle_put(state->handles, handle);
	return nrt_end(state, call, status, &error);
}

NRT_STATUS nrt_tensor_call(const char *call, const nrt_tensor_t *handle, nrt_tensor_fn *fn,
			   void *arg)
{
	struct nrt_tensor *tensor;
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;

	state = nrt_enter(call, &status);
	if (!state)
		return status;
	tensor = nrt_get(state, NRT_KIND_TENSOR, handle, &error);
	status = tensor ? fn(state, tensor, arg, &error) : error.status;
	if (tensor)
		nrt_handle_put(state->handles, handle);
	return nrt_end(state, call, status, &error);
}
