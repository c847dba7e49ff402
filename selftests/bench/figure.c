// SPDX-License-Identifier: MIT
#include "figure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "table.h"

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of sorted samples: between two of them the value is interpolated. */
static double quantile(const double *sorted, size_t n, double part)
{
	double at = part * (double)(n - 1);
	size_t below = (size_t)at;
	double rest = at - (double)below;

	if (below + 1 >= n)
		return sorted[n - 1];
	return sorted[below] + rest * (sorted[below + 1] - sorted[below]);
}

static struct figure_spread spread(double *samples, size_t n)
{
	qsort(samples, n, sizeof(*samples), compare);
	return (struct figure_spread){
		.median = quantile(samples, n, 0.5),
		.low = quantile(samples, n, 0.25),
		.high = quantile(samples, n, 0.75),
	};
}

void figures_add(struct figures *figures, struct figure figure, const double *value,
		 const double *baseline, size_t n)
{
	double sorted[FIGURE_MAX_ROUNDS];
	size_t i;

	if (figures->count == FIGURE_MAX || !n || n > FIGURE_MAX_ROUNDS) {
		fprintf(stderr, "%s: more than %d figures, or %zu samples (1 to %d): a bug\n",
			figure.name, FIGURE_MAX, n, FIGURE_MAX_ROUNDS);
		exit(EXIT_FAILURE);
	}
	figure.samples = n;
	memcpy(figures->values[figures->count], value, n * sizeof(*value));
	memcpy(sorted, value, n * sizeof(*value));
	figure.value = spread(sorted, n);
	figure.baseline = FIGURE_NONE;
	figure.ratio = (struct figure_spread){ FIGURE_NONE, FIGURE_NONE, FIGURE_NONE };
	if (baseline) {
		memcpy(sorted, baseline, n * sizeof(*baseline));
		figure.baseline = figure_median(sorted, n);
		for (i = 0; i < n; i++)
			sorted[i] = value[i] / baseline[i];
		figure.ratio = spread(sorted, n);
	}
	figures->list[figures->count++] = figure;
}

void figures_add_one(struct figures *figures, struct figure figure, double value)
{
	figures_add(figures, figure, &value, NULL, 1);
}

static const char *verdict(const struct figure *figure)
{
	double reached = isnan(figure->baseline) ? figure->value.median : figure->ratio.median;

	if (isnan(figure->goal) || isnan(reached))
		return "";
	if (figure->lower_is_better)
		return reached <= figure->goal ? "reached" : "missed";
	return reached >= figure->goal ? "reached" : "missed";
}

static void number_cell(struct table *table, double number, const char *format)
{
	char text[48] = "-";

	if (!isnan(number))
		snprintf(text, sizeof(text), format, number);
	table_cell(table, "%s", text);
}

static void spread_cell(struct table *table, const struct figure_spread *spread,
			const char *format)
{
	char low[24], high[24];

	if (isnan(spread->median)) {
		table_cell(table, "-");
		return;
	}
	snprintf(low, sizeof(low), format, spread->low);
	snprintf(high, sizeof(high), format, spread->high);
	table_cell(table, "%s to %s", low, high);
}

static int print_table(const struct figures *figures)
{
	static const char *const head[] = {
		"figure", "value", "unit", "baseline", "ratio", "quartiles", "goal", ""
	};
	struct table *table = table_new(sizeof(head) / sizeof(head[0]), head);
	const struct figure *figure;
	size_t i;

	if (!table)
		return -1;
	for (i = 0; i < figures->count; i++) {
		figure = &figures->list[i];
		table_cell(table, "%s", figure->name);
		number_cell(table, figure->value.median, "%.4g");
		table_cell(table, "%s", figure->unit);
		number_cell(table, figure->baseline, "%.4g");
		number_cell(table, figure->ratio.median, "%.3f");
		spread_cell(table, isnan(figure->baseline) ? &figure->value : &figure->ratio,
			    isnan(figure->baseline) ? "%.4g" : "%.3f");
		number_cell(table, figure->goal,
			    figure->lower_is_better ? "<= %.3g" : ">= %.3g");
		table_cell(table, "%s", verdict(figure));
	}
	table_print(table, stderr);
	table_free(table);
	return 0;
}

