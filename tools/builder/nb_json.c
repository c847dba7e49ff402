// SPDX-License-Identifier: MIT
/* def.json and <engine>.json of the archive. */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "nb_inst.h"
#include "nb_text.h"

void nb_put_string(json_object *object, const char *key, const char *value)
{
	json_object_object_add(object, key, json_object_new_string(value));
}

void nb_put_int(json_object *object, const char *key, int64_t value)
{
	json_object_object_add(object, key, json_object_new_int64(value));
}

static const char *nb_var_type_name(enum nb_var_type type)
{
	static const char *const name[] = {
		[NB_VAR_INPUT] = "input",
		[NB_VAR_OUTPUT] = "output",
		[NB_VAR_TMP] = "tmp-buf",
		[NB_VAR_VIRTUAL] = "virtual",
		[NB_VAR_FILE] = "file",
		[NB_VAR_SBUF] = "state-buffer",
		[NB_VAR_POINTER] = "pointer",
		[NB_VAR_DGE_TABLE] = "dge-table",
		[NB_VAR_PEER] = "peer",
		[NB_VAR_PEER_SEM] = "peer-semaphore",
		[NB_VAR_SIBLING_SBUF] = "sibling-state-buffer",
		[NB_VAR_SIBLING_SEM] = "sibling-semaphore",
		[NB_VAR_CC_SEM] = "collective-semaphore",
	};

	return name[type];
}

static json_object *nb_shape_json(const struct nb_var *var)
{
	json_object *shape = json_object_new_array();
	unsigned int i;

	for (i = 0; i < var->ndim; i++)
		json_object_array_add(shape,
				      json_object_new_int64(var->shape[i]));
	return shape;
}

static json_object *nb_ints_json(const int *ints, unsigned int count)
{
	json_object *list = json_object_new_array();
	unsigned int i;

	for (i = 0; i < count; i++)
		json_object_array_add(list, json_object_new_int(ints[i]));
	return list;
}

static json_object *nb_var_json(const struct nb_var *var, int id)
{
	json_object *object = json_object_new_object();

	nb_put_string(object, "type", nb_var_type_name(var->type));
	nb_put_int(object, "var_id", id);
	nb_put_int(object, "size", var->size);
	switch (var->type) {
	case NB_VAR_INPUT:
	case NB_VAR_OUTPUT:
		nb_put_string(object, "dtype", neff_dtype_name(var->dtype));
		json_object_object_add(object, "shape", nb_shape_json(var));
		break;
	case NB_VAR_FILE:
		nb_put_string(object, "file_name", var->name);
		break;
	case NB_VAR_VIRTUAL:
		nb_put_int(object, "backing_variable_off", var->offset);
		break;
	case NB_VAR_POINTER:
		nb_put_int(object, "referenced_var_id", var->ref);
		break;
	case NB_VAR_DGE_TABLE:
		json_object_object_add(object, "list", nb_ints_json(var->refs, var->count));
		break;
	case NB_VAR_PEER:
		nb_put_int(object, "peer_offset", var->peer_offset);
		nb_put_int(object, "referenced_var_id", var->ref);
		break;
	case NB_VAR_PEER_SEM:
		nb_put_int(object, "peer_offset", var->peer_offset);
		nb_put_int(object, "first", var->first);
		nb_put_int(object, "count", var->count);
		break;
	case NB_VAR_SIBLING_SEM:
	case NB_VAR_CC_SEM:
		nb_put_int(object, "first", var->first);
		nb_put_int(object, "count", var->count);
		break;
	case NB_VAR_TMP:
		if (!var->print)
			break;
		nb_put_string(object, "print", var->print);
		nb_put_string(object, "dtype", neff_dtype_name(var->dtype));
		json_object_object_add(object, "shape", nb_shape_json(var));
		break;
	case NB_VAR_SBUF:
	case NB_VAR_SIBLING_SBUF:
		break;
	}
	return object;
}

