// SPDX-License-Identifier: MIT
/*
 * Loops whose rounds overlap, and branches. The body is gone through again and again, as if it had
 * been unrolled, until a round needs the same waits as the one before it, on instructions of its
 * own round or of the round before. These waits are then right in every round, and those on the
 * round before carry dependencies around the back edge.
 *
 * What the body needs of what was before the loop, an engine waits for before its first round.
 * Who needs something of the loop later waits until that engine has ended its last round.
 *
 * An inner loop is gone through in each round of the one around it: the first time until its own
 * waits are known, later once, for what it needs of the round that it is in.
 *
 * A branch is a loop with one round, and a loop with a test has perhaps none. So nothing that is
 * done or known in them stands for anything before them, and what they need of that is waited for
 * before the test. The second part of a branch sees nothing of the first one.
 */
#include <stdlib.h>
#include <string.h>

#include "nb_loop.h"

/* The rounds after which it is given up; two are enough as a rule. */
#define NB_MAX_ROUNDS	8

void nb_loop_refuse(struct nb_order *order)
{
	if (order->loop)
		order->loop->refused = true;
}

uint32_t nb_loop_seen(const struct nb_order *order, unsigned int actor, uint32_t seq)
{
	const struct nb_loop *loop;

	for (loop = order->loop; loop; loop = loop->around)
		if (loop->second && seq > loop->seq[actor] && seq <= loop->floor[actor])
			seq = loop->seq[actor];
	return seq;
}

/* From which event of its engine on @step has waited: behind an inner loop that it stands for. */
static uint32_t nb_taken_at(const struct nb_order *order, const struct nb_step *step)
{
	const struct nb_loop *child;

	if (!step->entry)
		return step->pc + order->shift[step->engine] + 1;
	child = order->loop->child[step->entry - 1];
	return child->seq[step->engine] + child->events[step->engine];
}

int nb_loop_wait(struct nb_order *order, const struct nb_step *step, unsigned int actor)
{
	const struct nb_need *need = &order->need[actor];
	struct nb_loop *loop = order->loop;
	struct nb_loop_waits *made = &loop->made[loop->round % 2];
	uint32_t number = need->seq - loop->seq[actor] - 1, round = 0;
	struct nb_need *before = &loop->before[step->engine][actor];
	struct nb_loop_wait *wait;
	struct nb_event *event;

	if (need->seq <= loop->seq[actor]) {
		if (!before->seq)
			loop->before_pc[step->engine][actor] = step->pc;
		if (before->seq < need->seq)
			*before = *need;
		return 0;
	}
	if (actor >= NEURON_NR_ENGINES) {
		event = &order->actor[actor].event[need->seq - 1];
		event->taker = step->engine;
		event->taken = nb_taken_at(order, step);
	}
	if (loop->known)
		return 0;
	if (loop->round) {
		round = number / loop->events[actor];
		number %= loop->events[actor];
	}
	if (loop->round - round > 1)
		loop->refused = true;
	wait = nb_grow(order->nb, (void **)&made->wait, made->count, &made->room,
		       sizeof(*wait));
	if (!wait)
		return -1;
	made->count++;
	*wait = (struct nb_loop_wait){ .area = need->area, .where = order->at, .pc = step->pc,
				       .at = number, .entry = step->entry,
				       .engine = step->engine, .actor = actor,
				       .cause = need->cause, .back = loop->round != round };
	return 0;
}

static bool nb_same_wait(const struct nb_loop_wait *a, const struct nb_loop_wait *b)
{
	return a->pc == b->pc && a->at == b->at && a->engine == b->engine &&
	       a->actor == b->actor && a->back == b->back && a->entry == b->entry;
}

static bool nb_same_waits(const struct nb_loop *loop)
{
	const struct nb_loop_waits *a = &loop->made[0], *b = &loop->made[1];
	size_t i;

	if (a->count != b->count)
		return false;
	for (i = 0; i < a->count; i++)
		if (!nb_same_wait(&a->wait[i], &b->wait[i]))
			return false;
	return true;
}

/* --- Rounds --- */

static void nb_loop_free(struct nb_loop *loop)
{
	size_t i;

	for (i = 0; i < loop->nr_children; i++)
		nb_loop_free(loop->child[i]);
	free(loop->child);
	free(loop->made[0].wait);
	free(loop->made[1].wait);
	free(loop);
}

