// SPDX-License-Identifier: MIT
/* Programs of sync_program.h as calls of the builder: for it to synchronise, or in turns. */
#include <stdio.h>
#include <string.h>

#include "sync_program.h"

#define F32		NEURON_DTYPE_FP32
#define BARRIER_REG	20

const struct sync_queue sync_queue[SYNC_NR_QUEUES] = {
	{ "a", "data", NEURON_ENGINE_SYNC, 1 },
	{ "b", "data", NEURON_ENGINE_SCALAR, 1 },
	{ "c", "data", NEURON_ENGINE_SYNC, 4 },
	{ "d", "data", NEURON_ENGINE_GPSIMD, 2 },
	{ "made", "dynamic", NEURON_ENGINE_SYNC, 1 },
};

/**
 * struct meeting - what an engine of a core of a pair meets the other core with
 * @ready: the own semaphore
 * @other: the variable of the other core's
 */
struct meeting {
	int ready;
	int other;
};

/* Both cores make the same semaphores, so the numbers are equal. */
static void begin_pair(struct nb_program *nb, struct meeting *meeting)
{
	char name[16];
	unsigned int e;

	nb_sibling_sbuf(nb, "sibling");
	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		snprintf(name, sizeof(name), "other%u", e);
		meeting[e].ready = nb_sem(nb, false);
		meeting[e].other = nb_sibling_sem(nb, name, meeting[e].ready, 1);
	}
}

static void begin(struct nb_program *nb, const struct sync_program *program,
		  struct meeting *meeting)
{
	const uint32_t matrix[] = { SYNC_ROWS, SYNC_BYTES / 4 };
	const uint32_t wide[] = { SYNC_ROWS, SYNC_WIDE / 4 };
	const uint32_t indices[] = { SYNC_ROWS, SYNC_BYTES / 2 };
	unsigned int i;

	nb_input(nb, "x", F32, 2, matrix);
	nb_output(nb, "t", F32, 2, matrix);
	nb_output(nb, "y", F32, 2, matrix);
	nb_output(nb, program->core ? "s1" : "s", F32, 2, wide);
	nb_output(nb, program->core ? "p1" : "p", F32, 2, wide);
	nb_input(nb, "indices", NEURON_DTYPE_UINT32, 2, indices);
	nb_sbuf(nb);
	nb_file(nb, "blocks", program->block, sizeof(program->block));
	for (i = 0; i < SYNC_NR_QUEUES; i++)
		nb_queue(nb, sync_queue[i].name, sync_queue[i].type, sync_queue[i].owner,
			 sync_queue[i].queues);
	if (program->pair)
		begin_pair(nb, meeting);
}

/* Queues have numbers of their own in the job. */
static struct neuron_inst with_queue(const struct nb_program *nb, struct neuron_inst inst)
{
	if (inst.opcode == NEURON_OP_DMA_GENERATE)
		inst.reg[0] = nb_queue_index(nb, SYNC_QUEUE_MADE);
	return inst;
}

/* The end of the loop that begins at @first; *@engines: those that have something in it. */
static unsigned int end_of(const struct sync_program *program, unsigned int first,
			   unsigned int *engines)
{
	unsigned int i, depth = 0;

	*engines = 0;
	for (i = first; i < program->nr_ops; i++) {
		const struct sync_op *op = &program->op[i];

		if (op->kind == SYNC_OP_DMA)
			*engines |= NEURON_BIT(sync_queue[op->queue].owner);
		else if (op->kind == SYNC_OP_INST)
			*engines |= NEURON_BIT(op->engine);
		else if (op->kind == SYNC_OP_BEGIN)
			depth++;
		else if (op->kind == SYNC_OP_END && !--depth)
			break;
	}
	return i;
}

/* The nb_else() of the branch from @first to @end; @end: it has none. */
static unsigned int else_of(const struct sync_program *program, unsigned int first,
			    unsigned int end)
{
	unsigned int i, depth = 0;

	for (i = first; i < end; i++) {
		if (program->op[i].kind == SYNC_OP_BEGIN)
			depth++;
		else if (program->op[i].kind == SYNC_OP_END)
			depth--;
		else if (program->op[i].kind == SYNC_OP_ELSE && depth == 1)
			return i;
	}
	return end;
}

static void begin_loop(struct nb_program *nb, const struct sync_program *program,
		       unsigned int first)
{
	const struct sync_op *op = &program->op[first];
	unsigned int engines, e;

	if (!op->test && !op->branch) {
		nb_begin_loop(nb, op->reg, op->count);
		return;
	}
	end_of(program, first, &engines);
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		if (engines & NEURON_BIT(e))
			nb_reg_set(nb, e, op->reg, op->count);
	if (op->branch) {
		nb_begin_if(nb, NEURON_ALU_IS_NE, op->reg, 0, 0);
		return;
	}
	nb_begin_while(nb, NEURON_ALU_IS_GT, op->reg, 0, 0);
	/* At its begin, so that the test is not the next instruction. */
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		if (engines & NEURON_BIT(e))
			nb_reg_alu(nb, e, NEURON_ALU_SUBTRACT, op->reg, op->reg, 1);
}

