/* SPDX-License-Identifier: MIT */
/* Whole files as programs read them. */
#ifndef TOOLS_INPUT_H
#define TOOLS_INPUT_H

#include <stddef.h>

/*
 * All of @path, or of standard input if that is "-". On success *@data is to be freed and has a
 * zero byte behind its @size. Returns 0, or -1 with errno set: EFBIG beyond @limit bytes.
 */
int input_read(const char *path, size_t limit, char **data, size_t *size);

/* The last part of @path without its suffix, to be freed; NULL: out of memory. */
char *input_base_name(const char *path);

#endif /* TOOLS_INPUT_H */
