// SPDX-License-Identifier: MIT
/*
 * Tensors between two processes, which meet by NEURON_RT_ASYNC_SENDRECV_BOOTSTRAP_PORT. Each has a
 * core, of the driver or of chips of its own. Messages, and the end of one side: it closes, is
 * killed, or stands still.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "kselftest_harness.h"

#include "rig.h"
#include "sides.h"

#define ROOM		8

FIXTURE(two)
{
	struct side_board *board;
};

FIXTURE_SETUP(two)
{
	if (!rig_chips())
		SKIP(return, "no neuron device");
	self->board = sides_begin();
	ASSERT_TRUE(!!self->board);
}

FIXTURE_TEARDOWN(two)
{
	sides_end(self->board);
}

/* --- Messages --- */

static const size_t sizes[] = {
	1, 0, 5, 4095, 4097, 1024 * 1024 - 1, 1024 * 1024, 1024 * 1024 + 1, 3 * 1024 * 1024 + 7,
};

#define NR_SIZES	(sizeof(sizes) / sizeof(sizes[0]))
#define ODD		3

static void send_sizes(struct side *side)
{
	nrt_async_sendrecv_request_t *requests[NR_SIZES];
	size_t i, size;

	for (i = 0; i < NR_SIZES; i++) {
		side_fill(side, (unsigned int)i + 1, ODD, sizes[i]);
		side_move(side, true, ODD, sizes[i]);
	}
	/* All at once, of the bytes that are there now. */
	for (i = 0; i < NR_SIZES; i++)
		requests[i] = side_post(side, side->comm, true, ODD + i, sizes[i] / 4);
	for (i = 0; i < NR_SIZES; i++) {
		CHECK(!side_await_request(side, requests[i], &size));
		CHECK(size == sizes[i] / 4);
	}
}

static void receive_sizes(struct side *side)
{
	nrt_async_sendrecv_request_t *requests[NR_SIZES];
	size_t i, at, size;

	for (i = 0; i < NR_SIZES; i++) {
		CHECK(!nrt_tensor_memset(side->tensor, 0, 0, SIDE_BYTES));
		/* There may be more room than bytes; nothing is written there. */
		CHECK(!side_await_request(side, side_post(side, side->comm, false, 2 * ODD,
							  sizes[i] + i), &size));
		CHECK(size == sizes[i]);
		CHECK(side_holds(side, 0, 0, 2 * ODD));
		CHECK(side_holds(side, (unsigned int)i + 1, 2 * ODD, sizes[i]));
		CHECK(side_holds(side, 0, 2 * ODD + sizes[i], 100));
	}
	for (i = 0, at = 0; i < NR_SIZES; at += sizes[i++] / 4)
		requests[i] = side_post(side, side->comm, false, at, sizes[i] / 4);
	for (i = 0, at = 0; i < NR_SIZES; at += sizes[i++] / 4) {
		uint8_t first;

		CHECK(!side_await_request(side, requests[i], &size));
		CHECK(size == sizes[i] / 4);
		if (!size)
			continue;
		CHECK(!nrt_tensor_read(side->tensor, &first, at, 1));
		CHECK(first == side_byte(NR_SIZES, i));
	}
}

static void sender_first(struct side *side)
{
	bool done;

	side_begin(side);
	side_connect(side);
	CHECK(!nrt_async_sendrecv_test_comm(side->comm, &done) && !done);
	side_reach(side, 0);
	side_await_comm(side, side->comm);
	send_sizes(side);
	side_end(side);
}

static void receiver_second(struct side *side)
{
	side_await(side, 0);
	side_begin(side);
	side_accept(side);
	side_await_comm(side, side->comm);
	receive_sizes(side);
	side_end(side);
}

TEST_F_TIMEOUT(two, the_sender_comes_first, SIDE_LIMIT_S)
{
	EXPECT_TRUE(sides_run(self->board, sender_first, receiver_second));
}

