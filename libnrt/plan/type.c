// SPDX-License-Identifier: MIT
#include "neuron/isa.h"
#include "plan/type.h"

static const struct type {
	const char *name;
	unsigned int size;
	bool moves_only;
} types[NEURON_NR_DTYPES] = {
	[NEURON_DTYPE_UINT64] = { "uint64", 8, true },
	[NEURON_DTYPE_INT8] = { "int8", 1, false },
	[NEURON_DTYPE_UINT8] = { "uint8", 1, false },
	[NEURON_DTYPE_INT16] = { "int16", 2, false },
	[NEURON_DTYPE_UINT16] = { "uint16", 2, false },
	[NEURON_DTYPE_BF16] = { "bf16", 2, false },
	[NEURON_DTYPE_FP16] = { "fp16", 2, false },
	[NEURON_DTYPE_INT32] = { "int32", 4, false },
	[NEURON_DTYPE_UINT32] = { "uint32", 4, false },
	[NEURON_DTYPE_FP32] = { "fp32", 4, false },
	[NEURON_DTYPE_INT64] = { "int64", 8, true },
	[NEURON_DTYPE_FP8_E3] = { "fp8_e3", 1, false },
	[NEURON_DTYPE_FP8_E4] = { "fp8", 1, false },
	[NEURON_DTYPE_FP8_E5] = { "fp8_e5", 1, false },
	[NEURON_DTYPE_TF32] = { "tf32", 4, false },
	[NEURON_DTYPE_FP8_E4FN] = { "fp8_e4fn", 1, false },
	[NEURON_DTYPE_FP8_E5_X4] = { "fp8_e5_x4", 4, true },
	[NEURON_DTYPE_FP8_E4FN_X4] = { "fp8_e4fn_x4", 4, true },
	[NEURON_DTYPE_FP4_E2_X4] = { "fp4_e2_x4", 2, true },
	[NEURON_DTYPE_E8M0] = { "e8m0", 1, true },
};

unsigned int nrt_plan_type_size(unsigned int dtype)
{
	return dtype < NEURON_NR_DTYPES ? types[dtype].size : 0;
}

bool nrt_plan_type_reduces(unsigned int dtype)
{
	return nrt_plan_type_size(dtype) && !types[dtype].moves_only;
}

const char *nrt_plan_type_name(unsigned int dtype)
{
	return nrt_plan_type_size(dtype) ? types[dtype].name : "unknown";
}
