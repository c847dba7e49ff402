// SPDX-License-Identifier: MIT
/*
 * Collectives of a model on several streams, which run beside each other: their results to the bit,
 * what they wait for, how long they take, and what is refused. Ranks are threads, on one chip and
 * on several.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nrt/nrt_async.h>
#include <nrt/nrt_emu.h>
#include <nrt/nrt_sys_trace.h>

#include "kselftest_harness.h"

#include "events.h"
#include "must.h"
#include "neuron/neff.h"
#include "rig.h"
#include "stream_rank.h"

#define MAX_STREAMS	3
#define LIMIT_S		300
#define ROUNDS		3
#define CHANCES		12
#define MANY_FLOATS	(1u << 20)
#define LONG_MS		120000
#define SUMS		8
#define SOME_WORKS	16

/**
 * struct group - the ranks of a test
 * @cores: of the process
 * @streams: of a core
 */
struct group {
	uint32_t cores;
	unsigned int streams;
	struct rank rank[STREAM_RANKS];
};

FIXTURE(streams)
{
	struct group group;
};

/* The ranks do the same; it comes to @status. */
static void expect(struct __test_metadata *_metadata, struct rank *ranks, unsigned int nr,
		   void *(*run)(void *arg), NRT_STATUS status)
{
	unsigned int i;

	stream_threads(ranks, nr, run);
	for (i = 0; i < nr; i++) {
		EXPECT_EQ(status, ranks[i].status) TH_LOG("rank %u of %u", i, ranks[i].ranks);
		EXPECT_EQ(0, ranks[i].wrong) TH_LOG("rank %u of %u", i, ranks[i].ranks);
		ranks[i].wrong = 0;
	}
}

/* --- Works --- */

/* Groups of @size ranks; @apart: rank r and r + ranks / size, and so on, not neighbours. */
static struct stream_work work_of(enum stream_op op, unsigned int stream, unsigned int floats,
				  unsigned int ranks, unsigned int size, bool apart)
{
	struct stream_work work = {
		.op = op, .stream = stream, .floats = floats, .nr_ranks = ranks, .size = size,
		.after = -1,
	};
	unsigned int i, groups = ranks / size;

	for (i = 0; i < ranks; i++)
		work.ranks[i] = apart ? i / size + i % size * groups : i;
	return work;
}

static void set_ranks(struct group *group, unsigned int ranks,
		      const struct stream_work *works, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < ranks; i++) {
		group->rank[i] = (struct rank){
			.vnc = (int)(i * (group->cores / ranks)), .number = i, .ranks = ranks,
			.nr = nr, .seed = 1,
		};
		memcpy(group->rank[i].works, works, nr * sizeof(*works));
	}
}

static void unload_all(struct group *group)
{
	unsigned int i;

	for (i = 0; i < STREAM_RANKS; i++)
		stream_unload(&group->rank[i]);
}

static NRT_STATUS open_with_limit(const char *seconds)
{
	setenv("NEURON_RT_EXEC_TIMEOUT", seconds, 1);
	nrt_close();
	return nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
}

/* CC-cores of a logical core, without that of the host. */
static unsigned int nr_streams(void)
{
	const char *lnc = getenv("NEURON_LOGICAL_NC_CONFIG");
	nrt_instance_info_t info = { 0 };

	if (nrt_get_instance_info(&info, sizeof(info)))
		return 0;
	if (info.family == NRT_INSTANCE_TRN1 || info.family == NRT_INSTANCE_TRN1N ||
	    info.family == NRT_INSTANCE_INF2)
		return 2;
	return lnc && !strcmp(lnc, "2") ? 3 : 1;
}

static void set_up(struct __test_metadata *_metadata, struct group *group)
{
	memset(group->rank, 0, sizeof(group->rank));
	/* The host reference adds in the order of a mesh. */
	setenv("NEURON_EMU_CC_ALGORITHM", "mesh", 1);
	ASSERT_EQ(NRT_SUCCESS, open_with_limit("20"));
	ASSERT_EQ(NRT_SUCCESS, nrt_get_visible_vnc_count(&group->cores));
	group->streams = nr_streams();
	ASSERT_LE(1, group->streams);
}

