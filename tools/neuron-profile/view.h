/* SPDX-License-Identifier: MIT */
/* What neuron-profile writes of a profile; each returns 0, or -1 with a line in @error. */
#ifndef NEURON_PROFILE_VIEW_H
#define NEURON_PROFILE_VIEW_H

#include <stdio.h>

#include "source.h"
#include "sum.h"

enum view_format {
	VIEW_TABLE,
	VIEW_JSON,
	VIEW_CSV,
};

/**
 * struct view_options - what is shown
 * @format: how
 * @by: rows of a table by themselves; SUM_NR_BYS: everything
 * @top: rows of the tables that may be long; 0: all of them
 */
struct view_options {
	enum view_format format;
	enum sum_by by;
	unsigned int top;
};

NRT_STATUS view_print(const struct profile *profile, const struct view_options *options, FILE *out,
		      struct nrt_error *error);

/* What is above the tables. */
NRT_STATUS view_summary(const struct profile *profile, FILE *out, struct nrt_error *error);

/* What both versions of a program did, and the difference. */
NRT_STATUS view_diff(const struct profile *a, const struct profile *b,
		     const struct view_options *options, FILE *out, struct nrt_error *error);

/* A line of text for each engine and each set of queues: how busy it was, from left to right. */
NRT_STATUS view_timeline(const struct profile *profile, FILE *out, struct nrt_error *error);

/* Chrome's JSON trace event format, which Perfetto reads. */
NRT_STATUS view_trace(const struct profile *profile, FILE *out, struct nrt_error *error);

/* A page that needs nothing else, with the sources that are in @folders. */
NRT_STATUS view_html(const struct profile *profile, const struct source_folders *folders,
		     FILE *out, struct nrt_error *error);

/* A text inside of quotes: of JSON, which may be part of a page. */
void view_json_text(FILE *out, const char *text);

/* "12.345 us", "1.5 MiB" and "3.2 GFLOP". */
#define VIEW_NUMBER	32

void view_time(uint64_t ns, char text[VIEW_NUMBER]);
void view_bytes(double bytes, char text[VIEW_NUMBER]);
/* With a prefix of the decimal system: k, M, G, T. */
void view_count(double value, const char *unit, char text[VIEW_NUMBER]);

/* The name of a group of rows, as --by says it; NULL: there is none. */
const char *view_by_name(enum sum_by by);

#endif /* NEURON_PROFILE_VIEW_H */
