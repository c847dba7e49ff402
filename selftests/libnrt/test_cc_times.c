// SPDX-License-Identifier: MIT
/*
 * Device times of collectives whose ranks share links: two pairs of ranks, each rank on a chip of
 * its own, on chips in the process.
 */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nrt/nrt_async.h>
#include <nrt/nrt_emu.h>

#include "kselftest_harness.h"

#include "must.h"

#define RANKS	4
#define PAIR	2
#define FLOATS	(1u << 20)
#define FEW	64u
#define LIMIT_S	200
#define LONG_MS	120000
/* More than libnrt keeps of a core. */
#define MANY	1100
#define ROUNDS	50

/**
 * struct rank - a rank
 * @vnc, @number: its core, and it
 * @pair: the ranks of its group, in their order
 * @timed, @nr_timed: those that it is timed with
 * @floats: of its tensors
 * @seq: its last request
 * @time: of that
 * @status: of what it did last
 */
struct rank {
	pthread_t thread;
	uint32_t vnc;
	uint32_t number;
	uint32_t pair[PAIR];
	const uint32_t *timed;
	uint32_t nr_timed;
	size_t floats;
	nrt_tensor_t *in;
	nrt_tensor_t *out;
	nrta_error_tracker_t *tracker;
	nrta_seq_t seq;
	nrt_emu_group_time_t time;
	NRT_STATUS status;
};

FIXTURE(times)
{
	struct rank rank[RANKS];
};

static const uint32_t all[RANKS] = { 0, 1, 2, 3 };

static void *begin(void *arg)
{
	struct rank *rank = arg;

	rank->status = nrt_cc_global_comm_init(rank->vnc, rank->number, RANKS) ?:
		       nrt_emu_join_group_times(rank->vnc, rank->timed, rank->nr_timed) ?:
		       nrta_error_tracker_create(rank->vnc, &rank->tracker) ?:
		       nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, (int)rank->vnc,
					   rank->floats * sizeof(float), "in", &rank->in) ?:
		       nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, (int)rank->vnc,
					   rank->floats * sizeof(float), "out", &rank->out);
	return NULL;
}

/* It has ended; how. */
static NRT_STATUS wait_for(struct rank *rank)
{
	struct pollfd end = { .events = POLLIN };
	const nrta_error_t *list;
	size_t nr = 0;
	NRT_STATUS status;

	status = nrta_get_completion_handle(rank->seq, &end.fd);
	if (status)
		return status;
	poll(&end, 1, LONG_MS);
	close(end.fd);
	status = nrta_error_tracker_get_list(rank->tracker, &list, &nr);
	return status ?: nr ? (NRT_STATUS)list[0].error_code : NRT_SUCCESS;
}

/* An all-reduce of its pair begins. */
static NRT_STATUS schedule(struct rank *rank)
{
	nrt_cc_comm_t comm = {
		.replica_group = rank->pair,
		.rank = rank->pair[1] == rank->number,
		.rank_n = PAIR,
		.ctx_device_id = rank->number,
		.ctx_device_count = RANKS,
		.vnc = rank->vnc,
	};
	nrt_tensor_list_t in = { &rank->in, 1 }, out = { &rank->out, 1 };
	nrt_cc_context_t *context;

	return nrta_cc_prepare(&comm, &in, &out, NRT_DTYPE_FLOAT32, NRT_OP_ADD, NRT_CC_ALLREDUCE,
			       &context) ?:
	       nrta_cc_schedule(&context, 0, rank->tracker, &rank->seq);
}

static void *reduce(void *arg)
{
	struct rank *rank = arg;

	rank->status = schedule(rank) ?: wait_for(rank);
	return NULL;
}

/* It leaves the times of the others at some moment of the all-reduce. */
static void *reduce_and_leave(void *arg)
{
	struct rank *rank = arg;

	rank->status = schedule(rank) ?: nrt_emu_leave_group_times(rank->vnc) ?: wait_for(rank);
	return NULL;
}

static void *ask(void *arg)
{
	struct rank *rank = arg;

	rank->status = nrt_emu_get_group_time(rank->vnc, rank->seq, LONG_MS, &rank->time,
					      sizeof(rank->time));
	return NULL;
}

static void *leave(void *arg)
{
	struct rank *rank = arg;

	rank->status = nrt_emu_leave_group_times(rank->vnc);
	return NULL;
}