static json_object *nb_engines_json(const struct nb_program *nb)
{
	json_object *engines = json_object_new_object();
	char file[32];
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		json_object *engine;

		if (!nb->stream[e].count)
			continue;
		engine = json_object_new_object();
		snprintf(file, sizeof(file), "%s.bin", neff_engine_name(e));
		nb_put_string(engine, "instructions", file);
		snprintf(file, sizeof(file), "%s.json", neff_engine_name(e));
		nb_put_string(engine, "descriptors", file);
		json_object_object_add(engines, neff_engine_name(e), engine);
	}
	return engines;
}

/* To the set whose rings it has a copy of. */
static void nb_add_instance(json_object *queue, const struct nb_queue_set *set)
{
	json_object *list;

	if (!json_object_object_get_ex(queue, "queue_instances", &list)) {
		list = json_object_new_array();
		json_object_object_add(queue, "queue_instances", list);
	}
	json_object_array_add(list, json_object_new_string(set->name));
}

static json_object *nb_queues_json(const struct nb_program *nb)
{
	json_object *queues = json_object_new_object();
	size_t i;

	for (i = 0; i < nb->nr_queues; i++) {
		const struct nb_queue_set *set = &nb->queue[i];
		json_object *queue;

		if (set->set && json_object_object_get_ex(queues, set->set, &queue)) {
			nb_add_instance(queue, set);
			continue;
		}
		queue = json_object_new_object();

		nb_put_string(queue, "type", set->type);
		nb_put_string(queue, "owner", neff_engine_name(set->owner));
		nb_put_int(queue, "num_queues", set->num_queues);
		nb_put_int(queue, "queue_index", set->index);
		if (set->priority)
			nb_put_int(queue, "priority", set->priority);
		if (set->set)
			nb_add_instance(queue, set);
		json_object_object_add(queues, set->set ? set->set : set->name, queue);
	}
	return queues;
}

static json_object *nb_sem_clear_json(const struct nb_program *nb)
{
	json_object *list = json_object_new_array();
	unsigned int i;

	for (i = 0; i < nb->nr_sems; i++)
		if (!nb->sem_keep[i])
			json_object_array_add(list, json_object_new_int(i));
	return list;
}

static char *nb_finish_json(json_object *root)
{
	const char *text;
	char *copy;

	text = json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY |
					      JSON_C_TO_STRING_NOSLASHESCAPE);
	copy = text ? strdup(text) : NULL;
	json_object_put(root);
	return copy;
}

char *nb_def_json(const struct nb_program *nb)
{
	json_object *root = json_object_new_object();
	json_object *vars = json_object_new_object();
	size_t i;

	nb_put_string(root, "isa", NEFF_ISA);
	json_object_object_add(root, "engines", nb_engines_json(nb));
	json_object_object_add(root, "dma_queue", nb_queues_json(nb));
	for (i = 0; i < nb->nr_vars; i++)
		json_object_object_add(vars, nb->var[i].name,
				       nb_var_json(&nb->var[i], i + 1));
	json_object_object_add(root, "var", vars);
	json_object_object_add(root, "sem_clear", nb_sem_clear_json(nb));
	if (nb->nr_collectives)
		json_object_object_add(root, "collectives", nb_collectives_json(nb));
	if (nb->notify_bytes)
		nb_put_int(root, "notify_bytes", nb->notify_bytes);
	if (nb_has_lines(nb))
		nb_put_string(root, "debug", NB_DEBUG_FILE);
	return nb_finish_json(root);
}

/* --- Transfers: so many that they are written as they come --- */

static void nb_text_int(struct nb_text *out, const char *key, int64_t value)
{
	nb_text_key(out, key, "");
	nb_text_number(out, value);
}

static void nb_text_string(struct nb_text *out, const char *key, const char *value)
{
	nb_text_key(out, key, "");
	nb_text_name(out, value);
}

