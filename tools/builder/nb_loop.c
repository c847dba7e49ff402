// SPDX-License-Identifier: MIT
/*
 * Loops whose rounds overlap: those without another loop in them. The body is gone through again
 * and again, as if it had been unrolled, until a round needs the same waits as the one before it,
 * on instructions of its own round or of the round before. These waits are then right in every
 * round, and those on the round before carry dependencies around the back edge.
 *
 * Counts that only grow would have to be compared with another number in each round. So in a
 * loop each pair of an actor and an engine that waits for it has a semaphore, a channel: one post
 * for each wait, which takes it. A wait on the round before finds a post in the first round that
 * was made before the loop, and behind the loop such a post is left and taken.
 *
 * What the body needs of the program before the loop, an engine waits for before its first round.
 * Who needs something of the loop later waits until that engine has ended its last round.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "nb_sync.h"

/* The rounds after which it is given up; two are enough as a rule. */
#define NB_MAX_ROUNDS	8

/**
 * struct nb_loop_wait - a wait in a round
 * @pc: of the instruction that waits
 * @at: event of @actor, counted in its round
 * @back: of the round before
 */
struct nb_loop_wait {
	struct nb_area area;
	uint32_t pc;
	uint32_t at;
	uint8_t engine;
	uint8_t actor;
	uint8_t cause;
	bool back;
};

struct nb_loop_waits {
	struct nb_loop_wait *wait;
	size_t count;
	size_t room;
};

/**
 * struct nb_loop - that is gone through
 * @pc, @seq, @clock, @acquired, @nr_past, @met: at its begin
 * @events: of each actor, in a round
 * @before: what each engine needs of the program before the loop
 * @made: by the round under way, and by the one before it
 * @refused: the rounds cannot overlap
 */
struct nb_loop {
	const struct nb_turn *turn;
	uint32_t pc[NEURON_NR_ENGINES];
	uint32_t seq[NB_MAX_ACTORS];
	uint32_t clock[NEURON_NR_ENGINES][NB_MAX_ACTORS];
	uint32_t acquired[NB_MAX_ACTORS];
	size_t nr_past[NEURON_NR_ENGINES];
	bool met;
	uint32_t events[NB_MAX_ACTORS];
	struct nb_need before[NEURON_NR_ENGINES][NB_MAX_ACTORS];
	size_t first_tile;
	unsigned int round;
	struct nb_loop_waits made[2];
	bool refused;
};

void nb_loop_refuse(struct nb_order *order)
{
	if (order->loop)
		order->loop->refused = true;
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
		if (before->seq < need->seq)
			*before = *need;
		return 0;
	}
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
	*wait = (struct nb_loop_wait){ .area = need->area, .pc = step->pc, .at = number,
				       .engine = step->engine, .actor = actor,
				       .cause = need->cause, .back = loop->round != round };
	if (actor < NEURON_NR_ENGINES)
		return 0;
	event = &order->actor[actor].event[need->seq - 1];
	event->taker = step->engine;
	event->taken = step->pc + order->shift[step->engine] + 1;
	return 0;
}

static bool nb_same_wait(const struct nb_loop_wait *a, const struct nb_loop_wait *b)
{
	return a->pc == b->pc && a->at == b->at && a->engine == b->engine &&
	       a->actor == b->actor && a->back == b->back;
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

static int nb_loop_round(struct nb_order *order, struct nb_loop *loop)
{
	unsigned int a;

	loop->made[loop->round % 2].count = 0;
	order->first_tile = loop->first_tile;
	nb_regs_forget(order);
	if (nb_order_range(order, loop->turn[0].at, loop->turn[1].at))
		return -1;
	for (a = 0; a < order->nr_actors; a++) {
		if (!loop->round)
			loop->events[a] = order->actor[a].seq - loop->seq[a];
		if (a >= NEURON_NR_ENGINES)
			continue;
		order->pc[a] = loop->pc[a];
		order->shift[a] += loop->events[a];
	}
	loop->round++;
	return 0;
}

/* Everything is as it was before the loop; accesses of the loop are those of its end. */
static void nb_loop_rewind(struct nb_order *order, const struct nb_loop *loop,
			   const uint32_t *end)
{
	unsigned int a;

	order->loop = NULL;
	nb_touched_renumber(&order->touched, loop->seq, end);
	memset(order->shift, 0, sizeof(order->shift));
	memcpy(order->clock, loop->clock, sizeof(order->clock));
	for (a = 0; a < NEURON_NR_ENGINES; a++) {
		order->actor[a].nr_past = loop->nr_past[a];
		order->now[a] = 0;
		if (loop->nr_past[a])
			order->now[a] = order->actor[a].past[loop->nr_past[a] - 1].snap;
	}
	order->first_tile = loop->first_tile;
	nb_regs_forget(order);
}

/* The rounds do not overlap: the loop is to be gone through as others are. */
static void nb_loop_undo(struct nb_order *order, const struct nb_loop *loop)
{
	unsigned int a;

	nb_loop_rewind(order, loop, loop->seq);
	memcpy(order->pc, loop->pc, sizeof(order->pc));
	memcpy(order->acquired, loop->acquired, sizeof(order->acquired));
	memset(order->need, 0, sizeof(order->need));
	for (a = 0; a < order->nr_actors; a++)
		order->actor[a].seq = loop->seq[a];
	order->met = loop->met;
	/* Then everything that was before is over. */
	if (order->met)
		nb_touched_forget(&order->touched);
	nb_look_over(order);
}

/* Engines wait for what the body needs of the program before it. */
static int nb_loop_before(struct nb_order *order, const struct nb_loop *loop)
{
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		struct nb_step step = { .engine = e, .pc = loop->pc[e], .actor = e };

		memcpy(order->need, loop->before[e], sizeof(order->need));
		if (nb_make_waits(order, &step))
			return -1;
	}
	return 0;
}

