// SPDX-License-Identifier: MIT
/*
 * What the host does for ranks that are threads of the process, and what cannot work.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <poll.h>
#include <unistd.h>

#include <nrt/ndebug_stream.h>
#include <nrt/nrt_async.h>
#include <nrt/nrt_async_sendrecv.h>
#include <nrt/nrt_experimental.h>

#include "kselftest_harness.h"

#include "rig.h"

#define RANKS	4
#define ROUNDS	50

/* --- Without a device --- */

TEST(impossible)
{
	nrt_ucode_info ucode = { 0 };
	char text[64] = "";
	int err = 0;

	rig_catch();
	EXPECT_EQ(NULL, nrt_get_libnccl_net(&err, text, sizeof(text)));
	EXPECT_EQ(NRT_FAILURE, err);
	EXPECT_TRUE(rig_has(text, "no network"));
	EXPECT_TRUE(rig_has(rig_caught(), "no network"));
	/* It is said once. */
	rig_catch();
	EXPECT_EQ(NULL, nrt_get_libnccl_net(NULL, NULL, 0));
	EXPECT_STREQ("", rig_caught());
	EXPECT_EQ(NRT_FAILURE, nrt_get_attached_efa_bdf(NULL, NULL, NULL));
	EXPECT_EQ(NRT_INVALID, nrt_set_pool_eng_ucode(NULL));
	rig_catch();
	EXPECT_EQ(NRT_FAILURE, nrt_set_pool_eng_ucode(&ucode));
	EXPECT_TRUE(rig_has(rig_caught(), "microcode"));
}

TEST(before_init)
{
	EXPECT_EQ(NRT_UNINITIALIZED, nrt_barrier(0, 0, 1));
	EXPECT_EQ(NRT_UNINITIALIZED, nrt_build_global_comm(0, 0, 1));
	EXPECT_EQ(NRT_UNINITIALIZED, nrt_cc_global_comm_init(0, 0, 1));
	EXPECT_EQ(NRT_UNINITIALIZED, nrt_all_gather(0, 0, 1, 0, NULL, NULL));
}

/* --- Ranks --- */

FIXTURE(ranks)
{
	pthread_t threads[RANKS];
};

FIXTURE_SETUP(ranks)
{
	if (!rig_chips())
		SKIP(return, "no neuron device");
	setenv("NEURON_RT_EXEC_TIMEOUT", "2", 1);
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
}

FIXTURE_TEARDOWN(ranks)
{
	nrt_close();
}

/* A rank of a test; @wrong: what it saw and should not have seen. */
struct rank {
	uint32_t rank;
	atomic_uint *arrived;
	unsigned int wrong;
};

static void *run_rank(void *arg)
{
	struct rank *rank = arg;
	uint32_t mine[2], all[RANKS][2], round, i;

	rank->wrong += nrt_build_global_comm(0, rank->rank, RANKS) != NRT_SUCCESS;
	rank->wrong += nrt_cc_global_comm_init(0, rank->rank, RANKS) != NRT_SUCCESS;
	for (round = 0; round < ROUNDS; round++) {
		atomic_fetch_add(rank->arrived, 1);
		rank->wrong += nrt_barrier(0, rank->rank, RANKS) != NRT_SUCCESS;
		rank->wrong += atomic_load(rank->arrived) < (round + 1) * RANKS;
		mine[0] = rank->rank;
		mine[1] = round;
		rank->wrong += nrt_all_gather(0, rank->rank, RANKS, sizeof(mine), mine, all) !=
			       NRT_SUCCESS;
		for (i = 0; i < RANKS; i++)
			rank->wrong += all[i][0] != i || all[i][1] != round;
	}
	return NULL;
}

TEST_F_TIMEOUT(ranks, meet, 60)
{
	struct rank ranks[RANKS];
	atomic_uint arrived = 0;
	uint32_t i;

	for (i = 0; i < RANKS; i++) {
		ranks[i] = (struct rank){ .rank = i, .arrived = &arrived };
		ASSERT_EQ(0, pthread_create(&self->threads[i], NULL, run_rank, &ranks[i]));
	}
	for (i = 0; i < RANKS; i++) {
		pthread_join(self->threads[i], NULL);
		EXPECT_EQ(0, ranks[i].wrong);
	}
}

