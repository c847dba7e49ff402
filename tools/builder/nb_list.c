// SPDX-License-Identifier: MIT
/*
 * The new order: list scheduling. Time goes on over all engines; whoever can begin first does,
 * and of those on one engine the most urgent. How urgent a node is, two times say: when it would
 * begin in the order of the calls if transfers took no time, and when it must begin so that the
 * longest way behind it ends with that. By rule 0 the earlier one counts. By the others their
 * mean does, with a weight of rule / NB_RULE_PARTS for the second: the more that has, the farther
 * a long chain may begin ahead of what the calls have before it. No rule is the best for all
 * programs, so nb_schedule.c tries several.
 */
#include <stdlib.h>
#include <string.h>

#include "nb_inst.h"
#include "nb_plan.h"
#include "time/trn_cost.h"

#define NB_ANY_LIST	NEURON_NR_ENGINES
#define NB_LISTS	(NEURON_NR_ENGINES + 1)

/* Nodes, the least by (time, then number) first. */
struct nb_heap {
	uint32_t *node;
	uint32_t nr;
};

/* Where a node that may go to any engine can go, and what it takes there. */
struct nb_choice {
	uint32_t node;
	bool known;
	uint64_t cost[NEURON_NR_ENGINES];	/* 0: it cannot go there */
	unsigned int ports[NEURON_NR_ENGINES];
};

/**
 * struct nb_lister - the order of a region under construction
 * @soon: nodes of each engine (and of any) by the time at which they can begin
 * @now: those that can begin when the engine is free, by their urgency
 * @full: of each memory: nodes that found no place there
 * @free: when each engine is free
 * @port: when each way into a memory is that engines share
 * @moving: when DMA engines and queues are
 * @choice: of the node that is the next one of those that may go to any engine
 * @left: nodes that have no place yet
 */
struct nb_lister {
	struct nb_plan *plan;
	const struct nb_region *region;
	struct nb_places *places;
	struct nb_heap soon[NB_LISTS];
	struct nb_heap now[NB_LISTS];
	struct nb_heap full[NB_MEMORIES];
	uint64_t free[NEURON_NR_ENGINES];
	uint64_t port[NB_PORTS];
	struct nb_moving moving;
	struct nb_choice choice;
	uint32_t left;
};

/* --- Heaps --- */

static uint64_t nb_weight(const struct nb_plan *plan, uint32_t node, bool by_time)
{
	return by_time ? plan->node[node].ready_ps : plan->node[node].key;
}

static bool nb_before(const struct nb_plan *plan, uint32_t a, uint32_t b, bool by_time)
{
	uint64_t x = nb_weight(plan, a, by_time), y = nb_weight(plan, b, by_time);

	return x != y ? x < y : a < b;
}

static void nb_push(const struct nb_plan *plan, struct nb_heap *heap, uint32_t node,
		    bool by_time)
{
	uint32_t i = heap->nr++, up;

	for (; i; i = up) {
		up = (i - 1) / 2;
		if (!nb_before(plan, node, heap->node[up], by_time))
			break;
		heap->node[i] = heap->node[up];
	}
	heap->node[i] = node;
}

static uint32_t nb_pop(const struct nb_plan *plan, struct nb_heap *heap, bool by_time)
{
	uint32_t top = heap->node[0], last = heap->node[--heap->nr], i = 0, down;

	for (; (down = 2 * i + 1) < heap->nr; i = down) {
		if (down + 1 < heap->nr &&
		    nb_before(plan, heap->node[down + 1], heap->node[down], by_time))
			down++;
		if (!nb_before(plan, heap->node[down], last, by_time))
			break;
		heap->node[i] = heap->node[down];
	}
	heap->node[i] = last;
	return top;
}

/* --- Urgency --- */

static uint64_t nb_length(const struct nb_node *node)
{
	return node->transfer ? node->issue_ps + TRN_COST_DMA_START_PS + node->move_ps :
				node->issue_ps + node->move_ps;
}