static void receiver_first(struct side *side)
{
	bool done;

	side_begin_with(side, NRT_TENSOR_PLACEMENT_HOST);
	side_accept(side);
	CHECK(!nrt_async_sendrecv_test_comm(side->comm, &done) && !done);
	side_reach(side, 0);
	side_await_comm(side, side->comm);
	receive_sizes(side);
	side_end(side);
}

static void sender_second(struct side *side)
{
	side_await(side, 0);
	side_begin_with(side, NRT_TENSOR_PLACEMENT_VIRTUAL);
	side_connect(side);
	side_await_comm(side, side->comm);
	send_sizes(side);
	side_end(side);
}

TEST_F_TIMEOUT(two, the_receiver_comes_first, SIDE_LIMIT_S)
{
	EXPECT_TRUE(sides_run(self->board, receiver_first, sender_second));
}

/* Both directions at once, with two communicators each; the n-th connect meets the n-th accept. */
static void exchange(struct side *side)
{
	nrt_async_sendrecv_comm_t *out[2], *in[2];
	nrt_async_sendrecv_request_t *sent[2 * ROOM], *received[2 * ROOM];
	size_t i, size, half = SIDE_BYTES / 2, block = half / (2 * ROOM);

	side_begin(side);
	for (i = 0; i < 2; i++) {
		CHECK(!nrt_async_sendrecv_connect(SIDE_HOST, side->peer, side->core, &out[i]));
		CHECK(!nrt_async_sendrecv_accept(SIDE_HOST, side->peer, side->core, &in[i]));
	}
	/* The later one is asked for first. */
	for (i = 2; i; i--) {
		side_await_comm(side, out[i - 1]);
		side_await_comm(side, in[i - 1]);
	}
	for (i = 0; i < 2 * ROOM; i++)
		side_fill(side, 100 * (unsigned int)side->core + (unsigned int)i + 1, i * block,
			  block - i);
	for (i = 0; i < 2 * ROOM; i++) {
		sent[i] = side_post(side, out[i % 2], true, i * block, block - i);
		received[i] = side_post(side, in[i % 2], false, half + i * block, block);
	}
	for (i = 0; i < 2 * ROOM; i++) {
		CHECK(!side_await_request(side, sent[i], &size) && size == block - i);
		CHECK(!side_await_request(side, received[i], &size) && size == block - i);
		CHECK(side_holds(side, 100 * (unsigned int)side->peer + (unsigned int)i + 1,
				 half + i * block, block - i));
	}
	side_end(side);
}

TEST_F_TIMEOUT(two, both_ways, SIDE_LIMIT_S)
{
	EXPECT_TRUE(sides_run(self->board, exchange, exchange));
}

/* Both send and receive the same bytes, which is a mistake; nobody waits for ever. */
static void swap(struct side *side)
{
	nrt_async_sendrecv_comm_t *out, *in;
	nrt_async_sendrecv_request_t *sent, *received;
	unsigned int i;
	size_t size;

	side_begin(side);
	CHECK(!nrt_async_sendrecv_connect(SIDE_HOST, side->peer, side->core, &out));
	CHECK(!nrt_async_sendrecv_accept(SIDE_HOST, side->peer, side->core, &in));
	side_await_comm(side, out);
	side_await_comm(side, in);
	for (i = 0; i < 10; i++) {
		received = side_post(side, in, false, 0, SIDE_BIG);
		sent = side_post(side, out, true, 0, SIDE_BIG);
		CHECK(!side_await_request(side, sent, &size) && size == SIDE_BIG);
		CHECK(!side_await_request(side, received, &size) && size == SIDE_BIG);
	}
	side_end(side);
}

TEST_F_TIMEOUT(two, swap_in_place, SIDE_LIMIT_S)
{
	EXPECT_TRUE(sides_run(self->board, swap, swap));
}