FIXTURE_SETUP(streams)
{
	if (!rig_chips())
		SKIP(return, "no neuron device");
	set_up(_metadata, &self->group);
	if (self->group.streams > 1)
		return;
	/* Of these chips only pairs of cores have several. */
	setenv("NEURON_LOGICAL_NC_CONFIG", "2", 1);
	set_up(_metadata, &self->group);
	ASSERT_LT(1, self->group.streams);
}

FIXTURE_TEARDOWN(streams)
{
	unload_all(&self->group);
	nrt_close();
}

/* However many streams there are. */
FIXTURE(core)
{
	struct group group;
};

FIXTURE_SETUP(core)
{
	if (!rig_chips())
		SKIP(return, "no neuron device");
	set_up(_metadata, &self->group);
}

FIXTURE_TEARDOWN(core)
{
	unload_all(&self->group);
	nrt_close();
}

/* --- Results --- */

TEST_F_TIMEOUT(streams, beside_each_other, LIMIT_S)
{
	static const unsigned int ranks[] = { 2, 4 };
	struct stream_work works[4];
	unsigned int i, round;

	for (i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
		works[0] = work_of(STREAM_SUM, 0, 700, ranks[i], ranks[i], false);
		works[1] = work_of(STREAM_SUM, 1, 300, ranks[i], 2, true);
		works[2] = work_of(STREAM_GATHER, 0, 65, ranks[i], 2, false);
		works[3] = work_of(STREAM_SCATTER, self->group.streams - 1, 129, ranks[i], ranks[i],
				   true);
		set_ranks(&self->group, ranks[i], works, 4);
		expect(_metadata, self->group.rank, ranks[i], stream_load, NRT_SUCCESS);
		for (round = 0; round < ROUNDS; round++)
			expect(_metadata, self->group.rank, ranks[i], stream_execute, NRT_SUCCESS);
		unload_all(&self->group);
	}
}

static struct stream_work any_work(unsigned int streams, unsigned int ranks, uint32_t *seed)
{
	static const unsigned int most[] = { 10, 1000, 20000 };
	enum stream_op op = stream_next(seed) % STREAM_OPS;
	unsigned int stream = stream_next(seed) % streams;
	unsigned int floats = 1 + stream_next(seed) % most[stream_next(seed) % 3];
	unsigned int size = stream_next(seed) % 2 ? ranks : 2;
	struct stream_work work = work_of(op, stream, floats, ranks, size, stream_next(seed) % 2);

	/* As many of them have no list as have one. */
	if (stream_next(seed) % 2)
		work.tensors = 1 + stream_next(seed) % STREAM_TENSORS;
	if (work.tensors > floats)
		work.tensors = floats;
	if (work.tensors && stream_in(&work) * sizeof(float) <= STREAM_IN_SBUF &&
	    stream_out(&work) * sizeof(float) <= STREAM_IN_SBUF)
		work.sbuf = stream_next(seed) % 2;
	return work;
}

/* Streams, operations, sizes, groups, lists, SBUF and starts by chance. */
TEST_F_TIMEOUT(core, by_chance, LIMIT_S)
{
	struct stream_work works[STREAM_WORKS];
	unsigned int chance, i, nr, ranks;
	uint32_t seed = 5;

	for (chance = 0; chance < CHANCES; chance++) {
		/* Nobody has met others before. */
		ASSERT_EQ(NRT_SUCCESS, open_with_limit("20"));
		ranks = stream_next(&seed) % 2 ? 4 : 2;
		nr = 1 + stream_next(&seed) % (SOME_WORKS / 2);
		for (i = 0; i < nr; i++)
			works[i] = any_work(self->group.streams, ranks, &seed);
		/* Behind one that comes before it in the list nobody waits for ever. */
		for (i = 1; i < nr; i++)
			if (!(stream_next(&seed) % 3))
				works[i].after = (int)(stream_next(&seed) % i);
		set_ranks(&self->group, ranks, works, nr);
		for (i = 0; i < ranks; i++)
			self->group.rank[i].joins = chance % 2;
		expect(_metadata, self->group.rank, ranks, stream_load, NRT_SUCCESS);
		expect(_metadata, self->group.rank, ranks, stream_execute, NRT_SUCCESS);
		expect(_metadata, self->group.rank, ranks, stream_execute, NRT_SUCCESS);
		unload_all(&self->group);
	}
}

