// SPDX-License-Identifier: MIT
/*
 * Asynchronous requests: numbers, order, queues that are full, errors, and what happens to
 * them when the things they use are freed, or the library is closed.
 */
#include "kselftest_harness.h"

#include <nrt/nrt_async.h>
#include <nrt/nrt_experimental.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>

#include "rig.h"

#define DEPTH		63
#define NR_PAIRS	16
/* Of anything that must happen; the machine may be busy. */
#define LIMIT_MS	60000

/* Tensors of an execution of their own. */
struct pair {
	nrt_tensor_t *x;
	nrt_tensor_t *y;
	nrt_tensor_set_t *inputs;
	nrt_tensor_set_t *outputs;
};

static NRT_STATUS pair_make(struct pair *pair, nrt_tensor_placement_t placement, int vnc)
{
	NRT_STATUS status;

	memset(pair, 0, sizeof(*pair));
	status = nrt_tensor_allocate(placement, vnc, PROGRAM_BYTES, "x", &pair->x);
	status = status ?: nrt_tensor_allocate(placement, vnc, PROGRAM_BYTES, "y", &pair->y);
	status = status ?: nrt_allocate_tensor_set(&pair->inputs);
	status = status ?: nrt_allocate_tensor_set(&pair->outputs);
	status = status ?: nrt_add_tensor_to_tensor_set(pair->inputs, "x", pair->x);
	return status ?: nrt_add_tensor_to_tensor_set(pair->outputs, "y", pair->y);
}

static void pair_free(struct pair *pair)
{
	nrt_destroy_tensor_set(&pair->inputs);
	nrt_destroy_tensor_set(&pair->outputs);
	nrt_tensor_free(&pair->x);
	nrt_tensor_free(&pair->y);
}

/* Are the values of @y @scale times those of a ramp from @first on, plus @add? */
static bool is_result(const float *y, float first, float scale, float add)
{
	float x[RIG_VALUES];
	unsigned int i;

	rig_ramp(x, first);
	for (i = 0; i < RIG_VALUES; i++)
		if (y[i] != scale * x[i] + add)
			return false;
	return true;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool becomes_completed(nrta_seq_t seq)
{
	int64_t end = now_ms() + LIMIT_MS;
	bool completed = false;

	while (!nrta_is_completed(seq, &completed) && !completed && now_ms() < end)
		usleep(100);
	return completed;
}

FIXTURE(async)
{
	struct rig rig;
	nrta_error_tracker_t *tracker;
	size_t used;
	bool ready;
};

FIXTURE_SETUP(async)
{
	if (!rig_chips())
		SKIP(return, "no neuron device");
	setenv("NEURON_RT_EXEC_TIMEOUT", "4", 1);
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	self->ready = true;
	self->used = rig_memory(0);
	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scale(1), 0, 0, 0));
	ASSERT_EQ(NRT_SUCCESS, nrta_error_tracker_create(0, &self->tracker));
}

FIXTURE_TEARDOWN(async)
{
	if (!self->ready)
		return;
	rig_unload(&self->rig);
	nrta_error_tracker_destroy(self->tracker);
	EXPECT_TRUE(rig_memory_becomes(0, self->used)) TH_LOG("device memory leaked");
	nrt_close();
}

static size_t nr_errors(nrta_error_tracker_t *tracker)
{
	const nrta_error_t *list;
	size_t count = SIZE_MAX;

	nrta_error_tracker_get_list(tracker, &list, &count);
	return count;
}

static NRT_STATUS schedule(nrt_model_t *model, const struct pair *pair,
			   nrta_error_tracker_t *tracker, nrta_seq_t *seq)
{
	return nrta_execute_schedule(model, pair->inputs, pair->outputs, 0, tracker, seq);
}