/* The first @nr ranks from @rank on do the same; their worst status. */
static NRT_STATUS do_all(struct rank *rank, unsigned int nr, void *(*work)(void *arg))
{
	NRT_STATUS status = NRT_SUCCESS;
	unsigned int i;

	for (i = 0; i < nr; i++)
		must_start(&rank[i].thread, work, &rank[i]);
	for (i = 0; i < nr; i++) {
		pthread_join(rank[i].thread, NULL);
		status = rank[i].status ?: status;
	}
	return status;
}

static void pair_up(struct rank rank[RANKS], uint32_t a, uint32_t b)
{
	rank[a].pair[0] = a;
	rank[a].pair[1] = b;
	rank[b].pair[0] = a;
	rank[b].pair[1] = b;
}

/* Ranks 0 and 1, and ranks 2 and 3. */
static void start(struct __test_metadata *_metadata, struct rank rank[RANKS], size_t floats)
{
	uint32_t cores, i;

	setenv("NEURON_EMU_CC_ALGORITHM", "ring", 1);
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	ASSERT_EQ(NRT_SUCCESS, nrt_get_visible_vnc_count(&cores));
	for (i = 0; i < RANKS; i++) {
		rank[i] = (struct rank){
			.vnc = i * (cores / RANKS), .number = i, .timed = all, .nr_timed = RANKS,
			.floats = floats,
		};
		pair_up(rank, i & ~1u, i | 1);
	}
	ASSERT_EQ(NRT_SUCCESS, do_all(rank, RANKS, begin));
}

FIXTURE_SETUP(times)
{
	memset(self->rank, 0, sizeof(self->rank));
}

FIXTURE_TEARDOWN(times)
{
	unsigned int i;

	for (i = 0; i < RANKS; i++) {
		nrt_tensor_free(&self->rank[i].in);
		nrt_tensor_free(&self->rank[i].out);
		nrta_error_tracker_destroy(self->rank[i].tracker);
	}
	nrt_close();
}

static uint64_t took(const struct rank *rank)
{
	return rank->time.end_ns - rank->time.start_ns;
}

static void expect_exact(struct __test_metadata *_metadata, const struct rank *rank)
{
	EXPECT_EQ(0, rank->time.flags);
	EXPECT_EQ(NRT_EMU_TIME_EXACT, rank->time.cause);
	EXPECT_LT(0, took(rank));
}

static void expect_inexact(struct __test_metadata *_metadata, const struct rank *rank,
			   uint32_t cause)
{
	EXPECT_EQ(NRT_EMU_INEXACT, rank->time.flags);
	EXPECT_EQ(cause, rank->time.cause) TH_LOG("rank %u", rank->number);
}

/* Results are final at once, times when all have ended. */
TEST_F_TIMEOUT(times, known_when_all_have_ended, LIMIT_S)
{
	nrt_emu_group_time_t time;
	unsigned int i, round;
	uint64_t last[RANKS];

	start(_metadata, self->rank, FLOATS);
	for (round = 0; round < 3; round++) {
		ASSERT_EQ(NRT_SUCCESS, do_all(self->rank, 2, reduce));
		EXPECT_EQ(NRT_TIMEOUT, nrt_emu_get_group_time(self->rank[0].vnc,
							      self->rank[0].seq, 0, &time,
							      sizeof(time)));
		ASSERT_EQ(NRT_SUCCESS, do_all(self->rank + 2, 2, reduce));
		ASSERT_EQ(NRT_SUCCESS, do_all(self->rank, RANKS, ask));
		for (i = 0; i < RANKS; i++) {
			expect_exact(_metadata, &self->rank[i]);
			/* A start is rounded down, an end up. */
			if (round)
				EXPECT_LE(last[i], self->rank[i].time.start_ns + 1);
			last[i] = self->rank[i].time.end_ns;
		}
	}
	/* Those that do not share a link with another pair all take the same time. */
	for (i = 1; i < RANKS; i++)
		EXPECT_EQ(took(&self->rank[0]), took(&self->rank[i]));
}

static void *rejoin(void *arg)
{
	struct rank *rank = arg;

	rank->status = nrt_emu_join_group_times(rank->vnc, rank->timed, rank->nr_timed);
	return NULL;
}

