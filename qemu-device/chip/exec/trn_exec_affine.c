// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Numbers that depend on an element's place: written down, or compared with 0 to
 * select. All of them are computed in 32 bits and wrap.
 */
#include <string.h>

#include "exec/trn_exec.h"
#include "num/trn_num.h"

/**
 * struct affine - a resolved instruction
 * @step: of the dimensions of @dst, the innermost first
 * @fill, @raw_fill: where the selection fails, as a number and as an element of @dst
 */
struct affine {
	const struct neuron_inst *inst;
	struct trn_tile dst, src;
	uint32_t step[4];
	float fill;
	uint32_t raw_fill;
};

static void affine_init(struct affine *op, const struct neuron_inst *inst)
{
	op->inst = inst;
	memcpy(op->step, &inst->src1, sizeof(op->step));
}

/* Elements [@first, @first + @n) of partition @p. */
static void affine_line(const struct affine *op, unsigned int p, size_t first,
			size_t n, uint32_t *line)
{
	uint32_t start = op->inst->imm0 + p * op->inst->imm1;
	size_t pos[4], rest = first, i;
	unsigned int d;

	for (d = 0; d < 4; d++) {
		pos[d] = rest % op->dst.num[d];
		rest /= op->dst.num[d];
	}
	for (i = 0; i < n; i++) {
		line[i] = start;
		for (d = 0; d < 4; d++)
			line[i] += (uint32_t)pos[d] * op->step[d];
		for (d = 0; d < 4 && ++pos[d] == op->dst.num[d]; d++)
			pos[d] = 0;
	}
}

/* --- iota --- */

static void iota(void *arg, unsigned int p, size_t first, size_t n,
		 const struct trn_lines *lines)
{
	const struct affine *op = arg;

	affine_line(op, p, first, n, (uint32_t *)lines->b);
	if (op->dst.dtype == NEURON_DTYPE_INT32 || op->dst.dtype == NEURON_DTYPE_UINT32) {
		trn_tile_store_raw(&op->dst, p, first, n, lines->b);
		return;
	}
	trn_to_fp32(lines->a, lines->b, NEURON_DTYPE_INT32, n);
	trn_tile_store(&op->dst, p, first, n, lines->a);
}

enum neuron_cause trn_exec_iota(struct trn_exec *exec)
{
	enum neuron_cause cause;
	struct affine op;
	struct trn_exec_walk walk = { .dst = &op.dst, .heavy = true, .piece = iota };

	affine_init(&op, exec->inst);
	cause = trn_exec_tile(exec, &exec->inst->dst, &op.dst);
	if (cause)
		return cause;
	trn_exec_note(exec, &op.dst);
	cause = trn_tile_touch(&op.dst);
	return cause ? cause : trn_exec_walk_tile(exec, &walk, &op);
}

/* --- affine_select --- */

static bool compare(unsigned int op, int32_t value)
{
	switch (op) {
	case NEURON_ALU_IS_EQ:
		return value == 0;
	case NEURON_ALU_IS_NE:
		return value != 0;
	case NEURON_ALU_IS_GE:
		return value >= 0;
	case NEURON_ALU_IS_GT:
		return value > 0;
	case NEURON_ALU_IS_LE:
		return value <= 0;
	default:	/* IS_LT: the check let no other one through */
		return value < 0;
	}
}

/* Put @op's fill, of @size bytes, where the numbers in b fail the comparison. */
static void replace(const struct affine *op, const struct trn_lines *lines,
		    const void *fill, size_t size, size_t n)
{
	const uint32_t *number = (const uint32_t *)lines->b;
	uint8_t *line = (uint8_t *)lines->a;
	size_t i;

	for (i = 0; i < n; i++)
		if (!compare(op->inst->op0, (int32_t)number[i]))
			memcpy(line + i * size, fill, size);
}

static void affine_select(void *arg, unsigned int p, size_t first, size_t n,
			  const struct trn_lines *lines)
{
	const struct affine *op = arg;

	affine_line(op, p, first, n, (uint32_t *)lines->b);
	if (op->dst.dtype == op->src.dtype) {
		trn_tile_load_raw(&op->src, p, first, n, lines->a);
		replace(op, lines, &op->raw_fill, op->dst.size, n);
		trn_tile_store_raw(&op->dst, p, first, n, lines->a);
		return;
	}
	trn_tile_load(&op->src, p, first, n, lines->a);
	replace(op, lines, &op->fill, sizeof(op->fill), n);
	trn_tile_store(&op->dst, p, first, n, lines->a);
}

enum neuron_cause trn_exec_affine_select(struct trn_exec *exec)
{
	uint32_t fill = (uint32_t)exec->inst->addr;
	enum neuron_cause cause;
	struct affine op;
	struct trn_exec_walk walk = {
		.dst = &op.dst,
		.src = { &op.src },
		.heavy = true,
		.piece = affine_select,
	};

	affine_init(&op, exec->inst);
	memcpy(&op.fill, &fill, sizeof(op.fill));
	cause = trn_exec_pair(exec, &op.dst, &op.src);
	if (cause)
		return cause;
	if (op.dst.n != op.src.n)
		return NEURON_CAUSE_OPERAND;
	cause = trn_tile_touch(&op.dst);
	if (cause)
		return cause;
	op.raw_fill = 0;
	trn_from_fp32(&op.raw_fill, &op.fill, op.dst.dtype, 1);
	return trn_exec_walk_tile(exec, &walk, &op);
}
