// SPDX-License-Identifier: MIT
/*
 * def.json: collectives, which are an addition of this project.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neff/json.h"
#include "plan/type.h"

#define MAX_PAIRS	NRT_PLAN_MAX_RANKS

struct reader {
	struct neff_graph *graph;
	struct neff_collective *to;
	struct json_object *object;
	struct nrt_error *error;
	uint32_t tries;		/* comparisons of outputs that are left */
	char where[64];
};

static NRT_STATUS wrong_length(struct reader *reader, const char *list, size_t length,
			       unsigned int max)
{
	return nrt_error_set(reader->error, NRT_INVALID,
			     "NEFF: %s: %s has %zu elements, not 1 to %u", reader->where, list,
			     length, max);
}

/* --- What it does --- */

static NRT_STATUS read_op(struct reader *reader)
{
	const char *ops[NRT_PLAN_NR_OPS], *reduces[NRT_PLAN_NR_REDUCES];
	unsigned int i, op, reduce;

	for (i = 0; i < NRT_PLAN_NR_OPS; i++)
		ops[i] = nrt_plan_op_name(i);
	if (neff_json_choice(reader->object, reader->where, "op", ops, NRT_PLAN_NR_OPS, &op,
			     reader->error))
		return reader->error->status;
	reader->to->op = (enum nrt_plan_op)op;
	if (!json_object_object_get_ex(reader->object, "reduce", NULL))
		return NRT_SUCCESS;
	for (i = 0; i < NRT_PLAN_NR_REDUCES; i++)
		reduces[i] = nrt_plan_reduce_name(i);
	if (neff_json_choice(reader->object, reader->where, "reduce", reduces,
			     NRT_PLAN_NR_REDUCES, &reduce, reader->error))
		return reader->error->status;
	reader->to->reduce = (enum nrt_plan_reduce)reduce;
	return NRT_SUCCESS;
}

static NRT_STATUS read_channels(struct reader *reader)
{
	const bool has = reader->to->op == NRT_PLAN_PERMUTE_RING;
	int64_t channels = 0;

	if (!has && json_object_object_get_ex(reader->object, "channels", NULL))
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: only op \"%s\" has \"channels\"; leave it out",
				     reader->where, nrt_plan_op_name(NRT_PLAN_PERMUTE_RING));
	if (has && neff_json_int_or(reader->object, reader->where, "channels", 1,
				    NEFF_MAX_CHANNELS, 1, &channels, reader->error))
		return reader->error->status;
	reader->to->nr_channels = (unsigned int)channels;
	return NRT_SUCCESS;
}

static NRT_STATUS read_numbers(struct reader *reader)
{
	int64_t semaphore, root, priority, stream;

	if (neff_json_int(reader->object, reader->where, "semaphore", 0, NEURON_NR_SEMAPHORES - 1,
			  &semaphore, reader->error) ||
	    neff_json_int_or(reader->object, reader->where, "root", 0, NRT_PLAN_MAX_RANKS - 1, 0,
			     &root, reader->error) ||
	    neff_json_int_or(reader->object, reader->where, "priority", 0,
			     NRT_PLAN_PRIORITIES - 1, 0, &priority, reader->error) ||
	    neff_json_int_or(reader->object, reader->where, "stream", 0, NRT_PLAN_STREAMS - 1, 0,
			     &stream, reader->error))
		return reader->error->status;
	reader->to->semaphore = (unsigned int)semaphore;
	reader->to->root = (unsigned int)root;
	reader->to->priority = (uint8_t)priority;
	reader->to->stream = (uint8_t)stream;
	return NRT_SUCCESS;
}

/* --- Who takes part --- */

