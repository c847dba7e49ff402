// SPDX-License-Identifier: MIT
/*
 * A whole program: the kernel for products, a 2048-cube from HBM to HBM, from the doorbell to the
 * interrupt. One NeuronCore with one worker against OpenBLAS with one thread, both in processor
 * time. Then two NeuronCores with two workers, half of the rows each, against the one, in time;
 * beside it what a second thread does for OpenBLAS, as that is all that the host has to give.
 */
#include "neff_rig.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blas.h"
#include "figure.h"
#include "neuron_kernels.h"
#include "num/trn_num.h"

#define SIZE		2048
#define TERMS		128		/* of a chain */
#define ELEMENTS	((size_t)SIZE * SIZE)
#define FLOPS		(2.0 * ELEMENTS * SIZE)
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
 * @whole, @half: the program on @one, and those on the two cores of @two
 * @a, @b: the operands as fp32, @c: what OpenBLAS makes of them
 */
struct bench {
	const struct gemm_type *type;
	struct blas blas;
	bool have_blas;
	struct seq_rig one, two;
	struct neff_rig whole, half[2];
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

/* C = A B with A as terms x rows, of which core @core of @cores has its part of the columns. */
static void load(struct bench *bench, struct neff_rig *loaded, struct seq_rig *rig,
		 unsigned int core, unsigned int cores)
{
	const uint32_t rows = SIZE / cores, shape[] = { SIZE, SIZE }, part[] = { rows, SIZE };
	struct nb_program *nb = nb_new("gemm");
	enum neuron_dtype dtype = bench->type->dtype;
	struct nk_tensor a, b, c;
	struct nk nk;
	size_t size;
	void *neff;

	nb_generation(nb, rig->chip[0]->gen->generation);
	nk_begin(&nk, nb);
	a = nk_tensor(nb_input(nb, "a", dtype, 2, shape), dtype, SIZE, rows);
	a.pitch = SIZE;
	a.offset = (uint64_t)core * rows * trn_dtype_size(dtype);
	b = nk_tensor(nb_input(nb, "b", dtype, 2, shape), dtype, SIZE, SIZE);
	c = nk_tensor(nb_output(nb, "c", dtype, 2, part), dtype, rows, SIZE);
	nk_gemm(&nk, c, a, b, NK_A_TRANSPOSED);
	if (nb_schedule(nb, NULL) || nb_pack(nb, &neff, &size)) {
		fprintf(stderr, "the program: %s\n", nb_error(nb));
		exit(EXIT_FAILURE);
	}
	nb_free(nb);
	neff_rig_load_on(loaded, rig, core, neff, size);
	free(neff);
	fill(bench, neff_rig_var(loaded, "a"), bench->a, 1);
	fill(bench, neff_rig_var(loaded, "b"), bench->b, 2);
}

static void load_all(struct bench *bench)
{
	load(bench, &bench->whole, &bench->one, 0, 1);
	load(bench, &bench->half[0], &bench->two, 0, 2);
	load(bench, &bench->half[1], &bench->two, 1, 2);
}

static void free_all(struct bench *bench)
{
	neff_rig_free(&bench->whole);
	neff_rig_free(&bench->half[0]);
	neff_rig_free(&bench->half[1]);
}

static void expect_ok(struct neff_rig *loaded)
{
	struct neuron_hw_completion record = neff_rig_wait(loaded);

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
	blas_matmul(&bench->blas, bench->c, bench->a, bench->b, SIZE, SIZE, SIZE);
	return now() - begin;
}

/* Seconds of the product on @cores cores. What they leave of an earlier one is wrong. */
static double run(const struct bench *bench, struct neff_rig *loaded, unsigned int cores)
{
	const size_t bytes = ELEMENTS / cores * trn_dtype_size(bench->type->dtype);
	unsigned int i;
	double begin;

	for (i = 0; i < cores; i++)
		memset(neff_rig_var(&loaded[i], "c"), 0xff, bytes);
	begin = figure_now();
	for (i = 0; i < cores; i++)
		neff_rig_submit(&loaded[i]);
	for (i = 0; i < cores; i++)
		expect_ok(&loaded[i]);
	return figure_now() - begin;
}

/* The rule: a chain for each 128 terms, then one addition each. */
static float exact(const struct bench *bench, size_t m, size_t n)
{
	float sum = 0.0f, chain;
	size_t k, i;

	for (k = 0; k < SIZE; k += TERMS) {
		chain = 0.0f;
		for (i = k; i < k + TERMS; i++)
			chain = fmaf(bench->a[i * SIZE + m],
				     bench->b[i * SIZE + n], chain);
		sum = k ? sum + chain : chain;
	}
	return sum;
}

static int verify_samples(const struct bench *bench, const uint8_t *c, size_t first, size_t count)
{
	unsigned int size = trn_dtype_size(bench->type->dtype);
	uint8_t want[sizeof(float)];
	size_t i, at;
	float sum;

	for (i = 0; i < SAMPLES; i++) {
		/* Prime to the number of elements: in every row and column. */
		at = first + i * 1048573 % count;
		sum = exact(bench, at / SIZE, at % SIZE);
		trn_from_fp32(want, &sum, bench->type->dtype, 1);
		if (!memcmp(want, c + (at - first) * size, size))
			continue;
		fprintf(stderr, "row %zu column %zu is not exactly %g\n", at / SIZE, at % SIZE,
			sum);
		return -1;
	}
	return 0;
}

static int verify_all(const struct bench *bench, const uint8_t *c, size_t first, size_t count)
{
	unsigned int size = trn_dtype_size(bench->type->dtype);
	double slack;
	float got;
	size_t i;

	for (i = first; i < first + count; i++) {
		trn_to_fp32(&got, c + (i - first) * size, bench->type->dtype, 1);
		slack = TOLERANCE * SIZE + bench->type->rounding * fabsf(bench->c[i]);
		if (fabs((double)got - bench->c[i]) <= slack)
			continue;
		fprintf(stderr, "element %zu: %g, OpenBLAS %g\n", i, got, bench->c[i]);
		return -1;
	}
	return 0;
}

static int verify(const struct bench *bench, struct neff_rig *loaded, unsigned int cores)
{
	size_t count = ELEMENTS / cores;
	const uint8_t *c;
	unsigned int i;

	for (i = 0; i < cores; i++) {
		c = neff_rig_var(&loaded[i], "c");
		if (verify_samples(bench, c, i * count, count))
			return -1;
		if (bench->have_blas && verify_all(bench, c, i * count, count))
			return -1;
	}
	return 0;
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

	run(bench, &bench->whole, 1);
	run(bench, bench->half, 2);
	for (i = 0; i < r->nr; i++) {
		r->blas[i] = run_blas(bench, figure_thread_now);
		r->cpu[i] = figure_process_now();
		r->core[0][i] = run(bench, &bench->whole, 1);
		r->cpu[i] = figure_process_now() - r->cpu[i];
		r->core[1][i] = run(bench, bench->half, 2);
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
		load_all(&bench);
		measure(&bench, &rounds);
		report(&bench, &rounds, &figures);
		if (verify(&bench, &bench.whole, 1) || verify(&bench, bench.half, 2))
			return EXIT_FAILURE;
		free_all(&bench);
	}
	measure_host(&bench, options.rounds, &figures);
	return figures_report(&figures, options.json) ? EXIT_FAILURE : EXIT_SUCCESS;
}
