// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "exec/trn_random.h"

#include "exec/trn_seq.h"
#include "num/trn_num_random.h"

#define COUNTER_STEP	362437

/* GpSimd's states begin behind all words of the vector engine. */
#define GPSIMD_FIRST	4096

uint32_t trn_xorwow(uint32_t state[TRN_RNG_WORDS])
{
	uint32_t t = state[0] ^ (state[0] >> 2);
	uint32_t last = state[4];

	state[0] = state[1];
	state[1] = state[2];
	state[2] = state[3];
	state[3] = last;
	state[4] = (last ^ (last << 4)) ^ (t ^ (t << 1));
	state[5] += COUNTER_STEP;
	return state[4] + state[5];
}

/* All words differ, so no state consists of zeros. */
static void seed_words(uint32_t *word, uint32_t n, uint32_t first, uint32_t seed)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		word[i] = trn_mix32(trn_mix32(first + i + 1) ^ seed);
}

void trn_random_seed_vector(struct trn_lanes *lanes, uint32_t seed)
{
	seed_words(&lanes->vector_rng[0][0][0],
		   sizeof(lanes->vector_rng) / sizeof(uint32_t), 0, seed);
	lanes->vector_seeded = true;
}

void trn_random_seed_gpsimd(struct trn_lanes *lanes, uint32_t seed)
{
	seed_words(&lanes->gpsimd_rng[0][0][0],
		   sizeof(lanes->gpsimd_rng) / sizeof(uint32_t), GPSIMD_FIRST, seed);
	lanes->gpsimd_seeded = true;
}
