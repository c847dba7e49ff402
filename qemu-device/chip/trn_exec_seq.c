// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Instructions that the sequencers carry out themselves: registers, branches,
 * memory words, DMA triggers, notifications.
 */
#include "trn_exec.h"

bool trn_exec_add(uint64_t addr, uint64_t delta, uint64_t *sum)
{
	uint64_t offset = NEURON_GET(NEURON_ADDR_WINDOW_OFFSET, addr);

	*sum = addr + delta;
	if (!(addr & NEURON_ADDR_WINDOW))
		return *sum >= addr && !(*sum & NEURON_ADDR_WINDOW);
	return delta <= NEURON_ADDR_WINDOW_OFFSET - offset;
}

static void set_reg(struct trn_seq *seq, unsigned int reg, uint32_t value)
{
	if (reg)
		seq->regs[reg] = value;
}

/* Signed where it matters; shifts by 32 or more give 0. */
static uint32_t reg_alu(unsigned int op, uint32_t a, uint32_t b)
{
	switch (op) {
	case NEURON_ALU_ADD:
		return a + b;
	case NEURON_ALU_SUBTRACT:
		return a - b;
	case NEURON_ALU_MULTIPLY:
		return a * b;
	case NEURON_ALU_MAX:
		return (int32_t)a > (int32_t)b ? a : b;
	case NEURON_ALU_MIN:
		return (int32_t)a < (int32_t)b ? a : b;
	case NEURON_ALU_BITWISE_AND:
		return a & b;
	case NEURON_ALU_BITWISE_OR:
		return a | b;
	case NEURON_ALU_BITWISE_XOR:
		return a ^ b;
	case NEURON_ALU_SHIFT_LEFT:
		return b < 32 ? a << b : 0;
	default:	/* SHIFT_RIGHT: the check let no other one through */
		return b < 32 ? a >> b : 0;
	}
}

static bool compare(unsigned int op, int32_t a, int32_t b)
{
	switch (op) {
	case NEURON_ALU_IS_EQ:
		return a == b;
	case NEURON_ALU_IS_NE:
		return a != b;
	case NEURON_ALU_IS_GE:
		return a >= b;
	case NEURON_ALU_IS_GT:
		return a > b;
	case NEURON_ALU_IS_LE:
		return a <= b;
	case NEURON_ALU_IS_LT:
		return a < b;
	default:	/* BYPASS: the check let no other one through */
		return true;
	}
}

static uint32_t value_of(const struct trn_exec *exec, unsigned int reg)
{
	const struct neuron_inst *inst = exec->inst;

	if (inst->flags & NEURON_INST_IMM)
		return inst->imm0;
	return exec->seq->regs[inst->reg[reg]];
}

static void exec_branch(struct trn_exec *exec)
{
	const struct neuron_inst *inst = exec->inst;
	uint32_t a = exec->seq->regs[inst->reg[0]];

	if (compare(inst->op0, (int32_t)a, (int32_t)value_of(exec, 1)))
		exec->next_pc = inst->addr;
}

/* r0 reads as 0, so a loop on it never ends by itself. */
static void exec_loop(struct trn_exec *exec)
{
	const struct neuron_inst *inst = exec->inst;
	uint32_t count = exec->seq->regs[inst->reg[0]] - 1;

	set_reg(exec->seq, inst->reg[0], count);
	if (count)
		exec->next_pc = inst->addr;
}

static enum neuron_cause word_address(struct trn_exec *exec, uint64_t *addr)
{
	const struct neuron_inst *inst = exec->inst;

	if (trn_exec_add(inst->addr, exec->seq->regs[inst->reg[1]], addr))
		return NEURON_CAUSE_NONE;
	exec->bad_addr = inst->addr;
	return NEURON_CAUSE_WINDOW;
}

/* A store is about to change a semaphore. */
static void record_post(struct trn_access *access, void *arg)
{
	struct trn_exec *exec = arg;
	struct trn_timeline *tl = exec->job->timeline;

	trn_time_exec(tl, exec->seq->engine, access->hops * TRN_COST_HOP_PS);
	trn_time_post(tl, exec->seq->engine, access->post.core, access->post.sem,
		      NEURON_SYNC_POST_ADD, access->post.delta);
}

static enum neuron_cause exec_word(struct trn_exec *exec, bool store)
{
	const struct neuron_inst *inst = exec->inst;
	struct trn_access access = {
		.chip = exec->core->chip,
		.domain = exec->job->domain,
		.posting = record_post,
		.posting_arg = exec,
	};
	enum neuron_cause cause;
	uint32_t word = exec->seq->regs[inst->reg[0]];
	uint64_t addr;

	cause = word_address(exec, &addr);
	if (cause)
		return cause;
	if (store)
		cause = trn_access_write(&access, addr, &word, sizeof(word));
	else
		cause = trn_access_read(&access, addr, &word, sizeof(word));
	if (cause) {
		exec->bad_addr = access.bad_addr;
		return cause;
	}
	if (!store)
		set_reg(exec->seq, inst->reg[0], word);
	if (!access.post.core)
		exec->extra_ps = access.hops * TRN_COST_HOP_PS;
	return NEURON_CAUSE_NONE;
}

static enum neuron_cause exec_trigger(struct trn_exec *exec)
{
	const struct neuron_inst *inst = exec->inst;
	struct trn_job *job = exec->job;
	unsigned int index = inst->reg[0] | inst->reg[1] << 8;

	if (index >= job->nr_queues || !job->queues[index])
		return NEURON_CAUSE_QUEUE;
	trn_time_trigger(job->timeline, exec->seq->engine,
			 TRN_ACTOR_QUEUE + index, inst->imm0);
	return trn_queue_trigger(job->queues[index], inst->imm0, inst->imm1);
}

enum neuron_cause trn_exec_seq(struct trn_exec *exec)
{
	const struct neuron_inst *inst = exec->inst;
	struct trn_seq *seq = exec->seq;

	switch (inst->opcode) {
	case NEURON_OP_HALT:
		exec->halt = true;
		return NEURON_CAUSE_NONE;
	case NEURON_OP_NOP:
		return NEURON_CAUSE_NONE;
	case NEURON_OP_NOTIFY:
		return trn_job_notify(exec->job, seq->engine, inst->imm0,
				      atomic_load(&seq->pc));
	case NEURON_OP_DMA_TRIGGER:
		return exec_trigger(exec);
	case NEURON_OP_REG_SET:
		set_reg(seq, inst->reg[0], inst->imm0);
		return NEURON_CAUSE_NONE;
	case NEURON_OP_REG_ALU:
		set_reg(seq, inst->reg[0],
			reg_alu(inst->op0, seq->regs[inst->reg[1]],
				value_of(exec, 2)));
		return NEURON_CAUSE_NONE;
	case NEURON_OP_BRANCH:
		exec_branch(exec);
		return NEURON_CAUSE_NONE;
	case NEURON_OP_LOOP:
		exec_loop(exec);
		return NEURON_CAUSE_NONE;
	case NEURON_OP_REG_LOAD:
		return exec_word(exec, false);
	case NEURON_OP_REG_STORE:
		return exec_word(exec, true);
	default:
		return NEURON_CAUSE_OPCODE;
	}
}
