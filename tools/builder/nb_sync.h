/* SPDX-License-Identifier: MIT */
/*
 * Synchronisation made from data dependencies: what its steps hand on.
 *
 *	nb_record.c	the order of the calls, loops
 *	nb_access.c	what an instruction reads and writes
 *	nb_order.c	from these: what must wait for what, and what is implied
 *	nb_loop.c	loops whose rounds overlap: what they wait for
 *	nb_channel.c	the waits and posts of such loops
 *	nb_barrier.c	all engines together, in and around loops whose rounds do not overlap
 *	nb_weave.c	waits and posts put into the streams
 *	nb_why.c	what each wait is for
 *
 * An actor is an engine, a DMA queue that is a set of its own, or a slot: one of a pool for the
 * transfers of larger sets, whose queues run ahead of each other. Each actor has events, counted
 * from 1, and each comes after those before it. The event of an engine is an instruction (its
 * number is that of the pc, plus 1), that of a queue or slot the end of a transfer. An actor has
 * one semaphore, which counts those events that somebody waits for.
 */
#ifndef NB_SYNC_H
#define NB_SYNC_H

#include "nb_touch.h"

#define NB_MAX_ACTORS	(NEURON_NR_ENGINES + NB_OWN_QUEUES + NB_SLOTS)
/* Sets of one queue that have an actor of their own. */
#define NB_OWN_QUEUES	24
#define NB_SLOTS	16
/* Loops in each other whose rounds overlap. */
#define NB_LOOP_DEPTH	4

/* What a turn is the begin or the end of. */
enum nb_turn_kind {
	NB_TURN_LOOP,		/* rounds that a register counts, or a test ends */
	NB_TURN_THEN,		/* what is executed once or not at all */
	NB_TURN_THEN_ELSE,	/* the same; the next turn begins what is executed instead */
	NB_TURN_ELSE,
};

/**
 * struct nb_turn - a place in the order of the calls where a loop or a branch begins or ends
 * @match: the turn at its other end
 * @around: the turn that begins the loop around it; SIZE_MAX: none
 * @kind: enum nb_turn_kind
 * @reg: counts the rounds, of which there are @count
 * @test: instead a round is executed while @reg @op register @with, or @value if that is 0;
 *	 of a branch, @kind is executed if that holds
 */
struct nb_turn {
	size_t at;
	size_t match;
	size_t around;
	bool begin;
	bool test;
	uint8_t kind;
	uint8_t op;
	uint8_t with;
	int32_t value;
	uint8_t reg;
	uint8_t engines;	/* of the body, NEURON_BIT() */
	uint32_t count;
};

/**
 * struct nb_record - the program in the order of the calls
 * @engine: of each instruction
 * @any: places of those that were given to NB_ANY_ENGINE
 * @open: turns of the @depth loops that have begun and not ended
 */
struct nb_record {
	uint8_t *engine;
	size_t count;
	size_t room;
	size_t *any;
	size_t nr_any;
	size_t any_room;
	struct nb_turn *turn;
	size_t nr_turns;
	size_t turn_room;
	size_t open[NEURON_NR_REGS];
	unsigned int depth;
};

enum nb_edit_kind {
	NB_EDIT_WAIT,		/* until @actor has posted the event @seq */
	NB_EDIT_ARRIVE,		/* post of an engine that has nothing else to post */
	NB_EDIT_RESET,		/* take back what @actor has posted, from @base to @seq */
	NB_EDIT_POST,		/* add @seq to semaphore @actor */
	NB_EDIT_TAKE,		/* wait until semaphore @actor is @seq, and take it */
	NB_EDIT_GO,		/* let engine @actor go on */
	NB_EDIT_GO_TAKE,	/* wait for that */
	NB_EDIT_LOOP_BEGIN,	/* @seq times, counted by register @reg; @extra: rounds overlap */
	NB_EDIT_LOOP_END,
	NB_EDIT_WHILE_BEGIN,	/* go on at the test; @extra: as in loops that overlap */
	NB_EDIT_WHILE_END,	/* again while @reg op @extra register @actor, or the value @base */
	NB_EDIT_THEN_END,	/* the same for what is executed once; if not, go on behind this */
	NB_EDIT_BRANCH_END,	/* where what was executed once goes on */
	NB_EDIT_LOOP_DONE,	/* all rounds of a loop that overlap are over */
	NB_EDIT_DRAIN,		/* take what drain @seq counts, if anybody has asked for it */
};

/**
 * struct nb_edit - something to be put before instruction @pc
 * @base: events up to this one are no longer in the semaphore
 * @extra: posts besides those of events
 * @why: index of the reason
 */
