// SPDX-License-Identifier: MIT
/*
 * Descriptors that do more than copy: the "op" of the public description, as far as the DMA
 * engines of the chip have it (uapi/neuron/dma_op.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neff/json.h"

#define FROM_KEYS	"from", "from_off", "from_steps", "from_sizes", "from_dtype"
#define TO_KEYS		"op", "num_tiling_dimensions", "to", "to_off", "to_steps", "to_sizes", \
			"to_dtype"

/* One operation. */
struct op_reader {
	const struct neff_graph *graph;
	struct json_object *object;
	const char *where;
	struct neff_desc *desc;
	struct neff_op *op;
	struct nrt_error *error;
};

typedef NRT_STATUS read_op_fn(struct op_reader *reader);

NRT_STATUS neff_read_dtype(struct json_object *object, const char *where, const char *key,
			   enum neuron_dtype *dtype, struct nrt_error *error)
{
	*dtype = NEURON_DTYPE_UINT8;
	if (!json_object_object_get_ex(object, key, NULL))
		return NRT_SUCCESS;
	return neff_json_dtype(object, where, key, dtype, error);
}

/* What the DMA engines compute with. */
static bool is_number(enum neuron_dtype dtype)
{
	return neff_dtype_name(dtype) && dtype != NEURON_DTYPE_FP32R &&
	       neuron_dtype_bytes(dtype) <= 4;
}

/* The pattern consists of whole elements that lie side by side in each run. */
static NRT_STATUS check_elements(struct op_reader *reader, const struct neff_side *side,
				 unsigned int bytes, const char *prefix)
{
	if (side->size[0] % bytes)
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: element 0 of \"%s_sizes\" is no multiple of the %u bytes of an element",
				     reader->where, prefix, bytes);
	if (bytes > 1 && side->step[0] != 1)
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: element 0 of \"%s_steps\" must be 1 with elements of %u bytes",
				     reader->where, prefix, bytes);
	return NRT_SUCCESS;
}

static NRT_STATUS check_numbers(struct op_reader *reader)
{
	const struct neff_op *op = reader->op;

	if (!is_number(op->from_dtype) || !is_number(op->to_dtype))
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: from %s to %s: the DMA engines compute with floats and with integers of up to 32 bits",
				     reader->where, neff_dtype_name(op->from_dtype),
				     neff_dtype_name(op->to_dtype));
	return NRT_SUCCESS;
}

static NRT_STATUS check_memory(struct op_reader *reader, unsigned int index)
{
	const struct neff_var *var = &reader->graph->vars[index];

	if (neff_var_is_others_sem(var))
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: \"%s\" are semaphores; only op \"copy\" can post them",
				     reader->where, var->name);
	return NRT_SUCCESS;
}

static NRT_STATUS read_to(struct op_reader *reader, uint64_t *bytes)
{
	struct neff_desc *desc = reader->desc;

	if (neff_read_dtype(reader->object, reader->where, "to_dtype", &reader->op->to_dtype,
			    reader->error) ||
	    neff_read_side(reader->graph, reader->object, reader->where, "to", &desc->to, bytes,
			   reader->error) ||
	    check_memory(reader, desc->to.var))
		return reader->error->status;
	return NRT_SUCCESS;
}

/* The only source of an operation that has one. */
static NRT_STATUS read_from(struct op_reader *reader)
{
	struct neff_desc *desc = reader->desc;

	if (neff_read_dtype(reader->object, reader->where, "from_dtype",
			    &reader->op->from_dtype, reader->error) ||
	    neff_read_side(reader->graph, reader->object, reader->where, "from", &desc->from,
			   &desc->bytes, reader->error) ||
	    check_memory(reader, desc->from.var))
		return reader->error->status;
	reader->op->nr_sources = 1;
	reader->op->sources[0].var = desc->from.var;
	reader->op->sources[0].offset = desc->from.offset;
	return NRT_SUCCESS;
}

