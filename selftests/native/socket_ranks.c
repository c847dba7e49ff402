// SPDX-License-Identifier: MIT
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "comm/sockets.h"
#include "socket_ranks.h"

uint64_t ranks_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void failed(void *arg, const struct nrt_error *why)
{
	struct rank *rank = arg;

	pthread_mutex_lock(&rank->lock);
	rank->why = *why;
	pthread_cond_broadcast(&rank->changed);
	pthread_mutex_unlock(&rank->lock);
}

void rank_await_failure(struct rank *rank)
{
	pthread_mutex_lock(&rank->lock);
	while (!rank->why.status)
		pthread_cond_wait(&rank->changed, &rank->lock);
	pthread_mutex_unlock(&rank->lock);
}

bool rank_open(struct rank *rank)
{
	const struct nrt_sockets_of what = {
		.address = rank->address,
		.rank = rank->number,
		.count = RANKS,
		.timeout_ms = WAIT_MS,
		.failed = failed,
		.arg = rank,
	};
	/* As callers leave it: only a failure sets it. */
	struct nrt_error error = { .status = NRT_FAILURE };

	pthread_mutex_init(&rank->lock, NULL);
	pthread_cond_init(&rank->changed, NULL);
	rank->transport = nrt_sockets_open(&what, &error);
	if (!rank->transport)
		fprintf(stderr, "# rank %u: %s\n", rank->number, error.text);
	return rank->transport;
}

void ranks_free_port(char *address, size_t size)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	socklen_t length = sizeof(any);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(0, bind(fd, (struct sockaddr *)&any, sizeof(any)));
	assert_int_equal(0, getsockname(fd, (struct sockaddr *)&any, &length));
	snprintf(address, size, "127.0.0.1:%u", ntohs(any.sin_port));
	close(fd);
}

void ranks_begin_some(struct rank *rank, pid_t *pids, uint32_t from, uint32_t to, rank_fn *fn)
{
	for (rank->number = from; rank->number < to; rank->number++) {
		pids[rank->number] = fork();
		if (pids[rank->number])
			continue;
		alarm(RANKS_LIMIT);
		_exit(rank_open(rank) ? fn(rank) : 100);
	}
}

void ranks_begin(char *address, pid_t pids[RANKS], rank_fn *fn)
{
	struct rank rank = { 0 };

	ranks_free_port(rank.address, sizeof(rank.address));
	strcpy(address, rank.address);
	ranks_begin_some(&rank, pids, 0, RANKS, fn);
}

void ranks_end(const pid_t pids[RANKS])
{
	unsigned int i;
	int status;

	for (i = 0; i < RANKS; i++) {
		assert_int_equal(pids[i], waitpid(pids[i], &status, 0));
		assert_int_equal(0, status);
	}
}

NRT_STATUS rank_gather(struct rank *rank, const char *what, uint64_t mine, uint64_t *all,
		       uint32_t timeout_ms, struct nrt_error *error)
{
	const struct nrt_gather of = {
		.what = what,
		.rank = rank->number,
		.count = RANKS,
		.size = sizeof(mine),
		.input = &mine,
		.output = all,
		.timeout_ms = timeout_ms,
	};

	return rank->transport->ops->gather(rank->transport, &of, error);
}

int rank_meets(struct rank *rank)
{
	uint64_t all[RANKS], i, round;
	struct nrt_error error;
	int wrong = 0;

	for (round = 0; round < 50; round++) {
		wrong += rank_gather(rank, "meeting", 100 * round + rank->number, all, WAIT_MS,
				     &error) != NRT_SUCCESS;
		for (i = 0; i < RANKS; i++)
			wrong += all[i] != 100 * round + i;
	}
	return wrong;
}

int rank_leaves(struct rank *rank, int wrong)
{
	uint64_t all[RANKS];
	struct nrt_error error;

	rank_gather(rank, "end", 0, all, WAIT_MS, &error);
	rank->transport->ops->close(rank->transport);
	return wrong;
}

int rank_meets_and_leaves(struct rank *rank)
{
	return rank_leaves(rank, rank_meets(rank));
}
