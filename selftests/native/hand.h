/* SPDX-License-Identifier: MIT */
/*
 * Kernels that are synchronised by hand: what somebody writes who knows the chip and has the
 * time. They have the instructions of the kernels in tools/kernels, in another order, at places,
 * on queues and with semaphores of their own. test_nb_hand.c compares device times.
 *
 * The same order can be left to nb_auto(): then it makes the waits, and those here are left out.
 * For that the calls are in an order in which they could be carried out one by one.
 */
#ifndef HAND_H
#define HAND_H

#include "neuron_builder.h"

#define HAND_QUEUES	16u	/* of a set: what a transfer adds to its semaphore */
#define HAND_ROWS	128u	/* partitions */
#define HAND_SBUF	(176u << 10)	/* bytes of one that a program may use */
#define HAND_SYNC	NEURON_ENGINE_SYNC
#define HAND_VECTOR	NEURON_ENGINE_VECTOR
#define HAND_SCALAR	NEURON_ENGINE_SCALAR
#define HAND_GPSIMD	NEURON_ENGINE_GPSIMD

/**
 * struct hand - a program under construction
 * @alone: waits and posts are by hand; else they are the builder's
 * @next: first byte of each partition of SBUF that no tile has
 */
struct hand {
	struct nb_program *nb;
	bool alone;
	uint32_t next;
};

/* A row of it in each partition, from byte @at on. */
struct hand_tile {
	uint32_t at;
	enum neuron_dtype dtype;
	uint32_t cols;
};

void hand_begin(struct hand *hand, struct nb_program *nb, bool alone);
/* Each engine halts. */
void hand_end(struct hand *hand);

/* The types that are used here have 2 or 4 bytes. */
uint32_t hand_size(enum neuron_dtype dtype);
struct hand_tile hand_tile(struct hand *hand, enum neuron_dtype dtype, uint32_t cols);
/* @cols columns of it from @col on. */
struct neuron_ap hand_part(const struct hand_tile *tile, uint32_t col, uint32_t cols);
struct neuron_ap hand_ap(const struct hand_tile *tile);
struct nb_side hand_side(struct hand *hand, const struct hand_tile *tile);

/* What follows does nothing when the builder synchronises; hand_sem() then returns -1. */
int hand_sem(struct hand *hand);
struct neuron_inst *hand_wait(struct hand *hand, struct neuron_inst *inst, int sem,
			      uint32_t value);
void hand_post(struct hand *hand, struct neuron_inst *inst, int sem);
/* An instruction has one wait: this one is for a second, on an engine that goes on with it. */
void hand_wait_before(struct hand *hand, enum neuron_engine e, int sem, uint32_t value);

/* --- Kernels: each emits the whole of its program --- */

/**
 * struct hand_gemm - C [m, n] = A B with A as [k, m], B as [k, n]
 * @m, @k: multiples of 128
 * @n: a multiple of 512
 * @early: tiles of rows whose sums grow together while the operands come
 * @c, @a, @b: variables
 */
struct hand_gemm {
	uint32_t m;
	uint32_t n;
	uint32_t k;
	uint32_t early;
	enum neuron_dtype dtype;
	enum neuron_dtype to;
	int c;
	int a;
	int b;
};

void hand_gemm(struct hand *hand, const struct hand_gemm *what);

/**
 * struct hand_rows - fp32 matrices of @rows, a multiple of 128, times @cols, at most 4,096
 * @y, @x: variables
 * @z: the second operand of a sum; gamma of a normalisation, one row
 * @beta: one row
 */
struct hand_rows {
	uint32_t rows;
	uint32_t cols;
	int y;
	int x;
	int z;
	int beta;
};

void hand_softmax(struct hand *hand, const struct hand_rows *what);
void hand_layernorm(struct hand *hand, const struct hand_rows *what, float epsilon);
/* Y = gelu(X), Y = X + Z. */
void hand_gelu(struct hand *hand, const struct hand_rows *what);
void hand_add(struct hand *hand, const struct hand_rows *what);

#endif /* HAND_H */
