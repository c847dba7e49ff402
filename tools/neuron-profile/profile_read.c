// SPDX-License-Identifier: MIT
/*
 * The text of a profile. A profile of a million events has a hundred megabytes, so its lines,
 * which are flat objects of short values, are read here and not by a JSON library.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chip/isa/trn_isa.h"
#include "input.h"
#include "profile.h"

#define MAX_FILE	((size_t)16 << 30)
#define MAX_FIELDS	32

/* A member of an object. */
struct field {
	const char *key;
	const char *text;
	size_t key_len;
	size_t len;
	bool string;
};

/**
 * struct line - a line of the profile
 * @at, @end: what is left of it
 * @number: from 1
 */
struct line {
	struct profile *profile;
	const char *at;
	const char *end;
	unsigned long number;
	struct nrt_error *error;
	struct field field[MAX_FIELDS];
	unsigned int nr;
};

static NRT_STATUS bad(struct line *line, const char *what)
{
	return nrt_error_set(line->error, NRT_INVALID, "%s:%lu: %s", line->profile->path,
			     line->number, what);
}

static void skip_space(struct line *line)
{
	while (line->at < line->end && (*line->at == ' ' || *line->at == '\t' ||
					*line->at == '\r'))
		line->at++;
}

static bool take(struct line *line, char c)
{
	skip_space(line);
	if (line->at == line->end || *line->at != c)
		return false;
	line->at++;
	return true;
}

/* Behind the opening quote. What stands behind a backslash stays as it is. */
static bool take_string(struct line *line, const char **text, size_t *len)
{
	*text = line->at;
	while (line->at < line->end && *line->at != '"')
		line->at += *line->at == '\\' && line->at + 1 < line->end ? 2 : 1;
	if (line->at >= line->end)
		return false;
	*len = (size_t)(line->at++ - *text);
	return true;
}

static bool take_word(struct line *line, const char **text, size_t *len)
{
	*text = line->at;
	while (line->at < line->end && (isalnum((unsigned char)*line->at) || *line->at == '-' ||
					*line->at == '+' || *line->at == '.'))
		line->at++;
	*len = (size_t)(line->at - *text);
	return *len;
}

static bool take_field(struct line *line, struct field *field)
{
	if (!take(line, '"') || !take_string(line, &field->key, &field->key_len) ||
	    !take(line, ':'))
		return false;
	skip_space(line);
	field->string = line->at < line->end && *line->at == '"';
	if (!field->string)
		return take_word(line, &field->text, &field->len);
	line->at++;
	return take_string(line, &field->text, &field->len);
}

/* Split an object of strings, numbers, true and false. */
static NRT_STATUS split(struct line *line)
{
	line->nr = 0;
	if (!take(line, '{'))
		return bad(line, "not an object; is this a device profile of libnrt?");
	while (line->nr < MAX_FIELDS && take_field(line, &line->field[line->nr])) {
		line->nr++;
		if (take(line, ','))
			continue;
		if (!take(line, '}'))
			break;
		skip_space(line);
		if (line->at == line->end)
			return NRT_SUCCESS;
		break;
	}
	return bad(line, "the object is damaged or cut off; write the profile again");
}

static const struct field *find(const struct line *line, const char *key)
{
	const size_t len = strlen(key);
	unsigned int i;

	for (i = 0; i < line->nr; i++)
		if (line->field[i].key_len == len && !memcmp(line->field[i].key, key, len))
			return &line->field[i];
	return NULL;
}

static bool is_text(const struct field *field, const char *text)
{
	return field && field->string && field->len == strlen(text) &&
	       !memcmp(field->text, text, field->len);
}

static NRT_STATUS bad_key(struct line *line, const char *key, const char *what)
{
	char text[160];

	snprintf(text, sizeof(text), "\"%s\" %s", key, what);
	return bad(line, text);
}

/* A whole number up to @most. */
static NRT_STATUS number(struct line *line, const char *key, uint64_t most, uint64_t *value)
{
	const struct field *field = find(line, key);
	size_t i;

	*value = 0;
	if (!field || field->string)
		return bad_key(line, key, "is missing or no number");
	for (i = 0; i < field->len; i++) {
		unsigned int digit = (unsigned int)(field->text[i] - '0');

		if (digit > 9 || *value > (most - digit) / 10)
			return bad_key(line, key, "is no whole number, or too large");
		*value = *value * 10 + digit;
	}
	return NRT_SUCCESS;
}

static NRT_STATUS number32(struct line *line, const char *key, uint32_t most, uint32_t *value)
{
	uint64_t wide;

	if (number(line, key, most, &wide))
		return line->error->status;
	*value = (uint32_t)wide;
	return NRT_SUCCESS;
}

static bool is_true(const struct line *line, const char *key)
{
	const struct field *field = find(line, key);

	return field && !field->string && field->len == 4 && !memcmp(field->text, "true", 4);
}

/* --- The first line --- */