TEST_F(ranks, alone)
{
	uint32_t in = 5, out = 0;

	EXPECT_EQ(NRT_SUCCESS, nrt_barrier(0, 0, 1));
	EXPECT_EQ(NRT_SUCCESS, nrt_all_gather(0, 0, 1, sizeof(in), &in, &out));
	EXPECT_EQ(5, out);
	EXPECT_EQ(NRT_INVALID, nrt_barrier(0, 1, 1));
	EXPECT_EQ(NRT_INVALID, nrt_barrier(0, 0, 0));
	EXPECT_EQ(NRT_INVALID, nrt_barrier(-1, 0, 1));
	EXPECT_EQ(NRT_INVALID, nrt_barrier(100000, 0, 1));
	EXPECT_EQ(NRT_INVALID, nrt_all_gather(0, 0, 1, 1, NULL, &out));
	EXPECT_EQ(NRT_INVALID, nrt_set_pool_eng_ucode(&(nrt_ucode_info){ 0 }));
}

TEST_F_TIMEOUT(ranks, one_is_missing, 60)
{
	rig_catch();
	EXPECT_EQ(NRT_TIMEOUT, nrt_barrier(0, 0, 2));
	EXPECT_TRUE(rig_has(rig_caught(), "for rank 1"));
	/* Nothing is left of it: the next one is a barrier of its own. */
	EXPECT_EQ(NRT_TIMEOUT, nrt_barrier(0, 1, 2));
}

static void *come_with_8(void *arg)
{
	uint64_t in = 0, out[2];

	*(NRT_STATUS *)arg = nrt_all_gather(0, 0, 2, sizeof(in), &in, out);
	return NULL;
}

/* Two sizes: the one who finds out says so, and the other one does not wait for long. */
TEST_F_TIMEOUT(ranks, sizes_differ, 60)
{
	uint32_t in = 0, out[2];
	NRT_STATUS other, mine;

	ASSERT_EQ(0, pthread_create(&self->threads[0], NULL, come_with_8, &other));
	mine = nrt_all_gather(0, 1, 2, sizeof(in), &in, out);
	pthread_join(self->threads[0], NULL);
	EXPECT_TRUE((mine == NRT_INVALID && other == NRT_FAILURE) ||
		    (mine == NRT_FAILURE && other == NRT_INVALID));
}

static void *wait_long(void *arg)
{
	*(NRT_STATUS *)arg = nrt_barrier(0, 0, 3);
	return NULL;
}

TEST_F_TIMEOUT(ranks, close_ends_the_wait, 60)
{
	NRT_STATUS status = NRT_SUCCESS;

	nrt_close();
	setenv("NEURON_RT_EXEC_TIMEOUT", "600", 1);
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	ASSERT_EQ(0, pthread_create(&self->threads[0], NULL, wait_long, &status));
	usleep(100000);
	nrt_close();
	pthread_join(self->threads[0], NULL);
	EXPECT_EQ(NRT_CLOSED, status);
}

/* --- Debug streams --- */

TEST_F(ranks, streams)
{
	ndebug_stream_event_header_t header;
	struct pollfd poll_fd = { .fd = -1, .events = POLLIN };
	int fd = -1, other = -1;
	void *payload;

	EXPECT_EQ(NRT_INVALID, nrt_debug_client_connect(-1, &fd));
	EXPECT_EQ(NRT_INVALID, nrt_debug_client_connect(100000, &fd));
	EXPECT_EQ(NRT_INVALID, nrt_debug_client_connect(0, NULL));
	ASSERT_EQ(NRT_SUCCESS, nrt_debug_client_connect(0, &fd));
	ASSERT_EQ(NRT_SUCCESS, nrt_debug_client_connect(1, &other));
	EXPECT_EQ(NRT_INVALID, nrt_debug_client_connect(0, &fd));
	poll_fd.fd = fd;
	EXPECT_EQ(0, poll(&poll_fd, 1, 0));
	EXPECT_EQ(NRT_QUEUE_EMPTY, nrt_debug_client_read_one_event(fd, &header, &payload));
	EXPECT_EQ(NRT_INVALID, nrt_debug_client_read_one_event(fd, NULL, &payload));
	EXPECT_EQ(NRT_INVALID, nrt_debug_client_read_one_event(0, &header, &payload));
	nrt_debug_client_connect_close(fd);
	EXPECT_EQ(NRT_INVALID, nrt_debug_client_read_one_event(fd, &header, &payload));
	ASSERT_EQ(NRT_SUCCESS, nrt_debug_client_connect(0, &fd));
	rig_catch();
	nrt_debug_client_connect_close(12345);
	EXPECT_TRUE(rig_has(rig_caught(), "12345 is no connected stream"));
	/* nrt_close() closes what is left. */
}

