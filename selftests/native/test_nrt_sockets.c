// SPDX-License-Identifier: MIT
/*
 * Ranks that are processes: they meet at the root by TCP, and exchange descriptors by a local
 * socket. Those that wait for one that dies, or does not come, are told.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "comm/sockets.h"
#include "socket_ranks.h"

static void ranks_meet(void **state)
{
	pid_t pids[RANKS];
	char address[64];

	(void)state;
	ranks_begin(address, pids, rank_meets_and_leaves);
	ranks_end(pids);
}

static NRT_STATUS use(void *arg, const int *all, struct nrt_error *error)
{
	struct rank *rank = arg;
	uint32_t i, content;

	(void)rank;
	for (i = 0; i < RANKS; i++)
		if (pread(all[2 * i], &content, 4, 0) != 4 || content != 1000 + i ||
		    pread(all[2 * i + 1], &content, 4, 0) != 4 || content != 2000 + i)
			return nrt_error_set(error, NRT_FAILURE, "wrong descriptors");
	return NRT_SUCCESS;
}

static int memory(uint32_t content)
{
	int fd = memfd_create("rank", MFD_CLOEXEC);

	if (pwrite(fd, &content, sizeof(content), 0) != sizeof(content))
		_exit(101);
	return fd;
}

static int shares(struct rank *rank)
{
	int mine[2] = { memory(1000 + rank->number), memory(2000 + rank->number) };
	const struct nrt_share share = {
		.gather = {
			.what = "exchange",
			.rank = rank->number,
			.count = RANKS,
			.timeout_ms = WAIT_MS,
		},
		.mine = mine,
		.nr = 2,
		.use = use,
		.arg = rank,
	};
	struct nrt_error error;
	int i, wrong = 0;

	for (i = 0; i < 10; i++)
		wrong += rank->transport->ops->share(rank->transport, &share, &error) !=
			 NRT_SUCCESS;
	return rank_leaves(rank, wrong);
}

static void ranks_exchange_descriptors(void **state)
{
	pid_t pids[RANKS];
	char address[64];

	(void)state;
	ranks_begin(address, pids, shares);
	ranks_end(pids);
}

/* --- Several meetings of a rank at the same time --- */

#define THREADS	4

/* A thread of a rank, whose meetings have a name of their own. */
struct side {
	pthread_t thread;
	struct rank *rank;
	unsigned int number;
	char name[16];
	int wrong;
};

static void gather_beside(struct side *side, uint64_t round)
{
	uint64_t all[RANKS], i, base = 1000000 * (side->number + 1) + 100 * round;
	struct nrt_error error = { 0 };

	if (rank_gather(side->rank, side->name, base + side->rank->number, all, WAIT_MS, &error)) {
		fprintf(stderr, "# %s\n", error.text);
		side->wrong++;
		return;
	}
	for (i = 0; i < RANKS; i++)
		side->wrong += all[i] != base + i;
}

/* The descriptors of the other threads must not come here. */
static NRT_STATUS use_beside(void *arg, const int *all, struct nrt_error *error)
{
	const struct side *side = arg;
	uint32_t i, content;

	for (i = 0; i < RANKS; i++)
		if (pread(all[i], &content, 4, 0) != 4 || content != 100 * side->number + i)
			return nrt_error_set(error, NRT_FAILURE, "%s: wrong descriptors",
					     side->name);
	return NRT_SUCCESS;
}

static void share_beside(struct side *side)
{
	int mine = memory(100 * side->number + side->rank->number);
	const struct nrt_share share = {
		.gather = {
			.what = side->name,
			.rank = side->rank->number,
			.count = RANKS,
			.timeout_ms = WAIT_MS,
		},
		.mine = &mine,
		.nr = 1,
		.use = use_beside,
		.arg = side,
	};
	struct nrt_error error = { 0 };

	if (side->rank->transport->ops->share(side->rank->transport, &share, &error)) {
		fprintf(stderr, "# %s\n", error.text);
		side->wrong++;
	}
	close(mine);
}