static void print_number(FILE *out, const char *name, double number)
{
	if (isfinite(number))
		fprintf(out, ", \"%s\": %.6g", name, number);
	else
		fprintf(out, ", \"%s\": null", name);
}

static void print_values(FILE *out, const double *values, size_t n)
{
	size_t i;

	fputs(", \"values\": [", out);
	for (i = 0; i < n; i++)
		fprintf(out, "%s%.6g", i ? ", " : "", values[i]);
	fputs("]", out);
}

static void print_json(const struct figures *figures, FILE *out)
{
	const struct figure *figure;
	size_t i;

	fputs("[\n", out);
	for (i = 0; i < figures->count; i++) {
		figure = &figures->list[i];
		fprintf(out, "  {\"name\": \"%s\"", figure->name);
		print_number(out, "value", figure->value.median);
		fprintf(out, ", \"unit\": \"%s\"", figure->unit);
		print_number(out, "baseline", figure->baseline);
		print_number(out, "ratio", figure->ratio.median);
		print_number(out, "goal", figure->goal);
		fprintf(out, ", \"lower_is_better\": %s, \"samples\": %zu",
			figure->lower_is_better ? "true" : "false", figure->samples);
		print_number(out, "value_low", figure->value.low);
		print_number(out, "value_high", figure->value.high);
		print_number(out, "ratio_low", figure->ratio.low);
		print_number(out, "ratio_high", figure->ratio.high);
		print_values(out, figures->values[i], figure->samples);
		fputs(i + 1 < figures->count ? "},\n" : "}\n", out);
	}
	fputs("]\n", out);
}

int figures_report(const struct figures *figures, const char *json)
{
	FILE *out = stdout;
	bool failed;

	if (print_table(figures)) {
		fprintf(stderr, "cannot print the figures: out of memory\n");
		return -1;
	}
	if (json)
		out = fopen(json, "w");
	if (!out) {
		fprintf(stderr, "cannot write %s: %s\n", json, strerror(errno));
		return -1;
	}
	print_json(figures, out);
	failed = ferror(out) || fflush(out);
	if (json)
		failed |= fclose(out) != 0;
	if (failed)
		fprintf(stderr, "cannot write %s: %s\n", json ? json : "standard output",
			strerror(errno));
	return failed ? -1 : 0;
}

unsigned int figure_rounds(const char *text)
{
	char *end;
	unsigned long rounds = strtoul(text, &end, 10);

	if (!*end && rounds && rounds <= FIGURE_MAX_ROUNDS)
		return (unsigned int)rounds;
	fprintf(stderr, "--rounds needs a number from 1 to %d, not '%s'\n", FIGURE_MAX_ROUNDS,
		text);
	return 0;
}

struct figure_options figure_options(int argc, char **argv)
{
	struct figure_options options = { .rounds = FIGURE_ROUNDS };
	int i;

	for (i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--json"))
			options.json = argv[i + 1];
		else if (!strcmp(argv[i], "--rounds"))
			options.rounds = figure_rounds(argv[i + 1]);
		else
			break;
	}
	if (i >= argc && options.rounds)
		return options;
	fprintf(stderr, "usage: %s [--json FILE] [--rounds N]\n", argv[0]);
	exit(EXIT_FAILURE);
}

double figure_median(double *samples, size_t n)
{
	qsort(samples, n, sizeof(*samples), compare);
	return quantile(samples, n, 0.5);
}

void figure_rates(double *seconds, size_t n, double work)
{
	size_t i;

	for (i = 0; i < n; i++)
		seconds[i] = work / seconds[i];
}

static double clock_seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec + now.tv_nsec * 1e-9;
}

double figure_now(void)
{
	return clock_seconds(CLOCK_MONOTONIC);
}

double figure_thread_now(void)
{
	return clock_seconds(CLOCK_THREAD_CPUTIME_ID);
}

double figure_process_now(void)
{
	return clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
}
