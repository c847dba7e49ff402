// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define DISK		"/dev/nvme0n1"
#define BLOCK		4096
#define READS		2000
#define WARM_UP		200
#define DISK_BLOCKS	4096

int bench_nvme(struct bench *bench)
{
	static double us[READS];
	int fd = open(DISK, O_RDONLY | O_DIRECT), ret = -1, i;
	void *buf = aligned_alloc(BLOCK, BLOCK);
	double begin;

	if (fd < 0 || !buf) {
		fprintf(stderr, "bench: %s: %s\n", DISK, strerror(errno));
		goto out;
	}
	for (i = -WARM_UP; i < READS; i++) {
		/* A fixed walk over the disk, never the same block twice in a row. */
		off_t block = (unsigned int)(i + WARM_UP) * 769 % DISK_BLOCKS;

		begin = figure_now();
		if (pread(fd, buf, BLOCK, block * BLOCK) != BLOCK) {
			fprintf(stderr, "bench: read of %s: %s\n", DISK,
				strerror(errno));
			goto out;
		}
		if (i >= 0)
			us[i] = (figure_now() - begin) * 1e6;
	}
	bench->nvme_us = figure_median(us, READS);
	figures_add(&bench->figures, (struct figure){
		.name = "nvme_read_4KiB_p50", .value = bench->nvme_us,
		.unit = "us", .baseline = FIGURE_NONE, .goal = FIGURE_NONE,
	});
	ret = 0;
out:
	free(buf);
	if (fd >= 0)
		close(fd);
	return ret;
}
