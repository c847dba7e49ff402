// SPDX-License-Identifier: MIT
/*
 * Plans of collectives: what a request may be, and that every post has its wait.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "neuron/isa.h"
#include "plan/check.h"
#include "plan/plan.h"
#include "plan/print.h"

#define MAX	16

/* Posts of all ranks minus what all ranks take, for each semaphore. */
static void check_balance(const struct nrt_plan *plan)
{
	static int64_t left[MAX][NRT_PLAN_MAX_SEMS];
	struct nrt_plan_program program;
	struct nrt_error error;
	unsigned int rank, i;
	size_t s;

	memset(left, 0, sizeof(left));
	for (rank = 0; rank < plan->nr_ranks; rank++) {
		assert_int_equal(nrt_plan_program(plan, rank, &program, &error), NRT_SUCCESS);
		for (s = 0; s < program.nr_steps; s++) {
			const struct nrt_plan_step *step = &program.steps[s];

			for (i = 0; i < step->nr_wait; i++)
				left[rank][nrt_plan_waits(&program, step)[i].sem] -=
					nrt_plan_waits(&program, step)[i].value;
			for (i = 0; i < step->nr_post; i++) {
				const struct nrt_plan_sync *post =
					&nrt_plan_posts(&program, step)[i];

				left[post->rank][post->sem] += post->value;
			}
		}
		nrt_plan_program_fini(&program);
	}
	for (rank = 0; rank < plan->nr_ranks; rank++)
		for (i = 0; i < NRT_PLAN_MAX_SEMS; i++)
			assert_int_equal(left[rank][i], 0);
}

/* The check finds nothing: semaphores, queues and bytes are what they may be. */
static void check_programs(const struct nrt_plan *plan)
{
	static struct nrt_plan_program programs[NRT_PLAN_MAX_RANKS];
	struct nrt_error error;
	unsigned int r;

	for (r = 0; r < plan->nr_ranks; r++)
		assert_int_equal(nrt_plan_program(plan, r, &programs[r], &error), NRT_SUCCESS);
	if (nrt_plan_check(plan, programs, &error))
		fail_msg("%s", error.text);
	for (r = 0; r < plan->nr_ranks; r++)
		nrt_plan_program_fini(&programs[r]);
}

static void test_balance(void **state)
{
	static const char * const algorithms[] = { "ring", "mesh", "mesh1", "rdh" };
	struct nrt_plan_ask ask = {
		.op = NRT_PLAN_ALL_REDUCE, .reduce = NRT_PLAN_ADD, .dtype = NEURON_DTYPE_FP32,
		.count = 1001,
	};
	struct nrt_error error;
	struct nrt_plan *plan;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(algorithms) / sizeof(algorithms[0]); i++) {
		ask.algorithm = algorithms[i];
		for (ask.nr_ranks = 1; ask.nr_ranks <= MAX; ask.nr_ranks *= 2) {
			assert_int_equal(nrt_plan_make(&ask, &plan, &error), NRT_SUCCESS);
			check_balance(plan);
			nrt_plan_free(plan);
		}
	}
}

static void expect_refusal(const struct nrt_plan_ask *ask, const char *text)
{
	struct nrt_error error = { .status = NRT_SUCCESS };
	struct nrt_plan *plan;

	assert_int_equal(nrt_plan_make(ask, &plan, &error), NRT_INVALID);
	assert_string_equal(error.text, text);
}

/* A request that makes no sense has a line that says why. */
static void test_refused(void **state)
{
	static const char *const texts[7] = {
		"all_reduce: a group has 1 to 256 ranks, and this one 257",
		"all_reduce: type int64 can only be copied",
		"all_reduce needs a reduction: add, min or max",
		"all_reduce of 6 ranks cannot be done by rdh: the ranks are no power of two",
		"the algorithm \"quick\" is unknown: ring, mesh, mesh1, kangaring, rdh, hier, hier:INTRA+INTER or chip:INTRA+INTER",
		"all_reduce: priority 4 is not one of 0 to 3",
		"all_reduce: stream 4 is not one of 0 to 3",
	};
	const struct nrt_plan_ask good = {
		.op = NRT_PLAN_ALL_REDUCE, .reduce = NRT_PLAN_ADD, .dtype = NEURON_DTYPE_BF16,
		.count = 10, .nr_ranks = 6,
	};
	struct nrt_plan_ask bad[7] = { good, good, good, good, good, good, good };
	struct nrt_error error;
	struct nrt_plan *plan;
	unsigned int i;

	(void)state;
	bad[0].nr_ranks = NRT_PLAN_MAX_RANKS + 1;
	bad[1].dtype = NEURON_DTYPE_INT64;
	bad[2].reduce = NRT_PLAN_REDUCE_NONE;
	bad[3].algorithm = "rdh";
	bad[4].algorithm = "quick";
	bad[5].priority = NRT_PLAN_PRIORITIES;
	bad[6].stream = NRT_PLAN_STREAMS;
	for (i = 0; i < 7; i++)
		expect_refusal(&bad[i], texts[i]);
	assert_int_equal(nrt_plan_make(&good, &plan, &error), NRT_SUCCESS);
	nrt_plan_free(plan);
}