/* The next loop in this round of @loop; NULL: no memory. */
static struct nb_loop *nb_loop_child(struct nb_order *order, struct nb_loop *loop,
				     const struct nb_turn *turn)
{
	struct nb_loop **place, *child;

	if (loop->next < loop->nr_children)
		return loop->child[loop->next++];
	place = nb_grow(order->nb, (void **)&loop->child, loop->nr_children, &loop->child_room,
			sizeof(*place));
	child = place ? calloc(1, sizeof(*child)) : NULL;
	if (!child) {
		nb_fail(order->nb, "out of memory");
		return NULL;
	}
	child->turn = turn;
	child->end = nb_turn_last(order->record, turn);
	child->around = loop;
	child->depth = loop->depth + 1;
	*place = child;
	loop->nr_children++;
	loop->next++;
	return child;
}

/* Engines know what they knew before the loop. */
static void nb_loop_forget(struct nb_order *order, const struct nb_loop *loop)
{
	unsigned int e;

	memcpy(order->clock, loop->clock, sizeof(order->clock));
	memcpy(order->done, loop->done, sizeof(order->done));
	memcpy(order->done_since, loop->done_since, sizeof(order->done_since));
	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		order->actor[e].nr_past = loop->nr_past[e];
		order->now[e] = 0;
		if (loop->nr_past[e])
			order->now[e] = order->actor[e].past[loop->nr_past[e] - 1].snap;
	}
	nb_regs_forget(order);
}

/*
 * The second part of a branch begins. An engine tells of the end of both parts at once, but which
 * transfers there were each part tells by itself.
 */
static void nb_loop_second(struct nb_order *order, struct nb_loop *loop)
{
	unsigned int a;

	for (a = 0; a < order->nr_actors; a++) {
		loop->floor[a] = order->actor[a].seq;
		loop->part[a] = loop->floor[a] - loop->seq[a];
	}
	memcpy(loop->part_pc, order->pc, sizeof(loop->part_pc));
	nb_touched_renumber(&order->touched, loop->seq, loop->floor);
	nb_loop_forget(order, loop);
	loop->second = true;
}

static int nb_loop_pass(struct nb_order *order, struct nb_loop *loop);

/* The loop or branch that @turn begins, in @loop. 1: done; 0: it cannot overlap; -1: an error. */
static int nb_loop_inner(struct nb_order *order, struct nb_loop *loop, const struct nb_turn *turn)
{
	struct nb_loop *child;

	if (!turn->engines)
		return 1;
	child = nb_loop_child(order, loop, turn);
	return child ? nb_loop_pass(order, child) : -1;
}

/* 1: gone through once; 0: a loop in it cannot overlap; -1: an error. */
static int nb_loop_body(struct nb_order *order, struct nb_loop *loop)
{
	const struct nb_turn *turn = loop->turn;
	size_t at = turn->at;
	int ret;

	loop->next = 0;
	loop->second = false;
	memcpy(loop->floor, loop->seq, sizeof(loop->floor));
	if (nb_turn_regs(order, turn))
		return -1;
	for (turn++;; turn++) {
		if (nb_order_range(order, at, turn->at))
			return -1;
		if (turn->begin) {
			ret = nb_loop_inner(order, loop, turn);
			if (ret <= 0)
				return ret;
			turn = nb_turn_last(order->record, turn);
		} else {
			if (nb_turn_regs(order, turn))
				return -1;
			if (turn == loop->end)
				return 1;
			nb_loop_second(order, loop);
			if (nb_turn_regs(order, ++turn))
				return -1;
		}
		at = turn->at;
	}
}

static int nb_loop_round(struct nb_order *order, struct nb_loop *loop)
{
	unsigned int a;
	int ret;

	if (!loop->known)
		loop->made[loop->round % 2].count = 0;
	order->first_tile = loop->first_tile;
	nb_regs_forget(order);
	ret = nb_loop_body(order, loop);
	if (ret <= 0)
		return ret;
	for (a = 0; a < order->nr_actors; a++) {
		if (!loop->round)
			loop->events[a] = order->actor[a].seq - loop->seq[a];
		if (a >= NEURON_NR_ENGINES)
			continue;
		order->pc[a] = loop->pc[a];
		order->shift[a] += loop->events[a];
	}
	loop->round++;
	return 1;
}

