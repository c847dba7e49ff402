// SPDX-License-Identifier: MIT
/*
 * Collectives that a program schedules itself: ranks are threads, on one chip and on several. The
 * CC-cores of the chips move and reduce all bytes.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nrt/nrt_async.h>
#include <nrt/nrt_emu.h>

#include "kselftest_harness.h"

#include "must.h"
#include "programs.h"
#include "rig.h"

#define MAX_RANKS	16
#define LIMIT_S		300
#define MAX_BYTES	(1u << 20)

/**
 * struct task - what all ranks do
 * @ranks: how many
 * @spread: cores from one rank to the next
 * @cc_op, @op, @dtype: as for nrta_cc_prepare()
 * @count: elements of a block
 * @rounds: how often, with the same tensors
 * @placement: of these
 * @joined: all ranks have met already
 * @blank: nobody writes the inputs, and nothing is compared
 */
struct task {
	unsigned int ranks;
	unsigned int spread;
	nrt_cc_op_type_t cc_op;
	nrt_op_type_t op;
	nrt_dtype_t dtype;
	size_t count;
	unsigned int rounds;
	nrt_tensor_placement_t placement;
	bool joined;
	bool blank;
};

struct rank {
	const struct task *task;
	pthread_t thread;
	unsigned int number;
	nrt_tensor_t *in;
	nrt_tensor_t *out;
	NRT_STATUS status;
	unsigned int wrong;
};

static size_t bytes_of(nrt_dtype_t dtype)
{
	switch (dtype) {
	case NRT_DTYPE_FLOAT32:
	case NRT_DTYPE_INT32:
		return 4;
	case NRT_DTYPE_BFLOAT16:
		return 2;
	default:
		return 1;
	}
}

static size_t in_count(const struct task *task)
{
	return task->cc_op == NRT_CC_REDUCESCATTER ? task->count * task->ranks : task->count;
}

static size_t out_count(const struct task *task)
{
	return task->cc_op == NRT_CC_ALLGATHER ? task->count * task->ranks : task->count;
}

/* Small whole numbers: their sums are exact in any order. */
static int value(unsigned int rank, size_t i, unsigned int round)
{
	return (int)((rank * 7 + i * 3 + round) % 13) - 3;
}

static void put(nrt_dtype_t dtype, uint8_t *at, size_t i, int number)
{
	float real = (float)number;
	uint32_t bits;

	memcpy(&bits, &real, sizeof(bits));
	switch (dtype) {
	case NRT_DTYPE_FLOAT32:
		memcpy(at + 4 * i, &real, 4);
		break;
	case NRT_DTYPE_INT32:
		memcpy(at + 4 * i, &number, 4);
		break;
	case NRT_DTYPE_BFLOAT16:
		bits >>= 16;
		memcpy(at + 2 * i, &bits, 2);
		break;
	default:
		at[i] = (uint8_t)number;
	}
}

static int combine(nrt_op_type_t op, int a, int b)
{
	if (op == NRT_OP_ADD)
		return a + b;
	return (op == NRT_OP_MAX) == (a > b) ? a : b;
}

/* Element @i of the output of rank @rank. */
static int expected(const struct task *task, unsigned int rank, size_t i, unsigned int round)
{
	unsigned int r;
	int sum;

	if (task->cc_op == NRT_CC_ALLGATHER)
		return value((unsigned int)(i / task->count), i % task->count, round);
	if (task->cc_op == NRT_CC_REDUCESCATTER)
		i += rank * task->count;
	sum = value(0, i, round);
	for (r = 1; r < task->ranks; r++)
		sum = combine(task->op, sum, value(r, i, round));
	return sum;
}

