// SPDX-License-Identifier: MIT
/*
 * Waits and posts of loops whose rounds overlap, and of branches.
 *
 * Counts that only grow would have to be compared with another number in each round. So in a
 * loop each pair of an actor and an engine that waits for it has a semaphore, a channel: one post
 * for each wait, which takes it. A wait on the round before finds a post in the first round that
 * was made before the loop, and behind the loop such a post is left and taken. So a channel is
 * empty outside of its loop, and all loops of a depth share theirs.
 *
 * Of an inner loop the one around it sees the waits before its first round, and the end of each
 * engine's last one.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "nb_loop.h"

bool nb_channels_fit(struct nb_channels *channels, const struct nb_loop_waits *waits)
{
	size_t i;

	memset(channels, 0, sizeof(*channels));
	memset(channels->first_back, 0xff, sizeof(channels->first_back));
	for (i = 0; i < waits->count; i++) {
		const struct nb_loop_wait *wait = &waits->wait[i];
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

static int nb_sem_once(struct nb_order *order, int *sem)
{
	if (*sem < 0)
		*sem = nb_sem(order->nb, false);
	return *sem;
}

static int nb_channel(struct nb_order *order, const struct nb_loop *loop, unsigned int actor,
		      enum neuron_engine e)
{
	return nb_sem_once(order, &order->channel[loop->depth][actor][e]);
}

/* The end of transfer @event of @actor posts @sem. */
static void nb_loop_landed(struct nb_order *order, unsigned int actor, uint32_t seq, int sem)
{
	const struct nb_event *event = &order->actor[actor].event[seq - 1];
	struct neuron_inst *inst = &order->nb->stream[event->engine].inst[event->pc];

	inst->mode |= htole16(NEURON_INST_LANDED >> 8);
	nb_post(inst, sem, 1);
}

/* Behind the last round of an inner loop of @loop that engine @wait->actor is in. */
static bool nb_is_end_of(const struct nb_loop *loop, const struct nb_loop *child,
			 const struct nb_loop_wait *wait)
{
	unsigned int e = wait->actor;

	return e < NEURON_NR_ENGINES && (child->turn->engines & NEURON_BIT(e)) &&
	       loop->pc[e] + wait->at + 1 == child->pc[e] + child->events[e];
}

static bool nb_is_end(const struct nb_loop *loop, const struct nb_loop_wait *wait)
{
	size_t i;

	for (i = 0; i < loop->nr_children; i++)
		if (nb_is_end_of(loop, loop->child[i], wait))
			return true;
	return false;
}

