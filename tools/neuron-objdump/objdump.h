/* SPDX-License-Identifier: MIT */
/* Inside of neuron-objdump. */
#ifndef OBJDUMP_H
#define OBJDUMP_H

#include <stdio.h>

#include "as.h"

/* headers.c: what the NEFF consists of. Returns 0, or -1 with one line in @error. */
int put_headers(const void *neff, size_t size, FILE *out, char error[AS_ERROR_MAX]);

struct lines;

/* lines.c: lines of sources, which are looked for in folders; NULL: out of memory. */
struct lines *lines_new(void);
void lines_free(struct lines *lines);
/* Look in @folder as well, which must stay. Returns 0, or -1: out of memory. */
int lines_add_folder(struct lines *lines, const char *folder);
/* For struct as_dump; @context: struct lines. */
const char *lines_get(void *context, const char *source, unsigned int line, size_t *length);

#endif /* OBJDUMP_H */