/* Schedule it, and wait for its end. */
static NRT_STATUS run_once(const struct task *task, unsigned int number, nrt_tensor_t *in,
			   nrt_tensor_t *out)
{
	uint32_t group[MAX_RANKS];
	nrt_cc_comm_t comm = {
		.replica_group = group,
		.rank = number,
		.rank_n = task->ranks,
		.ctx_device_id = number,
		.ctx_device_count = task->ranks,
		.vnc = number * task->spread,
	};
	nrt_tensor_list_t input = { &in, 1 }, output = { &out, 1 };
	nrta_error_tracker_t *tracker;
	const nrta_error_t *list;
	struct pollfd poller = { .events = POLLIN };
	nrt_cc_context_t *context;
	NRT_STATUS status;
	nrta_seq_t seq;
	size_t errors;
	unsigned int i;

	for (i = 0; i < task->ranks; i++)
		group[i] = i;
	status = nrta_cc_prepare(&comm, &input, &output, task->dtype, task->op, task->cc_op,
				 &context);
	if (status)
		return status;
	status = nrta_error_tracker_create(comm.vnc, &tracker);
	if (status)
		return status;
	status = nrta_cc_schedule(&context, 0, tracker, &seq);
	if (!status)
		status = nrta_get_completion_handle(seq, &poller.fd);
	if (!status) {
		poll(&poller, 1, -1);
		close(poller.fd);
		status = nrta_error_tracker_get_list(tracker, &list, &errors);
	}
	if (!status && errors)
		status = (NRT_STATUS)list[0].error_code;
	nrta_error_tracker_destroy(tracker);
	return status;
}

static NRT_STATUS run_round(struct rank *rank, uint8_t *bytes, unsigned int round)
{
	const struct task *task = rank->task;
	size_t i, size = bytes_of(task->dtype);
	uint8_t want[4];
	NRT_STATUS status;

	if (task->blank)
		return run_once(task, rank->number, rank->in, rank->out);
	for (i = 0; i < in_count(task); i++)
		put(task->dtype, bytes, i, value(rank->number, i, round));
	status = nrt_tensor_write(rank->in, bytes, 0, in_count(task) * size);
	if (!status)
		status = run_once(task, rank->number, rank->in, rank->out);
	if (!status)
		status = nrt_tensor_read(rank->out, bytes, 0, out_count(task) * size);
	for (i = 0; !status && i < out_count(task); i++) {
		put(task->dtype, want, 0, expected(task, rank->number, i, round));
		rank->wrong += memcmp(want, bytes + i * size, size) != 0;
	}
	return status;
}

static void *run_rank(void *arg)
{
	struct rank *rank = arg;
	const struct task *task = rank->task;
	uint32_t vnc = rank->number * task->spread;
	size_t size = bytes_of(task->dtype);
	uint8_t *bytes = must_allocate(MAX_BYTES);
	unsigned int i;

	if (!task->joined)
		rank->status = nrt_cc_global_comm_init(vnc, rank->number, task->ranks);
	rank->status = rank->status ?:
		nrt_tensor_allocate(task->placement, (int)vnc, in_count(task) * size, "in",
				    &rank->in) ?:
		nrt_tensor_allocate(task->placement, (int)vnc, out_count(task) * size, "out",
				    &rank->out);
	for (i = 0; i < task->rounds && !rank->status; i++)
		rank->status = run_round(rank, bytes, i);
	nrt_tensor_free(&rank->in);
	nrt_tensor_free(&rank->out);
	free(bytes);
	return NULL;
}

/* The first @count ranks do what @tasks say, each its own. */
static void run_ranks(struct rank ranks[MAX_RANKS], const struct task *tasks, unsigned int step,
		      unsigned int count)
{
	unsigned int i;

	memset(ranks, 0, MAX_RANKS * sizeof(*ranks));
	for (i = 0; i < count; i++) {
		ranks[i].task = &tasks[i * step];
		ranks[i].number = i;
		must_start(&ranks[i].thread, run_rank, &ranks[i]);
	}
	for (i = 0; i < count; i++)
		pthread_join(ranks[i].thread, NULL);
}

/* Returns how many elements were wrong. */
static unsigned int run_all(const struct task *task, struct __test_metadata *_metadata)
{
	struct rank ranks[MAX_RANKS];
	unsigned int i, wrong = 0;

	run_ranks(ranks, task, 0, task->ranks);
	for (i = 0; i < task->ranks; i++) {
		EXPECT_EQ(NRT_SUCCESS, ranks[i].status) TH_LOG("rank %u", i);
		wrong += ranks[i].wrong;
	}
	return wrong;
}

FIXTURE(cc)
{
	uint32_t cores;
};

FIXTURE_SETUP(cc)
{
	if (!rig_chips())
		SKIP(return, "no neuron device");
	/* As long as a rank that does not come is waited for. */
	setenv("NEURON_RT_EXEC_TIMEOUT", "20", 1);
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	ASSERT_EQ(NRT_SUCCESS, nrt_get_visible_vnc_count(&self->cores));
}

