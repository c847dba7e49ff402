/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Random bits of stochastic rounding: a function of a key and an element's
 * index, so that neither order nor threads matter.
 */
#ifndef TRN_NUM_RANDOM_H
#define TRN_NUM_RANDOM_H

#include "num/trn_num_internal.h"

/* A bijection of 32 bits: the finaliser of MurmurHash3. */
TRN_INLINE uint32_t trn_mix32(uint32_t x)
{
	x ^= x >> 16;
	x *= 0x85ebca6bu;
	x ^= x >> 13;
	x *= 0xc2b2ae35u;
	return x ^ (x >> 16);
}

/* For one key all indices give different words. */
TRN_INLINE uint32_t trn_sr_random(uint64_t key, uint32_t index)
{
	return trn_mix32(trn_mix32(index ^ (uint32_t)key) ^ (uint32_t)(key >> 32));
}

#endif /* TRN_NUM_RANDOM_H */
