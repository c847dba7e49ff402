/* SPDX-License-Identifier: MIT */
/*
 * Ranks for tests of sockets: each is a process of its own.
 */
#ifndef SOCKET_RANKS_H
#define SOCKET_RANKS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "comm/sockets.h"

#define RANKS		4
#define WAIT_MS		20000
/* Seconds until a process that hangs is ended. */
#define RANKS_LIMIT	200

/**
 * struct rank - a rank
 * @address: of the root
 * @number: its number
 * @transport: its end, once it is open
 * @lock: protects the rest
 * @changed: @why has changed
 * @why: the world has failed; status 0: it has not
 */
struct rank {
	char address[64];
	uint32_t number;
	struct nrt_transport *transport;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct nrt_error why;
};

/* What a rank does once it is open; its result is the exit status, 0 if all was right. */
typedef int rank_fn(struct rank *rank);

uint64_t ranks_now_ms(void);

/* An address with a port that nobody uses. */
void ranks_free_port(char *address, size_t size);

/* Begin the processes of ranks @from to @to - 1 of the world at @rank->address. */
void ranks_begin_some(struct rank *rank, pid_t *pids, uint32_t from, uint32_t to, rank_fn *fn);

/* Begin a world; @address: out, of its root. */
void ranks_begin(char *address, pid_t pids[RANKS], rank_fn *fn);

/* Wait for all of them; each must have ended well. */
void ranks_end(const pid_t pids[RANKS]);

bool rank_open(struct rank *rank);

/* Wait until the transport says that the world has failed. */
void rank_await_failure(struct rank *rank);

/* Meet the others, each with a number. */
NRT_STATUS rank_gather(struct rank *rank, const char *what, uint64_t mine, uint64_t *all,
		       uint32_t timeout_ms, struct nrt_error *error);

/* Meet 50 times; how much was wrong. */
int rank_meets(struct rank *rank);

/* Meet at the end, so that nobody sees the others go before, and close. Return: @wrong. */
int rank_leaves(struct rank *rank, int wrong);

int rank_meets_and_leaves(struct rank *rank);

#endif /* SOCKET_RANKS_H */
