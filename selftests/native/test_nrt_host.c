// SPDX-License-Identifier: MIT
/*
 * Ranks that are threads meet, and one that waits in vain does so for its limit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "base/clock.h"
#include "comm/host.h"

#define RANKS	3
#define MS	1000000u

struct rank {
	struct nrt_meetings *meetings;
	pthread_t thread;
	uint32_t number;
	uint32_t all[RANKS];
	NRT_STATUS status;
};

static struct nrt_gather gather_of(struct rank *rank, uint32_t timeout_ms)
{
	return (struct nrt_gather){
		.what = "a test", .rank = rank->number, .count = RANKS,
		.size = sizeof(rank->number), .input = &rank->number, .output = rank->all,
		.timeout_ms = timeout_ms,
	};
}

static void *meet(void *arg)
{
	struct rank *rank = arg;
	const struct nrt_gather gather = gather_of(rank, 0);
	struct nrt_error error;

	rank->status = nrt_gather(rank->meetings, &gather, &error);
	return NULL;
}

static void all_meet(void **state)
{
	struct nrt_meetings meetings;
	struct rank ranks[RANKS];
	uint32_t i, k;

	(void)state;
	nrt_meetings_init(&meetings);
	for (i = 0; i < RANKS; i++) {
		ranks[i] = (struct rank){ .meetings = &meetings, .number = i };
		pthread_create(&ranks[i].thread, NULL, meet, &ranks[i]);
	}
	for (i = 0; i < RANKS; i++) {
		pthread_join(ranks[i].thread, NULL);
		assert_int_equal(ranks[i].status, NRT_SUCCESS);
		for (k = 0; k < RANKS; k++)
			assert_int_equal(ranks[i].all[k], k);
	}
	nrt_meetings_fini(&meetings);
}

/* A limit need not be whole seconds. */
static void one_waits(void **state)
{
	static const struct { uint32_t ms; const char *text; } limits[] = {
		{ 20, "waited 0.02 s for rank 0;" },
		{ 1300, "waited 1.3 s for rank 0;" },
	};
	struct nrt_meetings meetings;
	struct rank rank = { .number = 1 };
	struct nrt_error error;
	struct nrt_gather gather;
	uint64_t begin;
	unsigned int i;

	(void)state;
	nrt_meetings_init(&meetings);
	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		gather = gather_of(&rank, limits[i].ms);
		begin = nrt_clock_now();
		assert_int_equal(nrt_gather(&meetings, &gather, &error), NRT_TIMEOUT);
		assert_true(nrt_clock_now() - begin >= (uint64_t)limits[i].ms * MS);
		assert_non_null(strstr(error.text, limits[i].text));
	}
	nrt_meetings_fini(&meetings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_meet),
		cmocka_unit_test(one_waits),
	};

	return cmocka_run_group_tests_name("nrt_host", tests, NULL, NULL);
}
