/* SPDX-License-Identifier: MIT */
/*
 * Kernels on the builder: products, softmax, normalisations, element-wise functions, reductions,
 * transpositions, collectives and Adam, on tensors in HBM, of any shape, for all generations of
 * NeuronCores.
 *
 *	struct nk nk;
 *
 *	nk_begin(&nk, nb);
 *	nk_gemm(&nk, c, a, b, 0);
 *	nk_softmax(&nk, y, c);
 *	nb_schedule(nb, NULL);
 *	nb_write(nb, "program.neff");
 *
 * A kernel is emitted into a program with nb_auto(): several follow each other, and other
 * instructions may stand between them. Arithmetic is fp32; what is read and written may have
 * another float type. All functions return 0, or -1 with nb_error(), which names the kernel.
 * Nothing is allocated that outlives a call but variables of the program. Not thread safe.
 */
#ifndef NEURON_KERNELS_H
#define NEURON_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "neuron_builder.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct nk - kernels of one program; nk_begin() fills it in
 * @nb: the program
 * @in, @out: queues of the transfers to SBUF, and of the others; nb_schedule() spreads them
 * @sbuf: bytes of a partition that a kernel may use
 * @serial: numbers the names of variables that kernels add
 */
struct nk {
	struct nb_program *nb;
	int in;
	int out;
	uint32_t sbuf;
	unsigned int serial;
};

/**
 * struct nk_tensor - a matrix in HBM
 * @var: variable
 * @offset: bytes to its first element
 * @dtype: enum neuron_dtype, a float type
 * @rows, @cols: 1 and more
 * @pitch: elements from a row to the next; 0: @cols
 */
struct nk_tensor {
	int var;
	uint64_t offset;
	uint32_t dtype;
	uint32_t rows;
	uint32_t cols;
	uint64_t pitch;
};

/* Begin, after nb_new(), nb_generation() and nb_auto(), which it calls if nobody has. */
int nk_begin(struct nk *nk, struct nb_program *nb);

/* The whole of a variable as @rows x @cols. */
struct nk_tensor nk_tensor(int var, enum neuron_dtype dtype, uint32_t rows, uint32_t cols);

#define NK_A_TRANSPOSED	1u	/* A is given as K x M */
#define NK_B_TRANSPOSED	2u	/* B is given as N x K */

/*
 * C [M, N] = A [M, K] B [K, N]. A and B have the same type: fp32, bf16, fp16, and the fp8 types
 * of the generation. Each output is a sum in fp32 of at most 128 terms at a time. A and B are
 * read from HBM once where they fit in SBUF, and else as often as there are blocks of C. The
 * array takes A as K x M: the other form costs a transposition by DMA (fp8: by way of bf16).
 */
int nk_gemm(struct nk *nk, struct nk_tensor c, struct nk_tensor a, struct nk_tensor b,
	    unsigned int flags);

/* Each row of Y = exp(x - max) / sum of that over the row of X. */
int nk_softmax(struct nk *nk, struct nk_tensor y, struct nk_tensor x);

/*
 * Each row of Y = (x - mean) / sqrt(variance + epsilon) * gamma + beta; gamma and beta are 1 x N,
 * or NULL: ones and zeros.
 */
int nk_layernorm(struct nk *nk, struct nk_tensor y, struct nk_tensor x,
		 const struct nk_tensor *gamma, const struct nk_tensor *beta, float epsilon);
/* Each row of Y = x / sqrt(mean of x^2 + epsilon) * gamma. */
int nk_rmsnorm(struct nk *nk, struct nk_tensor y, struct nk_tensor x,
	       const struct nk_tensor *gamma, float epsilon);

/* Y = func(X * scale + bias). */
int nk_activation(struct nk *nk, enum neuron_act func, struct nk_tensor y, struct nk_tensor x,
		  float scale, float bias);
/* Y = A op B; B of one row is used for all rows, B of one column for all columns. */
int nk_binary(struct nk *nk, enum neuron_alu op, struct nk_tensor y, struct nk_tensor a,
	      struct nk_tensor b);
/* Y [M, 1] = op over each row of X: add, multiply, max, min. */
int nk_reduce(struct nk *nk, enum neuron_alu op, struct nk_tensor y, struct nk_tensor x);
/* Y [N, M] = X [M, N] transposed, of elements of 2 or 4 bytes and one type. */
int nk_transpose(struct nk *nk, struct nk_tensor y, struct nk_tensor x);

/*
 * Y = a collective of the X of ranks 0 to @ranks - 1, in a program for nrt_load_collectives(). @op
 * is "all_reduce", "reduce_scatter", "all_gather" or "alltoall"; @reduce is add, min or max, and
 * means nothing to the last two. Both tensors are whole variables. The chips do it beside what
 * follows here, until something needs Y or writes X.
 */
int nk_collective(struct nk *nk, const char *op, enum neuron_alu reduce, struct nk_tensor y,
		  struct nk_tensor x, unsigned int ranks);

/**
 * struct nk_adam - constants of Adam
 * @rate: of a step
 * @beta1, @beta2: of the running means
 * @epsilon: is added to the root
 */
struct nk_adam {
	float rate;
	float beta1;
	float beta2;
	float epsilon;
};

/**
 * struct nk_adam_state - what Adam keeps from step to step, all of it fp32
 * @w: what is trained
 * @m, @v: running means of the gradient and of its square; zeros before the first step
 * @power: [1, 2], beta1 and beta2 to the power of the steps so far; ones before the first step
 */
struct nk_adam_state {
	struct nk_tensor w;
	struct nk_tensor m;
	struct nk_tensor v;
	struct nk_tensor power;
};

/*
 * A step of Adam with the gradient @g, from one state to another. Each operation is rounded by
 * itself:
 *
 *	power1 = power1 * beta1,  power2 = power2 * beta2
 *	r = sqrt(1 - power2) * (1 / (1 - power1)) * -rate
 *	m = m * beta1 + g * (1 - beta1)
 *	v = v * beta2 + g * g * (1 - beta2)
 *	w = w + m * r * (1 / (sqrt(v) + epsilon))
 */
int nk_adam(struct nk *nk, const struct nk_adam_state *to, const struct nk_adam_state *from,
	    struct nk_tensor g, const struct nk_adam *how);

#ifdef __cplusplus
}
#endif

#endif /* NEURON_KERNELS_H */
