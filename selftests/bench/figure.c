// SPDX-License-Identifier: MIT
#include "figure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "table.h"

void figures_add(struct figures *figures, struct figure figure)
{
	if (figures->count == FIGURE_MAX) {
		fprintf(stderr, "more than %d figures: raise FIGURE_MAX\n", FIGURE_MAX);
		exit(EXIT_FAILURE);
	}
	figures->list[figures->count++] = figure;
}

double figure_ratio(const struct figure *figure)
{
	return figure->value / figure->baseline;
}

static const char *verdict(const struct figure *figure)
{
	double reached = isnan(figure->baseline) ? figure->value : figure_ratio(figure);

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

static int print_table(const struct figures *figures)
{
	static const char *const head[] = {
		"figure", "value", "unit", "baseline", "ratio", "goal", ""
	};
	struct table *table = table_new(sizeof(head) / sizeof(head[0]), head);
	const struct figure *figure;
	size_t i;

	if (!table)
		return -1;
	for (i = 0; i < figures->count; i++) {
		figure = &figures->list[i];
		table_cell(table, "%s", figure->name);
		number_cell(table, figure->value, "%.4g");
		table_cell(table, "%s", figure->unit);
		number_cell(table, figure->baseline, "%.4g");
		number_cell(table, figure_ratio(figure), "%.2f");
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

static void print_json(const struct figures *figures, FILE *out)
{
	const struct figure *figure;
	size_t i;

	fputs("[\n", out);
	for (i = 0; i < figures->count; i++) {
		figure = &figures->list[i];
		fprintf(out, "  {\"name\": \"%s\"", figure->name);
		print_number(out, "value", figure->value);
		fprintf(out, ", \"unit\": \"%s\"", figure->unit);
		print_number(out, "baseline", figure->baseline);
		print_number(out, "ratio", figure_ratio(figure));
		print_number(out, "goal", figure->goal);
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

const char *figure_json_option(int argc, char **argv)
{
	if (argc == 1)
		return NULL;
	if (argc == 3 && !strcmp(argv[1], "--json"))
		return argv[2];
	fprintf(stderr, "usage: %s [--json FILE]\n", argv[0]);
	exit(EXIT_FAILURE);
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double figure_median(double *samples, size_t n)
{
	qsort(samples, n, sizeof(*samples), compare);
	return n % 2 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
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