/* --- Sending tensors --- */

#define BYTES	(3 * 1024 * 1024 + 5)
#define LOCAL	"127.0.0.1"

FIXTURE(pair)
{
	nrt_async_sendrecv_comm_t *send;
	nrt_async_sendrecv_comm_t *recv;
	nrt_tensor_t *from;
	nrt_tensor_t *to;
	uint8_t *data;
	uint8_t *back;
	int to_core;
};

FIXTURE_VARIANT(pair)
{
	nrt_tensor_placement_t from;
	nrt_tensor_placement_t to;
	bool other_chip;
};

FIXTURE_VARIANT_ADD(pair, device_to_device) {
	.from = NRT_TENSOR_PLACEMENT_DEVICE,
	.to = NRT_TENSOR_PLACEMENT_DEVICE,
};

FIXTURE_VARIANT_ADD(pair, chip_to_chip) {
	.from = NRT_TENSOR_PLACEMENT_DEVICE,
	.to = NRT_TENSOR_PLACEMENT_DEVICE,
	.other_chip = true,
};

FIXTURE_VARIANT_ADD(pair, host_to_device) {
	.from = NRT_TENSOR_PLACEMENT_VIRTUAL,
	.to = NRT_TENSOR_PLACEMENT_DEVICE,
};

FIXTURE_SETUP(pair)
{
	uint32_t cores = 0;
	bool done = false;
	size_t i;

	if (rig_chips() < 2)
		SKIP(return, "needs two chips");
	setenv("NEURON_RT_EXEC_TIMEOUT", "2", 1);
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	ASSERT_EQ(NRT_SUCCESS, nrt_get_visible_vnc_count(&cores));
	self->to_core = variant->other_chip ? (int)cores - 1 : 1;
	self->data = malloc(BYTES);
	self->back = malloc(BYTES);
	ASSERT_TRUE(self->data && self->back);
	for (i = 0; i < BYTES; i++)
		self->data[i] = (uint8_t)(i * 7 + i / 251);
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(variant->from, 0, BYTES, "from", &self->from));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(variant->to, self->to_core, BYTES, "to",
						   &self->to));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_write(self->from, self->data, 0, BYTES));
	ASSERT_EQ(NRT_SUCCESS, nrt_async_sendrecv_init(0));
	ASSERT_EQ(NRT_SUCCESS, nrt_async_sendrecv_init(self->to_core));
	ASSERT_EQ(NRT_SUCCESS, nrt_async_sendrecv_connect(LOCAL, self->to_core, 0, &self->send));
	ASSERT_EQ(NRT_SUCCESS, nrt_async_sendrecv_test_comm(self->send, &done));
	EXPECT_FALSE(done);
	ASSERT_EQ(NRT_SUCCESS, nrt_async_sendrecv_accept(LOCAL, 0, self->to_core, &self->recv));
	ASSERT_EQ(NRT_SUCCESS, nrt_async_sendrecv_test_comm(self->send, &done));
	EXPECT_TRUE(done);
	ASSERT_EQ(NRT_SUCCESS, nrt_async_sendrecv_test_comm(self->recv, &done));
	EXPECT_TRUE(done);
}

FIXTURE_TEARDOWN(pair)
{
	nrt_tensor_free(&self->from);
	nrt_tensor_free(&self->to);
	nrt_close();
	free(self->data);
	free(self->back);
}

TEST_F(pair, send)
{
	nrt_async_sendrecv_request_t *sent, *received;
	bool done = true;
	size_t size = 0;

	ASSERT_EQ(NRT_SUCCESS, nrt_async_sendrecv_send_tensor(self->from, 5, BYTES - 5,
							      self->send, &sent));
	ASSERT_EQ(NRT_SUCCESS, nrt_async_sendrecv_test_request(sent, &done, &size));
	EXPECT_FALSE(done);
	/* There may be more room than bytes. */
	ASSERT_EQ(NRT_SUCCESS, nrt_async_sendrecv_recv_tensor(self->to, 0, BYTES, self->recv,
							      &received));
	ASSERT_EQ(NRT_SUCCESS, nrt_async_sendrecv_test_request(received, &done, &size));
	EXPECT_TRUE(done);
	EXPECT_EQ(BYTES - 5, size);
	ASSERT_EQ(NRT_SUCCESS, nrt_async_sendrecv_test_request(sent, &done, &size));
	EXPECT_TRUE(done);
	EXPECT_EQ(BYTES - 5, size);
	EXPECT_EQ(NRT_SUCCESS, nrt_async_sendrecv_flush(self->to_core));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_read(self->to, self->back, 0, BYTES - 5));
	EXPECT_EQ(0, memcmp(self->data + 5, self->back, BYTES - 5));
	/* A request is gone when its end was seen. */
	EXPECT_EQ(NRT_INVALID_HANDLE, nrt_async_sendrecv_test_request(sent, &done, &size));
	EXPECT_EQ(NRT_SUCCESS, nrt_async_sendrecv_close(0));
	EXPECT_EQ(NRT_SUCCESS, nrt_async_sendrecv_close(self->to_core));
	EXPECT_EQ(NRT_INVALID_HANDLE, nrt_async_sendrecv_test_comm(self->send, &done));
}

