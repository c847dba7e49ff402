// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "values.h"

/* Elements, a prime number. */
#define PERIOD		65521u
/* Floating-point numbers are halved so often. fp8 has three bits of fraction then. */
#define HALVED		3

/**
 * struct values - inputs and results of a group
 * @operation, @type, @pairs, @ranks: of the group
 * @inputs: a period of each rank
 * @unwritten: a period of what nobody writes
 * @result: a period of the reduction of all; NULL: nothing is reduced, or sums are rounded
 */
struct values {
	const struct operation *operation;
	const struct type *type;
	const struct pairs *pairs;
	unsigned int ranks;
	uint8_t *inputs;
	uint8_t *unwritten;
	uint8_t *result;
};

/* --- Numbers --- */

/* A whole number of at most @type->exact, as an element. */
static void put(const struct type *type, uint8_t *element, int64_t number)
{
	const unsigned int bits = type->mantissa;
	uint32_t word = (uint32_t)number;
	int exponent;
	double half;

	if (type->exponent && number) {
		half = frexp(fabs((double)number), &exponent);
		/* 0.5 <= half < 1: the highest bit of the fraction is not stored. */
		word = (uint32_t)ldexp(2 * half - 1, (int)bits);
		word |= (uint32_t)(exponent - 1 - HALVED + (1 << (type->exponent - 1)) - 1) << bits;
		if (number < 0)
			word |= 1u << (bits + type->exponent);
	}
	memcpy(element, &word, type->size);
}

static double integer_of(const struct type *type, uint32_t word)
{
	if (type->is_signed && word >> (8 * type->size - 1))
		return (double)word - ldexp(1, 8 * (int)type->size);
	return word;
}

double values_number(const struct type *type, uint32_t word)
{
	const unsigned int bits = type->mantissa;
	int exponent, bias;
	uint32_t fraction;
	double sign;

	if (!type->exponent)
		return integer_of(type, word);
	exponent = (int)(word >> bits & ((1u << type->exponent) - 1));
	sign = word >> (bits + type->exponent) & 1 ? -1 : 1;
	fraction = word & ((1u << bits) - 1);
	bias = (1 << (type->exponent - 1)) - 1;
	if (exponent == (1 << type->exponent) - 1)
		return fraction ? (double)NAN : sign * (double)INFINITY;
	if (!exponent)
		return sign * ldexp(fraction, 1 - bias - (int)bits);
	return sign * ldexp(fraction + (1u << bits), exponent - bias - (int)bits);
}

void values_describe(const struct type *type, const void *element, char *text, size_t size)
{
	const int digits = 2 * (int)type->size;
	uint32_t word = 0;

	memcpy(&word, element, type->size);
	snprintf(text, size, type->exponent ? "%.9g (0x%0*x)" : "%.0f (0x%0*x)",
		 values_number(type, word), digits, word);
}

/* --- Patterns --- */

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* What rank @me adds to element @i of a sum. No more than @type->exact comes together. */
static int64_t summand(const struct values *values, unsigned int me, uint64_t i, uint64_t seed)
{
	const struct type *type = values->type;
	uint64_t word = mix(seed + ((uint64_t)me << 32) + i);
	uint32_t most = type->exact / values->ranks, every;
	int64_t number;

	if (most) {
		number = (int64_t)((word >> 1) % (most + 1));
	} else {
		every = (values->ranks + type->exact - 1) / type->exact;
		number = (me + (mix(seed ^ i) >> 1)) % every == 0;
	}
	return type->is_signed && word & 1 ? -number : number;
}

/* Of a minimum or maximum. */
static int64_t candidate(const struct values *values, unsigned int me, uint64_t i, uint64_t seed)
{
	const struct type *type = values->type;
	uint64_t word = mix(seed + ((uint64_t)me << 32) + i);
	int64_t number = (int64_t)((word >> 1) % (type->exact + 1));

	return type->is_signed && word & 1 ? -number : number;
}

static int64_t combine(const struct reduction *reduction, int64_t a, int64_t b)
{
	if (reduction->op == NRT_OP_ADD)
		return a + b;
	return (reduction->op == NRT_OP_MAX) == (a > b) ? a : b;
}

static uint8_t *element_of(const struct values *values, unsigned int me, uint64_t i)
{
	return values->inputs + ((uint64_t)me * PERIOD + i) * values->type->size;
}

static void fill_reduced(struct values *values, const struct reduction *reduction,
			 enum values_kind kind, uint64_t seed)
{
	const struct type *type = values->type;
	int64_t number, sum;
	unsigned int me;
	uint64_t i;

	for (i = 0; i < PERIOD; i++) {
		for (sum = 0, me = 0; me < values->ranks; me++) {
			if (kind == VALUES_ONES)
				number = type->exponent ? 1 << HALVED : 1;
			else if (reduction->op == NRT_OP_ADD)
				number = summand(values, me, i, seed);
			else
				number = candidate(values, me, i, seed);
			sum = me ? combine(reduction, sum, number) : number;
			put(type, element_of(values, me, i), number);
		}
		put(type, values->result + i * type->size, sum);
	}
}

