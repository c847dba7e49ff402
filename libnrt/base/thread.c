// SPDX-License-Identifier: MIT
#include "base/thread.h"

void nrt_signals_block(sigset_t *old)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, old);
}

void nrt_signals_restore(const sigset_t *old)
{
	pthread_sigmask(SIG_SETMASK, old, NULL);
}

int nrt_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	sigset_t old;
	int ret;

	nrt_signals_block(&old);
	ret = pthread_create(thread, NULL, run, arg);
	nrt_signals_restore(&old);
	return ret;
}
