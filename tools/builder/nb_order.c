// SPDX-License-Identifier: MIT
/*
 * Dependencies: the program is gone through in the order of its calls. Each access must come
 * after the earlier ones with which it shares a byte, if one of the two writes. Vector clocks
 * tell which of these an engine already knows to be over, by the waits before; the others
 * become waits, as few as there can be.
 */
#include <stdlib.h>
#include <string.h>

#include "nb_sync.h"
#include "isa/trn_isa.h"

/* The clocks that all engines have in common are looked up anew after so many instructions. */
#define NB_OVER_EVERY	64

int nb_edit_at(struct nb_order *order, enum neuron_engine engine, uint32_t pc,
	       struct nb_edit edit)
{
	struct nb_edits *edits = &order->edits[engine];
	struct nb_edit *new;

	new = nb_grow(order->nb, (void **)&edits->edit, edits->count, &edits->room,
		      sizeof(*new));
	if (!new)
		return -1;
	*new = edit;
	new->pc = pc;
	edits->count++;
	return 0;
}

int nb_edit_add(struct nb_order *order, enum neuron_engine engine, struct nb_edit edit)
{
	return nb_edit_at(order, engine, order->pc[engine], edit);
}

int64_t nb_reason_add(struct nb_order *order, const struct nb_reason *reason)
{
	struct nb_made *made = &order->nb->made;
	struct nb_reason *new;

	new = nb_grow(order->nb, (void **)&made->reason, made->count, &made->room,
		      sizeof(*new));
	if (!new)
		return -1;
	*new = *reason;
	return made->count++;
}

void nb_order_wait_for(struct nb_order *order, unsigned int actor, uint32_t seq)
{
	if (actor < NEURON_NR_ENGINES)
		order->actor[actor].waited[(seq - 1) / 64] |= 1ull << (seq - 1) % 64;
	else
		order->actor[actor].event[seq - 1].waited = true;
}

/* Number of the event of the instruction. */
static uint32_t nb_step_seq(const struct nb_order *order, const struct nb_step *step)
{
	return step->pc + order->shift[step->engine] + 1;
}

/* --- Clocks --- */

int nb_clock_keep(struct nb_order *order, enum neuron_engine e, uint32_t seq)
{
	struct nb_actor *actor = &order->actor[e];
	size_t words = order->nr_actors;
	struct nb_past *past;
	uint32_t *snap;

	snap = nb_grow(order->nb, (void **)&order->snap, order->nr_snaps, &order->snap_room,
		       words * sizeof(*snap));
	past = nb_grow(order->nb, (void **)&actor->past, actor->nr_past, &actor->past_room,
		       sizeof(*past));
	if (!snap || !past)
		return -1;
	memcpy(snap, order->clock[e], words * sizeof(*snap));
	order->now[e] = order->nr_snaps++;
	past->seq = seq;
	past->snap = order->now[e];
	actor->nr_past++;
	return 0;
}

/* What an engine knew at its event @seq. */
static uint32_t nb_past_snap(const struct nb_actor *actor, uint32_t seq)
{
	size_t low = 0, high = actor->nr_past;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (actor->past[middle].seq <= seq)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? actor->past[low - 1].snap : 0;
}

/**
 * struct nb_knowledge - of an event: whoever waits for it knows all this
 * @snap: a clock
 * @engine, @pc: instructions of that engine before @pc are over, too
 * @actor, @seq: the event itself
 */
struct nb_knowledge {
	const uint32_t *snap;
	unsigned int engine;
	uint32_t pc;
	unsigned int actor;
	uint32_t seq;
};

static struct nb_knowledge nb_know(const struct nb_order *order, unsigned int a, uint32_t seq)
{
	const struct nb_actor *actor = &order->actor[a];
	struct nb_knowledge know = { .engine = a, .pc = seq, .actor = a, .seq = seq };
	uint32_t snap;

	if (a < NEURON_NR_ENGINES) {
		snap = nb_past_snap(actor, seq);
	} else {
		snap = actor->event[seq - 1].snap;
		know.engine = actor->event[seq - 1].engine;
		know.pc = actor->event[seq - 1].before;
	}
	know.snap = &order->snap[(size_t)snap * order->nr_actors];
	return know;
}

