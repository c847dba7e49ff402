/* SPDX-License-Identifier: MIT */
/*
 * Transfers that do more than copy bytes, and generated descriptors. neuron_builder.h includes
 * this file, and has the sides and the plain copy.
 *
 * The sides of a transfer count bytes: size[0] is a run of whole elements. Both have the same
 * number of elements, whose types may differ.
 */
#ifndef NB_TRANSFER_H
#define NB_TRANSFER_H

#include "nb_operand.h"
#include "neuron/dma_op.h"

/**
 * struct nb_move - what is done to the elements on the way
 * @op: COPY (with two types a cast), ADD, FMA, MAX, MIN or TRANSPOSE
 * @to_dtype, @from_dtype: enum neuron_dtype; of all sources
 * @to: destination
 * @nr_from: 1 to 16 sources; COPY and TRANSPOSE: 1
 * @from: all with the same sizes and steps
 * @scale: of each source, with FMA
 * @has_constant, @constant: with MAX and MIN: one number more; not generated
 *
 * Only with generated descriptors, where the loader does not cut it: all sides together have at
 * most NEURON_UDMA_OP_MAX_ELEMENTS elements, with @accumulate the destination twice.
 *
 * @accumulate: the destination's old value comes first (not COPY, TRANSPOSE)
 * @gather, @scatter: the list says which rows of the sources, of the destination: those of the
 *	outermost dimension of the side. With both the same ones
 * @skip: an index that is not below @limit leaves out its row; else it is an error of the run
 * @index, @index_offset: variable and place of the uint32 list
 * @index_step: bytes from an index to the next; 0: they lie side by side
 * @limit: rows that there are
 * @random, @seed, @number: rounded at random, the numbers are those of this move
 */
struct nb_move {
	enum neuron_udma_opcode op;
	enum neuron_dtype to_dtype;
	enum neuron_dtype from_dtype;
	struct nb_side to;
	unsigned int nr_from;
	struct nb_side from[NEURON_UDMA_OP_MAX_SRC];
	float scale[NEURON_UDMA_OP_MAX_SRC];
	bool has_constant;
	float constant;
	bool accumulate;
	bool gather;
	bool scatter;
	bool skip;
	int index;
	uint64_t index_offset;
	uint32_t index_step;
	uint32_t limit;
	bool random;
	uint64_t seed;
	uint64_t number;
};

/* Start it on @queue, as nb_dma() does. Any move that needs no generated descriptors. */
struct neuron_inst *nb_dma_move(struct nb_program *nb, int queue, const struct nb_move *move,
				int sem);
/* Bytes, or a cast where the types differ. */
struct neuron_inst *nb_dma_copy(struct nb_program *nb, int queue, struct nb_side to,
				enum neuron_dtype to_dtype, struct nb_side from,
				enum neuron_dtype from_dtype, int sem);
/* Dimensions 0 and 1, of elements of 2 or 4 bytes, change about: to is [a, b], from [b, a]. */
struct neuron_inst *nb_dma_transpose(struct nb_program *nb, int queue, struct nb_side to,
				     struct nb_side from, enum neuron_dtype dtype, int sem);
/* @op over @count sources of one type. */
struct neuron_inst *nb_dma_compute(struct nb_program *nb, int queue, enum neuron_udma_opcode op,
				   struct nb_side to, enum neuron_dtype to_dtype,
				   const struct nb_side *from, enum neuron_dtype from_dtype,
				   unsigned int count, int sem);

/* A constant with the block that nb_dma_generate() names. Returns its var_id, or 0. */
int nb_dge(struct nb_program *nb, const char *name, const struct nb_move *move);
/* The block itself, for tables of blocks that a program makes a nb_file() of. */
int nb_dge_block(struct nb_program *nb, const struct nb_move *move,
		 struct neuron_udma_dge *block);

/**
 * struct nb_run_time - what a generated transfer learns when it is started
 * @from_reg, @to_reg: registers whose bytes are added to all sources, to the destination; 0: none
 * @length_reg: register with the number of elements of @dimension; 0: as the block says
 * @dimension: 0 to 3; a gathered or scattered one is 3
 * @landed: the post is made when the bytes have landed, else when the block has been read
 * @sem: semaphore that it adds 1 to; -1: none
 */
struct nb_run_time {
	unsigned int from_reg;
	unsigned int to_reg;
	unsigned int length_reg;
	unsigned int dimension;
	bool landed;
	int sem;
};

/* The owner of @queue starts the transfer of the block at @offset of @block. */
struct neuron_inst *nb_dma_generate(struct nb_program *nb, int queue, int block, uint64_t offset,
				    const struct nb_run_time *run);
/*
 * Descriptors of rings that the program knows itself: @out and @in more for queue table entry
 * @index, and for the @count - 1 behind it. @landed is a semaphore to which each of the queues
 * adds 1 when it has moved all, or -1.
 */
struct neuron_inst *nb_dma_trigger(struct nb_program *nb, enum neuron_engine e,
				   unsigned int index, unsigned int count, uint32_t out,
				   uint32_t in, int landed);

/**
 * struct nb_pair - what both cores of a pair exchange tiles with
 * @queue: of the engine that waits
 * @ready, @arrived: a semaphore each, of the same number on both cores
 * @other_ready: the nb_sibling_sem() of @ready
 * @reg: is overwritten
 */
struct nb_pair {
	int queue;
	int ready;
	int arrived;
	int other_ready;
	unsigned int reg;
};

/*
 * sendrecv: @from goes to @to of the other core, which does the same. Both have done what uses
 * @to before. The instruction that is returned waits until this core's tile has arrived.
 */
struct neuron_inst *nb_sendrecv(struct nb_program *nb, const struct nb_pair *pair,
				struct nb_side to, struct nb_side from);

/*
 * A queue set with @count instances, each with rings of its own. Returns the handle of the first;
 * the others follow. A program swaps rings by using another one.
 */
int nb_queue_instances(struct nb_program *nb, const char *name, const char *type,
		       enum neuron_engine owner, unsigned int num_queues, unsigned int count,
		       const char *const *instances);

#endif /* NB_TRANSFER_H */
