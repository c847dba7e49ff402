// SPDX-License-Identifier: MIT
/*
 * What the host does for ranks that are threads of the process, and what cannot work.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include <nrt/nrt_async.h>
#include <nrt/nrt_experimental.h>

#include "kselftest_harness.h"

#include "rig.h"

#define RANKS	4
#define ROUNDS	50

/* --- Without a device --- */

TEST(impossible)
{
	nrt_cc_context_t *context = (void *)1;
	nrt_ucode_info ucode = { 0 };
	char text[64] = "";
	nrta_seq_t seq = 7;
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
	rig_catch();
	EXPECT_EQ(NRT_FAILURE, nrta_cc_prepare(NULL, NULL, NULL, NRT_DTYPE_FLOAT32, NRT_OP_ADD,
					       NRT_CC_ALLREDUCE, &context));
	EXPECT_TRUE(rig_has(rig_caught(), "nrt_load_collectives"));
	EXPECT_EQ((void *)1, context);
	EXPECT_EQ(NRT_INVALID_HANDLE, nrta_cc_schedule(&context, 0, NULL, &seq));
	EXPECT_EQ(7, seq);
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

TEST_HARNESS_MAIN