/*
 * More of them than a CC-core has semaphores for, of which each takes 25: those of a stream share
 * some, with barriers.
 */
TEST_F_TIMEOUT(streams, crowded, LIMIT_S)
{
	struct stream_work works[STREAM_WORKS];
	unsigned int i, ranks = STREAM_RANKS;

	if (self->group.cores < ranks)
		SKIP(return, "too few cores");
	for (i = 0; i < SOME_WORKS; i++)
		works[i] = work_of(i % 2 ? STREAM_SUM : STREAM_GATHER, i % 5 == 4, 100 + i, ranks,
				   ranks, false);
	set_ranks(&self->group, ranks, works, SOME_WORKS);
	expect(_metadata, self->group.rank, ranks, stream_load, NRT_SUCCESS);
	for (i = 0; i < ROUNDS; i++)
		expect(_metadata, self->group.rank, ranks, stream_execute, NRT_SUCCESS);
	unload_all(&self->group);
}

/* The ranks of a world load, and do not agree. The world goes on. */
static void expect_disagreement(struct __test_metadata *_metadata, struct group *group,
				const char *text)
{
	const char *log;
	unsigned int i;

	rig_catch();
	stream_threads(group->rank, 4, stream_load);
	log = rig_caught();
	EXPECT_TRUE(rig_has(log, text)) TH_LOG("%s", log);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(NRT_INVALID, group->rank[i].status);
	unload_all(group);
}

/* Each operation, of lists in HBM and in SBUF on all streams; some ranks get nothing. */
TEST_F_TIMEOUT(core, lists, LIMIT_S)
{
	struct stream_work works[2 * STREAM_OPS];
	unsigned int i, ranks = 4;

	for (i = 0; i < 2 * STREAM_OPS; i++) {
		works[i] = work_of(i % STREAM_OPS, i % self->group.streams, 70 + i, ranks,
				   i % 3 ? ranks : 2, i % 2);
		works[i].tensors = 1 + i % STREAM_TENSORS;
		works[i].sbuf = i >= STREAM_OPS;
	}
	set_ranks(&self->group, ranks, works, 2 * STREAM_OPS);
	expect(_metadata, self->group.rank, ranks, stream_load, NRT_SUCCESS);
	for (i = 0; i < ROUNDS; i++)
		expect(_metadata, self->group.rank, ranks, stream_execute, NRT_SUCCESS);
}

/* One rank has a list in SBUF, the others in HBM: that is no matter. Its sizes are. */
TEST_F_TIMEOUT(core, other_lists, LIMIT_S)
{
	struct stream_work work = work_of(STREAM_GATHER, 0, 40, 4, 4, false);
	unsigned int i;

	work.tensors = 3;
	set_ranks(&self->group, 4, &work, 1);
	for (i = 0; i < 4; i++)
		self->group.rank[i].joins = true;
	self->group.rank[2].works[0].sbuf = true;
	expect(_metadata, self->group.rank, 4, stream_load, NRT_SUCCESS);
	expect(_metadata, self->group.rank, 4, stream_execute, NRT_SUCCESS);
	unload_all(&self->group);
	for (i = 0; i < 4; i++)
		self->group.rank[i].joins = false;
	self->group.rank[2].works[0].tensors = 2;
	expect_disagreement(_metadata, &self->group, "sizes of tensors in a list");
	self->group.rank[2].works[0].tensors = 3;
	expect(_metadata, self->group.rank, 4, stream_load, NRT_SUCCESS);
	expect(_metadata, self->group.rank, 4, stream_execute, NRT_SUCCESS);
}

/*
 * More of each stream than there are semaphores that start some. Two that have the same one are
 * started in their order.
 */
TEST_F_TIMEOUT(streams, more, LIMIT_S)
{
	struct stream_work works[STREAM_WORKS];
	unsigned int i;

	for (i = 0; i < STREAM_WORKS; i++) {
		works[i] = work_of(STREAM_SUM, i % 2, 30 + i, 2, 2, false);
		if (i >= 2 * NEFF_NR_STARTS)
			works[i].after = (int)(i - 2 * NEFF_NR_STARTS);
	}
	set_ranks(&self->group, 2, works, STREAM_WORKS);
	expect(_metadata, self->group.rank, 2, stream_load, NRT_SUCCESS);
	for (i = 0; i < ROUNDS; i++)
		expect(_metadata, self->group.rank, 2, stream_execute, NRT_SUCCESS);
	unload_all(&self->group);
}

