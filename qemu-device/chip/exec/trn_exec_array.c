// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Loading the stationary operand into the array, or a part of it.
 */
#include <string.h>

#include "base/trn_chip.h"
#include "exec/trn_exec_tensor.h"
#include "exec/trn_resume.h"
#include "isa/trn_pe_array.h"
#include "num/trn_num.h"

/*
 * Partitions of the stationary operand that a line is asked for before it is read; fewer would
 * come too late.
 */
#define STATIONARY_AHEAD	6

static unsigned int generation_of(const struct trn_exec *exec)
{
	return exec->core->chip->gen->generation;
}

bool trn_tensor_place(const struct trn_exec *exec, struct neuron_array *place)
{
	*place = (struct neuron_array){ .rows = TRN_ARRAY_SIZE, .cols = TRN_ARRAY_SIZE };
	if (!(trn_isa_flags(exec->inst) & NEURON_INST_ARRAY))
		return true;
	*place = neuron_array_get(exec->inst->imm0);
	return generation_of(exec) >= 3 || (place->rows > 32 && place->cols > 32);
}

enum trn_part_kind trn_tensor_kind(const struct trn_exec *exec)
{
	uint32_t flags = trn_isa_flags(exec->inst);
	bool transpose = flags & NEURON_INST_TRANSPOSE;
	struct neuron_array place;

	if (!trn_tensor_place(exec, &place))
		return TRN_PART_EMPTY;
	if (flags & NEURON_INST_DOUBLE_ROW) {
		if (generation_of(exec) < 3 || transpose || place.cols != TRN_ARRAY_SIZE)
			return TRN_PART_EMPTY;
		return TRN_PART_DOUBLE;
	}
	/* On NeuronCore-v2 the flag changes nothing: a product is a product. */
	return transpose && generation_of(exec) >= 3 ? TRN_PART_BITS : TRN_PART_DENSE;
}

static bool is_fp8(unsigned int dtype)
{
	return dtype == NEURON_DTYPE_FP8_E4 || dtype == NEURON_DTYPE_FP8_E5 ||
	       dtype == NEURON_DTYPE_FP8_E4FN;
}

static bool type_valid(unsigned int dtype, enum trn_part_kind kind)
{
	switch (kind) {
	case TRN_PART_DOUBLE:
		return is_fp8(dtype);
	case TRN_PART_MX:
		return trn_dtype_is_packed(dtype);
	case TRN_PART_SPARSE:
		return trn_dtype_is_float(dtype) && dtype != NEURON_DTYPE_FP32;
	default:
		return trn_dtype_is_float(dtype);
	}
}

enum neuron_cause trn_tensor_operand(struct trn_exec *exec, enum trn_part_kind kind,
				     struct trn_tile *tile)
{
	enum neuron_cause cause;

	cause = kind == TRN_PART_MX ? trn_exec_tile_raw(exec, &exec->inst->src0, tile) :
				      trn_exec_tile(exec, &exec->inst->src0, tile);
	if (cause)
		return cause;
	if (tile->psum || !type_valid(tile->dtype, kind))
		return NEURON_CAUSE_OPERAND;
	/* Pairs and ratios are the second dimension, whatever their steps. */
	if (kind == TRN_PART_DOUBLE &&
	    (tile->num[1] != 2 || tile->num[2] != 1 || tile->num[3] != 1))
		return NEURON_CAUSE_OPERAND;
	trn_exec_note(exec, tile);
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_tensor_scales(struct trn_exec *exec,
				    const struct trn_tile *data,
				    struct trn_tile *scales)
{
	uint32_t offset = exec->inst->imm1;
	enum neuron_cause cause;

