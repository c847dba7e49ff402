// SPDX-License-Identifier: MIT
/*
 * Processes that misuse the sockets by which two processes send tensors: bad hellos, silence, many
 * connections, frames out of turn, transfers that stop in the middle, names that are taken, other
 * users.
 */
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "kselftest_harness.h"

#include "comm/peer_wire.h"
#include "rig.h"
#include "sides.h"

/* The library needs some seconds at most; a host that is busy may need more. */
#define CLOSED_MS	60000
/* More than sockets buffer, and less than a piece. */
#define A_PART		((size_t)300 * 1024)

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

/* --- A side without the library --- */

static socklen_t address_of(unsigned int user, int core, struct sockaddr_un *address)
{
	unsigned int port = (unsigned int)atoi(getenv("NEURON_RT_ASYNC_SENDRECV_BOOTSTRAP_PORT"));
	unsigned int lnc = (unsigned int)atoi(getenv("NEURON_LOGICAL_NC_CONFIG"));

	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1) +
	       (socklen_t)snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1,
				   NRT_PEER_ADDRESS, user, port, lnc, (unsigned int)core);
}

static bool connect_socket(int fd, unsigned int user, int core)
{
	struct sockaddr_un address;
	socklen_t length = address_of(user, core, &address);

	return !connect(fd, (struct sockaddr *)&address, length);
}

/* A connection to the listener of core @core, or -1. */
static int connect_to(unsigned int user, int core)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect_socket(fd, user, core))
		return fd;
	close(fd);
	return -1;
}

/* A listener of core @core, or -1. */
static int listen_as(unsigned int user, int core)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address;
	socklen_t length = address_of(user, core, &address);

	if (!bind(fd, (struct sockaddr *)&address, length) && !listen(fd, 8))
		return fd;
	close(fd);
	return -1;
}

/* Is the connection closed within @ms? */
static bool is_closed(int fd, int ms)
{
	struct pollfd at = { .fd = fd, .events = POLLIN };
	char bytes[64];

	while (poll(&at, 1, ms) == 1)
		if (recv(fd, bytes, sizeof(bytes), 0) <= 0)
			return true;
	return false;
}

static bool send_bytes(int fd, const void *bytes, size_t size)
{
	return send(fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
}

/* It says hello and ends before anybody reads it, which must not use up an accept. */
static void hello_and_end(struct side *side, const struct nrt_hello *hello)
{
	int fd = connect_to(geteuid(), side->peer);
	struct ucred who;
	socklen_t size = sizeof(who);
	bool said;

	CHECK(fd >= 0 && !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size));
	close(fd);
	CHECK(!kill(who.pid, SIGSTOP));
	usleep(200000);
	fd = connect_to(geteuid(), side->peer);
	said = fd >= 0 && send_bytes(fd, hello, sizeof(*hello));
	close(fd);
	CHECK(!kill(who.pid, SIGCONT) && said);
}

/* Bad hellos, silence, and many connections. Then a good one. */
static void misuse_listener(struct side *side)
{
	const struct nrt_hello hellos[] = {
		{ 0x12345678, NRT_HELLO_VERSION, 0, 1 },
		{ NRT_HELLO_MAGIC, NRT_HELLO_VERSION + 1, 0, 1 },
		{ NRT_HELLO_MAGIC, NRT_HELLO_VERSION, 0, 0 },
		{ NRT_HELLO_MAGIC, NRT_HELLO_VERSION, 0xffffffff, 1 },
		{ NRT_HELLO_MAGIC, NRT_HELLO_VERSION, 0, 0xffffffff },
	};
	const struct nrt_hello good = { NRT_HELLO_MAGIC, NRT_HELLO_VERSION, 0, 1 };
	int fds[200], fd;
	uint8_t junk[4096];
	unsigned int i;

	side_begin(side);
	side_await(side, 0);
	for (i = 0; i < sizeof(hellos) / sizeof(hellos[0]); i++) {
		fd = connect_to(geteuid(), side->peer);
		CHECK(fd >= 0 && send_bytes(fd, &hellos[i], sizeof(hellos[i])));
		CHECK(is_closed(fd, CLOSED_MS));
		close(fd);
	}
	/* All but one zero at its end. */
	fd = connect_to(geteuid(), side->peer);
	CHECK(fd >= 0 && send_bytes(fd, &good, sizeof(good) - 1));
	CHECK(is_closed(fd, CLOSED_MS));
	close(fd);
	hello_and_end(side, &good);
	memset(junk, 0xa5, sizeof(junk));
	for (i = 1; i < sizeof(junk); i *= 3) {
		fd = connect_to(geteuid(), side->peer);
		CHECK(fd >= 0 && send_bytes(fd, junk, i));
		CHECK(is_closed(fd, CLOSED_MS));
		close(fd);
	}
	for (i = 0; i < 200; i++) {
		fds[i] = connect_to(geteuid(), side->peer);
		CHECK(fds[i] >= 0);
	}
	/* Most have had to make room, and the others have no time left soon. */
	CHECK(is_closed(fds[0], CLOSED_MS));
	side_connect(side);
	side_await_comm(side, side->comm);
	side_move(side, true, 5, SIDE_BIG);
	CHECK(is_closed(fds[199], CLOSED_MS));
	side_reach(side, 1);
	for (i = 0; i < 200; i++)
		close(fds[i]);
	side_end(side);
}