/* --- What they wait for --- */

/*
 * The first one is started when the second is complete. On one stream that would never end, because
 * there the second waits for the first.
 */
TEST_F_TIMEOUT(streams, wait_for_nothing_of_each_other, LIMIT_S)
{
	struct stream_work works[] = {
		work_of(STREAM_SUM, 0, 40, 2, 2, false), work_of(STREAM_MOST, 1, 50, 2, 2, false),
	};

	works[0].after = 1;
	set_ranks(&self->group, 2, works, 2);
	expect(_metadata, self->group.rank, 2, stream_load, NRT_SUCCESS);
	expect(_metadata, self->group.rank, 2, stream_execute, NRT_SUCCESS);
	unload_all(&self->group);
	works[0].stream = 1;
	works[1].stream = 0;
	set_ranks(&self->group, 2, works, 2);
	expect(_metadata, self->group.rank, 2, stream_load, NRT_SUCCESS);
	expect(_metadata, self->group.rank, 2, stream_execute, NRT_SUCCESS);
}

static NRT_STATUS wait_for_end(nrta_seq_t seq)
{
	struct pollfd end = { .events = POLLIN };
	NRT_STATUS status = nrta_get_completion_handle(seq, &end.fd);
	int nr;

	if (status)
		return status;
	nr = poll(&end, 1, LONG_MS);
	close(end.fd);
	return nr == 1 ? NRT_SUCCESS : NRT_TIMEOUT;
}

/* Sums of @tensor of all ranks, which it becomes, asked for by the host. @seq: of the last one. */
static NRT_STATUS schedule_sums(const struct rank *rank, nrt_tensor_t *tensor,
				nrta_error_tracker_t *tracker, nrta_seq_t *seq)
{
	uint32_t group[STREAM_RANKS] = { 0, 1, 2, 3 };
	nrt_cc_comm_t comm = {
		.replica_group = group, .rank = rank->number, .rank_n = rank->ranks,
		.ctx_device_id = rank->number, .ctx_device_count = rank->ranks,
		.vnc = (uint32_t)rank->vnc,
	};
	nrt_tensor_list_t list = { &tensor, 1 };
	nrt_cc_context_t *context;
	NRT_STATUS status = NRT_SUCCESS;
	unsigned int i;

	for (i = 0; i < SUMS && !status; i++)
		status = nrta_cc_prepare(&comm, &list, &list, NRT_DTYPE_FLOAT32, NRT_OP_ADD,
					 NRT_CC_ALLREDUCE, &context) ?:
			 nrta_cc_schedule(&context, 0, tracker, seq);
	return status;
}

/* Only who is to wait for its sums waits for anything before the end. */
static NRT_STATUS do_both(struct rank *rank, nrt_tensor_t *tensor, nrta_error_tracker_t *tracker)
{
	nrta_seq_t sums = 0, execution = 0;
	NRT_STATUS status = NRT_SUCCESS;

	if (rank->host_first)
		status = schedule_sums(rank, tensor, tracker, &sums);
	if (!status && rank->host_first && rank->waits)
		status = wait_for_end(sums);
	status = status ?: nrta_execute_schedule(rank->model, rank->inputs, rank->outputs, 0,
						 tracker, &execution);
	if (!status && !rank->host_first)
		status = schedule_sums(rank, tensor, tracker, &sums);
	return status ?: wait_for_end(execution) ?: wait_for_end(sums);
}