	cause = trn_exec_tile_raw(exec, &exec->inst->src1, scales);
	if (cause)
		return cause;
	if (scales->psum || scales->partitions != data->partitions ||
	    scales->n != data->n || data->partitions % 32 || offset > 12 || offset % 4)
		return NEURON_CAUSE_OPERAND;
	if (scales->dtype != NEURON_DTYPE_UINT8 && scales->dtype != NEURON_DTYPE_E8M0)
		return NEURON_CAUSE_OPERAND;
	return NEURON_CAUSE_NONE;
}

void trn_tensor_mx_line(const struct trn_tile *data, const struct trn_tile *scales,
			unsigned int offset, unsigned int p, size_t first,
			size_t count, float *lines, size_t stride)
{
	unsigned int group = p / 32 * 32 + offset + p % 32 / TRN_MX_ROWS;
	uint32_t packed[TRN_COLUMNS];
	uint8_t scale[TRN_COLUMNS];

	trn_tile_load_raw(data, p, first, count, packed);
	trn_tile_load_raw(scales, group, first, count, scale);
	trn_mx_widen(lines, stride, packed, data->dtype, scale, count);
}

static bool overlap(const struct neuron_array *a, const struct neuron_array *b)
{
	return a->row < b->row + b->rows && b->row < a->row + a->rows &&
	       a->col < b->col + b->cols && b->col < a->col + a->cols;
}

/* What lay under the part is gone. */
static void set_part(struct trn_pe_array *array, const struct trn_part *part)
{
	unsigned int i;

	for (i = 0; i < TRN_PE_ARRAY_PARTS; i++)
		if (array->part[i].kind != TRN_PART_EMPTY &&
		    overlap(&array->part[i].place, &part->place))
			array->part[i].kind = TRN_PART_EMPTY;
	*trn_pe_array_part(array, part->place) = *part;
}

/* Rows that are loaded at a time, and of elements that lie here and there. */
#define ROWS		16
#define ROWS_SLOW	2

/* The row behind those that are loaded together, from row @k on. */
static unsigned int rows_end(const struct trn_part *part, const struct trn_tile *tile,
			     unsigned int k)
{
	unsigned int end = k + (tile->contiguous ? ROWS : ROWS_SLOW);

	return end < part->k ? end : part->k;
}

/*
 * Rows are loaded up to @end. True: the instruction is cut here. The part counts as loaded
 * from the first row on, so that a stream has what there is of it; nobody looks before the
 * end.
 */
static bool rows_done(struct trn_exec *exec, const struct trn_part *part,
		      const struct trn_tile *tile, unsigned int end)
{
	unsigned int rows = tile->contiguous ? ROWS : ROWS_SLOW;

	if (end <= rows)
		set_part(exec->core->array, part);
	if (!trn_exec_pause(exec, rows * tile->n,
			    tile->contiguous ? TRN_WEIGHT_HEAVY : TRN_WEIGHT_SLOW))
		return false;
	trn_exec_keep(exec, end, 0, 0);
	return true;
}

/* Checks what goes for all kinds; @columns of @tile are loaded. */
static enum neuron_cause begin_part(struct trn_exec *exec, enum trn_part_kind kind,
				    const struct trn_tile *tile, uint32_t columns,
				    struct trn_part *part)
{
	*part = (struct trn_part){ .kind = kind, .dtype = (uint8_t)tile->dtype };
	if (!trn_tensor_place(exec, &part->place) ||
	    tile->partitions > part->place.rows || columns > part->place.cols)
		return NEURON_CAUSE_OPERAND;
	part->k = (uint8_t)tile->partitions;
	part->m = (uint8_t)columns;
	exec->work.n = columns;
	exec->work.place = part->place;
	exec->work.rows = part->k;
	exec->work.columns = part->m;
	exec->work.fp32 = tile->dtype == NEURON_DTYPE_FP32;
	return NEURON_CAUSE_NONE;
}

/* Term @t of row @k of the part. */
static float *weight_at(struct trn_pe_array *array, const struct trn_part *part,
			unsigned int k, unsigned int t)
{
	return &array->weight[TRN_ARRAY_DEPTH * part->place.row +
			      trn_part_depth(part) * k + t][part->place.col];
}

static void load_bits(float *weight, const struct trn_tile *tile, unsigned int k)
{
	uint16_t line[TRN_ARRAY_SIZE];
	const uint8_t *bytes = (const uint8_t *)line;
	uint32_t bits;
	unsigned int i;

	if (tile->size == sizeof(bits)) {
		trn_tile_load_raw(tile, k, 0, tile->n, weight);
		return;
	}
	trn_tile_load_raw(tile, k, 0, tile->n, line);
	for (i = 0; i < tile->n; i++) {
		bits = tile->size == sizeof(*line) ? line[i] : bytes[i];
		memcpy(weight + i, &bits, sizeof(bits));
	}
}

static void load_rows(struct trn_pe_array *array, const struct trn_part *part,
		      const struct trn_tile *tile, unsigned int k, unsigned int end)
{
	unsigned int m = part->m;

	for (; k < end; k++) {
		trn_tile_expect(tile, k + STATIONARY_AHEAD, 0, tile->n);
		if (part->kind == TRN_PART_BITS)
			load_bits(weight_at(array, part, k, 0), tile, k);
		else
			trn_tile_load(tile, k, 0, m, weight_at(array, part, k, 0));
		if (part->kind == TRN_PART_DOUBLE)
			trn_tile_load(tile, k, m, m, weight_at(array, part, k, 1));
	}
}

/* Bits to transpose: of any type of up to 32 bits. */
static enum neuron_cause bits_operand(struct trn_exec *exec, struct trn_tile *tile)
{
	enum neuron_cause cause = trn_exec_tile_raw(exec, &exec->inst->src0, tile);

