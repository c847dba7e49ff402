// SPDX-License-Identifier: MIT
/*
 * Element-wise instructions, and sums over partitions, on tiles in SBUF, against plain loops
 * that the compiler has vectorised for the same instruction set, over the same memory in the
 * same run. One thread, in that thread's processor time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_chip.h"
#include "figure.h"
#include "num/trn_num.h"
#include "vector_base.h"

#define PARTITIONS	128
#define REPEAT		40	/* per round */
#define GOAL		0.5
#define A_AT		0
#define B_AT		32768
#define DST_AT		65536

/* struct job - one instruction and what it is compared with */
struct job {
	const char *name;
	enum vector_work work;
	uint8_t opcode, op0, op1;
	uint8_t src, dst;
	uint16_t n;
};

#define FP32	NEURON_DTYPE_FP32
#define BF16	NEURON_DTYPE_BF16

static const struct job jobs[] = {
	{ "vector_add_fp32_512", VECTOR_ADD_FP32, NEURON_OP_TENSOR_TENSOR,
	  NEURON_ALU_ADD, 0, FP32, FP32, 512 },
	{ "vector_add_fp32_4096", VECTOR_ADD_FP32, NEURON_OP_TENSOR_TENSOR,
	  NEURON_ALU_ADD, 0, FP32, FP32, 4096 },
	{ "vector_max_fp32_512", VECTOR_MAX_FP32, NEURON_OP_TENSOR_TENSOR,
	  NEURON_ALU_MAX, 0, FP32, FP32, 512 },
	{ "vector_scale_fp32_512", VECTOR_SCALE_FP32, NEURON_OP_TENSOR_SCALAR,
	  NEURON_ALU_MULTIPLY, NEURON_ALU_ADD, FP32, FP32, 512 },
	{ "vector_add_bf16_512", VECTOR_ADD_BF16, NEURON_OP_TENSOR_TENSOR,
	  NEURON_ALU_ADD, 0, BF16, BF16, 512 },
	{ "vector_add_bf16_4096", VECTOR_ADD_BF16, NEURON_OP_TENSOR_TENSOR,
	  NEURON_ALU_ADD, 0, BF16, BF16, 4096 },
	{ "vector_scale_bf16_512", VECTOR_SCALE_BF16, NEURON_OP_TENSOR_SCALAR,
	  NEURON_ALU_MULTIPLY, NEURON_ALU_ADD, BF16, BF16, 512 },
	{ "vector_cast_to_bf16_512", VECTOR_CAST_TO_BF16, NEURON_OP_COPY, 0, 0,
	  FP32, BF16, 512 },
	{ "vector_cast_to_fp32_512", VECTOR_CAST_TO_FP32, NEURON_OP_COPY, 0, 0,
	  BF16, FP32, 512 },
	{ "vector_partitions_fp32_512", VECTOR_SUM_FP32, NEURON_OP_PARTITION_REDUCE,
	  NEURON_ALU_ADD, 0, FP32, FP32, 512 },
	{ "vector_partitions_fp32_4096", VECTOR_SUM_FP32, NEURON_OP_PARTITION_REDUCE,
	  NEURON_ALU_ADD, 0, FP32, FP32, 4096 },
	{ "vector_partitions_bf16_4096", VECTOR_SUM_BF16, NEURON_OP_PARTITION_REDUCE,
	  NEURON_ALU_ADD, 0, BF16, FP32, 4096 },
};

/* The result is one partition, else as many as the source. */
static bool is_sum(const struct job *job)
{
	return job->opcode == NEURON_OP_PARTITION_REDUCE;
}

static struct neuron_ap tile(unsigned int at, unsigned int dtype, unsigned int n)
{
	struct neuron_ap ap = {
		.addr = at,
		.num = { (uint16_t)n, 1, 1, 1 },
		.step = { 1, (uint16_t)n, (uint16_t)n, (uint16_t)n },
		.partitions = PARTITIONS,
		.dtype = (uint8_t)dtype,
	};

	return ap;
}

static uint32_t bits(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	return u;
}

static struct neuron_inst instruction(const struct job *job)
{
	struct neuron_inst inst = {
		.opcode = job->opcode,
		.op0 = job->op0,
		.op1 = job->op1,
		.dst = tile(DST_AT, job->dst, job->n),
		.src0 = tile(A_AT, job->src, job->n),
	};

	if (job->opcode == NEURON_OP_TENSOR_TENSOR)
		inst.src1 = tile(B_AT, job->src, job->n);
	if (job->opcode == NEURON_OP_TENSOR_SCALAR) {
		inst.imm0 = bits(VECTOR_SCALE);
		inst.imm1 = bits(VECTOR_BIAS);
	}
	if (is_sum(job))
		inst.dst.partitions = 1;
	return inst;
}

