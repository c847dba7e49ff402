// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The eight largest elements, and where given ones are.
 */
#include <string.h>

#include "exec/trn_exec.h"
#include "exec/trn_resume.h"
#include "num/trn_num.h"

#define TOP		8
#define DATA_MIN	8
#define DATA_MAX	16384
#define NOWHERE		UINT32_MAX

struct search {
	const struct trn_exec *exec;
	struct trn_tile dst, data, vals, indices;
	float replacement;
	bool has_indices;
};

static bool data_valid(const struct trn_tile *tile)
{
	return tile->n >= DATA_MIN && tile->n <= DATA_MAX && tile->num[3] == 1;
}

static enum neuron_cause search_walk(struct trn_exec *exec, struct trn_exec_walk *walk,
				     struct search *op)
{
	exec->work.n = op->data.n;
	walk->partitions = op->dst.partitions;
	walk->n = op->data.n;
	return trn_exec_walk(exec, walk, op);
}

/* --- max8 --- */

/* An order of all numbers: -inf, ..., -0, +0, ..., +inf, NaN. */
static uint32_t key_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

static float value_of(uint32_t key)
{
	uint32_t bits = key & 0x80000000u ? key & 0x7fffffffu : ~key;
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* @top is in descending order; the smallest one leaves. */
static void insert(uint32_t top[TOP], uint32_t key)
{
	unsigned int i = TOP - 1;

	while (i > 0 && top[i - 1] < key) {
		top[i] = top[i - 1];
		i--;
	}
	top[i] = key;
}

/* What the pieces of a partition hand on: the largest so far, and how many they are. */
static void max8_begin(void *arg, unsigned int p)
{
	const struct search *op = arg;
	unsigned int i;

	(void)p;
	for (i = 0; i < TOP; i++)
		trn_exec_carry(op->exec)[i] = -__builtin_inff();
	trn_exec_resume(op->exec)->carry.word[TOP] = 0;
}

static void max8(void *arg, unsigned int p, size_t first, size_t n,
		 const struct trn_lines *lines)
{
	const struct search *op = arg;
	uint32_t *carry = trn_exec_resume(op->exec)->carry.word;
	float *largest = trn_exec_carry(op->exec);
	uint32_t found = carry[TOP], top[TOP], key;
	size_t i;

	trn_tile_load(&op->data, p, first, n, lines->a);
	for (i = 0; i < TOP; i++)
		top[i] = key_of(largest[i]);
	for (i = 0; i < n; i++) {
		key = key_of(lines->a[i]);
		if (key <= top[TOP - 1] && found >= TOP)
			continue;
		insert(top, key);
		found++;
	}
	for (i = 0; i < TOP; i++)
		largest[i] = value_of(top[i]);
	carry[TOP] = found;
}

static void max8_end(void *arg, unsigned int p)
{
	const struct search *op = arg;

	trn_tile_store(&op->dst, p, 0, TOP, trn_exec_carry(op->exec));
}

enum neuron_cause trn_exec_max8(struct trn_exec *exec)
{
	struct search op = { .exec = exec };
	struct trn_exec_walk walk = {
		.src = { &op.data },
		.heavy = true,
		.begin = max8_begin,
		.piece = max8,
		.end = max8_end,
	};
	enum neuron_cause cause;

	cause = trn_exec_pair(exec, &op.dst, &op.data);
	if (!cause && (op.dst.n != TOP || !data_valid(&op.data)))
		cause = NEURON_CAUSE_OPERAND;
	if (!cause)
		cause = trn_tile_touch(&op.dst);
	if (cause)
		return cause;
	return search_walk(exec, &walk, &op);
}

/* --- find_index8, match_replace8 --- */

/**
 * struct match - the search for eight values, which the pieces of a partition hand on
 * @index: where they are; NOWHERE: not found yet
 */
struct match {
	float vals[TOP];
	uint32_t index[TOP];
};

_Static_assert(sizeof(struct match) <= TRN_RESUME_CARRY * sizeof(uint32_t), "too much");

static struct match *match_of(const struct search *op)
{
	return (struct match *)(void *)trn_exec_resume(op->exec)->carry.byte;
}

static void match_begin(void *arg, unsigned int p)
{
	const struct search *op = arg;
	struct match *match = match_of(op);
	unsigned int i;

	trn_tile_load(&op->vals, p, 0, TOP, match->vals);
	for (i = 0; i < TOP; i++)
		match->index[i] = NOWHERE;
}

/*
 * The element at @at is that of one value at most: the next that waits for it, equal ones
 * from the first on or, @descending, from the last.
 */
static bool match_element(struct match *match, bool descending, float value, size_t at)
{
	unsigned int i, slot;

	for (i = 0; i < TOP; i++) {
		slot = descending ? TOP - 1 - i : i;
		if (match->index[slot] == NOWHERE && match->vals[slot] == value) {
			match->index[slot] = (uint32_t)at;
			return true;
		}
	}
	return false;
}

static void store_indices(const struct trn_tile *tile, unsigned int p,
			  const struct match *match)
{
	uint16_t narrow[TOP];
	unsigned int i;

	if (tile->size == sizeof(uint32_t)) {
		trn_tile_store_raw(tile, p, 0, TOP, match->index);
		return;
	}
	for (i = 0; i < TOP; i++)
		narrow[i] = (uint16_t)match->index[i];
	trn_tile_store_raw(tile, p, 0, TOP, narrow);
}

static void find_index8(void *arg, unsigned int p, size_t first, size_t n,
			const struct trn_lines *lines)
{
	const struct search *op = arg;
	size_t i;

	trn_tile_load(&op->data, p, first, n, lines->a);
	for (i = 0; i < n; i++)
		match_element(match_of(op), false, lines->a[i], first + i);
}

static void find_index8_end(void *arg, unsigned int p)
{
	const struct search *op = arg;

	store_indices(&op->dst, p, match_of(op));
}

static enum neuron_cause vals_operand(struct trn_exec *exec, struct search *op)
{
	enum neuron_cause cause;

	cause = trn_exec_tile(exec, &exec->inst->src1, &op->vals);
	if (cause)
		return cause;
	return op->vals.n == TOP && op->vals.partitions == op->dst.partitions ?
	       NEURON_CAUSE_NONE : NEURON_CAUSE_OPERAND;
}

enum neuron_cause trn_exec_find_index8(struct trn_exec *exec)
{
	struct search op = { .exec = exec };
	struct trn_exec_walk walk = {
		.src = { &op.data },
		.heavy = true,
		.begin = match_begin,
		.piece = find_index8,
		.end = find_index8_end,
	};
	enum neuron_cause cause;

	cause = trn_exec_pair(exec, &op.dst, &op.data);
	if (!cause)
		cause = vals_operand(exec, &op);
	if (!cause && (op.dst.n != TOP || !data_valid(&op.data) ||
		       (op.dst.dtype != NEURON_DTYPE_UINT16 &&
			op.dst.dtype != NEURON_DTYPE_UINT32)))
		cause = NEURON_CAUSE_OPERAND;
	if (!cause)
		cause = trn_tile_touch(&op.dst);
	if (cause)
		return cause;
	return search_walk(exec, &walk, &op);
}

static void match_replace8(void *arg, unsigned int p, size_t first, size_t n,
			   const struct trn_lines *lines)
{
	const struct search *op = arg;
	size_t i;

	trn_tile_load(&op->data, p, first, n, lines->a);
	for (i = 0; i < n; i++)
		if (match_element(match_of(op), true, lines->a[i], first + i))
			lines->a[i] = op->replacement;
	trn_tile_store(&op->dst, p, first, n, lines->a);
}

static void match_replace8_end(void *arg, unsigned int p)
{
	const struct search *op = arg;

	if (op->has_indices)
		store_indices(&op->indices, p, match_of(op));
}

/* 8 uint32 in each partition, at col1. */
static enum neuron_cause indices_operand(struct trn_exec *exec, struct search *op)
{
	const struct neuron_ap ap = {
		.addr = exec->inst->col1,
		.num = { TOP, 1, 1, 1 },
		.step = { 1 },
		.partitions = (uint8_t)op->dst.partitions,
		.dtype = NEURON_DTYPE_UINT32,
	};

	op->has_indices = trn_isa_flags(exec->inst) & NEURON_INST_COL1;
	return op->has_indices ? trn_exec_tile(exec, &ap, &op->indices) :
				 NEURON_CAUSE_NONE;
}

enum neuron_cause trn_exec_match_replace8(struct trn_exec *exec)
{
	uint32_t bits = exec->inst->imm0;
	struct search op = { .exec = exec };
	struct trn_exec_walk walk = {
		.dst = &op.dst,
		.src = { &op.data },
		.heavy = true,
		.begin = match_begin,
		.piece = match_replace8,
		.end = match_replace8_end,
	};
	enum neuron_cause cause;

	memcpy(&op.replacement, &bits, sizeof(bits));
	cause = trn_exec_equal_pair(exec, &op.dst, &op.data);
	if (!cause && !data_valid(&op.data))
		cause = NEURON_CAUSE_OPERAND;
	if (!cause)
		cause = vals_operand(exec, &op);
	if (!cause)
		cause = indices_operand(exec, &op);
	if (!cause)
		cause = trn_tile_touch(&op.dst);
	if (!cause && op.has_indices)
		cause = trn_tile_touch(&op.indices);
	return cause ? cause : trn_exec_walk_tile(exec, &walk, &op);
}
