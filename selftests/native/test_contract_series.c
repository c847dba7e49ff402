// SPDX-License-Identifier: MIT
/*
 * Series of time groups: who is a member of which group, which groups lack one, and what somebody
 * who means harm can do to the others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "contract/series.h"

#define MEMBERS	3u
#define FINE	NEURON_SETTLE_FINE
#define ENDED	NEURON_SETTLE_ENDED
#define OVERFLOW	NEURON_SETTLE_OVERFLOW

/* A series, and a holder for each member. */
struct rig {
	struct neuron_series_state series;
	struct neuron_series_member member[MEMBERS];
	uint32_t holder[MEMBERS];
};

static void begin(struct rig *rig)
{
	unsigned int i;

	memset(rig, 0, sizeof(*rig));
	neuron_series_begin(&rig->series, MEMBERS, rig->member, 4711);
	for (i = 0; i < MEMBERS; i++)
		rig->holder[i] = neuron_series_hold(&rig->series);
}

static enum neuron_settle_cause come(struct rig *rig, uint32_t index, uint64_t sequence)
{
	struct neuron_series_place place;

	assert_null(neuron_series_come(&rig->series, rig->holder[index], index, sequence, &place));
	assert_false(place.taken);
	neuron_series_skip(&rig->series, place.before, sequence);
	return place.alone;
}

static void assert_refused(struct rig *rig, uint32_t index, uint64_t sequence)
{
	const struct rig before = *rig;
	struct neuron_series_place place;

	assert_non_null(neuron_series_come(&rig->series, rig->holder[0], index, sequence, &place));
	assert_memory_equal(&before, rig, sizeof(before));
}

static void members_come_in_order(void **state)
{
	struct rig rig;
	uint64_t sequence;

	(void)state;
	begin(&rig);
	for (sequence = 1; sequence < 1000; sequence++) {
		assert_int_equal(FINE, come(&rig, 2, sequence));
		assert_int_equal(FINE, come(&rig, 0, sequence));
		assert_int_equal(FINE, come(&rig, 1, sequence));
	}
	assert_false(neuron_series_lacks(&rig.series, 999));
}

static void what_is_refused(void **state)
{
	struct rig rig;

	(void)state;
	begin(&rig);
	assert_refused(&rig, MEMBERS, 1);
	assert_refused(&rig, UINT32_MAX, 1);
	assert_refused(&rig, 0, 0);
	assert_refused(&rig, 0, NEURON_SERIES_STEP + 1);
	assert_refused(&rig, 0, UINT64_MAX);
	assert_int_equal(FINE, come(&rig, 0, 2));
	assert_refused(&rig, 0, 2);
	assert_refused(&rig, 0, 1);
	assert_int_equal(FINE, come(&rig, 0, 2 + NEURON_SERIES_STEP));
}

/* Numbers are not those of another series, and no group of one has that of another. */
static void numbers_differ(void **state)
{
	struct neuron_series_state other;
	struct rig rig;
	uint64_t i, j;

	(void)state;
	begin(&rig);
	neuron_series_begin(&other, MEMBERS, rig.member, 4712);
	for (i = 0; i < 100; i++) {
		assert_true(neuron_series_number(&rig.series, i));
		for (j = 0; j < 100; j++) {
			assert_true(neuron_series_number(&rig.series, i) !=
				    neuron_series_number(&other, j));
			assert_true(i == j || neuron_series_number(&rig.series, i) !=
						      neuron_series_number(&rig.series, j));
		}
	}
}

/* The one secret of all whose first group would have the number 0, which is none. */
static void no_number_is_zero(void **state)
{
	struct rig rig;

	(void)state;
	begin(&rig);
	rig.series.secret = 0 - 0x9e3779b97f4a7c15ull;
	assert_int_equal(1, neuron_series_number(&rig.series, 1));
}

static void groups_that_are_left_out(void **state)
{
	struct rig rig;

	(void)state;
	begin(&rig);
	assert_int_equal(FINE, come(&rig, 0, 3));
	assert_true(neuron_series_lacks(&rig.series, 1));
	assert_true(neuron_series_lacks(&rig.series, 2));
	assert_false(neuron_series_lacks(&rig.series, 3));
	assert_int_equal(ENDED, come(&rig, 1, 1));
	assert_int_equal(ENDED, come(&rig, 1, 2));
	assert_int_equal(FINE, come(&rig, 1, 3));
}

/* Somebody who is far behind finds nobody. */
static void far_behind(void **state)
{
	struct rig rig;
	uint64_t sequence;

	(void)state;
	begin(&rig);
	for (sequence = 1; sequence <= NEURON_SERIES_AHEAD + 2; sequence++)
		assert_int_equal(FINE, come(&rig, 0, sequence));
	assert_int_equal(OVERFLOW, come(&rig, 1, 1));
	assert_int_equal(FINE, come(&rig, 1, 2));
}

/* What all have come to stays whole, and so does what the one that leaves has come to. */
static void somebody_leaves(void **state)
{
	struct rig rig;

	(void)state;
	begin(&rig);
	come(&rig, 0, 1);
	come(&rig, 1, 1);
	come(&rig, 2, 1);
	come(&rig, 0, 2);
	neuron_series_leave(&rig.series, rig.holder[0]);
	assert_false(neuron_series_lacks(&rig.series, 2));
	assert_true(neuron_series_lacks(&rig.series, 3));
	assert_int_equal(FINE, come(&rig, 1, 2));
	neuron_series_leave(&rig.series, rig.holder[2]);
	assert_false(neuron_series_lacks(&rig.series, 1));
	assert_true(neuron_series_lacks(&rig.series, 2));
	assert_int_equal(ENDED, come(&rig, 1, 3));
	/* Nobody can make that good again. */
	come(&rig, 2, 2);
	neuron_series_leave(&rig.series, rig.holder[1]);
	assert_true(neuron_series_lacks(&rig.series, 2));
}

