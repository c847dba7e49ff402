/* SPDX-License-Identifier: MIT */
/*
 * The command line of nccom-test, and the file of --streams-json.
 */
#ifndef NCCOM_OPTIONS_H
#define NCCOM_OPTIONS_H

#include <json-c/json.h>

#include "operation.h"
#include "values.h"

#define MAX_RANKS	256
#define MAX_STATS	16
/* The operations of a stream start by semaphores of their own (NEFF_NR_STARTS). */
#define MAX_OPS		16
/* Nobody has said where blocks lie in SBUF. */
#define CC_DIM_NONE	2

/* Exit statuses. */
enum {
	EXIT_TEST_FAILED = 1,
	EXIT_BAD_OPTION = 2,
};

/**
 * struct statistic - a statistic of times
 * @name: "avg", "p50"
 * @percent: percentile; -1: the mean
 */
struct statistic {
	char name[8];
	int percent;
};

/**
 * struct options - the command line; and of a stream, where its operation has options of its own
 * @operation, @type, @reduction: what is done
 * @ranks: how many
 * @min, @max: bytes of the first size, and of the last one at most
 * @step, @factor: from one size to the next; one of them is 0
 * @iters, @warmup: operations of a run that are measured, and not measured before them
 * @runs, @warmup_runs: runs that count, and before them runs that do not; @runs 0: not given
 * @kind, @seed: of the numbers
 * @ratio: of the sizes of the tensors of an operation
 * @sbuf, @cc_dim: the operation works in SBUF, where blocks lie beside each other (0), or below
 *	each other (1 or CC_DIM_NONE)
 * @ops: operations of a stream in each iteration; else 1
 * @metadata_file: how much goes where, of an operation that varies; or NULL
 * @pairs_file: who sends to whom in a permutation; or NULL: to the next one
 * @groups_file, @parallel: how ranks are grouped; NULL and 0: all are one group
 * @unique: each operation of a run has tensors of its own
 * @shared: two ranks whose cores have an HBM in common have one output
 * @pinned: each rank's thread stays on one processor
 * @streams_file: the operations of the streams, or NULL
 * @json: file for the results, or NULL
 * @quiet: no progress
 * @debug: libnrt says what it does
 * @modelled: columns of device time
 * @show_algorithm: a column of it
 * @show_sizes: columns of input and output
 * @stat, @nr_stats: columns of times
 */
struct options {
	const struct operation *operation;
	const struct type *type;
	const struct reduction *reduction;
	unsigned int ranks;
	uint64_t min;
	uint64_t max;
	uint64_t step;
	unsigned int factor;
	unsigned int iters;
	unsigned int warmup;
	unsigned int runs;
	unsigned int warmup_runs;
	enum values_kind kind;
	uint64_t seed;
	struct ratio ratio;
	bool sbuf;
	unsigned int cc_dim;
	unsigned int ops;
	const char *metadata_file;
	const char *pairs_file;
	const char *groups_file;
	unsigned int parallel;
	bool unique;
	bool shared;
	bool pinned;
	const char *streams_file;
	const char *json;
	bool quiet;
	bool debug;
	bool modelled;
	bool show_algorithm;
	bool show_sizes;
	struct statistic stat[MAX_STATS];
	unsigned int nr_stats;
};

/**
 * struct command - all that is to be done
 * @options: of the command line
 * @stream: what is done on each stream: @options with those that the stream has itself
 * @nr: streams; 1 without a file, and then the operation is that of @options
 * @file: that @stream has words of, or NULL
 */
struct command {
	struct options options;
	struct options stream[NEFF_NR_STREAMS];
	unsigned int nr;
	struct json_object *file;
};

/* Ends the process after --help, and with one line and EXIT_BAD_OPTION after a mistake. */
void command_parse(struct command *command, int argc, char **argv);
void command_fini(struct command *command);

/* The size after @size, or 0. */
uint64_t options_next_size(const struct options *options, uint64_t size);

#endif /* NCCOM_OPTIONS_H */
