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

#include "exec/trn_exec.h"

#define MAX_INDICES	4096	/* of a core, local_gather */
#define MAX_ELEMENTS	32	/* of an index, local_gather */

/**
 * struct gather - a resolved instruction
 * @elements: that one index fetches
 * @count: indices of a core
 * @cause: out: an index points out of the source
 *
 * The desk has the source's line of a partition in line 0. The indices are in the table,
 * those of a core, or in line 1.
 */
struct gather {
	struct trn_lane_desk *desk;
	struct trn_tile dst, src, index;
	unsigned int elements;
	unsigned int count;
	enum neuron_cause cause;
};

/* As copy_strided() of a tile: sizes that the compiler knows. */
static inline void copy_element(uint8_t *to, const uint8_t *from, size_t size)
{
	switch (size) {
	case 1:
		*to = *from;
		break;
	case 2:
		memcpy(to, from, 2);
		break;
	default:
		memcpy(to, from, 4);
		break;
	}
}

static uint8_t *source_of(const struct gather *op)
{
	return op->desk->line[0];
}

/* Elements of the source's line. */
static void load_source(const struct gather *op, unsigned int p, size_t first, size_t n)
{
	trn_tile_load_raw(&op->src, p, first, n, source_of(op) + first * op->src.size);
}

/* First all indices are looked at, then the elements are fetched. */
enum { PHASE_CHECK, PHASE_FETCH };

/* True: done, and the other phase begins; false: cut, or *@cause. */
static bool check_all(struct trn_exec *exec, const struct trn_exec_walk *check,
		      struct gather *op, enum neuron_cause *cause)
{
	struct trn_resume *at = trn_exec_resume(exec);

	*cause = NEURON_CAUSE_NONE;
	if (at->phase == PHASE_FETCH)
		return true;
	*cause = trn_exec_walk(exec, check, op);
	if (*cause || exec->more)
		return false;
	at->phase = PHASE_FETCH;
	at->p = 0;
	at->step = 0;
	at->first = 0;
	return true;
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

static uint16_t *indices_of(const struct gather *op)
{
	return (uint16_t *)(void *)op->desk->table;
}

static void check_core(void *arg, unsigned int p)
{
	struct gather *op = arg;

	if (!core_indices(op, p, indices_of(op)))
		op->cause = NEURON_CAUSE_ACCESS;
}

static void local_gather_begin(void *arg, unsigned int p)
{
	if (p % TRN_CORE_LANES == 0)
		check_core(arg, p);
}

/**
 * struct runs - elements of a source's line that indices name
 * @from, @last: the line, and the last element that a whole run may begin with
 * @size, @bytes: of an element, and of a run
 */
struct runs {
	const uint8_t *from;
	ptrdiff_t last;
	size_t size;
	size_t bytes;
};

/* Inlined with constant @bytes. False: outside of the source. */
static inline __attribute__((always_inline)) bool
whole_runs(const struct runs *runs, size_t bytes, const uint16_t *index, size_t count,
	   uint8_t *to)
{
	const ptrdiff_t last = runs->last;
	const uint8_t *from = runs->from;
	const size_t size = runs->size;

	for (; count; count--, index++, to += bytes) {
		if (*index > last)
			return false;
		memcpy(to, from + *index * size, bytes);
	}
	return true;
}

static bool fetch_whole(const struct runs *runs, const uint16_t *index, size_t count,
			uint8_t *to)
{
	switch (runs->bytes) {
	case 1:
		return whole_runs(runs, 1, index, count, to);
	case 2:
		return whole_runs(runs, 2, index, count, to);
	case 4:
		return whole_runs(runs, 4, index, count, to);
	case 8:
		return whole_runs(runs, 8, index, count, to);
	case 16:
		return whole_runs(runs, 16, index, count, to);
	case 32:
		return whole_runs(runs, 32, index, count, to);
	case 64:
		return whole_runs(runs, 64, index, count, to);
	default:
		return whole_runs(runs, runs->bytes, index, count, to);
	}
}

/* The @n elements of the source from @at on. False: outside of the source. */
static bool fetch_part(const struct gather *op, size_t at, size_t n, uint8_t *to)
{
	if (at + n > op->src.n)
		return false;
	memcpy(to, source_of(op) + at * op->src.size, n * op->src.size);
	return true;
}

/*
 * What the indices name, runs of elements, from element @first of the destination on: the
 * first run and the last one may be cut. False: outside of the source.
 */
static bool fetch_runs(const struct gather *op, size_t first, size_t n, uint8_t *to)
{
	const uint16_t *index = indices_of(op) + first / op->elements;
	const size_t size = op->src.size, in = first % op->elements;
	const struct runs runs = {
		.from = source_of(op),
		.last = (ptrdiff_t)op->src.n - op->elements,
		.size = size,
		.bytes = op->elements * size,
	};
	size_t part = 0, count;

	if (in) {
		part = trn_piece(op->elements, in, n);
		if (!fetch_part(op, *index++ + in, part, to))
			return false;
		n -= part;
	}
	count = n / op->elements;
	if (!fetch_whole(&runs, index, count, to + part * size))
		return false;
	n %= op->elements;
	part += count * op->elements;
	return !n || fetch_part(op, index[count], n, to + part * size);
}

static void local_gather(void *arg, unsigned int p, size_t first, size_t n,
			 const struct trn_lines *lines)
{
	struct gather *op = arg;
	size_t all = op->src.n, part;

	if (first < all) {
		part = trn_piece(all, first, n);
		load_source(op, p, first, part);
		first += part;
		n -= part;
	}
	if (!n)
		return;
	if (fetch_runs(op, first - all, n, (uint8_t *)lines->a))
		trn_tile_store_raw(&op->dst, p, first - all, n, lines->a);
	else
		op->cause = NEURON_CAUSE_ACCESS;
}

/* Indices whose look takes as long as an element. */
#define LOOKS	8

static void no_piece(void *arg, unsigned int p, size_t first, size_t n,
		     const struct trn_lines *lines)
{
	(void)arg;
	(void)p;
	(void)first;
	(void)n;
	(void)lines;
}

static enum neuron_cause local_gather_walk(struct trn_exec *exec, struct gather *op)
{
	const struct trn_exec_walk check = {
		.partitions = op->dst.partitions,
		.stride = TRN_CORE_LANES,
		.n = 1,
		.src = { &op->index },
		.heavy = true,
		.depth = (op->count + LOOKS - 1) / LOOKS,
		.cause = &op->cause,
		.begin = check_core,
		.piece = no_piece,
	};
	const struct trn_exec_walk fetch = {
		.partitions = op->dst.partitions,
		.n = (size_t)op->src.n + op->dst.n,
		.src = { &op->dst, &op->src },
		.heavy = true,
		.cause = &op->cause,
		.begin = local_gather_begin,
		.piece = local_gather,
	};
	enum neuron_cause cause;

