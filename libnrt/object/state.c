// SPDX-License-Identifier: MIT
#include "object/state.h"

struct nrt_state *nrt_state(void)
{
	static struct nrt_state state = {
		.lock = PTHREAD_RWLOCK_INITIALIZER,
		.models_lock = PTHREAD_MUTEX_INITIALIZER,
		.log_once = PTHREAD_ONCE_INIT,
	};

	return &state;
}

static void read_log_env(void)
{
	nrt_log_read_env(&nrt_state()->log);
}

const struct nrt_log_config *nrt_state_log(void)
{
	struct nrt_state *state = nrt_state();

	pthread_once(&state->log_once, read_log_env);
	return &state->log;
}

struct nrt_state *nrt_enter(const char *call, NRT_STATUS *status)
{
	struct nrt_state *state = nrt_state();

	pthread_rwlock_rdlock(&state->lock);
	if (state->phase == NRT_PHASE_READY) {
		*status = NRT_SUCCESS;
		return state;
	}
	*status = state->phase == NRT_PHASE_NEW ? NRT_UNINITIALIZED : NRT_CLOSED;
	pthread_rwlock_unlock(&state->lock);
	nrt_log(NRT_LOG_ERROR, call, "called %s",
		*status == NRT_CLOSED ? "after nrt_close()" : "before nrt_init()");
	return NULL;
}

void nrt_leave(struct nrt_state *state)
{
	pthread_rwlock_unlock(&state->lock);
}

struct nrt_core *nrt_core_get(struct nrt_state *state, int64_t vnc, struct nrt_error *error)
{
	if (vnc >= 0 && vnc < state->nr_cores)
		return &state->cores[vnc];
	nrt_error_set(error, NRT_INVALID, "core %lld: the process owns cores 0 to %u",
		      (long long)vnc, state->nr_cores - 1);
	return NULL;
}
