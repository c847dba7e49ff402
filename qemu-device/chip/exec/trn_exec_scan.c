// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Running results along the free dimensions.
 */
#include "exec/trn_exec.h"
#include "num/trn_num.h"

struct running {
	struct trn_exec *exec;
	struct trn_tile dst, src0, src1;
	struct trn_scalar s0;
	struct trn_scan scan;
};

/* A power takes longer than the others, and so do its pieces. */
static size_t piece_limit(const struct neuron_inst *inst)
{
	return inst->op0 == NEURON_ALU_POWER || inst->op1 == NEURON_ALU_POWER ?
	       TRN_SLOW_PIECE : TRN_LINE_PIECE;
}

/* --- dst[i] = r[i] = (src0[i] op0 r[i - 1]) op1 src1[i] --- */

static void scan_begin(void *arg, unsigned int p)
{
	const struct running *op = arg;

	trn_exec_carry(op->exec)[0] = trn_scalar_at(&op->s0, p);
}

static void tensor_scan(void *arg, unsigned int p, size_t first, size_t n,
			const struct trn_lines *lines)
{
	const struct running *op = arg;
	float *r = trn_exec_carry(op->exec);

	trn_tile_load(&op->src0, p, first, n, lines->a);
	trn_tile_load(&op->src1, p, first, n, lines->b);
	*r = trn_alu_scan(&op->scan, *r, lines->a, lines->a, lines->b, n);
	trn_tile_store(&op->dst, p, first, n, lines->a);
}

enum neuron_cause trn_exec_tensor_scan(struct trn_exec *exec)
{
	const struct neuron_inst *inst = exec->inst;
	struct running op = {
		.exec = exec,
		.scan = {
			.op0 = inst->op0,
			.op1 = inst->op1,
			.reverse0 = inst->flags & NEURON_INST_REVERSE0,
			.reverse1 = inst->flags & NEURON_INST_REVERSE1,
		},
	};
	struct trn_exec_walk walk = {
		.dst = &op.dst,
		.src = { &op.src0, &op.src1 },
		.heavy = true,
		.limit = piece_limit(inst),
		.begin = scan_begin,
		.piece = tensor_scan,
	};
	enum neuron_cause cause;

	if (!trn_exec_arith(exec, inst->op0) || !trn_exec_arith(exec, inst->op1))
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

/* --- dst[i] = acc = (src0[i] op0 s0) op2 acc --- */

static void tensor_cumulative(void *arg, unsigned int p, size_t first, size_t n,
			      const struct trn_lines *lines)
{
	const struct running *op = arg;
	const struct neuron_inst *inst = op->exec->inst;
	bool reverse = inst->flags & NEURON_INST_REVERSE0;
	float s0 = trn_exec_carry(op->exec)[0];
	float *acc = trn_exec_acc(op->exec);

	trn_tile_load(&op->src0, p, first, n, lines->a);
	trn_alu_vs(inst->op0, lines->a, lines->a, s0, reverse, n);
	acc[p] = trn_alu_scan(&op->scan, acc[p], lines->a, lines->a, lines->a, n);
	trn_tile_store(&op->dst, p, first, n, lines->a);
}

static bool cumulative_ops_valid(const struct trn_exec *exec)
{
	const struct neuron_inst *inst = exec->inst;

	if (!trn_exec_arith(exec, inst->op0) || inst->reduce == NEURON_REDUCE_IDLE ||
	    inst->reduce == NEURON_REDUCE_RESET)
		return false;
	switch (inst->op2) {
	case NEURON_ALU_ADD:
	case NEURON_ALU_SUBTRACT:
	case NEURON_ALU_MULTIPLY:
	case NEURON_ALU_MAX:
	case NEURON_ALU_MIN:
		return true;
	}
	return false;
}

/* The public documentation leaves these out. */
static bool cumulative_type_valid(const struct trn_tile *tile)
{
	return tile->dtype != NEURON_DTYPE_INT32 && tile->dtype != NEURON_DTYPE_UINT32 &&
	       tile->dtype != NEURON_DTYPE_TF32;
}

enum neuron_cause trn_exec_tensor_cumulative(struct trn_exec *exec)
{
	/* (x op2 acc) bypass anything */
	struct running op = { .exec = exec, .scan.op0 = exec->inst->op2 };
	struct trn_exec_walk walk = {
		.dst = &op.dst,
		.src = { &op.src0 },
		.heavy = true,
		.limit = piece_limit(exec->inst),
		.begin = scan_begin,
		.piece = tensor_cumulative,
	};
	enum neuron_cause cause;

	if (!cumulative_ops_valid(exec))
		return NEURON_CAUSE_OPERAND;
	cause = trn_exec_equal_pair(exec, &op.dst, &op.src0);
	if (!cause && (!cumulative_type_valid(&op.dst) ||
		       !cumulative_type_valid(&op.src0)))
		cause = NEURON_CAUSE_OPERAND;
	if (!cause)
		cause = trn_exec_scalar(exec, 0, op.dst.partitions, &op.s0);
	if (!cause)
		cause = trn_tile_touch(&op.dst);
	if (!cause)
		cause = trn_exec_acc_begin(exec, op.dst.partitions);
	return cause ? cause : trn_exec_walk_tile(exec, &walk, &op);
}
