/* SPDX-License-Identifier: MIT */
/*
 * Figures: a measured value beside its baseline of the same run.
 *
 * A benchmark takes samples of ours and of the baseline in turns, so that what disturbs
 * the host disturbs both. Sample i of ours and sample i of the baseline are a pair. It
 * adds its figures to a list and reports the list at its end, as an aligned table for
 * people and as JSON: a list of objects with these keys, null where there is none:
 *
 *	name			lower case, words joined by underscores
 *	value, unit		median of our samples
 *	baseline		median of the baseline's samples
 *	ratio			median of ours / baseline, pair by pair
 *	goal			what the ratio should reach, without a baseline the value
 *	lower_is_better		true: the goal is an upper limit
 *	samples			how many pairs, or samples; 1: read once, not timed
 *	values			our samples, in the order in which they were taken
 *	value_low, value_high	quartiles of our samples
 *	ratio_low, ratio_high	quartiles of the ratios
 */
#ifndef FIGURE_H
#define FIGURE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#define FIGURE_NONE	NAN
#define FIGURE_MAX	64
#define FIGURE_ROUNDS	21	/* pairs, unless --rounds says otherwise */
#define FIGURE_MAX_ROUNDS	256

/* struct figure_spread - median and quartiles */
struct figure_spread {
	double median;
	double low;
	double high;
};

/**
 * struct figure - one figure; the strings outlive the list
 * @name: lower case, words joined by underscores
 * @unit: "GFLOP/s", "us", ...
 * @goal: what the ratio should reach, without a baseline the value, or FIGURE_NONE
 * @lower_is_better: the goal is an upper limit
 * @samples: how many; this and what follows is set when the figure is added
 * @value: in @unit
 * @baseline: in @unit, or FIGURE_NONE
 * @ratio: of the pairs, or FIGURE_NONE
 */
struct figure {
	const char *name;
	const char *unit;
	double goal;
	bool lower_is_better;
	size_t samples;
	struct figure_spread value;
	double baseline;
	struct figure_spread ratio;
};

struct figures {
	size_t count;
	struct figure list[FIGURE_MAX];
	double values[FIGURE_MAX][FIGURE_MAX_ROUNDS];
};

/**
 * figures_add() - add a figure
 * @figures: the list; beyond FIGURE_MAX the program ends: that is a bug of the benchmark
 * @figure: name, unit, goal and direction
 * @value: samples in the figure's unit
 * @baseline: as many, each taken beside the one of @value; or NULL
 * @n: samples, 1 to FIGURE_MAX_ROUNDS
 */
void figures_add(struct figures *figures, struct figure figure, const double *value,
		 const double *baseline, size_t n);

/* A figure that is read once, such as a size in memory. */
void figures_add_one(struct figures *figures, struct figure figure, double value);

/**
 * figures_report() - table to standard error, JSON to a file
 * @figures: the list
 * @json: path, or NULL: standard output
 *
 * Return: 0, or -1 after a message.
 */
int figures_report(const struct figures *figures, const char *json);

/**
 * struct figure_options - arguments of a benchmark
 * @json: where the figures go, or NULL
 * @rounds: samples of each figure
 */
struct figure_options {
	const char *json;
	unsigned int rounds;
};

/* "--json FILE" and "--rounds N"; the program ends at any other argument. */
struct figure_options figure_options(int argc, char **argv);

/* The number of rounds that @text says, or 0 after a message. */
unsigned int figure_rounds(const char *text);

/* Median of @n samples, which are sorted by this; @n is not 0. */
double figure_median(double *samples, size_t n);

/* Turn seconds into rates, in place: @work / seconds. */
void figure_rates(double *seconds, size_t n, double work);

/* Monotonic time in seconds. */
double figure_now(void);

/* Processor time of this thread in seconds: without what others take from it. */
double figure_thread_now(void);

/* Processor time of all threads of the process in seconds. */
double figure_process_now(void);

#endif /* FIGURE_H */
