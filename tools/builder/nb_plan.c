// SPDX-License-Identifier: MIT
/* The recorded program as nodes: what moves as one, what it touches, and what nothing passes. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "nb_plan.h"
#include "isa/trn_isa_access.h"
#include "num/trn_num.h"

/* Areas that have been written of a tile, as far as they are remembered. */
#define NB_BOXES	64

/* What of a tile has been written. */
struct nb_boxes {
	struct nb_area *box;
	unsigned int nr;
};

/**
 * struct nb_reader - the record while it is read
 * @order: what nb_step_get() wants to know
 * @owner: the tile that is alive in each unit and quadrant, plus 1
 * @death: tiles by the end of their lives
 * @born, @died: how many have begun, and ended
 * @boxes: of each tile
 * @tests: loops around this place that end by a test
 */
struct nb_reader {
	struct nb_plan *plan;
	struct nb_order *order;
	struct nb_tiles *tiles;
	uint32_t (*owner)[NB_MAX_PARTITION / NB_UNIT][NB_QUADRANTS];
	uint32_t *death;
	size_t born;
	size_t died;
	struct nb_boxes *boxes;
	unsigned int tests;
};

const struct neuron_inst *nb_node_inst(const struct nb_plan *plan, const struct nb_node *node)
{
	return &plan->nb->stream[node->from].inst[node->pc];
}

const struct nb_dma_block *nb_node_block(const struct nb_plan *plan, const struct nb_node *node)
{
	const struct neuron_inst *inst = nb_node_inst(plan, node);

	return &plan->nb->stream[node->from].dma[le64toh(inst->addr)];
}

struct nb_node *nb_plan_node(struct nb_plan *plan)
{
	struct nb_node *node;

	node = nb_grow(plan->nb, (void **)&plan->node, plan->nr_nodes, &plan->node_room,
		       sizeof(*node));
	if (!node)
		return NULL;
	node->first_use = plan->nr_uses;
	node->queue = -1;
	node->new_queue = -1;
	plan->nr_nodes++;
	return node;
}

struct nb_use *nb_plan_use(struct nb_plan *plan)
{
	struct nb_use *use;

	use = nb_grow(plan->nb, (void **)&plan->use, plan->nr_uses, &plan->use_room,
		      sizeof(*use));
	if (use)
		plan->nr_uses++;
	return use;
}

/* --- Tiles that are alive --- */

static enum nb_memory nb_memory_of(const struct nb_area *area)
{
	return area->space == NB_SPACE_PSUM ? NB_PSUM : NB_SBUF;
}

static void nb_own(struct nb_reader *reader, uint32_t tile, bool alive)
{
	const struct nb_alloc_tile *t = &reader->tiles->tile[tile];
	enum nb_memory memory = nb_memory_of(&t->area);
	uint64_t at = t->area.low % t->area.pitch;
	unsigned int unit, q;

	for (unit = at / NB_UNIT; unit * NB_UNIT < at + t->area.width; unit++)
		for (q = 0; q < NB_QUADRANTS; q++)
			if (t->quadrants & NEURON_BIT(q))
				reader->owner[memory][unit][q] = alive ? tile + 1 : 0;
}

/*
 * Tiles as they are at place @at of the record. A place may be free and taken again at once, so
 * lives that end come first, but a tile without any is born before it dies.
 */
static void nb_live(struct nb_reader *reader, size_t at)
{
	struct nb_tiles *tiles = reader->tiles;
	size_t count = tiles ? tiles->count : 0;

	for (;;) {
		uint32_t dead = reader->died < count ? reader->death[reader->died] : 0;
		bool dies = reader->died < count && tiles->tile[dead].died <= at &&
			    dead < reader->born;
		bool comes = reader->born < count && tiles->tile[reader->born].born <= at;

		if (dies && (!comes || tiles->tile[dead].died <= tiles->tile[reader->born].born)) {
			nb_own(reader, dead, false);
			free(reader->boxes[dead].box);
			reader->boxes[dead] = (struct nb_boxes){ 0 };
			reader->died++;
		} else if (comes) {
			nb_own(reader, reader->born++, true);
		} else {
			return;
		}
	}
}

static void nb_pin(struct nb_reader *reader, uint32_t tile)
{
	reader->plan->tile[tile].movable = false;
}

