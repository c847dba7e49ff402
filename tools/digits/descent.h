/* SPDX-License-Identifier: MIT */
/*
 * What the chips must compute when they train the digits network (step.c), bit for bit, worked out
 * on the host. All arithmetic is fp32, each operation rounded by itself:
 *
 * - a product is a sum of fused multiply-adds, term by term from +0; 128 terms at a time, whose
 *   sums are added one after the other;
 * - softmax: e = exp(z - max), divided by way of 1 / (the sum of the e, class by class);
 * - exp and log are the numbers nearest to the exact results;
 * - the gradients of the ranks are added in the order that the collective's plan says.
 */
#ifndef DIGITS_DESCENT_H
#define DIGITS_DESCENT_H

#include "dataset.h"
#include "step.h"

/* Numbers of @count images: x [64, count], and labels [count, 10]. Read only. */
struct digits_batch {
	size_t count;
	const float *x;
	const float *labels;
};

/* Adds what @ranks ranks give, STEP_SUM numbers each, in the order of the chips. 0 or -1. */
typedef int digits_sum_fn(void *arg, unsigned int ranks, const float *const *part, float *sum);

/* The state before the first step, from the numbers by chance that digits_train() begins with. */
void digits_descent_begin(float state[STEP_STATE]);

/*
 * The images with numbers @image[0] to @image[count - 1], as the programs take them. @x and @labels
 * have room for 64 and 10 numbers each.
 */
void digits_batch_fill(const struct digits_set *set, const size_t *image, size_t count, float *x,
		       float *labels);

/* A rank's part, of @all images in all: its gradient, and its part of the loss. 0 or -ENOMEM. */
int digits_descent_gradient(const float state[STEP_STATE], const struct digits_batch *batch,
			    size_t all, float gradient[STEP_SUM]);
/* Adam with what the ranks have added up; in place. */
void digits_descent_update(float state[STEP_STATE], const float sum[STEP_SUM]);

/*
 * A step of @ranks ranks with their batches: the state behind it, and the mean loss before it.
 * @sum is not called for one rank. 0, -ENOMEM, or -EIO if @sum has failed.
 */
int digits_descent_step(float state[STEP_STATE], const struct digits_batch *batch,
			unsigned int ranks, digits_sum_fn *sum, void *arg, float *loss);

/* The mean loss, and how many labels have the largest logit. 0 or -ENOMEM. */
int digits_descent_score(const float state[STEP_STATE], const struct digits_batch *batch,
			 float score[2]);

#endif /* DIGITS_DESCENT_H */
