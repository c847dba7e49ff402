// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Accumulators of the vector and the scalar engine: one fp32 number for each
 * partition, combined with the results of an instruction that asks for it.
 */
#include <string.h>

#include "base/trn_chip.h"
#include "exec/trn_exec.h"
#include "exec/trn_seq.h"
#include "num/trn_num.h"

/*
 * So many elements of lines stay in the nearest caches until they are accumulated. Nobody looks at
 * the clock meanwhile: one chain of them takes 3 us.
 */
#define LATE_MOST	4096

float *trn_exec_acc(const struct trn_exec *exec)
{
	struct trn_lanes *lanes = exec->core->lanes;

	return exec->seq->engine == NEURON_ENGINE_SCALAR ? lanes->scalar_acc :
							   lanes->vector_acc;
}

/* The neutral element; false: no reduction of accumulators. */
static bool start_of(unsigned int op, float *start)
{
	switch (op) {
	case NEURON_ALU_ADD:
	case NEURON_ALU_SUBTRACT:
	case NEURON_ALU_ABS_MAX:
	case NEURON_ALU_LOGICAL_OR:
	case NEURON_ALU_LOGICAL_XOR:
		*start = 0.0f;
		return true;
	case NEURON_ALU_MULTIPLY:
	case NEURON_ALU_LOGICAL_AND:
		*start = 1.0f;
		return true;
	case NEURON_ALU_MAX:
		*start = -__builtin_inff();
		return true;
	case NEURON_ALU_MIN:
	case NEURON_ALU_ABS_MIN:
		*start = __builtin_inff();
		return true;
	}
	return false;
}

/* NeuronCore-v2's scalar engine only adds; the later ones have five operators. */
static bool op_valid(const struct trn_exec *exec)
{
	unsigned int op = exec->inst->op2;

	switch (exec->seq->engine) {
	case NEURON_ENGINE_VECTOR:
		return trn_exec_magnitude(exec, op);
	case NEURON_ENGINE_SCALAR:
		if (exec->core->chip->gen->generation < 4)
			return op == NEURON_ALU_ADD;
		return op == NEURON_ALU_ADD || op == NEURON_ALU_MAX ||
		       op == NEURON_ALU_MIN || op == NEURON_ALU_ABS_MAX ||
		       op == NEURON_ALU_ABS_MIN;
	default:
		return false;
	}
}

enum neuron_cause trn_exec_acc_begin(struct trn_exec *exec, unsigned int partitions)
{
	const struct neuron_inst *inst = exec->inst;
	float *acc = trn_exec_acc(exec);
	uint32_t bits = inst->addr >> 32;
	float start;
	unsigned int p;

	if (inst->op2 == NEURON_ALU_BYPASS)
		return NEURON_CAUSE_NONE;
	if (!op_valid(exec) || !start_of(inst->op2, &start))
		return NEURON_CAUSE_OPERAND;
	if (inst->reduce == NEURON_REDUCE_IDLE || inst->reduce == NEURON_REDUCE_REDUCE)
		return NEURON_CAUSE_NONE;
	if (inst->reduce == NEURON_REDUCE_LOAD_REDUCE)
		memcpy(&start, &bits, sizeof(start));
	for (p = 0; trn_exec_first(exec) && p < partitions; p++)
		acc[p] = start;
	return NEURON_CAUSE_NONE;
}

void trn_exec_acc_add(struct trn_exec *exec, unsigned int p, const float *line,
		      size_t n)
{
	const struct neuron_inst *inst = exec->inst;
	float *acc = trn_exec_acc(exec);

	if (inst->reduce == NEURON_REDUCE_IDLE || inst->reduce == NEURON_REDUCE_RESET)
		return;
	acc[p] = trn_alu_reduce_from(inst->op2, acc[p], line, n);
}

static bool is_sum(const struct neuron_inst *inst)
{
	return inst->op2 == NEURON_ALU_ADD && inst->reduce != NEURON_REDUCE_IDLE &&
	       inst->reduce != NEURON_REDUCE_RESET;
}

void trn_exec_acc_later(struct trn_exec *exec, unsigned int p, const float *line,
			size_t n)
{
	struct trn_acc_late *late = &exec->late;

	if (!is_sum(exec->inst)) {
		trn_exec_acc_line(exec, p, line, n);
		return;
	}
	if (late->nr && late->row[late->nr - 1].p == p) {
		/* Pieces of a partition lie one behind the other. */
		late->row[late->nr - 1].n += n;
	} else {
		if (late->nr == TRN_SUM_ROWS)
			trn_exec_acc_settle(exec);
		late->row[late->nr].line = line;
		late->row[late->nr].n = n;
		late->row[late->nr++].p = p;
	}
	late->elements += n;
	if (late->elements >= LATE_MOST)
		trn_exec_acc_settle(exec);
}

/* A sum waits for its last addition; meanwhile those of other partitions go on. */
void trn_exec_acc_settle(struct trn_exec *exec)
{
	struct trn_acc_late *late = &exec->late;
	const float *line[TRN_SUM_ROWS];
	float *acc = trn_exec_acc(exec), sum[TRN_SUM_ROWS] = { 0 };
	size_t n = SIZE_MAX;
	unsigned int i;

	for (i = 0; i < TRN_SUM_ROWS; i++) {
		line[i] = late->row[i < late->nr ? i : 0].line;
		if (i < late->nr) {
			sum[i] = acc[late->row[i].p];
			n = late->row[i].n < n ? late->row[i].n : n;
		}
	}
	if (late->nr)
		trn_alu_sum_rows(sum, line, n);
	for (i = 0; i < late->nr; i++)
		acc[late->row[i].p] = trn_alu_reduce_from(NEURON_ALU_ADD, sum[i], line[i] + n,
							  late->row[i].n - n);
	late->nr = 0;
	late->elements = 0;
}

static enum neuron_cause acc_tile(struct trn_exec *exec, const struct neuron_ap *ap,
				  struct trn_tile *tile)
{
	enum neuron_cause cause;

	cause = trn_exec_tile(exec, ap, tile);
	if (cause)
		return cause;
	if (tile->n != 1)
		return NEURON_CAUSE_OPERAND;
	trn_exec_note(exec, tile);
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_exec_acc_read(struct trn_exec *exec)
{
	const float *acc = trn_exec_acc(exec);
	struct trn_tile dst;
	enum neuron_cause cause;
	unsigned int p;
	float value;

	cause = acc_tile(exec, &exec->inst->dst, &dst);
	if (!cause)
		cause = trn_tile_touch(&dst);
	if (cause)
		return cause;
	for (p = 0; p < dst.partitions; p++) {
		value = acc[p];
		if (exec->inst->flags & NEURON_INST_NEGATE)
			trn_alu_vs(NEURON_ALU_MULTIPLY, &value, &value, -1.0f, false, 1);
		trn_tile_store(&dst, p, 0, 1, &value);
	}
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_exec_acc_load(struct trn_exec *exec)
{
	float *acc = trn_exec_acc(exec);
	struct trn_tile src;
	enum neuron_cause cause;
	unsigned int p;

	cause = acc_tile(exec, &exec->inst->src0, &src);
	if (cause)
		return cause;
	for (p = 0; p < src.partitions; p++)
		trn_tile_load(&src, p, 0, 1, &acc[p]);
	return NEURON_CAUSE_NONE;
}
