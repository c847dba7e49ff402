// SPDX-License-Identifier: MIT
/*
 * What device time costs: the same jobs with the clock on and off, in processor time
 * of the process, in turns.
 */
#include "seq_rig.h"

#include <stdio.h>
#include <stdlib.h>

#include "figure.h"

#define GOAL	1.05

#define F32	NEURON_DTYPE_FP32
#define BF16	NEURON_DTYPE_BF16

static void trigger(struct seq_job *job, unsigned int q, unsigned int n)
{
	seq_add(job, NEURON_ENGINE_SYNC, OP(DMA_TRIGGER, .reg = { (uint8_t)q },
					    .imm0 = n, .imm1 = n));
}

static void loop(struct seq_job *job, unsigned int engine, unsigned int times)
{
	const struct neuron_inst count = OP(REG_SET, .reg = { 9 }, .imm0 = times);
	unsigned int i;

	for (i = job->nr[engine]; i; i--)
		job->prog[engine][i] = job->prog[engine][i - 1];
	job->prog[engine][0] = count;
	job->nr[engine]++;
	seq_add(job, engine, OP(LOOP, .reg = { 9 }, .addr = 1));
	seq_add(job, engine, OP(HALT, 0));
}

/* Products with eviction, and operands that queues bring meanwhile. */
static void make_gemm(struct seq_job *job)
{
	unsigned int i, q;

	for (i = 0; i < 4; i++) {
		seq_add(job, NEURON_ENGINE_TENSOR,
			OP(LOAD_STATIONARY, .src0 = ap_sbuf(0, 128, 0, BF16, 128)));
		seq_add(job, NEURON_ENGINE_TENSOR,
			post_add(OP(MATMUL, .dst = ap_psum(0, 128, 0, F32, 512),
				    .src0 = ap_sbuf(0, 128, 0x1000, BF16, 512)),
				 1, 1));
		seq_add(job, NEURON_ENGINE_VECTOR,
			take_ge(OP(COPY, .dst = ap_sbuf(0, 128, 0x4000, BF16, 512),
				   .src0 = ap_psum(0, 128, 0, F32, 512)), 1, 1));
	}
	loop(job, NEURON_ENGINE_TENSOR, 10);
	loop(job, NEURON_ENGINE_VECTOR, 10);
	for (q = 0; q < 4; q++) {
		for (i = 0; i < 30; i++) {
			seq_copy(job, q, neuron_window_addr(SEQ_SBUF, q * 0x40000),
				 neuron_window_addr(SEQ_DATA, i * 0x2000), 0x2000);
			seq_copy(job, q, neuron_window_addr(SEQ_SEM, 4 * 7),
				 neuron_window_addr(SEQ_DATA, 0xf0000), 4);
		}
		trigger(job, q, 60);
	}
	seq_add(job, NEURON_ENGINE_SYNC, OP(HALT, 0));
}

/* Tiles of 128 x 512 on three engines. */
static void make_elementwise(struct seq_job *job)
{
	const struct neuron_ap a = ap_sbuf(0, 128, 0, F32, 512);
	const struct neuron_ap b = ap_sbuf(0, 128, 0x2000, F32, 512);
	const struct neuron_ap c = ap_sbuf(0, 128, 0x4000, F32, 512);

	seq_add(job, NEURON_ENGINE_VECTOR,
		post_add(OP(TENSOR_TENSOR, .op0 = NEURON_ALU_ADD, .dst = a,
			    .src0 = a, .src1 = b), 1, 1));
	seq_add(job, NEURON_ENGINE_SCALAR,
		post_add(take_ge(OP(COPY, .dst = c, .src0 = a), 1, 1), 2, 1));
	seq_add(job, NEURON_ENGINE_GPSIMD,
		take_ge(OP(COPY, .dst = ap_sbuf(0, 128, 0x6000, F32, 512),
			   .src0 = c), 2, 1));
	loop(job, NEURON_ENGINE_VECTOR, 60);
	loop(job, NEURON_ENGINE_SCALAR, 60);
	loop(job, NEURON_ENGINE_GPSIMD, 60);
}

