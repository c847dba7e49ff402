// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Copies with a cast, and fills.
 */
#include <string.h>

#include "exec/trn_exec.h"
#include "num/trn_num.h"

/* @fill, @line: the value of a memset, and a piece full of it */
struct copy {
	struct trn_tile dst, src;
	uint32_t fill;
	const uint8_t *line;
};

static void copy_raw(void *arg, unsigned int p, size_t first, size_t n,
		     const struct trn_lines *lines)
{
	const struct copy *op = arg;

	trn_tile_load_raw(&op->src, p, first, n, lines->a);
	trn_tile_store_raw(&op->dst, p, first, n, lines->a);
}

/* What is loaded is fp32 already: the destination, if it may lie there at once. */
static void copy_cast(void *arg, unsigned int p, size_t first, size_t n,
		      const struct trn_lines *lines)
{
	const struct copy *op = arg;
	float *out = trn_tile_here(&op->dst, NEURON_DTYPE_FP32, p, first);

	if (out)
		trn_tile_load(&op->src, p, first, n, out);
	else
		trn_tile_store(&op->dst, p, first, n,
			       trn_tile_view(&op->src, p, first, n, lines->a));
}

static void copy_raw_rows(void *arg, unsigned int p, unsigned int end,
			  const struct trn_lines *lines)
{
	const struct copy *op = arg;

	for (; p < end; p++)
		copy_raw(arg, p, 0, op->dst.n, lines);
}

static void copy_cast_rows(void *arg, unsigned int p, unsigned int end,
			   const struct trn_lines *lines)
{
	const struct copy *op = arg;
	uint8_t *out = trn_tile_here(&op->dst, NEURON_DTYPE_FP32, p, 0);

	for (; !out && p < end; p++)
		trn_tile_store(&op->dst, p, 0, op->dst.n,
			       trn_tile_view(&op->src, p, 0, op->dst.n, lines->a));
	for (; p < end; p++, out += op->dst.stride)
		trn_tile_load(&op->src, p, 0, op->dst.n, (float *)(void *)out);
}

/* Nothing is converted; the scalar engine of NeuronCore-v2 always goes through fp32. */
static bool copies_bits(const struct trn_exec *exec)
{
	return exec->inst->dst.dtype == exec->inst->src0.dtype &&
	       !trn_exec_before(exec, NEURON_ENGINE_SCALAR, 3);
}

/* Bits may be of any type that there is. */
static enum neuron_cause copy_operands(struct trn_exec *exec, struct copy *op)
{
	enum neuron_cause cause;

	if (!copies_bits(exec))
		return trn_exec_equal_pair(exec, &op->dst, &op->src);
	cause = trn_exec_tile_raw(exec, &exec->inst->dst, &op->dst);
	if (!cause)
		cause = trn_exec_tile_raw(exec, &exec->inst->src0, &op->src);
	if (cause)
		return cause;
	if (op->dst.partitions != op->src.partitions || op->dst.n != op->src.n)
		return NEURON_CAUSE_OPERAND;
	trn_exec_note(exec, &op->dst);
	trn_exec_note(exec, &op->src);
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_exec_copy(struct trn_exec *exec)
{
	bool raw = copies_bits(exec);
	struct copy op;
	struct trn_exec_walk walk = { .dst = &op.dst, .src = { &op.src } };
	enum neuron_cause cause;

	cause = copy_operands(exec, &op);
	if (!cause)
		cause = trn_tile_touch(&op.dst);
	if (cause)
		return cause;
	walk.piece = raw ? copy_raw : copy_cast;
	walk.rows = raw ? copy_raw_rows : copy_cast_rows;
	return trn_exec_walk_tile(exec, &walk, &op);
}

/* Elements of one value, in as many bytes as a piece of the widest type has. */
static void fill_line(const struct copy *op, uint8_t *line, size_t n)
{
	unsigned int size = op->dst.size;
	uint64_t value = 0;
	size_t i;

	trn_tile_constant(&op->dst, op->fill, &value);
	for (i = 0; i < n; i++)
		memcpy(line + i * size, &value, size);
}

static void memset_piece(void *arg, unsigned int p, size_t first, size_t n,
			 const struct trn_lines *lines)
{
	const struct copy *op = arg;

	(void)lines;
	trn_tile_store_raw(&op->dst, p, first, n, op->line);
}

static void memset_rows(void *arg, unsigned int p, unsigned int end,
			const struct trn_lines *lines)
{
	const struct copy *op = arg;

	for (; p < end; p++)
		memset_piece(arg, p, 0, op->dst.n, lines);
}

/* A number is rounded as this engine does it; of the other types bits are set. */
static enum neuron_cause fill_tile(struct trn_exec *exec, struct trn_tile *tile)
{
	const struct neuron_ap *ap = &exec->inst->dst;

	return trn_dtype_is_number(ap->dtype) ? trn_exec_tile(exec, ap, tile) :
						trn_exec_tile_raw(exec, ap, tile);
}

enum neuron_cause trn_exec_memset(struct trn_exec *exec)
{
	_Alignas(64) uint8_t line[TRN_LINE_PIECE * sizeof(uint64_t)];
	struct copy op = { .fill = exec->inst->imm0, .line = line };
	struct trn_exec_walk walk = {
		.dst = &op.dst,
		.piece = memset_piece,
		.rows = memset_rows,
	};
	enum neuron_cause cause;

	cause = fill_tile(exec, &op.dst);
	if (cause)
		return cause;
	if (trn_dtype_is_packed(op.dst.dtype) && op.fill)
		return NEURON_CAUSE_OPERAND;
	trn_exec_note(exec, &op.dst);
	cause = trn_tile_touch(&op.dst);
	if (cause)
		return cause;
	fill_line(&op, line, trn_piece(op.dst.n, 0, TRN_LINE_PIECE));
	return trn_exec_walk_tile(exec, &walk, &op);
}
