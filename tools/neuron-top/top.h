/* SPDX-License-Identifier: MIT */
/* neuron-top: what its files share. */
#ifndef NEURON_TOP_H
#define NEURON_TOP_H

#include "chips.h"

#define TOP_MAX_CORES	CHIPS_MAX_CORES

/**
 * struct top_chip - a chip between two looks
 * @busy_ns, @jobs: of each core at the last look
 * @matmul, @cycles: of each tensor engine at the last look: cycles that its rows multiplied,
 *	and all cycles of its rows
 * @sent, @received: bytes of all links at the last look
 * @percent: share of the interval with a job running
 * @rate: jobs per second
 * @tensor: share of the device time of the interval in which the rows multiplied
 * @sent_rate, @received_rate: bytes per second of all links
 */
struct top_chip {
	uint64_t busy_ns[TOP_MAX_CORES];
	uint64_t jobs[TOP_MAX_CORES];
	uint64_t matmul[TOP_MAX_CORES];
	uint64_t cycles[TOP_MAX_CORES];
	uint64_t sent;
	uint64_t received;
	double percent[TOP_MAX_CORES];
	double rate[TOP_MAX_CORES];
	double tensor[TOP_MAX_CORES];
	double sent_rate;
	double received_rate;
};

struct top {
	struct chips chips;
	struct top_chip *chip;
	uint64_t when_ns;	/* of the last look */
	double interval;	/* seconds between the last two */
};

/* Look at every chip; -1: one went away. The first look has no rates. */
int top_sample(struct top *top);

/* Plain text to stdout, one block for each look; 0 looks: for ever. */
int top_batch(struct top *top, double delay, unsigned long looks);
/* Full screen until q is pressed. */
int top_screen(struct top *top, double delay);

#endif /* NEURON_TOP_H */
