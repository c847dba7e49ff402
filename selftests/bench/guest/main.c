// SPDX-License-Identifier: MIT
/* The guest's part of `make bench`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static int usage(void)
{
	fprintf(stderr, "usage: bench [--json FILE] [--memcpy GB/S-OF-THE-HOST]\n");
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	struct bench bench = { .memcpy_gbps = FIGURE_NONE };
	const char *json = NULL;
	char *end;
	int i, failed;

	for (i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--json")) {
			json = argv[i + 1];
		} else if (!strcmp(argv[i], "--memcpy")) {
			bench.memcpy_gbps = strtod(argv[i + 1], &end);
			if (*end || bench.memcpy_gbps <= 0)
				return usage();
		} else {
			return usage();
		}
	}
	if (i < argc)
		return usage();
	failed = bench_nvme(&bench) || bench_latency(&bench) ||
		 bench_submit(&bench) || bench_copy(&bench);
	if (figures_report(&bench.figures, json) || failed)
		return EXIT_FAILURE;
	return EXIT_SUCCESS;
}