static void send_too_much(struct side *side)
{
	side_begin(side);
	side_connect(side);
	side_await_comm(side, side->comm);
	side_expect_failure(side, side_post(side, side->comm, true, 0, 10),
			    "10 bytes were sent to a place for 9");
	side_move(side, true, 0, 10);
	side_end(side);
}

static void receive_too_much(struct side *side)
{
	side_begin(side);
	side_accept(side);
	side_await_comm(side, side->comm);
	side_expect_failure(side, side_post(side, side->comm, false, 0, 9),
			    "10 bytes were sent to a place for 9");
	side_move(side, false, 0, 10);
	side_end(side);
}

TEST_F_TIMEOUT(two, more_than_there_is_room_for, SIDE_LIMIT_S)
{
	EXPECT_TRUE(sides_run(self->board, send_too_much, receive_too_much));
}

/* As many requests as within a process. */
static void send_many(struct side *side)
{
	nrt_async_sendrecv_request_t *requests[1024], *other;
	int i, most;
	size_t size;

	side_begin(side);
	CHECK(!nrt_async_sendrecv_get_max_num_pending_request(&most) && most <= 1024);
	side_connect(side);
	side_await_comm(side, side->comm);
	for (i = 0; i < most; i++)
		requests[i] = side_post(side, side->comm, true, (size_t)i, 1);
	rig_catch();
	CHECK(nrt_async_sendrecv_send_tensor(side->tensor, 0, 1, side->comm, &other) ==
	      NRT_RESOURCE);
	CHECK(nrt_async_sendrecv_recv_tensor(side->tensor, 0, 1, side->comm, &other) ==
	      NRT_FAILURE);
	rig_caught();
	side_reach(side, 0);
	for (i = 0; i < most; i++)
		CHECK(!side_await_request(side, requests[i], &size));
	side_end(side);
}

static void receive_many(struct side *side)
{
	int i, most;

	side_begin(side);
	CHECK(!nrt_async_sendrecv_get_max_num_pending_request(&most));
	side_accept(side);
	side_await(side, 0);
	for (i = 0; i < most; i++)
		side_move(side, false, (size_t)i, 1);
	side_end(side);
}

TEST_F_TIMEOUT(two, limits, SIDE_LIMIT_S)
{
	EXPECT_TRUE(sides_run(self->board, send_many, receive_many));
}

/* There is one descriptor, and a connection needs two: it waits, and the other side with it. */
static void connect_with_one_descriptor(struct side *side)
{
	struct rlimit all, few;
	bool done = true;
	int next;

	side_begin(side);
	side_await(side, 0);
	CHECK(!getrlimit(RLIMIT_NOFILE, &all));
	rig_catch();
	next = dup(STDIN_FILENO);
	CHECK(next >= 0 && !close(next));
	few = all;
	few.rlim_cur = (rlim_t)next + 1;
	CHECK(!setrlimit(RLIMIT_NOFILE, &few));
	side_connect(side);
	usleep(100000);
	CHECK(nrt_async_sendrecv_test_comm(side->comm, &done) == NRT_RESOURCE && !done);
	CHECK(!setrlimit(RLIMIT_NOFILE, &all));
	CHECK(rig_has(rig_caught(), "cannot make"));
	side_await_comm(side, side->comm);
	side_move(side, true, 0, 100);
	/* poll() refuses two descriptors now. The bytes get there all the same. */
	few.rlim_cur = 1;
	CHECK(!setrlimit(RLIMIT_NOFILE, &few));
	side_move(side, true, 0, 1024 * 1024);
	CHECK(!setrlimit(RLIMIT_NOFILE, &all));
	side_end(side);
}

static void accept_when_there_are_some(struct side *side)
{
	side_begin(side);
	side_accept(side);
	side_reach(side, 0);
	side_await_comm(side, side->comm);
	side_move(side, false, 0, 100);
	side_move(side, false, 0, 1024 * 1024);
	side_end(side);
}

