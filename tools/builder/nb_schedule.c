// SPDX-License-Identifier: MIT
/* Scheduling on request, one region after the other. */
#include <stdlib.h>

#include "nb_plan.h"
#include "neuron/generation.h"

#define NB_APART_GAIN	32

static const struct neuron_gen *nb_gen_of(const struct nb_program *nb)
{
	static const struct neuron_gen *const gens[] = {
		&neuron_gen_trn1, &neuron_gen_trn2, &neuron_gen_trn3,
	};

	return gens[nb->generation ? nb->generation - 2 : 2];
}

/* The engine that has least to do starts what leaves SBUF where that is apart; SYNC the rest. */
static enum neuron_engine nb_idlest(const struct nb_plan *plan)
{
	static const enum neuron_engine engines[] = {
		NEURON_ENGINE_GPSIMD, NEURON_ENGINE_SCALAR, NEURON_ENGINE_VECTOR,
	};
	uint64_t busy[NEURON_NR_ENGINES] = { 0 };
	enum neuron_engine best = engines[0];
	size_t i;

	for (i = 0; i < plan->nr_nodes; i++)
		if (!plan->node[i].transfer)
			busy[plan->node[i].from] += plan->node[i].issue_ps;
	for (i = 1; i < sizeof(engines) / sizeof(engines[0]); i++)
		if (busy[engines[i]] < busy[best])
			best = engines[i];
	return best;
}

static void nb_spread_begin(struct nb_spread *spread, enum neuron_engine owner)
{
	unsigned int i;

	spread->owner = owner;
	spread->split = -1;
	for (i = 0; i < NB_PLAN_SINGLES; i++)
		spread->single[i] = -1;
}

static bool nb_spreads(const struct nb_plan *plan, const struct nb_node *node)
{
	return node->transfer && !node->fixed && !plan->options.keep_queues;
}

static bool nb_moves(const struct nb_plan *plan, const struct nb_region *region)
{
	uint32_t n;

	for (n = region->first; n < region->last; n++)
		if (nb_spreads(plan, &plan->node[n]))
			return true;
	return false;
}

/*
 * Regions are ordered one by one. With several that move something, the stores of one must not hold
 * back the loads of the next. Nor must they where the order stays as it is.
 */
static bool nb_several_move(const struct nb_plan *plan)
{
	size_t r, moving = 0;

	for (r = 0; r < plan->nr_regions && moving < 2; r++)
		moving += nb_moves(plan, &plan->region[r]);
	return moving > 1;
}

static void nb_give_engines(struct nb_plan *plan, uint32_t first, uint32_t last)
{
	uint32_t n;

	for (n = first; n < last; n++)
		if (nb_spreads(plan, &plan->node[n]))
			plan->node[n].engine = nb_spread_engine(plan, &plan->node[n]);
}

static void nb_costs(struct nb_plan *plan)
{
	size_t i;

	for (i = 0; i < plan->nr_nodes; i++) {
		plan->node[i].any &= !plan->options.keep_engines && !plan->node[i].fixed &&
				     !plan->node[i].bound;
		nb_cost_node(plan, &plan->node[i]);
	}
	nb_spread_begin(&plan->in, NEURON_ENGINE_SYNC);
	nb_spread_begin(&plan->out, nb_idlest(plan));
	plan->apart = plan->options.keep_order || nb_several_move(plan);
	nb_give_engines(plan, 0, plan->nr_nodes);
}

/* Tiles of the region keep their places. */
static void nb_pin_tiles(struct nb_plan *plan, const struct nb_region *region)
{
	uint32_t number = region - plan->region, t, end = nb_first_tile(plan, number + 1);

	for (t = nb_first_tile(plan, number); t < end; t++) {
		plan->tile[t].movable = false;
		plan->tile[t].shift = 0;
	}
}

/* What is ordered behind these is forgotten. */
struct nb_mark {
	size_t nr_order;
	uint64_t total_ps;
};

static void nb_forget(struct nb_plan *plan, const struct nb_mark *mark)
{
	plan->nr_order = mark->nr_order;
	plan->total_ps = mark->total_ps;
}

/* What has worked out before, or must. 0 or -1. */
static int nb_list_must(struct nb_plan *plan, struct nb_region *region, unsigned int rule,
			unsigned int percent)
{
	int ret = nb_list(plan, region, rule, percent);

	if (ret)
		return ret < 0 ? -1 : 0;
	return nb_fail(plan->nb, "the scheduler has lost an instruction");
}

/*
 * By rule 0. Loads may fill so much of what is free, in percent; less where more does not work
 * out. Where nothing does, tiles keep their places. Returns the percentage, -1: an error.
 */
