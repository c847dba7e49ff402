// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Elements that are taken or not: by a predicate, by their index.
 */
#include <float.h>
#include <string.h>

#include "trn_exec.h"
#include "trn_num.h"

struct selection {
	struct trn_exec *exec;
	struct trn_tile dst, src, predicate;
	struct trn_scalar s0, s1;
	bool reverse;
	uint32_t fill;		/* an element of the destination */
};

/* Element @i of a line of raw integers is true. */
static bool is_true(const void *line, unsigned int size, size_t i)
{
	const uint8_t *element = (const uint8_t *)line + i * size;
	unsigned int bits = 0;

	while (size--)
		bits |= element[size];
	return bits;
}

static bool taken(const struct selection *op, const void *line, size_t i)
{
	return is_true(line, op->predicate.size, i) != op->reverse;
}

/* --- copy_predicated --- */

/* Nothing is written where the predicate does not hold: runs of elements. */
static void store_taken(const struct selection *op, unsigned int p, size_t first,
			size_t n, const struct trn_lines *lines)
{
	const uint8_t *from = (const uint8_t *)lines->a;
	size_t i = 0, end;

	while (i < n) {
		if (!taken(op, lines->b, i)) {
			i++;
			continue;
		}
		for (end = i + 1; end < n && taken(op, lines->b, end); end++)
			;
		trn_tile_store_raw(&op->dst, p, first + i, end - i,
				   from + i * op->dst.size);
		i = end;
	}
}

static void fill_line(const struct selection *op, void *line, size_t n)
{
	uint8_t *to = line;
	size_t i;

	for (i = 0; i < n; i++)
		memcpy(to + i * op->dst.size, &op->fill, op->dst.size);
}

static void copy_predicated(void *arg, const struct trn_lines *lines)
{
	const struct selection *op = arg;
	bool number = op->exec->inst->flags & NEURON_INST_IMM;
	size_t first, n;
	unsigned int p;

	if (number)
		fill_line(op, lines->a, trn_piece(op->dst.n, 0, lines->piece));
	for (p = 0; p < op->dst.partitions; p++) {
		for (first = 0; first < op->dst.n; first += n) {
			n = trn_piece(op->dst.n, first, lines->piece);
			if (!number)
				trn_tile_load_raw(&op->src, p, first, n, lines->a);
			trn_tile_load_raw(&op->predicate, p, first, n, lines->b);
			store_taken(op, p, first, n, lines);
		}
	}
}

static enum neuron_cause number_operand(struct trn_exec *exec, struct selection *op)
{
	enum neuron_cause cause;

	cause = trn_exec_tile(exec, &exec->inst->dst, &op->dst);
	if (cause)
		return cause;
	trn_exec_note(exec, &op->dst);
	trn_tile_constant(&op->dst, exec->inst->imm0, &op->fill);
	/* Nothing is read from it; so it is in nobody's way. */
	op->src = op->dst;
	op->src.psum = false;
	return NEURON_CAUSE_NONE;
}

static bool predicate_valid(const struct trn_tile *tile)
{
	return tile->dtype == NEURON_DTYPE_UINT8 || tile->dtype == NEURON_DTYPE_UINT16 ||
	       tile->dtype == NEURON_DTYPE_UINT32;
}

enum neuron_cause trn_exec_copy_predicated(struct trn_exec *exec)
{
	bool number = exec->inst->flags & NEURON_INST_IMM;
	struct selection op = {
		.exec = exec,
		.reverse = exec->inst->flags & NEURON_INST_REVERSE0,
	};
	enum neuron_cause cause;

	cause = number ? number_operand(exec, &op) :
			 trn_exec_equal_pair(exec, &op.dst, &op.src);
	if (!cause)
		cause = trn_exec_second(exec, &op.dst, &op.src, &op.predicate);
	if (cause)
		return cause;
	if (op.src.dtype != op.dst.dtype || !predicate_valid(&op.predicate))
		return NEURON_CAUSE_OPERAND;
	cause = trn_tile_touch(&op.dst);
	if (cause)
		return cause;
	trn_exec_lines((number || trn_tile_piecewise(&op.dst, &op.src)) &&
		       trn_tile_piecewise(&op.dst, &op.predicate),
		       copy_predicated, &op);
	return NEURON_CAUSE_NONE;
}

/* --- select_reduce --- */

static void select_reduce(void *arg, const struct trn_lines *lines)
{
	const struct selection *op = arg;
	size_t first, i, n;
	unsigned int p;

	for (p = 0; p < op->dst.partitions; p++) {
		float other = trn_scalar_at(&op->s0, p);

		for (first = 0; first < op->dst.n; first += n) {
			n = trn_piece(op->dst.n, first, lines->piece);
			trn_tile_load(&op->src, p, first, n, lines->a);
			trn_tile_load_raw(&op->predicate, p, first, n, lines->b);
			for (i = 0; i < n; i++)
				if (!taken(op, lines->b, i))
					lines->a[i] = other;
			trn_exec_acc_line(op->exec, p, lines->a, n);
			trn_tile_store(&op->dst, p, first, n, lines->a);
		}
	}
}

