/* SPDX-License-Identifier: MIT */
/*
 * Programs by chance for the scheduler: tiles with lifetimes in SBUF and PSUM, more than fit at a
 * time, loads, stores, products, and instructions that may go to any engine. The variables are
 * those of sync_program.h.
 */
#ifndef TILE_PROGRAM_H
#define TILE_PROGRAM_H

#include "neuron_builder.h"

/* The same program for the same @seed and @generation, 2 to 4; NULL: no memory. */
struct nb_program *tile_program(uint64_t seed, unsigned int generation);

#endif /* TILE_PROGRAM_H */