static unsigned int count_in(const char *text, const char *what)
{
	unsigned int n = 0;

	for (text = strstr(text, what); text; text = strstr(text + 1, what))
		n++;
	return n;
}

static void be_misused(struct side *side)
{
	const char *text;

	side_begin(side);
	side_accept(side);
	rig_catch();
	side_reach(side, 0);
	side_await_comm(side, side->comm);
	side_move(side, false, 5, SIDE_BIG);
	/* One line for each reason. */
	text = rig_caught();
	CHECK(count_in(text, "it sent no hello to this core") == 1);
	CHECK(count_in(text, "another version") == 1 && count_in(text, "is refused") == 2);
	side_await(side, 1);
	side_end(side);
}

TEST_F_TIMEOUT(two, bad_hellos, SIDE_LIMIT_S)
{
	EXPECT_TRUE(sides_run(self->board, misuse_listener, be_misused));
}

/* Frames of a sender, with bytes behind them; the second one follows when the first is @taken. */
struct misuse {
	struct nrt_frame frames[2];
	bool taken;
};

static const struct misuse bad_senders[] = {
	{ .frames = { { .magic = 1, .type = NRT_FRAME_OFFER, .size = 10 } } },
	{ .frames = { { NRT_FRAME_MAGIC, NRT_FRAME_PIECE, 10, 0, "" } } },
	{ .frames = { { NRT_FRAME_MAGIC, 77, 10, 0, "" } } },
	{ .frames = { { NRT_FRAME_MAGIC, NRT_FRAME_OFFER, 10, 0, "" },
		      { NRT_FRAME_MAGIC, NRT_FRAME_OFFER, 10, 0, "" } },
	  .taken = true },
	{ .frames = { { NRT_FRAME_MAGIC, NRT_FRAME_OFFER, 10, 0, "" },
		      { NRT_FRAME_MAGIC, NRT_FRAME_PIECE, 11, 0, "" } },
	  .taken = true },
	{ .frames = { { NRT_FRAME_MAGIC, NRT_FRAME_OFFER, 10, 0, "" },
		      { NRT_FRAME_MAGIC, NRT_FRAME_PIECE, 0, 0, "" } },
	  .taken = true },
	{ .frames = { { NRT_FRAME_MAGIC, NRT_FRAME_OFFER, 10, 0, "" },
		      { NRT_FRAME_MAGIC, NRT_FRAME_PIECE, UINT64_MAX, 0, "" } },
	  .taken = true },
};

#define NR_BAD_SENDERS		(sizeof(bad_senders) / sizeof(bad_senders[0]))

/* It has no library. */
static void misuse_receiver(struct side *side)
{
	const struct nrt_hello hello = { NRT_HELLO_MAGIC, NRT_HELLO_VERSION, (uint32_t)side->core,
				     (uint32_t)side->peer };
	struct nrt_frame answer;
	uint8_t junk[4096];
	struct nrt_answer welcome;
	unsigned int i;
	int fd;

	memset(junk, 0xa5, sizeof(junk));
	for (i = 0; i < NR_BAD_SENDERS; i++) {
		side_await(side, 0);
		atomic_store(&side->board->step[0], false);
		fd = connect_to(geteuid(), side->peer);
		CHECK(fd >= 0 && send_bytes(fd, &hello, sizeof(hello)));
		CHECK(recv(fd, &welcome, sizeof(welcome), MSG_WAITALL) == sizeof(welcome));
		CHECK(send_bytes(fd, &bad_senders[i].frames[0], sizeof(struct nrt_frame)));
		if (bad_senders[i].taken) {
			CHECK(recv(fd, &answer, sizeof(answer), MSG_WAITALL) == sizeof(answer));
			CHECK(answer.type == NRT_FRAME_TAKE);
			send_bytes(fd, &bad_senders[i].frames[1], sizeof(struct nrt_frame));
		}
		send_bytes(fd, junk, sizeof(junk));
		CHECK(is_closed(fd, CLOSED_MS));
		close(fd);
	}
}

