// SPDX-License-Identifier: MIT
/*
 * Submissions a second: empty jobs with unchanged bindings on one core, at most 32
 * in flight, the result of each fetched.
 */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "pipeline.h"

#define JOBS	100000
#define WARM_UP	1000
#define GOAL	5000	/* jobs a second */

int bench_throughput(struct bench *bench)
{
	struct pipeline pipeline;
	struct rig rig;
	double begin, end;
	int ret;

	ret = rig_open(&rig, 0, RIG_ANY_CORE);
	if (ret) {
		fprintf(stderr, "bench: cannot claim a core: %s\n", strerror(-ret));
		return -1;
	}
	rig_clear(&rig);
	rig_halt(&rig, NEURON_ENGINE_SYNC);
	pipeline_run(&rig, WARM_UP, &pipeline);
	begin = figure_now();
	pipeline_run(&rig, JOBS, &pipeline);
	end = figure_now();
	rig_close(&rig);
	if (pipeline.error || pipeline.good != JOBS) {
		fprintf(stderr, "bench: of %llu jobs submitted %llu ended, %llu well: %s\n",
			(unsigned long long)pipeline.submitted,
			(unsigned long long)pipeline.ended,
			(unsigned long long)pipeline.good,
			strerror(-pipeline.error));
		return -1;
	}
	figures_add(&bench->figures, (struct figure){
		.name = "submit_100k_jobs", .value = JOBS / (end - begin),
		.unit = "jobs/s", .baseline = FIGURE_NONE, .goal = GOAL,
	});
	return 0;
}
