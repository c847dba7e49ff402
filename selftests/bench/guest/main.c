// SPDX-License-Identifier: MIT
/* The guest's part of `make bench`. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* In this order: the NVMe reads are the baselines of others. */
static const struct {
	const char *name;
	int (*run)(struct bench *bench);
} benches[] = {
	{ "nvme", bench_nvme },
	{ "nvme-stream", bench_nvme_stream },
	{ "latency", bench_latency },
	{ "submit", bench_submit },
	{ "throughput", bench_throughput },
	{ "copy", bench_copy },
};

static int usage(void)
{
	fprintf(stderr, "usage: bench [--json FILE] [--memcpy HOST-GB/S] [--only NAME,...]\n");
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

static int run(struct bench *bench, const char *only)
{
	size_t i;

	for (i = 0; i < sizeof(benches) / sizeof(benches[0]); i++)
		if (listed(only, benches[i].name) && benches[i].run(bench))
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	struct bench bench = {
		.memcpy_gbps = FIGURE_NONE,
		.nvme_us = FIGURE_NONE,
		.nvme_gbps = FIGURE_NONE,
	};
	const char *json = NULL, *only = NULL;
	char *end;
	int i, failed;

	for (i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--json")) {
			json = argv[i + 1];
		} else if (!strcmp(argv[i], "--memcpy")) {
			bench.memcpy_gbps = strtod(argv[i + 1], &end);
			if (*end || bench.memcpy_gbps <= 0)
				return usage();
		} else if (!strcmp(argv[i], "--only")) {
			only = argv[i + 1];
		} else {
			return usage();
		}
	}
	if (i < argc)
		return usage();
	failed = run(&bench, only);
	if (figures_report(&bench.figures, json) || failed)
		return EXIT_FAILURE;
	return EXIT_SUCCESS;
}