static void *side_thread(void *arg)
{
	struct side *side = arg;
	uint64_t round;

	for (round = 0; round < 25 && !side->wrong; round++) {
		gather_beside(side, round);
		share_beside(side);
	}
	return NULL;
}

/* The ranks begin their threads in different orders. */
static int threads_meet(struct rank *rank)
{
	struct side side[THREADS] = { 0 };
	unsigned int i, k;
	int wrong = 0;

	for (i = 0; i < THREADS; i++) {
		k = (i + rank->number) % THREADS;
		side[k].rank = rank;
		side[k].number = k;
		snprintf(side[k].name, sizeof(side[k].name), "thread %u", k);
		pthread_create(&side[k].thread, NULL, side_thread, &side[k]);
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(side[i].thread, NULL);
		wrong += side[i].wrong;
	}
	return rank_leaves(rank, wrong);
}

static void meetings_side_by_side(void **state)
{
	pid_t pids[RANKS];
	char address[64];

	(void)state;
	ranks_begin(address, pids, threads_meet);
	ranks_end(pids);
}

/* Rank 1 comes to one of two meetings only: the other one fails alone. */
static int one_of_two(struct rank *rank)
{
	struct side side = { .rank = rank, .number = 0, .name = "first" };
	struct nrt_error error = { 0 };
	uint64_t all[RANKS];
	int wrong = 0;

	if (rank->number == 1)
		sleep(2);
	pthread_create(&side.thread, NULL, side_thread, &side);
	if (rank->number != 1) {
		wrong += rank_gather(rank, "second", 0, all, 1000, &error) != NRT_TIMEOUT;
		wrong += !strstr(error.text, "\"second\"; number 1 did not come");
	}
	pthread_join(side.thread, NULL);
	return rank_leaves(rank, wrong + side.wrong);
}

static void one_of_two_meetings_fails(void **state)
{
	pid_t pids[RANKS];
	char address[64];

	(void)state;
	ranks_begin(address, pids, one_of_two);
	ranks_end(pids);
}

/* Rank 2 does not come: the others are told which one, in time, and can go on. */
static int one_does_not_come(struct rank *rank)
{
	struct nrt_error error = { 0 };
	uint64_t all[RANKS];
	int wrong = 0;

	if (rank->number != 2) {
		wrong += rank_gather(rank, "meeting", 0, all, 1000, &error) != NRT_TIMEOUT;
		wrong += !strstr(error.text, "number 2 did not come");
	}
	return rank_leaves(rank, wrong);
}

static void a_rank_is_missed(void **state)
{
	pid_t pids[RANKS];
	char address[64];

	(void)state;
	ranks_begin(address, pids, one_does_not_come);
	ranks_end(pids);
}

/* Rank 3 dies while others wait for it, and one does not. */
static int one_dies(struct rank *rank)
{
	uint64_t all[RANKS], begin;
	struct nrt_error error = { 0 };
	int wrong = rank_meets(rank);

	begin = ranks_now_ms();
	if (rank->number == 3)
		_exit(0);
	if (rank->number == 1)
		rank_await_failure(rank);
	else
		wrong += rank_gather(rank, "meeting", 0, all, WAIT_MS, &error) != NRT_FAILURE;
	if (rank->number != 1)
		wrong += !strstr(error.text, "rank 3 of 4 has gone");
	else
		wrong += !strstr(rank->why.text, "rank 3 of 4 has gone");
	/* At once, not when the time is over. */
	wrong += ranks_now_ms() - begin > WAIT_MS / 2;
	/* Rank 0 has the root: it goes last. */
	if (!rank->number)
		sleep(1);
	rank->transport->ops->close(rank->transport);
	return wrong;
}

static void a_dead_rank_is_told_at_once(void **state)
{
	pid_t pids[RANKS];
	char address[64];

	(void)state;
	ranks_begin(address, pids, one_dies);
	ranks_end(pids);
}

