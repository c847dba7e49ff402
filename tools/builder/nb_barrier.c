// SPDX-License-Identifier: MIT
/*
 * Barriers: where all engines of a part of the program meet. Before a loop whose rounds cannot
 * overlap, at the end of each of its rounds and behind it they wait for each other and for all
 * transfers, and all semaphores begin at zero again. So what is in such a loop can be looked at as
 * if it were executed once, and counts need not survive rounds.
 *
 * One of the engines, the leader, waits for all others, and for the transfers. Then it lets them
 * go on, each by a semaphore of its own: an engine that is not in a loop waits behind it while
 * those in the loop meet in each round. For the same reason the leader behind a loop is one that
 * was in it: any other would take posts that are meant for the rounds.
 */
#include <string.h>

#include "nb_sync.h"

enum neuron_engine nb_leader(unsigned int engines)
{
	if (engines & NEURON_BIT(NEURON_ENGINE_SYNC))
		return NEURON_ENGINE_SYNC;
	return __builtin_ctz(engines);
}

/* The leader waits for event @seq of @actor. */
static int nb_wait_for(struct nb_order *order, enum neuron_engine leader, unsigned int actor,
		       uint32_t seq, unsigned int extra)
{
	const struct nb_actor *from = &order->actor[actor];
	struct nb_reason reason = { .pc = order->pc[leader], .engine = leader,
				    .actor = actor, .cause = NB_CAUSE_LOOP, .seq = seq };
	int64_t why = nb_reason_add(order, &reason);

	if (why < 0)
		return -1;
	if (seq != from->start)
		nb_order_wait_for(order, actor, seq);
	return nb_edit_add(order, leader,
			   (struct nb_edit){ .kind = NB_EDIT_WAIT, .actor = actor, .why = why,
					     .base = from->start, .seq = seq, .extra = extra });
}

/* The leader waits for all that @actor has done since all engines met. */
static int nb_wait_all(struct nb_order *order, enum neuron_engine leader, unsigned int actor,
		       unsigned int extra)
{
	const struct nb_actor *from = &order->actor[actor];
	uint32_t seq = from->seq;

	if (extra)
		return nb_wait_for(order, leader, actor, seq, extra);
	for (; order->clock[leader][actor] < seq; seq = nb_event_unsure(order, actor, seq)) {
		if (actor < NEURON_NR_ENGINES || !from->event[seq - 1].taken)
			return nb_wait_for(order, leader, actor, seq, 0);
		/* An engine that takes part has waited for it. */
		nb_event_ask(order, &from->event[seq - 1]);
	}
	return 0;
}

/* It has a part in this meeting. */
static bool nb_takes_part(const struct nb_order *order, unsigned int actor, unsigned int engines)
{
	if (actor < NEURON_NR_ENGINES)
		return engines & NEURON_BIT(actor);
	return order->actor[actor].seq != order->actor[actor].start;
}

/*
 * The semaphores begin at zero again only when all have arrived: until then others may wait for
 * what they say.
 */
static int nb_gather(struct nb_order *order, enum neuron_engine leader, unsigned int engines)
{
	const struct nb_edit arrive = { .kind = NB_EDIT_ARRIVE };
	unsigned int a, idle;

	for (a = 0; a < order->nr_actors; a++) {
		if (a == leader || !nb_takes_part(order, a, engines))
			continue;
		idle = order->actor[a].seq == order->actor[a].start;
		if (idle && nb_edit_add(order, a, arrive))
			return -1;
		if (nb_wait_all(order, leader, a, idle))
			return -1;
	}
	for (a = 0; a < order->nr_actors; a++) {
		struct nb_edit reset = { .kind = NB_EDIT_RESET, .actor = a,
					 .base = order->actor[a].start,
					 .seq = order->actor[a].seq };

		reset.extra = a != leader && reset.seq == reset.base;
		if (nb_takes_part(order, a, engines) && nb_edit_add(order, leader, reset))
			return -1;
	}
	return 0;
}