/* Everything is as it was before the loop; accesses of the loop are those of its end. */
static void nb_loop_rewind(struct nb_order *order, const struct nb_loop *loop,
			   const uint32_t *begin, const uint32_t *end)
{
	nb_touched_renumber(&order->touched, begin, end);
	memcpy(order->shift, loop->shift, sizeof(order->shift));
	nb_loop_forget(order, loop);
	order->first_tile = loop->first_tile;
}

/* The rounds do not overlap: the loop is to be gone through as others are. */
static void nb_loop_undo(struct nb_order *order, const struct nb_loop *loop)
{
	unsigned int a;

	nb_loop_rewind(order, loop, loop->seq, loop->seq);
	order->depth = loop->depth;
	order->counting = loop->counting;
	memcpy(order->pc, loop->pc, sizeof(order->pc));
	memcpy(order->acquired, loop->acquired, sizeof(order->acquired));
	memcpy(order->reg_set, loop->reg_set, sizeof(order->reg_set));
	memset(order->need, 0, sizeof(order->need));
	order->needs = 0;
	for (a = 0; a < order->nr_actors; a++)
		order->actor[a].seq = loop->seq[a];
	order->met = loop->met;
	/* Then everything that was before is over. */
	if (order->met)
		nb_touched_forget(&order->touched);
	nb_look_over(order);
}

/* --- Waits before the first round --- */

/* The engine that makes event @wait->at of its actor, and the instruction. */
static unsigned int nb_maker(const struct nb_order *order, const struct nb_loop *loop,
			     const struct nb_loop_wait *wait, uint32_t *pc)
{
	const struct nb_event *event;

	if (wait->actor < NEURON_NR_ENGINES) {
		*pc = loop->pc[wait->actor] + wait->at;
		return wait->actor;
	}
	event = &order->actor[wait->actor].event[loop->first_seq[wait->actor] + wait->at];
	*pc = event->pc;
	return event->engine;
}

/*
 * Who waits for something of its own round knows that its maker has begun, and what that one knew
 * by then of others. The waits are in the order of the calls, and so is what they are for.
 */
static void nb_find_begun(const struct nb_order *order, struct nb_loop *loop)
{
	unsigned int by, f;
	uint32_t pc;
	size_t i;

	memset(loop->since, 0xff, sizeof(loop->since));
	/* If there is no first round, nobody has waited for the others. */
	if (loop->turn->test)
		return;
	for (i = 0; i < loop->waits->count; i++) {
		const struct nb_loop_wait *wait = &loop->waits->wait[i];
		uint32_t *since = loop->since[wait->engine];

		if (wait->back)
			continue;
		by = nb_maker(order, loop, wait, &pc);
		for (f = 0; f < NEURON_NR_ENGINES; f++)
			if (wait->pc < since[f] && (f == by || loop->since[by][f] <= pc))
				since[f] = wait->pc;
	}
}

/*
 * Another engine knows of the same event when it begins its first round, and @engine waits for
 * something of that round before it needs to know. Those engines that come later will wait, and
 * then must not be spared for others.
 */
static bool nb_is_spared(const struct nb_order *order, struct nb_loop *loop,
			 enum neuron_engine engine, unsigned int actor)
{
	uint32_t seq = loop->before[engine][actor].seq;
	unsigned int by;

	if (seq <= order->clock[engine][actor] || loop->stays[engine][actor])
		return false;
	for (by = 0; by < NEURON_NR_ENGINES; by++) {
		if (by == engine ||
		    loop->since[engine][by] > loop->before_pc[engine][actor])
			continue;
		if (order->clock[by][actor] >= seq)
			return true;
		if (by < engine || loop->before[by][actor].seq < seq)
			continue;
		loop->stays[by][actor] = true;
		return true;
	}
	return false;
}

/* What engines have not waited for themselves they know behind the loop. */
static void nb_learn_spared(struct nb_order *order, const struct nb_loop *loop)
{
	unsigned int e, a;

	for (e = 0; e < NEURON_NR_ENGINES; e++)
		for (a = 0; a < order->nr_actors; a++)
			if (loop->spared[e][a] && order->clock[e][a] < loop->before[e][a].seq)
				order->clock[e][a] = loop->before[e][a].seq;
}

/*
 * Who has waited for something of its own round knows behind the loop what the engine that made it
 * knew when it began.
 */