/* The plan on @stream as text, for free(). */
static char *plan_text(uint8_t stream)
{
	const struct nrt_plan_ask ask = {
		.op = NRT_PLAN_ALL_REDUCE, .reduce = NRT_PLAN_ADD, .dtype = NEURON_DTYPE_FP32,
		.count = 10, .nr_ranks = 2, .algorithm = "ring", .stream = stream,
	};
	struct nrt_plan_program program;
	struct nrt_error error;
	struct nrt_plan *plan;
	size_t size;
	char *text;
	FILE *file = open_memstream(&text, &size);

	assert_non_null(file);
	assert_int_equal(nrt_plan_make(&ask, &plan, &error), NRT_SUCCESS);
	assert_int_equal(nrt_plan_program(plan, 1, &program, &error), NRT_SUCCESS);
	nrt_plan_print(file, plan);
	nrt_plan_print_program(file, plan, &program);
	fclose(file);
	nrt_plan_program_fini(&program);
	nrt_plan_free(plan);
	return text;
}

/* The first line names a stream but the usual one. The rest is the same on all. */
static void test_stream(void **state)
{
	char *usual = plan_text(0), *other = plan_text(3);
	const char *end = strchr(usual, '\n'), *end_of_other = strchr(other, '\n');

	(void)state;
	assert_null(strstr(usual, "stream"));
	assert_int_equal(strncmp(end_of_other - strlen(", stream 3"), ", stream 3\n",
				 strlen(", stream 3\n")), 0);
	assert_int_equal(strncmp(usual, other, end - usual), 0);
	assert_string_equal(end, end_of_other);
	free(usual);
	free(other);
}

/* Ranks that do not lie as an algorithm needs it: it says what is wrong with their places. */
static void test_topology_refused(void **state)
{
	/* Servers 0 and 1; the first one has a rank more. On chip 2 of server 0 are two ranks. */
	static const struct nrt_plan_place uneven[] = {
		{ 0, 0, 0 }, { 0, 2, 0 }, { 0, 2, 1 }, { 1, 0, 0 }, { 1, 1, 0 },
	};
	/* Each server has two ranks, but their order goes to and fro. */
	static const struct nrt_plan_place mixed[] = {
		{ 0, 0, 0 }, { 1, 0, 0 }, { 1, 1, 0 }, { 0, 1, 0 },
	};
	static const struct {
		const struct nrt_plan_place *places;
		unsigned int nr_ranks;
		enum nrt_plan_op op;
		const char *algorithm;
		const char *text;
	} cases[] = {
		{ uneven, 5, NRT_PLAN_ALL_REDUCE, "hier",
		  "all_reduce of 5 ranks cannot be done by hier: the groups of ranks differ in size, or their order is not regular",
		},
		{ mixed, 4, NRT_PLAN_ALL_GATHER, "hier:mesh+ring",
		  "all_gather of 4 ranks cannot be done by hier:mesh+ring: the groups of ranks differ in size, or their order is not regular",
		},
		{ uneven, 3, NRT_PLAN_ALL_REDUCE, "hier",
		  "all_reduce of 3 ranks cannot be done by hier: there are no two levels" },
		{ uneven, 4, NRT_PLAN_ALL_REDUCE, "kangaring",
		  "all_reduce of 4 ranks cannot be done by kangaring: the ranks are not pairs on one chip",
		},
		{ mixed, 4, NRT_PLAN_ALL_GATHER, "mesh1",
		  "all_gather of 4 ranks cannot be done by mesh1: it is for all_reduce" },
		{ mixed, 4, NRT_PLAN_ALL_TO_ALL, "ring",
		  "alltoall of 4 ranks cannot be done by ring: all of its blocks have one sender and one receiver: mesh",
		},
	};
	struct nrt_plan_ask ask = {
		.reduce = NRT_PLAN_ADD, .dtype = NEURON_DTYPE_FP32, .count = 64,
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ask.op = cases[i].op;
		ask.reduce = ask.op == NRT_PLAN_ALL_REDUCE ? NRT_PLAN_ADD : NRT_PLAN_REDUCE_NONE;
		ask.places = cases[i].places;
		ask.nr_ranks = cases[i].nr_ranks;
		ask.algorithm = cases[i].algorithm;
		expect_refusal(&ask, cases[i].text);
	}
}

