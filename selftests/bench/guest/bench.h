/* SPDX-License-Identifier: MIT */
/*
 * The benchmarks that run in the guest. Each measures its figures, adds them to
 * the list and returns 0, or -1 after a message.
 */
#ifndef GUEST_BENCH_H
#define GUEST_BENCH_H

#include "figure.h"

/**
 * struct bench - what the benchmarks share
 * @figures: the list
 * @memcpy_gbps: the host's single-thread memcpy of 64 MiB, measured in the same
 *	run; FIGURE_NONE when it was not told
 * @nvme_us: median of the NVMe read, set by bench_nvme()
 * @nvme_gbps: rate of large NVMe reads, set by bench_nvme_stream()
 */
struct bench {
	struct figures figures;
	double memcpy_gbps;
	double nvme_us;
	double nvme_gbps;
};

/* 4 KiB reads of the emulated NVMe disk at queue depth 1: the baseline. */
int bench_nvme(struct bench *bench);
/* 1 MiB reads of it at queue depth 8: the baseline of copies from user memory. */
int bench_nvme_stream(struct bench *bench);
/* 4 KiB by DMA: from the doorbell to the interrupt handler. */
int bench_latency(struct bench *bench);
/* An empty job: the way there and back, hop by hop. */
int bench_submit(struct bench *bench);
/* 100,000 empty jobs in a row. */
int bench_throughput(struct bench *bench);
/* 64 MiB between buffers, and between user memory and a buffer. */
int bench_copy(struct bench *bench);

#endif /* GUEST_BENCH_H */
