/* SPDX-License-Identifier: MIT */
/*
 * The benchmarks that run in the guest, in parts. Every round runs all parts once, one
 * after the other, so that a figure and its baseline are a pair of the same second.
 */
#ifndef GUEST_BENCH_H
#define GUEST_BENCH_H

#include "figure.h"

/**
 * struct bench - what the parts share; samples of round i are at [i]
 * @figures: the list
 * @rounds: how many there are
 * @ask: somebody answers what bench_ask() asks
 * @have_nvme, @have_stream, @have_submit: those parts run, so that their samples are baselines
 * @nvme_us: median of NVMe reads of 4 KiB
 * @nvme_rate: such reads in a second, one after the other
 * @nvme_gbps: rate of NVMe reads of 1 MiB
 * @submit_us: median of empty jobs of the driver
 */
struct bench {
	struct figures figures;
	unsigned int rounds;
	bool ask;
	bool have_nvme;
	bool have_stream;
	bool have_submit;
	double nvme_us[FIGURE_MAX_ROUNDS];
	double nvme_rate[FIGURE_MAX_ROUNDS];
	double nvme_gbps[FIGURE_MAX_ROUNDS];
	double submit_us[FIGURE_MAX_ROUNDS];
};

/**
 * struct bench_part - one benchmark
 * @name: for --only
 * @open: prepare; return the part's own state, or NULL after a message
 * @round: measure; return 0, or -1 after a message
 * @report: add the figures
 * @close: free the state
 */
struct bench_part {
	const char *name;
	void *(*open)(struct bench *bench);
	int (*round)(struct bench *bench, void *state, unsigned int i);
	void (*report)(struct bench *bench, void *state);
	void (*close)(void *state);
};

/*
 * Print "@QUESTION" and read a number. "round": may the next round begin, 1; so that
 * machines that are compared take turns. "memcpy": GB/s of the host's memcpy, now.
 *
 * Return: the number, or -1 after a message.
 */
double bench_ask(const char *question);

/* 4 KiB reads of the emulated NVMe disk at queue depth 1: a baseline. */
extern const struct bench_part bench_nvme;
/* 1 MiB reads of it at queue depth 8: the baseline of copies from user memory. */
extern const struct bench_part bench_stream;
/* 4 KiB by DMA: from the doorbell to the interrupt handler. */
extern const struct bench_part bench_latency;
/* An empty job: the way there and back, hop by hop. */
extern const struct bench_part bench_submit;
/* An empty model of libnrt. */
extern const struct bench_part bench_runtime;
/* Many empty jobs in a row. */
extern const struct bench_part bench_throughput;
/* 64 MiB between buffers, and between user memory and a buffer. */
extern const struct bench_part bench_copy;
/* All windows of a table in one call, and changes of it. */
extern const struct bench_part bench_windows;

#endif /* GUEST_BENCH_H */
