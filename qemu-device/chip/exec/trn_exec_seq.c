// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Instructions that the sequencers carry out themselves: registers, branches,
 * memory words, DMA triggers, events, notifications.
 */
#include <inttypes.h>

#include "base/trn_chip.h"
#include "dma/trn_udma.h"
#include "dma/trn_udma_op.h"
#include "exec/trn_exec.h"
#include "exec/trn_seq.h"
#include "hook/trn_check.h"
#include "job/trn_job.h"
#include "mem/trn_access.h"
#include "neuron/address.h"
#include "notify/trn_nq.h"
#include "sync/trn_sem.h"
#include "time/trn_time.h"

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

/* The address @addr + register @reg, in the same window. */
static enum neuron_cause add_register(struct trn_exec *exec, uint64_t addr,
				      unsigned int reg, uint64_t *sum)
{
	struct trn_access access = {
		.chip = exec->core->chip,
		.domain = exec->job->domain,
	};

	if (trn_exec_add(addr, exec->seq->regs[reg], sum))
		return NEURON_CAUSE_NONE;
	exec->bad_addr = addr;
	return trn_access_outside(&access, addr);
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
		.poster = trn_sem_who_engine(exec->core, exec->seq->engine),
		.posting = record_post,
		.posting_arg = exec,
		.check = exec->seq->waiter.check,
	};
	enum neuron_cause cause;
	uint32_t word = exec->seq->regs[inst->reg[0]];
	uint64_t addr;

	cause = add_register(exec, inst->addr, inst->reg[1], &addr);
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

/* The queue that the instruction names, or NULL. */
static struct trn_udma_queue *queue_of(const struct trn_exec *exec,
				       unsigned int *index)
{
	const struct neuron_inst *inst = exec->inst;

	*index = inst->reg[0] | inst->reg[1] << 8;
	return *index < exec->job->nr_queues ? exec->job->queues[*index] : NULL;
}

/* The post of the instruction, if its queues make it. */
static struct trn_landed landed_post(const struct trn_exec *exec)
{
	const struct neuron_inst *inst = exec->inst;

	if (!(trn_isa_flags(inst) & NEURON_INST_LANDED))
		return (struct trn_landed){ .op = NEURON_SYNC_POST_NONE };
	return (struct trn_landed){
		.op = NEURON_GET(NEURON_SYNC_POST, inst->sync),
		.sem = inst->post_sem,
		.value = (int32_t)inst->post_value,
	};
}

/* Queue @index of the job. The trigger was @recorded when it was tried before. */
static enum neuron_cause trigger_one(struct trn_exec *exec, unsigned int index,
				     bool recorded)
{
	const struct trn_landed landed = landed_post(exec);
	const struct neuron_inst *inst = exec->inst;
	struct trn_seq *seq = exec->seq;
	const uint32_t units = inst->imm0 + (landed.op != NEURON_SYNC_POST_NONE);

	if (!recorded) {
		trn_time_trigger(exec->job->timeline, seq->engine,
				 TRN_ACTOR_QUEUE + index, units);
		trn_check_trigger(seq->waiter.check, TRN_ACTOR_QUEUE + index, units,
				  inst->imm1);
	}
	if (landed.op == NEURON_SYNC_POST_NONE)
		return trn_udma_queue_trigger(exec->job->queues[index], inst->imm0, inst->imm1);
	return trn_udma_queue_trigger_landed(exec->job->queues[index], inst->imm0, inst->imm1,
					     &landed, &seq->task, &exec->again);
}

/* From the queue on that had no room, when it is tried again. */
static enum neuron_cause exec_trigger(struct trn_exec *exec)
{
	const struct neuron_inst *inst = exec->inst;
	const bool several = trn_isa_flags(inst) & NEURON_INST_QUEUES;
	unsigned int index, nr = several ? inst->reg[2] : 1;
	struct trn_seq *seq = exec->seq;
	bool recorded = seq->begun;
	enum neuron_cause cause;

	if (!queue_of(exec, &index) || index + nr > exec->job->nr_queues)
		return NEURON_CAUSE_QUEUE;
	for (; seq->triggered < nr; seq->triggered++) {
		cause = trigger_one(exec, index + seq->triggered, recorded);
		if (cause || exec->again)
			return cause;
		recorded = false;
	}
	return NEURON_CAUSE_NONE;
}

