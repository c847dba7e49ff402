// SPDX-License-Identifier: MIT
/*
 * Submissions a second: empty jobs with unchanged bindings on one core, at most 32
 * in flight, the result of each fetched. In all rounds together about 100,000.
 * The baseline is NVMe reads of 4 KiB at queue depth 1.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "pipeline.h"

#define JOBS	5000	/* in a round */
#define WARM_UP	1000
#define GOAL	8	/* jobs for each NVMe read */

struct throughput {
	struct rig rig;
	double rate[FIGURE_MAX_ROUNDS];
};

static int run_jobs(struct throughput *t, unsigned int jobs)
{
	struct pipeline pipeline;

	pipeline_run(&t->rig, jobs, &pipeline);
	if (!pipeline.error && pipeline.good == jobs)
		return 0;
	fprintf(stderr, "bench: of %llu jobs submitted %llu ended, %llu well: %s\n",
		(unsigned long long)pipeline.submitted, (unsigned long long)pipeline.ended,
		(unsigned long long)pipeline.good, strerror(-pipeline.error));
	return -1;
}

static void throughput_close(void *state)
{
	struct throughput *t = state;

	rig_close(&t->rig);
	free(t);
}

static void *throughput_open(struct bench *bench)
{
	struct throughput *t = calloc(1, sizeof(*t));
	int ret;

	(void)bench;
	if (!t)
		return NULL;
	ret = rig_open(&t->rig, 0, RIG_ANY_CORE);
	if (ret) {
		fprintf(stderr, "bench: cannot claim a core: %s\n", strerror(-ret));
		free(t);
		return NULL;
	}
	rig_clear(&t->rig);
	rig_halt(&t->rig, NEURON_ENGINE_SYNC);
	if (!run_jobs(t, WARM_UP))
		return t;
	throughput_close(t);
	return NULL;
}

static int throughput_round(struct bench *bench, void *state, unsigned int i)
{
	struct throughput *t = state;
	double begin = figure_now();

	(void)bench;
	if (run_jobs(t, JOBS))
		return -1;
	t->rate[i] = JOBS / (figure_now() - begin);
	return 0;
}

static void throughput_report(struct bench *bench, void *state)
{
	struct throughput *t = state;

	figures_add(&bench->figures, (struct figure){
		.name = "submit_100k_jobs", .unit = "jobs/s",
		.goal = bench->have_nvme ? GOAL : FIGURE_NONE,
	}, t->rate, bench->have_nvme ? bench->nvme_rate : NULL, bench->rounds);
}

const struct bench_part bench_throughput = {
	.name = "throughput",
	.open = throughput_open,
	.round = throughput_round,
	.report = throughput_report,
	.close = throughput_close,
};
