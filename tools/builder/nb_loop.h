/* SPDX-License-Identifier: MIT */
/*
 * Loops whose rounds overlap, between the file that finds out what they wait for and the one that
 * writes it down.
 */
#ifndef NB_LOOP_H
#define NB_LOOP_H

#include "nb_sync.h"

/**
 * struct nb_loop_wait - a wait in a round
 * @where: place in the order of the calls
 * @pc: of the instruction that waits
 * @at: event of @actor, counted in its round
 * @entry: it comes before the first round of this inner loop, counted from 1; 0: it does not
 * @back: of the round before
 */
struct nb_loop_wait {
	struct nb_area area;
	size_t where;
	uint32_t pc;
	uint32_t at;
	uint32_t entry;
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

/**
 * struct nb_loop - that is gone through: a loop, or a branch, whose parts are executed once or not
 *	at all
 * @end: where it ends
 * @around: the loop around it, if that is gone through, too
 * @child: loops in it, of which @next is the next one in this round
 * @depth: loops around it, of any kind
 * @counting: as in struct nb_order, at its begin
 * @second: in the second part of a branch
 * @part, @part_pc: of a branch with two parts, at the end of the first one: events of each actor,
 *	counted from the begin, and the next instruction of each engine
 * @floor: if it may not be executed: events before the part under work
 * @floor_around: of the loop or branch around it
 * @pc, @seq, @shift, @clock, @acquired, @nr_past, @met, @first_tile, @reg_set: at its begin
 * @done, @done_since: also at its begin
 * @knows: behind the last round, of the events of a round: how many of each actor each engine knows
 *	to be over
 * @last: of each actor: the last event of a round that touches something
 * @first_seq: @seq when it was gone through for the first time
 * @events: of each actor, in a round
 * @before: what each engine needs of what was before the loop; @before_pc: its first instruction
 *	that does
 * @since: [e][f]: from this instruction on engine e knows that engine f has begun its first round
 * @spared: of @before: another engine waits for it in place of this one
 * @stays: because of this one another engine is spared
 * @made: by the round under way, and by the one before it
 * @waits: those of each round, when they are @known
 * @drain: of each part of a branch and each actor: the drain of its transfers, counted from 1;
 *	0: none
 * @refused: the rounds cannot overlap
 */
struct nb_loop {
	const struct nb_turn *turn;
	const struct nb_turn *end;
	struct nb_loop *around;
	struct nb_loop **child;
	size_t nr_children;
	size_t child_room;
	size_t next;
	unsigned int depth;
	uint64_t counting;
	bool second;
	uint32_t part[NB_MAX_ACTORS];
	uint32_t part_pc[NEURON_NR_ENGINES];
	uint32_t floor[NB_MAX_ACTORS];
	const uint32_t *floor_around;
	uint32_t pc[NEURON_NR_ENGINES];
	uint32_t seq[NB_MAX_ACTORS];
	uint32_t first_seq[NB_MAX_ACTORS];
	uint32_t shift[NEURON_NR_ENGINES];
	uint32_t clock[NEURON_NR_ENGINES][NB_MAX_ACTORS];
	uint32_t done[NEURON_NR_ENGINES][NB_MAX_ACTORS];
	uint32_t done_since[NEURON_NR_ENGINES];
	uint32_t knows[NEURON_NR_ENGINES][NB_MAX_ACTORS];
	uint32_t last[NB_MAX_ACTORS];
	uint32_t acquired[NB_MAX_ACTORS];
	size_t nr_past[NEURON_NR_ENGINES];
	size_t first_tile;
	uint64_t reg_set[NEURON_NR_ENGINES];
	bool met;
	uint32_t events[NB_MAX_ACTORS];
	struct nb_need before[NEURON_NR_ENGINES][NB_MAX_ACTORS];
	uint32_t before_pc[NEURON_NR_ENGINES][NB_MAX_ACTORS];
	uint32_t since[NEURON_NR_ENGINES][NEURON_NR_ENGINES];
	bool spared[NEURON_NR_ENGINES][NB_MAX_ACTORS];
	bool stays[NEURON_NR_ENGINES][NB_MAX_ACTORS];
	unsigned int round;
	struct nb_loop_waits made[2];
	const struct nb_loop_waits *waits;
	struct nb_channels channels;
	uint32_t drain[2][NB_MAX_ACTORS];
	bool known;
	bool refused;
};

static inline unsigned int nb_loop_parts(const struct nb_loop *loop)
{
	return loop->end->kind == NB_TURN_ELSE ? 2 : 1;
}

/* Events of @actor in the round up to the end of @part. */
static inline uint32_t nb_part_end(const struct nb_loop *loop, unsigned int part,
				   unsigned int actor)
{
	return part + 1 < nb_loop_parts(loop) ? loop->part[actor] : loop->events[actor];
}

/* Posts can be taken in the order in which they are made; @channels says how. */
bool nb_channels_fit(struct nb_channels *channels, const struct nb_loop_waits *waits);
/* The waits and posts of @loop, which no other one is around, and of those in it. 0 or -1. */
int nb_loop_write(struct nb_order *order, const struct nb_loop *loop);

#endif /* NB_LOOP_H */
