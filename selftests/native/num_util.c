// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "neuron/isa.h"
#include "num_util.h"

#define BOTH(bits)	(bits), (bits) | 0x80000000u

const uint32_t num_edges[] = {
	BOTH(0x00000000u),	/* zero */
	BOTH(0x00000001u),	/* smallest denormal */
	BOTH(0x00400000u),
	BOTH(0x007fffffu),	/* largest denormal */
	BOTH(0x00800000u),	/* smallest normal */
	BOTH(0x00800001u),
	BOTH(0x1fffffffu),	/* about 2^-64: squares are denormal */
	BOTH(0x33800000u),	/* 2^-24 */
	BOTH(0x3effffffu),
	BOTH(0x3f000000u),	/* 0.5 */
	BOTH(0x3f7fffffu),
	BOTH(0x3f800000u),	/* 1 */
	BOTH(0x3f800001u),
	BOTH(0x3fc00000u),	/* 1.5 */
	BOTH(0x40200000u),	/* 2.5 */
	BOTH(0x42fe0000u),	/* 127 */
	BOTH(0x437f8000u),	/* 255.5 */
	BOTH(0x477fefffu),	/* just below fp16 infinity */
	BOTH(0x477ff000u),
	BOTH(0x4b000001u),	/* 2^23 + 1 */
	BOTH(0x4effffffu),	/* below 2^31 */
	BOTH(0x4f000000u),
	BOTH(0x4f7fffffu),	/* below 2^32 */
	BOTH(0x4f800000u),
	BOTH(0x5f800000u),	/* 2^64 */
	BOTH(0x7f7fffffu),	/* largest */
	BOTH(0x7f800000u),	/* infinity */
	BOTH(0x7f800001u),	/* signalling NaN */
	BOTH(0x7fc00000u),
	BOTH(0x7fffffffu),
};

const size_t num_nr_edges = NUM_COUNT(num_edges);

const char *const num_paths[] = { "scalar", "avx2", "avx512" };
const size_t num_nr_paths = NUM_COUNT(num_paths);

uint32_t num_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return (x * 0x2545f4914f6cdd1dull) >> 32;
}

float num_random_bits(uint64_t *state)
{
	return num_float(num_random(state));
}

float num_random_near_one(uint64_t *state)
{
	return (float)(int32_t)num_random(state) * 0x1p-30f;
}

float num_random_mixed(uint64_t *state)
{
	if (num_random(state) % 16)
		return num_random_near_one(state);
	return num_float(num_edges[num_random(state) % num_nr_edges]);
}

size_t num_first_difference(const float *a, const float *b, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (num_bits(a[i]) != num_bits(b[i]))
			return i;
	}
	return NUM_SAME;
}

uint64_t num_hash(uint64_t hash, const float *a, size_t n)
{
	size_t i;
	int byte;

	if (!hash)
		hash = 0xcbf29ce484222325ull;
	for (i = 0; i < n; i++) {
		for (byte = 0; byte < 4; byte++) {
			hash ^= (num_bits(a[i]) >> (8 * byte)) & 0xff;
			hash *= 0x100000001b3ull;
		}
	}
	return hash;
}

uint32_t num_exact(unsigned int op, struct trn_signs is_signed, uint32_t x, uint32_t y)
{
	int64_t a = is_signed.a ? (int32_t)x : (int64_t)x;
	int64_t b = is_signed.b ? (int32_t)y : (int64_t)y;

	switch (op) {
	case NEURON_ALU_ADD:
		return (uint32_t)(a + b);
	case NEURON_ALU_SUBTRACT:
		return (uint32_t)(a - b);
	case NEURON_ALU_MULTIPLY:
		return (uint32_t)((uint64_t)a * (uint64_t)b);
	case NEURON_ALU_MAX:
		return (uint32_t)(a > b ? a : b);
	case NEURON_ALU_MIN:
		return (uint32_t)(a < b ? a : b);
	case NEURON_ALU_IS_EQ:
		return a == b;
	case NEURON_ALU_IS_NE:
		return a != b;
	case NEURON_ALU_IS_GE:
		return a >= b;
	case NEURON_ALU_IS_GT:
		return a > b;
	case NEURON_ALU_IS_LE:
		return a <= b;
	case NEURON_ALU_IS_LT:
		return a < b;
	}
	fail_msg("operator %u is not exact", op);
	return 0;
}

void num_on_paths(bool all, void (*work)(const char *path))
{
	size_t i;

	for (i = num_nr_paths; i--;) {
		if (!trn_num_force_path(num_paths[i]))
			continue;
		work(num_paths[i]);
		if (!all)
			break;
	}
	trn_num_force_path(NULL);
}
