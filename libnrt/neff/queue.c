// SPDX-License-Identifier: MIT
/*
 * def.json: DMA queue sets.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neff/json.h"

static const char *const queue_keys[] = {
	"type", "num_queues", "owner", "queue_index", "fabric_path", "priority", NULL,
};

static NRT_STATUS check_type(struct json_object *object, const char *where,
			     struct nrt_error *error)
{
	const char *text;

	if (neff_json_string(object, where, "type", &text, error))
		return error->status;
	if (strcmp(text, "in") && strcmp(text, "out") && strcmp(text, "data"))
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: %s: type \"%.32s\" is not supported", where, text);
	if (!json_object_object_get_ex(object, "fabric_path", NULL))
		return NRT_SUCCESS;
	if (neff_json_string(object, where, "fabric_path", &text, error))
		return error->status;
	if (strcmp(text, "main"))
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: %s: fabric_path \"%.32s\" is not supported",
				     where, text);
	return NRT_SUCCESS;
}

static NRT_STATUS read_owner(struct neff_set *set, struct json_object *object,
			     const char *where, struct nrt_error *error)
{
	const char *name;
	unsigned int e;

	set->owner = -1;
	if (!json_object_object_get_ex(object, "owner", NULL))
		return NRT_SUCCESS;
	if (neff_json_string(object, where, "owner", &name, error))
		return error->status;
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		if (!strcmp(neff_engine_name(e), name))
			set->owner = (int)e;
	if (set->owner < 0)
		return nrt_error_set(error, NRT_INVALID, "NEFF: %s: no engine \"%.32s\"", where,
				     name);
	return NRT_SUCCESS;
}

static NRT_STATUS read_set(struct neff_set *set, const char *name, struct json_object *object,
			   struct nrt_error *error)
{
	int64_t index, num, priority;
	char where[320];

	set->name = neff_copy_name(name, "def.json: queue", error);
	if (!set->name)
		return error->status;
	snprintf(where, sizeof(where), "def.json: queue \"%s\"", name);
	if (!json_object_is_type(object, json_type_object))
		return nrt_error_set(error, NRT_INVALID, "NEFF: %s: not an object", where);
	if (neff_json_only(object, where, queue_keys, error) ||
	    check_type(object, where, error) || read_owner(set, object, where, error) ||
	    neff_json_int_or(object, where, "num_queues", 1, NEFF_MAX_QUEUES_OF_SET, 1, &num,
			     error) ||
	    neff_json_int(object, where, "queue_index", 0, NEURON_JOB_MAX_QUEUES - num, &index,
			  error) ||
	    neff_json_int_or(object, where, "priority", 0, NEURON_NR_PRIORITIES - 1, 0, &priority,
			     error))
		return error->status;
	set->index = (unsigned int)index;
	set->num = (unsigned int)num;
	set->priority = (unsigned int)priority;
	return NRT_SUCCESS;
}

/* No entry of the queue table may belong to two sets. */
static NRT_STATUS claim_entries(struct neff_graph *graph, const struct neff_set *set,
				const char *owner[], struct nrt_error *error)
{
	unsigned int i;

	for (i = set->index; i < set->index + set->num; i++) {
		if (owner[i])
			return nrt_error_set(error, NRT_INVALID,
					     "NEFF: def.json: queues \"%s\" and \"%s\" share queue index %u",
					     owner[i], set->name, i);
		owner[i] = set->name;
	}
	if (i > graph->nr_queues)
		graph->nr_queues = i;
	return NRT_SUCCESS;
}

NRT_STATUS neff_read_queues(struct neff_graph *graph, struct json_object *root,
			    struct nrt_error *error)
{
	const char *owner[NEURON_JOB_MAX_QUEUES] = { NULL };
	struct json_object *queues;
	int count;

	if (neff_json_get(root, "def.json", "dma_queue", json_type_object, false, &queues, error))
		return error->status;
	count = queues ? json_object_object_length(queues) : 0;
	if (!count)
		return NRT_SUCCESS;
	if (count > NEURON_JOB_MAX_QUEUES)
		return nrt_error_set(error, NRT_INVALID, "NEFF: def.json: more than %d queue sets",
				     NEURON_JOB_MAX_QUEUES);
	graph->sets = calloc((size_t)count, sizeof(*graph->sets));
	if (!graph->sets)
		return nrt_error_memory(error);
	json_object_object_foreach(queues, name, object) {
		struct neff_set *set = &graph->sets[graph->nr_sets++];

		if (read_set(set, name, object, error) || claim_entries(graph, set, owner, error))
			return error->status;
	}
	return NRT_SUCCESS;
}
