/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * What loading and multiplying share.
 */
#ifndef TRN_EXEC_TENSOR_H
#define TRN_EXEC_TENSOR_H

#include "exec/trn_exec.h"
#include "isa/trn_pe_array.h"
#include "num/trn_num.h"

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
	struct trn_exec *exec;
	const struct trn_part *part;
	struct trn_tile dst, src, scales;
	uint32_t n;
	unsigned int ratio;
	struct neuron_written written;
};

/* trn_exec_sparse.c: for each row of a sparse product, the lines of its terms. */
void trn_sparse_pick(const struct trn_product *product,
		     uint16_t line[TRN_ARRAY_SIZE][TRN_ARRAY_SIZE]);
/* False: a tag points outside of the moving operand. */
bool trn_sparse_tags_valid(const struct trn_product *product);
/* trn_exec_pe_transpose.c: a transposition. */
enum neuron_cause trn_transpose(struct trn_product *product);

#endif /* TRN_EXEC_TENSOR_H */