/* Numbers follow each other, results arrive in order, each in its own tensors. */
TEST_F(async, pipeline)
{
	struct pair pairs[NR_PAIRS];
	nrta_seq_t seq[NR_PAIRS], last;
	float x[RIG_VALUES], y[RIG_VALUES];
	unsigned int i;

	for (i = 0; i < NR_PAIRS; i++) {
		ASSERT_EQ(NRT_SUCCESS, pair_make(&pairs[i], NRT_TENSOR_PLACEMENT_DEVICE, 0));
		rig_ramp(x, (float)i);
		ASSERT_EQ(NRT_SUCCESS, nrt_tensor_write(pairs[i].x, x, 0, sizeof(x)));
	}
	ASSERT_EQ(NRT_SUCCESS, nrta_get_sequence(0, NRTA_XU_COMPUTE, 0, &last));
	EXPECT_EQ(0, NRTA_SEQ_GET_SEQ_NUM(last));
	for (i = 0; i < NR_PAIRS; i++) {
		ASSERT_EQ(NRT_SUCCESS, schedule(self->rig.model, &pairs[i], self->tracker,
						&seq[i]));
		EXPECT_EQ(i + 1, NRTA_SEQ_GET_SEQ_NUM(seq[i]));
		EXPECT_EQ(NRTA_SEQ_GET_XU_ID(last), NRTA_SEQ_GET_XU_ID(seq[i]));
	}
	EXPECT_TRUE(becomes_completed(seq[NR_PAIRS - 1]));
	for (i = 0; i < NR_PAIRS; i++) {
		bool completed = false;

		EXPECT_EQ(NRT_SUCCESS, nrta_is_completed(seq[i], &completed));
		EXPECT_TRUE(completed);
		ASSERT_EQ(NRT_SUCCESS, nrt_tensor_read(pairs[i].y, y, 0, sizeof(y)));
		EXPECT_TRUE(is_result(y, (float)i, 2, 1));
		pair_free(&pairs[i]);
	}
	ASSERT_EQ(NRT_SUCCESS, nrta_get_sequence(0, NRTA_XU_COMPUTE, 0, &last));
	EXPECT_EQ(seq[NR_PAIRS - 1], last);
	EXPECT_EQ(0, nr_errors(self->tracker));
}

/* Tensors in ordinary memory are copied by the library, in order with the rest. */
TEST_F(async, host_tensors)
{
	struct pair pairs[4];
	nrta_seq_t seq = 0;
	float x[RIG_VALUES], y[RIG_VALUES];
	unsigned int i;

	for (i = 0; i < 4; i++) {
		ASSERT_EQ(NRT_SUCCESS, pair_make(&pairs[i], i % 2 ? NRT_TENSOR_PLACEMENT_VIRTUAL :
							NRT_TENSOR_PLACEMENT_DEVICE, 0));
		rig_ramp(x, (float)i);
		ASSERT_EQ(NRT_SUCCESS, nrt_tensor_write(pairs[i].x, x, 0, sizeof(x)));
	}
	for (i = 0; i < 4; i++)
		ASSERT_EQ(NRT_SUCCESS, schedule(self->rig.model, &pairs[i], NULL, &seq));
	/* Reading a tensor waits for those who use it. */
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(NRT_SUCCESS, nrt_tensor_read(pairs[i].y, y, 0, sizeof(y)));
		EXPECT_TRUE(is_result(y, (float)i, 2, 1));
		pair_free(&pairs[i]);
	}
	EXPECT_TRUE(becomes_completed(seq));
}

/* A model keeps little of what it needs to copy tensors, however many are under way. */
TEST_F(async, copies_are_given_back)
{
	const size_t page = 4096;
	struct pair pairs[NR_PAIRS];
	struct rig stuck;
	nrta_seq_t seq = 0;
	unsigned int i;
	size_t used;

	ASSERT_EQ(NRT_SUCCESS, rig_load(&stuck, program_stuck(), 0, 0, 0));
	for (i = 0; i < NR_PAIRS; i++)
		ASSERT_EQ(NRT_SUCCESS, pair_make(&pairs[i], NRT_TENSOR_PLACEMENT_VIRTUAL, 0));
	used = rig_memory(0);
	rig_catch();
	/* All of them wait behind it, with their copies. */
	ASSERT_EQ(NRT_SUCCESS, nrta_execute_schedule(stuck.model, stuck.inputs, stuck.outputs, 0,
						     NULL, &seq));
	for (i = 0; i < NR_PAIRS; i++)
		ASSERT_EQ(NRT_SUCCESS, schedule(self->rig.model, &pairs[i], self->tracker, &seq));
	EXPECT_EQ(used + NR_PAIRS * 2 * page, rig_memory(0));
	EXPECT_TRUE(becomes_completed(seq));
	EXPECT_EQ(NRT_SUCCESS, nrt_async_drain_queued_execs(0));
	rig_caught();
	EXPECT_EQ(0, nr_errors(self->tracker));
	EXPECT_TRUE(rig_memory_becomes(0, used + 4 * 2 * page));
	for (i = 0; i < NR_PAIRS; i++)
		pair_free(&pairs[i]);
	rig_unload(&stuck);
}

