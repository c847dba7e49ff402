// SPDX-License-Identifier: MIT
/*
 * The order of calls that use the same tensors: nobody has to wait between them.
 */
#include "kselftest_harness.h"

#include <nrt/nrt_async.h>
#include <nrt/nrt_experimental.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "rig.h"

#define CHAIN	20
/* Requests that are under way at the same time. */
#define STREAM	64

FIXTURE(order)
{
	struct rig rig;
	size_t used;
	bool ready;
};

FIXTURE_SETUP(order)
{
	if (!rig_chips())
		SKIP(return, "no neuron device");
	setenv("NEURON_RT_EXEC_TIMEOUT", "2", 1);
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	self->ready = true;
	self->used = rig_memory(0);
	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scale(1), 0, 0, 0));
}

FIXTURE_TEARDOWN(order)
{
	if (!self->ready)
		return;
	rig_unload(&self->rig);
	EXPECT_TRUE(rig_memory_becomes(0, self->used)) TH_LOG("device memory leaked");
	nrt_close();
}

static bool is_completed(nrta_seq_t seq)
{
	bool completed = true;

	return !nrta_is_completed(seq, &completed) && completed;
}

/* Requests of four queues, each of which needs what the one before has written. */
TEST_F(order, chain_over_queues)
{
	float in[CHAIN][RIG_VALUES], out[CHAIN][RIG_VALUES] = { 0 }, x[RIG_VALUES];
	struct rig *rig = &self->rig;
	unsigned int i, j, wrong = 0;
	nrta_seq_t seq = 0;

	for (i = 0; i < CHAIN; i++) {
		rig_ramp(in[i], (float)i);
		ASSERT_EQ(NRT_SUCCESS, nrta_tensor_write(rig->x, in[i], 0, sizeof(x), 0, NULL,
							 &seq));
		ASSERT_EQ(NRT_SUCCESS, nrta_execute_schedule(rig->model, rig->inputs, rig->outputs,
							     0, NULL, &seq));
		/* x = 2 x + 1, and the same once more. */
		ASSERT_EQ(NRT_SUCCESS, nrta_tensor_copy(rig->y, 0, rig->x, 0, sizeof(x), 0, NULL,
							&seq));
		ASSERT_EQ(NRT_SUCCESS, nrta_execute_schedule(rig->model, rig->inputs, rig->outputs,
							     0, NULL, &seq));
		ASSERT_EQ(NRT_SUCCESS, nrta_tensor_read(out[i], rig->y, 0, sizeof(x), 0, NULL,
							&seq));
	}
	/* A write that must not overtake them, and a read that must not overtake the write. */
	memset(x, 0, sizeof(x));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_write(rig->y, x, 0, sizeof(x)));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_read(rig->y, x, 0, sizeof(x)));
	EXPECT_TRUE(is_completed(seq));
	EXPECT_EQ(0, x[1]);
	for (i = 0; i < CHAIN; i++)
		for (j = 0; j < RIG_VALUES; j++)
			wrong += out[i][j] != 4 * in[i][j] + 3;
	EXPECT_EQ(0, wrong);
}

/* A tensor that a thread keeps in use, always by many requests of two queues. */
struct stream {
	nrt_tensor_t *tensor;
	pthread_t thread;
	atomic_bool stop;
	atomic_uint rounds;
	atomic_bool failed;
};

static void *stream_main(void *arg)
{
	static float zeroes[RIG_VALUES];
	struct stream *stream = arg;
	nrta_seq_t seq[STREAM] = { 0 };
	unsigned int i = 0;

	while (!atomic_load(&stream->stop) && !atomic_load(&stream->failed)) {
		nrta_seq_t *slot = &seq[i++ % STREAM];

		while (*slot && !is_completed(*slot))
			sched_yield();
		if (nrta_tensor_write(stream->tensor, zeroes, 0, sizeof(zeroes), (int)(i % 2),
				      NULL, slot))
			atomic_store(&stream->failed, true);
		atomic_fetch_add(&stream->rounds, 1);
	}
	for (i = 0; i < STREAM; i++)
		while (seq[i] && !is_completed(seq[i]))
			sched_yield();
	return NULL;
}