static struct nb_program *in_one(const struct sync_program *program,
				 void (*emit)(struct nb_program *nb,
					      const struct sync_program *program))
{
	struct nb_program *nb = nb_new("by chance");

	if (!nb)
		return NULL;
	emit(nb, program);
	if (program->pair && nb_second(nb))
		emit(nb_second(nb), program + 1);
	return nb;
}

static void emit_auto(struct nb_program *nb, const struct sync_program *program)
{
	struct meeting meeting[NEURON_NR_ENGINES];
	unsigned int depth = 0, i;
	struct neuron_inst inst;
	bool branch[SYNC_OPS];

	begin(nb, program, meeting);
	nb_auto(nb);
	for (i = 0; i < SYNC_TILES; i++)
		nb_tile_at(nb, NB_SBUF, 0, 128, i * SYNC_BYTES, F32, SYNC_BYTES / 4);
	for (i = 0; i < program->nr_ops; i++) {
		const struct sync_op *op = &program->op[i];

		nb_source(nb, "by chance", i + 1);
		if (op->kind == SYNC_OP_DMA) {
			nb_dma(nb, op->queue, op->to, op->from, -1);
		} else if (op->kind == SYNC_OP_BEGIN) {
			branch[depth++] = op->branch;
			begin_loop(nb, program, i);
		} else if (op->kind == SYNC_OP_ELSE) {
			nb_else(nb);
		} else if (op->kind == SYNC_OP_BARRIER) {
			nb_core_barrier(nb, op->engine, meeting[op->engine].other,
					meeting[op->engine].ready, BARRIER_REG);
		} else if (op->kind == SYNC_OP_END) {
			if (branch[--depth])
				nb_end_if(nb);
			else
				nb_end_loop(nb);
		} else {
			inst = with_queue(nb, op->inst);
			nb_raw(nb, op->engine, &inst);
		}
	}
}

struct nb_program *sync_program_auto(const struct sync_program *program)
{
	return in_one(program, emit_auto);
}

/* Whose turn it is: a semaphore that counts all that has been done. */
struct turn {
	struct nb_program *nb;
	int sem;
	int32_t count;
	struct meeting meeting[NEURON_NR_ENGINES];
};

static struct neuron_inst *take_turn(struct turn *turn, struct neuron_inst *inst)
{
	return nb_post(nb_wait(inst, turn->sem, turn->count++), turn->sem, 1);
}

/* As nb_core_barrier(), whose instructions have no turns. */
static void serial_barrier(struct turn *turn, enum neuron_engine e)
{
	const struct meeting *meeting = &turn->meeting[e];

	take_turn(turn, nb_reg_set(turn->nb, e, BARRIER_REG, 1));
	take_turn(turn, nb_reg_store(turn->nb, e, meeting->other, 0, 0, BARRIER_REG));
	nb_post(nb_wait_take(nb_nop(turn->nb, e), meeting->ready, 1), turn->sem, 1);
	turn->count++;
}

static void serial_op(struct turn *turn, const struct sync_op *op)
{
	struct neuron_inst inst;

	if (op->kind == SYNC_OP_DMA) {
		nb_wait(nb_dma(turn->nb, op->queue, op->to, op->from, turn->sem), turn->sem,
			turn->count);
		turn->count += sync_queue[op->queue].queues;
		return;
	}
	if (op->kind == SYNC_OP_BARRIER) {
		serial_barrier(turn, op->engine);
		return;
	}
	inst = with_queue(turn->nb, op->inst);
	take_turn(turn, &inst);
	if (inst.opcode == NEURON_OP_DMA_GENERATE)
		inst.mode |= NEURON_INST_LANDED >> 8;
	nb_raw(turn->nb, op->engine, &inst);
}

static void serial_ops(struct turn *turn, const struct sync_program *program, unsigned int first);

static void serial_block(struct turn *turn, const struct sync_program *program,
			 unsigned int first, unsigned int end)
{
	const struct sync_op *op = &program->op[first];
	unsigned int round, other;

	for (round = 0; round < op->count; round++)
		serial_ops(turn, program, first + 1);
	if (!op->branch || op->count)
		return;
	other = else_of(program, first, end);
	if (other < end)
		serial_ops(turn, program, other + 1);
}

/* Up to the end of the loop or the part of a branch that begins before @first. */
static void serial_ops(struct turn *turn, const struct sync_program *program, unsigned int first)
{
	unsigned int i, end, engines;

	for (i = first; i < program->nr_ops; i++) {
		const struct sync_op *op = &program->op[i];

		if (op->kind == SYNC_OP_END || op->kind == SYNC_OP_ELSE)
			return;
		if (op->kind != SYNC_OP_BEGIN) {
			serial_op(turn, op);
			continue;
		}
		end = end_of(program, i, &engines);
		serial_block(turn, program, i, end);
		i = end;
	}
}

static void emit_serial(struct nb_program *nb, const struct sync_program *program)
{
	struct turn turn = { .nb = nb };
	unsigned int e;

	begin(nb, program, turn.meeting);
	turn.sem = nb_sem(nb, false);
	serial_ops(&turn, program, 0);
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		nb_halt(nb, e);
}

struct nb_program *sync_program_serial(const struct sync_program *program)
{
	return in_one(program, emit_serial);
}