	if (cause)
		return cause;
	if (tile->psum || tile->size > sizeof(uint32_t))
		return NEURON_CAUSE_OPERAND;
	trn_exec_note(exec, tile);
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_exec_load_stationary(struct trn_exec *exec)
{
	enum trn_part_kind kind = trn_tensor_kind(exec);
	struct trn_pe_array *array = exec->core->array;
	struct trn_part part;
	struct trn_tile tile;
	enum neuron_cause cause;
	unsigned int k, end;

	if (kind == TRN_PART_EMPTY)
		return NEURON_CAUSE_OPERAND;
	cause = kind == TRN_PART_BITS ? bits_operand(exec, &tile) :
					trn_tensor_operand(exec, kind, &tile);
	if (cause)
		return cause;
	cause = begin_part(exec, kind, &tile, kind == TRN_PART_DOUBLE ? tile.n / 2 : tile.n,
			   &part);
	if (cause)
		return cause;
	for (k = trn_exec_resume(exec)->p; k < part.k; k = end) {
		end = rows_end(&part, &tile, k);
		load_rows(array, &part, &tile, k, end);
		if (rows_done(exec, &part, &tile, end))
			break;
	}
	return NEURON_CAUSE_NONE;
}

/* Four tags in each element of a line, the first in the lowest bits. */
static void load_tags(struct trn_pe_array *array, const struct trn_part *part,
		      const struct trn_tile *tags, unsigned int k)
{
	uint8_t *tag = &array->tag[part->place.row + k][part->place.col];
	uint16_t line[TRN_ARRAY_SIZE / 4];
	unsigned int m;

	trn_tile_load_raw(tags, k, 0, tags->n, line);
	for (m = 0; m < part->m; m++)
		tag[m] = line[m / 4] >> m % 4 * 4 & 15;
}

enum neuron_cause trn_exec_load_sparse(struct trn_exec *exec)
{
	struct trn_pe_array *array = exec->core->array;
	struct trn_tile tile, tags;
	struct trn_part part;
	enum neuron_cause cause;
	unsigned int k, end;

	cause = trn_tensor_operand(exec, TRN_PART_SPARSE, &tile);
	if (!cause)
		cause = trn_exec_tile(exec, &exec->inst->src1, &tags);
	if (!cause)
		cause = begin_part(exec, TRN_PART_SPARSE, &tile, tile.n, &part);
	if (cause)
		return cause;
	if (tags.psum || tags.dtype != NEURON_DTYPE_UINT16 || part.k % 4 ||
	    tags.partitions != tile.partitions || tags.n != (tile.n + 3) / 4)
		return NEURON_CAUSE_OPERAND;
	for (k = trn_exec_resume(exec)->p; k < part.k; ) {
		for (end = rows_end(&part, &tile, k); k < end; k++) {
			trn_tile_load(&tile, k, 0, part.m, weight_at(array, &part, k, 0));
			load_tags(array, &part, &tags, k);
		}
		if (rows_done(exec, &part, &tile, k))
			break;
	}
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_exec_load_mx(struct trn_exec *exec)
{
	struct trn_pe_array *array = exec->core->array;
	struct trn_tile tile, scales;
	struct trn_part part;
	enum neuron_cause cause;
	unsigned int k, end;

	cause = trn_tensor_operand(exec, TRN_PART_MX, &tile);
	if (!cause)
		cause = trn_tensor_scales(exec, &tile, &scales);
	if (!cause)
		cause = begin_part(exec, TRN_PART_MX, &tile, tile.n, &part);
	if (cause)
		return cause;
	if (part.m % 2 || part.place.cols != TRN_ARRAY_SIZE)
		return NEURON_CAUSE_OPERAND;
	for (k = trn_exec_resume(exec)->p; k < part.k; ) {
		for (end = rows_end(&part, &tile, k); k < end; k++)
			trn_tensor_mx_line(&tile, &scales, exec->inst->imm1, k, 0, part.m,
					   weight_at(array, &part, k, 0), TRN_ARRAY_SIZE);
		if (rows_done(exec, &part, &tile, k))
			break;
	}
	return NEURON_CAUSE_NONE;
}
