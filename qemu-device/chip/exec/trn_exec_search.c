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
	struct trn_tile dst, src;
};

static bool int32_or_fp32(const struct trn_tile *tile)
{
	return tile->dtype == NEURON_DTYPE_INT32 || tile->dtype == NEURON_DTYPE_FP32;
}

/* --- nonzero_with_count --- */

/* A zero of fp32 has two signs. */
static bool is_zero(const struct search *op, uint32_t bits)
{
	return op->src.dtype == NEURON_DTYPE_FP32 ? !(bits << 1) : !bits;
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
	size_t i, ready = 0;

	trn_tile_load_raw(&op->src, p, first, n, lines->a);
	for (i = 0; i < n; i++)
		if (!is_zero(op, line[i]))
			out[ready++] = (uint32_t)(first + i) + op->inst->imm0;
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
	struct trn_walk walk = {
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

static bool same_id(const struct search *op, uint32_t x, uint32_t y)
{
	float a, b;

	if (op->src.dtype == NEURON_DTYPE_INT32)
		return x == y;
	memcpy(&a, &x, sizeof(a));
	memcpy(&b, &y, sizeof(b));
	return a == b;
}

/* The bounds of all elements, on the desk: where runs begin, then where they end. */
static int32_t *bounds_of(const struct search *op)
{
	return (int32_t *)(void *)trn_exec_desk(op->exec)->line[0];
}

/* What one piece hands on: the element beside the next one, and the bound of its run. */
enum { BESIDE, BOUND };

/* From each run's first element, in ascending order. */
static void find_starts(const struct search *op, size_t first, size_t n,
			const uint32_t *id)
{
	uint32_t *carry = trn_exec_resume(op->exec)->carry.word;
	uint32_t beside = carry[BESIDE], bound = carry[BOUND];
	int32_t *start = bounds_of(op) + first;
	size_t i;

	for (i = 0; i < n; i++) {
		if (first + i == 0 || !same_id(op, beside, id[i]))
			bound = is_zero(op, id[i]) ? op->src.n : (uint32_t)(first + i);
		beside = id[i];
		start[i] = (int32_t)bound;
	}
	carry[BESIDE] = beside;
	carry[BOUND] = bound;
}

/* To behind its last one, in descending order. */
static void find_ends(const struct search *op, size_t first, size_t n,
		      const uint32_t *id)
{
	uint32_t *carry = trn_exec_resume(op->exec)->carry.word;
	uint32_t beside = carry[BESIDE], bound = carry[BOUND];
	int32_t *end = bounds_of(op) + op->src.n + first;
	size_t i;

	for (i = n; i-- > 0; ) {
		if (first + i + 1 == op->src.n || !same_id(op, beside, id[i]))
			bound = is_zero(op, id[i]) ? UINT32_MAX : (uint32_t)(first + i + 1);
		beside = id[i];
		end[i] = (int32_t)bound;
	}
	carry[BESIDE] = beside;
	carry[BOUND] = bound;
}

static void store_bounds(const struct search *op, size_t first, size_t n,
			 const struct trn_lines *lines)
{
	const int32_t *bound = bounds_of(op) + first;

	if (op->dst.dtype == NEURON_DTYPE_INT32) {
		trn_tile_store_raw(&op->dst, 0, first, n, bound);
		return;
	}
	trn_to_fp32(lines->a, bound, NEURON_DTYPE_INT32, n);
	trn_tile_store(&op->dst, 0, first, n, lines->a);
}

/* The source forwards and backwards; then the destination. */
static void sequence_bounds(void *arg, unsigned int p, size_t first, size_t n,
			    const struct trn_lines *lines)
{
	const struct search *op = arg;
	size_t all = op->src.n, end = first + n, part, at;

	(void)p;
	while (first < end) {
		if (first < all) {
			part = trn_piece(all, first, end - first);
			trn_tile_load_raw(&op->src, 0, first, part, lines->a);
			find_starts(op, first, part, (const uint32_t *)lines->a);
		} else if (first < 2 * all) {
			part = trn_piece(2 * all, first, end - first);
			at = 2 * all - first - part;
			trn_tile_load_raw(&op->src, 0, at, part, lines->a);
			find_ends(op, at, part, (const uint32_t *)lines->a);
		} else {
			part = end - first;
			store_bounds(op, first - 2 * all, part, lines);
		}
		first += part;
	}
}

enum neuron_cause trn_exec_sequence_bounds(struct trn_exec *exec)
{
	struct search op = { .exec = exec, .inst = exec->inst };
	struct trn_walk walk = {
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
	trn_exec_desk_use(exec, op.dst.n * sizeof(int32_t), 0, 0);
	walk.n = 2 * (size_t)op.src.n + op.dst.n;
	return trn_exec_walk(exec, &walk, &op);
}
