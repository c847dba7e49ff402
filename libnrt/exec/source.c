// SPDX-License-Identifier: MIT
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "exec/source.h"
#include "neuron/address.h"
#include "neuron/dma_op.h"
#include "neuron/udma.h"

/* Of a long name the end is shown, which says most. */
#define SHOWN	64

bool nrt_source_inst(const struct nrt_part *part, unsigned int engine, uint32_t pc,
		     struct neuron_inst *inst)
{
	struct nrt_error ignored;

	return pc < part->graph->image_count[engine] &&
	       !nrt_bo_read(part->arena, part->code[engine] + pc * sizeof(*inst), inst,
			    sizeof(*inst), &ignored);
}

bool nrt_source_find(const struct nrt_part *part, unsigned int engine, uint32_t pc,
		     struct nrt_source *source)
{
	struct neuron_inst inst;

	if (engine >= NEURON_NR_ENGINES)
		return false;
	source->file = neff_debug_line(part->graph, engine, pc, &source->line);
	if (source->file)
		return true;
	if (!nrt_source_inst(part, engine, pc, &inst) || !inst.debug)
		return false;
	source->line = le32toh(inst.debug);
	return true;
}

void nrt_source_text(const struct nrt_part *part, unsigned int engine, uint32_t pc,
		     const char *before, const char *after, char text[NRT_SOURCE_TEXT])
{
	struct nrt_source source;
	size_t length;

	*text = '\0';
	if (!nrt_source_find(part, engine, pc, &source))
		return;
	if (!source.file) {
		snprintf(text, NRT_SOURCE_TEXT, "%ssource line %u%s", before, source.line, after);
		return;
	}
	length = strlen(source.file);
	snprintf(text, NRT_SOURCE_TEXT, "%s%s%s:%u%s", before, length > SHOWN ? "..." : "",
		 length > SHOWN ? source.file + length - SHOWN : source.file, source.line, after);
}

/* --- Queues --- */

/* The queue table is spread over the core's engines. */
static unsigned int entry_of(const struct nrt_part *part, unsigned int dma_engine,
			     unsigned int queue)
{
	unsigned int engines = part->core->device->info.core_dma_engines;

	return dma_engine % engines + queue * engines;
}

static const struct neff_set *find_set(const struct nrt_part *part, unsigned int entry)
{
	size_t i;

	for (i = 0; i < part->graph->nr_sets; i++) {
		const struct neff_set *set = &part->graph->sets[i];

		if (entry >= set->index && entry < set->index + set->num)
			return set;
	}
	return NULL;
}

const char *nrt_source_set(const struct nrt_part *part, unsigned int dma_engine,
			   unsigned int queue)
{
	const struct neff_set *set = find_set(part, entry_of(part, dma_engine, queue));

	return set ? set->name : NULL;
}

/* --- Who has triggered a descriptor --- */

/* Places that are named when several instructions can have triggered one. */
#define NAMED	3

/**
 * struct search - the instructions that may give a queue a descriptor
 * @entry: the queue, in the table of the job
 * @engine: whose instructions they are
 * @index: of the descriptor, or of the packet if it was @generated
 * @window: of the address with which it failed; 0: not known
 */
struct search {
	const struct nrt_part *part;
	const struct nrt_descriptor *descriptor;
	unsigned int entry;
	unsigned int engine;
	uint32_t index;
	uint32_t window;
	bool generated;
};

static bool search_begin(struct search *search, const struct nrt_part *part,
			 const struct nrt_descriptor *descriptor)
{
	const struct neff_set *set;

	*search = (struct search){
		.part = part,
		.descriptor = descriptor,
		.entry = entry_of(part, descriptor->dma_engine, descriptor->queue),
		.index = descriptor->index & ~NEURON_UDMA_PC_GENERATED,
		.generated = descriptor->index & NEURON_UDMA_PC_GENERATED,
	};
	if (descriptor->addr & NEURON_ADDR_WINDOW)
		search->window = (uint32_t)NEURON_GET(NEURON_ADDR_WINDOW_INDEX, descriptor->addr);
	set = find_set(part, search->entry);
	if (!set || set->owner < 0)
		return false;
	search->engine = (unsigned int)set->owner;
	return true;
}

static uint32_t inst_flags(const struct neuron_inst *inst)
{
	return inst->flags | (uint32_t)le16toh(inst->mode) << 8;
}

/* How many descriptors, or packets, @inst gives to the queue. */
static uint32_t triggered(const struct search *search, const struct neuron_inst *inst)
{
	unsigned int first = inst->reg[0] | inst->reg[1] << 8, nr = 1;

	if (inst->opcode != (search->generated ? NEURON_OP_DMA_GENERATE : NEURON_OP_DMA_TRIGGER))
		return 0;
	if (!search->generated && (inst_flags(inst) & NEURON_INST_QUEUES))
		nr = inst->reg[2];
	if (search->entry < first || search->entry - first >= nr)
		return 0;
	if (search->generated)
		return 1;
	return le32toh(search->descriptor->s2m ? inst->imm1 : inst->imm0);
}

