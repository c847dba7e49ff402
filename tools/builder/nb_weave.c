// SPDX-License-Identifier: MIT
/*
 * Waits and posts are put into the streams. An instruction has one wait and one post; for what
 * there is more of, a nop stands before or after it. Then branches, source lines and reasons
 * name the new places.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "nb_sync.h"

/**
 * struct nb_weaver - a stream under construction
 * @old: what was there
 * @left: of @old, behind what is made: those from the next one on have not been taken yet
 * @inst, @count, @room: what is made
 * @edit: those that are left
 * @link: the same of posts in loops
 * @line: next of the old lines
 * @nops: old instructions to come that belong to the transfer before them
 * @debug: of what is made
 * @top: first instruction of each loop that is open
 * @top: of each loop around, its first instruction; of a branch, the one that ends the first part
 * @overlap: in a loop whose rounds overlap
 * @owed: somebody waits for the end of that loop
 * @place: of each old instruction in what is made
 */
struct nb_weaver {
	struct nb_order *order;
	enum neuron_engine engine;
	struct nb_stream *old;
	const struct neuron_inst *left;
	struct neuron_inst *inst;
	size_t count;
	size_t room;
	const struct nb_edit *edit;
	const struct nb_edit *end;
	const struct nb_link *link;
	const struct nb_link *last_link;
	size_t line;
	unsigned int nops;
	uint32_t debug;
	uint32_t top[NEURON_NR_REGS];
	unsigned int depth;
	bool overlap;
	bool owed;
	uint32_t *place;
};

/* Semaphores by which the leader of a barrier lets an engine go on; -1: none yet. */
struct nb_gates {
	int sem[NEURON_NR_ENGINES];
};

/* --- Counts --- */

static bool nb_is_waited(const struct nb_actor *engine, uint32_t pc)
{
	return engine->waited[pc / 64] >> pc % 64 & 1;
}

/* What the semaphore of actor @a has been given by its events up to @seq. */
static uint32_t nb_total(const struct nb_order *order, unsigned int a, uint32_t seq)
{
	const struct nb_actor *actor = &order->actor[a];
	uint64_t bits;

	if (a >= NEURON_NR_ENGINES)
		return seq ? actor->event[seq - 1].total : 0;
	bits = actor->waited[seq / 64] & ((1ull << seq % 64) - 1);
	return actor->rank[seq / 64] + __builtin_popcountll(bits);
}

static int nb_actor_sem(struct nb_order *order, unsigned int a)
{
	struct nb_actor *actor = &order->actor[a];

	if (actor->sem < 0)
		actor->sem = nb_sem(order->nb, false);
	return actor->sem;
}

static int nb_rank(struct nb_order *order, enum neuron_engine e)
{
	struct nb_actor *actor = &order->actor[e];
	size_t words = order->nb->stream[e].count / 64 + 1, i;
	uint32_t sum = 0;

	actor->rank = malloc(words * sizeof(*actor->rank));
	if (!actor->rank)
		return nb_fail(order->nb, "out of memory");
	for (i = 0; i < words; i++) {
		actor->rank[i] = sum;
		sum += __builtin_popcountll(actor->waited[i]);
	}
	return 0;
}

/* The transfer posts when it ends. */
static int nb_post_event(struct nb_order *order, unsigned int a, const struct nb_event *event)
{
	struct nb_stream *stream = &order->nb->stream[event->engine];
	struct neuron_inst *inst = &stream->inst[event->pc];
	int sem = nb_actor_sem(order, a);
	struct nb_dma_block *block;

	if (sem < 0)
		return -1;
	if (event->landed) {
		inst->mode |= htole16(NEURON_INST_LANDED >> 8);
		nb_post(inst, sem, 1);
		return 0;
	}
	block = &stream->dma[le64toh(inst->addr)];
	if (order->nb->queue[block->queue].starts) {
		nb_collective_at(order->nb, &block->to)->semaphore = sem;
		return 0;
	}
	if (block->sem >= 0)
		return nb_fail(order->nb,
			       "a transfer on \"%.64s\" posts semaphore %d, but nb_auto() needs it to post another: pass -1",
			       order->nb->queue[block->queue].name, block->sem);
	block->sem = sem;
	return 0;
}

