// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "trn_cost.h"

#define CYCLES_ISSUE	16	/* sequencer only: this project's choice */
#define CYCLES_ACCESS	60	/* to start on SBUF or PSUM */
#define CYCLES_MATMUL	64	/* least time of a product */
#define CYCLES_ACCUMULATOR 64	/* to read an accumulator */
#define FP32_PASSES	4	/* of the tensor engine */
#define LOAD_RATE	4	/* stationary columns a cycle */

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Vector performance mode, NeuronCore-v3 and later. */
static unsigned int speed_of(const struct neuron_gen *gen,
			     enum neuron_engine engine,
			     const struct trn_isa *isa,
			     const struct trn_work *work)
{
	if (gen->generation < 3 || engine != NEURON_ENGINE_VECTOR || !work->half)
		return 1;
	switch (isa->opcode) {
	case NEURON_OP_COPY:
	case NEURON_OP_TENSOR_SCALAR:
		return work->strided || work->psum ? 2 : 4;
	case NEURON_OP_TENSOR_TENSOR:
		return work->psum ? 1 : 2;
	default:
		return 1;
	}
}

uint64_t trn_cost_cycles(const struct neuron_gen *gen,
			 enum neuron_engine engine, const struct trn_isa *isa,
			 const struct trn_work *work)
{
	uint64_t speed = speed_of(gen, engine, isa, work);
	uint64_t passes = work->fp32 ? FP32_PASSES : 1;
	uint64_t n = work->sparse ? 2 * work->n : work->n;

	switch ((enum trn_cost)isa->cost) {
	case TRN_COST_ISSUE:
		return CYCLES_ISSUE;
	case TRN_COST_LOAD:
		return passes * ((n + LOAD_RATE - 1) / LOAD_RATE);
	case TRN_COST_MATMUL:
		return passes * most(n, CYCLES_MATMUL);
	case TRN_COST_ACCUMULATOR:
		return CYCLES_ACCUMULATOR;
	case TRN_COST_TWO_TILES:
		return CYCLES_ACCESS + (2 * n + speed - 1) / speed;
	case TRN_COST_ONE_TILE:
	case TRN_COST_REDUCE:
		return CYCLES_ACCESS + (n + speed - 1) / speed;
	}
	return CYCLES_ISSUE;
}

uint64_t trn_cost_ps(const struct neuron_gen *gen, enum neuron_engine engine,
		     const struct trn_isa *isa, const struct trn_work *work)
{
	return trn_cost_cycles(gen, engine, isa, work) * 1000000000ull /
	       gen->clock_khz[engine];
}