/* What waits for a core that closes fails, as between processes, and what comes later. */
TEST_F(pair, one_side_closes)
{
	nrt_async_sendrecv_request_t *received;
	bool done = false;
	size_t size;

	ASSERT_EQ(NRT_SUCCESS, nrt_async_sendrecv_recv_tensor(self->to, 0, BYTES, self->recv,
							      &received));
	EXPECT_EQ(NRT_SUCCESS, nrt_async_sendrecv_close(0));
	rig_catch();
	EXPECT_EQ(NRT_FAILURE, nrt_async_sendrecv_test_request(received, &done, &size));
	EXPECT_EQ(NRT_FAILURE, nrt_async_sendrecv_recv_tensor(self->to, 0, BYTES, self->recv,
							      &received));
	EXPECT_TRUE(rig_has(rig_caught(), "core 0 was closed"));
	EXPECT_EQ(NRT_SUCCESS, nrt_async_sendrecv_close(self->to_core));
}

/* Requests of a communicator are done in order. */
TEST_F(pair, in_order)
{
	nrt_async_sendrecv_request_t *requests[8];
	bool done;
	size_t size;
	int i;

	for (i = 0; i < 4; i++)
		ASSERT_EQ(NRT_SUCCESS,
			  nrt_async_sendrecv_recv_tensor(self->to, (size_t)i * 100, 100,
							 self->recv, &requests[i]));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(NRT_SUCCESS,
			  nrt_async_sendrecv_send_tensor(self->from, (size_t)(3 - i) * 100, 100,
							 self->send, &requests[4 + i]));
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(NRT_SUCCESS, nrt_async_sendrecv_test_request(requests[i], &done,
								       &size));
		EXPECT_TRUE(done);
	}
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_read(self->to, self->back, 0, 400));
	for (i = 0; i < 4; i++)
		EXPECT_EQ(0, memcmp(self->back + i * 100, self->data + (3 - i) * 100, 100));
}

/* A thread that sends what an execution still writes, and receives it itself. */
struct sender {
	nrt_async_sendrecv_comm_t *send;
	nrt_async_sendrecv_comm_t *recv;
	nrt_tensor_t *from;
	nrt_tensor_t *to;
	nrt_async_sendrecv_request_t *sent;
	nrt_async_sendrecv_request_t *received;
	atomic_bool begun;
	bool good;
};

static void *send_to_itself(void *arg)
{
	struct sender *sender = arg;

	sender->good = !nrt_async_sendrecv_send_tensor(sender->from, 0, PROGRAM_BYTES,
						       sender->send, &sender->sent);
	atomic_store(&sender->begun, true);
	sender->good &= !nrt_async_sendrecv_recv_tensor(sender->to, 0, PROGRAM_BYTES,
							sender->recv, &sender->received);
	return NULL;
}