/* What lies outside of tiles, or across them: nothing there may move. */
static void nb_use_raw(struct nb_reader *reader, const struct nb_area *area)
{
	enum nb_memory memory = nb_memory_of(area);
	uint64_t at = area->low % area->pitch, first = area->low / area->pitch;
	unsigned int unit, q;

	for (unit = at / NB_UNIT; unit * NB_UNIT < at + area->width; unit++)
		for (q = first / NB_QUADRANT;
		     q < NB_QUADRANTS && q * NB_QUADRANT < first + area->rows; q++) {
			reader->plan->raw[memory][unit] |= NEURON_BIT(q);
			if (reader->owner[memory][unit][q])
				nb_pin(reader, reader->owner[memory][unit][q] - 1);
		}
}

/* The tile that @area lies in, or NB_NO_TILE. */
static int nb_tile_of(struct nb_reader *reader, const struct nb_area *area)
{
	uint64_t at = area->low % area->pitch, first = area->low / area->pitch;
	uint32_t owner;

	if (first >= NB_QUADRANTS * NB_QUADRANT)
		return NB_NO_TILE;
	owner = reader->owner[nb_memory_of(area)][at / NB_UNIT][first / NB_QUADRANT];
	if (owner && nb_area_covers(&reader->tiles->tile[owner - 1].area, area))
		return owner - 1;
	nb_use_raw(reader, area);
	return NB_NO_TILE;
}

/* --- Written before it is read --- */

static bool nb_is_covered(const struct nb_boxes *boxes, struct nb_area area, unsigned int i)
{
	uint64_t row = area.low / area.pitch, at = area.low % area.pitch;
	uint64_t row_end = row + area.rows, at_end = at + area.width;

	for (; i < boxes->nr; i++) {
		const struct nb_area *box = &boxes->box[i];
		uint64_t r0 = box->low / box->pitch, r1 = r0 + box->rows;
		uint64_t a0 = box->low % box->pitch, a1 = a0 + box->width;

		if (!nb_area_overlaps(box, &area))
			continue;
		r0 = r0 > row ? r0 : row;
		r1 = r1 < row_end ? r1 : row_end;
		a0 = a0 > at ? a0 : at;
		a1 = a1 < at_end ? a1 : at_end;
#define NB_REST(row0, row1, from, to)							\
		((row0) >= (row1) || (from) >= (to) ||					\
		 nb_is_covered(boxes, (struct nb_area){ .space = area.space,		\
			.pitch = area.pitch, .rows = (row1) - (row0),			\
			.low = (row0) * area.pitch + (from),				\
			.width = (to) - (from) }, i + 1))
		return NB_REST(row, r0, at, at_end) && NB_REST(r1, row_end, at, at_end) &&
		       NB_REST(r0, r1, at, a0) && NB_REST(r0, r1, a1, at_end);
#undef NB_REST
	}
	return false;
}

static int nb_box_add(struct nb_reader *reader, struct nb_boxes *boxes,
		      const struct nb_area *area)
{
	struct nb_area *last = boxes->nr ? &boxes->box[boxes->nr - 1] : NULL;

	if (last && nb_area_covers(last, area))
		return 0;
	if (last && last->rows == area->rows && last->low + last->width == area->low) {
		last->width += area->width;
		return 0;
	}
	if (boxes->nr == NB_BOXES)
		return 0;
	if (!boxes->box)
		boxes->box = malloc(NB_BOXES * sizeof(*boxes->box));
	if (!boxes->box)
		return nb_fail(reader->plan->nb, "out of memory");
	boxes->box[boxes->nr++] = *area;
	return 0;
}

/* --- What a node touches --- */

/* @exact: every byte of the area is written; @movable: the address can be changed. */
static int nb_add_use(struct nb_reader *reader, struct nb_node *node,
		      const struct nb_area *area, bool read, bool write, bool exact,
		      bool movable)
{
	struct nb_plan *plan = reader->plan;
	struct nb_use *use;

	if (!area->width)
		return 0;
	use = nb_plan_use(plan);
	if (!use)
		return -1;
	node->nr_uses++;
	use->area = *area;
	use->write = write;
	use->tile = NB_NO_TILE;
	if (area->space >= NB_SPACE_VAR) {
		plan->written[area->space - NB_SPACE_VAR] |= write;
		return 0;
	}
	use->tile = nb_tile_of(reader, area);
	if (use->tile == NB_NO_TILE)
		return 0;
	if (!movable || (read && !nb_is_covered(&reader->boxes[use->tile], *area, 0)))
		nb_pin(reader, use->tile);
	return exact ? nb_box_add(reader, &reader->boxes[use->tile], area) : 0;
}