/* What the tracker has, and whether tensors have what the requests should leave. */
static NRT_STATUS check_both(struct rank *rank, nrt_tensor_t *tensor,
			     nrta_error_tracker_t *tracker)
{
	float *y = must_allocate(rank->out * sizeof(float)), sum = 0, expected = 1 + 2 + 3 + 4;
	const nrta_error_t *list;
	unsigned int i;
	size_t nr = 0;
	NRT_STATUS status;

	for (i = 1; i < SUMS; i++)
		expected *= (float)rank->ranks;
	status = nrta_error_tracker_get_list(tracker, &list, &nr) ?:
		 nr ? (NRT_STATUS)list[0].error_code : NRT_SUCCESS;
	status = status ?: nrt_tensor_read(rank->y, y, 0, rank->out * sizeof(float)) ?:
		 nrt_tensor_read(tensor, &sum, 0, sizeof(sum));
	if (!status) {
		stream_check(rank, y);
		rank->wrong += memcmp(&sum, &expected, sizeof(sum)) != 0;
	}
	free(y);
	return status;
}

static void *execute_and_sum(void *arg)
{
	struct rank *rank = arg;
	float *x = stream_input(rank, rank->number), mine = (float)(rank->number + 1);
	nrta_error_tracker_t *tracker = NULL;
	nrt_tensor_t *tensor = NULL;

	rank->status = nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, rank->vnc, sizeof(mine),
					   "sum", &tensor) ?:
		       nrt_tensor_write(tensor, &mine, 0, sizeof(mine)) ?:
		       nrt_tensor_write(rank->x, x, 0, rank->in * sizeof(float)) ?:
		       nrta_error_tracker_create((uint32_t)rank->vnc, &tracker) ?:
		       do_both(rank, tensor, tracker) ?: check_both(rank, tensor, tracker);
	if (tracker)
		nrta_error_tracker_destroy(tracker);
	nrt_tensor_free(&tensor);
	free(x);
	return NULL;
}

/*
 * With all streams, in which order ever each rank asks. Executions and collectives of the host do
 * not wait for each other. If they did, the last rounds would never end: half of the ranks execute
 * when their sums are there, and the executions of the others come before their sums.
 */
TEST_F_TIMEOUT(core, beside_those_of_the_host, LIMIT_S)
{
	struct stream_work works[MAX_STREAMS];
	unsigned int i, round;

	for (i = 0; i < self->group.streams; i++)
		works[i] = work_of(STREAM_SUM, i, 200 + i, 4, 4, false);
	set_ranks(&self->group, 4, works, self->group.streams);
	for (i = 0; i < 4; i++)
		self->group.rank[i].joins = true;
	expect(_metadata, self->group.rank, 4, stream_load, NRT_SUCCESS);
	for (round = 0; round < 2 * ROUNDS; round++) {
		for (i = 0; i < 4; i++) {
			self->group.rank[i].host_first = round < 2 ? round : i % 2;
			self->group.rank[i].waits = round >= ROUNDS;
		}
		expect(_metadata, self->group.rank, 4, execute_and_sum, NRT_SUCCESS);
	}
}

/* --- What is refused --- */

/* Also the ranks of a world hear it, which goes on. */
TEST_F_TIMEOUT(core, no_such_stream, LIMIT_S)
{
	struct stream_work work = work_of(STREAM_SUM, self->group.streams, 10, 2, 2, false);
	char stream[64], last[64];
	unsigned int i, k;
	const char *log;

	snprintf(stream, sizeof(stream), "collective 0 is on stream %u", self->group.streams);
	snprintf(last, sizeof(last), "its streams are 0 to %u", self->group.streams - 1);
	for (i = 0; i < 2; i++) {
		set_ranks(&self->group, 2, &work, 1);
		for (k = 0; k < 2; k++)
			self->group.rank[k].joins = i;
		rig_catch();
		stream_threads(self->group.rank, 1 + i, stream_load);
		log = rig_caught();
		EXPECT_TRUE(rig_has(log, stream)) TH_LOG("%s", log);
		EXPECT_TRUE(rig_has(log, last)) TH_LOG("%s", log);
		EXPECT_EQ(NRT_INVALID, self->group.rank[0].status);
		EXPECT_EQ(i ? NRT_INVALID : NRT_SUCCESS, self->group.rank[1].status);
	}
	for (k = 0; k < 2; k++) {
		self->group.rank[k].joins = false;
		self->group.rank[k].works[0].stream = 0;
	}
	expect(_metadata, self->group.rank, 2, stream_load, NRT_SUCCESS);
	expect(_metadata, self->group.rank, 2, stream_execute, NRT_SUCCESS);
}

