// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The greatest and the least of a vector, compiled for each path of the host.
 *
 * Unlike a sum, the result does not depend on the order: the numbers have a total order
 * with -0 below +0, and a NaN anywhere gives the canonical one. So lanes may look at
 * parts of the vector, and give the same bits as the chain.
 */
#include "num/trn_num_internal.h"

/* A vector of AVX-512. With more of them the last step costs more than they save. */
#define LANES		16
#define INFINITY_BITS	0x7f800000
#define MAGNITUDE	0x7fffffffu

/**
 * struct lanes - what each lane has seen
 * @first: what comes first in the order
 * @magnitude: the greatest magnitude as bits: above infinity's is NaN
 */
struct lanes {
	int32_t first[LANES];
	int32_t magnitude[LANES];
};

/*
 * Integers in the order of the numbers: the magnitude of those below zero is turned
 * round. The same operation goes back.
 */
TRN_INLINE uint32_t key_of(uint32_t bits)
{
	return bits ^ ((0u - (bits >> 31)) >> 1);
}

TRN_INLINE int32_t greater(int32_t x, int32_t y)
{
	return x > y ? x : y;
}

/* @flip: all ones for the opposite order, else 0 */
TRN_INLINE void look_at(struct lanes *lanes, const float *a, uint32_t flip)
{
	size_t i;

	for (i = 0; i < LANES; i++) {
		uint32_t bits = trn_float_bits(a[i]);
		int32_t key = (int32_t)(key_of(bits) ^ flip);

		lanes->first[i] = greater(lanes->first[i], key);
		lanes->magnitude[i] = greater(lanes->magnitude[i], (int32_t)(bits & MAGNITUDE));
	}
}

TRN_INLINE float result_of(const struct lanes *lanes, uint32_t flip)
{
	int32_t first = INT32_MIN, magnitude = 0;
	size_t i;

	for (i = 0; i < LANES; i++) {
		first = greater(first, lanes->first[i]);
		magnitude = greater(magnitude, lanes->magnitude[i]);
	}
	if (magnitude > INFINITY_BITS)
		return trn_bits_float(TRN_NAN_BITS);
	return trn_bits_float(key_of((uint32_t)first ^ flip));
}

/*
 * Looking twice at a number changes nothing: @start fills up the block at the end, and
 * n is less than a block there, so that one of it stays.
 */
TRN_INLINE float most_of(unsigned int op, float start, const float *a, size_t n)
{
	uint32_t flip = op == NEURON_ALU_MIN ? UINT32_MAX : 0;
	struct lanes lanes;
	float end[LANES];
	size_t i;

	for (i = 0; i < LANES; i++) {
		lanes.first[i] = INT32_MIN;
		lanes.magnitude[i] = 0;
		end[i] = start;
	}
	for (; n >= LANES; n -= LANES, a += LANES)
		look_at(&lanes, a, flip);
	memcpy(end, a, n * sizeof(*a));
	look_at(&lanes, end, flip);
	return result_of(&lanes, flip);
}

#define DEFINE_PATH(path, target)					\
target float trn_most_##path(unsigned int op, float start, const float *a, size_t n) \
{									\
	return most_of(op, start, a, n);				\
}

DEFINE_PATH(scalar, TRN_TARGET_BASE)
#ifdef TRN_NUM_X86
DEFINE_PATH(avx2, TRN_TARGET_AVX2)
DEFINE_PATH(avx512, TRN_TARGET_AVX512)
#endif
