// SPDX-License-Identifier: MIT
/*
 * def.json: variables.
 */
#include <endian.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neff/json.h"
#include "neuron/address.h"

#define MAX_RANKS	65536
#define MAX_ALIGNMENT	(1 << 30)

/* While the table is read; refs are var_ids until all variables are known. */
struct var_reader {
	struct neff_graph *graph;
	struct neff_var *var;
	struct json_object *object;
	struct nrt_error *error;
	char where[320];
};

typedef NRT_STATUS read_fn(struct var_reader *reader);

static NRT_STATUS read_io(struct var_reader *reader)
{
	struct neff_var *var = reader->var;
	int64_t shape[NEFF_MAX_DIMS];
	uint64_t bytes;
	unsigned int i;

	if (neff_json_dtype(reader->object, reader->where, "dtype", &var->dtype, reader->error) ||
	    neff_json_ints(reader->object, reader->where, "shape", 1, UINT32_MAX, shape,
			   NEFF_MAX_DIMS, &var->ndim, reader->error))
		return reader->error->status;
	bytes = neuron_dtype_bytes(var->dtype);
	for (i = 0; i < var->ndim; i++) {
		var->shape[i] = (uint32_t)shape[i];
		if (__builtin_mul_overflow(bytes, (uint64_t)shape[i], &bytes))
			bytes = UINT64_MAX;
		if (bytes > NEFF_MAX_VAR_SIZE)
			return nrt_error_set(reader->error, NRT_INVALID,
					     "NEFF: %s: dtype and shape make more than %llu bytes",
					     reader->where, NEFF_MAX_VAR_SIZE);
	}
	if (bytes != var->size)
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: size is %llu, but dtype and shape make %llu bytes",
				     reader->where, (unsigned long long)var->size,
				     (unsigned long long)bytes);
	return NRT_SUCCESS;
}

static NRT_STATUS read_file(struct var_reader *reader)
{
	const struct neff_file *file;
	const char *name;
	size_t size;

	if (neff_json_string(reader->object, reader->where, "file_name", &name, reader->error))
		return reader->error->status;
	file = neff_find_file(reader->graph, name);
	if (!file)
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: file sg%02u/%.200s is missing; build or pack the NEFF again",
				     reader->where, reader->graph->index, name);
	if (neff_file_payload(file, &reader->var->data, &size, reader->error))
		return reader->error->status;
	if (size != reader->var->size)
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: %s holds %zu bytes instead of %llu", reader->where,
				     file->name, size, (unsigned long long)reader->var->size);
	return NRT_SUCCESS;
}

#define COMMON_KEYS	"type", "var_id", "size", "alignment", "fabric_path", "ops"

/* One that is printed has a type and a shape as well; others have not. */
static NRT_STATUS read_tmp(struct var_reader *reader)
{
	static const char *const unprinted[] = { COMMON_KEYS, NULL };
	const char *prefix;

	if (!json_object_object_get_ex(reader->object, "print", NULL))
		return neff_json_only(reader->object, reader->where, unprinted, reader->error);
	if (neff_json_string(reader->object, reader->where, "print", &prefix, reader->error))
		return reader->error->status;
	if (strlen(prefix) > NEFF_MAX_PREFIX)
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: \"print\" has %zu bytes, not 0 to %u",
				     reader->where, strlen(prefix), NEFF_MAX_PREFIX);
	reader->var->print = strdup(prefix);
	return reader->var->print ? read_io(reader) : nrt_error_memory(reader->error);
}

/* A variable of the shared scratchpad that fits no page of it is a private one. */
static bool leaves_page(const struct neff_var *var, uint64_t page)
{
	return page && var->offset % page + var->size > page;
}

static NRT_STATUS read_virtual(struct var_reader *reader)
{
	struct neff_var *var = reader->var;
	int64_t offset;

	if (neff_json_int(reader->object, reader->where, "backing_variable_off", 0,
			  NEFF_MAX_VAR_SIZE, &offset, reader->error))
		return reader->error->status;
	if (offset % 4)
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: backing_variable_off is %lld, not a multiple of 4",
				     reader->where, (long long)offset);
	var->offset = (uint64_t)offset;
	if (leaves_page(var, reader->graph->scratch_page)) {
		var->type = NEFF_VAR_TMP;
		return NRT_SUCCESS;
	}
	if (var->offset + var->size > reader->graph->scratch_bytes)
		reader->graph->scratch_bytes = var->offset + var->size;
	return NRT_SUCCESS;
}

