// SPDX-License-Identifier: MIT
/* The guest's part of `make bench`. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* In this order: the NVMe reads and the driver's empty jobs are the baselines of others. */
static const struct bench_part *const parts[] = {
	&bench_nvme, &bench_stream, &bench_latency, &bench_submit, &bench_runtime,
	&bench_throughput, &bench_copy, &bench_windows,
};

#define PARTS	(sizeof(parts) / sizeof(parts[0]))

static int usage(void)
{
	size_t i;

	fprintf(stderr, "usage: bench [--json FILE] [--rounds N] [--only NAME,...] [--ask yes]\n"
		"names:");
	for (i = 0; i < PARTS; i++)
		fprintf(stderr, " %s", parts[i]->name);
	fprintf(stderr, "\n");
	return EXIT_FAILURE;
}

/* Is @name in @list, which is separated by commas? NULL: all are. */
static bool listed(const char *list, const char *name)
{
	size_t length = strlen(name);
	const char *at = list;

	while (at) {
		if (!strncmp(at, name, length) &&
		    (at[length] == ',' || !at[length]))
			return true;
		at = strchr(at, ',');
		at += !!at;
	}
	return !list;
}

double bench_ask(const char *question)
{
	char line[64];
	double answer;

	printf("@%s\n", question);
	fflush(stdout);
	if (fgets(line, sizeof(line), stdin)) {
		answer = strtod(line, NULL);
		if (answer > 0)
			return answer;
	}
	fprintf(stderr, "bench: the host did not answer @%s\n", question);
	return -1;
}

/* A failed part ends the run: its neighbours' pairs would be of another time. */
static int run(struct bench *bench, void *state[PARTS])
{
	unsigned int round;
	size_t i;

	for (round = 0; round < bench->rounds; round++) {
		if (bench->ask && bench_ask("round") < 0)
			return -1;
		for (i = 0; i < PARTS; i++)
			if (state[i] && parts[i]->round(bench, state[i], round))
				return -1;
		if (!bench->ask)
			fprintf(stderr, "bench: round %u of %u\n", round + 1, bench->rounds);
	}
	for (i = 0; i < PARTS; i++)
		if (state[i])
			parts[i]->report(bench, state[i]);
	return 0;
}

static int open_and_run(struct bench *bench, const char *only)
{
	void *state[PARTS] = { NULL };
	size_t i;
	int ret = 0;

	for (i = 0; !ret && i < PARTS; i++) {
		if (!listed(only, parts[i]->name))
			continue;
		state[i] = parts[i]->open(bench);
		if (!state[i])
			ret = -1;
	}
	if (!ret)
		ret = run(bench, state);
	for (i = 0; i < PARTS; i++)
		if (state[i])
			parts[i]->close(state[i]);
	return ret;
}

int main(int argc, char **argv)
{
	static struct bench bench = { .rounds = FIGURE_ROUNDS };
	const char *json = NULL, *only = NULL;
	int i;

	for (i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--json"))
			json = argv[i + 1];
		else if (!strcmp(argv[i], "--rounds"))
			bench.rounds = figure_rounds(argv[i + 1]);
		else if (!strcmp(argv[i], "--only"))
			only = argv[i + 1];
		else if (!strcmp(argv[i], "--ask"))
			bench.ask = !strcmp(argv[i + 1], "yes");
		else
			return usage();
	}
	if (i < argc || !bench.rounds)
		return usage();
	if (open_and_run(&bench, only) || figures_report(&bench.figures, json))
		return EXIT_FAILURE;
	return EXIT_SUCCESS;
}