/* 1: the waits of all rounds are known; 0: they are not; -1: an error. */
static int nb_loop_rounds(struct nb_order *order, struct nb_loop *loop)
{
	while (loop->round < NB_MAX_ROUNDS && !loop->refused) {
		if (nb_loop_round(order, loop))
			return -1;
		if (loop->round > 2 && !loop->refused && nb_same_waits(loop))
			return 1;
	}
	return 0;
}

/* --- Channels --- */

/**
 * struct nb_channels - of a loop
 * @left: posts that go around the back edge
 * @next: waits must be on this event or a later one
 * @first_back: and if they are of the same round, on one before this
 */
struct nb_channels {
	uint32_t left[NB_MAX_ACTORS][NEURON_NR_ENGINES];
	uint32_t next[NB_MAX_ACTORS][NEURON_NR_ENGINES];
	uint32_t first_back[NB_MAX_ACTORS][NEURON_NR_ENGINES];
	bool same[NB_MAX_ACTORS][NEURON_NR_ENGINES];
};

/* Posts are taken in the order in which they are made. */
static bool nb_channels_fit(struct nb_channels *channels, const struct nb_loop_waits *made)
{
	size_t i;

	memset(channels, 0, sizeof(*channels));
	memset(channels->first_back, 0xff, sizeof(channels->first_back));
	for (i = 0; i < made->count; i++) {
		const struct nb_loop_wait *wait = &made->wait[i];
		unsigned int a = wait->actor, e = wait->engine;

		if (wait->back && channels->same[a][e])
			return false;
		if (!wait->back && !channels->same[a][e]) {
			channels->same[a][e] = true;
			channels->next[a][e] = 0;
		}
		if (wait->at < channels->next[a][e] ||
		    (!wait->back && wait->at >= channels->first_back[a][e]))
			return false;
		if (wait->back && !channels->left[a][e]++)
			channels->first_back[a][e] = wait->at;
		channels->next[a][e] = wait->at + 1;
	}
	return true;
}

static int nb_channel(struct nb_order *order, unsigned int actor, enum neuron_engine e)
{
	int *sem = &order->channel[actor][e];

	if (*sem < 0)
		*sem = nb_sem(order->nb, false);
	return *sem;
}

/* The end of transfer @event of @actor posts @sem. */
static void nb_loop_landed(struct nb_order *order, unsigned int actor, uint32_t seq, int sem)
{
	const struct nb_event *event = &order->actor[actor].event[seq - 1];
	struct neuron_inst *inst = &order->nb->stream[event->engine].inst[event->pc];

	inst->mode |= htole16(NEURON_INST_LANDED >> 8);
	nb_post(inst, sem, 1);
}

/* Whoever @wait is for posts. */
static int nb_loop_post(struct nb_order *order, const struct nb_loop *loop,
			const struct nb_loop_wait *wait, int sem)
{
	struct nb_links *links;
	struct nb_link *link;

	if (wait->actor >= NEURON_NR_ENGINES) {
		nb_loop_landed(order, wait->actor, loop->seq[wait->actor] + wait->at + 1, sem);
		return 0;
	}
	links = &order->links[wait->actor];
	link = nb_grow(order->nb, (void **)&links->link, links->count, &links->room,
		       sizeof(*link));
	if (!link)
		return -1;
	link->pc = loop->pc[wait->actor] + wait->at;
	link->sem = sem;
	links->count++;
	return 0;
}