static uint32_t nb_known(const struct nb_knowledge *know, unsigned int a)
{
	if (a == know->actor)
		return know->seq;
	return a == know->engine && know->pc > know->snap[a] ? know->pc : know->snap[a];
}

static void nb_learn(struct nb_order *order, enum neuron_engine e,
		     const struct nb_knowledge *know)
{
	unsigned int a;

	for (a = 0; a < order->nr_actors; a++) {
		uint32_t seq = nb_known(know, a);

		if (order->clock[e][a] < seq)
			order->clock[e][a] = seq;
	}
}

/* An engine that waits for the event @know is about knows what others have done by then. */
static void nb_learn_done(struct nb_order *order, const struct nb_step *step,
			  const struct nb_knowledge *know)
{
	uint32_t *done = order->done[step->engine];
	unsigned int by, a;

	for (by = 0; by < NEURON_NR_ENGINES; by++) {
		if (!order->done_since[by] || nb_known(know, by) < order->done_since[by])
			continue;
		for (a = 0; a < order->nr_actors; a++) {
			if (done[a] >= order->done[by][a])
				continue;
			done[a] = order->done[by][a];
			order->done_since[step->engine] = nb_step_seq(order, step);
		}
	}
}

void nb_event_knows(const struct nb_order *order, unsigned int actor, uint32_t seq,
		    uint32_t *knows)
{
	const struct nb_knowledge know = nb_know(order, actor, seq);
	unsigned int a;

	for (a = 0; a < order->nr_actors; a++)
		if (knows[a] < nb_known(&know, a))
			knows[a] = nb_known(&know, a);
}

void nb_look_over(struct nb_order *order)
{
	unsigned int a, e;

	/* What is known in a part that may not be executed is not known behind it. */
	if (order->touched.floor)
		return;
	for (a = 0; a < order->nr_actors; a++) {
		uint32_t over = UINT32_MAX;

		for (e = 0; e < NEURON_NR_ENGINES; e++)
			if ((order->engines & NEURON_BIT(e)) && order->clock[e][a] < over)
				over = order->clock[e][a];
		order->over[a] = over;
	}
}

/* --- What an instruction needs --- */

void nb_event_ask(struct nb_order *order, const struct nb_event *event)
{
	if (event->drain)
		order->drain[event->drain - 1].asked = true;
}

void nb_ask_taker(struct nb_order *order, unsigned int *actor, uint32_t *seq)
{
	const struct nb_event *event;

	if (*actor < NEURON_NR_ENGINES || !*seq)
		return;
	event = &order->actor[*actor].event[*seq - 1];
	if (!event->taken)
		return;
	nb_event_ask(order, event);
	*actor = event->taker;
	*seq = event->taken;
}

uint32_t nb_event_unsure(const struct nb_order *order, unsigned int actor, uint32_t seq)
{
	if (actor < NEURON_NR_ENGINES || !seq)
		return 0;
	seq = nb_loop_seen(order, actor, order->actor[actor].event[seq - 1].unsure);
	return seq > order->actor[actor].start ? seq : 0;
}

static void nb_need(struct nb_order *order, const struct nb_step *step, unsigned int actor,
		    uint32_t seq, enum nb_cause cause, const struct nb_area *area)
{
	struct nb_need *need;

	if (seq <= order->clock[step->engine][actor])
		return;
	if (!step->transfer || actor != step->actor)
		nb_ask_taker(order, &actor, &seq);
	need = &order->need[actor];
	/* An engine, and a queue, do one after the other. */
	if (actor == step->engine || (step->transfer && actor == step->actor))
		return;
	if (seq <= need->seq || seq <= order->clock[step->engine][actor])
		return;
	need->seq = seq;
	need->cause = cause;
	if (area)
		need->area = *area;
	else
		need->area.width = 0;
	order->needs |= NEURON_BIT64(actor);
}

/* The same for all events of @actor up to @seq. */
static void nb_need_all(struct nb_order *order, const struct nb_step *step, unsigned int actor,
			uint32_t seq, enum nb_cause cause, const struct nb_area *area)
{
	seq = nb_loop_seen(order, actor, seq);
	for (; seq > order->clock[step->engine][actor]; seq = nb_event_unsure(order, actor, seq))
		nb_need(order, step, actor, seq, cause, area);
}

struct nb_asking {
	struct nb_order *order;
	const struct nb_step *step;
};

