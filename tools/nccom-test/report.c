// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include <nrt/nrt_emu.h>

#include "report.h"

#define GIB		(1024.0 * 1024 * 1024)
/* Between two columns. */
#define GAP		4
#define MAX_COLUMNS	(2 * MAX_STATS + 12)

/**
 * struct column - a column of the table
 * @head: its name
 * @width: characters
 */
struct column {
	char head[32];
	int width;
};

/**
 * struct report - what is printed
 * @options: of the command line
 * @ranks: of a group
 * @link: GB/s of a link, for device times
 * @inexact, @cause: operations whose device time is not exact, and why one of them is not
 * @column, @nr_columns: of the table
 * @results: the JSON array, which streams have in common
 * @stream: number of the stream; -1: there is only one
 * @out: where the table goes, and @text, @text_size: what is there, if it waits for the first one
 * @file, @created: the JSON file, or -1; it was not there before
 * @bus, @rows: sum of the bus bandwidths of so many rows
 */
struct report {
	const struct options *options;
	unsigned int ranks;
	double link;
	unsigned int inexact;
	uint32_t cause;
	struct column column[MAX_COLUMNS];
	unsigned int nr_columns;
	struct json_object *results;
	int stream;
	FILE *out;
	char *text;
	size_t text_size;
	int file;
	bool created;
	double bus;
	unsigned int rows;
};

/* --- The table --- */

static void add_column(struct report *report, const char *head, int least)
{
	struct column *column = &report->column[report->nr_columns++];

	snprintf(column->head, sizeof(column->head), "%s", head);
	column->width = (int)strlen(head);
	if (column->width < least)
		column->width = least;
}

static int digits_of(uint64_t number)
{
	return snprintf(NULL, 0, "%llu", (unsigned long long)number);
}

static void add_times(struct report *report, const char *what)
{
	const struct options *options = report->options;
	char head[32];
	unsigned int i;

	for (i = 0; i < options->nr_stats; i++) {
		snprintf(head, sizeof(head), "%s:%s(us)", what, options->stat[i].name);
		add_column(report, head, 0);
	}
}

static void add_columns(struct report *report)
{
	const struct options *options = report->options;
	int digits = digits_of(shape_of(options->operation, options->type, report->ranks,
					options->max).size);

	add_column(report, "size(B)", digits);
	add_column(report, "count(elems)", 0);
	if (options->show_sizes) {
		add_column(report, "total_input_size(B)", 0);
		add_column(report, "total_output_size(B)", 0);
	}
	add_column(report, "type", 6);
	add_times(report, "time");
	add_column(report, "algbw(GB/s)", 0);
	add_column(report, "busbw(GB/s)", 0);
	if (options->modelled) {
		add_times(report, "device");
		add_column(report, "device:algbw(GB/s)", 0);
		add_column(report, "device:busbw(GB/s)", 0);
		add_column(report, "link(GB/s)", 0);
	}
	if (options->show_algorithm)
		add_column(report, "algorithm", 0);
}

void report_link(struct report *report, double bandwidth)
{
	report->link = bandwidth;
}

void report_head(const struct report *report)
{
	unsigned int i;

	for (i = 0; i < report->nr_columns; i++)
		fprintf(report->out, "%*s", report->column[i].width + (i ? GAP : 0),
			report->column[i].head);
	putc('\n', report->out);
	fflush(report->out);
}

__attribute__((format(printf, 3, 4)))
static void print_cell(const struct report *report, unsigned int *at, const char *format, ...)
{
	char text[64];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	fprintf(report->out, "%*s", report->column[*at].width + (*at ? GAP : 0), text);
	++*at;
}

/* --- Times --- */

static int compare_times(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double mean(const uint64_t *times, size_t nr)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		sum += (double)times[i];
	return sum / (double)nr;
}

/* The smallest time that so many percent of all do not exceed. */
static double percentile(const uint64_t *times, size_t nr, int percent)
{
	size_t rank = (nr * (unsigned int)percent + 99) / 100;

	return (double)times[rank ? rank - 1 : 0];
}

static double stat_of(const struct statistic *stat, const uint64_t *times, size_t nr)
{
	return stat->percent < 0 ? mean(times, nr) : percentile(times, nr, stat->percent);
}

/* --- A row --- */

/**
 * struct figures - what times say
 * @us: each statistic, in microseconds
 * @algbw, @busbw: bandwidths
 */
struct figures {
	double us[MAX_STATS];
	double algbw;
	double busbw;
};

/**
 * struct row - a result
 * @shape: size
 * @algorithm: name
 * @wall, @device: of both kinds of time
 * @inexact: operations whose device time is not exact
 */
