// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * NaNs among elements, by their bits. Compiled for each path of the host.
 */
#include "num/trn_num_cut.h"
#include "num/trn_num_internal.h"

#define SHORT_ROW	16	/* elements */

typedef uint32_t trn_any_uint32 TRN_ANY;

/* The top bit of a difference is set where a magnitude is above infinity. */
TRN_INLINE bool nan_in_words(const trn_any_uint32 *at, size_t n)
{
	uint32_t found = 0;
	size_t i;

	for (; n >= TRN_BLOCK; n -= TRN_BLOCK, at += TRN_BLOCK)
		for (i = 0; i < TRN_BLOCK; i++)
			found |= 0x7f800000 - (at[i] & 0x7fffffff);
	for (i = 0; i < n; i++)
		found |= 0x7f800000 - (at[i] & 0x7fffffff);
	return found >> 31;
}

TRN_INLINE bool nan_in_halves(const trn_any_uint16 *at, size_t n, uint16_t infinity)
{
	uint16_t found = 0;
	size_t i;

	for (; n >= TRN_BLOCK; n -= TRN_BLOCK, at += TRN_BLOCK)
		for (i = 0; i < TRN_BLOCK; i++)
			found |= infinity - (at[i] & 0x7fff);
	for (i = 0; i < n; i++)
		found |= infinity - (at[i] & 0x7fff);
	return found >> 15;
}

/* Of a type of two bytes. */
TRN_INLINE uint16_t infinity_of(unsigned int dtype)
{
	return dtype == NEURON_DTYPE_BF16 ? 0x7f80 : 0x7c00;
}

#define DEFINE_PATH(path, target)					\
target bool trn_has_nan_##path(unsigned int dtype, const void *src, size_t n) \
{									\
	if (dtype == NEURON_DTYPE_FP32)					\
		return nan_in_words(src, n);				\
	return nan_in_halves(src, n, infinity_of(dtype));		\
}

DEFINE_PATH(scalar, TRN_TARGET_BASE)
#ifdef TRN_NUM_X86
DEFINE_PATH(avx2, TRN_TARGET_AVX2)
DEFINE_PATH(avx512, TRN_TARGET_AVX512)
#endif

bool trn_bits_tell_nan(unsigned int dtype)
{
	return dtype == NEURON_DTYPE_FP32 || dtype == NEURON_DTYPE_BF16 ||
	       dtype == NEURON_DTYPE_FP16;
}

bool trn_has_nan(unsigned int dtype, const void *src, size_t n)
{
	return trn_num_path()->has_nan(dtype, src, n);
}

/* Of short rows a call for each would take longer than to look at its elements. */
bool trn_rows_have_nan(unsigned int dtype, const void *src, size_t stride, unsigned int rows,
		       size_t n)
{
	const struct trn_num_path *path = trn_num_path();
	const uint8_t *row = src;
	unsigned int i;
	bool found = false;

	for (i = 0; i < rows && !found; i++, row += stride) {
		if (n > SHORT_ROW)
			found = path->has_nan(dtype, row, n);
		else if (dtype == NEURON_DTYPE_FP32)
			found = nan_in_words((const trn_any_uint32 *)row, n);
		else
			found = nan_in_halves((const trn_any_uint16 *)row, n, infinity_of(dtype));
	}
	return found;
}
