/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Instruction sequencers: fetch, validate, wait, execute, post.
 */
#ifndef TRN_SEQ_H
#define TRN_SEQ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "neuron/isa.h"
#include "neuron/job.h"
#include "trn_pool.h"
#include "trn_sem.h"

struct trn_core;
struct trn_job;

/**
 * struct trn_seq - a sequencer
 * @job: the job it runs, with a reference; NULL when halted. Set last at a start
 *	and the first to go at a halt, so a late kick finds a whole state or none
 * @inst: the instruction at @pc, valid when @fetched; a copy, so that nothing
 *	that happens to the image can come between its check and its execution
 * @begun: its wait is over, but it has to be tried again (trn_exec.again)
 * @hung: a fault on demand has stopped it
 *
 * Fields that are not atomic belong to the task.
 */
struct trn_seq {
	struct trn_task task;
	struct trn_core *core;
	struct trn_job *_Atomic job;
	struct trn_sem_waiter waiter;
	enum neuron_engine engine;
	uint64_t base;			/* window address of the image */
	uint32_t count;			/* its instructions */
	_Atomic uint32_t pc;
	_Atomic uint32_t status;	/* enum neuron_engine_status */
	_Atomic uint32_t wait_sem;
	uint32_t regs[NEURON_NR_REGS];
	struct neuron_inst inst;
	bool fetched;
	bool begun;
	bool hung;
};

void trn_seq_init(struct trn_seq *seq, struct trn_core *core,
		  enum neuron_engine engine);
/*
 * Start at instruction 0 of the job's image; the caller has taken the
 * reference on the job that the sequencer drops when it halts (trn_job_put).
 */
void trn_seq_start(struct trn_seq *seq, const struct neuron_hw_start *start);

/* Everything about a fetched instruction that can be refused before it waits. */
enum neuron_cause trn_seq_check(const struct trn_seq *seq);

/*
 * Chip reset: halted, with zero registers, waiting for nothing. The task is
 * quiet; the reference on the job is the caller's to forget.
 */
void trn_seq_reset(struct trn_seq *seq);

/* State of the tensor engine's array, allocated by the core. */
struct trn_pe_array {
	float weight[128][128];	/* [k][m] */
	unsigned int k, m;		/* loaded extent; 0: nothing loaded */
	uint8_t dtype;
};

/* What the lanes of the engines keep from one instruction to the next. */
struct trn_lanes {
	float vector_acc[128];
	float scalar_acc[128];
};

#endif /* TRN_SEQ_H */