struct row {
	const struct shape *shape;
	const char *algorithm;
	struct figures wall;
	struct figures device;
	unsigned int inexact;
};

/* With @mark each figure has it, because it is not exact. */
static void print_figures(const struct report *report, unsigned int *at,
			  const struct figures *figures, const char *mark)
{
	unsigned int i;

	for (i = 0; i < report->options->nr_stats; i++)
		print_cell(report, at, "%s%.2f", mark, figures->us[i]);
	print_cell(report, at, "%s%.2f", mark, figures->algbw);
	print_cell(report, at, "%s%.2f", mark, figures->busbw);
}

static void print_row(const struct report *report, const struct row *row)
{
	const struct options *options = report->options;
	unsigned int at = 0;

	print_cell(report, &at, "%llu", (unsigned long long)row->shape->size);
	print_cell(report, &at, "%llu",
		   (unsigned long long)(row->shape->size / options->type->size));
	if (options->show_sizes) {
		print_cell(report, &at, "%llu", (unsigned long long)row->shape->input);
		print_cell(report, &at, "%llu", (unsigned long long)row->shape->output);
	}
	print_cell(report, &at, "%s", options->type->name);
	print_figures(report, &at, &row->wall, "");
	if (options->modelled) {
		print_figures(report, &at, &row->device, row->inexact ? "~" : "");
		print_cell(report, &at, "%.2f", report->link);
	}
	if (options->show_algorithm)
		print_cell(report, &at, "%s", row->algorithm);
	putc('\n', report->out);
	fflush(report->out);
}

static void add_number(struct json_object *result, const char *key, uint64_t number)
{
	json_object_object_add(result, key, json_object_new_int64((int64_t)number));
}

/* @prefix: of bandwidths; @what: of times. */
static void add_figures(const struct report *report, struct json_object *result,
			const struct figures *figures, const char *prefix, const char *what)
{
	const struct options *options = report->options;
	char key[32];
	unsigned int i;

	snprintf(key, sizeof(key), "%salgbw(GB/s)", prefix);
	json_object_object_add(result, key, json_object_new_double(figures->algbw));
	snprintf(key, sizeof(key), "%sbusbw(GB/s)", prefix);
	json_object_object_add(result, key, json_object_new_double(figures->busbw));
	for (i = 0; i < options->nr_stats; i++) {
		snprintf(key, sizeof(key), "%s:%s(us)", what, options->stat[i].name);
		json_object_object_add(result, key, json_object_new_double(figures->us[i]));
	}
}

static int add_result(struct report *report, const struct row *row)
{
	const struct options *options = report->options;
	struct json_object *result = json_object_new_object();

	if (!result || json_object_array_add(report->results, result)) {
		json_object_put(result);
		return -1;
	}
	if (report->stream >= 0)
		add_number(result, "stream", (unsigned int)report->stream);
	add_number(result, "size(B)", row->shape->size);
	add_number(result, "count(elems)", row->shape->size / options->type->size);
	if (options->show_sizes) {
		add_number(result, "total_input_size(B)", row->shape->input);
		add_number(result, "total_output_size(B)", row->shape->output);
	}
	json_object_object_add(result, "type", json_object_new_string(options->type->name));
	add_figures(report, result, &row->wall, "", "time");
	if (options->modelled) {
		add_figures(report, result, &row->device, "device:", "device");
		json_object_object_add(result, "link(GB/s)", json_object_new_double(report->link));
		add_number(result, "device:inexact(operations)", row->inexact);
	}
	if (options->show_algorithm)
		json_object_object_add(result, "algorithm",
				       json_object_new_string(row->algorithm));
	return 0;
}

static void work_out(const struct report *report, const struct shape *shape, uint64_t *times,
		     size_t nr, struct figures *figures)
{
	const struct options *options = report->options;
	unsigned int i;

	qsort(times, nr, sizeof(*times), compare_times);
	/* Those of a stream have the time of all streams together. */
	for (i = 0; i < options->nr_stats; i++)
		figures->us[i] = stat_of(&options->stat[i], times, nr) / 1000 / options->ops;
	/* A clock that stands still measures nothing. */
	figures->algbw = (double)shape->size / GIB /
			 (mean(times, nr) / 1e9 / options->ops ?: 1e-9);
	figures->busbw = figures->algbw * bus_factor(options->operation, report->ranks);
}

int report_row(struct report *report, const struct shape *shape, const char *algorithm,
	       struct ranks_times *times, size_t nr)
{
	struct row row = { .shape = shape, .algorithm = algorithm, .inexact = times->inexact };

