/* SPDX-License-Identifier: MIT */
/*
 * The operations and types of nccom-test, and what a size means for each.
 */
#ifndef NCCOM_OPERATION_H
#define NCCOM_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

#include <nrt/nrt_async.h>

#include "neuron/neff.h"
#include "plan/plan.h"

/**
 * struct operation - an operation of the command line
 * @name, @alias: as people write it; @alias may be NULL
 * @plan_op: what it is in a plan. Of a permutation each rank sends to the next one
 * @in_neff: it is the collective of a NEFF; else @cc_op of nrta_cc_prepare()
 * @reduces: it has a reduction
 * @varies: how much goes where is in metadata, and known only when it runs
 * @in_sbuf: it can work in SBUF
 * @same: all ranks of a group have the same output
 * @in_blocks, @out_blocks: input and output of a rank are so many blocks; 0: as many as there are
 *	ranks in the group
 * @bus_factor: busbw is algbw * @bus_factor * (r - 1) / r; of a permutation it is algbw
 */
struct operation {
	const char *name;
	const char *alias;
	enum nrt_plan_op plan_op;
	bool in_neff;
	nrt_cc_op_type_t cc_op;
	bool reduces;
	bool varies;
	bool in_sbuf;
	bool same;
	unsigned int in_blocks;
	unsigned int out_blocks;
	double bus_factor;
};

/**
 * struct reduction - what a reducing operation does with the numbers
 * @name: as people write it
 * @op: of nrta_cc_prepare()
 */
struct reduction {
	const char *name;
	nrt_op_type_t op;
};

/**
 * struct type - a type of elements
 * @name: as people write it
 * @dtype: of nrta_cc_prepare()
 * @size: bytes of an element
 * @exact: all whole numbers up to this one are exact, also in fp32, where the chip adds
 * @is_signed: there are negative numbers
 * @exponent, @mantissa: bits of a floating-point number; 0: it is an integer
 */
struct type {
	const char *name;
	nrt_dtype_t dtype;
	unsigned int size;
	uint32_t exact;
	bool is_signed;
	unsigned int exponent;
	unsigned int mantissa;
};

/**
 * struct ratio - how the tensors of an operation share each block
 * @share, @nr: of each of them; none: there is one, and no list
 * @all: of all shares together
 */
struct ratio {
	unsigned int share[NEFF_MAX_PARTS];
	unsigned int nr;
	unsigned int all;
};

/* By name, or NULL. Operations also by their aliases, fp8 also as fp8e4. */
const struct operation *operation_find(const char *name);
const struct reduction *reduction_find(const char *name);
const struct type *type_find(const char *name);

/**
 * struct shape - a size of an operation, on a group
 * @size: bytes, as the table shows them: of the larger one of input and output
 * @block: elements of a block
 * @input, @output: bytes of a rank
 */
struct shape {
	uint64_t size;
	uint64_t block;
	uint64_t input;
	uint64_t output;
};

/* @size is rounded up to what @ranks ranks can share evenly. */
struct shape shape_of(const struct operation *operation, const struct type *type,
		      unsigned int ranks, uint64_t size);

/* The element of a block of @block elements with which tensor @i of several begins. */
uint64_t ratio_begin(const struct ratio *ratio, unsigned int i, uint64_t block);

/* Blocks of an input and of an output, on a group of @ranks. */
unsigned int in_blocks(const struct operation *operation, unsigned int ranks);
unsigned int out_blocks(const struct operation *operation, unsigned int ranks);

/* Bus bandwidth in units of the algorithm bandwidth. */
double bus_factor(const struct operation *operation, unsigned int ranks);

#endif /* NCCOM_OPERATION_H */
