// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The sequencer: a task that fetches, checks, waits, executes and posts.
 *
 * It runs until it halts, faults, waits for a semaphore or has used its budget.
 * A stop of the job or of the chip is noticed between instructions, and between the
 * pieces of one that takes long.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/trn_chip.h"
#include "core/trn_core.h"
#include "core/trn_park.h"
#include "exec/trn_exec.h"
#include "exec/trn_resume.h"
#include "exec/trn_seq.h"
#include "hook/trn_check.h"
#include "hook/trn_inject.h"
#include "hook/trn_observe.h"
#include "hook/trn_watch.h"
#include "job/trn_job.h"
#include "mem/trn_access.h"
#include "notify/trn_nq.h"
#include "sync/trn_sem.h"
#include "time/trn_time.h"

static struct trn_seq *seq_of(struct trn_task *task)
{
	return (struct trn_seq *)(void *)((char *)task -
					  offsetof(struct trn_seq, task));
}

/* There is no instruction any more: what has been done of it stays half done. */
static void seq_drop(struct trn_seq *seq)
{
	seq->fetched = false;
	seq->begun = false;
	seq->triggered = 0;
	trn_exec_leave(seq);
	if (seq->untidy)
		trn_exec_tidy(seq, NULL);
}

/* Halt; the job may be gone when this returns. */
static void seq_finish(struct trn_seq *seq)
{
	struct trn_job *job = atomic_load(&seq->job);

	trn_sem_cancel(seq->core->sems, &seq->waiter);
	seq->waiter.check = NULL;
	seq_drop(seq);
	trn_time_stop(job->timeline, seq->engine);
	trn_job_turn_ends(job);
	atomic_store(&seq->job, NULL);
	atomic_store(&seq->wait_sem, 0);
	atomic_store(&seq->hold, TRN_HOLD_NONE);
	atomic_store(&seq->status, NEURON_ENGINE_HALTED);
	trn_job_put(job);
}

static void seq_fault(struct trn_seq *seq, enum neuron_cause cause,
		      uint64_t addr)
{
	struct trn_fault fault = {
		.cause = cause,
		.source = (uint16_t)seq->engine,
		.pc = atomic_load(&seq->pc),
		.addr = addr,
	};
	char text[TRN_ISA_TEXT_MAX] = "(not fetched)";
	char line[24] = "";

	if (seq->fetched)
		trn_isa_format(text, sizeof(text), &seq->inst);
	if (seq->fetched && seq->inst.debug)
		snprintf(line, sizeof(line), " (line %u)", seq->inst.debug);
	trn_log(seq->core->chip, TRN_LOG_GUEST_ERROR,
		"%s %s engine stopped at instruction %u%s: %s: %s",
		seq->core->name, trn_isa_engine_name(seq->engine), fault.pc,
		line, trn_cause_name(cause), text);
	trn_job_fault(seq->job, seq->engine, &fault);
}

static enum neuron_cause seq_fetch(struct trn_seq *seq, struct trn_access *access,
				   uint64_t *bad_addr)
{
	uint32_t pc = atomic_load(&seq->pc);
	enum neuron_cause cause;
	uint64_t addr;

	if (pc >= seq->count)
		return NEURON_CAUSE_PC;
	if (!trn_exec_add(seq->base, (uint64_t)pc * NEURON_INST_SIZE, &addr)) {
		*bad_addr = seq->base;
		return trn_access_outside(access, seq->base);
	}
	cause = trn_access_read(access, addr, &seq->inst, sizeof(seq->inst));
	if (cause) {
		*bad_addr = access->bad_addr;
		return cause;
	}
	seq->fetched = true;
	return NEURON_CAUSE_NONE;
}

static bool owns_sems(const struct trn_job *job, unsigned int first,
		      unsigned int last)
{
	unsigned int i;

	for (i = first; i <= last; i++)
		if (!trn_job_owns_sem(job, i))
			return false;
	return true;
}

static enum neuron_cause check_inst(struct trn_seq *seq)
{
	struct neuron_inst *known;
	enum neuron_cause cause;

	if (!seq->known)
		return trn_isa_check(&seq->inst, seq->engine);
	known = &seq->known[atomic_load(&seq->pc) % TRN_SEQ_KNOWN];
	if (seq->inst.opcode != NEURON_OP_ILLEGAL &&
	    !memcmp(known, &seq->inst, sizeof(*known)))
		return NEURON_CAUSE_NONE;
	cause = trn_isa_check(&seq->inst, seq->engine);
	if (!cause)
		*known = seq->inst;
	return cause;
}

