// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"

#define DISK		"/dev/nvme0n1"
#define BLOCK		4096
#define READS		2000
#define WARM_UP		200
#define DISK_BLOCKS	4096
#define PIECE		((size_t)1 << 20)
#define DEPTH		8
#define PIECES		64	/* the disk */
#define ROUNDS		7

static int stream_submit(aio_context_t aio, struct iocb *cb, int fd, char *buf,
			 unsigned int piece)
{
	*cb = (struct iocb){
		.aio_lio_opcode = IOCB_CMD_PREAD,
		.aio_fildes = (uint32_t)fd,
		.aio_buf = (uintptr_t)(buf + piece * PIECE),
		.aio_nbytes = PIECE,
		.aio_offset = (int64_t)(piece * PIECE),
		.aio_data = (uintptr_t)cb,
	};
	return syscall(SYS_io_submit, aio, 1l, &cb) == 1 ? 0 : -errno;
}

/* The whole disk, 1 MiB at a time, DEPTH reads in flight. */
static int stream_read(aio_context_t aio, int fd, char *buf)
{
	struct iocb cbs[DEPTH];
	unsigned int next, done;
	struct io_event event;
	int ret = 0;

	for (next = 0; !ret && next < DEPTH; next++)
		ret = stream_submit(aio, &cbs[next], fd, buf, next);
	for (done = 0; !ret && done < PIECES; done++) {
		if (syscall(SYS_io_getevents, aio, 1l, 1l, &event, NULL) != 1)
			return -errno;
		if (event.res != (int64_t)PIECE)
			return event.res < 0 ? (int)event.res : -EIO;
		if (next < PIECES)
			ret = stream_submit(aio,
					    (struct iocb *)(uintptr_t)event.data,
					    fd, buf, next++);
	}
	return ret;
}

static int stream_measure(struct bench *bench, aio_context_t aio, int fd,
			  char *buf)
{
	double seconds[ROUNDS], begin;
	int i, ret;

	for (i = -1; i < ROUNDS; i++) {
		begin = figure_now();
		ret = stream_read(aio, fd, buf);
		if (ret)
			return ret;
		if (i >= 0)
			seconds[i] = figure_now() - begin;
	}
	bench->nvme_gbps = PIECES * PIECE / figure_median(seconds, ROUNDS) * 1e-9;
	figures_add(&bench->figures, (struct figure){
		.name = "nvme_read_1MiB_qd8", .value = bench->nvme_gbps,
		.unit = "GB/s", .baseline = FIGURE_NONE, .goal = FIGURE_NONE,
	});
	return 0;
}

int bench_nvme_stream(struct bench *bench)
{
	int fd = open(DISK, O_RDONLY | O_DIRECT), ret = -errno;
	aio_context_t aio = 0;
	char *buf;

	buf = mmap(NULL, PIECES * PIECE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (fd >= 0 && buf != MAP_FAILED)
		ret = syscall(SYS_io_setup, (long)DEPTH, &aio) ? -errno :
		      stream_measure(bench, aio, fd, buf);
	if (ret)
		fprintf(stderr, "bench: 1 MiB reads of %s: %s\n", DISK,
			strerror(-ret));
	if (aio)
		syscall(SYS_io_destroy, aio);
	if (buf != MAP_FAILED)
		munmap(buf, PIECES * PIECE);
	if (fd >= 0)
		close(fd);
	return ret ? -1 : 0;
}

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
