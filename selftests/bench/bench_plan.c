// SPDX-License-Identifier: MIT
/*
 * How long the plans of collectives take: all programs of 64 ranks, by each algorithm. Those of two
 * levels are of chips, and of servers.
 */
#include <stdio.h>
#include <stdlib.h>

#include "figure.h"
#include "neuron/isa.h"
#include "plan/plan.h"

#define RANKS	64

/**
 * struct algorithm - an algorithm and where it has its ranks
 * @name: of the algorithm
 * @topology: of the chips
 * @chips: of a server; each has 4 ranks
 */
static const struct algorithm {
	const char *name;
	enum nrt_plan_topology topology;
	unsigned int chips;
} algorithms[] = {
	{ "ring", NRT_PLAN_TORUS2D, 16 },
	{ "mesh", NRT_PLAN_TORUS2D, 16 },
	{ "mesh1", NRT_PLAN_TORUS2D, 16 },
	{ "kangaring", NRT_PLAN_TORUS2D, 16 },
	{ "rdh", NRT_PLAN_TORUS2D, 16 },
	{ "chip:mesh+rdh", NRT_PLAN_TORUS2D, 16 },
	{ "hier:kangaring+rdh", NRT_PLAN_SWITCH, 4 },
};

#define NR_ALGORITHMS	(sizeof(algorithms) / sizeof(algorithms[0]))

/* An all-reduce of 1 MiB, 16 chips of 4 ranks. Return: steps of all ranks, 0 after a message. */
static size_t make(const struct algorithm *algorithm)
{
	struct nrt_plan_place places[RANKS];
	const struct nrt_plan_ask ask = {
		.op = NRT_PLAN_ALL_REDUCE, .reduce = NRT_PLAN_ADD, .dtype = NEURON_DTYPE_FP32,
		.count = 1 << 18, .nr_ranks = RANKS, .places = places,
		.topology = algorithm->topology, .algorithm = algorithm->name,
	};
	struct nrt_plan_program program;
	struct nrt_error error;
	struct nrt_plan *plan;
	size_t steps = 0;
	unsigned int r;

	for (r = 0; r < RANKS; r++)
		places[r] = (struct nrt_plan_place){
			.server = (uint16_t)(r / 4 / algorithm->chips),
			.chip = (uint16_t)(r / 4 % algorithm->chips),
			.core = (uint16_t)(r % 4),
		};
	if (nrt_plan_make(&ask, &plan, &error)) {
		fprintf(stderr, "%s: %s\n", algorithm->name, error.text);
		return 0;
	}
	for (r = 0; r < RANKS; r++) {
		if (nrt_plan_program(plan, r, &program, &error)) {
			fprintf(stderr, "%s: %s\n", algorithm->name, error.text);
			steps = 0;
			break;
		}
		steps += program.nr_steps;
		nrt_plan_program_fini(&program);
	}
	nrt_plan_free(plan);
	return steps;
}

int main(int argc, char **argv)
{
	const struct figure_options options = figure_options(argc, argv);
	struct figures figures = { .count = 0 };
	double ms[FIGURE_MAX_ROUNDS], start;
	unsigned int i, a;

	for (i = 0; i < options.rounds; i++) {
		start = figure_thread_now();
		for (a = 0; a < NR_ALGORITHMS; a++)
			if (!make(&algorithms[a]))
				return EXIT_FAILURE;
		ms[i] = (figure_thread_now() - start) * 1000;
	}
	figures_add(&figures, (struct figure){
		.name = "collective_plans_64_ranks", .unit = "ms", .goal = 100,
		.lower_is_better = true,
	}, ms, NULL, options.rounds);
	return figures_report(&figures, options.json) ? EXIT_FAILURE : EXIT_SUCCESS;
}
