// SPDX-License-Identifier: MIT
#include <stddef.h>
#include <string.h>

#include "operation.h"

static const struct operation operations[] = {
	{
		.name = "all_reduce", .alias = "allr", .plan_op = NRT_PLAN_ALL_REDUCE,
		.cc_op = NRT_CC_ALLREDUCE, .reduces = true, .in_sbuf = true, .same = true,
		.in_blocks = 1, .out_blocks = 1, .bus_factor = 2,
	}, {
		.name = "all_gather", .alias = "allg", .plan_op = NRT_PLAN_ALL_GATHER,
		.cc_op = NRT_CC_ALLGATHER, .in_sbuf = true, .same = true, .in_blocks = 1,
		.bus_factor = 1,
	}, {
		.name = "reduce_scatter", .alias = "redsct", .plan_op = NRT_PLAN_REDUCE_SCATTER,
		.cc_op = NRT_CC_REDUCESCATTER, .reduces = true, .in_sbuf = true, .out_blocks = 1,
		.bus_factor = 1,
	}, {
		.name = "alltoall", .plan_op = NRT_PLAN_ALL_TO_ALL, .in_neff = true,
		.bus_factor = 1,
	}, {
		.name = "permute", .plan_op = NRT_PLAN_PERMUTE, .in_neff = true, .in_blocks = 1,
		.out_blocks = 1,
	}, {
		.name = "sendrecv", .plan_op = NRT_PLAN_PERMUTE, .in_neff = true, .in_blocks = 1,
		.out_blocks = 1,
	}, {
		.name = "all_gatherv", .alias = "allgv", .plan_op = NRT_PLAN_ALL_GATHER_V,
		.in_neff = true, .varies = true, .in_blocks = 1, .bus_factor = 1,
	}, {
		.name = "alltoallv", .plan_op = NRT_PLAN_ALL_TO_ALL_V, .in_neff = true,
		.varies = true, .bus_factor = 1,
	}, {
		.name = "reduce_scatterv", .alias = "redsctv",
		.plan_op = NRT_PLAN_REDUCE_SCATTER_V, .in_neff = true, .reduces = true,
		.varies = true, .out_blocks = 1, .bus_factor = 1,
	},
};

static const struct reduction reductions[] = {
	{ "add", NRT_OP_ADD },
	{ "min", NRT_OP_MIN },
	{ "max", NRT_OP_MAX },
};

static const struct type types[] = {
	{ "uint8", NRT_DTYPE_UINT8, 1, 255, false, 0, 0 },
	{ "int8", NRT_DTYPE_INT8, 1, 127, true, 0, 0 },
	{ "fp8", NRT_DTYPE_FP8_E4, 1, 16, true, 4, 3 },
	{ "uint16", NRT_DTYPE_UINT16, 2, 65535, false, 0, 0 },
	{ "int16", NRT_DTYPE_INT16, 2, 32767, true, 0, 0 },
	{ "fp16", NRT_DTYPE_FLOAT16, 2, 1 << 11, true, 5, 10 },
	{ "bf16", NRT_DTYPE_BFLOAT16, 2, 1 << 8, true, 8, 7 },
	{ "uint32", NRT_DTYPE_UINT32, 4, 1 << 24, false, 0, 0 },
	{ "int32", NRT_DTYPE_INT32, 4, 1 << 24, true, 0, 0 },
	{ "fp32", NRT_DTYPE_FLOAT32, 4, 1 << 24, true, 8, 23 },
};

#define COUNT(table)	(sizeof(table) / sizeof((table)[0]))

const struct operation *operation_find(const char *name)
{
	size_t i;

	for (i = 0; i < COUNT(operations); i++)
		if (!strcmp(name, operations[i].name) ||
		    (operations[i].alias && !strcmp(name, operations[i].alias)))
			return &operations[i];
	return NULL;
}

const struct reduction *reduction_find(const char *name)
{
	size_t i;

	for (i = 0; i < COUNT(reductions); i++)
		if (!strcmp(name, reductions[i].name))
			return &reductions[i];
	return NULL;
}

const struct type *type_find(const char *name)
{
	size_t i;

	if (!strcmp(name, "fp8e4"))
		name = "fp8";
	for (i = 0; i < COUNT(types); i++)
		if (!strcmp(name, types[i].name))
			return &types[i];
	return NULL;
}

unsigned int in_blocks(const struct operation *operation, unsigned int ranks)
{
	return operation->in_blocks ?: ranks;
}

unsigned int out_blocks(const struct operation *operation, unsigned int ranks)
{
	return operation->out_blocks ?: ranks;
}

struct shape shape_of(const struct operation *operation, const struct type *type,
		      unsigned int ranks, uint64_t size)
{
	uint64_t in = in_blocks(operation, ranks), out = out_blocks(operation, ranks);
	uint64_t step = (in > out ? in : out) * type->size;
	struct shape shape = { .block = (size + step - 1) / step };

	shape.size = shape.block * step;
	shape.input = shape.block * in * type->size;
	shape.output = shape.block * out * type->size;
	return shape;
}

uint64_t ratio_begin(const struct ratio *ratio, unsigned int i, uint64_t block)
{
	uint64_t before = 0;

	while (i--)
		before += ratio->share[i];
	/* A block has at most 2^29 elements, and all shares come to less than 2^26. */
	return block * before / ratio->all;
}

double bus_factor(const struct operation *operation, unsigned int ranks)
{
	if (operation->plan_op == NRT_PLAN_PERMUTE)
		return 1;
	return operation->bus_factor * (ranks - 1) / ranks;
}
