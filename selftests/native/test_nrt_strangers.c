// SPDX-License-Identifier: MIT
/*
 * Others at the port and at the local socket of the root of ranks that are processes: who floods
 * them, talks nonsense or takes a seat harms nobody for longer than that.
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "comm/sockets.h"
#include "socket_ranks.h"

/* In a process of a test, which must not go on with the tests that follow. */
static void must(bool right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "# %s\n", what);
	_exit(1);
}

static int stranger(const char *address)
{
	struct sockaddr_storage to = { 0 };
	struct nrt_error error;
	socklen_t length;
	int fd, tries;

	assert_int_equal(NRT_SUCCESS, nrt_sockets_parse(address, &to, &length, &error));
	for (tries = 0; tries < 1000; tries++) {
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (!connect(fd, (struct sockaddr *)&to, length))
			return fd;
		close(fd);
		usleep(10000);
	}
	return -1;
}

/* Connections that say nothing, and ones that say nonsense. */
static void flood(const char *address, int fds[200])
{
	struct nrt_wire_head head = { .magic = NRT_WIRE_MAGIC, .type = NRT_WIRE_HELLO };
	uint8_t noise[4096];
	ssize_t ignored;
	int i;

	memset(noise, 0xa5, sizeof(noise));
	for (i = 0; i < 200; i++) {
		fds[i] = stranger(address);
		ignored = 0;
		if (i % 4 == 1)
			ignored = send(fds[i], noise, sizeof(noise), MSG_NOSIGNAL);
		head.size = i % 4 == 2 ? 0xffffffff : 0;
		head.count = RANKS;
		head.rank = 0xfffffff0;
		if (i % 4 > 1)
			ignored = send(fds[i], &head, sizeof(head), MSG_NOSIGNAL);
		(void)ignored;
	}
}

static int meets_late(struct rank *rank)
{
	sleep(2);
	return rank_meets_and_leaves(rank);
}