/* The output of one request is the input of the next one, in memory that is copied. */
TEST_F(async, chain_over_host_tensors)
{
	float x[RIG_VALUES], y[RIG_VALUES];
	nrt_tensor_t *tensors[6], *slice;
	nrt_tensor_set_t *inputs[5], *outputs[5];
	nrta_seq_t seq = 0;
	unsigned int i;

	for (i = 0; i < 6; i++)
		ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(i % 3 == 2 ?
							   NRT_TENSOR_PLACEMENT_DEVICE :
							   NRT_TENSOR_PLACEMENT_VIRTUAL, 0,
							   PROGRAM_BYTES + 2, "t", &tensors[i]));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(NRT_SUCCESS, nrt_allocate_tensor_set(&inputs[i]));
		ASSERT_EQ(NRT_SUCCESS, nrt_allocate_tensor_set(&outputs[i]));
		/* Device tensors at an odd offset are copied, too. */
		ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate_slice(tensors[i], 2, PROGRAM_BYTES,
								 "x", &slice));
		ASSERT_EQ(NRT_SUCCESS, nrt_add_tensor_to_tensor_set(inputs[i], "x", slice));
		ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate_slice(tensors[i + 1], 2, PROGRAM_BYTES,
								 "y", &slice));
		ASSERT_EQ(NRT_SUCCESS, nrt_add_tensor_to_tensor_set(outputs[i], "y", slice));
	}
	rig_ramp(x, 2);
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_write(tensors[0], x, 2, sizeof(x)));
	for (i = 0; i < 5; i++)
		ASSERT_EQ(NRT_SUCCESS, nrta_execute_schedule(self->rig.model, inputs[i],
							     outputs[i], 0, self->tracker, &seq));
	EXPECT_TRUE(becomes_completed(seq));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_read(tensors[5], y, 2, sizeof(y)));
	EXPECT_TRUE(is_result(y, 2, 32, 31));
	EXPECT_EQ(0, nr_errors(self->tracker));
	for (i = 0; i < 5; i++) {
		nrt_get_tensor_from_tensor_set(inputs[i], "x", &slice);
		nrt_tensor_free(&slice);
		nrt_get_tensor_from_tensor_set(outputs[i], "y", &slice);
		nrt_tensor_free(&slice);
		nrt_destroy_tensor_set(&inputs[i]);
		nrt_destroy_tensor_set(&outputs[i]);
	}
	for (i = 0; i < 6; i++)
		nrt_tensor_free(&tensors[i]);
}

/* A hung job, a full queue behind it, and what the unit says from then on. */
TEST_F(async, full_and_unrecoverable)
{
	nrta_seq_t stuck = 0, seq = 0, next = 0;
	const nrta_error_t *errors;
	struct rig hung;
	struct pair pair;
	size_t count;
	unsigned int i;

	ASSERT_EQ(NRT_SUCCESS, rig_load(&hung, program_stuck(), 0, 0, 0));
	ASSERT_EQ(NRT_SUCCESS, pair_make(&pair, NRT_TENSOR_PLACEMENT_DEVICE, 0));
	ASSERT_EQ(NRT_SUCCESS, schedule(hung.model, &pair, self->tracker, &stuck));
	for (i = 1; i < DEPTH; i++)
		ASSERT_EQ(NRT_SUCCESS, schedule(self->rig.model, &pair, self->tracker, &seq));
	rig_catch();
	EXPECT_EQ(NRT_QUEUE_FULL, schedule(self->rig.model, &pair, self->tracker, &next));
	EXPECT_TRUE(rig_has(rig_caught(), "63 requests are in the queue"));
	EXPECT_EQ(0, next);
	rig_catch();
	EXPECT_TRUE(becomes_completed(seq));
	EXPECT_TRUE(rig_has(rig_caught(), "made no progress"));
	EXPECT_EQ(stuck + DEPTH - 1, seq);
	ASSERT_EQ(NRT_SUCCESS, nrta_error_tracker_get_list(self->tracker, &errors, &count));
	ASSERT_EQ(1, count);
	EXPECT_EQ(stuck, errors[0].seq_id);
	EXPECT_EQ(NRT_TIMEOUT, errors[0].error_code);
	rig_catch();
	EXPECT_EQ(NRT_EXEC_UNIT_UNRECOVERABLE,
		  schedule(self->rig.model, &pair, self->tracker, &next));
	EXPECT_TRUE(rig_has(rig_caught(), "NRT_TIMEOUT"));
	/* Whoever waits is served, and a new library has new units. */
	EXPECT_EQ(NRT_SUCCESS, nrt_execute(self->rig.model, pair.inputs, pair.outputs));
	pair_free(&pair);
	rig_unload(&hung);
	rig_unload(&self->rig);
	nrt_close();
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scale(1), 0, 0, 0));
	ASSERT_EQ(NRT_SUCCESS, pair_make(&pair, NRT_TENSOR_PLACEMENT_DEVICE, 0));
	EXPECT_EQ(NRT_SUCCESS, schedule(self->rig.model, &pair, NULL, &next));
	EXPECT_TRUE(becomes_completed(next));
	pair_free(&pair);
}