/* The longest way behind a node. */
static uint64_t nb_behind(struct nb_plan *plan, const struct nb_node *node)
{
	uint64_t most = 0;
	uint32_t i;

	for (i = 0; i < node->nr_after; i++) {
		struct nb_node *after = &plan->node[plan->after[node->first_after + i]];

		/* One that joins is asked first by the last of those before it. */
		if (!after->room && !after->tail_ps)
			after->tail_ps = nb_behind(plan, after);
		if (most < after->tail_ps)
			most = after->tail_ps;
	}
	return most;
}

/* Who must come after a node has a greater number, or only joins others. */
static void nb_tails(struct nb_plan *plan, const struct nb_region *region)
{
	uint32_t n;

	for (n = plan->joins; n < plan->nr_nodes; n++)
		plan->node[n].tail_ps = 0;
	for (n = region->last; n-- > region->first;)
		plan->node[n].tail_ps = nb_behind(plan, &plan->node[n]) +
					nb_length(&plan->node[n]);
}

static void nb_not_before(struct nb_plan *plan, const struct nb_node *node, uint64_t end)
{
	uint32_t i;

	for (i = 0; i < node->nr_after; i++) {
		struct nb_node *after = &plan->node[plan->after[node->first_after + i]];

		if (after->ready_ps >= end)
			continue;
		after->ready_ps = end;
		if (!after->room)
			nb_not_before(plan, after, end);
	}
}

static void nb_ready_at(struct nb_plan *plan, const struct nb_region *region, uint64_t time)
{
	uint32_t n;

	for (n = region->first; n < region->last; n++)
		plan->node[n].ready_ps = time;
	for (n = plan->joins; n < plan->nr_nodes; n++)
		plan->node[n].ready_ps = time;
}

/*
 * As in the order of the calls, with transfers that take no time: ready_ps becomes the begin of
 * each. Returns when the last one ends.
 */
static uint64_t nb_in_order(struct nb_plan *plan, const struct nb_region *region)
{
	uint64_t free[NEURON_NR_ENGINES] = { 0 }, end, last = 0;
	uint32_t n;

	nb_ready_at(plan, region, 0);
	for (n = region->first; n < region->last; n++) {
		struct nb_node *node = &plan->node[n];

		if (!node->transfer && node->ready_ps < free[node->engine])
			node->ready_ps = free[node->engine];
		end = node->ready_ps + (node->transfer ? 0 : node->issue_ps);
		if (!node->transfer)
			free[node->engine] = end;
		if (last < end)
			last = end;
		nb_not_before(plan, node, end);
	}
	return last;
}

/* A transfer is wanted when the first of those behind it is. */
static uint64_t nb_wanted(const struct nb_plan *plan, const struct nb_node *node)
{
	uint64_t first = UINT64_MAX;
	uint32_t i;

	if (!node->transfer)
		return node->ready_ps;
	for (i = 0; i < node->nr_after; i++) {
		const struct nb_node *after = &plan->node[plan->after[node->first_after + i]];

		if (after->room && after->ready_ps < first)
			first = after->ready_ps;
	}
	return first == UINT64_MAX ? node->ready_ps : first;
}

void nb_measure(struct nb_plan *plan, const struct nb_region *region)
{
	uint32_t n;

	nb_tails(plan, region);
	plan->span_ps = nb_in_order(plan, region);
	for (n = region->first; n < region->last; n++) {
		plan->node[n].wanted_ps = nb_wanted(plan, &plan->node[n]);
		if (plan->span_ps < plan->node[n].tail_ps)
			plan->span_ps = plan->node[n].tail_ps;
	}
}

static void nb_keys(struct nb_plan *plan, const struct nb_region *region, unsigned int rule)
{
	uint32_t n;

	for (n = region->first; n < region->last; n++) {
		struct nb_node *node = &plan->node[n];
		uint64_t wanted = node->wanted_ps, latest = plan->span_ps - node->tail_ps;

		if (rule)
			node->key = (wanted * (NB_RULE_PARTS - rule) + latest * rule) /
				    NB_RULE_PARTS;
		else
			node->key = wanted < latest ? wanted : latest;
	}
}