TEST_F_TIMEOUT(two, too_few_descriptors, SIDE_LIMIT_S)
{
	EXPECT_TRUE(sides_run(self->board, connect_with_one_descriptor,
			      accept_when_there_are_some));
}

/* --- The end of one side --- */

/* What waits, and what comes later, fails; the core can be closed well. */
static void survive(struct side *side, bool sends, nrt_async_sendrecv_request_t **requests,
		    unsigned int nr)
{
	nrt_async_sendrecv_request_t *other;
	NRT_STATUS status;
	unsigned int i;
	bool done;

	for (i = 0; i < nr; i++)
		side_expect_failure(side, requests[i], "has closed or ended");
	rig_catch();
	status = sends ? nrt_async_sendrecv_send_tensor(side->tensor, 0, 1, side->comm, &other) :
			 nrt_async_sendrecv_recv_tensor(side->tensor, 0, 1, side->comm, &other);
	CHECK(rig_has(rig_caught(), "has closed or ended") && status == NRT_FAILURE);
	CHECK(!nrt_async_sendrecv_test_comm(side->comm, &done) && done);
	side_end(side);
}

static void send_to_one_that_closes(struct side *side)
{
	nrt_async_sendrecv_request_t *requests[2];

	side_begin(side);
	side_connect(side);
	side_await_comm(side, side->comm);
	side_move(side, true, 0, 100);
	requests[0] = side_post(side, side->comm, true, 0, SIDE_BIG);
	requests[1] = side_post(side, side->comm, true, 0, 1);
	side_reach(side, 0);
	survive(side, true, requests, 2);
}

static void receive_and_close(struct side *side)
{
	side_begin(side);
	side_accept(side);
	side_await_comm(side, side->comm);
	side_move(side, false, 0, 100);
	side_await(side, 0);
	side_end(side);
}

TEST_F_TIMEOUT(two, the_receiver_closes, SIDE_LIMIT_S)
{
	EXPECT_TRUE(sides_run(self->board, send_to_one_that_closes, receive_and_close));
}

static void send_and_close(struct side *side)
{
	side_begin(side);
	side_connect(side);
	side_await_comm(side, side->comm);
	side_move(side, true, 0, 100);
	side_await(side, 0);
	side_end(side);
}

static void receive_from_one_that_closes(struct side *side)
{
	nrt_async_sendrecv_request_t *requests[2];

	side_begin(side);
	side_accept(side);
	side_await_comm(side, side->comm);
	side_move(side, false, 0, 100);
	requests[0] = side_post(side, side->comm, false, 0, SIDE_BIG);
	requests[1] = side_post(side, side->comm, false, 0, 1);
	side_reach(side, 0);
	survive(side, false, requests, 2);
}

TEST_F_TIMEOUT(two, the_sender_closes, SIDE_LIMIT_S)
{
	EXPECT_TRUE(sides_run(self->board, send_and_close, receive_from_one_that_closes));
}

/* Waits to be stopped or killed, with a message under way. */
static void send_until_killed(struct side *side)
{
	side_begin(side);
	side_connect(side);
	side_await_comm(side, side->comm);
	side_reach(side, 0);
	for (;;)
		side_move(side, true, 1, SIDE_BIG);
}

static void receive_until_killed(struct side *side)
{
	side_begin(side);
	side_accept(side);
	side_await_comm(side, side->comm);
	side_reach(side, 0);
	for (;;)
		side_move(side, false, 1, SIDE_BIG);
}

/* One message, which waits behind another one; both fail if the first one does. */
static NRT_STATUS move_two(struct side *side, bool sends)
{
	nrt_async_sendrecv_request_t *requests[2];
	NRT_STATUS status = NRT_SUCCESS;
	unsigned int i;
	size_t size;

	for (i = 0; i < 2 && !status; i++)
		status = sends ? nrt_async_sendrecv_send_tensor(side->tensor, 1, SIDE_BIG,
								side->comm, &requests[i]) :
				 nrt_async_sendrecv_recv_tensor(side->tensor, 1, SIDE_BIG,
								side->comm, &requests[i]);
	if (status)
		return status;
	status = side_await_request(side, requests[0], &size);
	if (!status)
		return side_await_request(side, requests[1], &size);
	CHECK(side_await_request(side, requests[1], &size) == NRT_FAILURE);
	return status;
}

