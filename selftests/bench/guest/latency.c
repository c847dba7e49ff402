// SPDX-License-Identifier: MIT
/*
 * From the doorbell of a 4 KiB copy to the entry of the interrupt handler, by the
 * driver's own trace events, which the kernel stamps in microseconds. As with the
 * NVMe read that it is compared with, the device writes 4 KiB of the guest's memory.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "neuron_test.h"

#define TRACING	"/sys/kernel/tracing/"
#define BLOCK	4096
#define COPIES	100	/* in a round */
#define WARM_UP	20	/* after the kernel's code was changed for the trace */

/* struct latency - @median: us of each round */
struct latency {
	struct drm_neuron_bo_create hbm, host;
	int fd;
	double median[FIGURE_MAX_ROUNDS];
};

static int trace_set(const char *file, const char *value)
{
	char path[128];
	int fd, ok;

	snprintf(path, sizeof(path), TRACING "%s", file);
	fd = open(path, O_WRONLY | O_TRUNC);
	if (fd < 0)
		goto fail;
	ok = write(fd, value, strlen(value)) == (ssize_t)strlen(value);
	close(fd);
	if (ok)
		return 0;
fail:
	fprintf(stderr, "bench: cannot write %s\n", path);
	return -1;
}

static int trace_start(void)
{
	if (trace_set("trace_clock", "mono") ||
	    trace_set("buffer_size_kb", "2048") ||
	    trace_set("events/neuron/neuron_copy_doorbell/enable", "1") ||
	    trace_set("events/neuron/neuron_irq/enable", "1"))
		return -1;
	return 0;
}

static void trace_stop(void)
{
	trace_set("events/neuron/neuron_copy_doorbell/enable", "0");
	trace_set("events/neuron/neuron_irq/enable", "0");
}

/* The time stamp of a line that has the event @name, in us; below 0: it has not. */
static double event_us(const char *line, const char *name)
{
	const char *at = strstr(line, name), *start;

	if (!at || at - line < 3)
		return -1;
	for (start = at - 2; start > line && start[-1] != ' '; start--)
		;
	return strtod(start, NULL) * 1e6;
}

/* Pair each doorbell with the interrupt that follows it. */
static size_t trace_read(double us[COPIES])
{
	FILE *f = fopen(TRACING "trace", "re");
	double doorbell = -1, irq;
	char line[512];
	size_t n = 0;

	while (f && n < COPIES && fgets(line, sizeof(line), f)) {
		if (line[0] == '#')
			continue;
		irq = event_us(line, " neuron_irq:");
		if (irq >= 0 && doorbell >= 0) {
			us[n++] = irq - doorbell;
			doorbell = -1;
		} else if (irq < 0) {
			doorbell = event_us(line, " neuron_copy_doorbell:");
		}
	}
	if (f)
		fclose(f);
	return n;
}

static int copies(struct latency *l)
{
	int i, ret;

	for (i = -WARM_UP; i < COPIES; i++) {
		if (i == -WARM_UP && trace_start())
			return -1;
		if (!i && trace_set("trace", ""))
			return -1;
		ret = neuron_bo_copy(l->fd, l->host.handle, 0, l->hbm.handle, 0, BLOCK);
		if (ret) {
			fprintf(stderr, "bench: a 4 KiB copy: %s\n", strerror(-ret));
			return -1;
		}
	}
	return 0;
}

static int latency_round(struct bench *bench, void *state, unsigned int i)
{
	struct latency *l = state;
	double us[COPIES];
	size_t n;
	int ret;

	(void)bench;
	ret = copies(l);
	trace_stop();
	if (ret)
		return ret;
	n = trace_read(us);
	if (n < COPIES / 2) {
		fprintf(stderr, "bench: the trace has %zu of %d copies\n", n, COPIES);
		return -1;
	}
	l->median[i] = figure_median(us, n);
	return 0;
}

static void latency_close(void *state)
{
	struct latency *l = state;

	if (l->fd >= 0)
		close(l->fd);
	free(l);
}

static void *latency_open(struct bench *bench)
{
	struct latency *l = calloc(1, sizeof(*l));

	(void)bench;
	if (!l)
		return NULL;
	l->fd = neuron_open(0);
	if (l->fd >= 0 && !neuron_bo_create(l->fd, DRM_NEURON_BO_HBM, 0, BLOCK, &l->hbm) &&
	    !neuron_bo_create(l->fd, DRM_NEURON_BO_HOST, 0, BLOCK, &l->host))
		return l;
	fprintf(stderr, "bench: no device, or no memory for a copy\n");
	latency_close(l);
	return NULL;
}

static void latency_report(struct bench *bench, void *state)
{
	struct latency *l = state;

	figures_add(&bench->figures, (struct figure){
		.name = "dma_4KiB_doorbell_to_handler", .unit = "us",
		.goal = bench->have_nvme ? 0.5 : FIGURE_NONE, .lower_is_better = true,
	}, l->median, bench->have_nvme ? bench->nvme_us : NULL, bench->rounds);
}

const struct bench_part bench_latency = {
	.name = "latency",
	.open = latency_open,
	.round = latency_round,
	.report = latency_report,
	.close = latency_close,
};