/* It writes all elements of its destination, whatever the operands are. */
static bool nb_writes_all(const struct neuron_inst *inst)
{
	switch (inst->opcode) {
	case NEURON_OP_COPY_PREDICATED:
	case NEURON_OP_STREAM_SHUFFLE:
	case NEURON_OP_TOPK:
	case NEURON_OP_QUANTIZE_MX:
	case NEURON_OP_MATCH_REPLACE8:
	case NEURON_OP_NONZERO_WITH_COUNT:
	case NEURON_OP_LOCAL_GATHER:
		return false;
	default:
		return !(trn_isa_flags(inst) & NEURON_INST_WRITTEN);
	}
}

static bool nb_is_exact(const struct neuron_ap *ap, const struct nb_area *area)
{
	uint64_t bytes = trn_dtype_size(ap->dtype);
	unsigned int i;

	for (i = 0; i < 4; i++)
		bytes *= le16toh(ap->num[i]);
	return bytes == area->width;
}

static int nb_compute_uses(struct nb_reader *reader, struct nb_node *node,
			   const struct neuron_inst *inst)
{
	struct trn_isa_access access;
	enum trn_isa_role role;
	struct nb_area area;

	for (role = 0; role < TRN_ISA_ROLES; role++) {
		if (!trn_isa_access(inst, role, &access))
			continue;
		area = nb_area_of_tile(&access.ap, 0);
		if (nb_add_use(reader, node, &area, access.read, access.write,
			       access.write && nb_writes_all(inst) &&
			       nb_is_exact(&access.ap, &area), true))
			return -1;
	}
	return 0;
}

static int nb_step_uses(struct nb_reader *reader, struct nb_node *node,
			const struct nb_step *step, bool movable)
{
	unsigned int i;

	for (i = 0; i < step->nr_touches; i++) {
		const struct nb_touch *touch = &step->touch[i];
		bool exact = false;

		if (movable && touch->write) {
			const struct nb_side *to = &nb_node_block(reader->plan, node)->to;
			uint64_t bytes = 1;
			unsigned int d;

			for (d = 0; d < to->ndim; d++)
				bytes *= to->size[d];
			exact = bytes == touch->area.width * touch->area.rows;
		}
		if (nb_add_use(reader, node, &touch->area, !touch->write, touch->write, exact,
			       movable))
			return -1;
	}
	return 0;
}

/* --- Nodes --- */

/* A tile is moved by a register, or named by an index. */
static bool nb_reaches(const struct neuron_inst *inst)
{
	struct trn_isa_access access;
	enum trn_isa_role role;

	for (role = 0; role < TRN_ISA_ROLES; role++)
		if (trn_isa_access(inst, role, &access) &&
		    (access.ap.offset_reg || access.ap.index))
			return true;
	return false;
}

static bool nb_is_load(const struct neuron_inst *inst)
{
	return inst->opcode == NEURON_OP_LOAD_STATIONARY ||
	       inst->opcode == NEURON_OP_LOAD_SPARSE || inst->opcode == NEURON_OP_LOAD_MX;
}

/* A transfer that somebody else counts on. */
static bool nb_is_told(const struct nb_plan *plan, const struct nb_step *step)
{
	const struct nb_dma_block *block;

	if (step->inst->opcode != NEURON_OP_PSEUDO_DMA_TRIGGER)
		return false;
	block = &plan->nb->stream[step->engine].dma[le64toh(step->inst->addr)];
	return block->sem >= 0 || block->nr_remotes || nb_collective_at(plan->nb, &block->to);
}

static bool nb_is_fixed(const struct nb_step *step, bool compute)
{
	if (step->all || step->acquire || step->release)
		return true;
	if (compute)
		return nb_reaches(step->inst);
	switch (step->inst->opcode) {
	case NEURON_OP_HALT:
	case NEURON_OP_NOTIFY:
	case NEURON_OP_SET_ROUNDING:
	case NEURON_OP_SET_FP8_BIAS:
	case NEURON_OP_SEM_RANGE_CLEAR:
		return true;
	default:
		return false;
	}
}

static int nb_region_begin(struct nb_plan *plan, size_t at)
{
	struct nb_region *region;

	if (plan->nr_regions) {
		region = &plan->region[plan->nr_regions - 1];
		region->last = plan->nr_nodes;
		region->end = at;
	}
	region = nb_grow(plan->nb, (void **)&plan->region, plan->nr_regions,
			 &plan->region_room, sizeof(*region));
	if (!region)
		return -1;
	region->first = plan->nr_nodes;
	region->begin = at;
	plan->nr_regions++;
	return 0;
}