enum neuron_cause trn_seq_check(struct trn_seq *seq)
{
	const struct neuron_inst *inst = &seq->inst;
	const struct trn_isa *isa;
	enum neuron_cause cause;

	cause = check_inst(seq);
	if (cause)
		return cause;
	isa = trn_isa_lookup(inst->opcode);
	if (isa->generation > seq->core->chip->gen->generation)
		return NEURON_CAUSE_OPCODE;
	if (trn_isa_flags(inst) & NEURON_INST_LENGTH && seq->core->chip->gen->generation < 3)
		return NEURON_CAUSE_OPERAND;
	if ((inst->sync & NEURON_SYNC_WAIT) &&
	    !trn_job_owns_sem(seq->job, inst->wait_sem))
		return NEURON_CAUSE_SEMAPHORE;
	if ((inst->sync & NEURON_SYNC_POST) &&
	    !trn_job_owns_sem(seq->job, inst->post_sem))
		return NEURON_CAUSE_SEMAPHORE;
	if (isa->operand[0] == TRN_OPD_EVENT &&
	    !trn_job_owns_event(seq->job, inst->imm0))
		return NEURON_CAUSE_SEMAPHORE;
	if (isa->operand[0] == TRN_OPD_SEM0 &&
	    !owns_sems(seq->job, inst->imm0, inst->imm1))
		return NEURON_CAUSE_SEMAPHORE;
	return NEURON_CAUSE_NONE;
}

/* False: the task is on the semaphore's list and will be kicked. */
static bool seq_wait(struct trn_seq *seq)
{
	const struct neuron_inst *inst = &seq->inst;

	if (!(inst->sync & NEURON_SYNC_WAIT))
		return true;
	atomic_store(&seq->wait_sem, inst->wait_sem);
	atomic_store(&seq->status, NEURON_ENGINE_WAITING);
	trn_time_wait_begin(seq->job->timeline, seq->engine, inst->wait_sem,
			    inst->sync, (int32_t)inst->wait_value);
	if (!trn_sem_wait(seq->core->sems, inst->wait_sem, inst->sync,
			  (int32_t)inst->wait_value, &seq->waiter))
		return false;
	atomic_store(&seq->status, NEURON_ENGINE_RUNNING);
	atomic_store(&seq->wait_sem, 0);
	trn_time_wait(seq->job->timeline, seq->engine, inst->wait_sem, inst->sync,
		      (int32_t)inst->wait_value);
	return true;
}

/*
 * The post is recorded before it is made: whoever it wakes may have its own time
 * worked out at once.
 */
static void seq_post(struct trn_seq *seq)
{
	const struct neuron_inst *inst = &seq->inst;
	unsigned int op = NEURON_GET(NEURON_SYNC_POST, inst->sync);

	if (op == NEURON_SYNC_POST_NONE || trn_isa_flags(inst) & NEURON_INST_LANDED)
		return;
	trn_time_post(seq->job->timeline, seq->engine, seq->core, inst->post_sem,
		      op, (int32_t)inst->post_value);
	trn_sem_post(seq->core->sems, inst->post_sem, op,
		     (int32_t)inst->post_value,
		     trn_sem_who_engine(seq->core, seq->engine),
		     seq->waiter.check);
}

/* With its times when they are known; else an implicit notification at once. */
static void seq_trace(struct trn_seq *seq, bool nan)
{
	const uint32_t pc = atomic_load(&seq->pc);
	struct trn_core *core = seq->core;
	uint32_t code = seq->inst.opcode;
	struct trn_nq_event event;

	if (seq->job->trace && nan)
		code |= TRN_TIME_NAN;
	if (trn_time_trace(seq->job->timeline, seq->engine, code, pc, 0))
		return;
	trn_job_trace_lose(seq->job);
	if (!trn_nq_traces(core, seq->engine))
		return;
	event = (struct trn_nq_event){
		.engine = seq->engine,
		.type = NEURON_NQ_TYPE_TRACE,
		.code = seq->inst.opcode,
		.pc = pc,
		.job_id = seq->job->block.job_id,
	};
	trn_nq_of_core(core, &event);
	trn_nq_post(core->chip, &event);
}

