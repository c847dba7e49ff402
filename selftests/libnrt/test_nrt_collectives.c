// SPDX-License-Identifier: MIT
/*
 * Models that work together: two to four ranks, on one chip and on several.
 */
#include <nrt/nrt_sys_trace.h>
#include <pthread.h>

#include "kselftest_harness.h"

#include "events.h"
#include "rig.h"

#define MAX_RANKS	4
#define ROUNDS		5

struct rank {
	struct rig rig;
	nrt_tensor_t *other_x;
	unsigned int number;
	unsigned int rounds;
	NRT_STATUS status;
	float y[RIG_VALUES];
};

/*
 * A peer may read the input of this rank until it begins its next execution, so the next
 * input goes elsewhere.
 */
static NRT_STATUS swap_input(struct rank *rank)
{
	nrt_tensor_t *x = rank->rig.x;

	rank->rig.x = rank->other_x;
	rank->other_x = x;
	return nrt_add_tensor_to_tensor_set(rank->rig.inputs, "x", rank->rig.x);
}

static void *run_rank(void *arg)
{
	struct rank *rank = arg;
	float x[RIG_VALUES];
	unsigned int i;

	for (i = 0; i < rank->rounds && !rank->status; i++) {
		rig_ramp(x, 1000.0f * (float)rank->number + (float)i);
		rank->status = rig_run(&rank->rig, x, rank->y) ?: swap_input(rank);
	}
	return NULL;
}

FIXTURE(group)
{
	struct rank ranks[MAX_RANKS];
	uint32_t cores;
};

FIXTURE_VARIANT(group)
{
	unsigned int ranks;
	bool pull;
	bool spread;		/* over the machine; else on neighbouring cores */
};

FIXTURE_VARIANT_ADD(group, push_on_one_chip) {
	.ranks = 2,
};

FIXTURE_VARIANT_ADD(group, pull_on_one_chip) {
	.ranks = 2,
	.pull = true,
};

FIXTURE_VARIANT_ADD(group, push_across_chips) {
	.ranks = 2,
	.spread = true,
};

FIXTURE_VARIANT_ADD(group, pull_across_chips) {
	.ranks = 2,
	.pull = true,
	.spread = true,
};

FIXTURE_VARIANT_ADD(group, push_with_four) {
	.ranks = 4,
	.spread = true,
};

FIXTURE_SETUP(group)
{
	if (!rig_chips())
		SKIP(return, "no neuron device");
	if (variant->spread && rig_chips() < 2)
		SKIP(return, "needs two chips");
	setenv("NEURON_RT_EXEC_TIMEOUT", "2", 1);
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	ASSERT_EQ(NRT_SUCCESS, nrt_get_visible_vnc_count(&self->cores));
	if (self->cores < variant->ranks)
		SKIP(return, "needs more cores");
}

FIXTURE_TEARDOWN(group)
{
	unsigned int i;

	for (i = 0; i < MAX_RANKS; i++) {
		nrt_tensor_free(&self->ranks[i].other_x);
		rig_unload(&self->ranks[i].rig);
	}
	nrt_close();
}

static NRT_STATUS load_program(struct rank *rank, struct program program, unsigned int number,
			       int vnc, unsigned int ranks)
{
	NRT_STATUS status;

	rank->number = number;
	rank->rounds = ROUNDS;
	nrt_tensor_free(&rank->other_x);
	status = nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, vnc, PROGRAM_BYTES, "x",
				     &rank->other_x);
	return status ?: rig_load(&rank->rig, program, vnc, number, ranks);
}

static NRT_STATUS load_rank(struct rank *rank, unsigned int number, bool pull, int vnc,
			    unsigned int ranks)
{
	return load_program(rank, pull ? program_pull() : program_push(), number, vnc, ranks);
}

static NRT_STATUS run_all(struct rank *ranks, unsigned int count)
{
	NRT_STATUS status = NRT_SUCCESS;
	pthread_t threads[MAX_RANKS];
	unsigned int i;

	for (i = 0; i < count; i++) {
		ranks[i].status = NRT_SUCCESS;
		pthread_create(&threads[i], NULL, run_rank, &ranks[i]);
	}
	for (i = 0; i < count; i++) {
		pthread_join(threads[i], NULL);
		status = status ?: ranks[i].status;
	}
	return status;
}

TEST_F_TIMEOUT(group, exchange, 60)
{
	unsigned int step = variant->spread ? self->cores / variant->ranks : 1;
	unsigned int i, from, j;

	/* In any order. */
	for (i = variant->ranks; i-- > 0;)
		ASSERT_EQ(NRT_SUCCESS, load_rank(&self->ranks[i], i, variant->pull, i * step,
						 variant->ranks));
	for (j = 0; j < 2; j++) {
		ASSERT_EQ(NRT_SUCCESS, run_all(self->ranks, variant->ranks));
		for (i = 0; i < variant->ranks; i++) {
			from = (i + variant->ranks + (variant->pull ? 1 : -1)) % variant->ranks;
			EXPECT_EQ(1000.0f * from + ROUNDS - 1 + 10.5f, self->ranks[i].y[10]);
		}
	}
}