/* A descriptor becomes readable at the end of its request, or is so already. */
TEST_F(async, completion_handle)
{
	struct pollfd early = { .events = POLLIN }, late = { .events = POLLIN };
	struct pair pair;
	nrta_seq_t seq;

	ASSERT_EQ(NRT_SUCCESS, pair_make(&pair, NRT_TENSOR_PLACEMENT_DEVICE, 0));
	ASSERT_EQ(NRT_SUCCESS, schedule(self->rig.model, &pair, NULL, &seq));
	ASSERT_EQ(NRT_SUCCESS, nrta_get_completion_handle(seq, &early.fd));
	EXPECT_EQ(1, poll(&early, 1, LIMIT_MS));
	ASSERT_EQ(NRT_SUCCESS, nrta_get_completion_handle(seq, &late.fd));
	EXPECT_EQ(1, poll(&late, 1, 0));
	close(early.fd);
	close(late.fd);
	rig_catch();
	EXPECT_EQ(NRT_INVALID, nrta_get_completion_handle(seq + 1, &late.fd));
	EXPECT_TRUE(rig_has(rig_caught(), "no request has number"));
	pair_free(&pair);
}

/* Writes, copies and reads, each waited for before the next one needs it. */
TEST_F(async, transfers)
{
	float x[RIG_VALUES], y[RIG_VALUES] = { 0 };
	struct pair pair;
	nrta_seq_t seq;
	int queue;

	rig_ramp(x, 3);
	ASSERT_EQ(NRT_SUCCESS, pair_make(&pair, NRT_TENSOR_PLACEMENT_DEVICE, 0));
	for (queue = 0; queue < 2; queue++) {
		ASSERT_EQ(NRT_SUCCESS, nrta_tensor_write(pair.x, x, 0, sizeof(x), queue,
							 self->tracker, &seq));
		EXPECT_TRUE(becomes_completed(seq));
		ASSERT_EQ(NRT_SUCCESS, nrta_tensor_copy(pair.x, 0, pair.y, 4, sizeof(x) - 4,
							queue, self->tracker, &seq));
		EXPECT_TRUE(becomes_completed(seq));
		ASSERT_EQ(NRT_SUCCESS, nrta_tensor_read(y, pair.y, 4, sizeof(y) - 4, queue,
							self->tracker, &seq));
		EXPECT_TRUE(becomes_completed(seq));
		EXPECT_EQ(0, memcmp(x, y, sizeof(x) - 4));
		memset(y, 0, sizeof(y));
	}
	EXPECT_EQ(0, nr_errors(self->tracker));
	rig_catch();
	EXPECT_EQ(NRT_INVALID, nrta_tensor_write(pair.x, x, 1, sizeof(x), 0, NULL, &seq));
	EXPECT_TRUE(rig_has(rig_caught(), "outside of tensor"));
	rig_catch();
	EXPECT_EQ(NRT_INVALID, nrta_tensor_read(y, pair.x, 0, 4, 2, NULL, &seq));
	EXPECT_TRUE(rig_has(rig_caught(), "TENSOR_READ has queues 0 to 1"));
	pair_free(&pair);
}

/* What a request uses may be freed at once. */
TEST_F(async, freed_while_under_way)
{
	nrta_error_tracker_t *tracker;
	struct pair pairs[NR_PAIRS];
	nrta_seq_t seq = 0;
	unsigned int i;

	ASSERT_EQ(NRT_SUCCESS, nrta_error_tracker_create(0, &tracker));
	for (i = 0; i < NR_PAIRS; i++) {
		ASSERT_EQ(NRT_SUCCESS, pair_make(&pairs[i], NRT_TENSOR_PLACEMENT_DEVICE, 0));
		ASSERT_EQ(NRT_SUCCESS, schedule(self->rig.model, &pairs[i], tracker, &seq));
		pair_free(&pairs[i]);
	}
	nrta_error_tracker_destroy(tracker);
	ASSERT_EQ(NRT_SUCCESS, nrt_unload(self->rig.model));
	self->rig.model = NULL;
	/* Unloading waited for the executions. */
	EXPECT_TRUE(becomes_completed(seq));
}

