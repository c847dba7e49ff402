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
#define COPIES	2000
#define WARM_UP	200

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
	return trace_set("trace", "");
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

static int copies(int fd, uint32_t dst, uint32_t src)
{
	int i, ret;

	for (i = -WARM_UP; i < COPIES; i++) {
		if (!i && trace_start())
			return -1;
		ret = neuron_bo_copy(fd, dst, 0, src, 0, BLOCK);
		if (ret) {
			fprintf(stderr, "bench: a 4 KiB copy: %s\n",
				strerror(-ret));
			return -1;
		}
	}
	return 0;
}

int bench_latency(struct bench *bench)
{
	static double us[COPIES];
	struct drm_neuron_bo_create hbm, host;
	int fd = neuron_open(0), ret = -1;
	size_t n;

	if (fd < 0 || neuron_bo_create(fd, DRM_NEURON_BO_HBM, 0, BLOCK, &hbm) ||
	    neuron_bo_create(fd, DRM_NEURON_BO_HOST, 0, BLOCK, &host)) {
		fprintf(stderr, "bench: no device, or no memory for a copy\n");
		goto out;
	}
	ret = copies(fd, host.handle, hbm.handle);
	trace_stop();
	if (ret)
		goto out;
	n = trace_read(us);
	if (n < COPIES / 2) {
		fprintf(stderr, "bench: the trace has %zu of %d copies\n", n,
			COPIES);
		ret = -1;
		goto out;
	}
	figures_add(&bench->figures, (struct figure){
		.name = "dma_4KiB_doorbell_to_handler",
		.value = figure_median(us, n), .unit = "us",
		.baseline = bench->nvme_us, .goal = 0.5,
		.lower_is_better = true,
	});
out:
	if (fd >= 0)
		close(fd);
	return ret;
}
