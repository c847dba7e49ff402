// SPDX-License-Identifier: MIT
/* The program in its new order: streams, transfers, source lines, the record, lives of tiles. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "nb_plan.h"
#include "isa/trn_isa_access.h"

/**
 * struct nb_rewriter - a program under construction
 * @old, @stream: before and now
 * @record: the new one
 * @begin: of each region, in the new record; then its end
 * @source, @line: what nb_source() has said
 */
struct nb_rewriter {
	struct nb_plan *plan;
	struct nb_stream old[NEURON_NR_ENGINES];
	struct nb_record *record;
	size_t *begin;
	int source;
	uint32_t line;
};

static __le32 nb_shifted(__le32 addr, int32_t shift)
{
	uint32_t value = le32toh(addr);
	uint32_t offset = NEURON_GET(NEURON_AP_OFFSET, value) + shift;

	value &= ~(uint32_t)NEURON_AP_OFFSET;
	return htole32(value | NEURON_PUT(NEURON_AP_OFFSET, offset));
}

static void nb_shift_role(struct neuron_inst *inst, enum trn_isa_role role, int32_t shift)
{
	switch (role) {
	case TRN_ISA_DST:
		inst->dst.addr = nb_shifted(inst->dst.addr, shift);
		break;
	case TRN_ISA_SRC0:
		inst->src0.addr = nb_shifted(inst->src0.addr, shift);
		break;
	case TRN_ISA_SRC1:
		inst->src1.addr = nb_shifted(inst->src1.addr, shift);
		break;
	case TRN_ISA_COL0:
		inst->col0 = nb_shifted(inst->col0, shift);
		break;
	default:
		inst->col1 = nb_shifted(inst->col1, shift);
		break;
	}
}

static int32_t nb_shift_of(const struct nb_plan *plan, const struct nb_use *use)
{
	return use->tile == NB_NO_TILE ? 0 : plan->tile[use->tile].shift;
}

/* In the order in which nb_plan.c has noted them; *@use is the next. */
static void nb_shift_inst(const struct nb_plan *plan, struct neuron_inst *inst,
			  const struct nb_use **use)
{
	struct neuron_inst was = *inst;
	struct trn_isa_access access;
	enum trn_isa_role role;

	for (role = 0; role < TRN_ISA_ROLES; role++) {
		if (!trn_isa_access(&was, role, &access))
			continue;
		if (nb_area_of_tile(&access.ap, 0).width)
			nb_shift_role(inst, role, nb_shift_of(plan, (*use)++));
	}
}

static void nb_shift_side(const struct nb_plan *plan, struct nb_side *side,
			  const struct nb_use **use)
{
	side->offset += nb_shift_of(plan, (*use)++);
}

/* The uses are those of nb_access.c: sources, then the destination. */
static void nb_shift_block(const struct nb_plan *plan, const struct nb_node *node,
			   struct nb_dma_block *block)
{
	const struct nb_use *use = &plan->use[node->first_use];
	unsigned int i;

	nb_shift_side(plan, &block->from, &use);
	if (block->move)
		block->move->from[0] = block->from;
	for (i = 1; block->move && i < block->move->nr_from; i++)
		nb_shift_side(plan, &block->move->from[i], &use);
	nb_shift_side(plan, &block->to, &use);
	if (block->move)
		block->move->to = block->to;
}

/* --- Nodes --- */

static struct neuron_inst *nb_rewrite_inst(struct nb_rewriter *rewriter, enum neuron_engine e)
{
	struct nb_program *nb = rewriter->plan->nb;
	struct nb_stream *stream = &nb->stream[e];
	struct neuron_inst *inst;

	inst = nb_grow(nb, (void **)&stream->inst, stream->count, &stream->room, sizeof(*inst));
	if (!inst)
		return NULL;
	nb_record_inst(nb, e);
	nb_add_line(nb, stream, stream->count++);
	return inst;
}

static int nb_rewrite_transfer(struct nb_rewriter *rewriter, const struct nb_node *node)
{
	struct nb_program *nb = rewriter->plan->nb;
	const struct nb_queue_set *set = &nb->queue[node->new_queue];
	const struct nb_stream *old = &rewriter->old[node->from];
	struct nb_stream *stream = &nb->stream[node->engine];
	const struct neuron_inst *trigger = &old->inst[node->pc];
	struct nb_dma_block *block;
	struct neuron_inst *inst;
	unsigned int i;

	block = nb_grow(nb, (void **)&stream->dma, stream->nr_dma, &stream->dma_room,
			sizeof(*block));
	inst = block ? nb_rewrite_inst(rewriter, node->engine) : NULL;
	if (!inst)
		return -1;
	*block = old->dma[le64toh(trigger->addr)];
	nb_shift_block(rewriter->plan, node, block);
	block->queue = node->new_queue;
	*inst = *trigger;
	inst->addr = htole64(stream->nr_dma++);
	inst->reg[0] = set->index & 0xff;
	inst->reg[1] = set->index >> 8;
	for (i = 1; i < set->num_queues; i++) {
		inst = nb_rewrite_inst(rewriter, node->engine);
		if (!inst)
			return -1;
		inst->opcode = NEURON_OP_NOP;
	}
	return 0;
}

