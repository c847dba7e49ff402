/* SPDX-License-Identifier: MIT */
/* What tests of programs with nb_auto() have in common. */
#ifndef NB_RIG_H
#define NB_RIG_H

#include <stddef.h>
#include <stdint.h>

#include "neuron_builder.h"

#define F32	NEURON_DTYPE_FP32
#define VECTOR	NEURON_ENGINE_VECTOR
#define SCALAR	NEURON_ENGINE_SCALAR
#define GPSIMD	NEURON_ENGINE_GPSIMD
#define SYNC	NEURON_ENGINE_SYNC

/* A program with nb_auto(). The two that expect something end it. */
struct nb_program *begin(void);

/* nb_sync() fails, or something before it has, with this text. */
void expect_error(struct nb_program *nb, const char *text);

/* As many waits, and the first of them is for what @area says. */
void expect_waits(struct nb_program *nb, size_t count, const char *area);

/* An instruction that writes 4 bytes of a variable. */
void store(struct nb_program *nb, enum neuron_engine engine, int var, uint64_t offset);

#endif /* NB_RIG_H */
