// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Fused multiply-add for hosts whose compiler baseline has none.
 */
#include "num/trn_num_internal.h"

float trn_fma(float a, float b, float c)
{
	return trn_canon(trn_fma_emulated(a, b, c));
}
