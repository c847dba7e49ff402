// SPDX-License-Identifier: MIT
/*
 * Device time: costs, joins at semaphores and triggers, times across cores and
 * chips.
 */
#include "seq_rig.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "time/trn_cost.h"
#include "base/trn_pool.h"
#include "time/trn_time_private.h"
#include "time/trn_time.h"

#define SYNC	NEURON_ENGINE_SYNC
#define VECTOR	NEURON_ENGINE_VECTOR
#define SCALAR	NEURON_ENGINE_SCALAR
#define TENSOR	NEURON_ENGINE_TENSOR
#define GPSIMD	NEURON_ENGINE_GPSIMD
#define F32	NEURON_DTYPE_FP32
#define BF16	NEURON_DTYPE_BF16

static int setup(void **state)
{
	struct seq_rig *rig = malloc(sizeof(*rig));

	seq_rig_init(rig, &neuron_gen_trn2, 2, 2, true);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	seq_rig_destroy(*state);
	free(*state);
	return 0;
}

/* --- the replay alone: records by hand on a core that runs nothing --- */

struct hand {
	struct trn_core *core;
	struct trn_timeline *tl;
	uint64_t start, end;
	uint64_t stamp[16];
};

static void hand_begin(struct hand *hand, struct seq_rig *rig, unsigned int chip,
		       unsigned int core)
{
	const uint64_t all[4] = { ~0ull, ~0ull, ~0ull, ~0ull };

	memset(hand, 0, sizeof(*hand));
	hand->core = seq_core(rig, chip, core);
	hand->tl = trn_timeline_new(hand->core, 2);
	assert_non_null(hand->tl);
	trn_time_begin(hand->tl, all);
}

static void hand_stamp(void *arg, uint64_t cookie, uint64_t time_ns)
{
	struct hand *hand = arg;

	hand->stamp[cookie] = time_ns;
}

/* Times relative to the job's start. */
static void hand_end(struct hand *hand)
{
	unsigned int i;

	trn_time_replay(hand->tl, &hand->start, &hand->end, hand_stamp, hand);
	trn_timeline_free(hand->tl);
	for (i = 0; i < 16; i++)
		hand->stamp[i] -= hand->stamp[i] ? hand->start : 0;
	hand->end -= hand->start;
}

static void exec_ns(struct hand *hand, unsigned int actor, uint64_t ns)
{
	trn_time_exec(hand->tl, actor, ns * 1000);
}

/* A descriptor that takes so long, with no bytes that go anywhere. */
static void move_ns(struct hand *hand, unsigned int actor, uint64_t ns,
		    unsigned int hops)
{
	trn_time_dma(hand->tl, actor, ns * 1000, hops, NULL);
}

static void post_one(struct hand *hand, unsigned int actor,
		     struct trn_core *target, unsigned int sem)
{
	trn_time_post(hand->tl, actor, target, sem, NEURON_SYNC_POST_ADD, 1);
}

#define TAKE	(NEURON_SYNC_WAIT_GE | NEURON_SYNC_TAKE)

static void actors_run_side_by_side(void **state)
{
	struct hand h;

	hand_begin(&h, *state, 0, 7);
	exec_ns(&h, 0, 100);
	exec_ns(&h, 1, 250);
	trn_time_stamp(h.tl, 1, 3);
	exec_ns(&h, 1, 50);
	hand_end(&h);
	assert_int_equal(h.end, 300);
	assert_int_equal(h.stamp[3], 250);
	assert_int_equal(trn_time_now(h.core->chip), h.start + 300);

	/* The next job starts where the core became idle. */
	hand_begin(&h, *state, 0, 7);
	exec_ns(&h, 0, 1);
	hand_end(&h);
	assert_int_equal(h.start, 300);
}

static void waits_end_at_their_post(void **state)
{
	struct hand h;

	hand_begin(&h, *state, 0, 7);
	exec_ns(&h, 0, 500);
	post_one(&h, 0, h.core, 9);
	exec_ns(&h, 1, 10);
	trn_time_wait(h.tl, 1, 9, NEURON_SYNC_WAIT_GE, 1);
	exec_ns(&h, 1, 7);
	exec_ns(&h, 2, 900);
	trn_time_wait(h.tl, 2, 9, NEURON_SYNC_WAIT_EQ, 1);
	trn_time_stamp(h.tl, 2, 1);
	trn_time_stamp(h.tl, 1, 2);
	hand_end(&h);
	assert_int_equal(h.stamp[1], 900);
	assert_int_equal(h.stamp[2], 507);
}

