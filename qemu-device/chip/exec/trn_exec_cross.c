// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Data that changes partitions: inside a quadrant of 32, or into the free dimension.
 */
#include <string.h>

#include "exec/trn_exec.h"
#include "num/trn_num.h"

#define QUADRANT	32
#define MASK_KEEP	255	/* the partition is left as it is */

/* @apart: the source's lines lie where they are read, and nothing that is written changes them */
struct cross {
	struct trn_tile dst, src;
	bool apart;
	uint8_t mask[NEURON_INST_MASK];
};

/* Elements of a line, of a quadrant's, that the buffers take, and that go without buffers. */
#define ROOM	(2 * TRN_LINE_PIECE / QUADRANT)
#define LINE	256

/* Types and numbers that both instructions need; raw bits move. */
static enum neuron_cause cross_tiles(struct trn_exec *exec, struct cross *op)
{
	enum neuron_cause cause;

	cause = trn_exec_tile(exec, &exec->inst->dst, &op->dst);
	if (!cause)
		cause = trn_exec_tile(exec, &exec->inst->src0, &op->src);
	if (cause)
		return cause;
	trn_exec_note(exec, &op->dst);
	trn_exec_note(exec, &op->src);
	return op->dst.dtype == op->src.dtype ? NEURON_CAUSE_NONE : NEURON_CAUSE_OPERAND;
}

/* --- stream_shuffle --- */

/* The source of partition @p of the destination, or -1. */
static int shuffle_source(const struct cross *op, unsigned int p)
{
	uint8_t from = op->mask[p % QUADRANT];

	return from == MASK_KEEP ? -1 : (int)(p - p % QUADRANT + from);
}

static void shuffle_apart(void *arg, unsigned int start, size_t first, size_t n,
			  const struct trn_lines *lines)
{
	const struct cross *op = arg;
	unsigned int end = start + QUADRANT, p;
	int from;

	(void)lines;
	if (end > op->dst.partitions)
		end = op->dst.partitions;
	for (p = start; p < end; p++) {
		from = shuffle_source(op, p);
		if (from >= 0)
			trn_tile_store_raw(&op->dst, p, first, n,
					   trn_tile_here(&op->src, op->src.dtype,
							 (unsigned int)from, first));
	}
}

/* Pieces of a quadrant's lines are all read before one of them is written. */
static void shuffle_quadrant(void *arg, unsigned int start, size_t first, size_t n,
			     const struct trn_lines *lines)
{
	const struct cross *op = arg;
	unsigned int end = start + QUADRANT, p;
	int from;

	if (end > op->dst.partitions)
		end = op->dst.partitions;
	for (p = start; p < end; p++) {
		from = shuffle_source(op, p);
		if (from >= 0)
			trn_tile_load_raw(&op->src, (unsigned int)from, first, n,
					  lines->a + (p - start) * ROOM);
	}
	for (p = start; p < end; p++)
		if (shuffle_source(op, p) >= 0)
			trn_tile_store_raw(&op->dst, p, first, n,
					   lines->a + (p - start) * ROOM);
}

static enum neuron_cause shuffle_walk(struct trn_exec *exec, struct cross *op)
{
	bool slow = trn_tile_weight(&op->dst, true) == TRN_WEIGHT_SLOW ||
		    trn_tile_weight(&op->src, true) == TRN_WEIGHT_SLOW;
	struct trn_exec_walk walk = {
		.partitions = op->dst.partitions,
		.stride = QUADRANT,
		.n = op->dst.n,
		.src = { &op->src, &op->dst },
		.heavy = !op->apart,
		.limit = op->apart ? LINE : slow ? ROOM / 2 : ROOM,
		.depth = QUADRANT,
		.piece = op->apart ? shuffle_apart : shuffle_quadrant,
	};

	return trn_exec_walk(exec, &walk, op);
}

static bool mask_valid(const struct cross *op)
{
	unsigned int p;

	for (p = 0; p < NEURON_INST_MASK; p++)
		if (op->mask[p] >= QUADRANT && op->mask[p] != MASK_KEEP)
			return false;
	for (p = 0; p < op->dst.partitions; p++)
		if (shuffle_source(op, p) >= (int)op->src.partitions)
			return false;
	return true;
}

/* Both tiles begin where the larger one, in whole quadrants, may. */
static bool starts_valid(const struct trn_exec *exec, const struct cross *op)
{
	unsigned int dst = NEURON_GET(NEURON_AP_PARTITION, exec->inst->dst.addr);
	unsigned int src = NEURON_GET(NEURON_AP_PARTITION, exec->inst->src0.addr);
	unsigned int active = op->dst.partitions > op->src.partitions ?
			      op->dst.partitions : op->src.partitions;

	if (active > 2 * QUADRANT)
		return dst == 0 && src == 0;
	if (active > QUADRANT)
		return dst % (2 * QUADRANT) == 0 && src % (2 * QUADRANT) == 0;
	return true;
}

enum neuron_cause trn_exec_stream_shuffle(struct trn_exec *exec)
{
	struct cross op;
	enum neuron_cause cause;

	trn_isa_mask(exec->inst, op.mask);
	cause = cross_tiles(exec, &op);
	if (cause)
		return cause;
	if (op.dst.n != op.src.n || !starts_valid(exec, &op) || !mask_valid(&op) ||
	    !trn_tile_piecewise(&op.dst, &op.src))
		return NEURON_CAUSE_OPERAND;
	op.apart = trn_tile_columns_apart(&op.dst, &op.src) &&
		   trn_tile_here(&op.src, op.src.dtype, 0, 0);
	cause = trn_tile_touch(&op.dst);
	return cause ? cause : shuffle_walk(exec, &op);
}

/* --- transpose --- */

static void transpose(const struct cross *op)
{
	uint32_t in[QUADRANT][QUADRANT], line[QUADRANT];
	const unsigned int size = op->src.size;
	unsigned int p, i;

	for (p = 0; p < op->src.partitions; p++)
		trn_tile_load_raw(&op->src, p, 0, op->src.n, in[p]);
	for (i = 0; i < op->dst.partitions; i++) {
		for (p = 0; p < op->src.partitions; p++)
			memcpy((uint8_t *)line + p * size,
			       (const uint8_t *)in[p] + i * size, size);
		trn_tile_store_raw(&op->dst, i, 0, op->dst.n, line);
	}
}

enum neuron_cause trn_exec_transpose(struct trn_exec *exec)
{
	struct cross op;
	enum neuron_cause cause;

	cause = cross_tiles(exec, &op);
	if (cause)
		return cause;
	if (op.src.partitions > QUADRANT || op.src.n > QUADRANT ||
	    op.dst.partitions != op.src.n || op.dst.n != op.src.partitions)
		return NEURON_CAUSE_OPERAND;
	cause = trn_tile_touch(&op.dst);
	if (cause)
		return cause;
	transpose(&op);
	return NEURON_CAUSE_NONE;
}
