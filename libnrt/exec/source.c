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

/* The queue table is spread over the core's engines. */
const char *nrt_source_set(const struct nrt_part *part, unsigned int dma_engine,
			   unsigned int queue)
{
	unsigned int engines = part->core->device->info.core_dma_engines;
	unsigned int entry = dma_engine % engines + queue * engines;
	size_t i;

	for (i = 0; i < part->graph->nr_sets; i++) {
		const struct neff_set *set = &part->graph->sets[i];

		if (entry >= set->index && entry < set->index + set->num)
			return set->name;
	}
	return NULL;
}
