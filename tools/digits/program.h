/* SPDX-License-Identifier: MIT */
/*
 * The device programs of the digits job, made with the builder library.
 */
#ifndef DIGITS_PROGRAM_H
#define DIGITS_PROGRAM_H

#include <stdint.h>

#include "mlp.h"
#include "neuron_builder.h"

#define DIGITS_BATCH	1024	/* images of an execution */

/*
 * The classifier. Inputs: "x" bf16 [64][DIGITS_BATCH], the images transposed;
 * "labels" fp32 [DIGITS_BATCH][10], a 1.0 at the label of each image to count
 * and zeros elsewhere. Outputs: "logits" fp32 [DIGITS_BATCH][10] and "confusion"
 * fp32 [10][10], counts by [label][prediction]. The weights are constants.
 */
struct nb_program *digits_program(const struct mlp *model);

/* "total" fp32 [10][10] = the sum of "counts" fp32 [10][10] of all ranks, by a collective. */
struct nb_program *digits_allreduce(unsigned int ranks);

#endif /* DIGITS_PROGRAM_H */
