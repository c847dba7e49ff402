// SPDX-License-Identifier: MIT
/*
 * A whole program: a product of 2048-cubes from HBM to HBM with generated packets,
 * semaphores and eviction, from the doorbell to the interrupt. One NeuronCore with one
 * worker against OpenBLAS with one thread, both in processor time. Then two NeuronCores
 * with two workers, half of the rows each, against the one, in time; beside it what a
 * second thread does for OpenBLAS, as that is all that the host has to give.
 */
#include "gemm_program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blas.h"
#include "figure.h"
#include "num/trn_num.h"

#define ELEMENTS	((size_t)GEMM_SIZE * GEMM_SIZE)
#define FLOPS		(2.0 * ELEMENTS * GEMM_SIZE)
#define SAMPLES		4096
/* Relative to the sum of magnitudes; fp32 in any order is far below. */
#define TOLERANCE	1e-5

/**
 * struct gemm_type - one type of all matrices
 * @name: of the figure, @two_cores: of two NeuronCores
 * @rounding: of the result, relative
 */
struct gemm_type {
	const char *name;
	const char *two_cores;
	unsigned int dtype;
	double rounding;
};

static const struct gemm_type types[] = {
	{ "gemm_2048_fp32", "gemm_2048_fp32_two_cores", NEURON_DTYPE_FP32, 0.0 },
	{ "gemm_2048_bf16", "gemm_2048_bf16_two_cores", NEURON_DTYPE_BF16, 0x1p-8 },
};

/**
 * struct bench - the same product on all sides
 * @one, @two: rigs with as many workers
 * @job: of each core
 * @a, @b: the operands as fp32, @c: what OpenBLAS makes of them
 */
struct bench {
	const struct gemm_type *type;
	struct blas blas;
	bool have_blas;
	struct seq_rig one, two;
	struct seq_job job[2];
	float *a, *b, *c;
};

/* In the type; @wide gets what that is. */
static void fill(const struct bench *bench, void *matrix, float *wide, uint64_t seed)
{
	size_t i;

	for (i = 0; i < ELEMENTS; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		wide[i] = (float)(int32_t)(seed >> 32) * 0x1p-31f;
	}
	trn_from_fp32(matrix, wide, bench->type->dtype, ELEMENTS);
	trn_to_fp32(wide, matrix, bench->type->dtype, ELEMENTS);
}

static void fill_rig(const struct bench *bench, struct seq_rig *rig)
{
	fill(bench, gemm_matrix(rig, GEMM_A), bench->a, 1);
	fill(bench, gemm_matrix(rig, GEMM_B), bench->b, 2);
	memset(gemm_matrix(rig, GEMM_C), 0xff, GEMM_ROOM);
}

static void expect_ok(struct seq_job *job)
{
	struct neuron_hw_completion record = seq_wait(job);

	if (record.status == NEURON_JOB_OK)
		return;
	fprintf(stderr, "the job failed: cause %u, source %#x, pc %u\n", record.cause,
		record.source, record.pc);
	exit(EXIT_FAILURE);
}

/* Seconds of the baseline's product, all of it. */
static double run_blas(struct bench *bench, double (*now)(void))
{
	double begin = now();

	if (!bench->have_blas)
		return 1.0;
	blas_matmul(&bench->blas, bench->c, bench->a, bench->b, GEMM_SIZE, GEMM_SIZE,
		    GEMM_SIZE);
	return now() - begin;
}

/* Seconds of the product on @cores cores. */
static double run(struct bench *bench, struct seq_rig *rig, unsigned int cores)
{
	struct gemm gemm = { .dtype = bench->type->dtype, .tiles = GEMM_TILES / cores };
	unsigned int i;
	double begin;

	for (i = 0; i < cores; i++) {
		gemm.first = i * gemm.tiles;
		gemm_job(&bench->job[i], rig, i, &gemm);
	}
	begin = figure_now();
	for (i = 0; i < cores; i++)
		seq_submit(&bench->job[i]);
	for (i = 0; i < cores; i++)
		expect_ok(&bench->job[i]);
	return figure_now() - begin;
}

/* The rule: a chain for each 128 terms, then one addition each. */
static float exact(const struct bench *bench, size_t m, size_t n)
{
	float sum = 0.0f, chain;
	size_t k, i;

	for (k = 0; k < GEMM_SIZE; k += GEMM_TILE) {
		chain = 0.0f;
		for (i = k; i < k + GEMM_TILE; i++)
			chain = fmaf(bench->a[i * GEMM_SIZE + m],
				     bench->b[i * GEMM_SIZE + n], chain);
		sum = k ? sum + chain : chain;
	}
	return sum;
}

static int verify_samples(const struct bench *bench, const uint8_t *c)
{
	unsigned int size = trn_dtype_size(bench->type->dtype);
	uint8_t want[sizeof(float)];
	size_t i, at;
	float sum;

	for (i = 0; i < SAMPLES; i++) {
		/* Prime to the number of elements: in every row and column. */
		at = i * 1048573 % ELEMENTS;
		sum = exact(bench, at / GEMM_SIZE, at % GEMM_SIZE);
		trn_from_fp32(want, &sum, bench->type->dtype, 1);
		if (!memcmp(want, c + at * size, size))
			continue;
		fprintf(stderr, "row %zu column %zu is not exactly %g\n",
			at / GEMM_SIZE, at % GEMM_SIZE, sum);
		return -1;
	}
	return 0;
}

