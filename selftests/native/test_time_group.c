// SPDX-License-Identifier: MIT
/*
 * Time groups: the joint replay, with records by hand on cores that run nothing.
 */
#include "seq_rig.h"

#include <stdlib.h>
#include <string.h>

#include "fabric/trn_fabric.h"
#include "mem/trn_access.h"
#include "time/trn_cost.h"
#include "time/trn_group_private.h"

#define SYNC	NEURON_ENGINE_SYNC
#define VECTOR	NEURON_ENGINE_VECTOR
#define TAKE	(NEURON_SYNC_WAIT_GE | NEURON_SYNC_TAKE)
#define MIB	(1024 * 1024)
#define QUEUE(i)	(TRN_ACTOR_QUEUE + (i))

static int setup(void **state)
{
	struct seq_rig *rig = malloc(sizeof(*rig));

	seq_rig_init(rig, &neuron_gen_trn2, 2, 4, true);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	seq_rig_destroy(*state);
	free(*state);
	return 0;
}

/* A job without instructions, as the member of a group. */
struct hand {
	struct trn_core *core;
	struct trn_timeline *tl;
	struct trn_member *member;
	uint64_t start, end;
	struct trn_group_result result;
};

static const char *hand_try(struct hand *hand, struct trn_core *core, uint64_t id, uint32_t size,
			    uint32_t index)
{
	const struct trn_group_key key = { .id = id, .size = size, .index = index };
	const uint64_t none[4] = { 0 };
	const char *why;

	memset(hand, 0, sizeof(*hand));
	hand->core = core;
	hand->tl = trn_timeline_new(core, 4);
	assert_non_null(hand->tl);
	hand->member = trn_group_join(core, hand->tl, &key, &why);
	if (!hand->member) {
		trn_timeline_free(hand->tl);
		return why;
	}
	trn_time_begin(hand->tl, none);
	return NULL;
}

static void hand_begin(struct hand *hand, struct seq_rig *rig, unsigned int chip,
		       unsigned int core, uint64_t id, uint32_t size, uint32_t index)
{
	assert_null(hand_try(hand, seq_core(rig, chip, core), id, size, index));
}

static void hand_done(struct hand *hand, bool ok)
{
	trn_group_provisional(hand->tl, &hand->start, &hand->end);
	trn_group_done(hand->member, ok, hand->end);
}

static struct trn_budget plenty(void)
{
	return (struct trn_budget){ .max_calls = 1u << 30 };
}

/* What the controllers of the cores would do. True: it has settled. */
static bool hand_settle(struct hand *hand)
{
	struct trn_budget budget = plenty();
	bool again;

	assert_true(trn_group_step(hand->core, &budget));
	return trn_group_result(hand->member, &budget, &hand->result, &again);
}

/* All have settled, times relative to the first start. */
static void hand_end(struct hand *hand, unsigned int nr, enum neuron_settle_cause cause)
{
	struct trn_budget budget = plenty();
	unsigned int i;

	for (i = 0; i < nr; i++)
		assert_true(trn_group_step(hand[i].core, &budget));
	for (i = 0; i < nr; i++) {
		assert_true(hand_settle(&hand[i]));
		assert_int_equal(hand[i].result.cause, cause);
	}
	for (i = 0; i < nr; i++)
		trn_group_leave(hand[i].member);
}

static uint64_t took(const struct hand *hand)
{
	return hand->result.end_ns - hand->result.start_ns;
}

static void exec_ns(struct hand *hand, unsigned int actor, uint64_t ns)
{
	trn_time_exec(hand->tl, actor, ns * 1000);
}

static uint32_t hbm_end(unsigned int chip, unsigned int stack)
{
	return chip << 16 | TRN_END_HBM | stack;
}

static void stream(struct hand *hand, unsigned int q, uint32_t src, uint32_t dst, uint64_t bytes)
{
	struct trn_traffic traffic = { 0 };

	trn_traffic_add(&traffic, src, dst, bytes);
	trn_time_trigger(hand->tl, SYNC, QUEUE(q), 1);
	trn_time_dma(hand->tl, QUEUE(q), 1000, dst != TRN_END_NONE && src >> 16 != dst >> 16,
		     &traffic);
}

/* How long @bytes take that have a link to themselves. */
static uint64_t link_ns(uint64_t bytes)
{
	return bytes * 1000 / neuron_gen_trn2.link_mbps;
}

