/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * What an instruction costs in device time. The formulas are the documented
 * ones of the public architecture guides where there are any; constants that
 * are this project's choice say so. Documentation/hardware/isa.rst lists them.
 */
#ifndef TRN_COST_H
#define TRN_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "neuron/generation.h"
#include "trn_isa.h"

/* DMA: from a trigger to the first byte of an idle queue. */
#define TRN_COST_DMA_START_PS	1300000ull
/* One NeuronLink hop; the guides say 1 to 2 us, this is the project's choice. */
#define TRN_COST_HOP_PS		1500000ull

/**
 * struct trn_work - what an instruction did, as far as its cost needs it
 * @n: elements of a partition: stationary M, moving N, destination, or (reduce)
 *	source
 * @fp32: the matrix product's operands are fp32
 * @half: every tile is bf16 or fp16
 * @psum: a tile lies in PSUM
 * @strided: a tile is not contiguous
 * @sparse: neighbours in a tile are 16 bytes apart or more
 */
struct trn_work {
	uint64_t n;
	bool fp32;
	bool half;
	bool psum;
	bool strided;
	bool sparse;
};

/* Cycles of the engine's clock. */
uint64_t trn_cost_cycles(const struct neuron_gen *gen,
			 enum neuron_engine engine, const struct trn_isa *isa,
			 const struct trn_work *work);
/* Picoseconds, at full clock. */
uint64_t trn_cost_ps(const struct neuron_gen *gen, enum neuron_engine engine,
		     const struct trn_isa *isa, const struct trn_work *work);

#endif /* TRN_COST_H */
