/* SPDX-License-Identifier: MIT */
/* Sums of a profile: by engine, queue, line and instruction; waits; the roofline. */
#ifndef NEURON_PROFILE_SUM_H
#define NEURON_PROFILE_SUM_H

#include "profile.h"

enum sum_by {
	SUM_BY_ENGINE,		/* engines, and the DMA engines */
	SUM_BY_QUEUE,		/* DMA queues */
	SUM_BY_LINE,		/* lines of the source; a transfer counts for its trigger's */
	SUM_BY_INSTRUCTION,	/* the same of instructions */
	SUM_NR_BYS
};

/**
 * struct sum_row - what a group of events did
 * @name: of the group
 * @event: one of it, the first
 * @count: events
 * @busy_ns, @wait_ns, @critical_ns: of struct profile_event
 * @bytes: moved by packets, semaphores left out
 * @hbm_read, @hbm_written: of the model's variables
 * @flops: arithmetic operations
 */
struct sum_row {
	char name[PROFILE_TEXT];
	uint32_t event;
	uint64_t count;
	uint64_t busy_ns;
	uint64_t wait_ns;
	uint64_t critical_ns;
	uint64_t bytes;
	uint64_t hbm_read;
	uint64_t hbm_written;
	uint64_t flops;
};

/* Rows of some kind, allocated. */
struct sum_rows {
	struct sum_row *row;
	size_t nr;
};

/**
 * struct sum_wait - who waited for whom, all times together
 * @waiter, @cause: actors; @cause PROFILE_NONE: not known
 * @why: enum profile_why
 * @sem: SEMAPHORE: its number
 * @event: the longest of these waits
 * @count: how many
 * @ns: all of them
 */
struct sum_wait {
	uint32_t waiter;
	uint32_t cause;
	uint8_t why;
	uint16_t sem;
	uint32_t event;
	uint64_t count;
	uint64_t ns;
};

struct sum_waits {
	struct sum_wait *wait;
	size_t nr;
};

/* Which roof of the roofline is lower for the program. */
enum sum_bound {
	SUM_BOUND_NOTHING,	/* it computes nothing that the roofline is of */
	SUM_BOUND_HBM,
	SUM_BOUND_ENGINE,
};

/**
 * struct sum_total - the execution as a whole
 * @tensor_flops, @lane_flops: of the tensor engine, and of the others
 * @hbm_read, @hbm_written: bytes
 * @loaded, @distinct: bytes that copies loaded from HBM, and how many different ones
 * @moved: bytes by their ends; semaphores are a destination
 * @wait_ns: of engines, by cause
 * @engine: whose roof the roofline has: tensor, or vector when nothing is multiplied
 * @flops: that the roofline is of: those of the tensor engine, or of the others
 * @peak: FLOP/s of @engine
 * @rate: bytes/s between HBM and the cores
 * @intensity: FLOPs for each byte of HBM; infinite without such bytes
 * @ridge: intensity at which both roofs meet
 * @attained: FLOP/s
 * @roof: what the lower roof allows
 * @bound: which one that is
 */
struct sum_total {
	uint64_t tensor_flops;
	uint64_t lane_flops;
	uint64_t hbm_read;
	uint64_t hbm_written;
	uint64_t loaded;
	uint64_t distinct;
	uint64_t moved[PROFILE_NR_MEMORIES][PROFILE_NR_MEMORIES];
	uint64_t wait_ns[PROFILE_NR_WHYS];
	unsigned int engine;
	uint64_t flops;
	double peak;
	double rate;
	double intensity;
	double ridge;
	double attained;
	double roof;
	enum sum_bound bound;
};

/* The rows that took most come first; engines and queues in their own order. */
NRT_STATUS sum_rows(const struct profile *profile, enum sum_by by, struct sum_rows *rows,
		    struct nrt_error *error);
/* By line, in the order of the source; *@group of each event is the number of its row. */
NRT_STATUS sum_lines(const struct profile *profile, struct sum_rows *rows, uint32_t *group,
		     struct nrt_error *error);
/* The longest first. */
NRT_STATUS sum_waits(const struct profile *profile, struct sum_waits *waits,
		     struct nrt_error *error);
NRT_STATUS sum_total(const struct profile *profile, struct sum_total *total,
		     struct nrt_error *error);

#endif /* NEURON_PROFILE_SUM_H */
