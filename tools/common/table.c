// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

#define TABLE_CELL	96

struct table {
	unsigned int columns;
	char head[2][TABLE_MAX_COLUMNS][TABLE_CELL];
	char (*cell)[TABLE_CELL];
	size_t count;
	size_t room;
};

struct table *table_new(unsigned int columns, const char *const *head)
{
	struct table *table = calloc(1, sizeof(*table));
	unsigned int i;

	if (!table || columns > TABLE_MAX_COLUMNS) {
		free(table);
		return NULL;
	}
	table->columns = columns;
	for (i = 0; i < columns; i++) {
		const char *second = strchr(head[i], '\n');
		int first = second ? second - head[i] : (int)strlen(head[i]);

		snprintf(table->head[0][i], TABLE_CELL, "%.*s", first, head[i]);
		if (second)
			snprintf(table->head[1][i], TABLE_CELL, "%s",
				 second + 1);
	}
	return table;
}

void table_cell(struct table *table, const char *format, ...)
{
	char (*grown)[TABLE_CELL];
	va_list args;

	if (table->count == table->room) {
		size_t room = table->room ? table->room * 2 : 64;

		grown = realloc(table->cell, room * sizeof(*grown));
		if (!grown)
			return;
		table->cell = grown;
		table->room = room;
	}
	va_start(args, format);
	vsnprintf(table->cell[table->count++], TABLE_CELL, format, args);
	va_end(args);
}

static void table_widths(const struct table *table, size_t *width)
{
	unsigned int column;
	size_t i, len;

	for (column = 0; column < table->columns; column++) {
		width[column] = strlen(table->head[0][column]);
		len = strlen(table->head[1][column]);
		if (len > width[column])
			width[column] = len;
	}
	for (i = 0; i < table->count; i++) {
		column = i % table->columns;
		len = strlen(table->cell[i]);
		if (len > width[column])
			width[column] = len;
	}
}

static void table_rule(const struct table *table, const size_t *width,
		       FILE *out)
{
	unsigned int column;
	size_t i;

	for (column = 0; column < table->columns; column++) {
		fputc('+', out);
		for (i = 0; i < width[column] + 2; i++)
			fputc('-', out);
	}
	fputs("+\n", out);
}

static void table_row(const struct table *table, const size_t *width,
		      const char (*cell)[TABLE_CELL], FILE *out)
{
	unsigned int column;

	for (column = 0; column < table->columns; column++)
		fprintf(out, "| %-*s ", (int)width[column], cell[column]);
	fputs("|\n", out);
}

void table_print(const struct table *table, FILE *out)
{
	size_t width[TABLE_MAX_COLUMNS], i;
	unsigned int column;

	table_widths(table, width);
	table_rule(table, width, out);
	table_row(table, width, table->head[0], out);
	for (column = 0; column < table->columns; column++)
		if (table->head[1][column][0])
			break;
	if (column < table->columns)
		table_row(table, width, table->head[1], out);
	table_rule(table, width, out);
	for (i = 0; i + table->columns <= table->count; i += table->columns)
		table_row(table, width,
			  (const char (*)[TABLE_CELL])(table->cell + i), out);
	table_rule(table, width, out);
}

void table_free(struct table *table)
{
	if (!table)
		return;
	free(table->cell);
	free(table);
}
