// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Reductions over the partitions of a tile.
 */
#include "base/trn_chip.h"
#include "exec/trn_exec.h"
#include "num/trn_num.h"

/* Columns that go through all partitions together. Saved places depend on it. */
#define BAND		TRN_LINE_MOST

/**
 * struct reduction - a resolved instruction
 * @exec: whose desk keeps in line 1 what the partitions so far have given, in a band
 * @average: the sum is divided by how many partitions there are
 */
struct reduction {
	const struct trn_exec *exec;
	struct trn_tile dst, src;
	unsigned int op;
	bool bitwise;
	bool average;
};

/**
 * struct place - where a reduction is
 * @band: first column of the band
 * @width: columns of the band
 * @p: partition of the source
 * @at: column in the band
 */
struct place {
	size_t band;
	size_t width;
	unsigned int p;
	size_t at;
};

/* What the band holds so far, from its column @at on: fp32, or integers as they are. */
static void *band_of(const struct reduction *op, size_t at)
{
	return trn_exec_desk(op->exec)->line[1] +
	       at * (op->bitwise ? op->src.size : sizeof(float));
}

static void reduce_raw(const struct reduction *op, const struct place *place, size_t n,
		       const struct trn_lines *lines)
{
	void *band = band_of(op, place->at);
	size_t first = place->band + place->at;

	if (!place->p) {
		trn_tile_load_raw(&op->src, 0, first, n, band);
	} else {
		trn_tile_load_raw(&op->src, place->p, first, n, lines->b);
		trn_alu_bitwise(op->op, band, band, lines->b, op->src.size, n);
	}
	if (place->p == op->src.partitions - 1)
		trn_tile_store_raw(&op->dst, 0, first, n, band);
}

/* Elements of partition @p as fp32: where they lie, or in @buf. */
static const float *numbers(const struct trn_tile *src, unsigned int p, size_t first,
			    size_t n, float *buf)
{
	const void *here = trn_tile_here(src, src->dtype, p, first);

	if (!here) {
		trn_tile_load(src, p, first, n, buf);
		return buf;
	}
	if (src->dtype == NEURON_DTYPE_FP32)
		return here;
	trn_to_fp32(buf, here, src->dtype, n);
	return buf;
}

static void reduce(const struct reduction *op, const struct place *place, size_t n,
		   const struct trn_lines *lines)
{
	float *band = band_of(op, place->at);
	size_t first = place->band + place->at;

	if (!place->p)
		trn_tile_load(&op->src, 0, first, n, band);
	else
		trn_alu_vv(op->op, band, band,
			   numbers(&op->src, place->p, first, n, lines->b), n);
	if (place->p < op->src.partitions - 1)
		return;
	if (op->average)
		trn_alu_vs(NEURON_ALU_DIVIDE, band, band, (float)op->src.partitions,
			   false, n);
	trn_tile_store(&op->dst, 0, first, n, band);
}

/* Where element @first is: all partitions of a band come before the next band. */
static struct place place_of(const struct reduction *op, size_t first)
{
	size_t all = (size_t)BAND * op->src.partitions, rest = first % all;
	struct place place = { .band = first / all * BAND };

	place.width = trn_piece(op->src.n, place.band, BAND);
	place.p = (unsigned int)(rest / place.width);
	place.at = rest % place.width;
	return place;
}

/* To the next partition, and after the last one to the next band. */
static void next_place(const struct reduction *op, struct place *place)
{
	place->at = 0;
	if (++place->p < op->src.partitions)
		return;
	place->p = 0;
	place->band += place->width;
	place->width = trn_piece(op->src.n, place->band, BAND);
}

static void partition_reduce(void *arg, unsigned int p, size_t first, size_t n,
			     const struct trn_lines *lines)
{
	const struct reduction *op = arg;
	struct place place = place_of(op, first);
	size_t part;

	for (; n; n -= part) {
		part = trn_piece(place.width, place.at, n);
		if (op->bitwise)
			reduce_raw(op, &place, part, lines);
		else
			reduce(op, &place, part, lines);
		place.at += part;
		if (place.at == place.width)
			next_place(op, &place);
	}
	(void)p;
}

static bool op_valid(const struct reduction *op)
{
	if (op->bitwise)
		return op->op != NEURON_ALU_BITWISE_XOR &&
		       trn_alu_is_reduction(op->op) &&
		       trn_exec_bitwise_types(&op->dst, &op->src);
	return op->op == NEURON_ALU_ADD || op->op == NEURON_ALU_MAX;
}

enum neuron_cause trn_exec_partition_reduce(struct trn_exec *exec)
{
	struct reduction op = { .exec = exec, .op = exec->inst->op0 };
	struct trn_exec_walk walk = {
		.partitions = 1,
		.limit = BAND,
		.dst = &op.dst,
		.src = { &op.src },
		.piece = partition_reduce,
	};
	enum neuron_cause cause;

	op.average = op.op == NEURON_ALU_AVERAGE;
	if (op.average)
		op.op = NEURON_ALU_ADD;
	op.bitwise = trn_alu_is_bitwise(op.op);
	cause = trn_exec_tile(exec, &exec->inst->dst, &op.dst);
	if (!cause)
		cause = trn_exec_tile(exec, &exec->inst->src0, &op.src);
	if (cause)
		return cause;
	if (op.dst.partitions != 1 || op.dst.n != op.src.n || !op_valid(&op))
		return NEURON_CAUSE_OPERAND;
	trn_exec_note(exec, &op.dst);
	trn_exec_note(exec, &op.src);
	cause = trn_tile_touch(&op.dst);
	if (cause)
		return cause;
	walk.n = (size_t)op.src.n * op.src.partitions;
	/* The destination may lie across any partition of the source. */
	walk.on_desk = !trn_tile_columns_apart(&op.dst, &op.src);
	trn_exec_desk_use(exec, 0, trn_piece(op.src.n, 0, BAND) * sizeof(uint32_t), 0);
	return trn_exec_walk(exec, &walk, &op);
}
