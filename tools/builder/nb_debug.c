// SPDX-License-Identifier: MIT
/* Which line of which source an instruction is from. */
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nb_private.h"

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
	char text[256];

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

static json_object *nb_lines_json(const struct nb_stream *stream)
{
	json_object *list = json_object_new_array();
	size_t i;

	for (i = 0; i < stream->nr_lines; i++) {
		const struct nb_line *line = &stream->line[i];
		json_object *entry = json_object_new_array();

		json_object_array_add(entry, json_object_new_int64(line->pc));
		json_object_array_add(entry, json_object_new_int64(line->file));
		json_object_array_add(entry, json_object_new_int64(line->line));
		json_object_array_add(list, entry);
	}
	return list;
}

char *nb_debug_json(const struct nb_program *nb)
{
	json_object *root = json_object_new_object();
	json_object *files = json_object_new_array();
	json_object *lines = json_object_new_object();
	const char *text;
	char *copy;
	size_t i;

	for (i = 0; i < nb->nr_files; i++)
		json_object_array_add(files, json_object_new_string(nb->file[i]));
	for (i = 0; i < NEURON_NR_ENGINES; i++)
		if (nb->stream[i].nr_lines)
			json_object_object_add(lines, neff_engine_name(i),
					       nb_lines_json(&nb->stream[i]));
	json_object_object_add(root, "files", files);
	json_object_object_add(root, "lines", lines);
	text = json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN |
					      JSON_C_TO_STRING_NOSLASHESCAPE);
	copy = text ? strdup(text) : NULL;
	json_object_put(root);
	return copy;
}
