/* SPDX-License-Identifier: MIT */
/*
 * Whole small files, and the one-line errors of everything that reads them.
 */
#ifndef DIGITS_FILE_H
#define DIGITS_FILE_H

#include <stddef.h>
#include <stdint.h>

/* One line without a newline: what is wrong, where, and what to do. */
struct digits_error {
	char text[320];
};

/* Formats @error and returns -@code, so that a caller can return it directly. */
int digits_error_set(struct digits_error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Reads all of @path. On success *@data is a malloc'ed block of *@length bytes that the
 * caller frees. Returns 0 or a negative errno (-EFBIG beyond @limit bytes) with @error set.
 */
int digits_file_read(const char *path, size_t limit, uint8_t **data, size_t *length,
		     struct digits_error *error);

/*
 * Writes @length bytes to @path through "@path.tmp" and a rename, so that an interrupted
 * run leaves no half-written file behind. An existing @path must be a regular file. Returns
 * 0 or a negative errno with @error set.
 */
int digits_file_write(const char *path, const uint8_t *data, size_t length,
		      struct digits_error *error);

#endif /* DIGITS_FILE_H */
