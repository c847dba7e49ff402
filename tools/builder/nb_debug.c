// SPDX-License-Identifier: MIT
/* Which line of which source an instruction is from. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nb_private.h"
#include "nb_text.h"

/* Mostly the file of the line before. */
static int nb_find_file(const struct nb_program *nb, const char *name)
{
	size_t i;

	if (nb->source >= 0 && !strcmp(nb->file[nb->source], name))
		return nb->source;
	for (i = 0; i < nb->nr_files; i++)
		if (!strcmp(nb->file[i], name))
			return i;
	return -1;
}

static int nb_add_file(struct nb_program *nb, const char *name)
{
	char **file;

	if (!nb_name_ok(name))
		return nb_fail(nb,
			       "a source file must have a name of 1 to 255 printable characters");
	file = nb_grow(nb, (void **)&nb->file, nb->nr_files, &nb->file_room,
		       sizeof(*file));
	if (!file)
		return -1;
	*file = strdup(name);
	if (!*file)
		return nb_fail(nb, "out of memory");
	return nb->nr_files++;
}

void nb_source(struct nb_program *nb, const char *file, uint32_t line)
{
	int source = -1;

	if (file)
		source = nb_find_file(nb, file);
	if (file && source < 0)
		source = nb_add_file(nb, file);
	nb->source = source;
	nb->source_line = source < 0 ? 0 : line;
}

void nb_add_line(struct nb_program *nb, struct nb_stream *stream, uint32_t pc)
{
	const struct nb_line *last = NULL;
	struct nb_line *line;

	if (stream->nr_lines)
		last = &stream->line[stream->nr_lines - 1];
	if (last ? last->file == nb->source && last->line == nb->source_line :
		   nb->source < 0)
		return;
	line = nb_grow(nb, (void **)&stream->line, stream->nr_lines,
		       &stream->line_room, sizeof(*line));
	if (!line)
		return;
	line->pc = pc;
	line->file = nb->source;
	line->line = nb->source_line;
	stream->nr_lines++;
}

const struct nb_line *nb_line_of(const struct nb_stream *stream, uint32_t pc)
{
	size_t low = 0, high = stream->nr_lines;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (stream->line[middle].pc <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low && stream->line[low - 1].file >= 0 ? &stream->line[low - 1] : NULL;
}

static int nb_fail_from(struct nb_program *nb, int file, uint32_t line, const char *format,
			va_list args)
{
	char text[NB_ERROR_MAX];

	vsnprintf(text, sizeof(text), format, args);
	if (file < 0)
		return nb_fail(nb, "%s", text);
	return nb_fail(nb, "%s:%u: %s", nb->file[file], line, text);
}

int nb_fail_here(struct nb_program *nb, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	nb_fail_from(nb, nb->source, nb->source_line, format, args);
	va_end(args);
	return -1;
}

int nb_set_error(struct nb_program *nb, const char *text)
{
	return nb_fail_here(nb, "%s", text);
}

int nb_fail_at(struct nb_program *nb, enum neuron_engine e, uint32_t pc, const char *format, ...)
{
	const struct nb_line *line = nb_line_of(&nb->stream[e], pc);
	va_list args;

	va_start(args, format);
	nb_fail_from(nb, line ? line->file : -1, line ? line->line : 0, format, args);
	va_end(args);
	return -1;
}

bool nb_has_lines(const struct nb_program *nb)
{
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++)
		if (nb->stream[e].nr_lines)
			return true;
	return false;
}

/**
 * struct nb_numbers - source files as the NEFF numbers them
 * @number: by index in nb->file; -1: no instruction is from it
 * @file: index in nb->file of each number
 * @count: of @file
 */
struct nb_numbers {
	int *number;
	int *file;
	int count;
};

/*
 * In the order in which the streams use them, one stream after the other. The order of the calls
 * is not known to who makes the same program from its streams, such as the assembler.
 */
static void nb_number_files(const struct nb_program *nb, struct nb_numbers *numbers)
{
	unsigned int e;
	size_t i;

	for (i = 0; i < nb->nr_files; i++)
		numbers->number[i] = -1;
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		for (i = 0; i < nb->stream[e].nr_lines; i++) {
			int file = nb->stream[e].line[i].file;

			if (file < 0 || numbers->number[file] >= 0)
				continue;
			numbers->file[numbers->count] = file;
			numbers->number[file] = numbers->count++;
		}
}

static void nb_put_line(struct nb_text *out, const struct nb_numbers *numbers,
			const struct nb_line *line, bool first)
{
	nb_text_add(out, first ? "[" : ",[");
	nb_text_number(out, line->pc);
	nb_text_add(out, ",");
	nb_text_number(out, line->file < 0 ? -1 : numbers->number[line->file]);
	nb_text_add(out, ",");
	nb_text_number(out, line->line);
	nb_text_add(out, "]");
}

static void nb_put_lines(struct nb_text *out, const struct nb_numbers *numbers,
			 const struct nb_stream *stream)
{
	size_t i;

	nb_text_add(out, "[");
	for (i = 0; i < stream->nr_lines; i++)
		nb_put_line(out, numbers, &stream->line[i], !i);
	nb_text_add(out, "]");
}

static void nb_put_debug(struct nb_text *out, const struct nb_program *nb,
			 const struct nb_numbers *numbers)
{
	bool first = true;
	int i;

	nb_text_add(out, "{\"files\":[");
	for (i = 0; i < numbers->count; i++) {
		nb_text_add(out, i ? "," : "");
		nb_text_name(out, nb->file[numbers->file[i]]);
	}
	nb_text_add(out, "],\"lines\":{");
	for (i = 0; i < NEURON_NR_ENGINES; i++) {
		if (!nb->stream[i].nr_lines)
			continue;
		nb_text_add(out, first ? "" : ",");
		nb_text_name(out, neff_engine_name((unsigned int)i));
		nb_text_add(out, ":");
		nb_put_lines(out, numbers, &nb->stream[i]);
		first = false;
	}
	nb_text_add(out, "}}");
}

char *nb_debug_json(const struct nb_program *nb)
{
	struct nb_numbers numbers = {
		.number = calloc(nb->nr_files + 1, sizeof(*numbers.number)),
		.file = calloc(nb->nr_files + 1, sizeof(*numbers.file)),
	};
	struct nb_text out = { 0 };
	char *text = NULL;

	if (numbers.number && numbers.file) {
		nb_number_files(nb, &numbers);
		nb_put_debug(&out, nb, &numbers);
		text = nb_text_end(&out);
	}
	free(numbers.number);
	free(numbers.file);
	return text;
}