/* Whoever @wait is for posts. */
static int nb_loop_post(struct nb_order *order, const struct nb_loop *loop,
			const struct nb_loop_wait *wait, int sem)
{
	struct nb_links *links;
	struct nb_link *link;

	if (wait->actor >= NEURON_NR_ENGINES) {
		nb_loop_landed(order, wait->actor, loop->first_seq[wait->actor] + wait->at + 1,
			       sem);
		return 0;
	}
	if (nb_is_end(loop, wait))
		return 0;
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

static int nb_loop_write_wait(struct nb_order *order, const struct nb_loop *loop,
			      const struct nb_loop_wait *wait)
{
	struct nb_reason reason = { .area = wait->area, .pc = wait->pc,
				    .engine = wait->engine, .actor = wait->actor,
				    .cause = wait->cause,
				    .seq = loop->first_seq[wait->actor] + wait->at + 1 };
	int sem = nb_channel(order, loop, wait->actor, wait->engine);

	if (sem < 0 || nb_loop_post(order, loop, wait, sem))
		return -1;
	return nb_loop_take(order, reason, sem, 1);
}

/* Posts of an engine that has ended an inner loop. */
static int nb_loop_ended(struct nb_order *order, const struct nb_loop *loop,
			 const struct nb_loop *child)
{
	struct nb_edit post = { .kind = NB_EDIT_POST, .seq = 1 };
	size_t i;

	for (i = 0; i < loop->waits->count; i++) {
		const struct nb_loop_wait *wait = &loop->waits->wait[i];
		unsigned int e = wait->actor;
		int sem;

		if (!nb_is_end_of(loop, child, wait))
			continue;
		sem = nb_channel(order, loop, e, wait->engine);
		post.actor = sem;
		if (sem < 0 || nb_edit_at(order, e, child->pc[e] + child->events[e], post))
			return -1;
	}
	return 0;
}

/* What ends at @turn ends before instruction @pc of the engine. */
static int nb_loop_end_part(struct nb_order *order, const struct nb_turn *turn,
			    enum neuron_engine e, uint32_t pc)
{
	struct nb_edit edit[NB_END_EDITS];
	unsigned int i, count = nb_end_edits(turn, edit);

	for (i = 0; i < count; i++)
		if (nb_edit_at(order, e, pc, edit[i]))
			return -1;
	return 0;
}

static int nb_loop_write_drains(struct nb_order *order, const struct nb_loop *loop,
				unsigned int part, const uint32_t *pc)
{
	struct nb_edit edit = { .kind = NB_EDIT_DRAIN };
	unsigned int a, taker;

	for (a = NEURON_NR_ENGINES; a < order->nr_actors; a++) {
		if (!loop->drain[part][a])
			continue;
		edit.seq = loop->drain[part][a] - 1;
		taker = order->drain[edit.seq].taker;
		if (nb_edit_at(order, taker, pc[taker], edit))
			return -1;
	}
	return 0;
}

/* Between the parts of a branch. */
static int nb_loop_between(struct nb_order *order, const struct nb_loop *loop)
{
	const struct nb_turn *turn = &order->record->turn[loop->turn->match];
	unsigned int e;

	if (nb_loop_write_drains(order, loop, 0, loop->part_pc))
		return -1;
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		if ((loop->turn->engines & NEURON_BIT(e)) &&
		    nb_loop_end_part(order, turn, e, loop->part_pc[e]))
			return -1;
	return 0;
}

static int nb_loop_write_in(struct nb_order *order, const struct nb_loop *loop);

/* In the order of the calls, which is that of each engine's instructions. */
static int nb_loop_write_body(struct nb_order *order, const struct nb_loop *loop)
{
	const struct nb_loop_waits *waits = loop->waits;
	size_t child = 0, i = 0, between = SIZE_MAX;

	if (nb_loop_parts(loop) > 1)
		between = order->record->turn[loop->turn->match].at;
	while (i < waits->count || child < loop->nr_children) {
		const struct nb_loop *inner = child < loop->nr_children ? loop->child[child] : NULL;
		bool wait = i < waits->count &&
			    (!inner || waits->wait[i].where < inner->turn->at ||
			     waits->wait[i].entry == child + 1);

		if ((wait ? waits->wait[i].where : inner->turn->at) >= between) {
			if (nb_loop_between(order, loop))
				return -1;
			between = SIZE_MAX;
		}
		if (wait) {
			if (nb_loop_write_wait(order, loop, &waits->wait[i++]))
				return -1;
			continue;
		}
		child++;
		if (nb_loop_write_in(order, inner) || nb_loop_ended(order, loop, inner))
			return -1;
	}
	return between != SIZE_MAX ? nb_loop_between(order, loop) : 0;
}

static int nb_loop_head(struct nb_order *order, const struct nb_loop *loop)
{
	struct nb_edit begin = { .kind = loop->turn->test ? NB_EDIT_WHILE_BEGIN :
							    NB_EDIT_LOOP_BEGIN,
				 .reg = loop->turn->reg, .seq = loop->turn->count, .extra = 1 };
	struct nb_edit post = { .kind = NB_EDIT_POST };
	unsigned int a, e;
	int sem;

	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		if (!(loop->turn->engines & NEURON_BIT(e)))
			continue;
		for (a = 0; a < order->nr_actors; a++) {
			if (!loop->channels.left[a][e])
				continue;
			sem = nb_channel(order, loop, a, e);
			if (sem < 0)
				return -1;
			post.actor = sem;
			post.seq = loop->channels.left[a][e];
			if (nb_edit_at(order, e, loop->pc[e], post))
				return -1;
		}
		if (nb_edit_at(order, e, loop->pc[e], begin))
			return -1;
	}
	return 0;
}