static void nb_need_touch(void *context, const struct nb_touch *before,
			  const struct nb_touch *now)
{
	const struct nb_asking *asking = context;
	enum nb_cause cause = !now->write ? NB_CAUSE_READ :
			      before->write ? NB_CAUSE_WRITE : NB_CAUSE_REUSE;

	if (before->seq <= asking->order->done[asking->step->engine][before->actor])
		return;
	if (!before->all) {
		if (nb_loop_seen(asking->order, before->actor, before->seq) == before->seq)
			nb_need(asking->order, asking->step, before->actor, before->seq, cause,
				&now->area);
		return;
	}
	/*
	 * It stands for accesses of which perhaps none touches the same bytes. A wait for the last
	 * one may be of another round than the true one is, which is not found then.
	 */
	nb_loop_refuse(asking->order);
	nb_need_all(asking->order, asking->step, before->actor, before->seq, cause, &now->area);
}

static int nb_ask(struct nb_order *order, struct nb_step *step)
{
	struct nb_asking asking = { order, step };
	unsigned int a, i;

	for (a = 0; a < order->nr_actors; a++) {
		if (order->acquired[a])
			nb_need_all(order, step, a, order->acquired[a], NB_CAUSE_HAND, NULL);
		if (step->release || step->all)
			nb_need_all(order, step, a, order->actor[a].seq, NB_CAUSE_HAND, NULL);
	}
	for (i = 0; i < step->nr_touches; i++)
		if (nb_touched_ask(&order->touched, &step->touch[i], order->over,
				   nb_need_touch, &asking))
			return -1;
	return 0;
}

/* Whoever waits for another event that is needed has waited for this one. */
static bool nb_is_implied(const struct nb_order *order, unsigned int actor)
{
	uint64_t left;
	unsigned int a;

	for (left = order->needs & ~NEURON_BIT64(actor); left; left &= left - 1) {
		struct nb_knowledge know;

		a = __builtin_ctzll(left);
		know = nb_know(order, a, order->need[a].seq);
		if (nb_known(&know, actor) >= order->need[actor].seq)
			return true;
	}
	return false;
}

static int nb_make_wait(struct nb_order *order, const struct nb_step *step, unsigned int actor)
{
	const struct nb_need *need = &order->need[actor];
	struct nb_reason reason = { .area = need->area, .pc = step->pc,
				    .engine = step->engine, .actor = actor,
				    .cause = need->cause, .seq = need->seq };
	int64_t why;

	if (order->loop)
		return nb_loop_wait(order, step, actor);
	why = nb_reason_add(order, &reason);
	if (why < 0)
		return -1;
	nb_order_wait_for(order, actor, need->seq);
	return nb_edit_add(order, step->engine,
			   (struct nb_edit){ .kind = NB_EDIT_WAIT, .actor = actor, .why = why,
					     .base = order->actor[actor].start,
					     .seq = need->seq });
}

int nb_make_waits(struct nb_order *order, const struct nb_step *step)
{
	struct nb_knowledge know[NB_MAX_ACTORS];
	unsigned int a, nr = 0;
	uint64_t left;

	for (left = order->needs; left; left &= left - 1) {
		a = __builtin_ctzll(left);
		if (nb_is_implied(order, a))
			continue;
		if (nb_make_wait(order, step, a))
			return -1;
		know[nr++] = nb_know(order, a, order->need[a].seq);
	}
	for (a = 0; a < nr; a++) {
		nb_learn(order, step->engine, &know[a]);
		nb_learn_done(order, step, &know[a]);
	}
	for (left = order->needs; left; left &= left - 1)
		order->need[__builtin_ctzll(left)].seq = 0;
	order->needs = 0;
	return nr ? nb_clock_keep(order, step->engine, nb_step_seq(order, step)) : 0;
}

/* --- Transfers --- */

/* The actor of a set of one queue; -1: the transfer takes a slot. */
static int nb_queue_actor(const struct nb_order *order, int queue)
{
	unsigned int a;

	for (a = NEURON_NR_ENGINES; a < order->first_slot; a++)
		if (order->actor[a].queue == queue)
			return a;
	return -1;
}

