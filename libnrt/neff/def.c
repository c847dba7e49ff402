// SPDX-License-Identifier: MIT
/*
 * def.json: engines and the settings of the whole program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neff/json.h"

static NRT_STATUS get_file(struct neff_graph *graph, struct json_object *object,
			   const char *where, const char *key, const struct neff_file **file,
			   struct nrt_error *error)
{
	const char *name;

	if (neff_json_string(object, where, key, &name, error))
		return error->status;
	*file = neff_find_file(graph, name);
	if (!*file)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: %s: file sg%02u/%.200s is missing; build or pack the NEFF again",
				     where, graph->index, name);
	return NRT_SUCCESS;
}

static NRT_STATUS read_image(struct neff_graph *graph, unsigned int e,
			     const struct neff_file *file, struct nrt_error *error)
{
	size_t count = file->size / NEURON_INST_SIZE;

	if (!count || file->size % NEURON_INST_SIZE || count > UINT32_MAX)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: %s: %zu bytes are not one or more whole instructions of %d bytes; assemble or build it again",
				     file->name, file->size, NEURON_INST_SIZE);
	graph->image[e] = (const struct neuron_inst *)file->data;
	graph->image_count[e] = (uint32_t)count;
	return NRT_SUCCESS;
}

static NRT_STATUS read_engine(struct neff_graph *graph, unsigned int e,
			      struct json_object *object, struct nrt_error *error)
{
	static const char *const allowed[] = { "instructions", "descriptors", NULL };
	const struct neff_file *file;
	char where[64];

	snprintf(where, sizeof(where), "def.json: engine \"%s\"", neff_engine_name(e));
	if (neff_json_object(object, where, error) ||
	    neff_json_only(object, where, allowed, error) ||
	    get_file(graph, object, where, "instructions", &file, error) ||
	    read_image(graph, e, file, error))
		return error->status;
	if (!json_object_object_get_ex(object, "descriptors", NULL))
		return NRT_SUCCESS;
	if (get_file(graph, object, where, "descriptors", &file, error))
		return error->status;
	return neff_read_descs(graph, (enum neuron_engine)e, file, error);
}

static NRT_STATUS read_engines(struct neff_graph *graph, struct json_object *root,
			       struct nrt_error *error)
{
	const char *allowed[NEURON_NR_ENGINES + 1] = { NULL };
	struct json_object *engines, *object;
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++)
		allowed[e] = neff_engine_name(e);
	if (neff_json_get(root, "def.json", "engines", json_type_object, true, &engines, error) ||
	    neff_json_only(engines, "def.json: \"engines\"", allowed, error))
		return error->status;
	/* By number, so that the descriptors lie in the order of the engines. */
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		if (json_object_object_get_ex(engines, allowed[e], &object) &&
		    read_engine(graph, e, object, error))
			return error->status;
	return NRT_SUCCESS;
}

static NRT_STATUS read_sem_clear(struct neff_graph *graph, struct json_object *root,
				 struct nrt_error *error)
{
	int64_t list[NEURON_NR_SEMAPHORES];
	struct json_object *array;
	unsigned int count, i;

	if (neff_json_get(root, "def.json", "sem_clear", json_type_array, false, &array, error))
		return error->status;
	if (!array)
		return NRT_SUCCESS;
	graph->has_sem_clear = true;
	if (!json_object_array_length(array))
		return NRT_SUCCESS;
	if (neff_json_ints(root, "def.json", "sem_clear", 0, NEURON_NR_SEMAPHORES - 1, list,
			   NEURON_NR_SEMAPHORES, &count, error))
		return error->status;
	for (i = 0; i < count; i++)
		graph->sem_clear[list[i] / 64] |= 1ull << (list[i] % 64);
	return NRT_SUCCESS;
}

static NRT_STATUS read_notify(struct neff_graph *graph, struct json_object *root,
			      struct nrt_error *error)
{
	int64_t bytes;

	if (neff_json_int_or(root, "def.json", "notify_bytes", 0, NEFF_MAX_NOTIFY, 0, &bytes,
			     error))
		return error->status;
	if (bytes && (bytes < 64 || bytes & (bytes - 1)))
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: def.json: \"notify_bytes\" is %lld, not 0 or a power of two from 64 to %u",
				     (long long)bytes, NEFF_MAX_NOTIFY);
	graph->notify_bytes = (uint32_t)bytes;
	return NRT_SUCCESS;
}

static NRT_STATUS read_debug(struct neff_graph *graph, struct json_object *root,
			     struct nrt_error *error)
{
	const struct neff_file *file;

	if (!json_object_object_get_ex(root, "debug", NULL))
		return NRT_SUCCESS;
	if (get_file(graph, root, "def.json", "debug", &file, error))
		return error->status;
	return neff_read_debug(graph, file, error);
}

/* The encoding of the instructions. */
static NRT_STATUS check_isa(struct json_object *root, struct nrt_error *error)
{
	const char *isa = "nothing";

	if (json_object_object_get_ex(root, "isa", NULL) &&
	    neff_json_string(root, "def.json", "isa", &isa, error))
		return error->status;
	if (strcmp(isa, NEFF_ISA))
		return nrt_error_set(error, NRT_UNSUPPORTED_NEFF_VERSION,
				     "NEFF: def.json: \"isa\" says %.32s instead of %s, so the instructions are in another encoding; build the model with neuron-as or the builder library",
				     isa, NEFF_ISA);
	return NRT_SUCCESS;
}

static NRT_STATUS read_root(struct neff_graph *graph, struct json_object *root,
			    struct nrt_error *error)
{
	static const char *const allowed[] = {
		"isa", "engines", "dma_queue", "var", "sem_clear", "notify_bytes", "debug",
		"collectives", NULL,
	};
	if (neff_json_only(root, "def.json", allowed, error) ||
	    check_isa(root, error) ||
	    neff_read_vars(graph, root, error) || neff_read_queues(graph, root, error) ||
	    read_engines(graph, root, error) || read_sem_clear(graph, root, error))
		return error->status;
	if (read_notify(graph, root, error) || neff_read_collectives(graph, root, error))
		return error->status;
	return read_debug(graph, root, error);
}

/* What was wrong began with the name of a file: which subgraph it is of. */
static NRT_STATUS name_graph(const struct neff_graph *graph, struct nrt_error *error)
{
	const struct nrt_error why = *error;

	if (neff_why(&why) == why.text)
		return error->status;
	return nrt_error_set(error, error->status, "NEFF: sg%02u/%s", graph->index,
			     neff_why(&why));
}

NRT_STATUS neff_read_def(struct neff_graph *graph, struct nrt_error *error)
{
	const struct neff_file *file = neff_find_file(graph, "def.json");
	struct json_object *root;
	NRT_STATUS status;

	if (!file)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: the archive has no sg%02u/def.json; build or pack the NEFF again",
				     graph->index);
	if (neff_json_parse(file, &root, error))
		return name_graph(graph, error);
	status = read_root(graph, root, error);
	json_object_put(root);
	return status ? name_graph(graph, error) : NRT_SUCCESS;
}
