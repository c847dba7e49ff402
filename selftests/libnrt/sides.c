// SPDX-License-Identifier: MIT
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "rig.h"
#include "sides.h"

/* --- Steps --- */

double side_now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void side_reach(struct side *side, unsigned int step)
{
	atomic_store(&side->board->step[step], true);
}

bool sides_await(const struct side_board *board, unsigned int step)
{
	double until = side_now_s() + 60;

	while (!atomic_load(&board->step[step])) {
		if (side_now_s() > until)
			return false;
		usleep(1000);
	}
	return true;
}

void side_await(struct side *side, unsigned int step)
{
	CHECK(sides_await(side->board, step));
}

/* --- Sides --- */

void side_begin_with(struct side *side, nrt_tensor_placement_t placement)
{
	char visible[16];

	snprintf(visible, sizeof(visible), "%d", side->core);
	setenv("NEURON_RT_VISIBLE_CORES", visible, 1);
	CHECK(!nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	CHECK(!nrt_tensor_allocate(placement, 0, SIDE_BYTES, "t", &side->tensor));
	CHECK(!nrt_async_sendrecv_init(side->core));
}

void side_begin(struct side *side)
{
	side_begin_with(side, NRT_TENSOR_PLACEMENT_DEVICE);
}

void side_connect(struct side *side)
{
	CHECK(!nrt_async_sendrecv_connect(SIDE_HOST, side->peer, side->core, &side->comm));
}

void side_accept(struct side *side)
{
	CHECK(!nrt_async_sendrecv_accept(SIDE_HOST, side->peer, side->core, &side->comm));
}

void side_await_comm(struct side *side, nrt_async_sendrecv_comm_t *comm)
{
	double until = side_now_s() + 60;
	bool done = false;

	while (!done) {
		CHECK(!nrt_async_sendrecv_test_comm(comm, &done));
		CHECK(side_now_s() < until);
		usleep(200);
	}
}

NRT_STATUS side_await_request(struct side *side, nrt_async_sendrecv_request_t *request,
			      size_t *size)
{
	double until = side_now_s() + 60;
	NRT_STATUS status;
	bool done = false;

	for (;;) {
		status = nrt_async_sendrecv_test_request(request, &done, size);
		if (status || done)
			return status;
		CHECK(side_now_s() < until);
		usleep(200);
	}
}

nrt_async_sendrecv_request_t *side_post(struct side *side, nrt_async_sendrecv_comm_t *comm,
					bool sends, size_t offset, size_t length)
{
	nrt_async_sendrecv_request_t *request;

	CHECK(!(sends ? nrt_async_sendrecv_send_tensor(side->tensor, offset, length, comm,
						       &request) :
			nrt_async_sendrecv_recv_tensor(side->tensor, offset, length, comm,
						       &request)));
	return request;
}

void side_move(struct side *side, bool sends, size_t offset, size_t length)
{
	size_t size = 0;

	CHECK(!side_await_request(side, side_post(side, side->comm, sends, offset, length), &size));
	CHECK(size == length);
}

void side_end(struct side *side)
{
	CHECK(!nrt_async_sendrecv_close(side->core));
	nrt_tensor_free(&side->tensor);
	nrt_close();
}

void side_expect_failure(struct side *side, nrt_async_sendrecv_request_t *request,
			 const char *why)
{
	size_t size;
	const char *text;

	rig_catch();
	CHECK(side_await_request(side, request, &size) == NRT_FAILURE);
	text = rig_caught();
	if (!rig_has(text, why))
		dprintf(side->board->log, "# %s", text);
	CHECK(rig_has(text, why));
}

/* --- Bytes --- */

uint8_t side_byte(unsigned int seed, size_t i)
{
	return (uint8_t)(i * 7 + i / 251 + seed * 31 + 1);
}

void side_fill(struct side *side, unsigned int seed, size_t offset, size_t length)
{
	uint8_t *bytes = malloc(length + 1);
	size_t i;

	CHECK(bytes);
	for (i = 0; i < length; i++)
		bytes[i] = side_byte(seed, i);
	CHECK(!nrt_tensor_write(side->tensor, bytes, offset, length));
	free(bytes);
}

bool side_holds(struct side *side, unsigned int seed, size_t offset, size_t length)
{
	uint8_t *bytes = malloc(length + 1);
	bool good;
	size_t i;

	CHECK(bytes && !nrt_tensor_read(side->tensor, bytes, offset, length));
	for (i = 0; i < length && bytes[i] == (seed ? side_byte(seed, i) : 0); i++)
		;
	good = i == length;
	free(bytes);
	return good;
}

/* --- Processes --- */

struct side_board *sides_begin(void)
{
	struct side_board *board;
	char port[16];

	/* Tests that run beside this one have other ports. */
	snprintf(port, sizeof(port), "%u", 1024 + (unsigned int)getpid() % 60000);
	setenv("NEURON_RT_ASYNC_SENDRECV_BOOTSTRAP_PORT", port, 1);
	setenv("NEURON_EMU_QUIET", "1", 1);
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (board == MAP_FAILED)
		return NULL;
	/* Sides send their stderr elsewhere to see what the library says. */
	board->log = dup(STDERR_FILENO);
	return board;
}

void sides_end(struct side_board *board)
{
	close(board->log);
	munmap(board, sizeof(*board));
}

pid_t side_start(struct side_board *board, int core, side_fn *run)
{
	struct side side = { .board = board, .core = core, .peer = !core };
	pid_t pid = fork();

	if (pid)
		return pid;
	alarm(SIDE_LIMIT_S - 20);
	run(&side);
	_exit(0);
}

bool side_ended(pid_t pid, bool killed)
{
	int status = 0;
	bool good;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return false;
	good = killed ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL : !status;
	if (!good)
		fprintf(stderr, "# a process ended with status 0x%x\n", status);
	return good;
}

bool sides_run(struct side_board *board, side_fn *zero, side_fn *one)
{
	pid_t first = side_start(board, 0, zero);
	pid_t second = side_start(board, 1, one);
	bool good = side_ended(first, false);

	return side_ended(second, false) && good;
}