/* The frame may come before the request. */
static void expect_misuse(struct side *side)
{
	nrt_async_sendrecv_request_t *request;
	NRT_STATUS status;
	size_t size;

	rig_catch();
	status = nrt_async_sendrecv_recv_tensor(side->tensor, 20, 15, side->comm, &request);
	if (!status)
		status = side_await_request(side, request, &size);
	CHECK(rig_has(rig_caught(), "broke the protocol") && status == NRT_FAILURE);
}

static void survive_bad_senders(struct side *side)
{
	unsigned int i;

	side_begin(side);
	for (i = 0; i < NR_BAD_SENDERS; i++) {
		CHECK(!nrt_tensor_memset(side->tensor, 0, 0, SIDE_BYTES));
		side_accept(side);
		side_reach(side, 0);
		side_await_comm(side, side->comm);
		expect_misuse(side);
		CHECK(side_holds(side, 0, 0, 10000));
	}
	side_end(side);
}

TEST_F_TIMEOUT(two, bad_frames_of_a_sender, SIDE_LIMIT_S)
{
	EXPECT_TRUE(sides_run(self->board, misuse_receiver, survive_bad_senders));
}

static const struct nrt_frame bad_receivers[] = {
	{ .magic = 1, .type = NRT_FRAME_TAKE },
	{ NRT_FRAME_MAGIC, NRT_FRAME_END, 0, 0, "" },
	{ NRT_FRAME_MAGIC, NRT_FRAME_PIECE, 10, 0, "" },
	{ NRT_FRAME_MAGIC, 0xffffffff, 10, 0, "" },
};

#define NR_BAD_RECEIVERS	(sizeof(bad_receivers) / sizeof(bad_receivers[0]))

/* What a receiver says at the end that has failed: @fill are the bytes of its reason. */
static const struct {
	uint32_t status;
	int fill;
	NRT_STATUS expected;
	const char *why;
} failures[] = {
	{ NRT_FAILURE, '\n', NRT_FAILURE, "????" },
	{ NRT_TIMEOUT, 0, NRT_TIMEOUT, "it has failed" },
	{ NRT_EXEC_HW_ERR_HBM_UE, 0, NRT_EXEC_HW_ERR_HBM_UE, "it has failed" },
	/* A program would understand these of its own request, or of its library. */
	{ NRT_SUCCESS + 256, 0, NRT_FAILURE, "it has failed" },
	{ NRT_INVALID_HANDLE, 0, NRT_FAILURE, "it has failed" },
	{ NRT_CLOSED, 0, NRT_FAILURE, "it has failed" },
	{ 77777, 0, NRT_FAILURE, "it has failed" },
};

#define NR_FAILURES	(sizeof(failures) / sizeof(failures[0]))

static void misuse_sender(struct side *side)
{
	int listener = listen_as(geteuid(), side->core), fd;
	const struct nrt_answer welcome = { NRT_HELLO_MAGIC, NRT_HELLO_VERSION,
					    NRT_ANSWER_WELCOME };
	struct nrt_frame frame;
	struct nrt_hello hello;
	unsigned int i;
	char byte;

	CHECK(listener >= 0);
	side_reach(side, 0);
	for (i = 0; i < NR_BAD_RECEIVERS + NR_FAILURES; i++) {
		fd = accept(listener, NULL, NULL);
		CHECK(recv(fd, &hello, sizeof(hello), MSG_WAITALL) == sizeof(hello));
		CHECK(send_bytes(fd, &welcome, sizeof(welcome)));
		CHECK(recv(fd, &frame, sizeof(frame), MSG_WAITALL) == sizeof(frame));
		CHECK(frame.type == NRT_FRAME_OFFER && frame.size == 10);
		if (i < NR_BAD_RECEIVERS) {
			CHECK(send_bytes(fd, &bad_receivers[i], sizeof(frame)));
			CHECK(is_closed(fd, CLOSED_MS));
			close(fd);
			continue;
		}
		frame.type = NRT_FRAME_TAKE;
		CHECK(send_bytes(fd, &frame, sizeof(frame)));
		CHECK(recv(fd, &frame, sizeof(frame), MSG_WAITALL) == sizeof(frame));
		CHECK(frame.type == NRT_FRAME_PIECE && frame.size == 10);
		while (frame.size--)
			CHECK(recv(fd, &byte, 1, 0) == 1);
		frame.type = NRT_FRAME_END;
		frame.status = failures[i - NR_BAD_RECEIVERS].status;
		memset(frame.why, failures[i - NR_BAD_RECEIVERS].fill, sizeof(frame.why));
		CHECK(send_bytes(fd, &frame, sizeof(frame)));
	}
	side_await(side, 1);
}

