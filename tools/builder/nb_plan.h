/* SPDX-License-Identifier: MIT */
/*
 * Scheduling on request: what its steps hand on.
 *
 *	nb_plan.c	the recorded program as nodes in regions, and what each touches
 *	nb_depend.c	which node must come after which
 *	nb_cost.c	what each takes, by the chip's own tables
 *	nb_list.c	the new order, and engines
 *	nb_place.c	places of tiles while that is found out
 *	nb_spread.c	queues of transfers
 *	nb_rewrite.c	the program in that order
 *	nb_schedule.c	all of these, one region after the other
 *
 * A region is a part of the program between loops and between instructions that nothing may
 * pass. Nodes change places within their region only.
 */
#ifndef NB_PLAN_H
#define NB_PLAN_H

#include "nb_alloc.h"
#include "nb_schedule.h"
#include "nb_sync.h"

#define NB_NO_ENGINE	UINT8_MAX
#define NB_NO_TILE	-1

/**
 * struct nb_node - what stays together: an instruction, a load of the array with the products
 *	behind it, a transfer with its nops
 * @pc, @room: where it is in the old stream of @from; no @room: it only joins others
 * @from, @engine: before and now
 * @queue, @new_queue: of a transfer
 * @first_use, @nr_uses: what it touches
 * @first_after, @nr_after: nodes that must come after it, in plan->after
 * @transfer: of nb_dma() and the like, which may go to another queue
 * @any: it may go to another engine
 * @fixed: nothing may pass it
 * @bound: in a loop that ends by a test of registers, which other engines may lack: it keeps its
 *	engine
 * @load: it begins with a load of the array
 * @ports: NB_PORT_* that it needs as long as that
 * @issue_ps: that it keeps its engine
 * @move_ps: of a transfer: from the trigger to its end on one queue, without waiting
 * @tail_ps: the longest way from its begin to the end of the region
 * @wanted_ps: when it would begin in the order of the calls if transfers took no time; of a
 *	transfer: when the first of those behind it would
 * @key: how urgent it is: the least is the most urgent
 * @ready_ps: when all before it is over
 * @nr_before, @left: nodes that it must come after, and those that have no place yet
 */
struct nb_node {
	uint32_t pc;
	uint32_t room;
	uint8_t from;
	uint8_t engine;
	bool transfer;
	bool any;
	bool fixed;
	bool bound;
	bool load;
	uint8_t ports;
	int16_t queue;
	int16_t new_queue;
	uint32_t first_use;
	uint32_t nr_uses;
	uint32_t first_after;
	uint32_t nr_after;
	uint32_t nr_before;
	uint32_t left;
	uint64_t issue_ps;
	uint64_t move_ps;
	uint64_t tail_ps;
	uint64_t wanted_ps;
	uint64_t key;
	uint64_t ready_ps;
};

/**
 * struct nb_use - an area that a node touches
 * @tile: that it lies in, or NB_NO_TILE
 */
struct nb_use {
	struct nb_area area;
	int32_t tile;
	bool write;
};

/**
 * struct nb_plan_tile - a tile that the program has
 * @end_ps: when all that touch it are over, of those that have a place in the new order
 * @region: that it is born in
 * @uses, @left: nodes that touch it, and those that have no place in the new order yet
 * @shift: bytes from the old place to the new one
 * @movable: it may have another place
 * @placed: it has one
 */
struct nb_plan_tile {
	uint64_t end_ps;
	uint32_t region;
	uint32_t uses;
	uint32_t left;
	int32_t shift;
	bool movable;
	bool placed;
};

/**
 * struct nb_region - nodes @first to @last (behind it), instructions @begin to @end of the record
 * @ordered: in plan->order
 */
struct nb_region {
	uint32_t first;
	uint32_t last;
	size_t begin;
	size_t end;
	size_t ordered;
};

struct nb_edge {
	uint32_t before;
	uint32_t after;
};

/*
 * Ways into memories that engines share: into SBUF, and into PSUM where that is one. The banks of
 * newer chips are ways of their own, but which one a tile gets is not known before its turn.
 */
enum nb_port {
	NB_PORT_SBUF,
	NB_PORT_PSUM,
	NB_PORTS
};

#define NB_PLAN_SINGLES	8
#define NB_DMA_ENGINES	16

/**
 * struct nb_moving - when what moves bytes is free, in ps
 * @server: each DMA engine
 * @queue: each queue of the job's table: one that still works takes the next transfer at once, and
 *	one that is idle has to start
 */
struct nb_moving {
	uint64_t server[NB_DMA_ENGINES];
	uint64_t queue[NEURON_JOB_MAX_QUEUES];
};

/* Queues that transfers are spread over, made when the first one comes; -1: not yet. */
struct nb_spread {
	enum neuron_engine owner;
	int split;
	int single[NB_PLAN_SINGLES];
};

/**
 * struct nb_plan - a program that is scheduled
 * @places: of the region under work
 * @living: tiles of earlier regions that are alive in the region under work, of the first @nr_seen
 * @joins: nodes from this one on only join others
 * @order: numbers of nodes, as they are to be
 * @raw: of each memory and unit: quadrants that something else than tiles touches
 * @space: SBUF, PSUM and variables, while nb_depend() looks for who touches them
 * @written: variables that are written
 * @tensor_fixed: the instructions of the tensor engine stay in order
 * @all: something touches nobody knows what
 * @random: something rounds at random, by its number
 * @apart: transfers that leave SBUF have another engine and other queues than those to it
 * @span_ps: of the region under work: how long it takes at least, or in the order of the calls
 * @total_ps: when what is ordered ends
 */