/* A callback that makes calls while the library is being closed. */
static void call_in_vain(void *params, uint32_t model_id, uint32_t vnc, uint64_t job_id,
			 NRT_STATUS status)
{
	atomic_uint *calls = params;
	nrt_tensor_t *tensor = NULL;

	if (status == NRT_CLOSED &&
	    nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_VIRTUAL, -1, 64, "t", &tensor))
		atomic_fetch_add(calls, 1);
	nrt_tensor_free(&tensor);
	nrt_tensor_get_size(tensor);
}

/* nrt_close() ends a job that would run for long, and all behind it. */
TEST_F(async, close_with_a_full_queue)
{
	nrta_seq_t seq[DEPTH], read_seq;
	const nrta_error_t *errors;
	atomic_uint calls = 0;
	float y[RIG_VALUES];
	struct rig spinner;
	struct pair pair;
	size_t count = 0;
	int64_t begin;
	unsigned int i;

	rig_unload(&self->rig);
	nrt_close();
	setenv("NEURON_RT_EXEC_TIMEOUT", "600", 1);
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scale(1), 0, 0, 0));
	ASSERT_EQ(NRT_SUCCESS, rig_load(&spinner, program_spin(), 0, 0, 0));
	ASSERT_EQ(NRT_SUCCESS, pair_make(&pair, NRT_TENSOR_PLACEMENT_DEVICE, 0));
	ASSERT_EQ(NRT_SUCCESS, nrt_register_async_exec_callback(call_in_vain, &calls));
	ASSERT_EQ(NRT_SUCCESS, schedule(spinner.model, &pair, self->tracker, &seq[0]));
	for (i = 1; i < DEPTH; i++)
		ASSERT_EQ(NRT_SUCCESS, schedule(self->rig.model, &pair, self->tracker, &seq[i]));
	begin = now_ms();
	rig_catch();
	nrt_close();
	rig_caught();
	EXPECT_LT(now_ms() - begin, LIMIT_MS);
	ASSERT_EQ(NRT_SUCCESS, nrta_error_tracker_get_list(self->tracker, &errors, &count));
	ASSERT_EQ(DEPTH, count);
	for (i = 0; i < DEPTH; i++) {
		EXPECT_EQ(seq[i], errors[i].seq_id);
		EXPECT_EQ(NRT_CLOSED, errors[i].error_code);
	}
	EXPECT_EQ(DEPTH, atomic_load(&calls));
	rig_catch();
	EXPECT_EQ(NRT_CLOSED, nrta_tensor_read(y, pair.x, 0, 4, 0, NULL, &read_seq));
	rig_caught();
	pair_free(&pair);
	nrt_destroy_tensor_set(&spinner.inputs);
	nrt_destroy_tensor_set(&spinner.outputs);
	nrt_tensor_free(&spinner.x);
	nrt_tensor_free(&spinner.y);
	nrt_destroy_tensor_set(&self->rig.inputs);
	nrt_destroy_tensor_set(&self->rig.outputs);
	nrt_tensor_free(&self->rig.x);
	nrt_tensor_free(&self->rig.y);
	nrta_error_tracker_destroy(self->tracker);
	self->ready = false;
}

/* What a callback was told. */
struct told {
	atomic_uint calls;
	uint32_t model;
	uint32_t vnc;
	uint64_t job;
	NRT_STATUS status;
	struct pair *pair;
	float y[RIG_VALUES];
};

static void be_told(void *params, uint32_t model_id, uint32_t vnc, uint64_t job_id,
		    NRT_STATUS status)
{
	struct told *told = params;

	told->model = model_id;
	told->vnc = vnc;
	told->job = job_id;
	told->status = status;
	/* A callback may make calls. */
	nrt_tensor_read(told->pair->y, told->y, 0, sizeof(told->y));
	atomic_fetch_add(&told->calls, 1);
}