/* Who reads has his turn, however long others go on. */
TEST_F(order, read_beside_a_stream)
{
	struct stream stream = { .tensor = self->rig.y };
	float y[RIG_VALUES];
	unsigned int i;

	ASSERT_EQ(0, pthread_create(&stream.thread, NULL, stream_main, &stream));
	while (atomic_load(&stream.rounds) < STREAM)
		usleep(100);
	for (i = 0; i < 50; i++)
		EXPECT_EQ(NRT_SUCCESS, nrt_tensor_read(self->rig.y, y, 0, sizeof(y)));
	atomic_store(&stream.stop, true);
	pthread_join(stream.thread, NULL);
	EXPECT_FALSE(atomic_load(&stream.failed));
}

/* A slice that nobody uses can be used while another one is; the whole tensor cannot. */
TEST_F(order, slices)
{
	nrt_tensor_t *whole, *first, *second;
	struct rig stuck;
	nrta_seq_t seq;
	char bytes[PROGRAM_BYTES];

	ASSERT_EQ(NRT_SUCCESS, rig_load(&stuck, program_stuck(), 0, 0, 0));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0,
						   2 * PROGRAM_BYTES, "whole", &whole));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate_slice(whole, 0, PROGRAM_BYTES, "1", &first));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate_slice(whole, PROGRAM_BYTES, PROGRAM_BYTES, "2",
							 &second));
	ASSERT_EQ(NRT_SUCCESS, nrt_add_tensor_to_tensor_set(stuck.outputs, "y", first));
	rig_catch();
	ASSERT_EQ(NRT_SUCCESS, nrta_execute_schedule(stuck.model, stuck.inputs,
						     stuck.outputs, 0, NULL, &seq));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_write(second, bytes, 0, sizeof(bytes)));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_read(whole, bytes, PROGRAM_BYTES, sizeof(bytes)));
	/* Its input may be read by others, too. */
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_read(stuck.x, bytes, 0, sizeof(bytes)));
	EXPECT_FALSE(is_completed(seq));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_read(whole, bytes, PROGRAM_BYTES - 4, 8));
	EXPECT_TRUE(is_completed(seq));
	/* The failure is logged by then. */
	EXPECT_EQ(NRT_SUCCESS, nrt_async_drain_queued_execs(0));
	rig_caught();
	nrt_tensor_free(&first);
	nrt_tensor_free(&second);
	nrt_tensor_free(&whole);
	rig_unload(&stuck);
}

/* Who may not wait for others does not: the batch calls with "unsafe". */
TEST_F(order, unsafe_batch)
{
	char bytes[16];
	nrt_tensor_batch_op_t op = { .offset = 0, .size = sizeof(bytes), .buffer = bytes };
	nrt_tensor_batch_t batch = { .ops = &op, .num_ops = 1 };
	struct rig stuck;
	nrta_seq_t seq;

	ASSERT_EQ(NRT_SUCCESS, rig_load(&stuck, program_stuck(), 0, 0, 0));
	batch.tensor = stuck.y;
	rig_catch();
	ASSERT_EQ(NRT_SUCCESS, nrta_execute_schedule(stuck.model, stuck.inputs,
						     stuck.outputs, 0, NULL, &seq));
	EXPECT_EQ(NRT_SUCCESS, nrt_tensor_read_batch(&batch, 1, true));
	EXPECT_FALSE(is_completed(seq));
	EXPECT_EQ(NRT_SUCCESS, nrt_tensor_read_batch(&batch, 1, false));
	EXPECT_TRUE(is_completed(seq));
	/* The failure is logged by then. */
	EXPECT_EQ(NRT_SUCCESS, nrt_async_drain_queued_execs(0));
	rig_caught();
	rig_unload(&stuck);
}

TEST_HARNESS_MAIN
