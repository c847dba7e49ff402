// SPDX-License-Identifier: MIT
/*
 * Queues of transfers. One set of queues moves one transfer after the other, so a store takes no
 * bandwidth from the loads before it. But then one engine starts all of them, and a result that is
 * not there yet holds back the loads behind its store. So transfers from SBUF may also have an
 * engine and queues of their own (nb_schedule.c decides). Large transfers are split over a set of
 * queues, small ones take turns on single queues: a set costs its engine an instruction for each.
 */
#include <stdio.h>
#include <string.h>

#include "nb_plan.h"
#include "time/trn_cost.h"

/* A transfer that takes longer than this on one queue is split. */
#define NB_SPLIT_PS	2000000ull

static bool nb_is_in(const struct nb_plan *plan, const struct nb_node *node)
{
	const struct nb_dma_block *block = nb_node_block(plan, node);

	return plan->nb->var[block->to.var - 1].type == NB_VAR_SBUF;
}

static const struct nb_spread *nb_spread_of(const struct nb_plan *plan,
					    const struct nb_node *node)
{
	return plan->apart && !nb_is_in(plan, node) ? &plan->out : &plan->in;
}

enum neuron_engine nb_spread_engine(const struct nb_plan *plan, const struct nb_node *node)
{
	return nb_spread_of(plan, node)->owner;
}

/* The program may have a queue of this name already: a number behind it makes it another one. */
static int nb_make_queue(struct nb_plan *plan, const struct nb_spread *spread, int single)
{
	const char *of = spread == &plan->in ? "" : "_out";
	unsigned int queues = plan->options.queues ? plan->options.queues : NB_DMA_ENGINES, again;
	char base[32], name[48];

	if (single < 0)
		snprintf(base, sizeof(base), "scheduled%s", of);
	else
		snprintf(base, sizeof(base), "scheduled%s_%d", of, single);
	snprintf(name, sizeof(name), "%s", base);
	for (again = 2; nb_queue_taken(plan->nb, name); again++)
		snprintf(name, sizeof(name), "%s.%u", base, again);
	return nb_queue(plan->nb, name, "data", spread->owner, single < 0 ? queues : 1);
}

static unsigned int nb_server_of(const struct nb_plan *plan, int queue)
{
	return plan->nb->queue[queue].index % NB_DMA_ENGINES;
}

/* Of the queues of one the one that is free first. */
static int nb_pick_single(struct nb_plan *plan, struct nb_spread *spread, const uint64_t *server)
{
	unsigned int i, best = 0;

	for (i = 0; i < NB_PLAN_SINGLES; i++) {
		if (spread->single[i] < 0)
			spread->single[i] = nb_make_queue(plan, spread, i);
		if (spread->single[i] < 0)
			return -1;
		if (server[nb_server_of(plan, spread->single[i])] <
		    server[nb_server_of(plan, spread->single[best])])
			best = i;
	}
	return spread->single[best];
}

static int nb_pick_queue(struct nb_plan *plan, struct nb_node *node, const uint64_t *server)
{
	struct nb_spread *spread = nb_spread_of(plan, node) == &plan->in ? &plan->in : &plan->out;

	if (node->move_ps <= NB_SPLIT_PS || plan->options.queues == 1)
		return nb_pick_single(plan, spread, server);
	if (spread->split < 0)
		spread->split = nb_make_queue(plan, spread, -1);
	return spread->split;
}

void nb_moving_begin(struct nb_moving *moving, uint64_t time)
{
	unsigned int i;

	memset(moving, 0, sizeof(*moving));
	for (i = 0; i < NB_DMA_ENGINES; i++)
		moving->server[i] = time;
}

/* One queue of a set gets its part at @trigger. Returns when that is moved. */
static uint64_t nb_spread_part(struct nb_moving *moving, unsigned int queue, uint64_t trigger,
			       uint64_t move_ps)
{
	uint64_t *server = &moving->server[queue % NB_DMA_ENGINES], ready = moving->queue[queue];

	if (ready <= trigger)
		ready = trigger + TRN_COST_DMA_START_PS;
	*server = (*server < ready ? ready : *server) + move_ps;
	moving->queue[queue] = *server;
	return *server;
}

uint64_t nb_spread_node(struct nb_plan *plan, struct nb_node *node, uint64_t begin,
			struct nb_moving *moving)
{
	unsigned int queues, i;
	uint64_t end = 0, part;
	int queue;

	if (!plan->options.keep_queues && !node->fixed) {
		queue = nb_pick_queue(plan, node, moving->server);
		if (queue < 0)
			return 0;
		node->new_queue = queue;
	}
	queues = plan->nb->queue[node->new_queue].num_queues;
	node->issue_ps = nb_cost_inst(plan, node->engine, nb_node_inst(plan, node)) * queues;
	for (i = 0; i < queues; i++) {
		part = nb_spread_part(moving, plan->nb->queue[node->new_queue].index + i,
				      begin + node->issue_ps * (i + 1) / queues,
				      node->move_ps / queues);
		if (end < part)
			end = part;
	}
	return end;
}