static void seq_retire(struct trn_seq *seq, const struct trn_exec *exec)
{
	bool traced = seq->job->trace || trn_nq_traces(seq->core, seq->engine);
	bool nan = (seq->job->trace || trn_observe_minds_nan(seq)) && trn_exec_wrote_nan(exec);

	trn_seq_account(seq, exec, traced);
	atomic_fetch_add_explicit(&seq->job->instructions, 1,
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&seq->core->progress, 1, memory_order_relaxed);
	seq->retired++;
	if (traced)
		seq_trace(seq, nan);
	if (nan)
		trn_observe_nan(seq, exec);
	seq_post(seq);
}

enum seq_step { STEP_NEXT, STEP_PARKED, STEP_LATER, STEP_DONE };

/* Some instructions work for longer than a thread of the host may be held up. */
static bool seq_allowed(const struct trn_seq *seq, struct trn_budget *budget)
{
	const struct trn_isa *isa = trn_isa_lookup(seq->inst.opcode);

	return isa->unit == TRN_ISA_SEQUENCER ||
	       trn_budget_allows(budget, TRN_WORK_LONG);
}

/* A fault on demand: nothing more, while there is such a rule or until a reset. */
static bool seq_hangs(struct trn_seq *seq)
{
	struct trn_chip *chip = seq->core->chip;
	bool hung = seq->hung;

	if (seq->fetched)
		return false;
	seq->hung = hung ? trn_inject_armed(chip, TRN_INJECT_ENGINE_HANG) :
			   trn_inject(chip, TRN_INJECT_ENGINE_HANG,
				      seq->core->index * 8 + seq->engine, NULL);
	if (seq->hung && !hung)
		trn_log(chip, TRN_LOG_INFO,
			"%s %s engine hangs on demand at instruction %u",
			seq->core->name, trn_isa_engine_name(seq->engine),
			atomic_load(&seq->pc));
	return seq->hung;
}

/* Field by field: the compiler clears a struct of this size by a slow instruction. */
static void exec_begin(struct trn_exec *exec, struct trn_seq *seq,
		       struct trn_budget *budget)
{
	exec->seq = seq;
	exec->core = seq->core;
	exec->job = seq->job;
	exec->inst = &seq->inst;
	exec->isa = NULL;
	exec->work = (struct trn_work){ 0 };
	exec->next_pc = (uint64_t)atomic_load(&seq->pc) + 1;
	exec->halt = false;
	exec->again = false;
	exec->more = false;
	exec->budget = budget;
	exec->extra_ps = 0;
	exec->bad_addr = 0;
	exec->late.nr = 0;
	exec->late.elements = 0;
}

/* One instruction, or as much of it as can be done now; @fetch: of the image. */
static enum seq_step seq_step(struct trn_seq *seq, struct trn_access *fetch,
			      struct trn_budget *budget)
{
	enum neuron_cause cause = NEURON_CAUSE_NONE;
	struct trn_exec exec;

	if (seq->untidy && !trn_exec_tidy(seq, budget))
		return STEP_LATER;
	exec_begin(&exec, seq, budget);
	if (seq_hangs(seq))
		return STEP_PARKED;
	if (!seq->fetched) {
		cause = seq_fetch(seq, fetch, &exec.bad_addr);
		if (!cause)
			cause = trn_seq_check(seq);
		if (cause)
			goto fault;
	}
	if (!seq_allowed(seq, budget))
		return STEP_LATER;
	if (!seq->resume.cut && !trn_observe_go(seq))
		return STEP_PARKED;
	if (!seq->begun && !seq_wait(seq))
		return STEP_PARKED;
	exec.isa = trn_isa_lookup(seq->inst.opcode);
	if (seq->mode.rounding == TRN_ROUND_STOCHASTIC)
		seq->mode.sr_key = trn_sr_key(seq->sr_seed, seq->engine, seq->retired);
	cause = seq->job->check ? trn_check_exec(&exec) : trn_exec_dispatch(&exec);
	if (cause)
		goto fault;
	seq->begun = exec.again || exec.more;
	if (exec.again)
		return STEP_PARKED;
	/* Why it was cut the caller sees itself. */
	if (exec.more)
		return STEP_NEXT;
	seq->triggered = 0;
	seq_retire(seq, &exec);
	trn_observe_done(seq);
	if (exec.halt)
		return STEP_DONE;
	seq->fetched = false;
	if (exec.next_pc >= seq->count) {
		atomic_store(&seq->pc, exec.next_pc > UINT32_MAX ?
			     UINT32_MAX : (uint32_t)exec.next_pc);
		cause = NEURON_CAUSE_PC;
		goto fault;
	}
	atomic_store(&seq->pc, (uint32_t)exec.next_pc);
	return STEP_NEXT;

fault:
	if (trn_watched(seq->core->chip))
		trn_watch_give_up(seq->core->chip);
	seq_fault(seq, cause, exec.bad_addr);
	return STEP_DONE;
}