/* Two jobs on chips @a and @b, each to @to: how long the slower takes. */
static uint64_t pair(struct seq_rig *rig, uint64_t id, unsigned int a, unsigned int b,
		     unsigned int to_a, unsigned int to_b)
{
	struct hand h[2];

	hand_begin(&h[0], rig, a, 4, id, 2, 0);
	hand_begin(&h[1], rig, b, 5, id, 2, 1);
	stream(&h[0], 0, hbm_end(a, 0), hbm_end(to_a, 0), MIB);
	stream(&h[1], 0, hbm_end(b, 1), hbm_end(to_b, 1), MIB);
	hand_done(&h[0], true);
	hand_done(&h[1], true);
	hand_end(h, 2, NEURON_SETTLE_FINE);
	return took(&h[0]) > took(&h[1]) ? took(&h[0]) : took(&h[1]);
}

static void who_shares_a_link_is_slower(void **state)
{
	const uint64_t fixed = (TRN_COST_DMA_START_PS + TRN_COST_HOP_PS) / 1000;

	/* One link, one way: the bytes of both after each other. */
	assert_in_range(pair(*state, 1, 0, 0, 1, 1), fixed + link_ns(2 * MIB),
			fixed + link_ns(2 * MIB) + 1);
	/* The two ways of a link, and two links. */
	assert_in_range(pair(*state, 2, 0, 1, 1, 0), fixed + link_ns(MIB),
			fixed + link_ns(MIB) + 1);
	assert_in_range(pair(*state, 3, 0, 2, 1, 3), fixed + link_ns(MIB),
			fixed + link_ns(MIB) + 1);
}

static void who_shares_a_stack_is_slower(void **state)
{
	const uint64_t rate = trn_cost_hbm_rate(&neuron_gen_trn2);
	const uint64_t fixed = TRN_COST_DMA_START_PS / 1000;
	struct hand h[2];
	unsigned int i, same;

	for (same = 0; same < 2; same++) {
		for (i = 0; i < 2; i++) {
			hand_begin(&h[i], *state, 0, 4 + i, 10 + same, 2, i);
			stream(&h[i], 0, hbm_end(0, same ? 0 : i), TRN_END_NONE, MIB);
			hand_done(&h[i], true);
		}
		hand_end(h, 2, NEURON_SETTLE_FINE);
		assert_in_range(took(&h[1]), fixed + (1 + same) * MIB * 1000000ull / rate / 1000,
				fixed + (1 + same) * MIB * 1000000ull / rate / 1000 + 1);
	}
}

/* A core and its CC-core have the same sixteen. */
static void dma_engines_are_shared(void **state)
{
	struct seq_rig *rig = *state;
	struct trn_core *core = seq_core(rig, 0, 0);
	struct trn_core *cc = trn_cc_core(rig->chip[0], 0);
	struct hand h[2];
	unsigned int i;

	while (cc->tpb != core)
		cc++;
	assert_null(hand_try(&h[0], core, 20, 2, 0));
	assert_null(hand_try(&h[1], cc, 20, 2, 1));
	for (i = 0; i < 2; i++) {
		trn_time_trigger(h[i].tl, SYNC, QUEUE(0), 1);
		trn_time_dma(h[i].tl, QUEUE(0), 1000000, 0, NULL);
		hand_done(&h[i], true);
	}
	hand_end(h, 2, NEURON_SETTLE_FINE);
	assert_int_equal(took(&h[0]), TRN_COST_DMA_START_PS / 1000 + 1000);
	assert_int_equal(took(&h[1]), TRN_COST_DMA_START_PS / 1000 + 2000);
}

/* A post comes when the joint replay says, not when the sender alone would be there. */
static void posts_are_dated_together(void **state)
{
	const uint64_t fixed = (TRN_COST_DMA_START_PS + TRN_COST_HOP_PS) / 1000;
	struct hand h[3];

	hand_begin(&h[0], *state, 0, 4, 30, 3, 0);
	hand_begin(&h[1], *state, 0, 5, 30, 3, 1);
	hand_begin(&h[2], *state, 1, 4, 30, 3, 2);
	stream(&h[0], 0, hbm_end(0, 0), hbm_end(1, 0), MIB);
	stream(&h[1], 0, hbm_end(0, 1), hbm_end(1, 1), MIB);
	trn_time_post(h[1].tl, QUEUE(0), h[2].core, 7, NEURON_SYNC_POST_ADD, 1);
	trn_time_wait(h[2].tl, VECTOR, 7, TAKE, 1);
	exec_ns(&h[2], VECTOR, 5);
	hand_done(&h[0], true);
	hand_done(&h[1], true);
	hand_done(&h[2], true);
	/* Until then it has the time of a post that nothing has delayed. */
	assert_in_range(h[2].end - h[2].start, fixed + link_ns(MIB) + 5,
			fixed + link_ns(MIB) + 6);
	hand_end(h, 3, NEURON_SETTLE_FINE);
	assert_in_range(took(&h[2]), fixed + link_ns(2 * MIB) + 5, fixed + link_ns(2 * MIB) + 6);
}