static void move_until_failure(struct side *side, bool sends)
{
	NRT_STATUS status;
	const char *text;
	char core[32];

	snprintf(core, sizeof(core), "core %d of process ", side->peer);
	rig_catch();
	do {
		status = move_two(side, sends);
	} while (!status);
	text = rig_caught();
	CHECK(status == NRT_FAILURE);
	CHECK(rig_has(text, core) && rig_has(text, "has closed or ended"));
	survive(side, sends, NULL, 0);
}

static void send_to_victim(struct side *side)
{
	side_begin(side);
	side_connect(side);
	side_await_comm(side, side->comm);
	move_until_failure(side, true);
}

static void receive_from_victim(struct side *side)
{
	side_begin(side);
	side_accept(side);
	side_await_comm(side, side->comm);
	move_until_failure(side, false);
}

static void kill_one(struct __test_metadata *_metadata, struct side_board *board, bool sender,
		     bool stops)
{
	pid_t victim = side_start(board, 0, sender ? send_until_killed :
							    receive_until_killed);
	pid_t other = side_start(board, 1, sender ? receive_from_victim : send_to_victim);

	EXPECT_TRUE(sides_await(board, 0));
	usleep(100000);
	if (stops) {
		kill(victim, SIGSTOP);
		usleep(200000);
	}
	kill(victim, SIGKILL);
	EXPECT_TRUE(side_ended(victim, true));
	EXPECT_TRUE(side_ended(other, false));
}

TEST_F_TIMEOUT(two, the_sender_is_killed, SIDE_LIMIT_S)
{
	kill_one(_metadata, self->board, true, false);
	atomic_store(&self->board->step[0], false);
	kill_one(_metadata, self->board, true, true);
}

TEST_F_TIMEOUT(two, the_receiver_is_killed, SIDE_LIMIT_S)
{
	kill_one(_metadata, self->board, false, false);
	atomic_store(&self->board->step[0], false);
	kill_one(_metadata, self->board, false, true);
}

/* The other process is stopped: nobody is held up, and close does not wait for it. */
static void leave_one_that_stands_still(struct side *side)
{
	nrt_async_sendrecv_request_t *request;
	bool done = true;
	double began;
	uint8_t byte;
	size_t size;

	side_begin(side);
	side_connect(side);
	side_await_comm(side, side->comm);
	side_reach(side, 1);
	side_await(side, 2);
	request = side_post(side, side->comm, true, 0, SIDE_BIG);
	usleep(200000);
	CHECK(!nrt_async_sendrecv_test_request(request, &done, &size) && !done);
	CHECK(!nrt_tensor_write(side->tensor, "x", 1, 1));
	CHECK(!nrt_tensor_read(side->tensor, &byte, 1, 1) && byte == 'x');
	began = side_now_s();
	rig_catch();
	/* The request has not ended. */
	CHECK(nrt_async_sendrecv_close(side->core) == NRT_FAILURE);
	rig_caught();
	CHECK(side_now_s() - began < SIDE_SOON_S);
	/* That was no mistake of this program. */
	CHECK(!nrt_async_sendrecv_init(side->core));
	side_end(side);
}

/* The other process ends before it has connected, and another one comes in its place. */
static void end_too_soon(struct side *side)
{
	side_begin(side);
	side_reach(side, 0);
}