/* Whoever comes first takes first, whatever the order of the records. */
static void takers_compete_in_virtual_time(void **state)
{
	struct hand h;

	hand_begin(&h, *state, 0, 7);
	exec_ns(&h, 2, 200);
	post_one(&h, 2, h.core, 1);
	exec_ns(&h, 3, 100);
	post_one(&h, 3, h.core, 1);
	exec_ns(&h, 0, 30);
	trn_time_wait(h.tl, 0, 1, TAKE, 1);
	trn_time_stamp(h.tl, 0, 1);
	exec_ns(&h, 1, 20);
	trn_time_wait(h.tl, 1, 1, TAKE, 1);
	trn_time_stamp(h.tl, 1, 2);
	hand_end(&h);
	assert_int_equal(h.stamp[2], 100);
	assert_int_equal(h.stamp[1], 200);

	/* One poster: the first post is for the first that came. */
	hand_begin(&h, *state, 0, 7);
	exec_ns(&h, 2, 100);
	post_one(&h, 2, h.core, 1);
	exec_ns(&h, 2, 100);
	post_one(&h, 2, h.core, 1);
	exec_ns(&h, 0, 30);
	trn_time_wait(h.tl, 0, 1, TAKE, 1);
	trn_time_stamp(h.tl, 0, 1);
	exec_ns(&h, 1, 20);
	trn_time_wait(h.tl, 1, 1, TAKE, 1);
	trn_time_stamp(h.tl, 1, 2);
	hand_end(&h);
	assert_int_equal(h.stamp[2], 100);
	assert_int_equal(h.stamp[1], 200);

	/* At the same time: the lower actor. */
	hand_begin(&h, *state, 0, 7);
	exec_ns(&h, 2, 10);
	post_one(&h, 2, h.core, 1);
	exec_ns(&h, 2, 10);
	post_one(&h, 2, h.core, 1);
	trn_time_wait(h.tl, 4, 1, TAKE, 1);
	trn_time_stamp(h.tl, 4, 1);
	trn_time_wait(h.tl, 0, 1, TAKE, 1);
	trn_time_stamp(h.tl, 0, 2);
	hand_end(&h);
	assert_int_equal(h.stamp[2], 10);
	assert_int_equal(h.stamp[1], 20);
}

static void queues_serve_their_triggers(void **state)
{
	const uint64_t start = TRN_COST_DMA_START_PS / 1000;
	const uint64_t hop = TRN_COST_HOP_PS / 1000;
	const unsigned int queue = TRN_ACTOR_QUEUE + 1;
	struct hand h;

	hand_begin(&h, *state, 0, 7);
	exec_ns(&h, 4, 100);
	trn_time_trigger(h.tl, 4, queue, 2);
	move_ns(&h, queue, 1000, 0);
	trn_time_stamp(h.tl, queue, 1);
	move_ns(&h, queue, 2000, 0);	/* back to back */
	trn_time_stamp(h.tl, queue, 2);
	exec_ns(&h, 4, 100000);
	trn_time_trigger(h.tl, 4, queue, 2);
	move_ns(&h, queue, 1, 2);	/* idle: starts anew, far away */
	trn_time_stamp(h.tl, queue, 3);
	move_ns(&h, queue, 1, 2);	/* in the pipe */
	trn_time_stamp(h.tl, queue, 4);
	hand_end(&h);
	assert_int_equal(h.stamp[1], 100 + start + 1000);
	assert_int_equal(h.stamp[2], 100 + start + 3000);
	assert_int_equal(h.stamp[3], 100100 + start + 2 * hop + 1);
	assert_int_equal(h.stamp[4], 100100 + start + 2 * hop + 2);
}