/* Both sides have the same number of elements. */
static NRT_STATUS check_counts(struct op_reader *reader, uint64_t to_bytes)
{
	const struct neff_desc *desc = reader->desc;
	unsigned int from = neuron_dtype_bytes(reader->op->from_dtype);
	unsigned int to = neuron_dtype_bytes(reader->op->to_dtype);

	if (check_elements(reader, &desc->from, from, "from") ||
	    check_elements(reader, &desc->to, to, "to"))
		return reader->error->status;
	if (desc->bytes / from != to_bytes / to)
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: \"from\" has %llu elements and \"to\" has %llu; both need as many",
				     reader->where, (unsigned long long)(desc->bytes / from),
				     (unsigned long long)(to_bytes / to));
	return NRT_SUCCESS;
}

static NRT_STATUS read_cast(struct op_reader *reader)
{
	uint64_t bytes;

	if (read_from(reader) || read_to(reader, &bytes) || check_numbers(reader))
		return reader->error->status;
	return check_counts(reader, bytes);
}

/* Elements of dimension @i, which may be absent. */
static uint64_t elements_of(const struct neff_side *side, unsigned int i, unsigned int bytes)
{
	if (i >= side->ndim)
		return 1;
	return i ? side->size[i] : side->size[0] / bytes;
}

static NRT_STATUS check_shape(struct op_reader *reader, unsigned int bytes)
{
	const struct neff_desc *desc = reader->desc;
	int64_t shape[NEFF_MAX_DESC_DIMS];
	unsigned int count, i;

	/* Dimensions 0 and 1 change about. */
	for (i = 0; i < NEFF_MAX_DESC_DIMS; i++)
		if (elements_of(&desc->to, i, bytes) !=
		    elements_of(&desc->from, i < 2 ? 1 - i : i, bytes))
			return nrt_error_set(reader->error, NRT_INVALID,
					     "NEFF: %s: \"to_sizes\" are not \"from_sizes\" with dimensions 0 and 1 exchanged",
					     reader->where);
	if (!json_object_object_get_ex(reader->object, "transpose_shape", NULL))
		return NRT_SUCCESS;
	if (neff_json_ints(reader->object, reader->where, "transpose_shape", 1,
			   NEFF_MAX_VAR_SIZE, shape, NEFF_MAX_DESC_DIMS, &count, reader->error))
		return reader->error->status;
	for (i = 0; i < NEFF_MAX_DESC_DIMS; i++)
		if (count != NEFF_MAX_DESC_DIMS ||
		    (uint64_t)shape[i] != elements_of(&desc->to, i, bytes))
			return nrt_error_set(reader->error, NRT_INVALID,
					     "NEFF: %s: \"transpose_shape\" must be the 4 numbers of elements of \"to_sizes\"",
					     reader->where);
	return NRT_SUCCESS;
}

static NRT_STATUS read_transpose(struct op_reader *reader)
{
	struct neff_op *op = reader->op;
	int64_t element;
	uint64_t bytes;

	if (read_from(reader) || read_to(reader, &bytes) ||
	    neff_json_int_or(reader->object, reader->where, "transpose_element_size", 1, 8,
			     neuron_dtype_bytes(op->to_dtype), &element, reader->error))
		return reader->error->status;
	if (op->from_dtype != op->to_dtype)
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: a transpose from %s to %s: the types must be equal",
				     reader->where, neff_dtype_name(op->from_dtype),
				     neff_dtype_name(op->to_dtype));
	if (element != 2 && element != 4)
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: elements of %lld bytes: the DMA engines transpose those of 2 and 4; say \"transpose_element_size\"",
				     reader->where, (long long)element);
	/* Bits are moved. */
	op->from_dtype = element == 2 ? NEURON_DTYPE_UINT16 : NEURON_DTYPE_UINT32;
	op->to_dtype = op->from_dtype;
	if (check_counts(reader, bytes))
		return reader->error->status;
	return check_shape(reader, (unsigned int)element);
}

