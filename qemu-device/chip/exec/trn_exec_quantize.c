// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Quantising to microscaling tiles.
 */
#include "exec/trn_exec.h"
#include "num/trn_num.h"

#define QUADRANT	32
#define PIECE		64	/* groups that are worked on at a time */

/* @row: of each 32 partitions of the scales, the first of the four in use */
struct quantization {
	struct trn_tile dst, src, scale;
	unsigned int row;
};

/* The groups @first to @first + @n, n <= PIECE, of partitions @p to @p + 7. */
static void quantize_rows(void *arg, unsigned int p, size_t first, size_t n,
			  const struct trn_lines *lines)
{
	const struct quantization *op = arg;
	unsigned int scale_row = p / QUADRANT * QUADRANT + op->row +
				 p % QUADRANT / TRN_MX_ROWS;
	float in[TRN_MX_ROWS][TRN_MX_PACK * PIECE];
	uint32_t out[TRN_MX_ROWS][PIECE];
	const float *from[TRN_MX_ROWS];
	uint32_t *to[TRN_MX_ROWS];
	uint8_t scale[PIECE];
	unsigned int i;

	(void)lines;
	for (i = 0; i < TRN_MX_ROWS; i++) {
		from[i] = in[i];
		to[i] = out[i];
		trn_tile_load(&op->src, p + i, TRN_MX_PACK * first, TRN_MX_PACK * n, in[i]);
	}
	trn_mx_quantize(to, scale, op->dst.dtype, from, n);
	for (i = 0; i < TRN_MX_ROWS; i++)
		trn_tile_store_raw(&op->dst, p + i, first, n, out[i]);
	trn_tile_store_raw(&op->scale, scale_row, first, n, scale);
}

static enum neuron_cause quantize_tiles(struct trn_exec *exec,
					struct quantization *op)
{
	const struct neuron_inst *inst = exec->inst;
	enum neuron_cause cause;

	cause = trn_exec_tile_raw(exec, &inst->dst, &op->dst);
	if (!cause)
		cause = trn_exec_tile(exec, &inst->src0, &op->src);
	if (!cause)
		cause = trn_exec_tile_raw(exec, &inst->src1, &op->scale);
	if (cause)
		return cause;
	trn_exec_note(exec, &op->src);
	return op->dst.psum || op->src.psum || op->scale.psum ?
	       NEURON_CAUSE_OPERAND : NEURON_CAUSE_NONE;
}

static bool types_valid(const struct quantization *op)
{
	return (op->dst.dtype == NEURON_DTYPE_FP8_E4FN_X4 ||
		op->dst.dtype == NEURON_DTYPE_FP8_E5_X4) &&
	       (op->src.dtype == NEURON_DTYPE_FP16 ||
		op->src.dtype == NEURON_DTYPE_BF16) &&
	       (op->scale.dtype == NEURON_DTYPE_E8M0 ||
		op->scale.dtype == NEURON_DTYPE_UINT8);
}

static bool shapes_valid(const struct quantization *op)
{
	return op->src.partitions % QUADRANT == 0 &&
	       op->dst.partitions == op->src.partitions &&
	       op->scale.partitions == op->src.partitions &&
	       op->src.n == TRN_MX_PACK * op->dst.n && op->scale.n == op->dst.n &&
	       op->row <= 12 && op->row % TRN_MX_PACK == 0 &&
	       trn_tile_disjoint(&op->dst, &op->src) &&
	       trn_tile_disjoint(&op->scale, &op->src) &&
	       trn_tile_disjoint(&op->scale, &op->dst);
}

enum neuron_cause trn_exec_quantize_mx(struct trn_exec *exec)
{
	struct quantization op = { .row = exec->inst->imm0 };
	struct trn_exec_walk walk = {
		.stride = TRN_MX_ROWS,
		.src = { &op.src, &op.dst, &op.scale },
		.heavy = true,
		.depth = TRN_MX_ROWS * TRN_MX_PACK,
		.piece = quantize_rows,
	};
	enum neuron_cause cause;

	cause = quantize_tiles(exec, &op);
	if (!cause && (!types_valid(&op) || !shapes_valid(&op)))
		cause = NEURON_CAUSE_OPERAND;
	if (!cause)
		cause = trn_tile_touch(&op.dst);
	if (!cause)
		cause = trn_tile_touch(&op.scale);
	if (cause)
		return cause;
	walk.partitions = op.src.partitions;
	walk.n = op.dst.n;
	walk.limit = trn_tile_weight(&op.src, true) == TRN_WEIGHT_SLOW ? PIECE / 2 : PIECE;
	return trn_exec_walk(exec, &walk, &op);
}