TEST_F(async, callback)
{
	struct told told = { 0 };
	float x[RIG_VALUES];
	struct pair pair;
	nrta_seq_t seq;
	int64_t end;

	ASSERT_EQ(NRT_SUCCESS, pair_make(&pair, NRT_TENSOR_PLACEMENT_DEVICE, 0));
	rig_ramp(x, 7);
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_write(pair.x, x, 0, sizeof(x)));
	told.pair = &pair;
	ASSERT_EQ(NRT_SUCCESS, nrt_register_async_exec_callback(be_told, &told));
	ASSERT_EQ(NRT_SUCCESS, schedule(self->rig.model, &pair, NULL, &seq));
	for (end = now_ms() + LIMIT_MS; !atomic_load(&told.calls) && now_ms() < end;)
		usleep(100);
	EXPECT_EQ(1, atomic_load(&told.calls));
	EXPECT_EQ(seq, told.job);
	EXPECT_EQ(0, told.vnc);
	EXPECT_GT(told.model, 0);
	EXPECT_EQ(NRT_SUCCESS, told.status);
	EXPECT_TRUE(is_result(told.y, 7, 2, 1));
	/* A synchronous execution is not reported. */
	ASSERT_EQ(NRT_SUCCESS, nrt_execute(self->rig.model, pair.inputs, pair.outputs));
	ASSERT_EQ(NRT_SUCCESS, nrt_register_async_exec_callback(NULL, NULL));
	ASSERT_EQ(NRT_SUCCESS, schedule(self->rig.model, &pair, NULL, &seq));
	ASSERT_EQ(NRT_SUCCESS, nrt_async_drain_queued_execs(0));
	EXPECT_TRUE(becomes_completed(seq));
	EXPECT_EQ(1, atomic_load(&told.calls));
	rig_catch();
	EXPECT_EQ(NRT_INVALID, nrt_async_drain_queued_execs(-1));
	rig_caught();
	pair_free(&pair);
}

/* A callback uses what later requests use, executes, and frees. */
struct busy_callback {
	atomic_uint calls;
	atomic_uint failed;
	struct rig *rig;
	struct pair *pair;
};

static void be_busy(void *params, uint32_t model_id, uint32_t vnc, uint64_t job_id,
		    NRT_STATUS status)
{
	struct busy_callback *busy = params;
	nrt_tensor_t *tensor = NULL;
	float y[RIG_VALUES];
	bool good;

	good = !nrt_tensor_read(busy->pair->y, y, 0, sizeof(y)) &&
	       !nrt_execute(busy->rig->model, busy->pair->inputs, busy->pair->outputs) &&
	       !nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 64, "t", &tensor) &&
	       !nrt_async_drain_queued_execs(0);
	nrt_tensor_free(&tensor);
	if (!good || status)
		atomic_fetch_add(&busy->failed, 1);
	atomic_fetch_add(&busy->calls, 1);
}

TEST_F(async, busy_callback)
{
	struct busy_callback busy = { .rig = &self->rig };
	struct pair pair;
	unsigned int i;
	nrta_seq_t seq;

	ASSERT_EQ(NRT_SUCCESS, pair_make(&pair, NRT_TENSOR_PLACEMENT_DEVICE, 0));
	busy.pair = &pair;
	ASSERT_EQ(NRT_SUCCESS, nrt_register_async_exec_callback(be_busy, &busy));
	for (i = 0; i < 10; i++)
		ASSERT_EQ(NRT_SUCCESS, schedule(self->rig.model, &pair, NULL, &seq));
	ASSERT_EQ(NRT_SUCCESS, nrt_async_drain_queued_execs(0));
	EXPECT_EQ(10, atomic_load(&busy.calls));
	EXPECT_EQ(0, atomic_load(&busy.failed));
	ASSERT_EQ(NRT_SUCCESS, nrt_register_async_exec_callback(NULL, NULL));
	pair_free(&pair);
}

/* Outputs that become inputs: the last ones are in the tensors, the first inputs stay. */
TEST_F(async, repeat)
{
	float x[RIG_VALUES], y[RIG_VALUES];
	float scale = 1, add = 0;
	int n;

	rig_ramp(x, 2);
	for (n = 1; n <= 5; n++) {
		scale = 2 * scale;
		add = 2 * add + 1;
		ASSERT_EQ(NRT_SUCCESS, nrt_tensor_write(self->rig.x, x, 0, sizeof(x)));
		ASSERT_EQ(NRT_SUCCESS, nrt_execute_repeat(self->rig.model, self->rig.inputs,
							  self->rig.outputs, n));
		ASSERT_EQ(NRT_SUCCESS, nrt_tensor_read(self->rig.y, y, 0, sizeof(y)));
		EXPECT_TRUE(is_result(y, 2, scale, add)) TH_LOG("%d runs", n);
		ASSERT_EQ(NRT_SUCCESS, nrt_tensor_read(self->rig.x, y, 0, sizeof(y)));
		EXPECT_EQ(0, memcmp(x, y, sizeof(x)));
	}
	rig_catch();
	EXPECT_EQ(NRT_INVALID, nrt_execute_repeat(self->rig.model, self->rig.inputs,
						  self->rig.outputs, 0));
	EXPECT_TRUE(rig_has(rig_caught(), "use 1 or more"));
}