FIXTURE_TEARDOWN(cc)
{
	nrt_close();
}

/* @ranks on all chips alike, or as many as there are. */
static struct task task_of(unsigned int ranks, uint32_t cores)
{
	if (ranks > cores)
		ranks = cores;
	return (struct task){
		.ranks = ranks,
		.spread = cores / ranks,
		.cc_op = NRT_CC_ALLREDUCE,
		.op = NRT_OP_ADD,
		.dtype = NRT_DTYPE_FLOAT32,
		.count = 1000,
		.rounds = 3,
	};
}

TEST_F_TIMEOUT(cc, all_reduce, LIMIT_S)
{
	static const unsigned int ranks[] = { 1, 2, 3, 4, 8, 16 };
	unsigned int i;

	for (i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
		struct task task = task_of(ranks[i], self->cores);

		EXPECT_EQ(0, run_all(&task, _metadata)) TH_LOG("%u ranks", ranks[i]);
	}
}

/* Ranks on neighbouring cores; sizes that nothing divides. */
TEST_F_TIMEOUT(cc, sizes, LIMIT_S)
{
	static const size_t counts[] = { 1, 2, 7, 63, 4097, 20011 };
	unsigned int i;

	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct task task = task_of(4, self->cores);

		task.spread = 1;
		task.count = counts[i];
		EXPECT_EQ(0, run_all(&task, _metadata)) TH_LOG("%zu elements", counts[i]);
	}
}

TEST_F_TIMEOUT(cc, operations, LIMIT_S)
{
	static const nrt_cc_op_type_t ccs[] = {
		NRT_CC_ALLGATHER, NRT_CC_ALLREDUCE, NRT_CC_REDUCESCATTER,
	};
	static const nrt_op_type_t ops[] = { NRT_OP_ADD, NRT_OP_MAX, NRT_OP_MIN };
	static const nrt_dtype_t dtypes[] = {
		NRT_DTYPE_FLOAT32, NRT_DTYPE_BFLOAT16, NRT_DTYPE_INT32, NRT_DTYPE_INT8,
	};
	unsigned int c, o, d;

	for (c = 0; c < 3; c++) {
		for (o = 0; o < 3; o++) {
			for (d = 0; d < 4; d++) {
				struct task task = task_of(4, self->cores);

				task.cc_op = ccs[c];
				task.op = ops[o];
				task.dtype = dtypes[d];
				task.count = 301;
				EXPECT_EQ(0, run_all(&task, _metadata))
					TH_LOG("collective %u, operation %u, type %u", c, o, d);
			}
		}
	}
}

/* The ranks meet as processes do, by sockets, and exchange what gives access by one. */
TEST_F_TIMEOUT(cc, by_sockets, LIMIT_S)
{
	struct task task = task_of(4, self->cores);
	struct sockaddr_in any = { .sin_family = AF_INET };
	socklen_t length = sizeof(any);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char address[32];

	any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ASSERT_EQ(0, bind(fd, (struct sockaddr *)&any, sizeof(any)));
	ASSERT_EQ(0, getsockname(fd, (struct sockaddr *)&any, &length));
	close(fd);
	snprintf(address, sizeof(address), "127.0.0.1:%u", ntohs(any.sin_port));
	setenv("NEURON_RT_ROOT_COMM_ID", address, 1);
	nrt_close();
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	unsetenv("NEURON_RT_ROOT_COMM_ID");
	EXPECT_EQ(0, run_all(&task, _metadata));
	task.ranks = 3;
	task.cc_op = NRT_CC_ALLGATHER;
	EXPECT_EQ(0, run_all(&task, _metadata));
}

