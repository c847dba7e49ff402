// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * GpSimd looks for elements: which are not zero, where runs of equal ones begin and
 * end.
 */
#include <string.h>

#include "exec/trn_exec.h"
#include "num/trn_num.h"

struct search {
	const struct trn_exec *exec;
	const struct neuron_inst *inst;
	struct trn_lane_desk *desk;
	struct trn_tile dst, src;
};

static bool int32_or_fp32(const struct trn_tile *tile)
{
	return tile->dtype == NEURON_DTYPE_INT32 || tile->dtype == NEURON_DTYPE_FP32;
}

/* --- nonzero_with_count --- */

/* A zero of fp32 has two signs. */
static inline bool is_zero(bool integer, uint32_t bits)
{
	return integer ? !bits : !(bits << 1);
}

static bool is_integer(const struct trn_tile *tile)
{
	return tile->dtype == NEURON_DTYPE_INT32;
}

static void nonzero_begin(void *arg, unsigned int p)
{
	const struct search *op = arg;

	(void)p;
	trn_exec_resume(op->exec)->carry.word[0] = 0;
}

/* Elements of the source. The ones found follow those that were found before. */
static void find_nonzero(const struct search *op, unsigned int p, size_t first, size_t n,
			 const struct trn_lines *lines)
{
	uint32_t *found = &trn_exec_resume(op->exec)->carry.word[0];
	const uint32_t *line = (const uint32_t *)lines->a;
	uint32_t *out = (uint32_t *)lines->b;
	const bool integer = is_integer(&op->src);
	const uint32_t start = (uint32_t)first + op->inst->imm0;
	size_t i, ready = 0;

	trn_tile_load_raw(&op->src, p, first, n, lines->a);
	for (i = 0; i < n; i++)
		if (!is_zero(integer, line[i]))
			out[ready++] = start + (uint32_t)i;
	if (*found > first)
		return;
	trn_tile_store_raw(&op->dst, p, *found, ready, out);
	*found += (uint32_t)ready;
}

/* Elements of the destination behind the last one found, and the count. */
static void fill_up(const struct search *op, unsigned int p, size_t first, size_t n,
		    const struct trn_lines *lines)
{
	size_t found = trn_exec_resume(op->exec)->carry.word[0], i;
	uint32_t *out = (uint32_t *)lines->b;

	if (found >= first + n)
		return;
	if (found > first) {
		n -= found - first;
		first = found;
	}
	for (i = 0; i < n; i++)
		out[i] = op->inst->imm1;
	if (first + n > op->src.n)
		out[n - 1] = (uint32_t)found;
	trn_tile_store_raw(&op->dst, p, first, n, out);
}

static void nonzero(void *arg, unsigned int p, size_t first, size_t n,
		    const struct trn_lines *lines)
{
	const struct search *op = arg;
	size_t all = op->src.n, part;

	if (first < all) {
		part = trn_piece(all, first, n);
		find_nonzero(op, p, first, part, lines);
		first += part;
		n -= part;
	}
	if (n)
		fill_up(op, p, first - all, n, lines);
}

enum neuron_cause trn_exec_nonzero_with_count(struct trn_exec *exec)
{
	struct search op = { .exec = exec, .inst = exec->inst };
	struct trn_exec_walk walk = {
		.stride = TRN_CORE_LANES,
		.dst = &op.dst,
		.src = { &op.src },
		.heavy = true,
		.begin = nonzero_begin,
		.piece = nonzero,
	};
	enum neuron_cause cause;

	cause = trn_exec_pair(exec, &op.dst, &op.src);
	if (cause)
		return cause;
	if (!int32_or_fp32(&op.src) || op.dst.dtype != NEURON_DTYPE_INT32 ||
	    op.dst.n != op.src.n + 1)
		return NEURON_CAUSE_OPERAND;
	cause = trn_tile_touch(&op.dst);
	if (cause)
		return cause;
	walk.partitions = op.src.partitions;
	walk.n = op.src.n + op.dst.n;
	return trn_exec_walk(exec, &walk, &op);
}

/* --- sequence_bounds --- */

/* Of integers, or of fp32. */
static inline bool same_id(bool integer, uint32_t x, uint32_t y)
{
	float a, b;

	if (integer)
		return x == y;
	memcpy(&a, &x, sizeof(a));
	memcpy(&b, &y, sizeof(b));
	return a == b;
}

/* The bounds of all elements, on the desk: where runs begin, then where they end. */
static int32_t *bounds_of(const struct search *op)
{
	return (int32_t *)(void *)op->desk->line[0];
}

/* The source, beside them. */
static uint32_t *ids_of(const struct search *op)
{
	return (uint32_t *)(void *)op->desk->line[1];
}