static bool nb_starts(const struct nb_order *order, const struct nb_event *event)
{
	const struct nb_stream *stream = &order->nb->stream[event->engine];
	const struct neuron_inst *inst = &stream->inst[event->pc];

	if (event->landed)
		return false;
	return order->nb->queue[stream->dma[le64toh(inst->addr)].queue].starts;
}

static int nb_count_transfers(struct nb_order *order, unsigned int a)
{
	struct nb_actor *actor = &order->actor[a];
	uint32_t i, total = 0;

	for (i = 0; i < actor->seq; i++) {
		/* A collective posts also if nobody waits for it. */
		if (actor->event[i].waited || nb_starts(order, &actor->event[i])) {
			total += actor->event[i].posts;
			if (nb_post_event(order, a, &actor->event[i]))
				return -1;
		}
		actor->event[i].total = total;
	}
	return 0;
}

/* --- Instructions --- */

static struct neuron_inst *nb_weave_inst(struct nb_weaver *weaver, enum neuron_opcode opcode)
{
	struct neuron_inst *inst;

	if (weaver->count == weaver->room) {
		nb_fail(weaver->order->nb, "a stream has more waits and posts than expected");
		return NULL;
	}
	inst = &weaver->inst[weaver->count++];
	memset(inst, 0, sizeof(*inst));
	inst->opcode = opcode;
	inst->debug = weaver->debug;
	return inst;
}

/* The wait of @edit goes to @inst. */
static int nb_weave_wait(struct nb_weaver *weaver, const struct nb_edit *edit,
			 struct neuron_inst *inst)
{
	struct nb_order *order = weaver->order;
	int sem;

	order->nb->made.reason[edit->why].pc = inst - weaver->inst;
	if (edit->kind == NB_EDIT_TAKE) {
		nb_wait_take(inst, edit->actor, edit->seq);
		return 0;
	}
	sem = nb_actor_sem(order, edit->actor);
	if (sem < 0)
		return -1;
	nb_wait(inst, sem, nb_total(order, edit->actor, edit->seq) -
			   nb_total(order, edit->actor, edit->base) + edit->extra);
	return 0;
}

static int nb_weave_gate(struct nb_weaver *weaver, struct nb_gates *gates,
			 const struct nb_edit *edit, struct neuron_inst *inst)
{
	int *sem = &gates->sem[edit->actor];

	if (*sem < 0)
		*sem = nb_sem(weaver->order->nb, false);
	if (*sem < 0)
		return -1;
	if (edit->kind == NB_EDIT_GO) {
		nb_post(inst, *sem, 1);
		return 0;
	}
	nb_wait_take(inst, *sem, 1);
	weaver->order->nb->made.reason[edit->why].pc = inst - weaver->inst;
	return 0;
}

static int nb_weave_reset(struct nb_weaver *weaver, const struct nb_edit *edit)
{
	struct nb_order *order = weaver->order;
	uint32_t posted = nb_total(order, edit->actor, edit->seq) -
			  nb_total(order, edit->actor, edit->base) + edit->extra;
	struct neuron_inst *inst;
	int sem;

	if (!posted)
		return 0;
	sem = nb_actor_sem(order, edit->actor);
	inst = sem < 0 ? NULL : nb_weave_inst(weaver, NEURON_OP_NOP);
	if (!inst)
		return -1;
	nb_post(inst, sem, -(int32_t)posted);
	return 0;
}

static int nb_weave_loop(struct nb_weaver *weaver, const struct nb_edit *edit)
{
	struct neuron_inst *inst;

	if (edit->kind == NB_EDIT_LOOP_BEGIN) {
		inst = nb_weave_inst(weaver, NEURON_OP_REG_SET);
		if (!inst)
			return -1;
		inst->imm0 = htole32(edit->seq);
		weaver->top[weaver->depth++] = weaver->count;
		weaver->overlap = edit->extra;
	} else {
		inst = nb_weave_inst(weaver, NEURON_OP_LOOP);
		if (!inst)
			return -1;
		inst->addr = htole64(weaver->top[--weaver->depth]);
	}
	inst->reg[0] = edit->reg;
	return 0;
}

