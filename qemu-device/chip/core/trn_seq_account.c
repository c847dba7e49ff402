// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * What an instruction counts for: in device time, in the power that the core takes, and
 * in the activity counters of the array.
 */
#include "base/trn_chip.h"
#include "core/trn_pe_counter.h"
#include "exec/trn_exec.h"
#include "exec/trn_seq.h"
#include "isa/trn_pe_array.h"
#include "job/trn_job.h"
#include "time/trn_power.h"
#include "time/trn_time.h"

static void count_array(struct trn_core *core, const struct trn_exec *exec)
{
	const struct trn_work *work = &exec->work;
	const struct neuron_array cells = {
		.row = work->place.row, .rows = (uint8_t)work->rows,
		.col = work->place.col, .cols = (uint8_t)work->columns,
	};
	uint64_t cycles = trn_cost_cycles(core->chip->gen, NEURON_ENGINE_TENSOR,
					  exec->isa, work);

	if (exec->isa->cost == TRN_COST_LOAD)
		trn_pe_load(core, cells, cycles);
	else
		trn_pe_matmul(core, cells, cycles);
}

/* A part takes its share, since others may be at work meanwhile. */
static uint64_t power_of(const struct trn_exec *exec, uint64_t cost_ps)
{
	unsigned int parts;

	if (exec->isa->unit != TRN_ISA_TENSOR)
		return cost_ps;
	parts = (unsigned int)__builtin_popcount(trn_pe_array_bits(exec->work.place));
	return cost_ps * parts / TRN_PE_ARRAY_PARTS;
}

/* A product that leaves some of the array to others says which part it takes. */
static uint16_t parts_of(const struct trn_exec *exec)
{
	uint16_t parts;

	if (exec->isa->cost != TRN_COST_MATMUL)
		return 0;
	parts = trn_pe_array_bits(exec->work.place);
	return parts == TRN_PE_ARRAY_ALL ? 0 : parts;
}

static enum trn_time_class class_of(const struct trn_exec *exec, uint16_t parts)
{
	if (parts)
		return TRN_TIME_PART;
	if (exec->isa->cost == TRN_COST_LOAD)
		return TRN_TIME_BACKGROUND;
	return exec->isa->unit == TRN_ISA_SEQUENCER ? TRN_TIME_PLAIN :
						       TRN_TIME_COVER;
}

static void record(struct trn_seq *seq, const struct trn_exec *exec,
		   uint64_t cost_ps)
{
	const uint16_t parts = parts_of(exec);
	const struct trn_time_work work = {
		.class = class_of(exec, parts),
		.ports = (uint16_t)trn_cost_ports(seq->core->chip->gen, seq->engine,
						  exec->isa, &exec->work),
		.parts = parts,
		.cost_ps = cost_ps,
	};

	trn_time_work(seq->job->timeline, seq->engine, &work);
}

void trn_seq_account(struct trn_seq *seq, const struct trn_exec *exec, bool traced)
{
	struct trn_core *core = seq->core;
	uint64_t cost = trn_cost_ps(core->chip->gen, seq->engine, exec->isa,
				    &exec->work);
	uint64_t time = trn_power_stretch(core->chip, cost) + exec->extra_ps;

	if (exec->isa->unit == TRN_ISA_TENSOR)
		count_array(core, exec);
	if (exec->isa->unit != TRN_ISA_SEQUENCER)
		trn_power_busy(core, seq->engine, power_of(exec, cost));
	if (exec->isa->unit != TRN_ISA_SEQUENCER || traced)
		record(seq, exec, time);
	else
		trn_time_exec(seq->job->timeline, seq->engine, time);
}
