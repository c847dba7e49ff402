/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the vector engine's instructions share: operands with edges among
 * them, one operator on one element, the comparison of bits.
 */
#ifndef LANES_RIG_H
#define LANES_RIG_H

#include "exec_rig.h"

/* Mostly -2 to 2; now and then a zero, an infinity, a NaN, a denormal, a large one. */
float lanes_random(void);
void lanes_fill(void **state, unsigned int partitions, size_t offset, size_t n);

/* By the rules of numerics.rst. */
float lanes_alu(unsigned int op, float x, float y);

/* Fail unless @got has the bits of @want, which are the canonical ones of a NaN. */
void lanes_expect(float got, float want, unsigned int p, size_t i);

#endif /* LANES_RIG_H */
