// SPDX-License-Identifier: MIT
/* Where lines come from: sources, the files that they include, and what macros become. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "as_unit.h"
#include "neuron/neff.h"

#define MAX_INCLUDE	((size_t)1 << 30)

void as_release_origin(struct as_origin *origin)
{
	struct as_origin *outer;

	while (origin && !--origin->refs) {
		outer = origin->outer;
		free(origin);
		origin = outer;
	}
}

struct as_place as_here(struct as_unit *unit, unsigned int column)
{
	if (unit->origin)
		unit->origin->refs++;
	return (struct as_place){ unit->file, unit->line, column, unit->origin };
}

uint32_t as_debug_line(const struct as_unit *unit)
{
	const struct as_origin *origin = unit->origin;
	uint32_t line = unit->line;

	if (unit->line_off)
		return 0;
	for (; origin && origin->macro; origin = origin->outer)
		line = origin->line;
	return line + unit->line_shift;
}

/* The last part of a path; the debug file takes only names that can stand in a line. */
static char *source_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *name = slash ? slash + 1 : path;
	const char *c;

	if (!name || !*name || strlen(name) >= NEFF_NAME_LEN)
		return NULL;
	for (c = name; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return NULL;
	return strdup(name);
}

/* What the innermost text has left open. */
static void check_open(struct as_unit *unit, const struct as_frame *frame)
{
	if (unit->nr_rept > frame->nr_rept && !unit->errors)
		as_error_at(unit, unit->rept[unit->nr_rept - 1].line, 1, ".rept without .endr");
	if (unit->nr_conds > frame->nr_conds && !unit->errors)
		as_error_at(unit, unit->cond[unit->nr_conds - 1].line, 1, ".if without .endif");
	while (unit->nr_rept > frame->nr_rept)
		free(unit->rept[--unit->nr_rept].symbol);
	unit->nr_conds = frame->nr_conds;
}

static void pop(struct as_unit *unit)
{
	struct as_frame *frame = &unit->frame[--unit->nr_frames];

	check_open(unit, frame);
	free(frame->owned);
	as_release_origin(frame->origin);
	if (frame->included) {
		free(unit->source);
		unit->source = frame->source;
		unit->line_shift = frame->line_shift;
		unit->line_off = frame->line_off;
	}
	/* The file stays that of the last line, for complaints about the whole. */
	if (!unit->nr_frames)
		return;
	frame--;
	unit->at = frame->at;
	unit->end = frame->end;
	unit->line = frame->line;
	unit->file = frame->file;
	unit->origin = frame->origin;
}

/* The text that is read becomes @at; what it needs to go on is in the frames. */
static struct as_frame *push(struct as_unit *unit, const char *at, size_t size, const char *file,
			     unsigned int line)
{
	struct as_frame *frame = &unit->frame[unit->nr_frames];

	if (unit->nr_frames) {
		frame[-1].at = unit->at;
		frame[-1].line = unit->line;
	}
	*frame = (struct as_frame){
		.end = at + size,
		.file = file,
		.nr_rept = unit->nr_rept,
		.nr_conds = unit->nr_conds,
	};
	unit->nr_frames++;
	unit->at = at;
	unit->end = frame->end;
	unit->line = line;
	unit->file = file;
	return frame;
}

/* From here on lines are of a file of their own. */
static void begin_file(struct as_unit *unit, struct as_frame *frame)
{
	frame->included = true;
	frame->source = unit->source;
	frame->line_shift = unit->line_shift;
	frame->line_off = unit->line_off;
	unit->source = source_name(frame->file);
	unit->line_shift = 0;
	unit->line_off = false;
}

bool as_next_text(struct as_unit *unit)
{
	const struct as_source *source = unit->sources;

	if (unit->nr_frames)
		pop(unit);
	if (unit->nr_frames)
		return true;
	unit->origin = NULL;
	if (!unit->nr_sources)
		return false;
	unit->sources++;
	unit->nr_sources--;
	begin_file(unit, push(unit, source->text, source->size, source->file, 0));
	return true;
}

static struct as_origin *new_origin(struct as_unit *unit, const struct as_macro *macro)
{
	struct as_origin *origin = malloc(sizeof(*origin));

	if (!origin)
		return NULL;
	*origin = (struct as_origin){
		.refs = 1,
		.file = unit->file,
		.line = unit->line,
		.macro = macro,
		.outer = unit->origin,
	};
	if (unit->origin)
		unit->origin->refs++;
	return origin;
}

bool as_push_text(struct as_unit *unit, char *text, size_t size, const char *file,
		  unsigned int line, const struct as_macro *macro)
{
	struct as_origin *origin;
	struct as_frame *frame;

	if (unit->nr_frames == AS_MAX_FRAMES) {
		free(text);
		unit->dead = true;
		return as_error_at(unit, unit->line, 1,
				   "more than %d macros and included files in each other",
				   AS_MAX_FRAMES);
	}
	origin = new_origin(unit, macro);
	if (!origin) {
		free(text);
		return as_memory(unit);
	}
	frame = push(unit, text, size, file, line);
	frame->owned = text;
	frame->origin = origin;
	unit->origin = origin;
	if (!macro)
		begin_file(unit, frame);
	return true;
}