static void nb_learn_begun(struct nb_order *order, const struct nb_loop *loop)
{
	uint32_t begun[NEURON_NR_ENGINES][NB_MAX_ACTORS];
	unsigned int e, f, a;

	memcpy(begun, order->clock, sizeof(begun));
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		for (f = 0; f < NEURON_NR_ENGINES; f++)
			for (a = 0; a < order->nr_actors && loop->since[e][f] != UINT32_MAX; a++)
				if (order->clock[e][a] < begun[f][a])
					order->clock[e][a] = begun[f][a];
}

/* What @engine needs before its first round. */
static void nb_loop_needs(struct nb_order *order, struct nb_loop *loop,
			  enum neuron_engine engine)
{
	unsigned int i, a;

	for (i = 0; i < order->nr_actors; i++) {
		struct nb_need need = loop->before[engine][i];

		loop->spared[engine][i] = nb_is_spared(order, loop, engine, i);
		if (loop->spared[engine][i])
			continue;
		a = i;
		nb_ask_taker(order, &a, &need.seq);
		if (a == engine || need.seq <= order->clock[engine][a])
			continue;
		/* Two engines of the loop wait for a transfer, which can tell one only. */
		if (need.seq > loop->seq[a])
			nb_loop_refuse(order);
		else if (order->need[a].seq < need.seq)
			nb_need_set(order, a, need);
	}
}

/* Engines wait for what the body needs of what was before the loop. */
static int nb_loop_before(struct nb_order *order, struct nb_loop *loop)
{
	unsigned int e;

	order->at = loop->turn->at;
	memset(loop->stays, 0, sizeof(loop->stays));
	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		struct nb_step step = { .engine = e, .pc = loop->pc[e], .actor = e,
					.entry = loop->around ? loop->around->next : 0 };

		nb_loop_needs(order, loop, e);
		if (nb_make_waits(order, &step))
			return -1;
	}
	nb_learn_begun(order, loop);
	nb_learn_spared(order, loop);
	return 0;
}

/* --- What the rounds wait for --- */

/* 1: the waits of all rounds are known; 0: they are not; -1: an error. */
static int nb_loop_rounds(struct nb_order *order, struct nb_loop *loop)
{
	int ret;

	while (loop->round < NB_MAX_ROUNDS && !loop->refused) {
		ret = nb_loop_round(order, loop);
		if (ret <= 0)
			return ret;
		/* What is executed once has no round before. */
		if (loop->known || loop->turn->count == 1 || loop->turn->kind != NB_TURN_LOOP)
			return !loop->refused;
		if (loop->round > 2 && !loop->refused && nb_same_waits(loop))
			return 1;
	}
	return 0;
}

/* --- What is known behind the loop --- */

/* The engine that knows at the end that transfer @at of @actor is over; -1: none. */
static int nb_loop_taker(const struct nb_loop *loop, unsigned int actor, uint32_t at)
{
	const struct nb_loop_waits *waits = loop->waits;
	size_t i;

	for (i = 0; i < waits->count; i++)
		if (waits->wait[i].actor == actor && waits->wait[i].at == at)
			return waits->wait[i].engine;
	return -1;
}

/*
 * Transfers that nobody waits for in the loop are counted, and waited for behind it by the engine
 * that starts them: but only if somebody asks for them. If the loop may not be executed, it waits
 * in each round.
 */
static int nb_drain_add(struct nb_order *order, struct nb_loop *loop, unsigned int part,
			unsigned int actor)
{
	uint32_t last = loop->seq[actor] + nb_part_end(loop, part, actor);
	struct nb_drain *drain;

	if (loop->drain[part][actor])
		return 0;
	drain = nb_grow(order->nb, (void **)&order->drain, order->nr_drains, &order->drain_room,
			sizeof(*drain));
	if (!drain)
		return -1;
	*drain = (struct nb_drain){ .event = last, .actor = actor, .depth = loop->depth,
				    .count = loop->turn->test ? 1 : loop->turn->count,
				    .taker = order->actor[actor].event[last - 1].engine };
	loop->drain[part][actor] = ++order->nr_drains;
	return 0;
}

/*
 * Behind the loop one engine knows that the transfers of @actor are over; others ask it. If the
 * last one is in an inner loop, it is the one that knows behind that. @first: the last event before
 * @part, which has some.
 */