static enum trn_run seq_run(struct trn_task *task, struct trn_budget *budget)
{
	struct trn_seq *seq = seq_of(task);
	struct trn_access fetch = { .chip = seq->core->chip };
	struct trn_job *job;

	/* In this order: a device reset frees the job of a stopped chip. */
	if (atomic_load(&seq->core->chip->stopping))
		return TRN_RUN_IDLE;
	job = atomic_load(&seq->job);
	if (!job)
		return TRN_RUN_IDLE;
	fetch.domain = job->domain;
	do {
		if (atomic_load(&seq->core->chip->stopping))
			return TRN_RUN_IDLE;
		if (atomic_load(&job->stop) || trn_job_past_fault(job, seq->engine)) {
			seq_finish(seq);
			return TRN_RUN_IDLE;
		}
		switch (seq_step(seq, &fetch, budget)) {
		case STEP_NEXT:
			break;
		case STEP_LATER:
			return TRN_RUN_AGAIN;
		case STEP_PARKED:
			trn_job_turn_ends(job);
			return TRN_RUN_IDLE;
		case STEP_DONE:
			seq_finish(seq);
			return TRN_RUN_IDLE;
		}
	} while (!trn_budget_spent(budget));
	return TRN_RUN_AGAIN;
}

void trn_seq_init(struct trn_seq *seq, struct trn_core *core,
		  enum neuron_engine engine)
{
	seq->core = core;
	seq->engine = engine;
	seq->waiter.task = &seq->task;
	trn_task_init(&seq->task, core->chip->pool, seq_run);
}

void trn_seq_destroy(struct trn_seq *seq)
{
	free(seq->known);
}

static void seq_clear_mode(struct trn_seq *seq)
{
	memset(&seq->mode, 0, sizeof(seq->mode));
	seq->sr_seed = 0;
	seq->retired = 0;
}

/* A job does not see what the one before it left in the engine. */
static void seq_start_unit(struct trn_seq *seq)
{
	struct trn_core *core = seq->core;
	struct trn_lanes *lanes = core->lanes;

	switch (seq->engine) {
	case NEURON_ENGINE_TENSOR:
		memset(core->array->part, 0, sizeof(core->array->part));
		break;
	case NEURON_ENGINE_VECTOR:
		memset(lanes->vector_acc, 0, sizeof(lanes->vector_acc));
		lanes->vector_seeded = false;
		break;
	case NEURON_ENGINE_SCALAR:
		memset(lanes->scalar_acc, 0, sizeof(lanes->scalar_acc));
		break;
	case NEURON_ENGINE_GPSIMD:
		lanes->gpsimd_seeded = false;
		break;
	default:
		break;
	}
}

void trn_seq_start(struct trn_seq *seq, const struct neuron_hw_start *start)
{
	seq->base = start->addr;
	seq->count = start->count;
	seq_drop(seq);
	seq->hung = false;
	memset(seq->regs, 0, sizeof(seq->regs));
	seq_clear_mode(seq);
	if (!seq->known)
		seq->known = calloc(TRN_SEQ_KNOWN, sizeof(*seq->known));
	atomic_store(&seq->pc, 0);
	atomic_store(&seq->wait_sem, 0);
	atomic_store(&seq->hold, TRN_HOLD_NONE);
	atomic_store(&seq->status, NEURON_ENGINE_RUNNING);
	seq_start_unit(seq);
	seq->waiter.check = trn_check_actor(seq->core->job, seq->engine);
	atomic_store(&seq->job, seq->core->job);
	trn_task_kick(&seq->task);
}

void trn_seq_reset(struct trn_seq *seq)
{
	trn_sem_cancel(seq->core->sems, &seq->waiter);
	seq->waiter.check = NULL;
	atomic_store(&seq->job, NULL);
	free(seq->known);
	seq->known = NULL;
	seq->base = 0;
	seq->count = 0;
	seq_drop(seq);
	seq->hung = false;
	memset(seq->regs, 0, sizeof(seq->regs));
	memset(&seq->inst, 0, sizeof(seq->inst));
	seq_clear_mode(seq);
	atomic_store(&seq->pc, 0);
	atomic_store(&seq->wait_sem, 0);
	atomic_store(&seq->hold, TRN_HOLD_NONE);
	atomic_store(&seq->status, NEURON_ENGINE_HALTED);
}
