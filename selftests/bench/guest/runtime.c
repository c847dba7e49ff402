// SPDX-License-Identifier: MIT
/*
 * What libnrt adds to the driver: an empty model against an empty job of the driver, and
 * executions that are scheduled in advance against those that are waited for.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "empty_model.h"

#define RUNS	50	/* in a round */
#define WARM_UP	10

/**
 * struct runtime - us, a median of each round
 * @run: an execution that is waited for
 * @schedule: to schedule one
 * @each: from the end of one that was scheduled to the end of the next one
 */
struct runtime {
	struct empty_model model;
	double run[FIGURE_MAX_ROUNDS];
	double schedule[FIGURE_MAX_ROUNDS];
	double each[FIGURE_MAX_ROUNDS];
};

static int failed(NRT_STATUS status, const char *what)
{
	if (status)
		fprintf(stderr, "bench: %s: %s\n", what, nrt_get_status_as_str(status));
	return status ? -1 : 0;
}

static int run_empty_models(struct runtime *runtime, double *median)
{
	double us[RUNS], begin;
	int i;

	for (i = -WARM_UP; i < RUNS; i++) {
		begin = figure_now();
		if (failed(empty_model_run(&runtime->model), "an empty model"))
			return -1;
		if (i >= 0)
			us[i] = (figure_now() - begin) * 1e6;
	}
	*median = figure_median(us, RUNS);
	return 0;
}

static int runtime_round(struct bench *bench, void *state, unsigned int i)
{
	struct runtime *runtime = state;
	double schedule, each;

	(void)bench;
	if (run_empty_models(runtime, &runtime->run[i]) ||
	    failed(empty_model_pipeline(&runtime->model, &schedule, &each),
		   "empty models in a row"))
		return -1;
	runtime->schedule[i] = schedule * 1e6;
	runtime->each[i] = each * 1e6;
	return 0;
}

static void runtime_close(void *state)
{
	struct runtime *runtime = state;

	empty_model_unload(&runtime->model);
	nrt_close();
	free(runtime);
}

/* One core: others have those of the other parts. */
static void *runtime_open(struct bench *bench)
{
	struct runtime *runtime = calloc(1, sizeof(*runtime));

	(void)bench;
	if (!runtime)
		return NULL;
	setenv("NEURON_RT_NUM_CORES", "1", 1);
	setenv("NEURON_LOGICAL_NC_CONFIG", "1", 1);
	if (!failed(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), "nrt_init") &&
	    !failed(empty_model_load(&runtime->model), "the empty model"))
		return runtime;
	runtime_close(runtime);
	return NULL;
}

static void runtime_report(struct bench *bench, void *state)
{
	struct runtime *runtime = state;
	const struct figure empty = {
		.name = "runtime_empty_model_vm", .unit = "us",
		.goal = bench->have_submit ? 1.15 : FIGURE_NONE, .lower_is_better = true,
	};
	const struct figure schedule = {
		.name = "runtime_schedule_vm", .unit = "us", .goal = 0.5, .lower_is_better = true,
	};
	const struct figure pipeline = {
		.name = "runtime_pipeline_vm", .unit = "us", .goal = 0.5, .lower_is_better = true,
	};

	figures_add(&bench->figures, empty, runtime->run,
		    bench->have_submit ? bench->submit_us : NULL, bench->rounds);
	figures_add(&bench->figures, schedule, runtime->schedule, runtime->run, bench->rounds);
	figures_add(&bench->figures, pipeline, runtime->each, runtime->run, bench->rounds);
}

const struct bench_part bench_runtime = {
	.name = "runtime",
	.open = runtime_open,
	.round = runtime_round,
	.report = runtime_report,
	.close = runtime_close,
};