struct nb_edit {
	uint32_t pc;
	uint8_t kind;
	uint8_t actor;
	uint8_t reg;
	uint8_t extra;
	uint32_t base;
	uint32_t seq;
	uint32_t why;
};

struct nb_edits {
	struct nb_edit *edit;
	size_t count;
	size_t room;
};

/* A post after instruction @pc, in a loop. */
struct nb_link {
	uint32_t pc;
	uint32_t sem;
};

struct nb_links {
	struct nb_link *link;
	size_t count;
	size_t room;
};

/**
 * struct nb_event - the end of a transfer, and what its trigger knew
 * @snap: index of a clock
 * @before: events of @engine before the trigger
 * @taken: in a loop: event of @taker which has waited for this one, as others must; 0: none
 * @drain: the drain by which it waits, counted from 1; 0: it waits in any case
 * @unsure: it may not be executed: then this earlier event is the last one before it; 0: none, or
 *	it is executed
 * @total: what the semaphore has been given with this event, counted from the first
 */
struct nb_event {
	uint32_t pc;
	uint32_t snap;
	uint32_t before;
	uint32_t taken;
	uint32_t drain;
	uint32_t unsure;
	uint32_t total;
	uint8_t engine;
	uint8_t taker;
	uint8_t posts;		/* of its queues, if anybody waits */
	bool waited;
	bool landed;		/* DMA_GENERATE: by the instruction's own post */
};

/**
 * struct nb_drain - how the transfers of a loop that nobody waits for in it are waited for
 * @event: the last one in a round, of @actor, which posts in each of @count rounds
 * @taker: the engine that waits for all of them: behind the loop, or if nobody knows how often it
 *	is executed, at the end of each round
 * @depth: of the loop
 * @asked: somebody needs to know that they are over
 */
struct nb_drain {
	uint32_t event;
	uint32_t count;
	uint8_t actor;
	uint8_t taker;
	uint8_t depth;
	bool asked;
};

/* From event @seq on the engine knew what clock @snap says. */
struct nb_past {
	uint32_t seq;
	uint32_t snap;
};

/**
 * struct nb_actor - an engine, queue or slot
 * @seq: its newest event
 * @start: its newest event when all engines met
 * @event: of a queue or slot: all events
 * @past: of an engine, since all engines met
 * @waited: of an engine: a bit for each event that somebody waits for
 * @rank: bits in the words of @waited before each
 * @queue: of a queue: the set
 */
struct nb_actor {
	uint32_t seq;
	uint32_t start;
	struct nb_event *event;
	size_t event_room;
	struct nb_past *past;
	size_t nr_past;
	size_t past_room;
	uint64_t *waited;
	uint32_t *rank;
	int queue;
	int sem;
};

/* Why an access must come after an earlier one; NONE: it need not. */
enum nb_cause {
	NB_CAUSE_NONE,
	NB_CAUSE_READ,		/* it reads what is written */
	NB_CAUSE_WRITE,		/* it writes what is written */
	NB_CAUSE_REUSE,		/* it writes what is read */
	NB_CAUSE_SLOT,		/* the semaphore of a transfer */
	NB_CAUSE_HAND,		/* a wait or post by hand */
	NB_CAUSE_LOOP,		/* all engines meet */
	NB_CAUSE_LEFT,		/* posts that the last round of a loop has left */
	NB_CAUSE_DRAIN,		/* transfers of a loop */
};

/**
 * struct nb_reason - of a wait
 * @area: what the access that waits touches
 * @pc: the instruction that waits; in the end its place in the stream that was made
 * @seq: event of @actor; in the end the place of its instruction
 * @by: engine of that instruction
 * @transfer: it starts a transfer, whose end is waited for
 */
struct nb_reason {
	struct nb_area area;
	uint32_t pc;
	uint32_t seq;
	uint8_t engine;
	uint8_t actor;
	uint8_t cause;
	uint8_t by;
	bool transfer;
};

struct nb_need {
	uint32_t seq;
	uint8_t cause;
	struct nb_area area;
};

#define NB_MAX_ACCESSES	40

/* A constant has been written; transfers have found their descriptors in it. */
#define NB_CONSTANT_WRITTEN	NEURON_BIT(0)
#define NB_CONSTANT_BLOCKS	NEURON_BIT(1)

/**
 * struct nb_step - an instruction and what it touches
 * @actor: whose event the end of the accesses is
 * @room: instructions in the stream that belong to it
 * @posts: of a transfer: how many queues post
 * @release: all before it must be over, because it tells somebody else
 * @acquire: all after it must wait for it, because it waits for somebody else
 * @entry: it stands for the whole inner loop of this number, counted from 1; 0: for itself
 */