	if (!check_all(exec, &check, op, &cause))
		return cause;
	cause = trn_tile_touch(&op->dst);
	return cause ? cause : trn_exec_walk(exec, &fetch, op);
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
	struct gather op = { .desk = trn_exec_desk(exec), .elements = exec->inst->imm0 };
	enum neuron_cause cause;

	cause = gather_tiles(exec, &op, NEURON_DTYPE_UINT16);
	if (cause)
		return cause;
	op.count = exec->inst->imm1;
	if (!op.count)
		op.count = op.index.n * TRN_CORE_LANES;
	if (!local_gather_shape(&op))
		return NEURON_CAUSE_OPERAND;
	exec->work.n = op.count;
	exec->work.k = op.elements;
	exec->work.size = op.src.size;
	trn_exec_desk_use(exec, (size_t)op.src.n * op.src.size, 0,
			  op.count * sizeof(uint16_t));
	return local_gather_walk(exec, &op);
}

/* --- gather --- */

/* Indices @first to @first + @n of the partition, to where they are used. */
static uint32_t *load_indices(struct gather *op, unsigned int p, size_t first, size_t n)
{
	uint32_t *index = (uint32_t *)(void *)op->desk->line[1] + first;
	size_t i;

	trn_tile_load_raw(&op->index, p, first, n, index);
	for (i = 0; i < n; i++)
		if (index[i] >= op->src.n)
			op->cause = NEURON_CAUSE_ACCESS;
	return index;
}

static void check_indices(void *arg, unsigned int p, size_t first, size_t n,
			  const struct trn_lines *lines)
{
	(void)lines;
	load_indices(arg, p, first, n);
}

static void fetch(struct gather *op, unsigned int p, size_t first, size_t n, uint8_t *to)
{
	const uint32_t *index = (const uint32_t *)(const void *)op->desk->line[1] + first;
	const uint8_t *from = source_of(op);
	size_t size = op->src.size, i;

	for (i = 0; i < n; i++) {
		if (index[i] >= op->src.n) {
			op->cause = NEURON_CAUSE_ACCESS;
			return;
		}
		copy_element(to + i * size, from + index[i] * size, size);
	}
	trn_tile_store_raw(&op->dst, p, first, n, to);
}

/* The indices, the source, then the destination. */
static void gather(void *arg, unsigned int p, size_t first, size_t n,
		   const struct trn_lines *lines)
{
	struct gather *op = arg;
	size_t indices = op->index.n, end = first + n, part;
	size_t source = indices + op->src.n;

	for (; first < end && !op->cause; first += part) {
		if (first < indices) {
			part = trn_piece(indices, first, end - first);
			load_indices(op, p, first, part);
		} else if (first < source) {
			part = trn_piece(source, first, end - first);
			load_source(op, p, first - indices, part);
		} else {
			part = end - first;
			fetch(op, p, first - source, part, (uint8_t *)lines->a);
		}
	}
}

static enum neuron_cause gather_walk(struct trn_exec *exec, struct gather *op)
{
	const struct trn_exec_walk check = {
		.partitions = op->dst.partitions,
		.n = op->index.n,
		.src = { &op->index },
		.heavy = true,
		.cause = &op->cause,
		.piece = check_indices,
	};
	const struct trn_exec_walk fetch_all = {
		.partitions = op->dst.partitions,
		.n = (size_t)op->index.n + op->src.n + op->dst.n,
		.src = { &op->dst, &op->src, &op->index },
		.heavy = true,
		.cause = &op->cause,
		.piece = gather,
	};
	enum neuron_cause cause;

	if (!check_all(exec, &check, op, &cause))
		return cause;
	cause = trn_tile_touch(&op->dst);
	return cause ? cause : trn_exec_walk(exec, &fetch_all, op);
}

enum neuron_cause trn_exec_gather(struct trn_exec *exec)
{
	struct gather op = { .desk = trn_exec_desk(exec), .elements = 1 };
	enum neuron_cause cause;

	cause = gather_tiles(exec, &op, NEURON_DTYPE_UINT32);
	if (cause)
		return cause;
	if (op.dst.n != op.index.n)
		return NEURON_CAUSE_OPERAND;
	trn_exec_desk_use(exec, (size_t)op.src.n * op.src.size,
			  op.index.n * sizeof(uint32_t), 0);
	return gather_walk(exec, &op);
}