/* The test is behind the body: the first round begins by going there. */
static int nb_weave_while(struct nb_weaver *weaver, const struct nb_edit *edit)
{
	struct neuron_inst *inst = nb_weave_inst(weaver, NEURON_OP_BRANCH);
	uint32_t top;

	if (!inst)
		return -1;
	if (edit->kind == NB_EDIT_WHILE_BEGIN) {
		weaver->top[weaver->depth++] = weaver->count;
		weaver->overlap = edit->extra;
		return 0;
	}
	top = weaver->top[--weaver->depth];
	weaver->inst[top - 1].addr = htole64(weaver->count - 1);
	inst->op0 = edit->extra;
	inst->reg[0] = edit->reg;
	inst->reg[1] = edit->actor;
	if (!edit->actor) {
		inst->flags = NEURON_INST_IMM;
		inst->imm0 = htole32(edit->base);
	}
	inst->addr = htole64(top);
	return 0;
}

/* The test of what is executed once stands behind it, too, and is jumped over from there. */
static int nb_weave_then(struct nb_weaver *weaver, const struct nb_edit *edit)
{
	uint32_t over = weaver->count;

	if (!nb_weave_inst(weaver, NEURON_OP_BRANCH) || nb_weave_while(weaver, edit))
		return -1;
	weaver->top[weaver->depth++] = over;
	return 0;
}

/* An edit that stands by itself. */
static int nb_weave_edit(struct nb_weaver *weaver, struct nb_gates *gates,
			 const struct nb_edit *edit)
{
	struct neuron_inst *inst;
	int sem;

	if (edit->kind == NB_EDIT_LOOP_BEGIN || edit->kind == NB_EDIT_LOOP_END)
		return nb_weave_loop(weaver, edit);
	if (edit->kind == NB_EDIT_WHILE_BEGIN || edit->kind == NB_EDIT_WHILE_END)
		return nb_weave_while(weaver, edit);
	if (edit->kind == NB_EDIT_THEN_END)
		return nb_weave_then(weaver, edit);
	if (edit->kind == NB_EDIT_BRANCH_END) {
		weaver->inst[weaver->top[--weaver->depth]].addr = htole64(weaver->count);
		return 0;
	}
	if (edit->kind == NB_EDIT_RESET)
		return nb_weave_reset(weaver, edit);
	if (edit->kind == NB_EDIT_LOOP_DONE && !weaver->owed) {
		weaver->overlap = false;
		return 0;
	}
	inst = nb_weave_inst(weaver, NEURON_OP_NOP);
	if (!inst)
		return -1;
	if (edit->kind == NB_EDIT_WAIT || edit->kind == NB_EDIT_TAKE)
		return nb_weave_wait(weaver, edit, inst);
	if (edit->kind == NB_EDIT_POST) {
		nb_post(inst, edit->actor, edit->seq);
		return 0;
	}
	if (edit->kind == NB_EDIT_GO || edit->kind == NB_EDIT_GO_TAKE)
		return nb_weave_gate(weaver, gates, edit, inst);
	weaver->overlap = false;
	weaver->owed = false;
	sem = nb_actor_sem(weaver->order, weaver->engine);
	if (sem < 0)
		return -1;
	nb_post(inst, sem, 1);
	return 0;
}

/* The last instruction that was made posts. @nop: it is one of a transfer. */
static int nb_weave_post(struct nb_weaver *weaver, int sem, bool nop)
{
	struct neuron_inst *inst = &weaver->inst[weaver->count - 1];

	/* The nops of a transfer must stay as they are. */
	if (nop || NEURON_GET(NEURON_SYNC_POST, inst->sync))
		inst = nb_weave_inst(weaver, NEURON_OP_NOP);
	if (!inst)
		return -1;
	nb_post(inst, sem, 1);
	return 0;
}

/* Those who wait for the old instruction at @pc are told. */
static int nb_weave_posts(struct nb_weaver *weaver, uint32_t pc, bool nop)
{
	int sem;

	if (nb_is_waited(&weaver->order->actor[weaver->engine], pc) && weaver->overlap) {
		weaver->owed = true;
	} else if (nb_is_waited(&weaver->order->actor[weaver->engine], pc)) {
		sem = nb_actor_sem(weaver->order, weaver->engine);
		if (sem < 0 || nb_weave_post(weaver, sem, nop))
			return -1;
	}
	for (; weaver->link < weaver->last_link && weaver->link->pc == pc; weaver->link++)
		if (nb_weave_post(weaver, weaver->link->sem, nop))
			return -1;
	return 0;
}