static int nb_first_list(struct nb_plan *plan, struct nb_region *region)
{
	static const unsigned int percent[] = { 100, 75, 50, 25 };
	unsigned int i;
	int ret;

	nb_measure(plan, region);
	for (i = 0; i < sizeof(percent) / sizeof(percent[0]); i++) {
		ret = nb_list(plan, region, 0, percent[i]);
		if (ret)
			return ret < 0 ? -1 : (int)percent[i];
	}
	nb_pin_tiles(plan, region);
	plan->nr_nodes = plan->joins;
	if (nb_depend(plan, region))
		return -1;
	nb_measure(plan, region);
	return nb_list_must(plan, region, 0, 100) ? -1 : 100;
}

/*
 * With stores apart. What these take from the loads is not in the time of a list, so it must be
 * shorter by one part in NB_APART_GAIN. 1: it is; 0: it is not, and all is together again; -1: an
 * error.
 */
static int nb_list_apart(struct nb_plan *plan, struct nb_region *region, unsigned int rule,
			 unsigned int percent, uint64_t best_ps)
{
	const uint64_t best_span_ps = best_ps - plan->total_ps;
	const struct nb_spread in = plan->in, out = plan->out;
	size_t queues = plan->nb->nr_queues;
	int ret;

	/* What is tried must not fail. */
	if (plan->nb->next_queue_index + NB_DMA_ENGINES + NB_PLAN_SINGLES > NEURON_JOB_MAX_QUEUES)
		return 0;
	plan->apart = true;
	nb_give_engines(plan, region->first, region->last);
	ret = nb_list(plan, region, rule, percent);
	if (ret < 0)
		return -1;
	if (ret && plan->total_ps < best_ps - best_span_ps / NB_APART_GAIN)
		return 1;
	nb_queues_drop(plan->nb, queues);
	plan->in = in;
	plan->out = out;
	plan->apart = false;
	nb_give_engines(plan, region->first, region->last);
	return 0;
}

/* Several rules are tried, and the one stays with which the region ends first. */
static int nb_list_region(struct nb_plan *plan, struct nb_region *region)
{
	static const unsigned int rules[] = { 1, 2, 6, 12, 18, 20, 24, 28 };
	const struct nb_mark mark = { plan->nr_order, plan->total_ps };
	int percent = nb_first_list(plan, region), ret;
	unsigned int best = 0, last = 0, i;
	uint64_t best_ps = plan->total_ps;

	if (percent < 0)
		return -1;
	for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		nb_forget(plan, &mark);
		last = rules[i];
		ret = nb_list(plan, region, last, percent);
		if (ret < 0)
			return -1;
		if (!ret || plan->total_ps >= best_ps)
			continue;
		best = last;
		best_ps = plan->total_ps;
	}
	if (!plan->apart && nb_moves(plan, region)) {
		nb_forget(plan, &mark);
		ret = nb_list_apart(plan, region, best, percent, best_ps);
		if (ret)
			return ret < 0 ? -1 : 0;
	} else if (best == last) {
		return 0;
	}
	nb_forget(plan, &mark);
	return nb_list_must(plan, region, best, percent);
}

static int nb_schedule_region(struct nb_plan *plan, struct nb_region *region)
{
	size_t nodes = plan->nr_nodes;
	int ret;

	if (region->last - region->first < 2 || plan->options.keep_order) {
		nb_pin_tiles(plan, region);
		ret = nb_list_in_order(plan, region);
	} else {
		ret = nb_depend(plan, region);
		if (!ret)
			ret = nb_list_region(plan, region);
	}
	plan->nr_nodes = nodes;
	region->ordered = plan->nr_order;
	return ret;
}

static int nb_schedule_all(struct nb_plan *plan)
{
	size_t r;

	if (nb_plan_read(plan))
		return -1;
	/* What is rounded at random depends on how many were before. */
	plan->options.keep_order |= plan->random;
	nb_costs(plan);
	for (r = 0; r < plan->nr_regions; r++)
		if (nb_schedule_region(plan, &plan->region[r]))
			return -1;
	return nb_rewrite(plan);
}

static int nb_check_options(struct nb_program *nb, const struct nb_schedule_options *options)
{
	if (nb_error(nb))
		return -1;
	if (!nb->record)
		return nb_fail(nb, "nb_schedule() is for programs that begin with nb_auto()");
	if (nb->record->depth)
		return nb_fail(nb, "a loop or branch that has begun does not end");
	if (options->queues > NB_DMA_ENGINES)
		return nb_fail(nb, "a transfer is split over 1 to %d queues, not %u",
			       NB_DMA_ENGINES, options->queues);
	return 0;
}

int nb_schedule(struct nb_program *nb, const struct nb_schedule_options *options)
{
	struct nb_plan plan = { .nb = nb, .gen = nb_gen_of(nb) };
	int ret;

	if (options)
		plan.options = *options;
	if (nb_check_options(nb, &plan.options))
		return -1;
	ret = nb_schedule_all(&plan);
	nb->scheduled_ns = plan.total_ps / 1000;
	nb_plan_free(&plan);
	return ret;
}

uint64_t nb_scheduled_ns(const struct nb_program *nb)
{
	return nb->scheduled_ns;
}