/* A wait is over at once when nothing in the model ends it. */
static void outside_posts_cost_nothing(void **state)
{
	struct hand h;

	hand_begin(&h, *state, 0, 7);
	exec_ns(&h, 0, 40);
	trn_time_wait(h.tl, 0, 77, TAKE, 3);
	exec_ns(&h, 0, 2);
	move_ns(&h, TRN_ACTOR_QUEUE, 0, 0);
	hand_end(&h);
	assert_int_equal(h.end, TRN_COST_DMA_START_PS / 1000);

	hand_begin(&h, *state, 0, 7);
	exec_ns(&h, 0, 40);
	trn_time_wait(h.tl, 0, 77, NEURON_SYNC_WAIT_EQ, -3);
	exec_ns(&h, 0, 2);
	hand_end(&h);
	assert_int_equal(h.end, 42);
}

/* The poster is still running, or over. */
static void posts_reach_another_job(void **state)
{
	struct hand a, b, c;

	hand_begin(&a, *state, 1, 0);
	hand_begin(&b, *state, 0, 1);
	hand_begin(&c, *state, 0, 2);
	/* c waits for b, b for a: through a chain that runs. */
	exec_ns(&a, 0, 1000);
	post_one(&a, 0, b.core, 5);
	trn_time_wait(b.tl, 3, 5, NEURON_SYNC_WAIT_GE, 1);
	exec_ns(&b, 3, 1000);
	post_one(&b, 3, c.core, 6);
	trn_time_wait(c.tl, 1, 6, TAKE, 1);
	exec_ns(&c, 1, 1);
	hand_end(&c);
	assert_int_equal(c.end, 2001);
	exec_ns(&a, 0, 10);
	hand_end(&a);
	assert_int_equal(a.end, 1010);
	hand_end(&b);
	assert_int_equal(b.end, 2000);

	/* The poster is over before the other has got anywhere. */
	hand_begin(&a, *state, 1, 0);
	hand_begin(&b, *state, 0, 3);
	exec_ns(&a, 0, 10000);
	post_one(&a, 0, b.core, 5);
	hand_end(&a);
	trn_time_wait(b.tl, 0, 5, NEURON_SYNC_WAIT_GE, 1);
	hand_end(&b);
	assert_int_equal(b.start + b.end, a.start + 10000);
}

/* A post from elsewhere takes its place among the job's own. */
static void mail_arrives_in_time(void **state)
{
	struct hand a, b;

	hand_begin(&a, *state, 1, 1);
	hand_begin(&b, *state, 0, 7);
	exec_ns(&b, 2, 1000000);
	post_one(&b, 2, b.core, 5);
	exec_ns(&a, 0, 500000);
	post_one(&a, 0, b.core, 5);
	trn_time_wait(b.tl, 0, 5, TAKE, 1);
	trn_time_stamp(b.tl, 0, 1);
	exec_ns(&b, 1, 10);
	trn_time_wait(b.tl, 1, 5, TAKE, 1);
	trn_time_stamp(b.tl, 1, 2);
	hand_end(&a);
	hand_end(&b);
	assert_int_equal(b.start + b.stamp[1], a.start + 500000);
	assert_int_equal(b.stamp[2], 1000000);
}

/* Posts from before the semaphore was cleared do not count. */
static void clearing_voids_earlier_posts(void **state)
{
	struct hand a, b;

	hand_begin(&a, *state, 1, 4);
	exec_ns(&a, 0, 50);
	post_one(&a, 0, seq_core(*state, 0, 4), 5);
	hand_end(&a);
	hand_begin(&b, *state, 0, 4);
	exec_ns(&b, 0, 10);
	trn_time_wait(b.tl, 0, 5, NEURON_SYNC_WAIT_EQ, 0);
	trn_time_stamp(b.tl, 0, 1);
	exec_ns(&b, 1, 100);
	post_one(&b, 1, b.core, 5);
	trn_time_wait(b.tl, 2, 5, NEURON_SYNC_WAIT_GE, 1);
	trn_time_stamp(b.tl, 2, 2);
	hand_end(&b);
	assert_int_equal(b.stamp[1], 10);
	assert_int_equal(b.stamp[2], 100);
}

