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
 * @file: of a source, or of a file that it includes
 * @line, @column: from 1
 * @warning: assembly goes on and may succeed
 * @note: belongs to the complaint before: what brought its line into the program
 * @text: one line without a newline; valid during the call
 */
struct as_diag {
	const char *file;
	unsigned int line;
	unsigned int column;
	bool warning;
	bool note;
	const char *text;
};

/**
 * struct as_source - a text
 * @file: its name, for messages and as the place where .file and .include look
 * @text, @size: its lines
 */
struct as_source {
	const char *file;
	const char *text;
	size_t size;
};

/**
 * struct as_options - how to assemble
 * @file: the name of the source that as_assemble() is given; see struct as_source
 * @name: of the program when it has no .program
 * @lnc: physical cores of the logical core, 1 or 2; 0: what the source says
 * @generation: of the NeuronCores that the program is for, 2 to 4: what they refuse is an error;
 *	0: any, and what even the newest refuses is a warning
 * @read_files: .file and .include may read files of the host
 * @max_statements: executed lines, repetitions and expansions counted; 0: a generous default
 * @report: gets each complaint; may be NULL
 * @context: handed to @report
 */
struct as_options {
	const char *file;
	const char *name;
	unsigned int lnc;
	unsigned int generation;
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

/* The same of several sources, as if their lines stood in one behind the other. */
struct nb_program *as_assemble_sources(const struct as_source *sources, size_t count,
				       const struct as_options *options);

#define AS_ERROR_MAX	768
/* Assembly ends with so many. */
#define AS_MAX_ERRORS	20

/* Parts of a program; engines follow by their numbers. */
enum as_section {
	AS_SECTION_VARIABLES,
	AS_SECTION_QUEUES,
	AS_SECTION_SEMAPHORES,
	AS_SECTION_ENGINE,
	AS_NR_SECTIONS = AS_SECTION_ENGINE + NEURON_NR_ENGINES
};

/* "variables", "vector", ... */
const char *as_section_name(enum as_section section);

/**
 * struct as_dump - what of a NEFF is written
 * @cores: by number, bits; 0: all
 * @sections: enum as_section, bits; 0: all
 * @indexes: a comment before each instruction has its index in the stream
 * @bytes: and its bytes
 * @places: a comment has the line that the instructions behind it are from
 * @line: the text of a line of a source, without a newline, or NULL: it is not known; may be NULL
 * @context: handed to @line
 */
struct as_dump {
	unsigned int cores;
	unsigned int sections;
	bool indexes;
	bool bytes;
	bool places;
	const char *(*line)(void *context, const char *source, unsigned int line, size_t *length);
	void *context;
};

/*
 * The source of a NEFF, to be freed, or NULL with one line in @error. With all cores and
 * sections what the assembler or the builder library made assembles to the same bytes again.
 * Without @dump there are no comments.
 */
char *as_disassemble(const void *neff, size_t size, const struct as_dump *dump,
		     char error[AS_ERROR_MAX]);

#endif /* NEURON_AS_H */
