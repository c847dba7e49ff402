// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "input.h"

#define MAX_FILE	(16u << 20)

int file_fail(char why[FILE_WHY], const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why, FILE_WHY, format, arguments);
	va_end(arguments);
	return -1;
}

static struct json_object *parse_text(const char *text, size_t size, const char *path,
				      char why[FILE_WHY])
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *file;
	size_t end;

	if (!tokener) {
		file_fail(why, "out of memory");
		return NULL;
	}
	/* The end of the text counts: it may be the end of a number. */
	file = json_tokener_parse_ex(tokener, text, (int)size + 1);
	end = json_tokener_get_parse_end(tokener);
	if (!file) {
		file_fail(why, "%s: this is no JSON: %s", path,
			  json_tokener_error_desc(json_tokener_get_error(tokener)));
	} else if (end + strspn(text + end, " \t\r\n") < size) {
		file_fail(why, "%s: there is something behind the JSON, at byte %zu", path, end);
		json_object_put(file);
		file = NULL;
	}
	json_tokener_free(tokener);
	return file;
}

struct json_object *file_read(const char *path, char why[FILE_WHY])
{
	struct json_object *file;
	size_t size;
	char *text;

	if (input_read(path, MAX_FILE, &text, &size)) {
		file_fail(why, "%s: %s", path, strerror(errno));
		return NULL;
	}
	file = parse_text(text, size, path, why);
	free(text);
	return file;
}

static bool is_full_list(struct json_object *list)
{
	return json_object_is_type(list, json_type_array) && json_object_array_length(list);
}

struct json_object *file_list(struct json_object *file, const char *key, const char *things,
			      const char *path, char why[FILE_WHY])
{
	struct json_object *lists;

	if (!json_object_object_get_ex(file, key, &lists) || !is_full_list(lists)) {
		file_fail(why, "%s: \"%s\" is not there, or no list of lists of %s", path, key,
			  things);
		return NULL;
	}
	if (json_object_array_length(lists) > 1) {
		file_fail(why, "%s: \"%s\" has %zu lists of %s, and there is one operation", path,
			  key, json_object_array_length(lists), things);
		return NULL;
	}
	lists = json_object_array_get_idx(lists, 0);
	if (!is_full_list(lists)) {
		file_fail(why, "%s: the list in \"%s\" is no list of %s", path, key, things);
		return NULL;
	}
	return lists;
}
