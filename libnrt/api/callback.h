/* SPDX-License-Identifier: MIT */
/*
 * Telling the program of the end of asynchronous executions.
 *
 * A thread of its own calls the program, so that a callback may wait for anything that the
 * library does, and holds up only other callbacks.
 */
#ifndef LIBNRT_API_CALLBACK_H
#define LIBNRT_API_CALLBACK_H

#include <nrt/nrt_experimental.h>

#include "exec/compute.h"

/**
 * struct nrt_callbacks - the function, and what it is to be told
 * @lock: protects the rest
 * @changed: there is more to tell, or less
 * @function, @params: nrt_register_async_exec_callback(); NULL: nobody is told
 * @first, @last: executions that ended, the oldest first
 * @calling: the function is being called
 * @stopping: the thread ends when it has told all
 * @threaded, @thread: it begins with the first execution
 */
struct nrt_callbacks {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	NRT_ASYNC_EXEC_STATUS_CALLBACK function;
	void *params;
	struct nrt_ended *first;
	struct nrt_ended **last;
	bool calling;
	bool stopping;
	bool threaded;
	pthread_t thread;
};

void nrt_callbacks_init(struct nrt_callbacks *callbacks);

/* Tell all that is left, and end the thread. */
void nrt_callbacks_stop(struct nrt_callbacks *callbacks);

void nrt_callbacks_set(struct nrt_callbacks *callbacks, NRT_ASYNC_EXEC_STATUS_CALLBACK function,
		       void *params);

/* @ended goes to the function, if there is one, and is freed. */
void nrt_callbacks_add(struct nrt_callbacks *callbacks, struct nrt_ended *ended);

/* Wait until all that ended so far is told. Returns at once in a callback. */
void nrt_callbacks_drain(struct nrt_callbacks *callbacks);

/* Is the caller a callback? */
bool nrt_in_callback(void);

#endif /* LIBNRT_API_CALLBACK_H */
