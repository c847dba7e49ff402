/* SPDX-License-Identifier: MIT */
/*
 * Threads of the library. They block all signals: the handlers of a program run in its own threads,
 * which it knows.
 */
#ifndef LIBNRT_BASE_THREAD_H
#define LIBNRT_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

/* A thread that the caller starts before nrt_signals_restore() blocks all signals. */
void nrt_signals_block(sigset_t *old);
void nrt_signals_restore(const sigset_t *old);

/* As pthread_create() without attributes: 0 or an errno. */
int nrt_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

#endif /* LIBNRT_BASE_THREAD_H */
