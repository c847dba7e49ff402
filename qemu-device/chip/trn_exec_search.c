// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * GpSimd looks for elements: which are not zero, where runs of equal ones begin and
 * end.
 */
#include <string.h>

#include "trn_exec.h"
#include "trn_num.h"

struct search {
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

static void nonzero(void *arg, const struct trn_lines *lines)
{
	const struct search *op = arg;
	const uint32_t *line = (const uint32_t *)lines->a;
	uint32_t *out = (uint32_t *)lines->b;
	uint32_t i, found;
	unsigned int p;

	for (p = 0; p < op->src.partitions; p += TRN_CORE_LANES) {
		trn_tile_load_raw(&op->src, p, 0, op->src.n, lines->a);
		found = 0;
		for (i = 0; i < op->src.n; i++)
			if (!is_zero(op, line[i]))
				out[found++] = i + op->inst->imm0;
		for (i = found; i < op->src.n; i++)
			out[i] = op->inst->imm1;
		out[i] = found;
		trn_tile_store_raw(&op->dst, p, 0, op->dst.n, lines->b);
	}
}

enum neuron_cause trn_exec_nonzero_with_count(struct trn_exec *exec)
{
	struct search op = { .inst = exec->inst };
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
	trn_exec_lines(op.dst.n <= TRN_LINE_PIECE, nonzero, &op);
	return NEURON_CAUSE_NONE;
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

/* From each run's first to behind its last element. */
static void find_bounds(const struct search *op, const uint32_t *id, int32_t *start,
			int32_t *end)
{
	uint32_t n = op->src.n, i, j, k;

	for (i = 0; i < n; i = j) {
		bool padding = is_zero(op, id[i]);

		for (j = i + 1; j < n && same_id(op, id[j - 1], id[j]); j++)
			;
		for (k = i; k < j; k++) {
			start[k] = (int32_t)(padding ? n : i);
			end[k] = padding ? -1 : (int32_t)j;
		}
	}
}

static void sequence_bounds(void *arg, const struct trn_lines *lines)
{
	const struct search *op = arg;
	int32_t *bound = (int32_t *)lines->b;

	trn_tile_load_raw(&op->src, 0, 0, op->src.n, lines->a);
	find_bounds(op, (const uint32_t *)lines->a, bound, bound + op->src.n);
	if (op->dst.dtype == NEURON_DTYPE_INT32) {
		trn_tile_store_raw(&op->dst, 0, 0, op->dst.n, bound);
		return;
	}
	trn_to_fp32(lines->a, bound, NEURON_DTYPE_INT32, op->dst.n);
	trn_tile_store(&op->dst, 0, 0, op->dst.n, lines->a);
}

enum neuron_cause trn_exec_sequence_bounds(struct trn_exec *exec)
{
	struct search op = { .inst = exec->inst };
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
	trn_exec_lines(op.dst.n <= TRN_LINE_PIECE, sequence_bounds, &op);
	return NEURON_CAUSE_NONE;
}