/* Element @e of @lists, the member @key: @count integers below the number of ranks. */
static NRT_STATUS read_ranks(struct reader *reader, struct json_object *lists, const char *key,
			     unsigned int e, size_t count, uint32_t *out)
{
	struct json_object *list;
	char place[64];
	int64_t rank;
	size_t i;

	if (neff_json_element(lists, e, reader->where, key, json_type_array, &list,
			      reader->error))
		return reader->error->status;
	if (json_object_array_length(list) != count)
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: element %u of \"%s\" has %zu ranks, and each must have %zu",
				     reader->where, e, key, json_object_array_length(list), count);
	snprintf(place, sizeof(place), "%s[%u]", key, e);
	for (i = 0; i < count; i++) {
		if (neff_json_element_int(list, i, reader->where, place, 0,
					  NRT_PLAN_MAX_RANKS - 1, &rank, reader->error))
			return reader->error->status;
		out[i] = (uint32_t)rank;
	}
	return NRT_SUCCESS;
}

static NRT_STATUS check_disjoint(struct reader *reader)
{
	const struct neff_collective *to = reader->to;
	bool seen[NRT_PLAN_MAX_RANKS] = { false };
	unsigned int i;

	for (i = 0; i < to->nr_groups * to->group_size; i++) {
		if (seen[to->ranks[i]])
			return nrt_error_set(reader->error, NRT_INVALID,
					     "NEFF: %s: rank %u is twice in \"replica_groups\", and belongs in one group",
					     reader->where, to->ranks[i]);
		seen[to->ranks[i]] = true;
	}
	return NRT_SUCCESS;
}

static NRT_STATUS read_groups(struct reader *reader)
{
	struct neff_collective *to = reader->to;
	struct json_object *list, *first;
	size_t nr, size;
	unsigned int i;

	if (neff_json_get(reader->object, reader->where, "replica_groups", json_type_array, true,
			  &list, reader->error))
		return reader->error->status;
	nr = json_object_array_length(list);
	if (!nr || nr > NEFF_MAX_REPLICA_GROUPS)
		return wrong_length(reader, "\"replica_groups\"", nr, NEFF_MAX_REPLICA_GROUPS);
	if (neff_json_element(list, 0, reader->where, "replica_groups", json_type_array, &first,
			      reader->error))
		return reader->error->status;
	size = json_object_array_length(first);
	if (!size || size > NRT_PLAN_MAX_RANKS)
		return wrong_length(reader, "element 0 of \"replica_groups\"", size,
				    NRT_PLAN_MAX_RANKS);
	to->nr_groups = (unsigned int)nr;
	to->group_size = (unsigned int)size;
	to->ranks = calloc((size_t)to->nr_groups * to->group_size, sizeof(*to->ranks));
	if (!to->ranks)
		return nrt_error_memory(reader->error);
	for (i = 0; i < to->nr_groups; i++)
		if (read_ranks(reader, list, "replica_groups", i, to->group_size,
			       to->ranks + i * to->group_size))
			return reader->error->status;
	return check_disjoint(reader);
}

static NRT_STATUS read_pairs(struct reader *reader)
{
	struct neff_collective *to = reader->to;
	struct json_object *list;
	uint32_t pair[2];
	size_t nr;

	if (neff_json_get(reader->object, reader->where, "pairs", json_type_array,
			  to->op == NRT_PLAN_PERMUTE, &list, reader->error))
		return reader->error->status;
	nr = list ? json_object_array_length(list) : 0;
	if (list && to->op != NRT_PLAN_PERMUTE)
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: only op \"permute\" has \"pairs\"; leave it out",
				     reader->where);
	if (nr > MAX_PAIRS)
		return wrong_length(reader, "\"pairs\"", nr, MAX_PAIRS);
	to->pairs = calloc(nr + 1, sizeof(*to->pairs));
	if (!to->pairs)
		return nrt_error_memory(reader->error);
	for (; to->nr_pairs < nr; to->nr_pairs++) {
		if (read_ranks(reader, list, "pairs", to->nr_pairs, 2, pair))
			return reader->error->status;
		to->pairs[to->nr_pairs] = (struct nrt_plan_pair){
			.source = (uint16_t)pair[0],
			.target = (uint16_t)pair[1],
		};
	}
	return NRT_SUCCESS;
}

/* --- What it works on --- */

static bool may_be_tensor(const struct neff_var *var, bool written)
{
	return var->type == NEFF_VAR_OUTPUT || var->type == NEFF_VAR_TMP ||
	       var->type == NEFF_VAR_VIRTUAL || (!written && var->type == NEFF_VAR_INPUT);
}