static int verify_all(const struct bench *bench, const uint8_t *c)
{
	unsigned int size = trn_dtype_size(bench->type->dtype);
	double slack;
	float got;
	size_t i;

	for (i = 0; i < ELEMENTS; i++) {
		trn_to_fp32(&got, c + i * size, bench->type->dtype, 1);
		slack = TOLERANCE * GEMM_SIZE + bench->type->rounding * fabsf(bench->c[i]);
		if (fabs((double)got - bench->c[i]) <= slack)
			continue;
		fprintf(stderr, "element %zu: %g, OpenBLAS %g\n", i, got, bench->c[i]);
		return -1;
	}
	return 0;
}

static int verify(const struct bench *bench, struct seq_rig *rig)
{
	const uint8_t *c = gemm_matrix(rig, GEMM_C);

	if (verify_samples(bench, c))
		return -1;
	return bench->have_blas ? verify_all(bench, c) : 0;
}

/**
 * struct rounds - seconds of each round
 * @nr: rounds
 * @cpu, @blas: processor time of one core
 */
struct rounds {
	unsigned int nr;
	double cpu[FIGURE_MAX_ROUNDS], blas[FIGURE_MAX_ROUNDS];
	double core[2][FIGURE_MAX_ROUNDS];
};

/* In turns, so that what disturbs one disturbs all. */
static void measure(struct bench *bench, struct rounds *r)
{
	unsigned int i;

	fill_rig(bench, &bench->one);
	fill_rig(bench, &bench->two);
	run(bench, &bench->one, 1);
	run(bench, &bench->two, 2);
	for (i = 0; i < r->nr; i++) {
		r->blas[i] = run_blas(bench, figure_thread_now);
		r->cpu[i] = figure_process_now();
		r->core[0][i] = run(bench, &bench->one, 1);
		r->cpu[i] = figure_process_now() - r->cpu[i];
		r->core[1][i] = run(bench, &bench->two, 2);
	}
}

/* What is handed over in seconds becomes rates. */
static void add(struct figures *figures, const char *name, unsigned int rounds, double *value,
		double *baseline, double goal)
{
	figure_rates(value, rounds, FLOPS * 1e-9);
	if (baseline)
		figure_rates(baseline, rounds, FLOPS * 1e-9);
	figures_add(figures, (struct figure){
		.name = name, .unit = "GFLOP/s", .goal = baseline ? goal : FIGURE_NONE,
	}, value, baseline, rounds);
}

static void report(const struct bench *bench, struct rounds *r, struct figures *figures)
{
	const struct gemm_type *type = bench->type;

	add(figures, type->name, r->nr, r->cpu, bench->have_blas ? r->blas : NULL, 0.6);
	add(figures, type->two_cores, r->nr, r->core[1], r->core[0], 1.8);
}

/*
 * When all else is measured: a second thread of OpenBLAS goes on spinning for a while,
 * which is processor time of the process.
 */
static void measure_host(struct bench *bench, unsigned int rounds, struct figures *figures)
{
	double one[FIGURE_MAX_ROUNDS], two[FIGURE_MAX_ROUNDS];
	unsigned int i;

	if (!bench->have_blas)
		return;
	for (i = 0; i < rounds; i++) {
		blas_threads(&bench->blas, 1);
		one[i] = run_blas(bench, figure_now);
		blas_threads(&bench->blas, 2);
		two[i] = run_blas(bench, figure_now);
	}
	add(figures, "gemm_2048_openblas_two_threads", rounds, two, one, FIGURE_NONE);
}

static void init(struct bench *bench)
{
	bench->have_blas = blas_load(&bench->blas);
	bench->a = malloc(ELEMENTS * sizeof(*bench->a));
	bench->b = malloc(ELEMENTS * sizeof(*bench->b));
	bench->c = malloc(ELEMENTS * sizeof(*bench->c));
	if (!bench->a || !bench->b || !bench->c) {
		fprintf(stderr, "out of memory for the matrices\n");
		exit(EXIT_FAILURE);
	}
	seq_rig_init(&bench->one, &neuron_gen_trn2, 1, 1, true);
	seq_rig_init(&bench->two, &neuron_gen_trn2, 2, 1, true);
}

int main(int argc, char **argv)
{
	const struct figure_options options = figure_options(argc, argv);
	struct figures figures = { .count = 0 };
	/* Goes with the process, and so does what it holds. */
	static struct bench bench;
	struct rounds rounds = { .nr = options.rounds };
	size_t i;

	init(&bench);
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		bench.type = &types[i];
		measure(&bench, &rounds);
		report(&bench, &rounds, &figures);
		if (verify(&bench, &bench.one) || verify(&bench, &bench.two))
			return EXIT_FAILURE;
	}
	measure_host(&bench, options.rounds, &figures);
	return figures_report(&figures, options.json) ? EXIT_FAILURE : EXIT_SUCCESS;
}
