// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Copies with a cast, and fills.
 */
#include <string.h>

#include "trn_exec.h"
#include "trn_num.h"

struct copy {
	struct trn_tile dst, src;
	uint32_t fill;
};

static void copy_raw(void *arg, const struct trn_lines *lines)
{
	const struct copy *op = arg;
	size_t first, n;
	unsigned int p;

	for (p = 0; p < op->dst.partitions; p++) {
		for (first = 0; first < op->dst.n; first += n) {
			n = trn_piece(op->dst.n, first, lines->piece);
			trn_tile_load_raw(&op->src, p, first, n, lines->a);
			trn_tile_store_raw(&op->dst, p, first, n, lines->a);
		}
	}
}

/* What is loaded is fp32 already: the destination, if it may lie there at once. */
static float *wide_room(const struct copy *op, unsigned int p, size_t first)
{
	return trn_tile_here(&op->dst, NEURON_DTYPE_FP32, p, first);
}

static void copy_cast(void *arg, const struct trn_lines *lines)
{
	const struct copy *op = arg;
	size_t first, n;
	const float *x;
	unsigned int p;
	float *out;

	for (p = 0; p < op->dst.partitions; p++) {
		for (first = 0; first < op->dst.n; first += n) {
			n = trn_piece(op->dst.n, first, lines->piece);
			out = lines->direct ? wide_room(op, p, first) : NULL;
			if (out) {
				trn_tile_load(&op->src, p, first, n, out);
				continue;
			}
			x = trn_lines_load(lines, &op->src, p, first, n, lines->a);
			trn_tile_store(&op->dst, p, first, n, x);
		}
	}
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
	enum neuron_cause cause;

	cause = copy_operands(exec, &op);
	if (!cause)
		cause = trn_tile_touch(&op.dst);
	if (cause)
		return cause;
	trn_exec_lines(trn_tile_piecewise(&op.dst, &op.src),
		       raw ? copy_raw : copy_cast, &op);
	return NEURON_CAUSE_NONE;
}

static void memset_lines(void *arg, const struct trn_lines *lines)
{
	const struct copy *op = arg;
	size_t i, first, n = trn_piece(op->dst.n, 0, lines->piece);
	uint8_t *line = (uint8_t *)lines->a;
	uint64_t value = 0;
	unsigned int p;

	trn_tile_constant(&op->dst, op->fill, &value);
	for (i = 0; i < n; i++)
		memcpy(line + i * op->dst.size, &value, op->dst.size);
	for (p = 0; p < op->dst.partitions; p++)
		for (first = 0; first < op->dst.n; first += n) {
			n = trn_piece(op->dst.n, first, lines->piece);
			trn_tile_store_raw(&op->dst, p, first, n, line);
		}
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
	struct copy op = { .fill = exec->inst->imm0 };
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
	trn_exec_lines(true, memset_lines, &op);
	return NEURON_CAUSE_NONE;
}
