// SPDX-License-Identifier: MIT
/*
 * Which node must come after which: two that touch the same byte, if one of them writes it, and
 * two that use the same hidden state of an engine. Tiles that may move are memories of their own.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "nb_plan.h"
#include "isa/trn_isa_access.h"

#define NB_DEPEND_BYTES		2048
#define NB_DEPEND_BINS		256
/* Before a bin has more, one node comes after all of them and stands for them. */
#define NB_DEPEND_TOUCHES	256

/* What an engine keeps between instructions and no area shows. */
enum nb_hidden {
	NB_HIDDEN_REGS,
	NB_HIDDEN_ACCUMULATORS,
	NB_HIDDEN_RANDOM,
	NB_HIDDEN_ARRAY,
	NB_HIDDENS
};

struct nb_seen {
	struct nb_area area;
	uint32_t node;
	bool write;
};

struct nb_seen_bin {
	struct nb_seen *seen;
	uint32_t nr;
	uint32_t room;
};

/* @next: the space that the region touched before this one; 0: none. Meaningless without bins. */
struct nb_seen_space {
	struct nb_seen_bin *bin;
	unsigned int nr;
	uint64_t bytes;
	struct nb_seen_space *next;
};

/**
 * struct nb_depender - of a region
 * @touched: the last space that it has begun to touch, of those in plan->space
 * @tile: of each tile that moves, from @first_tile on
 * @mark: of each node of the region: the last node that an edge leads to, plus 1
 * @hidden: of each engine: the last node that used it, plus 1
 */
struct nb_depender {
	struct nb_plan *plan;
	struct nb_region *region;
	struct nb_seen_space *touched;
	struct nb_seen_bin *tile;
	uint32_t first_tile;
	uint32_t nr_tiles;
	uint32_t *mark;
	uint32_t hidden[NEURON_NR_ENGINES][NB_HIDDENS];
};

static int nb_edge_add(struct nb_depender *depender, uint32_t before, uint32_t after)
{
	struct nb_plan *plan = depender->plan;
	struct nb_edge *edge;
	uint32_t *mark = NULL;

	if (before == after)
		return 0;
	/* Nodes that only join others lie behind those of all regions. */
	if (before < depender->region->last)
		mark = &depender->mark[before - depender->region->first];
	if (mark && *mark == after + 1)
		return 0;
	edge = nb_grow(plan->nb, (void **)&plan->edge, plan->nr_edges, &plan->edge_room,
		       sizeof(*edge));
	if (!edge)
		return -1;
	*edge = (struct nb_edge){ before, after };
	plan->nr_edges++;
	if (mark)
		*mark = after + 1;
	return 0;
}

/* --- Bins --- */

static int nb_seen_add(struct nb_depender *depender, struct nb_seen_bin *bin,
		       const struct nb_seen *seen)
{
	uint32_t room = bin->room ? bin->room * 2 : 4;
	struct nb_seen *new;

	if (bin->nr == bin->room) {
		new = realloc(bin->seen, room * sizeof(*new));
		if (!new)
			return nb_fail(depender->plan->nb, "out of memory");
		bin->seen = new;
		bin->room = room;
	}
	bin->seen[bin->nr++] = *seen;
	return 0;
}

/* One node comes after all of the bin: whoever writes there later comes after it. */
static int nb_seen_join(struct nb_depender *depender, struct nb_seen_bin *bin)
{
	uint32_t number = depender->plan->nr_nodes, i;
	struct nb_node *node = nb_plan_node(depender->plan);
	struct nb_seen all;

	if (!node)
		return -1;
	node->engine = NB_NO_ENGINE;
	all = bin->seen[0];
	for (i = 0; i < bin->nr; i++) {
		if (nb_edge_add(depender, bin->seen[i].node, number))
			return -1;
		nb_area_join(&all.area, &bin->seen[i].area);
	}
	all.node = number;
	all.write = true;
	bin->seen[0] = all;
	bin->nr = 1;
	return 0;
}