static NRT_STATUS find_tensor(struct reader *reader, const char *key, bool written,
			      unsigned int *index)
{
	const struct neff_var *var;

	if (neff_json_var(reader->graph, reader->object, reader->where, key, index,
			  reader->error))
		return reader->error->status;
	var = &reader->graph->vars[*index];
	if (may_be_tensor(var, written))
		return NRT_SUCCESS;
	return nrt_error_set(reader->error, NRT_INVALID,
			     "NEFF: %s: %s \"%.64s\" must be an output, a tmp-buf or a virtual variable%s",
			     reader->where, key, var->name, written ? "" : ", or an input");
}

/* Tensors of @in and @out bytes belong together; add the elements of a block to the count. */
static NRT_STATUS add_sizes(struct reader *reader, unsigned int input, uint64_t in,
			    unsigned int output, uint64_t out)
{
	struct neff_collective *to = reader->to;
	const struct neff_var *vars = reader->graph->vars;
	uint64_t per = neff_in_blocks(to), more = neff_out_blocks(to);
	uint64_t block = per * nrt_plan_type_size(to->dtype);

	if (!block)
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: collectives have no elements of dtype %s; use float32",
				     reader->where, neff_dtype_name(to->dtype));
	if (in % block)
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: %s of %u ranks: input \"%.64s\" has %llu bytes, not a multiple of %llu",
				     reader->where, nrt_plan_op_name(to->op), to->group_size,
				     vars[input].name, (unsigned long long)in,
				     (unsigned long long)block);
	to->count += in / block;
	if (out == in / per * more)
		return NRT_SUCCESS;
	return nrt_error_set(reader->error, NRT_INVALID,
			     "NEFF: %s: %s of %u ranks: input \"%.64s\" has %llu bytes, so output \"%.64s\" must have %llu, not %llu",
			     reader->where, nrt_plan_op_name(to->op), to->group_size,
			     vars[input].name, (unsigned long long)in, vars[output].name,
			     (unsigned long long)(in / per * more), (unsigned long long)out);
}

/* --- Lists of tensors --- */

/* All of a variable, or bytes of it as descriptors have them. */
static NRT_STATUS read_part(struct reader *reader, struct json_object *object, const char *where,
			    const char *prefix, struct neff_side *part)
{
	static const char *const froms[] = { "from", "from_off", "from_steps", "from_sizes", NULL };
	static const char *const tos[] = { "to", "to_off", "to_steps", "to_sizes", NULL };
	const bool writes = *prefix == 't';
	uint64_t bytes;

	if (neff_json_object(object, where, reader->error) ||
	    neff_json_only(object, where, writes ? tos : froms, reader->error))
		return reader->error->status;
	if (json_object_object_length(object) > 1)
		return neff_read_side(reader->graph, object, where, prefix, part, &bytes,
				      reader->error);
	if (neff_json_var(reader->graph, object, where, prefix, &part->var, reader->error))
		return reader->error->status;
	part->ndim = 1;
	part->size[0] = reader->graph->vars[part->var].size;
	part->step[0] = 1;
	return NRT_SUCCESS;
}

static NRT_STATUS check_part(struct reader *reader, const char *where, bool written,
			     const struct neff_side *part)
{
	const struct neff_var *var = &reader->graph->vars[part->var];

	if (var->type != NEFF_VAR_STATE && !may_be_tensor(var, written))
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: \"%.64s\" must be %san output, a tmp-buf, a virtual variable or the state-buffer",
				     where, var->name, written ? "" : "an input, ");
	if (part->step[0] != 1)
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: the first step is %lld, and must be 1", where,
				     (long long)part->step[0]);
	return NRT_SUCCESS;
}

static NRT_STATUS read_parts(struct reader *reader, const char *key, const char *prefix,
			     struct json_object *list, struct neff_side *parts)
{
	char where[112];
	unsigned int i;

	for (i = 0; i < reader->to->nr_parts; i++) {
		snprintf(where, sizeof(where), "%s: element %u of \"%s\"", reader->where, i, key);
		if (read_part(reader, json_object_array_get_idx(list, i), where, prefix,
			      &parts[i]) ||
		    check_part(reader, where, *prefix == 't', &parts[i]))
			return reader->error->status;
	}
	return NRT_SUCCESS;
}