#define TRIVIAL		200	/* in a round of the loop */
#define TRIVIAL_ROUNDS	200

/* As small as instructions are: nothing but dispatch. */
static void make_trivial(struct seq_job *job)
{
	unsigned int i;

	for (i = 0; i < TRIVIAL; i++)
		seq_add(job, NEURON_ENGINE_SYNC, OP(NOP, 0));
	loop(job, NEURON_ENGINE_SYNC, TRIVIAL_ROUNDS);
}

/* One element, with a post and a wait: the most that can be recorded for it. */
static void make_small(struct seq_job *job)
{
	seq_add(job, NEURON_ENGINE_VECTOR,
		post_add(OP(MEMSET, .dst = ap_sbuf(0, 1, 0, F32, 1)), 1, 1));
	seq_add(job, NEURON_ENGINE_GPSIMD,
		take_ge(OP(MEMSET, .dst = ap_sbuf(32, 1, 0, F32, 1)), 1, 1));
	loop(job, NEURON_ENGINE_VECTOR, 10000);
	loop(job, NEURON_ENGINE_GPSIMD, 10000);
}

static double time_job(struct seq_rig *rig, void (*make)(struct seq_job *job))
{
	struct seq_job *job = calloc(1, sizeof(*job));
	struct neuron_hw_completion record;
	double begin;

	if (!job)
		exit(EXIT_FAILURE);
	seq_job_init(job, rig, 0, 0);
	make(job);
	begin = figure_process_now();
	record = seq_run(job);
	begin = figure_process_now() - begin;
	free(job);
	if (record.status != NEURON_JOB_OK) {
		fprintf(stderr, "the job failed: cause %u, pc %u\n", record.cause,
			record.pc);
		exit(EXIT_FAILURE);
	}
	return begin;
}

/* @on: set to ms with the clock. */
static void measure(struct figures *figures, const char *name, unsigned int rounds,
		    void (*make)(struct seq_job *job), double goal, double *on)
{
	double off[FIGURE_MAX_ROUNDS];
	struct seq_rig with, without;
	unsigned int i;

	seq_rig_init(&with, &neuron_gen_trn2, 1, 1, true);
	seq_rig_init(&without, &neuron_gen_trn2, 1, 1, false);
	time_job(&with, make);
	time_job(&without, make);
	for (i = 0; i < rounds; i++) {
		on[i] = time_job(&with, make) * 1e3;
		off[i] = time_job(&without, make) * 1e3;
	}
	seq_rig_destroy(&with);
	seq_rig_destroy(&without);
	figures_add(figures, (struct figure){
		.name = name, .unit = "ms", .goal = goal, .lower_is_better = true,
	}, on, off, rounds);
}

int main(int argc, char **argv)
{
	const struct figure_options options = figure_options(argc, argv);
	struct figures figures = { .count = 0 };
	const unsigned int rounds = options.rounds;
	double ms[FIGURE_MAX_ROUNDS];
	unsigned int i;

	measure(&figures, "clock_gemm_job", rounds, make_gemm, GOAL, ms);
	measure(&figures, "clock_elementwise_job", rounds, make_elementwise, GOAL, ms);
	measure(&figures, "clock_smallest_tiles", rounds, make_small, FIGURE_NONE, ms);
	measure(&figures, "clock_trivial_instructions", rounds, make_trivial, FIGURE_NONE, ms);
	for (i = 0; i < rounds; i++)
		ms[i] *= 1e6 / (TRIVIAL * TRIVIAL_ROUNDS);
	figures_add(&figures, (struct figure){
		.name = "dispatch_trivial_instruction", .unit = "ns", .goal = 150,
		.lower_is_better = true,
	}, ms, NULL, rounds);
	return figures_report(&figures, options.json) ? EXIT_FAILURE : EXIT_SUCCESS;
}
