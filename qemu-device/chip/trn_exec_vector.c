// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Element-wise instructions: two tiles, a tile and scalars, copies, fills,
 * reductions along the free dimensions.
 */
#include <string.h>

#include "trn_exec.h"
#include "trn_num.h"

enum neuron_cause trn_exec_tile(const struct trn_exec *exec,
				const struct neuron_ap *ap,
				struct trn_tile *tile)
{
	enum neuron_cause cause;

	cause = trn_ap_resolve(exec->core, exec->seq->regs, ap, tile);
	if (cause == NEURON_CAUSE_NONE && tile->psum &&
	    exec->seq->engine == NEURON_ENGINE_GPSIMD)
		return NEURON_CAUSE_OPERAND;
	return cause;
}

void trn_exec_note(struct trn_exec *exec, const struct trn_tile *tile)
{
	struct trn_work *work = &exec->work;
	bool half = tile->dtype == NEURON_DTYPE_BF16 ||
		    tile->dtype == NEURON_DTYPE_FP16;
	ptrdiff_t step = tile->step[0] < 0 ? -tile->step[0] : tile->step[0];

	work->half = (work->n == 0 || work->half) && half;
	if (work->n == 0)
		work->n = tile->n;
	work->psum |= tile->psum;
	work->strided |= !tile->contiguous;
	work->sparse |= tile->num[0] > 1 && step >= 16;
}

static void lines_small(trn_lines_fn fn, void *arg)
{
	_Alignas(64) float buf[2 * TRN_LINE_PIECE];
	struct trn_lines lines = { buf, buf + TRN_LINE_PIECE, TRN_LINE_PIECE };

	fn(arg, &lines);
}

static void __attribute__((noinline)) lines_whole(trn_lines_fn fn, void *arg)
{
	_Alignas(64) float buf[2 * TRN_TILE_MAX_SBUF];
	struct trn_lines lines = {
		buf, buf + TRN_TILE_MAX_SBUF, TRN_TILE_MAX_SBUF
	};

	fn(arg, &lines);
}

void trn_exec_lines(bool piecewise, trn_lines_fn fn, void *arg)
{
	if (piecewise)
		lines_small(fn, arg);
	else
		lines_whole(fn, arg);
}

/**
 * struct vector_op - a resolved element-wise instruction
 * @s0, @s1: scalars; with @column s0 is a column of fp32 or integers
 * @group: elements that a reduction makes one of
 * @bitwise: works on raw integers
 */
struct vector_op {
	const struct neuron_inst *inst;
	struct trn_tile dst, src0, src1;
	uint32_t s0, s1;
	uint32_t group;
	bool column;
	bool bitwise;
};

