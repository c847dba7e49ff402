// SPDX-License-Identifier: MIT
/* Scheduling on request, one region after the other. */
#include <stdlib.h>

#include "nb_plan.h"
#include "neuron/generation.h"

static const struct neuron_gen *nb_gen_of(const struct nb_program *nb)
{
	static const struct neuron_gen *const gens[] = {
		&neuron_gen_trn1, &neuron_gen_trn2, &neuron_gen_trn3,
	};

	return gens[nb->generation ? nb->generation - 2 : 2];
}

/* The engine that has least to do starts what leaves SBUF; SYNC starts what comes there. */
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
	for (i = 0; i < plan->nr_nodes; i++)
		if (plan->node[i].transfer && !plan->node[i].fixed && !plan->options.keep_queues)
			plan->node[i].engine = nb_spread_engine(plan, &plan->node[i]);
}

/* Tiles of the region keep their places. */
static void nb_pin_tiles(struct nb_plan *plan, const struct nb_region *region)
{
	const struct nb_tiles *tiles = plan->nb->tiles;
	size_t t;

	for (t = 0; tiles && t < tiles->count; t++)
		if (plan->tile[t].region == (uint32_t)(region - plan->region)) {
			plan->tile[t].movable = false;
			plan->tile[t].shift = 0;
		}
}

/* Loads may fill so much of what is free, in percent; less where more does not work out. */
static int nb_list_region(struct nb_plan *plan, struct nb_region *region)
{
	static const unsigned int percent[] = { 100, 75, 50, 25 };
	unsigned int i;
	int ret;

	for (i = 0; i < sizeof(percent) / sizeof(percent[0]); i++) {
		ret = nb_list(plan, region, percent[i]);
		if (ret)
			return ret < 0 ? -1 : 0;
	}
	nb_pin_tiles(plan, region);
	plan->nr_nodes = plan->joins;
	if (nb_depend(plan, region))
		return -1;
	ret = nb_list(plan, region, 100);
	return ret == 1 ? 0 : nb_fail(plan->nb, "the scheduler has lost an instruction");
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