/* The nops behind the trigger of a transfer. */
static unsigned int nb_nops_of(const struct nb_weaver *weaver, const struct neuron_inst *inst)
{
	int queue;

	if (inst->opcode != NEURON_OP_PSEUDO_DMA_TRIGGER)
		return 0;
	queue = weaver->old->dma[le64toh(inst->addr)].queue;
	return weaver->order->nb->queue[queue].num_queues - 1;
}

static int nb_weave_old(struct nb_weaver *weaver, uint32_t pc)
{
	struct neuron_inst *inst;
	bool nop = weaver->nops;

	weaver->place[pc] = weaver->count;
	inst = nb_weave_inst(weaver, NEURON_OP_NOP);
	if (!inst)
		return -1;
	*inst = weaver->left[pc];
	/* The end is behind everything that is still to come. */
	if (inst->opcode == NEURON_OP_HALT)
		inst->opcode = NEURON_OP_NOP;
	if (weaver->edit < weaver->end && weaver->edit->pc == pc &&
	    nb_weave_wait(weaver, weaver->edit++, inst))
		return -1;
	weaver->nops = nop ? weaver->nops - 1 : nb_nops_of(weaver, inst);
	return nb_weave_posts(weaver, pc, nop);
}

/* The last edit before an instruction is a wait that the instruction itself can have. */
static bool nb_is_carried(const struct nb_edit *edit, const struct nb_edit *end,
			  const struct neuron_inst *inst)
{
	bool last = edit + 1 == end || edit[1].pc != edit->pc;

	return last && inst && !NEURON_GET(NEURON_SYNC_WAIT, inst->sync) &&
	       (edit->kind == NB_EDIT_WAIT || edit->kind == NB_EDIT_TAKE);
}

/* The line of what is made behind all old instructions: that of the last of them. */
static uint32_t nb_last_line(const struct nb_stream *old)
{
	const struct nb_line *last = old->nr_lines ? &old->line[old->nr_lines - 1] : NULL;

	return last && last->file >= 0 ? htole32(last->line) : 0;
}

/* Edits before @pc but for one that the instruction carries. */
static int nb_weave_edits(struct nb_weaver *weaver, struct nb_gates *gates, uint32_t pc)
{
	const struct neuron_inst *inst = NULL;

	if (pc < weaver->old->count)
		inst = &weaver->left[pc];
	/* The nops of a transfer have no line; what comes behind them has that of the transfer. */
	if (!inst)
		weaver->debug = nb_last_line(weaver->old);
	else if (!weaver->nops)
		weaver->debug = inst->debug;
	for (; weaver->edit < weaver->end && weaver->edit->pc == pc; weaver->edit++) {
		if (nb_is_carried(weaver->edit, weaver->end, inst))
			return 0;
		if (nb_weave_edit(weaver, gates, weaver->edit))
			return -1;
	}
	return 0;
}

static int nb_weave_stream(struct nb_weaver *weaver, struct nb_gates *gates)
{
	struct nb_stream *old = weaver->old;
	uint32_t pc;

	for (pc = 0; pc <= old->count; pc++) {
		while (weaver->line < old->nr_lines && old->line[weaver->line].pc == pc)
			old->line[weaver->line++].pc = weaver->count;
		if (nb_weave_edits(weaver, gates, pc))
			return -1;
		if (pc < old->count && nb_weave_old(weaver, pc))
			return -1;
	}
	return nb_weave_inst(weaver, NEURON_OP_HALT) ? 0 : -1;
}

/* Nops that stand behind an instruction at most, because it posts already. */
static size_t nb_count_posts(const struct nb_order *order, enum neuron_engine e)
{
	const struct nb_stream *stream = &order->nb->stream[e];
	size_t posts = order->links[e].count;
	uint32_t pc;

	for (pc = 0; pc < stream->count; pc++)
		if (nb_is_waited(&order->actor[e], pc) &&
		    (stream->inst[pc].opcode == NEURON_OP_NOP ||
		     NEURON_GET(NEURON_SYNC_POST, stream->inst[pc].sync)))
			posts++;
	return posts;
}