struct nb_plan {
	struct nb_program *nb;
	struct nb_schedule_options options;
	const struct neuron_gen *gen;
	struct nb_node *node;
	size_t nr_nodes;
	size_t node_room;
	struct nb_use *use;
	size_t nr_uses;
	size_t use_room;
	struct nb_region *region;
	size_t nr_regions;
	size_t region_room;
	struct nb_plan_tile *tile;
	struct nb_places *places;
	uint32_t *living;
	uint32_t nr_living;
	uint32_t nr_seen;
	struct nb_edge *edge;
	size_t nr_edges;
	size_t edge_room;
	uint32_t *after;
	uint32_t joins;
	uint32_t *order;
	size_t nr_order;
	size_t order_room;
	uint8_t raw[NB_MEMORIES][NB_MAX_PARTITION / NB_UNIT];
	struct nb_seen_space *space;
	bool *written;
	struct nb_spread in;
	struct nb_spread out;
	bool tensor_fixed;
	bool all;
	bool random;
	bool apart;
	uint64_t span_ps;
	uint64_t total_ps;
};

/* Read the record into nodes and regions. 0 or -1. */
int nb_plan_read(struct nb_plan *plan);
void nb_plan_free(struct nb_plan *plan);
struct nb_node *nb_plan_node(struct nb_plan *plan);
struct nb_use *nb_plan_use(struct nb_plan *plan);
/* The first tile that is born in this region or a later one. */
uint32_t nb_first_tile(const struct nb_plan *plan, uint32_t region);

/* The instructions of a node. */
const struct neuron_inst *nb_node_inst(const struct nb_plan *plan, const struct nb_node *node);
/* The transfer of such a node. */
const struct nb_dma_block *nb_node_block(const struct nb_plan *plan, const struct nb_node *node);

/* Find what must come after what in @region: plan->after and the fields of its nodes. 0 or -1. */
int nb_depend(struct nb_plan *plan, struct nb_region *region);

/* Fill in the costs of a node, on the engine that it is on. */
void nb_cost_node(const struct nb_plan *plan, struct nb_node *node);
/* Of an instruction on @engine, in ps. */
uint64_t nb_cost_inst(const struct nb_plan *plan, enum neuron_engine engine,
		      const struct neuron_inst *inst);
/* What it has to itself meanwhile, a mask of NB_PORT_*. */
unsigned int nb_ports_inst(const struct nb_plan *plan, enum neuron_engine engine,
			   const struct neuron_inst *inst);

/**
 * struct nb_places - places of the tiles of a region while its order is found out
 * @used: quadrants of each unit that are not free
 * @ready: when each unit is free, in ps
 * @next: where to look first
 * @taken, @most: units times quadrants that tiles have, and may have for a transfer
 */
struct nb_places {
	struct nb_plan *plan;
	uint8_t used[NB_MEMORIES][NB_MAX_PARTITION / NB_UNIT];
	uint64_t ready[NB_MEMORIES][NB_MAX_PARTITION / NB_UNIT];
	unsigned int next[NB_MEMORIES];
	uint64_t taken[NB_MEMORIES];
	uint64_t most[NB_MEMORIES];
};

/* @percent of what is free is for transfers. */
void nb_places_begin(struct nb_places *places, struct nb_plan *plan,
		     const struct nb_region *region, unsigned int percent);
/*
 * Places for the tiles that @node is the first to touch. *@ready becomes later where they are not
 * free before. False: there is none, or @wait says that others come first; then *@memory is the
 * one that it needs.
 */
bool nb_places_take(struct nb_places *places, const struct nb_node *node, bool wait,
		    uint64_t *ready, enum nb_memory *memory);
/* @node has its place in the order, and ends at @end. Memories where a tile died, a mask. */
unsigned int nb_places_done(struct nb_places *places, const struct nb_node *node, uint64_t end);

#define NB_RULE_PARTS	32

/* The times by which the nodes of @region are urgent, once before nb_list(). */
void nb_measure(struct nb_plan *plan, const struct nb_region *region);
/*
 * Append the nodes of @region to plan->order. @rule: how their times are weighed (nb_list.c). The
 * same rule gives the same order each time. 1: done; 0: it does not fit; -1: an error.
 */
int nb_list(struct nb_plan *plan, const struct nb_region *region, unsigned int rule,
	    unsigned int percent);
/* The same in the order of the calls, with all tiles where they are. 0 or -1. */
int nb_list_in_order(struct nb_plan *plan, const struct nb_region *region);
/* The engine that starts a transfer that may go to another queue. */
enum neuron_engine nb_spread_engine(const struct nb_plan *plan, const struct nb_node *node);
/* All are free at @time. */
void nb_moving_begin(struct nb_moving *moving, uint64_t time);
/* Give a transfer, which its engine starts at @begin, a queue. Returns when it ends. */
uint64_t nb_spread_node(struct nb_plan *plan, struct nb_node *node, uint64_t begin,
			struct nb_moving *moving);

/* Write the program in the order of plan->order. 0 or -1. */
int nb_rewrite(struct nb_plan *plan);

#endif /* NB_PLAN_H */
