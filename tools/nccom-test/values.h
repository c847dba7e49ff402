/* SPDX-License-Identifier: MIT */
/*
 * What the ranks of a group begin with, and what they must end with.
 *
 * Numbers that are added are whole numbers, of floating-point types halved a few times, so small
 * that each sum of them is exact: the order of additions does not matter. If sums are to be rounded
 * golden.h knows the results.
 *
 * All values repeat after a prime number of elements. So no block of a collective has the values of
 * another one, and what is to come out of any size is known after one period.
 */
#ifndef NCCOM_VALUES_H
#define NCCOM_VALUES_H

#include "operation.h"
#include "pairs.h"

/* Of each byte of an output before an operation. */
#define VALUES_UNWRITTEN	0xa5

enum values_kind {
	VALUES_EXACT,	/* random, with exact sums */
	VALUES_RANDOM,	/* random; sums of floating-point numbers are rounded */
	VALUES_ONES,
};

struct values;

/* @pairs: of a permutation; they stay. NULL: out of memory. */
struct values *values_new(const struct operation *operation, const struct reduction *reduction,
			  const struct type *type, const struct pairs *pairs, unsigned int ranks,
			  enum values_kind kind, uint64_t seed);
void values_free(struct values *values);

/*
 * The bytes of the input of the rank at place @me of the group, from element @at on. *@nr: in: how
 * many elements are wanted; out: how many of them there are, at least one.
 */
const uint8_t *values_input(const struct values *values, unsigned int me, uint64_t at,
			    uint64_t *nr);

/* Are sums rounded? Then values_output() does not know them. */
bool values_round(const struct values *values);

/* The same of the output that it must have. @block: elements of a block. */
const uint8_t *values_output(const struct values *values, unsigned int me, uint64_t block,
			     uint64_t at, uint64_t *nr);

/* No more bytes than this at once. */
size_t values_chunk(const struct values *values);

/* Can the sum of @ranks ones be told? 16 is the largest exact number of fp8, for instance. */
bool values_ones_fit(const struct operation *operation, const struct reduction *reduction,
		     const struct type *type, unsigned int ranks);

/* What the bits of an element mean. */
double values_number(const struct type *type, uint32_t word);

/* An element as people read it, with its bits: "-3.5 (0xc060)". */
void values_describe(const struct type *type, const void *element, char *text, size_t size);

#endif /* NCCOM_VALUES_H */