/* @side in its memory. Variables of the scratchpad are parts of one. */
static struct neff_part part_of(const struct neff_graph *graph, const struct neff_side *side)
{
	const struct neff_var *var = &graph->vars[side->var];
	struct neff_part part = { .begin = side->offset };
	unsigned int i;

	if (var->type == NEFF_VAR_VIRTUAL)
		part.begin += var->offset;
	for (i = 0; i < NEFF_MAX_DESC_DIMS; i++) {
		part.size[i] = i < side->ndim ? side->size[i] : 1;
		part.step[i] = i < side->ndim ? side->step[i] : 0;
	}
	return part;
}

/* Parts of the scratchpad lie in one memory, and each state-buffer is all of SBUF. */
static bool in_one_memory(const struct neff_var *vars, unsigned int a, unsigned int b)
{
	return a == b || (vars[a].type == vars[b].type &&
			  (vars[a].type == NEFF_VAR_VIRTUAL || vars[a].type == NEFF_VAR_STATE));
}

/* Can output @i have bytes that output @j, or with @i itself another row of it, has as well? */
static int outputs_meet(struct reader *reader, unsigned int i, unsigned int j)
{
	const struct neff_side *outputs = reader->to->parts + reader->to->nr_parts;
	const struct neff_side *a = &outputs[i], *b = &outputs[j];

	if (i == j)
		return neff_part_repeats(part_of(reader->graph, a), &reader->tries);
	if (!in_one_memory(reader->graph->vars, a->var, b->var))
		return 0;
	return neff_parts_meet(part_of(reader->graph, a), part_of(reader->graph, b),
			       &reader->tries);
}

/* Queues write the outputs in no order. */
static NRT_STATUS check_outputs(struct reader *reader)
{
	unsigned int i, j;
	int meet = 0;

	for (i = 0; i < reader->to->nr_parts; i++) {
		for (j = 0; j <= i && !meet; j++)
			meet = outputs_meet(reader, i, j);
		if (meet)
			break;
	}
	if (!meet)
		return NRT_SUCCESS;
	if (meet < 0)
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: element %u of \"outputs\" is in too many pieces to tell whether it overlaps with others",
				     reader->where, i);
	return nrt_error_set(reader->error, NRT_INVALID,
			     "NEFF: %s: elements %u and %u of \"outputs\" have bytes in common",
			     reader->where, j - 1, i);
}

static NRT_STATUS read_lists(struct reader *reader)
{
	struct neff_collective *to = reader->to;
	struct json_object *inputs, *outputs;
	unsigned int i;
	size_t nr;

	if (neff_has_metadata(to))
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: an operation with metadata has no lists of tensors",
				     reader->where);
	if (json_object_object_get_ex(reader->object, "input", NULL) ||
	    json_object_object_get_ex(reader->object, "output", NULL))
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: a collective has \"input\" and \"output\", or lists: \"inputs\" and \"outputs\"",
				     reader->where);
	if (neff_json_get(reader->object, reader->where, "inputs", json_type_array, true, &inputs,
			  reader->error) ||
	    neff_json_get(reader->object, reader->where, "outputs", json_type_array, true,
			  &outputs, reader->error))
		return reader->error->status;
	nr = json_object_array_length(inputs);
	if (!nr || nr > NEFF_MAX_PARTS)
		return wrong_length(reader, "\"inputs\"", nr, NEFF_MAX_PARTS);
	if (json_object_array_length(outputs) != nr)
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: \"outputs\" has %zu elements, and \"inputs\" has %zu",
				     reader->where, json_object_array_length(outputs), nr);
	to->parts = calloc(2 * nr, sizeof(*to->parts));
	if (!to->parts)
		return nrt_error_memory(reader->error);
	to->nr_parts = (unsigned int)nr;
	if (read_parts(reader, "inputs", "from", inputs, to->parts) ||
	    read_parts(reader, "outputs", "to", outputs, to->parts + nr))
		return reader->error->status;
	for (i = 0; i < nr; i++)
		if (add_sizes(reader, to->parts[i].var, neff_side_bytes(&to->parts[i]),
			      to->parts[nr + i].var, neff_side_bytes(&to->parts[nr + i])))
			return reader->error->status;
	return check_outputs(reader);
}

