/* SPDX-License-Identifier: MIT */
/*
 * The ranks: threads that do the same operation at the same time, each on a core of its own.
 */
#ifndef NCCOM_RANKS_H
#define NCCOM_RANKS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "groups.h"
#include "metadata.h"
#include "pairs.h"
#include "values.h"

/* Bytes of a message: one line without a newline. */
#define RANKS_WHY	320

struct ranks;

enum ranks_end {
	RANKS_OK,
	RANKS_INTERRUPTED,
	RANKS_WRONG,	/* a result is wrong, there is a message */
	/* Nothing more can be done, there is a message; "": libnrt has logged it. */
	RANKS_FAILED,
};

/**
 * struct ranks_op - an operation
 * @operation, @reduction, @type: which collective
 * @groups: of the ranks
 * @metadata: of an operation that varies
 * @pairs: of a permutation
 * @ratio: of the sizes of the tensors of an operation
 * @sbuf, @below: its tensors are in SBUF, and their blocks lie below each other
 * @ops: how often it is done before the streams wait for each other
 * @kind, @seed: of the numbers that the ranks begin with
 */
struct ranks_op {
	const struct operation *operation;
	const struct reduction *reduction;
	const struct type *type;
	const struct groups *groups;
	const struct metadata *metadata;
	const struct pairs *pairs;
	const struct ratio *ratio;
	bool sbuf;
	bool below;
	unsigned int ops;
	enum values_kind kind;
	uint64_t seed;
};

/**
 * struct ranks_of - what the ranks do
 * @op, @nr_ops: operations that run beside each other, each on a stream. A rank that is in a group
 *	of one of them is in a group of all
 * @nr: ranks, on the first @nr cores
 * @shared: two ranks of a group whose cores have the same HBM have one output
 * @pinned: the thread of a rank stays on one processor
 * @modelled: device times are wanted, too
 * @interrupted: somebody wants them to end
 * @progress: called by the caller's thread while ranks work, with the operations that have ended;
 *	NULL: nobody wants to know
 * @arg: of @progress
 */
struct ranks_of {
	const struct ranks_op *op;
	unsigned int nr_ops;
	unsigned int nr;
	bool shared;
	bool pinned;
	bool modelled;
	const atomic_int *interrupted;
	void (*progress)(void *arg, unsigned int done);
	void *arg;
};

/**
 * struct ranks_size - a size
 * @warmup: operations before those that are measured
 * @runs, @run_warmup, @run_iters: then so often: some that are not measured, and some that are
 * @buffers: operation i of them all has the tensors of operation i modulo this
 */
struct ranks_size {
	unsigned int warmup;
	unsigned int runs;
	unsigned int run_warmup;
	unsigned int run_iters;
	unsigned int buffers;
};

/*
 * Initialise libnrt and let the ranks meet. What @of points to stays with the caller, as long as
 * the ranks. On RANKS_OK *@ranks is for ranks_free(), which leaves nothing behind, whatever runs.
 */
enum ranks_end ranks_new(const struct ranks_of *of, struct ranks **ranks, char why[RANKS_WHY]);
void ranks_free(struct ranks *ranks);

/* Is there a plan for the @shape of each operation, and memory? 0, or -1 with @why. */
int ranks_plan(struct ranks *ranks, const struct shape *const *shape,
	       const struct ranks_size *size, char why[RANKS_WHY]);

/* The algorithm of operation @op of the last ranks_plan(). */
const char *ranks_algorithm(const struct ranks *ranks, unsigned int op);

/* Documented GB/s of a link of the chips, each way, in the unit of the table; 0: not known. */
double ranks_link(void);

/**
 * struct ranks_times - how long operations took
 * @wall: ns of each measured operation, in order: from the end of the one before, on the last rank,
 *	to its own end there
 * @device: likewise ns of device time, if that is wanted: from the start on the rank that starts
 *	last to the end on the rank that ends last
 * @inexact: operations whose device time is not exact
 * @cause: enum nrt_emu_time_cause of one of them
 */
struct ranks_times {
	uint64_t *wall;
	uint64_t *device;
	unsigned int inexact;
	uint32_t cause;
};

/*
 * Do all operations of @size, with the shapes of the last ranks_plan(). After the warm-up, and
 * after the last operation, each element of each output is compared with what it must be.
 * @times: filled.
 */
enum ranks_end ranks_run(struct ranks *ranks, const struct ranks_size *size,
			 struct ranks_times *times, char why[RANKS_WHY]);

#endif /* NCCOM_RANKS_H */
