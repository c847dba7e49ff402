// SPDX-License-Identifier: MIT
/*
 * Ranks that are processes: they meet at the root by TCP, and exchange descriptors by a local
 * socket. One that dies, talks nonsense or floods the port harms nobody for longer than that.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "comm/sockets.h"

#define RANKS		4
#define WAIT_MS		20000

/* A rank in a process of its own. */
struct rank {
	char address[64];
	uint32_t number;
	struct nrt_transport *transport;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct nrt_error why;
};

typedef int rank_fn(struct rank *rank);

static uint64_t now_ms(void)
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

/* Wait until the transport says that the world has failed. */
static void await_failure(struct rank *rank)
{
	pthread_mutex_lock(&rank->lock);
	while (!rank->why.status)
		pthread_cond_wait(&rank->changed, &rank->lock);
	pthread_mutex_unlock(&rank->lock);
}

static bool open_rank(struct rank *rank)
{
	const struct nrt_sockets_of what = {
		.address = rank->address,
		.rank = rank->number,
		.count = RANKS,
		.timeout_ms = WAIT_MS,
		.failed = failed,
		.arg = rank,
	};
	struct nrt_error error = { 0 };

	pthread_mutex_init(&rank->lock, NULL);
	pthread_cond_init(&rank->changed, NULL);
	rank->transport = nrt_sockets_open(&what, &error);
	if (!rank->transport)
		fprintf(stderr, "# rank %u: %s\n", rank->number, error.text);
	return rank->transport;
}

/* A port that nobody uses. */
static void free_port(char *address, size_t size)
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

static void begin_some(struct rank *rank, pid_t *pids, uint32_t from, uint32_t to, rank_fn *fn)
{
	for (rank->number = from; rank->number < to; rank->number++) {
		pids[rank->number] = fork();
		if (pids[rank->number])
			continue;
		alarm(60);
		_exit(open_rank(rank) ? fn(rank) : 100);
	}
}

static void begin_ranks(char *address, pid_t pids[RANKS], rank_fn *fn)
{
	struct rank rank = { 0 };

	free_port(rank.address, sizeof(rank.address));
	strcpy(address, rank.address);
	begin_some(&rank, pids, 0, RANKS, fn);
}

static void end_ranks(const pid_t pids[RANKS])
{
	unsigned int i;
	int status;

	for (i = 0; i < RANKS; i++) {
		assert_int_equal(pids[i], waitpid(pids[i], &status, 0));
		assert_int_equal(0, status);
	}
}

