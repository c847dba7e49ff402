// SPDX-License-Identifier: MIT
/*
 * Window tables: all windows of a table in one call, and a part of them changed, in place
 * and while a job has the table. Each window shows another page of a buffer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "job_rig.h"
#include "neuron_test.h"

#define CHANGED		10000
#define PAGE		4096ull
#define WARM_UP		2

enum windows_figure { FIGURE_BIND, FIGURE_CHANGE, FIGURE_CHANGE_HELD, FIGURES };

/**
 * struct windows - a core with its table
 * @bo: buffer of two pages more than there are windows
 * @window: what is bound; the first ones are those of the rig, and do not change
 * @ms: of each figure and round
 */
struct windows {
	struct rig rig;
	struct drm_neuron_bo_create bo;
	struct drm_neuron_window window[NEURON_MAX_WINDOWS];
	double ms[FIGURES][FIGURE_MAX_ROUNDS];
};

static int failed(const char *what, int ret)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(-ret));
	return -1;
}

/*
 * Bind the first @count windows, each @shift pages from its own one, but for those of the rig;
 * the time in ms.
 */
static int bind(struct windows *w, uint32_t count, uint32_t shift, double *ms)
{
	double begin;
	uint32_t i;
	int ret;

	for (i = RIG_WINDOW_FREE; i < count; i++)
		w->window[i] = (struct drm_neuron_window){
			.index = i,
			.kind = DRM_NEURON_WINDOW_BO,
			.rights = DRM_NEURON_WINDOW_READ | DRM_NEURON_WINDOW_WRITE,
			.handle = w->bo.handle,
			.offset = (i + shift) * PAGE,
			.length = PAGE,
		};
	begin = figure_now();
	ret = rig_windows(&w->rig, w->window, count);
	*ms = (figure_now() - begin) * 1e3;
	return ret ? failed("windows", ret) : 0;
}

static int empty(struct windows *w)
{
	uint32_t i;
	int ret;

	for (i = RIG_WINDOW_FREE; i < NEURON_MAX_WINDOWS; i++)
		w->window[i] = (struct drm_neuron_window){ .index = i };
	ret = rig_windows(&w->rig, w->window, NEURON_MAX_WINDOWS);
	return ret ? failed("empty windows", ret) : 0;
}

/* While a job has the table, which does not end before it is cancelled. */
static int change_held(struct windows *w, double *ms)
{
	int64_t job = rig_start(&w->rig, 600000);
	int ret;

	if (job < 0)
		return failed("a job", (int)job);
	if (bind(w, CHANGED, 2, ms))
		return -1;
	ret = rig_cancel(&w->rig, (uint64_t)job);
	if (!ret)
		ret = rig_wait(&w->rig, (uint64_t)job, 10000, NULL);
	return ret ? failed("the end of a job", ret) : 0;
}

static int windows_round(struct bench *bench, void *state, unsigned int i)
{
	struct windows *w = state;

	(void)bench;
	if (bind(w, NEURON_MAX_WINDOWS, 0, &w->ms[FIGURE_BIND][i]) ||
	    bind(w, CHANGED, 1, &w->ms[FIGURE_CHANGE][i]) ||
	    change_held(w, &w->ms[FIGURE_CHANGE_HELD][i]))
		return -1;
	return empty(w);
}

static void windows_close(void *state)
{
	struct windows *w = state;

	rig_close(&w->rig);
	free(w);
}

static void rig_window(struct windows *w, uint32_t index, uint32_t kind, uint32_t rights,
		       uint64_t length)
{
	w->window[index] = (struct drm_neuron_window){
		.index = index,
		.kind = kind,
		.rights = rights,
		.handle = kind == DRM_NEURON_WINDOW_BO ? w->rig.bo : 0,
		.offset = index == RIG_WINDOW_DATA ? RIG_HALF : 0,
		.length = length,
	};
}

/*
 * A core with a program that does not end, and takes no time of the host, and memory for the
 * windows.
 */
static int prepare(struct windows *w)
{
	const uint32_t read = DRM_NEURON_WINDOW_READ, both = read | DRM_NEURON_WINDOW_WRITE;
	int ret;

	rig_emit(&w->rig, NEURON_ENGINE_SYNC, NEURON_OP_EVENT_WAIT);
	rig_window(w, RIG_WINDOW_IMAGE, DRM_NEURON_WINDOW_BO, read, RIG_HALF);
	rig_window(w, RIG_WINDOW_DATA, DRM_NEURON_WINDOW_BO, both, RIG_HALF);
	rig_window(w, RIG_WINDOW_SBUF, DRM_NEURON_WINDOW_SBUF, both, 0);
	rig_window(w, RIG_WINDOW_SEM, DRM_NEURON_WINDOW_SEM, both, 4ull * NEURON_NR_SEMAPHORES);
	ret = neuron_bo_create(w->rig.fd, DRM_NEURON_BO_HBM, 0,
			       (NEURON_MAX_WINDOWS + 2) * PAGE, &w->bo);
	return ret ? failed("no memory for the windows", ret) : 0;
}

static void *windows_open(struct bench *bench)
{
	struct windows *w = calloc(1, sizeof(*w));
	int i, ret;

	if (!w)
		return NULL;
	ret = rig_open(&w->rig, 0, RIG_ANY_CORE);
	if (ret) {
		failed("cannot claim a core", ret);
		free(w);
		return NULL;
	}
	ret = prepare(w);
	for (i = 0; !ret && i < WARM_UP; i++)
		ret = windows_round(bench, w, 0);
	if (!ret)
		return w;
	windows_close(w);
	return NULL;
}

static void windows_report(struct bench *bench, void *state)
{
	static const struct figure figures[FIGURES] = {
		[FIGURE_BIND] = { .name = "windows_bind_65535", .goal = 20 },
		[FIGURE_CHANGE] = { .name = "windows_change_10000", .goal = 5 },
		[FIGURE_CHANGE_HELD] = {
			.name = "windows_change_10000_of_a_job", .goal = FIGURE_NONE,
		},
	};
	struct windows *w = state;
	struct figure figure;
	int i;

	for (i = 0; i < FIGURES; i++) {
		figure = figures[i];
		figure.unit = "ms";
		figure.lower_is_better = true;
		figures_add(&bench->figures, figure, w->ms[i], NULL, bench->rounds);
	}
}

const struct bench_part bench_windows = {
	.name = "windows",
	.open = windows_open,
	.round = windows_round,
	.report = windows_report,
	.close = windows_close,
};
