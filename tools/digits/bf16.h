/* SPDX-License-Identifier: MIT */
/*
 * bfloat16 on the host: 1 sign, 8 exponent and 7 fraction bits, kept as uint16_t.
 */
#ifndef DIGITS_BF16_H
#define DIGITS_BF16_H

#include <stdint.h>
#include <string.h>

#define BF16_CANONICAL_NAN 0x7fc0u

/* Exact: every bf16 value is an fp32 value. */
static inline float bf16_to_float(uint16_t value)
{
	uint32_t bits = (uint32_t)value << 16;
	float out;

	memcpy(&out, &bits, sizeof(out));
	return out;
}

/*
 * Round to nearest, ties to even. Denormals are kept, a value past the largest finite
 * bf16 becomes infinity, and every NaN becomes BF16_CANONICAL_NAN.
 */
static inline uint16_t bf16_from_float(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	if ((bits & 0x7fffffffu) > 0x7f800000u)
		return BF16_CANONICAL_NAN;
	return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}

#endif /* DIGITS_BF16_H */
