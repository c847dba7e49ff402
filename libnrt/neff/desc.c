// SPDX-License-Identifier: MIT
/*
 * <engine>.json: DMA descriptors.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neff/json.h"

#define MAX_DESCS	(1u << 22)

static const char *const item_keys[] = {
	"id", "queue", "instance_name", "semaphore", "remote_semaphores", "section_start_desc",
	"function_start", "desc", NULL,
};
static const char *const copy_keys[] = {
	"op", "num_tiling_dimensions", "from", "to", "from_off", "to_off", "from_steps",
	"to_steps", "from_sizes", "to_sizes", "from_dtype", "to_dtype", NULL,
};

/* Product of the sizes in *@bytes, lowest and one past highest byte of the pattern. */
static bool side_extent(const struct neff_side *side, uint64_t *bytes, int64_t *low,
			int64_t *high)
{
	int64_t first = (int64_t)side->offset;
	int64_t last = first;
	unsigned int i;

	*bytes = 1;
	for (i = 0; i < side->ndim; i++) {
		int64_t span;

		if (__builtin_mul_overflow(*bytes, side->size[i], bytes) ||
		    __builtin_mul_overflow((int64_t)side->size[i] - 1, side->step[i], &span))
			return false;
		if (__builtin_add_overflow(span < 0 ? first : last, span,
					   span < 0 ? &first : &last))
			return false;
	}
	*low = first;
	*high = last + 1;
	return last < INT64_MAX;
}

static NRT_STATUS check_extent(const struct neff_graph *graph, const struct neff_side *side,
			       const char *where, const char *prefix, uint64_t *bytes,
			       struct nrt_error *error)
{
	const struct neff_var *var = &graph->vars[side->var];
	int64_t low, high;

	if (!side_extent(side, bytes, &low, &high) || *bytes > NEFF_MAX_VAR_SIZE)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: %s: \"%s_sizes\" make more than %llu bytes, or \"%s_steps\" reach too far",
				     where, prefix, NEFF_MAX_VAR_SIZE, prefix);
	if (low < 0 || (uint64_t)high > var->size)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: %s: \"%s\" takes bytes %lld to %lld of \"%s\", which has bytes 0 to %llu",
				     where, prefix, (long long)low, (long long)high - 1,
				     var->name, (unsigned long long)var->size - 1);
	return NRT_SUCCESS;
}

NRT_STATUS neff_read_side(const struct neff_graph *graph, struct json_object *object,
			  const char *where, const char *prefix, struct neff_side *side,
			  uint64_t *bytes, struct nrt_error *error)
{
	char off_key[16], steps_key[16], sizes_key[16];
	int64_t sizes[NEFF_MAX_DESC_DIMS];
	unsigned int steps, i;
	int64_t offset;

	snprintf(off_key, sizeof(off_key), "%s_off", prefix);
	snprintf(steps_key, sizeof(steps_key), "%s_steps", prefix);
	snprintf(sizes_key, sizeof(sizes_key), "%s_sizes", prefix);
	if (neff_json_var(graph, object, where, prefix, &side->var, error) ||
	    neff_json_int(object, where, off_key, 0, NEFF_MAX_VAR_SIZE, &offset, error) ||
	    neff_json_ints(object, where, steps_key, -(int64_t)NEFF_MAX_VAR_SIZE,
			   NEFF_MAX_VAR_SIZE, side->step, NEFF_MAX_DESC_DIMS, &steps, error) ||
	    neff_json_ints(object, where, sizes_key, 1, NEFF_MAX_VAR_SIZE, sizes,
			   NEFF_MAX_DESC_DIMS, &side->ndim, error))
		return error->status;
	if (steps != side->ndim)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: %s: \"%s\" has %u elements and \"%s\" has %u; each dimension needs both",
				     where, steps_key, steps, sizes_key, side->ndim);
	side->offset = (uint64_t)offset;
	for (i = 0; i < side->ndim; i++)
		side->size[i] = (uint64_t)sizes[i];
	return check_extent(graph, side, where, prefix, bytes, error);
}

static bool side_is_word(const struct neff_side *side)
{
	return side->ndim == 1 && side->size[0] == 4 && side->step[0] == 1;
}

static bool is_others_sem(const struct neff_var *var)
{
	return neff_var_is_others_sem(var);
}

