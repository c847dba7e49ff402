/* SPDX-License-Identifier: MIT */
/* Framed tables with aligned columns. */
#ifndef TOOLS_TABLE_H
#define TOOLS_TABLE_H

#include <stdio.h>

#define TABLE_MAX_COLUMNS	12

struct table;

/* Heads may hold "\n" for a second line. NULL: out of memory. */
struct table *table_new(unsigned int columns, const char *const *head);
/* One cell after another, row by row; the text is copied. */
void table_cell(struct table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void table_print(const struct table *table, FILE *out);
void table_free(struct table *table);

#endif /* TOOLS_TABLE_H */
