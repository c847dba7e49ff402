// SPDX-License-Identifier: MIT
/* Sources of a program, and where each of their lines begins. */
#include <stdlib.h>
#include <string.h>

#include "objdump.h"
#include "source.h"

/* A source; without @text there is none of that name. */
struct source {
	char *name;
	char *text;
	size_t *begin;		/* of each line, and the end of the last one */
	size_t count;
};

struct lines {
	struct source_folders folders;
	struct source *source;
	size_t nr_sources;
};

struct lines *lines_new(void)
{
	return calloc(1, sizeof(struct lines));
}

int lines_add_folder(struct lines *lines, const char *folder)
{
	return source_add_folder(&lines->folders, folder);
}

static size_t count_lines(const char *text, size_t size)
{
	const char *p = text, *end = text + size;
	size_t count = 0;

	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));

		count++;
		p = newline ? newline + 1 : end;
	}
	return count;
}

static void find_lines(struct source *source, size_t size)
{
	size_t i, count = count_lines(source->text, size);
	const char *p = source->text;

	source->begin = calloc(count + 1, sizeof(*source->begin));
	if (!source->begin)
		return;
	for (i = 0; i < count; i++) {
		const char *newline = memchr(p, '\n', (size_t)(source->text + size - p));

		source->begin[i] = (size_t)(p - source->text);
		p = newline ? newline + 1 : source->text + size + 1;
	}
	source->begin[count] = (size_t)(p - source->text);
	source->count = count;
}

static struct source *find_source(struct lines *lines, const char *name)
{
	struct source *source;
	size_t i, size;

	for (i = 0; i < lines->nr_sources; i++)
		if (!strcmp(lines->source[i].name, name))
			return &lines->source[i];
	source = reallocarray(lines->source, lines->nr_sources + 1, sizeof(*source));
	if (!source)
		return NULL;
	lines->source = source;
	source += lines->nr_sources;
	*source = (struct source){ .name = strdup(name) };
	if (!source->name)
		return NULL;
	lines->nr_sources++;
	source->text = source_read(&lines->folders, name, &size);
	if (source->text)
		find_lines(source, size);
	return source;
}

const char *lines_get(void *context, const char *name, unsigned int line, size_t *length)
{
	const struct source *source = find_source(context, name);
	const char *text;
	size_t i;

	if (!source || !line || line > source->count)
		return NULL;
	text = source->text + source->begin[line - 1];
	*length = source->begin[line] - source->begin[line - 1] - 1;
	/* What would end the comment ends the line. */
	for (i = 0; i < *length; i++)
		if ((unsigned char)text[i] < ' ' && text[i] != '\t')
			*length = i;
	return text;
}

void lines_free(struct lines *lines)
{
	size_t i;

	for (i = 0; lines && i < lines->nr_sources; i++) {
		free(lines->source[i].name);
		free(lines->source[i].text);
		free(lines->source[i].begin);
	}
	if (lines) {
		free(lines->source);
		source_free_folders(&lines->folders);
	}
	free(lines);
}