static NRT_STATUS check_format(struct line *line)
{
	uint64_t version;
	char text[120];

	if (!is_text(find(line, "format"), "neuron-emu-profile"))
		return bad(line, "not a device profile of libnrt (format neuron-emu-profile)");
	if (number(line, "version", UINT32_MAX, &version))
		return line->error->status;
	if (version && version <= PROFILE_VERSION)
		return NRT_SUCCESS;
	snprintf(text, sizeof(text),
		 "format version %" PRIu64 "; this neuron-profile knows up to %d: use a newer one",
		 version, PROFILE_VERSION);
	return bad(line, text);
}

static NRT_STATUS read_chip(struct line *line)
{
	static const struct neuron_gen *const gens[] = {
		&neuron_gen_trn1, &neuron_gen_inf2, &neuron_gen_trn2, &neuron_gen_trn3,
	};
	const struct field *chip = find(line, "chip");
	size_t i;

	for (i = 0; i < sizeof(gens) / sizeof(*gens); i++)
		if (is_text(chip, gens[i]->device_name))
			line->profile->gen = gens[i];
	if (!line->profile->gen)
		return bad_key(line, "chip", "is no chip that is known");
	return NRT_SUCCESS;
}

/* The text of a field, for free(), without its escapes; NULL: it is damaged, or no memory. */
static char *unescape(const struct field *field)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *object = NULL;
	char *text = NULL;

	/* With its quotes, which are there. */
	if (tokener)
		object = json_tokener_parse_ex(tokener, field->text - 1, (int)field->len + 2);
	if (json_object_is_type(object, json_type_string))
		text = strdup(json_object_get_string(object));
	json_object_put(object);
	if (tokener)
		json_tokener_free(tokener);
	return text;
}

static NRT_STATUS read_texts(struct line *line)
{
	const struct field *name = find(line, "model_name");
	const struct field *hash = find(line, "neff_hash");
	struct profile *profile = line->profile;

	if (name && name->string && name->len < INT_MAX - 2)
		profile->model = unescape(name);
	if (!profile->model)
		return bad_key(line, "model_name", "is missing or no text");
	if (!hash)
		return NRT_SUCCESS;
	if (!hash->string || hash->len >= sizeof(profile->neff_hash))
		return bad_key(line, "neff_hash", "is no hash");
	memcpy(profile->neff_hash, hash->text, hash->len);
	return NRT_SUCCESS;
}

static NRT_STATUS read_head(struct line *line)
{
	struct profile *profile = line->profile;
	uint64_t end_ns;

	if (split(line) || check_format(line) || read_chip(line) || read_texts(line) ||
	    number32(line, "core", UINT16_MAX, &profile->number) ||
	    number(line, "start_ns", INT64_MAX, &profile->start_ns) ||
	    number(line, "end_ns", INT64_MAX, &end_ns) ||
	    number(line, "wall_ns", INT64_MAX, &profile->wall_ns) ||
	    number(line, "instructions", INT64_MAX, &profile->instructions) ||
	    number(line, "dma_bytes", INT64_MAX, &profile->dma_bytes) ||
	    number32(line, "events", PROFILE_MAX_EVENTS, &profile->nr_events) ||
	    number(line, "lost", INT64_MAX, &profile->lost))
		return line->error->status;
	if (end_ns < profile->start_ns)
		return bad(line, "the execution ends before it begins");
	if (!profile->nr_events)
		return bad(line, "there are no events; is the property clock of the device off?");
	profile->length_ns = end_ns - profile->start_ns;
	profile->inexact = is_true(line, "inexact");
	return NRT_SUCCESS;
}

/* --- Events --- */

static NRT_STATUS read_instruction(struct line *line, struct profile_event *event)
{
	const struct field *engine = find(line, "engine");
	int number = -1;

	if (engine && engine->string)
		number = trn_isa_engine_value(engine->text, engine->len);
	if (number < 0 || number >= NEURON_NR_ENGINES)
		return bad_key(line, "engine", "is no engine that is known");
	event->actor += (uint32_t)number;
	if (number32(line, "opcode", UINT8_MAX, &event->code))
		return line->error->status;
	return number32(line, "pc", UINT32_MAX - 1, &event->pc);
}

static NRT_STATUS read_transfer(struct line *line, struct profile_event *event)
{
	uint32_t engine = 0, queue = 0;

	if (number32(line, "dma_engine", UINT16_MAX, &engine) ||
	    number32(line, "queue", 15, &queue) ||
	    number32(line, "descriptors", UINT16_MAX, &event->code) ||
	    number32(line, "first", UINT32_MAX - 1, &event->pc) ||
	    number(line, "bytes", UINT32_MAX, &event->bytes))
		return line->error->status;
	event->actor += NEURON_NR_ENGINES + queue * PROFILE_DMA_ENGINES +
			engine % PROFILE_DMA_ENGINES;
	return NRT_SUCCESS;
}

static NRT_STATUS read_times(struct line *line, struct profile_event *event)
{
	const uint64_t start = line->profile->start_ns;

	if (number(line, "begin_ns", INT64_MAX, &event->begin_ns) ||
	    number(line, "end_ns", INT64_MAX, &event->end_ns))
		return line->error->status;
	if (event->begin_ns < start || event->end_ns < event->begin_ns)
		return bad(line, "it begins before the execution, or ends before it begins");
	event->begin_ns -= start;
	event->end_ns -= start;
	return NRT_SUCCESS;
}