/* A post that is there before its receiver has begun is the receiver's all the same. */
static void posts_may_come_early(void **state)
{
	struct hand h[2];
	unsigned int round;

	for (round = 0; round < 3; round++) {
		hand_begin(&h[0], *state, 0, 4, 40 + round, 2, 0);
		exec_ns(&h[0], SYNC, 1000);
		trn_time_post(h[0].tl, SYNC, seq_core(*state, 1, 4), 9, NEURON_SYNC_POST_ADD, 1);
		hand_done(&h[0], true);
		hand_begin(&h[1], *state, 1, 4, 40 + round, 2, 1);
		trn_time_wait(h[1].tl, SYNC, 9, TAKE, 1);
		exec_ns(&h[1], SYNC, 10);
		hand_done(&h[1], true);
		hand_end(h, 2, NEURON_SETTLE_FINE);
		assert_int_equal(h[1].result.end_ns, h[0].result.start_ns + 1010);
	}
}

/* What other jobs post comes at the time of their causal clock. */
static void posts_from_outside_count(void **state)
{
	const uint64_t none[4] = { 0 };
	struct trn_timeline *other = trn_timeline_new(seq_core(*state, 2, 4), 0);
	struct hand h;

	trn_time_begin(other, none);
	hand_begin(&h, *state, 0, 4, 50, 1, 0);
	trn_time_exec(other, SYNC, 700 * 1000);
	trn_time_post(other, SYNC, h.core, 3, NEURON_SYNC_POST_ADD, 1);
	trn_time_wait(h.tl, SYNC, 3, TAKE, 1);
	exec_ns(&h, SYNC, 1);
	hand_done(&h, true);
	hand_end(&h, 1, NEURON_SETTLE_FINE);
	assert_int_equal(took(&h), 701);
	trn_timeline_free(other);
}

/* One after the other: a job starts where the one before it has ended, in settled times. */
static void groups_follow_each_other(void **state)
{
	struct hand a[2], b[2];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		hand_begin(&a[i], *state, 0, 4 + i, 60, 2, i);
		stream(&a[i], 0, hbm_end(0, i), hbm_end(1, i), MIB);
	}
	hand_done(&a[0], true);
	hand_begin(&b[0], *state, 0, 4, 61, 2, 0);
	exec_ns(&b[0], SYNC, 100);
	hand_done(&b[0], true);
	hand_begin(&b[1], *state, 1, 4, 61, 2, 1);
	hand_done(&b[1], true);
	/* All of the second group have ended, and the first one is not known yet. */
	assert_false(hand_settle(&b[0]));
	hand_done(&a[1], true);
	hand_end(a, 2, NEURON_SETTLE_FINE);
	hand_end(b, 2, NEURON_SETTLE_FINE);
	assert_int_equal(b[0].result.start_ns, a[0].result.end_ns);
	assert_int_equal(took(&b[0]), 100);
	assert_true(a[0].result.end_ns >= a[0].end);
}

static void circles_are_broken(void **state)
{
	struct hand a[2], b[2];

	hand_begin(&a[0], *state, 0, 4, 70, 2, 0);
	hand_done(&a[0], true);
	hand_begin(&b[0], *state, 0, 4, 71, 2, 0);
	hand_begin(&b[1], *state, 0, 5, 71, 2, 1);
	hand_done(&b[1], true);
	hand_begin(&a[1], *state, 0, 5, 70, 2, 1);
	hand_done(&a[1], true);
	hand_done(&b[0], true);
	hand_end(a, 2, NEURON_SETTLE_ORDER);
	hand_end(b, 2, NEURON_SETTLE_ORDER);
}

/* --- inexact --- */

static void begin_three(struct hand h[3], struct seq_rig *rig, uint64_t id)
{
	unsigned int i;

	for (i = 0; i < 3; i++) {
		hand_begin(&h[i], rig, i, 4, id, 3, i);
		exec_ns(&h[i], SYNC, 100 * (i + 1));
	}
}

static void deaths_settle_the_others(void **state)
{
	struct hand h[3];

	begin_three(h, *state, 80);
	hand_done(&h[0], true);
	assert_false(hand_settle(&h[0]));
	hand_done(&h[1], false);
	assert_true(hand_settle(&h[0]));
	assert_int_equal(h[0].result.cause, NEURON_SETTLE_MEMBER);
	assert_int_equal(took(&h[0]), 100);
	hand_done(&h[2], true);
	hand_end(h, 3, NEURON_SETTLE_MEMBER);
	assert_int_equal(took(&h[2]), 300);
}

