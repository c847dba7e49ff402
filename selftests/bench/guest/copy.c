// SPDX-License-Identifier: MIT
/*
 * The device's copies: HBM to HBM, a host buffer to HBM, user memory to HBM and
 * back. One ioctl for each copy; page-aligned user memory, pinning included.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "bench.h"
#include "neuron_test.h"

#define SIZE	((size_t)64 << 20)
#define WARM_UP	3	/* rounds in which an emulator translates the code */
#define ROUNDS	31

struct copies {
	int fd;
	struct drm_neuron_bo_create a;
	struct drm_neuron_bo_create b;
	struct drm_neuron_bo_create host;
	char *user;
};

static int copy_hbm(const struct copies *c)
{
	return neuron_bo_copy(c->fd, c->a.handle, 0, c->b.handle, 0, SIZE);
}

static int copy_host(const struct copies *c)
{
	return neuron_bo_copy(c->fd, c->a.handle, 0, c->host.handle, 0, SIZE);
}

static int copy_in(const struct copies *c)
{
	return neuron_write(c->fd, c->a.handle, 0, c->user, SIZE);
}

static int copy_out(const struct copies *c)
{
	return neuron_read(c->fd, c->a.handle, 0, c->user, SIZE);
}

/* Return: GB/s, or below 0 after a message. */
static double copy_rate(const struct copies *c, const char *name,
			int (*copy)(const struct copies *c))
{
	double seconds[ROUNDS], begin;
	int i, ret;

	for (i = -WARM_UP; i < ROUNDS; i++) {
		begin = figure_now();
		ret = copy(c);
		if (ret) {
			fprintf(stderr, "bench: %s: %s\n", name, strerror(-ret));
			return -1;
		}
		if (i >= 0)
			seconds[i] = figure_now() - begin;
	}
	return SIZE / figure_median(seconds, ROUNDS) * 1e-9;
}

static void copy_figure(struct bench *bench, const char *name, double rate,
			double baseline, double goal)
{
	figures_add(&bench->figures, (struct figure){
		.name = name, .value = rate, .unit = "GB/s",
		.baseline = baseline,
		.goal = baseline > 0 ? goal : FIGURE_NONE,
	});
}

static int copy_measure(struct bench *bench, const struct copies *c,
			const char *name, int (*copy)(const struct copies *c),
			double goal)
{
	double rate = copy_rate(c, name, copy);

	if (rate < 0)
		return -1;
	copy_figure(bench, name, rate, bench->memcpy_gbps, goal);
	/* This one has two goals. */
	if (copy == copy_in)
		copy_figure(bench, "dma_copy_user_to_hbm_by_nvme", rate,
			    bench->nvme_gbps, 1.0);
	return 0;
}

int bench_copy(struct bench *bench)
{
	struct copies c = { .fd = neuron_open(0) };
	int ret = -1;

	c.user = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (c.fd < 0 || c.user == MAP_FAILED ||
	    neuron_bo_create(c.fd, DRM_NEURON_BO_HBM, 0, SIZE, &c.a) ||
	    neuron_bo_create(c.fd, DRM_NEURON_BO_HBM, 0, SIZE, &c.b) ||
	    neuron_bo_create(c.fd, DRM_NEURON_BO_HOST, 0, SIZE, &c.host)) {
		fprintf(stderr, "bench: no device, or no memory for the copies\n");
		goto out;
	}
	memset(c.user, 0x5a, SIZE);
	/* Both buffers are touched before they are measured. */
	if (copy_in(&c) ||
	    neuron_bo_copy(c.fd, c.b.handle, 0, c.a.handle, 0, SIZE) ||
	    neuron_bo_copy(c.fd, c.host.handle, 0, c.a.handle, 0, SIZE)) {
		fprintf(stderr, "bench: a copy failed\n");
		goto out;
	}
	ret = copy_measure(bench, &c, "dma_copy_hbm_to_hbm_64MiB", copy_hbm, 0.8);
	if (!ret)
		ret = copy_measure(bench, &c, "dma_copy_host_to_hbm_64MiB",
				   copy_host, 0.8);
	if (!ret)
		ret = copy_measure(bench, &c, "dma_copy_user_to_hbm_64MiB",
				   copy_in, 0.5);
	if (!ret)
		ret = copy_measure(bench, &c, "dma_copy_hbm_to_user_64MiB",
				   copy_out, 0.5);
out:
	if (c.user != MAP_FAILED)
		munmap(c.user, SIZE);
	if (c.fd >= 0)
		close(c.fd);
	return ret;
}