struct nb_step {
	const struct neuron_inst *inst;
	enum neuron_engine engine;
	uint32_t pc;
	unsigned int actor;
	unsigned int room;
	unsigned int posts;
	int queue;
	bool transfer;
	bool landed;
	bool release;
	bool acquire;
	bool all;		/* nobody knows what it touches */
	unsigned int entry;
	unsigned int nr_touches;
	struct nb_touch touch[NB_MAX_ACCESSES];
};

/**
 * struct nb_order - dependencies under construction
 * @queued: [set * NB_SLOTS + slot]: newest transfer of that set which has that slot
 * @pc: next instruction of each engine
 * @reg_known: registers of each engine whose value is known here: a mask; @reg: their values
 * @reg_set: registers of each engine that it has set on every way to this place, or that have
 *	counted a loop: a mask
 * @reg_sets: of each loop or branch around this place: @reg_set where it began, and at the end of
 *	the first part of a branch
 * @clock: [e][a]: events of actor a that engine e knows to be over
 * @done: [e][a]: engine e knows that all that actor a has touched up to this event is over, but
 *	perhaps not that a has posted it
 * @done_since: event of each engine from which on that is so; 0: there is nothing of the kind
 * @constant: of each variable: NB_CONSTANT_*
 * @nr_sems: semaphores that nb_sem() had given
 * @counting: registers that count the loops around this place: a mask
 * @snap: clocks as they were, nr_actors words each; number 0 has seen nothing
 * @now: number of the newest clock of each engine
 * @over: events of each actor that all engines know to be over
 * @acquired: of each actor: its newest event that all others must wait for
 * @need: of the instruction under work: events of each actor; @needs: of which, a mask
 * @at: place in the order of the calls
 * @first_tile: tiles before this one are not alive any more
 * @depth: loops around this place
 * @met: nothing has been executed since all engines met
 * @loop: whose rounds are being looked at, or NULL
 * @shift: events of each engine in the rounds before this one
 * @channel: [d][a][e]: semaphore by which actor a tells engine e in loops of depth d; -1: none
 * @drain: of transfers of loops that nobody waits for there
 * @drained: [d][a][e]: semaphore that counts those of actor a for engine e; -1: none
 * @links: of each engine: its posts in loops
 */
struct nb_order {
	struct nb_program *nb;
	struct nb_record *record;
	struct nb_touched touched;
	struct nb_actor actor[NB_MAX_ACTORS];
	unsigned int nr_actors;
	unsigned int first_slot;
	unsigned int next_slot;
	uint32_t *queued;
	uint32_t pc[NEURON_NR_ENGINES];
	unsigned int engines;
	uint64_t reg_known[NEURON_NR_ENGINES];
	uint32_t reg[NEURON_NR_ENGINES][NEURON_NR_REGS];
	uint64_t reg_set[NEURON_NR_ENGINES];
	struct {
		uint64_t before[NEURON_NR_ENGINES];
		uint64_t then[NEURON_NR_ENGINES];
	} reg_sets[NEURON_NR_REGS];
	uint8_t *constant;
	unsigned int nr_sems;
	uint64_t counting;
	uint32_t clock[NEURON_NR_ENGINES][NB_MAX_ACTORS];
	uint32_t done[NEURON_NR_ENGINES][NB_MAX_ACTORS];
	uint32_t done_since[NEURON_NR_ENGINES];
	uint32_t *snap;
	size_t nr_snaps;
	size_t snap_room;
	uint32_t now[NEURON_NR_ENGINES];
	uint32_t over[NB_MAX_ACTORS];
	uint32_t acquired[NB_MAX_ACTORS];
	struct nb_need need[NB_MAX_ACTORS];
	uint64_t needs;
	struct nb_edits edits[NEURON_NR_ENGINES];
	size_t at;
	size_t first_tile;
	unsigned int depth;
	bool met;
	struct nb_loop *loop;
	uint32_t shift[NEURON_NR_ENGINES];
	int channel[NB_LOOP_DEPTH][NB_MAX_ACTORS][NEURON_NR_ENGINES];
	struct nb_drain *drain;
	size_t nr_drains;
	size_t drain_room;
	int drained[NB_LOOP_DEPTH][NB_MAX_ACTORS][NEURON_NR_ENGINES];
	struct nb_links links[NEURON_NR_ENGINES];
};

/* The accesses of the next instruction of @engine. 0 or -1. */
int nb_step_get(struct nb_order *order, enum neuron_engine engine, struct nb_step *step);

/* Where a loop or branch ends that @begin begins: if it has two parts, the second one. */
static inline const struct nb_turn *nb_turn_last(const struct nb_record *record,
						 const struct nb_turn *begin)
{
	const struct nb_turn *end = &record->turn[begin->match];

	return end->kind == NB_TURN_THEN_ELSE ? &record->turn[end[1].match] : end;
}