static void survive_bad_receivers(struct side *side)
{
	NRT_STATUS status;
	const char *text;
	unsigned int i;
	size_t size;

	side_begin(side);
	side_await(side, 0);
	for (i = 0; i < NR_BAD_RECEIVERS + NR_FAILURES; i++) {
		side_connect(side);
		side_await_comm(side, side->comm);
		rig_catch();
		status = side_await_request(side, side_post(side, side->comm, true, 0, 10), &size);
		text = rig_caught();
		if (i < NR_BAD_RECEIVERS)
			CHECK(status == NRT_FAILURE && rig_has(text, "broke the protocol"));
		else
			CHECK(status == failures[i - NR_BAD_RECEIVERS].expected &&
			      rig_has(text, failures[i - NR_BAD_RECEIVERS].why));
	}
	side_reach(side, 1);
	side_end(side);
}

TEST_F_TIMEOUT(two, bad_frames_of_a_receiver, SIDE_LIMIT_S)
{
	EXPECT_TRUE(sides_run(self->board, misuse_sender, survive_bad_receivers));
}

/* The first connection is closed without an answer. For the second one that takes a while. */
static void answer_the_second(struct side *side)
{
	const struct nrt_answer welcome = { NRT_HELLO_MAGIC, NRT_HELLO_VERSION,
					    NRT_ANSWER_WELCOME };
	int listener = listen_as(geteuid(), side->core), fd;
	struct pollfd another = { .fd = listener, .events = POLLIN };
	struct nrt_hello hello;

	CHECK(listener >= 0);
	side_reach(side, 0);
	close(accept(listener, NULL, NULL));
	fd = accept(listener, NULL, NULL);
	CHECK(recv(fd, &hello, sizeof(hello), MSG_WAITALL) == sizeof(hello));
	/* One that stands still has taken an endpoint for it, so it must not go away. */
	CHECK(!poll(&another, 1, 5000) && !is_closed(fd, 0));
	CHECK(send_bytes(fd, &welcome, sizeof(welcome)));
	side_await(side, 1);
}

static void connect_twice(struct side *side)
{
	side_begin(side);
	side_await(side, 0);
	side_connect(side);
	side_await_comm(side, side->comm);
	side_reach(side, 1);
	side_end(side);
}

TEST_F_TIMEOUT(two, a_slow_listener, SIDE_LIMIT_S)
{
	EXPECT_TRUE(sides_run(self->board, answer_the_second, connect_twice));
}

/* --- Descriptors --- */

