/* SPDX-License-Identifier: MIT */
/*
 * What instructions are told besides their tiles: scalars, columns and options.
 *
 * An emitter checks its instruction before it appends it: engine, generation, types, shapes,
 * memories, operators, and where the elements lie unless a register says so. What the chip
 * would refuse is the program's error, in one line:
 *
 *	kernel.c:12: tensor_copy on the gpsimd engine: src lies in PSUM, to which GpSimd has
 *	no path
 *
 * Documentation/hardware/isa.rst has the rules.
 */
#ifndef NB_OPERAND_H
#define NB_OPERAND_H

#include <stdbool.h>
#include <stdint.h>

#include "neuron/isa.h"

struct nb_program;

enum nb_operand_kind {
	NB_NO_OPERAND,	/* of an operator that is bypassed or takes the element alone */
	NB_NUMBER,	/* a float; or the 32 bits of an integer */
	NB_COLUMN,	/* one element of each partition */
};

/**
 * struct nb_operand - a scalar operand
 * @kind: enum nb_operand_kind
 * @bits: of the number
 * @column: tile of one element for each partition of the destination
 */
struct nb_operand {
	enum nb_operand_kind kind;
	uint32_t bits;
	struct neuron_ap column;
};

struct nb_operand nb_none(void);
struct nb_operand nb_number(float value);
/* For bitwise operators and shifts. */
struct nb_operand nb_integer(uint32_t value);
struct nb_operand nb_column(struct neuron_ap column);

/**
 * struct nb_with - options of an instruction; all zero, or NULL instead of it: none
 * @reverse0, @reverse1: the operands of op0, of op1 change places; a predicate is inverted
 * @negate: the result times -1
 * @accumulate: matmul adds to what the destination holds
 * @transpose: matmul moves the bits of the stationary operand
 * @one_zero: its tile holds only ones and zeros
 * @double_row: two terms in each row of the array
 * @part: only a part of the array is used: @array
 * @partly: matmul adds in a part of the destination: @written
 * @reduce_op: how the accumulators are combined; bypass: they are not
 * @reduce: from what they begin
 * @reduce_start: with NEURON_REDUCE_LOAD_REDUCE
 */
struct nb_with {
	bool reverse0;
	bool reverse1;
	bool negate;
	bool accumulate;
	bool transpose;
	bool one_zero;
	bool double_row;
	bool part;
	bool partly;
	struct neuron_array array;
	struct neuron_written written;
	enum neuron_alu reduce_op;
	enum neuron_reduce reduce;
	float reduce_start;
};

/*
 * The program is for NeuronCores of this generation (2: trn1, 3: trn2, 4: trn3). Before this is
 * said emitters take what the newest one has, and SBUF is as large as that of the oldest one. For
 * both programs of nb_second().
 */
void nb_generation(struct nb_program *nb, unsigned int generation);

#endif /* NB_OPERAND_H */