/* A loop that has not ended has begun after the first @turn turns. */
bool nb_loop_since(const struct nb_program *nb, size_t turn);

/*
 * An engine that has something in one part of a branch has to test whether to execute it, so it
 * takes part in both. @end: of the part behind nb_else().
 */
void nb_join_branch(struct nb_record *record, struct nb_turn *end);

/* The engines of a loop that begins at @turn set the register that counts its rounds. */
void nb_regs_count(struct nb_order *order, const struct nb_turn *turn);

/* Nothing is known of registers any more. */
void nb_regs_forget(struct nb_order *order);

/* The tile of nb_tile_new() that is alive here and holds the first byte of @area, or NULL. */
const struct nb_area *nb_live_tile(struct nb_order *order, const struct nb_area *area);

/* Put @edit before the next instruction of @engine. 0 or -1. */
int nb_edit_add(struct nb_order *order, enum neuron_engine engine, struct nb_edit edit);
/* Index of the new reason, in edits; -1: no memory. */
int64_t nb_reason_add(struct nb_order *order, const struct nb_reason *reason);
/* Somebody waits for event @seq. */
void nb_order_wait_for(struct nb_order *order, unsigned int actor, uint32_t seq);

/*
 * All engines of the part of the program around a loop, @outside, a mask, meet before and behind
 * it, those in the loop after each round. 0 or -1.
 */
int nb_loop_begin(struct nb_order *order, const struct nb_turn *turn, unsigned int outside);
int nb_loop_end(struct nb_order *order, const struct nb_turn *turn, unsigned int outside);

#define NB_END_EDITS	2
/* How many edits end what ends at @turn, a loop or a part of a branch. */
unsigned int nb_end_edits(const struct nb_turn *turn, struct nb_edit edit[NB_END_EDITS]);

/* Put @edit before instruction @pc of @engine. 0 or -1. */
int nb_edit_at(struct nb_order *order, enum neuron_engine engine, uint32_t pc,
	       struct nb_edit edit);

/* The instruction under work must come after what @need says of @actor. */
static inline void nb_need_set(struct nb_order *order, unsigned int actor, struct nb_need need)
{
	order->need[actor] = need;
	order->needs |= NEURON_BIT64(actor);
}

/* The waits that order->need asks for, before instruction @step->pc. 0 or -1. */
int nb_make_waits(struct nb_order *order, const struct nb_step *step);
/* @knows[a] events of each actor a are known to be over: more with event @seq of @actor. */
void nb_event_knows(const struct nb_order *order, unsigned int actor, uint32_t seq,
		    uint32_t *knows);
/* What engine @e knows now it has known from its event @seq on. 0 or -1. */
int nb_clock_keep(struct nb_order *order, enum neuron_engine e, uint32_t seq);
/* Find out anew what all engines know. */
void nb_look_over(struct nb_order *order);

/*
 * Which registers are set, where a loop or branch begins or ends. 0 or -1: a test needs one that is
 * not.
 */
int nb_turn_regs(struct nb_order *order, const struct nb_turn *turn);

/* The instructions of the record from @begin on, before @end. 0 or -1. */
int nb_order_range(struct nb_order *order, size_t begin, size_t end);

/* Who needs @event asks the engine that waits for it. */
void nb_event_ask(struct nb_order *order, const struct nb_event *event);
/* A transfer of a loop tells one engine of its end: others wait for that one's event. */
void nb_ask_taker(struct nb_order *order, unsigned int *actor, uint32_t *seq);
/* If event @seq of @actor was not executed, the last one before it that was; 0: none is left. */
uint32_t nb_event_unsure(const struct nb_order *order, unsigned int actor, uint32_t seq);
/* The waits of those drains that somebody has asked for. 0 or -1. */
int nb_drains_write(struct nb_order *order);

/*
 * The loop that @turn begins, with those in it: its rounds overlap. 1: done; 0: that is not
 * possible; -1: an error.
 */
int nb_loop_overlap(struct nb_order *order, const struct nb_turn *turn);
/* The instruction of @step, in a loop, must wait for event @seq of @actor. 0 or -1. */
int nb_loop_wait(struct nb_order *order, const struct nb_step *step, unsigned int actor);
/*
 * The last event of @actor up to @seq that may be before the instruction under work: in the second
 * part of a branch those of the first one are not.
 */
uint32_t nb_loop_seen(const struct nb_order *order, unsigned int actor, uint32_t seq);
/* Rounds of the loop cannot overlap. */
void nb_loop_refuse(struct nb_order *order);

/* The one of @engines, a mask, that has least to do, as a rule. */
enum neuron_engine nb_leader(unsigned int engines);

/* Put all edits into the streams. 0 or -1. */
int nb_weave(struct nb_order *order);

#endif /* NB_SYNC_H */
