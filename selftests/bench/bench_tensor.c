// SPDX-License-Identifier: MIT
/*
 * Products of the tensor engine as instructions, 128 x 128 x 512 back to back, with every
 * kind of operand, against OpenBLAS on a cube in the same run. One thread each, in that
 * thread's processor time. What is counted are the terms that enter the result.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_chip.h"
#include "blas.h"
#include "figure.h"
#include "num/trn_num.h"

#define K		128
#define M		128
#define N		512
#define CUBE		2048
#define TILES		64	/* per round */
#define STATIONARY_AT	0
#define SCALES_AT	0x8000
#define MOVING_AT	0x10000

/**
 * struct job - one way to multiply
 * @depth: terms in each row of cells
 * @lines: of the moving operand in a partition
 * @goal: of the ratio to OpenBLAS, or FIGURE_NONE
 */
struct job {
	const char *name;
	uint8_t load, multiply, dtype;
	uint32_t flags;
	unsigned int depth, lines;
	double goal;
};

static const struct job jobs[] = {
	{ "tensor_fp32", NEURON_OP_LOAD_STATIONARY, NEURON_OP_MATMUL, NEURON_DTYPE_FP32,
	  0, 1, 1, 0.8 },
	{ "tensor_tf32", NEURON_OP_LOAD_STATIONARY, NEURON_OP_MATMUL, NEURON_DTYPE_TF32,
	  0, 1, 1, 0.8 },
	{ "tensor_bf16", NEURON_OP_LOAD_STATIONARY, NEURON_OP_MATMUL, NEURON_DTYPE_BF16,
	  0, 1, 1, 0.8 },
	{ "tensor_fp16", NEURON_OP_LOAD_STATIONARY, NEURON_OP_MATMUL, NEURON_DTYPE_FP16,
	  0, 1, 1, 0.8 },
	{ "tensor_fp8_e4", NEURON_OP_LOAD_STATIONARY, NEURON_OP_MATMUL, NEURON_DTYPE_FP8_E4,
	  0, 1, 1, 0.6 },
	{ "tensor_fp8_e5", NEURON_OP_LOAD_STATIONARY, NEURON_OP_MATMUL, NEURON_DTYPE_FP8_E5,
	  0, 1, 1, 0.6 },
	{ "tensor_fp8_double_row", NEURON_OP_LOAD_STATIONARY, NEURON_OP_MATMUL,
	  NEURON_DTYPE_FP8_E4, NEURON_INST_DOUBLE_ROW, 2, 2, 0.6 },
	{ "tensor_bf16_sparse_4_16", NEURON_OP_LOAD_SPARSE, NEURON_OP_MATMUL_SPARSE,
	  NEURON_DTYPE_BF16, 0, 1, 4, FIGURE_NONE },
	{ "tensor_mxfp8", NEURON_OP_LOAD_MX, NEURON_OP_MATMUL_MX, NEURON_DTYPE_FP8_E4FN_X4,
	  0, 4, 1, FIGURE_NONE },
	{ "tensor_mxfp4", NEURON_OP_LOAD_MX, NEURON_OP_MATMUL_MX, NEURON_DTYPE_FP4_E2_X4,
	  0, 4, 1, FIGURE_NONE },
};

static struct neuron_ap tile(uint32_t at, unsigned int dtype, unsigned int lines,
			     unsigned int n)
{
	struct neuron_ap ap = {
		.addr = at,
		.num = { (uint16_t)n, (uint16_t)lines, 1, 1 },
		.step = { 1, (uint16_t)n, 0, 0 },
		.partitions = K,
		.dtype = (uint8_t)dtype,
	};

	return ap;
}

static void set_flags(struct neuron_inst *inst, uint32_t flags)
{
	inst->flags = (uint8_t)flags;
	inst->mode = (uint16_t)(flags >> 8);
}

static struct neuron_inst load(const struct job *job)
{
	struct neuron_inst inst = {
		.opcode = job->load,
		.src0 = tile(STATIONARY_AT, job->dtype, job->depth == 2 ? 2 : 1, M),
	};

	set_flags(&inst, job->flags);
	if (job->load == NEURON_OP_LOAD_SPARSE)
		inst.src1 = tile(SCALES_AT, NEURON_DTYPE_UINT16, 1, M / 4);
	if (job->load == NEURON_OP_LOAD_MX)
		inst.src1 = tile(SCALES_AT, NEURON_DTYPE_E8M0, 1, M);
	return inst;
}

static struct neuron_inst multiply(const struct job *job)
{
	struct neuron_inst inst = {
		.opcode = job->multiply,
		.dst = tile(NEURON_AP_PSUM, NEURON_DTYPE_FP32, 1, N),
		.src0 = tile(MOVING_AT, job->dtype, job->lines, N),
	};