/* A number as fp32 bits, or @fallback. */
static NRT_STATUS read_float(struct op_reader *reader, struct json_object *object,
			     const char *where, const char *key, float fallback, uint32_t *bits)
{
	struct json_object *value;
	float number = fallback;

	if (json_object_object_get_ex(object, key, &value)) {
		if (!json_object_is_type(value, json_type_double) &&
		    !json_object_is_type(value, json_type_int))
			return nrt_error_set(reader->error, NRT_INVALID,
					     "NEFF: %s: \"%s\" must be a number, not of type %s",
					     where, key,
					     json_type_to_name(json_object_get_type(value)));
		number = (float)json_object_get_double(value);
	}
	memcpy(bits, &number, sizeof(number));
	return NRT_SUCCESS;
}

static bool same_pattern(const struct neff_side *a, const struct neff_side *b)
{
	return a->ndim == b->ndim && !memcmp(a->size, b->size, sizeof(a->size)) &&
	       !memcmp(a->step, b->step, sizeof(a->step));
}

/* Source @i of several: an object with the "from" keys. */
static NRT_STATUS read_source(struct op_reader *reader, struct json_object *object,
			      unsigned int i, uint32_t scale)
{
	static const char *const allowed[] = { FROM_KEYS, "scale", NULL };
	struct neff_desc *desc = reader->desc;
	struct neff_op *op = reader->op;
	struct neff_side side = { 0 };
	enum neuron_dtype dtype;
	char where[352];
	float fallback;

	snprintf(where, sizeof(where), "%.319s: source %u", reader->where, i);
	memcpy(&fallback, &scale, sizeof(fallback));
	if (neff_json_object(object, where, reader->error) ||
	    neff_json_only(object, where, allowed, reader->error) ||
	    neff_read_dtype(object, where, "from_dtype", &dtype, reader->error) ||
	    neff_read_side(reader->graph, object, where, "from", &side, &desc->bytes,
			   reader->error) ||
	    check_memory(reader, side.var) ||
	    read_float(reader, object, where, "scale", fallback, &op->sources[i].scale))
		return reader->error->status;
	if (i && (!same_pattern(&side, &desc->from) || dtype != op->from_dtype))
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: all sources must have the same sizes, steps and dtype as source 0",
				     where);
	if (op->opcode != NEURON_UDMA_OP_FMA && json_object_object_get_ex(object, "scale", NULL))
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: only op \"fma\" has a scale; leave it out", where);
	if (!i)
		desc->from = side;
	op->from_dtype = dtype;
	op->sources[i].var = side.var;
	op->sources[i].offset = side.offset;
	return NRT_SUCCESS;
}

static NRT_STATUS read_sources(struct op_reader *reader, uint32_t scale)
{
	struct json_object *list;
	size_t count, i;

	if (neff_json_get(reader->object, reader->where, "from_arr", json_type_array, true, &list,
			  reader->error))
		return reader->error->status;
	count = json_object_array_length(list);
	if (!count || count > NEURON_UDMA_OP_MAX_SRC)
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: \"from_arr\" has %zu sources instead of 1 to %d",
				     reader->where, count, NEURON_UDMA_OP_MAX_SRC);
	for (i = 0; i < count; i++)
		if (read_source(reader, json_object_array_get_idx(list, i), (unsigned int)i,
				scale))
			return reader->error->status;
	reader->op->nr_sources = (unsigned int)count;
	return NRT_SUCCESS;
}

static NRT_STATUS read_several(struct op_reader *reader, uint32_t scale)
{
	uint64_t bytes;

	if (read_sources(reader, scale) || read_to(reader, &bytes) || check_numbers(reader))
		return reader->error->status;
	return check_counts(reader, bytes);
}

static NRT_STATUS read_add(struct op_reader *reader)
{
	return read_several(reader, 0);
}

static NRT_STATUS read_fma(struct op_reader *reader)
{
	const char *dtype = "float32";
	uint32_t scale;

	if ((json_object_object_get_ex(reader->object, "scale_dtype", NULL) &&
	     neff_json_string(reader->object, reader->where, "scale_dtype", &dtype,
			      reader->error)) ||
	    read_float(reader, reader->object, reader->where, "scale", 1.0f, &scale))
		return reader->error->status;
	if (strcmp(dtype, "float32"))
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: scale_dtype \"%.32s\" instead of float32",
				     reader->where, dtype);
	return read_several(reader, scale);
}

