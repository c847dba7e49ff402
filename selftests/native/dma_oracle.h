/* SPDX-License-Identifier: MIT */
/*
 * What DMA operations have to do, written plainly: element by element on copies
 * of the memories, with the host's own arithmetic. And random operations.
 */
#ifndef DMA_ORACLE_H
#define DMA_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "neuron/dma_op.h"

#define ORACLE_AREAS	96

/**
 * struct oracle_area - memory that operations may use
 * @addr: of its first byte, as descriptors name it
 * @shadow: @len bytes that memory has to hold
 */
struct oracle_area {
	uint64_t addr;
	size_t len;
	uint8_t *shadow;
};

/**
 * struct oracle - all the memory
 * @seed: of every random choice
 */
struct oracle {
	struct oracle_area area[ORACLE_AREAS];
	unsigned int nr;
	uint64_t seed;
};

/**
 * struct oracle_op - an operation with its addresses and its index list
 * @index: what @op.index names holds
 */
struct oracle_op {
	struct neuron_udma_op op;
	uint64_t src[NEURON_UDMA_OP_MAX_SRC];
	uint64_t dst[NEURON_UDMA_OP_MAX_DST];
	uint32_t index[256];
};

/* Adds @len bytes at @addr with random contents; the shadow is the oracle's. */
struct oracle_area *oracle_add(struct oracle *o, uint64_t addr, size_t len);
void oracle_destroy(struct oracle *o);
/* The shadow of [@addr, +@len), which lies in one area. */
uint8_t *oracle_at(struct oracle *o, uint64_t addr, size_t len);

/* Uniform below @below. */
uint32_t oracle_random(struct oracle *o, uint32_t below);
/* Bytes that are often floats at which rules change. */
void oracle_fill(struct oracle *o, void *buf, size_t len);

/* Change the shadows as the copy and the operation change memory. */
void oracle_copy(struct oracle *o, uint64_t dst, uint64_t src, size_t len);
void oracle_do(struct oracle *o, const struct oracle_op *x);

/*
 * Any good operation of at most @limit elements for each end. Its sources lie in
 * areas @src to @src + @nr_src - 1, its destinations each in one of its own from
 * @dst on, its list in area @list. The list is written to the shadow only: the
 * caller copies it to memory, as it does with the block.
 */
void oracle_random_op(struct oracle *o, struct oracle_op *x, uint32_t limit,
		      unsigned int src, unsigned int nr_src, unsigned int dst,
		      unsigned int nr_dst, unsigned int list);

#endif /* DMA_ORACLE_H */
