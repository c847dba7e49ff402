// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The tensor engine: load the stationary operand, multiply the moving one.
 */
#include "trn_exec.h"
#include "trn_num.h"

#define ARRAY_SIZE	128
#define MOVING_MAX	512
#define COLUMNS		128	/* of the moving operand, widened at a time */
#define ROWS		16	/* of a strided result, worked on at a time */

static bool type_valid(unsigned int dtype)
{
	return dtype == NEURON_DTYPE_FP32 || dtype == NEURON_DTYPE_BF16 ||
	       dtype == NEURON_DTYPE_FP16;
}

static enum neuron_cause operand_tile(struct trn_exec *exec, unsigned int max,
				      struct trn_tile *tile)
{
	enum neuron_cause cause;

	cause = trn_exec_tile(exec, &exec->inst->src0, tile);
	if (cause)
		return cause;
	if (tile->psum || tile->n > max || !type_valid(tile->dtype))
		return NEURON_CAUSE_OPERAND;
	trn_exec_note(exec, tile);
	exec->work.fp32 = tile->dtype == NEURON_DTYPE_FP32;
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_exec_load_stationary(struct trn_exec *exec)
{
	struct trn_pe_array *array = exec->core->array;
	struct trn_tile tile;
	enum neuron_cause cause;
	unsigned int k;

	cause = operand_tile(exec, ARRAY_SIZE, &tile);
	if (cause)
		return cause;
	for (k = 0; k < tile.partitions; k++)
		trn_tile_load(&tile, k, 0, tile.n, array->weight[k]);
	array->k = tile.partitions;
	array->m = tile.n;
	array->dtype = (uint8_t)tile.dtype;
	return NEURON_CAUSE_NONE;
}

/* One block of columns into a result whose lines are contiguous. */
static void multiply_dense(const struct trn_exec *exec,
			   const struct trn_tile *dst, size_t first, size_t count,
			   const float *moving)
{
	const struct trn_pe_array *array = exec->core->array;
	float *out = (float *)(void *)dst->base + first;

	trn_matmul(out, dst->stride / sizeof(float), array->weight[0], ARRAY_SIZE,
		   moving, COLUMNS, array->k, array->m, (unsigned int)count,
		   exec->inst->flags & NEURON_INST_ACCUMULATE);
}

static void multiply_strided(const struct trn_exec *exec,
			     const struct trn_tile *dst, size_t first,
			     size_t count, const float *moving)
{
	const struct trn_pe_array *array = exec->core->array;
	bool accumulate = exec->inst->flags & NEURON_INST_ACCUMULATE;
	float block[ROWS][COLUMNS];
	unsigned int m, i, rows;

	for (m = 0; m < array->m; m += rows) {
		rows = array->m - m < ROWS ? array->m - m : ROWS;
		for (i = 0; accumulate && i < rows; i++)
			trn_tile_load(dst, m + i, first, count, block[i]);
		trn_matmul(block[0], COLUMNS, &array->weight[0][m], ARRAY_SIZE,
			   moving, COLUMNS, array->k, rows, (unsigned int)count,
			   accumulate);
		for (i = 0; i < rows; i++)
			trn_tile_store(dst, m + i, first, count, block[i]);
	}
}

static void multiply(const struct trn_exec *exec, const struct trn_tile *dst,
		     const struct trn_tile *src)
{
	float moving[ARRAY_SIZE][COLUMNS];
	size_t first, count;
	unsigned int k;

	for (first = 0; first < src->n; first += count) {
		count = src->n - first < COLUMNS ? src->n - first : COLUMNS;
		for (k = 0; k < src->partitions; k++)
			trn_tile_load(src, k, first, count, moving[k]);
		if (dst->contiguous)
			multiply_dense(exec, dst, first, count, moving[0]);
		else
			multiply_strided(exec, dst, first, count, moving[0]);
	}
}

enum neuron_cause trn_exec_matmul(struct trn_exec *exec)
{
	const struct trn_pe_array *array = exec->core->array;
	struct trn_tile dst, src;
	enum neuron_cause cause;
	bool loaded_fp32;

	cause = operand_tile(exec, MOVING_MAX, &src);
	if (cause)
		return cause;
	cause = trn_exec_tile(exec, &exec->inst->dst, &dst);
	if (cause)
		return cause;
	loaded_fp32 = array->dtype == NEURON_DTYPE_FP32;
	if (!dst.psum || dst.dtype != NEURON_DTYPE_FP32 || dst.n != src.n ||
	    dst.partitions != array->m || src.partitions != array->k ||
	    loaded_fp32 != exec->work.fp32)
		return NEURON_CAUSE_OPERAND;
	cause = trn_tile_touch(&dst);
	if (cause)
		return cause;
	multiply(exec, &dst, &src);
	return NEURON_CAUSE_NONE;
}