/* Semaphores of another core are posted by one whole 32-bit write each. */
static NRT_STATUS check_others_sem(const struct neff_graph *graph, const struct neff_desc *desc,
				   const char *where, struct nrt_error *error)
{
	if (is_others_sem(&graph->vars[desc->from.var]))
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: %s: \"%s\" are semaphores of another core: they can be posted, but not read",
				     where, graph->vars[desc->from.var].name);
	if (!is_others_sem(&graph->vars[desc->to.var]))
		return NRT_SUCCESS;
	if (!side_is_word(&desc->to) || !side_is_word(&desc->from) || desc->to.offset % 4)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: %s: a post to another core's semaphore is one aligned copy of 4 contiguous bytes",
				     where);
	return NRT_SUCCESS;
}

/* Both sides of a copy have the same type, whatever it is. */
static NRT_STATUS check_dtypes(struct json_object *object, const char *where,
			       struct nrt_error *error)
{
	enum neuron_dtype from, to;

	if (neff_read_dtype(object, where, "from_dtype", &from, error) ||
	    neff_read_dtype(object, where, "to_dtype", &to, error))
		return error->status;
	if (from != to)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: %s: op \"copy\" from %s to %s: use \"cast\"", where,
				     neff_dtype_name(from), neff_dtype_name(to));
	return NRT_SUCCESS;
}

static NRT_STATUS read_copy(const struct neff_graph *graph, struct json_object *object,
			    const char *where, struct neff_desc *desc, struct nrt_error *error)
{
	uint64_t to_bytes;

	if (neff_json_only(object, where, copy_keys, error) ||
	    check_dtypes(object, where, error) ||
	    neff_read_side(graph, object, where, "from", &desc->from, &desc->bytes, error) ||
	    neff_read_side(graph, object, where, "to", &desc->to, &to_bytes, error))
		return error->status;
	if (desc->bytes != to_bytes)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: %s: \"from\" has %llu bytes and \"to\" has %llu; a copy needs as many on both sides",
				     where, (unsigned long long)desc->bytes,
				     (unsigned long long)to_bytes);
	return check_others_sem(graph, desc, where, error);
}

static NRT_STATUS read_transfer(const struct neff_graph *graph, struct json_object *object,
				const char *where, struct neff_desc *desc,
				struct nrt_error *error)
{
	const char *op = "copy";
	int64_t tiling;

	if ((json_object_object_get_ex(object, "op", NULL) &&
	     neff_json_string(object, where, "op", &op, error)) ||
	    /* A hint for the shape of descriptors: it changes no result. */
	    neff_json_int_or(object, where, "num_tiling_dimensions", 0, NEFF_MAX_DESC_DIMS, 0,
			     &tiling, error))
		return error->status;
	if (strcmp(op, "copy"))
		return neff_read_op(graph, object, where, desc, error);
	return read_copy(graph, object, where, desc, error);
}

/* The set or the instance that @item names; an instance takes precedence. */
static NRT_STATUS find_set(const struct neff_graph *graph, struct json_object *item,
			   const char *where, size_t *found, struct nrt_error *error)
{
	bool instance = json_object_object_get_ex(item, "instance_name", NULL);
	const char *name;
	size_t i;

	if (neff_json_string(item, where, instance ? "instance_name" : "queue", &name, error))
		return error->status;
	for (i = 0; i < graph->nr_sets; i++)
		if (graph->sets[i].instance == instance && !strcmp(graph->sets[i].name, name))
			break;
	*found = i;
	if (i < graph->nr_sets)
		return NRT_SUCCESS;
	if (instance)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: %s: instance_name \"%.200s\" is in no \"queue_instances\" of def.json",
				     where, name);
	return nrt_error_set(error, NRT_INVALID,
			     "NEFF: %s: queue \"%.200s\" is not in \"dma_queue\" of def.json, or has instances: then name one in \"instance_name\"",
			     where, name);
}

/* The first engine that fills a set owns it, unless the set names its owner. */
static NRT_STATUS take_set(struct neff_graph *graph, struct json_object *item, const char *where,
			   struct neff_desc *desc, struct nrt_error *error)
{
	struct neff_set *set;
	size_t i = 0;

	if (find_set(graph, item, where, &i, error))
		return error->status;
	set = &graph->sets[i];
	if (set->dynamic)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: %s: queue \"%s\" is dynamic: it takes generated descriptors only; name another",
				     where, set->name);
	if (set->owner < 0)
		set->owner = (int)desc->engine;
	if (set->owner != (int)desc->engine)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: %s: queue \"%s\" belongs to the %s engine; name one of the %s engine",
				     where, set->name, neff_engine_name((unsigned int)set->owner),
				     neff_engine_name(desc->engine));
	desc->set = (unsigned int)i;
	return NRT_SUCCESS;
}

