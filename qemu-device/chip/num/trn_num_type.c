// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The element types: what each is, and which NeuronCores have it.
 */
#include "num/trn_num.h"

enum kind {
	KIND_NONE,	/* not implemented */
	KIND_INT,
	KIND_FLOAT,
	KIND_WIDE,	/* 64-bit integer: copies only */
	KIND_PACKED,	/* four elements of an MX tile */
	KIND_SCALE,	/* of a group of an MX tile */
};

/**
 * struct type - an element type
 * @size: bytes
 * @kind: enum kind
 * @first: first generation of the NeuronCore that has it
 */
struct type {
	uint8_t size;
	uint8_t kind;
	uint8_t first;
};

/* FP32R is not here: its layout is not published. */
static const struct type types[NEURON_NR_DTYPES] = {
	[NEURON_DTYPE_INT8]		= { 1, KIND_INT, 2 },
	[NEURON_DTYPE_UINT8]		= { 1, KIND_INT, 2 },
	[NEURON_DTYPE_INT16]		= { 2, KIND_INT, 2 },
	[NEURON_DTYPE_UINT16]		= { 2, KIND_INT, 2 },
	[NEURON_DTYPE_INT32]		= { 4, KIND_INT, 2 },
	[NEURON_DTYPE_UINT32]		= { 4, KIND_INT, 2 },
	[NEURON_DTYPE_INT64]		= { 8, KIND_WIDE, 3 },
	[NEURON_DTYPE_UINT64]		= { 8, KIND_WIDE, 3 },
	[NEURON_DTYPE_FP32]		= { 4, KIND_FLOAT, 2 },
	[NEURON_DTYPE_TF32]		= { 4, KIND_FLOAT, 2 },
	[NEURON_DTYPE_BF16]		= { 2, KIND_FLOAT, 2 },
	[NEURON_DTYPE_FP16]		= { 2, KIND_FLOAT, 2 },
	[NEURON_DTYPE_FP8_E3]		= { 1, KIND_FLOAT, 2 },
	[NEURON_DTYPE_FP8_E4]		= { 1, KIND_FLOAT, 2 },
	[NEURON_DTYPE_FP8_E5]		= { 1, KIND_FLOAT, 2 },
	[NEURON_DTYPE_FP8_E4FN]		= { 1, KIND_FLOAT, 4 },
	[NEURON_DTYPE_FP8_E5_X4]	= { 4, KIND_PACKED, 4 },
	[NEURON_DTYPE_FP8_E4FN_X4]	= { 4, KIND_PACKED, 4 },
	[NEURON_DTYPE_FP4_E2_X4]	= { 2, KIND_PACKED, 4 },
	[NEURON_DTYPE_E8M0]		= { 1, KIND_SCALE, 4 },
};

static struct type type_of(unsigned int dtype)
{
	static const struct type none;

	return dtype < NEURON_NR_DTYPES ? types[dtype] : none;
}

unsigned int trn_dtype_size(unsigned int dtype)
{
	return type_of(dtype).size;
}

bool trn_dtype_is_float(unsigned int dtype)
{
	return type_of(dtype).kind == KIND_FLOAT;
}

bool trn_dtype_is_int(unsigned int dtype)
{
	return type_of(dtype).kind == KIND_INT;
}

bool trn_dtype_is_number(unsigned int dtype)
{
	return trn_dtype_is_float(dtype) || trn_dtype_is_int(dtype);
}

bool trn_dtype_is_packed(unsigned int dtype)
{
	return type_of(dtype).kind == KIND_PACKED;
}

bool trn_dtype_on(unsigned int dtype, unsigned int generation)
{
	struct type type = type_of(dtype);

	return type.kind != KIND_NONE && generation >= type.first;
}