static float as_float(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static size_t piece_of(size_t n, size_t first, size_t piece)
{
	return n - first < piece ? n - first : piece;
}

/* Destination and source of one instruction: same partitions, same elements. */
static enum neuron_cause same_tiles(struct trn_exec *exec, struct vector_op *op)
{
	enum neuron_cause cause;

	op->inst = exec->inst;
	cause = trn_exec_tile(exec, &exec->inst->dst, &op->dst);
	if (cause)
		return cause;
	cause = trn_exec_tile(exec, &exec->inst->src0, &op->src0);
	if (cause)
		return cause;
	if (op->dst.partitions != op->src0.partitions)
		return NEURON_CAUSE_OPERAND;
	trn_exec_note(exec, &op->dst);
	trn_exec_note(exec, &op->src0);
	return NEURON_CAUSE_NONE;
}

/* Bitwise operators need integers of one size, at most 32 bits, everywhere. */
static bool bitwise_types(const struct trn_tile *a, const struct trn_tile *b)
{
	return trn_dtype_is_int(a->dtype) && trn_dtype_is_int(b->dtype) &&
	       a->size == b->size && a->size <= sizeof(uint32_t);
}

/* --- dst = src0 op src1 --- */

static void tensor_tensor(void *arg, const struct trn_lines *lines)
{
	const struct vector_op *op = arg;
	size_t first, n;
	unsigned int p;

	for (p = 0; p < op->dst.partitions; p++) {
		for (first = 0; first < op->dst.n; first += n) {
			n = piece_of(op->dst.n, first, lines->piece);
			if (op->bitwise) {
				trn_tile_load_raw(&op->src0, p, first, n, lines->a);
				trn_tile_load_raw(&op->src1, p, first, n, lines->b);
				trn_alu_bitwise(op->inst->op0, lines->a, lines->a,
						lines->b, op->dst.size, n);
				trn_tile_store_raw(&op->dst, p, first, n, lines->a);
			} else {
				trn_tile_load(&op->src0, p, first, n, lines->a);
				trn_tile_load(&op->src1, p, first, n, lines->b);
				trn_alu_vv(op->inst->op0, lines->a, lines->a,
					   lines->b, n);
				trn_tile_store(&op->dst, p, first, n, lines->a);
			}
		}
	}
}

static bool tensor_tensor_types(const struct vector_op *op)
{
	if (!op->bitwise)
		return trn_alu_is_arith(op->inst->op0);
	return bitwise_types(&op->dst, &op->src0) &&
	       bitwise_types(&op->dst, &op->src1);
}

static enum neuron_cause exec_tensor_tensor(struct trn_exec *exec)
{
	struct vector_op op = { .bitwise = trn_alu_is_bitwise(exec->inst->op0) };
	enum neuron_cause cause;

	cause = same_tiles(exec, &op);
	if (cause)
		return cause;
	cause = trn_exec_tile(exec, &exec->inst->src1, &op.src1);
	if (cause)
		return cause;
	if (op.src1.partitions != op.dst.partitions || op.src0.n != op.dst.n ||
	    op.src1.n != op.dst.n || (op.src0.psum && op.src1.psum))
		return NEURON_CAUSE_OPERAND;
	if (!tensor_tensor_types(&op))
		return NEURON_CAUSE_OPERAND;
	trn_exec_note(exec, &op.src1);
	cause = trn_tile_touch(&op.dst);
	if (cause)
		return cause;
	trn_exec_lines(trn_tile_piecewise(&op.dst, &op.src0) &&
		       trn_tile_piecewise(&op.dst, &op.src1),
		       tensor_tensor, &op);
	return NEURON_CAUSE_NONE;
}

/* --- dst = (src0 op0 s0) op1 s1 --- */

static void fill_raw(void *dst, uint32_t value, unsigned int size, size_t n)
{
	uint8_t *out = dst;
	size_t i;

	for (i = 0; i < n; i++, out += size)
		memcpy(out, &value, size);
}

static void bitwise_scalar(const struct vector_op *op, unsigned int alu,
			   bool reverse, uint32_t s, const struct trn_lines *lines,
			   size_t n)
{
	fill_raw(lines->b, s, op->dst.size, n);
	if (reverse)
		trn_alu_bitwise(alu, lines->a, lines->b, lines->a, op->dst.size, n);
	else
		trn_alu_bitwise(alu, lines->a, lines->a, lines->b, op->dst.size, n);
}

static void tensor_scalar_piece(const struct vector_op *op, unsigned int p,
				size_t first, size_t n, uint32_t s0,
				const struct trn_lines *lines)
{
	const struct neuron_inst *inst = op->inst;
	bool reverse0 = inst->flags & NEURON_INST_REVERSE0;
	bool reverse1 = inst->flags & NEURON_INST_REVERSE1;

	if (op->bitwise) {
		trn_tile_load_raw(&op->src0, p, first, n, lines->a);
		bitwise_scalar(op, inst->op0, reverse0, s0, lines, n);
		if (inst->op1 != NEURON_ALU_BYPASS)
			bitwise_scalar(op, inst->op1, reverse1, op->s1, lines, n);
		trn_tile_store_raw(&op->dst, p, first, n, lines->a);
		return;
	}
	trn_tile_load(&op->src0, p, first, n, lines->a);
	trn_alu_vs(inst->op0, lines->a, lines->a, as_float(s0), reverse0, n);
	if (inst->op1 != NEURON_ALU_BYPASS)
		trn_alu_vs(inst->op1, lines->a, lines->a, as_float(op->s1),
			   reverse1, n);
	trn_tile_store(&op->dst, p, first, n, lines->a);
}

/* The scalar of partition @p, read before anything of that line is written. */
static uint32_t column_at(const struct vector_op *op, unsigned int p)
{
	uint32_t bits = op->s0;
	float value;

	if (!op->column)
		return bits;
	if (op->bitwise) {
		bits = 0;
		trn_tile_load_raw(&op->src1, p, 0, 1, &bits);
		return bits;
	}
	trn_tile_load(&op->src1, p, 0, 1, &value);
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static void tensor_scalar(void *arg, const struct trn_lines *lines)
{
	const struct vector_op *op = arg;
	size_t first, n;
	unsigned int p;

	for (p = 0; p < op->dst.partitions; p++) {
		uint32_t s0 = column_at(op, p);

		for (first = 0; first < op->dst.n; first += n) {
			n = piece_of(op->dst.n, first, lines->piece);
			tensor_scalar_piece(op, p, first, n, s0, lines);
		}
	}
}

/* Both operators of one class; the scalar engine has few before v4. */
static bool scalar_ops_valid(const struct trn_exec *exec)
{
	const struct neuron_inst *inst = exec->inst;
	bool bypass1 = inst->op1 == NEURON_ALU_BYPASS;

	if (exec->seq->engine == NEURON_ENGINE_SCALAR) {
		if (trn_alu_is_bitwise(inst->op0))
			return false;
		if (exec->core->chip->gen->generation < 4 &&
		    !(inst->op0 == NEURON_ALU_MULTIPLY &&
		      (bypass1 || inst->op1 == NEURON_ALU_ADD)) &&
		    !(inst->op0 == NEURON_ALU_ADD && bypass1))
			return false;
	}
	if (trn_alu_is_bitwise(inst->op0))
		return bypass1 || trn_alu_is_bitwise(inst->op1);
	return trn_alu_is_arith(inst->op0) &&
	       (bypass1 || trn_alu_is_arith(inst->op1));
}

static enum neuron_cause column_tile(struct trn_exec *exec, struct vector_op *op)
{
	enum neuron_cause cause;

	cause = trn_exec_tile(exec, &exec->inst->src1, &op->src1);
	if (cause)
		return cause;
	if (op->src1.n != 1 || op->src1.partitions != op->dst.partitions)
		return NEURON_CAUSE_OPERAND;
	if (op->bitwise && !bitwise_types(&op->dst, &op->src1))
		return NEURON_CAUSE_OPERAND;
	op->column = true;
	return NEURON_CAUSE_NONE;
}

static enum neuron_cause exec_tensor_scalar(struct trn_exec *exec)
{
	const struct neuron_inst *inst = exec->inst;
	struct vector_op op = {
		.s0 = inst->imm0,
		.s1 = inst->imm1,
		.bitwise = trn_alu_is_bitwise(inst->op0),
	};
	enum neuron_cause cause;

	if (!scalar_ops_valid(exec))
		return NEURON_CAUSE_OPERAND;
	cause = same_tiles(exec, &op);
	if (cause)
		return cause;
	if (op.src0.n != op.dst.n ||
	    (op.bitwise && !bitwise_types(&op.dst, &op.src0)))
		return NEURON_CAUSE_OPERAND;
	if (inst->flags & NEURON_INST_SRC1_COLUMN) {
		cause = column_tile(exec, &op);
		if (cause)
			return cause;
	}
	cause = trn_tile_touch(&op.dst);
	if (cause)
		return cause;
	trn_exec_lines(trn_tile_piecewise(&op.dst, &op.src0), tensor_scalar, &op);
	return NEURON_CAUSE_NONE;
}

/* --- copies and fills --- */

static void copy_raw(void *arg, const struct trn_lines *lines)
{
	const struct vector_op *op = arg;
	size_t first, n;
	unsigned int p;

	for (p = 0; p < op->dst.partitions; p++) {
		for (first = 0; first < op->dst.n; first += n) {
			n = piece_of(op->dst.n, first, lines->piece);
			trn_tile_load_raw(&op->src0, p, first, n, lines->a);
			trn_tile_store_raw(&op->dst, p, first, n, lines->a);
		}
	}
}

static void copy_cast(void *arg, const struct trn_lines *lines)
{
	const struct vector_op *op = arg;
	size_t first, n;
	unsigned int p;

	for (p = 0; p < op->dst.partitions; p++) {
		for (first = 0; first < op->dst.n; first += n) {
			n = piece_of(op->dst.n, first, lines->piece);
			trn_tile_load(&op->src0, p, first, n, lines->a);
			trn_tile_store(&op->dst, p, first, n, lines->a);
		}
	}
}

static enum neuron_cause exec_copy(struct trn_exec *exec)
{
	struct vector_op op = { .inst = exec->inst };
	enum neuron_cause cause;
	bool raw;

	cause = same_tiles(exec, &op);
	if (cause)
		return cause;
	if (op.src0.n != op.dst.n)
		return NEURON_CAUSE_OPERAND;
	cause = trn_tile_touch(&op.dst);
	if (cause)
		return cause;
	/* The scalar engine of NeuronCore-v2 always goes through fp32. */
	raw = op.dst.dtype == op.src0.dtype &&
	      !(exec->seq->engine == NEURON_ENGINE_SCALAR &&
		exec->core->chip->gen->generation == 2);
	trn_exec_lines(trn_tile_piecewise(&op.dst, &op.src0),
		       raw ? copy_raw : copy_cast, &op);
	return NEURON_CAUSE_NONE;
}

static void memset_lines(void *arg, const struct trn_lines *lines)
{
	const struct vector_op *op = arg;
	size_t i, first, n = piece_of(op->dst.n, 0, lines->piece);
	uint64_t value = (uint64_t)(int64_t)(int32_t)op->s0;
	uint8_t *line = (uint8_t *)lines->a;
	float single = as_float(op->s0);
	unsigned int p;

	if (trn_dtype_is_float(op->dst.dtype))
		trn_from_fp32(&value, &single, op->dst.dtype, 1);
	for (i = 0; i < n; i++)
		memcpy(line + i * op->dst.size, &value, op->dst.size);
	for (p = 0; p < op->dst.partitions; p++)
		for (first = 0; first < op->dst.n; first += n) {
			n = piece_of(op->dst.n, first, lines->piece);
			trn_tile_store_raw(&op->dst, p, first, n, line);
		}
}

static enum neuron_cause exec_memset(struct trn_exec *exec)
{
	struct vector_op op = { .inst = exec->inst, .s0 = exec->inst->imm0 };
	enum neuron_cause cause;

	cause = trn_exec_tile(exec, &exec->inst->dst, &op.dst);
	if (cause)
		return cause;
	trn_exec_note(exec, &op.dst);
	cause = trn_tile_touch(&op.dst);
	if (cause)
		return cause;
	trn_exec_lines(true, memset_lines, &op);
	return NEURON_CAUSE_NONE;
}

/* --- reductions --- */

/* The chain over one group; the running value is the first of the next piece. */
static float reduce_group(const struct vector_op *op, unsigned int p,
			  size_t first, const struct trn_lines *lines)
{
	size_t done, n;
	float value;

	trn_tile_load(&op->src0, p, first, 1, &value);
	for (done = 1; done < op->group; done += n) {
		n = piece_of(op->group, done, lines->piece - 1);
		lines->a[0] = value;
		trn_tile_load(&op->src0, p, first + done, n, lines->a + 1);
		value = trn_alu_reduce(op->inst->op0, lines->a, n + 1);
	}
	return value;
}

/*
 * Results gather in b and are stored when it is full: with whole lines, after
 * the last element of the source has been read.
 */
static void tensor_reduce(void *arg, const struct trn_lines *lines)
{
	const struct vector_op *op = arg;
	size_t first, i, n;
	unsigned int p;

	for (p = 0; p < op->dst.partitions; p++) {
		for (first = 0; first < op->dst.n; first += n) {
			n = piece_of(op->dst.n, first, lines->piece);
			for (i = 0; i < n; i++)
				lines->b[i] = reduce_group(op, p,
							   (first + i) * op->group,
							   lines);
			if (op->inst->flags & NEURON_INST_NEGATE)
				trn_alu_vs(NEURON_ALU_MULTIPLY, lines->b, lines->b,
					   -1.0f, false, n);
			trn_tile_store(&op->dst, p, first, n, lines->b);
		}
	}
}

static enum neuron_cause exec_reduce(struct trn_exec *exec)
{
	const struct neuron_inst *inst = exec->inst;
	struct vector_op op = { .group = 1 };
	enum neuron_cause cause;
	bool disjoint;
	unsigned int i;

	if (!trn_alu_is_arith(inst->op0) || !trn_alu_is_reduction(inst->op0) ||
	    inst->imm0 < 1 || inst->imm0 > 4)
		return NEURON_CAUSE_OPERAND;
	cause = same_tiles(exec, &op);
	if (cause)
		return cause;
	for (i = 0; i < inst->imm0; i++)
		op.group *= op.src0.num[i];
	if ((uint64_t)op.dst.n * op.group != op.src0.n)
		return NEURON_CAUSE_OPERAND;
	cause = trn_tile_touch(&op.dst);
	if (cause)
		return cause;
	exec->work.n = op.src0.n;
	disjoint = op.dst.base + op.dst.high <= op.src0.base + op.src0.low ||
		   op.src0.base + op.src0.high <= op.dst.base + op.dst.low;
	trn_exec_lines(disjoint, tensor_reduce, &op);
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_exec_vector(struct trn_exec *exec)
{
	switch (exec->inst->opcode) {
	case NEURON_OP_TENSOR_TENSOR:
		return exec_tensor_tensor(exec);
	case NEURON_OP_TENSOR_SCALAR:
		return exec_tensor_scalar(exec);
	case NEURON_OP_TENSOR_REDUCE:
		return exec_reduce(exec);
	case NEURON_OP_COPY:
		return exec_copy(exec);
	case NEURON_OP_MEMSET:
		return exec_memset(exec);
	default:
		return NEURON_CAUSE_OPCODE;
	}
}