/* Semaphores of the other physical core of a logical core. */
static NRT_STATUS read_remotes(const struct neff_graph *graph, struct json_object *item,
			       const char *where, struct neff_desc *desc, struct nrt_error *error)
{
	int64_t list[NEFF_MAX_REMOTES];
	unsigned int count, i;

	if (!json_object_object_get_ex(item, "remote_semaphores", NULL))
		return NRT_SUCCESS;
	if (graph->neff->nr_graphs == 1)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: %s: remote_semaphores are those of the second core, and the model is made for LNC 1; leave them out",
				     where);
	if (neff_json_ints(item, where, "remote_semaphores", 0, NEURON_NR_SEMAPHORES - 1, list,
			   NEFF_MAX_REMOTES, &count, error))
		return error->status;
	for (i = 0; i < count; i++)
		desc->remote[i] = (uint8_t)list[i];
	desc->nr_remotes = (uint8_t)count;
	return NRT_SUCCESS;
}

static NRT_STATUS read_sections(struct json_object *item, const char *where,
				struct neff_desc *desc, struct nrt_error *error)
{
	struct json_object *first;
	const char *function = "";

	if (neff_json_get(item, where, "section_start_desc", json_type_boolean, false, &first,
			  error))
		return error->status;
	desc->first_queue = first && json_object_get_boolean(first);
	if (json_object_object_get_ex(item, "function_start", NULL) &&
	    neff_json_string(item, where, "function_start", &function, error))
		return error->status;
	if (*function)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: %s: function_start names \"%.64s\", but this project's engine programs have no functions; leave it empty",
				     where, function);
	return NRT_SUCCESS;
}

static NRT_STATUS read_item(struct neff_graph *graph, struct json_object *item, const char *where,
			    struct neff_desc *desc, struct nrt_error *error)
{
	struct json_object *object;
	int64_t id, semaphore;

	if (neff_json_object(item, where, error) ||
	    neff_json_only(item, where, item_keys, error) ||
	    neff_json_int(item, where, "id", 0, UINT32_MAX, &id, error) ||
	    take_set(graph, item, where, desc, error) ||
	    neff_json_int_or(item, where, "semaphore", 0, NEURON_NR_SEMAPHORES - 1,
			     graph->sets[desc->set].semaphore, &semaphore, error) ||
	    read_remotes(graph, item, where, desc, error) ||
	    read_sections(item, where, desc, error) ||
	    neff_json_get(item, where, "desc", json_type_object, true, &object, error))
		return error->status;
	desc->id = (uint32_t)id;
	desc->semaphore = (int)semaphore;
	return read_transfer(graph, object, where, desc, error);
}

static NRT_STATUS read_list(struct neff_graph *graph, enum neuron_engine engine, const char *file,
			    struct json_object *list, struct nrt_error *error)
{
	size_t count = json_object_array_length(list);
	struct neff_desc *descs;
	size_t i;

	if (count > MAX_DESCS - graph->nr_descs)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: %s: more than %u descriptors of all engines together",
				     file, MAX_DESCS);
	if (!count)
		return NRT_SUCCESS;
	descs = reallocarray(graph->descs, graph->nr_descs + count, sizeof(*descs));
	if (!descs)
		return nrt_error_memory(error);
	graph->descs = descs;
	for (i = 0; i < count; i++) {
		struct neff_desc *desc = &descs[graph->nr_descs++];
		char where[320];

		memset(desc, 0, sizeof(*desc));
		desc->engine = engine;
		snprintf(where, sizeof(where), "%.255s: descriptor %zu", file, i);
		if (read_item(graph, json_object_array_get_idx(list, i), where, desc, error))
			return error->status;
	}
	return NRT_SUCCESS;
}

NRT_STATUS neff_read_descs(struct neff_graph *graph, enum neuron_engine engine,
			   const struct neff_file *file, struct nrt_error *error)
{
	static const char *const allowed[] = { "dma", NULL };
	struct json_object *root, *list;
	NRT_STATUS status;

	if (neff_json_parse(file, &root, error))
		return error->status;
	status = neff_json_only(root, file->name, allowed, error);
	if (!status)
		status = neff_json_get(root, file->name, "dma", json_type_array, false, &list,
				       error);
	if (!status && list)
		status = read_list(graph, engine, file->name, list, error);
	json_object_put(root);
	return status;
}
