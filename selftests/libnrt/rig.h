/* SPDX-License-Identifier: MIT */
/*
 * Shared by the tests of the runtime: a loaded program with its tensors, and the lines that
 * the library logs.
 */
#ifndef SELFTESTS_LIBNRT_RIG_H
#define SELFTESTS_LIBNRT_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nrt/nrt.h>

#include "programs.h"

#define RIG_VALUES	(PROGRAM_ROWS * PROGRAM_COLUMNS)

/* Chips of this machine; 0 without a device or a driver. */
unsigned int rig_chips(void);

/* Are they chips of this process (NEURON_RT_BACKEND=embedded)? */
bool rig_embedded(void);

/* A loaded program with device tensors "x" and "y" in their sets. */
struct rig {
	nrt_model_t *model;
	nrt_tensor_t *x;
	nrt_tensor_t *y;
	nrt_tensor_set_t *inputs;
	nrt_tensor_set_t *outputs;
};

/* Load @program, which is freed, on core @vnc; @ranks 0: without peers. */
NRT_STATUS rig_load(struct rig *rig, struct program program, int vnc, uint32_t rank,
		    uint32_t ranks);
void rig_unload(struct rig *rig);

/* Write x, execute, read y. */
NRT_STATUS rig_run(struct rig *rig, const float *x, float *y);

/* @x: 0.5, 1.5, 2.5, ... from @first on. */
void rig_ramp(float *x, float first);

/*
 * Element @i of rank @rank in round @round, and the sum of @ranks ranks from @first on: small
 * whole numbers, whose sums are exact in any order.
 */
float rig_value(unsigned int rank, size_t i, unsigned int round);
float rig_sum(unsigned int first, unsigned int ranks, size_t i, unsigned int round);

/*
 * Catch what is written to standard error. rig_caught() ends that and returns the text,
 * which is valid until the next call; it must be one line for every call that failed.
 */
void rig_catch(void);
const char *rig_caught(void);

/* Does @text contain @word? */
bool rig_has(const char *text, const char *word);

/* Bytes in use in the HBM stack of core @vnc. */
size_t rig_memory(uint32_t vnc);

/*
 * Does that become @used? The driver gives memory back when the last job that could see it
 * is gone, which may be a moment after it is freed.
 */
bool rig_memory_becomes(uint32_t vnc, size_t used);

#endif /* SELFTESTS_LIBNRT_RIG_H */
