/* SPDX-License-Identifier: MIT */
/* What the kernels share. */
#ifndef NK_PRIVATE_H
#define NK_PRIVATE_H

#include "neuron_kernels.h"

#define NK_ROWS		128u	/* partitions */
#define NK_BANK		512u	/* fp32 of a bank of PSUM */
#define NK_TENSOR	NEURON_ENGINE_TENSOR
#define NK_VECTOR	NEURON_ENGINE_VECTOR
#define NK_SCALAR	NEURON_ENGINE_SCALAR
#define NK_FP32		NEURON_DTYPE_FP32

/* The least of both, and the quotient rounded up. */
uint32_t nk_least(uint32_t a, uint32_t b);
uint32_t nk_parts(uint32_t n, uint32_t part);

/* Note a failure of @kernel in one line; always -1. */
int nk_fail(struct nk *nk, const char *kernel, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A tensor can be one: sizes, type, and it lies in its variable. 0 or -1. */
int nk_check(struct nk *nk, const char *kernel, const char *name, const struct nk_tensor *t);

/* Bytes of an element. */
uint32_t nk_size(const struct nk_tensor *t);
/* A block of the tensor, as a side. */
struct nb_side nk_block(const struct nk_tensor *t, uint32_t row, uint32_t rows, uint32_t col,
			uint32_t cols);
/* Tile @tile, of elements of @size bytes: columns @col on, @rows of its partitions. */
struct neuron_ap nk_part(struct nk *nk, int tile, uint32_t rows, uint32_t col, uint32_t cols,
			 uint32_t size);
struct nb_side nk_side(struct nk *nk, int tile, uint32_t rows, uint32_t col, uint32_t cols,
		       uint32_t size);

/* A new tile with a block of @t, in the type of @t. */
int nk_load(struct nk *nk, const struct nk_tensor *t, uint32_t row, uint32_t rows, uint32_t col,
	    uint32_t cols);
/* A new tile of fp32 with that row of @t in each of @rows partitions. */
int nk_load_row(struct nk *nk, const struct nk_tensor *t, uint32_t row, uint32_t rows,
		uint32_t col, uint32_t cols);
/* A new tile of fp32 with @rows of @t, which is one column. */
int nk_load_column(struct nk *nk, const struct nk_tensor *t, uint32_t row, uint32_t rows);
/* Write such a tile to a block. */
void nk_store(struct nk *nk, const struct nk_tensor *t, int tile, uint32_t row, uint32_t rows,
	      uint32_t col, uint32_t cols);
int nk_tile(struct nk *nk, uint32_t rows, uint32_t dtype, uint32_t cols);

/* A temporary of the program, as a tensor. */
struct nk_tensor nk_scratch(struct nk *nk, enum neuron_dtype dtype, uint32_t rows,
			    uint32_t cols);

#endif /* NK_PRIVATE_H */