char *as_host_path(const struct as_unit *unit, const char *name)
{
	const char *slash = strrchr(unit->file, '/');
	char *path;

	if (*name == '/' || !slash)
		return strdup(name);
	if (asprintf(&path, "%.*s/%s", (int)(slash - unit->file), unit->file, name) < 0)
		return NULL;
	return path;
}

/* All of a file; NULL with errno set. */
static char *read_all(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	size_t room = 0, n;
	char *text = NULL, *grown;

	if (!file)
		return NULL;
	*size = 0;
	do {
		room = room ? room * 2 : 65536;
		grown = room > MAX_INCLUDE ? NULL : realloc(text, room);
		if (!grown) {
			errno = room > MAX_INCLUDE ? EFBIG : ENOMEM;
			goto err;
		}
		text = grown;
		n = fread(text + *size, 1, room - *size, file);
		*size += n;
	} while (*size == room);
	if (ferror(file))
		goto err;
	fclose(file);
	return text;

err:
	n = (size_t)errno;
	free(text);
	fclose(file);
	errno = (int)n;
	return NULL;
}

/* Complaints name the file, also when it has ended. */
static bool keep_name(struct as_unit *unit, char *path)
{
	char **files = reallocarray(unit->files, unit->nr_files + 1, sizeof(*files));

	if (!files)
		return as_memory(unit);
	unit->files = files;
	files[unit->nr_files++] = path;
	return true;
}

bool as_include(struct as_unit *unit)
{
	const struct as_token *token = as_peek(unit);
	char *name, *path, *text;
	size_t size;

	if (!unit->options->read_files)
		return as_error(unit, token, "files are not read here");
	if (token->kind != AS_STRING)
		return as_expected(unit, "a path in quotes");
	name = as_token_copy(as_take(unit));
	path = name ? as_host_path(unit, name) : NULL;
	free(name);
	if (!path)
		return as_memory(unit);
	if (as_peek(unit)->kind != AS_END) {
		free(path);
		return as_expected(unit, "the end of the line");
	}
	text = read_all(path, &size);
	if (!text) {
		free(path);
		return as_error(unit, token, "\"%.*s\": %s", (int)token->len, token->text,
				strerror(errno));
	}
	if (!keep_name(unit, path)) {
		free(path);
		free(text);
		return false;
	}
	return as_push_text(unit, text, size, path, 0, NULL);
}

static const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	return p;
}

static const char *skip_name(const char *p, const char *end)
{
	while (p < end && ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
			   (*p >= '0' && *p <= '9') || *p == '_'))
		p++;
	return p;
}

/* The directive of a line, without its dot and behind a label; an empty word: it has none. */
static struct as_token directive_of(const char *p, const char *end)
{
	struct as_token word = { .kind = AS_NAME, .text = p };
	const char *name;

	p = skip_blanks(p, end);
	name = skip_name(p, end);
	if (name > p && skip_blanks(name, end) < end && *skip_blanks(name, end) == ':')
		p = skip_blanks(skip_blanks(name, end) + 1, end);
	if (p == end || *p != '.')
		return word;
	word.text = skip_blanks(p + 1, end);
	word.len = (size_t)(skip_name(word.text, end) - word.text);
	return word;
}

static bool opens(const struct as_block *block, const struct as_token *word)
{
	const char *const *open = block->open;

	while (*open && !as_token_is(word, *open))
		open++;
	return *open;
}

enum as_found as_skip_block(struct as_unit *unit, const struct as_block *block, bool middle,
			    const char **closing)
{
	unsigned int depth = 1;
	struct as_token word;
	const char *end;

	while (unit->at < unit->end) {
		*closing = unit->at;
		end = memchr(unit->at, '\n', (size_t)(unit->end - unit->at));
		word = directive_of(unit->at, end ? end : unit->end);
		unit->at = end ? end + 1 : unit->end;
		unit->line++;
		if (opens(block, &word))
			depth++;
		else if (as_token_is(&word, block->close) && !--depth)
			return AS_FOUND_CLOSE;
		else if (middle && depth == 1 && as_token_is(&word, block->middle))
			return AS_FOUND_MIDDLE;
	}
	return AS_FOUND_NOTHING;
}

bool as_next_line_is(const struct as_unit *unit, const char *directive)
{
	const char *end = memchr(unit->at, '\n', (size_t)(unit->end - unit->at));
	const struct as_token word = directive_of(unit->at, end ? end : unit->end);

	return as_token_is(&word, directive);
}

void as_free_texts(struct as_unit *unit)
{
	while (unit->nr_frames)
		pop(unit);
	free(unit->source);
	while (unit->nr_files)
		free(unit->files[--unit->nr_files]);
	free(unit->files);
}
