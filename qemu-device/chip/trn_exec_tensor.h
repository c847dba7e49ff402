/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * What loading and multiplying share.
 */
#ifndef TRN_EXEC_TENSOR_H
#define TRN_EXEC_TENSOR_H

#include "trn_array.h"
#include "trn_exec.h"
#include "trn_num.h"

/* Columns of the moving operand that are widened at a time: all of most tiles. */
#define TRN_COLUMNS	528

/* The most lines of a sparse product's moving operand in a partition. */
#define TRN_SPARSE_LINES	4

/* Floats for as many columns of the moving operand, or for a part of them with more terms. */
#define TRN_PRODUCT_ROOM						\
	TRN_MOVING_FLOATS(TRN_ARRAY_SIZE, TRN_COLUMNS + TRN_MOVING_WIDTH)

_Static_assert(TRN_PRODUCT_ROOM >=
	       TRN_MOVING_FLOATS(TRN_ARRAY_SIZE * 2, TRN_COLUMNS / 2) &&
	       TRN_PRODUCT_ROOM >=
	       TRN_MOVING_FLOATS(TRN_ARRAY_SIZE * 4, TRN_COLUMNS / 4), "too little room");

/* Where the instruction works: the part it names, or all. False: not here. */
bool trn_tensor_place(const struct trn_exec *exec, struct neuron_array *place);

/* How LOAD_STATIONARY and MATMUL go, from the flags; EMPTY: not here. */
enum trn_part_kind trn_tensor_kind(const struct trn_exec *exec);

/* A tile of SBUF in src0 with a type that @kind works on. */
enum neuron_cause trn_tensor_operand(struct trn_exec *exec, enum trn_part_kind kind,
				     struct trn_tile *tile);

/*
 * The scales of an MX operand with @data's partitions and columns, in src1; imm1 is
 * the first partition of each 32 that holds some.
 */
enum neuron_cause trn_tensor_scales(struct trn_exec *exec,
				    const struct trn_tile *data,
				    struct trn_tile *scales);

/*
 * Partition @p of an MX operand, elements @first on, @count at most TRN_COLUMNS: the
 * four terms of each go to as many lines, @stride apart.
 */
void trn_tensor_mx_line(const struct trn_tile *data, const struct trn_tile *scales,
			unsigned int offset, unsigned int p, size_t first,
			size_t count, float *lines, size_t stride);

/**
 * struct trn_product - a resolved product
 * @part: the stationary operand
 * @n: columns of the result
 * @ratio: sparse: lines of the moving operand in a partition
 * @written: elements that the sums are added to
 */
struct trn_product {
	const struct trn_exec *exec;
	const struct trn_part *part;
	struct trn_tile dst, src, scales;
	uint32_t n;
	unsigned int ratio;
	struct neuron_written written;
};

/* trn_exec_sparse.c: columns of a sparse product. */
void trn_sparse_columns(const struct trn_product *product, size_t first,
			size_t count);
/* False: a tag points outside of the moving operand. */
bool trn_sparse_tags_valid(const struct trn_product *product);
/* trn_exec_transpose.c: all of a transposition. */
enum neuron_cause trn_transpose(const struct trn_product *product);

/**
 * struct trn_block - lines of a product
 * @m, @rows: which
 * @first: of the columns that @moving holds
 * @weight: for each term @rows numbers, lines @weight_stride apart
 * @moving: at most TRN_COLUMNS columns
 * @pick: lines of @moving for each row, or NULL: all lines for all rows
 */
struct trn_block {
	unsigned int m;
	unsigned int rows;
	size_t first;
	const float *weight;
	size_t weight_stride;
	const struct trn_moving *moving;
	const struct trn_pick *pick;
};

/* Set lines of the result, or add to them. */
void trn_product_block(const struct trn_product *product,
		       const struct trn_block *block);

#endif /* TRN_EXEC_TENSOR_H */