static int nb_loop_take(struct nb_order *order, struct nb_reason reason, int sem, uint32_t value)
{
	int64_t why = nb_reason_add(order, &reason);

	if (why < 0)
		return -1;
	return nb_edit_at(order, reason.engine, reason.pc,
			  (struct nb_edit){ .kind = NB_EDIT_TAKE, .actor = sem, .seq = value,
					    .why = why });
}

static int nb_loop_body(struct nb_order *order, const struct nb_loop *loop,
			const struct nb_loop_waits *made)
{
	size_t i;

	for (i = 0; i < made->count; i++) {
		const struct nb_loop_wait *wait = &made->wait[i];
		struct nb_reason reason = { .area = wait->area, .pc = wait->pc,
					    .engine = wait->engine, .actor = wait->actor,
					    .cause = wait->cause,
					    .seq = loop->seq[wait->actor] + wait->at + 1 };
		int sem = nb_channel(order, wait->actor, wait->engine);

		if (sem < 0 || nb_loop_post(order, loop, wait, sem) ||
		    nb_loop_take(order, reason, sem, 1))
			return -1;
	}
	return 0;
}

static int nb_loop_head(struct nb_order *order, const struct nb_loop *loop,
			const struct nb_channels *channels)
{
	struct nb_edit begin = { .kind = NB_EDIT_LOOP_BEGIN, .reg = loop->turn->reg,
				 .seq = loop->turn->count, .extra = 1 };
	struct nb_edit post = { .kind = NB_EDIT_POST };
	unsigned int a, e;
	int sem;

	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		if (!(loop->turn->engines & NEURON_BIT(e)))
			continue;
		for (a = 0; a < order->nr_actors; a++) {
			if (!channels->left[a][e])
				continue;
			sem = nb_channel(order, a, e);
			if (sem < 0)
				return -1;
			post.actor = sem;
			post.seq = channels->left[a][e];
			if (nb_edit_at(order, e, loop->pc[e], post))
				return -1;
		}
		if (nb_edit_at(order, e, loop->pc[e], begin))
			return -1;
	}
	return 0;
}

/* What is left in the channels is taken. */
static int nb_loop_tail(struct nb_order *order, const struct nb_loop *loop,
			const struct nb_channels *channels)
{
	struct nb_edit end = { .kind = NB_EDIT_LOOP_END, .reg = loop->turn->reg };
	struct nb_reason reason = { .cause = NB_CAUSE_LOOP };
	unsigned int a, e;

	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		if (!(loop->turn->engines & NEURON_BIT(e)))
			continue;
		reason.engine = e;
		reason.pc = loop->pc[e] + loop->events[e];
		if (nb_edit_at(order, e, reason.pc, end))
			return -1;
		for (a = 0; a < order->nr_actors; a++) {
			reason.actor = a;
			reason.seq = loop->seq[a] + loop->events[a];
			if (channels->left[a][e] &&
			    nb_loop_take(order, reason, order->channel[a][e],
					 channels->left[a][e]))
				return -1;
		}
	}
	return 0;
}

/* The engine that knows at the end that the last transfer of @actor is over; -1: none. */
static int nb_loop_taker(const struct nb_loop *loop, const struct nb_loop_waits *made,
			 unsigned int actor)
{
	size_t i;

	for (i = 0; i < made->count; i++)
		if (made->wait[i].actor == actor &&
		    made->wait[i].at == loop->events[actor] - 1)
			return made->wait[i].engine;
	return -1;
}

/* Transfers that nobody waits for in the loop are counted, and waited for behind it. */
static int nb_loop_count(struct nb_order *order, const struct nb_loop *loop, unsigned int actor,
			 enum neuron_engine e)
{
	struct nb_reason reason = { .engine = e, .actor = actor, .cause = NB_CAUSE_LOOP,
				    .pc = loop->pc[e] + loop->events[e],
				    .seq = loop->seq[actor] + loop->events[actor] };
	int *sem = &order->drain[actor];

	if (*sem < 0)
		*sem = nb_sem(order->nb, false);
	if (*sem < 0)
		return -1;
	nb_loop_landed(order, actor, reason.seq, *sem);
	return nb_loop_take(order, reason, *sem, loop->turn->count);
}