/* Without a dtype a constant is ignored, as the public description says. */
static NRT_STATUS read_constant(struct op_reader *reader)
{
	const char *dtype;

	if (!json_object_object_get_ex(reader->object, "constant_dtype", NULL))
		return NRT_SUCCESS;
	if (neff_json_string(reader->object, reader->where, "constant_dtype", &dtype,
			     reader->error))
		return reader->error->status;
	if (strcmp(dtype, "float32") && strcmp(dtype, "int32") && strcmp(dtype, "uint32"))
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: constant_dtype \"%.32s\" instead of float32, int32 or uint32",
				     reader->where, dtype);
	if (!json_object_object_get_ex(reader->object, "constant", NULL))
		return nrt_error_set(reader->error, NRT_INVALID,
				     "NEFF: %s: key \"constant\" is missing, because \"constant_dtype\" is there",
				     reader->where);
	reader->op->has_constant = true;
	return read_float(reader, reader->object, reader->where, "constant", 0.0f,
			  &reader->op->constant);
}

static NRT_STATUS read_min_max(struct op_reader *reader)
{
	unsigned int i;

	if (read_constant(reader) || read_several(reader, 0))
		return reader->error->status;
	/* The constant is written first, and the operation then accumulates. */
	for (i = 0; reader->op->has_constant && i < reader->op->nr_sources; i++)
		if (reader->op->sources[i].var == reader->desc->to.var)
			return nrt_error_set(reader->error, NRT_INVALID,
					     "NEFF: %s: with a constant \"%s\" cannot be a source and the destination; write to another variable",
					     reader->where,
					     reader->graph->vars[reader->desc->to.var].name);
	return NRT_SUCCESS;
}

static const struct {
	const char *name;
	enum neuron_udma_opcode opcode;
	read_op_fn *read;
	const char *keys[16];
} ops[] = {
	{ "cast", NEURON_UDMA_OP_COPY, read_cast, { TO_KEYS, FROM_KEYS } },
	{ "transpose", NEURON_UDMA_OP_TRANSPOSE, read_transpose,
	  { TO_KEYS, FROM_KEYS, "transpose_shape", "transpose_element_size" } },
	{ "add", NEURON_UDMA_OP_ADD, read_add, { TO_KEYS, "from_arr" } },
	{ "fma", NEURON_UDMA_OP_FMA, read_fma,
	  { TO_KEYS, "from_arr", "scale", "scale_dtype" } },
	{ "max", NEURON_UDMA_OP_MAX, read_min_max,
	  { TO_KEYS, "from_arr", "constant", "constant_dtype" } },
	{ "min", NEURON_UDMA_OP_MIN, read_min_max,
	  { TO_KEYS, "from_arr", "constant", "constant_dtype" } },
};

#define NR_OPS	(sizeof(ops) / sizeof(ops[0]))

NRT_STATUS neff_read_op(const struct neff_graph *graph, struct json_object *object,
			const char *where, struct neff_desc *desc, struct nrt_error *error)
{
	struct op_reader reader = {
		.graph = graph, .object = object, .where = where, .desc = desc, .error = error,
	};
	const char *names[NR_OPS + 1];
	unsigned int i;

	for (i = 0; i < NR_OPS; i++)
		names[i] = ops[i].name;
	/* The caller has seen to it, and so it is there for the error only. */
	names[NR_OPS] = "copy";
	if (neff_json_choice(object, where, "op", names, NR_OPS + 1, &i, error))
		return error->status;
	if (neff_json_only(object, where, ops[i].keys, error))
		return error->status;
	desc->op = calloc(1, sizeof(*desc->op));
	if (!desc->op)
		return nrt_error_memory(error);
	reader.op = desc->op;
	reader.op->opcode = ops[i].opcode;
	return ops[i].read(&reader);
}