static NRT_STATUS gather(struct rank *rank, const char *what, uint64_t mine, uint64_t *all,
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

static int meets(struct rank *rank)
{
	uint64_t all[RANKS], i, round;
	struct nrt_error error;
	int wrong = 0;

	for (round = 0; round < 50; round++) {
		wrong += gather(rank, "meeting", 100 * round + rank->number, all, WAIT_MS,
				&error) != NRT_SUCCESS;
		for (i = 0; i < RANKS; i++)
			wrong += all[i] != 100 * round + i;
	}
	return wrong;
}

/* All ranks close at the end; nobody must see the others go before. */
static int leaves(struct rank *rank, int wrong)
{
	uint64_t all[RANKS];
	struct nrt_error error;

	gather(rank, "end", 0, all, WAIT_MS, &error);
	rank->transport->ops->close(rank->transport);
	return wrong;
}

static int meets_and_leaves(struct rank *rank)
{
	return leaves(rank, meets(rank));
}

static void ranks_meet(void **state)
{
	pid_t pids[RANKS];
	char address[64];

	(void)state;
	begin_ranks(address, pids, meets_and_leaves);
	end_ranks(pids);
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
	return leaves(rank, wrong);
}

static void ranks_exchange_descriptors(void **state)
{
	pid_t pids[RANKS];
	char address[64];

	(void)state;
	begin_ranks(address, pids, shares);
	end_ranks(pids);
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

	if (gather(side->rank, side->name, base + side->rank->number, all, WAIT_MS, &error)) {
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
	return leaves(rank, wrong);
}

static void meetings_side_by_side(void **state)
{
	pid_t pids[RANKS];
	char address[64];

	(void)state;
	begin_ranks(address, pids, threads_meet);
	end_ranks(pids);
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
		wrong += gather(rank, "second", 0, all, 1000, &error) != NRT_TIMEOUT;
		wrong += !strstr(error.text, "\"second\"; number 1 did not come");
	}
	pthread_join(side.thread, NULL);
	return leaves(rank, wrong + side.wrong);
}

static void one_of_two_meetings_fails(void **state)
{
	pid_t pids[RANKS];
	char address[64];

	(void)state;
	begin_ranks(address, pids, one_of_two);
	end_ranks(pids);
}

/* Rank 2 does not come: the others are told which one, in time, and can go on. */
static int one_does_not_come(struct rank *rank)
{
	struct nrt_error error = { 0 };
	uint64_t all[RANKS];
	int wrong = 0;

	if (rank->number != 2) {
		wrong += gather(rank, "meeting", 0, all, 1000, &error) != NRT_TIMEOUT;
		wrong += !strstr(error.text, "number 2 did not come");
	}
	return leaves(rank, wrong);
}

static void a_rank_is_missed(void **state)
{
	pid_t pids[RANKS];
	char address[64];

	(void)state;
	begin_ranks(address, pids, one_does_not_come);
	end_ranks(pids);
}

/* Rank 3 dies while others wait for it, and one does not. */
static int one_dies(struct rank *rank)
{
	uint64_t all[RANKS], begin;
	struct nrt_error error = { 0 };
	int wrong = meets(rank);

	begin = now_ms();
	if (rank->number == 3)
		_exit(0);
	if (rank->number == 1)
		await_failure(rank);
	else
		wrong += gather(rank, "meeting", 0, all, WAIT_MS, &error) != NRT_FAILURE;
	if (rank->number != 1)
		wrong += !strstr(error.text, "rank 3 of 4 has gone");
	else
		wrong += !strstr(rank->why.text, "rank 3 of 4 has gone");
	/* At once, not when the time is over. */
	wrong += now_ms() - begin > WAIT_MS / 2;
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
	begin_ranks(address, pids, one_dies);
	end_ranks(pids);
}

/* A rank ends the world with a reason. */
static int one_aborts(struct rank *rank)
{
	struct nrt_error why = { 0 }, error;
	int wrong = meets(rank);
	uint64_t all[RANKS];

	/* When it is over for rank 1 all have met; for the others the reason may end it. */
	gather(rank, "last", 0, all, WAIT_MS, &error);
	nrt_error_set(&why, NRT_HW_ERROR, "the chip of rank 1 is broken");
	if (rank->number == 1) {
		/* It goes at once: its reason counts, not that it has gone. */
		rank->transport->ops->abort(rank->transport, &why);
	} else {
		await_failure(rank);
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
	begin_ranks(address, pids, one_aborts);
	end_ranks(pids);
}

/* Ranks 1 and 2 both say that they are number 1: both are told, and those who wait with them. */
static int two_claim_a_place(struct rank *rank)
{
	struct nrt_error error = { 0 };
	uint32_t number = rank->number;
	uint64_t all[RANKS], begin = now_ms();
	int wrong = 0;

	if (number == 1 || number == 2) {
		rank->number = 1;
		wrong += gather(rank, "meeting", 0, all, WAIT_MS, &error) != NRT_INVALID;
		wrong += !strstr(error.text, "in the place of another");
		wrong += now_ms() - begin > WAIT_MS / 2;
		rank->number = number;
	}
	return leaves(rank, wrong);
}

static void a_place_is_claimed_twice(void **state)
{
	pid_t pids[RANKS];
	char address[64];

	(void)state;
	begin_ranks(address, pids, two_claim_a_place);
	end_ranks(pids);
}

/* --- Others at the port --- */

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
	return meets_and_leaves(rank);
}

static void strangers_harm_nobody(void **state)
{
	pid_t pids[RANKS];
	char address[64];
	int fds[200], i;

	(void)state;
	begin_ranks(address, pids, meets_late);
	flood(address, fds);
	end_ranks(pids);
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
	uint64_t until = now_ms() + WAIT_MS;
	int fd;

	for (;;) {
		fd = stranger(address);
		assert_true(say(fd, NRT_WIRE_HELLO, RANKS - 1, 0, NULL));
		if (hear(fd, welcome, sizeof(*welcome)) == NRT_WIRE_WELCOME)
			return fd;
		close(fd);
		assert_true(now_ms() < until);
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
	free_port(rank.address, sizeof(rank.address));
	begin_some(&rank, pids, 0, RANKS - 1, meets_and_leaves);
	close(take_seat(rank.address, &welcome));
	fd = take_seat(rank.address, &welcome);
	/* The root ends the connection, perhaps before all of this is sent. */
	nrt_wire_refuse(fd, NULL, &no);
	assert_int_equal(0, hear(fd, NULL, 0));
	close(fd);
	fd = take_seat(rank.address, &welcome);
	begin = now_ms();
	begin_some(&rank, pids, RANKS - 1, RANKS, meets_and_leaves);
	assert_int_equal(0, hear(fd, NULL, 0));
	assert_true(now_ms() - begin < WAIT_MS);
	end_ranks(pids);
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
	await_failure(rank);
	rank->transport->ops->close(rank->transport);
	return 0;
}

/* A rank that opens one meeting after the other is in the first few only. */
static void meetings_do_not_pile_up(void **state)
{
	struct nrt_wire_head head = { .type = NRT_WIRE_GATHER, .rank = RANKS - 1, .count = RANKS };
	struct nrt_wire_welcome welcome;
	struct rank rank = { 0 };
	pid_t pids[RANKS];
	int tcp, local, i;

	(void)state;
	free_port(rank.address, sizeof(rank.address));
	begin_some(&rank, pids, 0, RANKS - 1, waits_for_the_end);
	pids[RANKS - 1] = fork();
	if (!pids[RANKS - 1]) {
		alarm(60);
		tcp = take_seat(rank.address, &welcome);
		local = local_to(&welcome);
		assert_true(say(local, NRT_WIRE_HELLO, RANKS - 1, NRT_WIRE_TOKEN, welcome.token));
		assert_int_equal(NRT_WIRE_WELCOME, hear(local, NULL, 0));
		for (i = 0; i < 20; i++) {
			snprintf(head.name, sizeof(head.name), "meeting %d", i);
			assert_true(nrt_wire_send(tcp, &head, NULL, NULL));
			if (i >= 8)
				assert_int_equal(NRT_WIRE_REFUSED, hear(tcp, NULL, 0));
		}
		/* The others must be there before the world ends. */
		sleep(2);
		_exit(0);
	}
	end_ranks(pids);
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
	free_port(rank.address, sizeof(rank.address));
	assert_int_equal(NRT_SUCCESS, nrt_sockets_parse(rank.address, &at, &length, &error));
	begin_some(&rank, pids, 1, RANKS, meets_and_leaves);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(0, bind(fd, (struct sockaddr *)&at, length));
	assert_int_equal(0, listen(fd, 1));
	pids[0] = fork();
	if (!pids[0]) {
		close(fd);
		rank.number = 0;
		alarm(60);
		_exit(open_rank(&rank) ? meets_and_leaves(&rank) : 100);
	}
	sleep(2);
	close(fd);
	end_ranks(pids);
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
		cmocka_unit_test(strangers_harm_nobody),
		cmocka_unit_test(a_seat_is_taken),
		cmocka_unit_test(meetings_do_not_pile_up),
		cmocka_unit_test(the_root_waits_for_its_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
