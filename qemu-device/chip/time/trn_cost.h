/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * What an instruction costs in device time. The formulas are the documented
 * ones of the public architecture guides where there are any; constants that
 * are this project's choice say so. Documentation/hardware/device-time.rst lists them.
 */
#ifndef TRN_COST_H
#define TRN_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "isa/trn_isa.h"
#include "neuron/dma_op.h"
#include "neuron/generation.h"

/**
 * struct trn_dma_work - what an operation of a DMA engine did
 * @read, @written: bytes; the old value of ACCUMULATE is read
 * @old: of @read, that old value
 * @pieces: contiguous runs of the side that has more of them
 * @src_hbm, @dst_sbuf: where its ends lie
 */
struct trn_dma_work {
	uint64_t read;
	uint64_t written;
	uint64_t old;
	uint64_t pieces;
	bool src_hbm;
	bool dst_sbuf;
};

/* DMA: from a trigger to the first byte of an idle queue. */
#define TRN_COST_DMA_START_PS	1300000ull
/*
 * Least time of one contiguous piece (a descriptor, a run of an operation): from the
 * 468 ns in which the public DMA overview moves eight of 256 bytes and a semaphore.
 */
#define TRN_COST_DMA_PIECE_PS	52000ull
/* To make descriptors on the chip (DMA_GENERATE). */
#define TRN_COST_DGE_PS		600000ull
/* One NeuronLink hop; the guides say 1 to 2 us, this is the project's choice. */
#define TRN_COST_HOP_PS		1500000ull

/**
 * struct trn_work - what an instruction did, as far as its cost needs it
 * @n: elements of a partition: stationary M, moving N, destination, or (reduce)
 *	source; local_gather: indices; topk: numbers
 * @k: local_gather: elements of an index; topk: results
 * @size: local_gather: bytes of an element
 * @place: tensor engine: the part of the array
 * @rows, @columns: of it, that are loaded or used
 * @fp32: an operand of the array is fp32
 * @light: a transposition, or an operand said to hold ones and zeros
 * @half: every tile is bf16 or fp16
 * @psum: a tile lies in PSUM
 * @sbuf: a tile lies in SBUF
 * @banks: banks of PSUM that tiles lie in, a bit each
 * @strided: a tile is not contiguous
 * @sparse: neighbours in a tile are 16 bytes apart or more
 */
struct trn_work {
	uint64_t n;
	uint64_t k;
	unsigned int size;
	struct neuron_array place;
	unsigned int rows;
	unsigned int columns;
	bool fp32;
	bool light;
	bool half;
	bool psum;
	bool strided;
	bool sparse;
	bool sbuf;
	uint8_t banks;
};

/*
 * Ways into the memories that engines share, a bit each: the banks of PSUM, then the
 * bus of the vector and the GpSimd engine to SBUF.
 */
#define TRN_PORT_SBUF	NEURON_BIT(8)
#define TRN_PORTS	9

/* TRN_PORT_* that an instruction has to itself while it runs. */
unsigned int trn_cost_ports(const struct neuron_gen *gen,
			    enum neuron_engine engine, const struct trn_isa *isa,
			    const struct trn_work *work);


/* Cycles of the engine's clock. */
uint64_t trn_cost_cycles(const struct neuron_gen *gen,
			 enum neuron_engine engine, const struct trn_isa *isa,
			 const struct trn_work *work);
/* Picoseconds, at full clock. */
uint64_t trn_cost_ps(const struct neuron_gen *gen, enum neuron_engine engine,
		     const struct trn_isa *isa, const struct trn_work *work);

/* Bytes per us of one stack of HBM, reads and writes together. */
uint32_t trn_cost_hbm_rate(const struct neuron_gen *gen);

/* One descriptor of @bytes in its DMA engine. */
uint64_t trn_cost_copy_ps(const struct neuron_gen *gen, uint64_t bytes);

/* An operation of a DMA engine that did @work. */
uint64_t trn_cost_dma_op_ps(const struct neuron_gen *gen,
			    const struct neuron_udma_op *op,
			    const struct trn_dma_work *work);

#endif /* TRN_COST_H */
