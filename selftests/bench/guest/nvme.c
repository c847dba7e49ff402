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
#define READS		500	/* in a round */
#define WARM_UP		20
#define DISK_BLOCKS	4096
#define PIECE		((size_t)1 << 20)
#define DEPTH		8
#define PIECES		64	/* the disk */

struct stream {
	aio_context_t aio;
	int fd;
	char *buf;
};

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

static void stream_close(void *state)
{
	struct stream *s = state;

	if (s->aio)
		syscall(SYS_io_destroy, s->aio);
	if (s->buf != MAP_FAILED)
		munmap(s->buf, PIECES * PIECE);
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

/* Return: 0, or -1 after a message. */
static int stream_once(struct stream *s)
{
	int ret = stream_read(s->aio, s->fd, s->buf);

	if (ret)
		fprintf(stderr, "bench: 1 MiB reads of %s: %s\n", DISK, strerror(-ret));
	return ret ? -1 : 0;
}

static void *stream_open(struct bench *bench)
{
	struct stream *s = calloc(1, sizeof(*s));
	int ret = 0;

	if (!s)
		return NULL;
	s->fd = open(DISK, O_RDONLY | O_DIRECT);
	if (s->fd < 0)
		ret = -errno;
	s->buf = mmap(NULL, PIECES * PIECE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (!ret && (s->buf == MAP_FAILED || syscall(SYS_io_setup, (long)DEPTH, &s->aio)))
		ret = -errno;
	if (ret)
		fprintf(stderr, "bench: %s: %s\n", DISK, strerror(-ret));
	else
		ret = stream_once(s);
	if (ret) {
		stream_close(s);
		return NULL;
	}
	bench->have_stream = true;
	return s;
}

static int stream_round(struct bench *bench, void *state, unsigned int i)
{
	double begin = figure_now();

	if (stream_once(state))
		return -1;
	bench->nvme_gbps[i] = PIECES * PIECE / (figure_now() - begin) * 1e-9;
	return 0;
}

static void stream_report(struct bench *bench, void *state)
{
	(void)state;
	figures_add(&bench->figures, (struct figure){
		.name = "nvme_read_1MiB_qd8", .unit = "GB/s", .goal = FIGURE_NONE,
	}, bench->nvme_gbps, NULL, bench->rounds);
}

const struct bench_part bench_stream = {
	.name = "nvme-stream",
	.open = stream_open,
	.round = stream_round,
	.report = stream_report,
	.close = stream_close,
};

/* struct nvme - @reads: so far */
struct nvme {
	int fd;
	void *buf;
	unsigned int reads;
};

static int nvme_round(struct bench *bench, void *state, unsigned int round)
{
	struct nvme *n = state;
	double us[READS], begin, all = 0;
	int i;

	for (i = -WARM_UP; i < READS; i++) {
		/* A fixed walk over the disk, never the same block twice in a row. */
		off_t block = n->reads++ * 769 % DISK_BLOCKS;

		begin = figure_now();
		if (pread(n->fd, n->buf, BLOCK, block * BLOCK) != BLOCK) {
			fprintf(stderr, "bench: read of %s: %s\n", DISK, strerror(errno));
			return -1;
		}
		if (i < 0)
			continue;
		us[i] = (figure_now() - begin) * 1e6;
		all += us[i];
	}
	bench->nvme_rate[round] = READS / (all / 1e6);
	bench->nvme_us[round] = figure_median(us, READS);
	return 0;
}

static void nvme_close(void *state)
{
	struct nvme *n = state;

	if (n->fd >= 0)
		close(n->fd);
	free(n->buf);
	free(n);
}

static void *nvme_open(struct bench *bench)
{
	struct nvme *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->buf = aligned_alloc(BLOCK, BLOCK);
	n->fd = open(DISK, O_RDONLY | O_DIRECT);
	if (n->fd < 0 || !n->buf) {
		fprintf(stderr, "bench: %s: %s\n", DISK, strerror(errno));
		nvme_close(n);
		return NULL;
	}
	bench->have_nvme = true;
	return n;
}

static void nvme_report(struct bench *bench, void *state)
{
	(void)state;
	figures_add(&bench->figures, (struct figure){
		.name = "nvme_read_4KiB_p50", .unit = "us", .goal = FIGURE_NONE,
		.lower_is_better = true,
	}, bench->nvme_us, NULL, bench->rounds);
	figures_add(&bench->figures, (struct figure){
		.name = "nvme_read_4KiB_qd1", .unit = "reads/s", .goal = FIGURE_NONE,
	}, bench->nvme_rate, NULL, bench->rounds);
}

const struct bench_part bench_nvme = {
	.name = "nvme",
	.open = nvme_open,
	.round = nvme_round,
	.report = nvme_report,
	.close = nvme_close,
};
