// SPDX-License-Identifier: MIT
/*
 * The device's copies: HBM to HBM, a host buffer to HBM, user memory to HBM and
 * back. One ioctl for each copy; page-aligned user memory, pinning included. The user memory
 * consists of pages of 4 KiB, or of huge pages.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench.h"
#include "neuron_test.h"

#define SIZE	((size_t)64 << 20)
#define WARM_UP	3
#define KINDS	6
#define HUGE	((size_t)2 << 20)

/**
 * struct copies - buffers and what was reached
 * @map: user memory of both kinds, and what aligns them
 * @small, @huge: user memory in pages of 4 KiB, and in huge pages
 * @memcpy: the host's, GB/s of each round
 * @gbps: each kind of copy
 */
struct copies {
	int fd;
	struct drm_neuron_bo_create a;
	struct drm_neuron_bo_create b;
	struct drm_neuron_bo_create host;
	char *map;
	char *small;
	char *huge;
	double memcpy[FIGURE_MAX_ROUNDS];
	double gbps[KINDS][FIGURE_MAX_ROUNDS];
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
	return neuron_write(c->fd, c->a.handle, 0, c->small, SIZE);
}

static int copy_out(const struct copies *c)
{
	return neuron_read(c->fd, c->a.handle, 0, c->small, SIZE);
}

static int copy_huge_in(const struct copies *c)
{
	return neuron_write(c->fd, c->a.handle, 0, c->huge, SIZE);
}

static int copy_huge_out(const struct copies *c)
{
	return neuron_read(c->fd, c->a.handle, 0, c->huge, SIZE);
}

static const struct {
	const char *name;
	int (*copy)(const struct copies *c);
	double goal;
} kinds[KINDS] = {
	{ "dma_copy_hbm_to_hbm_64MiB", copy_hbm, 0.8 },
	{ "dma_copy_host_to_hbm_64MiB", copy_host, 0.8 },
	{ "dma_copy_user_to_hbm_64MiB", copy_in, 0.85 },
	{ "dma_copy_hbm_to_user_64MiB", copy_out, 0.85 },
	{ "dma_copy_huge_user_to_hbm_64MiB", copy_huge_in, 0.95 },
	{ "dma_copy_hbm_to_huge_user_64MiB", copy_huge_out, 0.95 },
};

static int copy_one(struct copies *c, int kind, double *gbps)
{
	double begin = figure_now();
	int ret = kinds[kind].copy(c);

	if (ret) {
		fprintf(stderr, "bench: %s: %s\n", kinds[kind].name, strerror(-ret));
		return -1;
	}
	*gbps = SIZE / (figure_now() - begin) * 1e-9;
	return 0;
}

static int copy_round(struct bench *bench, void *state, unsigned int i)
{
	struct copies *c = state;
	int kind;

	if (bench->ask) {
		c->memcpy[i] = bench_ask("memcpy");
		if (c->memcpy[i] < 0)
			return -1;
	}
	for (kind = 0; kind < KINDS; kind++)
		if (copy_one(c, kind, &c->gbps[kind][i]))
			return -1;
	return 0;
}

static void copy_close(void *state)
{
	struct copies *c = state;

	if (c->map != MAP_FAILED)
		munmap(c->map, 2 * SIZE + HUGE);
	if (c->fd >= 0)
		close(c->fd);
	free(c);
}

/* Buffers are touched, and an emulator translates the code, before that is measured. */
static int warm_up(struct copies *c)
{
	double unused;
	int i, kind;

	memset(c->small, 0x5a, SIZE);
	memset(c->huge, 0xa5, SIZE);
	if (copy_in(c) || neuron_bo_copy(c->fd, c->b.handle, 0, c->a.handle, 0, SIZE) ||
	    neuron_bo_copy(c->fd, c->host.handle, 0, c->a.handle, 0, SIZE)) {
		fprintf(stderr, "bench: a copy failed\n");
		return -1;
	}
	for (i = 0; i < WARM_UP; i++)
		for (kind = 0; kind < KINDS; kind++)
			if (copy_one(c, kind, &unused))
				return -1;
	return 0;
}

/* Not touched yet: then the kernel finds the pages that are asked for. */
static int map_user(struct copies *c)
{
	c->map = mmap(NULL, 2 * SIZE + HUGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c->map == MAP_FAILED)
		return -1;
	c->huge = (char *)(((uintptr_t)c->map + HUGE - 1) / HUGE * HUGE);
	c->small = c->huge + SIZE;
	return madvise(c->huge, SIZE, MADV_HUGEPAGE) ||
	       madvise(c->small, SIZE, MADV_NOHUGEPAGE);
}

static void *copy_open(struct bench *bench)
{
	struct copies *c = calloc(1, sizeof(*c));

	(void)bench;
	if (!c)
		return NULL;
	c->map = MAP_FAILED;
	c->fd = neuron_open(0);
	if (c->fd < 0 || map_user(c) ||
	    neuron_bo_create(c->fd, DRM_NEURON_BO_HBM, 0, SIZE, &c->a) ||
	    neuron_bo_create(c->fd, DRM_NEURON_BO_HBM, 0, SIZE, &c->b) ||
	    neuron_bo_create(c->fd, DRM_NEURON_BO_HOST, 0, SIZE, &c->host)) {
		fprintf(stderr, "bench: no device, or no memory for the copies\n");
		copy_close(c);
		return NULL;
	}
	if (!warm_up(c))
		return c;
	copy_close(c);
	return NULL;
}

static void add(struct bench *bench, const char *name, const double *gbps,
		const double *baseline, double goal)
{
	figures_add(&bench->figures, (struct figure){
		.name = name, .unit = "GB/s", .goal = baseline ? goal : FIGURE_NONE,
	}, gbps, baseline, bench->rounds);
}

static void copy_report(struct bench *bench, void *state)
{
	struct copies *c = state;
	int kind;

	for (kind = 0; kind < KINDS; kind++) {
		add(bench, kinds[kind].name, c->gbps[kind],
		    bench->ask ? c->memcpy : NULL, kinds[kind].goal);
		/* This one has two goals. */
		if (kinds[kind].copy == copy_in)
			add(bench, "dma_copy_user_to_hbm_by_nvme", c->gbps[kind],
			    bench->have_stream ? bench->nvme_gbps : NULL, 1.0);
	}
}

const struct bench_part bench_copy = {
	.name = "copy",
	.open = copy_open,
	.round = copy_round,
	.report = copy_report,
	.close = copy_close,
};
