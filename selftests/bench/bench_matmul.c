// SPDX-License-Identifier: MIT
/*
 * FP32 tiles of the tensor engine back to back, against OpenBLAS on the same
 * operands in the same run. One thread each, in that thread's processor time.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blas.h"
#include "figure.h"
#include "num/trn_num.h"

#define K		128
#define M		128
#define N		512
#define SETS		64	/* 36 MiB: more than most caches */
#define TILES		56	/* per round */
#define FLOPS		(2.0 * K * M * N)
#define GOAL		0.8
/* Relative to the sum of magnitudes; fp32 in any order is far below. */
#define TOLERANCE	1e-5

/* struct set - the operands of one tile, both results */
struct set {
	float stationary[K * M];
	float moving[K * N];
	float dst[M * N];
};

static float next_float(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (float)(int32_t)(*state >> 32) * 0x1p-31f;
}

static struct set *new_sets(void)
{
	struct set *sets = aligned_alloc(64, SETS * sizeof(*sets));
	uint64_t state = 1;
	size_t i, j;

	if (!sets)
		return NULL;
	for (i = 0; i < SETS; i++) {
		for (j = 0; j < K * M; j++)
			sets[i].stationary[j] = next_float(&state);
		for (j = 0; j < K * N; j++)
			sets[i].moving[j] = next_float(&state);
		memset(sets[i].dst, 0, sizeof(sets[i].dst));
	}
	return sets;
}

static void chip_tile(struct set *set)
{
	trn_matmul(set->dst, N, set->stationary, M, set->moving, N, K, M, N, false);
}

/* Seconds per tile. @blas: NULL for the chip library. */
static double time_round(const struct blas *blas, struct set *sets,
			 unsigned int nr_sets, unsigned int first)
{
	double begin = figure_thread_now();
	struct set *set;
	unsigned int i;

	for (i = 0; i < TILES; i++) {
		set = &sets[(first + i) % nr_sets];
		if (blas)
			blas_matmul(blas, set->dst, set->stationary, set->moving, K, M, N);
		else
			chip_tile(set);
	}
	return (figure_thread_now() - begin) / TILES;
}

/* Rounds alternate, so that both see the same disturbances. */
static void measure(struct figures *figures, const char *name, unsigned int rounds,
		    const struct blas *blas, struct set *sets, unsigned int nr_sets)
{
	double chip[FIGURE_MAX_ROUNDS], baseline[FIGURE_MAX_ROUNDS];
	struct figure figure = {
		.name = name, .unit = "GFLOP/s", .goal = blas ? GOAL : FIGURE_NONE,
	};
	unsigned int i;

	time_round(NULL, sets, nr_sets, 0);
	for (i = 0; i < rounds; i++) {
		chip[i] = time_round(NULL, sets, nr_sets, i * TILES);
		if (blas)
			baseline[i] = time_round(blas, sets, nr_sets, i * TILES);
	}
	figure_rates(chip, rounds, FLOPS * 1e-9);
	if (blas)
		figure_rates(baseline, rounds, FLOPS * 1e-9);
	figures_add(figures, figure, chip, blas ? baseline : NULL, rounds);
}

/* Both sides compute the same product, and the fast path the reference's bits. */
static int verify(const struct blas *blas, struct set *set)
{
	static float chip[M * N];
	size_t i;

	chip_tile(set);
	memcpy(chip, set->dst, sizeof(chip));
	trn_num_force_path("scalar");
	chip_tile(set);
	trn_num_force_path(NULL);
	if (memcmp(chip, set->dst, sizeof(chip))) {
		fprintf(stderr, "path %s does not give the reference's bits\n",
			trn_num_path_name());
		return -1;
	}
	if (!blas)
		return 0;
	blas_matmul(blas, set->dst, set->stationary, set->moving, K, M, N);
	for (i = 0; i < M * N; i++) {
		if (fabsf(chip[i] - set->dst[i]) <= TOLERANCE * K)
			continue;
		fprintf(stderr, "element %zu: %g, OpenBLAS %g\n", i, chip[i], set->dst[i]);
		return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const struct figure_options options = figure_options(argc, argv);
	struct figures figures = { .count = 0 };
	struct blas blas = { .library = NULL };
	bool have_blas = blas_load(&blas);
	struct set *sets = new_sets();
	int status = EXIT_FAILURE;

	if (!sets) {
		fprintf(stderr, "out of memory for %d operand sets\n", SETS);
		goto unload;
	}
	fprintf(stderr, "chip library: path %s, tiles of %dx%dx%d\n",
		trn_num_path_name(), K, M, N);
	if (verify(have_blas ? &blas : NULL, sets))
		goto free_sets;
	measure(&figures, "matmul_fp32_tile_hot", options.rounds, have_blas ? &blas : NULL,
		sets, 1);
	measure(&figures, "matmul_fp32_tile_64_sets", options.rounds, have_blas ? &blas : NULL,
		sets, SETS);
	if (!figures_report(&figures, options.json))
		status = EXIT_SUCCESS;
free_sets:
	free(sets);
unload:
	blas_unload(&blas);
	return status;
}
