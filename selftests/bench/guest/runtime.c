// SPDX-License-Identifier: MIT
/*
 * What libnrt adds to the driver: an empty model against an empty job of the driver, executions
 * that are scheduled in advance against those that are waited for, copies of tensors against the
 * host's memcpy; and how long nrt_close() takes while a queue is full.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "empty_model.h"

#define RUNS	50	/* in a round */
#define WARM_UP	10
#define BYTES	((size_t)64 << 20)

/**
 * struct runtime - us, a median of each round
 * @run: an execution that is waited for
 * @schedule: to schedule one
 * @each: from the end of one that was scheduled to the end of the next one
 * @close: nrt_close() with a full queue, in seconds
 * @write, @read: a tensor of BYTES, GB/s
 * @memcpy: the host's, likewise
 * @tensor, @bytes: what is copied
 */
struct runtime {
	struct empty_model model;
	double run[FIGURE_MAX_ROUNDS];
	double schedule[FIGURE_MAX_ROUNDS];
	double each[FIGURE_MAX_ROUNDS];
	double close[FIGURE_MAX_ROUNDS];
	double write[FIGURE_MAX_ROUNDS];
	double read[FIGURE_MAX_ROUNDS];
	double memcpy[FIGURE_MAX_ROUNDS];
	nrt_tensor_t *tensor;
	void *bytes;
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

static int copy_tensor(struct runtime *runtime, double *write, double *read)
{
	double begin = figure_now();

	if (failed(nrt_tensor_write(runtime->tensor, runtime->bytes, 0, BYTES),
		   "nrt_tensor_write"))
		return -1;
	*write = BYTES / (figure_now() - begin) * 1e-9;
	begin = figure_now();
	if (failed(nrt_tensor_read(runtime->tensor, runtime->bytes, 0, BYTES),
		   "nrt_tensor_read"))
		return -1;
	*read = BYTES / (figure_now() - begin) * 1e-9;
	return 0;
}

static int run_copies(struct bench *bench, struct runtime *runtime, unsigned int i)
{
	if (bench->ask) {
		runtime->memcpy[i] = bench_ask("memcpy");
		if (runtime->memcpy[i] < 0)
			return -1;
	}
	return copy_tensor(runtime, &runtime->write[i], &runtime->read[i]);
}

/* The library, with what is measured. */
static int begin_library(struct runtime *runtime)
{
	double unused;

	if (failed(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), "nrt_init") ||
	    failed(empty_model_load(&runtime->model), "the empty model") ||
	    failed(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, BYTES, "t",
				       &runtime->tensor), "nrt_tensor_allocate"))
		return -1;
	/* Its memory is touched before that is measured. */
	return copy_tensor(runtime, &unused, &unused);
}

static void end_library(struct runtime *runtime)
{
	empty_model_unload(&runtime->model);
	nrt_tensor_free(&runtime->tensor);
}

/* It ends the library, so there is a new one for the next round. */
static int run_close(struct runtime *runtime, double *seconds)
{
	end_library(runtime);
	if (failed(empty_model_close_full(seconds), "nrt_close with a full queue"))
		return -1;
	return begin_library(runtime);
}

static int runtime_round(struct bench *bench, void *state, unsigned int i)
{
	struct runtime *runtime = state;
	double schedule, each;

	if (run_empty_models(runtime, &runtime->run[i]) ||
	    failed(empty_model_pipeline(&runtime->model, &schedule, &each),
		   "empty models in a row"))
		return -1;
	runtime->schedule[i] = schedule * 1e6;
	runtime->each[i] = each * 1e6;
	if (run_copies(bench, runtime, i))
		return -1;
	return run_close(runtime, &runtime->close[i]);
}

static void runtime_close(void *state)
{
	struct runtime *runtime = state;

	end_library(runtime);
	nrt_close();
	free(runtime->bytes);
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
	runtime->bytes = malloc(BYTES);
	if (!runtime->bytes)
		fprintf(stderr, "bench: no memory for a tensor\n");
	else
		memset(runtime->bytes, 0x5a, BYTES);
	if (runtime->bytes && !begin_library(runtime))
		return runtime;
	runtime_close(runtime);
	return NULL;
}

static void add_copy(struct bench *bench, const char *name, const double *gbps,
		     const double *memcpy)
{
	const struct figure figure = {
		.name = name, .unit = "GB/s", .goal = bench->ask ? 0.8 : FIGURE_NONE,
	};

	figures_add(&bench->figures, figure, gbps, bench->ask ? memcpy : NULL, bench->rounds);
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
	const struct figure closing = {
		.name = "runtime_close_full_queue_vm", .unit = "s", .goal = 2,
		.lower_is_better = true,
	};

	figures_add(&bench->figures, empty, runtime->run,
		    bench->have_submit ? bench->submit_us : NULL, bench->rounds);
	figures_add(&bench->figures, schedule, runtime->schedule, runtime->run, bench->rounds);
	figures_add(&bench->figures, pipeline, runtime->each, runtime->run, bench->rounds);
	add_copy(bench, "runtime_write_64mib_vm", runtime->write, runtime->memcpy);
	add_copy(bench, "runtime_read_64mib_vm", runtime->read, runtime->memcpy);
	figures_add(&bench->figures, closing, runtime->close, NULL, bench->rounds);
}

const struct bench_part bench_runtime = {
	.name = "runtime",
	.open = runtime_open,
	.round = runtime_round,
	.report = runtime_report,
	.close = runtime_close,
};