/* A slot whose transfer is known to be over, or else the one that has waited longest. */
static unsigned int nb_pick_slot(struct nb_order *order, enum neuron_engine e)
{
	unsigned int i, a;

	for (i = 0; i < NB_SLOTS; i++) {
		a = order->first_slot + (order->next_slot + i) % NB_SLOTS;
		if (order->clock[e][a] >= order->actor[a].seq)
			break;
	}
	if (i == NB_SLOTS)
		i = 0;
	order->next_slot = (order->next_slot + i + 1) % NB_SLOTS;
	return order->first_slot + (order->next_slot + NB_SLOTS - 1) % NB_SLOTS;
}

static void nb_pick_actor(struct nb_order *order, struct nb_step *step)
{
	const struct nb_actor *actor;
	int own = nb_queue_actor(order, step->queue);
	uint32_t last, seq;
	unsigned int a;

	if (own < 0)
		nb_loop_refuse(order);
	step->actor = own >= 0 ? (unsigned int)own : nb_pick_slot(order, step->engine);
	actor = &order->actor[step->actor];
	last = nb_loop_seen(order, step->actor, actor->seq);
	if (last <= actor->start)
		return;
	for (; order->clock[step->engine][step->actor] < last;
	     last = nb_event_unsure(order, step->actor, last)) {
		/* A slot counts one transfer after the other; a queue does so for one engine. */
		if (own >= 0 && actor->event[last - 1].engine == step->engine)
			continue;
		a = step->actor;
		seq = last;
		nb_ask_taker(order, &a, &seq);
		if (a != step->engine && order->need[a].seq < seq)
			nb_need_set(order, a,
				    (struct nb_need){ .seq = seq, .cause = NB_CAUSE_SLOT });
	}
}

/*
 * Each queue of a set does one transfer after the other. So when all of them have posted for a
 * transfer, those before it are over as well.
 */
static int nb_snap_of_set(struct nb_order *order, const struct nb_step *step)
{
	uint32_t *queued = &order->queued[(size_t)step->queue * NB_SLOTS];
	unsigned int i, slot = step->actor - order->first_slot;
	size_t words = order->nr_actors;
	uint32_t *snap;

	snap = nb_grow(order->nb, (void **)&order->snap, order->nr_snaps, &order->snap_room,
		       words * sizeof(*snap));
	if (!snap)
		return -1;
	memcpy(snap, order->clock[step->engine], words * sizeof(*snap));
	for (i = 0; i < NB_SLOTS; i++)
		if (snap[order->first_slot + i] < queued[i])
			snap[order->first_slot + i] = queued[i];
	queued[slot] = order->actor[step->actor].seq + 1;
	return order->nr_snaps++;
}

static int nb_add_event(struct nb_order *order, const struct nb_step *step)
{
	struct nb_actor *actor = &order->actor[step->actor];
	bool set = step->actor >= order->first_slot && !step->landed;
	int snap = set ? nb_snap_of_set(order, step) : (int)order->now[step->engine];
	struct nb_event *event;

	event = nb_grow(order->nb, (void **)&actor->event, actor->seq, &actor->event_room,
			sizeof(*event));
	if (!event || snap < 0)
		return -1;
	event->pc = step->pc;
	event->before = step->pc + order->shift[step->engine];
	event->engine = step->engine;
	event->snap = snap;
	event->posts = step->posts;
	event->landed = step->landed;
	actor->seq++;
	return 0;
}

/* --- The program --- */

static int nb_step_done(struct nb_order *order, struct nb_step *step)
{
	unsigned int i;
	uint32_t seq;

	if (step->transfer && nb_add_event(order, step))
		return -1;
	order->pc[step->engine] += step->room;
	seq = order->pc[step->engine] + order->shift[step->engine];
	order->actor[step->engine].seq = seq;
	order->clock[step->engine][step->engine] = seq;
	if (step->acquire)
		order->acquired[step->engine] = seq;
	if (step->all)
		order->acquired[step->actor] = order->actor[step->actor].seq;
	for (i = 0; i < step->nr_touches; i++)
		if (nb_touched_add(&order->touched, &step->touch[i]))
			return -1;
	order->met = false;
	return 0;
}

