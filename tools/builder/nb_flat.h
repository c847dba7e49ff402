/* SPDX-License-Identifier: MIT */
/*
 * A program as one piece of memory: records that nb_flat_run() carries out in their order. It is
 * for callers that are no C, and for which a call for each instruction costs too much. Numbers of
 * functions, operators, types, engines and flags are asked for by name: nb_flat_value().
 *
 * A record is a struct nb_flat, and behind it @count operands: struct nb_flat_ap of an
 * instruction, struct nb_flat_side of a transfer. All is little-endian, and aligned to 8 bytes.
 * A tile lives from the first record that names it to the last one.
 */
#ifndef NB_FLAT_H
#define NB_FLAT_H

#include "nb_operand.h"

#define NB_FLAT_NUMBERS	3
#define NB_FLAT_ARGS	8
/* Most operands of an instruction. */
#define NB_FLAT_MAX	24
#define NB_FLAT_NONE	0xffffffffu

/* nb_flat.flags */
#define NB_FLAT_REVERSE0		NEURON_BIT(0)
#define NB_FLAT_REVERSE1		NEURON_BIT(1)
#define NB_FLAT_NEGATE			NEURON_BIT(2)
#define NB_FLAT_ACCUMULATE		NEURON_BIT(3)
#define NB_FLAT_TRANSPOSE		NEURON_BIT(4)
#define NB_FLAT_ONE_ZERO		NEURON_BIT(5)	/* the moving operand */
#define NB_FLAT_STATIONARY_ONE_ZERO	NEURON_BIT(6)
#define NB_FLAT_DOUBLE_ROW		NEURON_BIT(7)
#define NB_FLAT_PART			NEURON_BIT(8)	/* arg 0 to 3: row, rows, col, cols */
#define NB_FLAT_PARTLY			NEURON_BIT(9)	/* arg 4 to 7: struct neuron_written */
#define NB_FLAT_GATHER			NEURON_BIT(10)
#define NB_FLAT_SCATTER			NEURON_BIT(11)
#define NB_FLAT_SKIP			NEURON_BIT(12)
#define NB_FLAT_GENERATE		NEURON_BIT(13)	/* descriptors are made at run time */

/**
 * struct nb_flat - a record (64 bytes)
 * @function: nb_flat_value("function", ...)
 * @engine: enum neuron_engine, of a transfer the queue's owner; of register functions a bit for
 *	each engine
 * @count: operands that follow
 * @line: of the source; 0: none
 * @file: number of the file, from 1 on; 0: none
 * @flags: NB_FLAT_*
 * @op0, @op1, @op2: operators; @op2 is that of the accumulators
 * @reduce: enum neuron_reduce
 * @kind: enum nb_operand_kind of scalar operands; columns are further operands, in their order
 * @dtype: of a transfer's destination
 * @number: bits of scalar operands
 * @arg: by function
 */
struct nb_flat {
	uint16_t function;
	uint8_t engine;
	uint8_t count;
	uint32_t line;
	uint16_t file;
	uint16_t flags;
	uint8_t op0;
	uint8_t op1;
	uint8_t op2;
	uint8_t reduce;
	uint8_t kind[NB_FLAT_NUMBERS];
	uint8_t dtype;
	uint32_t number[NB_FLAT_NUMBERS];
	int32_t arg[NB_FLAT_ARGS];
};

/**
 * struct nb_flat_ap - a tile (40 bytes)
 * @tile: number of a tile of the records "tile_new" and "tile_at"
 * @byte: offset in each of its partitions
 * @num, @step: as in struct neuron_ap
 * @partition: first one, counted in the tile
 * @partitions: how many
 * @dtype: enum neuron_dtype
 * @reg: register with bytes, or 0
 * @index_tile: tile of the index, or NB_FLAT_NONE
 * @index_byte: offset in it
 */
struct nb_flat_ap {
	uint32_t tile;
	uint32_t byte;
	uint16_t num[4];
	int16_t step[4];
	uint8_t partition;
	uint8_t partitions;
	uint8_t dtype;
	uint8_t reg;
	uint32_t index_tile;
	uint32_t index_byte;
	uint32_t reserved;
};

/**
 * struct nb_flat_side - an end of a transfer (64 bytes)
 * @tile: number of a tile in SBUF, or NB_FLAT_NONE: @var
 * @var: variable
 * @offset: bytes; in a tile from its first byte on
 * @ndim, @partition: dimensions; first partition, counted in the tile
 * @size, @step: as in struct nb_side
 */
struct nb_flat_side {
	uint32_t tile;
	int32_t var;
	uint64_t offset;
	uint16_t ndim;
	uint16_t partition;
	uint32_t size[4];
	uint32_t reserved;
	int64_t step[4];
};

/*
 * What @name means: @kind is "function", "flag", "alu", "act", "dtype", "engine", "reduce", "dma"
 * (operations of transfers), "memory" or "sizeof"; of "sbuf" @name is a generation, 2 to 4, and the
 * value the bytes of a partition. -1: nothing.
 */
int nb_flat_value(const char *kind, const char *name);

/**
 * nb_flat_run() - carry out the records in @records
 * @nb: program, mostly one with nb_auto()
 * @records: first record
 * @size: bytes of all
 * @tiles: numbers of tiles are below it
 * @files: names of the source files
 * @nr_files: how many
 *
 * Return: bytes that were carried out. Fewer than @size: the record that begins there is the
 * first that failed, and nb_error() says why.
 */
size_t nb_flat_run(struct nb_program *nb, const void *records, size_t size, unsigned int tiles,
		   const char *const *files, unsigned int nr_files);

#endif /* NB_FLAT_H */
