/* SPDX-License-Identifier: MIT */
/*
 * A product of square matrices as a job of a NeuronCore, from HBM to HBM.
 */
#ifndef BENCH_GEMM_PROGRAM_H
#define BENCH_GEMM_PROGRAM_H

#include "seq_rig.h"

#define GEMM_SIZE	2048
#define GEMM_TILE	128		/* rows of the result at a time, terms of a sum */
#define GEMM_TILES	(GEMM_SIZE / GEMM_TILE)

/* The matrices, in stack 1; each has room for fp32. */
#define GEMM_STACK	1
#define GEMM_ROOM	NEURON_MIB(16)
enum gemm_matrix { GEMM_A, GEMM_B, GEMM_C };

/**
 * struct gemm - rows of C [m, n] = A [k, m] transposed * B [k, n]
 * @dtype: of all three
 * @first, @tiles: rows, in units of GEMM_TILE
 */
struct gemm {
	unsigned int dtype;
	unsigned int first;
	unsigned int tiles;
};

/* The job that computes @gemm on @core of the rig's first chip. */
void gemm_job(struct seq_job *job, struct seq_rig *rig, unsigned int core,
	      const struct gemm *gemm);
/* A matrix in HBM. */
void *gemm_matrix(struct seq_rig *rig, enum gemm_matrix matrix);

#endif /* BENCH_GEMM_PROGRAM_H */
