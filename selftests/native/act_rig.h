/* SPDX-License-Identifier: MIT */
/*
 * How the tests measure an activation function against an oracle.
 */
#ifndef ACT_RIG_H
#define ACT_RIG_H

#include <stdint.h>

#include "num_util.h"

/* struct act_measured - a function, what it should be and the documented bound */
struct act_measured {
	const char *name;
	unsigned int func;
	/* The true value, or a NaN; @x is finite. */
	long double (*oracle)(float x);
	double bound;	/* ulp; an error of 0.49 or more has to be seen unless 0 */
	uint64_t hash;	/* of the results at all samples, on any host */
};

/* An error in units of the last place of fp32 at @want; NaN fits NaN only. */
double act_ulps(float got, long double want);

/*
 * cmocka test: *state is a struct act_measured. All sizes of both signs, at
 * every 1021st bit pattern.
 */
void act_test_error(void **state);

/* struct act_root - the only root of a function, and its Taylor series there */
struct act_root {
	unsigned int func;
	long double high, low;		/* the root is their sum */
	long double term[5];		/* of powers 1 to 5 of the distance */
};

/*
 * cmocka test: *state is a struct act_root. The numbers beside the root, where
 * the true value is least and the oracles of act_test_error() cancel.
 */
void act_test_root(void **state);

/* func(x), with x as it is: a bias of -0 keeps -0. */
float act_one(unsigned int func, float x);

/* Fails unless func(x) has the bits of @want (NaN: the canonical ones). */
#define assert_act(func, x, want)					\
	assert_int_equal(num_bits(act_one(NEURON_ACT_##func, x)),	\
			 num_canon_bits(want))

/* func(-x) is -func(x), or func(x), to the bit, at @n random patterns. */
void act_check_odd(unsigned int func, unsigned int n);
void act_check_even(unsigned int func, unsigned int n);

#define ACT_ERROR_TEST(entry)						\
	{ .name = (entry).name, .test_func = act_test_error,		\
	  .initial_state = (void *)&(entry) }

#define ACT_ROOT_TEST(label, root)					\
	{ .name = "act_test_root " label, .test_func = act_test_root,	\
	  .initial_state = (void *)&(root) }

#endif /* ACT_RIG_H */
