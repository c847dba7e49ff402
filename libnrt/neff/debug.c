// SPDX-License-Identifier: MIT
/*
 * The debug file of a subgraph: which line of which source an instruction is from. It stays when
 * the archive is dropped, because errors are explained with it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neff/json.h"

#define MAX_SOURCES	65536
/* An entry is the index of its first instruction, the number of the file or -1, and the line. */
#define ENTRY_INTS	3

static NRT_STATUS read_sources(struct neff_graph *graph, struct json_object *root,
			       const char *where, struct nrt_error *error)
{
	struct json_object *list;
	size_t count;

	if (neff_json_get(root, where, "files", json_type_array, true, &list, error))
		return error->status;
	count = json_object_array_length(list);
	if (count > MAX_SOURCES)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: %s: \"files\" has %zu elements, not 0 to %d", where,
				     count, MAX_SOURCES);
	graph->sources = calloc(count + 1, sizeof(*graph->sources));
	if (!graph->sources)
		return nrt_error_memory(error);
	while (graph->nr_sources < count) {
		struct json_object *name;
		char *copy;

		if (neff_json_element(list, graph->nr_sources, where, "files", json_type_string,
				      &name, error))
			return error->status;
		copy = neff_copy_name(json_object_get_string(name), where, error);
		if (!copy)
			return error->status;
		graph->sources[graph->nr_sources++] = copy;
	}
	return NRT_SUCCESS;
}

/* Number @i of an entry, which is @what. */
static NRT_STATUS get_number(struct json_object *entry, size_t i, const char *what,
			     const char *where, int64_t min, int64_t max, int64_t *out,
			     struct nrt_error *error)
{
	struct json_object *number = json_object_array_get_idx(entry, i);

	*out = json_object_is_type(number, json_type_int) ? json_object_get_int64(number) :
							    min - 1;
	if (*out < min || *out > max)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: %s: the %s must be an integer from %lld to %lld",
				     where, what, (long long)min, (long long)max);
	return NRT_SUCCESS;
}

static NRT_STATUS read_entry(const struct neff_graph *graph, unsigned int e,
			     struct json_object *entry, const char *where, int64_t first,
			     struct neff_line *line, struct nrt_error *error)
{
	int64_t pc, file, number;

	if (!json_object_is_type(entry, json_type_array) ||
	    json_object_array_length(entry) != ENTRY_INTS)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: %s: must be [instruction, file, line]", where);
	if (get_number(entry, 0, "instruction, above that of the entry before,", where, first,
		       (int64_t)graph->image_count[e] - 1, &pc, error) ||
	    get_number(entry, 1, "file", where, -1, (int64_t)graph->nr_sources - 1, &file,
		       error) ||
	    get_number(entry, 2, "line", where, 0, UINT32_MAX, &number, error))
		return error->status;
	line->pc = (uint32_t)pc;
	line->source = (int32_t)file;
	line->line = (uint32_t)number;
	return NRT_SUCCESS;
}

static NRT_STATUS read_lines(struct neff_graph *graph, unsigned int e, struct json_object *list,
			     const char *where, struct nrt_error *error)
{
	size_t count = json_object_array_length(list);
	struct neff_line *lines;
	int64_t first = 0;
	char place[352];
	size_t i;

	/* The entries ascend. */
	if (count > graph->image_count[e])
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: %s: %zu entries for %u instructions; each has one at most",
				     where, count, graph->image_count[e]);
	lines = calloc(count + 1, sizeof(*lines));
	if (!lines)
		return nrt_error_memory(error);
	graph->lines[e] = lines;
	for (i = 0; i < count; i++) {
		snprintf(place, sizeof(place), "%s: entry %zu", where, i);
		if (read_entry(graph, e, json_object_array_get_idx(list, i), place, first,
			       &lines[i], error))
			return error->status;
		first = (int64_t)lines[i].pc + 1;
		graph->nr_lines[e]++;
	}
	return NRT_SUCCESS;
}

static NRT_STATUS read_engines(struct neff_graph *graph, struct json_object *root,
			       const char *file, struct nrt_error *error)
{
	const char *allowed[NEURON_NR_ENGINES + 1] = { NULL };
	struct json_object *lines, *list;
	char where[320];
	unsigned int e;

	if (neff_json_get(root, file, "lines", json_type_object, true, &lines, error))
		return error->status;
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		allowed[e] = neff_engine_name(e);
	snprintf(where, sizeof(where), "%.255s: \"lines\"", file);
	if (neff_json_only(lines, where, allowed, error))
		return error->status;
	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		snprintf(where, sizeof(where), "%.255s: %s engine", file, allowed[e]);
		if (neff_json_get(lines, where, allowed[e], json_type_array, false, &list, error) ||
		    (list && read_lines(graph, e, list, where, error)))
			return error->status;
	}
	return NRT_SUCCESS;
}

NRT_STATUS neff_read_debug(struct neff_graph *graph, const struct neff_file *file,
			   struct nrt_error *error)
{
	static const char *const allowed[] = { "files", "lines", NULL };
	struct json_object *root;
	NRT_STATUS status;

	if (neff_json_parse(file, &root, error))
		return error->status;
	status = neff_json_only(root, file->name, allowed, error);
	if (!status)
		status = read_sources(graph, root, file->name, error);
	if (!status)
		status = read_engines(graph, root, file->name, error);
	json_object_put(root);
	return status;
}

void neff_free_debug(struct neff_graph *graph)
{
	size_t i;

	for (i = 0; i < graph->nr_sources; i++)
		free(graph->sources[i]);
	free(graph->sources);
	for (i = 0; i < NEURON_NR_ENGINES; i++)
		free(graph->lines[i]);
}

const char *neff_debug_line(const struct neff_graph *graph, enum neuron_engine engine,
			    uint32_t pc, uint32_t *line)
{
	const struct neff_line *lines = graph->lines[engine];
	size_t low = 0, high = graph->nr_lines[engine];

	/* The last entry that begins at @pc or before. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (lines[middle].pc <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || pc >= graph->image_count[engine] || lines[low - 1].source < 0)
		return NULL;
	*line = lines[low - 1].line;
	return graph->sources[lines[low - 1].source];
}