TEST_F_TIMEOUT(streams, ranks_that_do_not_agree, LIMIT_S)
{
	const struct stream_work works[] = {
		work_of(STREAM_SUM, 0, 40, 4, 4, false), work_of(STREAM_SUM, 1, 50, 4, 2, false),
	};
	unsigned int i;

	set_ranks(&self->group, 4, works, 2);
	for (i = 0; i < 4; i++)
		self->group.rank[i].joins = true;
	self->group.rank[2].works[1].stream = 0;
	expect_disagreement(_metadata, &self->group, "collective 1 of the model is on stream ");
	for (i = 0; i < 4; i++)
		self->group.rank[i].joins = false;
	self->group.rank[2].works[1].stream = 1;
	self->group.rank[2].works[1].floats = 51;
	self->group.rank[3].works[1].floats = 52;
	expect_disagreement(_metadata, &self->group, "stream 1: the ranks do not agree");
	self->group.rank[2].works[1].floats = 50;
	self->group.rank[3].works[1].floats = 50;
	expect(_metadata, self->group.rank, 4, stream_load, NRT_SUCCESS);
	expect(_metadata, self->group.rank, 4, stream_execute, NRT_SUCCESS);
}

/*
 * A rank does not come. Stream 0 needs nobody, or waits for the model, which waits for stream 1: in
 * both cases that is where the rank is missed.
 */
TEST_F_TIMEOUT(streams, rank_that_is_missing, LIMIT_S)
{
	struct stream_work works[] = {
		work_of(STREAM_SUM, 0, 40, 4, 1, false), work_of(STREAM_SUM, 1, 50, 4, 4, false),
	};
	const char *log;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(NRT_SUCCESS, open_with_limit("8"));
		works[0].after = i ? 1 : -1;
		set_ranks(&self->group, 4, works, 2);
		expect(_metadata, self->group.rank, 4, stream_load, NRT_SUCCESS);
		expect(_metadata, self->group.rank, 4, stream_execute, NRT_SUCCESS);
		rig_catch();
		stream_threads(self->group.rank, 3, stream_execute);
		log = rig_caught();
		/* With the driver the line may stay at stream 0; collectives.rst says so. */
		if (rig_embedded() || !i) {
			EXPECT_TRUE(rig_has(log, "on stream 1, in step ")) TH_LOG("%s", log);
			EXPECT_TRUE(rig_has(log, "waits for rank 3")) TH_LOG("%s", log);
		}
		EXPECT_TRUE(rig_has(log, "(NEURON_RT_EXEC_TIMEOUT)")) TH_LOG("%s", log);
		EXPECT_EQ(NRT_TIMEOUT, self->group.rank[0].status);
		expect(_metadata, self->group.rank, 4, stream_execute, NRT_SUCCESS);
		unload_all(&self->group);
	}
}

/* Its link is down. Stream 0 needs nobody, so the other one fails, at once. */
TEST_F_TIMEOUT(streams, link_that_is_down, LIMIT_S)
{
	struct stream_work works[] = {
		work_of(STREAM_SUM, 0, 40, 2, 1, false), work_of(STREAM_SUM, 1, 50, 2, 2, false),
	};
	const char *type = getenv("NEURON_EMU_INSTANCE"), *log;
	char two[32];

	if (!rig_embedded() || !type)
		SKIP(return, "only chips in the process have such links");
	if (!strncmp(type, "trn3", 4))
		SKIP(return, "chips behind a switch have no link of two");
	snprintf(two, sizeof(two), "%.*s:2", (int)strcspn(type, ":"), type);
	setenv("NEURON_EMU_INSTANCE", two, 1);
	setenv("NEURON_EMU_LINK_FAULT", "0-1=down", 1);
	ASSERT_EQ(NRT_SUCCESS, open_with_limit("120"));
	ASSERT_EQ(NRT_SUCCESS, nrt_get_visible_vnc_count(&self->group.cores));
	set_ranks(&self->group, 2, works, 2);
	expect(_metadata, self->group.rank, 2, stream_load, NRT_SUCCESS);
	rig_catch();
	stream_threads(self->group.rank, 2, stream_execute);
	log = rig_caught();
	EXPECT_TRUE(rig_has(log, "on stream 1, ")) TH_LOG("%s", log);
	EXPECT_TRUE(rig_has(log, "the fabric does not lead from chip ")) TH_LOG("%s", log);
	EXPECT_EQ(NRT_EXEC_HW_ERR_COLLECTIVES, self->group.rank[0].status);
	EXPECT_EQ(NRT_EXEC_HW_ERR_COLLECTIVES, self->group.rank[1].status);
}