/* --- Time --- */

static void nb_list_ready(struct nb_lister *lister, uint32_t n);

static void nb_list_ended(struct nb_lister *lister, uint32_t n, uint64_t end)
{
	struct nb_plan *plan = lister->plan;
	struct nb_node *node = &plan->node[n];
	uint32_t i;

	for (i = 0; i < node->nr_after; i++) {
		uint32_t number = plan->after[node->first_after + i];
		struct nb_node *after = &plan->node[number];

		if (after->ready_ps < end)
			after->ready_ps = end;
		if (!--after->left)
			nb_list_ready(lister, number);
	}
}

static void nb_list_ready(struct nb_lister *lister, uint32_t n)
{
	struct nb_node *node = &lister->plan->node[n];

	if (!node->room)
		nb_list_ended(lister, n, node->ready_ps);
	else
		nb_push(lister->plan, &lister->soon[node->any ? NB_ANY_LIST : node->engine], n,
			true);
}

/* Those that can begin when the engine is free. */
static void nb_list_turn(struct nb_lister *lister, unsigned int list, uint64_t free)
{
	const struct nb_plan *plan = lister->plan;
	struct nb_heap *soon = &lister->soon[list];

	while (soon->nr && plan->node[soon->node[0]].ready_ps <= free)
		nb_push(plan, &lister->now[list], nb_pop(plan, soon, true), false);
}

static const struct nb_choice *nb_choose(struct nb_lister *lister, uint32_t n)
{
	static const enum neuron_engine engines[] = {
		NEURON_ENGINE_VECTOR, NEURON_ENGINE_SCALAR, NEURON_ENGINE_GPSIMD,
	};
	const struct nb_plan *plan = lister->plan;
	const struct neuron_inst *inst = nb_node_inst(plan, &plan->node[n]);
	struct nb_choice *choice = &lister->choice;
	unsigned int i;

	if (choice->known && choice->node == n)
		return choice;
	*choice = (struct nb_choice){ .node = n, .known = true };
	for (i = 0; i < sizeof(engines) / sizeof(engines[0]); i++)
		if (nb_accepts(plan->nb, engines[i], inst)) {
			choice->cost[engines[i]] = nb_cost_inst(plan, engines[i], inst);
			choice->ports[engines[i]] = nb_ports_inst(plan, engines[i], inst);
		}
	return choice;
}

/* When an engine can begin what is ready at @ready and needs @ports. */
static uint64_t nb_begin_on(const struct nb_lister *lister, unsigned int engine,
			    unsigned int ports, uint64_t ready)
{
	uint64_t begin = lister->free[engine] > ready ? lister->free[engine] : ready;
	unsigned int p;

	for (p = 0; p < NB_PORTS; p++)
		if ((ports & NEURON_BIT(p)) && begin < lister->port[p])
			begin = lister->port[p];
	return begin;
}

/* Take the engine on which it ends first. Returns its begin. */
static uint64_t nb_best_engine(struct nb_lister *lister, uint32_t n)
{
	const struct nb_choice *choice = nb_choose(lister, n);
	struct nb_node *node = &lister->plan->node[n];
	uint64_t best = UINT64_MAX, begin = node->ready_ps, start;
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		if (!choice->cost[e])
			continue;
		start = nb_begin_on(lister, e, choice->ports[e], node->ready_ps);
		if (start + choice->cost[e] >= best)
			continue;
		best = start + choice->cost[e];
		begin = start;
		node->engine = e;
		node->issue_ps = choice->cost[e];
		node->ports = choice->ports[e];
	}
	return begin;
}

/* The earliest time at which an engine that takes what any may have is free. */
static uint64_t nb_any_free(const struct nb_lister *lister)
{
	uint64_t free = lister->free[NEURON_ENGINE_VECTOR];

	if (lister->free[NEURON_ENGINE_SCALAR] < free)
		free = lister->free[NEURON_ENGINE_SCALAR];
	return free;
}

