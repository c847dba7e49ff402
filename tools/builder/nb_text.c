// SPDX-License-Identifier: MIT
/* JSON as a text that grows. */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "nb_text.h"

#define NB_NUMBER_ROOM	20	/* a sign and 19 digits */

static char *nb_text_grow(struct nb_text *out, size_t size)
{
	size_t room = out->room ? out->room : 4096;
	char *grown;

	while (room < out->size + size)
		room *= 2;
	grown = out->failed ? NULL : realloc(out->text, room);
	if (!grown) {
		out->failed = true;
		return NULL;
	}
	out->text = grown;
	out->room = room;
	return out->text + out->size;
}

/* Room for @size more bytes, or NULL. */
static inline char *nb_text_room(struct nb_text *out, size_t size)
{
	if (out->room - out->size >= size && out->text)
		return out->text + out->size;
	return nb_text_grow(out, size);
}

void nb_text_put(struct nb_text *out, const char *text, size_t size)
{
	char *at = nb_text_room(out, size);

	if (!at)
		return;
	memcpy(at, text, size);
	out->size += size;
}

void nb_text_next(struct nb_text *out)
{
	char last = out->size ? out->text[out->size - 1] : '{';

	if (last != '{' && last != '[')
		nb_text_add(out, ",");
}

void nb_text_key(struct nb_text *out, const char *key, const char *rest)
{
	size_t size = strlen(key), more = strlen(rest);
	char *at;

	nb_text_next(out);
	at = nb_text_room(out, size + more + 3);
	if (!at)
		return;
	*at++ = '"';
	at = mempcpy(at, key, size);
	at = mempcpy(at, rest, more);
	*at++ = '"';
	*at++ = ':';
	out->size += size + more + 3;
}

void nb_text_number(struct nb_text *out, int64_t value)
{
	char *begin = nb_text_room(out, NB_NUMBER_ROOM), *at = begin;
	uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
	char digits[NB_NUMBER_ROOM];
	unsigned int n = 0;

	if (!at)
		return;
	if (value < 0)
		*at++ = '-';
	do
		digits[n++] = (char)('0' + rest % 10);
	while (rest /= 10);
	while (n)
		*at++ = digits[--n];
	out->size += (size_t)(at - begin);
}

void nb_text_double(struct nb_text *out, double value)
{
	json_object *number = json_object_new_double(value);

	if (number)
		nb_text_add(out, json_object_to_json_string(number));
	else
		out->failed = true;
	json_object_put(number);
}

void nb_text_name(struct nb_text *out, const char *name)
{
	char *begin = nb_text_room(out, 2 * strlen(name) + 2), *at = begin;

	if (!at)
		return;
	*at++ = '"';
	for (; *name; name++) {
		if (*name == '"' || *name == '\\')
			*at++ = '\\';
		*at++ = *name;
	}
	*at++ = '"';
	out->size += (size_t)(at - begin);
}

char *nb_text_end(struct nb_text *out)
{
	char *at = nb_text_room(out, 1);

	if (!out->failed && at) {
		*at = '\0';
		return out->text;
	}
	free(out->text);
	return NULL;
}