/* A system trace has how long each rank waited for the others. */
TEST_F_TIMEOUT(group, events, 60)
{
	unsigned int step = variant->spread ? self->cores / variant->ranks : 1;
	struct json_object *root, *events, *event;
	unsigned int i;
	char *text;
	size_t size;

	for (i = 0; i < variant->ranks; i++)
		ASSERT_EQ(NRT_SUCCESS, load_rank(&self->ranks[i], i, variant->pull, i * step,
						 variant->ranks));
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_start(NULL));
	ASSERT_EQ(NRT_SUCCESS, run_all(self->ranks, variant->ranks));
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_fetch_events(&text, &size, NULL));
	events = parse_events(text, &root, NULL);
	EXPECT_EQ(ROUNDS * variant->ranks, count_events(events, "cc_exec_barrier"));
	event = find_event(events, "cc_exec_barrier");
	EXPECT_EQ(0, int_of(event, "lnc_idx") % step);
	EXPECT_GT(int_of(event, "model_id"), 0);
	json_object_put(root);
	nrt_sys_trace_buffer_free(text);
	EXPECT_EQ(NRT_SUCCESS, nrt_sys_trace_stop());
}

/* Each program reads its own number. */
TEST_F_TIMEOUT(group, rank, 60)
{
	unsigned int step = variant->spread ? self->cores / variant->ranks : 1;
	uint32_t rank;
	unsigned int i;

	for (i = 0; i < variant->ranks; i++)
		ASSERT_EQ(NRT_SUCCESS, load_program(&self->ranks[i], program_rank(), i, i * step,
						    variant->ranks));
	ASSERT_EQ(NRT_SUCCESS, run_all(self->ranks, variant->ranks));
	for (i = 0; i < variant->ranks; i++) {
		memcpy(&rank, self->ranks[i].y, sizeof(rank));
		EXPECT_EQ(i, rank);
	}
}

/* The failure of one rank does not spoil the next round of all. */
TEST_F_TIMEOUT(group, recovers, 120)
{
	unsigned int step = variant->spread ? self->cores / variant->ranks : 1;
	unsigned int i;

	for (i = 0; i < variant->ranks; i++)
		ASSERT_EQ(NRT_SUCCESS, load_rank(&self->ranks[i], i, variant->pull, i * step,
						 variant->ranks));
	ASSERT_EQ(NRT_SUCCESS, run_all(self->ranks, variant->ranks));
	self->ranks[0].rounds = 1;
	rig_catch();
	EXPECT_EQ(NRT_TIMEOUT, run_all(self->ranks, 1));
	EXPECT_TRUE(rig_has(rig_caught(), variant->pull ? "was not executed" : "no progress"));
	self->ranks[0].rounds = ROUNDS;
	EXPECT_EQ(NRT_SUCCESS, run_all(self->ranks, variant->ranks));
}

/* Ranks that write to the same bytes do not wait for each other's end. */
TEST_F_TIMEOUT(group, one_output_for_all, 60)
{
	nrt_tensor_t *y;
	unsigned int i;

#ifdef __SANITIZE_THREAD__
	SKIP(return, "the race is the point of this test");
#endif
	/* The tensor is on one chip. */
	if (variant->spread)
		SKIP(return, "the ranks are on several chips");
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, PROGRAM_BYTES,
						   "y", &y));
	for (i = 0; i < variant->ranks; i++) {
		ASSERT_EQ(NRT_SUCCESS, load_rank(&self->ranks[i], i, variant->pull, i,
						 variant->ranks));
		ASSERT_EQ(NRT_SUCCESS, nrt_add_tensor_to_tensor_set(self->ranks[i].rig.outputs,
								    "y", y));
	}
	EXPECT_EQ(NRT_SUCCESS, run_all(self->ranks, variant->ranks));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_read(y, self->ranks[0].y, 0, PROGRAM_BYTES));
	/* Of one of the two, whichever was last. */
	EXPECT_TRUE(self->ranks[0].y[10] == ROUNDS - 1 + 10.5f ||
		    self->ranks[0].y[10] == 1000.0f + ROUNDS - 1 + 10.5f);
	nrt_tensor_free(&y);
}

TEST_F_TIMEOUT(group, missing_rank, 60)
{
	ASSERT_EQ(NRT_SUCCESS, load_rank(&self->ranks[0], 0, variant->pull, 0, variant->ranks));
	rig_catch();
	EXPECT_EQ(NRT_TIMEOUT, run_all(self->ranks, 1));
	EXPECT_TRUE(rig_has(rig_caught(), "rank 1, which is not loaded"));
}

TEST_HARNESS_MAIN
