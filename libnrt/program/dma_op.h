/* SPDX-License-Identifier: MIT */
/*
 * Cuts a transfer that computes into operations of the DMA engines, which take four dimensions
 * and a limited number of elements each.
 */
#ifndef LIBNRT_PROGRAM_DMA_OP_H
#define LIBNRT_PROGRAM_DMA_OP_H

#include "neff/neff.h"

/* One side: elements and bytes between them in each dimension, [0] innermost. */
struct dma_op_side {
	uint64_t num[NEFF_MAX_DESC_DIMS];
	int64_t step[NEFF_MAX_DESC_DIMS];
};

/**
 * struct dma_op_piece - what one operation does
 * @src, @dst: patterns
 * @from, @to: bytes from the first element of the transfer's side to that of the piece
 */
struct dma_op_piece {
	struct neuron_udma_pattern src;
	struct neuron_udma_pattern dst;
	int64_t from;
	int64_t to;
};

/**
 * struct dma_op_cut - the way through a transfer
 * @from, @to: its sides
 * @transpose: dimensions 0 and 1 of the destination are exchanged
 * @total, @done: elements
 * @most: elements of a piece
 * @at: TRANSPOSE: index of the next element of the source
 */
struct dma_op_cut {
	struct dma_op_side from;
	struct dma_op_side to;
	bool transpose;
	uint64_t total;
	uint64_t done;
	uint64_t most;
	uint64_t at[NEFF_MAX_DESC_DIMS];
};

/* Begin; pieces suit @queues queues that share the work. */
void dma_op_cut_init(struct dma_op_cut *cut, const struct neff_desc *desc, unsigned int queues);

/* The next piece; false: there is none. */
bool dma_op_cut_next(struct dma_op_cut *cut, struct dma_op_piece *piece);

#endif /* LIBNRT_PROGRAM_DMA_OP_H */
