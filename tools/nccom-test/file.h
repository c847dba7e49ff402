/* SPDX-License-Identifier: MIT */
/*
 * JSON files of the command line.
 */
#ifndef NCCOM_FILE_H
#define NCCOM_FILE_H

#include <stddef.h>

#include <json-c/json.h>

/* Bytes of a message: one line without a newline. */
#define FILE_WHY	256

/* One value and nothing behind it. The caller puts it; NULL and @why. */
struct json_object *file_read(const char *path, char why[FILE_WHY]);

/*
 * The list of @things under @key of @file: what is there is a list of such lists, one for each
 * operation, and there is one operation. It belongs to @file. NULL and @why: it is none, or empty.
 */
struct json_object *file_list(struct json_object *file, const char *key, const char *things,
			      const char *path, char why[FILE_WHY]);

/* Fill @why. -1. */
int file_fail(char why[FILE_WHY], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif /* NCCOM_FILE_H */
