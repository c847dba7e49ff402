/* SPDX-License-Identifier: MIT */
/*
 * Words of commands: engines, places in the program, memory, types of numbers.
 */
#ifndef NEURON_DEBUG_PLACE_H
#define NEURON_DEBUG_PLACE_H

#include "target.h"

/**
 * struct memory - bytes that a command names
 * @addr: of the first row: of the chip, or of the program's windows with @window
 * @window: see @addr
 * @graph: whose windows
 * @home: of the chip, of the first row, when the program has ended; 0: not known
 * @rows: partitions of SBUF or PSUM, else 1
 * @first: the first partition
 * @pitch: bytes from one to the next
 * @left: bytes from @addr to the end of what it is in; of each row
 * @dtype: of the numbers there, as far as the NEFF says so; else fp32
 */
struct memory {
	uint64_t addr;
	bool window;
	unsigned int graph;
	uint64_t home;
	unsigned int rows;
	unsigned int first;
	uint64_t pitch;
	uint64_t left;
	enum neuron_dtype dtype;
};

/*
 * All of these return 0, or -1 with @why. @text is what the user wrote, without blanks around it.
 */

/* "vector", "vector@1": of the second core of a pair. */
int place_engine(const struct target *target, const char *text, struct where *where,
		 char why[TARGET_WHY]);
/*
 * "vector:12", "12" of the selected engine, "softmax.s:31": all that begins at this line, or at
 * the next one that has instructions. *@code is malloc()ed.
 */
int place_code(const struct target *target, const char *text, struct code **code, size_t *nr,
	       char why[TARGET_WHY]);
/*
 * "sbuf[0:4, 256]", "psum[3]", "NAME", "NAME[64]" of a variable, "0x..." of the chip; "@1" behind
 * sbuf, psum or a name: on the second core.
 */
int place_memory(const struct target *target, const char *text, struct memory *memory,
		 char why[TARGET_WHY]);
/* From its beginning on. */
int place_variable(const struct target *target, unsigned int graph, const char *name,
		   struct memory *memory, char why[TARGET_WHY]);
int place_dtype(const char *text, enum neuron_dtype *dtype, char why[TARGET_WHY]);
int place_number(const char *text, int64_t min, int64_t max, int64_t *number,
		 char why[TARGET_WHY]);

/* Copy bytes of row @row, from @offset on. */
int place_read(const struct target *target, const struct memory *memory, unsigned int row,
	       uint64_t offset, void *bytes, size_t len, char why[TARGET_WHY]);
int place_write(const struct target *target, const struct memory *memory, unsigned int row,
		uint64_t offset, const void *bytes, size_t len, char why[TARGET_WHY]);
/* The chip's address of the first byte, and how many lie side by side from there. */
int place_address(const struct target *target, const struct memory *memory, uint64_t *addr,
		  uint64_t *len, char why[TARGET_WHY]);

/* A number as an element of the type. */
int place_encode(enum neuron_dtype dtype, const char *text, uint8_t bytes[8],
		 char why[TARGET_WHY]);

#endif /* NEURON_DEBUG_PLACE_H */
