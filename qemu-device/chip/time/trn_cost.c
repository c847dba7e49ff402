// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "time/trn_cost.h"

#define CYCLES_ISSUE	16	/* sequencer only: this project's choice */
#define CYCLES_ACCESS	60	/* to start on SBUF or PSUM */
#define CYCLES_MATMUL	64	/* least time of a product */
#define CYCLES_ACCUMULATOR 64	/* to read an accumulator */
#define CYCLES_RECIPROCAL 64	/* least time of one */
#define CYCLES_GPSIMD	150	/* to start an instruction of GpSimd's own */
#define FP32_PASSES	4	/* of the tensor engine */
#define LOAD_RATE	4	/* stationary columns a cycle */

#define PORTS_PSUM	0xffu

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

/*
 * N k / C, rounded up, with C = ((28 + 4 k) / (4 k)) / min(4 / size, k): as it is
 * published.
 */
static uint64_t gathered(const struct trn_work *work)
{
	uint64_t k = work->k, most_at_once = 4 / work->size;
	uint64_t rate = k < most_at_once ? k : most_at_once;

	return (work->n * k * rate * 4 * k + 28 + 4 * k - 1) / (28 + 4 * k);
}

/* The array takes fp32 in pieces, twice as fast where the values are simple. */
static unsigned int passes_of(const struct trn_work *work)
{
	if (!work->fp32)
		return 1;
	return work->light ? FP32_PASSES / 2 : FP32_PASSES;
}

uint64_t trn_cost_cycles(const struct neuron_gen *gen,
			 enum neuron_engine engine, const struct trn_isa *isa,
			 const struct trn_work *work)
{
	uint64_t speed = speed_of(gen, engine, isa, work);
	uint64_t passes = passes_of(work);
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
	case TRN_COST_RECIPROCAL:
		return most(8 * work->n, CYCLES_RECIPROCAL);
	case TRN_COST_EXPONENTIAL:
		return CYCLES_ACCESS + (n + 3) / 4;
	case TRN_COST_GPSIMD:
		return CYCLES_GPSIMD + work->n;
	case TRN_COST_LOCAL_GATHER:
		return CYCLES_GPSIMD + gathered(work);
	case TRN_COST_TOPK:
		return 4 * work->n + work->k;
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

/* PSUM is one port on v2, and a port for each bank after it. */
unsigned int trn_cost_ports(const struct neuron_gen *gen,
			    enum neuron_engine engine, const struct trn_isa *isa,
			    const struct trn_work *work)
{
	bool old = gen->generation == 2;
	unsigned int ports = 0;

	switch (engine) {
	case NEURON_ENGINE_VECTOR:
		if (work->sbuf && (old || speed_of(gen, engine, isa, work) > 1))
			ports |= TRN_PORT_SBUF;
		break;
	case NEURON_ENGINE_GPSIMD:
		return work->sbuf ? TRN_PORT_SBUF : 0;
	case NEURON_ENGINE_SCALAR:
		break;
	default:
		return 0;
	}
	return ports | (old && work->banks ? PORTS_PSUM : work->banks);
}

/* --- DMA --- */

/* 820 GB/s of 2 stacks, 2.9 and 4.9 TB/s of 4: the public chip pages. */
uint32_t trn_cost_hbm_rate(const struct neuron_gen *gen)
{
	switch (gen->generation) {
	case 2:
		return 410000;
	case 3:
		return 725000;
	default:
		return 1225000;
	}
}

static uint64_t move_ps(const struct neuron_gen *gen, uint64_t bytes)
{
	return bytes * 1000000 / gen->dma_bytes_per_us;
}

uint64_t trn_cost_copy_ps(const struct neuron_gen *gen, uint64_t bytes)
{
	return most(move_ps(gen, bytes), TRN_COST_DMA_PIECE_PS);
}

/* v4 adds next to SBUF: the engine does not see the old value. */
static bool adds_in_sbuf(const struct neuron_gen *gen,
			 const struct neuron_udma_op *op,
			 const struct trn_dma_work *work)
{
	return gen->generation >= 4 && work->dst_sbuf &&
	       op->op == NEURON_UDMA_OP_ADD && op->nr_src == 1 &&
	       op->src_dtype == op->dst_dtype &&
	       (op->dst_dtype == NEURON_DTYPE_BF16 ||
		op->dst_dtype == NEURON_DTYPE_FP32);
}

uint64_t trn_cost_dma_op_ps(const struct neuron_gen *gen,
			    const struct neuron_udma_op *op,
			    const struct trn_dma_work *work)
{
	uint64_t read = work->read;
	uint64_t ps;

	if (adds_in_sbuf(gen, op, work))
		read -= work->old;
	ps = move_ps(gen, most(read, work->written));
	if (op->op != NEURON_UDMA_OP_TRANSPOSE)
		return most(ps, work->pieces * TRN_COST_DMA_PIECE_PS);
	if (gen->generation > 2 && work->src_hbm && work->dst_sbuf)
		return most(ps * 10 / 9, TRN_COST_DMA_PIECE_PS);
	return most(ps * 2, TRN_COST_DMA_PIECE_PS);
}
