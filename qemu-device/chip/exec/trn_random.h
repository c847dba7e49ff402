/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The random number generators of the vector engine and GpSimd: Marsaglia's xorwow,
 * states for each lane.
 */
#ifndef TRN_RANDOM_H
#define TRN_RANDOM_H

#include "exec/trn_seq.h"

/* The next 32 bits of a state: five words of shifts, then the counter. */
uint32_t trn_xorwow(uint32_t state[TRN_RNG_WORDS]);

/* The states that @seed gives: all of the vector engine, all of GpSimd. */
void trn_random_seed_vector(struct trn_lanes *lanes, uint32_t seed);
void trn_random_seed_gpsimd(struct trn_lanes *lanes, uint32_t seed);

#endif /* TRN_RANDOM_H */
