/* SPDX-License-Identifier: MIT */
/*
 * What nccom-test prints: the public table, and the public keys in JSON.
 */
#ifndef NCCOM_REPORT_H
#define NCCOM_REPORT_H

#include "options.h"
#include "ranks.h"

struct report;

/*
 * @ranks: of a group. Opens the JSON file, if there is one. @first: of the first of several
 * streams, which has the results of all of them; what this report prints comes behind it, at
 * report_end(). NULL: this is the first one. NULL: out of memory, or @why says what is wrong with
 * the file.
 */
struct report *report_new(const struct options *options, unsigned int ranks, struct report *first,
			  char *why, size_t size);

/* There are several streams, and this is number @stream. */
void report_name_stream(struct report *report, unsigned int stream);

/* Of a link of the chips, in GB/s each way; before report_head(), if device times are wanted. */
void report_link(struct report *report, double bandwidth);

/* The names of the columns, as wide as results up to the largest size need. */
void report_head(const struct report *report);

/*
 * A size with the algorithm and the times of its @nr operations, which are sorted here. 0, or -1:
 * out of memory.
 */
int report_row(struct report *report, const struct shape *shape, const char *algorithm,
	       struct ranks_times *times, size_t nr);

/* A size that has no result. */
void report_failure(const struct report *report, const struct shape *shape, const char *why);

/* How far it is, on a terminal. @done of @all operations; @all 0: wipe the line. */
void report_progress(const struct report *report, const struct shape *shape, unsigned int done,
		     unsigned int all);

/* The last lines, with the number of sizes that @failed. */
void report_end(struct report *report, unsigned int failed);

/* The file, of the first report, when all have ended. 0, or -1 with @why. */
int report_write(struct report *report, char *why, size_t size);

/* Without report_write() there is no new file, and an old one is what it was. */
void report_free(struct report *report);

#endif /* NCCOM_REPORT_H */
