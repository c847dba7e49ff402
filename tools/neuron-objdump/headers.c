// SPDX-License-Identifier: MIT
/* -h: a table of the parts of a NEFF. */
#include <inttypes.h>
#include <string.h>

#include "neff/neff.h"
#include "objdump.h"

static void put_row(FILE *out, const struct neff_graph *graph, enum as_section section,
		    size_t count, const char *what, uint64_t bytes)
{
	fprintf(out, "%4u  %-10s  %9zu %-13s %12" PRIu64 "\n", graph->index,
		as_section_name(section), count, what, bytes);
}

static uint64_t variable_bytes(const struct neff_graph *graph)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < graph->nr_vars; i++)
		if (graph->vars[i].type != NEFF_VAR_STATE &&
		    graph->vars[i].type != NEFF_VAR_SIBLING_STATE)
			bytes += graph->vars[i].size;
	return bytes;
}

/* That an execution clears. */
static unsigned int count_semaphores(const struct neff_graph *graph)
{
	unsigned int i, count = 0;

	if (!graph->has_sem_clear)
		return NEURON_NR_SEMAPHORES;
	for (i = 0; i < 4; i++)
		count += (unsigned int)__builtin_popcountll(graph->sem_clear[i]);
	return count;
}

static size_t count_transfers(const struct neff_graph *graph, unsigned int e, uint64_t *bytes)
{
	size_t i, count = 0;

	*bytes = 0;
	for (i = 0; i < graph->nr_descs; i++) {
		if (graph->descs[i].engine != e)
			continue;
		count++;
		*bytes += graph->descs[i].bytes;
	}
	return count;
}

static void put_engine(FILE *out, const struct neff_graph *graph, unsigned int e)
{
	uint64_t bytes;
	size_t count;

	if (!graph->image_count[e])
		return;
	put_row(out, graph, AS_SECTION_ENGINE + e, graph->image_count[e], "instructions",
		(uint64_t)graph->image_count[e] * NEURON_INST_SIZE);
	count = count_transfers(graph, e, &bytes);
	if (count)
		fprintf(out, "%4s  %-10s  %9zu %-13s %12" PRIu64 "\n", "", "", count, "transfers",
			bytes);
}

static void put_graph(FILE *out, const struct neff_graph *graph)
{
	unsigned int e;

	put_row(out, graph, AS_SECTION_VARIABLES, graph->nr_vars, "variables",
		variable_bytes(graph));
	put_row(out, graph, AS_SECTION_QUEUES, graph->nr_queues, "queues", 0);
	put_row(out, graph, AS_SECTION_SEMAPHORES, count_semaphores(graph), "cleared", 0);
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		put_engine(out, graph, e);
}

int put_headers(const void *neff, size_t size, FILE *out, char error[AS_ERROR_MAX])
{
	const struct neff_limits limits = { .validate_hash = true };
	struct nrt_error why = { 0 };
	struct neff *read;
	unsigned int i;

	if (neff_read(neff, size, &limits, &read, &why)) {
		snprintf(error, AS_ERROR_MAX, "%s", neff_why(&why));
		return -1;
	}
	fprintf(out, "program \"%s\", for LNC %u\n\n", read->name, read->lnc);
	fprintf(out, "%4s  %-10s  %9s %-13s %12s\n", "core", "section", "count", "", "bytes");
	for (i = 0; i < read->nr_graphs; i++)
		put_graph(out, &read->graphs[i]);
	neff_free(read);
	return 0;
}