static void leaving_settles_the_others(void **state)
{
	struct hand h[3];

	begin_three(h, *state, 81);
	hand_done(&h[0], true);
	trn_group_leave(h[1].member);
	assert_true(hand_settle(&h[0]));
	assert_int_equal(h[0].result.cause, NEURON_SETTLE_MEMBER);
	trn_group_leave(h[0].member);
	hand_done(&h[2], true);
	hand_end(&h[2], 1, NEURON_SETTLE_MEMBER);
}

/* In the middle of the replay: it goes on over what is left behind, and is thrown away. */
static void leaving_during_the_replay(void **state)
{
	struct trn_budget little = { .max_calls = 1 };
	struct hand h[2];
	unsigned int i, n;

	for (i = 0; i < 2; i++) {
		hand_begin(&h[i], *state, i, 4, 82, 2, i);
		for (n = 0; n < 4000; n++) {
			exec_ns(&h[i], SYNC, 1);
			trn_time_post(h[i].tl, SYNC, h[i].core, 1, NEURON_SYNC_POST_ADD, 1);
		}
		hand_done(&h[i], true);
	}
	assert_false(trn_group_step(h[1].core, &little));
	trn_group_leave(h[0].member);
	assert_true(hand_settle(&h[1]));
	assert_int_equal(h[1].result.cause, NEURON_SETTLE_MEMBER);
	assert_int_equal(took(&h[1]), 4000);
	trn_group_leave(h[1].member);
}

static void software_ends_a_group(void **state)
{
	struct seq_rig *rig = *state;
	struct hand h[3];

	hand_begin(&h[0], rig, 0, 4, 1ull << 40 | 83, 3, 0);
	exec_ns(&h[0], SYNC, 100);
	hand_done(&h[0], true);
	assert_false(hand_settle(&h[0]));
	/* By a register of any chip of the fabric. */
	trn_chip_mmio_write(rig->chip[3], neuron_ctl_bar0(&neuron_gen_trn2) +
			    NEURON_CTL_GROUP_END_LO, 83, 4);
	assert_false(hand_settle(&h[0]));
	trn_chip_mmio_write(rig->chip[3], neuron_ctl_bar0(&neuron_gen_trn2) +
			    NEURON_CTL_GROUP_END_HI, 1 << 8, 4);
	assert_true(hand_settle(&h[0]));
	assert_int_equal(h[0].result.cause, NEURON_SETTLE_ENDED);
	trn_group_leave(h[0].member);
	/* Who comes later hears of it. */
	hand_begin(&h[1], rig, 1, 4, 1ull << 40 | 83, 3, 1);
	hand_done(&h[1], true);
	hand_end(&h[1], 1, NEURON_SETTLE_ENDED);
	trn_group_end(rig->chip[0], 12345);
}

/* Too many records: the job goes on as one alone, with all of its times. */
static void overflow_settles_all(void **state)
{
	struct seq_rig *rig = *state;
	struct trn_groups *groups = rig->chip[0]->groups;
	uint64_t start, end = 0;
	struct hand h[2];
	unsigned int n;

	groups->max_records = 1000;
	hand_begin(&h[0], rig, 0, 4, 84, 2, 0);
	hand_begin(&h[1], rig, 1, 4, 84, 2, 1);
	exec_ns(&h[1], SYNC, 50);
	hand_done(&h[1], true);
	for (n = 0; n < 4000; n++) {
		exec_ns(&h[0], SYNC, 2);
		trn_time_post(h[0].tl, SYNC, h[0].core, 1, NEURON_SYNC_POST_ADD, 1);
	}
	assert_false(trn_group_kept(h[0].tl));
	trn_time_replay(h[0].tl, &start, &end, NULL, NULL);
	assert_int_equal(end - start, 8000);
	trn_group_done(h[0].member, true, end);
	hand_end(h, 2, NEURON_SETTLE_OVERFLOW);
	assert_int_equal(took(&h[0]), 8000);
	assert_int_equal(took(&h[1]), 50);
	groups->max_records = TRN_GROUP_RECORDS;
	assert_int_equal(atomic_load(&groups->nr_records), 0);
}

