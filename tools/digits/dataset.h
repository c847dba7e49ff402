/* SPDX-License-Identifier: MIT */
/*
 * The handwritten digits: 8x8 images of grey levels 0..16 with a label 0..9.
 * data/README has the source and the file format.
 */
#ifndef DIGITS_DATASET_H
#define DIGITS_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "file.h"

#define DIGITS_PIXELS		64
#define DIGITS_CLASSES		10
#define DIGITS_PIXEL_MAX	16

/* An image is held out when its index modulo STRIDE is PHASE: 359 of 1,797. */
#define DIGITS_HELD_OUT_STRIDE	5
#define DIGITS_HELD_OUT_PHASE	4

#define DIGITS_HEADER_BYTES	16
#define DIGITS_RECORD_BYTES	(1 + DIGITS_PIXELS)
#define DIGITS_MAX_IMAGES	65536

/* Read-only after loading, so any number of threads may use it. */
struct digits_set {
	size_t count;
	uint8_t *labels;			/* [count], 0..9 */
	uint8_t (*pixels)[DIGITS_PIXELS];	/* [count], 0..16, row by row */
};

/*
 * Loads and checks a data file. On success the caller owns @set and ends it with
 * digits_set_free(). Returns 0 or a negative errno (-EINVAL for a file that is not a
 * complete, valid data set) with @error set and @set empty.
 */
int digits_set_load(struct digits_set *set, const char *path, struct digits_error *error);

/* The same on @length bytes in memory; @name stands for them in errors. */
int digits_set_parse(struct digits_set *set, const uint8_t *data, size_t length,
		     const char *name, struct digits_error *error);

/* Also accepts an empty set. */
void digits_set_free(struct digits_set *set);

/* The documented split: false for the training part, true for the held-out part. */
static inline bool digits_held_out(size_t index)
{
	return index % DIGITS_HELD_OUT_STRIDE == DIGITS_HELD_OUT_PHASE;
}

/* Number of held-out images among the first @count. */
static inline size_t digits_held_out_count(size_t count)
{
	return (count + DIGITS_HELD_OUT_STRIDE - 1 - DIGITS_HELD_OUT_PHASE) /
	       DIGITS_HELD_OUT_STRIDE;
}

/*
 * A pixel as the network sees it: p/16, in 0..1. Exact in fp32 and in bf16, since 0..16
 * needs at most five of the eight significant bits.
 */
static inline float digits_pixel_value(uint8_t pixel)
{
	return (float)pixel / (float)DIGITS_PIXEL_MAX;
}

/* Image @index as the network's bf16 input. @index must be below @set->count. */
void digits_image_bf16(const struct digits_set *set, size_t index, uint16_t out[DIGITS_PIXELS]);

#endif /* DIGITS_DATASET_H */
