/* SPDX-License-Identifier: MIT */
/*
 * What a test cannot go on without: memory and threads. The process ends with a line that says
 * what it did not get.
 */
#ifndef SELFTESTS_LIBNRT_MUST_H
#define SELFTESTS_LIBNRT_MUST_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* @size zero bytes for free(); @size may be 0. */
static inline void *must_allocate(size_t size)
{
	void *memory = calloc(1, size ? size : 1);

	if (memory)
		return memory;
	fprintf(stderr, "# no memory for %zu bytes of the test\n", size);
	_exit(1);
}

static inline void must_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	int ret = pthread_create(thread, NULL, run, arg);

	if (!ret)
		return;
	fprintf(stderr, "# no thread for the test: %s\n", strerror(ret));
	_exit(1);
}

#endif /* SELFTESTS_LIBNRT_MUST_H */