static int nb_release(struct nb_order *order, enum neuron_engine leader, unsigned int engines)
{
	struct nb_reason reason = { .actor = leader, .cause = NB_CAUSE_LOOP,
				    .seq = order->actor[leader].seq };
	struct nb_edit go = { 0 };
	unsigned int e;
	int64_t why;

	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		if (e == leader || !(engines & NEURON_BIT(e)))
			continue;
		reason.engine = e;
		reason.pc = order->pc[e];
		why = nb_reason_add(order, &reason);
		if (why < 0)
			return -1;
		go.kind = NB_EDIT_GO;
		go.actor = e;
		if (nb_edit_add(order, leader, go))
			return -1;
		go.kind = NB_EDIT_GO_TAKE;
		go.why = why;
		if (nb_edit_add(order, e, go))
			return -1;
	}
	return 0;
}

/* Everybody knows everything. */
static void nb_all_met(struct nb_order *order)
{
	unsigned int a, e;

	for (a = 0; a < order->nr_actors; a++) {
		order->actor[a].start = order->actor[a].seq;
		order->actor[a].nr_past = 0;
		order->over[a] = order->actor[a].seq;
		for (e = 0; e < NEURON_NR_ENGINES; e++)
			order->clock[e][a] = order->actor[a].seq;
	}
	memset(order->now, 0, sizeof(order->now));
	memset(order->acquired, 0, sizeof(order->acquired));
	order->nr_snaps = 1;
	order->met = true;
	nb_touched_forget(&order->touched);
}

/* @engines meet; the leader is one of @leaders. */
static int nb_barrier(struct nb_order *order, unsigned int engines, unsigned int leaders)
{
	enum neuron_engine leader = nb_leader(leaders);

	if (nb_gather(order, leader, engines) || nb_release(order, leader, engines))
		return -1;
	nb_all_met(order);
	return 0;
}

static int nb_edit_all(struct nb_order *order, unsigned int engines, struct nb_edit edit)
{
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++)
		if ((engines & NEURON_BIT(e)) && nb_edit_add(order, e, edit))
			return -1;
	return 0;
}

int nb_loop_begin(struct nb_order *order, const struct nb_turn *turn, unsigned int outside)
{
	nb_regs_forget(order);
	/* Where a branch was tested, its second part is next. */
	if (!turn->engines || turn->kind == NB_TURN_ELSE)
		return 0;
	if (!order->met && nb_barrier(order, outside, outside))
		return -1;
	return nb_edit_all(order, turn->engines,
			   (struct nb_edit){ .kind = turn->test ? NB_EDIT_WHILE_BEGIN :
								  NB_EDIT_LOOP_BEGIN,
					     .reg = turn->reg, .seq = turn->count });
}

unsigned int nb_end_edits(const struct nb_turn *turn, struct nb_edit edit[NB_END_EDITS])
{
	unsigned int count = 0;

	if (!turn->test)
		edit[count++] = (struct nb_edit){ .kind = NB_EDIT_LOOP_END, .reg = turn->reg };
	else if (turn->kind != NB_TURN_ELSE)
		edit[count++] = (struct nb_edit){
			.kind = turn->kind == NB_TURN_LOOP ? NB_EDIT_WHILE_END : NB_EDIT_THEN_END,
			.reg = turn->reg, .extra = turn->op, .actor = turn->with,
			.base = (uint32_t)turn->value,
		};
	if (turn->kind == NB_TURN_THEN || turn->kind == NB_TURN_ELSE)
		edit[count++] = (struct nb_edit){ .kind = NB_EDIT_BRANCH_END };
	return count;
}

int nb_loop_end(struct nb_order *order, const struct nb_turn *turn, unsigned int outside)
{
	struct nb_edit edit[NB_END_EDITS];
	unsigned int i, count = nb_end_edits(turn, edit);

	nb_regs_forget(order);
	if (!turn->engines)
		return 0;
	if (!order->met && nb_barrier(order, turn->engines, turn->engines))
		return -1;
	for (i = 0; i < count; i++)
		if (nb_edit_all(order, turn->engines, edit[i]))
			return -1;
	if (turn->kind == NB_TURN_THEN_ELSE)
		return 0;
	/* Those that are not in it have not waited for it. */
	return outside & ~turn->engines ? nb_barrier(order, outside, turn->engines) : 0;
}
