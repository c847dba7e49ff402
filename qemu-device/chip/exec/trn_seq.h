/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Instruction sequencers: fetch, validate, wait, execute, post.
 */
#ifndef TRN_SEQ_H
#define TRN_SEQ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/trn_pool.h"
#include "exec/trn_resume.h"
#include "neuron/isa.h"
#include "neuron/job.h"
#include "num/trn_num.h"
#include "sync/trn_sem.h"

struct trn_core;
struct trn_job;

/* Places of an image, modulo this, whose last instruction is remembered. */
#define TRN_SEQ_KNOWN	32

/**
 * struct trn_seq - a sequencer
 * @job: the job it runs, with a reference; NULL when halted. Set last at a start
 *	and the first to go at a halt, so a late kick finds a whole state or none
 * @inst: the instruction at @pc, valid when @fetched; a copy, so that nothing
 *	that happens to the image can come between its check and its execution
 * @known: instructions that trn_isa_check() has accepted for this engine, by their place;
 *	the body of a loop is checked once. NULL: it has not started yet, or memory is
 *	short
 * @begun: the wait of @inst is over, but @inst has to be tried again (trn_exec.again) or
 *	goes on (trn_exec.more)
 * @triggered: queues that @inst, which triggers several, is done with
 * @resume: where it goes on
 * @untidy: bytes of the engine's desk, from its beginning, that instructions before @inst
 *	have left to be given back to the host; not saved
 * @hung: a fault on demand has stopped it
 * @hold: enum trn_hold, what the chip's observer says of @inst
 * @mode: how its instructions convert numbers; the key of one that rounds at random
 *	comes from @sr_seed, the engine and @retired
 * @sr_seed: of SET_ROUNDING
 * @retired: instructions that it has executed in this job
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
	_Atomic uint32_t hold;
	uint32_t regs[NEURON_NR_REGS];
	struct neuron_inst inst;
	struct neuron_inst *known;
	bool fetched;
	bool begun;
	bool hung;
	uint8_t triggered;
	struct trn_resume resume;
	uint32_t untidy;
	struct trn_num_mode mode;
	uint32_t sr_seed;
	uint64_t retired;
};

/* @seq: zeroed */
void trn_seq_init(struct trn_seq *seq, struct trn_core *core,
		  enum neuron_engine engine);
void trn_seq_destroy(struct trn_seq *seq);
/*
 * Start at instruction 0 of the job's image; the caller has taken the
 * reference on the job that the sequencer drops when it halts (trn_job_put).
 */
void trn_seq_start(struct trn_seq *seq, const struct neuron_hw_start *start);

/* Everything about a fetched instruction that can be refused before it waits. */
enum neuron_cause trn_seq_check(struct trn_seq *seq);

/*
 * Chip reset: halted, with zero registers, waiting for nothing. The task is
 * quiet; the reference on the job is the caller's to forget.
 */
void trn_seq_reset(struct trn_seq *seq);

/* Words of a state of the random number generator, and states of a vector lane. */
#define TRN_RNG_WORDS	6
#define TRN_RNG_VECTOR	4

/**
 * struct trn_lanes - what the lanes of the engines keep between instructions
 * @vector_seeded, @gpsimd_seeded: the states below are there; false: they are those of
 *	seed 0, not worked out yet
 * @vector_rng, @gpsimd_rng: states of the random number generators, trn_random.c
 */
struct trn_lanes {
	float vector_acc[128];
	float scalar_acc[128];
	bool vector_seeded;
	bool gpsimd_seeded;
	uint32_t vector_rng[128][TRN_RNG_VECTOR][TRN_RNG_WORDS];
	uint32_t gpsimd_rng[128][1][TRN_RNG_WORDS];
};

#endif /* TRN_SEQ_H */