/* Ranks of one choice: servers, chips of each, ranks of a chip. */
struct choice {
	enum nrt_plan_topology topology;
	unsigned int servers;
	unsigned int chips;
	unsigned int cores;
	uint64_t kib;
	const char *name;
};

static void check_choice(const struct choice *choice)
{
	struct nrt_plan_place places[NRT_PLAN_MAX_RANKS];
	const unsigned int of_server = choice->chips * choice->cores;
	struct nrt_plan_ask ask = {
		.op = NRT_PLAN_ALL_REDUCE, .reduce = NRT_PLAN_ADD, .dtype = NEURON_DTYPE_FP32,
		.count = choice->kib * 1024 / 4, .nr_ranks = choice->servers * of_server,
		.places = places, .topology = choice->topology,
	};
	char name[32];
	struct nrt_error error;
	struct nrt_plan *plan;
	unsigned int i;

	for (i = 0; i < ask.nr_ranks; i++)
		places[i] = (struct nrt_plan_place){
			.server = (uint16_t)(i / of_server),
			.chip = (uint16_t)(i % of_server / choice->cores),
			.core = (uint16_t)(i % choice->cores),
		};
	assert_int_equal(nrt_plan_make(&ask, &plan, &error), NRT_SUCCESS);
	assert_string_equal(nrt_plan_choice_name(&plan->choice, name), choice->name);
	check_programs(plan);
	nrt_plan_free(plan);
}

/* The table of the manual. */
static void test_choices(void **state)
{
	static const struct choice choices[] = {
		{ NRT_PLAN_TORUS2D, 1, 16, 1, 8, "mesh1" },
		{ NRT_PLAN_TORUS2D, 1, 16, 1, 512, "mesh" },
		{ NRT_PLAN_TORUS2D, 1, 16, 4, 1024, "chip:mesh+mesh" },
		{ NRT_PLAN_TORUS2D, 1, 16, 4, 4096, "chip:mesh+rdh" },
		{ NRT_PLAN_TORUS2D, 1, 16, 1, 4096, "rdh" },
		{ NRT_PLAN_TORUS2D, 1, 16, 4, 32768, "kangaring" },
		{ NRT_PLAN_TORUS2D, 1, 16, 1, 32768, "ring" },
		/* Servers of one fabric have no plans for servers without one. */
		{ NRT_PLAN_TORUS3D, 4, 16, 1, 4096, "rdh" },
		{ NRT_PLAN_LINE, 3, 16, 1, 4096, "ring" },
		{ NRT_PLAN_ANY, 4, 16, 1, 4096, "hier:ring+ring" },
		/* No power of two. */
		{ NRT_PLAN_SWITCH, 36, 4, 1, 128, "mesh" },
		{ NRT_PLAN_SWITCH, 36, 4, 1, 400, "hier:mesh+mesh" },
		{ NRT_PLAN_SWITCH, 36, 4, 1, 16384, "hier:mesh+mesh" },
		{ NRT_PLAN_SWITCH, 36, 4, 1, 32768, "ring" },
		{ NRT_PLAN_SWITCH, 9, 4, 1, 400, "mesh" },
		{ NRT_PLAN_SWITCH, 9, 4, 1, 4096, "hier:mesh+mesh" },
		{ NRT_PLAN_SWITCH, 1, 48, 1, 400, "mesh" },
		{ NRT_PLAN_SWITCH, 1, 48, 1, 2048, "ring" },
		{ NRT_PLAN_LINE, 1, 12, 2, 1025, "kangaring" },
		{ NRT_PLAN_SWITCH, 4, 16, 1, 400, "rdh" },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
		check_choice(&choices[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_choices),
		cmocka_unit_test(test_balance),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_stream),
		cmocka_unit_test(test_topology_refused),
	};

	return cmocka_run_group_tests_name("nrt_plan", tests, NULL, NULL);
}
