/* SPDX-License-Identifier: MIT */
/*
 * Two processes that send tensors to each other: what both sides of such tests do. A side is a
 * child of the test, with a core of its own. What it expects it gets, or it ends with a line.
 */
#ifndef SELFTESTS_LIBNRT_SIDES_H
#define SELFTESTS_LIBNRT_SIDES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#include <nrt/nrt_async_sendrecv.h>

/* Of a test. */
#define SIDE_LIMIT_S	200
/* What waits for nobody ends in a second; a host that is busy may need more. */
#define SIDE_SOON_S	60
#define SIDE_HOST	"127.0.0.1"
#define SIDE_BYTES	((size_t)8 * 1024 * 1024)
/* More than sockets buffer. */
#define SIDE_BIG	((size_t)6 * 1024 * 1024)
#define SIDE_STEPS	4

/* What the processes tell each other: the steps that have been reached. CHECK() writes to @log. */
struct side_board {
	int log;
	atomic_bool step[SIDE_STEPS];
};

/**
 * struct side - one of the two processes
 * @board: shared by both
 * @core, @peer: its core, and that of the other one
 * @comm: its communicator
 * @tensor: of SIDE_BYTES
 */
struct side {
	struct side_board *board;
	int core;
	int peer;
	nrt_async_sendrecv_comm_t *comm;
	nrt_tensor_t *tensor;
};

typedef void side_fn(struct side *side);

/* The first one that fails ends the process. */
#define CHECK(what) do { \
	if (!(what)) { \
		dprintf(side->board->log, "# core %d, %s:%d: %s\n", side->core, __FILE__, \
			__LINE__, #what); \
		_exit(1); \
	} \
} while (0)

/* A board, and an environment in which the sides of this test meet; NULL: no memory. */
struct side_board *sides_begin(void);
void sides_end(struct side_board *board);

/* A process that does @run as core @core, 0 or 1. Has it ended, well or killed? */
pid_t side_start(struct side_board *board, int core, side_fn *run);
bool side_ended(pid_t pid, bool killed);

/* Has the step been reached, in time? */
bool sides_await(const struct side_board *board, unsigned int step);

/* Core 0 does @zero, and core 1 does @one: well? */
bool sides_run(struct side_board *board, side_fn *zero, side_fn *one);

/* --- In the processes --- */

double side_now_s(void);
void side_reach(struct side *side, unsigned int step);
void side_await(struct side *side, unsigned int step);

/* Initialise the library and the core, with a tensor of that kind or on the device; end both. */
void side_begin_with(struct side *side, nrt_tensor_placement_t placement);
void side_begin(struct side *side);
void side_end(struct side *side);

/* Make @comm; wait until one is connected. */
void side_connect(struct side *side);
void side_accept(struct side *side);
void side_await_comm(struct side *side, nrt_async_sendrecv_comm_t *comm);

/* A request, and what comes of it. */
nrt_async_sendrecv_request_t *side_post(struct side *side, nrt_async_sendrecv_comm_t *comm,
					bool sends, size_t offset, size_t length);
NRT_STATUS side_await_request(struct side *side, nrt_async_sendrecv_request_t *request,
			      size_t *size);

/* One message that ends well; one that fails, with a line that has @why. */
void side_move(struct side *side, bool sends, size_t offset, size_t length);
void side_expect_failure(struct side *side, nrt_async_sendrecv_request_t *request,
			 const char *why);

/* Bytes of the tensor: of a sequence, or with seed 0 in side_holds() zero. */
uint8_t side_byte(unsigned int seed, size_t i);
void side_fill(struct side *side, unsigned int seed, size_t offset, size_t length);
bool side_holds(struct side *side, unsigned int seed, size_t offset, size_t length);

#endif /* SELFTESTS_LIBNRT_SIDES_H */