/* A rank ends the world with a reason. */
static int one_aborts(struct rank *rank)
{
	struct nrt_error why = { 0 }, error;
	int wrong = rank_meets(rank);
	uint64_t all[RANKS];

	/* When it is over for rank 1 all have met; for the others the reason may end it. */
	rank_gather(rank, "last", 0, all, WAIT_MS, &error);
	nrt_error_set(&why, NRT_HW_ERROR, "the chip of rank 1 is broken");
	if (rank->number == 1) {
		/* It goes at once: its reason counts, not that it has gone. */
		rank->transport->ops->abort(rank->transport, &why);
	} else {
		rank_await_failure(rank);
		wrong += rank->why.status != NRT_HW_ERROR;
		wrong += strcmp(rank->why.text, why.text) != 0;
		/* Rank 0 has the root: it goes last. */
		sleep(1);
	}
	rank->transport->ops->close(rank->transport);
	return wrong;
}

static void a_reason_reaches_all(void **state)
{
	pid_t pids[RANKS];
	char address[64];

	(void)state;
	ranks_begin(address, pids, one_aborts);
	ranks_end(pids);
}

/* Ranks 1 and 2 both say that they are number 1: both are told, and those who wait with them. */
static int two_claim_a_place(struct rank *rank)
{
	struct nrt_error error = { 0 };
	uint32_t number = rank->number;
	uint64_t all[RANKS], begin = ranks_now_ms();
	int wrong = 0;

	if (number == 1 || number == 2) {
		rank->number = 1;
		wrong += rank_gather(rank, "meeting", 0, all, WAIT_MS, &error) != NRT_INVALID;
		wrong += !strstr(error.text, "in the place of another");
		wrong += ranks_now_ms() - begin > WAIT_MS / 2;
		rank->number = number;
	}
	return rank_leaves(rank, wrong);
}

static void a_place_is_claimed_twice(void **state)
{
	pid_t pids[RANKS];
	char address[64];

	(void)state;
	ranks_begin(address, pids, two_claim_a_place);
	ranks_end(pids);
}

/* The address is free a while after the ranks begin: rank 0 gets it then. */
static void the_root_waits_for_its_address(void **state)
{
	struct sockaddr_storage at = { 0 };
	struct rank rank = { 0 };
	struct nrt_error error;
	pid_t pids[RANKS];
	socklen_t length;
	int fd;

	(void)state;
	ranks_free_port(rank.address, sizeof(rank.address));
	assert_int_equal(NRT_SUCCESS, nrt_sockets_parse(rank.address, &at, &length, &error));
	ranks_begin_some(&rank, pids, 1, RANKS, rank_meets_and_leaves);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(0, bind(fd, (struct sockaddr *)&at, length));
	assert_int_equal(0, listen(fd, 1));
	pids[0] = fork();
	if (!pids[0]) {
		close(fd);
		rank.number = 0;
		alarm(RANKS_LIMIT);
		_exit(rank_open(&rank) ? rank_meets_and_leaves(&rank) : 100);
	}
	sleep(2);
	close(fd);
	ranks_end(pids);
}

static void addresses(void **state)
{
	static const char *const bad[] = {
		"", ":", "1.2.3.4", "1.2.3.4:", "host:1", "::1:7", "[::1]", "1.2.3.4:x",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:1",
	};
	struct sockaddr_storage address = { 0 };
	struct nrt_error error;
	socklen_t length;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(NRT_INVALID,
				 nrt_sockets_parse(bad[i], &address, &length, &error));
	assert_int_equal(NRT_SUCCESS, nrt_sockets_parse("10.1.2.3:45000", &address, &length,
							&error));
	assert_int_equal(AF_INET, address.ss_family);
	assert_int_equal(NRT_SUCCESS, nrt_sockets_parse("[fe80::1]:45000", &address, &length,
							&error));
	assert_int_equal(AF_INET6, address.ss_family);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses),
		cmocka_unit_test(ranks_meet),
		cmocka_unit_test(ranks_exchange_descriptors),
		cmocka_unit_test(meetings_side_by_side),
		cmocka_unit_test(one_of_two_meetings_fails),
		cmocka_unit_test(a_rank_is_missed),
		cmocka_unit_test(a_dead_rank_is_told_at_once),
		cmocka_unit_test(a_reason_reaches_all),
		cmocka_unit_test(a_place_is_claimed_twice),
		cmocka_unit_test(the_root_waits_for_its_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