static NRT_STATUS read_state(struct var_reader *reader)
{
	if (reader->var->size > NEURON_TPB_SBUF_SIZE)
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: size is %llu, but a state-buffer has at most %u bytes",
				     reader->where, (unsigned long long)reader->var->size,
				     NEURON_TPB_SBUF_SIZE);
	return NRT_SUCCESS;
}

static NRT_STATUS allocate_refs(struct var_reader *reader, size_t count)
{
	struct neff_var *var = reader->var;

	if (var->size != count * sizeof(*var->table))
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: size is %llu, but %zu addresses have %zu bytes",
				     reader->where, (unsigned long long)var->size, count,
				     count * sizeof(*var->table));
	var->refs = calloc(count, sizeof(*var->refs));
	var->table = calloc(count, sizeof(*var->table));
	if (!var->refs || !var->table)
		return nrt_error_memory(reader->error);
	var->nr_refs = (uint32_t)count;
	var->data = (const uint8_t *)var->table;
	return NRT_SUCCESS;
}

static NRT_STATUS read_pointer(struct var_reader *reader)
{
	int64_t id;

	if (neff_json_int(reader->object, reader->where, "referenced_var_id", 1, NEFF_MAX_VAR_ID,
			  &id, reader->error) ||
	    allocate_refs(reader, 1))
		return reader->error->status;
	reader->var->refs[0] = (uint32_t)id;
	return NRT_SUCCESS;
}

static NRT_STATUS read_table(struct var_reader *reader)
{
	struct json_object *list;
	size_t count, i;
	int64_t id;

	if (neff_json_get(reader->object, reader->where, "list", json_type_array, true, &list,
			  reader->error))
		return reader->error->status;
	count = json_object_array_length(list);
	if (!count || count > NEFF_MAX_VAR_ID)
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: \"list\" has %zu elements instead of 1 to %d",
				     reader->where, count, NEFF_MAX_VAR_ID);
	if (allocate_refs(reader, count))
		return reader->error->status;
	for (i = 0; i < count; i++) {
		if (neff_json_element_int(list, i, reader->where, "list", 1, NEFF_MAX_VAR_ID, &id,
					  reader->error))
			return reader->error->status;
		reader->var->refs[i] = (uint32_t)id;
	}
	return NRT_SUCCESS;
}

static NRT_STATUS read_peer_offset(struct var_reader *reader)
{
	int64_t offset;

	if (neff_json_int(reader->object, reader->where, "peer_offset", 0, MAX_RANKS, &offset,
			  reader->error))
		return reader->error->status;
	reader->var->peer_offset = (unsigned int)offset;
	return NRT_SUCCESS;
}

static NRT_STATUS read_peer(struct var_reader *reader)
{
	int64_t id;

	if (read_peer_offset(reader) ||
	    neff_json_int(reader->object, reader->where, "referenced_var_id", 1, NEFF_MAX_VAR_ID,
			  &id, reader->error))
		return reader->error->status;
	reader->var->ref = (unsigned int)id;
	return NRT_SUCCESS;
}

/* Some of @nr. */
static NRT_STATUS read_range(struct var_reader *reader, unsigned int nr)
{
	struct neff_var *var = reader->var;
	int64_t first, count;

	if (neff_json_int(reader->object, reader->where, "first", 0, nr - 1, &first,
			  reader->error) ||
	    neff_json_int(reader->object, reader->where, "count", 1, nr - first, &count,
			  reader->error))
		return reader->error->status;
	var->first = (unsigned int)first;
	var->count = (unsigned int)count;
	if (var->size != 4ull * var->count)
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: size is %llu, but %u semaphores have 4 bytes each",
				     reader->where, (unsigned long long)var->size, var->count);
	return NRT_SUCCESS;
}

static NRT_STATUS read_sems(struct var_reader *reader)
{
	return read_range(reader, NEURON_NR_SEMAPHORES);
}

static NRT_STATUS read_peer_sem(struct var_reader *reader)
{
	return read_peer_offset(reader) ? reader->error->status : read_sems(reader);
}

static NRT_STATUS check_sibling(struct var_reader *reader)
{
	if (reader->graph->neff->lnc != 2)
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: only a core of a pair has a sibling: lnc_size must be 2",
				     reader->where);
	return NRT_SUCCESS;
}

static NRT_STATUS read_sibling_state(struct var_reader *reader)
{
	return check_sibling(reader) ? reader->error->status : read_state(reader);
}

static NRT_STATUS read_sibling_sem(struct var_reader *reader)
{
	return check_sibling(reader) ? reader->error->status : read_sems(reader);
}

static NRT_STATUS read_cc_sem(struct var_reader *reader)
{
	return read_range(reader, NEFF_MAX_COLLECTIVES);
}

