// SPDX-License-Identifier: MIT
#include "exec_rig.h"

#include <stdlib.h>

int exec_setup_gen(void **state, const struct neuron_gen *gen)
{
	struct seq_rig *rig = malloc(sizeof(*rig));

	seq_rig_init(rig, gen, 2, 1, true);
	*state = rig;
	return 0;
}

int exec_setup(void **state)
{
	return exec_setup_gen(state, &neuron_gen_trn2);
}

int exec_setup_trn1(void **state)
{
	return exec_setup_gen(state, &neuron_gen_trn1);
}

int exec_setup_trn3(void **state)
{
	return exec_setup_gen(state, &neuron_gen_trn3);
}

int exec_teardown(void **state)
{
	seq_rig_destroy(*state);
	free(*state);
	return 0;
}

void exec_more_operators(void **state, bool on)
{
	seq_more_operators(*state, on);
}

struct neuron_hw_completion run(struct seq_rig *rig, enum neuron_engine engine,
				const struct neuron_inst *inst, size_t n)
{
	struct seq_job *job = malloc(sizeof(*job));
	struct neuron_hw_completion record;
	size_t i;

	seq_job_init(job, rig, 0, 0);
	for (i = 0; i < n; i++)
		seq_add(job, engine, inst[i]);
	seq_add(job, engine, OP(HALT, 0));
	record = seq_run(job);
	free(job);
	return record;
}

void good(void **state, enum neuron_engine engine, struct neuron_inst inst)
{
	good_all(state, engine, &inst, 1);
}

void bad(void **state, enum neuron_engine engine, struct neuron_inst inst,
	 enum neuron_cause cause)
{
	struct neuron_hw_completion record = run(*state, engine, &inst, 1);

	if (record.status != NEURON_JOB_ERROR || record.cause != cause)
		fail_msg("status %u, cause %u, not %u", record.status, record.cause,
			 cause);
}

void good_all(void **state, enum neuron_engine engine,
	      const struct neuron_inst *inst, size_t n)
{
	struct neuron_hw_completion record = run(*state, engine, inst, n);

	if (record.status != NEURON_JOB_OK)
		fail_msg("status %u, cause %u, pc %u", record.status, record.cause,
			 record.pc);
}

float *sbuf_f(void **state, unsigned int p, size_t offset)
{
	return seq_sbuf(seq_core(*state, 0, 0), p, offset);
}

float *psum_f(void **state, unsigned int p, size_t offset)
{
	return seq_psum(seq_core(*state, 0, 0), p, offset);
}

static uint32_t seed = 1;

uint32_t rnd(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)(seed ^ seed >> 15) * below >> 32);
}
