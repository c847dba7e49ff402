// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The largest of the numbers that lie in the 16 partitions of a GpSimd core: number
 * i in element i / 16 of partition i % 16.
 *
 * The numbers are sorted by counting: each pass goes by eight bits of a number's order, and
 * leaves those that are equal in it as they were.
 */
#include <string.h>

#include "exec/trn_exec.h"

#define MIN_N		8
#define MAX_N		65535
#define MAX_K		32767
#define PIECE		256	/* keys that are loaded, moved or written at a time */
#define DIGITS		256
#define PASSES		2

/**
 * struct topk - a resolved instruction
 * @exec: whose desk has the keys: in line 0, after the first pass in line 1, then in line
 *	0 again; and in its table, for each pass, where the next key of each digit goes
 * @value, @index: the destinations
 * @n: numbers of a core
 */
struct topk {
	const struct trn_exec *exec;
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

static uint64_t *keys_of(const struct topk *op, unsigned int line)
{
	return (uint64_t *)(void *)trn_exec_desk(op->exec)->line[line];
}

static uint32_t *table_of(const struct topk *op, unsigned int pass)
{
	return (uint32_t *)(void *)trn_exec_desk(op->exec)->table + pass * DIGITS;
}

static unsigned int digit_of(uint64_t key, unsigned int pass)
{
	return key >> (32 + 8 * pass) & (DIGITS - 1);
}

static void count_begin(void *arg, unsigned int p)
{
	const struct topk *op = arg;

	(void)p;
	memset(table_of(op, 0), 0, PASSES * DIGITS * sizeof(uint32_t));
}

/* The last number comes first: of equal ones the first is the largest. */
static void take_key(const struct topk *op, uint16_t bits, unsigned int i)
{
	uint64_t key = key_of(bits, i);
	unsigned int pass;

	keys_of(op, 0)[op->n - 1 - i] = key;
	for (pass = 0; pass < PASSES; pass++)
		table_of(op, pass)[digit_of(key, pass)]++;
}

/*
 * Numbers @first to @first + @n, both multiples of the lanes but for the end. The first pass
 * moves keys to anywhere in the other line: its pages are fetched here, one after the other.
 */
static void load_keys(const struct topk *op, unsigned int p, size_t first, size_t n)
{
	size_t column = first / TRN_CORE_LANES, columns, i, k;
	uint16_t line[PIECE / TRN_CORE_LANES + 1];
	unsigned int lane;

	columns = (first + n + TRN_CORE_LANES - 1) / TRN_CORE_LANES - column;
	memset(keys_of(op, 1) + first, 0, n * sizeof(uint64_t));
	for (lane = 0; lane < TRN_CORE_LANES; lane++) {
		trn_tile_load_raw(&op->src, p + lane, column, columns, line);
		for (i = 0; i < columns; i++) {
			k = (column + i) * TRN_CORE_LANES + lane;
			if (k >= first && k < first + n)
				take_key(op, line[i], (unsigned int)k);
		}
	}
}

/* From how many there are of each digit to where its first one goes. */
static void find_starts(const struct topk *op)
{
	uint32_t *table, sum, count;
	unsigned int pass, i;

	for (pass = 0; pass < PASSES; pass++) {
		table = table_of(op, pass);
		for (sum = 0, i = 0; i < DIGITS; i++) {
			count = table[i];
			table[i] = sum;
			sum += count;
		}
	}
}

static void move_keys(const struct topk *op, unsigned int pass, size_t first, size_t n)
{
	const uint64_t *from = keys_of(op, pass) + first;
	uint64_t *to = keys_of(op, !pass);
	uint32_t *table = table_of(op, pass);
	uint32_t at;
	size_t i;

	for (i = 0; i < n; i++) {
		at = table[digit_of(from[i], pass)]++;
		/* A stream may have brought any table. */
		if (at < op->n)
			to[at] = from[i];
	}
}

/* Each partition of the core gets all results. */
static void store_keys(const struct topk *op, unsigned int p, size_t first, size_t n)
{
	const uint64_t *key = keys_of(op, 0) + op->n - op->value.n + first;
	uint16_t value[PIECE];
	uint32_t index[PIECE];
	unsigned int lane;
	size_t i;

	for (i = 0; i < n; i++) {
		value[i] = (uint16_t)key[i];
		index[i] = MAX_N - (uint16_t)(key[i] >> 16);
	}
	for (lane = 0; lane < TRN_CORE_LANES; lane++) {
		trn_tile_store_raw(&op->value, p + lane, first, n, value);
		trn_tile_store_raw(&op->index, p + lane, first, n, index);
	}
}

/* All numbers are loaded, then moved twice; then the results are written. */
static void topk(void *arg, unsigned int p, size_t first, size_t n,
		 const struct trn_lines *lines)
{
	const struct topk *op = arg;
	size_t end = first + n, all = op->n, step, part;

	(void)lines;
	for (; first < end; first += part) {
		step = first / all;
		if (step > PASSES) {
			part = end - first;
			store_keys(op, p, first - (PASSES + 1) * all, part);
			continue;
		}
		part = trn_piece((step + 1) * all, first, end - first);
		if (first == all)
			find_starts(op);
		if (!step)
			load_keys(op, p, first, part);
		else
			move_keys(op, (unsigned int)step - 1, first - step * all, part);
	}
}

/* A result is written to as many lanes. */
static bool is_slow(const struct topk *op)
{
	return trn_tile_weight(&op->value, true) == TRN_WEIGHT_SLOW ||
	       trn_tile_weight(&op->index, true) == TRN_WEIGHT_SLOW;
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
	struct topk op = { .exec = exec, .n = exec->inst->imm0 };
	struct trn_exec_walk walk = {
		.stride = TRN_CORE_LANES,
		.src = { &op.src, &op.value, &op.index },
		.heavy = true,
		.limit = PIECE,
		.begin = count_begin,
		.piece = topk,
	};
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
	trn_exec_desk_use(exec, op.n * sizeof(uint64_t), op.n * sizeof(uint64_t),
			  PASSES * DIGITS * sizeof(uint32_t));
	walk.partitions = op.src.partitions;
	walk.n = (PASSES + 1) * (size_t)op.n + op.value.n;
	if (is_slow(&op))
		walk.limit = PIECE / TRN_CORE_LANES;
	return trn_exec_walk(exec, &walk, &op);
}