static int nb_loop_settle_queue(struct nb_order *order, struct nb_loop *loop, unsigned int part,
				unsigned int actor, uint32_t first)
{
	uint32_t at = nb_part_end(loop, part, actor), last = loop->seq[actor] + at, drain = 0, i;
	struct nb_event *event = &order->actor[actor].event[last - 1];
	int taker = nb_loop_taker(loop, actor, at - 1);

	if (taker < 0 && event->taken && !loop->drain[part][actor]) {
		taker = event->taker;
		drain = event->drain;
	} else if (taker < 0) {
		if (nb_drain_add(order, loop, part, actor))
			return -1;
		drain = loop->drain[part][actor];
		taker = order->drain[drain - 1].taker;
	}
	if (loop->turn->test)
		event->unsure = first;
	if (!drain && order->clock[taker][actor] >= event->unsure)
		order->clock[taker][actor] = last;
	for (i = first; i < last; i++) {
		event = &order->actor[actor].event[i];
		event->taker = taker;
		event->taken = loop->seq[taker] + loop->events[taker];
		event->drain = drain;
	}
	return 0;
}

static int nb_loop_settle_queues(struct nb_order *order, struct nb_loop *loop)
{
	uint32_t first, last;
	unsigned int a, part;

	for (a = NEURON_NR_ENGINES; a < order->nr_actors; a++)
		for (part = 0, first = loop->seq[a]; part < nb_loop_parts(loop); part++) {
			last = loop->seq[a] + nb_part_end(loop, part, a);
			if (last > first && nb_loop_settle_queue(order, loop, part, a, first))
				return -1;
			first = last;
		}
	return 0;
}

/*
 * A queue has transfers in a part which the last one of the part does not stand for, because it may
 * not be executed.
 */
static bool nb_is_unsettled(const struct nb_order *order, const struct nb_loop *loop)
{
	uint32_t first, last;
	unsigned int a, part;

	for (a = NEURON_NR_ENGINES; a < order->nr_actors; a++)
		for (part = 0, first = loop->seq[a]; part < nb_loop_parts(loop); part++) {
			last = loop->seq[a] + nb_part_end(loop, part, a);
			if (last > first && order->actor[a].event[last - 1].unsure > first)
				return true;
			first = last;
		}
	return false;
}

/*
 * What engines know of the last round when they have taken the posts that it has left. Who knows
 * the last event that touches something knows that all is over what that actor has touched. What
 * waits in a round have told of the same round they tell in each.
 */
static void nb_loop_last_round(const struct nb_order *order, struct nb_loop *loop)
{
	const struct nb_loop_waits *waits = loop->waits;
	uint32_t begin[NB_MAX_ACTORS];
	unsigned int a, e;
	size_t i;

	for (a = 0; a < order->nr_actors; a++)
		begin[a] = loop->seq[a] + (loop->round - 1) * loop->events[a];
	memcpy(loop->knows, order->clock, sizeof(loop->knows));
	for (i = 0; i < waits->count; i++) {
		const struct nb_loop_wait *wait = &waits->wait[i];

		if (wait->back)
			nb_event_knows(order, wait->actor, begin[wait->actor] + wait->at + 1,
				       loop->knows[wait->engine]);
	}
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		for (a = 0; a < order->nr_actors; a++)
			loop->knows[e][a] -= loop->knows[e][a] < begin[a] ? loop->knows[e][a] :
									    begin[a];
	nb_touched_last(&order->touched, loop->seq, loop->events, order->nr_actors, loop->last);
}

static void nb_loop_done(struct nb_order *order, const struct nb_loop *loop,
			 enum neuron_engine e)
{
	const struct nb_actor *actor;
	unsigned int a;

	for (a = 0; a < order->nr_actors; a++) {
		actor = &order->actor[a];
		if (!loop->last[a] || a == e || loop->knows[e][a] < loop->last[a])
			continue;
		if (a >= NEURON_NR_ENGINES && actor->event[actor->seq - 1].unsure)
			continue;
		order->done[e][a] = actor->seq;
		order->done_since[e] = order->actor[e].seq;
	}
}

/*
 * Behind the loop. That an engine has seen the last instruction of another one does not count as
 * knowledge: the event that stands for all of the loop comes later.
 */