/* Base addresses of one side: @used of them, moved by a register; the rest 0. */
static enum neuron_cause move_bases(struct trn_exec *exec, __le64 base[],
				    unsigned int used, unsigned int nr,
				    unsigned int reg)
{
	enum neuron_cause cause;
	uint64_t sum;
	unsigned int i;

	for (i = 0; i < used; i++) {
		cause = add_register(exec, base[i], reg, &sum);
		if (cause)
			return cause;
		base[i] = sum;
	}
	for (; i < nr; i++)
		if (base[i])
			return NEURON_CAUSE_DESC;
	return NEURON_CAUSE_NONE;
}

static enum neuron_cause check_block(struct trn_exec *exec,
				     const struct neuron_udma_dge *dge)
{
	enum neuron_cause cause;
	const char *why;

	cause = trn_udma_op_check(&dge->op, &why);
	if (cause)
		trn_log(exec->core->chip, TRN_LOG_GUEST_ERROR,
			"%s: DMA operation at %#" PRIx64 " refused: %s",
			exec->core->name, (uint64_t)exec->inst->addr, why);
	return cause;
}

/*
 * The length of a dimension from a register. TRANSPOSE changes its inner dimensions
 * about; a list of indices is as long as what it walks.
 */
static void patch_length(const struct trn_exec *exec, struct neuron_udma_op *op)
{
	const unsigned int dim = exec->inst->imm1;
	const uint32_t length = exec->seq->regs[exec->inst->imm0];
	const bool turned = op->op == NEURON_UDMA_OP_TRANSPOSE && dim < 2;

	op->src.num[dim] = length;
	op->dst.num[turned ? 1 - dim : dim] = length;
	if (dim == 3 && op->flags & (NEURON_UDMA_OP_SRC_INDEXED | NEURON_UDMA_OP_DST_INDEXED))
		op->nr_index = length;
}

static bool takes_length(const struct trn_exec *exec)
{
	return trn_isa_flags(exec->inst) & NEURON_INST_LENGTH;
}

/* Nothing is to be moved, and the block is not looked at. */
static bool is_empty(const struct trn_exec *exec)
{
	return takes_length(exec) && !exec->seq->regs[exec->inst->imm0];
}

/* The block of a DMA_GENERATE, checked, with its registers added. */
static enum neuron_cause read_block(struct trn_exec *exec,
				    struct neuron_udma_dge *dge)
{
	const struct neuron_inst *inst = exec->inst;
	struct trn_access access = {
		.chip = exec->core->chip,
		.domain = exec->job->domain,
		.memory_only = true,
	};
	enum neuron_cause cause;

	exec->bad_addr = inst->addr;
	if (inst->addr % NEURON_UDMA_OP_ALIGN)
		return NEURON_CAUSE_OPERAND;
	cause = trn_access_read(&access, inst->addr, dge, sizeof(*dge));
	if (!cause && takes_length(exec))
		patch_length(exec, &dge->op);
	if (!cause)
		cause = check_block(exec, dge);
	if (!cause)
		cause = move_bases(exec, dge->src, dge->op.nr_src,
				   NEURON_UDMA_OP_MAX_SRC, inst->reg[2]);
	if (!cause)
		cause = move_bases(exec, dge->dst, dge->op.nr_dst,
				   NEURON_UDMA_OP_MAX_DST, inst->reg[3]);
	return cause;
}

/* Descriptors are made beside the scalar engine's own work, as the guides say. */
static void record_generation(const struct trn_exec *exec)
{
	enum neuron_engine engine = exec->seq->engine;
	const struct trn_time_work work = {
		.class = engine == NEURON_ENGINE_SCALAR ? TRN_TIME_BACKGROUND :
							  TRN_TIME_PLAIN,
		.cost_ps = TRN_COST_DGE_PS,
	};

	trn_time_work(exec->job->timeline, engine, &work);
}

/*
 * The trigger is recorded when it is first tried: how long a queue has no room
 * is a matter of the host, not of device time.
 */
static enum neuron_cause exec_generate(struct trn_exec *exec)
{
	const struct trn_landed landed = landed_post(exec);
	const bool empty = is_empty(exec);
	struct trn_seq *seq = exec->seq;
	struct neuron_udma_dge dge;
	struct trn_udma_queue *queue;
	enum neuron_cause cause;
	unsigned int index;

	queue = queue_of(exec, &index);
	if (!queue)
		return NEURON_CAUSE_QUEUE;
	cause = trn_exec_check_generate(exec, NULL);
	if (!cause && !empty)
		cause = read_block(exec, &dge);
	if (!cause && !empty)
		cause = trn_exec_check_generate(exec, &dge.op);
	if (cause)
		return cause;
	if (!seq->begun) {
		record_generation(exec);
		trn_time_trigger(exec->job->timeline, seq->engine,
				 TRN_ACTOR_QUEUE + index, 1);
		trn_check_trigger(seq->waiter.check, TRN_ACTOR_QUEUE + index, 1, 0);
	}
	return trn_udma_queue_generate(queue, empty ? NULL : &dge, &landed, &seq->task,
				       &exec->again);
}