static int nb_rewrite_node(struct nb_rewriter *rewriter, const struct nb_node *node)
{
	struct nb_plan *plan = rewriter->plan;
	struct nb_program *nb = plan->nb;
	const struct nb_stream *old = &rewriter->old[node->from];
	const struct nb_use *use = &plan->use[node->first_use];
	const struct nb_line *line;
	const struct trn_isa *isa;
	struct neuron_inst *inst;
	uint32_t i;

	for (i = 0; i < node->room; i++) {
		line = nb_line_of(old, node->pc + i);
		nb->source = line ? line->file : -1;
		nb->source_line = line ? line->line : 0;
		if (node->transfer)
			return nb_rewrite_transfer(rewriter, node);
		inst = nb_rewrite_inst(rewriter, node->engine);
		if (!inst)
			return -1;
		*inst = old->inst[node->pc + i];
		isa = trn_isa_lookup(inst->opcode);
		if (isa && isa->unit != TRN_ISA_SEQUENCER && !node->fixed)
			nb_shift_inst(plan, inst, &use);
	}
	return 0;
}

/* --- The record --- */

/* The first region that begins at @at or later. */
static size_t nb_region_at(const struct nb_plan *plan, size_t at)
{
	size_t low = 0, high = plan->nr_regions;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (plan->region[middle].begin < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* A tile lives as long as the regions that it lived in. */
static void nb_rewrite_tiles(struct nb_rewriter *rewriter)
{
	struct nb_plan *plan = rewriter->plan;
	struct nb_tiles *tiles = plan->nb->tiles;
	size_t t;

	for (t = 0; tiles && t < tiles->count; t++) {
		struct nb_alloc_tile *tile = &tiles->tile[t];
		size_t region = nb_region_at(plan, tile->born + 1) - 1;

		tile->born = rewriter->begin[region];
		tile->area.low += plan->tile[t].shift;
		tile->ap.addr = nb_shifted(tile->ap.addr, plan->tile[t].shift);
		if (tile->died == SIZE_MAX)
			continue;
		tile->died = rewriter->begin[nb_region_at(plan, tile->died)];
	}
}

/* The engines of each loop and branch, which transfers and free instructions may have changed. */
static void nb_rewrite_engines(struct nb_record *record)
{
	size_t open[NEURON_NR_REGS], i, j;
	unsigned int depth = 0;

	for (i = 0; i < record->nr_turns; i++) {
		struct nb_turn *end = &record->turn[i], *begin;

		if (end->begin) {
			end->engines = 0;
			open[depth++] = i;
			continue;
		}
		begin = &record->turn[open[--depth]];
		for (j = begin->at; j < end->at; j++)
			begin->engines |= NEURON_BIT(record->engine[j]);
		end->engines = begin->engines;
		if (end->kind == NB_TURN_ELSE)
			nb_join_branch(record, end);
	}
}

static void nb_rewrite_turns(struct nb_rewriter *rewriter, struct nb_record *old)
{
	struct nb_record *record = rewriter->record;
	size_t i;

	record->turn = old->turn;
	record->nr_turns = old->nr_turns;
	record->turn_room = old->turn_room;
	old->turn = NULL;
	for (i = 0; i < record->nr_turns; i++)
		record->turn[i].at =
			rewriter->begin[nb_region_at(rewriter->plan, record->turn[i].at)];
	nb_rewrite_engines(record);
}

static int nb_rewrite_all(struct nb_rewriter *rewriter)
{
	struct nb_plan *plan = rewriter->plan;
	size_t r, i = 0;

	for (r = 0; r < plan->nr_regions; r++) {
		rewriter->begin[r] = rewriter->record->count;
		for (; i < plan->region[r].ordered; i++)
			if (nb_rewrite_node(rewriter, &plan->node[plan->order[i]]))
				return -1;
	}
	rewriter->begin[r] = rewriter->record->count;
	return 0;
}

int nb_rewrite(struct nb_plan *plan)
{
	struct nb_program *nb = plan->nb;
	struct nb_rewriter rewriter = { .plan = plan, .source = nb->source,
					.line = nb->source_line };
	struct nb_record *old = nb->record;
	unsigned int e;
	int ret = -1;

	rewriter.begin = calloc(plan->nr_regions + 1, sizeof(*rewriter.begin));
	rewriter.record = calloc(1, sizeof(*rewriter.record));
	if (!rewriter.begin || !rewriter.record) {
		free(rewriter.record);
		free(rewriter.begin);
		return nb_fail(nb, "out of memory");
	}
	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		rewriter.old[e] = nb->stream[e];
		nb->stream[e] = (struct nb_stream){ .nr_regs = rewriter.old[e].nr_regs };
	}
	nb->record = rewriter.record;
	ret = nb_rewrite_all(&rewriter);
	if (!ret) {
		nb_rewrite_turns(&rewriter, old);
		nb_rewrite_tiles(&rewriter);
	}
	nb->source = rewriter.source;
	nb->source_line = rewriter.line;
	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		free(rewriter.old[e].inst);
		free(rewriter.old[e].dma);
		free(rewriter.old[e].line);
	}
	nb_record_free(old);
	free(rewriter.begin);
	return ret;
}
