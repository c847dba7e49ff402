// SPDX-License-Identifier: MIT
/*
 * Work of the chip library whose cost is counted in instructions of the host, not timed:
 * a counter such as callgrind runs this program twice, with a small amount of the work
 * and with a large one, and the difference belongs to the work alone. All of it runs in
 * this thread (TRN_POOL_STEPPED) and in the same order every time, so that the counts
 * are the same every time, too.
 */
#include "seq_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define F32	NEURON_DTYPE_FP32
#define BF16	NEURON_DTYPE_BF16
#define N	512
#define NOPS	200

/**
 * struct work - what is counted
 * @name: of the figure
 * @per: what a unit is
 * @units: in one of the amount
 * @small, @large: the two amounts
 * @run: do it
 */
struct work {
	const char *name;
	const char *per;
	unsigned int units, small, large;
	void (*run)(struct seq_rig *rig, unsigned int amount);
};

static void run_job(struct seq_job *job)
{
	struct neuron_hw_completion record;

	seq_submit(job);
	while (trn_pool_step(job->rig->pool, 64))
		;
	record = seq_wait(job);
	if (record.status == NEURON_JOB_OK)
		return;
	fprintf(stderr, "the job failed: cause %u, pc %u\n", record.cause, record.pc);
	exit(EXIT_FAILURE);
}

static struct seq_job *new_job(struct seq_rig *rig)
{
	struct seq_job *job = calloc(1, sizeof(*job));

	if (!job) {
		fprintf(stderr, "out of memory for a job\n");
		exit(EXIT_FAILURE);
	}
	seq_job_init(job, rig, 0, 0);
	return job;
}

/* Run @inst on @engine @times in a row, and that @rounds times in a loop. */
static void repeat(struct seq_rig *rig, enum neuron_engine engine, unsigned int rounds,
		   unsigned int times, const struct neuron_inst *first,
		   const struct neuron_inst *inst)
{
	struct seq_job *job = new_job(rig);
	unsigned int begin;

	seq_add(job, engine, OP(REG_SET, .reg = { 9 }, .imm0 = rounds));
	if (first)
		seq_add(job, engine, *first);
	begin = job->nr[engine];
	while (times--)
		seq_add(job, engine, *inst);
	seq_add(job, engine, OP(LOOP, .reg = { 9 }, .addr = begin));
	seq_add(job, engine, OP(HALT, 0));
	run_job(job);
	free(job);
}

static void count_job(struct seq_rig *rig, unsigned int amount)
{
	struct seq_job *job = new_job(rig);

	seq_add(job, NEURON_ENGINE_SYNC, OP(HALT, 0));
	while (amount--)
		run_job(job);
	free(job);
}

static void count_dispatch(struct seq_rig *rig, unsigned int amount)
{
	const struct neuron_inst nop = OP(NOP, 0);

	repeat(rig, NEURON_ENGINE_SYNC, amount, NOPS, NULL, &nop);
}

static void count_copy(struct seq_rig *rig, unsigned int amount)
{
	const struct neuron_inst copy = OP(COPY, .dst = ap_sbuf(0, 128, 0x4000, F32, N),
					   .src0 = ap_sbuf(0, 128, 0, F32, N));

	repeat(rig, NEURON_ENGINE_VECTOR, amount, 1, NULL, &copy);
}

static void count_add(struct seq_rig *rig, unsigned int amount)
{
	const struct neuron_inst add = OP(TENSOR_TENSOR, .op0 = NEURON_ALU_ADD,
					  .dst = ap_sbuf(0, 128, 0x4000, F32, N),
					  .src0 = ap_sbuf(0, 128, 0, F32, N),
					  .src1 = ap_sbuf(0, 128, 0x2000, F32, N));

	repeat(rig, NEURON_ENGINE_VECTOR, amount, 1, NULL, &add);
}

static void matmul(struct seq_rig *rig, unsigned int amount, unsigned int dtype)
{
	const struct neuron_inst load = OP(LOAD_STATIONARY,
					   .src0 = ap_sbuf(0, 128, 0, dtype, 128));
	const struct neuron_inst inst = OP(MATMUL, .dst = ap_psum(0, 128, 0, F32, N),
					   .src0 = ap_sbuf(0, 128, 0x1000, dtype, N));

	repeat(rig, NEURON_ENGINE_TENSOR, amount, 1, &load, &inst);
}

static void count_matmul_fp32(struct seq_rig *rig, unsigned int amount)
{
	matmul(rig, amount, F32);
}

static void count_matmul_bf16(struct seq_rig *rig, unsigned int amount)
{
	matmul(rig, amount, BF16);
}

/* Copies of 64 bytes within HBM: little but the queue's own work. */
static void count_descriptor(struct seq_rig *rig, unsigned int amount)
{
	struct seq_job *job = new_job(rig);
	unsigned int i;

	for (i = 0; i < amount; i++)
		seq_copy(job, 0, neuron_window_addr(SEQ_DATA, 0x8000 + i * 64),
			 neuron_window_addr(SEQ_DATA, i * 64), 64);
	seq_add(job, NEURON_ENGINE_SYNC, OP(DMA_TRIGGER, .reg = { 0 }, .imm0 = amount,
					    .imm1 = amount));
	seq_add(job, NEURON_ENGINE_SYNC, OP(HALT, 0));
	run_job(job);
	free(job);
}

static const struct work works[] = {
	{ "host_insns_job", "empty job", 1, 10, 60, count_job },
	{ "host_insns_dispatch", "NOP", NOPS, 10, 60, count_dispatch },
	{ "host_insns_copy_tile", "COPY of 128 x 512 fp32", 1, 10, 60, count_copy },
	{ "host_insns_add_tile", "TENSOR_TENSOR of 128 x 512 fp32", 1, 10, 60, count_add },
	{ "host_insns_matmul_fp32_tile", "MATMUL of 128 x 128 x 512 fp32", 1, 2, 7,
	  count_matmul_fp32 },
	{ "host_insns_matmul_bf16_tile", "MATMUL of 128 x 128 x 512 bf16", 1, 2, 7,
	  count_matmul_bf16 },
	{ "host_insns_descriptor", "copy of 64 bytes by a queue", 1, 10, 60, count_descriptor },
};

#define WORKS	(sizeof(works) / sizeof(works[0]))

static int usage(const char *program)
{
	fprintf(stderr, "usage: %s NAME AMOUNT\n"
		"       %s --list: name, two amounts, units in one, what a unit is\n",
		program, program);
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	struct seq_rig rig;
	size_t i;

	for (i = 0; argc == 2 && !strcmp(argv[1], "--list") && i < WORKS; i++)
		printf("%s %u %u %u %s\n", works[i].name, works[i].small, works[i].large,
		       works[i].units, works[i].per);
	if (i)
		return EXIT_SUCCESS;
	for (i = 0; argc == 3 && i < WORKS; i++) {
		if (strcmp(argv[1], works[i].name))
			continue;
		/* Without device time, which looks at the host's clock. */
		seq_rig_init(&rig, &neuron_gen_trn2, TRN_POOL_STEPPED, 1, false);
		works[i].run(&rig, (unsigned int)strtoul(argv[2], NULL, 10));
		return EXIT_SUCCESS;
	}
	return usage(argv[0]);
}
