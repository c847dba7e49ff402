/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the checks on request share: one chip that checks, jobs with
 * source lines, and what was reported.
 */
#ifndef CHECK_RIG_H
#define CHECK_RIG_H

#include "seq_rig.h"
#include "hook/trn_check.h"

#define TENSOR	NEURON_ENGINE_TENSOR
#define VECTOR	NEURON_ENGINE_VECTOR
#define SCALAR	NEURON_ENGINE_SCALAR
#define GPSIMD	NEURON_ENGINE_GPSIMD
#define SYNC	NEURON_ENGINE_SYNC
#define F32	NEURON_DTYPE_FP32
#define BF16	NEURON_DTYPE_BF16
#define CORE	1
#define DATA(offset)	neuron_window_addr(SEQ_DATA, offset)
#define SBUF(p, offset)	neuron_window_addr(SEQ_SBUF, (p) * NEURON_TPB_SBUF_STRIDE + (offset))

struct check_test {
	struct seq_rig rig;
	struct seq_job job;
};

/*
 * With one worker the engines run in their order, by turns that no clock ends, and a program
 * with races does not have them in the memory of the host.
 */
void check_begin(struct check_test *t, unsigned int workers);
/* Of another generation than trn2. */
void check_begin_gen(struct check_test *t, const struct neuron_gen *gen,
		     unsigned int workers);
void check_end(struct check_test *t);
void check_next_job(struct check_test *t);
/* Append with a source line. */
void check_add(struct check_test *t, enum neuron_engine engine,
	       struct neuron_inst inst, uint32_t line);
/* Append a descriptor that posts: adds the value 1 to semaphore @sem. */
void check_post(struct check_test *t, unsigned int queue, unsigned int sem);
/* Halt all engines that have a program, run; it must end well. */
void check_run(struct check_test *t);

void check_expect(struct check_test *t, enum trn_check_kind kind, unsigned int count);
void check_expect_none(struct check_test *t);
/* A line about @who of core CORE at @where. */
void check_expect_line(struct check_test *t, enum trn_check_kind kind,
		       const char *who, const char *where);

/* @n fp32 of four partitions of SBUF; descriptors of a queue, on both sides. */
struct neuron_inst fill(uint32_t offset, unsigned int n);
struct neuron_inst copy(uint32_t to, uint32_t from, unsigned int n);
struct neuron_inst trigger(unsigned int queue, unsigned int n);

#endif /* CHECK_RIG_H */
