/* SPDX-License-Identifier: MIT */
/*
 * Trains the digits network with the same result bits on every host: only fp32 and fp64
 * + - * / in a fixed order, an exponential of our own and counter-based random numbers.
 * The sources must be built with -ffp-contract=off and without -ffast-math.
 */
#ifndef DIGITS_TRAINER_H
#define DIGITS_TRAINER_H

#include <stddef.h>

#include "dataset.h"
#include "mlp.h"

#define DIGITS_DEFAULT_EPOCHS	60

/* Measured while the epoch runs, on weights that change with every batch. */
struct digits_epoch {
	unsigned int epoch;	/* 1 .. epochs */
	unsigned int epochs;
	size_t correct;		/* images of the training part read correctly */
	size_t count;		/* images of the training part */
	double confidence;	/* mean probability given to the right class */
};

typedef void (*digits_epoch_fn)(const struct digits_epoch *epoch, void *arg);

/*
 * Trains on the training part of @set for @epochs epochs (at least 1) and rounds the weights
 * to bf16. Calls @progress after each epoch unless it is NULL. Returns 0, -EINVAL without
 * epochs or training images, or -ENOMEM, with @error set. Thread safe.
 */
int digits_train(const struct digits_set *set, unsigned int epochs, digits_epoch_fn progress,
		 void *arg, struct mlp *model, struct digits_error *error);

/* The weights that training begins with: w1 [64, 128] and w2 [128, 10], uniform by chance. */
void digits_first_weights(float *w1, float *w2);

/* Shuffles @order[0] to @order[count - 1], in each @epoch (from 1) in another way. */
void digits_shuffle(size_t *order, size_t count, unsigned int epoch);

#endif /* DIGITS_TRAINER_H */