static const struct {
	const char *name;
	read_fn *read;
	const char *keys[12];
} var_types[] = {
	[NEFF_VAR_INPUT] = { "input", read_io, { COMMON_KEYS, "dtype", "shape" } },
	[NEFF_VAR_OUTPUT] = { "output", read_io, { COMMON_KEYS, "dtype", "shape" } },
	[NEFF_VAR_FILE] = { "file", read_file, { COMMON_KEYS, "file_name" } },
	[NEFF_VAR_TMP] = { "tmp-buf", read_tmp, { COMMON_KEYS, "print", "dtype", "shape" } },
	[NEFF_VAR_VIRTUAL] = { "virtual", read_virtual, { COMMON_KEYS, "backing_variable_off" } },
	[NEFF_VAR_STATE] = { "state-buffer", read_state, { COMMON_KEYS } },
	[NEFF_VAR_POINTER] = { "pointer", read_pointer, { COMMON_KEYS, "referenced_var_id" } },
	[NEFF_VAR_DGE_TABLE] = { "dge-table", read_table, { COMMON_KEYS, "list" } },
	[NEFF_VAR_PEER] = { "peer", read_peer,
			    { COMMON_KEYS, "peer_offset", "referenced_var_id" } },
	[NEFF_VAR_PEER_SEM] = { "peer-semaphore", read_peer_sem,
				{ COMMON_KEYS, "peer_offset", "first", "count" } },
	[NEFF_VAR_SIBLING_STATE] = { "sibling-state-buffer", read_sibling_state, { COMMON_KEYS } },
	[NEFF_VAR_SIBLING_SEM] = { "sibling-semaphore", read_sibling_sem,
				   { COMMON_KEYS, "first", "count" } },
	[NEFF_VAR_CC_SEM] = { "collective-semaphore", read_cc_sem,
			      { COMMON_KEYS, "first", "count" } },
};

#define NR_VAR_TYPES	(sizeof(var_types) / sizeof(var_types[0]))

static NRT_STATUS read_type(struct var_reader *reader)
{
	const char *names[NR_VAR_TYPES];
	unsigned int i;

	for (i = 0; i < NR_VAR_TYPES; i++)
		names[i] = var_types[i].name;
	if (neff_json_choice(reader->object, reader->where, "type", names, NR_VAR_TYPES, &i,
			     reader->error))
		return reader->error->status;
	reader->var->type = (enum neff_var_type)i;
	return neff_json_only(reader->object, reader->where, var_types[i].keys, reader->error);
}

/* Public keys that may be there as long as they ask for nothing. */
static NRT_STATUS check_defaults(struct var_reader *reader)
{
	struct json_object *ops;

	if (neff_json_get(reader->object, reader->where, "ops", json_type_array, false, &ops,
			  reader->error))
		return reader->error->status;
	if (ops && json_object_array_length(ops))
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: \"ops\" must be empty or absent", reader->where);
	return neff_json_fabric_path(reader->object, reader->where, reader->error);
}

static NRT_STATUS read_common(struct var_reader *reader)
{
	struct neff_var *var = reader->var;
	int64_t id, size, alignment;

	if (check_defaults(reader) ||
	    neff_json_int(reader->object, reader->where, "var_id", 1, NEFF_MAX_VAR_ID, &id,
			  reader->error) ||
	    neff_json_int(reader->object, reader->where, "size", 1, NEFF_MAX_VAR_SIZE, &size,
			  reader->error) ||
	    neff_json_int_or(reader->object, reader->where, "alignment", 0, MAX_ALIGNMENT, 0,
			     &alignment, reader->error))
		return reader->error->status;
	if (alignment & (alignment - 1))
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: alignment %lld is not a power of two",
				     reader->where, (long long)alignment);
	var->var_id = (uint32_t)id;
	var->size = (uint64_t)size;
	var->alignment = (uint64_t)alignment;
	return NRT_SUCCESS;
}

static NRT_STATUS read_var(struct var_reader *reader, const char *name)
{
	reader->var->name = neff_copy_name(name, "def.json: \"var\"", reader->error);
	if (!reader->var->name)
		return reader->error->status;
	snprintf(reader->where, sizeof(reader->where), "def.json: variable \"%s\"", name);
	if (neff_json_object(reader->object, reader->where, reader->error) ||
	    read_type(reader) || read_common(reader))
		return reader->error->status;
	return var_types[reader->var->type].read(reader);
}

static int compare_vars(const void *a, const void *b)
{
	const struct neff_var *x = a;
	const struct neff_var *y = b;

	return (x->var_id > y->var_id) - (x->var_id < y->var_id);
}

