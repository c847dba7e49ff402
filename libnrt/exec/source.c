// SPDX-License-Identifier: MIT
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "exec/source.h"

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

/* How many descriptors of the queue @inst triggers. */
static uint32_t triggered(const struct neuron_inst *inst, unsigned int entry, bool s2m)
{
	unsigned int first = inst->reg[0] | inst->reg[1] << 8, nr = 1;

	if (inst->opcode != NEURON_OP_DMA_TRIGGER)
		return 0;
	if ((inst->flags | (uint32_t)inst->mode << 8) & NEURON_INST_QUEUES)
		nr = inst->reg[2];
	if (entry < first || entry - first >= nr)
		return 0;
	return le32toh(s2m ? inst->imm1 : inst->imm0);
}

bool nrt_source_trigger(const struct nrt_part *part, const struct nrt_descriptor *descriptor,
			unsigned int *engine, uint32_t *pc)
{
	unsigned int entry = entry_of(part, descriptor->dma_engine, descriptor->queue);
	const struct neff_set *set = find_set(part, entry);
	uint32_t found = UINT32_MAX, at = 0;
	struct neuron_inst inst;
	uint64_t before = 0;

	if (!set || set->owner < 0)
		return false;
	*engine = (unsigned int)set->owner;
	/* All of it is looked at: a branch may be the last one. */
	for (; nrt_source_inst(part, *engine, at, &inst); at++) {
		if (inst.opcode == NEURON_OP_BRANCH || inst.opcode == NEURON_OP_LOOP)
			return false;
		before += triggered(&inst, entry, descriptor->s2m);
		if (before > descriptor->index && found == UINT32_MAX)
			found = at;
	}
	*pc = found;
	return found != UINT32_MAX;
}