/* An entry for the core's notification queues, from this instruction. */
static void report(struct trn_exec *exec, unsigned int type, uint32_t code)
{
	struct trn_nq_event event = {
		.engine = exec->seq->engine,
		.type = type,
		.code = code,
		.pc = atomic_load(&exec->seq->pc),
		.time_ns = trn_time_actor(exec->job->timeline,
					  exec->seq->engine),
		.job_id = exec->job->block.job_id,
	};

	trn_nq_of_core(exec->core, &event);
	trn_nq_post(exec->core->chip, &event);
}

static enum neuron_cause exec_notify(struct trn_exec *exec)
{
	enum neuron_cause cause;

	cause = trn_job_notify(exec->job, exec->seq->engine, exec->inst->imm0,
			       atomic_load(&exec->seq->pc));
	if (!cause)
		report(exec, NEURON_NQ_TYPE_NOTIFY, exec->inst->imm0);
	return cause;
}

/* As a post, the change is recorded before it is made. */
static void exec_event(struct trn_exec *exec, bool value)
{
	unsigned int event = exec->inst->imm0;

	trn_time_post(exec->job->timeline, exec->seq->engine, exec->core,
		      TRN_SEM_OF_EVENT(event), NEURON_SYNC_POST_SET, value);
	if (trn_event_write(exec->core->sems, event, value,
			    exec->seq->waiter.check))
		report(exec, NEURON_NQ_TYPE_EVENT, event);
}

/* As if each semaphore had a post that sets it to 0, in ascending order. */
static void exec_range_clear(struct trn_exec *exec)
{
	unsigned int engine = exec->seq->engine;
	struct trn_core *core = exec->core;
	unsigned int sem;

	for (sem = exec->inst->imm0; sem <= exec->inst->imm1; sem++) {
		trn_time_post(exec->job->timeline, engine, core, sem,
			      NEURON_SYNC_POST_SET, 0);
		trn_sem_post(core->sems, sem, NEURON_SYNC_POST_SET, 0,
			     trn_sem_who_engine(core, engine),
			     exec->seq->waiter.check);
	}
}

static void exec_event_wait(struct trn_exec *exec)
{
	bool clear = exec->inst->flags & NEURON_INST_CLEAR;
	unsigned int event = exec->inst->imm0;
	struct trn_seq *seq = exec->seq;
	unsigned int sync;

	atomic_store(&seq->wait_sem, event | NEURON_CORE_WAIT_EVENT);
	atomic_store(&seq->status, NEURON_ENGINE_WAITING);
	sync = NEURON_PUT(NEURON_SYNC_WAIT, NEURON_SYNC_WAIT_GE) |
	       (clear ? NEURON_SYNC_TAKE : 0);
	trn_time_wait_begin(exec->job->timeline, seq->engine,
			    TRN_SEM_OF_EVENT(event), sync, 1);
	exec->again = !trn_event_wait(exec->core->sems, event, clear,
				      &seq->waiter);
	if (exec->again)
		return;
	atomic_store(&seq->status, NEURON_ENGINE_RUNNING);
	atomic_store(&seq->wait_sem, 0);
	trn_time_wait(exec->job->timeline, seq->engine, TRN_SEM_OF_EVENT(event),
		      sync, 1);
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
		return exec_notify(exec);
	case NEURON_OP_EVENT_SET:
		exec_event(exec, true);
		return NEURON_CAUSE_NONE;
	case NEURON_OP_EVENT_CLEAR:
		exec_event(exec, false);
		return NEURON_CAUSE_NONE;
	case NEURON_OP_EVENT_WAIT:
		exec_event_wait(exec);
		return NEURON_CAUSE_NONE;
	case NEURON_OP_SEM_RANGE_CLEAR:
		exec_range_clear(exec);
		return NEURON_CAUSE_NONE;
	case NEURON_OP_DMA_TRIGGER:
		return exec_trigger(exec);
	case NEURON_OP_DMA_GENERATE:
		return exec_generate(exec);
	case NEURON_OP_REG_SET:
		set_reg(seq, inst->reg[0], inst->imm0);
		return NEURON_CAUSE_NONE;
	case NEURON_OP_REG_RANK:
		set_reg(seq, inst->reg[0], exec->job->block.rank);
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