static int nb_order_step(struct nb_order *order, enum neuron_engine engine, size_t *used)
{
	struct nb_step step;
	unsigned int i;

	if (nb_step_get(order, engine, &step))
		return -1;
	if (step.transfer)
		nb_pick_actor(order, &step);
	for (i = 0; i < step.nr_touches; i++) {
		step.touch[i].actor = step.actor;
		step.touch[i].seq = step.transfer ? order->actor[step.actor].seq + 1 :
						    nb_step_seq(order, &step);
	}
	*used = step.room;
	if (nb_ask(order, &step) || nb_make_waits(order, &step))
		return -1;
	return nb_step_done(order, &step);
}

static unsigned int nb_loop_engines(const struct nb_order *order, const struct nb_turn *turn)
{
	return turn->around == SIZE_MAX ? order->engines :
					  order->record->turn[turn->around].engines;
}

/*
 * Each engine of a loop or branch with a test has its own registers for it. They are zero at first,
 * so one that has not set them would go another way than the others. A loop may set them, too.
 */
static int nb_check_test(const struct nb_order *order, const struct nb_turn *turn)
{
	uint64_t regs = (NEURON_BIT64(turn->reg) | NEURON_BIT64(turn->with)) & ~1ull;
	bool loop = turn->kind == NB_TURN_LOOP;
	uint64_t unset;
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		unset = regs & ~order->reg_set[e];
		if (turn->engines & NEURON_BIT(e) && unset)
			return nb_fail_at(order->nb, e, order->pc[e] - loop,
					  "the %s engine compares register %d in %s, but has not set it; each engine of %s() has registers of its own",
					  trn_isa_engine_name(e), __builtin_ctzll(unset),
					  loop ? "a loop" : "a branch",
					  loop ? "nb_begin_while" : "nb_begin_if");
	}
	return 0;
}

/* Where a test needs its registers: a branch before it, a loop behind the first round. */
static bool nb_is_tested(const struct nb_turn *turn)
{
	return turn->test && turn->kind != NB_TURN_ELSE &&
	       turn->begin == (turn->kind != NB_TURN_LOOP);
}

/* A loop or branch begins: its engines go on from here, or from behind it. */
static void nb_regs_begin(struct nb_order *order, const struct nb_turn *turn)
{
	if (!turn->test)
		nb_regs_count(order, turn);
	else if (turn->kind != NB_TURN_ELSE)
		memcpy(order->reg_sets[order->depth].before, order->reg_set,
		       sizeof(order->reg_set));
}

/*
 * What a loop with a test has set may not be set, because it may have no rounds; but its engines
 * agree on what it compares. A branch sets what both of its parts do.
 */
static void nb_regs_end(struct nb_order *order, const struct nb_turn *turn)
{
	uint64_t *before = order->reg_sets[order->depth].before;
	uint64_t *then = order->reg_sets[order->depth].then;
	uint64_t compared = NEURON_BIT64(turn->reg) | NEURON_BIT64(turn->with);
	unsigned int e;

	if (!turn->test)
		order->counting &= ~NEURON_BIT64(turn->reg);
	for (e = 0; turn->test && e < NEURON_NR_ENGINES; e++) {
		if (turn->kind == NB_TURN_ELSE) {
			order->reg_set[e] &= then[e];
			continue;
		}
		then[e] = order->reg_set[e];
		order->reg_set[e] = before[e];
		if (turn->kind == NB_TURN_LOOP)
			order->reg_set[e] |= then[e] & compared;
	}
}

int nb_turn_regs(struct nb_order *order, const struct nb_turn *turn)
{
	if (nb_is_tested(turn) && nb_check_test(order, turn))
		return -1;
	if (turn->begin) {
		nb_regs_begin(order, turn);
		order->depth++;
	} else {
		order->depth--;
		nb_regs_end(order, turn);
	}
	return 0;
}

/* A loop whose rounds do not overlap begins or ends, or a part of a branch. */
static int nb_order_turn(struct nb_order *order, const struct nb_turn *turn)
{
	if (nb_turn_regs(order, turn))
		return -1;
	if (turn->begin)
		return nb_loop_begin(order, turn, nb_loop_engines(order, turn));
	return nb_loop_end(order, turn, nb_loop_engines(order, turn));
}

int nb_order_range(struct nb_order *order, size_t begin, size_t end)
{
	size_t used;

	for (order->at = begin; order->at < end; order->at += used) {
		if (order->at % NB_OVER_EVERY == 0)
			nb_look_over(order);
		if (nb_order_step(order, order->record->engine[order->at], &used))
			return -1;
	}
	return 0;
}

