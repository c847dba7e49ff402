/* SPDX-License-Identifier: MIT */
/*
 * The assembler and the disassembler as a library; Documentation/tools/neuron-as.rst
 * is the manual of the language. Nothing here has global state: any thread.
 */
#ifndef NEURON_AS_H
#define NEURON_AS_H

#include <stdbool.h>
#include <stddef.h>

#include "neuron_builder.h"

/**
 * struct as_diag - one complaint
 * @file: from struct as_options
 * @line, @column: from 1
 * @warning: assembly goes on and may succeed
 * @text: one line without a newline; valid during the call
 */
struct as_diag {
	const char *file;
	unsigned int line;
	unsigned int column;
	bool warning;
	const char *text;
};

/**
 * struct as_options - how to assemble
 * @file: the source's name, for messages and as the place where .file looks
 * @name: of the program when it has no .program
 * @lnc: physical cores of the logical core, 1 or 2; 0: what the source says
 * @read_files: .file may read files of the host
 * @max_statements: executed lines, repetitions counted; 0: a generous default
 * @report: gets each complaint; may be NULL
 * @context: handed to @report
 */
struct as_options {
	const char *file;
	const char *name;
	unsigned int lnc;
	bool read_files;
	unsigned long max_statements;
	void (*report)(void *context, const struct as_diag *diag);
	void *context;
};

/*
 * The program that @text describes, or NULL when anything was wrong with it; all
 * complaints have then been reported. To be freed with nb_free().
 */
struct nb_program *as_assemble(const char *text, size_t size, const struct as_options *options);

#define AS_ERROR_MAX	768

/*
 * The source of a NEFF, to be freed, or NULL with one line in @error. What the
 * assembler or the builder library made assembles to the same bytes again.
 */
char *as_disassemble(const void *neff, size_t size, char error[AS_ERROR_MAX]);

#endif /* NEURON_AS_H */
