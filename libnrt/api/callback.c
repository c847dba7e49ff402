// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "api/callback.h"
#include "base/thread.h"

/* Of the calling thread: it is the one that calls the program. */
static bool *in_callback(void)
{
	static _Thread_local bool yes;

	return &yes;
}

bool nrt_in_callback(void)
{
	return *in_callback();
}

void nrt_callbacks_init(struct nrt_callbacks *callbacks)
{
	*callbacks = (struct nrt_callbacks){ .last = &callbacks->first };
	pthread_mutex_init(&callbacks->lock, NULL);
	pthread_cond_init(&callbacks->changed, NULL);
}

/* With the lock, which is given up meanwhile. */
static void tell_first(struct nrt_callbacks *callbacks)
{
	NRT_ASYNC_EXEC_STATUS_CALLBACK function = callbacks->function;
	void *params = callbacks->params;
	struct nrt_ended *ended = callbacks->first;

	callbacks->first = ended->next;
	if (!callbacks->first)
		callbacks->last = &callbacks->first;
	callbacks->calling = true;
	pthread_mutex_unlock(&callbacks->lock);
	if (function)
		function(params, ended->model, ended->core, ended->seq, ended->error.status);
	free(ended);
	pthread_mutex_lock(&callbacks->lock);
	callbacks->calling = false;
	pthread_cond_broadcast(&callbacks->changed);
}

static void *callbacks_main(void *arg)
{
	struct nrt_callbacks *callbacks = arg;

	*in_callback() = true;
	pthread_mutex_lock(&callbacks->lock);
	while (callbacks->first || !callbacks->stopping) {
		if (callbacks->first)
			tell_first(callbacks);
		else
			pthread_cond_wait(&callbacks->changed, &callbacks->lock);
	}
	pthread_mutex_unlock(&callbacks->lock);
	return NULL;
}

/* With the lock. */
static bool have_thread(struct nrt_callbacks *callbacks)
{
	if (!callbacks->threaded)
		callbacks->threaded = !nrt_thread_start(&callbacks->thread, callbacks_main,
							callbacks);
	return callbacks->threaded;
}

void nrt_callbacks_add(struct nrt_callbacks *callbacks, struct nrt_ended *ended)
{
	pthread_mutex_lock(&callbacks->lock);
	if (callbacks->function && have_thread(callbacks)) {
		ended->next = NULL;
		*callbacks->last = ended;
		callbacks->last = &ended->next;
		ended = NULL;
		pthread_cond_broadcast(&callbacks->changed);
	}
	pthread_mutex_unlock(&callbacks->lock);
	free(ended);
}

void nrt_callbacks_set(struct nrt_callbacks *callbacks, NRT_ASYNC_EXEC_STATUS_CALLBACK function,
		       void *params)
{
	pthread_mutex_lock(&callbacks->lock);
	callbacks->function = function;
	callbacks->params = params;
	pthread_mutex_unlock(&callbacks->lock);
	/* The program may take away what the function before needed. */
	nrt_callbacks_drain(callbacks);
}

void nrt_callbacks_drain(struct nrt_callbacks *callbacks)
{
	if (nrt_in_callback())
		return;
	pthread_mutex_lock(&callbacks->lock);
	while (callbacks->first || callbacks->calling)
		pthread_cond_wait(&callbacks->changed, &callbacks->lock);
	pthread_mutex_unlock(&callbacks->lock);
}

void nrt_callbacks_stop(struct nrt_callbacks *callbacks)
{
	pthread_mutex_lock(&callbacks->lock);
	callbacks->stopping = true;
	pthread_cond_broadcast(&callbacks->changed);
	pthread_mutex_unlock(&callbacks->lock);
	if (callbacks->threaded)
		pthread_join(callbacks->thread, NULL);
	pthread_cond_destroy(&callbacks->changed);
	pthread_mutex_destroy(&callbacks->lock);
}
