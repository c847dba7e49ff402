// SPDX-License-Identifier: MIT
/*
 * def.json: DMA queue sets.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neff/json.h"

static const char *const queue_keys[] = {
	"type", "num_queues", "owner", "queue_index", "fabric_path", "priority",
	"queue_instances", "semaphore", "pinned", NULL,
};

static NRT_STATUS read_kind(struct neff_set *set, struct json_object *object, const char *where,
			    struct nrt_error *error)
{
	/* The first one takes generated descriptors only. */
	static const char *const types[] = { "dynamic", "in", "out", "data" };
	unsigned int type;

	if (neff_json_choice(object, where, "type", types, 4, &type, error) ||
	    neff_json_fabric_path(object, where, error))
		return error->status;
	set->dynamic = !type;
	return NRT_SUCCESS;
}

static NRT_STATUS read_owner(struct neff_set *set, struct json_object *object,
			     const char *where, struct nrt_error *error)
{
	const char *names[NEURON_NR_ENGINES];
	unsigned int e;

	set->owner = -1;
	if (!json_object_object_get_ex(object, "owner", NULL))
		return NRT_SUCCESS;
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		names[e] = neff_engine_name(e);
	if (neff_json_choice(object, where, "owner", names, NEURON_NR_ENGINES, &e, error))
		return error->status;
	set->owner = (int)e;
	return NRT_SUCCESS;
}

/* Of Inf1: nothing else may write what the queue loads. */
static NRT_STATUS check_pinned(struct json_object *object, const char *where,
			       struct nrt_error *error)
{
	struct json_object *pinned;

	if (neff_json_get(object, where, "pinned", json_type_boolean, false, &pinned, error))
		return error->status;
	if (pinned && json_object_get_boolean(pinned))
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: %s: only Inf1 has pinned queues; leave \"pinned\" out",
				     where);
	return NRT_SUCCESS;
}

/* All but the name. */
static NRT_STATUS read_set(struct neff_set *set, struct json_object *object, const char *where,
			   struct nrt_error *error)
{
	int64_t index, num, priority, semaphore;

	if (neff_json_object(object, where, error) ||
	    neff_json_only(object, where, queue_keys, error) ||
	    read_kind(set, object, where, error) || check_pinned(object, where, error) ||
	    read_owner(set, object, where, error) ||
	    neff_json_int_or(object, where, "num_queues", 1, NEFF_MAX_QUEUES_OF_SET, 1, &num,
			     error) ||
	    neff_json_int(object, where, "queue_index", 0, NEURON_JOB_MAX_QUEUES - num, &index,
			  error) ||
	    neff_json_int_or(object, where, "semaphore", 0, NEURON_NR_SEMAPHORES - 1, -1,
			     &semaphore, error) ||
	    neff_json_int_or(object, where, "priority", 0, NEURON_NR_PRIORITIES - 1, 0, &priority,
			     error))
		return error->status;
	set->index = (unsigned int)index;
	set->num = (unsigned int)num;
	set->semaphore = (int)semaphore;
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
					     "NEFF: def.json: queues \"%s\" and \"%s\" share queue index %u; each takes \"num_queues\" from its \"queue_index\" on",
					     owner[i], set->name, i);
		owner[i] = set->name;
	}
	if (i > graph->nr_queues)
		graph->nr_queues = i;
	return NRT_SUCCESS;
}

/* What reading the queues needs. */
struct queue_reader {
	struct neff_graph *graph;
	const char *owner[NEURON_JOB_MAX_QUEUES];
	struct nrt_error *error;
};

/* A set with the properties of @like under the name @name. */
static NRT_STATUS add_set(struct queue_reader *reader, const struct neff_set *like,
			  const char *name, const char *where)
{
	struct neff_graph *graph = reader->graph;
	struct neff_set *set;

	if (graph->nr_sets == NEURON_JOB_MAX_QUEUES)
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: more than %d queues and instances", where,
				     NEURON_JOB_MAX_QUEUES);
	if (like->index + like->num > NEURON_JOB_MAX_QUEUES)
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: \"%.64s\" would take queue indexes %u to %u, and %d is the last",
				     where, name, like->index, like->index + like->num - 1,
				     NEURON_JOB_MAX_QUEUES - 1);
	set = &graph->sets[graph->nr_sets];
	*set = *like;
	set->name = neff_copy_name(name, where, reader->error);
	if (!set->name)
		return reader->error->status;
	graph->nr_sets++;
	return claim_entries(graph, set, reader->owner, reader->error);
}

/* Each instance has rings, and so entries of the queue table, of its own. */
static NRT_STATUS add_instances(struct queue_reader *reader, struct neff_set *like,
				struct json_object *list, const char *where)
{
	size_t count = json_object_array_length(list);
	size_t i, j;

	like->instance = true;
	for (i = 0; i < count; i++, like->index += like->num) {
		struct json_object *name;
		const char *text;

		if (neff_json_element(list, i, where, "queue_instances", json_type_string, &name,
				      reader->error))
			return reader->error->status;
		text = json_object_get_string(name);
		for (j = 0; j < reader->graph->nr_sets; j++)
			if (reader->graph->sets[j].instance &&
			    !strcmp(reader->graph->sets[j].name, text))
				return nrt_error_set(reader->error, NRT_INVALID,
						     "NEFF: %s: instance \"%.64s\" is there twice",
						     where, text);
		if (add_set(reader, like, text, where))
			return reader->error->status;
	}
	return NRT_SUCCESS;
}

static NRT_STATUS read_queue(struct queue_reader *reader, const char *name,
			     struct json_object *object)
{
	struct neff_set set = { 0 };
	struct json_object *list;
	char where[320];

	snprintf(where, sizeof(where), "def.json: queue \"%.255s\"", name);
	if (read_set(&set, object, where, reader->error) ||
	    neff_json_get(object, where, "queue_instances", json_type_array, false, &list,
			  reader->error))
		return reader->error->status;
	if (list && json_object_array_length(list))
		return add_instances(reader, &set, list, where);
	return add_set(reader, &set, name, where);
}

NRT_STATUS neff_read_queues(struct neff_graph *graph, struct json_object *root,
			    struct nrt_error *error)
{
	struct queue_reader reader = { .graph = graph, .error = error };
	struct json_object *queues;

	if (neff_json_get(root, "def.json", "dma_queue", json_type_object, false, &queues, error))
		return error->status;
	if (!queues || !json_object_object_length(queues))
		return NRT_SUCCESS;
	graph->sets = calloc(NEURON_JOB_MAX_QUEUES, sizeof(*graph->sets));
	if (!graph->sets)
		return nrt_error_memory(error);
	json_object_object_foreach(queues, name, object)
		if (read_queue(&reader, name, object))
			return error->status;
	return NRT_SUCCESS;
}
