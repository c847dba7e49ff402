/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Where an instruction goes on that was cut between two of its pieces.
 *
 * An instruction that takes long is done piece by piece. After each piece it may be cut:
 * when the run's budget is spent, when the job is stopped, when the host holds the chip.
 * What it needs to go on is here and in struct trn_desk; everything else it finds again in
 * the instruction, in the registers and in the memories of the core. So the bits of its
 * results do not depend on where it was cut.
 */
#ifndef TRN_RESUME_H
#define TRN_RESUME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "isa/trn_pe_array.h"
#include "num/trn_num.h"

/* Columns of the moving operand of a product that are widened at a time: all of most. */
#define TRN_COLUMNS	528

/* The most lines of a sparse product's moving operand in a partition. */
#define TRN_SPARSE_LINES	4

/* Floats for as many columns of the moving operand, or for a part of them with more terms. */
#define TRN_PRODUCT_ROOM						\
	TRN_MOVING_FLOATS(TRN_ARRAY_SIZE, TRN_COLUMNS + TRN_MOVING_WIDTH)

_Static_assert(TRN_PRODUCT_ROOM >=
	       TRN_MOVING_FLOATS(TRN_ARRAY_SIZE * 2, TRN_COLUMNS / 2) &&
	       TRN_PRODUCT_ROOM >=
	       TRN_MOVING_FLOATS(TRN_ARRAY_SIZE * 4, TRN_COLUMNS / 4), "too little room");

/* Two lines of as many elements as a tile may have, and a table beside them. */
#define TRN_DESK_LINE	(65536 * sizeof(uint64_t))
#define TRN_DESK_TABLE	16384
#define TRN_DESK_BYTES	(2 * TRN_DESK_LINE + TRN_DESK_TABLE)

#define TRN_DESK_PAGE	4096

/**
 * struct trn_lane_desk - what an instruction of the vector, scalar or GpSimd engine keeps
 * @line: lines that were read, or results that may not be written yet
 * @table: numbers about them
 */
struct trn_lane_desk {
	_Alignas(64) uint8_t line[2][TRN_DESK_LINE];
	_Alignas(64) uint8_t table[TRN_DESK_TABLE];
};

/**
 * struct trn_desk - room for the instructions of a core; allocated by it, lazily backed
 * @moving: the moving operand of a product, as the host's path reads it; not saved
 * @pick: of a sparse product, the lines of each row; not saved
 * @lane: by enum neuron_engine, from NEURON_ENGINE_VECTOR on
 *
 * Each engine uses what is its own, in whole pages, so that it can be given back.
 */
struct trn_desk {
	_Alignas(64) float moving[TRN_PRODUCT_ROOM];
	uint16_t pick[TRN_ARRAY_SIZE][TRN_ARRAY_SIZE];
	_Alignas(TRN_DESK_PAGE) struct trn_lane_desk lane[3];
};

_Static_assert(sizeof(struct trn_lane_desk) % TRN_DESK_PAGE == 0, "lanes are whole pages");

/**
 * struct trn_reach - of a tile with an index
 * @low, @high: as in struct trn_tile
 */
struct trn_reach {
	int64_t low;
	int64_t high;
};

#define TRN_REACH_NONE	((struct trn_reach){ INT64_MAX, 0 })

/* Of elements that there may be. */
static inline bool trn_reach_valid(const struct trn_reach *reach)
{
	return reach->low >= 0 && reach->low < reach->high && reach->high <= UINT32_MAX;
}

/* Tiles of an instruction that may have an index: dst, src0, src1. */
#define TRN_RESUME_TILES	3
#define TRN_RESUME_CARRY	32

/**
 * struct trn_resume - the place in an instruction
 * @cut: it was cut; false: nothing of the rest counts
 * @begun: pieces of it are done; else its tiles were being looked at
 * @step: what is being done in a partition; each instruction has its own steps
 * @p: the partition, or row
 * @first: the next element of it
 * @width: of a product: the columns that are being done
 * @phase: of an instruction with phases: which one; each has its own phases
 * @known: extents that are known, a bit each
 * @scanned: partitions of the index that is being looked at
 * @brought: lines of @moving and @pick that are there; never saved
 * @desk: bytes of both lines and of the table of struct trn_lane_desk that are in use
 * @extent: of the tiles with an index
 * @carry: what one piece hands on to the next
 *
 * All before @extent is 0 where an instruction begins.
 */
struct trn_resume {
	bool cut;
	bool begun;
	uint32_t step;
	uint32_t p;
	uint32_t first;
	union {
		uint32_t width;
		uint32_t phase;
	};
	uint32_t known;
	uint32_t scanned;
	uint32_t brought;
	uint32_t desk[3];
	struct trn_reach extent[TRN_RESUME_TILES];
	union {
		uint32_t word[TRN_RESUME_CARRY];
		float number[TRN_RESUME_CARRY];
		uint8_t byte[TRN_RESUME_CARRY * sizeof(uint32_t)];
	} carry;
};

/* The instruction is over, or was given up: nothing is kept of it. */
static inline void trn_resume_clear(struct trn_resume *at)
{
	memset(at, 0, offsetof(struct trn_resume, extent));
}

#endif /* TRN_RESUME_H */