/* Whoever is no member may leave when all members are somebody, and not before. */
static void stranger_leaves(void **state)
{
	uint32_t stranger;
	struct rig rig;

	(void)state;
	begin(&rig);
	stranger = neuron_series_hold(&rig.series);
	come(&rig, 0, 1);
	come(&rig, 1, 1);
	come(&rig, 2, 1);
	neuron_series_leave(&rig.series, stranger);
	assert_false(neuron_series_lacks(&rig.series, 2));
	begin(&rig);
	stranger = neuron_series_hold(&rig.series);
	come(&rig, 0, 1);
	come(&rig, 2, 1);
	neuron_series_leave(&rig.series, stranger);
	assert_true(neuron_series_lacks(&rig.series, 1));
}

/* A handle that is refused is no member: another one can be it. */
static void place_is_free_again(void **state)
{
	struct neuron_series_place place;
	struct rig rig, before;

	(void)state;
	begin(&rig);
	before = rig;
	assert_null(neuron_series_come(&rig.series, rig.holder[1], 0, 900, &place));
	neuron_series_uncome(&rig.series, 0, 900, &place);
	assert_memory_equal(&before, &rig, sizeof(before));
	assert_int_equal(FINE, come(&rig, 0, 1));
	/* One that was the member before stays it. */
	assert_null(neuron_series_come(&rig.series, rig.holder[0], 0, 2, &place));
	neuron_series_uncome(&rig.series, 0, 2, &place);
	assert_null(neuron_series_come(&rig.series, rig.holder[1], 0, 2, &place));
	assert_true(place.taken);
}

/* Groups that a submission leaves out lack it, also when the submission itself is refused. */
static void left_out_and_taken_back(void **state)
{
	struct neuron_series_place place, later;
	struct rig rig;

	(void)state;
	begin(&rig);
	come(&rig, 0, 3);
	assert_null(neuron_series_come(&rig.series, rig.holder[0], 0, 5, &place));
	assert_null(neuron_series_come(&rig.series, rig.holder[0], 0, 6, &later));
	neuron_series_skip(&rig.series, later.before, 6);
	neuron_series_uncome(&rig.series, 0, 5, &place);
	assert_false(neuron_series_lacks(&rig.series, 3));
	assert_true(neuron_series_lacks(&rig.series, 4));
	assert_true(neuron_series_lacks(&rig.series, 5));
	assert_false(neuron_series_lacks(&rig.series, 6));
}

/* The holder leaves between the submission and its refusal. */
static void leaves_and_is_taken_back(void **state)
{
	struct neuron_series_place place;
	struct rig rig;

	(void)state;
	begin(&rig);
	come(&rig, 0, 1);
	come(&rig, 1, 1);
	come(&rig, 2, 1);
	assert_null(neuron_series_come(&rig.series, rig.holder[0], 0, 2, &place));
	neuron_series_leave(&rig.series, rig.holder[0]);
	assert_false(neuron_series_lacks(&rig.series, 2));
	neuron_series_uncome(&rig.series, 0, 2, &place);
	assert_false(neuron_series_lacks(&rig.series, 1));
	assert_true(neuron_series_lacks(&rig.series, 2));
}

static void what_is_taken_back(void **state)
{
	struct neuron_series_place place, later;
	struct rig rig;

	(void)state;
	begin(&rig);
	assert_null(neuron_series_come(&rig.series, rig.holder[0], 0, 1, &place));
	neuron_series_uncome(&rig.series, 0, 1, &place);
	assert_false(neuron_series_lacks(&rig.series, 1));
	assert_null(neuron_series_come(&rig.series, rig.holder[0], 0, 1, &place));
	assert_null(neuron_series_come(&rig.series, rig.holder[0], 0, 2, &later));
	neuron_series_uncome(&rig.series, 0, 1, &place);
	assert_true(neuron_series_lacks(&rig.series, 1));
	assert_false(neuron_series_lacks(&rig.series, 2));
	assert_refused(&rig, 0, 2);
}

/* Whoever has the descriptor, but not the place of a member, changes nothing for that one. */
static void place_of_somebody_else(void **state)
{
	struct neuron_series_place place;
	struct rig rig, before;
	uint32_t stranger;

	(void)state;
	begin(&rig);
	stranger = neuron_series_hold(&rig.series);
	assert_int_equal(FINE, come(&rig, 0, 1));
	before = rig;
	assert_null(neuron_series_come(&rig.series, stranger, 0, 900, &place));
	assert_true(place.taken);
	assert_int_equal(ENDED, place.alone);
	neuron_series_uncome(&rig.series, 0, 900, &place);
	assert_memory_equal(&before, &rig, sizeof(before));
	assert_int_equal(FINE, come(&rig, 0, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_come_in_order),
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(numbers_differ),
		cmocka_unit_test(no_number_is_zero),
		cmocka_unit_test(groups_that_are_left_out),
		cmocka_unit_test(far_behind),
		cmocka_unit_test(somebody_leaves),
		cmocka_unit_test(stranger_leaves),
		cmocka_unit_test(place_is_free_again),
		cmocka_unit_test(left_out_and_taken_back),
		cmocka_unit_test(leaves_and_is_taken_back),
		cmocka_unit_test(what_is_taken_back),
		cmocka_unit_test(place_of_somebody_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