/* What comes next on this list, and when it can begin. False: nothing. */
static bool nb_candidate(struct nb_lister *lister, unsigned int list, uint32_t *n,
			 uint64_t *begin)
{
	bool any = list == NB_ANY_LIST;
	struct nb_plan *plan = lister->plan;
	uint64_t free = any ? nb_any_free(lister) : lister->free[list];
	struct nb_node *node;

	nb_list_turn(lister, list, free);
	if (lister->now[list].nr)
		*n = lister->now[list].node[0];
	else if (lister->soon[list].nr)
		*n = lister->soon[list].node[0];
	else
		return false;
	node = &plan->node[*n];
	if (any)
		*begin = nb_best_engine(lister, *n);
	else
		*begin = nb_begin_on(lister, node->engine, node->ports, node->ready_ps);
	return true;
}

static void nb_remove(struct nb_lister *lister, unsigned int list)
{
	if (lister->now[list].nr)
		nb_pop(lister->plan, &lister->now[list], false);
	else
		nb_pop(lister->plan, &lister->soon[list], true);
}

/* A transfer to SBUF lets those that are more urgent and wait for room there go first. */
static bool nb_is_behind(const struct nb_lister *lister, uint32_t n)
{
	const struct nb_heap *full = &lister->full[NB_SBUF];

	return lister->plan->node[n].transfer && full->nr &&
	       nb_before(lister->plan, full->node[0], n, false);
}

static void nb_retry(struct nb_lister *lister, unsigned int memories)
{
	struct nb_plan *plan = lister->plan;
	unsigned int m;

	for (m = 0; m < NB_MEMORIES; m++)
		while ((memories & NEURON_BIT(m)) && lister->full[m].nr)
			nb_list_ready(lister, nb_pop(plan, &lister->full[m], false));
}

/* --- Order --- */

static int nb_order_add(struct nb_plan *plan, uint32_t node)
{
	uint32_t *order;

	order = nb_grow(plan->nb, (void **)&plan->order, plan->nr_order, &plan->order_room,
			sizeof(*order));
	if (!order)
		return -1;
	*order = node;
	plan->nr_order++;
	return 0;
}

static int nb_list_node(struct nb_lister *lister, uint32_t n, uint64_t begin)
{
	struct nb_plan *plan = lister->plan;
	struct nb_node *node = &plan->node[n];
	unsigned int p;
	uint64_t end;

	if (node->transfer) {
		end = nb_spread_node(plan, node, begin, &lister->moving);
		if (nb_error(plan->nb))
			return -1;
	} else {
		end = begin + node->issue_ps + node->move_ps;
	}
	lister->free[node->engine] = begin + node->issue_ps;
	for (p = 0; p < NB_PORTS; p++)
		if (node->ports & NEURON_BIT(p))
			lister->port[p] = begin + node->issue_ps;
	lister->left--;
	if (plan->total_ps < end)
		plan->total_ps = end;
	nb_list_ended(lister, n, end);
	nb_retry(lister, nb_places_done(lister->places, node, end));
	return nb_order_add(plan, n);
}

/* One node more. 1: done; 0: nothing can go on; -1: an error. */
static int nb_list_one(struct nb_lister *lister)
{
	struct nb_plan *plan = lister->plan;
	enum nb_memory memory = NB_SBUF;
	uint64_t begin, best_begin;
	uint32_t n, best;
	unsigned int list;
	int from;

	for (;;) {
		from = -1;
		best = 0;
		best_begin = 0;
		for (list = 0; list < NB_LISTS; list++) {
			if (!nb_candidate(lister, list, &n, &begin))
				continue;
			if (from >= 0 && (begin > best_begin ||
					  (begin == best_begin &&
					   !nb_before(plan, n, best, false))))
				continue;
			from = list;
			best = n;
			best_begin = begin;
		}
		if (from < 0)
			return 0;
		nb_remove(lister, from);
		if (nb_places_take(lister->places, &plan->node[best],
				   nb_is_behind(lister, best), &best_begin, &memory))
			return nb_list_node(lister, best, best_begin) ? -1 : 1;
		nb_push(plan, &lister->full[memory], best, false);
	}
}

