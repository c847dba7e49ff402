/* SPDX-License-Identifier: MIT */
/*
 * What the number tests share: operands and the comparison of bits.
 */
#ifndef NUM_UTIL_H
#define NUM_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "num/trn_num.h"

#define NUM_NAN_BITS	0x7fc00000u
#define NUM_SAME	((size_t)-1)
#define NUM_COUNT(a)	(sizeof(a) / sizeof((a)[0]))

/* Numbers at which rules change, both signs. */
extern const uint32_t num_edges[];
extern const size_t num_nr_edges;

/* The host paths that trn_num_force_path() knows, the reference first. */
extern const char *const num_paths[];
extern const size_t num_nr_paths;

/*
 * Do @work on the host paths that this host has, the newest one first, which the chip takes by
 * itself. Not @all: only on that one. Then the chip chooses again.
 */
void num_on_paths(bool all, void (*work)(const char *path));

static inline float num_float(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

static inline uint32_t num_bits(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

/* The bits a result has to have when @f is right but for a NaN's payload. */
static inline uint32_t num_canon_bits(float f)
{
	return f == f ? num_bits(f) : NUM_NAN_BITS;
}

/* xorshift64*; @state is not 0. */
uint32_t num_random(uint64_t *state);
/* Any bit pattern: mostly of very different sizes. */
float num_random_bits(uint64_t *state);
/* About -2 to 2, so that sums cancel and round. */
float num_random_near_one(uint64_t *state);
/* Now and then an edge, else near one. */
float num_random_mixed(uint64_t *state);

/*
 * What an exact operator of the ALU gives: worked out in 64 bits, where nothing
 * overflows. Fails the test for any other operator.
 */
uint32_t num_exact(unsigned int op, struct trn_signs is_signed, uint32_t x, uint32_t y);

/* Index of the first element whose bits differ, or NUM_SAME. */
size_t num_first_difference(const float *a, const float *b, size_t n);

/* FNV-1a over the bits of @n elements, continuing from @hash (0: start). */
uint64_t num_hash(uint64_t hash, const float *a, size_t n);

#endif /* NUM_UTIL_H */
