/* SPDX-License-Identifier: MIT */
/*
 * Memory that a program was given and reads itself, so it has an address and no handle. What is
 * given back must be known to have been given, because free() of anything else would crash.
 */
#ifndef LIBNRT_BASE_GIVEN_H
#define LIBNRT_BASE_GIVEN_H

#include <pthread.h>
#include <stdbool.h>

/**
 * struct nrt_given - the pieces of memory of one kind that programs have
 * @lock: protects @tree
 * @tree: their addresses, for tsearch()
 */
struct nrt_given {
	pthread_mutex_t lock;
	void *tree;
};

#define NRT_GIVEN_INITIALIZER { .lock = PTHREAD_MUTEX_INITIALIZER }

/* Note that a program gets @memory, which is of malloc(). False: no memory for that. */
bool nrt_given_add(struct nrt_given *given, void *memory);

/* Free @memory. False: no program has it, or it was freed before; then it is not touched. */
bool nrt_given_free(struct nrt_given *given, void *memory);

#endif /* LIBNRT_BASE_GIVEN_H */