static int nb_loop_settle(struct nb_order *order, struct nb_loop *loop)
{
	unsigned int a, e;

	if (nb_loop_settle_queues(order, loop))
		return -1;
	for (a = 0; a < order->nr_actors; a++) {
		order->actor[a].seq = loop->seq[a] + loop->events[a];
		if (order->acquired[a] > loop->seq[a])
			order->acquired[a] = order->actor[a].seq;
	}
	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		if (!(loop->turn->engines & NEURON_BIT(e)))
			continue;
		order->pc[e] = loop->pc[e] + loop->events[e];
		order->clock[e][e] = order->actor[e].seq;
		if (!loop->turn->test)
			nb_loop_done(order, loop, e);
		if (nb_clock_keep(order, e, order->actor[e].seq))
			return -1;
	}
	order->met = false;
	nb_look_over(order);
	return 0;
}

/* --- All --- */

static void nb_loop_enter(struct nb_order *order, struct nb_loop *loop)
{
	unsigned int a;

	for (a = 0; a < order->nr_actors; a++)
		loop->seq[a] = order->actor[a].seq;
	for (a = 0; a < NEURON_NR_ENGINES; a++)
		loop->nr_past[a] = order->actor[a].nr_past;
	memcpy(loop->pc, order->pc, sizeof(loop->pc));
	memcpy(loop->shift, order->shift, sizeof(loop->shift));
	memcpy(loop->clock, order->clock, sizeof(loop->clock));
	memcpy(loop->done, order->done, sizeof(loop->done));
	memcpy(loop->done_since, order->done_since, sizeof(loop->done_since));
	memcpy(loop->acquired, order->acquired, sizeof(loop->acquired));
	memcpy(loop->reg_set, order->reg_set, sizeof(loop->reg_set));
	memset(loop->before, 0, sizeof(loop->before));
	loop->counting = order->counting;
	loop->first_tile = order->first_tile;
	loop->met = order->met;
	loop->round = 0;
	order->loop = loop;
	loop->floor_around = order->touched.floor;
	if (loop->turn->test)
		order->touched.floor = loop->floor;
}

static void nb_loop_leave(struct nb_order *order, const struct nb_loop *loop)
{
	order->loop = loop->around;
	order->touched.floor = loop->floor_around;
}

/* The waits of its rounds, from which those of all rounds follow. False: they do not. */
static bool nb_loop_learn(const struct nb_order *order, struct nb_loop *loop)
{
	if (loop->known)
		return true;
	loop->waits = &loop->made[(loop->round + 1) % 2];
	memcpy(loop->first_seq, loop->seq, sizeof(loop->seq));
	loop->known = nb_channels_fit(&loop->channels, loop->waits) &&
		      !nb_is_unsettled(order, loop);
	if (loop->known) {
		nb_find_begun(order, loop);
		nb_loop_last_round(order, loop);
	}
	return loop->known;
}

/* Once through a loop, with all of its rounds. 1: done; 0: they cannot overlap; -1: an error. */
static int nb_loop_pass(struct nb_order *order, struct nb_loop *loop)
{
	uint32_t begin[NB_MAX_ACTORS], end[NB_MAX_ACTORS];
	unsigned int a;
	int ret;

	if (loop->depth >= NB_LOOP_DEPTH)
		return 0;
	nb_loop_enter(order, loop);
	ret = nb_loop_rounds(order, loop);
	nb_loop_leave(order, loop);
	if (ret <= 0 || !nb_loop_learn(order, loop))
		return ret < 0 ? -1 : 0;
	for (a = 0; a < order->nr_actors; a++) {
		begin[a] = loop->seq[a];
		if (a >= NEURON_NR_ENGINES && loop->second)
			begin[a] = loop->floor[a];
		end[a] = loop->seq[a] + loop->events[a];
	}
	nb_loop_rewind(order, loop, begin, end);
	if (nb_loop_before(order, loop) || nb_loop_settle(order, loop))
		return -1;
	return 1;
}

int nb_loop_overlap(struct nb_order *order, const struct nb_turn *turn)
{
	struct nb_loop *loop;
	int ret;

	/* Where a branch begins, both of its parts have been looked at. */
	if (order->depth >= NB_LOOP_DEPTH || turn->kind == NB_TURN_ELSE)
		return 0;
	loop = calloc(1, sizeof(*loop));
	if (!loop)
		return nb_fail(order->nb, "out of memory");
	loop->turn = turn;
	loop->end = nb_turn_last(order->record, turn);
	loop->depth = order->depth;
	ret = nb_loop_pass(order, loop);
	if (ret > 0 && nb_loop_write(order, loop))
		ret = -1;
	if (!ret)
		nb_loop_undo(order, loop);
	nb_loop_free(loop);
	return ret;
}
