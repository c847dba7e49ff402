// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Elements fetched by indices that lie in SBUF: within a partition, or with the same
 * indices in the 16 partitions of a GpSimd core.
 *
 * All indices are looked at before anything is written. They are looked at again
 * when they are used: another engine may change them in between, and then the
 * instruction ends half done.
 */
#include <string.h>

#include "trn_exec.h"

#define MAX_INDICES	4096	/* of a core, local_gather */
#define MAX_ELEMENTS	32	/* of an index, local_gather */

/**
 * struct gather - a resolved instruction
 * @elements: that one index fetches
 * @count: indices of a core
 * @cause: out: an index was changed meanwhile
 */
struct gather {
	struct trn_tile dst, src, index;
	unsigned int elements;
	unsigned int count;
	enum neuron_cause cause;
};

/* Tiles that are wider than a piece need buffers for whole lines. */
static bool small(const struct trn_tile *a, const struct trn_tile *b)
{
	return a->n <= TRN_LINE_PIECE && b->n <= TRN_LINE_PIECE;
}

static enum neuron_cause gather_tiles(struct trn_exec *exec, struct gather *op,
				      unsigned int index_dtype)
{
	enum neuron_cause cause;

	cause = trn_exec_pair(exec, &op->dst, &op->src);
	if (!cause)
		cause = trn_exec_tile(exec, &exec->inst->src1, &op->index);
	if (cause)
		return cause;
	if (op->index.partitions != op->dst.partitions ||
	    op->index.dtype != index_dtype || op->src.dtype != op->dst.dtype)
		return NEURON_CAUSE_OPERAND;
	return NEURON_CAUSE_NONE;
}

/* --- local_gather --- */

/* The indices of the core whose first partition is @p. False: outside of the source. */
static bool core_indices(const struct gather *op, unsigned int p,
			 uint16_t index[MAX_INDICES])
{
	unsigned int columns = (op->count + TRN_CORE_LANES - 1) / TRN_CORE_LANES;
	uint16_t line[MAX_INDICES / TRN_CORE_LANES];
	unsigned int lane, i, k;

	for (lane = 0; lane < TRN_CORE_LANES; lane++) {
		trn_tile_load_raw(&op->index, p + lane, 0, columns, line);
		for (i = 0; i < columns; i++) {
			k = i * TRN_CORE_LANES + lane;
			if (k >= op->count)
				continue;
			if (line[i] + op->elements > op->src.n)
				return false;
			index[k] = line[i];
		}
	}
	return true;
}

static void local_gather(void *arg, const struct trn_lines *lines)
{
	uint16_t index[MAX_INDICES];
	struct gather *op = arg;
	size_t size = op->src.size, bytes = size * op->elements;
	const uint8_t *from = (const uint8_t *)lines->a;
	uint8_t *to = (uint8_t *)lines->b;
	unsigned int p, k;

	for (p = 0; p < op->dst.partitions; p++) {
		if (p % TRN_CORE_LANES == 0 && !core_indices(op, p, index)) {
			op->cause = NEURON_CAUSE_ACCESS;
			return;
		}
		trn_tile_load_raw(&op->src, p, 0, op->src.n, lines->a);
		for (k = 0; k < op->count; k++)
			memcpy(to + k * bytes, from + index[k] * size, bytes);
		trn_tile_store_raw(&op->dst, p, 0, op->dst.n, lines->b);
	}
}

static bool local_gather_shape(const struct gather *op)
{
	return op->elements && op->elements <= MAX_ELEMENTS &&
	       !(op->elements & (op->elements - 1)) &&
	       op->dst.partitions % TRN_CORE_LANES == 0 &&
	       op->count <= MAX_INDICES &&
	       op->count <= op->index.n * TRN_CORE_LANES &&
	       op->dst.n == op->count * op->elements;
}

enum neuron_cause trn_exec_local_gather(struct trn_exec *exec)
{
	struct gather op = { .elements = exec->inst->imm0 };
	uint16_t index[MAX_INDICES];
	enum neuron_cause cause;
	unsigned int p;

	cause = gather_tiles(exec, &op, NEURON_DTYPE_UINT16);
	if (cause)
		return cause;
	op.count = exec->inst->imm1;
	if (!op.count)
		op.count = op.index.n * TRN_CORE_LANES;
	if (!local_gather_shape(&op))
		return NEURON_CAUSE_OPERAND;
	for (p = 0; p < op.dst.partitions; p += TRN_CORE_LANES)
		if (!core_indices(&op, p, index))
			return NEURON_CAUSE_ACCESS;
	exec->work.n = op.count;
	exec->work.k = op.elements;
	exec->work.size = op.src.size;
	cause = trn_tile_touch(&op.dst);
	if (cause)
		return cause;
	trn_exec_lines(small(&op.dst, &op.src), local_gather, &op);
	return op.cause;
}

/* --- gather --- */

static bool indices_valid(const struct gather *op, const uint32_t *index)
{
	size_t i;

	for (i = 0; i < op->index.n; i++)
		if (index[i] >= op->src.n)
			return false;
	return true;
}

static void check_indices(void *arg, const struct trn_lines *lines)
{
	struct gather *op = arg;
	unsigned int p;

	for (p = 0; p < op->dst.partitions; p++) {
		trn_tile_load_raw(&op->index, p, 0, op->index.n, lines->b);
		if (!indices_valid(op, (const uint32_t *)lines->b))
			op->cause = NEURON_CAUSE_ACCESS;
	}
}

/* The elements take the place of the indices; none is larger than its index. */
static void gather(void *arg, const struct trn_lines *lines)
{
	struct gather *op = arg;
	const uint8_t *from = (const uint8_t *)lines->a;
	uint8_t *to = (uint8_t *)lines->b;
	size_t size = op->src.size, i;
	unsigned int p;
	uint32_t index;

	for (p = 0; p < op->dst.partitions; p++) {
		trn_tile_load_raw(&op->index, p, 0, op->index.n, lines->b);
		if (!indices_valid(op, (const uint32_t *)lines->b)) {
			op->cause = NEURON_CAUSE_ACCESS;
			return;
		}
		trn_tile_load_raw(&op->src, p, 0, op->src.n, lines->a);
		for (i = 0; i < op->index.n; i++) {
			memcpy(&index, to + i * sizeof(index), sizeof(index));
			memcpy(to + i * size, from + index * size, size);
		}
		trn_tile_store_raw(&op->dst, p, 0, op->dst.n, lines->b);
	}
}

enum neuron_cause trn_exec_gather(struct trn_exec *exec)
{
	struct gather op = { .elements = 1 };
	enum neuron_cause cause;

	cause = gather_tiles(exec, &op, NEURON_DTYPE_UINT32);
	if (cause)
		return cause;
	if (op.dst.n != op.index.n)
		return NEURON_CAUSE_OPERAND;
	trn_exec_lines(small(&op.dst, &op.src), check_indices, &op);
	if (op.cause)
		return op.cause;
	cause = trn_tile_touch(&op.dst);
	if (cause)
		return cause;
	trn_exec_lines(small(&op.dst, &op.src), gather, &op);
	return op.cause;
}