static void run_chip(struct trn_core *core, const struct neuron_inst *inst)
{
	bool sum = inst->opcode == NEURON_OP_PARTITION_REDUCE;

	bench_chip_run(core, sum ? NEURON_ENGINE_GPSIMD : NEURON_ENGINE_VECTOR, inst);
}

static vector_base_fn *base_of_path(void)
{
#ifdef __x86_64__
	if (!strcmp(trn_num_path_name(), "avx512"))
		return vector_base_avx512;
	if (!strcmp(trn_num_path_name(), "avx2"))
		return vector_base_avx2;
#endif
	return vector_base;
}

static void run_base(struct trn_core *core, const struct job *job)
{
	vector_base_fn *base = base_of_path();
	uint8_t *dst = core->sbuf + DST_AT;
	unsigned int p;

	if (is_sum(job))
		memset(dst, 0, (size_t)job->n * sizeof(float));
	for (p = 0; p < PARTITIONS; p++) {
		uint8_t *line = core->sbuf + (size_t)p * NEURON_TPB_SBUF_STRIDE;

		if (!is_sum(job))
			dst = line + DST_AT;
		base(job->work, dst, line + A_AT, line + B_AT, job->n);
	}
}

/* Numbers between 1 and 2 in both types: as fp32 and, in pairs, as bf16. */
static void fill(struct trn_core *core)
{
	uint64_t state = 1;
	uint32_t word;
	unsigned int p;
	size_t i;

	for (p = 0; p < PARTITIONS; p++) {
		uint8_t *line = core->sbuf + (size_t)p * NEURON_TPB_SBUF_STRIDE;

		for (i = 0; i < DST_AT; i += sizeof(word)) {
			state = state * 6364136223846793005ull + 1442695040888963407ull;
			word = 0x3f803f80u | ((uint32_t)(state >> 32) & 0x007f007f);
			memcpy(line + i, &word, sizeof(word));
		}
	}
}

/* Both compute the same. */
static int verify(struct trn_core *core, const struct job *job)
{
	size_t len = (size_t)job->n * trn_dtype_size(job->dst);
	const struct neuron_inst inst = instruction(job);
	static uint8_t chip[PARTITIONS][65536];
	unsigned int p;

	run_chip(core, &inst);
	for (p = 0; p < PARTITIONS; p++)
		memcpy(chip[p], core->sbuf + (size_t)p * NEURON_TPB_SBUF_STRIDE + DST_AT, len);
	run_base(core, job);
	for (p = 0; p < PARTITIONS; p++) {
		if (!memcmp(chip[p], core->sbuf + (size_t)p * NEURON_TPB_SBUF_STRIDE + DST_AT,
			    len))
			continue;
		fprintf(stderr, "%s: partition %u differs from the plain loop's\n", job->name, p);
		return -1;
	}
	return 0;
}

/* Rounds alternate, so that both see the same disturbances. */
static void measure(struct figures *figures, unsigned int rounds, struct trn_core *core,
		    const struct job *job)
{
	const struct neuron_inst inst = instruction(job);
	double chip[FIGURE_MAX_ROUNDS], base[FIGURE_MAX_ROUNDS], begin;
	double elements = (double)job->n * PARTITIONS * REPEAT;
	struct figure figure = { .name = job->name, .unit = "Gelement/s", .goal = GOAL };
	unsigned int i, j;

	for (i = 0; i < rounds; i++) {
		begin = figure_thread_now();
		for (j = 0; j < REPEAT; j++)
			run_chip(core, &inst);
		chip[i] = figure_thread_now() - begin;
		begin = figure_thread_now();
		for (j = 0; j < REPEAT; j++)
			run_base(core, job);
		base[i] = figure_thread_now() - begin;
	}
	figure_rates(chip, rounds, elements * 1e-9);
	figure_rates(base, rounds, elements * 1e-9);
	figures_add(figures, figure, chip, base, rounds);
}

int main(int argc, char **argv)
{
	const struct figure_options options = figure_options(argc, argv);
	struct figures figures = { .count = 0 };
	struct trn_chip *chip = bench_chip_new(&neuron_gen_trn2);
	size_t i;

	fill(&chip->core[0]);
	for (i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
		if (verify(&chip->core[0], &jobs[i]))
			return EXIT_FAILURE;
		measure(&figures, options.rounds, &chip->core[0], &jobs[i]);
	}
	return figures_report(&figures, options.json) ? EXIT_FAILURE : EXIT_SUCCESS;
}