static unsigned int count_files(struct side *side, const char *folder)
{
	DIR *dir = opendir(folder);
	unsigned int n = 0;

	CHECK(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* A thread that has been joined may be in the list for a moment. */
static void expect_files(struct side *side, const char *folder, unsigned int n)
{
	double until = side_now_s() + SIDE_SOON_S;

	while (count_files(side, folder) != n) {
		CHECK(side_now_s() < until);
		usleep(1000);
	}
}

/*
 * What looks for its other side in other processes, and finds it in its own, keeps nothing that was
 * meant for another process: there are only the listeners of two cores.
 */
static void meet_at_home(struct side *side)
{
	nrt_async_sendrecv_request_t *request;
	nrt_async_sendrecv_comm_t *other;
	unsigned int fds;

	setenv("NEURON_RT_VISIBLE_CORES", "0-1", 1);
	CHECK(!nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	CHECK(!nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, SIDE_BYTES, "t", &side->tensor));
	fds = count_files(side, "/proc/self/fd");
	CHECK(!nrt_async_sendrecv_init(side->core));
	side_connect(side);
	expect_files(side, "/proc/self/fd", fds + 2 + 1);
	CHECK(!nrt_async_sendrecv_init(side->peer));
	CHECK(!nrt_async_sendrecv_accept(SIDE_HOST, side->core, side->peer, &other));
	side_await_comm(side, side->comm);
	expect_files(side, "/proc/self/fd", fds + 2 + 2);
	request = side_post(side, other, false, SIDE_BIG, 10);
	side_move(side, true, 0, 10);
	CHECK(!side_await_request(side, request, &(size_t){ 0 }));
	CHECK(!nrt_async_sendrecv_close(side->peer));
	side_end(side);
}

TEST_F_TIMEOUT(two, both_sides_in_one_process, SIDE_LIMIT_S)
{
	EXPECT_TRUE(side_ended(side_start(self->board, 0, meet_at_home), false));
}

static void limit_files(struct side *side, rlim_t limit)
{
	struct rlimit files;

	CHECK(!getrlimit(RLIMIT_NOFILE, &files));
	files.rlim_cur = limit ? limit : files.rlim_max;
	CHECK(!setrlimit(RLIMIT_NOFILE, &files));
}

static double cpu_now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/*
 * poll() fails where it is given more descriptors than a program may have. Those who say nothing
 * make room. If that is not enough the listener waits, without a processor, and still ends.
 */
static void lower_the_limit(struct side *side)
{
	int late = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), fds[8];
	unsigned int i;
	double used;

	side_begin(side);
	for (i = 0; i < 8; i++) {
		fds[i] = connect_to(geteuid(), side->core);
		CHECK(fds[i] >= 0);
	}
	usleep(100000);
	limit_files(side, 4);
	CHECK(is_closed(fds[0], CLOSED_MS));
	limit_files(side, 1);
	/* Whatever it waits for, poll() is called again. */
	CHECK(connect_socket(late, geteuid(), side->core));
	usleep(200000);
	used = cpu_now_s();
	sleep(1);
	CHECK(cpu_now_s() - used < 0.5);
	side_end(side);
}

TEST_F_TIMEOUT(two, few_descriptors_for_the_listener, SIDE_LIMIT_S)
{
	EXPECT_TRUE(side_ended(side_start(self->board, 0, lower_the_limit), false));
}

/* --- A transfer that stops in the middle --- */

static bool receive_bytes(int fd, void *bytes, size_t size)
{
	return recv(fd, bytes, size, MSG_WAITALL) == (ssize_t)size;
}

/*
 * Nobody waits for the other side: not who uses the tensor, and not who closes. A listener has two
 * descriptors and a thread; of the communicator nothing is left.
 */
static void leave_in_the_middle(struct side *side, bool sends)
{
	nrt_async_sendrecv_request_t *request;
	unsigned int fds, tasks;
	bool done = true;
	double began;
	uint8_t byte;
	size_t size;

	side_begin(side);
	side_fill(side, 1, 0, SIDE_BIG);
	CHECK(side_holds(side, 1, 0, SIDE_BIG));
	rig_catch();
	fds = count_files(side, "/proc/self/fd");
	tasks = count_files(side, "/proc/self/task");
	side_reach(side, 3);
	side_await(side, 0);
	if (sends)
		side_connect(side);
	else
		side_accept(side);
	side_await_comm(side, side->comm);
	request = side_post(side, side->comm, sends, 0, SIDE_BIG);
	side_await(side, 1);
	usleep(100000);
	CHECK(!nrt_async_sendrecv_test_request(request, &done, &size) && !done);
	CHECK(!nrt_tensor_write(side->tensor, "x", 1, 1));
	CHECK(!nrt_tensor_read(side->tensor, &byte, 1, 1) && byte == 'x');
	began = side_now_s();
	/* The request has not ended. */
	CHECK(nrt_async_sendrecv_close(side->core) == NRT_FAILURE);
	CHECK(side_now_s() - began < SIDE_SOON_S);
	expect_files(side, "/proc/self/fd", fds - 2);
	expect_files(side, "/proc/self/task", tasks - 1);
	rig_caught();
	side_reach(side, 2);
	nrt_close();
}

static void take_a_part(struct side *side)
{
	const struct nrt_answer welcome = { NRT_HELLO_MAGIC, NRT_HELLO_VERSION,
					    NRT_ANSWER_WELCOME };
	const struct nrt_frame take = { .magic = NRT_FRAME_MAGIC, .type = NRT_FRAME_TAKE };
	int listener = listen_as(geteuid(), side->core), fd;
	static uint8_t bytes[A_PART];
	struct nrt_hello hello;
	struct nrt_frame frame;

	CHECK(listener >= 0);
	side_reach(side, 0);
	fd = accept(listener, NULL, NULL);
	CHECK(receive_bytes(fd, &hello, sizeof(hello)));
	CHECK(send_bytes(fd, &welcome, sizeof(welcome)));
	CHECK(receive_bytes(fd, &frame, sizeof(frame)) && frame.type == NRT_FRAME_OFFER);
	CHECK(frame.size == SIDE_BIG && send_bytes(fd, &take, sizeof(take)));
	CHECK(receive_bytes(fd, &frame, sizeof(frame)) && frame.type == NRT_FRAME_PIECE);
	CHECK(receive_bytes(fd, bytes, sizeof(bytes)));
	CHECK(bytes[A_PART - 1] == side_byte(1, A_PART - 1));
	side_reach(side, 1);
	side_await(side, 2);
	CHECK(is_closed(fd, CLOSED_MS));
}

static void send_to_one_that_takes_a_part(struct side *side)
{
	leave_in_the_middle(side, true);
}

static void send_a_part(struct side *side)
{
	const struct nrt_hello hello = { NRT_HELLO_MAGIC, NRT_HELLO_VERSION, (uint32_t)side->core,
					 (uint32_t)side->peer };
	const struct nrt_frame offer = { .magic = NRT_FRAME_MAGIC, .type = NRT_FRAME_OFFER,
					 .size = SIDE_BIG };
	const struct nrt_frame piece = { .magic = NRT_FRAME_MAGIC, .type = NRT_FRAME_PIECE,
					 .size = NRT_FRAME_PIECE_BYTES };
	struct nrt_answer answer = { 0 };
	static uint8_t bytes[A_PART];
	struct nrt_frame frame;
	int fd = -1;

	side_reach(side, 0);
	side_await(side, 3);
	/* Until the other side accepts. */
	while (answer.type != NRT_ANSWER_WELCOME) {
		usleep(1000);
		if (fd >= 0)
			close(fd);
		fd = connect_to(geteuid(), side->peer);
		if (fd >= 0)
			CHECK(send_bytes(fd, &hello, sizeof(hello)) &&
			      receive_bytes(fd, &answer, sizeof(answer)));
	}
	CHECK(send_bytes(fd, &offer, sizeof(offer)));
	CHECK(receive_bytes(fd, &frame, sizeof(frame)) && frame.type == NRT_FRAME_TAKE);
	CHECK(send_bytes(fd, &piece, sizeof(piece)) && send_bytes(fd, bytes, sizeof(bytes)));
	side_reach(side, 1);
	side_await(side, 2);
	CHECK(is_closed(fd, CLOSED_MS));
}

static void receive_a_part(struct side *side)
{
	leave_in_the_middle(side, false);
}

TEST_F_TIMEOUT(two, a_receiver_stops_in_the_middle, SIDE_LIMIT_S)
{
	EXPECT_TRUE(sides_run(self->board, take_a_part, send_to_one_that_takes_a_part));
}

TEST_F_TIMEOUT(two, a_sender_stops_in_the_middle, SIDE_LIMIT_S)
{
	EXPECT_TRUE(sides_run(self->board, send_a_part, receive_a_part));
}

/* --- Addresses --- */

/* It has the name of its own core, as another process could. Within the process all works. */
static void want_an_address(struct side *side)
{
	int listener = listen_as(geteuid(), side->core);
	nrt_async_sendrecv_request_t *request;
	nrt_async_sendrecv_comm_t *own, *remote;
	char holder[96];

	CHECK(listener >= 0);
	snprintf(holder, sizeof(holder), "core 1: process %d of user %u has the address",
		 (int)getpid(), (unsigned int)geteuid());
	rig_catch();
	side_begin(side);
	CHECK(rig_has(rig_caught(), holder));
	CHECK(!nrt_async_sendrecv_accept(SIDE_HOST, side->core, side->core, &own));
	CHECK(!nrt_async_sendrecv_connect(SIDE_HOST, side->core, side->core, &side->comm));
	request = side_post(side, own, false, SIDE_BIG, 10);
	side_move(side, true, 0, 10);
	CHECK(!side_await_request(side, request, &(size_t){ 0 }));
	rig_catch();
	CHECK(nrt_async_sendrecv_accept(SIDE_HOST, side->peer, side->core, &remote) ==
	      NRT_FAILURE);
	CHECK(rig_has(rig_caught(), holder));
	/* It asks whether the name is free now. */
	close(listener);
	CHECK(!nrt_async_sendrecv_accept(SIDE_HOST, side->peer, side->core, &remote));
	CHECK(connect_to(geteuid(), side->core) >= 0);
	nrt_close();
}

TEST_F_TIMEOUT(two, an_address_in_use, SIDE_LIMIT_S)
{
	EXPECT_TRUE(side_ended(side_start(self->board, 1, want_an_address), false));
}

/* Is there a socket of the library, whatever its number? */
static bool anything_listens(void)
{
	FILE *file = fopen("/proc/net/unix", "r");
	char line[256], name[64];
	bool found = false;

	snprintf(name, sizeof(name), "@neuron-sendrecv-%u-0-", (unsigned int)geteuid());
	while (file && !found && fgets(line, sizeof(line), file))
		found = rig_has(line, name);
	if (file)
		fclose(file);
	return !file || found;
}

/* Processes do not meet by chance, and without the number nothing listens. */
static void want_no_other_process(struct side *side)
{
	nrt_async_sendrecv_comm_t *comm;
	const char *port = getenv("NEURON_RT_ASYNC_SENDRECV_BOOTSTRAP_PORT");
	char saved[16];

	snprintf(saved, sizeof(saved), "%s", port);
	unsetenv("NEURON_RT_ASYNC_SENDRECV_BOOTSTRAP_PORT");
	side_begin(side);
	CHECK(!anything_listens());
	setenv("NEURON_RT_ASYNC_SENDRECV_BOOTSTRAP_PORT", saved, 1);
	CHECK(connect_to(geteuid(), side->core) < 0);
	rig_catch();
	CHECK(nrt_async_sendrecv_connect(SIDE_HOST, side->peer, side->core, &comm) == NRT_INVALID);
	CHECK(rig_has(rig_caught(), "NEURON_RT_ASYNC_SENDRECV_BOOTSTRAP_PORT"));
	side_end(side);
}

TEST_F_TIMEOUT(two, no_other_process, SIDE_LIMIT_S)
{
	EXPECT_TRUE(side_ended(side_start(self->board, 0, want_no_other_process), false));
}

#define NOBODY	65534

/* Another user connects, and has the address of core 1 before its owner. */
static void be_another_user(struct side *side)
{
	const struct nrt_hello hello = { NRT_HELLO_MAGIC, NRT_HELLO_VERSION, 1, 0 };
	unsigned int user = geteuid();
	int listener = -1, fd;

	side_await(side, 0);
	CHECK(!setgid(NOBODY) && !setuid(NOBODY));
	fd = connect_to(user, side->peer);
	CHECK(fd >= 0);
	send_bytes(fd, &hello, sizeof(hello));
	CHECK(is_closed(fd, CLOSED_MS));
	close(fd);
	listener = listen_as(user, side->core);
	CHECK(listener >= 0);
	side_reach(side, 1);
	side_await(side, 2);
}

static void meet_another_user(struct side *side)
{
	nrt_async_sendrecv_comm_t *accepted;
	bool done = true;
	const char *text;

	side_begin(side);
	CHECK(!nrt_async_sendrecv_accept(SIDE_HOST, side->peer, side->core, &accepted));
	rig_catch();
	side_reach(side, 0);
	side_await(side, 1);
	CHECK(!nrt_async_sendrecv_test_comm(accepted, &done) && !done);
	side_connect(side);
	usleep(10000);
	CHECK(nrt_async_sendrecv_test_comm(side->comm, &done) == NRT_FAILURE);
	text = rig_caught();
	CHECK(rig_has(text, "of user 65534 is refused"));
	CHECK(rig_has(text, "of user 65534 has the address of core 1"));
	side_reach(side, 2);
	nrt_close();
}

TEST_F_TIMEOUT(two, another_user, SIDE_LIMIT_S)
{
	if (geteuid())
		SKIP(return, "only root can be another user");
	EXPECT_TRUE(sides_run(self->board, meet_another_user, be_another_user));
}

TEST_HARNESS_MAIN