/* All streams wait for a rank that does not come when the program closes the library. */
TEST_F_TIMEOUT(streams, close_while_they_wait, LIMIT_S)
{
	struct stream_work works[MAX_STREAMS];
	unsigned int i;

	ASSERT_EQ(NRT_SUCCESS, open_with_limit("120"));
	for (i = 0; i < self->group.streams; i++)
		works[i] = work_of(STREAM_SUM, i, 40, 4, 4, false);
	set_ranks(&self->group, 4, works, self->group.streams);
	expect(_metadata, self->group.rank, 4, stream_load, NRT_SUCCESS);
	expect(_metadata, self->group.rank, 4, stream_execute, NRT_SUCCESS);
	for (i = 0; i < 3; i++)
		must_start(&self->group.rank[i].thread, stream_execute, &self->group.rank[i]);
	usleep(300000);
	nrt_close();
	for (i = 0; i < 3; i++) {
		pthread_join(self->group.rank[i].thread, NULL);
		EXPECT_NE(NRT_SUCCESS, self->group.rank[i].status);
		EXPECT_NE(NRT_TIMEOUT, self->group.rank[i].status);
	}
	/* All that they had has gone with it. */
	memset(self->group.rank, 0, sizeof(self->group.rank));
	ASSERT_EQ(NRT_SUCCESS, open_with_limit("20"));
	set_ranks(&self->group, 4, works, self->group.streams);
	expect(_metadata, self->group.rank, 4, stream_load, NRT_SUCCESS);
	expect(_metadata, self->group.rank, 4, stream_execute, NRT_SUCCESS);
}

/*
 * The last stream cannot be planned when those before it are: what they took is given back. The
 * world goes on.
 */
TEST_F_TIMEOUT(streams, plan_of_one_fails, LIMIT_S)
{
	const unsigned int last = self->group.streams - 1;
	struct stream_work works[] = {
		work_of(STREAM_MOST, 0, 40, 4, 4, false),
		work_of(STREAM_SCATTER, last, 50, 4, 4, false),
	};
	char text[64];
	const char *log;
	unsigned int i, k;

	/* It is for all_reduce alone. */
	setenv("NEURON_EMU_CC_ALGORITHM", "mesh1", 1);
	ASSERT_EQ(NRT_SUCCESS, open_with_limit("20"));
	snprintf(text, sizeof(text), "stream %u: ", last);
	for (i = 0; i < 4; i++) {
		set_ranks(&self->group, 4, works, 2);
		for (k = 0; k < 4; k++)
			self->group.rank[k].joins = !i;
		rig_catch();
		stream_threads(self->group.rank, 4, stream_load);
		log = rig_caught();
		EXPECT_TRUE(rig_has(log, text)) TH_LOG("%s", log);
		EXPECT_TRUE(rig_has(log, "it is for all_reduce")) TH_LOG("%s", log);
		EXPECT_EQ(NRT_INVALID, self->group.rank[i].status);
		unload_all(&self->group);
	}
	works[1].op = STREAM_MOST;
	set_ranks(&self->group, 4, works, 2);
	expect(_metadata, self->group.rank, 4, stream_load, NRT_SUCCESS);
	expect(_metadata, self->group.rank, 4, stream_execute, NRT_SUCCESS);
}

/* --- What is told of them --- */

/* How many events of stream @stream there are, of which 0 is not named. */
static unsigned int count_runs(struct json_object *events, int64_t stream)
{
	size_t i, all = json_object_array_length(events);
	unsigned int nr = 0;

	for (i = 0; i < all; i++) {
		struct json_object *event = json_object_array_get_idx(events, i);

		nr += !strcmp("cc_running", text_of(event, "name")) &&
		      int_of(event, "stream") == (stream ? stream : -1);
	}
	return nr;
}