	set_flags(&inst, job->flags);
	if (job->multiply == NEURON_OP_MATMUL_SPARSE)
		inst.imm1 = job->lines;
	if (job->multiply == NEURON_OP_MATMUL_MX)
		inst.src1 = tile(SCALES_AT, NEURON_DTYPE_E8M0, 1, N);
	return inst;
}

/* Any bits are numbers near 1 or, of the narrow types, small: none is a NaN. */
static void fill(struct trn_core *core)
{
	uint64_t state = 1;
	unsigned int p;
	uint32_t word;
	size_t i;

	for (p = 0; p < K; p++) {
		uint8_t *line = core->sbuf + (size_t)p * NEURON_TPB_SBUF_STRIDE;

		for (i = 0; i < 0x20000; i += sizeof(word)) {
			state = state * 6364136223846793005ull + 1442695040888963407ull;
			word = 0x38303830u | ((uint32_t)(state >> 32) & 0x030f030f);
			memcpy(line + i, &word, sizeof(word));
		}
		/* Tags that are below any ratio, scales of about 1. */
		memset(line + SCALES_AT, 0x7f, N);
	}
}

static void fill_tags(struct trn_core *core)
{
	unsigned int p;
	size_t i;

	for (p = 0; p < K; p++)
		for (i = 0; i < M / 2; i++)
			core->sbuf[(size_t)p * NEURON_TPB_SBUF_STRIDE + SCALES_AT + i] =
				(uint8_t)(0xfa + p * 5 + i * 3);
}

/* struct cube - a product of OpenBLAS of a size at which it is at its best */
struct cube {
	struct blas blas;
	float *memory;
};

static bool cube_init(struct cube *cube)
{
	const size_t n = 3 * (size_t)CUBE * CUBE;
	size_t i;

	if (!blas_load(&cube->blas))
		return false;
	cube->memory = malloc(n * sizeof(*cube->memory));
	if (!cube->memory) {
		fprintf(stderr, "out of memory for OpenBLAS\n");
		return false;
	}
	for (i = 0; i < n; i++)
		cube->memory[i] = 1.0f + (float)(i % 97) / 97.0f;
	return true;
}

static double time_cube(const struct cube *cube)
{
	const size_t n = (size_t)CUBE * CUBE;
	double begin = figure_thread_now();

	blas_matmul(&cube->blas, cube->memory, cube->memory + n, cube->memory + 2 * n,
		    CUBE, CUBE, CUBE);
	return figure_thread_now() - begin;
}

static double time_tiles(struct trn_core *core, const struct neuron_inst *inst)
{
	double begin = figure_thread_now();
	unsigned int i;

	for (i = 0; i < TILES; i++)
		bench_chip_run(core, NEURON_ENGINE_TENSOR, inst);
	return figure_thread_now() - begin;
}

/* Rounds alternate, so that both see the same disturbances. */
static void measure(struct figures *figures, unsigned int rounds, struct trn_core *core,
		    const struct job *job, const struct cube *cube)
{
	const struct neuron_inst first = load(job), inst = multiply(job);
	struct figure figure = {
		.name = job->name, .unit = "GFLOP/s", .goal = cube ? job->goal : FIGURE_NONE,
	};
	double chip[FIGURE_MAX_ROUNDS], base[FIGURE_MAX_ROUNDS];
	unsigned int i;

	fill(core);
	if (job->multiply == NEURON_OP_MATMUL_SPARSE)
		fill_tags(core);
	bench_chip_run(core, NEURON_ENGINE_TENSOR, &first);
	bench_chip_run(core, NEURON_ENGINE_TENSOR, &inst);
	for (i = 0; i < rounds; i++) {
		chip[i] = time_tiles(core, &inst);
		base[i] = cube ? time_cube(cube) : 1.0;
	}
	figure_rates(chip, rounds, 2e-9 * K * M * N * job->depth * TILES);
	figure_rates(base, rounds, 2e-9 * CUBE * CUBE * CUBE);
	figures_add(figures, figure, chip, cube ? base : NULL, rounds);
}

int main(int argc, char **argv)
{
	const struct figure_options options = figure_options(argc, argv);
	struct figures figures = { .count = 0 };
	struct cube cube = { .memory = NULL };
	bool have_cube = cube_init(&cube);
	/* The generation that has every type. */
	struct trn_chip *chip = bench_chip_new(&neuron_gen_trn3);
	size_t i;
	int ret;

	for (i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++)
		measure(&figures, options.rounds, &chip->core[0], &jobs[i],
			have_cube ? &cube : NULL);
	ret = figures_report(&figures, options.json);
	free(cube.memory);
	blas_unload(&cube.blas);
	return ret ? EXIT_FAILURE : EXIT_SUCCESS;
}