/* The maximum is the only reduction of these two instructions. */
static bool reduction_valid(const struct neuron_inst *inst)
{
	return inst->op2 == NEURON_ALU_BYPASS || inst->op2 == NEURON_ALU_MAX;
}

static bool select_types_valid(const struct selection *op)
{
	return op->src.dtype != NEURON_DTYPE_TF32 &&
	       op->src.dtype != NEURON_DTYPE_INT32 &&
	       op->src.dtype != NEURON_DTYPE_UINT32 &&
	       trn_dtype_is_int(op->predicate.dtype) && op->predicate.size <= 2;
}

enum neuron_cause trn_exec_select_reduce(struct trn_exec *exec)
{
	struct selection op = {
		.exec = exec,
		.reverse = exec->inst->flags & NEURON_INST_REVERSE0,
	};
	enum neuron_cause cause;

	if (!reduction_valid(exec->inst))
		return NEURON_CAUSE_OPERAND;
	cause = trn_exec_equal_pair(exec, &op.dst, &op.src);
	if (!cause)
		cause = trn_exec_second(exec, &op.dst, &op.src, &op.predicate);
	if (!cause && !select_types_valid(&op))
		cause = NEURON_CAUSE_OPERAND;
	if (!cause)
		cause = trn_exec_scalar(exec, 0, op.dst.partitions, &op.s0);
	if (!cause)
		cause = trn_tile_touch(&op.dst);
	if (!cause)
		cause = trn_exec_acc_begin(exec, op.dst.partitions);
	if (cause)
		return cause;
	trn_exec_lines(trn_tile_piecewise(&op.dst, &op.src) &&
		       trn_tile_piecewise(&op.dst, &op.predicate),
		       select_reduce, &op);
	return NEURON_CAUSE_NONE;
}

/* --- range_select --- */

#define BLOCK		256
#define INDEX_LIMIT	(1 << 24)

/* Elements @first to @first + @n, n <= BLOCK, of a line that begin at @a. */
static void range_block(const struct selection *op, float *a, size_t first, size_t n,
			float bound0, float bound1)
{
	const struct neuron_inst *inst = op->exec->inst;
	int32_t start = (int32_t)(uint32_t)inst->addr;
	float index[BLOCK], mask[BLOCK];
	size_t i;

	for (i = 0; i < n; i++)
		index[i] = (float)(start + (int32_t)(first + i));
	trn_alu_vs(inst->op0, mask, index, bound0, false, n);
	trn_alu_vs(inst->op1, index, index, bound1, false, n);
	for (i = 0; i < n; i++)
		if (mask[i] == 0.0f || index[i] == 0.0f)
			a[i] = -FLT_MAX;
}

static void range_select(void *arg, const struct trn_lines *lines)
{
	const struct selection *op = arg;
	size_t first, i, n, part;
	unsigned int p;

	for (p = 0; p < op->dst.partitions; p++) {
		float bound0 = trn_scalar_at(&op->s0, p);
		float bound1 = trn_scalar_at(&op->s1, p);

		for (first = 0; first < op->dst.n; first += n) {
			n = trn_piece(op->dst.n, first, lines->piece);
			trn_tile_load(&op->src, p, first, n, lines->a);
			for (i = 0; i < n; i += part) {
				part = trn_piece(n, i, BLOCK);
				range_block(op, lines->a + i, first + i, part,
					    bound0, bound1);
			}
			trn_exec_acc_line(op->exec, p, lines->a, n);
			trn_tile_store(&op->dst, p, first, n, lines->a);
		}
	}
}

/* Every index is an fp32 number. */
static bool indices_exact(const struct neuron_inst *inst, uint32_t n)
{
	int64_t start = (int32_t)(uint32_t)inst->addr;

	return start >= -INDEX_LIMIT && start + n - 1 <= INDEX_LIMIT;
}

enum neuron_cause trn_exec_range_select(struct trn_exec *exec)
{
	const struct neuron_inst *inst = exec->inst;
	struct selection op = { .exec = exec };
	enum neuron_cause cause;

	if (!reduction_valid(inst) || inst->op0 == NEURON_ALU_IS_NE ||
	    inst->op1 == NEURON_ALU_IS_NE)
		return NEURON_CAUSE_OPERAND;
	cause = trn_exec_equal_pair(exec, &op.dst, &op.src);
	if (!cause && (!trn_dtype_is_float(op.src.dtype) ||
		       !indices_exact(inst, op.dst.n)))
		cause = NEURON_CAUSE_OPERAND;
	if (!cause)
		cause = trn_exec_scalar(exec, 0, op.dst.partitions, &op.s0);
	if (!cause)
		cause = trn_exec_scalar(exec, 1, op.dst.partitions, &op.s1);
	if (!cause)
		cause = trn_tile_touch(&op.dst);
	if (!cause)
		cause = trn_exec_acc_begin(exec, op.dst.partitions);
	if (cause)
		return cause;
	trn_exec_lines(trn_tile_piecewise(&op.dst, &op.src), range_select, &op);
	return NEURON_CAUSE_NONE;
}
