/* SPDX-License-Identifier: MIT */
/* What the debugger prints about a stopped program. */
#ifndef NEURON_DEBUG_SHOW_H
#define NEURON_DEBUG_SHOW_H

#include <stdio.h>

#include "place.h"

/* "vector", or of a pair of cores "vector@1"; @name has room for 16 bytes. */
const char *show_engine_name(const struct target *target, struct where where, char name[16]);
/* An instruction in assembler syntax; false: there is none at this place. */
bool show_instruction(const struct target *target, struct code code, char *text, size_t size);
/* "runs", "waits for semaphore 3 >= 1, which is 0", ... */
void show_state(const struct target *target, struct where where,
		const struct trn_inspect_engine_state *state, FILE *out);

/* Why the program has stopped, and the next instruction of the engine. */
void show_stop(const struct target *target, FILE *out);
/* All engines: where they are, what they wait for and who should post it. */
void show_where(const struct target *target, FILE *out);
void show_registers(const struct target *target, FILE *out);
void show_semaphores(const struct target *target, FILE *out);
void show_breakpoints(const struct target *target, FILE *out);
void show_checkpoints(const struct target *target, FILE *out);
/* @count instructions around the next one of the selected engine. */
void show_code(const struct target *target, unsigned int count, FILE *out);
/* Lines of the source around the next instruction. */
void show_source(const struct target *target, FILE *out);
/*
 * @count numbers of each row. @hex: as bytes of the type's size.
 * 0, or -1 with @why.
 */
int show_memory(const struct target *target, const struct memory *memory, enum neuron_dtype dtype,
		bool hex, unsigned int count, FILE *out, char why[TARGET_WHY]);

#endif /* NEURON_DEBUG_SHOW_H */