/* The time of rank 0, when both pairs reduce and are timed together, or each for itself. */
static uint64_t time_of_pairs(struct __test_metadata *_metadata, struct rank rank[RANKS],
			      bool together)
{
	unsigned int i;

	for (i = 0; i < RANKS; i++) {
		rank[i].timed = together ? all : rank[i].pair;
		rank[i].nr_timed = together ? RANKS : PAIR;
	}
	EXPECT_EQ(NRT_SUCCESS, do_all(rank, RANKS, rejoin));
	/* The second one begins on all ranks at the same time. */
	EXPECT_EQ(NRT_SUCCESS, do_all(rank, RANKS, reduce));
	EXPECT_EQ(NRT_SUCCESS, do_all(rank, RANKS, reduce));
	EXPECT_EQ(NRT_SUCCESS, do_all(rank, RANKS, ask));
	for (i = 0; i < RANKS; i++)
		expect_exact(_metadata, &rank[i]);
	return took(&rank[0]);
}

/* On a ring of chips 0 to 1 and 2 to 3 have links of their own. */
TEST_F_TIMEOUT(times, pairs_that_share_no_link, LIMIT_S)
{
	uint64_t alone;

	start(_metadata, self->rank, FLOATS);
	alone = time_of_pairs(_metadata, self->rank, false);
	EXPECT_EQ(alone, time_of_pairs(_metadata, self->rank, true));
}

/* 0 to 2 and 1 to 3 go over the link from 1 to 2, and back over that from 3 to 0. */
TEST_F_TIMEOUT(times, pairs_that_share_a_link, LIMIT_S)
{
	uint64_t alone;

	start(_metadata, self->rank, FLOATS);
	pair_up(self->rank, 0, 2);
	pair_up(self->rank, 1, 3);
	alone = time_of_pairs(_metadata, self->rank, false);
	EXPECT_LT(alone + alone / 20, time_of_pairs(_metadata, self->rank, true));
	/* Whoever is timed with nobody has no times. */
	ASSERT_EQ(NRT_SUCCESS, do_all(self->rank, RANKS, leave));
	ASSERT_EQ(NRT_SUCCESS, do_all(self->rank, RANKS, reduce));
	EXPECT_EQ(NRT_QUEUE_EMPTY, do_all(self->rank, RANKS, ask));
}

/* The ranks of the other pair are not going to come. */
TEST_F_TIMEOUT(times, rank_leaves, LIMIT_S)
{
	start(_metadata, self->rank, FLOATS);
	ASSERT_EQ(NRT_SUCCESS, do_all(self->rank, 2, reduce));
	ASSERT_EQ(NRT_SUCCESS, do_all(self->rank + 2, 1, leave));
	ASSERT_EQ(NRT_SUCCESS, do_all(self->rank, 2, ask));
	expect_inexact(_metadata, &self->rank[0], NRT_EMU_TIME_ENDED);
	expect_inexact(_metadata, &self->rank[1], NRT_EMU_TIME_ENDED);
	/* Collectives go on as before. */
	ASSERT_EQ(NRT_SUCCESS, do_all(self->rank, RANKS, reduce));
}

/* What it has begun ends as ever, and lets nobody wait for its times. */
TEST_F_TIMEOUT(times, ranks_leave_at_once, LIMIT_S)
{
	unsigned int round;

	start(_metadata, self->rank, FEW);
	for (round = 0; round < ROUNDS; round++) {
		ASSERT_EQ(NRT_SUCCESS, do_all(self->rank, RANKS, rejoin));
		ASSERT_EQ(NRT_SUCCESS, do_all(self->rank, RANKS, reduce_and_leave));
		/* Some have left before it began. */
		do_all(self->rank, RANKS, ask);
		EXPECT_NE(NRT_TIMEOUT, self->rank[0].status);
	}
	ASSERT_EQ(NRT_SUCCESS, do_all(self->rank, RANKS, rejoin));
	ASSERT_EQ(NRT_SUCCESS, do_all(self->rank, RANKS, reduce));
	ASSERT_EQ(NRT_SUCCESS, do_all(self->rank, RANKS, ask));
	expect_exact(_metadata, &self->rank[0]);
}

/* The CC-core of rank 3 hangs, until the time limit resets it. */
TEST_F_TIMEOUT(times, rank_hangs, LIMIT_S)
{
	unsigned int i;

	setenv("NEURON_EMU_FAULT", "3:engine-hang,cc=0,engine=sync", 1);
	setenv("NEURON_RT_EXEC_TIMEOUT", "3", 1);
	start(_metadata, self->rank, FLOATS);
	ASSERT_EQ(NRT_SUCCESS, do_all(self->rank, 2, reduce));
	EXPECT_NE(NRT_SUCCESS, do_all(self->rank + 2, 2, reduce));
	ASSERT_EQ(NRT_SUCCESS, do_all(self->rank, RANKS, ask));
	for (i = 0; i < RANKS; i++) {
		EXPECT_EQ(NRT_EMU_INEXACT, self->rank[i].time.flags);
		EXPECT_NE(NRT_EMU_TIME_EXACT, self->rank[i].time.cause);
	}
	expect_inexact(_metadata, &self->rank[3], NRT_EMU_TIME_RANK);
}

