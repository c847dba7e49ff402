// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The largest of the numbers that lie in the 16 partitions of a GpSimd core: number
 * i in element i / 16 of partition i % 16.
 */
#include <stdlib.h>

#include "trn_exec.h"

#define MIN_N		8
#define MAX_N		65535
#define MAX_K		32767
#define COLUMNS		((MAX_N + TRN_CORE_LANES - 1) / TRN_CORE_LANES)
#define PIECE		256	/* results that are written at a time */

/**
 * struct topk - a resolved instruction
 * @value, @index: the destinations
 * @n: numbers of a core
 */
struct topk {
	struct trn_tile value, index, src;
	unsigned int n;
};

/* Orders the bits of bf16 like their numbers; -0 below +0, every NaN at the end. */
static uint64_t order_of(uint16_t bits)
{
	if ((bits & 0x7fff) > 0x7f80)
		return 0xffff;
	return bits & 0x8000 ? (uint16_t)~bits : bits | 0x8000;
}

/* Of equal numbers the first one is the largest. */
static uint64_t key_of(uint16_t bits, unsigned int index)
{
	return order_of(bits) << 32 | (uint64_t)(MAX_N - index) << 16 | bits;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void load_keys(const struct topk *op, unsigned int p, uint64_t *key)
{
	unsigned int columns = (op->n + TRN_CORE_LANES - 1) / TRN_CORE_LANES;
	unsigned int lane, i, k;
	uint16_t line[COLUMNS];

	for (lane = 0; lane < TRN_CORE_LANES; lane++) {
		trn_tile_load_raw(&op->src, p + lane, 0, columns, line);
		for (i = 0; i < columns; i++) {
			k = i * TRN_CORE_LANES + lane;
			if (k < op->n)
				key[k] = key_of(line[i], k);
		}
	}
}

/* Each partition of the core gets all results. */
static void store_keys(const struct topk *op, unsigned int p, const uint64_t *key)
{
	uint16_t value[PIECE];
	uint32_t index[PIECE];
	size_t first, i, n;
	unsigned int lane;

	for (first = 0; first < op->value.n; first += n) {
		n = trn_piece(op->value.n, first, PIECE);
		for (i = 0; i < n; i++) {
			value[i] = (uint16_t)key[first + i];
			index[i] = MAX_N - (uint16_t)(key[first + i] >> 16);
		}
		for (lane = 0; lane < TRN_CORE_LANES; lane++) {
			trn_tile_store_raw(&op->value, p + lane, first, n, value);
			trn_tile_store_raw(&op->index, p + lane, first, n, index);
		}
	}
}

static void topk(void *arg, const struct trn_lines *lines)
{
	const struct topk *op = arg;
	uint64_t *key = (uint64_t *)(void *)lines->a;
	unsigned int p;

	for (p = 0; p < op->src.partitions; p += TRN_CORE_LANES) {
		load_keys(op, p, key);
		qsort(key, op->n, sizeof(*key), compare);
		store_keys(op, p, key + op->n - op->value.n);
	}
}

static bool shapes_valid(const struct topk *op)
{
	return op->value.dtype == NEURON_DTYPE_BF16 &&
	       op->src.dtype == NEURON_DTYPE_BF16 &&
	       op->index.dtype == NEURON_DTYPE_UINT32 &&
	       op->index.partitions == op->src.partitions &&
	       op->src.partitions % TRN_CORE_LANES == 0 &&
	       op->index.n == op->value.n && op->n >= MIN_N && op->n <= MAX_N &&
	       op->value.n <= MAX_K && op->value.n <= op->n &&
	       (op->n + TRN_CORE_LANES - 1) / TRN_CORE_LANES <= op->src.n;
}

enum neuron_cause trn_exec_topk(struct trn_exec *exec)
{
	struct topk op = { .n = exec->inst->imm0 };
	enum neuron_cause cause;

	cause = trn_exec_pair(exec, &op.value, &op.src);
	if (!cause)
		cause = trn_exec_tile(exec, &exec->inst->src1, &op.index);
	if (cause)
		return cause;
	if (!shapes_valid(&op))
		return NEURON_CAUSE_OPERAND;
	exec->work.n = op.n;
	exec->work.k = op.value.n;
	cause = trn_tile_touch(&op.value);
	if (!cause)
		cause = trn_tile_touch(&op.index);
	if (cause)
		return cause;
	trn_exec_lines(op.n <= TRN_LINE_PIECE, topk, &op);
	return NEURON_CAUSE_NONE;
}