static void strangers_harm_nobody(void **state)
{
	pid_t pids[RANKS];
	char address[64];
	int fds[200], i;

	(void)state;
	ranks_begin(address, pids, meets_late);
	flood(address, fds);
	ranks_end(pids);
	for (i = 0; i < 200; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static bool say(int fd, uint32_t type, uint32_t rank, uint32_t size, const void *bytes)
{
	struct nrt_wire_head head = {
		.type = type,
		.rank = rank,
		.count = RANKS,
		.size = size,
	};

	return nrt_wire_send(fd, &head, bytes, NULL);
}

/* The type of the next message; @size bytes of it are kept. 0: the end. */
static uint32_t hear(int fd, void *kept, size_t size)
{
	int fds[NRT_SHARE_MAX];
	struct nrt_wire_head head;
	void *bytes;

	if (!nrt_wire_receive(fd, NRT_WIRE_MAX_BYTES, &head, &bytes, fds))
		return 0;
	if (head.size >= size && size)
		memcpy(kept, bytes, size);
	free(bytes);
	return head.type;
}

/*
 * Take the seat of the last rank, as one who has not made the local connection. The root frees it
 * when it sees that whoever had it before has gone.
 */
static int take_seat(const char *address, struct nrt_wire_welcome *welcome)
{
	uint64_t until = ranks_now_ms() + WAIT_MS;
	int fd;

	for (;;) {
		fd = stranger(address);
		assert_true(say(fd, NRT_WIRE_HELLO, RANKS - 1, 0, NULL));
		if (hear(fd, welcome, sizeof(*welcome)) == NRT_WIRE_WELCOME)
			return fd;
		close(fd);
		assert_true(ranks_now_ms() < until);
		usleep(10000);
	}
}

/* One goes, one wants to end the world, one is silent: the rank gets its seat all the same. */
static void a_seat_is_taken(void **state)
{
	const struct nrt_error no = { NRT_HW_ERROR, "no" };
	struct nrt_wire_welcome welcome;
	struct rank rank = { 0 };
	pid_t pids[RANKS];
	uint64_t begin;
	int fd;

	(void)state;
	ranks_free_port(rank.address, sizeof(rank.address));
	ranks_begin_some(&rank, pids, 0, RANKS - 1, rank_meets_and_leaves);
	close(take_seat(rank.address, &welcome));
	fd = take_seat(rank.address, &welcome);
	/* The root ends the connection, perhaps before all of this is sent. */
	nrt_wire_refuse(fd, NULL, &no);
	assert_int_equal(0, hear(fd, NULL, 0));
	close(fd);
	fd = take_seat(rank.address, &welcome);
	begin = ranks_now_ms();
	ranks_begin_some(&rank, pids, RANKS - 1, RANKS, rank_meets_and_leaves);
	assert_int_equal(0, hear(fd, NULL, 0));
	assert_true(ranks_now_ms() - begin < WAIT_MS);
	ranks_end(pids);
	close(fd);
}

static int local_to(const struct nrt_wire_welcome *welcome)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t size = strlen(welcome->path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(to.sun_path + 1, welcome->path, size);
	assert_int_equal(0, connect(fd, (struct sockaddr *)&to, (socklen_t)
				    (offsetof(struct sockaddr_un, sun_path) + 1 + size)));
	return fd;
}

static int waits_for_the_end(struct rank *rank)
{
	rank_await_failure(rank);
	rank->transport->ops->close(rank->transport);
	return 0;
}

/* The seat of the last rank, by both ways; the connections end with the process. */
static void sit_down(const struct nrt_wire_welcome *welcome)
{
	int local = local_to(welcome);

	must(say(local, NRT_WIRE_HELLO, RANKS - 1, NRT_WIRE_TOKEN, welcome->token) &&
	     hear(local, NULL, 0) == NRT_WIRE_WELCOME, "the rank was not let in");
}

static int only_leaves(struct rank *rank)
{
	return rank_leaves(rank, 0);
}

/* The last rank comes to the meeting of rank_leaves(). */
static void meet_at_the_end(int tcp)
{
	struct nrt_wire_head head = {
		.type = NRT_WIRE_GATHER,
		.rank = RANKS - 1,
		.count = RANKS,
		.size = sizeof(uint64_t),
		.name = "end",
	};
	const uint64_t nothing = 0;

	must(nrt_wire_send(tcp, &head, &nothing, NULL) && hear(tcp, NULL, 0) == NRT_WIRE_RESULT,
	     "the ranks have not met");
}

/* What a process does that has taken the seat of the last rank by TCP. */
typedef void last_fn(const char *address, int tcp, const struct nrt_wire_welcome *welcome);

/* A world whose last rank is @last; the others do @others. */
static void with_a_last_rank(rank_fn *others, last_fn *last)
{
	struct nrt_wire_welcome welcome;
	struct rank rank = { 0 };
	pid_t pids[RANKS];
	int tcp;

	ranks_free_port(rank.address, sizeof(rank.address));
	ranks_begin_some(&rank, pids, 0, RANKS - 1, others);
	pids[RANKS - 1] = fork();
	if (!pids[RANKS - 1]) {
		alarm(RANKS_LIMIT);
		tcp = take_seat(rank.address, &welcome);
		last(rank.address, tcp, &welcome);
		_exit(0);
	}
	ranks_end(pids);
}

static void sit_down_in_a_flood(const char *address, int tcp,
				const struct nrt_wire_welcome *welcome)
{
	int fds[100], i;

	for (i = 0; i < 100; i++)
		fds[i] = stranger(address);
	/* The root has taken all that it takes when it ends one of the last ones. */
	must(!hear(fds[99], NULL, 0), "the root has not ended a stranger that was too many");
	sit_down(welcome);
	meet_at_the_end(tcp);
}

/* Strangers at the port, of whom the root is full, do not close the local socket. */
static void a_flood_leaves_the_local_socket_open(void **state)
{
	(void)state;
	with_a_last_rank(only_leaves, sit_down_in_a_flood);
}

/* The root ends the connections of another user, which count no longer then. */
static void knock_as_another_user(const struct nrt_wire_welcome *welcome)
{
	pid_t pid = fork();
	int status, i;

	if (!pid) {
		if (setuid(65534))
			_exit(1);
		for (i = 0; i < 100; i++)
			must(!hear(local_to(welcome), NULL, 0), "another user was heard");
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid && !status, "the other user's process failed");
}

static void sit_down_after_another_user(const char *address, int tcp,
					const struct nrt_wire_welcome *welcome)
{
	(void)address;
	knock_as_another_user(welcome);
	sit_down(welcome);
	meet_at_the_end(tcp);
}

static void another_user_harms_nobody(void **state)
{
	(void)state;
	if (geteuid()) {
		print_message("only root can become another user\n");
		skip();
	}
	with_a_last_rank(only_leaves, sit_down_after_another_user);
}

/*
 * A root that turns the rank away at the local socket, as a full one does, is asked again. The
 * root here is this process; it is played until the rank has come twice.
 */
static void a_rank_that_is_turned_away_comes_again(void **state)
{
	struct nrt_wire_welcome welcome = { 0 };
	struct sockaddr_un local = { .sun_family = AF_UNIX };
	struct sockaddr_storage at = { 0 };
	int listener, here, fd, status, i;
	struct rank rank = { 0 };
	struct nrt_error error;
	pid_t pids[RANKS];
	socklen_t length;

	(void)state;
	ranks_free_port(rank.address, sizeof(rank.address));
	assert_int_equal(NRT_SUCCESS, nrt_sockets_parse(rank.address, &at, &length, &error));
	snprintf(welcome.path, sizeof(welcome.path), "neuron-test-%d", getpid());
	memcpy(local.sun_path + 1, welcome.path, strlen(welcome.path));
	here = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(0, bind(here, (struct sockaddr *)&local, (socklen_t)
				 (offsetof(struct sockaddr_un, sun_path) + 1 +
				  strlen(welcome.path))));
	assert_int_equal(0, listen(here, 4));
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(0, bind(listener, (struct sockaddr *)&at, length));
	assert_int_equal(0, listen(listener, 4));
	ranks_begin_some(&rank, pids, 1, 2, waits_for_the_end);
	for (i = 0; i < 2; i++) {
		fd = accept(listener, NULL, NULL);
		assert_int_equal(NRT_WIRE_HELLO, hear(fd, NULL, 0));
		assert_true(say(fd, NRT_WIRE_WELCOME, 1, sizeof(welcome), &welcome));
		close(accept(here, NULL, NULL));
		/* The rank gives its seat up before it comes again. */
		assert_int_equal(0, hear(fd, NULL, 0));
		close(fd);
	}
	kill(pids[1], SIGKILL);
	assert_int_equal(pids[1], waitpid(pids[1], &status, 0));
	close(listener);
	close(here);
}

static void open_many_meetings(const char *address, int tcp,
			       const struct nrt_wire_welcome *welcome)
{
	struct nrt_wire_head head = { .type = NRT_WIRE_GATHER, .rank = RANKS - 1, .count = RANKS };
	int i;

	(void)address;
	sit_down(welcome);
	for (i = 0; i < 20; i++) {
		snprintf(head.name, sizeof(head.name), "meeting %d", i);
		must(nrt_wire_send(tcp, &head, NULL, NULL), "a meeting was not asked for");
		if (i >= 8)
			must(hear(tcp, NULL, 0) == NRT_WIRE_REFUSED, "it was not refused");
	}
	/* The others must be there before the world ends. */
	sleep(2);
}

/* A rank that opens one meeting after the other is in the first few only. */
static void meetings_do_not_pile_up(void **state)
{
	(void)state;
	with_a_last_rank(waits_for_the_end, open_many_meetings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strangers_harm_nobody),
		cmocka_unit_test(a_seat_is_taken),
		cmocka_unit_test(a_flood_leaves_the_local_socket_open),
		cmocka_unit_test(another_user_harms_nobody),
		cmocka_unit_test(a_rank_that_is_turned_away_comes_again),
		cmocka_unit_test(meetings_do_not_pile_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