	work_out(report, shape, times->wall, nr, &row.wall);
	if (report->options->modelled)
		work_out(report, shape, times->device, nr, &row.device);
	if (times->inexact)
		report->cause = times->cause;
	report->inexact += times->inexact;
	report->bus += row.wall.busbw;
	report->rows++;
	print_row(report, &row);
	return add_result(report, &row);
}

void report_failure(const struct report *report, const struct shape *shape, const char *why)
{
	unsigned int at = 0;

	print_cell(report, &at, "%llu", (unsigned long long)shape->size);
	fprintf(report->out, "    %s\n", why);
	fflush(report->out);
}

void report_progress(const struct report *report, const struct shape *shape, unsigned int done,
		     unsigned int all)
{
	if (report->options->quiet || !isatty(STDERR_FILENO))
		return;
	fputs("\r\033[K", stderr);
	if (all)
		fprintf(stderr, "%llu bytes: %u of %u operations",
			(unsigned long long)shape->size, done, all);
}

/* --- Begin and end --- */

static int open_file(struct report *report, char *why, size_t size)
{
	const char *path = report->options->json;

	report->file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	report->created = report->file >= 0;
	if (report->file < 0 && errno == EEXIST)
		report->file = open(path, O_WRONLY | O_CLOEXEC);
	if (report->file >= 0)
		return 0;
	snprintf(why, size, "%s: %s", path, strerror(errno));
	return -1;
}

static int open_all(struct report *report, struct report *first, char *why, size_t size)
{
	report->out = first ? open_memstream(&report->text, &report->text_size) : stdout;
	report->results = first ? json_object_get(first->results) : json_object_new_array();
	if (!report->out || !report->results)
		return -1;
	return report->options->json && !first ? open_file(report, why, size) : 0;
}

struct report *report_new(const struct options *options, unsigned int ranks, struct report *first,
			  char *why, size_t size)
{
	struct report *report = calloc(1, sizeof(*report));

	snprintf(why, size, "out of memory");
	if (!report)
		return NULL;
	report->options = options;
	report->ranks = ranks;
	report->stream = -1;
	report->file = -1;
	if (open_all(report, first, why, size)) {
		report_free(report);
		return NULL;
	}
	add_columns(report);
	return report;
}

void report_name_stream(struct report *report, unsigned int stream)
{
	report->stream = (int)stream;
}

static int write_all(int file, const char *text, size_t size)
{
	ssize_t done;

	while (size) {
		done = write(file, text, size);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -1;
		text += done;
		size -= (size_t)done;
	}
	return 0;
}

static int write_file(struct report *report)
{
	struct json_object *all = json_object_new_object();
	const int flags = JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
			  JSON_C_TO_STRING_NOSLASHESCAPE;
	const char *text;
	int ret = -1;

	errno = ENOMEM;
	if (!all)
		return -1;
	json_object_object_add(all, "results", json_object_get(report->results));
	text = json_object_to_json_string_ext(all, flags);
	/* What is no regular file has no length. */
	if (text && (!ftruncate(report->file, 0) || errno == EINVAL))
		ret = write_all(report->file, text, strlen(text)) ?:
		      write_all(report->file, "\n", 1);
	json_object_put(all);
	return ret;
}

static const char *why_inexact(uint32_t cause)
{
	switch (cause) {
	case NRT_EMU_TIME_RANK:
		return "the job of a rank failed";
	case NRT_EMU_TIME_ENDED:
		return "a rank did not take part";
	case NRT_EMU_TIME_OVERFLOW:
		return "the device had no room for so much work at once";
	default:
		return "they follow something that is not";
	}
}

void report_end(struct report *report, unsigned int failed)
{
	if (report->inexact)
		fprintf(report->out, "~: %u device times are not exact: %s\n", report->inexact,
			why_inexact(report->cause));
	if (report->rows)
		fprintf(report->out, "Avg bus bandwidth:\t%.4fGB/s\n", report->bus / report->rows);
	if (failed)
		fprintf(report->out, "%u errors found - test failed\n", failed);
	fflush(report->out);
	if (report->out != stdout)
		fwrite(report->text, 1, report->text_size, stdout);
}

int report_write(struct report *report, char *why, size_t size)
{
	int ret;

	if (report->file < 0)
		return 0;
	ret = write_file(report);
	/* Some file systems say only now that they are full. */
	if (close(report->file))
		ret = -1;
	if (ret)
		snprintf(why, size, "%s: %s", report->options->json, strerror(errno));
	report->file = -1;
	return ret;
}

void report_free(struct report *report)
{
	if (!report)
		return;
	if (report->file >= 0) {
		close(report->file);
		if (report->created)
			unlink(report->options->json);
	}
	if (report->out && report->out != stdout)
		fclose(report->out);
	free(report->text);
	json_object_put(report->results);
	free(report);
}
