// SPDX-License-Identifier: MIT
/*
 * What the ranks of a team say of their collectives: how often they meet for that, and what is kept
 * of it. The world is one in which all other ranks do as this one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "comm/cc_offer.h"

#define RANKS	32
#define ME	5
#define ITEMS	(2 * NEFF_MAX_COLLECTIVES)

/* A pair and the whole team, by turns. */
#define SIZES	(2 + RANKS)

static unsigned int nr_meetings;
static bool at_execution;

/**
 * struct rig - a rank with items
 * @ranks: of the team
 * @pair, @all: places of the ranks of the two groups, in their order
 */
struct rig {
	struct nrt_cc_team team;
	uint32_t ranks[RANKS];
	struct nrt_cc_peer pair[2];
	struct nrt_cc_peer all[RANKS];
	struct nrt_cc_links links[2];
	struct nrt_cc_offers offers;
};

/* What a rank says of an item is told apart by @count. */
static uint64_t told(unsigned int item, uint32_t rank)
{
	return (uint64_t)item * RANKS + rank;
}

static void tell(struct nrt_cc_agreement *items, unsigned int nr, uint32_t rank)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		items[i].count += (uint64_t)rank - ME;
}

NRT_STATUS nrt_world_gather(struct nrt_world *world, struct nrt_gather *gather,
			    struct nrt_error *error)
{
	uint32_t rank;

	(void)world;
	(void)error;
	nr_meetings++;
	for (rank = 0; rank < gather->count; rank++) {
		char *said = (char *)gather->output + rank * gather->size;

		memcpy(said, gather->input, gather->size);
		if (gather->size != sizeof(struct nrt_cc_offer))
			tell((struct nrt_cc_agreement *)said,
			     gather->size / sizeof(struct nrt_cc_agreement), rank);
		else if (at_execution)
			tell(((struct nrt_cc_offer *)said)->first, NRT_CC_FIRST_ITEMS, rank);
	}
	return NRT_SUCCESS;
}

void nrt_cc_name(char name[NRT_CC_NAME], const char *what, const uint32_t *ranks, uint32_t nr)
{
	(void)what;
	(void)ranks;
	(void)nr;
	name[0] = '\0';
}

static void set_up(struct rig *rig, unsigned int nr)
{
	struct nrt_error error;
	unsigned int i;

	memset(rig, 0, sizeof(*rig));
	for (i = 0; i < RANKS; i++) {
		rig->ranks[i] = i;
		rig->all[i].place = RANKS - 1 - i;
	}
	rig->pair[0].place = ME;
	rig->pair[1].place = RANKS - 1;
	rig->links[0] = (struct nrt_cc_links){ .nr = 2, .peers = rig->pair };
	rig->links[1] = (struct nrt_cc_links){ .nr = RANKS, .peers = rig->all };
	rig->team = (struct nrt_cc_team){ .ranks = rig->ranks, .nr = RANKS, .me = ME };
	assert_int_equal(nrt_cc_offers_init(&rig->offers, &rig->team, nr, &error), NRT_SUCCESS);
	nrt_cc_offers_mine(&rig->offers)->nr = nr;
	for (i = 0; i < nr; i++) {
		rig->offers.mine[i].count = told(i, ME);
		rig->offers.links[i] = &rig->links[i % 2];
	}
}

/* The meetings that @nr items need. */
static unsigned int meet(unsigned int nr, enum nrt_cc_when when)
{
	struct nrt_error error;
	struct rig rig;
	unsigned int i, k;
	bool agreed;

	set_up(&rig, nr);
	nr_meetings = 0;
	at_execution = when == NRT_CC_AT_EXECUTION;
	assert_int_equal(nrt_cc_offers_meet(&rig.offers, when, &agreed, &error), NRT_SUCCESS);
	assert_true(agreed);
	for (i = 0; i < nr; i++) {
		const struct nrt_cc_agreement *said = nrt_cc_offers_of(&rig.offers, i);
		const struct nrt_cc_links *links = &rig.links[i % 2];

		for (k = 0; k < links->nr; k++)
			assert_int_equal(said[k].count, told(i, links->peers[k].place));
	}
	/* What is kept lies in a row, and is of the groups alone. */
	if (nr)
		assert_int_equal(rig.offers.at[nr - 1] + rig.links[(nr - 1) % 2].nr,
				 nr / 2 * SIZES + nr % 2 * 2);
	nrt_cc_offers_free(&rig.offers);
	return nr_meetings;
}

/* Few collectives need one meeting before an execution. */
static void few_meet_once(void **state)
{
	(void)state;
	assert_int_equal(meet(1, NRT_CC_AT_EXECUTION), 1);
	assert_int_equal(meet(NRT_CC_FIRST_ITEMS, NRT_CC_AT_EXECUTION), 1);
	assert_int_equal(meet(NRT_CC_FIRST_ITEMS + 1, NRT_CC_AT_EXECUTION), 2);
	assert_int_equal(meet(0, NRT_CC_AT_EXECUTION), 1);
	assert_int_equal(meet(0, NRT_CC_AT_LOAD), 1);
	assert_int_equal(meet(1, NRT_CC_AT_LOAD), 2);
}

/* As many as a model can have come in pieces, the last of which is shorter. */
static void many_come_in_pieces(void **state)
{
	(void)state;
	assert_in_range(meet(ITEMS, NRT_CC_AT_LOAD), 3, ITEMS / 2);
	assert_in_range(meet(ITEMS - 1, NRT_CC_AT_EXECUTION), 3, ITEMS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_meet_once),
		cmocka_unit_test(many_come_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
