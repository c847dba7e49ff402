/* SPDX-License-Identifier: MIT */
/*
 * Where the tensors of an operation in SBUF lie.
 */
#ifndef NCCOM_SBUF_H
#define NCCOM_SBUF_H

#include "neuron_builder.h"
#include "operation.h"

/* Bytes of a message: one line without a newline. */
#define SBUF_WHY	256

/**
 * struct sbuf - the tiles of an operation
 * @partitions: of a block
 * @bytes: of a block in each of them
 * @down: blocks that lie below each other before the next ones lie beside them
 * @input, @output: blocks
 * @from, @to: first bytes of a partition that input and output use, and @end the one behind them
 */
struct sbuf {
	unsigned int partitions;
	uint32_t bytes;
	unsigned int down;
	unsigned int input;
	unsigned int output;
	uint32_t from;
	uint32_t to;
	uint32_t end;
};

/*
 * Place them, from byte @at of each partition on. A block has as many partitions as share its
 * elements evenly: 1, 2, 4 and so on to 128. @below: blocks lie below each other first, as far as
 * there are partitions. @limit: bytes of a partition. 0, or -1 with @why: they do not fit.
 */
int sbuf_place(struct sbuf *sbuf, const struct operation *operation, const struct type *type,
	       unsigned int ranks, uint64_t block, bool below, uint64_t at, uint64_t limit,
	       char why[SBUF_WHY]);

/* Input and output as sides of transfers, block after block. */
struct nb_side sbuf_input(struct nb_program *nb, const struct sbuf *sbuf);
struct nb_side sbuf_output(struct nb_program *nb, const struct sbuf *sbuf);

#endif /* NCCOM_SBUF_H */
