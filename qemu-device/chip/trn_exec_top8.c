// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The eight largest elements, and where given ones are.
 */
#include <string.h>

#include "trn_exec.h"
#include "trn_num.h"

#define TOP		8
#define DATA_MIN	8
#define DATA_MAX	16384
#define NOWHERE		UINT32_MAX

struct search {
	struct trn_tile dst, data, vals, indices;
	float replacement;
	bool has_indices;
};

static bool data_valid(const struct trn_tile *tile)
{
	return tile->n >= DATA_MIN && tile->n <= DATA_MAX && tile->num[3] == 1;
}

/* --- max8 --- */

/* An order of all numbers: -inf, ..., -0, +0, ..., +inf, NaN. */
static uint32_t key_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

/* @top is in descending order; the smallest one leaves. */
static void insert(float top[TOP], float value)
{
	unsigned int i = TOP - 1;

	while (i > 0 && key_of(top[i - 1]) < key_of(value)) {
		top[i] = top[i - 1];
		i--;
	}
	top[i] = value;
}

static void max8(void *arg, const struct trn_lines *lines)
{
	const struct search *op = arg;
	size_t first, i, n;
	unsigned int p, found;
	float top[TOP];

	for (p = 0; p < op->dst.partitions; p++) {
		found = 0;
		for (i = 0; i < TOP; i++)
			top[i] = -__builtin_inff();
		for (first = 0; first < op->data.n; first += n) {
			n = trn_piece(op->data.n, first, lines->piece);
			trn_tile_load(&op->data, p, first, n, lines->a);
			for (i = 0; i < n; i++)
				if (found < TOP ||
				    key_of(lines->a[i]) > key_of(top[TOP - 1])) {
					insert(top, lines->a[i]);
					found++;
				}
		}
		trn_tile_store(&op->dst, p, 0, TOP, top);
	}
}

enum neuron_cause trn_exec_max8(struct trn_exec *exec)
{
	struct search op;
	enum neuron_cause cause;

	cause = trn_exec_pair(exec, &op.dst, &op.data);
	if (!cause && (op.dst.n != TOP || !data_valid(&op.data)))
		cause = NEURON_CAUSE_OPERAND;
	if (!cause)
		cause = trn_tile_touch(&op.dst);
	if (cause)
		return cause;
	exec->work.n = op.data.n;
	trn_exec_lines(true, max8, &op);
	return NEURON_CAUSE_NONE;
}

/* --- find_index8, match_replace8 --- */

/**
 * struct match - the search for eight values
 * @index: where they are; NOWHERE: not found yet
 * @descending: equal values are looked for from the last one on
 */
struct match {
	float vals[TOP];
	uint32_t index[TOP];
	bool descending;
};

static void match_begin(struct match *match, const struct search *op, unsigned int p)
{
	unsigned int i;

	trn_tile_load(&op->vals, p, 0, TOP, match->vals);
	for (i = 0; i < TOP; i++)
		match->index[i] = NOWHERE;
}

/* The element at @at is that of one value at most: the next that waits for it. */
static bool match_element(struct match *match, float value, size_t at)
{
	unsigned int i, slot;

	for (i = 0; i < TOP; i++) {
		slot = match->descending ? TOP - 1 - i : i;
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

static void find_index8(void *arg, const struct trn_lines *lines)
{
	const struct search *op = arg;
	struct match match = { .descending = false };
	size_t first, i, n;
	unsigned int p;

	for (p = 0; p < op->dst.partitions; p++) {
		match_begin(&match, op, p);
		for (first = 0; first < op->data.n; first += n) {
			n = trn_piece(op->data.n, first, lines->piece);
			trn_tile_load(&op->data, p, first, n, lines->a);
			for (i = 0; i < n; i++)
				match_element(&match, lines->a[i], first + i);
		}
		store_indices(&op->dst, p, &match);
	}
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
	struct search op;
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
	exec->work.n = op.data.n;
	trn_exec_lines(true, find_index8, &op);
	return NEURON_CAUSE_NONE;
}

static void match_replace8(void *arg, const struct trn_lines *lines)
{
	const struct search *op = arg;
	struct match match = { .descending = true };
	size_t first, i, n;
	unsigned int p;

	for (p = 0; p < op->dst.partitions; p++) {
		match_begin(&match, op, p);
		for (first = 0; first < op->data.n; first += n) {
			n = trn_piece(op->data.n, first, lines->piece);
			trn_tile_load(&op->data, p, first, n, lines->a);
			for (i = 0; i < n; i++)
				if (match_element(&match, lines->a[i], first + i))
					lines->a[i] = op->replacement;
			trn_tile_store(&op->dst, p, first, n, lines->a);
		}
		if (op->has_indices)
			store_indices(&op->indices, p, &match);
	}
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
	struct search op;
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
	if (cause)
		return cause;
	trn_exec_lines(trn_tile_piecewise(&op.dst, &op.data), match_replace8, &op);
	return NEURON_CAUSE_NONE;
}
