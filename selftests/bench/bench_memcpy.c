// SPDX-License-Identifier: MIT
/*
 * What the host's memcpy reaches: the baseline of the copy figures. With --serve the
 * program copies on demand, beside what the guest measures.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "figure.h"

#define MIB		(1024.0 * 1024)
#define LARGE		((size_t)256 << 20)
#define SMALL		((size_t)64 << 20)	/* below glibc's non-temporal limit */
#define MAX_THREADS	2

/* struct part - the piece of a copy that one thread does */
struct part {
	char *dst;
	const char *src;
	size_t len;
};

static void *copy_part(void *arg)
{
	const struct part *part = arg;

	memcpy(part->dst, part->src, part->len);
	return NULL;
}

/* Seconds, or a negative number where a thread cannot be had. */
static double time_copy(char *dst, const char *src, size_t len, unsigned int threads)
{
	struct part part[MAX_THREADS];
	pthread_t thread[MAX_THREADS];
	double begin = figure_now();
	unsigned int i, started;

	for (i = 0; i < threads; i++)
		part[i] = (struct part){
			dst + len / threads * i, src + len / threads * i, len / threads
		};
	for (started = 1; started < threads; started++) {
		if (pthread_create(&thread[started], NULL, copy_part, &part[started]))
			break;
	}
	copy_part(&part[0]);
	for (i = 1; i < started; i++)
		pthread_join(thread[i], NULL);
	return started == threads ? figure_now() - begin : -1.0;
}

static int measure(struct figures *figures, const char *name, unsigned int rounds,
		   char *dst, const char *src, size_t len, unsigned int threads)
{
	double seconds[FIGURE_MAX_ROUNDS];
	unsigned int i;

	for (i = 0; i < rounds; i++) {
		seconds[i] = time_copy(dst, src, len, threads);
		if (seconds[i] < 0) {
			fprintf(stderr, "%s: cannot start %u threads\n", name, threads);
			return -1;
		}
	}
	figure_rates(seconds, rounds, len * 1e-9);
	figures_add(figures, (struct figure){
		.name = name, .unit = "GB/s", .goal = FIGURE_NONE,
	}, seconds, NULL, rounds);
	return 0;
}

/* One copy for each line that is read; its rate in GB/s is the answer. */
static int serve(char *dst, const char *src)
{
	char line[16];

	while (fgets(line, sizeof(line), stdin)) {
		printf("%.6g\n", SMALL / time_copy(dst, src, SMALL, 1) * 1e-9);
		fflush(stdout);
	}
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	bool serving = argc == 2 && !strcmp(argv[1], "--serve");
	const struct figure_options options = figure_options(serving ? 1 : argc, argv);
	struct figures figures = { .count = 0 };
	char *src = malloc(LARGE), *dst = malloc(LARGE);
	int status = EXIT_FAILURE;

	if (!src || !dst) {
		fprintf(stderr, "needs %.0f MiB of memory\n", 2 * LARGE / MIB);
		goto out;
	}
	memset(src, 1, LARGE);
	memset(dst, 2, LARGE);
	if (serving) {
		status = serve(dst, src);
		goto out;
	}
	if (measure(&figures, "memcpy_64MiB_1_thread", options.rounds, dst, src, SMALL, 1) ||
	    measure(&figures, "memcpy_256MiB_1_thread", options.rounds, dst, src, LARGE, 1) ||
	    measure(&figures, "memcpy_256MiB_2_threads", options.rounds, dst, src, LARGE, 2))
		goto out;
	if (memcmp(src, dst, LARGE)) {
		fprintf(stderr, "the copy differs from its source\n");
		goto out;
	}
	if (!figures_report(&figures, options.json))
		status = EXIT_SUCCESS;
out:
	free(dst);
	free(src);
	return status;
}