static void job_without_end_needs_bounded_memory(void **state)
{
	struct hand h;
	size_t most = 0, now;
	unsigned int i;

	hand_begin(&h, *state, 0, 6);
	for (i = 0; i < 20 * TRN_TIME_LIMIT; i++) {
		exec_ns(&h, 0, 3);
		post_one(&h, 0, h.core, 1);
		trn_time_wait(h.tl, 1, 1, TAKE, 1);
		exec_ns(&h, 1, 2);
		trn_time_stamp(h.tl, 1, i % 16);
		now = atomic_load(&h.tl->nr_records);
		most = most < now ? now : most;
	}
	assert_true(most <= TRN_TIME_LIMIT);
	hand_end(&h);
	assert_int_equal(h.end, 20ull * TRN_TIME_LIMIT * 3 + 2);

	/* The same with nothing in the model to end the waits. */
	most = 0;
	hand_begin(&h, *state, 0, 6);
	for (i = 0; i < 20 * TRN_TIME_LIMIT; i++) {
		exec_ns(&h, 1, 2);
		trn_time_wait(h.tl, 1, 1, TAKE, 1);
		now = atomic_load(&h.tl->nr_records);
		most = most < now ? now : most;
	}
	assert_true(most <= 9 * TRN_TIME_LIMIT);
	hand_end(&h);
	assert_int_equal(h.end, 20ull * TRN_TIME_LIMIT * 2);
}

/* Actor 0 posts @nr times; returns the most records that there were. */
static size_t post_often(struct hand *h, unsigned int nr)
{
	size_t most = 0, now;

	while (nr--) {
		exec_ns(h, 0, 3);
		post_one(h, 0, h->core, 1);
		now = atomic_load(&h->tl->nr_records);
		most = most < now ? now : most;
	}
	return most;
}

static void hand_trace(void *arg, const struct trn_time_trace *traces, unsigned int nr)
{
	bool *exact = arg;

	*exact = traces[nr - 1].exact;
}

/* Actor 1 has begun to wait, which bounds the replay until too much has piled up. */
static void pile_up(struct hand *h, struct seq_rig *rig)
{
	hand_begin(h, rig, 0, 6);
	exec_ns(h, 1, 1000);
	trn_time_wait_begin(h->tl, 1, 5, NEURON_SYNC_WAIT_GE, 1);
	assert_true(post_often(h, TRN_TIME_PILE) >= TRN_TIME_PILE - 1000);
	assert_true(h->tl->front_ps <= h->tl->start_ps + 1000000);
	assert_true(post_often(h, TRN_TIME_PILE) <= TRN_TIME_PILE + TRN_TIME_LIMIT);
	assert_true(h->tl->front_ps > h->tl->start_ps + 1000000);
	assert_true(trn_time_exact(h->tl));
}

/* Then the replay goes past who waits, and says so if that was wrong. */
static void waits_bound_the_replay_up_to_a_limit(void **state)
{
	bool exact = true;
	struct hand h;

	/* It was right: the post that ends the wait comes in order. */
	pile_up(&h, *state);
	post_one(&h, 0, h.core, 5);
	trn_time_wait(h.tl, 1, 5, NEURON_SYNC_WAIT_GE, 1);
	trn_time_stamp(h.tl, 1, 1);
	while (trn_replay_some(h.tl, TRN_REPLAY_END))
		;
	assert_true(trn_time_exact(h.tl));
	hand_end(&h);
	assert_int_equal(h.stamp[1], 6ull * TRN_TIME_PILE);

	/* It was wrong: something else ended the wait, at its begin. */
	pile_up(&h, *state);
	trn_time_trace_to(h.tl, hand_trace, NULL, &exact);
	trn_time_wait(h.tl, 1, 5, NEURON_SYNC_WAIT_GE, 1);
	trn_time_stamp(h.tl, 1, 1);
	assert_true(trn_time_trace(h.tl, 1, 0, 0, 0));
	while (trn_replay_some(h.tl, TRN_REPLAY_END))
		;
	assert_false(trn_time_exact(h.tl));
	hand_end(&h);
	assert_int_equal(h.stamp[1], 1000);
	assert_false(exact);
}

