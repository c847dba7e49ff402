// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Element-wise instructions: two tiles, a tile and scalars.
 */
#include <string.h>

#include "base/trn_chip.h"
#include "exec/trn_exec.h"
#include "exec/trn_seq.h"
#include "num/trn_num.h"

enum neuron_cause trn_exec_pair(struct trn_exec *exec, struct trn_tile *dst,
				struct trn_tile *src)
{
	enum neuron_cause cause;

	cause = trn_exec_tile(exec, &exec->inst->dst, dst);
	if (cause)
		return cause;
	cause = trn_exec_tile(exec, &exec->inst->src0, src);
	if (cause)
		return cause;
	if (dst->partitions != src->partitions)
		return NEURON_CAUSE_OPERAND;
	trn_exec_note(exec, dst);
	trn_exec_note(exec, src);
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_exec_equal_pair(struct trn_exec *exec, struct trn_tile *dst,
				      struct trn_tile *src)
{
	enum neuron_cause cause;

	cause = trn_exec_pair(exec, dst, src);
	if (cause)
		return cause;
	return dst->n == src->n ? NEURON_CAUSE_NONE : NEURON_CAUSE_OPERAND;
}

enum neuron_cause trn_exec_second(struct trn_exec *exec, const struct trn_tile *dst,
				  const struct trn_tile *first, struct trn_tile *src)
{
	enum neuron_cause cause;

	cause = trn_exec_tile(exec, &exec->inst->src1, src);
	if (cause)
		return cause;
	if (dst->partitions != src->partitions || dst->n != src->n ||
	    (first->psum && src->psum))
		return NEURON_CAUSE_OPERAND;
	trn_exec_note(exec, src);
	return NEURON_CAUSE_NONE;
}

bool trn_exec_bitwise_types(const struct trn_tile *a, const struct trn_tile *b)
{
	return trn_dtype_is_int(a->dtype) && trn_dtype_is_int(b->dtype) &&
	       a->size == b->size && a->size <= sizeof(uint32_t);
}

/**
 * struct vector_op - a resolved element-wise instruction
 * @exec: whose accumulators are combined
 * @s0, @s1: scalars
 * @bitwise: works on raw integers
 * @exact: arithmetic of int32 or uint32
 * @mix: of a tile and scalars: trn_mix() has the operators
 */
struct vector_op {
	struct trn_exec *exec;
	const struct neuron_inst *inst;
	struct trn_tile dst, src0, src1;
	struct trn_scalar s0, s1;
	bool bitwise;
	bool exact;
	bool mix;
};

static float as_float(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* --- dst = src0 op src1 --- */

/* Three tiles of bf16 where they lie. */
static bool tensor_tensor_bf16(const struct vector_op *op, unsigned int p,
			       size_t first, size_t n)
{
	void *dst = trn_tile_here(&op->dst, NEURON_DTYPE_BF16, p, first);
	const void *a = trn_tile_here(&op->src0, NEURON_DTYPE_BF16, p, first);
	const void *b = trn_tile_here(&op->src1, NEURON_DTYPE_BF16, p, first);

	if (!dst || !a || !b || !trn_mix_has(op->inst->op0))
		return false;
	trn_mix(TRN_MIX_BF16_PAIR, op->inst->op0, dst, a, b, 0.0f, n);
	return true;
}

static void tensor_tensor_piece(const struct vector_op *op, unsigned int p,
				size_t first, size_t n,
				const struct trn_lines *lines)
{
	float *out = trn_tile_room(&op->dst, p, first, lines->a);
	const float *x, *y;

	if (tensor_tensor_bf16(op, p, first, n))
		return;
	x = trn_tile_view(&op->src0, p, first, n, lines->a);
	y = trn_tile_view(&op->src1, p, first, n, lines->b);
	trn_alu_vv(op->inst->op0, out, x, y, n);
	trn_tile_put(&op->dst, p, first, n, out);
}

static void tensor_tensor_raw(const struct vector_op *op, unsigned int p,
			      size_t first, size_t n, const struct trn_lines *lines)
{
	trn_tile_load_raw(&op->src0, p, first, n, lines->a);
	trn_tile_load_raw(&op->src1, p, first, n, lines->b);
	if (op->bitwise)
		trn_alu_bitwise(op->inst->op0, lines->a, lines->a, lines->b,
				op->dst.size, n);
	else
		trn_alu_exact(op->inst->op0,
			      (struct trn_signs){ op->src0.dtype == NEURON_DTYPE_INT32,
						  op->src1.dtype == NEURON_DTYPE_INT32 },
			      lines->a, lines->a, lines->b, n);
	trn_tile_store_raw(&op->dst, p, first, n, lines->a);
}

static void tensor_tensor(void *arg, unsigned int p, size_t first, size_t n,
			  const struct trn_lines *lines)
{
	const struct vector_op *op = arg;

	if (op->bitwise || op->exact)
		tensor_tensor_raw(op, p, first, n, lines);
	else
		tensor_tensor_piece(op, p, first, n, lines);
}

static void tensor_tensor_rows(void *arg, unsigned int p, unsigned int end,
			       const struct trn_lines *lines)
{
	const struct vector_op *op = arg;

	for (; p < end; p++)
		tensor_tensor(arg, p, 0, op->dst.n, lines);
}

bool trn_exec_magnitude(const struct trn_exec *exec, unsigned int op)
{
	return exec->core->chip->gen->generation >= 4 ||
	       (op != NEURON_ALU_ABS_MAX && op != NEURON_ALU_ABS_MIN);
}

bool trn_exec_arith(const struct trn_exec *exec, unsigned int op)
{
	if (op == NEURON_ALU_POWER)
		return exec->seq->engine == NEURON_ENGINE_GPSIMD;
	return trn_alu_is_arith(op) && trn_exec_magnitude(exec, op);
}

bool trn_exec_arith_or_unary(const struct trn_exec *exec, unsigned int op)
{
	if (!trn_alu_is_unary(op))
		return trn_exec_arith(exec, op);
	return exec->core->chip->gen->generation >= 4 ||
	       (op != NEURON_ALU_SQUARE && op != NEURON_ALU_RELU);
}

static bool tensor_tensor_types(const struct vector_op *op)
{
	if (!op->bitwise)
		return trn_exec_arith(op->exec, op->inst->op0);
	return trn_exec_bitwise_types(&op->dst, &op->src0) &&
	       trn_exec_bitwise_types(&op->dst, &op->src1);
}

static bool is_word(const struct trn_tile *tile)
{
	return tile->dtype == NEURON_DTYPE_INT32 || tile->dtype == NEURON_DTYPE_UINT32;
}

/* GpSimd calculates with integers where each of the three tiles has integers of 32 bits. */
static bool tensor_tensor_exact(const struct vector_op *op)
{
	return op->exec->seq->engine == NEURON_ENGINE_GPSIMD &&
	       trn_alu_is_exact(op->inst->op0) && is_word(&op->dst) &&
	       is_word(&op->src0) && is_word(&op->src1);
}

enum neuron_cause trn_exec_tensor_tensor(struct trn_exec *exec)
{
	struct vector_op op = {
		.exec = exec,
		.inst = exec->inst,
		.bitwise = trn_alu_is_bitwise(exec->inst->op0),
	};
	struct trn_exec_walk walk = {
		.dst = &op.dst,
		.src = { &op.src0, &op.src1 },
		.heavy = op.inst->op0 == NEURON_ALU_POWER,
		.piece = tensor_tensor,
		.rows = tensor_tensor_rows,
	};
	enum neuron_cause cause;

	cause = trn_exec_pair(exec, &op.dst, &op.src0);
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
	op.exact = tensor_tensor_exact(&op);
	trn_exec_note(exec, &op.src1);
	cause = trn_tile_touch(&op.dst);
	return cause ? cause : trn_exec_walk_tile(exec, &walk, &op);
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

/* Plain operators, and nothing goes to the accumulators. */
static bool mix_usable(const struct neuron_inst *inst)
{
	return trn_mix_has(inst->op0) && trn_mix_has(inst->op1) &&
	       inst->op2 == NEURON_ALU_BYPASS &&
	       !(inst->flags & (NEURON_INST_REVERSE0 | NEURON_INST_REVERSE1));
}

/**
 * struct here - elements where they lie
 * @narrow: bf16, else fp32
 */
struct here {
	void *ptr;
	bool narrow;
};

static struct here elements_of(const struct trn_tile *tile, unsigned int p, size_t first)
{
	bool narrow = tile->dtype == NEURON_DTYPE_BF16;

	return (struct here){
		trn_tile_here(tile, narrow ? NEURON_DTYPE_BF16 : NEURON_DTYPE_FP32, p, first),
		narrow,
	};
}

static void scalar_step(unsigned int op, struct here dst, struct here src, float s,
			size_t n)
{
	if (!dst.narrow && !src.narrow) {
		trn_alu_vs(op, dst.ptr, src.ptr, s, false, n);
		return;
	}
	trn_mix(dst.narrow && src.narrow ? TRN_MIX_BF16 :
		dst.narrow ? TRN_MIX_NARROW : TRN_MIX_WIDEN, op, dst.ptr, src.ptr, NULL, s, n);
}

/* Tiles of bf16 or fp32 where they lie; room for @n in @buf. */
static bool tensor_scalar_mix(const struct vector_op *op, unsigned int p, size_t first,
			      size_t n, float s0, float s1, float *buf)
{
	struct here dst = elements_of(&op->dst, p, first);
	struct here src = elements_of(&op->src0, p, first);
	struct here between = dst.narrow ? (struct here){ buf, false } : dst;
	unsigned int op0 = op->inst->op0, op1 = op->inst->op1;

	if (!dst.ptr || !src.ptr)
		return false;
	if (op1 == NEURON_ALU_BYPASS) {
		scalar_step(op0, dst, src, s0, n);
	} else if (dst.narrow == src.narrow && trn_pair_has(op0, op1)) {
		trn_pair(dst.narrow, op0, op1, dst.ptr, src.ptr, s0, s1, n);
	} else {
		scalar_step(op0, between, src, s0, n);
		scalar_step(op1, dst, between, s1, n);
	}
	return true;
}

static void tensor_scalar_raw(const struct vector_op *op, unsigned int p, size_t first,
			      size_t n, const uint32_t *s, const struct trn_lines *lines)
{
	const struct neuron_inst *inst = op->inst;

	trn_tile_load_raw(&op->src0, p, first, n, lines->a);
	bitwise_scalar(op, inst->op0, inst->flags & NEURON_INST_REVERSE0, s[0], lines, n);
	if (inst->op1 != NEURON_ALU_BYPASS)
		bitwise_scalar(op, inst->op1, inst->flags & NEURON_INST_REVERSE1, s[1],
			       lines, n);
	trn_tile_store_raw(&op->dst, p, first, n, lines->a);
}

static void tensor_scalar_piece(const struct vector_op *op, unsigned int p, size_t first,
				size_t n, float s0, float s1,
				const struct trn_lines *lines)
{
	const struct neuron_inst *inst = op->inst;
	bool reverse0 = inst->flags & NEURON_INST_REVERSE0;
	bool reverse1 = inst->flags & NEURON_INST_REVERSE1;
	const float *x;
	float *out;

	if (op->mix && tensor_scalar_mix(op, p, first, n, s0, s1, lines->a))
		return;
	x = trn_tile_view(&op->src0, p, first, n, lines->a);
	out = trn_tile_room(&op->dst, p, first, lines->a);
	trn_alu_vs(inst->op0, out, x, s0, reverse0, n);
	if (inst->op1 != NEURON_ALU_BYPASS)
		trn_alu_vs(inst->op1, out, out, s1, reverse1, n);
	trn_exec_acc_line(op->exec, p, out, n);
	trn_tile_put(&op->dst, p, first, n, out);
}

/* The scalars are read before anything of the line is written. */
static void tensor_scalar_begin(void *arg, unsigned int p)
{
	const struct vector_op *op = arg;
	uint32_t *s = trn_exec_resume(op->exec)->carry.word;

	s[0] = trn_scalar_bits(&op->s0, p);
	s[1] = trn_scalar_bits(&op->s1, p);
}

static void tensor_scalar(void *arg, unsigned int p, size_t first, size_t n,
			  const struct trn_lines *lines)
{
	const struct vector_op *op = arg;
	const uint32_t *s = trn_exec_resume(op->exec)->carry.word;

	if (op->bitwise)
		tensor_scalar_raw(op, p, first, n, s, lines);
	else
		tensor_scalar_piece(op, p, first, n, as_float(s[0]), as_float(s[1]), lines);
}

static void tensor_scalar_rows(void *arg, unsigned int p, unsigned int end,
			       const struct trn_lines *lines)
{
	const struct vector_op *op = arg;

	for (; p < end; p++) {
		tensor_scalar_begin(arg, p);
		tensor_scalar(arg, p, 0, op->dst.n, lines);
	}
}

/* Before NeuronCore-v4 the scalar engine multiplies, adds, or does one after the other. */
static bool scalar_engine_has(const struct trn_exec *exec)
{
	const struct neuron_inst *inst = exec->inst;

	if (trn_isa_alu_is_bitwise(inst->op0))
		return false;
	if (exec->core->chip->gen->generation >= 4)
		return true;
	if (inst->op1 == NEURON_ALU_BYPASS)
		return inst->op0 == NEURON_ALU_MULTIPLY || inst->op0 == NEURON_ALU_ADD;
	return inst->op0 == NEURON_ALU_MULTIPLY && inst->op1 == NEURON_ALU_ADD;
}

/* Of the operators of one operand GpSimd has rsqrt alone. */
static bool gpsimd_has(unsigned int op)
{
	return !trn_isa_alu_is_unary(op) || op == NEURON_ALU_RSQRT;
}

/* Operators of this engine, both of one class. */
static bool scalar_ops_valid(const struct trn_exec *exec)
{
	const struct neuron_inst *inst = exec->inst;
	bool bypass1 = inst->op1 == NEURON_ALU_BYPASS;

	if (exec->seq->engine == NEURON_ENGINE_SCALAR && !scalar_engine_has(exec))
		return false;
	if (exec->seq->engine == NEURON_ENGINE_GPSIMD &&
	    (!gpsimd_has(inst->op0) || !gpsimd_has(inst->op1)))
		return false;
	if (trn_isa_alu_is_bitwise(inst->op0))
		return bypass1 || trn_isa_alu_is_bitwise(inst->op1);
	return trn_exec_arith_or_unary(exec, inst->op0) &&
	       (bypass1 || trn_exec_arith_or_unary(exec, inst->op1));
}

/* A column of any type in src1, or imm0. */
static enum neuron_cause first_scalar(struct trn_exec *exec, struct vector_op *op)
{
	enum neuron_cause cause;

	op->s0.bits = exec->inst->imm0;
	if (!(exec->inst->flags & NEURON_INST_SRC1_COLUMN))
		return NEURON_CAUSE_NONE;
	op->s0.column = true;
	op->s0.raw = op->bitwise;
	cause = trn_exec_tile(exec, &exec->inst->src1, &op->s0.tile);
	if (cause)
		return cause;
	if (op->s0.tile.n != 1 || op->s0.tile.partitions != op->dst.partitions)
		return NEURON_CAUSE_OPERAND;
	if (op->bitwise && !trn_exec_bitwise_types(&op->dst, &op->s0.tile))
		return NEURON_CAUSE_OPERAND;
	return NEURON_CAUSE_NONE;
}

/* A column of fp32 or, for a bitwise operator, of integers as those of the tiles. */
static enum neuron_cause second_scalar(struct trn_exec *exec, struct vector_op *op)
{
	enum neuron_cause cause = trn_exec_scalar(exec, 1, op->dst.partitions, &op->s1);

	if (cause || !op->s1.column)
		return cause;
	op->s1.raw = op->bitwise;
	if (op->bitwise ? !trn_exec_bitwise_types(&op->dst, &op->s1.tile) :
			  op->s1.tile.dtype != NEURON_DTYPE_FP32)
		return NEURON_CAUSE_OPERAND;
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_exec_tensor_scalar(struct trn_exec *exec)
{
	struct vector_op op = {
		.exec = exec,
		.inst = exec->inst,
		.bitwise = trn_isa_alu_is_bitwise(exec->inst->op0),
	};
	struct trn_exec_walk walk = {
		.dst = &op.dst,
		.src = { &op.src0 },
		.heavy = op.inst->op0 == NEURON_ALU_POWER ||
			 op.inst->op1 == NEURON_ALU_POWER ||
			 op.inst->op2 != NEURON_ALU_BYPASS,
		.begin = tensor_scalar_begin,
		.piece = tensor_scalar,
		.rows = tensor_scalar_rows,
	};
	enum neuron_cause cause;

	if (!scalar_ops_valid(exec))
		return NEURON_CAUSE_OPERAND;
	cause = trn_exec_pair(exec, &op.dst, &op.src0);
	if (cause)
		return cause;
	if (op.src0.n != op.dst.n ||
	    (op.bitwise && !trn_exec_bitwise_types(&op.dst, &op.src0)))
		return NEURON_CAUSE_OPERAND;
	if (op.bitwise && exec->inst->op2 != NEURON_ALU_BYPASS)
		return NEURON_CAUSE_OPERAND;
	cause = first_scalar(exec, &op);
	if (!cause)
		cause = second_scalar(exec, &op);
	if (!cause)
		cause = trn_tile_touch(&op.dst);
	if (!cause)
		cause = trn_exec_acc_begin(exec, op.dst.partitions);
	if (cause)
		return cause;
	op.mix = mix_usable(exec->inst);
	return trn_exec_walk_tile(exec, &walk, &op);
}

/* --- dst = (src0 op0 s0) op1 src1 --- */

static void scalar_tensor_begin(void *arg, unsigned int p)
{
	const struct vector_op *op = arg;

	trn_exec_carry(op->exec)[0] = trn_scalar_at(&op->s0, p);
}

static void scalar_tensor_tensor(void *arg, unsigned int p, size_t first, size_t n,
				 const struct trn_lines *lines)
{
	const struct vector_op *op = arg;
	const struct neuron_inst *inst = op->inst;
	bool reverse0 = inst->flags & NEURON_INST_REVERSE0;
	bool reverse1 = inst->flags & NEURON_INST_REVERSE1;
	const float *x = reverse1 ? lines->b : lines->a;
	const float *y = reverse1 ? lines->a : lines->b;
	float s0 = trn_exec_carry(op->exec)[0];

	trn_tile_load(&op->src0, p, first, n, lines->a);
	trn_tile_load(&op->src1, p, first, n, lines->b);
	trn_alu_vs(inst->op0, lines->a, lines->a, s0, reverse0, n);
	trn_alu_vv(inst->op1, lines->a, x, y, n);
	trn_tile_store(&op->dst, p, first, n, lines->a);
}

enum neuron_cause trn_exec_scalar_tensor_tensor(struct trn_exec *exec)
{
	struct vector_op op = { .exec = exec, .inst = exec->inst };
	struct trn_exec_walk walk = {
		.dst = &op.dst,
		.src = { &op.src0, &op.src1 },
		.begin = scalar_tensor_begin,
		.piece = scalar_tensor_tensor,
	};
	enum neuron_cause cause;

	if (!trn_exec_arith_or_unary(exec, op.inst->op0) ||
	    !trn_exec_arith(exec, op.inst->op1))
		return NEURON_CAUSE_OPERAND;
	cause = trn_exec_equal_pair(exec, &op.dst, &op.src0);
	if (!cause)
		cause = trn_exec_second(exec, &op.dst, &op.src0, &op.src1);
	if (!cause)
		cause = trn_exec_scalar(exec, 0, op.dst.partitions, &op.s0);
	if (!cause)
		cause = trn_tile_touch(&op.dst);
	return cause ? cause : trn_exec_walk_tile(exec, &walk, &op);
}