/* Edits that become instructions at most. */
static size_t nb_count_edits(const struct nb_weaver *weaver)
{
	const struct nb_stream *stream = weaver->old;
	const struct nb_edit *edit;
	size_t count = 0;

	for (edit = weaver->edit; edit < weaver->end; edit++)
		if (!nb_is_carried(edit, weaver->end, edit->pc < stream->count ?
				   &stream->inst[edit->pc] : NULL))
			count++;
	return count;
}

/*
 * What is made takes the place of what was there, which moves to the end before. No second copy
 * of the stream is needed, and what is made never reaches what is left: each instruction that is
 * added has its room between them.
 */
static int nb_weave_room(struct nb_weaver *weaver)
{
	struct nb_order *order = weaver->order;
	struct nb_stream *stream = weaver->old;
	size_t added = nb_count_edits(weaver) + nb_count_posts(order, weaver->engine) + 1;
	struct neuron_inst *inst;

	weaver->room = stream->count + added;
	inst = stream->inst;
	if (weaver->room > stream->room) {
		inst = nb_resize(inst, stream->count * sizeof(*inst), weaver->room * sizeof(*inst));
		if (!inst)
			return nb_fail(order->nb, "out of memory");
		stream->inst = inst;
		stream->room = weaver->room;
	}
	memmove(inst + added, inst, stream->count * sizeof(*inst));
	weaver->inst = inst;
	weaver->left = inst + added;
	return 0;
}

static int nb_weave_engine(struct nb_order *order, struct nb_gates *gates,
			   enum neuron_engine e, uint32_t *place)
{
	struct nb_stream *stream = &order->nb->stream[e];
	struct nb_weaver weaver = {
		.order = order,
		.engine = e,
		.old = stream,
		.edit = order->edits[e].edit,
		.end = order->edits[e].edit,
		.link = order->links[e].link,
		.last_link = order->links[e].link,
		.place = place,
	};

	/* Nothing may be added to NULL, not even 0. */
	if (order->edits[e].count)
		weaver.end += order->edits[e].count;
	if (order->links[e].count)
		weaver.last_link += order->links[e].count;
	if (nb_weave_room(&weaver) || nb_weave_stream(&weaver, gates))
		return -1;
	stream->count = weaver.count;
	return 0;
}

/* --- Reasons --- */

static void nb_place_reasons(struct nb_order *order, uint32_t **place)
{
	struct nb_made *made = &order->nb->made;
	size_t i;

	for (i = 0; i < made->count; i++) {
		struct nb_reason *reason = &made->reason[i];
		const struct nb_event *event;
		uint32_t pc = reason->seq ? reason->seq - 1 : 0;

		reason->by = reason->actor;
		if (reason->actor >= NEURON_NR_ENGINES) {
			event = &order->actor[reason->actor].event[reason->seq - 1];
			reason->by = event->engine;
			reason->transfer = true;
			pc = event->pc;
		}
		reason->seq = place[reason->by] ? place[reason->by][pc] : 0;
	}
}

static int nb_weave_all(struct nb_order *order, uint32_t **place)
{
	struct nb_gates gates = { .sem = { -1, -1, -1, -1, -1 } };
	unsigned int a, e;

	for (a = NEURON_NR_ENGINES; a < order->nr_actors; a++)
		if (nb_count_transfers(order, a))
			return -1;
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		if (nb_rank(order, e))
			return -1;
	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		if (!order->nb->stream[e].count)
			continue;
		place[e] = calloc(order->nb->stream[e].count, sizeof(*place[e]));
		if (!place[e])
			return nb_fail(order->nb, "out of memory");
		if (nb_weave_engine(order, &gates, e, place[e]))
			return -1;
	}
	nb_place_reasons(order, place);
	return 0;
}

int nb_weave(struct nb_order *order)
{
	uint32_t *place[NEURON_NR_ENGINES] = { NULL };
	unsigned int e;
	int ret = nb_weave_all(order, place);

	for (e = 0; e < NEURON_NR_ENGINES; e++)
		free(place[e]);
	return ret;
}