TEST_F(async, output_completion)
{
	nrt_tensor_t *y = self->rig.y;
	nrta_seq_t seq;

	EXPECT_EQ(NRT_SUCCESS, nrt_tensor_check_output_completion(y, 0, 0));
	rig_catch();
	EXPECT_EQ(NRT_TIMEOUT, nrt_tensor_check_output_completion(y, 1000, 1));
	EXPECT_TRUE(rig_has(rig_caught(), "0 of 1 executions"));
	ASSERT_EQ(NRT_SUCCESS, nrta_execute_schedule(self->rig.model, self->rig.inputs,
						     self->rig.outputs, 0, NULL, &seq));
	EXPECT_EQ(NRT_SUCCESS, nrt_tensor_check_output_completion(y, -1, 1));
	ASSERT_EQ(NRT_SUCCESS, nrt_execute(self->rig.model, self->rig.inputs, self->rig.outputs));
	EXPECT_EQ(NRT_SUCCESS, nrt_tensor_check_output_completion(y, 0, 2));
	EXPECT_EQ(NRT_SUCCESS, nrt_tensor_reset_output_completion(y));
	rig_catch();
	EXPECT_EQ(NRT_TIMEOUT, nrt_tensor_check_output_completion(y, 0, 1));
	EXPECT_EQ(NRT_INVALID, nrt_tensor_check_output_completion(NULL, 0, 1));
	EXPECT_EQ(NRT_INVALID, nrt_tensor_reset_output_completion(NULL));
	rig_caught();
}

/* A wait for a count sleeps until there is news. */
TEST_F(async, output_completion_sleeps)
{
	struct rusage before, after;

	rig_catch();
	ASSERT_EQ(0, getrusage(RUSAGE_THREAD, &before));
	EXPECT_EQ(NRT_TIMEOUT, nrt_tensor_check_output_completion(self->rig.y, 1000000, 1));
	ASSERT_EQ(0, getrusage(RUSAGE_THREAD, &after));
	rig_caught();
	EXPECT_GT(10, after.ru_nvcsw - before.ru_nvcsw);
}

static void *wait_for_count(void *arg)
{
	NRT_STATUS *status = arg;
	nrt_tensor_t *tensor;

	*status = NRT_FAILURE;
	if (!nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_VIRTUAL, -1, 64, "t", &tensor))
		*status = nrt_tensor_check_output_completion(tensor, -1, 1);
	nrt_tensor_free(&tensor);
	return NULL;
}

/* nrt_close() ends waits that have no limit. */
TEST_F(async, close_ends_counts)
{
	NRT_STATUS status[4];
	pthread_t threads[4];
	unsigned int i;

	rig_unload(&self->rig);
	nrta_error_tracker_destroy(self->tracker);
	self->ready = false;
	rig_catch();
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, wait_for_count, &status[i]));
	usleep(100000);
	nrt_close();
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < 4; i++)
		EXPECT_TRUE(status[i] == NRT_CLOSED || status[i] == NRT_FAILURE);
	EXPECT_TRUE(rig_has(rig_caught(), "nrt_close() ended the wait"));
}

/* A thread that executes a model of all, in both ways. */
struct runner {
	nrt_model_t *model;
	pthread_t thread;
	bool good;
};

static void *run_many(void *arg)
{
	struct runner *runner = arg;
	float x[RIG_VALUES], y[RIG_VALUES];
	struct pair pair;
	unsigned int i;
	nrta_seq_t seq;

	runner->good = !pair_make(&pair, NRT_TENSOR_PLACEMENT_DEVICE, 0);
	for (i = 0; runner->good && i < 20; i++) {
		rig_ramp(x, (float)i);
		runner->good = !nrt_tensor_write(pair.x, x, 0, sizeof(x));
		if (i % 2)
			runner->good &= !nrt_execute(runner->model, pair.inputs, pair.outputs);
		else
			runner->good &= !schedule(runner->model, &pair, NULL, &seq) &&
					becomes_completed(seq);
		runner->good &= !nrt_tensor_read(pair.y, y, 0, sizeof(y)) &&
				is_result(y, (float)i, 2, 1);
	}
	pair_free(&pair);
	return NULL;
}

