// SPDX-License-Identifier: MIT
/*
 * Models with as many collectives, and with as many windows, as there can be: they load, and give
 * the right results. How long that takes is printed. Two ranks are threads.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kselftest_harness.h"

#include "must.h"
#include "neuron/neff.h"
#include "rig.h"

#define LIMIT_S		300
#define RANKS		2
#define LISTS		473

/**
 * struct limit_rank - a rank
 * @program: what it loads; then libnrt has it
 * @load_s: how long that took
 */
struct limit_rank {
	struct rig rig;
	pthread_t thread;
	struct program program;
	unsigned int number;
	int vnc;
	NRT_STATUS status;
	size_t wrong;
	double load_s;
};

FIXTURE(limits)
{
	struct limit_rank ranks[RANKS];
	uint32_t cores;
};

FIXTURE_SETUP(limits)
{
	setenv("NEURON_RT_EXEC_TIMEOUT", "120", 1);
	memset(self, 0, sizeof(*self));
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	ASSERT_EQ(NRT_SUCCESS, nrt_get_visible_vnc_count(&self->cores));
}

FIXTURE_TEARDOWN(limits)
{
	nrt_close();
}

static double now_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void *load(void *arg)
{
	struct limit_rank *rank = arg;
	double begin = now_s();

	rank->status = nrt_cc_global_comm_init(rank->vnc, rank->number, RANKS) ?:
		       rig_load(&rank->rig, rank->program, rank->vnc, rank->number, RANKS);
	rank->load_s = now_s() - begin;
	return NULL;
}

static void *execute(void *arg)
{
	struct limit_rank *rank = arg;
	float x[RIG_VALUES], y[RIG_VALUES];
	size_t i;

	for (i = 0; i < RIG_VALUES; i++)
		x[i] = rig_value(rank->number, i, 0);
	rank->status = rig_run(&rank->rig, x, y);
	for (rank->wrong = 0, i = 0; i < RIG_VALUES && !rank->status; i++)
		rank->wrong += y[i] != rig_sum(0, RANKS, i, 0);
	return NULL;
}

static void in_threads(struct limit_rank *ranks, void *(*run)(void *arg))
{
	unsigned int i;

	for (i = 0; i < RANKS; i++)
		must_start(&ranks[i].thread, run, &ranks[i]);
	for (i = 0; i < RANKS; i++)
		pthread_join(ranks[i].thread, NULL);
}

/* Load @programs, which are alike, on the ranks, and execute them. Seconds that the load took. */
static double run(struct __test_metadata *_metadata, struct limit_rank *ranks, uint32_t cores,
		  const struct program programs[RANKS])
{
	unsigned int i;

	for (i = 0; i < RANKS; i++)
		ranks[i] = (struct limit_rank){
			.program = programs[i], .number = i, .vnc = (int)(i * cores / RANKS),
		};
	in_threads(ranks, load);
	for (i = 0; i < RANKS; i++)
		EXPECT_EQ(NRT_SUCCESS, ranks[i].status);
	in_threads(ranks, execute);
	for (i = 0; i < RANKS; i++) {
		EXPECT_EQ(NRT_SUCCESS, ranks[i].status);
		EXPECT_EQ(0, ranks[i].wrong);
		rig_unload(&ranks[i].rig);
	}
	return ranks[0].load_s;
}

/* Also how the time of a load grows with the number of collectives. */
TEST_F_TIMEOUT(limits, collectives, LIMIT_S)
{
	static const unsigned int nr[] = { NEFF_MAX_COLLECTIVES / 4, NEFF_MAX_COLLECTIVES };
	struct program programs[RANKS];
	unsigned int i, k;
	double load_s;

	for (i = 0; i < sizeof(nr) / sizeof(nr[0]); i++) {
		for (k = 0; k < RANKS; k++)
			programs[k] = program_more_collectives(RANKS, nr[i]);
		load_s = run(_metadata, self->ranks, self->cores, programs);
		TH_LOG("%u collectives: loaded in %.3f s", nr[i], load_s);
	}
}

/* 3 + 473 * 11 + 2 * (473 * 64 - 108) are 65534. */
TEST_F_TIMEOUT(limits, windows, LIMIT_S)
{
	struct program programs[RANKS];
	unsigned int k;
	double load_s;

	for (k = 0; k < RANKS; k++)
		programs[k] = program_many_lists(LISTS, 108);
	load_s = run(_metadata, self->ranks, self->cores, programs);
	TH_LOG("%u lists: loaded in %.3f s", LISTS, load_s);
}

TEST_HARNESS_MAIN
