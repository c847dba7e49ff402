/* SPDX-License-Identifier: MIT */
/* Assembling in a test: sources in strings, complaints kept, files read. */
#ifndef AS_RIG_H
#define AS_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "as.h"

/* The first error of an assembly, and how many complaints there were. */
struct as_log {
	unsigned int errors;
	unsigned int warnings;
	unsigned int line;
	unsigned int column;
	char file[64];
	char text[512];
	char notes[2048];	/* FILE:LINE: TEXT, a line for each */
};

/* For struct as_options; @context: struct as_log. */
void as_keep(void *context, const struct as_diag *diag);
/* Assemble without looking at files; the result may be NULL. */
struct nb_program *as_try(const char *text, size_t size, struct as_log *log);
/* The same, which must succeed. */
struct nb_program *as_good(const char *text);
/* NEFF bytes of a source that must assemble; to be freed. */
void *as_pack(const char *text, size_t *size);

/* A whole file of folder getenv(@variable), zero terminated; to be freed. */
char *as_read_file(const char *variable, const char *name, size_t *size);

#endif /* AS_RIG_H */