static NRT_STATUS read_event(struct line *line, struct profile_event *event)
{
	uint32_t core = 0;
	const struct field *kind;

	*event = (struct profile_event){ .cause = PROFILE_NONE, .owner = PROFILE_NONE };
	if (split(line))
		return line->error->status;
	if (find(line, "physical_core") &&
	    number32(line, "physical_core", PROFILE_MAX_CORES - 1, &core))
		return line->error->status;
	event->actor = core * PROFILE_ACTORS;
	event->inexact = is_true(line, "inexact");
	kind = find(line, "kind");
	if (is_text(kind, "instruction"))
		return read_instruction(line, event) ? line->error->status :
						       read_times(line, event);
	if (is_text(kind, "transfer"))
		return read_transfer(line, event) ? line->error->status : read_times(line, event);
	return bad_key(line, "kind", "is neither instruction nor transfer");
}

/* The next line that is not empty; false: there is none. */
static bool next_line(struct line *line, const char **rest, const char *end)
{
	while (*rest < end) {
		const char *stop = memchr(*rest, '\n', (size_t)(end - *rest));

		line->at = *rest;
		line->end = stop ? stop : end;
		line->number++;
		*rest = stop ? stop + 1 : end;
		if (line->at < line->end)
			return true;
	}
	return false;
}

NRT_STATUS profile_read(struct profile *profile, const char *text, size_t size,
			struct nrt_error *error)
{
	struct line line = { .profile = profile, .error = error };
	const char *end = text + size;
	uint32_t i;

	if (!next_line(&line, &text, end))
		return nrt_error_set(error, NRT_INVALID, "%s: the file is empty", profile->path);
	if (read_head(&line))
		return error->status;
	/* The count is only believed as far as the file can hold it. */
	if (profile->nr_events > (size_t)(end - text))
		return nrt_error_set(error, NRT_INVALID,
				     "%s: cut off: %u events are announced; write the profile again",
				     profile->path, profile->nr_events);
	profile->event = calloc(profile->nr_events, sizeof(*profile->event));
	if (!profile->event)
		return nrt_error_memory(error);
	for (i = 0; i < profile->nr_events; i++) {
		if (!next_line(&line, &text, end))
			return nrt_error_set(error, NRT_INVALID,
					     "%s: cut off: %u of %u events; write the profile again",
					     profile->path, i, profile->nr_events);
		if (read_event(&line, &profile->event[i]))
			return error->status;
	}
	if (next_line(&line, &text, end))
		return bad(&line, "more events than the first line announces");
	return NRT_SUCCESS;
}

/* --- The files --- */

void *profile_load(const char *path, size_t *size, struct nrt_error *error)
{
	char *data;

	if (!input_read(path, MAX_FILE, &data, size))
		return data;
	nrt_error_set(error, NRT_INVALID, "%s: %s", path, strerror(errno));
	return NULL;
}

/* What the reader of NEFFs says does not name the file. */
static NRT_STATUS open_neff(struct profile *profile, const char *path, struct nrt_error *error)
{
	struct nrt_error why;
	size_t size;

	profile->neff_bytes = profile_load(path, &size, error);
	if (!profile->neff_bytes)
		return error->status;
	if (!profile_read_neff(profile, profile->neff_bytes, size, error))
		return NRT_SUCCESS;
	why = *error;
	if (neff_why(&why) == why.text)
		return error->status;
	return nrt_error_set(error, error->status, "%s: %s", path, neff_why(&why));
}

static NRT_STATUS open_both(struct profile *profile, const char *neff, struct nrt_error *error)
{
	size_t size;
	char *text = profile_load(profile->path, &size, error);
	NRT_STATUS status;

	if (!text)
		return error->status;
	status = profile_read(profile, text, size, error);
	free(text);
	if (status || open_neff(profile, neff, error) || profile_link(profile, error))
		return error->status;
	if (profile_wait(profile, error))
		return error->status;
	profile_critical(profile);
	return NRT_SUCCESS;
}

struct profile *profile_open(const char *path, const char *neff, struct nrt_error *error)
{
	struct profile *profile = calloc(1, sizeof(*profile));

	if (!profile) {
		nrt_error_memory(error);
		return NULL;
	}
	profile->path = strdup(path);
	if (!profile->path)
		nrt_error_memory(error);
	else if (!open_both(profile, neff, error))
		return profile;
	profile_free(profile);
	return NULL;
}

void profile_free(struct profile *profile)
{
	unsigned int core, engine;

	if (!profile)
		return;
	for (core = 0; core < profile->nr_cores; core++) {
		for (engine = 0; engine < NEURON_NR_ENGINES; engine++)
			free(profile->core[core].image[engine]);
		dma_program_free(&profile->core[core].program);
	}
	neff_free(profile->neff);
	free(profile->neff_bytes);
	free(profile->step);
	free(profile->order);
	free(profile->event);
	free(profile->model);
	free(profile->path);
	free(profile);
}