/* Rows of numbers of all ranks: how much goes where. */
static NRT_STATUS read_metadata(struct reader *reader)
{
	static const char * const keys[] = { "metadata", "recv_counts_known", "has_rdispls" };
	struct neff_collective *to = reader->to;
	int64_t known, displs;
	uint64_t rows, bytes;
	size_t i;

	for (i = 0; !neff_has_metadata(to) && i < 3; i++)
		if (json_object_object_get_ex(reader->object, keys[i], NULL))
			return nrt_error_set(reader->error, NRT_INVALID,
					     "NEFF: %s: %s has no \"%s\"; leave it out",
					     reader->where, nrt_plan_op_name(to->op), keys[i]);
	if (!neff_has_metadata(to))
		return NRT_SUCCESS;
	if (neff_json_int_or(reader->object, reader->where, keys[1], 0, 1, 0, &known,
			     reader->error) ||
	    neff_json_int_or(reader->object, reader->where, keys[2], 0, 1, 0, &displs,
			     reader->error))
		return reader->error->status;
	to->recv_counts_known = known;
	to->has_rdispls = displs;
	if (find_tensor(reader, keys[0], neff_writes_metadata(to), &to->metadata))
		return reader->error->status;
	rows = to->has_rdispls ? NRT_PLAN_NR_ROWS : NRT_PLAN_NR_ROWS - 1;
	bytes = rows * to->group_size * sizeof(uint32_t);
	if (reader->graph->vars[to->metadata].size == bytes)
		return NRT_SUCCESS;
	return nrt_error_set(reader->error, NRT_INVALID,
			     "NEFF: %s: the metadata of %u ranks are %llu rows of uint32, %llu bytes, and \"%.64s\" has %llu",
			     reader->where, to->group_size, (unsigned long long)rows,
			     (unsigned long long)bytes, reader->graph->vars[to->metadata].name,
			     (unsigned long long)reader->graph->vars[to->metadata].size);
}

static NRT_STATUS read_tensors(struct reader *reader)
{
	struct neff_collective *to = reader->to;

	if (read_metadata(reader))
		return reader->error->status;
	if (to->op == NRT_PLAN_BARRIER)
		return NRT_SUCCESS;
	if (neff_json_dtype(reader->object, reader->where, "dtype", &to->dtype, reader->error))
		return reader->error->status;
	if (json_object_object_get_ex(reader->object, "inputs", NULL) ||
	    json_object_object_get_ex(reader->object, "outputs", NULL))
		return read_lists(reader);
	if (find_tensor(reader, "input", false, &to->input) ||
	    find_tensor(reader, "output", true, &to->output))
		return reader->error->status;
	to->in_place = to->input == to->output;
	return add_sizes(reader, to->input, reader->graph->vars[to->input].size, to->output,
			 reader->graph->vars[to->output].size);
}

/* The rest is what a plan must be; the ranks are those of any group. */
static NRT_STATUS try_plan(struct reader *reader)
{
	const struct neff_collective *to = reader->to;
	const struct nrt_plan_ask ask = {
		.op = to->op, .reduce = to->reduce, .dtype = (uint8_t)to->dtype,
		.count = to->count, .nr_ranks = to->group_size, .pairs = to->pairs,
		.nr_pairs = to->nr_pairs, .root = to->root, .in_place = to->in_place,
		.priority = to->priority, .stream = to->stream, .nr_channels = to->nr_channels,
		.recv_counts_known = to->recv_counts_known, .has_rdispls = to->has_rdispls,
	};
	struct nrt_plan *plan;
	struct nrt_error why;

	if (nrt_plan_make(&ask, &plan, &why))
		return nrt_error_set(reader->error, why.status, "NEFF: %s: %s", reader->where,
				     why.text);
	nrt_plan_free(plan);
	return NRT_SUCCESS;
}