static bool is_in(uint64_t addr, uint32_t window)
{
	return (addr & NEURON_ADDR_WINDOW) && NEURON_GET(NEURON_ADDR_WINDOW_INDEX, addr) == window;
}

/* The block of which @inst generates its packet, from the device. False: the program made it. */
static bool find_block(const struct nrt_part *part, const struct neuron_inst *inst,
		       struct neuron_udma_dge *block)
{
	uint64_t addr = le64toh(inst->addr);
	uint64_t offset = NEURON_GET(NEURON_ADDR_WINDOW_OFFSET, addr);
	struct nrt_error ignored;
	size_t i;

	for (i = 0; i < part->graph->nr_vars; i++) {
		const struct neff_var *var = &part->graph->vars[i];
		const struct nrt_place *place = &part->places[i];

		if (!is_in(addr, var->var_id))
			continue;
		return neff_var_has_contents(var) && place->bo && var->size >= sizeof(*block) &&
		       offset <= var->size - sizeof(*block) &&
		       !nrt_bo_read(place->bo, place->offset + offset, block, sizeof(*block),
				    &ignored);
	}
	return false;
}

/* The packet that @inst generates reads or writes where the one that is looked for has failed. */
static bool has_window(const struct search *search, const struct neuron_inst *inst)
{
	struct neuron_udma_dge block;
	unsigned int i;

	if (!search->generated || !search->window || !find_block(search->part, inst, &block))
		return true;
	for (i = 0; i < NEURON_UDMA_OP_MAX_SRC; i++)
		if (is_in(le64toh(block.src[i]), search->window))
			return true;
	for (i = 0; i < NEURON_UDMA_OP_MAX_DST; i++)
		if (is_in(le64toh(block.dst[i]), search->window))
			return true;
	return is_in(le64toh(block.op.index), search->window);
}

/* The instruction, if each is executed once; all are looked at: a branch may be the last one. */
static bool find_in_order(const struct search *search, uint32_t *pc)
{
	uint32_t found = UINT32_MAX, at = 0;
	struct neuron_inst inst;
	uint64_t before = 0;

	for (; nrt_source_inst(search->part, search->engine, at, &inst); at++) {
		if (inst.opcode == NEURON_OP_BRANCH || inst.opcode == NEURON_OP_LOOP)
			return false;
		before += triggered(search, &inst);
		if (before > search->index && found == UINT32_MAX)
			found = at;
	}
	*pc = found;
	return found != UINT32_MAX;
}

static bool same_place(const struct search *search, uint32_t a, uint32_t b)
{
	struct nrt_source from_a, from_b;

	if (!nrt_source_find(search->part, search->engine, a, &from_a) ||
	    !nrt_source_find(search->part, search->engine, b, &from_b))
		return false;
	return from_a.line == from_b.line &&
	       (from_a.file == from_b.file ||
		(from_a.file && from_b.file && !strcmp(from_a.file, from_b.file)));
}

/* The first instruction of each place that can have triggered it; how many places there are. */
static unsigned int find_any(const struct search *search, uint32_t pcs[NAMED])
{
	struct neuron_inst inst;
	unsigned int count = 0, i;
	uint32_t at = 0;

	for (; nrt_source_inst(search->part, search->engine, at, &inst); at++) {
		if (!triggered(search, &inst) || !has_window(search, &inst))
			continue;
		for (i = 0; i < count && i < NAMED && !same_place(search, pcs[i], at); i++)
			;
		if (i < count && i < NAMED)
			continue;
		if (count < NAMED)
			pcs[count] = at;
		count++;
	}
	return count;
}

bool nrt_source_trigger(const struct nrt_part *part, const struct nrt_descriptor *descriptor,
			unsigned int *engine, uint32_t *pc)
{
	struct search search;
	uint32_t pcs[NAMED];

	if (!search_begin(&search, part, descriptor))
		return false;
	*engine = search.engine;
	if (find_in_order(&search, pc))
		return true;
	if (find_any(&search, pcs) != 1)
		return false;
	*pc = pcs[0];
	return true;
}

void nrt_source_trigger_text(const struct nrt_part *part, const struct nrt_descriptor *descriptor,
			     char text[NRT_TRIGGER_TEXT])
{
	unsigned int count = 1, i;
	char one[NRT_SOURCE_TEXT];
	struct search search;
	uint32_t pcs[NAMED];
	size_t length = 0;

	*text = '\0';
	if (!search_begin(&search, part, descriptor))
		return;
	if (!find_in_order(&search, &pcs[0]))
		count = find_any(&search, pcs);
	for (i = 0; i < count && i < NAMED; i++) {
		nrt_source_text(part, search.engine, pcs[i], i ? " or " : ", ", "", one);
		length += (size_t)snprintf(text + length, NRT_TRIGGER_TEXT - length, "%s", one);
	}
	if (count > NAMED)
		snprintf(text + length, NRT_TRIGGER_TEXT - length, " or another line");
}