static int nb_bin_use(struct nb_depender *depender, struct nb_seen_bin *bin,
		      const struct nb_seen *now)
{
	uint32_t i, kept = 0;

	for (i = 0; i < bin->nr; i++) {
		const struct nb_seen *old = &bin->seen[i];

		if ((old->write || now->write) && nb_area_overlaps(&old->area, &now->area)) {
			if (nb_edge_add(depender, old->node, now->node))
				return -1;
			/* Who must come after it comes after this one. */
			if (now->write && nb_area_covers(&now->area, &old->area))
				continue;
		}
		bin->seen[kept++] = *old;
	}
	bin->nr = kept;
	if (bin->nr >= NB_DEPEND_TOUCHES && nb_seen_join(depender, bin))
		return -1;
	return nb_seen_add(depender, bin, now);
}

static struct nb_seen_space *nb_seen_space(struct nb_depender *depender, uint32_t index)
{
	struct nb_seen_space *space = &depender->plan->space[index];
	uint64_t size = nb_space_stride(index);

	if (space->bin)
		return space;
	if (!size)
		size = nb_space_size(depender->plan->nb, index);
	space->bytes = NB_DEPEND_BYTES;
	if (size > (uint64_t)NB_DEPEND_BYTES * NB_DEPEND_BINS)
		space->bytes = (size + NB_DEPEND_BINS - 1) / NB_DEPEND_BINS;
	space->nr = (size + space->bytes - 1) / space->bytes;
	space->bin = calloc(space->nr, sizeof(*space->bin));
	if (!space->bin) {
		nb_fail(depender->plan->nb, "out of memory");
		return NULL;
	}
	space->next = depender->touched;
	depender->touched = space;
	return space;
}

static int nb_space_use(struct nb_depender *depender, const struct nb_seen *now)
{
	struct nb_seen_space *space = nb_seen_space(depender, now->area.space);
	uint64_t stride = nb_space_stride(now->area.space), low, end;
	unsigned int b, last;

	if (!space)
		return -1;
	low = stride ? now->area.low % stride : now->area.low;
	end = stride ? low + now->area.width : nb_area_end(&now->area);
	last = end > low ? (end - 1) / space->bytes : low / space->bytes;
	for (b = low / space->bytes; b <= last && b < space->nr; b++)
		if (nb_bin_use(depender, &space->bin[b], now))
			return -1;
	return 0;
}

/* What nobody writes can be read at any time. */
static bool nb_is_constant(const struct nb_plan *plan, const struct nb_area *area)
{
	return area->space >= NB_SPACE_VAR && !plan->written[area->space - NB_SPACE_VAR];
}

static int nb_node_uses(struct nb_depender *depender, uint32_t number)
{
	struct nb_plan *plan = depender->plan;
	uint32_t i, first = plan->node[number].first_use, nr = plan->node[number].nr_uses;

	for (i = first; i < first + nr; i++) {
		struct nb_use use = plan->use[i];
		struct nb_seen now = { .area = use.area, .node = number, .write = use.write };

		if (use.tile != NB_NO_TILE && plan->tile[use.tile].movable) {
			if (nb_bin_use(depender, &depender->tile[use.tile - depender->first_tile],
				       &now))
				return -1;
		} else if (!nb_is_constant(plan, &use.area) && nb_space_use(depender, &now)) {
			return -1;
		}
	}
	return 0;
}

/* --- Hidden state --- */

static bool nb_uses_regs(const struct neuron_inst *inst)
{
	switch (inst->opcode) {
	case NEURON_OP_REG_SET:
	case NEURON_OP_REG_ALU:
	case NEURON_OP_REG_RANK:
	case NEURON_OP_REG_LOAD:
	case NEURON_OP_REG_STORE:
	case NEURON_OP_DMA_GENERATE:
		return true;
	default:
		return false;
	}
}

static bool nb_uses_accumulators(const struct neuron_inst *inst)
{
	const struct trn_isa *isa = trn_isa_lookup(inst->opcode);

	if (inst->opcode == NEURON_OP_ACC_READ || inst->opcode == NEURON_OP_ACC_LOAD ||
	    inst->opcode == NEURON_OP_TENSOR_CUMULATIVE)
		return true;
	return isa && isa->reduces && (inst->op2 || inst->reduce);
}

static bool nb_uses_random(const struct neuron_inst *inst)
{
	switch (inst->opcode) {
	case NEURON_OP_RNG:
	case NEURON_OP_RAND2:
	case NEURON_OP_DROPOUT:
	case NEURON_OP_SET_RNG_SEED:
	case NEURON_OP_RAND_SET_STATE:
	case NEURON_OP_RAND_GET_STATE:
		return true;
	default:
		return false;
	}
}

