// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Elements that are taken or not: by a predicate, by their index.
 */
#include <float.h>
#include <string.h>

#include "exec/trn_exec.h"
#include "num/trn_num.h"

/**
 * struct selection - a resolved instruction
 * @fill: an element of the destination
 * @line: a piece full of it, where the source is that number; else NULL
 * @real_src, @real_predicate: where @src and @predicate are lines of the desk, to which
 *	these are copied
 */
struct selection {
	struct trn_exec *exec;
	struct trn_tile dst, src, predicate;
	struct trn_scalar s0, s1;
	bool reverse;
	uint32_t fill;
	const uint8_t *line;
	struct trn_tile real_src, real_predicate;
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
			size_t n, const uint8_t *from, const void *predicate)
{
	size_t i = 0, end;

	while (i < n) {
		if (!taken(op, predicate, i)) {
			i++;
			continue;
		}
		for (end = i + 1; end < n && taken(op, predicate, end); end++)
			;
		trn_tile_store_raw(&op->dst, p, first + i, end - i,
				   from + i * op->dst.size);
		i = end;
	}
}

static void fill_line(const struct selection *op, uint8_t *line, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		memcpy(line + i * op->dst.size, &op->fill, op->dst.size);
}

static void copy_predicated(void *arg, unsigned int p, size_t first, size_t n,
			    const struct trn_lines *lines)
{
	const struct selection *op = arg;

	if (!op->line)
		trn_tile_load_raw(&op->src, p, first, n, lines->a);
	trn_tile_load_raw(&op->predicate, p, first, n, lines->b);
	store_taken(op, p, first, n, op->line ? op->line : (const uint8_t *)lines->a,
		    lines->b);
}

/* Both sources are read before anything is written: twice as many elements. */
static void copy_staged(void *arg, unsigned int p, size_t first, size_t n,
			const struct trn_lines *lines)
{
	const struct selection *op = arg;
	size_t all = op->dst.n, part;

	if (first < all) {
		part = trn_piece(all, first, n);
		if (!op->line)
			trn_tile_load_raw(&op->real_src, p, first, part,
					  op->src.base + first * op->src.size);
		trn_tile_load_raw(&op->real_predicate, p, first, part,
				  op->predicate.base + first * op->predicate.size);
		first += part;
		n -= part;
	}
	if (n)
		copy_predicated(arg, p, first - all, n, lines);
}

/* Where a destination would change what is read later. */
static void stage_sources(struct trn_exec *exec, struct selection *op)
{
	struct trn_lane_desk *desk = trn_exec_desk(exec);

	op->real_src = op->src;
	op->real_predicate = op->predicate;
	trn_tile_on_desk(&op->src, desk->line[0]);
	trn_tile_on_desk(&op->predicate, desk->line[1]);
	trn_exec_desk_use(exec, (size_t)op->src.high, (size_t)op->predicate.high, 0);
}

static enum neuron_cause predicated_walk(struct trn_exec *exec, struct selection *op)
{
	struct trn_exec_walk walk = {
		.partitions = op->dst.partitions,
		.n = op->dst.n,
		.src = { &op->dst, &op->predicate, &op->src },
		.heavy = true,
		.piece = copy_predicated,
	};

	if (!(op->line || trn_tile_piecewise(&op->dst, &op->src)) ||
	    !trn_tile_piecewise(&op->dst, &op->predicate)) {
		stage_sources(exec, op);
		walk.src[1] = &op->real_predicate;
		walk.src[2] = &op->real_src;
		walk.n *= 2;
		walk.piece = copy_staged;
	}
	return trn_exec_walk(exec, &walk, op);
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
	_Alignas(64) uint8_t line[TRN_LINE_PIECE * sizeof(uint32_t)];
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
	if (number) {
		fill_line(&op, line, trn_piece(op.dst.n, 0, TRN_LINE_PIECE));
		op.line = line;
	}
	return predicated_walk(exec, &op);
}

/* --- select_reduce --- */

static void select_begin(void *arg, unsigned int p)
{
	const struct selection *op = arg;

	trn_exec_carry(op->exec)[0] = trn_scalar_at(&op->s0, p);
}

static void select_reduce(void *arg, unsigned int p, size_t first, size_t n,
			  const struct trn_lines *lines)
{
	const struct selection *op = arg;
	float other = trn_exec_carry(op->exec)[0];
	size_t i;

	trn_tile_load(&op->src, p, first, n, lines->a);
	trn_tile_load_raw(&op->predicate, p, first, n, lines->b);
	for (i = 0; i < n; i++)
		if (!taken(op, lines->b, i))
			lines->a[i] = other;
	trn_exec_acc_line(op->exec, p, lines->a, n);
	trn_tile_store(&op->dst, p, first, n, lines->a);
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
	struct trn_exec_walk walk = {
		.dst = &op.dst,
		.src = { &op.src, &op.predicate },
		.heavy = true,
		.begin = select_begin,
		.piece = select_reduce,
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
	return cause ? cause : trn_exec_walk_tile(exec, &walk, &op);
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

static void range_begin(void *arg, unsigned int p)
{
	const struct selection *op = arg;
	float *carry = trn_exec_carry(op->exec);

	carry[0] = trn_scalar_at(&op->s0, p);
	carry[1] = trn_scalar_at(&op->s1, p);
}

static void range_select(void *arg, unsigned int p, size_t first, size_t n,
			 const struct trn_lines *lines)
{
	const struct selection *op = arg;
	const float *carry = trn_exec_carry(op->exec);
	size_t i, part;

	trn_tile_load(&op->src, p, first, n, lines->a);
	for (i = 0; i < n; i += part) {
		part = trn_piece(n, i, BLOCK);
		range_block(op, lines->a + i, first + i, part, carry[0], carry[1]);
	}
	trn_exec_acc_line(op->exec, p, lines->a, n);
	trn_tile_store(&op->dst, p, first, n, lines->a);
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
	struct trn_exec_walk walk = {
		.dst = &op.dst,
		.src = { &op.src },
		.heavy = true,
		.begin = range_begin,
		.piece = range_select,
	};
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
	return cause ? cause : trn_exec_walk_tile(exec, &walk, &op);
}