/* The products behind a load, as long as nothing comes between them, belong to it. */
static struct nb_node *nb_joined(struct nb_plan *plan, const struct nb_step *step)
{
	const struct nb_region *region = &plan->region[plan->nr_regions - 1];
	struct nb_node *last;

	if (trn_isa_flags(step->inst) & NEURON_INST_ARRAY)
		plan->tensor_fixed = true;
	if (!trn_isa_is_product(step->inst))
		return NULL;
	last = plan->nr_nodes > region->first ? &plan->node[plan->nr_nodes - 1] : NULL;
	if (last && last->load && last->pc + last->room == step->pc)
		return last;
	plan->tensor_fixed = true;
	return NULL;
}

static bool nb_was_any(const struct nb_plan *plan, size_t at, size_t *next)
{
	const struct nb_record *record = plan->nb->record;

	while (*next < record->nr_any && record->any[*next] < at)
		(*next)++;
	return *next < record->nr_any && record->any[*next] == at;
}

static struct nb_node *nb_new_node(struct nb_reader *reader, const struct nb_step *step,
				   bool compute)
{
	struct nb_plan *plan = reader->plan;
	struct nb_node *node;
	bool fixed = nb_is_fixed(step, compute) || nb_is_told(plan, step);

	if (fixed && nb_region_begin(plan, reader->order->at))
		return NULL;
	node = nb_plan_node(plan);
	if (!node)
		return NULL;
	node->pc = step->pc;
	node->from = step->engine;
	node->engine = step->engine;
	node->queue = step->queue;
	node->new_queue = step->queue;
	node->fixed = fixed;
	node->bound = reader->tests > 0;
	node->load = nb_is_load(step->inst);
	node->transfer = step->inst->opcode == NEURON_OP_PSEUDO_DMA_TRIGGER;
	return node;
}

static int nb_read_step(struct nb_reader *reader, size_t *next_any)
{
	struct nb_plan *plan = reader->plan;
	struct nb_order *order = reader->order;
	enum neuron_engine e = plan->nb->record->engine[order->at];
	const struct trn_isa *isa;
	struct nb_step step;
	struct nb_node *node;
	bool compute;

	nb_live(reader, order->at);
	if (nb_step_get(order, e, &step))
		return -1;
	isa = trn_isa_lookup(step.inst->opcode);
	compute = isa && isa->unit != TRN_ISA_SEQUENCER;
	if (step.inst->opcode == NEURON_OP_SET_ROUNDING)
		plan->random = true;
	plan->all |= step.all;
	node = e == NEURON_ENGINE_TENSOR ? nb_joined(plan, &step) : NULL;
	if (!node || nb_is_fixed(&step, compute)) {
		if (node)
			plan->tensor_fixed = true;
		node = nb_new_node(reader, &step, compute);
	}
	if (!node)
		return -1;
	node->room += step.room;
	node->any = nb_was_any(plan, order->at, next_any);
	order->pc[e] += step.room;
	if (compute && !nb_reaches(step.inst) ? nb_compute_uses(reader, node, step.inst) :
				  nb_step_uses(reader, node, &step, node->transfer))
		return -1;
	order->at += step.room;
	return node->fixed ? nb_region_begin(plan, order->at) : 0;
}

static int nb_read_all(struct nb_reader *reader)
{
	struct nb_plan *plan = reader->plan;
	const struct nb_record *record = plan->nb->record;
	size_t turn = 0, next_any = 0;

	if (nb_region_begin(plan, 0))
		return -1;
	while (reader->order->at < record->count) {
		bool turned = false;

		for (; turn < record->nr_turns && record->turn[turn].at == reader->order->at;
		     turn++) {
			reader->order->depth += record->turn[turn].begin ? 1 : -1;
			if (record->turn[turn].test)
				reader->tests += record->turn[turn].begin ? 1 : -1;
			turned = true;
		}
		if (turned) {
			nb_regs_forget(reader->order);
			if (nb_region_begin(plan, reader->order->at))
				return -1;
		}
		if (nb_read_step(reader, &next_any))
			return -1;
	}
	plan->region[plan->nr_regions - 1].last = plan->nr_nodes;
	plan->region[plan->nr_regions - 1].end = record->count;
	return 0;
}