/* Between 1/16 and 1, with any fraction and sign. */
static uint32_t fraction_of(const struct type *type, uint64_t word)
{
	uint32_t bias = (1u << (type->exponent - 1)) - 1;
	uint32_t fraction = (uint32_t)(word >> 8) & ((1u << type->mantissa) - 1);
	uint32_t sign = (uint32_t)(word & 1) << (type->mantissa + type->exponent);

	return sign | (bias - 1 - (uint32_t)(word >> 1 & 3)) << type->mantissa | fraction;
}

static void fill_rounded(struct values *values, uint64_t seed)
{
	const struct type *type = values->type;
	unsigned int me;
	uint32_t word;
	uint64_t i;

	for (me = 0; me < values->ranks; me++) {
		for (i = 0; i < PERIOD; i++) {
			word = fraction_of(type, mix(seed + ((uint64_t)me << 32) + i));
			memcpy(element_of(values, me, i), &word, type->size);
		}
	}
}

/* Bits are moved, whatever they mean. */
static void fill_moved(struct values *values, enum values_kind kind, uint64_t seed)
{
	const struct type *type = values->type;
	unsigned int me;
	uint64_t i, word;

	for (me = 0; me < values->ranks; me++) {
		for (i = 0; i < PERIOD; i++) {
			word = mix(seed + ((uint64_t)me << 32) + i);
			if (kind == VALUES_ONES)
				put(type, element_of(values, me, i),
				    type->exponent ? 1 << HALVED : 1);
			else
				memcpy(element_of(values, me, i), &word, type->size);
		}
	}
}

struct values *values_new(const struct operation *operation, const struct reduction *reduction,
			  const struct type *type, const struct pairs *pairs, unsigned int ranks,
			  enum values_kind kind, uint64_t seed)
{
	struct values *values = calloc(1, sizeof(*values));
	bool rounded = kind == VALUES_RANDOM && operation->reduces && type->exponent &&
		       reduction->op == NRT_OP_ADD && ranks > 1;

	if (!values)
		return NULL;
	values->operation = operation;
	values->type = type;
	values->pairs = pairs;
	values->ranks = ranks;
	values->inputs = malloc((size_t)ranks * PERIOD * type->size);
	values->unwritten = malloc((size_t)PERIOD * type->size);
	if (operation->reduces && !rounded)
		values->result = malloc((size_t)PERIOD * type->size);
	if (!values->inputs || !values->unwritten ||
	    (operation->reduces && !rounded && !values->result)) {
		values_free(values);
		return NULL;
	}
	memset(values->unwritten, VALUES_UNWRITTEN, (size_t)PERIOD * type->size);
	if (rounded)
		fill_rounded(values, mix(seed));
	else if (operation->reduces)
		fill_reduced(values, reduction, kind, mix(seed));
	else
		fill_moved(values, kind, mix(seed));
	return values;
}

void values_free(struct values *values)
{
	if (!values)
		return;
	free(values->inputs);
	free(values->unwritten);
	free(values->result);
	free(values);
}

bool values_ones_fit(const struct operation *operation, const struct reduction *reduction,
		     const struct type *type, unsigned int ranks)
{
	return !operation->reduces || reduction->op != NRT_OP_ADD || ranks <= type->exact;
}

/* --- Any element --- */

size_t values_chunk(const struct values *values)
{
	return (size_t)PERIOD * values->type->size;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

const uint8_t *values_input(const struct values *values, unsigned int me, uint64_t at,
			    uint64_t *nr)
{
	*nr = least(*nr, PERIOD - at % PERIOD);
	return element_of(values, me, at % PERIOD);
}

bool values_round(const struct values *values)
{
	return values->operation->reduces && !values->result;
}

/* Nobody sends to a rank that is the target of no pair. */
static const uint8_t *permuted_output(const struct values *values, unsigned int me, uint64_t at,
				      uint64_t *nr)
{
	int from = pairs_source(values->pairs, me);

	if (from >= 0)
		return values_input(values, (unsigned int)from, at, nr);
	*nr = least(*nr, PERIOD);
	return values->unwritten;
}

/* Bits that are moved: the input of a rank, from where they are. */
static const uint8_t *moved_output(const struct values *values, unsigned int me, uint64_t block,
				   uint64_t at, uint64_t *nr)
{
	unsigned int from = (unsigned int)(at / block);

	*nr = least(*nr, block - at % block);
	switch (values->operation->plan_op) {
	case NRT_PLAN_ALL_TO_ALL:
		return values_input(values, from, me * block + at % block, nr);
	case NRT_PLAN_PERMUTE:
		return permuted_output(values, me, at, nr);
	default:
		return values_input(values, from, at % block, nr);
	}
}

const uint8_t *values_output(const struct values *values, unsigned int me, uint64_t block,
			     uint64_t at, uint64_t *nr)
{
	if (!values->result)
		return moved_output(values, me, block, at, nr);
	if (!values->operation->in_blocks)
		at += me * block;
	*nr = least(*nr, PERIOD - at % PERIOD);
	return values->result + at % PERIOD * values->type->size;
}