/* What a chip in the process finds in a collective is told as that of a program is, and once. */
TEST_F_TIMEOUT(cc, checked, LIMIT_S)
{
	struct task task = task_of(2, self->cores);
	struct rank ranks[MAX_RANKS];
	const char *text;

	task.blank = true;
	task.rounds = 1;
	nrt_close();
	setenv("NEURON_EMU_CHECK", "memory", 1);
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	unsetenv("NEURON_EMU_CHECK");
	rig_catch();
	run_ranks(ranks, &task, 0, task.ranks);
	text = rig_caught();
	EXPECT_EQ(NRT_SUCCESS, ranks[0].status);
	EXPECT_EQ(NRT_SUCCESS, ranks[1].status);
	EXPECT_EQ(rig_embedded(), rig_has(text, "rank 0 of 2: all_reduce (")) {
		TH_LOG("%s", text);
	}
	EXPECT_EQ(rig_embedded(), rig_has(text, "), check unwritten: queue "));
	EXPECT_FALSE(rig_has(text, "check race"));
}

/* No two cores are at the same place. */
TEST_F_TIMEOUT(cc, places, LIMIT_S)
{
	nrt_emu_place_t place, other;
	uint32_t i, k;

	for (i = 0; i < self->cores; i++) {
		ASSERT_EQ(NRT_SUCCESS, nrt_emu_get_core_place(i, &place, sizeof(place)));
		EXPECT_EQ(atoi(getenv("NEURON_LOGICAL_NC_CONFIG")), place.lnc);
		EXPECT_EQ(rig_embedded(), place.here);
		/* All chips are of one fabric. */
		nrt_emu_get_core_place(0, &other, sizeof(other));
		EXPECT_EQ(other.topology, place.topology);
		for (k = 0; k < i; k++) {
			nrt_emu_get_core_place(k, &other, sizeof(other));
			EXPECT_FALSE(other.server == place.server && other.chip == place.chip &&
				     other.core == place.core) TH_LOG("cores %u and %u", k, i);
		}
	}
	other.core = 77;
	EXPECT_EQ(NRT_SUCCESS, nrt_emu_get_core_place(0, &other, 8));
	EXPECT_EQ(77, other.core);
	EXPECT_EQ(NRT_INVALID, nrt_emu_get_core_place(0, NULL, sizeof(place)));
	EXPECT_EQ(NRT_INVALID, nrt_emu_get_core_place(0, &place, 0));
	EXPECT_EQ(NRT_INVALID, nrt_emu_get_core_place(self->cores, &place, sizeof(place)));
}

/* --- Failures --- */

/* They ask for different things: all are told, and nothing else happens. */
TEST_F_TIMEOUT(cc, disagreement, LIMIT_S)
{
	struct task task = task_of(4, self->cores), tasks[4];
	struct rank ranks[MAX_RANKS];
	unsigned int i;

	EXPECT_EQ(0, run_all(&task, _metadata));
	task.joined = true;
	for (i = 0; i < 4; i++)
		tasks[i] = task;
	tasks[2].count--;
	run_ranks(ranks, tasks, 1, 4);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(NRT_INVALID, ranks[i].status);
	tasks[2] = task;
	tasks[1].op = NRT_OP_MAX;
	run_ranks(ranks, tasks, 1, 4);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(NRT_INVALID, ranks[i].status);
	EXPECT_EQ(0, run_all(&task, _metadata));
}

/* A rank does not come. The others are told which one, and go on without it. */
TEST_F_TIMEOUT(cc, missing_rank, LIMIT_S)
{
	struct task task = task_of(4, self->cores), fewer;
	struct rank ranks[MAX_RANKS];
	unsigned int i;

	setenv("NEURON_RT_EXEC_TIMEOUT", "2", 1);
	nrt_close();
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	EXPECT_EQ(0, run_all(&task, _metadata));
	task.joined = true;
	run_ranks(ranks, &task, 0, 3);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(NRT_TIMEOUT, ranks[i].status);
	/* The world is no more, for all of them, and they are told why. */
	rig_catch();
	run_ranks(ranks, &task, 0, 4);
	EXPECT_TRUE(rig_has(rig_caught(), "for rank 3"));
	for (i = 0; i < 4; i++)
		EXPECT_EQ(NRT_TIMEOUT, ranks[i].status);
	fewer = task;
	fewer.ranks = 3;
	fewer.joined = false;
	EXPECT_EQ(0, run_all(&fewer, _metadata));
}