static NRT_STATUS read_one(struct reader *reader)
{
	static const char *const allowed[] = {
		"op", "reduce", "dtype", "input", "output", "inputs", "outputs",
		"replica_groups", "pairs", "channels", "root", "priority", "stream", "semaphore",
		"metadata", "recv_counts_known", "has_rdispls",
		NULL,
	};

	if (neff_json_object(reader->object, reader->where, reader->error))
		return reader->error->status;
	if (neff_json_only(reader->object, reader->where, allowed, reader->error) ||
	    read_op(reader) || read_channels(reader) || read_numbers(reader) ||
	    read_groups(reader) || read_pairs(reader) || read_tensors(reader))
		return reader->error->status;
	return try_plan(reader);
}

/* One window shows semaphores in a row of one CC-core. */
static NRT_STATUS check_words(const struct neff_graph *graph, const struct neff_var *var,
			      struct nrt_error *error)
{
	const struct neff_collective *first = &graph->collectives[var->first];
	unsigned int i;

	for (i = 1; i < var->count; i++)
		if (first[i].stream != first->stream)
			return nrt_error_set(error, NRT_INVALID,
					     "NEFF: def.json: variable \"%s\": starts collective %u of stream %u and collective %u of stream %u; make a variable for each stream",
					     var->name, var->first, first->stream, var->first + i,
					     first[i].stream);
	if (first->place % NEFF_NR_STARTS + var->count <= NEFF_NR_STARTS)
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_INVALID,
			     "NEFF: def.json: variable \"%s\": starts collectives %u to %u, whose semaphores are not in a row; make a variable for each",
			     var->name, var->first, var->first + var->count - 1);
}

static NRT_STATUS check_starts(const struct neff_graph *graph, struct nrt_error *error)
{
	size_t i;

	for (i = 0; i < graph->nr_vars; i++) {
		const struct neff_var *var = &graph->vars[i];

		if (var->type != NEFF_VAR_CC_SEM)
			continue;
		if (var->first + var->count > graph->nr_collectives)
			return nrt_error_set(error, NRT_INVALID,
					     "NEFF: def.json: variable \"%s\": starts collective %u, and \"collectives\" has %u",
					     var->name, var->first + var->count - 1,
					     graph->nr_collectives);
		if (check_words(graph, var, error))
			return error->status;
	}
	return NRT_SUCCESS;
}

NRT_STATUS neff_read_collectives(struct neff_graph *graph, struct json_object *root,
				 struct nrt_error *error)
{
	struct reader reader = { .graph = graph, .error = error, .tries = NEFF_PART_TRIES };
	struct json_object *list;
	unsigned int places[NRT_PLAN_STREAMS] = { 0 };
	size_t nr;

	if (neff_json_get(root, "def.json", "collectives", json_type_array, false, &list, error))
		return error->status;
	nr = list ? json_object_array_length(list) : 0;
	if (nr > NEFF_MAX_COLLECTIVES)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: def.json: \"collectives\" has %zu elements, not 0 to %u",
				     nr, NEFF_MAX_COLLECTIVES);
	if (nr && graph->index)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: def.json: only the first core of a pair starts collectives; put them into sg00/def.json");
	graph->collectives = calloc(nr + 1, sizeof(*graph->collectives));
	if (!graph->collectives)
		return nrt_error_memory(error);
	while (graph->nr_collectives < nr) {
		snprintf(reader.where, sizeof(reader.where), "def.json: collective %u",
			 graph->nr_collectives);
		reader.object = json_object_array_get_idx(list, graph->nr_collectives);
		reader.to = &graph->collectives[graph->nr_collectives++];
		if (read_one(&reader))
			return error->status;
		reader.to->place = (uint16_t)places[reader.to->stream]++;
	}
	return check_starts(graph, error);
}

void neff_free_collectives(struct neff_graph *graph)
{
	unsigned int i;

	for (i = 0; i < graph->nr_collectives; i++) {
		free(graph->collectives[i].ranks);
		free(graph->collectives[i].pairs);
		free(graph->collectives[i].parts);
	}
	free(graph->collectives);
}