/* --- Tiles that stay in one region --- */

/* Tiles are in the order of their births, so those of a region are side by side. */
uint32_t nb_first_tile(const struct nb_plan *plan, uint32_t region)
{
	const struct nb_tiles *tiles = plan->nb->tiles;
	uint32_t low = 0, high = tiles ? tiles->count : 0;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (plan->tile[middle].region < region)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void nb_find_movable(struct nb_plan *plan)
{
	const struct nb_tiles *tiles = plan->nb->tiles;
	size_t t;
	uint32_t r = 0;

	for (t = 0; tiles && t < tiles->count; t++) {
		const struct nb_alloc_tile *tile = &tiles->tile[t];

		while (r + 1 < plan->nr_regions && plan->region[r].end <= tile->born)
			r++;
		plan->tile[t].region = r;
		if (tile->told || tile->born < plan->region[r].begin ||
		    tile->died > plan->region[r].end || plan->all || plan->options.keep_tiles)
			plan->tile[t].movable = false;
	}
}

struct nb_end {
	size_t died;
	uint32_t tile;
};

static int nb_compare_ends(const void *a, const void *b)
{
	const struct nb_end *x = a, *y = b;

	if (x->died != y->died)
		return x->died < y->died ? -1 : 1;
	return x->tile < y->tile ? -1 : x->tile > y->tile;
}

static int nb_sort_deaths(struct nb_reader *reader)
{
	struct nb_tiles *tiles = reader->tiles;
	struct nb_end *end;
	size_t i;

	if (!tiles)
		return 0;
	end = calloc(tiles->count + 1, sizeof(*end));
	if (!end)
		return nb_fail(reader->plan->nb, "out of memory");
	for (i = 0; i < tiles->count; i++)
		end[i] = (struct nb_end){ tiles->tile[i].died, i };
	qsort(end, tiles->count, sizeof(*end), nb_compare_ends);
	for (i = 0; i < tiles->count; i++)
		reader->death[i] = end[i].tile;
	free(end);
	return 0;
}

static void nb_reader_free(struct nb_reader *reader)
{
	size_t i;

	for (i = 0; reader->boxes && reader->tiles && i < reader->tiles->count; i++)
		free(reader->boxes[i].box);
	free(reader->boxes);
	free(reader->death);
	free(reader->owner);
	if (reader->order)
		free(reader->order->constant);
	free(reader->order);
}

int nb_plan_read(struct nb_plan *plan)
{
	struct nb_tiles *tiles = plan->nb->tiles;
	size_t count = tiles ? tiles->count : 0, i;
	struct nb_reader reader = { .plan = plan, .tiles = tiles };
	int ret = -1;

	plan->tile = calloc(count + 1, sizeof(*plan->tile));
	plan->living = calloc(count + 1, sizeof(*plan->living));
	plan->written = calloc(plan->nb->nr_vars + 1, sizeof(*plan->written));
	reader.order = calloc(1, sizeof(*reader.order));
	reader.owner = calloc(NB_MEMORIES, sizeof(*reader.owner));
	reader.death = calloc(count + 1, sizeof(*reader.death));
	reader.boxes = calloc(count + 1, sizeof(*reader.boxes));
	if (!plan->tile || !plan->living || !plan->written || !reader.order || !reader.owner ||
	    !reader.death || !reader.boxes) {
		nb_fail(plan->nb, "out of memory");
		goto out;
	}
	for (i = 0; i < count; i++)
		plan->tile[i].movable = true;
	reader.order->nb = plan->nb;
	reader.order->record = plan->nb->record;
	reader.order->nr_sems = plan->nb->nr_sems;
	reader.order->constant = calloc(plan->nb->nr_vars + 1, sizeof(*reader.order->constant));
	if (!reader.order->constant) {
		nb_fail(plan->nb, "out of memory");
		goto out;
	}
	nb_regs_forget(reader.order);
	nb_forget_starts(plan->nb);
	if (nb_sort_deaths(&reader) || nb_read_all(&reader))
		goto out;
	nb_find_movable(plan);
	ret = 0;
out:
	nb_reader_free(&reader);
	return ret;
}

void nb_plan_free(struct nb_plan *plan)
{
	free(plan->node);
	free(plan->use);
	free(plan->region);
	free(plan->tile);
	free(plan->edge);
	free(plan->after);
	free(plan->order);
	free(plan->places);
	free(plan->living);
	free(plan->space);
	free(plan->written);
}
