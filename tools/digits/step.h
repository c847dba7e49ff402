/* SPDX-License-Identifier: MIT */
/*
 * A step of data-parallel training of the digits network: how its numbers lie in memory, for the
 * chips (step.c) and for the host (descent.c).
 *
 * Everything is fp32. The parameters are one line of numbers, and so are a gradient, the running
 * means of Adam and what the ranks add up. The line has room for STEP_VALUES, of which the last
 * few are zeros, so that it is a matrix of STEP_ROWS rows for a kernel.
 */
#ifndef DIGITS_STEP_H
#define DIGITS_STEP_H

#include "mlp.h"

struct nb_program;

/* Parameters, in their order: w1 [64, 128], b1 [128], w2 [128, 10], b2 [10]. */
#define STEP_W1		0
#define STEP_B1		(STEP_W1 + MLP_INPUTS * MLP_HIDDEN)
#define STEP_W2		(STEP_B1 + MLP_HIDDEN)
#define STEP_B2		(STEP_W2 + MLP_HIDDEN * MLP_OUTPUTS)
#define STEP_PARAMETERS	(STEP_B2 + MLP_OUTPUTS)
#define STEP_ROWS	128
#define STEP_COLS	((STEP_PARAMETERS + STEP_ROWS - 1) / STEP_ROWS)
#define STEP_VALUES	(STEP_ROWS * STEP_COLS)

/* What the ranks add up: a gradient, and behind it the rank's part of the loss. */
#define STEP_LOSS	STEP_VALUES
#define STEP_SUM	(STEP_LOSS + 1)

/* The state: parameters, both means, and the two powers of Adam. */
#define STEP_M		STEP_VALUES
#define STEP_V		(2 * STEP_VALUES)
#define STEP_POWER	(3 * STEP_VALUES)
#define STEP_STATE	(STEP_POWER + 2)

/* Of Adam. */
#define STEP_RATE	0.005f
#define STEP_BETA1	0.9f
#define STEP_BETA2	0.999f
#define STEP_EPSILON	1e-8f

/*
 * A step of each of @ranks ranks, with @images images of its own. Inputs: "state" [STEP_STATE]; "x"
 * [64, images], the images as columns; "labels" [images, 10], a 1.0 at the label of each image and
 * zeros elsewhere. Outputs: "next", the state behind the step, and "loss" [1], the mean loss of the
 * images of all ranks before it. NULL: out of memory.
 */
struct nb_program *digits_step_program(unsigned int ranks, unsigned int images);

/*
 * How good a state is for @images images. Inputs as above; output: "score" [2], the mean loss and
 * the number of images whose label has the largest logit.
 */
struct nb_program *digits_score_program(unsigned int images);

#endif /* DIGITS_STEP_H */