/* It waits for its turn, and holds up nobody meanwhile. */
TEST_F(pair, send_what_is_being_written)
{
	struct sender sender = { .send = self->send, .recv = self->recv, .to = self->to };
	bool done = false, completed = true;
	struct rig stuck;
	pthread_t thread;
	nrta_seq_t seq;
	size_t size;

	ASSERT_EQ(NRT_SUCCESS, rig_load(&stuck, program_stuck(), 0, 0, 0));
	sender.from = stuck.y;
	rig_catch();
	ASSERT_EQ(NRT_SUCCESS, nrta_execute_schedule(stuck.model, stuck.inputs,
						     stuck.outputs, 0, NULL, &seq));
	ASSERT_EQ(0, pthread_create(&thread, NULL, send_to_itself, &sender));
	while (!atomic_load(&sender.begun))
		usleep(100);
	usleep(50000);
	EXPECT_EQ(NRT_SUCCESS, nrt_async_sendrecv_test_request(sender.sent, &done, &size));
	EXPECT_FALSE(done);
	EXPECT_EQ(NRT_SUCCESS, nrta_is_completed(seq, &completed));
	EXPECT_FALSE(completed);
	pthread_join(thread, NULL);
	EXPECT_EQ(NRT_SUCCESS, nrta_is_completed(seq, &completed));
	EXPECT_TRUE(completed);
	EXPECT_TRUE(sender.good);
	EXPECT_EQ(NRT_SUCCESS, nrt_async_sendrecv_test_request(sender.received, &done, &size));
	EXPECT_TRUE(done);
	EXPECT_EQ(PROGRAM_BYTES, size);
	EXPECT_EQ(NRT_SUCCESS, nrt_async_drain_queued_execs(0));
	rig_caught();
	rig_unload(&stuck);
}

TEST_F(pair, mistakes)
{
	nrt_async_sendrecv_request_t *sent, *received, *other;
	nrt_async_sendrecv_comm_t *comm;
	bool done;
	size_t size;
	int num = 0;

	ASSERT_EQ(NRT_SUCCESS, nrt_async_sendrecv_get_max_num_communicators_per_lnc(&num));
	EXPECT_GT(num, 0);
	ASSERT_EQ(NRT_SUCCESS, nrt_async_sendrecv_get_max_num_pending_request(&num));
	EXPECT_GT(num, 0);
	EXPECT_EQ(NRT_INVALID, nrt_async_sendrecv_get_max_num_pending_request(NULL));
	EXPECT_EQ(NRT_INVALID, nrt_async_sendrecv_get_max_num_communicators_per_lnc(NULL));
	EXPECT_EQ(NRT_FAILURE, nrt_async_sendrecv_init(0));
	EXPECT_EQ(NRT_INVALID, nrt_async_sendrecv_init(-1));
	EXPECT_EQ(NRT_FAILURE, nrt_async_sendrecv_flush(2));
	EXPECT_EQ(NRT_FAILURE, nrt_async_sendrecv_close(2));
	rig_catch();
	EXPECT_EQ(NRT_FAILURE, nrt_async_sendrecv_connect("192.0.2.1", 1, 0, &comm));
	EXPECT_TRUE(rig_has(rig_caught(), "no transport"));
	EXPECT_EQ(NRT_FAILURE, nrt_async_sendrecv_connect(LOCAL, 0, 2, &comm));
	EXPECT_EQ(NRT_FAILURE, nrt_async_sendrecv_send_tensor(self->from, 0, 1, self->recv,
							      &other));
	EXPECT_EQ(NRT_INVALID, nrt_async_sendrecv_send_tensor(self->from, BYTES, 1, self->send,
							      &other));
	EXPECT_EQ(NRT_INVALID_HANDLE, nrt_async_sendrecv_send_tensor(self->from, 0, 1, NULL,
								     &other));
	/* More than there is room for: both sides hear of it, and the next pair is well. */
	ASSERT_EQ(NRT_SUCCESS, nrt_async_sendrecv_send_tensor(self->from, 0, 10, self->send,
							      &sent));
	ASSERT_EQ(NRT_SUCCESS, nrt_async_sendrecv_recv_tensor(self->to, 0, 9, self->recv,
							      &received));
	EXPECT_EQ(NRT_FAILURE, nrt_async_sendrecv_test_request(sent, &done, &size));
	EXPECT_EQ(NRT_FAILURE, nrt_async_sendrecv_test_request(received, &done, &size));
	/* A limit for requests. */
	while (num--)
		ASSERT_EQ(NRT_SUCCESS, nrt_async_sendrecv_send_tensor(self->from, 0, 1, self->send,
								      &other));
	EXPECT_EQ(NRT_RESOURCE, nrt_async_sendrecv_send_tensor(self->from, 0, 1, self->send,
							       &other));
	/* Requests that have not ended. */
	EXPECT_EQ(NRT_FAILURE, nrt_async_sendrecv_close(0));
	EXPECT_EQ(NRT_INVALID_HANDLE, nrt_async_sendrecv_test_request(other, &done, &size));
	EXPECT_EQ(NRT_FAILURE, nrt_async_sendrecv_init(0));
	/* The peer is gone. */
	EXPECT_EQ(NRT_FAILURE, nrt_async_sendrecv_recv_tensor(self->to, 0, 9, self->recv,
							      &received));
	EXPECT_EQ(NRT_SUCCESS, nrt_async_sendrecv_close(self->to_core));
}

