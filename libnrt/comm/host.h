/* SPDX-License-Identifier: MIT */
/*
 * Work of the host for ranks of one process: they meet and exchange bytes. No program runs on a
 * core for it.
 */
#ifndef LIBNRT_COMM_HOST_H
#define LIBNRT_COMM_HOST_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct nrt_gathering;

/**
 * struct nrt_meetings - where ranks meet
 * @lock: protects the rest
 * @changed: something below changed; its clock is CLOCK_MONOTONIC
 * @closing: nobody meets any more
 * @first: gatherings that are under way
 */
struct nrt_meetings {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool closing;
	struct nrt_gathering *first;
};

void nrt_meetings_init(struct nrt_meetings *meetings);
void nrt_meetings_fini(struct nrt_meetings *meetings);

/* Whoever waits gets NRT_CLOSED. */
void nrt_meetings_cancel(struct nrt_meetings *meetings);

/* Whoever waits for ranks of that world gets NRT_FAILURE. */
void nrt_meetings_fail(struct nrt_meetings *meetings, uint64_t world);

/**
 * struct nrt_gather - what a rank brings to a gathering
 * @world: number of the world whose ranks meet (comm/world.h); 0: none
 * @what: name of the gathering: ranks that say the same name meet
 * @rank, @count: this one, and how many there are
 * @ranks: their numbers in the world, for messages; NULL: the same
 * @size: bytes of each rank; the same for all
 * @input: bytes of this rank
 * @output: @count times @size bytes, which may overlap @input
 * @timeout_ms: how long to wait for the others
 */
struct nrt_gather {
	uint64_t world;
	const char *what;
	uint32_t rank;
	uint32_t count;
	const uint32_t *ranks;
	size_t size;
	const void *input;
	void *output;
	uint32_t timeout_ms;
};

/* The number in the world of who has that place. */
static inline uint32_t nrt_gather_number(const struct nrt_gather *gather, uint32_t place)
{
	return gather->ranks ? gather->ranks[place] : place;
}

/*
 * Wait for all ranks, and get the bytes of all. NRT_TIMEOUT: a rank did not come; NRT_INVALID:
 * the ranks do not agree; NRT_CLOSED. After a failure all ranks have to come again.
 */
NRT_STATUS nrt_gather(struct nrt_meetings *meetings, const struct nrt_gather *gather,
		      struct nrt_error *error);

#endif /* LIBNRT_COMM_HOST_H */