static int compare_names(const void *a, const void *b)
{
	const struct neff_var *const *x = a;
	const struct neff_var *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static void sort_names(struct neff_graph *graph)
{
	size_t i;

	for (i = 0; i < graph->nr_vars; i++)
		graph->by_name[i] = &graph->vars[i];
	qsort(graph->by_name, graph->nr_vars, sizeof(*graph->by_name), compare_names);
}

static struct neff_var *find_id(struct neff_graph *graph, uint32_t id)
{
	struct neff_var key = { .var_id = id };

	return bsearch(&key, graph->vars, graph->nr_vars, sizeof(key), compare_vars);
}

static NRT_STATUS resolve_peer(struct neff_graph *graph, struct neff_var *var,
			       struct nrt_error *error)
{
	const struct neff_var *ref = find_id(graph, var->ref);

	if (!ref || (ref->type != NEFF_VAR_TMP && ref->type != NEFF_VAR_INPUT))
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: def.json: variable \"%s\": referenced_var_id %u is not the var_id of a tmp-buf or an input",
				     var->name, var->ref);
	if (ref->size != var->size)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: def.json: variable \"%s\": size is %llu, but \"%s\" has %llu bytes",
				     var->name, (unsigned long long)var->size, ref->name,
				     (unsigned long long)ref->size);
	var->ref = (unsigned int)(ref - graph->vars);
	return NRT_SUCCESS;
}

/* The addresses are known when all variables are. */
static NRT_STATUS resolve_refs(struct neff_graph *graph, struct neff_var *var,
			       struct nrt_error *error)
{
	uint32_t i;

	for (i = 0; i < var->nr_refs; i++) {
		const struct neff_var *ref = find_id(graph, var->refs[i]);

		if (!ref || neff_var_is_others_sem(ref))
			return nrt_error_set(error, NRT_INVALID,
					     "NEFF: def.json: variable \"%s\": address %u would be that of var_id %u, which is no variable in memory",
					     var->name, i, var->refs[i]);
		var->table[i] = htole64(neuron_window_addr(ref->var_id, 0));
		var->refs[i] = (uint32_t)(ref - graph->vars);
	}
	return NRT_SUCCESS;
}

static NRT_STATUS finish_vars(struct neff_graph *graph, struct nrt_error *error)
{
	size_t i;

	qsort(graph->vars, graph->nr_vars, sizeof(*graph->vars), compare_vars);
	for (i = 1; i < graph->nr_vars; i++)
		if (graph->vars[i].var_id == graph->vars[i - 1].var_id)
			return nrt_error_set(error, NRT_INVALID,
					     "NEFF: def.json: variables \"%s\" and \"%s\" have the same var_id %u; give one of them another, 1 to %d",
					     graph->vars[i - 1].name, graph->vars[i].name,
					     graph->vars[i].var_id, NEFF_MAX_VAR_ID);
	for (i = 0; i < graph->nr_vars; i++)
		if ((graph->vars[i].type == NEFF_VAR_PEER &&
		     resolve_peer(graph, &graph->vars[i], error)) ||
		    resolve_refs(graph, &graph->vars[i], error))
			return error->status;
	sort_names(graph);
	return NRT_SUCCESS;
}

const struct neff_var *neff_find_var(const struct neff_graph *graph, const char *name)
{
	struct neff_var key = { .name = (char *)name };
	const struct neff_var *pointer = &key;
	const struct neff_var **found;

	if (!graph->nr_vars)
		return NULL;
	found = bsearch(&pointer, graph->by_name, graph->nr_vars, sizeof(pointer), compare_names);
	return found ? *found : NULL;
}

NRT_STATUS neff_read_vars(struct neff_graph *graph, struct json_object *root,
			  struct nrt_error *error)
{
	struct var_reader reader = { .graph = graph, .error = error };
	struct json_object *vars;
	int count;

	if (neff_json_get(root, "def.json", "var", json_type_object, false, &vars, error))
		return error->status;
	count = vars ? json_object_object_length(vars) : 0;
	if (!count)
		return NRT_SUCCESS;
	if (count > NEFF_MAX_VAR_ID)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: def.json: \"var\" has %d variables, not 0 to %d", count,
				     NEFF_MAX_VAR_ID);
	graph->vars = calloc((size_t)count, sizeof(*graph->vars));
	graph->by_name = calloc((size_t)count, sizeof(*graph->by_name));
	if (!graph->vars || !graph->by_name)
		return nrt_error_memory(error);
	json_object_object_foreach(vars, name, object) {
		reader.var = &graph->vars[graph->nr_vars++];
		reader.object = object;
		if (read_var(&reader, name))
			return error->status;
	}
	return finish_vars(graph, error);
}