static bool readable(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return poll(&poll_fd, 1, 0) == 1;
}

/* What a program prints comes in order; what does not fit, or comes before the client, is lost. */
TEST(printed_tensors)
{
	ndebug_stream_payload_debug_tensor_read_t *payload = NULL;
	ndebug_stream_event_header_t header;
	float x[RIG_VALUES], y[RIG_VALUES];
	struct rig rig;
	int fd, i;

	if (!rig_chips())
		SKIP(return, "no neuron device");
	setenv("NEURON_RT_DEBUG_STREAM_BUFFER_SIZE", "2", 1);
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	ASSERT_EQ(NRT_SUCCESS, rig_load(&rig, program_print(), 0, 0, 0));
	rig_ramp(x, 0.0f);
	EXPECT_EQ(NRT_SUCCESS, rig_run(&rig, x, y));
	ASSERT_EQ(NRT_SUCCESS, nrt_debug_client_connect(0, &fd));
	EXPECT_FALSE(readable(fd));
	for (i = 1; i <= 3; i++) {
		rig_ramp(x, (float)i);
		EXPECT_EQ(NRT_SUCCESS, rig_run(&rig, x, y));
	}
	for (i = 1; i <= 2; i++) {
		rig_ramp(x, (float)i);
		EXPECT_TRUE(readable(fd));
		ASSERT_EQ(NRT_SUCCESS, nrt_debug_client_read_one_event(fd, &header,
								       (void **)&payload));
		EXPECT_EQ(NDEBUG_STREAM_EVENT_TYPE_DEBUG_TENSOR_READ, header.type);
		EXPECT_EQ(sizeof(*payload) + PROGRAM_BYTES, header.data_size);
		EXPECT_STREQ("x is ", payload->prefix);
		EXPECT_STREQ("float32", payload->tensor_dtype);
		EXPECT_EQ(0, payload->logical_nc_id);
		EXPECT_EQ(PROGRAM_ROWS, payload->tensor_shape[0]);
		EXPECT_EQ(PROGRAM_COLUMNS, payload->tensor_shape[1]);
		EXPECT_EQ(0, payload->tensor_shape[2]);
		ASSERT_EQ(PROGRAM_BYTES, payload->tensor_data_size);
		EXPECT_EQ(0, memcmp(x, payload->tensor_data, PROGRAM_BYTES));
		free(payload);
	}
	EXPECT_FALSE(readable(fd));
	EXPECT_EQ(NRT_QUEUE_EMPTY, nrt_debug_client_read_one_event(fd, &header,
								   (void **)&payload));
	/* One that nobody reads goes with the stream. */
	EXPECT_EQ(NRT_SUCCESS, rig_run(&rig, x, y));
	nrt_debug_client_connect_close(fd);
	rig_unload(&rig);
	nrt_close();
}

static unsigned int read_events(int fd)
{
	ndebug_stream_event_header_t header;
	unsigned int count = 0;
	void *payload;

	while (!nrt_debug_client_read_one_event(fd, &header, &payload)) {
		free(payload);
		count++;
	}
	return count;
}

/* A stream that nobody reads has room for 64 MiB: three tensors, and what tells of them. */
TEST(printed_bytes)
{
	float x[RIG_VALUES] = { 0 }, y[RIG_VALUES];
	struct rig rig;
	int fd, i;

	if (!rig_chips())
		SKIP(return, "no neuron device");
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	ASSERT_EQ(NRT_SUCCESS, rig_load(&rig, program_print_much(), 0, 0, 0));
	ASSERT_EQ(NRT_SUCCESS, nrt_debug_client_connect(0, &fd));
	for (i = 0; i < 6; i++)
		EXPECT_EQ(NRT_SUCCESS, rig_run(&rig, x, y));
	rig_catch();
	EXPECT_EQ((64u << 20) / PROGRAM_MUCH - 1, read_events(fd));
	/* What has been read makes room. */
	EXPECT_EQ(NRT_SUCCESS, rig_run(&rig, x, y));
	EXPECT_EQ(1, read_events(fd));
	rig_caught();
	nrt_debug_client_connect_close(fd);
	rig_unload(&rig);
	nrt_close();
}

TEST_HARNESS_MAIN
