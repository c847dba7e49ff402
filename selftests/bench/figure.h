/* SPDX-License-Identifier: MIT */
/*
 * Figures: a measured value beside its baseline of the same run.
 *
 * A benchmark adds its figures to a list and reports the list at its end, as
 * an aligned table for people and as JSON: a list of {name, value, unit,
 * baseline, ratio, goal}, null where there is none. ratio is value / baseline.
 */
#ifndef FIGURE_H
#define FIGURE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#define FIGURE_NONE	NAN
#define FIGURE_MAX	64

/**
 * struct figure - one figure; the strings outlive the list
 * @name: lower case, words joined by underscores
 * @value: in @unit
 * @unit: "GFLOP/s", "us", ...
 * @baseline: in @unit, or FIGURE_NONE
 * @goal: what the ratio should reach, without a baseline the value, or FIGURE_NONE
 * @lower_is_better: the goal is an upper limit
 */
struct figure {
	const char *name;
	double value;
	const char *unit;
	double baseline;
	double goal;
	bool lower_is_better;
};

struct figures {
	struct figure list[FIGURE_MAX];
	size_t count;
};

/* Beyond FIGURE_MAX the program ends: that is a bug of the benchmark. */
void figures_add(struct figures *figures, struct figure figure);

double figure_ratio(const struct figure *figure);

/**
 * figures_report() - table to standard error, JSON to a file
 * @figures: the list
 * @json: path, or NULL: standard output
 *
 * Return: 0, or -1 after a message.
 */
int figures_report(const struct figures *figures, const char *json);

/* Value of "--json" in a benchmark's arguments; exits at any other argument. */
const char *figure_json_option(int argc, char **argv);

/* Median of @n samples, which are sorted by this; @n is not 0. */
double figure_median(double *samples, size_t n);

/* Monotonic time in seconds. */
double figure_now(void);

/* Processor time of this thread in seconds: without what others take from it. */
double figure_thread_now(void);

#endif /* FIGURE_H */