TEST_F(async, threads)
{
	struct runner runners[8] = { 0 };
	unsigned int i;

	for (i = 0; i < 8; i++) {
		runners[i].model = self->rig.model;
		ASSERT_EQ(0, pthread_create(&runners[i].thread, NULL, run_many, &runners[i]));
	}
	for (i = 0; i < 8; i++) {
		pthread_join(runners[i].thread, NULL);
		EXPECT_TRUE(runners[i].good) TH_LOG("thread %u", i);
	}
}

/* Frees what another thread uses, and looks what that one is told. */
static void *use_tensor(void *arg)
{
	nrt_tensor_t *tensor = arg;
	char byte;

	while (!nrt_tensor_read(tensor, &byte, 0, 1))
		;
	return NULL;
}

TEST_F(async, freed_under_a_thread)
{
	nrt_tensor_t *tensor, *copy;
	pthread_t thread;
	unsigned int i;

	rig_catch();
	for (i = 0; i < 50; i++) {
		ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_VIRTUAL, -1, 4096,
							   "t", &tensor));
		ASSERT_EQ(0, pthread_create(&thread, NULL, use_tensor, tensor));
		copy = tensor;
		usleep(i * 10);
		nrt_tensor_free(&copy);
		pthread_join(thread, NULL);
	}
	EXPECT_TRUE(rig_has(rig_caught(), "is no tensor"));
}

static void *close_library(void *arg)
{
	usleep(100000);
	nrt_close();
	return arg;
}

/* Whoever waits when the library is closed is told so. */
TEST_F(async, close_under_a_wait)
{
	pthread_t thread;
	struct rig spinner;

	rig_unload(&self->rig);
	nrt_close();
	setenv("NEURON_RT_EXEC_TIMEOUT", "600", 1);
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	ASSERT_EQ(NRT_SUCCESS, rig_load(&spinner, program_spin(), 0, 0, 0));
	ASSERT_EQ(0, pthread_create(&thread, NULL, close_library, NULL));
	rig_catch();
	EXPECT_EQ(NRT_CLOSED, nrt_execute(spinner.model, spinner.inputs, spinner.outputs));
	EXPECT_TRUE(rig_has(rig_caught(), "nrt_close() ended it"));
	pthread_join(thread, NULL);
	nrt_destroy_tensor_set(&spinner.inputs);
	nrt_destroy_tensor_set(&spinner.outputs);
	nrt_tensor_free(&spinner.x);
	nrt_tensor_free(&spinner.y);
	nrta_error_tracker_destroy(self->tracker);
	self->ready = false;
}

/* What a thread with a small stack does; its status. */
static void *use_everything(void *arg)
{
	float x[RIG_VALUES], y[RIG_VALUES] = { 0 };
	NRT_STATUS status;
	bool over = false;
	struct rig *rig = arg;
	nrta_seq_t seq;

	rig_ramp(x, 1.0f);
	status = rig_load(rig, program_matmul(), 0, 0, 0);
	if (!status)
		status = rig_run(rig, x, y);
	if (!status && memcmp(x, y, sizeof(x)))
		status = NRT_EXEC_COMPLETED_WITH_ERR;
	if (!status)
		status = nrta_execute_schedule(rig->model, rig->inputs, rig->outputs, 0, NULL,
					       &seq);
	while (!status && !over)
		status = nrta_is_completed(seq, &over);
	rig_unload(rig);
	return (void *)(uintptr_t)status;
}

/* Threads of other runtimes often have no more than this. */
TEST_F(async, small_stack)
{
	struct rig rig = { 0 };
	pthread_attr_t attr;
	pthread_t thread;
	void *status;

	ASSERT_EQ(0, pthread_attr_init(&attr));
	ASSERT_EQ(0, pthread_attr_setstacksize(&attr, 128 * 1024));
	ASSERT_EQ(0, pthread_create(&thread, &attr, use_everything, &rig));
	ASSERT_EQ(0, pthread_join(thread, &status));
	EXPECT_EQ(NRT_SUCCESS, (uintptr_t)status);
	pthread_attr_destroy(&attr);
}

TEST_HARNESS_MAIN
