// SPDX-License-Identifier: MIT
/*
 * Plans of collectives: what a request may be, and that every post has its wait.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "neuron/isa.h"
#include "plan/plan.h"

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

/* A request that makes no sense has a line that says why. */
static void test_refused(void **state)
{
	const struct nrt_plan_ask good = {
		.op = NRT_PLAN_ALL_REDUCE, .reduce = NRT_PLAN_ADD, .dtype = NEURON_DTYPE_BF16,
		.count = 10, .nr_ranks = 6,
	};
	struct nrt_plan_ask bad[6] = { good, good, good, good, good, good };
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
	for (i = 0; i < 6; i++) {
		error.text[0] = 0;
		assert_int_equal(nrt_plan_make(&bad[i], &plan, &error), NRT_INVALID);
		assert_true(strlen(error.text) > 10);
	}
	assert_int_equal(nrt_plan_make(&good, &plan, &error), NRT_SUCCESS);
	nrt_plan_free(plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_balance),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests_name("nrt_plan", tests, NULL, NULL);
}