/* What is left in the channels is taken. */
static int nb_loop_tail(struct nb_order *order, const struct nb_loop *loop)
{
	struct nb_reason reason = { .cause = NB_CAUSE_LEFT };
	unsigned int a, e;

	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		if (!(loop->turn->engines & NEURON_BIT(e)))
			continue;
		reason.engine = e;
		reason.pc = loop->pc[e] + loop->events[e];
		if (nb_loop_end_part(order, loop->end, e, reason.pc))
			return -1;
		for (a = 0; a < order->nr_actors; a++) {
			reason.actor = a;
			reason.seq = loop->first_seq[a] + loop->events[a];
			if (loop->channels.left[a][e] &&
			    nb_loop_take(order, reason, nb_channel(order, loop, a, e),
					 loop->channels.left[a][e]))
				return -1;
		}
	}
	return 0;
}

static int nb_loop_write_in(struct nb_order *order, const struct nb_loop *loop)
{
	unsigned int last = nb_loop_parts(loop) - 1, e;
	uint32_t end[NEURON_NR_ENGINES];

	for (e = 0; e < NEURON_NR_ENGINES; e++)
		end[e] = loop->pc[e] + loop->events[e];
	if (nb_loop_head(order, loop) || nb_loop_write_body(order, loop))
		return -1;
	if (loop->turn->test)
		return nb_loop_write_drains(order, loop, last, end) || nb_loop_tail(order, loop) ?
		       -1 : 0;
	return nb_loop_tail(order, loop) ? -1 : nb_loop_write_drains(order, loop, last, end);
}

static int nb_by_pc(const void *a, const void *b)
{
	const struct nb_link *x = a, *y = b;

	return x->pc != y->pc ? (x->pc > y->pc) - (x->pc < y->pc) :
				(x->sem > y->sem) - (x->sem < y->sem);
}

int nb_loop_write(struct nb_order *order, const struct nb_loop *loop)
{
	const struct nb_edit done = { .kind = NB_EDIT_LOOP_DONE };
	size_t first[NEURON_NR_ENGINES];
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++)
		first[e] = order->links[e].count;
	if (nb_loop_write_in(order, loop))
		return -1;
	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		if ((loop->turn->engines & NEURON_BIT(e)) &&
		    nb_edit_at(order, e, loop->pc[e] + loop->events[e], done))
			return -1;
		if (order->links[e].count > first[e])
			qsort(order->links[e].link + first[e],
			      order->links[e].count - first[e], sizeof(struct nb_link),
			      nb_by_pc);
	}
	return 0;
}

/* --- Drains --- */

/* *@edit becomes the wait of its drain. 0 or -1. */
static int nb_drain_write(struct nb_order *order, enum neuron_engine e, struct nb_edit *edit)
{
	const struct nb_drain *drain = &order->drain[edit->seq];
	struct nb_reason reason = { .engine = e, .actor = drain->actor, .cause = NB_CAUSE_DRAIN,
				    .pc = edit->pc, .seq = drain->event };
	int sem = nb_sem_once(order, &order->drained[drain->depth][drain->actor][e]);
	int64_t why = sem < 0 ? -1 : nb_reason_add(order, &reason);

	if (why < 0)
		return -1;
	nb_loop_landed(order, drain->actor, drain->event, sem);
	*edit = (struct nb_edit){ .pc = edit->pc, .kind = NB_EDIT_TAKE, .actor = sem,
				  .seq = drain->count, .why = why };
	return 0;
}

int nb_drains_write(struct nb_order *order)
{
	unsigned int e;
	size_t i, kept;

	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		struct nb_edits *edits = &order->edits[e];

		for (i = 0, kept = 0; i < edits->count; i++) {
			struct nb_edit edit = edits->edit[i];

			if (edit.kind == NB_EDIT_DRAIN && !order->drain[edit.seq].asked)
				continue;
			if (edit.kind == NB_EDIT_DRAIN && nb_drain_write(order, e, &edit))
				return -1;
			edits->edit[kept++] = edit;
		}
		edits->count = kept;
	}
	return 0;
}
