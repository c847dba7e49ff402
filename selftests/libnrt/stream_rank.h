/* SPDX-License-Identifier: MIT */
/*
 * Ranks with models whose collectives are on several streams. Each is a thread.
 */
#ifndef SELFTESTS_LIBNRT_STREAM_RANK_H
#define SELFTESTS_LIBNRT_STREAM_RANK_H

#include <pthread.h>

#include <nrt/nrt_async.h>

#include "stream_program.h"

/**
 * struct rank - a rank with a model
 * @vnc, @number, @ranks: its core, and which rank of how many
 * @joins: in a world that the program makes
 * @works, @nr: what its model does, which takes @in floats and gives @out
 * @seed: of the inputs
 * @host_first: it asks for collectives of the host before it executes; @waits: and for their end
 * @seq, @ns: its last request, and how long that took in device time
 * @status: how the last thing that it did ended
 * @wrong: floats of the output that are not as on the host
 */
struct rank {
	pthread_t thread;
	int vnc;
	unsigned int number;
	unsigned int ranks;
	bool joins;
	struct stream_work works[STREAM_WORKS];
	unsigned int nr;
	size_t in;
	size_t out;
	uint32_t seed;
	bool host_first;
	bool waits;
	nrt_model_t *model;
	nrt_tensor_t *x;
	nrt_tensor_t *y;
	nrt_tensor_set_t *inputs;
	nrt_tensor_set_t *outputs;
	nrta_seq_t seq;
	uint64_t ns;
	NRT_STATUS status;
	size_t wrong;
};

/* A random number, the same on every run. */
uint32_t stream_next(uint32_t *seed);

/* The input of rank @number, of as many floats as @rank has, for free(). */
float *stream_input(const struct rank *rank, unsigned int number);

/* Count in @rank->wrong what of its output @y is not to the bit as on the host. */
void stream_check(struct rank *rank, const float *y);

/*
 * For stream_threads(): load, if @rank->joins in a world that is made for that; and write the
 * input, execute, and check the output. @rank->status says how it went.
 */
void *stream_load(void *arg);
void *stream_execute(void *arg);

/* @nr ranks, each in a thread, till all have ended. */
void stream_threads(struct rank *ranks, unsigned int nr, void *(*run)(void *arg));

/* Give back all that it has. */
void stream_unload(struct rank *rank);

#endif /* SELFTESTS_LIBNRT_STREAM_RANK_H */