static void close_unconnected(struct side *side)
{
	bool done;

	side_begin(side);
	side_await(side, 0);
	side_accept(side);
	CHECK(!nrt_async_sendrecv_test_comm(side->comm, &done) && !done);
	rig_catch();
	CHECK(nrt_async_sendrecv_close(side->core) == NRT_FAILURE);
	CHECK(rig_has(rig_caught(), "was not connected"));
	CHECK(!nrt_async_sendrecv_init(side->core));
	side_reach(side, 1);
	side_accept(side);
	side_await_comm(side, side->comm);
	side_move(side, false, 0, 100);
	side_end(side);
}

static void come_in_its_place(struct side *side)
{
	side_begin(side);
	side_await(side, 1);
	side_connect(side);
	side_await_comm(side, side->comm);
	side_move(side, true, 0, 100);
	side_end(side);
}

TEST_F_TIMEOUT(two, one_ends_before_it_connects, SIDE_LIMIT_S)
{
	pid_t stays = side_start(self->board, 1, close_unconnected);

	EXPECT_TRUE(side_ended(side_start(self->board, 0, end_too_soon), false));
	EXPECT_TRUE(side_ended(side_start(self->board, 0, come_in_its_place), false));
	EXPECT_TRUE(side_ended(stays, false));
}

static void leave_the_library(struct side *side)
{
	double began;

	side_begin(side);
	side_connect(side);
	side_await_comm(side, side->comm);
	side_reach(side, 1);
	side_await(side, 2);
	side_post(side, side->comm, true, 0, SIDE_BIG);
	usleep(200000);
	nrt_tensor_free(&side->tensor);
	began = side_now_s();
	nrt_close();
	/* With its chips. */
	CHECK(side_now_s() - began < SIDE_SOON_S);
}

static void stand_still(struct __test_metadata *_metadata, struct side_board *board, side_fn *leave)
{
	pid_t still = side_start(board, 0, receive_until_killed);
	pid_t other = side_start(board, 1, leave);

	EXPECT_TRUE(sides_await(board, 1));
	kill(still, SIGSTOP);
	atomic_store(&board->step[2], true);
	EXPECT_TRUE(side_ended(other, false));
	kill(still, SIGKILL);
	EXPECT_TRUE(side_ended(still, true));
}

TEST_F_TIMEOUT(two, one_stands_still, SIDE_LIMIT_S)
{
	stand_still(_metadata, self->board, leave_one_that_stands_still);
	memset(self->board->step, 0, sizeof(self->board->step));
	stand_still(_metadata, self->board, leave_the_library);
}

/* A child that does nothing until the other side has seen what it wants to see. */
static void leave_a_child(struct side *side)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid)
		return;
	side_await(side, 0);
	_exit(0);
}

static void fork_and_end(struct side *side)
{
	side_begin(side);
	side_connect(side);
	side_await_comm(side, side->comm);
	leave_a_child(side);
	CHECK(!nrt_async_sendrecv_close(side->core));
	CHECK(!nrt_async_sendrecv_init(side->core));
	side_await(side, 1);
	side_connect(side);
	/* It has said hello, and the other one waits for it. */
	leave_a_child(side);
	side_await_comm(side, side->comm);
	leave_a_child(side);
	/* As if it was killed: nothing is closed by the library. */
	_exit(0);
}

static void outlive_one_that_forks(struct side *side)
{
	side_begin(side);
	side_accept(side);
	side_await_comm(side, side->comm);
	side_expect_failure(side, side_post(side, side->comm, false, 0, 1), "has closed or ended");
	side_accept(side);
	side_reach(side, 1);
	side_await_comm(side, side->comm);
	side_expect_failure(side, side_post(side, side->comm, false, 0, 1), "has closed or ended");
	side_reach(side, 0);
	side_end(side);
}

/* A child neither hides the end of its parent nor keeps the address of its core. */
TEST_F_TIMEOUT(two, one_has_children, SIDE_LIMIT_S)
{
	ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1));
	EXPECT_TRUE(sides_run(self->board, fork_and_end, outlive_one_that_forks));
	/* They have descriptors of the driver, too. */
	while (wait(NULL) > 0)
		;
}

TEST_HARNESS_MAIN