/* Behind the loop one engine knows that the transfers of @actor are over; others ask it. */
static int nb_loop_drain(struct nb_order *order, const struct nb_loop *loop,
			 const struct nb_loop_waits *made, unsigned int actor)
{
	int taker = nb_loop_taker(loop, made, actor);
	struct nb_event *event;
	uint32_t i;

	if (taker < 0) {
		taker = nb_leader(loop->turn->engines);
		if (nb_loop_count(order, loop, actor, taker))
			return -1;
	}
	for (i = 0; i < loop->events[actor]; i++) {
		event = &order->actor[actor].event[loop->seq[actor] + i];
		event->taker = taker;
		event->taken = loop->seq[taker] + loop->events[taker];
	}
	order->clock[taker][actor] = loop->seq[actor] + loop->events[actor];
	return 0;
}

static int nb_loop_drain_all(struct nb_order *order, const struct nb_loop *loop,
			     const struct nb_loop_waits *made)
{
	unsigned int a;

	for (a = NEURON_NR_ENGINES; a < order->nr_actors; a++)
		if (loop->events[a] && nb_loop_drain(order, loop, made, a))
			return -1;
	return 0;
}

/*
 * Behind the loop. That an engine has seen the last instruction of another one does not count as
 * knowledge: the event that stands for all of the loop comes later.
 */
static int nb_loop_settle(struct nb_order *order, const struct nb_loop *loop)
{
	const struct nb_edit done = { .kind = NB_EDIT_LOOP_DONE };
	unsigned int a, e;

	for (a = 0; a < order->nr_actors; a++) {
		order->actor[a].seq = loop->seq[a] + loop->events[a];
		if (order->acquired[a] > loop->seq[a])
			order->acquired[a] = order->actor[a].seq;
	}
	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		if (!(loop->turn->engines & NEURON_BIT(e)))
			continue;
		order->pc[e] = order->actor[e].seq;
		order->clock[e][e] = order->actor[e].seq;
		if (nb_clock_keep(order, e, order->actor[e].seq) ||
		    nb_edit_add(order, e, done))
			return -1;
	}
	order->met = false;
	nb_look_over(order);
	return 0;
}

static int nb_by_pc(const void *a, const void *b)
{
	const struct nb_link *x = a, *y = b;

	return x->pc != y->pc ? (x->pc > y->pc) - (x->pc < y->pc) :
				(x->sem > y->sem) - (x->sem < y->sem);
}

static int nb_loop_write(struct nb_order *order, const struct nb_loop *loop,
			 const struct nb_channels *channels, const struct nb_loop_waits *made)
{
	size_t first[NEURON_NR_ENGINES];
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++)
		first[e] = order->links[e].count;
	if (nb_loop_before(order, loop) || nb_loop_head(order, loop, channels) ||
	    nb_loop_body(order, loop, made) || nb_loop_tail(order, loop, channels) ||
	    nb_loop_drain_all(order, loop, made) || nb_loop_settle(order, loop))
		return -1;
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		if (order->links[e].count > first[e])
			qsort(order->links[e].link + first[e],
			      order->links[e].count - first[e], sizeof(struct nb_link),
			      nb_by_pc);
	return 0;
}

/* --- All --- */

static int nb_loop_try(struct nb_order *order, struct nb_loop *loop)
{
	const struct nb_loop_waits *made;
	struct nb_channels channels;
	int known = nb_loop_rounds(order, loop);
	uint32_t end[NB_MAX_ACTORS];
	unsigned int a;

	if (known < 0)
		return -1;
	made = &loop->made[(loop->round + 1) % 2];
	if (!known || loop->refused || !nb_channels_fit(&channels, made)) {
		nb_loop_undo(order, loop);
		return 0;
	}
	for (a = 0; a < order->nr_actors; a++)
		end[a] = loop->seq[a] + loop->events[a];
	nb_loop_rewind(order, loop, end);
	return nb_loop_write(order, loop, &channels, made) ? -1 : 1;
}

int nb_loop_overlap(struct nb_order *order, const struct nb_turn *turn)
{
	struct nb_loop loop = { .turn = turn, .first_tile = order->first_tile,
				.met = order->met };
	unsigned int a;
	int ret;

	for (a = 0; a < order->nr_actors; a++)
		loop.seq[a] = order->actor[a].seq;
	for (a = 0; a < NEURON_NR_ENGINES; a++)
		loop.nr_past[a] = order->actor[a].nr_past;
	memcpy(loop.pc, order->pc, sizeof(loop.pc));
	memcpy(loop.clock, order->clock, sizeof(loop.clock));
	memcpy(loop.acquired, order->acquired, sizeof(loop.acquired));
	order->loop = &loop;
	ret = nb_loop_try(order, &loop);
	order->loop = NULL;
	free(loop.made[0].wait);
	free(loop.made[1].wait);
	return ret;
}
