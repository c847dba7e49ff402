/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The tensor engine's array: 128 x 128 cells that hold the stationary operand, as
 * a whole or in parts that are loaded and used on their own.
 */
#ifndef TRN_PE_ARRAY_H
#define TRN_PE_ARRAY_H

#include <stdint.h>

#include "neuron/isa.h"

#define TRN_ARRAY_SIZE	128
/* Terms of a product that a row of cells takes: 2 in double-row mode, 4 of MX. */
#define TRN_ARRAY_DEPTH	4
#define TRN_PE_ARRAY_PARTS	16	/* one for each 32 x 32 cells */
#define TRN_PE_ARRAY_ALL	((1 << TRN_PE_ARRAY_PARTS) - 1)	/* bits of them */

enum trn_part_kind {
	TRN_PART_EMPTY,
	TRN_PART_DENSE,
	TRN_PART_DOUBLE,	/* two terms a row */
	TRN_PART_SPARSE,	/* with tags */
	TRN_PART_MX,		/* four terms a row */
	TRN_PART_BITS,		/* as they are, for a transposition */
	TRN_NR_PART_KINDS
};

/**
 * struct trn_part - what a part of the array holds
 * @place: where it is
 * @kind: enum trn_part_kind
 * @dtype: of the stationary operand
 * @k, @m: rows and columns that are loaded
 */
struct trn_part {
	struct neuron_array place;
	uint8_t kind;
	uint8_t dtype;
	uint8_t k;
	uint8_t m;
};

/**
 * struct trn_pe_array - the array; allocated by the core
 * @weight: the terms of a part, one after the other from line 4 * place.row on, and
 *	its columns from place.col on; of TRN_PART_BITS the bits
 * @tag: of TRN_PART_SPARSE: [k][m]
 * @part: by the first cell of the part
 */
struct trn_pe_array {
	float weight[TRN_ARRAY_SIZE * TRN_ARRAY_DEPTH][TRN_ARRAY_SIZE];
	uint8_t tag[TRN_ARRAY_SIZE][TRN_ARRAY_SIZE];
	struct trn_part part[TRN_PE_ARRAY_PARTS];
};

/* Bits of the places of 32 x 32 cells that @place covers. */
static inline uint16_t trn_pe_array_bits(struct neuron_array place)
{
	uint32_t columns = ((1u << place.cols / 32) - 1) << place.col / 32;
	uint32_t bits = 0;
	unsigned int row;

	for (row = place.row; row < place.row + place.rows; row += 32)
		bits |= columns << row / 32 * 4;
	return (uint16_t)bits;
}

/* The part that begins where @place does. */
static inline struct trn_part *trn_pe_array_part(struct trn_pe_array *array,
						 struct neuron_array place)
{
	return &array->part[place.row / 32 * 4 + place.col / 32];
}

/* Terms of a product in each row. */
static inline unsigned int trn_part_depth(const struct trn_part *part)
{
	switch (part->kind) {
	case TRN_PART_DOUBLE:
		return 2;
	case TRN_PART_MX:
		return 4;
	default:
		return 1;
	}
}

#endif /* TRN_PE_ARRAY_H */