static int nb_lister_begin(struct nb_lister *lister, unsigned int percent)
{
	struct nb_plan *plan = lister->plan;
	uint32_t nr = lister->left, i;
	uint32_t *room;

	room = calloc((size_t)(2 * NB_LISTS + NB_MEMORIES) * (nr + 1), sizeof(*room));
	if (!room)
		return nb_fail(plan->nb, "out of memory");
	for (i = 0; i < NB_LISTS; i++) {
		lister->soon[i].node = room + (size_t)i * (nr + 1);
		lister->now[i].node = room + (size_t)(NB_LISTS + i) * (nr + 1);
	}
	for (i = 0; i < NB_MEMORIES; i++)
		lister->full[i].node = room + (size_t)(2 * NB_LISTS + i) * (nr + 1);
	for (i = 0; i < NEURON_NR_ENGINES; i++)
		lister->free[i] = plan->total_ps;
	nb_moving_begin(&lister->moving, plan->total_ps);
	nb_places_begin(lister->places, plan, lister->region, percent);
	nb_ready_at(plan, lister->region, plan->total_ps);
	for (i = lister->region->first; i < lister->region->last; i++)
		plan->node[i].left = plan->node[i].nr_before;
	for (i = plan->joins; i < plan->nr_nodes; i++)
		plan->node[i].left = plan->node[i].nr_before;
	return 0;
}

int nb_list(struct nb_plan *plan, const struct nb_region *region, unsigned int rule,
	    unsigned int percent)
{
	struct nb_lister *lister = calloc(1, sizeof(*lister));
	uint64_t before = plan->total_ps;
	size_t ordered = plan->nr_order;
	int ret = -1;
	uint32_t i;

	if (!lister)
		return nb_fail(plan->nb, "out of memory");
	if (!plan->places)
		plan->places = calloc(1, sizeof(*plan->places));
	if (!plan->places) {
		nb_fail(plan->nb, "out of memory");
		goto out;
	}
	lister->plan = plan;
	lister->region = region;
	lister->places = plan->places;
	lister->left = region->last - region->first;
	nb_keys(plan, region, rule);
	if (nb_lister_begin(lister, percent))
		goto out;
	for (i = region->first; i < region->last; i++)
		if (!plan->node[i].nr_before)
			nb_push(plan, &lister->soon[plan->node[i].any ? NB_ANY_LIST :
						    plan->node[i].engine], i, true);
	do {
		ret = lister->left ? nb_list_one(lister) : 2;
	} while (ret == 1);
	if (!ret) {
		plan->nr_order = ordered;
		plan->total_ps = before;
	}
	ret = ret == 2 ? 1 : ret;
out:
	free(lister->soon[0].node);
	free(lister);
	return ret;
}

int nb_list_in_order(struct nb_plan *plan, const struct nb_region *region)
{
	uint64_t free[NEURON_NR_ENGINES], end, begin;
	struct nb_moving moving;
	uint32_t n, i;

	for (i = 0; i < NEURON_NR_ENGINES; i++)
		free[i] = plan->total_ps;
	nb_moving_begin(&moving, plan->total_ps);
	for (n = region->first; n < region->last; n++) {
		struct nb_node *node = &plan->node[n];

		begin = free[node->engine];
		end = node->transfer ? nb_spread_node(plan, node, begin, &moving) :
				       begin + node->issue_ps + node->move_ps;
		free[node->engine] = begin + node->issue_ps;
		if (plan->total_ps < end)
			plan->total_ps = end;
		if (nb_error(plan->nb) || nb_order_add(plan, n))
			return -1;
	}
	return 0;
}