static void *join_alone(void *arg)
{
	struct rank *rank = arg;

	rank->status = nrt_cc_global_comm_init(rank->vnc, rank->number, RANKS);
	return NULL;
}

/* A rank leaves the world, while others wait for its times only. */
TEST_F_TIMEOUT(times, world_ends, LIMIT_S)
{
	setenv("NEURON_RT_EXEC_TIMEOUT", "3", 1);
	start(_metadata, self->rank, FLOATS);
	ASSERT_EQ(NRT_SUCCESS, do_all(self->rank, 2, reduce));
	must_start(&self->rank[0].thread, ask, &self->rank[0]);
	usleep(200000);
	EXPECT_EQ(NRT_TIMEOUT, do_all(self->rank + 2, 1, join_alone));
	pthread_join(self->rank[0].thread, NULL);
	ASSERT_EQ(NRT_SUCCESS, self->rank[0].status);
	expect_inexact(_metadata, &self->rank[0], NRT_EMU_TIME_ENDED);
}

TEST_F_TIMEOUT(times, old_requests, LIMIT_S)
{
	nrt_emu_group_time_t time;
	nrta_seq_t first;
	unsigned int i;

	start(_metadata, self->rank, FEW);
	ASSERT_EQ(NRT_SUCCESS, do_all(self->rank, RANKS, reduce));
	first = self->rank[0].seq;
	for (i = 0; i < MANY; i++)
		ASSERT_EQ(NRT_SUCCESS, do_all(self->rank, RANKS, reduce));
	ASSERT_EQ(NRT_SUCCESS, do_all(self->rank, RANKS, ask));
	expect_exact(_metadata, &self->rank[0]);
	EXPECT_EQ(NRT_QUEUE_EMPTY, nrt_emu_get_group_time(self->rank[0].vnc, first, LONG_MS,
							  &time, sizeof(time)));
}

TEST_F_TIMEOUT(times, bad_arguments, LIMIT_S)
{
	nrt_emu_group_time_t time;
	const uint32_t stranger = 1, twice[] = { 0, 1, 1 }, many[] = { 0, RANKS };

	EXPECT_EQ(NRT_UNINITIALIZED, nrt_emu_join_group_times(0, all, RANKS));
	EXPECT_EQ(NRT_UNINITIALIZED, nrt_emu_leave_group_times(0));
	EXPECT_EQ(NRT_UNINITIALIZED, nrt_emu_get_group_time(0, 1, 0, &time, sizeof(time)));
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	EXPECT_EQ(NRT_INVALID, nrt_emu_join_group_times(0, all, RANKS));
	EXPECT_EQ(NRT_INVALID, nrt_emu_leave_group_times(0));
	nrt_close();
	start(_metadata, self->rank, FEW);
	EXPECT_EQ(NRT_INVALID, nrt_emu_join_group_times(0, NULL, RANKS));
	EXPECT_EQ(NRT_INVALID, nrt_emu_join_group_times(0, all, 0));
	EXPECT_EQ(NRT_INVALID, nrt_emu_join_group_times(0, &stranger, 1));
	EXPECT_EQ(NRT_INVALID, nrt_emu_join_group_times(0, twice, 3));
	EXPECT_EQ(NRT_INVALID, nrt_emu_join_group_times(0, many, 2));
	EXPECT_EQ(NRT_INVALID, nrt_emu_get_group_time(0, 1, 0, NULL, sizeof(time)));
	EXPECT_EQ(NRT_INVALID, nrt_emu_get_group_time(0, 1, 0, &time, 0));
	EXPECT_EQ(NRT_INVALID, nrt_emu_get_group_time(4096, 1, 0, &time, sizeof(time)));
	EXPECT_EQ(NRT_QUEUE_EMPTY, nrt_emu_get_group_time(0, 1, 0, &time, sizeof(time)));
	/* What was refused has done no harm. */
	EXPECT_EQ(NRT_SUCCESS, do_all(self->rank, RANKS, reduce));
	EXPECT_EQ(NRT_SUCCESS, do_all(self->rank, RANKS, ask));
	expect_exact(_metadata, &self->rank[0]);
}

TEST_HARNESS_MAIN