/* What one piece hands on: the element beside the next one, and the bound of its run. */
enum { BESIDE, BOUND };

/* From each run's first element, in ascending order. */
static inline __attribute__((always_inline)) void
starts_of(const struct search *op, bool integer, size_t first, size_t n)
{
	const uint32_t *id = ids_of(op) + first, all = op->src.n;
	uint32_t *carry = trn_exec_resume(op->exec)->carry.word;
	uint32_t beside = carry[BESIDE], bound = carry[BOUND];
	int32_t *start = bounds_of(op) + first;
	size_t i;

	for (i = 0; i < n; i++) {
		if (!same_id(integer, beside, id[i]) || first + i == 0)
			bound = is_zero(integer, id[i]) ? all : (uint32_t)(first + i);
		beside = id[i];
		start[i] = (int32_t)bound;
	}
	carry[BESIDE] = beside;
	carry[BOUND] = bound;
}

/* To behind its last one, in descending order. */
static inline __attribute__((always_inline)) void
ends_of(const struct search *op, bool integer, size_t first, size_t n)
{
	const uint32_t *id = ids_of(op) + first, all = op->src.n;
	uint32_t *carry = trn_exec_resume(op->exec)->carry.word;
	uint32_t beside = carry[BESIDE], bound = carry[BOUND];
	int32_t *end = bounds_of(op) + all + first;
	size_t i;

	for (i = n; i-- > 0; ) {
		if (!same_id(integer, beside, id[i]) || first + i + 1 == all)
			bound = is_zero(integer, id[i]) ? UINT32_MAX : (uint32_t)(first + i + 1);
		beside = id[i];
		end[i] = (int32_t)bound;
	}
	carry[BESIDE] = beside;
	carry[BOUND] = bound;
}

static void find_starts(const struct search *op, size_t first, size_t n)
{
	if (is_integer(&op->src))
		starts_of(op, true, first, n);
	else
		starts_of(op, false, first, n);
}

static void find_ends(const struct search *op, size_t first, size_t n)
{
	if (is_integer(&op->src))
		ends_of(op, true, first, n);
	else
		ends_of(op, false, first, n);
}

static void store_bounds(const struct search *op, size_t first, size_t n,
			 const struct trn_lines *lines)
{
	float *out = trn_tile_here(&op->dst, NEURON_DTYPE_FP32, 0, first);
	const int32_t *bound = bounds_of(op) + first;

	if (op->dst.dtype == NEURON_DTYPE_INT32) {
		trn_tile_store_raw(&op->dst, 0, first, n, bound);
		return;
	}
	trn_to_fp32(out ? out : lines->a, bound, NEURON_DTYPE_INT32, n);
	if (!out)
		trn_tile_store(&op->dst, 0, first, n, lines->a);
}

/* The source forwards and backwards; then the destination. */
static void sequence_bounds(void *arg, unsigned int p, size_t first, size_t n,
			    const struct trn_lines *lines)
{
	const struct search *op = arg;
	size_t all = op->src.n, end = first + n, part;

	(void)p;
	while (first < end) {
		if (first < all) {
			part = trn_piece(all, first, end - first);
			trn_tile_load_raw(&op->src, 0, first, part, ids_of(op) + first);
			find_starts(op, first, part);
		} else if (first < 2 * all) {
			part = trn_piece(2 * all, first, end - first);
			find_ends(op, 2 * all - first - part, part);
		} else {
			part = end - first;
			store_bounds(op, first - 2 * all, part, lines);
		}
		first += part;
	}
}

enum neuron_cause trn_exec_sequence_bounds(struct trn_exec *exec)
{
	struct search op = {
		.exec = exec,
		.inst = exec->inst,
		.desk = trn_exec_desk(exec),
	};
	struct trn_exec_walk walk = {
		.partitions = 1,
		.src = { &op.src, &op.dst },
		.heavy = true,
		.piece = sequence_bounds,
	};
	enum neuron_cause cause;

	cause = trn_exec_pair(exec, &op.dst, &op.src);
	if (cause)
		return cause;
	if (op.src.partitions != 1 || !int32_or_fp32(&op.src) ||
	    !int32_or_fp32(&op.dst) || op.dst.n != 2 * op.src.n)
		return NEURON_CAUSE_OPERAND;
	cause = trn_tile_touch(&op.dst);
	if (cause)
		return cause;
	trn_exec_desk_use(exec, op.dst.n * sizeof(int32_t), op.src.n * sizeof(uint32_t), 0);
	walk.n = 2 * (size_t)op.src.n + op.dst.n;
	return trn_exec_walk(exec, &walk, &op);
}
