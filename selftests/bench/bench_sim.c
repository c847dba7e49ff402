// SPDX-License-Identifier: MIT
/*
 * What neuron-sim costs, as a process: how long the shortest program takes from its start to its
 * end, which is more than to its first instruction, and programs with a profile against the same
 * ones without.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "figure.h"
#include "neuron_builder.h"

#define RUNS		5	/* in a sample */
#define ROWS		128
#define FOLDER		"/tmp/bench-sim-XXXXXX"

static void die(const char *what, const char *why)
{
	fprintf(stderr, "bench-sim: %s: %s\n", what, why);
	exit(1);
}

/* Wait for neuron-sim, which must end well. */
static void run(const char *const *words)
{
	posix_spawn_file_actions_t actions;
	int status, ret;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	ret = posix_spawn(&pid, NEURON_SIM, &actions, NULL, (char *const *)words, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (ret)
		die(NEURON_SIM, strerror(ret));
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			die("waitpid", strerror(errno));
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		die(words[1], "neuron-sim failed");
}

/* Milliseconds of a run. */
static double time_run(const char *neff, const char *profile)
{
	const char *const words[] = {
		"neuron-sim", neff, profile ? "--profile" : NULL, profile, NULL
	};
	double begin = figure_now();
	unsigned int i;

	for (i = 0; i < RUNS; i++)
		run(words);
	return (figure_now() - begin) / RUNS * 1e3;
}

/*
 * A program of @loops additions of @elements fp32 in each of 128 partitions, on the vector engine.
 * Without any it halts at once.
 */
static void write_neff(const char *path, uint32_t loops, uint32_t elements)
{
	struct nb_program *nb = nb_new("bench");
	struct neuron_ap to, from;
	uint32_t again;

	if (!nb)
		die(path, "no memory");
	if (loops) {
		to = nb_tile(0, ROWS, 0, NEURON_DTYPE_FP32, elements);
		from = nb_tile(0, ROWS, elements * 4, NEURON_DTYPE_FP32, elements);
		nb_reg_set(nb, NEURON_ENGINE_VECTOR, 1, loops);
		again = nb_here(nb, NEURON_ENGINE_VECTOR);
		nb_tensor_scalar(nb, NEURON_ENGINE_VECTOR, to, from, NEURON_ALU_MULTIPLY, 2.0f,
				 NEURON_ALU_ADD, 1.0f);
		nb_loop(nb, NEURON_ENGINE_VECTOR, 1, again);
	}
	nb_halt(nb, NEURON_ENGINE_VECTOR);
	if (nb_write(nb, path))
		die(path, nb_error(nb));
	nb_free(nb);
}

static void measure_start(struct figures *figures, const char *neff, unsigned int rounds)
{
	const struct figure figure = {
		.name = "sim_whole_process", .unit = "ms", .goal = 30, .lower_is_better = true,
	};
	double ms[FIGURE_MAX_ROUNDS];
	unsigned int i;

	write_neff(neff, 0, 0);
	for (i = 0; i < rounds; i++)
		ms[i] = time_run(neff, NULL);
	figures_add(figures, figure, ms, NULL, rounds);
}

static void measure_profile(struct figures *figures, const char *name, const char *neff,
			    const char *profile, uint32_t loops, uint32_t elements,
			    unsigned int rounds)
{
	const struct figure figure = {
		.name = name, .unit = "ms", .goal = 1.5, .lower_is_better = true,
	};
	double with[FIGURE_MAX_ROUNDS], without[FIGURE_MAX_ROUNDS];
	unsigned int i;

	write_neff(neff, loops, elements);
	for (i = 0; i < rounds; i++) {
		with[i] = time_run(neff, profile);
		without[i] = time_run(neff, NULL);
	}
	figures_add(figures, figure, with, without, rounds);
}

int main(int argc, char **argv)
{
	struct figure_options options = figure_options(argc, argv);
	char folder[] = FOLDER, neff[64], profile[64];
	static struct figures figures;

	if (!mkdtemp(folder))
		die(folder, strerror(errno));
	snprintf(neff, sizeof(neff), "%s/bench.neff", folder);
	snprintf(profile, sizeof(profile), "%s/profile.jsonl", folder);
	measure_start(&figures, neff, options.rounds);
	measure_profile(&figures, "sim_profile_tile_512", neff, profile, 2000, 512,
			options.rounds);
	measure_profile(&figures, "sim_profile_tile_16", neff, profile, 2000, 16, options.rounds);
	/* Instructions than which none are shorter. */
	measure_profile(&figures, "sim_profile_tile_1", neff, profile, 100000, 1, options.rounds);
	unlink(neff);
	unlink(profile);
	rmdir(folder);
	return figures_report(&figures, options.json) ? 1 : 0;
}