static unsigned int nb_hidden_of(const struct nb_plan *plan, const struct nb_node *node)
{
	const struct neuron_inst *inst = nb_node_inst(plan, node);
	unsigned int hidden = 0;

	if (nb_uses_regs(inst))
		hidden |= NEURON_BIT(NB_HIDDEN_REGS);
	if (nb_uses_accumulators(inst))
		hidden |= NEURON_BIT(NB_HIDDEN_ACCUMULATORS);
	if (nb_uses_random(inst))
		hidden |= NEURON_BIT(NB_HIDDEN_RANDOM);
	if (plan->tensor_fixed && (node->load || trn_isa_is_product(inst)))
		hidden |= NEURON_BIT(NB_HIDDEN_ARRAY);
	return hidden;
}

static int nb_node_hidden(struct nb_depender *depender, uint32_t number)
{
	const struct nb_node *node = &depender->plan->node[number];
	unsigned int hidden = nb_hidden_of(depender->plan, node), h;
	uint32_t *last;

	for (h = 0; h < NB_HIDDENS; h++) {
		if (!(hidden & NEURON_BIT(h)))
			continue;
		last = &depender->hidden[node->from][h];
		if (*last && nb_edge_add(depender, *last - 1, number))
			return -1;
		*last = number + 1;
	}
	return 0;
}

/* --- Edges by node --- */

static void nb_place_edges(struct nb_plan *plan, uint32_t first, uint32_t last, uint32_t *at)
{
	uint32_t i;

	for (i = first; i < last; i++) {
		plan->node[i].first_after = *at;
		*at += plan->node[i].nr_after;
		plan->node[i].nr_after = 0;
	}
}

static int nb_sort_edges(struct nb_depender *depender)
{
	struct nb_plan *plan = depender->plan;
	uint32_t at = 0;
	size_t i;

	free(plan->after);
	plan->after = malloc((plan->nr_edges + 1) * sizeof(*plan->after));
	if (!plan->after)
		return nb_fail(plan->nb, "out of memory");
	for (i = 0; i < plan->nr_edges; i++) {
		plan->node[plan->edge[i].before].nr_after++;
		plan->node[plan->edge[i].after].nr_before++;
	}
	nb_place_edges(plan, depender->region->first, depender->region->last, &at);
	nb_place_edges(plan, plan->joins, plan->nr_nodes, &at);
	for (i = 0; i < plan->nr_edges; i++) {
		struct nb_node *node = &plan->node[plan->edge[i].before];

		plan->after[node->first_after + node->nr_after++] = plan->edge[i].after;
	}
	return 0;
}

static void nb_depender_free(struct nb_depender *depender)
{
	struct nb_seen_space *space;
	uint32_t i, b;

	for (space = depender->touched; space; space = space->next) {
		for (b = 0; b < space->nr; b++)
			free(space->bin[b].seen);
		free(space->bin);
		space->bin = NULL;
	}
	for (i = 0; depender->tile && i < depender->nr_tiles; i++)
		free(depender->tile[i].seen);
	free(depender->tile);
	free(depender->mark);
}

int nb_depend(struct nb_plan *plan, struct nb_region *region)
{
	uint32_t number = region - plan->region, i;
	struct nb_depender depender = {
		.plan = plan,
		.region = region,
		.first_tile = nb_first_tile(plan, number),
	};
	int ret = -1;

	plan->nr_edges = 0;
	plan->joins = plan->nr_nodes;
	for (i = region->first; i < region->last; i++) {
		plan->node[i].nr_after = 0;
		plan->node[i].nr_before = 0;
	}
	depender.nr_tiles = nb_first_tile(plan, number + 1) - depender.first_tile;
	if (!plan->space)
		plan->space = calloc(NB_SPACE_VAR + plan->nb->nr_vars, sizeof(*plan->space));
	depender.tile = calloc(depender.nr_tiles + 1, sizeof(*depender.tile));
	depender.mark = calloc(region->last - region->first + 1, sizeof(*depender.mark));
	if (!plan->space || !depender.tile || !depender.mark) {
		nb_fail(plan->nb, "out of memory");
		goto out;
	}
	for (i = region->first; i < region->last; i++)
		if (nb_node_uses(&depender, i) || nb_node_hidden(&depender, i))
			goto out;
	ret = nb_sort_edges(&depender);
out:
	nb_depender_free(&depender);
	return ret;
}