/* Nor does the replay go past an engine that is late. */
static void late_actors_bound_the_replay(void **state)
{
	struct hand h;

	hand_begin(&h, *state, 0, 6);
	trn_time_start(h.tl, 2);
	assert_int_equal(post_often(&h, 2 * TRN_TIME_LIMIT), 2 * TRN_TIME_LIMIT);
	trn_time_stop(h.tl, 2);
	while (trn_replay_some(h.tl, TRN_REPLAY_KNOWN))
		;
	assert_int_equal(atomic_load(&h.tl->nr_records), 0);
	assert_true(trn_time_exact(h.tl));
	hand_end(&h);

	/* Nor past a queue that has moved all that it was given, and goes on to post. */
	hand_begin(&h, *state, 0, 6);
	trn_time_trigger(h.tl, 0, TRN_ACTOR_QUEUE, 1);
	trn_time_start(h.tl, TRN_ACTOR_QUEUE);
	move_ns(&h, TRN_ACTOR_QUEUE, 100, 0);
	post_often(&h, 2 * TRN_TIME_LIMIT);
	while (trn_replay_some(h.tl, TRN_REPLAY_KNOWN))
		;
	post_one(&h, TRN_ACTOR_QUEUE, h.core, 5);
	trn_time_stamp(h.tl, TRN_ACTOR_QUEUE, 1);
	trn_time_stop(h.tl, TRN_ACTOR_QUEUE);
	while (trn_replay_some(h.tl, TRN_REPLAY_END))
		;
	assert_true(trn_time_exact(h.tl));
	hand_end(&h);
	assert_int_equal(h.stamp[1], TRN_COST_DMA_START_PS / 1000 + 100);
}

/* What the times of traces come to, and how many were lost. */
struct told {
	unsigned int nr;
	unsigned int lost;
	uint64_t end_ns;
};

static void hand_told(void *arg, const struct trn_time_trace *traces, unsigned int nr)
{
	struct told *told = arg;
	unsigned int i;

	assert_in_range(nr, 1, TRN_TIME_TELL);
	for (i = 0; i < nr; i++) {
		assert_int_equal(traces[i].pc, told->nr++);
		assert_true(traces[i].end_ns >= told->end_ns);
		told->end_ns = traces[i].end_ns;
	}
}

static void hand_lost(void *arg)
{
	struct told *told = arg;

	told->lost++;
}

/* Actor 0 records @nr instructions; returns the most of what was told at one of them. */
static unsigned int trace_often(struct hand *h, const struct told *told, unsigned int from,
				unsigned int nr)
{
	unsigned int most = 0, before, i;

	for (i = from; i < from + nr; i++) {
		exec_ns(h, 0, 3);
		before = told->nr;
		assert_true(trn_time_trace(h->tl, 0, 0, i, 0));
		most = told->nr - before > most ? told->nr - before : most;
	}
	return most;
}

/* Nobody is held up by all that has piled up behind an engine that waited. */
static void traces_are_told_a_few_at_a_time(void **state)
{
	struct trn_budget budget = { .max_calls = 1 };
	struct told told = { 0 };
	unsigned int turns = 0;
	struct hand h;

	hand_begin(&h, *state, 0, 6);
	trn_time_trace_to(h.tl, hand_told, hand_lost, &told);
	trn_time_wait_begin(h.tl, 1, 5, NEURON_SYNC_WAIT_GE, 1);
	trace_often(&h, &told, 0, 50000);
	assert_int_equal(told.nr, 0);
	trn_time_wait(h.tl, 1, 5, NEURON_SYNC_WAIT_GE, 1);
	assert_in_range(trace_often(&h, &told, 50000, 20000), 1, 1000);
	assert_in_range(told.nr, 20000, 69999);
	while (!trn_time_finish(h.tl, &budget)) {
		budget.calls = 0;
		turns++;
	}
	assert_true(turns > 100);
	assert_int_equal(told.nr, 70000);
	assert_int_equal(told.lost, 0);
	hand_end(&h);
}

/* Who tells is slow for ever: what has no room is counted, memory is bounded. */
static void traces_without_room_are_counted(void **state)
{
	const unsigned int nr = TRN_TIME_PILE + 2 * TRN_TIME_TRACES;
	struct told told = { 0 };
	struct hand h;

	hand_begin(&h, *state, 0, 6);
	trn_time_trace_to(h.tl, hand_told, hand_lost, &told);
	h.tl->telling = true;
	trace_often(&h, &told, 0, nr);
	assert_int_equal(h.tl->nr_traces, TRN_TIME_TRACES);
	assert_true(atomic_load(&h.tl->nr_records) <= TRN_TIME_PILE + 1000);
	assert_in_range(told.lost, 1, nr - TRN_TIME_PILE);
	/* What is lost comes after what is not yet told, and before what is not known. */
	h.tl->telling = false;
	while (trn_trace_tell(h.tl))
		;
	assert_int_equal(told.nr, TRN_TIME_TRACES);
	told.nr += told.lost;
	hand_end(&h);
	assert_int_equal(told.nr, nr);

	/* No memory for the record itself. */
	hand_begin(&h, *state, 0, 6);
	trn_time_trace_to(h.tl, hand_told, hand_lost, &told);
	atomic_store(&h.tl->lost, true);
	assert_false(trn_time_trace(h.tl, 0, 0, 0, 0));
	assert_false(trn_time_exact(h.tl));
	hand_end(&h);
}