/* Memory of the host, which ranks of the chip reach, and others do not. */
TEST_F_TIMEOUT(cc, host_tensors, LIMIT_S)
{
	struct task task = task_of(2, self->cores);
	struct rank ranks[MAX_RANKS];
	bool far = rig_chips() > 1;
	unsigned int i;

	task.placement = NRT_TENSOR_PLACEMENT_HOST;
	run_ranks(ranks, &task, 0, 2);
	for (i = 0; i < 2; i++)
		EXPECT_EQ(far ? NRT_INVALID : NRT_SUCCESS, ranks[i].status) TH_LOG("rank %u", i);
	task.spread = 1;
	EXPECT_EQ(0, run_all(&task, _metadata));
}

TEST_F_TIMEOUT(cc, what_makes_no_sense, LIMIT_S)
{
	uint32_t group[2] = { 0, 0 };
	nrt_cc_comm_t comm = { .replica_group = group, .rank_n = 1, .ctx_device_count = 1 };
	nrt_cc_context_t *context = (void *)1;
	nrt_tensor_list_t list, none = { 0 };
	nrt_tensor_t *tensor = NULL;
	nrta_seq_t seq = 7;

	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 64, "x",
						   &tensor));
	list = (nrt_tensor_list_t){ &tensor, 1 };
#define PREPARE(comm, in, out, dtype, op, cc) \
	nrta_cc_prepare(comm, in, out, NRT_DTYPE_##dtype, NRT_OP_##op, NRT_CC_##cc, &context)
	EXPECT_EQ(NRT_INVALID, PREPARE(&comm, &list, &list, FLOAT32, ADD, ALLREDUCE));
	ASSERT_EQ(NRT_SUCCESS, nrt_cc_global_comm_init(0, 0, 1));
	EXPECT_EQ(NRT_INVALID, PREPARE(NULL, &list, &list, FLOAT32, ADD, ALLREDUCE));
	EXPECT_EQ(NRT_INVALID, PREPARE(&comm, &none, &list, FLOAT32, ADD, ALLREDUCE));
	EXPECT_EQ(NRT_INVALID, PREPARE(&comm, &list, &list, INVALID, ADD, ALLREDUCE));
	EXPECT_EQ(NRT_INVALID, PREPARE(&comm, &list, &list, FLOAT32, FMA, ALLREDUCE));
	comm.rank_n = 2;
	EXPECT_EQ(NRT_INVALID, PREPARE(&comm, &list, &list, FLOAT32, ADD, ALLREDUCE));
	comm.rank_n = 1;
	comm.ctx_device_count = 2;
	EXPECT_EQ(NRT_INVALID, PREPARE(&comm, &list, &list, FLOAT32, ADD, ALLREDUCE));
	comm.ctx_device_count = 1;
	EXPECT_EQ((void *)1, context);
	EXPECT_EQ(NRT_INVALID_HANDLE, nrta_cc_schedule(&context, 0, NULL, &seq));
	EXPECT_EQ(NRT_SUCCESS, PREPARE(&comm, &list, &list, FLOAT32, ADD, ALLREDUCE));
	EXPECT_EQ(NRT_INVALID, nrta_cc_schedule(&context, 1, NULL, &seq));
	EXPECT_EQ(7, seq);
	EXPECT_EQ(NRT_SUCCESS, nrta_cc_schedule(&context, 0, NULL, &seq));
	EXPECT_EQ(NRT_INVALID_HANDLE, nrta_cc_schedule(&context, 0, NULL, &seq));
	/* One that nobody schedules goes with nrt_close(). */
	EXPECT_EQ(NRT_SUCCESS, PREPARE(&comm, &list, &list, FLOAT32, ADD, ALLREDUCE));
	nrt_tensor_free(&tensor);
}

/* An algorithm that these ranks cannot have: each of them hears why. */
TEST(algorithm_that_cannot_be)
{
	struct task task = task_of(3, 3);
	struct rank ranks[MAX_RANKS];
	const char *text;
	unsigned int i;

	if (!rig_chips())
		SKIP(return, "no neuron device");
	setenv("NEURON_EMU_CC_ALGORITHM", "rdh", 1);
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	rig_catch();
	run_ranks(ranks, &task, 0, task.ranks);
	text = rig_caught();
	for (i = 0; i < task.ranks; i++)
		EXPECT_EQ(NRT_INVALID, ranks[i].status);
	EXPECT_TRUE(rig_has(text, "all_reduce of 3 ranks cannot be done by rdh"))
		TH_LOG("%s", text);
	nrt_close();
}

TEST_HARNESS_MAIN