/* One group more than there is room for: the oldest one is not exact. */
static void groups_are_limited(void **state)
{
	struct hand *h = calloc(TRN_GROUP_PENDING + 2, sizeof(*h));
	unsigned int i, nr = TRN_GROUP_PENDING + 2;

	for (i = 0; i < nr; i++) {
		hand_begin(&h[i], *state, 0, 4, 1000 + i, 2, 0);
		hand_done(&h[i], true);
	}
	/* And those that come behind it. */
	for (i = 0; i < nr; i++) {
		assert_true(hand_settle(&h[i]));
		assert_true(h[i].result.cause);
		trn_group_leave(h[i].member);
	}
	free(h);
}

static void foreign_groups_are_closed(void **state)
{
	struct hand h[2], other;

	hand_begin(&h[0], *state, 0, 4, 90, 2, 0);
	assert_string_equal(hand_try(&other, seq_core(*state, 1, 4), 90, 3, 1),
			    "its time group has another size");
	assert_string_equal(hand_try(&other, seq_core(*state, 1, 4), 90, 2, 0),
			    "its time group has another member of this index");
	/* The group is none the worse for it. */
	hand_begin(&h[1], *state, 1, 4, 90, 2, 1);
	hand_done(&h[0], true);
	hand_done(&h[1], true);
	hand_end(h, 2, NEURON_SETTLE_FINE);
}

/* --- who comes first --- */

struct times {
	uint64_t end[3];
};

/* A wait ends in real time when its post has been made. */
static struct times in_order(struct seq_rig *rig, uint64_t id, const unsigned int order[3])
{
	struct times times;
	struct hand h[3];
	unsigned int i, n;

	for (n = 0; n < 3; n++) {
		i = order[n];
		hand_begin(&h[i], rig, i, 4, id, 3, i);
		exec_ns(&h[i], SYNC, 10);
		stream(&h[i], 0, hbm_end(i, 0), hbm_end((i + 1) % 3, 0), MIB);
		stream(&h[i], 1, hbm_end(0, 0), hbm_end((i + 2) % 3, 1), MIB);
		trn_time_post(h[i].tl, QUEUE(0), seq_core(rig, (i + 1) % 3, 4), 5,
			      NEURON_SYNC_POST_ADD, 1);
	}
	for (n = 0; n < 3; n++) {
		i = order[n];
		trn_time_wait(h[i].tl, VECTOR, 5, TAKE, 1);
		exec_ns(&h[i], VECTOR, 77);
		hand_done(&h[i], true);
	}
	hand_end(h, 3, NEURON_SETTLE_FINE);
	for (i = 0; i < 3; i++)
		times.end[i] = took(&h[i]);
	return times;
}

static void order_of_arrival_does_not_matter(void **state)
{
	static const unsigned int order[][3] = {
		{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
	};
	struct times first, other;
	unsigned int i;

	for (i = 0; i < 6; i++) {
		struct seq_rig *rig = malloc(sizeof(*rig));

		seq_rig_init(rig, &neuron_gen_trn2, 1, 3, true);
		other = in_order(rig, 100, order[i]);
		if (!i)
			first = other;
		assert_memory_equal(&first, &other, sizeof(first));
		seq_rig_destroy(rig);
		free(rig);
	}
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(who_shares_a_link_is_slower, setup, teardown),
		cmocka_unit_test_setup_teardown(who_shares_a_stack_is_slower, setup, teardown),
		cmocka_unit_test_setup_teardown(dma_engines_are_shared, setup, teardown),
		cmocka_unit_test_setup_teardown(posts_are_dated_together, setup, teardown),
		cmocka_unit_test_setup_teardown(posts_may_come_early, setup, teardown),
		cmocka_unit_test_setup_teardown(posts_from_outside_count, setup, teardown),
		cmocka_unit_test_setup_teardown(groups_follow_each_other, setup, teardown),
		cmocka_unit_test_setup_teardown(circles_are_broken, setup, teardown),
		cmocka_unit_test_setup_teardown(deaths_settle_the_others, setup, teardown),
		cmocka_unit_test_setup_teardown(leaving_settles_the_others, setup, teardown),
		cmocka_unit_test_setup_teardown(leaving_during_the_replay, setup, teardown),
		cmocka_unit_test_setup_teardown(software_ends_a_group, setup, teardown),
		cmocka_unit_test_setup_teardown(overflow_settles_all, setup, teardown),
		cmocka_unit_test_setup_teardown(groups_are_limited, setup, teardown),
		cmocka_unit_test_setup_teardown(foreign_groups_are_closed, setup, teardown),
		cmocka_unit_test(order_of_arrival_does_not_matter),
	};

	return cmocka_run_group_tests_name("time_group", tests, NULL, NULL);
}
