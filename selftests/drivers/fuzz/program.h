/* SPDX-License-Identifier: MIT */
/*
 * Programs of the fuzzer: calls with values, made by chance, changed by chance, written and
 * read as text. Nothing here calls the driver.
 */
#ifndef FUZZ_PROGRAM_H
#define FUZZ_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "grammar.h"

#define FUZZ_MAX_CALLS		24
#define FUZZ_MAX_THREADS	3

/* User memory that pointers point to, at an address that is the same in every process. */
#define FUZZ_ARENA		0x200000000000ull
#define FUZZ_ARENA_READ_ONLY	(FUZZ_ARENA + 0x100000)
#define FUZZ_ARENA_NOTHING	(FUZZ_ARENA + 0x140000)	/* not mapped */
#define FUZZ_ARENA_SHARED	(FUZZ_ARENA + 0x180000)	/* a file, the second half behind its end */
#define FUZZ_ARENA_MAPS		(FUZZ_ARENA + 0x1c0000)	/* buffers that are kept mapped */
#define FUZZ_ARENA_END		(FUZZ_ARENA + 0x200000)

/**
 * struct fuzz_value - what a field gets
 * @v: a number; of a resource: which, in the order in which they came, modulo their number
 * @resource: enum fuzz_resource, 0: a plain number
 *
 * The values of a call are in one row, in the order of the fields. An array has three of
 * its own, enum fuzz_array_part, then those of its elements.
 */
struct fuzz_value {
	uint64_t v;
	uint8_t resource;
};

enum fuzz_array_part {
	FUZZ_ARRAY_MODE,	/* enum fuzz_array_mode */
	FUZZ_ARRAY_STRIDE,	/* 0: the size of the element */
	FUZZ_ARRAY_COUNT,	/* elements that follow */
	FUZZ_ARRAY_PARTS
};

enum fuzz_array_mode {
	FUZZ_ARRAY_PLAIN,
	FUZZ_ARRAY_HUGE,	/* says that it has more elements than any array may have */
	FUZZ_ARRAY_NOWHERE,	/* at an address that is not mapped */
	FUZZ_ARRAY_CUT,		/* its end is not mapped */
	FUZZ_NR_ARRAY_MODES
};

/**
 * struct fuzz_values - a row of values
 * @value: allocated
 * @count: values
 * @room: of @value
 */
struct fuzz_values {
	struct fuzz_value *value;
	uint32_t count;
	uint32_t room;
};

/**
 * struct fuzz_call - a call
 * @id: index in fuzz_calls
 * @size: bytes of the struct as the call says; 0: those of the interface
 * @fail: this allocation of the call fails; 0: none
 * @file: which open file
 * @values: of the fields
 */
struct fuzz_call {
	uint8_t id;
	uint16_t size;
	uint8_t fail;
	uint8_t file;
	struct fuzz_values values;
};

/**
 * struct fuzz_program - calls, one after the other
 * @threads: how many threads make all of them at once, sharing what they get
 * @count: of @call
 */
struct fuzz_program {
	uint32_t threads;
	uint32_t count;
	struct fuzz_call call[FUZZ_MAX_CALLS];
};

/* Chance: the same seed gives the same numbers. */
struct fuzz_chance {
	uint64_t state;
};

uint64_t fuzz_random(struct fuzz_chance *chance);
/* 0 to @sides - 1. */
uint64_t fuzz_dice(struct fuzz_chance *chance, uint64_t sides);

void fuzz_program_free(struct fuzz_program *program);
void fuzz_program_copy(struct fuzz_program *to, const struct fuzz_program *from);
bool fuzz_program_equal(const struct fuzz_program *a, const struct fuzz_program *b);
/* Leave only the first @count calls. */
void fuzz_program_cut(struct fuzz_program *program, uint32_t count);

/* A new program; @program is empty before. */
void fuzz_generate(struct fuzz_program *program, struct fuzz_chance *chance);
/* One call more at the end, of the kind @id. */
void fuzz_generate_call(struct fuzz_program *program, unsigned int id, struct fuzz_chance *chance);
/* Change something; @other: a program to take calls from. */
void fuzz_mutate(struct fuzz_program *program, const struct fuzz_program *other,
		 struct fuzz_chance *chance);

void fuzz_values_add(struct fuzz_values *values, uint64_t v, uint8_t resource);

/* text.c */

/* The text of a program: a line for each call. Ends with an empty line. */
void fuzz_write(FILE *to, const struct fuzz_program *program);
/*
 * Read the next program; lines that begin with '#' are comments. 1: @program has been read;
 * 0: there is none; -1: the text is wrong, and why is in @error.
 */
int fuzz_read(FILE *from, struct fuzz_program *program, char *error, size_t size);

#endif /* FUZZ_PROGRAM_H */