static void core_without_a_job_keeps_little_mail(void **state)
{
	struct trn_core *idle = seq_core(*state, 0, 5);
	struct trn_core_time *ct;
	struct hand a;
	unsigned int i;

	hand_begin(&a, *state, 1, 5);
	for (i = 0; i < 3 * TRN_TIME_LIMIT; i++) {
		exec_ns(&a, 0, 1);
		post_one(&a, 0, idle, 5);
	}
	hand_end(&a);
	ct = idle->time_private;
	assert_true(ct->box.nr > 0 && ct->box.nr <= 4096);
	assert_int_equal(ct->sems.value[5] + (int)ct->box.nr, 3 * TRN_TIME_LIMIT);
	trn_time_core_reset(idle);
	assert_int_equal(ct->box.nr, 0);
	assert_int_equal(ct->sems.value[5], 0);
}

/* --- costs of instructions --- */

/* On trn2, whose clocks are the last column: cycles by the formulas of the manual. */
static void costs_follow_the_guides(void **state)
{
	static const struct {
		enum neuron_engine engine;
		unsigned int opcode;
		struct trn_work work;
		uint64_t cycles;
		uint64_t mhz;
	} row[] = {
		{ SYNC, NEURON_OP_NOP, { 0 }, 16, 1200 },
		{ TENSOR, NEURON_OP_MATMUL, { .n = 10 }, 64, 2400 },
		{ TENSOR, NEURON_OP_MATMUL, { .n = 512, .fp32 = true }, 4 * 512, 2400 },
		{ TENSOR, NEURON_OP_LOAD_STATIONARY, { .n = 128 }, 32, 2400 },
		{ TENSOR, NEURON_OP_LOAD_STATIONARY, { .n = 9, .fp32 = true }, 4 * 3, 2400 },
		{ VECTOR, NEURON_OP_TENSOR_TENSOR, { .n = 100 }, 260, 960 },
		{ VECTOR, NEURON_OP_COPY, { .n = 100, .half = true }, 85, 960 },
		{ VECTOR, NEURON_OP_COPY, { .n = 100, .half = true, .psum = true }, 110, 960 },
		{ VECTOR, NEURON_OP_COPY, { .n = 100, .sparse = true }, 260, 960 },
		{ VECTOR, NEURON_OP_TENSOR_TENSOR, { .n = 100, .half = true }, 160, 960 },
		{ VECTOR, NEURON_OP_TENSOR_REDUCE, { .n = 100 }, 160, 960 },
		{ VECTOR, NEURON_OP_TENSOR_REDUCE, { .n = 100, .half = true }, 160, 960 },
		{ VECTOR, NEURON_OP_RECIPROCAL, { .n = 7 }, 64, 960 },
		{ VECTOR, NEURON_OP_RECIPROCAL, { .n = 100 }, 800, 960 },
		{ VECTOR, NEURON_OP_EXPONENTIAL, { .n = 101 }, 60 + 26, 960 },
		{ VECTOR, NEURON_OP_ACC_READ, { .n = 100 }, 64, 960 },
		{ SCALAR, NEURON_OP_ACTIVATE, { .n = 100, .half = true }, 160, 1200 },
		{ GPSIMD, NEURON_OP_IOTA, { .n = 100 }, 250, 1200 },
		{ GPSIMD, NEURON_OP_TOPK, { .n = 100, .k = 7 }, 407, 1200 },
		/* 64 * 4 / (((28 + 16) / 16) / 2) = 186.18 */
		{ GPSIMD, NEURON_OP_LOCAL_GATHER, { .n = 64, .k = 4, .size = 2 }, 337, 1200 },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		assert_int_equal(trn_cost_ps(&neuron_gen_trn2, row[i].engine,
					     trn_isa_lookup(row[i].opcode), &row[i].work),
				 row[i].cycles * 1000000 / row[i].mhz);
}

/* --- whole jobs --- */

static void job_takes_the_time_of_its_instructions(void **state)
{
	struct neuron_hw_completion one, two;
	struct seq_job job;
	uint64_t ps;

	seq_job_init(&job, *state, 0, 0);
	seq_add(&job, VECTOR, post_add(OP(MEMSET, .dst = ap_sbuf(0, 1, 0, F32, 100)),
				       1, 1));
	seq_add(&job, VECTOR, OP(HALT, 0));
	seq_add(&job, SCALAR, wait_ge(OP(HALT, 0), 1, 1));
	one = seq_run(&job);
	assert_int_equal(one.status, NEURON_JOB_OK);
	ps = 160 * 1000000ull / 960 + 16 * 1000000ull / 960;
	assert_int_equal(one.end_ns - one.start_ns, (ps + 999) / 1000);
	two = seq_run(&job);
	assert_int_equal(two.start_ns, one.end_ns);
	assert_int_equal(two.end_ns - two.start_ns, one.end_ns - one.start_ns);
}

/* Of a job that loads an operand and multiplies @n columns; with these flags. */
static uint64_t product_ns(struct seq_rig *rig, unsigned int dtype, unsigned int n,
			   uint32_t load_bits, uint32_t bits)
{
	struct neuron_hw_completion record;
	struct seq_job job;

	seq_job_init(&job, rig, 0, 0);
	seq_add(&job, TENSOR, OP(LOAD_STATIONARY, .flags = (uint8_t)load_bits,
				 .mode = (uint16_t)(load_bits >> 8),
				 .src0 = ap_sbuf(0, 32, 0, dtype, 32)));
	seq_add(&job, TENSOR, OP(MATMUL, .flags = (uint8_t)bits, .mode = (uint16_t)(bits >> 8),
				 .dst = ap_psum(0, 32, 0, F32, n),
				 .src0 = ap_sbuf(0, 32, 0x1000, dtype, n)));
	seq_add(&job, TENSOR, OP(HALT, 0));
	record = seq_run(&job);
	assert_int_equal(record.status, NEURON_JOB_OK);
	return record.end_ns - record.start_ns;
}

/* Two passes in place of four: with one_zero, and in a transposition. */
static void simple_fp32_takes_half(void **state)
{
	struct seq_rig *rig = *state;
	const uint64_t full = product_ns(rig, F32, 512, 0, 0);
	const uint64_t half = product_ns(rig, F32, 512, 0, NEURON_INST_ONE_ZERO);
	const uint64_t small = product_ns(rig, F32, 32, 0, 0);
	unsigned int i;

	assert_in_range(full - half, 2 * 512 * 1000 / 2400, 2 * 512 * 1000 / 2400 + 1);
	assert_int_equal(product_ns(rig, F32, 512, NEURON_INST_ONE_ZERO, 0), full);
	assert_int_equal(product_ns(rig, NEURON_DTYPE_BF16, 512, 0, NEURON_INST_ONE_ZERO),
			 product_ns(rig, NEURON_DTYPE_BF16, 512, 0, 0));
	for (i = 0; i < 32; i++)
		*(float *)seq_sbuf(seq_core(rig, 0, 0), i, 0x1000 + 4 * i) = 1.0f;
	assert_in_range(small - product_ns(rig, F32, 32, NEURON_INST_TRANSPOSE,
					   NEURON_INST_TRANSPOSE),
			2 * 64 * 1000 / 2400, 2 * 64 * 1000 / 2400 + 1);
}

static void clock_may_be_off(void **state)
{
	struct neuron_hw_completion record;
	struct seq_rig rig;
	struct seq_job job;

	(void)state;
	seq_rig_init(&rig, &neuron_gen_trn3, 1, 1, false);
	seq_job_init(&job, &rig, 0, 0);
	seq_add(&job, SYNC, post_add(OP(NOP, 0), 1, 1));
	seq_add(&job, SYNC, wait_ge(OP(HALT, 0), 1, 1));
	record = seq_run(&job);
	assert_int_equal(record.status, NEURON_JOB_OK);
	assert_int_equal(record.start_ns, 0);
	assert_int_equal(record.end_ns, 0);
	seq_rig_destroy(&rig);
}

/* Two chips: each waits for the other's post, then goes on. */
static void meet(struct seq_job *job, struct seq_rig *rig, unsigned int chip,
		 unsigned int work)
{
	uint64_t peer;
	unsigned int i;

	seq_job_init(job, rig, chip, 0);
	peer = seq_sem_window(job, !chip, 0, 210);
	seq_add(job, SYNC, OP(REG_SET, .reg = { 1 }, .imm0 = 1));
	for (i = 0; i < work; i++)
		seq_add(job, SYNC, OP(NOP, 0));
	seq_add(job, SYNC, OP(REG_STORE, .reg = { 1 }, .addr = peer));
	seq_add(job, SYNC, take_ge(OP(NOP, 0), 210, 1));
	seq_add(job, SYNC, OP(HALT, 0));
}

static void peers_meet(void **state)
{
	struct neuron_hw_completion slow, fast;
	struct seq_job a, b;
	unsigned int round;

	for (round = 0; round < 30; round++) {
		meet(&a, *state, 0, 3);
		meet(&b, *state, 1, 100);
		seq_submit(&a);
		seq_submit(&b);
		fast = seq_wait(&a);
		slow = seq_wait(&b);
		assert_int_equal(fast.status, NEURON_JOB_OK);
		assert_int_equal(slow.status, NEURON_JOB_OK);
		/*
		 * b's 101 instructions and the hop, then two more on a; the cores
		 * end together or a little later than b, which did not wait.
		 */
		if (round)
			assert_int_equal(fast.end_ns - slow.start_ns,
					 (101 * (16 * 1000000ull / 1200) +
					  TRN_COST_HOP_PS +
					  2 * (16 * 1000000ull / 1200) + 999) / 1000);
	}
}

static void nap(long ns)
{
	const struct timespec pause = { .tv_nsec = ns };

	nanosleep(&pause, NULL);
}

/* A semaphore that a register write changes lets the job and its time go on. */
static void register_posts_let_jobs_end(void **state)
{
	struct seq_rig *rig = *state;
	struct trn_core *core = seq_core(rig, 0, 0);
	struct neuron_hw_completion record;
	struct seq_job job;

	seq_job_init(&job, rig, 0, 0);
	seq_add(&job, SYNC, post_add(OP(NOP, 0), 2, 1));
	seq_add(&job, SYNC, wait_ge(OP(HALT, 0), 1, 1));
	seq_submit(&job);
	while (trn_sem_value(core->sems, 2) != 1)
		nap(100000);
	trn_chip_mmio_write(rig->chip[0], neuron_tpb_bar0(&neuron_gen_trn2, 0) +
			    NEURON_TPB_SEM + NEURON_SEM_INC(1), 1, 4);
	record = seq_wait(&job);
	assert_int_equal(record.status, NEURON_JOB_OK);
	assert_int_equal(record.end_ns - record.start_ns,
			 (2 * (16 * 1000000ull / 1200) + 999) / 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(actors_run_side_by_side),
		cmocka_unit_test(waits_end_at_their_post),
		cmocka_unit_test(takers_compete_in_virtual_time),
		cmocka_unit_test(queues_serve_their_triggers),
		cmocka_unit_test(outside_posts_cost_nothing),
		cmocka_unit_test(posts_reach_another_job),
		cmocka_unit_test(mail_arrives_in_time),
		cmocka_unit_test(clearing_voids_earlier_posts),
		cmocka_unit_test(job_without_end_needs_bounded_memory),
		cmocka_unit_test(waits_bound_the_replay_up_to_a_limit),
		cmocka_unit_test(late_actors_bound_the_replay),
		cmocka_unit_test(traces_are_told_a_few_at_a_time),
		cmocka_unit_test(traces_without_room_are_counted),
		cmocka_unit_test(core_without_a_job_keeps_little_mail),
		cmocka_unit_test(costs_follow_the_guides),
		cmocka_unit_test(job_takes_the_time_of_its_instructions),
		cmocka_unit_test(simple_fp32_takes_half),
		cmocka_unit_test(clock_may_be_off),
		cmocka_unit_test(peers_meet),
		cmocka_unit_test(register_posts_let_jobs_end),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