/* Each stream that is used has an event on each rank. */
TEST_F_TIMEOUT(streams, events, LIMIT_S)
{
	struct stream_work works[] = {
		work_of(STREAM_SUM, 0, 40, 2, 2, false),
		work_of(STREAM_SUM, self->group.streams - 1, 50, 2, 2, false),
	};
	struct json_object *root, *events;
	nrt_sys_trace_config_t *config;
	char *text;
	size_t size;

	set_ranks(&self->group, 2, works, 2);
	expect(_metadata, self->group.rank, 2, stream_load, NRT_SUCCESS);
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_config_allocate(&config));
	nrt_sys_trace_config_set_defaults(config);
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_start(config));
	nrt_sys_trace_config_free(config);
	expect(_metadata, self->group.rank, 2, stream_execute, NRT_SUCCESS);
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_fetch_events(&text, &size, NULL));
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_stop());
	events = parse_events(text, &root, NULL);
	ASSERT_NE(NULL, events);
	EXPECT_EQ(2, count_runs(events, 0));
	EXPECT_EQ(2, count_runs(events, self->group.streams - 1));
	json_object_put(root);
	nrt_sys_trace_buffer_free(text);
}

/* --- How long they take --- */

static void *join_times(void *arg)
{
	static const uint32_t all[] = { 0, 1, 2, 3 };
	struct rank *rank = arg;

	stream_load(rank);
	if (!rank->status)
		rank->status = nrt_emu_join_group_times((uint32_t)rank->vnc, all, 4);
	return NULL;
}

static void *execute_timed(void *arg)
{
	struct rank *rank = arg;
	nrt_emu_group_time_t time = { 0 };

	rank->status = nrta_execute_schedule(rank->model, rank->inputs, rank->outputs, 0, NULL,
					     &rank->seq) ?:
		       wait_for_end(rank->seq) ?:
		       nrt_emu_get_group_time((uint32_t)rank->vnc, rank->seq, LONG_MS, &time,
					      sizeof(time));
	if (!rank->status && time.flags)
		rank->status = NRT_FAILURE;
	rank->ns = time.end_ns - time.start_ns;
	return NULL;
}

/* Of 4 ranks, after a first execution. */
static uint64_t time_of(struct __test_metadata *_metadata, struct group *group,
			const struct stream_work *works, unsigned int nr)
{
	unsigned int i;

	set_ranks(group, 4, works, nr);
	for (i = 0; i < 4; i++)
		group->rank[i].joins = true;
	expect(_metadata, group->rank, 4, join_times, NRT_SUCCESS);
	expect(_metadata, group->rank, 4, execute_timed, NRT_SUCCESS);
	expect(_metadata, group->rank, 4, execute_timed, NRT_SUCCESS);
	unload_all(group);
	return group->rank[0].ns;
}

/* Two pairs of chips beside each other, and the same the other way round: no link has both. */
TEST_F_TIMEOUT(streams, times, LIMIT_S)
{
	struct stream_work works[] = {
		work_of(STREAM_SUM, 0, MANY_FLOATS, 4, 2, false),
		work_of(STREAM_SUM, 0, MANY_FLOATS, 4, 2, false),
	};
	static const uint32_t other[] = { 1, 2, 3, 0 };
	uint64_t first, second, one, two;

	if (!rig_embedded())
		SKIP(return, "only chips in the process have such times");
	setenv("NEURON_EMU_CC_ALGORITHM", "ring", 1);
	ASSERT_EQ(NRT_SUCCESS, open_with_limit("120"));
	works[0].bare = true;
	works[1].bare = true;
	memcpy(works[1].ranks, other, sizeof(other));
	first = time_of(_metadata, &self->group, &works[0], 1);
	second = time_of(_metadata, &self->group, &works[1], 1);
	one = time_of(_metadata, &self->group, works, 2);
	works[1].stream = 1;
	two = time_of(_metadata, &self->group, works, 2);
	TH_LOG("%llu and %llu ns; %llu on one stream, %llu on two", (unsigned long long)first,
	       (unsigned long long)second, (unsigned long long)one, (unsigned long long)two);
	EXPECT_LT((first + second) * 9 / 10, one);
	EXPECT_GT((first + second) * 11 / 10, one);
	EXPECT_LT(two, (first + second) * 7 / 10);
}

TEST_HARNESS_MAIN