static int nb_order_all(struct nb_order *order)
{
	const struct nb_record *record = order->record;
	size_t turn, at = 0;
	int overlap;

	for (turn = 0; turn < record->nr_turns; turn++) {
		if (nb_order_range(order, at, record->turn[turn].at))
			return -1;
		at = record->turn[turn].at;
		overlap = 0;
		if (record->turn[turn].begin && record->turn[turn].engines)
			overlap = nb_loop_overlap(order, &record->turn[turn]);
		if (overlap < 0)
			return -1;
		if (overlap) {
			turn = nb_turn_last(record, &record->turn[turn]) - record->turn;
			at = record->turn[turn].at;
		} else if (nb_order_turn(order, &record->turn[turn])) {
			return -1;
		}
	}
	return nb_order_range(order, at, record->count);
}

/* --- Setting up --- */

/* Slots only if a set needs them: a clock has a word for each actor. */
static void nb_add_queues(struct nb_order *order)
{
	bool slots = false;
	size_t i;

	for (i = 0; i < order->nb->nr_queues; i++)
		if (order->nb->queue[i].num_queues == 1 &&
		    order->nr_actors < NEURON_NR_ENGINES + NB_OWN_QUEUES)
			order->actor[order->nr_actors++].queue = i;
		else
			slots = true;
	order->first_slot = order->nr_actors;
	if (slots)
		order->nr_actors += NB_SLOTS;
}

static int nb_order_init(struct nb_order *order, struct nb_program *nb)
{
	unsigned int a;

	order->nb = nb;
	order->record = nb->record;
	nb_forget_starts(nb);
	order->nr_actors = NEURON_NR_ENGINES;
	nb_add_queues(order);
	order->nr_snaps = 1;
	order->snap_room = 16;
	order->snap = calloc(order->snap_room, order->nr_actors * sizeof(*order->snap));
	if (!order->snap)
		return nb_fail(nb, "out of memory");
	for (a = 0; a < order->nr_actors; a++)
		order->actor[a].sem = -1;
	memset(order->channel, -1, sizeof(order->channel));
	memset(order->drained, -1, sizeof(order->drained));
	for (a = 0; a < NEURON_NR_ENGINES; a++) {
		if (nb->stream[a].count)
			order->engines |= NEURON_BIT(a);
		order->actor[a].waited = calloc(nb->stream[a].count / 64 + 1,
						sizeof(*order->actor[a].waited));
		if (!order->actor[a].waited)
			return nb_fail(nb, "out of memory");
	}
	order->queued = calloc(nb->nr_queues + 1, NB_SLOTS * sizeof(*order->queued));
	if (!order->queued)
		return nb_fail(nb, "out of memory");
	order->constant = calloc(nb->nr_vars + 1, sizeof(*order->constant));
	if (!order->constant)
		return nb_fail(nb, "out of memory");
	order->nr_sems = nb->nr_sems;
	order->met = true;
	nb_regs_forget(order);
	return nb_touched_init(&order->touched, nb);
}

static void nb_order_free(struct nb_order *order)
{
	unsigned int a;

	for (a = 0; a < order->nr_actors; a++) {
		free(order->actor[a].event);
		free(order->actor[a].past);
		free(order->actor[a].waited);
		free(order->actor[a].rank);
	}
	for (a = 0; a < NEURON_NR_ENGINES; a++) {
		free(order->edits[a].edit);
		free(order->links[a].link);
	}
	free(order->snap);
	free(order->queued);
	free(order->constant);
	free(order->drain);
	if (order->touched.space)
		nb_touched_free(&order->touched);
}

int nb_sync(struct nb_program *nb)
{
	struct nb_order *order;
	int ret = -1;

	if (nb_error(nb))
		return -1;
	if (!nb->record)
		return 0;
	if (nb->record->depth)
		return nb_fail(nb, "a loop or branch that has begun does not end");
	order = calloc(1, sizeof(*order));
	if (!order)
		return nb_fail(nb, "out of memory");
	if (!nb_order_init(order, nb) && !nb_order_all(order) && !nb_drains_write(order))
		ret = nb_weave(order);
	nb_order_free(order);
	free(order);
	nb_record_free(nb->record);
	nb->record = NULL;
	return ret;
}