static void nb_put_side(struct nb_text *out, const struct nb_program *nb, const char *prefix,
			const struct nb_side *side)
{
	unsigned int i;

	nb_text_string(out, prefix, nb->var[side->var - 1].name);
	nb_text_key(out, prefix, "_off");
	nb_text_number(out, (int64_t)side->offset);
	nb_text_key(out, prefix, "_steps");
	nb_text_add(out, "[");
	for (i = 0; i < side->ndim; i++) {
		nb_text_next(out);
		nb_text_number(out, side->step[i]);
	}
	nb_text_add(out, "]");
	nb_text_key(out, prefix, "_sizes");
	nb_text_add(out, "[");
	for (i = 0; i < side->ndim; i++) {
		nb_text_next(out);
		nb_text_number(out, (int64_t)side->size[i]);
	}
	nb_text_add(out, "]");
}

static void nb_put_dtype(struct nb_text *out, const char *key, enum neuron_dtype dtype)
{
	nb_text_string(out, key, neff_dtype_name(dtype));
}

static void nb_put_sources(struct nb_text *out, const struct nb_program *nb,
			   const struct nb_move *move)
{
	unsigned int i;

	nb_text_key(out, "from_arr", "");
	nb_text_add(out, "[");
	for (i = 0; i < move->nr_from; i++) {
		nb_text_next(out);
		nb_text_add(out, "{");
		nb_put_side(out, nb, "from", &move->from[i]);
		nb_put_dtype(out, "from_dtype", move->from_dtype);
		if (move->op == NEURON_UDMA_OP_FMA) {
			nb_text_key(out, "scale", "");
			nb_text_double(out, (double)move->scale[i]);
		}
		nb_text_add(out, "}");
	}
	nb_text_add(out, "]");
}

static void nb_put_move(struct nb_text *out, const struct nb_program *nb,
			const struct nb_move *move)
{
	nb_text_string(out, "op", nb_move_name(move));
	if (move->op == NEURON_UDMA_OP_COPY || move->op == NEURON_UDMA_OP_TRANSPOSE) {
		nb_put_side(out, nb, "from", &move->from[0]);
		nb_put_dtype(out, "from_dtype", move->from_dtype);
	} else {
		nb_put_sources(out, nb, move);
	}
	nb_put_side(out, nb, "to", &move->to);
	nb_put_dtype(out, "to_dtype", move->to_dtype);
	if (move->has_constant) {
		nb_text_string(out, "constant_dtype", "float32");
		nb_text_key(out, "constant", "");
		nb_text_double(out, (double)move->constant);
	}
}

static void nb_put_copy(struct nb_text *out, const struct nb_program *nb,
			const struct nb_dma_block *block)
{
	nb_text_string(out, "op", "copy");
	nb_put_side(out, nb, "from", &block->from);
	nb_put_side(out, nb, "to", &block->to);
}

static void nb_put_remotes(struct nb_text *out, const struct nb_dma_block *block)
{
	unsigned int i;

	nb_text_key(out, "remote_semaphores", "");
	nb_text_add(out, "[");
	for (i = 0; i < block->nr_remotes; i++) {
		nb_text_next(out);
		nb_text_number(out, block->remote[i]);
	}
	nb_text_add(out, "]");
}

static void nb_put_block(struct nb_text *out, const struct nb_program *nb,
			 const struct nb_dma_block *block, size_t id)
{
	const struct nb_queue_set *set = &nb->queue[block->queue];

	nb_text_add(out, "\n{");
	nb_text_int(out, "id", (int64_t)id);
	nb_text_string(out, set->set ? "instance_name" : "queue", set->name);
	if (block->sem >= 0)
		nb_text_int(out, "semaphore", block->sem);
	if (block->nr_remotes)
		nb_put_remotes(out, block);
	nb_text_key(out, "desc", "");
	nb_text_add(out, "{");
	if (block->move)
		nb_put_move(out, nb, block->move);
	else
		nb_put_copy(out, nb, block);
	nb_text_add(out, "}}");
}

char *nb_engine_json(const struct nb_program *nb, enum neuron_engine e)
{
	const struct nb_stream *stream = &nb->stream[e];
	struct nb_text out = { 0 };
	size_t i;

	nb_text_add(&out, "{\"dma\":[");
	for (i = 0; i < stream->nr_dma; i++) {
		nb_text_next(&out);
		nb_put_block(&out, nb, &stream->dma[i], i);
	}
	nb_text_add(&out, "\n]}");
	return nb_text_end(&out);
}
